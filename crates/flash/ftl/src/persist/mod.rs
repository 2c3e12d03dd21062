//! What survives a power cut, and how the firmware ensures it.
//!
//! Flash and a little NVRAM survive. Flash holds data with their out-of-band data ([`oob`]) and the metadata area ([`area`]). NVRAM holds
//! the remap log ([`log`]), the lists of blocks, and what the drive acknowledges at once: capacity, mode, retired blocks. [`write`] keeps
//! them up to date, [`cut`] takes away everything else, [`recover`] rebuilds the firmware, and [`striped`] its stripes.
//!
//! An event is a change that persists: a page programmed, a block erased, NVRAM written. All cuts between the same two events are equal,
//! so a test that cuts before every event covers every possible cut.

pub(crate) mod area;
mod cut;
mod flight;
mod log;
mod oob;
mod recover;
mod striped;
mod write;

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::SuperblockId;

pub use area::{Summaries, metadata_blocks};
pub(crate) use cut::{Buffered, Capture};
pub use cut::{Event, PowerCut};
pub use flight::Fate;
pub(crate) use flight::Flight;
pub use log::REMAP_ENTRY_BYTES;
pub use recover::Recovery;
pub use striped::Protection;

use crate::config::FtlConfig;
use crate::engine::UNMAPPED;
use crate::policies::StreamId;
use crate::policies::recovery::RecoveryPolicy;
use crate::table::Table;
pub(crate) use area::Area;
use area::Record;
use log::RemapLog;
use oob::OutOfBand;

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct Persist {
    pub(crate) policy: Box<dyn RecoveryPolicy>,
    pub(crate) power_loss_protection: bool,
    /// Number of consecutive pages of a block that fill a wordline of each of its members; 1 if no pages share one.
    pub(crate) wordline: u32,
    pub(crate) oob: OutOfBand,
    pub(crate) area: Area,
    pub(crate) nvram: Nvram,
    /// Records that no journal page holds yet.
    pub(crate) journal: Vec<Pending>,
    /// By block: number of units that the controller has accepted for it. Those beyond the last programmed page lie in its buffer.
    pub(crate) accepted: Vec<u32>,
    /// By block: whether it belongs to the metadata area.
    pub(crate) in_area: Vec<bool>,
    /// Sequence number of the last summary.
    pub(crate) summed_up_at: u64,
}

/// Content of NVRAM, apart from what the firmware keeps in its own fields.
#[derive(Clone, Debug)]
pub(crate) struct Nvram {
    pub(crate) remaps: RemapLog,
    /// Blocks that were opened since the oldest summary, the oldest first.
    pub(crate) opened: VecDeque<SuperblockId>,
    /// Blocks that may hold something.
    pub(crate) used: Vec<bool>,
    /// By block: the stream that it was opened for.
    pub(crate) streams: Vec<Option<StreamId>>,
    /// Blocks that are being erased: one, and after a power cut also those that were.
    pub(crate) erasing: BTreeSet<SuperblockId>,
}

impl Nvram {
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.remaps.archive(archive)?;
        archive.field("nvram.opened", &mut self.opened)?;
        archive.field("nvram.used", &mut self.used)?;
        archive.field("nvram.streams", &mut self.streams)?;
        archive.field("nvram.erasing", &mut self.erasing)
    }
}

/// A record that waits for a journal page.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) record: Record,
    /// Whether it is part of a REMAP, whose command lies in NVRAM until the record is on flash.
    pub(crate) is_in_nvram: bool,
}

impl Persist {
    /// The state of a new drive.
    pub(crate) fn new(shape: &Shape, config: &FtlConfig) -> std::io::Result<Self> {
        let (policy, power_loss_protection) = (config.recovery.clone(), config.power_loss_protection);
        let kind = policy.summaries();
        let blocks = shape.blocks as usize;
        let mut area = Area::new(kind, shape.logical_units, shape.page_bytes)?;
        if !power_loss_protection {
            area.keep_content(Table::filled(shape.logical_units as usize, UNMAPPED)?);
        }
        Ok(Self {
            policy,
            power_loss_protection,
            wordline: shape.wordline,
            oob: OutOfBand::new(shape.blocks, shape.pages_per_block, shape.width)?,
            area,
            nvram: Nvram {
                remaps: RemapLog::new(config.remap_log.0),
                opened: VecDeque::new(),
                used: vec![false; blocks],
                streams: vec![None; blocks],
                erasing: BTreeSet::new(),
            },
            journal: Vec::new(),
            accepted: vec![0; blocks],
            in_area: vec![false; blocks],
            summed_up_at: 0,
        })
    }

    /// Writes everything but the policy to a file, or reads it back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("recovery.power-loss-protection", &self.power_loss_protection)?;
        archive.same("recovery.wordline", &self.wordline)?;
        self.oob.archive(archive)?;
        self.area.archive(archive)?;
        self.nvram.archive(archive)?;
        archive.field("recovery.journal", &mut self.journal)?;
        archive.fixed("recovery.accepted", &mut self.accepted)?;
        archive.field("recovery.in-area", &mut self.in_area)?;
        archive.field("recovery.summed-up", &mut self.summed_up_at)
    }

    /// Whether a block belongs to the metadata area, or waits to be erased again after a power cut.
    pub(crate) fn takes(&self, block: SuperblockId) -> bool {
        self.in_area[block.index()] || self.nvram.erasing.contains(&block)
    }
}

/// What the persistent part needs to know about a drive.
pub(crate) struct Shape {
    pub(crate) blocks: u32,
    pub(crate) pages_per_block: u32,
    /// Number of flash blocks in a block.
    pub(crate) width: u32,
    /// See [`Persist::wordline`].
    pub(crate) wordline: u32,
    pub(crate) logical_units: u32,
    pub(crate) page_bytes: u32,
}
