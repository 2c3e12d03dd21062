//! Stand-ins for the eleven traces of the dissertation (000) Table 4, which cannot be had: writes with the published
//! footprint, mean size, hotness and sequentiality, on any drive.
//!
//! A request goes on where the last one ended with the chance of the published sequentiality, and otherwise jumps: to
//! the hot part with chance r, else to the cold part, uniform within. Runs stay in their part. Footprints scale with
//! the drive, request sizes do not. Where the traces' data lay is not published, but that little stands at the top of
//! the address space, except in DAP-PS (§4.5.3): a stand-in fills the space from 0 on and keeps a tail at the very top.
//!
//! Seven of them come a second time with their reads, after Table 4 of Kim et al., FAST 2019 (004): see [`TrafficStandin`].

use wane_sim::{Stream, Streams};

use crate::{Batch, Mix, Op, Progress, Request, Source, SourceError};

/// A published trace in five figures. Sizes are relative to a drive of 256 GiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standin {
    /// Its name in a scenario.
    pub name: &'static str,
    /// Address space that is written, in GiB of 256.
    pub footprint_gib: f64,
    /// Mean size of a write in KiB.
    pub write_kib: f64,
    /// Share of the writes that goes to the hot part; the hot part is the rest of 1 of the footprint.
    pub r: f64,
    /// Share of the writes that go on where the last one ended.
    pub sequential_share: f64,
    /// Part of the footprint that lies at the top of the address space, in GiB of 256: our assumption.
    pub tail_gib: f64,
}

const fn standin(
    name: &'static str,
    footprint_gib: f64,
    write_kib: f64,
    r: f64,
    sequential_share: f64,
    tail_gib: f64,
) -> Standin {
    Standin { name, footprint_gib, write_kib, r, sequential_share, tail_gib }
}

/// Every stand-in, in the order of Table 4.
pub const STANDINS: [Standin; 11] = [
    standin("ycsb-a", 89.99, 50.48, 0.6469, 0.49, 0.5),
    standin("vdi", 255.99, 17.99, 0.6445, 0.14, 0.5),
    standin("wbs", 56.05, 27.82, 0.6034, 0.02, 0.5),
    standin("dtrs", 150.63, 31.85, 0.5420, 0.12, 0.5),
    standin("dap-ds", 0.17, 7.21, 0.7862, 0.03, 0.02),
    standin("dap-ps", 36.06, 97.20, 0.5502, 0.16, 17.5),
    standin("lm-tbe", 239.49, 61.90, 0.6029, 0.94, 0.5),
    standin("msn-cfs", 5.58, 12.92, 0.6928, 0.25, 0.5),
    standin("msn-befs", 31.42, 11.62, 0.7018, 0.03, 0.5),
    standin("rad-as", 4.53, 9.87, 0.7090, 0.45, 0.5),
    standin("rad-be", 14.73, 13.02, 0.6551, 0.33, 0.5),
];

/// A trace of Kim et al., FAST 2019 (004), Table 4: reads and writes, each with its footprint, its amount and its hotness.
/// Sizes are relative to a logical capacity of 200 GiB.
///
/// The paper does not say how reads and writes lie to each other: both footprints begin at address 0 here, and in each the
/// hot fifth comes first. Nor does it give sizes and sequentiality: both come from the stand-in of the same trace's writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficStandin {
    /// Its name in a scenario.
    pub name: &'static str,
    /// The trace's writes, for what the paper leaves open.
    pub writes: &'static str,
    /// How long it was recorded.
    pub hours: f64,
    /// What is written.
    pub write: Traffic,
    /// What is read.
    pub read: Traffic,
}

/// The reads or the writes of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Address space that is accessed, in GiB of 200.
    pub footprint_gib: f64,
    /// Data transferred in all, in GiB at 200 GiB.
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
    /// Mean size of a request in KiB, as the trace's writes have it.
    pub fn request_kib(&self) -> f64 {
        find(self.writes).map_or(4.0, |writes| writes.write_kib)
    }

    /// Requests of the whole trace on a drive of 200 GiB.
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

