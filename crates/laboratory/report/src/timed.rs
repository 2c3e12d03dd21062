//! The answer of a timed run: its figures, large, in a table and in words.

use super::groups::Group;
use super::html::{escape, swatch};
use super::latency::{Kind, is_reached, told};
use super::numbers::{count, counted, duration, percent, short, short_or_dash, traffic};
use wane_results::{Common, Errors, LatencyDistribution, OpThroughput, OperationFigures, RunResult, WindowKind};

/// Whether a group's runs have latencies.
pub(super) fn is_timed(group: &Group<'_>) -> bool {
    group.runs.iter().any(|run| run.summary.latency.is_some())
}

/// The mean over the seeds of a figure of latencies.
fn mean(group: &Group<'_>, kind: Kind, figure: impl Fn(&LatencyDistribution) -> f64) -> Option<f64> {
    group.mean_latency(|run| kind.times(group.latency(run)?).map(&figure))
}

/// What was served in a second, in operations or bytes.
fn rate(group: &Group<'_>, kind: Kind, figure: fn(&OpThroughput) -> f64) -> Option<f64> {
    let of = |run: &RunResult| {
        let throughput = group.throughput(run)?;
        Some(figure(if kind == Kind::Read { &throughput.read } else { &throughput.write }))
    };
    group.mean_latency(of)
}

fn iops(group: &Group<'_>, kind: Kind) -> Option<f64> {
    rate(group, kind, |of| of.iops)
}

/// The errors behind the latencies: those of the same probe, if only probes are timed.
pub(super) fn errors(group: &Group<'_>) -> Option<Errors> {
    let run = group.first();
    match group.common {
        Common::Probe(age) => run.windows[run.probe_at(age)?].errors,
        Common::Run | Common::Nothing => match run.windows.last() {
            Some(window) if window.kind == WindowKind::Probe => window.errors,
            _ => run.summary.errors,
        },
    }
}

/// Re-reads for each page read for the host, over the part that the latencies cover.
fn rereads_per_read(group: &Group<'_>) -> Option<f64> {
    errors(group)?.host_retry_rate()
}

/// Name, value and note of each figure that is shown large: four of reads or of writes, one of heat; none of an untimed run.
pub(super) fn tiles(group: &Group<'_>) -> Vec<(&'static str, String, String)> {
    if !is_timed(group) {
        return Vec::new();
    }
    let bytes = |kind: Kind| traffic(rate(group, kind, |of| of.bytes_per_second).unwrap_or(0.0));
    let age = |note: String| if group.age().is_empty() { note } else { format!("{}; {note}", group.age()) };
    let mut tiles = Vec::new();
    for (kind, names) in [
        (Kind::Read, ["mean read", "p99.9 of reads", "reads a second", "longest read"]),
        (Kind::Write, ["mean write", "p99.9 of writes", "writes a second", "longest write"]),
    ] {
        let of = |figure: fn(&LatencyDistribution) -> f64| mean(group, kind, figure);
        let Some(latency) = of(|figures| figures.mean_ns) else { continue };
        tiles.push((
            names[0],
            duration(latency),
            age(format!("p50 {}, p99 {}", told(of(|of| of.p50_ns as f64)), told(of(|of| of.p99_ns as f64)))),
        ));
        let requests = of(|of| of.count as f64).unwrap_or(0.0);
        let (longest, among) = (told(of(|of| of.max_ns as f64)), format!("of {}", counted(requests)));
        tiles.push(if is_reached(0.999, requests) {
            (names[1], told(of(|of| of.p999_ns as f64)), format!("longest {longest}, {among}"))
        } else {
            (names[3], longest, format!("{among}, too few for p99.9"))
        });
        tiles.push((names[2], short_or_dash(iops(group, kind)), format!("{} a second", bytes(kind))));
        match (kind, errors(group)) {
            (Kind::Read, Some(errors)) => tiles.push((
                "lost pages",
                count(errors.uncorrectable),
                format!("{} re-reads for each page read", short_or_dash(rereads_per_read(group))),
            )),
            _ if !is_reached(0.9999, requests) => {}
            (Kind::Read, None) => tiles.push(("p99.99 of reads", told(of(|of| of.p9999_ns as f64)), among)),
            (Kind::Write, _) => tiles.push(("p99.99 of writes", told(of(|of| of.p9999_ns as f64)), among)),
        }
    }
    if let Some(thermal) = group.first().summary.thermal {
        let throttled = format!("throttled for {} of the time", percent(thermal.throttled_share));
        tiles.push(("mean temperature", format!("{:.1} \u{b0}C", thermal.celsius_mean), throttled));
    }
    tiles
}

