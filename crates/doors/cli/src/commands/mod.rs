//! The commands, one in each file.

pub(crate) mod actor;
mod array;
pub(crate) mod arrays;
pub(crate) mod cells;
pub(crate) mod ctl;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod drive;
mod dry_run;
pub(crate) mod estimate;
mod film;
mod fit;
pub(crate) mod fleet;
#[cfg(target_os = "linux")]
pub(crate) mod fs;
pub(crate) mod grid;
mod life;
pub(crate) mod lists;
pub(crate) mod man;
mod package;
mod packaged;
pub(crate) mod rber;
pub(crate) mod rber_fit;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod serve;
mod simulate;
pub(crate) mod sweep;
mod timed;
pub(crate) mod trace;
pub(crate) mod tradeoff;
