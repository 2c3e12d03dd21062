//! How an array comes back when its power does: it reads what its members know of it, carries out again what the ring has, and takes members back.

use std::collections::BTreeMap;

use wane_blockdev::{
    BlockDevice as _, Completion, Living as _, Origin, PowerError, RangeSet, Recovered, Request, SectorRange, Status,
};
use wane_units::{Fate, Lba, Nanos, Sectors, SimTime};

use super::commits::Stage;
use super::map::Rows;
use super::member::{Joins, Member};
use super::meta::{self, Checkpoint, Entry, Record, Superblock};
use super::reads::slice;
use super::{New, Raid, packed};
use crate::bits::Bits;
use crate::extents::Slot;
use crate::members::{MemberState, Returned};

/// What members say together.
pub(super) struct Found {
    superblock: Superblock,
    checkpoint: Checkpoint,
    /// By number, without gaps.
    entries: Vec<Entry>,
    /// Members of the highest generation.
    current: Vec<usize>,
    /// Members that hold nothing of the array, since they were put in the place of others.
    blank: Vec<usize>,
}

impl Found {
    /// Whether its tables are those of an array of N members.
    pub(super) fn is_sound(&self, members: usize, width: usize) -> bool {
        let Checkpoint { table, slots, stale, .. } = &self.checkpoint;
        table.len().is_multiple_of(width)
            && table.iter().all(|(member, _)| usize::from(*member) < members)
            && slots.len() <= members
            && stale.len() <= members
    }
}

impl Raid {
    /// Switches the members on and finds out what holds.
    ///
    /// # Errors
    /// Too few members come back, or none that knows the array.
    pub(super) fn recover(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        let Returned { mut took, lost, why } = self.members.power_on(at, Member::come_back);
        lost.into_iter().for_each(|member| self.members[member].state = MemberState::Absent);
        self.come_to_members();
        let begin = self.now;
        let found = match self.find() {
            Ok(found) => found,
            Err(what) => {
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                return Err(self.stay_off(&format!("{what}{why}")));
            }
        };
        self.take_over(&found);
        let ready = self.go_on_from(&found);
        took = Nanos(took.0 + (ready.0 - begin.0));
        Ok(Recovered { took })
    }

    /// Carries out again what the ring has, and goes on from there. Returns when the array is ready.
    pub(super) fn go_on_from(&mut self, found: &Found) -> SimTime {
        self.is_off = false;
        found.blank.iter().for_each(|member| self.members[*member].is_blank = true);
        self.replay(found);
        // One that is out may have taken another's place, too.
        let is_blank = |member: &usize| found.blank.contains(member) || self.is_blank_and_out(*member);
        let blank: Vec<usize> = (0..self.members.len()).filter(is_blank).collect();
        blank.into_iter().for_each(|member| self.spoil_all(member));
        self.give_up_all();
        self.come_to_members();
        self.tell_if_degraded();
        self.move_on(&found.checkpoint.target);
        self.want_checkpoint();
        self.settle_found();
        self.count();
        self.now
    }

    /// Whether a member was put in the place of another one, and taken out before it had a superblock.
    fn is_blank_and_out(&self, member: usize) -> bool {
        self.members[member].is_blank && !self.members[member].is_present()
    }

    /// Waits until what was found is durable on all members. An entry that one member had must not go with it, nor may one come back later with a member
    /// that was away.
    fn settle_found(&mut self) {
        let first = self.commits.cycle;
        while self.commits.stage != Stage::Idle && self.commits.cycle == first {
            let Some(next) = self.next_event() else { break };
            self.catch_up(next.max(self.now));
        }
    }

    /// Comes to the instant of the member that is furthest ahead.
    fn come_to_members(&mut self) {
        self.now = self.members.latest(self.now);
    }

    fn stay_off(&mut self, what: &str) -> PowerError {
        self.now = self.members.stay_off(self.now);
        PowerError::Lost(what.to_owned())
    }

    /// Asks a member and waits for its answer. Nothing else is outstanding.
    pub(super) fn ask_now(&mut self, member: usize, request: Request) -> Option<Completion> {
        self.come_to_members();
        let device = &mut self.members[member].device;
        let id = device.submit(self.now, request);
        let mut out = Vec::new();
        while let Some(next) = device.next_event_at() {
            let until = next.max(device.now());
            device.complete(until, &mut out);
        }
        self.come_to_members();
        out.into_iter().find(|end| end.id == id)
    }

    fn read_now(&mut self, member: usize, range: SectorRange) -> Vec<u8> {
        let answer = self.ask_now(member, Request::read(range).with_origin(Origin::ArrayParity));
        answer.and_then(|end| end.bytes).unwrap_or_default()
    }

