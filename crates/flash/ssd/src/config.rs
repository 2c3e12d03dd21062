//! How long flash takes and in which order it works.
//!
//! [`Order`], [`Suspend`] and [`Collection`] are keys of a scenario too: their words and the first lines of their comments are in
//! its schema. What the scheduler does with them is explained at the fields of [`SchedulerConfig`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times of flash operations, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Sensing a page once, by page type: page i of a block has type i modulo the number of types. At least one.
    pub read_ns: Vec<u64>,
    /// Programming a page, by page type. At least one.
    pub program_ns: Vec<u64>,
    /// Erasing a block.
    pub erase_ns: u64,
    /// Rate of a channel; without one transfers take no time.
    pub channel_bytes_per_second: Option<u64>,
}

impl Timing {
    /// Time on the channel for `bytes`, rounded up to whole nanoseconds.
    pub fn transfer_ns(&self, bytes: u32) -> u64 {
        // 2^32 bytes times 10^9 stay below 2^62.
        self.channel_bytes_per_second.map_or(0, |rate| (u64::from(bytes) * 1_000_000_000).div_ceil(rate))
    }

    #[inline]
    pub(crate) fn read_of(&self, page: u32) -> u64 {
        of_type(&self.read_ns, page)
    }

    #[inline]
    pub(crate) fn program_of(&self, page: u32) -> u64 {
        of_type(&self.program_ns, page)
    }
}

/// The time of a page's type.
#[inline]
fn of_type(times: &[u64], page: u32) -> u64 {
    // A division would cost as much as everything else here.
    if let [time] = times { *time } else { times[page as usize % times.len()] }
}

/// Which operation a die takes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The first to come.
    #[default]
    FirstCome,
    /// By class.
    Priority,
}

/// Whether host reads overtake host writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadPriority {
    /// They do not.
    #[default]
    No,
    /// A host read takes the turn of a host write.
    Yes,
}

/// What a waiting host read interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Suspend {
    /// Nothing.
    #[default]
    None,
    /// Programs.
    Program,
    /// Erases.
    Erase,
    /// Programs and erases.
    Both,
}

/// How garbage collection makes way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Collection {
    /// The host waits for a victim.
    #[default]
    Foreground,
    /// A victim starts where no one waits.
    Background,
    /// Other operations may run between those of a victim.
    Preemptible,
    /// As `background`, and the dies of a stripe collect one at a time.
    Rotating,
    /// Collection takes no time: the ideal of a drive whose collection never blocks anyone, as ttFlash in the released code of
    /// 001.
    Free,
}

/// Whether a die works on several planes at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MultiPlane {
    /// One operation at a time.
    #[default]
    Off,
    /// Operations of one kind on different planes run as one if they follow each other in a die's queue. Transfers stay serial.
    On,
}

/// Memory of the controller that acknowledges writes before they are programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCache {
    /// Capacity. A larger write is admitted when no program is left that could make room.
    pub bytes: u64,
    /// From admission to acknowledgment.
    pub latency_ns: u64,
}

/// Embedded processors that each flash operation passes before its die (004 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processors {
    /// Operations at a time.
    pub count: u32,
    /// Time for each.
    pub think_ns: u64,
}

/// The link between the host and the drive. A command has it to itself and crosses it once, when the drive is done with it,
/// whether its data go to or from the host.
///
/// In truth a write's data cross before it is served. In a closed loop, throughput and mean latency are the same either way, as
/// each round passes the same stations. A cached write is acknowledged at the same time, but its program begins up to one
/// crossing too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Rate of data; without one they take no time.
    pub bytes_per_second: Option<u64>,
    /// Of each read, write and flush: protocol, driver, and the controller's work on the command.
    pub command_ns: u64,
}

impl Link {
    /// Time that a command of `bytes` bytes has the link to itself, rounded up to whole nanoseconds.
    pub fn crossing_ns(&self, bytes: u64) -> u64 {
        let data =
            self.bytes_per_second.map_or(0, |rate| (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate)));
        u64::try_from(data).unwrap_or(u64::MAX).saturating_add(self.command_ns)
    }
}

