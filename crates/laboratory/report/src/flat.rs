//! Pictures without anything to see are left out of a page; a sentence tells what they would have shown.
//!
//! Files of pictures have all of them, so that the same command writes the same files whatever the results are.

use super::chart::{Chart, Layer, Point, Shape};
use super::html::Figure;
use super::panels::value_at;
use super::picture::{Arrangement, FROM};
use super::series::assigned_to;

/// Share of an axis within which places look the same.
const SEEN: f64 = 0.008;
/// Pictures of a single run that stay: a reader looks for them, and that nothing changes is what they show.
const MAIN: [&str; 4] = ["wear", "amplification", "read-life", "write-life"];

/// A figure without the pictures that look the same throughout, or the same in all of several runs. Its caption tells their values instead.
pub(super) fn without_flat(mut figure: Figure, runs: usize) -> Figure {
    let mut told = Vec::new();
    figure.drawings.retain(|drawing| {
        let is_main = runs == 1 && MAIN.iter().any(|id| drawing.id().starts_with(id));
        let words = if is_main { None } else { in_words(&drawing.charts(), runs) };
        let is_kept = words.is_none();
        told.extend(words);
        is_kept
    });
    if told.is_empty() {
        return figure;
    }
    figure.caption = match figure.drawings.is_empty() {
        // The rest of the caption explains what is drawn.
        true => not_drawn(&told, runs),
        false => format!("{} {}", figure.caption, not_drawn(&told, runs)),
    };
    figure.arrangement = Arrangement::of(&figure.drawings);
    figure
}

/// The sentence that stands for pictures which are not drawn, with what each would have shown: "blocks retired = 0".
pub(super) fn not_drawn(told: &[String], runs: usize) -> String {
    let same = match runs {
        1 => "the same throughout".to_owned(),
        2 => "the same in both runs".to_owned(),
        runs => format!("the same in all {runs} runs"),
    };
    format!("No chart is drawn of what looks {same}: {}.", told.join("; "))
}

/// A line of a chart, or an edge of an area.
struct Line {
    /// Its chart and its color, which are those of a run.
    run: (usize, String),
    points: Vec<Point>,
    shape: Shape,
}

/// What charts would have shown, with its value; `None` of those that stay.
fn in_words(charts: &[&Chart], runs: usize) -> Option<String> {
    let first = charts.first()?;
    if charts.iter().flat_map(|chart| &chart.layers).any(|layer| matches!(layer, Layer::Bars { .. })) {
        return None;
    }
    let lines: Vec<Line> = charts.iter().enumerate().flat_map(|(index, chart)| lines_of(index, chart)).collect();
    if lines.iter().all(|line| line.points.is_empty()) {
        return None;
    }
    let label = first.y_label.split(FROM).next().unwrap_or_default();
    if runs == 1 {
        let is_still = lines.iter().all(|line| looks_level(first, &[line]));
        let named = first.curves().filter(|curve| !curve.points.is_empty() && !curve.class.ends_with(" faint"));
        let told = named.map(|curve| {
            let name = if curve.label.is_empty() { label } else { &curve.label };
            assigned_to(name, &values(first, curve.points.iter()))
        });
        return is_still.then(|| told.collect::<Vec<_>>().join("; "));
    }
    let is_alike = looks_level(first, &lines.iter().collect::<Vec<_>>()) || lie_on_each_other(first, &lines);
    is_alike.then(|| assigned_to(label, &values(first, lines.iter().flat_map(|line| &line.points))))
}

/// The lines of a chart. What lies behind all of them and what marks limits belongs to no run.
fn lines_of(index: usize, chart: &Chart) -> Vec<Line> {
    let line = |class: &str, points: Vec<Point>, shape: Shape| {
        let color = class.split(' ').next().unwrap_or_default().to_owned();
        Line { run: (index, color), points, shape }
    };
    let edges = |class: &str, points: &[(f64, f64, f64)]| {
        let edge = |of: fn(&(f64, f64, f64)) -> Point| line(class, points.iter().map(of).collect(), Shape::Straight);
        vec![edge(|point| (point.0, point.1)), edge(|point| (point.0, point.2))]
    };
    let of = |layer: &Layer| match layer {
        Layer::Curve(curve) => vec![line(&curve.class, curve.points.clone(), curve.shape)],
        Layer::Area { class, .. } if class.starts_with("behind") => Vec::new(),
        Layer::Area { class, points } | Layer::Whiskers { class, points } => edges(class, points),
        Layer::Bars { .. } | Layer::Dots { .. } | Layer::Ring { .. } | Layer::Mark { .. } | Layer::Level { .. } => {
            Vec::new()
        }
    };
    chart.layers.iter().flat_map(of).collect()
}

/// Whether lines look like a single level one.
fn looks_level(chart: &Chart, lines: &[&Line]) -> bool {
    let places = || lines.iter().flat_map(|line| &line.points).map(|point| chart.y.place(point.1));
    places().fold(0.0, f64::max) - places().fold(1.0, f64::min) < SEEN
}

