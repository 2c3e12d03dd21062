//! Random commands, checked against a plain oracle, on tiny drives where rare paths are common. The medium is strict, and
//! every invariant is checked after every step.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use proptest::prelude::*;
use wane_ftl::policies::allocation::ALLOCATION_POLICIES;
use wane_ftl::policies::capacity::{CAPACITY_POLICIES, Demand};
use wane_ftl::policies::mode::MODE_POLICIES;
use wane_ftl::policies::placement::{HostWrite, PlacementPolicy, RelocatedRun};
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::redundancy::{REDUNDANCY_POLICIES, RedundancyPolicy};
use wane_ftl::policies::retirement::{RETIRE_POLICIES, RetirePolicy};
use wane_ftl::policies::scrub::{Action, ScrubPolicy, ScrubView};
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::policies::{Entry, StreamId, find};
use wane_ftl::{BlockState, EraseGroup, Ftl, FtlConfig, Layout, Outcome, Pooling, UnretiredError};
use wane_nand::Task;
use wane_testkit::{Content, StrictMedia};
use wane_units::{Bytes, Geometry, Lpn, SuperblockId};

#[derive(Clone, Debug)]
enum Command {
    Write(Vec<u16>),
    Trim(u16),
    Read(u16),
    /// Destination, source, units of both.
    Remap(u16, u16, u32, u32),
    Retire(u16),
}

/// A drive, as numbers that choose from lists.
#[derive(Clone, Debug)]
struct Drive {
    pages_per_block: u32,
    units_per_page: u32,
    dies: u32,
    planes: u32,
    blocks_per_plane: u32,
    gc_reserve: u32,
    utilization: u32,
    endurance: u32,
    victim: usize,
    leveler: usize,
    capacity: usize,
    superblock: bool,
    per_die: bool,
    placement: usize,
    retire: usize,
    redundancy: usize,
    allocation: usize,
    degrades: bool,
    gc_unforced: u32,
    recovery: usize,
    power_loss_protection: bool,
    wordline_pages: u32,
}

/// Relocates every block that was read.
#[derive(Clone)]
struct Eager;

impl ScrubPolicy for Eager {
    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        view.touched().find(|block| view.valid(*block).is_some()).map(|block| match block.0 % 4 {
            0 => Action::Check(block),
            _ => Action::Relocate(block),
        })
    }
}

/// Two alternating streams of the host, two of the firmware.
#[derive(Clone)]
struct Scattered {
    asked: u32,
}

impl PlacementPolicy for Scattered {
    fn streams(&self, _tasks: &[Task]) -> u32 {
        4
    }

    fn host(&mut self, write: &HostWrite) -> StreamId {
        assert!(write.units > 0 && write.hint.is_none());
        StreamId(write.first.0 % 2)
    }

    fn relocated(&mut self, run: &RelocatedRun) -> StreamId {
        assert!(run.units > 0 && run.closed_at <= run.now);
        self.asked += 1;
        // Relocated data may go to the host's streams too.
        StreamId(self.asked % 4)
    }

    fn parity(&self, task: Task) -> StreamId {
        StreamId(if task == Task::Host { 1 } else { 2 })
    }
}

fn placement(drive: &Drive) -> Box<dyn PlacementPolicy> {
    match drive.placement {
        0 => super::placement("one"),
        1 => super::placement("separate"),
        _ => Box::new(Scattered { asked: 0 }),
    }
}

/// The drive's retirement policy; `at-erases` retires a little before the rating.
fn retire(drive: &Drive) -> Box<dyn RetirePolicy> {
    let name = ["at-endurance", "at-gc-erase", "never", "at-erases"][drive.retire];
    let parameters = if name == "at-erases" { format!("erases = {}", drive.endurance - 2) } else { String::new() };
    policy(find(RETIRE_POLICIES, name).unwrap(), &parameters)
}

/// The drive's redundancy, or none if it has too few dies for stripes.
fn redundancy(drive: &Drive, unit: EraseGroup, domain: Pooling) -> Box<dyn RedundancyPolicy> {
    let data_pages = drive.dies - 1;
    let rotates = domain == Pooling::Die || unit == EraseGroup::Superblock;
    match drive.redundancy {
        0 => policy(&REDUNDANCY_POLICIES[0], ""),
        _ if data_pages == 0 || !rotates => policy(&REDUNDANCY_POLICIES[0], ""),
        3 if domain != Pooling::Die => policy(&REDUNDANCY_POLICIES[1], &format!("data-pages = {data_pages}")),
        // Two groups of two.
        3 if drive.dies == 4 => policy(&REDUNDANCY_POLICIES[3], "data-pages = 1"),
        answer => policy(&REDUNDANCY_POLICIES[answer], &format!("data-pages = {data_pages}")),
    }
}

