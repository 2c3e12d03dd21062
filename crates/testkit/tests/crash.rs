//! Drives come back from a power cut at any moment. `WANE_CUTS` says how many are explored: 500,000 where it is not set.

use wane_testkit::crash::{Tally, explore};

/// Commands of a run.
const COMMANDS: usize = 120;

/// Of so many cuts, the recovery of one is itself cut at every event.
const TWICE: u64 = 50;

#[test]
fn drives_come_back_from_every_cut() {
    let cuts = std::env::var("WANE_CUTS").ok().map_or(500_000, |cuts| cuts.parse().expect("WANE_CUTS is a number"));
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let explored = |core: u64| {
        let mut tally = Tally::default();
        let mut seeds = (core..).step_by(cores as usize);
        while tally.cuts < cuts / cores {
            let seed = seeds.next().expect("there are seeds enough");
            tally += explore(seed, COMMANDS, TWICE).unwrap_or_else(|failure| panic!("{failure}"));
        }
        tally
    };
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|core| scope.spawn(move || explored(core))).collect();
        for thread in threads {
            tally += thread.join().expect("no cut leaves a drive that its host does not expect");
        }
    });
    println!("{tally:?}");
    assert!(tally.cuts >= cuts / cores * cores && tally.torn > tally.cuts / 4 && tally.twice > tally.cuts / 50);
    assert!(tally.worn > tally.cuts / 100, "drives with retired blocks are among them");
}
