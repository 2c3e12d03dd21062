//! Properties and counters of a drive.

use wane_archive::ArchiveError;
use wane_ftl::policies::capacity::CapacityPolicy;
use wane_ftl::{BlockState, Counters, Layout};
use wane_units::{BlockId, Geometry, Lpn, Sectors, SuperblockId, UnitId};

use super::{Drive, Firmware, MOVING};

impl Drive {
    /// Bytes of a sector of the block device.
    pub(crate) fn sector_bytes(&self) -> u64 {
        self.front.sector.0 * Sectors::SIZE.0
    }

    /// Number of requests' reads that returned wrong bits without an error ([`wane_nand::Uncorrectable::FlippedBits`]).
    pub fn reads_misread(&self) -> u64 {
        self.reads_misread
    }

    /// How often its power failed.
    pub fn power_cuts(&self) -> u64 {
        self.power_cuts
    }

    /// The flash.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Bytes of a mapping unit.
    pub fn unit_bytes(&self) -> u32 {
        (self.front.unit.0 * Sectors::SIZE.0) as u32
    }

    /// How the firmware's blocks lie on the flash.
    pub fn layout(&self) -> &Layout {
        over_either!(&self.firmware, ftl => ftl.layout())
    }

    /// What was counted since the drive was new.
    #[inline]
    pub fn counters(&self) -> &Counters {
        over_either!(&self.firmware, ftl => ftl.counters())
    }

    /// Erases of every flash block.
    pub fn erase_counts(&self) -> &[u32] {
        match &self.firmware {
            Firmware::Counting(ftl) => ftl.media().erase_counts(),
            Firmware::Detailed(ftl) => ftl.media().erase_counts(),
            Firmware::Moving => unreachable!("{MOVING}"),
        }
    }

    /// Days that the data in the first page of a flash block have aged, on the age clock of data ([`Drive::data_days`]).
    pub fn data_age(&self, block: BlockId) -> f64 {
        match (self.flash(), self.resting()) {
            (Some(flash), _) => flash.data_age(block),
            (None, Some(resting)) => resting.data_age(block, self.erase_counts()[block.index()]),
            (None, None) => 0.0,
        }
    }

    /// Erases of every firmware block.
    pub fn superblock_erase_counts(&self) -> &[u32] {
        over_either!(&self.firmware, ftl => ftl.erase_counts())
    }

    /// Logical units when new.
    #[inline]
    pub fn logical_initial(&self) -> u32 {
        self.logical_initial
    }

    /// Logical units exported now.
    #[inline]
    pub fn exported(&self) -> u32 {
        over_either!(&self.firmware, ftl => ftl.exported())
    }

    /// Firmware blocks out of service.
    pub fn retired_blocks(&self) -> u32 {
        over_either!(&self.firmware, ftl => ftl.retired_blocks())
    }

    /// Mapping units of the blocks in service, without the reserve.
    pub fn service_units(&self) -> u64 {
        over_either!(&self.firmware, ftl => ftl.service_units())
    }

    /// Share of the rated wear that is used; `None` if no block ever retires.
    pub fn life_used(&self) -> Option<f64> {
        over_either!(&self.firmware, ftl => ftl.life_used())
    }

    /// Erases up to which a block serves; `None` if no block ever retires.
    pub fn rated_cycles(&self) -> Option<u32> {
        over_either!(&self.firmware, ftl => ftl.rated_cycles())
    }

    /// Valid units of a firmware block.
    pub fn valid(&self, block: SuperblockId) -> u32 {
        over_either!(&self.firmware, ftl => ftl.valid(block))
    }

    /// State of a firmware block.
    pub fn state(&self, block: SuperblockId) -> BlockState {
        over_either!(&self.firmware, ftl => ftl.state(block))
    }

    /// See [`wane_ftl::Ftl::closed_at`].
    pub fn closed_at(&self, block: SuperblockId) -> Option<u64> {
        over_either!(&self.firmware, ftl => ftl.closed_at(block))
    }

    /// Whether its firmware's maps were read from its file to the end, see [`wane_ftl::Ftl::is_whole`].
    pub fn is_whole(&self) -> bool {
        self.is_off() || over_either!(&self.firmware, ftl => ftl.is_whole())
    }

    /// Reads what of its firmware's maps was not read yet.
    ///
    /// # Errors
    /// A piece is damaged, or its file is gone.
    pub fn load(&mut self) -> Result<(), ArchiveError> {
        if self.is_off() { Ok(()) } else { over_either!(&mut self.firmware, ftl => ftl.load()) }
    }

    /// Why a piece of them could not be read when it was needed. The drive must not be saved then.
    pub fn unreadable(&self) -> Option<&str> {
        if self.is_off() { None } else { over_either!(&self.firmware, ftl => ftl.unreadable()) }
    }

    /// The physical unit that holds a logical one.
    pub fn lookup(&self, unit: Lpn) -> Option<UnitId> {
        over_either!(&self.firmware, ftl => ftl.lookup(unit))
    }

    /// Whether a unit's data were lost inside the drive.
    pub fn is_lost(&self, unit: Lpn) -> bool {
        over_either!(&self.firmware, ftl => ftl.is_lost(unit))
    }

    /// Number of exported units whose data were lost inside the drive.
    pub fn units_lost(&self) -> u64 {
        over_either!(&self.firmware, ftl => ftl.units_lost())
    }

    /// The policy that responds to retired blocks.
    pub fn capacity_policy(&self) -> &dyn CapacityPolicy {
        over_either!(&self.firmware, ftl => ftl.capacity_policy())
    }
}
