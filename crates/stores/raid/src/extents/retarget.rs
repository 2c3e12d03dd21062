//! Plans for members that shrink, grow, come or go: which tiles stay, and what has to move.
//!
//! Running the placement again would move most of an array, since everything behind a change has another place then. So tiles stay where they are, and as
//! few of their slots move as can be: a minimum-cost flow from sets of tiles to members says how many slots of which tiles go where,
//! and the peel says which tile has which.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::flow::Network;
use super::{ExtentTable, Slot};
use crate::placement::{PlacementError, Site, check, grouped, peel, peeled};

/// Whether tiles may move so that the array can grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebalance {
    /// Only what loses its slot moves. New tiles are what the free slots make.
    Never,
    /// As much as is needed for as many tiles as fit.
    ForCapacity,
}

/// What an array is to become.
#[derive(Clone, Debug)]
pub struct Target<'a> {
    /// The members as they are to be. One that leaves has no slots; one that shrinks loses those with the highest numbers.
    pub sites: &'a [Site],
    /// Tiles that are wanted, as far as they fit.
    pub tiles: u64,
    /// Whether tiles may move for more tiles.
    pub rebalance: Rebalance,
    /// How exposed each member is, such as the share of its endurance that is used; of members that are not named, 0. What lies on the most exposed one
    /// moves first, after what loses its slot.
    pub exposure: &'a [f64],
}

/// A slot of a tile that gets another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// The tile.
    pub tile: u64,
    /// The position in it.
    pub position: u16,
    /// Where it lies.
    pub from: Slot,
    /// Where it is to lie. The slot is free once all moves before this one are made.
    pub to: Slot,
}

/// How an array becomes what it is to be. After each of the moves it can be replaced by another plan for the table as it is then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Tiles that stay, the first ones. The others have to be given up before the first move.
    pub kept: u64,
    /// The moves, in their order.
    pub moves: Vec<Move>,
    /// Slots of tiles that come behind those that stay, tile after tile. They are free after the last move.
    pub added: Vec<Slot>,
    /// The most tiles that fit on the members.
    pub most: u64,
    width: usize,
}

impl Plan {
    /// Tiles that the array has in the end.
    pub fn tiles(&self) -> u64 {
        self.kept + (self.added.len() / self.width) as u64
    }

    /// Moves from one member to another.
    pub fn across(&self) -> u64 {
        self.moves.iter().filter(|step| step.from.member != step.to.member).count() as u64
    }

    /// Moves from one slot of a member to another.
    pub fn within(&self) -> u64 {
        self.moves.len() as u64 - self.across()
    }

    /// Slots of a member that the moves write, which wears it.
    pub fn written(&self, member: u16) -> u64 {
        self.moves.iter().filter(|step| step.to.member == member).count() as u64
    }

    /// Makes all of the plan at once.
    pub fn apply(&self, table: &mut ExtentTable) {
        table.truncate(self.kept);
        for step in &self.moves {
            table.place(step.tile, usize::from(step.position), step.to);
        }
        self.added.chunks(self.width).for_each(|tile| table.push(tile));
    }
}

