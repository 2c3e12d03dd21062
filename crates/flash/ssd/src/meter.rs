//! What timed requests took: latencies and counts in windows, each from one mark to the next.
//!
//! The result are raw latencies. The caller computes figures from them, and chooses what to record of the drive at the ends of a
//! window (`M`, a mark).

use crate::{Completion, Latencies, Scheduler};

/// Most windows of a timed run. When they are full, neighbors are joined in pairs, and later windows last twice as long.
const WINDOWS_MAX: usize = 64;

/// Requests in each of the first windows.
const WINDOW_REQUESTS: u64 = 1024;

/// What was measured from one mark to the next.
#[derive(Clone, Debug)]
pub struct MeasuredWindow<M> {
    /// The mark at its start.
    pub from: M,
    /// The mark at its end.
    pub until: M,
    /// The phase of its commands, counted by [`Meter::begin_phase`].
    pub phase: u32,
    /// When it began, in nanoseconds.
    pub from_ns: u64,
    /// When its last command was done, in nanoseconds.
    pub until_ns: u64,
    /// Commands that were done in it, trims and flushes included.
    pub requests: u64,
    /// Their latencies.
    pub latencies: Latencies,
}

/// What a meter measured.
#[derive(Clone, Debug)]
pub struct Timed<M> {
    /// Latencies over all windows.
    pub latencies: Latencies,
    /// Windows in which a command was done, in order.
    pub windows: Vec<MeasuredWindow<M>>,
    /// The two parts, if the run has them.
    pub parts: Option<Parts<M>>,
    /// Flash operations scheduled.
    pub operations: u64,
    /// Simulated nanoseconds from the start until the last command was done.
    pub elapsed_ns: u64,
    /// Reads served from the controller's buffers.
    pub buffered_reads: u64,
    /// Reads that went to the rest of their stripe because their die collected.
    pub reads_around: u64,
}

/// What a device did while its requests were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// The sum over time of its outstanding commands, in nanoseconds; `None` while some are outstanding.
    pub outstanding_time_ns: Option<u128>,
    /// Flash operations scheduled.
    pub operations: u64,
    /// Reads served from the controller's buffers.
    pub buffered_reads: u64,
    /// Reads that went to the rest of their stripe because their die collected.
    pub reads_around: u64,
}

impl Ran {
    /// What a scheduler did.
    pub fn of(scheduler: &Scheduler) -> Self {
        Self {
            outstanding_time_ns: (scheduler.outstanding() == 0).then(|| scheduler.outstanding_time_ns()),
            operations: scheduler.operations(),
            buffered_reads: scheduler.buffered_reads(),
            reads_around: scheduler.reads_around(),
        }
    }
}

/// The two parts of a run, which [`Meter::begin_part`] separates.
#[derive(Clone, Debug)]
pub struct Parts<M> {
    /// The mark between them.
    pub at: M,
    /// When the second part began, in nanoseconds from the start.
    pub at_ns: u64,
    /// Latencies of commands that were done in the first part.
    pub before: Latencies,
    /// Latencies of the others.
    pub since: Latencies,
}

/// Records what requests took, in windows.
#[derive(Clone, Debug)]
pub struct Meter<M> {
    /// Sum of all latencies, exact, for Little's law.
    latency_sum_ns: u128,
    windows: Vec<MeasuredWindow<M>>,
    window_requests: u64,
    /// Number of the window in which the second part begins.
    second_part: Option<usize>,
    /// The tokens from which on commands are of each phase but the first.
    phase_tokens: Vec<u64>,
}

/// Joins a window with the one after it.
fn join<M>(first: &mut MeasuredWindow<M>, second: MeasuredWindow<M>) {
    first.latencies.merge(&second.latencies);
    first.requests += second.requests;
    (first.until, first.until_ns) = (second.until, second.until_ns);
}

fn sum<M>(windows: &[MeasuredWindow<M>]) -> Latencies {
    let mut latencies = Latencies::new();
    windows.iter().for_each(|window| latencies.merge(&window.latencies));
    latencies
}

