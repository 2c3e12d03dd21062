//! The crate that joins the others: a scenario becomes a plan ([`build`]), a plan becomes a run of a drive ([`run`], with a
//! host, and an observer of errors and time), and a run becomes results ([`session`]).
//!
//! Scenarios, results and their drawing belong to the crates `scenario`, `results` and `report`; the drive belongs to
//! `ssd`. Only [`progress`] reads the real clock, and only [`session`] starts threads.

pub mod array;
pub mod build;
pub mod estimate;
pub mod film;
pub mod held;
pub mod kept;
pub mod observer;
pub mod occupancy;
pub mod os;
pub mod overrides;
pub mod predict;
pub mod progress;
pub mod run;
pub mod session;
pub mod sources;
pub mod stack;

mod ahead;
mod below;
mod calendar;
mod files;
mod forward;
mod host;
mod operations;
mod record;
mod space;
mod timed;
