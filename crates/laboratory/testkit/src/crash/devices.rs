//! The crash explorer of block devices: power fails after any request, and what was not flushed survives in any subset.
//!
//! A host sends random requests to a living device. After some of them a copy of it loses its power, with each combination of outcomes of what was not
//! durable, or with some if there are many. When the copy comes back, each sector must hold what it may, must hold it again when it is read again, and
//! after a second cut in the midst of what the device does to recover. A failure has a replay: [`Devices::replay`].
//!
//! Of arrays there is more: members come and go between requests, a copy is left without those that the array says it can spare, something happens to
//! members at the very instant of a cut, and a run goes on with an array that lost its power. A device may then say that it lost sectors, if it is made so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use wane_blockdev::{Completion, Kind, Living, Passing, Request, RequestId, SectorRange, Status, drain};
use wane_sim::{Stream, Streams};
use wane_units::{Fate, Lba, Nanos, Sectors, SimTime};

use super::fates::{Enumeration, letter, parse_letter};
use super::history::{Held, Histories};
use super::one_of;

/// Does something to a device beside its requests: a member of an array is lost, comes back, is replaced.
pub type Disturb<'a> = &'a dyn Fn(&mut dyn Living, SimTime, &mut Stream);

/// What is explored.
#[derive(Clone, Copy)]
pub struct Devices<'a> {
    /// Makes the device of a run.
    pub make: &'a dyn Fn(&mut Stream) -> Box<dyn Living>,
    /// What happens to it between requests.
    pub disturb: Disturb<'a>,
    /// N: of 15 + N steps, N disturb it.
    pub disturbs: u64,
    /// What is done to it when its power is back, before anything is read: in 1 of 4 cuts.
    pub on_return: Disturb<'a>,
    /// What is done to it at the instant of a cut, while its power is off: in 1 of 4 cuts. A device without members has none.
    pub with_cut: Option<Disturb<'a>>,
    /// Takes from a copy what the device says it can do without; contents stay. After each step, if there is one.
    pub without: Option<Disturb<'a>>,
    /// Sectors that the device says are lost, if power cuts may cost it any. Otherwise a read that fails is a failure.
    pub told_lost: &'a dyn Fn(&dyn Living) -> Option<Sectors>,
    /// Sectors of a stripe: some requests change runs of whole ones. 0: none does.
    pub stripe: Sectors,
    /// After 1 of this number of steps the run goes on with a device that lost its power; 0: never.
    pub adopted: u64,
    /// Steps of a run.
    pub steps: usize,
    /// Cuts are looked at after 1 of this number of steps; 0: never.
    pub cut_every: usize,
    /// Sectors that are used, from the start.
    pub window: Sectors,
    /// Most unflushed units of which every subset is tried.
    pub each_of: usize,
    /// Subsets that are tried of more.
    pub some: usize,
    /// Outcomes of a unit: 2, or 3 if the device tears.
    pub outcomes: usize,
    /// Time in which the device recovers for itself.
    pub recovery: Nanos,
}

/// Numbers of explored cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTally {
    /// Power cuts that the device came back from.
    pub cuts: u64,
    /// Of these, cuts with something that was not durable.
    pub unflushed: u64,
    /// Steps of which every subset was tried.
    pub complete: u64,
    /// Cuts during a recovery.
    pub twice: u64,
    /// Copies that were left without what they could spare.
    pub spared: u64,
    /// Cuts with which something else happened.
    pub with_cut: u64,
    /// Sectors that were read and compared.
    pub sectors: u64,
    /// Of these, sectors that the device said it had lost.
    pub lost: u64,
}

impl std::ops::AddAssign for DeviceTally {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.unflushed += other.unflushed;
        self.complete += other.complete;
        self.twice += other.twice;
        self.spared += other.spared;
        self.with_cut += other.with_cut;
        self.sectors += other.sectors;
        self.lost += other.lost;
    }
}

