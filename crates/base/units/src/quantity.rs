//! Quantities and how they are written: `"8 GiB"`, `"10 %"`, `500`.

use std::fmt;
use std::str::FromStr;

/// A text that is not a quantity of the wanted kind.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{}' is not {wanted}", crate::excerpt(found))]
pub struct QuantityError {
    found: String,
    wanted: &'static str,
}

/// A number of bytes. Written with a unit: `512 B`, `4 KiB`, `8 GiB`, `1.5 TB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A duration in nanoseconds. Written with a unit: `75 us`, `3.8 ms`, `1 s`, `12 h`, `90 days`, `10 years` of 365 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// Bytes per second. Written with a unit: `667 MB/s`, `1.2 GB/s`, `512 MiB/s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// Erases of a block. A bare count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeCycles(pub u32);

/// A fraction between 0 and 1. Written `0.9` or `90 %`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(f64);

pub(crate) const BYTE_UNITS: [(&str, u64); 9] = [
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

/// Days of a year, in all computations.
pub const DAYS_PER_YEAR: f64 = 365.0;

const DAY: u64 = 86_400 * SECOND;
const SECOND: u64 = 1_000_000_000;

/// Longest first, so that no unit matches the end of another: "ns" before "s".
pub(crate) const TIME_UNITS: [(&str, u64); 12] = [
    ("minutes", 60 * SECOND),
    ("years", 365 * DAY),
    ("hours", 3_600 * SECOND),
    ("days", DAY),
    ("year", 365 * DAY),
    ("day", DAY),
    ("min", 60 * SECOND),
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("h", 3_600 * SECOND),
    ("s", SECOND),
];

const BYTES_WANTED: &str =
    "a size: write a number and a unit of B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, such as \"4 KiB\"";
const NANOS_WANTED: &str = "a duration: write a number and a unit of ns, us, ms, s, min, h, days or years, such as \"75 us\"; it is whole in ns";
const RATE_WANTED: &str = "a rate: write a size per second, such as \"667 MB/s\"";
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
        if let Some(bytes) = exact(number, factor) {
            return Ok(Bytes(bytes));
        }
        let value = plain_decimal(number).ok_or_else(refuse)? * factor as f64;
        // Above 2^53 a fraction no longer names a whole number of bytes.
        if value.fract() != 0.0 || value > 9_007_199_254_740_992.0 {
            return Err(refuse());
        }
        Ok(Bytes(value as u64))
    }
}

impl Bytes {
    /// Most decimals of [`Self::written_like`]: a byte in terabytes.
    const DECIMALS_MAX: u32 = 12;

    /// Writes the exact size in the unit of `written`, such as `60.999999488 GB` for `61 GB`, or in the next smaller unit if that takes too
    /// many decimals. Reading the text gives the same size.
    pub fn written_like(self, written: &str) -> String {
        let from =
            BYTE_UNITS.iter().position(|(unit, _)| written.trim().ends_with(unit)).unwrap_or(BYTE_UNITS.len() - 1);
        let is_alike = |unit: &str| unit == "B" || unit.contains('i') == BYTE_UNITS[from].0.contains('i');
        let units = BYTE_UNITS[from..].iter().filter(|(unit, _)| is_alike(unit));
        let text = |(unit, factor): &(&str, u64)| Some(format!("{} {unit}", self.over(*factor, Self::DECIMALS_MAX)?));
        units.map(text).find_map(|text| text).unwrap_or_else(|| format!("{} B", self.0))
    }

    /// Writes the exact size as short as possible, in a binary or a decimal unit: `9.5 KiB`, `61 GB`.
    pub fn exactly(self) -> String {
        let text = |(unit, factor): &(&str, u64)| Some(format!("{} {unit}", self.over(*factor, 2)?));
        let units = BYTE_UNITS.iter().filter(|(_, factor)| *factor <= self.0.max(1));
        units.filter_map(text).min_by_key(String::len).unwrap_or_else(|| "0 B".to_owned())
    }

