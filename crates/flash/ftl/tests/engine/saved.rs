//! Policies continue from a saved state as they would have continued themselves, and follow projected wear.

use wane_ftl::policies::allocation::{ALLOCATION_POLICIES, AllocationPolicy, FreeView};
use wane_ftl::policies::capacity::CAPACITY_POLICIES;
use wane_ftl::policies::mode::MODE_POLICIES;
use wane_ftl::policies::placement::PLACEMENT_POLICIES;
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::{Action, Health, SCRUB_POLICIES, ScrubPolicy, ScrubTable};
use wane_ftl::policies::victim::{VICTIM_POLICIES, VictimPolicy};
use wane_ftl::policies::wear_leveling::{WEAR_LEVEL_POLICIES, WearTable};
use wane_ftl::policies::{BlockEvent, Builtin, EraseCause, Mode, ProjectedWear, Setting};
use wane_ftl::{BlockState, Ftl, FtlConfig, Outcome, PolicyStates, Pooling};
use wane_nand::Array;
use wane_sim::{Stream, Streams};
use wane_units::{BlockId, Bytes, Geometry, Lpn, SuperblockId};

use super::model::leveler_parameters;

/// A drive of four dies for each built-in, with small parameters, so that each acts within a short life.
pub(super) fn drives() -> Vec<(String, FtlConfig)> {
    let base = || FtlConfig { domain: Pooling::Die, endurance: Some(60), ..super::config(160, 14 * 4, 2) };
    let mut drives = Vec::new();
    let mut add = |family: &str, name: &str, config: FtlConfig| drives.push((format!("{family} {name}"), config));
    let none = toml::Table::new;
    for entry in VICTIM_POLICIES {
        add("gc", entry.name(), FtlConfig { victim: entry.parse(none()).unwrap(), ..base() });
    }
    for entry in WEAR_LEVEL_POLICIES {
        let parameters = leveler_parameters(entry.name()).parse().unwrap();
        add("wear-leveling", entry.name(), FtlConfig { wear_leveling: entry.parse(parameters).unwrap(), ..base() });
    }
    for entry in ALLOCATION_POLICIES {
        add("allocation", entry.name(), FtlConfig { allocation: entry.parse(none()).unwrap(), ..base() });
    }
    for entry in PLACEMENT_POLICIES {
        add("placement", entry.name(), FtlConfig { placement: entry.parse(none()).unwrap(), ..base() });
    }
    for entry in CAPACITY_POLICIES {
        add("capacity", entry.name(), FtlConfig { capacity: entry.parse(none()).unwrap(), ..base() });
    }
    for entry in RETIRE_POLICIES {
        add("retire", entry.name(), FtlConfig { retire: entry.parse(none()).unwrap(), ..base() });
    }
    for entry in MODE_POLICIES {
        add("mode", entry.name(), FtlConfig { mode: entry.parse(none()).unwrap(), ..base() });
    }
    for entry in RECOVERY_POLICIES {
        add("recovery", entry.name(), FtlConfig { recovery: entry.parse(none()).unwrap(), gc_reserve: 3, ..base() });
    }
    for entry in REDUNDANCY_POLICIES {
        let parameters = if entry.name() == "none" { "" } else { "data-pages = 3" };
        add(
            "redundancy",
            entry.name(),
            FtlConfig { redundancy: entry.parse(parameters.parse().unwrap()).unwrap(), ..base() },
        );
    }
    drives
}

pub(super) fn new(config: &FtlConfig) -> Ftl<Array> {
    let geometry = Geometry::new(4, 1, 1, 16, 8, Bytes(4096)).unwrap();
    let mut ftl = Ftl::new(Array::new(geometry), config.clone()).unwrap();
    ftl.set_leveling(true);
    ftl
}

/// Writes until the drive demands something or is dead. Returns the outcomes and the erase counts.
pub(super) fn live(ftl: &mut Ftl<Array>, stream: &mut Stream, writes: u32) -> (Vec<(usize, Outcome)>, Vec<u32>) {
    let mut ends = Vec::new();
    for _ in 0..writes {
        let hot = stream.chance(0.8);
        let unit = if hot { stream.below(30) } else { stream.below(u64::from(ftl.exported())) };
        let end = ftl.write(&[Lpn(unit as u32)]);
        if end != (1, Outcome::Done) {
            ends.push(end);
            break;
        }
    }
    (ends, ftl.erase_counts().to_vec())
}

#[test]
fn every_built_in_goes_on_from_its_saved_state() {
    let mut levelers = 0;
    for (name, config) in drives() {
        let mut stream = Streams::new(11).stream("writes");
        let mut ftl = new(&config);
        live(&mut ftl, &mut stream, 6000);
        if name.starts_with("mode") {
            ftl.set_mode(Mode::Degraded);
        }
        let text = serde_json::to_string(&ftl.save_policies().unwrap()).unwrap();
        let mut other = ftl.clone();
        // Its policies are new before they are restored: no state comes along by another way.
        let fresh = new(&config).save_policies().unwrap();
        other.restore_policies(&fresh).unwrap();
        assert_eq!(other.save_policies().unwrap(), fresh, "{name}");
        let saved: PolicyStates = serde_json::from_str(&text).unwrap();
        other.restore_policies(&saved).unwrap();
        assert_eq!(other.save_policies().unwrap(), ftl.save_policies().unwrap(), "{name}");
        let mut again = stream.clone();
        assert_eq!(live(&mut ftl, &mut stream, 6000), live(&mut other, &mut again, 6000), "{name}");
        assert_eq!(ftl.counters(), other.counters(), "{name}");
        levelers += u32::from(ftl.counters().erases_wear_leveling > 0);
    }
    assert!(levelers >= 4, "levelers acted");
}

