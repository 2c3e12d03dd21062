//! `wane fs plan` and `resize`: how small a file system can be, what that takes, and doing it.

use std::path::Path;

use serde_json::json;
use wane_blockdev::{BlockDevice, Blocking, Living};
use wane_fs::{Direct, MountConfig, Plan, Progress, Trims, Volume, Way};
use wane_serve::backing::{Access, Closing, Mounted, nonce, unmounted};
use wane_units::{Bytes, Sectors, excerpt_path};

use super::online::{self, Online};
use super::trusted;
use crate::args::fs::{self, PlanArguments, ResizeArguments};
use crate::commands::drive::exact;
use crate::output::{Failure, line, print, print_json, unwritable};
use crate::progress::stop_flag;
use crate::{DONE, INTERRUPTED};

/// Blocks that move between two looks at the stop flag.
const STEP: u64 = 4096;

pub(super) const fn way(way: fs::Way) -> Way {
    match way {
        fs::Way::Surrender => Way::Surrender,
        fs::Way::Relocate => Way::Relocate,
        fs::Way::Remap => Way::Remap,
    }
}

/// What is asked for, in bytes.
fn asked(size: Option<Bytes>, volume: &Mounted) -> u64 {
    size.map_or_else(|| volume.least(), |size| size.0)
}

fn wrong(what: &Path, sentence: impl std::fmt::Display) -> Failure {
    Failure::wrong(format!("{}: {sentence}", excerpt_path(what)))
}

pub(super) fn plan(arguments: &PlanArguments) -> Result<i32, Failure> {
    let what = &arguments.what;
    if let Some(online) = Online::at(what) {
        return online::plan(&online, arguments);
    }
    let volume = trusted(what, Access::Read, Trims::Never)?;
    let way = arguments.way.map_or_else(|| volume.default_way(), way);
    let plan = volume.plan(asked(arguments.size, &volume), way).map_err(|why| wrong(what, why))?;
    let block_bytes = volume.space().block_bytes as usize;
    let tried = volume.port().device().device().rehearsal();
    let tried = tried.map(|drive| rehearsed(drive, block_bytes, plan.bytes, way)).transpose();
    let tried = tried.map_err(|why| wrong(what, why))?;
    volume.into_port().into_inner().into_inner().close(Closing::Looked)?;
    show(what, arguments.json, way, &plan, tried.as_ref(), "plan")
}

/// What giving space back took on a copy of a drive.
pub(super) struct Rehearsed {
    /// Bytes that moved or were remapped.
    moved: u64,
    /// Time of the drive, in seconds, one request after the other; `None` if it keeps none.
    seconds: Option<f64>,
    /// Bytes that its flash programmed, and blocks that it erased.
    programmed: u64,
    erases: u64,
}

/// Tries it on a copy of the drive.
fn rehearsed(drive: Box<dyn Living>, block_bytes: usize, bytes: u64, way: Way) -> Result<Rehearsed, String> {
    let (from, before, unit) = (drive.now(), *drive.counters(), drive.features().atomic_unit.0 * Sectors::SIZE.0);
    let port = Direct::new(Blocking::starting_at(drive, from), block_bytes);
    let nonce = nonce().map_err(|_| "the system gives no random numbers".to_owned())?;
    let mut volume = Volume::mount(port, &MountConfig::new(nonce)).map_err(|why| why.to_string())?;
    volume.set_target(bytes, way).map_err(|why| why.to_string())?;
    while let Progress::More(_) = volume.evacuate(STEP).map_err(|why| why.to_string())? {}
    let counted = volume.counted();
    let device = volume.into_port().into_inner();
    let (did, took) = (*device.device().counters() - before, device.now().0 - from.0);
    Ok(Rehearsed {
        moved: (counted.moved + counted.remapped) * block_bytes as u64,
        seconds: (took > 0).then(|| took as f64 / 1e9),
        programmed: did.programmed_total() * unit,
        erases: did.erases_total(),
    })
}

