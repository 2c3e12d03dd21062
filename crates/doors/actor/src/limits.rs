//! Limits of a drive's processor time and memory, by its own control groups: of cgroup v2, or of v1 if the system has a controller there.
//!
//! The process moves into new groups below those that it was started in, so that their limits still hold. If the system does not hand out
//! the controllers, that is an error: a limit that is not enforced is no limit.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use wane_units::{Bytes, excerpt_path};

use crate::ActorError;

/// The period over which processor time is shared out, in microseconds: the kernel's own.
const PERIOD_MICROS: u64 = 100_000;

/// Ratio of memory to the bytes of a cell. Measured with four drives of 3+1: 32 MiB were too few for cells of 2 MiB, and 64 enough.
const MEMORY_PER_CELL: u64 = 32;

/// Memory for requests' bodies, for answers, and for blocks to make, of a drive without a limit.
const BUDGETS: [u64; 3] = [64 << 20, 64 << 20, 256 << 20];

/// The same as parts of a limited drive's memory. The rest is for its threads and connections, and for what it fetches.
const BUDGET_PARTS: [u64; 3] = [4, 8, 4];

/// Bytes of blocks that an order makes at a time, and the same as a part of a limited drive's memory.
const MADE_MAX: u64 = 16 << 20;
const MADE_PART: u64 = 16;

/// Least memory of a drive that serves: for cells of the default size and the threads' stacks.
const MEMORY_MIN: u64 = 48 << 20;

/// Prefix of groups' names, before the number of their process.
const NAME: &str = "wane-actor-";

/// Files that list a process's groups and the mounted hierarchies of groups.
const OWN: &str = "/proc/self/cgroup";
const MOUNTS: &str = "/proc/self/mounts";

/// Most processors and memory that a drive may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Processors, such as 0.5.
    pub processors: Option<f64>,
    /// Memory, in bytes.
    pub memory: Option<u64>,
}

/// Groups that the process is in until this is dropped, each with the group that it was in before.
#[derive(Debug, Default)]
pub struct Limited(Vec<(PathBuf, PathBuf)>);

/// A controller's settings: the texts to write to the files of a group of cgroup v2, and of v1.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    controller: &'static str,
    shared: Vec<(&'static str, String)>,
    own: Vec<(&'static str, String)>,
}

/// The group in which a controller finds a process.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Group {
    /// In the hierarchy that all controllers of cgroup v2 share.
    Shared(PathBuf),
    /// In the controller's own hierarchy, as in cgroup v1.
    Own(PathBuf),
}

impl Limits {
    /// Puts this process under the limits; does nothing without limits.
    ///
    /// # Errors
    /// A limit makes no sense, or the system has no group with the controllers for it.
    pub fn enter(self) -> Result<Option<Limited>, ActorError> {
        self.checked()?;
        if self == Self::default() {
            return Ok(None);
        }
        let read = |path: &str| fs::read_to_string(path).map_err(|error| ActorError::unread(Path::new(path), &error));
        let (mounts, own) = (read(MOUNTS)?, read(OWN)?);
        self.enter_below(|controller| group_of(controller, &mounts, &own), std::process::id()).map(Some)
    }

    fn checked(self) -> Result<(), ActorError> {
        if let Some(found) = self.processors.filter(|count| !(0.01..=1024.0).contains(count)) {
            return Err(ActorError::Invalid(format!("{found} processors: 0.01 to 1024 are allowed")));
        }
        if let Some(found) = self.memory.filter(|bytes| *bytes < MEMORY_MIN) {
            let (found, least) = (Bytes(found), Bytes(MEMORY_MIN));
            return Err(ActorError::Invalid(format!("{found} of memory: {least} or more are allowed")));
        }
        Ok(())
    }

    /// Settings of the controllers.
    fn wanted(self) -> Vec<Wanted> {
        let cpu = self.processors.map(|count| {
            let micros = (count * PERIOD_MICROS as f64) as u64;
            let shared = vec![("cpu.max", format!("{micros} {PERIOD_MICROS}"))];
            let own = vec![("cpu.cfs_period_us", PERIOD_MICROS.to_string()), ("cpu.cfs_quota_us", micros.to_string())];
            Wanted { controller: "cpu", shared, own }
        });
        let memory = self.memory.map(|bytes| {
            let [shared, own] = ["memory.max", "memory.limit_in_bytes"].map(|file| vec![(file, bytes.to_string())]);
            Wanted { controller: "memory", shared, own }
        });
        cpu.into_iter().chain(memory).collect()
    }

