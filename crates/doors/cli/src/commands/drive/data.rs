//! `wane drive read`, `write`, `trim` and `power-cut`: access to a drive's data, and power cuts.

use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::Path;

use serde_json::json;
use wane_blockdev::{BlockDevice, IoError, Request, SectorRange, Status};
use wane_ftl::Fate;
use wane_lab::held::Act;
use wane_lab::kept::{Kept, KeptError, check_whole};
use wane_sim::Streams;
use wane_units::{Bytes, Lba, Sectors, excerpt_path};

use super::{UNDURABLE, answer, open_late};
use crate::args::drive::{PowerCutArguments, ReadArguments, TrimArguments, WriteArguments};
use crate::output::{Failure, Others, check_writable, line, print, print_json, tell, unwritable, write_file};
use crate::{DIFFERS, DONE};

/// Formats a size or place in a unit of which it is a whole number, so that the text can be given as an option.
pub(crate) fn exact(bytes: u64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} B"),
    }
}

/// Bytes of one request.
const REQUEST: u64 = 1 << 20;

/// Most failed ranges that are listed.
const TOLD: usize = 8;

/// Opens a drive, or an array, to read and write it. A drive of an array belongs to that.
fn opened(path: &Path) -> Result<Kept, Failure> {
    check_whole(path, "read and written")?;
    open_late(path)
}

/// Opens a drive with fixed addresses, one whose capacity does not shrink.
pub(super) fn addressed(path: &Path) -> Result<Kept, Failure> {
    let kept = open_late(path)?;
    if !kept.is_array() && kept.drive().capacity_policy().may_shrink() {
        return Err(Failure::wrong(format!("{}: {}", excerpt_path(path), KeptError::Shrinking)));
    }
    Ok(kept)
}

/// Checks that a range of bytes lies on the drive and is a whole number of parts. `part` is a part's size in bytes, `parts` its name in
/// messages.
pub(super) fn check_range(
    kept: &Kept,
    at: Bytes,
    length: Bytes,
    (part, parts): (u64, &str),
) -> Result<Range<u64>, Failure> {
    // A drive of an array is as large as it is.
    let sectors = if kept.focus().is_some() { kept.drive().capacity() } else { kept.device().capacity() };
    let capacity = sectors.0 * Sectors::SIZE.0;
    for (name, bytes) in [("--at", at), ("length", length)] {
        if !bytes.0.is_multiple_of(part) {
            return Err(Failure::wrong(format!(
                "{name} {bytes}: is no multiple of the drive's {parts} of {}",
                Bytes(part)
            )));
        }
    }
    match at.0.checked_add(length.0) {
        Some(end) if end <= capacity => Ok(at.0..end),
        _ if at.0 > capacity => {
            Err(Failure::wrong(format!("--at {at}: lies beyond the {} that the drive exports", Bytes(capacity))))
        }
        _ => Err(Failure::wrong(format!(
            "{length} from {at} on end beyond the {} that the drive exports",
            Bytes(capacity)
        ))),
    }
}

/// Returns the sectors of a range of bytes.
fn sectors(kept: &Kept, at: Bytes, length: Bytes) -> Result<SectorRange, Failure> {
    let sector = kept.device().features().sector.0 * Sectors::SIZE.0;
    let range = check_range(kept, at, length, (sector, "sectors"))?;
    Ok(SectorRange::between(Lba(range.start / 512), Lba(range.end / 512)))
}

/// Cuts a range into requests.
fn pieces(range: SectorRange) -> impl Iterator<Item = SectorRange> {
    let end = range.start.0 + range.count.0;
    let each = REQUEST / 512;
    debug_assert!(each.is_multiple_of(8), "a request is of whole sectors, of 512 B or 4 KiB");
    (range.start.0..end)
        .step_by(each as usize)
        .map(move |start| SectorRange::between(Lba(start), Lba(end.min(start + each))))
}

