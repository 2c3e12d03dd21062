//! A port that notes down what is to be done, for a host that does it in virtual time.
//!
//! A call of a volume changes all its state at once. What it read and wrote is then a plan of [`Stages`], each of which begins when the one before
//! is done. The structures are in memory, so that no call waits for bytes, and data are zeros: the plan says what takes time, and in which order.

use wane_blockdev::{BlockDevice, Origin, Request, SectorRange};
use wane_units::{Lba, Sectors};

use crate::demand::Wanted;
use crate::port::{Addr, Barrier, Direct, Fault, Port, Structures, Use};

/// Something that a device is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A request.
    Request(Request),
    /// From now on no more may hold something at once.
    MappedLimit(Sectors),
    /// From now on it has this capacity.
    Capacity(Sectors),
}

/// What is done at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// In any order.
    pub steps: Vec<Step>,
    /// It belongs to a checkpoint: from its start on nothing may be changed until the checkpoint holds.
    pub is_of_checkpoint: bool,
}

/// Stages, each of which begins when the one before is done.
pub type Stages = Vec<Stage>;

/// Blocks that follow each other.
#[derive(Clone, Copy)]
struct Run<T> {
    first: Addr,
    count: u32,
    what: T,
}

/// What lies between two points at which all before must be done.
#[derive(Clone, Default)]
struct Epoch {
    /// Structures that are read one after the other: each says where the next lies.
    structures: Vec<Addr>,
    /// Data that are read at once.
    reads: Vec<Run<()>>,
    writes: Vec<Run<Use>>,
    others: Vec<Step>,
}

impl Epoch {
    const fn is_empty(&self) -> bool {
        self.structures.is_empty() && self.reads.is_empty() && self.writes.is_empty() && self.others.is_empty()
    }
}

/// See the head of this file.
#[derive(Clone)]
pub struct Planned<D> {
    device: D,
    block: Sectors,
    /// Most blocks of a request.
    request_max: u32,
    structures: Structures,
    epoch: Epoch,
    plan: Stages,
    blocks: u64,
    limit: u64,
}

impl<D: BlockDevice> Planned<D> {
    /// A port of a device, with blocks of `block_bytes` bytes and requests of at most `request_bytes`.
    ///
    /// # Panics
    /// Blocks are no whole sectors of the device, or a request is smaller than a block.
    pub fn new(device: D, block_bytes: usize, request_bytes: usize) -> Self {
        let block = Sectors(block_bytes as u64 / Sectors::SIZE.0);
        let sector = device.features().sector;
        assert!(block.0 > 0 && block.0.is_multiple_of(sector.0), "a block is of whole sectors");
        let request_max = u32::try_from(request_bytes / block_bytes).unwrap_or(u32::MAX);
        assert!(request_max > 0, "a request has a block at least");
        let (blocks, limit) = (device.capacity().0 / block.0, device.mapped_limit().0 / block.0);
        let (structures, epoch, plan) = (Structures::new(), Epoch::default(), Stages::new());
        Self { device, block, request_max, structures, epoch, plan, blocks, limit }
    }

    /// The same for what a port without contents ([`Direct::hollow`]) has written.
    ///
    /// # Errors
    /// The device does not take what is still to be written.
    ///
    /// # Panics
    /// As [`Planned::new`].
    pub fn after(port: Direct<D>, request_bytes: usize) -> Result<Self, Fault> {
        let block_bytes = port.block_bytes();
        let (device, structures) = port.into_parts()?;
        Ok(Self { structures, ..Self::new(device, block_bytes, request_bytes) })
    }

    /// The device.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// The device, to be changed.
    pub const fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Returns the device. What is planned is dropped.
    pub fn into_device(self) -> D {
        self.device
    }

    /// What the calls since the last one left to be done.
    pub fn take_plan(&mut self) -> Stages {
        self.end_epoch(false);
        std::mem::take(&mut self.plan)
    }

    fn range(&self, at: Addr, count: u32) -> SectorRange {
        SectorRange::new(Lba(u64::from(at) * self.block.0), Sectors(u64::from(count) * self.block.0))
    }

