//! Keys that have no effect, since another key does not have the value that they need.
//!
//! They are not errors: a sweep may switch off the feature that they belong to.

use toml::{Table, Value};
use wane_nand::{Draws, Sensing};
use wane_raid::Following;
use wane_ssd::{Collection, Suspend};
use wane_workload::Arrival;

use super::forecast::ForecastSettings;
use super::medium::Medium;
use super::settings::{DriveSettings, FtlSettings};
use super::time::Time;
use super::written::table_of;
use super::{ArrayLayout, Scenario, presets};

impl Scenario {
    /// A sentence for each key that differs from the preset's value or the default, and yet has no effect, or whose effect another undoes.
    pub fn without_effect(&self) -> Vec<String> {
        let (time, medium) = (&self.time, &self.medium);
        let (timed, heatless) = (time.is_timed(), medium.thermal.ambient.is_none());
        let untimed = "the run is untimed; give time.scheduler = \"event\"";
        let arrivals =
            self.phases.iter().map(|phase| phase.arrival).chain(self.probe.iter().map(|probe| probe.arrival));
        let by_trace = arrivals.into_iter().any(|arrival| arrival == Arrival::Trace);
        let (planes, scrubs) = (self.device.geometry.planes_per_die(), self.ftl.scrub.policy().acts());
        let uncorrected = medium.chip.is_some() && medium.ecc.strength.is_none();
        let by_table = medium.ecc.draws == Draws::Table;
        let no_errors = medium.chip.is_none() && !scrubs;
        let ecc = "every error is corrected at once, as drive.ecc.strength is \"none\"";
        let states = "only errors and scrubbing depend on it, but there is no drive.chip and nothing scrubs";
        let table = "re-reads go by the table of P/E cycles, as drive.ecc.draws says";
        let levels = self.ftl.wear_leveling.policy().acts();
        let overtakes = time.read_priority || time.suspend != Suspend::None;
        let classes = !matches!(time.gc, Collection::Foreground | Collection::Free) || scrubs || levels || overtakes;
        let keeps_nothing = !self.ftl.recovery.policy().acts();
        let powered = "power is never cut, as ftl.recovery is \"none\"";
        let rules = [
            ("time.write-cache-latency", timed && time.write_cache.is_none(), "there is no time.write-cache"),
            ("time.think-time", timed && time.processors.is_none(), "time.processors is \"none\""),
            ("time.scale", timed && !by_trace, "nothing arrives at the times of a trace: arrival = \"trace\""),
            ("time.multi-plane", timed && planes == 1, "dies have one plane, as drive.planes-per-die says"),
            ("drive.thermal", !timed, untimed),
            ("drive.thermal", timed && heatless, "drive.thermal.ambient is \"none\": the drive has no heat"),
            ("drive.timing", !timed && medium.cell.is_none(), untimed),
            (
                "time.drive-writes-per-day",
                timed && self.probe.is_none(),
                "the run is timed, and its clock is the calendar",
            ),
            (
                "time.order",
                timed && !classes,
                "all operations have one priority: the host waits for garbage collection, nothing scrubs or levels wear, and reads have no priority",
            ),
            ("drive.ecc.rereads-max", uncorrected, ecc),
            ("ftl.read-recovery", uncorrected, ecc),
            ("ftl.read-recovery", medium.chip.is_none(), "no read needs a re-read without a drive.chip"),
            ("drive.ecc.sensing", uncorrected, ecc),
            ("drive.ecc.scale", uncorrected, ecc),
            ("drive.ecc.sensing", by_table, table),
            ("drive.ecc.scale", by_table, table),
            ("drive.ecc.scale", medium.ecc.sensing == Sensing::Soft, "soft sensing has gains of its own"),
            ("drive.variation.layer-count", medium.variation.layers == 0.0, "drive.variation.layers is 0"),
            (
                "drive.initial.erase-count-spread",
                medium.initial.erase_count.is_none(),
                "there is no drive.initial.erase-count that it would spread",
            ),
            ("drive.initial.reads", no_errors, states),
            ("drive.initial.retention", no_errors, states),
            (
                "ftl.gc-unforced",
                self.ftl.gc_unforced <= self.ftl.gc_reserve,
                "no more blocks are asked for than ftl.gc-reserve keeps free",
            ),
            ("ftl.remap-log", keeps_nothing, powered),
            ("drive.power-loss-protection", keeps_nothing, powered),
            ("drive.wordline-pages", keeps_nothing, powered),
            ("drive.faults.lost-die-at", medium.faults.lost_die.is_none(), "no drive.faults.lost-die is lost"),
        ];
        let of_forecast = self.forecast.iter().flat_map(ForecastSettings::without_effect);
        let told = told(&self.entries(), &preset_entries(&self.preset), &rules);
        told.into_iter().chain(self.filled_again()).chain(self.idle_of_array()).chain(of_forecast).collect()
    }
}

