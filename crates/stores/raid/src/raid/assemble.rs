//! How an array is made of devices that hold it already, in any order: their superblocks say which array it is, and which member each of them is.
//!
//! The order of things is that of `mdadm --assemble`: first everything is read and checked, and nothing is written before it is known that the array
//! goes on. From there on it comes back as after a power cut.

use std::collections::BTreeMap;

use wane_blockdev::{Features, Living, PowerError, Request, SectorRange, drain};
use wane_units::{Lba, Nanos, Sectors, SimTime};

use super::meta::{self, Superblock};
use super::missing::Missing;
use super::own::Own;
use super::shape::Shape;
use super::{Following, Journal, Map, MemberState, Raid, RaidConfig, WritePath, map};
use crate::code::{CODES, Coder, code};
use crate::extents::ExtentTable;
use crate::layout::LayoutError;
use crate::mirror::Unsure;
use crate::placement::UNEQUAL;
use crate::spread::common_of;

/// How an array works from now on: what its members do not say.
#[derive(Clone, Debug)]
pub struct RaidPolicy {
    /// How changes are carried out.
    pub path: &'static dyn WritePath,
    /// What is written before a change goes to its place. It may be another one than before.
    pub journal: Journal,
    /// Time after which a member that has not answered a read is read around. `None`: never.
    pub read_around: Option<Nanos>,
    /// Members that are read only where no other one has a good copy.
    pub write_mostly: Vec<usize>,
    /// Whether it follows members that offer less.
    pub following: Following,
    /// Bytes of members a second at which it rebuilds and scrubs, in its own time.
    pub rebuild_rate: u64,
    /// Time from one scrub to the next; `None`: only when asked.
    pub scrub_every: Option<Nanos>,
}

impl RaidConfig {
    /// The part of it that members do not hold.
    pub fn policy(&self) -> RaidPolicy {
        let Self { path, journal, read_around, following, rebuild_rate, scrub_every, .. } = *self;
        let write_mostly = self.write_mostly.clone();
        RaidPolicy { path, journal, read_around, write_mostly, following, rebuild_rate, scrub_every }
    }
}

