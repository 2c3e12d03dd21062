//! Sources of requests (patterns, traces, stand-ins for traces, key-value stores), and their times, [`Arrivals`].
//!
//! A [`Source`] gives the drive batches of pages. Files and formats stay in [`trace`]; the drive does not know them.

mod arrivals;
pub mod lsm;
mod mix;
pub mod pattern;
mod request;
mod source;
pub mod standin;
pub mod trace;
mod zipf;

pub use arrivals::{Arrival, Arrivals, Next, normal_gap_mean};
pub use mix::Mix;
pub use request::{Op, Request};
pub use source::{Batch, Drawn, Milestone, OperationKind, Pace, Part, SHARE_MIN, Source, SourceError};
