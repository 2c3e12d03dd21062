//! Drives that were kept before a preset changed go on as they were.

use toml::{Table, Value};

/// Presets that were without `power-loss-protection = false` once.
const PROTECTED_ONCE: [&str; 2] = ["tlc-client-2t", "qlc-client-2t"];

/// The text of a resolved scenario of a drive that was kept by a folder's format up to 2, with what it left out because it was the default then:
/// client drives had power-loss protection.
pub fn as_kept_formerly(text: &str) -> String {
    let Ok(mut scenario) = text.parse::<Table>() else { return text.to_owned() };
    if let Some(drive) = scenario.get_mut("drive").and_then(Value::as_table_mut) {
        protect(drive);
    }
    let members = scenario.get_mut("array").and_then(|array| array.get_mut("member")).and_then(Value::as_array_mut);
    members.into_iter().flatten().filter_map(|member| member.get_mut("drive")?.as_table_mut()).for_each(protect);
    toml::to_string(&scenario).unwrap_or_else(|_| text.to_owned())
}

fn protect(drive: &mut Table) {
    if drive.get("preset").and_then(Value::as_str).is_some_and(|preset| PROTECTED_ONCE.contains(&preset)) {
        drive.entry("power-loss-protection").or_insert(Value::from(true));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scenario, Sources};
    use super::as_kept_formerly;

    fn resolved(text: &str) -> Scenario {
        Scenario::resolve(&Sources { file: Some(("drive.json", text)), ..Sources::default() }).unwrap()
    }

    #[test]
    fn a_drive_of_an_earlier_format_keeps_its_power_loss_protection() {
        let text = "[drive]\npreset = 'qlc-client-2t'\nlogical-capacity = '32 GiB'\n[until]\nrequests = 9\n";
        assert!(!resolved(text).device.power_loss_protection);
        // Its resolved text left the key out.
        let then = resolved(&as_kept_formerly(text));
        assert!(then.device.power_loss_protection);
        assert_eq!(resolved(&as_kept_formerly(&then.to_toml())), then, "what is written stays");
        assert!(!resolved(&as_kept_formerly(&resolved(text).to_toml())).device.power_loss_protection);
    }
}
