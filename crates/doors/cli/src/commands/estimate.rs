//! `wane estimate`: a scenario's results by theory, on request beside those of its run; of an array, those of each of its drives.

use serde_json::{Map, Value, json};
use wane_lab::predict::{MemberPrediction, Prediction, predict_members};
use wane_results::{ArrayDrive, DAYS_PER_YEAR, LatencyDistribution, RunResult, Summary, WARRANTY_YEARS};
use wane_scenario::{Scenario, Sources, WritesPerDay, folder_of};

use super::life::number;
use super::run::watched;
use crate::args::theory::{Asked, EstimateArguments};
use crate::output::{Failure, columns, line, print, print_json, read_scenario};
use crate::progress::stop_flag;
use crate::{DONE, INTERRUPTED};

pub(crate) fn estimate(arguments: &EstimateArguments) -> Result<i32, Failure> {
    let scenario = resolve(&arguments.asked)?;
    let Some(scenario) = scenario else {
        return Err(Failure::wrong("estimate needs a scenario, such as `wane estimate scenario.toml`"));
    };
    let (members, departures) = predict_members(&scenario).map_err(Failure::wrong)?;
    let mut run = None;
    if arguments.run {
        let stop = stop_flag();
        let result = watched(&scenario, arguments.quiet, &stop)?;
        if wane_lab::session::interrupted(&result) {
            return Ok(INTERRUPTED);
        }
        run = Some(result);
    }
    let run = run.as_ref();
    match (&members[..], &scenario.array) {
        ([MemberPrediction { prediction: Some(prediction), .. }], None) if arguments.json => {
            print_json(&as_json(&scenario, prediction, run))?;
        }
        ([MemberPrediction { prediction: Some(prediction), .. }], None) => print(&words(&scenario, prediction, run))?,
        _ if arguments.json => print_json(&array_as_json(&scenario, &members, departures, run))?,
        _ => print(&array_in_words(&scenario, &members, departures, run))?,
    }
    Ok(DONE)
}

/// The warnings of an array's drives, each once, and its own.
fn all_warnings(members: &[MemberPrediction], departures: Vec<String>) -> Vec<String> {
    let mut all = departures;
    for warning in members.iter().filter_map(|member| member.prediction.as_ref()).flat_map(|found| &found.warnings) {
        if !all.contains(warning) {
            all.push(warning.clone());
        }
    }
    all
}

/// Drive writes of the host when the first drive ends.
pub(super) fn first_end(members: &[MemberPrediction]) -> Option<f64> {
    members.iter().filter_map(|member| member.host_drive_writes).min_by(f64::total_cmp)
}

/// What a run says of the drive that stood in a place first.
fn ran(run: &RunResult, place: usize) -> Option<(&ArrayDrive, &Summary)> {
    let drives = run.summary.array.as_ref()?.drives.iter().zip(&run.drives);
    drives
        .filter(|(told, _)| told.place as usize == place && told.came_at == 0.0)
        .map(|(told, of)| (told, &of.summary))
        .next()
}

/// The amplification that a run's drive is compared with: near its end it amplifies more than before.
fn amplification_of(summary: &Summary, to_its_end: bool) -> Option<f64> {
    let of = &summary.write_amplification;
    if to_its_end { of.gc } else { of.last_drive_write.gc }
}

/// Bytes written on a drive for each byte of the host, in a run.
fn share_of(run: &RunResult, told: &ArrayDrive) -> Option<f64> {
    let host =
        told.ended_at.unwrap_or(run.summary.host.drive_writes) * run.summary.capacity.logical_bytes_initial as f64;
    (host > 0.0).then(|| told.bytes_written as f64 / host)
}

fn array_as_json(
    scenario: &Scenario,
    members: &[MemberPrediction],
    departures: Vec<String>,
    run: Option<&RunResult>,
) -> Value {
    let drives = members.iter().map(|member| {
        let mut drive = json!({ "place": member.place, "written_for_a_byte": member.share });
        if let Some(found) = &member.prediction {
            drive["model"] = json!(found.model.name());
            drive["write_amplification"] = json!({ "gc": found.write_amplification });
            drive["gc"] = json!({ "valid_pages_per_victim_mean": found.valid_pages_per_victim_mean });
            drive["drive_writes"] = json!(found.drive_writes);
            drive["ended_at"] = json!(member.host_drive_writes);
        }
        if let Some((run, (told, summary))) = run.and_then(|run| Some((run, ran(run, member.place)?))) {
            let gc = amplification_of(summary, member.host_drive_writes.is_some());
            drive["simulated"] = json!({
                "written_for_a_byte": share_of(run, told),
                "write_amplification": { "gc": gc },
                "ended_at": told.ended_at,
            });
        }
        drive
    });
    let mut top = json!({
        "scenario": { "name": scenario.name, "hash": scenario.hash() },
        "array": { "drives": drives.collect::<Vec<_>>(), "first_death_at": first_end(members) },
        "warnings": all_warnings(members, departures),
    });
    if let Some(run) = run {
        top["simulated"] = serde_json::to_value(&run.summary).unwrap_or(Value::Null);
    }
    top
}

