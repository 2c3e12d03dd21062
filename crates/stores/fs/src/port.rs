//! What a volume does to its device: blocks are read and written, in order.
//!
//! A volume neither waits nor looks at a clock. It calls its port, which does what it is told at once ([`Direct`]), or notes it down as a plan
//! whose requests are made in time later.

use std::collections::BTreeMap;
use std::sync::Arc;

use wane_blockdev::{BlockDevice, Blocking, ExtentState, IoError, Origin, Request, SectorRange, Status, all_extents};
use wane_units::{Lba, Sectors};

use crate::demand::Wanted;
use crate::error::FsError;

/// The address of a block: its number from the start of the device.
pub type Addr = u32;

/// What a write is for. Devices may place by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Data of a program.
    Data,
    /// Structures of the file system.
    Meta,
    /// Data or structures that are moved, to make room.
    Move,
}

impl Use {
    /// Who asks, as requests say it.
    pub(crate) const fn origin(self) -> Origin {
        match self {
            Self::Data => Origin::Host,
            Self::Meta => Origin::FileSystem,
            Self::Move => Origin::FileSystemMove,
        }
    }
}

/// What a flush makes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Barrier {
    /// Data of a file, before its nodes say where they lie.
    Data,
    /// Nodes of a file, as an fsync ends.
    Nodes,
    /// Data, nodes, tables and a checkpoint without its footer.
    Pack,
    /// The footer, with which a checkpoint holds.
    Footer,
}

/// Structures by their address. Copies of a port share them.
pub(crate) type Structures = BTreeMap<Addr, Arc<[u8]>>;

/// Why a block cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What it held is lost, or it cannot be written.
    Medium,
    /// The device has no space.
    NoSpace,
    /// The device takes no writes any more.
    ReadOnly,
    /// The device is gone.
    Gone,
    /// The device cannot do that.
    Unsupported,
}

impl From<Fault> for FsError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Medium | Fault::Gone => Self::Io,
            Fault::NoSpace => Self::NoSpace,
            Fault::ReadOnly => Self::ReadOnly,
            Fault::Unsupported => Self::NotSupported,
        }
    }
}

/// See the head of this file.
pub trait Port {
    /// Bytes of a block.
    fn block_bytes(&self) -> usize;

    /// Blocks that the device has now.
    fn blocks(&self) -> u64;

    /// Reads a block of structures. It holds what was last written.
    ///
    /// # Errors
    /// It is lost, or the device is gone.
    fn read(&mut self, at: Addr, bytes: &mut [u8]) -> Result<(), Fault>;

    /// Reads a block of a program's data. What is read next does not depend on it, so that a port may do both at once.
    ///
    /// Default: as any block.
    ///
    /// # Errors
    /// As [`Port::read`].
    fn read_data(&mut self, at: Addr, bytes: &mut [u8]) -> Result<(), Fault> {
        self.read(at, bytes)
    }

    /// Writes a block.
    ///
    /// # Errors
    /// The device does not take it. A port that writes later says so at a later call.
    fn write(&mut self, at: Addr, bytes: &[u8], purpose: Use) -> Result<(), Fault>;

    /// Makes durable what was written before.
    ///
    /// # Errors
    /// It is not, or something that was written before was not taken.
    fn flush(&mut self, barrier: Barrier) -> Result<(), Fault>;

    /// Says that blocks hold nothing any more.
    ///
    /// # Errors
    /// The device is gone.
    fn trim(&mut self, at: Addr, count: u32) -> Result<(), Fault>;

    /// Moves what blocks hold to others by a change of the device's map alone; the former hold nothing then. After a cut of the power each block
    /// was moved or not.
    ///
    /// Default: unsupported.
    ///
    /// # Errors
    /// The device cannot do that, or not any more; or it is gone.
    fn remap(&mut self, from: Addr, to: Addr, count: u32) -> Result<(), Fault> {
        let _ = (from, to, count);
        Err(Fault::Unsupported)
    }

    /// Whether a block may hold something.
    ///
    /// Default: it may.
    fn holds(&self, at: Addr) -> bool {
        let _ = at;
        true
    }

    /// Whether blocks may hold something that the file system did not write: what a device held before, or what others wrote to it.
    ///
    /// Default: they do not, since nobody else writes to the device.
    fn holds_of_others(&self, at: Addr, count: u64) -> bool {
        let _ = (at, count);
        false
    }

    /// What the device wants of its host since it was last asked.
    ///
    /// Default: nothing.
    fn wanted(&mut self) -> Option<Wanted> {
        None
    }

    /// Most blocks that may hold something at once, as the device says.
    ///
    /// Default: all of them.
    fn limit(&self) -> u64 {
        self.blocks()
    }

