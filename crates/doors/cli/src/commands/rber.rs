//! `wane rber`: a chip's raw bit error rate, as a number, a table or a page.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};
use wane_calibrate::{INPUT_MAX, Preset, extrapolations};
use wane_nand::rber::{CHIPS, Ranges, RberModel};
use wane_report::rber::{CURVES_MAX, RberCurve, RberPicture, input as written, parameter};
use wane_units::{did_you_mean, excerpt};

use super::rber_fit::fit;
use crate::DONE;
use crate::args::{RberArguments, RberCommand};
use crate::output::{Failure, Others, pretty, print, read_text, tell, write_text};

/// Most points of one command.
const POINTS_MAX: usize = 1_000_000;
const INPUTS: [&str; 3] = ["cycles", "days", "reads"];

pub(crate) fn rber(arguments: &RberArguments) -> Result<i32, Failure> {
    if let Some(RberCommand::Fit(arguments)) = &arguments.command {
        return fit(arguments);
    }
    if arguments.list {
        print(&if arguments.json { listed_json()? } else { listed() })?;
        return Ok(DONE);
    }
    let chip = Chosen::of(arguments)?;
    let cycles = arguments.cycles.as_deref().ok_or_else(|| {
        Failure::wrong("--cycles: is missing; give P/E cycles, such as 5000, 0,1000,5000 or 0..10000:500")
    })?;
    let inputs = [cycles, &arguments.days, &arguments.reads];
    let mut values: [Vec<f64>; 3] = Default::default();
    for ((values, name), text) in values.iter_mut().zip(INPUTS).zip(inputs) {
        *values = expand(name, text)?;
    }
    let points = values.iter().map(Vec::len).product();
    if points > POINTS_MAX {
        return Err(Failure::wrong(format!("found {points} points, allowed are at most {POINTS_MAX}")));
    }
    let warnings = extrapolations(&chip.name, &chip.ranges, [&values[0], &values[1], &values[2]]);
    if let Some(path) = &arguments.plot {
        write_text(path, Others::of(arguments.force), &picture(&chip, &values, &warnings)?.render())?;
    }
    warnings.iter().for_each(|warning| tell(&format!("wane: {warning}")));
    // The law rises with each input.
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let most = chip.model.rber(most(&values[0]), most(&values[1]), most(&values[2]));
    if most > CORRECTABLE {
        tell(&format!(
            "wane: an RBER of {most:.1e} is a projection of the fit: codes correct up to some percent, and no wrong bits are more than half of all; {}",
            chip.source
        ));
    }
    let text = match (points, arguments.json) {
        (1, true) => point_json(&chip, &values)?,
        (1, false) => point(&chip, &values),
        (_, true) => table_json(&chip, &values)?,
        (_, false) => table(&chip, &values),
    };
    print(&text)?;
    if let Some(path) = &arguments.plot {
        tell(&path.display().to_string());
    }
    Ok(DONE)
}

/// RBER above which no code of a drive corrects (LDPC codes reach some percent).
const CORRECTABLE: f64 = 0.03;

/// A model, its name, source and the ranges of its data.
struct Chosen {
    name: String,
    source: String,
    model: RberModel,
    ranges: Ranges,
}

impl Chosen {
    fn of(arguments: &RberArguments) -> Result<Self, Failure> {
        let names: Vec<&str> = CHIPS.iter().map(|chip| chip.name).collect();
        match (&arguments.chip, &arguments.params) {
            (Some(name), _) => {
                let chip = CHIPS.iter().find(|chip| chip.name == name).ok_or_else(|| {
                    let (known, hint) = (names.join(", "), did_you_mean(name, &names));
                    Failure::wrong(format!("--chip: found \"{}\", allowed are {known}{hint}", excerpt(name)))
                })?;
                let (name, source) = (chip.name.to_owned(), chip.source.to_owned());
                Ok(Self { name, source, model: chip.model, ranges: chip.ranges })
            }
            (None, Some(path)) => {
                let preset = read_preset(path)?;
                let name = path.display().to_string();
                Ok(Self {
                    source: "fitted to measurements".to_owned(),
                    name,
                    model: preset.model,
                    ranges: preset.ranges,
                })
            }
            (None, None) => Err(Failure::wrong(format!(
                "--chip or --params: one is needed; --chip takes {}, --params a file that `wane rber fit` wrote",
                names.join(", ")
            ))),
        }
    }
}

fn read_preset(path: &Path) -> Result<Preset, Failure> {
    let (name, text) = read_text(path)?;
    Preset::parse(&name, &text).map_err(Failure::wrong)
}

