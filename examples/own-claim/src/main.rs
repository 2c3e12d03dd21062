//! Compares a published number with a run: first-in first-out cleaning under uniform writes has a closed form.
//!
//! Run it with `cargo run -p own-claim`; it exits with 1 if the number is not reproduced.

use std::process::ExitCode;
use std::sync::Arc;

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session;
use wane_scenario::{Scenario, Sources};

// ANCHOR: claim
/// The run: a drive with 20 % spare, aged until its write amplification is steady, then measured.
const SCENARIO: &str = "
[drive]
preset = 'tiny'
logical-capacity = '256 MiB'
spare-factor = '20 %'
[ftl]
gc = 'fifo'
retire = 'never'
[precondition]
random-drive-writes = 4
[workload]
pattern = 'uniform'
[until]
drive-writes = 4
";

/// How far ours may be from the published number. It is fixed before the first run, and never widened to fit.
const TOLERANCE: f64 = 0.05;

/// Our number and the published one (Desnoyers 2014, equation for LRU cleaning).
fn evaluate() -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let scenario = Scenario::resolve(&Sources { file: Some(("own-claim", SCENARIO)), ..Sources::default() })?;
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    let summary = session::execute(&scenario, &PolicyOverrides::default(), &mut watch)?.summary;
    let ours = summary.write_amplification.total.ok_or("the run wrote nothing")?;
    let device = &scenario.device;
    let paper = wane_theory::lru_write_amplification(device.physical_units() as f64 / f64::from(device.logical_units));
    Ok((ours, paper))
}

fn agrees(ours: f64, paper: f64) -> bool {
    (ours / paper - 1.0).abs() <= TOLERANCE
}
// ANCHOR_END: claim

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let (ours, paper) = evaluate()?;
    let verdict = if agrees(ours, paper) { "agrees" } else { "differs" };
    println!("paper {paper:.3}, ours {ours:.3}: {verdict}");
    Ok(if agrees(ours, paper) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    // ANCHOR: test
    #[test]
    fn the_closed_form_comes_out() -> Result<(), Box<dyn std::error::Error>> {
        let (ours, paper) = evaluate()?;
        assert!(agrees(ours, paper), "ours {ours}, paper {paper}");
        Ok(())
    }

    #[test]
    fn a_number_beyond_the_tolerance_differs() {
        let table = [(5.0, 5.0, true), (5.24, 5.0, true), (5.26, 5.0, false), (4.74, 5.0, false)];
        for (ours, paper, want) in table {
            assert_eq!(agrees(ours, paper), want, "{ours} against {paper}");
        }
    }
    // ANCHOR_END: test
}
