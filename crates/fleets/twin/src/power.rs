//! Power outages, which hit all drives of a node together.

use wane_sim::Streams;
use wane_units::DAYS_PER_YEAR;

use crate::draw::moments;
use crate::settings::FleetSettings;

/// Hours of a day.
const DAY_HOURS: f64 = 24.0;

/// A stretch without power, in hours since the watch began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outage {
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// Whether it was unplanned.
    pub(crate) is_unexpected: bool,
}

/// Draws a node's outages, in order; none begins within another.
pub(crate) fn outages(settings: &FleetSettings, node: u32, streams: Streams) -> Vec<Outage> {
    let power = &settings.power;
    let mut stream = streams.stream(&format!("node.{node}.power"));
    let rate = power.cycles_a_year / DAYS_PER_YEAR / DAY_HOURS;
    let mut found: Vec<Outage> = Vec::new();
    for from in moments(&mut stream, rate, 0.0, f64::from(settings.days) * DAY_HOURS) {
        let length = power.hours_off * stream.exponential();
        let is_unexpected = stream.chance(power.unexpected.get());
        if found.last().is_none_or(|last| last.to <= from) {
            found.push(Outage { from, to: from + length, is_unexpected });
        }
    }
    found
}

/// Follows a node's outages hour by hour.
pub(crate) struct Meter<'a> {
    outages: &'a [Outage],
    /// Outages that began so far, and the unplanned ones among them.
    pub(crate) cycles: u64,
    pub(crate) unexpected: u64,
    begun: usize,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(outages: &'a [Outage]) -> Self {
        let is_apart = |one: &Outage, next: &Outage| one.to <= next.from;
        assert!(outages.is_sorted_by(is_apart), "an outage begins when the one before it is over");
        Self { outages, cycles: 0, unexpected: 0, begun: 0 }
    }

    /// Share of the hour from `hour` to the next with power.
    pub(crate) fn pass(&mut self, hour: u32) -> f64 {
        let (start, end) = (f64::from(hour), f64::from(hour) + 1.0);
        let mut off = 0.0;
        let mut place = self.begun.saturating_sub(1);
        while let Some(outage) = self.outages.get(place).filter(|outage| outage.from < end) {
            off += (outage.to.min(end) - outage.from.max(start)).max(0.0);
            if place >= self.begun {
                self.begun = place + 1;
                self.cycles += 1;
                self.unexpected += u64::from(outage.is_unexpected);
            }
            place += 1;
        }
        (1.0 - off).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_without_power_and_cycles_are_counted_once() {
        let outage = |from, to, is_unexpected| Outage { from, to, is_unexpected };
        let outages = [outage(0.5, 2.5, false), outage(4.25, 4.5, true), outage(4.75, 5.0, false)];
        let mut meter = Meter::new(&outages);
        let shares: Vec<f64> = (0..6).map(|hour| meter.pass(hour)).collect();
        assert_eq!(shares, [0.5, 0.0, 0.5, 1.0, 0.5, 1.0]);
        assert_eq!((meter.cycles, meter.unexpected), (3, 1));
    }
}
