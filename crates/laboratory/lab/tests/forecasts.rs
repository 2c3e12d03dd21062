//! From the life of one array to a forecast of many.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::Arc;

use wane_lab::overrides::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session::{self, SessionError};
use wane_results::{ArrayFigures, Forecast};
use wane_scenario::{Scenario, Sources};

const STRIPE: &str = "[drive]\nlogical-capacity = \"4 MiB\"\nspare-factor = 0.2\npages-per-block = 16\nendurance = 40\n\
                      [array]\nlayout = \"stripe\"\nat-end-of-life = \"gone\"\n[[array.member]]\ncount = 5\n\
                      [workload]\npattern = \"uniform\"\n[time]\ndrive-writes-per-day = 0.02\n[until]\nend-of-life = true\n\
                      [forecast]\narrays = 2000\nparities = 1\ndrive-capacity = \"7680 GB\"\ncv = 0\nbatch-cv = 0\nafr = 0\nyears = [1, 30]\n";

fn scenario(set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Scenario::resolve(&Sources { file: Some(("stripe.toml", STRIPE)), set: &set, preset: None }).unwrap()
}

/// What became of the array.
fn executed(scenario: &Scenario) -> Result<ArrayFigures, SessionError> {
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    let run = session::execute(scenario, &PolicyOverrides::default(), &mut watch)?;
    Ok(run.summary.array.unwrap())
}

fn lived(set: &[&str]) -> ArrayFigures {
    executed(&scenario(set)).unwrap()
}

fn forecast(set: &[&str]) -> Forecast {
    lived(set).forecast.unwrap()
}

#[test]
fn members_die_when_the_simulated_one_did() {
    // Without spread and without parity, the forecast is the simulated life.
    let summary = lived(&["forecast.parities=0", "forecast.alternatives=[]"]);
    let simulated = summary.first_death_at.unwrap() / 0.02 / 365.0;
    let found = summary.forecast.unwrap().planned.first_failure[1].years.unwrap();
    assert!((found / simulated - 1.0).abs() < 0.02, "{found} for {simulated}");
    // Two writes for each of the host's, on 5 / 4 of the space; in full stripes 5 / 4 on 5 / 4.
    let parity = forecast(&["forecast.alternatives=[]"]).planned.first_failure[1].years.unwrap();
    assert!((parity / found - 0.5 * 1.25).abs() < 0.01, "{parity} {found}");
    let full = forecast(&["forecast.alternatives=[]", "forecast.full-stripe-share=1"]).planned.first_failure[1].years;
    assert!((full.unwrap() / found - 1.0).abs() < 0.01, "{full:?} {found}");
}

#[test]
fn alternatives_stand_beside_the_plan_with_their_differences() {
    let forecast = forecast(&["forecast.cv=0.1", "forecast.afr=0.02", "forecast.years=[1, 5]"]);
    let names: Vec<&str> = forecast.alternatives.iter().map(|alternative| alternative.name.as_str()).collect();
    assert_eq!(names, ["spare", "more-redundancy", "staggered-ages", "uneven-parity", "early-replacement"]);
    let planned = &forecast.planned.years[1].figures;
    assert!(planned.any_lost.mean > 0.2 && planned.days_degraded.mean > 1.0, "{planned:?}");
    for alternative in &forecast.alternatives {
        let year = &alternative.outlook.years[1];
        let change = year.changes.unwrap().any_lost;
        assert!(
            (year.figures.any_lost.mean - planned.any_lost.mean - change.mean).abs() < 1e-9,
            "{}",
            alternative.name
        );
    }
    let causes: f64 = forecast.planned.years[1].loss_causes.values().sum();
    assert!((causes - planned.any_lost.mean).abs() < 1e-9);
}

#[test]
fn a_large_drive_has_more_to_read_in_a_rebuild() {
    let lost = |set: &str| {
        let set = [set, "forecast.alternatives=[]", "forecast.cv=0.2", "forecast.uber-worn=1e-16"];
        forecast(&set).planned.years[1].loss_causes.get("unreadable").copied().unwrap_or(0.0)
    };
    assert!(lost("forecast.drive-capacity=7680 GB") > 3.0 * lost("forecast.drive-capacity=768 GB"));
}

