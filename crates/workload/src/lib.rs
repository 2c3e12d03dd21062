//! Where requests come from: patterns, traces and stand-ins for traces.
//!
//! A [`Source`] hands the drive batches of pages. Files and formats stay in [`trace`]; a drive never sees one.

mod mix;
pub mod pattern;
mod request;
mod source;
pub mod standin;
pub mod trace;

pub use mix::Mix;
pub use request::{Op, Request};
pub use source::{Batch, Progress, SHARE_MIN, Source, SourceError};
