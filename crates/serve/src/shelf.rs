//! The drive that is served: one that is kept in a folder, or one that is made for the session.

use std::ops::{Deref, DerefMut};

use wane_journal::Journal;
use wane_lab::held::Held;
use wane_lab::kept::Kept;

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
            Self::Kept(kept) => Ok(Some(kept.journal()?)),
            Self::Scratch(_) => Ok(None),
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
