//! A held array: its drives, one by one or all together.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{
    Batch, BlockDevice, Blocking, ExtentState, Living, Mismatches, Passing, Request, SectorRange, Work, all_extents,
    all_of, carry_out, each_of,
};
use wane_ftl::Outcome;
use wane_raid::{MemberState, Redundant, Repairs, as_redundant, redundant_of};
use wane_results::{ArrayProbe, Counters, EndCause};
use wane_scenario::{ArrayLayout, Scenario};
use wane_ssd::Drive;
use wane_units::{Bytes, Fate, Lba, Sectors};

use super::{Held, KeptError};
use crate::array::{Assembly, Checked};
use crate::host::Host;
use crate::queued::Queued;
use crate::{build, observer};

/// Times that the drives of an array come to rest until it asks them for nothing more. One that rebuilds is never done.
const RESTS_MAX: u32 = 64;

/// A drive of an array, as the array knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberFacts {
    /// Its place.
    pub place: usize,
    /// Number of the new drive that stands there; 0 for the one of the scenario.
    pub number: u32,
    /// Its condition.
    pub state: MemberState,
    /// Bytes that it should have and lacks.
    pub stale_bytes: u64,
    /// Bytes of it that the array uses or could use.
    pub capacity_bytes: u64,
    /// Share of its rated erases that is used. Without power it does not say.
    pub life_used: Option<f64>,
}

impl Held {
    /// Whether it is an array.
    pub const fn is_array(&self) -> bool {
        self.drives.is_some()
    }

    /// Its flash finishes, and its schedule begins anew: [`Drive::come_to_rest`], of each drive that has power.
    pub fn come_to_rest(&mut self) {
        for _ in 0..RESTS_MAX {
            if let Some(array) = wane_raid::as_array(self.device_mut()) {
                array.finish();
            }
            let before = self.device().now();
            self.each_drive(|drive| {
                if !drive.is_off() {
                    drive.come_to_rest();
                }
            });
            // What an array writes of itself has several steps, and each asks its drives for something.
            if !self.is_array() || self.device().now() == before {
                break;
            }
        }
    }

    /// Number of its drives, if it is an array.
    pub fn places(&self) -> Option<usize> {
        self.drives.as_ref().map(|drives| drives.spec().members.len())
    }

    /// The drive of a place of the array.
    pub(super) fn drive_of(&self, place: usize) -> &Drive {
        all_of::<Drive>(self.device()).get(place).copied().unwrap_or_else(|| self.run.drive())
    }

    /// All drives; of a device with one in focus, that alone.
    pub(super) fn drives_looked_at(&self) -> Vec<(Option<usize>, &Drive)> {
        match self.focus {
            Some(place) => vec![(Some(place), self.drive())],
            None if self.is_array() => {
                let all = all_of::<Drive>(self.device()).into_iter().enumerate();
                all.filter(|(_, drive)| !drive.is_off()).map(|(place, drive)| (Some(place), drive)).collect()
            }
            None => vec![(None, self.drive())],
        }
    }

    /// The drive of the array that is looked at, and on which acts on one drive are done.
    pub const fn focus(&self) -> Option<usize> {
        self.focus
    }

    /// Looks at a drive of the array; `None`: at the whole.
    ///
    /// # Errors
    /// It has no such drive, or that has no power.
    pub fn set_focus(&mut self, focus: Option<usize>) -> Result<(), KeptError> {
        if let Some(place) = focus {
            let places = self.places().ok_or(KeptError::NoArray)?;
            if place >= places {
                return Err(KeptError::NoMember { place, places });
            }
            if self.drive_of(place).is_off() {
                return Err(KeptError::MemberOff(place));
            }
        }
        self.focus = focus;
        Ok(())
    }

    /// The scenario of the drive in focus; without one, that of the whole.
    pub fn scenario_of_drive(&self) -> Scenario {
        match (&self.drives, self.focus) {
            (Some(_), Some(place)) => self.scenario_of(place),
            _ => self.scenario.clone(),
        }
    }

    /// The scenario of the drive in a place; of one drive, its own.
    pub fn scenario_of(&self, place: usize) -> Scenario {
        match &self.drives {
            Some(drives) => Scenario { name: format!("drive {place}"), ..drives.scenario(place) },
            None => self.scenario.clone(),
        }
    }

