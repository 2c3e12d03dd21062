//! Faults that requests meet: errors, slowness, and answers that never come.

use wane_blockdev::{Kind, Request, SectorRange};
use wane_sim::Stream;
use wane_units::{Lba, Nanos};

/// What a fault does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The sectors in its range fail with a medium error, and keep their contents.
    Error,
    /// It takes longer.
    Slow(Nanos),
    /// It is never answered.
    Stuck,
}

/// The kinds of requests that a fault meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(pub(crate) [bool; Kind::ALL.len()]);

impl Kinds {
    /// All that name sectors.
    pub(crate) const ALL: Self = Self([true; Kind::ALL.len()]);

    const fn has(self, kind: Kind) -> bool {
        self.0[kind as usize]
    }
}

/// A fault that requests meet.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// Its number, from 1.
    pub(crate) number: u64,
    pub(crate) effect: Effect,
    pub(crate) kinds: Kinds,
    /// Where; `None`: everywhere.
    pub(crate) range: Option<SectorRange>,
    /// Requests that it still meets; `None`: until it is cleared. One that meets none any more stays in the list, for its count.
    pub(crate) left: Option<u64>,
    /// Share of the requests that it meets.
    pub(crate) rate: f64,
    /// Draws which.
    pub(crate) stream: Stream,
    /// Requests that it met.
    pub(crate) met: u64,
}

/// What becomes of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Met {
    /// Sectors of it that fail, in rising order.
    pub(crate) failing: Vec<SectorRange>,
    pub(crate) slower: Nanos,
    pub(crate) is_stuck: bool,
}

/// All faults.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    faults: Vec<Fault>,
    numbered: u64,
}

impl Faults {
    /// Adds a fault, and returns its number.
    pub(crate) fn add(&mut self, fault: Fault) -> u64 {
        self.numbered += 1;
        self.faults.push(Fault { number: self.numbered, ..fault });
        self.numbered
    }

    /// Removes a fault, or all. Returns how many there were.
    pub(crate) fn clear(&mut self, number: Option<u64>) -> usize {
        let before = self.faults.len();
        self.faults.retain(|fault| number.is_some_and(|number| fault.number != number));
        before - self.faults.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter()
    }

    /// What becomes of a request. The choice depends only on what was asked before, so that faults repeat.
    pub(crate) fn meet(&mut self, request: &Request) -> Met {
        let mut met = Met::default();
        for fault in &mut self.faults {
            let part = fault.range.map_or(request.range, |range| range.intersection(request.range));
            let touches = !part.is_empty() || (request.kind == Kind::Flush && fault.range.is_none());
            if !touches || !fault.kinds.has(request.kind) || fault.left == Some(0) {
                continue;
            }
            // Drawn in any case, so that a rate of 1 and one of almost 1 meet the same requests.
            if fault.stream.unit() >= fault.rate {
                continue;
            }
            fault.met += 1;
            fault.left = fault.left.map(|left| left - 1);
            match fault.effect {
                Effect::Error => met.failing.push(part),
                Effect::Slow(by) => met.slower = met.slower.saturating_add(by),
                Effect::Stuck => met.is_stuck = true,
            }
        }
        met.failing = joined(std::mem::take(&mut met.failing));
        met
    }
}

/// Ranges in rising order that do not touch.
fn joined(mut ranges: Vec<SectorRange>) -> Vec<SectorRange> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut out: Vec<SectorRange> = Vec::new();
    for range in ranges {
        let end = range.start.0 + range.count.0;
        match out.last_mut() {
            Some(last) if last.start.0 + last.count.0 >= range.start.0 => {
                *last = SectorRange::between(last.start, Lba(end.max(last.start.0 + last.count.0)));
            }
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use wane_sim::Streams;
    use wane_units::Sectors;

    use super::*;

    fn fault(effect: Effect, range: Option<(u64, u64)>) -> Fault {
        Fault {
            number: 0,
            effect,
            kinds: Kinds::ALL,
            range: range.map(|(start, count)| SectorRange::new(Lba(start), Sectors(count))),
            left: None,
            rate: 1.0,
            stream: Streams::new(1).stream("fault"),
            met: 0,
        }
    }

    fn read(start: u64, count: u64) -> Request {
        Request::read(SectorRange::new(Lba(start), Sectors(count)))
    }

    #[test]
    fn only_the_sectors_in_range_fail() {
        let mut faults = Faults::default();
        faults.add(fault(Effect::Error, Some((8, 8))));
        faults.add(fault(Effect::Error, Some((12, 8))));
        faults.add(fault(Effect::Slow(Nanos(5)), None));
        let met = faults.meet(&read(0, 16));
        assert_eq!(met.failing, [SectorRange::new(Lba(8), Sectors(8))]);
        assert_eq!((met.slower, met.is_stuck), (Nanos(5), false));
        assert_eq!(faults.meet(&read(24, 8)).failing, []);
        assert_eq!(faults.meet(&Request::flush()), Met { slower: Nanos(5), ..Met::default() });
        assert_eq!((faults.clear(Some(1)), faults.clear(None)), (1, 2));
    }

    #[test]
    fn a_fault_ends_after_its_count_and_repeats_by_its_seed() {
        let times = |rate: f64, left: Option<u64>| {
            let mut faults = Faults::default();
            faults.add(Fault { rate, left, ..fault(Effect::Stuck, None) });
            (0..1000).map(|_| faults.meet(&read(0, 8)).is_stuck).collect::<Vec<_>>()
        };
        let tenth = times(0.1, None);
        assert_eq!(tenth, times(0.1, None));
        assert!((60..140).contains(&tenth.iter().filter(|stuck| **stuck).count()));
        assert_eq!(times(1.0, Some(3)).iter().filter(|stuck| **stuck).count(), 3);
        assert!(times(1.0, Some(3))[..3].iter().all(|stuck| *stuck));
    }
}
