//! Stand-ins for the eleven traces of the dissertation (000) Table 4, which are not available: writes with the published
//! footprint, mean size, hotness and sequentiality, on any drive.
//!
//! A request continues where the last one ended with the chance of the published sequentiality; otherwise it jumps. The
//! target of the jump depends on the trace's [`Spread`]. Most traces have a hot and a cold part. Two are finite uniform traces in a
//! loop, because uniform writes of their published amount have the published hotness by chance alone (the book's page
//! on stand-ins has the table). Footprints scale with the drive; request sizes do not.
//!
//! The addresses of the traces' data are not published, except that little is at the top of the address space, apart from
//! DAP-PS (§4.5.3). [`Layout`] has two assumptions for them.
//!
//! Seven of them also exist with their reads, by Table 4 of Kim et al., FAST 2019 (004): see [`TrafficStandin`].

mod source;

use wane_sim::{Stream, Streams};

use crate::{Mix, Op, Request, Source};

pub use source::StandinSource;

/// A published trace in five figures. Sizes are relative to a drive of 256 GiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standin {
    /// Its name in a scenario.
    pub name: &'static str,
    /// Address space that is written, in GiB on 256 GiB.
    pub footprint_gib: f64,
    /// Mean size of a write in KiB.
    pub write_kib: f64,
    /// Share of the writes that goes to the most written 1 - r of the footprint (Table 4's r/h).
    pub r: f64,
    /// Share of the writes that continue where the last one ended.
    pub sequential_share: f64,
    /// Part of the footprint at the top of the address space, in GiB on 256 GiB. This is our assumption.
    pub tail_gib: f64,
    /// How its writes are spread over the footprint.
    pub spread: Spread,
}

/// How a stand-in's writes are spread over its footprint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// A hot part, the first 1 - r of the footprint, takes a share r of the requests. Writes are uniform within each part and do not end.
    Mixture,
    /// Uniform writes of a finite trace, drawn once from the seed and repeated. By chance some pages are written more often than
    /// others, and the same ones in every loop.
    Looped {
        /// Pages that one loop writes for each page of the footprint.
        writes_per_page: f64,
    },
}

/// Where a stand-in's footprint lies in the address space. The traces' own addresses are not published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// From address 0 on, with a tail at the top: 0.5 GiB of 256 GiB, 17.5 GiB for `dap-ps`.
    #[default]
    Packed,
    /// In extents of the length of a mean sequential run, spread evenly over the address space.
    Scattered,
}

const fn standin(
    name: &'static str,
    footprint_gib: f64,
    write_kib: f64,
    r: f64,
    sequential_share: f64,
    tail_gib: f64,
) -> Standin {
    Standin { name, footprint_gib, write_kib, r, sequential_share, tail_gib, spread: Spread::Mixture }
}

/// The same trace as a loop of uniform writes.
const fn looped(standin: Standin, traffic: &TrafficStandin) -> Standin {
    let writes_per_page = traffic.write.accessed_gib / traffic.write.footprint_gib;
    Standin { spread: Spread::Looped { writes_per_page }, ..standin }
}

/// The same trace under another name with a hot and a cold part.
const fn mixture(standin: &Standin, name: &'static str) -> Standin {
    Standin { name, spread: Spread::Mixture, ..*standin }
}

/// Every stand-in, in the order of Table 4.
pub const STANDINS: [Standin; 11] = [
    standin("ycsb-a", 89.99, 50.48, 0.6469, 0.49, 0.5),
    standin("vdi", 255.99, 17.99, 0.6445, 0.14, 0.5),
    standin("wbs", 56.05, 27.82, 0.6034, 0.02, 0.5),
    standin("dtrs", 150.63, 31.85, 0.5420, 0.12, 0.5),
    standin("dap-ds", 0.17, 7.21, 0.7862, 0.03, 0.02),
    looped(standin("dap-ps", 36.06, 97.20, 0.5502, 0.16, 17.5), &TRAFFIC_STANDINS[1]),
    looped(standin("lm-tbe", 239.49, 61.90, 0.6029, 0.94, 0.5), &TRAFFIC_STANDINS[2]),
    standin("msn-cfs", 5.58, 12.92, 0.6928, 0.25, 0.5),
    standin("msn-befs", 31.42, 11.62, 0.7018, 0.03, 0.5),
    standin("rad-as", 4.53, 9.87, 0.7090, 0.45, 0.5),
    standin("rad-be", 14.73, 13.02, 0.6551, 0.33, 0.5),
];

/// Stand-ins with a hot and a cold part for the traces whose stand-in is a loop: the other interpretation of their hotness.
pub const MIXTURES: [Standin; 2] = [mixture(&STANDINS[5], "dap-ps-mixture"), mixture(&STANDINS[6], "lm-tbe-mixture")];

/// A trace of Kim et al., FAST 2019 (004), Table 4: reads and writes, each with its footprint, its amount and its hotness.
/// Sizes are relative to a logical capacity of 200 GiB.
///
/// The paper does not give the relative position of reads and writes: here both footprints begin at address 0, and in each the
/// hot fifth comes first. It does not give sizes and sequentiality either: both are those of the stand-in of the same trace's writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficStandin {
    /// Its name in a scenario.
    pub name: &'static str,
    /// The stand-in of the trace's writes, for what the paper leaves open.
    pub writes: &'static str,
    /// Hours that it was recorded.
    pub hours: f64,
    /// Its writes.
    pub write: Traffic,
    /// Its reads.
    pub read: Traffic,
}