/// Answers of a scrubber to random conditions.
fn patrol(policy: &mut dyn ScrubPolicy, stream: &mut Stream, asks: std::ops::Range<u32>) -> Vec<Option<Action>> {
    let mut answers = Vec::new();
    for ask in asks {
        let mut health = || Health {
            expected_errors: 100.0 * stream.unit(),
            reads: stream.below(20_000) as u32,
            rereads: stream.below(12) as u32,
            age_days: 40.0 * stream.unit(),
            ..Health::default()
        };
        let blocks = (0..32).map(|_| (Some(8), health())).collect();
        let touched = (0..4).map(|_| SuperblockId(stream.below(32) as u32)).collect();
        let answer = policy.next(&ScrubTable { blocks, touched }.view(f64::from(ask) / 3.0));
        if let Some(Action::Check(block)) = answer {
            policy.checked(block, Some(stream.below(3) as u32));
        }
        answers.push(answer);
    }
    answers
}

#[test]
fn every_scrubber_goes_on_from_its_saved_state() {
    for entry in SCRUB_POLICIES {
        let new = || {
            let mut policy = entry.parse(toml::Table::new()).unwrap();
            let stream = Streams::new(1).stream("scrub");
            let setting = Setting {
                first: SuperblockId(0),
                blocks: 32,
                units_per_block: 8,
                endurance: None,
                rated_blocks: 32,
                stream,
            };
            policy.begin(setting);
            policy
        };
        let mut stream = Streams::new(5).stream("health");
        let (mut policy, mut other) = (new(), new());
        patrol(&mut *policy, &mut stream, 0..101);
        let text = serde_json::to_string(&policy.save().unwrap()).unwrap();
        other.restore(&serde_json::from_str(&text).unwrap()).unwrap();
        let mut again = stream.clone();
        let answers = patrol(&mut *policy, &mut stream, 101..200);
        assert_eq!(answers, patrol(&mut *other, &mut again, 101..200), "{}", entry.name());
        assert_eq!(answers.iter().any(Option::is_some), policy.acts(), "{}", entry.name());
    }
}

/// A policy that cannot be saved.
#[derive(Clone)]
struct Forgetful;

impl AllocationPolicy for Forgetful {
    fn choose(&mut self, view: &FreeView<'_>) -> SuperblockId {
        view.first()
    }
}

#[test]
fn a_policy_that_cannot_be_saved_makes_saving_refuse() {
    let ftl = new(&FtlConfig { allocation: Box::new(Forgetful), domain: Pooling::Die, ..super::config(160, 56, 2) });
    let want = "the drive cannot be saved: its policy ftl.allocation comes from outside and does not implement `save`";
    assert_eq!(ftl.save_policies().unwrap_err().to_string(), want);
}

#[test]
fn a_state_of_another_policy_or_drive_is_refused_and_changes_nothing() {
    let drives: std::collections::BTreeMap<String, FtlConfig> = drives().into_iter().collect();
    let mut ftl = new(&drives["gc greedy"]);
    let before = ftl.save_policies().unwrap();
    let other = |name: &str| new(&drives[name]).save_policies().unwrap();
    let table = [
        (other("gc random"), "ftl.gc: the state was saved by policy \"random\", and this is \"greedy\""),
        (other("wear-leveling obp"), "ftl.wear-leveling: the state was saved by policy \"obp\", and this is \"none\""),
        (
            other("redundancy stripes"),
            "the state is of a drive with 64 blocks of 8 units in 4 domains, without a scrubber and with stripes, and this one \
             has 64 blocks of 8 units in 4 domains, without a scrubber and without stripes",
        ),
    ];
    for (saved, want) in table {
        assert_eq!(ftl.restore_policies(&saved).unwrap_err().to_string(), want);
        assert_eq!(ftl.save_policies().unwrap(), before);
    }
    let text = serde_json::to_string(&before).unwrap().replace("\"oldest\"", "\"older\"");
    let damaged: PolicyStates = serde_json::from_str(&text).unwrap();
    assert!(ftl.restore_policies(&damaged).unwrap_err().to_string().starts_with("ftl.gc: the state is damaged: "));
}

