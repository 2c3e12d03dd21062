//! Windows over a drive's life: the axis that they are laid out along, and what their pictures share.

use super::axis::{Axis, nines};
use super::chart::{Chart, Curve, Layer, Point};
use super::groups::Group;
use super::numbers::{counted, counted_of, lifetime, unit_of};
use super::panels::drawn;
use super::picture::Drawing;
use wane_results::DAYS_PER_YEAR;
use wane_results::{Life, RunResult, Window};

/// Most windows whose points are marked.
pub(super) const MARKED_MAX: usize = 16;
/// A life that is shorter, in years, is laid out in days.
const YEARS_MIN: f64 = 2.0;
/// A life that is shorter, in days, is laid out in drive writes: a small drive under a recorded trace lives for minutes, which say
/// little.
const DAYS_MIN: f64 = 1.0;
/// Most rows of a table of windows.
const ROWS_MAX: usize = 16;

/// What a life and its windows are laid out along: the calendar if it is known, otherwise drive writes; simulated time if nothing
/// was written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Along {
    #[default]
    DriveWrites,
    /// The same of arrays.
    ArrayWrites,
    Days,
    Years,
    /// Simulated time: seconds of the unit that it is written in, and the unit's sign.
    Time(f64, &'static str),
}

impl Along {
    pub(super) fn of(groups: &[Group<'_>]) -> Self {
        let runs = || groups.iter().flat_map(|group| &group.runs);
        let written = runs().any(|run| span(run) > 0.0);
        let longest = runs().map(|run| run.windows.iter().map(|window| window.seconds).sum()).fold(0.0, f64::max);
        if written || runs().all(|run| run.windows.len() < 2) {
            return groups.first().map_or(Self::DriveWrites, |group| group.life);
        }
        let (nanoseconds, sign) = unit_of(longest * 1e9);
        Self::Time(nanoseconds / 1e9, sign)
    }

    /// What the lives of runs are laid out along: the calendar if all have one.
    pub(super) fn of_lives(runs: &[RunResult]) -> Self {
        let days = |run: &RunResult| run.summary.life.as_ref().and_then(|life| life.days);
        let all: Option<Vec<f64>> = runs.iter().map(days).collect();
        match all.map(|days| days.into_iter().fold(0.0, f64::max)) {
            Some(longest) if longest >= YEARS_MIN * DAYS_PER_YEAR => Self::Years,
            Some(longest) if longest >= DAYS_MIN => Self::Days,
            _ if !runs.is_empty() && runs.iter().all(|run| run.summary.array.is_some()) => Self::ArrayWrites,
            _ => Self::DriveWrites,
        }
    }

    /// The place on the axis of `drive_writes` drive writes of a run.
    pub(super) fn place(self, run: &RunResult, drive_writes: f64) -> f64 {
        let calendar = run.summary.life.as_ref().and_then(Life::calendar);
        let days = calendar.map_or(f64::NAN, |calendar| calendar.days(drive_writes));
        match self {
            Self::Days => days,
            Self::Years => days / DAYS_PER_YEAR,
            Self::DriveWrites | Self::ArrayWrites | Self::Time(..) => drive_writes,
        }
    }

    /// Where the windows of a run begin, and where the last one ends.
    pub(super) fn places(self, run: &RunResult) -> Vec<f64> {
        let mut places = Vec::new();
        match self {
            Self::DriveWrites | Self::ArrayWrites | Self::Days | Self::Years => {
                places.extend(run.windows.iter().map(|window| self.place(run, window.at_drive_writes)));
                places.push(self.place(run, run.summary.end.at_drive_writes));
            }
            Self::Time(unit, _) => {
                let mut at = 0.0;
                for window in &run.windows {
                    places.push(at / unit);
                    at += window.seconds;
                }
                places.push(at / unit);
            }
        }
        places
    }

    pub(super) fn label(self) -> String {
        match self {
            Self::DriveWrites => "drive writes".to_owned(),
            Self::ArrayWrites => "array writes".to_owned(),
            Self::Days => "days".to_owned(),
            Self::Years => "years".to_owned(),
            Self::Time(_, sign) => format!("simulated time ({})", sign.trim_start()),
        }
    }

    /// A place in words.
    pub(super) fn told(self, place: f64) -> String {
        match self {
            Self::DriveWrites => counted_of(place, "drive write"),
            Self::ArrayWrites => counted_of(place, "array write"),
            Self::Days => lifetime(place),
            Self::Years => lifetime(DAYS_PER_YEAR * place),
            Self::Time(_, sign) => format!("{}{sign}", counted(place)),
        }
    }

    pub(super) fn axis(self, groups: &[Group<'_>], target: usize) -> Axis {
        let ends = groups.iter().flat_map(|group| &group.runs).filter_map(|run| self.places(run).last().copied());
        Axis::exact(0.0, ends.fold(0.0, f64::max), target)
    }
}

/// Drive writes from a run's first window to its last.
fn span(run: &RunResult) -> f64 {
    match (run.windows.first(), run.windows.last()) {
        (Some(first), Some(last)) => last.at_drive_writes - first.at_drive_writes,
        _ => 0.0,
    }
}

/// A chart with what all of these share.
pub(super) fn chart(id: String, title: String, (x, x_label): (Axis, String), (y, y_label): (Axis, String)) -> Chart {
    Chart {
        id,
        description: title.clone(),
        title,
        x,
        x_label,
        y,
        y_label,
        y_unit: "",
        layers: Vec::new(),
        columns: 220,
    }
}

/// A figure of each window of a group, those of each phase by themselves; for several seeds the mean of theirs, up to the first that ended. With
/// several phases the last value of each holds to its end, so that a phase of one window is seen.
pub(super) fn split_windows(
    group: &Group<'_>,
    along: Along,
    figure: impl Fn(&Window) -> Option<f64>,
) -> Vec<Vec<Point>> {
    let windows = group.runs.iter().map(|run| run.windows.len()).min().unwrap_or(0);
    let places: Vec<Vec<f64>> = group.runs.iter().map(|run| along.places(run)).collect();
    let seeds = group.runs.len() as f64;
    let place = |index: usize| places.iter().map(|places| places[index]).sum::<f64>() / seeds;
    let phase = |index: usize| group.first().windows[index].phase;
    let mut pieces: Vec<(u32, Vec<Point>)> = Vec::new();
    let several = (0..windows).any(|index| phase(index) != phase(0));
    for index in 0..windows {
        let values: Option<Vec<f64>> = group.runs.iter().map(|run| figure(&run.windows[index])).collect();
        let Some(value) = values.map(|values| values.iter().sum::<f64>() / seeds) else { continue };
        let of = phase(index);
        if pieces.last().is_none_or(|(last, _)| *last != of) {
            pieces.push((of, Vec::new()));
        }
        let Some((_, points)) = pieces.last_mut() else { continue };
        points.push((place(index), value));
        if several && (index + 1 == windows || phase(index + 1) != of) {
            points.push((place(index + 1), value));
        }
    }
    // Of a run without the figure there is a line of nothing, which is unlike those of other runs.
    if pieces.is_empty() { vec![Vec::new()] } else { pieces.into_iter().map(|(_, points)| points).collect() }
}

/// What to say of lines that break; nothing without phases.
pub(super) fn phases_told(groups: &[Group<'_>]) -> &'static str {
    let mut windows = groups.iter().flat_map(|group| &group.runs).flat_map(|run| &run.windows);
    if windows.any(|window| window.phase > 0) { " Lines break where a phase of the workload ends." } else { "" }
}

/// A picture of `figure` over the windows of all groups. Its axis begins at 0, or at the least value if that is below.
pub(super) fn over_windows(
    groups: &[Group<'_>],
    along: Along,
    columns: usize,
    (id, what): (&str, &str),
    figure: fn(&Window) -> Option<f64>,
) -> Drawing {
    let layers = |groups: &[Group<'_>]| {
        let alone = groups.len() == 1;
        let of = |group: &Group<'_>| {
            let label = if alone { "" } else { &group.label };
            through(&group.class(), label, split_windows(group, along, figure))
        };
        groups.iter().flat_map(of).collect::<Vec<Layer>>()
    };
    let all = layers(groups);
    let values = all.iter().flat_map(|layer| if let Layer::Curve(curve) = layer { &curve.points[..] } else { &[] });
    let (least, most) =
        values.map(|point| point.1).fold((0.0, 0.0), |(least, most): (f64, f64), at| (least.min(at), most.max(at)));
    let x = (along.axis(groups, 5), along.label());
    let y = (Axis::rounded(least, if most > least { most } else { 1.0 }, 5), what.to_owned());
    drawn(groups, &Chart { columns, ..chart(id.to_owned(), what.to_owned(), x, y) }, &layers)
}

/// A curve through the windows of each phase, named at the end of the last, with a mark at each window while they are few.
pub(super) fn through(class: &str, label: &str, phases: Vec<Vec<Point>>) -> Vec<Layer> {
    let (last, class) = (phases.len().saturating_sub(1), class.to_owned());
    let is_marked = phases.iter().map(Vec::len).sum::<usize>() <= MARKED_MAX;
    let marks = is_marked.then(|| Layer::Dots { class: class.clone(), points: phases.concat() });
    let curve = |(number, points): (usize, Vec<Point>)| {
        let (class, label) = (class.clone(), label.to_owned());
        Layer::Curve(Curve { class, points, label, goes_on: number < last, ..Curve::default() })
    };
    phases.into_iter().enumerate().map(curve).chain(marks).collect()
}

/// Indices of at most [`ROWS_MAX`] of `count` rows, spread evenly, with the first and the last.
pub(super) fn rows(count: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(ROWS_MAX);
    (0..shown).map(move |row| if shown > 1 { row * (count - 1) / (shown - 1) } else { 0 })
}

/// Values with the depth of their shares in the tail, up to the first that is as deep as one of `count` is, or as an axis goes.
pub(super) fn into_the_tail(shares: impl Iterator<Item = Point>, count: u64) -> impl Iterator<Item = Point> {
    let deepest = (count.max(1) as f64).log10().min(nines(1.0));
    let mut through = false;
    shares.map(move |(value, share)| (value, nines(share).min(deepest))).take_while(move |point| {
        let shown = !through;
        through = point.1 >= deepest;
        shown
    })
}

/// A share in percent, with as many decimals as keep its nines.
pub(super) fn share_in_words(share: f64) -> String {
    let decimals = if share >= 1.0 { 0 } else { (nines(share).round() as usize).saturating_sub(2) };
    format!("{}\u{a0}%", super::numbers::grouped(100.0 * share, decimals))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_results::test_runs::test_run;
    use wane_results::{Calendar, CalendarOrigin};

    #[test]
    fn a_life_is_laid_out_in_what_its_reader_thinks_in() {
        let of = |lives: &[f64]| {
            let lived = |days: &f64| {
                let mut run = test_run(1);
                let calendar = Calendar { drive_writes_per_day: 1.0, origin: CalendarOrigin::Trace };
                run.summary.life = Some(Life::of(*days, 1 << 30, Some(calendar), true));
                run
            };
            Along::of_lives(&lives.iter().map(lived).collect::<Vec<_>>())
        };
        assert_eq!(of(&[0.02, 0.03]), Along::DriveWrites);
        assert_eq!(of(&[0.02, 40.0]), Along::Days);
        assert_eq!(of(&[40.0, 800.0]), Along::Years);
    }
}
