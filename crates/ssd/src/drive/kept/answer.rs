//! Answers of the block device in a file, as plain numbers: the crate of the trait knows no files.

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{Completion, Kind, RequestId, SectorRange, Status, Unsupported};
use wane_units::{Lba, Sectors, SimTime};

/// The refusals, each at its number in the file.
const REFUSALS: [Unsupported; 6] = [
    Unsupported::Kind,
    Unsupported::Fua,
    Unsupported::Alignment,
    Unsupported::Length,
    Unsupported::Overlap,
    Unsupported::ClockEnd,
];

/// Writes answers to a file, or reads them. Returns those of the file.
///
/// # Errors
/// As of [`Archive`]; or an answer names a kind or a refusal that there is not.
pub(super) fn archive<'a>(
    archive: &mut dyn Archive,
    name: &str,
    answers: impl Iterator<Item = &'a Completion>,
) -> Result<Vec<Completion>, ArchiveError> {
    let mut saved: Vec<Saved> = answers.map(Saved::from).collect();
    archive.field(name, &mut saved)?;
    let answers: Option<Vec<_>> = saved.into_iter().map(Saved::answer).collect();
    answers.ok_or_else(|| ArchiveError::Damaged { name: name.to_owned() })
}

/// A request's answer.
#[derive(Serialize, Deserialize)]
struct Saved {
    id: u64,
    submitted_at: u64,
    at: u64,
    /// Its place in [`Kind::ALL`].
    kind: u8,
    /// First sector and number of sectors.
    range: (u64, u64),
    ended: Ended,
    bytes: Option<Vec<u8>>,
}

/// How a request ended, with ranges as in [`Saved`].
#[derive(Serialize, Deserialize)]
enum Ended {
    Done,
    MediumError(Vec<(u64, u64)>),
    OutOfRange,
    NoSpace(Vec<(u64, u64)>),
    /// By its place in [`REFUSALS`].
    Unsupported(u8),
}

fn of_range(range: &SectorRange) -> (u64, u64) {
    (range.start.0, range.count.0)
}

fn range((start, count): (u64, u64)) -> SectorRange {
    SectorRange::new(Lba(start), Sectors(count))
}

impl From<&Completion> for Saved {
    fn from(answer: &Completion) -> Self {
        let ranges = |ranges: &[SectorRange]| ranges.iter().map(of_range).collect();
        let ended = match &answer.status {
            Status::Done => Ended::Done,
            Status::MediumError(failed) => Ended::MediumError(ranges(failed)),
            Status::OutOfRange => Ended::OutOfRange,
            Status::NoSpace(failed) => Ended::NoSpace(ranges(failed)),
            Status::Unsupported(why) => {
                let place = REFUSALS.iter().position(|refusal| refusal == why);
                Ended::Unsupported(place.expect("the drive refuses for no other reason") as u8)
            }
        };
        Self {
            id: answer.id.0,
            submitted_at: answer.submitted_at.0,
            at: answer.at.0,
            kind: answer.kind as u8,
            range: of_range(&answer.range),
            ended,
            bytes: answer.bytes.clone(),
        }
    }
}

impl Saved {
    /// The answer; `None` if the file names a kind or a refusal that there is not.
    fn answer(self) -> Option<Completion> {
        let ranges = |ranges: Vec<(u64, u64)>| ranges.into_iter().map(range).collect();
        let status = match self.ended {
            Ended::Done => Status::Done,
            Ended::MediumError(failed) => Status::MediumError(ranges(failed)),
            Ended::OutOfRange => Status::OutOfRange,
            Ended::NoSpace(failed) => Status::NoSpace(ranges(failed)),
            Ended::Unsupported(why) => Status::Unsupported(*REFUSALS.get(usize::from(why))?),
        };
        Some(Completion {
            id: RequestId(self.id),
            submitted_at: SimTime(self.submitted_at),
            at: SimTime(self.at),
            kind: *Kind::ALL.get(usize::from(self.kind))?,
            range: range(self.range),
            status,
            bytes: self.bytes,
        })
    }
}
