//! `wane estimate`: a scenario's results by theory, on request beside those of its run.

use serde_json::{Map, Value, json};
use wane_lab::predict::{Prediction, predict};
use wane_results::{DAYS_PER_YEAR, LatencyDistribution, RunResult, WARRANTY_YEARS};
use wane_scenario::{Scenario, Sources, WritesPerDay, folder_of};

use super::life::number;
use super::run::watched;
use crate::args::theory::{Asked, EstimateArguments};
use crate::output::{Failure, line, print, print_json, read_scenario};
use crate::progress::stop_flag;
use crate::{DONE, INTERRUPTED};

pub(crate) fn estimate(arguments: &EstimateArguments) -> Result<i32, Failure> {
    let scenario = resolve(&arguments.asked)?;
    let Some(scenario) = scenario else {
        return Err(Failure::wrong("estimate needs a scenario, such as `wane estimate scenario.toml`"));
    };
    let prediction = predict(&scenario).map_err(Failure::wrong)?;
    let mut run = None;
    if arguments.run {
        let stop = stop_flag();
        let result = watched(&scenario, arguments.quiet, &stop)?;
        if wane_lab::session::interrupted(&result) {
            return Ok(INTERRUPTED);
        }
        run = Some(result);
    }
    if arguments.json {
        print_json(&as_json(&scenario, &prediction, run.as_ref()))?;
    } else {
        print(&words(&scenario, &prediction, run.as_ref()))?;
    }
    Ok(DONE)
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
    // Near its end of life a drive amplifies more than before, so a model of a whole life is compared with the whole run.
    let amplification = summary.and_then(|summary| match prediction.drive_writes {
        Some(_) => summary.write_amplification.gc,
        None => summary.write_amplification.last_drive_write.gc,
    });
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
