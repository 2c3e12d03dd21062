//! A drive as one value: firmware, medium, calendar and clock.
//!
//! A drive ages on the counting medium, which only counts wear. Errors and time need the detailed medium: a request through
//! [`wane_blockdev::BlockDevice`], a clock, flash that fails. The firmware's tables then move to the detailed medium without a
//! copy, and the next [`Drive::write_batch`] moves them back once nothing is outstanding. The state is the same on both.
//!
//! State changes at once, in the calls that take mapping units. Time follows: between two requests the clock runs
//! ([`Drive::run_until`]), and [`Drive::commit`] makes one request of what was done since the last commit.

use std::sync::atomic::AtomicBool;

use wane_blockdev::RequestId;
use wane_ftl::policies::capacity::Demand;
use wane_ftl::{BuildError, EndOfLife, Ftl, FtlConfig, Origin, OutOfRange, Outcome};
use wane_nand::{
    Array, Cells, ErrorConfig, FaultConfig, Faults, Flash, Health, Media, NandConfigError, Relocations, Resting,
    Uncorrectable,
};
use wane_sim::{Stream, Streams};
use wane_units::{BlockId, Bytes, Geometry, Lpn, Sectors};

use crate::payload::Payload;
use crate::projection::Predicted;
use crate::{Clock, ClockSpec, Command, CommandKind, Completion, ConfigError};

/// Requests whose breakdown is remembered.
pub(crate) const BREAKDOWNS_MAX: usize = 4096;

/// Bytes of a sector.
const SECTOR_BYTES: u64 = 512;

/// What a drive is made of.
#[derive(Clone)]
pub struct DriveConfig {
    /// The flash.
    pub geometry: Geometry,
    /// The firmware.
    pub ftl: FtlConfig,
    /// Erases of each flash block so far, by its id; none where all are new. The blocks of a superblock have equally many.
    pub erase_counts: Vec<u32>,
    /// Raw bit errors and their correction; none where the flash never errs. Errors begin when the drive first needs them.
    pub errors: Option<ErrorConfig>,
    /// Faults: programs, erases, wordlines and dies that fail.
    pub faults: Option<FaultConfig>,
    /// Times of the flash and its scheduler. Without a clock, requests take no time.
    pub clock: Option<ClockSpec>,
    /// Whether the drive keeps in memory the bytes that are written to it.
    pub keeps_bytes: bool,
}

impl DriveConfig {
    /// Makes the configuration of a drive of new flash without errors, faults and clock.
    pub fn new(geometry: Geometry, ftl: FtlConfig) -> Self {
        Self { geometry, ftl, erase_counts: Vec::new(), errors: None, faults: None, clock: None, keeps_bytes: false }
    }

    /// Whether its parts fit the flash.
    fn check(&self) -> Result<(), DriveError> {
        let Self { geometry, erase_counts, errors, faults, clock, .. } = self;
        let blocks = geometry.blocks();
        if !erase_counts.is_empty() && erase_counts.len() != blocks as usize {
            return Err(DriveError::EraseCounts { found: erase_counts.len(), blocks });
        }
        if let Some(errors) = errors {
            errors.check(geometry)?;
        }
        if let Some(faults) = faults {
            faults.check(geometry)?;
        }
        if let Some(clock) = clock {
            clock.scheduler(geometry)?;
        }
        Ok(())
    }
}

