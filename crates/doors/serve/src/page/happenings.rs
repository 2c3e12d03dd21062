//! Events of a drive in words.

use serde_json::Value;
use wane_units::Bytes;

/// What an event says.
pub(super) fn words(event: &Value) -> String {
    let number = |key: &str| event[key].as_u64().unwrap_or(0);
    let bytes = || Bytes(number("bytes"));
    match event["event"].as_str().unwrap_or_default() {
        "retired" => {
            let (more, all) = (number("blocks"), number("blocks_retired"));
            let blocks = if more == 1 { "block" } else { "blocks" };
            format!("{more} {blocks} retired; {all} are out of service")
        }
        "capacity-wanted" => format!("the drive asks for its capacity to fall to {}", bytes()),
        "mapped-limit-changed" => format!("at most {} may hold data now", bytes()),
        "capacity-changed" => format!("the capacity is {} now", bytes()),
        "read-only" => {
            format!("the drive takes no more writes ({})", event["cause"].as_str().unwrap_or("it does not say why"))
        }
        "writable" => "the drive takes writes again".to_owned(),
        "thermal" => match event["celsius"].as_f64() {
            Some(celsius) => format!("the drive is slowed down at {celsius:.0} °C"),
            None => "the drive is slowed down, as it is hot".to_owned(),
        },
        "member-lost" => format!("drive {} of the array takes no part any more, or no writes", number("member")),
        "degraded" => "the array lacks a copy of some of its data".to_owned(),
        "take-out" => format!("drive {} was taken out", number("member")),
        "put-back" => format!("drive {} was put back", number("member")),
        "replace" => format!("a new drive takes the place of drive {}", number("member")),
        "scrub" => "a scrub begins".to_owned(),
        "scrubbed" => "the scrub is over".to_owned(),
        "rebuilt" => "the array has all copies of its data again".to_owned(),
        "power-cut" => "the power failed".to_owned(),
        "withdrawn" => "the drive is served no longer".to_owned(),
        "fault" => format!("a fault begins on purpose: {}", event["does"].as_str().unwrap_or("of a new kind")),
        "faults-cleared" => format!("{} faults end", number("cleared")),
        "lost" => format!("{} were lost on purpose", bytes()),
        "power-on" => {
            let seconds = event["recovery_s"].as_f64().unwrap_or(0.0);
            format!("the power is back; recovery takes {seconds:.3} s")
        }
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_told_in_words() {
        for (event, wanted) in [
            (json!({ "event": "retired", "blocks": 1, "blocks_retired": 7 }), "1 block retired; 7 are out of service"),
            (json!({ "event": "capacity-changed", "bytes": 32 << 20 }), "the capacity is 32 MiB now"),
            (json!({ "event": "read-only", "cause": "no-victim" }), "the drive takes no more writes (no-victim)"),
            (json!({ "event": "thermal", "celsius": 70.2 }), "the drive is slowed down at 70 °C"),
            (json!({ "event": "power-on", "recovery_s": 0.0123 }), "the power is back; recovery takes 0.012 s"),
            (
                json!({ "event": "member-lost", "member": 1 }),
                "drive 1 of the array takes no part any more, or no writes",
            ),
            (json!({ "event": "rebuilt" }), "the array has all copies of its data again"),
            (json!({ "event": "fault", "does": "slow" }), "a fault begins on purpose: slow"),
            (json!({ "event": "lost", "bytes": 8192 }), "8 KiB were lost on purpose"),
            (json!({ "event": "something-new" }), "something-new"),
        ] {
            assert_eq!(words(&event), wanted);
        }
    }
}