    /// Whether the device takes such a limit, which may rise again.
    ///
    /// Default: it does not.
    fn has_limit(&self) -> bool {
        false
    }

    /// Lets at most `blocks` blocks hold something at once.
    ///
    /// Default: unsupported.
    ///
    /// # Errors
    /// The device cannot limit that, or holds more.
    fn set_limit(&mut self, blocks: u64) -> Result<(), Fault> {
        let _ = blocks;
        Err(Fault::Unsupported)
    }

    /// Gives back the blocks from this one on, or takes them back.
    ///
    /// Default: unsupported.
    ///
    /// # Errors
    /// The device keeps its size, or cannot be so large.
    fn set_blocks(&mut self, blocks: u64) -> Result<(), Fault> {
        let _ = blocks;
        Err(Fault::Unsupported)
    }
}

/// Most bytes that are written at once.
const AT_ONCE: usize = 512 << 10;

/// Blocks that are not written yet: they follow each other from an address on.
#[derive(Clone)]
struct Pending {
    first: Addr,
    count: u32,
    bytes: Vec<u8>,
    purpose: Use,
}

impl Pending {
    const fn new(first: Addr, purpose: Use) -> Self {
        Self { first, count: 0, bytes: Vec::new(), purpose }
    }
}

/// A port that does at once what it is told. Writes that follow each other are written together, before anything else is done.
#[derive(Clone)]
pub struct Direct<D> {
    device: Blocking<D>,
    block: Sectors,
    pending: Pending,
    /// The structures, if the device gets no bytes.
    structures: Option<Structures>,
}

impl<D: BlockDevice> Direct<D> {
    /// A port of a device, with blocks of `block_bytes` bytes.
    ///
    /// # Panics
    /// They are no whole sectors of the device.
    pub fn new(device: Blocking<D>, block_bytes: usize) -> Self {
        let block = Sectors(block_bytes as u64 / Sectors::SIZE.0);
        let sector = device.device().features().sector;
        assert!(block.0 > 0 && block.0.is_multiple_of(sector.0), "a block is of whole sectors");
        Self { device, block, pending: Pending::new(0, Use::Data), structures: None }
    }

    /// The same for a file system without contents: the device is told what is read and written, and gets no bytes. The port has the structures in
    /// memory; data are zeros.
    ///
    /// # Panics
    /// As [`Direct::new`].
    pub fn hollow(device: Blocking<D>, block_bytes: usize) -> Self {
        Self { structures: Some(BTreeMap::new()), ..Self::new(device, block_bytes) }
    }

    /// The device, and the structures of a port without contents.
    ///
    /// # Errors
    /// What is pending cannot be written.
    pub(crate) fn into_parts(mut self) -> Result<(D, Structures), Fault> {
        self.settle()?;
        Ok((self.device.into_inner(), self.structures.unwrap_or_default()))
    }

    /// The device. What was written may not have reached it.
    pub const fn device(&self) -> &Blocking<D> {
        &self.device
    }

    /// The device, to be changed.
    pub const fn device_mut(&mut self) -> &mut Blocking<D> {
        &mut self.device
    }

    /// Returns the device. What was written and not flushed may not have reached it.
    pub fn into_inner(self) -> Blocking<D> {
        self.device
    }

    fn range(&self, at: Addr, count: u64) -> SectorRange {
        SectorRange::new(Lba(u64::from(at) * self.block.0), Sectors(count * self.block.0))
    }

    /// Writes what is pending.
    ///
    /// # Errors
    /// The device does not take it.
    pub fn settle(&mut self) -> Result<(), Fault> {
        if self.pending.count == 0 {
            return Ok(());
        }
        let Pending { first, count, bytes, purpose } = std::mem::replace(&mut self.pending, Pending::new(0, Use::Data));
        let range = self.range(first, u64::from(count));
        let origin = purpose.origin();
        let bytes = self.structures.is_none().then_some(bytes);
        let request = Request { origin, bytes, ..Request::write(range, Vec::new()) };
        self.device.perform(request).map(drop).map_err(|error| fault(&error))
    }

    /// The place of a block among those that are not written yet.
    fn pending_at(&self, at: Addr) -> Option<usize> {
        at.checked_sub(self.pending.first).filter(|place| *place < self.pending.count).map(|place| place as usize)
    }
}

/// What a failed request says.
fn fault(error: &IoError) -> Fault {
    match &error.status {
        Status::NoSpace(_) => Fault::NoSpace,
        Status::ReadOnly(_) => Fault::ReadOnly,
        Status::Gone(_) => Fault::Gone,
        _ => Fault::Medium,
    }
}

