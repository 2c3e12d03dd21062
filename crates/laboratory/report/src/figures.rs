//! The pictures of a life: capacity, write amplification and wear over the drive writes.

mod states;

use super::axis::Axis;
use super::chart::{Chart, Curve, End, Layer, Point, Shape};
use super::groups::Group;
use super::html::{Figure, Table};
use super::numbers::{count, counted, percent, short, short_or_dash};
use super::panels::{drawn, told, value_at};
use super::picture::Arrangement;
use super::smooth::{Smooth, smooth};
use wane_results::{EndReason, EraseCounts, Row, RunResult, band, windows};

/// Moments at which a band is drawn, and at which it is tabled.
const BAND_POINTS: usize = 160;
const TABLE_POINTS: usize = 11;
/// Most groups whose bands can be told apart.
const BANDS_MAX: usize = 4;
/// Most groups that a caption names.
const TOLD_MAX: usize = 6;

/// A figure of each row, `None` where it has no value.
type Measure = dyn Fn(&[Row]) -> Vec<Option<f64>>;

/// Number of columns that a curve is thinned to, so that the page stays small.
pub(super) fn columns(groups: &[Group<'_>], coarseness: usize) -> usize {
    let runs: usize = groups.iter().map(|group| group.runs.len()).sum();
    (900 / runs.max(1) / coarseness).clamp(4, 220)
}

/// The figures that the timelines allow; none where nothing was sampled.
pub(super) fn figures(groups: &[Group<'_>], coarseness: usize) -> Vec<Figure> {
    let runs = groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)));
    let last = runs.filter_map(|(group, run)| Some(group.life.place(run, run.timeline.last()?.drive_writes)));
    let end = last.fold(0.0, f64::max);
    if end <= 0.0 {
        return Vec::new();
    }
    let life = Life { groups, x: Axis::exact(0.0, end, 8), columns: columns(groups, coarseness) };
    let mut figures = vec![wear(&life), amplification(&life), capacity(&life)];
    figures.extend(states::states(&life));
    figures
}

/// What the three pictures share.
struct Life<'a> {
    groups: &'a [Group<'a>],
    x: Axis,
    columns: usize,
}

