//! The estimator against closed forms, and against simulations that wait for luck. Each within 3 standard errors, with fixed seeds.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::AtomicBool;

use wane_reliability::{
    AtYear, Cause, Chance, Curve, DriveKind, Effort, Endurance, Estimate, Figure, Member, Outlook, Plan, Redundancy,
    Shock, Spread, Upkeep, WornOut, outlooks,
};
use wane_sim::{Stream, Streams};

const DAYS: f64 = 365.0;

/// A drive of 1 TB that neither wears out nor fails nor has unreadable bits.
fn drive() -> DriveKind {
    DriveKind {
        capacity_bytes: 1e12,
        wear: Curve::slope(1e-15),
        uber_log10: Curve::constant(-300.0),
        endurance: None,
        chance: Chance::rate(0.0).unwrap(),
    }
}

/// An array of such drives, one rated wear of which is 1,000 days of the host's writes, and whose rebuild takes N days.
fn plan(redundancy: Redundancy, members: usize, drive: &DriveKind, window: f64) -> Plan {
    let member =
        |batch| Member { drive: drive.clone(), load: Curve::slope(1.0), batch, bytes_before: 0.0, age_days: 0.0 };
    Plan {
        redundancy,
        stripe_width: None,
        members: (0..members as u32).map(member).collect(),
        spare: None,
        host_bytes_per_day: 1e12,
        data_bytes: 1e12 * (members as f64 - f64::from(redundancy.tolerance())),
        full_stripe_share: 0.0,
        latent_per_tb_year: 0.0,
        upkeep: Upkeep {
            detection_days: 0.0,
            arrival_days: 0.0,
            spares: 0,
            rebuild_bytes_per_day: drive.capacity_bytes / window,
            scrub_days: None,
            replace_at: None,
            worn_out: WornOut::Gone,
        },
        shock: Shock { per_year: 0.0, takes: 0.0 },
    }
}

fn outlook_of(plans: &[Plan], arrays: u64, years: &[f64], threads: usize) -> Vec<Outlook> {
    let effort = Effort { arrays, seed: 1, years: years.to_vec(), threads };
    outlooks(plans, &effort, &AtomicBool::new(false)).unwrap().unwrap()
}

fn at(plan: Plan, arrays: u64, years: f64) -> AtYear {
    outlook_of(&[plan], arrays, &[years], 2).remove(0).years.remove(0)
}

/// Checks an estimate within 3 standard errors, of its own and of what it is held against.
fn check(name: &str, found: Estimate, want: f64, want_error: f64) {
    let slack = 3.0 * (found.standard_error.powi(2) + want_error.powi(2)).sqrt() + 1e-9 * want;
    println!(
        "{name}: {:.6e} for {want:.6e}, off by {:+.2} of 3 standard errors",
        found.mean,
        (found.mean - want) / slack
    );
    assert!((found.mean - want).abs() <= slack, "{name}: {found:?} for {want} +- {want_error}");
}

#[test]
fn a_rare_loss_of_raid_5_and_raid_6_is_that_of_the_closed_forms() {
    let (n, l, w) = (8.0_f64, 0.01, 0.5 / DAYS);
    let failing = DriveKind { chance: Chance::rate(l).unwrap(), ..drive() };
    let years = 7.0;
    let five = at(plan(Redundancy::Parity(1), 8, &failing, 0.5), 40_000, years);
    let rate = n * l * (1.0 - (-(n - 1.0) * l * w).exp());
    assert!((rate / 7.67e-6 - 1.0).abs() < 1e-3, "{rate}");
    check("RAID-5", five.figure(Figure::ArrayLost), rate * years, 0.0);
    // Each first failure adds exactly its window's chance: only their number is drawn.
    let episodes = five.figure(Figure::DrivesReplaced).mean;
    let each = five.figure(Figure::ArrayLost).mean / episodes;
    assert!((each / (1.0 - (-(n - 1.0) * l * w).exp()) - 1.0).abs() < 2e-3, "{each}");

    let six = at(plan(Redundancy::Parity(2), 8, &failing, 0.5), 40_000, years);
    let rate = n * (n - 1.0) * (n - 2.0) * l.powi(3) * w * w / 2.0;
    assert!((rate / 3.15e-10 - 1.0).abs() < 2e-3, "{rate}");
    check("RAID-6", six.figure(Figure::ArrayLost), rate * years, 0.0);
    assert!(six.figure(Figure::ArrayLost).standard_error < 0.02 * rate * years, "luck would need 1e12 arrays");

    // n (n-1) (n-2) (n-3) l^4 W^3 / 6: the volume of the simplex in which three more follow.
    let triple = at(plan(Redundancy::Parity(3), 8, &failing, 0.5), 40_000, years);
    let rate = n * (n - 1.0) * (n - 2.0) * (n - 3.0) * l.powi(4) * w.powi(3) / 6.0;
    check("three parities", triple.figure(Figure::ArrayLost), rate * years, 0.0);
}

