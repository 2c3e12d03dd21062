//! A placement and an allocation policy from outside the tree. Data that are rewritten soon and data that stay get blocks of
//! their own, and data that stay get the most worn ones.
//!
//! Run it with `cargo run -p own-policy --bin placement`.

use own_policy::life;
use wane_ftl::policies::allocation::{AllocationPolicy, FreeOrder, FreeView};
use wane_ftl::policies::placement::{HostWrite, PlacementPolicy, RelocatedRun, Task};
use wane_ftl::policies::{Needs, StreamId};
use wane_lab::build::{Override, PolicyOverrides};
use wane_units::SuperblockId;

/// The stream of data that will soon be overwritten.
const SOON: StreamId = StreamId(0);
/// The stream of data that stay.
const LATE: StreamId = StreamId(1);

// ANCHOR: policy
/// Separates data that are overwritten soon from the rest by the time since their unit was last written.
#[derive(Clone)]
struct ByInterval {
    /// Host units within which a unit counts as overwritten soon.
    soon: u64,
    /// By logical unit, when it was last written; 0 for never.
    last: Vec<u64>,
}

impl PlacementPolicy for ByInterval {
    fn streams(&self, _tasks: &[Task]) -> u32 {
        2
    }

    fn host(&mut self, write: &HostWrite) -> StreamId {
        let range = write.first.index()..write.first.index() + write.units as usize;
        if self.last.len() < range.end {
            self.last.resize(range.end, 0);
        }
        let last = std::mem::replace(&mut self.last[range.start], write.now + 1);
        self.last[range].fill(write.now + 1);
        if last > 0 && write.now + 1 - last <= self.soon { SOON } else { LATE }
    }

    /// Data that garbage collection still finds valid were not overwritten soon.
    fn relocated(&mut self, _run: &RelocatedRun) -> StreamId {
        LATE
    }

    fn parity(&self, _task: Task) -> StreamId {
        LATE
    }

    /// Its answers differ from request to request, so it must be asked for each.
    fn needs(&self) -> Needs {
        Needs { requests: true, ..Needs::default() }
    }
}
// ANCHOR_END: policy

// ANCHOR: allocation
/// Opens the most worn free block for data that stay, and the least worn one for all others.
#[derive(Clone)]
struct RestTheWorn;

impl AllocationPolicy for RestTheWorn {
    fn order(&self) -> FreeOrder {
        FreeOrder::Wear
    }

    fn choose(&mut self, view: &FreeView<'_>) -> SuperblockId {
        if view.stream() == Some(LATE) { view.last() } else { view.first() }
    }
}
// ANCHOR_END: allocation

/// Nine of ten writes go to a tenth of the data.
const SCENARIO: &str = "
[drive]
preset = 'tiny'
[ftl]
retire = 'never'
[workload]
pattern = 'hot-cold'
r = 0.9
h = 0.1
[until]
drive-writes = 20
";

// ANCHOR: hand-in
fn own() -> PolicyOverrides {
    let placement = ByInterval { soon: 4000, last: Vec::new() };
    PolicyOverrides {
        placement: Some(Override::with("by-interval", [("soon", 4000)], Box::new(placement))),
        allocation: Some(Override::new("rest-the-worn", Box::new(RestTheWorn))),
        ..PolicyOverrides::default()
    }
}
// ANCHOR_END: hand-in

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, overrides) in [("one stream", PolicyOverrides::default()), ("by interval", own())] {
        let summary = life(SCENARIO, &overrides)?;
        let erases = &summary.wear.erase_count;
        let amplification = summary.write_amplification.total.unwrap_or_default();
        println!("{name:<12} write amplification {amplification:.2}, erases {:.1} +- {:.1}", erases.mean, erases.sd);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_ftl::policies::allocation::{FreeBlock, FreeTable};
    use wane_ftl::policies::placement::Origin;
    use wane_results::Summary;
    use wane_units::Lpn;

    // ANCHOR: test
    #[test]
    fn what_is_written_twice_in_a_short_time_is_told_from_the_rest() {
        let mut policy = ByInterval { soon: 10, last: Vec::new() };
        let mut ask = |first: u32, units, now| {
            policy.host(&HostWrite { first: Lpn(first), units, origin: Origin::Host, hint: None, now })
        };
        // (first unit, units, host units written before, stream)
        for (first, units, now, stream) in
            [(5, 2, 0, LATE), (6, 1, 2, SOON), (5, 1, 3, SOON), (5, 1, 13, SOON), (5, 1, 24, LATE)]
        {
            assert_eq!(ask(first, units, now), stream, "unit {first} at {now}");
        }
    }

    #[test]
    fn data_that_stay_get_the_most_worn_block() {
        let blocks = [7, 9, 5].map(|erase_count| FreeBlock { erase_count, failures: 0 });
        let table = FreeTable::new(FreeOrder::Wear, &blocks);
        for (stream, chosen) in [(Some(LATE), 1), (Some(SOON), 2), (None, 2)] {
            assert_eq!(RestTheWorn.choose(&table.view(stream, 0)), SuperblockId(chosen));
        }
    }

    #[test]
    fn streams_by_interval_cost_less_amplification() -> Result<(), Box<dyn std::error::Error>> {
        let (one, own) = (life(SCENARIO, &PolicyOverrides::default())?, life(SCENARIO, &own())?);
        let amplification = |summary: &Summary| summary.write_amplification.total.unwrap_or_default();
        assert!(amplification(&own) < 0.9 * amplification(&one), "{} of {}", amplification(&own), amplification(&one));
        assert!(own.warnings.is_empty(), "{:?}", own.warnings);
        Ok(())
    }
    // ANCHOR_END: test
}