impl Scenario {
    /// What random writes of preconditioning make of the pages that its fill leaves empty.
    fn filled_again(&self) -> Option<String> {
        let before = &self.precondition;
        let empty = 1.0 - before.fill.get();
        let is_left = empty > 0.0 && before.sequential_drive_writes == 0 && before.random_drive_writes > 0.0;
        is_left.then(|| {
            format!(
                "precondition.random-drive-writes writes pages of the whole drive, also of the {:.1} % that precondition.fill leaves empty: they are \
                 no spare space then",
                100.0 * empty,
            )
        })
    }

    /// A sentence for each key of the array that does nothing for its layout, or for drives that want nothing.
    fn idle_of_array(&self) -> Vec<String> {
        let Some(settings) = self.array.as_ref().map(|array| &array.settings) else { return Vec::new() };
        let follows = settings.layout == ArrayLayout::Raid && settings.following == Following::Members;
        let in_vain = (follows && !self.ftl.capacity.policy().may_shrink()).then(|| {
            "array.following has no effect: drives that keep their capacity (ftl.capacity) want no space back"
                .to_owned()
        });
        let of_clock = (!self.time.is_timed()).then(|| settings.without_clock()).into_iter().flatten();
        settings.without_effect().into_iter().chain(of_clock).chain(in_vain).collect()
    }

    /// The tables `drive`, `ftl` and `time` with every key of a rule.
    fn entries(&self) -> Table {
        let ftl = table_of(&self.ftl);
        let firmware = FIRMWARE_KEYS.map(|key| ftl.get(key).expect("it is a key of the firmware").clone());
        let power = [Value::from(self.device.power_loss_protection), Value::from(self.device.wordline_pages.get())];
        sections(&self.time, &self.medium, firmware, power)
    }
}

/// A sentence for each key of the rules that is given and idle, with the reason of its first such rule.
fn told(own: &Table, below: &Table, rules: &[(&str, bool, &str)]) -> Vec<String> {
    let given = |key: &str| lookup(own, key) != lookup(below, key);
    let mut told: Vec<(&str, &str)> = Vec::new();
    for (key, idle, why) in rules {
        debug_assert!(lookup(own, key).is_some(), "{key} is a key");
        if *idle && given(key) && told.iter().all(|(before, _)| before != key) {
            told.push((key, why));
        }
    }
    told.into_iter().map(|(key, why)| format!("{key} has no effect: {why}")).collect()
}

/// Keys of `ftl` that have a rule.
const FIRMWARE_KEYS: [&str; 3] = ["gc-unforced", "read-recovery", "remap-log"];

/// The tables of [`Scenario::entries`], for a preset.
fn preset_entries(preset: &str) -> Table {
    let defaults = table_of(&FtlSettings::default());
    let firmware = FIRMWARE_KEYS.map(|key| {
        let default = || defaults.get(key).expect("it is a key of the firmware").clone();
        presets::written(preset, "ftl", key).unwrap_or_else(default)
    });
    let defaults = table_of(&DriveSettings::default());
    let power = POWER_KEYS.map(|key| {
        let default = || defaults.get(key).expect("it is a key of the drive").clone();
        presets::written(preset, "drive", key).unwrap_or_else(default)
    });
    sections(&presets::time(preset), &presets::medium(preset), firmware, power)
}

/// Keys of `drive` about power cuts.
const POWER_KEYS: [&str; 2] = ["power-loss-protection", "wordline-pages"];

fn sections(time: &Time, medium: &Medium, firmware: [Value; 3], power: [Value; 2]) -> Table {
    let mut drive: Table = medium.entries().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    drive.extend(POWER_KEYS.into_iter().map(str::to_owned).zip(power));
    let ftl = FIRMWARE_KEYS.into_iter().map(str::to_owned).zip(firmware).collect();
    let tables = [("drive", drive), ("ftl", ftl), ("time", table_of(time))];
    tables.into_iter().map(|(key, table)| (key.to_owned(), Value::Table(table))).collect()
}

fn lookup<'t>(table: &'t Table, key: &str) -> Option<&'t Value> {
    let mut parts = key.split('.');
    let first = table.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}
