//! The operations of a key-value store's clients.

use super::LsmError;

/// Which keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keys {
    /// All equally often.
    Uniform,
    /// By Zipf's law. The order of popularity is unrelated to the order of keys.
    Zipf {
        /// Theta, more than 0.
        exponent: f64,
    },
    /// Recent records: the record that was put k puts before the last one is read by Zipf's law over k. Puts are of new records.
    Latest {
        /// Theta, more than 0.
        exponent: f64,
    },
}

/// A mixture of operations. The rest of the shares is puts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operations {
    /// Share of lookups of a key.
    pub gets: f64,
    /// Share of scans.
    pub scans: f64,
    /// Share of lookups that are followed by a put of the same key.
    pub read_modify_writes: f64,
    /// Most records of a scan. The number is uniform from 1 to this.
    pub scan_records: u32,
    /// Which keys.
    pub keys: Keys,
}

/// YCSB's exponent of Zipf's law.
const YCSB_EXPONENT: f64 = 0.99;
/// Longest scan of YCSB's workload E.
const YCSB_SCAN: u32 = 100;

impl Operations {
    /// The names of YCSB's core workloads.
    pub const YCSB: [&'static str; 6] = ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"];

    /// The core workload of YCSB called `name`.
    pub fn ycsb(name: &str) -> Option<Self> {
        let zipf = Self {
            gets: 0.0,
            scans: 0.0,
            read_modify_writes: 0.0,
            scan_records: YCSB_SCAN,
            keys: Keys::Zipf { exponent: YCSB_EXPONENT },
        };
        Some(match name {
            "ycsb-a" => Self { gets: 0.5, ..zipf },
            "ycsb-b" => Self { gets: 0.95, ..zipf },
            "ycsb-c" => Self { gets: 1.0, ..zipf },
            "ycsb-d" => Self { gets: 0.95, keys: Keys::Latest { exponent: YCSB_EXPONENT }, ..zipf },
            "ycsb-e" => Self { scans: 0.95, ..zipf },
            "ycsb-f" => Self { gets: 0.5, read_modify_writes: 0.5, ..zipf },
            _ => return None,
        })
    }

    /// Share of operations that put a record.
    pub fn puts(&self) -> f64 {
        (1.0 - self.gets - self.scans).max(0.0)
    }

    pub(super) fn check(&self) -> Result<(), LsmError> {
        let sum = self.gets + self.scans + self.read_modify_writes;
        for (name, found) in [
            ("the share of gets", self.gets),
            ("the share of scans", self.scans),
            ("the share of read-modify-writes", self.read_modify_writes),
            ("the sum of the shares of operations", sum),
        ] {
            // Shares come from decimal text; their sum may be off by a rounding.
            if !(0.0..=1.0 + 1e-9).contains(&found) {
                return Err(LsmError::Share { name, found, allowed: "0 to 1 is allowed" });
            }
        }
        if self.scan_records == 0 {
            let (name, found) = ("the longest scan", self.scan_records);
            return Err(LsmError::Count { name, found, least: 1, most: u32::MAX });
        }
        match self.keys {
            Keys::Zipf { exponent } | Keys::Latest { exponent } if !(exponent > 0.0 && exponent <= 10.0) => {
                let (name, allowed) = ("Zipf's exponent", "more than 0 to 10 is allowed");
                Err(LsmError::Share { name, found: exponent, allowed })
            }
            _ => Ok(()),
        }
    }
}