/// A normal life of 5 years, which only drives of the first generation end.
fn aged_together(redundancy: Redundancy, members: usize, cv: f64) -> Plan {
    let window = 3.5;
    let life = 5.0 * DAYS;
    // One day of the host's writes uses 1 / life of a drive.
    let worn = DriveKind {
        wear: Curve::slope(1.0 / (1e12 * life)),
        endurance: Some(Endurance::new(1.0, Spread::Normal, cv, 0.0).unwrap()),
        ..drive()
    };
    Plan { spare: Some(drive()), ..plan(redundancy, members, &worn, window) }
}

/// Shares of arrays that lose `needed` members within a window, by order statistics: nothing but sorted normal draws.
fn lost_by_order(members: usize, needed: usize, cv: f64) -> (f64, f64) {
    const DRAWS: u32 = 20_000;
    let mut stream = Streams::new(9).stream("order");
    let mut lost = 0u32;
    for _ in 0..DRAWS {
        let mut lives: Vec<f64> = (0..members).map(|_| 5.0 * DAYS * (1.0 + cv * stream.normal())).collect();
        lives.sort_by(f64::total_cmp);
        lost += u32::from(lives.windows(needed).any(|few| few[needed - 1] - few[0] < 3.5));
    }
    let share = f64::from(lost) / f64::from(DRAWS);
    (share, (share * (1.0 - share) / f64::from(DRAWS)).sqrt())
}

#[test]
fn drives_of_one_age_and_load_are_lost_together() {
    // By an independent model: coefficient of variation; mirror, RAID-5 and RAID-6 of 8 drives.
    let table = [(0.01, [0.107, 0.97, 0.34]), (0.05, [0.021, 0.46, 0.021]), (0.2, [0.005, 0.14, 0.001])];
    for (cv, [mirror, five, six]) in table {
        let sigma = 5.0 * DAYS * cv;
        let closed = libm::erf(3.5 / (2.0 * sigma));
        let years = 12.0;
        let arrays = 6_000;
        // The table cuts digits off, and its arrays are a sample too.
        let rounded = |printed: f64| if printed >= 0.1 { 0.01 } else { 0.001 };
        let found = at(aged_together(Redundancy::Copies(2), 2, cv), arrays, years).figure(Figure::ArrayLost);
        check(&format!("mirror at {cv}, {mirror} printed"), found, closed, 0.0);
        assert!((closed - mirror).abs() < rounded(mirror), "{closed} for {mirror}");
        for (parities, printed) in [(1, five), (2, six)] {
            let found = at(aged_together(Redundancy::Parity(parities), 8, cv), arrays, years).figure(Figure::ArrayLost);
            let (share, error) = lost_by_order(8, parities as usize + 1, cv);
            check(&format!("{parities} parities at {cv}, {printed} printed"), found, share, error);
            let slack = 3.0 * found.standard_error + rounded(printed);
            assert!((found.mean - printed).abs() < slack, "{found:?} for {printed} at {cv}");
        }
    }
}

/// Eight drives of 7.68 TB, of which one is sure to die after half a year.
fn one_dies(uber_log10: f64) -> Plan {
    let large = DriveKind { capacity_bytes: 7.68e12, uber_log10: Curve::constant(uber_log10), ..drive() };
    let mut plan = plan(Redundancy::Parity(1), 8, &large, 1.0);
    plan.data_bytes = 7.0 * 7.68e12;
    plan.spare = Some(large);
    plan.members[0].drive.endurance = Some(Endurance::new(0.183, Spread::Lognormal, 0.0, 0.0).unwrap());
    plan
}