prop_compose! {
    fn drive()(
        (pages_per_block, units_per_page, dies, planes) in (2u32..6, 1u32..4, 1u32..5, 1u32..3),
        (blocks_per_plane, gc_reserve, utilization, endurance) in (8u32..14, 2u32..4, 10u32..101, 3u32..40),
        (victim, leveler, capacity, retire, redundancy, allocation) in (0..VICTIM_POLICIES.len(), 0..WEAR_LEVEL_POLICIES.len(), 0usize..4, 0usize..4, 0..REDUNDANCY_POLICIES.len(), 0..ALLOCATION_POLICIES.len()),
        (superblock, per_die, placement) in (any::<bool>(), any::<bool>(), 0usize..3),
        (degrades, gc_unforced, recovery) in (any::<bool>(), 0u32..6, 0..RECOVERY_POLICIES.len()),
        (power_loss_protection, wordline_pages) in (any::<bool>(), 1u32..4),
    ) -> Drive {
        Drive { pages_per_block, units_per_page, dies, planes, blocks_per_plane, gc_reserve, utilization, endurance, victim, leveler,
                capacity, superblock, per_die, placement, retire, redundancy, allocation, degrades, gc_unforced, recovery, power_loss_protection, wordline_pages }
    }
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        6 => prop::collection::vec(any::<u16>(), 1..40).prop_map(Command::Write),
        1 => any::<u16>().prop_map(Command::Trim),
        1 => any::<u16>().prop_map(Command::Read),
        1 => (any::<u16>(), any::<u16>(), 0u32..5, 0u32..5).prop_map(|(to, from, to_units, from_units)| Command::Remap(to, from, to_units, from_units)),
        1 => any::<u16>().prop_map(Command::Retire),
    ]
}

fn policy<T>(entry: &Entry<T>, parameters: &str) -> T {
    entry.parse(parameters.parse().unwrap()).unwrap()
}

/// Small thresholds, so that levelers act within a short life.
pub(crate) fn leveler_parameters(name: &str) -> &'static str {
    match name {
        "hot-cold-swap" | "dual-pool" => "threshold = 1",
        "obp" => "threshold = 1\nprotection = 2",
        "pwl" => "threshold = '10 %'",
        "pwl-band" => "threshold = '10 %'\nretired-at = 8\nwidth = 8",
        "variance" => "threshold = 0.98",
        _ => "",
    }
}

const CAPACITIES: [(usize, &str); 4] =
    [(0, ""), (1, ""), (1, "shrink = 'graceful'"), (1, "shrink = 'graceful'\nkeep = 'capacity'")];

fn build(drive: &Drive) -> Ftl<StrictMedia> {
    let geometry =
        Geometry::new(drive.dies, 1, drive.planes, drive.blocks_per_plane, drive.pages_per_block, Bytes(4096)).unwrap();
    let unit = if drive.superblock { EraseGroup::Superblock } else { EraseGroup::Block };
    let domain = if drive.per_die { Pooling::Die } else { Pooling::Drive };
    let layout = Layout::new(geometry, unit, domain, drive.units_per_page);
    let rated_blocks = layout.blocks() - drive.gc_reserve * layout.domains();
    let open = layout.domains() * [1, 3, 4][drive.placement];
    let data_pages = drive.dies - 1;
    // Rain has groups of two where there are four.
    let stripe = if drive.redundancy == 3 && domain == Pooling::Die { drive.dies.min(2) } else { drive.dies };
    let parity =
        if drive.redundancy > 0 && data_pages > 0 { layout.units_per_block() * rated_blocks / stripe } else { 0 };
    let most = ((rated_blocks - open) * layout.units_per_block()).saturating_sub(parity).max(1);
    let leveler = &WEAR_LEVEL_POLICIES[drive.leveler];
    let (capacity, parameters) = CAPACITIES[drive.capacity];
    let config = FtlConfig {
        units_per_page: drive.units_per_page,
        logical_units: (most * drive.utilization / 100).max(1),
        gc_reserve: drive.gc_reserve,
        rated_blocks,
        endurance: Some(drive.endurance),
        retire: retire(drive),
        mode: policy(find(MODE_POLICIES, if drive.degrades { "over-provisioning" } else { "host-only" }).unwrap(), ""),
        gc_unforced: drive.gc_unforced,
        erase_group: unit,
        domain,
        placement: placement(drive),
        allocation: policy(&ALLOCATION_POLICIES[drive.allocation], ""),
        victim: policy(&VICTIM_POLICIES[drive.victim], ""),
        wear_leveling: policy(leveler, leveler_parameters(leveler.name())),
        redundancy: redundancy(drive, unit, domain),
        scrub: Box::new(Eager),
        capacity: policy(&CAPACITY_POLICIES[capacity], parameters),
        recovery: policy(&RECOVERY_POLICIES[drive.recovery], if drive.recovery == 2 { "interval = 4" } else { "" }),
        power_loss_protection: drive.power_loss_protection,
        wordline_pages: NonZeroU32::new(drive.wordline_pages).unwrap(),
        remap_log: Bytes(1 << 20),
        streams: wane_sim::Streams::new(7),
        is_to_be_read: false,
    };
    // A checkpoint cannot record stripes, and some drives have no room for metadata.
    let kept = Ftl::new(StrictMedia::new(geometry), config.clone());
    let without = || FtlConfig { recovery: policy(&RECOVERY_POLICIES[0], ""), ..config };
    let mut ftl = kept.unwrap_or_else(|_| Ftl::new(StrictMedia::new(geometry), without()).unwrap());
    ftl.set_leveling(true);
    ftl
}

