//! One device under one sequence of steps: everything that is visible from outside, and the rules that hold at each call.

use std::collections::BTreeMap;

use wane_blockdev::{
    BlockDevice, Completion, Extent, ExtentState, Features, Kind, Notice, NoticeKind, Request, RequestId, Resize,
    SectorRange, Status, Unsupported, all_extents,
};
use wane_units::{Lba, Sectors, SimTime};

use super::model::Model;
use super::steps::{Step, WINDOW};

/// Most calls of `complete` until a device must come to rest.
const CALLS_MAX: u32 = 1_000_000;

/// How the time between steps is cut into calls of `complete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Where the sequence has `Complete` steps.
    AsGiven,
    /// Only after everything is submitted.
    Never,
    /// Before each step, in several pieces.
    Finely,
    /// From one bound of `next_event_at` to the next.
    AtBounds,
}

/// What happened, in order of submission.
enum Event {
    Submitted { id: RequestId, at: SimTime, request: Request, tag: u64, refusal: Option<Status> },
    Capacity(Sectors),
}

/// The bytes that a look at contents shows, and the sectors that it says are lost.
type Seen = (Vec<u8>, Vec<SectorRange>);

/// A device, and everything observed of it.
pub(super) struct Session {
    device: Box<dyn BlockDevice>,
    features: Features,
    now: SimTime,
    /// The last time up to which completions were asked for.
    reached: SimTime,
    events: Vec<Event>,
    completions: Vec<Completion>,
    notices: Vec<Notice>,
    /// Instants at which the capacity changed, with the capacity.
    capacities: Vec<(SimTime, Sectors)>,
    outstanding: usize,
    /// What a look showed just before each read.
    seen: BTreeMap<RequestId, Seen>,
}

impl Session {
    /// Runs a sequence, then reads everything back.
    pub(super) fn run(device: Box<dyn BlockDevice>, steps: &[Step], cut: Cut) -> Result<Self, String> {
        let features = device.features();
        let mut session = Self {
            device,
            features,
            now: SimTime::ZERO,
            reached: SimTime::ZERO,
            events: Vec::new(),
            completions: Vec::new(),
            notices: Vec::new(),
            capacities: Vec::new(),
            outstanding: 0,
            seen: BTreeMap::new(),
        };
        let start = session.device.capacity();
        for (number, step) in steps.iter().enumerate() {
            session.step(step, start, number as u64 + 1, cut)?;
        }
        session.read_back(start, cut)?;
        session.come_to_rest()?;
        session.ask_notices()?;
        session.check_notices()?;
        Ok(session)
    }

    fn step(&mut self, step: &Step, start: Sectors, tag: u64, cut: Cut) -> Result<(), String> {
        let (Step::Submit { wait, .. }
        | Step::Complete { wait }
        | Step::SetCapacity { wait, .. }
        | Step::SetLimit { wait, .. }) = step;
        let then = self.now + wait.nanos();
        self.pass_time(then, cut)?;
        match step {
            Step::Submit { ask, .. } => {
                let request = ask.request(&self.features, start, tag);
                self.submit(request, tag, cut)?;
            }
            Step::Complete { .. } if cut == Cut::AsGiven => {
                self.complete(self.now)?;
                self.ask_notices()?;
            }
            Step::Complete { .. } => {}
            Step::SetCapacity { parts, .. } => self.set_capacity(Sectors(start.0 / 16 * parts), start)?,
            Step::SetLimit { limit, .. } => self.set_limit(limit.sectors(&*self.device))?,
        }
        Ok(())
    }

    /// Lets the clock go to `then`.
    fn pass_time(&mut self, then: SimTime, cut: Cut) -> Result<(), String> {
        match cut {
            Cut::AsGiven | Cut::Never => {}
            Cut::Finely => {
                let (from, length) = (self.now.0, then.0 - self.now.0);
                for piece in 1..=5 {
                    self.complete(SimTime(from + length * piece / 5))?;
                    self.ask_notices()?;
                }
            }
            Cut::AtBounds => {
                for _ in 0..CALLS_MAX {
                    match self.device.next_event_at() {
                        Some(next) if next <= then => self.complete(next.max(self.now))?,
                        _ => break,
                    }
                }
            }
        }
        self.now = then;
        Ok(())
    }

