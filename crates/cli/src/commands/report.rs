//! `wane report`: a page of one or more results.

use wane_report::{differences, render};
use wane_results::read_runs;

use crate::DONE;
use crate::args::ReportArguments;
use crate::output::{Failure, Others, check_writable, print, write_text};

pub(crate) fn report(arguments: &ReportArguments) -> Result<i32, Failure> {
    let others = Others::of(arguments.force);
    check_writable(&arguments.out, others)?;
    let mut results = Vec::new();
    for folder in &arguments.results {
        results.append(&mut read_runs(folder).map_err(Failure::wrong)?);
    }
    let page = render(&results);
    write_text(&arguments.out, others, &page)?;
    let table = if results.len() > 1 { differences(&results) } else { String::new() };
    print(&format!("{table}{}\n", arguments.out.display()))?;
    Ok(DONE)
}
