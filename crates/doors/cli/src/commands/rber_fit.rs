//! `wane rber fit`: fits the model to a user's measurements.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use wane_calibrate::{Data, Determined, Fit, Parameter, fit as fit_model};
use wane_units::excerpt_path;

use crate::DONE;
use crate::args::FitArguments;
use crate::output::{Failure, Others, check_writable, pretty, print, tell, write_text};

pub(crate) fn fit(arguments: &FitArguments) -> Result<i32, Failure> {
    let others = Others::of(arguments.force);
    arguments.out.as_deref().map(|path| check_writable(path, others)).transpose()?;
    let data = read(&arguments.data)?;
    let fit = fit_model(&data, arguments.seed).map_err(Failure::wrong)?;
    if let Some(path) = &arguments.out {
        write_text(path, others, &preset(&data, &fit))?;
    }
    print(&if arguments.json { told_json(&data, &fit)? } else { told(&data, &fit) })?;
    if let Some(path) = &arguments.out {
        tell(&path.display().to_string());
    }
    Ok(DONE)
}

fn read(path: &Path) -> Result<Data, Failure> {
    if path == Path::new("-") {
        return Data::read("stdin", io::stdin().lock()).map_err(Failure::wrong);
    }
    let name = path.display().to_string();
    let unreadable = |error: io::Error| Failure::wrong(format!("{}: cannot be read: {error}", excerpt_path(path)));
    let file = File::open(path).map_err(unreadable)?;
    Data::read(&name, file).map_err(Failure::wrong)
}

/// Returns the preset, with a comment on where it comes from.
fn preset(data: &Data, fit: &Fit) -> String {
    // A file's name may hold anything; a comment ends with its line.
    let name: String = data.name().chars().filter(|character| !character.is_control()).collect();
    format!(
        "# RBER = epsilon + alpha c^k + beta c^m t^n + gamma c^p r^q; c in P/E cycles, t in days, r in reads.\n\
         # Fitted to {name}: {} rows, R2 {:.4}, RMS of ln RBER {:.4}, seed {}.\n{}",
        fit.rows,
        fit.r2,
        fit.rms,
        fit.seed,
        fit.preset.to_toml()
    )
}

fn told(data: &Data, fit: &Fit) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}: {} rows, {} parameters fitted, seed {}", data.name(), fit.rows, fit.freedom, fit.seed);
    let _ = writeln!(text, "  R2 of ln RBER            {:.4}", fit.r2);
    let _ = writeln!(text, "  RMS of ln residuals      {:.4}", fit.rms);
    let (sample, fitted) = (&fit.worst.sample, fit.worst.fitted);
    let _ = writeln!(
        text,
        "  largest deviation        {:+.1} %, line {}: {} cycles, {} days, {} reads; measured {:.4e}, fitted {fitted:.4e}",
        100.0 * (sample.rber / fitted - 1.0),
        sample.line,
        sample.cycles,
        sample.days,
        sample.reads,
        sample.rber,
    );
    if fit.outliers > 0 {
        let rows = if fit.outliers == 1 { "row lies" } else { "rows lie" };
        let _ = writeln!(text, "  {} {rows} beyond five standard deviations and counts little", fit.outliers);
    }
    text.push_str("\nparameter  value        95 % interval\n");
    for parameter in &fit.parameters {
        let _ = writeln!(text, "{:<10} {:<12} {}", parameter.name, number(parameter), interval(parameter));
    }
    let _ = write!(text, "\n{}", preset(data, fit));
    text
}

fn number(parameter: &Parameter) -> String {
    shown(parameter.value, is_scale(parameter))
}

/// Whether a parameter is a scale. Scales span decades, exponents do not.
fn is_scale(parameter: &Parameter) -> bool {
    matches!(parameter.name, "epsilon" | "alpha" | "beta" | "gamma")
}

fn shown(value: f64, is_scale: bool) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if is_scale {
        format!("{value:.4e}")
    } else {
        format!("{value:.4}")
    }
}

fn interval(parameter: &Parameter) -> String {
    let is_scale = is_scale(parameter);
    if let Determined::Within(low, high) = parameter.determined {
        debug_assert!(
            low <= parameter.value && parameter.value <= high,
            "{}: a value lies in its interval",
            parameter.name
        );
    }
    match parameter.determined {
        Determined::Within(low, high) => format!("{} to {}", shown(low, is_scale), shown(high, is_scale)),
        Determined::AtBound => "none: at an end of its range, 0 to 6".to_owned(),
        Determined::No(reason) => format!("not identifiable: {reason}"),
    }
}

fn told_json(data: &Data, fit: &Fit) -> Result<String, Failure> {
    let parameter = |parameter: &Parameter| {
        let (identifiable, low, high, reason) = match parameter.determined {
            Determined::Within(low, high) => (true, Some(low), Some(high), None),
            Determined::AtBound => (true, None, None, Some("at an end of its range, 0 to 6")),
            Determined::No(reason) => (false, None, None, Some(reason)),
        };
        json!({
            "name": parameter.name,
            "value": parameter.value,
            "identifiable": identifiable,
            "low": low,
            "high": high,
            "reason": reason,
        })
    };
    let sample = &fit.worst.sample;
    let parameters: Vec<Value> = fit.parameters.iter().map(parameter).collect();
    pretty(&json!({
        "data": data.name(),
        "rows": fit.rows,
        "parameters_fitted": fit.freedom,
        "seed": fit.seed,
        "r2_ln": fit.r2,
        "rms_ln": fit.rms,
        "outliers": fit.outliers,
        "largest_deviation": {
            "line": sample.line,
            "cycles": sample.cycles,
            "days": sample.days,
            "reads": sample.reads,
            "measured": sample.rber,
            "fitted": fit.worst.fitted,
        },
        "parameters": parameters,
        "preset": preset(data, fit),
    }))
}
