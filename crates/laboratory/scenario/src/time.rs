//! The clock of a scenario: scheduler, arrivals, and timed windows of an untimed life.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use wane_ssd::{Collection, Order, Suspend};
use wane_units::{Bytes, DAYS_PER_YEAR, Nanos, Rate, Ratio};
use wane_workload::Arrival;
use wane_workload::trace::Format;

use super::error::Refusal;
use super::schema::{in_field_order, keys_that_need};
use super::workload::{Paths, Space, Workload, WorkloadSettings};
use super::written::{OrNone, Span, or_none, span_or_none, table_of, value_of};

/// Largest queue depth.
const QUEUE_DEPTH_MAX: u32 = 1 << 16;
/// Longest time between two requests, on average.
const GAP_MAX: Nanos = Nanos::DAY;
/// Most windows of a probe.
const AGES_MAX: usize = 10_000;

/// The drive's clock. Without a scheduler the run is untimed: state changes in the same way, but nothing takes time. Keys that only the event
/// scheduler uses are refused without it, unless `scheduler = "none"` is written. A layer that sets `scheduler = "timeline"`
/// displaces them.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct Time {
    /// `event` places each flash operation on its die and channel by the keys below. `timeline` gives the same result if these keys have
    /// their defaults, and is faster. `none` is the untimed run.
    pub scheduler: Scheduler,
    /// The calendar of untimed aging: drive writes per day; or `"trace"`, as many as the workload's trace makes in a day of its own
    /// times. `"none"`: no time passes. Days and years in `until` and `probe` need a calendar. If they are used, this key is not written and the
    /// workload is a trace with times, it is `"trace"`.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<WritesPerDay>", extend("exclusiveMinimum" = 0, "maximum" = 1e6))]
    pub drive_writes_per_day: Option<WritesPerDay>,
    /// Factor for the times between a trace's arrivals.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1e9))]
    pub scale: f64,
    /// Which operation a die takes next: the first to arrive, or by priority: host, then garbage collection, scrubbing and wear leveling.
    #[schemars(extend("x-needs" = [EVENT]))]
    pub order: Order,
    /// Whether host reads go before host writes. Needs `order = "priority"`.
    #[schemars(extend("x-needs" = [EVENT, PRIORITY]))]
    pub read_priority: bool,
    /// Which operations a waiting host read interrupts. Needs `order = "priority"`.
    #[schemars(extend("x-needs" = [EVENT, PRIORITY]))]
    pub suspend: Suspend,
    /// How garbage collection makes way. `foreground`: the host waits until a victim is done. `background`: a victim starts when nothing
    /// waits, and is then finished. `rotating`: like `background`, and only one die collects at a time in each group of dies of
    /// `ftl.redundancy = "rain"`. `preemptible`: other operations can come in between. `free`: it takes no time, with either scheduler.
    #[schemars(extend("x-needs" = [EVENT]))]
    pub gc: Collection,
    /// Whether operations of one kind on several planes of a die run together. They can with superblocks: blocks are filled one after the other.
    #[schemars(extend("x-needs" = [EVENT], "x-default" = "true with the event scheduler and superblocks on several planes; else false"))]
    pub multi_plane: bool,
    /// DRAM in which a write is acknowledged before it is programmed.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Bytes>")]
    #[schemars(extend("x-least" = Bytes(512), "x-most" = Bytes(1 << 40), "x-needs" = [EVENT]))]
    pub write_cache: Option<Bytes>,
    /// Time until a write in the cache is acknowledged.
    #[schemars(extend("x-least" = Nanos(0), "x-most" = Nanos::SECOND))]
    pub write_cache_latency: Nanos,
    /// Operations that the controller prepares at the same time; 004 has 8. `"none"`: no limit and no think time.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<u32>", extend("minimum" = 1, "maximum" = 1 << 16, "x-needs" = [EVENT]))]
    pub processors: Option<u32>,
    /// Time to prepare an operation. Has an effect only with `processors`.
    #[schemars(extend("x-least" = Nanos(0), "x-most" = Nanos::SECOND))]
    pub think_time: Nanos,
    /// How fast the link between host and drive moves data. SATA at 6 Gb/s moves "550 MB/s", at 3 Gb/s half of it. Commands cross the link one
    /// after the other, each when the drive is done with it. `"none"`: data take no time.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Rate>", extend("x-least" = Rate(1_000), "x-most" = Rate(1_000_000_000_000)))]
    #[schemars(extend("x-needs" = [EVENT], "x-unwritten" = "default"))]
    pub link_rate: Option<Rate>,
    /// Time for which each read, write and flush occupies the link in addition to its data: protocol, driver, and the controller's work on the
    /// command. The controller works on one command at a time.
    #[schemars(extend("x-least" = Nanos(0), "x-most" = Nanos::SECOND, "x-needs" = [EVENT], "x-unwritten" = "default"))]
    pub command_time: Nanos,
}

