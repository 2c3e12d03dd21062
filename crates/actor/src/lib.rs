//! Drives that encode (002, chapter 8: ACTOR): objects are cut, coded and kept by drives that are servers, without a manager.
//!
//! The core knows no network: [`Members`] is the versioned list that everybody has, [`Ring`] places shares by it, [`layout`] cuts objects and counts the
//! bytes that coding moves, [`codec`] makes shares of others, [`share`] is the format of a share's file, and [`store`] a drive's folder. The edge stands on
//! it: a server for each drive, peers that ask each other by HTTP, and a client.

mod clock;
pub mod codec;
mod error;
mod id;
pub mod layout;
mod members;
mod ring;
pub mod share;
pub mod store;

pub use error::ActorError;
pub use id::RingId;
pub use layout::{Code, Layout, Traffic};
pub use members::{Member, Members, POINTS_DEFAULT, POINTS_MAX, Standing, check_address};
pub use ring::Ring;