    /// The newest superblock of a member, if it belongs to this array.
    fn superblock_of(&mut self, member: usize) -> Option<Superblock> {
        let mut newest: Option<Superblock> = None;
        for copy in 0..2 {
            let bytes = self.read_now(member, self.areas.superblock(copy));
            let found = meta::open::<Superblock>(meta::SUPERBLOCK, &bytes);
            let found = found.filter(|found| found.0 == self.config.uuid && usize::from(found.1.member) == member);
            if let Some((_, superblock)) = found
                && newest.as_ref().is_none_or(|newest| newest.epoch < superblock.epoch)
            {
                newest = Some(superblock);
            }
        }
        newest
    }

    /// What counts of what members say.
    pub(super) fn find(&mut self) -> Result<Found, String> {
        let present: Vec<usize> = (0..self.members.len()).filter(|member| self.members[*member].is_present()).collect();
        if !self.features.keeps_bytes {
            return self.find_kept(&present);
        }
        let mut superblocks = BTreeMap::new();
        for member in present {
            if let Some(superblock) = self.superblock_of(member) {
                self.members[member].place = superblock.checkpoint.0;
                superblocks.insert(member, superblock);
            }
        }
        let told = superblocks.values().filter(|one| one.counts_itself());
        let Some(newest) = told.max_by_key(|one| (one.generation, one.epoch)).cloned() else {
            return Err("no member that comes back has a superblock of the array".to_owned());
        };
        // A member that the newest superblock counts, and that is one generation behind: the power went while superblocks were written, and nothing
        // had been acknowledged in that generation.
        let is_current = |one: &Superblock| {
            let counts = newest.states.get(usize::from(one.member)).is_some_and(|state| *state != MemberState::Absent);
            counts && one.generation + 1 >= newest.generation && one.epoch <= newest.epoch
        };
        let current: Vec<usize> =
            superblocks.iter().filter(|(_, one)| is_current(one)).map(|(member, _)| *member).collect();
        self.check_quorum(&newest, &current)?;
        let mut checkpoint = None;
        let mut entries: BTreeMap<u64, Entry> = BTreeMap::new();
        for member in &current {
            let own = &superblocks[member];
            if own.epoch == newest.epoch && checkpoint.is_none() {
                let units = own.checkpoint.1 / self.areas.unit_bytes() as u64;
                let bytes = self.read_now(*member, self.areas.checkpoint(own.checkpoint.0, units));
                let found = packed::open(&bytes, &self.areas);
                checkpoint = found.filter(|found| found.0 == self.config.uuid).map(|found| found.1);
            }
            for entry in self.entries_of(*member) {
                if entry.number >= newest.first && entry.life == newest.life {
                    entries.entry(entry.number).or_insert(entry);
                }
            }
        }
        let Some(checkpoint) = checkpoint else {
            return Err("the checkpoint of the array can be read on no member".to_owned());
        };
        let numbers = newest.first..;
        let entries = numbers.map_while(|number| entries.remove(&number)).collect();
        // One that was about to come, or to come again, when the power went: only its own checkpoint would say what it misses.
        let is_known = |member: &usize| superblocks.get(member).is_some_and(|one| one.epoch <= newest.epoch);
        let is_blank = |member: &usize| self.members[*member].is_present() && !is_known(member);
        let blank = (0..self.members.len()).filter(is_blank).collect();
        Ok(Found { superblock: newest, checkpoint, entries, current, blank })
    }

    /// The same of members that keep no bytes.
    fn find_kept(&self, present: &[usize]) -> Result<Found, String> {
        let kept = &self.commits.kept;
        let Some(superblock) = kept.superblock.clone() else {
            return Err("the array had not been written to its members".to_owned());
        };
        let is_current =
            |member: &usize| superblock.states.get(*member).is_some_and(|state| *state != MemberState::Absent);
        let current: Vec<usize> = present.iter().copied().filter(is_current).collect();
        self.check_quorum(&superblock, &current)?;
        let counts = |entry: &&Entry| entry.number >= superblock.first && entry.life == superblock.life;
        let entries = kept.entries.iter().filter(counts).cloned().collect();
        let blank = present.iter().copied().filter(|member| self.members[*member].is_blank).collect();
        Ok(Found { checkpoint: kept.checkpoint.clone(), entries, current, blank, superblock })
    }

