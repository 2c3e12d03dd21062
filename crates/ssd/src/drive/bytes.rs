//! Data of a drive that keeps them: bytes on their way to units and back.

use wane_ftl::{Origin, Outcome, ZEROS};
use wane_units::Lpn;

use super::{Drive, Firmware, MOVING};

impl Drive {
    /// Whether it keeps the bytes that it is given.
    pub fn keeps_bytes(&self) -> bool {
        self.payload.is_some()
    }

    /// Keeps bytes from now on. What it holds so far is zeros.
    ///
    /// # Errors
    /// The kernel refuses the address space.
    pub fn keep_bytes(&mut self) -> std::io::Result<()> {
        over_either!(&mut self.firmware, ftl => ftl.keep_payload())?;
        let unit_bytes = self.unit_bytes();
        self.payload.get_or_insert_with(|| crate::payload::Payload::new(unit_bytes));
        Ok(())
    }

    /// Memory that its bytes take.
    pub fn payload_memory(&self) -> u64 {
        self.payload.as_ref().map_or(0, crate::payload::Payload::memory)
    }

    /// As [`Drive::write_batch`], with the bytes of each unit, one after the other. A drive that keeps none forgets them.
    ///
    /// # Panics
    /// There are not as many bytes as the units have.
    #[must_use = "a batch may end before all of it is written"]
    pub fn write_bytes(&mut self, units: &[Lpn], bytes: &[u8]) -> (usize, Outcome) {
        assert_eq!(bytes.len(), units.len() * self.unit_bytes() as usize, "each unit has its bytes");
        if self.payload.is_none() {
            return self.write_batch(units);
        }
        let handles: Vec<u32> = bytes.chunks_exact(self.unit_bytes() as usize).map(|unit| self.keep(unit)).collect();
        self.write_once(Origin::Host, units, &handles)
    }

    /// What a unit holds; zeros where it holds nothing, or the drive keeps no bytes. No read: nothing is counted, and nothing errs.
    ///
    /// # Panics
    /// `out` has not the length of a unit.
    pub fn peek(&self, unit: Lpn, out: &mut [u8]) {
        assert_eq!(out.len(), self.unit_bytes() as usize, "a unit is seen whole");
        let handle = over_either!(&self.firmware, ftl => ftl.payload(unit));
        match self.payload.as_ref().and_then(|payload| payload.get(handle)) {
            Some(bytes) => out.copy_from_slice(bytes),
            None => out.fill(0),
        }
    }

    /// Writes to a unit what another one holds, as a file system that moves its data does.
    #[must_use = "the drive may pause, or want capacity back"]
    pub fn copy_unit(&mut self, from: Lpn, to: Lpn) -> (usize, Outcome) {
        if self.payload.is_none() {
            return self.write_batch_from(Origin::FileSystemMove, &[to]);
        }
        let handle = self.shared(from);
        self.write_once(Origin::FileSystemMove, &[to], &[handle])
    }

    /// Writes units that keep what they hold: what aging does to data.
    pub(super) fn rewrite(&mut self, origin: Origin, units: &[Lpn]) -> (usize, Outcome) {
        let handles: Vec<u32> = units.iter().map(|unit| self.shared(*unit)).collect();
        self.write_once(origin, units, &handles)
    }

    /// Writes without time, as [`Drive::write_batch`] does. Handles of units that were not written are given up.
    fn write_once(&mut self, origin: Origin, units: &[Lpn], handles: &[u32]) -> (usize, Outcome) {
        let write = |drive: &mut Self| drive.write_handles(origin, None, units, handles);
        let is_resting = self.keeps_detail || !self.is_awake() || self.rest();
        let (done, outcome) = if is_resting { write(self) } else { self.without_time(write) };
        self.give_up(&handles[done..]);
        (done, outcome)
    }

    /// One more handle to what a unit holds.
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

    /// Nobody holds what these handles name.
    pub(crate) fn give_up(&mut self, handles: &[u32]) {
        over_either!(&mut self.firmware, ftl => handles.iter().for_each(|handle| ftl.drop_payload(*handle)));
    }

    /// Writes units that hold what the handles name. Those of units that were not written are still the caller's.
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
