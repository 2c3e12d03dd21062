//! Processes, and the locks that they hold, as far as the system tells of them. Linux tells most.

use std::fmt;
use std::fs::File;

/// A process, told from a later one with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub number: u32,
    /// When it began, in a unit of the system's; `None`: that is not known.
    pub began: Option<u64>,
    /// What its number is counted in, such as a container; `None`: that is not known.
    pub space: Option<u64>,
}

impl Process {
    /// This one.
    pub fn this() -> Self {
        let number = std::process::id();
        Self { number, began: system::began(number), space: system::space() }
    }

    /// The one that has this number now.
    pub const fn of(number: u32) -> Self {
        Self { number, began: None, space: None }
    }

    /// Whether it is there, and not about to end; `None`: the system does not tell.
    pub fn is_alive(&self) -> Option<bool> {
        if self.space.is_some_and(|space| system::space() != Some(space)) {
            return None;
        }
        system::is_alive(self)
    }
}

/// Who holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The process that took it.
    Process(u32),
    /// One to which the process that took it gave it, which is gone; `None`: it is not to be seen from here.
    Heir(Option<u32>),
    /// The system does not tell.
    Unknown,
}

impl Holder {
    /// Who holds the lock of a file. This process has the file open and does not hold it.
    pub(crate) fn of(file: &File) -> Self {
        system::holder(file)
    }

    /// The same, with the heir.
    pub(crate) fn named(self, file: &File) -> Self {
        match self {
            Self::Heir(_) => Self::Heir(system::heir(file)),
            other => other,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(number) => write!(formatter, "process {number}"),
            Self::Heir(Some(number)) => write!(formatter, "process {number}, which one that is gone had begun"),
            Self::Heir(None) | Self::Unknown => write!(formatter, "another process"),
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::{self, File, Metadata};
    use std::os::unix::fs::MetadataExt;

    use super::{Holder, Process};

    /// Of the kernel: the process is on its way out.
    const EXITING: u64 = 4;

    /// What the system tells of a process.
    struct Stat {
        state: char,
        flags: u64,
        began: u64,
    }

    fn stat(number: u32) -> Option<Stat> {
        let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        // The name before may have any characters.
        let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
        let number = |field: usize| fields.get(field)?.parse().ok();
        Some(Stat { state: fields.first()?.chars().next()?, flags: number(6)?, began: number(19)? })
    }

    pub(super) fn began(number: u32) -> Option<u64> {
        stat(number).map(|stat| stat.began)
    }

    pub(super) fn space() -> Option<u64> {
        fs::metadata("/proc/self/ns/pid").ok().map(|meta| meta.ino())
    }

    pub(super) fn is_alive(process: &Process) -> Option<bool> {
        if !fs::exists("/proc/self/stat").unwrap_or(false) {
            return None;
        }
        let is_it = |stat: &Stat| process.began.is_none_or(|began| began == stat.began);
        let stat = stat(process.number).filter(is_it);
        Some(stat.is_some_and(|stat| !matches!(stat.state, 'Z' | 'X') && stat.flags & EXITING == 0))
    }

    /// Whether a process holds the lock of a file; `None`: it is not to be seen.
    fn holds(number: u32, of: &Metadata) -> Option<bool> {
        let files = fs::read_dir(format!("/proc/{number}/fd")).ok()?;
        let is_it = |meta: Metadata| (meta.dev(), meta.ino()) == (of.dev(), of.ino());
        let mut open = files.flatten().filter(|file| fs::metadata(file.path()).is_ok_and(is_it));
        Some(open.any(|file| {
            let told = format!("/proc/{number}/fdinfo/{}", file.file_name().to_string_lossy());
            fs::read_to_string(told).is_ok_and(|told| told.contains("FLOCK"))
        }))
    }

    pub(super) fn holder(file: &File) -> Holder {
        let (Ok(of), Ok(locks)) = (file.metadata(), fs::read_to_string("/proc/locks")) else { return Holder::Unknown };
        let takers = takers(&locks, of.ino());
        let device = format!("{:02x}:{:02x}", rustix::fs::major(of.dev()), rustix::fs::minor(of.dev()));
        // Some file systems show another device than files have.
        let taker = takers.iter().find(|(_, shown)| *shown == device).or(takers.first());
        match taker {
            Some((number, _))
                if Process::of(*number).is_alive() == Some(true) && holds(*number, &of) != Some(false) =>
            {
                Holder::Process(*number)
            }
            _ => Holder::Heir(None),
        }
    }

    /// The processes that took a lock of the file of this number, and its device.
    fn takers(locks: &str, file: u64) -> Vec<(u32, &str)> {
        locks.lines().filter_map(|line| taker(line, file)).collect()
    }

    fn taker(line: &str, file: u64) -> Option<(u32, &str)> {
        let mut fields = line.split_whitespace().skip(1);
        // Who waits has an arrow there.
        let is_held = fields.next() == Some("FLOCK");
        let (process, place) = (fields.nth(2)?, fields.next()?);
        let (device, number) = place.rsplit_once(':')?;
        (is_held && number.parse() == Ok(file)).then_some((process.parse().ok()?, device))
    }

    pub(super) fn heir(file: &File) -> Option<u32> {
        let of = file.metadata().ok()?;
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.find(|number| holds(*number, &of) == Some(true))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;

    use super::{Holder, Process};

    pub(super) const fn began(_: u32) -> Option<u64> {
        None
    }

    pub(super) const fn space() -> Option<u64> {
        None
    }

    #[cfg(unix)]
    pub(super) fn is_alive(process: &Process) -> Option<bool> {
        let number = rustix::process::Pid::from_raw(i32::try_from(process.number).ok()?)?;
        Some(!matches!(rustix::process::test_kill_process(number), Err(rustix::io::Errno::SRCH)))
    }

    #[cfg(not(unix))]
    pub(super) const fn is_alive(_: &Process) -> Option<bool> {
        None
    }

    pub(super) const fn holder(_: &File) -> Holder {
        Holder::Unknown
    }

    pub(super) const fn heir(_: &File) -> Option<u32> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_from_a_later_one_with_its_number_and_from_one_that_ended() {
        let this = Process::this();
        assert_eq!(this.is_alive(), Some(true));
        assert_eq!(Process { began: this.began.map(|began| began + 1), ..this }.is_alive(), Some(false));
        assert_eq!(Process { space: Some(1), ..this }.is_alive(), None, "its number is one of elsewhere");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let of_child = Process::of(child.id());
        // It has ended, though nobody has asked how.
        while of_child.is_alive() == Some(true) {
            std::thread::yield_now();
        }
        assert!(child.wait().unwrap().success());
        assert_eq!(of_child.is_alive(), Some(false));
    }
}
