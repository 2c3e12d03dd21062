//! What makes a drive fit to be served: time, errors and their correction, recovery after a power cut.

use wane_ftl::RECOVERY_RESERVE;
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

/// The chips that drives get which have none.
const TLC: &str = "\"tlc-72l-2018\"";
const MLC: &str = "\"mlc-3xnm-2011\"";

fn chip_of(scenario: &Scenario) -> &'static str {
    if scenario.medium.cell == Some(CellKind::Mlc) { MLC } else { TLC }
}

/// What a drive needs to be fit, and has not.
fn needs(scenario: &Scenario) -> Vec<Need> {
    let need = |key, value: &str, without| Need { key, value: value.to_owned(), without };
    let mut needs = Vec::new();
    if !scenario.time.is_timed() {
        needs.push(need("time.scheduler", "\"event\"", "has no clock, so every request is answered at once"));
    }
    if scenario.medium.chip.is_none() {
        needs.push(need("drive.chip", chip_of(scenario), "has no raw bit errors, so its reads never become slow"));
    }
    // Where collection takes no time, no power cut can be told (time.gc).
    let can_recover = scenario.time.gc != Collection::Free;
    if can_recover && !scenario.ftl.recovery.policy().acts() {
        needs.push(need("ftl.recovery", "\"checkpoint\"", "keeps nothing to recover by, so its power cannot be cut"));
        if scenario.ftl.gc_reserve < RECOVERY_RESERVE {
            let without = "keeps too few free blocks to recover by anything";
            needs.push(need("ftl.gc-reserve", &RECOVERY_RESERVE.to_string(), without));
        }
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
    let says_chip = |text: &str| text.contains("chip");
    let is_chosen =
        sources.set.iter().any(|set| says_chip(set)) || sources.file.is_some_and(|(_, text)| says_chip(text));
    let made = match resolved(&options) {
        // A key of time or of errors means nothing without the clock or the chip that is about to be added.
        Err(error) => {
            let clock = || ("--for serve", "time.scheduler=\"event\"".to_owned());
            let chip = |chip: &str| ("--for serve", format!("drive.chip={chip}"));
            let with = |has_clock: bool, of: Option<&str>| {
                let added = has_clock.then(clock).into_iter().chain(of.map(chip));
                options.iter().cloned().chain(added).collect::<Vec<_>>()
            };
            let attempts = [(true, None), (false, Some(TLC)), (true, Some(TLC))];
            let mut attempts = attempts.into_iter().filter(|(_, of)| of.is_none() || !is_chosen);
            let found = attempts.find_map(|(clock, of)| Some((resolved(&with(clock, of)).ok()?, clock, of.is_some())));
            let Some((made, has_clock, has_chip)) = found else { return Err(error) };
            options = with(has_clock, has_chip.then(|| chip_of(&made)));
            made
        }
        made => made?,
    };
    for Need { key, value, .. } in needs(&made) {
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

    #[test]
    fn keys_of_time_and_of_errors_go_with_what_is_added() {
        let set = ["drive.ecc.disturb-count=by-page".to_owned()];
        for (preset, chip) in [("qlc-client-2t", "tlc-72l-2018"), ("sata-emlc-240g", "mlc-3xnm-2011")] {
            let sources = Sources { preset: Some(preset), set: &set, ..Sources::default() };
            let options = fitted(&sources, Vec::new()).unwrap_or_else(|error| panic!("{preset}: {error}"));
            let scenario = endless(&options, |options| Scenario::resolve_with(&sources, options)).unwrap();
            assert_eq!(scenario.medium.chip.map(|chip| chip.name), Some(chip.to_owned()));
        }
        let set = ["time.gc=free".to_owned(), "drive.ecc.disturb-count=by-page".to_owned()];
        let sources = Sources { preset: Some("qlc-client-2t"), set: &set, ..Sources::default() };
        let options = fitted(&sources, Vec::new()).unwrap_or_else(|error| panic!("{error}"));
        let scenario = endless(&options, |options| Scenario::resolve_with(&sources, options)).unwrap();
        assert_eq!((scenario.time.gc, lacks(&scenario)), (Collection::Free, Vec::new()));
        let wrong = ["drive.ecc.disturb-count=by-wordline".to_owned()];
        let sources = Sources { preset: Some("tiny"), set: &wrong, ..Sources::default() };
        assert!(fitted(&sources, Vec::new()).unwrap_err().to_string().contains("by-wordline"));
    }
}
