//! Power cuts of a drive, and its recovery.

use wane_ftl::{BuildError, Fate, Ftl, FtlConfig, PowerCut, Recovery};
use wane_nand::{Array, Flash};
use wane_units::{Nanos, Sectors, SimTime};

use super::{Drive, DriveError, Firmware, MOVING};
use crate::{ClockSpec, Command, CommandKind, Progress};

/// A drive without power. [`Drive::recover`] brings it back.
#[derive(Clone)]
pub struct PoweredOff {
    /// The parts that survive without power, with no firmware in them.
    drive: Drive,
    left: Left,
    levels: bool,
}

/// What is left of the firmware.
#[derive(Clone)]
enum Left {
    OverCounting(Box<PowerCut<Array>>),
    OverDetailed(Box<PowerCut<Flash>>),
}

impl Drive {
    /// Cuts the power now. `fate` decides what became of each program and erase that the flash is at work on, in the order in
    /// which they came; those that have not begun never happened. A drive without a clock has nothing in flight. Requests that
    /// have not completed never complete.
    ///
    /// Operations that were done but not committed have not begun. Operations that were done without time are done.
    ///
    /// # Errors
    /// The drive keeps no out-of-band data ([`BuildError::NothingKept`]); it is lost even so.
    pub fn power_cut(mut self, mut fate: impl FnMut() -> Fate) -> Result<PoweredOff, DriveError> {
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
        self.front.pending.clear();
        let levels = over_either!(&self.firmware, ftl => ftl.is_leveling());
        let left = match std::mem::replace(&mut self.firmware, Firmware::Moving) {
            Firmware::Counting(ftl) => ftl.power_cut().map(|cut| Left::OverCounting(Box::new(cut))),
            Firmware::Detailed(ftl) => ftl.power_cut_in_flight(fate_of).map(|cut| Left::OverDetailed(Box::new(cut))),
            Firmware::Moving => unreachable!("{MOVING}"),
        };
        let left = left.ok_or(BuildError::NothingKept)?;
        Ok(PoweredOff { drive: self, left, levels })
    }

    /// Brings power back at once: the drive finds what is left, and takes requests again. `ftl` is the configuration of its
    /// firmware. Returns what the recovery did and, on a drive with a clock, how long it took: its reads as fast as dies and
    /// channels allow, and its programs and erases. Requests come no earlier than that.
    ///
    /// The limit of re-reads, a retirement threshold that the host set, and what policies remembered are lost.
    ///
    /// # Errors
    /// The configuration is that of another drive, or memory is short.
    pub fn recover(off: PoweredOff, ftl: FtlConfig) -> Result<(Self, Recovery, Option<Nanos>), DriveError> {
        let PoweredOff { mut drive, left, levels } = off;
        drive.power_cuts += 1;
        let report = match left {
            Left::OverCounting(cut) => {
                let (found, report) = Ftl::recover(*cut, ftl)?;
                drive.firmware = Firmware::Counting(Box::new(found));
                report
            }
            Left::OverDetailed(mut cut) => {
                let is_timed = drive.clock_spec.is_some();
                cut.media_mut().record(is_timed);
                let (found, report) = Ftl::recover(*cut, ftl)?;
                drive.firmware = Firmware::Detailed(Box::new(found));
                report
            }
        };
        drive.set_leveling(levels);
        let took = drive.clock_spec.clone().and_then(|spec| drive.time_recovery(&spec));
        let exported = Sectors(drive.front.unit.0 * u64::from(drive.exported()));
        drive.front.capacity = drive.front.capacity.min(exported);
        drive.front.wanted = None;
        Ok((drive, report, took))
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
            let at = clock.now_ns().saturating_add(took);
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
