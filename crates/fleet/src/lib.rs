//! What holds of many drives: what heat does to them, and what they cost.
//!
//! Plain numbers in, plain numbers out: no drive is simulated here, and nothing is read from files. [`heat`] has the measurements of 002, chapter 6,
//! with lookups that say whether a value was measured, tests of significance, and how temperature scales retention; [`economics`] has the
//! comparison of QLC and hard disks of 002, section 5.2.3, with every price and power as an input; [`coding`] has time and energy of coding on drives
//! (002, section 8.3). A question without an answer is a
//! [`FleetError`].

pub mod coding;
pub mod economics;
mod error;
pub mod heat;
mod named;

pub use error::FleetError;
pub use named::Named;