/// A cut, as a string: `seed/step/fates/ns/fates`, the last two of the cut during the recovery. The first fates are followed by `!` and a number if
/// something else happened with the cut, and by `+` if something was done to the device that came back.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Replay {
    seed: u64,
    step: usize,
    fates: Vec<Fate>,
    second: Option<(Nanos, Vec<Fate>)>,
    /// What decides that which happens with the cut.
    with_cut: Option<u64>,
    returns: bool,
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = |fates: &[Fate]| fates.iter().map(|fate| letter(*fate)).collect::<String>();
        let returns = if self.returns { "+" } else { "" };
        let with_cut = self.with_cut.map_or_else(String::new, |number| format!("!{number}"));
        write!(f, "{}/{}/{}{with_cut}{returns}", self.seed, self.step, letters(&self.fates))?;
        match &self.second {
            Some((ns, fates)) => write!(f, "/{}/{}", ns.0, letters(fates)),
            None => Ok(()),
        }
    }
}

impl Replay {
    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let fates = |text: &str| text.chars().map(parse_letter).collect::<Option<Vec<Fate>>>();
        if parts.len() < 3 {
            return None;
        }
        let second = match parts.get(3..) {
            Some([ns, letters]) => Some((Nanos(ns.parse().ok()?), fates(letters)?)),
            Some([]) => None,
            _ => return None,
        };
        let (letters, returns) = parts[2].strip_suffix('+').map_or((parts[2], false), |letters| (letters, true));
        let (letters, with_cut) = match letters.split_once('!') {
            Some((letters, number)) => (letters, Some(number.parse().ok()?)),
            None => (letters, None),
        };
        Some(Self {
            seed: parts[0].parse().ok()?,
            step: parts[1].parse().ok()?,
            fates: fates(letters)?,
            second,
            with_cut,
            returns,
        })
    }
}

/// The device, and what its host knows.
struct Run<'a> {
    explored: Devices<'a>,
    device: Box<dyn Living>,
    now: SimTime,
    versions: u64,
    histories: Histories,
    /// Changes and flushes that are under way.
    waiting: BTreeMap<RequestId, (Kind, SectorRange, bool)>,
    /// Reads that are under way: what each sector may hold, and whether it may be lost.
    reads: BTreeMap<RequestId, Vec<(Vec<Held>, bool)>>,
    /// Sectors that the device said it had lost, and that were not written since.
    lost: BTreeSet<u64>,
}

/// The bytes of a sector of this version.
fn sector_of(held: Held) -> [u8; 512] {
    let mut bytes = [0; 512];
    if let Some(version) = held {
        bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&(version + 1).to_le_bytes()));
    }
    bytes
}

/// The version of a sector.
fn held_by(bytes: &[u8]) -> Result<Held, String> {
    let mut first = [0; 8];
    first.copy_from_slice(&bytes[..8]);
    let held = u64::from_le_bytes(first).checked_sub(1);
    if sector_of(held) == bytes { Ok(held) } else { Err(format!("is a mix, of version {held:?} and others")) }
}

impl<'a> Run<'a> {
    fn new(explored: Devices<'a>, stream: &mut Stream) -> Self {
        let device = (explored.make)(stream);
        let now = device.now();
        let (waiting, reads, lost) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { explored, device, now, versions: 0, histories: Histories::default(), waiting, reads, lost }
    }

    /// A random range, of which some begin and end within a unit, and some are whole stripes.
    fn range(&self, stream: &mut Stream) -> SectorRange {
        let sector = self.device.features().sector.0;
        let (window, stripe) = (self.explored.window.0, self.explored.stripe.0);
        if stripe > 0 && stream.below(3) == 0 {
            let all = window / stripe;
            let first = stream.below(all);
            let count = 1 + stream.below((all - first).min(3));
            return SectorRange::new(Lba(first * stripe), Sectors(count * stripe));
        }
        let start = stream.below(window) / sector * sector;
        let whole = stream.below(3) > 0;
        let start = if whole { start / 8 * 8 } else { start };
        let count = if whole { 8 * (1 + stream.below(3)) } else { (1 + stream.below(12)).next_multiple_of(sector) };
        SectorRange::new(Lba(start), Sectors(count.min(window - start)))
    }

