//! A sweep as a table for the terminal: one line for each cell, with the swept values and the measures worth seeing, the best first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value;

use super::differences::leaves;
use super::groups::{Group, groups, is_repeated};
use super::metrics::{Better, METRICS, Measured, Metric, are_told_apart, measured, rests_on_few};
use super::numbers::{counted, plain};
use super::settled::unsettled;
use super::words::as_of_arrays;
use wane_results::{Common, EndReason, Estimate, FastForwarded, RunResult, is_same};
use wane_units::did_you_mean;

/// Most measures that are shown unless others are asked for.
const COLUMNS_MAX: usize = 6;
/// Fewest measures that are shown then, even if they differ little.
const COLUMNS_MIN: usize = 4;
/// What stands where there is no figure.
const NOTHING: &str = "-";

/// A cell of a sweep.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The value of each swept key, as the user wrote it.
    pub values: Vec<String>,
    /// Its runs, of several seeds or one.
    pub runs: Range<usize>,
}

/// What the table shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'a> {
    /// Names of measures, or paths of the summary such as `wear.jain_index`; if empty, the measures worth seeing.
    pub columns: &'a [String],
    /// A column or a swept key, with or without `:up` or `:down` behind it; if `None`, the first column.
    pub sort: Option<&'a str>,
}

/// Which end of the values comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Splits a sort order into its name, and its direction if it has one.
fn sorted_by(sort: &str) -> (&str, Option<Direction>) {
    let sort = sort.trim();
    let directed = [(":up", Direction::Up), (":down", Direction::Down)];
    let ends = |end: &str| sort.to_ascii_lowercase().ends_with(end).then(|| &sort[..sort.len() - end.len()]);
    let directed = directed.into_iter().find_map(|(end, direction)| Some((ends(end)?, Some(direction))));
    directed.unwrap_or((sort, None))
}

/// A column of figures.
struct Column {
    name: String,
    better: Better,
    /// Whether it measures requests, and so covers a part of the life.
    is_timed: bool,
    /// The figures of each cell's runs, by seed.
    values: Vec<BTreeMap<u64, f64>>,
    /// Each cell's figure in words.
    told: Vec<String>,
    /// Whether each cell was interrupted: its figures then cover another stretch than the others'.
    interrupted: Vec<bool>,
}

impl Column {
    fn without_figures(metric: &Metric, cells: usize) -> Self {
        let told = vec![NOTHING.to_owned(); cells];
        let (values, interrupted) = (vec![BTreeMap::new(); cells], vec![false; cells]);
        let (name, is_timed) = (metric.name.to_owned(), metric.is_timed());
        Self { name, better: Better::Neither, is_timed, values, told, interrupted }
    }

    /// Whether it has figures of requests, which belong to an age of the drive.
    fn is_of_an_age(&self) -> bool {
        self.is_timed && self.values.iter().any(|values| !values.is_empty())
    }

    fn mean(&self, cell: usize) -> Option<f64> {
        estimate(&self.values[cell]).map(|estimate| estimate.mean)
    }

    /// The cells from the best on, in grid order where neither end is better.
    fn order(&self) -> Vec<usize> {
        match self.better {
            Better::Neither => self.directed(None),
            Better::Less => self.directed(Some(Direction::Up)),
            Better::More => self.directed(Some(Direction::Down)),
        }
    }

    /// The cells by size; interrupted ones and those without a figure last.
    fn directed(&self, direction: Option<Direction>) -> Vec<usize> {
        let mut cells: Vec<usize> = (0..self.values.len()).collect();
        if self.values.iter().all(BTreeMap::is_empty) {
            cells.sort_by_key(|cell| (self.told[*cell] == NOTHING, self.told[*cell].as_str()));
            if direction == Some(Direction::Down) {
                cells.reverse();
            }
            return cells;
        }
        let key = |cell: &usize| match (self.mean(*cell), direction) {
            (None, _) => f64::INFINITY,
            _ if self.interrupted[*cell] => f64::MAX,
            (Some(_), None) => 0.0,
            (Some(mean), Some(Direction::Up)) => mean,
            (Some(mean), Some(Direction::Down)) => -mean,
        };
        cells.sort_by(|left, right| key(left).total_cmp(&key(right)));
        cells
    }