    /// Changes settings of the drive in focus; without one, of all.
    pub(super) fn set_drives(&mut self, mut set: impl FnMut(&mut Drive)) {
        let focus = self.focus;
        let mut place = 0;
        each_of(self.run.device_mut(), &mut |drive: &mut Drive| {
            if focus.is_none_or(|focus| focus == place) && !drive.is_off() {
                set(drive);
            }
            place += 1;
        });
    }

    /// Does something to the one drive, or the one in focus.
    ///
    /// # Errors
    /// It is an array, and none is in focus; `done` says what is done to a drive.
    pub(super) fn on_one<T>(&mut self, done: &'static str, act: impl FnOnce(&mut Drive) -> T) -> Result<T, KeptError> {
        if self.is_array() && self.focus.is_none() {
            return Err(KeptError::OneDrive(done));
        }
        let (mut act, mut made) = (Some(act), None);
        self.set_drives(|drive| made = act.take().map(|act| act(drive)).or(made.take()));
        made.ok_or(KeptError::OneDrive(done))
    }

    /// The limits of re-reads that the host requires of the drives; none of one without power.
    pub fn required(&self) -> Vec<Option<u32>> {
        let of_drive = |drive: &&Drive| if drive.is_off() { None } else { drive.read_recovery() };
        all_of::<Drive>(self.device()).iter().map(of_drive).collect()
    }

    /// The host requires again what it required before the power was cut; blocks beyond it are out of service already. `each` ends what a drive
    /// began for it.
    pub(super) fn require_again(&mut self, required: &[Option<u32>], each: fn(&mut Drive, Outcome)) {
        let mut required = required.iter();
        self.each_drive(|drive| {
            let before = required.next().copied().flatten();
            if !drive.is_off() {
                let outcome = drive.set_read_recovery(before);
                each(drive, outcome);
            }
        });
    }

    /// Hands a copy of an array the requests of this scenario, to see how it serves them now, and how its drives do. The array is not kept. Also
    /// returns sentences on the requests.
    ///
    /// # Errors
    /// The workload cannot be opened, its requests have no times, or its trace cannot be read further.
    ///
    /// # Panics
    /// It is one drive, or one is in focus.
    pub fn look_at_array(
        self,
        scenario: &Scenario,
        stop: &Arc<AtomicBool>,
    ) -> Result<(ArrayProbe, Vec<String>), KeptError> {
        assert!(self.is_array() && self.focus.is_none(), "a look at an array");
        super::workload(scenario)?;
        let (asked, clock) = build::look_at_array(scenario, self.units_left()?.0, stop)?;
        let unit = Sectors(scenario.host_device().unit.0 / Sectors::SIZE.0);
        let copy = Host::wrapping(Box::new(Queued::new(self.device().another())), unit);
        let (mut probe, notes) = observer::look_at_array(copy, asked, &clock, stop)?;
        probe.at_array_writes = self.drive_writes();
        probe.at_days = Some(self.day()).filter(|day| *day > 0.0);
        Ok((probe, notes))
    }

    /// Blocks of its drives that are out of service.
    pub fn retired_blocks(&self) -> u32 {
        self.drives_looked_at().iter().map(|(_, drive)| drive.retired_blocks()).sum()
    }

    /// Days of service of the whole.
    pub(super) fn array_day(&self) -> f64 {
        self.drives.as_ref().map_or_else(|| self.run.drive().day(), |drives| drives.day)
    }

    /// Lets days of service pass.
    pub(super) fn let_pass(&mut self, days: f64) {
        match &mut self.drives {
            Some(drives) => {
                drives.day += days;
                let device = self.run.device_mut();
                device.pass(device.now(), Passing::Days(days));
            }
            None => {
                let day = self.run.drive().day();
                self.run.drive_mut().set_day(day + days);
            }
        }
    }

