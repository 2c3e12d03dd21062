//! What the Python package does: words are handed over to it, or it is asked and answers.

use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitStatus, Stdio};

use wane_units::excerpt;

use crate::output::Failure;
use crate::{DONE, INTERNAL, INTERRUPTED, WRONG};

/// The variable that names another Python.
const PYTHON: &str = "WANE_PYTHON";

/// The Python that is asked otherwise.
const PYTHON_DEFAULT: &str = "python3";

/// The code by which `HAND_OVER` tells that the package is not there; none of the package's own.
const ABSENT: i32 = 97;

/// Runs the package's verbs. A package that lacks one of its own modules is another matter, and says so itself.
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

/// What came of asking the package.
pub(super) enum Answer {
    /// What it printed.
    Told(String),
    /// It is not there; a sentence says so.
    Absent(String),
    /// It ended without an answer, said why, and gave this exit code.
    Ended(i32),
}

/// Lets the package do what the words ask, on this command's own streams; gives its exit code. `who` needs it, in a sentence's beginning.
pub(super) fn hand_over(who: &str, words: &[OsString]) -> Result<i32, Failure> {
    let (python, mut command) = command(words);
    let ended = command.status().map_err(|error| Failure::wrong(cannot_run(who, &python, &error)))?;
    code(who, &python, ended).map_err(Failure::wrong)
}

/// Asks the package for what it prints.
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
    // -P: a folder here that is called wane is no package.
    command.args([OsStr::new("-P"), OsStr::new("-c"), OsStr::new(HAND_OVER)]).args(words);
    (excerpt(&python.to_string_lossy()).to_string(), command)
}

fn cannot_run(who: &str, python: &str, error: &std::io::Error) -> String {
    format!("{who} the Python package wane, and the Python {python} cannot be run: {error}; {PYTHON} names another one")
}

/// The exit code that the package's own comes to; a sentence where it is not there.
fn code(who: &str, python: &str, ended: ExitStatus) -> Result<i32, String> {
    match ended.code() {
        Some(ABSENT) => Err(format!(
            "{who} the Python package wane, which the Python {python} does not have: `pip install '.[fleet]'` in a checkout installs it, \
             and {PYTHON} names another Python"
        )),
        Some(code @ (DONE | WRONG | INTERNAL | INTERRUPTED)) => Ok(code),
        Some(_) => Ok(INTERNAL),
        // A signal ended it: the one that ends this command too, or one that only it was sent.
        None => Ok(INTERRUPTED),
    }
}
