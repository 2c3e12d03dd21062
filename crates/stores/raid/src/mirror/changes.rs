//! How a mirror changes contents: on all copies at once. A copy that fails where another does not is stale.

use serde::{Deserialize, Serialize};
use wane_blockdev::{Kind, Origin, RangeSet, Request, RequestId, SectorRange, Status};
use wane_units::Sectors;

use super::reads::before;
use super::{Doing, Mirror, Open};
use crate::owed::Part;
use crate::spread::severity;

/// Why contents change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Why {
    /// The host asks for it.
    Host,
    /// A copy gets what another one has.
    Copy,
    /// A copy gets back what it lost.
    Repair,
}

/// A change that is under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Changing {
    pub(super) why: Why,
    is_fua: bool,
    /// Its sectors, and who was asked for them.
    pieces: Vec<(SectorRange, Vec<usize>)>,
    /// Who failed, in which sectors of the array.
    failed: Vec<(usize, Vec<SectorRange>)>,
    /// Sectors for which nobody could be asked.
    refused: Vec<SectorRange>,
    worst: Status,
}

impl Changing {
    fn fail(&mut self, status: Status) {
        if severity(&status) > severity(&self.worst) {
            self.worst = status;
        }
    }

    /// Takes note of what a member says.
    pub(super) fn answer(&mut self, member: usize, part: Part, status: &Status) {
        if status.is_done() {
            return;
        }
        let hosts = match status {
            Status::Gone(_) | Status::OutOfRange | Status::Unsupported(_) => vec![part.host],
            _ => status.failed().iter().map(|range| part.host_of(*range)).filter(|host| !host.is_empty()).collect(),
        };
        self.fail(status.clone());
        self.failed.push((member, hosts));
    }

    /// Sectors of a piece in which a member failed.
    fn failed_on(&self, member: usize, piece: SectorRange) -> RangeSet {
        let mut set = RangeSet::new();
        let of = self.failed.iter().filter(|(failed, _)| *failed == member).flat_map(|(_, ranges)| ranges);
        of.for_each(|range| set.insert(range.intersection(piece)));
        set
    }
}

/// What is in both sets, within a range.
fn both(one: &RangeSet, other: &RangeSet, range: SectorRange) -> RangeSet {
    let mut set = RangeSet::new();
    for part in one.within(range) {
        other.within(part).for_each(|shared| set.insert(shared));
    }
    set
}

/// What is in the first set alone, within a range.
fn without(one: &RangeSet, other: &RangeSet, range: SectorRange) -> Vec<SectorRange> {
    let mut set = one.clone();
    other.within(range).for_each(|shared| set.remove(shared));
    set.within(range).collect()
}

impl Mirror {
    /// Carries out a request of the host that changes contents.
    pub(super) fn change(&mut self, id: RequestId, request: Request) {
        let range = request.range;
        self.secure(range);
        let units = self.units_of(range);
        self.unsure.change(&units);
        let pieces: Vec<(usize, SectorRange)> = self.layout.pieces(range).collect();
        let mut changing = Changing {
            why: Why::Host,
            is_fua: request.flags.fua,
            pieces: Vec::new(),
            failed: Vec::new(),
            refused: Vec::new(),
            worst: Status::Done,
        };
        let mut asked: Vec<(usize, Part)> = Vec::new();
        for (number, piece) in pieces {
            let run = self.layout.runs()[number].clone();
            let online = |place: &usize| self.members[run.places[*place].0].is_online();
            let takers: Vec<usize> = (0..run.places.len()).filter(online).collect();
            if takers.is_empty() {
                let is_worn = run.places.iter().any(|place| self.members[place.0].is_present());
                let worst = if is_worn { Status::ReadOnly(Vec::new()) } else { Status::MediumError(Vec::new()) };
                changing.fail(worst);
                changing.refused.push(piece);
                continue;
            }
            let units = self.units_of(piece);
            for (place, (member, _)) in run.places.iter().enumerate() {
                if takers.contains(&place) {
                    asked.push((*member, Part { host: piece, start: run.at(place, piece.start) }));
                } else {
                    self.members[*member].spoil(units.clone());
                }
            }
            changing.pieces.push((piece, takers.iter().map(|place| run.places[*place].0).collect()));
        }
        let (at, kind) = (self.now, request.kind);
        self.open.insert(id, Open { at, kind, range, waits: 0, ended: at, doing: Doing::Change(changing) });
        let last = asked.len().saturating_sub(1);
        let mut request = request;
        for (number, (member, part)) in asked.iter().enumerate() {
            let bytes = match &mut request.bytes {
                all if number == last && part.host == range => all.take(),
                Some(all) => {
                    let from = before(range, part.host);
                    Some(all[from..from + part.host.len_bytes()].to_vec())
                }
                None => None,
            };
            let Request { kind, flags, origin, stream, .. } = request;
            let part_of =
                Request { kind, range: part.range(), source: SectorRange::EMPTY, flags, origin, stream, bytes };
            self.ask(id, *member, *part, part_of);
        }
        if asked.is_empty() {
            self.settle_change(id);
        }
    }

