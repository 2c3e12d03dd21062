//! A drive's life in the units of data sheets, and the ages at which it was probed.

use wane_results::{CalendarOrigin, EndReason, RunResult, Summary, Window, WindowKind};

use super::timed::{duration, of_few};
use wane_report::{counted, lifetime, plain};

/// Most ages that are listed one by one.
const AGES_MAX: usize = 12;

/// Returns TBW, years and DWPD; without a calendar only TBW.
pub(super) fn words(summary: &Summary) -> Option<String> {
    let life = summary.life.as_ref()?;
    let is_over = summary.end.reason == EndReason::EndOfLife;
    let written = format!("{} {}", number(life.terabytes_written), if is_over { "TBW" } else { "TB written" });
    let Some((rate, time)) = life.drive_writes_per_day.zip(life.days.map(time)) else { return Some(written) };
    let whose = match life.calendar {
        Some(CalendarOrigin::Trace) => ", the trace's own pace",
        Some(CalendarOrigin::Clock) => " by the clock",
        Some(CalendarOrigin::Scenario) | None => "",
    };
    let rated =
        life.dwpd.map(|dwpd| format!("; {} DWPD over a warranty of {} years", number(dwpd), life.warranty_years));
    Some(format!("{written}; {time} at {} drive writes a day{whose}{}", number(rate), rated.unwrap_or_default()))
}

/// Formats days in years or a shorter unit.
pub(super) fn time(days: f64) -> String {
    plain(&lifetime(days))
}

/// Formats a number with about three significant digits.
pub(super) fn number(value: f64) -> String {
    plain(&counted(value))
}

/// Returns what each probe measured, a line for each age; empty for a single probe, whose figures are printed by themselves.
pub(super) fn ages(result: &RunResult) -> Vec<(String, String)> {
    let probes: Vec<&Window> = result.windows.iter().filter(|window| window.kind == WindowKind::Probe).collect();
    if !(2..=AGES_MAX).contains(&probes.len()) {
        return Vec::new();
    }
    let age = |window: &Window| match (window.life_used, window.at_days) {
        (Some(used), _) => format!("  {:.1} % of wear", 100.0 * used),
        (None, Some(days)) => format!("  {}", time(days)),
        (None, None) => format!("  {} writes", number(window.at_drive_writes)),
    };
    let told = |window: &Window| {
        let latency = &window.latency;
        let kinds = [("reads", latency.read), ("writes", latency.write)];
        let each = kinds.into_iter().filter_map(|(kind, figures)| {
            let figures = figures?;
            let at = |ns: u64| duration(ns as f64);
            Some(format!(
                "{kind} p50 {}, p99 {}, p99.9 {}{}",
                at(figures.times.p50_ns),
                at(figures.times.p99_ns),
                at(figures.times.p999_ns),
                of_few(&figures.times)
            ))
        });
        let operations = latency.operations.map(|of| {
            let [p99, p999] = [of.all.times.p99_ns, of.all.times.p999_ns].map(|ns| duration(ns as f64));
            format!(
                "{} operations a second, p99 {p99}, p99.9 {p999}{}",
                number(of.all.per_second),
                of_few(&of.all.times)
            )
        });
        let calendar = window.at_days.or(window.life_used);
        let calendar = calendar.map(|_| format!(" ({} drive writes)", number(window.at_drive_writes)));
        each.chain(operations).collect::<Vec<_>>().join("; ") + &calendar.unwrap_or_default()
    };
    probes.into_iter().map(|window| (age(window), told(window))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_results::test_runs::{test_run, timed};
    use wane_results::{Calendar, Life};

    #[test]
    fn percentiles_of_few_requests_say_of_how_many() {
        let mut run = timed(test_run(1), 1);
        let window = |run: &RunResult, at: f64| Window {
            kind: WindowKind::Probe,
            at_drive_writes: at,
            ..run.windows[0].clone()
        };
        run.windows = vec![window(&run, 0.0), window(&run, 1.0)];
        for (window, count) in run.windows.iter_mut().zip([24, 1000]) {
            window.latency.write = None;
            window.latency.read.as_mut().unwrap().times.count = count;
        }
        let told: Vec<bool> = ages(&run).iter().map(|(_, told)| told.contains(" of 24 alone")).collect();
        assert_eq!(told, [true, false]);
    }

    #[test]
    fn a_life_is_told_in_tbw_alone_without_a_calendar() {
        let mut summary = test_run(1).summary;
        let capacity = summary.capacity.logical_bytes_initial;
        let written = summary.host.drive_writes;
        let calendar = Calendar { drive_writes_per_day: 0.01, origin: CalendarOrigin::Trace };
        let tbw = number(written * capacity as f64 / 1e12);
        assert_eq!(words(&summary), Some(format!("{tbw} TBW")));
        summary.life = Some(Life::of(written, capacity, Some(calendar), true));
        let told = words(&summary).unwrap();
        assert!(told.starts_with(&format!("{tbw} TBW; ")), "{told}");
        assert!(
            told.contains(" years at 0.01 drive writes a day, the trace's own pace; ")
                && told.ends_with("DWPD over a warranty of 5 years"),
            "{told}"
        );
        summary.end.reason = EndReason::Days;
        summary.life = Some(Life::of(written, capacity, Some(calendar), false));
        let told = words(&summary).unwrap();
        assert!(told.contains("TB written; ") && !told.contains("DWPD"), "{told}");
    }

    #[test]
    fn each_age_has_its_line() {
        let mut result = timed(test_run(1), 3);
        assert_eq!(ages(&result), []);
        for (window, days) in result.windows.iter_mut().zip([0.0, 365.0, 1095.0]) {
            (window.kind, window.at_days) = (WindowKind::Probe, Some(days));
        }
        let told = ages(&result);
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["  0 days", "  1 year", "  3 years"]);
        assert!(told.iter().all(|(_, line)| line.contains("p99.9") && line.ends_with("drive writes)")), "{told:?}");
        for (window, used) in result.windows.iter_mut().zip([0.3, 0.6, 0.97]) {
            (window.at_days, window.life_used) = (None, Some(used));
        }
        let told = ages(&result);
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["  30.0 % of wear", "  60.0 % of wear", "  97.0 % of wear"]);
        assert!(told.iter().all(|(_, line)| line.ends_with("drive writes)")), "{told:?}");
    }
}
