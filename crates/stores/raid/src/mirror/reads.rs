//! How a mirror reads: from one good copy, and from the others what that has lost.
//!
//! What a member reads is fixed when it is asked, and whether it could read is known later. So a change that comes meanwhile first asks the other
//! copies for the sectors that it is about to change ([`Mirror::secure`]), and a read that finds a change under way waits for its end, to know on
//! which copies that failed.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use wane_blockdev::{Completion, Kind, Origin, RangeSet, Request, RequestId, SectorRange, Status};
use wane_units::{Lba, Sectors};

use super::{Doing, Mirror, Open, ReadPolicy, changes};
use crate::owed::Part;

/// Members take turns in pieces of this many sectors: 128 KiB.
const TURN: u64 = 256;

/// What is done with what was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Why {
    /// The host gets it.
    Host,
    /// These members get it.
    Copy(Vec<usize>),
    /// All copies are compared.
    Scrub,
}

/// A read that is under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reading {
    pub(super) why: Why,
    origin: Origin,
    answers: Vec<Answer>,
    /// Changes that were under way when it came.
    before: Vec<RequestId>,
    /// Sectors that changed since it came.
    overwritten: RangeSet,
    /// Copies may differ in what it reads, so that the first one counts although others answer sooner.
    waits_for_first: bool,
}

/// What one member says.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Answer {
    member: usize,
    part: Part,
    is_there: bool,
    /// Sectors of the array that it could not read.
    unread: Vec<SectorRange>,
    /// Sectors of the array that it does not have as they should be.
    bad: RangeSet,
    bytes: Option<Vec<u8>>,
}

impl Reading {
    /// Takes note of what a member says.
    pub(super) fn answer(&mut self, member: usize, part: Part, completion: Completion) {
        let is_of = |answer: &&mut Answer| answer.member == member && answer.part == part && !answer.is_there;
        let Some(answer) = self.answers.iter_mut().find(is_of) else { return };
        answer.is_there = true;
        answer.bytes = completion.bytes;
        if !completion.status.is_done() {
            let failed = completion.status.failed();
            let hosts: Vec<SectorRange> = match &completion.status {
                Status::MediumError(_) => failed.iter().map(|range| part.host_of(*range)).collect(),
                _ => vec![part.host],
            };
            hosts.iter().for_each(|host| answer.bad.insert(*host));
            if matches!(completion.status, Status::MediumError(_)) {
                answer.unread = hosts;
            }
        }
    }

    /// A change ended that was under way: on this member it failed for these sectors.
    fn spoil(&mut self, member: usize, failed: SectorRange) {
        for answer in self.answers.iter_mut().filter(|answer| answer.member == member) {
            answer.bad.insert(failed.intersection(answer.part.host));
        }
    }

    /// Which answers have which sectors, and the sectors that no answer has.
    fn covered(&self, range: SectorRange) -> (Vec<(usize, SectorRange)>, RangeSet) {
        let (mut rest, mut picks) = (RangeSet::new(), Vec::new());
        rest.insert(range);
        for (number, answer) in self.answers.iter().enumerate().filter(|(_, answer)| answer.is_there) {
            let mut good = RangeSet::new();
            rest.within(answer.part.host).for_each(|part| good.insert(part));
            answer.bad.within(answer.part.host).for_each(|bad| good.remove(bad));
            for part in good.within(answer.part.host) {
                rest.remove(part);
                picks.push((number, part));
            }
        }
        (picks, rest)
    }

    /// The bytes of what was read, from the answers that have them; zeros elsewhere.
    fn bytes(&mut self, range: SectorRange, picks: &[(usize, SectorRange)]) -> Option<Vec<u8>> {
        if let [(only, part)] = picks
            && *part == range
            && self.answers[*only].part.host == range
        {
            return self.answers[*only].bytes.take();
        }
        let mut all = None;
        for (number, part) in picks {
            let answer = &self.answers[*number];
            let Some(bytes) = &answer.bytes else { continue };
            let from = before(answer.part.host, *part);
            let all = all.get_or_insert_with(|| vec![0; range.len_bytes()]);
            let (to, length) = (before(range, *part), part.len_bytes());
            all[to..to + length].copy_from_slice(&bytes[from..from + length]);
        }
        all
    }
}

