//! `wane tradeoff`: the best wear leveling at each cleaning cost, and how policies compare with it.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use wane_lab::occupancy::{OccupancyError, observe};
use wane_report::tradeoff::TradeoffPicture;
use wane_theory::TheoryError;
use wane_theory::occupancy::{half_full_occupancy, total_variation};
use wane_theory::selection::{OperatingPoint, d_choices, greedy, random};
use wane_theory::tradeoff::{curve, d_for_cost, d_for_wear_leveling, optimal_wear_leveling};

use super::estimate::resolve;
use crate::DONE;
use crate::args::theory::TradeoffArguments;
use crate::output::{Failure, Others, print, print_json, tell, write_text};
use crate::progress::stop_flag;

/// Points of the curve.
const POINTS: usize = 101;
/// Most values of d.
const D_MAX: usize = 1000;

/// Shares of blocks and where they come from.
struct Blocks {
    source: String,
    occupancy: Vec<f64>,
    /// For a drive that was run: mean valid pages of its victims, and the total variation between the fixed point of its rates and the shares.
    ran: Option<(Option<f64>, f64)>,
    warnings: Vec<String>,
}

/// A policy's operating point on these blocks.
struct Placed {
    name: String,
    point: OperatingPoint,
    best: f64,
}

pub(crate) fn tradeoff(arguments: &TradeoffArguments) -> Result<i32, Failure> {
    if arguments.d.len() > D_MAX {
        return Err(Failure::wrong(format!("--d: found {} values, allowed are at most {D_MAX}", arguments.d.len())));
    }
    let blocks = blocks(arguments)?;
    let wrong = |option: &'static str| move |error: TheoryError| Failure::wrong(format!("{option}: {error}"));
    let occupancy = &blocks.occupancy;
    let place = |name: String, point: OperatingPoint| -> Result<Placed, Failure> {
        let best = optimal_wear_leveling(occupancy, point.cleaning_cost).map_err(Failure::wrong)?;
        debug_assert!(point.wear_leveling <= best * (1.0 + 1e-6), "{name}: no policy levels wear better than the best");
        Ok(Placed { name, point, best })
    };
    let mut placed = vec![place("random".to_owned(), random(occupancy).map_err(Failure::wrong)?)?];
    for d in &arguments.d {
        placed.push(place(format!("d-choices, d = {d}"), d_choices(occupancy, *d).map_err(wrong("--d"))?)?);
    }
    placed.push(place("greedy".to_owned(), greedy(occupancy).map_err(Failure::wrong)?)?);
    let mut wanted = Vec::new();
    if let Some(cost) = arguments.cost {
        let d = d_for_cost(occupancy, cost).map_err(wrong("--cost"))?;
        wanted.push((d, place(format!("d-choices, d = {d:.4}"), d_choices(occupancy, d).map_err(Failure::wrong)?)?));
    }
    if let Some(index) = arguments.wear_leveling {
        let d = d_for_wear_leveling(occupancy, index).map_err(wrong("--wear-leveling"))?;
        wanted.push((d, place(format!("d-choices, d = {d:.4}"), d_choices(occupancy, d).map_err(Failure::wrong)?)?));
    }
    let best = curve(occupancy, POINTS).map_err(Failure::wrong)?;
    if let Some(path) = &arguments.plot {
        let points = placed.iter().chain(wanted.iter().map(|(_, placed)| placed));
        let points = points.map(|at| (at.name.clone(), at.point.cleaning_cost, at.point.wear_leveling)).collect();
        let curve = best.iter().map(|point| (point.cleaning_cost, point.wear_leveling)).collect();
        let picture = TradeoffPicture { name: blocks.source.clone(), curve, points, warnings: blocks.warnings.clone() };
        write_text(path, Others::of(arguments.force), &picture.render())?;
    }
    if arguments.json {
        print_json(&as_json(&blocks, &best, &placed, &wanted))?;
    } else {
        print(&words(&blocks, &placed, &wanted))?;
    }
    if let Some(path) = &arguments.plot {
        tell(&path.display().to_string());
    }
    Ok(DONE)
}

