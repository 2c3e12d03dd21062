//! The traits of every block device, in virtual time; a device in memory; layers that wrap any device.
//!
//! A [`BlockDevice`] takes requests at times that its caller names, and hands completions back when the caller lets time run.
//! There is no callback, no thread and no real clock. Drives, arrays, files and servers all implement or use it, so that each can
//! be stacked on any other, and each passes the conformance suite `wane_testkit::conformance`.
//!
//! # The rules
//!
//! **Sectors.** Every range counts sectors of 512 bytes, as in Linux, whatever the device's own sector is. Ranges are multiples
//! of [`Features::sector`]. [`Request::check`] is the one rule by which requests are refused. A refused request has no effect.
//!
//! **Time.** The times given to `submit`, `complete`, `set_capacity` and `set_mapped_limit` never fall; equal ones are fine. A device panics when
//! time goes back, because only a faulty caller can do that.
//!
//! **State now, time later.** Contents, map and capacity change as if each request were carried out whole at its submission, one
//! after another. A read returns what was submitted before it, complete or not, and nothing submitted later; requests that
//! overlap need no care. Whether a request is in range is decided at submission. A capacity that falls while the request is
//! outstanding does not matter to it.
//!
//! **Completions.** Each request completes exactly once. Completions come in order of their times, and at equal times in order of
//! their ids, which rise with every submission. Requests may overtake each other freely, except for flushes. `complete(until,
//! ..)` hands out all completions up to `until` and none after it. How a caller cuts the time into calls of `complete` changes
//! nothing: not the completions, their times, their bytes or the notices. The same calls on an equal device give the same
//! completions.
//!
//! **Waiting.** [`BlockDevice::next_event_at`] is a lower bound of the next completion if nothing else is submitted. It is `None`
//! exactly when nothing is outstanding.
//!
//! **Durability.** A flush that is done makes every request durable that was submitted before it, and completes no earlier than
//! any of these that changes contents. A request with [`Flags::fua`] makes itself durable, and nothing else, when it is done.
//! Data that are not durable may be lost when power fails, in any order, by whole atomic units. A failed flush promises nothing.
//!
//! **Zeros.** Sectors never written read as zeros. Write-zeroes makes sectors read as zeros and leaves them allocated, unless
//! [`Flags::may_unmap`] allows otherwise. Trim deallocates as far as the device can; [`Features::trim_reads_zeros`] says whether
//! the range, including its ragged ends, then reads as zeros.
//!
//! **Empty ranges** at or below the capacity are done and change nothing; above it they are out of range. A device that is gone
//! does nothing, not even that.
//!
//! **Failure is a value.** A failure names exactly the sectors of its request that failed, in rising order, and their contents
//! stay. The rest of the request is done, and no other request is affected. A read that fails for some sectors returns the others.
//! The exception is force unit access: if a change cannot be made durable, each sector named has its old or its new contents, and
//! so has the source of a remap. There are four failures, which tell a host what it can still do:
//!
//! - *Medium error*: these sectors. Others may do.
//! - *No space*: whatever needs space, until something is trimmed, or the host gives capacity back. Reads, flushes and trims of
//!   whole atomic units need none.
//! - *Read-only*: the device is worn out. It reads on, and from now on ends so what it cannot take any more: writes, and trims and
//!   remaps unless its map alone can carry them out. A flush is done if nothing acknowledged can be lost, and otherwise ends so
//!   without naming sectors. The request during which the device wears out is done up to that moment.
//! - *Gone*: the device is dead or has no power. Every request ends so whole, and reads bring no bytes.
//!
//! What [`Request::check`] refuses is refused in each of these states.
//!
//! **Long requests** take their host's real time: a host that must answer meanwhile cuts them into parts ([`Request::parts`]),
//! and joins the statuses ([`Status::join`]). A device may answer for fewer [`extents`](BlockDevice::extents) than it was asked for.
//!
//! **The mapped limit** ([`BlockDevice::set_mapped_limit`]) bounds how many sectors hold data at once, wherever they lie, while
//! the capacity bounds where they lie. It goes both ways. A write, or write-zeroes that allocates, maps units in rising order as
//! long as they fit; the sectors of those that do not end as no space, and of a batch they are left out. Units that hold data
//! already are written as ever, and nothing else needs the limit. A limit below what holds data is refused. It survives power
//! cuts. Without one, or with one that the capacity has fallen below, the capacity is the limit.
//!
//! **A look at contents** ([`BlockDevice::peek`]) is no request. It returns what a read would that is submitted now, and changes
//! nothing: neither the device's time nor its wear nor a counter. Where the device knows that sectors are lost it says so.
//!
//! **Remap** moves contents by a change of the map. The destination then has the contents of the source, the source is trimmed,
//! and so is the part of the destination beyond the length of the source. Both are multiples of the atomic unit and do not
//! overlap. After a power cut each unit of a remap that was not durable is wholly before or wholly after it. No cut shows an old
//! destination together with a trimmed source.
//!
//! # Living devices
//!
//! A [`Living`] device is also aged, rests, wears, loses its power, is cloned and saved. A layer or an array over living devices
//! is one itself.
//!
//! **Batches** are work without contents and without time. A [`Batch`] leaves what its ranges leave as requests, submitted one by
//! one, but nothing completes later. A batch beyond the capacity does nothing. Where the device needs its host, it stops and says
//! why ([`Stop`]); the host lets it go on, and hands in what is left.
//!
//! **Time that passes** without requests has its own call. Days are outside of the device's clock.
//!
//! **Power.** What was durable when the power went off is there when it comes back; everything else is there or not, by whole
//! atomic units. Each outstanding request ends as gone at the instant of the cut. Without power, every request ends so.
//!
//! **Copies and saved states** go on exactly as the device would, at any instant, with requests outstanding.
//!
//! # Example
//!
//! ```
//! use wane_blockdev::{Blocking, Ram, SectorRange};
//! use wane_units::{Lba, Sectors};
//!
//! let mut device = Blocking::new(Ram::new(Sectors(1 << 31)));
//! device.write(Lba(8), vec![7; 4096])?;
//! device.flush()?;
//! assert_eq!(device.read(SectorRange::new(Lba(8), Sectors(8)))?, vec![7; 4096]);
//! # Ok::<(), wane_blockdev::IoError>(())
//! ```

