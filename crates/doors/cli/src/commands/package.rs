//! Calls of the Python package: it takes over a command's words, or answers a question.

use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitStatus, Stdio};

use wane_units::excerpt;

use crate::output::Failure;
use crate::{DONE, INTERNAL, INTERRUPTED, WRONG};

/// The variable that names another Python.
const PYTHON: &str = "WANE_PYTHON";

/// The default Python.
const PYTHON_DEFAULT: &str = "python3";

/// Exit code by which `HAND_OVER` reports that the package is missing; the package itself does not use it.
const ABSENT: i32 = 97;

/// Runs the package's verbs. If the package lacks one of its own modules, it reports that itself.
const HAND_OVER: &str = "\
import sys
try:
    from wane.fleet.__main__ import main
except ModuleNotFoundError as error:
    if error.name not in ('wane', 'wane.fleet'):
        raise
    sys.exit(97)
sys.exit(main(sys.argv[1:]))
";

/// Outcome of asking the package.
pub(super) enum Answer {
    /// What it printed.
    Told(String),
    /// It is missing; a sentence says so.
    Absent(String),
    /// It ended without an answer, with this exit code, after it said why.
    Ended(i32),
}

/// Runs the package with these words, on this command's own streams; returns its exit code. `who` begins the message if it is missing, such as
/// "fleets need".
pub(super) fn hand_over(who: &str, words: &[OsString]) -> Result<i32, Failure> {
    let (python, mut command) = command(words);
    let ended = command.status().map_err(|error| Failure::wrong(cannot_run(who, &python, &error)))?;
    code(who, &python, ended).map_err(Failure::wrong)
}

/// Runs the package and returns what it prints.
pub(super) fn ask(who: &str, words: &[OsString]) -> Answer {
    let (python, mut command) = command(words);
    let output = match command.stderr(Stdio::inherit()).output() {
        Ok(output) => output,
        Err(error) => return Answer::Absent(cannot_run(who, &python, &error)),
    };
    match code(who, &python, output.status) {
        Ok(DONE) => Answer::Told(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(code) => Answer::Ended(code),
        Err(absent) => Answer::Absent(absent),
    }
}

fn command(words: &[OsString]) -> (String, Command) {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| OsString::from(PYTHON_DEFAULT));
    let mut command = Command::new(&python);
    // -P, so that a folder called wane here is not taken for the package.
    command.args([OsStr::new("-P"), OsStr::new("-c"), OsStr::new(HAND_OVER)]).args(words);
    (excerpt(&python.to_string_lossy()).to_string(), command)
}

fn cannot_run(who: &str, python: &str, error: &std::io::Error) -> String {
    format!("{who} the Python package wane, and the Python {python} cannot be run: {error}; {PYTHON} names another one")
}

/// Translates the package's exit code into this command's; returns a sentence if the package is missing.
fn code(who: &str, python: &str, ended: ExitStatus) -> Result<i32, String> {
    match ended.code() {
        Some(ABSENT) => Err(format!(
            "{who} the Python package wane, which the Python {python} does not have: `pip install '.[fleet]'` in a checkout installs it, \
             and {PYTHON} names another Python"
        )),
        Some(code @ (DONE | WRONG | INTERNAL | INTERRUPTED)) => Ok(code),
        Some(_) => Ok(INTERNAL),
        // A signal ended it: one that also ends this command, or one sent only to it.
        None => Ok(INTERRUPTED),
    }
}
