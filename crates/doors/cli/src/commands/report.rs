//! `wane report`: makes a page of one or more results, and its pictures as files for a paper.

use std::path::{Path, PathBuf};

use wane_report::{FigureFile, Format, differences, figure_files, render, repeated};
use wane_results::read_runs;
use wane_units::excerpt_path;

use crate::DONE;
use crate::args::{FigureFormat, ReportArguments};
use crate::output::{Failure, Others, check_writable, print, tell, unwritable, write_file, write_text};

/// Ends of pictures' names, by width.
const ACROSS: &str = "-178mm.";
const COLUMN: &str = "-85mm.";

pub(crate) fn report(arguments: &ReportArguments) -> Result<i32, Failure> {
    let others = Others::of(arguments.force);
    check_writable(&arguments.out, others)?;
    if let Some(figures) = &arguments.figures {
        let same = |folder: &&PathBuf| {
            let (folder, figures) = (folder.canonicalize(), figures.canonicalize());
            folder.is_ok_and(|folder| figures.is_ok_and(|figures| figures == folder))
        };
        if arguments.results.iter().any(|folder| same(&folder)) {
            let told = excerpt_path(figures);
            return Err(Failure::wrong(format!(
                "--figures {told}: holds results, and only its run may write into a folder of results; name another folder"
            )));
        }
    }
    let mut results = Vec::new();
    for folder in &arguments.results {
        results.append(&mut read_runs(folder).map_err(Failure::wrong)?);
    }
    let twice = match repeated(&results) {
        0 => None,
        1 => Some("one result is given twice, of the same scenario and seed, and counts once".to_owned()),
        several => Some(format!("{several} results are given twice, of the same scenario and seed, and count once")),
    };
    if let Some(twice) = twice {
        tell(&format!("wane: {twice}"));
    }
    let page = render(&results);
    let mut told = String::new();
    if let Some(folder) = &arguments.figures {
        let format = match arguments.format {
            FigureFormat::Svg => Format::Svg,
            FigureFormat::Pdf => Format::Pdf,
            FigureFormat::Png => Format::Png,
        };
        let files = figure_files(&results, format);
        write_figures(folder, &files, others)?;
        told = format!("{}: {} files{}\n", folder.display(), files.len(), beside(folder, &files));
    }
    write_text(&arguments.out, others, &page)?;
    let table = match &results[..] {
        [only] => super::array::answers(&only.summary),
        several => differences(several),
    };
    print(&format!("{table}{told}{}\n", arguments.out.display()))?;
    Ok(DONE)
}

/// Ends a sentence with the number of pictures that have only the page's width, and of files in the folder that belong to other pictures.
fn beside(folder: &Path, files: &[FigureFile]) -> String {
    let is_there = |name: &str| files.iter().any(|file| file.name == name);
    let alone = |file: &&FigureFile| file.name.contains(ACROSS) && !is_there(&file.name.replace(ACROSS, COLUMN));
    let across = match files.iter().filter(alone).count() {
        0 => String::new(),
        1 => "; 1 picture has only the page's width, as it has many panels".to_owned(),
        several => format!("; {several} pictures have only the page's width, as they have many panels"),
    };
    let is_picture =
        |name: &str| [".svg", ".pdf", ".png", ".csv"].iter().any(|end| name.ends_with(end)) && !is_there(name);
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let others = entries.filter(|entry| is_picture(&entry.file_name().to_string_lossy())).count();
    let others =
        if others > 0 { format!("; {others} more files there are not of these results") } else { String::new() };
    across + &others
}

/// Writes all files, or none if one of them may not be written.
fn write_figures(folder: &Path, files: &[FigureFile], others: Others) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let places: Vec<(PathBuf, &FigureFile)> = files.iter().map(|file| (folder.join(&file.name), file)).collect();
    let names: std::collections::BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names.len(), files.len(), "no picture is written over another");
    for (path, file) in &places {
        check_writable(path, others_of(path, file, others))?;
    }
    for (path, file) in &places {
        write_file(path, others_of(path, file, others), |out| {
            out.write_all(&file.bytes).map_err(|error| unwritable(path, &error))
        })?;
    }
    Ok(())
}

/// Whether a file may be overwritten. A table has no room for a mark, so it counts as wane's if its first columns have the same names.
fn others_of(path: &Path, file: &FigureFile, others: Others) -> Others {
    let first = |bytes: &[u8]| bytes.split(|byte| matches!(byte, b',' | b'\n')).next().map(<[u8]>::to_vec);
    // Charts of several panels have an additional column before that of the series.
    let kind = |bytes: &[u8]| first(bytes).map(|name| if name == b"panel" { b"series".to_vec() } else { name });
    let same = || std::fs::read(path).is_ok_and(|found| kind(&found) == kind(&file.bytes));
    if file.name.ends_with(".csv") && same() { Others::Overwritten } else { others }
}