mod align;
mod blocking;
mod completion;
mod device;
mod layers;
mod living;
pub mod measured;
mod parts;
mod ram;
mod range;
mod range_set;
mod request;
mod served;
mod store;

/// The units crate, for [`pass_on!`].
#[doc(hidden)]
pub use wane_units as units;

pub use align::UnitSplit;
pub use blocking::{Blocking, IoError, drain};
pub use completion::{Completion, CompletionQueue, RequestId, Status, Unsupported};
pub use device::{
    AnsweredBy, BlockDevice, Extent, ExtentState, Features, Notice, NoticeKind, Resize, WantedCause, all_extents,
    check_capacity, check_mapped_limit, check_peek,
};
pub use layers::{
    BusyTime, Delay, Delays, Effect, Entry, Fault, Fifo, Integrity, IntegrityError, Keep, KindStats, Mismatches,
    Persistence, Record, ServiceTimes, Stats, replay,
};
pub use living::{
    Batch, Health, Living, Passing, PowerError, Recovered, Stop, Tally, Took, Wanted, Work, all_of, carry_out, each_of,
    find, rest_of,
};
pub use ram::{Ram, RamConfig, RamError};
pub use range::SectorRange;
pub use range_set::RangeSet;
pub use request::{Flags, Kind, Origin, Request, StreamHint};
pub use served::{Breakdown, BreakdownTotals, Op, Served, Timed, Until};

/// For layers, which are archived.
pub use wane_archive::{Archive, ArchiveError};
