//! One chart of all runs, or a panel for each of a few where their lines would be too many: all on the same axes.

use super::chart::{Chart, Layer, Names, Point, Shape};
use super::groups::Group;
use super::picture::{Arrangement, Drawing};
use super::series::panels;

/// Moments of the range behind panels.
const RANGE_POINTS: usize = 40;

/// The chart with the layers of all runs, or as panels.
pub(super) fn drawn(
    groups: &[Group<'_>],
    chart: &Chart,
    layers: &dyn Fn(&[Group<'_>]) -> Vec<Layer>,
) -> (Vec<Drawing>, Arrangement) {
    let panels = panels(groups);
    if let [_] = &panels[..] {
        let chart = Chart { layers: layers(groups), ..chart.clone() };
        return (vec![Drawing::Chart(Box::new(chart))], Arrangement::Whole);
    }
    let alone = panels.iter().all(|panel| panel.groups.len() == 1);
    let range = if alone { range(&layers(groups)) } else { Vec::new() };
    let drawing = |(index, panel): (usize, &super::series::Panel<'_>)| {
        let behind = (!range.is_empty()).then(|| Layer::Area { class: "behind end".to_owned(), points: range.clone() });
        let layers = behind.into_iter().chain(layers(&panel.groups)).collect();
        let names = if alone { Names::Elsewhere } else { chart.names };
        let heading = panel.heading.clone();
        let (id, title) = (format!("{}-{index}", chart.id), format!("{}: {heading}", chart.title));
        let columns = (chart.columns / 2).max(10);
        Drawing::Chart(Box::new(Chart { id, title, heading, layers, names, columns, ..chart.clone() }))
    };
    (panels.iter().enumerate().map(drawing).collect(), Arrangement::Panels)
}

/// What a caption says of panels; nothing of a single chart.
pub(super) fn told(groups: &[Group<'_>]) -> String {
    let panels = panels(groups);
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
