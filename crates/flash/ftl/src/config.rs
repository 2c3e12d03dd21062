//! The configuration of an FTL, and how its blocks lie on the flash.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::{AnyDivisor, BlockId, Bytes, DieId, Divisor, Geometry, Ratio, SuperblockId, UnitId};

use crate::policies::Builtin;
use crate::policies::allocation::{AllocationPolicy, FreedFirst};
use crate::policies::capacity::{CapacityPolicy, Fixed};
use crate::policies::mode::{HostOnly, ModePolicy};
use crate::policies::placement::{OneStream, PlacementPolicy, Separate};
use crate::policies::recovery::{NoRecovery, RecoveryPolicy};
use crate::policies::redundancy::{NoRedundancy, RedundancyPolicy};
use crate::policies::retirement::{Never, RetirePolicy};
use crate::policies::scrub::{NoScrub, ScrubPolicy};
use crate::policies::victim::{Greedy, GreedyParams, VictimPolicy};
use crate::policies::wear_leveling::{NoWearLeveling, WearLevelPolicy};
use crate::room::Room;

/// What the firmware erases as one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EraseGroup {
    /// One block.
    #[default]
    Block,
    /// One block from each plane of the domain, programmed as a stripe and erased together.
    Superblock,
}

/// Size of a domain: which blocks share one free list, its frontiers and its victim index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The whole drive.
    #[default]
    Drive,
    /// One die. Host pages go to the dies in turn, channel first.
    Die,
}

/// Where relocated pages go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Frontiers {
    /// Host writes and relocations fill the same block.
    #[default]
    One,
    /// Relocations fill blocks of their own: garbage collection one, scrubbing another.
    Separate,
}

impl Frontiers {
    /// The name of the choice and of its placement policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => OneStream::NAME,
            Self::Separate => Separate::NAME,
        }
    }

    /// The placement policy of the same name.
    pub fn placement(self) -> Box<dyn PlacementPolicy> {
        match self {
            Self::One => Box::new(OneStream),
            Self::Separate => Box::new(Separate),
        }
    }
}

/// The firmware of one drive. Its policies have not begun yet: each domain gets a copy, which learns its [`Setting`] first.
///
/// [`Setting`]: crate::policies::Setting
#[derive(Clone)]
pub struct FtlConfig {
    /// Mapping units in a flash page.
    pub units_per_page: u32,
    /// Logical mapping units exported when new.
    pub logical_units: u32,
    /// Free blocks that garbage collection keeps, in each domain.
    pub gc_reserve: u32,
    /// Free blocks of a domain up to which the drive collects unforced, whenever the host has filled a block. It then takes only victims that are
    /// invalid by an eighth or more. 0: never.
    pub gc_unforced: u32,
    /// Blocks of the drive without the reserve (T in the released FTLSim). A superblock counts as one block.
    pub rated_blocks: u32,
    /// Rated P/E cycles.
    pub endurance: Option<u32>,
    /// When a block leaves service.
    pub retire: Box<dyn RetirePolicy>,
    /// Block or superblock.
    pub erase_group: EraseGroup,
    /// Drive or die.
    pub domain: Pooling,
    /// Which of the open streams takes what is written.
    pub placement: Box<dyn PlacementPolicy>,
    /// Which free block is opened next.
    pub allocation: Box<dyn AllocationPolicy>,
    /// Which block garbage collection reclaims next.
    pub victim: Box<dyn VictimPolicy>,
    /// The wear leveler.
    pub wear_leveling: Box<dyn WearLevelPolicy>,
    /// Which pages protect each other.
    pub redundancy: Box<dyn RedundancyPolicy>,
    /// Which blocks are relocated before they have too many errors.
    pub scrub: Box<dyn ScrubPolicy>,
    /// What happens to the exported capacity.
    pub capacity: Box<dyn CapacityPolicy>,
    /// When worn blocks are spared.
    pub mode: Box<dyn ModePolicy>,
    /// How the drive finds its data after a power cut.
    pub recovery: Box<dyn RecoveryPolicy>,
    /// Whether the controller's page buffers survive a power cut. If not, a flush pads the open pages.
    pub power_loss_protection: bool,
    /// Number of consecutive pages of a flash block that share a wordline. A power cut during a program also tears the pages before it there.
    pub wordline_pages: NonZeroU32,
    /// NVRAM for the remap log.
    pub remap_log: Bytes,
    /// The run's random streams.
    pub streams: wane_sim::Streams,
    /// Its state is about to be read from a file ([`crate::Ftl::archive`]): until then it holds nothing, and must not be used.
    pub is_to_be_read: bool,
}

/// Default number of free blocks that garbage collection keeps, as in the released FTLSim.
const GC_RESERVE: u32 = 7;

