//! Stand-ins for the eleven traces of the dissertation (000) Table 4, which cannot be had: writes with the published
//! footprint, mean size, hotness and sequentiality, on any drive.
//!
//! A request goes on where the last one ended with the chance of the published sequentiality, and otherwise jumps. Where
//! it jumps to depends on the trace's [`Spread`]: most have a hot and a cold part; two are finite uniform traces in a
//! loop, because uniform writes of their published amount have the published hotness by chance alone (the book's page
//! on stand-ins has the table). Footprints scale with the drive, request sizes do not.
//!
//! Where the traces' data lay is not published, but that little stands at the top of the address space, except in
//! DAP-PS (§4.5.3). [`Layout`] has two assumptions for it.
//!
//! Seven of them come a second time with their reads, after Table 4 of Kim et al., FAST 2019 (004): see [`TrafficStandin`].

use std::sync::Arc;

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
    /// Share of the writes that goes to the most written 1 - r of the footprint (Table 4's r/h).
    pub r: f64,
    /// Share of the writes that go on where the last one ended.
    pub sequential_share: f64,
    /// Part of the footprint that lies at the top of the address space, in GiB of 256: our assumption.
    pub tail_gib: f64,
    /// How its writes are spread over the footprint.
    pub spread: Spread,
}

/// How a stand-in's writes are spread over its footprint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// A hot part, the first 1 - r of the footprint, takes a share r of the requests; uniform within each part, without end.
    Mixture,
    /// Uniform writes of a finite trace, drawn once from the seed and repeated: some pages are written more often than
    /// others by chance, and the same ones in every loop.
    Looped {
        /// Pages that one loop writes for each page of the footprint.
        writes_per_page: f64,
    },
}

/// Where a stand-in's footprint lies in the address space. The traces' own addresses are not published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// From address 0 on, with a tail at the top: 0.5 GiB of 256, 17.5 GiB for `dap-ps`.
    #[default]
    Packed,
    /// In extents as long as a mean sequential run, spread evenly over the whole address space.
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

/// The traces whose stand-in is a loop, with a hot and a cold part instead: the other reading of their hotness.
pub const MIXTURES: [Standin; 2] = [mixture(&STANDINS[5], "dap-ps-mixture"), mixture(&STANDINS[6], "lm-tbe-mixture")];

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
    let writes = STANDINS.iter().chain(&MIXTURES).map(|standin| standin.name);
    writes.chain(TRAFFIC_STANDINS.iter().map(|standin| standin.name))
}

/// The fewest pages of a drive that has a hot and a cold part.
pub const PAGES_MIN: u32 = 2;

/// The drive that the figures are relative to.
const DRIVE_GIB: f64 = 256.0;

/// The stand-in called `name`.
pub fn find(name: &str) -> Option<&'static Standin> {
    STANDINS.iter().chain(&MIXTURES).find(|standin| standin.name == name)
}

/// A stand-in on a drive. As a [`Source`] it never ends; as an iterator it gives requests.
#[derive(Clone, Debug)]
pub struct StandinSource {
    stream: Stream,
    op: Op,
    page_bytes: u64,
    /// Pages of the footprint, the first `bottom` of them from address 0 on.
    footprint: u32,
    bottom: u32,
    logical: u32,
    draws: Draws,
    /// How a scattered footprint lies; `None`: packed.
    extents: Option<Extents>,
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

/// How places are drawn.
#[derive(Clone, Debug)]
enum Draws {
    /// From the footprint, whose first `hot` pages take a share `r` of the jumps.
    Mixture { hot: u32, r: f64 },
    /// From a finite trace in a loop.
    Looped(Loop),
}

/// A finite uniform trace. It is drawn anew in every loop, from the same stream, so that it need not be kept.
///
/// Uniform writes of a finite amount leave pages of their range out. The footprint is what they touch; its pages lie
/// beside each other, in the order of the range, so that a run in the range is one in the footprint.
#[derive(Clone, Debug)]
struct Loop {
    /// Pages that are drawn from, the first `split` of them at the bottom of the address space.
    range: u32,
    split: u32,
    /// Pages of one loop, and how many of them are left.
    pages: u64,
    left: u64,
    /// The stream at the start of a loop.
    first: Stream,
    touched: Arc<Touched>,
}

/// Which pages of a range a loop touches.
#[derive(Debug, Default)]
struct Touched {
    /// One bit a page.
    words: Vec<u64>,
    /// Pages touched before each word.
    before: Vec<u32>,
}

impl Touched {
    fn nothing(range: u32) -> Self {
        Self { words: vec![0; range as usize / 64 + 1], before: Vec::new() }
    }

