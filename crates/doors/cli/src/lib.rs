//! The `wane` command, as a library with a thin `main`.
//!
//! [`main`] takes the arguments and returns the exit code: 0 done, 1 a check differs, 2 the user's input is wrong,
//! 3 internal, 130 interrupted.

mod args;
mod commands;
mod complete;
mod output;
mod progress;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;

pub use args::command;
use args::{Arguments, Command};
pub use commands::cells::UnderWay;
pub use commands::grid::{GivenAxis, Grid};
pub use commands::run::{check_stdin, in_words, removed_in_words, seeds_from};
pub use commands::sweep::Swept;
use output::Failure;
pub use output::{escaped, panic_in_words};
pub use progress::Progress;

/// All went well.
pub const DONE: i32 = 0;
/// `reproduce --check` found a verdict that differs.
pub const DIFFERS: i32 = 1;
/// The user's input is wrong.
pub const WRONG: i32 = 2;
/// A bug.
pub const INTERNAL: i32 = 3;
/// Exit code: a test of an array got no answer, as `mdadm --detail --test` has it.
pub const NO_ANSWER: i32 = 4;
/// The user stopped it.
pub const INTERRUPTED: i32 = 130;

/// Runs the command and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    std::panic::set_hook(Box::new(|panic| {
        if wane_results::panic_is_caught() {
            return;
        }
        output::tell(&format!("wane: {}; please report it with the command you ran", panic_in_words(panic)));
    }));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match complete::answer(&arguments) {
        Ok(false) => {}
        Ok(true) => return DONE,
        Err(error) => {
            let _ = error.print();
            return WRONG;
        }
    }
    progress::survive_large_files();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(mut error) => {
            output::shorten(&mut error);
            let _ = error.print();
            return if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
                DONE
            } else {
                WRONG
            };
        }
    };
    match std::panic::catch_unwind(|| dispatch(arguments.command)) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => failure.report(),
        Err(_) => INTERNAL,
    }
}

/// Reads the name and the text of a scenario file, as every command does.
///
/// # Errors
/// It cannot be read, is too long, or is not text; one sentence.
pub fn read_scenario(path: &Path) -> Result<(String, String), String> {
    output::read_scenario(path).map_err(|failure| failure.to_string())
}

/// Returns the workload that a name or a file stands for, as in `wane drive age --workload`, and the folder to which its traces are relative.
///
/// # Errors
/// There is no workload of that name, or the file cannot be read; one sentence.
pub fn read_workload(given: &str) -> Result<(toml::Table, Option<PathBuf>), String> {
    commands::drive::workload_table(given).map_err(|failure| failure.to_string())
}

fn dispatch(command: Command) -> Result<i32, Failure> {
    // What keeps partial results takes a stop flag of its own.
    let keeps_nothing = match &command {
        Command::Trace(_)
        | Command::Rber(_)
        | Command::Report(_)
        | Command::Doctor(_)
        | Command::Array(_)
        | Command::Presets(_)
        | Command::Policies(_)
        | Command::Manual(_)
        | Command::Ctl(_) => true,
        Command::Estimate(arguments) => !arguments.run,
        Command::Run(arguments) => arguments.dry_run,
        Command::Drive(arguments) => !arguments.command.can_be_stopped(),
        _ => false,
    };
    if keeps_nothing {
        progress::end_at_once();
    }
    match command {
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Drive(arguments) => commands::drive::drive(&arguments),
        Command::Serve(arguments) => commands::serve::serve(&arguments),
        Command::Ctl(arguments) => commands::ctl::ctl(&arguments),
        #[cfg(target_os = "linux")]
        Command::Fs(arguments) => commands::fs::fs(&arguments),
        Command::Array(arguments) => commands::arrays::array(&arguments),
        Command::Doctor(arguments) => commands::doctor::doctor(&arguments),
        Command::Fleet(arguments) => commands::fleet::fleet(&arguments),
        Command::Actor(arguments) => commands::actor::actor(&arguments),
        Command::Estimate(arguments) => commands::estimate::estimate(&arguments),
        Command::Tradeoff(arguments) => commands::tradeoff::tradeoff(&arguments),
        Command::Reproduce(arguments) => commands::reproduce::reproduce(&arguments),
        Command::Demo(arguments) => commands::demo::demo(&arguments),
        Command::Presets(arguments) => commands::lists::presets(&arguments),
        Command::Policies(arguments) => commands::lists::policies(&arguments),
        Command::Trace(arguments) => commands::trace::trace(&arguments),
        Command::Rber(arguments) => commands::rber::rber(&arguments),
        Command::Report(arguments) => commands::report::report(&arguments),
        Command::Manual(arguments) => commands::lists::manual(&arguments),
        Command::Completions { shell } => commands::lists::completions(shell),
        Command::Man(arguments) => commands::man::man(&arguments),
        Command::Checkpoint { drive, up_to } => commands::serve::checkpoint(&drive, &up_to),
    }
}
