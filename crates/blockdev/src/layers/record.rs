//! A layer that records requests and their times, so that they can be replayed.

use wane_units::{Bytes, Sectors, SimTime};

use crate::blocking::drain;
use crate::{BlockDevice, Completion, Kind, Request, RequestId, Status, pass_on};

/// A recorded call of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// Whether the log keeps the bytes of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Requests alone: a replay has the same times, ranges and statuses, and writes no bytes.
    Requests,
    /// Bytes too: a replay leaves the same contents.
    Bytes,
}

/// Keeps a log of the requests that pass through it.
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
    pass_on!(device: features capacity next_event_at complete notices extents);

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

/// Repeats the calls at the same times on a device that has not run beyond the first entry. Returns all completions.
pub fn replay(entries: &[Entry], device: &mut (impl BlockDevice + ?Sized)) -> Vec<Completion> {
    let mut out = Vec::new();
    let mut now = SimTime::ZERO;
    for entry in entries {
        match entry {
            Entry::Submit { at, request } => {
                device.submit(*at, request.clone());
                now = *at;
            }
            Entry::SetCapacity { at, capacity } => {
                device.set_capacity(*at, *capacity);
                now = *at;
            }
        }
    }
    drain(device, now, &mut out);
    out
}
