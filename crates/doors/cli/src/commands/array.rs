//! What `wane run` says of an array.

use wane_report::{self as report, counted, plain};
use wane_results::{
    ArrayDrive, ArrayDriveLatency, ArrayFigures, ArrayLatency, ArrayProbe, LatencyDistribution, RunResult, Summary,
};
use wane_scenario::{ArraySpec, Scenario};

use super::timed::told_percentiles;
use crate::output::line;

/// What a dry run says of an array, in comments.
pub(super) fn described(array: &ArraySpec) -> String {
    let mut text = String::new();
    let (layout, count) = (array.settings.layout.name(), array.members.len());
    let sizes = || array.members.iter().map(|drive| drive.device.logical_bytes());
    let capacity = plain(&report::size_of(array.device.logical_bytes(), sizes()));
    text.push_str(&format!("# array: {layout} of {count} drives, {capacity}\n"));
    for (number, drive) in array.members.iter().enumerate() {
        let size = plain(&report::size(drive.device.logical_bytes() as f64));
        let stands = stands_for(drive).map_or_else(String::new, |told| format!(" {told}"));
        text.push_str(&format!("# drive {number}: {size}{stands}, {}\n", drive.device.spare_in_words()));
    }
    text
}

/// The larger drive that one stands for by `--scale`; `None` if it stands for itself.
fn stands_for(drive: &Scenario) -> Option<String> {
    drive.device.scaled_from.map(|from| in_place_of(from.0))
}

/// The latencies of a kind; `None` if there were none.
type Kind = fn(&ArrayLatency) -> Option<&LatencyDistribution>;

/// What the host and the drives of an array saw in a probe, a line each.
pub(super) fn probed(probe: &ArrayProbe) -> String {
    let mut text = String::new();
    let throughput = &probe.throughput;
    for (name, of, served) in [("reads", READS, throughput.read), ("writes", WRITES, throughput.write)] {
        let Some(times) = of(&probe.host) else { continue };
        let rate = plain(&report::traffic(served.bytes_per_second));
        line(&mut text, name, &format!("{}; {:.0} IOPS, {rate}/s", told_percentiles(times), served.iops));
        text += &list_answers(of, &collect_answers(probe));
    }
    text += &list_waits(&collect_answers(probe));
    if probe.failed > 0 {
        line(&mut text, "failed", &format!("{} of the requests, in some of their sectors", probe.failed));
    }
    text
}

const READS: Kind = |latency| latency.read.as_ref();
const WRITES: Kind = |latency| latency.write.as_ref();

/// How a drive answered what the host asked: its name, its latencies, and the share of the host's time which waited for it last.
type Answered = (String, ArrayLatency, Option<f64>);

fn collect_answers(probe: &ArrayProbe) -> Vec<Answered> {
    let name = |drive: &ArrayDriveLatency| {
        drive.run.as_ref().map_or_else(|| format!("drive {}", drive.place), |run| run.replace('-', " "))
    };
    probe.drives.iter().map(|drive| (name(drive), drive.latency, drive.waited_for)).collect()
}

/// The same of the last probe of a run, or of the whole of a timed run; empty of a run without time.
fn answered(array: &ArrayFigures) -> Vec<Answered> {
    let of_run = |drive: &ArrayDrive| Some((drive.run.replace('-', " "), drive.latency?, drive.waited_for));
    array.probes.last().map_or_else(|| array.drives.iter().filter_map(of_run).collect(), collect_answers)
}

/// Latencies of drives, a line each.
fn list_answers(of: Kind, drives: &[Answered]) -> String {
    let mut text = String::new();
    for (name, latency, _) in drives {
        if let Some(times) = of(latency) {
            let told = format!("{}; {} requests", told_percentiles(times), times.count);
            line(&mut text, &format!("  {name}"), &told);
        }
    }
    text
}

/// For which drives the host waited; nothing of a drive alone.
fn list_waits(drives: &[Answered]) -> String {
    let mut text = String::new();
    let mut waits: Vec<(&str, f64)> =
        drives.iter().filter_map(|(name, _, waited)| Some((name.as_str(), (*waited)?))).collect();
    if waits.len() < 2 {
        return text;
    }
    waits.sort_by(|one, other| other.1.total_cmp(&one.1));
    let told: Vec<String> = waits.iter().map(|(name, share)| format!("{name} {:.1} %", 100.0 * share)).collect();
    line(&mut text, "waited last for", &format!("{} of the time of the host's requests", told.join(", ")));
    text
}