    /// Adds a block to runs, each of which is a request.
    fn add<T: Copy + PartialEq>(runs: &mut Vec<Run<T>>, at: Addr, what: T, most: u32) {
        match runs.last_mut() {
            Some(last) if last.first + last.count == at && last.what == what && last.count < most => last.count += 1,
            _ => runs.push(Run { first: at, count: 1, what }),
        }
    }

    /// All before must be done before what follows.
    fn end_epoch(&mut self, is_of_checkpoint: bool) {
        if self.epoch.is_empty() {
            return;
        }
        let Epoch { structures, reads, writes, others } = std::mem::take(&mut self.epoch);
        let mut put = |steps: Vec<Step>, is_of_checkpoint: bool| {
            if !steps.is_empty() {
                self.plan.push(Stage { steps, is_of_checkpoint });
            }
        };
        let of_system = |request: Request| Step::Request(Request { origin: Origin::FileSystem, ..request });
        let unit = self.block;
        let range =
            |at: Addr, count: u32| SectorRange::new(Lba(u64::from(at) * unit.0), Sectors(u64::from(count) * unit.0));
        for at in structures {
            put(vec![of_system(Request::read(range(at, 1)))], false);
        }
        put(reads.iter().map(|run| Step::Request(Request::read(range(run.first, run.count)))).collect(), false);
        let write = |run: &Run<Use>| {
            let origin = run.what.origin();
            Step::Request(Request { origin, ..Request::write_without_bytes(range(run.first, run.count)) })
        };
        // What moved waits for nobody; what says where it is now must hold together.
        let (structures, data): (Vec<_>, Vec<_>) = writes.iter().partition(|run| run.what == Use::Meta);
        put(data.into_iter().map(write).collect(), false);
        put(structures.into_iter().map(write).collect(), is_of_checkpoint);
        put(others, is_of_checkpoint);
    }

    /// What is written comes before what trims or remaps it.
    fn end_writes(&mut self) {
        if !self.epoch.writes.is_empty() {
            self.end_epoch(false);
        }
    }

    /// What is done alone, after all before.
    fn alone(&mut self, step: Step, is_of_checkpoint: bool) {
        self.end_epoch(is_of_checkpoint);
        self.plan.push(Stage { steps: vec![step], is_of_checkpoint });
    }
}

impl<D: BlockDevice> Port for Planned<D> {
    fn block_bytes(&self) -> usize {
        (self.block.0 * Sectors::SIZE.0) as usize
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&mut self, at: Addr, bytes: &mut [u8]) -> Result<(), Fault> {
        self.epoch.structures.push(at);
        match self.structures.get(&at) {
            Some(known) => bytes.copy_from_slice(known),
            None => bytes.fill(0),
        }
        Ok(())
    }

    fn read_data(&mut self, at: Addr, bytes: &mut [u8]) -> Result<(), Fault> {
        Self::add(&mut self.epoch.reads, at, (), self.request_max);
        bytes.fill(0);
        Ok(())
    }

    fn write(&mut self, at: Addr, bytes: &[u8], purpose: Use) -> Result<(), Fault> {
        // A block that was just trimmed may be written again.
        if !self.epoch.others.is_empty() {
            self.end_epoch(false);
        }
        Self::add(&mut self.epoch.writes, at, purpose, self.request_max);
        if purpose == Use::Meta {
            self.structures.insert(at, bytes.into());
        } else {
            self.structures.remove(&at);
        }
        Ok(())
    }

    fn flush(&mut self, barrier: Barrier) -> Result<(), Fault> {
        let is_of_checkpoint = matches!(barrier, Barrier::Pack | Barrier::Footer);
        self.alone(Step::Request(Request::flush()), is_of_checkpoint);
        Ok(())
    }