    /// Whether no cell has more than one seed.
    fn is_of_one_seed(&self) -> bool {
        self.values.iter().all(|values| values.len() <= 1)
    }

    /// The mark of each cell: `*` for the best, `=` where the seeds do not distinguish a cell from it, `!` where it was interrupted. Where one
    /// seed does not tell the best from another, it is no winner and has `=` as well.
    fn marks(&self) -> Vec<char> {
        let best = self.order().into_iter().find(|cell| !self.interrupted[*cell] && self.better != Better::Neither);
        let Some((best, most)) = best.and_then(|best| Some((best, self.mean(best)?))) else {
            return self.interrupted.iter().map(|stopped| if *stopped { '!' } else { ' ' }).collect();
        };
        let is_best = |cell: usize| self.mean(cell).is_some_and(|mean| is_same(mean, most));
        // A mark that all have says nothing.
        let all_tie = (0..self.values.len()).all(|cell| self.mean(cell).is_none() || is_best(cell));
        let is_near = |cell: usize| {
            self.mean(cell).is_some() && !self.interrupted[cell] && !is_best(cell) && !self.is_told_apart(best, cell)
        };
        let is_no_winner = self.is_of_one_seed() && (0..self.values.len()).any(is_near);
        let mark = |cell: usize| match self.mean(cell) {
            _ if self.interrupted[cell] => '!',
            Some(_) if is_best(cell) => match (all_tie, is_no_winner) {
                (true, _) => ' ',
                (false, true) => '=',
                (false, false) => '*',
            },
            Some(_) if !self.is_told_apart(best, cell) => '=',
            _ => ' ',
        };
        (0..self.values.len()).map(mark).collect()
    }

    /// See [`are_told_apart`].
    fn is_told_apart(&self, best: usize, cell: usize) -> bool {
        are_told_apart(&self.values[best], &self.values[cell])
    }
}

/// Refuses columns and an order that no sweep of these keys could have, before hours of work.
///
/// # Errors
/// A column is neither a measure nor a path, or the order is neither one of these nor a key; the message names what there is.
pub fn check_table(keys: &[String], shown: &Shown<'_>) -> Result<(), String> {
    let is_known = |name: &str| metric_of(name.trim()).is_some() || name.contains('.');
    let ids: Vec<&str> = METRICS.iter().map(|metric| metric.id).collect();
    let measures = || ids.join(", ");
    if let Some(name) = shown.columns.iter().find(|name| !is_known(name)) {
        let hint = did_you_mean(name, &ids);
        let name = wane_units::excerpt(name);
        return Err(format!(
            "--columns: there is no measure \"{name}\"; there are {}, and figures of summary.json such as wear.erase_count.max{hint}",
            measures()
        ));
    }
    let is_sortable = |name: &str| is_known(name) || key_of(keys, name).is_some();
    match shown.sort.map(|sort| sorted_by(sort).0).filter(|name| !is_sortable(name)) {
        Some(name) => {
            let hint = name.strip_prefix('-').filter(|name| is_sortable(name));
            let hint = hint.map_or_else(String::new, |name| format!("; {name}:down puts the largest first"));
            Err(format!(
                "--sort: \"{}\" is neither a swept key ({}) nor a measure: {}{hint}",
                wane_units::excerpt(name),
                keys.join(", "),
                measures()
            ))
        }
        None => Ok(()),
    }
}

/// The measure of an id, a name or an abbreviation of the glossary.
fn metric_of(name: &str) -> Option<&'static Metric> {
    let name = if name.eq_ignore_ascii_case("waf") { "amplification" } else { name };
    METRICS.iter().find(|metric| metric.id.eq_ignore_ascii_case(name) || metric.name.eq_ignore_ascii_case(name))
}