/// The `x-needs` of keys that only the event scheduler uses.
const EVENT: &str = "scheduler = \"event\"";
/// The `x-needs` of keys that have an effect only with priorities.
const PRIORITY: &str = "order = \"priority\"";

/// Keys of `[time]` that only the event scheduler uses.
pub(super) fn event_keys() -> Vec<&'static str> {
    keys_that_need("time", EVENT)
}

/// Keys of `[time]` that need priorities.
pub(super) fn priority_keys() -> Vec<&'static str> {
    keys_that_need("time", PRIORITY)
}

/// Drive writes per day.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(untagged)]
#[schemars(inline)]
pub enum WritesPerDay {
    /// A number.
    Rate(f64),
    /// A word that names whose pace it is.
    Word(PaceWord),
}

impl WritesPerDay {
    /// The drive writes that the workload's trace makes in a day of its own times.
    pub const TRACE: Self = Self::Word(PaceWord::Trace);
}

/// Whose pace is the calendar's.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum PaceWord {
    /// That of the workload's trace.
    Trace,
}

/// What places operations in time.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Nothing: the run is untimed.
    None,
    /// Busy-until times.
    Timeline,
    /// Events.
    Event,
}

/// Ages of a drive, counted since preconditioning; ascending.
#[derive(Clone, Debug, PartialEq)]
pub enum Ages {
    /// In drive writes.
    DriveWrites(Vec<f64>),
    /// In days of the calendar.
    Days(Vec<f64>),
    /// In shares of the rated wear since the drive was new.
    Wear(Vec<f64>),
}

impl Ages {
    /// Number of ages.
    pub fn count(&self) -> usize {
        self.listed().len()
    }

    /// The ages, each in its unit.
    pub fn listed(&self) -> &[f64] {
        let (Self::DriveWrites(ages) | Self::Days(ages) | Self::Wear(ages)) = self;
        ages
    }

    /// All ages as text.
    pub fn in_words(&self) -> String {
        let listed = |ages: &[f64]| ages.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::DriveWrites(ages) => format!("{} drive writes", listed(ages)),
            Self::Days(ages) if ages.iter().all(|days| is_round_in_years(*days)) => {
                format!("{} years", listed(&ages.iter().map(|days| days / DAYS_PER_YEAR).collect::<Vec<_>>()))
            }
            Self::Days(ages) => format!("{} days", listed(ages)),
            Self::Wear(ages) => {
                let percent: Vec<_> = ages.iter().map(|share| 100.0 * share).collect();
                format!("{} % of the rated wear", listed(&percent))
            }
        }
    }

    /// Age `number` as text.
    pub fn told(&self, number: usize) -> Option<String> {
        match self {
            Self::DriveWrites(ages) => ages.get(number).map(|age| format!("{age} drive writes")),
            Self::Days(ages) => ages.get(number).map(|age| days_in_words(*age)),
            Self::Wear(ages) => ages.get(number).map(|share| format!("{} % of the rated wear", 100.0 * share)),
        }
    }
}

/// Whether days are a whole number of quarter years, and so are shown in years.
fn is_round_in_years(days: f64) -> bool {
    (days / DAYS_PER_YEAR * 4.0).fract() == 0.0
}

fn days_in_words(days: f64) -> String {
    let years = days / DAYS_PER_YEAR;
    match is_round_in_years(days) && days > 0.0 {
        true if years == 1.0 => "1 year".to_owned(),
        true => format!("{years} years"),
        // Years that were written as 1.185 are 432.52500000000003 days.
        false => format!("{} days", (days * 1000.0).round() / 1000.0),
    }
}

/// Timed windows of an untimed life.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// The ages at which windows open.
    pub ages: Ages,
    /// Whether a window opens on the drive as it was just before it died.
    pub at_end_of_life: bool,
    /// The workload that a window serves.
    pub workload: Workload,
    /// When its requests arrive.
    pub arrival: Arrival,
    /// Requests of a window.
    pub requests: u64,
    /// Days without power before a window.
    pub retention_days: f64,
}