#[test]
fn levelers_take_up_projected_wear() {
    // Blocks 0 to 2 are closed, 3 was just erased; each leveler heard that they are hardly worn.
    let (heard, projected) = ([0, 1, 2, 3], [90, 10, 20, 200]);
    let states = [BlockState::Closed, BlockState::Closed, BlockState::Closed, BlockState::Free];
    for (name, want) in [("hot-cold-swap", (0, 1)), ("obp", (1, 3)), ("pwl", (1, 3)), ("variance", (1, 3))] {
        let entry = wane_ftl::policies::find(WEAR_LEVEL_POLICIES, name).unwrap();
        let parameters = if name == "variance" { "threshold = 0.9" } else { "" };
        let mut policy = entry.parse(parameters.parse().unwrap()).unwrap();
        let stream = Streams::new(1).stream("wear-leveling");
        let first = SuperblockId(0);
        policy.begin(Setting { first, blocks: 4, units_per_block: 8, endurance: Some(100), rated_blocks: 4, stream });
        for (block, erases) in (0..).map(SuperblockId).zip(heard) {
            for erase in 0..=erases {
                if erase > 0 {
                    policy.heard(BlockEvent::Erased(EraseCause::GarbageCollection), block, erase);
                }
                if erase < erases || block.0 < 3 {
                    policy.heard(BlockEvent::Opened, block, erase);
                    policy.heard(BlockEvent::Closed, block, erase);
                }
            }
        }
        policy.resync(&ProjectedWear { first, erase_count: &projected, states: &states });
        let table = WearTable {
            erase_count: projected.to_vec(),
            valid: vec![8, 8, 8, 0],
            gc_erases: 320,
            free: 2,
            ..WearTable::default()
        };
        let action = policy.plan(&table.view(Some(SuperblockId(3))));
        let text = format!("{action:?}");
        let blocks = format!("SuperblockId({}), ", want.0);
        assert!(text.contains(&blocks) && text.contains(&format!("SuperblockId({}) ", want.1)), "{name}: {text}");
    }
}

#[test]
fn to_hear_of_wear_that_is_known_changes_nothing() {
    for (name, config) in drives() {
        let mut stream = Streams::new(12).stream("writes");
        let mut ftl = new(&config);
        live(&mut ftl, &mut stream, 6000);
        let mut told = ftl.clone();
        told.resync_policies();
        assert_eq!(told.save_policies().unwrap(), ftl.save_policies().unwrap(), "{name}");
        let mut again = stream.clone();
        assert_eq!(live(&mut ftl, &mut stream, 6000), live(&mut told, &mut again, 6000), "{name}");
        assert_eq!(ftl.counters(), told.counters(), "{name}");
        told.check().unwrap();
    }
}

#[test]
fn policies_begin_with_the_wear_that_the_flash_has() {
    for (name, config) in drives() {
        let mut array = Array::new(Geometry::new(4, 1, 1, 16, 8, Bytes(4096)).unwrap());
        (0..64).for_each(|block| array.set_erase_count(BlockId(block), 20 + block % 16));
        let mut ftl = Ftl::new(array, config).unwrap();
        let begun = ftl.save_policies().unwrap();
        ftl.resync_policies();
        assert_eq!(begun, ftl.save_policies().unwrap(), "{name}");
        ftl.set_leveling(true);
        live(&mut ftl, &mut Streams::new(13).stream("writes"), 3000);
        ftl.check().unwrap();
        assert_eq!(ftl.counters().policy_refusals, 0, "{name}");
    }
}

#[test]
fn a_restored_state_keeps_its_parameters() {
    use wane_ftl::policies::victim::{Greedy, GreedyParams, Tie};
    let mut greedy = Greedy::new(GreedyParams::default()).unwrap();
    let newest = Greedy::new(GreedyParams { tie: Tie::Newest }).unwrap();
    greedy.restore(&newest.save().unwrap()).unwrap();
    assert_eq!(greedy.save(), newest.save());
}

#[test]
fn a_variance_leveler_moves_until_it_is_content() {
    let mut array = Array::new(Geometry::new(1, 1, 1, 64, 8, Bytes(4096)).unwrap());
    (0..64).for_each(|block| array.set_erase_count(BlockId(block), if block < 32 { 0 } else { 90 }));
    let parameters = toml::from_str("threshold = 0.8").unwrap();
    let wear_leveling = wane_ftl::policies::find(WEAR_LEVEL_POLICIES, "variance").unwrap().parse(parameters).unwrap();
    let mut ftl = Ftl::new(array, FtlConfig { wear_leveling, ..super::config(320, 60, 8) }).unwrap();
    let mut stream = Streams::new(14).stream("writes");
    (0..320).for_each(|unit| assert_eq!(ftl.write(&[Lpn(unit)]), (1, Outcome::Done)));
    ftl.set_leveling(true);
    let mut most = 0;
    for _ in 0..2000 {
        let before = *ftl.counters();
        assert_eq!(ftl.write(&[Lpn(stream.below(320) as u32)]), (1, Outcome::Done));
        let erased = *ftl.counters() - before;
        assert!(
            erased.erases_gc > 0 || erased.erases_wear_leveling == 0,
            "a write that erases nothing is no reason to move"
        );
        most = most.max(erased.erases_wear_leveling);
    }
    assert!(most > 1, "after a move it tests again at once, and so moves more than once for one erase");
    ftl.check().unwrap();
}
