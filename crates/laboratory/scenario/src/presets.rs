//! Drives to start from: those of the papers, and typical drives as sold.

use toml::Table;

use super::medium::{Medium, fill_in_cell_times};
use super::settings::DriveSettings;
use super::time::Time;

/// A named layer below the scenario's file.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its TOML; the comment at its top says what it is and where it comes from.
    pub text: &'static str,
}

impl Preset {
    /// The comment at the top of its file, as one line.
    pub fn summary(&self) -> String {
        let comment = self.text.lines().take_while(|line| line.starts_with('#'));
        comment.map(|line| line.trim_start_matches('#').trim()).collect::<Vec<_>>().join(" ")
    }
}

macro_rules! preset {
    ($name:literal) => {
        Preset { name: $name, text: include_str!(concat!("../presets/", $name, ".toml")) }
    };
}

/// The start of a scenario that names no preset: the defaults of the manual that fix the drive's size.
pub(super) const NONE: Preset =
    Preset { name: "none", text: "[drive]\nlogical-capacity = \"8 GiB\"\nspare-factor = \"10 %\"\n" };

/// Every preset.
pub const PRESETS: &[Preset] = &[
    preset!("ftlsim-256g"),
    preset!("ftlsim-8g"),
    preset!("tiny"),
    preset!("amber-mlc"),
    preset!("femu-16g"),
    preset!("cvss-128g"),
    preset!("cvss-128g-released"),
    preset!("trss-128g"),
    preset!("autostream-128g"),
    preset!("ttflash-128g"),
    preset!("ttflash-rain-128g"),
    preset!("fast19-ssd"),
    preset!("mlc-8g"),
    preset!("mean-field"),
    preset!("tlc-enterprise-1.92t"),
    preset!("tlc-enterprise-3.84t"),
    preset!("tlc-enterprise-7.68t"),
    preset!("tlc-client-2t"),
    preset!("qlc-client-2t"),
    preset!("qlc-enterprise-15.36t"),
    preset!("qlc-enterprise-30.72t"),
    preset!("qlc-enterprise-61.44t"),
    preset!("sata-emlc-240g"),
    preset!("sata-tlc-480g"),
    preset!("sata-qlc-480g"),
    preset!("sata-eqlc-1.92t"),
];

/// The preset called `name`.
pub(super) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().chain([&NONE]).find(|preset| preset.name == name)
}

/// The names of all presets, and `none`.
pub(super) fn names() -> Vec<&'static str> {
    PRESETS.iter().chain([&NONE]).map(|preset| preset.name).collect()
}

/// A table of a preset; empty if the preset does not have it.
fn part(preset: &str, name: &str) -> Table {
    let table = find(preset).and_then(|preset| preset.text.parse::<Table>().ok());
    let part = table.and_then(|mut table| table.remove(name)).and_then(|part| part.try_into().ok());
    part.unwrap_or_default()
}

/// The medium of a preset.
pub(super) fn medium(preset: &str) -> Medium {
    let mut drive = part(preset, "drive");
    fill_in_cell_times(&mut drive);
    let drive: DriveSettings = drive.try_into().expect("presets are scenarios, as a test checks");
    Medium::of(&drive).expect("a preset's chip is whole")
}

/// The value that a preset writes for a key of a section.
pub(super) fn written(preset: &str, section: &str, key: &str) -> Option<toml::Value> {
    part(preset, section).get(key).cloned()
}

/// The clock of a preset.
pub(super) fn time(preset: &str) -> Time {
    part(preset, "time").try_into().expect("presets are scenarios, as a test checks")
}
