//! Conversion between times of the Unix clock and the calendar, in smartctl's form.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Seconds of a day.
pub(crate) const DAY_SECONDS: i64 = 86_400;

/// Hours of time zones from UTC (RFC 2822, section 4.3, Europe's and Japan's). CST is left out: it is both America's and China's.
const ZONES: [(&str, i64); 18] = [
    ("UTC", 0),
    ("GMT", 0),
    ("UT", 0),
    ("WET", 0),
    ("EST", -5),
    ("EDT", -4),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
    ("CET", 1),
    ("WEST", 1),
    ("CEST", 2),
    ("EET", 2),
    ("EEST", 3),
    ("MSK", 3),
    ("JST", 9),
];

/// A time of the Unix clock in the form of C's `asctime`, followed by the zone, as smartctl prints it: "Fri Feb 13 23:31:30 2009
/// UTC".
pub(crate) fn asctime(seconds: i64) -> String {
    utc(seconds).strftime("%a %b %e %H:%M:%S %Y UTC").to_string()
}

/// The day of a time in ISO 8601: "2009-02-13".
pub(crate) fn iso_day(seconds: i64) -> String {
    utc(seconds).strftime("%Y-%m-%d").to_string()
}

/// Days from 1970-01-01 to a day in ISO 8601.
pub(crate) fn parse_iso_day(text: &str) -> Option<i64> {
    let day = Date::strptime("%Y-%m-%d", text).ok()?;
    Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second().div_euclid(DAY_SECONDS))
}

/// The time of such a line, and whether its zone is known; otherwise UTC is assumed. `None` if it is no time.
pub(crate) fn parse_asctime(text: &str) -> Option<(i64, bool)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    // The day of the week is ignored.
    let clock = words.get(1..5)?.join(" ");
    let local = DateTime::strptime("%b %d %H:%M:%S %Y", &clock).ok()?;
    let local = local.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
    if local < 0 {
        return None;
    }
    let ahead = words.get(5).map_or(Some(0), |zone| zone_seconds(zone));
    Some((local - ahead.unwrap_or(0), ahead.is_some()))
}

/// Seconds that a zone is ahead of UTC, by its name or in the form `-03` or `+0530`.
fn zone_seconds(zone: &str) -> Option<i64> {
    if let Some((_, hours)) = ZONES.iter().find(|(name, _)| *name == zone) {
        return Some(hours * 3600);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = zone.strip_prefix(['+', '-']).filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (hours, minutes) = match digits.len() {
        2 => (digits, "0"),
        4 => digits.split_at(2),
        _ => return None,
    };
    Some(sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60))
}

/// Times beyond the calendar become its first or last moment.
fn utc(seconds: i64) -> Zoned {
    let beyond = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(seconds).unwrap_or(beyond).to_zoned(TimeZone::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, want) in [
            (0, "Thu Jan  1 00:00:00 1970 UTC"),
            // The time that smartctl's own tests and the public collection show.
            (1_234_567_890, "Fri Feb 13 23:31:30 2009 UTC"),
            (951_782_399, "Mon Feb 28 23:59:59 2000 UTC"),
            (951_782_400, "Tue Feb 29 00:00:00 2000 UTC"),
            (951_868_800, "Wed Mar  1 00:00:00 2000 UTC"),
            (crate::assumed::DAY_0_UNIX_SECONDS, "Wed Jan  1 00:00:00 2025 UTC"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100 UTC"),
        ] {
            assert_eq!(asctime(seconds), want);
            assert_eq!(parse_asctime(want), Some((seconds, true)));
        }
    }

    #[test]
    fn a_day_is_written_as_iso_8601_does() {
        assert_eq!(iso_day(1_234_567_890), "2009-02-13");
        for day in [0, 14_288, 11_016, 47_540] {
            assert_eq!(parse_iso_day(&iso_day(day * DAY_SECONDS)), Some(day));
        }
        for wrong in ["2009-13-01", "2009-02-31", "2009-02", ""] {
            assert_eq!(parse_iso_day(wrong), None, "{wrong}");
        }
        // Beyond the calendar there is no panic.
        assert_eq!(iso_day(i64::MAX), iso_day(i64::MAX - DAY_SECONDS));
        assert!(iso_day(i64::MIN).starts_with('-'));
    }

    #[test]
    fn zones_that_are_known_count_and_others_are_told() {
        let noon = 951_825_600;
        for (zone, ahead) in
            [("EST", -5 * 3600), ("EDT", -4 * 3600), ("-03", -3 * 3600), ("+0530", 19_800), ("MSK", 10_800)]
        {
            assert_eq!(
                parse_asctime(&format!("Tue Feb 29 12:00:00 2000 {zone}")),
                Some((noon - ahead, true)),
                "{zone}"
            );
        }
        assert_eq!(parse_asctime("Tue Feb 29 12:00:00 2000 XYZ"), Some((noon, false)));
        for wrong in [
            "",
            "[No Information Found]",
            "Tue Feb 29 25:00:00 2000 UTC",
            "Tue Feb 99 12:00:00 2000",
            "Tue Feb 30 12:00:00 2000",
            "Fri Feb 13 23:31:30 1969 UTC",
            "Tue Feb 1 1:2 2000",
        ] {
            assert_eq!(parse_asctime(wrong), None, "{wrong}");
        }
    }
}
