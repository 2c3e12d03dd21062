//! Batches of a mirror: work without contents and without time.

use wane_blockdev::{
    Batch, Kind, Origin, RangeSet, RequestId, SectorRange, Stop, Tally, Took, Work, carry_out, rest_of,
};
use wane_units::{Sectors, SimTime};

use super::Mirror;
use crate::members::MemberState;
use crate::owed::{Owed, Part};

impl Mirror {
    /// Carries out a batch within the capacity.
    pub(super) fn take_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        self.ask_health();
        match batch.work.kind() {
            Kind::Read => self.read_batch(at, batch),
            Kind::Flush => self.flush_batch(at, batch),
            _ => self.change_batch(at, batch),
        }
    }

    fn read_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        self.host.bytes_read_around += batch.tally.bytes_around;
        if batch.work == Work::Read {
            batch.extents.iter().for_each(|extent| self.count_host(Kind::Read, *extent));
        }
        let all = batch.extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.count);
        let mut lost = Vec::new();
        let mut missing: Vec<SectorRange> = batch.extents.to_vec();
        let mut tried: Vec<(usize, SectorRange)> = Vec::new();
        let mut tally = batch.tally;
        // Each round asks the best copy that was not asked before, for what the ones before have not.
        for round in 0.. {
            let mut parts: Vec<Vec<Part>> = vec![Vec::new(); self.members.len()];
            let before = lost.len();
            for range in std::mem::take(&mut missing) {
                self.place_read(range, &tried, &mut parts, &mut lost);
            }
            if round == 0 && lost.len() > before {
                tally = Tally::default();
            }
            if parts.iter().all(Vec::is_empty) {
                break;
            }
            for (member, parts) in parts.into_iter().enumerate().filter(|(_, parts)| !parts.is_empty()) {
                let extents: Vec<SectorRange> = parts.iter().map(Part::range).collect();
                let asked = Batch { extents: &extents, tally: std::mem::take(&mut tally), ..*batch };
                let took = carry_out(&mut self.members[member].device, at, &asked);
                let mut unread = RangeSet::new();
                let hosts = |range: &SectorRange| parts.iter().map(|part| part.host_of(*range)).collect::<Vec<_>>();
                took.unread.iter().flat_map(hosts).for_each(|host| unread.insert(host));
                if matches!(took.stop, Stop::Gone | Stop::Dead(_)) {
                    self.lose(member, MemberState::Absent);
                    let rest = rest_of(&extents, took.done);
                    rest.iter().flat_map(hosts).for_each(|host| unread.insert(host));
                }
                for part in &parts {
                    tried.extend(unread.within(part.host).map(|range| (member, range)));
                    missing.extend(unread.within(part.host));
                }
            }
        }
        self.write_again(at, &tried, &lost);
        let mut unread = RangeSet::new();
        lost.into_iter().for_each(|range| unread.insert(range));
        let bound = SectorRange::new(wane_units::Lba(0), self.capacity);
        Took { done: all, stop: Stop::Done, unread: unread.within(bound).collect() }
    }

    /// Puts a range on the best copies that were not tried; what has none is lost.
    fn place_read(
        &self,
        range: SectorRange,
        tried: &[(usize, SectorRange)],
        parts: &mut [Vec<Part>],
        lost: &mut Vec<SectorRange>,
    ) {
        let is_plain = tried.is_empty() && self.members.iter().all(|member| member.stale().is_empty());
        for (number, piece) in self.layout.pieces(range) {
            let mut rest = piece;
            while is_plain && !rest.is_empty() {
                let turn = self.turn(rest);
                let Some(place) = self.best(number, turn) else { break };
                self.put_read(number, place, turn, parts);
                rest = rest.without_first(turn.count);
            }
            while !rest.is_empty() {
                let unit = Sectors((rest.start.0 / self.unit.0 + 1) * self.unit.0 - rest.start.0).min(rest.count);
                let one = rest.first(unit);
                let good = |place: &usize| {
                    let member = self.layout.runs()[number].places[*place].0;
                    let was_tried = tried.iter().any(|(who, range)| *who == member && range.overlaps(one));
                    !was_tried && !self.members[member].stale().touches(self.units_of(one))
                };
                match self.order_of(number, piece).into_iter().find(good) {
                    Some(place) => self.put_read(number, place, one, parts),
                    None => lost.push(one),
                }
                rest = rest.without_first(unit);
            }
        }
    }

    /// Puts a range on this place of a run.
    fn put_read(&self, run: usize, place: usize, range: SectorRange, parts: &mut [Vec<Part>]) {
        let run = &self.layout.runs()[run];
        let member = run.places[place].0;
        parts[member].push(Part { host: range, start: run.at(place, range.start) });
    }

    /// Writes again what members had lost and another one has. The contents are those that they had.
    fn write_again(&mut self, at: SimTime, tried: &[(usize, SectorRange)], lost: &[SectorRange]) {
        let mut gone = RangeSet::new();
        lost.iter().for_each(|range| gone.insert(*range));
        for (member, range) in tried {
            if !self.members[*member].is_online() || gone.touches(*range) {
                continue;
            }
            let run = &self.layout.runs()[self.layout.find(range.start)];
            let Some(place) = run.places.iter().position(|place| place.0 == *member) else { continue };
            let there = [SectorRange::new(run.at(place, range.start), range.count)];
            let again = Batch::new(Work::Rewrite, &there).from(Origin::ArrayRepair);
            let took = carry_out(&mut self.members[*member].device, at, &again);
            self.own.repairs.repaired += took.done;
            if let Stop::Dead(_) = took.stop {
                self.lose(*member, MemberState::ReadOnly);
            }
        }
    }

    fn flush_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let id = self.new_id();
        self.unsure.begin_flush(id);
        let mut failed = Vec::new();
        let mut stopped = Stop::Done;
        for number in 0..self.members.len() {
            if !self.members[number].is_present() {
                continue;
            }
            self.members[number].begin_flush(id);
            let took = carry_out(&mut self.members[number].device, at, batch);
            if took.stop != Stop::Done {
                failed.push(number);
                stopped = took.stop;
                let is_gone = took.stop == Stop::Gone;
                self.lose(number, if is_gone { MemberState::Absent } else { MemberState::ReadOnly });
            }
        }
        let is_done = self.end_flush(id, &failed);
        Took::new(Sectors::ZERO, if is_done { Stop::Done } else { stopped })
    }

    fn change_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        if !self.open.is_empty() {
            batch.extents.iter().for_each(|extent| self.secure(*extent));
        }
        let is_online = |member: &super::Member| member.is_online();
        if !self.members.iter().any(is_online) {
            return Took::new(Sectors::ZERO, Stop::Dead(self.why_dead()));
        }
        if let Some(before) = self.before_refused(batch.extents) {
            // No member takes what follows.
            let took = self.change_batch(at, &Batch { extents: &before, ..*batch });
            let stop = if took.stop == Stop::Done { Stop::Dead(self.why_dead()) } else { took.stop };
            return Took { stop, ..took };
        }
        let is_trim = batch.work == Work::Trim;
        let kind = if is_trim { Kind::Trim } else { Kind::Write };
        for extent in batch.extents {
            let units = self.units_of(*extent);
            self.unsure.change(&units);
        }
        self.host.units_written_in_part += batch.tally.units_in_part;
        self.host.bytes_written_around += batch.tally.bytes_around;
        let is_whole = self.members.iter().all(|member| member.is_online() && member.stale().is_empty());
        if !is_whole {
            self.spoil_the_others(batch.extents);
        }
        let mut owed = if is_whole && self.layout.is_plain() {
            match self.give_whole(at, batch) {
                None => return self.done_with(batch, kind, Vec::new()),
                Some(owed) => owed,
            }
        } else {
            Owed::new(batch, self.parts_of(batch.extents))
        };
        let carried = owed.carry_on(at, self.members.devices_mut());
        self.owed = Some(owed).filter(Owed::is_open);
        let (refused, mut stop) = self.settle_ended(carried.ended);
        // A member that lacks a unit has not the contents with which it is written again.
        if !is_whole && (batch.work != Work::Rewrite || !self.features.keeps_bytes) {
            self.renew_written(batch.extents);
        }
        if stop == Stop::Done && self.owed.is_some() {
            stop = Stop::Paused;
        }
        Took { stop, ..self.done_with(batch, kind, refused) }
    }

    /// The ranges before the first sector that no member takes any more; `None` if each is taken.
    fn before_refused(&self, extents: &[SectorRange]) -> Option<Vec<SectorRange>> {
        let is_taken = |run: &crate::Run| run.places.iter().any(|place| self.members[place.0].is_online());
        if self.layout.runs().iter().all(is_taken) {
            return None;
        }
        let mut before = Vec::new();
        for extent in extents {
            for (number, piece) in self.layout.pieces(*extent) {
                if !is_taken(&self.layout.runs()[number]) {
                    return Some(before);
                }
                before.push(piece);
            }
        }
        None
    }

    /// Hands each member the batch as it is. Returns what they owe, if any.
    fn give_whole(&mut self, at: SimTime, batch: &Batch<'_>) -> Option<Owed> {
        let mut stopped = Vec::new();
        let mut is_over = true;
        for (number, member) in self.members.iter_mut().enumerate() {
            let tally = if number == 0 { batch.tally } else { Tally::default() };
            let took = member.device.batch(at, &Batch { tally, ..*batch });
            if took.stop == Stop::Done {
                stopped.push((None, Vec::new()));
                continue;
            }
            is_over = false;
            let part = |host: SectorRange| Part { host, start: host.start };
            stopped.push((Some(took.stop), rest_of(batch.extents, took.done).into_iter().map(part).collect()));
        }
        (!is_over).then(|| Owed::after(batch, stopped))
    }

    /// The parts of ranges, by member. Those that take no writes get none.
    fn parts_of(&self, extents: &[SectorRange]) -> Vec<Vec<Part>> {
        let mut parts: Vec<Vec<Part>> = vec![Vec::new(); self.members.len()];
        for extent in extents {
            for (number, piece) in self.layout.pieces(*extent) {
                let run = &self.layout.runs()[number];
                for (place, (member, _)) in run.places.iter().enumerate() {
                    if self.members[*member].is_online() {
                        parts[*member].push(Part { host: piece, start: run.at(place, piece.start) });
                    }
                }
            }
        }
        parts
    }

    /// Members that take no writes are stale where others do.
    fn spoil_the_others(&mut self, extents: &[SectorRange]) {
        for extent in extents {
            let pieces: Vec<(usize, SectorRange)> = self.layout.pieces(*extent).collect();
            for (number, piece) in pieces {
                let units = self.units_of(piece);
                let Self { layout, members, .. } = self;
                let places = &layout.runs()[number].places;
                if places.iter().any(|place| members[place.0].is_online()) {
                    for (member, _) in places {
                        if !members[*member].is_online() {
                            members[*member].spoil(units.clone());
                        }
                    }
                }
            }
        }
    }

    /// Members that took a batch have its whole units again.
    fn renew_written(&mut self, extents: &[SectorRange]) {
        let id = RequestId(self.next_id);
        for extent in extents {
            let units = self.whole_units_of(*extent);
            for member in self.members.iter_mut().filter(|member| member.is_online() && !member.stale().is_empty()) {
                member.renew(id, units.clone());
            }
        }
    }

    /// Takes note of members that ended. Returns what no copy took, and how the array stops.
    fn settle_ended(&mut self, ended: Vec<(usize, Stop, Vec<Part>)>) -> (Vec<SectorRange>, Stop) {
        let mut stop = Stop::Done;
        if ended.is_empty() {
            return (Vec::new(), stop);
        }
        let mut left: Vec<(usize, Stop, RangeSet)> = Vec::new();
        for (member, how, parts) in ended {
            self.lose(member, if how == Stop::Gone { MemberState::Absent } else { MemberState::ReadOnly });
            let mut set = RangeSet::new();
            parts.iter().for_each(|part| set.insert(part.host));
            left.push((member, how, set));
        }
        let bound = SectorRange::new(wane_units::Lba(0), self.capacity);
        let mut refused = RangeSet::new();
        for (member, how, set) in &left {
            let pieces: Vec<(usize, SectorRange)> =
                set.within(bound).flat_map(|range| self.layout.pieces(range).collect::<Vec<_>>()).collect();
            for (number, piece) in pieces {
                let places: Vec<usize> = self.layout.runs()[number].places.iter().map(|place| place.0).collect();
                let mut alone = RangeSet::new();
                alone.insert(piece);
                if !places.iter().any(|place| self.members[*place].is_online()) {
                    // What no member took that could stays as it was.
                    let mut none = alone.clone();
                    for (_, _, other) in left.iter().filter(|(other, _, _)| other != member && places.contains(other)) {
                        let taken: Vec<SectorRange> = {
                            let mut taken = none.clone();
                            other.within(piece).for_each(|range| taken.remove(range));
                            taken.within(piece).collect()
                        };
                        taken.into_iter().for_each(|range| none.remove(range));
                    }
                    for range in none.within(piece) {
                        alone.remove(range);
                        refused.insert(range);
                        stop = *how;
                    }
                }
                for range in alone.within(piece) {
                    let units = self.units_of(range);
                    self.members[*member].spoil(units);
                }
            }
        }
        (refused.within(bound).collect(), stop)
    }

    /// What is done of a batch of which these sectors were refused. It is counted as the host's.
    fn done_with(&mut self, batch: &Batch<'_>, kind: Kind, refused: Vec<SectorRange>) -> Took {
        let mut done = Sectors::ZERO;
        if refused.is_empty() {
            for extent in batch.extents {
                self.count_host(kind, *extent);
                done += extent.count;
            }
            return Took::new(done, Stop::Done);
        }
        let mut set = RangeSet::new();
        refused.into_iter().for_each(|range| set.insert(range));
        for extent in batch.extents {
            let first = set.within(*extent).next();
            let taken = first.map_or(extent.count, |first| Sectors(first.start.0 - extent.start.0));
            self.count_host(kind, extent.first(taken));
            done += taken;
            if first.is_some() {
                break;
            }
        }
        Took::new(done, Stop::Done)
    }

    /// Lets members do what they owe.
    pub(super) fn carry_on(&mut self, at: SimTime) -> Stop {
        let Some(carried) = self.members.carry_on(at, &mut self.owed) else { return Stop::Done };
        let (_, stop) = self.settle_ended(carried.ended);
        self.members.close_own();
        self.count();
        if stop == Stop::Done && self.owed.is_some() { Stop::Paused } else { stop }
    }
}