/// Plans how the tiles of a table come to lie on members as they are to be.
///
/// Tiles fall from the end of the array until the rest fits. Of all plans for the tiles that then stay, this one moves the fewest slots from one member to
/// another. Beyond that it moves slots that would have to move anyway, and lets no tile become slower.
///
/// # Errors
/// Fewer members have room than a tile is wide. Then nothing of the array can stay.
pub fn retarget(table: &ExtentTable, target: &Target<'_>) -> Result<Plan, PlacementError> {
    let width = table.width() as u64;
    check(target.sites, table.width())?;
    let sizes: Vec<u64> = target.sites.iter().map(|site| site.slots.min(u64::from(u32::MAX))).collect();
    let most = peel::most(&sizes, width);
    let kept = table.len().min(most).min(target.tiles);
    let wanted = most.min(target.tiles) - kept;
    let new = if target.rebalance == Rebalance::ForCapacity { wanted } else { 0 };
    let sets = sets(table, kept, &sizes);
    let flow = Flow::new(&sets, new, &sizes, target.sites, width);
    let mut steps = Vec::new();
    sets.iter().enumerate().for_each(|(number, set)| steps.extend(set.steps(table, &flow.counts(number), &sizes)));
    let (moves, free) = ordered(table, kept, steps, &sizes, target.exposure);
    let room: Vec<u64> = match target.rebalance {
        Rebalance::Never => free.iter().map(|free| free.len() as u64).collect(),
        Rebalance::ForCapacity => flow.counts(sets.len()),
    };
    let count = wanted.min(peel::most(&room, width));
    let added = added(&peeled(target.sites, &room, table.width(), count), target.sites, free);
    Ok(Plan { kept, moves, added, most, width: table.width() })
}

/// Tiles on the same members, at whatever positions.
struct Set {
    /// In rising order.
    members: Vec<usize>,
    tiles: Vec<u64>,
    /// Of each member, tiles whose slot there stays.
    stay: Vec<u64>,
}

/// Whether a slot stays with members of these sizes.
fn stays(slot: Slot, sizes: &[u64]) -> bool {
    sizes.get(usize::from(slot.member)).is_some_and(|size| u64::from(slot.slot) < *size)
}

/// The first `kept` tiles by their members.
fn sets(table: &ExtentTable, kept: u64, sizes: &[u64]) -> Vec<Set> {
    let mut sets: BTreeMap<Vec<usize>, Vec<u64>> = BTreeMap::new();
    for tile in 0..kept {
        let mut members: Vec<usize> = table.tile(tile).iter().map(|slot| usize::from(slot.member)).collect();
        members.sort_unstable();
        sets.entry(members).or_default().push(tile);
    }
    let staying = |member: &usize, tiles: &[u64]| {
        let on = |slot: &&Slot| usize::from(slot.member) == *member && stays(**slot, sizes);
        tiles.iter().filter(|tile| table.tile(**tile).iter().any(|slot| on(&slot))).count() as u64
    };
    sets.into_iter()
        .map(|(members, tiles)| {
            let stay = members.iter().map(|member| staying(member, &tiles)).collect();
            Set { members, tiles, stay }
        })
        .collect()
}

/// How many slots each set of tiles gets on each member.
struct Flow {
    network: Network,
    /// Of each set, arcs to each member. New tiles are the last set.
    arcs: Vec<Vec<Vec<usize>>>,
}

impl Flow {
    /// Each set of n tiles gets `width * n` slots, at most n on a member, at the least cost. To stay costs nothing, another member most, and another slot of
    /// the same member so little that no number of such moves is worth a move to another member. A member that is slower than all that the set lies on
    /// costs least of all.
    fn new(sets: &[Set], new: u64, sizes: &[u64], sites: &[Site], width: u64) -> Self {
        let units = width * (sets.iter().map(|set| set.tiles.len() as u64).sum::<u64>() + new);
        let unit = i64::try_from(units + 1).expect("an array has fewer than 2^31 slots");
        let costs = [unit, unit.checked_mul(unit).expect("an array has fewer than 2^31 slots")];
        let (source, sink) = (0, 1);
        let member_node = |member: usize| 2 + member;
        let mut network = Network::new(3 + sizes.len() + sets.len());
        let mut room = sizes.to_vec();
        let mut arcs = Vec::new();
        for (number, set) in sets.iter().enumerate() {
            let node = 2 + sizes.len() + number;
            let tiles = set.tiles.len() as u64;
            let slowest = set.members.iter().filter_map(|member| sites.get(*member)).map(|site| site.speed);
            let slowest = slowest.min_by(f64::total_cmp).unwrap_or(0.0);
            let mut from = 0;
            let to_members = (0..sizes.len()).map(|member| {
                let to = [node, member_node(member)];
                let Some(place) = set.members.iter().position(|own| *own == member) else {
                    let slower = i64::from(sites[member].speed < slowest);
                    return vec![network.arc(to, tiles, costs[1] + slower, 0)];
                };
                let flow = set.stay[place].min(room[member]);
                room[member] -= flow;
                from += flow;
                vec![network.arc(to, set.stay[place], 0, flow), network.arc(to, tiles - set.stay[place], costs[0], 0)]
            });
            arcs.push(to_members.collect());
            network.arc([source, node], width * tiles, 0, from);
        }
        let node = 2 + sizes.len() + sets.len();
        arcs.push((0..sizes.len()).map(|member| vec![network.arc([node, member_node(member)], new, 0, 0)]).collect());
        network.arc([source, node], width * new, 0, 0);
        for (member, size) in sizes.iter().enumerate() {
            network.arc([member_node(member), sink], *size, 0, size - room[member]);
        }
        network.fill(source, sink);
        let flow = Self { network, arcs };
        let placed: u64 = (0..=sets.len()).flat_map(|set| flow.counts(set)).sum();
        assert_eq!(placed, units, "as many tiles as the closed form allows find their slots");
        flow
    }

