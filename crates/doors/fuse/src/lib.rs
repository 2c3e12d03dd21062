//! The file system of the crate `fs` as a mount of Linux, by FUSE.
//!
//! [`mount`] takes a [`Volume`] and a directory; [`Mounted::serve`] answers the kernel until somebody unmounts it, and gives the volume back. All
//! that knows the crate `fuser`, whose interface changes, is in `serve` and here. A volume has no clock: this crate is its clock, and the timer
//! that commits it.
//!
//! # Who checks what
//!
//! The kernel checks permissions (`default_permissions`), the sticky bit, `umask` and who may use which attribute, by what `stat` told it. It
//! is told to keep that for a second, since nobody else changes the file system. The rules of set-id bits are in `rights`. Locks are the kernel's own.
//!
//! # Space
//!
//! The mount gives space back while programs run (`evacuate`), and is asked for that through itself (`control`).
//!
//! # What is durable
//!
//! fsync makes a file durable, and fsync of a directory all that was done. Otherwise all is committed every five seconds. FUSE does not hand
//! sync(2) and syncfs(2) on (`fuser` lacks the call), so these promise nothing.

#![cfg(target_os = "linux")]

mod control;
mod convert;
mod error;
mod evacuate;
mod rights;
mod serve;
mod shared;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use fuser::{Config, MountOption, Session, SessionACL};
use rustix::mount::UnmountFlags;
use wane_fs::{Mode, Port, Volume, Way};

pub use convert::now;
pub use error::MountError;
pub use evacuate::Pace;
use serve::Served;
use shared::Shared;

/// Whether it is noted when files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessTimes {
    /// At the first read after a change, and once a day (`relatime`). Reads that the kernel answers from its memory do not count.
    Relative,
    /// Never (`noatime`).
    Never,
}

/// Called with a sentence that the user should see.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// How a volume is mounted.
#[derive(Clone)]
pub struct Options {
    /// What the table of mounts shows as its source.
    pub name: String,
    /// See there.
    pub access_times: AccessTimes,
    /// After this time what was done is committed.
    pub commit_every: Duration,
    /// Is told what happens to it.
    pub tell: Tell,
    /// How fast space is given back.
    pub pace: Pace,
    /// How it gives back what its device wants; `None`: it does not.
    pub answer: Option<Way>,
}

/// A volume that is mounted.
pub struct Mounted<P: Port + Send + 'static> {
    shared: Arc<Shared<P>>,
    session: Session<Served<P>>,
    /// They commit it, and give space back.
    threads: Vec<JoinHandle<()>>,
    point: PathBuf,
}

/// Ends a mount from another thread.
#[derive(Clone, Debug)]
pub struct Unmounter {
    point: PathBuf,
}

/// Mounts a volume on a directory.
///
/// # Errors
/// Why it cannot be mounted, and the volume.
pub fn mount<P: Port + Send + 'static>(
    volume: Volume<P>,
    point: &Path,
    options: &Options,
) -> Result<Mounted<P>, Box<(MountError, Volume<P>)>> {
    let point = match check_point(point) {
        Ok(point) => point,
        Err(error) => return Err(Box::new((error, volume))),
    };
    let is_read_only = volume.mode() == Mode::ReadOnly;
    let shared = Arc::new(Shared::new(volume, options));
    let begun = Session::new(Served::new(&shared), &point, &config(options, is_read_only));
    let session = match begun {
        Ok(session) => session,
        Err(error) => return Err(Box::new((MountError::Refused(error), take_back(&shared)))),
    };
    let works: [(&str, Work<P>); 2] = [("commit", Shared::commit_in_time), ("evacuate", evacuate::give_back::<P>)];
    let begun: std::io::Result<Vec<_>> = works.into_iter().map(|(name, work)| begin(name, &shared, work)).collect();
    match begun {
        Ok(threads) => Ok(Mounted { shared, session, threads, point }),
        Err(error) => {
            drop(session);
            Err(Box::new((MountError::Refused(error), take_back(&shared))))
        }
    }
}

/// What a thread of a mount does until that ends.
type Work<P> = fn(&Shared<P>);

