//! The settings of a scenario: one struct for each table, one field for each key.
//!
//! A field is the only place that states its key: the name (kebab-case), the type and thereby the unit, the range, the default and
//! the text of the manual. [`super::schema`] is made of these structs. Checks, manual, "did you mean" and `wane manual --schema` are
//! made of the schema. Tables that resolve to themselves (`[time]`, `[until]`, the tables inside `[drive]`) are in the modules of their
//! subject: `medium`, `phase` and `time`. Workloads are in `workload`.
//!
//! A field says more than its type with `#[schemars(extend(...))]`:
//! `x-least` and `x-most` are the range of a quantity. `x-default` is a default that is not a value. `x-allowed` says what is allowed if the
//! type does not. `x-needs` is what a key needs to have an effect. `x-moved` maps words that the key took in the past to what
//! is written instead. `x-unwritten = "default"` leaves a key at its default out of
//! resolved scenarios and their hash, so that scenarios keep the hash that they had before the key was added.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use wane_ftl::policies::allocation::{ALLOCATION_POLICIES, AllocationPolicy};
use wane_ftl::policies::capacity::{CAPACITY_POLICIES, CapacityPolicy};
use wane_ftl::policies::mode::{MODE_POLICIES, ModePolicy};
use wane_ftl::policies::placement::{PLACEMENT_POLICIES, PlacementPolicy};
use wane_ftl::policies::recovery::{RECOVERY_POLICIES, RecoveryPolicy};
use wane_ftl::policies::redundancy::{REDUNDANCY_POLICIES, RedundancyPolicy};
use wane_ftl::policies::retirement::{RETIRE_POLICIES, RetirePolicy};
use wane_ftl::policies::scrub::{SCRUB_POLICIES, ScrubPolicy};
use wane_ftl::policies::victim::{VICTIM_POLICIES, VictimPolicy};
use wane_ftl::policies::wear_leveling::{WEAR_LEVEL_POLICIES, WearLevelPolicy};
use wane_ftl::{EraseGroup, Frontiers, Pooling};
use wane_nand::CellKind;
use wane_units::{Bytes, Ratio};

use super::array::ArraySettings;
use super::chosen::Chosen;
use super::file_system::FileSystemSettings;
use super::forecast::ForecastSettings;
use super::forward::FastForward;
use super::medium::{EccSpec, FaultSpec, Initial, TimingSpec, Variation};
use super::phase::Until;
use super::policies;
use super::presets;
use super::retention::RetentionSpec;
use super::schema::{in_field_order, with_values_of_no_preset};
use super::synonyms::Surplus;
use super::thermal::ThermalSpec;
use super::time::{ProbeSettings, Time};
use super::workload::WorkloadSettings;
use super::written::{Chip, OrNone, or_none};

/// Largest seed. TOML's integers have room above it for the seeds of further runs.
pub const SEED_MAX: u64 = 1 << 62;
const MIB: u64 = 1 << 20;
/// A sector, the smallest unit of a drive.
pub(super) const SECTOR: Bytes = Bytes(512);

/// The run as a whole.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
#[schemars(extend("not" = { "anyOf": [{ "required": ["phase", "workload"] }, { "required": ["phase", "until"] }] }))]
pub(super) struct Settings {
    /// Root of all random streams. The same scenario and seed give the same result, byte for byte.
    #[schemars(range(min = 0, max = SEED_MAX))]
    pub(super) seed: u64,
    /// A name for people, shown in results and reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "the file's name"))]
    pub(super) name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) array: Option<ArraySettings>,
    pub(super) drive: DriveSettings,
    pub(super) ftl: FtlSettings,
    pub(super) precondition: PreconditionSettings,
    #[schemars(with = "WorkloadSettings")]
    pub(super) workload: Table,
    pub(super) until: Until,
    /// Phases of the run, one after the other, instead of a single `workload` and `until`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("x-allowed" = "one or more `[[phase]]` tables"))]
    pub(super) phase: Option<Vec<PhaseSettings>>,
    pub(super) time: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) probe: Option<ProbeSettings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fast_forward: Option<FastForward>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_system: Option<FileSystemSettings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) forecast: Option<ForecastSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            name: None,
            array: None,
            drive: DriveSettings::default(),
            ftl: FtlSettings::default(),
            precondition: PreconditionSettings::default(),
            workload: Table::new(),
            until: Until::default(),
            phase: None,
            time: Time::default(),
            probe: None,
            fast_forward: None,
            file_system: None,
            forecast: None,
        }
    }
}