/// The stripe of five drives as a raid with a code: its parities are simulated.
fn raid(code: &str, more: &[&str]) -> Forecast {
    let code = format!("array.code={code}");
    let set = ["array.layout=raid", "array.chunk=16 KiB", "array.journal=none", "forecast.parities=0", &code];
    forecast(&[&set[..], more].concat())
}

#[test]
fn a_raid_has_a_parity_more_and_uneven_parity_beside_its_plan() {
    for (code, told, more) in [
        ("xor", "one parity", "2 parities on 6 drives, 1 more of 7.68 TB"),
        ("pq", "2 parities", "3 parities on 6 drives, 1 more of 7.68 TB"),
    ] {
        let has_shares = code == "xor";
        let set = match has_shares {
            true => "forecast.alternatives=[\"more-redundancy\", \"uneven-parity\"]",
            false => "forecast.alternatives=[\"more-redundancy\"]",
        };
        let found = raid(code, &[set]);
        assert!(found.plan.starts_with(&format!("5 drives of 7.68 TB, {told}, ")), "{}", found.plan);
        let names: Vec<&str> = found.alternatives.iter().map(|alternative| alternative.told.as_str()).collect();
        assert_eq!(names[0], more);
        let closed = match has_shares {
            true => "One parity more and uneven parity are closed forms",
            false => "One parity more is a closed form",
        };
        let closed = format!("{closed}, not a simulation: its members' wear is that of the simulated \"{code}\"");
        assert!(found.assumptions.iter().any(|told| told.starts_with(&closed)), "{:?}", found.assumptions);
        // Chunk by chunk a write makes p + 1 chunks on n members, and p + 2 on n + 1: each member wears that much faster.
        let first = |outlook: &wane_results::Outlook| outlook.first_failure[1].years.unwrap();
        let parities = if has_shares { 1.0 } else { 2.0 };
        let want = (parities + 1.0) / 5.0 / ((parities + 2.0) / 6.0);
        let ratio = first(&found.alternatives[0].outlook) / first(&found.planned);
        assert!((ratio / want - 1.0).abs() < 0.01, "{code}: {ratio} for {want}");
        if has_shares {
            // By what members were given in the run, which is not quite the same.
            let words: Vec<&str> = names[1].split_whitespace().collect();
            let ["parity", "in", "shares", "from", least, "%", "to", most, "%"] = words[..] else {
                panic!("{}", names[1])
            };
            let shares = [least, most].map(|share| share.parse::<f64>().unwrap());
            assert!((shares[0] - 10.0).abs() < 0.05 && (shares[1] - 30.0).abs() < 0.05, "{shares:?}");
            // The member with most parity dies first, as much earlier as it is written more: s + (1 - s) / k.
            let written = |share: f64| share + (1.0 - share) / 4.0;
            let want = written(0.2) / written(0.3);
            let ratio = first(&found.alternatives[1].outlook) / first(&found.planned);
            assert!((ratio / want - 1.0).abs() < 0.01, "{ratio} for {want}");
        }
    }
    let of_metadata =
        |forecast: &Forecast| forecast.assumptions.iter().any(|told| told.starts_with("Metadata and space"));
    let set = "forecast.alternatives=[]";
    assert!(of_metadata(&raid("xor", &[set])), "chunks of 16 KiB on drives of 4 MiB");
    assert!(!of_metadata(&forecast(&[set])), "a stripe has none");
    let copies = raid("copies-2", &["array.width=4", "forecast.alternatives=[\"more-redundancy\"]"]);
    assert_eq!(copies.alternatives[0].told, "3 copies on 8 drives, 3 more of 7.68 TB");
    assert!(copies.assumptions.iter().any(|told| told.starts_with("One copy more is a closed form")));
    let narrow = raid("xor", &["array.width=3", "forecast.alternatives=[\"more-redundancy\"]"]);
    assert!(narrow.plan.contains("one parity in stripes of 3"), "{}", narrow.plan);
    assert_eq!(narrow.alternatives[0].told, "2 parities in stripes of 4 on 7 drives, 2 more of 7.68 TB");
}

/// The stripe's drives in four sizes, as a raid of narrow stripes.
const UNEQUAL: [&str; 6] = [
    "array.member=[{ count = 2 }, { count = 2, drive.logical-capacity = \"8 MiB\" }, { drive.logical-capacity = \"2 MiB\" }]",
    "array.layout=raid",
    "array.chunk=4 KiB",
    "forecast.parities=0",
    "array.width=3",
    "forecast.drive-capacity=4 TB",
];

