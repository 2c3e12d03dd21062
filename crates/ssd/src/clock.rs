//! The clock of a timed drive: requests arrive, their operations are scheduled, completions are measured in windows.
//!
//! What comes out are raw latencies and counts. Who makes figures of them, and where requests come from, is left to others;
//! so is what is worth knowing of the drive at the ends of a window (`M`, a mark).

use std::sync::atomic::{AtomicBool, Ordering};

use wane_nand::{Flash, Task};
use wane_units::Geometry;

use crate::{
    CLOCK_MAX_NS, Command, CommandKind, Completion, ConfigError, EventScheduler, Latencies, Scheduler, SchedulerConfig,
    Timeline, Timing, operation_ns_bound,
};

/// Days of a nanosecond.
const NS_DAYS: f64 = 1.0 / 86_400e9;

/// Windows of a timed run: when they are full, neighbors become one and later ones last twice as long.
const WINDOWS_MAX: usize = 64;

/// Requests of the first windows.
const WINDOW_REQUESTS: u64 = 1024;

/// What a clock is made of.
#[derive(Clone, Debug)]
pub struct ClockSpec {
    /// By events, else by the timeline.
    pub by_events: bool,
    /// Times of the flash.
    pub timing: Timing,
    /// Who goes first.
    pub config: SchedulerConfig,
    /// Most re-reads of a page.
    pub rereads_max: u32,
}

impl ClockSpec {
    /// A scheduler at time 0.
    ///
    /// # Errors
    /// Times or schedule contradict each other.
    pub fn scheduler(&self, geometry: &Geometry) -> Result<Scheduler, ConfigError> {
        let (timing, config) = (self.timing.clone(), self.config);
        Ok(if self.by_events {
            Scheduler::Event(Box::new(EventScheduler::new(geometry, timing, config)?))
        } else {
            Scheduler::Timeline(Box::new(Timeline::new(geometry, timing, config)?))
        })
    }

    /// A bound of what one flash operation adds to the time until everything is done.
    fn operation_ns(&self, geometry: &Geometry) -> u64 {
        // A page that has more bytes than a number holds takes no less time for it.
        let page_bytes = u32::try_from(geometry.page_size().0).unwrap_or(u32::MAX);
        operation_ns_bound(&self.timing, &self.config, page_bytes, self.rereads_max)
    }
}

/// What was measured from one mark to the next.
#[derive(Clone, Debug)]
pub struct MeasuredWindow<M> {
    /// The mark at its start.
    pub from: M,
    /// The mark at its end.
    pub until: M,
    /// When it began, in nanoseconds.
    pub from_ns: u64,
    /// When its last command was done, in nanoseconds.
    pub until_ns: u64,
    /// Commands that were done in it, trims and flushes included.
    pub requests: u64,
    /// What they took.
    pub latencies: Latencies,
}

/// What a clock measured.
#[derive(Clone, Debug)]
pub struct Timed<M> {
    /// Over all windows.
    pub latencies: Latencies,
    /// Windows in which a command was done, in order.
    pub windows: Vec<MeasuredWindow<M>>,
    /// Flash operations scheduled.
    pub operations: u64,
    /// Simulated nanoseconds until the last command was done.
    pub elapsed_ns: u64,
    /// Reads served from the controller's buffers.
    pub buffered_reads: u64,
}

/// Drives a scheduler with requests and keeps what they took.
pub struct Clock<M> {
    scheduler: Scheduler,
    /// A bound of what one flash operation adds to the time until everything is done.
    operation_ns: u64,
    /// Whether what came next would not be done by the end of the clock.
    is_over: bool,
    /// When the last request was submitted.
    at: u64,
    token: u64,
    /// Sum of all latencies, exact, for Little's law.
    latency_sum_ns: u128,
    windows: Vec<MeasuredWindow<M>>,
    window_requests: u64,
}

impl<M: Clone> Clock<M> {
    /// A clock at time 0, whose first window starts at `mark`.
    ///
    /// # Errors
    /// Times or schedule contradict each other.
    pub fn new(spec: &ClockSpec, geometry: &Geometry, mark: M) -> Result<Self, ConfigError> {
        let mut clock = Self {
            scheduler: spec.scheduler(geometry)?,
            operation_ns: spec.operation_ns(geometry),
            is_over: false,
            at: 0,
            token: 0,
            latency_sum_ns: 0,
            windows: Vec::new(),
            window_requests: WINDOW_REQUESTS,
        };
        clock.begin_window(mark);
        Ok(clock)
    }

