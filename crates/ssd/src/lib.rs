//! The drive's clock: what a list of flash operations costs in time.
//!
//! State comes first and knows no time. For every host command it leaves a list of [`wane_nand::FlashOp`]; a scheduler
//! places these on dies and channels and says when the command is done and where its time went. It never sees a map or a
//! page's contents. [`EventScheduler`] does what drives do; [`Timeline`] is the cheap one. [`Clock`] drives either with requests
//! and keeps what they took. Times are nanoseconds from the start.

mod calendar;
mod clock;
mod command;
mod config;
mod due;
mod event;
mod latency;
mod node;
mod scheduler;
mod slab;
mod timeline;

pub use clock::{Clock, ClockSpec, MeasuredWindow, Timed};
pub use command::{Breakdown, Command, CommandKind, Completion};
pub use config::{
    CLOCK_MAX_NS, Collection, ConfigError, MultiPlane, Order, Processors, ReadPriority, SchedulerConfig, Suspend,
    TIME_MAX_NS, Timing, WriteCache, operation_ns_bound,
};
pub use event::EventScheduler;
pub use latency::{BreakdownSum, Histogram, Latencies, PERCENTILES};
pub use node::Utilization;
pub use scheduler::Scheduler;
pub use timeline::Timeline;