/// Begins a thread that has its time, beside the one that answers the kernel.
fn begin<P: Port + Send + 'static>(
    name: &str,
    shared: &Arc<Shared<P>>,
    work: Work<P>,
) -> std::io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    #[expect(clippy::disallowed_methods, reason = "it waits for the time of the next commit, or of the next step")]
    std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&shared))
}

/// The volume of a mount that is not served.
fn take_back<P: Port>(shared: &Shared<P>) -> Volume<P> {
    shared.end().expect("nobody else takes the volume")
}

fn config(options: &Options, is_read_only: bool) -> Config {
    let is_root = rustix::process::geteuid().is_root();
    let mut config = Config::default();
    let name = MountOption::FSName(options.name.replace(',', "_"));
    config.mount_options = vec![name, MountOption::Subtype("wane".to_owned()), MountOption::DefaultPermissions];
    if is_read_only {
        config.mount_options.push(MountOption::RO);
    }
    if options.access_times == AccessTimes::Never {
        config.mount_options.push(MountOption::NoAtime);
    }
    if is_root {
        // As of any file system that root mounts.
        config.mount_options.extend([MountOption::Suid, MountOption::Dev]);
        config.acl = SessionACL::All;
    }
    config
}

/// Refuses what nothing can be mounted on. Returns the directory's whole path.
fn check_point(point: &Path) -> Result<PathBuf, MountError> {
    let found = std::fs::metadata(point).map_err(|error| match error.raw_os_error() {
        Some(number) if number == rustix::io::Errno::NOTCONN.raw_os_error() => MountError::Stale,
        _ => MountError::Point(error),
    })?;
    if !found.is_dir() {
        return Err(MountError::NotDirectory);
    }
    let point = point.canonicalize().map_err(MountError::Point)?;
    let above = point.parent().map(std::fs::metadata);
    if !matches!(above, Some(Ok(above)) if above.dev() == found.dev()) {
        return Err(MountError::Taken);
    }
    match std::fs::OpenOptions::new().read(true).write(true).open("/dev/fuse") {
        Ok(_) => Ok(point),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(MountError::NoFuse),
        Err(error) => Err(MountError::Device(error)),
    }
}

impl<P: Port + Send + 'static> Mounted<P> {
    /// What ends it from another thread.
    pub fn unmounter(&self) -> Unmounter {
        Unmounter { point: self.point.clone() }
    }

    /// Answers the kernel until it is unmounted. Returns the volume, which is to be unmounted too.
    ///
    /// # Errors
    /// The kernel's device failed.
    pub fn serve(self) -> (Volume<P>, std::io::Result<()>) {
        let Self { shared, session, threads, .. } = self;
        let served = session.run();
        let volume = take_back(&shared);
        // They only sleep, and have been woken.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        (volume, served)
    }
}

impl Unmounter {
    /// Unmounts it, unless somebody uses it. What serves it ends then.
    ///
    /// # Errors
    /// Somebody uses it, or the system refuses.
    pub fn unmount(&self) -> Result<(), MountError> {
        match rustix::mount::unmount(&self.point, UnmountFlags::empty()) {
            Err(rustix::io::Errno::BUSY) => Err(MountError::Busy),
            // A helper with more rights does it for those who are not root.
            Err(rustix::io::Errno::PERM) => self.by_helper(),
            Err(error) => Err(MountError::Refused(error.into())),
            Ok(()) => Ok(()),
        }
    }

    fn by_helper(&self) -> Result<(), MountError> {
        let ended = Command::new("fusermount3").arg("-u").arg("--").arg(&self.point).output();
        match ended {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) if String::from_utf8_lossy(&output.stderr).contains("busy") => Err(MountError::Busy),
            Ok(output) => {
                let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                Err(MountError::Refused(std::io::Error::other(told)))
            }
            Err(error) => Err(MountError::Refused(error)),
        }
    }

    /// Cuts it off from those who use it: their next calls fail. What they wrote until then stays.
    pub fn cut_off(&self) {
        let cut = rustix::mount::unmount(&self.point, UnmountFlags::FORCE | UnmountFlags::DETACH);
        if cut.is_err() {
            let _ = Command::new("fusermount3").arg("-uz").arg("--").arg(&self.point).output();
        }
    }
}
