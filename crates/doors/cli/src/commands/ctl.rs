//! `wane ctl`: control of a served drive.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use wane_serve::{Control, ControlError};

use crate::args::serve::{CtlArguments, CtlCommand};
use crate::output::{Failure, columns, pretty, print};
use crate::{DIFFERS, DONE, INTERRUPTED, NO_ANSWER};

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        Self::wrong(error)
    }
}

/// An object of what is given.
fn object<const N: usize>(given: [(&str, Value); N]) -> Value {
    let given = given.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(given.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

/// The name that clap gives a value.
fn name(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

pub(crate) fn ctl(arguments: &CtlArguments) -> Result<i32, Failure> {
    crate::progress::end_at_once();
    let is_test = matches!(arguments.command, CtlCommand::Status { test: true });
    let control = match found(&arguments.drive) {
        Err(failure) if is_test => {
            failure.report();
            return Ok(NO_ANSWER);
        }
        found => found?,
    };
    let (asked, body) = match &arguments.command {
        CtlCommand::Status { test: true } => return Ok(tested(&control)),
        CtlCommand::Status { test: false } => ("status", None),
        CtlCommand::Smart => ("smart", None),
        CtlCommand::Latency { clear, json } => return latency(&control, *clear, *json),
        CtlCommand::Faults => ("faults", None),
        CtlCommand::Age { until, days, fast_forward, most } => {
            let given = [
                ("until", json!(until)),
                ("days", json!(days)),
                ("fast-forward", json!(fast_forward)),
                ("most", json!(most)),
            ];
            ("age", Some(object(given)))
        }
        CtlCommand::Cancel => ("cancel", Some(json!({}))),
        CtlCommand::Rest { time } => ("rest", Some(json!({ "for": time }))),
        CtlCommand::Set { speed, retirement_threshold, degraded, read_recovery, capacity, mapped_limit } => {
            // A number is sent as one.
            let recovery =
                read_recovery.as_ref().map(|most| most.parse::<u32>().map_or_else(|_| json!(most), |most| json!(most)));
            let given = [
                ("speed", json!(speed)),
                ("retirement-threshold", json!(retirement_threshold)),
                ("degraded", json!(degraded)),
                ("read-recovery", json!(recovery)),
                ("capacity", json!(capacity)),
                ("mapped-limit", json!(mapped_limit)),
            ];
            ("set", Some(object(given)))
        }
        CtlCommand::Inject { .. } => ("inject", Some(injected(&arguments.command))),
        CtlCommand::ClearFaults { fault } => ("clear-faults", Some(object([("fault", json!(fault))]))),
        CtlCommand::PowerCut { torn, seed, take_out } => {
            ("power-cut", Some(json!({ "torn": torn, "seed": seed, "take-out": take_out })))
        }
        CtlCommand::PowerOn => ("power-on", Some(json!({}))),
        CtlCommand::TakeOut { member, force } => of_mirror("take-out", Some((*member, *force))),
        CtlCommand::PutBack { member } => of_mirror("put-back", Some((*member, false))),
        CtlCommand::Replace { member, force } => of_mirror("replace", Some((*member, *force))),
        CtlCommand::Scrub => of_mirror("scrub", None),
        CtlCommand::Events { count } => return events(&control, *count),
        CtlCommand::Metrics => {
            print(&control.metrics()?)?;
            return Ok(DONE);
        }
        CtlCommand::Save => ("save", Some(json!({}))),
        CtlCommand::Checkpoint => ("checkpoint", Some(json!({}))),
        CtlCommand::Fork { name, serve } => ("fork", Some(json!({ "name": name, "serve": serve }))),
        CtlCommand::Drives => ("drives", None),
        CtlCommand::Serve { other } => ("drives", Some(json!({ "path": absolute(other)? }))),
        CtlCommand::Withdraw => ("withdraw", Some(json!({}))),
        CtlCommand::Stop => ("stop", Some(json!({}))),
    };
    let told = control.ask(asked, body.as_ref())?;
    print(&pretty(&told)?)?;
    Ok(match told["reached"].as_str() {
        Some("died") => DIFFERS,
        Some("interrupted") => INTERRUPTED,
        _ => DONE,
    })
}

/// Tells how safe a served array is. Returns the exit code.
fn tested(control: &Control) -> i32 {
    let told = || -> Result<i32, Failure> {
        let told = control.ask("status", None)?;
        let array = &told["array"];
        let Some((sentence, code)) = array["told"].as_str().zip(array["test"].as_i64()) else {
            return Err(Failure::wrong("is no array, or has no power: nothing is known of its drives"));
        };
        print(&format!("{}: {sentence}\n", told["drive"].as_str().unwrap_or("the array")))?;
        Ok(i32::try_from(code).unwrap_or(NO_ANSWER))
    };
    told().unwrap_or_else(|failure| match failure.report() {
        DONE => DONE,
        _ => NO_ANSWER,
    })
}

/// What is done to an array, or to a drive of it, although that has the only copy of something.
fn of_mirror(name: &'static str, of: Option<(u32, bool)>) -> (&'static str, Option<Value>) {
    (name, Some(of.map_or_else(|| json!({}), |(member, force)| json!({ "member": member, "force": force }))))
}

/// What shall break.
fn injected(command: &CtlCommand) -> Value {
    let CtlCommand::Inject { fault, at, length, die, member, kinds, count, rate, seed, by } = command else {
        return Value::Null;
    };
    let kinds: Vec<String> = kinds.iter().map(name).collect();
    object([
        ("fault", json!(name(fault))),
        ("at", json!(at)),
        ("length", json!(length)),
        ("die", json!(die)),
        ("member", json!(member)),
        ("kinds", json!(kinds)),
        ("count", json!(count)),
        ("rate", json!(rate)),
        ("seed", json!(seed)),
        ("by", json!(by)),
    ])
}

/// What requests took, as a table or as JSON; if `clear`, figures start anew afterwards.
fn latency(control: &Control, clear: bool, json: bool) -> Result<i32, Failure> {
    let told = control.ask("latency", None)?;
    if clear {
        control.ask("clear-latency", Some(&json!({})))?;
    }
    print(&if json { pretty(&told)? } else { latencies(&told) })?;
    Ok(DONE)
}

/// Figures of latencies, in the order in which they are told.
const FIGURES: [&str; 6] = ["mean", "p50", "p95", "p99", "p99.9", "max"];

/// Latencies as a table: a line for each kind of request, and one below it by how much later they were answered.
fn latencies(told: &Value) -> String {
    let kinds = told["kinds"].as_object().into_iter().flatten();
    let head = ["", "requests"].into_iter().chain(FIGURES).map(str::to_owned).collect();
    let (mut rows, mut is_marked): (Vec<Vec<String>>, bool) = (vec![head], false);
    for (kind, of) in kinds {
        let marked = |name: &str| of["lag_above_a_tenth"].as_array().is_some_and(|all| all.contains(&json!(name)));
        let row = |first: [String; 2], figures: &Value, with_marks: bool| -> Vec<String> {
            let figure = |name: &str| {
                let mark = if with_marks && marked(name) { " *" } else { "" };
                let time = figures[name].as_f64().map(|us| wane_report::plain(&wane_report::duration(us * 1e3)));
                format!("{}{mark}", time.unwrap_or_else(|| "-".to_owned()))
            };
            first.into_iter().chain(FIGURES.map(figure)).collect()
        };
        let count = of["requests"].as_u64().unwrap_or(0) as f64;
        rows.push(row([kind.clone(), wane_report::counted(count)], &of["latency_us"], true));
        if of["lag_us"].is_object() {
            rows.push(row(["  lag".to_owned(), String::new()], &of["lag_us"], false));
            is_marked |= FIGURES.into_iter().any(marked);
        }
    }
    let speed = told["speed"].as_str().unwrap_or_default();
    let mut text = match rows.len() {
        1 => format!("no requests yet, at speed {speed}\n"),
        _ => format!("time of the drive, at speed {speed}; lag is real time\n\n{}", columns(&rows)),
    };
    if is_marked {
        text += "\n* more than a tenth of it is lag: this machine is too slow for the figure\n";
    }
    text
}

/// A path as the server finds it, whose working directory is another.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| {
        Failure::wrong(format!("{}: {}", wane_units::excerpt_path(path), wane_units::why_unwritten(&error)))
    })
}

