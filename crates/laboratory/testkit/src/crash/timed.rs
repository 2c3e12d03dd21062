//! The crash explorer with a clock: power fails at any time, while the flash is at work.
//!
//! A host keeps a few commands outstanding on a random small drive, whose operations take time on random dies and channels. At
//! random times a copy of the drive loses its power. For the operations that the flash was at work on, each combination of
//! outcomes is tried, or many of them. A command counts as acknowledged when its completion came.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::AtomicBool;

use wane_ftl::{EraseGroup, Fate, Ftl, FtlConfig, Outcome, Pooling, PowerCut, Recovery};
use wane_nand::{FlashOp, Media, OpKind};
use wane_sim::{Stream, Streams};
use wane_ssd::{
    Clock, ClockSpec, Collection, Command as Timed, CommandKind, Link, MultiPlane, Order, Processors, Progress,
    ReadPriority, SchedulerConfig, Suspend, Timing, WriteCache,
};
use wane_units::{Geometry, Lpn, SuperblockId};

use super::fates::{Enumeration, letter};
use super::history::{Held, Histories};
use super::{Command, Failure, Mode, command, drive_of, given_up, goes_on, is_told_lost, may_wear_out, one_of, torn};
use crate::{Content, FailingMedia};

/// Cuts are examined after 1 of this number of commands.
const LOOKED_AT: u64 = 4;
/// Number of times at which power fails, after such a command.
const INSTANTS: usize = 3;
/// Combinations of outcomes of the operations at work.
const TRIED: Enumeration = Enumeration { each_of: 4, some: 40, outcomes: 3 };
/// After 1 of `ADOPTED` commands the run continues with a drive that lost its power.
const ADOPTED: u64 = 12;

/// Never true.
static GO: AtomicBool = AtomicBool::new(false);

/// Numbers of explored cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimedTally {
    /// Power cuts that the drive came back from.
    pub cuts: u64,
    /// Of these, cuts that undid or tore something.
    pub in_flight: u64,
    /// Of these, cuts that tore something.
    pub torn: u64,
    /// Of these, cuts in which an operation was done that came after one that was undone.
    pub out_of_order: u64,
    /// Of these, cuts in which an erase was not done.
    pub erases: u64,
    /// Of all cuts, those during a recovery.
    pub twice: u64,
    /// Cuts of drives with pages that cannot be read.
    pub unreadable: u64,
}

impl std::ops::AddAssign for TimedTally {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.in_flight += other.in_flight;
        self.torn += other.torn;
        self.out_of_order += other.out_of_order;
        self.erases += other.erases;
        self.twice += other.twice;
        self.unreadable += other.unreadable;
    }
}

/// Random times of the flash, and a random configuration of either scheduler.
fn clock(stream: &mut Stream) -> ClockSpec {
    let by_events = stream.chance(0.6);
    let mut config = SchedulerConfig {
        write_cache: stream.chance(0.4).then(|| WriteCache { bytes: 256 << stream.below(4), latency_ns: 5_000 }),
        processors: stream.chance(0.2).then_some(Processors { count: 1, think_ns: 3_000 }),
        ..SchedulerConfig::default()
    };
    if by_events {
        config.link = stream.chance(0.2).then_some(Link { bytes_per_second: Some(200_000_000), command_ns: 20_000 });
        config.order = one_of(stream, &[Order::FirstCome, Order::Priority]);
        config.read_priority = one_of(stream, &[ReadPriority::No, ReadPriority::Yes]);
        config.suspend = one_of(stream, &[Suspend::None, Suspend::Program, Suspend::Erase, Suspend::Both]);
        config.suspend_ns = 20_000;
        config.collection = one_of(
            stream,
            &[Collection::Foreground, Collection::Background, Collection::Preemptible, Collection::Rotating],
        );
        config.multi_plane = one_of(stream, &[MultiPlane::Off, MultiPlane::On]);
    }
    let timing = Timing {
        read_ns: vec![50_000],
        program_ns: one_of(stream, &[&[400_000][..], &[200_000, 500_000, 1_300_000][..]]).to_vec(),
        erase_ns: one_of(stream, &[300_000, 3_000_000, 10_000_000]),
        channel_bytes_per_second: one_of(stream, &[None, Some(400_000_000), Some(2_000_000)]),
    };
    ClockSpec { by_events, timing, config, rereads_max: 0, thermal: None }
}