/// Default size of the remap log, the paper's for a drive of 1 TiB (001, section 3.1.3).
const REMAP_LOG: Bytes = Bytes(1 << 20);

impl FtlConfig {
    /// Page-mapped firmware of one domain that collects greedily, levels no wear, and retires no block. It exports the share
    /// 1 - `spare` of the blocks outside the reserve. Every field may be changed.
    pub fn new(geometry: &Geometry, spare: Ratio) -> Self {
        let rated_blocks = geometry.blocks().saturating_sub(GC_RESERVE);
        let rated_units = u64::from(rated_blocks) * u64::from(geometry.pages_per_block());
        // What does not fit 32 bits is refused when the firmware is built.
        let logical_units = u32::try_from(rated_units - spare.floor_of(rated_units)).unwrap_or(u32::MAX);
        Self {
            units_per_page: 1,
            logical_units,
            gc_reserve: GC_RESERVE,
            gc_unforced: 0,
            rated_blocks,
            endurance: None,
            retire: Box::new(Never),
            erase_group: EraseGroup::Block,
            domain: Pooling::Drive,
            placement: Box::new(OneStream),
            allocation: Box::new(FreedFirst),
            victim: Box::new(Greedy::build(GreedyParams::default())),
            wear_leveling: Box::new(NoWearLeveling),
            redundancy: Box::new(NoRedundancy),
            scrub: Box::new(NoScrub),
            capacity: Box::new(Fixed),
            mode: Box::new(HostOnly),
            recovery: Box::new(NoRecovery),
            power_loss_protection: true,
            wordline_pages: NonZeroU32::MIN,
            remap_log: REMAP_LOG,
            streams: wane_sim::Streams::new(1),
            is_to_be_read: false,
        }
    }
}

/// A setting that the firmware refuses. Messages show it as the field of the Rust configuration; scenarios use their own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedSetting {
    /// [`FtlConfig::units_per_page`].
    UnitsPerPage,
    /// Pages of a block, of the geometry.
    PagesPerBlock,
    /// [`FtlConfig::logical_units`].
    LogicalUnits,
    /// The share of blocks that are bad from the factory, of the flash's faults.
    FactoryBad,
    /// [`FtlConfig::gc_reserve`].
    GcReserve,
    /// [`FtlConfig::placement`].
    Placement,
    /// [`FtlConfig::redundancy`].
    Redundancy,
    /// [`FtlConfig::domain`].
    Domain,
    /// [`FtlConfig::recovery`].
    Recovery,
}

impl std::fmt::Display for RefusedSetting {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(match self {
            Self::UnitsPerPage => "units_per_page",
            Self::PagesPerBlock => "pages_per_block",
            Self::LogicalUnits => "logical_units",
            Self::FactoryBad => "factory_bad",
            Self::GcReserve => "gc_reserve",
            Self::Placement => "placement",
            Self::Redundancy => "redundancy",
            Self::Domain => "domain",
            Self::Recovery => "recovery",
        })
    }
}

/// A firmware that cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Too many mapping units for 32-bit maps.
    #[error("{units} mapping units do not fit 32-bit maps, which hold {max}: use larger mapping units", max = u32::MAX - 1)]
    TooManyUnits {
        /// Units asked for.
        units: u64,
    },
    /// The counts contradict each other.
    #[error("{setting}: {reason}")]
    Contradiction {
        /// The setting at fault.
        setting: RefusedSetting,
        /// What was found and what is allowed.
        reason: String,
    },
    /// The power cut is of another drive than the configuration.
    #[error("the power cut is of another drive: blocks, units or the recovery policy differ")]
    AnotherDrive,
    /// The drive that should recover keeps no out-of-band data.
    #[error("the drive keeps no out-of-band data: its recovery policy is none")]
    NothingKept,
    /// What a drive without power was cannot be read from its file.
    #[error("what the power cut left cannot be read: {0}")]
    Unreadable(String),
    /// The kernel gave no memory for the maps.
    #[error("no memory for the maps: {0}")]
    Memory(#[from] std::io::Error),
}

/// How the firmware's blocks lie on the flash: blocks or superblocks, grouped in domains.
///
/// Firmware blocks are numbered domain by domain. In a superblock, page `p` lies on member `p % width`.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    geometry: Geometry,
    /// Flash blocks in a firmware block.
    width: u32,
    /// Flash blocks between two members of a firmware block.
    stride: u32,
    domains: u32,
    units_per_page: u32,
    unit_bytes: u32,
    units_per_block: u32,
    blocks_per_domain: u32,
    by_domain: AnyDivisor,
    by_page: AnyDivisor,
    by_width: AnyDivisor,
    pages_per_superblock: u32,
    by_superblock: AnyDivisor,
}

/// A flash page in the firmware's numbering: its first unit divided by the units of a page. A [`wane_units::Ppn`] names the same page in
/// the numbering of the flash, where the pages of a superblock are not consecutive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct PageId(pub(crate) u32);