/// The oracle: the write that each page holds, and the number of writes.
#[derive(Default)]
struct Oracle {
    mapped: BTreeMap<u32, Content>,
    written: u64,
}

impl Oracle {
    fn agrees(&self, ftl: &Ftl<StrictMedia>) {
        ftl.check().unwrap();
        let mapped: BTreeMap<u32, Option<Content>> = (0..ftl.logical_initial())
            .filter(|page| ftl.lookup(Lpn(*page)).is_some())
            .map(|page| (page, ftl.tag(Lpn(page))))
            .collect();
        let newest: BTreeMap<u32, Option<Content>> =
            self.mapped.iter().map(|(page, held)| (*page, Some(*held))).collect();
        assert_eq!(mapped, newest, "pages that hold data, and the write that each holds");
        assert_eq!(ftl.counters().host_units_written, self.written, "host writes");
        assert_eq!(ftl.counters().policy_refusals, 0, "built-in policies are never refused");
    }
}

/// Writes and answers demands, as a host that keeps nothing above the exported space. Returns `false` when the drive is dead.
fn write(ftl: &mut Ftl<StrictMedia>, oracle: &mut Oracle, pages: &[u16]) -> bool {
    let mut left: Vec<u16> = pages.to_vec();
    while !left.is_empty() && ftl.exported() > 0 {
        let slots: Vec<u32> = left.iter().map(|page| u32::from(*page) % ftl.exported()).collect();
        // Every write has its own content.
        let contents: Vec<Content> =
            (oracle.written..).zip(&slots).map(|(version, slot)| Content { unit: Lpn(*slot), version }).collect();
        let tags: Vec<Option<Content>> = contents.iter().copied().map(Some).collect();
        let (done, mut outcome) = ftl.write_tagged(Lpn::slice(&slots), &tags);
        oracle.mapped.extend(slots[..done].iter().copied().zip(contents));
        oracle.written += done as u64;
        left.drain(..done);
        settle(ftl, oracle, &mut outcome);
        if let Outcome::Dead(_) = outcome {
            return false;
        }
    }
    ftl.exported() > 0
}

/// Remaps, and checks that this is refused exactly if it is not allowed.
fn remap(ftl: &mut Ftl<StrictMedia>, oracle: &mut Oracle, to: (u32, u32), from: (u32, u32)) {
    let units = |(first, units): (u32, u32)| first..first + units;
    let overlap = units(to).any(|unit| units(from).contains(&unit));
    let fits = units(to).end <= ftl.exported() && units(from).end <= ftl.exported();
    let programmed = ftl.counters().programmed_total();
    let outcome = ftl.remap(Lpn(to.0), Lpn(from.0), to.1, from.1);
    assert_eq!(outcome.is_ok(), to.1 >= from.1 && fits && !overlap, "{to:?} {from:?} {outcome:?}");
    let Ok(moved) = outcome else { return };
    let held: Vec<Option<Content>> = units(from).map(|unit| oracle.mapped.remove(&unit)).collect();
    assert_eq!(held.iter().flatten().count() as u32, moved);
    for (offset, unit) in units(to).enumerate() {
        match held.get(offset).copied().flatten() {
            Some(held) => oracle.mapped.insert(unit, held),
            None => oracle.mapped.remove(&unit),
        };
    }
    // Without a remap log a remap programs nothing. With one it programs nothing for the host.
    if !ftl.keeps_out_of_band() {
        assert_eq!(ftl.counters().programmed_total(), programmed, "a remap programs nothing");
    }
}

