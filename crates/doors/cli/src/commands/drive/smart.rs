//! `wane drive smart`: a drive's health, in the form that tools print for real drives.

use std::fmt::Write as _;

use wane_smart::{HealthRecord, Identity, LogPage, smartctl, table};
use wane_units::excerpt_path;

use crate::DONE;
use crate::args::drive::SmartArguments;
use crate::output::{Failure, Others, check_writable, pretty, print, unwritable, write_file};

/// Columns of the names of a page's fields.
const FIELD_COLUMNS: usize = 48;

pub(super) fn smart(arguments: &SmartArguments) -> Result<i32, Failure> {
    let others = Others::of_bytes(arguments.force);
    if let Some(file) = &arguments.raw {
        super::data::check_no_drives(file)?;
        check_writable(file, others)?;
    }
    let kept = super::open_late(&arguments.drive)?;
    super::one(&kept, &arguments.drive, "asked for its health")?;
    let record = kept.drive().health_record();
    let scenario = kept.scenario_of_drive();
    // Each drive of an array has a serial number of its own.
    let label = kept.focus().map_or_else(|| kept.label().to_owned(), |place| format!("{}{place}", kept.label()));
    let identity = Identity::simulated(&scenario.name, &scenario.preset, scenario.seed, &label);
    let Some(id) = arguments.log else {
        print(&if arguments.json {
            let device = arguments.drive.display().to_string();
            let words = ["wane", "drive", "smart", &device, "--json"];
            pretty(&smartctl(&record, &identity, &device, &words))?
        } else {
            told(arguments, &record, &identity)
        })?;
        super::warn(&kept);
        return Ok(DONE);
    };
    let page = LogPage::of(id, &record);
    if let Some(file) = &arguments.raw {
        write_file(file, others, |out| out.write_all(&page.encode()).map_err(|error| unwritable(file, &error)))?;
    }
    let text = match &arguments.raw {
        _ if arguments.json => pretty(&page)?,
        Some(file) => {
            let (file, drive) = (excerpt_path(file), excerpt_path(&arguments.drive));
            format!("{file}: log page {} of {drive}, {} bytes\n", id.name(), wane_smart::PAGE_BYTES)
        }
        None => fields(&format!("Log page {}, {}", id.name(), id.title()), &page),
    };
    print(&text)?;
    super::warn(&kept);
    Ok(DONE)
}

/// Returns smartctl's table, below a line with the drive's names.
fn told(arguments: &SmartArguments, record: &HealthRecord, identity: &Identity) -> String {
    let drive = excerpt_path(&arguments.drive);
    format!("{drive}: {}, serial {}, day {:.1}\n\n{}", identity.model, identity.serial, record.day, table(record))
}

fn fields(title: &str, page: &LogPage) -> String {
    let mut text = format!("{title}\n");
    for (name, value) in page.fields() {
        let line = format!("{name:<FIELD_COLUMNS$} {value}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