/// Whether all runs have the same lines, as far as can be seen.
fn lie_on_each_other(chart: &Chart, lines: &[Line]) -> bool {
    let mut runs: Vec<(&(usize, String), Vec<&Line>)> = Vec::new();
    for line in lines {
        match runs.iter_mut().find(|(run, _)| **run == line.run) {
            Some((_, of_run)) => of_run.push(line),
            None => runs.push((&line.run, vec![line])),
        }
    }
    let Some(((_, first), others)) = runs.split_first() else { return false };
    let is_same = |of_run: &Vec<&Line>| {
        of_run.len() == first.len() && of_run.iter().zip(first).all(|(one, other)| lies_on(chart, one, other))
    };
    !others.is_empty() && others.iter().all(|(_, of_run)| is_same(of_run))
}

fn lies_on(chart: &Chart, one: &Line, other: &Line) -> bool {
    let is_near = |left: f64, right: f64| (left - right).abs() < SEEN;
    let ends = |line: &Line| Some((chart.x.place(line.points.first()?.0), chart.x.place(line.points.last()?.0)));
    let (Some(of_one), Some(of_other)) = (ends(one), ends(other)) else {
        return one.points.is_empty() && other.points.is_empty();
    };
    let on = |line: &Line, below: &Line| {
        line.points.iter().all(|(x, y)| match value_at(&below.points, below.shape, *x) {
            Some(value) => is_near(chart.y.place(*y), chart.y.place(value)),
            // Beyond an end, which is as near.
            None => true,
        })
    };
    is_near(of_one.0, of_other.0) && is_near(of_one.1, of_other.1) && on(one, other) && on(other, one)
}

/// "100 %", or "99.5 % to 100 %".
fn values<'a>(chart: &Chart, points: impl Iterator<Item = &'a Point> + Clone) -> String {
    let low = points.clone().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let high = points.map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let [low, high] = [low, high].map(|value| format!("{}{}", chart.y.told(value), chart.y_unit));
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::along::chart;
    use crate::axis::Axis;
    use crate::chart::Curve;
    use crate::html::Table;
    use crate::picture::Drawing;

    fn figure(curves: &[(&str, &str, &[Point])]) -> Figure {
        let layers = curves.iter().map(|(class, label, points)| {
            Layer::Curve(Curve {
                class: (*class).to_owned(),
                label: (*label).to_owned(),
                points: points.to_vec(),
                ..Curve::default()
            })
        });
        let axes = (Axis::exact(0.0, 10.0, 5), "drive writes".to_owned());
        let up = (Axis::rounded(0.0, 100.0, 5), "blocks".to_owned());
        let chart = Chart { layers: layers.collect(), ..chart("c".to_owned(), String::new(), axes, up) };
        Figure {
            heading: String::new(),
            caption: "A line a run.".to_owned(),
            drawings: vec![Drawing::Chart(Box::new(chart))],
            arrangement: Arrangement::Whole,
            table: Table { headers: Vec::new(), rows: Vec::new() },
        }
    }

    #[test]
    fn what_looks_the_same_is_told_and_not_drawn() {
        let level: &[Point] = &[(0.0, 40.0), (10.0, 40.0)];
        let nearly: &[Point] = &[(0.0, 40.0), (10.0, 40.5)];
        let higher: &[Point] = &[(0.0, 60.0), (10.0, 60.0)];
        let rising: &[Point] = &[(0.0, 0.0), (10.0, 80.0)];
        let rising_too: &[Point] = &[(0.0, 0.0), (5.0, 40.2), (10.0, 80.0)];
        let shorter: &[Point] = &[(0.0, 0.0), (5.0, 40.0)];
        type Curves<'a> = &'a [(&'a str, &'a str, &'a [Point])];
        let table: [(&str, usize, Curves<'_>, Option<&str>); 7] = [
            ("a level line", 1, &[("s0", "", level)], Some("throughout: blocks = 40.")),
            ("two levels", 1, &[("s0", "a", level), ("s1", "b", higher)], Some("a = 40; b = 60.")),
            ("a rise", 1, &[("s0", "", rising)], None),
            ("level runs", 2, &[("s0", "a", level), ("s1", "b", nearly)], Some("both runs: blocks = 40 to 40.5.")),
            ("runs apart", 2, &[("s0", "a", level), ("s1", "b", higher)], None),
            ("rising alike", 2, &[("s0", "a", rising), ("s1", "b", rising_too)], Some("blocks = 0 to 80.")),
            ("one is shorter", 2, &[("s0", "a", rising), ("s1", "b", shorter)], None),
        ];
        for (name, runs, curves, expected) in table {
            let found = without_flat(figure(curves), runs);
            match expected {
                None => assert_eq!((found.drawings.len(), found.caption.as_str()), (1, "A line a run."), "{name}"),
                Some(end) => {
                    assert!(found.drawings.is_empty() && found.caption.ends_with(end), "{name}: {}", found.caption);
                    assert!(
                        found.caption.starts_with("No chart is drawn of what looks the same "),
                        "{}",
                        found.caption
                    );
                }
            }
        }
    }

    #[test]
    fn the_main_pictures_of_a_run_stay() {
        let of = |id: &str, runs: usize| {
            let mut still = figure(&[("s0", "", &[(0.0, 1.0), (10.0, 1.0)])]);
            if let Drawing::Chart(chart) = &mut still.drawings[0] {
                chart.id = id.to_owned();
            }
            without_flat(still, runs).drawings.len()
        };
        assert_eq!((of("wear", 1), of("amplification", 1), of("read-life-0", 1), of("capacity", 1)), (1, 1, 1, 0));
        assert_eq!(of("amplification", 2), 0, "several runs are compared");
    }
}
