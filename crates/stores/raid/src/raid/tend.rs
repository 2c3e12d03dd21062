//! What the operator of a parity array does: takes members out, puts them back, replaces them, keeps spares.

use wane_blockdev::{Living, PowerError};
use wane_units::{Fate, SimTime};

use super::member::{Joins, Member};
use super::{Raid, meta};
use crate::bits::Bits;
use crate::layout::LayoutError;
use crate::living::tending_that_goes_on;
use crate::members::MemberState;

impl Raid {
    tending_that_goes_on!();

    /// A member is lost while the array has no power, and notes nothing but that.
    fn lose_without_power(&mut self, member: usize) {
        self.members[member].state = MemberState::Absent;
    }

    /// A member is there again, or another one in its place.
    fn take_in_at(&mut self, now: SimTime, member: usize) {
        self.catch_up(now);
        self.members[member].come_back();
        self.members[member].joins = Joins::Again;
        self.look_again();
        // Its superblock says so from now on.
        self.must_raise();
        self.want_checkpoint();
        self.count();
    }

    /// Puts a new device in a member's place. It is given all that belongs there. Returns the old one, which no longer belongs to the array.
    ///
    /// # Errors
    /// The new device is too small, its units do not fit, or it belongs to another array.
    ///
    /// # Panics
    /// As of [`Raid::take_out`].
    pub fn replace(
        &mut self,
        at: SimTime,
        member: usize,
        device: Box<dyn Living>,
    ) -> Result<Box<dyn Living>, LayoutError> {
        let features = device.features();
        let slots = device.capacity().0.saturating_sub(self.map.offset) / self.map.slot_sectors();
        let used = self.used_slots(member);
        if slots < used {
            let needed = self.map.offset + used * self.map.slot_sectors();
            return Err(LayoutError::Smaller(device.capacity().0, needed));
        }
        let (unit, sector) = (features.atomic_unit.0, features.sector.0);
        if !self.unit.0.is_multiple_of(unit) || sector > self.features.sector.0 {
            return Err(LayoutError::Units(self.unit.0, unit));
        }
        self.check_new(member, &*device)?;
        if !self.is_off {
            self.catch_up(at);
            let old = &mut self.members[member].device;
            if !old.is_off() {
                old.power_off(at, &mut || Fate::Done);
            }
            self.lose(member, MemberState::Absent);
            self.catch_up(at);
        }
        let old = self.members.replace(member, device);
        let place = &mut self.members[member];
        (place.slots, place.doomed_from, place.is_blank) = (slots as u32, slots as u32, true);
        self.children.retain(|key, _| key.0 != member);
        self.spoil_all(member);
        if !self.is_off {
            self.take_in_at(self.members[member].device.now().max(self.now), member);
        }
        Ok(old)
    }

    /// Checks that a device which is to be a member is none of another array.
    pub(super) fn check_new(&self, member: usize, device: &dyn Living) -> Result<(), LayoutError> {
        match meta::array_of(device, self.unit.0).filter(|array| *array != self.config.uuid) {
            Some(array) => Err(LayoutError::Belongs(member, array)),
            None => Ok(()),
        }
    }

    /// Keeps a device that takes the place of the first member that is lost, if it fits there and belongs to no other array.
    pub fn add_spare(&mut self, device: Box<dyn Living>) {
        self.spares.push(device);
        self.own.no_spare_fits = false;
    }

    /// Spares that are left.
    pub fn spares(&self) -> usize {
        self.spares.len()
    }

    /// Puts spares in the places of members that are lost, but not of those that were taken out.
    pub(super) fn use_spares(&mut self) {
        let is_lost = |member: &Member| !member.is_present() && !member.is_out && !member.is_retired;
        while let Some(lost) = self.members.iter().position(is_lost).filter(|_| !self.spares.is_empty()) {
            let (offset, slot) = (self.map.offset, self.map.slot_sectors());
            let used = self.used_slots(lost);
            let fits = |spare: &dyn Living| {
                spare.capacity().0.saturating_sub(offset) / slot >= used && self.check_new(lost, spare).is_ok()
            };
            let Some(fit) = self.spares.iter().position(|spare| fits(&**spare)) else {
                self.own.no_spare_fits = true;
                break;
            };
            let spare = self.spares.remove(fit);
            // Its place is taken, so that no other spare comes there meanwhile.
            self.members[lost].is_out = true;
            if self.replace(self.now, lost, spare).is_err() {
                break;
            }
        }
    }

    /// Slots of a member up to the last that is used.
    pub(super) fn used_slots(&self, member: usize) -> u64 {
        self.map.table.on(member as u16).map(|(_, _, slot)| u64::from(slot) + 1).max().unwrap_or(0)
    }

    /// A member has nothing of what belongs there.
    pub(super) fn spoil_all(&mut self, member: usize) {
        let mut stale = Bits::new(self.map.stripes());
        for (tile, _, _) in self.map.table.on(member as u16) {
            stale.insert(tile * self.map.tile..(tile + 1) * self.map.tile);
        }
        stale.keep(&self.written);
        self.members[member].stale = stale;
        // What was discarded on the old one says nothing of the new one.
        self.zeroed = Bits::new(self.map.stripes());
    }
}