fn array_in_words(
    scenario: &Scenario,
    members: &[MemberPrediction],
    departures: Vec<String>,
    run: Option<&RunResult>,
) -> String {
    let mut text = String::new();
    line(&mut text, "scenario", &scenario.name);
    for warning in all_warnings(members, departures) {
        line(&mut text, "warning", &warning);
    }
    let beside = |model: Option<f64>, run: Option<Option<f64>>| {
        let told = |value: Option<f64>| value.map_or_else(|| "\u{2013}".to_owned(), |value| format!("{value:.3}"));
        match run {
            None => told(model),
            Some(run) => format!("{} / {}", told(model), told(run)),
        }
    };
    let mut rows = vec![
        ["drive", "model", "written for a byte", "write amplification", "array writes to end"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for member in members {
        let ran = run.map(|run| ran(run, member.place).map(|(told, summary)| (run, told, summary)));
        let found = member.prediction.as_ref();
        let dies = member.host_drive_writes.is_some();
        let of = |each: &dyn Fn(&RunResult, &ArrayDrive, &Summary) -> Option<f64>| {
            ran.as_ref().map(|ran| ran.as_ref().and_then(|(run, told, summary)| each(run, told, summary)))
        };
        rows.push(vec![
            member.place.to_string(),
            found.map_or("\u{2013}", |found| found.model.name()).to_owned(),
            beside(Some(member.share), of(&|run, told, _| share_of(run, told))),
            beside(found.map(|found| found.write_amplification), of(&|_, _, of| amplification_of(of, dies))),
            beside(member.host_drive_writes, of(&|_, told, _| told.ended_at)),
        ]);
    }
    if first_end(members).is_none() {
        rows.iter_mut().for_each(|row| row.truncate(4));
    }
    text.push_str(&columns(&rows));
    if let Some(first) = first_end(members) {
        line(&mut text, "first drive ends", &format!("after {} array writes", number(first)));
        if let Some(rate) = daily(scenario) {
            line(&mut text, "years to that", &number(first / rate / DAYS_PER_YEAR));
        }
    }
    if run.is_some() {
        line(
            &mut text,
            "columns",
            "model / run; amplification of the whole run where a drive ends in the model, or else of its last drive write; a dash: it had none, or did not end",
        );
    }
    text
}

/// Resolves the scenario from a file, a preset and keys; `None` if none of them is given.
pub(crate) fn resolve(asked: &Asked) -> Result<Option<Scenario>, Failure> {
    let Asked { scenario: path, preset, set } = asked;
    if path.is_none() && preset.is_none() && set.is_empty() {
        return Ok(None);
    }
    let file = path.as_deref().map(read_scenario).transpose()?;
    let file = file.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
    let mut scenario = Scenario::resolve(&Sources { preset: preset.as_deref(), file, set })?;
    scenario.relative_to(&path.as_deref().map(folder_of).unwrap_or_default());
    Ok(Some(scenario))
}

/// Converts drive writes to the end of life to the units of data sheets: terabytes written, and drive writes a day of the warranty.
fn life(scenario: &Scenario, drive_writes: f64) -> (f64, f64) {
    let terabytes = drive_writes * scenario.device.logical_bytes() as f64 / 1e12;
    (terabytes, wane_theory::lifetime::drive_writes_per_day(drive_writes, WARRANTY_YEARS))
}

/// Drive writes a day, if the scenario gives a number.
pub(super) const fn daily(scenario: &Scenario) -> Option<f64> {
    match scenario.time.drive_writes_per_day {
        Some(WritesPerDay::Rate(rate)) => Some(rate),
        Some(WritesPerDay::Word(_)) | None => None,
    }
}

fn as_json(scenario: &Scenario, prediction: &Prediction, run: Option<&RunResult>) -> Value {
    let amplification = prediction.write_amplification;
    let mut top = Map::new();
    let mut put = |key: &str, value: Value| drop(top.insert(key.to_owned(), value));
    put("scenario", json!({ "name": scenario.name, "hash": scenario.hash() }));
    put("model", json!(prediction.model.name()));
    put("write_amplification", json!({ "gc": amplification }));
    put("gc", json!({ "valid_pages_per_victim_mean": prediction.valid_pages_per_victim_mean }));
    if let Some(drive_writes) = prediction.drive_writes {
        let (terabytes, dwpd) = life(scenario, drive_writes);
        put("host", json!({ "drive_writes": drive_writes }));
        let years = daily(scenario).map(|rate| drive_writes / rate / DAYS_PER_YEAR);
        put(
            "life",
            json!({ "terabytes_written": terabytes, "dwpd": dwpd, "warranty_years": WARRANTY_YEARS, "years": years }),
        );
    }
    if let Some(reads) = &prediction.reads {
        let at = PERCENTILES.map(|(_, key, share, _)| (key.to_owned(), json!(reads.quantile(share).round())));
        let mut read = Map::from_iter([("mean_ns".to_owned(), json!(reads.mean))]);
        read.extend(at);
        put("latency", json!({ "read": read }));
    }
    put("warnings", json!(prediction.warnings));
    if let Some(run) = run {
        put("simulated", serde_json::to_value(&run.summary).unwrap_or(Value::Null));
    }
    Value::Object(top)
}

/// A percentile of reads: its name, its key in a result, the share of reads, and how to get it from a run.
type Percentile = (&'static str, &'static str, f64, fn(&LatencyDistribution) -> u64);

const PERCENTILES: [Percentile; 4] = [
    ("p50", "p50_ns", 0.5, |run| run.p50_ns),
    ("p90", "p90_ns", 0.9, |run| run.p90_ns),
    ("p99", "p99_ns", 0.99, |run| run.p99_ns),
    ("p99.9", "p999_ns", 0.999, |run| run.p999_ns),
];

fn words(scenario: &Scenario, prediction: &Prediction, run: Option<&RunResult>) -> String {
    let mut text = String::new();
    line(&mut text, "scenario", &scenario.name);
    line(&mut text, "model", prediction.model.name());
    // Before the numbers that they concern.
    for warning in &prediction.warnings {
        line(&mut text, "warning", warning);
    }
    let summary = run.map(|run| &run.summary);
    let mut row = |name: &str, model: f64, run: Option<f64>| {
        let Some(run) = run else { return line(&mut text, name, &number(model)) };
        // Beside a run, with more digits to show the difference.
        let off = if run == 0.0 { "\u{2013}".to_owned() } else { format!("{:+.2} %", 100.0 * (model / run - 1.0)) };
        line(
            &mut text,
            name,
            format!("{:>12}{:>12} {off:>12}", format!("{model:.3}"), format!("{run:.3}")).trim_start(),
        );
    };
    let amplification = summary.and_then(|summary| amplification_of(summary, prediction.drive_writes.is_some()));
    row("write amplification", prediction.write_amplification, amplification);
    let valid = summary.and_then(|summary| summary.gc.valid_pages_per_victim_mean);
    row("valid pages, victim", prediction.valid_pages_per_victim_mean, valid);
    if let Some(drive_writes) = prediction.drive_writes {
        let (terabytes, dwpd) = life(scenario, drive_writes);
        let ran = summary.map(|summary| summary.host.drive_writes);
        row("drive writes to end", drive_writes, ran);
        row("TB written to end", terabytes, ran.map(|ran| life(scenario, ran).0));
        row("DWPD, 5 years", dwpd, ran.map(|ran| life(scenario, ran).1));
        if let Some(rate) = daily(scenario) {
            let days = |drive_writes: f64| drive_writes / rate;
            let (unit, of) = match days(drive_writes) {
                days if days >= DAYS_PER_YEAR => ("years", DAYS_PER_YEAR),
                days if days >= 1.0 => ("days", 1.0),
                _ => ("hours", 1.0 / 24.0),
            };
            row(&format!("{unit} to end"), days(drive_writes) / of, ran.map(|ran| days(ran) / of));
        }
    }
    if let Some(reads) = &prediction.reads {
        let ran = summary.and_then(|summary| summary.latency.as_ref()?.read.as_ref().map(|read| read.times));
        row("load of a die", reads.load, None);
        row("mean of a read, us", reads.mean / 1e3, ran.map(|ran| ran.mean_ns / 1e3));
        for (name, _, share, of) in PERCENTILES {
            row(&format!("{name} of a read, us"), reads.quantile(share) / 1e3, ran.map(|ran| of(&ran) as f64 / 1e3));
        }
    }
    if run.is_some() {
        let of = if prediction.drive_writes.is_some() { "whole run" } else { "run's last drive write" };
        line(&mut text, "columns", &format!("model, run, model / run - 1; amplification of the {of}"));
    }
    text
}