    /// Writes sectors of the array on one member again. The array's contents stay.
    pub(super) fn write_on(&mut self, member: usize, range: SectorRange, bytes: Option<Vec<u8>>, why: Why) {
        let mut request = Request::write_without_bytes(range);
        request.bytes = bytes;
        self.change_on(member, request, why);
    }

    /// As [`Mirror::write_on`], with any request.
    pub(super) fn change_on(&mut self, member: usize, request: Request, why: Why) {
        let range = request.range;
        if !self.members[member].is_online() || range.is_empty() {
            return;
        }
        let units = self.units_of(range);
        self.unsure.change(&units);
        let number = self.layout.find(range.start);
        let run = &self.layout.runs()[number];
        debug_assert_eq!(range.intersection(run.range), range, "what is copied at once lies in one run");
        let Some(place) = run.places.iter().position(|place| place.0 == member) else { return };
        let part = Part { host: range, start: run.at(place, range.start) };
        let changing = Changing {
            why,
            is_fua: false,
            pieces: vec![(range, vec![member])],
            failed: Vec::new(),
            refused: Vec::new(),
            worst: Status::Done,
        };
        let (id, at, kind) = (self.new_id(), self.now, request.kind);
        self.open.insert(id, Open { at, kind, range, waits: 0, ended: at, doing: Doing::Change(changing) });
        if why == Why::Copy {
            self.own.copying += 1;
        }
        let asked = Request { range: part.range(), ..request }.with_origin(Origin::ArrayRepair);
        self.ask(id, member, part, asked);
    }

    /// Ends a change of which all members have answered.
    pub(super) fn settle_change(&mut self, id: RequestId) {
        let Some(open) = self.open.remove(&id) else { return };
        let Doing::Change(changing) = &open.doing else { return };
        let mut failed = RangeSet::new();
        changing.refused.iter().for_each(|range| failed.insert(*range));
        let mut spoilt: Vec<(usize, Vec<SectorRange>)> = Vec::new();
        for (piece, takers) in &changing.pieces {
            let failures: Vec<RangeSet> = takers.iter().map(|member| changing.failed_on(*member, *piece)).collect();
            // What no copy took stays as it was, on all.
            let none = match &failures[..] {
                [first, others @ ..] => others.iter().fold(first.clone(), |shared, other| both(&shared, other, *piece)),
                [] => RangeSet::new(),
            };
            none.within(*piece).for_each(|range| failed.insert(range));
            for (member, failure) in takers.iter().zip(&failures) {
                if changing.why == Why::Host {
                    let alone = without(failure, &none, *piece);
                    if !alone.is_empty() {
                        self.members[*member].fail(id);
                        alone.iter().for_each(|range| {
                            let units = self.units_of(*range);
                            self.members[*member].spoil(units);
                        });
                        spoilt.push((*member, alone));
                    }
                }
                if !self.members[*member].stale().is_empty() {
                    let mut whole = RangeSet::new();
                    whole.insert(*piece);
                    for done in without(&whole, failure, *piece) {
                        let units = self.whole_units_of(done);
                        self.members[*member].renew(id, units);
                    }
                }
            }
        }
        if !spoilt.is_empty() {
            self.tell_if_degraded();
        }
        match changing.why {
            Why::Host => self.settle_host_change(id, &open, &failed, &spoilt),
            Why::Repair => {}
            Why::Copy => {
                if failed.is_empty() {
                    // What holds nothing is only trimmed.
                    if open.kind == Kind::Write {
                        self.own.repairs.copied += open.range.count;
                    }
                    (self.own.progressed, self.own.moved) = (true, true);
                } else {
                    self.own.repairs.failed += failed.sectors();
                    self.own.is_step_failed = true;
                }
                self.own.copying -= 1;
                self.copied();
            }
        }
    }

