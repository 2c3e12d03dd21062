//! What a mirror tells its operator of its safety.

use wane_units::Sectors;

use super::Mirror;
use super::member::Member;
use crate::redundant::Safety;

impl Mirror {
    /// Whether all that members were given is durable.
    pub fn is_settled(&self) -> bool {
        self.members.iter().all(|member| member.is_durable())
    }

    /// What further losses it stands, also with the power of all members. Where copies may differ, the first good one counts.
    pub fn safety(&self) -> Safety {
        let (mut least, mut lost) = (usize::MAX, 0);
        for run in self.layout.runs() {
            let places = run.places.iter().map(|place| &self.members[place.0]);
            let there: Vec<&Member> = places.filter(|member| member.is_present()).collect();
            let units = self.units_of(run.range);
            let mut at = units.start;
            while at < units.end {
                let sets = there.iter().map(|member| member.stale_if_cut()).chain([&self.differs]);
                let odd = sets.filter_map(|set| set.next(at..units.end));
                let odd = odd.min_by_key(|run| run.start).unwrap_or(units.end..units.end);
                if odd.start > at {
                    least = least.min(there.len());
                    lost += if there.is_empty() { odd.start - at } else { 0 };
                }
                for unit in odd.clone() {
                    let safe = there.iter().filter(|member| !member.stale_if_cut().holds(unit)).count();
                    let most = if self.differs.holds(unit) { 1 } else { usize::MAX };
                    least = least.min(safe.min(most));
                    lost += u64::from(there.iter().all(|member| member.stale().holds(unit)));
                }
                at = odd.end;
            }
        }
        let spare = if least == usize::MAX { 0 } else { least.saturating_sub(1) };
        Safety { spare, lost: Sectors(lost * self.unit.0) }
    }
}
