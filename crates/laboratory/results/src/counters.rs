//! Write amplification, computed from the counters.

use serde::{Deserialize, Serialize};
pub use wane_units::Counters;

/// Bytes programmed per byte that the host wrote, by cause. Null if the host wrote nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriteAmplification {
    /// (host + garbage collection) / host: starts at 1.
    pub gc: Option<f64>,
    /// Wear leveling / host: starts at 0.
    pub wear_leveling: Option<f64>,
    /// All causes / host, including padding and the file system's relocations.
    pub total: Option<f64>,
}

/// Computes the write amplification from `counters` of units of `unit_bytes`.
pub fn write_amplification(counters: &Counters, unit_bytes: u64) -> WriteAmplification {
    // Without units that were written in part the host's bytes are whole units, and `unit_bytes` does not matter.
    let programmed = counters.programmed_host;
    // An array's members program copies and parities for its host, too.
    let written =
        if counters.host_units_written == 0 { programmed } else { programmed.min(counters.host_units_written) };
    let host = match counters.bytes_written_around {
        0 => written as f64,
        around => written as f64 - around as f64 / unit_bytes.max(1) as f64,
    };
    let per_host = |units: u64| (host > 0.0).then(|| units as f64 / host);
    WriteAmplification {
        gc: per_host(written + counters.programmed_gc),
        wear_leveling: per_host(counters.programmed_wear_leveling),
        total: per_host(counters.programmed_total()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_amplification_counts_each_cause_once() {
        let none = WriteAmplification::default();
        let table = [
            // host, gc, wear leveling, file system, padding -> gc, wear leveling, total
            ([0, 0, 0, 0, 0], none),
            ([0, 5, 0, 0, 0], none),
            ([10, 0, 0, 0, 0], some(1.0, 0.0, 1.0)),
            ([10, 5, 0, 0, 0], some(1.5, 0.0, 1.5)),
            ([10, 5, 2, 1, 4], some(1.5, 0.2, 2.2)),
        ];
        for (programmed, expected) in table {
            let counters = Counters {
                programmed_host: programmed[0],
                programmed_gc: programmed[1],
                programmed_wear_leveling: programmed[2],
                programmed_file_system: programmed[3],
                programmed_padding: programmed[4],
                ..Counters::default()
            };
            assert_eq!(write_amplification(&counters, 4096), expected, "{programmed:?}");
        }
    }

    #[test]
    fn copies_count_as_what_is_written_for_the_host() {
        let counters = Counters {
            host_units_written: 10,
            programmed_host: 20,
            programmed_gc: 10,
            programmed_wear_leveling: 2,
            ..Counters::default()
        };
        assert_eq!(write_amplification(&counters, 4096), some(2.0, 0.2, 3.2));
    }

    fn some(gc: f64, wear_leveling: f64, total: f64) -> WriteAmplification {
        WriteAmplification { gc: Some(gc), wear_leveling: Some(wear_leveling), total: Some(total) }
    }
}
