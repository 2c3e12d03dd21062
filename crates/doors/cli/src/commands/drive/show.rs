//! State of a kept drive, in words, as a picture, and as JSON.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use wane_blockdev::BlockDevice;
use wane_ftl::policies::Mode;
use wane_lab::kept::{JournalEnd, Kept};
use wane_nand::{Relocations, Uncorrectable};
use wane_report::{plain, traffic};
use wane_results::write_amplification;
use wane_scenario::{Pattern, Scenario, Workload};
use wane_units::{BlockState, Bytes, Sectors};

use crate::output::line;

pub(super) mod array;

/// Rows of the picture of erases, and the length of its longest bar.
const ROWS: usize = 10;
const BAR: usize = 40;

/// Facts about a drive or an array, as printed.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Facts {
    /// Of a drive.
    Drive(Box<DriveFacts>),
    /// Of an array.
    Array(Box<array::ArrayFacts>),
}

/// Facts about a drive.
#[derive(Debug, Serialize)]
pub(super) struct DriveFacts {
    drive: String,
    scenario: String,
    preset: String,
    cell: Option<String>,
    day: f64,
    is_dead: bool,
    cause: Option<&'static str>,
    mode: &'static str,
    drive_writes: f64,
    /// Of these, drive writes that were predicted instead of simulated.
    drive_writes_predicted: f64,
    bytes_written: u64,
    bytes_programmed: u64,
    write_amplification: Option<f64>,
    life_used: Option<f64>,
    endurance: Option<u32>,
    errors: Option<Errors>,
    rereads_max: Option<u32>,
    erases: Erases,
    capacity: Capacity,
    blocks: Blocks,
    workload: String,
    history: Vec<String>,
    /// Which of this no measurement backs.
    warnings: Vec<String>,
}

/// Raw bit errors.
#[derive(Debug, Serialize)]
struct Errors {
    chip: String,
    /// How errors of relocated data are handled while the drive ages.
    relocations: Relocations,
    uncorrectable: Uncorrectable,
}

/// Erases of blocks in service.
#[derive(Debug, Serialize)]
struct Erases {
    mean: f64,
    least: u32,
    most: u32,
}

#[derive(Debug, Serialize)]
struct Capacity {
    bytes_initial: u64,
    bytes_exported: u64,
    /// Most bytes that may hold data at once.
    bytes_limit: u64,
    bytes_mapped: u64,
    bytes_lost: u64,
    over_provisioning_initial: f64,
}

/// Blocks of the firmware.
#[derive(Debug, Default, Serialize)]
struct Blocks {
    free: u32,
    open: u32,
    closed: u32,
    retired: u32,
}

/// What is not known of the end of a drive's journal, in words, if anything is not.
pub(super) fn unknown_end(kept: &Kept) -> Option<String> {
    let JournalEnd { records, unmarked, .. } = kept.journal_end().filter(|end| !end.is_known)?;
    let plural = if records == 1 { "" } else { "s" };
    let last = match unmarked {
        0 => String::new(),
        1 => "the last 1 is not known to have been on the disk, and ".to_owned(),
        _ => format!("the last {unmarked} are not known to have been on the disk, and "),
    };
    Some(format!("{records} record{plural} since the last save; {last}nobody can tell whether others followed"))
}

/// What is known of it, as JSON.
pub(super) fn journal_facts(kept: &Kept) -> Option<Value> {
    kept.journal_end().map(|JournalEnd { records, unmarked, is_known }| {
        json!({ "records": records, "records_not_known_on_disk": unmarked, "is_end_known": is_known })
    })
}

/// Names a workload in a few words.
pub(super) fn workload(scenario: &Scenario) -> String {
    fn named(workload: &Workload) -> String {
        match workload {
            Workload::Pattern(spec) => match spec.pattern {
                Pattern::Zipf { exponent, .. } | Pattern::ZipfTable { exponent, .. } => {
                    format!("{} of exponent {exponent}", spec.pattern.name())
                }
                pattern => pattern.name().to_owned(),
            },
            Workload::Standin(spec) => format!("the stand-in {}", spec.name),
            Workload::Trace(spec) => format!("the trace {}", wane_units::excerpt_path(&spec.path)),
            Workload::Lsm(_) => "a key-value store".to_owned(),
            Workload::Mix(parts) => parts.iter().map(|(_, part)| named(part)).collect::<Vec<String>>().join(" and "),
        }
    }
    named(&scenario.phases[0].workload)
}

