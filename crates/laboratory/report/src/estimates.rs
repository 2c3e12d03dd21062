//! Shares, times and amounts that are estimated: three significant digits, and as many more as tell the ends of an interval apart. A value and its
//! interval have one unit.

use wane_results::Interval;
use wane_units::DAYS_PER_YEAR;

use super::numbers::{capacity, counted, grouped};

/// A unit of some quantity: the least value that is told in it, what one of it is, and its sign with a space before.
type Unit = (f64, f64, &'static str);

/// Shares of one. A percentage with many zeros is told as parts in a billion or a trillion.
const SHARES: [Unit; 3] = [(1e-6, 1e-2, "\u{a0}%"), (1e-9, 1e-9, " in a billion"), (0.0, 1e-12, " in a trillion")];
/// Differences of shares.
const POINTS: [Unit; 3] =
    [(1e-6, 1e-2, " percentage points"), (1e-9, 1e-9, " in a billion"), (0.0, 1e-12, " in a trillion")];
/// Times, of days.
const DAYS: [Unit; 4] = [
    (0.9995 * DAYS_PER_YEAR, DAYS_PER_YEAR, " years"),
    (0.9995, 1.0, " days"),
    (0.9995 / 24.0, 1.0 / 24.0, " hours"),
    (0.0, 1.0 / 86_400.0, " seconds"),
];
const BYTES: [Unit; 7] = [
    (1e18, 1e18, "\u{a0}EB"),
    (1e15, 1e15, "\u{a0}PB"),
    (1e12, 1e12, "\u{a0}TB"),
    (1e9, 1e9, "\u{a0}GB"),
    (1e6, 1e6, "\u{a0}MB"),
    (1e3, 1e3, "\u{a0}kB"),
    (0.0, 1.0, "\u{a0}B"),
];
const AMOUNTS: [Unit; 1] = [(0.0, 1.0, "")];

/// Powers of two with their signs.
const BINARY: [(u8, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];

/// Less than this of the smallest unit is not told.
const LEAST: f64 = 0.001;
/// Most decimals.
const DECIMALS_MAX: i32 = 9;
/// Decimals beyond the third digit that the ends of an interval may take to differ.
const MORE_MAX: i32 = 3;

/// The unit in which a value is told.
fn unit_of(units: &'static [Unit], value: f64) -> (f64, &'static str, bool) {
    let found = units.iter().position(|unit| value.abs() >= unit.0).unwrap_or(units.len() - 1);
    (units[found].1, units[found].2, found + 1 == units.len())
}

/// The place of the first digit: 0 of units, -1 of tenths.
fn place(value: f64) -> i32 {
    // What rounds up to a power of ten has its digits from there on.
    (value.abs() * 1.000_5).log10().floor() as i32
}

/// Decimals with which a value has three significant digits.
fn decimals(value: f64) -> i32 {
    if value == 0.0 { 0 } else { 2 - place(value) }
}

fn within(decimals: i32) -> usize {
    decimals.clamp(0, DECIMALS_MAX) as usize
}

/// A value in its unit, with a hyphen for a minus.
fn digits(value: f64, decimals: usize) -> String {
    grouped(value, if value == 0.0 { 0 } else { decimals }).replace('\u{2212}', "-")
}

/// A number that is whole, or has three significant digits.
fn number(value: f64, decimals: i32) -> String {
    let nearest = value.round();
    let is_whole = (value - nearest).abs() <= 1e-9 * value.abs().max(1.0) && (value == 0.0 || nearest != 0.0);
    if is_whole { digits(nearest, 0) } else { digits(value, within(decimals)) }
}

/// A number with its unit, which is of one where the number is 1.
fn with_sign(number: &str, sign: &str) -> String {
    let is_plural = sign.ends_with('s');
    format!("{number}{}", if number == "1" && is_plural { &sign[..sign.len() - 1] } else { sign })
}

/// A value without an interval.
fn alone(units: &'static [Unit], value: f64) -> String {
    let (of, sign, is_smallest) = unit_of(units, if value == 0.0 { f64::INFINITY } else { value });
    let value = value / of;
    if is_smallest && value != 0.0 && value.abs() < LEAST {
        return format!("less than {LEAST}{sign}");
    }
    let near_all = if sign == SHARES[0].2 { near_all(value) } else { 0 };
    with_sign(&number(value, decimals(value).max(near_all)), sign)
}

/// Decimals that tell a percentage from 100.
fn near_all(percent: f64) -> i32 {
    let rest = 100.0 - percent;
    if rest > 0.0 { -rest.log10().floor() as i32 } else { 0 }
}

/// A value and the ends of its interval, in the unit of the value; an end that is not there is told as `open`.
fn between(units: &'static [Unit], mean: f64, ends: [Option<f64>; 2], open: &str) -> String {
    let is_end = |end: &Option<f64>| end.is_some_and(|end| end == mean);
    if ends.iter().all(is_end) {
        return alone(units, mean);
    }
    let largest = ends.into_iter().flatten().map(f64::abs).fold(0.0, f64::max);
    let (of, sign, is_smallest) = unit_of(units, if mean == 0.0 { largest } else { mean });
    if is_smallest && mean.abs().max(largest) < LEAST * of {
        return format!("less than {LEAST}{sign}");
    }
    let [low, high] = ends.map(|end| end.map(|end| end / of));
    let mean = mean / of;
    let halves = [low, high].into_iter().flatten().map(|end| (end - mean).abs()).filter(|half| *half > 0.0);
    let half = halves.fold(f64::INFINITY, f64::min);
    let is_share = sign == SHARES[0].2;
    let own = match mean == 0.0 {
        true => decimals(largest / of),
        false => decimals(mean).max(if is_share { near_all(mean) } else { 0 }),
    };
    let apart = if half.is_finite() { -place(half) } else { 0 };
    let decimals = within(own.max(apart.min(own + MORE_MAX)));
    let [mean, low, high] = [Some(mean), low, high].map(|value| value.map(|value| digits(value, decimals)));
    let (mean, [low, high]) = (mean.unwrap_or_default(), [low, high].map(|end| end.unwrap_or_else(|| open.to_owned())));
    if low == mean && high == mean {
        return with_sign(&mean, sign);
    }
    // A percentage has its sign at each end of its interval, as a reader of either expects.
    if is_share { format!("{mean}{sign} ({low} to {high}{sign})") } else { format!("{mean}{sign} ({low} to {high})") }
}

fn tell_interval(units: &'static [Unit], interval: &Interval) -> String {
    between(units, interval.mean, [Some(interval.low), Some(interval.high)], "")
}

/// A share of one: "0.0590 %", or "3.15 in a billion".
pub fn share(value: f64) -> String {
    alone(&SHARES, value)
}

/// A share with its interval: "0.0590 % (0.0519 to 0.0661 %)".
pub(super) fn share_between(interval: &Interval) -> String {
    tell_interval(&SHARES, interval)
}

/// A difference of shares with its interval: "3.00 percentage points (2.90 to 3.10)"; `None` where nothing differs.
pub(super) fn difference(interval: &Interval) -> Option<String> {
    let is_nothing = [interval.mean, interval.low, interval.high] == [0.0; 3];
    (!is_nothing).then(|| tell_interval(&POINTS, interval))
}

/// A time in years, days, hours or seconds.
pub fn time(days: f64) -> String {
    // None at all is told in what is expected to be short.
    if days == 0.0 { "0 days".to_owned() } else { alone(&DAYS, days) }
}

/// A time with its interval; an end that is not there comes later.
pub(super) fn time_between(days: f64, ends: [Option<f64>; 2]) -> String {
    between(&DAYS, days, ends, "later")
}

/// Bytes with their interval, in decimal units.
pub(super) fn bytes_between(interval: &Interval) -> String {
    tell_interval(&BYTES, interval)
}

/// Bytes in decimal units, those below a thousandth included.
pub(super) fn bytes(value: f64) -> String {
    if value == 0.0 { "0\u{a0}B".to_owned() } else { alone(&BYTES, value) }
}

/// A mean of counts.
pub(super) fn amount(value: f64) -> String {
    alone(&AMOUNTS, value)
}

/// A mean of counts with its interval.
pub(super) fn amount_between(interval: &Interval) -> String {
    tell_interval(&AMOUNTS, interval)
}

/// The size of a drive as it is sold, in decimal units, or in binary ones of which it is a whole number: "4 TB", "64 MiB".
pub fn size(bytes: f64) -> String {
    let whole = BINARY.iter().find_map(|(power, sign)| {
        let value = bytes / f64::from(*power).exp2();
        ((1.0..1000.0).contains(&value) && value.fract() == 0.0).then(|| format!("{}\u{a0}{sign}", counted(value)))
    });
    whole.unwrap_or_else(|| alone(&BYTES, bytes))
}

/// A size that follows from those of drives, in decimal units where one of theirs is told so.
pub fn size_of(bytes: u64, mut drives: impl Iterator<Item = u64>) -> String {
    let is_decimal = drives.any(|drive| !size(drive as f64).ends_with("iB"));
    if is_decimal { alone(&BYTES, bytes as f64) } else { capacity(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(mean: f64, low: f64, high: f64) -> Interval {
        Interval { mean, low, high }
    }

    #[test]
    fn an_estimate_has_one_unit_and_ends_that_differ() {
        let share = |mean, low, high| share_between(&interval(mean, low, high)).replace('\u{a0}', " ");
        let table = [
            (share(0.000_59, 0.000_519, 0.000_661), "0.0590 % (0.0519 to 0.0661 %)"),
            (share(0.04, 0.039, 0.041), "4.00 % (3.90 to 4.10 %)"),
            (share(0.5, 0.499_998, 0.500_002), "50.0000 % (49.9998 to 50.0002 %)"),
            (share(0.999_7, 0.999_5, 0.999_9), "99.97 % (99.95 to 99.99 %)"),
            (share(0.0, 0.0, 0.002_99), "0 % (0 to 0.299 %)"),
            (share(1.0, 1.0, 1.0), "100 %"),
            (share(0.0, 0.0, 0.0), "0 %"),
            (share(3e-8, 2.5e-8, 3.5e-8), "30.0 in a billion (25.0 to 35.0)"),
            (share(4e-11, 1e-11, 7e-11), "40.0 in a trillion (10.0 to 70.0)"),
            (share(1e-20, 0.0, 2e-20), "less than 0.001 in a trillion"),
            (time_between(12.4, [Some(12.3), Some(12.5)]), "12.4 days (12.3 to 12.5)"),
            (time_between(4.25 * 365.0, [Some(4.2 * 365.0), None]), "4.25 years (4.20 to later)"),
            (time_between(0.02, [Some(0.01), Some(0.03)]), "1,728 seconds (864 to 2,592)"),
            (amount_between(&interval(0.0001, 0.0, 0.0002)), "less than 0.001"),
            (amount_between(&interval(7.25, 7.2, 7.3)), "7.25 (7.20 to 7.30)"),
        ];
        for (found, wanted) in table {
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn a_difference_is_told_in_points_or_not_at_all() {
        assert_eq!(difference(&interval(0.0, 0.0, 0.0)), None);
        let told = |mean, low, high| difference(&interval(mean, low, high)).unwrap();
        assert_eq!(told(-0.03, -0.031, -0.029), "-3.00 percentage points (-3.10 to -2.90)");
        assert_eq!(told(-1e-4, -1.000_4e-4, -0.999_6e-4), "-0.010000 percentage points (-0.010004 to -0.009996)");
        assert_eq!(told(0.0, -1e-5, 1e-5), "0 percentage points (-0.00100 to 0.00100)");
        assert_eq!(told(2e-8, 1e-8, 3e-8), "20.0 in a billion (10.0 to 30.0)");
    }

    #[test]
    fn values_alone_have_three_digits_and_sizes_the_unit_that_fits() {
        let table = [
            (share(0.75), "75\u{a0}%"),
            (share(0.000_59), "0.0590\u{a0}%"),
            (share(0.999_96), "99.996\u{a0}%"),
            (share(1.0), "100\u{a0}%"),
            (time(0.0), "0 days"),
            (time(365.0), "1 year"),
            (time(0.0339 * 365.0), "12.4 days"),
            (time(1.0 / 24.0), "1 hour"),
            (time(0.6), "14.4 hours"),
            (time(0.5 / 86_400.0), "0.500 seconds"),
            (size(4e12), "4\u{a0}TB"),
            (size(7.68e12), "7.68\u{a0}TB"),
            (size(64.0 * 1024.0 * 1024.0), "64\u{a0}MiB"),
            (size(3.999e12), "4.00\u{a0}TB"),
            (size_of(9_000_000_000_000, [4_000_000_000_000, 64 << 20].into_iter()), "9\u{a0}TB"),
            (size_of(245 << 19, [64 << 20].into_iter()), "122\u{a0}MiB"),
            (bytes(2.5e-5), "less than 0.001\u{a0}B"),
            (bytes(4_020.0), "4.02\u{a0}kB"),
        ];
        for (found, wanted) in table {
            assert_eq!(found, wanted);
        }
    }
}
