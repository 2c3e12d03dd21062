//! From the life of one array to many: the curves of its members, the plan and the alternatives of `[forecast]`, and their results.

use std::sync::atomic::AtomicBool;

use wane_nand::Uber;
use wane_reliability::{
    AtYear, Chance, Curve, DriveKind, Effort, Endurance, Estimate, Figure, Member, Plan, PlanError as Refused,
    Redundancy, Shock, Upkeep, WornOut, chunks_written, graded_shares, outlooks,
};
use wane_report::{plain, share, size, time};
use wane_results::{
    Alternative, ArrayDrive, Calendar, DriveState, FirstFailure, Forecast, Interval, Outlook, OutlookFigures,
    OutlookYear, Row, RunResult, Summary, UberAtWear, Unfinished,
};
use wane_scenario::{AlternativeName, ArrayLayout, ArraySpec, ForecastSettings, LastWord, Scenario, UberSource};
use wane_units::Nanos;

use crate::build::PlanError;

/// Most points of a curve.
const POINTS_MAX: usize = 64;

/// Wear between two points of a chip's UBER, and how many there are: up to twice the rated erases. Beyond, the curve goes on as straight.
const UBER_STEP: f64 = 0.02;
const UBER_STEPS: u32 = 100;
/// An UBER below this loses nothing: a petabyte has 1e16 bits.
const UBER_LEAST: f64 = 1e-30;
/// Share of the members from which on it is told that no stripe fills it.
const IDLE_TOLD: f64 = 0.02;
/// Wears at which the UBER is told.
const UBER_TOLD: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// What one simulated life knows of a member.
struct Lived<'a> {
    scenario: &'a Scenario,
    told: &'a ArrayDrive,
    result: &'a RunResult,
}

/// Makes the forecast of an array that has lived, if one is asked for. `members`: the scenarios of its drives. Once `stop` is set it is left out, and the
/// result says so.
///
/// # Errors
/// Its drives have no rated erases, or a plan cannot be followed.
pub(crate) fn foretell(
    scenario: &Scenario,
    result: &mut RunResult,
    members: &[Scenario],
    calendar: Option<Calendar>,
    stop: &AtomicBool,
) -> Result<(), PlanError> {
    let (Some(settings), Some(spec), Some(calendar)) = (&scenario.forecast, &scenario.array, calendar) else {
        return Ok(());
    };
    let writes_per_day = calendar.drive_writes_per_day;
    let made = forecast((settings, spec, scenario.seed), result, members, writes_per_day, stop)?;
    let Some(array) = &mut result.summary.array else { return Ok(()) };
    if made.is_none() {
        array.interrupted = Some(Unfinished::Forecast);
    }
    array.forecast = made;
    Ok(())
}

