//! What calls of a file system answer when they cannot do what they are asked.

/// Why a call fails, by the names of POSIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum FsError {
    /// ENOENT
    #[error("no such file or directory")]
    NotFound,
    /// EIO
    #[error("the device lost it, or gave other bytes than were written")]
    Io,
    /// EEXIST
    #[error("there is one of that name")]
    Exists,
    /// ENOTDIR
    #[error("is no directory")]
    NotDirectory,
    /// EISDIR
    #[error("is a directory")]
    IsDirectory,
    /// EINVAL
    #[error("not allowed here")]
    Invalid,
    /// EFBIG
    #[error("larger than a file can be")]
    TooLarge,
    /// ENOSPC
    #[error("no space")]
    NoSpace,
    /// EROFS
    #[error("the file system is read-only")]
    ReadOnly,
    /// EMLINK
    #[error("too many links")]
    TooManyLinks,
    /// ENAMETOOLONG
    #[error("the name is too long")]
    NameTooLong,
    /// ENOTEMPTY
    #[error("the directory is not empty")]
    NotEmpty,
    /// ENODATA
    #[error("no such attribute")]
    NoAttribute,
    /// ENXIO
    #[error("nothing there from this offset on")]
    NothingThere,
    /// EPERM
    #[error("not permitted")]
    NotPermitted,
    /// ERANGE
    #[error("the buffer is too small")]
    BufferTooSmall,
    /// EOPNOTSUPP
    #[error("not supported")]
    NotSupported,
    /// EBUSY
    #[error("in use")]
    Busy,
}

impl FsError {
    /// Linux's number of it.
    pub const fn errno(self) -> i32 {
        match self {
            Self::NotPermitted => 1,
            Self::NotFound => 2,
            Self::Io => 5,
            Self::NothingThere => 6,
            Self::Busy => 16,
            Self::Exists => 17,
            Self::NotDirectory => 20,
            Self::IsDirectory => 21,
            Self::Invalid => 22,
            Self::TooLarge => 27,
            Self::NoSpace => 28,
            Self::ReadOnly => 30,
            Self::TooManyLinks => 31,
            Self::BufferTooSmall => 34,
            Self::NameTooLong => 36,
            Self::NotEmpty => 39,
            Self::NoAttribute => 61,
            Self::NotSupported => 95,
        }
    }
}

/// What a call answers.
pub type Answer<T> = Result<T, FsError>;