/// The place of a key by its whole name or its heading.
fn key_of(keys: &[String], name: &str) -> Option<usize> {
    let headings = headings(keys);
    (0..keys.len()).find(|key| keys[*key] == name || headings[*key] == name)
}

/// The table of a sweep, and a line that explains its marks. What [`check_table`] refuses is left out.
pub fn sweep_table(runs: &[RunResult], keys: &[String], cells: &[Cell], shown: &Shown<'_>) -> String {
    debug_assert!(cells.iter().all(|cell| cell.values.len() == keys.len()), "a cell has a value for each swept key");
    debug_assert!(cells.iter().all(|cell| cell.runs.end <= runs.len()), "a cell's runs are among those given");
    let groups = groups(runs);
    let sweep = Sweep::of(runs, &groups, cells);
    let mut columns = sweep.columns(shown.columns);
    if columns.iter().any(Column::is_of_an_age) && !is_of_one_age(&groups) {
        columns.push(sweep.of_path(END_OF_AGE));
    }
    // The column that is sorted by, if it is not shown.
    let mut sorted = None;
    let order = match shown.sort {
        None => columns.first().map(Column::order),
        Some(sort) => {
            let (name, direction) = sorted_by(sort);
            match key_of(keys, name) {
                Some(key) => Some(by_key(cells, key, direction.unwrap_or(Direction::Up))),
                // The best first where one end is better, else the smallest.
                None => sweep.column(name).map(|column| {
                    let order = match (direction, column.better) {
                        (None, Better::Less | Better::More) => column.order(),
                        (direction, _) => column.directed(Some(direction.unwrap_or(Direction::Up))),
                    };
                    sorted = Some(column).filter(|column| columns.iter().all(|shown| shown.name != column.name));
                    order
                }),
            }
        }
    };
    let names: Vec<Vec<String>> = cells.iter().map(|cell| cell.values.clone()).collect();
    let mut told = drawn(headings(keys), &names, &columns, order);
    told.push_str(&aged(&groups, &columns));
    for column in columns.iter().chain(&sorted).filter(|column| column.told.iter().all(|told| told == NOTHING)) {
        let _ = match (is_of_one_age(&groups), column.is_timed) {
            (false, true) => {
                writeln!(
                    told,
                    "{}: not compared, as the runs are of different ages (--columns takes its path)",
                    column.name
                )
            }
            _ => writeln!(told, "{}: no run has this figure{}", column.name, near(&column.name, runs)),
        };
    }
    told.push_str(&alike(&groups));
    told.push_str(&scarce(&columns, &groups));
    if columns.iter().any(|column| Some(column.name.as_str()) == metric_of("waf").map(|metric| metric.name))
        && let Some(sentence) = unsettled(runs.iter())
    {
        let _ = writeln!(told, "{sentence}");
    }
    told.push_str(&forwarded(runs));
    told.push_str(&warned(runs));
    told
}