/// Part of the footprint whose share of the accesses 004 calls hotness.
const HOT_PART: f64 = 0.2;

/// The stand-in with reads called `name`.
pub fn find_traffic(name: &str) -> Option<&'static TrafficStandin> {
    TRAFFIC_STANDINS.iter().find(|standin| standin.name == name)
}

/// Names of all stand-ins.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    let writes = STANDINS.iter().map(|standin| standin.name);
    writes.chain(TRAFFIC_STANDINS.iter().map(|standin| standin.name))
}

/// The fewest pages of a drive that has a hot and a cold part.
pub const PAGES_MIN: u32 = 2;

/// The drive that the figures are relative to.
const DRIVE_GIB: f64 = 256.0;

/// The stand-in called `name`.
pub fn find(name: &str) -> Option<&'static Standin> {
    STANDINS.iter().find(|standin| standin.name == name)
}

/// A stand-in on a drive. As a [`Source`] it never ends; as an iterator it gives requests.
#[derive(Clone, Debug)]
pub struct StandinSource {
    stream: Stream,
    op: Op,
    page_bytes: u64,
    /// Pages of the footprint, the first `hot` of them hot, the first `bottom` of them from address 0 on.
    footprint: u32,
    hot: u32,
    bottom: u32,
    logical: u32,
    r: f64,
    sequential_share: f64,
    /// ln of the chance that a request goes on for another page.
    log_more: f64,
    /// Where the last request ended: the next sequential one starts there.
    cursor: u32,
    /// First and end of the stretch that the run stays in.
    stretch: (u32, u32),
    /// The rest of a request that did not fit a batch.
    rest: Option<(u32, u32)>,
}

impl StandinSource {
    /// The stand-in on a drive of `logical` pages of `page_bytes`. From 65,536 pages on it measures back to its
    /// published figures; on smaller drives some footprints are shorter than a run.
    ///
    /// # Panics
    /// The drive has less than [`PAGES_MIN`] pages; whoever builds one asks first.
    pub fn new(standin: &Standin, logical: u32, page_bytes: u64, stream: Stream) -> Self {
        assert!(logical >= PAGES_MIN, "a stand-in needs at least {PAGES_MIN} pages");
        let scale = f64::from(logical) / DRIVE_GIB;
        let footprint = ((standin.footprint_gib * scale).round() as u32).clamp(2, logical);
        let tail = ((standin.tail_gib * scale).round() as u32).clamp(1, footprint / 2);
        let hot = ((f64::from(footprint) * (1.0 - standin.r)).round() as u32).clamp(1, footprint - tail);
        let mean_pages = (standin.write_kib * 1024.0 / page_bytes as f64).max(1.0);
        Self {
            stream,
            op: Op::Write,
            page_bytes,
            footprint,
            hot,
            bottom: footprint - tail,
            logical,
            r: standin.r,
            sequential_share: standin.sequential_share,
            log_more: if mean_pages > 1.0 { libm::log(1.0 - 1.0 / mean_pages) } else { f64::NEG_INFINITY },
            cursor: 0,
            stretch: (0, hot),
            rest: None,
        }
    }

    /// The reads or the writes of a stand-in with both, on a drive of `logical` pages of `page_bytes`.
    fn traffic(standin: &TrafficStandin, op: Op, logical: u32, page_bytes: u64, stream: Stream) -> Self {
        assert!(logical >= PAGES_MIN, "a stand-in needs at least {PAGES_MIN} pages");
        let traffic = if op == Op::Read { &standin.read } else { &standin.write };
        let pages = (traffic.footprint_gib / TRAFFIC_GIB * f64::from(logical)).round() as u32;
        let footprint = pages.clamp(2, logical);
        let hot = ((f64::from(footprint) * HOT_PART).round() as u32).clamp(1, footprint - 1);
        let mean_pages = (standin.request_kib() * 1024.0 / page_bytes as f64).max(1.0);
        Self {
            stream,
            op,
            page_bytes,
            footprint,
            hot,
            bottom: footprint,
            logical,
            r: traffic.hotness,
            sequential_share: find(standin.writes).map_or(0.0, |writes| writes.sequential_share),
            log_more: if mean_pages > 1.0 { libm::log(1.0 - 1.0 / mean_pages) } else { f64::NEG_INFINITY },
            cursor: 0,
            stretch: (0, hot),
            rest: None,
        }
    }

