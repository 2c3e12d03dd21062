//! Which payload each physical unit holds.
//!
//! The caller keeps the bytes themselves. Here a unit has only a handle to them, as a flash page would have its data. A relocation copies
//! the handle and REMAP leaves it where it is, so neither moves a byte. A unit keeps its handle until its block is erased, as on
//! flash: a recovery may find that it is still the newest. A handle's bytes are free once no unit has it.

use std::ops::Range;

use wane_archive::{Archive, ArchiveError};
use wane_nand::Media;
use wane_units::{Lpn, SuperblockId, prefetch};

use crate::engine::{Ftl, Origin, Outcome};
use crate::table::Table;

/// The handle of zeros, which are not kept.
pub const ZEROS: u32 = 0;

/// Distance of the prefetch of counts, in units.
const AHEAD: usize = 16;

/// See the module's documentation.
#[derive(Clone)]
pub(crate) struct Payload {
    /// The handle of each physical unit. Untouched entries take no memory.
    of_unit: Table<u32>,
    /// By handle: its number of holders.
    holders: Vec<u32>,
    /// Handles without a holder. The last one is used next.
    free: Vec<u32>,
    /// Handles of the units of the host's present write.
    written: Vec<u32>,
}

impl Payload {
    pub(crate) fn new(units: usize) -> std::io::Result<Self> {
        // Handle 0 is always held.
        Ok(Self { of_unit: Table::zeroed(units)?, holders: vec![1], free: Vec::new(), written: Vec::new() })
    }

    /// Whether any unit may hold more than zeros. Until the first bytes come, a drive that keeps payload has no extra cost.
    #[inline(always)]
    fn holds_any(&self) -> bool {
        self.holders.len() > 1
    }

    fn take(&mut self) -> u32 {
        if let Some(handle) = self.free.pop() {
            debug_assert_eq!(self.holders[handle as usize], 0, "a free handle has no holder");
            self.holders[handle as usize] = 1;
            return handle;
        }
        self.holders.push(1);
        (self.holders.len() - 1) as u32
    }

    fn drop_one(&mut self, handle: u32) {
        if handle == ZEROS {
            return;
        }
        let holders = &mut self.holders[handle as usize];
        assert!(*holders > 0, "a handle is given up as often as it was taken");
        *holders -= 1;
        if *holders == 0 {
            self.free.push(handle);
        }
    }

    /// Gives `run` units from `base` on the handles of the host's present write from `done` on.
    pub(crate) fn place(&mut self, base: u32, done: usize, run: usize) {
        for (offset, unit) in (base as usize..base as usize + run).enumerate() {
            debug_assert_eq!(self.of_unit[unit], ZEROS, "a unit is written once an erase");
            match self.written.get_mut(done + offset) {
                // From now on the unit is its one holder.
                Some(handle) if *handle != ZEROS => self.of_unit[unit] = std::mem::replace(handle, ZEROS),
                _ => {}
            }
        }
    }

    /// The handle of a unit.
    pub(crate) fn of(&self, unit: u32) -> u32 {
        self.of_unit[unit as usize]
    }

    /// Copies the handle of a unit to another one.
    pub(crate) fn copy(&mut self, from: u32, to: u32) {
        let handle = self.of_unit[from as usize];
        if handle != ZEROS {
            self.holders[handle as usize] += 1;
            self.of_unit[to as usize] = handle;
        }
    }

    /// Returns the handle of a unit and counts one more holder of it.
    pub(crate) fn share(&mut self, unit: u32) -> u32 {
        let handle = self.of(unit);
        if handle != ZEROS {
            self.holders[handle as usize] += 1;
        }
        handle
    }

    /// Prefetches the handle of a unit that is copied soon.
    #[inline]
    pub(crate) fn prefetch(&self, from: u32) {
        prefetch(&self.of_unit, from as usize);
    }

    /// Erases the units of a block.
    pub(crate) fn erase(&mut self, units: Range<u32>) {
        let (first, end) = (units.start as usize, units.end as usize);
        for unit in first..end {
            if let Some(ahead) = self.of_unit[..end].get(unit + AHEAD) {
                prefetch(&self.holders, *ahead as usize);
            }
            let handle = self.of_unit[unit];
            if handle != ZEROS {
                self.of_unit[unit] = ZEROS;
                self.drop_one(handle);
            }
        }
    }