    fn submit(&mut self, request: Request, tag: u64, cut: Cut) -> Result<(), String> {
        let refusal = expected_refusal(&request, &self.features, self.device.capacity());
        let at = self.now;
        // Runs that look and runs that do not must end alike.
        let looks = request.kind == Kind::Read && refusal.is_none() && cut != Cut::Never;
        let seen = if looks { self.peek(request.range)? } else { None };
        let id = self.device.submit(at, request.clone());
        let last = self.events.iter().rev().find_map(|event| match event {
            Event::Submitted { id, .. } => Some(*id),
            Event::Capacity(_) => None,
        });
        if last.is_some_and(|last| last >= id) {
            return Err(format!("request {id} follows request {last:?}: ids must rise"));
        }
        if mapped(&*self.device) > self.device.mapped_limit() {
            return Err(format!("request {id} maps more than {}", self.device.mapped_limit()));
        }
        self.outstanding += 1;
        self.seen.extend(seen.map(|seen| (id, seen)));
        self.events.push(Event::Submitted { id, at, request, tag, refusal });
        self.ask_bound().map(|_| ())
    }

    /// Looks at a range twice, to check that the call changes nothing.
    fn peek(&self, range: SectorRange) -> Result<Option<Seen>, String> {
        let look = |before: u8| {
            let mut bytes = vec![before; range.len_bytes()];
            self.device.peek(range, &mut bytes).map(|lost| (bytes, lost))
        };
        let (seen, again) = (look(0xaa), look(0x55));
        if seen != again {
            return Err(format!("two looks at {range} differ: {:?}", seen.zip(again).map(|(one, two)| (one.1, two.1))));
        }
        let beyond = SectorRange::new(range.start, self.device.capacity());
        let is_blind = range.start == Lba(0) || self.device.peek(beyond, &mut []).is_none();
        if is_blind { Ok(seen) } else { Err(format!("a look at {beyond} goes beyond the capacity")) }
    }

    fn set_capacity(&mut self, wanted: Sectors, start: Sectors) -> Result<(), String> {
        let before = self.device.capacity();
        let status = self.device.set_capacity(self.now, wanted);
        let after = self.device.capacity();
        let Features { resize, sector, .. } = self.features;
        let aligned = wanted.0.is_multiple_of(sector.0);
        let may = match resize {
            Resize::Fixed => false,
            Resize::Shrink => aligned && wanted <= before,
            Resize::Both => aligned && wanted <= start,
        };
        let fine = match (status.is_done(), may) {
            (true, _) => may && after == wanted,
            (false, true) => after == before,
            (false, false) => after == before && (status.is_refusal() || matches!(status, Status::Gone(_))),
        };
        if !fine {
            return Err(format!("capacity {before}, {wanted} wanted ({resize:?}): {status:?}, then {after}"));
        }
        if status.is_done() && after != before {
            self.capacities.push((self.now, after));
            self.events.push(Event::Capacity(after));
        }
        Ok(())
    }

    fn set_limit(&mut self, wanted: Sectors) -> Result<(), String> {
        let (before, mapped) = (self.device.mapped_limit(), mapped(&*self.device));
        let (capacity, unit) = (self.device.capacity(), self.features.atomic_unit.0);
        let status = self.device.set_mapped_limit(self.now, wanted);
        let after = self.device.mapped_limit();
        let is_whole = wanted.0.is_multiple_of(unit) || wanted == capacity;
        let fine = match &status {
            Status::Done => self.features.mapped_limit && is_whole && after == wanted,
            Status::NoSpace(named) => named.is_empty() && wanted < mapped,
            // A worn device may hold less than its capacity.
            Status::OutOfRange => wanted > capacity || wanted > before,
            Status::Unsupported(Unsupported::Alignment) => !is_whole,
            Status::Unsupported(Unsupported::Kind) => !self.features.mapped_limit,
            Status::Gone(_) => true,
            _ => false,
        };
        if !fine || (!status.is_done() && after != before) || after > capacity {
            return Err(format!("mapped limit {before}, {wanted} wanted, {mapped} in use: {status:?}, then {after}"));
        }
        Ok(())
    }

    /// The bound. It is asked for twice, to check that the call changes nothing.
    fn ask_bound(&self) -> Result<Option<SimTime>, String> {
        let (bound, again) = (self.device.next_event_at(), self.device.next_event_at());
        if bound != again {
            return Err(format!("next_event_at says {bound:?}, asked again {again:?}"));
        }
        if bound.is_none() != (self.outstanding == 0) {
            return Err(format!("next_event_at says {bound:?} with {} requests outstanding", self.outstanding));
        }
        Ok(bound)
    }

    fn complete(&mut self, until: SimTime) -> Result<(), String> {
        let bound = self.ask_bound()?;
        let first = self.completions.len();
        self.device.complete(until, &mut self.completions);
        for place in first..self.completions.len() {
            let new = &self.completions[place];
            let (id, at) = (new.id, new.at);
            if at > until {
                return Err(format!("complete({until}) hands out request {id} of {at}"));
            }
            if bound.is_none_or(|bound| at < bound) {
                return Err(format!("request {id} completes at {at}, before the bound {bound:?}"));
            }
            if at < self.reached {
                return Err(format!("request {id} completes at {at}, already passed {}", self.reached));
            }
            if place > 0 && (self.completions[place - 1].at, self.completions[place - 1].id) >= (at, id) {
                return Err(format!("request {id} of {at} is out of order"));
            }
        }
        let new = self.completions.len() - first;
        if new > self.outstanding {
            return Err(format!("{new} requests complete and {} were outstanding", self.outstanding));
        }
        self.outstanding -= new;
        self.reached = until;
        self.now = self.now.max(until);
        match self.ask_bound()? {
            Some(bound) if bound <= until => Err(format!("after complete({until}) the bound is {bound}")),
            _ => Ok(()),
        }
    }