    /// Archives which drives stand in the array. Those that are read stand there then.
    pub(super) fn archive_drives(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let Some(drives) = &mut self.drives else { return Ok(()) };
        drives.archive(archive, self.run.predicted_of_array_mut())?;
        if archive.is_reading() {
            let array = drives.assemble(Assembly::Read).map_err(|error| ArchiveError::Unsaved(error.to_string()))?;
            self.run.set_stack(array);
        }
        Ok(())
    }

    /// Counts what the drives of an array do from now on.
    pub(super) fn begin_drives(&mut self) {
        if let Some(drives) = &mut self.drives {
            drives.begin(self.run.device());
        }
    }

    /// Which units hold data, by what the device says.
    pub(super) fn held_units(&self) -> Vec<bool> {
        let (device, unit) = (self.device(), self.run.unit());
        // A capacity may end within a unit.
        let mut held = vec![false; device.capacity().0.div_ceil(unit.0) as usize];
        let mut told = Vec::new();
        all_extents(device, SectorRange::new(Lba(0), device.capacity()), &mut told);
        for extent in told.iter().filter(|extent| extent.state != ExtentState::Hole) {
            let (first, end) = (extent.range.start.0 / unit.0, extent.range.start.0 + extent.range.count.0);
            held[first as usize..end.div_ceil(unit.0) as usize].fill(true);
        }
        held
    }

    /// Trims units of the device. Returns how many there were.
    pub(super) fn trim_units(&mut self, units: impl Iterator<Item = u32>) -> u32 {
        let unit = self.run.unit();
        let extents: Vec<SectorRange> =
            units.map(|number| SectorRange::new(Lba(u64::from(number) * unit.0), unit)).collect();
        let device = self.run.device_mut();
        let now = device.now();
        carry_out(device, now, &Batch::new(Work::Trim, &extents));
        extents.len() as u32
    }

    /// What is wrong with the files from which kept bytes were read since it was opened, if anything is: see [`Drive::damage`].
    pub fn damage(&self) -> Option<&str> {
        all_of::<Drive>(self.device()).into_iter().find_map(Drive::damage)
    }

    /// Reads what of its drives' maps was not read yet: what goes on for long, or looks at all of them, needs them whole.
    ///
    /// # Errors
    /// A piece is damaged, or its file is gone.
    pub fn load(&mut self) -> Result<(), ArchiveError> {
        let mut read = Ok(());
        each_of(self.run.device_mut(), &mut |drive: &mut Drive| {
            if read.is_ok() {
                read = drive.load();
            }
        });
        read
    }

    /// Memory that its bytes take.
    pub fn payload_memory(&self) -> u64 {
        all_of::<Drive>(self.device()).into_iter().map(Drive::payload_memory).sum()
    }

    /// The unit of the drive that holds a page of its host; `None` if none does, or it is an array.
    pub fn unit_of(&self, page: u32) -> Option<u32> {
        if self.is_array() { None } else { self.run.unit_of(page) }
    }

    /// Whether every unit of a range holds bytes, so that others in their place take no more memory.
    pub fn holds_bytes(&self, range: SectorRange) -> bool {
        if self.run.is_bare() {
            let drive = self.run.drive();
            return drive.units_of(range).all(|unit| drive.holds_bytes(unit));
        }
        let mut told = Vec::new();
        all_extents(self.device(), range, &mut told);
        told.iter().all(|extent| extent.state == ExtentState::Data)
    }

    /// What the drive of a place counted since it was new or was preconditioned; `None` without power.
    pub fn counters_of(&self, place: usize) -> Option<Counters> {
        let drives = self.drives.as_ref()?;
        let drive = self.drives().into_iter().find(|(found, _)| *found == place)?.1;
        Some(*drive.counters() - drives.zero(place))
    }

    /// The drives, with their places in an array; only those that have power.
    pub fn drives(&self) -> Vec<(usize, &Drive)> {
        all_of::<Drive>(self.device()).into_iter().enumerate().filter(|(_, drive)| !drive.is_off()).collect()
    }

    /// Bytes of a mapping unit, in which the device counts its host.
    pub fn unit_bytes(&self) -> u32 {
        (self.run.unit().0 * Sectors::SIZE.0) as u32
    }

