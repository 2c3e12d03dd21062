//! Layers: each wraps any device, changes one thing and forwards the rest.

mod delay;
mod fault;
mod fifo;
mod integrity;
mod record;
mod stats;

pub use delay::{Delay, Delays};
pub use fault::{Effect, Fault, Persistence};
pub use fifo::{BusyTime, Fifo, ServiceTimes};
pub use integrity::{Integrity, IntegrityError, Mismatches};
pub use record::{Entry, Keep, Record, replay};
pub use stats::{KindStats, Stats};