impl<M: Clone> Meter<M> {
    /// Makes an empty meter. The first window starts at `at`, in nanoseconds, and at `mark`.
    pub fn new(at: u64, mark: M) -> Self {
        let mut meter = Self {
            latency_sum_ns: 0,
            windows: Vec::new(),
            window_requests: WINDOW_REQUESTS,
            second_part: None,
            phase_tokens: Vec::new(),
        };
        meter.begin_window(at, mark, 0);
        meter
    }

    /// The same, with one window for the whole run.
    pub fn with_one_window(self) -> Self {
        Self { window_requests: u64::MAX, ..self }
    }

    /// Adds a completion to the present window, or to the last one of the phase before in which it came.
    #[inline]
    pub fn record(&mut self, completion: &Completion) {
        self.latency_sum_ns += u128::from(completion.latency_ns());
        let window = if self.phase_tokens.last().is_some_and(|first| completion.token < *first) {
            let phase = self.phase_tokens.partition_point(|first| *first <= completion.token) as u32;
            self.windows.iter_mut().rfind(|window| window.phase == phase).expect("each phase has a window")
        } else {
            self.windows.last_mut().expect("a meter has a window")
        };
        debug_assert!(window.until_ns <= completion.at, "commands are done in the order of time");
        window.latencies.record(completion);
        window.requests += 1;
        window.until_ns = completion.at;
    }

    /// Adds an operation above requests to the present window; see [`Latencies::operations`].
    pub fn record_operation(&mut self, kind: usize, latency_ns: u64) {
        let window = self.windows.last_mut().expect("a meter has a window");
        window.latencies.record_operation(kind, latency_ns);
    }

    /// What was measured so far, over all windows.
    pub fn latencies(&self) -> Latencies {
        sum(&self.windows)
    }

    /// Whether the present window has all its requests.
    pub fn window_is_full(&self) -> bool {
        self.windows.last().is_some_and(|window| window.requests >= self.window_requests)
    }

    /// Ends the present window and begins another at `at`, in nanoseconds.
    pub fn next_window(&mut self, at: u64, mark: M) {
        self.end_window(mark.clone());
        // Each phase may leave an odd window that has none to join.
        let most = WINDOWS_MAX + self.phase() as usize;
        if self.windows.len() >= most {
            self.join_in_pairs();
            self.window_requests *= 2;
            assert!(self.windows.len() < most, "joined windows leave room for another");
        }
        self.begin_window(at, mark, self.phase());
    }

    /// Joins windows of one phase and part in pairs. An odd one at the end stays.
    fn join_in_pairs(&mut self) {
        let windows = std::mem::take(&mut self.windows);
        let second_part = self.second_part;
        let mut is_alone = false;
        for (number, window) in windows.into_iter().enumerate() {
            let begins_part = second_part == Some(number);
            if begins_part {
                self.second_part = Some(self.windows.len());
            }
            match self.windows.last_mut() {
                Some(last) if is_alone && !begins_part && last.phase == window.phase => {
                    join(last, window);
                    is_alone = false;
                }
                _ => {
                    self.windows.push(window);
                    is_alone = true;
                }
            }
        }
    }

    fn phase(&self) -> u32 {
        self.windows.last().expect("a meter has a window").phase
    }

    /// Ends the present window if it has few commands: they go to the window before, if that is of the same phase and part.
    fn join_short(&mut self) {
        let is_short = self.windows.last().is_some_and(|last| 2 * last.requests < self.window_requests);
        let begins_part = self.second_part.is_some_and(|second_part| second_part + 1 == self.windows.len());
        let is_alike = matches!(&self.windows[..], [.., previous, last] if previous.phase == last.phase);
        if is_short
            && is_alike
            && !begins_part
            && let Some(last) = self.windows.pop()
            && let Some(previous) = self.windows.last_mut()
        {
            join(previous, last);
        }
    }

