//! State of a kept array: the whole, and a line for each of its drives.

use std::path::Path;

use serde::Serialize;
use wane_lab::kept::Kept;
use wane_ssd::Drive;
use wane_units::Bytes;

use super::{Traffic, unknown_end, wear, workload, written};
use crate::output::{columns, line};

/// Facts about an array, as printed.
#[derive(Debug, Serialize)]
pub(crate) struct ArrayFacts {
    drive: String,
    scenario: String,
    layout: &'static str,
    pub(crate) capacity_bytes: u64,
    bytes_held: u64,
    pub(crate) day: f64,
    is_dead: bool,
    cause: Option<&'static str>,
    drive_writes: f64,
    bytes_written: u64,
    bytes_programmed: u64,
    /// Bytes programmed for each byte written, copies included.
    write_amplification: Option<f64>,
    life_used: Option<f64>,
    condition: Option<&'static str>,
    /// How safe the data are, and what to do.
    told: Option<String>,
    repairs: Option<Repairs>,
    /// What checksums found, if the drives have some.
    #[serde(skip_serializing_if = "Option::is_none")]
    checksums: Option<Checksums>,
    members: Vec<OfDrive>,
    workload: String,
    history: Vec<String>,
    /// Which of this no measurement backs.
    warnings: Vec<String>,
}

/// What an array did for itself, in bytes.
#[derive(Debug, Serialize)]
struct Repairs {
    repaired_bytes: u64,
    copied_bytes: u64,
    failed_bytes: u64,
    scrubbed_bytes: u64,
    unequal_bytes: u64,
    unreadable_bytes: u64,
}

/// What the checksums of an array's drives found, in bytes.
#[derive(Debug, Serialize)]
struct Checksums {
    mismatched_bytes: u64,
    rewritten_bytes: u64,
    remade_bytes: u64,
}

/// A drive of an array.
#[derive(Debug, Serialize)]
pub(super) struct OfDrive {
    member: usize,
    /// 0 for the drive of the scenario, N for the Nth that was put in.
    new: u32,
    state: &'static str,
    preset: String,
    capacity_bytes: u64,
    stale_bytes: u64,
    life_used: Option<f64>,
    /// Of a block, in the mean. Without power a drive does not say.
    erases_mean: Option<f64>,
    blocks_retired: Option<u32>,
    bytes_written: Option<u64>,
    uncorrectable_reads: Option<u64>,
}

/// The drives, in their order.
pub(super) fn drives(kept: &Kept) -> Vec<OfDrive> {
    let there = kept.drives();
    let of_member = |member: &wane_lab::held::MemberFacts| {
        let drive: Option<&Drive> = there.iter().find(|(place, _)| *place == member.place).map(|(_, drive)| *drive);
        let erases = |drive: &Drive| {
            let counts = drive.superblock_erase_counts();
            counts.iter().map(|count| f64::from(*count)).sum::<f64>() / counts.len().max(1) as f64
        };
        OfDrive {
            member: member.place,
            new: member.number,
            state: member.state.name(),
            preset: kept.scenario_of(member.place).preset,
            capacity_bytes: member.capacity_bytes,
            stale_bytes: member.stale_bytes,
            life_used: member.life_used,
            erases_mean: drive.map(erases),
            blocks_retired: drive.map(Drive::retired_blocks),
            bytes_written: drive.zip(kept.counters_of(member.place)).map(|(drive, counted)| {
                let unit = u64::from(drive.unit_bytes());
                counted.host_bytes_written(unit) + drive.predicted().host_units * unit
            }),
            uncorrectable_reads: drive.map(|drive| drive.counters().host_reads_uncorrectable),
        }
    };
    kept.members().iter().map(of_member).collect()
}

/// What is said of the wear of an array that has no drive.
pub(super) fn all_out(cause: Option<&str>) -> String {
    cause.map_or_else(|| "all drives are out".to_owned(), |cause| format!("all drives are out; dead ({cause})"))
}

