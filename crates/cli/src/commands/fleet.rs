//! `wane fleet`: hands over to the Python package, which does the work, but of the verb that is native.

use std::ffi::OsString;
use std::process::Command;

use wane_units::excerpt;

use super::simulate::simulate;
use crate::args::fleet::{FleetArguments, FleetVerb};
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

pub(crate) fn fleet(arguments: &FleetArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        FleetVerb::Simulate(arguments) => simulate(arguments),
        FleetVerb::Package(words) => package(words),
    }
}

fn package(words: &[OsString]) -> Result<i32, Failure> {
    let python = std::env::var_os(PYTHON).unwrap_or_else(|| OsString::from(PYTHON_DEFAULT));
    let name = excerpt(&python.to_string_lossy()).to_string();
    // -P: a folder here that is called wane is no package.
    let ended = Command::new(&python).args(["-P", "-c", HAND_OVER]).args(words).status();
    let ended = ended.map_err(|error| {
        Failure::wrong(format!(
            "fleets need the Python package wane, and the Python {name} cannot be run: {error}; {PYTHON} names another one"
        ))
    })?;
    match ended.code() {
        Some(ABSENT) => Err(Failure::wrong(format!(
            "fleets need the Python package wane, which the Python {name} does not have: `pip install '.[fleet]'` in a checkout installs it, \
             and {PYTHON} names another Python"
        ))),
        Some(code @ (DONE | WRONG | INTERNAL | INTERRUPTED)) => Ok(code),
        Some(_) => Ok(INTERNAL),
        // A signal ended it: the one that ends this command too, or one that only it was sent.
        None => Ok(INTERRUPTED),
    }
}
