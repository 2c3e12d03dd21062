//! From the life of one array to a forecast of many.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::Arc;

use wane_lab::array;
use wane_lab::run::Watch;
use wane_results::{ArraySummary, Forecast};
use wane_scenario::{Scenario, Sources};

const STRIPE: &str = "[drive]\nlogical-capacity = \"4 MiB\"\nspare-factor = 0.2\npages-per-block = 16\nendurance = 40\n\
                      [array]\nlayout = \"stripe\"\nat-end-of-life = \"gone\"\n[[array.member]]\ncount = 5\n\
                      [workload]\npattern = \"uniform\"\n[time]\ndrive-writes-per-day = 0.02\n[until]\nend-of-life = true\n\
                      [forecast]\narrays = 2000\nparities = 1\ndrive-capacity = \"7680 GB\"\ncv = 0\nbatch-cv = 0\nafr = 0\nyears = [1, 30]\n";

fn scenario(set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Scenario::resolve(&Sources { file: Some(("stripe.toml", STRIPE)), set: &set, preset: None }).unwrap()
}

fn lived(set: &[&str]) -> ArraySummary {
    array::execute(&scenario(set), &mut Watch { step: &mut |_| {}, stop: &Arc::default() }).unwrap().summary
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

#[test]
fn a_life_that_wears_nothing_carries_no_forecast() {
    let scenario = scenario(&["until.end-of-life=false", "until.drive-writes=0.001"]);
    let refused = array::execute(&scenario, &mut Watch { step: &mut |_| {}, stop: &Arc::default() });
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("forecast") && told.contains("give a later until"), "{told}");
}
