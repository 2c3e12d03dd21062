//! Terminal output of a timed run: latencies, where the time went, errors; and its clock before it runs.

use std::fmt::Write as _;

use wane_report::{part_of_run, plain, traffic};
use wane_results::{
    Errors, Latency, LatencyDistribution, LatencyFigures, OVERLOADED, OperationFigures, RunResult, Thermal, Window,
    WindowKind,
};
use wane_scenario::{Collection, Order, PaceWord, Scenario, Scheduler, Suspend, Time, WritesPerDay};
use wane_units::Nanos;
use wane_workload::{Arrival, normal_gap_mean};

use super::life;
use crate::output::line;

/// Most parts of a mean latency that are listed.
const PARTS_MAX: usize = 4;

/// Adds the figures of a timed run and the run's warnings to a text. A warning that voids the figures comes before them.
pub(super) fn with_warnings(result: &RunResult, mut text: String) -> String {
    let (first, rest): (Vec<_>, Vec<_>) =
        result.summary.warnings.iter().partition(|warning| warning.starts_with(OVERLOADED));
    first.into_iter().for_each(|warning| line(&mut text, "warning", warning));
    text += &words(result);
    rest.into_iter().for_each(|warning| line(&mut text, "warning", warning));
    text
}

/// Returns the lines on latencies and errors; empty for an untimed run on perfect flash.
fn words(result: &RunResult) -> String {
    let summary = &result.summary;
    let mut text = String::new();
    let probe = result.windows.last().filter(|window| window.kind == WindowKind::Probe);
    if let Some(window) = probe {
        let (looks, after) = (result.windows.len(), window.at_drive_writes);
        let when = window.at_days.map_or_else(String::new, |days| format!(", {}", life::time(days)));
        let of = if summary.array.is_some() { "array" } else { "drive" };
        let told = format!("{looks}; these are figures of the last, after {after:.2} {of} writes{when}");
        line(&mut text, "probes", &told);
        for (age, figures) in life::ages(result) {
            line(&mut text, &age, &figures);
        }
    }
    let parts = summary.latency_by_gc.as_ref();
    let writes = if summary.array.is_some() { "array writes" } else { "drive writes" };
    if let Some(parts) = parts {
        let began = parts.began_at_drive_writes;
        let told = format!("began after {began:.2} {writes}; figures of the whole run mix the time before and since");
        line(&mut text, "collection", &told);
    }
    // A probe's figures are those of its age; a timed run's are shown with those of its last window.
    let last = if probe.is_none() { result.last_full_window().filter(|last| *last > 0) } else { None };
    if let Some((latency, throughput)) = summary.latency.as_ref().zip(summary.throughput) {
        for (name, kind, served) in [("reads", READ, throughput.read), ("writes", WRITE, throughput.write)] {
            let Some(figures) = kind(latency) else { continue };
            let served = format!("; {:.0} IOPS, {}/s", served.iops, plain(&traffic(served.bytes_per_second)));
            let of = if last.is_some() { ", whole run" } else { "" };
            line(&mut text, &format!("{name}{of}"), &(percentiles(figures) + &served));
            for (when, part) in parts.iter().flat_map(|parts| [("  before", &parts.before), ("  since", &parts.since)])
            {
                if let Some(figures) = kind(part) {
                    line(&mut text, when, &percentiles(figures));
                }
            }
            if let Some((last, figures)) = last.and_then(|last| Some((last, kind(&result.windows[last].latency)?))) {
                // Below the whole run, of which it is a part.
                let part = plain(&part_of_run(result, last)).replace(" of the run", "");
                line(&mut text, &format!("  {part}"), &percentiles(figures));
            }
            if name == "reads" {
                line(&mut text, "time of a read", &told_parts(figures));
            } else if summary.array.is_some() {
                line(&mut text, "time of a write", &told_parts(figures));
            }
        }
        if latency.read.is_none() && summary.host.pages_read > 0 && summary.host.pages_read_unmapped > 0 {
            line(&mut text, "reads", "all of addresses without data, which need no flash");
        }
        text.push_str(&operations(latency, last.map(|last| &result.windows[last].latency)));
    }
    if let Some(thermal) = &summary.thermal {
        let Thermal { celsius_end, celsius_mean, watts_mean, throttled_share } = thermal;
        let throttled = 100.0 * throttled_share;
        let told = format!(
            "{celsius_mean:.1} \u{b0}C on average, {celsius_end:.1} at the end; {watts_mean:.2} W; throttled for {throttled:.1} % of the time"
        );
        line(&mut text, "heat", &told);
    }
    if let Some(errors) = probe.map_or(summary.errors, |window: &Window| window.errors) {
        line(&mut text, "errors", &of_errors(&errors));
    }
    text
}

