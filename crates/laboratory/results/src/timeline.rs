//! A run's life in at most 2,048 rows.
//!
//! The length of a life is unknown in advance. Sampling starts with a short interval. Whenever the rows are full, every
//! second one is dropped and the interval doubles, so that the rows always cover the whole life evenly.

use wane_units::Trigger;

use super::{Counters, EraseCounts, WriteAmplification, write_amplification};

/// Most rows that a timeline holds.
pub const TIMELINE_ROWS_MAX: usize = 2048;

/// The drive at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Host pages written divided by the logical pages of the new drive, including predicted ones.
    pub drive_writes: f64,
    /// Drive writes that were predicted instead of simulated.
    pub drive_writes_predicted: f64,
    /// Index of the scenario's phase.
    pub phase: u32,
    /// Counts from the end of preconditioning to this moment.
    pub counters: Counters,
    /// Erase counts of all physical blocks.
    pub erase_count: EraseCounts,
    /// Blocks out of service.
    pub blocks_retired: u32,
    /// Bytes that the drive exports.
    pub exported_bytes: u64,
    /// The ages of its blocks, if it is known when a block stops being young or the drive may become degraded.
    pub states: Option<BlockAges>,
}

/// Blocks of a drive by age between new and retired (001, section 3.2.2), and what follows for the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockAges {
    /// Blocks in service that can be read without a re-read right after a program; `None` if the boundary is unknown.
    pub young: Option<u32>,
    /// Older blocks in service.
    pub middle_aged: Option<u32>,
    /// (Capacity of the blocks in service - data) / data; `None` without data.
    pub effective_over_provisioning: Option<f64>,
    /// What made the drive degraded; `None` while it is normal.
    pub degraded: Option<Trigger>,
}

/// Rows in order of host units written.
#[derive(Clone, Debug)]
pub struct Timeline {
    rows: Vec<Row>,
    interval: u64,
}

impl Timeline {
    /// An empty timeline with a row due every `interval_units` host units, from 0 on. Zero counts as one.
    pub fn new(interval_units: u64) -> Self {
        Self { rows: Vec::with_capacity(TIMELINE_ROWS_MAX), interval: interval_units.max(1) }
    }

    /// Host units written at which the next row is due.
    pub fn due_at(&self) -> u64 {
        let last = self.rows.last().map(|last| last.counters.host_units_written);
        let due = last.map_or(0, |last| (last / self.interval + 1) * self.interval);
        debug_assert!(last.is_none_or(|last| last < due), "the next row comes after the last");
        due
    }

    /// Adds a row. A row at the same host units as the last one replaces it, so that the end of a run may always be pushed.
    ///
    /// # Panics
    /// The row is before the last one.
    pub fn push(&mut self, row: Row) {
        if let Some(last) = self.rows.last_mut() {
            let (before, now) = (last.counters.host_units_written, row.counters.host_units_written);
            assert!(before <= now, "rows come in order: {now} host units after {before}");
            if before == now {
                *last = row;
                return;
            }
        }
        if self.rows.len() == TIMELINE_ROWS_MAX {
            let mut index = 0;
            self.rows.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.interval = self.interval.saturating_mul(2);
        }
        assert!(self.rows.len() < TIMELINE_ROWS_MAX, "every second row makes room for new ones");
        self.rows.push(row);
    }

    /// The rows so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows.
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }
}

/// The write amplification of each row's interval: since the row before, or since counting began for the first. An interval of
/// less than half the one before it, as the last one may be, is combined with that one, since a few writes during one
/// collection say nothing about the drive. `page_bytes`: see [`crate::Host::page_bytes`].
pub fn windows(rows: &[Row], page_bytes: u64) -> Vec<WriteAmplification> {
    let before = |index: usize, back: usize| {
        index.checked_sub(back).map_or_else(Counters::default, |earlier| rows[earlier].counters)
    };
    let written = |counters: Counters| counters.host_units_written;
    let since = |index: usize| {
        let (now, last) = (rows[index].counters, before(index, 1));
        let is_short = 2 * (written(now) - written(last)) < written(last) - written(before(index, 2));
        now - before(index, if is_short { 2 } else { 1 })
    };
    (0..rows.len()).map(|index| write_amplification(&since(index), page_bytes)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(units: u64) -> Row {
        let counters = Counters { host_units_written: units, programmed_host: units, ..Counters::default() };
        Row { drive_writes: units as f64, counters, ..Row::default() }
    }

    #[test]
    fn sampling_halves_its_rate_when_the_rows_are_full() {
        let mut timeline = Timeline::new(10);
        let mut taken = 0;
        for units in 0..=100_000 {
            if units == timeline.due_at() {
                timeline.push(row(units));
                taken += 1;
            }
            assert!(timeline.rows().len() <= TIMELINE_ROWS_MAX);
        }
        // 2,048 rows every 10 units, then 1,024 more every 20, every 40, and the rest every 80.
        let written: Vec<u64> = timeline.rows().iter().map(|row| row.counters.host_units_written).collect();
        assert_eq!(written, (0..=100_000).step_by(80).collect::<Vec<_>>());
        assert_eq!(taken, 2048 + 1024 + 1024 + (100_000 - 81_920) / 80 + 1);
    }

    #[test]
    fn the_end_is_kept_wherever_it_falls() {
        for last in [20_470, 20_471, 20_475, 20_480, 20_481] {
            let mut timeline = Timeline::new(10);
            for units in (0..=20_470).step_by(10) {
                timeline.push(row(units));
            }
            assert_eq!(timeline.rows().len(), TIMELINE_ROWS_MAX);
            timeline.push(row(last));
            assert_eq!(timeline.rows().last(), Some(&row(last)), "{last}");
            assert_eq!(timeline.rows()[0], row(0));
        }
    }

    #[test]
    fn a_late_row_does_not_shift_the_next() {
        let mut timeline = Timeline::new(10);
        timeline.push(row(0));
        timeline.push(row(17));
        assert_eq!(timeline.due_at(), 20);
    }

    #[test]
    fn a_window_spans_from_the_row_before() {
        let mut second = row(30);
        second.counters.programmed_gc = 40;
        let windows = windows(&[row(0), row(10), second], 4096);
        assert_eq!(windows.iter().map(|window| window.gc).collect::<Vec<_>>(), [None, Some(1.0), Some(3.0)]);
    }

    #[test]
    fn a_short_last_window_is_taken_with_the_one_before() {
        let at = |units, gc| {
            let mut row = row(units);
            row.counters.programmed_gc = gc;
            row
        };
        let gc = |rows: &[Row]| windows(rows, 4096).last().and_then(|window| window.gc);
        assert_eq!(gc(&[at(0, 0), at(100, 0), at(200, 100), at(204, 124)]), Some(228.0 / 104.0));
        assert_eq!(gc(&[at(0, 0), at(100, 0), at(200, 100), at(250, 400)]), Some(7.0));
    }
}
