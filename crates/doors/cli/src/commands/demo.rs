//! `wane demo`: one drive with three lives under a recorded database trace.

use std::fmt::Write as _;
use std::path::Path;

use wane_lab::session::{self, Members, Others};
use wane_report::{self as report, plain, traffic};
use wane_results::{Folder, MadeBy, REPORT, RunResult, TRACE_COPY};
use wane_scenario::{Scenario, Sources, Workload};

use super::run::{tell_removed, watched};
use crate::args::DemoArguments;
use crate::output::{Failure, print};
use crate::progress::{remove_at_exit, stop_flag};
use crate::{DONE, INTERRUPTED};

/// The recorded trace, shipped in the program.
const TRACE: &[u8] = include_bytes!("../../../../../assets/traces/pgbench-ext4.iolog.zst");

/// The drive and its workload; the three lives differ in two keys.
const SCENARIO: &str = include_str!("../../../../../assets/demo.toml");

/// Folder and name of each life, and the keys that distinguish it.
const LIVES: [(&str, &str, &[&str]); 3] = [
    ("fixed", "fixed capacity", &[]),
    ("fixed-wear-leveling", "fixed capacity, wear leveling", &["ftl.wear-leveling.policy=pwl"]),
    ("variant", "variant capacity", &["ftl.capacity={ policy = \"variant\", shrink = \"graceful\" }"]),
];

pub(crate) fn demo(arguments: &DemoArguments) -> Result<i32, Failure> {
    let stop = stop_flag();
    let out = Folder::claim(&arguments.out).map_err(Failure::wrong)?;
    remove_at_exit(&out.traces());
    let trace = out.stage(TRACE_COPY, TRACE).map_err(Failure::wrong)?;
    let lives: Vec<Scenario> =
        LIVES.iter().map(|(_, name, set)| life(name, set, &trace)).collect::<Result<_, Failure>>()?;
    let named: Vec<(String, &Scenario)> =
        LIVES.iter().zip(&lives).map(|((folder, ..), life)| ((*folder).to_owned(), life)).collect();
    let mut members = Members::begin(out, MadeBy::Demo, &named, Others::Kept, &stop).map_err(Failure::wrong)?;
    let mut results = Vec::new();
    for (number, scenario) in lives.iter().enumerate() {
        if number == 0 {
            print(&head(scenario))?;
        }
        let mut result = watched(scenario, arguments.quiet, &stop)?;
        // Results may be moved together: the trace lies beside the folder of the run.
        result.scenario_toml = result.scenario_toml.replace(&trace.display().to_string(), &format!("../{TRACE_COPY}"));
        members.write(number, scenario, &result).map_err(Failure::wrong)?;
        let interrupted = session::interrupted(&result);
        results.push(result);
        if interrupted {
            break;
        }
    }
    let page = report::render(&results);
    let files = [(TRACE_COPY, TRACE.to_vec()), (REPORT, page.into_bytes())];
    if results.iter().any(session::interrupted) {
        members.note_interrupted();
    }
    let removed = members.finish(&files).map_err(Failure::wrong)?;
    tell_removed(members.folder(), &removed);
    print(&format!("{}\nreport: {}\n", side_by_side(&results), arguments.out.join(REPORT).display()))?;
    Ok(if results.iter().any(session::interrupted) { INTERRUPTED } else { DONE })
}

fn life(name: &str, set: &[&str], trace: &Path) -> Result<Scenario, Failure> {
    let set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
    let mut scenario = Scenario::resolve(&Sources { preset: None, file: Some(("demo.toml", SCENARIO)), set: &set })?;
    name.clone_into(&mut scenario.name);
    for phase in &mut scenario.phases {
        if let Workload::Trace(spec) = &mut phase.workload {
            spec.path = trace.to_path_buf();
        }
    }
    Ok(scenario)
}

fn head(scenario: &Scenario) -> String {
    let device = &scenario.device;
    format!(
        "One drive of {} ({} rated P/E cycles, {:.0} % spare), aged to its end under a recorded PostgreSQL trace, three times.\n",
        wane_units::Bytes(device.logical_bytes()),
        device.endurance.unwrap_or(0),
        100.0 * device.spare_factor
    )
}

fn side_by_side(results: &[RunResult]) -> String {
    let mut text = String::new();
    let mut row = |name: &str, cell: &dyn Fn(&RunResult) -> String| {
        let _ = write!(text, "{name:<24}");
        for result in results {
            let _ = write!(text, "{:>30}", cell(result));
        }
        text.push('\n');
    };
    let number = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| format!("{value:.2}"));
    row("", &|result| result.summary.scenario.name.clone());
    row("drive writes", &|result| format!("{:.1}", result.summary.end.at_drive_writes));
    row("data written", &|result| plain(&traffic(result.summary.host.bytes_written as f64)));
    row("write amplification", &|result| number(result.summary.write_amplification.total));
    row("mean erases of a block", &|result| format!("{:.0}", result.summary.wear.erase_count.mean));
    row("spread (sd)", &|result| format!("{:.1}", result.summary.wear.erase_count.sd));
    row("end", &|result| {
        result.summary.end.cause.map_or(result.summary.end.reason.name(), |cause| cause.name()).to_owned()
    });
    row("exported at the end", &|result| wane_units::Bytes(result.summary.capacity.logical_bytes_exported).to_string());
    text
}
