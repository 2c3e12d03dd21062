//! The clock of a scenario: scheduler, arrivals, and timed windows of an untimed life.

use toml::{Table, Value};
use wane_units::Bytes;
use wane_workload::Arrival;
use wane_workload::trace::Format;

use super::error::Refusal;
use super::keys::{ARRIVALS, EVENT_KEYS, PRIORITY_KEYS};
use super::named;
use super::values::{choice, count, duration, nanos, number, or_none, size, span, stretch};
use super::workload::{Paths, Space, Workload};

/// The drive's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// Who places operations in time.
    pub scheduler: Scheduler,
    /// The calendar of untimed aging; `None`: no time passes.
    pub drive_writes_per_day: Option<f64>,
    /// Factor of the times between a trace's arrivals.
    pub scale: f64,
    /// Which operation a die takes next.
    pub order: Order,
    /// Host reads go before host writes.
    pub read_priority: bool,
    /// What a waiting host read interrupts.
    pub suspend: Suspend,
    /// How garbage collection makes way.
    pub gc: Collection,
    /// Operations on several planes of a die run together.
    pub multi_plane: bool,
    /// DRAM for writes; `None`: none.
    pub write_cache: Option<Bytes>,
    /// Nanoseconds until a cached write is acknowledged.
    pub write_cache_latency: u64,
    /// Operations prepared at a time; `None`: no limit.
    pub processors: Option<u32>,
    /// Nanoseconds of preparing an operation.
    pub think_time: u64,
}

/// Who places operations in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// No one: the untimed run.
    None,
    /// Busy-until times.
    Timeline,
    /// Events.
    Event,
}

/// Which operation a die takes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first to come.
    FirstCome,
    /// By class.
    Priority,
}

/// What a waiting host read interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspend {
    /// Nothing.
    None,
    /// Programs.
    Program,
    /// Erases.
    Erase,
    /// Programs and erases.
    Both,
}

/// How garbage collection makes way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collection {
    /// The host waits for a victim.
    Foreground,
    /// A victim starts where no one waits.
    Background,
    /// Others come in between.
    Preemptible,
}

/// Timed windows of an untimed life.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// When a window opens, in drive writes since preconditioning; ascending.
    pub at_drive_writes: Vec<f64>,
    /// What is served.
    pub workload: Workload,
    /// When its requests come.
    pub arrival: Arrival,
    /// Requests of a window.
    pub requests: u64,
    /// Days without power before a window.
    pub retention_days: f64,
}

// The names of each choice, in the order of its enum.
const SCHEDULERS: [&str; 3] = ["none", "timeline", "event"];
const ORDERS: [&str; 2] = ["first-come", "priority"];
const SUSPENDS: [&str; 4] = ["none", "program", "erase", "both"];
const COLLECTIONS: [&str; 3] = ["foreground", "background", "preemptible"];

/// Windows of a probe that does not say.
const PROBE_REQUESTS: u64 = 100_000;

impl Default for Time {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::None,
            drive_writes_per_day: None,
            scale: 1.0,
            order: Order::FirstCome,
            read_priority: false,
            suspend: Suspend::None,
            gc: Collection::Foreground,
            multi_plane: false,
            write_cache: None,
            write_cache_latency: 10_000,
            processors: None,
            think_time: 1_000,
        }
    }
}

impl Time {
    /// Reads `[time]`, whose values are checked one by one.
    pub(super) fn of(table: &Table) -> Self {
        let default = Self::default();
        let flag = |key: &str| table.get(key).and_then(Value::as_bool).unwrap_or(false);
        let time = |key: &str, default: u64| table.get(key).and_then(nanos).unwrap_or(default);
        Self {
            scheduler: [Scheduler::None, Scheduler::Timeline, Scheduler::Event]
                [choice(table, "scheduler", &SCHEDULERS)],
            drive_writes_per_day: table.get("drive-writes-per-day").and_then(number),
            scale: table.get("scale").and_then(number).unwrap_or(default.scale),
            order: [Order::FirstCome, Order::Priority][choice(table, "order", &ORDERS)],
            read_priority: flag("read-priority"),
            suspend: [Suspend::None, Suspend::Program, Suspend::Erase, Suspend::Both]
                [choice(table, "suspend", &SUSPENDS)],
            gc: [Collection::Foreground, Collection::Background, Collection::Preemptible]
                [choice(table, "gc", &COLLECTIONS)],
            multi_plane: flag("multi-plane"),
            write_cache: table.get("write-cache").and_then(Value::as_str).and_then(|text| text.parse().ok()),
            write_cache_latency: time("write-cache-latency", default.write_cache_latency),
            processors: count(table, "processors"),
            think_time: time("think-time", default.think_time),
        }
    }

    /// Whether a scheduler places operations in time.
    pub fn is_timed(&self) -> bool {
        self.scheduler != Scheduler::None
    }

    /// Refuses keys that contradict each other; `set` has those of the scenario without its preset.
    pub(super) fn check(&self, set: &Table) -> Result<(), Refusal> {
        let differs = |key: &str| self.table().get(key) != Self::default().table().get(key);
        let at = |key: &str| format!("time.{key}");
        let stray = EVENT_KEYS.into_iter().find(|key| differs(key));
        match (self.scheduler, stray) {
            (Scheduler::Timeline, Some(key)) => {
                return Err((
                    at(key),
                    "needs scheduler = \"event\"; the timeline serves first come, first served".to_owned(),
                ));
            }
            (Scheduler::None, _) if !set.contains_key("scheduler") => {
                let mut own = EVENT_KEYS.into_iter().chain(["scale"]);
                if let Some(key) = own.find(|key| set.contains_key(*key) && differs(key)) {
                    return Err((
                        at(key),
                        "has no effect on an untimed run; give time.scheduler = \"event\"".to_owned(),
                    ));
                }
            }
            _ => {}
        }
        if self.order == Order::FirstCome
            && let Some(key) = PRIORITY_KEYS.into_iter().find(|key| differs(key))
        {
            return Err((at(key), "contradicts order = \"first-come\"; give order = \"priority\"".to_owned()));
        }
        Ok(())
    }

