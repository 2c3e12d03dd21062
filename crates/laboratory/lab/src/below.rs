//! What a host stands on.

use std::any::Any;
use std::sync::atomic::AtomicBool;

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{
    Batch, BlockDevice, Living, Op, RequestId, Served, Stop, Timed, Took, Until, Work, all_of, carry_out, each_of, find,
};
use wane_raid::Raid;
use wane_results::Counters;
use wane_ssd::{ClockSpec, Drive, HeatReading, Ran};
use wane_units::{Lba, SimTime};

use crate::files::Files;
use crate::queued::Queued;
use crate::space::Space;

const NO_TIME: &str = "requests come to a device that keeps time";
const LOOKED_AT: &str = "it was just looked at";
const NO_DRIVE: &str = "a run's device is a drive";

/// The device below a host. A bare drive is called directly, since a timed run makes ten calls for each request; a stack of devices is
/// called behind its pointer. Both do the same.
#[derive(Clone)]
pub(crate) enum Below {
    /// A drive alone.
    Bare(Box<Drive>),
    /// A stack with drives at its bottom.
    Stack(Box<dyn Living>),
}

/// Does the same with a drive and with a stack.
macro_rules! either {
    ($self:expr, $device:ident => $body:expr) => {
        match $self {
            Below::Bare($device) => $body,
            Below::Stack($device) => $body,
        }
    };
}

fn go_on<D: Living + ?Sized>(device: &mut D, after: Stop) -> Stop {
    device.go_on(Living::now(device), after)
}

fn work<D: Living + ?Sized>(device: &mut D) -> Option<Stop> {
    device.work(Living::now(device))
}

/// The one drive below layers that hand it out.
fn only_drive(device: &mut dyn Living) -> Option<&mut Drive> {
    let any: &mut dyn Any = device;
    if any.is::<Drive>() {
        return any.downcast_mut();
    }
    if any.is::<Space>() {
        return any.downcast_mut::<Space>().map(Space::drive_mut);
    }
    if any.is::<Queued>() {
        return any.downcast_mut::<Queued>().and_then(|queued| only_drive(queued.below_mut()));
    }
    any.downcast_mut::<Files>().and_then(|files| only_drive(files.below_mut()))
}

/// The array below a file system and the layer of its time.
fn array_of(device: &mut dyn Living) -> &mut dyn Living {
    let any: &dyn Any = device;
    if any.is::<Files>() {
        let any: &mut dyn Any = device;
        return array_of(any.downcast_mut::<Files>().map(Files::below_mut).expect(LOOKED_AT));
    }
    if any.is::<Queued>() {
        let any: &mut dyn Any = device;
        return any.downcast_mut::<Queued>().map(Queued::below_mut).expect(LOOKED_AT);
    }
    device
}

/// The same, to be looked at.
fn only_drive_of(device: &dyn Living) -> Option<&Drive> {
    let any: &dyn Any = device;
    let below_map = || any.downcast_ref::<Space>().map(Space::drive);
    let below_time = || any.downcast_ref::<Queued>().and_then(|queued| only_drive_of(queued.below()));
    let below_files = || any.downcast_ref::<Files>().and_then(|files| only_drive_of(files.below()));
    any.downcast_ref::<Drive>().or_else(below_map).or_else(below_time).or_else(below_files)
}

impl Below {
    /// The device.
    #[inline]
    pub(crate) fn living(&self) -> &dyn Living {
        either!(self, device => device.as_ref())
    }

    /// The device, to be changed.
    #[inline]
    pub(crate) fn living_mut(&mut self) -> &mut dyn Living {
        either!(self, device => device.as_mut())
    }

