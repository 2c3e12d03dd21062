//! What no measurement backs: errors of a chip beyond the data of its source, and an error correction that nothing stops.
//!
//! Every command that answers from a chip's errors says so by these sentences.

use wane_nand::{Draws, Ecc};
use wane_results::EXTRAPOLATED;
use wane_scenario::{ChipSpec, Scenario};
use wane_ssd::Drive;
use wane_units::BlockId;

use crate::build;

/// Factor by which values may exceed a chip's data without a warning, since they would be printed like the limit itself.
const BEYOND: f64 = 1.001;

/// Share of the data from which on it is told that a limit of re-reads would lose them.
const LOST_TOLD: f64 = 1e-3;

/// What the blocks of a drive went through.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// P/E cycles, the least and the most.
    pub(crate) cycles: (f64, f64),
    /// Most days since data were written, at the temperature of the chip's days.
    pub(crate) days: f64,
    /// How these days are counted, if not by the calendar alone.
    pub(crate) warmth: Option<String>,
    /// Most reads of a block.
    pub(crate) reads: u32,
}

/// A sentence if a chip's errors are extrapolated beyond its data.
pub(crate) fn extrapolated(chip: &ChipSpec, seen: &Seen) -> Option<String> {
    let days = format!("days since data was written{}", seen.warmth.as_deref().unwrap_or_default());
    let found = [
        ("P/E cycles", seen.cycles.0, seen.cycles.1, chip.ranges.cycles),
        (&*days, 0.0, seen.days, chip.ranges.days),
        ("reads of a block", 0.0, f64::from(seen.reads), chip.ranges.reads),
    ];
    let beyond = found.iter().filter(|(_, least, most, range)| *least < range.0 || *most > range.1 * BEYOND);
    let told: Vec<String> = beyond
        .map(|(name, _, most, range)| format!("{name} (up to {most:.0}; the source has {} to {})", range.0, range.1))
        .collect();
    let name = if chip.name == ChipSpec::OWN { "the scenario's own chip" } else { &chip.name };
    (!told.is_empty()).then(|| format!("the errors of {name} {EXTRAPOLATED} {}", told.join(", ")))
}

/// Flash blocks that hold data, each with the share of it that is valid.
fn blocks_with_data(drive: &Drive) -> impl Iterator<Item = (BlockId, f64)> + '_ {
    let layout = drive.layout();
    BlockId::all(0..drive.geometry().blocks()).filter_map(move |block| {
        let valid = drive.valid(layout.holder(block));
        (valid > 0).then(|| (block, f64::from(valid) / f64::from(layout.width())))
    })
}

/// What a reader should know of an answer of a drive as it is now.
pub(crate) fn of_drive(scenario: &Scenario, drive: &Drive) -> Vec<String> {
    let (lay, _) = drive.unpowered();
    let Some(chip) = &scenario.medium.chip else {
        let idle = "its flash never errs, as drive.chip is \"none\": days without power do nothing to its data";
        return if lay > 0.0 { vec![idle.to_owned()] } else { Vec::new() };
    };
    let erases = drive.erase_counts();
    let (least, most) = (erases.iter().min().copied().unwrap_or(0), erases.iter().max().copied().unwrap_or(0));
    let aged = |(block, _): (BlockId, f64)| drive.data_age(block);
    let retention = &scenario.medium.retention;
    let is_warm = (drive.data_days() - drive.day()).abs() > 1e-6 * drive.day() || retention.rate() != 1.0;
    let warmth = || {
        format!(
            ", as at {} °C by Arrhenius' law with {} eV, which the source did not measure",
            retention.reference, retention.activation_energy
        )
    };
    let seen = Seen {
        cycles: (f64::from(least), f64::from(most)),
        days: blocks_with_data(drive).map(aged).fold(0.0, f64::max) * retention.rate(),
        warmth: is_warm.then(warmth),
        reads: (0..drive.geometry().blocks()).map(|block| drive.health(BlockId(block)).reads).max().unwrap_or(0),
    };
    let beyond = extrapolated(chip, &seen);
    let is_old = beyond.is_some() || lay > 0.0;
    let corrects = match build::errors(scenario).map(|errors| errors.ecc) {
        Some(ecc) if ecc.strength.is_none() => is_old.then(|| {
            "every error is corrected at once, as drive.ecc.strength is \"none\": no read of it fails, however old its data are".to_owned()
        }),
        Some(ecc) if ecc.rereads_max.is_none() => endless(scenario, chip, &ecc, drive),
        _ => None,
    };
    beyond.into_iter().chain(corrects).collect()
}

/// A sentence if a drive re-reads as often as it takes, and a limit would cost it data.
fn endless(scenario: &Scenario, chip: &ChipSpec, ecc: &Ecc, drive: &Drive) -> Option<String> {
    let rate = scenario.medium.retention.rate();
    let (mut data, mut rereads, mut lost) = (0.0, 0.0, 0.0);
    let limited = Ecc { rereads_max: Some(1), ..*ecc };
    for (block, valid) in blocks_with_data(drive) {
        let cycles = drive.erase_counts()[block.index()];
        let flash = drive.flash().and_then(|flash| Some((flash.cells()?, flash.data_days())));
        let rber = match flash {
            Some((cells, days)) => cells.rber(block, 0, days),
            None => chip.model.rber(f64::from(cycles), drive.data_age(block) * rate, 0.0).min(1.0),
        };
        let needed = match ecc.draws {
            Draws::Table => ecc.rereads_by_table(cycles),
            Draws::Independent | Draws::Sticky | Draws::Expected => ecc.rereads_expected(rber).0,
        };
        let is_lost = match ecc.draws {
            Draws::Table => needed > 1,
            Draws::Independent | Draws::Sticky | Draws::Expected => !limited.rereads_expected(rber).1,
        };
        data += valid;
        rereads += valid * f64::from(needed);
        lost += if is_lost { valid } else { 0.0 };
    }
    (lost > LOST_TOLD * data).then(|| {
        format!(
            "it re-reads until a page can be read, as drive.ecc.rereads-max is \"none\": age costs it time, about {:.1} re-reads of a page now, and hardly \
             any data; with drive.ecc.rereads-max = 1 about {:.1} % of its data could not be read",
            rereads / data,
            100.0 * lost / data
        )
    })
}
