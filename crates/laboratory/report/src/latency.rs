//! The pictures of a timed run: latencies over the drive's life, and their distribution.

use super::ages::{at, part_of_run};
use super::along::{Along, chart, into_the_tail, phases_told, rows, share_in_words, split_windows, through};
use super::axis::Axis;
use super::breakdown::breakdown;
use super::chart::{Chart, Curve, Layer, Point, Shape};
use super::figures::columns;
use super::groups::Group;
use super::html::{Figure, Table};
use super::numbers::{duration, short};
use super::palette::{HUES, series};
use super::panels::{drawn, told as panels_told};
use super::picture::{Arrangement, Drawing};
use super::throughput::throughput;
use wane_results::{Common, Latency, LatencyDistribution, LatencyFigures, RunResult, Window};

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

    fn of(self, window: &Window) -> Option<&LatencyDistribution> {
        self.times(&window.latency)
    }

    pub(super) fn times(self, latency: &Latency) -> Option<&LatencyDistribution> {
        self.figures(latency).map(|figures| &figures.times)
    }

    pub(super) const fn figures(self, latency: &Latency) -> Option<&LatencyFigures> {
        match self {
            Self::Read => latency.read.as_ref(),
            Self::Write => latency.write.as_ref(),
        }
    }

    fn cdf(self, window: &Window) -> &[(u64, f64)] {
        match self {
            Self::Read => &window.read_cdf,
            Self::Write => &window.write_cdf,
        }
    }
}

/// A figure of a window's latencies: its name, the share of requests that are as fast, and the figure.
type Statistic = (&'static str, f64, fn(&LatencyDistribution) -> f64);

/// The figure; `None` if no request lies beyond it.
fn value(statistic: &Statistic, of: &LatencyDistribution) -> Option<f64> {
    is_reached(statistic.1, of.count as f64).then(|| statistic.2(of))
}

/// What is drawn over the life, from the slowest.
const STATISTICS: [Statistic; 4] = [
    ("p99.9", 0.999, |of| of.p999_ns as f64),
    ("p99", 0.99, |of| of.p99_ns as f64),
    ("mean", 0.0, |of| of.mean_ns),
    ("median", 0.5, |of| of.p50_ns as f64),
];

/// A group's name, with the age of its latencies where that is not the same for all.
fn named(group: &Group<'_>, groups: &[Group<'_>]) -> String {
    if group.common == Common::Nothing && groups.len() > 1 {
        format!("{}{}", group.label, group.of_age())
    } else {
        group.label.clone()
    }
}