    /// A layer that stands uppermost.
    #[inline]
    pub(crate) fn layer<L: Living>(&self) -> Option<&L> {
        let Self::Stack(stack) = self else { return None };
        let stack: &dyn Any = stack.as_ref();
        stack.downcast_ref()
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn layer_mut<L: Living>(&mut self) -> Option<&mut L> {
        let Self::Stack(stack) = self else { return None };
        let stack: &mut dyn Any = stack.as_mut();
        stack.downcast_mut()
    }

    /// The drive at its bottom; of several, the first one that has power, if any has.
    #[inline]
    pub(crate) fn drive(&self) -> &Drive {
        match self {
            Self::Bare(drive) => drive,
            Self::Stack(stack) => match find::<Drive>(stack.as_ref()) {
                Some(first) if !first.is_off() => first,
                first => {
                    all_of(stack.as_ref()).into_iter().find(|drive: &&Drive| !drive.is_off()).or(first).expect(NO_DRIVE)
                }
            },
        }
    }

    /// The one drive; `None` if an array is in the stack.
    pub(crate) fn only(&self) -> Option<&Drive> {
        match self {
            Self::Bare(drive) => Some(drive),
            Self::Stack(stack) => only_drive_of(stack.as_ref()),
        }
    }

    /// The one drive, to be changed; `None` if an array is in the stack.
    #[inline]
    pub(crate) fn one_drive(&mut self) -> Option<&mut Drive> {
        match self {
            Self::Bare(drive) => Some(drive),
            Self::Stack(stack) => only_drive(stack.as_mut()),
        }
    }

    /// The array, if there is one in the stack; otherwise the uppermost device.
    pub(crate) fn array(&mut self) -> &mut dyn Living {
        array_of(self.living_mut())
    }

    /// The heat of the one drive when all requests are done, if it is simulated.
    pub(crate) fn heat(&self) -> Option<HeatReading> {
        let scheduler = self.only()?.clock()?.scheduler();
        scheduler.heat(scheduler.now())
    }

    /// What its drives did while time was kept.
    pub(crate) fn ran(&self) -> Ran {
        let of = |drive: &Drive| drive.clock().map(|clock| Ran::of(clock.scheduler()));
        if let Self::Bare(drive) = self {
            return of(drive).expect("requests come to a drive's clock");
        }
        all_of::<Drive>(self.living()).into_iter().filter_map(of).fold(Ran::default(), |all, one| Ran {
            // Requests of the host may be several of the drives.
            outstanding_time_ns: None,
            operations: all.operations + one.operations,
            buffered_reads: all.buffered_reads + one.buffered_reads,
            reads_around: all.reads_around + one.reads_around,
        })
    }

    /// Makes durable what a parity array was given without time, since that counts as flushed: changes of it need their records.
    pub(crate) fn flush(&mut self) {
        let now = self.living().now();
        let array: &mut dyn Any = self.array();
        if let Some(array) = array.downcast_mut::<Raid>() {
            let _ = carry_out(array, now, &Batch::new(Work::Flush, &[]));
        }
    }

    /// Starts the clock of each drive that has power. From now on batches are parts of requests that take time.
    ///
    /// # Panics
    /// A clock is none, or there is one too few.
    pub(crate) fn start_clocks(&mut self, clocks: &[ClockSpec]) {
        const CHECKED: &str = "the clock was checked when the run was planned";
        if let Some(drive) = self.one_drive() {
            drive.start_clock(&clocks[0]).expect(CHECKED);
            self.queued_mut().into_iter().for_each(Queued::keep_time);
            return;
        }
        let (now, mut place) = (self.living().now(), 0);
        each_of::<Drive>(self.living_mut(), &mut |drive| {
            if !drive.is_off() {
                drive.keep_detail(true);
                drive.start_clock(&clocks[place]).expect(CHECKED);
                // It begins at 0.
                drive.complete(now.max(Living::now(drive)), &mut Vec::new());
            }
            place += 1;
        });
        self.queued_mut().into_iter().for_each(Queued::keep_time);
    }

    /// The layer that keeps the time of an array, or of what lies below a file system, if there is one.
    pub(crate) fn queued(&self) -> Option<&Queued> {
        let files = self.layer::<Files>().map(Files::below);
        let below: &dyn Any = files.unwrap_or_else(|| self.living());
        below.downcast_ref()
    }

    /// The same, to be changed.
    pub(crate) fn queued_mut(&mut self) -> Option<&mut Queued> {
        let below: &mut dyn Any = if self.layer::<Files>().is_some() {
            self.layer_mut::<Files>().map(Files::below_mut)?
        } else {
            self.living_mut()
        };
        below.downcast_mut()
    }

    /// Returns the one drive and drops the rest.
    pub(crate) fn into_drive(self) -> Drive {
        match self {
            Self::Bare(drive) => *drive,
            Self::Stack(stack) => {
                let stack: Box<dyn Any> = stack;
                match stack.downcast::<Space>() {
                    Ok(space) => space.into_drive(),
                    Err(stack) => *stack.downcast().expect(NO_DRIVE),
                }
            }
        }
    }

    #[inline]
    pub(crate) fn counters(&self) -> &Counters {
        either!(self, device => Living::counters(device.as_ref()))
    }

    #[inline]
    pub(crate) fn prefetch(&self, sector: Lba) {
        either!(self, device => Living::prefetch(device.as_ref(), sector));
    }

    /// Hands it a batch now.
    #[inline]
    pub(crate) fn batch(&mut self, batch: &Batch<'_>) -> Took {
        either!(self, device => device.batch(Living::now(device.as_ref()), batch))
    }

    /// Lets it go on now.
    pub(crate) fn go_on(&mut self, after: Stop) -> Stop {
        either!(self, device => go_on(device.as_mut(), after))
    }

    /// Lets it make a step of its own work now.
    #[inline]
    pub(crate) fn work(&mut self) -> Option<Stop> {
        either!(self, device => work(device.as_mut()))
    }

    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        either!(self, device => Living::archive(device.as_mut(), archive))
    }

