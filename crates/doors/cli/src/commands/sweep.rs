//! `wane run --sweep`: runs the cells of a grid, writes their files, and prints the results.

use std::io::IsTerminal as _;

use wane_report as report;
use wane_results::{
    Column, Common, GRID, GridCell, MadeBy, REPORT, RUNS, RunResult, SeededCell, Summary, WINDOWS_CSV, grid_columns,
    grid_csv, leaves_of, seeded_grid_csv, whole_runs, windows_csv,
};
use wane_scenario::Scenario;

use super::cells::{Finished, run_cells};
use super::grid::Grid;
use super::run::tell_ages;
use crate::args::RunArguments;
use crate::output::{Failure, pretty, print};

/// Runs each cell of `grid`, whose last axis has `seeds` seeds if there are several.
pub(super) fn sweep(
    grid: &Grid,
    seeds: usize,
    arguments: &RunArguments,
    resolve: &dyn Fn(&[String]) -> Result<Scenario, Failure>,
) -> Result<i32, Failure> {
    let swept = Swept::new(grid, arguments.seeds.map(|_| seeds));
    report::check_table(swept.keys(), &shown(arguments)).map_err(Failure::wrong)?;
    let mut cells = Vec::new();
    for (number, row) in swept.rows.iter().enumerate() {
        let set = grid.assignments(row);
        let mut scenario = resolve(&set)?;
        scenario.name = set.join(" ");
        cells.push((number.to_string(), scenario));
    }
    let Finished { results, code, failure } =
        run_cells(&cells, MadeBy::Sweep, arguments, &|results| swept.files(results))?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    tell_ages(&results);
    if arguments.json {
        let summaries: Vec<Option<&Summary>> =
            results.iter().map(|result| result.as_ref().map(|result| &result.summary)).collect();
        print(&pretty(&summaries)?)?;
    } else if arguments.table || (!arguments.csv && (asks_for_table(arguments) || std::io::stdout().is_terminal())) {
        print(&(swept.table(&results, &shown(arguments)) + &place(arguments)))?;
    } else {
        print(&swept.grid(&results))?;
    }
    Ok(code)
}

/// Whether `--columns` or `--sort` asks for the table, wherever the output goes.
const fn asks_for_table(arguments: &RunArguments) -> bool {
    !arguments.columns.is_empty() || arguments.sort.is_some()
}

/// Says where the report is.
fn place(arguments: &RunArguments) -> String {
    match &arguments.out {
        Some(out) => format!("report: {}\n", out.join(REPORT).display()),
        None => "give --out DIR to keep the results and draw them\n".to_owned(),
    }
}

/// A grid's keys and the values of its runs.
pub struct Swept {
    keys: Vec<String>,
    /// The values of each run.
    rows: Vec<Vec<String>>,
    /// Number of consecutive runs that are seeds of one cell, if seeds were asked for; the last key is the seed then.
    seeds: Option<usize>,
}

/// Returns the columns and the order of the table.
fn shown(arguments: &RunArguments) -> report::Shown<'_> {
    report::Shown { columns: &arguments.columns, sort: arguments.sort.as_deref() }
}

impl Swept {
    /// Makes the sweep of a grid. `seeds` is the number of seeds on its last axis, if seeds were asked for.
    pub fn new(grid: &Grid, seeds: Option<usize>) -> Self {
        let swept = Self { keys: grid.keys(), rows: grid.rows().collect(), seeds };
        assert!(swept.rows.iter().all(|row| row.len() == swept.keys.len()), "each run has a value for each key");
        assert!(
            seeds.is_none_or(|seeds| seeds > 0 && swept.rows.len().is_multiple_of(seeds)),
            "each cell has all seeds"
        );
        swept
    }

    /// Returns a table with a row for each run, in grid order: the values of all keys, and the results.
    pub fn columns(&self, results: &[Option<RunResult>]) -> Vec<Column> {
        self.with_cells(results, |cells| grid_columns(&self.keys, &leaves_of(results.iter().flatten()), cells))
    }

