//! What a run records: counts from a start, the rows of its life, its last drive write, and what an observer measures. Each is there
//! or not.

use std::collections::VecDeque;

use wane_results::{BlockAges, Counters, EraseCounts, Row, Timeline, WearSnapshot};
use wane_ssd::Drive;
use wane_units::{BlockId, BlockState, SuperblockId};

use crate::host::Host;
use crate::observer::Observer;

/// Rows of the timeline for each drive write at the start.
const ROWS_PER_DRIVE_WRITE: u64 = 64;

/// Number of steps in which the window of the last drive write is kept.
const WINDOW_STEPS: u64 = 64;

/// What a record looks at: a drive or several, and what their host does with them.
pub(crate) trait Recorded {
    /// The drive; of an array, the first that has power.
    fn drive(&self) -> &Drive;
    /// The one drive; `None` of an array.
    fn only(&self) -> Option<&Drive>;
    /// All drives that have power.
    fn drives(&self) -> Vec<&Drive>;
    /// Logical units when it was new.
    fn when_new(&self) -> u32;
    /// What it counted since it was new.
    fn counters(&self) -> Counters;
    fn unit_bytes(&self) -> u64;
    /// Logical units that its host still uses.
    fn exported(&self) -> u32;
    /// Units that were predicted instead of written since it was new.
    fn predicted_units(&self) -> u64;
    /// Units trimmed because their space was given up, not by the workload.
    fn trimmed(&self) -> u64;
}

/// See the head of this file.
pub(crate) struct Record {
    /// Counters when counting started.
    zero: Counters,
    /// Host units that had been predicted when counting started.
    predicted_before: u64,
    mean_at_start: f64,
    young_below: Option<u32>,
    /// `None` for a run whose life is not told.
    course: Option<Course>,
    pub(crate) observer: Option<Box<Observer>>,
}

/// The course of a life: its rows, and the steps of its last drive write.
#[derive(Clone)]
struct Course {
    timeline: Timeline,
    /// Host units written at which the next row is due.
    row_due: u64,
    steps: VecDeque<Counters>,
    /// Host units of a step.
    step: u64,
    /// Host units written at which the next step is due.
    step_due: u64,
}

impl Record {
    /// Makes a record without a course.
    pub(crate) fn new(young_below: Option<u32>, observer: Option<Box<Observer>>) -> Self {
        Self { zero: Counters::default(), predicted_before: 0, mean_at_start: 0.0, young_below, course: None, observer }
    }

    /// The same, with the course of the life of a drive of `logical_units`.
    pub(crate) fn with_course(self, logical_units: u32) -> Self {
        let logical = u64::from(logical_units);
        let course = Course {
            timeline: Timeline::new((logical / ROWS_PER_DRIVE_WRITE).max(1)),
            row_due: 0,
            steps: VecDeque::new(),
            step: logical.div_ceil(WINDOW_STEPS),
            step_due: 0,
        };
        Self { course: Some(course), ..self }
    }

    /// Makes an independent copy.
    pub(crate) fn another(&self) -> Self {
        Self {
            zero: self.zero,
            predicted_before: self.predicted_before,
            mean_at_start: self.mean_at_start,
            young_below: self.young_below,
            course: self.course.clone(),
            observer: self.observer.as_ref().map(|observer| Box::new(observer.another())),
        }
    }

    /// Counts from these counters on.
    pub(crate) fn count_from(&mut self, zero: Counters) {
        self.zero = zero;
    }

    /// The counters at which counting started.
    pub(crate) fn counted_from(&self) -> Counters {
        self.zero
    }

    /// Starts counting.
    pub(crate) fn start(&mut self, host: &mut Host) {
        if self.observer.as_ref().is_some_and(|observer| observer.times_the_run()) {
            host.device().flush();
        }
        self.begin(host);
        host.start_files();
        // Those of an array level from the start.
        if let Some(drive) = host.device().one_drive() {
            drive.set_leveling(true);
        }
        if let Some(observer) = &mut self.observer {
            observer.start(host);
        }
        self.begin_step(host);
        self.sample(host, 0);
    }

    /// Starts counting what a drive does that is not observed.
    pub(crate) fn start_of(&mut self, drive: &impl Recorded) {
        self.begin(drive);
        self.begin_step(drive);
        self.sample(drive, 0);
    }

    fn begin(&mut self, host: &impl Recorded) {
        (self.zero, self.predicted_before) = (host.counters(), host.predicted_units());
        let drives = host.drives();
        let counts = || drives.iter().flat_map(|drive| drive.superblock_erase_counts());
        self.mean_at_start = counts().map(|count| f64::from(*count)).sum::<f64>() / counts().count() as f64;
    }

    /// Mean erase count when counting started.
    pub(crate) fn mean_at_start(&self) -> f64 {
        self.mean_at_start
    }

    /// The counters since counting started, without what the host gave up.
    pub(crate) fn counters(&self, host: &impl Recorded) -> Counters {
        let mut counters = host.counters() - self.zero;
        assert!(host.trimmed() <= counters.host_units_trimmed, "the host gave up no more than the drive trimmed");
        counters.host_units_trimmed -= host.trimmed();
        counters
    }

    /// Whole units that the bytes written by the host since counting started would fill.
    #[inline(always)]
    pub(crate) fn written(&self, host: &impl Recorded) -> u64 {
        let unit_bytes = host.unit_bytes();
        host.counters().host_units_filled(unit_bytes) - self.zero.host_units_filled(unit_bytes)
    }

