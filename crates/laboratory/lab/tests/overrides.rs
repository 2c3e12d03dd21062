//! Policies from outside: they run, results name them, and the hash includes them.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use wane_ftl::policies::Builtin;
use wane_ftl::policies::allocation::{MostWorn, MostWornParams};
use wane_ftl::policies::capacity::{Variant, VariantParams};
use wane_ftl::policies::placement::{Separate, SeparateParams};
use wane_ftl::policies::redundancy::{Stripes, StripesParams};
use wane_ftl::policies::retirement::{Failures, FailuresParams, Rber, RberParams};
use wane_ftl::policies::scrub::{ReadCount, ReadCountParams};
use wane_ftl::policies::victim::{Fifo, FifoParams, Greedy, GreedyParams};
use wane_ftl::policies::wear_leveling::{HotColdSwap, HotColdSwapParams};
use wane_lab::build::{Override, PolicyOverrides};
use wane_lab::run::Watch;
use wane_lab::session::{self, SessionError};
use wane_results::{RunResult, Summary};
use wane_scenario::{Scenario, Sources};

const SMALL: &str = "
[drive]
logical-capacity = '4 MiB'
spare-factor = '30 %'
channels = 4
pages-per-block = 16
[ftl]
domain = 'die'
gc-reserve = 2
[workload]
pattern = 'uniform'
read-share = '50 %'
[until]
drive-writes = 3
";

fn scenario() -> Scenario {
    Scenario::resolve(&Sources { file: Some(("small.toml", SMALL)), ..Sources::default() }).unwrap()
}

fn run(overrides: &PolicyOverrides) -> Result<RunResult, SessionError> {
    session::execute(&scenario(), overrides, &mut Watch { step: &mut |_| {}, stop: &Arc::default() })
}

fn none() -> PolicyOverrides {
    PolicyOverrides::default()
}

const NAME: &str = "from-outside";

/// A built-in under the name of a policy from outside.
fn outside<P>(policy: P) -> Option<Override<P>> {
    Some(Override::with(NAME, [("k", 7)], policy))
}

/// One override for each family, with whether it changed what a run did, beside a run without.
type Case = (&'static str, PolicyOverrides, fn(&Summary, &Summary) -> bool);

fn cases() -> [Case; 8] {
    let fifo = Box::new(Fifo::new(FifoParams {}).unwrap());
    let swap = Box::new(HotColdSwap::new(HotColdSwapParams { threshold: 1 }).unwrap());
    let variant = Box::new(Variant::new(VariantParams::default()).unwrap());
    let stripes = Box::new(Stripes::new(StripesParams { data_pages: 3 }).unwrap());
    let scrub = Box::new(ReadCount::new(ReadCountParams { reads: 5 }).unwrap());
    let separate = Box::new(Separate::new(SeparateParams {}).unwrap());
    let worn = Box::new(MostWorn::new(MostWornParams {}).unwrap());
    let failures = Box::new(Failures::new(FailuresParams::default()).unwrap());
    [
        ("gc", PolicyOverrides { victim: outside(fifo), ..none() }, |run, plain| run.flash != plain.flash),
        ("wear-leveling", PolicyOverrides { wear_leveling: outside(swap), ..none() }, |run, _| {
            run.flash.blocks_erased.wear_leveling > 0
        }),
        ("capacity", PolicyOverrides { capacity: outside(variant), ..none() }, |_, _| true),
        ("redundancy", PolicyOverrides { redundancy: outside(stripes), ..none() }, |run, _| {
            run.flash.pages_programmed.parity > 0
        }),
        ("scrub", PolicyOverrides { scrub: outside(scrub), ..none() }, |run, _| run.flash.blocks_erased.scrub > 0),
        ("retire", PolicyOverrides { retire: outside(failures), ..none() }, |_, _| true),
        ("placement", PolicyOverrides { placement: outside(separate), ..none() }, |run, plain| {
            run.flash != plain.flash
        }),
        ("allocation", PolicyOverrides { allocation: outside(worn), ..none() }, |run, plain| run.wear != plain.wear),
    ]
}

#[test]
fn every_family_takes_a_policy_from_outside_and_results_name_it() {
    let plain = run(&none()).unwrap();
    assert_eq!(plain.summary.scenario.hash, scenario().hash(), "a run without overrides keeps its hash");
    assert!(plain.summary.scenario.overrides.is_empty());
    let mut hashes = vec![plain.summary.scenario.hash.clone()];
    for (family, overrides, acted) in cases() {
        let RunResult { summary, scenario_toml, .. } = run(&overrides).unwrap();
        let recorded = &summary.scenario.overrides;
        assert_eq!(recorded.keys().collect::<Vec<_>>(), [family]);
        assert_eq!((&recorded[family]["policy"], &recorded[family]["k"]), (&NAME.into(), &7.into()));
        let written: toml::Table = scenario_toml.parse().unwrap();
        assert_eq!(written["ftl"][family]["policy"].as_str(), Some(NAME));
        assert!(!hashes.contains(&summary.scenario.hash), "{family} counts in the hash");
        hashes.push(summary.scenario.hash.clone());
        assert!(acted(&summary, &plain.summary), "{family} acts");
    }
}

#[test]
fn what_a_policy_is_given_counts_in_the_hash() {
    let hash = |reads: u32| {
        let policy = Box::new(ReadCount::new(ReadCountParams { reads }).unwrap());
        let overrides = PolicyOverrides { scrub: Some(Override::with("reads", [("reads", reads)], policy)), ..none() };
        run(&overrides).unwrap().summary.scenario.hash
    };
    assert_ne!(hash(5), hash(6));
    assert_eq!(hash(5), hash(5));
}

#[test]
fn a_policy_that_passes_for_another_or_lacks_what_it_needs_is_refused() {
    let greedy = Box::new(Greedy::new(GreedyParams::default()).unwrap());
    let rber = Box::new(Rber::new(RberParams::default()).unwrap());
    let table = [
        (
            PolicyOverrides { victim: Some(Override::new("fifo", greedy)), ..none() },
            "ftl.gc: \"fifo\" is a built-in's name; a policy from outside needs another one",
        ),
        (
            PolicyOverrides { retire: Some(Override::new("mine", rber)), ..none() },
            "ftl.retire: \"mine\" goes by errors, of which there are none without a drive.chip",
        ),
    ];
    for (overrides, want) in table {
        assert_eq!(run(&overrides).err().unwrap().to_string(), want);
    }
}
