//! Saving a drive to a file, and opening it.

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{Notice, NoticeKind};
use wane_ftl::Fate;
use wane_nand::{Array, Flash};
use wane_units::{Sectors, SimTime};

use super::{Asleep, Drive, Firmware, Front, MOVING};
use crate::Clock;
use crate::projection::Predicted;

/// The medium that the firmware was over when the drive was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// The counting medium, and errors have not begun.
    Counting,
    /// The counting medium; what the flash knows in addition to its wear was kept.
    Resting,
    /// The detailed medium.
    Detailed,
}

impl Over {
    const ALL: [Self; 3] = [Self::Counting, Self::Resting, Self::Detailed];

    /// The number of a medium in the file, with what else there is.
    fn code(self, rest: Rest, front: InFront) -> u8 {
        self as u8 + Self::ALL.len() as u8 * (rest as u8 + Rest::ALL.len() as u8 * front as u8)
    }

    /// The medium of a number, and what else there is.
    fn of_code(code: u8) -> Option<(Self, Rest, InFront)> {
        let (kinds, code) = (Self::ALL.len(), usize::from(code));
        let (rest, front) = (code / kinds % Rest::ALL.len(), code / kinds / Rest::ALL.len());
        Some((Self::ALL[code % kinds], Rest::ALL[rest], *InFront::ALL.get(front)?))
    }
}

/// What a file has besides the firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// The drive came to rest.
    Nothing,
    /// What is under way follows at the end.
    UnderWay,
    /// The power is off: what is left of the firmware stands in its place, and answers follow at the end.
    Off,
}

impl Rest {
    const ALL: [Self; 3] = [Self::Nothing, Self::UnderWay, Self::Off];
}

/// What a file has of the block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InFront {
    /// What every drive has. Its notices are changes of capacity.
    Usual,
    /// A mapped limit and any notices, which older versions do not know.
    More,
}

impl InFront {
    const ALL: [Self; 2] = [Self::Usual, Self::More];
}