    fn ask_notices(&mut self) -> Result<(), String> {
        self.device.notices(&mut self.notices);
        let told = self.notices.len();
        self.device.notices(&mut self.notices);
        if self.notices.len() == told { Ok(()) } else { Err("a notice is given twice".to_owned()) }
    }

    /// Reads everything that the steps may have touched, and checks its extents.
    fn read_back(&mut self, start: Sectors, cut: Cut) -> Result<(), String> {
        let capacity = self.device.capacity();
        let sector = self.features.sector.0;
        let end = capacity.0.min((WINDOW + 48).next_multiple_of(sector));
        let last = start.0.saturating_sub(48);
        let pieces = [(0, end), (last - last % sector, capacity.0)];
        for (from, to) in pieces {
            let range = SectorRange::between(Lba(from), Lba(to));
            self.submit(Request::read(range), 0, cut)?;
        }
        self.submit(Request::flush(), 0, cut)
    }

    fn come_to_rest(&mut self) -> Result<(), String> {
        for _ in 0..CALLS_MAX {
            match self.ask_bound()? {
                Some(next) => self.complete(next.max(self.now))?,
                None => return Ok(()),
            }
        }
        Err(format!("{} requests are still outstanding after {CALLS_MAX} calls of complete", self.outstanding))
    }

    /// Checks that notices of changes of capacity, if there are any, come in order of time and give the right capacity.
    fn check_notices(&self) -> Result<(), String> {
        if self.notices.windows(2).any(|pair| pair[0].at > pair[1].at) {
            return Err(format!("notices are out of order: {:?}", self.notices));
        }
        let told: Vec<(SimTime, Sectors)> = self
            .notices
            .iter()
            .filter_map(|notice| match notice.kind {
                NoticeKind::CapacityChanged(capacity) => Some((notice.at, capacity)),
                _ => None,
            })
            .collect();
        if told == self.capacities {
            return Ok(());
        }
        Err(format!("the capacity changed {:?}, notices give {told:?}", self.capacities))
    }

    /// Compares the whole run with the model.
    pub(super) fn check_contents(&self) -> Result<(), String> {
        let by_id: BTreeMap<RequestId, &Completion> = self.completions.iter().map(|one| (one.id, one)).collect();
        if by_id.len() != self.completions.len() {
            return Err("a request completes twice".to_owned());
        }
        let mut model = Model::new(self.features);
        let mut changes_done_at = SimTime::ZERO;
        for event in &self.events {
            let (id, at, request, tag, refusal) = match event {
                Event::Capacity(capacity) => {
                    model.shrink(*capacity);
                    continue;
                }
                Event::Submitted { id, at, request, tag, refusal } => (id, at, request, tag, refusal),
            };
            let done = *by_id.get(id).ok_or_else(|| format!("request {id} never completes"))?;
            if (done.submitted_at, done.kind, done.range) != (*at, request.kind, request.range) || done.at < *at {
                return Err(format!("{request:?} of {at} completes as {done:?}"));
            }
            if let Some(refusal) = refusal
                && done.status != *refusal
            {
                return Err(format!("{request:?} must end as {refusal:?}, and is {:?}", done.status));
            }
            if refusal.is_none() && done.status.is_refusal() {
                return Err(format!("{request:?} is refused without need: {:?}", done.status));
            }
            if request.kind == Kind::Flush && done.status.is_done() && done.at < changes_done_at {
                return Err(format!("flush {id} is done at {}, a change before it at {changes_done_at}", done.at));
            }
            if request.kind.changes_contents() && !done.status.is_refusal() {
                changes_done_at = changes_done_at.max(done.at);
            }
            model.apply(request, *tag, done)?;
            if let Some((bytes, lost)) = self.seen.get(id) {
                check_seen(bytes, lost, done)?;
            }
        }
        self.check_extents(&model)
    }

