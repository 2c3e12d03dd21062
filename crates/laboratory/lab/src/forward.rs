//! Fast-forwarded lives: periods are simulated, the next ones are predicted from them and projected into the drive (dissertation
//! 000, ch. 3). The models are in `wane_aging`; this module applies them to a run.

use std::sync::atomic::AtomicBool;

use wane_aging::{Detector, Judgement, Model, Next, Period, Projector, Schedule};
use wane_ftl::ProjectionError;
use wane_results::{Counters, FastForwarded};
use wane_scenario::FastForward;
use wane_ssd::{Drive, Projection};
use wane_workload::SourceError;

use crate::run::{Budget, Progress, Run, Watch};

/// Factors by which predictions of an adaptive life grow while nothing changes, and shrink after one was taken back.
const FASTER: f64 = 1.5;
const SLOWER: f64 = 4.0;

/// Share of the remaining spare blocks that one prediction of an adaptive life may wear out.
const SPARE_SHARE: f64 = 0.5;

/// Largest relative drift of the write amplification over one prediction of an adaptive life. A drive that is still settling, or loses
/// its last spare blocks, is therefore predicted in small steps.
const DRIFT_MOST: f64 = 0.03;

/// Share of the rated erases that one prediction of an adaptive life may add to any block, since wear levelers depend on wear and may start
/// or change in between.
const WEAR_SHARE: f64 = 0.05;

/// Shortest prediction of an adaptive life near its end, in periods. Below it the period is simulated.
const LEAST: f64 = 0.25;

/// Shortest part of a period whose write amplification is used.
const SPAN_LEAST: f64 = 0.5;

/// Halvings in the search for the longest prediction that a drive's spare blocks allow.
const HALVINGS: u32 = 12;