    fn trim(&mut self, at: Addr, count: u32) -> Result<(), Fault> {
        let request = Request { origin: Origin::FileSystem, ..Request::trim(self.range(at, count)) };
        self.end_writes();
        self.epoch.others.push(Step::Request(request));
        let gone: Vec<Addr> = self.structures.range(at..at + count).map(|(at, _)| *at).collect();
        gone.iter().for_each(|at| drop(self.structures.remove(at)));
        Ok(())
    }

    fn remap(&mut self, from: Addr, to: Addr, count: u32) -> Result<(), Fault> {
        if !self.device.features().remap {
            return Err(Fault::Unsupported);
        }
        let (source, destination) = (self.range(from, count), self.range(to, count));
        let request = Request { origin: Origin::FileSystemMove, ..Request::remap(source, destination) };
        self.end_writes();
        self.epoch.others.push(Step::Request(request));
        Ok(())
    }

    fn wanted(&mut self) -> Option<Wanted> {
        let mut notices = Vec::new();
        self.device.notices(&mut notices);
        Wanted::newest(&notices, self.block)
    }

    fn limit(&self) -> u64 {
        self.limit.min(self.blocks)
    }

    fn set_limit(&mut self, blocks: u64) -> Result<(), Fault> {
        if !self.device.features().mapped_limit {
            return Err(Fault::Unsupported);
        }
        self.limit = blocks;
        self.alone(Step::MappedLimit(Sectors(blocks * self.block.0)), false);
        Ok(())
    }

    fn set_blocks(&mut self, blocks: u64) -> Result<(), Fault> {
        if self.device.features().resize == wane_blockdev::Resize::Fixed {
            return Err(Fault::Unsupported);
        }
        self.blocks = blocks;
        self.alone(Step::Capacity(Sectors(blocks * self.block.0)), false);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use wane_blockdev::{Kind, Ram};

    use super::*;

    fn port() -> Planned<Ram> {
        Planned::new(Ram::new(Sectors(1 << 12)), 4096, 64 << 10)
    }

    fn shape(plan: &Stages) -> Vec<(usize, bool)> {
        plan.iter().map(|stage| (stage.steps.len(), stage.is_of_checkpoint)).collect()
    }

    #[test]
    fn structures_are_read_one_after_the_other_and_data_at_once() {
        let (mut port, mut bytes) = (port(), [0; 4096]);
        port.read(7, &mut bytes).unwrap();
        (20..40).for_each(|at| port.read_data(at, &mut bytes).unwrap());
        port.read(9, &mut bytes).unwrap();
        port.read_data(50, &mut bytes).unwrap();
        // 20 blocks are two requests of at most 16, and block 50 one of its own.
        assert_eq!(shape(&port.take_plan()), [(1, false), (1, false), (3, false)]);
        assert!(port.take_plan().is_empty());
    }

    #[test]
    fn a_block_is_trimmed_and_written_in_the_order_of_the_calls() {
        let mut port = port();
        port.trim(3, 1).unwrap();
        port.write(3, &[], Use::Data).unwrap();
        port.trim(9, 1).unwrap();
        let kinds: Vec<Kind> = port.take_plan().iter().flat_map(|stage| &stage.steps).map(kind).collect();
        assert_eq!(kinds, [Kind::Trim, Kind::Write, Kind::Trim]);
    }

    fn kind(step: &Step) -> Kind {
        match step {
            Step::Request(request) => request.kind,
            _ => unreachable!("only requests"),
        }
    }

    #[test]
    fn what_a_flush_makes_durable_is_written_before_it() {
        let mut port = port();
        port.write(3, &[1; 4096], Use::Meta).unwrap();
        port.write(4, &[], Use::Data).unwrap();
        port.flush(Barrier::Pack).unwrap();
        port.write(5, &[2; 4096], Use::Meta).unwrap();
        port.flush(Barrier::Footer).unwrap();
        port.trim(0, 2).unwrap();
        let plan = port.take_plan();
        assert_eq!(shape(&plan), [(1, false), (1, true), (1, true), (1, true), (1, true), (1, false)]);
        let mut bytes = [0; 4096];
        port.read(3, &mut bytes).unwrap();
        assert_eq!(bytes, [1; 4096]);
    }
}
