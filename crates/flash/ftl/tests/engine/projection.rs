//! Drives whose wear is projected.

use wane_ftl::policies::find;
use wane_ftl::policies::retirement::{RETIRE_POLICIES, RetirePolicy};
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::{EndOfLife, Ftl, FtlConfig, Outcome, Worn};
use wane_nand::Array;
use wane_sim::Streams;
use wane_units::{BlockState, SuperblockId};

use super::saved::{drives, live, new};

/// The erase counts with some more on each block, up to `most`: the higher the id, the more.
fn grown(ftl: &Ftl<Array>, most: u32) -> Vec<u32> {
    let blocks = ftl.erase_counts().len() as u32;
    (0..).zip(ftl.erase_counts()).map(|(block, count)| count + most * block / blocks).collect()
}

#[test]
fn every_drive_keeps_its_invariants_through_projections() {
    for (name, config) in drives() {
        let mut stream = Streams::new(3).stream("writes");
        let mut ftl = new(&config);
        for _ in 0..4 {
            live(&mut ftl, &mut stream, 1500);
            ftl.check().unwrap();
            let (counters, wanted) = (*ftl.counters(), grown(&ftl, 6));
            let retired: Vec<bool> =
                ftl.layout().superblocks().map(|block| ftl.state(block) == BlockState::Retired).collect();
            let outcome = ftl.project_wear(&wanted, 0.25, Worn::AtOnce).unwrap();
            ftl.check().unwrap_or_else(|error| panic!("{name}: {error}"));
            // A drive that recovers collects for each free block that leaves service.
            let is_recovering = config.recovery.acts();
            assert!(*ftl.counters() == counters || is_recovering, "{name}: nothing was done");
            for ((found, wanted), retired) in ftl.erase_counts().iter().zip(&wanted).zip(retired) {
                assert!(found == wanted || retired || (is_recovering && found > wanted), "{name}: {found} {wanted}");
            }
            if let Outcome::Demand(_) = outcome {
                ftl.reclaim();
            }
        }
    }
}

#[test]
fn a_projection_of_nothing_changes_nothing() {
    for (name, config) in drives() {
        let mut stream = Streams::new(7).stream("writes");
        let mut ftl = new(&config);
        live(&mut ftl, &mut stream, 3000);
        let mut told = ftl.clone();
        let counts = told.erase_counts().to_vec();
        let outcome = told.project_wear(&counts, 0.0, Worn::AtNextErase);
        assert!(matches!(outcome.unwrap(), Outcome::Done | Outcome::Dead(_)), "{name}");
        assert_eq!(told.save_policies().unwrap(), ftl.save_policies().unwrap(), "{name}");
        let mut again = stream.clone();
        assert_eq!(live(&mut ftl, &mut stream, 3000), live(&mut told, &mut again, 3000), "{name}");
    }
}

fn retire() -> Box<dyn RetirePolicy> {
    find(RETIRE_POLICIES, "at-endurance").unwrap().parse(toml::Table::new()).unwrap()
}

/// A drive of 64 blocks rated for 30 erases, written a while.
fn rated(stream: &mut wane_sim::Stream) -> Ftl<Array> {
    let config = FtlConfig { endurance: Some(30), retire: retire(), ..super::config(160, 64, 3) };
    let mut ftl = new(&config);
    live(&mut ftl, stream, 1000);
    ftl
}

fn free(ftl: &Ftl<Array>) -> Vec<SuperblockId> {
    ftl.layout().superblocks().filter(|block| ftl.state(*block) == BlockState::Free).collect()
}

#[test]
fn worn_free_blocks_leave_at_once_or_at_their_next_erase() {
    let mut ftl = rated(&mut Streams::new(1).stream("writes"));
    let (block, retired) = (free(&ftl)[0], ftl.retired_blocks());
    let mut wanted = ftl.erase_counts().to_vec();
    wanted[block.index()] = 30;
    let mut later = ftl.clone();
    assert_eq!(ftl.project_wear(&wanted, 0.0, Worn::AtOnce), Ok(Outcome::Done));
    assert_eq!((ftl.state(block), ftl.retired_blocks()), (BlockState::Retired, retired + 1));
    ftl.check().unwrap();
    assert_eq!(later.project_wear(&wanted, 0.0, Worn::AtNextErase), Ok(Outcome::Done));
    assert_eq!((later.state(block), later.retired_blocks()), (BlockState::Free, retired));
    live(&mut later, &mut Streams::new(2).stream("writes"), 4000);
    assert_eq!((later.state(block), later.erase_counts()[block.index()]), (BlockState::Retired, 31));
    later.check().unwrap();
}

#[test]
fn a_drive_may_die_of_a_projection_and_stays_dead() {
    let mut ftl = rated(&mut Streams::new(1).stream("writes"));
    let wanted = vec![40; ftl.erase_counts().len()];
    let outcome = ftl.project_wear(&wanted, 0.0, Worn::AtOnce).unwrap();
    assert_eq!(outcome, Outcome::Dead(EndOfLife::NoFreeBlock));
    ftl.check().unwrap();
    assert_eq!(ftl.project_wear(&vec![50; wanted.len()], 0.0, Worn::AtOnce), Ok(outcome));
    assert_eq!(ftl.erase_counts(), wanted);
}

#[test]
fn policies_and_the_life_used_count_projected_erases() {
    let wear_leveling = find(WEAR_LEVEL_POLICIES, "pwl").unwrap().parse("threshold = '10 %'".parse().unwrap()).unwrap();
    let config = FtlConfig { endurance: Some(60), retire: retire(), wear_leveling, ..super::config(160, 64, 3) };
    let mut ftl = new(&config);
    let before = ftl.life_used().unwrap();
    let wanted = vec![30; ftl.erase_counts().len()];
    ftl.project_wear(&wanted, 0.5, Worn::AtOnce).unwrap();
    assert!((ftl.life_used().unwrap() - before - 0.5).abs() < 1e-9, "half of 60 erases");
    // PWL uses the mean number of erases by garbage collection, which is 15 here. It starts at 10 % of 60.
    live(&mut ftl, &mut Streams::new(5).stream("writes"), 3000);
    assert_eq!(ftl.counters().policy_refusals, 0);
    ftl.check().unwrap();
}

#[test]
fn what_no_drive_can_take_is_refused_and_changes_nothing() {
    let mut ftl = rated(&mut Streams::new(1).stream("writes"));
    let now = ftl.erase_counts().to_vec();
    let with = |block: usize, count: u32| {
        let mut counts = now.clone();
        counts[block] = count;
        counts
    };
    for (counts, share, want) in [
        (vec![1], 0.0, "1 erase counts for 64 firmware blocks"),
        (with(3, 0), 0.0, "a projection cannot lower erase counts"),
        (with(3, u32::MAX), 0.0, "would have 4294967295"),
        (now.clone(), 1.5, "a share of 1.5"),
        (now.clone(), f64::NAN, "a share of NaN"),
    ] {
        let refused = ftl.project_wear(&counts, share, Worn::AtOnce).unwrap_err().to_string();
        assert!(refused.contains(want), "{refused}");
        assert_eq!(ftl.erase_counts(), now);
    }
}