/// Reasons why a life cannot be fast-forwarded further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardError {
    /// The factor is refused.
    #[error("fast-forward.factor: {0}")]
    Factor(#[from] wane_aging::AgingError),
    /// The drive refuses the projection.
    #[error("fast-forward: {0}")]
    Projection(#[from] ProjectionError),
    /// The trace cannot be read further.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Number of periods for which a schedule is followed; beyond them the simulated share is 1 / factor.
const PERIODS_PLANNED: u32 = 10_000;

/// Drive writes, of `drive_writes`, that are simulated. An adaptive life decides during the run and may simulate all.
pub(crate) fn simulated(spec: &FastForward, drive_writes: f64) -> f64 {
    let needs = spec.model.build(spec.window as usize, spec.refit).needs();
    let Ok(mut schedule) = Schedule::new(spec.factor, needs) else { return drive_writes };
    if spec.adaptive {
        return drive_writes;
    }
    let (periods, mut at, mut simulated) = (drive_writes / spec.period, 0.0, 0.0);
    for _ in 0..PERIODS_PLANNED {
        let left: f64 = periods - at;
        if left <= 0.0 {
            break;
        }
        match schedule.decide() {
            Next::Simulate => {
                schedule.simulated();
                simulated += left.min(1.0);
                at += left.min(1.0);
            }
            Next::Predict(ahead) => at += ahead,
        }
    }
    (simulated + (periods - at).max(0.0) / spec.factor) * spec.period
}

/// If a drive dies within a prediction that is a larger share of its life, a warning says so.
const TOLD_WITHIN: f64 = 0.02;

/// Runs a life to its end with the predictions of `spec`. Returns the figures of both parts, and a warning if the end is uncertain.
pub(crate) fn to_its_end(
    run: &mut Run,
    spec: &FastForward,
    watch: &mut Watch<'_>,
) -> Result<(FastForwarded, Option<String>), ForwardError> {
    let mut forward = Forward::new(run, spec)?;
    let mut progress = run.advance(Budget::units(run.precondition_left()), watch)?;
    while run.precondition_left() > 0 && progress == Progress::Paused {
        progress = run.advance(Budget::units(run.precondition_left()), watch)?;
    }
    if spec.adaptive {
        forward.adapt(run, watch)?;
    } else {
        forward.follow_schedule(run, watch)?;
    }
    let died_within = forward.died_within;
    let told = forward.told(run);
    let lived = told.drive_writes_simulated + told.drive_writes_predicted;
    let warning = died_within.filter(|within| *within > TOLD_WITHIN * lived).map(|within| {
        format!(
            "the drive died within a prediction of {within:.1} of its {lived:.1} drive writes, and may have died earlier by up to that much: predict \
             less at once (fast-forward.factor, fast-forward.period), or use fast-forward.adaptive"
        )
    });
    Ok((told, warning))
}

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Forward {
    spec: FastForward,
    /// Host units of a period.
    period: f64,
    /// The phase, and the drives that stand in the array, to which schedule and models belong.
    belongs_to: Option<(Option<usize>, usize)>,
    schedule: Schedule,
    drives: Vec<Learned>,
    /// Periods of life so far, including predicted ones.
    at: f64,
    /// Drive writes of the latest prediction, and whether it wore blocks out.
    predicted_last: Option<(f64, bool)>,
    /// Drive writes of the prediction in which the drive died, or after which it died because blocks were worn out.
    died_within: Option<f64>,
    told: FastForwarded,
}

/// What is known of a drive by which it is predicted.
#[derive(Clone)]
struct Learned {
    model: Box<dyn Model>,
    projector: Projector,
    /// Wear leveling's share of the erases in the latest period.
    by_wear_leveling: f64,
    /// Units that were written on it for each of the host's in the latest period: 1 of a drive alone.
    share: f64,
    /// Units programmed for each of these.
    write_amplification: f64,
}

impl Learned {
    fn new(spec: &FastForward) -> Self {
        let model = spec.model.build(spec.window as usize, spec.refit);
        Self { model, projector: Projector::default(), by_wear_leveling: 0.0, share: 1.0, write_amplification: 1.0 }
    }
}

/// The state at the start of a period.
#[derive(Clone)]
pub(crate) struct Start {
    counters: Counters,
    /// Of each drive, what it counted, and the erases of its blocks.
    drives: Vec<(Counters, Vec<u32>)>,
    pub(crate) standing: usize,
    /// Host units of the life.
    pub(crate) lived: u64,
}

impl Start {
    /// The present state.
    pub(crate) fn of(run: &Run) -> Self {
        let of = |(counters, drive): (Counters, &Drive)| (counters, drive.superblock_erase_counts().to_vec());
        let drives = run.counted().into_iter().map(of).collect();
        Self { counters: run.counters(), drives, standing: run.standing(), lived: run.lived() }
    }
}

/// The state to which an adaptive life goes back.
struct Saved {
    run: Run,
    drives: Vec<Learned>,
    detector: Detector,
    at: f64,
    told: FastForwarded,
}

impl Forward {
    pub(crate) fn new(run: &Run, spec: &FastForward) -> Result<Self, ForwardError> {
        let schedule = Schedule::new(spec.factor, Learned::new(spec).model.needs())?;
        let period = (spec.period * f64::from(run.when_new())).round().max(1.0);
        let told =
            FastForwarded { model: spec.model.name().to_owned(), factor: spec.factor, ..FastForwarded::default() };
        Ok(Self {
            spec: *spec,
            period,
            belongs_to: None,
            schedule,
            drives: run.counted().iter().map(|_| Learned::new(spec)).collect(),
            at: 0.0,
            predicted_last: None,
            died_within: None,
            told,
        })
    }

    fn follow_schedule(&mut self, run: &mut Run, watch: &mut Watch<'_>) -> Result<(), ForwardError> {
        loop {
            self.is_next_phase(run, watch)?;
            match self.schedule.decide() {
                Next::Simulate => {
                    let (period, progress) = self.simulate(run, watch)?;
                    if let Some(period) = period {
                        self.observe(&period);
                        self.schedule.simulated();
                    }
                    if progress == Progress::Over {
                        return Ok(());
                    }
                }
                Next::Predict(ahead) if run.is_array() => {
                    let ahead = self.bounded(run, ahead, spare_share(run));
                    if ahead >= LEAST {
                        self.predict(run, ahead, Self::units_left(run), watch.stop)?;
                    }
                }
                Next::Predict(ahead) => self.predict(run, ahead, Self::units_left(run), watch.stop)?,
            }
        }
    }

    /// Whether another phase has begun, or other drives stand in the array. If so, the models start anew, since they were learned from another workload.
    fn is_next_phase(&mut self, run: &mut Run, watch: &mut Watch<'_>) -> Result<bool, ForwardError> {
        // Leaves a phase that is over.
        run.advance(Budget::units(0), watch)?;
        run.probe_if_due(watch.stop)?;
        let now = Some((run.present_phase(), run.standing()));
        let is_next = now != self.belongs_to;
        if is_next {
            self.belongs_to = now;
            self.forget(run);
            self.schedule = Schedule::new(self.spec.factor, Learned::new(&self.spec).model.needs())?;
        }
        Ok(is_next)
    }

    /// Learns anew.
    fn forget(&mut self, run: &Run) {
        let projectors = std::mem::take(&mut self.drives).into_iter().map(|known| known.projector);
        let is_array = run.is_array();
        let projectors = projectors.filter(|_| !is_array).chain(std::iter::repeat_with(Projector::default));
        let drives = run.counted().len();
        let known = |projector| Learned { projector, ..Learned::new(&self.spec) };
        self.drives = projectors.take(drives).map(known).collect();
    }

    /// Learns from a period of each drive.
    fn observe(&mut self, periods: &[Period]) {
        for (known, period) in self.drives.iter_mut().zip(periods) {
            known.model.observe(period);
        }
    }

    /// Host units until the phase ends or the next probe is due.
    fn units_left(run: &Run) -> u64 {
        [run.units_left_of_phase(), run.units_left_to_probe()].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Periods until the phase ends or the next probe is due.
    fn left(&self, run: &Run) -> f64 {
        match Self::units_left(run) {
            u64::MAX => f64::INFINITY,
            units => units as f64 / self.period,
        }
    }

    /// Simulates a period, or the rest of its phase. The period is `None` if less than half of it was left.
    fn simulate(
        &mut self,
        run: &mut Run,
        watch: &mut Watch<'_>,
    ) -> Result<(Option<Vec<Period>>, Progress), ForwardError> {
        let start = Start::of(run);
        let units = (self.period as u64).min(Self::units_left(run));
        let progress = advance_filled(run, units, watch)?;
        // A prediction that wore blocks out may let the drive die in the period after it.
        if let Some((drive_writes, true)) = self.predicted_last.take().filter(|_| run.has_died()) {
            self.died_within = Some(drive_writes);
        }
        Ok((self.since(run, start), progress))
    }

    /// What was simulated since a period began, of each drive; `None` if it is too little to predict by, or other drives stand there now.
    fn since(&mut self, run: &Run, start: Start) -> Option<Vec<Period>> {
        let since: Counters = run.counters() - start.counters;
        let filled = since.host_units_filled(run.unit_bytes());
        if filled == 0 {
            return None;
        }
        let (from, span) = (self.at, filled as f64 / self.period);
        self.at += span;
        self.told.periods_simulated += 1;
        if run.standing() != start.standing {
            return None;
        }
        let mut periods = Vec::new();
        for ((known, (counters, drive)), (counted, before)) in
            self.drives.iter_mut().zip(run.counted()).zip(start.drives)
        {
            let since = counters - counted;
            let own = since.host_units_filled(u64::from(drive.unit_bytes()));
            known.share = own as f64 / filled as f64;
            known.write_amplification = since.programmed_total() as f64 / own.max(1) as f64;
            known.by_wear_leveling = since.erases_wear_leveling as f64 / since.erases_total().max(1) as f64;
            let (after, write_amplification) = (drive.superblock_erase_counts().to_vec(), known.write_amplification);
            periods.push(Period { from, span, before, after, write_amplification });
        }
        (span >= SPAN_LEAST).then_some(periods)
    }

    /// Host units of a period.
    pub(crate) fn period_units(&self) -> u64 {
        self.period as u64
    }

    /// Learns from a period that was simulated by a caller, and predicts what it earned: less than `most` units, and no more than the spare
    /// blocks allow. Returns whether it predicted.
    pub(crate) fn learn_and_predict(
        &mut self,
        run: &mut Run,
        start: Start,
        most: u64,
        stop: &AtomicBool,
    ) -> Result<bool, ForwardError> {
        if let Some(period) = self.since(run, start) {
            self.observe(&period);
            self.schedule.simulated();
        }
        let Next::Predict(ahead) = self.schedule.decide() else { return Ok(false) };
        let ahead = self.bounded(run, ahead.min(most as f64 / self.period), spare_share(run));
        if ahead < LEAST {
            return Ok(false);
        }
        self.predict(run, ahead, most, stop)?;
        Ok(true)
    }

    /// Predicts `ahead` periods, at most `most` units, and gives the result to the drive.
    fn predict(&mut self, run: &mut Run, ahead: f64, most: u64, stop: &AtomicBool) -> Result<(), ForwardError> {
        let units = ((ahead * self.period).round() as u64).min(most);
        let ahead = units as f64 / self.period;
        if units == 0 {
            return Ok(());
        }
        let erases = |run: &Run| {
            let counts = |(_, drive): &(Counters, &Drive)| {
                drive.erase_counts().iter().map(|count| u64::from(*count)).sum::<u64>()
            };
            run.counted().iter().map(counts).sum::<u64>()
        };
        let before = erases(run);
        let mut projected = Vec::new();
        for (known, (_, drive)) in self.drives.iter_mut().zip(run.counted()) {
            let now = drive.superblock_erase_counts();
            let predicted = known.model.predict(now, ahead);
            projected.push(known.projector.project(now, &predicted, drive.rated_cycles()));
        }
        let clamped: u64 = projected.iter().map(|projected| projected.clamped).sum();
        let projections: Vec<Projection<'_>> = self
            .drives
            .iter()
            .zip(&projected)
            .map(|(known, projected)| {
                let host_units = (known.share * units as f64).round() as u64;
                Projection {
                    erase_counts: &projected.erase_counts,
                    by_wear_leveling: known.by_wear_leveling,
                    worn: self.spec.worn,
                    host_units,
                    programmed_units: (host_units as f64 * known.write_amplification).round() as u64,
                }
            })
            .collect();
        run.project(units, &projections, stop)?;
        self.at += ahead;
        self.told.predictions += 1;
        self.told.blocks_erased_predicted += erases(run) - before;
        self.told.blocks_clamped += clamped;
        let of_drive = units as f64 / f64::from(run.when_new());
        self.predicted_last = Some((of_drive, clamped > 0));
        if run.is_over() {
            self.died_within = Some(of_drive);
        }
        Ok(())
    }

    /// Runs an adaptive life by its write amplification (000, §3.5.1). While it stays the same, each prediction is longer than the last. After an
    /// outlier, the prediction before it is taken back, and the life continues from there in smaller steps or by simulating the change.
    fn adapt(&mut self, run: &mut Run, watch: &mut Watch<'_>) -> Result<(), ForwardError> {
        let mut detector = Detector::default();
        let mut saved: Option<Box<Saved>> = None;
        let (start, most) = (self.spec.factor - 1.0, self.spec.factor_most - 1.0);
        let retired_blocks = |run: &Run| run.counted().iter().map(|(_, drive)| drive.retired_blocks()).sum::<u32>();
        let (mut pace, mut retired, mut settled) = (start, retired_blocks(run), false);
        loop {
            if self.is_next_phase(run, watch)? {
                (detector, saved, pace, settled) = (Detector::default(), None, start, false);
            }
            let (period, progress) = self.simulate(run, watch)?;
            // If blocks left service, they explain a change, and not the workload.
            let is_worn = retired_blocks(run) > retired;
            retired = retired_blocks(run);
            // Of an array, units programmed for each of its host.
            let amplification: f64 = self.drives.iter().map(|known| known.share * known.write_amplification).sum();
            let judgement = match &period {
                None => Judgement::Unknown,
                Some(_) if is_worn => detector.learn(amplification),
                Some(_) => detector.judge(amplification),
            };
            if judgement == Judgement::Outlier {
                if let Some(saved) = saved.take() {
                    detector = self.go_back(run, *saved);
                    pace /= SLOWER;
                    continue;
                }
                // The change was in a simulated part, so what was learned before no longer holds.
                self.forget(run);
                pace = start;
            }
            saved = None;
            if let Some(period) = &period {
                self.observe(period);
            }
            if progress == Progress::Over {
                return Ok(());
            }
            // A new life must settle first, until the data of preconditioning have found their places.
            settled |= detector.is_full();
            // A period that ended with its phase leaves the run in the next one.
            let is_over = Some((run.present_phase(), run.standing())) != self.belongs_to;
            if judgement != Judgement::Usual || !settled || is_over {
                continue;
            }
            let drift = detector.drift();
            let ahead = if drift > 0.0 { pace.min(DRIFT_MOST / drift) } else { pace };
            // One period is left to judge the prediction.
            let ahead = self.bounded(run, ahead.min(self.left(run) - 1.0), spare_share(run));
            pace = (pace * FASTER).clamp(start.min(1.0), most);
            if ahead >= LEAST {
                saved = Some(Box::new(Saved {
                    run: run.try_clone()?,
                    drives: self.drives.clone(),
                    detector: detector.clone(),
                    at: self.at,
                    told: self.told.clone(),
                }));
                self.predict(run, ahead, Self::units_left(run), watch.stop)?;
            }
        }
    }

    /// Takes the last prediction back, with the periods that were simulated after it.
    fn go_back(&mut self, run: &mut Run, saved: Saved) -> Detector {
        let Saved { run: before, drives, detector, at, told } = saved;
        let in_vain = run.counters().programmed_total() - before.counters().programmed_total();
        let FastForwarded { predictions_taken_back, pages_programmed_in_vain, periods_simulated, .. } = self.told;
        self.told = FastForwarded {
            predictions_taken_back: predictions_taken_back + 1,
            pages_programmed_in_vain: pages_programmed_in_vain + in_vain,
            periods_simulated,
            ..told
        };
        (*run, self.drives, self.at) = (before, drives, at);
        self.died_within = None;
        detector
    }

    /// The longest prediction, up to `ahead`, that does not bring more blocks of any drive to their rated erases than this share of its spare blocks, nor
    /// one as far as its operator lets it come.
    fn bounded(&self, run: &Run, ahead: f64, spare_share: f64) -> f64 {
        let of_drive = |(known, (_, drive)): (&Learned, (Counters, &Drive))| {
            bounded_by(known.model.as_ref(), drive, ahead, spare_share, run.replaced_at())
        };
        self.drives.iter().zip(run.counted()).map(of_drive).fold(ahead, f64::min)
    }

    /// The figures of the life.
    fn told(mut self, run: &Run) -> FastForwarded {
        let of_drive = |units: u64| units as f64 / f64::from(run.when_new());
        let (counted, predicted) = (run.counters(), run.predicted());
        let simulated = counted.host_units_filled(run.unit_bytes());
        self.told.drive_writes_simulated = of_drive(simulated);
        self.told.drive_writes_predicted = of_drive(predicted);
        self.told.blocks_erased_simulated = counted.erases_total();
        // Parts that were simulated in vain took as long as others.
        let paid = 1.0 + self.told.pages_programmed_in_vain as f64 / counted.programmed_total().max(1) as f64;
        self.told.factor_reached = (simulated + predicted) as f64 / (simulated as f64 * paid).max(1.0);
        self.told
    }
}

/// Share of the spare blocks that one prediction may wear out. Of an array none spans the retirement of a block, and with it a death, a rebuild or what a
/// member demands: then all is simulated.
fn spare_share(run: &Run) -> f64 {
    if run.is_array() { 0.0 } else { SPARE_SHARE }
}

/// See [`Forward::bounded`].
fn bounded_by(model: &dyn Model, drive: &Drive, ahead: f64, spare_share: f64, replaced_at: Option<f64>) -> f64 {
    let Some(rated) = drive.rated_cycles() else { return ahead };
    let units = u64::from(drive.layout().units_per_block());
    let spare = drive.service_units().saturating_sub(u64::from(drive.exported())) / units;
    let now = drive.superblock_erase_counts();
    let retired = drive.retired_blocks() as usize;
    let worn = |ahead: f64| {
        let predicted = model.predict(now, ahead);
        let at_end =
            predicted.iter().zip(now).filter(|(predicted, now)| **predicted + 0.5 >= f64::from(rated.max(**now)));
        at_end.count().saturating_sub(retired)
    };
    let most = (spare as f64 * spare_share) as usize;
    let next = model.predict(now, 1.0);
    let grown = || next.iter().zip(now).map(|(next, now)| next - f64::from(*now));
    let mut ahead = ahead.min(WEAR_SHARE * f64::from(rated) / grown().fold(0.0, f64::max).max(f64::MIN_POSITIVE));
    if let Some((share, used)) = replaced_at.zip(drive.life_used()) {
        let pace = grown().sum::<f64>() / now.len() as f64 / f64::from(rated);
        ahead = ahead.min(((share - used) / pace.max(f64::MIN_POSITIVE)).max(0.0));
    }
    if worn(ahead) <= most {
        return ahead;
    }
    let (mut low, mut high) = (0.0, ahead);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if worn(middle) <= most { low = middle } else { high = middle }
    }
    low
}

/// Advances until the bytes that the host wrote would fill `units` units more. Where it writes pages in part, it takes more pages.
fn advance_filled(run: &mut Run, units: u64, watch: &mut Watch<'_>) -> Result<Progress, SourceError> {
    let until = run.written() + units;
    loop {
        let progress = run.advance(Budget::units(until - run.written()), watch)?;
        if progress == Progress::Over || run.written() >= until || watch.is_stopped() {
            return Ok(progress);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulated_part_of_a_life_is_known_before_it_is_run() {
        let spec = |factor: f64, period: f64, adaptive: bool| FastForward {
            factor,
            period,
            adaptive,
            ..FastForward::default()
        };
        for (spec, drive_writes, want) in [
            // As the schedule's own test has them.
            (spec(2.0, 1.0, false), 100.0, 51.0),
            (spec(3.0, 1.0, false), 100.0, 34.0),
            (spec(3.0, 0.1, false), 10.0, 3.4),
            (spec(1.0, 1.0, false), 9.5, 9.5),
            // Two periods are needed before the first prediction.
            (spec(4.0, 1.0, false), 1.5, 1.5),
            (spec(2.0, 1.0, true), 100.0, 100.0),
            (spec(10.0, 1e-3, false), 1000.0, 100.0),
        ] {
            let found = simulated(&spec, drive_writes);
            assert!((found - want).abs() <= 2e-3 * want, "{spec:?}: {found} of {drive_writes}");
        }
    }
}