fn drive(stream: &mut Stream) -> (Geometry, FtlConfig, u32) {
    let shapes =
        [(1, 1, 1), (1, 2, 1), (2, 1, 1), (1, 4, 1), (2, 2, 1), (1, 1, 2), (1, 2, 2), (2, 1, 2), (1, 3, 1), (2, 4, 1)];
    let shape = one_of(stream, &shapes);
    let group = one_of(stream, &[EraseGroup::Block, EraseGroup::Superblock]);
    let pooling = one_of(stream, &[Pooling::Drive, Pooling::Drive, Pooling::Die]);
    drive_of(stream, shape, group, pooling)
}

/// See [`Histories`].
#[derive(Clone, Debug, Default)]
struct Oracle {
    units: Histories,
    written: u64,
    /// Units that may be reported as lost from then on, because at some time a page that may count for them could not be read.
    lossy: BTreeSet<u32>,
}

impl Oracle {
    fn set(&mut self, unit: u32, number: u64, held: Held) {
        self.units.set(unit.into(), number, held);
    }

    fn now(&self, unit: u32) -> Held {
        self.units.now(unit.into())
    }
}

/// What becomes durable when a completion comes.
#[derive(Clone, Debug)]
enum Awaited {
    /// These units.
    Units(Vec<u32>),
    /// Everything before it.
    All,
    Nothing,
}

/// A run: the drive, its clock, its oracle.
#[derive(Clone)]
struct Run {
    config: FtlConfig,
    spec: ClockSpec,
    geometry: Geometry,
    most: u32,
    ftl: Ftl<FailingMedia>,
    clock: Clock,
    oracle: Oracle,
    awaited: BTreeMap<u64, Awaited>,
    /// The next token. A command's number is its first token, so that earlier commands have lower numbers.
    tokens: u64,
    /// Number of the present command.
    number: u64,
    /// Number of programs and erases that are done, as the clock counts them.
    landed: u64,
    /// For each later change, whether it is an erase.
    is_erase: VecDeque<bool>,
    /// The last remaps: from where, to where, and which version.
    remapped: Vec<(u32, u32, u64)>,
    /// Whether pages become uncorrectable.
    wears_out: bool,
}

/// Explores one run of `commands` commands on a drive with a clock, and with chance 1 in `twice` the cuts in the recovery after a
/// cut.
///
/// # Errors
/// The first cut after which the drive was not as its host may expect.
pub fn explore_timed(seed: u64, commands: usize, twice: u64) -> Result<TimedTally, Failure> {
    let mut stream = Streams::new(seed).stream("crash.timed");
    let (mut run, depth) = Run::new(&mut stream);
    let mut tally = TimedTally::default();
    for number in 0..commands {
        run.arrive(depth, &mut stream);
        if run.wears_out && stream.below(5) == 0 {
            run.wear_out(&mut stream);
        }
        let command = command(&mut stream, run.ftl.exported());
        run.execute(&command, &mut stream);
        if run.ftl.exported() == 0 || run.ftl.end_of_life().is_some() {
            break;
        }
        let fails = |cut, what| Failure { seed, at: (number, cut), is_torn: false, what: format!("timed: {what}") };
        for instant in 0..if stream.below(LOOKED_AT) == 0 { INSTANTS } else { 0 } {
            let mut copy = run.clone();
            let most = one_of(&mut stream, &[30_000, 1_000_000, 12_000_000]);
            copy.pass(stream.below(most));
            copy.look(&mut stream, twice, &mut tally).map_err(|what| fails(instant, what))?;
        }
        if stream.below(ADOPTED) == 0 {
            run.pass(stream.below(2_000_000));
            run.adopt(&mut stream, &mut tally).map_err(|what| fails(usize::MAX, what))?;
            if run.ftl.exported() == 0 || run.ftl.end_of_life().is_some() {
                break;
            }
        }
    }
    Ok(tally)
}