    /// Begins another phase of the run, and with it a window, at `at`, in nanoseconds. Commands whose tokens are below `token` are of the phases
    /// before, whenever they are done. Windows of two phases are never joined.
    pub fn begin_phase(&mut self, at: u64, mark: M, token: u64) {
        self.join_short();
        self.end_window(mark.clone());
        self.phase_tokens.push(token);
        self.begin_window(at, mark, self.phase() + 1);
    }

    /// Begins the second part of the run, and with it a window, at `at`, in nanoseconds. Windows of the two parts are never
    /// joined. Does nothing while the first window is not full (the whole run then belongs to the second part), nor a second
    /// time.
    pub fn begin_part(&mut self, at: u64, mark: M) {
        if self.second_part.is_some() || (self.windows.len() == 1 && !self.window_is_full()) {
            return;
        }
        // The end of the first part may be too short for a window of its own.
        self.join_short();
        self.end_window(mark.clone());
        self.second_part = Some(self.windows.len());
        self.begin_window(at, mark, self.phase());
    }

    fn begin_window(&mut self, at: u64, mark: M, phase: u32) {
        self.windows.push(MeasuredWindow {
            from: mark.clone(),
            until: mark,
            phase,
            from_ns: at,
            until_ns: at,
            requests: 0,
            latencies: Latencies::new(),
        });
    }

    fn end_window(&mut self, mark: M) {
        self.windows.last_mut().expect("a meter has a window").until = mark;
    }

