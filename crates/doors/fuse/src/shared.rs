//! The volume of a mount, which the session and the timer share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wane_fs::{Answer, FsError, Mode, Port, Volume};

use crate::evacuate::Evacuation;
use crate::{AccessTimes, Options, Tell};

/// Bytes that users write between two looks at what the device wants back.
const LOOK_AFTER: u64 = 4 << 20;

/// See the head of this file. One call at a time has the volume.
pub(crate) struct Shared<P> {
    volume: Mutex<Option<Volume<P>>>,
    /// Wakes the timer when the mount ends.
    ended: Condvar,
    /// Something was changed since the last commit.
    has_changed: AtomicBool,
    /// It was told that the device failed.
    has_told: AtomicBool,
    tell: Tell,
    commit_every: Duration,
    pub(crate) access_times: AccessTimes,
    pub(crate) block_bytes: u32,
    pub(crate) evacuation: Evacuation,
    /// Bytes that users wrote since the last look at what the device wants.
    written: AtomicU64,
}

impl<P: Port> Shared<P> {
    pub(crate) fn new(volume: Volume<P>, options: &Options) -> Self {
        Self {
            block_bytes: volume.space().block_bytes,
            volume: Mutex::new(Some(volume)),
            ended: Condvar::new(),
            has_changed: AtomicBool::new(false),
            has_told: AtomicBool::new(false),
            tell: options.tell.clone(),
            commit_every: options.commit_every,
            access_times: options.access_times,
            evacuation: Evacuation::new(options.pace, options.answer),
            written: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Volume<P>>> {
        // A call that panicked has answered EIO; what it left is checked like anything else.
        self.volume.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the volume.
    pub(crate) fn ask<T>(&self, call: impl FnOnce(&mut Volume<P>) -> Answer<T>) -> Answer<T> {
        let mut volume = self.lock();
        let volume = volume.as_mut().ok_or(FsError::Io)?;
        let answer = call(volume);
        if volume.mode() == Mode::Failed && !self.has_told.swap(true, Ordering::Relaxed) {
            (self.tell)("the device failed: nothing is changed any more, and what was not synchronized may be lost");
        }
        answer
    }

    /// Has the volume change something, which is committed in time.
    pub(crate) fn change<T>(&self, call: impl FnOnce(&mut Volume<P>) -> Answer<T>) -> Answer<T> {
        self.note_change();
        self.ask(call)
    }

    /// Something changes that is committed in time.
    pub(crate) fn note_change(&self) {
        self.has_changed.store(true, Ordering::Relaxed);
    }

    /// Users wrote N `bytes`.
    pub(crate) fn note_written(&self, bytes: u64) {
        if self.written.fetch_add(bytes, Ordering::Relaxed) + bytes >= LOOK_AFTER {
            self.written.store(0, Ordering::Relaxed);
            self.evacuation.wake();
        }
    }

    pub(crate) fn tell(&self, sentence: &str) {
        (self.tell)(sentence);
    }

    /// Commits what was changed, until the mount ends.
    pub(crate) fn commit_in_time(&self) {
        let mut volume = self.lock();
        loop {
            let waited = self.ended.wait_timeout(volume, self.commit_every).unwrap_or_else(PoisonError::into_inner);
            volume = waited.0;
            if volume.is_none() {
                return;
            }
            if self.has_changed.swap(false, Ordering::Relaxed) {
                drop(volume);
                // A failure is told once, by the call itself.
                let _ = self.ask(|volume| if volume.mode() == Mode::ReadWrite { volume.sync() } else { Ok(()) });
                volume = self.lock();
                if volume.is_none() {
                    return;
                }
            }
        }
    }

    /// Takes the volume from the mount.
    pub(crate) fn end(&self) -> Option<Volume<P>> {
        let volume = self.lock().take();
        self.ended.notify_all();
        self.evacuation.end();
        volume
    }
}
