//! Power cuts of a drive, and its recovery.

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{Completion as Answer, Status};
use wane_ftl::{BuildError, Fate, Ftl, FtlConfig, PowerCut, Recovery};
use wane_nand::{Array, Flash};
use wane_units::{Nanos, Sectors, SimTime};

use super::{Drive, DriveError, Firmware, MOVING};
use crate::{ClockSpec, Command, CommandKind, Progress};

/// What a drive without power is.
#[derive(Clone)]
pub(crate) struct Off {
    left: Left,
    levels: bool,
    /// Days that have passed since.
    days: f64,
    /// Days by which its data aged more than that.
    aged: f64,
}

/// What is left of the firmware.
#[derive(Clone)]
enum Left {
    OverCounting(Box<PowerCut<Array>>),
    OverDetailed(Box<PowerCut<Flash>>),
    /// The drive keeps no out-of-band data.
    Nothing,
}

impl Off {
    /// Saves what a drive without power is, or reads it into a new drive that just lost its power.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("off.levels", &mut self.levels)?;
        archive.field("off.days", &mut self.days)?;
        archive.field("off.aged", &mut self.aged)?;
        let is_left = !matches!(self.left, Left::Nothing);
        let mut was_left = is_left;
        archive.field("off.is-left", &mut was_left)?;
        if !was_left {
            self.left = Left::Nothing;
        }
        match &mut self.left {
            Left::OverCounting(cut) => cut.archive(archive, Array::archive),
            Left::OverDetailed(cut) => cut.archive(archive, Flash::archive),
            Left::Nothing if was_left => {
                let (found, wanted) = ("with data".to_owned(), "without any".to_owned());
                Err(ArchiveError::AnotherDrive { name: "off".to_owned(), found, wanted })
            }
            Left::Nothing => Ok(()),
        }
    }

    /// Keeps bytes from now on.
    pub(crate) fn keep_payload(&mut self) -> std::io::Result<()> {
        match &mut self.left {
            Left::OverCounting(cut) => cut.keep_payload(),
            Left::OverDetailed(cut) => cut.keep_payload(),
            Left::Nothing => Ok(()),
        }
    }

    /// Of each handle of bytes: whether something that is left may refer to it.
    pub(crate) fn payloads_held(&self) -> Vec<bool> {
        match &self.left {
            Left::OverCounting(cut) => cut.payloads_held(),
            Left::OverDetailed(cut) => cut.payloads_held(),
            Left::Nothing => Vec::new(),
        }
    }
}

impl Drive {
    /// Cuts the power now. `fate` decides what became of each program and erase that the flash is at work on, in the order in
    /// which they came; those that have not begun never happened. A drive without a clock has nothing in flight. Requests that
    /// have not completed end now, as [`Status::Gone`]. Until [`Drive::power_on`], only the calls of the device's traits may be
    /// made. Does nothing if the power is off.
    ///
    /// Operations that were done but not committed have not begun. Operations that were done without time are done.
    pub fn power_cut(&mut self, mut fate: impl FnMut() -> Fate) {
        if self.off.is_some() {
            return;
        }
        if self.clock_spec.is_some() {
            // The time of the recovery is wanted.
            self.wake();
        }
        let (first, progress) =
            self.clock.as_mut().map(|clock| (clock.settle_changes(), clock.progress())).unwrap_or_default();
        let fates: Vec<Fate> = progress
            .into_iter()
            .map(|progress| match progress {
                Progress::Done => Fate::Done,
                Progress::Begun => fate(),
                Progress::NotBegun => Fate::Undone,
            })
            .collect();
        let fate_of = |number: u64| match number.checked_sub(first) {
            Some(place) => fates.get(place as usize).copied().unwrap_or(Fate::Undone),
            None => Fate::Done,
        };
        self.end_pending();
        self.day = self.day();
        let levels = over_either!(&self.firmware, ftl => ftl.is_leveling());
        let left = match std::mem::replace(&mut self.firmware, Firmware::Moving) {
            Firmware::Counting(ftl) => ftl.power_cut().map(|cut| Left::OverCounting(Box::new(cut))),
            Firmware::Detailed(ftl) => ftl.power_cut_in_flight(fate_of).map(|cut| Left::OverDetailed(Box::new(cut))),
            Firmware::Moving => unreachable!("{MOVING}"),
        };
        let left = left.unwrap_or(Left::Nothing);
        self.off = Some(Box::new(Off { left, levels, days: 0.0, aged: 0.0 }));
    }

