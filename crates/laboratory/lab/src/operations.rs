//! Latencies of operations that consist of requests: from the arrival of their first request until all that they wait for is done.

use std::collections::BTreeMap;

use wane_ssd::{Completion, Meter};
use wane_workload::{Milestone, OperationKind};

/// The state of a client's operation.
#[derive(Clone, Copy, Debug)]
enum Begun {
    /// It begins with the next request.
    Next,
    /// It began at this time, in nanoseconds, with the request of this number.
    At(u64, u64),
}

/// An operation whose requests have all been made.
#[derive(Clone, Copy, Debug)]
struct Open {
    kind: OperationKind,
    begun_ns: u64,
    /// Requests that are not done, by their numbers at the drive.
    waits_for: [Option<u64>; 2],
}

/// The operations in progress. Those that have not ended at the end of a run are not counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Operations {
    /// Number of requests that have arrived.
    came: u64,
    begun: BTreeMap<u32, Begun>,
    /// At most one for each client.
    open: Vec<Open>,
    /// Whether the milestones before the next request were processed.
    pub(crate) is_told: bool,
}

impl Operations {
    /// Processes the beginnings and ends of operations before the next request, at `now_ns`. `request(n)` returns the drive's number of the request
    /// `n` back, or `None` if it is done.
    pub(crate) fn tell<M: Clone>(
        &mut self,
        milestones: &[Milestone],
        now_ns: u64,
        request: &impl Fn(u64) -> Option<u64>,
        meter: &mut Meter<M>,
    ) {
        self.is_told = true;
        for milestone in milestones {
            match *milestone {
                Milestone::Begins { client } => {
                    self.begun.insert(client, Begun::Next);
                }
                Milestone::Ends { client, kind, after } => {
                    // An operation that was in progress when the run began is left out.
                    let Some(begun) = self.begun.remove(&client) else { continue };
                    let (begun_ns, first) = match begun {
                        Begun::Next => (now_ns, self.came),
                        Begun::At(at, first) => (at, first),
                    };
                    let waits_for = after.map(request);
                    if waits_for.iter().any(Option::is_some) {
                        self.open.push(Open { kind, begun_ns, waits_for });
                        continue;
                    }
                    // Everything that it waits for is done: its own requests took no time, or a flush has ended.
                    let came_since = |after: &u64| *after > 0 && self.came >= first + after;
                    let waited = after.iter().any(came_since);
                    meter.record_operation(kind as usize, if waited { now_ns - begun_ns } else { 0 });
                }
            }
        }
    }

    /// Notes that a request arrived at `now_ns`.
    #[inline]
    pub(crate) fn came(&mut self, now_ns: u64) {
        if self.is_told {
            self.is_told = false;
            for begun in self.begun.values_mut().filter(|begun| matches!(begun, Begun::Next)) {
                *begun = Begun::At(now_ns, self.came);
            }
        }
        self.came += 1;
    }

    /// A request is done.
    #[inline]
    pub(crate) fn done<M: Clone>(&mut self, completion: &Completion, meter: &mut Meter<M>) {
        if !self.open.is_empty() {
            self.open.retain_mut(|open| {
                for request in &mut open.waits_for {
                    if *request == Some(completion.token) {
                        *request = None;
                    }
                }
                let is_open = open.waits_for.iter().any(Option::is_some);
                if !is_open {
                    meter.record_operation(open.kind as usize, completion.at.saturating_sub(open.begun_ns));
                }
                is_open
            });
        }
    }

    /// Starts another source, with its own clients.
    pub(crate) fn begin_phase(&mut self) {
        self.begun.clear();
        self.is_told = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_ssd::{Breakdown, CommandKind, Latencies};

    /// A request of the drive is done.
    fn done(token: u64, at: u64) -> Completion {
        Completion { token, kind: CommandKind::Trim, bytes: 0, submitted_at: at, at, breakdown: Breakdown::default() }
    }

    struct Bed {
        operations: Operations,
        meter: Meter<()>,
    }

    impl Bed {
        fn new() -> Self {
            Self { operations: Operations::default(), meter: Meter::new(0, ()) }
        }

        /// Milestones at a time, with the requests of the drive that are open by how many back they lie; then a request comes.
        fn next(&mut self, milestones: &[Milestone], at: u64, open: &[(u64, u64)]) -> &mut Self {
            let request = |after: u64| open.iter().find(|(back, _)| *back == after).map(|(_, token)| *token);
            self.operations.tell(milestones, at, &request, &mut self.meter);
            self.operations.came(at);
            self
        }

        fn done(&mut self, token: u64, at: u64) -> &mut Self {
            self.operations.done(&done(token, at), &mut self.meter);
            self
        }

        /// Latencies of reads and updates, each sum with its count.
        fn found(&self) -> [(u128, u64); 2] {
            let latencies: Latencies = self.meter.latencies();
            [OperationKind::Read, OperationKind::Update]
                .map(|kind| latencies.operations.get(kind as usize).map_or((0, 0), |of| (of.sum_ns(), of.count())))
        }
    }

    const BEGINS: Milestone = Milestone::Begins { client: 3 };

    const fn ends(kind: OperationKind, after: [u64; 2]) -> Milestone {
        Milestone::Ends { client: 3, kind, after }
    }

    #[test]
    fn an_operation_lasts_from_its_first_request_until_its_last_is_done() {
        let mut bed = Bed::new();
        bed.next(&[BEGINS], 100, &[]).next(&[], 150, &[]).next(&[ends(OperationKind::Read, [1, 0])], 160, &[(1, 7)]);
        bed.done(6, 200);
        assert_eq!(bed.found()[0], (0, 0), "another request");
        bed.done(7, 400);
        assert_eq!(bed.found()[0], (300, 1));
    }

    #[test]
    fn a_put_waits_for_the_later_of_its_log_and_a_flush() {
        for tokens in [[7, 8], [8, 7]] {
            let mut bed = Bed::new();
            bed.next(&[BEGINS], 100, &[]);
            bed.next(&[ends(OperationKind::Update, [1, 5])], 160, &[(1, 7), (5, 8)]);
            bed.done(tokens[0], 200).done(tokens[1], 900);
            assert_eq!(bed.found()[1], (800, 1));
        }
    }

    #[test]
    fn what_waits_for_nothing_takes_no_time() {
        let mut bed = Bed::new();
        bed.next(&[BEGINS, ends(OperationKind::Update, [0, 0])], 100, &[]);
        // A flush that had ended before the put began.
        bed.next(&[BEGINS], 200, &[]).next(&[ends(OperationKind::Update, [0, 2])], 300, &[]);
        assert_eq!(bed.found()[1], (0, 2));
        // A flush that came after the put began, and is done by its end.
        bed.next(&[BEGINS], 400, &[]).next(&[ends(OperationKind::Update, [0, 1])], 450, &[]);
        assert_eq!(bed.found()[1], (50, 3));
    }

    #[test]
    fn an_operation_that_began_before_the_run_is_left_out() {
        let mut bed = Bed::new();
        bed.next(&[ends(OperationKind::Read, [1, 0])], 100, &[(1, 7)]).done(7, 200);
        assert_eq!(bed.found()[0], (0, 0));
    }
}
