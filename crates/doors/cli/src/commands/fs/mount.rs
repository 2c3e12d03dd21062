//! `wane fs mount`: serves a file system to the kernel until it is unmounted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wane_fs::{Mode, Trims, Way};
use wane_fuse::{AccessTimes, MountError, Options, Pace, Unmounter};
use wane_serve::backing::{Access, Closing, unmounted};
use wane_units::excerpt_path;

use super::mounted;
use crate::args::fs::{Answer, MountArguments};
use crate::output::{Failure, print, tell};
use crate::progress::stop_flag;
use crate::{DIFFERS, DONE, INTERRUPTED};

/// Time between two commits.
const COMMIT: Duration = Duration::from_secs(5);
/// Time between two looks at whether the user asked for an end.
const LOOK: Duration = Duration::from_millis(50);

pub(super) fn mount(arguments: &MountArguments) -> Result<i32, Failure> {
    let MountArguments { what, dir, .. } = arguments;
    let pace = pace(arguments)?;
    let stop = stop_flag();
    let access = if arguments.read_only { Access::Read } else { Access::Write };
    let trims = if arguments.no_discard { Trims::Never } else { Trims::AtOnce };
    let volume = mounted(what, access, trims)?;
    let recovered = volume.counted().recovered;
    if recovered > 0 && !arguments.quiet {
        let files = if recovered == 1 { "file that was" } else { "files that were" };
        tell(&format!(
            "wane: {}: recovered {recovered} {files} synchronized after the last checkpoint",
            excerpt_path(what)
        ));
    }
    let named = excerpt_path(what);
    let options = Options {
        name: what.canonicalize().unwrap_or_else(|_| what.clone()).to_string_lossy().into_owned(),
        access_times: if arguments.no_atime { AccessTimes::Never } else { AccessTimes::Relative },
        commit_every: COMMIT,
        tell: Arc::new(move |sentence| tell(&format!("wane: {named}: {sentence}"))),
        pace,
        answer: match arguments.answer {
            Answer::Surrender => Some(Way::Surrender),
            Answer::Relocate => Some(Way::Relocate),
            Answer::Remap => Some(Way::Remap),
            Answer::No => None,
        },
    };
    let begun = match wane_fuse::mount(volume, dir, &options) {
        Ok(begun) => begun,
        Err(refused) => {
            let (error, volume) = *refused;
            unmounted(volume, Closing::Looked)?;
            return Err(Failure::wrong(format!("{}: {error}", excerpt_path(dir))));
        }
    };
    if !arguments.quiet {
        // The process that started it may not read stdout.
        let _ = print(&format!("{}: mounted on {}\n", excerpt_path(what), excerpt_path(dir)));
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let watching = watch(begun.unmounter(), dir, &stop, &is_over);
    let (volume, served) = begun.serve();
    is_over.store(true, Ordering::Relaxed);
    let was_asked = watching.is_ok_and(|watching| watching.join().unwrap_or(false));
    let (counted, has_failed) = (volume.counted(), volume.mode() == Mode::Failed);
    let note = format!(
        "mounted as a file system: {} blocks of data and {} of nodes were written",
        counted.data, counted.nodes
    );
    unmounted(volume, if access == Access::Read { Closing::Looked } else { Closing::Changed(note) })?;
    served.map_err(|error| Failure::wrong(format!("{}: the kernel's /dev/fuse failed: {error}", excerpt_path(dir))))?;
    Ok(match (has_failed, was_asked) {
        // That was told when it happened.
        (true, _) => DIFFERS,
        (false, true) => INTERRUPTED,
        (false, false) => DONE,
    })
}

/// How fast it gives space back.
fn pace(arguments: &MountArguments) -> Result<Pace, Failure> {
    let (rate, share) = (arguments.evacuate_rate.0, arguments.evacuate_share.get());
    if rate == 0 {
        return Err(Failure::wrong("--evacuate-rate 0 B: nothing would ever move; 1 B or more is allowed"));
    }
    if share == 0.0 {
        return Err(Failure::wrong("--evacuate-share 0 %: nothing would ever move; above 0 % up to 100 % is allowed"));
    }
    Ok(Pace { bytes_per_second: rate, share })
}

/// Unmounts it when the user asks. Whether it was asked comes back in the end.
fn watch(
    unmounter: Unmounter,
    dir: &Path,
    stop: &Arc<AtomicBool>,
    is_over: &Arc<AtomicBool>,
) -> std::io::Result<std::thread::JoinHandle<bool>> {
    let (stop, is_over, dir) = (Arc::clone(stop), Arc::clone(is_over), excerpt_path(dir));
    let watched = move || {
        let mut asked = 0;
        while !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            if !stop.swap(false, Ordering::Relaxed) {
                continue;
            }
            asked += 1;
            match unmounter.unmount() {
                Ok(()) => {}
                Err(MountError::Busy) if asked == 1 => {
                    tell(&format!("wane: {dir}: is in use and stays mounted; Ctrl-C once more cuts its users off"));
                }
                Err(MountError::Busy) => unmounter.cut_off(),
                Err(error) => {
                    tell(&format!("wane: {dir}: {error}"));
                    unmounter.cut_off();
                }
            }
        }
        asked > 0
    };
    #[expect(clippy::disallowed_methods, reason = "it waits for the user, and no result depends on when")]
    std::thread::Builder::new().name("stop".to_owned()).spawn(watched)
}