/// Bytes of a range before a part of it.
pub(super) fn before(range: SectorRange, part: SectorRange) -> usize {
    SectorRange::between(range.start, part.start).len_bytes()
}

impl Mirror {
    /// Reads a range.
    pub(super) fn read(&mut self, id: RequestId, range: SectorRange, origin: Origin, why: Why) {
        let overlaps = |open: &Open| {
            matches!(&open.doing, Doing::Change(change) if change.why == changes::Why::Host)
                && open.range.overlaps(range)
        };
        let before = self.open.iter().filter(|(_, open)| overlaps(open)).map(|(id, _)| *id).collect();
        let is_scrub = why == Why::Scrub;
        let (answers, overwritten) = (Vec::new(), RangeSet::new());
        let reading = Reading { why, origin, answers, before, overwritten, waits_for_first: false };
        let (at, doing) = (self.now, Doing::Read(reading));
        self.open.insert(id, Open { at, kind: Kind::Read, range, waits: 0, ended: at, doing });
        self.ask_copies(id, range, is_scrub);
        self.judge(id);
    }

    /// Asks copies that were not asked yet: one of each sector, or all. Returns whether there was any.
    fn ask_copies(&mut self, id: RequestId, range: SectorRange, all: bool) -> bool {
        let mut any = false;
        loop {
            let asked = self.choose(id, range);
            for (member, part) in &asked {
                any = true;
                let Some(Open { doing: Doing::Read(reading), .. }) = self.open.get_mut(&id) else { return any };
                let (unread, bad) = (Vec::new(), RangeSet::new());
                reading.answers.push(Answer {
                    member: *member,
                    part: *part,
                    is_there: false,
                    unread,
                    bad,
                    bytes: None,
                });
                let request = Request::read(part.range()).with_origin(reading.origin);
                self.ask(id, *member, *part, request);
            }
            if !all || asked.is_empty() {
                return any;
            }
        }
    }

    /// A good copy of each sector that the read did not ask for yet, where there is one.
    fn choose(&self, id: RequestId, range: SectorRange) -> Vec<(usize, Part)> {
        let Some(Open { doing: Doing::Read(reading), .. }) = self.open.get(&id) else { return Vec::new() };
        let mut chosen = Vec::new();
        for (number, piece) in self.layout.pieces(range) {
            let run = &self.layout.runs()[number];
            let mut rest = piece;
            while !rest.is_empty() {
                let turn = self.with_one_first(self.turn(rest));
                let found = self.order_of(number, turn).into_iter().find_map(|place| {
                    let member = run.places[place].0;
                    let length = self.readable(member, &reading.answers, turn);
                    (length > Sectors::ZERO).then_some((place, member, length))
                });
                let Some((place, member, length)) = found else {
                    // No copy of this unit.
                    let unit = rest.start.0 / self.unit.0 * self.unit.0 + self.unit.0;
                    rest = rest.without_first(Sectors(unit - rest.start.0).min(rest.count));
                    continue;
                };
                chosen.push((member, Part { host: rest.first(length), start: run.at(place, rest.start) }));
                rest = rest.without_first(length);
            }
        }
        chosen
    }

    /// How many sectors from the start of a range on a member has as they should be, and was not asked for.
    fn readable(&self, member: usize, answers: &[Answer], range: SectorRange) -> Sectors {
        let stale = self.members[member].stale();
        let units = self.units_of(range);
        let mut end = range.start.0 + range.count.0;
        if let Some(next) = stale.next(units) {
            end = end.min((next.start * self.unit.0).max(range.start.0));
        }
        for host in answers.iter().filter(|answer| answer.member == member).map(|answer| answer.part.host) {
            if !host.intersection(range).is_empty() {
                end = end.min(host.start.0.max(range.start.0));
            }
        }
        Sectors(end - range.start.0)
    }

