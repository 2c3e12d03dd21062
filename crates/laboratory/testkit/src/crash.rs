//! A crash explorer. Power is cut before every event that persists, and in the middle of it, and the drive must then be as its
//! host may expect.
//!
//! A run is a random drive with random commands, both from one seed. An oracle keeps what each logical unit may hold: its
//! contents at the last flush, or anything written since. A command that the cut interrupts may or may not have happened, for
//! each unit.

mod devices;
mod fates;
mod history;
mod timed;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use wane_ftl::policies::allocation::ALLOCATION_POLICIES;
use wane_ftl::policies::capacity::{CAPACITY_POLICIES, Demand};
use wane_ftl::policies::mode::MODE_POLICIES;
use wane_ftl::policies::placement::PLACEMENT_POLICIES;
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::redundancy::{REDUNDANCY_POLICIES, RedundancyPolicy};
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::{Action, ScrubPolicy, ScrubView};
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::policies::{Entry, Mode, find};
use wane_ftl::{EraseGroup, Ftl, FtlConfig, Layout, Outcome, Pooling, PowerCut, Protection, Recovery};
use wane_nand::Media;
use wane_sim::{Stream, Streams};
use wane_units::{BlockId, Bytes, Geometry, Lpn, Ppn, SuperblockId};

use crate::{Content, FailingMedia};

pub use devices::{DeviceTally, Devices, Disturb};
pub use timed::{TimedTally, explore_timed};

use history::Held;

/// After 1 of `ADOPTED` commands the run continues with a drive that lost its power.
const ADOPTED: u64 = 12;

/// Numbers of explored cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Power cuts that the drive came back from.
    pub cuts: u64,
    /// Of these, cuts in the middle of a program or an erase.
    pub torn: u64,
    /// Of these, cuts that also destroyed earlier pages on the same wordline.
    pub along: u64,
    /// Of these, cuts during a recovery.
    pub twice: u64,
    /// Of these, cuts of drives that have collected and lost blocks to wear.
    pub worn: u64,
    /// Of these, cuts of drives with stripes.
    pub striped: u64,
    /// Of these, cuts of drives with pages that cannot be read.
    pub unreadable: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.torn += other.torn;
        self.along += other.along;
        self.twice += other.twice;
        self.worn += other.worn;
        self.striped += other.striped;
        self.unreadable += other.unreadable;
    }
}

/// A cut after which the drive was not as its host may expect. Its text says how to reproduce it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The run.
    pub seed: u64,
    /// Number of the command, and number of the event within it.
    pub at: (usize, usize),
    /// Whether the event was under way when power failed.
    pub is_torn: bool,
    /// What was wrong.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, at: (command, event), is_torn, what } = self;
        let torn = if *is_torn { ", torn" } else { "" };
        write!(f, "seed {seed}, command {command}, event {event}{torn}: {what}")
    }
}

/// Relocates or checks everything that was read.
#[derive(Clone)]
struct Eager;

impl ScrubPolicy for Eager {
    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        view.touched().find(|block| view.valid(*block).is_some()).map(Action::Relocate)
    }
}

fn policy<T>(family: &[Entry<T>], name: &str, parameters: &str) -> T {
    let table = parameters.parse().expect("written here");
    find(family, name).expect("built in").parse(table).expect("its parameters are written here")
}

/// One of a list.
fn one_of<T: Copy>(stream: &mut Stream, list: &[T]) -> T {
    list[stream.below(list.len() as u64) as usize]
}

/// Flash whose programs and erases may fail. Programmed pages read well, because permanent losses have nothing to do with cuts.
fn failing(stream: &mut Stream, geometry: Geometry, config: &mut FtlConfig) -> FailingMedia {
    let mut media = FailingMedia::new(geometry);
    // Less often than once in two superblocks; otherwise everything moved into a block would have to be moved on.
    let planes = geometry.dies() * geometry.planes_per_die();
    let rarely = (2 * planes * geometry.pages_per_block() + 3).max(31);
    media.program_fails_every = one_of(stream, &[0, 0, 0, rarely.into()]);
    if media.program_fails_every > 0 {
        // A full drive would move its data for ever, from one failing block to the next.
        config.logical_units = (config.logical_units / 2).max(1);
    }
    if stream.below(4) == 0 {
        media.erase_fails.insert(BlockId(stream.below(u64::from(geometry.blocks())) as u32));
    }
    media
}