impl<D: BlockDevice> Port for Direct<D> {
    fn block_bytes(&self) -> usize {
        (self.block.0 * Sectors::SIZE.0) as usize
    }

    fn blocks(&self) -> u64 {
        self.device.device().capacity().0 / self.block.0
    }

    fn read(&mut self, at: Addr, bytes: &mut [u8]) -> Result<(), Fault> {
        let (size, pending) = (self.block_bytes(), self.pending_at(at));
        let read = match pending {
            Some(_) => Vec::new(),
            None => self.device.read(self.range(at, 1)).map_err(|error| fault(&error))?,
        };
        match (&self.structures, pending) {
            (None, None) => bytes.copy_from_slice(&read),
            (None, Some(place)) => bytes.copy_from_slice(&self.pending.bytes[place * size..(place + 1) * size]),
            (Some(structures), _) => match structures.get(&at) {
                Some(known) => bytes.copy_from_slice(known),
                None => bytes.fill(0),
            },
        }
        Ok(())
    }

    fn write(&mut self, at: Addr, bytes: &[u8], purpose: Use) -> Result<(), Fault> {
        let Pending { first, count, purpose: before, .. } = self.pending;
        let joins = count > 0 && at == first + count && purpose == before;
        if !joins || count as usize * self.block_bytes() >= AT_ONCE {
            self.settle()?;
            self.pending = Pending::new(at, purpose);
        }
        self.pending.count += 1;
        match &mut self.structures {
            None => self.pending.bytes.extend_from_slice(bytes),
            Some(structures) if purpose == Use::Meta => drop(structures.insert(at, bytes.into())),
            Some(structures) => drop(structures.remove(&at)),
        }
        Ok(())
    }

    fn flush(&mut self, _barrier: Barrier) -> Result<(), Fault> {
        self.settle()?;
        self.device.flush().map_err(|error| fault(&error))
    }

    fn trim(&mut self, at: Addr, count: u32) -> Result<(), Fault> {
        self.settle()?;
        if let Some(structures) = &mut self.structures {
            let gone: Vec<Addr> = structures.range(at..at + count).map(|(at, _)| *at).collect();
            gone.iter().for_each(|at| drop(structures.remove(at)));
        }
        let request = Request { origin: Origin::FileSystem, ..Request::trim(self.range(at, u64::from(count))) };
        self.device.perform(request).map(drop).map_err(|error| fault(&error))
    }

    fn remap(&mut self, from: Addr, to: Addr, count: u32) -> Result<(), Fault> {
        self.settle()?;
        let (source, destination) = (self.range(from, u64::from(count)), self.range(to, u64::from(count)));
        let request = Request { origin: Origin::FileSystemMove, ..Request::remap(source, destination) };
        match self.device.perform(request) {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.status, Status::Unsupported(_)) => Err(Fault::Unsupported),
            Err(error) => Err(fault(&error)),
        }
    }

    fn holds(&self, at: Addr) -> bool {
        // Only what remaps tells what was. A file in which somebody dug holes lacks blocks that are zeros.
        if !self.device.device().features().remap {
            return true;
        }
        self.holds_of_others(at, 1)
    }

    fn holds_of_others(&self, at: Addr, count: u64) -> bool {
        let mut told = Vec::new();
        all_extents(self.device.device(), self.range(at, count), &mut told);
        told.iter().any(|extent| extent.state != ExtentState::Hole)
    }

    fn wanted(&mut self) -> Option<Wanted> {
        let mut notices = Vec::new();
        self.device.device_mut().notices(&mut notices);
        Wanted::newest(&notices, self.block)
    }

    fn limit(&self) -> u64 {
        let device = self.device.device();
        device.mapped_limit().0.min(device.capacity().0) / self.block.0
    }

    fn has_limit(&self) -> bool {
        self.device.device().features().mapped_limit
    }

    fn set_limit(&mut self, blocks: u64) -> Result<(), Fault> {
        self.settle()?;
        let (now, limit) = (self.device.now(), Sectors(blocks * self.block.0));
        match self.device.device_mut().set_mapped_limit(now, limit) {
            Status::Done => Ok(()),
            Status::Gone(_) => Err(Fault::Gone),
            Status::NoSpace(_) => Err(Fault::NoSpace),
            _ => Err(Fault::Unsupported),
        }
    }

    fn set_blocks(&mut self, blocks: u64) -> Result<(), Fault> {
        self.settle()?;
        let (now, capacity) = (self.device.now(), Sectors(blocks * self.block.0));
        match self.device.device_mut().set_capacity(now, capacity) {
            Status::Done => Ok(()),
            Status::Gone(_) => Err(Fault::Gone),
            _ => Err(Fault::Unsupported),
        }
    }
}
