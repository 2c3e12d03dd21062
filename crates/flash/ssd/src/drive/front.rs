//! What the block device keeps of requests.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wane_blockdev::{Notice, RequestId};
use wane_units::{Lpn, Sectors, SimTime};

use super::SECTOR_BYTES;
use crate::Breakdown;
use crate::pending::{Done, Pending};

/// What the block device keeps of requests.
#[derive(Clone)]
pub(crate) struct Front {
    pub(crate) now: SimTime,
    pub(crate) next_id: u64,
    pub(crate) unit: Sectors,
    pub(crate) sector: Sectors,
    pub(crate) capacity: Sectors,
    /// The mapped limit, below the capacity; `None` if that is the limit.
    pub(crate) limit: Option<Sectors>,
    /// Units that hold data, where they were counted and all changes since are known.
    pub(crate) mapped: Option<u64>,
    pub(crate) pending: Pending,
    pub(crate) done: Done,
    pub(crate) notices: Vec<Notice>,
    /// The capacity that the drive asked for last.
    pub(crate) wanted: Option<Sectors>,
    pub(crate) breakdowns: VecDeque<(RequestId, Breakdown)>,
    pub(crate) commands: Commands,
    pub(crate) scratch: Scratch,
}

/// Memory that requests use one after the other. Between them it holds nothing that matters.
#[derive(Clone, Default)]
pub(crate) struct Scratch {
    pub(crate) units: Vec<Lpn>,
    /// Of the contents of the units, for a drive that keeps bytes.
    pub(crate) handles: Vec<u32>,
    /// A unit as it should be, and as it is read.
    pub(crate) pristine: Vec<u8>,
    pub(crate) seen: Vec<u8>,
}

/// Numbers of read and write requests, and the units that these were counted as.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Commands {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) units_read: u64,
    pub(crate) units_written: u64,
}

impl Front {
    pub(super) fn new(unit_bytes: u32, logical_units: u32) -> Self {
        let unit = Sectors(u64::from(unit_bytes) / SECTOR_BYTES);
        Self {
            now: SimTime::ZERO,
            next_id: 0,
            unit,
            sector: if unit.0.is_multiple_of(8) { Sectors(8) } else { Sectors(1) },
            capacity: Sectors(unit.0 * u64::from(logical_units)),
            limit: None,
            mapped: None,
            pending: Pending::default(),
            done: Done::default(),
            notices: Vec::new(),
            wanted: None,
            breakdowns: VecDeque::new(),
            commands: Commands::default(),
            scratch: Scratch::default(),
        }
    }
}
