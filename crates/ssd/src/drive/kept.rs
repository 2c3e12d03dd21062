//! Saving a drive to a file, and opening it.

use std::sync::atomic::AtomicBool;

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{Notice, NoticeKind};
use wane_nand::{Array, Flash};
use wane_units::{Sectors, SimTime};

use super::{Asleep, Drive, Firmware, GO, MOVING};

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
}

impl Drive {
    /// Saves the drive's state, or reads it into a new drive of the same configuration, which then continues as if it had never
    /// stopped. A drive is saved at rest: what is under way on its flash ends first, and time passes for it. The schedule of a
    /// drive with a clock begins anew.
    ///
    /// If reading fails, the drive's state is a mix and must not be used.
    ///
    /// # Errors
    /// As of [`Archive`]; or requests are outstanding, or a policy from outside cannot be saved.
    pub fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        if !archive.is_reading() {
            self.come_to_rest(&GO)?;
        }
        let mut keeps_bytes = self.keeps_bytes();
        archive.field("drive.keeps-bytes", &mut keeps_bytes)?;
        if keeps_bytes {
            self.keep_bytes()?;
        }
        // The clock first: a drive that gets one wakes.
        self.archive_time(archive)?;
        let mut over = self.over() as u8;
        archive.field("drive.medium", &mut over)?;
        if archive.is_reading() {
            self.come_over(Over::ALL.get(usize::from(over)).copied())?;
        }
        match &mut self.firmware {
            Firmware::Counting(ftl) => ftl.archive(archive, Array::archive)?,
            Firmware::Detailed(ftl) => ftl.archive(archive, Flash::archive)?,
            Firmware::Moving => unreachable!("{MOVING}"),
        }
        if let Asleep::Resting(resting) = &mut self.asleep {
            resting.archive(archive)?;
        }
        if let Some(payload) = self.payload.as_mut().filter(|_| !archive.is_reading()) {
            over_either!(&self.firmware, ftl => payload.let_go(ftl.payloads_held()));
        }
        archive.optional("drive.bytes", &mut self.payload, |payload, archive| payload.archive(archive))?;
        self.archive_front(archive)
    }

    /// Lets the flash finish, and goes to the counting medium where that is possible.
    fn come_to_rest(&mut self, stop: &AtomicBool) -> Result<(), ArchiveError> {
        let waiting = self.front.pending.len() + self.front.done.len();
        let outstanding = self.clock.as_ref().map_or(0, |clock| clock.scheduler().outstanding());
        if waiting > 0 || outstanding > 0 {
            let requests = (waiting as u64).max(outstanding);
            return Err(ArchiveError::Unsaved(format!(
                "a drive is saved at rest, and {requests} of its requests are not over or were not taken out"
            )));
        }
        if let Some(clock) = &mut self.clock {
            clock.finish_work(stop);
        }
        self.front.now = self.front.now.max(SimTime(self.clock.as_ref().map_or(0, crate::Clock::now_ns)));
        self.follow_clock();
        if let (Some(clock), Firmware::Detailed(ftl)) = (&mut self.clock, &mut self.firmware) {
            ftl.landed(clock.settle_changes());
        }
        self.rest();
        Ok(())
    }

    fn over(&self) -> Over {
        match self.asleep {
            Asleep::Never => Over::Counting,
            Asleep::Resting(_) => Over::Resting,
            Asleep::Awake => Over::Detailed,
        }
    }

    /// Brings a new drive to the medium on which the saved one was.
    fn come_over(&mut self, over: Option<Over>) -> Result<(), ArchiveError> {
        if matches!(over, Some(Over::Resting | Over::Detailed)) {
            self.wake();
        }
        if over == Some(Over::Resting) {
            self.rest();
        }
        if over == Some(self.over()) {
            return Ok(());
        }
        let (found, wanted) = (format!("{over:?}"), format!("{:?}", self.over()));
        Err(ArchiveError::AnotherDrive { name: "medium".to_owned(), found, wanted })
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

    fn archive_front(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        // The firmware counts them.
        let mut read_modify_writes = self.read_modify_writes();
        let front = &mut self.front;
        archive.field("front.now", &mut front.now.0)?;
        archive.field("front.next-id", &mut front.next_id)?;
        archive.field("front.capacity", &mut front.capacity.0)?;
        archive.field("front.read-modify-writes", &mut read_modify_writes)?;
        archive.field("front.commands", &mut front.commands)?;
        let mut wanted = front.wanted.map(|sectors| sectors.0);
        archive.field("front.wanted", &mut wanted)?;
        front.wanted = wanted.map(Sectors);
        let mut notices: Vec<(u64, bool, u64)> = front
            .notices
            .iter()
            .map(|notice| match notice.kind {
                NoticeKind::CapacityChanged(sectors) => (notice.at.0, true, sectors.0),
                NoticeKind::CapacityWanted(sectors) => (notice.at.0, false, sectors.0),
                _ => unreachable!("the drive posts no other notice"),
            })
            .collect();
        archive.field("front.notices", &mut notices)?;
        let notice = |(at, is_changed, sectors)| {
            let kind = if is_changed { NoticeKind::CapacityChanged } else { NoticeKind::CapacityWanted };
            Notice { at: SimTime(at), kind: kind(Sectors(sectors)) }
        };
        front.notices = notices.into_iter().map(notice).collect();
        Ok(())
    }
}