#[test]
fn a_forecast_names_the_sizes_of_drives_and_which_part_is_lost() {
    let found = forecast(&UNEQUAL);
    assert!(
        found.plan.starts_with("5 drives (2 of 4 TB, 2 of 2 TB, 1 TB), one parity in stripes of 3"),
        "{}",
        found.plan
    );
    let told: Vec<&str> = found.alternatives.iter().map(|alternative| alternative.told.as_str()).collect();
    assert_eq!(told[0], "a spare of 4 TB on the shelf");
    assert_eq!(told[1], "2 parities in stripes of 4 on 7 drives, 2 more of 4 TB");
    assert!(told.iter().all(|told| !told.contains("shares")), "{told:?}");
    // Of the stripes on three of five drives, three in ten lie on two that are given.
    assert!((found.lost_beyond_code.unwrap() - 0.3).abs() < 1e-9, "{:?}", found.lost_beyond_code);
    let lost = |set: &[&str]| forecast(&[set, &["forecast.alternatives=[]"]].concat()).lost_beyond_code;
    assert_eq!(lost(&[]), Some(1.0), "stripes on all members");
    let part = |set: &[&str]| lost(&[set, &["forecast.parities=0"]].concat()).unwrap();
    // A mirror of two copies on five members, and one drive of a row of five.
    assert!((part(&["array.layout=mirror"]) - 0.1).abs() < 1e-9);
    assert!((part(&["array.layout=linear"]) - 0.2).abs() < 1e-9);
    assert_eq!(part(&["array.layout=mirror", "array.copies=5"]), 1.0);
}

#[test]
fn the_uber_of_a_chip_is_the_tail_of_its_errors() {
    const CHIP: [&str; 7] = [
        "drive.chip=tlc-72l-2018",
        "drive.ecc.strength=3",
        "drive.ecc.rereads-max=2",
        "drive.ecc.draws=sticky",
        "forecast.uber=chip",
        "forecast.alternatives=[]",
        "forecast.uber-retention=30 days",
    ];
    let found = forecast(&CHIP);
    // Binomial tails by their terms: 4,096 bits, of which 3 are corrected, at a quarter of the RBER after two re-reads.
    let model = wane_nand::rber::chip("tlc-72l-2018").unwrap().model;
    let chance = |wear: f64| {
        let wrong = model.rber(40.0 * wear, 30.0, 0.0) / 4.0;
        let term = |count: i32| {
            let ways: f64 = (0..count).map(|one| f64::from(4096 - one) / f64::from(one + 1)).product();
            ways * wrong.powi(count) * (1.0 - wrong).powi(4096 - count)
        };
        (1.0 - (0..=3).map(term).sum::<f64>()) / 4096.0
    };
    assert_eq!(found.uber.iter().map(|at| at.wear).collect::<Vec<_>>(), [0.0, 0.25, 0.5, 0.75, 1.0]);
    for at in &found.uber {
        assert!((at.uber / chance(at.wear) - 1.0).abs() < 0.01, "{at:?} for {}", chance(at.wear));
    }
    assert!(found.uber.windows(2).all(|pair| pair[0].uber <= pair[1].uber), "{:?}", found.uber);
    let told = "bit errors of tlc-72l-2018 after the last re-read, 30 days after data were written";
    assert!(found.assumptions.iter().any(|one| one.contains(told)), "{:?}", found.assumptions);
    let stated = forecast(&["forecast.alternatives=[]"]);
    let worn = stated.uber.last().unwrap().uber;
    assert!((worn / 1e-15 - 1.0).abs() < 1e-9, "{worn}");
    // Deaths far apart, so that rebuilds are waited for.
    let spread = ["forecast.cv=0.2"];
    let lost = |set: &[&str]| {
        forecast(&[set, &spread].concat()).planned.years[1].loss_causes.get("unreadable").copied().unwrap_or(0.0)
    };
    let (of_chip, stated) = (lost(&CHIP), lost(&["forecast.alternatives=[]"]));
    assert!(of_chip > stated, "a weak ECC loses more: {of_chip} {stated}");
}

#[test]
fn a_life_that_wears_nothing_carries_no_forecast() {
    let scenario = scenario(&["until.end-of-life=false", "until.drive-writes=0.001"]);
    let refused = executed(&scenario);
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("forecast") && told.contains("give a later until"), "{told}");
}
