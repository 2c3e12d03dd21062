//! How a request ends, and a queue that hands completions out in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::{Nanos, SimTime};

use crate::{Kind, SectorRange};

/// The device's number for a request. Later requests have higher numbers; numbers may be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u64);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a request ended. Ranges in a status lie within the request, in rising order, and do not touch each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// As asked.
    Done,
    /// These sectors could not be read, or were not written and keep their contents; all others of the request are done. A remap
    /// names its whole destination. A flush names the sectors that it knows it lost, which may be none.
    MediumError(Vec<SectorRange>),
    /// The range ends beyond the capacity that the device had on submission. Nothing was done.
    OutOfRange,
    /// These sectors were not written and keep their contents, because the device has no space; all others are done.
    NoSpace(Vec<SectorRange>),
    /// These sectors were not written or trimmed and keep their contents, because the device is worn out: it reads on, and takes
    /// no writes any more. All others are done. A flush names none.
    ReadOnly(Vec<SectorRange>),
    /// Nothing of the device can be reached, because it is dead or without power. Names the whole request, of which nothing was
    /// done; nothing for a flush.
    Gone(Vec<SectorRange>),
    /// The device cannot do this. Nothing was done.
    Unsupported(Unsupported),
}

impl Status {
    /// Whether all was done as asked.
    pub fn is_done(&self) -> bool {
        *self == Self::Done
    }

    /// Whether the request was refused without an attempt: out of range or unsupported.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::OutOfRange | Self::Unsupported(_))
    }

    /// Whether sectors failed, or a flush did.
    pub const fn is_failure(&self) -> bool {
        !matches!(self, Self::Done) && !self.is_refusal()
    }

    /// The sectors that failed. Empty if all was done, or nothing because it was refused.
    pub fn failed(&self) -> &[SectorRange] {
        match self {
            Self::MediumError(sectors) | Self::NoSpace(sectors) | Self::ReadOnly(sectors) | Self::Gone(sectors) => {
                sectors
            }
            Self::Done | Self::OutOfRange | Self::Unsupported(_) => &[],
        }
    }

    /// The status of a request from those of two parts of it, the first of which lies before the second: the worse one, with the
    /// failed sectors of both. A refusal remains one; parts are refused together if the whole was checked before it was cut.
    #[must_use]
    pub fn join(mut self, mut next: Self) -> Self {
        let is_worse = next.severity() > self.severity();
        let (Some(failed), Some(more)) = (self.failed_mut(), next.failed_mut()) else {
            return if is_worse { next } else { self };
        };
        more.iter().for_each(|range| range.push_to(failed));
        if is_worse { next.naming(std::mem::take(failed)) } else { self }
    }

    /// The same failure, of other sectors.
    pub(crate) fn naming(mut self, sectors: Vec<SectorRange>) -> Self {
        if let Some(failed) = self.failed_mut() {
            *failed = sectors;
        }
        self
    }

    /// Of two statuses, the one with the higher number says more about the device as a whole.
    pub(crate) const fn severity(&self) -> u8 {
        match self {
            Self::Done => 0,
            Self::MediumError(_) => 1,
            Self::NoSpace(_) => 2,
            Self::ReadOnly(_) => 3,
            Self::Gone(_) => 4,
            Self::OutOfRange | Self::Unsupported(_) => 5,
        }
    }

    const fn failed_mut(&mut self) -> Option<&mut Vec<SectorRange>> {
        match self {
            Self::MediumError(sectors) | Self::NoSpace(sectors) | Self::ReadOnly(sectors) | Self::Gone(sectors) => {
                Some(sectors)
            }
            Self::Done | Self::OutOfRange | Self::Unsupported(_) => None,
        }
    }
}

/// An NVMe status: how an NVMe drive reports the end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmeStatus {
    /// The status code type: 0 generic, 2 media and data integrity.
    pub code_type: u8,
    /// The status code.
    pub code: u8,
}