    fn step(&mut self, stream: &mut Stream) -> Result<(), String> {
        self.now = self.now.saturating_add(Nanos(one_of(stream, &[0, 0, 100, 3_000, 400_000])));
        if self.explored.adopted > 0 && stream.below(self.explored.adopted) == 0 {
            return self.adopt(stream);
        }
        match stream.below(15 + self.explored.disturbs) {
            0..=6 => self.change(Kind::Write, stream),
            7 => self.change(Kind::Trim, stream),
            8 => self.change(Kind::WriteZeroes, stream),
            9..=11 => {
                // Of several reads at once, an array may send each to another member.
                let range = self.range(stream);
                (0..2).for_each(|_| self.read(range));
            }
            12..=13 => {
                let id = self.device.submit(self.now, Request::flush());
                self.waiting.insert(id, (Kind::Flush, SectorRange::EMPTY, false));
            }
            15 => {}
            _ => {
                (self.explored.disturb)(self.device.as_mut(), self.now, stream);
                self.now = self.now.max(self.device.now());
            }
        }
        let mut out = Vec::new();
        self.device.complete(self.now, &mut out);
        out.iter().try_for_each(|completion| self.answered(completion))
    }

    fn change(&mut self, kind: Kind, stream: &mut Stream) {
        let range = self.range(stream);
        let version = (kind == Kind::Write).then_some(self.versions);
        self.versions += 1;
        let mut request = match kind {
            Kind::Write => Request::write(range, sector_of(version).repeat(range.count.0 as usize)),
            Kind::Trim => Request::trim(range),
            _ => Request::write_zeroes(range),
        };
        request.flags.fua = self.device.features().fua && stream.below(5) == 0;
        let is_forced = request.flags.fua;
        let id = self.device.submit(self.now, request);
        for sector in sectors(range) {
            // Numbers from 1 on: 0 is how it all began.
            self.histories.set(sector, id.0 + 1, version);
        }
        self.waiting.insert(id, (kind, range, is_forced));
    }

    /// What a sector may hold while the device has power.
    fn may_be(&self, sector: u64) -> Vec<Held> {
        let under_way = |number: u64| {
            self.waiting.get(&RequestId(number.wrapping_sub(1))).is_some_and(|(kind, range, _)| {
                kind.changes_contents() && range.overlaps(SectorRange::new(Lba(sector), Sectors(1)))
            })
        };
        // A change that is under way may fail.
        let history = self.histories.get(sector).cloned().unwrap_or_else(|| vec![(0, None)]);
        let is_known = |number: u64| !under_way(number) && !self.histories.is_doubtful(number);
        let is_lost = self.lost.contains(&sector);
        let known = history.iter().rposition(|(number, _)| !is_lost && is_known(*number)).unwrap_or(0);
        history[known..].iter().map(|(_, held)| *held).collect()
    }

    fn read(&mut self, range: SectorRange) {
        let may = sectors(range).map(|sector| (self.may_be(sector), self.lost.contains(&sector))).collect();
        let id = self.device.submit(self.now, Request::read(range));
        self.reads.insert(id, may);
    }

    /// The power goes, and the run goes on with the device that comes back.
    fn adopt(&mut self, stream: &mut Stream) -> Result<(), String> {
        let told = |what: String| format!("adopted: {what}");
        self.device.power_off(self.now, &mut || one_of(stream, &[Fate::Done, Fate::Undone]));
        if let Some(with_cut) = self.explored.with_cut.filter(|_| stream.below(2) == 0) {
            with_cut(self.device.as_mut(), self.now, stream);
        }
        let at = self.now.max(self.device.now());
        self.device.power_on(at).map_err(|error| told(format!("it does not come back: {error}")))?;
        (self.waiting, self.reads) = (BTreeMap::new(), BTreeMap::new());
        let mut device = self.device.another();
        let contents = self.contents(device.as_mut()).map_err(told)?;
        self.agrees(&contents).map_err(told)?;
        self.now = self.device.now();
        for (sector, held) in (0..).zip(contents) {
            match held {
                Some(held) => {
                    self.histories.known(sector, held);
                    self.lost.remove(&sector);
                }
                None => _ = self.lost.insert(sector),
            }
        }
        Ok(())
    }