impl Drive {
    /// Saves the drive's state, or reads it into a new drive of the same configuration, which then continues as if it had never
    /// stopped. A drive can be saved at any instant: no time passes, and requests may be outstanding. The drive that is saved goes
    /// on as if it were not. What [`Drive::unread`] answers is not saved.
    ///
    /// If reading fails, the drive's state is a mix and must not be used.
    ///
    /// # Errors
    /// As of [`Archive`]; or a policy from outside cannot be saved.
    pub fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let mut keeps_bytes = self.keeps_bytes();
        archive.field("drive.keeps-bytes", &mut keeps_bytes)?;
        if keeps_bytes {
            self.keep_bytes()?;
        }
        // The clock first: a drive that gets one wakes.
        self.archive_time(archive)?;
        let rest = match () {
            () if self.is_off() => Rest::Off,
            () if self.is_under_way() => Rest::UnderWay,
            () => Rest::Nothing,
        };
        let mut code = self.over().code(rest, self.in_front());
        archive.field("drive.medium", &mut code)?;
        let (over, rest, in_front) = Over::of_code(code).ok_or_else(|| self.is_not_over(&code))?;
        if archive.is_reading() {
            self.come_over(over)?;
            if rest == Rest::Off && !self.is_off() {
                // A medium that was read would have had its power cut as this one has.
                let day = self.day;
                self.power_cut(|| Fate::Done);
                self.day = day;
            }
        }
        match (&mut self.off, &mut self.firmware) {
            (Some(off), _) => off.archive(archive)?,
            (None, Firmware::Counting(ftl)) => ftl.archive(archive, Array::archive)?,
            (None, Firmware::Detailed(ftl)) => ftl.archive(archive, Flash::archive)?,
            (None, Firmware::Moving) => unreachable!("{MOVING}"),
        }
        if let Asleep::Resting(resting) = &mut self.asleep {
            resting.archive(archive)?;
        }
        self.archive_bytes(archive)?;
        self.archive_front(archive, in_front)?;
        match rest {
            Rest::Nothing => Ok(()),
            Rest::UnderWay => self.archive_under_way(archive),
            Rest::Off => self.archive_answers(archive),
        }
    }

    /// Saves or reads the bytes that units hold.
    fn archive_bytes(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let held = self.payload.is_some().then(|| match &self.off {
            Some(off) => off.payloads_held(),
            None => over_either!(&self.firmware, ftl => ftl.payloads_held().collect()),
        });
        let held = held.unwrap_or_default();
        if let Some(payload) = self.payload.as_mut().filter(|_| !archive.is_reading()) {
            payload.let_go(held.iter().copied());
        }
        archive.optional("drive.bytes", &mut self.payload, |payload, archive| payload.archive(archive))?;
        if let Some(payload) = self.payload.as_mut().filter(|_| archive.is_reading()) {
            payload.opened(held.iter().copied());
        }
        Ok(())
    }

    /// Lets the flash finish, begins its schedule anew, and goes to the counting medium where nothing needs the detailed one. Time
    /// passes. A drive that is saved at rest has no schedule in its file, which any build can read.
    ///
    /// Answers of the block device wait until they are taken out; breakdowns are forgotten. Requests that were made by
    /// [`Drive::commit`] should be over, as nobody hears of their ends.
    pub fn come_to_rest(&mut self) {
        let next = |drive: &Self| drive.clock.as_ref().and_then(|clock| Some(clock.next_at()?.max(clock.now_ns())));
        while let Some(next) = next(self) {
            self.run_to(self.front.now.max(SimTime(next)));
        }
        self.front.now = self.front.now.max(SimTime(self.clock.as_ref().map_or(0, Clock::now_ns)));
        self.follow_clock();
        if let (Some(clock), Some(spec)) = (&mut self.clock, &self.clock_spec) {
            clock.begin_anew(spec, &self.geometry);
            self.record();
        }
        self.front.breakdowns.clear();
        self.misread.clear();
        self.rest();
    }

    /// Whether there is anything that a drive which came to rest does not have.
    fn is_under_way(&self) -> bool {
        let Front { pending, done, breakdowns, .. } = &self.front;
        let is_told = pending.is_empty() && done.len() == 0 && breakdowns.is_empty() && self.misread.is_empty();
        let is_committed = self.flash().is_none_or(|flash| flash.ops().is_empty());
        !(is_told && is_committed && self.clock.as_ref().is_none_or(Clock::is_new))
    }

    fn over(&self) -> Over {
        match self.asleep {
            Asleep::Never => Over::Counting,
            Asleep::Resting(_) => Over::Resting,
            Asleep::Awake => Over::Detailed,
        }
    }

    /// Brings a new drive to the medium on which the saved one was.
    fn come_over(&mut self, over: Over) -> Result<(), ArchiveError> {
        if matches!(over, Over::Resting | Over::Detailed) {
            self.wake();
        }
        if over == Over::Resting {
            self.rest();
        }
        if over == self.over() { Ok(()) } else { Err(self.is_not_over(&over)) }
    }

    fn is_not_over(&self, found: &dyn std::fmt::Debug) -> ArchiveError {
        let (found, wanted) = (format!("{found:?}"), format!("{:?}", self.over()));
        ArchiveError::AnotherDrive { name: "medium".to_owned(), found, wanted }
    }

    fn archive_time(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("drive.day", &mut self.day)?;
        archive.field("drive.first-day", &mut self.first_day)?;
        archive.field("drive.unpowered", &mut self.unpowered)?;
        archive.field("drive.power-cuts", &mut self.power_cuts)?;
        archive.field("drive.flips", &mut self.flips)?;
        archive.field("drive.reads-misread", &mut self.reads_misread)?;
        archive.field("drive.keeps-detail", &mut self.keeps_detail)?;
        let mut is_timed = self.clock.is_some();
        archive.field("drive.is-timed", &mut is_timed)?;
        if is_timed && self.clock.is_none() {
            let Some(spec) = self.clock_spec.clone() else {
                let (found, wanted) = ("timed".to_owned(), "without a clock".to_owned());
                return Err(ArchiveError::AnotherDrive { name: "clock".to_owned(), found, wanted });
            };
            let first_day = self.first_day;
            self.start_clock(&spec).expect("the clock was checked when the drive was built");
            self.first_day = first_day;
        }
        if let Some(clock) = &mut self.clock {
            clock.archive(archive)?;
        }
        Ok(())
    }

    /// Saves or reads what a drive that came to rest does not have.
    fn archive_under_way(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("drive.misread", &mut self.misread)?;
        self.archive_answers(archive)?;
        if let Firmware::Detailed(ftl) = &mut self.firmware {
            ftl.media_mut().archive_ops(archive)?;
            ftl.archive_flight(archive)?;
        }
        self.clock.as_mut().map_or(Ok(()), |clock| clock.archive_schedule(archive))
    }

    fn archive_answers(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("front.pending", &mut self.front.pending)?;
        archive.field("front.done", &mut self.front.done)?;
        archive.field("front.breakdowns", &mut self.front.breakdowns)
    }

    /// What older versions cannot read is only in the files of drives that have it.
    fn in_front(&self) -> InFront {
        let is_usual = |notice: &Notice| matches!(notice.kind, NoticeKind::CapacityChanged(_));
        let is_usual = self.front.limit.is_none() && self.front.notices.iter().all(is_usual);
        if is_usual { InFront::Usual } else { InFront::More }
    }

    fn archive_front(&mut self, archive: &mut dyn Archive, has: InFront) -> Result<(), ArchiveError> {
        // The firmware counts them, if it has power.
        let mut read_modify_writes = if self.is_off() { 0 } else { self.read_modify_writes() };
        let predicted = &mut self.predicted;
        let front = &mut self.front;
        archive.field("front.now", &mut front.now.0)?;
        archive.field("front.next-id", &mut front.next_id)?;
        archive.field("front.capacity", &mut front.capacity.0)?;
        archive.field("front.read-modify-writes", &mut read_modify_writes)?;
        let mut commands = (front.commands, *predicted);
        archive.grown_by(Predicted::FIELDS, "front.commands", &mut commands)?;
        (front.commands, *predicted) = commands;
        let mut wanted = front.wanted.map(|sectors| sectors.0);
        archive.field("front.wanted", &mut wanted)?;
        front.wanted = wanted.map(Sectors);
        let mut notices: Vec<(u64, bool, u64)> = Vec::new();
        if has == InFront::Usual {
            let usual = |notice: &Notice| match notice.kind {
                NoticeKind::CapacityChanged(sectors) => Some((notice.at.0, true, sectors.0)),
                _ => None,
            };
            notices = front.notices.iter().filter_map(usual).collect();
        }
        archive.field("front.notices", &mut notices)?;
        front.mapped = front.mapped.filter(|_| !archive.is_reading());
        if has == InFront::More {
            archive.field("front.limit", &mut front.limit)?;
            archive.field("front.all-notices", &mut front.notices)?;
            if !self.is_off() {
                self.follow_limit();
            }
            return Ok(());
        }
        front.limit = None;
        let notice = |(at, is_changed, sectors)| {
            let sectors = Sectors(sectors);
            // Of what they want, older versions wrote no more.
            let kind = if is_changed { NoticeKind::CapacityChanged(sectors) } else { NoticeKind::wanted(sectors) };
            Notice { at: SimTime(at), kind }
        };
        front.notices = notices.into_iter().map(notice).collect();
        Ok(())
    }
}