impl Status {
    /// The status with which an NVMe drive ends a request of this kind in the same case (NVM Express base specification 2.0,
    /// section 3.3.3.2.1, and NVM command set 1.0, section 2.3.2): 0/80h, LBA Out of Range, also beyond a capacity that was
    /// lowered; 0/81h, Capacity Exceeded; 2/81h, Unrecovered Read Error; 2/80h, Write Fault; 0/01h, Invalid Command Opcode;
    /// 0/02h, Invalid Field in Command; 0/06h, Internal Error; 0/20h, Namespace is Write Protected, of a drive that is worn out. A
    /// drive that is gone gives no answer; 0/82h, Namespace Not Ready, stands for that.
    pub const fn nvme(&self, kind: Kind) -> NvmeStatus {
        let (code_type, code) = match self {
            Self::Done => (0, 0x00),
            Self::MediumError(_) if matches!(kind, Kind::Read) => (2, 0x81),
            Self::MediumError(_) => (2, 0x80),
            Self::OutOfRange => (0, 0x80),
            Self::NoSpace(_) => (0, 0x81),
            Self::ReadOnly(_) => (0, 0x20),
            Self::Gone(_) => (0, 0x82),
            Self::Unsupported(Unsupported::Kind) => (0, 0x01),
            Self::Unsupported(Unsupported::ClockEnd) => (0, 0x06),
            Self::Unsupported(_) => (0, 0x02),
        };
        NvmeStatus { code_type, code }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Done => return f.write_str("done"),
            Self::OutOfRange => return f.write_str("the range ends beyond the capacity"),
            Self::Unsupported(why) => return why.fmt(f),
            Self::MediumError(_) => "medium error",
            Self::NoSpace(_) => "no space",
            Self::ReadOnly(_) => "read-only",
            Self::Gone(_) => "gone",
        };
        let place = if matches!(self, Self::Gone(_)) { ":" } else { " in" };
        match self.failed() {
            [] => f.write_str(name),
            [first] => write!(f, "{name}{place} {first}"),
            [first, more @ ..] => write!(f, "{name}{place} {first} and {} more ranges", more.len()),
        }
    }
}

/// Why a device cannot do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Unsupported {
    /// The kind of request, or a change of capacity.
    #[error("the device does not support this kind of request")]
    Kind,
    /// Force unit access.
    #[error("the device does not support force unit access; a flush afterwards does the same")]
    Fua,
    /// Start or length is not a multiple of the logical sector or, for remaps, of the atomic unit.
    #[error("start and length must be multiples of the device's sector, for a remap of its atomic unit")]
    Alignment,
    /// Bytes do not fit the range, the transfer is too long, or a remap's source is longer than its destination.
    #[error(
        "the bytes must fill the range, which carries at most 32 MiB, and a remap's source must fit its destination"
    )]
    Length,
    /// Source and destination of a remap overlap.
    #[error("source and destination of a remap must not overlap")]
    Overlap,
    /// The device keeps time, and its time is used up.
    #[error(
        "the device's clock has ended: it counts 2^64 nanoseconds, about 584 years, and no request can end after them"
    )]
    ClockEnd,
}

/// A request that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The number that `submit` returned.
    pub id: RequestId,
    /// When it was submitted.
    pub submitted_at: SimTime,
    /// When it ended, not before it was submitted.
    pub at: SimTime,
    /// Kind of the request.
    pub kind: Kind,
    /// Its range.
    pub range: SectorRange,
    /// How it ended.
    pub status: Status,
    /// For a read that is done or ended with a medium error, on a device that keeps bytes: the contents of the whole range, with
    /// zeros for sectors that could not be read. Otherwise `None`.
    pub bytes: Option<Vec<u8>>,
}

impl Completion {
    /// From submission to completion.
    pub fn latency(&self) -> Nanos {
        self.at - self.submitted_at
    }
}

/// Future completions, handed out by time and, at equal times, by id. Layers that delay requests and arrays that merge their
/// members use it.
#[derive(Clone, Debug, Default)]
pub struct CompletionQueue {
    heap: BinaryHeap<Reverse<ByTime>>,
}

#[derive(Clone, Debug)]
struct ByTime(Completion);

impl ByTime {
    fn key(&self) -> (SimTime, RequestId) {
        (self.0.at, self.0.id)
    }
}

impl PartialEq for ByTime {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ByTime {}

impl PartialOrd for ByTime {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByTime {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl CompletionQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a completion.
    pub fn push(&mut self, completion: Completion) {
        debug_assert!(completion.submitted_at <= completion.at, "a request ends after it came");
        self.heap.push(Reverse(ByTime(completion)));
    }

    /// When the first completion is due.
    pub fn next_at(&self) -> Option<SimTime> {
        self.heap.peek().map(|Reverse(first)| first.0.at)
    }

    /// Ends at `at` what would complete later, as power that goes off does.
    pub fn cut_off(&mut self, at: SimTime) {
        for Reverse(ByTime(mut held)) in std::mem::take(&mut self.heap) {
            if held.at > at {
                (held.at, held.status, held.bytes) = (at, Status::all_gone(held.range), None);
            }
            self.push(held);
        }
    }

    /// Writes the completions, or reads them back.
    ///
    /// # Errors
    /// As of [`Archive`].
    pub fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let mut held = Vec::new();
        self.pop_until(SimTime::MAX, &mut held);
        archive.field("completions", &mut held)?;
        held.into_iter().for_each(|completion| self.push(completion));
        Ok(())
    }

