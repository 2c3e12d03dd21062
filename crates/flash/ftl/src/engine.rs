//! The FTL's state, how it is built, and what can be read from it.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use wane_nand::{Media, Task};
pub use wane_units::EndOfLife;
use wane_units::{BlockState, Counters, Lpn, SuperblockId, UnitId};

use crate::config::{BuildError, FtlConfig, Layout, RefusedSetting as Refused, UnitLocator};
use crate::domain::{Domain, Parked};
use crate::free::FreeList;
use crate::giving::Giving;
use crate::host::Turn;
use crate::index::VictimIndex;
use crate::mode::ModeState;
use crate::payload::Payload;
use crate::persist::{Buffered, Capture, Flight, Persist, Shape, Summaries, metadata_blocks};
use crate::policies::capacity::{CapacityPolicy, CapacityView, Demand};
use crate::policies::placement::{PlacementPolicy, STREAMS_MAX};
use crate::policies::retirement::RetirePolicy;
use crate::policies::scrub::ScrubPolicy;
use crate::policies::{BlockEvent, Setting, StreamId};
use crate::reclaim::Fruitless;
use crate::room::Room;
use crate::stripes::Stripes;
use crate::table::Table;
use crate::work::Work;

/// An entry of the map that points nowhere.
pub(crate) const UNMAPPED: u32 = u32::MAX;

/// Number of entries from which on most caches do not hold a map (16 MiB). Its entries are prefetched in two steps.
pub(crate) const FAR_ENTRIES: usize = 1 << 22;

/// Entries of the map, and of the reverse map, in a line of the cache.
pub(crate) const ENTRIES_PER_LINE: usize = 16;

/// Firmware over a medium.
///
/// [`Layout`] numbers the blocks. The map holds a [`UnitId`] for each [`Lpn`], the reverse map the [`Lpn`] of each [`UnitId`]. An
/// entry of the reverse map means something only if the unit's validity bit is set.
#[derive(Clone)]
pub struct Ftl<M: Media> {
    pub(crate) media: M,
    pub(crate) layout: Layout,
    pub(crate) units_per_block: u32,
    pub(crate) locator: UnitLocator,
    pub(crate) map: Table<u32>,
    pub(crate) reverse: Table<u32>,
    /// Why a piece of them could not be read when it was needed.
    pub(crate) unreadable: OnceLock<String>,
    pub(crate) erase_count: Vec<u32>,
    /// Erases of all blocks when the firmware was built.
    pub(crate) erases_initial: u64,
    /// Erases that all blocks had before the drive's first, which its counters and policies leave out, and its wear does not.
    pub(crate) worn_before: u64,
    pub(crate) retired: Vec<bool>,
    pub(crate) domains: Vec<Domain>,
    /// The domain that takes the next host page.
    pub(crate) turn: u32,
    /// Buffer for the plan of host writes to several domains. It means nothing between calls.
    pub(crate) turns: Vec<Turn>,
    pub(crate) gc_reserve: u32,
    /// Free blocks of a domain up to which it collects unforced; none below the reserve.
    pub(crate) gc_unforced: u32,
    pub(crate) rated_blocks: u32,
    pub(crate) endurance: Option<u32>,
    pub(crate) retire: Box<dyn RetirePolicy>,
    /// Failed programs of each block.
    pub(crate) failures: Vec<u32>,
    pub(crate) placement: Box<dyn PlacementPolicy>,
    /// Open streams of each domain.
    pub(crate) stream_count: u32,
    /// The stream that the host fills now.
    pub(crate) host_stream: StreamId,
    /// The stream that the host suggests for its present write.
    pub(crate) hint: Option<u16>,
    pub(crate) capacity: Box<dyn CapacityPolicy>,
    pub(crate) logical_initial: u32,
    pub(crate) exported: u32,
    pub(crate) counters: Counters,
    pub(crate) leveling: bool,
    pub(crate) mode: ModeState,
    /// Units that the host read from each block since its erase; empty if no policy needs them.
    pub(crate) host_reads: Vec<u32>,
    /// `None` if nothing is scrubbed. Then reads are not noted.
    pub(crate) scrub: Option<Box<dyn ScrubPolicy>>,
    /// `None` if no page protects another.
    pub(crate) stripes: Option<Stripes>,
    /// Logical units, including parity's, whose data were lost when they were relocated. The physical units that they are mapped
    /// to do not hold what was written.
    pub(crate) lost: BTreeSet<u32>,
    /// Units that the last host read could not return.
    pub(crate) unread: Vec<u32>,
    /// Most re-reads of a host read, if fewer than error correction allows.
    pub(crate) read_recovery: Option<u32>,
    /// Bounds the firmware's own work.
    pub(crate) work: Work,
    /// Blocks read since the scrub policy was last asked.
    pub(crate) touched: Vec<SuperblockId>,
    pub(crate) retired_blocks: u32,
    pub(crate) dead: Option<EndOfLife>,
    pub(crate) giving: Giving,
    /// Reverse-map entries of the valid units of the block being relocated.
    pub(crate) scratch: Vec<u32>,
    /// The number of each of these units within the block; kept for a detailed medium only.
    pub(crate) origins: Vec<u32>,
    /// By physical unit, the tag of its data; empty if the medium keeps no tags.
    pub(crate) tags: Vec<M::Tag>,
    /// Tags of the host's present write; empty if it gave none.
    pub(crate) tags_written: Vec<M::Tag>,
    /// Handles to the bytes that units hold; `None` if bytes are not kept.
    pub(crate) payload: Option<Box<Payload>>,
    /// What makes the drive's state survive a power cut; `None` if there are no power cuts.
    pub(crate) persist: Option<Box<Persist>>,
    /// Units that a recovery found in the buffers and that were not programmed again yet.
    pub(crate) rescued: Vec<Buffered<M::Tag>>,
    /// Power cuts taken for a test.
    pub(crate) capture: Option<Box<Capture<M>>>,
    /// Recent operations that a power cut would undo; `None` if no time is kept.
    pub(crate) flight: Option<Box<Flight<M>>>,
}

