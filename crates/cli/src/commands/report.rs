//! `wane report`: a page of one or more results.

use std::path::Path;

use wane_lab::report::{differences, render};
use wane_lab::results::{Folder, RunResult};

use crate::DONE;
use crate::args::ReportArguments;
use crate::output::{Failure, print, write_file};

pub(crate) fn report(arguments: &ReportArguments) -> Result<i32, Failure> {
    let mut results = Vec::new();
    for folder in &arguments.results {
        results.append(&mut read(folder)?);
    }
    let page = render(&results);
    write_file(&arguments.out, |file| {
        file.write_all(page.as_bytes()).map_err(|error| Failure::wrong(format!("{}: {error}", arguments.out.display())))
    })?;
    let table = if results.len() > 1 { differences(&results) } else { String::new() };
    print(&format!("{table}{}\n", arguments.out.display()))?;
    Ok(DONE)
}

/// The result in a folder, or those in its folders: a sweep, several seeds or a demo.
fn read(folder: &Path) -> Result<Vec<RunResult>, Failure> {
    let wrong = match Folder::read(folder) {
        Ok(result) => return Ok(vec![result]),
        Err(error) => Failure::wrong(error),
    };
    if let Ok(grid) = std::fs::read_to_string(folder.join("grid.csv")) {
        // An earlier, larger sweep may have left more cells than this one has.
        let cells = (0..grid.lines().count().saturating_sub(1)).map(|number| folder.join(number.to_string()));
        let present = cells.filter(|cell| cell.join("summary.json").is_file());
        return present.map(|cell| Folder::read(&cell).map_err(Failure::wrong)).collect();
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return Err(wrong) };
    let mut inner: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.join("summary.json").is_file()).collect();
    inner.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    if inner.is_empty() {
        return Err(wrong);
    }
    inner.iter().map(|path| Folder::read(path).map_err(Failure::wrong)).collect()
}
