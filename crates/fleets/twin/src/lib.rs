//! The fleet twin: thousands of simulated drives, the records that they would report, and what no real fleet shows: what became of them and why.
//!
//! A fleet is a TOML file ([`FleetSettings`]) read by [`Fleet::read`]. The engine simulates each of its drives at full speed, and ages it hour by
//! hour under its own workload ([`simulate`]). Drives are scaled: the simulated one has at least [`UNITS_MIN`] pages in [`BLOCKS_MIN`] blocks and
//! stands for a larger one; every file says so. Apart from wear, drives die of flaws, chance, bad batches and each other's failures ([`Cause`]).
//!
//! Python's `wane.fleet` reads the files.

mod attributes;
mod draw;
mod error;
mod expected;
mod fleet;
mod folder;
mod hazards;
mod life;
mod power;
mod settings;
mod sums;
mod table;

use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rayon::prelude::*;
use wane_lab::session;

pub use attributes::{all_numbers, numbers};
pub use error::TwinError;
pub use fleet::{BLOCKS_MIN, Fleet, Slot, UNITS_MIN, Work};
pub use folder::{FILE_DRIVES, FORMAT, MARK, Manifest, Others, Told, read_manifest};
pub use hazards::{Cause, Fate};
pub use life::Life;
pub use settings::{AttributeSet, Cadence, FleetSettings, HazardSettings, MediumKind, ModelSettings, json_schema};
pub use settings::{PatternKind, PlaceSettings, PowerSettings, WorkloadSettings};
pub use table::{SIMULATED, SOURCE};

use folder::Folder;

/// The file that the command's `--example` prints: a fleet with the most important keys.
pub const EXAMPLE: &str = include_str!("../example.toml");

/// How often the waiting thread reports progress.
const ATTENDED_EVERY: Duration = Duration::from_millis(50);

/// The drives to simulate, and the folder to write to.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The folder.
    pub out: &'a Path,
    /// The drives: the first, and the end, which is excluded.
    pub drives: (u32, u32),
    /// Threads, at least 1.
    pub threads: usize,
    /// What to do with another simulation in the folder.
    pub others: Others,
}

/// How a simulation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All drives are done.
    Whole(Told),
    /// All drives were there before, undamaged.
    Already(Told),
    /// It was stopped with this number of drives done. They stay, and the same command goes on.
    Stopped(u32),
}

/// Reads a range of drives, such as `0..512`.
///
/// # Errors
/// It is no range, or not one of whole files of the fleet.
pub fn drives_of(fleet: &Fleet, range: Option<&str>) -> Result<(u32, u32), TwinError> {
    let all = fleet.slots().len() as u32;
    let Some(found) = range else { return Ok((0, all)) };
    let refuse = |wanted: String| TwinError::Drives { found: wane_units::excerpt(found).to_string(), wanted };
    let ends = found.split_once("..").and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)));
    let (first, end): (u32, u32) = ends.ok_or_else(|| refuse("expected a range, such as 0..512".to_owned()))?;
    if first >= end || end > all {
        return Err(refuse(format!("expected drives of 0..{all}, the first below the end")));
    }
    let is_edge = |drive: u32| drive.is_multiple_of(FILE_DRIVES) || drive == all;
    if !is_edge(first) || !is_edge(end) {
        return Err(refuse(format!(
            "a file holds {FILE_DRIVES} drives; both ends are multiples of that, or {all}, the fleet's end"
        )));
    }
    Ok((first, end))
}