/// Why devices make no array that goes on. Devices are counted from 0, in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// A device cannot be read.
    #[error("device {0} does not come on: {1}")]
    Power(usize, PowerError),
    /// A device is counted without contents.
    #[error(
        "device {0} keeps no contents, and so does not say of which array it is; a device that keeps them is allowed"
    )]
    Hollow(usize),
    /// A device is of no array.
    #[error("device {0} has no superblock of an array; a member of an array is allowed")]
    NoSuperblock(usize),
    /// Devices are of several arrays.
    #[error("device {0} belongs to array {1:016x}, and device 0 to array {2:016x}; devices of one array are allowed")]
    OfAnother(usize, u64, u64),
    /// Two devices are one member: one device that was given twice, its copy, or one that was replaced long ago.
    #[error("devices {0} and {1} both are member {2} of array {3:016x}; one device for each member is allowed")]
    Twice(usize, usize, usize, u64),
    /// The array has a code that is not known here.
    #[error("array {array:016x} has the code {code}; {} are allowed", CODES.map(|code| code.name()).join(", "))]
    Code {
        /// The array.
        array: u64,
        /// The name of its code.
        code: String,
    },
    /// What a superblock or a checkpoint says is whole, and is no array.
    #[error("array {0:016x}: its {1} describes no array that is known here; another version may have written it")]
    Unknown(u64, &'static str),
    /// A device was exchanged for one whose units do not fit.
    #[error("device {0} has units of {1} sectors, and the array those of {2}; a unit that divides them is allowed")]
    Unit(usize, u64, u64),
    /// A device has become smaller than what lies on it.
    #[error("device {0} has {1} sectors, and the array uses {3} of it as member {2}")]
    Small(usize, u64, usize, u64),
    /// Too few members, or none with the tables of the array.
    #[error("array {0:016x} cannot go on: {1}")]
    NotEnough(u64, String),
    /// There are no devices, or they do not fit together.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// A device, and what it says.
struct Given {
    device: Box<dyn Living>,
    array: u64,
    superblock: Superblock,
}

impl Given {
    fn new(number: usize, mut device: Box<dyn Living>) -> Result<Self, AssembleError> {
        if device.is_off() {
            let now = device.now();
            device.power_on(now).map_err(|error| AssembleError::Power(number, error))?;
        }
        if !device.features().keeps_bytes {
            return Err(AssembleError::Hollow(number));
        }
        let (array, superblock) = newest_on(&mut *device).ok_or(AssembleError::NoSuperblock(number))?;
        if !superblock.is_sound() {
            return Err(AssembleError::Unknown(array, "superblock"));
        }
        let (own, unit) = (device.features().atomic_unit.0, superblock.areas.unit);
        if !unit.is_multiple_of(own) {
            return Err(AssembleError::Unit(number, own, unit));
        }
        Ok(Self { device, array, superblock })
    }
}

/// Reads a device that has no request outstanding.
fn read_of(device: &mut dyn Living, range: SectorRange) -> Vec<u8> {
    let now = device.now();
    let id = device.submit(now, Request::read(range));
    let mut out = Vec::new();
    drain(device, now, &mut out);
    out.into_iter().find(|end| end.id == id).and_then(|end| end.bytes).unwrap_or_default()
}

/// The newer of two superblocks, and the array's number. The second lies a unit of the array from the start, and only the first says how long that is: if
/// the first cannot be read, all multiples of the device's unit are tried up to 1 MiB.
fn newest_on(device: &mut dyn Living) -> Option<(u64, Superblock)> {
    const MOST: u64 = 2048;
    let own = device.features().atomic_unit.0.max(device.features().sector.0).max(1);
    let capacity = device.capacity().0;
    let mut read = |copy: u64, unit: u64| {
        let range = SectorRange::new(Lba(copy * unit), Sectors(unit));
        let fits = (copy + 1) * unit <= capacity;
        let found = fits.then(|| read_of(device, range)).and_then(|bytes| meta::open(meta::SUPERBLOCK, &bytes));
        found.filter(|(_, superblock): &(u64, Superblock)| copy == 0 || superblock.areas.unit == unit)
    };
    // A superblock takes one unit of the array, which may be longer than the device's.
    let units = || std::iter::successors(Some(own), |unit| Some(unit * 2)).take_while(|unit| *unit <= MOST);
    let first = units().find_map(|unit| read(0, unit));
    let second = match &first {
        Some((_, superblock)) => read(1, superblock.areas.unit),
        None => units().find_map(|unit| read(1, unit)),
    };
    let both = [first, second].into_iter().flatten();
    both.max_by_key(|(_, superblock)| superblock.epoch)
}

impl Superblock {
    /// Whether its numbers are those of an array. What is sealed is whole, but another version may have meant something else.
    fn is_sound(&self) -> bool {
        let (unit, width, members) = (self.areas.unit, u64::from(self.width), self.states.len());
        let are_columns = self.parity_columns.iter().all(|column| u64::from(*column) < width);
        unit > 0
            && self.chunk > 0
            && self.chunk.is_multiple_of(unit)
            && self.tile > 0
            && self.offset >= self.areas.sectors()
            && !self.parity_columns.is_empty()
            && are_columns
            && usize::from(self.width) <= members
            && self.retired.len() == members
            && usize::from(self.member) < members
    }

    /// Whether its member is one of those that it counts. What a member says that was about to come does not count before the others say it, too.
    pub(super) fn counts_itself(&self) -> bool {
        self.states.get(usize::from(self.member)).is_some_and(|state| *state != MemberState::Absent)
    }
}

/// By their numbers, the places among the devices of the members.
fn places(given: &[Given]) -> Result<BTreeMap<usize, usize>, AssembleError> {
    let array = given.first().map(|first| first.array).ok_or(LayoutError::NoMember)?;
    if let Some(number) = given.iter().position(|one| one.array != array) {
        return Err(AssembleError::OfAnother(number, given[number].array, array));
    }
    let mut places = BTreeMap::new();
    for (number, one) in given.iter().enumerate() {
        let member = usize::from(one.superblock.member);
        if let Some(other) = places.insert(member, number) {
            return Err(AssembleError::Twice(other, number, member, array));
        }
    }
    Ok(places)
}

impl Raid {
    /// The array of which these devices are members, in any order. Members of which no device is given are absent: it goes on without them as long as
    /// enough are there, and [`Raid::replace`] and [`Raid::add_spare`] put new devices in their places. Its state is what was durable when it was used last,
    /// as after a power cut; devices without power are switched on.
    ///
    /// Code, width, chunks and the place of each tile are read from the devices. [`Raid::config`] then says [`UNEQUAL`] as the placement: tiles lie where the
    /// table on the members has them, and only [`Raid::retarget`] moves them.
    ///
    /// # Errors
    /// The devices make no array that could go on. Nothing was written on any of them.
    pub fn assemble(policy: RaidPolicy, devices: Vec<Box<dyn Living>>) -> Result<Self, AssembleError> {
        let of = |(number, device)| Given::new(number, device);
        let given = devices.into_iter().enumerate().map(of).collect::<Result<Vec<_>, _>>()?;
        let places = places(&given)?;
        let superblocks = || given.iter().map(|one| &one.superblock);
        let newest = superblocks().filter(|one| one.counts_itself()).max_by_key(|one| (one.generation, one.epoch));
        let Some(superblock) = newest.or_else(|| superblocks().next()).cloned() else {
            return Err(LayoutError::NoMember.into());
        };
        let members = superblock.states.len().max(places.keys().last().map_or(0, |last| last + 1));
        let array = given[0].array;
        let (features, _) = common_of(given.iter().map(|one| &*one.device))?;
        let now = given.iter().map(|one| one.device.now()).fold(SimTime::ZERO, SimTime::max);
        let mut by_number: Vec<Option<Box<dyn Living>>> = given.into_iter().map(|one| Some(one.device)).collect();
        let device = |member: usize| -> Box<dyn Living> {
            let device = places.get(&member).and_then(|place| by_number[*place].take());
            device.unwrap_or_else(|| Box::new(Missing::new(member, Sectors::ZERO, features, now)))
        };
        let devices = (0..members).map(device).collect();
        let mut raid = Self::of_superblock(policy, array, &superblock, features, devices)?;
        for (number, member) in raid.members.iter_mut().enumerate() {
            if places.contains_key(&number) {
                member.come_back();
            } else {
                member.state = MemberState::Absent;
            }
        }
        let found = raid.find().map_err(|why| AssembleError::NotEnough(array, why))?;
        if !found.is_sound(members, raid.config.width) {
            return Err(AssembleError::Unknown(array, "checkpoint"));
        }
        raid.take_over(&found);
        raid.fit(&places)?;
        raid.stand_for_missing(features);
        raid.go_on_from(&found);
        Ok(raid)
    }

    /// An array as a superblock describes it, on which no tile lies yet.
    fn of_superblock(
        policy: RaidPolicy,
        array: u64,
        superblock: &Superblock,
        features: Features,
        devices: Vec<Box<dyn Living>>,
    ) -> Result<Self, AssembleError> {
        let Superblock { chunk, tile, offset, areas, .. } = *superblock;
        let (name, width) = (&superblock.code, usize::from(superblock.width));
        let code = code(name).ok_or_else(|| AssembleError::Code { array, code: name.clone() })?;
        let coder = Coder::new(code, width).ok_or_else(|| LayoutError::Width(code.name(), width))?;
        let columns: Vec<u64> = superblock.parity_columns.iter().map(|column| u64::from(*column)).collect();
        let shares = |column| columns.iter().filter(|one| **one == column).count() as u32;
        let is_even = columns == map::left_symmetric(width as u64);
        let parity_shares = if is_even { Vec::new() } else { (0..width as u64).map(shares).collect() };
        let RaidPolicy { path, journal, read_around, write_mostly, following, rebuild_rate, scrub_every } = policy;
        let config = RaidConfig {
            code,
            width,
            chunk: Sectors(chunk),
            slot: Sectors(tile * chunk),
            placement: &UNEQUAL,
            parity_shares,
            path,
            journal,
            ring: Sectors(areas.ring * areas.unit),
            read_around,
            write_mostly,
            following,
            rebuild_rate,
            scrub_every,
            uuid: array,
        };
        config.check_journal()?;
        let table = ExtentTable::of_groups(&[], width);
        let (data, width) = (coder.data() as u64, width as u64);
        let map = Map { chunk, data, width, tile, offset, parity_columns: columns, table, starts: Vec::new() };
        let shape = Shape { coder, map: map.with_starts(), areas, slots: vec![0; devices.len()] };
        let features = config.features(features);
        Ok(Self::of_shape(config, devices, shape, features, Sectors(areas.unit)))
    }

    /// Checks that what lies on the members has room there.
    fn fit(&mut self, places: &BTreeMap<usize, usize>) -> Result<(), AssembleError> {
        for (member, number) in places {
            let sectors = self.members[*member].device.capacity().0;
            let needed = self.map.offset + self.used_slots(*member) * self.map.slot_sectors();
            if sectors < needed {
                return Err(AssembleError::Small(*number, sectors, *member, needed));
            }
            let room = self.slots_of_device(*member);
            let slots = &mut self.members[*member].slots;
            *slots = room.min(*slots);
        }
        // What is kept of each stripe has its length from now on.
        let stripes = self.map.stripes();
        self.unsure = Unsure::new(stripes);
        self.own = Own::new(stripes, self.now, self.config.scrub_every);
        Ok(())
    }

    /// Puts a device that is not there, as large as the member was, in the place of each member of which none was given.
    fn stand_for_missing(&mut self, features: Features) {
        let (now, offset, slot) = (self.now, self.map.offset, self.map.slot_sectors());
        for (number, member) in self.members.iter_mut().enumerate() {
            if member.device.capacity() == Sectors::ZERO {
                let capacity = Sectors(offset + u64::from(member.slots) * slot);
                member.device = Box::new(Missing::new(number, capacity, features, now));
            }
        }
    }
}
