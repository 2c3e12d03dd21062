//! ATA's device statistics (general purpose log 04h): the same on every drive that has them.

use crate::{Quantity as Q, Reading};

/// Page, offset, quantity, and its unit; 0 stands for logical sectors. ACS-4, section 9.5.
const TABLE: [(u64, u64, Q, f64); 12] = [
    (1, 0x08, Q::PowerCycles, 1.0),
    (1, 0x10, Q::PowerOnHours, 1.0),
    (1, 0x18, Q::HostWritten, 0.0),
    (1, 0x20, Q::HostWrites, 1.0),
    (1, 0x28, Q::HostRead, 0.0),
    (1, 0x30, Q::HostReads, 1.0),
    (3, 0x20, Q::Reallocated, 1.0),
    (4, 0x08, Q::MediaErrors, 1.0),
    (4, 0x10, Q::Resets, 1.0),
    (5, 0x08, Q::Temperature, 1.0),
    (6, 0x18, Q::LinkErrors, 1.0),
    (7, 0x08, Q::PercentageUsed, 1.0),
];

/// One statistic as reported.
pub(crate) struct Statistic {
    pub(crate) page: u64,
    pub(crate) offset: u64,
    pub(crate) value: Option<f64>,
}

impl Statistic {
    /// Its quantity, unit and name; `None` if it is not used.
    fn meaning(&self) -> Option<(Q, f64, String)> {
        let (page, offset, quantity, unit) =
            TABLE.iter().find(|(page, offset, ..)| (*page, *offset) == (self.page, self.offset))?;
        Some((*quantity, *unit, format!("device statistics, page {page:02x}h offset {offset:03x}h")))
    }

    /// Adds it to a reading. `sector_bytes`: bytes of a logical sector.
    pub(crate) fn note(&self, reading: &mut Reading, sector_bytes: f64) {
        let Some((quantity, unit, from)) = self.meaning() else { return };
        let unit = if unit == 0.0 { sector_bytes } else { unit };
        reading.know(quantity, self.value.map(|value| value * unit), &from);
    }

    /// Lists it as not understood.
    pub(crate) fn refuse(&self, reading: &mut Reading, shown: &str) {
        if let Some((quantity, _, from)) = self.meaning() {
            reading.refuse(quantity, format!("{from}: {shown}"));
        }
    }
}
