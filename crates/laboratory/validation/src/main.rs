//! `validate`: runs the parts and writes, checks or prints the page.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use wane_validation::{Extent, Part, Row, page, parts, run, table};

/// Compares the engine with independent code, closed forms and golden values.
#[derive(Parser)]
struct Arguments {
    /// Parts to run; by default all. Their tables go to stdout.
    parts: Vec<String>,
    /// Run only a few cells of each part.
    #[arg(long)]
    quick: bool,
    /// Write the page, with every cell of every part, to this file.
    #[arg(long, conflicts_with_all = ["parts", "quick"])]
    write: Option<PathBuf>,
    /// Check that this file is the page that would be written.
    #[arg(long, conflicts_with_all = ["parts", "quick", "write"])]
    check: Option<PathBuf>,
}

fn main() -> ExitCode {
    match validate(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("validate: {message}");
            ExitCode::from(2)
        }
    }
}

/// Whether everything agrees, or the page is current.
fn validate(arguments: &Arguments) -> Result<bool, String> {
    let parts = parts();
    let known: Vec<&str> = parts.iter().map(|part| part.id).collect();
    for name in &arguments.parts {
        if !known.contains(&name.as_str()) {
            return Err(format!("found the part \"{name}\", allowed are {}", known.join(", ")));
        }
    }
    let wanted = |part: &&Part| arguments.parts.is_empty() || arguments.parts.iter().any(|name| name == part.id);
    let extent = if arguments.quick { Extent::Quick } else { Extent::Full };
    let mut found: Vec<(&Part, Vec<Row>)> = Vec::new();
    for part in parts.iter().filter(wanted) {
        let rows = run(part, extent);
        let agreeing = rows.iter().filter(|row| row.agrees()).count();
        eprintln!("validate: {}: {agreeing} of {} figures agree", part.id, rows.len());
        found.push((part, rows));
    }
    let agrees = found.iter().flat_map(|(_, rows)| rows).all(Row::agrees);
    if let Some(file) = &arguments.write {
        std::fs::write(file, page(&found)).map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
        return Ok(agrees);
    }
    if let Some(file) = &arguments.check {
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
        return Ok(is_current(&file.display().to_string(), &text, &page(&found)));
    }
    for (part, rows) in &found {
        println!("{}\n\n{}", part.title, table(rows));
    }
    Ok(agrees)
}

/// Prints the first line in which the page and a run differ.
fn is_current(name: &str, text: &str, made: &str) -> bool {
    let mut lines = text.lines().zip(made.lines()).zip(1..);
    if let Some(((found, made), number)) = lines.find(|((found, made), _)| found != made) {
        eprintln!("validate: {name}, line {number}, is stale: the page says\n  {found}\nand this run\n  {made}");
    } else if text != made {
        eprintln!(
            "validate: {name} is stale: it has {} lines, this run {}",
            text.lines().count(),
            made.lines().count()
        );
    }
    text == made
}