/// Why a drive cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The firmware refuses its counts.
    #[error(transparent)]
    Firmware(#[from] BuildError),
    /// Errors, their correction or faults contradict each other.
    #[error(transparent)]
    Nand(#[from] NandConfigError),
    /// Times or schedule contradict each other.
    #[error(transparent)]
    Clock(#[from] ConfigError),
    /// A mapping unit that is no whole number of sectors.
    #[error("a mapping unit has {0}; a drive's unit is a multiple of 512 bytes")]
    Unit(Bytes),
    /// Power that is on is switched on.
    #[error("the drive's power is on")]
    PowerIsOn,
    /// Erase counts for another number of blocks.
    #[error("{found} erase counts for {blocks} flash blocks; give one for each, or none")]
    EraseCounts {
        /// Counts given.
        found: usize,
        /// Blocks of the flash.
        blocks: u32,
    },
}

/// Why a drive did not age as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgeError {
    /// The drive takes no more writes.
    #[error("the drive died after {written} of the units: {cause:?}")]
    Died {
        /// Why the drive died.
        cause: EndOfLife,
        /// Units that were written.
        written: usize,
    },
    /// Nothing was written.
    #[error(transparent)]
    OutOfRange(OutOfRange),
}

/// The firmware over one of the two media.
#[derive(Clone)]
enum Firmware {
    Counting(Box<Ftl<Array>>),
    Detailed(Box<Ftl<Flash>>),
    /// Moving between the two, during a call; or without power.
    Moving,
}

const MOVING: &str = "firmware is over a medium between calls, while the power is on";

/// Calls the firmware over whichever medium.
macro_rules! over_either {
    ($firmware:expr, $ftl:ident => $call:expr) => {
        match $firmware {
            Firmware::Counting($ftl) => $call,
            Firmware::Detailed($ftl) => $call,
            Firmware::Moving => unreachable!("{MOVING}"),
        }
    };
}

mod bytes;
mod control;
mod facts;
mod front;
mod kept;
mod limit;
mod living;
mod power;

pub(crate) use front::{Front, Scratch};

/// What the flash knows in addition to its wear, while the drive ages.
#[derive(Clone)]
enum Asleep {
    /// Nothing yet: the flash was never awake.
    Never,
    /// The flash rests with this knowledge.
    Resting(Box<Resting>),
    /// The flash is awake.
    Awake,
}

/// See the head of this file.
#[derive(Clone)]
pub struct Drive {
    firmware: Firmware,
    asleep: Asleep,
    errors: Option<ErrorConfig>,
    clock_spec: Option<ClockSpec>,
    pub(crate) clock: Option<Clock>,
    /// Stays on the detailed medium, whatever is asked.
    keeps_detail: bool,
    /// Never ages on the counting medium, because faults and policies that look at the flash must see everything.
    needs_detail: bool,
    is_striped: bool,
    scrubs: bool,
    may_fail: bool,
    /// The day on which the clock started.
    first_day: f64,
    /// Today, while there is no detailed flash that keeps the day.
    day: f64,
    /// Days that the drive lay without power, and how often it did.
    unpowered: (f64, u64),
    predicted: Predicted,
    /// How often its power failed.
    power_cuts: u64,
    /// Logical units when new.
    logical_initial: u32,
    /// What it is while its power is off.
    pub(crate) off: Option<Box<power::Off>>,
    /// The configuration of its firmware; `None` if it could not recover anyway.
    recovers_with: Option<Box<FtlConfig>>,
    streams: Streams,
    geometry: Geometry,
    /// Whether relocations err while it ages without time.
    relocations: Relocations,
    /// Whether uncorrectable pages read with wrong bits that nobody notices.
    flips_bits: bool,
    /// Chooses those bits.
    flips: Stream,
    /// Units that the present request read wrong, and their wrong bits.
    pub(crate) misread: Vec<(Lpn, Vec<u32>)>,
    /// Number of reads that returned wrong bits to the host without an error.
    reads_misread: u64,
    /// The bytes that the drive keeps; `None` if it keeps none.
    pub(crate) payload: Option<Payload>,
    pub(crate) front: Front,
    /// The units of the present batch.
    batch: Vec<Lpn>,
}

/// Never true: for time that nobody stops.
pub(crate) static GO: AtomicBool = AtomicBool::new(false);

impl Drive {
    /// Builds a drive that holds no data.
    ///
    /// # Errors
    /// Firmware, flash and clock do not fit each other, or the tables find no memory.
    pub fn new(config: DriveConfig) -> Result<Self, DriveError> {
        config.check()?;
        let DriveConfig { geometry, ftl, erase_counts, errors, faults, clock, keeps_bytes } = config;
        let mut array = Array::new(geometry);
        for (block, erases) in (0..).map(BlockId).zip(&erase_counts) {
            array.set_erase_count(block, *erases);
        }
        let streams = ftl.streams;
        let recovers_with = ftl.recovery.acts().then(|| Box::new(ftl.clone()));
        let looks_at_the_flash = errors.is_some() && ftl.retire.needs().errors;
        let may_fail = faults.is_some();
        let relocations = errors.as_ref().map_or(Relocations::Trusted, |errors| errors.relocations);
        let flips_bits = errors.as_ref().is_some_and(|errors| errors.uncorrectable == Uncorrectable::FlippedBits);
        let firmware = match faults {
            Some(faults) => {
                let mut flash = Flash::over(array);
                flash.set_faults(Faults::new(&geometry, faults, streams.stream("faults")));
                Firmware::Detailed(Box::new(Ftl::new(flash, ftl)?))
            }
            None => Firmware::Counting(Box::new(Ftl::new(array, ftl)?)),
        };
        let (unit_bytes, logical, scrubs, is_striped) =
            over_either!(&firmware, ftl => (ftl.unit_bytes(), ftl.logical_initial(), ftl.scrubs(), ftl.is_striped()));
        if !u64::from(unit_bytes).is_multiple_of(SECTOR_BYTES) {
            return Err(DriveError::Unit(Bytes(u64::from(unit_bytes))));
        }
        let mut drive = Self {
            needs_detail: may_fail || scrubs || looks_at_the_flash || relocations == Relocations::Checked,
            relocations,
            flips_bits,
            flips: streams.stream("flips"),
            misread: Vec::new(),
            reads_misread: 0,
            scrubs,
            may_fail,
            firmware,
            asleep: Asleep::Never,
            errors,
            clock_spec: clock,
            clock: None,
            keeps_detail: false,
            logical_initial: logical,
            is_striped,
            first_day: 0.0,
            day: 0.0,
            unpowered: (0.0, 0),
            predicted: Predicted::default(),
            power_cuts: 0,
            off: None,
            recovers_with,
            streams,
            geometry,
            payload: None,
            front: Front::new(unit_bytes, logical),
            batch: Vec::new(),
        };
        if keeps_bytes {
            drive.keep_bytes().map_err(BuildError::Memory)?;
        }
        if drive.relocations == Relocations::Checked {
            drive.wake();
        }
        Ok(drive)
    }

    // Medium.

    /// Brings the drive to the detailed medium: from now on its operations may err and take time. Data written before count as
    /// written now.
    pub fn wake(&mut self) {
        if matches!(self.asleep, Asleep::Awake) {
            return;
        }
        let asleep = std::mem::replace(&mut self.asleep, Asleep::Awake);
        let mut ftl = match (std::mem::replace(&mut self.firmware, Firmware::Moving), asleep) {
            (Firmware::Counting(ftl), Asleep::Resting(resting)) => Box::new(ftl.over(|array| resting.wake(array))),
            (Firmware::Counting(ftl), _) => Box::new(ftl.over(Flash::over)),
            (Firmware::Detailed(ftl), _) => ftl,
            (Firmware::Moving, _) => unreachable!("{MOVING}"),
        };
        let flash = ftl.media_mut();
        if flash.now_days() < self.day {
            flash.set_now_days(self.day);
        }
        if let Some(errors) = self.errors.take() {
            flash.set_cells(Cells::new(&self.geometry, errors, self.streams.stream("nand")));
        }
        // Data lost in a relocation matter where stripes restore them, and restoring takes time where time is kept.
        flash.set_relocations(if self.is_striped { Relocations::Checked } else { self.relocations });
        self.firmware = Firmware::Detailed(ftl);
        if let (Some(clock), Some(spec)) = (&mut self.clock, &self.clock_spec) {
            // The scheduler saw nothing of the aging, and nothing is outstanding.
            clock.renew(spec, &self.geometry);
            self.record();
        }
    }

    /// Brings the drive back to the counting medium, if nothing needs the detailed one. Returns whether it is there.
    pub fn rest(&mut self) -> bool {
        if !matches!(self.asleep, Asleep::Awake) {
            return true;
        }
        let outstanding = self.clock.as_ref().is_some_and(|clock| clock.scheduler().outstanding() > 0);
        let looks_at_errors =
            self.read_recovery().is_some() && self.flash().is_some_and(|flash| flash.cells().is_some());
        if self.needs_detail || looks_at_errors || self.keeps_detail || outstanding || !self.front.pending.is_empty() {
            return false;
        }
        let Firmware::Detailed(mut ftl) = std::mem::replace(&mut self.firmware, Firmware::Moving) else {
            unreachable!("a drive that is awake has its firmware over flash")
        };
        // What the flash is still at work on counts as done.
        ftl.keep_flight(None);
        self.day = ftl.media().now_days();
        let unprogrammed = ftl.unprogrammed();
        let mut resting = None;
        let ftl = ftl.over(|flash| {
            let (array, rest) = flash.rest(unprogrammed);
            resting = Some(Box::new(rest));
            array
        });
        self.asleep = Asleep::Resting(resting.expect("the medium was changed"));
        self.firmware = Firmware::Counting(Box::new(ftl));
        true
    }

    /// See [`Drive::keep_detail`].
    pub const fn keeps_detail(&self) -> bool {
        self.keeps_detail
    }

    /// Keeps the drive on the detailed medium from now on if `keeps`, so that batches are parts of requests too.
    pub fn keep_detail(&mut self, keeps: bool) {
        self.keeps_detail = keeps;
        if keeps {
            self.wake();
        }
    }

    /// Whether flash operations are listed and may err.
    pub fn is_awake(&self) -> bool {
        matches!(self.asleep, Asleep::Awake)
    }

    /// The detailed medium, while the drive is awake.
    pub fn flash(&self) -> Option<&Flash> {
        match &self.firmware {
            Firmware::Detailed(ftl) => Some(ftl.media()),
            Firmware::Counting(_) | Firmware::Moving => None,
        }
    }

    /// What the flash knows in addition to its wear, while the drive rests.
    pub(crate) fn resting(&self) -> Option<&Resting> {
        match &self.asleep {
            Asleep::Resting(resting) => Some(resting),
            Asleep::Never | Asleep::Awake => None,
        }
    }

    fn flash_mut(&mut self) -> Option<&mut Flash> {
        match &mut self.firmware {
            Firmware::Detailed(ftl) => Some(ftl.media_mut()),
            Firmware::Counting(_) | Firmware::Moving => None,
        }
    }

    /// Condition of a flash block. For a drive at rest it is the wear alone.
    pub fn health(&self, block: BlockId) -> Health {
        over_either!(&self.firmware, ftl => ftl.media().health(block))
    }

    /// Gives every block a past: `past` returns how many days ago its data were written and how often it was read since.
    ///
    /// # Panics
    /// The days are negative or no finite number.
    pub fn set_past(&mut self, mut past: impl FnMut(BlockId) -> (f64, u32)) {
        self.wake();
        let blocks = self.geometry.blocks();
        let flash = self.flash_mut().expect("awake");
        for block in (0..blocks).map(BlockId) {
            let (days, reads) = past(block);
            assert!(days.is_finite(), "data are a finite number of days old, found {days}");
            assert!(days >= 0.0, "data are written before they age, found {days} days");
            flash.set_past(block, flash.erase_count(block).0, days, reads);
        }
    }

    // State: what the host asks, without time.

    /// Writes mapping units, in order, and ages the drive: no time passes. Stops if the drive wants capacity back or has worked
    /// long enough, and returns how many units were written. The caller then answers, calls [`Drive::reclaim`] or
    /// [`Drive::resume`], and continues with the rest.
    ///
    /// A drive that does not keep its detail goes to rest first.
    #[inline]
    #[must_use = "a batch may end before all of it is written"]
    pub fn write_batch(&mut self, units: &[Lpn]) -> (usize, Outcome) {
        self.write_batch_from(Origin::Host, units)
    }

    /// As [`Drive::write_batch`], to the end: continues where the drive pauses. Where the drive wants capacity back, it continues
    /// like a host that gives none.
    ///
    /// # Errors
    /// The drive died, or a unit is not exported.
    pub fn age(&mut self, units: &[Lpn]) -> Result<(), AgeError> {
        let mut done = 0;
        while done < units.len() {
            let (written, mut outcome) = self.write_batch(&units[done..]);
            done += written;
            loop {
                outcome = match outcome {
                    Outcome::Done => break,
                    Outcome::Paused => self.resume(),
                    Outcome::Demand(_) => self.reclaim(),
                    Outcome::Dead(cause) => return Err(AgeError::Died { cause, written: done }),
                    Outcome::OutOfRange(refused) => return Err(AgeError::OutOfRange(refused)),
                };
            }
        }
        Ok(())
    }

    /// As [`Drive::write_batch`], counted under `origin`.
    #[inline]
    #[must_use = "a batch may end before all of it is written"]
    pub fn write_batch_from(&mut self, origin: Origin, units: &[Lpn]) -> (usize, Outcome) {
        self.front.mapped = None;
        if self.payload.as_ref().is_some_and(|payload| payload.memory() > 0) {
            return self.rewrite(origin, units);
        }
        if !self.keeps_detail && self.is_awake() && !self.rest() {
            return self.without_time(|drive| drive.write_from(origin, None, units));
        }
        self.write_from(origin, None, units)
    }

    #[inline]
    pub(crate) fn write_from(&mut self, origin: Origin, hint: Option<u16>, units: &[Lpn]) -> (usize, Outcome) {
        over_either!(&mut self.firmware, ftl => ftl.write_from(origin, hint, units))
    }

    /// Runs `act` without charging its flash operations to the clock.
    fn without_time<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        if let Firmware::Detailed(ftl) = &mut self.firmware {
            if self.clock.is_none() {
                ftl.media_mut().record(false);
            }
            ftl.keep_flight(None);
        }
        let done = act(self);
        if let (Firmware::Detailed(ftl), Some(clock)) = (&self.firmware, &mut self.clock) {
            clock.skip_erases(ftl.media().ops());
        }
        if self.clock.is_some() {
            self.record();
        }
        done
    }

    /// Reads mapping units. [`Drive::unread`] lists those that could not be read.
    ///
    /// # Errors
    /// One of them is not exported; nothing is read.
    #[inline]
    pub fn read_batch(&mut self, units: &[Lpn]) -> Result<(), OutOfRange> {
        over_either!(&mut self.firmware, ftl => ftl.read(units))
    }

    /// Reads units that the host will write only in part: see [`wane_ftl::Ftl::read_to_modify`].
    ///
    /// # Errors
    /// One of them is not exported; nothing is read.
    pub fn read_to_modify(&mut self, units: &[Lpn]) -> Result<(), OutOfRange> {
        over_either!(&mut self.firmware, ftl => ftl.read_to_modify(units))
    }

    /// Counts units that the host wrote in part, and the bytes of them that it did not write.
    pub fn count_written_in_part(&mut self, units: u64, bytes_around: u64) {
        over_either!(&mut self.firmware, ftl => ftl.count_written_in_part(units, bytes_around));
    }

    /// Counts bytes of units read that the host did not ask for.
    pub fn count_read_around(&mut self, bytes: u64) {
        over_either!(&mut self.firmware, ftl => ftl.count_read_around(bytes));
    }

    /// The units that could not be read in the last read.
    pub fn unread(&self) -> &[Lpn] {
        over_either!(&self.firmware, ftl => ftl.unread())
    }

    /// Counts reads of units that the host knows to hold nothing.
    pub fn read_unmapped(&mut self, units: u64) {
        over_either!(&mut self.firmware, ftl => ftl.read_unmapped(units));
    }

    /// Forgets mapping units.
    ///
    /// # Errors
    /// One of them is not exported; nothing is forgotten.
    pub fn trim_batch(&mut self, units: &[Lpn]) -> Result<(), OutOfRange> {
        self.front.mapped = None;
        over_either!(&mut self.firmware, ftl => ftl.trim(units))
    }

    /// Makes sure that everything written and trimmed so far survives a power cut: see [`Ftl::flush`]. The programs of the flush
    /// are charged to no request.
    pub fn flush_batch(&mut self) -> Outcome {
        let outcome = self.flush_firmware();
        self.commit_background();
        outcome
    }

    /// As [`Drive::flush_batch`], but its programs are part of the present request.
    pub(crate) fn flush_firmware(&mut self) -> Outcome {
        over_either!(&mut self.firmware, ftl => ftl.flush())
    }

    /// See [`Ftl::write_uncorrectable`].
    ///
    /// # Errors
    /// The unit is not exported.
    pub fn write_uncorrectable(&mut self, unit: Lpn) -> Result<(), OutOfRange> {
        over_either!(&mut self.firmware, ftl => ftl.write_uncorrectable(unit))
    }

    /// Continues after an [`Outcome::Paused`].
    pub fn resume(&mut self) -> Outcome {
        over_either!(&mut self.firmware, ftl => ftl.resume())
    }

    /// Continues after an [`Outcome::Demand`], whether the host gave capacity or not.
    pub fn reclaim(&mut self) -> Outcome {
        over_either!(&mut self.firmware, ftl => ftl.reclaim())
    }

    /// Resumes writing after the host gave space up, even if no free block was left.
    pub fn look_for_space(&mut self) -> Outcome {
        over_either!(&mut self.firmware, ftl => ftl.look_for_space())
    }

    /// Number of free blocks in the domain that has the fewest.
    pub fn free_blocks_min(&self) -> u32 {
        over_either!(&self.firmware, ftl => ftl.free_blocks_min())
    }

    /// Prefetches the map entries of units that will soon be read or written.
    #[inline]
    pub fn prefetch(&self, units: &[Lpn]) {
        over_either!(&self.firmware, ftl => ftl.prefetch(units));
    }

    /// Whether the drive scrubs.
    #[inline]
    pub fn scrubs(&self) -> bool {
        self.scrubs
    }

    /// Whether the flash may fail.
    #[inline]
    pub fn may_fail(&self) -> bool {
        self.may_fail
    }

    /// Makes one step of the scrubber. Returns `None` if it has nothing to do or its last step is not done yet.
    pub fn scrub(&mut self) -> Option<Outcome> {
        if !self.scrubs || !self.clock.as_ref().is_none_or(Clock::scrub_is_through) {
            return None;
        }
        self.wake();
        over_either!(&mut self.firmware, ftl => ftl.scrub())
    }

    // Time.

    /// Starts a clock at time 0 on the present day, in place of an earlier one. From now on operations take time.
    ///
    /// # Errors
    /// Times or schedule contradict each other.
    pub fn start_clock(&mut self, spec: &ClockSpec) -> Result<(), ConfigError> {
        let mut spec = spec.clone();
        spec.config.group_dies = over_either!(&self.firmware, ftl => ftl.group_dies()).or(spec.config.group_dies);
        let clock = Clock::new(&spec, &self.geometry)?;
        self.wake();
        self.first_day = self.day();
        self.clock = Some(clock);
        self.clock_spec = Some(spec);
        self.record();
        Ok(())
    }

    /// Records operations from now on: they take time, and a power cut may find them unfinished.
    fn record(&mut self) {
        let (Firmware::Detailed(ftl), Some(clock)) = (&mut self.firmware, &mut self.clock) else { return };
        ftl.media_mut().record(true);
        ftl.media_mut().set_relocations(Relocations::Checked);
        if ftl.keeps_out_of_band() {
            if clock.changes_seen() == 0 {
                clock.track_changes();
            }
            ftl.keep_flight(Some(clock.changes_seen()));
        }
    }

    /// The clock, where time is kept.
    pub fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    /// Today, in days since the flash was new.
    pub fn day(&self) -> f64 {
        self.flash().map_or(self.day, Media::now_days)
    }

    /// Lets time pass without work until `day`: data age. The clock of a drive continues from there.
    ///
    /// # Panics
    /// The day lies in the past, or is no finite number.
    pub fn set_day(&mut self, day: f64) {
        assert!(day.is_finite(), "a day is a finite number, found {day}");
        assert!(day >= self.day(), "days do not go back from {} to {day}", self.day());
        if self.clock.is_some() {
            self.first_day += day - self.day();
        }
        if !self.is_awake() && self.may_err() {
            // Everything written so far belongs to the day that ends.
            self.wake();
        }
        self.pass_to(day);
    }

    #[inline]
    fn pass_to(&mut self, day: f64) {
        match &mut self.firmware {
            Firmware::Detailed(ftl) => ftl.media_mut().set_now_days(day),
            Firmware::Counting(_) | Firmware::Moving => {
                debug_assert!(day >= self.day, "days do not go back from {} to {day}", self.day);
                self.day = day;
            }
        }
    }

    /// Triggers the faults that are due after `drive_writes` drive writes.
    ///
    /// # Panics
    /// The number is negative or not finite.
    #[inline]
    pub fn set_drive_writes(&mut self, drive_writes: f64) {
        assert!(drive_writes.is_finite(), "drive writes are a finite number, found {drive_writes}");
        assert!(drive_writes >= 0.0, "drive writes are counted from 0, found {drive_writes}");
        if let Some(flash) = self.flash_mut() {
            flash.set_drive_writes(drive_writes);
        }
    }

    /// Lets everything end that was committed. Once `stop` is true, the rest is left undone.
    pub fn drain(&mut self, stop: &AtomicBool, each: &mut impl FnMut(&Completion)) {
        if let Some(clock) = &mut self.clock {
            clock.drain(stop, each);
        }
    }

    /// Makes one request, which comes now, of what the drive did since the last commit. Returns `None` if nothing is timed: no
    /// clock, a clock at its end, or a read that found nothing.
    #[inline]
    pub fn commit(&mut self, kind: CommandKind, bytes: u64) -> Option<RequestId> {
        let (Some(clock), Firmware::Detailed(ftl)) = (&mut self.clock, &mut self.firmware) else { return None };
        let token = self.front.next_id;
        let submitted = clock.submit(Command { token, kind, bytes }, ftl.media().ops());
        ftl.media_mut().clear_ops();
        if ftl.keeps_out_of_band() {
            ftl.landed(clock.settle_changes());
        }
        if !submitted {
            return None;
        }
        self.front.next_id += 1;
        Some(RequestId(token))
    }

    /// Commits what the drive did on its own account, which adds to no request's latency.
    pub fn commit_background(&mut self) {
        if self.flash().is_some_and(|flash| !flash.ops().is_empty()) {
            // A trim without host operations is done at once.
            self.commit(CommandKind::Trim, 0);
        }
    }

    /// The clock that the drive has, started or not.
    pub(crate) fn clock_spec(&self) -> Option<&ClockSpec> {
        self.clock_spec.as_ref()
    }

    /// Whether reads of the host can fail.
    pub(crate) fn may_err(&self) -> bool {
        let errs = match &self.asleep {
            Asleep::Never => self.errors.is_some(),
            Asleep::Resting(resting) => resting.errs(),
            Asleep::Awake => true,
        };
        errs || self.needs_detail
    }

    /// Moves the drive's day to that of the clock.
    #[inline]
    pub(crate) fn follow_clock(&mut self) {
        if let Some(clock) = &self.clock {
            // Days that passed beside the clock are added in floating point, and may be a bit more.
            let day = (self.first_day + clock.now_days()).max(self.day());
            self.pass_to(day);
        }
    }

    /// The command by which a flush is timed. If buffers survive a power cut, everything acknowledged is durable.
    pub(crate) fn flush_kind(&self) -> CommandKind {
        if self.may_lose_buffers() { CommandKind::Flush } else { CommandKind::ProtectedFlush }
    }

    /// See [`Ftl::may_lose_buffers`].
    pub fn may_lose_buffers(&self) -> bool {
        over_either!(&self.firmware, ftl => ftl.may_lose_buffers())
    }

    /// Why the drive died.
    pub fn end_of_life(&self) -> Option<EndOfLife> {
        over_either!(&self.firmware, ftl => ftl.end_of_life())
    }

    /// Checks every invariant of the firmware by scanning everything. For tests.
    ///
    /// # Errors
    /// The first invariant that does not hold.
    pub fn check(&self) -> Result<(), String> {
        over_either!(&self.firmware, ftl => ftl.check())?;
        let (counted, held) = (self.front.mapped, over_either!(&self.firmware, ftl => ftl.units_held()));
        match counted.filter(|counted| *counted != held) {
            Some(counted) => Err(format!("{counted} units are counted as mapped, and {held} are")),
            None => Ok(()),
        }
    }

    /// The capacity that a demand asks for, in sectors; never above the present one. [`Demand::DropUnused`] becomes the number of
    /// mapped units.
    pub(crate) fn sectors_wanted(&self, demand: Demand) -> Option<Sectors> {
        let units = match demand {
            Demand::Keep | Demand::EndOfLife => return None,
            Demand::ExportAtMost(units) if units > 0 => units,
            Demand::ExportAtMost(_) | Demand::DropUnused => self.mapped_units(),
        };
        let most = self.front.wanted.unwrap_or_else(|| self.limit());
        Some(Sectors(units.saturating_mul(self.front.unit.0)).min(most))
    }
}
