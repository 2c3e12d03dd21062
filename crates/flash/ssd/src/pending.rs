//! The block device's requests: those under way, by id, and those that are over and not handed out, by time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wane_blockdev::{Completion, RequestId, Status};
use wane_units::SimTime;

/// Requests under way, without the time of their end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pending {
    /// By rising id. Requests leave in another order, so that a place may be empty; the first never is.
    answers: VecDeque<(RequestId, Option<Completion>)>,
    live: usize,
}

impl Pending {
    /// Adds a request, whose id is higher than any before.
    pub(crate) fn insert(&mut self, answer: Completion) {
        let last = self.answers.back().map(|(id, _)| *id);
        assert!(
            last < Some(answer.id),
            "request {} has a number of its own, or another one would never end",
            answer.id
        );
        self.answers.push_back((answer.id, Some(answer)));
        self.live += 1;
    }

    /// Takes a request out, if it is under way.
    #[inline]
    pub(crate) fn remove(&mut self, id: RequestId) -> Option<Completion> {
        let (first, _) = self.answers.front()?;
        // Where no id is left out in between, its distance from the first is its place.
        let near = usize::try_from(id.0.checked_sub(first.0)?).ok()?;
        let place = match self.answers.get(near) {
            Some((found, _)) if *found == id => near,
            _ => self.answers.binary_search_by_key(&id, |(id, _)| *id).ok()?,
        };
        let answer = self.answers[place].1.take()?;
        self.live -= 1;
        while self.answers.front().is_some_and(|(_, answer)| answer.is_none()) {
            self.answers.pop_front();
        }
        Some(answer)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Takes all of them, by their ids.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Completion> + use<> {
        std::mem::take(self).answers.into_iter().filter_map(|(_, answer)| answer)
    }
}

/// Requests that are over and not handed out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Done {
    answers: Vec<Completion>,
    /// Whether they are out of order. Most come in the order in which they are handed out.
    is_mixed: bool,
}

impl Done {
    pub(crate) fn push(&mut self, answer: Completion) {
        self.is_mixed |= self.answers.last().is_some_and(|last| key(last) > key(&answer));
        self.answers.push(answer);
    }

    /// When the first of them ended.
    pub(crate) fn first_at(&self) -> Option<SimTime> {
        let first = self.answers.first().map(|answer| answer.at);
        if self.is_mixed { self.answers.iter().map(|answer| answer.at).min() } else { first }
    }

    /// Moves those that ended by `until` to `out`, by time and then by id.
    pub(crate) fn hand_out(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        if std::mem::take(&mut self.is_mixed) {
            self.answers.sort_unstable_by_key(key);
        }
        match self.answers.last() {
            Some(last) if last.at > until => {
                let over = self.answers.partition_point(|answer| answer.at <= until);
                out.extend(self.answers.drain(..over));
            }
            _ => out.append(&mut self.answers),
        }
    }

    /// Ends at `at` what would complete later, as power that goes off does.
    pub(crate) fn cut_off(&mut self, at: SimTime) {
        for late in self.answers.iter_mut().filter(|answer| answer.at > at) {
            (late.at, late.status, late.bytes) = (at, Status::all_gone(late.range), None);
        }
        self.is_mixed = true;
    }

    pub(crate) const fn len(&self) -> usize {
        self.answers.len()
    }
}

const fn key(answer: &Completion) -> (SimTime, RequestId) {
    (answer.at, answer.id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use wane_blockdev::{Kind, SectorRange};

    use super::*;

    fn answer(id: u64, at: u64) -> Completion {
        let (submitted_at, range) = (SimTime(0), SectorRange::EMPTY);
        Completion {
            id: RequestId(id),
            submitted_at,
            at: SimTime(at),
            kind: Kind::Flush,
            range,
            status: Status::Done,
            bytes: None,
        }
    }

    proptest! {
        #[test]
        fn requests_leave_in_any_order(steps in prop::collection::vec((0u64..4, 0u64..40), 0..200)) {
            let (mut pending, mut plain, mut next) = (Pending::default(), BTreeMap::new(), 0);
            for (skipped, leaves) in steps {
                // Ids in between belong to the drive's own work.
                next += skipped;
                pending.insert(answer(next, 7));
                plain.insert(next, answer(next, 7));
                next += 1;
                for id in [leaves, next.saturating_sub(leaves)] {
                    prop_assert_eq!(pending.remove(RequestId(id)), plain.remove(&id));
                }
                prop_assert_eq!((pending.live, pending.is_empty()), (plain.len(), plain.is_empty()));
            }
        }

        #[test]
        fn what_is_over_is_handed_out_by_time_and_id(
            steps in prop::collection::vec((0u64..30, any::<bool>()), 0..60),
        ) {
            let (mut done, mut plain, mut until) = (Done::default(), Vec::new(), 0);
            for (id, (ahead, asks)) in (0..).zip(steps) {
                done.push(answer(id, until + ahead));
                plain.push((until + ahead, id));
                plain.sort_unstable();
                prop_assert_eq!(done.first_at().map(|at| at.0), plain.first().map(|(at, _)| *at));
                if asks {
                    until += ahead / 2;
                    let mut out = Vec::new();
                    done.hand_out(SimTime(until), &mut out);
                    let over = plain.partition_point(|(at, _)| *at <= until);
                    let found: Vec<(u64, u64)> = out.iter().map(|answer| (answer.at.0, answer.id.0)).collect();
                    prop_assert_eq!(found, plain.drain(..over).collect::<Vec<_>>());
                }
                prop_assert_eq!(done.len(), plain.len());
            }
        }
    }
}