    /// Pages that the stand-in touches.
    pub fn footprint_pages(&self) -> u32 {
        self.footprint
    }

    /// A geometric number of pages, at least 1.
    fn size(&mut self) -> u32 {
        let draw = 1.0 - self.stream.unit();
        let more = libm::floor(libm::log(draw) / self.log_more);
        1 + more.clamp(0.0, 1e6) as u32
    }

    /// The next request as an index into the footprint and a count.
    fn draw(&mut self) -> (u32, u32) {
        let size = self.size();
        let start = if self.stream.chance(self.sequential_share) {
            let (first, end) = self.stretch;
            // A run that reaches the end of its stretch starts over there, so that the parts keep their shares.
            if self.cursor.saturating_add(size) <= end { self.cursor } else { first }
        } else {
            self.jump()
        };
        self.stretch = self.stretch_of(start);
        let (first, end) = self.stretch;
        let size = size.min(end - first);
        let start = start.min(end - size);
        self.cursor = start + size;
        (start, size)
    }

    /// A page of the hot part with chance r, else of the cold one. Never where the last request ended: in a part of
    /// few pages that would add to the sequential share.
    fn jump(&mut self) -> u32 {
        let hot = self.stream.chance(self.r);
        let (first, end) = if hot { (0, self.hot) } else { (self.hot, self.footprint) };
        let barred = end - first > 1 && (first..end).contains(&self.cursor);
        let start = first + self.stream.below(u64::from(end - first - u32::from(barred))) as u32;
        start + u32::from(barred && start >= self.cursor)
    }

    /// First and end of the contiguous stretch of one part that holds `index`. The hot part, less than half of the
    /// footprint, lies at the bottom; the cold one fills the rest of the bottom and the tail.
    fn stretch_of(&self, index: u32) -> (u32, u32) {
        match index {
            _ if index < self.hot => (0, self.hot),
            _ if index < self.bottom => (self.hot, self.bottom),
            _ => (self.bottom, self.footprint),
        }
    }

    fn page(&self, index: u32) -> u32 {
        if index < self.bottom { index } else { self.logical - self.footprint + index }
    }
}

impl Source for StandinSource {
    fn next(&mut self, batch: &mut Batch, pages_max: usize, requests_max: u64) -> Result<Progress, SourceError> {
        batch.pages.clear();
        batch.op = self.op;
        batch.requests = 0;
        while batch.pages.len() < pages_max && batch.requests < requests_max {
            let (start, pages) = self.rest.take().unwrap_or_else(|| self.draw());
            let fits = pages.min((pages_max - batch.pages.len()) as u32);
            let first = self.page(start);
            batch.pages.extend(first..first + fits);
            if fits < pages {
                self.rest = Some((start + fits, pages - fits));
            } else {
                batch.requests += 1;
            }
        }
        Ok(Progress::More)
    }

    fn never_writes(&self) -> bool {
        self.op != Op::Write
    }

    fn try_clone(&self) -> Result<Box<dyn Source>, SourceError> {
        Ok(Box::new(self.clone()))
    }
}

impl Iterator for StandinSource {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let (start, pages) = self.draw();
        let bytes = |pages: u32| u64::from(pages) * self.page_bytes;
        Some(Request { at: 0, op: self.op, offset: bytes(self.page(start)), length: bytes(pages) })
    }
}

/// The streams that draw the kind of each request of a stand-in with reads, the reads and the writes.
pub fn traffic_streams(streams: Streams, name: &str) -> [Stream; 3] {
    ["kinds", "reads", "writes"].map(|part| streams.stream(&format!("{name}.{part}")))
}

