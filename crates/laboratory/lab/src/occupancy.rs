//! Observes how the blocks of a running drive are filled: shares by valid units, and the rates at which requests move blocks between them. They are
//! estimated page by page as in the mean-field study (003, §2.5, equation 8).
//!
//! Every written page is looked up before and after, and all blocks are checked after each garbage collection. That is exact,
//! slower than aging by an order of magnitude, and costs nothing in runs that are not observed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_scenario::Scenario;
use wane_ssd::Drive;
use wane_theory::TheoryError;
use wane_theory::occupancy::RateEstimator;
use wane_units::{Lpn, SuperblockId};
use wane_workload::{Batch, Drawn, Op, SourceError};

use crate::build::{self, PlanError, PolicyOverrides};
use crate::run::{Budget, Progress, Run, Watch};

/// Pages drawn at once.
const BATCH_PAGES: usize = 4096;

/// Reasons why a drive could not be observed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OccupancyError {
    /// The scenario cannot be built.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The workload cannot be read further.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The model refuses the figures.
    #[error(transparent)]
    Theory(#[from] TheoryError),
    /// The drive died before.
    #[error("the drive died before its blocks were observed; observe fewer drive writes, or a drive that lives longer")]
    Died,
    /// Too little was written.
    #[error(
        "the workload ended after {written} written pages, and {wanted} are needed; loop the trace, or observe fewer drive writes"
    )]
    TooShort {
        /// Pages written.
        written: u64,
        /// Pages needed.
        wanted: u64,
    },
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
}

/// The observations.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Moves of blocks since observing began.
    pub estimator: RateEstimator,
    /// Mean valid units of the victims in that time; `None` without a victim.
    pub valid_pages_per_victim_mean: Option<f64>,
    /// Pages of the host.
    pub host_pages: u64,
    /// Mapping units of a block.
    pub units_per_block: u32,
}

/// Runs a scenario's preconditioning and its first phase for `settle` drive writes, then observes `drive_writes` more.
///
/// # Errors
/// The scenario cannot be built, its workload ends or its drive dies too early, or the user stops it.
pub fn observe(
    scenario: &Scenario,
    settle: f64,
    drive_writes: f64,
    stop: &Arc<AtomicBool>,
) -> Result<Observed, OccupancyError> {
    let logical = f64::from(scenario.device.logical_units);
    let mut run = Run::new(build::plan_with(scenario, &PolicyOverrides::default(), stop)?);
    let slice = Budget { units: BATCH_PAGES as u64, ..Budget::requests(0) };
    let mut watch = Watch { step: &mut |_| {}, stop };
    while run.is_preconditioning() && run.advance(slice, &mut watch).is_ok_and(|at| at == Progress::Paused) {}
    let mut drive = run.drive().clone();
    drive.set_leveling(true);
    let mut source = build::plan_with(scenario, &PolicyOverrides::default(), stop)?.phases.swap_remove(0).source;
    let (settle, wanted) = ((settle * logical) as u64, (drive_writes * logical) as u64);
    let mut watched: Option<Watched> = None;
    let mut victims = (0, 0);
    let mut batch = Batch::default();
    let mut written = 0;
    while written < settle + wanted {
        if stop.load(Ordering::Relaxed) {
            return Err(OccupancyError::Stopped);
        }
        if source.next(&mut batch, BATCH_PAGES, u64::MAX)? == Drawn::End {
            return Err(OccupancyError::TooShort { written, wanted: settle + wanted });
        }
        match batch.op {
            Op::Write => {}
            Op::Trim => {
                let _ = drive.trim_batch(Lpn::slice(&batch.pages));
                watched = watched.map(|watched| watched.seen_anew(&drive));
                continue;
            }
            _ => continue,
        }
        for page in batch.pages.iter().copied().map(Lpn) {
            if watched.is_none() && written >= settle {
                watched = Some(Watched::new(&drive)?);
                victims = (drive.counters().gc_victims, drive.counters().gc_victim_valid_units);
            }
            match &mut watched {
                Some(watched) => watched.write(&mut drive, page)?,
                None => drive.age(&[page]).map_err(|_| OccupancyError::Died)?,
            }
            written += 1;
        }
    }
    let Some(watched) = watched else { return Err(OccupancyError::TooShort { written, wanted: settle + wanted }) };
    let counters = drive.counters();
    let count = counters.gc_victims - victims.0;
    let valid = (counters.gc_victim_valid_units - victims.1) as f64;
    Ok(Observed {
        estimator: watched.estimator,
        valid_pages_per_victim_mean: (count > 0).then(|| valid / count as f64),
        host_pages: written - settle,
        units_per_block: drive.layout().units_per_block(),
    })
}

