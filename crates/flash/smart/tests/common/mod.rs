//! What programs of tests share.

#![allow(dead_code, reason = "not every program uses all of it")]

use wane_smart::{Quantity, Reading, read};

/// The only reading of a text.
pub(crate) fn one(text: &str) -> Reading {
    let mut readings = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(readings.len(), 1, "{readings:#?}");
    readings.remove(0)
}

/// Checks that a reading has these values, exactly.
pub(crate) fn check(reading: &Reading, wanted: &[(Quantity, f64)]) {
    for (quantity, want) in wanted {
        assert_eq!(reading.get(*quantity), Some(*want), "{} of {reading:#?}", quantity.key());
    }
}