/// How long, and how often, a server that is just starting is waited for.
const WAITS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(150);

/// The control of what is at a path. A drive's folder may be served in a moment.
fn found(path: &Path) -> Result<Control, Failure> {
    for _ in 0..WAITS {
        match Control::of(path) {
            Err(_) if path.join("drive.json").exists() => std::thread::sleep(PAUSE),
            found => return Ok(found?),
        }
    }
    Ok(Control::of(path)?)
}

/// Prints events as they come.
fn events(control: &Control, count: Option<u64>) -> Result<i32, Failure> {
    let (mut left, mut failed) = (count.unwrap_or(u64::MAX), None);
    control.events(&mut |line| {
        failed = print(&format!("{line}\n")).err();
        left = left.saturating_sub(1);
        left > 0 && failed.is_none()
    })?;
    failed.map_or(Ok(DONE), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_a_table_that_marks_what_is_lag() {
        let times = |scale: f64| json!({ "mean": 2.0 * scale, "p50": scale, "p95": scale, "p99": 3.0 * scale, "p99.9": scale, "max": 9.0 * scale });
        let read = json!({ "requests": 12_000, "latency_us": times(103.0), "lag_us": times(5.0), "lag_above_a_tenth": ["p99"] });
        let told = latencies(
            &json!({ "speed": "1x", "kinds": { "flush": { "requests": 3, "latency_us": times(0.001) }, "read": read } }),
        );
        let lines: Vec<Vec<&str>> = told
            .lines()
            .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
            .collect();
        assert_eq!(lines[2], ["requests", "mean", "p50", "p95", "p99", "p99.9", "max"], "{told}");
        assert_eq!(lines[3], ["flush", "3", "2 ns", "1 ns", "1 ns", "3 ns", "1 ns", "9 ns"], "{told}");
        assert_eq!(
            lines[4],
            ["read", "12,000", "206 us", "103 us", "103 us", "309 us *", "103 us", "927 us"],
            "{told}"
        );
        assert_eq!(lines[5], ["lag", "10 us", "5 us", "5 us", "15 us", "5 us", "45 us"], "{told}");
        assert!(told.ends_with("this machine is too slow for the figure\n") && !told.contains('{'), "{told}");
        assert_eq!(latencies(&json!({ "speed": "max", "kinds": {} })), "no requests yet, at speed max\n");
    }
}
