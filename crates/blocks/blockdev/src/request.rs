//! Requests of a host to a block device, and whether a device accepts them.

use std::fmt;

use serde::{Deserialize, Serialize};
use wane_units::Sectors;

use crate::{Features, SectorRange, Status, Unsupported};

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Reads the contents of the range.
    Read,
    /// Writes new contents.
    Write,
    /// Makes the range read as zeros from now on. Sectors stay allocated unless [`Flags::may_unmap`] is set.
    WriteZeroes,
    /// Discards (deallocates) the contents. [`Features::trim_reads_zeros`] says what is read afterwards.
    Trim,
    /// Makes everything durable that was submitted before. The range has no meaning.
    Flush,
    /// Moves the contents of [`Request::source`] to the range by a change of the map alone. The part of the range beyond the
    /// length of the source, and the source itself, are trimmed. Done whole or not at all. After a power cut each unit of one that
    /// was not durable is wholly before or wholly after it: a source is trimmed only if its destination has the data.
    Remap,
}

impl Kind {
    /// All kinds, in the order of their numbers: `ALL[kind as usize] == kind`.
    pub const ALL: [Self; 6] = [Self::Read, Self::Write, Self::WriteZeroes, Self::Trim, Self::Flush, Self::Remap];

    /// The name in tables and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::WriteZeroes => "write-zeroes",
            Self::Trim => "trim",
            Self::Flush => "flush",
            Self::Remap => "remap",
        }
    }

    /// Whether it changes what later reads return.
    pub const fn changes_contents(self) -> bool {
        !matches!(self, Self::Read | Self::Flush)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Options of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flags {
    /// Force unit access: the request is durable when it completes. Has no effect on reads and flushes.
    pub fua: bool,
    /// Write-zeroes may deallocate. Has no effect on other kinds.
    pub may_unmap: bool,
}

/// The sender of a request. A device may count and place data by it; contents never depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Origin {
    /// A program or a workload.
    #[default]
    Host,
    /// A file system, for its own structures.
    FileSystem,
    /// A file system that moves data of its users: cleaning, or making room when capacity falls.
    FileSystemMove,
    /// An array, for parity and for the reads that parity takes.
    ArrayParity,
    /// An array that rebuilds or repairs.
    ArrayRepair,
}

/// The stream in which the host would place a write. Data of requests with equal hints are expected to be overwritten together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamHint(pub u16);

/// One request to a block device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Its kind.
    pub kind: Kind,
    /// Its range; for a remap, the destination.
    pub range: SectorRange,
    /// For a remap: the sectors whose contents move to the start of `range`. Otherwise empty.
    pub source: SectorRange,
    /// Its options.
    pub flags: Flags,
    /// Its sender.
    pub origin: Origin,
    /// The stream that the host suggests, if any.
    pub stream: Option<StreamHint>,
    /// For a write: the new contents, or `None` if the host keeps no contents (aging runs); these then read as zeros. For a read:
    /// a buffer to fill, whose contents and length have no meaning; with `None` the device makes one.
    pub bytes: Option<Vec<u8>>,
}

impl Request {
    /// Most sectors of a request that carries bytes (a read from a device that keeps them, a write with bytes): 32 MiB. Clients
    /// of the network block device protocol also send at most this much.
    pub const TRANSFER_MAX: Sectors = Sectors(65_536);

    fn new(kind: Kind, range: SectorRange) -> Self {
        Self {
            kind,
            range,
            source: SectorRange::EMPTY,
            flags: Flags::default(),
            origin: Origin::Host,
            stream: None,
            bytes: None,
        }
    }

    /// A read of `range`.
    pub fn read(range: SectorRange) -> Self {
        Self::new(Kind::Read, range)
    }

    /// A write of `bytes`, which must be as long as `range`.
    pub fn write(range: SectorRange, bytes: Vec<u8>) -> Self {
        Self { bytes: Some(bytes), ..Self::new(Kind::Write, range) }
    }

    /// A write without contents.
    pub fn write_without_bytes(range: SectorRange) -> Self {
        Self::new(Kind::Write, range)
    }

    /// A write of zeros that leaves the sectors allocated.
    pub fn write_zeroes(range: SectorRange) -> Self {
        Self::new(Kind::WriteZeroes, range)
    }

    /// A trim of `range`.
    pub fn trim(range: SectorRange) -> Self {
        Self::new(Kind::Trim, range)
    }

    /// A flush of the whole device.
    pub fn flush() -> Self {
        Self::new(Kind::Flush, SectorRange::EMPTY)
    }

    /// A remap: `destination` gets the contents of `source`.
    pub fn remap(source: SectorRange, destination: SectorRange) -> Self {
        Self { source, ..Self::new(Kind::Remap, destination) }
    }

    /// The same, durable on completion.
    #[must_use]
    pub fn with_fua(mut self) -> Self {
        self.flags.fua = true;
        self
    }