/// The reads or the writes of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Address space that is accessed, in GiB on 200 GiB.
    pub footprint_gib: f64,
    /// Data transferred in all, in GiB on 200 GiB.
    pub accessed_gib: f64,
    /// Share of the data transferred that goes to the most accessed fifth of the footprint.
    pub hotness: f64,
}

const fn traffic(footprint_gib: f64, accessed_gib: f64, hotness: f64) -> Traffic {
    Traffic { footprint_gib, accessed_gib, hotness }
}

/// Every stand-in with reads, in the order of 004's Table 4.
pub const TRAFFIC_STANDINS: [TrafficStandin; 7] = [
    TrafficStandin {
        name: "dap-ds-traffic",
        writes: "dap-ds",
        hours: 23.5,
        write: traffic(0.2, 1.0, 0.778),
        read: traffic(3.5, 40.5, 0.353),
    },
    TrafficStandin {
        name: "dap-ps-traffic",
        writes: "dap-ps",
        hours: 23.5,
        write: traffic(35.1, 42.9, 0.346),
        read: traffic(35.1, 35.2, 0.203),
    },
    TrafficStandin {
        name: "lm-tbe-traffic",
        writes: "lm-tbe",
        hours: 23.0,
        write: traffic(192.7, 543.7, 0.344),
        read: traffic(195.5, 1760.0, 0.451),
    },
    TrafficStandin {
        name: "msn-befs-traffic",
        writes: "msn-befs",
        hours: 5.9,
        write: traffic(30.8, 102.3, 0.569),
        read: traffic(45.8, 193.7, 0.587),
    },
    TrafficStandin {
        name: "msn-cfs-traffic",
        writes: "msn-cfs",
        hours: 5.9,
        write: traffic(5.7, 14.0, 0.585),
        read: traffic(14.6, 27.0, 0.566),
    },
    TrafficStandin {
        name: "rad-as-traffic",
        writes: "rad-as",
        hours: 15.3,
        write: traffic(4.8, 18.7, 0.633),
        read: traffic(1.2, 2.4, 0.531),
    },
    TrafficStandin {
        name: "rad-be-traffic",
        writes: "rad-be",
        hours: 17.0,
        write: traffic(14.7, 53.3, 0.490),
        read: traffic(8.3, 97.0, 0.327),
    },
];

impl TrafficStandin {
    /// Mean size of a request in KiB, that of the trace's writes.
    pub fn request_kib(&self) -> f64 {
        find(self.writes).map_or(4.0, |writes| writes.write_kib)
    }

    /// Number of requests of the whole trace on a drive of 200 GiB.
    pub fn requests(&self) -> f64 {
        (self.read.accessed_gib + self.write.accessed_gib) * 1024.0 * 1024.0 / self.request_kib()
    }

    /// Share of the requests that read.
    pub fn read_share(&self) -> f64 {
        self.read.accessed_gib / (self.read.accessed_gib + self.write.accessed_gib)
    }
}

/// The logical capacity that 004's figures are relative to.
const TRAFFIC_GIB: f64 = 200.0;

/// Part of the footprint whose share of the accesses is the hotness of 004.
const HOT_PART: f64 = 0.2;

/// The stand-in with reads called `name`.
pub fn find_traffic(name: &str) -> Option<&'static TrafficStandin> {
    TRAFFIC_STANDINS.iter().find(|standin| standin.name == name)
}

/// Names of all stand-ins.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    let writes = STANDINS.iter().chain(&MIXTURES).map(|standin| standin.name);
    writes.chain(TRAFFIC_STANDINS.iter().map(|standin| standin.name))
}

/// Fewest pages of a drive with a hot and a cold part.
pub const PAGES_MIN: u32 = 2;

/// Capacity of the drive that the figures are relative to.
const DRIVE_GIB: f64 = 256.0;

/// The stand-in called `name`.
pub fn find(name: &str) -> Option<&'static Standin> {
    STANDINS.iter().chain(&MIXTURES).find(|standin| standin.name == name)
}

/// The streams of a stand-in with reads: for the kind of each request, for the reads and for the writes.
pub fn traffic_streams(streams: Streams, name: &str) -> [Stream; 3] {
    ["kinds", "reads", "writes"].map(|part| streams.stream(&format!("{name}.{part}")))
}

/// Makes a stand-in with reads on a drive of `logical` pages, at least [`PAGES_MIN`], of `page_bytes`; see [`traffic_streams`].
pub fn traffic_source(standin: &TrafficStandin, logical: u32, page_bytes: u64, streams: [Stream; 3]) -> Mix {
    let [kinds, reads, writes] = streams;
    let source =
        |op, stream| -> Box<dyn Source> { Box::new(StandinSource::traffic(standin, op, logical, page_bytes, stream)) };
    let read_share = standin.read_share();
    Mix::new(vec![(read_share, source(Op::Read, reads)), (1.0 - read_share, source(Op::Write, writes))], kinds)
}

/// The endless requests of [`traffic_source`], for a trace. They have no times.
pub fn traffic_requests(
    standin: &TrafficStandin,
    logical: u32,
    page_bytes: u64,
    streams: [Stream; 3],
) -> impl Iterator<Item = Request> + use<> {
    let [mut kinds, reads, writes] = streams;
    let mut reads = StandinSource::traffic(standin, Op::Read, logical, page_bytes, reads);
    let mut writes = StandinSource::traffic(standin, Op::Write, logical, page_bytes, writes);
    let read_share = standin.read_share();
    std::iter::from_fn(move || Iterator::next(if kinds.unit() < read_share { &mut reads } else { &mut writes }))
}