#[test]
fn a_rebuild_loses_a_sector_by_the_bits_it_reads() {
    for (uber, printed) in [(-17.0, 0.004), (-15.0, 0.35)] {
        let bits = 7.0 * 7.68e12 * 8.0;
        let want = 1.0 - (-bits * 10f64.powf(uber)).exp();
        assert!((want - printed).abs() < 0.0005, "{want}");
        let found = at(one_dies(uber), 16, 1.0);
        check("sectors", found.figure(Figure::AnyLost), want, 0.0);
        let any: f64 = found.loss_causes.iter().map(|(_, chance)| chance).sum();
        assert!((any - want).abs() < 1e-9);
        assert_eq!(found.figure(Figure::ArrayLost).mean, 0.0, "the array itself lives on");
        let bytes = bits * 10f64.powf(uber) * 4096.0;
        check("bytes", found.figure(Figure::BytesPerTbYear), bytes / (7.0 * 7.68), 0.0);
    }
}

#[test]
fn sectors_that_no_scrub_found_are_lost_in_a_rebuild() {
    let mut plan = one_dies(-300.0);
    (plan.latent_per_tb_year, plan.upkeep.scrub_days) = (0.01, Some(30.0));
    // Healthy stripes lose nothing to speak of: two sectors of one stripe must be bad at once.
    let want = 1.0 - (-0.01 * 7.0 * 7.68 * 15.0 / DAYS).exp();
    let found = at(plan.clone(), 16, 1.0);
    let latent = found.loss_causes[Cause::Latent as usize].1;
    assert!((latent / want - 1.0).abs() < 1e-6, "{latent} for {want}");
    plan.upkeep.scrub_days = None;
    let unscrubbed = at(plan, 16, 1.0).figure(Figure::AnyLost).mean;
    // It failed on day 183, and was whole again a day later.
    let want = 1.0 - (-0.01 * 7.0 * 7.68 * 184.0 / DAYS).exp();
    assert!((unscrubbed / want - 1.0).abs() < 1e-6, "{unscrubbed} for {want}");
}

/// The Markov chain of an array that may lose one member: states whole, degraded and lost, repaired at a rate. The chance of loss after some years by
/// its two eigenvalues.
fn markov(n: f64, l: f64, repair: f64, years: f64) -> f64 {
    let (fail, second) = (n * l, (n - 1.0) * l);
    let half = f64::midpoint(fail, second + repair);
    let root = (half * half - fail * second).sqrt();
    // Their product is fail * second: the small one without a difference of equal numbers.
    let large = -(half + root);
    let small = fail * second / large;
    1.0 - (large * (small * years).exp() - small * (large * years).exp()) / (large - small)
}

#[test]
fn lives_of_a_constant_rate_are_a_markov_chain() {
    let (l, window) = (0.05, 0.2);
    let want = markov(6.0, l, DAYS / window, 5.0);
    let chance = |chance| DriveKind { chance, ..drive() };
    // A Weibull wear-out of shape 1 forgets too, whatever the rebuild wears.
    let worn = DriveKind {
        wear: Curve::slope(l / (1e12 * DAYS)),
        endurance: Some(Endurance::new(1.0, Spread::Weibull, 1.0, 0.0).unwrap()),
        ..drive()
    };
    let kinds = [
        ("a rate", chance(Chance::rate(l).unwrap())),
        ("shape 1", chance(Chance::new(1.0 - (-l).exp(), 1.0).unwrap())),
        ("wear", worn),
    ];
    for (name, kind) in kinds {
        let found = at(plan(Redundancy::Parity(1), 6, &kind, window), 20_000, 5.0).figure(Figure::ArrayLost);
        check(name, found, want, 0.0);
    }
}

/// An array whose members fail at a rate, simulated until luck ends it: the share that is lost, and its standard error.
fn naive(members: usize, tolerance: usize, rate: f64, window: f64, years: f64) -> (f64, f64) {
    const ARRAYS: u32 = 20_000;
    let mut stream = Streams::new(5).stream("naive");
    let lost = (0..ARRAYS).filter(|_| is_lost(members, tolerance, rate, window, years, &mut stream)).count() as f64;
    let share = lost / f64::from(ARRAYS);
    (share, (share * (1.0 - share) / f64::from(ARRAYS)).sqrt())
}

