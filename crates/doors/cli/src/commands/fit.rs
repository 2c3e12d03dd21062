//! What makes a drive fit to be served: time, errors and their correction, recovery after a power cut.

use wane_nand::CellKind;
use wane_scenario::{Scenario, ScenarioError, Sources, endless};
use wane_ssd::Collection;

/// The age of data that error correction is made for, in days: three months, as enterprise drives must keep data without power (JESD218).
const DATA_DAYS: f64 = 90.0;

/// A key that a drive needs, what it is set to, and what it is like without.
struct Need {
    key: &'static str,
    value: String,
    without: &'static str,
}

/// What a drive needs to be fit, and has not.
fn needs(scenario: &Scenario) -> Vec<Need> {
    let need = |key, value: &str, without| Need { key, value: value.to_owned(), without };
    let mut needs = Vec::new();
    if !scenario.time.is_timed() {
        needs.push(need("time.scheduler", "\"event\"", "has no clock, so every request is answered at once"));
    }
    if scenario.medium.chip.is_none() {
        let chip = match scenario.medium.cell {
            Some(CellKind::Mlc) => "\"mlc-3xnm-2011\"",
            _ => "\"tlc-72l-2018\"",
        };
        needs.push(need("drive.chip", chip, "has no raw bit errors, so its reads never become slow"));
    }
    // Where collection takes no time, no power cut can be told (time.gc).
    let can_recover = scenario.time.gc != Collection::Free;
    if can_recover && !scenario.ftl.recovery_policy().acts() {
        needs.push(need("ftl.recovery", "\"checkpoint\"", "keeps nothing to recover by, so its power cannot be cut"));
    }
    needs
}

/// Wrong bits of a codeword that a drive of this chip and endurance would be made to correct: as many as its data have at its rated erases and the
/// age that they must reach, and twice the spread of that. What real drives correct is not published.
fn strength(scenario: &Scenario) -> Option<u32> {
    let (chip, ecc) = (scenario.medium.chip.as_ref()?, &scenario.medium.ecc);
    let rated = scenario.device.endurance?;
    if ecc.strength.is_some() {
        return None;
    }
    let wrong = chip.model.rber(f64::from(rated), DATA_DAYS, 0.0).min(0.1) * ecc.codeword.0 as f64 * 8.0;
    Some((wrong + 2.0 * wrong.sqrt()).ceil() as u32)
}

/// Adds to options what makes the drive of these sources fit.
///
/// # Errors
/// The sources make no drive.
pub(super) fn fitted<'a>(
    sources: &Sources<'_>,
    mut options: Vec<(&'a str, String)>,
) -> Result<Vec<(&'a str, String)>, ScenarioError> {
    let resolved = |options: &[(&str, String)]| endless(options, |options| Scenario::resolve_with(sources, options));
    for Need { key, value, .. } in needs(&resolved(&options)?) {
        options.push(("--for serve", format!("{key}={value}")));
    }
    if let Some(strength) = strength(&resolved(&options)?) {
        options.push(("--for serve", format!("drive.ecc.strength={strength}")));
    }
    Ok(options)
}

/// What a drive lacks to be served as a real one is, in sentences.
pub(super) fn lacks(scenario: &Scenario) -> Vec<String> {
    let needs = needs(scenario);
    let mut told: Vec<String> = needs.iter().map(|need| format!("the drive {} ({})", need.without, need.key)).collect();
    if !told.is_empty() {
        told.push("a drive made by `wane drive create NEW --for serve` lacks none of this".to_owned());
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_made_fit() {
        for name in wane_scenario::PRESETS.iter().map(|preset| preset.name) {
            let sources = Sources { preset: Some(name), ..Sources::default() };
            let options = fitted(&sources, Vec::new()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let scenario = endless(&options, |options| Scenario::resolve_with(&sources, options)).unwrap();
            assert_eq!(lacks(&scenario), Vec::<String>::new(), "{name}");
        }
    }
}
