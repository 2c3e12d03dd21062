//! A layer that records requests and their times, so that they can be replayed.

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::{Bytes, Fate, Sectors, SimTime};

use crate::blocking::drain;
use crate::{
    Batch, BlockDevice, Completion, Kind, Living, Origin, Passing, PowerError, Recovered, Request, RequestId,
    SectorRange, Status, Stop, Tally, Took, Work, live_on, pass_on,
};

/// A recorded call of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// A request.
    Submit {
        /// Time of submission.
        at: SimTime,
        /// The request. It has no bytes if the log does not keep them.
        request: Request,
    },
    /// A change of capacity.
    SetCapacity {
        /// Time of the change.
        at: SimTime,
        /// The new capacity.
        capacity: Sectors,
    },
    /// A batch.
    Batch {
        /// Its instant.
        at: SimTime,
        /// What it did.
        work: Work,
        /// Its sectors.
        extents: Vec<SectorRange>,
        /// Who asked.
        origin: Origin,
        /// What was only counted.
        tally: Tally,
    },
    /// The host let the device go on with a batch.
    GoOn {
        /// Its instant.
        at: SimTime,
        /// What the device had stopped for.
        after: Stop,
    },
    /// A step of the device's own work.
    Work {
        /// Its instant.
        at: SimTime,
    },
    /// Time passed without requests.
    Pass {
        /// When it began.
        at: SimTime,
        /// The time.
        time: Passing,
    },
    /// The power went off.
    PowerOff {
        /// When.
        at: SimTime,
        /// What became of the operations that were under way, in order.
        fates: Vec<Fate>,
    },
    /// The power came back.
    PowerOn {
        /// When.
        at: SimTime,
    },
    /// A change of the mapped limit.
    SetMappedLimit {
        /// Time of the change.
        at: SimTime,
        /// The new limit.
        limit: Sectors,
    },
}

/// Whether the log keeps the bytes of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Requests alone: a replay has the same times, ranges and statuses, and writes no bytes.
    Requests,
    /// Bytes too: a replay leaves the same contents.
    Bytes,
}

/// Keeps a log of all that is asked of the device below it.
#[derive(Clone, Debug)]
pub struct Record<D> {
    device: D,
    keep: Keep,
    entries: Vec<Entry>,
    entries_max: usize,
    missed: u64,
}

impl<D: BlockDevice> Record<D> {
    /// Wraps a device. The log takes `entries_max` entries and counts those after them.
    pub const fn new(device: D, keep: Keep, entries_max: usize) -> Self {
        Self { device, keep, entries: Vec::new(), entries_max, missed: 0 }
    }

    /// The log so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Takes the log so far; the next entry begins a new log.
    pub fn take_entries(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    /// Entries for which the log had no room.
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    /// The device below.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// Returns the device below.
    pub fn into_inner(self) -> D {
        self.device
    }

    fn note(&mut self, entry: impl FnOnce(Keep) -> Entry) {
        if self.entries.len() < self.entries_max {
            self.entries.push(entry(self.keep));
        } else {
            self.missed += 1;
        }
    }
}

impl<D: BlockDevice> BlockDevice for Record<D> {
    pass_on!(device: features capacity mapped_limit next_event_at complete notices extents peek);

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.note(|keep| {
            let Request { kind, range, source, flags, origin, stream, .. } = request;
            let bytes = bytes_to_keep(&request, keep);
            Entry::Submit { at, request: Request { kind, range, source, flags, origin, stream, bytes } }
        });
        self.device.submit(at, request)
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.note(|_| Entry::SetCapacity { at, capacity });
        self.device.set_capacity(at, capacity)
    }

    fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        self.note(|_| Entry::SetMappedLimit { at, limit });
        self.device.set_mapped_limit(at, limit)
    }
}

/// The bytes that the log keeps of a request.
fn bytes_to_keep(request: &Request, keep: Keep) -> Option<Vec<u8>> {
    let bytes = request.bytes.as_ref().filter(|_| request.kind == Kind::Write)?;
    let fits = Sectors::filled_by(Bytes(bytes.len() as u64)) == Some(request.range.count)
        && request.range.count <= Request::TRANSFER_MAX;
    match (fits, keep) {
        (true, Keep::Bytes) => Some(bytes.clone()),
        (true, Keep::Requests) => None,
        // One byte fits no range, so that the replay is refused too.
        (false, _) => Some(vec![0]),
    }
}

impl Entry {
    /// Makes the call again, at its instant. Returns where the device's time is then.
    ///
    /// # Panics
    /// The device has run beyond that instant.
    pub fn repeat(self, device: &mut (impl Living + ?Sized)) -> SimTime {
        match self {
            Self::Submit { at, request } => {
                device.submit(at, request);
                at
            }
            Self::SetCapacity { at, capacity } => {
                device.set_capacity(at, capacity);
                at
            }
            Self::SetMappedLimit { at, limit } => {
                device.set_mapped_limit(at, limit);
                at
            }
            Self::Batch { at, work, extents, origin, tally } => {
                device.batch(at, &Batch::new(work, &extents).from(origin).with(tally));
                at
            }
            Self::GoOn { at, after } => {
                device.go_on(at, after);
                at
            }
            Self::Work { at } => {
                device.work(at);
                at
            }
            Self::Pass { at, time } => device.pass(at, time),
            Self::PowerOff { at, fates } => {
                let mut fates = fates.into_iter();
                device.power_off(at, &mut || fates.next().unwrap_or(Fate::Undone));
                at
            }
            Self::PowerOn { at } => {
                // A device that did not come back then does not now.
                let _ = device.power_on(at);
                device.now()
            }
        }
    }
}

/// Repeats the calls at the same times on a device that has not run beyond the first entry. Returns all completions.
pub fn replay(entries: &[Entry], device: &mut (impl Living + ?Sized)) -> Vec<Completion> {
    let mut out = Vec::new();
    let mut now = SimTime::ZERO;
    for entry in entries {
        now = entry.clone().repeat(device);
    }
    drain(device, now.max(device.now()), &mut out);
    out
}

impl<D: Living> Living for Record<D> {
    live_on!(device: now prefetch counters members);

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let Batch { work, extents, origin, tally } = *batch;
        self.note(|_| Entry::Batch { at, work, extents: extents.to_vec(), origin, tally });
        self.device.batch(at, batch)
    }

    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
        self.note(|_| Entry::GoOn { at, after });
        self.device.go_on(at, after)
    }

    fn work(&mut self, at: SimTime) -> Option<Stop> {
        self.note(|_| Entry::Work { at });
        self.device.work(at)
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        self.note(|_| Entry::Pass { at, time });
        self.device.pass(at, time)
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        let mut fates = Vec::new();
        self.device.power_off(at, &mut || {
            let drawn = fate();
            fates.push(drawn);
            drawn
        });
        self.note(|_| Entry::PowerOff { at, fates });
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        self.note(|_| Entry::PowerOn { at });
        self.device.power_on(at)
    }

    fn another(&self) -> Box<dyn Living> {
        let (keep, entries, entries_max, missed) = (self.keep, self.entries.clone(), self.entries_max, self.missed);
        Box::new(Record { device: self.device.another(), keep, entries, entries_max, missed })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("record.entries", &mut self.entries)?;
        archive.field("record.missed", &mut self.missed)?;
        self.device.archive(archive)
    }
}
