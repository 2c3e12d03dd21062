//! Control of a served drive, by HTTP and JSON on a socket of its own.

mod busy;
mod carry_out;
mod client;
mod order;
mod routes;

pub(crate) use busy::Busy;
pub(crate) use carry_out::{Desk, carry_out, member};
pub use client::{Control, ControlError};
pub(crate) use order::{Answer, Asks, Order};
pub(crate) use routes::serve;
