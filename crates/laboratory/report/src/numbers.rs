//! Numbers for people.

use wane_units::DAYS_PER_YEAR;

/// A number with `decimals` and commas between thousands.
pub(super) fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, part)| (whole, Some(part)));
    let mut result = String::new();
    if value < 0.0 && text.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) {
        result.push('\u{2212}');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            result.push(',');
        }
        result.push(digit);
    }
    if let Some(fraction) = fraction {
        result.push('.');
        result.push_str(fraction);
    }
    result
}

/// A number with about three significant digits; a dash if it is not finite.
pub(super) fn short(value: f64) -> String {
    if !value.is_finite() {
        return "\u{2013}".to_owned();
    }
    // Zeros at the end of a small number are many digits for little.
    let tight = |text: String| text.trim_end_matches('0').to_owned();
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        0.0 => 0,
        size if size >= 0.1 => 2,
        size if size >= 1e-4 => return tight(grouped(value, (2.0 - size.log10().floor()) as usize)),
        _ => return format!("{value:.2e}"),
    };
    grouped(value, decimals)
}

/// A count, or the mean of counts: without decimals where it has none.
pub fn counted(value: f64) -> String {
    if value.fract() == 0.0 { grouped(value, 0) } else { short(value) }
}

/// A number of things, such as "1 year" and "4.27 years".
pub fn counted_of(value: f64, thing: &str) -> String {
    let told = counted(value);
    if told == "1" { format!("{told} {thing}") } else { format!("{told} {thing}s") }
}

/// A simulated time: days in years, or in days, or in what is shorter.
pub fn lifetime(days: f64) -> String {
    let years = days / DAYS_PER_YEAR;
    match days {
        _ if years >= 0.9995 => counted_of(years, "year"),
        days if days >= 0.9995 || days == 0.0 => counted_of(days, "day"),
        days if days * 24.0 >= 0.9995 => counted_of(days * 24.0, "hour"),
        days => duration(days * 86_400e9),
    }
}

/// [`short`], or a dash for nothing.
pub(super) fn short_or_dash(value: Option<f64>) -> String {
    short(value.unwrap_or(f64::NAN))
}

/// A whole number with commas.
pub(super) fn count(value: u64) -> String {
    grouped(value as f64, 0)
}

/// A share of one as a percentage.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    // Less than half of the last digit would be written as none.
    if (1e-9..0.05).contains(&percent) {
        return super::estimates::share(share);
    }
    // Small shares, and those just short of all, would look like none and all.
    let decimals = usize::from((1e-9..9.95).contains(&percent) || (99.0..99.95).contains(&percent));
    if percent.is_finite() { format!("{}\u{a0}%", grouped(percent, decimals)) } else { short(percent) }
}

/// Nanoseconds as a duration: "146 \u{b5}s".
pub fn duration(ns: f64) -> String {
    // Just short of a thousand would be written as a thousand.
    let unit = UNITS.iter().find(|unit| ns.abs() < 999.5 * unit.0).unwrap_or(&UNITS[3]);
    // The division may leave a whole number a rounding error beside it.
    let value = ns / unit.0;
    let value = if (value - value.round()).abs() < 1e-9 * value.abs() { value.round() } else { value };
    format!("{}\u{a0}{}", counted(value), unit.1)
}

/// Units of durations: nanoseconds of each, and its sign.
const UNITS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "\u{b5}s"), (1e6, "ms"), (1e9, "s")];

/// The unit in which an axis up to `ns_max` nanoseconds is written: its nanoseconds, and its sign with a space before.
pub(super) const fn unit_of(ns_max: f64) -> (f64, &'static str) {
    match ns_max {
        most if most < 1e3 => (1.0, "\u{a0}ns"),
        most if most < 2e6 => (1e3, "\u{a0}\u{b5}s"),
        most if most < 2e9 => (1e6, "\u{a0}ms"),
        _ => (1e9, "\u{a0}s"),
    }
}

/// Traffic in decimal units, as endurance is rated: "1.23 TB".
pub fn traffic(bytes: f64) -> String {
    scaled(bytes, 1000.0, &["B", "kB", "MB", "GB", "TB", "PB", "EB"])
}

/// A capacity in binary units: "8 GiB".
pub(super) fn capacity(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// A text for a terminal: with spaces that may break, and letters of every keyboard.
pub fn plain(told: &str) -> String {
    told.replace('\u{a0}', " ").replace('\u{b5}', "u")
}

fn scaled(bytes: f64, base: f64, units: &[&str]) -> String {
    let mut value = bytes;
    let mut unit = 0;
    while value >= base && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    format!("{}\u{a0}{}", counted(value), units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        let table = [
            (grouped(1_234_567.0, 0), "1,234,567"),
            (grouped(-1234.5, 1), "\u{2212}1,234.5"),
            (grouped(-0.01, 1), "0.0"),
            (short(0.0), "0"),
            (short(2.345), "2.35"),
            (short(34.21), "34.2"),
            (short(99.97), "100"),
            (short(5678.9), "5,679"),
            (short(0.5), "0.50"),
            (short(0.0077123), "0.00771"),
            (short(0.025), "0.025"),
            (short(0.0000123), "1.23e-5"),
            (short(f64::NAN), "\u{2013}"),
            (counted(3.0), "3"),
            (counted(3.5), "3.50"),
            (counted_of(1.0, "year"), "1 year"),
            (counted_of(1.25, "drive write"), "1.25 drive writes"),
            (lifetime(0.0), "0 days"),
            (lifetime(365.0), "1 year"),
            (lifetime(500.0), "1.37 years"),
            (lifetime(40.0), "40 days"),
            (lifetime(0.25), "6 hours"),
            (lifetime(1e-6), "86.4\u{a0}ms"),
            (percent(1.0), "100\u{a0}%"),
            (percent(0.62), "62\u{a0}%"),
            (percent(0.0512), "5.1\u{a0}%"),
            (percent(0.000_41), "0.0410\u{a0}%"),
            (duration(0.0), "0\u{a0}ns"),
            (duration(75_000.0), "75\u{a0}\u{b5}s"),
            (duration(146_234.0), "146\u{a0}\u{b5}s"),
            (duration(999_600.0), "1.00\u{a0}ms"),
            (duration(3_800_000.0), "3.80\u{a0}ms"),
            (duration(2e12), "2,000\u{a0}s"),
            (traffic(1_234_000_000_000.0), "1.23\u{a0}TB"),
            (traffic(999.0), "999\u{a0}B"),
            (capacity(8 << 30), "8\u{a0}GiB"),
            (capacity(15 << 29), "7.50\u{a0}GiB"),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
    }
}