    /// Its time, if it keeps time.
    fn timed(&mut self) -> Option<&mut dyn Timed> {
        either!(self, device => device.timed())
    }

    /// The time of a device to which requests come.
    fn time(&mut self) -> &mut dyn Timed {
        self.timed().expect(NO_TIME)
    }

    /// See [`Timed::run`].
    ///
    /// # Panics
    /// It keeps no time. So do the next two.
    #[inline]
    pub(crate) fn run(&mut self, until: Until, stop: &AtomicBool, each: &mut impl FnMut(&Served)) -> bool {
        match self {
            Self::Bare(drive) => drive.run_until(until, stop, each),
            Self::Stack(_) => self.time().run(until, stop, each),
        }
    }

    /// See [`Timed::close`].
    #[inline]
    pub(crate) fn close(&mut self, op: Op, bytes: u64) -> Option<RequestId> {
        match self {
            Self::Bare(drive) => drive.close(op, bytes),
            Self::Stack(_) => self.time().close(op, bytes),
        }
    }

    /// When the last request came.
    #[inline]
    pub(crate) fn at(&mut self) -> SimTime {
        match self {
            Self::Bare(drive) => drive.at(),
            Self::Stack(_) => self.time().at(),
        }
    }

    /// Whether it keeps time and its simulated time is used up.
    #[inline]
    pub(crate) fn is_over(&mut self) -> bool {
        match self {
            Self::Bare(drive) => drive.is_over(),
            Self::Stack(_) => self.timed().is_some_and(|time| time.is_over()),
        }
    }

    /// When the last request came, in nanoseconds; 0 if it keeps no time.
    pub(crate) fn now_ns(&mut self) -> u64 {
        self.timed().map_or(0, |time| time.at().0)
    }

    /// Makes the last batches a task of the device, where time is kept.
    pub(crate) fn close_own(&mut self) {
        if let Some(time) = self.timed() {
            time.close_own();
        }
    }
}

#[cfg(test)]
mod tests {
    use wane_blockdev::{SectorRange, Stats};
    use wane_scenario::{Scenario, Sources};
    use wane_units::Sectors;

    use super::*;

    const TIMED: &str = "[drive]\npreset = \"tiny\"\n[time]\nscheduler = \"event\"\n[workload]\n\
                         arrival = { queue-depth = 4 }\n[until]\ndrive-writes = 1\n";

    /// Overwrites a device at depth 4. Returns its requests and what it counted.
    fn lived(mut device: Below) -> (Vec<Served>, Counters) {
        let (stop, mut all) = (AtomicBool::new(false), Vec::new());
        let unit = Sectors(u64::from(device.drive().unit_bytes()) / Sectors::SIZE.0);
        let units = u64::from(device.drive().exported());
        for request in 0..3 * units {
            assert!(device.run(Until::Below(4, SimTime::MAX), &stop, &mut |served| all.push(*served)));
            let extent = SectorRange::new(Lba(request * 7 % units * unit.0), unit);
            let work = if request % 3 == 0 { Work::Read } else { Work::Rewrite };
            let mut stopped = device.batch(&Batch::new(work, &[extent])).stop;
            while stopped != Stop::Done {
                stopped = device.go_on(stopped);
            }
            device.close(if work == Work::Read { Op::Read } else { Op::Write }, unit.0 * Sectors::SIZE.0);
            if device.work().is_some() {
                device.close_own();
            }
        }
        assert!(!device.is_over() && device.at().0 == device.now_ns());
        device.run(Until::Idle, &stop, &mut |served| all.push(*served));
        (all, *device.counters())
    }

    #[test]
    fn a_stack_lives_as_its_drive_does() {
        let scenario = Scenario::resolve(&Sources { file: Some(("below.toml", TIMED)), ..Sources::default() }).unwrap();
        let crate::run::Plan { device, observer, .. } = crate::build::plan(&scenario).unwrap();
        let mut drive = device.into_drive();
        let spec = observer.and_then(|observer| observer.clock).expect("its requests take time");
        drive.start_clock(&spec.clocks[0]).unwrap();
        drive.keep_detail(true);
        let alone = lived(Below::Bare(Box::new(drive.clone())));
        let below_a_layer = lived(Below::Stack(Box::new(Stats::new(drive))));
        assert_eq!(alone, below_a_layer);
        assert!(alone.0.len() as u64 > u64::from(u16::MAX) / 8 && alone.1.gc_victims > 0, "{} requests", alone.0.len());
    }
}