    /// Writes the size in a decimal unit, as data sheets do, with two decimals: `518.30 MB`.
    pub fn decimal(self) -> String {
        let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
        let bytes = self.0 as f64;
        let found = units.iter().find(|(_, factor)| bytes >= *factor);
        found.map_or_else(|| format!("{} B", self.0), |(unit, factor)| format!("{:.2} {unit}", bytes / factor))
    }

    /// Writes the size divided by `factor`, if at most `decimals_max` decimals make it exact.
    fn over(self, factor: u64, decimals_max: u32) -> Option<String> {
        let (whole, rest) = (self.0 / factor, u128::from(self.0 % factor));
        let scaled = |decimals: u32| rest * 10_u128.pow(decimals);
        let decimals = (0..=decimals_max).find(|decimals| scaled(*decimals).is_multiple_of(u128::from(factor)))?;
        let fraction = scaled(decimals) / u128::from(factor);
        Some(if decimals == 0 {
            whole.to_string()
        } else {
            format!("{whole}.{fraction:0width$}", width = decimals as usize)
        })
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

impl Nanos {
    /// One day.
    pub const DAY: Self = Self(DAY);
    /// One second.
    pub const SECOND: Self = Self(SECOND);

    /// The duration in days.
    pub fn days(self) -> f64 {
        self.0 as f64 / DAY as f64
    }
}

impl FromStr for Nanos {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let trimmed = text.trim();
        let unit = TIME_UNITS.iter().find_map(|(unit, factor)| trimmed.strip_suffix(unit).map(|rest| (rest, *factor)));
        unit.and_then(|(number, factor)| exact(number.trim(), factor))
            .map(Nanos)
            .ok_or_else(|| QuantityError { found: text.to_owned(), wanted: NANOS_WANTED })
    }
}

impl fmt::Display for Nanos {
    /// Writes the exact duration in the largest unit that keeps it short; whole days as days.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= DAY && self.0.is_multiple_of(DAY) {
            let days = self.0 / DAY;
            return write!(f, "{days} {}", if days == 1 { "day" } else { "days" });
        }
        let units = [("s", SECOND, 9), ("ms", 1_000_000, 6), ("us", 1_000, 3)];
        let Some((unit, factor, digits)) = units.into_iter().find(|(_, factor, _)| self.0 >= *factor) else {
            return write!(f, "{} ns", self.0);
        };
        let fraction = format!("{:0digits$}", self.0 % factor);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{} {unit}", self.0 / factor),
            fraction => write!(f, "{}.{fraction} {unit}", self.0 / factor),
        }
    }
}

impl FromStr for Rate {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let size = text.trim().strip_suffix("/s").and_then(|size| size.parse::<Bytes>().ok());
        size.map(|size| Rate(size.0)).ok_or_else(|| QuantityError { found: text.to_owned(), wanted: RATE_WANTED })
    }
}

impl fmt::Display for Rate {
    /// Writes the exact rate in the largest decimal unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
        let (unit, factor) = units.into_iter().find(|(_, factor)| self.0.is_multiple_of(*factor)).unwrap_or(("B", 1));
        write!(f, "{} {unit}/s", self.0 / factor)
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