/// Lists the failed ranges, with a line for each of the first few, and says why. `unit` is the drive's mapping unit in bytes.
fn failures(status: &Status, what: &str, unit: u32) -> String {
    let (mut text, failed) = (String::new(), status.failed());
    for range in failed.iter().take(TOLD) {
        line(&mut text, what, &format!("{} from {} on", exact(range.len_bytes() as u64), exact(range.start.0 * 512)));
    }
    if failed.len() > TOLD {
        line(&mut text, "", &format!("and in {} more places", failed.len() - TOLD));
    }
    let why = match status {
        Status::NoSpace(_) => "the drive is full, until data are trimmed or it is given capacity back",
        Status::ReadOnly(_) => "the drive is dead: it reads on, and takes no writes any more",
        Status::Gone(_) => "the drive has no power",
        Status::MediumError(_) if what != UNREAD => {
            let whole = format!(
                "the rest of a mapping unit cannot be read, so no part of it can be changed; whole units of {} can",
                exact(unit.into())
            );
            line(&mut text, "cause", &whole);
            return text;
        }
        _ => return text,
    };
    line(&mut text, "cause", why);
    text
}

/// What is said of bytes that could not be read.
const UNREAD: &str = "medium error";

/// How a request ended, in a word.
pub(super) const fn ended(status: &Status) -> &'static str {
    match status {
        Status::Done => "done",
        Status::MediumError(_) => "medium-error",
        Status::NoSpace(_) => "no-space",
        Status::ReadOnly(_) => "read-only",
        Status::Gone(_) => "gone",
        Status::OutOfRange | Status::Unsupported(_) => "refused",
    }
}

fn print_facts(drive: &Path, did: &str, range: SectorRange, status: &Status) -> Result<(), Failure> {
    let ranges: Vec<_> = status
        .failed()
        .iter()
        .map(|range| json!({ "offset": range.start.0 * 512, "bytes": range.len_bytes() }))
        .collect();
    let facts = json!({
        "drive": drive.display().to_string(), "did": did, "offset": range.start.0 * 512, "bytes": range.len_bytes(), "status": ended(status),
        "failed": ranges,
    });
    print_json(&facts)
}

pub(super) fn write(arguments: &WriteArguments) -> Result<i32, Failure> {
    let WriteArguments { drive, file, at, json } = arguments;
    let unreadable = |error: std::io::Error| Failure::wrong(format!("{}: cannot be read: {error}", excerpt_path(file)));
    // Checked before opening, since opening a pipe would wait.
    if !std::fs::metadata(file).map_err(unreadable)?.is_file() {
        return Err(Failure::wrong(format!("{}: only a plain file's bytes can be written", excerpt_path(file))));
    }
    let mut from = File::open(file).map_err(unreadable)?;
    let length = from.metadata().map_err(unreadable)?.len();
    let mut kept = opened(drive)?;
    let sector = kept.device().features().sector.0 * Sectors::SIZE.0;
    let range = sectors(&kept, *at, Bytes(length.next_multiple_of(sector)))?;
    kept.act(&Act::KeepBytes)?;
    let mut status = Status::Done;
    let mut left = length;
    for mut piece in pieces(range) {
        let held = left.min(piece.len_bytes() as u64);
        left -= held;
        let mut bytes = vec![0; held as usize];
        from.read_exact(&mut bytes).map_err(unreadable)?;
        let mut unread = Status::Done;
        if bytes.len() < piece.len_bytes()
            && let Err(last) = fill_up(&mut kept, piece, sector, &mut bytes)
        {
            // The bytes before the unreadable sector are still written.
            unread = Status::MediumError(vec![last]);
            piece = SectorRange::between(piece.start, last.start);
        }
        if let Err(error) = kept.perform(Request::write(piece, bytes)) {
            status = status.join(error.status);
        }
        status = status.join(unread);
    }
    let failed = status.failed();
    kept.act(&Act::Flush)?;
    let name = excerpt_path(file);
    kept.keep(done("written", &format!("{} of {name}", exact(length)), *at, range, failed))?;
    if *json {
        print_facts(drive, "write", range, &status)?;
    } else {
        answer(false, &kept, drive, &done("written", &exact(length), *at, range, failed))?;
        print(&failures(&status, "not written", kept.unit_bytes()))?;
    }
    Ok(if failed.is_empty() { DONE } else { DIFFERS })
}

