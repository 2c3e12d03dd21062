//! `wane drive retire`, `require`, `inject` and `check --data`: blocks that leave service, injected faults, and what became of data.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};
use wane_lab::held::Act;
use wane_lab::kept::{DataCheck, Injection, Kept, Retire};
use wane_ssd::Drive;
use wane_units::{Bytes, excerpt, excerpt_path};

use super::data::{addressed, check_range, exact};
use super::{answer, one, open, open_late, show};
use crate::args::drive::{CheckArguments, Fault, InjectArguments, RequireArguments, RetireArguments, Worn};
use crate::output::{Failure, line, print, print_json};
use crate::{DIFFERS, DONE};

/// Most ranges of bytes, and most blocks, that are listed in words.
const TOLD: usize = 4;
const BLOCKS_TOLD: usize = 8;

pub(super) fn retire(arguments: &RetireArguments) -> Result<i32, Failure> {
    let RetireArguments { drive, blocks, worn, block, json } = arguments;
    let mut kept = open_late(drive)?;
    one(&kept, drive, "made to retire blocks")?;
    if let Some(cause) = kept.cause() {
        let (path, cause) = (excerpt_path(drive), cause.name());
        return Err(Failure::wrong(format!("{path}: is dead ({cause}), and takes no block out of service any more")));
    }
    let which = match worn {
        _ if !block.is_empty() => Retire::Blocks(block.clone()),
        Worn::Most => Retire::MostWorn(*blocks),
        Worn::Least => Retire::LeastWorn(*blocks),
    };
    let wanted = if block.is_empty() { *blocks as usize } else { block.len() };
    let retired = kept.act(&Act::Retire(which))?.retired;
    let mut words = format!("retired {}", numbers(&retired));
    if retired.len() < wanted {
        words += &format!(", of {wanted} that were asked for");
    }
    if let Some(cause) = kept.cause() {
        words += &format!(", and died ({})", cause.name());
    }
    kept.keep(words.clone())?;
    if *json {
        let mut facts = serde_json::to_value(show::facts(&kept, drive)).map_err(Failure::wrong)?;
        let list: Vec<Value> =
            retired.iter().map(|(block, erases)| json!({ "block": block, "erases": erases })).collect();
        facts["retired"] = Value::from(list);
        print_json(&facts)?;
    } else {
        answer(false, &kept, drive, &words)?;
    }
    Ok(if retired.len() < wanted || kept.cause().is_some() { DIFFERS } else { DONE })
}

pub(super) fn require(arguments: &RequireArguments) -> Result<i32, Failure> {
    let mut kept = open_late(&arguments.drive)?;
    if let Some(cause) = kept.cause() {
        let (path, cause) = (excerpt_path(&arguments.drive), cause.name());
        return Err(Failure::wrong(format!("{path}: is dead ({cause}), and nothing can be required of it any more")));
    }
    let most = arguments.rereads.0;
    let retired = kept.act(&Act::Require(most))?.units;
    let mut words = match most {
        None => "reads take as many re-reads as error correction allows".to_owned(),
        Some(most) => {
            let mut words = format!("reads take {most} re-reads at most; {retired} free blocks need more and retired");
            let looked_at = |(place, _): &(usize, &Drive)| kept.focus().is_none_or(|focus| focus == *place);
            let drives: Vec<&Drive> = kept.drives().into_iter().filter(looked_at).map(|(_, drive)| drive).collect();
            let beyond: u64 = drives.iter().map(|drive| drive.units_beyond_recovery()).sum();
            if beyond > 0 {
                let exported: f64 = drives.iter().map(|drive| f64::from(drive.exported())).sum();
                let share = 100.0 * beyond as f64 / (kept.share_filled() * exported).max(1.0);
                words +=
                    &format!("; {share:.1} % of the data lie in blocks that need more, so that reads of them fail");
            }
            words
        }
    };
    if let Some(cause) = kept.cause() {
        words += &format!(", and the drive died ({})", cause.name());
    }
    kept.keep(words.clone())?;
    answer(arguments.json, &kept, &arguments.drive, &words)?;
    Ok(if kept.cause().is_some() { DIFFERS } else { DONE })
}

/// Lists the numbers of the first few blocks.
fn numbers(blocks: &[(u32, u32)]) -> String {
    let told: Vec<String> = blocks.iter().take(BLOCKS_TOLD).map(|(block, _)| block.to_string()).collect();
    match blocks.len() {
        1 => format!("block {}", told[0]),
        count if count > BLOCKS_TOLD => format!("{count} blocks, {} among them", told.join(", ")),
        count => format!("{count} blocks: {}", told.join(", ")),
    }
}

