//! Why a file could not be written, in the wording that all messages share.

use std::io;

/// Message about a file that exceeds the process's limit, and what can be done.
pub const FILE_TOO_LARGE: &str = "it is larger than files may be here; raise the limit (ulimit -f) and run again";

/// Why a write failed, as the end of "... cannot be written: ".
pub fn why_unwritten(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::FileTooLarge => FILE_TOO_LARGE.to_owned(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full; free some space and run again".to_owned()
        }
        _ => error.to_string(),
    }
}