    /// Ends the requests that have not completed.
    fn end_pending(&mut self) {
        let at = self.front.now;
        for answer in self.front.pending.take_all() {
            self.front.done.push(Answer { at, status: Status::all_gone(answer.range), ..answer });
        }
        self.front.done.cut_off(at);
    }

    /// Whether the power is off.
    pub fn is_off(&self) -> bool {
        self.off.is_some()
    }

    /// Lets days pass while the power is off, in which data age `rate` times as fast as usual.
    pub(crate) fn pass_off(&mut self, days: f64, rate: f64) {
        let Some(off) = &mut self.off else { return };
        (off.days, off.aged) = (off.days + days, off.aged + days * (rate - 1.0));
        self.unpowered = (self.unpowered.0 + days, self.unpowered.1 + 1);
    }

    /// Brings power back at once: the drive finds what is left, and takes requests again. Returns what the recovery did and, on
    /// a drive with a clock, how long it took: its reads as fast as dies and channels allow, and its programs and erases.
    /// Requests come no earlier than that.
    ///
    /// The limit of re-reads, a retirement threshold that the host set, and what policies remembered are lost.
    ///
    /// # Errors
    /// The power is on ([`DriveError::PowerIsOn`]). The drive keeps no out-of-band data ([`BuildError::NothingKept`]), or memory
    /// is short: then it stays without power for ever.
    pub fn power_on(&mut self) -> Result<(Recovery, Option<Nanos>), DriveError> {
        let Some(off) = &mut self.off else { return Err(DriveError::PowerIsOn) };
        let left = std::mem::replace(&mut off.left, Left::Nothing);
        let Off { levels, days, aged, .. } = **off;
        let Some(config) = &self.recovers_with else { return Err(BuildError::NothingKept.into()) };
        let config = FtlConfig::clone(config);
        let today = self.day + days;
        let (report, is_older) = match left {
            Left::OverCounting(cut) => {
                let (found, report) = Ftl::recover(*cut, config)?;
                self.firmware = Firmware::Counting(Box::new(found));
                (report, days > 0.0)
            }
            Left::OverDetailed(mut cut) => {
                let is_timed = self.clock_spec.is_some();
                cut.media_mut().record(is_timed);
                cut.media_mut().set_now_days(today);
                cut.media_mut().age_data(aged);
                let (found, report) = Ftl::recover(*cut, config)?;
                self.firmware = Firmware::Detailed(Box::new(found));
                (report, false)
            }
            Left::Nothing => return Err(BuildError::NothingKept.into()),
        };
        self.off = None;
        self.power_cuts += 1;
        self.set_leveling(levels);
        if is_older {
            self.set_day(today);
            if let Some(flash) = self.flash_mut() {
                flash.age_data(aged);
            }
        } else if self.clock.is_some() {
            self.first_day += days;
        }
        let took = self.clock_spec.clone().and_then(|spec| self.time_recovery(&spec));
        let exported = Sectors(self.front.unit.0 * u64::from(self.exported()));
        self.front.capacity = self.front.capacity.min(exported);
        self.front.wanted = None;
        self.front.mapped = None;
        self.follow_limit();
        Ok((report, took))
    }

    /// Time that the flash needs for the operations of a recovery. The clock continues after it.
    fn time_recovery(&mut self, spec: &ClockSpec) -> Option<Nanos> {
        let Firmware::Detailed(ftl) = &mut self.firmware else { return None };
        let mut scheduler = spec.scheduler(&self.geometry).expect("the clock was checked when the drive was built");
        let command = Command { token: 0, kind: CommandKind::Trim, bytes: 0 };
        scheduler.submit(0, command, ftl.media().ops());
        ftl.media_mut().record(false);
        let took = scheduler.run_out();
        if let Some(clock) = &mut self.clock {
            // The clock stood while the power was off.
            let at = clock.now_ns().max(self.front.now.0).saturating_add(took);
            clock.restart(spec, &self.geometry, at);
            self.front.now = self.front.now.max(SimTime(clock.now_ns()));
            self.record();
            self.follow_clock();
        } else {
            self.front.now = self.front.now.saturating_add(Nanos(took));
        }
        Some(Nanos(took))
    }
}