    fn check_extents(&self, model: &Model) -> Result<(), String> {
        let capacity = self.device.capacity();
        let mut reached = Lba(3.min(capacity.0));
        let asked_to = Lba(reached.0 + WINDOW + 61);
        let end = asked_to.min(Lba(capacity.0));
        let mut extents: Vec<Extent> = Vec::new();
        while reached < end {
            extents.clear();
            self.device.extents(SectorRange::between(reached, asked_to), &mut extents);
            if extents.is_empty() {
                return Err(format!("no extent is given at {reached} of {capacity}"));
            }
            for Extent { range, state } in extents.drain(..) {
                if range.is_empty() || range.start != reached {
                    return Err(format!("an extent of {range} follows at {reached}"));
                }
                for lba in super::model::sectors(range) {
                    model.check_state(lba, state)?;
                }
                reached = Lba(range.start.0 + range.count.0);
            }
        }
        if reached == end { Ok(()) } else { Err(format!("extents end at {reached} instead of {end}")) }
    }

    /// Checks that another run of the same steps gives the same result.
    pub(super) fn check_equal(&self, again: &Self, cut: Cut) -> Result<(), String> {
        if let Some((a, b)) = self.completions.iter().zip(&again.completions).find(|(a, b)| a != b) {
            return Err(format!("with the time cut {cut:?}, {a:?} becomes {b:?}"));
        }
        if self.completions.len() != again.completions.len() {
            return Err(format!("with the time cut {cut:?}, there are other completions"));
        }
        if self.notices != again.notices {
            return Err(format!("with the time cut {cut:?}, {:?} become {:?}", self.notices, again.notices));
        }
        Ok(())
    }
}

/// Checks that what was seen before a read is what the read brings, and that it fails where sectors were known to be lost.
fn check_seen(seen: &[u8], lost: &[SectorRange], read: &Completion) -> Result<(), String> {
    let of =
        |ranges: &[SectorRange], lba| ranges.iter().any(|range| range.overlaps(SectorRange::new(Lba(lba), Sectors(1))));
    let Some(bytes) = &read.bytes else {
        return if read.status.is_failure() { Ok(()) } else { Err(format!("{read:?} has no bytes, and a look had")) };
    };
    let both = seen.chunks_exact(512).zip(bytes.chunks_exact(512));
    for (lba, (seen, bytes)) in super::model::sectors(read.range).zip(both) {
        let (is_lost, has_failed) = (of(lost, lba), of(read.status.failed(), lba));
        if is_lost && (!has_failed || seen.iter().any(|byte| *byte != 0)) {
            return Err(format!(
                "a look says that sector {lba} is lost, and a read brings it, or the look has bytes of it"
            ));
        }
        if !has_failed && seen != bytes {
            return Err(format!("a look at sector {lba} shows {:?}.., a read {:?}..", &seen[..16], &bytes[..16]));
        }
    }
    Ok(())
}

/// Sectors that hold data, on a device that can limit them.
pub(super) fn mapped(device: &dyn BlockDevice) -> Sectors {
    if !device.features().mapped_limit {
        return Sectors::ZERO;
    }
    let mut all = Vec::new();
    all_extents(device, SectorRange::new(Lba(0), device.capacity()), &mut all);
    let is_mapped = |extent: &&Extent| extent.state != ExtentState::Hole;
    all.iter().filter(is_mapped).fold(Sectors::ZERO, |sum, extent| sum + extent.range.count)
}

/// The refusal of a request by the rules. It is written a second time, so that a mistake in `Request::check` shows.
fn expected_refusal(request: &Request, features: &Features, capacity: Sectors) -> Option<Status> {
    let refuse = |why| Some(Status::Unsupported(why));
    let (kind, range, source) = (request.kind, request.range, request.source);
    let count = range.count.0;
    let end = |range: SectorRange| u128::from(range.start.0) + u128::from(range.count.0);
    let unit = if kind == Kind::Remap { features.atomic_unit.0 } else { features.sector.0 };
    let off = |range: SectorRange| !range.start.0.is_multiple_of(unit) || !range.count.0.is_multiple_of(unit);
    let carried = request.bytes.as_ref().map(|bytes| bytes.len() as u128);
    match kind {
        Kind::Flush => return None,
        Kind::Remap if !features.remap => return refuse(Unsupported::Kind),
        Kind::Read => {}
        _ if request.flags.fua && !features.fua => return refuse(Unsupported::Fua),
        _ => {}
    }
    let too_long = count > 65_536;
    let misfit = match kind {
        Kind::Read => too_long && features.keeps_bytes,
        Kind::Write => carried.is_some_and(|bytes| too_long || bytes != u128::from(count) * 512),
        Kind::Remap => source.count.0 > count,
        _ => false,
    };
    if misfit {
        refuse(Unsupported::Length)
    } else if off(range) || (kind == Kind::Remap && off(source)) {
        refuse(Unsupported::Alignment)
    } else if end(range) > u128::from(capacity.0) || (kind == Kind::Remap && end(source) > u128::from(capacity.0)) {
        Some(Status::OutOfRange)
    } else if kind == Kind::Remap && range.start.0.max(source.start.0) < end(range).min(end(source)) as u64 {
        refuse(Unsupported::Overlap)
    } else {
        None
    }
}
