//! One chart of all runs, or several on the same axes where their lines would be too many.
//!
//! Of the keys that were swept one tells the lines of a chart apart. Of the others one gives columns and the rest gives rows; a single other key
//! gives charts that follow each other. So lines of one chart differ in one key, and so do neighbors.

use super::chart::{Chart, Layer, Point, Shape};
use super::facets::{Facet, Facets};
use super::groups::Group;
use super::palette::HUES;
use super::picture::Drawing;
use super::series::{Key, in_full, keys};

/// Most panels of a picture; of more, this many are drawn, spread evenly.
const PANELS_MAX: usize = 24;
/// Most columns of panels, and most rows: more would not fit on a printed page.
const COLUMNS_MAX: usize = 6;
const ROWS_MAX: usize = 8;
/// Moments of the range behind panels.
const RANGE_POINTS: usize = 40;

/// One of several charts of a picture, and its runs.
struct Panel<'a> {
    heading: String,
    /// Its row and its column.
    place: (usize, usize),
    groups: Vec<Group<'a>>,
}

/// The charts of a picture.
struct Panels<'a> {
    /// Row by row; a single one where runs fit into one chart.
    all: Vec<Panel<'a>>,
    columns: usize,
    /// Titles of rows and columns; empty where panels only have headings.
    titles: [Vec<String>; 2],
}

/// Where groups stand in rows and columns, by the keys that tell charts apart.
pub(super) struct Grid {
    /// The row and the column of each group; `None` of those that are left out.
    pub(super) places: Vec<Option<(usize, usize)>>,
    /// What sets each group's chart apart, whole.
    pub(super) headings: Vec<String>,
    pub(super) columns: usize,
    /// Titles of rows and columns; empty where a single key has its values follow each other.
    pub(super) titles: [Vec<String>; 2],
}

impl Grid {
    /// Of more than one key the columns are those of the key with the most values that fit into a row.
    pub(super) fn of(keys: &[&Key]) -> Self {
        let groups = keys.first().map_or(0, |key| key.of.len());
        let headings = (0..groups).map(|group| in_full(keys.iter().copied(), group)).collect();
        if let [key] = keys {
            let drawn = evenly((0..key.values.len()).collect(), PANELS_MAX);
            let columns = columns_of(drawn.len());
            let place =
                |value: &usize| drawn.iter().position(|one| one == value).map(|at| (at / columns, at % columns));
            return Self { places: key.of.iter().map(place).collect(), headings, columns, titles: Default::default() };
        }
        let fits = |key: &usize| keys[*key].values.len() <= COLUMNS_MAX;
        let widest = (0..keys.len()).filter(fits).max_by_key(|key| keys[*key].values.len());
        let fewest = || (0..keys.len()).min_by_key(|key| keys[*key].values.len());
        let across = widest.or_else(fewest).unwrap_or(0);
        let down: Vec<&Key> = (0..keys.len()).filter(|key| *key != across).map(|key| keys[key]).collect();
        let columns = evenly((0..keys[across].values.len()).collect(), COLUMNS_MAX);
        let row_of = |group: usize| down.iter().map(|key| key.of[group]).collect::<Vec<usize>>();
        let mut rows: Vec<Vec<usize>> = (0..groups).map(row_of).collect();
        rows.sort_unstable();
        rows.dedup();
        let rows = evenly(rows, (PANELS_MAX / columns.len().max(1)).clamp(1, ROWS_MAX));
        let place = |group: usize| {
            let row = rows.iter().position(|row| *row == row_of(group))?;
            Some((row, columns.iter().position(|column| *column == keys[across].of[group])?))
        };
        let first = |is_it: &dyn Fn(usize) -> bool| (0..groups).find(|group| is_it(*group)).unwrap_or(0);
        let row_titles =
            rows.iter().map(|row| in_full(down.iter().copied(), first(&|group| row_of(group) == *row))).collect();
        let column_title = |column: &usize| keys[across].headed(first(&|group| keys[across].of[group] == *column));
        let titles = [row_titles, columns.iter().map(column_title).collect()];
        Self { places: (0..groups).map(place).collect(), headings, columns: columns.len(), titles }
    }
}

/// Columns of charts that follow each other.
const fn columns_of(charts: usize) -> usize {
    match charts {
        0 => 1,
        1..=3 => charts,
        4..=9 => 3,
        _ => 4,
    }
}

/// The key whose values are the lines of a chart: the last that has a hue for each.
pub(super) fn lines_key(keys: &[Key]) -> usize {
    let few = (0..keys.len()).rev().find(|index| keys[*index].values.len() <= HUES);
    few.or_else(|| (0..keys.len()).min_by_key(|index| keys[*index].values.len())).unwrap_or(0)
}

