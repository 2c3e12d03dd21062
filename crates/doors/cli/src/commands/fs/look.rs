//! `wane fs fsck`, `df` and `dump`: looks at a file system, which change nothing.

use std::fmt::Write;

use serde_json::json;
use wane_fs::{DataChecksums, FormatError, Layout, Scrubbed, Trims};
use wane_serve::backing::{self, Access, BackingError, Closing, Mounted};
use wane_units::excerpt_path;

use super::online::{self, Online};
use super::{mounted, opened};
use crate::args::fs::{FsckArguments, LookArguments};
use crate::commands::drive::exact;
use crate::output::{Failure, columns, line, print, print_json};
use crate::{DIFFERS, DONE};

fn looked_at(arguments: &LookArguments) -> Result<Mounted, Failure> {
    mounted(&arguments.what, Access::Read, Trims::Never)
}

/// Ends a look.
fn closed(volume: Mounted) -> Result<(), Failure> {
    Ok(volume.into_port().into_inner().into_inner().close(Closing::Looked)?)
}

/// A count with its noun.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Whether data have checksums, in a word.
const fn told(checksums: DataChecksums) -> &'static str {
    match checksums {
        DataChecksums::None => "none",
        DataChecksums::Crc32c => "CRC-32C",
    }
}

pub(super) fn fsck(arguments: &FsckArguments) -> Result<i32, Failure> {
    let FsckArguments { look: arguments, data } = arguments;
    let mut volume = match backing::mounted(opened(&arguments.what, Access::Read)?, Trims::Never) {
        Ok(volume) => volume,
        // One of which so much is damaged that it cannot be mounted is an answer, too.
        Err(BackingError::Format(_, error)) if error.is_damage() => return lost(arguments, &error),
        Err(error) => return Err(error.into()),
    };
    let layout = volume.layout();
    let path = excerpt_path(&arguments.what);
    let mut findings: Vec<String> = match volume.check() {
        Ok(findings) => findings.iter().map(ToString::to_string).collect(),
        Err(_) => vec!["the root directory is lost".to_owned()],
    };
    let scrubbed = if *data { volume.scrub().unwrap_or_default() } else { Scrubbed::default() };
    findings.extend(scrubbed.findings.iter().map(ToString::to_string));
    let recovered = volume.counted().recovered;
    closed(volume)?;
    if arguments.json {
        let facts = json!({
            "what": arguments.what.display().to_string(), "sound": findings.is_empty(), "was_unmounted": layout.was_clean,
            "recovered": recovered, "nodes": layout.nodes, "used_blocks": layout.used_blocks, "data_blocks_read": scrubbed.blocks, "findings": findings,
        });
        print_json(&facts)?;
    } else {
        let mut text = String::new();
        for finding in &findings {
            let _ = writeln!(text, "{path}: {finding}");
        }
        let blocks =
            format!("{} and {} in use", counted(u64::from(layout.nodes), "node"), counted(layout.used_blocks, "block"));
        let verdict = if findings.is_empty() { "sound".to_owned() } else { counted(findings.len() as u64, "finding") };
        let _ = writeln!(text, "{path}: {verdict}; {blocks}");
        if *data {
            let read = counted(scrubbed.blocks, "block");
            let held = match layout.data_checksums {
                DataChecksums::None => "they have no checksums, so that only what the device reports is found",
                DataChecksums::Crc32c => "each was held against its checksum",
            };
            let _ = writeln!(text, "{path}: {read} of data read; {held}");
        }
        if !layout.was_clean {
            let _ = writeln!(
                text,
                "{path}: it was not unmounted; the next mount goes on from what was durable, with {} since its last checkpoint",
                counted(recovered, "synchronized file")
            );
        }
        print(&text)?;
    }
    Ok(if findings.is_empty() { DONE } else { DIFFERS })
}

/// A file system of which so much is damaged that nothing of it can be looked at.
fn lost(arguments: &LookArguments, error: &FormatError) -> Result<i32, Failure> {
    if arguments.json {
        let what = arguments.what.display().to_string();
        print_json(&json!({ "what": what, "sound": false, "findings": [error.to_string()] }))?;
    } else {
        let path = excerpt_path(&arguments.what);
        print(&format!("{path}: {error}\n{path}: 1 finding; it cannot be mounted\n"))?;
    }
    Ok(DIFFERS)
}

