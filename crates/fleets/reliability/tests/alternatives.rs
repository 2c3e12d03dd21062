//! What each alternative changes, and what operators' choices do.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::AtomicBool;

use wane_reliability::{
    Alternative, Chance, Curve, DriveKind, Effort, Endurance, Figure, Member, Outlook, Plan, PlanError, Redundancy,
    Shock, Spread, Upkeep, WornOut, chunks_written, graded_shares, outlooks,
};

/// Five drives of 8 TB that last four years on average, bought together, with one parity.
fn plan() -> Plan {
    let drive = DriveKind {
        capacity_bytes: 8e12,
        wear: Curve::slope(1.0 / (4.0 * 365.0 * 1e12)),
        uber_log10: Curve::new(vec![(0.0, -17.0), (1.0, -15.0)]).unwrap(),
        endurance: Some(Endurance::new(1.0, Spread::Lognormal, 0.05, 0.1).unwrap()),
        chance: Chance::new(0.01, 1.0).unwrap(),
    };
    let member = Member { drive, load: Curve::slope(1.0), batch: 0, bytes_before: 0.0, age_days: 0.0 };
    Plan {
        redundancy: Redundancy::Parity(1),
        stripe_width: None,
        members: vec![member; 5],
        spare: None,
        host_bytes_per_day: 1e12,
        data_bytes: 32e12,
        full_stripe_share: 0.5,
        latent_per_tb_year: 0.0,
        upkeep: Upkeep {
            detection_days: 0.1,
            arrival_days: 5.0,
            spares: 0,
            rebuild_bytes_per_day: 8e12,
            scrub_days: Some(30.0),
            replace_at: None,
            worn_out: WornOut::Gone,
        },
        shock: Shock { per_year: 0.001, takes: 0.3 },
    }
}

fn run(plans: &[Plan], arrays: u64) -> Vec<Outlook> {
    let effort = Effort { arrays, seed: 3, years: vec![1.0, 3.0, 5.0, 7.0], threads: 2 };
    outlooks(plans, &effort, &AtomicBool::new(false)).unwrap().unwrap()
}

#[test]
fn every_alternative_gains_and_is_told_beside_the_plan() {
    let alternatives = [
        Alternative::Spare,
        Alternative::MoreRedundancy,
        Alternative::StaggeredAges { step: 0.1 },
        Alternative::UnevenParity { shares: graded_shares(&plan()) },
        Alternative::CapacityVariance { factor: 2.0 },
        Alternative::ReplaceAt { wear: 0.6 },
    ];
    let mut plans = vec![plan()];
    plans.extend(alternatives.iter().map(|alternative| alternative.of(&plan()).unwrap()));
    let outlooks = run(&plans, 2_000);
    let planned = outlooks[0].years[2].figure(Figure::ArrayLost);
    assert!(planned.mean > 0.1, "drives of one batch and one load die together: {planned:?}");
    for (outlook, alternative) in outlooks[1..].iter().zip(&alternatives) {
        let year = &outlook.years[2];
        let (found, change) = (year.figure(Figure::ArrayLost), year.change(Figure::ArrayLost).unwrap());
        assert!((found.mean - planned.mean - change.mean).abs() < 1e-9);
        assert!(change.high < 0.0, "{} {change:?}", alternative.name());
    }
    // The same arrays: the difference is known better than from arrays of their own.
    let spare = outlooks[1].years[2].change(Figure::ArrayLost).unwrap();
    let apart = planned.standard_error.hypot(outlooks[1].years[2].figure(Figure::ArrayLost).standard_error);
    assert!(spare.standard_error < 0.9 * apart, "{spare:?} {apart}");
    let first = |number: usize| outlooks[number].first_failure[1].years.unwrap();
    assert!(first(3) < first(0), "a member that begins used dies first");
    assert_eq!(first(1), first(0), "a spare keeps no drive from dying");
}

#[test]
fn wear_follows_the_shares_of_parity() {
    // By hand: 40/15/15/15/15, alone and with full stripes; 80/5/5/5/5.
    for (most, least, full, want) in [
        (0.4, 0.15, 0.0, 1.52),
        (0.4, 0.15, 0.5, 1.31),
        (0.4, 0.15, 0.75, 1.17),
        (0.4, 0.15, 0.9, 1.07),
        (0.8, 0.05, 0.0, 2.96),
    ] {
        let ratio = chunks_written(most, 5, 1, full) / chunks_written(least, 5, 1, full);
        assert!((ratio - want).abs() < 0.006, "{ratio} for {want}");
    }
    assert!((chunks_written(0.4, 5, 1, 0.0) - (0.4 + 0.6 / 4.0)).abs() < 1e-12);
    // One parity and one chunk of data for each chunk, whatever the shares.
    let sum: f64 = graded_shares(&plan()).iter().map(|share| chunks_written(*share, 5, 1, 0.0)).sum();
    assert!((sum - 2.0).abs() < 1e-12);
    // A drive without spread dies as much earlier as it is written more.
    let mut even = plan();
    (even.full_stripe_share, even.shock.per_year) = (0.0, 0.0);
    for member in &mut even.members {
        member.drive.endurance = Some(Endurance::new(1.0, Spread::Normal, 0.0, 0.0).unwrap());
        member.drive.chance = Chance::rate(0.0).unwrap();
    }
    let uneven = Alternative::UnevenParity { shares: vec![0.4, 0.15, 0.15, 0.15, 0.15] }.of(&even).unwrap();
    let outlooks = run(&[even, uneven], 4);
    let first = |number: usize| outlooks[number].first_failure[1].years.unwrap();
    assert!((first(0) - 4.0).abs() < 1e-9);
    assert!((first(0) / first(1) - 0.55 / 0.4).abs() < 1e-9, "{}", first(1));
}