impl Run {
    /// A random drive, and the number of commands that its host keeps outstanding.
    fn new(stream: &mut Stream) -> (Self, u64) {
        let (geometry, mut config, most) = drive(stream);
        let spec = clock(stream);
        let depth = one_of(stream, &[1, 2, 4, 8, 16]);
        let media = super::failing(stream, geometry, &mut config);
        let mut ftl = Ftl::new(media, config.clone()).expect("the largest drive that fits was sought");
        ftl.set_leveling(true);
        let clock = Clock::new(&spec, &geometry).expect("times and schedule were chosen to fit");
        let mut run = Self {
            config,
            spec,
            geometry,
            most,
            ftl,
            clock,
            oracle: Oracle::default(),
            awaited: BTreeMap::new(),
            tokens: 1,
            number: 1,
            landed: 0,
            is_erase: VecDeque::new(),
            remapped: Vec::new(),
            wears_out: stream.chance(0.4),
        };
        run.start();
        (run, depth)
    }

    /// Starts a clock at time 0, with nothing in flight.
    fn start(&mut self) {
        self.clock = Clock::new(&self.spec, &self.geometry).expect("times and schedule were chosen to fit");
        self.clock.track_changes();
        self.ftl.keep_flight(Some(0));
        self.ftl.media_mut().media.ops = Some(Vec::new());
        (self.landed, self.is_erase) = (0, VecDeque::new());
        self.awaited.clear();
    }

    /// Makes a programmed page uncorrectable, if nothing is in flight.
    fn wear_out(&mut self, stream: &mut Stream) {
        if !self.is_erase.is_empty() {
            return;
        }
        let Some((block, row)) = may_wear_out(&self.ftl, stream) else { return };
        let media = self.ftl.media();
        let held: Vec<Content> =
            (0..self.config.units_per_page).filter_map(|unit| media.tag(block, row, unit)).collect();
        for Content { unit, version } in held {
            // A remapped unit still lies in its old place.
            let holds = |history: &[(u64, Held)]| history.iter().any(|(_, held)| *held == Some(version));
            let holders = self.oracle.units.iter().filter(|(_, history)| holds(history)).map(|(unit, _)| unit as u32);
            let holders: Vec<u32> = holders.chain([unit.0]).collect();
            self.oracle.lossy.extend(holders);
        }
        let page = self.geometry.page(block, row);
        self.ftl.media_mut().worn.insert(page);
    }

    /// Lets time run until the next command comes.
    fn arrive(&mut self, depth: u64, stream: &mut Stream) {
        if stream.below(8) == 0 {
            return self.pass(stream.below(8_000_000));
        }
        let mut done = Vec::new();
        self.clock.arrive_below(depth, &GO, &mut |completion| done.push(completion.token));
        self.acknowledged(&done);
        assert!(self.clock.scheduler().outstanding() < depth, "every command is done some time");
    }

    /// Lets time run.
    fn pass(&mut self, ns: u64) {
        let mut done = Vec::new();
        let at = self.clock.now_ns() + ns;
        self.clock.arrive_at(at, &GO, &mut |completion| done.push(completion.token));
        self.acknowledged(&done);
    }

    /// Takes completions into account.
    fn acknowledged(&mut self, tokens: &[u64]) {
        for token in tokens {
            let units = match self.awaited.remove(token) {
                Some(Awaited::Units(units)) => units,
                Some(Awaited::All) => self.oracle.units.iter().map(|(unit, _)| unit as u32).collect(),
                Some(Awaited::Nothing) | None => continue,
            };
            units.iter().for_each(|unit| self.oracle.units.durable((*unit).into(), *token));
        }
        let landed = self.clock.settle_changes();
        self.is_erase.drain(..(landed - self.landed) as usize);
        self.landed = landed;
        self.ftl.landed(landed);
    }

    /// Submits what the drive did as a command.
    fn submit(&mut self, kind: CommandKind, awaited: Awaited) {
        let ops: Vec<FlashOp> = self.ftl.media_mut().media.ops.replace(Vec::new()).unwrap_or_default();
        let changes = ops.iter().filter(|op| matches!(op.kind, OpKind::Program | OpKind::Erase));
        self.is_erase.extend(changes.map(|op| op.kind == OpKind::Erase));
        let changes = self.landed + self.is_erase.len() as u64;
        assert_eq!(self.ftl.changes(), changes, "firmware and clock count the same programs and erases");
        let bytes = 64 * ops.len() as u64;
        if self.clock.submit(Timed { token: self.tokens, kind, bytes }, &ops) {
            self.awaited.insert(self.tokens, awaited);
        }
        self.tokens += 1;
    }