/// The runs as panels: one of all while there are few; of more, one for each value of the other keys with lines for one, or one for each run of
/// a single key. What is more than a picture holds is drawn evenly.
fn panels<'a>(groups: &[Group<'a>]) -> Panels<'a> {
    let none = || [Vec::new(), Vec::new()];
    if groups.len() <= HUES {
        let all = vec![Panel { heading: String::new(), place: (0, 0), groups: groups.to_vec() }];
        return Panels { all, columns: 1, titles: none() };
    }
    let keys = keys(groups);
    if keys.len() < 2 {
        let drawn = evenly((0..groups.len()).collect(), PANELS_MAX);
        let columns = columns_of(drawn.len());
        let panel = |(at, group): (usize, &usize)| {
            let group: &Group<'a> = &groups[*group];
            Panel { heading: group.label.clone(), place: (at / columns, at % columns), groups: vec![group.clone()] }
        };
        return Panels { all: drawn.iter().enumerate().map(panel).collect(), columns, titles: none() };
    }
    let lines = &keys[lines_key(&keys)];
    let rest: Vec<&Key> = keys.iter().filter(|key| !std::ptr::eq(*key, lines)).collect();
    let grid = Grid::of(&rest);
    let drawn = evenly((0..lines.values.len()).collect(), HUES);
    let mut order: Vec<usize> = (0..groups.len()).filter(|group| drawn.contains(&lines.of[*group])).collect();
    order.sort_by_key(|group| (grid.places[*group], lines.of[*group]));
    let mut all: Vec<Panel<'a>> = Vec::new();
    for index in order {
        let Some(place) = grid.places[index] else { continue };
        let group = Group { label: lines.tag(index), style: lines.style(index), ..groups[index].clone() };
        match all.last_mut() {
            Some(panel) if panel.place == place => panel.groups.push(group),
            _ => all.push(Panel { heading: grid.headings[index].clone(), place, groups: vec![group] }),
        }
    }
    debug_assert!(all.iter().all(|panel| panel.groups.len() <= HUES), "a panel has a hue for each of its lines");
    Panels { all, columns: grid.columns, titles: grid.titles }
}

/// At most `most` of a list, with the first and the last.
fn evenly<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let count = all.len();
    if count <= most {
        return all;
    }
    let kept: Vec<usize> = (0..most).map(|place| place * (count - 1) / most.saturating_sub(1).max(1)).collect();
    all.into_iter().enumerate().filter(|(index, _)| kept.contains(index)).map(|(_, one)| one).collect()
}

/// The chart with the layers of all runs, or one for each panel.
pub(super) fn drawn(groups: &[Group<'_>], chart: &Chart, layers: &dyn Fn(&[Group<'_>]) -> Vec<Layer>) -> Drawing {
    let panels = panels(groups);
    if let [panel] = &panels.all[..] {
        return Drawing::Chart(Box::new(Chart { layers: layers(&panel.groups), ..chart.clone() }));
    }
    let alone = panels.all.iter().all(|panel| panel.groups.len() == 1);
    let range = if alone { range(&layers(groups)) } else { Vec::new() };
    let facet = |(index, panel): (usize, &Panel<'_>)| {
        let behind = (!range.is_empty()).then(|| Layer::Area { class: "behind end".to_owned(), points: range.clone() });
        let layers = behind.into_iter().chain(layers(&panel.groups)).collect();
        let heading = panel.heading.clone();
        let (id, title) = (format!("{}-{index}", chart.id), format!("{}: {heading}", chart.title));
        let columns = (chart.columns / 2).max(10);
        Facet { chart: Chart { id, title, layers, columns, ..chart.clone() }, heading, place: panel.place }
    };
    Drawing::Facets(Facets {
        id: chart.id.clone(),
        title: chart.title.clone(),
        description: chart.description.clone(),
        all: panels.all.iter().enumerate().map(facet).collect(),
        columns: panels.columns,
        titles: panels.titles,
    })
}