    /// Checks that no other members could go on without these, and that these have the data.
    fn check_quorum(&self, superblock: &Superblock, current: &[usize]) -> Result<(), String> {
        let counts = |member: &usize| !superblock.retired[*member];
        let members = (0..superblock.states.len()).filter(counts);
        let needed = members.clone().count().saturating_sub(self.config.code.tolerates());
        let of_generation = members.filter(|member| superblock.states[*member] != MemberState::Absent).count();
        let current = current.iter().filter(|member| counts(member)).count();
        let needed = needed.min(of_generation);
        if current >= needed {
            return Ok(());
        }
        let generation = superblock.generation;
        Err(format!("{current} members of generation {generation} come back, and {needed} are needed"))
    }

    /// The whole entries in the ring of a member.
    fn entries_of(&mut self, member: usize) -> Vec<Entry> {
        const AT_ONCE: u64 = 1 << 15;
        let (unit, ring) = (self.areas.unit_bytes(), self.areas.ring);
        let mut bytes = Vec::new();
        let mut at = 0;
        while at < ring {
            let units = (AT_ONCE / self.areas.unit).max(1).min(ring - at);
            let mut part = self.read_now(member, self.areas.ring(at, units));
            part.resize(units as usize * unit, 0);
            bytes.extend(part);
            at += units;
        }
        let starts = (0..bytes.len() / unit).map(|number| &bytes[number * unit..]);
        let found = starts.filter_map(|bytes| meta::open::<Entry>(meta::ENTRY, bytes));
        found.filter(|found| found.0 == self.config.uuid).map(|found| found.1).collect()
    }

    /// The array is as the checkpoint and the records have it. No member is written.
    pub(super) fn take_over(&mut self, found: &Found) {
        let Found { superblock, checkpoint, .. } = found;
        self.map.table = checkpoint.table(self.config.width);
        self.capacity = Sectors(checkpoint.capacity);
        let (stripes, tiles) = (self.map.stripes(), self.map.table.len());
        let next = found.entries.last().map_or(superblock.first, |entry| entry.number + 1);
        self.commits.resume(superblock, next, stripes, tiles);
        self.written = Bits::of_words(stripes, &checkpoint.written);
        // What was discarded and not written since may hold anything.
        self.zeroed = Bits::new(stripes);
        self.differs = Bits::new(stripes);
        self.commits.dirty = Bits::of_words(tiles, &checkpoint.dirty);
        self.lost = RangeSet::new();
        for (start, count) in &checkpoint.lost {
            self.lost.insert(SectorRange::new(Lba(*start), Sectors(*count)));
        }
        for (number, member) in self.members.iter_mut().enumerate() {
            let stale = checkpoint.stale.get(number).map_or(&[][..], Vec::as_slice);
            member.stale = Bits::of_words(stripes, stale);
            member.is_full = false;
            member.slots = checkpoint.slots.get(number).copied().unwrap_or(member.slots);
            member.is_retired = superblock.retired.get(number).copied().unwrap_or_default();
            let was_there = superblock.states.get(number).is_some_and(|state| *state != MemberState::Absent);
            let is_blank = found.blank.contains(&number);
            if was_there && !is_blank && !found.current.contains(&number) && member.is_present() {
                // It is of the array, and does not know of it.
                member.state = MemberState::Absent;
                member.device.power_off(self.now.max(member.device.now()), &mut || Fate::Done);
            }
            if member.is_present() && !member.is_retired && !found.current.contains(&number) {
                member.joins = Joins::Again;
            }
            if was_there != member.is_present() && !member.is_retired {
                self.commits.must_raise = true;
            }
        }
        self.place_again(found);
    }

    /// Tiles lie where the newest records say.
    fn place_again(&mut self, found: &Found) {
        for record in found.entries.iter().flat_map(|entry| &entry.records) {
            match record {
                Record::Placed { tile, column, member, slot } if *tile < self.map.table.len() => {
                    let slot = Slot { member: *member, slot: *slot };
                    let old = self.map.table.tile(*tile)[usize::from(*column)];
                    self.map.table.place(*tile, usize::from(*column), slot);
                    if old.member != slot.member {
                        let stripes = tile * self.map.tile..(tile + 1) * self.map.tile;
                        self.members[usize::from(old.member)].stale.remove(stripes);
                    }
                }
                Record::Tiles(tiles) if *tiles < self.map.table.len() => self.map.table.truncate(*tiles),
                Record::Capacity(sectors) => self.capacity = Sectors(*sectors),
                _ => {}
            }
        }
        self.capacity = self.capacity.min(self.map.capacity());
        self.map.set_starts();
        self.servers = vec![self.now; self.map.groups().max(1)];
    }