    fn execute(&mut self, command: &Command, stream: &mut Stream) {
        self.number = self.tokens;
        let has_cache = self.spec.config.write_cache.is_some();
        let is_fua = !has_cache && stream.below(6) == 0;
        let (kind, units) = match command {
            Command::Write(units) => (CommandKind::Write, self.write(units)),
            Command::Trim(units) => {
                self.ftl.trim(Lpn::slice(units)).expect("it is exported");
                units.iter().for_each(|unit| self.oracle.set(*unit, self.number, None));
                (CommandKind::Trim, units.clone())
            }
            Command::Remap(to, from, to_units, from_units) => {
                self.remap((*to, *to_units), (*from, *from_units));
                (CommandKind::Trim, Vec::new())
            }
            Command::Scrub(unit) => {
                self.ftl.read(&[Lpn(*unit)]).expect("it is exported");
                self.submit(CommandKind::Read, Awaited::Nothing);
                let outcome = self.ftl.scrub().unwrap_or(Outcome::Done);
                self.settle(outcome);
                return self.submit(CommandKind::Trim, Awaited::Nothing);
            }
            Command::Flush => {
                let outcome = self.ftl.flush();
                self.settle(outcome);
                self.submit(CommandKind::Trim, Awaited::Nothing);
                let is_done = self.ftl.end_of_life().is_none();
                return self.submit(CommandKind::Flush, if is_done { Awaited::All } else { Awaited::Nothing });
            }
            Command::Retire(number) => {
                let block = SuperblockId(number % self.ftl.layout().blocks());
                if let Ok(outcome) = self.ftl.retire_block(block) {
                    self.settle(outcome);
                }
                return self.submit(CommandKind::Trim, Awaited::Nothing);
            }
            Command::Degrade(is_degraded) => {
                return self.ftl.set_mode(if *is_degraded { Mode::Degraded } else { Mode::Normal });
            }
        };
        let is_fua = is_fua && kind == CommandKind::Write;
        if is_fua {
            let outcome = self.ftl.flush();
            self.settle(outcome);
        }
        let is_durable = (self.config.power_loss_protection || is_fua) && self.ftl.end_of_life().is_none();
        self.submit(kind, if is_durable { Awaited::Units(units) } else { Awaited::Nothing });
    }

    /// Returns the units that were written.
    fn write(&mut self, units: &[u32]) -> Vec<u32> {
        let (mut left, mut written) = (units, Vec::new());
        while !left.is_empty() {
            let fitting: Vec<u32> = left.iter().map(|unit| unit % self.ftl.exported().max(1)).collect();
            let tags: Vec<Option<Content>> = (self.oracle.written..)
                .zip(&fitting)
                .map(|(version, unit)| Some(Content { unit: Lpn(*unit), version }))
                .collect();
            let (done, outcome) = self.ftl.write_tagged(Lpn::slice(&fitting), &tags);
            for unit in &fitting[..done] {
                let version = self.oracle.written;
                self.oracle.written += 1;
                self.oracle.set(*unit, self.number, Some(version));
                written.push(*unit);
            }
            left = &left[done..];
            self.settle(outcome);
            if self.ftl.end_of_life().is_some() || self.ftl.exported() == 0 {
                break;
            }
        }
        written
    }

    fn remap(&mut self, (to, to_units): (u32, u32), (from, from_units): (u32, u32)) {
        if self.ftl.remap(Lpn(to), Lpn(from), to_units, from_units).is_err() {
            return;
        }
        let held: Vec<Held> = (from..from + from_units).map(|unit| self.oracle.now(unit)).collect();
        self.remapped.clear();
        for (offset, version) in (0..).zip(&held) {
            // If the source may be empty for another reason, nothing can be said of the pair.
            let was_empty = |history: &Vec<(u64, Held)>| history.iter().any(|(_, held)| held.is_none());
            let held_some = self.oracle.units.get((from + offset).into()).is_some_and(|history| !was_empty(history));
            if let Some(version) = version
                && held_some
            {
                self.remapped.push((from + offset, to + offset, *version));
            }
        }
        (from..from + from_units).for_each(|unit| self.oracle.set(unit, self.number, None));
        for (offset, unit) in (to..to + to_units).enumerate() {
            self.oracle.set(unit, self.number, held.get(offset).copied().flatten());
            if offset < from_units as usize && self.oracle.lossy.contains(&(from + offset as u32)) {
                self.oracle.lossy.insert(unit);
            }
        }
    }