pub(super) fn inject(arguments: &InjectArguments) -> Result<i32, Failure> {
    let InjectArguments { drive, at, length, fault, bits, seed, json } = arguments;
    let mut kept = addressed(drive)?;
    one(&kept, drive, "damaged")?;
    let unit = u64::from(kept.drive().unit_bytes());
    let length = length.unwrap_or(Bytes(unit));
    let range = check_range(&kept, *at, length, (unit, "mapping units"))?;
    let units = (range.start / unit) as u32..(range.end / unit) as u32;
    if units.is_empty() {
        return Err(Failure::wrong(format!("--length {length}: {} or more are allowed", exact(unit))));
    }
    let injection = match fault {
        Fault::MediumError if bits.is_some() || seed.is_some() => {
            let given = if bits.is_some() { "--bits" } else { "--seed" };
            return Err(Failure::wrong(format!("{given}: is allowed only with --fault flipped-bits")));
        }
        Fault::MediumError => Injection::MediumError,
        Fault::FlippedBits => Injection::FlippedBits(bits.unwrap_or(1)),
    };
    let found = kept.act(&Act::Inject(units, injection, seed.unwrap_or(1)))?.units;
    let (place, wanted) = (exact(at.0), exact(length.0));
    if found == 0 {
        let path = excerpt_path(drive);
        let sentence = "no data are stored there, so that there is nothing to damage";
        return Err(Failure::wrong(format!("{path}: {wanted} from {place} on: {sentence}")));
    }
    let size = exact(found * unit);
    let words = match injection {
        Injection::MediumError => format!("made {size} from {place} on unreadable"),
        Injection::FlippedBits(bits) => {
            format!("flipped {bits} bit{} in each {} of {size} from {place} on", plural(bits), exact(unit))
        }
    };
    kept.act(&Act::Flush)?;
    kept.keep(words.clone())?;
    if *json {
        let name = drive.display().to_string();
        print_json(
            &json!({ "drive": name, "did": "inject", "fault": fault.name(), "bytes": found * unit, "offset": at.0 }),
        )?;
    } else {
        answer(false, &kept, drive, &words)?;
    }
    Ok(DONE)
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

pub(super) fn check(arguments: &CheckArguments) -> Result<i32, Failure> {
    let kept = open(&arguments.drive)?;
    let checked = kept.check();
    let data = (arguments.data && checked.is_ok()).then(|| kept.check_data());
    // What each drive holds says nothing of whether the array can be read.
    let of_array = arguments.data && checked.is_ok() && kept.is_array() && kept.focus().is_none();
    let lost: u64 = if of_array { kept.unreadable().iter().map(|range| range.len_bytes() as u64).sum() } else { 0 };
    if arguments.json {
        let fault = checked.as_ref().err();
        let drive = arguments.drive.display().to_string();
        let mut facts = json!({
            "drive": drive, "is_sound": fault.is_none(), "fault": fault, "dropped": kept.dropped(),
            "journal": show::journal_facts(&kept),
        });
        if let Some(data) = &data {
            facts["data"] = data_facts(&kept, data);
        }
        if of_array {
            facts["bytes_unreadable"] = json!(lost);
            facts["bytes_lacking"] = json!(kept.bytes_lacking());
        }
        if arguments.data {
            facts["warnings"] = json!(kept.caveats());
        }
        print_json(&facts)?;
    } else {
        let mut text = words(&kept, &arguments.drive, &checked, data.as_ref());
        if of_array {
            let lost = if lost > 0 { format!("{} cannot be read", exact(lost)) } else { "all can be read".to_owned() };
            let lacks: Vec<String> = kept
                .members()
                .iter()
                .filter(|member| member.stale_bytes > 0)
                .map(|member| format!("; drive {} lacks {}", member.place, exact(member.stale_bytes)))
                .collect();
            line(&mut text, "array", &format!("{lost}{}", lacks.concat()));
        }
        if arguments.data {
            kept.caveats().iter().for_each(|sentence| line(&mut text, "warning", sentence));
        }
        print(&text)?;
    }
    let is_whole = data.is_none_or(|data| data.is_whole()) && lost == 0;
    Ok(if checked.is_ok() && is_whole && kept.dropped().is_none() { DONE } else { DIFFERS })
}

/// Findings of data that do not read as written: a name for machines, words for people, and the ranges.
fn findings(data: &DataCheck) -> [(&'static str, &'static str, &[Range<u32>]); 6] {
    [
        ("unreadable", "medium errors by wear", &data.unreadable),
        ("lost", "lost when relocated", &data.lost),
        ("injected_errors", "unreadable on purpose", &data.injected_errors),
        ("injected_flips", "flipped on purpose", &data.injected_flips),
        ("misread", "flipped by wear, without an error", &data.misread),
        ("unexplained", "wrong, by a bug of wane", &data.unexplained),
    ]
}

fn data_facts(kept: &Kept, data: &DataCheck) -> Value {
    let unit = u64::from(kept.drive().unit_bytes());
    let mut facts = json!({ "bytes": data.mapped * unit, "bytes_whole": data.whole * unit });
    for (name, _, ranges) in findings(data) {
        let ranges: Vec<Value> = ranges
            .iter()
            .map(|range| json!({ "offset": u64::from(range.start) * unit, "bytes": range.len() as u64 * unit }))
            .collect();
        facts[name] = Value::from(ranges);
    }
    facts
}

fn words(kept: &Kept, path: &Path, checked: &Result<(), String>, data: Option<&DataCheck>) -> String {
    let path = excerpt_path(path);
    let mut text = match checked {
        Ok(()) => format!("{path}: its files are whole, and every invariant of its firmware holds\n"),
        Err(fault) => format!("{path}: its files are whole, but its firmware is not sound: {}\n", excerpt(fault)),
    };
    if let Some(told) = show::unknown_end(kept) {
        line(&mut text, "journal", &told);
    }
    let Some(data) = data else { return text };
    let unit = u64::from(kept.drive().unit_bytes());
    let size = |units: u64| exact(units * unit);
    line(&mut text, "data", &format!("{} held, {} of them read as written", size(data.mapped), size(data.whole)));
    for (_, name, ranges) in findings(data).into_iter().filter(|(.., ranges)| !ranges.is_empty()) {
        let units: u64 = ranges.iter().map(|range| range.len() as u64).sum();
        let told: Vec<String> = ranges
            .iter()
            .take(TOLD)
            .map(|range| format!("{} from {} on", size(range.len() as u64), size(range.start.into())))
            .collect();
        let more =
            if ranges.len() > TOLD { format!(" and in {} more places", ranges.len() - TOLD) } else { String::new() };
        line(&mut text, "", &format!("{} {name}: {}{more}", size(units), told.join(", ")));
    }
    text
}
