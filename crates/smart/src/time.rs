//! Times of the Unix clock and the calendar, both ways, as smartctl writes them.

/// Seconds of a day.
pub(crate) const DAY_SECONDS: i64 = 86_400;

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Hours that zones lie before UTC (RFC 2822, section 4.3, Europe's and Japan's). CST is not among them: it is America's and China's.
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

/// A time of the Unix clock as C's `asctime` writes it, with the zone behind, as smartctl does: "Fri Feb 13 23:31:30 2009 UTC".
pub(crate) fn asctime(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
    let (year, month, day) = date(days);
    let weekday = WEEKDAYS[days.rem_euclid(7) as usize];
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday} {} {day:2} {hour:02}:{minute:02}:{second:02} {year} UTC", MONTHS[month])
}

/// The day of a time, as ISO 8601 writes it: "2009-02-13".
pub(crate) fn iso_day(seconds: i64) -> String {
    let (year, month, day) = date(seconds.div_euclid(DAY_SECONDS));
    format!("{year:04}-{:02}-{day:02}", month + 1)
}

/// Days after 1970-01-01 of a day so written.
pub(crate) fn parse_iso_day(text: &str) -> Option<i64> {
    let mut parts = text.split('-').map(str::parse::<i64>);
    let mut next = || parts.next()?.ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let month = usize::try_from(month - 1).ok().filter(|month| *month < 12)?;
    Some(days(year, month, day))
}

/// The time of such a line; whether its zone is known, which is otherwise taken for UTC. None where it is no time.
pub(crate) fn parse_asctime(text: &str) -> Option<(i64, bool)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (Some(month), Some(day), Some(clock), Some(year)) = (words.get(1), words.get(2), words.get(3), words.get(4))
    else {
        return None;
    };
    let month = MONTHS.iter().position(|name| name == month)?;
    let (day, year): (i64, i64) = (day.parse().ok()?, year.parse().ok()?);
    let mut parts = clock.split(':').map(str::parse::<i64>);
    let mut next = |limit: i64| parts.next()?.ok().filter(|part| (0..limit).contains(part));
    let (hour, minute, second) = (next(24)?, next(60)?, next(61)?);
    if !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    let ahead = words.get(5).map_or(Some(0), |zone| zone_seconds(zone));
    let local = days(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second;
    Some((local - ahead.unwrap_or(0), ahead.is_some()))
}

/// Seconds that a zone is ahead of UTC: by its name, or as `-03` and `+0530` say it.
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

/// Year, month from 0 and day of the month of a day after 1970-01-01, in the Gregorian calendar.
///
/// Years begin in March, so that the leap day is the last; an era is the 400 years after which the calendar repeats (Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `civil_from_days`).
fn date(days: i64) -> (i64, usize, i64) {
    const ERA_DAYS: i64 = 146_097;
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = ((from_march + 2) % 12) as usize;
    (year + 400 * era + i64::from(month < 2), month, day)
}

/// Days after 1970-01-01 of a date, its month from 0: the other way (`days_from_civil`).
fn days(year: i64, month: usize, day: i64) -> i64 {
    let year = year - i64::from(month < 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month as i64 + 10) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
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
        assert_eq!(parse_iso_day("2009-13-01"), None);
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
            "Tue Feb 1 1:2 2000",
        ] {
            assert_eq!(parse_asctime(wrong), None, "{wrong}");
        }
    }
}