/// What the host felt, and then its drives.
fn list_times(result: &RunResult, array: &ArrayFigures) -> String {
    let mut text = super::timed::with_warnings(result, String::new());
    let drives = answered(array);
    for (kind, of) in [("reads of drives", READS), ("writes of drives", WRITES)] {
        let told = list_answers(of, &drives);
        if !told.is_empty() {
            line(&mut text, kind, "what each answered the array, in what the host asked");
            text += &told;
        }
    }
    text + &list_waits(&drives)
}

/// An array for people, a line a figure; `None` of a drive alone.
pub(super) fn in_words(result: &RunResult) -> Option<String> {
    let (summary, array) = (&result.summary, result.summary.array.as_ref()?);
    let mut text = String::new();
    let mut line = |name: &str, value: String| line(&mut text, name, &value);
    line("scenario", format!("{} ({})", summary.scenario.name, summary.scenario.hash));
    let places = array.drives.iter().map(|drive| drive.place).max().map_or(0, |place| place + 1);
    let sizes = result.drives.iter().map(|drive| drive.summary.capacity.logical_bytes_initial);
    let capacity = plain(&report::size_of(summary.capacity.logical_bytes_initial, sizes));
    line("array", format!("{} of {places} drives, {capacity}", array.layout));
    let stands: Vec<String> = result.drives.iter().filter_map(|drive| drive_stands_for(&drive.summary)).collect();
    if let Some(first) = stands.first() {
        let alike = if stands.iter().all(|told| told == first) { "" } else { ", others in proportion" };
        line("scale", format!("a drive stands {first}{alike}"));
    }
    let cause = summary.end.cause.map(|cause| format!(" ({})", cause.name())).unwrap_or_default();
    line("end", format!("{}{cause} after {:.2} array writes", summary.end.reason.name(), summary.end.at_drive_writes));
    for drive in &array.drives {
        line(&drive.run.replace('-', " "), of_drive(drive));
    }
    if let Some(forward) = &summary.fast_forward {
        super::super::output::line(&mut text, "fast-forward", &tell_of_array(&report::forward_in_words(forward)));
    }
    text += &tell_of_array(&list_times(result, array));
    text += &answers(summary);
    text += &list_forecast(array);
    super::super::output::line(&mut text, "speed", &format!("{:.1} s", summary.run.wall_seconds));
    Some(text)
}

/// A text on drives, as one on an array.
fn tell_of_array(text: &str) -> String {
    text.replace("drive write", "array write").replace("the drive died", "the array ended")
}

/// The larger drive that a drive of a run stood for by `--scale`; `None` if it stood for itself.
fn drive_stands_for(drive: &Summary) -> Option<String> {
    drive.scaled.map(|scaled| in_place_of(scaled.from_logical_bytes))
}

fn in_place_of(bytes: u64) -> String {
    format!("for one of {}", plain(&report::size(bytes as f64)))
}

/// The answer and what else there is to say of an array, a line each.
pub(super) fn answers(summary: &Summary) -> String {
    let mut text = String::new();
    for (number, told) in report::array_in_words(summary).iter().enumerate() {
        line(&mut text, if number == 0 { "answer" } else { "" }, &plain(told));
    }
    text
}

/// What is expected of many such arrays, a line a sentence; nothing without a forecast.
fn list_forecast(array: &ArrayFigures) -> String {
    let mut text = String::new();
    let told = array.forecast.iter().flat_map(report::forecast_in_words);
    told.enumerate()
        .for_each(|(number, told)| line(&mut text, if number == 0 { "forecast" } else { "" }, &plain(&told)));
    text
}

/// A drive in a line.
fn of_drive(drive: &ArrayDrive) -> String {
    let since = if drive.came_at > 0.0 { format!("came at {:.2}, ", drive.came_at) } else { String::new() };
    let state = match (drive.state, drive.ended_at) {
        (wane_results::DriveState::Online, _) => "alive".to_owned(),
        (wane_results::DriveState::ReadOnly, Some(at)) => format!("worn out at {at:.2}, reads on"),
        (wane_results::DriveState::Gone, Some(at)) => format!("dead at {at:.2}"),
        (wane_results::DriveState::Replaced, Some(at)) => format!("replaced at {at:.2}"),
        _ => "ended".to_owned(),
    };
    let used =
        drive.life_used.map_or_else(String::new, |used| format!(", {} of its life used", plain(&report::share(used))));
    format!("{since}{state}{used}, {} erases a block in the mean", plain(&counted(drive.erase_count_mean)))
}
