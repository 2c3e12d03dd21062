//! Block traces: reads any common format, measures, converts and replays traces.
//!
//! Formats are found by content. Memory grows with the footprint of a trace, not with its length; a range that is
//! accessed at once counts as one.

mod binary;
mod compact;
mod convert;
mod detect;
mod events;
mod info;
mod input;
mod losses;
mod numbers;
mod processors;
mod reader;
mod replay;
mod spans;
mod text;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_units::{excerpt, why_unwritten};

use crate::{Op, Request};

pub use convert::{Converted, Target, convert, write_requests};
pub use info::{Figures, Hotness, Info, Measure, OneWay, info};
pub use reader::Reader;
pub use replay::{CHUNK_BYTES, Replay, TraceSource, pace};

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 512;

/// Most bytes of one read or write. No interface moves more at once, and a damaged length would touch too many
/// pages. Trims may be longer.
pub(crate) const MOVED_BYTES_MAX: u64 = 4 << 30;

/// Requirement for a request to fit on any drive, as the end of a message.
pub(crate) const PLACE: &str = "at most 4 GiB read or written at once, below 2^64";

/// Whether a request moves a believable number of bytes and stays within 64-bit addresses.
pub(crate) fn has_place(op: Op, offset: u64, length: u64) -> bool {
    offset.checked_add(length).is_some() && (length <= MOVED_BYTES_MAX || !matches!(op, Op::Read | Op::Write))
}

/// A request as recorded in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Nanoseconds since the format's own start of time; `None` if it has no times.
    pub(crate) at: Option<u64>,
    /// Number that distinguishes devices; 0 if the format has none.
    pub(crate) device: u64,
    /// The request; its time is not set yet.
    pub(crate) request: Request,
}

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// wane's own compact form.
    Compact,
    /// fio iolog version 2.
    FioIolog2,
    /// fio iolog version 3.
    FioIolog3,
    /// blkparse's default text.
    Blkparse,
    /// blktrace's binary events.
    Blktrace,
    /// Block events of Linux's tracefs, trace-cmd, `perf script` and `perf trace`.
    Ftrace,
    /// biosnoop of bcc and libbpf.
    Biosnoop,
    /// xperf's text of Windows' events, as in Microsoft's production traces.
    Etw,
    /// MQSim ASCII.
    Mqsim,
    /// SSDsim ASCII: the columns of MQSim.
    Ssdsim,
    /// DiskSim ASCII.
    Disksim,
    /// CloudPhysics CSV.
    CloudphysicsCsv,
    /// VMware vSCSI, binary, versions 1 and 2.
    Vscsi,
    /// FIU's nine columns.
    Fiu,
    /// ARC's `.lis`.
    Lis,
    /// MSR Cambridge CSV.
    Msr,
    /// Storage Performance Council.
    Spc,
    /// Alibaba block traces.
    Alibaba,
    /// Tencent cloud block storage.
    Tencent,
    /// The virtual desktops of Systor '17.
    Systor,
    /// libCacheSim's oracleGeneral, a trace of a cache.
    OracleGeneral,
}

impl Format {
    /// Whether its requests never have a time of arrival. Those of an iolog of version 2 have one if it holds waits.
    pub fn is_timeless(self) -> bool {
        matches!(self, Self::Lis)
    }

    /// Whether its records are not lines of text.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, Self::Compact | Self::Vscsi | Self::Blktrace | Self::OracleGeneral)
    }

    /// What a 1 stands for, if its requests have a number for their direction.
    pub const fn one(self) -> Option<Op> {
        match self {
            Self::Mqsim | Self::Ssdsim | Self::Disksim => Some(Op::Read),
            Self::Tencent => Some(Op::Write),
            _ => None,
        }
    }

    /// The columns of a format of numbers alone, as words.
    const fn columns(self) -> &'static str {
        match self {
            Self::Mqsim | Self::Ssdsim => "nanoseconds, device, sector, sectors and direction",
            Self::Disksim => "milliseconds, device, sector, sectors and direction",
            Self::Tencent => "seconds since 1970, sector, sectors, direction and volume",
            _ => self.summary(),
        }
    }

    /// Every format.
    pub const ALL: &'static [Self] = &[
        Self::Compact,
        Self::FioIolog2,
        Self::FioIolog3,
        Self::Blkparse,
        Self::Blktrace,
        Self::Ftrace,
        Self::Biosnoop,
        Self::Etw,
        Self::Mqsim,
        Self::Ssdsim,
        Self::Disksim,
        Self::CloudphysicsCsv,
        Self::Vscsi,
        Self::Fiu,
        Self::Lis,
        Self::Msr,
        Self::Spc,
        Self::Alibaba,
        Self::Tencent,
        Self::Systor,
        Self::OracleGeneral,
    ];

    /// The name on the command line and in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compact => "wane-compact",
            Self::FioIolog2 => "fio-iolog-2",
            Self::FioIolog3 => "fio-iolog-3",
            Self::Blkparse => "blkparse",
            Self::Blktrace => "blktrace",
            Self::Ftrace => "ftrace",
            Self::Biosnoop => "biosnoop",
            Self::Etw => "etw",
            Self::Mqsim => "mqsim",
            Self::Ssdsim => "ssdsim",
            Self::Disksim => "disksim",
            Self::CloudphysicsCsv => "cloudphysics-csv",
            Self::Vscsi => "vscsi",
            Self::Fiu => "fiu",
            Self::Lis => "lis",
            Self::Msr => "msr",
            Self::Spc => "spc",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Systor => "systor",
            Self::OracleGeneral => "oracle-general",
        }
    }

    /// The form of a line or record.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Compact => "wane's compact binary form",
            Self::FioIolog2 => "FILE ACTION OFFSET LENGTH, in bytes, or FILE wait MICROSECONDS",
            Self::FioIolog3 => "MICROSECONDS FILE ACTION OFFSET LENGTH, in bytes",
            Self::Blkparse => "MAJ,MIN CPU SEQ SECONDS PID ACTION RWBS SECTOR + SECTORS [PROCESS]",
            Self::Blktrace => "binary events of 48 bytes and their payload",
            Self::Ftrace => "SECONDS: block_rq_issue: MAJ,MIN RWBS BYTES () SECTOR + SECTORS [PROCESS]",
            Self::Biosnoop => "TIME COMM PID DISK T SECTOR BYTES LAT(ms)",
            Self::Etw => "DiskRead|DiskWrite, MICROSECONDS, PROCESS, THREAD, IRP, OFFSET, BYTES, ELAPSED, DISK, ...",
            Self::Mqsim | Self::Ssdsim => "NANOSECONDS DEVICE SECTOR SECTORS OP, with 1 for a read and 0 for a write",
            Self::Disksim => "MILLISECONDS DEVICE SECTOR SECTORS FLAGS, with 1 for a read and 0 for a write",
            Self::CloudphysicsCsv => "VERSION,SECONDS,SCSI-OPCODE,BYTES,SECTOR",
            Self::Vscsi => "binary records of 32 bytes (version 1) or 40 (version 2)",
            Self::Fiu => "NANOSECONDS PID PROCESS SECTOR SECTORS R|W MAJOR MINOR HASH",
            Self::Lis => "BLOCK BLOCKS IGNORED NUMBER, without direction, time or unit",
            Self::Msr => "FILETIME,HOST,DISK,Read|Write,OFFSET,BYTES,RESPONSE",
            Self::Spc => "ASU,SECTOR,BYTES,R|W,SECONDS",
            Self::Alibaba => "DEVICE,R|W,OFFSET,BYTES,MICROSECONDS",
            Self::Tencent => "UNIX-SECONDS,SECTOR,SECTORS,0|1,VOLUME, with 0 for a read and 1 for a write",
            Self::Systor => "SECONDS,RESPONSE,R|W,LUN,OFFSET,BYTES",
            Self::OracleGeneral => "binary records of 24 bytes: seconds, object, bytes, next access",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unknown format name.