fn blocks(arguments: &TradeoffArguments) -> Result<Blocks, Failure> {
    let scenario = resolve(&arguments.asked)?;
    let Some(scenario) = scenario else {
        let source = format!("half-full blocks of {} pages under uniform requests", arguments.pages);
        let occupancy = half_full_occupancy(arguments.pages);
        return Ok(Blocks { source, occupancy, ran: None, warnings: Vec::new() });
    };
    if !(arguments.drive_writes > 0.0 && arguments.drive_writes <= 1e6) {
        let sentence = format!("--drive-writes: found {}, allowed are above 0 to 1000000", arguments.drive_writes);
        return Err(Failure::wrong(sentence));
    }
    let seen = observe(&scenario, arguments.drive_writes, arguments.drive_writes, &stop_flag());
    let seen = seen.map_err(|error| match error {
        OccupancyError::Stopped => Failure::Interrupted(error.to_string()),
        other => Failure::wrong(other),
    })?;
    let occupancy = seen.estimator.occupancy().map_err(Failure::wrong)?;
    let model = seen.estimator.rates().and_then(|rates| rates.fixed_point_from(&occupancy));
    debug_assert!((occupancy.iter().sum::<f64>() - 1.0).abs() < 1e-9, "shares of all blocks sum to 1");
    let off = model.and_then(|model| total_variation(&occupancy, &model)).map_err(Failure::wrong)?;
    let mut warnings = Vec::new();
    if off > 0.1 {
        warnings.push(format!(
            "the fixed point of the measured rates is {off:.2} off in total variation: moves depend on more than a block's valid pages"
        ));
    }
    let source = format!("the blocks of {} over {} drive writes", scenario.name, arguments.drive_writes);
    Ok(Blocks { source, occupancy, ran: Some((seen.valid_pages_per_victim_mean, off)), warnings })
}

fn point_json(point: &OperatingPoint) -> Value {
    json!({
        "cleaning_cost": point.cleaning_cost,
        "wear_leveling": point.wear_leveling,
        // Infinite for a policy whose victims are full.
        "write_amplification": point.write_amplification.is_finite().then_some(point.write_amplification),
    })
}

fn as_json(blocks: &Blocks, best: &[OperatingPoint], placed: &[Placed], wanted: &[(f64, Placed)]) -> Value {
    let policy = |placed: &Placed| {
        let mut value = point_json(&placed.point);
        value["policy"] = json!(placed.name);
        value["best_wear_leveling"] = json!(placed.best);
        value
    };
    let mut top = Map::new();
    let mut put = |key: &str, value: Value| drop(top.insert(key.to_owned(), value));
    put("source", json!(blocks.source));
    put("occupancy", json!(blocks.occupancy));
    put("curve", Value::Array(best.iter().map(point_json).collect()));
    put("policies", Value::Array(placed.iter().map(policy).collect()));
    let wanted = wanted.iter().map(|(d, placed)| {
        let mut value = policy(placed);
        value["d"] = json!(d);
        value
    });
    put("wanted", Value::Array(wanted.collect()));
    if let Some((valid, off)) = blocks.ran {
        put("gc", json!({ "valid_pages_per_victim_mean": valid }));
        put("fixed_point_total_variation", json!(off));
    }
    put("warnings", json!(blocks.warnings));
    Value::Object(top)
}

/// What the columns mean.
const MEANINGS: &str = "
wear leveling: 1.0000 wears all blocks alike, 1/n wears one in n
best at cost: the most even wear of any policy with as many valid pages in its
victims; share: how much of that the policy has
";

fn words(blocks: &Blocks, placed: &[Placed], wanted: &[(f64, Placed)]) -> String {
    let mut text = format!("{}\n\n", blocks.source);
    let _ = writeln!(
        text,
        "{:<24} {:>12} {:>12} {:>13} {:>13} {:>8}",
        "policy", "valid pages", "write ampl.", "wear leveling", "best at cost", "share"
    );
    for Placed { name, point, best } in placed.iter().chain(wanted.iter().map(|(_, placed)| placed)) {
        let _ = writeln!(
            text,
            "{name:<24} {:>12.4} {:>12.4} {:>13} {:>13} {:>7.1}%",
            point.cleaning_cost,
            point.write_amplification,
            index(point.wear_leveling),
            index(*best),
            100.0 * point.wear_leveling / best
        );
    }
    if let Some((valid, off)) = blocks.ran {
        let valid = valid.map_or_else(|| "none".to_owned(), |valid| format!("{valid:.4}"));
        let _ = writeln!(text, "\nvalid pages of the run's victims: {valid}");
        let _ = writeln!(text, "fixed point of the measured rates: {off:.4} off in total variation");
    }
    text.push_str(MEANINGS);
    for warning in &blocks.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// Formats Jain's index; a small one with a power of ten.
fn index(value: f64) -> String {
    if value >= 1e-4 { format!("{value:.4}") } else { format!("{value:.3e}") }
}