    /// Takes a completion into account.
    fn answered(&mut self, completion: &Completion) -> Result<(), String> {
        if let Some((kind, range, is_forced)) = self.waiting.remove(&completion.id) {
            if is_forced && completion.status.is_failure() {
                self.histories.doubt(completion.id.0 + 1);
            }
            for failed in completion.status.failed() {
                // A change that could not be made durable may have happened.
                if !is_forced {
                    sectors(*failed).for_each(|sector| self.histories.undo(sector, completion.id.0 + 1));
                }
            }
            if completion.status.is_done() {
                if kind.changes_contents() {
                    sectors(range).for_each(|sector| _ = self.lost.remove(&sector));
                }
                let all: Vec<u64> = match kind {
                    Kind::Flush => self.histories.iter().map(|(sector, _)| sector).collect(),
                    _ if is_forced => sectors(range).collect(),
                    _ => Vec::new(),
                };
                all.into_iter().for_each(|sector| self.histories.durable(sector, completion.id.0 + 1));
            }
        }
        let Some(may) = self.reads.remove(&completion.id) else { return Ok(()) };
        let failed = failed_sectors(completion);
        if !completion.status.is_done() && failed.is_empty() {
            return Err(format!("a read ends as {}", completion.status));
        }
        let bytes = completion.bytes.as_deref().unwrap_or_default();
        for ((sector, bytes), (may, is_lost)) in sectors(completion.range).zip(bytes.chunks(512)).zip(may) {
            if failed.contains(&sector) {
                if is_lost {
                    continue;
                }
                return Err(format!("sector {sector}: a read ends as {}", completion.status));
            }
            let held = held_by(bytes).map_err(|what| format!("sector {sector} {what}"))?;
            if !may.contains(&held) {
                return Err(format!("sector {sector} is read as {held:?}; it may be {may:?}"));
            }
        }
        Ok(())
    }

    /// Cuts the power of a copy so that it comes back; `meanwhile` happens in between. Returns it with the number of outcomes it asked for.
    fn cut(
        device: &dyn Living,
        at: SimTime,
        fates: &[Fate],
        meanwhile: &dyn Fn(&mut dyn Living),
    ) -> Result<(Box<dyn Living>, usize), String> {
        let mut copy = device.another();
        let mut asked = 0;
        copy.power_off(at, &mut || {
            asked += 1;
            fates.get(asked - 1).copied().unwrap_or(Fate::Done)
        });
        meanwhile(copy.as_mut());
        copy.power_on(at.max(copy.now())).map_err(|error| format!("it does not come back: {error}"))?;
        Ok((copy, asked))
    }

    /// Reads all sectors of the window: piece by piece, each several times at once, so that an array asks several members. `None`: it says that the sector is
    /// lost.
    fn contents(&self, device: &mut dyn Living) -> Result<Vec<Option<Held>>, String> {
        const PIECE: u64 = 8;
        let now = device.now();
        let mut asked: BTreeMap<RequestId, u64> = BTreeMap::new();
        for start in (0..self.explored.window.0).step_by(PIECE as usize) {
            let range = SectorRange::new(Lba(start), Sectors(PIECE.min(self.explored.window.0 - start)));
            for _ in 0..3 {
                asked.insert(device.submit(now, Request::read(range)), start);
            }
        }
        let mut out = Vec::new();
        drain(device, now, &mut out);
        let mut contents: BTreeMap<u64, Option<Held>> = BTreeMap::new();
        for read in out.iter().filter(|completion| asked.contains_key(&completion.id)) {
            let failed = failed_sectors(read);
            if !read.status.is_done() && failed.is_empty() {
                return Err(format!("a read ends as {}", read.status));
            }
            for (sector, bytes) in sectors(read.range).zip(read.bytes.as_deref().unwrap_or_default().chunks(512)) {
                let held = match failed.contains(&sector) {
                    true => None,
                    false => Some(held_by(bytes).map_err(|what| format!("sector {sector} {what}"))?),
                };
                let known = *contents.entry(sector).or_insert(held);
                if known != held {
                    return Err(format!("sector {sector} holds {known:?} and, read again, {held:?}"));
                }
            }
        }
        self.check_told(device, contents.values().filter(|held| held.is_none()).count() as u64)?;
        Ok(contents.into_values().collect())
    }

    /// What cannot be read is what the device says is lost.
    fn check_told(&self, device: &dyn Living, lost: u64) -> Result<(), String> {
        match (self.explored.told_lost)(device) {
            _ if lost == 0 => Ok(()),
            None => Err(format!("of {lost} sectors a read ends as medium error")),
            Some(told) if told.0 < lost => Err(format!("{lost} sectors cannot be read, and it says {told}")),
            Some(_) => Ok(()),
        }
    }