/// One phase of a run: its `workload` and its `until`, each like the table of that name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub(super) struct PhaseSettings {
    #[schemars(with = "WorkloadSettings")]
    pub(super) workload: Table,
    pub(super) until: Until,
}

/// The flash, and the part of it that the drive exports. Give two of logical capacity, spare factor and geometry; the third follows. A key
/// set here displaces one that comes from the preset. What no key can say: an SLC cache, and how much of the map fits into the drive's memory (all of it
/// does). `time.write-cache` is neither: it holds what was written until it is programmed.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>, transform = with_values_of_no_preset)]
pub(super) struct DriveSettings {
    /// The drive to start from; `wane presets` lists them. `none` starts from the defaults of this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = presets::names()))]
    pub(super) preset: Option<String>,
    /// Capacity that the drive exports when new. A multiple of the mapping unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-least" = SECTOR, "x-most" = Bytes(1 << 56)))]
    pub(super) logical_capacity: Option<Bytes>,
    /// (physical - logical) / physical capacity. With a logical capacity, the physical blocks are floor(logical / (1 -
    /// spare-factor)) plus the reserve of garbage collection, rounded up to whole dies and planes. With a geometry, the
    /// logical pages are floor((1 - spare-factor) x physical pages), and the reserve is part of the physical pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) spare_factor: Option<Ratio>,
    /// The spare space as data sheets give it: physical / logical capacity - 1. The spare factor is then 1 - 1 / (1 +
    /// over-provisioning): 6.54 % for `"7 %"`, 21.9 % for `"28 %"`. Give one of the two keys; a layer that sets either
    /// displaces the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "that of the spare factor"))]
    pub(super) over_provisioning: Option<Surplus>,
    /// Channels of the drive.
    #[schemars(range(min = 1, max = 4096))]
    pub(super) channels: u32,
    /// Dies on each channel.
    #[schemars(range(min = 1, max = 4096))]
    pub(super) dies_per_channel: u32,
    /// Planes of each die.
    #[schemars(range(min = 1, max = 64))]
    pub(super) planes_per_die: u32,
    /// Blocks of each plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = u32::MAX), extend("x-default" = "derived"))]
    pub(super) blocks_per_plane: Option<u32>,
    /// Blocks of the whole drive, instead of `blocks-per-plane`. A multiple of the drive's number of planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = u32::MAX), extend("x-default" = "derived"))]
    pub(super) blocks: Option<u32>,
    /// Pages of a block. At least 2 mapping units must fit a block.
    #[schemars(range(min = 1, max = 1 << 20))]
    pub(super) pages_per_block: u32,
    /// Unit of program.
    #[schemars(extend("x-least" = SECTOR, "x-most" = Bytes(16 * MIB)))]
    pub(super) page_size: Bytes,
    /// Unit of the map, of validity and of host pages: the page or a whole fraction of it. Small units make small writes cheap and maps
    /// large.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-least" = SECTOR, "x-most" = Bytes(16 * MIB), "x-default" = "the page"))]
    pub(super) mapping_unit: Option<Bytes>,
    /// Rated P/E cycles; or `"none"`. Policies read them, and blocks retire at them.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<u32>", extend("minimum" = 1, "maximum" = u32::MAX))]
    pub(super) endurance: Option<u32>,
    /// The logical capacity of the larger drive that this one stands for, as `wane run --scale` writes it. TBW are reported for the larger
    /// drive; nothing else changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-least" = SECTOR, "x-most" = Bytes(1 << 56), "x-default" = "none"))]
    pub(super) scaled_from: Option<Bytes>,
    /// Whether the controller's page buffers, and so all acknowledged writes, survive a power cut. If not, a flush pads the pages that are
    /// being filled, and so does the erase of a block whose data these pages may hold. Needs a recovery policy.
    #[schemars(extend("x-unwritten" = "default"))]
    pub(super) power_loss_protection: bool,
    /// Number of successive pages of a block that share a wordline. A power cut during a program also destroys the pages before it in the
    /// wordline. Without power-loss protection whole wordlines are padded instead of pages. Needs a recovery policy.
    #[schemars(range(min = 1, max = 4), extend("x-unwritten" = "default"))]
    pub(super) wordline_pages: NonZeroU32,
    /// The chip whose raw bit errors the flash has: a published chip, or a table `[drive.chip]` with the nine parameters and `data`, as `wane
    /// rber fit` prints it under `[rber]`. `"none"`: no bit is ever wrong.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Chip>")]
    pub(super) chip: Option<Value>,
    /// The kind of cell, which sets `read`, `program` and `erase` of `[drive.timing]` for its page types: the middle of each range of Table 2.2
    /// in 002. Times in the same layer or above are kept; those from layers below are displaced.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<CellKind>")]
    pub(super) cell: Option<CellKind>,
    pub(super) timing: TimingSpec,
    #[schemars(extend("x-needs" = ["chip"]))]
    pub(super) ecc: EccSpec,
    #[schemars(extend("x-needs" = ["chip"]))]
    pub(super) variation: Variation,
    #[schemars(extend("x-needs" = ["chip"]))]
    pub(super) retention: RetentionSpec,
    pub(super) initial: Initial,
    pub(super) faults: FaultSpec,
    pub(super) thermal: ThermalSpec,
}

