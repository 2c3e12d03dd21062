//! The live page: what a served drive does at the moment, for a browser on this machine. It only shows.
//!
//! The thread that owns the drive makes what is shown (`feed`), and only while somebody watches. A hub hands it to the viewers, whom a thread of the
//! page's own serves by HTTP (`routes`).
//!
//! `/events` are server-sent events, whose data are JSON:
//!
//! - `drives`, at the connection and when it changes: the names of all drives that are served. `?drive=NAME` chooses the one that is shown.
//! - `withdrawn`, last: the drive is served no longer, while its server goes on.
//! - `drive`, at the connection and when it changes: what it is.
//! - `tick`, once a second: what was answered since the last one, and how the drive is. While it ages, the values are the last ones and `busy` says
//!   how far it is.
//! - `wear`, at the connection and then at most every two seconds: erases and state of its blocks. If several share a cell, it has the most erases
//!   of them, and the first of retired, open, data and free that one of them is.
//! - `happening`: what the drive tells by itself, in words.

mod cells;
mod feed;
mod happenings;
mod host;
mod hub;
mod routes;

pub(crate) use feed::{About, Feed};
pub(crate) use hub::Hub;
pub(crate) use routes::{Site, serve};
