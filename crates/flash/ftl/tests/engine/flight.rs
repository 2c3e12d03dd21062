//! The order in time that the firmware demands, so that it can recover from any power cut.

use wane_ftl::policies::Builtin;
use wane_ftl::policies::recovery::{Checkpoint, CheckpointParams};
use wane_ftl::{EraseGroup, Ftl, FtlConfig};
use wane_nand::{Barrier, FlashOp, OpKind};
use wane_testkit::StrictMedia;
use wane_units::{Bytes, Geometry, Lpn, Ratio};

/// Each program and erase, with the barriers before it, of a drive of superblocks over two dies that writes and collects.
fn barriers(power_loss_protection: bool) -> Vec<(FlashOp, Vec<Barrier>)> {
    let geometry = Geometry::new(2, 1, 1, 16, 4, Bytes(4096)).expect("a small drive");
    let config = FtlConfig {
        erase_group: EraseGroup::Superblock,
        rated_blocks: 13,
        logical_units: 50,
        gc_reserve: 3,
        recovery: Box::new(Checkpoint::build(CheckpointParams { interval: 8 })),
        power_loss_protection,
        ..FtlConfig::new(&geometry, Ratio::ZERO)
    };
    let mut ftl = Ftl::new(StrictMedia::new(geometry), config).expect("it has room");
    ftl.media_mut().ops = Some(Vec::new());
    for round in 0..40 {
        let units: Vec<Lpn> = (0..10).map(|unit| Lpn((round * 7 + unit * unit) % 50)).collect();
        ftl.write(&units);
    }
    let mut pending = Vec::new();
    let ops = ftl.media_mut().ops.take().expect("they were asked for");
    ops.into_iter()
        .filter_map(|op| match op.kind {
            OpKind::Barrier(barrier) => {
                pending.push(barrier);
                None
            }
            OpKind::Program | OpKind::Erase => Some((op, std::mem::take(&mut pending))),
            OpKind::Read(_) | OpKind::Buffered => None,
        })
        .collect()
}

#[test]
fn programs_and_erases_wait_for_what_a_power_cut_must_not_find_missing() {
    for power_loss_protection in [true, false] {
        let listed = barriers(power_loss_protection);
        let programs = || listed.iter().filter(|(op, _)| op.kind == OpKind::Program);
        // A superblock is erased as a whole before any of its members is programmed.
        assert!(programs().filter(|(op, _)| op.page == 0).all(|(_, before)| before.contains(&Barrier::Erases)));
        // Pages of the metadata area come after all that they record; the others do not wait.
        let is_metadata = |before: &Vec<Barrier>| before.contains(&Barrier::Changes);
        let metadata = programs().filter(|(_, before)| is_metadata(before)).count();
        assert!((20..100).contains(&metadata), "{metadata} pages of the metadata area");
        assert!(programs().all(|(op, before)| op.page == 0 || before.is_empty() || is_metadata(before)));
        let erases: Vec<bool> = listed
            .iter()
            .filter(|(op, _)| op.kind == OpKind::Erase)
            .map(|(_, before)| before == &[Barrier::Programs])
            .collect();
        let waiting = erases.iter().filter(|waits| **waits).count();
        // With power-loss protection only those of the metadata area wait, which are fewer than half.
        let expected = if power_loss_protection { 1..erases.len() / 2 } else { erases.len()..erases.len() + 1 };
        assert!(expected.contains(&waiting), "{waiting} of {} erases wait for programs", erases.len());
    }
}
