//! The room that joins the others: a scenario becomes a plan ([`build`]), a plan becomes a run ([`run`], with what happens beside
//! aging in [`detail`]), and a run becomes results ([`session`]).
//!
//! What a scenario says, what results are and how they are drawn is left to `scenario`, `results` and `report`; firmware, medium
//! and clock are `ftl`, `nand` and `ssd`. Only [`progress`] reads the real clock, and only [`session`] starts threads.

pub mod build;
pub mod detail;
pub mod os;
pub mod overrides;
pub mod progress;
pub mod run;
pub mod session;

mod host_space;
mod timed;