    /// The same, free to deallocate.
    #[must_use]
    pub fn with_may_unmap(mut self) -> Self {
        self.flags.may_unmap = true;
        self
    }

    /// The same, asked by `origin`.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// The same, with a stream hint.
    #[must_use]
    pub fn with_stream(mut self, hint: StreamHint) -> Self {
        self.stream = Some(hint);
        self
    }

    /// Checks that a device of these features and this capacity accepts the request. Every device refuses by this one rule, so
    /// that all devices, and layers that check before they forward, agree.
    ///
    /// # Errors
    /// The status with which the request completes, without any effect.
    pub fn check(&self, features: &Features, capacity: Sectors) -> Result<(), Status> {
        if self.kind == Kind::Flush {
            return Ok(());
        }
        let refuse = |why| Err(Status::Unsupported(why));
        let remap = self.kind == Kind::Remap;
        if remap && !features.remap {
            return refuse(Unsupported::Kind);
        }
        if self.flags.fua && self.kind.changes_contents() && !features.fua {
            return refuse(Unsupported::Fua);
        }
        if !self.carries_what_it_says(features) {
            return refuse(Unsupported::Length);
        }
        let unit = if remap { features.atomic_unit } else { features.sector };
        if !self.range.is_aligned_to(unit) || (remap && !self.source.is_aligned_to(unit)) {
            return refuse(Unsupported::Alignment);
        }
        if !self.range.lies_within(capacity) || (remap && !self.source.lies_within(capacity)) {
            return Err(Status::OutOfRange);
        }
        if remap && self.range.overlaps(self.source) {
            return refuse(Unsupported::Overlap);
        }
        Ok(())
    }

    /// Whether lengths fit: of the bytes to the range, of the range to a transfer, of a remap's source to its destination.
    fn carries_what_it_says(&self, features: &Features) -> bool {
        let short = self.range.count <= Self::TRANSFER_MAX;
        match (self.kind, &self.bytes) {
            (Kind::Read, _) => short || !features.keeps_bytes,
            (Kind::Write, Some(bytes)) => short && bytes.len() == self.range.len_bytes(),
            (Kind::Remap, _) => self.source.count <= self.range.count,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use wane_units::Lba;

    use super::*;
    use crate::Resize;

    #[test]
    fn kinds_are_numbered_as_they_are_listed() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }

    #[test]
    fn requests_are_refused_by_one_rule() {
        let features = Features {
            sector: Sectors(8),
            atomic_unit: Sectors(16),
            keeps_bytes: true,
            trim_reads_zeros: true,
            fua: false,
            remap: true,
            resize: Resize::Fixed,
            mapped_limit: false,
        };
        let range = |start, count| SectorRange::new(Lba(start), Sectors(count));
        let refused = |why| Err(Status::Unsupported(why));
        let remap = |a, b, c, d| Request::remap(range(a, b), range(c, d));
        let table = [
            (Request::read(range(0, 8)), Ok(())),
            (Request::read(range(4, 8)), refused(Unsupported::Alignment)),
            (Request::read(range(0, 4)), refused(Unsupported::Alignment)),
            (Request::read(range(0, 65_544)), refused(Unsupported::Length)),
            (Request::read(range(96, 8)), Err(Status::OutOfRange)),
            (Request::read(range(96, 0)), Ok(())),
            (Request::read(range(104, 0)), Err(Status::OutOfRange)),
            (Request::trim(range(u64::MAX - 7, 8)), Err(Status::OutOfRange)),
            (Request::trim(range(8, u64::MAX - 7)), Err(Status::OutOfRange)),
            (Request::trim(range(0, 8)).with_fua(), refused(Unsupported::Fua)),
            (Request::read(range(0, 8)).with_fua(), Ok(())),
            (Request::write(range(0, 8), vec![0; 4096]), Ok(())),
            (Request::write(range(0, 8), vec![0; 4095]), refused(Unsupported::Length)),
            (Request::write(range(0, u64::MAX), vec![0; 8]), refused(Unsupported::Length)),
            (Request::write_without_bytes(range(0, 96)), Ok(())),
            (Request::flush().with_fua(), Ok(())),
            (remap(0, 16, 32, 32), Ok(())),
            (remap(0, 32, 32, 16), refused(Unsupported::Length)),
            (remap(8, 16, 32, 16), refused(Unsupported::Alignment)),
            (remap(0, 16, 0, 16), refused(Unsupported::Overlap)),
            (remap(96, 16, 32, 16), Err(Status::OutOfRange)),
        ];
        for (request, want) in table {
            assert_eq!(request.check(&features, Sectors(96)), want, "{request:?}");
        }
        let plain = Features { remap: false, keeps_bytes: false, ..features };
        assert_eq!(remap(0, 16, 32, 32).check(&plain, Sectors(96)), refused(Unsupported::Kind));
        assert_eq!(Request::read(range(0, 1 << 20)).check(&plain, Sectors(1 << 20)), Ok(()));
    }
}