/// When a window closes.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ProbeUntil {
    /// Requests served.
    #[schemars(range(min = 1, max = i64::MAX))]
    pub(super) requests: u64,
}

impl Default for ProbeUntil {
    fn default() -> Self {
        Self { requests: 100_000 }
    }
}

/// The keys that say when a probe's windows open. A scenario writes one of them.
pub(super) const fn age_keys() -> [&'static str; 4] {
    ["at-drive-writes", "at-days", "at-years", "at-wear"]
}

/// What a schema says of them: one stands, or none beside `at-end-of-life`.
fn ages_required() -> Vec<serde_json::Value> {
    let each = age_keys().map(|key| serde_json::json!({ "required": [key] }));
    let alone = serde_json::json!({ "required": ["at-end-of-life"], "not": { "anyOf": each } });
    each.into_iter().chain([alone]).collect()
}

fn ages_allowed() -> String {
    format!("a list of 1 to {AGES_MAX} ascending numbers from 0 to 1e9")
}

/// Timed windows in an untimed life. The run ages without the clock; at each age a copy of the drive serves a workload with the clock. A
/// probe changes no other result. One of the keys that begin with `at-` is required; `at-end-of-life` may also stand beside another.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>, extend("oneOf" = ages_required()))]
pub(super) struct ProbeSettings {
    /// When windows open, in drive writes since preconditioning and in ascending order, such as `[0, 10, 100]`;
    /// an editor does not see a wrong order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<f64>", length(min = 1, max = AGES_MAX), inner(range(min = 0.0, max = 1e9)))]
    #[schemars(extend("x-order" = "strictly ascending", "x-default" = "one of the keys `at-…` is required"))]
    #[schemars(extend("x-allowed" = ages_allowed()))]
    pub(super) at_drive_writes: Option<Vec<f64>>,
    /// When windows open, in days of the calendar since preconditioning (see `time.drive-writes-per-day`), instead of
    /// `at-drive-writes`; an editor does not see a wrong order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<f64>", length(min = 1, max = AGES_MAX), inner(range(min = 0.0, max = 1e9)))]
    #[schemars(extend("x-order" = "strictly ascending", "x-default" = "none", "x-allowed" = ages_allowed()))]
    pub(super) at_days: Option<Vec<f64>>,
    /// When windows open, in years of 365 days, such as `[1, 3, 5]`; an editor does not see a wrong order.
    #[serde(skip_serializing)]
    #[schemars(with = "Vec<f64>", length(min = 1, max = AGES_MAX), inner(range(min = 0.0, max = 1e6)))]
    #[schemars(extend("x-order" = "strictly ascending", "x-default" = "none"))]
    #[schemars(extend("x-allowed" = format!("a list of 1 to {AGES_MAX} ascending numbers from 0 to 1e6")))]
    pub(super) at_years: Option<Vec<f64>>,
    /// When windows open, in shares of the rated wear that the drive has used since it was new, such as `["30 %", "60 %", "90 %"]`, instead of
    /// `at-drive-writes`. They are those of `wane drive age --until wear=60%`; an editor does not see a wrong order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Ratio>", length(min = 1, max = AGES_MAX))]
    #[schemars(extend("x-order" = "strictly ascending", "x-default" = "none"))]
    #[schemars(extend("x-allowed" = format!("a list of 1 to {AGES_MAX} ascending shares from 0 to 1, or \"0 %\" to \"100 %\"")))]
    pub(super) at_wear: Option<Vec<Ratio>>,
    /// Whether a window also opens on the drive as it was just before it died: when it had lived 99 % of its life since preconditioning, or all
    /// of it but a quarter of a drive write. Of a fast-forwarded life: as it was before the step in which it died. If the drive does not die, the
    /// window is missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) at_end_of_life: bool,
    /// The workload that each window serves, as in `[workload]`. A table with only `arrival` keeps the last phase's workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WorkloadSettings", extend("x-default" = "that of the last phase"))]
    pub(super) workload: Option<Table>,
    /// Time that the drive is without power before each window, such as "90 days".
    #[serde(with = "span_or_none")]
    #[schemars(with = "OrNone<Span>")]
    pub(super) retention: f64,
    pub(super) until: ProbeUntil,
}