/// Who writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The host, to write new data.
    #[default]
    Host,
    /// A file system that moves its data, out of space that it gives up or to clean its space.
    FileSystemMove,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All was done.
    Done,
    /// A block retired and the drive demands capacity back. Answer the demand, then call [`Ftl::reclaim`] and go on.
    Demand(Demand),
    /// The drive is dead.
    Dead(EndOfLife),
    /// The firmware has relocated as much as one call may. Call [`Ftl::resume`] until it no longer pauses, and go on. The time
    /// that the caller waits in between does not change the drive's final state.
    Paused,
    /// A unit is not exported. Nothing was done.
    OutOfRange(OutOfRange),
}

/// A request for a unit that the drive does not export. Nothing of the request was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unit {unit} lies beyond the {exported} units that the drive exports")]
pub struct OutOfRange {
    /// The highest unit asked for.
    pub unit: Lpn,
    /// Units exported now.
    pub exported: u32,
}

/// Erases of each block so far.
fn erase_counts(media: &impl Media, layout: &Layout) -> Vec<u32> {
    layout.superblocks().map(|block| media.erase_count(layout.member(block, 0)).0).collect()
}

impl<M: Media> Ftl<M> {
    /// Builds an FTL over flash that holds no data: nothing is mapped, every block is free. Blocks may have been erased before,
    /// those of one superblock equally often.
    ///
    /// # Errors
    /// The counts contradict each other or do not fit 32 bits, or there is no memory for the maps.
    pub fn new(media: M, config: FtlConfig) -> Result<Self, BuildError> {
        let mut ftl = Self::assemble(media, config, true)?;
        ftl.begin();
        Ok(ftl)
    }

