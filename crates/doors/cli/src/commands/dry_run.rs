//! Estimates of a run's time and life, for `--dry-run`.

use wane_lab::build::memory_estimate;
use wane_lab::estimate::{Estimate, aging_seconds, estimate};
use wane_lab::kept::Target;
use wane_lab::predict::predict_members;
use wane_results::DAYS_PER_YEAR;
use wane_scenario::{Ages, Scale, Scenario, Workload};

use super::estimate::{daily, first_end};

/// Seconds of a run above which scaling is offered.
const LONG_SECONDS: f64 = 3600.0;
/// Most cells of a sweep that are measured; the others are assumed to take as long on average.
const CELLS_MAX: usize = 8;

/// Returns the lines on time: of the scenario, and of all seeds and cells.
pub(super) fn lines(scenario: &Scenario, cells: &[Scenario], seeds: Option<(String, usize)>) -> String {
    let own = estimate(scenario);
    let mut text = match own {
        Some(Estimate { seconds, pages, .. }) => {
            let rate = if pages > 0.0 {
                format!(" for {:.3} billion flash pages, {:.2} million a second", pages / 1e9, pages / seconds / 1e6)
            } else {
                String::new()
            };
            let files = if scenario.file_system.is_some() { ", without what the file system does" } else { "" };
            format!("# time: about {}{rate}, measured on a miniature{files}\n", time(seconds))
        }
        None => "# time: as long as the trace\n".to_owned(),
    };
    let in_all = |seconds: Option<f64>| {
        seconds.map_or_else(String::new, |seconds| format!(", about {} on one core in all", time(seconds)))
    };
    text += &forwarded(scenario, own);
    text += &life(scenario);
    if let Some((named, count)) = seeds {
        // The cells of a sweep have the seeds among their values.
        let all = own.filter(|_| cells.len() == 1).map(|each| each.seconds * count as f64);
        text += &format!("# seeds: {named}{}\n", in_all(all));
    }
    if cells.len() > 1 {
        let step = cells.len().div_ceil(CELLS_MAX);
        let measured: Option<Vec<f64>> =
            cells.iter().step_by(step).map(|cell| estimate(cell).map(|each| each.seconds)).collect();
        let all = measured.map(|each| each.iter().sum::<f64>() / each.len() as f64 * cells.len() as f64);
        text += &format!("# cells of the sweep: {}{}; this is the first\n", cells.len(), in_all(all));
    }
    if own.is_some_and(|own| own.seconds > LONG_SECONDS)
        && let Some(scaled) = offer(scenario)
    {
        text += &scaled;
    }
    text
}

/// Predicts when a drive dies, if theory answers at once, and counts the probes that it does not reach; empty if it outlives the run.
fn life(scenario: &Scenario) -> String {
    let [phase] = &scenario.phases[..] else { return String::new() };
    // A trace would have to be read.
    if matches!(phase.workload, Workload::Trace(_)) {
        return String::new();
    }
    let mut to_its_end = scenario.clone();
    to_its_end.phases[0].until.end_of_life = true;
    let Ok((members, departures)) = predict_members(&to_its_end) else { return String::new() };
    let Some(dies) = first_end(&members) else { return String::new() };
    let days = daily(scenario).map(|rate| dies / rate);
    let until = &phase.until;
    let outlives = |asked: Option<f64>, life: Option<f64>| asked.zip(life).is_some_and(|(asked, life)| asked <= life);
    let asked = until.days.or(until.years.map(|years| DAYS_PER_YEAR * years));
    // How much a given number of requests writes is not known in advance.
    if outlives(until.drive_writes, Some(dies)) || outlives(asked, days) || until.requests.is_some() {
        return String::new();
    }
    let time = days.map_or_else(String::new, |days| format!(", {}", super::life::time(days)));
    let warned = !departures.is_empty()
        || members.iter().filter_map(|member| member.prediction.as_ref()).any(|found| !found.warnings.is_empty());
    let rough = if warned { ", which has warnings" } else { "" };
    let missed = scenario.probe.as_ref().map_or(0, |probe| match &probe.ages {
        Ages::DriveWrites(ages) => ages.iter().filter(|age| **age > dies).count(),
        Ages::Days(ages) => ages.iter().filter(|age| days.is_some_and(|days| **age > days)).count(),
        // How worn the drive is when it dies is not predicted.
        Ages::Wear(_) => 0,
    });
    let unseen = match missed {
        0 => String::new(),
        1 => "; the last probe is not reached".to_owned(),
        missed => format!("; the last {missed} probes are not reached"),
    };
    let what = if scenario.array.is_some() { "array writes to the end of the first drive" } else { "drive writes" };
    format!("# life: about {} {what}{time}, by wane estimate{rough}{unseen}\n", super::life::number(dies))
}

/// Says which part of the life is simulated and which is predicted; empty if all is simulated.
fn forwarded(scenario: &Scenario, estimate: Option<Estimate>) -> String {
    let Some(spec) = &scenario.fast_forward else { return String::new() };
    let model = spec.model.name();
    if spec.adaptive {
        return format!(
            "# fast-forward: between {:.1} % and all of the drive writes are simulated, as the write amplification allows, the others predicted \
             by {model}; the time is that of all\n",
            100.0 / spec.factor_most
        );
    }
    let known = estimate.filter(|life| life.drive_writes > 0.0);
    debug_assert!(
        known.is_none_or(|life| life.simulated <= life.drive_writes * (1.0 + 1e-9)),
        "what is simulated is a part of the life"
    );
    let share = known.map_or(1.0 / spec.factor, |life| life.simulated / life.drive_writes);
    let of = known.map_or_else(String::new, |life| format!(", {:.1} of {:.1}", life.simulated, life.drive_writes));
    format!(
        "# fast-forward: about {:.1} % of the drive writes are simulated{of}, the others predicted by {model}\n",
        100.0 * share
    )
}

/// Offers to scale a long run; `None` if that would change little.
fn offer(scenario: &Scenario) -> Option<String> {
    let scaled = scenario.scaled(Scale::Auto).ok()?;
    let (large, small) = (scenario.host_device(), scaled.host_device());
    let (now, to) = (large.logical_bytes() as f64, small.logical_bytes() as f64);
    // --scale is relative to the drive that the scenario asks for.
    let from = small.scaled_from.map_or(now, |from| from.0 as f64);
    (now / to > 1.5).then(|| {
        let took = estimate(&scaled).map_or_else(String::new, |each| format!(", about {}", time(each.seconds)));
        format!(
            "# shorter: --scale auto runs it as {} of 1/{:.1} of the size and the same shape{took}\n",
            if scenario.array.is_some() { "an array" } else { "a drive" },
            from / to
        )
    })
}

/// Memory and time that aging a kept drive to a target takes, of which it has made `made` drive writes and used `used` of its wear; without a
/// target, those of preconditioning it.
pub(super) fn of_kept(scenario: &Scenario, target: Option<Target>, made: f64, used: f64) -> String {
    let took = aging_seconds(scenario, target, made, used)
        .map_or_else(|| "as long as the trace".to_owned(), |seconds| format!("about {}", time(seconds)));
    format!(
        "memory               about {}\ntime                 {took}, measured on a miniature\n",
        memory_estimate(scenario)
    )
}

/// Seconds in words.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}
