//! Failures come at their rates, and together as often as in Alibaba's tickets.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeMap;

use super::*;
use crate::Fleet;

fn fleet(set: &[&str]) -> Fleet {
    Fleet::read(None, &set.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// Share of failures with another failure at the same place within `minutes`, and share of failures at places with more than one.
fn near(fleet: &Fleet, place: impl Fn(&Slot) -> u32, minutes: f64) -> (f64, f64) {
    let mut at: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (slot, fate) in fleet.slots().iter().zip(fleet.fates()) {
        if let Some(fate) = fate {
            at.entry(place(slot)).or_default().push(fate.day * DAY_MINUTES);
        }
    }
    let (mut all, mut close, mut several) = (0.0, 0.0, 0.0);
    for times in at.values_mut() {
        times.sort_by(f64::total_cmp);
        all += times.len() as f64;
        several += if times.len() > 1 { times.len() as f64 } else { 0.0 };
        for (place, time) in times.iter().enumerate() {
            let is_near = |other: Option<&f64>| other.is_some_and(|other| (other - time).abs() <= minutes);
            let before = place.checked_sub(1).and_then(|place| times.get(place));
            close += if is_near(before) || is_near(times.get(place + 1)) { 1.0 } else { 0.0 };
        }
    }
    (close / all, several / all)
}

#[test]
fn failures_come_together_as_in_alibabas_racks() {
    // As many drives as would have some thousand failures in two years, as the tickets have.
    let fleet = fleet(&["model.0.count=200000", "days=730", "model.0.age-most=730"]);
    let (node_minutes, nodes) = near(&fleet, |slot| slot.node, 30.0);
    let (rack_minutes, _) = near(&fleet, |slot| slot.rack, 30.0);
    let (rack_days, _) = near(&fleet, |slot| slot.rack, 30.0 * DAY_MINUTES);
    let failures = fleet.fates().iter().flatten().count();
    println!(
        "{failures} failures: nodes {nodes:.3}, node {node_minutes:.3}, rack {rack_minutes:.3}, 30 days {rack_days:.3}"
    );
    for (found, tickets) in [(nodes, 0.522), (node_minutes, 0.134), (rack_minutes, 0.192), (rack_days, 0.639)] {
        assert!((found - tickets).abs() < 0.02, "{found} for {tickets}");
    }
}

#[test]
fn without_companions_failures_come_at_the_rates_that_were_asked_for() {
    let alone = ["hazards.node-minutes=0", "hazards.rack-minutes=0", "hazards.rack-days=0", "hazards.node-later=0"];
    let counted = |more: &[&str]| {
        let set: Vec<&str> = alone
            .iter()
            .chain(&["model.0.count=50000", "model.0.age-most=0", "days=365"])
            .chain(more)
            .copied()
            .collect();
        let fleet = fleet(&set);
        let mut counts = BTreeMap::new();
        fleet.fates().iter().flatten().for_each(|fate| *counts.entry(fate.cause).or_insert(0u32) += 1);
        counts
    };
    let random = counted(&["hazards.infant=0", "hazards.bad-batches=0", "hazards.random=2 %"]);
    assert_eq!(random.keys().copied().collect::<Vec<_>>(), [Cause::Random]);
    assert!((900..1100).contains(&random[&Cause::Random]), "{random:?}");
    let infant = counted(&["hazards.infant=2 %", "hazards.bad-batches=0", "hazards.random=0"]);
    // All but e^(-365/60) of the flawed ones die in the first year.
    assert!((900..1100).contains(&infant[&Cause::Infant]), "{infant:?}");
    let batch =
        counted(&["hazards.infant=0", "hazards.random=1 %", "hazards.bad-batches=1", "hazards.bad-batch-factor=3"]);
    assert!((1.8..2.2).contains(&(f64::from(batch[&Cause::Batch]) / f64::from(batch[&Cause::Random]))), "{batch:?}");
}

#[test]
fn a_companion_fails_after_the_one_that_it_fails_with_and_near_it() {
    let fleet = fleet(&["model.0.count=30000", "days=730"]);
    let (fates, slots) = (fleet.fates(), fleet.slots());
    let mut seen = 0;
    for (slot, fate) in slots.iter().zip(fates).filter_map(|(slot, fate)| Some((slot, fate.as_ref()?))) {
        assert_eq!(fate.with.is_some(), matches!(fate.cause, Cause::Node | Cause::Rack), "{fate:?}");
        let Some(with) = fate.with else { continue };
        let (other, first) = (&slots[with as usize], fates[with as usize].as_ref().unwrap());
        assert!(first.day < fate.day, "{fate:?} {first:?}");
        assert_eq!(other.rack, slot.rack);
        assert!(fate.cause == Cause::Rack || other.node == slot.node, "{fate:?}");
        seen += 1;
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn signs_come_before_the_end_and_faster_towards_it() {
    let hazards = HazardSettings { bad_blocks_a_year: 0.0, ..HazardSettings::default() };
    let fate = Fate { day: 100.0, cause: Cause::Random, with: None, warned: Some(80.0) };
    let (mut late, mut all) = (0, 0);
    for drive in 0..500 {
        let stream = Streams::new(1).stream(&format!("drive.{drive}.events"));
        let found = events(&hazards, 365.0, Some(&fate), stream);
        assert!(found.iter().all(|event| (80.0..100.0).contains(&event.day)), "{found:?}");
        assert!(found.iter().all(|event| event.kind != EventKind::Link), "{found:?}");
        all += found.len();
        late += found.iter().filter(|event| event.day > 90.0).count();
    }
    assert!((2_700..3_300).contains(&all), "{all}");
    assert!(late as f64 > 0.7 * all as f64, "{late} of {all}");
}
