//! Where requests come from: patterns, traces and stand-ins for traces.
//!
//! A [`Source`] hands the drive batches of pages. Files and formats stay in [`trace`]; a drive never sees one.

mod request;
mod source;

pub use request::{Op, Request};
pub use source::{Batch, Progress, Source, SourceError};