    /// The same, for a clock that measures one window.
    pub fn with_one_window(self) -> Self {
        Self { window_requests: u64::MAX, ..self }
    }

    /// Whether the simulated time is used up. From then on requests are neither timed nor measured.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// When the last request came, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.at
    }

    /// The same in days.
    pub fn now_days(&self) -> f64 {
        self.at as f64 * NS_DAYS
    }

    /// Lets time run until `at`, in nanoseconds, when a request comes; one that lies in the past comes now. Returns early
    /// once `stop` is true.
    pub fn arrive_at(&mut self, at: u64, stop: &AtomicBool) {
        if at > CLOCK_MAX_NS {
            self.is_over = true;
            return;
        }
        let at = at.max(self.at);
        while self.complete(at, stop).is_some() {}
        if !stop.load(Ordering::Relaxed) {
            self.at = at;
        }
    }

    /// Lets time run until fewer than `depth` requests are outstanding, when the next one comes. Returns early once `stop` is
    /// true.
    pub fn arrive_below(&mut self, depth: u64, stop: &AtomicBool) {
        while self.scheduler.outstanding() >= depth
            && let Some(at) = self.complete(u64::MAX, stop)
        {
            self.at = at.max(self.at);
        }
    }

    /// Records the next completion up to `until` and returns its time; none if there is none, or once `stop` is true.
    #[inline]
    fn complete(&mut self, until: u64, stop: &AtomicBool) -> Option<u64> {
        while self.scheduler.work(until) {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
        }
        let completion = self.scheduler.next_completion(until)?;
        record(&mut self.latency_sum_ns, &mut self.windows, completion);
        Some(completion.at)
    }

    /// Submits the operations that the medium has listed for a request of so many bytes, or ends the clock where they would
    /// not be done in time. A read that found nothing took no time and is no latency.
    #[inline]
    pub fn submit(&mut self, media: &mut Flash, kind: CommandKind, bytes: u64) {
        if kind == CommandKind::Read && media.ops().is_empty() {
            return;
        }
        self.is_over |= !self.scheduler.fits(self.at, media.ops().len(), self.operation_ns);
        if !self.is_over {
            self.token += 1;
            self.scheduler.submit(self.at, Command { token: self.token, kind, bytes }, media.ops());
        }
        media.clear_ops();
    }

    /// Submits what the drive did on its own account.
    pub fn submit_background(&mut self, media: &mut Flash) {
        // A trim without host operations is done at once and is no latency.
        if !media.ops().is_empty() {
            self.submit(media, CommandKind::Trim, 0);
        }
    }

    /// Whether the scrubber's operations so far are through.
    pub fn scrub_is_through(&self) -> bool {
        self.scheduler.outstanding_of(Task::Scrub) == 0
    }

    fn begin_window(&mut self, mark: M) {
        self.windows.push(MeasuredWindow {
            from: mark.clone(),
            until: mark,
            from_ns: self.at,
            until_ns: self.at,
            requests: 0,
            latencies: Latencies::new(),
        });
    }

    /// Whether the present window has its requests.
    pub fn window_is_full(&self) -> bool {
        self.windows.last().is_some_and(|window| window.requests >= self.window_requests)
    }

    /// Ends the present window and begins another.
    pub fn next_window(&mut self, mark: M) {
        self.end_window(mark.clone());
        if self.windows.len() == WINDOWS_MAX {
            let mut pairs = std::mem::take(&mut self.windows).into_iter();
            while let Some(mut first) = pairs.next() {
                if let Some(second) = pairs.next() {
                    first.latencies.merge(&second.latencies);
                    first.requests += second.requests;
                    first.until_ns = second.until_ns;
                    first.until = second.until;
                }
                self.windows.push(first);
            }
            self.window_requests *= 2;
        }
        self.begin_window(mark);
    }

    fn end_window(&mut self, mark: M) {
        self.windows.last_mut().expect("a clock has a window").until = mark;
    }

    /// Lets everything end and says what it took. Once `stop` is true, what has not ended is left out.
    pub fn finish(mut self, mark: M, stop: &AtomicBool) -> Timed<M> {
        while !stop.load(Ordering::Relaxed) && self.complete(u64::MAX, stop).is_some() {}
        if self.scheduler.outstanding() == 0 {
            let outstanding_time_ns = self.scheduler.outstanding_time_ns();
            assert_eq!(
                self.latency_sum_ns, outstanding_time_ns,
                "Little's law: every command was seen from start to end"
            );
        }
        self.end_window(mark);
        let mut latencies = Latencies::new();
        self.windows.iter().for_each(|window| latencies.merge(&window.latencies));
        let elapsed_ns = self.windows.iter().map(|window| window.until_ns).max().unwrap_or(0);
        self.windows.retain(|window| window.requests > 0);
        Timed {
            latencies,
            windows: self.windows,
            operations: self.scheduler.operations(),
            elapsed_ns,
            buffered_reads: self.scheduler.buffered_reads(),
        }
    }
}