/// Gets the latencies of requests of a kind; `None` if there were none.
type OfKind = fn(&Latency) -> Option<&LatencyFigures>;

const READ: OfKind = |latency| latency.read.as_ref();
const WRITE: OfKind = |latency| latency.write.as_ref();

fn percentiles(figures: &LatencyFigures) -> String {
    told_percentiles(&figures.times)
}

/// A distribution in words.
pub(super) fn told_percentiles(times: &LatencyDistribution) -> String {
    debug_assert!(times.p50_ns <= times.p99_ns && times.p99_ns <= times.p999_ns, "percentiles rise");
    let [p50, p99, p999] = [times.p50_ns, times.p99_ns, times.p999_ns].map(|ns| duration(ns as f64));
    format!("mean {}, p50 {p50}, p99 {p99}, p99.9 {p999}{}", duration(times.mean_ns), of_few(times))
}

/// Requests among which one is slower than p99.9; among fewer requests p99.9 is the slowest one.
const BEYOND_P999: u64 = 1000;

/// Says how many requests percentiles are of, if they are too few for p99.9.
pub(super) fn of_few(times: &LatencyDistribution) -> String {
    if times.count < BEYOND_P999 { format!(" of {} alone", times.count) } else { String::new() }
}

/// Returns the latencies of a key-value store's operations, a line for each kind, and those of the last window; empty for other workloads.
fn operations(whole: &Latency, last: Option<&Latency>) -> String {
    let mut text = String::new();
    let Some(of_all) = whole.operations else { return text };
    let told = |of: &OperationFigures| told_percentiles(&of.times);
    line(&mut text, "operations", &format!("{:.0} a second; {}", of_all.all.per_second, told(&of_all.all)));
    for (kind, figures) in of_all.named() {
        line(&mut text, &format!("  {kind}"), &told(&figures));
    }
    if let Some(of_all) = last.and_then(|last| last.operations) {
        line(&mut text, "  at the end", &format!("{:.0} a second; {}", of_all.all.per_second, told(&of_all.all)));
    }
    text
}

/// Lists the largest parts of the mean latency.
fn told_parts(figures: &LatencyFigures) -> String {
    let mut parts = figures.breakdown_ns.named().to_vec();
    parts.retain(|part| part.1 > 0.0);
    parts.sort_by(|left, right| right.1.total_cmp(&left.1));
    let told: Vec<String> =
        parts.iter().take(PARTS_MAX).map(|(name, time)| format!("{name} {}", duration(*time))).collect();
    told.join(", ")
}

fn of_errors(errors: &Errors) -> String {
    let rate = |origin: &str, reads: u64, rate: Option<f64>| {
        rate.map(|rate| format!("{rate:.3} re-reads for each of {reads} page reads {origin}"))
    };
    let host = rate("for the host", errors.host_page_reads, errors.host_retry_rate());
    let background = rate("in the background", errors.background_page_reads, errors.background_retry_rate());
    let mut text = host.into_iter().chain(background).collect::<Vec<_>>().join(", ");
    if text.is_empty() {
        text.push_str("no page was read");
    }
    if errors.recoveries + errors.recovery_failures > 0 {
        let _ = write!(text, ", {} given back by redundancy", errors.recoveries);
    }
    let _ = write!(text, ", {} uncorrectable", errors.uncorrectable);
    text
}

pub(super) fn duration(ns: f64) -> String {
    plain(&wane_report::duration(ns))
}

