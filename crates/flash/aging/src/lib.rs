//! Fast-forward: a life is observed for a while, and what comes next is predicted instead of simulated.
//!
//! A [`Period`] is one stretch of simulated life: the erase counts at both of its ends. From periods, a [`Model`] predicts how
//! often each block is erased in those that follow; a [`Schedule`] decides when to predict; a [`Projector`] turns predictions
//! into whole erase counts; [`accuracy`] compares the outcome with a full run. Nothing here knows a drive: the caller simulates
//! its periods and applies the projected counts to it.
//!
//! Source: dissertation 000, ch. 3 (FF-SSD). Comments at each decision say where it goes beyond that source.

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