    fn mark(&mut self, start: u32, pages: u32) {
        for page in start..start + pages {
            self.words[page as usize / 64] |= 1 << (page % 64);
        }
    }

    /// Makes [`Self::rank`] answer for what was marked.
    fn count(&mut self) {
        let mut sum = 0;
        let before = |word: &u64| {
            let before = sum;
            sum += word.count_ones();
            before
        };
        self.before = self.words.iter().map(before).collect();
    }

    /// Pages touched below `page`.
    fn rank(&self, page: u32) -> u32 {
        let (word, bit) = (page as usize / 64, page % 64);
        self.before[word] + (self.words[word] & ((1 << bit) - 1)).count_ones()
    }
}

/// A footprint in extents of equal length, with equal gaps between them.
#[derive(Clone, Copy, Debug)]
struct Extents {
    pages: u32,
    /// Gaps between extents, one less than there are extents.
    gaps: u32,
    /// Pages of the address space outside the footprint.
    free: u32,
}

impl Extents {
    fn new(footprint: u32, logical: u32, pages: u32) -> Self {
        Self { pages, gaps: footprint.div_ceil(pages) - 1, free: logical - footprint }
    }

    /// The address of a page of the footprint: its extent follows that share of the free space.
    fn address(self, index: u32) -> u32 {
        let gaps_before = u64::from(index / self.pages);
        index + (u64::from(self.free) * gaps_before).checked_div(u64::from(self.gaps)).unwrap_or(0) as u32
    }
}

/// The share of a range's pages that uniform writes leave out if they write `writes_per_page` (above 1) pages for each
/// page that they touch: exp(-k), where k, the writes a page of the range, solves k / (1 - exp(-k)) = `writes_per_page`.
fn left_out(writes_per_page: f64) -> f64 {
    // The right side's slope is below 1 everywhere, so that the iteration converges.
    let mut each = writes_per_page;
    for _ in 0..200 {
        each = writes_per_page * (1.0 - libm::exp(-each));
    }
    libm::exp(-each)
}

impl StandinSource {
    /// The stand-in, packed, on a drive of `logical` pages of `page_bytes`. From 65,536 pages on it measures back to its
    /// published figures; on smaller drives some footprints are shorter than a run.
    ///
    /// # Panics
    /// The drive has less than [`PAGES_MIN`] pages; whoever builds one asks first.
    pub fn new(standin: &Standin, logical: u32, page_bytes: u64, stream: Stream) -> Self {
        let scale = f64::from(logical) / DRIVE_GIB;
        let footprint = (standin.footprint_gib * scale).round() as u32;
        let mean_pages = (standin.write_kib * 1024.0 / page_bytes as f64).max(1.0);
        let mut source = Self::unspread(Op::Write, footprint, logical, page_bytes, mean_pages, stream);
        source.sequential_share = standin.sequential_share;
        let tail = ((standin.tail_gib * scale).round() as u32).clamp(1, source.footprint / 2);
        match standin.spread {
            Spread::Mixture => {
                let hot = (f64::from(source.footprint) * (1.0 - standin.r)).round() as u32;
                source.mix(hot.clamp(1, source.footprint - tail), standin.r);
                source.bottom = source.footprint - tail;
            }
            Spread::Looped { writes_per_page } => source.repeat(writes_per_page, tail),
        }
        source
    }

    /// The stand-in with another layout.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn laid_out(standin: &Standin, layout: Layout, logical: u32, page_bytes: u64, stream: Stream) -> Self {
        let mut source = Self::new(standin, logical, page_bytes, stream);
        if layout == Layout::Scattered {
            let run_pages = standin.write_kib * 1024.0 / page_bytes as f64 / (1.0 - standin.sequential_share);
            source.extents = Some(Extents::new(source.footprint, logical, run_pages.round().max(1.0) as u32));
        }
        source
    }