impl PageId {
    /// The id as an index into a table.
    #[inline(always)]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// [`Layout::locate`] alone, as one multiplication: small enough that loops over many units keep it in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitLocator(Divisor);

impl UnitLocator {
    /// The firmware block that holds a unit, and the unit's number in it.
    #[inline(always)]
    pub(crate) fn locate(self, unit: UnitId) -> (SuperblockId, u32) {
        let (block, within) = self.0.split(unit.0);
        (SuperblockId(block), within)
    }
}

impl Layout {
    /// Whether blocks and units lie in the same way.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let shape =
            |layout: &Self| (layout.geometry, layout.width, layout.stride, layout.domains, layout.units_per_page);
        shape(self) == shape(other)
    }

    /// The layout of a geometry.
    pub fn new(geometry: Geometry, erase_group: EraseGroup, domain: Pooling, units_per_page: u32) -> Self {
        let domains = match domain {
            Pooling::Drive => 1,
            Pooling::Die => geometry.dies(),
        };
        let planes = geometry.dies() * geometry.planes_per_die() / domains;
        let (width, stride) = match erase_group {
            EraseGroup::Block => (1, 1),
            EraseGroup::Superblock => (planes, geometry.blocks_per_plane()),
        };
        let blocks_per_domain = geometry.blocks() / domains / width;
        assert_eq!(
            blocks_per_domain * width * domains,
            geometry.blocks(),
            "every flash block lies in a firmware block"
        );
        Self {
            geometry,
            width,
            stride,
            domains,
            units_per_page,
            unit_bytes: (geometry.page_size().0 / u64::from(units_per_page)) as u32,
            units_per_block: geometry.pages_per_block() * width * units_per_page,
            blocks_per_domain,
            by_domain: AnyDivisor::new(blocks_per_domain),
            by_page: AnyDivisor::new(units_per_page),
            by_width: AnyDivisor::new(width),
            pages_per_superblock: geometry.pages_per_block() * width,
            by_superblock: AnyDivisor::new(geometry.pages_per_block() * width),
        }
    }

    /// Domains of the drive.
    pub fn domains(&self) -> u32 {
        self.domains
    }

    /// Firmware blocks of one domain.
    pub fn blocks_per_domain(&self) -> u32 {
        self.blocks_per_domain
    }

    /// The domain of a firmware block.
    #[inline(always)]
    pub fn domain(&self, block: SuperblockId) -> usize {
        self.by_domain.divide(block.0) as usize
    }

    /// The flash page that holds a unit.
    #[inline(always)]
    pub(crate) fn page_of(&self, unit: UnitId) -> PageId {
        PageId(self.by_page.divide(unit.0))
    }

    /// The page of a firmware block that holds its unit `within`, counted in the order of programming.
    #[inline(always)]
    pub(crate) fn page_in_block(&self, within: u32) -> u32 {
        self.by_page.divide(within)
    }

    /// Page `page` of a firmware block.
    #[inline(always)]
    pub(crate) fn page_id(&self, block: SuperblockId, page: u32) -> PageId {
        debug_assert!(page <= self.pages_per_superblock, "a page lies in its block, or ends a range of it");
        PageId(block.0 * self.pages_per_superblock() + page)
    }

    /// The first unit of a flash page.
    #[inline(always)]
    pub(crate) fn first_unit(&self, page: PageId) -> UnitId {
        UnitId(page.0 * self.units_per_page)
    }

    /// The units of a flash page.
    #[inline(always)]
    pub(crate) fn units_of(&self, page: PageId) -> impl Iterator<Item = UnitId> + Clone + use<> {
        let first = self.first_unit(page).0;
        UnitId::all(first..first + self.units_per_page)
    }

    /// Flash pages of a firmware block.
    #[inline(always)]
    pub(crate) fn pages_per_superblock(&self) -> u32 {
        self.pages_per_superblock
    }

    /// Firmware blocks of the drive.
    pub fn blocks(&self) -> u32 {
        self.blocks_per_domain() * self.domains
    }

    /// Flash blocks in a firmware block.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Mapping units in a firmware block.
    pub fn units_per_block(&self) -> u32 {
        self.units_per_block
    }

    /// Mapping units in a flash page.
    #[inline]
    pub fn units_per_page(&self) -> u32 {
        self.units_per_page
    }

    /// Bytes of a mapping unit.
    #[inline]
    pub fn unit_bytes(&self) -> u32 {
        self.unit_bytes
    }