/// A random small drive that keeps out-of-band data.
fn drive(stream: &mut Stream) -> (Geometry, FtlConfig, u32) {
    let shapes = [(1, 1, 1), (1, 1, 1), (1, 1, 2), (2, 1, 1), (2, 1, 2), (1, 3, 1), (2, 2, 1)];
    let (channels, dies, planes) = one_of(stream, &shapes);
    let is_one_die = channels * dies == 1;
    let is_by_die = !is_one_die && stream.chance(0.5);
    let erase_group = if planes > 1 || !is_one_die && !is_by_die { EraseGroup::Superblock } else { EraseGroup::Block };
    let domain = if is_by_die { Pooling::Die } else { Pooling::Drive };
    drive_of(stream, (channels, dies, planes), erase_group, domain)
}

/// A random small drive with these numbers of channels, dies of a channel, and planes of a die.
fn drive_of(
    stream: &mut Stream,
    (channels, dies, planes): (u32, u32, u32),
    erase_group: EraseGroup,
    domain: Pooling,
) -> (Geometry, FtlConfig, u32) {
    let pages_per_block = 3 + stream.below(5) as u32;
    let blocks_per_plane = 15 + stream.below(8) as u32;
    let page_size = Bytes(64 << stream.below(3));
    let geometry = Geometry::new(channels, dies, planes, blocks_per_plane, pages_per_block, page_size)
        .expect("a small drive fits");
    let units_per_page = one_of(stream, &[1, 1, 2, 4]);
    let layout = Layout::new(geometry, erase_group, domain, units_per_page);
    let redundancy = redundancy(stream, &geometry, erase_group, domain);
    let recovery =
        one_of(stream, &[("full-scan", ""), ("checkpoint", "interval = 4"), ("checkpoint", "interval = 30")]);
    // A checkpoint has no record of stripes.
    let recovery = if redundancy.acts() { ("full-scan", "") } else { recovery };
    let leveler = one_of(
        stream,
        &[
            ("none", ""),
            ("none", ""),
            ("hot-cold-swap", "threshold = 1"),
            ("pwl", "threshold = '10 %'"),
            ("dual-pool", "threshold = 1"),
        ],
    );
    let capacity = one_of(
        stream,
        &[("fixed", ""), ("variant", "shrink = 'graceful'"), ("variant", "shrink = 'graceful'\nkeep = 'capacity'")],
    );
    let gc_reserve = 3 + stream.below(2) as u32;
    let endurance = one_of(stream, &[6, 12, 1000]);
    let config = FtlConfig {
        units_per_page,
        logical_units: layout.units_per_block() * layout.blocks(),
        gc_reserve,
        rated_blocks: layout.blocks() - gc_reserve * layout.domains(),
        endurance: Some(endurance),
        retire: policy(RETIRE_POLICIES, "at-endurance", ""),
        erase_group,
        domain,
        placement: policy(PLACEMENT_POLICIES, one_of(stream, &["one", "separate", "separate"]), ""),
        allocation: policy(ALLOCATION_POLICIES, one_of(stream, &["fifo", "least-worn"]), ""),
        victim: policy(VICTIM_POLICIES, one_of(stream, &["greedy", "cost-benefit"]), ""),
        wear_leveling: policy(WEAR_LEVEL_POLICIES, leveler.0, leveler.1),
        redundancy,
        scrub: Box::new(Eager),
        capacity: policy(CAPACITY_POLICIES, capacity.0, capacity.1),
        mode: policy(MODE_POLICIES, one_of(stream, &["host-only", "over-provisioning"]), ""),
        recovery: policy(RECOVERY_POLICIES, recovery.0, recovery.1),
        power_loss_protection: stream.chance(0.5),
        wordline_pages: NonZeroU32::new(one_of(stream, &[1, 1, 2, 3])).expect("at least a page"),
        remap_log: Bytes(one_of(stream, &[64, 1024])),
        ..FtlConfig::new(&geometry, wane_units::Ratio::ZERO)
    };
    // Parity of stripes that are closed early takes more space than that of full ones.
    let share = if config.redundancy.acts() { 10 + stream.below(40) as u32 } else { 30 + stream.below(70) as u32 };
    let mut config = config;
    let mut most = most_units(geometry, &config);
    if most == 0 {
        // Padding would fill each block.
        config.power_loss_protection = true;
        most = most_units(geometry, &config);
    }
    (geometry, FtlConfig { logical_units: (most * share / 100).max(1), ..config }, most)
}