/// What the latencies of compared runs cover: "whole run", or a probe.
pub(super) fn told_of(groups: &[Group<'_>]) -> String {
    match groups.first().map(|group| group.common) {
        Some(Common::Probe(age)) => format!("probe {}", at(age)),
        _ if groups.iter().all(Group::is_of_whole_runs) => "whole run".to_owned(),
        _ => String::new(),
    }
}

/// A name with what its latencies cover, if that is known.
pub(super) fn with_part(name: &str, groups: &[Group<'_>]) -> String {
    let of = told_of(groups);
    if of.is_empty() { name.to_owned() } else { format!("{name}, {of}") }
}

/// The percentiles of a single window, in order.
const PROFILE: [Statistic; 8] = [
    ("p50", 0.5, |of| of.p50_ns as f64),
    ("p75", 0.75, |of| of.p75_ns as f64),
    ("p90", 0.9, |of| of.p90_ns as f64),
    ("p95", 0.95, |of| of.p95_ns as f64),
    ("p99", 0.99, |of| of.p99_ns as f64),
    ("p99.9", 0.999, |of| of.p999_ns as f64),
    ("p99.99", 0.9999, |of| of.p9999_ns as f64),
    ("max", 1.0, |of| of.max_ns as f64),
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
        figures.extend(throughput(groups, along, columns));
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
    let of = |group: &Group<'_>, statistic: Statistic| {
        split_windows(group, along, |window| kind.of(window).and_then(|figures| value(&statistic, figures)))
    };
    let layers_of = |groups: &[Group<'_>], statistic: Statistic| -> Vec<Layer> {
        groups.iter().flat_map(|group| through(&group.class(), &group.label, of(group, statistic))).collect()
    };
    let (heading, title) = match kind {
        Kind::Read => ("Read latency over the life", "Latency of reads over the life"),
        Kind::Write => ("Write latency over the life", "Latency of writes over the life"),
    };
    let mut caption = "One point a window, at its start.".to_owned();
    caption.push_str(phases_told(groups));
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
        // The furthest into the tail that windows reach.
        let is_there = |statistic: &Statistic| {
            groups.iter().any(|group| of(group, *statistic).iter().any(|phase| !phase.is_empty()))
        };
        let statistic = STATISTICS.into_iter().find(is_there)?;
        let name = statistic.0;
        let layers = |groups: &[Group<'_>]| layers_of(groups, statistic);
        let chart = charted(0, &format!("{name} "), &layers(groups), 5)?;
        (vec![drawn(groups, &chart, &layers)], Arrangement::Whole, statistics_table(groups, &[kind]))
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

/// The windows of a group, means of its seeds, and the whole run below them.
fn window_table(group: &Group<'_>, kind: Kind, along: Along) -> Table {
    let windows = group.runs.iter().map(|run| run.windows.len()).min().unwrap_or(0);
    let mut headers = vec![along.label(), kind.plural().to_owned()];
    headers.extend(STATISTICS.iter().map(|statistic| statistic.0.to_owned()));
    headers.push("IOPS".to_owned());
    let line = |name: String, figures: &dyn Fn(&RunResult) -> Option<LatencyDistribution>, iops: Option<f64>| {
        let count = group.mean_latency(|run| Some(figures(run)?.count as f64)).unwrap_or(0.0);
        let of = |statistic: &Statistic, run: &RunResult| value(statistic, &figures(run)?);
        let mean = |statistic: &Statistic| told(group.mean_latency(|run| of(statistic, run)));
        let told = STATISTICS.iter().map(mean);
        let first = [name, super::numbers::count(count.round() as u64)];
        first.into_iter().chain(told).chain([short(iops.unwrap_or(0.0))]).collect::<Vec<String>>()
    };
    let row = |index: usize| {
        let place = group.mean_latency(|run| Some(along.places(run)[index])).unwrap_or(0.0);
        let rate = |run: &RunResult| {
            let window = &run.windows[index];
            Some(kind.of(window).map_or(0.0, |of| of.count as f64) / window.seconds)
        };
        line(short(place), &|run| kind.of(&run.windows[index]).copied(), group.mean_latency(rate))
    };
    let whole = group.is_of_whole_runs().then(|| {
        let figures = |run: &RunResult| kind.times(group.latency(run)?).copied();
        let rate = |run: &RunResult| {
            let throughput = group.throughput(run)?;
            Some(if kind == Kind::Read { throughput.read.iops } else { throughput.write.iops })
        };
        line("whole run".to_owned(), &figures, group.mean_latency(rate))
    });
    Table { headers, rows: rows(windows).map(row).chain(whole).collect() }
}

/// A latency, or a dash.
pub(super) fn told(latency: Option<f64>) -> String {
    latency.map_or_else(|| "\u{2013}".to_owned(), duration)
}

/// The percentiles of each group, means of its seeds.
fn statistics_table(groups: &[Group<'_>], kinds: &[Kind]) -> Table {
    let mut headers = vec![with_part("latency", groups), "mean".to_owned()];
    headers.extend(PROFILE.iter().map(|statistic| statistic.0.to_owned()));
    let row = |group: &Group<'_>, kind: Kind| {
        let times = |run: &RunResult| -> Option<LatencyDistribution> { kind.times(group.latency(run)?).copied() };
        let mean = group.mean_latency(|run| times(run).map(|of| of.mean_ns)).map(duration)?;
        let name = format!("{}, {}", group.label, kind.plural());
        let of = |statistic| group.mean_latency(|run| value(statistic, &times(run)?));
        let percentiles = PROFILE.iter().map(|statistic| told(of(statistic)));
        Some([name, mean].into_iter().chain(percentiles).collect())
    };
    let rows = groups.iter().flat_map(|group| kinds.iter().filter_map(move |kind| row(group, *kind)));
    Table { headers, rows: rows.collect() }
}

/// Runs with one window each: its percentiles side by side.
fn profile(groups: &[Group<'_>]) -> Option<Figure> {
    let points = |group: &Group<'_>, kind: Kind| -> Vec<Point> {
        let of = |(index, statistic): (usize, &Statistic)| {
            let of = |window: &Window| kind.of(window).and_then(|figures| value(statistic, figures));
            let points = split_windows(group, Along::DriveWrites, of);
            Some((index as f64 + 0.5, points.first()?.first()?.1))
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
    if let [group] = groups {
        let layers = Kind::BOTH.iter().enumerate().flat_map(|(index, kind)| {
            let points = points(group, *kind);
            if points.is_empty() { Vec::new() } else { through(&series(index), kind.plural(), vec![points]) }
        });
        let layers: Vec<Layer> = layers.collect();
        let chart = draw("profile", "Percentiles of the latencies", &layers)?;
        drawings.push(Drawing::Chart(Box::new(Chart { layers, ..chart })));
    } else {
        for kind in Kind::BOTH {
            let layers = |some: &[Group<'_>]| -> Vec<Layer> {
                some.iter()
                    .flat_map(|group| through(&group.class(), &named(group, groups), vec![points(group, kind)]))
                    .collect()
            };
            let title = format!("Percentiles of the latencies of {}", kind.plural());
            let Some(chart) = draw(&format!("{}-profile", kind.id()), &title, &layers(groups)) else { continue };
            let chart = Chart { y_label: format!("latency of {}", kind.plural()), ..chart };
            drawings.push(drawn(groups, &chart, &layers));
        }
    }
    let arrangement = Arrangement::Whole;
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
    /// Latency at each of [`SHARES`], as in the other figures of a report: a mean over the seeds.
    told: [Option<f64>; SHARES.len()],
}

/// Shares in the table of a distribution, and the percentile of each, if latencies have it.
const SHARES: [(f64, Option<Percentile>); 7] = [
    (0.5, Some(|of| of.p50_ns)),
    (0.9, Some(|of| of.p90_ns)),
    (0.99, Some(|of| of.p99_ns)),
    (0.999, Some(|of| of.p999_ns)),
    (0.9999, Some(|of| of.p9999_ns)),
    (0.99999, None),
    (1.0, Some(|of| of.max_ns)),
];

/// Whether any of `count` requests lies beyond the percentile of `share`. A percentile that none reaches is not shown.
pub(super) fn is_reached(share: f64, count: f64) -> bool {
    share >= 1.0 || (1.0 - share) * count >= 1.0 - 1e-9
}

type Percentile = fn(&LatencyDistribution) -> u64;

/// Windows of a group's runs as one distribution; `figures` are those of the same part of each run. `None` without requests.
fn pooled(
    group: &Group<'_>,
    kind: Kind,
    (label, class): (String, String),
    windows: &[&Window],
    figures: &[LatencyDistribution],
) -> Option<Distribution> {
    let counted: Vec<(u64, &[(u64, f64)])> =
        windows.iter().filter_map(|window| Some((kind.of(window)?.count, kind.cdf(window)))).collect();
    let count = counted.iter().map(|(count, _)| count).sum();
    let points = pool(&counted);
    let fewest = figures.iter().map(|of| of.count).min().unwrap_or(0);
    let told = SHARES.map(|(share, percentile)| {
        let seen = |count: u64| is_reached(share, count as f64);
        match percentile {
            Some(of) => {
                let sum = figures.iter().map(|figures| of(figures) as f64).sum::<f64>();
                seen(fewest).then(|| sum / figures.len() as f64)
            }
            None => points.iter().find(|point| point.1 >= share).filter(|_| seen(count)).map(|point| point.0 as f64),
        }
    });
    let is_there = count > 0 && fewest > 0 && !points.is_empty();
    is_there.then_some(Distribution { group: group.index, label, class, count, points, told })
}

/// The distributions to be drawn. Of one run: its first window, its last and all of it, or its probes. Of several: the part that the
/// figures of each cover.
fn chosen(groups: &[Group<'_>], kind: Kind, along: Along) -> Vec<Distribution> {
    let whole = |group: &Group<'_>, name: (String, String)| {
        let windows: Vec<&Window> = group.runs.iter().flat_map(|run| group.windows(run)).collect();
        let figures: Vec<LatencyDistribution> =
            group.runs.iter().filter_map(|run| kind.times(group.latency(run)?)).copied().collect();
        pooled(group, kind, name, &windows, &figures)
    };
    let [group] = groups else {
        return groups.iter().filter_map(|group| whole(group, (named(group, groups), group.class()))).collect();
    };
    let first = group.first();
    let shortest = group.runs.iter().map(|run| run.windows.len()).min().unwrap_or(0);
    let at = |index: usize, row: usize, label: String| {
        let windows: Vec<&Window> = group.runs.iter().filter_map(|run| run.windows.get(index)).collect();
        let figures: Vec<LatencyDistribution> = windows.iter().filter_map(|window| kind.of(window)).copied().collect();
        pooled(group, kind, (label, APART[row].to_owned()), &windows, &figures)
    };
    if group.is_of_whole_runs() {
        let last = first.last_full_window().unwrap_or(0).min(shortest - 1);
        let ends = [0, last].into_iter().take(if last > 0 { 2 } else { 1 }).enumerate();
        let ends = ends.filter_map(|(row, index)| at(index, row, part_of_run(first, index)));
        return ends.chain(whole(group, ("whole run".to_owned(), APART[2].to_owned()))).collect();
    }
    let wanted = shortest.min(APART.len());
    let places = along.places(first);
    let probe = |row: usize| {
        let index = if wanted > 1 { row * (shortest - 1) / (wanted - 1) } else { 0 };
        at(index, row, if wanted > 1 { along.told(places[index]) } else { "all".to_owned() })
    };
    (0..wanted).filter_map(probe).collect()
}

/// Several distributions as one, each weighted by its requests.
fn pool(distributions: &[(u64, &[(u64, f64)])]) -> Vec<(u64, f64)> {
    if let [(_, points)] = distributions {
        return points.to_vec();
    }
    let total = distributions.iter().map(|(count, _)| count).sum::<u64>() as f64;
    let mut steps: Vec<(u64, f64)> = Vec::new();
    for (count, points) in distributions {
        let before = std::iter::once(0.0).chain(points.iter().map(|point| point.1));
        steps.extend(points.iter().zip(before).map(|(point, before)| (point.0, *count as f64 * (point.1 - before))));
    }
    steps.sort_by_key(|step| step.0);
    let mut pooled: Vec<(u64, f64)> = Vec::new();
    let mut sum = 0.0;
    for (latency, requests) in steps {
        sum += requests;
        match pooled.last_mut() {
            Some(last) if last.0 == latency => last.1 = sum / total,
            _ => pooled.push((latency, sum / total)),
        }
    }
    // The sum of shares may miss 1 by a rounding error.
    pooled.last_mut().into_iter().for_each(|last| last.1 = 1.0);
    pooled
}

impl Distribution {
    /// The latencies over their depth in the tail; the slowest is as deep as one of `count` requests.
    fn curve(&self) -> Curve {
        let first = self.points.first().map(|point| (point.0 as f64, 0.0));
        let rest = self.points.iter().map(|(latency, share)| (*latency as f64, *share));
        let points = first.into_iter().chain(into_the_tail(rest, self.count)).collect();
        let label = if self.label == "all" { String::new() } else { self.label.clone() };
        Curve { class: self.class.clone(), points, label, shape: Shape::Steps, ..Curve::default() }
    }
}

/// The distributions of one kind of requests, which share an axis.
struct OfKind {
    kind: Kind,
    all: Vec<Distribution>,
    /// Ends of the axis.
    least: u64,
    most: u64,
    /// The slowest request, if it lies beyond the axis.
    slowest: Option<u64>,
}

/// An axis of latencies is cut where at most this many requests of each curve lie beyond,
const BEYOND_FEW: u64 = 3;
/// if the slowest lies more than this many times as far.
const BEYOND_FAR: u64 = 3;

impl OfKind {
    /// `None` without requests.
    fn of(kind: Kind, all: Vec<Distribution>) -> Option<Self> {
        let least = all.iter().filter_map(|one| one.points.first()).map(|point| point.0).min()?.max(1);
        let slowest = all.iter().filter_map(|one| one.points.last()).map(|point| point.0).max()?;
        let few = |one: &Distribution| {
            let beyond = |share: f64| (1.0 - share) * one.count as f64;
            one.points.iter().find(|point| beyond(point.1) <= BEYOND_FEW as f64 + 1e-6).map(|point| point.0)
        };
        let most = all.iter().filter_map(few).max()?;
        let is_cut = slowest > BEYOND_FAR * most;
        Some(Self { kind, all, least, most: if is_cut { most } else { slowest }, slowest: is_cut.then_some(slowest) })
    }

    /// Leaves out what lies beyond the axis.
    fn cut(&mut self) {
        self.all.iter_mut().for_each(|one| one.points.retain(|point| point.0 <= self.most));
        self.all.retain(|one| !one.points.is_empty());
    }

    /// What a caption says of a cut axis.
    fn told(&self) -> Option<String> {
        let slowest = duration(self.slowest? as f64);
        let what = self.kind.plural();
        Some(format!(
            " The axis of {what} ends where at most {BEYOND_FEW} {what} of any curve took longer; the slowest took {slowest}."
        ))
    }
}

fn distributions(groups: &[Group<'_>], along: Along, columns: usize) -> Option<Figure> {
    let mut kinds: Vec<OfKind> =
        Kind::BOTH.into_iter().filter_map(|kind| OfKind::of(kind, chosen(groups, kind, along))).collect();
    let table = distribution_table(groups, &kinds);
    kinds.iter_mut().for_each(OfKind::cut);
    let first = kinds.first()?;
    let requests = kinds.iter().flat_map(|of| &of.all).map(|one| one.count).max().unwrap_or(1);
    let several = groups.len() > 1;
    let name = if several { with_part("latency", groups) } else { "latency".to_owned() };
    let charted = |of: &OfKind| {
        let what = of.kind.plural();
        let cut = of.slowest.map_or_else(String::new, |slowest| format!(" (slowest: {})", duration(slowest as f64)));
        let chart = chart(
            format!("{}-cdf", of.kind.id()),
            format!("Distribution of the latencies of {what}"),
            (Axis::durations_along(of.least as f64, of.most as f64), name.clone() + &cut),
            (Axis::nines((requests as f64).log10()), format!("share of {what} that took no longer")),
        );
        Chart { columns, ..chart }
    };
    let curves = |all: &[Distribution]| all.iter().map(|one| Layer::Curve(one.curve())).collect::<Vec<Layer>>();
    let drawings: Vec<Drawing> = if groups.len() > HUES {
        let layers = |some: &[Group<'_>]| {
            let of = |group: &Group<'_>| -> Option<Layer> {
                let one = first.all.iter().find(|one| one.group == group.index)?;
                Some(Layer::Curve(Curve { class: group.class(), label: group.label.clone(), ..one.curve() }))
            };
            some.iter().filter_map(of).collect()
        };
        vec![drawn(groups, &charted(first), &layers)]
    } else {
        let chart = |of: &OfKind| Chart { layers: curves(&of.all), ..charted(of) };
        kinds.iter().map(|of| Drawing::Chart(Box::new(chart(of)))).collect()
    };
    let arrangement = Arrangement::of(&drawings);
    let mut caption = "Each step up the axis leaves a tenth of the requests: the higher, the rarer.".to_owned();
    if !several && groups[0].is_of_whole_runs() {
        caption.push_str(" Parts of the run are shares of its requests.");
    }
    let shown = if groups.len() > HUES { 1 } else { kinds.len() };
    kinds[..shown].iter().filter_map(OfKind::told).for_each(|told| caption.push_str(&told));
    caption.push_str(&panels_told(groups));
    Some(Figure { heading: "Distribution of latencies".to_owned(), caption, drawings, arrangement, table })
}

fn distribution_table(groups: &[Group<'_>], drawn: &[OfKind]) -> Table {
    let named = |kind: Kind, label: &str| {
        if label == "all" { kind.plural().to_owned() } else { format!("{}, {label}", kind.plural()) }
    };
    let all = || drawn.iter().flat_map(|of| of.all.iter().map(move |one| (of.kind, one)));
    let share = if groups.len() > 1 { with_part("share", groups) } else { "share".to_owned() };
    let headers = std::iter::once(share).chain(all().map(|(kind, one)| named(kind, &one.label))).collect();
    let row = |(index, (share, _)): (usize, &(f64, Option<Percentile>))| {
        std::iter::once(share_in_words(*share)).chain(all().map(|(_, one)| told(one.told[index]))).collect()
    };
    Table { headers, rows: SHARES.iter().enumerate().map(row).collect() }
}