/// Scrubs once. Returns `false` when the drive is dead.
fn scrub(ftl: &mut Ftl<StrictMedia>, oracle: &mut Oracle) -> bool {
    let mut outcome = ftl.scrub().unwrap_or(Outcome::Done);
    settle(ftl, oracle, &mut outcome);
    !matches!(outcome, Outcome::Dead(_))
}

/// Takes a block out of service, or checks why it stays. Returns `false` when the drive is dead.
fn retire_block(ftl: &mut Ftl<StrictMedia>, oracle: &mut Oracle, raw: u16) -> bool {
    let block = SuperblockId(u32::from(raw) % (ftl.layout().blocks() + 1));
    let retired = ftl.retired_blocks();
    let is_there = block.0 < ftl.layout().blocks();
    let before = is_there.then(|| ftl.state(block));
    match ftl.retire_block(block) {
        Ok(mut outcome) => {
            assert!(is_there && before != Some(BlockState::Retired));
            assert!(ftl.state(block) == BlockState::Retired && ftl.retired_blocks() > retired);
            settle(ftl, oracle, &mut outcome);
            !matches!(outcome, Outcome::Dead(_))
        }
        Err(error) => {
            assert_eq!(ftl.retired_blocks(), retired, "{error}");
            let is_right = match error {
                UnretiredError::NoSuchBlock(_) => !is_there,
                UnretiredError::Retired(_) => before == Some(BlockState::Retired),
                UnretiredError::Taken(_) => ftl.keeps_out_of_band() && before == Some(BlockState::Open),
                UnretiredError::NoRoom(_) => ftl.state(block) != BlockState::Free,
            };
            assert!(is_right, "{error} of a block that was {before:?}");
            true
        }
    }
}

/// Answers demands and continues after pauses.
fn settle(ftl: &mut Ftl<StrictMedia>, oracle: &mut Oracle, outcome: &mut Outcome) {
    loop {
        *outcome = match *outcome {
            Outcome::Demand(demand) => {
                answer(ftl, oracle, demand);
                ftl.reclaim()
            }
            Outcome::Paused => ftl.resume(),
            Outcome::Done | Outcome::Dead(_) | Outcome::OutOfRange(_) => return,
        };
    }
}

fn answer(ftl: &mut Ftl<StrictMedia>, oracle: &mut Oracle, demand: Demand) {
    let keep = match demand {
        Demand::ExportAtMost(units) => (units as u32).min(ftl.exported()),
        // Half of the pages count as unused.
        Demand::DropUnused => ftl.exported() / 2,
        Demand::Keep | Demand::EndOfLife => return,
    };
    let above: Vec<u32> = (keep..ftl.exported()).collect();
    ftl.trim(Lpn::slice(&above)).unwrap();
    oracle.mapped.retain(|page, _| *page < keep);
    if let Demand::ExportAtMost(_) = demand {
        ftl.shrink_to(keep);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn random_commands_agree_with_the_oracle(drive in drive(), commands in prop::collection::vec(command(), 1..60)) {
        let mut ftl = build(&drive);
        let mut oracle = Oracle::default();
        for command in commands {
            if ftl.exported() == 0 {
                // Equally worn blocks retire together: the drive has given up all its space.
                break;
            }
            let exported = ftl.exported();
            let page = |raw: u16| u32::from(raw) % exported;
            let alive = match &command {
                Command::Write(pages) => write(&mut ftl, &mut oracle, pages),
                Command::Trim(raw) => {
                    let page = page(*raw);
                    ftl.trim(&[Lpn(page)]).unwrap();
                    oracle.mapped.remove(&page);
                    true
                }
                Command::Remap(to, from, to_units, from_units) => {
                    remap(&mut ftl, &mut oracle, (page(*to), *to_units), (page(*from), *from_units));
                    true
                }
                Command::Retire(raw) => retire_block(&mut ftl, &mut oracle, *raw),
                Command::Read(raw) => {
                    let page = page(*raw);
                    let before = ftl.counters().host_units_read_unmapped;
                    ftl.read(&[Lpn(page)]).unwrap();
                    let missing = ftl.counters().host_units_read_unmapped - before;
                    prop_assert_eq!(missing == 0, oracle.mapped.contains_key(&page));
                    scrub(&mut ftl, &mut oracle)
                }
            };
            oracle.agrees(&ftl);
            if !alive {
                break;
            }
        }
    }
}
