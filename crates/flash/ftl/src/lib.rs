//! Flash translation layer: map, free space, garbage collection, wear leveling, retirement, capacity.
//!
//! [`Ftl`] is the mechanism; [`policies`] decide. Everything here changes state at once and takes no time. Sources: the
//! dissertation (000) ch. 3-4 and the released FTLSim for the device model.

mod check;
mod closing;
mod config;
mod counters;
mod domain;
mod engine;
mod failures;
mod free;
mod giving;
mod host;
pub mod index;
mod late;
mod leveling;
mod media;
mod mode;
mod payload;
mod persist;
pub mod policies;
mod projection;
mod reclaim;
mod redundancy;
mod relocate;
mod remap;
mod room;
mod saved;
mod scrub;
mod streams;
mod stripes;
mod table;
mod work;

pub use config::{BuildError, EraseGroup, Frontiers, FtlConfig, Layout, Pooling, RefusedSetting};
pub use counters::Cause;
pub use engine::{EndOfLife, Ftl, Origin, OutOfRange, Outcome, RECOVERY_RESERVE};
pub use failures::UnretiredError;
pub use giving::DemandCause;
pub use payload::ZEROS;
pub use persist::{Event, Fate, PowerCut, Protection, REMAP_ENTRY_BYTES, Recovery, metadata_blocks};
pub use projection::{ProjectionError, Worn};
pub use remap::RemapError;
pub use room::Room;
pub use saved::{PolicyStateError, PolicyStates};
pub use wane_units::{BlockState, Counters};
