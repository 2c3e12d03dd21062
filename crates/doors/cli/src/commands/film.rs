//! `wane run --film`: a page that shows a drive at work, a step at a time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::{Entry, find};
use wane_lab::build;
use wane_lab::film::{Film, Frame, PAGES_MAX, Victim, film};
use wane_lab::run::Run;
use wane_report::{FilmFrame, FilmPage, counted};
use wane_scenario::Scenario;
use wane_units::BlockState;

use crate::output::{Failure, Others, check_writable, print, write_text};
use crate::{DONE, INTERRUPTED};

/// Steps of a film, and most pages that the host writes in one.
const STEPS: usize = 400;
const WRITES: u64 = 16;

pub(super) fn run(scenario: &Scenario, path: &Path, stop: &Arc<AtomicBool>) -> Result<i32, Failure> {
    let pages = scenario.device.physical_units();
    if pages > PAGES_MAX {
        return Err(Failure::wrong(format!(
            "--film: the drive has {pages} pages, and a film shows up to {PAGES_MAX}; a smaller one, such as --preset tiny or \
             --set drive.logical-capacity='64 MiB', does the same"
        )));
    }
    let (others, to_stdout) = (Others::Kept, path == Path::new("-"));
    if !to_stdout {
        check_writable(path, others)?;
    }
    let plan = build::plan(scenario).map_err(Failure::wrong)?;
    let filmed = film(scenario, Run::new(plan), STEPS, WRITES, stop).map_err(Failure::wrong)?;
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("stopped before the film was whole; nothing was written".to_owned()));
    }
    let text = wane_report::film(&page(scenario, &filmed));
    if to_stdout {
        print(&text)?;
        return Ok(DONE);
    }
    write_text(path, others, &text)?;
    let collected: usize = filmed.frames.iter().map(|frame| frame.victims.len()).sum();
    print(&format!("{}: {} steps, {collected} blocks collected\n", path.display(), filmed.frames.len()))?;
    Ok(if stop.load(Ordering::Relaxed) { INTERRUPTED } else { DONE })
}

fn page(scenario: &Scenario, film: &Film) -> FilmPage {
    let policy = scenario.ftl.gc.name();
    let blocks = film.blocks.len();
    let number = |state: BlockState| state as u32;
    FilmPage {
        title: format!("Garbage collection, a step at a time: {}", scenario.name),
        lead: format!(
            "A drive of {blocks} blocks with {} pages each, after preconditioning. A flash page is written once, and erased with its block: what the \
             host writes again is written elsewhere, and the old version becomes invalid. Full blocks are closed. When fewer than {} blocks would \
             be free, a closed block is collected, the victim: its valid pages are moved, then it is erased. The policy {policy} chooses it: {}. \
             Up to {WRITES} pages are written by the host in a step.",
            film.pages_per_block,
            scenario.device.gc_reserve,
            find(VICTIM_POLICIES, policy).map(Entry::summary).unwrap_or_default(),
        ),
        begin: "The host has not written yet. Move the slider, or go to the next victim.".to_owned(),
        units: film.pages_per_block,
        pages: film.pages.iter().map(|page| char::from(b'0' + *page as u8)).collect(),
        blocks: film.blocks.iter().map(|block| [number(block.state), block.erases]).collect(),
        frames: film.frames.iter().map(|frame| shown(frame, film.pages_per_block, policy)).collect(),
    }
}

fn shown(frame: &Frame, per_block: u32, policy: &str) -> FilmFrame {
    FilmFrame {
        written: frame.written,
        amplification: frame.amplification,
        free: frame.free,
        victims: frame.victims.iter().map(|victim| victim.block).collect(),
        told: told(frame, per_block, policy),
        pages: frame.pages.iter().flat_map(|(page, is)| [*page, *is as u32]).collect(),
        blocks: frame.blocks.iter().flat_map(|(block, is)| [*block, is.state as u32, is.erases]).collect(),
    }
}

/// What happened in a step, and why these victims.
fn told(frame: &Frame, per_block: u32, policy: &str) -> String {
    let wrote = match frame.written_now {
        1 => "The host writes a page.".to_owned(),
        pages => format!("The host writes {pages} pages."),
    };
    if frame.victims.is_empty() {
        return format!(
            "{wrote} The versions that they replace become invalid. No block is collected: {} are free.",
            frame.free
        );
    }
    let victims = frame.victims.iter().map(|victim| chosen(victim, per_block, policy)).collect::<Vec<_>>().join(" ");
    let moved = if frame.moved_now == 1 { "1 page is".to_owned() } else { format!("{} pages are", frame.moved_now) };
    format!("{wrote} {victims} {moved} moved.")
}

fn chosen(victim: &Victim, per_block: u32, policy: &str) -> String {
    let Victim { block, valid, fewer, closed, closed_since, older, erases, is_other } = *victim;
    let by = if is_other { "by wear leveling or scrubbing".to_owned() } else { format!("by {policy}") };
    let place = |before: u32, most: &str| match before {
        0 => format!("no closed block {most}"),
        1 => format!("1 of {closed} closed blocks {most}"),
        several => {
            format!("{several} of {closed} closed blocks {}", most.replace("has", "have").replace("was", "were"))
        }
    };
    format!(
        "Block {block} is chosen {by}: {valid} of its {per_block} pages are valid ({}), it closed {} host writes ago ({}), and was erased {}.",
        place(fewer, "has fewer"),
        counted(closed_since as f64),
        place(older, "was closed earlier"),
        if erases == 1 { "once before".to_owned() } else { format!("{erases} times before") },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_what_was_chosen_and_why() {
        let victim = Victim {
            block: 7,
            valid: 9,
            fewer: 0,
            closed: 250,
            closed_since: 1_204,
            older: 3,
            erases: 1,
            is_other: false,
        };
        let frame = Frame {
            written: 40,
            written_now: 5,
            moved_now: 9,
            amplification: 1.5,
            free: 4,
            victims: vec![victim],
            pages: Vec::new(),
            blocks: Vec::new(),
        };
        let text = told(&frame, 64, "greedy");
        assert!(
            text.contains("Block 7 is chosen by greedy: 9 of its 64 pages are valid (no closed block has fewer)"),
            "{text}"
        );
        assert!(
            text.contains(
                "(3 of 250 closed blocks were closed earlier), and was erased once before. 9 pages are moved."
            ),
            "{text}"
        );
    }
}