/// Returns the values of a number, a list or a range `FIRST..LAST:STEP`, which includes the last value if the steps meet it.
fn expand(input: &str, text: &str) -> Result<Vec<f64>, Failure> {
    let wrong = |message: String| Failure::wrong(format!("--{input}: {message}"));
    let number = |part: &str| {
        let part = part.trim();
        let value: Option<f64> = part.parse().ok().filter(|value: &f64| (0.0..=INPUT_MAX).contains(value));
        value.ok_or_else(|| {
            wrong(format!(
                "found \"{}\", allowed are numbers from 0 to 1e15, lists such as 0,1000 and ranges such as 0..10000:500",
                excerpt(part)
            ))
        })
    };
    let mut values = Vec::new();
    for part in text.split(',') {
        let Some((first, rest)) = part.split_once("..") else {
            values.push(number(part)?);
            continue;
        };
        let usage = || wrong(format!("found \"{}\", a range is FIRST..LAST:STEP, such as 0..10000:500", excerpt(part)));
        let (last, step) = rest.split_once(':').ok_or_else(usage)?;
        let (first, last, step) = (number(first)?, number(last)?, number(step)?);
        if step <= 0.0 || last < first {
            return Err(usage());
        }
        // Steps like 0.1 are not exact; the last value must not be lost to that.
        let steps = ((last - first) / step + 1e-9).floor();
        if steps >= POINTS_MAX as f64 || values.len() >= POINTS_MAX {
            return Err(wrong(format!("\"{}\" is more than {POINTS_MAX} values", excerpt(part))));
        }
        values.extend((0..=steps as u64).map(|index| (first + index as f64 * step).min(last)));
    }
    if values.len() > POINTS_MAX {
        return Err(wrong(format!("found {} values, allowed are at most {POINTS_MAX}", values.len())));
    }
    Ok(values)
}

/// Iterates over every combination; reads change fastest.
fn combinations(values: &[Vec<f64>; 3]) -> impl Iterator<Item = [f64; 3]> + '_ {
    let [cycles, days, reads] = values;
    let outer = cycles.iter().flat_map(|cycles| days.iter().map(move |days| (*cycles, *days)));
    outer.flat_map(|(cycles, days)| reads.iter().map(move |reads| [cycles, days, *reads]))
}

fn point(chip: &Chosen, values: &[Vec<f64>; 3]) -> String {
    let [cycles, days, reads] = [values[0][0], values[1][0], values[2][0]];
    let terms = chip.model.terms(cycles, days, reads);
    let rber = terms.rber();
    let mut text = format!("{rber:.6}\n");
    if rber < 0.001 {
        text = format!("{rber:.5e}\n");
    }
    let one_in = if rber > 0.0 { format!(": one wrong bit in {:.0}", 1.0 / rber) } else { String::new() };
    let _ = writeln!(text, "  {} after {cycles} cycles, {days} days, {reads} reads{one_in}", chip.name);
    let sum = terms.floor + terms.wear + terms.retention + terms.disturb;
    if sum > 0.0 && sum.is_finite() {
        let percent = |term: f64| 100.0 * term / sum;
        let _ = writeln!(
            text,
            "  always there {:.1} %, wear {:.1} %, retention {:.1} %, read disturb {:.1} %",
            percent(terms.floor),
            percent(terms.wear),
            percent(terms.retention),
            percent(terms.disturb)
        );
    }
    text
}

fn point_json(chip: &Chosen, values: &[Vec<f64>; 3]) -> Result<String, Failure> {
    let [cycles, days, reads] = [values[0][0], values[1][0], values[2][0]];
    let rber = chip.model.rber(cycles, days, reads);
    let kind = if CHIPS.iter().any(|known| known.name == chip.name) { "chip" } else { "params" };
    pretty(&json!({ kind: chip.name, "cycles": cycles, "days": days, "reads": reads, "rber": rber }))
}

fn table(chip: &Chosen, values: &[Vec<f64>; 3]) -> String {
    let mut text = format!("{:>12} {:>12} {:>12} {:>12}\n", "cycles", "days", "reads", "rber");
    for [cycles, days, reads] in combinations(values) {
        let rber = chip.model.rber(cycles, days, reads);
        let [cycles, days, reads] = [cycles, days, reads].map(short);
        let _ = writeln!(text, "{cycles:>12} {days:>12} {reads:>12} {rber:>12.5e}");
    }
    text
}

