//! Requests under way, and the parts into which they are cut.

use std::collections::BTreeMap;
use std::ops::Range;

use wane_blockdev::{Completion, RequestId, SectorRange, Status, Unsupported};
use wane_nbd::{Action, Errno, Failure, Reply};
use wane_units::{Nanos, SimTime};

use super::{Answer, SECTOR};
use crate::client::Asked;

/// How a part ended.
pub(super) struct End {
    pub(super) status: Status,
    /// Of a read.
    pub(super) bytes: Option<Vec<u8>>,
}

/// A request under way.
pub(super) struct Ticket {
    number: u64,
    submitted: SimTime,
    /// When the last of its parts completed so far.
    modelled: SimTime,
    /// By how much a fault makes it slower.
    slower: Nanos,
    /// Its parts, in their order; `None` while one is under way.
    ends: Vec<Option<End>>,
    left: usize,
}

impl Ticket {
    pub(super) fn new(number: u64, submitted: SimTime, slower: Nanos) -> Self {
        Self { number, submitted, modelled: submitted, slower, ends: Vec::with_capacity(1), left: 0 }
    }

    /// Adds a part behind the others, which may be over already. Returns its number.
    pub(super) fn add(&mut self, end: Option<End>) -> usize {
        self.left += usize::from(end.is_none());
        self.ends.push(end);
        self.ends.len() - 1
    }

    /// Joins the ends of its parts.
    pub(super) fn answer(self, asked: Asked) -> Answer {
        let mut status = Status::Done;
        let mut pieces = Vec::with_capacity(self.ends.len());
        for end in self.ends.into_iter().flatten() {
            status = status.join(end.status);
            pieces.extend(end.bytes);
        }
        let failure = failure(&status, &asked);
        let reply = match asked.frame.action {
            Action::Read { whole } if !matches!(failure, Some(Errno::Invalid | Errno::Shutdown)) => {
                let bytes = |range: &SectorRange| -> Range<u64> {
                    let start = range.start.0 * SECTOR;
                    start..start + range.len_bytes() as u64
                };
                let failed = failure.map(|errno| Failure { errno, bytes: status.failed().iter().map(bytes).collect() });
                Reply::Data { offset: asked.frame.offset, pieces, whole, failed }
            }
            _ => super::ended(&asked, failure.map_or(Ok(()), Err)),
        };
        let modelled = self.modelled.saturating_add(self.slower);
        Answer { asked, reply, number: self.number, submitted: self.submitted, modelled }
    }
}

/// The protocol's error for a status.
fn failure(status: &Status, asked: &Asked) -> Option<Errno> {
    Some(match status {
        Status::Done => return None,
        Status::MediumError(_) => Errno::Io,
        Status::NoSpace(_) => Errno::NoSpace,
        Status::ReadOnly(_) => Errno::NotPermitted,
        Status::Gone(_) | Status::Unsupported(Unsupported::ClockEnd) => Errno::Shutdown,
        Status::OutOfRange if asked.frame.action == Action::Write => Errno::NoSpace,
        Status::OutOfRange | Status::Unsupported(_) => Errno::Invalid,
    })
}

/// All requests under way.
#[derive(Default)]
pub(super) struct Tickets {
    tickets: Vec<Option<(Asked, Ticket)>>,
    free: Vec<usize>,
    /// Which part of which ticket a request to the drive is.
    parts: BTreeMap<RequestId, (usize, usize)>,
}

impl Tickets {
    pub(super) fn insert(&mut self, asked: Asked, ticket: Ticket) -> usize {
        let place = self.free.pop().unwrap_or(self.tickets.len());
        if place == self.tickets.len() {
            self.tickets.push(None);
        }
        self.tickets[place] = Some((asked, ticket));
        place
    }

    pub(super) fn len(&self) -> usize {
        self.tickets.len() - self.free.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn ticket(&mut self, number: usize) -> &mut Ticket {
        &mut self.tickets[number].as_mut().expect("a ticket is there until it is answered").1
    }

    /// Notes which part a request is.
    pub(super) fn expect(&mut self, id: RequestId, ticket: usize, part: usize) {
        self.parts.insert(id, (ticket, part));
    }

    /// Notes the end of a part. Returns its ticket.
    pub(super) fn end(&mut self, completion: Completion) -> Option<usize> {
        let (number, part) = self.parts.remove(&completion.id)?;
        let ticket = self.ticket(number);
        ticket.modelled = ticket.modelled.max(completion.at);
        ticket.ends[part] = Some(End { status: completion.status, bytes: completion.bytes });
        ticket.left -= 1;
        Some(number)
    }

    /// Whether all parts are over.
    pub(super) fn is_over(&mut self, number: usize) -> bool {
        self.ticket(number).left == 0
    }

    pub(super) fn remove(&mut self, number: usize) -> (Asked, Ticket) {
        self.free.push(number);
        self.tickets[number].take().expect("a ticket is there until it is answered")
    }
}