    /// Assembles an FTL with every usable block free and none open. A new drive must have room for all that it exports; one that lost blocks
    /// need not.
    pub(crate) fn assemble(media: M, config: FtlConfig, is_new: bool) -> Result<Self, BuildError> {
        assert!(M::DETAILED || size_of::<M::Tag>() == 0, "only a detailed medium is told of every unit");
        check_page(&config)?;
        let layout = Layout::new(*media.geometry(), config.erase_group, config.domain, config.units_per_page);
        let (units_per_block, blocks) = (layout.units_per_block(), layout.blocks() as usize);
        let physical_units = u64::from(layout.blocks()) * u64::from(units_per_block);
        let (scrub, retired) = (scrub(&config, &layout), unusable(&media, &layout));
        let retired_blocks = retired.iter().filter(|is_retired| **is_retired).count() as u32;
        is_new.then(|| check_counts(&config, &layout, retired_blocks)).transpose()?;
        let (persist, pages) = (persist(&config, &layout)?, layout.blocks() * layout.pages_per_superblock());
        let stripes = stripes(&config, &layout, pages, media.geometry().dies())?;
        let stripes_max = stripes.as_ref().map_or(0, |_| Stripes::count_max(pages));
        let map = empty_map(&config, stripes_max, is_new && config.is_to_be_read)?;
        let (erase_count, (placement, streams)) = (erase_counts(&media, &layout), placement(&config, &layout));
        let worn_before = erase_count.iter().map(|count| u64::from(*count)).sum();
        let domains = build_domains(&config, &layout, &erase_count, &retired)?;
        let mut ftl = Self {
            layout,
            units_per_block,
            locator: layout.locator(),
            map,
            reverse: Table::zeroed(physical_units as usize)?,
            unreadable: OnceLock::new(),
            erases_initial: worn_before,
            worn_before,
            erase_count,
            retired,
            domains,
            turn: 0,
            turns: Vec::new(),
            gc_reserve: config.gc_reserve,
            gc_unforced: config.gc_unforced,
            rated_blocks: config.rated_blocks,
            endurance: config.endurance,
            retire: config.retire,
            failures: vec![0; if M::DETAILED { blocks } else { 0 }],
            placement,
            stream_count: streams,
            host_stream: StreamId(0),
            hint: None,
            logical_initial: config.logical_units,
            exported: config.logical_units,
            counters: Counters::default(),
            leveling: false,
            mode: ModeState::new(config.mode, layout.blocks() - retired_blocks),
            host_reads: vec![0; if config.victim.index().reads { blocks } else { 0 }],
            scrub,
            stripes,
            lost: BTreeSet::new(),
            unread: Vec::new(),
            read_recovery: None,
            work: Work::default(),
            touched: Vec::new(),
            retired_blocks,
            dead: None,
            giving: Giving::default(),
            // One entry more than a block has units: the gathering loop writes an entry before it knows whether the unit is valid.
            scratch: vec![0; units_per_block as usize + 1],
            tags: vec![M::Tag::default(); if size_of::<M::Tag>() > 0 { physical_units as usize } else { 0 }],
            tags_written: Vec::new(),
            origins: Vec::new(),
            payload: None,
            persist,
            rescued: Vec::new(),
            capture: None,
            flight: None,
            media,
            capacity: config.capacity,
        };
        // Policies begin with new blocks.
        (worn_before > 0).then(|| ftl.resync_policies());
        Ok(ftl)
    }

    /// Opens the host's blocks: all of a new drive's, or those that a recovered one lacks.
    pub(crate) fn begin(&mut self) {
        let has_place = |domain: &Domain| domain.parked.len() == self.stream_count as usize;
        let kept = self.domains.iter().all(has_place);
        assert!(kept, "a placement policy keeps as many streams after it has begun as before");
        let retired: u32 = self.domains.iter().map(|domain| domain.retired).sum();
        assert_eq!(retired, self.retired_blocks, "each block out of service is one of a domain's");
        for domain in 0..self.domains.len() {
            if self.domains[domain].host.is_none() {
                self.domains[domain].host = self.open_next(domain, StreamId(0));
            }
        }
    }

    /// Switches wear leveling on or off. It is off at first, for preconditioning. Policies hear of events in both cases.
    pub fn set_leveling(&mut self, on: bool) {
        self.leveling = on;
    }

    /// Whether wear leveling is on.
    pub fn is_leveling(&self) -> bool {
        self.leveling
    }

    /// The medium.
    pub fn media(&self) -> &M {
        &self.media
    }

    /// The medium, to set its clock or to take what it recorded.
    pub fn media_mut(&mut self) -> &mut M {
        &mut self.media
    }

    /// Bytes of a mapping unit.
    pub fn unit_bytes(&self) -> u32 {
        self.layout.unit_bytes()
    }

    /// How blocks lie on the flash.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What was counted since the drive was new.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Logical units when new.
    pub fn logical_initial(&self) -> u32 {
        self.logical_initial
    }

    /// Logical units exported now.
    pub fn exported(&self) -> u32 {
        self.exported
    }

    /// Firmware blocks out of service.
    pub fn retired_blocks(&self) -> u32 {
        self.retired_blocks
    }

