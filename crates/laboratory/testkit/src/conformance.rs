//! The conformance suite of block devices: the rules of `wane-blockdev`, checked on any device.
//!
//! It runs a table of edge cases, then random sequences of requests, and compares them with a plain model. Each sequence runs
//! several times with the time cut differently. The model accepts failures as the device reports them and checks what follows
//! from them: devices that err pass, devices that lie do not. A device must refuse what it does not support. A device that keeps
//! no bytes is only spared the comparison of contents.

mod edges;
mod layer;
mod living;
mod model;
mod session;
mod steps;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use wane_blockdev::{BlockDevice, Living};

use session::{Cut, Session};
use steps::{Step, sequences};

/// Number of random sequences that [`block_device`] runs.
const CASES: u32 = 192;

/// Makes fresh, equal devices at the start of time: never written, nothing outstanding.
pub type Make<'a> = &'a dyn Fn() -> Box<dyn BlockDevice>;

/// Checks a block device against every rule. `name` appears in failures.
///
/// # Panics
/// A rule is broken. The message has the shortest sequence found that breaks it.
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
/// The broken rule, and the shortest sequence found that breaks it.
pub fn try_block_device(make: Make<'_>, cases: u32) -> Result<(), String> {
    // A panic of a device is reported like any other broken rule; proptest does the same below.
    let edges = catch_unwind(AssertUnwindSafe(|| edges::check(make)));
    edges.unwrap_or_else(|panic| Err(format!("it panicked: {}", message(panic.as_ref()))))?;
    on_random(cases, &sequences(), |steps| sequence(make, &steps))
}

/// Checks that a layer hands on what it does not change: requests and batches with their origin and tally, time that passes, the device's own work,
/// questions, and what becomes of operations when the power goes off. `wrap` puts it on a device of 2 MiB in memory.
///
/// # Panics
/// Something does not reach the device below. `name` appears in the message.
pub fn layer(name: &str, wrap: &dyn Fn(Box<dyn Living>) -> Box<dyn Living>) {
    if let Err(lost) = layer::check(wrap) {
        panic!("{name} is no layer: {lost}");
    }
}

/// Makes fresh, equal living devices, as [`Make`] does block devices.
pub type MakeLiving<'a> = &'a dyn Fn() -> Box<dyn Living>;

/// Checks a living device against every rule: those of block devices, and those of batches, copies, saving, power and passing
/// time. `is_plain`: it has neither clock nor errors nor work of its own, and never wants space back, so that a batch leaves what
/// requests leave. `cases`: random sequences for each rule.
///
/// # Panics
/// A rule is broken. The message has the shortest sequence found that breaks it.
pub fn living_device(name: &str, make: MakeLiving<'_>, is_plain: bool, cases: u32) {
    block_device_cases(name, &|| make(), cases);
    if let Err(broken) = try_life(make, is_plain, cases) {
        panic!("{name} is no living device: {broken}");
    }
}

/// Checks the rules of living devices alone, with the broken rule as a value.
///
/// # Errors
/// The broken rule, and the shortest sequence found that breaks it.
pub fn try_life(make: MakeLiving<'_>, is_plain: bool, cases: u32) -> Result<(), String> {
    living::check(make, is_plain, cases)
}

/// Runs a check on random inputs. A panic of a device is reported like any other broken rule.
fn on_random<S: Strategy>(
    cases: u32,
    inputs: &S,
    check: impl Fn(S::Value) -> Result<(), String>,
) -> Result<(), String> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let mut runner = TestRunner::new_with_rng(config, random);
    let run = runner.run(inputs, |input| check(input).map_err(TestCaseError::fail));
    run.map_err(|error| match error {
        TestError::Fail(why, input) => format!("{why}\nafter {input:#?}"),
        TestError::Abort(why) => why.to_string(),
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let literal = panic.downcast_ref::<&str>().copied();
    literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Runs one sequence with time cut in every way.
fn sequence(make: Make<'_>, steps: &[Step]) -> Result<(), String> {
    let session = Session::run(make(), steps, Cut::AsGiven)?;
    session.check_contents()?;
    for cut in [Cut::AsGiven, Cut::Never, Cut::Finely, Cut::AtBounds] {
        let again = Session::run(make(), steps, cut)?;
        session.check_equal(&again, cut)?;
    }
    Ok(())
}