/// A stand-in with reads on a drive of `logical` pages of `page_bytes`, at least [`PAGES_MIN`]; see [`traffic_streams`].
pub fn traffic_source(standin: &TrafficStandin, logical: u32, page_bytes: u64, streams: [Stream; 3]) -> Mix {
    let [kinds, reads, writes] = streams;
    let source =
        |op, stream| -> Box<dyn Source> { Box::new(StandinSource::traffic(standin, op, logical, page_bytes, stream)) };
    let read_share = standin.read_share();
    Mix::new(vec![(read_share, source(Op::Read, reads)), (1.0 - read_share, source(Op::Write, writes))], kinds)
}

/// The requests of [`traffic_source`] without end, for a trace. They have no times.
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

#[cfg(test)]
mod tests {
    use super::*;
    use wane_sim::Streams;

    /// Footprint in pages, mean pages, r at h = 1 - r, sequential share, as Table 4 of the dissertation (000) means them.
    fn measure(source: &mut StandinSource, logical: u32, requests: usize) -> (u32, f64, f64, f64) {
        let mut counts = vec![0u32; logical as usize];
        let (mut pages, mut sequential, mut end) = (0u64, 0u32, u64::MAX);
        for _ in 0..requests {
            let request = Iterator::next(source).unwrap();
            sequential += u32::from(request.offset == end);
            end = request.offset + request.length;
            for page in request.offset / 4096..end / 4096 {
                counts[page as usize] += 1;
                pages += 1;
            }
        }
        let mut touched: Vec<u32> = counts.into_iter().filter(|count| *count > 0).collect();
        touched.sort_unstable_by(|a, b| b.cmp(a));
        let (mut cumulative, mut r) = (0u64, 1.0);
        for (rank, count) in touched.iter().enumerate() {
            cumulative += u64::from(*count);
            r = cumulative as f64 / pages as f64;
            if r >= 1.0 - (rank + 1) as f64 / touched.len() as f64 {
                break;
            }
        }
        (touched.len() as u32, pages as f64 / requests as f64, r, f64::from(sequential) / requests as f64)
    }

    #[test]
    fn stand_ins_measure_back_to_what_was_published() {
        for standin in &STANDINS {
            let logical = 1 << 16;
            let mut source = StandinSource::new(standin, logical, 4096, Streams::new(1).stream(standin.name));
            let wanted_pages = standin.footprint_gib / 256.0 * f64::from(logical);
            let size = standin.write_kib / 4.0;
            // Each page is written 400 times, so that chance hardly blurs its count.
            let requests = (400.0 * wanted_pages / size) as usize;
            let (footprint, pages, r, sequential) = measure(&mut source, logical, requests);
            let name = standin.name;
            assert!(
                (f64::from(footprint) / wanted_pages - 1.0).abs() < 0.02,
                "{name}: footprint {footprint} {wanted_pages}"
            );
            assert!((pages / size - 1.0).abs() < 0.03, "{name}: size {pages} {size}");
            assert!((r - standin.r).abs() < 0.02, "{name}: r {r} {}", standin.r);
            assert!((sequential - standin.sequential_share).abs() < 0.02, "{name}: sequential {sequential}");
        }
    }

    /// Footprint in pages, share of the data on its most accessed fifth, and GiB moved, of a stand-in's reads or writes.
    fn measure_traffic(standin: &TrafficStandin, op: Op, logical: u32) -> (u32, f64, f64) {
        let mut source = traffic_source(standin, logical, 4096, traffic_streams(Streams::new(1), "t"));
        let mut counts = vec![0u32; logical as usize];
        let mut batch = Batch::default();
        // The whole trace, with as many accesses of a page as it has.
        let requests =
            (standin.requests() * f64::from(logical) * 4096.0 / (TRAFFIC_GIB * 1024.0 * 1024.0 * 1024.0)) as u64;
        let mut served = 0;
        while served < requests {
            source.next(&mut batch, 1 << 20, 1).unwrap();
            served += batch.requests;
            if batch.op == op {
                batch.pages.iter().for_each(|page| counts[*page as usize] += 1);
            }
        }
        let pages = counts.iter().map(|count| u64::from(*count)).sum::<u64>() as f64;
        let touched = counts.iter().filter(|count| **count > 0).count();
        let traffic = if op == Op::Read { standin.read } else { standin.write };
        let footprint = traffic.footprint_gib / TRAFFIC_GIB * f64::from(logical);
        let hot: u32 = counts[..(footprint / 5.0).round() as usize].iter().sum();
        (touched as u32, f64::from(hot) / pages, pages / f64::from(logical) * TRAFFIC_GIB)
    }

