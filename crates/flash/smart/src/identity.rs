//! Names under which a simulated drive reports itself.

use serde::Serialize;
use wane_units::Fnv;

/// Lengths of a model and a firmware revision in NVMe's Identify Controller, in bytes.
const MODEL_BYTES: usize = 40;
const FIRMWARE_BYTES: usize = 8;

/// Names of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// Its model: the preset, and that it is simulated.
    pub model: String,
    /// Its serial number: `WANE` and a hash of scenario, preset, seed and label.
    pub serial: String,
    /// Its firmware: the version of wane.
    pub firmware: String,
}

impl Identity {
    /// Names of a drive of this scenario and preset, with this seed. `label` sets it apart from others of these; it may be empty.
    pub fn simulated(scenario: &str, preset: &str, seed: u64, label: &str) -> Self {
        let kept = preset.chars().filter(char::is_ascii_graphic);
        let most = MODEL_BYTES - "wane  (simulated)".len();
        let preset_short: String = kept.take(most).collect();
        let mut hash = Fnv::EMPTY;
        for part in [scenario.as_bytes(), &[0], preset.as_bytes(), &[0], &seed.to_le_bytes()] {
            hash.add(part);
        }
        hash.add(label.as_bytes());
        let model = format!("wane {preset_short} (simulated)");
        assert!(model.len() <= MODEL_BYTES, "a model fits its field");
        Self {
            model,
            serial: format!("WANE{}", hash.hex()),
            firmware: env!("CARGO_PKG_VERSION").chars().take(FIRMWARE_BYTES).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_their_fields_and_tell_drives_apart() {
        let one = Identity::simulated("a", "tiny", 1, "");
        assert_eq!(one.model, "wane tiny (simulated)");
        assert!(one.serial.starts_with("WANE") && one.serial.len() == 20, "{}", one.serial);
        assert_eq!(one, Identity::simulated("a", "tiny", 1, ""));
        for other in [
            ("b", "tiny", 1, ""),
            ("a", "tinyb", 1, ""),
            ("a", "tiny", 2, ""),
            ("at", "iny", 1, ""),
            ("a", "tiny", 1, "b.wane"),
        ] {
            assert_ne!(one.serial, Identity::simulated(other.0, other.1, other.2, other.3).serial, "{other:?}");
        }
        let long = Identity::simulated("a", &"p\u{e4}\n".repeat(100), 1, "");
        assert!(long.model.len() == MODEL_BYTES && long.model.is_ascii(), "{}", long.model);
    }
}
