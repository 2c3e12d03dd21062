//! Parity arrays are living devices.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use common::{drive, members};
use wane_blockdev::Living;
use wane_raid::code::{COPIES_2, Code, PQ, PQR, XOR};
use wane_raid::{DIRECT, Group, Journal, MD, Placement, PlacementError, Raid, RaidConfig, STRAID, Site, WritePath};
use wane_testkit::conformance;
use wane_units::Sectors;

#[derive(Debug)]
struct All;

impl Placement for All {
    fn name(&self) -> &'static str {
        "all"
    }

    fn groups(&self, sites: &[Site], width: usize) -> Result<Vec<Group>, PlacementError> {
        let tiles = sites.iter().take(width).map(|site| site.slots).min().unwrap_or(0);
        Ok(vec![Group { members: (0..width as u16).collect(), tiles }])
    }
}

fn config(code: &'static dyn Code, width: usize, path: &'static dyn WritePath) -> RaidConfig {
    RaidConfig {
        code,
        width,
        chunk: Sectors(16),
        slot: Sectors(16 * width as u64),
        placement: &All,
        path,
        journal: Journal::Full,
        ring: Sectors(0),
        uuid: 7,
    }
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
            conformance::living_device(&name, &make, true, 32);
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
