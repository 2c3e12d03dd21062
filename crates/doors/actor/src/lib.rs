//! Drives that encode (002, chapter 8: ACTOR): drives that are servers cut, code and keep objects, without a manager.
//!
//! The core knows no network. [`Members`] is the versioned list that every drive and client has. [`Ring`] places shares by it. [`layout`] cuts
//! objects and counts the bytes that coding moves. [`codec`] makes shares from others. [`share`] is the format of a share's file, and [`store`] a
//! drive's folder. On the core stand a server for each drive, peers that ask each other by HTTP, and a client. A [`Simulated`] drive may lie beneath
//! a server, and [`wear()`] measures what coding costs in drive life.

mod auth;
mod client;
mod clock;
mod cluster;
pub mod codec;
mod error;
mod id;
pub mod layout;
mod limits;
mod members;
mod peers;
mod ring;
mod server;
pub mod share;
mod simulated;
pub mod store;
mod wear;
mod wire;

pub use client::{Client, Leave, Left};
pub use cluster::{Got, Put, PutOptions};
pub use error::ActorError;
pub use id::RingId;
pub use layout::{Code, Layout, Traffic};
pub use limits::{Limited, Limits};
pub use members::{Member, Members, POINTS_DEFAULT, POINTS_MAX, Standing, check_address};
pub use ring::Ring;
pub use server::{ServerConfig, serve};
pub use simulated::Simulated;
pub use wear::{WARM_UP, WearOfCode, WearOptions, wear};
pub use wire::{Moved, Repaired, Scrubbed, Status};