impl Default for DriveSettings {
    fn default() -> Self {
        Self {
            preset: None,
            logical_capacity: None,
            spare_factor: None,
            over_provisioning: None,
            channels: 1,
            dies_per_channel: 1,
            planes_per_die: 1,
            blocks_per_plane: None,
            blocks: None,
            pages_per_block: 256,
            page_size: Bytes(4096),
            mapping_unit: None,
            endurance: Some(500),
            scaled_from: None,
            power_loss_protection: true,
            wordline_pages: NonZeroU32::MIN,
            chip: None,
            cell: None,
            timing: TimingSpec::default(),
            ecc: EccSpec::default(),
            variation: Variation::default(),
            retention: RetentionSpec::default(),
            initial: Initial::default(),
            faults: FaultSpec::default(),
            thermal: ThermalSpec::default(),
        }
    }
}

/// The firmware.
///
/// Policies are tables with `policy` and the parameters that the scenario writes. All of these are checked; a parameter that is not written
/// has the policy's own default.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>, transform = policies::with_policies, description = "The firmware.")]
pub struct FtlSettings {
    /// Which block garbage collection reclaims.
    #[schemars(schema_with = "policies::of_family")]
    pub gc: Chosen<Box<dyn VictimPolicy>>,
    /// Which data moves so that blocks wear evenly. Off during preconditioning.
    #[schemars(schema_with = "policies::of_family")]
    pub wear_leveling: Chosen<Box<dyn WearLevelPolicy>>,
    /// What happens to the exported capacity as blocks retire.
    #[schemars(schema_with = "policies::of_family")]
    pub capacity: Chosen<Box<dyn CapacityPolicy>>,
    /// Which pages protect each other by parity on another die. Needs `domain = "die"` or `unit = "superblock"`.
    #[schemars(schema_with = "policies::of_family", extend("x-unwritten" = "default"))]
    pub redundancy: Chosen<Box<dyn RedundancyPolicy>>,
    /// Which blocks are relocated before they have too many errors. An untimed run scrubs at most one block after each request; a timed
    /// one scrubs as soon as the last relocation is done. Off during preconditioning.
    #[schemars(schema_with = "policies::of_family", extend("x-unwritten" = "default"))]
    pub scrub: Chosen<Box<dyn ScrubPolicy>>,
    /// Free blocks that garbage collection keeps in each domain. At least 2 if blocks can retire or swap data, or with several frontiers.
    #[schemars(range(min = 1, max = 1 << 20))]
    pub gc_reserve: u32,
    /// Free blocks below which a domain collects early, before `gc-reserve` forces it to: one victim each time the host has filled a block, if an
    /// eighth or more of that victim is invalid. 0: never.
    #[schemars(range(max = 1 << 20), extend("x-unwritten" = "default"))]
    pub gc_unforced: u32,
    /// Which blocks count as rated (T): a drive of fixed capacity ends when the rated blocks in service hold no more than it exports.
    #[schemars(extend("x-unwritten" = "default"))]
    pub rated_blocks: RatedBlocks,
    /// When a block retires. A block whose erase failed always retires.
    #[schemars(schema_with = "policies::of_family")]
    pub retire: Chosen<Box<dyn RetirePolicy>>,
    /// Most re-reads of a host read, as NVMe's read recovery level limits them; or `"none"`. A read that needs more fails, and a block whose data are
    /// expected to need more just after a program retires, whatever `retire` says; on a degraded drive it serves up to `drive.endurance`. Fewer
    /// re-reads keep reads fast and cost life. Source: the capacity-variant SSD (001, section 3.3).
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<u32>", extend("minimum" = 0, "maximum" = 1 << 10, "x-unwritten" = "default"))]
    pub read_recovery: Option<u32>,
    /// Unit of reclaim: a block, or a superblock of one block from each plane of the domain. With blocks, one plane of a die works at a time.
    #[serde(rename = "unit")]
    #[schemars(extend("x-default" = "superblock, if a die has several planes and is a domain; else block"))]
    pub erase_group: EraseGroup,
    /// What shares one free list, its frontiers and its victim index: the drive or each die. With `die`, host pages go to the dies in turn,
    /// channel first. With `drive` and blocks, the host writes to one die at a time.
    #[schemars(extend("x-default" = "die, if there are several; else drive"))]
    pub domain: Pooling,
    /// Whether relocated pages fill the host's open block (`one`), or blocks of their own (`separate`), one for garbage collection and one for
    /// scrubbing. Separate blocks keep hot and cold data apart.
    pub frontiers: Frontiers,
    /// Which of several open streams takes data. `one` and `separate` are the same as with `frontiers`; give one of the two keys.
    #[schemars(schema_with = "policies::of_family", extend("x-unwritten" = "default"))]
    pub placement: Chosen<Box<dyn PlacementPolicy>>,
    /// Which free block is opened next.
    #[schemars(schema_with = "policies::of_family", extend("x-unwritten" = "default"))]
    pub allocation: Chosen<Box<dyn AllocationPolicy>>,
    /// The timeline counts a block as young while it has fewer erases than this. By default, with a `drive.chip` and limited correction: the
    /// erases from which freshly programmed data are expected to need a re-read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1 << 20))]
    pub young_below: Option<u32>,
    /// When a drive with wear focusing is degraded and spares its worn blocks.
    #[schemars(schema_with = "policies::of_family", extend("x-unwritten" = "default"))]
    pub mode: Chosen<Box<dyn ModePolicy>>,
    /// How the drive finds its data after a power cut, and what it programs for that beforehand. With `none` power is never cut.
    #[schemars(schema_with = "policies::of_family", extend("x-unwritten" = "default"))]
    pub recovery: Chosen<Box<dyn RecoveryPolicy>>,
    /// NVRAM for the remap log: 8 bytes for each unit that was remapped and not erased since. Needs a recovery policy.
    #[schemars(extend("x-least" = Bytes(8), "x-most" = Bytes(1 << 40), "x-unwritten" = "default"))]
    pub remap_log: Bytes,
}

