//! What can go wrong, each as one sentence, with what a caller would do differently about it.

use crate::RingId;

/// Why something was not done.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ActorError {
    /// What was asked for is wrong, or not allowed.
    #[error("{0}")]
    Invalid(String),
    /// Whoever asked does not know the secret.
    #[error("{0}")]
    Unauthorized(String),
    /// There is no such object, share or upload.
    #[error("{0}")]
    Missing(String),
    /// Whoever asked has another list of members.
    #[error("{0}")]
    Stale(String),
    /// A share's checksum is not that of its bytes.
    #[error("{0}")]
    Rotten(String),
    /// Shares are on the move: in some seconds it can be done.
    #[error("{0}")]
    Moving(String),
    /// Drives do not answer, or fail at what they are asked for.
    #[error("{what}")]
    Unreachable {
        /// The sentence.
        what: String,
        /// The drives.
        drives: Vec<RingId>,
    },
    /// Too few shares are left to decode an object, or too few drives to keep what is asked for.
    #[error("{0}")]
    Lost(String),
    /// The drive has no room, or has worn out.
    #[error("{0}")]
    Full(String),
    /// The system refuses, or the other side says what it never should.
    #[error("{0}")]
    System(String),
}

impl ActorError {
    /// A system's refusal to change a file, or to lock it.
    pub(crate) fn file(path: &std::path::Path, doing: &str, error: &std::io::Error) -> Self {
        let (path, why) = (wane_units::excerpt_path(path), wane_units::why_unwritten(error));
        Self::System(format!("{path} cannot be {doing}: {why}"))
    }
    /// A system's refusal to read a file.
    pub(crate) fn unread(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::System(format!("{} cannot be read: {error}", wane_units::excerpt_path(path)))
    }
}
