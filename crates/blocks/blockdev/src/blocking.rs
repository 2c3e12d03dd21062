//! Reads and writes that return when they are done: for file systems, tools and tests that do one thing after another.

use wane_units::{Bytes, Lba, Nanos, Sectors, SimTime};

use crate::{BlockDevice, Completion, Kind, Request, RequestId, SectorRange, Status};

/// A request that did not end as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} of {range}: {status}")]
pub struct IoError {
    /// Kind of the request.
    pub kind: Kind,
    /// Its range.
    pub range: SectorRange,
    /// How it ended.
    pub status: Status,
    /// For a read with a medium error: the bytes of the range, with zeros for what could not be read.
    pub bytes: Option<Vec<u8>>,
}

/// A device and a clock: every call runs the clock until its request is complete.
///
/// Other requests may be outstanding meanwhile, submitted by [`Self::submit`]; their completions are kept until
/// [`Self::take_completions`] or [`Self::wait`] asks for them.
#[derive(Clone, Debug)]
pub struct Blocking<D> {
    device: D,
    now: SimTime,
    kept: Vec<Completion>,
}

impl<D: BlockDevice> Blocking<D> {
    /// Makes a blocking device at the start of time.
    pub const fn new(device: D) -> Self {
        Self::starting_at(device, SimTime::ZERO)
    }

    /// Makes a blocking device at the instant `now`, up to which the device has already run.
    pub const fn starting_at(device: D, now: SimTime) -> Self {
        Self { device, now, kept: Vec::new() }
    }

    /// The device.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// The device. Completions of requests submitted directly to it are collected there or by [`Self::take_completions`].
    pub const fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Returns the device.
    pub fn into_inner(self) -> D {
        self.device
    }

    /// The clock.
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Lets time pass, at most to the end of time.
    pub fn advance(&mut self, duration: Nanos) {
        self.now = self.now.saturating_add(duration);
        self.device.complete(self.now, &mut self.kept);
    }

    /// Submits a request without waiting for it.
    pub fn submit(&mut self, request: Request) -> RequestId {
        self.device.submit(self.now, request)
    }

    /// Runs until the request `id` is complete.
    ///
    /// # Panics
    /// No such request is outstanding, or the device breaks the rule that its bound advances.
    pub fn wait(&mut self, id: RequestId) -> Completion {
        loop {
            if let Some(place) = self.kept.iter().position(|completion| completion.id == id) {
                return self.kept.remove(place);
            }
            let next = self.device.next_event_at();
            let next = next.unwrap_or_else(|| panic!("request {id} is neither outstanding nor complete"));
            // Answers to others that nobody took out may lie in the past.
            let next = next.max(self.now);
            self.now = next;
            self.device.complete(next, &mut self.kept);
            let bound = self.device.next_event_at();
            assert!(bound.is_none_or(|bound| bound > next), "the bound of what comes stays at {next}");
        }
    }

