//! The keys of time: the scheduler, and windows of time in an untimed life.

use wane_units::Nanos;

use super::{ANY, Key, Kind, Section, key};

const SECOND: u64 = Nanos::SECOND.0;

/// How a request comes to its time.
pub(super) const ARRIVAL: Key = key(
    "arrival",
    Kind::Arrival,
    "{ queue-depth = 1 }",
    "When requests come, in timed runs: as many at once as `queue-depth` says; `{ poisson = \"0.5 ms\" }` or `{ normal = [\"100 ms\", \"10 ms\"] }` apart, by mean and standard deviation; or `\"trace\"`, by the times of the workload's trace.",
);

/// The drive's clock.
pub(super) const TIME: Section = Section {
    name: "time",
    doc: "The drive's clock. Without a scheduler the run is untimed: state changes alike, and nothing takes time. Keys that only \
          the event scheduler heeds are refused without it, unless `scheduler = \"none\"` is written down; a layer that sets \
          `scheduler = \"timeline\"` displaces them.",
    keys: &[
        key(
            "scheduler",
            Kind::Choice(&["none", "timeline", "event"]),
            "none",
            "`event` places each flash operation on its die and channel by the keys below; `timeline` only adds up how long each is busy, first come, first served; `none` is the untimed run.",
        ),
        key(
            "drive-writes-per-day",
            Kind::AboveOrNone(0.0, 1e6),
            "none",
            "The calendar of untimed aging: drive writes in a day. `\"none\"`: no time passes.",
        ),
        key("scale", Kind::Above(0.0, 1e9), "1", "Times between a trace's arrivals are multiplied by this."),
        key(
            "order",
            Kind::Choice(&["first-come", "priority"]),
            "first-come",
            "Which operation a die takes next: the first to come, or host before GC before scrub before wear leveling.",
        ),
        key("read-priority", Kind::Flag, "false", "Host reads go before host writes. With `order = \"priority\"`."),
        key(
            "suspend",
            Kind::Choice(&["none", "program", "erase", "both"]),
            "none",
            "What a waiting host read interrupts. With `order = \"priority\"`.",
        ),
        key(
            "gc",
            Kind::Choice(&["foreground", "background", "preemptible"]),
            "foreground",
            "`foreground`: the host waits for a victim to be done; `background`: a victim starts where no one waits, and is then finished; `preemptible`: others come in between.",
        ),
        key("multi-plane", Kind::Flag, "false", "Operations of one kind on several planes of a die run together."),
        key(
            "write-cache",
            Kind::BytesOrNone(512, 1 << 40),
            "none",
            "DRAM in which a write is acknowledged before it is programmed.",
        ),
        key("write-cache-latency", Kind::Duration(0, SECOND), "10 us", "Until a write in the cache is acknowledged."),
        key(
            "processors",
            Kind::CountOrNone(1, 1 << 16),
            "none",
            "Operations that the controller prepares at the same time; 004 has 8. `\"none\"`: no limit and no think time.",
        ),
        key("think-time", Kind::Duration(0, SECOND), "1 us", "Preparing an operation. With `processors`."),
    ],
};

/// Windows of time in an untimed life.
pub(super) const PROBE: Section = Section {
    name: "probe",
    doc: "Timed windows in an untimed life: the run ages without the clock, and at each age a copy of the drive serves a workload \
          with it. A probe changes no other number.",
    keys: &[
        key(
            "at-drive-writes",
            Kind::Ages,
            "required",
            "When a window opens, in drive writes since preconditioning; ascending, such as `[0, 10, 100]`.",
        ),
        key(
            "workload",
            Kind::Workload,
            "that of the last phase",
            "What is served, as `[workload]`. A table with `arrival` alone keeps the last phase's requests.",
        ),
        key(
            "retention",
            Kind::SpanOrNone,
            "none",
            "How long the drive lies without power before each window, such as \"90 days\".",
        ),
    ],
};

/// When a window closes.
pub(super) const PROBE_UNTIL: Section = Section {
    name: "probe.until",
    doc: "When a window closes.",
    keys: &[key("requests", Kind::Count(1, ANY), "100000", "Requests served.")],
};

/// Keys that only the event scheduler heeds.
pub(crate) const EVENT_KEYS: [&str; 7] =
    ["order", "read-priority", "suspend", "gc", "multi-plane", "write-cache", "processors"];

/// Keys that need priorities.
pub(crate) const PRIORITY_KEYS: [&str; 2] = ["read-priority", "suspend"];
