//! Arrays a second, by what they may lose and what takes their members.
//!
//! `cargo bench -p wane-reliability` prints one JSON object a line. The hash is of the figures, so that a change of behavior shows. One thread.

#![allow(missing_docs, reason = "a program")]
#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use wane_reliability::{
    Alternative, Chance, Curve, DriveKind, Effort, Endurance, Figure, Member, Plan, Redundancy, Shock, Spread, Upkeep,
    WornOut, outlooks,
};
use wane_units::Fnv;

/// Eight drives of 7.68 TB that last five years on average, with wear, chance, shocks, batches and scrubs.
fn plan(redundancy: Redundancy, members: usize) -> Plan {
    let drive = DriveKind {
        capacity_bytes: 7.68e12,
        wear: Curve::slope(1.0 / (5.0 * 365.0 * 1e12)),
        uber_log10: Curve::new(vec![(0.0, -17.0), (1.0, -15.0)]).expect("x rises"),
        endurance: Some(Endurance::new(1.0, Spread::Lognormal, 0.1, 0.1).expect("in range")),
        chance: Chance::new(0.01, 1.0).expect("in range"),
    };
    let member = Member { drive, load: Curve::slope(1.0), batch: 0, bytes_before: 0.0, age_days: 0.0 };
    Plan {
        redundancy,
        stripe_width: None,
        members: vec![member; members],
        spare: None,
        host_bytes_per_day: 1e12,
        data_bytes: 7.68e12 * (members as f64 - f64::from(redundancy.tolerance())),
        full_stripe_share: 0.5,
        latent_per_tb_year: 0.01,
        upkeep: Upkeep {
            detection_days: 0.1,
            arrival_days: 3.0,
            spares: 0,
            rebuild_bytes_per_day: 1e13,
            scrub_days: Some(30.0),
            replace_at: None,
            worn_out: WornOut::Gone,
        },
        shock: Shock { per_year: 0.01, takes: 0.2 },
    }
}

fn main() {
    // The test suite runs benches too, without `--bench`.
    let arrays = if std::env::args().any(|argument| argument == "--bench") { 100_000 } else { 64 };
    let five = plan(Redundancy::Parity(1), 8);
    let pair = vec![five.clone(), Alternative::MoreRedundancy.of(&five).expect("RAID-6 is there")];
    let cases = [
        ("mirror", vec![plan(Redundancy::Copies(2), 2)]),
        ("raid-5", vec![five]),
        ("raid-6", vec![plan(Redundancy::Parity(2), 8)]),
        ("raid-6-of-24", vec![plan(Redundancy::Parity(2), 24)]),
        ("raid-5-beside-raid-6", pair),
    ];
    for (name, plans) in cases {
        let effort = Effort { arrays, seed: 1, years: vec![1.0, 3.0, 5.0, 7.0], threads: 1 };
        let start = Instant::now();
        let found =
            outlooks(&plans, &effort, &AtomicBool::new(false)).expect("plans are right").expect("nobody stops it");
        let seconds = start.elapsed().as_secs_f64();
        let mut hash = Fnv::of(name.as_bytes());
        for outlook in &found {
            let any = outlook.years.iter().map(|year| year.figure(Figure::AnyLost));
            any.for_each(|any| hash.add(&any.mean.to_bits().to_le_bytes()));
        }
        let rate = arrays as f64 * plans.len() as f64 / seconds;
        println!(
            "{{\"case\":\"{name}\",\"arrays_per_second\":{rate:.0},\"seconds\":{seconds:.3},\"hash\":\"{:016x}\"}}",
            hash.get()
        );
    }
}