/// Says what became of a request, for the answer and for the drive's history: "4 KiB trimmed from 1 MiB on", and how much failed.
fn done(did: &str, what: &str, at: Bytes, range: SectorRange, failed: &[SectorRange]) -> String {
    let place = exact(at.0);
    match failed.iter().map(|range| range.count.0).sum() {
        0 => format!("{what} {did} from {place} on"),
        sectors if sectors >= range.count.0 => format!("nothing of {what} {did} from {place} on"),
        sectors => format!("{what} {did} from {place} on, but for {}", exact(sectors * Sectors::SIZE.0)),
    }
}

/// Fills up the last sector of a file that ends within it with the bytes that the drive holds there. If these cannot be read, drops the
/// file's bytes of this sector, and returns the sector as the error.
fn fill_up(kept: &mut Kept, piece: SectorRange, sector: u64, bytes: &mut Vec<u8>) -> Result<(), SectorRange> {
    let end = piece.start.0 + piece.count.0;
    let last = SectorRange::between(Lba(end - sector / 512), Lba(end));
    let within = bytes.len() % sector as usize;
    match kept.perform(Request::read(last)) {
        Ok(read) => match read.bytes {
            Some(held) => bytes.extend_from_slice(&held[within..]),
            None => bytes.resize(piece.len_bytes(), 0),
        },
        Err(_) => {
            bytes.truncate(bytes.len() - within);
            return Err(last);
        }
    }
    Ok(())
}

/// Refuses a file in a drive's folder.
pub(super) fn check_no_drives(out: &Path) -> Result<(), Failure> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.join("drive.json").exists() && folder.join("lock").exists() {
        let sentence = "lies in a drive's folder, into which only wane writes";
        return Err(Failure::wrong(format!("{}: {sentence}", excerpt_path(out))));
    }
    Ok(())
}

pub(super) fn read(arguments: &ReadArguments) -> Result<i32, Failure> {
    let ReadArguments { drive, out, at, length, force, json } = arguments;
    check_no_drives(out)?;
    check_writable(out, Others::of_bytes(*force))?;
    let mut kept = opened(drive)?;
    let length = length.unwrap_or_else(|| Bytes((kept.device().capacity().0 * Sectors::SIZE.0).saturating_sub(at.0)));
    let range = sectors(&kept, *at, length)?;
    let mut status = Status::Done;
    write_file(out, Others::of_bytes(*force), |to: &mut dyn Write| {
        for piece in pieces(range) {
            let read = kept.perform(Request::read(piece));
            kept.check_bytes()?;
            let bytes = match read {
                Ok(completion) => completion.bytes,
                Err(IoError { status: of_piece, bytes, .. }) => {
                    status = std::mem::replace(&mut status, Status::Done).join(of_piece);
                    bytes
                }
            };
            to.write_all(&bytes.unwrap_or_else(|| vec![0; piece.len_bytes()]))
                .map_err(|error| unwritable(out, &error))?;
        }
        Ok(())
    })?;
    // Saved, since reads are counted and disturb the data. The bytes are out, whether or not the drive can note that.
    let (length, place) = (exact(length.0), exact(at.0));
    if let Err(error) = kept.keep(format!("{length} read from {place} on")) {
        tell(&format!("warning: the drive does not count these reads: {error}"));
    }
    if *json {
        print_facts(drive, "read", range, &status)?;
    } else {
        print(&format!(
            "{}: {length} read from {place} on into {}\n{}",
            excerpt_path(drive),
            excerpt_path(out),
            failures(
                &status,
                if matches!(status, Status::MediumError(_)) { UNREAD } else { "not read" },
                kept.unit_bytes()
            )
        ))?;
        super::warn(&kept);
    }
    Ok(if status.is_done() { DONE } else { DIFFERS })
}

