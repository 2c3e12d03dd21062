//! Arrays: living devices that stand on several others.
//!
//! [`Spread`] puts each sector on one member, where a [`Layout`] says: one member after the other ([`Linear`]), or in turns ([`Stripe`]). [`Mirror`] has
//! several copies of each sector, on members that may differ in size ([`Copies`]); it reads whatever copy is good, writes again what a member lost, and
//! copies what a member missed. An array is as durable as its members: a flush goes to all of them. [`Raid`] has parities, or copies in stripes, over
//! members of any sizes, and keeps a journal on them.
//!
//! # What becomes of failures
//!
//! Of a spread array, a member's failure names its sectors, which become those of the array. A member that is gone while others are there is a medium
//! error of its sectors, since *gone* would say that nothing of the array can be reached. The first member that takes no more writes ends the life of
//! the array. A mirror fails where no copy is left, and ends with the last member that takes writes.
//!
//! # Batches
//!
//! Each member gets its part of a batch in order. One that pauses lets the array pause; what it and the others still owe then lies in the array, and
//! [`Living::go_on`](wane_blockdev::Living::go_on) carries it out. So no unit is written twice, and the host hands nothing in again. An array gives
//! no space back: a member that wants some goes on without.
//!
//! # Where things are
//!
//! What all arrays do with their members is in `members`, and what they do word for word alike in `living`. What a mirror knows of its members is in
//! `mirror/member`; `reads` chooses among them, `changes` writes all, `own` makes them equal, `tend` takes members out and in. Of [`Raid`],
//! `raid/map` knows addresses and `locks` the order of operations on a stripe; `reads` and `change` work on stripes as a write path says (`path`, a
//! file each); `commit` makes durable in cycles what `meta` and `packed` have the format of; `recover` comes back from the members alone; `own`
//! rebuilds and scrubs, `moves` moves tiles, `tend` takes members out and in, `batch` is work without time. A placement is a file in `placement`, a
//! code one in `code`; `extents` is the table of tiles, and `extents/retarget` plans how it changes with its members.

mod bits;
pub mod code;
mod copies;
pub mod extents;
mod host;
mod layout;
mod living;
mod members;
mod mirror;
mod owed;
pub mod placement;
mod raid;
mod redundant;
mod spread;
mod times;

pub use copies::{Copies, Run};
pub use extents::{ExtentTable, Group, GroupTable, Move, Plan, Rebalance, Slot, Target, retarget};
pub use layout::{Layout, LayoutError, Linear, Piece, Portion, Stretch, Stripe};
pub use members::MemberState;
pub use mirror::{Mirror, MirrorConfig, ReadPolicy, Repairs};
pub use placement::{
    EQUAL, Fast, FrontierPoint, MANUAL, PLACEMENTS, Placement, PlacementError, Site, UNEQUAL, frontier, placement,
};
pub use raid::{
    AssembleError, Changed, DIRECT, Following, Journal, LostParities, MD, PATHS, Raid, RaidConfig, RaidPolicy,
    RaidRepairs, Retargeted, STRAID, Scrub, Server, WritePath, path,
};
pub use redundant::{Condition, Redundant, Safety, as_redundant, redundant_of};
pub use spread::Spread;
pub use times::{Array, MemberTime, as_array};