    /// Answers demands like a host that keeps nothing above what is exported, and continues after pauses.
    fn settle(&mut self, mut outcome: Outcome) {
        loop {
            outcome = match outcome {
                Outcome::Demand(demand) => {
                    if let Some((above, is_exported_less)) = given_up(&self.ftl, demand) {
                        self.ftl.trim(Lpn::slice(&above)).expect("it is exported");
                        above.iter().for_each(|unit| self.oracle.set(*unit, self.number, None));
                        if is_exported_less {
                            self.ftl.shrink_to(self.ftl.exported() - above.len() as u32);
                        }
                    }
                    self.ftl.reclaim()
                }
                Outcome::Paused => self.ftl.resume(),
                Outcome::Done | Outcome::Dead(_) | Outcome::OutOfRange(_) => return,
            };
        }
    }

    /// Cuts the power now, with each combination of outcomes of the operations at work, or with some.
    fn look(&self, stream: &mut Stream, twice: u64, tally: &mut TimedTally) -> Result<(), String> {
        let progress = self.clock.progress();
        let begun: Vec<usize> = (0..progress.len()).filter(|at| progress[*at] == Progress::Begun).collect();
        let is_done = |progress: &Progress| if *progress == Progress::Done { Fate::Done } else { Fate::Undone };
        for chosen in TRIED.combinations(begun.len(), stream) {
            let mut fates: Vec<Fate> = progress.iter().map(is_done).collect();
            begun.iter().zip(chosen).for_each(|(at, fate)| fates[*at] = fate);
            self.count(&fates, tally);
            let looks_twice = stream.below(twice) == 0;
            self.look_at(&fates, looks_twice, tally)
                .map_err(|what| format!("at {} ns, {}: {what}", self.clock.now_ns(), spell(&fates, &self.is_erase)))?;
        }
        Ok(())
    }

    fn count(&self, fates: &[Fate], tally: &mut TimedTally) {
        let is_not_done = |fate: &Fate| *fate != Fate::Done;
        tally.cuts += 1;
        tally.unreadable += u64::from(!self.ftl.media().worn.is_empty());
        tally.in_flight += u64::from(fates.iter().any(is_not_done));
        tally.torn += u64::from(fates.contains(&Fate::Torn));
        let first = fates.iter().position(is_not_done).unwrap_or(fates.len());
        tally.out_of_order += u64::from(fates[first..].contains(&Fate::Done));
        let mut changes = fates.iter().zip(&self.is_erase);
        tally.erases += u64::from(changes.any(|(fate, is_erase)| is_not_done(fate) && *is_erase));
    }

    fn cut(&self, fates: &[Fate]) -> PowerCut<FailingMedia> {
        let fate = |number: u64| fates[(number - self.landed) as usize];
        let mut cut = self.ftl.clone().power_cut_in_flight(fate).expect("the drive keeps out-of-band data");
        cut.media_mut().media.ops = None;
        cut
    }

    fn look_at(&self, fates: &[Fate], looks_twice: bool, tally: &mut TimedTally) -> Result<(), String> {
        let ready = |ftl: &mut Ftl<FailingMedia>| {
            if looks_twice {
                ftl.capture_cuts();
            }
        };
        let (mut ftl, report) =
            Ftl::recover_watched(self.cut(fates), self.config.clone(), ready).map_err(|error| error.to_string())?;
        let cuts = ftl.take_cuts();
        let unerased = fates.iter().zip(&self.is_erase).filter(|(fate, is_erase)| **fate != Fate::Done && **is_erase);
        let retired_min = self.ftl.retired_blocks().saturating_sub(unerased.count() as u32);
        self.agrees(&mut ftl, &report, retired_min)?;
        for cut in cuts {
            for cut in [cut.clone(), torn(cut)] {
                tally.cuts += 1;
                tally.twice += 1;
                let (mut ftl, report) = Ftl::recover(cut, self.config.clone()).map_err(|error| error.to_string())?;
                self.agrees(&mut ftl, &report, retired_min).map_err(|what| format!("twice: {what}"))?;
            }
        }
        Ok(())
    }

