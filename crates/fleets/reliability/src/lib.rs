//! The lives of many arrays: when the first member fails, what is lost after some years and why, and what another plan would have gained.
//!
//! A detailed simulation of one array gives curves: how its members wear with the host's writes, and how many bits they cannot read at each wear.
//! [`outlooks`] lets 10^5 arrays live on these curves. Each draws how long its drives and their batches last ([`Endurance`]), failures by chance
//! ([`Chance`]) and events that take several members ([`Shock`]). A failure is noticed, a spare arrives, a rebuild reads all that is left
//! ([`Upkeep`]).
//!
//! Losses are rare, so that they are not waited for: at each first failure an estimate of what is lost until the array is whole again adds to the
//! account (`episode`). Other figures are counted as they happen.
//!
//! Left to others: what curves are (`lab` measures them), what a user sees (`results`, `report`).
//!
//! Not modeled: the delay of data that move slowly to other places in a declustered layout, operators' mistakes, silent corruption, members that
//! are slow. A loss counts at the first failure of the chain that leads to it, some days early.

mod alternative;
mod array;
mod curve;
mod endurance;
mod episode;
mod estimate;
mod life;
mod plan;

pub use alternative::{Alternative, chunks_written, graded_shares};
pub use array::Cause;
pub use curve::Curve;
pub use endurance::{Chance, Endurance, Spread};
pub use estimate::{ARRAYS_MAX, AtYear, Effort, Estimate, Figure, FirstFailure, Outlook, QUANTILES, outlooks};
pub use plan::{
    DriveKind, MEMBERS_MAX, Member, PARITIES_MAX, Plan, PlanError, Redundancy, SECTOR_BYTES, Shock, Upkeep, WornOut,
};
