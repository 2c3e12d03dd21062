//! Scenario to system to run to results to report: the one room that knows everything.

pub mod build;
pub mod os;
pub mod progress;
pub mod run;
pub mod session;

pub mod detail;
mod host_space;
mod timed;
