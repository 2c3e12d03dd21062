//! `wane drive compare`: the state of drives side by side, and how fast copies of them answer the same requests.

use std::path::Path;
use std::sync::atomic::Ordering;

use serde_json::json;
use wane_lab::run::{Step, Watch};
use wane_report::{duration, plain, render};
use wane_results::RunResult;
use wane_units::{Fnv, excerpt_path};

use super::{Kept, Progress, show, stop_flag, takes_no_writes};
use crate::args::drive::CompareArguments;
use crate::output::{Failure, Others, check_writable, columns, print, print_json, tell, write_text};
use crate::{DONE, INTERRUPTED};

pub(super) fn compare(arguments: &CompareArguments) -> Result<i32, Failure> {
    let others = Others::of(arguments.force);
    if let Some(out) = &arguments.out {
        super::data::check_no_drives(out)?;
        check_writable(out, others)?;
    }
    let stop = stop_flag();
    let (mut facts, mut results) = (Vec::new(), Vec::new());
    let mut silent = Vec::new();
    for path in &arguments.drives {
        let kept = Kept::open(path)?;
        super::one(&kept, path, "compared by what it answers")?;
        let scenario = arguments.asked.of(&kept)?;
        facts.push(show::facts(&kept, path));
        // A dead one is shown beside the others, without an answer.
        if let Some(sentence) = takes_no_writes(&kept, &scenario, path) {
            silent.push(sentence);
            results.push(None);
            continue;
        }
        let mut progress = Progress::new(&excerpt_path(path), arguments.quiet);
        let looked = kept.look(&scenario, &mut Watch { step: &mut |step: &Step| progress.step(step), stop: &stop });
        progress.finish();
        results.push(Some(named(looked?, path)));
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted(
                "stopped before all drives had answered; they are as they were".to_owned(),
            ));
        }
    }
    let answers: Vec<RunResult> = results.iter().flatten().cloned().collect();
    let page = arguments.out.as_ref().filter(|_| !answers.is_empty());
    if let Some(out) = page {
        write_text(out, others, &render(&answers))?;
    }
    if arguments.json {
        let of_drive = |(facts, result): (&show::Facts, &Option<RunResult>)| json!({ "drive": facts, "probe": result.as_ref().map(|result| &result.summary) });
        let told: Vec<serde_json::Value> = facts.iter().zip(&results).map(of_drive).collect();
        print_json(&told)?;
        return Ok(DONE);
    }
    let mut lines = vec![vec!["drive".to_owned()]];
    lines[0].extend(arguments.drives.iter().map(|path| excerpt_path(path)));
    let told: Vec<_> = facts.iter().map(show::compared).collect();
    for (row, (name, _)) in told[0].iter().enumerate() {
        let values = told.iter().map(|told| told[row].1.clone());
        lines.push(std::iter::once((*name).to_owned()).chain(values).collect());
    }
    lines.extend(served(&results));
    print(&columns(&lines))?;
    silent.iter().for_each(|sentence| tell(&format!("warning: {sentence}")));
    for (path, result) in arguments.drives.iter().zip(&results) {
        let name = excerpt_path(path);
        let warnings = result.iter().flat_map(|result| &result.summary.warnings);
        warnings.for_each(|warning| tell(&format!("warning: {name}: {warning}")));
    }
    match (&arguments.out, page) {
        (Some(_), Some(out)) => print(&format!("{}\n", out.display()))?,
        (Some(out), None) => tell(&format!("warning: {}: not written, as no drive answered", excerpt_path(out))),
        (None, _) => {}
    }
    Ok(if stop.load(Ordering::Relaxed) { INTERRUPTED } else { DONE })
}

/// The result under its drive's name. Drives of one scenario are not one run, and a page takes results of one scenario for one.
fn named(mut result: RunResult, path: &Path) -> RunResult {
    let told = path.display().to_string();
    if let Ok(mut table) = result.scenario_toml.parse::<toml::Table>() {
        table.insert("name".to_owned(), toml::Value::from(told.clone()));
        result.scenario_toml = table.to_string();
    }
    let scenario = &mut result.summary.scenario;
    scenario.name.clone_from(&told);
    scenario.hash = format!("{:016x}", Fnv::of(format!("{} {told}", scenario.hash).as_bytes()).get());
    result
}

/// Rows of latencies and rates.
fn served(results: &[Option<RunResult>]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (kind, is_read) in [("reads", true), ("writes", false)] {
        let figures = |result: &RunResult| {
            let latency = result.summary.latency.as_ref()?;
            let figures = if is_read { latency.read.as_ref() } else { latency.write.as_ref() }?;
            let throughput = result.summary.throughput?;
            let iops = if is_read { throughput.read.iops } else { throughput.write.iops };
            Some([
                plain(&duration(figures.times.p50_ns as f64)),
                plain(&duration(figures.times.p99_ns as f64)),
                format!("{iops:.0}"),
            ])
        };
        let all: Vec<Option<[String; 3]>> = results.iter().map(|result| figures(result.as_ref()?)).collect();
        if all.iter().all(Option::is_none) {
            continue;
        }
        for (column, name) in ["p50", "p99", "a second"].into_iter().enumerate() {
            let cell = |figures: &Option<[String; 3]>| {
                figures.as_ref().map_or_else(|| "-".to_owned(), |figures| figures[column].clone())
            };
            rows.push(std::iter::once(format!("{kind}, {name}")).chain(all.iter().map(cell)).collect());
        }
    }
    let failed = |result: &Option<RunResult>| Some(result.as_ref()?.summary.errors?.uncorrectable);
    if results.iter().any(|result| failed(result).is_some_and(|count| count > 0)) {
        let cell = |result| failed(result).map_or_else(|| "-".to_owned(), |count| count.to_string());
        rows.push(std::iter::once("page reads that failed".to_owned()).chain(results.iter().map(cell)).collect());
    }
    rows
}
