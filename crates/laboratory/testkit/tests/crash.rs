//! Drives recover from a power cut at any time. `WANE_CUTS` is the number of cuts explored, by default 500,000; a fifth of them
//! are on drives with a clock. `WANE_SEED` is the first run of either kind; such a replay need not meet everything.

use wane_testkit::crash::{Tally, TimedTally, explore, explore_timed};

/// Commands of a run.
const COMMANDS: usize = 120;

/// The recovery of 1 of this number of cuts is itself cut at every event.
const TWICE: u64 = 50;

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().expect("WANE_CUTS and WANE_SEED are numbers"))
}

/// The first run, and whether it was asked for.
fn first_run() -> (u64, bool) {
    number("WANE_SEED").map_or((0, false), |seed| (seed, true))
}

#[test]
fn drives_come_back_from_every_cut() {
    let (cuts, (first, is_replay)) = (number("WANE_CUTS").unwrap_or(500_000), first_run());
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let explored = |core: u64| {
        let mut tally = Tally::default();
        let mut seeds = (first + core..).step_by(cores as usize);
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
    if is_replay {
        return;
    }
    assert!(tally.cuts >= cuts / cores * cores && tally.torn > tally.cuts / 4 && tally.twice > tally.cuts / 50);
    assert!(tally.along > tally.torn / 20, "wordlines of several pages are among them");
    assert!(tally.worn > tally.cuts / 100, "drives with retired blocks are among them");
    assert!(tally.striped > tally.cuts / 20, "stripes are among them");
    assert!(tally.unreadable > tally.cuts / 50, "pages that cannot be read are among them");
}

/// Prints the run of a test that stops within it, for any reason.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("WANE_SEED={} begins with this run", self.0);
        }
    }
}

#[test]
fn drives_come_back_from_cuts_in_the_midst_of_time() {
    let cuts = number("WANE_CUTS").unwrap_or(500_000) / 5;
    let (first, is_replay) = first_run();
    let mut tally = TimedTally::default();
    let mut seed = first;
    while tally.cuts < cuts {
        let _told = Told(seed);
        tally += explore_timed(seed, COMMANDS, TWICE).unwrap_or_else(|failure| panic!("{failure}"));
        seed += 1;
    }
    println!("{tally:?} of {} runs", seed - first);
    if is_replay {
        return;
    }
    assert!(tally.in_flight > cuts / 2 && tally.torn > cuts / 4 && tally.out_of_order > cuts / 4);
    assert!(tally.unreadable > cuts / 100, "pages that cannot be read are among them");
    assert!(tally.erases > cuts / 5 && tally.twice > cuts / 20, "recoveries are cut, and erases not done");
}