    /// Takes the handles of a block's units out of them. The caller gives them up later, or puts them back.
    pub(crate) fn take_out(&mut self, units: Range<u32>) -> Vec<u32> {
        let of_block = &mut self.of_unit[units.start as usize..units.end as usize];
        let taken = of_block.to_vec();
        of_block.fill(ZEROS);
        taken
    }

    pub(crate) fn put_back(&mut self, first: u32, taken: &[u32]) {
        self.of_unit[first as usize..][..taken.len()].copy_from_slice(taken);
    }

    pub(crate) fn give_up(&mut self, handles: &[u32]) {
        handles.iter().for_each(|handle| self.drop_one(*handle));
    }

    /// Recounts holders after a power cut: units that were not programmed hold nothing, and only units and `held` hold handles.
    pub(crate) fn recount(&mut self, is_erased: impl Fn(u32) -> bool, held: impl Iterator<Item = u32>) {
        self.holders.fill(0);
        self.written.clear();
        for (unit, handle) in (0..).zip(self.of_unit.iter_mut()).filter(|(_, handle)| **handle != ZEROS) {
            if is_erased(unit) {
                *handle = ZEROS;
            } else {
                self.holders[*handle as usize] += 1;
            }
        }
        held.for_each(|handle| self.holders[handle as usize] += 1);
        self.holders[ZEROS as usize] = 1;
        let is_free = |handle: &u32| self.holders[*handle as usize] == 0;
        self.free = (0..self.holders.len() as u32).rev().filter(is_free).collect();
    }

    /// Makes this handle that of the present write, for one unit that a recovery found in a buffer.
    pub(crate) fn write_one(&mut self, handle: u32) {
        self.written.push(handle);
    }

    pub(crate) fn end_write(&mut self) {
        self.written.clear();
    }

    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.fixed("payload.of-units", &mut self.of_unit)?;
        archive.list("payload.holders", &mut self.holders)?;
        archive.list("payload.free", &mut self.free)
    }

    /// Of each handle: whether a unit on flash, or one of `others`, names it.
    pub(crate) fn named(&self, others: impl Iterator<Item = u32>) -> Vec<bool> {
        let mut named = vec![false; self.holders.len()];
        for handle in self.of_unit.iter().copied().chain(others) {
            if let Some(named) = named.get_mut(handle as usize) {
                *named = true;
            }
        }
        named
    }

    /// Checks that the holders of every handle are counted right and that exactly the handles without one are free. `held`: handles
    /// outside the units.
    pub(crate) fn check(&self, held: &[u32]) -> Result<(), String> {
        let mut counts = vec![0u32; self.holders.len()];
        for handle in self.of_unit.iter().chain(held).filter(|handle| **handle != ZEROS) {
            let count = counts.get_mut(*handle as usize).ok_or_else(|| format!("payload {handle} was never taken"))?;
            *count += 1;
        }
        counts[0] = 1;
        if let Some(handle) = (0..counts.len()).find(|handle| counts[*handle] != self.holders[*handle]) {
            return Err(format!(
                "payload {handle} is held {} times and counted {}",
                counts[handle], self.holders[handle]
            ));
        }
        let free = counts.iter().filter(|count| **count == 0).count();
        if free != self.free.len() {
            return Err(format!("{free} payloads are free, and {} are listed", self.free.len()));
        }
        Ok(())
    }
}