    /// Host units of the life that were predicted instead of simulated.
    pub(crate) fn predicted(&self, host: &impl Recorded) -> u64 {
        host.predicted_units() - self.predicted_before
    }

    /// Host units of the life since counting started, including predicted ones.
    pub(crate) fn lived(&self, host: &impl Recorded) -> u64 {
        self.written(host) + self.predicted(host)
    }

    /// Notes that `units` host units were predicted.
    pub(crate) fn predict(&mut self, units: u64) {
        if let Some(observer) = &mut self.observer {
            observer.predict(units);
        }
    }

    /// Host units written at which something is due, if anything is.
    #[inline]
    pub(crate) fn due(&self) -> Option<u64> {
        self.course.as_ref().map(|course| course.row_due.min(course.step_due))
    }

    /// Takes the row or the step that is due at `written` host units, in phase `phase`.
    #[inline]
    pub(crate) fn sample_if_due(&mut self, host: &impl Recorded, written: u64, phase: u32) {
        let Some(course) = &self.course else { return };
        let (row_is_due, step_is_due) = (written >= course.row_due, written >= course.step_due);
        if row_is_due {
            self.sample(host, phase);
        }
        if step_is_due {
            self.begin_step(host);
        }
    }

    fn begin_step(&mut self, host: &impl Recorded) {
        let counters = self.counters(host);
        let Some(course) = &mut self.course else { return };
        let last = course.steps.back().map_or(0, |last| last.host_units_written);
        debug_assert!(last <= counters.host_units_written, "steps of the window come in order");
        course.steps.push_back(counters);
        course.step_due = counters.host_units_written + course.step;
        if course.steps.len() as u64 > WINDOW_STEPS + 2 {
            course.steps.pop_front();
        }
    }

    /// Takes a row of the life.
    pub(crate) fn sample(&mut self, host: &impl Recorded, phase: u32) {
        if self.course.is_none() {
            return;
        }
        let (drives, when_new) = (host.drives(), f64::from(host.when_new()));
        let row = Row {
            drive_writes: self.lived(host) as f64 / when_new,
            drive_writes_predicted: self.predicted(host) as f64 / when_new,
            phase,
            counters: self.counters(host),
            erase_count: match &drives[..] {
                [drive] => EraseCounts::of(drive.erase_counts()),
                several => {
                    EraseCounts::of(&several.iter().flat_map(|drive| drive.erase_counts().to_vec()).collect::<Vec<_>>())
                }
            },
            blocks_retired: drives.iter().map(|drive| drive.retired_blocks() * drive.layout().width()).sum(),
            exported_bytes: u64::from(host.exported()) * host.unit_bytes(),
            states: host.only().and_then(|drive| self.states(drive)),
        };
        let Some(course) = &mut self.course else { return };
        course.timeline.push(row);
        course.row_due = course.timeline.due_at();
    }

    /// The ages of the blocks, if they are known or the mode depends on them.
    fn states(&self, drive: &Drive) -> Option<BlockAges> {
        if self.young_below.is_none() && !drive.judges_mode() {
            return None;
        }
        let width = drive.layout().width();
        let in_service = (drive.layout().blocks() - drive.retired_blocks()) * width;
        let count = |young_below: u32| {
            let counts = drive.layout().superblocks().zip(drive.superblock_erase_counts());
            let young =
                counts.filter(|(block, erases)| **erases < young_below && drive.state(*block) != BlockState::Retired);
            young.count() as u32 * width
        };
        let young = self.young_below.map(count);
        let surplus = drive.mode_view().effective_over_provisioning();
        Some(BlockAges {
            young,
            middle_aged: young.map(|young| in_service - young),
            effective_over_provisioning: surplus.is_finite().then_some(surplus),
            degraded: drive.trigger(),
        })
    }

    /// The counters at the step from which the last drive write is counted, of `logical` units.
    pub(crate) fn before_last(&self, counters: &Counters, logical: u64) -> Counters {
        let from = counters.host_units_written.saturating_sub(logical);
        let steps = self.course.iter().flat_map(|course| course.steps.iter().rev());
        steps.copied().find(|earlier| earlier.host_units_written <= from).unwrap_or_default()
    }

    /// The rows of the life.
    pub(crate) fn into_rows(self) -> Vec<Row> {
        self.course.map(|course| course.timeline.into_rows()).unwrap_or_default()
    }
}

/// The present wear of the blocks of drives.
pub(crate) fn wear(drives: &[&Drive]) -> WearSnapshot {
    WearSnapshot::of_drives(drives.iter().map(|drive| wear_of(drive)))
}

/// The present wear of a drive's blocks.
fn wear_of(drive: &Drive) -> WearSnapshot {
    let geometry = *drive.geometry();
    let layout = drive.layout();
    let holders: Vec<SuperblockId> = BlockId::all(0..geometry.blocks()).map(|block| layout.holder(block)).collect();
    let state = |holder: &SuperblockId| drive.state(*holder);
    // A superblock's valid units are spread over its members, so each shows its share.
    let valid = |holder: &SuperblockId| drive.valid(*holder) / layout.width();
    WearSnapshot::new(
        geometry,
        drive.erase_counts().to_vec(),
        holders.iter().map(valid).collect(),
        holders.iter().map(state).collect(),
    )
}