fn is_lost(members: usize, tolerance: usize, rate: f64, window: f64, years: f64, stream: &mut Stream) -> bool {
    let mut failures = Vec::new();
    for _ in 0..members {
        let mut day = 0.0;
        loop {
            day += stream.exponential() / rate * DAYS;
            if day > years * DAYS {
                break;
            }
            failures.push(day);
            day += window;
        }
    }
    failures.sort_by(f64::total_cmp);
    failures.windows(tolerance + 1).any(|few| few[tolerance] - few[0] < window)
}

#[test]
fn forced_failures_do_not_change_the_chance() {
    // Rates at which losses are common, so that luck finds them.
    for (parities, rate, window) in [(1, 0.3, 4.0), (2, 0.6, 20.0), (3, 1.0, 40.0)] {
        let kind = DriveKind { chance: Chance::rate(rate).unwrap(), ..drive() };
        let found = at(plan(Redundancy::Parity(parities), 7, &kind, window), 10_000, 3.0).figure(Figure::ArrayLost);
        let (share, error) = naive(7, parities as usize, rate, window, 3.0);
        assert!(share > 0.05, "{parities} {share}");
        check(&format!("{parities} parities"), found, share, error);
    }
}

#[test]
fn shocks_take_several_members_at_once() {
    for (parities, takes) in [(1, 0.1), (2, 0.3)] {
        let mut plan = plan(Redundancy::Parity(parities), 6, &drive(), 0.001);
        plan.shock = Shock { per_year: 0.05, takes };
        let few: f64 = (0..=parities)
            .map(|count| {
                let ways = [1.0, 6.0, 15.0][count as usize];
                ways * takes.powi(count as i32) * (1.0 - takes).powi(6 - count as i32)
            })
            .sum();
        let want = 1.0 - (-0.05 * (1.0 - few) * 7.0).exp();
        let found = at(plan, 20_000, 7.0);
        check("shocks", found.figure(Figure::ArrayLost), want, 0.0);
        assert!((found.loss_causes[Cause::Shock as usize].1 - found.figure(Figure::AnyLost).mean).abs() < 1e-12);
    }
}

#[test]
fn a_shock_on_a_degraded_array_counts_as_often_as_luck_finds_it() {
    // Days without a member are half of all: most losses are a shock's, which takes one more.
    let kind = DriveKind { chance: Chance::rate(0.5).unwrap(), ..drive() };
    let mut plan = plan(Redundancy::Parity(2), 5, &kind, 60.0);
    plan.shock = Shock { per_year: 1.0, takes: 0.25 };
    let found = at(plan, 10_000, 3.0).figure(Figure::ArrayLost);
    let mut stream = Streams::new(6).stream("naive");
    let lost = (0..20_000).filter(|_| shocked(&mut stream)).count() as f64 / 2e4;
    check("shocks and failures", found, lost, (lost * (1.0 - lost) / 2e4).sqrt());
}

/// The same array by steps of a tenth of a day.
fn shocked(stream: &mut Stream) -> bool {
    let mut whole_on = [0u32; 5];
    let (fails, shocks) = (1.0 - (-0.5 / DAYS / 4.0_f64).exp(), 1.0 - (-1.0 / DAYS / 4.0_f64).exp());
    for step in 1..=(3.0 * DAYS * 4.0) as u32 {
        let shock = stream.chance(shocks);
        for whole in &mut whole_on {
            if *whole < step && (stream.chance(fails) || shock && stream.chance(0.25)) {
                *whole = step + 60 * 4 - 1;
            }
        }
        if whole_on.iter().filter(|whole| **whole >= step).count() > 2 {
            return true;
        }
    }
    false
}

#[test]
fn numbers_do_not_depend_on_threads() {
    let kind = DriveKind { chance: Chance::rate(0.2).unwrap(), ..drive() };
    let plans = [plan(Redundancy::Parity(1), 5, &kind, 3.0), plan(Redundancy::Parity(2), 6, &kind, 3.0)];
    let one = outlook_of(&plans, 2_000, &[1.0, 5.0], 1);
    assert_eq!(one, outlook_of(&plans, 2_000, &[1.0, 5.0], 3));
    let loss = |year: usize| one[0].years[year].figure(Figure::AnyLost).mean;
    assert!(loss(0) < loss(1));
}