    /// Whether the device may hold this after a power cut.
    fn agrees(&self, contents: &[Option<Held>]) -> Result<(), String> {
        for (sector, held) in (0..).zip(contents) {
            if let Some(held) = held
                && !self.histories.may_hold(sector, *held)
            {
                let may = self.histories.get(sector);
                return Err(format!("sector {sector} holds {held:?}, and may hold {may:?}"));
            }
        }
        let unit = self.device.features().atomic_unit.0;
        for (number, held) in (0..).zip(contents.chunks(unit as usize)) {
            let Some(held) = held.iter().copied().collect::<Option<Vec<Held>>>() else { continue };
            if !self.histories.may_hold_together(number * unit, &held) {
                return Err(format!("the unit at sector {} is torn: it holds {held:?}", number * unit));
            }
        }
        Ok(())
    }

    /// Leaves a copy without what the device says it can spare.
    fn look_without(&self, stream: &mut Stream, tally: &mut DeviceTally) -> Result<(), String> {
        let Some(without) = self.explored.without else { return Ok(()) };
        let mut copy = self.device.another();
        without(copy.as_mut(), self.now, stream);
        let contents = self.contents(copy.as_mut())?;
        tally.spared += 1;
        for (sector, held) in (0..).zip(contents) {
            let may = self.may_be(sector);
            match held {
                Some(held) if may.contains(&held) => {}
                None if self.lost.contains(&sector) => {}
                held => return Err(format!("sector {sector} is read as {held:?}; it may be {may:?}")),
            }
        }
        Ok(())
    }

    /// Looks at one cut.
    fn look(&self, replay: &Replay, tally: &mut DeviceTally) -> Result<(), String> {
        let told = |what: String| format!("after the cut {what}");
        let meanwhile = |device: &mut dyn Living| {
            if let (Some(with_cut), Some(number)) = (self.explored.with_cut, replay.with_cut) {
                with_cut(device, self.now, &mut Streams::new(number).stream("with-cut"));
            }
        };
        let (mut back, _) = Self::cut(self.device.as_ref(), self.now, &replay.fates, &meanwhile)?;
        if replay.returns {
            let now = back.now();
            (self.explored.on_return)(back.as_mut(), now, &mut Streams::new(replay.seed).stream("return"));
        }
        let first = self.contents(back.as_mut()).map_err(told)?;
        tally.cuts += 1;
        tally.unflushed += u64::from(!replay.fates.is_empty());
        tally.with_cut += u64::from(replay.with_cut.is_some());
        tally.sectors += first.len() as u64;
        tally.lost += first.iter().filter(|held| held.is_none()).count() as u64;
        self.agrees(&first).map_err(told)?;
        let mut differs = |device: &mut dyn Living, when: &str| -> Result<(), String> {
            let again = self.contents(device).map_err(|what| format!("{when} {what}"))?;
            tally.sectors += again.len() as u64;
            match first.iter().zip(&again).position(|(first, again)| first != again) {
                None => Ok(()),
                Some(sector) => Err(format!(
                    "sector {sector} held {:?} after the cut, and {when} {:?}",
                    first[sector], again[sector]
                )),
            }
        };
        differs(back.as_mut(), "at the next read")?;
        if let Some((ns, fates)) = &replay.second {
            let mut half = back.another();
            Self::let_pass(half.as_mut(), *ns);
            let at = half.now();
            let (mut twice, _) = Self::cut(half.as_ref(), at, fates, &|_| {})?;
            differs(twice.as_mut(), "after a second one")?;
            Self::let_pass(twice.as_mut(), self.explored.recovery);
            differs(twice.as_mut(), "when it had recovered from a second one")?;
        }
        Self::let_pass(back.as_mut(), self.explored.recovery);
        differs(back.as_mut(), "when it had recovered")?;
        if let Some(without) = self.explored.without {
            let now = back.now();
            without(back.as_mut(), now, &mut Streams::new(replay.seed).stream("without"));
            differs(back.as_mut(), "without what it could spare")?;
        }
        tally.twice += u64::from(replay.second.is_some());
        Ok(())
    }