/// A random redundancy policy: often none, and always none if writing does not go from die to die.
fn redundancy(
    stream: &mut Stream,
    geometry: &Geometry,
    erase_group: EraseGroup,
    domain: Pooling,
) -> Box<dyn RedundancyPolicy> {
    let dies = geometry.dies();
    let rotates = domain == Pooling::Die || erase_group == EraseGroup::Superblock;
    if dies == 1 || !rotates || stream.chance(0.4) {
        return policy(REDUNDANCY_POLICIES, "none", "");
    }
    let name = one_of(stream, &["stripes", "rain", "selective"]);
    let data_pages = 1 + stream.below(u64::from(dies) - 1) as u32;
    let fits = domain == Pooling::Die && dies.is_multiple_of(data_pages + 1);
    let name = if name == "rain" && !fits { "stripes" } else { name };
    policy(REDUNDANCY_POLICIES, name, &format!("data-pages = {data_pages}"))
}

/// A cut that tears a page, with those before it on its wordline, or an erase.
pub(crate) fn torn<M: Media>(cut: PowerCut<M>) -> PowerCut<M> {
    let lower = cut.lower_pages();
    cut.torn(lower)
}

/// The most logical units that the firmware accepts for a drive; 0 if it accepts none.
fn most_units(geometry: Geometry, config: &FtlConfig) -> u32 {
    let fits = |units: u32| {
        Ftl::new(FailingMedia::new(geometry), FtlConfig { logical_units: units, ..config.clone() }).is_ok()
    };
    let (mut most, mut too_many) = (0, config.logical_units);
    while most + 1 < too_many {
        let middle = most.midpoint(too_many);
        if fits(middle) { most = middle } else { too_many = middle }
    }
    most
}

/// A command of the host.
#[derive(Clone, Debug)]
enum Command {
    Write(Vec<u32>),
    Trim(Vec<u32>),
    /// Destination, source, units of both.
    Remap(u32, u32, u32, u32),
    Scrub(u32),
    Flush,
    /// Sets the mode.
    Degrade(bool),
    /// Takes a block out of service.
    Retire(u32),
}

fn command(stream: &mut Stream, exported: u32) -> Command {
    let mut below = |most: u32| stream.below(u64::from(most)) as u32;
    let unit = below(exported);
    match below(42) / 2 {
        0..=3 => Command::Write((unit..unit + 1 + below(6)).map(|unit| unit % exported).collect()),
        4..=11 => {
            let among = if below(2) == 0 { (exported / 4).max(1) } else { exported };
            Command::Write((0..1 + below(6)).map(|_| below(among)).collect())
        }
        12..=13 => Command::Trim((unit..(unit + 1 + below(8)).min(exported)).collect()),
        14..=15 => {
            let from_units = 1 + below(4);
            Command::Remap(unit, below(exported), from_units + below(2), from_units)
        }
        16..=17 => Command::Scrub(unit),
        18 => Command::Flush,
        19 => Command::Degrade(below(3) == 0),
        _ => Command::Retire(below(1 << 10)),
    }
}

/// What each unit may hold after a power cut.
#[derive(Clone, Debug, Default)]
struct Oracle {
    /// Its present contents.
    now: BTreeMap<u32, u64>,
    /// All contents since the last flush, including the present, if there are several.
    since: BTreeMap<u32, Vec<Held>>,
    written: u64,
    /// Units that may be reported as lost, because a page that may count for them cannot be read. The value says whether that
    /// page is the present one, so that a flush changes nothing.
    lossy: BTreeMap<u32, bool>,
}

