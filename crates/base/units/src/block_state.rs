//! The state of a block, which the firmware knows and results name and keep.

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// Erased and waiting to be opened.
    Free,
    /// Being written.
    Open,
    /// Fully written; garbage collection may take it.
    Closed,
    /// Out of service.
    Retired,
}

impl BlockState {
    /// Every state, in the order of the enum.
    pub const ALL: [Self; 4] = [Self::Free, Self::Open, Self::Closed, Self::Retired];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Retired => "retired",
        }
    }

    /// The inverse of [`BlockState::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_found_by_its_name_and_nothing_else_is() {
        for state in BlockState::ALL {
            assert_eq!(BlockState::from_name(state.name()), Some(state));
        }
        assert_eq!(BlockState::from_name("bad"), None);
    }
}