    /// The reads or the writes of a stand-in with both, on a drive of `logical` pages of `page_bytes`.
    fn traffic(standin: &TrafficStandin, op: Op, logical: u32, page_bytes: u64, stream: Stream) -> Self {
        let traffic = if op == Op::Read { &standin.read } else { &standin.write };
        let footprint = (traffic.footprint_gib / TRAFFIC_GIB * f64::from(logical)).round() as u32;
        let mean_pages = (standin.request_kib() * 1024.0 / page_bytes as f64).max(1.0);
        let mut source = Self::unspread(op, footprint, logical, page_bytes, mean_pages, stream);
        source.sequential_share = find(standin.writes).map_or(0.0, |writes| writes.sequential_share);
        let hot = (f64::from(source.footprint) * HOT_PART).round() as u32;
        source.mix(hot.clamp(1, source.footprint - 1), traffic.hotness);
        source
    }

    /// Jumps without a run that all go to the one part that there is, the whole footprint.
    fn unspread(op: Op, footprint: u32, logical: u32, page_bytes: u64, mean_pages: f64, stream: Stream) -> Self {
        assert!(logical >= PAGES_MIN, "a stand-in needs at least {PAGES_MIN} pages");
        let footprint = footprint.clamp(2, logical);
        Self {
            stream,
            op,
            page_bytes,
            footprint,
            bottom: footprint,
            logical,
            draws: Draws::Mixture { hot: footprint, r: 1.0 },
            extents: None,
            sequential_share: 0.0,
            log_more: if mean_pages > 1.0 { libm::log(1.0 - 1.0 / mean_pages) } else { f64::NEG_INFINITY },
            cursor: 0,
            stretch: (0, footprint),
            rest: None,
        }
    }

    fn mix(&mut self, hot: u32, r: f64) {
        self.draws = Draws::Mixture { hot, r };
        self.stretch = (0, hot);
    }

    /// Becomes a loop of so many writes for each page of the footprint, about `tail` of which lie at the top.
    fn repeat(&mut self, writes_per_page: f64, tail: u32) {
        let wanted = f64::from(self.footprint);
        let pages = ((writes_per_page * wanted) as u64).max(1);
        // The drive may have less than the range that leaves the published footprint: 1.3 % less for LM-TBE.
        let range = ((wanted / (1.0 - left_out(writes_per_page))).round() as u32).clamp(2, self.logical);
        let split = range - ((f64::from(tail) / wanted * f64::from(range)) as u32).clamp(1, range / 2);
        let first = self.stream.clone();
        self.draws =
            Draws::Looped(Loop { range, split, pages, left: pages, first: first.clone(), touched: Arc::default() });
        self.stretch = (0, split);
        let mut touched = Touched::nothing(range);
        let mut drawn = 0;
        while drawn < pages {
            let (start, size) = self.place();
            touched.mark(start, size);
            drawn += u64::from(size);
        }
        touched.count();
        (self.footprint, self.bottom) = (touched.rank(range), touched.rank(split));
        (self.stream, self.cursor, self.stretch) = (first.clone(), 0, (0, split));
        self.draws = Draws::Looped(Loop { range, split, pages, left: pages, first, touched: Arc::new(touched) });
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
        let Draws::Looped(turn) = &mut self.draws else { return self.place() };
        if turn.left == 0 {
            turn.left = turn.pages;
            (self.stream, self.cursor, self.stretch) = (turn.first.clone(), 0, (0, turn.split));
        }
        let (start, size) = self.place();
        let Draws::Looped(turn) = &mut self.draws else { unreachable!("a loop stays one") };
        turn.left = turn.left.saturating_sub(u64::from(size));
        (turn.touched.rank(start), size)
    }