    /// `floor(self x count)`. A product that misses a whole number only by rounding counts as whole.
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

/// A decimal number times `factor`, if that is a whole number of 64 bits.
fn exact(text: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.replace('_', "");
    let fraction = fraction.trim_end_matches('0');
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    // Twenty digits times a factor below 2^55 stay within 128 bits.
    if !plain(&whole) || !plain(fraction) || whole.is_empty() || whole.len() + fraction.len() > 20 {
        return None;
    }
    let scaled = format!("{whole}{fraction}").parse::<u128>().ok()? * u128::from(factor);
    let parts = 10_u128.pow(fraction.len() as u32);
    scaled.is_multiple_of(parts).then(|| u64::try_from(scaled / parts).ok()).flatten()
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
    fn sizes_are_told_in_the_unit_that_was_written() {
        let table: [(u64, &str, &str); 7] = [
            (60_999_999_488, "61 GB", "60.999999488 GB"),
            (61_000_003_584, "61GB", "61.000003584 GB"),
            (3_840_000_004_096, "3.84 TB", "3.840000004096 TB"),
            (8 << 30, "8.0 GiB", "8 GiB"),
            // Eighteen decimals of a GiB.
            (4096 * 262_145, "1.1 GiB", "1024.00390625 MiB"),
            (9 << 10, "0.0000001 TiB", "0.0087890625 MiB"),
            (4096, "what", "4096 B"),
        ];
        for (bytes, written, want) in table {
            let told = Bytes(bytes).written_like(written);
            assert_eq!(told, want);
            assert_eq!(told.parse(), Ok(Bytes(bytes)), "{told}");
        }
        for (bytes, want) in
            [(61_000_000_000, "61 GB"), (5 << 10, "5 KiB"), (10_000, "10 kB"), (1001, "1001 B"), (0, "0 B")]
        {
            assert_eq!(Bytes(bytes).exactly(), want);
            assert_eq!(want.parse(), Ok(Bytes(bytes)));
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

    #[test]
    fn durations_are_read_to_the_nanosecond() {
        let table: [(&str, Option<u64>); 26] = [
            ("75 us", Some(75_000)),
            ("3.8 ms", Some(3_800_000)),
            ("0.5ms", Some(500_000)),
            ("1_000 ns", Some(1_000)),
            ("0 s", Some(0)),
            ("1.000000001 s", Some(1_000_000_001)),
            ("9007199254740993 ns", Some(9_007_199_254_740_993)),
            ("2 min", Some(120_000_000_000)),
            ("30 minutes", Some(1_800_000_000_000)),
            ("12 h", Some(43_200_000_000_000)),
            ("1 day", Some(86_400_000_000_000)),
            ("90 days", Some(7_776_000_000_000_000)),
            ("1 year", Some(31_536_000_000_000_000)),
            ("10 years", Some(315_360_000_000_000_000)),
            ("1.50 days", Some(129_600_000_000_000)),
            ("0.5 ns", None),
            ("1.0000000001 s", None),
            ("600 years", None),
            ("75", None),
            ("-1 us", None),
            ("1e3 us", None),
            ("us", None),
            (". us", None),
            (".5 us", None),
            ("75 weeks", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(text.parse::<Nanos>().ok().map(|nanos| nanos.0), want, "{text}");
        }
        assert_eq!("90 days".parse::<Nanos>().unwrap().days(), 90.0);
    }

    #[test]
    fn rates_are_sizes_per_second() {
        let table = [
            ("667 MB/s", Some(667_000_000)),
            ("1.2 GB/s", Some(1_200_000_000)),
            ("2 MiB/s", Some(2 << 20)),
            ("9 B/s", Some(9)),
            ("667 MB", None),
            ("667/s", None),
            ("667 Mbit/s", None),
        ];
        for (text, want) in table {
            assert_eq!(text.parse::<Rate>().ok().map(|rate| rate.0), want, "{text}");
        }
    }

    #[test]
    fn durations_and_rates_print_exactly_what_they_are() {
        let durations = [
            (0, "0 ns"),
            (999, "999 ns"),
            (75_000, "75 us"),
            (3_800_000, "3.8 ms"),
            (1_000_000_001, "1.000000001 s"),
            (86_400_000_000_000, "1 day"),
            (86_400_000_000_001, "86400.000000001 s"),
            (43_200_000_000_000, "43200 s"),
            (315_360_000_000_000_000, "3650 days"),
            (u64::MAX, "18446744073.709551615 s"),
        ];
        for (nanos, text) in durations {
            assert_eq!((Nanos(nanos).to_string().as_str(), text.parse()), (text, Ok(Nanos(nanos))));
        }
        for (rate, text) in [(667_000_000, "667 MB/s"), (2 << 20, "2097152 B/s"), (1_500, "1500 B/s"), (0, "0 GB/s")] {
            assert_eq!((Rate(rate).to_string().as_str(), text.parse()), (text, Ok(Rate(rate))));
        }
    }
}
