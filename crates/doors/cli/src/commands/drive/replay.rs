//! `wane drive replay`: what was done to a drive since it was saved, once more.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use serde_json::json;
use wane_blockdev::{Completion, Kind, SectorRange};
use wane_lab::kept::{Kept, Seen};
use wane_units::{SimTime, excerpt_path};

use super::data::{check_no_drives, ended};
use super::show;
use crate::DONE;
use crate::args::drive::ReplayArguments;
use crate::output::{Failure, Others, check_writable, line, print, print_json, unwritable, write_file};

/// What a replay did.
#[derive(Default)]
struct Told {
    /// Requests under way.
    open: BTreeMap<u64, (SimTime, Kind, SectorRange)>,
    requests: u64,
    failed: u64,
    others: u64,
    rows: String,
}

const HEAD: &str = "request,kind,offset,bytes,submitted_ns,modelled_ns,latency_ns,status\n";

impl Told {
    fn see(&mut self, seen: Seen, to: Option<&mut dyn Write>) -> std::io::Result<()> {
        match seen {
            Seen::Submitted { id, at, kind, range } => {
                self.open.insert(id.0, (at, kind, range));
            }
            Seen::Completed(Completion { id, at, status, .. }) => {
                let Some((submitted, kind, range)) = self.open.remove(&id.0) else { return Ok(()) };
                self.requests += 1;
                self.failed += u64::from(!status.is_done());
                if let Some(to) = to {
                    self.rows.clear();
                    let (offset, bytes) = (range.start.0 * 512, range.len_bytes());
                    let latency = at.0 - submitted.0;
                    // As the server's log has it.
                    let (number, status) = (id.0 + 1, if status.is_done() { "ok" } else { ended(&status) });
                    let row = &mut self.rows;
                    writeln!(row, "{number},{kind},{offset},{bytes},{},{},{latency},{status}", submitted.0, at.0)
                        .expect("a string takes all");
                    to.write_all(row.as_bytes())?;
                }
            }
            Seen::Done { .. } => self.others += 1,
        }
        Ok(())
    }
}

pub(super) fn replay(arguments: &ReplayArguments) -> Result<i32, Failure> {
    let ReplayArguments { drive, until, log, to, force, json } = arguments;
    let until = until.map(|until| SimTime(until.0));
    let mut told = Told::default();
    let (mut kept, begin) = match log {
        None => Kept::replay(drive, until, &mut |seen| drop(told.see(seen, None)))?,
        Some(log) => {
            check_no_drives(log)?;
            check_writable(log, Others::of_bytes(*force))?;
            let mut kept = None;
            write_file(log, Others::of_bytes(*force), |to: &mut dyn Write| {
                let mut written = to.write_all(HEAD.as_bytes());
                kept = Some(Kept::replay(drive, until, &mut |seen| {
                    if written.is_ok() {
                        written = told.see(seen, Some(to));
                    }
                })?);
                written.map_err(|error| unwritable(log, &error))
            })?;
            kept.expect("it was replayed")
        }
    };
    let (begin, seconds) = (begin.0 as f64 / 1e9, kept.device().now().0 as f64 / 1e9);
    if let Some(to) = to {
        kept.copy_to(to, format!("as {} was at {seconds:.6} s of its clock", excerpt_path(drive)))?;
    }
    let under_way = told.open.len();
    if *json {
        let mut facts = serde_json::to_value(show::facts(&kept, drive)).map_err(Failure::wrong)?;
        facts["replayed"] = json!({
            "records": kept.repeated(), "requests": told.requests, "failed": told.failed, "under_way": under_way,
            "others": told.others, "begin_s": begin, "now_s": seconds, "to": to,
        });
        print_json(&facts)?;
        return Ok(DONE);
    }
    let mut text = format!("{}: replayed from {begin:.6} s to {seconds:.6} s of its clock\n", excerpt_path(drive));
    let failed = if told.failed > 0 { format!(", of which {} failed", told.failed) } else { String::new() };
    let open = if under_way > 0 { format!("; {under_way} under way") } else { String::new() };
    line(&mut text, "requests", &format!("{}{failed}{open}", told.requests));
    line(
        &mut text,
        "besides",
        &format!("{} starts and ends of servers, commands, settings, faults and the like", told.others),
    );
    text += &show::short(&kept);
    for (what, path) in [("log", log), ("kept as", to)] {
        if let Some(path) = path {
            line(&mut text, what, &excerpt_path(path));
        }
    }
    print(&text)?;
    Ok(DONE)
}