    /// The drives of an array, as it knows them; empty for one drive.
    pub fn members(&self) -> Vec<MemberFacts> {
        let Some(drives) = &self.drives else { return Vec::new() };
        let all = all_of::<Drive>(self.device());
        let known = redundant_of(self.device());
        all.iter()
            .enumerate()
            .map(|(place, drive)| {
                let (state, stale) = match known {
                    Some(known) => (known.state(place), known.stale(place)),
                    None if drive.is_off() => (MemberState::Absent, Sectors::ZERO),
                    None if drive.is_worn_out() => (MemberState::ReadOnly, Sectors::ZERO),
                    None => (MemberState::Online, Sectors::ZERO),
                };
                MemberFacts {
                    place,
                    number: drives.number(place),
                    state,
                    stale_bytes: stale.0 * Sectors::SIZE.0,
                    capacity_bytes: drive.capacity().0 * Sectors::SIZE.0,
                    life_used: if drive.is_off() { None } else { drive.life_used() },
                }
            })
            .collect()
    }

    /// What an array with more than one copy of its data did for itself; `None` for anything else.
    pub fn repairs(&self) -> Option<Repairs> {
        redundant_of(self.device()).map(Redundant::repairs)
    }

    /// What the checksums of an array's drives found, of all drives together; `None` if they have none.
    pub fn mismatches(&self) -> Option<Mismatches> {
        let layers = all_of::<Checked>(self.device());
        let sum = |mut all: Mismatches, layer: &&Checked| {
            all += layer.mismatches();
            all
        };
        (!layers.is_empty()).then(|| layers.iter().fold(Mismatches::default(), sum))
    }

    /// Does something to a drive of an array that goes on without some.
    ///
    /// # Errors
    /// It has one copy of its data, or no such drive.
    fn on_redundant(&mut self, place: usize) -> Result<&mut dyn Redundant, KeptError> {
        let places = self.places().ok_or(KeptError::NoArray)?;
        if place >= places {
            return Err(KeptError::NoMember { place, places });
        }
        as_redundant(self.run.device_mut()).ok_or(KeptError::NoMirror)
    }

    /// Why an array whose drives are all out takes no writes: they died.
    pub(super) fn died_with_its_drives(&self) -> Option<EndCause> {
        let drives = self.drives.as_ref()?;
        let members = self.members();
        let is_over = members.iter().all(|member| member.state == MemberState::Absent)
            && members.iter().any(|member| drives.is_dead(member.place));
        is_over.then_some(EndCause::SpareExhausted)
    }

    /// Refuses what needs a drive if all are out.
    pub(super) fn check_there(&self) -> Result<(), KeptError> {
        if self.is_array() && self.drives().is_empty() { Err(KeptError::AllOut) } else { Ok(()) }
    }

    /// Sectors of an array that no copy has or can be read, by reading all of a copy of it as its host would.
    pub fn unreadable(&self) -> Vec<SectorRange> {
        const AT_ONCE: Sectors = Sectors(2048);
        let mut copy = self.device().another();
        let capacity = copy.capacity();
        let now = copy.now();
        let mut blocking = Blocking::starting_at(&mut copy, now);
        let (mut at, mut lost) = (Lba(0), Vec::new());
        while at.0 < capacity.0 {
            let range = SectorRange::new(at, AT_ONCE.min(Sectors(capacity.0 - at.0)));
            if let Err(error) = blocking.perform(Request::read(range)) {
                error.status.failed().iter().for_each(|range| range.push_to(&mut lost));
            }
            at = Lba(at.0 + range.count.0);
        }
        lost
    }

    /// Refuses to take out a drive that could not come back.
    ///
    /// # Errors
    /// It could not.
    pub fn check_return(&self, place: usize) -> Result<(), KeptError> {
        if self.scenario_of(place).ftl.recovery.policy().acts() { Ok(()) } else { Err(KeptError::OneWay(place)) }
    }