/// Collects all facts about a drive or an array.
pub(super) fn facts(kept: &Kept, path: &Path) -> Facts {
    if kept.is_array() && kept.focus().is_none() {
        return Facts::Array(Box::new(array::facts(kept, path)));
    }
    Facts::Drive(Box::new(of_drive(kept, path)))
}

fn of_drive(kept: &Kept, path: &Path) -> DriveFacts {
    let (drive, scenario) = (kept.drive(), kept.scenario_of_drive());
    let unit = u64::from(drive.unit_bytes());
    let Traffic { written, programmed, amplification } = Traffic::of(kept);
    let mut blocks = Blocks::default();
    let mut erases = Erases { mean: 0.0, least: u32::MAX, most: 0 };
    let mut in_service = 0u32;
    for block in drive.layout().superblocks() {
        match drive.state(block) {
            BlockState::Free => blocks.free += 1,
            BlockState::Open => blocks.open += 1,
            BlockState::Closed => blocks.closed += 1,
            BlockState::Retired => {
                blocks.retired += 1;
                continue;
            }
        }
        let count = drive.superblock_erase_counts()[block.index()];
        in_service += 1;
        erases.mean += f64::from(count);
        (erases.least, erases.most) = (erases.least.min(count), erases.most.max(count));
    }
    assert_eq!(in_service, blocks.free + blocks.open + blocks.closed, "a block that has not retired serves");
    erases.mean /= f64::from(in_service.max(1));
    erases.least = erases.least.min(erases.most);
    debug_assert!((f64::from(erases.least)..=f64::from(erases.most)).contains(&erases.mean), "a mean lies between");
    DriveFacts {
        drive: path.display().to_string(),
        scenario: scenario.name.clone(),
        preset: scenario.preset.clone(),
        cell: scenario.medium.cell.map(|cell| cell.name().to_owned()),
        day: drive.day(),
        is_dead: kept.cause().is_some(),
        cause: kept.cause().map(|cause| cause.name()),
        mode: if drive.mode() == Mode::Degraded { "degraded" } else { "normal" },
        drive_writes: kept.drive_writes(),
        drive_writes_predicted: kept.drive_writes_predicted(),
        bytes_written: written,
        bytes_programmed: programmed,
        write_amplification: amplification,
        life_used: drive.life_used(),
        endurance: drive.rated_cycles().or(scenario.device.endurance),
        errors: scenario.medium.chip.as_ref().map(|chip| Errors {
            chip: chip.name.clone(),
            relocations: scenario.medium.ecc.relocations,
            uncorrectable: scenario.medium.ecc.uncorrectable,
        }),
        rereads_max: drive.read_recovery(),
        erases,
        capacity: Capacity {
            bytes_initial: u64::from(drive.logical_initial()) * unit,
            bytes_exported: u64::from(drive.exported()) * unit,
            // A capacity that ends within a unit is no limit.
            bytes_limit: match drive.mapped_limit() {
                limit if limit < drive.capacity() => limit.0 * Sectors::SIZE.0,
                _ => u64::from(drive.exported()) * unit,
            },
            bytes_mapped: drive.mapped_units() * unit,
            bytes_lost: drive.units_lost() * unit,
            over_provisioning_initial: scenario.device.over_provisioning(),
        },
        blocks,
        workload: workload(kept.scenario()),
        history: kept.history(),
        warnings: kept.caveats(),
    }
}

/// Returns the most important lines, for after a command that changed the drive.
pub(super) fn short(kept: &Kept) -> String {
    let mut text = String::new();
    let of = Traffic::of(kept);
    let writes = (kept.drive_writes(), kept.drive_writes_predicted());
    line(&mut text, "written", &written(kept, writes, of.written, of.amplification));
    let cause = kept.cause().map(|cause| cause.name());
    let out = kept.is_array() && kept.drives().is_empty();
    line(&mut text, "wear", &if out { array::all_out(cause) } else { wear(kept.life_used(), cause) });
    if kept.is_array() && kept.focus().is_none() {
        array::rows(&mut text, &array::drives(kept));
        return text;
    }
    let unit = u64::from(kept.drive().unit_bytes());
    line(
        &mut text,
        "capacity",
        &exported(u64::from(kept.drive().exported()) * unit, u64::from(kept.drive().logical_initial()) * unit),
    );
    text
}

