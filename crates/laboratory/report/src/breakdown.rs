//! Where the time of the mean read goes: a stack over the windows, or over several runs.

use super::along::{Along, MARKED_MAX, chart, rows};
use super::axis::Axis;
use super::bars::{Bar, Bars};
use super::chart::{Chart, Curve, Layer};
use super::groups::Group;
use super::html::{Figure, Table};
use super::latency::{Kind, with_part};
use super::numbers::{counted, duration, unit_of};
use super::picture::{Arrangement, Drawing};
use wane_results::{BreakdownMeans, Latency, RunResult, WindowKind};

/// Most groups that stand beside each other as bars.
const BARS_MAX: usize = 8;

/// Parts of a mean latency in nanoseconds, with their names.
type Parts = [(&'static str, f64); 13];

/// A column for each window, the axis that they lie along, and its label.
type Columns = (Vec<Column>, Axis, String);

/// A column of the stack: where it stands and the means of its reads.
struct Column {
    left: f64,
    right: f64,
    name: String,
    parts: Parts,
}

/// The stack, window by window; for several runs, over the part that their latencies cover.
pub(super) fn breakdown(groups: &[Group<'_>], along: Along) -> Option<Figure> {
    if groups.len() > BARS_MAX {
        return None;
    }
    let (columns, x, x_label) = match groups {
        [group] => columns_of(group, along)?,
        several => (bars_of(several)?, Axis::exact(0.0, 1.0, 5), String::new()),
    };
    let parts: Vec<usize> =
        (0..columns[0].parts.len()).filter(|part| columns.iter().any(|column| column.parts[*part].1 > 0.0)).collect();
    let total = |column: &Column| column.parts.iter().map(|part| part.1).sum::<f64>();
    let most = columns.iter().map(total).fold(0.0, f64::max);
    let (unit, sign) = unit_of(most);
    let below = |column: &Column, part: usize| column.parts[..part].iter().map(|part| part.1).sum::<f64>() / unit;
    let drawing = if groups.len() == 1 {
        let last = columns.last()?;
        let mut layers = Vec::new();
        for part in &parts {
            let bar = |column: &Column| (column.left, column.right, below(column, *part), below(column, part + 1));
            let label = last.parts[*part].0.to_owned();
            layers.push(Layer::Bars { class: format!("p{part}"), label, bars: columns.iter().map(bar).collect() });
        }
        for part in parts.iter().filter(|part| last.parts[**part].1 >= 0.005 * most) {
            let middle = (below(last, *part) + below(last, part + 1)) / 2.0;
            // Short enough to stand beside the bars.
            let name = last.parts[*part].0.replace("garbage collection", "GC");
            let label = format!("{name} {}", duration(last.parts[*part].1));
            let points = vec![(last.right, middle)];
            layers.push(Layer::Curve(Curve { class: format!("p{part} solid"), points, label, ..Curve::default() }));
        }
        let title = "Parts of the mean read latency".to_owned();
        let y = (Axis::rounded(0.0, most / unit, 5), "mean latency of reads".to_owned());
        let chart = chart("breakdown".to_owned(), title, (x, x_label), y);
        Drawing::Chart(Box::new(Chart { layers, y_unit: sign, ..chart }))
    } else {
        let named = |part: &usize| (format!("p{part}"), columns[0].parts[*part].0.to_owned());
        let bar = |column: &Column| Bar {
            name: column.name.clone(),
            value: total(column),
            told: duration(total(column)),
            interval: None,
            class: String::new(),
            parts: parts.iter().map(|part| column.parts[*part].1).collect(),
            best: false,
        };
        Drawing::Bars(Bars {
            id: "breakdown".to_owned(),
            measure: with_part("mean latency of reads by what it was spent on", groups),
            unit: "ns",
            description: "Parts of the mean read latency of each run.".to_owned(),
            bars: columns.iter().map(bar).collect(),
            parts: parts.iter().map(named).collect(),
        })
    };
    let mut headers = vec![if groups.len() > 1 { with_part("reads", groups) } else { "reads".to_owned() }];
    headers.extend(parts.iter().map(|part| columns[0].parts[*part].0.to_owned()));
    headers.push("mean".to_owned());
    let row = |index: usize| {
        let column = &columns[index];
        let cells = parts.iter().map(|part| duration(column.parts[*part].1));
        std::iter::once(column.name.clone()).chain(cells).chain([duration(total(column))]).collect()
    };
    let table = Table { headers, rows: rows(columns.len()).map(row).collect() };
    let caption = "Parts of the mean read latency, of the page of each request that finished last.".to_owned();
    Some(Figure {
        heading: "Where the time of a read goes".to_owned(),
        caption,
        drawings: vec![drawing],
        arrangement: Arrangement::Whole,
        table,
    })
}

/// Parts of the mean read, averaged over a group's runs. `latency` selects the part of each run.
fn parts_of<'a>(group: &'a Group<'_>, latency: impl Fn(&'a RunResult) -> Option<&'a Latency>) -> Option<Parts> {
    let reads = group.runs.iter().filter_map(|run| Kind::Read.figures(latency(run)?));
    let means: Vec<Parts> = reads.map(|read| read.breakdown_ns.named()).collect();
    let count = means.len() as f64;
    let mean = |part: usize| means.iter().map(|parts| parts[part].1).sum::<f64>() / count;
    let names = BreakdownMeans::default().named();
    (!means.is_empty()).then(|| std::array::from_fn(|part| (names[part].0, mean(part))))
}

/// The windows of one run as columns: side by side as they followed each other, or a bar each where they are few.
fn columns_of(group: &Group<'_>, along: Along) -> Option<Columns> {
    let run = group.first();
    let places = along.places(run);
    let of_window = |index: usize| parts_of(group, |run| run.windows.get(index).map(|window| &window.latency));
    let windows: Vec<(usize, Parts)> =
        (0..run.windows.len()).filter_map(|index| Some((index, of_window(index)?))).collect();
    let few = run.windows.len() == 1 || run.windows.iter().any(|window| window.kind == WindowKind::Probe);
    let name = |index: usize| if run.windows.len() == 1 { "all".to_owned() } else { counted(places[index]) };
    let column = |(slot, (index, parts)): (usize, &(usize, Parts))| {
        let (left, right) =
            if few { (slot as f64 + 0.2, slot as f64 + 0.8) } else { (places[*index], places[index + 1]) };
        Column { left, right, name: name(*index), parts: *parts }
    };
    let columns: Vec<Column> = windows.iter().enumerate().map(column).collect();
    if columns.is_empty() {
        return None;
    }
    if !few {
        return Some((columns, along.axis(std::slice::from_ref(group), 8), along.label()));
    }
    let alone = columns.len() == 1;
    let every = columns.len().div_ceil(MARKED_MAX);
    let ticks = columns.iter().enumerate().step_by(every).filter(|_| !alone);
    let ticks = ticks.map(|(slot, column)| (slot as f64 + 0.5, column.name.clone())).collect();
    // A bar alone stays a bar beside its names.
    let width = if alone { 2.0 } else { columns.len() as f64 };
    let label = if alone { String::new() } else { along.label() };
    Some((columns, Axis::named(0.0, width, ticks), label))
}

/// Each run as a bar.
fn bars_of(groups: &[Group<'_>]) -> Option<Vec<Column>> {
    let column = |group: &Group<'_>| Some((group.label.clone(), parts_of(group, |run| group.latency(run))?));
    let bar = |(slot, (name, parts)): (usize, (String, _))| Column {
        left: slot as f64 + 0.2,
        right: slot as f64 + 0.8,
        name,
        parts,
    };
    let columns: Vec<Column> = groups.iter().filter_map(column).enumerate().map(bar).collect();
    (!columns.is_empty()).then_some(columns)
}
