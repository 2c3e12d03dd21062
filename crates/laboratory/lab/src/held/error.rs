//! Why a kept drive cannot do what was requested.

use wane_blockdev::PowerError;
use wane_ftl::UnretiredError;
use wane_journal::JournalError;
use wane_results::EndCause;
use wane_scenario::ScenarioError;
use wane_shelf::ShelfError;
use wane_ssd::DriveError;
use wane_units::{Bytes, Sectors, SimTime};
use wane_workload::SourceError;

use super::DAYS_MAX;
use crate::build::PlanError;
use crate::forward::ForwardError;
use crate::session::SessionError;

/// Reasons why a kept drive cannot do what was requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptError {
    /// Error of its folder.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    /// Error of its scenario, or of another that was given.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It cannot be built.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It needs too much memory.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Its trace cannot be read further.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It has several phases.
    #[error(
        "a drive is aged by one workload at a time, and the scenario has {0} phases; give one of them by --workload"
    )]
    Phases(usize),
    /// Its scenario has `[fast-forward]`.
    #[error(
        "[fast-forward] belongs to a run; a drive that is kept is fast-forwarded when it is aged (--fast-forward FACTOR), so leave the table out"
    )]
    FastForward,
    /// Its life cannot be predicted.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// Its workload cannot be opened a second time.
    #[error("a drive is opened again and again, and stdin can be read only once; give workload.trace a file")]
    Stdin,
    /// The workload would never end.
    #[error("a drive ages by writes, and its workload writes nothing")]
    Writeless,
    /// It exports no unit any more.
    #[error("the drive may hold {}, which is no whole unit of it, so that no workload has room there", Bytes(.0.0 * Sectors::SIZE.0))]
    NothingLeft(Sectors),
    /// The drive has no rated erases, or no block of it ever retires.
    #[error(
        "no block of the drive ever retires (drive.endurance, ftl.retire), so its wear has no limit; age it by drive-writes"
    )]
    Unrated,
    /// It died before it was new.
    #[error("the drive died while it was preconditioned ({}); [precondition] says how much is written", .0.name())]
    DiedNew(EndCause),
    /// Days are asked for without a calendar.
    #[error(
        "a drive whose days are to be counted needs a pace; give time.drive-writes-per-day a number, or \"trace\" for a trace's own"
    )]
    NoPace,
    /// It would be older than [`DAYS_MAX`].
    #[error("days: found {days:?} on day {day}, and a drive's days are counted up to {DAYS_MAX}")]
    TooOld {
        /// Today.
        day: f64,
        /// Days that it should lie.
        days: f64,
    },
    /// Re-reads are limited, but none is ever needed.
    #[error("rereads: no read of the drive ever needs a re-read (drive.chip, drive.ecc.strength)")]
    NoRereads,
    /// A temperature is given, but its data do not age.
    #[error("celsius: the drive's data do not age, as no bit of them is ever wrong (drive.chip)")]
    Ageless,
    /// Its data would be older than [`DAYS_MAX`].
    #[error(
        "celsius: {days:?} days at {celsius} °C age data by {aged:.0} days, and days of data are counted up to {DAYS_MAX}"
    )]
    TooWarm {
        /// Days that it should lie.
        days: f64,
        /// The temperature.
        celsius: f64,
        /// Days in which data age as much at the usual temperature.
        aged: f64,
    },
    /// A trace has changed.
    #[error(
        "the workload's trace has changed since the drive was aged by it; give --workload, which starts from the beginning"
    )]
    TraceChanged,
    /// The place in its workload cannot be found.
    #[error(
        "the drive's workload cannot be opened where it stopped: {0}; give --workload, which starts from the beginning"
    )]
    Place(String),
    /// Its end never comes, or cannot be found.
    #[error("the drive's end cannot be found: {0}")]
    NoEnd(String),
    /// It cannot come back from a power cut.
    #[error("the drive does not come back from a power cut: {0}; ftl.recovery says how it could")]
    Power(DriveError),
    /// The same, of a drive whose power was off when its server died.
    #[error("the drive does not come back from a power cut: {0}; ftl.recovery says how it could")]
    Unpowered(PowerError),
    /// A block cannot be taken out of service.
    #[error(transparent)]
    Unretired(#[from] UnretiredError),
    /// Its file system decides where its data lie.
    #[error(
        "its file system decides where its data lie, as the drive may shrink (ftl.capacity); this is for drives of a fixed capacity"
    )]
    Shrinking,
    /// Writes could not be made durable.
    #[error("the drive could not make durable what was done: {0}")]
    Unflushed(String),
    /// Its blocks retire by something else.
    #[error("the drive's policy has no threshold of this kind (ftl.retire)")]
    NoThreshold,
    /// It is an array, and this is done to one of its drives.
    #[error("is an array, and a drive alone is {0}; name one by its number behind the folder, the first by /0")]
    OneDrive(&'static str),
    /// It is a drive of an array, and this is done to the whole.
    #[error("is a drive of an array, which is {0} as a whole; leave out its number")]
    Whole(&'static str),
    /// Something about the drive in a folder.
    #[error("{0}: {1}")]
    At(String, Box<KeptError>),
    /// It cannot come back from a power cut, as an array.
    #[error("the array does not come back from a power cut: {0}; ftl.recovery says how its drives could")]
    ArrayUnpowered(PowerError),
    /// All drives of an array are out.
    #[error("all drives of the array are out; put-back returns one")]
    AllOut,
    /// A drive is out.
    #[error("drive {0} of the array is out already")]
    MemberOut(usize),
    /// A drive could not come back.
    #[error(
        "drive {0} of the array keeps nothing from which it could come back (ftl.recovery); --force takes it out for good"
    )]
    OneWay(usize),
    /// It is one drive.
    #[error("is one drive and no array, so it has no drives by number")]
    NoArray,
    /// It has no such drive.
    #[error("the array has no drive {place}; its drives are 0 to {}", .places - 1)]
    NoMember {
        /// What was asked for.
        place: usize,
        /// How many there are.
        places: usize,
    },
    /// A drive has no power.
    #[error("drive {0} of the array is out: it was taken out, or did not come back; put-back or replace ends that")]
    MemberOff(usize),
    /// A drive has power.
    #[error("drive {0} of the array is there; only one that was taken out can be put back")]
    MemberThere(usize),
    /// Some data would be lost.
    #[error("drive {place} has the only copy of {bytes}, which would be lost; --force does it all the same")]
    LastCopy {
        /// The drive.
        place: usize,
        /// What it alone has.
        bytes: Bytes,
    },
    /// Some data would be lost.
    #[error("without drive {place}, {bytes} could not be read; --force does it all the same")]
    Needed {
        /// The drive.
        place: usize,
        /// What cannot be made of the others.
        bytes: Bytes,
    },
    /// Some data may come back with it.
    #[error(
        "drive {place} is out, and {bytes} cannot be read, which it may have; put-back {place}, or --force does it all the same"
    )]
    NeededBack {
        /// The drive.
        place: usize,
        /// What cannot be made of the others.
        bytes: Bytes,
    },
    /// It has one copy of its data.
    #[error(
        "the array is no mirror: it has one copy of its data, so that no drive of it can be taken out or replaced, and nothing be compared"
    )]
    NoMirror,
    /// It was not made to its end.
    #[error(
        "{0}: is not finished, as it was being preconditioned when its command ended; the same `wane drive create` goes on with it"
    )]
    Unfinished(String),
    /// The file from which its bytes were read is damaged.
    #[error("{0}: its state cannot be read: {1}; nothing was kept of what was done")]
    Bytes(String, String),
    /// Its server's journal has no place up to which it could be saved.
    #[error("{0}: its journal ends before the place up to which it is to be saved; it stays as it is")]
    Short(String),
    /// It has no journal.
    #[error(
        "{0}: nothing was done to the drive since it was saved, or nothing is left of it; `wane serve --keep-journal` keeps it"
    )]
    NoJournal(String),
    /// Another drive would lie in its folder.
    #[error("{0}: lies in the drive's own folder, with which it would be removed; give a place outside")]
    Inside(String),
    /// It was not yet that time when its journal began.
    #[error("--until: {0}: its journal begins at {1} of its clock; that, or later, is allowed")]
    BeforeJournal(String, SimTime),
    /// Its journal cannot be used.
    #[error("{0}: {1}")]
    Journal(String, JournalError),
    /// There is no memory for its bytes.
    #[error("no memory for the drive's bytes: {0}")]
    Memory(std::io::Error),
    /// The user stopped it before it did anything.
    #[error("stopped before the drive was open")]
    Interrupted,
}
