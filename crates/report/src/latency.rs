//! The pictures of a timed run: what requests took over the drive's life, and how that is distributed.

use super::along::{Along, chart, into_the_tail, of_windows, rows, share_in_words, through};
use super::axis::Axis;
use super::breakdown::breakdown;
use super::chart::{Chart, Curve, Layer, Point, Shape};
use super::figures::columns;
use super::groups::Group;
use super::html::{Figure, Table};
use super::numbers::{counted, duration, short};
use super::palette::{HUES, series};
use super::panels::{drawn, told as panels_told};
use super::picture::{Arrangement, Drawing};
use wane_results::{Common, LatencyFigures, Window, WindowKind};

/// Colors of the distributions of one run's windows, which lie close together.
const APART: [&str; 6] = ["s0", "s1", "s2", "s3", "s4", "s5"];

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
}

impl Kind {
    pub(super) const BOTH: [Self; 2] = [Self::Read, Self::Write];

    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
        }
    }

    const fn id(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    fn of(self, window: &Window) -> Option<&LatencyFigures> {
        match self {
            Self::Read => window.latency.read.as_ref(),
            Self::Write => window.latency.write.as_ref(),
        }
    }

    fn cdf(self, window: &Window) -> &[(u64, f64)] {
        match self {
            Self::Read => &window.read_cdf,
            Self::Write => &window.write_cdf,
        }
    }
}

/// A figure of a window's latencies, and its name.
type Statistic = (&'static str, fn(&LatencyFigures) -> f64);

/// What is drawn over the life, from the slowest.
const STATISTICS: [Statistic; 4] = [
    ("p99.9", |of| of.p999_ns as f64),
    ("p99", |of| of.p99_ns as f64),
    ("mean", |of| of.mean_ns),
    ("median", |of| of.p50_ns as f64),
];

/// A group's name, with the age of its latencies where that is not the same for all.
fn named(group: &Group<'_>, groups: &[Group<'_>]) -> String {
    if group.common == Common::Nothing && groups.len() > 1 {
        format!("{}{}", group.label, group.of_age())
    } else {
        group.label.clone()
    }
}