    /// The sectors at the start of a range that go to one copy.
    pub(super) fn turn(&self, range: SectorRange) -> SectorRange {
        match self.config.reads {
            ReadPolicy::ShortestQueue => range.first(Sectors(TURN - range.start.0 % TURN).min(range.count)),
            ReadPolicy::Healthiest => range,
        }
    }

    /// The start of a range of which the same copy is the first good one, where copies may differ.
    fn with_one_first(&self, range: SectorRange) -> SectorRange {
        let units = self.units_of(range);
        if self.differs.is_empty() || !self.differs.touches(units.clone()) {
            return range;
        }
        let end = self.alike(units).end * self.unit.0;
        range.first(range.count.min(Sectors(end.saturating_sub(range.start.0))))
    }

    /// The places of a run that can be read, the best first. Where copies may differ, the first one is it.
    pub(super) fn order_of(&self, run: usize, turn: SectorRange) -> Vec<usize> {
        let places = &self.layout.runs()[run].places;
        let is_present = |place: &usize| self.members[places[*place].0].is_present();
        let mut order: Vec<usize> = (0..places.len()).filter(is_present).collect();
        if self.differs.is_empty() || !self.differs.touches(self.units_of(turn)) {
            order.sort_by(|one, other| self.better(places, *one, *other, turn));
        }
        order
    }

    /// The first of [`Mirror::order_of`], without the others.
    pub(super) fn best(&self, run: usize, turn: SectorRange) -> Option<usize> {
        let places = &self.layout.runs()[run].places;
        let mut present = (0..places.len()).filter(|place| self.members[places[*place].0].is_present());
        if self.differs.is_empty() || !self.differs.touches(self.units_of(turn)) {
            return present.min_by(|one, other| self.better(places, *one, *other, turn));
        }
        present.next()
    }

    /// Which of two places of a run is read rather.
    fn better(&self, places: &[(usize, Lba)], one: usize, other: usize, turn: SectorRange) -> Ordering {
        let member = |place: usize| &self.members[places[place].0];
        // Members that are equally busy take turns, by address, so that how requests are cut does not matter.
        let rank = |place: usize| (place as u64 + turn.start.0 / TURN) % places.len() as u64;
        let by_health = match self.config.reads {
            ReadPolicy::ShortestQueue => Ordering::Equal,
            ReadPolicy::Healthiest => member(one).life_used.total_cmp(&member(other).life_used),
        };
        let is_spared = |place: usize| self.config.write_mostly.contains(&places[place].0);
        let by_use = is_spared(one).cmp(&is_spared(other));
        by_use.then(by_health).then(member(one).queue.cmp(&member(other).queue)).then(rank(one).cmp(&rank(other)))
    }

    /// Asks all other copies for sectors that are about to change, of reads that have no answer yet.
    pub(super) fn secure(&mut self, range: SectorRange) {
        let reads = |open: &Open| matches!(open.doing, Doing::Read(_)) && open.range.overlaps(range);
        let ids: Vec<RequestId> = self.open.iter().filter(|(_, open)| reads(open)).map(|(id, _)| *id).collect();
        let may_differ = self.differs.touches(self.units_of(range));
        for id in ids {
            let Some(Open { range: whole, doing: Doing::Read(reading), .. }) = self.open.get_mut(&id) else { continue };
            reading.waits_for_first |= may_differ;
            let mut shared = RangeSet::new();
            shared.insert(whole.intersection(range));
            for known in reading.overwritten.within(range) {
                shared.remove(known);
            }
            let fresh: Vec<SectorRange> = shared.within(range).collect();
            let is_copy = matches!(reading.why, Why::Copy(_));
            fresh.iter().for_each(|part| reading.overwritten.insert(*part));
            // What is copied is not needed where it changes: the change goes to all copies.
            if !is_copy {
                fresh.into_iter().for_each(|part| _ = self.ask_copies(id, part, true));
            }
        }
    }

