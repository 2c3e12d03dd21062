//! The engine against closed forms under uniform and sequential writes.

use wane_ftl::policies::find;
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::{Ftl, Outcome};
use wane_nand::Array;
use wane_sim::Streams;
use wane_units::{Bytes, Geometry, Lpn};

use super::config;

/// Write amplification over some drive writes after a fill and others to settle.
fn amplification(policy: &str, blocks: u32, pages_per_block: u32, settle: u64, measure: u64, sequential: bool) -> f64 {
    let rated = (f64::from(blocks) / 0.9) as u32;
    let logical = blocks * pages_per_block;
    let mut config = config(logical, rated, 7);
    config.victim = find(VICTIM_POLICIES, policy).unwrap().parse(toml::Table::new()).unwrap();
    let array = Array::new(Geometry::flat(rated + 7, pages_per_block, Bytes(4096)).unwrap());
    let mut ftl = Ftl::new(array, config).unwrap();
    let mut stream = Streams::new(9).stream("workload");
    let mut pages: Vec<u32> = (0..logical).collect();
    let write = |ftl: &mut Ftl<Array>, pages: &[u32]| {
        let mut done = 0;
        while done < pages.len() {
            let (written, outcome) = ftl.write(Lpn::slice(&pages[done..]));
            assert!(matches!(outcome, Outcome::Done | Outcome::Paused), "{outcome:?}");
            assert_eq!(ftl.resume(), Outcome::Done);
            done += written;
        }
    };
    write(&mut ftl, &pages);
    let mut drive_write = |ftl: &mut Ftl<Array>| {
        if !sequential {
            pages.iter_mut().for_each(|page| *page = stream.below(u64::from(logical)) as u32);
        }
        write(ftl, &pages);
    };
    (0..settle).for_each(|_| drive_write(&mut ftl));
    let before = *ftl.counters();
    (0..measure).for_each(|_| drive_write(&mut ftl));
    let host = ftl.counters().host_units_written - before.host_units_written;
    (ftl.counters().programmed_total() - before.programmed_total()) as f64 / host as f64
}

fn within(found: f64, want: f64, share: f64, what: &str) {
    let off = found / want - 1.0;
    println!("{what}: {found:.4}, closed form {want:.4}, {:+.2} %", 100.0 * off);
    assert!(off.abs() <= share, "{what}: {found} is {off:+.4} off {want}");
}

// What the closed forms call physical pages is what holds data: the blocks without the free reserve and the frontier.
#[test]
fn fifo_meets_its_closed_form() {
    let alpha = f64::from((2048.0 / 0.9) as u32) / 2048.0;
    within(amplification("fifo", 2048, 64, 6, 4, false), wane_theory::lru_write_amplification(alpha), 0.01, "FIFO");
}

#[test]
fn random_meets_its_closed_form() {
    let alpha = f64::from((2048.0 / 0.9) as u32) / 2048.0;
    within(
        amplification("random", 2048, 64, 8, 4, false),
        wane_theory::random_write_amplification(alpha),
        0.01,
        "random",
    );
}

#[test]
fn greedy_meets_its_table() {
    for (pages_per_block, want) in wane_theory::GREEDY_UNIFORM {
        within(amplification("greedy", 1024, pages_per_block, 4, 4, false), want, 0.02, "greedy");
    }
}

#[test]
fn sequential_writes_are_never_amplified() {
    for policy in ["greedy", "fifo", "cost-benefit", "windowed-greedy"] {
        assert_eq!(amplification(policy, 256, 64, 2, 3, true), 1.0, "{policy}");
    }
}