/// Collects all facts about an array.
pub(super) fn facts(kept: &Kept, path: &Path) -> ArrayFacts {
    let scenario = kept.scenario();
    let Traffic { written, programmed, amplification } = Traffic::of(kept);
    let capacity_bytes = kept.device().capacity().0 * 512;
    let repairs = kept.repairs().map(|repairs| Repairs {
        repaired_bytes: repairs.repaired.0 * 512,
        copied_bytes: repairs.copied.0 * 512,
        failed_bytes: repairs.failed.0 * 512,
        scrubbed_bytes: repairs.scrubbed.0 * 512,
        unequal_bytes: repairs.unequal.0 * 512,
        unreadable_bytes: repairs.unreadable.0 * 512,
    });
    let checksums = kept.mismatches().map(|mismatches| Checksums {
        mismatched_bytes: mismatches.found.0 * 512,
        rewritten_bytes: mismatches.rewritten.0 * 512,
        remade_bytes: mismatches.remade.0 * 512,
    });
    let standing = kept.standing();
    ArrayFacts {
        drive: path.display().to_string(),
        scenario: scenario.name.clone(),
        layout: scenario.array.as_ref().map_or("", |array| array.settings.layout.name()),
        capacity_bytes,
        bytes_held: (kept.share_filled() * capacity_bytes as f64) as u64,
        day: kept.day(),
        is_dead: kept.cause().is_some(),
        cause: kept.cause().map(|cause| cause.name()),
        drive_writes: kept.drive_writes(),
        bytes_written: written,
        bytes_programmed: programmed,
        write_amplification: amplification,
        life_used: kept.life_used(),
        condition: standing.as_ref().map(|standing| standing.condition.name()),
        told: standing.map(|standing| standing.told),
        repairs,
        checksums,
        members: drives(kept),
        workload: workload(scenario),
        history: kept.history(),
        warnings: kept.caveats(),
    }
}

/// A table of the drives.
pub(super) fn rows(text: &mut String, drives: &[OfDrive]) {
    let heads = ["drive", "of", "size", "state", "wear", "erases", "retired", "written", "lacks"];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    let told = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    for drive in drives {
        let new = if drive.new > 0 { format!("{}, new", drive.member) } else { drive.member.to_string() };
        lines.push(vec![
            new,
            drive.preset.clone(),
            wane_report::plain(&wane_report::size(drive.capacity_bytes as f64)),
            drive.state.to_owned(),
            told(drive.life_used.map(|used| format!("{:.1} %", 100.0 * used))),
            told(drive.erases_mean.map(|erases| format!("{erases:.1}"))),
            told(drive.blocks_retired.map(|blocks| blocks.to_string())),
            told(drive.bytes_written.map(|bytes| wane_report::plain(&wane_report::traffic(bytes as f64)))),
            if drive.stale_bytes > 0 { Bytes(drive.stale_bytes).to_string() } else { "nothing".to_owned() },
        ]);
    }
    text.push('\n');
    text.push_str(&columns(&lines));
}

/// Formats all facts for people.
pub(super) fn words(kept: &Kept, facts: &ArrayFacts) -> String {
    let mut text = String::new();
    let mut say = |name: &str, value: String| line(&mut text, name, &value);
    let name = if facts.scenario.is_empty() { facts.layout } else { &facts.scenario };
    say("array", format!("{name} ({} of {} drives), day {:.1}", facts.layout, facts.members.len(), facts.day));
    let held = 100.0 * facts.bytes_held as f64 / facts.capacity_bytes.max(1) as f64;
    say("capacity", format!("{}; {held:.1} % of it holds data", Bytes(facts.capacity_bytes)));
    let writes = (facts.drive_writes, 0.0);
    say("written", written(kept, writes, facts.bytes_written, facts.write_amplification));
    let wear = if facts.life_used.is_none() && facts.members.iter().all(|member| member.state == "absent") {
        all_out(facts.cause)
    } else {
        wear(facts.life_used, facts.cause)
    };
    say("wear", wear);
    if let Some(told) = &facts.told {
        say("data", told.clone());
    }
    if let Some(Repairs { repaired_bytes, copied_bytes, scrubbed_bytes, unequal_bytes, .. }) = &facts.repairs {
        let unequal = if *unequal_bytes > 0 { format!(", {} unequal", Bytes(*unequal_bytes)) } else { String::new() };
        let (repaired, copied, scrubbed) = (Bytes(*repaired_bytes), Bytes(*copied_bytes), Bytes(*scrubbed_bytes));
        say("repairs", format!("{repaired} repaired, {copied} copied, {scrubbed} scrubbed{unequal}"));
    }
    if let Some(Checksums { mismatched_bytes, rewritten_bytes, remade_bytes }) = &facts.checksums {
        let (mismatched, rewritten, remade) = (Bytes(*mismatched_bytes), Bytes(*rewritten_bytes), Bytes(*remade_bytes));
        say(
            "checksums",
            format!("{mismatched} mismatched, {rewritten} of it written again; {remade} remade after cuts"),
        );
    }
    say("workload", format!("{}, which continues where it stopped", facts.workload));
    for sentence in &facts.warnings {
        say("warning", sentence.clone());
    }
    for (number, event) in facts.history.iter().enumerate() {
        say(if number == 0 { "history" } else { "" }, event.clone());
    }
    if let Some(told) = unknown_end(kept) {
        say("journal", told);
    }
    rows(&mut text, &facts.members);
    text
}
