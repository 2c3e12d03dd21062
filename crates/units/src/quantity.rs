//! Quantities and how they are written: `"8 GiB"`, `"10 %"`, `500`.

use std::fmt;
use std::str::FromStr;

/// A text that is no quantity of the wanted kind.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{found}' is not {wanted}")]
pub struct QuantityError {
    found: String,
    wanted: &'static str,
}

/// A number of bytes. Written with a unit: `512 B`, `4 KiB`, `8 GiB`, `1.5 TB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Erases of a block. A bare count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeCycles(pub u32);

/// A fraction between 0 and 1. Written `0.9` or `90 %`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(f64);

const BYTE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

const BYTES_WANTED: &str =
    "a size: write a number and a unit of B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, such as \"4 KiB\"";
const RATIO_WANTED: &str = "a ratio between 0 and 1: write 0.9 or \"90 %\"";

impl FromStr for Bytes {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let refuse = || QuantityError { found: text.to_owned(), wanted: BYTES_WANTED };
        let trimmed = text.trim();
        let (number, factor) = BYTE_UNITS
            .iter()
            .find_map(|(unit, factor)| trimmed.strip_suffix(unit).map(|number| (number.trim(), *factor)))
            .ok_or_else(refuse)?;
        if let Ok(whole) = number.replace('_', "").parse::<u64>() {
            return whole.checked_mul(factor).map(Bytes).ok_or_else(refuse);
        }
        let value = plain_decimal(number).ok_or_else(refuse)? * factor as f64;
        // Above 2^53 a fraction no longer names a whole number of bytes.
        if value.fract() != 0.0 || value > 9_007_199_254_740_992.0 {
            return Err(refuse());
        }
        Ok(Bytes(value as u64))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = BYTE_UNITS[..4].iter().find(|(_, factor)| self.0 >= *factor).unwrap_or(&("B", 1));
        if self.0.is_multiple_of(*factor) {
            write!(f, "{} {unit}", self.0 / factor)
        } else {
            write!(f, "{:.2} {unit}", self.0 as f64 / *factor as f64)
        }
    }
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// All.
    pub const ONE: Self = Self(1.0);

    /// The ratio `value`, if it lies between 0 and 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The ratio as a number.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// `floor(self x count)`. A product that misses a whole number by rounding alone counts as whole.
    pub fn floor_of(self, count: u64) -> u64 {
        floor_exact(self.0 * count as f64).min(count)
    }
}

/// `floor`, but 2.9999999999 from a decimal fraction that binary cannot hold counts as 3.
pub fn floor_exact(value: f64) -> u64 {
    let nearest = value.round();
    if (value - nearest).abs() <= nearest.abs() * 1e-12 { nearest as u64 } else { value.floor() as u64 }
}

impl FromStr for Ratio {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let refuse = || QuantityError { found: text.to_owned(), wanted: RATIO_WANTED };
        let trimmed = text.trim();
        let value = match trimmed.strip_suffix('%') {
            Some(percent) => plain_decimal(percent.trim()).ok_or_else(refuse)? / 100.0,
            None => plain_decimal(trimmed).ok_or_else(refuse)?,
        };
        Self::new(value).ok_or_else(refuse)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Twelve digits drop the tail that binary adds to a decimal percentage.
        let percent = (self.0 * 100.0 * 1e10).round() / 1e10;
        write!(f, "{percent} %")
    }
}

impl fmt::Display for PeCycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Digits with at most one point; no sign, no exponent, no `inf`.
fn plain_decimal(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_written() {
        let table: [(&str, Option<u64>); 13] = [
            ("8 GiB", Some(8 << 30)),
            ("4KiB", Some(4096)),
            ("512 B", Some(512)),
            ("1.5 KiB", Some(1536)),
            ("2 TB", Some(2_000_000_000_000)),
            ("1_000 kB", Some(1_000_000)),
            ("0 B", Some(0)),
            ("4096", None),
            ("-1 KiB", None),
            ("1e3 B", None),
            ("99999999999 TiB", None),
            ("0.3 B", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(text.parse::<Bytes>().ok().map(|bytes| bytes.0), want, "{text}");
        }
    }

    #[test]
    fn sizes_print_as_they_are_read() {
        for raw in [0, 1, 512, 4096, 8 << 30, 3 << 20] {
            assert_eq!(Bytes(raw).to_string().parse::<Bytes>(), Ok(Bytes(raw)));
        }
    }

    #[test]
    fn ratios_are_between_nothing_and_all() {
        let table = [
            ("10 %", Some(0.1)),
            ("0.9", Some(0.9)),
            ("100%", Some(1.0)),
            ("101 %", None),
            ("-1 %", None),
            ("nan", None),
        ];
        for (text, want) in table {
            assert_eq!(text.parse::<Ratio>().ok().map(Ratio::get), want, "{text}");
        }
        assert_eq!(Ratio(0.07).to_string(), "7 %");
        assert_eq!(Ratio(0.29).floor_of(100), 29);
    }
}