    /// Returns the table of cells for people, the best first.
    pub fn in_words(&self, results: &[Option<RunResult>]) -> String {
        self.table(results, &report::Shown::default())
    }

    /// The swept keys; the last is the seed if seeds were asked for.
    pub fn all_keys(&self) -> &[String] {
        &self.keys
    }

    /// The swept keys without the seed.
    fn keys(&self) -> &[String] {
        &self.keys[..self.keys.len() - usize::from(self.seeds.is_some())]
    }

    /// Makes the files that lie beside the runs.
    pub fn files(&self, results: &[Option<RunResult>]) -> Vec<(&'static str, Vec<u8>)> {
        let present: Vec<RunResult> = results.iter().flatten().cloned().collect();
        let runs = self.rows.iter().zip(results);
        let windows: Vec<(&[String], &RunResult)> =
            runs.filter_map(|(row, result)| Some((row.as_slice(), result.as_ref()?))).collect();
        let mut files = vec![(GRID, self.grid(results).into_bytes()), (REPORT, report::render(&present).into_bytes())];
        if self.seeds.is_some() {
            files.push((RUNS, self.runs(results).into_bytes()));
        }
        let windows = windows_csv(&self.keys, &windows);
        if !windows.is_empty() {
            files.push((WINDOWS_CSV, windows.into_bytes()));
        }
        files
    }

    /// Summaries at the age that all runs have.
    fn summaries(results: &[Option<RunResult>]) -> Vec<Option<Summary>> {
        let common = Common::of(results.iter().flatten());
        results.iter().map(|result| result.as_ref().map(|result| result.summary_at(common))).collect()
    }

    /// The cells for people.
    fn table(&self, results: &[Option<RunResult>], shown: &report::Shown<'_>) -> String {
        assert_eq!(results.len(), self.rows.len(), "each run has a result, or none where it was stopped");
        let keys = self.keys();
        let (mut present, mut cells) = (Vec::new(), Vec::new());
        let seeds = self.seeds.unwrap_or(1);
        for (rows, results) in self.rows.chunks(seeds).zip(results.chunks(seeds)) {
            let from = present.len();
            present.extend(results.iter().flatten().cloned());
            cells.push(report::Cell { values: rows[0][..keys.len()].to_vec(), runs: from..present.len() });
        }
        report::sweep_table(&present, keys, &cells, shown)
    }

    /// A line a cell.
    fn grid(&self, results: &[Option<RunResult>]) -> String {
        let Some(seeds) = self.seeds else { return self.runs(results) };
        let summaries = Self::summaries(results);
        let cells = self.rows.chunks(seeds).zip(summaries.chunks(seeds)).map(|(rows, summaries)| SeededCell {
            values: &rows[0][..self.keys().len()],
            summaries: whole_runs(summaries.iter().flatten().cloned().collect(), |summary| summary),
        });
        seeded_grid_csv(self.keys(), &leaves_of(results.iter().flatten()), &cells.collect::<Vec<_>>())
    }

    /// A line a run.
    fn runs(&self, results: &[Option<RunResult>]) -> String {
        self.with_cells(results, |cells| grid_csv(&self.keys, &leaves_of(results.iter().flatten()), cells))
    }

    /// Calls `use_cells` with a cell for each run.
    fn with_cells<T>(&self, results: &[Option<RunResult>], use_cells: impl FnOnce(&[GridCell<'_>]) -> T) -> T {
        assert_eq!(results.len(), self.rows.len(), "each run has a result, or none where it was stopped");
        let summaries = Self::summaries(results);
        let cells = self.rows.iter().zip(&summaries);
        let cells: Vec<GridCell<'_>> =
            cells.map(|(values, summary)| GridCell { values, summary: summary.as_ref() }).collect();
        use_cells(&cells)
    }
}
