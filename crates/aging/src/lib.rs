//! Fast-forward: a life is observed for a while, and what comes next is predicted instead of simulated.
//!
//! A [`Period`] is one stretch of simulated life: the erase counts at both of its ends. A [`Model`] predicts from periods how
//! often each block is erased in those that follow; a [`Schedule`] says when; a [`Projector`] makes whole erase counts of what
//! was predicted; [`accuracy`] holds the outcome against a full run. Nothing here knows a drive: whoever has one simulates
//! its periods and takes the projected counts back.
//!
//! Source: dissertation 000, ch. 3 (FF-SSD). What that leaves open is said where it is decided.

pub mod accuracy;
mod adaptive;
mod error;
mod forecast;
mod model;
mod observation;
mod projection;
mod regression;
mod schedule;
pub mod skew_normal;

pub use adaptive::{Detector, Judgement};
pub use error::AgingError;
pub use forecast::{Forecast, LogEntry, forecast};
pub use model::{Model, ModelKind, WINDOW_LEAST, WINDOW_MOST};
pub use observation::{History, Period};
pub use projection::{Projected, Projector};
pub use schedule::{FACTOR_MOST, Next, Schedule};
