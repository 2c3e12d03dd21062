//! The crate that joins the others: a scenario becomes a plan ([`build`]), a plan becomes a run of a drive ([`run`], with a
//! host, and an observer of errors and time), and a run becomes results ([`session`]).
//!
//! Scenarios, results and their drawing belong to the crates `scenario`, `results` and `report`; the drive belongs to
//! `ssd`. Only [`progress`] reads the real clock, and only [`session`] starts threads.
//!
//! # How a run goes
//!
//! [`run::Run`] has three parts: `host` hands batches to a device and has the one loop that answers what it asks; `record` counts from a start and keeps the
//! timeline and the observer; `run::life` preconditions, draws from the phase's source, and knows when phases, budgets and lives end. `forward` simulates
//! some periods, asks a model of `aging` for what follows, and applies the prediction to the drive: wear jumps, data stay, and counters count only what was
//! simulated. A probe is a clone of the drive with a host of its own. Nobody knows the end of a life before it comes: a probe of it takes the older of two
//! clones that the observer keeps and renews.

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
mod backed;
mod below;
mod calendar;
mod disturb;
mod files;
mod forward;
mod host;
mod operations;
mod queued;
mod record;
mod space;
mod timed;
mod usable;