/// Says what a size takes, or took.
pub(super) fn show(
    what: &Path,
    as_json: bool,
    way: Way,
    plan: &Plan,
    tried: Option<&Rehearsed>,
    done: &str,
) -> Result<i32, Failure> {
    if as_json {
        let facts = json!({
            "what": what.display().to_string(), "way": way.name(), "bytes_now": plan.bytes_now,
            "bytes": plan.bytes, "moved_bytes": plan.moved, "room_bytes": plan.room, "least_bytes": plan.least,
            "on_the_drive": tried.map(|tried| json!({
                "moved_bytes": tried.moved, "seconds": tried.seconds, "programmed_bytes": tried.programmed,
                "blocks_erased": tried.erases,
            })),
        });
        print_json(&facts)?;
        return Ok(DONE);
    }
    let mut text = format!("{}: {done}\n", excerpt_path(what));
    let before = if done == "plan" { "now" } else { "before" };
    line(&mut text, "size", &format!("{}, {before} {}", exact(plan.bytes), exact(plan.bytes_now)));
    line(&mut text, "moves", &format!("about {}, by the way \"{}\"", exact(plan.moved), way.name()));
    if let Some(tried) = tried {
        let took = tried.seconds.map_or_else(
            || "takes no time, since the drive has no clock ([time] in its scenario)".to_owned(),
            |seconds| format!("takes {seconds:.3} s of the drive's time, one request after the other"),
        );
        line(&mut text, "on a copy", &format!("{took}; {} moved", exact(tried.moved)));
        line(&mut text, "wear", &format!("{} programmed, blocks erased {}", exact(tried.programmed), tried.erases));
    }
    line(&mut text, "room left", &exact(plan.room));
    line(&mut text, "least size", &exact(plan.least));
    print(&text)?;
    Ok(DONE)
}

/// Makes a file longer that is shorter than what is asked for, if the file system can have that. If it then is not made larger, the rest is a hole.
fn lengthen(arguments: &ResizeArguments) -> Result<(), Failure> {
    let path = &arguments.what;
    let Some(length) = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|found| found.len()) else {
        return Ok(());
    };
    if arguments.size.is_none_or(|size| size.0 <= length) {
        return Ok(());
    }
    let volume = trusted(path, Access::Read, Trims::Never)?;
    let planned = volume.plan(asked(arguments.size, &volume), volume.default_way()).map_err(|why| wrong(path, why))?;
    volume.into_port().into_inner().into_inner().close(Closing::Looked)?;
    if planned.bytes <= length {
        return Ok(());
    }
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.set_len(planned.bytes)).map_err(|error| unwritable(path, &error))
}

pub(super) fn resize(arguments: &ResizeArguments) -> Result<i32, Failure> {
    let what = &arguments.what;
    if let Some(online) = Online::at(what) {
        return online::resize(&online, arguments);
    }
    let of_a_mount = [
        ("--background", arguments.background),
        ("--pause", arguments.pause),
        ("--resume", arguments.resume),
        ("--evacuate-rate", arguments.evacuate_rate.is_some()),
        ("--evacuate-share", arguments.evacuate_share.is_some()),
    ];
    if let Some((option, _)) = of_a_mount.iter().find(|(_, is_given)| *is_given) {
        return Err(wrong(what, format!("{option}: is for a mount, and this is not where a file system is mounted")));
    }
    lengthen(arguments)?;
    let stop = stop_flag();
    let mut volume = trusted(what, Access::Write, Trims::AtOnce)?;
    if arguments.cancel {
        let target = volume.target();
        volume.cancel_target().map_err(|error| wrong(what, error))?;
        unmounted(volume, Closing::Changed("its file system keeps its size".to_owned()))?;
        let told =
            target.map_or_else(|| "had no target".to_owned(), |(bytes, _)| format!("{} no longer", exact(bytes)));
        print(&format!("{}: {told}\n", excerpt_path(what)))?;
        return Ok(DONE);
    }
    let way = arguments.way.map_or_else(|| volume.default_way(), way);
    let bytes = asked(arguments.size, &volume);
    let planned = volume.plan(bytes, way).map_err(|why| wrong(what, why))?;
    volume.set_target(bytes, way).map_err(|why| wrong(what, why))?;
    let mut progress = Progress::More(0);
    while matches!(progress, Progress::More(_)) && !stop.load(std::sync::atomic::Ordering::Relaxed) {
        progress = volume.evacuate(STEP).map_err(|error| wrong(what, error))?;
    }
    let counted = volume.counted();
    let moved = (counted.moved + counted.remapped) * u64::from(volume.space().block_bytes);
    let size = volume.size();
    unmounted(volume, Closing::Changed(format!("its file system was resized to {} bytes", planned.bytes)))?;
    match progress {
        Progress::Done => show(what, arguments.json, way, &Plan { bytes: size, moved, ..planned }, None, "resized"),
        Progress::Stuck(left) => Err(wrong(
            what,
            format!(
                "{left} sections cannot be moved, since the device lost what says whose they are; `wane fs fsck` tells more"
            ),
        )),
        Progress::More(_) => Ok(INTERRUPTED),
    }
}