/// When requests arrive, in timed runs.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ArrivalSetting {
    /// A fixed number of requests at a time.
    QueueDepth(Depth),
    /// Independently of each other, with this mean gap.
    Poisson(Mean),
    /// With normally distributed gaps of this mean and standard deviation.
    Normal(Gap),
    /// At the times of the workload's trace.
    Trace,
}

/// Number of requests at a time.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
pub(super) struct Depth(#[schemars(range(min = 1, max = QUEUE_DEPTH_MAX))] u32);

/// The mean gap between requests.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[schemars(inline)]
pub(super) struct Mean(#[schemars(extend("x-least" = Nanos(1), "x-most" = GAP_MAX))] Nanos);

/// The mean and the standard deviation of normal gaps.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Gap(Nanos, Nanos);

impl JsonSchema for Gap {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Gap")
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mean = generator.subschema_for::<Mean>();
        let mut deviation = mean.clone();
        deviation.insert("description".to_owned(), "The standard deviation of the gaps.".into());
        deviation.insert("x-least".to_owned(), value_of(&Nanos(0)).as_str().into());
        schemars::json_schema!({
            "type": "array", "prefixItems": [mean, deviation], "minItems": 2, "maxItems": 2,
            "x-allowed": "a mean and a standard deviation, such as [\"100 ms\", \"10 ms\"]"
        })
    }
}

impl From<ArrivalSetting> for Arrival {
    fn from(setting: ArrivalSetting) -> Self {
        match setting {
            ArrivalSetting::QueueDepth(Depth(depth)) => Self::QueueDepth(depth),
            ArrivalSetting::Poisson(Mean(mean)) => Self::Poisson(mean.0),
            ArrivalSetting::Normal(Gap(mean, sd)) => Self::Normal { mean_ns: mean.0, sd_ns: sd.0 },
            ArrivalSetting::Trace => Self::Trace,
        }
    }
}

impl From<Arrival> for ArrivalSetting {
    fn from(arrival: Arrival) -> Self {
        match arrival {
            Arrival::QueueDepth(depth) => Self::QueueDepth(Depth(depth)),
            Arrival::Poisson(mean) => Self::Poisson(Mean(Nanos(mean))),
            Arrival::Normal { mean_ns, sd_ns } => Self::Normal(Gap(Nanos(mean_ns), Nanos(sd_ns))),
            Arrival::Trace => Self::Trace,
        }
    }
}

impl Default for Time {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::None,
            drive_writes_per_day: None,
            scale: 1.0,
            order: Order::default(),
            read_priority: false,
            suspend: Suspend::default(),
            gc: Collection::default(),
            multi_plane: false,
            write_cache: None,
            write_cache_latency: Nanos(10_000),
            processors: None,
            think_time: Nanos(1_000),
            link_rate: None,
            command_time: Nanos(0),
        }
    }
}

impl Time {
    /// Whether a command takes time on the link between host and drive.
    pub fn has_link(&self) -> bool {
        self.link_rate.is_some() || self.command_time > Nanos(0)
    }

    /// Whether a scheduler places operations in time.
    pub fn is_timed(&self) -> bool {
        self.scheduler != Scheduler::None
    }