    /// Erases of every firmware block.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erase_count
    }

    /// Valid units of a firmware block.
    pub fn valid(&self, block: SuperblockId) -> u32 {
        self.domain_of(block).index.valid(block)
    }

    /// Share of the service life that is used: the mean erase count over the rated endurance. `None` if no block ever
    /// retires.
    pub fn life_used(&self) -> Option<f64> {
        let endurance = self.rated_cycles()?;
        let erases: u64 = self.domains.iter().map(|domain| domain.gc_erases + domain.wear_leveling_erases).sum();
        Some((self.worn_before + erases) as f64 / (f64::from(endurance) * f64::from(self.layout.blocks())))
    }

    /// Erases up to which a block serves. `None` when no block ever retires.
    pub fn rated_cycles(&self) -> Option<u32> {
        self.retire.retires_at(self.endurance)
    }

    /// Number of host units written when a closed block was last written; `None` for any other block.
    pub fn closed_at(&self, block: SuperblockId) -> Option<u64> {
        let index = &self.domain_of(block).index;
        index.is_closed(block).then(|| index.closed_at(block))
    }

    /// State of a firmware block.
    pub fn state(&self, block: SuperblockId) -> BlockState {
        let domain = self.domain_of(block);
        let is_taken = self.persist.as_ref().is_some_and(|persist| persist.takes(block));
        let open = is_taken || domain.open().any(|frontier| frontier.block == block);
        let states = [self.retired[block.index()], open, domain.index.is_closed(block)];
        debug_assert!(states.into_iter().filter(|is_so| *is_so).count() <= 1, "a block stands in one state");
        match () {
            () if self.retired[block.index()] => BlockState::Retired,
            () if open => BlockState::Open,
            () if domain.index.is_closed(block) => BlockState::Closed,
            () => BlockState::Free,
        }
    }

    /// Whether a logical unit's data were lost when it was relocated and it was neither written nor trimmed since.
    pub fn is_lost(&self, logical: Lpn) -> bool {
        let in_buffer = || self.rescued.iter().any(|rescued| rescued.is_lost && rescued.logical == logical);
        self.lost.contains(&logical.0) || in_buffer()
    }

    /// Number of exported units whose data are lost.
    pub fn units_lost(&self) -> u64 {
        let exported = self.lost.iter().filter(|unit| **unit < self.exported).count();
        let buffered = self.rescued.iter().filter(|rescued| rescued.is_lost && !self.lost.contains(&rescued.logical.0));
        (exported + buffered.count()) as u64
    }

    /// The physical unit that holds a logical one.
    pub fn lookup(&self, logical: Lpn) -> Option<UnitId> {
        let unit = Some(self.entry(logical)).filter(|unit| *unit != UNMAPPED).map(UnitId)?;
        debug_assert!(
            !self.reverse.is_whole() || self.reverse[unit.index()] == logical.0,
            "the reverse map leads back to who is mapped to a unit"
        );
        Some(unit)
    }

    /// Free blocks of the domain that has the fewest.
    pub fn free_blocks_min(&self) -> u32 {
        self.domains.iter().map(|domain| domain.free.len() as u32).min().unwrap_or(0)
    }

    /// Number of dies in a group, see [`crate::policies::redundancy::RedundancyPolicy::group_dies`]; `None` without groups.
    pub fn group_dies(&self) -> Option<u32> {
        self.stripes.as_ref()?.policy.group_dies()
    }

    /// Whether pages protect each other.
    pub fn is_striped(&self) -> bool {
        self.stripes.is_some()
    }

    /// Why the drive takes no more writes.
    pub fn end_of_life(&self) -> Option<EndOfLife> {
        self.dead
    }

    /// The capacity policy.
    pub fn capacity_policy(&self) -> &dyn CapacityPolicy {
        &*self.capacity
    }

    pub(crate) fn domain_of(&self, block: SuperblockId) -> &Domain {
        let domain = &self.domains[self.layout.domain(block)];
        debug_assert!(domain.has(block), "the layout and the domains agree on whose a block is");
        domain
    }

    /// Mapping units of the blocks in service, without the reserve.
    pub fn service_units(&self) -> u64 {
        u64::from(self.rated_blocks.saturating_sub(self.retired_blocks)) * u64::from(self.units_per_block)
    }

    pub(crate) fn capacity_view(&self, free: u32) -> CapacityView {
        debug_assert!(self.exported <= self.logical_initial, "a drive exports no more than when it was new");
        debug_assert!(self.retired_blocks + free <= self.layout.blocks(), "no block is both free and out of service");
        CapacityView {
            retired_blocks: self.retired_blocks,
            rated_blocks: self.rated_blocks,
            blocks: self.layout.blocks(),
            free,
            units_per_block: self.units_per_block,
            logical_initial: u64::from(self.logical_initial),
            exported: u64::from(self.in_use_max()),
        }
    }
}

