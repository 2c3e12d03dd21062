//! Drives of the papers, to start from.

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
        Preset { name: $name, text: include_str!(concat!("../../presets/", $name, ".toml")) }
    };
}

/// Where a scenario starts that names no preset: the defaults of the manual that fix the drive's size.
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
    preset!("fast19-ssd"),
    preset!("mean-field"),
];

/// The preset called `name`.
pub(super) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().chain([&NONE]).find(|preset| preset.name == name)
}
