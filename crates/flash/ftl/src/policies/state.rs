//! A policy's state: how it is saved and restored, and what a policy learns when wear was projected.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wane_registry::Builtin;
use wane_units::{BlockState, SuperblockId};

/// A policy's state as plain data, which any format of serde can write.
pub type SavedState = serde_json::Value;

/// Why a policy cannot restore a saved state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The policy does not implement `restore`.
    #[error("the policy cannot take up a saved state, since it does not implement `restore`")]
    Unsupported,
    /// Another policy saved the state.
    #[error("the state was saved by policy \"{found}\", and this is \"{wanted}\"")]
    AnotherPolicy {
        /// Name of the policy that saved it.
        found: String,
        /// Name of the policy that should restore it.
        wanted: &'static str,
    },
    /// The state is damaged.
    #[error("the state is damaged: {0}")]
    Damaged(String),
}

/// A domain's blocks after a projection of wear, or at the start of a drive whose blocks were erased before. Their erase counts
/// differ from those that policies heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectedWear<'a> {
    /// The first block.
    pub first: SuperblockId,
    /// Erases of each block, starting with `first`.
    pub erase_count: &'a [u32],
    /// State of each block.
    pub states: &'a [BlockState],
}

impl ProjectedWear<'_> {
    /// Returns the blocks, each with its erases and its state.
    pub fn blocks(&self) -> impl Iterator<Item = (SuperblockId, u32, BlockState)> {
        debug_assert_eq!(self.erase_count.len(), self.states.len(), "a block has an erase count and a state");
        let counts = self.erase_count.iter().zip(self.states);
        (self.first.0..).map(SuperblockId).zip(counts).map(|(block, (erases, state))| (block, *erases, *state))
    }
}

/// Saves a built-in policy: all of its fields, under its name.
pub(crate) fn saved<P: Builtin + Serialize>(policy: &P) -> SavedState {
    let state = serde_json::to_value(policy).expect("a policy is plain data");
    serde_json::json!({ "policy": P::NAME, "state": state })
}

/// Restores a built-in policy from what [`saved`] returned.
pub(crate) fn restored<P: Builtin + DeserializeOwned>(saved: &SavedState) -> Result<P, StateError> {
    let found = saved.get("policy").and_then(SavedState::as_str).unwrap_or_default();
    if found != P::NAME {
        return Err(StateError::AnotherPolicy { found: found.to_owned(), wanted: P::NAME });
    }
    let state = saved.get("state").cloned().unwrap_or_default();
    serde_json::from_value(state).map_err(|error| StateError::Damaged(error.to_string()))
}

/// The methods of a policy's trait that concern its state.
macro_rules! remembers {
    () => {
        /// Returns the policy's state with its parameters, so that a new policy can continue from there as this one would. `None`:
        /// the policy cannot be saved, nor can a drive that uses it.
        fn save(&self) -> Option<$crate::policies::SavedState> {
            None
        }

        /// Restores what [`Self::save`] returned, on a drive of the same shape.
        ///
        /// # Errors
        /// Another policy saved the state, the state is damaged, or the policy does not implement this.
        fn restore(&mut self, _saved: &$crate::policies::SavedState) -> Result<(), $crate::policies::StateError> {
            Err($crate::policies::StateError::Unsupported)
        }

        /// Tells the policy that erase counts were projected or, right after it began, that the blocks are not new. The policy must
        /// recompute all that it derived from erase counts.
        fn resync(&mut self, _wear: &$crate::policies::ProjectedWear<'_>) {}
    };
}

/// The same methods for a built-in policy: serde writes and reads all of its fields.
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