/// The map of an empty drive: entries for the host's units and for the parity of `stripes_max` stripes.
fn empty_map(config: &FtlConfig, stripes_max: u32, is_unread: bool) -> Result<Table<u32>, BuildError> {
    let units = u64::from(config.logical_units) + u64::from(stripes_max) * u64::from(config.units_per_page);
    if units > u64::from(u32::MAX - 1) {
        return Err(BuildError::TooManyUnits { units });
    }
    Ok(if is_unread { Table::zeroed(units as usize)? } else { Table::filled(units as usize, UNMAPPED)? })
}

/// For each firmware block, whether it cannot be used: it is bad from the factory, or its erase count cannot rise any further.
fn unusable<M: Media>(media: &M, layout: &Layout) -> Vec<bool> {
    let is_so = |flash| media.is_unusable(flash) || media.erase_count(flash).0 == u32::MAX;
    layout.superblocks().map(|block| layout.members(block).any(is_so)).collect()
}

/// What makes the drive survive a power cut; `None` if its recovery policy keeps nothing.
fn persist(config: &FtlConfig, layout: &Layout) -> Result<Option<Box<Persist>>, BuildError> {
    if !config.recovery.acts() {
        return Ok(None);
    }
    if config.redundancy.acts() && config.recovery.summaries() == Summaries::Map {
        let reason =
            "a checkpoint does not record stripes: use recovery = full-scan with a redundancy policy".to_owned();
        return Err(BuildError::Contradiction { setting: Refused::Recovery, reason });
    }
    if layout.pages_per_superblock() < 2 {
        let reason = "a block has 1 page; a recovery policy needs at least 2".to_owned();
        return Err(BuildError::Contradiction { setting: Refused::PagesPerBlock, reason });
    }
    let shape = Shape {
        blocks: layout.blocks(),
        pages_per_block: layout.pages_per_superblock(),
        width: layout.width(),
        wordline: layout.wordline(config.wordline_pages),
        logical_units: config.logical_units,
        page_bytes: layout.unit_bytes() * layout.units_per_page(),
    };
    let persist = Persist::new(&shape, config)?;
    Ok(Some(Box::new(persist)))
}

/// The tasks that write to open streams.
fn writers(config: &FtlConfig) -> Vec<Task> {
    let tasks = [Task::Host, Task::GarbageCollection].into_iter();
    tasks.chain(config.scrub.acts().then_some(Task::Scrub)).collect()
}

/// Fewest free blocks that a drive with a recovery policy keeps, in each domain.
pub const RECOVERY_RESERVE: u32 = 3;

/// Checks the page and block sizes. It comes before a layout is made, which divides by them.
fn check_page(config: &FtlConfig) -> Result<(), BuildError> {
    if config.units_per_page > 0 {
        return Ok(());
    }
    let reason = "found 0 mapping units in a page; at least 1 is needed".to_owned();
    Err(BuildError::Contradiction { setting: Refused::UnitsPerPage, reason })
}

