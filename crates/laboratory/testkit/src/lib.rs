//! Development only: a medium that enforces the rules of flash, one that fails on demand, the suites that every device must pass,
//! and helpers that tests of several crates share.
//!
//! The product must not use it. Tests of any crate may.

mod by_hint;
pub mod conformance;
pub mod crash;
mod failing;
pub mod plain;
pub mod queueing;
pub mod tails;
mod volatile;

pub use by_hint::ByHint;
pub use failing::FailingMedia;
pub use volatile::Volatile;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use wane_nand::{Barrier, FlashOp, Media, OpKind, PageRead, Purpose, ReadOutcome, Task};
use wane_units::{BlockId, Geometry, Lpn, PeCycles, Ppn};

/// Keys of `[drive]` in a scenario whose drive constantly collects garbage and whose runs take milliseconds. Each test adds dies,
/// planes and blocks.
pub const SMALL_DRIVE: &str = "\
channels = 2
pages-per-block = 16
page-size = '8 KiB'
mapping-unit = '4 KiB'
spare-factor = '25 %'
";

/// Contents of a mapping unit: the data of one write of one logical unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Content {
    /// The logical unit.
    pub unit: Lpn,
    /// Number of the write. The test chooses how it counts.
    pub version: u64,
}

/// Reports that the running test is skipped, and what it lacked; the caller then returns. The report bypasses the test runner's
/// capture, and is also added as a line to the file that `WANE_SKIPPED` names, in which `make test` counts them.
pub fn skipped(lacks: &str) {
    // The runner names each test's thread after the test.
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // In one write, because tests run in parallel.
    let _ = std::io::stderr().write_all(format!("skipped: {test}: {lacks}\n").as_bytes());
    if let Some(path) = std::env::var_os("WANE_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| file.write_all(format!("  {test}: {lacks}\n").as_bytes()));
        written.expect("the file of skipped tests can be written: otherwise their count would be too low");
    }
}

/// Flash that panics when a rule of flash is broken: pages are programmed in order, once between two erases, and only programmed
/// pages are read. It keeps the contents of its units, so that a test can check whether each logical unit still maps to its
/// newest version ([`wane_nand::Media::tag`]).
#[derive(Clone, Debug)]
pub struct StrictMedia {
    geometry: Geometry,
    programmed: Vec<u32>,
    erase_counts: Vec<u32>,
    /// Contents of each programmed page that had any, by mapping unit.
    contents: BTreeMap<Ppn, Vec<Option<Content>>>,
    /// Pages that were being programmed when power failed.
    torn: BTreeSet<Ppn>,
    /// Reads served.
    pub reads: u64,
    /// Operations since this was emptied; `None`: they are not recorded.
    pub ops: Option<Vec<FlashOp>>,
}

/// What a block of [`StrictMedia`] held before an erase.
#[derive(Clone, Debug)]
pub struct StrictPast {
    programmed: u32,
    erase_count: u32,
    contents: BTreeMap<Ppn, Vec<Option<Content>>>,
    torn: BTreeSet<Ppn>,
}

impl StrictMedia {
    /// New flash.
    pub fn new(geometry: Geometry) -> Self {
        let blocks = geometry.blocks() as usize;
        Self {
            geometry,
            programmed: vec![0; blocks],
            erase_counts: vec![0; blocks],
            contents: BTreeMap::new(),
            torn: BTreeSet::new(),
            reads: 0,
            ops: None,
        }
    }

    fn note(&mut self, kind: OpKind, task: Task, block: BlockId, page: u32, bytes: u32) {
        if let Some(ops) = &mut self.ops {
            ops.push(FlashOp { kind, task, block, page, bytes, rereads: 0 });
        }
    }

    fn pages_of(&self, block: BlockId) -> std::ops::Range<Ppn> {
        let first = self.geometry.page(block, 0);
        first..Ppn(first.0 + self.geometry.pages_per_block())
    }

    /// Whether a power cut tore a page.
    pub fn is_torn(&self, block: BlockId, page: u32) -> bool {
        self.torn.contains(&self.geometry.page(block, page))
    }

    /// Pages of a block that are programmed.
    pub fn programmed(&self, block: BlockId) -> u32 {
        self.programmed[block.index()]
    }
}

impl Media for StrictMedia {
    const DETAILED: bool = true;

    /// `None`: padding, parity, or data without contents from the test.
    type Tag = Option<Content>;

    type Past = StrictPast;

    fn past(&self, block: BlockId) -> StrictPast {
        let pages = self.pages_of(block);
        StrictPast {
            programmed: self.programmed[block.index()],
            erase_count: self.erase_counts[block.index()],
            contents: self.contents.range(pages.clone()).map(|(page, contents)| (*page, contents.clone())).collect(),
            torn: self.torn.range(pages).copied().collect(),
        }
    }

    fn unerase(&mut self, block: BlockId, past: StrictPast) {
        assert_eq!(self.programmed(block), 0, "what was programmed after an erase is undone before it");
        self.programmed[block.index()] = past.programmed;
        self.erase_counts[block.index()] = past.erase_count;
        self.contents.extend(past.contents);
        self.torn.extend(past.torn);
    }

    fn unprogram(&mut self, block: BlockId, page: u32) {
        assert_eq!(self.programmed(block), page + 1, "the last page of block {block} is undone first");
        self.programmed[block.index()] = page;
        self.contents.remove(&self.geometry.page(block, page));
    }

    fn barrier(&mut self, barrier: Barrier) {
        self.note(OpKind::Barrier(barrier), Task::Host, BlockId(0), 0, 0);
    }