/// Rows of a comparison: names and values.
pub(super) fn compared(facts: &Facts) -> Vec<(&'static str, String)> {
    let Facts::Drive(facts) = facts else { return Vec::new() };
    let Capacity { bytes_initial, bytes_exported, bytes_mapped, .. } = facts.capacity;
    let filled = bytes_mapped as f64 / bytes_exported.max(1) as f64;
    let used = facts.life_used.map_or_else(|| "-".to_owned(), |used| format!("{:.1} %", 100.0 * used));
    vec![
        ("preset", facts.preset.clone()),
        ("capacity", exported(bytes_exported, bytes_initial)),
        ("holds data", format!("{:.1} %", 100.0 * filled)),
        ("day", format!("{:.1}", facts.day)),
        ("drive writes", format!("{:.2}", facts.drive_writes)),
        ("amplification", facts.write_amplification.map_or_else(|| "-".to_owned(), |found| format!("{found:.3}"))),
        ("wear", facts.cause.map_or(used.clone(), |cause| format!("{used}; dead ({cause})"))),
        ("erases, mean", format!("{:.1}", facts.erases.mean)),
        ("blocks retired", facts.blocks.retired.to_string()),
    ]
}

/// What was written to a drive and its flash since it was new or was preconditioned, in bytes, with what was predicted.
struct Traffic {
    written: u64,
    programmed: u64,
    amplification: Option<f64>,
}

impl Traffic {
    fn of(kept: &Kept) -> Self {
        let (counters, predicted) = (kept.counters(), kept.predicted());
        let unit = match kept.focus() {
            Some(_) => u64::from(kept.drive().unit_bytes()),
            None => u64::from(kept.unit_bytes()),
        };
        let written = counters.host_bytes_written(unit) + predicted.host_units * unit;
        let programmed = (counters.programmed_total() + predicted.programmed_units) * unit;
        let amplification = match predicted.host_units {
            // Copies are programmed for each byte that the host wrote once.
            _ if kept.is_array() && kept.focus().is_none() => (written > 0).then(|| programmed as f64 / written as f64),
            0 => write_amplification(&counters, unit).total,
            _ => Some(programmed as f64 / written as f64),
        };
        Self { written, programmed, amplification }
    }
}

fn written(kept: &Kept, (drive_writes, predicted): (f64, f64), bytes: u64, amplification: Option<f64>) -> String {
    let is_array = kept.is_array() && kept.focus().is_none();
    let (what, copies) = if is_array { ("array writes", ", copies included") } else { ("drive writes", "") };
    let amplified = amplification.map_or_else(String::new, |found| format!("; write amplification {found:.3}{copies}"));
    let of_them = if predicted > 0.0 { format!(", {predicted:.2} of them predicted") } else { String::new() };
    format!("{} in {drive_writes:.2} {what}{of_them}{amplified}", plain(&traffic(bytes as f64)))
}

fn wear(used: Option<f64>, cause: Option<&str>) -> String {
    let used = used.map_or_else(
        || "it has no rated erases".to_owned(),
        |used| format!("{:.1} % of its rated erases used", 100.0 * used),
    );
    cause.map_or(used.clone(), |cause| format!("{used}; dead ({cause})"))
}

fn exported(exported: u64, initial: u64) -> String {
    debug_assert!(exported <= initial, "a drive exports no more than when it was new");
    if exported == initial {
        return format!("{} exported", Bytes(initial));
    }
    format!("{} exported of {} when new", Bytes(exported), Bytes(initial))
}