impl Oracle {
    fn set(&mut self, unit: u32, held: Held) {
        let before = self.now.get(&unit).copied();
        let history = self.since.entry(unit).or_insert_with(|| vec![before]);
        history.push(held);
        if let Some(is_present) = self.lossy.get_mut(&unit) {
            *is_present = false;
        }
        match held {
            Some(version) => self.now.insert(unit, version),
            None => self.now.remove(&unit),
        };
    }

    fn may_hold(&self, unit: u32, held: Held) -> bool {
        let holds = |known: Held| {
            self.since.get(&unit).map_or(self.now.get(&unit).copied() == known, |history| history.contains(&known))
        };
        holds(held)
    }

    /// Makes everything durable.
    fn flushed(&mut self) {
        self.since.clear();
        self.lossy.retain(|_, is_present| *is_present);
    }
}

/// A run: the drive, its oracle, and what was found.
struct Run {
    seed: u64,
    config: FtlConfig,
    /// The most logical units that the firmware accepts for this drive.
    most: u32,
    ftl: Ftl<FailingMedia>,
    oracle: Oracle,
    stream: Stream,
    tally: Tally,
    /// Of the cuts during a recovery, one of this number is examined.
    twice: u64,
    /// Retired blocks, and the mode, when the present command began.
    retired: u32,
    mode: Mode,
    /// The last command's remaps: from where, to where, and which version.
    remapped: Vec<(u32, u32, u64)>,
    /// Whether pages become uncorrectable.
    wears_out: bool,
}

/// Explores one run of `commands` commands: every cut of it, and with chance 1 in `twice` the cuts in the recovery after it.
///
/// # Errors
/// The first cut after which the drive was not as its host may expect.
pub fn explore(seed: u64, commands: usize, twice: u64) -> Result<Tally, Failure> {
    let mut stream = Streams::new(seed).stream("crash");
    let (geometry, mut config, most) = drive(&mut stream);
    let media = failing(&mut stream, geometry, &mut config);
    let wears_out = stream.chance(0.4);
    let mut ftl = Ftl::new(media, config.clone()).expect("the largest drive that fits was sought");
    ftl.set_leveling(true);
    ftl.capture_cuts();
    let oracle = Oracle::default();
    let (tally, retired, mode) = (Tally::default(), 0, Mode::Normal);
    let remapped = Vec::new();
    let mut run = Run { seed, config, most, ftl, oracle, stream, tally, twice, retired, mode, remapped, wears_out };
    for number in 0..commands {
        if run.ftl.exported() == 0 || run.ftl.end_of_life().is_some() {
            break;
        }
        if run.wears_out && run.stream.below(5) == 0 {
            run.wear_out();
        }
        let command = command(&mut run.stream, run.ftl.exported());
        run.execute(number, &command)?;
    }
    Ok(run.tally)
}

impl Run {
    /// Makes a programmed page uncorrectable. The first such page loses nothing that is protected by parity on flash, or by
    /// parity in the controller that survives.
    fn wear_out(&mut self) {
        let geometry = *self.ftl.media().geometry();
        let Some((block, page)) = may_wear_out(&self.ftl, &mut self.stream) else { return };
        let worn = &mut self.ftl.media_mut().worn;
        worn.insert(geometry.page(block, page));
        let all: Vec<Ppn> = worn.iter().copied().collect();
        let (is_first, media) = (all.len() == 1, self.ftl.media());
        for page in all {
            let (block, row) = (geometry.block_of(page), geometry.page_in_block(page));
            let held: Vec<Content> =
                (0..self.config.units_per_page).filter_map(|unit| media.tag(block, row, unit)).collect();
            for Content { unit, version } in held {
                // A remapped unit still lies in its old place.
                let holders = self.oracle.now.iter().filter(|(_, now)| **now == version).map(|(unit, _)| *unit);
                let present: Vec<u32> = holders.collect();
                let is_kept = is_first && present.iter().all(|unit| self.is_given_back(Lpn(*unit)));
                for present in present.into_iter().filter(|_| !is_kept) {
                    self.oracle.lossy.insert(present, true);
                }
                let before = self.oracle.since.iter().filter(|(_, history)| history.contains(&Some(version)));
                let before: Vec<u32> = before.map(|(unit, _)| *unit).chain([unit.0]).collect();
                before.into_iter().for_each(|unit| _ = self.oracle.lossy.entry(unit).or_insert(false));
            }
        }
    }

