//! A film of a drive at work: what each page holds, step by step, which blocks are collected, and what they had in common.
//!
//! For students of garbage collection. It watches a run from outside and changes nothing in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_ftl::BlockState;
use wane_results::Counters;
use wane_scenario::Scenario;
use wane_ssd::Drive;
use wane_units::{Lpn, SuperblockId};
use wane_workload::SourceError;

use crate::run::{Budget, Progress, Run, Watch};

/// Most flash pages (mapping units) of a drive that is filmed.
pub const PAGES_MAX: u64 = 1 << 16;

/// Units written between two looks at whether preconditioning is over.
const PRECONDITION_UNITS: u64 = 16;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Page {
    /// Nothing since the erase of its block.
    Free = 0,
    /// Current data.
    Valid = 1,
    /// Data that were replaced or trimmed.
    Invalid = 2,
}

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its state.
    pub state: BlockState,
    /// Its erases.
    pub erases: u32,
}

/// A block that was collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The block.
    pub block: u32,
    /// Its valid pages.
    pub valid: u32,
    /// Number of closed blocks with fewer valid pages, and of all closed blocks: of its die, where each die collects for itself.
    pub fewer: u32,
    /// See `fewer`.
    pub closed: u32,
    /// Host writes since it was closed, and number of closed blocks that had been closed before it.
    pub closed_since: u64,
    /// See `closed_since`.
    pub older: u32,
    /// Its erases before.
    pub erases: u32,
    /// Whether the block was taken by wear leveling or scrubbing instead.
    pub is_other: bool,
}

/// A step: some host writes, and what they made the drive do.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Pages that the host wrote since the film began.
    pub written: u64,
    /// Pages that the host wrote, and that were moved, in this step.
    pub written_now: u64,
    /// See `written_now`.
    pub moved_now: u64,
    /// Pages programmed for each page of the host, since the film began.
    pub amplification: f64,
    /// Free blocks.
    pub free: u32,
    /// Blocks that were collected in this step.
    pub victims: Vec<Victim>,
    /// Pages that changed: number in the drive, and what they hold now.
    pub pages: Vec<(u32, Page)>,
    /// Blocks that changed: number, and what they are now.
    pub blocks: Vec<(u32, Block)>,
}

/// A film.
#[derive(Clone, Debug)]
pub struct Film {
    /// Pages of a block. Page i of block b has the number b times this plus i.
    pub pages_per_block: u32,
    /// What each page holds at the beginning.
    pub pages: Vec<Page>,
    /// What each block is at the beginning.
    pub blocks: Vec<Block>,
    /// The steps.
    pub frames: Vec<Frame>,
}

/// The drive as the film saw it last.
struct Seen {
    pages: Vec<Page>,
    blocks: Vec<Block>,
    counters: Counters,
}

/// Films a run after its preconditioning: at most `frames` steps. A step ends when a block was collected, and otherwise after `writes` pages.
///
/// # Errors
/// A trace cannot be read.
pub fn film(
    scenario: &Scenario,
    mut run: Run,
    frames: usize,
    writes: u64,
    stop: &Arc<AtomicBool>,
) -> Result<Film, SourceError> {
    debug_assert!(scenario.device.physical_units() <= PAGES_MAX, "callers refuse larger drives");
    let mut watch = Watch { step: &mut |_| {}, stop };
    let mut progress = Progress::Paused;
    while run.is_preconditioning() && progress == Progress::Paused {
        progress = run.advance(Budget::units(PRECONDITION_UNITS), &mut watch)?;
    }
    let seen_first = look(run.drive(), None);
    let begin = seen_first.counters;
    let mut film = Film {
        pages_per_block: run.drive().layout().units_per_block(),
        pages: seen_first.pages.clone(),
        blocks: seen_first.blocks.clone(),
        frames: Vec::new(),
    };
    let mut seen = seen_first;
    while film.frames.len() < frames && progress == Progress::Paused && !stop.load(Ordering::Relaxed) {
        let mut victims = Vec::new();
        for _ in 0..writes.max(1) {
            let before = Before::of(run.drive());
            progress = run.advance(Budget::units(1), &mut watch)?;
            victims = before.collected(run.drive());
            if !victims.is_empty() || progress != Progress::Paused {
                break;
            }
        }
        let now = look(run.drive(), Some(&seen));
        film.frames.push(frame(u64::from(run.drive().unit_bytes()), &begin, &seen, &now, victims));
        seen = now;
    }
    Ok(film)
}

/// What the drive's pages and blocks are now. Pages that are not valid are free if they were, or if their block was erased since.
fn look(drive: &Drive, before: Option<&Seen>) -> Seen {
    let layout = drive.layout();
    let units = layout.units_per_block();
    let blocks: Vec<Block> = layout
        .superblocks()
        .map(|block| Block { state: drive.state(block), erases: drive.superblock_erase_counts()[block.index()] })
        .collect();
    let mut pages = Vec::with_capacity(blocks.len() * units as usize);
    for (number, block) in blocks.iter().enumerate() {
        let first = number * units as usize;
        match before {
            Some(before) if before.blocks[number].erases == block.erases => {
                let was = &before.pages[first..first + units as usize];
                pages.extend(was.iter().map(|page| if *page == Page::Free { Page::Free } else { Page::Invalid }));
            }
            Some(_) => pages.extend((0..units).map(|_| Page::Free)),
            // Before the film the pages of closed blocks were programmed.
            None => {
                let rest = if block.state == BlockState::Closed { Page::Invalid } else { Page::Free };
                pages.extend((0..units).map(|_| rest));
            }
        }
    }
    for logical in Lpn::all(0..drive.exported()) {
        if let Some(unit) = drive.lookup(logical) {
            pages[unit.index()] = Page::Valid;
        }
    }
    Seen { pages, blocks, counters: *drive.counters() }
}

