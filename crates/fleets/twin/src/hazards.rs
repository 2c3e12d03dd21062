//! What drives die of apart from wear: factory flaws, chance, bad batches, and each other's failures.
//!
//! Independent failures come first, by competing hazards of each drive. Each failure may then cause others, on its node or in its rack, which may
//! cause others again: a branching process. Its chances come from Alibaba's failure tickets, half of whose racks are public (Han et al.,
//! "An In-Depth Study of Correlated Failures in Production SSD-Based Data Centers", FAST 2021). Of the failures, 52.2 % are on nodes with more than
//! one, 13.4 % within 30 minutes of another on the node, 19.2 % within 30 minutes of another in the rack, 63.9 % in the rack within 30 days.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wane_sim::{Stream, Streams};
use wane_units::DAYS_PER_YEAR;

use crate::draw::moments;
use crate::fleet::{Model, Slot};
use crate::settings::{FleetSettings, HazardSettings};

/// Minutes of a day.
const DAY_MINUTES: f64 = 1440.0;

/// Mean minutes until a companion fails, at most 30.
const MINUTES_MEAN: f64 = 10.0;
const MINUTES_MOST: f64 = 30.0;

/// Mean days until a drive in the rack fails, at most 30.
const RACK_DAYS_MEAN: f64 = 10.0;
const RACK_DAYS_MOST: f64 = 30.0;

/// Most days until a drive on the node fails.
const NODE_DAYS_MOST: f64 = DAYS_PER_YEAR;

/// Mean events of a drive that shows signs: blocks, failed operations, data that could not be read, or faults of its link.
const SIGNS_MEAN: f64 = 6.0;

/// Why a drive died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Its blocks reached their endurance.
    WearOut,
    /// A factory flaw.
    Infant,
    /// Chance.
    Random,
    /// Its batch is bad.
    Batch,
    /// Another failure on its node.
    Node,
    /// Another failure in its rack.
    Rack,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::WearOut, Self::Infant, Self::Random, Self::Batch, Self::Node, Self::Rack];

    /// Its name in the files of the truth.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WearOut => "wear-out",
            Self::Infant => "infant",
            Self::Random => "random",
            Self::Batch => "batch",
            Self::Node => "node",
            Self::Rack => "rack",
        }
    }
}

/// When and of what a drive dies, unless it wears out before.
#[derive(Clone, Debug, PartialEq)]
pub struct Fate {
    /// Days since the watch began, in whole minutes.
    pub day: f64,
    /// The cause.
    pub cause: Cause,
    /// The drive whose failure caused it.
    pub with: Option<u32>,
    /// Day from which on it shows signs.
    pub warned: Option<f64>,
}

/// A fault of a drive that does not end its life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    /// Days since the watch began.
    pub(crate) day: f64,
    pub(crate) kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A program failed, and its block left service.
    Program,
    /// An erase failed, and its block left service.
    Erase,
    /// Data could not be read.
    Uncorrectable,
    /// The link fell to a lower speed or repeated a transfer.
    Link,
}

/// A future failure. Order: earlier ones first; of two in the same minute, the drive with the lower number.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Coming {
    minute: u64,
    drive: u32,
    cause: Cause,
    with: Option<u32>,
}

/// Draws the fates of a fleet's drives, by their number.
pub(crate) fn fates(settings: &FleetSettings, models: &[Model], slots: &[Slot], streams: Streams) -> Vec<Option<Fate>> {
    let end = (f64::from(settings.days) * DAY_MINUTES) as u64;
    let hazards = &settings.hazards;
    let is_there = |(place, slot): (usize, &Slot)| slot.number as usize == place;
    assert!(slots.iter().enumerate().all(is_there), "a drive's number is its place in the fleet");
    let (mut nodes, mut racks) = (Vec::new(), Vec::new());
    for slot in slots {
        put(&mut nodes, slot.node, slot.number);
        put(&mut racks, slot.rack, slot.number);
    }
    let mut coming = BinaryHeap::new();
    for slot in slots {
        let model = &models[slot.model as usize];
        let mut stream = streams.stream(&format!("drive.{}.hazards", slot.number));
        let first = independent(hazards, slot, model.bad[slot.batch as usize], &mut stream);
        let (day, cause) = first;
        let minute = (day * DAY_MINUTES).ceil();
        if minute < end as f64 {
            coming.push(Reverse(Coming { minute: minute as u64, drive: slot.number, cause, with: None }));
        }
    }
    let mut fates: Vec<Option<Fate>> = vec![None; slots.len()];
    while let Some(Reverse(Coming { minute, drive, cause, with })) = coming.pop() {
        if fates[drive as usize].is_some() {
            continue;
        }
        let mut stream = streams.stream(&format!("drive.{drive}.death"));
        let day = minute as f64 / DAY_MINUTES;
        let warned = stream.chance(hazards.warned.get()).then(|| day - hazards.warning_days * stream.exponential());
        fates[drive as usize] = Some(Fate { day, cause, with, warned: warned.map(|day| day.max(0.0)) });
        let slot = &slots[drive as usize];
        let near = Near { node: &nodes[slot.node as usize], rack: &racks[slot.rack as usize], slots, fates: &fates };
        for (after, other, cause) in near.companions(hazards, slot, &mut stream) {
            let minute = minute + after;
            if minute < end {
                coming.push(Reverse(Coming { minute, drive: other, cause, with: Some(drive) }));
            }
        }
    }
    fates
}

