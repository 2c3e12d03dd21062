//! Arrays that go on without some of their members, as their operator sees them, whatever their layout.

use std::any::Any;

use wane_blockdev::{Living, PowerError};
use wane_units::{Fate, Sectors, SimTime};

use crate::layout::LayoutError;
use crate::members::MemberState;
use crate::mirror::{Mirror, Repairs};
use crate::raid::Raid;
use crate::times::Array;

/// How safe the data of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All members have all that they should.
    Whole,
    /// A member is missing, takes no writes, or lacks something. All data can be made of the others.
    Degraded,
    /// Some data cannot be made of the members that are there.
    Failed,
}

impl Condition {
    /// Its name in answers of programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Degraded => "degraded",
            Self::Failed => "failed",
        }
    }
}

/// What further losses an array stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Safety {
    /// Members that may be lost in addition, whichever these are, without loss of data.
    pub spare: usize,
    /// Sectors of the array that cannot be made of the members that are there. What members themselves lost is in there for a parity array, once
    /// reading, a rebuild or a scrub has found it.
    pub lost: Sectors,
}

/// An array that goes on without some of its members.
pub trait Redundant: Array {
    /// The condition of a member.
    fn state(&self, member: usize) -> MemberState;

    /// Sectors of which a member does not have the present contents, although it should.
    fn stale(&self, member: usize) -> Sectors;

    /// Sectors that the array can still write on members, until they have all that they should.
    fn to_copy(&self) -> Sectors;

    /// Sectors of the array that could not be read any more without a member that is there.
    fn only_on(&self, member: usize) -> Sectors;

    /// What further losses it stands, also with the power of all members.
    fn safety(&self) -> Safety;

    /// Whether all members have all that they should, durably: a power cut takes nothing from them that the array needs.
    fn is_settled(&self) -> bool;

    /// Whether it has something to do for itself.
    fn is_at_work(&self) -> bool;

    /// Whether a scrub is under way.
    fn is_scrubbing(&self) -> bool;

    /// What it did for itself so far.
    fn repairs(&self) -> Repairs;

    /// Takes a member out: its power goes off.
    ///
    /// # Panics
    /// `at` lies before an instant that the device was given earlier.
    fn take_out(&mut self, at: SimTime, member: usize, fate: &mut dyn FnMut() -> Fate);

    /// Puts a member back that was taken out. It is given what was written meanwhile.
    ///
    /// # Errors
    /// It does not come back.
    ///
    /// # Panics
    /// As of [`Redundant::take_out`].
    fn put_back(&mut self, at: SimTime, member: usize) -> Result<(), PowerError>;

    /// Puts a new device in a member's place. Returns the old one.
    ///
    /// # Errors
    /// The new device is too small, or its units do not fit.
    ///
    /// # Panics
    /// As of [`Redundant::take_out`].
    fn replace(&mut self, at: SimTime, member: usize, device: Box<dyn Living>) -> Result<Box<dyn Living>, LayoutError>;

    /// Begins a scrub, which repairs what it finds.
    ///
    /// # Panics
    /// As of [`Redundant::take_out`].
    fn scrub(&mut self, at: SimTime);
}

/// A device as an array that goes on without some members, if it is one.
pub fn as_redundant(device: &mut dyn Living) -> Option<&mut dyn Redundant> {
    let device: &mut dyn Any = device;
    if device.is::<Mirror>() {
        return device.downcast_mut::<Mirror>().map(|array| array as _);
    }
    device.downcast_mut::<Raid>().map(|array| array as _)
}

/// The same, to be looked at.
pub fn redundant_of(device: &dyn Living) -> Option<&dyn Redundant> {
    let device: &dyn Any = device;
    let mirror = device.downcast_ref::<Mirror>().map(|array| array as _);
    mirror.or_else(|| device.downcast_ref::<Raid>().map(|array| array as _))
}

macro_rules! as_their_own {
    () => {
        fn state(&self, member: usize) -> MemberState {
            self.state(member)
        }

        fn stale(&self, member: usize) -> Sectors {
            self.stale(member)
        }

        fn only_on(&self, member: usize) -> Sectors {
            self.only_on(member)
        }

        fn safety(&self) -> Safety {
            self.safety()
        }

        fn is_settled(&self) -> bool {
            self.is_settled()
        }

        fn is_at_work(&self) -> bool {
            self.is_at_work()
        }

        fn is_scrubbing(&self) -> bool {
            self.is_scrubbing()
        }

        fn take_out(&mut self, at: SimTime, member: usize, fate: &mut dyn FnMut() -> Fate) {
            self.take_out(at, member, fate);
        }

        fn put_back(&mut self, at: SimTime, member: usize) -> Result<(), PowerError> {
            self.put_back(at, member)
        }

        fn replace(
            &mut self,
            at: SimTime,
            member: usize,
            device: Box<dyn Living>,
        ) -> Result<Box<dyn Living>, LayoutError> {
            self.replace(at, member, device)
        }
    };
}

impl Redundant for Mirror {
    as_their_own!();

    fn to_copy(&self) -> Sectors {
        self.sectors_to_copy()
    }

    fn repairs(&self) -> Repairs {
        self.repairs()
    }

    fn scrub(&mut self, at: SimTime) {
        self.scrub(at);
    }
}

impl Redundant for Raid {
    as_their_own!();

    fn to_copy(&self) -> Sectors {
        self.sectors_to_rebuild()
    }

    fn repairs(&self) -> Repairs {
        self.repairs_in_sectors()
    }

    fn scrub(&mut self, at: SimTime) {
        self.scrub(at, crate::raid::Scrub::Repair);
    }
}
