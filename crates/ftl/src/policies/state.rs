//! What policies remember: how it is saved and taken up again, and what they are told when wear was projected.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wane_registry::Builtin;
use wane_units::{BlockState, SuperblockId};

/// What a policy remembers, as plain data that any format of serde can write.
pub type SavedState = serde_json::Value;

/// A saved state that a policy cannot take up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The policy has no way to do it.
    #[error("the policy cannot take up a saved state, since it does not implement `restore`")]
    Unsupported,
    /// It was saved by another policy.
    #[error("the state was saved by policy \"{found}\", and this is \"{wanted}\"")]
    AnotherPolicy {
        /// Who saved it.
        found: String,
        /// Who was to take it up.
        wanted: &'static str,
    },
    /// It is damaged.
    #[error("the state is damaged: {0}")]
    Damaged(String),
}

/// A domain's blocks after their wear was projected, or at the start of a drive whose blocks were erased before: their erase
/// counts are other than what policies heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectedWear<'a> {
    /// The first block.
    pub first: SuperblockId,
    /// Erases of each block, the first one's first.
    pub erase_count: &'a [u32],
    /// Where each block stands.
    pub states: &'a [BlockState],
}

impl ProjectedWear<'_> {
    /// The blocks, each with its erases and where it stands.
    pub fn blocks(&self) -> impl Iterator<Item = (SuperblockId, u32, BlockState)> {
        debug_assert_eq!(self.erase_count.len(), self.states.len(), "a block has an erase count and a state");
        let counts = self.erase_count.iter().zip(self.states);
        (self.first.0..).map(SuperblockId).zip(counts).map(|(block, (erases, state))| (block, *erases, *state))
    }
}

/// A built-in's state: all of its fields, under its name.
pub(crate) fn saved<P: Builtin + Serialize>(policy: &P) -> SavedState {
    let state = serde_json::to_value(policy).expect("a policy is plain data");
    serde_json::json!({ "policy": P::NAME, "state": state })
}

/// The built-in that [`saved`] gave a state.
pub(crate) fn restored<P: Builtin + DeserializeOwned>(saved: &SavedState) -> Result<P, StateError> {
    let found = saved.get("policy").and_then(SavedState::as_str).unwrap_or_default();
    if found != P::NAME {
        return Err(StateError::AnotherPolicy { found: found.to_owned(), wanted: P::NAME });
    }
    let state = saved.get("state").cloned().unwrap_or_default();
    serde_json::from_value(state).map_err(|error| StateError::Damaged(error.to_string()))
}

/// The part of a policy's trait that is about its state.
macro_rules! remembers {
    () => {
        /// What the policy remembers, its parameters included, so that a new one goes on from there as this one would. `None`:
        /// it cannot be saved, and neither can a drive that has it.
        fn save(&self) -> Option<$crate::policies::SavedState> {
            None
        }

        /// Takes up what [`Self::save`] gave, on a drive of the same shape.
        ///
        /// # Errors
        /// The state is another policy's or damaged, or the policy cannot do it.
        fn restore(&mut self, _saved: &$crate::policies::SavedState) -> Result<(), $crate::policies::StateError> {
            Err($crate::policies::StateError::Unsupported)
        }

        /// Hears that erase counts were projected, or right after it began that the blocks are not new. What the policy derived
        /// from erase counts is to be derived again.
        fn resync(&mut self, _wear: &$crate::policies::ProjectedWear<'_>) {}
    };
}

/// That part, for a built-in: serde writes and reads all of it.
macro_rules! remembered_by_serde {
    () => {
        fn save(&self) -> Option<$crate::policies::SavedState> {
            Some($crate::policies::state::saved(self))
        }

        fn restore(&mut self, saved: &$crate::policies::SavedState) -> Result<(), $crate::policies::StateError> {
            *self = $crate::policies::state::restored(saved)?;
            Ok(())
        }
    };
}

pub(crate) use {remembered_by_serde, remembers};