fn put(lists: &mut Vec<Vec<u32>>, place: u32, drive: u32) {
    if lists.len() <= place as usize {
        lists.resize(place as usize + 1, Vec::new());
    }
    lists[place as usize].push(drive);
}

/// Draws when a drive would die by itself, and of what: the earliest of competing hazards. Watched drives are those that lived until the watch began.
fn independent(hazards: &HazardSettings, slot: &Slot, is_bad: bool, stream: &mut Stream) -> (f64, Cause) {
    // All hazards are drawn whatever the settings, so that one key changes nothing else.
    let (flawed, infant, random, batch) =
        (stream.unit(), stream.exponential(), stream.exponential(), stream.exponential());
    // Share of flawed drives among those of this age that still live.
    let share = hazards.infant.get() * libm::exp(-slot.age_days / hazards.infant_days);
    let flawed_yet = share / (share + 1.0 - hazards.infant.get()).max(f64::MIN_POSITIVE);
    // Converts a yearly share of failures to a rate.
    let rate = -libm::log1p(-hazards.random.get().min(0.999)) / DAYS_PER_YEAR;
    let extra = if is_bad { rate * (hazards.bad_batch_factor - 1.0) } else { 0.0 };
    let after = |drawn: f64, rate: f64| if rate > 0.0 { drawn / rate } else { f64::INFINITY };
    let times = [
        (if flawed < flawed_yet { infant * hazards.infant_days } else { f64::INFINITY }, Cause::Infant),
        (after(random, rate), Cause::Random),
        (after(batch, extra), Cause::Batch),
    ];
    times.into_iter().min_by(|one, other| one.0.total_cmp(&other.0)).expect("there are three")
}

/// Drives near a drive.
struct Near<'a> {
    node: &'a [u32],
    rack: &'a [u32],
    slots: &'a [Slot],
    fates: &'a [Option<Fate>],
}

impl Near<'_> {
    /// Draws the failures that a failure causes: after how many minutes, of which drive, and the cause.
    fn companions(&self, hazards: &HazardSettings, slot: &Slot, stream: &mut Stream) -> Vec<(u64, u32, Cause)> {
        let mut found = Vec::new();
        let node = |other: u32| self.slots[other as usize].node == slot.node;
        // With a mean of 0 all times up to the most are equally likely.
        let mut draw = |chance: f64, others: &[u32], on_node: Option<bool>, cause, mean: f64, most: f64| {
            let happens = stream.chance(chance);
            let after = cut_off(stream, mean, most);
            let alive = |other: &&u32| self.fates[**other as usize].is_none() && **other != slot.number;
            let there: Vec<u32> = others
                .iter()
                .filter(alive)
                .copied()
                .filter(|other| on_node.is_none_or(|on| on == node(*other)))
                .collect();
            let choice = stream.unit();
            if happens && !there.is_empty() {
                found.push((after.ceil() as u64, there[(choice * there.len() as f64) as usize], cause));
            }
        };
        draw(hazards.node_minutes.get(), self.node, None, Cause::Node, MINUTES_MEAN, MINUTES_MOST);
        draw(hazards.rack_minutes.get(), self.rack, Some(false), Cause::Rack, MINUTES_MEAN, MINUTES_MOST);
        draw(
            hazards.rack_days.get(),
            self.rack,
            None,
            Cause::Rack,
            RACK_DAYS_MEAN * DAY_MINUTES,
            RACK_DAYS_MOST * DAY_MINUTES,
        );
        draw(hazards.node_later.get(), self.node, None, Cause::Node, 0.0, NODE_DAYS_MOST * DAY_MINUTES);
        found
    }
}

/// Draws a time above 0 and up to `most`: exponential with this mean before the cut-off, or uniform if the mean is 0.
fn cut_off(stream: &mut Stream, mean: f64, most: f64) -> f64 {
    let draw = stream.unit();
    if mean == 0.0 {
        return most * draw;
    }
    -mean * libm::log1p(draw * libm::expm1(-most / mean))
}

/// Draws the faults of a drive before its end, in order of time: blocks that go bad on any drive, and signs of the cause of its death.
pub(crate) fn events(hazards: &HazardSettings, days: f64, fate: Option<&Fate>, mut stream: Stream) -> Vec<Event> {
    let mut found: Vec<Event> = moments(&mut stream, hazards.bad_blocks_a_year / DAYS_PER_YEAR, 0.0, days)
        .into_iter()
        .map(|day| Event { day, kind: if stream.chance(0.5) { EventKind::Program } else { EventKind::Erase } })
        .collect();
    if let Some((fate, from)) = fate.and_then(|fate| Some((fate, fate.warned?))) {
        let kinds: &[EventKind] = match fate.cause {
            Cause::Node | Cause::Rack => &[EventKind::Link],
            Cause::WearOut | Cause::Infant | Cause::Random | Cause::Batch => {
                &[EventKind::Program, EventKind::Erase, EventKind::Uncorrectable]
            }
        };
        assert!(from <= fate.day, "signs come before what they are signs of");
        let length = (fate.day - from).max(f64::MIN_POSITIVE);
        for drawn in moments(&mut stream, SIGNS_MEAN, 0.0, 1.0) {
            // Signs become more frequent near the end.
            let day = from + length * libm::sqrt(drawn);
            found.push(Event { day, kind: kinds[stream.below(kinds.len() as u64) as usize] });
        }
    }
    found.sort_by(|one, other| one.day.total_cmp(&other.day));
    found
}

#[cfg(test)]
mod tests;