    fn enter_below(self, group_of: impl Fn(&str) -> Option<Group>, process: u32) -> Result<Limited, ActorError> {
        let mut limited = Limited::default();
        for Wanted { controller, shared, own } in self.wanted() {
            let group = group_of(controller);
            let group = group.ok_or_else(|| refused(&format!("this system has no group for \"{controller}\"")))?;
            let (before, lines) = match &group {
                Group::Shared(before) => (before, shared),
                Group::Own(before) => (before, own),
            };
            let made = limited.make(before, process)?;
            let controllers = fs::read_to_string(made.join("cgroup.controllers")).unwrap_or_default();
            let is_there = controllers.split_whitespace().any(|name| name == controller);
            if matches!(group, Group::Shared(_)) && !is_there {
                let before = excerpt_path(before);
                return Err(refused(&format!("the groups in {before} have no controller \"{controller}\"")));
            }
            for (file, text) in lines {
                write(&made.join(file), &text)?;
            }
        }
        for (group, _) in &limited.0 {
            write(&group.join("cgroup.procs"), &process.to_string())?;
        }
        Ok(limited)
    }

    /// Bytes of the largest cell that the memory allows.
    pub(crate) fn cell_max(self) -> u64 {
        self.memory.map_or(u64::MAX, |memory| memory / MEMORY_PER_CELL)
    }

    /// Bytes that a drive holds at a time of requests' bodies, of answers, and of blocks to make.
    pub(crate) fn budgets(self) -> [u64; 3] {
        let of = |place: usize| self.memory.map_or(BUDGETS[place], |memory| memory / BUDGET_PARTS[place]);
        [0, 1, 2].map(|place| of(place).min(BUDGETS[place]))
    }

    /// Bytes of blocks that an order makes at a time.
    pub(crate) fn made_max(self) -> usize {
        self.memory.map_or(MADE_MAX, |memory| memory / MADE_PART).min(MADE_MAX) as usize
    }

    /// The limits, for a drive's status.
    pub fn facts(self) -> Option<serde_json::Value> {
        (self != Self::default())
            .then(|| serde_json::json!({ "processors": self.processors, "memory_bytes": self.memory }))
    }
}

impl Limited {
    /// Makes the process's own group, once below each group.
    fn make(&mut self, before: &Path, process: u32) -> Result<PathBuf, ActorError> {
        remove_left(before);
        let group = before.join(format!("{NAME}{process}"));
        if self.0.iter().any(|(made, _)| *made == group) {
            return Ok(group);
        }
        let made = fs::create_dir(&group).or_else(|error| match error.kind() {
            // Left by a killed process whose number is used again.
            ErrorKind::AlreadyExists => fs::remove_dir(&group).and_then(|()| fs::create_dir(&group)),
            _ => Err(error),
        });
        made.map_err(|error| refused(&format!("no group can be made in {}: {error}", excerpt_path(before))))?;
        self.0.push((group.clone(), before.to_owned()));
        Ok(group)
    }
}

/// Removes the groups of killed processes, which could not do it themselves. A living process's group may still be empty just after it was made.
fn remove_left(before: &Path) {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
    let left = fs::read_dir(before).into_iter().flatten().filter_map(|entry| name(entry.ok()?));
    let is_left = |group: &String| {
        let process: Option<u32> = group.strip_prefix(NAME).and_then(|number| number.parse().ok());
        process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists())
    };
    for group in left.filter(is_left) {
        let _ = fs::remove_dir(before.join(group));
    }
}

fn write(path: &Path, text: &str) -> Result<(), ActorError> {
    fs::write(path, text).map_err(|error| refused(&format!("{} cannot be written: {error}", excerpt_path(path))))
}

impl Drop for Limited {
    /// Moves the process back and removes its groups: a group can be removed only when it is empty.
    fn drop(&mut self) {
        for (group, before) in &self.0 {
            let _ = fs::write(before.join("cgroup.procs"), std::process::id().to_string());
            let _ = fs::remove_dir(group);
        }
    }
}

fn refused(why: &str) -> ActorError {
    ActorError::Invalid(format!(
        "limits of processors and memory need control groups: {why}; `systemd-run --scope -p CPUQuota=50% -p MemoryMax=512M wane actor serve ...` sets them from \
         outside"
    ))
}