fn check_counts(config: &FtlConfig, layout: &Layout, retired_blocks: u32) -> Result<(), BuildError> {
    let physical_units = u64::from(layout.blocks()) * u64::from(layout.units_per_block());
    let max = u64::from(u32::MAX - 1);
    let largest = physical_units.max(u64::from(config.logical_units));
    if largest > max {
        return Err(BuildError::TooManyUnits { units: largest });
    }
    if layout.units_per_block() < 2 {
        let reason = "a block has 1 page; at least 2 are needed".to_owned();
        return Err(BuildError::Contradiction { setting: Refused::PagesPerBlock, reason });
    }
    let open = config.placement.streams(&writers(config));
    if !(1..=STREAMS_MAX).contains(&open) {
        let reason = format!("found {open} open streams; 1 to {STREAMS_MAX} are allowed");
        return Err(BuildError::Contradiction { setting: Refused::Placement, reason });
    }
    if config.gc_reserve == 0 {
        let reason = "found 0; garbage collection needs at least 1 free block".to_owned();
        return Err(BuildError::Contradiction { setting: Refused::GcReserve, reason });
    }
    if config.recovery.acts() && config.gc_reserve < RECOVERY_RESERVE {
        let reason = format!(
            "found {}; a drive with a recovery policy needs at least {RECOVERY_RESERVE}: the host, collection and the metadata area may each \
             open a block before one is free again",
            config.gc_reserve
        );
        return Err(BuildError::Contradiction { setting: Refused::GcReserve, reason });
    }
    let setting = if retired_blocks > 0 { Refused::FactoryBad } else { Refused::LogicalUnits };
    check_room(config, layout, setting, Room { bad: u64::from(retired_blocks), ..room(config, layout, open) })
}

/// The room of a drive without stripes that has `open` open streams in each domain.
fn room(config: &FtlConfig, layout: &Layout, open: u32) -> Room {
    let domains = u64::from(layout.domains());
    Room {
        blocks: u64::from(layout.blocks()),
        units_per_block: u64::from(layout.units_per_block()),
        reserve: u64::from(config.gc_reserve) * domains,
        open: u64::from(open) * domains,
        bad: 0,
        metadata: metadata(config, layout),
        padding: if config.recovery.acts() && !config.power_loss_protection {
            let units = layout.units_per_page() * layout.wordline(config.wordline_pages);
            Room::padding(units, u64::from(open) * domains)
        } else {
            0
        },
        data_pages: None,
    }
}

/// Most blocks that the metadata area takes.
fn metadata(config: &FtlConfig, layout: &Layout) -> u64 {
    if !config.recovery.acts() || layout.pages_per_superblock() < 2 {
        return 0;
    }
    let page_bytes = layout.unit_bytes() * layout.units_per_page();
    metadata_blocks(
        config.recovery.summaries(),
        u64::from(config.logical_units),
        page_bytes,
        layout.pages_per_superblock(),
    )
}

/// The room of a drive whose host data are striped; `None` if they are not.
fn striped_room(config: &FtlConfig, layout: &Layout) -> Option<Room> {
    let policy = Some(&config.redundancy).filter(|policy| policy.acts() && policy.protects(Task::Host))?;
    let open = config.placement.streams(&[Task::Host, Task::GarbageCollection]);
    // If buffers do not survive, a flush may close stripes of one page.
    let is_closed_early = config.recovery.acts() && !config.power_loss_protection;
    let data_pages = if is_closed_early { 1 } else { u64::from(policy.data_pages()) };
    Some(Room { data_pages: Some(data_pages), ..room(config, layout, open) })
}

/// Refuses more logical units than there is room for. The number that the message says fits also fits with parity.
fn check_room(config: &FtlConfig, layout: &Layout, setting: Refused, room: Room) -> Result<(), BuildError> {
    if u64::from(config.logical_units) > room.units_max() {
        let told = striped_room(config, layout).map_or(room, |striped| room.tighter(striped));
        let (found, max) = (config.logical_units, told.units_max());
        let reason = format!("no room for {found} logical units on {told}; at most {max} fit");
        return Err(BuildError::Contradiction { setting, reason });
    }
    Ok(())
}

/// The setting of a policy that serves the whole drive.
fn whole_drive(config: &FtlConfig, layout: &Layout, family: &str) -> Setting {
    Setting {
        first: SuperblockId(0),
        blocks: layout.blocks(),
        units_per_block: layout.units_per_block(),
        endurance: config.endurance,
        rated_blocks: config.rated_blocks,
        stream: config.streams.stream(family),
    }
}

/// The scrubber; `None` if it never acts, so that reads are not noted.
fn scrub(config: &FtlConfig, layout: &Layout) -> Option<Box<dyn ScrubPolicy>> {
    let mut policy = Some(config.scrub.clone()).filter(|policy| policy.acts())?;
    policy.begin(whole_drive(config, layout, "scrub"));
    Some(policy)
}

/// The placement policy and the number of streams that it keeps open.
fn placement(config: &FtlConfig, layout: &Layout) -> (Box<dyn PlacementPolicy>, u32) {
    let mut policy = config.placement.clone();
    policy.begin(whole_drive(config, layout, "placement"));
    let streams = policy.streams(&writers(config));
    (policy, streams)
}