    /// Whether parity restores a unit after any cut.
    fn is_given_back(&self, unit: Lpn) -> bool {
        // A cut may tear another page of the stripe, together with one on its wordline. Once the stripe is closed that is a
        // second loss.
        let may_lose_another = self.config.wordline_pages > NonZeroU32::MIN;
        match self.ftl.protection(unit) {
            Protection::None => false,
            Protection::InController => self.config.power_loss_protection && !may_lose_another,
            Protection::OnFlash => !may_lose_another,
        }
    }

    /// Carries out a command, and then examines each cut that might have come during it.
    fn execute(&mut self, number: usize, command: &Command) -> Result<(), Failure> {
        let (exported, moved) = (self.ftl.exported(), moved_by_itself(&self.ftl));
        (self.retired, self.mode) = (self.ftl.retired_blocks(), self.ftl.mode());
        self.remapped.clear();
        match command {
            Command::Write(units) => self.write(units),
            Command::Trim(units) => {
                self.ftl.trim(Lpn::slice(units)).expect("it is exported");
                units.iter().for_each(|unit| self.oracle.set(*unit, None));
            }
            Command::Remap(to, from, to_units, from_units) => self.remap((*to, *to_units), (*from, *from_units)),
            Command::Scrub(unit) => {
                self.ftl.read(&[Lpn(*unit)]).expect("it is exported");
                let outcome = self.ftl.scrub().unwrap_or(Outcome::Done);
                self.settle(outcome);
            }
            Command::Flush => {
                let outcome = self.ftl.flush();
                self.settle(outcome);
            }
            Command::Degrade(is_degraded) => {
                self.ftl.set_mode(if *is_degraded { Mode::Degraded } else { Mode::Normal });
            }
            Command::Retire(number) => {
                let block = SuperblockId(number % self.ftl.layout().blocks());
                if let Ok(outcome) = self.ftl.retire_block(block) {
                    self.settle(outcome);
                }
            }
        }
        let is_dead = self.ftl.end_of_life().is_some();
        let cuts = self.ftl.take_cuts();
        for (event, cut) in cuts.into_iter().enumerate() {
            let seed = self.seed;
            let fails = |is_torn, what| Failure { seed, at: (number, event), is_torn, what };
            // Until the command is over, each of its units is old or new.
            self.look(cut.clone(), exported, is_dead).map_err(|what| fails(false, what))?;
            self.tally.along += u64::from(cut.lower_pages() > 0);
            self.look(torn(cut), exported, is_dead).map_err(|what| fails(true, what))?;
            self.tally.torn += 1;
        }
        let is_flushed = matches!(command, Command::Flush) && !is_dead;
        // Data that the drive moves after that join new stripes.
        let has_moved = moved_by_itself(&self.ftl) > moved;
        if is_flushed && !has_moved && !self.config.power_loss_protection {
            let fails = |what| Failure { seed: self.seed, at: (number, usize::MAX), is_torn: false, what };
            self.closes_stripes().map_err(fails)?;
        }
        let is_durable = self.config.power_loss_protection || is_flushed;
        if is_durable && !is_dead {
            self.oracle.flushed();
        }
        if self.stream.below(ADOPTED) == 0 && !is_dead {
            self.go_on_with_the_recovered().map_err(|what| Failure {
                seed: self.seed,
                at: (number, usize::MAX),
                is_torn: false,
                what,
            })?;
        } else if let Some(cut) = self.ftl.clone().power_cut() {
            self.look(cut, self.ftl.exported(), is_dead).map_err(|what| Failure {
                seed: self.seed,
                at: (number, usize::MAX),
                is_torn: false,
                what,
            })?;
        }
        Ok(())
    }

