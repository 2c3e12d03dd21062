//! The page of an array: its answer and a table of its drives, above the runs of these drives side by side.

use wane_results::{
    ArrayDrive, ArrayDriveLatency, ArrayFigures, ArrayLatency, ArrayProbe, Capacity, DriveState, EndCause, EndReason,
    LatencyDistribution, RunResult, Summary, Throughput, Unfinished,
};

use super::groups::{Group, groups};
use super::html::{Figure, Table, escape, table};
use super::latency::latencies;
use super::numbers::{capacity, counted, duration, percent, short_or_dash};
use super::page::Opening;
use super::timed;
use super::words::as_of_arrays;

/// What the page of an array begins with, above the runs of its drives side by side: what its host felt, and which drive it waited for. `None` of a drive
/// alone.
pub(super) fn opening(result: &RunResult) -> Option<Opening<'_>> {
    let (summary, array) = (&result.summary, result.summary.array.as_ref()?);
    let mut lead = String::from("<section class=\"words\">\n");
    let of_host = groups(std::slice::from_ref(result));
    let felt = timed::headline(&of_host).filter(|_| summary.end.reason != EndReason::EndOfLife);
    let felt = felt.map(|told| as_of_arrays(&of_host, told));
    // What the host felt comes first, as of a drive, unless the array ended.
    let mut told = felt.into_iter().chain(array_in_words(summary));
    let headline = told.next().unwrap_or_default();
    for told in told.chain(summary.warnings.iter().cloned()) {
        lead.push_str(&format!("<p class=\"lead\">{}</p>\n", escape(&told)));
    }
    lead.push_str(&tabulate_host(summary, array));
    lead.push_str("</section>\n");
    let mut section = String::from("<section class=\"words\">\n");
    section.push_str(&tabulate_answers(array));
    section.push_str(&table(&tabulate_drives(array), "numbers"));
    section.push_str(
        "<p class=\"caption\">Times in this table and in the first line are array writes; charts below count the writes of each drive, from its \
         own start on.</p>\n",
    );
    if let Some(forecast) = &array.forecast {
        section.push_str(&super::forecast::section(forecast));
    }
    section.push_str(&format!(
        "<details><summary>The scenario of the array</summary>\n<pre>{}</pre></details>\n</section>\n",
        escape(&result.scenario_toml)
    ));
    let name = summary.scenario.name.clone();
    Some(Opening { name, headline, lead, host: result, section })
}

/// Pictures of what the host of an array felt.
pub(super) fn of_host(result: &RunResult, coarseness: usize) -> Vec<Figure> {
    latencies(&groups(std::slice::from_ref(result)), coarseness)
}

/// Pictures of an array beside those of its drives: what its host felt, and its forecast.
pub(super) fn pictures(result: &RunResult) -> Vec<Figure> {
    of_host(result, 1).into_iter().chain(of_forecast(&result.summary)).collect()
}

fn of_forecast(summary: &Summary) -> Vec<Figure> {
    let forecast = summary.array.iter().filter_map(|array| array.forecast.as_ref());
    forecast.filter(|forecast| !forecast.alternatives.is_empty()).map(super::forecast::by_cause).collect()
}

/// What a drive is, in words.
const fn state_in_words(state: DriveState) -> &'static str {
    match state {
        DriveState::Online => "alive",
        DriveState::ReadOnly => "worn out, reads on",
        DriveState::Gone => "dead",
        DriveState::Replaced => "replaced",
    }
}

/// The drives as a table.
fn tabulate_drives(array: &ArrayFigures) -> Table {
    let headers = [
        "drive",
        "came, array writes",
        "ended, array writes",
        "is",
        "life used",
        "mean erases of a block",
        "written on it",
    ];
    let row = |drive: &ArrayDrive| {
        vec![
            drive.run.replace('-', " "),
            counted(drive.came_at),
            short_or_dash(drive.ended_at),
            state_in_words(drive.state).to_owned(),
            drive.life_used.map_or_else(|| "\u{2013}".to_owned(), percent),
            counted(drive.erase_count_mean),
            capacity(drive.bytes_written),
        ]
    };
    Table { headers: headers.map(str::to_owned).to_vec(), rows: array.drives.iter().map(row).collect() }
}