    /// Everything that was measured of a device that did so much meanwhile.
    ///
    /// # Panics
    /// All commands are done, but the meter did not see all of them from start to end.
    pub fn finish(mut self, ran: Ran, mark: M) -> Timed<M> {
        if let Some(outstanding_time_ns) = ran.outstanding_time_ns {
            assert_eq!(
                self.latency_sum_ns, outstanding_time_ns,
                "Little's law: every command was seen from start to end"
            );
        }
        let began_ns = self.windows[0].from_ns;
        self.end_window(mark);
        let parts = self.second_part.map(|second_part| {
            let (before, since) = self.windows.split_at(second_part);
            Parts {
                at: since[0].from.clone(),
                at_ns: since[0].from_ns - began_ns,
                before: sum(before),
                since: sum(since),
            }
        });
        let latencies = sum(&self.windows);
        let counted = |latencies: &Latencies| latencies.reads.count() + latencies.writes.count();
        let is_whole = |parts: &Parts<M>| counted(&parts.before) + counted(&parts.since) == counted(&latencies);
        assert!(parts.as_ref().is_none_or(is_whole), "each command is of one of the two parts");
        let elapsed_ns = self.windows.iter().map(|window| window.until_ns).max().unwrap_or(0) - began_ns;
        self.windows.retain(|window| window.requests > 0);
        Timed {
            latencies,
            windows: self.windows,
            parts,
            operations: ran.operations,
            elapsed_ns,
            buffered_reads: ran.buffered_reads,
            reads_around: ran.reads_around,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use wane_nand::{Flash, Media, PageRead, Purpose, Task};
    use wane_units::{BlockId, Bytes, Geometry};

    use super::*;
    use crate::{CLOCK_MAX_NS, Clock, ClockSpec, Command, CommandKind, SchedulerConfig, Timing};

    const READ_NS: u64 = 50_000;
    static GO: AtomicBool = AtomicBool::new(false);

    struct Bed {
        clock: Clock,
        meter: Meter<u64>,
        flash: Flash,
    }

    impl Bed {
        fn new() -> Self {
            let geometry = Geometry::new(1, 1, 1, 2, 4, Bytes(4096)).unwrap();
            let timing = Timing {
                read_ns: vec![READ_NS],
                program_ns: vec![600_000],
                erase_ns: 3_000_000,
                channel_bytes_per_second: None,
            };
            let spec = ClockSpec {
                by_events: true,
                timing,
                config: SchedulerConfig::default(),
                rereads_max: 0,
                thermal: None,
            };
            let mut flash = Flash::new(geometry);
            flash.program(BlockId(0), 0, 4, Task::Host, &[]);
            flash.record(true);
            Self { clock: Clock::new(&spec, &geometry).unwrap(), meter: Meter::new(0, 0), flash }
        }

        /// A read that comes now; of nothing where `page` is none.
        fn read(&mut self, page: Option<u32>) -> bool {
            self.read_as(page, 7)
        }

        fn read_as(&mut self, page: Option<u32>, token: u64) -> bool {
            let (task, purpose) = (Task::Host, Purpose::Serve);
            if let Some(page) = page {
                self.flash.read(PageRead { block: BlockId(0), page, bytes: 4096, task, purpose, rereads_max: None });
            }
            let command = Command { token, kind: CommandKind::Read, bytes: 4096 };
            let submitted = self.clock.submit(command, self.flash.ops());
            self.flash.clear_ops();
            submitted
        }

        fn arrive_at(&mut self, at: u64) {
            self.clock.arrive_at(at, &GO, &mut |completion| self.meter.record(completion));
        }

        fn finish(mut self, mark: u64) -> Timed<u64> {
            self.clock.drain(&GO, &mut |completion| self.meter.record(completion));
            self.meter.finish(Ran::of(self.clock.scheduler()), mark)
        }

        /// Serves reads one at a time, marks each window's end with the number of reads so far, and finishes. A second part, where there
        /// is one, begins with the read of that number; that it is begun twice changes nothing.
        fn served(mut self, reads: u64, second: Option<u64>) -> Timed<u64> {
            for number in 0..reads {
                self.clock.arrive_below(1, &GO, &mut |completion| self.meter.record(completion));
                if second == Some(number) {
                    self.meter.begin_part(self.clock.now_ns(), number);
                    self.meter.begin_part(self.clock.now_ns(), u64::MAX);
                }
                self.read(Some(1));
                if self.meter.window_is_full() {
                    self.meter.next_window(self.clock.now_ns(), number + 1);
                }
            }
            self.finish(reads)
        }
    }

    #[test]
    fn full_windows_are_joined_in_pairs_and_nothing_is_lost() {
        let reads = 100 * WINDOW_REQUESTS;
        let timed = Bed::new().served(reads, None);
        assert!(timed.windows.len() <= WINDOWS_MAX && timed.windows.len() > WINDOWS_MAX / 2, "{}", timed.windows.len());
        assert_eq!(timed.windows.iter().map(|window| window.requests).sum::<u64>(), reads);
        assert_eq!((timed.latencies.reads.count(), timed.operations), (reads, reads));
        assert_eq!(timed.elapsed_ns, reads * READ_NS, "a closed loop of one read at a time");
        assert_eq!((timed.windows[0].from, timed.windows.last().unwrap().until), (0, reads));
        for pair in timed.windows.windows(2) {
            assert_eq!((pair[0].until, pair[0].until_ns), (pair[1].from, pair[1].from_ns), "one begins where one ends");
        }
    }

    #[test]
    fn parts_of_a_run_never_share_a_window() {
        let reads = 300 * WINDOW_REQUESTS;
        for second in [WINDOW_REQUESTS, 5 * WINDOW_REQUESTS + 7, 77_777, 250_003] {
            let timed = Bed::new().served(reads, Some(second));
            let parts = timed.parts.unwrap();
            assert_eq!((parts.before.reads.count(), parts.since.reads.count()), (second, reads - second), "{second}");
            assert_eq!(parts.at, second);
            assert!(timed.windows.iter().any(|window| window.from == second), "a window begins with the part");
            assert!(timed.windows.len() <= WINDOWS_MAX, "{}", timed.windows.len());
        }
    }

    #[test]
    fn a_few_requests_before_a_part_are_no_window_of_their_own() {
        let timed = Bed::new().served(40 * WINDOW_REQUESTS, Some(20 * WINDOW_REQUESTS + 3));
        let least = timed.windows.iter().map(|window| window.requests).min().unwrap();
        assert_eq!((timed.windows.len(), least), (40, WINDOW_REQUESTS - 3), "the last one is short alone");
    }

    #[test]
    fn a_part_that_begins_in_the_first_window_is_the_whole_run() {
        assert!(Bed::new().served(10 * WINDOW_REQUESTS, Some(WINDOW_REQUESTS / 2)).parts.is_none());
    }

    #[test]
    fn phases_of_a_run_never_share_a_window() {
        for first in [1, WINDOW_REQUESTS, 5 * WINDOW_REQUESTS + 7, 77_777, 250_003] {
            let (mut bed, reads) = (Bed::new(), 300 * WINDOW_REQUESTS);
            for number in 0..reads {
                // Four reads are under way, of both phases at their border.
                bed.clock.arrive_below(4, &GO, &mut |completion| bed.meter.record(completion));
                if number == first {
                    bed.meter.begin_phase(bed.clock.now_ns(), number, number);
                }
                bed.read_as(Some(1), number);
                if bed.meter.window_is_full() {
                    bed.meter.next_window(bed.clock.now_ns(), number + 1);
                }
            }
            let timed = bed.finish(reads);
            let of = |phase: u32| timed.windows.iter().filter(move |window| window.phase == phase);
            let counted = [0, 1].map(|phase| of(phase).map(|window| window.requests).sum::<u64>());
            assert_eq!(counted, [first, reads - first], "{first}");
            assert_eq!(of(1).next().map(|window| window.from), Some(first), "a window begins with the phase");
            assert!(timed.windows.len() <= WINDOWS_MAX + 1, "{}", timed.windows.len());
        }
    }

    #[test]
    fn more_phases_than_windows_have_a_window_each() {
        let (mut bed, phases) = (Bed::new(), 3 * WINDOWS_MAX as u64);
        for number in 0..phases * WINDOW_REQUESTS {
            bed.clock.arrive_below(1, &GO, &mut |completion| bed.meter.record(completion));
            if number > 0 && number.is_multiple_of(WINDOW_REQUESTS) {
                bed.meter.begin_phase(bed.clock.now_ns(), number, number);
            }
            bed.read_as(Some(1), number);
            if bed.meter.window_is_full() {
                bed.meter.next_window(bed.clock.now_ns(), number + 1);
            }
        }
        let timed = bed.finish(phases * WINDOW_REQUESTS);
        let found: Vec<(u32, u64)> = timed.windows.iter().map(|window| (window.phase, window.requests)).collect();
        let wanted: Vec<(u32, u64)> = (0..phases as u32).map(|phase| (phase, WINDOW_REQUESTS)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn one_window_takes_any_number_of_requests() {
        let bed = Bed::new();
        let timed = Bed { meter: bed.meter.with_one_window(), ..bed }.served(3 * WINDOW_REQUESTS, None);
        assert_eq!(timed.windows.iter().map(|window| window.requests).collect::<Vec<_>>(), [3 * WINDOW_REQUESTS]);
    }

    #[test]
    fn requests_of_the_past_come_now_and_those_beyond_the_clock_end_it() {
        let mut bed = Bed::new();
        bed.arrive_at(1_000);
        bed.arrive_at(10);
        assert_eq!(bed.clock.now_ns(), 1_000);
        assert!(bed.read(Some(1)));
        bed.arrive_at(CLOCK_MAX_NS + 1);
        assert!(bed.clock.is_over() && !bed.read(Some(1)));
        let timed = bed.finish(0);
        assert_eq!((timed.latencies.reads.count(), timed.latencies.reads.sum_ns()), (1, u128::from(READ_NS)));
    }

    #[test]
    fn a_read_that_found_nothing_is_no_latency() {
        let mut bed = Bed::new();
        assert!(!bed.read(None));
        let timed = bed.finish(0);
        assert_eq!((timed.operations, timed.windows.len(), timed.latencies.reads.count()), (0, 0, 0));
    }
}