/// The forecast; `None` if `stop` was set. `writes_per_day`: array writes a day.
fn forecast(
    (settings, array, seed): (&ForecastSettings, &ArraySpec, u64),
    result: &RunResult,
    members: &[Scenario],
    writes_per_day: f64,
    stop: &AtomicBool,
) -> Result<Option<Forecast>, PlanError> {
    let refuse = |why: Refused| PlanError::Setting("forecast".to_owned(), why.to_string());
    let summary = &result.summary;
    let stood = summary.array.iter().flat_map(|array| &array.drives).zip(members).zip(&result.drives);
    let lived: Vec<Lived<'_>> = stood
        .filter(|((told, _), _)| told.came_at == 0.0)
        .map(|((told, scenario), result)| Lived { scenario, told, result })
        .collect();
    let plan = plan(settings, array, summary, &lived, writes_per_day)?;
    let (mut chosen, mut plans) = (Vec::new(), vec![plan]);
    for name in settings.chosen(array) {
        // What nobody asked for is left out where these members cannot have it.
        let is_asked = settings.alternatives.is_some();
        match alternative(name, settings, &plans[0]).of(&plans[0]) {
            Ok(changed) if !is_asked && name == AlternativeName::StaggeredAges && begins_worn_out(&changed) => {}
            Ok(changed)
                if !is_asked
                    && name == AlternativeName::EarlyReplacement
                    && settings.early_replacement >= mean_life(&changed) => {}
            Ok(changed) => {
                chosen.push(name);
                plans.push(changed);
            }
            Err(why) if is_asked => return Err(refuse(why)),
            Err(_) => {}
        }
    }
    let effort = Effort {
        arrays: u64::from(settings.arrays),
        seed,
        years: settings.years.clone(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let Some(found) = outlooks(&plans, &effort, stop).map_err(refuse)? else { return Ok(None) };
    let mut found = found.iter().map(told_outlook);
    let Some(planned) = found.next() else { return Ok(None) };
    let found: Vec<Outlook> = found.map(|outlook| within_chances(outlook, &planned)).collect();
    let alternatives = chosen.iter().zip(&plans[1..]).zip(found).map(|((name, plan), outlook)| Alternative {
        name: name.name().to_owned(),
        told: in_words(*name, settings, &plans[0], plan),
        outlook,
    });
    Ok(Some(Forecast {
        arrays: effort.arrays,
        plan: plan_in_words(settings, &plans[0]),
        assumptions: assumptions(settings, array, &plans[0], &lived),
        lost_beyond_code: Some(plans[0].bytes_lost_with_array() / plans[0].data_bytes),
        uber: told_uber(&plans[0]),
        planned,
        alternatives: alternatives.collect(),
    }))
}

/// The plan that the array follows.
fn plan(
    settings: &ForecastSettings,
    array: &ArraySpec,
    summary: &Summary,
    lived: &[Lived<'_>],
    writes_per_day: f64,
) -> Result<Plan, PlanError> {
    let refuse = |why: Refused| PlanError::Setting("forecast".to_owned(), why.to_string());
    let bytes_of = |lived: &Lived<'_>| lived.scenario.device.logical_bytes();
    let largest = lived.iter().map(bytes_of).max().unwrap_or(1).max(1) as f64;
    let scale = settings.drive_capacity.map_or(1.0, |bought| bought.0 as f64 / largest);
    let (count, parities) = (lived.len(), settings.parities);
    let redundancy = settings.redundancy(&array.settings);
    let full = settings.full_stripe_share.get();
    // The simulated stripe writes one chunk for each of the host's, on one of its members.
    let (data_share, writes) = match parities {
        0 => (1.0, 1.0),
        _ => {
            let even = f64::from(parities) / count as f64;
            (1.0 - even, chunks_written(even, count, parities, full) * count as f64)
        }
    };
    let data_bytes = summary.capacity.logical_bytes_initial as f64 * scale * data_share;
    let mean = settings.endurance.unwrap_or_else(|| endurance_of(lived));
    let endurance = Endurance::new(mean, settings.spread, settings.cv, settings.batch_cv).map_err(refuse)?;
    let members = lived.iter().enumerate().map(|(place, lived)| {
        let (wear, bytes_before) = wear_of(lived, scale).map_err(refuse)?;
        let until =
            lived.told.ended_at.unwrap_or(summary.end.at_drive_writes) * summary.capacity.logical_bytes_initial as f64;
        let load = if until > 0.0 { lived.told.bytes_written as f64 / until } else { 0.0 };
        let drive = DriveKind {
            capacity_bytes: bytes_of(lived) as f64 * scale,
            wear,
            uber_log10: uber(settings, lived).map_err(refuse)?,
            endurance: Some(endurance),
            chance: Chance::new(settings.afr.get(), settings.afr_shape).map_err(refuse)?,
        };
        let batch = place as u32 % settings.batches;
        Ok(Member { drive, load: Curve::slope(load * writes), batch, bytes_before, age_days: 0.0 })
    });
    let members = members.collect::<Result<Vec<Member>, PlanError>>()?;
    let plan = Plan {
        redundancy,
        stripe_width: stripe_width(array, count),
        members,
        spare: None,
        host_bytes_per_day: writes_per_day * data_bytes,
        data_bytes,
        full_stripe_share: full,
        latent_per_tb_year: settings.latent_per_tb_year,
        upkeep: Upkeep {
            detection_days: settings.detection,
            arrival_days: settings.spare_arrival,
            spares: settings.spares,
            rebuild_bytes_per_day: settings.rebuild_rate.0 as f64 * (Nanos::DAY.0 / Nanos::SECOND.0) as f64,
            scrub_days: Some(settings.scrub).filter(|days| *days > 0.0),
            replace_at: array.settings.replace_at.map(wane_units::Ratio::get),
            worn_out: match array.settings.at_end_of_life {
                LastWord::ReadOnly => WornOut::ReadOnly,
                LastWord::Gone => WornOut::Gone,
            },
        },
        shock: Shock { per_year: settings.shocks_per_year, takes: settings.shock_takes.get() },
    };
    plan.check().map_err(refuse)?;
    Ok(plan)
}

/// Whether a member is worn out when it begins.
fn begins_worn_out(plan: &Plan) -> bool {
    plan.members.iter().any(|member| member.drive.wear.at(member.bytes_before) >= mean_life(plan))
}

/// The share of its rated erases at which a member dies on average.
fn mean_life(plan: &Plan) -> f64 {
    let lives = plan.members.iter().filter_map(|member| member.drive.endurance);
    lives.map(|endurance| endurance.mean()).fold(f64::INFINITY, f64::min)
}

/// What an alternative changes of chances, as far as chances can change: estimates of nearly certain losses add up to more than 1 by luck.
fn within_chances(mut outlook: Outlook, planned: &Outlook) -> Outlook {
    for (year, planned) in outlook.years.iter_mut().zip(&planned.years) {
        let Some(changes) = &mut year.changes else { continue };
        let planned = &planned.figures;
        let chances = [
            (&mut changes.any_lost, planned.any_lost.mean),
            (&mut changes.array_lost, planned.array_lost.mean),
            (&mut changes.member_failed, planned.member_failed.mean),
        ];
        for (change, before) in chances {
            let within = |change: f64| change.clamp(-before, 1.0 - before);
            *change = Interval { mean: within(change.mean), low: within(change.low), high: within(change.high) };
        }
    }
    outlook
}

/// Chunks of a stripe that is narrower than the array. Of a linear array each piece lies on one member.
fn stripe_width(array: &ArraySpec, members: usize) -> Option<u32> {
    if array.settings.layout == ArrayLayout::Linear {
        return Some(1);
    }
    let of_raid = array.settings.width.filter(|_| array.settings.layout == ArrayLayout::Raid);
    of_raid.filter(|width| (*width as usize) < members)
}

/// The logarithm of the UBER against wear.
fn uber(settings: &ForecastSettings, lived: &Lived<'_>) -> Result<Curve, Refused> {
    let log = |uber: f64, least: f64| libm::log10(uber.max(least));
    let of_chip = match settings.uber {
        UberSource::Stated => None,
        UberSource::Chip => crate::build::errors(lived.scenario).zip(rated_erases(lived)),
    };
    let Some((errors, rated)) = of_chip else {
        return Curve::new(vec![(0.0, log(settings.uber_new, 1e-300)), (1.0, log(settings.uber_worn, 1e-300))]);
    };
    let (uber, retention, reads) = (Uber::new(&errors), settings.uber_retention, f64::from(settings.uber_reads));
    let point = |step: u32| {
        let wear = f64::from(step) * UBER_STEP;
        (wear, log(uber.at(wear * rated, retention, reads), UBER_LEAST))
    };
    Curve::new((0..=UBER_STEPS).map(point).collect())
}

/// The UBER of the plan at some wears: of the member with the highest.
fn told_uber(plan: &Plan) -> Vec<UberAtWear> {
    let at = |wear: f64| plan.members.iter().map(|member| member.drive.uber(wear)).fold(0.0, f64::max);
    UBER_TOLD.into_iter().map(|wear| UberAtWear { wear, uber: at(wear) }).collect()
}

/// Where the UBER comes from, in a sentence.
fn uber_in_words(settings: &ForecastSettings, plan: &Plan, lived: &[Lived<'_>]) -> String {
    let told: Vec<String> =
        told_uber(plan).iter().map(|at| format!("{:.1e} at {}", at.uber, percent(at.wear))).collect();
    let chips = lived.iter().filter_map(|lived| lived.scenario.medium.chip.as_ref());
    let mut names: Vec<&str> = chips.map(|chip| chip.name.as_str()).collect();
    names.dedup();
    let told = told.join(", ");
    match settings.uber {
        UberSource::Stated => {
            format!("UBER is stated, and its logarithm grows straight with the rated erases used: {told}.")
        }
        UberSource::Chip => format!(
            "UBER is what the ECC leaves of the bit errors of {} after the last re-read, {} after data were written and with {} reads of their block: \
             {told} of the rated erases. The drive's own parity and scrubs are left out.",
            names.join(" and "),
            days(settings.uber_retention),
            settings.uber_reads
        ),
    }
}

/// Erases that a member is rated for, a block.
fn rated_erases(lived: &Lived<'_>) -> Option<f64> {
    lived.scenario.device.endurance.map(f64::from)
}

/// The mean share of rated erases at which the simulated drives died; 1 if none did.
fn endurance_of(lived: &[Lived<'_>]) -> f64 {
    let died = |lived: &&Lived<'_>| matches!(lived.told.state, DriveState::ReadOnly | DriveState::Gone);
    let shares: Vec<f64> = lived.iter().filter(died).filter_map(|lived| lived.told.life_used).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    if mean > 0.0 { mean } else { 1.0 }
}

/// Share of the rated erases against bytes written, of a drive that is `scale` times as large; and the bytes that it had taken when it began.
///
/// A drive that began worn had been written before, at the pace of its first row.
fn wear_of(lived: &Lived<'_>, scale: f64) -> Result<(Curve, f64), Refused> {
    let (Some(used), mean) = (lived.told.life_used, lived.told.erase_count_mean) else {
        return Err(Refused::Alternative("plan", "needs rated erases; give drive.endurance".to_owned()));
    };
    let rated = if used > 0.0 { mean / used } else { f64::INFINITY };
    let bytes = lived.scenario.device.logical_bytes() as f64 * scale;
    let rows = &lived.result.timeline;
    let step = rows.len().div_ceil(POINTS_MAX).max(1);
    let picked = rows.iter().step_by(step).chain(rows.last());
    let of = |row: &Row| (row.drive_writes * bytes, row.erase_count.mean / rated);
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (x, wear) in picked.map(of) {
        // Rounding may let a mean fall by a hair.
        let wear = points.last().map_or(wear, |last| wear.max(last.1));
        if points.last().is_none_or(|last| x > last.0) {
            points.push((x, wear));
        }
    }
    let slope = match points[..] {
        [first, .., last] if last.1 > first.1 => (last.1 - first.1) / (last.0 - first.0),
        _ => {
            return Err(Refused::Alternative(
                "plan",
                "needs a life that wears its drives; give a later until".to_owned(),
            ));
        }
    };
    let begun = points[0].1;
    let before = begun / slope;
    points.iter_mut().for_each(|point| point.0 += before);
    if before > 0.0 {
        points.insert(0, (0.0, 0.0));
    }
    Ok((Curve::new(points)?, before))
}

/// The alternative of a name.
fn alternative(name: AlternativeName, settings: &ForecastSettings, plan: &Plan) -> wane_reliability::Alternative {
    use wane_reliability::Alternative as Of;
    match name {
        AlternativeName::Spare => Of::Spare,
        AlternativeName::MoreRedundancy => Of::MoreRedundancy,
        AlternativeName::StaggeredAges => Of::StaggeredAges { step: settings.stagger },
        AlternativeName::UnevenParity => Of::UnevenParity { shares: graded_shares(plan) },
        AlternativeName::CapacityVariance => Of::CapacityVariance { factor: settings.capacity_variance.unwrap_or(1.0) },
        AlternativeName::EarlyReplacement => Of::ReplaceAt { wear: settings.early_replacement },
    }
}

/// A share for a terminal and a page alike.
fn percent(of: f64) -> String {
    plain(&share(of))
}

/// The sizes of members, the largest first: "4 TB", or "2 of 4 TB, 512 GB".
fn sizes(members: &[Member]) -> String {
    let mut sizes: Vec<f64> = members.iter().map(|member| member.drive.capacity_bytes).collect();
    sizes.sort_by(|one, other| other.total_cmp(one));
    let mut told: Vec<(String, usize)> = Vec::new();
    for size in sizes.into_iter().map(|bytes| plain(&size(bytes))) {
        match told.last_mut() {
            Some((last, count)) if *last == size => *count += 1,
            _ => told.push((size, 1)),
        }
    }
    let several = told.len() > 1;
    let one = |(size, count): (String, usize)| if several && count > 1 { format!("{count} of {size}") } else { size };
    told.into_iter().map(one).collect::<Vec<String>>().join(", ")
}

/// The members of a plan in words: "8 drives of 7.68 TB", "6 drives (2 of 4 TB, 3 of 2 TB, 512 GB)".
fn drives(plan: &Plan) -> String {
    let (count, sizes) = (plan.members.len(), sizes(&plan.members));
    if sizes.contains(',') { format!("{count} drives ({sizes})") } else { format!("{count} drives of {sizes}") }
}

/// What an alternative of a plan is, in words. `plan`: with the alternative.
fn in_words(name: AlternativeName, settings: &ForecastSettings, planned: &Plan, plan: &Plan) -> String {
    match name {
        // It can stand in for any member.
        AlternativeName::Spare => {
            let largest = planned.members.iter().map(|member| member.drive.capacity_bytes).fold(0.0, f64::max);
            format!("a spare of {} on the shelf", plain(&size(largest)))
        }
        AlternativeName::MoreRedundancy => {
            let more = &plan.members[planned.members.len()..];
            let sizes = sizes(more);
            format!("{} on {} drives, {} more of {sizes}", protection(plan), plan.members.len(), more.len())
        }
        AlternativeName::StaggeredAges => {
            format!("members that begin with {} of their rated erases between them", percent(settings.stagger))
        }
        AlternativeName::UnevenParity => {
            let shares = graded_shares(planned);
            let told = |share: Option<&f64>| percent(share.copied().unwrap_or_default());
            format!("parity in shares from {} to {}", told(shares.first()), told(shares.last()))
        }
        AlternativeName::CapacityVariance => {
            format!("drives that shrink and live {} times as long", settings.capacity_variance.unwrap_or(1.0))
        }
        AlternativeName::EarlyReplacement => {
            format!("members replaced at {} of their rated erases", percent(settings.early_replacement))
        }
    }
}

/// What a plan has besides data, in words.
fn protection(plan: &Plan) -> String {
    let told = plan.redundancy.in_words();
    match (plan.redundancy, plan.stripe_width) {
        (Redundancy::Parity(1..), Some(width)) => format!("{told} in stripes of {width}"),
        _ => told,
    }
}

/// The plan in a sentence.
fn plan_in_words(settings: &ForecastSettings, plan: &Plan) -> String {
    let spares = match settings.spares {
        0 => "no spare on the shelf".to_owned(),
        1 => "a spare on the shelf".to_owned(),
        count => format!("{count} spares on the shelf"),
    };
    let rebuild = plan.members.iter().map(|member| member.drive.capacity_bytes).fold(0.0, f64::max)
        / plan.upkeep.rebuild_bytes_per_day;
    format!(
        "{}, {}, {spares}; a failure is noticed after {}, a drive arrives {} later, a rebuild{} takes {}",
        drives(plan),
        protection(plan),
        days(settings.detection),
        days(settings.spare_arrival),
        if sizes(&plan.members).contains(',') { " of the largest" } else { "" },
        days(rebuild)
    )
}

fn days(days: f64) -> String {
    plain(&time(days))
}

/// What the figures stand on.
fn assumptions(settings: &ForecastSettings, array: &ArraySpec, plan: &Plan, lived: &[Lived<'_>]) -> Vec<String> {
    let seen = lived.iter().filter_map(|lived| lived.told.life_used).fold(0.0, f64::max);
    let mean = plan.members.first().and_then(|member| member.drive.endurance).map_or(1.0, |endurance| endurance.mean());
    let mut told = vec![
        format!(
            "Wear is that of one simulated life, up to {} of the rated erases; beyond that it goes on as straight.",
            percent(seen)
        ),
        format!(
            "Drives die at {} of their rated erases on average; a coefficient of variation of {} within a batch and of {} between batches is assumed.",
            percent(mean),
            settings.cv,
            settings.batch_cv
        ),
        format!(
            "Assumed, not measured: {} of new drives fail in a year for other reasons than wear.",
            percent(settings.afr.get())
        ),
        uber_in_words(settings, plan, lived),
    ];
    if plan.upkeep.worn_out == WornOut::ReadOnly {
        told.push("A worn drive reads on until its replacement has its data; array.at-end-of-life = \"gone\" is the other case.".to_owned());
    }
    if settings.shocks_per_year == 0.0 {
        told.push(
            "No event takes several members at once (forecast.shocks-per-year is 0), which is hopeful.".to_owned(),
        );
    }
    if settings.parities > 0 {
        told.push("The simulated stripe has no parity: its members' wear is scaled to what parity writes.".to_owned());
    }
    told.extend(closed_forms(settings, array));
    let idle = idle_share(array, lived);
    if idle >= IDLE_TOLD {
        told.push(format!(
            "Metadata and space that no stripe fills take {} of the simulated members, which spares them wear: larger members or a smaller array.chunk have less.",
            percent(idle)
        ));
    }
    told
}

/// Share of the members of a raid that has no chunk of a stripe; 0 for other layouts.
fn idle_share(array: &ArraySpec, lived: &[Lived<'_>]) -> f64 {
    let coder = array.settings.width.zip(wane_raid::code::code(&array.settings.code));
    let coder = coder.and_then(|(width, code)| wane_raid::code::Coder::new(code, width as usize));
    let Some(coder) = coder.filter(|_| array.settings.layout == ArrayLayout::Raid) else { return 0.0 };
    let all: u64 = lived.iter().map(|lived| lived.scenario.device.logical_bytes()).sum();
    let chunks = array.device.logical_bytes() as f64 * coder.width() as f64 / coder.data() as f64;
    (1.0 - chunks / all.max(1) as f64).max(0.0)
}

/// Which alternatives of a simulated code nobody simulated, in a sentence.
fn closed_forms(settings: &ForecastSettings, array: &ArraySpec) -> Option<String> {
    let chosen = settings.chosen(array);
    let has = |name: AlternativeName| chosen.contains(&name);
    let has_copies = matches!(settings.redundancy(&array.settings), Redundancy::Copies(_));
    let what = match (has(AlternativeName::MoreRedundancy), has(AlternativeName::UnevenParity)) {
        (true, true) => "One parity more and uneven parity are closed forms",
        (true, false) if has_copies => "One copy more is a closed form",
        (true, false) => "One parity more is a closed form",
        (false, true) => "Uneven parity is a closed form",
        (false, false) => return None,
    };
    let code = &array.settings.code;
    let of_raid = (array.settings.layout == ArrayLayout::Raid).then_some(());
    let how = match has_copies {
        true => "each member takes as many writes as before".to_owned(),
        false => format!(
            "its members' wear is that of the simulated \"{code}\", scaled by the chunks that each writes with {} of the data in full stripes \
             (forecast.full-stripe-share)",
            percent(settings.full_stripe_share.get())
        ),
    };
    of_raid.map(|()| format!("{what}, not a simulation: {how}."))
}

fn told_outlook(outlook: &wane_reliability::Outlook) -> Outlook {
    let first = |first: &wane_reliability::FirstFailure| FirstFailure {
        share: first.share,
        years: first.years,
        low: first.low,
        high: first.high,
    };
    Outlook {
        first_failure: outlook.first_failure.iter().map(first).collect(),
        years: outlook.years.iter().map(told_year).collect(),
    }
}

fn told_year(year: &AtYear) -> OutlookYear {
    let interval = |of: Estimate| Interval { mean: of.mean, low: of.low, high: of.high };
    let figures = |of: &dyn Fn(Figure) -> Interval| OutlookFigures {
        any_lost: of(Figure::AnyLost),
        array_lost: of(Figure::ArrayLost),
        bytes_lost_per_tb_year: of(Figure::BytesPerTbYear),
        days_degraded: of(Figure::DegradedDays),
        member_failed: of(Figure::MemberFailed),
        drives_replaced: of(Figure::DrivesReplaced),
    };
    let change = |figure: Figure| year.change(figure).map(interval).unwrap_or_default();
    let causes = |of: &[(wane_reliability::Cause, f64)]| {
        of.iter()
            .filter(|(_, chance)| *chance > 0.0)
            .map(|(cause, chance)| (cause.name().to_owned(), *chance))
            .collect()
    };
    OutlookYear {
        years: year.years,
        figures: figures(&|figure| interval(year.figure(figure))),
        changes: (!year.changes.is_empty()).then(|| figures(&change)),
        loss_causes: causes(&year.loss_causes),
        first_causes: causes(&year.first_causes),
    }
}