/// What the host felt, at each age or over a timed run; nothing of a run without time.
fn tabulate_host(summary: &Summary, array: &ArrayFigures) -> String {
    let host: Vec<Vec<String>> = match (&summary.latency, summary.throughput) {
        _ if !array.probes.is_empty() => array
            .probes
            .iter()
            .map(|probe| row(counted(probe.at_array_writes), [probe.host.read, probe.host.write], &probe.throughput))
            .collect(),
        (Some(latency), Some(throughput)) => {
            let times = [latency.read, latency.write].map(|figures| figures.map(|figures| figures.times));
            vec![row("the whole run".to_owned(), times, &throughput)]
        }
        _ => return String::new(),
    };
    let mut text = String::from("<h2>What the host feels</h2>\n");
    let headers = [&["array writes"][..], &columns("reads"), &["a second"], &columns("writes"), &["a second"]].concat();
    text.push_str(&titled(&headers, host));
    let each = if array.probes.is_empty() {
        ""
    } else {
        "Each row is a copy of the array that served the same requests at its age. "
    };
    text.push_str(&format!("<p class=\"caption\">{each}A write is done with its last copy or parity.</p>\n"));
    text
}

/// What each drive did for the host, and how long the host waited for it; nothing of a run without time.
fn tabulate_answers(array: &ArrayFigures) -> String {
    let of_drive = |name: String, latency: &ArrayLatency, waited: Option<f64>| {
        let times = [&latency.read, &latency.write].into_iter().flat_map(|times| of_times(times.as_ref()));
        let waited = waited.map_or_else(|| "\u{2013}".to_owned(), |share| format!("{:.1}\u{a0}%", 100.0 * share));
        [name].into_iter().chain(times).chain([waited]).collect::<Vec<String>>()
    };
    let (drives, when): (Vec<Vec<String>>, String) = match array.probes.last() {
        Some(last) => {
            let name = |drive: &ArrayDriveLatency| {
                drive.run.as_ref().map_or_else(|| format!("drive {}", drive.place), |run| run.replace('-', " "))
            };
            let rows = last.drives.iter().map(|drive| of_drive(name(drive), &drive.latency, drive.waited_for));
            (rows.collect(), format!("in the last probe, after {} array writes", counted(last.at_array_writes)))
        }
        None => {
            let rows = array.drives.iter().filter_map(|drive| {
                Some(of_drive(drive.run.replace('-', " "), drive.latency.as_ref()?, drive.waited_for))
            });
            (rows.collect(), "in the run".to_owned())
        }
    };
    if drives.is_empty() {
        return String::new();
    }
    let headers = [&["drive"][..], &columns("reads"), &columns("writes"), &["waited for last"]].concat();
    format!(
        "<h2>Which drive it waits for</h2>\n{}<p class=\"caption\">What the drives did for the host {when}. The last column is the share of the time of \
         the host\u{2019}s requests which waited for this drive last.</p>\n",
        titled(&headers, drives)
    )
}

/// Places of drives, each with the share of the host's time that waited for it last.
type Waits = Vec<(u32, f64)>;