/// Adds a completion to the present window.
#[inline]
fn record<M>(latency_sum_ns: &mut u128, windows: &mut [MeasuredWindow<M>], completion: &Completion) {
    *latency_sum_ns += u128::from(completion.latency_ns());
    let window = windows.last_mut().expect("a clock has a window");
    window.latencies.record(completion);
    window.requests += 1;
    window.until_ns = completion.at;
}

#[cfg(test)]
mod tests {
    use wane_nand::{Media, PageRead, Purpose};
    use wane_units::{BlockId, Bytes};

    use super::*;

    const READ_NS: u64 = 50_000;
    static GO: AtomicBool = AtomicBool::new(false);

    fn clock() -> (Clock<u64>, Flash) {
        let geometry = Geometry::new(1, 1, 1, 2, 4, Bytes(4096)).unwrap();
        let timing = Timing {
            read_ns: vec![READ_NS],
            program_ns: vec![600_000],
            erase_ns: 3_000_000,
            channel_bytes_per_second: None,
        };
        let spec = ClockSpec { by_events: true, timing, config: SchedulerConfig::default(), rereads_max: 0 };
        let mut flash = Flash::new(geometry);
        flash.program(BlockId(0), 0, 4, Task::Host, &[]);
        flash.record(true);
        (Clock::new(&spec, &geometry, 0).unwrap(), flash)
    }

    fn read(flash: &mut Flash) {
        let (task, purpose) = (Task::Host, Purpose::Serve);
        flash.read(PageRead { block: BlockId(0), page: 1, bytes: 4096, task, purpose, rereads_max: None });
    }

    /// Serves reads one at a time, marks each window's end with the number of reads so far, and finishes.
    fn served(mut clock: Clock<u64>, mut flash: Flash, reads: u64) -> Timed<u64> {
        for number in 0..reads {
            clock.arrive_below(1, &GO);
            read(&mut flash);
            clock.submit(&mut flash, CommandKind::Read, 4096);
            if clock.window_is_full() {
                clock.next_window(number + 1);
            }
        }
        clock.finish(reads, &GO)
    }

    #[test]
    fn full_windows_are_joined_in_pairs_and_nothing_is_lost() {
        let (clock, flash) = clock();
        let reads = 100 * WINDOW_REQUESTS;
        let timed = served(clock, flash, reads);
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
    fn one_window_takes_any_number_of_requests() {
        let (clock, flash) = clock();
        let timed = served(clock.with_one_window(), flash, 3 * WINDOW_REQUESTS);
        assert_eq!(timed.windows.iter().map(|window| window.requests).collect::<Vec<_>>(), [3 * WINDOW_REQUESTS]);
    }

    #[test]
    fn requests_of_the_past_come_now_and_those_beyond_the_clock_end_it() {
        let (mut clock, mut flash) = clock();
        clock.arrive_at(1_000, &GO);
        clock.arrive_at(10, &GO);
        assert_eq!(clock.now_ns(), 1_000);
        read(&mut flash);
        clock.submit(&mut flash, CommandKind::Read, 4096);
        clock.arrive_at(CLOCK_MAX_NS + 1, &GO);
        assert!(clock.is_over());
        read(&mut flash);
        clock.submit(&mut flash, CommandKind::Read, 4096);
        assert!(flash.ops().is_empty(), "what is not timed is thrown away");
        let timed = clock.finish(0, &GO);
        assert_eq!((timed.latencies.reads.count(), timed.latencies.reads.sum_ns()), (1, u128::from(READ_NS)));
    }

    #[test]
    fn a_read_that_found_nothing_is_no_latency() {
        let (mut clock, mut flash) = clock();
        clock.submit(&mut flash, CommandKind::Read, 4096);
        clock.submit_background(&mut flash);
        let timed = clock.finish(0, &GO);
        assert_eq!((timed.operations, timed.windows.len(), timed.latencies.reads.count()), (0, 0, 0));
    }
}