    /// Completions of other requests that came while one was waited for, in order.
    pub fn take_completions(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.kept)
    }

    /// Submits a request and runs until it is complete.
    ///
    /// # Errors
    /// Its status is not [`Status::Done`].
    pub fn perform(&mut self, request: Request) -> Result<Completion, IoError> {
        let id = self.submit(request);
        let done = self.wait(id);
        if done.status.is_done() {
            return Ok(done);
        }
        Err(IoError { kind: done.kind, range: done.range, status: done.status, bytes: done.bytes })
    }

    /// The bytes of `range`, read in requests of at most [`Request::TRANSFER_MAX`]. Empty if the device keeps no bytes.
    ///
    /// # Errors
    /// A read failed. The error has the range of that one request.
    pub fn read(&mut self, range: SectorRange) -> Result<Vec<u8>, IoError> {
        let bytes = self.transfer(Request::read(range))?;
        debug_assert!(
            bytes.is_empty() || bytes.len() == range.len_bytes(),
            "a device brings all bytes of a range or none"
        );
        Ok(bytes)
    }

    /// Writes `bytes`, whole sectors, from `start` on, in requests of at most [`Request::TRANSFER_MAX`].
    ///
    /// # Errors
    /// The bytes are not whole sectors, or a write failed; earlier writes stay.
    pub fn write(&mut self, start: Lba, bytes: Vec<u8>) -> Result<(), IoError> {
        let size = Bytes(bytes.len() as u64);
        let Some(count) = Sectors::filled_by(size) else {
            // Refused by the same rule as any request whose bytes do not fit its range.
            let range = SectorRange::new(start, Sectors(size.0 / Sectors::SIZE.0));
            return self.perform(Request::write(range, bytes)).map(|_| ());
        };
        self.transfer(Request::write(SectorRange::new(start, count), bytes)).map(|_| ())
    }

    /// Performs a read or a write in requests of at most [`Request::TRANSFER_MAX`], up to the first that fails. Returns the bytes
    /// of a read.
    fn transfer(&mut self, request: Request) -> Result<Vec<u8>, IoError> {
        let Request { kind, range, .. } = request;
        if range.end().is_none() {
            return Err(IoError { kind, range, status: Status::OutOfRange, bytes: None });
        }
        let mut bytes = Vec::new();
        for part in request.parts(Request::TRANSFER_MAX, &self.device.features()) {
            let read = self.perform(part)?.bytes.unwrap_or_default();
            if bytes.is_empty() {
                bytes = read;
            } else {
                bytes.extend_from_slice(&read);
            }
        }
        Ok(bytes)
    }

    /// As [`Self::write`], and durable: by force unit access if the device has it, otherwise by a flush.
    ///
    /// # Errors
    /// As [`Self::write`], or the flush failed.
    pub fn write_durably(&mut self, start: Lba, bytes: Vec<u8>) -> Result<(), IoError> {
        let count = Sectors::filled_by(Bytes(bytes.len() as u64));
        match count {
            Some(count) if self.device.features().fua && count <= Request::TRANSFER_MAX => {
                self.perform(Request::write(SectorRange::new(start, count), bytes).with_fua()).map(|_| ())
            }
            _ => {
                self.write(start, bytes)?;
                self.flush()
            }
        }
    }

    /// Makes `range` read as zeros, in requests of at most [`Request::LONG_PART`]. It stays allocated.
    ///
    /// # Errors
    /// It was not done. The error names what failed of the whole range.
    pub fn write_zeroes(&mut self, range: SectorRange) -> Result<(), IoError> {
        self.perform_in_parts(Request::write_zeroes(range))
    }

    /// Discards the contents of `range`, in requests of at most [`Request::LONG_PART`].
    ///
    /// # Errors
    /// It was not done. The error names what failed of the whole range.
    pub fn discard(&mut self, range: SectorRange) -> Result<(), IoError> {
        self.perform_in_parts(Request::trim(range))
    }

    /// Performs a request that carries no bytes, part after part.
    fn perform_in_parts(&mut self, request: Request) -> Result<(), IoError> {
        let Request { kind, range, .. } = request;
        let features = self.device.features();
        if request.check(&features, self.device.capacity()).is_err() {
            return self.perform(request).map(|_| ());
        }
        let mut status = Status::Done;
        for part in request.parts(Request::LONG_PART, &features) {
            let id = self.submit(part);
            status = status.join(self.wait(id).status);
        }
        if status.is_done() { Ok(()) } else { Err(IoError { kind, range, status, bytes: None }) }
    }

    /// Moves the contents of `source` to `destination` by a change of the map.
    ///
    /// # Errors
    /// It was not done.
    pub fn remap(&mut self, source: SectorRange, destination: SectorRange) -> Result<(), IoError> {
        self.perform(Request::remap(source, destination)).map(|_| ())
    }

    /// Makes everything durable that was submitted before.
    ///
    /// # Errors
    /// It was not done.
    pub fn flush(&mut self) -> Result<(), IoError> {
        self.perform(Request::flush()).map(|_| ())
    }

    /// Asks for another capacity now.
    pub fn set_capacity(&mut self, capacity: Sectors) -> Status {
        self.device.set_capacity(self.now, capacity)
    }
}

/// Runs a device until nothing is outstanding. Returns when that is, but not before `now`.
pub fn drain(device: &mut (impl BlockDevice + ?Sized), now: SimTime, out: &mut Vec<Completion>) -> SimTime {
    let mut reached = now;
    while let Some(next) = device.next_event_at() {
        // What was submitted at an earlier instant may have completed before `now`.
        let until = next.max(reached);
        device.complete(until, out);
        let bound = device.next_event_at();
        assert!(bound.is_none_or(|bound| bound > until), "the bound of what comes stays at {until}");
        reached = until;
    }
    reached
}