/// Latencies, throughput and errors of several groups; a card each on a narrow screen. Nothing of untimed runs.
pub(super) fn table(groups: &[Group<'_>], groups_max: usize) -> String {
    const NAMES: [&str; 9] =
        ["latency", "mean", "p50", "p99", "p99.9", "longest", "IOPS", "re-reads for each", "lost pages"];
    let erring = groups.iter().any(|group| errors(group).is_some());
    let names = &NAMES[..if erring { NAMES.len() } else { NAMES.len() - 2 }];
    let one_age = groups.iter().all(|group| group.age() == groups[0].age());
    let mut rows = String::new();
    for group in groups.iter().take(groups_max) {
        let of_age = if one_age { String::new() } else { group.of_age() };
        for kind in Kind::BOTH {
            let Some(mut cells) = percentiles(&|figure| mean(group, kind, figure)) else { continue };
            let errors = errors(group).filter(|_| kind == Kind::Read);
            cells.extend([
                short_or_dash(iops(group, kind)),
                short_or_dash(rereads_per_read(group).filter(|_| kind == Kind::Read)),
                errors.map_or_else(|| "\u{2013}".to_owned(), |errors| count(errors.uncorrectable)),
            ]);
            rows.push_str(&row(group, &format!("{}, {}{of_age}", group.label, kind.plural()), &names[1..], &cells));
            for (part, when) in [(Part::Before, "before GC began"), (Part::Since, "since GC began")] {
                let told = percentiles(&|figure| mean_of_part(group, kind, part, figure));
                let Some(mut cells) = told else { continue };
                cells.resize(names.len() - 1, "\u{2013}".to_owned());
                rows.push_str(&row(group, &format!("{}, {} {when}", group.label, kind.plural()), &names[1..], &cells));
            }
        }
        rows.push_str(&operation_rows(group, &names[1..], &of_age));
    }
    if rows.is_empty() {
        return String::new();
    }
    let first = format!("latency{}", if one_age { groups[0].of_age() } else { String::new() });
    let names = std::iter::once(first.as_str()).chain(names[1..].iter().copied());
    let head: String = names.map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
    format!("<table class=\"cards\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n")
}

/// Rows of a key-value store's operations, one a kind; nothing of another workload.
fn operation_rows(group: &Group<'_>, names: &[&str], of_age: &str) -> String {
    let of_kind = |run: &RunResult, kind: &str| {
        let operations = group.latency(run)?.operations?;
        operations.named().into_iter().find(|(name, _)| *name == kind).map(|(_, figures)| figures)
    };
    let kinds = group.latency(group.first()).and_then(|latency| latency.operations).map(|of| of.named());
    let mut rows = String::new();
    for (kind, _) in kinds.unwrap_or_default() {
        let mean = |figure: &dyn Fn(&OperationFigures) -> f64| {
            group.mean_latency(|run| of_kind(run, kind).as_ref().map(figure))
        };
        let Some(mut cells) = percentiles(&|figure| mean(&|of| figure(&of.times))) else { continue };
        cells.push(short_or_dash(mean(&|of| of.per_second)));
        cells.resize(names.len(), "\u{2013}".to_owned());
        rows.push_str(&row(group, &format!("{}, operations: {kind}{of_age}", group.label), names, &cells));
    }
    rows
}

/// The first cells of a row: mean, percentiles and the longest; `None` without any request.
fn percentiles(of: &dyn Fn(fn(&LatencyDistribution) -> f64) -> Option<f64>) -> Option<Vec<String>> {
    let mean = of(|figures| figures.mean_ns)?;
    let requests = of(|figures| figures.count as f64).unwrap_or(0.0);
    type Share = (f64, fn(&LatencyDistribution) -> f64);
    let rest: [Share; 4] = [
        (0.5, |figures| figures.p50_ns as f64),
        (0.99, |figures| figures.p99_ns as f64),
        (0.999, |figures| figures.p999_ns as f64),
        (1.0, |figures| figures.max_ns as f64),
    ];
    let rest = rest.into_iter().map(|(share, figure)| told(of(figure).filter(|_| is_reached(share, requests))));
    Some(std::iter::once(duration(mean)).chain(rest).collect())
}

/// A row of the table; its cells are named for narrow screens.
fn row(group: &Group<'_>, name: &str, names: &[&str], cells: &[String]) -> String {
    let mut row = format!("<tr><th scope=\"row\">{}{}</th>", swatch(group), escape(name));
    for (name, cell) in names.iter().zip(cells) {
        row.push_str(&format!("<td data-name=\"{name}\">{}</td>", escape(cell)));
    }
    row + "</tr>\n"
}

/// A part of a run in which garbage collection began.
#[derive(Clone, Copy)]
enum Part {
    Before,
    Since,
}

/// The mean over the seeds of a figure of latencies before or since collection began; `None` where it began with the run, or
/// did not begin.
fn mean_of_part(
    group: &Group<'_>,
    kind: Kind,
    part: Part,
    figure: impl Fn(&LatencyDistribution) -> f64,
) -> Option<f64> {
    group.mean(|summary| {
        let parts = summary.latency_by_gc.as_ref()?;
        let latency = match part {
            Part::Before => &parts.before,
            Part::Since => &parts.since,
        };
        kind.times(latency).map(&figure)
    })
}

/// The answer of timed runs in one line; `None` if they have no latencies to compare.
pub(super) fn headline(groups: &[Group<'_>]) -> Option<String> {
    if let [group] = groups {
        return answer(group, first_kind(group)?);
    }
    let first = first_kind(groups.first()?)?;
    if groups[0].common == Common::Nothing {
        return Some(format!("{} runs side by side; their latencies are of different ages", groups.len()));
    }
    let of = |group: &Group<'_>| mean(group, first, |figures| figures.mean_ns);
    let means: Vec<f64> = groups.iter().map(of).collect::<Option<_>>()?;
    let by = |left: &usize, right: &usize| means[*left].total_cmp(&means[*right]);
    let (best, worst) = ((0..means.len()).min_by(by)?, (0..means.len()).max_by(by)?);
    let ratio = means[worst] / means[best];
    if ratio < 1.01 {
        let (runs, what) = (groups.len(), first.plural());
        let age = groups[0].of_age();
        return Some(format!("In {runs} runs {what} took equally long{age}: {} on average", duration(means[best])));
    }
    Some(format!(
        "{} of \u{201c}{}\u{201d} took {} times as long as those of \u{201c}{}\u{201d}{}",
        if first == Kind::Read { "Reads" } else { "Writes" },
        groups[worst].label,
        short(ratio),
        groups[best].label,
        groups[0].of_age()
    ))
}

/// Reads, or writes where nothing was read.
fn first_kind(group: &Group<'_>) -> Option<Kind> {
    Kind::BOTH.into_iter().find(|kind| mean(group, *kind, |figures| figures.mean_ns).is_some())
}

/// "A read took 146 us on average after 20 drive writes; 1 in 1,000 took longer than 587 us".
fn answer(group: &Group<'_>, kind: Kind) -> Option<String> {
    let latency = mean(group, kind, |figures| figures.mean_ns)?;
    let what = if kind == Kind::Read { "A read" } else { "A write" };
    let rare = match mean(group, kind, |figures| figures.count as f64) {
        Some(requests) if requests >= 1000.0 => {
            let p999 = |figures: &LatencyDistribution| figures.p999_ns as f64;
            let slow = told(mean(group, kind, p999));
            let parts = mean_of_part(group, kind, Part::Before, p999).zip(mean_of_part(group, kind, Part::Since, p999));
            let parts = parts.map_or_else(String::new, |(before, since)| {
                format!(" ({} before garbage collection began, {} since)", duration(before), duration(since))
            });
            format!("; 1 in 1,000 took longer than {slow}{parts}")
        }
        _ => String::new(),
    };
    Some(format!("{what} took {} on average{}{rare}", duration(latency), group.of_age()))
}

/// What else is worth a sentence, after the answer of the first kind; `None` for an untimed run.
fn details(group: &Group<'_>) -> Option<String> {
    let first = first_kind(group)?;
    let mut sentences = Vec::new();
    for kind in Kind::BOTH {
        let of = |figure: fn(&LatencyDistribution) -> f64| mean(group, kind, figure);
        let Some(latency) = of(|figures| figures.mean_ns) else { continue };
        if kind != first {
            sentences.extend(answer(group, kind).map(|answer| answer + "."));
        }
        if let Some(rate) = iops(group, kind) {
            let (what, median) = (kind.plural(), told(of(|figures| figures.p50_ns as f64)));
            sentences
                .push(format!("Half of the {what} took at most {median}; the drive served {} a second.", short(rate)));
        }
        if kind == Kind::Read {
            sentences.push(beyond_sensing(group, latency));
            sentences.extend(rereads_in_words(group));
        }
    }
    Some(sentences.join(" "))
}

/// What requests took, in a sentence or two next to those of other runs; `None` for an untimed run.
pub(super) fn in_short(group: &Group<'_>) -> Option<String> {
    let read = answer(group, Kind::Read).zip(mean(group, Kind::Read, |figures| figures.mean_ns));
    let read = read.map(|(answer, latency)| format!("{answer}. {}", beyond_sensing(group, latency)));
    let sentences: Vec<String> =
        read.into_iter().chain(answer(group, Kind::Write).map(|answer| answer + ".")).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// What requests took and why, in words; `None` for an untimed run. Leaves out what the headline says.
pub(super) fn in_words(group: &Group<'_>, headline: &str) -> Option<String> {
    let answer = answer(group, first_kind(group)?)?;
    let began = group.mean(|summary| Some(summary.latency_by_gc.as_ref()?.began_at_drive_writes));
    let opening = began.map(|began| {
        format!(
            "Garbage collection began after {} drive writes: the figures of the whole run mix the time before and since.",
            counted(began)
        )
    });
    let answer = (answer != headline).then(|| answer + ".");
    let sentences: Vec<String> = opening.into_iter().chain(answer).chain(details(group)).collect();
    Some(sentences.join(" "))
}

/// What the mean read waited for.
fn beyond_sensing(group: &Group<'_>, latency: f64) -> String {
    let means: Vec<_> = group
        .runs
        .iter()
        .filter_map(|run| group.latency(run)?.read.as_ref())
        .map(|read| read.breakdown_ns.named())
        .collect();
    let part = |index: usize| means.iter().map(|parts| parts[index].1).sum::<f64>() / means.len() as f64;
    let sensing = part(0);
    let beyond = latency - sensing;
    let largest = (1..means[0].len()).max_by(|left, right| part(*left).total_cmp(&part(*right)));
    match largest {
        Some(largest) if beyond > 0.02 * latency => {
            let name = means[0][largest].0;
            let went = match name {
                waiting if waiting.starts_with("behind ") => format!("waiting {waiting}"),
                "transfer" => "the transfer".to_owned(),
                "processors" => "the firmware\u{2019}s processors".to_owned(),
                "cache" | "write cache" => "the write cache".to_owned(),
                "link" => "the link to the host".to_owned(),
                "dependencies" => "waiting for operations that must come before".to_owned(),
                "recovery" => "recovering lost pages".to_owned(),
                other => other.to_owned(),
            };
            let share = part(largest) / beyond;
            let how = match share {
                all if all > 0.95 => "nearly all".to_owned(),
                most if most > 0.5 => "most".to_owned(),
                some => format!("the largest share, {},", percent(some)),
            };
            format!("Sensing took {}; {how} of the time beyond it went to {went}.", duration(sensing))
        }
        _ => "Nearly all of that was sensing.".to_owned(),
    }
}

fn rereads_in_words(group: &Group<'_>) -> Option<String> {
    let errors = errors(group)?;
    let rereads = errors.host_retry_rate().unwrap_or(0.0);
    let lost = match errors.uncorrectable {
        0 => "no page was lost".to_owned(),
        1 => "one page was lost".to_owned(),
        lost => format!("{} pages were lost", count(lost)),
    };
    let background = errors.background_retry_rate().filter(|rate| *rate > 0.0);
    let background = background.map(|rate| format!("{} for each page read in the background", short(rate)));
    Some(match (rereads > 0.0, background) {
        (true, None) => format!("There were {} re-reads for each page read for the host, and {lost}.", short(rereads)),
        (true, Some(background)) => {
            format!("There were {} re-reads for each page read for the host and {background}; {lost}.", short(rereads))
        }
        (false, Some(background)) => {
            format!("No page was read again for the host, but there were re-reads, {background}; {lost}.")
        }
        (false, None) => format!("No page was read again, and {lost}."),
    })
}