/// What a member takes of the host's bytes.
fn load(member: &Member) -> f64 {
    member.load.at(1e12) / 1e12
}

#[test]
fn one_parity_more_holds_the_same_data_and_writes_what_its_stripes_do() {
    // Eight members in stripes of four: ten members in stripes of five have as many chunks of data. Chunk by chunk a write changes itself and two
    // parities instead of one; in full stripes, five chunks instead of four for three of data.
    for (full, before, after) in [(0.0, 2.0, 3.0), (1.0, 4.0 / 3.0, 5.0 / 3.0), (0.5, 5.0 / 3.0, 7.0 / 3.0)] {
        let mut narrow = plan();
        (narrow.stripe_width, narrow.full_stripe_share) = (Some(4), full);
        let member = Member { load: Curve::slope(before / 8.0), ..narrow.members[0].clone() };
        narrow.members = vec![member; 8];
        let more = Alternative::MoreRedundancy.of(&narrow).unwrap();
        assert_eq!((more.members.len(), more.stripe_width, more.redundancy), (10, Some(5), Redundancy::Parity(2)));
        let all: f64 = more.members.iter().map(load).sum();
        assert!((all - after).abs() < 1e-12, "{all} for {after}");
        assert!(more.members.iter().all(|member| (load(member) - after / 10.0).abs() < 1e-12));
    }
}

#[test]
fn uneven_shares_keep_the_number_of_parities() {
    let mut unequal = plan();
    for (member, size) in unequal.members.iter_mut().zip([1.0, 1.0, 2.0, 2.0, 4.0]) {
        member.load = Curve::slope(size / 5.0);
    }
    (unequal.redundancy, unequal.stripe_width, unequal.full_stripe_share) = (Redundancy::Parity(2), Some(4), 0.0);
    let shares = graded_shares(&unequal);
    assert!(shares.windows(2).all(|pair| pair[0] < pair[1]) && shares.iter().all(|share| (0.0..=1.0).contains(share)));
    let parities: f64 = shares.iter().zip([0.1, 0.1, 0.2, 0.2, 0.4]).map(|(share, part)| share * part).sum();
    assert!((parities - 0.5).abs() < 1e-12, "{shares:?}");
    // Chunks written in all stay three for each of data: itself and two parities.
    let all: f64 = unequal.members.iter().map(load).sum();
    let uneven = Alternative::UnevenParity { shares: shares.clone() }.of(&unequal).unwrap();
    let changed: f64 = uneven.members.iter().map(load).sum();
    assert!((changed - all).abs() < 1e-12, "{changed} {all}");
    for ((member, before), share) in uneven.members.iter().zip(&unequal.members).zip(&shares) {
        let times = chunks_written(*share, 4, 2, 0.0) / chunks_written(0.5, 4, 2, 0.0);
        assert!((load(member) / load(before) - times).abs() < 1e-12);
    }
    assert!((graded_shares(&plan())[0] - 0.1).abs() < 1e-12, "half of the even share");
    let mut none = plan();
    none.redundancy = Redundancy::Parity(0);
    assert_eq!(graded_shares(&none), [0.0; 5]);
    for (width, told) in [(1, "`stripe-width` is 1"), (6, "`stripe-width` is 6")] {
        let mut wrong = plan();
        wrong.stripe_width = Some(width);
        assert!(wrong.check().unwrap_err().to_string().starts_with(told));
    }
}

#[test]
fn a_worn_member_that_reads_on_loses_nothing_by_wear() {
    let mut gone = plan();
    gone.shock.per_year = 0.0;
    let mut reads_on = gone.clone();
    reads_on.upkeep.worn_out = WornOut::ReadOnly;
    let outlooks = run(&[gone, reads_on], 1_000);
    let lost = |number: usize| outlooks[number].years[3].figure(Figure::ArrayLost);
    assert!(lost(1).mean < 0.01 * lost(0).mean, "{:?} {:?}", lost(0), lost(1));
    assert!(outlooks[1].years[3].figure(Figure::DegradedDays).mean > 5.0, "its writes have no place meanwhile");
    assert_eq!(outlooks[0].first_failure, outlooks[1].first_failure);
}