    /// Refuses to do without a drive without which something could not be read.
    ///
    /// # Errors
    /// It is one, or this has one copy of its data, or no such drive.
    pub fn check_copies(&mut self, place: usize) -> Result<(), KeptError> {
        let array = self.on_redundant(place)?;
        let bytes = |sectors: Sectors| Bytes(sectors.0 * Sectors::SIZE.0);
        let missing = array.safety().lost;
        if array.state(place) == MemberState::Absent && missing > Sectors::ZERO {
            return Err(KeptError::NeededBack { place, bytes: bytes(missing) });
        }
        let bytes = bytes(array.only_on(place));
        let is_mirror = self.drives.as_ref().is_some_and(|of| of.spec().settings.layout == ArrayLayout::Mirror);
        match bytes {
            Bytes(0) => Ok(()),
            _ if is_mirror => Err(KeptError::LastCopy { place, bytes }),
            _ => Err(KeptError::Needed { place, bytes }),
        }
    }

    /// Refuses to take out drives of which one is not there, or that are named twice.
    ///
    /// # Errors
    /// One is so, or this has one copy of its data.
    pub fn check_out(&self, places: &[u32]) -> Result<(), KeptError> {
        for (number, place) in places.iter().enumerate() {
            let (place, all) = (*place as usize, self.places().ok_or(KeptError::NoArray)?);
            if place >= all {
                return Err(KeptError::NoMember { place, places: all });
            }
            let array = redundant_of(self.device()).ok_or(KeptError::NoMirror)?;
            if array.state(place) == MemberState::Absent || places[..number].contains(&(place as u32)) {
                return Err(KeptError::MemberOut(place));
            }
        }
        Ok(())
    }

    /// Takes a drive out of an array: its power goes off. [`Held::check_copies`] says what would be lost.
    ///
    /// # Errors
    /// It has one copy of its data, no such drive, or the drive is out.
    pub fn take_out(&mut self, place: usize) -> Result<(), KeptError> {
        self.check_out(&[place as u32])?;
        let array = self.on_redundant(place)?;
        let now = array.now();
        array.take_out(now, place, &mut || Fate::Done);
        Ok(())
    }

    /// Puts a drive back that was taken out. What was written meanwhile is copied to it, in the array's own time. Without power, it comes back with the others.
    ///
    /// # Errors
    /// It has one copy of its data, no such drive, or the drive is there or does not come back.
    pub fn put_back(&mut self, place: usize) -> Result<(), KeptError> {
        let array = self.on_redundant(place)?;
        if array.state(place) != MemberState::Absent {
            return Err(KeptError::MemberThere(place));
        }
        let now = array.now();
        array.put_back(now, place).map_err(KeptError::Unpowered)
    }

    /// Puts a new drive of the scenario in a place. All that belongs there is made for it, in the array's own time.
    ///
    /// # Errors
    /// It has one copy of its data, or no such drive.
    pub fn replace(&mut self, place: usize) -> Result<(), KeptError> {
        let _ = self.on_redundant(place)?;
        let Some(drives) = &mut self.drives else { return Err(KeptError::NoArray) };
        Ok(drives.replace(self.run.device_mut(), place)?)
    }

    /// Lets an array make all that some drive of it lacks, as far as it can, now. Returns the bytes that it copied.
    ///
    /// # Errors
    /// It has one copy of its data.
    pub fn copy_all(&mut self) -> Result<u64, KeptError> {
        let array = self.on_redundant(0)?;
        let before = array.repairs().copied;
        crate::array::copy_all(array);
        // What it then knows of its drives is written.
        array.finish();
        Ok((array.repairs().copied - before).0 * Sectors::SIZE.0)
    }

    /// Whether an array is scrubbing.
    pub fn is_scrubbing(&self) -> bool {
        redundant_of(self.device()).is_some_and(Redundant::is_scrubbing)
    }

    /// Bytes that drives of an array lack.
    pub fn bytes_lacking(&self) -> u64 {
        self.members().iter().map(|member| member.stale_bytes).sum()
    }

    /// Whether an array has something to do for itself in its own time.
    pub fn has_own_work(&self) -> bool {
        redundant_of(self.device()).is_some_and(Redundant::is_at_work)
    }

    /// Begins a scrub: all data and what protects them are read and compared, in the array's own time.
    ///
    /// # Errors
    /// It has one copy of its data.
    pub fn scrub(&mut self) -> Result<(), KeptError> {
        let array = self.on_redundant(0)?;
        let now = array.now();
        array.scrub(now);
        Ok(())
    }
}