    /// Refuses keys that contradict each other; `set` holds the scenario's own keys, without those of its preset.
    pub(super) fn check(&self, set: &Table) -> Result<(), Refusal> {
        let (own, default) = (table_of(self), table_of(&Self::default()));
        let differs = |key: &str| own.get(key) != default.get(key);
        let at = |key: &str| format!("time.{key}");
        let is_heeded = |key: &str| key == "gc" && self.gc == Collection::Free;
        let stray = event_keys().into_iter().find(|key| differs(key) && !is_heeded(key));
        match (self.scheduler, stray) {
            (Scheduler::Timeline, Some(key)) => {
                return Err((
                    at(key),
                    "needs scheduler = \"event\"; the timeline serves first come, first served".to_owned(),
                ));
            }
            (Scheduler::None, _) if !set.contains_key("scheduler") => {
                let mut own = event_keys().into_iter().chain(["scale"]);
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
            && let Some(key) = priority_keys().into_iter().find(|key| differs(key))
        {
            return Err((at(key), "contradicts order = \"first-come\"; give order = \"priority\"".to_owned()));
        }
        Ok(())
    }
}

/// Returns the arrival of a workload: its own or the default.
///
/// # Errors
/// The arrival needs times that the workload does not have; the key is relative to the workload.
pub(super) fn arrival(setting: Option<ArrivalSetting>, workload: &Workload) -> Result<Arrival, Refusal> {
    let arrival = setting.map_or_else(Arrival::default, Arrival::from);
    match untimed(workload).filter(|_| arrival == Arrival::Trace) {
        None => Ok(arrival),
        Some(what) => {
            let message = format!("\"trace\" needs the times of a trace, but {what}");
            Err(("arrival".to_owned(), message))
        }
    }
}

/// Arrivals as they are written.
pub(super) fn arrival_value(arrival: Arrival) -> Value {
    value_of(&ArrivalSetting::from(arrival))
}

/// The reason why a workload has no times of its own; `None` if it may have.
pub(super) fn untimed(workload: &Workload) -> Option<String> {
    match workload {
        Workload::Pattern(_) => Some("the workload is a pattern".to_owned()),
        Workload::Standin(_) => Some("the workload is a stand-in".to_owned()),
        Workload::Mix(_) => Some("the workload is a mixture".to_owned()),
        Workload::Lsm(_) => Some("the workload is a key-value store".to_owned()),
        Workload::Trace(trace) => {
            let format = trace.format.as_deref().and_then(|format| format.parse::<Format>().ok());
            let timeless = format.is_some_and(Format::is_timeless);
            timeless.then(|| format!("format = \"{}\" has none", trace.format.as_deref().unwrap_or_default()))
        }
    }
}

impl ProbeSettings {
    /// The ages that are written; none where only the end of the drive's life is asked for.
    fn ages(&self) -> Result<Ages, Refusal> {
        let Self { at_drive_writes, at_days, at_wear, at_end_of_life, .. } = self;
        let written = [
            ("at-drive-writes", at_drive_writes.clone().map(Ages::DriveWrites)),
            ("at-days", at_days.clone().map(Ages::Days)),
            ("at-wear", at_wear.as_ref().map(|shares| Ages::Wear(shares.iter().map(|share| share.get()).collect()))),
        ];
        let mut written = written.into_iter().filter_map(|(key, ages)| Some((key, ages?)));
        match (written.next(), written.next()) {
            (Some((first, _)), Some((second, _))) => {
                Err((format!("probe.{second}"), format!("stands beside {first}; give one of the two")))
            }
            (Some((_, ages)), None) => Ok(ages),
            (None, _) if *at_end_of_life => Ok(Ages::DriveWrites(Vec::new())),
            (None, _) => {
                let message = "is missing; say when to look, such as at-drive-writes = [0, 10, 100], at-years = [1, 3, 5], \
                               at-wear = [\"30 %\", \"60 %\"] or at-end-of-life = true";
                Err(("probe.at-drive-writes".to_owned(), message.to_owned()))
            }
        }
    }
}

impl Probe {
    /// Makes the probe of `[probe]`; its workload and arrival are resolved already.
    pub(super) fn of(settings: &ProbeSettings, workload: Workload, arrival: Arrival) -> Result<Self, Refusal> {
        let ages = settings.ages()?;
        assert!(ages.listed().is_sorted(), "the schema refuses ages out of order, which would be passed over");
        let (requests, retention_days) = (settings.until.requests, settings.retention);
        Ok(Self { ages, at_end_of_life: settings.at_end_of_life, workload, arrival, requests, retention_days })
    }

    pub(super) fn settings(&self, space: Space, paths: Paths) -> ProbeSettings {
        let mut workload = self.workload.to_table(space, paths);
        workload.insert("arrival".to_owned(), arrival_value(self.arrival));
        let (mut at_drive_writes, mut at_days, mut at_wear) = (None, None, None);
        match self.ages.clone() {
            Ages::DriveWrites(none) if none.is_empty() => {}
            Ages::DriveWrites(ages) => at_drive_writes = Some(ages),
            Ages::Days(ages) => at_days = Some(ages),
            Ages::Wear(shares) => at_wear = Some(shares.into_iter().filter_map(Ratio::new).collect()),
        }
        ProbeSettings {
            at_drive_writes,
            at_days,
            at_years: None,
            at_wear,
            at_end_of_life: self.at_end_of_life,
            workload: Some(workload),
            retention: self.retention_days,
            until: ProbeUntil { requests: self.requests },
        }
    }
}