/// What is drawn for some of the runs.
type Layers<'a> = &'a dyn Fn(&[Group<'_>]) -> Vec<Layer>;

impl Life<'_> {
    /// A picture over the life: its id and heading, its caption, its y axis with name and unit, and its layers.
    fn figure(
        &self,
        (id, heading): (&str, &str),
        caption: &str,
        (y, y_label, y_unit): (Axis, &str, &'static str),
        layers: Layers<'_>,
    ) -> Figure {
        let caption = captioned(caption.to_owned(), self.groups);
        let chart = Chart {
            id: id.to_owned(),
            title: heading.to_owned(),
            description: caption.clone(),
            x: self.x.clone(),
            x_label: self.groups.first().map_or_else(String::new, |group| group.life.label()),
            y,
            y_label: y_label.to_owned(),
            y_unit,
            layers: Vec::new(),
            columns: self.columns,
        };
        let drawings = vec![drawn(self.groups, &chart, layers)];
        let table = table_of(&layers(self.groups), self, y_unit.trim());
        Figure { heading: heading.to_owned(), caption, drawings, arrangement: Arrangement::Whole, table }
    }
}

fn capacity(life: &Life<'_>) -> Figure {
    let alone = life.groups.len() == 1;
    let layers = |groups: &[Group<'_>]| {
        let mut layers = Vec::new();
        for group in groups {
            let whole = group.first().summary.capacity.logical_bytes_initial.max(1) as f64;
            let exported =
                move |rows: &[Row]| rows.iter().map(|row| Some(100.0 * row.exported_bytes as f64 / whole)).collect();
            let label = if alone { "exported" } else { &group.label };
            layers.extend(layers_of(group, &group.class(), label, Shape::Steps, &exported));
            if alone {
                let blocks = group.first().block_count().max(1) as f64;
                let retired = move |rows: &[Row]| {
                    rows.iter().map(|row| Some(100.0 * f64::from(row.blocks_retired) / blocks)).collect()
                };
                layers.extend(layers_of(group, "s1", "blocks retired", Shape::Steps, &retired));
            }
        }
        layers
    };
    let y_label = if alone { "share of the first capacity, and of all blocks" } else { "share of the first capacity" };
    let y = (Axis::rounded(0.0, 100.0, 5), y_label, "\u{a0}%");
    life.figure(("capacity", "Capacity over the life"), &capacity_caption(life.groups), y, &layers)
}

fn amplification(life: &Life<'_>) -> Figure {
    let alone = life.groups.len() == 1;
    let banded = life.groups.len() <= BANDS_MAX;
    let layers = |groups: &[Group<'_>]| {
        let mut layers = Vec::new();
        for group in groups {
            let page = group.first().summary.host.page_bytes;
            let total = move |rows: &[Row]| windows(rows, page).iter().map(|window| window.total).collect::<Vec<_>>();
            let label = if alone { "total" } else { &group.label };
            layers.extend(smoothed(layers_of(group, &group.class(), label, Shape::Straight, &total), banded));
            if alone {
                layers.extend(parts_of_amplification(group).into_iter().flat_map(|layers| smoothed(layers, false)));
            }
        }
        layers
    };
    let all = layers(life.groups);
    let mut heights: Vec<f64> = curves(&all).flat_map(|curve| &curve.points).map(|point| point.1).collect();
    let areas = all.iter().filter_map(|layer| if let Layer::Area { points, .. } = layer { Some(points) } else { None });
    heights.extend(areas.flatten().map(|point| point.2));
    heights.sort_by(f64::total_cmp);
    let most = heights.last().copied().unwrap_or(1.0);
    // A drive about to die may write hundreds of pages for one; the rest of its life should still be seen.
    let usual = heights.get(heights.len() * 98 / 100).copied().unwrap_or(most);
    let top = if most > 2.0 * usual { 1.3 * usual } else { most };
    let mut caption = amplification_caption(life.groups);
    if all.iter().any(|layer| matches!(layer, Layer::Area { class, .. } if class.ends_with("raw"))) {
        caption.push_str(
            " Lines are smoothed over a fortieth of the life; the band behind is the range of what was measured.",
        );
    }
    if top < most {
        caption.push_str(&format!(" The highest, {}, lies beyond the frame.", short(most)));
    }
    let y = (Axis::rounded(0.0, top, 5), "flash bytes per host byte", "");
    life.figure(("amplification", "Write amplification over the life"), &caption, y, &layers)
}

/// Curves of the parts of the amplification: of the host with garbage collection, if that is not all, and of wear leveling, if there is any.
fn parts_of_amplification(group: &Group<'_>) -> Vec<Vec<Layer>> {
    let page = group.first().summary.host.page_bytes;
    let gc = move |rows: &[Row]| windows(rows, page).iter().map(|window| window.gc).collect::<Vec<_>>();
    let leveling =
        move |rows: &[Row]| windows(rows, page).iter().map(|window| window.wear_leveling).collect::<Vec<_>>();
    let flash = &group.first().summary.flash.pages_programmed;
    let mut parts = Vec::new();
    if flash.total != flash.host + flash.gc {
        parts.push(layers_of(group, "s2", "host and GC", Shape::Straight, &gc));
    }
    if flash.wear_leveling > 0 {
        parts.push(layers_of(group, "s1", "wear leveling", Shape::Straight, &leveling));
    }
    parts
}

/// Layers with their named curves smoothed, over a band of the values before.
fn smoothed(layers: Vec<Layer>, banded: bool) -> Vec<Layer> {
    let mut smoothed = Vec::new();
    for layer in layers {
        match layer {
            Layer::Curve(curve) if !curve.label.is_empty() => match smooth(&curve.points) {
                Some(Smooth { points, range }) => {
                    if banded {
                        smoothed.push(Layer::Area { class: format!("{} raw", curve.class), points: range });
                    }
                    smoothed.push(Layer::Curve(Curve { points, ..curve }));
                }
                None => smoothed.push(Layer::Curve(curve)),
            },
            other => smoothed.push(other),
        }
    }
    smoothed
}

fn capacity_caption(groups: &[Group<'_>]) -> String {
    let kept = |group: &Group<'_>| {
        let share = group.mean(|summary| {
            let capacity = &summary.capacity;
            Some(capacity.logical_bytes_exported as f64 / capacity.logical_bytes_initial.max(1) as f64)
        });
        percent(share.unwrap_or(1.0))
    };
    if let [group] = groups {
        let retired = counted(group.mean(|summary| Some(summary.wear.blocks_retired as f64)).unwrap_or(0.0));
        let blocks = count(group.first().block_count() as u64);
        return format!(
            "{} of the first capacity was left at the end; {retired} of {blocks} blocks had retired.",
            kept(group)
        );
    }
    format!("Left at the end: {}.", each(groups, kept))
}

fn amplification_caption(groups: &[Group<'_>]) -> String {
    let whole = |group: &Group<'_>| short_or_dash(group.mean(|summary| summary.write_amplification.total));
    let last =
        |group: &Group<'_>| short_or_dash(group.mean(|summary| summary.write_amplification.last_drive_write.total));
    if let [group] = groups {
        let (whole, last) = (whole(group), last(group));
        // Of a run of less, the last drive write is the whole run.
        let is_longer = group.runs.iter().all(|run| run.summary.host.drive_writes > 1.0);
        let last = if is_longer { format!(", {last} in the last drive write") } else { String::new() };
        return format!("{whole} flash bytes per host byte over the whole life{last}.");
    }
    format!("Over the whole life: {}.", each(groups, whole))
}

/// "1 (a), 2 (b), 3 (c)" of the first groups.
fn each(groups: &[Group<'_>], figure: impl Fn(&Group<'_>) -> String) -> String {
    let told: Vec<String> =
        groups.iter().take(TOLD_MAX).map(|group| format!("{} ({})", figure(group), group.label)).collect();
    let rest = groups.len().saturating_sub(TOLD_MAX);
    let rest = if rest > 0 { format!(", and {rest} more in the table above") } else { String::new() };
    told.join(", ") + &rest
}

fn wear(life: &Life<'_>) -> Figure {
    let groups = life.groups;
    let (alone, banded) = (groups.len() == 1, groups.len() <= BANDS_MAX);
    let plain =
        |groups: &[Group<'_>]| groups.iter().flat_map(|group| wear_of(group, alone, banded)).collect::<Vec<Layer>>();
    let most = curves(&plain(groups)).flat_map(|curve| &curve.points).map(|point| point.1).fold(1.0, f64::max);
    let rated: Vec<f64> = groups.iter().filter_map(Group::endurance).collect();
    let rated = rated.first().copied().filter(|first| rated.iter().all(|other| other == first));
    let shown = rated.filter(|rated| *rated < 1.6 * most);
    let layers = |groups: &[Group<'_>]| {
        let level = shown.map(|y| Layer::Level { y, label: format!("rated: {} P/E cycles", counted(y)) });
        plain(groups).into_iter().chain(level).collect()
    };
    let mut caption = if alone {
        "The line is the median block; the dark band holds the middle 80 % of blocks, the light one 98 %."
    } else if banded {
        "Lines are the median blocks; each band holds the middle 80 % of its run\u{2019}s blocks."
    } else {
        "Lines are the median blocks."
    }
    .to_owned();
    if let (Some(rated), None) = (rated, shown) {
        caption.push_str(&format!(" The rated {} P/E cycles lie beyond the frame.", counted(rated)));
    }
    let y = (Axis::rounded(0.0, shown.map_or(most, |rated| rated.max(most)), 5), "erases of a block", "");
    life.figure(("wear", "Wear over the life"), &caption, y, &layers)
}

fn wear_of(group: &Group<'_>, alone: bool, banded: bool) -> Vec<Layer> {
    let class = group.class();
    let curve = |of: fn(&EraseCounts) -> u32| quantile(group, of);
    let mut layers = Vec::new();
    if alone {
        layers.push(between(&format!("{class} outer"), &curve(|at| at.p1), &curve(|at| at.p99)));
    }
    if banded {
        layers.push(between(&format!("{class} inner"), &curve(|at| at.p10), &curve(|at| at.p90)));
    }
    if alone {
        for (label, points) in [("most worn", curve(|at| at.max)), ("least worn", curve(|at| at.min))] {
            let class = format!("{class} fine");
            layers.push(Layer::Curve(Curve { class, points, label: label.to_owned(), ..Curve::default() }));
        }
    }
    let label = if alone { "median" } else { &group.label }.to_owned();
    let (points, end) = (curve(|at| at.p50), end_of(group));
    layers.push(Layer::Curve(Curve { class, points, label, end, ..Curve::default() }));
    layers
}

/// A group's curve: one run as it is, several seeds as a band around their mean over faint lines.
fn layers_of(group: &Group<'_>, class: &str, label: &str, shape: Shape, measure: &Measure) -> Vec<Layer> {
    let points = |run: &RunResult| -> Vec<Point> {
        let values = measure(&run.timeline);
        let place = |row: &Row| group.life.place(run, row.drive_writes);
        run.timeline.iter().zip(values).filter_map(|(row, value)| Some((place(row), value?))).collect()
    };
    // Seeds of one scenario have one calendar.
    let place = |drive_writes: f64| group.life.place(group.first(), drive_writes);
    let curve = |points, class: String, label: &str, end| {
        Layer::Curve(Curve { class, points, label: label.to_owned(), shape, end, ..Curve::default() })
    };
    if let [run] = group.runs[..] {
        return vec![curve(points(run), class.to_owned(), label, end_of(group))];
    }
    let timelines: Vec<&[Row]> = group.runs.iter().map(|run| run.timeline.as_slice()).collect();
    let moments = band(&timelines, measure, BAND_POINTS);
    let area = moments.iter().map(|at| (place(at.drive_writes), at.estimate.low(), at.estimate.high())).collect();
    let mut layers = vec![Layer::Area { class: format!("{class} band"), points: area }];
    layers.extend(group.runs.iter().map(|run| curve(points(run), format!("{class} faint"), "", End::Open)));
    let mean = moments.iter().map(|at| (place(at.drive_writes), at.estimate.mean)).collect();
    layers.push(Layer::Curve(Curve {
        class: class.to_owned(),
        points: mean,
        label: label.to_owned(),
        ..Curve::default()
    }));
    layers
}

/// A percentile over the life; for several seeds the mean of theirs.
fn quantile(group: &Group<'_>, of: fn(&EraseCounts) -> u32) -> Vec<Point> {
    let place = |drive_writes: f64| group.life.place(group.first(), drive_writes);
    if let [run] = group.runs[..] {
        return run.timeline.iter().map(|row| (place(row.drive_writes), f64::from(of(&row.erase_count)))).collect();
    }
    let timelines: Vec<&[Row]> = group.runs.iter().map(|run| run.timeline.as_slice()).collect();
    let measure = |rows: &[Row]| rows.iter().map(|row| Some(f64::from(of(&row.erase_count)))).collect();
    band(&timelines, measure, BAND_POINTS).iter().map(|at| (place(at.drive_writes), at.estimate.mean)).collect()
}

fn between(class: &str, low: &[Point], high: &[Point]) -> Layer {
    let points = low.iter().zip(high).map(|(low, high)| (low.0, low.1, high.1)).collect();
    Layer::Area { class: class.to_owned(), points }
}

fn end_of(group: &Group<'_>) -> End {
    match &group.runs[..] {
        [run] if run.summary.end.reason == EndReason::EndOfLife => End::Cross,
        [_] => End::Dot,
        _ => End::Open,
    }
}

fn curves(layers: &[Layer]) -> impl Iterator<Item = &Curve> {
    layers.iter().filter_map(|layer| if let Layer::Curve(curve) = layer { Some(curve) } else { None })
}

/// Says what marks and bands mean, where the picture has some.
fn captioned(mut caption: String, groups: &[Group<'_>]) -> String {
    if groups.iter().any(|group| group.runs.len() > 1) {
        caption.push_str(
            " Faint lines are single seeds; the line is their mean and the band its 95 % interval, up to the first that ended.",
        );
    }
    if groups.iter().any(|group| end_of(group) == End::Cross) {
        caption.push_str(" A cross marks the end of life.");
    }
    caption.push_str(&told(groups));
    caption
}

/// The labeled curves at a few moments.
fn table_of(layers: &[Layer], life: &Life<'_>, unit: &str) -> Table {
    let labeled: Vec<&Curve> = curves(layers).filter(|curve| !curve.label.is_empty()).collect();
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let mut headers: Vec<String> = life.groups.iter().take(1).map(|group| group.life.label()).collect();
    headers.extend(labeled.iter().map(|curve| format!("{}{unit}", curve.label)));
    let row = |index: usize| {
        let at = life.x.max * index as f64 / (TABLE_POINTS - 1) as f64;
        let values = labeled.iter().map(|curve| short_or_dash(value_at(&curve.points, curve.shape, at)));
        std::iter::once(short(at)).chain(values).collect()
    };
    Table { headers, rows: (0..TABLE_POINTS).map(row).collect() }
}
