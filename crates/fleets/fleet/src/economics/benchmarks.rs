//! Tables 5.2 and 5.3 of 002 as printed.

/// fio's measurements in one direction (002, table 5.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Sequential throughput with requests of 1 MB, in MB/s.
    pub mb_per_s: f64,
    /// Requests of 4 KB per second.
    pub iops: f64,
    /// Latency of requests of 4 KB, in microseconds.
    pub latency_us: f64,
}

impl Side {
    /// Requests in flight, by Little's law. They are about 4 for every drive, so that IOPS and latency of the table are one number in two forms.
    pub const fn outstanding(&self) -> f64 {
        self.iops * self.latency_us / 1e6
    }
}

/// A drive of table 5.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Benchmarked {
    /// Its letter in the table, A to D.
    pub brand: char,
    /// The kind of its cells, as in table 5.1.
    pub cells: &'static str,
    /// Its capacity in GB (table 5.1).
    pub gigabytes: f64,
    /// Writes.
    pub write: Side,
    /// Reads.
    pub read: Side,
}

const fn side(mb_per_s: f64, iops: f64, latency_us: f64) -> Side {
    Side { mb_per_s, iops, latency_us }
}

/// Table 5.2 of 002.
pub const BENCHMARKED: [Benchmarked; 4] = [
    Benchmarked {
        brand: 'A',
        cells: "eMLC",
        gigabytes: 240.0,
        write: side(247.0, 9663.0, 406.1),
        read: side(210.0, 4468.0, 896.9),
    },
    Benchmarked {
        brand: 'B',
        cells: "TLC",
        gigabytes: 480.0,
        write: side(250.0, 10400.0, 378.9),
        read: side(249.0, 5337.0, 763.4),
    },
    Benchmarked {
        brand: 'C',
        cells: "QLC",
        gigabytes: 480.0,
        write: side(191.0, 6853.0, 574.7),
        read: side(241.0, 2441.0, 1631.9),
    },
    Benchmarked {
        brand: 'D',
        cells: "eQLC",
        gigabytes: 1920.0,
        write: side(231.0, 8852.0, 446.3),
        read: side(192.0, 3338.0, 1195.1),
    },
];

/// A kind of drive of table 5.3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The kind, as in the table.
    pub kind: &'static str,
    /// Random throughput in MB/s.
    pub random_mb_per_s: f64,
    /// Reads a second.
    pub read_iops: f64,
    /// Price in dollars a GB.
    pub dollars_per_gb: f64,
}

/// Table 5.3 of 002.
pub const COMPARED: [Compared; 4] = [
    Compared { kind: "HDD", random_mb_per_s: 50.0, read_iops: 189.0, dollars_per_gb: 0.02 },
    Compared { kind: "eMLC", random_mb_per_s: 167.0, read_iops: 4468.0, dollars_per_gb: 0.67 },
    Compared { kind: "TLC", random_mb_per_s: 250.0, read_iops: 5337.0, dollars_per_gb: 0.2 },
    Compared { kind: "eQLC", random_mb_per_s: 186.0, read_iops: 2441.0, dollars_per_gb: 0.12 },
];

impl Compared {
    /// The brand of table 5.2 with the same read IOPS.
    pub fn brand(&self) -> Option<&'static Benchmarked> {
        BENCHMARKED.iter().find(|drive| drive.read.iops == self.read_iops)
    }
}