    /// Slots of a set on each member.
    fn counts(&self, set: usize) -> Vec<u64> {
        self.arcs[set].iter().map(|arcs| arcs.iter().map(|arc| self.network.flow(*arc)).sum()).collect()
    }
}

/// A position of a tile that needs another slot on a member, which may be the one that it lies on.
struct Step {
    tile: u64,
    position: usize,
    member: usize,
}

impl Set {
    /// What has to move so that the set has as many slots on each member.
    fn steps(&self, table: &ExtentTable, counts: &[u64], sizes: &[u64]) -> Vec<Step> {
        let mut tiles = self.tiles.clone();
        let mut steps = Vec::new();
        for (mut chosen, count) in peel::peel(counts, self.members.len() as u64, tiles.len() as u64) {
            chosen.sort_unstable();
            let leaves = |slot: &Slot| !chosen.contains(&usize::from(slot.member));
            // Those tiles leave members that lose their slots there, and those that lose none stay. Of equal ones the last are taken first.
            let lost = |tile: u64, leaving: bool| {
                let slots = table.tile(tile).iter().filter(|slot| !stays(**slot, sizes));
                slots.filter(|slot| leaves(slot) == leaving).count() as i64
            };
            tiles.sort_by_key(|tile| (lost(*tile, true) - lost(*tile, false), *tile));
            for tile in tiles.split_off(tiles.len() - count as usize) {
                let mut come = chosen.iter().filter(|member| !self.members.contains(member));
                for (position, slot) in table.tile(tile).iter().enumerate() {
                    if leaves(slot) {
                        let member = *come.next().expect("as many members come as leave");
                        steps.push(Step { tile, position, member });
                    } else if !stays(*slot, sizes) {
                        steps.push(Step { tile, position, member: usize::from(slot.member) });
                    }
                }
            }
        }
        steps
    }
}