    /// Copies contents without a read: see [`wane_blockdev::BlockDevice::peek`]. The first good copy answers, and the next one for what that has
    /// lost. While a change is under way, nobody knows on which copies it will have failed: then all must agree.
    pub(super) fn look(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        let mut lost = RangeSet::new();
        lost.insert(range);
        let is_changing = |open: &&Open| matches!(open.doing, Doing::Change(_)) && open.range.overlaps(range);
        let changing: Vec<SectorRange> =
            self.open.values().filter(is_changing).map(|open| open.range.intersection(range)).collect();
        let mut other = Vec::new();
        for (number, piece) in self.layout.pieces(range) {
            let run = &self.layout.runs()[number];
            for (place, (member, _)) in run.places.iter().enumerate() {
                if !self.members[*member].is_present() {
                    continue;
                }
                for host in self.good_on(*member, piece) {
                    other.resize(host.len_bytes(), 0);
                    let part = Part { host, start: run.at(place, host.start) };
                    let told = self.members[*member].device.peek(part.range(), &mut other)?;
                    let mut found = RangeSet::new();
                    found.insert(host);
                    told.into_iter().for_each(|gone| found.remove(part.host_of(gone)));
                    for known in found.within(host) {
                        for fresh in lost.within(known) {
                            let (from, to) = (before(host, fresh), before(range, fresh));
                            bytes[to..to + fresh.len_bytes()].copy_from_slice(&other[from..from + fresh.len_bytes()]);
                        }
                        lost.remove(known);
                    }
                    let differs = |part: SectorRange| {
                        let (from, to) = (before(host, part), before(range, part));
                        other[from..from + part.len_bytes()] != bytes[to..to + part.len_bytes()]
                    };
                    let mut unsure = changing.iter().flat_map(|changing| found.within(changing.intersection(host)));
                    if unsure.any(differs) {
                        return None;
                    }
                }
            }
        }
        for gone in lost.within(range) {
            let to = before(range, gone);
            bytes[to..to + gone.len_bytes()].fill(0);
        }
        Some(lost.within(range).collect())
    }

    /// The parts of a piece of which a member has the present contents.
    fn good_on(&self, member: usize, piece: SectorRange) -> Vec<SectorRange> {
        let (mut good, mut rest) = (Vec::new(), piece);
        while !rest.is_empty() {
            let length = self.readable(member, &[], rest);
            if length > Sectors::ZERO {
                rest.first(length).push_to(&mut good);
            }
            let bad = Sectors(self.unit.0 - (rest.start.0 + length.0) % self.unit.0);
            rest = rest.without_first(if length == rest.count { length } else { length + bad });
        }
        good
    }

    /// A change ended; on these members it failed for some sectors.
    pub(super) fn change_ended(&mut self, change: RequestId, failed: &[(usize, Vec<SectorRange>)]) {
        let waits = |open: &Open| matches!(&open.doing, Doing::Read(reading) if reading.before.contains(&change));
        let ids: Vec<RequestId> = self.open.iter().filter(|(_, open)| waits(open)).map(|(id, _)| *id).collect();
        for id in ids {
            if let Some(Open { ended, doing: Doing::Read(reading), .. }) = self.open.get_mut(&id) {
                *ended = (*ended).max(self.now);
                reading.before.retain(|before| *before != change);
                for (member, ranges) in failed {
                    ranges.iter().for_each(|range| reading.spoil(*member, *range));
                }
            }
            self.judge(id);
        }
    }

    /// Ends a read of which each sector has an answer, or has none to hope for.
    pub(super) fn judge(&mut self, id: RequestId) {
        let Some(Open { range, waits, doing: Doing::Read(reading), .. }) = self.open.get(&id) else { return };
        let (range, waits) = (*range, *waits);
        let waits_for_all = reading.why == Why::Scrub || reading.waits_for_first;
        if !reading.before.is_empty() || (waits_for_all && waits > 0) {
            return;
        }
        let (picks, rest) = reading.covered(range);
        if !rest.is_empty() {
            if waits > 0 {
                return;
            }
            let mut open = rest.clone();
            reading.overwritten.within(range).for_each(|gone| open.remove(gone));
            let missing: Vec<SectorRange> = open.within(range).collect();
            let mut any = false;
            missing.into_iter().for_each(|part| any |= self.ask_copies(id, part, false));
            if any {
                return;
            }
        }
        let Some(open) = self.open.remove(&id) else { return };
        self.finish_read(id, open, &picks, &rest);
    }

