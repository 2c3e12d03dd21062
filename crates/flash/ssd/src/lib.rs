//! The drive: firmware, flash and time as one value that can be aged, queried and cloned.
//!
//! [`Drive`] owns the firmware, the medium and the calendar, and if it has one, a clock; it is a
//! [`BlockDevice`](wane_blockdev::BlockDevice). State comes first and knows no time: what a request does to the flash is a list
//! of [`wane_nand::FlashOp`]. A scheduler places these on dies and channels, and reports when the request is done and where its
//! time went. It never sees a map or a page's contents. [`EventScheduler`] models every feature; [`Timeline`] gives the same
//! results for plain drives, faster. [`Clock`] runs either, [`Meter`] records what requests took. Times are nanoseconds from the
//! start.
//!
//! ```
//! use wane_ftl::FtlConfig;
//! use wane_ssd::{Drive, DriveConfig};
//! use wane_units::{Bytes, Geometry, Lpn, Ratio};
//!
//! let geometry = Geometry::flat(64, 64, Bytes(4096))?;
//! let mut drive = Drive::new(DriveConfig::new(geometry, FtlConfig::new(&geometry, Ratio::new(0.1).ok_or("a ratio")?)))?;
//! let units: Vec<Lpn> = (0..drive.logical_initial()).map(Lpn).collect();
//! for _ in 0..3 {
//!     drive.age(&units)?;
//! }
//! assert_eq!(drive.health_record().write_amplification(), Some(1.0), "sequential writes leave nothing to relocate");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrive;
mod calendar;
mod clock;
mod command;
mod config;
mod depend;
mod device;
mod drive;
mod due;
mod event;
mod latency;
mod meter;
mod node;
mod payload;
mod pending;
mod projection;
mod saved;
mod scheduler;
mod slab;
mod smart;
mod thermal;
mod timeline;
mod times;

pub use clock::{Clock, ClockSpec};
pub use command::{Breakdown, BreakdownTotals, Command, CommandKind, Completion};
pub use config::{
    CLOCK_MAX_NS, Collection, ConfigError, Link, MultiPlane, Order, Processors, ReadPriority, SchedulerConfig, Suspend,
    TIME_MAX_NS, Timing, WriteCache, operation_ns_bound,
};
pub use depend::Progress;
pub use drive::{AgeError, Drive, DriveConfig, DriveError};
pub use event::EventScheduler;
pub use latency::{BreakdownSum, Histogram, Latencies, PERCENTILES};
pub use meter::{MeasuredWindow, Meter, Parts, Ran, Timed};
pub use node::Utilization;
pub use payload::Injected;
pub use projection::{Predicted, Projection};
pub use scheduler::Scheduler;
pub use thermal::{HeatReading, Thermal, Throttle};
pub use timeline::Timeline;
pub use wane_blockdev::RequestId;
pub use wane_smart::energy::DIE_WATTS;