impl<M: Media> Ftl<M> {
    /// Lets units hold payload from now on. At first they hold zeros.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub fn keep_payload(&mut self) -> std::io::Result<()> {
        if self.payload.is_none() {
            self.payload = Some(Box::new(Payload::new(self.reverse.len())?));
        }
        Ok(())
    }

    /// Whether units hold payload.
    pub fn keeps_payload(&self) -> bool {
        self.payload.is_some()
    }

    /// Returns a handle to bytes that no unit holds yet. The caller passes it to [`Ftl::write_holding`], or returns it by [`Ftl::drop_payload`].
    ///
    /// # Panics
    /// Units hold no payload.
    pub fn take_payload(&mut self) -> u32 {
        self.payload.as_mut().expect("units hold payload").take()
    }

    /// Counts one holder less of a handle.
    pub fn drop_payload(&mut self, handle: u32) {
        if let Some(payload) = &mut self.payload {
            payload.drop_one(handle);
        }
    }

    /// Counts one more holder of a handle.
    pub fn share_payload(&mut self, handle: u32) {
        if let Some(payload) = &mut self.payload
            && handle != ZEROS
        {
            payload.holders[handle as usize] += 1;
        }
    }

    /// As [`Ftl::write_from`], for units that hold what these handles name. The caller still holds the handles of units that were not
    /// written.
    ///
    /// # Panics
    /// The numbers of handles and units differ, or units hold no payload.
    pub fn write_holding(
        &mut self,
        origin: Origin,
        hint: Option<u16>,
        units: &[Lpn],
        handles: &[u32],
    ) -> (usize, Outcome) {
        assert_eq!(units.len(), handles.len(), "each unit has a handle");
        let payload = self.payload.as_mut().expect("units hold payload");
        payload.written.extend_from_slice(handles);
        let end = self.write_from(origin, hint, units);
        if let Some(payload) = &mut self.payload {
            payload.written.clear();
        }
        end
    }

    /// Replaces the handle of a unit without a write. Returns whether the unit holds data; otherwise the caller still holds the handle.
    pub fn replace_payload(&mut self, unit: Lpn, handle: u32) -> bool {
        let place = self.lookup(unit);
        let Some(payload) = &mut self.payload else { return false };
        let held = match place {
            Some(found) => Some(&mut payload.of_unit[found.index()]),
            None => {
                let rescued = self.rescued.iter_mut().find(|rescued| rescued.logical == unit);
                rescued.map(|rescued| &mut rescued.payload)
            }
        };
        let Some(held) = held else { return false };
        let before = std::mem::replace(held, handle);
        payload.drop_one(before);
        true
    }

    /// For each handle that was ever taken, whether it has a holder.
    pub fn payloads_held(&self) -> impl Iterator<Item = bool> + '_ {
        self.payload.iter().flat_map(|payload| &payload.holders).map(|holders| *holders > 0)
    }

    /// The handle of a logical unit; [`ZEROS`] if it is not mapped.
    pub fn payload(&self, unit: Lpn) -> u32 {
        let Some(payload) = &self.payload else { return ZEROS };
        match self.lookup(unit) {
            Some(found) => payload.of(found.0),
            None => {
                self.rescued.iter().find(|rescued| rescued.logical == unit).map_or(ZEROS, |rescued| rescued.payload)
            }
        }
    }

    /// Gives the units from `base` on the payload of the present write.
    #[inline(always)]
    pub(crate) fn place_payload(&mut self, base: u32, done: usize, run: usize) {
        if let Some(payload) = &mut self.payload
            && payload.holds_any()
        {
            payload.place(base, done, run);
        }
    }

    /// Copies the payload of gathered units, from `done` on, to the units from `base` on. The map still says where the former lie.
    #[inline]
    pub(crate) fn copy_payload(&mut self, done: u32, run: u32, base: u32) {
        let Some(payload) = self.payload.as_mut().filter(|payload| payload.holds_any()) else { return };
        let units = &self.scratch[done as usize..(done + run) as usize];
        for (position, (logical, to)) in units.iter().zip(base..).enumerate() {
            if let Some(ahead) = units.get(position + AHEAD) {
                payload.prefetch(self.map[*ahead as usize]);
            }
            payload.copy(self.map[*logical as usize], to);
        }
    }

    /// Checks that the holders of payload are counted right.
    pub(crate) fn check_payload(&self) -> Result<(), String> {
        let Some(payload) = &self.payload else { return Ok(()) };
        let in_flight = self.flight.iter().flat_map(|flight| flight.payload());
        let held: Vec<u32> = self.rescued.iter().map(|rescued| rescued.payload).chain(in_flight).collect();
        payload.check(&held)
    }

    pub(crate) fn erase_payload(&mut self, block: SuperblockId) {
        let units = self.layout.unit(block, 0).0..self.layout.unit(block, 0).0 + self.units_per_block;
        if let Some(payload) = &mut self.payload
            && payload.holds_any()
        {
            payload.erase(units);
        }
    }
}