/// For which drives the hosts of several arrays waited last, at each age: the mean over the seeds. Nothing where no time was kept, or of drives alone.
pub(super) fn tabulate_waits(groups: &[Group<'_>], groups_max: usize) -> String {
    let mut rows: Vec<(String, Vec<Waits>)> = Vec::new();
    for group in groups.iter().take(groups_max) {
        let arrays: Vec<&ArrayFigures> = group.runs.iter().filter_map(|run| run.summary.array.as_ref()).collect();
        let ages = arrays.iter().map(|array| array.probes.len()).max().unwrap_or(0);
        if ages == 0 {
            let waits = |array: &&ArrayFigures| {
                array.drives.iter().filter_map(|drive| Some((drive.place, drive.waited_for?))).collect()
            };
            rows.push((group.label.clone(), arrays.iter().map(waits).collect()));
        }
        for age in 0..ages {
            let probes: Vec<&ArrayProbe> = arrays.iter().filter_map(|array| array.probes.get(age)).collect();
            let at = probes.iter().map(|probe| probe.at_array_writes).sum::<f64>() / probes.len() as f64;
            let waits = |probe: &&ArrayProbe| {
                probe.drives.iter().filter_map(|drive| Some((drive.place, drive.waited_for?))).collect()
            };
            let name = format!("{}, after {} array writes", group.label, counted(at));
            rows.push((name, probes.iter().map(waits).collect()));
        }
    }
    rows.retain(|(_, seeds)| seeds.iter().any(|waits| waits.len() > 1));
    let places = rows.iter().flat_map(|(_, seeds)| seeds.iter().flatten()).map(|(place, _)| place + 1).max();
    let Some(places) = places else { return String::new() };
    let cell = |seeds: &[Waits], place: u32| {
        // Several drives stood there, one after the other.
        let of_seed = |waits: &Waits| waits.iter().filter(|(at, _)| *at == place).map(|(_, share)| share).sum::<f64>();
        let mean = seeds.iter().map(of_seed).sum::<f64>() / seeds.len() as f64;
        format!("{:.1}\u{a0}%", 100.0 * mean)
    };
    let told = rows.iter().map(|(name, seeds)| {
        std::iter::once(name.clone()).chain((0..places).map(|place| cell(seeds, place))).collect()
    });
    let headers = std::iter::once("array".to_owned()).chain((0..places).map(|place| format!("drive {place}")));
    format!(
        "<h2>Which drive the host waits for</h2>\n{}<p class=\"caption\">Shares of the time of the host\u{2019}s requests which waited for this drive \
         last, by its place; the mean over the seeds.</p>\n",
        table(&Table { headers: headers.collect(), rows: told.collect() }, "numbers")
    )
}

/// What a host felt: reads, writes, and how many of each a second.
fn row(of: String, times: [Option<LatencyDistribution>; 2], throughput: &Throughput) -> Vec<String> {
    let rates = [throughput.read.iops, throughput.write.iops];
    let kinds = times.into_iter().zip(rates).flat_map(|(times, iops)| {
        let rate = if times.is_some() { counted(iops.round()) } else { "\u{2013}".to_owned() };
        [of_times(times.as_ref()), vec![rate]].concat()
    });
    std::iter::once(of).chain(kinds).collect()
}

/// The headers of the latencies of a kind.
fn columns(kind: &str) -> [&'static str; 3] {
    match kind {
        "reads" => ["reads: mean", "p50", "p99"],
        _ => ["writes: mean", "p50", "p99"],
    }
}

fn of_times(times: Option<&LatencyDistribution>) -> Vec<String> {
    match times {
        Some(times) => [times.mean_ns, times.p50_ns as f64, times.p99_ns as f64].map(duration).to_vec(),
        None => vec!["\u{2013}".to_owned(); 3],
    }
}

fn titled(headers: &[&str], rows: Vec<Vec<String>>) -> String {
    table(&Table { headers: headers.iter().map(|header| (*header).to_owned()).collect(), rows }, "numbers")
}

/// Names of drives, in words.
fn names<'a>(drives: impl Iterator<Item = &'a ArrayDrive>) -> String {
    drives.map(|drive| drive.run.replace('-', " ")).collect::<Vec<_>>().join(", ")
}

/// The answer in a sentence.
fn answer(summary: &Summary, array: &ArrayFigures) -> String {
    let (layout, at) = (&array.layout, counted(summary.end.at_drive_writes));
    let is_over = summary.end.reason == EndReason::EndOfLife;
    let stands = |drive: &&ArrayDrive| {
        array.drives.iter().all(|next| next.place != drive.place || next.came_at <= drive.came_at)
    };
    let died = |drive: &&ArrayDrive| matches!(drive.state, DriveState::ReadOnly | DriveState::Gone);
    let worn = || array.drives.iter().filter(died).filter(stands);
    match (array.first_death_at, array.last_death_at, array.between_deaths()) {
        (Some(first), Some(last), _) if last == first => {
            format!("The drives of the {layout} died together, after {} array writes", counted(first))
        }
        (Some(first), Some(last), Some(between)) => format!(
            "The drives of the {layout} died {} array writes apart, after {} and {}: {} of its life",
            counted(last - first),
            counted(first),
            counted(last),
            percent(between)
        ),
        (Some(first), ..) if is_over && worn().count() > 1 => format!(
            "The {layout} ended after {at} array writes, when {} were worn out, the first of them at {}",
            names(worn()),
            counted(first)
        ),
        (Some(_), ..) if is_over => {
            format!("The {layout} ended after {at} array writes, when {} was worn out", names(worn()))
        }
        (Some(first), ..) => format!(
            "{} died after {} array writes; the {layout} lived on to the end of the run, at {at}",
            names(array.drives.iter().filter(died).filter(|drive| drive.ended_at == Some(first)).take(1)),
            counted(first)
        ),
        (None, ..) if is_over => {
            let cause = summary.end.cause.map_or("", EndCause::name);
            format!("The {layout} ended after {at} array writes without the death of a drive: {cause}")
        }
        (None, ..) => format!("No drive of the {layout} died in {at} array writes"),
    }
}