/// The moves in an order in which the slot that each one needs is free, and the slots of each member that are free after them.
///
/// Such an order exists. Let a member lead to another one if a slot moves from this to that. Around a cycle of members, as many slots could stay instead, so
/// the flow would not be the cheapest: there is no cycle. A member that leads to none has room for all that comes. Once that has come, the same holds of
/// those that lead only to such members. So as long as moves wait, there is one whose member has a free slot, whatever was moved before.
fn ordered(
    table: &ExtentTable,
    kept: u64,
    steps: Vec<Step>,
    sizes: &[u64],
    exposure: &[f64],
) -> (Vec<Move>, Vec<Vec<u32>>) {
    let mut free = free(table, kept, sizes);
    let exposure = |member: u16| exposure.get(usize::from(member)).copied().unwrap_or(0.0);
    let mut exposed: Vec<u16> = (0..=table.last_member()).collect();
    exposed.sort_by(|one, other| exposure(*other).total_cmp(&exposure(*one)));
    let mut rank = vec![0; exposed.len()];
    exposed.iter().enumerate().for_each(|(place, member)| rank[usize::from(*member)] = place);
    let mut waiting: Vec<BTreeSet<(bool, usize, u64, usize)>> = vec![BTreeSet::new(); sizes.len()];
    let mut left = steps.len();
    for step in steps {
        let from = table.tile(step.tile)[step.position];
        waiting[step.member].insert((stays(from, sizes), rank[usize::from(from.member)], step.tile, step.position));
    }
    let mut moves = Vec::with_capacity(left);
    while left > 0 {
        let ready = (0..sizes.len()).filter(|member| !free[*member].is_empty());
        let first = ready.filter_map(|member| Some((*waiting[member].first()?, member))).min();
        let (key, member) = first.expect("members of moves that wait form no cycle");
        waiting[member].remove(&key);
        let (is_good, _, tile, position) = key;
        let from = table.tile(tile)[position];
        let slot = free[member].pop().expect("the member has a free slot");
        moves.push(Move { tile, position: position as u16, from, to: Slot { member: member as u16, slot } });
        if is_good {
            free[usize::from(from.member)].push(from.slot);
        }
        left -= 1;
    }
    (moves, free)
}

/// Slots of each member that no kept tile has. The first ones come last.
fn free(table: &ExtentTable, kept: u64, sizes: &[u64]) -> Vec<Vec<u32>> {
    let mut used: Vec<Vec<bool>> = sizes.iter().map(|size| vec![false; *size as usize]).collect();
    for slot in (0..kept).flat_map(|tile| table.tile(tile)).filter(|slot| stays(**slot, sizes)) {
        used[usize::from(slot.member)][slot.slot as usize] = true;
    }
    used.iter().map(|used| (0..used.len() as u32).rev().filter(|slot| !used[*slot as usize]).collect()).collect()
}