/// Finds the folder of the group in which a controller finds a process, from the system's lists of mounts and of the process's groups.
fn group_of(controller: &str, mounts: &str, own: &str) -> Option<Group> {
    let mounted = || mounts.lines().map(|line| line.split(' ').collect::<Vec<&str>>());
    let has = |names: &str| names.split(',').any(|name| name == controller);
    // In a container the mount's root is its own group, which has another name in the process's list.
    let below = |root: &str, group: &str| {
        let named = Path::new(root).join(group.trim_start_matches('/'));
        if named.is_dir() { named } else { PathBuf::from(root) }
    };
    let is_own = |fields: &Vec<&str>| fields.get(2) == Some(&"cgroup") && fields.get(3).is_some_and(|names| has(names));
    if let Some(root) = mounted().find(is_own).and_then(|fields| fields.get(1).copied()) {
        let told = own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let group = told.into_iter().find(|(names, _)| has(names)).map_or("", |(_, group)| group);
        return Some(Group::Own(below(root, group)));
    }
    let root = mounted().find(|fields| fields.get(2) == Some(&"cgroup2")).and_then(|fields| fields.get(1).copied())?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Group::Shared(below(root, group)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { processors: Some(0.5), memory: Some(64 << 20) };

    #[test]
    fn limits_that_make_no_sense_are_told() {
        let told = |limits: Limits| limits.enter().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(told(Limits { processors: Some(0.0), memory: None }).contains("0.01 to 1024"));
        assert!(told(Limits { processors: Some(f64::NAN), memory: None }).contains("0.01 to 1024"));
        assert!(told(Limits { processors: None, memory: Some(1) }).contains("48 MiB or more"));
        assert_eq!(Limits { processors: None, memory: Some(64 << 20) }.cell_max(), 2 << 20);
        assert!(Limits::default().enter().unwrap().is_none());
        let little = Limits { processors: None, memory: Some(MEMORY_MIN) };
        assert!(little.budgets().iter().sum::<u64>() <= MEMORY_MIN * 3 / 4);
        assert!(little.budgets().iter().all(|bytes| *bytes >= 2 * little.cell_max()));
        let much = Limits { processors: None, memory: Some(1 << 40) };
        assert_eq!((much.budgets(), much.made_max()), (Limits::default().budgets(), Limits::default().made_max()));
    }

    #[test]
    fn groups_are_found_where_controllers_are_mounted() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display().to_string();
        let within = |group: &str| folder.path().join(group);
        for group in ["all/user/one", "memory/other"] {
            fs::create_dir_all(within(group)).unwrap();
        }
        let shared = format!("tmpfs {root} tmpfs rw 0 0\ncgroup2 {root}/all cgroup2 rw 0 0\n");
        let own = "4:memory:/other\n3:cpu,cpuacct:/gone\n0::/user/one\n";
        assert_eq!(group_of("cpu", &shared, own), Some(Group::Shared(within("all/user/one"))));
        assert_eq!(group_of("cpu", "proc /proc proc rw 0 0\n", own), None);
        assert_eq!(group_of("cpu", &shared, "4:memory:/other\n"), None);
        let both = format!(
            "{shared}cgroup {root}/memory cgroup rw,relatime,memory 0 0\ncgroup {root}/cpu cgroup rw,cpu,cpuacct 0 0\n"
        );
        assert_eq!(group_of("memory", &both, own), Some(Group::Own(within("memory/other"))));
        assert_eq!(
            group_of("cpu", &both, own),
            Some(Group::Own(within("cpu"))),
            "the root, where its name is not there"
        );
        assert_eq!(group_of("acct", &both, own), Some(Group::Shared(within("all/user/one"))), "a whole name alone");
    }

    #[test]
    fn a_group_without_the_controllers_is_refused_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let shared = |_: &str| Some(Group::Shared(folder.path().to_owned()));
        let refused = LIMITS.enter_below(shared, 7).unwrap_err().to_string();
        assert!(refused.contains("have no controller \"cpu\"") && refused.contains("systemd-run"), "{refused}");
        assert!(!folder.path().join("wane-actor-7").exists());
        let refused = LIMITS.enter_below(|_| None, 7).unwrap_err().to_string();
        assert!(refused.contains("this system has no group for \"cpu\""), "{refused}");
    }

    #[test]
    fn groups_of_those_that_were_killed_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let living = folder.path().join(format!("wane-actor-{}", std::process::id()));
        fs::create_dir(&living).unwrap();
        fs::create_dir(folder.path().join("wane-actor-4294967295")).unwrap();
        fs::create_dir(folder.path().join("another")).unwrap();
        let own = |_: &str| Some(Group::Own(folder.path().to_owned()));
        drop(LIMITS.enter_below(own, 7).unwrap());
        assert!(!folder.path().join("wane-actor-4294967295").exists() && folder.path().join("another").exists());
        assert!(living.exists(), "others start meanwhile, whose groups are empty until they are in them");
    }

    #[test]
    fn what_is_written_is_what_each_kind_of_group_takes() {
        let [cpu, memory] = LIMITS.wanted().try_into().unwrap();
        let line = |file: &'static str, text: &str| (file, text.to_owned());
        let own = vec![line("cpu.cfs_period_us", "100000"), line("cpu.cfs_quota_us", "50000")];
        assert_eq!(cpu, Wanted { controller: "cpu", shared: vec![line("cpu.max", "50000 100000")], own });
        let [shared, own] = ["memory.max", "memory.limit_in_bytes"].map(|file| vec![line(file, "67108864")]);
        assert_eq!(memory, Wanted { controller: "memory", shared, own });
    }
}