    /// Checks that everything flushed has its parity on flash, not only in the controller's memory.
    fn closes_stripes(&self) -> Result<(), String> {
        let open = Lpn::all(0..self.ftl.exported()).find(|unit| self.ftl.protection(*unit) == Protection::InController);
        // Parity does not take one of the last free blocks.
        match open.filter(|_| self.ftl.free_blocks_min() >= 2) {
            Some(unit) => Err(format!("unit {unit} is flushed, and its parity is not")),
            None => Ok(()),
        }
    }

    /// Checks that parity on flash protects a unit after the cut as it did before, if the unit still lies there.
    fn still_protects(&self, ftl: &Ftl<FailingMedia>) -> Result<(), String> {
        let survives = |unit: &Lpn| self.is_given_back(*unit) && self.ftl.lookup(*unit) == ftl.lookup(*unit);
        let bare = |unit: &Lpn| ftl.protection(*unit) == Protection::None;
        match Lpn::all(0..ftl.exported()).filter(survives).find(bare) {
            Some(unit) if self.ftl.media().worn.is_empty() => Err(format!("unit {unit} is protected no longer")),
            _ => Ok(()),
        }
    }

    /// Cuts the power between two commands, and continues the run with the recovered drive.
    fn go_on_with_the_recovered(&mut self) -> Result<(), String> {
        let Some(cut) = self.ftl.clone().power_cut() else { return Ok(()) };
        let (mut ftl, report) = Ftl::recover(cut, self.config.clone()).map_err(|error| error.to_string())?;
        ftl.set_leveling(true);
        let exported = self.ftl.exported();
        let mut kept = ftl.clone();
        self.agrees(&mut kept, &report, exported, false)?;
        self.still_protects(&ftl)?;
        // Its present contents are on flash or in buffers that survive. They may be an older version than was written last.
        self.oracle.lossy.values_mut().for_each(|is_present| *is_present = true);
        self.oracle.flushed();
        self.oracle.now =
            (0..ftl.logical_initial()).filter_map(|unit| Some((unit, ftl.tag(Lpn(unit))?.version))).collect();
        self.ftl = ftl;
        self.ftl.capture_cuts();
        self.tally.cuts += 1;
        if let Some(demand) = report.demand {
            self.settle(Outcome::Demand(demand));
            drop(self.ftl.take_cuts());
            self.oracle.flushed();
        }
        Ok(())
    }

    fn write(&mut self, units: &[u32]) {
        let mut left = units;
        while !left.is_empty() {
            let fitting: Vec<u32> = left.iter().map(|unit| unit % self.ftl.exported().max(1)).collect();
            let versions = self.oracle.written..;
            let tags: Vec<Option<Content>> =
                versions.zip(&fitting).map(|(version, unit)| Some(Content { unit: Lpn(*unit), version })).collect();
            let (done, outcome) = self.ftl.write_tagged(Lpn::slice(&fitting), &tags);
            for unit in &fitting[..done] {
                let version = self.oracle.written;
                self.oracle.written += 1;
                self.oracle.set(*unit, Some(version));
            }
            // The unwritten rest may be there in part.
            left = &left[done..];
            self.settle(outcome);
            if self.ftl.end_of_life().is_some() || self.ftl.exported() == 0 {
                return;
            }
        }
    }

    fn remap(&mut self, (to, to_units): (u32, u32), (from, from_units): (u32, u32)) {
        if self.ftl.remap(Lpn(to), Lpn(from), to_units, from_units).is_err() {
            return;
        }
        let held: Vec<Held> = (from..from + from_units).map(|unit| self.oracle.now.get(&unit).copied()).collect();
        for (offset, version) in (0..).zip(&held) {
            // If the source may be empty for another reason, nothing can be said of the pair.
            let was_empty = self.oracle.since.get(&(from + offset)).is_some_and(|history| history.contains(&None));
            if let Some(version) = version
                && !was_empty
            {
                self.remapped.push((from + offset, to + offset, *version));
            }
        }
        (from..from + from_units).for_each(|unit| self.oracle.set(unit, None));
        let lossy: Vec<bool> = (from..from + from_units).map(|unit| self.oracle.lossy.contains_key(&unit)).collect();
        for (offset, unit) in (to..to + to_units).enumerate() {
            self.oracle.set(unit, held.get(offset).copied().flatten());
            if lossy.get(offset) == Some(&true) {
                self.oracle.lossy.insert(unit, true);
            }
        }
    }