pub(super) fn df(arguments: &LookArguments) -> Result<i32, Failure> {
    if let Some(online) = Online::at(&arguments.what) {
        return online::df(&online, arguments);
    }
    let volume = looked_at(arguments)?;
    let (space, target, on_device) = (volume.space(), volume.target(), volume.size());
    let checksums = volume.layout().data_checksums;
    closed(volume)?;
    let block = u64::from(space.block_bytes);
    let (size, free) = (space.blocks * block, space.free * block);
    if arguments.json {
        let facts = json!({
            "what": arguments.what.display().to_string(), "block_bytes": space.block_bytes, "bytes": size,
            "used_bytes": size - free, "free_bytes": free, "files": space.files, "free_files": space.files_free,
            "size_bytes": on_device, "target": target.map(|(bytes, way)| json!({ "bytes": bytes, "way": way.name() })),
            "data_checksums": checksums == DataChecksums::Crc32c,
        });
        print_json(&facts)?;
        return Ok(DONE);
    }
    let share = if size == 0 { 0.0 } else { 100.0 * (size - free) as f64 / size as f64 };
    let mut text = format!("{}:\n", excerpt_path(&arguments.what));
    line(&mut text, "size", &exact(size));
    line(&mut text, "used", &format!("{} ({share:.1} %)", exact(size - free)));
    line(&mut text, "free", &exact(free));
    line(&mut text, "nodes", &format!("{} of {}", space.files - space.files_free, space.files));
    line(&mut text, "on the device", &exact(on_device));
    if let Some((bytes, way)) = target {
        line(&mut text, "target", &format!("{}, by the way \"{}\"", exact(bytes), way.name()));
    }
    line(&mut text, "data checksums", told(checksums));
    print(&text)?;
    Ok(DONE)
}

/// The identity of a file system, as it is usually written.
pub(super) fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::new();
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn facts(what: &str, layout: &Layout) -> serde_json::Value {
    let block = u64::from(layout.block_bytes);
    let areas: Vec<_> = layout
        .areas
        .iter()
        .map(|area| json!({ "name": area.name, "first_block": area.first, "blocks": area.blocks }))
        .collect();
    let logs: Vec<_> = layout
        .logs
        .iter()
        .map(|log| json!({ "name": log.name, "segment": log.segment, "written_blocks": log.written }))
        .collect();
    let states = layout.segments;
    json!({
        "what": what, "uuid": uuid(layout.uuid), "lacks_first_superblock": layout.lacks_first_superblock,
        "block_bytes": block, "segment_bytes": block * u64::from(layout.segment_blocks),
        "section_segments": layout.section_segments, "sections": layout.sections,
        "reserved_blocks": layout.reserved_blocks, "data_checksums": layout.data_checksums == DataChecksums::Crc32c,
        "greatest_bytes": layout.greatest_bytes, "areas": areas, "next_checkpoint": layout.next_version,
        "was_unmounted": layout.was_clean, "used_blocks": layout.used_blocks, "nodes": layout.nodes,
        "orphans": layout.orphans, "logs": logs,
        "segments": { "free": states.free, "open": states.open, "full": states.full, "partly": states.partly },
    })
}

pub(super) fn dump(arguments: &LookArguments) -> Result<i32, Failure> {
    let volume = looked_at(arguments)?;
    let layout = volume.layout();
    closed(volume)?;
    if arguments.json {
        print_json(&facts(&arguments.what.display().to_string(), &layout))?;
        return Ok(DONE);
    }
    let block = u64::from(layout.block_bytes);
    let mut text = format!("{}:\n", excerpt_path(&arguments.what));
    line(&mut text, "uuid", &uuid(layout.uuid));
    line(&mut text, "block", &exact(block));
    line(&mut text, "segment", &exact(block * u64::from(layout.segment_blocks)));
    line(
        &mut text,
        "sections",
        &format!("{} of {} each", layout.sections, counted(u64::from(layout.section_segments), "segment")),
    );
    line(&mut text, "reserved", &exact(block * u64::from(layout.reserved_blocks)));
    line(&mut text, "greatest size", &exact(layout.greatest_bytes));
    line(&mut text, "data checksums", told(layout.data_checksums));
    let how = if layout.was_clean { "unmounted" } else { "not unmounted" };
    line(&mut text, "checkpoint", &format!("{}, {how}", layout.next_version - 1));
    line(&mut text, "used", &exact(block * layout.used_blocks));
    line(&mut text, "nodes", &layout.nodes.to_string());
    line(&mut text, "orphans", &layout.orphans.len().to_string());
    let states = layout.segments;
    let of = format!("{} free, {} open, {} partly used, {} full", states.free, states.open, states.partly, states.full);
    line(&mut text, "segments", &of);
    let mut table = vec![["area", "first block", "blocks"].map(str::to_owned).to_vec()];
    table.extend(
        layout.areas.iter().map(|area| vec![area.name.to_owned(), area.first.to_string(), area.blocks.to_string()]),
    );
    text += &format!("\n{}", columns(&table));
    let mut table = vec![["log", "segment", "blocks written"].map(str::to_owned).to_vec()];
    table.extend(
        layout.logs.iter().map(|log| vec![log.name.to_owned(), log.segment.to_string(), log.written.to_string()]),
    );
    text += &format!("\n{}", columns(&table));
    print(&text)?;
    Ok(DONE)
}
