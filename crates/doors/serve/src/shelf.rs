//! The drive that is served: one that is kept in a folder, or one that is made for the session.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use wane_journal::{Journal, JournalError};
use wane_lab::held::Held;
use wane_lab::kept::{Kept, KeptError};
use wane_units::excerpt_path;

use crate::ServeError;

/// A served drive.
pub(crate) enum Shelf {
    /// It is saved in its folder.
    Kept(Box<Kept>),
    /// It is gone when the server ends.
    Scratch(Box<Held>),
}

impl Shelf {
    /// Saves it, if it is kept. `note` says in a sentence what was done to it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn save(&mut self, note: String) -> Result<(), ServeError> {
        match self {
            Self::Kept(kept) => Ok(kept.save(note)?),
            Self::Scratch(_) => Ok(()),
        }
    }

    /// Saves it in the middle of its journal, if it is kept.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn save_beside(&mut self, note: String, journal: &mut Journal) -> Result<(), ServeError> {
        match self {
            Self::Kept(kept) => Ok(kept.save_beside(note, journal)?),
            Self::Scratch(_) => Ok(()),
        }
    }

    /// The journal of what is done to it from now on. A drive that is gone afterwards has none.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn journal(&mut self) -> Result<Option<Journal>, ServeError> {
        match self {
            Self::Kept(kept) => match kept.journal() {
                Ok(journal) => Ok(Some(journal)),
                Err(error @ KeptError::Journal(_, JournalError::NoRoom(_))) => Err(ServeError::NoRoom(Box::new(error))),
                Err(error) => Err(error.into()),
            },
            Self::Scratch(_) => Ok(None),
        }
    }

    /// Makes another drive of what this one is now, while it goes on with its journal.
    ///
    /// # Errors
    /// It has none, something is there, or the system refuses.
    pub(crate) fn fork(&self, to: &Path, journal: Option<&mut Journal>) -> Result<(), ServeError> {
        match (self, journal) {
            (Self::Kept(kept), Some(journal)) => Ok(kept.fork_live(to, journal)?),
            _ => Err(ServeError::NoFork(excerpt_path(to))),
        }
    }

    /// The drive, if it is kept.
    pub(crate) fn kept(&mut self) -> Option<&mut Kept> {
        match self {
            Self::Kept(kept) => Some(kept),
            Self::Scratch(_) => None,
        }
    }

    /// What sets it apart from other drives of its scenario.
    pub(crate) fn label(&self) -> &str {
        match self {
            Self::Kept(kept) => kept.label(),
            Self::Scratch(_) => "",
        }
    }
}

impl Deref for Shelf {
    type Target = Held;

    fn deref(&self) -> &Held {
        match self {
            Self::Kept(kept) => kept,
            Self::Scratch(held) => held,
        }
    }
}

impl DerefMut for Shelf {
    fn deref_mut(&mut self) -> &mut Held {
        match self {
            Self::Kept(kept) => kept,
            Self::Scratch(held) => held,
        }
    }
}