/// Slots of new tiles, on the first free ones of each member.
fn added(runs: &[(Vec<usize>, u64)], sites: &[Site], mut free: Vec<Vec<u32>>) -> Vec<Slot> {
    free.iter_mut().for_each(|free| free.sort_unstable_by(|one, other| other.cmp(one)));
    let mut slots = Vec::new();
    for group in grouped(sites, runs.to_vec()) {
        for _ in 0..group.tiles {
            for member in &group.members {
                let slot = free[usize::from(*member)].pop().expect("the room was counted");
                slots.push(Slot { member: *member, slot });
            }
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extents::Group;
    use crate::placement::peel::tests::random;
    use crate::placement::tests::{one, some, two};
    use crate::placement::{Placement, UNEQUAL};

    fn sites(slots: &[u64]) -> Vec<Site> {
        slots.iter().map(|slots| Site { slots: *slots, speed: 1.0 }).collect()
    }

    fn full(sites: &[Site], width: usize) -> ExtentTable {
        ExtentTable::of_groups(&UNEQUAL.groups(sites, width).unwrap(), width)
    }

    fn target(sites: &[Site], rebalance: Rebalance) -> Target<'_> {
        Target { sites, tiles: u64::MAX, rebalance, exposure: &[] }
    }

    /// Members of a tile, rising.
    fn members(table: &ExtentTable, tile: u64) -> Vec<u16> {
        let mut members: Vec<u16> = table.tile(tile).iter().map(|slot| slot.member).collect();
        members.sort_unstable();
        members
    }

    fn check_table(table: &ExtentTable, sizes: &[u64]) {
        let mut used = BTreeSet::new();
        for tile in 0..table.len() {
            assert!(members(table, tile).windows(2).all(|pair| pair[0] < pair[1]), "tile {tile} is twice on a member");
            assert!(table.tile(tile).iter().all(|slot| stays(*slot, sizes)), "tile {tile} lies beyond a member");
            assert!(table.tile(tile).iter().all(|slot| used.insert(*slot)), "tile {tile} shares a slot");
        }
    }

    /// Makes the plan's moves one by one. Each tile has members of its own meanwhile, and each move finds its slot free.
    fn carried_out(plan: &Plan, table: &ExtentTable, sizes: &[u64]) -> ExtentTable {
        let mut now = table.clone();
        now.truncate(plan.kept);
        let mut used: BTreeSet<Slot> = (0..plan.kept).flat_map(|tile| now.tile(tile).to_vec()).collect();
        for step in &plan.moves {
            assert_eq!(now.tile(step.tile)[usize::from(step.position)], step.from);
            assert!(stays(step.to, sizes), "no slot is handed out that is to go");
            assert!(used.insert(step.to), "{step:?} finds its slot in use");
            used.remove(&step.from);
            now.place(step.tile, usize::from(step.position), step.to);
            assert!(members(&now, step.tile).windows(2).all(|pair| pair[0] < pair[1]), "{step:?}");
        }
        plan.added.chunks(table.width()).for_each(|tile| now.push(tile));
        let mut applied = table.clone();
        plan.apply(&mut applied);
        assert_eq!(applied, now);
        check_table(&now, sizes);
        now
    }

    /// Slots that move to another member if the placement runs again, and each tile becomes one of those that are most like it.
    fn placed_again(table: &ExtentTable, kept: u64, sites: &[Site]) -> u64 {
        let sizes: Vec<u64> = sites.iter().map(|site| site.slots).collect();
        let (old, again) = (sets(table, kept, &sizes), full(sites, table.width()));
        let new = sets(&again, again.len(), &sizes);
        let mut network = Network::new(2 + old.len() + new.len());
        let mut arcs = Vec::new();
        for (row, old_set) in old.iter().enumerate() {
            network.arc([0, 2 + row], old_set.tiles.len() as u64, 0, 0);
            for (column, new_set) in new.iter().enumerate() {
                let moved = old_set.members.iter().filter(|member| !new_set.members.contains(member)).count();
                let to = 2 + old.len() + column;
                arcs.push((network.arc([2 + row, to], kept, moved as i64, 0), moved as u64));
            }
        }
        for (column, set) in new.iter().enumerate() {
            network.arc([2 + old.len() + column, 1], set.tiles.len() as u64, 0, 0);
        }
        network.fill(0, 1);
        arcs.into_iter().map(|(arc, moved)| network.flow(arc) * moved).sum()
    }

    /// Members that shrink, grow, come and go.
    fn changed(sites: &[Site], next: &mut impl FnMut(u64) -> u64) -> Vec<Site> {
        let mut new = sites.to_vec();
        for site in &mut new {
            match next(4) {
                0 => site.slots -= next(site.slots + 1),
                1 => site.slots += next(20),
                _ => {}
            }
        }
        if next(3) == 0 {
            let gone = next(new.len() as u64) as usize;
            new[gone].slots = 0;
        }
        if next(2) == 0 {
            new.push(Site { slots: next(40), speed: (1 + next(5)) as f64 });
        }
        new
    }

    /// Random arrays that change again and again.
    #[test]
    fn plans_keep_tiles_whole_and_every_slot_free_for_its_move() {
        let (mut next, mut placed) = (random(101), 0);
        for round in 0..300 {
            let width = 1 + next(4) as usize;
            let mut members = some(&mut next, width, 30);
            let mut table = full(&members, width);
            for _ in 0..4 {
                let new = changed(&members, &mut next);
                let sizes: Vec<u64> = new.iter().map(|site| site.slots).collect();
                let most = peel::most(&sizes, width as u64);
                let exposure: Vec<f64> = new.iter().map(|_| next(3) as f64).collect();
                let rebalance = if next(2) == 0 { Rebalance::Never } else { Rebalance::ForCapacity };
                let tiles = if next(2) == 0 { u64::MAX } else { next(40) };
                let wish = Target { sites: &new, tiles, rebalance, exposure: &exposure };
                let Ok(plan) = retarget(&table, &wish) else {
                    assert_eq!(most, 0, "there is a plan where a tile fits");
                    break;
                };
                assert_eq!((plan.kept, plan.most), (table.len().min(most).min(tiles), most), "{round}");
                if rebalance == Rebalance::ForCapacity {
                    assert_eq!(plan.tiles(), most.min(tiles));
                }
                if tiles >= most && plan.added.is_empty() {
                    placed += 1;
                    assert!(plan.across() <= placed_again(&table, plan.kept, &new), "{round}");
                }
                table = carried_out(&plan, &table, &sizes);
                members = new;
            }
        }
        assert!(placed > 100, "{placed} plans were held against placing again");
    }

    /// The fewest slots that move to another member, by trying all members for each tile.
    fn exact(table: &ExtentTable, tile: u64, kept: u64, room: &mut [u64]) -> Option<u64> {
        if tile == kept {
            return Some(0);
        }
        let old = members(table, tile);
        let mut best: Option<u64> = None;
        for set in (0u32..1 << room.len()).filter(|set| set.count_ones() as usize == table.width()) {
            let chosen: Vec<usize> = (0..room.len()).filter(|member| set >> member & 1 == 1).collect();
            if chosen.iter().any(|member| room[*member] == 0) {
                continue;
            }
            chosen.iter().for_each(|member| room[*member] -= 1);
            let moved = chosen.iter().filter(|member| !old.contains(&(**member as u16))).count() as u64;
            let rest = exact(table, tile + 1, kept, room).map(|rest| rest + moved);
            best = [best, rest].into_iter().flatten().min();
            chosen.iter().for_each(|member| room[*member] += 1);
        }
        best
    }

    #[test]
    fn no_plan_moves_fewer_slots() {
        let mut next = random(67);
        for _ in 0..150 {
            let width = 1 + next(2) as usize;
            let old: Vec<u64> = (0..3 + next(2)).map(|_| 1 + next(3)).collect();
            let new: Vec<Site> = sites(&old.iter().map(|_| next(4)).collect::<Vec<u64>>());
            let mut table = full(&sites(&old), width);
            table.truncate(4);
            let Ok(plan) = retarget(&table, &target(&new, Rebalance::Never)) else { continue };
            let mut room: Vec<u64> = new.iter().map(|site| site.slots).collect();
            assert_eq!(exact(&table, 0, plan.kept, &mut room), Some(plan.across()), "{old:?} to {new:?} by {width}");
        }
    }

    #[test]
    fn a_new_member_moves_nothing_until_it_is_asked_for() {
        let old = sites(&[10, 10, 10]);
        let table = full(&old, 3);
        let new = sites(&[10, 10, 10, 10]);
        let plan = retarget(&table, &target(&new, Rebalance::Never)).unwrap();
        assert_eq!((plan.moves.len(), plan.tiles(), plan.most), (0, 10, 13), "the gain that is not taken is told");
        let plan = retarget(&table, &target(&new, Rebalance::ForCapacity)).unwrap();
        assert_eq!(
            (plan.across(), plan.within(), plan.tiles()),
            (6, 0, 13),
            "three tiles need six slots of old members"
        );
        assert_eq!((plan.written(3), plan.written(0)), (6, 0), "the new member has them, and one of each new tile");
    }

    #[test]
    fn a_member_is_replaced_slot_by_slot_by_the_new_one() {
        let table = full(&sites(&[10, 10, 10]), 3);
        let new = sites(&[10, 0, 10, 12]);
        let plan = retarget(&table, &target(&new, Rebalance::Never)).unwrap();
        assert_eq!((plan.kept, plan.across(), plan.within()), (10, 10, 0));
        assert!(plan.moves.iter().all(|step| step.from.member == 1 && step.to.member == 3 && step.position == 1));
        assert_eq!(
            retarget(&table, &target(&new[..3], Rebalance::Never)),
            Err(PlacementError::Width { width: 3, found: 2 })
        );
    }

    #[test]
    fn what_loses_its_slot_moves_first_and_then_the_most_exposed() {
        // A tile on each pair of the first three members. The third one leaves, and the first one shrinks by a slot that is in use.
        let pair = |one, other| Group { members: vec![one, other], tiles: 1 };
        let table = ExtentTable::of_groups(&[pair(0, 1), pair(0, 2), pair(1, 2)], 2);
        let sites = sites(&[1, 3, 0, 9]);
        let exposure = [0.5, 0.0, 0.1, 0.0];
        let wish = Target { sites: &sites, tiles: 3, rebalance: Rebalance::Never, exposure: &exposure };
        let plan = retarget(&table, &wish).unwrap();
        let from: Vec<u16> = plan.moves.iter().map(|step| step.from.member).collect();
        assert_eq!((plan.kept, from), (3, vec![0, 2, 2]), "all lose their slots; the first member is the most exposed");
        // For a new member to gain a tile, one that nothing forces moves too.
        let table = ExtentTable::of_groups(&[Group { members: vec![0, 1], tiles: 4 }], 2);
        let sites = self::sites(&[4, 3, 4]);
        let exposure = [1.0, 0.0, 0.0];
        let wish = Target { sites: &sites, tiles: 5, rebalance: Rebalance::ForCapacity, exposure: &exposure };
        let plan = retarget(&table, &wish).unwrap();
        let from: Vec<u16> = plan.moves.iter().map(|step| step.from.member).collect();
        assert_eq!((plan.tiles(), from), (5, vec![1, 0]), "what loses its slot goes before the more exposed member");
    }

    /// A member loses a tenth: percent of all slots that move, and that move if the placement runs again. The least and the most by member.
    fn percentages(sites: &[Site], width: usize, slots: u64) -> [[f64; 2]; 2] {
        let old: Vec<Site> = sites.iter().map(|site| Site { slots: site.slots * slots, ..*site }).collect();
        let table = full(&old, width);
        let percent = |moved: u64| 100.0 * moved as f64 / (table.len() * width as u64) as f64;
        let mut ranges = [[f64::INFINITY, 0.0]; 2];
        for member in 0..sites.len() {
            let mut new = old.clone();
            new[member].slots -= new[member].slots / 10;
            let plan = retarget(&table, &Target { tiles: table.len(), ..target(&new, Rebalance::Never) }).unwrap();
            let moved = [plan.across(), placed_again(&table, plan.kept, &new)].map(percent);
            for (range, moved) in ranges.iter_mut().zip(moved) {
                *range = [range[0].min(moved), range[1].max(moved)];
            }
        }
        ranges
    }

    /// Percent of the slots that move, by member: 0.5 to 2.8 for config 1 of dissertation 000 Table 9, and 0 to 1.0 for config 2. Placing anew moves 0.6 to
    /// 6.0 and 0 to 2.8. An independent model of the same rule found these.
    #[test]
    fn a_member_that_loses_a_tenth_moves_few_slots() {
        for (sites, width, least, most) in [(one(), 3, 0.3, 3.0), (two(), 6, 0.0, 1.1)] {
            for slots in [1, 16] {
                let [flow, again] = percentages(&sites, width, slots);
                println!(
                    "{} members, {slots} slots a GiB: {flow:.2?} % move, {again:.2?} % by placing again",
                    sites.len()
                );
                assert!(flow[0] >= least && flow[1] <= most, "{flow:?}");
                assert!(flow[0] <= again[0] && flow[1] < again[1], "{flow:?} against {again:?}");
            }
        }
    }
}
