//! Models of many drives: the effect of heat on them, and their cost.
//!
//! Inputs and results are plain numbers: no drive is simulated here, and nothing is read from files. [`heat`] has the measurements of 002, chapter 6,
//! with lookups that say whether a value was measured, tests of significance, and the effect of temperature on retention. [`economics`] has the
//! comparison of QLC drives and hard disks of 002, section 5.2.3, with every price and power as an input. [`coding`] has time and energy of coding on
//! drives (002, section 8.3). An input without a result is a
//! [`FleetError`].

pub mod coding;
pub mod economics;
mod error;
pub mod heat;
mod named;

pub use error::FleetError;
pub use named::Named;
