//! What a parity array tells its operator: what is missing where, what that costs, and what may still be lost.

use std::collections::BTreeMap;
use std::ops::Range;

use wane_blockdev::SectorRange;
use wane_units::{Lba, Sectors};

use super::Raid;
use super::member::Joins;
use crate::mirror::Repairs;
use crate::redundant::Safety;

/// Written stripes by the positions that are missing and whether parities can be trusted.
type Damage = BTreeMap<(Vec<usize>, bool), u64>;

impl Raid {
    /// Sectors of which a member does not have the present contents, although it should.
    pub fn stale(&self, member: usize) -> Sectors {
        Sectors(self.members[member].stale.len() * self.map.chunk)
    }

    /// Sectors of the array that could not be read any more without a member that is there.
    pub fn only_on(&self, member: usize) -> Sectors {
        if !self.members[member].is_present() {
            return Sectors::ZERO;
        }
        let lost = |damage: &Damage| damage.iter().map(|(kind, stripes)| self.unmade(&kind.0, kind.1) * stripes).sum();
        let (now, then): (u64, u64) = (lost(&self.damage(None)), lost(&self.damage(Some(member))));
        Sectors(then.saturating_sub(now) * self.map.chunk)
    }

    /// Whether a member has all that it should, and would have it if the power failed now.
    fn is_safe(&self, member: usize) -> bool {
        let lacks_if_cut = self.commits.lacks_if_cut.contains(&member);
        let member = &self.members[member];
        member.is_present() && member.joins == Joins::Not && member.stale.is_empty() && !lacks_if_cut
    }

    /// Whether all members have all that they should, durably, and the array counts them.
    pub fn is_settled(&self) -> bool {
        (0..self.members.len()).all(|member| self.members[member].is_retired || self.is_safe(member))
    }

    /// What further losses it stands, also with the power of all members.
    pub fn safety(&self) -> Safety {
        let tolerates = self.config.code.tolerates();
        // Wherever their tiles lie: no more than the code tolerates may lack an entry of the ring, or be missing when the power returns.
        let counts = |member: &usize| !self.members[*member].is_left_out();
        let mut missing = (0..self.members.len()).filter(counts).filter(|member| !self.is_safe(*member)).count();
        // Where they may differ, the first copy counts.
        missing = missing.max(if self.differs.is_empty() { 0 } else { tolerates });
        let mut lost = 0;
        for ((positions, is_trusted), stripes) in self.damage(None) {
            missing = missing.max(if is_trusted { positions.len() } else { tolerates });
            lost += self.unmade(&positions, is_trusted) * stripes;
        }
        let lost = Sectors(lost * self.map.chunk) + self.known_lost();
        Safety { spare: tolerates.saturating_sub(missing), lost }
    }

    /// Sectors that members lost themselves, as far as that was found, in chunks that can be made otherwise.
    fn known_lost(&self) -> Sectors {
        let all = SectorRange::new(Lba(0), self.capacity);
        let mut sum = Sectors::ZERO;
        for block in self.lost.within(all).flat_map(|range| self.map.blocks(range)) {
            let missing = self.unusable(block.stripe, None);
            let have: Vec<usize> = (0..self.coder.width()).filter(|position| !missing.contains(position)).collect();
            let is_trusted = self.coder.has_copies() || !self.differs.holds(block.stripe);
            for (chunk, host) in self.map.hosts(&block) {
                let is_made = !missing.contains(&chunk) || is_trusted && self.coder.solve(&[chunk], &have).is_some();
                sum += Sectors(if is_made { host.count.0 } else { 0 });
            }
        }
        sum
    }

    /// What it did for itself so far, in sectors.
    pub fn repairs_in_sectors(&self) -> Repairs {
        let repairs = self.repairs();
        let stripe = self.map.stripe_sectors();
        Repairs {
            repaired: repairs.repaired,
            copied: repairs.rebuilt + Sectors(repairs.resynced * self.coder.parities() as u64 * self.map.chunk),
            failed: repairs.refused,
            scrubbed: Sectors(repairs.scrubbed * stripe),
            unequal: Sectors(repairs.mismatched * stripe),
            unreadable: repairs.lost,
        }
    }

    /// Data chunks of a stripe that cannot be made without these positions.
    fn unmade(&self, missing: &[usize], is_trusted: bool) -> u64 {
        let data = missing.iter().filter(|position| **position < self.coder.data());
        if !is_trusted {
            return data.count() as u64;
        }
        let have: Vec<usize> = (0..self.coder.width()).filter(|position| !missing.contains(position)).collect();
        data.filter(|position| self.coder.solve(&[**position], &have).is_none()).count() as u64
    }

    /// What is missing of written stripes, and what else would be without a member.
    fn damage(&self, without: Option<usize>) -> Damage {
        let mut damage = Damage::new();
        let mut first = 0;
        for group in self.map.table.groups() {
            let stripes = first * self.map.tile..(first + group.tiles) * self.map.tile;
            first += group.tiles;
            self.damage_in(stripes, &group.members, without, &mut damage);
        }
        damage.retain(|(missing, _), stripes| !missing.is_empty() && *stripes > 0);
        damage
    }

    /// The same of stripes that lie on the same members.
    fn damage_in(&self, stripes: Range<u64>, on: &[u16], without: Option<usize>, damage: &mut Damage) {
        let mut at = stripes.start;
        while at < stripes.end {
            let stale = on.iter().map(|member| &self.members[usize::from(*member)].stale);
            let odd = stale.chain([&self.differs]).filter_map(|bits| bits.next(at..stripes.end));
            let odd = odd.min_by_key(|run| run.start).unwrap_or(stripes.end..stripes.end);
            // Between two odd ones all stripes miss the same members, on positions that turn.
            let turn = self.map.parity_columns.len() as u64;
            for offset in 0..turn.min(odd.start - at) {
                let written = self.written_of_turn(at + offset..odd.start, turn);
                *damage.entry((self.unusable(at + offset, without), true)).or_default() += written;
            }
            for stripe in odd.clone().filter(|stripe| self.written.holds(*stripe)) {
                let is_trusted = self.coder.has_copies() || !self.differs.holds(stripe);
                *damage.entry((self.unusable(stripe, without), is_trusted)).or_default() += 1;
            }
            at = odd.end.max(at + 1);
        }
    }

    /// Written stripes of a range, of which each `turn`-th counts.
    fn written_of_turn(&self, stripes: Range<u64>, turn: u64) -> u64 {
        let (mut at, mut count) = (stripes.start, 0);
        while let Some(run) = self.written.next(at..stripes.end) {
            at = run.end;
            let before = |end: u64| (end - stripes.start).div_ceil(turn);
            count += before(run.end) - before(run.start);
        }
        count
    }

    /// Positions of a stripe that cannot be read.
    fn unusable(&self, stripe: u64, without: Option<usize>) -> Vec<usize> {
        let is_missing = |position: &usize| {
            !self.is_usable(stripe, *position) || Some(self.map.member(stripe, *position)) == without
        };
        (0..self.coder.width()).filter(is_missing).collect()
    }
}
