//! wane's own log page CAh: what the host requires of a capacity-variant drive, and what that cost.

use crate::page::Guid;
use crate::{HealthRecord, LogError};

/// The GUID that distinguishes this page from the CAh pages of vendors.
pub const REQUIREMENT_GUID: Guid = Guid(0x77A1_E5C4_1D0B_4E6F_9B52_C6A9_40D3_5E2A);

/// Version of the page's layout in this file.
const LOG_PAGE_VERSION: u16 = 1;

/// Re-reads that are not limited.
const UNLIMITED: u32 = u32::MAX;

log_page! {
    /// Requirement (CAh): a page of wane. NVMe tells the read recovery level by a feature (12h) and not in a log; here the level is a number of
    /// re-reads (001, section 3.3).
    RequirementLog {
        /// Most re-reads of a host read; all ones: as many as error correction allows. Blocks that need more retire.
        rereads_max: u32 = 0..4,
        /// Blocks that left service since the factory.
        blocks_retired: u32 = 4..8,
        /// Bytes exported when new.
        capacity_initial: u64 = 8..16,
        /// Bytes exported now.
        capacity: u64 = 16..24,
        /// Of this layout.
        log_page_version: u16 = 494..496,
        /// The GUID that distinguishes the page from a vendor's.
        log_page_guid: Guid = 496..512,
    }
}

impl RequirementLog {
    /// The page of a drive with this health record.
    pub fn of(record: &HealthRecord) -> Self {
        Self {
            rereads_max: record.rereads_max.unwrap_or(UNLIMITED),
            blocks_retired: record.blocks_bad_grown,
            capacity_initial: record.capacity_initial_bytes,
            capacity: record.capacity_bytes,
            log_page_version: LOG_PAGE_VERSION,
            log_page_guid: REQUIREMENT_GUID,
        }
    }

    /// Decodes the page. Of later versions the fields known here are read.
    ///
    /// # Errors
    /// The number of bytes is not that of a page, or the page is another's.
    pub fn decode(bytes: &[u8]) -> Result<Self, LogError> {
        let log = Self::read(bytes)?;
        if log.log_page_guid != REQUIREMENT_GUID {
            return Err(LogError::Foreign { found: log.log_page_guid, want: REQUIREMENT_GUID });
        }
        Ok(log)
    }
}