/// Suggests the figure of a run that a misspelt path is close to, as the end of a sentence.
fn near(path: &str, runs: &[RunResult]) -> String {
    let trees: Vec<Value> = runs.iter().take(1).filter_map(|run| serde_json::to_value(&run.summary).ok()).collect();
    let mut paths = Vec::new();
    trees.iter().for_each(|tree| leaves("", tree, &mut paths));
    // It may be there and null.
    paths.retain(|found| found != path);
    did_you_mean(path, &paths.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Where the latencies of a run end, in drive writes.
const END_OF_AGE: &str = "latency_of.until_drive_writes";

/// Whether figures of requests are of one age of the drive in all runs.
fn is_of_one_age(groups: &[Group<'_>]) -> bool {
    groups.iter().all(|group| group.common != Common::Nothing)
}

/// Line with the age that the figures of requests belong to; empty if none is shown.
fn aged(groups: &[Group<'_>], columns: &[Column]) -> String {
    if !columns.iter().any(Column::is_of_an_age) {
        return String::new();
    }
    if !is_of_one_age(groups) {
        return format!(
            "latencies, rates and errors are of different ages, each up to {END_OF_AGE}: they are not to be compared\n"
        );
    }
    let age = groups.iter().map(Group::age).find(|age| !age.is_empty());
    let told = age.map_or_else(String::new, |age| format!("latencies, rates and errors are those {}\n", plain(&age)));
    as_of_arrays(groups, told)
}

/// Line with the number of cells whose seeds gave the same results; empty if there are none.
fn alike(groups: &[Group<'_>]) -> String {
    let cells = groups.iter().filter(|group| group.alike().is_some()).count();
    let whose = if cells == groups.len() { "all".to_owned() } else { format!("{cells} of {}", groups.len()) };
    let told = "all seeds gave the same results: what they draw makes no difference there, and there is no interval";
    if cells > 0 { format!("{whose} cells: {told}\n") } else { String::new() }
}

/// Line with the columns that are percentiles of too few requests; empty if there are none.
fn scarce(columns: &[Column], groups: &[Group<'_>]) -> String {
    let is_scarce = |name: &&str| METRICS.iter().any(|metric| metric.name == *name && rests_on_few(metric, groups));
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).filter(is_scarce).collect();
    if names.is_empty() {
        return String::new();
    }
    format!("{}: of so few requests in some runs that chance decides (latency.*.count)\n", names.join(", "))
}

/// Line with the number of runs that have warnings and the first warning; empty if there are none.
pub fn warned(runs: &[RunResult]) -> String {
    let with = || runs.iter().filter(|run| !run.summary.warnings.is_empty());
    let Some(first) = with().next() else { return String::new() };
    let (some, all, name) = (with().count(), runs.len(), plain(&first.summary.scenario.name));
    let have = if some == 1 { "has" } else { "have" };
    format!(
        "{some} of {all} runs {have} warnings, {name} this: {} (each run's: warnings)\n",
        shortened(&plain(&first.summary.warnings[0]))
    )
}

/// Most letters of the warning below a table.
const WARNING_MAX: usize = 120;

/// The words of a warning that fit, with an ellipsis if there are more.
fn shortened(warning: &str) -> String {
    if warning.chars().count() <= WARNING_MAX {
        return warning.to_owned();
    }
    let fits: String = warning.chars().take(WARNING_MAX).collect();
    format!("{} \u{2026}", fits.rsplit_once(' ').map_or(fits.as_str(), |(words, _)| words))
}

/// Line with how much of the lives was simulated and how much predicted; empty if no life was fast-forwarded.
fn forwarded(runs: &[RunResult]) -> String {
    let parts = || runs.iter().filter_map(|run| run.summary.fast_forward.as_ref());
    let range = |part: fn(&FastForwarded) -> f64| {
        let values = || parts().map(part);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let (least, most) = (format!("{least:.2}"), format!("{most:.2}"));
        if least == most { least } else { format!("{least} to {most}") }
    };
    if parts().next().is_none() {
        return String::new();
    }
    let (simulated, predicted) = (range(|of| of.drive_writes_simulated), range(|of| of.drive_writes_predicted));
    let (some, all) = (parts().count(), runs.len());
    let whose =
        if some == all { "a life".to_owned() } else { format!("the {some} of {all} lives that were fast-forwarded") };
    format!("of {whose} {simulated} drive writes were simulated and {predicted} predicted (each run's: fast_forward)\n")
}

/// Most lines of a table of runs; the page has all of them.
const LINES_MAX: usize = 40;

/// Runs as a table: one line for each group with its name and the measures worth seeing, the best first; at most [`LINES_MAX`] lines.
pub(super) fn table_of(groups: &[Group<'_>]) -> String {
    let columns = Sweep::with(groups, (0..groups.len()).map(Some).collect()).columns(&[]);
    let names: Vec<Vec<String>> = groups.iter().map(|group| vec![plain(&group.label)]).collect();
    let mut order = columns.first().map_or_else(|| (0..groups.len()).collect(), Column::order);
    let left = order.len().saturating_sub(LINES_MAX);
    order.truncate(LINES_MAX);
    let mut told = drawn(vec!["run".to_owned()], &names, &columns, Some(order));
    if left > 0 {
        let _ = writeln!(told, "{left} more are on the page");
    }
    told
}

/// One line for each cell, with its names first, and what the marks mean. Without an `order`, cells are in grid order.
fn drawn(heads: Vec<String>, names: &[Vec<String>], columns: &[Column], order: Option<Vec<usize>>) -> String {
    let keys = heads.len();
    let is_whole = |column: &Column| column.told.len() == names.len() && column.interrupted.len() == names.len();
    debug_assert!(columns.iter().all(is_whole), "a column has a figure for each cell");
    let mut lines = vec![heads];
    lines[0].extend(columns.iter().map(|column| plain(&column.name)));
    let marks: Vec<Vec<char>> = columns.iter().map(Column::marks).collect();
    for cell in order.unwrap_or_else(|| (0..names.len()).collect()) {
        let figures =
            columns.iter().zip(&marks).map(|(column, marks)| format!("{} {}", column.told[cell], marks[cell]));
        lines.push(names[cell].iter().cloned().chain(figures).collect());
    }
    let alike = if columns.iter().all(Column::is_of_one_seed) {
        "= the best, within 1 %: one seed does not tell them apart"
    } else {
        "= not distinguishable from the best at 95 %, by differences seed by seed"
    };
    let meanings = [('*', "* best"), ('=', alike), ('!', "! interrupted: with --out the same command continues")];
    let used = meanings.iter().filter(|(mark, _)| marks.iter().flatten().any(|found| found == mark));
    let legend: Vec<&str> = used.map(|(_, meaning)| *meaning).collect();
    let legend = if legend.is_empty() { String::new() } else { legend.join("; ") + "\n" };
    aligned(&lines, keys) + &legend
}

/// The cells of a sweep and their runs.
struct Sweep<'a> {
    groups: &'a [Group<'a>],
    /// The group of each cell, where it has a run: cells whose keys change nothing share one.
    of_cells: Vec<Option<usize>>,
    /// The seeds of each cell; `None` stands for those of its group. A sweep of seeds has one group for all cells.
    seeds: Vec<Option<BTreeSet<u64>>>,
    /// Whether a run of each cell was interrupted.
    interrupted: Vec<bool>,
    /// Number of the measures that are worth seeing; they come first.
    worth: usize,
    measures: Vec<Measured>,
}

impl<'a> Sweep<'a> {
    fn of(runs: &'a [RunResult], groups: &'a [Group<'a>], cells: &[Cell]) -> Self {
        let group_of = |cell: &Cell| {
            let own = runs.get(cell.runs.clone())?;
            let has = |group: &Group<'_>| group.all.iter().any(|run| own.iter().any(|own| is_repeated(run, own)));
            groups.iter().position(has)
        };
        let seeds =
            |cell: &Cell| runs.get(cell.runs.clone()).unwrap_or_default().iter().map(|run| run.summary.run.seed);
        let seeds = cells.iter().map(|cell| Some(seeds(cell).collect())).collect();
        let stopped = |run: &RunResult| run.summary.end.reason == EndReason::Interrupted;
        let interrupted = |cell: &Cell| runs.get(cell.runs.clone()).is_some_and(|own| own.iter().any(stopped));
        let interrupted = cells.iter().map(interrupted).collect();
        Self { seeds, interrupted, ..Self::with(groups, cells.iter().map(group_of).collect()) }
    }

    fn with(groups: &'a [Group<'a>], of_cells: Vec<Option<usize>>) -> Self {
        let (worth, measures) = measured(groups);
        let stopped = |group: usize| groups[group].first().summary.end.reason == EndReason::Interrupted;
        let interrupted = of_cells.iter().map(|group| group.is_some_and(stopped)).collect();
        Self { groups, seeds: vec![None; of_cells.len()], interrupted, of_cells, worth, measures }
    }

    /// The runs of a cell.
    fn runs_of(&self, cell: usize) -> impl Iterator<Item = (&'a Group<'a>, &'a RunResult)> {
        let group = self.of_cells[cell].map(|group| &self.groups[group]);
        let runs = group.into_iter().flat_map(|group| group.all.iter().map(move |run| (group, *run)));
        let seeds = self.seeds[cell].clone();
        runs.filter(move |(_, run)| seeds.as_ref().is_none_or(|seeds| seeds.contains(&run.summary.run.seed)))
    }

    /// The columns of these names, or those worth seeing.
    fn columns(&self, names: &[String]) -> Vec<Column> {
        if names.is_empty() {
            let count = self.worth.clamp(COLUMNS_MIN, COLUMNS_MAX).min(self.measures.len());
            return self.measures[..count].iter().map(|measured| self.of_measure(measured)).collect();
        }
        let mut columns: Vec<Column> = Vec::new();
        for column in names.iter().filter_map(|name| self.column(name)) {
            if columns.iter().all(|shown| shown.name != column.name) {
                columns.push(column);
            }
        }
        columns
    }

    /// The column of a measure or a path; without figures where no run has it.
    fn column(&self, name: &str) -> Option<Column> {
        match metric_of(name.trim()) {
            Some(metric) => {
                let measured = self.measures.iter().find(|measured| measured.metric.id == metric.id);
                let without = || Column::without_figures(metric, self.of_cells.len());
                Some(measured.map_or_else(without, |measured| self.of_measure(measured)))
            }
            None => name.contains('.').then(|| self.of_path(name.trim())),
        }
    }

    fn of_measure(&self, measured: &Measured) -> Column {
        let value = |(group, run): (&Group<'_>, &RunResult)| Some((run.summary.run.seed, measured.value(group, run)?));
        let values: Vec<BTreeMap<u64, f64>> =
            (0..self.of_cells.len()).map(|cell| self.runs_of(cell).filter_map(value).collect()).collect();
        let told = |(cell, group): (usize, &Option<usize>)| {
            let Some(group) = *group else { return NOTHING.to_owned() };
            if self.runs_of(cell).count() == self.groups[group].all.len() {
                return with_interval(measured, group);
            }
            estimate(&values[cell]).map_or_else(|| NOTHING.to_owned(), |of| plain(&(measured.metric.tell)(of.mean)))
        };
        let told = self.of_cells.iter().enumerate().map(told).collect();
        let (name, better) = (measured.metric.name.to_owned(), measured.better);
        let is_timed = measured.metric.is_timed();
        Column { name, better, is_timed, told, interrupted: self.interrupted.clone(), values }
    }

    /// The words that a cell's runs have at a path, such as `end.reason`.
    fn texts(&self, cell: usize, path: &str) -> String {
        let found = self.runs_of(cell).filter_map(|(group, run)| Some(leaf(group, run, path)?.as_str()?.to_owned()));
        let found: BTreeSet<String> = found.collect();
        if found.is_empty() { NOTHING.to_owned() } else { plain(&found.into_iter().collect::<Vec<_>>().join(", ")) }
    }

    fn of_path(&self, path: &str) -> Column {
        let value =
            |(group, run): (&Group<'_>, &RunResult)| Some((run.summary.run.seed, leaf(group, run, path)?.as_f64()?));
        let values: Vec<BTreeMap<u64, f64>> =
            (0..self.of_cells.len()).map(|cell| self.runs_of(cell).filter_map(value).collect()).collect();
        let told = |(cell, values): (usize, &BTreeMap<u64, f64>)| match estimate(values) {
            Some(estimate) => plain(&counted(estimate.mean)),
            None => self.texts(cell, path),
        };
        let (told, interrupted) = (values.iter().enumerate().map(told).collect(), self.interrupted.clone());
        const TIMED: [&str; 3] = ["latency.", "throughput.", "errors."];
        let is_timed = TIMED.iter().any(|of| path.starts_with(of));
        Column { name: path.to_owned(), better: Better::Neither, is_timed, told, values, interrupted }
    }
}

/// The value at a path of a run's summary. Things in a list have their number as a key.
fn leaf(group: &Group<'_>, run: &RunResult, path: &str) -> Option<Value> {
    let tree = serde_json::to_value(run.summary_at(group.common)).ok()?;
    let within = |tree: &'_ Value, key: &str| match tree {
        Value::Array(list) => list.get(key.parse::<usize>().ok()?).cloned(),
        tree => tree.get(key).cloned(),
    };
    path.split('.').try_fold(tree, |tree, key| within(&tree, key))
}

fn estimate(by_seed: &BTreeMap<u64, f64>) -> Option<Estimate> {
    Estimate::of(&by_seed.values().copied().collect::<Vec<_>>())
}

/// A cell's figure, and half of its interval if it has several seeds; a unit that both have is written once.
fn with_interval(measured: &Measured, group: usize) -> String {
    let keyboard = |told: &str| plain(told).replace('\u{2265}', ">=").replace('\u{2013}', "-");
    let told = keyboard(&measured.told(group));
    let Some((low, high)) = measured.interval(group) else { return told };
    let half = keyboard(&(measured.metric.tell)((high - low) / 2.0));
    let unit = half.find(' ').map_or("", |at| &half[at..]);
    format!("{} +- {half}", told.strip_suffix(unit).unwrap_or(&told))
}

/// The cells by the value of a key: numbers by size, then all others; in grid order if no value is a number.
fn by_key(cells: &[Cell], key: usize, direction: Direction) -> Vec<usize> {
    let value = |cell: usize| &cells[cell].values[key];
    let numbers: Vec<Option<f64>> = (0..cells.len()).map(|cell| wane_results::number(value(cell))).collect();
    let are_words = numbers.iter().all(Option::is_none);
    let place = |cell: usize| {
        let first = || (0..cells.len()).find(|other| value(*other) == value(cell)).map(|first| first as f64);
        let size = if are_words { first() } else { numbers[cell] };
        size.map_or(f64::INFINITY, |size| if direction == Direction::Up { size } else { -size })
    };
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by(|left, right| place(*left).total_cmp(&place(*right)));
    order
}

/// Headings of keys: the last part of each, or the whole key if several share that part.
fn headings(keys: &[String]) -> Vec<String> {
    let short = |key: &String| {
        let bare = key.strip_suffix(".policy").unwrap_or(key);
        // The last part does not say which scale is meant, that of the drive or of the times.
        if bare == "time.scale" { key.clone() } else { bare.rsplit('.').next().unwrap_or(bare).to_owned() }
    };
    let all: Vec<String> = keys.iter().map(short).collect();
    let alone = |name: &String| all.iter().filter(|other| *other == name).count() == 1;
    keys.iter().zip(&all).map(|(key, name)| if alone(name) { name.clone() } else { key.clone() }).collect()
}

/// Columns as wide as their widest cell: those of keys to the left, figures to the right.
fn aligned(lines: &[Vec<String>], keys: usize) -> String {
    debug_assert!(lines.iter().all(|line| line.len() == lines[0].len()), "each line has a cell for each column");
    let width = |column: usize| lines.iter().map(|line| line[column].trim_end().chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let mut row = String::new();
        for (column, cell) in line.iter().enumerate() {
            // A mark stands behind its figure, and headings above figures.
            let marked = column >= keys;
            let cell = if marked && number == 0 { format!("{cell} ") } else { cell.clone() };
            let wide = widths[column] + usize::from(marked);
            let space = " ".repeat(wide.saturating_sub(cell.chars().count()));
            row.push_str(&if marked { format!("  {space}{cell}") } else { format!("{cell}{space}  ") });
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
