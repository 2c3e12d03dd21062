//! A drive whose disk takes nothing. This is the only test of its file, as the limit that stands for a full disk holds for the whole process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod served;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use served::{Drives, bytes, get, options, put, until};

#[test]
fn a_drive_on_a_full_disk_serves_what_it_has() {
    let mut drives = Drives::new(2);
    let content = bytes(5000, 1);
    put(&drives.client(), "a", &content, options("1+1", 1024)).unwrap();
    drives.stop(1);
    // The signal would end the process: with a handler the write fails instead.
    let signal = signal_hook::flag::register(25, Arc::new(AtomicBool::new(false))).unwrap();
    let before = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: Some(0), ..before }).unwrap();
    // On another port, so that its list changes.
    drives.start(1);
    let (read, status) = (get(&drives.client(), "a"), drives.status(1));
    let refused = put(&drives.client(), "b", &content, options("1+1", 1024)).map(drop);
    let learned = drives.client().members().version();
    setrlimit(Resource::Fsize, before).unwrap();
    signal_hook::low_level::unregister(signal);
    assert_eq!(read.unwrap(), content);
    assert!(status.unsaved.as_ref().is_some_and(|why| why.contains("members.json cannot be written")), "{status:?}");
    assert!(refused.is_err(), "what it cannot write it does not take");
    until("the list is written", || drives.status(1).unsaved.is_none());
    drives.stop(1);
    drives.start(1);
    assert!(drives.client().members().version() >= learned);
    assert_eq!(get(&drives.client(), "a").unwrap(), content);
}