    /// Moves the completions that are due up to `until` to `out`, in order.
    pub fn pop_until(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        while self.next_at().is_some_and(|at| at <= until)
            && let Some(Reverse(first)) = self.heap.pop()
        {
            out.push(first.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use wane_units::{Lba, Sectors};

    use super::*;

    #[test]
    fn completions_come_by_time_then_by_id() {
        let mut queue = CompletionQueue::new();
        for (id, at) in [(4, 20), (2, 10), (3, 30), (1, 20), (0, 20)] {
            queue.push(Completion {
                id: RequestId(id),
                submitted_at: SimTime(5),
                at: SimTime(at),
                kind: Kind::Flush,
                range: SectorRange::EMPTY,
                status: Status::Done,
                bytes: None,
            });
        }
        assert_eq!(queue.next_at(), Some(SimTime(10)));
        let mut out = Vec::new();
        queue.pop_until(SimTime(9), &mut out);
        assert!(out.is_empty());
        queue.pop_until(SimTime(20), &mut out);
        assert_eq!(out.iter().map(|one| one.id.0).collect::<Vec<_>>(), [2, 0, 1, 4]);
        assert_eq!((out[0].latency(), queue.next_at()), (Nanos(5), Some(SimTime(30))));
    }

    #[test]
    fn statuses_have_nvmes_words() {
        let (range, nvme) = (SectorRange::new(Lba(8), Sectors(1)), |code_type, code| NvmeStatus { code_type, code });
        let table = [
            (Status::Done, Kind::Read, nvme(0, 0)),
            (Status::MediumError(vec![range]), Kind::Read, nvme(2, 0x81)),
            (Status::MediumError(Vec::new()), Kind::Flush, nvme(2, 0x80)),
            (Status::OutOfRange, Kind::Write, nvme(0, 0x80)),
            (Status::NoSpace(vec![range]), Kind::Write, nvme(0, 0x81)),
            (Status::ReadOnly(vec![range]), Kind::Trim, nvme(0, 0x20)),
            (Status::Gone(vec![range]), Kind::Read, nvme(0, 0x82)),
            (Status::Unsupported(Unsupported::Kind), Kind::Remap, nvme(0, 1)),
            (Status::Unsupported(Unsupported::Overlap), Kind::Remap, nvme(0, 2)),
            (Status::Unsupported(Unsupported::ClockEnd), Kind::Read, nvme(0, 6)),
        ];
        for (status, kind, word) in table {
            assert_eq!(status.nvme(kind), word, "{status}");
        }
    }

    #[test]
    fn statuses_are_told_in_a_sentence() {
        let range = SectorRange::new(Lba(8), Sectors(1));
        let table = [
            (Status::Done, "done"),
            (Status::MediumError(vec![range]), "medium error in 1 sector from 8"),
            (Status::NoSpace(vec![range; 3]), "no space in 1 sector from 8 and 2 more ranges"),
            (Status::MediumError(Vec::new()), "medium error"),
            (Status::ReadOnly(vec![range; 2]), "read-only in 1 sector from 8 and 1 more ranges"),
            (Status::ReadOnly(Vec::new()), "read-only"),
            (Status::Gone(vec![range]), "gone: 1 sector from 8"),
            (Status::Unsupported(Unsupported::Overlap), "source and destination of a remap must not overlap"),
        ];
        for (status, text) in table {
            assert_eq!(status.to_string(), text);
        }
    }

    #[test]
    fn the_worse_part_names_what_failed_in_both() {
        let range = |start, count| SectorRange::new(Lba(start), Sectors(count));
        let (early, late, touching) = (vec![range(0, 2)], vec![range(4, 2)], vec![range(2, 2)]);
        let both = vec![early[0], late[0]];
        let refused = Status::Unsupported(Unsupported::Kind);
        let table = [
            (Status::Done, Status::Done, Status::Done),
            (Status::Done, Status::NoSpace(late.clone()), Status::NoSpace(late.clone())),
            (Status::Gone(early.clone()), Status::Done, Status::Gone(early.clone())),
            (Status::MediumError(early.clone()), Status::MediumError(touching), Status::MediumError(vec![range(0, 4)])),
            (Status::MediumError(early.clone()), Status::NoSpace(late.clone()), Status::NoSpace(both.clone())),
            (Status::ReadOnly(early.clone()), Status::MediumError(late.clone()), Status::ReadOnly(both.clone())),
            (Status::ReadOnly(early.clone()), Status::Gone(late), Status::Gone(both)),
            (Status::NoSpace(early), refused.clone(), refused.clone()),
            (refused.clone(), Status::OutOfRange, refused),
        ];
        for (first, second, want) in table {
            assert_eq!(first.clone().join(second.clone()), want, "{first:?} and {second:?}");
        }
    }
}