    /// Lets a device do what it does for itself.
    fn let_pass(device: &mut dyn Living, time: Nanos) {
        let now = device.now();
        let mut out = Vec::new();
        device.complete(now.saturating_add(time), &mut out);
        let now = device.now();
        device.pass(now, Passing::Idle(Nanos(0)));
    }

    /// Looks at the cuts after a step.
    fn look_around(&self, seed: u64, step: usize, stream: &mut Stream, tally: &mut DeviceTally) -> Result<(), String> {
        let Devices { each_of, some, outcomes, recovery, .. } = self.explored;
        let (_, units) = Self::cut(self.device.as_ref(), self.now, &[], &|_| {})?;
        let enumeration = Enumeration { each_of, some, outcomes };
        tally.complete += u64::from(units > 0 && enumeration.is_complete(units));
        for fates in enumeration.combinations(units, stream) {
            let second = (stream.below(4) == 0).then(|| {
                let fates = (0..64).map(|_| one_of(stream, &[Fate::Done, Fate::Undone])).collect();
                (Nanos(stream.below(recovery.0.max(1))), fates)
            });
            let returns = stream.below(4) == 0;
            let with_cut = self.explored.with_cut.filter(|_| stream.below(4) == 0).map(|_| stream.below(1 << 16));
            let replay = Replay { seed, step, fates, second, with_cut, returns };
            self.look(&replay, tally).map_err(|what| format!("{replay}: {what}"))?;
        }
        Ok(())
    }
}

fn sectors(range: SectorRange) -> impl Iterator<Item = u64> {
    range.start.0..range.start.0 + range.count.0
}

/// Sectors of a read that had a medium error.
fn failed_sectors(read: &Completion) -> BTreeSet<u64> {
    match &read.status {
        Status::MediumError(failed) => failed.iter().flat_map(|range| sectors(*range)).collect(),
        _ => BTreeSet::new(),
    }
}

impl<'a> Devices<'a> {
    /// What is explored of devices that nobody disturbs.
    pub const fn new(make: &'a dyn Fn(&mut Stream) -> Box<dyn Living>) -> Self {
        Self {
            make,
            disturb: &|_, _, _| {},
            disturbs: 1,
            on_return: &|_, _, _| {},
            with_cut: None,
            without: None,
            told_lost: &|_| None,
            stripe: Sectors::ZERO,
            adopted: 0,
            steps: 40,
            cut_every: 1,
            window: Sectors(96),
            each_of: 4,
            some: 10,
            outcomes: 2,
            recovery: Nanos(1_000),
        }
    }
}

impl Devices<'_> {
    /// Explores one run.
    ///
    /// # Errors
    /// The first cut after which the device was not as its host may expect, as a replay and a sentence; or a request that ended wrong.
    pub fn explore(&self, seed: u64) -> Result<DeviceTally, String> {
        let (mut requests, mut cuts) = (Streams::new(seed).stream("device"), Streams::new(seed).stream("cuts"));
        let mut run = Run::new(*self, &mut requests);
        let mut tally = DeviceTally::default();
        for step in 0..self.steps {
            run.step(&mut requests).map_err(|what| format!("{seed}/{step}: {what}"))?;
            run.look_without(&mut cuts, &mut tally).map_err(|what| format!("{seed}/{step}, without some: {what}"))?;
            if self.cut_every > 0 && step.is_multiple_of(self.cut_every) {
                run.look_around(seed, step, &mut cuts, &mut tally)?;
            }
        }
        Ok(tally)
    }

    /// Looks at the one cut of a replay.
    ///
    /// # Errors
    /// As of [`Devices::explore`]; or it is no replay.
    pub fn replay(&self, text: &str) -> Result<(), String> {
        let replay = Replay::parse(text).ok_or_else(|| format!("{text} is no replay"))?;
        let mut requests = Streams::new(replay.seed).stream("device");
        let mut run = Run::new(*self, &mut requests);
        for step in 0..=replay.step {
            run.step(&mut requests).map_err(|what| format!("{}/{step}: {what}", replay.seed))?;
        }
        run.look(&replay, &mut DeviceTally::default()).map_err(|what| format!("{replay}: {what}"))
    }
}
