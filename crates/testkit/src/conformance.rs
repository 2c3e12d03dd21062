//! The conformance suite of block devices: the rules of `wane-blockdev`, checked on any device.
//!
//! One table of edge cases, then random sequences of requests, each run several times with the time cut differently, against
//! a plain model. The model takes failures as the device reports them and holds the device to what follows from them, so that
//! devices that err pass too; devices that lie do not. What a device does not support it must refuse; a device that keeps
//! no bytes is spared the comparison of contents alone.

mod edges;
mod model;
mod session;
mod steps;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use wane_blockdev::BlockDevice;

use session::{Cut, Session};
use steps::{Step, sequences};

/// Random sequences that [`block_device`] runs.
const CASES: u32 = 192;

/// Makes one fresh device after the other, all equal, at the start of time: never written, nothing outstanding.
pub type Make<'a> = &'a dyn Fn() -> Box<dyn BlockDevice>;

/// Checks a block device against every rule. `name` appears in failures.
///
/// # Panics
/// A rule is broken: the message has the shortest sequence found that breaks it.
pub fn block_device(name: &str, make: Make<'_>) {
    block_device_cases(name, make, CASES);
}

/// As [`block_device`], with another number of random sequences, for slow devices.
///
/// # Panics
/// As [`block_device`].
pub fn block_device_cases(name: &str, make: Make<'_>, cases: u32) {
    if let Err(broken) = try_block_device(make, cases) {
        panic!("{name} is no block device: {broken}");
    }
}

/// As [`block_device_cases`], with the broken rule as a value.
///
/// # Errors
/// What was broken, and the shortest sequence found that breaks it.
pub fn try_block_device(make: Make<'_>, cases: u32) -> Result<(), String> {
    // A device that panics is told like any other that breaks a rule; proptest does the same below.
    let edges = catch_unwind(AssertUnwindSafe(|| edges::check(make)));
    edges.unwrap_or_else(|panic| Err(format!("it panicked: {}", message(panic.as_ref()))))?;
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let mut runner = TestRunner::new_with_rng(config, random);
    let run = runner.run(&sequences(), |steps| sequence(make, &steps).map_err(TestCaseError::fail));
    run.map_err(|error| match error {
        TestError::Fail(why, steps) => format!("{why}\nafter {steps:#?}"),
        TestError::Abort(why) => why.to_string(),
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// One sequence, run with time cut in every way.
fn sequence(make: Make<'_>, steps: &[Step]) -> Result<(), String> {
    let session = Session::run(make(), steps, Cut::AsGiven)?;
    session.check_contents()?;
    for cut in [Cut::AsGiven, Cut::Never, Cut::Finely, Cut::AtBounds] {
        let again = Session::run(make(), steps, cut)?;
        session.check_equal(&again, cut)?;
    }
    Ok(())
}