#[test]
fn wear_threatens_no_rebuild_where_worn_members_read_on() {
    let mut reads_on = plan();
    (reads_on.upkeep.worn_out, reads_on.shock.per_year) = (WornOut::ReadOnly, 0.0);
    reads_on.members.iter_mut().for_each(|member| member.drive.chance = Chance::rate(0.2).unwrap());
    let mut unworn = reads_on.clone();
    unworn.members.iter_mut().for_each(|member| member.drive.endurance = None);
    let outlooks = run(&[reads_on, unworn], 4_000);
    let change = outlooks[1].years[3].change(Figure::ArrayLost).unwrap();
    assert!(change.mean.abs() < 3.0 * change.standard_error, "{change:?}");
}

#[test]
fn a_spare_on_the_shelf_shortens_the_days_without_a_member() {
    let mut chance = plan();
    for member in &mut chance.members {
        (member.drive.endurance, member.drive.chance) = (None, Chance::rate(0.05).unwrap());
    }
    chance.shock.per_year = 0.0;
    let spare = Alternative::Spare.of(&chance).unwrap();
    let outlooks = run(&[chance, spare], 2_000);
    let days = |number: usize| outlooks[number].years[3].figure(Figure::DegradedDays);
    let drives = outlooks[0].years[3].figure(Figure::DrivesReplaced).mean;
    // Noticed after 0.1, arrived after 5, rebuilt after 1 day.
    assert!((days(0).mean / drives - 6.1).abs() < 0.1, "{:?} {drives}", days(0));
    assert!((days(1).mean / drives - 1.1).abs() < 0.1, "{:?} {drives}", days(1));
}

#[test]
fn a_chance_is_never_above_1() {
    let mut doomed = plan();
    for member in &mut doomed.members {
        member.drive.endurance = Some(Endurance::new(1.0, Spread::Normal, 0.02, 0.0).unwrap());
        member.drive.uber_log10 = Curve::constant(-14.0);
    }
    let last = run(&[doomed], 500).remove(0).years.remove(3);
    let any = last.figure(Figure::AnyLost);
    let causes: f64 = last.loss_causes.iter().map(|(_, chance)| chance).sum();
    assert!(any.mean > 0.9 && any.mean <= 1.0 && any.high <= 1.0 && any.low <= any.mean, "{any:?}");
    assert!((causes - any.mean).abs() < 1e-9, "{causes} {any:?}");
}

#[test]
fn a_used_drive_is_one_that_has_survived_so_far() {
    let mut used = plan();
    for member in &mut used.members {
        member.bytes_before = 4.0 * 365.0 * 1e12;
    }
    let first = run(&[used], 500).remove(0).first_failure[0];
    assert!(first.years.unwrap() > 0.0 && first.low <= first.years && first.years <= first.high, "{first:?}");
}

#[test]
fn plans_that_cannot_be_are_refused_by_name() {
    let refused = |change: fn(&mut Plan)| {
        let mut plan = plan();
        change(&mut plan);
        plan.check().unwrap_err().to_string()
    };
    assert_eq!(refused(|plan| plan.host_bytes_per_day = -1.0), "`host-bytes-per-day` is -1, and must be at least 0");
    assert_eq!(refused(|plan| plan.upkeep.scrub_days = Some(0.0)), "`scrub-days` is 0, and must be above 0");
    assert_eq!(refused(|plan| plan.members.truncate(2)), "2 members cannot have one parity: it needs at least 3");
    let uneven = Alternative::UnevenParity { shares: vec![0.5; 5] }.of(&plan()).unwrap_err();
    assert_eq!(uneven.to_string(), "the alternative `uneven-parity` has shares whose sum is 2.5, and must be 1");
    let mut mirror = plan();
    (mirror.redundancy, mirror.data_bytes) = (Redundancy::Copies(5), 8e12);
    assert!(matches!(
        Alternative::UnevenParity { shares: vec![0.2; 5] }.of(&mirror),
        Err(PlanError::Alternative("uneven-parity", _))
    ));
    let effort = Effort { arrays: 2, seed: 0, years: vec![3.0, 1.0], threads: 1 };
    assert!(outlooks(&[plan()], &effort, &AtomicBool::new(false)).is_err());
    assert!(Endurance::new(1.0, Spread::Normal, 0.5, 0.0).is_err());
}

#[test]
fn a_forecast_stops_when_it_is_told_to() {
    let effort = Effort { arrays: 1_000, seed: 0, years: vec![1.0], threads: 1 };
    assert_eq!(outlooks(&[plan()], &effort, &AtomicBool::new(true)), Ok(None));
}