/// What a caption says of panels; nothing of a single chart.
pub(super) fn told(groups: &[Group<'_>]) -> String {
    let panels = panels(groups).all;
    let drawn: usize = panels.iter().map(|panel| panel.groups.len()).sum();
    let some = if drawn < groups.len() {
        format!(" {drawn} of {} runs are drawn, evenly.", groups.len())
    } else {
        String::new()
    };
    debug_assert!(drawn <= groups.len(), "a run is drawn in one panel");
    match panels.len() {
        1 => String::new(),
        _ if panels.iter().all(|panel| panel.groups.len() == 1) => {
            format!(" All panels have the same axes; the gray behind each is the range of all runs.{some}")
        }
        _ => format!(" All panels have the same axes.{some}"),
    }
}

/// The least and the greatest of all curves, moment by moment.
fn range(layers: &[Layer]) -> Vec<(f64, f64, f64)> {
    let curves = || layers.iter().filter_map(|layer| if let Layer::Curve(curve) = layer { Some(curve) } else { None });
    let ends = curves().filter_map(|curve| Some((curve.points.first()?.0, curve.points.last()?.0)));
    let (first, last) =
        ends.fold((f64::INFINITY, 0.0), |(low, high), end| (f64::min(low, end.0), f64::max(high, end.1)));
    if last <= first {
        return Vec::new();
    }
    let at = |moment: usize| {
        let x = first + (last - first) * moment as f64 / RANGE_POINTS as f64;
        let values = || curves().filter_map(|curve| value_at(&curve.points, curve.shape, x));
        let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        Some((x, low, high))
    };
    let range: Vec<(f64, f64, f64)> = (0..=RANGE_POINTS).filter_map(at).collect();
    debug_assert!(range.iter().all(|(_, low, high)| low <= high), "the least is below the greatest");
    range
}

/// The value of a curve at `x`; `None` outside it.
pub(super) fn value_at(points: &[Point], shape: Shape, x: f64) -> Option<f64> {
    let slack = 1e-9 * x.abs();
    let (first, last) = (points.first()?, points.last()?);
    if x < first.0 - slack || x > last.0 + slack {
        return None;
    }
    let after = points.partition_point(|point| point.0 < x).min(points.len() - 1);
    let (x1, y1) = points[after];
    let (x0, y0) = points[after.saturating_sub(1)];
    match shape {
        _ if x1 <= x0 || x >= x1 => Some(y1),
        Shape::Steps => Some(y0),
        Shape::Straight => Some(y0 + (y1 - y0) * (x - x0) / (x1 - x0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::along::chart;
    use crate::axis::Axis;
    use crate::chart::{Curve, Size};
    use crate::groups::groups;
    use wane_results::RunResult;
    use wane_results::test_runs::test_run;

    /// Runs of a sweep of these keys.
    fn swept(keys: &[(&str, &[&str])]) -> Vec<RunResult> {
        let names = keys.iter().fold(vec![String::new()], |names, (key, values)| {
            names.iter().flat_map(|name| values.iter().map(move |value| format!("{name} {key}={value}"))).collect()
        });
        let cell = |name: &String| {
            let mut run = test_run(1);
            name.trim().clone_into(&mut run.summary.scenario.name);
            run.scenario_toml = format!("x = \"{}\"", name.trim());
            run
        };
        names.iter().map(cell).collect()
    }

    fn numbers(count: usize) -> Vec<String> {
        (0..count).map(|number| number.to_string()).collect()
    }

    fn texts(values: &[String]) -> Vec<&str> {
        values.iter().map(String::as_str).collect()
    }

    fn labels<'a>(panel: &'a Panel<'_>) -> Vec<&'a str> {
        panel.groups.iter().map(|group| group.label.as_str()).collect()
    }

    const STRENGTH: (&str, &[&str]) = ("drive.ecc.strength", &["20", "40", "60"]);
    const OP: (&str, &[&str]) = ("drive.over-provisioning", &["0.07", "0.28"]);
    const GC: (&str, &[&str]) = ("ftl.gc.policy", &["greedy", "fifo"]);

    #[test]
    fn more_runs_than_hues_become_panels() {
        let runs = swept(&[("a.d", &["0", "1", "2", "3"]), ("b.policy", &["x", "y", "z"])]);
        let of_grid = groups(&runs);
        let found = panels(&of_grid);
        let headings: Vec<&str> = found.all.iter().map(|panel| panel.heading.as_str()).collect();
        assert_eq!(headings, ["d = 0", "d = 1", "d = 2", "d = 3"]);
        assert_eq!(labels(&found.all[1]), ["x", "y", "z"]);
        assert_eq!(found.all.iter().map(|panel| panel.place).collect::<Vec<_>>(), [(0, 0), (0, 1), (0, 2), (1, 0)]);
        let many = numbers(100);
        let runs = swept(&[("a.d", &texts(&many))]);
        assert_eq!(panels(&groups(&runs)).all.len(), PANELS_MAX);
    }

    #[test]
    fn a_large_field_is_drawn_as_lines_in_panels() {
        let (first, second) = (numbers(40), numbers(9));
        let runs = swept(&[("a.d", &texts(&first)), ("b.e", &texts(&second))]);
        let field = groups(&runs);
        let found = panels(&field);
        assert_eq!(found.all.len(), PANELS_MAX);
        for panel in &found.all {
            let expected = ["e = 0", "e = 1", "e = 2", "e = 3", "e = 4", "e = 5", "e = 6", "e = 8"];
            assert_eq!(labels(panel), expected, "{}", panel.heading);
        }
    }

    #[test]
    fn of_three_keys_one_gives_columns_one_rows_and_one_lines() {
        let runs = swept(&[STRENGTH, OP, GC]);
        let found = groups(&runs);
        let found = panels(&found);
        let [rows, columns] = &found.titles;
        assert_eq!(columns[..], ["strength = 20", "strength = 40", "strength = 60"]);
        assert_eq!(rows[..], ["over-provisioning = 7\u{a0}%", "over-provisioning = 28\u{a0}%"]);
        assert_eq!(found.all.len(), 6);
        assert_eq!(found.all[4].place, (1, 1));
        assert_eq!(found.all[4].heading, "strength = 40, over-provisioning = 28\u{a0}%");
        assert_eq!(labels(&found.all[4]), ["greedy", "fifo"]);
    }

    #[test]
    fn keys_beyond_three_share_the_rows_and_long_ones_do_not_give_columns() {
        let many = numbers(9);
        let runs = swept(&[("a.d", &texts(&many)), STRENGTH, OP, GC]);
        let found = groups(&runs);
        let found = panels(&found);
        let [rows, columns] = &found.titles;
        assert_eq!(columns[..], ["strength = 20", "strength = 40", "strength = 60"]);
        assert_eq!(rows.len(), PANELS_MAX / 3, "18 rows are thinned");
        assert_eq!(rows[0], "d = 0, over-provisioning = 7\u{a0}%");
        assert_eq!(found.all.len(), PANELS_MAX);
    }

    #[test]
    fn a_cell_that_was_not_run_leaves_its_place_empty() {
        let mut runs = swept(&[STRENGTH, OP, GC]);
        runs.retain(|run| !run.summary.scenario.name.starts_with("drive.ecc.strength=40 drive.over-provisioning=0.07"));
        let found = groups(&runs);
        let places: Vec<(usize, usize)> = panels(&found).all.iter().map(|panel| panel.place).collect();
        assert_eq!(places, [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)]);
    }

    /// The picture of a line for each run, in a size.
    fn picture(runs: &[RunResult], size: Size) -> String {
        let layers = |groups: &[Group<'_>]| {
            let line = |group: &Group<'_>| {
                let (class, label) = (group.class(), group.label.clone());
                Layer::Curve(Curve { class, label, points: vec![(0.0, 0.0), (9.0, 80.0)], ..Curve::default() })
            };
            let level = Layer::Level { y: 90.0, label: "rated: 3,000 P/E cycles".to_owned() };
            groups.iter().map(line).chain([level]).collect()
        };
        let axis = |label: &str| (Axis::exact(0.0, 100.0, 5), label.to_owned());
        let chart = chart("wear".to_owned(), "Wear".to_owned(), axis("drive writes"), axis("erases"));
        drawn(&groups(runs), &chart, &layers).draw(size).to_string()
    }

    #[test]
    fn rows_and_columns_share_titles_axes_and_a_key() {
        let runs = swept(&[STRENGTH, OP, GC]);
        let wide = picture(&runs, Size::Wide);
        let count = |picture: &str, text: &str| picture.matches(&format!("\n{text}\n")).count();
        let once = ["strength = 40", "over-provisioning = 7\u{a0}%", "erases", "drive writes", "greedy", "fifo"];
        for text in once.into_iter().chain(["rated: 3,000 P/E cycles"]) {
            assert_eq!(count(&wide, text), 1, "{text} in {wide}");
        }
        // Ticks of the two plots at the left, and of the three at the bottom.
        assert_eq!(count(&wide, "60"), 5, "{wide}");
        assert_eq!(wide.matches("data-bare=\"xy\"").count(), 2, "{wide}");
        assert!(
            wide.contains("data-s=\"greedy\"") && wide.contains("class=\"named\""),
            "a click on the key hides lines"
        );
        let narrow = picture(&runs, Size::Narrow);
        for panel in ["strength = 20, over-provisioning = 7\u{a0}%", "strength = 60, over-provisioning = 28\u{a0}%"] {
            assert_eq!(count(&narrow, panel), 1, "{panel} in {narrow}");
        }
        assert_eq!(count(&narrow, "60"), 12, "each of six plots has both");
    }
}
