//! `wane fs plan` and `resize`: how small a file system can be, what that takes, and doing it.

use serde_json::json;
use wane_fs::{Mode, Plan, Progress, Trims, Way};
use wane_units::excerpt_path;

use super::backing::{Closing, Mounted, mounted, unmounted};
use crate::args::fs::{self, PlanArguments};
use crate::commands::drive::exact;
use crate::output::{Failure, line, print, print_json, unwritable};
use crate::progress::stop_flag;
use crate::{DONE, INTERRUPTED};

/// Blocks that move between two looks at the stop flag.
const STEP: u64 = 4096;

const fn way(arguments: &PlanArguments) -> Way {
    match arguments.way {
        fs::Way::Surrender => Way::Surrender,
        fs::Way::Relocate => Way::Relocate,
        fs::Way::Remap => Way::Remap,
    }
}

/// What is asked for, in bytes.
fn asked(arguments: &PlanArguments, volume: &Mounted) -> u64 {
    arguments.size.map_or_else(|| volume.least(), |size| size.0)
}

fn wrong(arguments: &PlanArguments, sentence: impl std::fmt::Display) -> Failure {
    Failure::wrong(format!("{}: {sentence}", excerpt_path(&arguments.what)))
}

pub(super) fn plan(arguments: &PlanArguments) -> Result<i32, Failure> {
    let volume = mounted(&arguments.what, Mode::ReadOnly, Trims::Never)?;
    let plan = volume.plan(asked(arguments, &volume), way(arguments)).map_err(|why| wrong(arguments, why))?;
    volume.into_port().into_inner().into_inner().close(Closing::Looked)?;
    tell(arguments, &plan, "plan")
}

fn tell(arguments: &PlanArguments, plan: &Plan, done: &str) -> Result<i32, Failure> {
    if arguments.json {
        let facts = json!({
            "what": arguments.what.display().to_string(), "way": way(arguments).name(), "bytes_now": plan.bytes_now,
            "bytes": plan.bytes, "moved_bytes": plan.moved, "room_bytes": plan.room, "least_bytes": plan.least,
        });
        print_json(&facts)?;
        return Ok(DONE);
    }
    let mut text = format!("{}: {done}\n", excerpt_path(&arguments.what));
    line(&mut text, "size", &format!("{}, now {}", exact(plan.bytes), exact(plan.bytes_now)));
    line(&mut text, "moves", &format!("about {}, by the way \"{}\"", exact(plan.moved), way(arguments).name()));
    line(&mut text, "room left", &exact(plan.room));
    line(&mut text, "least size", &exact(plan.least));
    print(&text)?;
    Ok(DONE)
}

/// Makes a file longer that is shorter than what is asked for, if the file system can have that. If it then is not made larger, the rest is a hole.
fn lengthen(arguments: &PlanArguments) -> Result<(), Failure> {
    let path = &arguments.what;
    let Some(length) = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|found| found.len()) else {
        return Ok(());
    };
    if arguments.size.is_none_or(|size| size.0 <= length) {
        return Ok(());
    }
    let volume = mounted(path, Mode::ReadOnly, Trims::Never)?;
    let planned = volume.plan(asked(arguments, &volume), way(arguments)).map_err(|why| wrong(arguments, why))?;
    volume.into_port().into_inner().into_inner().close(Closing::Looked)?;
    if planned.bytes <= length {
        return Ok(());
    }
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.set_len(planned.bytes)).map_err(|error| unwritable(path, &error))
}

pub(super) fn resize(arguments: &PlanArguments) -> Result<i32, Failure> {
    lengthen(arguments)?;
    let stop = stop_flag();
    let mut volume = mounted(&arguments.what, Mode::ReadWrite, Trims::AtOnce)?;
    let (bytes, way) = (asked(arguments, &volume), way(arguments));
    let planned = volume.plan(bytes, way).map_err(|why| wrong(arguments, why))?;
    volume.set_target(bytes, way).map_err(|why| wrong(arguments, why))?;
    let mut progress = Progress::More(0);
    while matches!(progress, Progress::More(_)) && !stop.load(std::sync::atomic::Ordering::Relaxed) {
        progress = volume.evacuate(STEP).map_err(|error| wrong(arguments, error))?;
    }
    let counted = volume.counted();
    let moved = (counted.moved + counted.remapped) * u64::from(volume.space().block_bytes);
    let size = volume.size();
    unmounted(
        &arguments.what,
        volume,
        Closing::Changed(format!("its file system was resized to {} bytes", planned.bytes)),
    )?;
    match progress {
        Progress::Done => tell(arguments, &Plan { bytes: size, moved, ..planned }, "resized"),
        Progress::Stuck(left) => Err(wrong(
            arguments,
            format!(
                "{left} sections cannot be moved, since the device lost what says whose they are; `wane fs fsck` tells more"
            ),
        )),
        Progress::More(_) => Ok(INTERRUPTED),
    }
}
