//! What a layer must hand on: a device below it notes what reaches it.

use std::sync::{Arc, Mutex, PoisonError};

use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Extent, Living, Origin, Passing, Ram, Request, RequestId, SectorRange,
    Stop, StreamHint, Tally, Took, Work, live_on, pass_on,
};
use wane_units::{Fate, Lba, Nanos, Sectors, SimTime};

/// What reaches a device.
#[derive(Clone, Debug, PartialEq)]
enum Call {
    Submit(Origin, Option<StreamHint>),
    Batch(Work, Origin, Tally, Sectors),
    GoOn(Stop),
    Work,
    Pass(Passing),
    Prefetch,
    Extents,
    Peek,
    PowerOff(Vec<Fate>),
}

/// A device in memory that notes what reaches it, and asks its host for space once.
struct Spy {
    device: Ram,
    calls: Arc<Mutex<Vec<Call>>>,
    wants: bool,
}

impl Spy {
    fn note(&self, call: Call) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }
}

impl BlockDevice for Spy {
    pass_on!(device: features capacity next_event_at complete set_capacity mapped_limit set_mapped_limit notices);

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.note(Call::Submit(request.origin, request.stream));
        self.device.submit(at, request)
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        self.note(Call::Extents);
        self.device.extents(range, out);
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        self.note(Call::Peek);
        self.device.peek(range, bytes)
    }
}

impl Living for Spy {
    live_on!(device: now counters members power_on);

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let all = batch.extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.count);
        self.note(Call::Batch(batch.work, batch.origin, batch.tally, all));
        let took = self.device.batch(at, batch);
        if std::mem::take(&mut self.wants) { Took { stop: Stop::Paused, ..took } } else { took }
    }

    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
        self.note(Call::GoOn(after));
        let _ = self.device.go_on(at, after);
        Stop::Done
    }

    fn work(&mut self, _: SimTime) -> Option<Stop> {
        self.note(Call::Work);
        Some(Stop::Done)
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        self.note(Call::Pass(time));
        self.device.pass(at, time)
    }

    fn prefetch(&self, _: Lba) {
        self.note(Call::Prefetch);
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        // As a device does that is at work on three operations.
        self.note(Call::PowerOff((0..3).map(|_| fate()).collect()));
        self.device.power_off(at, fate);
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(Self { device: self.device.clone(), calls: Arc::clone(&self.calls), wants: self.wants })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.device.archive(archive)
    }
}

/// See [`super::layer`].
pub(super) fn check(wrap: &dyn Fn(Box<dyn Living>) -> Box<dyn Living>) -> Result<(), String> {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let device = Ram::new(Sectors(1 << 12));
    let mut layer = wrap(Box::new(Spy { device, calls: Arc::clone(&calls), wants: true }));
    let heard = || std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner));
    let expect = |what: &str, wanted: &Call| {
        let found = heard();
        if found.contains(wanted) {
            Ok(())
        } else {
            Err(format!("{what} does not reach the device below as it is: {wanted:?} became {found:?}"))
        }
    };
    let mut below = 0;
    layer.members(&mut |_| below += 1);
    if below == 0 {
        return Err("members names no device below, so that its health is not found".to_owned());
    }
    let mut changeable = 0;
    layer.members_mut(&mut |_| changeable += 1);
    if changeable != below {
        return Err(format!("members_mut hands out {changeable} devices, and members {below}"));
    }
    let unit = layer.features().atomic_unit.max(Sectors(8));
    let range = SectorRange::new(Lba(0), unit);
    let hint = StreamHint(3);
    let write = Request::write_without_bytes(range).with_origin(Origin::ArrayRepair).with_stream(hint);
    layer.submit(SimTime(1), write);
    expect("a request", &Call::Submit(Origin::ArrayRepair, Some(hint)))?;
    let tally = Tally { units_in_part: 1, bytes_around: 2, units_unmapped: 3 };
    let batch = Batch::new(Work::Write, std::slice::from_ref(&range)).from(Origin::FileSystemMove).with(tally);
    let took = layer.batch(SimTime(1), &batch);
    expect("a batch", &Call::Batch(Work::Write, Origin::FileSystemMove, tally, unit))?;
    if took.stop != Stop::Paused {
        return Err(format!("a batch that pauses below ends as {:?}", took.stop));
    }
    let stop = layer.go_on(SimTime(1), took.stop);
    expect("go_on", &Call::GoOn(Stop::Paused))?;
    if stop != Stop::Done {
        return Err(format!("go_on that is done below ends as {stop:?}"));
    }
    if layer.work(SimTime(1)) != Some(Stop::Done) {
        return Err("work below is not told above".to_owned());
    }
    expect("work", &Call::Work)?;
    for time in [Passing::Idle(Nanos(5)), Passing::Days(2.0), Passing::Shelf { days: 3.0, rate: 4.0 }] {
        let at = layer.now();
        layer.pass(at, time);
        expect("time that passes", &Call::Pass(time))?;
    }
    layer.prefetch(range.start);
    expect("prefetch", &Call::Prefetch)?;
    layer.extents(range, &mut Vec::new());
    expect("a question for extents", &Call::Extents)?;
    layer.peek(range, &mut vec![0; range.len_bytes()]);
    expect("a look at contents", &Call::Peek)?;
    let mut fates = [Fate::Torn, Fate::Undone, Fate::Done].into_iter().cycle();
    let at = layer.now();
    layer.power_off(at, &mut || fates.next().unwrap_or(Fate::Done));
    expect("the fate of what is under way", &Call::PowerOff(vec![Fate::Torn, Fate::Undone, Fate::Done]))?;
    if layer.is_off() { Ok(()) } else { Err("is_off does not say that the power is off".to_owned()) }
}