/// All domains, their blocks free.
fn build_domains(
    config: &FtlConfig,
    layout: &Layout,
    erase_count: &[u32],
    retired: &[bool],
) -> std::io::Result<Vec<Domain>> {
    (0..layout.domains()).map(|domain| build_domain(config, layout, domain, erase_count, retired)).collect()
}

/// One domain, its blocks free.
fn build_domain(
    config: &FtlConfig,
    layout: &Layout,
    domain: u32,
    erase_count: &[u32],
    retired: &[bool],
) -> std::io::Result<Domain> {
    let per_domain = layout.blocks_per_domain();
    let first = SuperblockId(domain * per_domain);
    let blocks = || SuperblockId::all(first.0..first.0 + per_domain);
    let setting = |family: &str| Setting {
        first,
        blocks: per_domain,
        units_per_block: layout.units_per_block(),
        endurance: config.endurance,
        rated_blocks: if config.rated_blocks >= layout.blocks() {
            per_domain
        } else {
            per_domain.saturating_sub(config.gc_reserve)
        },
        stream: config.streams.stream(&format!("{family}.{domain}")),
    };
    let (mut victim, mut leveler) = (config.victim.clone(), config.wear_leveling.clone());
    let mut allocation = config.allocation.clone();
    allocation.begin(setting("allocation"));
    victim.begin(setting("gc"));
    leveler.begin(setting("wear-leveling"));
    let mut built = Domain {
        first,
        blocks: per_domain,
        free: FreeList::new(allocation.order()),
        index: VictimIndex::new(first, per_domain, layout.units_per_block(), victim.index())?,
        host: None,
        parked: vec![
            Parked { frontier: None, task: Task::GarbageCollection };
            config.placement.streams(&writers(config)) as usize
        ],
        allocation,
        victim,
        leveler,
        leveling_due: false,
        fruitless: Fruitless::default(),
        gc_erases: 0,
        wear_leveling_erases: 0,
        retired: 0,
    };
    for block in blocks() {
        let erases = erase_count[block.index()];
        if retired[block.index()] {
            built.retired += 1;
            built.tell(BlockEvent::Retired, block, erases);
        } else {
            built.free.push(block, erases);
        }
    }
    assert_eq!(built.free.len() as u32 + built.retired, per_domain, "a block of a new drive is free or out of service");
    Ok(built)
}

/// Builds the stripes. They need as many dies as pages, and consecutive writes must go to different dies.
fn stripes(config: &FtlConfig, layout: &Layout, pages: u32, dies: u32) -> Result<Option<Stripes>, BuildError> {
    if !config.redundancy.acts() {
        return Ok(None);
    }
    let policy = config.redundancy.clone();
    let data_pages = policy.data_pages();
    if !Stripes::are_counted(data_pages, config.units_per_page) {
        let units = config.units_per_page;
        let reason = format!("stripes of {data_pages} data pages of {units} mapping units are too large to be counted");
        return Err(BuildError::Contradiction { setting: Refused::Redundancy, reason });
    }
    let rotates = layout.domains() == dies || layout.width() > 1;
    let group = policy.group_dies();
    let lacks_dies = data_pages >= dies;
    if lacks_dies || group.is_some_and(|group| !dies.is_multiple_of(group)) {
        let (asked, what) = (data_pages + 1, if lacks_dies { "" } else { "groups of " });
        let reason = format!(
            "stripes of {data_pages} data pages and one of parity need {what}{asked} dies; the drive has {dies}"
        );
        return Err(BuildError::Contradiction { setting: Refused::Redundancy, reason });
    }
    if let Some(room) = striped_room(config, layout) {
        check_room(config, layout, Refused::LogicalUnits, room)?;
    }
    if !rotates {
        let advice = "redundancy needs writing to go from die to die: pool blocks by die, or erase superblocks";
        return Err(BuildError::Contradiction { setting: Refused::Domain, reason: advice.to_owned() });
    }
    if policy.reads_around() && layout.domains() != dies {
        let advice = "reads go around a die that collects while others do not: pool blocks by die";
        return Err(BuildError::Contradiction { setting: Refused::Domain, reason: advice.to_owned() });
    }
    Ok(Some(Stripes::new(policy, pages, dies, config.recovery.acts())?))
}