    /// `[time]` with every key.
    pub(super) fn table(&self) -> Table {
        named([
            ("scheduler", Value::from(SCHEDULERS[self.scheduler as usize])),
            ("drive-writes-per-day", or_none(self.drive_writes_per_day, Value::from)),
            ("scale", Value::from(self.scale)),
            ("order", Value::from(ORDERS[self.order as usize])),
            ("read-priority", Value::from(self.read_priority)),
            ("suspend", Value::from(SUSPENDS[self.suspend as usize])),
            ("gc", Value::from(COLLECTIONS[self.gc as usize])),
            ("multi-plane", Value::from(self.multi_plane)),
            ("write-cache", or_none(self.write_cache, |bytes| size(bytes.0))),
            ("write-cache-latency", duration(self.write_cache_latency)),
            ("processors", or_none(self.processors, |count| Value::from(i64::from(count)))),
            ("think-time", duration(self.think_time)),
        ])
    }
}

/// The arrival of a workload's table.
///
/// # Errors
/// It wants times that the workload does not have; the key is relative to the workload.
pub(super) fn arrival(table: &Table, workload: &Workload) -> Result<Arrival, Refusal> {
    let Some(value) = table.get("arrival") else { return Ok(Arrival::default()) };
    let [depth, poisson, normal] = ARRIVALS.map(|key| value.get(key));
    if let Some(depth) = depth.and_then(Value::as_integer) {
        return Ok(Arrival::QueueDepth(depth as u32));
    }
    if let Some(mean) = poisson.and_then(nanos) {
        return Ok(Arrival::Poisson(mean));
    }
    if let Some([mean, sd]) = normal.and_then(Value::as_array).map(Vec::as_slice)
        && let Some((mean_ns, sd_ns)) = nanos(mean).zip(nanos(sd))
    {
        return Ok(Arrival::Normal { mean_ns, sd_ns });
    }
    match untimed(workload) {
        None => Ok(Arrival::Trace),
        Some(what) => {
            let message = format!("\"trace\" needs the times of a trace, but {what}");
            Err(("arrival".to_owned(), message))
        }
    }
}

/// Arrivals as they are written.
pub(super) fn arrival_value(arrival: Arrival) -> Value {
    let (key, value) = match arrival {
        Arrival::Trace => return Value::from("trace"),
        Arrival::QueueDepth(depth) => ("queue-depth", Value::from(i64::from(depth))),
        Arrival::Poisson(mean) => ("poisson", duration(mean)),
        Arrival::Normal { mean_ns, sd_ns } => ("normal", Value::Array(vec![duration(mean_ns), duration(sd_ns)])),
    };
    Value::Table(named([(key, value)]))
}

/// Why a workload has no times of its own; `None` where it may have.
fn untimed(workload: &Workload) -> Option<String> {
    match workload {
        Workload::Pattern(_) => Some("the workload is a pattern".to_owned()),
        Workload::Standin(_) => Some("the workload is a stand-in".to_owned()),
        Workload::Mix(_) => Some("the workload is a mixture".to_owned()),
        Workload::Trace(trace) => {
            let format = trace.format.as_deref().and_then(|format| format.parse::<Format>().ok());
            let timeless = format.is_some_and(Format::is_timeless);
            timeless.then(|| format!("format = \"{}\" has none", trace.format.as_deref().unwrap_or_default()))
        }
    }
}

impl Probe {
    /// Reads `[probe]` but for its workload.
    pub(super) fn of(table: &Table, workload: Workload, arrival: Arrival) -> Result<Self, Refusal> {
        let ages = table.get("at-drive-writes").and_then(Value::as_array);
        let Some(ages) = ages else {
            let message = "is missing; say when to look, such as at-drive-writes = [0, 10, 100]";
            return Err(("probe.at-drive-writes".to_owned(), message.to_owned()));
        };
        let until = table.get("until").and_then(|until| until.get("requests")).and_then(Value::as_integer);
        Ok(Self {
            at_drive_writes: ages.iter().filter_map(number).collect(),
            workload,
            arrival,
            requests: until.and_then(|requests| u64::try_from(requests).ok()).unwrap_or(PROBE_REQUESTS),
            retention_days: table.get("retention").and_then(span).unwrap_or(0.0),
        })
    }

    pub(super) fn table(&self, space: Space, paths: Paths) -> Table {
        let mut workload = self.workload.to_table(space, paths);
        workload.insert("arrival".to_owned(), arrival_value(self.arrival));
        let retention = Some(self.retention_days).filter(|days| *days > 0.0);
        named([
            ("at-drive-writes", Value::Array(self.at_drive_writes.iter().map(|age| Value::from(*age)).collect())),
            ("workload", Value::Table(workload)),
            ("until", Value::Table(named([("requests", Value::from(self.requests as i64))]))),
            ("retention", or_none(retention, stretch)),
        ])
    }
}