/// Simulates drives of a fleet into a folder. Drives whose files are there and whole are not simulated again; missing or incomplete ones are. Every
/// 50 ms `attend` is called with the number of finished drives, on the calling thread.
///
/// # Errors
/// The folder holds something else or cannot be written, or a drive cannot be built.
pub fn simulate(
    fleet: &Fleet,
    job: &Job<'_>,
    stop: &AtomicBool,
    attend: &mut dyn FnMut(u32),
) -> Result<Ended, TwinError> {
    let (first, end) = job.drives;
    assert!(first.is_multiple_of(FILE_DRIVES), "a range of drives begins with a file");
    assert!(end as usize <= fleet.slots.len(), "drives that are simulated are the fleet's");
    let (folder, is_whole) = Folder::claim(job.out, fleet, first, end, job.others)?;
    let files: Vec<u32> = (first / FILE_DRIVES..end.div_ceil(FILE_DRIVES)).collect();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(job.threads.max(1)).build();
    let threads = threads.map_err(|error| TwinError::Threads(error.to_string()))?;
    if is_whole {
        threads.install(|| folder.remove_damaged(job.drives))?;
        let told = files.iter().map(|number| folder.told(fleet, *number)).collect::<Result<Option<Vec<_>>, _>>()?;
        if let Some(told) = told.map(|told| told.iter().sum())
            && folder.is_as_made(fleet, job.drives, &told)
        {
            return Ok(Ended::Already(told));
        }
        folder.reopen(fleet, job.drives)?;
    }
    let done = AtomicU32::new(0);
    let (told, failed) = (Mutex::new(Told::default()), AtomicBool::new(false));
    let work = || -> Result<(), TwinError> {
        files.par_iter().try_for_each(|number| {
            if stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let made = file(fleet, &folder, *number, stop, &done);
            failed.fetch_or(made.is_err(), Ordering::Relaxed);
            if let Some(one) = made? {
                told.lock().unwrap_or_else(PoisonError::into_inner).add(&one);
            }
            Ok(())
        })
    };
    session::attended(ATTENDED_EVERY, |_| threads.install(work), &mut |_| attend(done.load(Ordering::Relaxed)))?;
    let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    if told.drives < end - first {
        return Ok(Ended::Stopped(told.drives));
    }
    threads.install(|| folder.finish(fleet, job.drives, &told))?;
    Ok(Ended::Whole(told))
}

/// Simulates all drives of a fleet in memory, for callers that use them at once. A record takes some 160 bytes.
///
/// # Errors
/// A drive cannot be built.
pub fn lives(fleet: &Fleet) -> Result<Vec<Life>, TwinError> {
    let lived = |slot: &Slot| life::live(fleet, slot, &AtomicBool::new(false));
    let found: Result<Vec<Option<Life>>, TwinError> = fleet.slots.par_iter().map(lived).collect();
    Ok(found?.into_iter().flatten().collect())
}

/// Simulates the drives of a file; `None` if it was stopped. Of an existing file only the truth is read.
fn file(
    fleet: &Fleet,
    folder: &Folder,
    number: u32,
    stop: &AtomicBool,
    done: &AtomicU32,
) -> Result<Option<Told>, TwinError> {
    let from = number * FILE_DRIVES;
    let slots = &fleet.slots[from as usize..fleet.slots.len().min((from + FILE_DRIVES) as usize)];
    if let Some(told) = folder.told(fleet, number)? {
        done.fetch_add(slots.len() as u32, Ordering::Relaxed);
        return Ok(Some(told));
    }
    let mut staged = folder.stage(fleet, number)?;
    let mut told = Told::default();
    for slot in slots {
        let Some(life) = life::live(fleet, slot, stop)? else { return Ok(None) };
        let unwritten =
            |error: parquet::errors::ParquetError| TwinError::Drive { drive: slot.number, why: error.to_string() };
        staged.records.0.records(fleet, slot, &life).map_err(unwritten)?;
        staged.truth.0.truth(fleet, slot, &life).map_err(unwritten)?;
        told.drives += 1;
        told.rows += life.hours.len() as u64;
        if let Some(end) = life.end {
            *told.failed.entry(end.cause.name()).or_default() += 1;
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    folder.settle_both(staged)?;
    Ok(Some(told))
}

#[cfg(test)]
mod tests;