    /// Answers demands like a host that keeps nothing above what is exported, and continues after pauses.
    fn settle(&mut self, mut outcome: Outcome) {
        loop {
            outcome = match outcome {
                Outcome::Demand(demand) => {
                    self.answer(demand);
                    self.ftl.reclaim()
                }
                Outcome::Paused => self.ftl.resume(),
                Outcome::Done | Outcome::Dead(_) | Outcome::OutOfRange(_) => return,
            };
        }
    }

    fn answer(&mut self, demand: Demand) {
        let Some((above, is_exported_less)) = given_up(&self.ftl, demand) else { return };
        self.ftl.trim(Lpn::slice(&above)).expect("it is exported");
        above.iter().for_each(|unit| self.oracle.set(*unit, None));
        if is_exported_less {
            self.ftl.shrink_to(self.ftl.exported() - above.len() as u32);
        }
    }

    /// Recovers a drive and compares it with what its host may expect: its contents before the command, or since.
    fn look(&mut self, cut: PowerCut<FailingMedia>, exported: u32, is_dead: bool) -> Result<(), String> {
        self.tally.cuts += 1;
        let counters = self.ftl.counters();
        self.tally.worn += u64::from(self.ftl.retired_blocks() > 0 && counters.gc_victims > 0);
        self.tally.striped += u64::from(self.config.redundancy.acts());
        self.tally.unreadable += u64::from(!self.ftl.media().worn.is_empty());
        let looks_twice = self.stream.below(self.twice) == 0;
        let config = self.config.clone();
        let ready = |ftl: &mut Ftl<FailingMedia>| {
            if looks_twice {
                ftl.capture_cuts();
            }
        };
        let (mut ftl, report) = Ftl::recover_watched(cut, config.clone(), ready).map_err(|error| error.to_string())?;
        let cuts = ftl.take_cuts();
        self.agrees(&mut ftl, &report, exported, is_dead)?;
        for cut in cuts {
            for cut in [cut.clone(), torn(cut)] {
                self.tally.cuts += 1;
                self.tally.twice += 1;
                let (mut ftl, report) = Ftl::recover(cut, config.clone()).map_err(|error| error.to_string())?;
                self.agrees(&mut ftl, &report, exported, is_dead).map_err(|what| format!("twice: {what}"))?;
            }
        }
        Ok(())
    }

    fn agrees(
        &self,
        ftl: &mut Ftl<FailingMedia>,
        report: &Recovery,
        exported: u32,
        is_dead: bool,
    ) -> Result<(), String> {
        ftl.check()?;
        if !(self.ftl.exported()..=exported).contains(&ftl.exported()) {
            let least = self.ftl.exported();
            return Err(format!("{} units exported, {least} to {exported} expected", ftl.exported()));
        }
        let mut mapped = 0;
        for unit in 0..ftl.logical_initial() {
            let is_mapped = ftl.lookup(Lpn(unit)).is_some();
            mapped += u64::from(is_mapped);
            let held = ftl.tag(Lpn(unit)).map(|content| content.version);
            if is_mapped && held.is_none() {
                return Err(format!("unit {unit} is mapped to padding"));
            }
            if is_mapped && is_told_lost(ftl, Lpn(unit), self.wears_out) {
                if !self.oracle.lossy.contains_key(&unit) {
                    return Err(format!("unit {unit} is lost, though its page can be read or given back"));
                }
                continue;
            }
            // A dying drive may have written more of its last command than it reported.
            let is_unsaid = is_dead && held.is_some_and(|version| version >= self.oracle.written);
            if !self.oracle.may_hold(unit, held) && !is_unsaid {
                let (now, since) = (self.oracle.now.get(&unit), self.oracle.since.get(&unit));
                return Err(format!(
                    "unit {unit} holds {held:?}; written last was {now:?}, since the last flush {since:?}"
                ));
            }
        }
        let held = |unit: u32| ftl.tag(Lpn(unit)).map(|content| content.version);
        for (from, to, version) in &self.remapped {
            if held(*from).is_none() && held(*to) != Some(*version) {
                return Err(format!("remapped from {from} to {to}, version {version} is at neither"));
            }
        }
        if ftl.retired_blocks() < self.retired {
            return Err(format!("{} blocks are out of service, and {} were", ftl.retired_blocks(), self.retired));
        }
        if !self.config.mode.acts() && ftl.mode() != self.mode && ftl.mode() != self.ftl.mode() {
            return Err(format!("the mode is {:?}", ftl.mode()));
        }
        if mapped != report.units_mapped {
            return Err(format!("{} units reported as mapped, {mapped} are", report.units_mapped));
        }
        goes_on(ftl, report, self.most, is_dead)
    }
}