/// A drive's blocks by valid units, followed page by page.
struct Watched {
    estimator: RateEstimator,
    valid: Vec<u32>,
}

impl Watched {
    fn new(drive: &Drive) -> Result<Self, OccupancyError> {
        let valid = valid_units(drive);
        let mut blocks = vec![0; drive.layout().units_per_block() as usize + 1];
        valid.iter().for_each(|valid| blocks[*valid as usize] += 1);
        Ok(Self { estimator: RateEstimator::new(blocks)?, valid })
    }

    /// Writes a page. In the model it counts as one request that invalidates its old copy, if it has one, and one that programs the new one.
    fn write(&mut self, drive: &mut Drive, page: Lpn) -> Result<(), OccupancyError> {
        let block_of = |drive: &Drive| drive.lookup(page).map(|unit| drive.layout().locate(unit).0.index());
        if let Some(old) = block_of(drive) {
            self.estimator.invalidated(self.valid[old]);
            self.valid[old] -= 1;
        }
        let victims = drive.counters().gc_victims;
        drive.age(&[page]).map_err(|_| OccupancyError::Died)?;
        let Some(new) = block_of(drive) else { return Ok(()) };
        if drive.counters().gc_victims == victims {
            self.estimator.programmed(self.valid[new]);
            self.valid[new] += 1;
        } else {
            // The page was programmed before the collection, which may have moved it. Its block then held what is now missing from all
            // blocks. Blocks that the collection changed are updated by checking all.
            let filled = self.fullest_open(drive);
            self.estimator.programmed(self.valid[filled]);
            self.valid[filled] += 1;
            self.look(drive);
        }
        Ok(())
    }

    /// The block that the page went to before the collection. It filled up, so it is closed now and holds more than before.
    fn fullest_open(&self, drive: &Drive) -> usize {
        let now = valid_units(drive);
        let grown = |(block, (before, after)): (usize, (&u32, u32))| (after == before + 1).then_some(block);
        let found = self.valid.iter().zip(now.iter().copied()).enumerate().find_map(grown);
        // A page that was collected at once leaves no trace, so any block with room stands for its block.
        let room = drive.layout().units_per_block();
        found.or_else(|| self.valid.iter().position(|valid| *valid < room)).unwrap_or(0)
    }

    /// Updates the counts after collection, leveling or a trim.
    fn look(&mut self, drive: &Drive) {
        for (before, after) in self.valid.iter_mut().zip(valid_units(drive)) {
            if *before != after {
                self.estimator.collected(*before, after);
                *before = after;
            }
        }
    }

    fn seen_anew(mut self, drive: &Drive) -> Self {
        self.look(drive);
        self
    }
}

fn valid_units(drive: &Drive) -> Vec<u32> {
    let layout = drive.layout();
    let blocks = layout.domains() * layout.blocks_per_domain();
    (0..blocks).map(|block| drive.valid(SuperblockId(block))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_scenario::Sources;
    use wane_theory::occupancy::total_variation;

    fn scenario(text: &str) -> Scenario {
        Scenario::resolve(&Sources { preset: None, file: Some(("test", text)), set: &[] }).unwrap()
    }

    #[test]
    fn the_fixed_point_of_the_measured_rates_is_what_is_seen() {
        for gc in ["'greedy'", "{ policy = 'd-choices', d = 3 }", "'random'"] {
            let text = format!(
                "[drive]\nlogical-capacity = '64 MiB'\npages-per-block = 64\nspare-factor = '15 %'\n[ftl]\ngc = {gc}\n\
                 [workload]\npattern = 'uniform'\n[until]\ndrive-writes = 1\n"
            );
            let found = observe(&scenario(&text), 1.0, 6.0, &Arc::default()).unwrap();
            let seen = found.estimator.occupancy().unwrap();
            let model = found.estimator.rates().unwrap().fixed_point_from(&seen).unwrap();
            let off = total_variation(&seen, &model).unwrap();
            assert!(off < 0.05, "{gc}: {off}");
            assert!(found.valid_pages_per_victim_mean.unwrap() > 20.0);
            let valid: f64 = seen.iter().enumerate().map(|(valid, share)| valid as f64 * share).sum();
            assert!((valid / 64.0 - 0.85).abs() < 0.02, "{gc}: {valid}");
        }
    }

    #[test]
    fn a_trace_that_is_too_short_is_refused_in_words() {
        let text = "drive.preset = 'tiny'\nworkload.pattern = 'uniform'\nuntil.drive-writes = 1";
        let stop = Arc::new(AtomicBool::new(true));
        assert_eq!(observe(&scenario(text), 0.0, 1.0, &stop).unwrap_err().to_string(), "stopped");
    }
}