    #[test]
    fn stand_ins_with_reads_measure_back_to_what_was_published() {
        let logical = 1 << 20;
        for (standin, op) in TRAFFIC_STANDINS.iter().flat_map(|standin| [(standin, Op::Read), (standin, Op::Write)]) {
            let traffic = if op == Op::Read { standin.read } else { standin.write };
            let (touched, hotness, gib) = measure_traffic(standin, op, logical);
            let name = format!("{} {op:?}", standin.name);
            let footprint = traffic.footprint_gib / TRAFFIC_GIB * f64::from(logical);
            // What is accessed about once leaves pages out: exp(-accesses) of them.
            let each = |share: f64, part: f64| {
                part * libm::exp(-traffic.accessed_gib * share / (traffic.footprint_gib * part))
            };
            let missed = each(traffic.hotness, 0.2) + each(1.0 - traffic.hotness, 0.8);
            assert!(
                (f64::from(touched) / footprint - 1.0 + missed).abs() < 0.1,
                "{name}: {touched} {footprint} {missed}"
            );
            assert!((hotness - traffic.hotness).abs() < 0.05, "{name}: {hotness} {}", traffic.hotness);
            assert!((gib / traffic.accessed_gib - 1.0).abs() < 0.1, "{name}: {gib} {}", traffic.accessed_gib);
        }
    }

    #[test]
    fn footprints_fill_the_bottom_and_keep_a_tail_at_the_top() {
        let logical = 1u32 << 16;
        let pages = |gib: f64| (gib / 256.0 * f64::from(logical)).round() as u32;
        for standin in &STANDINS {
            let mut source = StandinSource::new(standin, logical, 4096, Streams::new(1).stream(standin.name));
            let (footprint, tail) = (source.footprint_pages(), pages(standin.tail_gib));
            let mut touched = vec![false; logical as usize];
            for _ in 0..1_000_000 {
                let request = Iterator::next(&mut source).unwrap();
                let first = (request.offset / 4096) as usize;
                touched[first..first + (request.length / 4096) as usize].fill(true);
            }
            let wanted: Vec<bool> =
                (0..logical).map(|page| page < footprint - tail || page >= logical - tail).collect();
            assert_eq!(touched, wanted, "{}", standin.name);
        }
    }

    #[test]
    fn the_smallest_drives_hold_every_stand_in() {
        for (logical, standin) in
            [2, 3, 7, 100].into_iter().flat_map(|logical| STANDINS.iter().map(move |s| (logical, s)))
        {
            let source = StandinSource::new(standin, logical, 4096, Streams::new(1).stream(standin.name));
            for request in source.take(1000) {
                assert!(
                    request.length > 0 && request.offset + request.length <= u64::from(logical) * 4096,
                    "{logical}"
                );
            }
        }
    }

    #[test]
    fn a_source_writes_what_its_requests_say() {
        let standin = find("rad-be").unwrap();
        let make = || StandinSource::new(standin, 10_000, 4096, Streams::new(3).stream("workload"));
        let wanted: Vec<u32> = make()
            .take(500)
            .flat_map(|request| (request.offset / 4096) as u32..((request.offset + request.length) / 4096) as u32)
            .collect();
        let (mut source, mut batch, mut found) = (make(), Batch::default(), Vec::new());
        while found.len() < wanted.len() {
            Source::next(&mut source, &mut batch, 7, u64::MAX).unwrap();
            found.extend_from_slice(&batch.pages);
        }
        assert_eq!(found[..wanted.len()], wanted);
        assert!(wanted.iter().all(|page| *page < 10_000));
    }
}