    /// Cuts the power now, and continues the run with the recovered drive.
    fn adopt(&mut self, stream: &mut Stream, tally: &mut TimedTally) -> Result<(), String> {
        let fate = |progress: &Progress| match progress {
            Progress::Done => Fate::Done,
            Progress::NotBegun => Fate::Undone,
            Progress::Begun => one_of(stream, &[Fate::Undone, Fate::Torn, Fate::Done]),
        };
        let fates: Vec<Fate> = self.clock.progress().iter().map(fate).collect();
        self.count(&fates, tally);
        self.look_at(&fates, false, tally)
            .map_err(|what| format!("adopted, {}: {what}", spell(&fates, &self.is_erase)))?;
        let (ftl, report) = Ftl::recover(self.cut(&fates), self.config.clone()).map_err(|error| error.to_string())?;
        self.ftl = ftl;
        self.ftl.set_leveling(true);
        self.remapped.clear();
        self.start();
        self.number = self.tokens;
        let held = |unit| self.ftl.tag(Lpn(unit)).map(|content| content.version);
        self.oracle.units = Histories::of((0..self.ftl.logical_initial()).map(|unit| (unit.into(), held(unit))));
        if let Some(demand) = report.demand {
            self.settle(Outcome::Demand(demand));
        }
        self.submit(CommandKind::Trim, Awaited::Nothing);
        Ok(())
    }

    fn agrees(&self, ftl: &mut Ftl<FailingMedia>, report: &Recovery, retired_min: u32) -> Result<(), String> {
        ftl.check()?;
        if ftl.exported() != self.ftl.exported() {
            return Err(format!("{} units exported, {} expected", ftl.exported(), self.ftl.exported()));
        }
        let survives = self.config.power_loss_protection;
        let mut mapped = 0;
        for unit in 0..ftl.logical_initial() {
            let is_mapped = ftl.lookup(Lpn(unit)).is_some();
            mapped += u64::from(is_mapped);
            let held = ftl.tag(Lpn(unit)).map(|content| content.version);
            if is_mapped && held.is_none() {
                return Err(format!("unit {unit} is mapped to padding"));
            }
            if is_mapped && is_told_lost(ftl, Lpn(unit), self.wears_out) {
                if !self.oracle.lossy.contains(&unit) {
                    return Err(format!("unit {unit} is lost, though its page can be read"));
                }
                continue;
            }
            let is_allowed =
                if survives { self.oracle.now(unit) == held } else { self.oracle.units.may_hold(unit.into(), held) };
            if !is_allowed {
                let (now, may) = (self.oracle.now(unit), self.oracle.units.get(unit.into()));
                return Err(format!("unit {unit} holds {held:?}; written last was {now:?}, it may hold {may:?}"));
            }
        }
        let held = |unit: u32| ftl.tag(Lpn(unit)).map(|content| content.version);
        for (from, to, version) in &self.remapped {
            let is_there = self.oracle.now(*to) == Some(*version) && self.oracle.now(*from).is_none();
            if is_there && held(*from).is_none() && held(*to) != Some(*version) {
                return Err(format!("remapped from {from} to {to}, version {version} is at neither"));
            }
        }
        if ftl.retired_blocks() < retired_min {
            return Err(format!("{} blocks are out of service, and {retired_min} were at least", ftl.retired_blocks()));
        }
        if !self.config.mode.acts() && ftl.mode() != self.ftl.mode() {
            return Err(format!("the mode is {:?}", ftl.mode()));
        }
        if mapped != report.units_mapped {
            return Err(format!("{} units reported as mapped, {mapped} are", report.units_mapped));
        }
        goes_on(ftl, report, self.most, false)
    }
}

/// The fates of programs and, in capitals, of erases, as letters: done, torn, undone.
fn spell(fates: &[Fate], is_erase: &VecDeque<bool>) -> String {
    let told = |(fate, is_erase): (&Fate, &bool)| {
        let letter = letter(*fate);
        if *is_erase { letter.to_ascii_uppercase() } else { letter }
    };
    fates.iter().zip(is_erase).map(told).collect()
}