/// Which window of each run a picture is of.
pub(super) fn of_window(groups: &[Group<'_>]) -> String {
    match groups.first().map(|group| group.common) {
        Some(Common::Probe(age)) => format!(" Of the probe after {} drive writes.", counted(age)),
        _ => " Of the last full window of each run that has such requests.".to_owned(),
    }
}

/// The percentiles of a single window, in order.
const PROFILE: [Statistic; 8] = [
    ("p50", |of| of.p50_ns as f64),
    ("p75", |of| of.p75_ns as f64),
    ("p90", |of| of.p90_ns as f64),
    ("p95", |of| of.p95_ns as f64),
    ("p99", |of| of.p99_ns as f64),
    ("p99.9", |of| of.p999_ns as f64),
    ("p99.99", |of| of.p9999_ns as f64),
    ("max", |of| of.max_ns as f64),
];

/// The pictures that the windows allow; none of untimed runs.
pub(super) fn latencies(groups: &[Group<'_>], coarseness: usize) -> Vec<Figure> {
    if groups.iter().flat_map(|group| &group.runs).all(|run| run.windows.is_empty()) {
        return Vec::new();
    }
    let columns = columns(groups, coarseness);
    let along = Along::of(groups);
    let single = groups.iter().flat_map(|group| &group.runs).all(|run| run.windows.len() < 2);
    let mut figures = Vec::new();
    if single {
        figures.extend(profile(groups));
    } else {
        figures.extend(Kind::BOTH.iter().filter_map(|kind| over_life(groups, *kind, along, columns)));
    }
    figures.extend(distributions(groups, along, columns));
    figures.extend(breakdown(groups, along));
    figures
}

/// The least and the greatest height of curves.
fn heights(layers: &[Layer]) -> Option<(f64, f64)> {
    let values = layers.iter().flat_map(|layer| if let Layer::Curve(curve) = layer { &curve.points[..] } else { &[] });
    let values = values.map(|point| point.1).filter(|value| *value > 0.0);
    values.fold(None, |found, value| {
        let (least, most) = found.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    })
}

fn over_life(groups: &[Group<'_>], kind: Kind, along: Along, columns: usize) -> Option<Figure> {
    let of =
        |group: &Group<'_>, statistic: Statistic| of_windows(group, along, |window| kind.of(window).map(statistic.1));
    let layers_of = |groups: &[Group<'_>], statistic: Statistic| -> Vec<Layer> {
        groups.iter().flat_map(|group| through(&group.class(), &group.label, of(group, statistic))).collect()
    };
    let (heading, title) = match kind {
        Kind::Read => ("Read latency over the life", "Latency of reads over the life"),
        Kind::Write => ("Write latency over the life", "Latency of writes over the life"),
    };
    let mut caption = "One point a window, at its start.".to_owned();
    if groups.iter().any(|group| group.runs.len() > 1) {
        caption.push_str(" Where a run has several seeds the points are means.");
    }
    caption.push_str(&panels_told(groups));
    let charted = |index: usize, what: &str, layers: &[Layer], ticks: usize| {
        let (least, most) = heights(layers)?;
        let id = format!("{}-life-{index}", kind.id());
        let x = (along.axis(groups, ticks), along.label());
        let y = (Axis::durations_up(least, most), format!("{what}latency of {}", kind.plural()));
        Some(Chart {
            columns,
            ..chart(id, format!("{title}{}", if what.is_empty() { String::new() } else { format!(": {what}") }), x, y)
        })
    };
    let (drawings, arrangement, table) = if let [group] = groups {
        let of = |(index, statistic): (usize, &Statistic)| through(&series(index), statistic.0, of(group, *statistic));
        let layers: Vec<Layer> = STATISTICS.iter().enumerate().flat_map(of).collect();
        let chart = Chart { layers: layers.clone(), ..charted(0, "", &layers, 8)? };
        (vec![Drawing::Chart(Box::new(chart))], Arrangement::Whole, window_table(group, kind, along))
    } else if groups.len() > HUES {
        let (name, _) = STATISTICS[0];
        let layers = |groups: &[Group<'_>]| layers_of(groups, STATISTICS[0]);
        let (drawings, arrangement) = drawn(groups, &charted(0, &format!("{name} "), &layers(groups), 5)?, &layers);
        (drawings, arrangement, statistics_table(groups, &[kind]))
    } else {
        let of = |(index, statistic): (usize, &Statistic)| {
            let layers = layers_of(groups, *statistic);
            let chart = charted(index, &format!("{} ", statistic.0), &layers, 5)?;
            Some(Drawing::Chart(Box::new(Chart { layers, ..chart })))
        };
        let drawings: Vec<Drawing> = STATISTICS.iter().enumerate().filter_map(of).collect();
        (drawings, Arrangement::Pair, statistics_table(groups, &[kind]))
    };
    (!drawings.is_empty()).then(|| Figure { heading: heading.to_owned(), caption, drawings, arrangement, table })
}

/// The windows of a group's first run.
fn window_table(group: &Group<'_>, kind: Kind, along: Along) -> Table {
    let run = group.first();
    let places = along.places(run);
    let mut headers = vec![along.label(), kind.plural().to_owned()];
    headers.extend(STATISTICS.iter().map(|statistic| statistic.0.to_owned()));
    headers.push("IOPS".to_owned());
    let row = |index: usize| {
        let window = &run.windows[index];
        let figures = kind.of(window);
        let count = figures.map_or(0, |figures| figures.count);
        let told = STATISTICS.iter().map(|statistic| told(figures.map(statistic.1)));
        [short(places[index]), super::numbers::count(count)]
            .into_iter()
            .chain(told)
            .chain([short(count as f64 / window.seconds)])
            .collect()
    };
    Table { headers, rows: rows(run.windows.len()).map(row).collect() }
}

/// A latency, or a dash.
pub(super) fn told(latency: Option<f64>) -> String {
    latency.map_or_else(|| "\u{2013}".to_owned(), duration)
}

/// The percentiles of the window that stands for each group.
fn statistics_table(groups: &[Group<'_>], kinds: &[Kind]) -> Table {
    let mut headers = vec!["latency".to_owned(), "mean".to_owned()];
    headers.extend(PROFILE.iter().map(|statistic| statistic.0.to_owned()));
    let row = |group: &Group<'_>, kind: Kind| {
        let run = group.first();
        let (last, before) = run.windows[..=group.window_of(run)?].split_last()?;
        // A trace may end without such requests. Probes are of their age alone.
        let before = before.iter().rev().filter(|window| window.kind != WindowKind::Probe);
        let last = std::iter::once(last).chain(before).find_map(|window| kind.of(window))?;
        let name = format!("{}, {}", group.label, kind.plural());
        let percentiles = PROFILE.iter().map(|statistic| duration(statistic.1(last)));
        Some([name, duration(last.mean_ns)].into_iter().chain(percentiles).collect())
    };
    let rows = groups.iter().flat_map(|group| kinds.iter().filter_map(move |kind| row(group, *kind)));
    Table { headers, rows: rows.collect() }
}

/// Runs with one window each: its percentiles side by side.
fn profile(groups: &[Group<'_>]) -> Option<Figure> {
    let points = |group: &Group<'_>, kind: Kind| -> Vec<Point> {
        let of = |(index, statistic): (usize, &Statistic)| {
            let points = of_windows(group, Along::DriveWrites, |window| kind.of(window).map(statistic.1));
            Some((index as f64 + 0.5, points.first()?.1))
        };
        PROFILE.iter().enumerate().filter_map(of).collect()
    };
    let draw = |id: &str, title: &str, layers: &[Layer]| {
        let (least, most) = heights(layers)?;
        let ticks = PROFILE.iter().enumerate().map(|(index, statistic)| (index as f64 + 0.5, statistic.0.to_owned()));
        let x = (Axis::named(0.0, PROFILE.len() as f64, ticks.collect()), String::new());
        let y = (Axis::durations_up(least, most), "latency".to_owned());
        Some(chart(id.to_owned(), title.to_owned(), x, y))
    };
    let mut drawings = Vec::new();
    let mut arrangement = Arrangement::Whole;
    if let [group] = groups {
        let layers = Kind::BOTH.iter().enumerate().flat_map(|(index, kind)| {
            let points = points(group, *kind);
            if points.is_empty() { Vec::new() } else { through(&series(index), kind.plural(), points) }
        });
        let layers: Vec<Layer> = layers.collect();
        let chart = draw("profile", "Percentiles of the latencies", &layers)?;
        drawings.push(Drawing::Chart(Box::new(Chart { layers, ..chart })));
    } else {
        for kind in Kind::BOTH {
            let layers = |some: &[Group<'_>]| -> Vec<Layer> {
                some.iter()
                    .flat_map(|group| through(&group.class(), &named(group, groups), points(group, kind)))
                    .collect()
            };
            let title = format!("Percentiles of the latencies of {}", kind.plural());
            let Some(chart) = draw(&format!("{}-profile", kind.id()), &title, &layers(groups)) else { continue };
            let chart = Chart { y_label: format!("latency of {}", kind.plural()), ..chart };
            let (of_kind, arranged) = drawn(groups, &chart, &layers);
            drawings.extend(of_kind);
            arrangement = arranged;
        }
    }
    let table = statistics_table(groups, &Kind::BOTH);
    let caption = "From the typical request to the slowest.".to_owned() + &panels_told(groups);
    let heading = "Latency by percentile".to_owned();
    (!drawings.is_empty()).then_some(Figure { heading, caption, drawings, arrangement, table })
}

/// A distribution with its name, color and the requests behind it.
struct Distribution {
    /// Place of its group.
    group: usize,
    label: String,
    class: String,
    count: u64,
    points: Vec<(u64, f64)>,
}

/// The distributions to be drawn: of one run its first and last window or its probes; of several the last window of each.
fn chosen(groups: &[Group<'_>], kind: Kind, along: Along) -> Vec<Distribution> {
    let pooled = |group: &Group<'_>, index: usize| -> (u64, Vec<(u64, f64)>) {
        let windows = group.runs.iter().filter_map(|run| run.windows.get(index));
        let counted: Vec<(u64, &[(u64, f64)])> =
            windows.filter_map(|window| Some((kind.of(window)?.count, kind.cdf(window)))).collect();
        (counted.iter().map(|(count, _)| count).sum(), pool(&counted))
    };
    let full = |group: &Group<'_>| {
        let last = group.runs.iter().map(|run| group.window_of(run).map_or(0, |last| last + 1));
        last.min().unwrap_or(0)
    };
    if let [group] = groups {
        let windows = full(group);
        let probes = group.first().windows.iter().all(|window| window.kind == WindowKind::Probe);
        let wanted = if probes { windows.min(APART.len()) } else { windows.min(2) };
        let places = along.places(group.first());
        let index = |row: usize| if wanted > 1 { row * (windows - 1) / (wanted - 1) } else { 0 };
        return (0..wanted)
            .map(|row| {
                let (count, points) = pooled(group, index(row));
                let place = along.told(places[index(row)]);
                let label = match (probes, wanted, row) {
                    (_, 1, _) => "all".to_owned(),
                    (true, _, _) => place,
                    (false, _, 0) => "first window".to_owned(),
                    (false, _, _) => "last full window".to_owned(),
                };
                Distribution { group: group.index, label, class: APART[row].to_owned(), count, points }
            })
            .collect();
    }
    groups
        .iter()
        .filter_map(|group| {
            let is_probe = |index: usize| group.first().windows[index].kind == WindowKind::Probe;
            let last = full(group).checked_sub(1)?;
            let windows = (0..=last).rev().filter(|index| *index == last || !is_probe(*index));
            let (count, points) = windows.map(|index| pooled(group, index)).find(|(count, _)| *count > 0)?;
            Some(Distribution { group: group.index, label: named(group, groups), class: group.class(), count, points })
        })
        .collect()
}

/// Several distributions as one, each weighted by its requests.
fn pool(distributions: &[(u64, &[(u64, f64)])]) -> Vec<(u64, f64)> {
    if let [(_, points)] = distributions {
        return points.to_vec();
    }
    let total = distributions.iter().map(|(count, _)| count).sum::<u64>() as f64;
    let mut latencies: Vec<u64> =
        distributions.iter().flat_map(|(_, points)| points.iter().map(|point| point.0)).collect();
    latencies.sort_unstable();
    latencies.dedup();
    let share_at = |points: &[(u64, f64)], latency: u64| match points.partition_point(|point| point.0 <= latency) {
        0 => 0.0,
        after => points[after - 1].1,
    };
    let pooled = |latency: u64| {
        let shares = distributions.iter().map(|(count, points)| *count as f64 * share_at(points, latency));
        (latency, shares.sum::<f64>() / total)
    };
    latencies.into_iter().map(pooled).collect()
}

impl Distribution {
    /// The latencies over the depth in the tail; the slowest as deep as one of so many lies.
    fn curve(&self) -> Curve {
        let first = self.points.first().map(|point| (point.0 as f64, 0.0));
        let rest = self.points.iter().map(|(latency, share)| (*latency as f64, *share));
        let points = first.into_iter().chain(into_the_tail(rest, self.count)).collect();
        let label = if self.label == "all" { String::new() } else { self.label.clone() };
        Curve { class: self.class.clone(), points, label, shape: Shape::Steps, ..Curve::default() }
    }
}

fn distributions(groups: &[Group<'_>], along: Along, columns: usize) -> Option<Figure> {
    let of_kind = |groups: &[Group<'_>], kind: Kind| {
        let mut chosen = chosen(groups, kind, along);
        chosen.retain(|distribution| !distribution.points.is_empty());
        chosen
    };
    let all: Vec<(Kind, Vec<Distribution>)> = Kind::BOTH
        .into_iter()
        .map(|kind| (kind, of_kind(groups, kind)))
        .filter(|(_, distributions)| !distributions.is_empty())
        .collect();
    let ends = || all.iter().flat_map(|(_, all)| all).flat_map(|one| [one.points.first(), one.points.last()]).flatten();
    let least = ends().map(|point| point.0).min()?.max(1) as f64;
    let most = ends().map(|point| point.0).max()? as f64;
    let requests = all.iter().flat_map(|(_, all)| all).map(|one| one.count).max().unwrap_or(1);
    let charted = |kind: Kind| {
        let what = kind.plural();
        let chart = chart(
            format!("{}-cdf", kind.id()),
            format!("Distribution of the latencies of {what}"),
            (Axis::durations_along(least, most), "latency".to_owned()),
            (Axis::nines((requests as f64).log10()), format!("share of {what} that took no longer")),
        );
        Chart { columns, ..chart }
    };
    let curves = |all: &[Distribution]| all.iter().map(|one| Layer::Curve(one.curve())).collect::<Vec<Layer>>();
    let (drawings, arrangement) = if groups.len() > HUES {
        let kind = all[0].0;
        let layers = |some: &[Group<'_>]| {
            let of = |group: &Group<'_>| -> Option<Layer> {
                let one = all[0].1.iter().find(|one| one.group == group.index)?;
                Some(Layer::Curve(Curve { class: group.class(), label: group.label.clone(), ..one.curve() }))
            };
            some.iter().filter_map(of).collect()
        };
        drawn(groups, &charted(kind), &layers)
    } else {
        let chart = |(kind, all): &(Kind, Vec<Distribution>)| Chart { layers: curves(all), ..charted(*kind) };
        let drawings: Vec<Drawing> = all.iter().map(|one| Drawing::Chart(Box::new(chart(one)))).collect();
        let arrangement = if drawings.len() > 1 { Arrangement::Pair } else { Arrangement::Whole };
        (drawings, arrangement)
    };
    let mut caption = "Each step up the axis leaves a tenth of the requests: the higher, the rarer.".to_owned();
    if groups.len() > 1 {
        caption.push_str(&of_window(groups));
    }
    caption.push_str(&panels_told(groups));
    let table = distribution_table(&all);
    Some(Figure { heading: "Distribution of latencies".to_owned(), caption, drawings, arrangement, table })
}

fn distribution_table(drawn: &[(Kind, Vec<Distribution>)]) -> Table {
    const SHARES: [f64; 7] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0];
    let named = |kind: Kind, label: &str| {
        if label == "all" { kind.plural().to_owned() } else { format!("{}, {label}", kind.plural()) }
    };
    let all = || drawn.iter().flat_map(|(kind, all)| all.iter().map(move |one| (*kind, one)));
    let mut headers = vec!["share".to_owned()];
    headers.extend(all().map(|(kind, one)| named(kind, &one.label)));
    let row = |share: f64| {
        let cells = all().map(|(_, one)| {
            // A tail that no request reaches is not told.
            let seen = (1.0 - share) * one.count as f64 >= 1.0 - 1e-9 || share == 1.0;
            let found = one.points.iter().find(|point| point.1 >= share - 1e-12).or(one.points.last());
            told(found.filter(|_| seen).map(|point| point.0 as f64))
        });
        std::iter::once(share_in_words(share)).chain(cells).collect()
    };
    Table { headers, rows: SHARES.map(row).into() }
}
