//! What holds of many drives: what heat does to them.
//!
//! Plain numbers in, plain numbers out: no drive is simulated here, and nothing is read from files. [`heat`] has the measurements of 002, chapter 6,
//! with lookups that say whether a value was measured, tests of significance, and how temperature scales retention. A question without an answer is a
//! [`FleetError`].

mod error;
pub mod heat;
mod named;

pub use error::FleetError;
pub use named::Named;