/// Which blocks count as rated.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatedBlocks {
    /// All but the reserve of garbage collection, as in the released FTLSim.
    #[default]
    BesideReserve,
    /// All, as in the artifact of 001.
    All,
}

impl Default for FtlSettings {
    fn default() -> Self {
        Self {
            gc: Chosen::by_name("greedy", VICTIM_POLICIES),
            wear_leveling: Chosen::by_name("none", WEAR_LEVEL_POLICIES),
            capacity: Chosen::by_name("fixed", CAPACITY_POLICIES),
            redundancy: Chosen::by_name("none", REDUNDANCY_POLICIES),
            scrub: Chosen::by_name("none", SCRUB_POLICIES),
            gc_reserve: 7,
            gc_unforced: 0,
            rated_blocks: RatedBlocks::BesideReserve,
            retire: Chosen::by_name("at-endurance", RETIRE_POLICIES),
            read_recovery: None,
            erase_group: EraseGroup::Block,
            domain: Pooling::Drive,
            frontiers: Frontiers::One,
            placement: Chosen::by_name("one", PLACEMENT_POLICIES),
            allocation: Chosen::by_name("fifo", ALLOCATION_POLICIES),
            young_below: None,
            mode: Chosen::by_name("host-only", MODE_POLICIES),
            recovery: Chosen::by_name("none", RECOVERY_POLICIES),
            remap_log: Bytes(MIB),
        }
    }
}

/// What happens before counting starts. Its wear is kept; wear leveling is off.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub(super) struct PreconditionSettings {
    /// Share of the logical pages that is written first, sequentially. `"0 %"` starts with an empty drive. Less than 100 % displaces the
    /// preconditioning drive writes of a preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Ratio::ONE))]
    pub(super) fill: Option<Ratio>,
    /// Sequential drive writes. The fill counts as the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1 << 20), extend("x-default" = "1 when filled"))]
    pub(super) sequential_drive_writes: Option<u32>,
    /// Uniform random writes after that, in drive writes.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub(super) random_drive_writes: f64,
}