/// Formats an input without the rounding errors of its range.
fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn table_json(chip: &Chosen, values: &[Vec<f64>; 3]) -> Result<String, Failure> {
    // One row a line, so that even a million rows are readable.
    let mut text = String::from("[\n");
    for (index, [cycles, days, reads]) in combinations(values).enumerate() {
        let rber = chip.model.rber(cycles, days, reads);
        let row = json!({ "cycles": cycles, "days": days, "reads": reads, "rber": rber });
        let comma = if index > 0 { ",\n" } else { "" };
        let _ = write!(text, "{comma}  {}", serde_json::to_string(&row).map_err(Failure::wrong)?);
    }
    text.push_str("\n]\n");
    Ok(text)
}

fn picture(chip: &Chosen, values: &[Vec<f64>; 3], warnings: &[String]) -> Result<RberPicture, Failure> {
    let distinct = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        sorted
    };
    // The first of those with the most values.
    let over = (0..3).rev().max_by_key(|input| distinct(&values[*input]).len()).unwrap_or(0);
    let along = distinct(&values[over]);
    if along.len() < 2 {
        let message = "--plot: found one value of each, a curve needs several of cycles, days or reads";
        return Err(Failure::wrong(message));
    }
    let others: Vec<usize> = (0..3).filter(|input| *input != over).collect();
    let (left, right) = (distinct(&values[others[0]]), distinct(&values[others[1]]));
    if left.len() * right.len() > CURVES_MAX {
        let (found, over) = (left.len() * right.len(), INPUTS[over]);
        return Err(Failure::wrong(format!(
            "--plot: found {found} curves over {over}, allowed are at most {CURVES_MAX}; give fewer {} or {}",
            INPUTS[others[0]], INPUTS[others[1]]
        )));
    }
    let named = |input: usize, value: f64| format!("{} {}", written(value), INPUTS[input]);
    let mut at = Vec::new();
    for (input, values) in others.iter().zip([&left, &right]) {
        if let [value] = values[..] {
            at.push(named(*input, value));
        }
    }
    let mut curves = Vec::new();
    for (first, second) in left.iter().flat_map(|first| right.iter().map(move |second| (*first, *second))) {
        let apart = [(others[0], first, left.len()), (others[1], second, right.len())];
        let label: Vec<String> =
            apart.iter().filter(|part| part.2 > 1).map(|(input, value, _)| named(*input, *value)).collect();
        let mut inputs = [0.0; 3];
        (inputs[others[0]], inputs[others[1]]) = (first, second);
        let points = along.iter().map(|value| {
            inputs[over] = *value;
            (*value, chip.model.rber(inputs[0], inputs[1], inputs[2]))
        });
        curves.push(RberCurve { label: label.join(", "), points: points.collect() });
    }
    Ok(RberPicture {
        name: chip.name.clone(),
        source: chip.source.clone(),
        parameters: RberModel::NAMES.into_iter().zip(chip.model.parameters()).collect(),
        ranges: [chip.ranges.cycles, chip.ranges.days, chip.ranges.reads],
        over: INPUTS[over],
        at: at.join(", "),
        curves,
        warnings: warnings.to_vec(),
    })
}

fn listed() -> String {
    let mut text = String::from(
        "RBER = epsilon + alpha c^k + beta c^m t^n + gamma c^p r^q; c in P/E cycles, t in days, r in reads\n",
    );
    for chip in CHIPS {
        let _ = writeln!(text, "\n{}  {}", chip.name, chip.summary);
        let parameters = RberModel::NAMES.iter().zip(chip.model.parameters());
        let told: Vec<String> = parameters.map(|(name, value)| format!("{name} {}", parameter(value))).collect();
        let _ = writeln!(text, "  {}\n  {}", told[..4].join("  "), told[4..].join("  "));
        let range = |(least, most): (f64, f64)| format!("{least} to {most}");
        let Ranges { cycles, days, reads } = chip.ranges;
        let _ = writeln!(text, "  cycles {}, days {}, reads {}", range(cycles), range(days), range(reads));
        let _ = writeln!(text, "  {}", chip.source);
    }
    text
}

fn listed_json() -> Result<String, Failure> {
    let chips = CHIPS.iter().map(|chip| {
        let parameters = RberModel::NAMES.iter().zip(chip.model.parameters());
        let parameters: Map<String, Value> =
            parameters.map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        json!({
            "name": chip.name,
            "summary": chip.summary,
            "source": chip.source,
            "parameters": parameters,
            "data": { "cycles": chip.ranges.cycles, "days": chip.ranges.days, "reads": chip.ranges.reads },
        })
    });
    pretty(&Value::Array(chips.collect()))
}
