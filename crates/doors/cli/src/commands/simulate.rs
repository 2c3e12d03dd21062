//! `wane fleet simulate`: simulates a fleet of drives, and writes its records into a folder.

use std::fmt::Write as _;

use serde::Serialize;
use wane_twin::{EXAMPLE, Ended, Fleet, Job, Others, Told, TwinError, drives_of, json_schema, simulate as simulated};
use wane_units::excerpt_path;

use crate::args::fleet::SimulateArguments;
use crate::output::{Failure, print, print_json, read_text, tell};
use crate::progress::{Progress, stop_flag};
use crate::{DONE, INTERRUPTED};

impl From<TwinError> for Failure {
    fn from(error: TwinError) -> Self {
        match error {
            TwinError::Settings(error) => error.into(),
            other => Self::wrong(other),
        }
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Outcome<'a> {
    fleet: &'a str,
    drives: u32,
    rows: u64,
    failed: std::collections::BTreeMap<&'static str, u64>,
    whole: bool,
}

pub(crate) fn simulate(arguments: &SimulateArguments) -> Result<i32, Failure> {
    if arguments.example {
        print(EXAMPLE)?;
        return Ok(DONE);
    }
    if arguments.schema {
        print_json(json_schema())?;
        return Ok(DONE);
    }
    let text = arguments.file.as_deref().map(read_text).transpose()?;
    let file = arguments.file.as_deref().zip(text.as_ref()).map(|(path, (_, text))| (path, text.as_str()));
    let fleet = Fleet::read(file, &arguments.set)?;
    let drives = drives_of(&fleet, arguments.drives.as_deref())?;
    if arguments.dry_run {
        print(&in_words(&fleet, drives))?;
        return Ok(DONE);
    }
    let Some(out) = arguments.out.as_deref() else { unreachable!("the arguments ask for --out") };
    let threads =
        arguments.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let others = if arguments.force { Others::Replace } else { Others::Keep };
    let job = Job { out, drives, threads, others };
    let stop = stop_flag();
    let mut progress = Progress::new("fleet", arguments.quiet);
    let all = drives.1 - drives.0;
    let ended = simulated(&fleet, &job, &stop, &mut |done| {
        if progress.is_due() {
            progress.under_way(&format!("{done} of {all} drives"), f64::from(done) / f64::from(all));
        }
    });
    progress.finish();
    let (told, code) = match ended? {
        Ended::Whole(told) => (told, DONE),
        Ended::Already(told) => {
            tell(&format!("wane: {} holds these drives already", excerpt_path(out)));
            (told, DONE)
        }
        Ended::Stopped(drives) => {
            tell(&format!("wane: stopped; {drives} of {all} drives are done, and the same command goes on"));
            (Told { drives, ..Told::default() }, INTERRUPTED)
        }
    };
    if arguments.json {
        let Told { drives, rows, failed } = told;
        print_json(&Outcome { fleet: fleet.hash(), drives, rows, failed, whole: code == DONE })?;
    } else if code == DONE {
        let failed: u64 = told.failed.values().sum();
        let causes: Vec<String> = told.failed.iter().map(|(cause, count)| format!("{count} {cause}")).collect();
        let of = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
        print(&format!(
            "{} simulated drives, {} records, {failed} failed{of}: {}\n",
            told.drives,
            told.rows,
            excerpt_path(out)
        ))?;
    }
    Ok(code)
}

/// Returns the settings with every default, and what follows from them.
fn in_words(fleet: &Fleet, (first, end): (u32, u32)) -> String {
    let mut text = toml::to_string(fleet.settings()).expect("settings are TOML");
    let _ = writeln!(text, "\n# fleet: {}", fleet.hash());
    for (name, count, scale) in fleet.models() {
        let _ = writeln!(text, "# {name}: {count} drives; one simulated byte stands for {scale:.1} of a drive");
    }
    let fates = fleet.fates().iter().flatten().count();
    let _ = writeln!(
        text,
        "# drives {first}..{end}, at most {} records of all; {fates} drives die of other causes than wear",
        fleet.rows_max()
    );
    text
}