/// A random programmed page that may become uncorrectable, as long as fewer than three are. Never one of the metadata area.
pub(crate) fn may_wear_out(ftl: &Ftl<FailingMedia>, stream: &mut Stream) -> Option<(BlockId, u32)> {
    let media = ftl.media();
    let block = BlockId(stream.below(u64::from(media.geometry().blocks())) as u32);
    let programmed = media.media.programmed(block);
    if programmed == 0 || media.worn.len() >= 3 || ftl.is_metadata(block) {
        return None;
    }
    let page = stream.below(u64::from(programmed)) as u32;
    (!media.media.is_torn(block, page)).then_some((block, page))
}

/// Whether the host is told that a unit cannot be read. If pages wear out, the host must read it to know.
pub(crate) fn is_told_lost(ftl: &mut Ftl<FailingMedia>, unit: Lpn, wears_out: bool) -> bool {
    if !wears_out || unit.0 >= ftl.exported() {
        return ftl.is_lost(unit);
    }
    ftl.read(&[unit]).expect("it is exported");
    !ftl.unread().is_empty()
}

/// Number of units that the drive has moved so far.
fn moved_by_itself(ftl: &Ftl<FailingMedia>) -> u64 {
    let counters = ftl.counters();
    counters.programmed_gc + counters.programmed_wear_leveling + counters.programmed_scrub
}

/// Checks that a recovered drive gets what it asks for, and takes writes.
fn goes_on(ftl: &mut Ftl<FailingMedia>, report: &Recovery, most: u32, is_dead: bool) -> Result<(), String> {
    if let Some(demand) = report.demand {
        if let Some((above, is_exported_less)) = given_up(ftl, demand) {
            ftl.trim(Lpn::slice(&above)).expect("it is exported");
            if is_exported_less {
                ftl.shrink_to(ftl.exported() - above.len() as u32);
            }
        }
        ftl.reclaim();
    }
    if ftl.exported() == 0 || is_dead {
        return Ok(());
    }
    // A cut costs a page that is torn, or an erase. A drive that exports more than a new drive with as many blocks could may die
    // of that.
    let may_die =
        |ftl: &Ftl<FailingMedia>| ftl.exported() + ftl.retired_blocks() * ftl.layout().units_per_block() > most;
    for unit in 0..4 {
        if may_die(ftl) {
            break;
        }
        let unit = Lpn(unit * 7 % ftl.exported());
        let (_, outcome) = ftl.write(&[unit]);
        // The last blocks may wear out during the write itself.
        if let Outcome::Dead(death) = outcome
            && !may_die(ftl)
        {
            return Err(format!("the drive dies after the cut: {death:?}"));
        }
    }
    ftl.check()
}

/// Units that a host gives up if it keeps nothing above the wanted capacity, and whether less is exported then.
fn given_up(ftl: &Ftl<FailingMedia>, demand: Demand) -> Option<(Vec<u32>, bool)> {
    let keep = match demand {
        Demand::ExportAtMost(units) => (units as u32).min(ftl.exported()),
        Demand::DropUnused => ftl.exported() / 2,
        Demand::Keep | Demand::EndOfLife => return None,
    };
    Some(((keep..ftl.exported()).collect(), matches!(demand, Demand::ExportAtMost(_))))
}
