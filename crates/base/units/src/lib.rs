//! Ids, quantities and geometry: the types that all other crates share.
//!
//! Ids have no arithmetic; only [`Geometry`] converts between them. Quantities know how they are written in a scenario
//! (`"8 GiB"`, `"75 us"`, `"10 %"`). Raw integers occur only in file formats. The crate also has small functions that several
//! crates share: the hash, Jain's index, quoting input in messages, guessing a misspelt name, why a file could not be written,
//! and the prefetch. It also has the list of a drive's counters, the states of its blocks and the ways in which
//! it ends.

mod block_state;
mod counters;
mod degraded;
mod divisor;
mod end_of_life;
mod evenness;
mod excerpt;
mod fnv;
mod geometry;
mod ids;
mod nearest;
mod prefetch;
mod quantity;
mod sectors;
mod time;
mod unwritten;
mod written;

pub use block_state::BlockState;
pub use counters::Counters;
pub use degraded::Trigger;
pub use divisor::{AnyDivisor, Divisor};
pub use end_of_life::{EndOfLife, Fate};
pub use evenness::{jain_index, jain_index_of_sums};
pub use excerpt::{EXCERPT_CHARS_MAX, Excerpt, cell, excerpt, excerpt_path, printable, steers};
pub use fnv::Fnv;
pub use geometry::{Geometry, GeometryError};
pub use ids::{BlockId, ChannelId, DieId, Lba, Lpn, PlaneId, Ppn, SuperblockId, UnitId};
pub use nearest::{did_you_mean, nearest};
pub use prefetch::{prefetch, prefetch_far};
pub use quantity::{Bytes, DAYS_PER_YEAR, Nanos, PeCycles, QuantityError, Rate, Ratio, floor_exact};
pub use sectors::Sectors;
pub use time::SimTime;
pub use unwritten::{FILE_TOO_LARGE, why_unwritten};