/// Formats all facts for people.
pub(super) fn words(kept: &Kept, facts: &Facts) -> String {
    let facts = match facts {
        Facts::Drive(facts) => facts,
        Facts::Array(facts) => return array::words(kept, facts),
    };
    let mut text = String::new();
    let mut say = |name: &str, value: String| line(&mut text, name, &value);
    let cell = facts.cell.as_ref().map_or_else(String::new, |cell| format!(", {}", cell.to_uppercase()));
    say("drive", format!("{} ({}{cell}), day {:.1}", facts.scenario, facts.preset, facts.day));
    let Capacity { bytes_initial, bytes_exported, bytes_limit, bytes_mapped, bytes_lost, over_provisioning_initial } =
        facts.capacity;
    let lost = if bytes_lost > 0 { format!("; {} of it lost", Bytes(bytes_lost)) } else { String::new() };
    let held = 100.0 * bytes_mapped as f64 / bytes_exported.max(1) as f64;
    say("capacity", format!("{}; {held:.1} % of it holds data{lost}", exported(bytes_exported, bytes_initial)));
    if bytes_limit < bytes_exported {
        say("mapped limit", format!("at most {} may hold data at once", Bytes(bytes_limit)));
    }
    say("over-provisioning", format!("{:.1} % when new", 100.0 * over_provisioning_initial));
    say(
        "written",
        written(
            kept,
            (facts.drive_writes, facts.drive_writes_predicted),
            facts.bytes_written,
            facts.write_amplification,
        ),
    );
    say("wear", wear(facts.life_used, facts.cause));
    let Erases { mean, least, most } = facts.erases;
    let rated = facts.endurance.map_or_else(String::new, |rated| format!(" of {rated} rated"));
    say("erases", format!("of a block in service: mean {mean:.1}, least {least}, most {most}{rated}"));
    if let Some(Errors { chip, relocations, uncorrectable }) = &facts.errors {
        let relocations = match relocations {
            Relocations::Trusted => "none in relocations while it ages",
            Relocations::Checked => "in relocations too",
        };
        let read = match uncorrectable {
            Uncorrectable::MediumError => "a medium error",
            Uncorrectable::FlippedBits => "flipped bits",
        };
        say("errors", format!("of {chip}, {relocations}; uncorrectable data read as {read}"));
    }
    if let Some(most) = facts.rereads_max {
        say("required", format!("{most} re-reads of a read at most"));
    }
    let Blocks { free, open, closed, retired } = facts.blocks;
    say("blocks", format!("{closed} full, {open} being written, {free} free, {retired} retired; mode {}", facts.mode));
    if kept.focus().is_none() {
        say("workload", format!("{}, which continues where it stopped", facts.workload));
    }
    for sentence in &facts.warnings {
        say("warning", sentence.clone());
    }
    for (number, event) in facts.history.iter().enumerate() {
        let name = if kept.focus().is_some() { "array's history" } else { "history" };
        say(if number == 0 { name } else { "" }, event.clone());
    }
    if let Some(told) = unknown_end(kept) {
        say("journal", told);
    }
    text.push_str(&picture(kept));
    text
}

/// Draws a histogram of blocks by erases, as bars.
fn picture(kept: &Kept) -> String {
    let drive = kept.drive();
    let counts: Vec<u32> = drive
        .layout()
        .superblocks()
        .filter(|block| drive.state(*block) != BlockState::Retired)
        .map(|block| drive.superblock_erase_counts()[block.index()])
        .collect();
    let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) else { return String::new() };
    if most == least {
        return format!("\nevery block in service was erased {least} times\n");
    }
    let width = (most - least + 1).div_ceil(ROWS as u32);
    let mut rows = [0usize; ROWS];
    counts.iter().for_each(|count| rows[((count - least) / width) as usize] += 1);
    debug_assert_eq!(rows.iter().sum::<usize>(), counts.len(), "each block is in one row");
    let longest = rows.iter().copied().max().unwrap_or(1).max(1);
    let mut text = String::from("\n     erases   blocks\n");
    for (row, blocks) in (0..).zip(rows) {
        let first = least + row * width;
        if first > *most {
            break;
        }
        let last = (first + width - 1).min(*most);
        let range = if first == last { format!("{first}") } else { format!("{first}-{last}") };
        let bar = (blocks * BAR).div_ceil(longest);
        let _ = writeln!(text, "{range:>11} {blocks:>8} {}", "#".repeat(bar));
    }
    text
}
