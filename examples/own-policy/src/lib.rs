//! Code that the examples of policies share: one life of a small drive.

use std::sync::Arc;

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session;
use wane_results::Summary;
use wane_scenario::{Scenario, Sources};

/// Runs the scenario of a TOML text, with `overrides` in place of the policies that it names.
///
/// # Errors
/// The scenario is refused, or the run cannot begin.
pub fn life(toml: &str, overrides: &PolicyOverrides) -> Result<Summary, Box<dyn std::error::Error>> {
    let scenario = Scenario::resolve(&Sources { file: Some(("own-policy", toml)), ..Sources::default() })?;
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    Ok(session::execute(&scenario, overrides, &mut watch)?.summary)
}
