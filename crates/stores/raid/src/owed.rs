//! Batches in parts: what each member has to do, and has not done yet.

use serde::{Deserialize, Serialize};
use wane_blockdev::{Batch, Living, Origin, SectorRange, Stop, Tally, Work};
use wane_units::{Lba, Sectors, SimTime};

/// Sectors of an array that lie together on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// In the array.
    pub(crate) host: SectorRange,
    /// The first of them on the member.
    pub(crate) start: Lba,
}

impl Part {
    /// On the member.
    pub(crate) const fn range(&self) -> SectorRange {
        SectorRange::new(self.start, self.host.count)
    }

    /// The sectors of the array that lie on sectors of the member.
    pub(crate) fn host_of(&self, range: SectorRange) -> SectorRange {
        let there = self.range().intersection(range);
        if there.is_empty() {
            return SectorRange::EMPTY;
        }
        SectorRange::new(Lba(self.host.start.0 + (there.start.0 - self.start.0)), there.count)
    }
}

/// What a member owes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Debt {
    parts: Vec<Part>,
    tally: Tally,
    /// How it stopped, if it is to go on first.
    stopped: Option<Stop>,
    /// Of a flush.
    is_open: bool,
}

/// A batch that is under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Owed {
    work: Work,
    origin: Origin,
    debts: Vec<Debt>,
}

/// What became of it.
pub(crate) struct Carried {
    pub(crate) stop: Stop,
    /// Members that ended for good, how, and what they did not take.
    pub(crate) ended: Vec<(usize, Stop, Vec<Part>)>,
    /// Sectors of the array whose data are lost.
    pub(crate) unread: Vec<SectorRange>,
}

impl Owed {
    /// A batch of which member N has `parts[N]` to do.
    pub(crate) fn new(batch: &Batch<'_>, parts: Vec<Vec<Part>>) -> Self {
        let mut debts: Vec<Debt> = parts
            .into_iter()
            .map(|parts| Debt { is_open: batch.work == Work::Flush, parts, ..Debt::default() })
            .collect();
        // What is only counted is counted once.
        let first = debts.iter().position(|debt| !debt.parts.is_empty()).unwrap_or(0);
        if let Some(debt) = debts.get_mut(first) {
            debt.tally = batch.tally;
        }
        Self { work: batch.work, origin: batch.origin, debts }
    }

    /// What members owe that stopped in the midst of a batch, as they stopped.
    pub(crate) fn after(batch: &Batch<'_>, stopped: Vec<(Option<Stop>, Vec<Part>)>) -> Self {
        let debt = |(stopped, parts)| Debt { parts, stopped, ..Debt::default() };
        Self { work: batch.work, origin: batch.origin, debts: stopped.into_iter().map(debt).collect() }
    }

    /// Lets each member go on until it has done its part, or pauses.
    pub(crate) fn carry_on<'a>(
        &mut self,
        at: SimTime,
        members: impl Iterator<Item = &'a mut Box<dyn Living>>,
    ) -> Carried {
        let mut carried = Carried { stop: Stop::Done, ended: Vec::new(), unread: Vec::new() };
        for (number, (debt, member)) in self.debts.iter_mut().zip(members).enumerate() {
            let stop = debt.pay(at, self.work, self.origin, member.as_mut(), &mut carried.unread);
            let is_end = matches!(stop, Stop::Dead(_) | Stop::Gone | Stop::OutOfRange);
            if is_end {
                carried.ended.push((number, stop, std::mem::take(&mut debt.parts)));
            }
            // An end says more than a pause.
            if is_end && !matches!(carried.stop, Stop::Dead(_)) || carried.stop == Stop::Done {
                carried.stop = stop;
            }
        }
        carried
    }

    /// Whether members have something to do.
    pub(crate) fn is_open(&self) -> bool {
        self.debts.iter().any(|debt| debt.stopped.is_some() || !debt.parts.is_empty())
    }
}

impl Debt {
    /// Returns how the member stopped: done, paused, or for good.
    fn pay(
        &mut self,
        at: SimTime,
        work: Work,
        origin: Origin,
        member: &mut dyn Living,
        unread: &mut Vec<SectorRange>,
    ) -> Stop {
        let goes_on = |stop| matches!(stop, Stop::Paused | Stop::Wants(_));
        let mut stop = self.stopped.take().map_or(Stop::Done, |stopped| member.go_on(at, stopped));
        loop {
            while let Stop::Wants(_) = stop {
                stop = member.go_on(at, stop);
            }
            // Nobody could be told later which sectors of a read are lost.
            while stop == Stop::Paused && work.kind() == wane_blockdev::Kind::Read {
                stop = member.go_on(at, stop);
            }
            if goes_on(stop) {
                self.stopped = Some(stop);
                return stop;
            }
            if stop != Stop::Done || (self.parts.is_empty() && !self.is_open) {
                return stop;
            }
            let extents: Vec<SectorRange> = self.parts.iter().map(Part::range).collect();
            let tally = std::mem::take(&mut self.tally);
            let took = member.batch(at, &Batch { work, extents: &extents, origin, tally });
            for lost in &took.unread {
                unread.extend(self.parts.iter().map(|part| part.host_of(*lost)).filter(|host| !host.is_empty()));
            }
            self.is_open = false;
            self.take(took.done);
            stop = took.stop;
        }
    }

    /// The first `done` sectors are done.
    fn take(&mut self, done: Sectors) {
        let mut left = done;
        self.parts.retain_mut(|part| {
            let taken = left.min(part.host.count);
            left = left - taken;
            part.start = Lba(part.start.0 + taken.0);
            part.host = part.host.without_first(taken);
            !part.host.is_empty()
        });
    }
}