    /// The next request, in the pages that are drawn from.
    fn place(&mut self) -> (u32, u32) {
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

    /// A page of the hot part with chance r, else of the cold one, or any page of a loop's range. Never where the last
    /// request ended: in a part of few pages that would add to the sequential share.
    fn jump(&mut self) -> u32 {
        let (first, end) = match self.draws {
            Draws::Mixture { hot, r } => {
                if self.stream.chance(r) {
                    (0, hot)
                } else {
                    (hot, self.footprint)
                }
            }
            Draws::Looped(Loop { range, .. }) => (0, range),
        };
        let barred = end - first > 1 && (first..end).contains(&self.cursor);
        let start = first + self.stream.below(u64::from(end - first - u32::from(barred))) as u32;
        start + u32::from(barred && start >= self.cursor)
    }

    /// First and end of the contiguous stretch of one part that holds `index`. The hot part, less than half of the
    /// footprint, lies at the bottom; the cold one fills the rest of the bottom and the tail.
    fn stretch_of(&self, index: u32) -> (u32, u32) {
        match self.draws {
            Draws::Mixture { hot, .. } if index < hot => (0, hot),
            Draws::Mixture { hot, .. } if index < self.bottom => (hot, self.bottom),
            Draws::Mixture { .. } => (self.bottom, self.footprint),
            Draws::Looped(Loop { split, .. }) if index < split => (0, split),
            Draws::Looped(Loop { range, split, .. }) => (split, range),
        }
    }

    /// The address of a page of the footprint.
    fn page(&self, index: u32) -> u32 {
        match self.extents {
            Some(extents) => extents.address(index),
            None if index < self.bottom => index,
            None => self.logical - self.footprint + index,
        }
    }

    /// How many pages of the footprint from `index` on certainly lie beside each other, for a request that starts there.
    fn contiguous_from(&self, index: u32) -> u32 {
        self.extents.map_or(u32::MAX, |extents| extents.pages - index % extents.pages)
    }

    /// The addresses of `count` pages of the footprint from `start` on, all of one request.
    fn put(&self, pages: &mut Vec<u32>, start: u32, count: u32) {
        if self.extents.is_some() {
            pages.extend((start..start + count).map(|index| self.page(index)));
        } else {
            let first = self.page(start);
            pages.extend(first..first + count);
        }
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
            self.put(&mut batch.pages, start, fits);
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
        let (start, pages) = self.rest.take().unwrap_or_else(|| self.draw());
        let fits = pages.min(self.contiguous_from(start));
        if fits < pages {
            self.rest = Some((start + fits, pages - fits));
        }
        let bytes = |pages: u32| u64::from(pages) * self.page_bytes;
        let pages = fits;
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
        let touched = counts.iter().filter(|count| **count > 0).count();
        let requests = requests as f64;
        (touched as u32, pages as f64 / requests, hotness(&counts).0, f64::from(sequential) / requests)
    }

    /// Shares of the writes that the most written h = 1 - r of the touched pages receive, and the most written fifth.
    fn hotness(counts: &[u32]) -> (f64, f64) {
        let mut touched: Vec<u32> = counts.iter().copied().filter(|count| *count > 0).collect();
        touched.sort_unstable_by(|a, b| b.cmp(a));
        let pages: u64 = touched.iter().map(|count| u64::from(*count)).sum();
        let share =
            |ranks: usize| touched[..ranks].iter().map(|count| u64::from(*count)).sum::<u64>() as f64 / pages as f64;
        let (mut cumulative, mut ranks) = (0u64, 0);
        while (cumulative as f64 / pages as f64) < 1.0 - ranks as f64 / touched.len() as f64 {
            cumulative += u64::from(touched[ranks]);
            ranks += 1;
        }
        (cumulative as f64 / pages as f64, share(touched.len() / 5))
    }

    #[test]
    fn stand_ins_measure_back_to_what_was_published() {
        for standin in STANDINS.iter().chain(&MIXTURES) {
            // A loop is drawn once, so that chance blurs it on a small drive.
            let (logical, writes) = match standin.spread {
                Spread::Mixture => (1 << 16, 400.0),
                Spread::Looped { writes_per_page } => (1 << 20, writes_per_page),
            };
            let mut source = StandinSource::new(standin, logical, 4096, Streams::new(1).stream(standin.name));
            let wanted_pages = standin.footprint_gib / 256.0 * f64::from(logical);
            let size = standin.write_kib / 4.0;
            // A page of a mixture is written 400 times, so that chance hardly blurs its count.
            let requests = (writes * wanted_pages / size) as usize;
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
            // What a loop touches is drawn, and so is how much of it lies at the top.
            let bottom = touched.iter().position(|touched| !touched).unwrap_or(touched.len()) as u32;
            let free = logical - footprint;
            let wanted: Vec<bool> = (0..logical).map(|page| page < bottom || page >= bottom + free).collect();
            assert_eq!(touched, wanted, "{}", standin.name);
            let exact = standin.spread == Spread::Mixture;
            let off = if exact { 0.0 } else { 0.02 * f64::from(footprint) };
            let top = footprint - bottom;
            assert!(f64::from(top.abs_diff(tail)) <= off, "{}: {top} pages at the top, wanted {tail}", standin.name);
        }
    }

    /// A uniform run over the footprint of `of`, with its sizes and runs and as long as its published trace.
    fn uniform(of: &Standin, traffic: &TrafficStandin, logical: u32) -> (f64, f64) {
        let standin = looped(*of, traffic);
        let mut source = StandinSource::new(&standin, logical, 4096, Streams::new(1).stream(standin.name));
        let pages = (f64::from(logical) * of.footprint_gib / 256.0 * traffic.write.accessed_gib
            / traffic.write.footprint_gib) as u64;
        let mut counts = vec![0u32; logical as usize];
        let mut written = 0;
        while written < pages {
            let request = Iterator::next(&mut source).unwrap();
            (request.offset / 4096..(request.offset + request.length) / 4096)
                .for_each(|page| counts[page as usize] += 1);
            written += request.length / 4096;
        }
        hotness(&counts)
    }

    /// The table of the book's page on stand-ins.
    #[test]
    fn uniform_writes_have_the_published_hotness_of_two_traces() {
        // (trace, r and share of the most written fifth: uniform writes of the published amount, published)
        let table = [
            ("dap-ds", (0.586, 0.330), (0.7862, 0.778)),
            ("dap-ps", (0.550, 0.345), (0.5502, 0.346)),
            ("lm-tbe", (0.602, 0.359), (0.6029, 0.344)),
            ("msn-befs", (0.602, 0.355), (0.7018, 0.569)),
            ("msn-cfs", (0.608, 0.373), (0.6928, 0.585)),
            ("rad-as", (0.594, 0.347), (0.7090, 0.633)),
            ("rad-be", (0.596, 0.348), (0.6551, 0.490)),
        ];
        for (traffic, (name, ours, published)) in TRAFFIC_STANDINS.iter().zip(table) {
            let standin = find(name).unwrap();
            assert_eq!((traffic.writes, standin.r, traffic.write.hotness), (name, published.0, published.1));
            let logical = if standin.footprint_gib > 100.0 { 1 << 22 } else { 1 << 24 };
            let found = uniform(standin, traffic, logical);
            assert!((found.0 - ours.0).abs() < 0.004 && (found.1 - ours.1).abs() < 0.004, "{name}: {found:?} {ours:?}");
            let by_chance = (found.0 - published.0).abs() < 0.005;
            assert_eq!(by_chance, standin.spread != Spread::Mixture, "{name}: {found:?} {published:?}");
        }
    }

    /// The r at which the most written 1 - r of the touched pages receive a share r of uniform writes, of which a page
    /// receives `each` on average. Counts are Poisson's.
    fn poisson_r(each: f64) -> f64 {
        let mut shares = vec![libm::exp(-each)];
        for count in 1..100 {
            shares.push(shares[count - 1] * each / count as f64);
        }
        let (touched, mut pages, mut writes) = (1.0 - shares[0], 0.0, 0.0);
        for (count, share) in shares.iter().enumerate().skip(1).rev() {
            let (more_pages, more_writes) = (share / touched, count as f64 * share / each);
            let missing = 1.0 - pages - writes;
            if more_pages + more_writes >= missing {
                return writes + more_writes * missing / (more_pages + more_writes);
            }
            (pages, writes) = (pages + more_pages, writes + more_writes);
        }
        unreachable!("all pages receive all writes")
    }

    #[test]
    fn no_amount_of_uniform_writes_is_as_hot_as_seven_of_the_traces() {
        let highest = (1..2000).map(|hundredths| poisson_r(f64::from(hundredths) / 100.0)).fold(0.0, f64::max);
        assert!((highest - 0.6104).abs() < 1e-4, "{highest}");
        let below: Vec<&str> =
            STANDINS.iter().filter(|standin| standin.r < highest).map(|standin| standin.name).collect();
        assert_eq!(below, ["wbs", "dtrs", "dap-ps", "lm-tbe"]);
    }

    #[test]
    fn a_loop_repeats_itself() {
        for name in ["dap-ps", "lm-tbe"] {
            let standin = find(name).unwrap();
            let source = StandinSource::new(standin, 1 << 14, 4096, Streams::new(5).stream(name));
            let Draws::Looped(turn) = &source.draws else { panic!("{name} is a loop") };
            let pages = turn.pages;
            let mut loops: Vec<Vec<Request>> = vec![Vec::new()];
            let mut written = 0;
            for request in source.take(20_000) {
                if written >= pages {
                    loops.push(Vec::new());
                    written = 0;
                }
                written += request.length / 4096;
                loops.last_mut().unwrap().push(request);
            }
            let whole = loops.len() - 1;
            assert!(whole >= 2, "{name}: {whole} loops");
            assert!(loops[1..whole].iter().all(|later| *later == loops[0]), "{name}");
        }
    }

    #[test]
    fn a_scattered_stand_in_writes_the_same_pages_elsewhere() {
        let logical = 1u32 << 16;
        for standin in &STANDINS {
            let make =
                |layout| StandinSource::laid_out(standin, layout, logical, 4096, Streams::new(1).stream(standin.name));
            let mut first_of = vec![u32::MAX; logical as usize];
            let (mut packed, mut scattered) = (make(Layout::Packed), make(Layout::Scattered));
            let (mut one, mut other) = (Batch::default(), Batch::default());
            for _ in 0..100 {
                Source::next(&mut packed, &mut one, 1 << 12, u64::MAX).unwrap();
                Source::next(&mut scattered, &mut other, 1 << 12, u64::MAX).unwrap();
                for (page, elsewhere) in one.pages.iter().zip(&other.pages) {
                    let known = &mut first_of[*page as usize];
                    assert!(*known == u32::MAX || *known == *elsewhere, "{}: page {page}", standin.name);
                    *known = *elsewhere;
                }
            }
            // Spread evenly: half of the footprint lies in each half of the drive.
            let mut elsewhere: Vec<u32> = first_of.into_iter().filter(|page| *page != u32::MAX).collect();
            elsewhere.sort_unstable();
            let pages = elsewhere.len();
            elsewhere.dedup();
            assert_eq!(elsewhere.len(), pages, "{}: two pages became one", standin.name);
            assert!(elsewhere.last().is_some_and(|last| *last < logical), "{}", standin.name);
            if pages > 1000 {
                let low = elsewhere.partition_point(|page| *page < logical / 2) as f64 / pages as f64;
                assert!((low - 0.5).abs() < 0.05, "{}: {low} in the lower half", standin.name);
            }
        }
    }

    #[test]
    fn requests_of_a_scattered_stand_in_are_its_pages() {
        let standin = find("dap-ps").unwrap();
        let make = || {
            let stream = Streams::new(3).stream("workload");
            StandinSource::laid_out(standin, Layout::Scattered, 10_000, 4096, stream)
        };
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
    }

    #[test]
    fn the_smallest_drives_hold_every_stand_in() {
        let standins = || STANDINS.iter().chain(&MIXTURES);
        let layouts = [Layout::Packed, Layout::Scattered];
        for (logical, standin, layout) in [2, 3, 7, 100]
            .into_iter()
            .flat_map(|logical| standins().flat_map(move |s| layouts.map(|layout| (logical, s, layout))))
        {
            let stream = Streams::new(1).stream(standin.name);
            let source = StandinSource::laid_out(standin, layout, logical, 4096, stream);
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
