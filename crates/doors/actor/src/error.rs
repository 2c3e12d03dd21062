//! Errors of this crate, each with a one-sentence message. The variants tell callers apart what to do next.

use crate::RingId;

/// Why a request failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ActorError {
    /// The request is wrong, or not allowed.
    #[error("{0}")]
    Invalid(String),
    /// The sender does not know the secret.
    #[error("{0}")]
    Unauthorized(String),
    /// There is no such object, share or upload.
    #[error("{0}")]
    Missing(String),
    /// The sender has another list of members.
    #[error("{0}")]
    Stale(String),
    /// A share's bytes do not match its checksum.
    #[error("{0}")]
    Rotten(String),
    /// Shares are on the move: try again in some seconds.
    #[error("{0}")]
    Moving(String),
    /// Drives do not answer, or fail at the request.
    #[error("{what}")]
    Unreachable {
        /// The sentence.
        what: String,
        /// The drives.
        drives: Vec<RingId>,
    },
    /// Too few shares are left to decode an object, or too few drives to keep its shares.
    #[error("{0}")]
    Lost(String),
    /// The drive has no room, or has worn out.
    #[error("{0}")]
    Full(String),
    /// The system refuses, or the other side sends what it never should.
    #[error("{0}")]
    System(String),
}

impl ActorError {
    /// The system's refusal to change or lock a file.
    pub(crate) fn file(path: &std::path::Path, doing: &str, error: &std::io::Error) -> Self {
        let (path, why) = (wane_units::excerpt_path(path), wane_units::why_unwritten(error));
        Self::System(format!("{path} cannot be {doing}: {why}"))
    }
    /// The system's refusal to read a file.
    pub(crate) fn unread(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::System(format!("{} cannot be read: {error}", wane_units::excerpt_path(path)))
    }
}