    fn read_instead(&mut self, block: BlockId, page: u32, bytes: u32, _rereads: u32) {
        assert!(page < self.programmed(block), "a page that goes around another one was programmed: {page} of {block}");
        self.note(OpKind::Read(Purpose::Instead), Task::Host, block, page, bytes);
    }

    fn read_buffered(&mut self, bytes: u32, task: Task) {
        self.note(OpKind::Buffered, task, BlockId(0), 0, bytes);
    }

    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn program(&mut self, block: BlockId, first: u32, count: u32, task: Task, tags: &[Self::Tag]) {
        let bytes = self.geometry.page_size().0 as u32;
        (first..first + count).for_each(|page| self.note(OpKind::Program, task, block, page, bytes));
        let programmed = &mut self.programmed[block.index()];
        assert!(
            count == 0 || first == *programmed,
            "block {block}: page {first} is programmed after {programmed} pages"
        );
        *programmed += count;
        assert!(*programmed <= self.geometry.pages_per_block(), "block {block} has {programmed} pages programmed");
        let units_per_page = tags.len() / count.max(1) as usize;
        assert_eq!(tags.len(), units_per_page * count as usize, "every page has equally many units");
        for (page, contents) in (first..).zip(tags.chunks(units_per_page.max(1))) {
            self.contents.insert(self.geometry.page(block, page), contents.to_vec());
        }
    }

    fn tag(&self, block: BlockId, page: u32, unit: u32) -> Self::Tag {
        assert!(page < self.programmed(block), "page {page} of block {block} holds nothing");
        let contents = self.contents.get(&self.geometry.page(block, page));
        let is_torn = self.torn.contains(&self.geometry.page(block, page));
        assert!(!is_torn || contents.is_some(), "page {page} of block {block} is torn");
        contents?.get(unit as usize).copied().flatten()
    }

    fn read(&mut self, read: PageRead) -> ReadOutcome {
        let (block, index) = (read.block, read.page);
        assert!(
            index < self.programmed[block.index()],
            "page {index} of block {block} is read before it is programmed"
        );
        self.reads += 1;
        self.note(OpKind::Read(read.purpose), read.task, block, index, read.bytes);
        match self.torn.contains(&self.geometry.page(block, index)) {
            true => ReadOutcome::Uncorrectable,
            false => ReadOutcome::Corrected { rereads: 0 },
        }
    }

    fn tear_page(&mut self, block: BlockId, page: u32) {
        let programmed = &mut self.programmed[block.index()];
        assert!(
            page <= *programmed,
            "page {page} of block {block} is torn, which is not the next one after {programmed}"
        );
        *programmed = (*programmed).max(page + 1);
        // The old contents of pages on the same wordline stay known: parity may restore them.
        let page = self.geometry.page(block, page);
        self.torn.insert(page);
    }

    fn tear_block(&mut self, block: BlockId) {
        let pages = self.geometry.pages_per_block();
        self.programmed[block.index()] = pages;
        for page in (0..pages).map(|page| self.geometry.page(block, page)) {
            self.contents.remove(&page);
            self.torn.insert(page);
        }
    }

    fn erase(&mut self, block: BlockId, task: Task) -> PeCycles {
        self.note(OpKind::Erase, task, block, 0, 0);
        self.programmed[block.index()] = 0;
        for page in 0..self.geometry.pages_per_block() {
            self.contents.remove(&self.geometry.page(block, page));
            self.torn.remove(&self.geometry.page(block, page));
        }
        self.erase_counts[block.index()] += 1;
        PeCycles(self.erase_counts[block.index()])
    }

    fn erase_count(&self, block: BlockId) -> PeCycles {
        PeCycles(self.erase_counts[block.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_nand::Purpose;
    use wane_units::Bytes;

    fn page(page: u32) -> PageRead {
        PageRead {
            block: BlockId(page / 4),
            page: page % 4,
            bytes: 4096,
            task: Task::Host,
            purpose: Purpose::Serve,
            rereads_max: None,
        }
    }

    fn media() -> StrictMedia {
        StrictMedia::new(Geometry::flat(2, 4, Bytes(4096)).expect("2 blocks fit"))
    }

    #[test]
    fn pages_in_order_and_erased_between_are_fine() {
        let mut media = media();
        media.program(BlockId(1), 0, 3, Task::Host, &[]);
        media.program(BlockId(1), 3, 1, Task::Host, &[]);
        media.read(page(7));
        media.erase(BlockId(1), Task::Host);
        media.program(BlockId(1), 0, 1, Task::Host, &[]);
        assert_eq!((media.programmed(BlockId(1)), media.reads), (1, 1));
    }

    #[test]
    #[should_panic(expected = "is programmed after")]
    fn a_page_is_programmed_once_an_erase() {
        let mut media = media();
        media.program(BlockId(0), 0, 2, Task::Host, &[]);
        media.program(BlockId(0), 1, 1, Task::Host, &[]);
    }

    #[test]
    #[should_panic(expected = "before it is programmed")]
    fn an_erased_page_cannot_be_read() {
        media().read(page(0));
    }

    #[test]
    fn units_hold_what_was_programmed_until_the_erase() {
        let mut media = media();
        let content = |unit, version| Some(Content { unit: Lpn(unit), version });
        media.program(BlockId(1), 0, 2, Task::Host, &[content(7, 1), None, content(8, 1), content(7, 2)]);
        let held = |media: &StrictMedia, page, unit| media.tag(BlockId(1), page, unit);
        assert_eq!(
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(page, unit)| held(&media, page, unit)),
            [content(7, 1), None, content(8, 1), content(7, 2)]
        );
        media.erase(BlockId(1), Task::Host);
        media.program(BlockId(1), 0, 1, Task::Host, &[]);
        assert_eq!(held(&media, 0, 0), None);
    }
}
