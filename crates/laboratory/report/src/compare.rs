//! Several runs compared: a measure over the swept key, with a line for each value of a second key and a field of both; with a chart for each value of
//! further keys; or bars if runs only have names.

use super::axis::Axis;
use super::bars::{BARS_MAX, Bar, Bars};
use super::chart::{Chart, Curve, Layer};
use super::facets::{Facet, Facets};
use super::flat::not_drawn;
use super::groups::Group;
use super::heat::Heat;
use super::html::{Figure, Table};
use super::metrics::{Better, LIFE, Measured, measured};
use super::numbers::unit_of;
use super::palette::{HUES, series};
use super::panels::{Grid, lines_key};
use super::picture::{Arrangement, Drawing, FROM};
use super::series::{Key, assigned_to, in_full, keys};
use wane_results::is_same;

/// Measures after the first that are shown at once.
const BESIDE_FIRST: usize = 4;
/// Sweeps whose greatest value is more than this many times the least are laid out by ratio.
const EVEN_MAX: f64 = 20.0;
/// Most cells of a field in a row or column.
const CELLS_MAX: usize = 40;

/// The comparison of several runs.
pub(super) struct Comparison {
    /// The answer in one line; `None` if runs have no keys or do not differ.
    pub(super) headline: Option<String>,
    /// The most telling measure, and those that differ as well.
    pub(super) shown: Vec<Figure>,
    /// The names of the other measures, and their figure.
    pub(super) more: Option<(String, Figure)>,
}

