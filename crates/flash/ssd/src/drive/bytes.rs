//! Contents of a drive that keeps bytes: how they are written to units and read back.

use std::ops::Range;

use wane_ftl::{Origin, Outcome, ZEROS};
use wane_units::{BlockId, Lpn};

use super::{Drive, Firmware, MOVING};
use crate::payload::Injected;

impl Drive {
    /// Whether the drive keeps the bytes that are written to it.
    pub fn keeps_bytes(&self) -> bool {
        self.payload.is_some()
    }

    /// Keeps bytes from now on. Everything that the drive holds so far becomes zeros.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub fn keep_bytes(&mut self) -> std::io::Result<()> {
        match &mut self.off {
            Some(off) => off.keep_payload()?,
            None => over_either!(&mut self.firmware, ftl => ftl.keep_payload())?,
        }
        let unit_bytes = self.unit_bytes();
        self.payload.get_or_insert_with(|| crate::payload::Payload::new(unit_bytes));
        Ok(())
    }

    /// Whether a unit holds bytes that were written to it; false for zeros and for data without bytes.
    pub fn holds_bytes(&self, unit: Lpn) -> bool {
        self.payload.is_some() && over_either!(&self.firmware, ftl => ftl.payload(unit)) != ZEROS
    }

    /// Memory that the kept bytes take.
    pub fn payload_memory(&self) -> u64 {
        self.payload.as_ref().map_or(0, crate::payload::Payload::memory)
    }

    /// What is wrong with the files from which kept bytes were read since the drive was opened, if anything is. What the drive answered since then
    /// may be wrong, and it must not be saved.
    pub fn damage(&self) -> Option<&str> {
        self.payload.as_ref().and_then(crate::payload::Payload::damage).or_else(|| self.unreadable())
    }

    /// As [`Drive::write_batch`], with the bytes of all units in one slice. A drive that keeps no bytes drops them.
    ///
    /// # Panics
    /// The number of bytes is not that of the units.
    #[must_use = "a batch may end before all of it is written"]
    pub fn write_bytes(&mut self, units: &[Lpn], bytes: &[u8]) -> (usize, Outcome) {
        assert_eq!(bytes.len(), units.len() * self.unit_bytes() as usize, "each unit has its bytes");
        if self.payload.is_none() {
            return self.write_batch(units);
        }
        let handles: Vec<u32> = bytes.chunks_exact(self.unit_bytes() as usize).map(|unit| self.keep(unit)).collect();
        self.write_once(Origin::Host, units, &handles)
    }

    /// Copies the contents of a unit; zeros if it holds nothing or the drive keeps no bytes. This is no read: nothing is counted,
    /// and nothing errs.
    ///
    /// # Panics
    /// `out` does not have the length of a unit.
    pub fn peek_unit(&self, unit: Lpn, out: &mut [u8]) {
        assert_eq!(out.len(), self.unit_bytes() as usize, "a unit is seen whole");
        let handle = over_either!(&self.firmware, ftl => ftl.payload(unit));
        match self.payload.as_ref().and_then(|payload| payload.get(handle)) {
            Some(bytes) => out.copy_from_slice(bytes),
            None => out.fill(0),
        }
    }

    /// Appends a part of a unit as a read brings it: bits that were flipped on purpose and those that the present request read
    /// wrong are flipped.
    pub(crate) fn append_seen(&self, unit: Lpn, within: Range<usize>, out: &mut Vec<u8>) {
        let first = out.len();
        let handle = over_either!(&self.firmware, ftl => ftl.payload(unit));
        match self.payload.as_ref().and_then(|payload| payload.get(handle)) {
            Some(bytes) => out.extend_from_slice(&bytes[within.clone()]),
            None => out.resize(first + within.len(), 0),
        }
        for bit in self.wrong_bits(unit) {
            let byte = bit as usize / 8;
            if within.contains(&byte) {
                out[first + byte - within.start] ^= 1 << (bit % 8);
            }
        }
    }

    /// Copies a part of a unit as a read would bring it if nothing erred: with the bits flipped that were flipped on purpose.
    pub(crate) fn copy_known(&self, unit: Lpn, within: Range<usize>, out: &mut [u8]) {
        let handle = over_either!(&self.firmware, ftl => ftl.payload(unit));
        match self.payload.as_ref().and_then(|payload| payload.get(handle)) {
            Some(bytes) => out.copy_from_slice(&bytes[within.clone()]),
            None => out.fill(0),
        }
        for bit in self.injected(unit).map_or(&[][..], |injected| &injected.flipped) {
            let byte = *bit as usize / 8;
            if within.contains(&byte) {
                out[byte - within.start] ^= 1 << (bit % 8);
            }
        }
    }

    /// The bits of a unit that a read of the present request brings wrong.
    fn wrong_bits(&self, unit: Lpn) -> impl Iterator<Item = u32> {
        let injected = self.injected(unit).map_or(&[][..], |injected| &injected.flipped);
        let misread = self.misread.iter().filter(move |(misread, _)| *misread == unit).flat_map(|(_, bits)| bits);
        injected.iter().chain(misread).copied()
    }

    /// What was done on purpose to the contents of a unit; `None` if nothing was, or the unit was written since.
    pub fn injected(&self, unit: Lpn) -> Option<&Injected> {
        let payload = self.payload.as_ref().filter(|payload| payload.injures())?;
        payload.injected(over_either!(&self.firmware, ftl => ftl.payload(unit)))
    }

    /// Whether the last request read a unit wrong without an error.
    pub fn misread(&self, unit: Lpn) -> bool {
        self.misread.iter().any(|(misread, _)| *misread == unit)
    }

    /// Flips bits in the contents of a unit, counted from its first bit: from now on reads return them flipped without an error.
    /// The flips move with the data, until the unit is written. A bit that is flipped already is flipped back. Returns whether
    /// the unit holds anything.
    ///
    /// # Panics
    /// The drive keeps no bytes, or a bit lies beyond the unit.
    pub fn flip_bits(&mut self, unit: Lpn, bits: &[u32]) -> bool {
        assert!(bits.iter().all(|bit| *bit < 8 * self.unit_bytes()), "the bits of a unit lie in it");
        self.inject(unit, |injected| {
            for bit in bits {
                match injected.flipped.binary_search(bit) {
                    Ok(place) => drop(injected.flipped.remove(place)),
                    Err(place) => injected.flipped.insert(place, *bit),
                }
            }
        })
    }

    /// Makes the contents of a unit unreadable, as [`Drive::write_uncorrectable`] does, and remembers that it was done on
    /// purpose. Returns whether the unit holds anything.
    ///
    /// # Panics
    /// The drive keeps no bytes, or does not export the unit.
    pub fn inject_uncorrectable(&mut self, unit: Lpn) -> bool {
        let is_there = self.inject(unit, |injected| injected.is_unreadable = true);
        if is_there {
            self.write_uncorrectable(unit).expect("the unit is exported");
        }
        is_there
    }

    /// Gives a unit its own copy of its bytes and applies `change` to what was done to them.
    fn inject(&mut self, unit: Lpn, change: impl FnOnce(&mut Injected)) -> bool {
        assert!(self.keeps_bytes(), "only a drive that keeps bytes has something to do it to");
        let mut injected = self.injected(unit).cloned().unwrap_or_default();
        change(&mut injected);
        let mut bytes = vec![0; self.unit_bytes() as usize];
        self.peek_unit(unit, &mut bytes);
        let handle = self.keep(&bytes);
        let is_there = over_either!(&mut self.firmware, ftl => ftl.replace_payload(unit, handle));
        if !is_there {
            self.give_up(&[handle]);
        } else if let Some(payload) = self.payload.as_mut().filter(|_| injected != Injected::default()) {
            payload.inject(handle, injected);
        }
        is_there
    }

    /// A handle to the contents of a unit after the bytes `within` it were replaced, by zeros where there are no `bytes`. What is
    /// read wrong of the rest is written back and stays wrong. `pristine` and `seen` are memory to work in.
    pub(crate) fn keep_part(
        &mut self,
        (unit, within): (Lpn, Range<usize>),
        bytes: Option<&[u8]>,
        pristine: &mut Vec<u8>,
        seen: &mut Vec<u8>,
    ) -> u32 {
        let replace = |unit: &mut [u8]| match bytes {
            Some(bytes) => unit[within.clone()].copy_from_slice(bytes),
            None => unit[within.clone()].fill(0),
        };
        pristine.resize(self.unit_bytes() as usize, 0);
        self.peek_unit(unit, pristine);
        replace(pristine);
        if self.wrong_bits(unit).next().is_none() {
            return self.keep(pristine);
        }
        seen.clear();
        self.append_seen(unit, 0..pristine.len(), seen);
        replace(seen);
        self.keep_misread(pristine, seen)
    }

    /// A handle to bytes that should be `pristine` and read as `seen`.
    fn keep_misread(&mut self, pristine: &[u8], seen: &[u8]) -> u32 {
        let handle = self.keep(pristine);
        let differs = pristine.iter().zip(seen).map(|(wanted, found)| wanted ^ found);
        let wrong = (0..).zip(differs).filter(|(_, differs)| *differs != 0);
        let bits = |(byte, differs): (u32, u8)| {
            (0..8).filter(move |bit| differs >> bit & 1 == 1).map(move |bit| 8 * byte + bit)
        };
        let flipped: Vec<u32> = wrong.flat_map(bits).collect();
        if let Some(payload) = self.payload.as_mut().filter(|_| !flipped.is_empty()) {
            payload.inject(handle, Injected { flipped, is_unreadable: false });
        }
        handle
    }

    /// Adds the units that the last read did not bring to `failed`. Where the drive's error correction does not notice, they are
    /// read with wrong bits instead.
    pub(crate) fn note_unread(&mut self, failed: &mut Vec<Lpn>) {
        if self.unread().is_empty() {
            return;
        }
        let unread = self.unread().to_vec();
        if self.flips_bits { self.misread_unnoticed(&unread, failed) } else { failed.extend(unread) }
    }

    /// Misreads units, but for those that are noticed, which are added to `noticed`.
    fn misread_unnoticed(&mut self, unread: &[Lpn], noticed: &mut Vec<Lpn>) {
        let (mut last, bytes) = (None, self.unit_bytes());
        for unit in unread.iter().copied() {
            let place = self.lookup(unit).filter(|_| !over_either!(&self.firmware, ftl => ftl.is_lost(unit)));
            let place = place.map(|place| {
                let (block, within) = self.layout().locate(place);
                self.layout().place(block, within)
            });
            let errs = match &self.firmware {
                Firmware::Detailed(ftl) => ftl.media().cells().zip(place),
                _ => None,
            };
            match errs {
                Some((cells, (block, page))) if self.faults_spare(block, page) => {
                    let bits = cells.wrong_bits(block, page, bytes, self.data_days(), &mut self.flips);
                    self.misread.push((unit, bits));
                    // The units of a page are one read.
                    self.reads_misread += u64::from(last.replace((block, page)) != Some((block, page)));
                }
                _ => noticed.push(unit),
            }
        }
    }

    /// Whether a page is still there. A loss with a die or a wordline is noticed.
    fn faults_spare(&self, block: BlockId, page: u32) -> bool {
        self.flash().and_then(|flash| flash.faults()).is_none_or(|faults| !faults.page_lost(block, page))
    }

    /// Copies the contents of a unit to another one, as a file system that moves its data does.
    #[must_use = "the drive may pause, or want capacity back"]
    pub fn copy_unit(&mut self, from: Lpn, to: Lpn) -> (usize, Outcome) {
        if self.payload.is_none() {
            return self.write_batch_from(Origin::FileSystemMove, &[to]);
        }
        let handle = self.shared(from);
        self.write_once(Origin::FileSystemMove, &[to], &[handle])
    }

    /// Writes units again with their present contents, as aging does. Their host has the data and writes them unchanged.
    pub(super) fn rewrite(&mut self, origin: Origin, units: &[Lpn]) -> (usize, Outcome) {
        let injures = self.payload.as_ref().is_some_and(crate::payload::Payload::injures);
        let mut whole = Vec::new();
        let handle = |unit: &Lpn| {
            if !injures || self.injected(*unit).is_none() {
                return self.shared(*unit);
            }
            whole.resize(self.unit_bytes() as usize, 0);
            self.peek_unit(*unit, &mut whole);
            self.keep(&whole)
        };
        let handles: Vec<u32> = units.iter().map(handle).collect();
        self.write_once(origin, units, &handles)
    }

    /// Writes without time, as [`Drive::write_batch`] does, and frees the handles of units that were not written.
    pub(super) fn write_once(&mut self, origin: Origin, units: &[Lpn], handles: &[u32]) -> (usize, Outcome) {
        self.front.mapped = None;
        let write = |drive: &mut Self| drive.write_handles(origin, None, units, handles);
        let is_resting = self.keeps_detail || !self.is_awake() || self.rest();
        let (done, outcome) = if is_resting { write(self) } else { self.without_time(write) };
        self.give_up(&handles[done..]);
        (done, outcome)
    }

    /// One more handle to the contents of a unit.
    fn shared(&mut self, unit: Lpn) -> u32 {
        over_either!(&mut self.firmware, ftl => {
            let handle = ftl.payload(unit);
            ftl.share_payload(handle);
            handle
        })
    }

    /// A handle to new bytes.
    pub(crate) fn keep(&mut self, bytes: &[u8]) -> u32 {
        let Some(payload) = &mut self.payload else { return ZEROS };
        let handle = over_either!(&mut self.firmware, ftl => ftl.take_payload());
        payload.get_mut(handle).copy_from_slice(bytes);
        handle
    }

    /// Frees handles that no unit refers to.
    pub(crate) fn give_up(&mut self, handles: &[u32]) {
        over_either!(&mut self.firmware, ftl => handles.iter().for_each(|handle| ftl.drop_payload(*handle)));
    }

    /// Writes units with the contents that the handles name. Handles of units that were not written remain the caller's.
    pub(crate) fn write_handles(
        &mut self,
        origin: Origin,
        hint: Option<u16>,
        units: &[Lpn],
        handles: &[u32],
    ) -> (usize, Outcome) {
        over_either!(&mut self.firmware, ftl => ftl.write_holding(origin, hint, units, handles))
    }
}
