//! The picture of throughput over a timed run: a cliff, where the drive begins to collect, is seen as one.

use wane_results::{OpThroughput, RunResult, Window, WindowKind};

use super::along::{Along, chart, phases_told, rows, split_windows};
use super::axis::Axis;
use super::chart::{Chart, Curve, Layer, Point, Shape};
use super::groups::Group;
use super::html::{Figure, Table};
use super::latency::Kind;
use super::numbers::{short, traffic};
use super::palette::series;
use super::panels::{drawn, told as panels_told};
use super::picture::{Arrangement, Drawing};

/// Units of throughput: bytes a second of each, and its sign.
const UNITS: [(f64, &str); 3] = [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")];

/// What a window served of a kind; `None` where it had no such requests.
fn served(kind: Kind, window: &Window) -> Option<OpThroughput> {
    let of = match kind {
        Kind::Read => window.throughput.read,
        Kind::Write => window.throughput.write,
    };
    (of.iops > 0.0).then_some(of)
}

/// The picture; `None` of runs that are no series of windows.
pub(super) fn throughput(groups: &[Group<'_>], along: Along, columns: usize) -> Option<Figure> {
    let is_series =
        |run: &RunResult| run.windows.len() > 1 && run.windows.iter().all(|window| window.kind == WindowKind::Run);
    if !groups.iter().flat_map(|group| &group.runs).all(|run| is_series(run)) {
        return None;
    }
    let windows = groups.iter().flat_map(|group| &group.runs).flat_map(|run| &run.windows);
    let rates = windows.flat_map(|window| Kind::BOTH.map(|kind| served(kind, window)));
    let most = rates.flatten().map(|of| of.bytes_per_second).fold(0.0, f64::max);
    let (unit, sign) = UNITS.into_iter().find(|unit| most >= unit.0).unwrap_or((1.0, "B/s"));
    let layers = |groups: &[Group<'_>], kind: Kind, class: &dyn Fn(&Group<'_>) -> String, name: Option<&str>| {
        let of = |window: &Window| served(kind, window).map(|of| of.bytes_per_second / unit);
        let curves = |group: &Group<'_>| {
            let pieces = to_the_end(group, along, split_windows(group, along, of));
            let last = pieces.len().saturating_sub(1);
            let label = name.unwrap_or(&group.label).to_owned();
            let curve = |(number, points): (usize, Vec<Point>)| {
                let (class, label, goes_on) = (class(group), label.clone(), number < last);
                Layer::Curve(Curve { class, points, label, goes_on, shape: Shape::Steps, ..Curve::default() })
            };
            pieces.into_iter().enumerate().map(curve).collect::<Vec<Layer>>()
        };
        groups.iter().flat_map(curves).collect::<Vec<Layer>>()
    };
    let empty = |id: &str, what: &str, ticks: usize| Chart {
        columns,
        ..chart(
            id.to_owned(),
            what.to_owned(),
            (along.axis(groups, ticks), along.label()),
            (Axis::rounded(0.0, (most / unit).max(1e-3), 5), format!("{what}, {sign}")),
        )
    };
    let mut drawings = Vec::new();
    if groups.len() == 1 {
        let of = |(number, kind): (usize, &Kind)| layers(groups, *kind, &|_| series(number), Some(kind.plural()));
        let layers = Kind::BOTH.iter().enumerate().flat_map(of).collect();
        drawings.push(Drawing::Chart(Box::new(Chart { layers, ..empty("throughput", "throughput", 8) })));
    } else {
        for kind in Kind::BOTH {
            let name = format!("throughput of {}", kind.plural());
            let chart = empty(&format!("throughput-{}", kind.plural()), &name, 5);
            drawings.push(drawn(groups, &chart, &|groups| layers(groups, kind, &|group| group.class(), None)));
        }
    }
    drawings.retain(|drawing| !drawing.is_empty());
    let caption = format!("Each window from its start to its end.{}{}", phases_told(groups), panels_told(groups));
    (!drawings.is_empty()).then(|| Figure {
        heading: "Throughput over the life".to_owned(),
        caption,
        arrangement: Arrangement::of(&drawings),
        drawings,
        table: table(groups, along),
    })
}

/// The last window holds to the end of the run.
fn to_the_end(group: &Group<'_>, along: Along, mut pieces: Vec<Vec<Point>>) -> Vec<Vec<Point>> {
    let ends: Vec<f64> = group.runs.iter().filter_map(|run| along.places(run).last().copied()).collect();
    let end = ends.iter().sum::<f64>() / ends.len().max(1) as f64;
    if let Some(points) = pieces.last_mut()
        && let Some((at, value)) = points.last().copied()
        && at < end
    {
        points.push((end, value));
    }
    pieces
}

/// The windows of a single run, or the whole runs side by side.
fn table(groups: &[Group<'_>], along: Along) -> Table {
    let alone = groups.len() == 1;
    let first = if alone { along.label() } else { "run".to_owned() };
    let headers = vec![first, "reads".to_owned(), "writes".to_owned(), "requests a second".to_owned()];
    let line = |name: String, [reads, writes]: [OpThroughput; 2]| {
        let rate = |of: OpThroughput| {
            if of.iops > 0.0 { format!("{}/s", traffic(of.bytes_per_second)) } else { "\u{2013}".to_owned() }
        };
        vec![name, rate(reads), rate(writes), short(reads.iops + writes.iops)]
    };
    let of_group = |group: &Group<'_>| {
        let run = group.first();
        let places = along.places(run);
        let windows = rows(run.windows.len()).filter(|_| alone).map(|index| {
            let of = run.windows[index].throughput;
            line(short(places[index]), [of.read, of.write])
        });
        let name = if alone { "whole run".to_owned() } else { group.label.clone() };
        let whole = group.throughput(run).map(|of| line(name, [of.read, of.write]));
        windows.chain(whole).collect::<Vec<_>>()
    };
    Table { headers, rows: groups.iter().flat_map(of_group).collect() }
}

#[cfg(test)]
mod tests {
    use wane_results::test_runs::{test_run, timed};

    use super::*;
    use crate::groups::groups;

    fn curves(figure: &Figure) -> Vec<&Curve> {
        let charts = figure.drawings.iter().map(|drawing| match drawing {
            Drawing::Chart(chart) => chart,
            _ => panic!("a chart"),
        });
        charts.flat_map(|chart| chart.curves()).filter(|curve| !curve.points.is_empty()).collect()
    }

    #[test]
    fn throughput_falls_in_a_step_and_no_line_crosses_the_border_of_phases() {
        let mut run = timed(test_run(1), 6);
        for (index, window) in run.windows.iter_mut().enumerate() {
            window.throughput.write =
                OpThroughput { iops: 1e3, bytes_per_second: if index < 3 { 460e6 } else { 50e6 } };
            window.throughput.read = OpThroughput::default();
        }
        let runs = [run.clone()];
        let of_runs = groups(&runs);
        let found = throughput(&of_runs, Along::DriveWrites, 220).unwrap();
        let [curve] = curves(&found)[..] else { panic!("of writes alone") };
        let heights: Vec<f64> = curve.points.iter().map(|point| point.1).collect();
        assert_eq!((heights, curve.shape), (vec![460.0, 460.0, 460.0, 50.0, 50.0, 50.0, 50.0], Shape::Steps));
        assert_eq!(curve.label, "writes");
        run.windows[3..].iter_mut().for_each(|window| window.phase = 1);
        let border = run.windows[3].at_drive_writes;
        let runs = [run];
        let of_runs = groups(&runs);
        let found = throughput(&of_runs, Along::DriveWrites, 220).unwrap();
        let [first, second] = curves(&found)[..] else { panic!("a curve of each phase") };
        assert_eq!((first.points.last(), second.points.first()), (Some(&(border, 460.0)), Some(&(border, 50.0))));
        assert_eq!(
            [(first.goes_on, &*first.label), (second.goes_on, &*second.label)],
            [(true, "writes"), (false, "writes")]
        );
        assert!(found.caption.contains("Lines break where a phase of the workload ends"), "{}", found.caption);
    }

    #[test]
    fn probes_have_no_throughput_over_the_life() {
        let mut run = timed(test_run(1), 3);
        run.windows.iter_mut().for_each(|window| window.kind = WindowKind::Probe);
        assert!(throughput(&groups(&[run]), Along::DriveWrites, 220).is_none());
    }
}