/// The comparison of runs; `None` of a single one.
pub(super) fn comparison(groups: &[Group<'_>]) -> Option<Comparison> {
    if groups.len() < 2 {
        return None;
    }
    let keys = keys(groups);
    debug_assert!(keys.iter().all(|key| key.of.len() == groups.len()), "a key has a value for each group");
    let (worth, all) = measured(groups);
    let first = all.first()?;
    let figure = |heading: &str, measures: &[Measured]| figure_of(heading, groups, &keys, measures);
    let mut shown = vec![figure("", &all[..1])];
    let beside = worth.clamp(1, 1 + BESIDE_FIRST);
    if beside > 1 {
        shown.push(figure("What else differs", &all[1..beside]));
    }
    let names = |measures: &[Measured]| measures.iter().map(|one| one.metric.name).collect::<Vec<_>>().join(", ");
    let more = (beside < all.len()).then(|| (names(&all[beside..]), figure("More measures", &all[beside..])));
    let headline = if keys.is_empty() || worth == 0 { None } else { headline(groups, &keys, first) };
    let headline = headline.map(|told| match alike(first, &all[worth..]) {
        Some(alike) => format!("{alike}. {told}"),
        None => told,
    });
    Some(Comparison { headline, shown, more })
}

/// "Write amplification is alike, from 2.81 to 2.78", if the leading measure only shows the state of the drives.
fn alike(first: &Measured, others: &[Measured]) -> Option<String> {
    let given = others.iter().filter(|_| first.metric.is_of_state()).find(|one| !one.metric.is_of_state())?;
    let (best, worst) = given.ends()?;
    let (best, worst) = (given.told(best), given.told(worst));
    let range = if best == worst { best } else { format!("from {worst} to {best}") };
    Some(format!("{} is alike, {range}", capitalized(given.metric.name)))
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// "Write amplification is least with d = 8: 2.31"; of ties their number, and one of them. If no end is better, its range.
fn headline(groups: &[Group<'_>], keys: &[Key], measured: &Measured) -> Option<String> {
    let what = capitalized(measured.metric.name);
    let (first, last) = measured.ends()?;
    let part = |group: usize| if measured.metric.is_timed() { groups[group].of_age() } else { String::new() };
    if measured.better == Better::Neither {
        let told = |group: usize| format!("{} with {}", measured.told(group), in_full(keys, group));
        return Some(format!("{what}{} goes from {} to {}", part(first), told(last), told(first)));
    }
    let (best, part) = (first, part(first));
    let most = match (measured.better, measured.metric.id) {
        (Better::More, LIFE) => "longest",
        (Better::More | Better::Neither, _) => "most",
        (Better::Less, _) if measured.metric.is_duration => "shortest",
        (Better::Less, _) => "least",
    };
    let with = match measured.best().len() {
        0 if measured.told(first) == measured.told(last) => return None,
        0 => {
            let (best, worst) = (measured.told(best), measured.told(last));
            return Some(format!("{what}{part} is alike, from {worst} to {best}: one seed does not tell them apart"));
        }
        1 => in_full(keys, best),
        ties => format!("{ties} of {} alike, one of them {}", groups.len(), in_full(keys, best)),
    };
    let near = match measured.not_told_from(groups, best) {
        0 => String::new(),
        1 => "; the seeds do not distinguish it from one other".to_owned(),
        others => format!("; the seeds do not distinguish it from {others} others"),
    };
    Some(format!("{what}{part} is {most} with {with}: {}{near}", measured.told(best)))
}

fn figure_of(heading: &str, groups: &[Group<'_>], keys: &[Key], measures: &[Measured]) -> Figure {
    // The answer is drawn whatever it is.
    let is_answer = heading.is_empty();
    let same = |measured: &Measured| measured.same().filter(|_| !is_answer);
    let told_apart = measures.iter().filter(|measured| same(measured).is_none());
    let drawings: Vec<Drawing> = told_apart.flat_map(|measured| drawn(groups, keys, measured)).collect();
    let arrangement = Arrangement::of(&drawings);
    let mut caption = String::new();
    if let [measured] = measures
        && same(measured).is_none()
        && let Some((best, worst)) = measured.ends()
    {
        let named = |group: usize| match measured.alike(group).len() {
            1 => groups[group].label.clone(),
            ties => format!("{ties} of {}", groups.len()),
        };
        let told = |group: usize| format!("{} ({})", measured.told(group), named(group));
        caption = format!("From {} to {}.", told(worst), told(best));
    }
    if measures.iter().any(|one| one.metric.is_timed()) && !groups[0].of_age().is_empty() {
        caption.push_str(&format!(" Latencies, rates and errors are those{}.", groups[0].of_age()));
    }
    if measures.iter().any(|one| one.alive.iter().any(|alive| *alive)) {
        caption.push_str(" Lives with a \u{2265} had not ended when the run did.");
    }
    if groups.iter().any(|group| group.runs.len() > 1) {
        let has_interval = |one: &Measured| (0..groups.len()).any(|group| one.interval(group).is_some());
        let whiskers = if measures.iter().any(has_interval) { "; whiskers are their 95 % intervals" } else { "" };
        caption.push_str(&format!(" Values are means over seeds{whiskers}."));
    }
    let bars = drawings.iter().any(|drawing| matches!(drawing, Drawing::Bars(_)));
    if bars && groups.len() > BARS_MAX {
        caption.push_str(&format!(" The best {BARS_MAX} of {} runs are drawn; the table has all.", groups.len()));
    }
    if drawings.iter().any(Drawing::is_wide) {
        caption.push_str(" All panels have the same axes.");
    }
    let not_told_apart = measures.iter().filter_map(|one| Some(assigned_to(one.metric.name, &same(one)?)));
    let not_told_apart: Vec<String> = not_told_apart.collect();
    if !not_told_apart.is_empty() {
        caption.push_str(&format!(" {}", not_drawn(&not_told_apart, groups.len())));
    }
    Figure {
        heading: heading.to_owned(),
        caption: caption.trim().to_owned(),
        drawings,
        arrangement,
        table: table(groups, measures),
    }
}

fn table(groups: &[Group<'_>], measures: &[Measured]) -> Table {
    let headers = std::iter::once("run").chain(measures.iter().map(|one| one.metric.name)).map(str::to_owned).collect();
    let cell = |one: &Measured, group: usize| {
        let told = one.told(group);
        let half = one.interval(group).map(|(low, high)| (one.metric.tell)((high - low) / 2.0));
        half.map_or(told.clone(), |half| format!("{told} \u{b1} {half}"))
    };
    let row = |(index, group): (usize, &Group<'_>)| {
        std::iter::once(group.label.clone()).chain(measures.iter().map(|one| cell(one, index))).collect()
    };
    Table { headers, rows: groups.iter().enumerate().map(row).collect() }
}

/// A measure as the pictures that its keys allow.
fn drawn(groups: &[Group<'_>], keys: &[Key], measured: &Measured) -> Vec<Drawing> {
    match keys {
        [key] if key.numbers.is_some() && key.values.len() > 2 => {
            vec![Drawing::Chart(Box::new(lines(measured, key, None, &|_| true)))]
        }
        [first, second] => {
            let (along, other) = if first.numbers.is_some() { (first, second) } else { (second, first) };
            // A line needs points to go through.
            let lines_hold = along.of.len() >= 2 * other.values.len();
            let charted = along.numbers.is_some() && along.values.len() > 2 && other.values.len() <= HUES && lines_hold;
            let chart = charted.then(|| Drawing::Chart(Box::new(lines(measured, along, Some(other), &|_| true))));
            let fits = along.values.len() <= CELLS_MAX && other.values.len() <= CELLS_MAX;
            let heat = fits.then(|| Drawing::Heat(heat(measured, along, other)));
            if chart.is_none() && heat.is_none() {
                vec![bars(groups, measured)]
            } else {
                chart.into_iter().chain(heat).collect()
            }
        }
        _ => vec![facets(keys, measured).unwrap_or_else(|| bars(groups, measured))],
    }
}

/// A chart of lines for each value of the keys beyond two; `None` without a key of numbers, or where lines would hardly have points.
fn facets(keys: &[Key], measured: &Measured) -> Option<Drawing> {
    let goes_along = |key: &&Key| key.numbers.is_some() && key.values.len() > 2;
    let along = keys.iter().filter(goes_along).max_by_key(|key| key.values.len()).filter(|_| keys.len() > 2)?;
    let others: Vec<Key> = keys.iter().filter(|key| *key != along).cloned().collect();
    let other = &others[lines_key(&others)];
    let rest: Vec<&Key> = others.iter().filter(|key| *key != other).collect();
    let grid = Grid::of(&rest);
    let mut places: Vec<(usize, usize)> = grid.places.iter().flatten().copied().collect();
    places.sort_unstable();
    places.dedup();
    let are_drawn = grid.places.iter().all(Option::is_some);
    let lines_hold = along.of.len() >= 2 * other.values.len() * places.len();
    if !are_drawn || !lines_hold || other.values.len() > HUES {
        return None;
    }
    let facet = |(index, place): (usize, &(usize, usize))| {
        let chart = lines(measured, along, Some(other), &|group| grid.places[group] == Some(*place));
        let first = grid.places.iter().position(|one| one.as_ref() == Some(place)).unwrap_or(0);
        let heading = grid.headings[first].clone();
        let (id, title) = (format!("{}-{index}", chart.id), format!("{}: {heading}", chart.title));
        Facet { chart: Chart { id, title, ..chart }, heading, place: *place }
    };
    let all: Vec<Facet> = places.iter().enumerate().map(facet).collect();
    let Chart { id, title, description, .. } = lines(measured, along, Some(other), &|_| false);
    Some(Drawing::Facets(Facets { id, title, description, all, columns: grid.columns, titles: grid.titles }))
}

/// Places of a key's values along an axis, and the axis: by their size, or by ratio where they span a lot.
fn axis_of(key: &Key) -> (Vec<f64>, Axis) {
    let numbers = key.numbers.clone().unwrap_or_default();
    let (low, high) = (numbers.first().copied().unwrap_or(0.0), numbers.last().copied().unwrap_or(1.0));
    let places: Vec<f64> =
        if low > 0.0 && high / low > EVEN_MAX { numbers.iter().map(|at| at.log10()).collect() } else { numbers };
    let (first, last) = (places[0], places[places.len() - 1]);
    let room = 0.03 * (last - first);
    let ticks = places.iter().copied().zip(key.values.iter().cloned()).collect();
    (places, Axis::named(first - room, last + room, ticks))
}

/// A line over a key, or one for each value of a second, of the groups that are `within`; the axes are those of all groups.
fn lines(measured: &Measured, key: &Key, other: Option<&Key>, within: &dyn Fn(usize) -> bool) -> Chart {
    let (places, x) = axis_of(key);
    let most = measured.estimates.iter().flatten().map(|of| of.mean).fold(0.0, f64::max);
    let (unit, sign) = if measured.metric.is_duration { unit_of(most) } else { (1.0, "") };
    let mut layers = Vec::new();
    let names = other.map_or(1, |other| other.values.len());
    for line in 0..names {
        let of_line = |group: &usize| other.is_none_or(|other| other.of[*group] == line);
        let mut cells: Vec<usize> = (0..key.of.len())
            .filter(of_line)
            .filter(|cell| within(*cell) && measured.estimates[*cell].is_some())
            .collect();
        cells.sort_by_key(|cell| key.of[*cell]);
        let point = |cell: &usize| Some((places[key.of[*cell]], measured.estimates[*cell].as_ref()?.mean / unit));
        let points: Vec<(f64, f64)> = cells.iter().filter_map(point).collect();
        let whiskers: Vec<(f64, f64, f64)> = cells
            .iter()
            .filter_map(|cell| {
                measured.interval(*cell).map(|(low, high)| (places[key.of[*cell]], low / unit, high / unit))
            })
            .collect();
        let class = other.map_or_else(|| series(0), |other| other.style_of(line));
        let label = other.map_or_else(String::new, |other| other.tag_of(line));
        if !whiskers.is_empty() {
            layers.push(Layer::Whiskers { class: class.clone(), points: whiskers });
        }
        layers.push(Layer::Curve(Curve { class: class.clone(), points: points.clone(), label, ..Curve::default() }));
        layers.push(Layer::Dots { class, points });
    }
    for best in measured.best().into_iter().filter(|best| within(*best)) {
        let height = measured.estimates[best].as_ref().map_or(0.0, |of| of.mean / unit);
        layers.push(Layer::Ring { at: (places[key.of[best]], height) });
    }
    let means = measured.estimates.iter().flatten().map(|of| (of.mean / unit, of.mean / unit));
    let intervals = (0..key.of.len()).filter_map(|cell| measured.interval(cell));
    let ends = means.chain(intervals.map(|(low, high)| (low / unit, high / unit)));
    let (low, high) = ends.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), end| (low.min(end.0), high.max(end.1)));
    // From zero, unless that would hide the differences; then the axis says so, as a small rise looks like a large one.
    let base = if low > 0.7 * high && !is_same(low, high) { low - 0.1 * (high - low) } else { 0.0 };
    let y = Axis::rounded(base.max(0.0), high, 5);
    let measure = measured.metric.measure();
    let y_label = if y.min > 0.0 { format!("{measure}{FROM}{}{sign})", y.text(y.min)) } else { measure.to_owned() };
    let over = other.map_or_else(|| key.name.clone(), |other| format!("{} and {}", key.name, other.name));
    let title = format!("{} over {over}", capitalized(measured.metric.name));
    Chart {
        id: format!("compared-{}", measured.metric.id),
        description: title.clone(),
        title,
        x,
        x_label: key.name.clone(),
        y,
        y_label,
        y_unit: sign,
        layers,
        columns: 220,
    }
}

fn heat(measured: &Measured, along: &Key, other: &Key) -> Heat {
    let (columns, rows) = (along.values.len(), other.values.len());
    let mut cells = vec![None; columns * rows];
    let mut best = Vec::new();
    let best_groups = measured.best();
    for (group, estimate) in measured.estimates.iter().enumerate() {
        let place = other.of[group] * columns + along.of[group];
        if let Some(estimate) = estimate {
            let told = measured.told(group).replace(" drive writes", "").replace(" years", "").replace(" year", "");
            cells[place] = Some((estimate.mean, told, measured.interval(group)));
        }
        if best_groups.contains(&group) {
            best.push(place);
        }
    }
    let measure = measured.metric.measure().to_owned();
    let framed = match best.len() {
        0 => "",
        1 => "; the best cell is framed",
        _ => "; the best cells are framed",
    };
    Heat {
        id: format!("field-{}", measured.metric.id),
        description: format!("{measure} for each {} and {}{framed}.", along.name, other.name),
        measure,
        unit: measured.metric.unit(),
        columns: (along.name.clone(), along.values.clone()),
        rows: (other.name.clone(), other.values.clone()),
        cells,
        best,
    }
}

/// The runs by name, the best first.
fn bars(groups: &[Group<'_>], measured: &Measured) -> Drawing {
    let valued = |index: usize| measured.estimates[index].as_ref().map(|of| of.mean);
    let mut order: Vec<usize> = (0..groups.len()).filter(|index| valued(*index).is_some()).collect();
    order.sort_by(|left, right| {
        let (left, right) = (valued(*left).unwrap_or(0.0), valued(*right).unwrap_or(0.0));
        if measured.better == Better::Less { left.total_cmp(&right) } else { right.total_cmp(&left) }
    });
    let best = measured.best();
    let bar = |index: &usize| Bar {
        name: groups[*index].label.clone(),
        value: valued(*index).unwrap_or(0.0),
        told: measured.told(*index),
        interval: measured.interval(*index),
        class: groups[*index].class(),
        parts: Vec::new(),
        best: best.contains(index),
    };
    Drawing::Bars(Bars {
        id: format!("compared-{}", measured.metric.id),
        measure: measured.metric.measure().to_owned(),
        unit: measured.metric.unit(),
        description: format!(
            "{} of each run, the {} first.",
            capitalized(measured.metric.name),
            if measured.better == Better::Neither { "greatest" } else { "best" }
        ),
        bars: order.iter().take(BARS_MAX).map(bar).collect(),
        parts: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::groups;
    use wane_results::test_runs::test_run;
    use wane_results::{EndReason, RunResult};

    /// Name, drive writes and write amplification of a cell.
    type Cell = (&'static str, f64, f64);

    /// Cells of a sweep.
    fn cells(told: &[(&str, f64, f64)]) -> Vec<RunResult> {
        let cell = |(name, life, amplification): &(&str, f64, f64)| {
            let mut run = test_run(1);
            run.summary.scenario.name = (*name).to_owned();
            run.scenario_toml = format!("name = \"{name}\"");
            run.summary.end.at_drive_writes = *life;
            run.summary.write_amplification.total = Some(*amplification);
            run
        };
        told.iter().map(cell).collect()
    }

    #[test]
    fn the_headline_names_the_best_cell() {
        let table: [(&[Cell], Option<&str>); 6] = [
            (
                &[("a.d=1", 10.0, 3.0), ("a.d=2", 30.0, 2.0), ("a.d=4", 20.0, 2.5)],
                Some("Life is longest with d = 2: 30 drive writes"),
            ),
            // What differs little gives way to what differs a lot.
            (&[("a.d=1", 10.0, 3.0), ("a.d=2", 10.3, 2.0)], Some("Write amplification is least with d = 2: 2.00")),
            (&[("a.d=1", 10.0, 2.0), ("a.d=2", 10.0, 2.0)], None),
            (
                &[("a.d=1", 10.0, 3.0), ("a.d=2", 10.0, 1.0), ("a.d=4", 10.0, 1.0)],
                Some("Write amplification is least with 2 of 3 alike, one of them d = 2: 1.00"),
            ),
            // What is told in the same digits is alike.
            (
                &[("a.d=1", 10.0, 3.0), ("a.d=2", 10.0, 1.002), ("a.d=4", 10.0, 1.001)],
                Some("Write amplification is least with 2 of 3 alike, one of them d = 4: 1.00"),
            ),
            // Runs with names of their own are told by their words.
            (&[("one", 10.0, 2.0), ("other", 20.0, 2.0)], None),
        ];
        for (cells_of, expected) in table {
            let runs = cells(cells_of);
            assert_eq!(comparison(&groups(&runs)).unwrap().headline.as_deref(), expected);
        }
        assert!(comparison(&groups(&cells(&[("a.d=1", 1.0, 1.0)]))).is_none(), "a run alone");
    }

    #[test]
    fn what_drives_gave_comes_before_their_state() {
        let headline = |lives: [f64; 2], exported: [u64; 2], spreads: [f64; 2]| {
            let mut runs = cells(&[("a.d=1", lives[0], 2.0), ("a.d=2", lives[1], 2.01)]);
            for ((run, exported), spread) in runs.iter_mut().zip(exported).zip(spreads) {
                run.summary.capacity.logical_bytes_initial = 100;
                run.summary.capacity.logical_bytes_exported = exported;
                run.summary.wear.erase_count.mean = 100.0;
                run.summary.wear.erase_count.sd = spread;
            }
            comparison(&groups(&runs)).unwrap().headline.unwrap().replace('\u{a0}', " ")
        };
        assert_eq!(headline([10.0, 10.5], [100, 40], [1.0, 9.0]), "Life is longest with d = 2: 10.5 drive writes");
        assert_eq!(
            headline([10.0, 10.0], [100, 40], [1.0, 1.0]),
            "Life is alike, 10 drive writes. Capacity left at the end is most with d = 1: 100 %"
        );
        assert_eq!(
            headline([10.1, 10.0], [100, 100], [9.0, 1.0]),
            "Life is alike, from 10 drive writes to 10.1 drive writes. Spread of wear (sd over mean) is least with d = 2: 1.0 %"
        );
    }

    #[test]
    fn a_best_that_seeds_do_not_tell_from_others_is_told_so() {
        let of = |life: [[f64; 3]; 3]| {
            let mut runs = Vec::new();
            for (cell, lives) in ["a.d=1", "a.d=2", "a.d=4"].iter().zip(life) {
                for (seed, life) in lives.into_iter().enumerate() {
                    let mut run = cells(&[(cell, life, 2.0)]).remove(0);
                    run.summary.run.seed = seed as u64;
                    runs.push(run);
                }
            }
            comparison(&groups(&runs)).unwrap().headline.unwrap()
        };
        let far = of([[10.0, 10.1, 10.2], [20.0, 20.1, 20.2], [30.0, 30.2, 30.1]]);
        assert_eq!(far, "Life is longest with d = 4: 30.1 drive writes");
        let near = of([[10.0, 10.1, 10.2], [29.0, 31.0, 28.0], [30.0, 29.0, 31.0]]);
        assert_eq!(near, "Life is longest with d = 4: 30 drive writes; the seeds do not distinguish it from one other");
    }

    #[test]
    fn all_ties_are_marked_and_what_is_no_choice_is_not() {
        let tied = cells(&[
            ("a.d=1 b.p=x", 10.0, 1.0),
            ("a.d=2 b.p=x", 10.0, 3.0),
            ("a.d=1 b.p=y", 10.0, 1.0),
            ("a.d=2 b.p=y", 10.0, 2.0),
        ]);
        let of = |groups: &[Group<'_>]| match &comparison(groups).unwrap().shown[0].drawings[..] {
            [Drawing::Heat(heat)] => (heat.best.clone(), heat.description.clone()),
            other => panic!("{} drawings", other.len()),
        };
        let (best, described) = of(&groups(&tied));
        assert_eq!(best, [0, 2]);
        assert!(described.ends_with("the best cells are framed."), "{described}");
        let shown = comparison(&groups(&tied)).unwrap().shown;
        assert_eq!(shown[0].caption, "From 3.00 (d = 2, x) to 1.00 (2 of 4).");
        let mut worn = cells(&[("drive.initial.erase-count=0", 10.0, 1.0), ("drive.initial.erase-count=9", 10.0, 2.0)]);
        for (run, erases) in worn.iter_mut().zip([0, 9]) {
            run.scenario_toml = format!("[drive.initial]\nerase-count = {erases}");
        }
        let headline = comparison(&groups(&worn)).unwrap().headline.unwrap();
        assert_eq!(headline, "Write amplification goes from 1.00 with erase-count = 0 to 2.00 with erase-count = 9");
    }

    #[test]
    fn an_axis_that_leaves_out_zero_says_so_and_one_of_a_single_value_has_it() {
        let axis = |values: [f64; 3]| {
            let runs = cells(&[("a.d=1", 10.0, values[0]), ("a.d=2", 10.0, values[1]), ("a.d=4", 10.0, values[2])]);
            match &comparison(&groups(&runs)).unwrap().shown[0].drawings[0] {
                Drawing::Chart(chart) => (chart.y.min, chart.y_label.clone()),
                _ => panic!("no chart"),
            }
        };
        let told = |label: &str| label.to_owned();
        assert_eq!(axis([1.0, 2.0, 4.0]), (0.0, told("write amplification")));
        assert_eq!(axis([3.0, 3.2, 4.0]), (2.5, told("write amplification (from 2.5)")));
        let same = cells(&[("a.d=1", 10.0, 2.0), ("a.d=2", 10.0, 2.0), ("a.d=4", 10.0, 2.0)]);
        match &comparison(&groups(&same)).unwrap().shown[0].drawings[..] {
            [Drawing::Chart(chart)] => assert_eq!((chart.y.min, chart.id.as_str()), (0.0, "compared-life")),
            _ => panic!("the answer is drawn whatever it is"),
        }
    }

    #[test]
    fn a_measure_that_is_the_same_in_all_runs_is_told_and_not_drawn() {
        let runs = cells(&[("a.d=1", 10.0, 2.0), ("a.d=2", 20.0, 2.0), ("a.d=4", 30.0, 2.001)]);
        let (names, more) = comparison(&groups(&runs)).unwrap().more.unwrap();
        assert!(names.contains("write amplification") && names.contains("retired blocks"), "{names}");
        assert!(more.drawings.is_empty(), "{} drawings", more.drawings.len());
        let told = "No chart is drawn of what looks the same in all 3 runs: ";
        assert!(
            more.caption.contains(told) && more.caption.contains("write amplification = 2.00;"),
            "{}",
            more.caption
        );
        assert!(more.table.headers.iter().any(|name| name == "write amplification"), "the table has it");
    }

    #[test]
    fn files_have_units_values_as_written_and_intervals_of_their_series() {
        let mut runs = Vec::new();
        for (index, cell) in ["a.op=\"7 %\"", "a.op=\"14 %\"", "a.op=\"28 %\""].iter().enumerate() {
            for seed in 1..=3 {
                let mut run = cells(&[(cell, 10.0, 2.0 + seed as f64)]).remove(0);
                run.summary.run.seed = seed;
                run = wane_results::test_runs::timed(run, 1);
                let latency = run.summary.latency.as_mut().unwrap().read.as_mut().unwrap();
                latency.times.p999_ns = 1_000_000 * (1 + index as u64) + seed;
                runs.push(run);
            }
        }
        let found = comparison(&groups(&runs)).unwrap();
        let figures = found.shown.iter().chain(found.more.as_ref().map(|more| &more.1));
        let drawings: Vec<&Drawing> = figures.flat_map(|figure| &figure.drawings).collect();
        let rows = drawings.iter().find(|drawing| drawing.id() == "compared-read-p999").unwrap().rows();
        assert_eq!(rows[0], ["series", "op", "p99.9 of reads (ms)"], "{rows:?}");
        assert_eq!(rows[1][1], "7 %", "{rows:?}");
        let named: Vec<&str> = rows[1..].iter().map(|row| row[0].as_str()).collect();
        assert!(named.contains(&"P99.9 of reads over op, low"), "{named:?}");
    }

    #[test]
    fn pictures_follow_the_keys() {
        let grid = |first: &[&str], second: &[&str]| {
            let names: Vec<String> =
                first.iter().flat_map(|one| second.iter().map(move |other| format!("{one}{other}"))).collect();
            let told: Vec<(&str, f64, f64)> =
                names.iter().enumerate().map(|(index, name)| (name.as_str(), 10.0 + 5.0 * index as f64, 2.0)).collect();
            cells(&told)
        };
        let numbers = ["a.d=1", "a.d=2", "a.d=4"];
        let words = [" b.p=x", " b.p=y"];
        let more = [" b.p=x c.q=u", " b.p=x c.q=v", " b.p=y c.q=u", " b.p=y c.q=v"];
        let table: [(&str, Vec<RunResult>, &[&str]); 6] = [
            ("a key of numbers", grid(&numbers, &[""]), &["chart"]),
            ("a key of words", grid(&["b.p=x", "b.p=y", "b.p=z"], &[""]), &["bars"]),
            ("numbers and words", grid(&numbers, &words), &["chart", "heat"]),
            ("words and words", grid(&["a.q=u", "a.q=v"], &words), &["heat"]),
            ("three keys", grid(&numbers, &more), &["facets"]),
            ("three keys, none of more than two numbers", grid(&numbers[..2], &more), &["bars"]),
        ];
        for (name, runs, expected) in table {
            let shown = comparison(&groups(&runs)).unwrap().shown;
            let kind = |drawing: &Drawing| match drawing {
                Drawing::Chart(_) => "chart",
                Drawing::Facets(_) => "facets",
                Drawing::Bars(_) => "bars",
                Drawing::Heat(_) => "heat",
                _ => "another",
            };
            assert_eq!(shown[0].drawings.iter().map(kind).collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn of_three_keys_one_goes_along_one_gives_lines_and_one_panels() {
        let names: Vec<String> = (0..12)
            .map(|cell| {
                format!("a.d={} b.p={} c.q={}", 1 << (cell / 4), ["x", "y"][cell / 2 % 2], ["u", "v"][cell % 2])
            })
            .collect();
        let told: Vec<(&str, f64, f64)> =
            names.iter().enumerate().map(|(index, name)| (name.as_str(), 10.0 + 5.0 * index as f64, 2.0)).collect();
        let runs = cells(&told);
        let found = comparison(&groups(&runs)).unwrap();
        let [Drawing::Facets(facets)] = &found.shown[0].drawings[..] else { panic!("no panels") };
        let headings: Vec<&str> = facets.all.iter().map(|facet| facet.heading.as_str()).collect();
        assert_eq!(headings, ["p = x", "p = y"]);
        let lines: Vec<&str> = facets.all[1].chart.curves().map(|curve| curve.label.as_str()).collect();
        assert_eq!(lines, ["u", "v"]);
        let ends: Vec<f64> = facets.all.iter().map(|facet| facet.chart.y.max).collect();
        assert!(ends[0] == ends[1] && ends[0] >= 65.0, "one axis for all: {ends:?}");
        let best =
            |facet: &Facet| facet.chart.layers.iter().filter(|layer| matches!(layer, Layer::Ring { .. })).count();
        assert_eq!(facets.all.iter().map(best).collect::<Vec<_>>(), [0, 1]);
        assert!(found.headline.unwrap().starts_with("Life is longest with d = 4, p = y, q = v: 65 drive writes"));
    }

    #[test]
    fn what_is_alike_is_one_click_away_and_the_living_are_told() {
        let mut runs = cells(&[("a.d=1", 10.0, 3.0), ("a.d=2", 30.0, 2.0), ("a.d=4", 40.0, 2.5)]);
        runs[2].summary.end.reason = EndReason::DriveWrites;
        let found = comparison(&groups(&runs)).unwrap();
        assert_eq!(found.shown.len(), 2, "life, and amplification beside it");
        assert_eq!(found.shown[1].table.headers[1..], ["write amplification"]);
        assert!(found.more.unwrap().0.contains("retired blocks"));
        assert_eq!(found.shown[0].table.rows[2][1], "\u{2265} 40 drive writes");
        assert!(found.shown[0].caption.contains("had not ended"), "{}", found.shown[0].caption);
    }
}
