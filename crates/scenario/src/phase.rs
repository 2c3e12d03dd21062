//! Stretches of a run as plain data.

use toml::{Table, Value};
use wane_workload::Arrival;

use super::values::{flag, number};
use super::workload::Workload;

/// When a phase ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Until {
    /// Drive writes.
    pub drive_writes: Option<f64>,
    /// Requests.
    pub requests: Option<u64>,
    /// At the drive's death.
    pub end_of_life: bool,
}

/// One stretch of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Where its requests come from.
    pub workload: Workload,
    /// When its requests come, in a timed run.
    pub arrival: Arrival,
    /// When it ends.
    pub until: Until,
}

/// Reads `[until]`, whose values are checked one by one.
pub(super) fn until(table: &Table) -> Until {
    Until {
        drive_writes: table.get("drive-writes").and_then(number),
        requests: table.get("requests").and_then(Value::as_integer).and_then(|count| u64::try_from(count).ok()),
        end_of_life: flag(table, "end-of-life", false),
    }
}

impl Until {
    pub(super) fn to_table(self) -> Table {
        let mut table = Table::new();
        if let Some(drive_writes) = self.drive_writes {
            table.insert("drive-writes".to_owned(), Value::from(drive_writes));
        }
        if let Some(requests) = self.requests {
            table.insert("requests".to_owned(), Value::from(requests as i64));
        }
        table.insert("end-of-life".to_owned(), Value::from(self.end_of_life));
        table
    }
}