/// Describes the clock of a scenario, as comments; without times only the calendar, if there is one.
pub(super) fn clock(scenario: &Scenario) -> String {
    let (time, timing) = (&scenario.time, &scenario.medium.timing);
    let mut text = String::new();
    let calendar = match time.drive_writes_per_day {
        Some(WritesPerDay::Rate(writes)) => {
            format!("# calendar: {writes} drive write{} a day\n", if writes == 1.0 { "" } else { "s" })
        }
        Some(WritesPerDay::Word(PaceWord::Trace)) => "# calendar: that of the trace\n".to_owned(),
        None => String::new(),
    };
    text.push_str(&calendar);
    if time.scheduler == Scheduler::None {
        return text;
    }
    let each = |times: &[Nanos]| times.iter().map(Nanos::to_string).collect::<Vec<_>>().join(" | ");
    let channel = timing.channel_rate.map_or("endlessly fast".to_owned(), |rate| rate.to_string());
    let _ = writeln!(text, "# clock: {}", scheduler(time));
    let _ = writeln!(
        text,
        "# flash: read {}, program {}, erase {}, channel {channel}",
        each(&timing.read),
        each(&timing.program),
        timing.erase
    );
    match &scenario.probe {
        None => {
            for (number, phase) in scenario.phases.iter().enumerate() {
                let which = if scenario.phases.len() > 1 { format!(" of phase {number}") } else { String::new() };
                let _ = writeln!(text, "# requests{which}: {}", arrival(phase.arrival, time.scale));
            }
        }
        Some(probe) => {
            let ages = (probe.ages.count() > 0).then(|| format!("after {}", probe.ages.in_words()));
            let end = probe.at_end_of_life.then(|| "before the drive dies".to_owned());
            let when: Vec<_> = ages.into_iter().chain(end).collect();
            let _ = writeln!(text, "# probes: {}, {} requests each", when.join(" and "), probe.requests);
            let _ = writeln!(text, "# requests of probes: {}", arrival(probe.arrival, time.scale));
        }
    }
    text
}

fn scheduler(time: &Time) -> String {
    if time.scheduler == Scheduler::Timeline {
        let free = if time.gc == Collection::Free { "; garbage collection that takes no time" } else { "" };
        return format!("timeline: each die and channel first come, first served{free}");
    }
    let mut told = vec![match (time.order, time.read_priority) {
        (Order::FirstCome, _) => "events: first come, first served".to_owned(),
        (Order::Priority, true) => "events: by priority, host reads first".to_owned(),
        (Order::Priority, false) => "events: by priority, host first".to_owned(),
    }];
    told.extend(match time.suspend {
        Suspend::None => None,
        Suspend::Program => Some("reads suspend programs".to_owned()),
        Suspend::Erase => Some("reads suspend erases".to_owned()),
        Suspend::Both => Some("reads suspend programs and erases".to_owned()),
    });
    told.push(
        match time.gc {
            Collection::Foreground => "garbage collection in the foreground",
            Collection::Background => "garbage collection in the background",
            Collection::Rotating => "garbage collection in the background, in turns",
            Collection::Preemptible => "preemptible garbage collection",
            Collection::Free => "garbage collection that takes no time",
        }
        .to_owned(),
    );
    if time.multi_plane {
        told.push("planes together".to_owned());
    }
    if let Some(bytes) = time.write_cache {
        told.push(format!("a write cache of {bytes}"));
    }
    if let Some(processors) = time.processors {
        told.push(format!("{processors} processors that take {} an operation", time.think_time));
    }
    let rate = time.link_rate.map(|rate| format!(" of {rate}")).unwrap_or_default();
    if time.has_link() {
        told.push(format!("a link{rate} that takes {} a command", time.command_time));
    }
    told.join("; ")
}

fn arrival(arrival: Arrival, scale: f64) -> String {
    match arrival {
        Arrival::QueueDepth(depth) => format!("{depth} at a time"),
        Arrival::Poisson(mean) => format!("one every {} on average (Poisson)", Nanos(mean)),
        Arrival::Normal { mean_ns, sd_ns } => {
            let (drawn, mean, sd) =
                (Nanos(normal_gap_mean(mean_ns, sd_ns).round() as u64), Nanos(mean_ns), Nanos(sd_ns));
            if drawn == mean {
                format!("one every {mean} on average (normal, sd {sd})")
            } else {
                format!("one every {drawn} on average (normal, mean {mean}, sd {sd}, gaps below 0 count as 0)")
            }
        }
        Arrival::Trace if scale == 1.0 => "at the times of the trace".to_owned(),
        Arrival::Trace => format!("at the times of the trace, {scale} times as far apart"),
    }
}
