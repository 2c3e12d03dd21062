//! Parity arrays are living devices.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use common::{All, drive, members, raid_config};
use wane_blockdev::Living;
use wane_raid::code::{COPIES_2, Code, PQ, PQR, XOR};
use wane_raid::{DIRECT, Following, MD, Raid, RaidConfig, STRAID, UNEQUAL, WritePath};
use wane_testkit::conformance;

fn config(code: &'static dyn Code, width: usize, path: &'static dyn WritePath) -> RaidConfig {
    RaidConfig { path, ..raid_config(code, width, &All) }
}

#[test]
fn arrays_of_memory_are_living_devices() {
    let codes: [(&'static dyn Code, usize); 5] = [(&XOR, 3), (&XOR, 5), (&PQ, 6), (&PQR, 5), (&COPIES_2, 4)];
    for (code, width) in codes {
        for path in [&DIRECT as &'static dyn WritePath, &MD, &STRAID] {
            let make = || -> Box<dyn Living> {
                Box::new(
                    Raid::new(config(code, width, path), members([4096; 6]).into_iter().take(width).collect()).unwrap(),
                )
            };
            let name = format!("{} of {width} by {}", code.name(), path.name());
            conformance::living_device(&name, &make, true, if code.tolerates() == 1 { 16 } else { 8 });
        }
    }
}

#[test]
fn arrays_of_drives_are_living_devices() {
    for is_timed in [false, true] {
        let make = || -> Box<dyn Living> {
            let members = vec![drive(40, is_timed), drive(56, false), drive(40, is_timed)];
            Box::new(Raid::new(config(&XOR, 3, &DIRECT), members).unwrap())
        };
        conformance::living_device("an array of drives", &make, false, 8);
    }
}

/// Two jobs on members of several sizes: hosts that give capacity back, and tiles that move.
#[test]
fn arrays_that_follow_their_members_are_living_devices() {
    let config = |code, width| RaidConfig {
        following: Following::Members,
        placement: &UNEQUAL,
        ..raid_config(code, width, &All)
    };
    let make =
        || -> Box<dyn Living> { Box::new(Raid::new(config(&XOR, 3), members([2048, 4096, 3000, 2500])).unwrap()) };
    conformance::living_device("an array that follows its members", &make, true, 24);
}