    fn finish_read(&mut self, id: RequestId, mut open: Open, picks: &[(usize, SectorRange)], lost: &RangeSet) {
        let range = open.range;
        let Doing::Read(reading) = &mut open.doing else { return };
        let repairs: Vec<(usize, Vec<SectorRange>)> =
            reading.answers.iter().map(|answer| (answer.member, answer.unread.clone())).collect();
        let overwritten = std::mem::take(&mut reading.overwritten);
        let why = reading.why.clone();
        if why == Why::Scrub {
            self.compare(range, &open.doing, &overwritten);
        }
        let Doing::Read(reading) = &mut open.doing else { return };
        let bytes = reading.bytes(range, picks);
        let good = |part: SectorRange| {
            let mut good = RangeSet::new();
            good.insert(part.intersection(range));
            lost.within(part).for_each(|lost| good.remove(lost));
            overwritten.within(part).for_each(|gone| good.remove(gone));
            good.within(part).collect::<Vec<_>>()
        };
        for (member, unread) in repairs {
            for part in unread.into_iter().flat_map(good) {
                self.own.repairs.repaired += part.count;
                self.write_on(member, part, slice(bytes.as_deref(), range, part), changes::Why::Repair);
            }
        }
        match why {
            Why::Host => {
                let status = self.failure(range, lost, &Status::MediumError(Vec::new()));
                let bytes = match &status {
                    Status::Done => bytes,
                    // What could be read comes; the rest is zeros.
                    Status::MediumError(_) if self.features.keeps_bytes => {
                        bytes.or_else(|| Some(vec![0; range.len_bytes()]))
                    }
                    _ => None,
                };
                self.end(id, &open, status, bytes);
            }
            Why::Copy(to) => {
                self.own.progressed |= !overwritten.is_empty();
                for part in lost.within(range) {
                    let units = self.units_of(part);
                    self.own.lost.insert(units);
                }
                for part in good(range) {
                    for member in &to {
                        self.write_on(*member, part, slice(bytes.as_deref(), range, part), changes::Why::Copy);
                    }
                }
                self.copied();
            }
            Why::Scrub => {
                self.own.repairs.scrubbed += range.count;
                let of_none = lost.within(range).fold(Sectors::ZERO, |sum, part| sum + part.count);
                self.own.repairs.unreadable += of_none;
                self.copied();
            }
        }
    }

    /// Makes copies equal that a scrub found to differ: all become as the first.
    fn compare(&mut self, range: SectorRange, doing: &Doing, overwritten: &RangeSet) {
        let Doing::Read(reading) = doing else { return };
        let (picks, _) = reading.covered(range);
        for (number, part) in picks {
            let Some(first) = reading.answers[number].bytes.as_deref() else { continue };
            for other in reading.answers.iter().filter(|other| other.member != reading.answers[number].member) {
                let Some(bytes) = other.bytes.as_deref() else { continue };
                let mut shared = part.intersection(other.part.host);
                while !shared.is_empty() {
                    // By whole units: of a part of one, a member reads the rest, and some refuse it.
                    let to_next = Sectors(self.unit.0 - shared.start.0 % self.unit.0).min(shared.count);
                    let one = shared.first(to_next);
                    shared = shared.without_first(to_next);
                    if overwritten.touches(one) || other.bad.touches(one) {
                        continue;
                    }
                    let want = slice(Some(first), reading.answers[number].part.host, one).unwrap_or_default();
                    let found = slice(Some(bytes), other.part.host, one).unwrap_or_default();
                    let sectors = want.chunks(512).zip(found.chunks(512)).filter(|(want, found)| want != found).count();
                    if sectors > 0 {
                        self.own.repairs.unequal += Sectors(sectors as u64);
                        self.write_on(other.member, one, Some(want), changes::Why::Repair);
                    }
                }
            }
        }
    }
}

/// The bytes of a part of a range.
fn slice(bytes: Option<&[u8]>, range: SectorRange, part: SectorRange) -> Option<Vec<u8>> {
    let from = before(range, part);
    bytes.map(|bytes| bytes[from..from + part.len_bytes()].to_vec())
}
