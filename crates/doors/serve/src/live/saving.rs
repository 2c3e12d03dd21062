//! Saving the drive while it is served.

use serde_json::json;
use wane_journal::JournalError;
use wane_lab::kept::Kept;

use super::Live;
use crate::checkpoint::{Checkpointer, Ended};
use crate::control;
use crate::engine::Failure;

/// Bytes of a journal from which on a server saves the drive itself, for want of a second process.
const SAVE_FROM: u64 = 2 << 30;

impl Live {
    pub(super) fn tell(&self, sentence: &str) {
        (self.shared.tell)(&format!("{}: {sentence}", self.name));
    }

    /// Bytes of the journal, and of the drive's saved state.
    fn lengths(&mut self) -> (u64, u64) {
        (self.engine.journal_bytes(), self.engine.shelf.kept().map_or(0, |kept| kept.state_bytes()))
    }

    /// Whether the server is to save the drive itself, for want of a second process.
    pub(super) fn saves_itself(&mut self) -> bool {
        let Some(saving) = self.saving.as_ref().filter(|saving| !saving.has_program()) else { return false };
        // Its clients wait for it, so that it is not done after little work.
        self.engine.journal_bytes() > SAVE_FROM && saving.is_due(self.engine.journal_bytes(), 0)
    }

    /// Whether requests wait for the save in the other process.
    pub(super) fn waits_for_save(&mut self) -> bool {
        let (bytes, state) = self.lengths();
        let Some(saving) = self.saving.as_mut().filter(|saving| saving.is_too_long(bytes, state)) else { return false };
        if saving.tells() {
            self.tell(
                "requests wait until the drive is saved, as its journal has become too long to be done again soon",
            );
        }
        true
    }

    /// Begins a save in the other process if one is due, and takes note of the end of one.
    pub(super) fn look_after_save(&mut self) {
        let now = self.real.now();
        let (bytes, state) = self.lengths();
        let Some(saving) = &mut self.saving else { return };
        match saving.ended(now) {
            Some(Ended::Saved) => match self.engine.shelf.kept().map_or(Ok(()), Kept::renew) {
                Ok(()) => self.answer_savers(&Ok(json!({ "saved": true }))),
                Err(error) => self.answer_savers(&Err(error.to_string())),
            },
            Some(Ended::Failed(why)) => {
                self.tell_unsaved(&why);
            }
            None => {}
        }
        if self.saving.as_ref().is_some_and(|saving| saving.has_program() && saving.is_due(bytes, state)) {
            self.begin_save();
        }
    }

    fn answer_savers(&mut self, told: &control::Answer) {
        for waits in self.wait_for_save.drain(..) {
            let _ = waits.send(told.clone());
        }
    }

    pub(super) fn begin_save(&mut self) {
        if self.saving.as_ref().is_none_or(Checkpointer::is_running) {
            return;
        }
        let place = match self.engine.seal() {
            Ok(Some(place)) => place,
            // Without power it cannot be saved.
            Ok(None) => return,
            Err(Failure::Journal(error @ JournalError::NoRoom(_))) => return self.unsaved(&error.to_string()),
            Err(failure) => return self.fail(failure),
        };
        let now = self.real.now();
        let lock = self.engine.shelf.kept().map(|kept| kept.share_lock());
        let (Some(saving), Some(lock)) = (&mut self.saving, lock) else { return };
        if let Err(error) = lock.and_then(|lock| saving.begin(place, lock, now)) {
            self.unsaved(&error.to_string());
        }
    }

    /// A save could not begin. It is tried again later.
    fn unsaved(&mut self, why: &str) {
        if let Some(saving) = &mut self.saving {
            saving.begun_anew();
            saving.failed();
        }
        self.tell_unsaved(why);
    }

    fn tell_unsaved(&mut self, why: &str) {
        self.tell(&format!(
            "the drive is not saved meanwhile: {why}; that is tried again later, and its journal grows on"
        ));
        self.answer_savers(&Err(format!("checkpoint: {why}")));
    }

    /// Ends a save that is under way: the server is about to save the drive itself.
    pub(super) fn stop_save(&mut self) {
        if self.saving.as_mut().is_some_and(Checkpointer::stop) {
            if let Some(Err(error)) = self.engine.shelf.kept().map(Kept::renew) {
                (self.shared.tell)(&error.to_string());
            }
            self.answer_savers(&Err("checkpoint: the drive is saved otherwise".to_owned()));
        }
    }
}