    /// Carries out again what the ring has.
    fn replay(&mut self, found: &Found) {
        let records = || found.entries.iter().flat_map(|entry| &entry.records);
        let lacking: Vec<Bits> = self.members.iter().map(|member| member.stale.clone()).collect();
        // What came before a stripe was written anew does not count.
        let mut anew: BTreeMap<u64, usize> = BTreeMap::new();
        for (number, record) in records().enumerate() {
            if let Record::Written { stripes, .. } = record {
                for stripe in stripes.iter().flat_map(|(start, end)| *start..*end) {
                    anew.insert(stripe, number);
                }
            }
        }
        for (number, record) in records().enumerate() {
            let counts = |stripe: u64| anew.get(&stripe).is_none_or(|from| *from <= number);
            match record {
                Record::Change { stripe, .. } | Record::Unwritten(stripe)
                    if !counts(*stripe) || *stripe >= self.map.stripes() => {}
                Record::PartialParity { stripe, .. } if !counts(*stripe) || *stripe >= self.map.stripes() => {}
                _ => self.replay_one(record, &Self::rows_that_count(&found.entries, number)),
            }
        }
        for tile in 0..self.map.table.len() {
            if self.commits.dirty.holds(tile) {
                let mut of_tile = Bits::new(self.map.stripes());
                of_tile.insert(tile * self.map.tile..(tile + 1) * self.map.tile);
                of_tile.keep(&self.written);
                // Where a member lacked its part, each change was recorded with all of its contents, and parities that do not fit are stale.
                lacking.iter().for_each(|stale| of_tile.remove_all(stale));
                self.differs.merge(&of_tile);
            }
        }
        for member in 0..self.members.len() {
            if self.members[member].is_present() {
                let _ = self.ask_now(member, Request::flush());
            }
        }
    }

    /// `counting`: the rows that it still decides.
    fn replay_one(&mut self, record: &Record, counting: &[Rows]) {
        match record {
            Record::Change { stripe, rows, chunks, parts, missing, lost } => {
                self.written.insert_one(*stripe);
                for member in missing {
                    self.members[usize::from(*member)].stale.insert_one(*stripe);
                }
                let all = rows.0..rows.1;
                for chunk in chunks.0..chunks.1 {
                    self.lost.remove(self.map.host(*stripe, usize::from(chunk), &all));
                }
                for (start, count) in lost {
                    self.lost.insert(SectorRange::new(Lba(*start), Sectors(*count)));
                }
                for rows in counting {
                    for (position, bytes) in parts {
                        let (member, range) = self.map.place(*stripe, usize::from(*position), rows);
                        let is_blank = bytes.is_empty();
                        let new = if is_blank { New::Blank } else { New::Bytes(slice(bytes, &all, rows).to_vec()) };
                        self.write_again(member, *stripe, range, new);
                    }
                }
            }
            Record::PartialParity { stripe, rows, chunk, partial } => {
                self.written.insert_one(*stripe);
                for part in counting {
                    let partial = if partial.is_empty() { &[] } else { slice(partial, &(rows.0..rows.1), part) };
                    self.replay_partial(*stripe, part, usize::from(*chunk), partial);
                }
            }
            Record::Written { stripes, missing } => {
                let all = self.map.stripes();
                for (start, end) in stripes {
                    let (start, end) = (&(*start).min(all), &(*end).min(all));
                    self.written.insert(*start..*end);
                    self.members.iter_mut().for_each(|member| member.stale.remove(*start..*end));
                }
                for (member, runs) in missing {
                    for (start, end) in runs {
                        let (start, end) = (&(*start).min(all), &(*end).min(all));
                        self.members[usize::from(*member)].stale.insert(*start..*end);
                    }
                }
            }
            Record::Unwritten(stripe) => {
                self.written.remove(*stripe..*stripe + 1);
                self.lost.remove(self.map.host(*stripe, 0, &(0..self.map.stripe_sectors())));
                self.members.iter_mut().for_each(|member| member.stale.remove(*stripe..*stripe + 1));
            }
            Record::Dirty(tile) => self.commits.dirty.insert_one(*tile),
            Record::Placed { .. } | Record::Tiles(_) | Record::Capacity(_) => {}
        }
    }

    /// A member gets contents that it may have already.
    pub(super) fn write_again(&mut self, member: usize, stripe: u64, range: SectorRange, new: New) {
        if self.members[member].stale.holds(stripe) {
            return;
        }
        if !self.members[member].is_present() {
            // It was lost after the record was made, and may come back.
            return self.members[member].stale.insert_one(stripe);
        }
        let answer = self.ask_now(member, new.request(range).with_origin(Origin::ArrayRepair));
        if answer.is_none_or(|end| end.status != Status::Done) {
            self.members[member].stale.insert_one(stripe);
        }
    }
}
