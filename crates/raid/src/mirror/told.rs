//! What a mirror tells its operator of its safety.

use wane_units::Sectors;

use super::Mirror;
use super::member::Member;
use crate::redundant::Safety;

impl Mirror {
    /// What further losses it stands.
    pub fn safety(&self) -> Safety {
        let (mut least, mut lost) = (usize::MAX, 0);
        for run in self.layout.runs() {
            let places = run.places.iter().map(|place| &self.members[place.0]);
            let there: Vec<&Member> = places.filter(|member| member.is_present()).collect();
            let units = self.units_of(run.range);
            let mut at = units.start;
            while at < units.end {
                let stale = there.iter().filter_map(|member| member.stale().next(at..units.end));
                let odd = stale.min_by_key(|run| run.start).unwrap_or(units.end..units.end);
                let mut note = |good: usize, count: u64| {
                    if count > 0 {
                        least = least.min(good);
                        lost += if good == 0 { count } else { 0 };
                    }
                };
                note(there.len(), odd.start - at);
                for unit in odd.clone() {
                    note(there.iter().filter(|member| !member.stale().holds(unit)).count(), 1);
                }
                at = odd.end;
            }
        }
        let spare = if least == usize::MAX { 0 } else { least.saturating_sub(1) };
        Safety { spare, lost: Sectors(lost * self.unit.0) }
    }
}