fn frame(unit_bytes: u64, begin: &Counters, before: &Seen, now: &Seen, victims: Vec<Victim>) -> Frame {
    let (since, step) = (now.counters - *begin, now.counters - before.counters);
    let pages = before.pages.iter().zip(&now.pages).enumerate().filter(|(_, (was, is))| was != is);
    let blocks = before.blocks.iter().zip(&now.blocks).enumerate().filter(|(_, (was, is))| was != is);
    Frame {
        written: since.host_units_written,
        written_now: step.host_units_written,
        moved_now: step.programmed_total() - step.programmed_host,
        amplification: since.programmed_total() as f64 / since.host_units_filled(unit_bytes).max(1) as f64,
        free: now.blocks.iter().filter(|block| block.state == BlockState::Free).count() as u32,
        victims,
        pages: pages.map(|(number, (_, is))| (number as u32, *is)).collect(),
        blocks: blocks.map(|(number, (_, is))| (number as u32, *is)).collect(),
    }
}

/// The blocks before a write.
struct Before {
    /// State, valid pages, erases and the host's clock at the closing of each block.
    blocks: Vec<(BlockState, u32, u32, Option<u64>)>,
    counters: Counters,
}

impl Before {
    fn of(drive: &Drive) -> Self {
        let of_block = |block: SuperblockId| {
            let erases = drive.superblock_erase_counts()[block.index()];
            (drive.state(block), drive.valid(block), erases, drive.closed_at(block))
        };
        Self { blocks: drive.layout().superblocks().map(of_block).collect(), counters: *drive.counters() }
    }

    /// The closed blocks that were erased since.
    fn collected(&self, drive: &Drive) -> Vec<Victim> {
        let now = drive.superblock_erase_counts();
        let since = *drive.counters() - self.counters;
        let mut victims = Vec::new();
        for (number, (state, valid, erases, closed_at)) in self.blocks.iter().enumerate() {
            // A die collects its own blocks.
            let domain = drive.layout().domain(SuperblockId(number as u32));
            let closed = || {
                let blocks = self.blocks.iter().zip(drive.layout().superblocks());
                let own = blocks.filter(|(_, block)| drive.layout().domain(*block) == domain).map(|(block, _)| block);
                own.filter(|block| block.0 == BlockState::Closed)
            };
            if *state != BlockState::Closed || now[number] == *erases {
                continue;
            }
            let at = closed_at.unwrap_or_default();
            victims.push(Victim {
                block: number as u32,
                valid: *valid,
                fewer: closed().filter(|other| other.1 < *valid).count() as u32,
                closed: closed().count() as u32,
                closed_since: self.counters.host_units_written.saturating_sub(at),
                older: closed().filter(|other| other.3.is_some_and(|other| other < at)).count() as u32,
                erases: *erases,
                is_other: since.erases_gc == 0,
            });
        }
        victims
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use wane_scenario::Sources;

    fn filmed(gc: &str) -> (Film, Scenario) {
        let text = format!(
            "[drive]\npreset = 'tiny'\nlogical-capacity = '8 MiB'\n[ftl]\ngc = '{gc}'\n[until]\ndrive-writes = 9\n"
        );
        let sources = Sources { file: Some(("film.toml", &text)), ..Sources::default() };
        let scenario = Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{error}"));
        let run = Run::new(build::plan(&scenario).unwrap());
        (film(&scenario, run, 200, 16, &Arc::default()).unwrap(), scenario)
    }

    /// Played to its end, each frame leaves as many valid pages as the drive has data, and a victim had the valid pages that it says.
    #[test]
    fn frames_add_up_to_the_drive() {
        for gc in ["greedy", "fifo"] {
            let (film, scenario) = filmed(gc);
            let (mut pages, mut blocks) = (film.pages.clone(), film.blocks.clone());
            let valid = |pages: &[Page]| pages.iter().filter(|page| **page == Page::Valid).count() as u32;
            let in_block = |pages: &[Page], block: u32| {
                let first = (block * film.pages_per_block) as usize;
                valid(&pages[first..first + film.pages_per_block as usize])
            };
            assert_eq!(film.frames.len(), 200);
            assert!(film.frames.iter().any(|frame| !frame.victims.is_empty()), "{gc}: nothing was collected");
            for frame in &film.frames {
                for victim in &frame.victims {
                    assert!(in_block(&pages, victim.block) >= victim.valid, "writes of the step only invalidate");
                    match gc {
                        "greedy" => assert_eq!(victim.fewer, 0, "{victim:?}"),
                        _ => assert_eq!(victim.older, 0, "{victim:?}"),
                    }
                    assert!(victim.closed > 0 && !victim.is_other);
                }
                frame.pages.iter().for_each(|(page, is)| pages[*page as usize] = *is);
                frame.blocks.iter().for_each(|(block, is)| blocks[*block as usize] = *is);
                assert_eq!(valid(&pages), scenario.device.logical_units, "all pages hold data after preconditioning");
                assert_eq!(frame.free, blocks.iter().filter(|block| block.state == BlockState::Free).count() as u32);
                let is_free = |block: usize| blocks[block].state == BlockState::Free;
                let page =
                    |block: usize| &pages[block * film.pages_per_block as usize..][..film.pages_per_block as usize];
                assert!(
                    (0..blocks.len())
                        .filter(|block| is_free(*block))
                        .all(|block| page(block).iter().all(|page| *page == Page::Free))
                );
            }
            let last = film.frames.last().unwrap();
            assert!(last.amplification > 1.0 && last.written > 0);
        }
    }
}