    /// The `member`th flash block of a firmware block.
    #[inline]
    pub fn member(&self, block: SuperblockId, member: u32) -> BlockId {
        debug_assert!(block.0 < self.blocks(), "a member belongs to a block of the drive");
        debug_assert!(member < self.width, "a superblock has no member beyond its last");
        if self.width == 1 {
            return BlockId(block.0);
        }
        let first = self.by_domain.divide(block.0) * self.blocks_per_domain;
        BlockId(first * self.width + member * self.stride + block.0 - first)
    }

    /// The flash blocks of a firmware block.
    pub fn members(self, block: SuperblockId) -> impl Iterator<Item = BlockId> + Clone {
        (0..self.width).map(move |member| self.member(block, member))
    }

    /// The firmware block of a flash block: the inverse of [`Layout::member`].
    pub fn holder(&self, block: BlockId) -> SuperblockId {
        debug_assert!(block.0 < self.geometry.blocks(), "a holder holds a block of the drive");
        if self.width == 1 {
            return SuperblockId(block.0);
        }
        let per_domain = self.geometry.blocks() / self.domains;
        let (domain, within) = (block.0 / per_domain, block.0 % per_domain);
        let holder = SuperblockId(domain * self.blocks_per_domain() + within % self.stride);
        debug_assert!(
            self.members(holder).any(|member| member == block),
            "a superblock holds its members and no others"
        );
        holder
    }

    /// Every firmware block of the drive.
    pub fn superblocks(&self) -> impl DoubleEndedIterator<Item = SuperblockId> + Clone + use<> {
        SuperblockId::all(0..self.blocks())
    }

    /// Unit `within` of a firmware block.
    #[inline(always)]
    pub fn unit(&self, block: SuperblockId, within: u32) -> UnitId {
        debug_assert!(within <= self.units_per_block, "a unit lies in its block, or ends a range of it");
        UnitId(block.0 * self.units_per_block() + within)
    }

    /// The firmware block that holds a unit, and the unit's number in it.
    pub fn locate(&self, unit: UnitId) -> (SuperblockId, u32) {
        let per_block = self.units_per_block();
        (SuperblockId(unit.0 / per_block), unit.0 % per_block)
    }

    /// [`Layout::locate`] for loops.
    ///
    /// # Panics
    /// A block has one unit, which no firmware is built over.
    pub(crate) fn locator(&self) -> UnitLocator {
        UnitLocator(Divisor::new(self.units_per_block()))
    }

    /// The die of a flash page.
    #[inline]
    pub(crate) fn die_of_page(&self, page: PageId) -> DieId {
        let block = SuperblockId(self.by_superblock.divide(page.0));
        if self.width == 1 {
            return self.geometry.die_of(self.member(block, 0));
        }
        let (flash, _) = self.place_page(block, page.0 - block.0 * self.pages_per_superblock);
        self.geometry.die_of(flash)
    }

    /// The flash block and the page in it that hold unit `within` of a firmware block.
    pub fn place(&self, block: SuperblockId, within: u32) -> (BlockId, u32) {
        debug_assert!(within < self.units_per_block(), "a block has no unit beyond its last");
        self.place_page(block, self.page_in_block(within))
    }

    /// The pages of a block before `page`, down to `first`, that lie on the same member, the nearest first.
    pub(crate) fn pages_below(&self, page: u32, first: u32) -> impl Iterator<Item = u32> + use<> {
        (first..page).rev().skip(self.width as usize - 1).step_by(self.width as usize)
    }

    /// Number of pages of a block that fill a wordline of each of its members: see [`Room::wordline`].
    pub(crate) fn wordline(&self, shared: NonZeroU32) -> u32 {
        Room::wordline(shared, self.width, self.pages_per_superblock)
    }

    /// The flash block and the page in it that are page `page` of a firmware block.
    #[inline]
    pub(crate) fn place_page(&self, block: SuperblockId, page: u32) -> (BlockId, u32) {
        debug_assert!(page < self.pages_per_superblock, "a page beyond the last would be one of the next block");
        let row = self.by_width.divide(page);
        (self.member(block, page - row * self.width), row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_units::Bytes;

    #[test]
    fn superblocks_take_one_block_of_every_plane() {
        let geometry = Geometry::new(2, 1, 2, 3, 4, Bytes(4096)).unwrap();
        for (domain, width, domains) in [(Pooling::Drive, 4, 1), (Pooling::Die, 2, 2)] {
            let layout = Layout::new(geometry, EraseGroup::Superblock, domain, 2);
            assert_eq!((layout.width(), layout.domains(), layout.blocks()), (width, domains, 12 / width));
            let mut seen = std::collections::BTreeSet::new();
            for block in layout.superblocks() {
                for member in 0..width {
                    let flash = layout.member(block, member);
                    assert!(seen.insert(flash) && flash.0 < 12);
                    assert_eq!(layout.holder(flash), block);
                }
            }
            assert_eq!(layout.place(SuperblockId(0), 2), (layout.member(SuperblockId(0), 1), 0));
        }
    }
}