/// The answer first, then whatever else there is to say of an array, each in a sentence; nothing of a drive alone.
pub fn array_in_words(summary: &Summary) -> Vec<String> {
    let Some(array) = &summary.array else { return Vec::new() };
    let mut told = vec![answer(summary, array)];
    told.extend(array.interrupted.map(|unfinished| match unfinished {
        Unfinished::Life => "Interrupted: its life ends here because the user stopped the run.".to_owned(),
        Unfinished::Probe => {
            "Interrupted in a probe, which is left out, as is what would have come after it.".to_owned()
        }
        Unfinished::Forecast => {
            "Interrupted in the forecast, which is left out; the life before it is whole.".to_owned()
        }
    }));
    if array.writes_degraded > 0.0 {
        let first = summary.end.at_drive_writes - array.writes_degraded;
        let less = if array.layout == "mirror" { "a copy less" } else { "less redundancy" };
        told.push(format!(
            "From {} array writes on, for {}, data had {less}: the time there was to replace the drive.",
            counted(first),
            counted(array.writes_degraded)
        ));
    }
    let replaced: Vec<&ArrayDrive> = array.drives.iter().filter(|drive| drive.state == DriveState::Replaced).collect();
    for drive in &replaced {
        let used = drive.life_used.map_or_else(String::new, |used| format!(" with {} of its life used", percent(used)));
        told.push(format!(
            "{} was replaced after {} array writes{used}.",
            names(std::iter::once(*drive)),
            short_or_dash(drive.ended_at)
        ));
    }
    let ends: Vec<f64> = replaced.iter().filter_map(|drive| drive.ended_at).collect();
    if ends.iter().enumerate().any(|(number, end)| ends[..number].iter().any(|other| (end - other).abs() < 1.0)) {
        told.push("Drives that are replaced at one time stay alike: leave a part of a life between them.".to_owned());
    }
    let Capacity { logical_bytes_initial: initial, logical_bytes_exported: end, .. } = summary.capacity;
    // A file system says itself what it gave back.
    if end != initial && summary.file_system.is_none() {
        let (initial, end) = (capacity(initial), capacity(end));
        told.push(format!("It followed drives that wanted space back, from {initial} to {end}."));
    }
    told.push(match array.bytes_lost {
        0 => "All data can be read at the end.".to_owned(),
        lost if lost == initial => "All data are lost at the end.".to_owned(),
        lost => format!("{} cannot be read at the end.", capacity(lost)),
    });
    if let Some(files) = summary.file_system.as_ref().filter(|files| files.bytes_written > 0) {
        let times = |ratio: Option<f64>| ratio.map_or_else(|| "none".to_owned(), |ratio| format!("{ratio:.2}"));
        told.push(format!(
            "Programs wrote {} to files: the {} got {} times as much, and the flash of its drives {} times.",
            capacity(files.bytes_written),
            array.layout,
            times(files.write_amplification),
            times(files.write_amplification_of_flash)
        ));
        if files.size_at_end < files.size_at_start {
            let (start, end) = (capacity(files.size_at_start), capacity(files.size_at_end));
            told.push(format!("The file system gave back space that drives wanted, from {start} to {end}."));
        }
    }
    if array.bytes_repaired > 0 {
        told.push(format!(
            "{} that a drive had lost came back from {}.",
            capacity(array.bytes_repaired),
            if array.layout == "mirror" { "another" } else { "the others" }
        ));
    }
    if array.bytes_copied > 0 {
        told.push(format!("{} were copied to drives that were new or had missed them.", capacity(array.bytes_copied)));
    }
    told
}