pub(super) fn trim(arguments: &TrimArguments) -> Result<i32, Failure> {
    let TrimArguments { drive, at, length, json } = arguments;
    let mut kept = opened(drive)?;
    let range = sectors(&kept, *at, *length)?;
    let trimmed = kept.perform(Request::trim(range));
    let status = trimmed.err().map_or(Status::Done, |error| error.status);
    let failed = status.failed();
    let is_durable = kept.act(&Act::Flush)?.is_durable;
    let told = done("trimmed", &exact(length.0), *at, range, failed);
    kept.keep(told.clone())?;
    if *json {
        print_facts(drive, "trim", range, &status)?;
    } else {
        answer(false, &kept, drive, &told)?;
        print(&failures(&status, "not trimmed", kept.unit_bytes()))?;
    }
    if !is_durable {
        tell(&format!("warning: {UNDURABLE}"));
    }
    Ok(if failed.is_empty() && is_durable { DONE } else { DIFFERS })
}

/// What is said of a drive that was dead before a power cut.
const REVIVED: &str =
    "lost its power, and came back; it forgot that it was dead, and takes writes until it finds no space again";

pub(super) fn power_cut(arguments: &PowerCutArguments) -> Result<i32, Failure> {
    check_whole(&arguments.drive, "cut off from power")?;
    let mut kept = open_late(&arguments.drive)?;
    let mut stream = Streams::new(arguments.seed).stream("power-cut");
    let fate = || [Fate::Done, Fate::Torn, Fate::Undone][stream.below(3) as usize];
    let was_dead = kept.cause().is_some();
    let at = |error| KeptError::At(excerpt_path(&arguments.drive), Box::new(error));
    let out = &arguments.take_out[..];
    kept.check_out(out).map_err(at)?;
    let (report, took) = kept.cut_power(out, fate)?;
    if kept.is_array() {
        // What its members came back with has to be known durably before one of them may be lost.
        kept.act(&Act::Flush)?;
    }
    let revived = was_dead && kept.cause().is_none();
    let told = match out {
        [] if revived => REVIVED.to_owned(),
        [] => "lost its power, and came back".to_owned(),
        [one] => format!("lost its power and drive {one} in one instant, and came back"),
        _ => {
            let out: Vec<String> = out.iter().map(u32::to_string).collect();
            format!("lost its power and drives {} in one instant, and came back", out.join(", "))
        }
    };
    kept.keep(told.clone())?;
    let seconds = took.map(|took| took.0 as f64 / 1e9);
    if arguments.json {
        let mut facts = json!({
            "drive": arguments.drive.display().to_string(), "seconds": seconds, "takes_writes_again": revived,
            "taken_out": out,
        });
        if let Some(report) = report {
            let recovered = json!({
                "summary_pages_read": report.summary_pages_read,
                "journal_pages_read": report.journal_pages_read,
                "data_pages_read": report.data_pages_read,
                "pages_unreadable": report.pages_unreadable,
                "blocks_searched": report.blocks_searched,
                "blocks_resumed": report.blocks_resumed,
                "blocks_erased": report.blocks_erased,
                "units_mapped": report.units_mapped,
                "units_rewritten": report.units_rewritten,
                "stripes_closed": report.stripes_closed,
                "pages_rebuilt": report.pages_rebuilt,
            });
            recovered.as_object().into_iter().flatten().for_each(|(name, value)| facts[name] = value.clone());
        }
        print_json(&facts)?;
        return Ok(DONE);
    }
    answer(false, &kept, &arguments.drive, &told)?;
    let mut text = String::new();
    if let Some(report) = report {
        let pages = format!(
            "{} pages of summaries, {} of the journal, {} of data; {} unreadable",
            report.summary_pages_read, report.journal_pages_read, report.data_pages_read, report.pages_unreadable
        );
        line(&mut text, "recovery read", &pages);
        let found = format!("{} units mapped, {} of them in buffers", report.units_mapped, report.units_rewritten);
        line(&mut text, "found", &found);
    }
    if let Some(seconds) = seconds {
        line(&mut text, "time", &format!("{seconds:.3} s"));
    }
    print(&text)?;
    Ok(DONE)
}
