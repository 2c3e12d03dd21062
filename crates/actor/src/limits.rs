//! Limits of a drive's processor time and memory, by a control group of its own (cgroup v2).
//!
//! The process moves into a new group below the one that it was started in, so that whatever limits that group holds on. A system that does not hand out
//! the controllers is told so: a limit that does not hold is none.

use std::fs;
use std::path::{Path, PathBuf};

use wane_units::{Bytes, excerpt_path};

use crate::ActorError;

/// The period over which processor time is shared out, in microseconds: the kernel's own.
const PERIOD_MICROS: u64 = 100_000;

/// The least memory with which a drive can serve: its threads' stacks, and the blocks that it makes.
const MEMORY_MIN: u64 = 32 << 20;

/// Where a process's groups are told, and where the hierarchy of cgroup v2 is mounted.
const OWN: &str = "/proc/self/cgroup";
const MOUNTS: &str = "/proc/self/mounts";

/// What a drive may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Processors, such as 0.5.
    pub processors: Option<f64>,
    /// Memory, in bytes.
    pub memory: Option<u64>,
}

/// A group that the process is in, until this is dropped.
#[derive(Debug)]
pub struct Limited {
    group: PathBuf,
    before: PathBuf,
}

impl Limits {
    /// Puts this process under the limits; without any, nothing is done.
    ///
    /// # Errors
    /// A limit makes no sense, or the system has no group with the controllers for it.
    pub fn enter(self) -> Result<Option<Limited>, ActorError> {
        self.checked()?;
        if self == Self::default() {
            return Ok(None);
        }
        let read = |path: &str| fs::read_to_string(path).map_err(|error| ActorError::unread(Path::new(path), &error));
        let before = own_group(&read(MOUNTS)?, &read(OWN)?).ok_or_else(|| refused("this system has no cgroup v2"))?;
        self.enter_below(&before, std::process::id()).map(Some)
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

    fn enter_below(self, before: &Path, process: u32) -> Result<Limited, ActorError> {
        let group = before.join(format!("wane-actor-{process}"));
        fs::create_dir(&group)
            .map_err(|error| refused(&format!("no group can be made in {}: {error}", excerpt_path(before))))?;
        let limited = Limited { group, before: before.to_owned() };
        let controllers = fs::read_to_string(limited.group.join("cgroup.controllers")).unwrap_or_default();
        let has = |controller: &str| controllers.split_whitespace().any(|name| name == controller);
        let lines = [
            (
                "cpu",
                "cpu.max",
                self.processors.map(|count| format!("{} {PERIOD_MICROS}", (count * PERIOD_MICROS as f64) as u64)),
            ),
            ("memory", "memory.max", self.memory.map(|bytes| bytes.to_string())),
        ];
        for (controller, file, text) in lines {
            let Some(text) = text else { continue };
            if !has(controller) {
                return Err(refused(&format!(
                    "the groups in {} have no controller \"{controller}\"",
                    excerpt_path(before)
                )));
            }
            limited.write(file, &text)?;
        }
        limited.write("cgroup.procs", &process.to_string())?;
        Ok(limited)
    }

    /// As a drive tells of them.
    pub fn facts(self) -> Option<serde_json::Value> {
        (self != Self::default())
            .then(|| serde_json::json!({ "processors": self.processors, "memory_bytes": self.memory }))
    }
}

impl Limited {
    fn write(&self, file: &str, text: &str) -> Result<(), ActorError> {
        let path = self.group.join(file);
        fs::write(&path, text).map_err(|error| refused(&format!("{} cannot be written: {error}", excerpt_path(&path))))
    }
}

impl Drop for Limited {
    /// A group can be removed when nobody is in it.
    fn drop(&mut self) {
        let _ = fs::write(self.before.join("cgroup.procs"), std::process::id().to_string());
        let _ = fs::remove_dir(&self.group);
    }
}

fn refused(why: &str) -> ActorError {
    ActorError::Invalid(format!(
        "limits of processors and memory need cgroup v2: {why}; `systemd-run --scope -p CPUQuota=50% -p MemoryMax=512M wane actor serve ...` sets them from \
         outside"
    ))
}

/// The folder of the group that a process is in, by what the system says of mounts and of the process.
fn own_group(mounts: &str, own: &str) -> Option<PathBuf> {
    let mut mounted = mounts.lines().map(|line| line.split(' ').collect::<Vec<&str>>());
    let root = mounted.find(|fields| fields.get(2) == Some(&"cgroup2"))?.get(1).map(|root| (*root).to_owned())?;
    let group = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Path::new(&root).join(group.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_make_no_sense_are_told() {
        let told = |limits: Limits| limits.enter().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(told(Limits { processors: Some(0.0), memory: None }).contains("0.01 to 1024"));
        assert!(told(Limits { processors: Some(f64::NAN), memory: None }).contains("0.01 to 1024"));
        assert!(told(Limits { processors: None, memory: Some(1) }).contains("32 MiB or more"));
        assert!(Limits::default().enter().unwrap().is_none());
    }

    #[test]
    fn the_group_is_found_where_cgroup_v2_is_mounted() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let own = "4:memory:/other\n0::/user.slice/one\n";
        assert_eq!(own_group(mounts, own).unwrap(), Path::new("/sys/fs/cgroup/unified/user.slice/one"));
        assert_eq!(own_group("proc /proc proc rw 0 0\n", own), None);
        assert_eq!(own_group(mounts, "4:memory:/other\n"), None);
    }

    #[test]
    fn a_group_without_the_controllers_is_refused_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { processors: Some(0.5), memory: Some(64 << 20) };
        let refused = limits.enter_below(folder.path(), 7).unwrap_err().to_string();
        assert!(refused.contains("have no controller \"cpu\"") && refused.contains("systemd-run"), "{refused}");
        assert!(!folder.path().join("wane-actor-7").exists());
    }
}