/// How operations are scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// Which of the operations that wait for a die, a channel or a processor is next. First come: the one that came first,
    /// whatever its task. By class: host before garbage collection before scrubbing before wear leveling, at every grant; a
    /// running operation is not interrupted (004 §4). Operations that depend on each other keep their order.
    pub order: Order,
    /// Whether host reads overtake host writes.
    pub read_priority: ReadPriority,
    /// What a host read interrupts. The interrupted operation continues once no host read waits on the die. An operation that
    /// would end within the suspend overhead is not interrupted.
    pub suspend: Suspend,
    /// From the interruption until the die can read.
    pub suspend_ns: u64,
    /// How garbage collection shares dies. A job is one victim: its relocations and its erase.
    ///
    /// - Foreground: jobs have the host's class. What comes after a job waits, on the dies that the job reads or erases, until
    ///   the whole job is done.
    /// - Background: jobs have a class of their own, but a job that has begun on a die is finished there before what came after
    ///   it.
    /// - Preemptible: jobs have a class of their own, and any operation may come in between.
    /// - Rotating: as in the background, and in each group of [`Self::group_dies`] a job waits for the one before it. Nothing
    ///   waits for what it does outside its group.
    /// - Free: jobs are not scheduled by either scheduler: [`crate::Clock`] leaves their operations out.
    pub collection: Collection,
    /// Number of consecutive dies in a group, in which collections take turns. The drive has whole groups. `None`: all dies are
    /// one group.
    pub group_dies: Option<u32>,
    /// Whether planes work together.
    pub multi_plane: MultiPlane,
    /// Acknowledges writes early.
    pub write_cache: Option<WriteCache>,
    /// Processors in front of the dies; without them firmware takes no time.
    pub processors: Option<Processors>,
    /// Between host and drive; without one requests come and go at once.
    pub link: Option<Link>,
}

/// Why timing or scheduling was refused.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A list of page types is empty.
    #[error("{0} names no page type; give at least one time")]
    NoPageType(&'static str),
    /// A count or rate is zero.
    #[error("{0} is 0; at least 1 is needed")]
    Zero(&'static str),
    /// A time that would overflow the clock.
    #[error("{name} is {found} ns; at most {max} ns (1,000 s) are allowed", max = TIME_MAX_NS)]
    TooLong {
        /// Which.
        name: &'static str,
        /// Time given.
        found: u64,
    },
    /// The timeline places every operation when it is submitted.
    #[error("{name} = {found:?} needs the event scheduler; the timeline places operations in the order they are made")]
    NeedsEvents {
        /// Key.
        name: &'static str,
        /// Value given.
        found: &'static str,
    },
}

/// Longest time of one operation: re-reads and queues of it stay far below 2^64 ns.
pub const TIME_MAX_NS: u64 = 1_000_000_000_000;

/// The last moment of the simulated clock, nanoseconds from its start: 584 years. The number beyond marks "never".
pub const CLOCK_MAX_NS: u64 = u64::MAX - 1;

/// An upper bound of the time that one operation adds until everything is done: as if no two operations ran at once and each had
/// every possible delay. Its page has at most `page_bytes` bytes and is sensed again at most `rereads_max` times.
pub fn operation_ns_bound(timing: &Timing, config: &SchedulerConfig, page_bytes: u32, rereads_max: u32) -> u64 {
    let longest = |times: &[u64]| times.iter().copied().max().unwrap_or(0);
    let sensing = longest(&timing.read_ns).saturating_mul(1 + u64::from(rereads_max));
    [
        sensing.max(longest(&timing.program_ns)).max(timing.erase_ns),
        timing.transfer_ns(page_bytes),
        config.suspend_ns,
        config.processors.map_or(0, |processors| processors.think_ns),
        config.write_cache.map_or(0, |cache| cache.latency_ns),
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

/// Checks what any scheduler needs.
pub(crate) fn check(timing: &Timing, config: &SchedulerConfig) -> Result<(), ConfigError> {
    for (name, times) in [("read", &timing.read_ns), ("program", &timing.program_ns)] {
        if times.is_empty() {
            return Err(ConfigError::NoPageType(name));
        }
    }
    let times = [
        ("read", timing.read_ns.iter().copied().max()),
        ("program", timing.program_ns.iter().copied().max()),
        ("erase", Some(timing.erase_ns)),
        ("suspend-overhead", Some(config.suspend_ns)),
        ("think-time", config.processors.map(|processors| processors.think_ns)),
        ("write-cache latency", config.write_cache.map(|cache| cache.latency_ns)),
        ("command-time", config.link.map(|link| link.command_ns)),
    ];
    for (name, time) in times {
        if let Some(found) = time.filter(|time| *time > TIME_MAX_NS) {
            return Err(ConfigError::TooLong { name, found });
        }
    }
    let counts = [
        ("channel-rate", timing.channel_bytes_per_second),
        ("processors", config.processors.map(|processors| u64::from(processors.count))),
        ("write-cache", config.write_cache.map(|cache| cache.bytes)),
        ("link-rate", config.link.and_then(|link| link.bytes_per_second)),
    ];
    match counts.iter().find(|(_, count)| *count == Some(0)) {
        Some((name, _)) => Err(ConfigError::Zero(name)),
        None => Ok(()),
    }
}