#[derive(Debug, thiserror::Error)]
#[error("there is no trace format \"{}\"", excerpt(.0))]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.iter().copied().find(|format| format.name() == name).ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// Assumptions about what a trace does not say. Of a cache's trace the unit is the distance of its objects, at least 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assume {
    /// Direction, if the format has none.
    pub op: Op,
    /// Bytes of a block, if the format has no unit.
    pub block_bytes: u64,
    /// What a 1 stands for, if directions are numbers; `None`: what it stands for in files of the format, see [`Format::one`].
    pub one: Option<Op>,
}

impl Default for Assume {
    fn default() -> Self {
        Self { op: Op::Write, block_bytes: SECTOR, one: None }
    }
}

impl Assume {
    /// The direction of a request of `format` that is marked by a 1, or not.
    fn direction(self, format: Format, is_one: bool) -> Op {
        let one = self.one.or(format.one());
        if is_one == (one == Some(Op::Write)) { Op::Write } else { Op::Read }
    }
}

/// How a trace is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Its format; `None`: found from its content.
    pub format: Option<Format>,
    /// Assumptions if the format has no direction or unit.
    pub assume: Assume,
    /// Whether lines that do not parse are counted instead of stopping at the first.
    pub skip_bad_lines: bool,
}

/// Reasons why a trace cannot be read. Each is one sentence with the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be opened or read, or its compression is damaged.
    #[error("{name}: cannot be read: {source}")]
    Unreadable {
        /// The file.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// No format fits.
    #[error("{name}: {reason}")]
    Unusable {
        /// The file.
        name: String,
        /// Why.
        reason: String,
    },
    /// A line does not parse.
    #[error("{name}, line {line}: found '{found}', expected {expected}")]
    Line {
        /// The file.
        name: String,
        /// From 1.
        line: u64,
        /// What was found, shortened.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A binary record is invalid or cut off.
    #[error("{name}, record {record}: {reason}")]
    Record {
        /// The file.
        name: String,
        /// From 1.
        record: u64,
        /// What is wrong.
        reason: String,
    },
    /// Reading was stopped, see [`Reader::stopped_by`].
    #[error("{name}: reading was interrupted")]
    Interrupted {
        /// The file.
        name: String,
    },
    /// The output cannot be written.
    #[error("the trace cannot be written: {}", why_unwritten(.0))]
    Unwritable(#[source] std::io::Error),
    /// The decoded copy of a trace, a temporary file, cannot be written.
    #[error("{name}: its decoded copy, a temporary file, cannot be written: {}", why_unwritten(source))]
    Uncopied {
        /// The trace.
        name: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl TraceError {
    /// Turns the error into [`TraceError::Interrupted`] if the reader was stopped, since it is then no fault of the file.
    fn unless_stopped(self, stop: &AtomicBool) -> Self {
        match self {
            Self::Unreadable { name, .. } if stop.load(Ordering::Relaxed) => Self::Interrupted { name },
            error => error,
        }
    }
}

/// Reads any bytes as a trace, to its end or first error, for the fuzzer. Returns the number of requests read.
#[doc(hidden)]
pub fn read_all(bytes: &[u8], format: Option<Format>) -> Result<u64, TraceError> {
    let options = Options { format, ..Options::default() };
    let reader = Reader::from_read("fuzz", Box::new(std::io::Cursor::new(bytes.to_vec())), &options)?;
    let mut requests = 0;
    for request in reader {
        request?;
        requests += 1;
    }
    Ok(requests)
}

#[cfg(test)]
mod tests;