    fn settle_host_change(
        &mut self,
        id: RequestId,
        open: &Open,
        failed: &RangeSet,
        spoilt: &[(usize, Vec<SectorRange>)],
    ) {
        let Doing::Change(changing) = &open.doing else { return };
        if changing.is_fua {
            // Each copy has the old or the new contents.
            for range in failed.within(open.range) {
                let units = self.units_of(range);
                self.differs.insert(units);
                self.own.is_due = true;
            }
        } else if failed.is_empty() && !self.own.lost.is_empty() {
            let units = self.whole_units_of(open.range);
            self.own.lost.remove(units);
        }
        let status = self.failure(open.range, failed, &changing.worst);
        self.end(id, open, status, None);
        self.change_ended(id, spoilt);
    }

    /// Makes everything durable, for the host or for itself.
    pub(super) fn flush(&mut self, id: RequestId, is_own: bool) {
        let (at, kind) = (self.now, Kind::Flush);
        // A range tells the array's own flush from the host's.
        let range = if is_own { SectorRange::new(wane_units::Lba(0), Sectors(1)) } else { SectorRange::EMPTY };
        self.open.insert(id, Open { at, kind, range, waits: 0, ended: at, doing: Doing::Flush(Vec::new()) });
        self.unsure.begin_flush(id);
        for member in 0..self.members.len() {
            if self.members[member].is_present() {
                self.members[member].begin_flush(id);
                let part = Part { host: SectorRange::EMPTY, start: wane_units::Lba(0) };
                self.ask(id, member, part, Request::flush());
            }
        }
        if self.open.get(&id).is_some_and(|open| open.waits == 0) {
            self.settle_flush(id);
        }
    }

    /// Ends a flush that all members have answered.
    pub(super) fn settle_flush(&mut self, id: RequestId) {
        let Some(open) = self.open.remove(&id) else { return };
        let Doing::Flush(failed) = &open.doing else { return };
        let is_done = self.end_flush(id, failed);
        if open.is_of_host() {
            if is_done {
                self.tell_if_rebuilt();
            }
            let worn = self.members.iter().any(|member| member.is_present() && !member.is_online());
            let status = match (is_done, worn) {
                (true, _) => Status::Done,
                (false, _) if self.members.are_gone() => Status::Gone(Vec::new()),
                (false, true) => Status::ReadOnly(Vec::new()),
                (false, false) => Status::MediumError(Vec::new()),
            };
            self.end(id, &open, status, None);
        } else {
            self.flushed(is_done);
        }
    }

    /// Takes note of a flush that some members failed. Returns whether a copy of everything is durable.
    pub(super) fn end_flush(&mut self, id: RequestId, failed: &[usize]) -> bool {
        let is_good = |member: usize| self.members[member].is_present() && !failed.contains(&member);
        let is_done = self.layout.runs().iter().all(|run| run.places.iter().any(|place| is_good(place.0)));
        if is_done && !failed.is_empty() {
            let unsure = self.unsure.ranges(Some(id));
            for member in failed {
                unsure.iter().for_each(|units| self.spoil_on(*member, units));
            }
            self.tell_if_degraded();
        }
        for (number, member) in self.members.iter_mut().enumerate() {
            member.end_flush(id, !failed.contains(&number));
        }
        self.unsure.end_flush(id, is_done);
        is_done
    }
}
