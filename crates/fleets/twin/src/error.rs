//! Errors of simulating a fleet.

use std::io;
use std::path::{Path, PathBuf};

use wane_scenario::ScenarioError;

/// An error in a fleet's file, or in the folder to write to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TwinError {
    /// The file, or the scenario of a drive.
    #[error(transparent)]
    Settings(#[from] ScenarioError),
    /// A range of drives that the fleet does not have.
    #[error("--drives {found}: {wanted}")]
    Drives {
        /// The range as given.
        found: String,
        /// What is allowed.
        wanted: String,
    },
    /// The folder holds something else.
    #[error("{}: {holds}", wane_units::excerpt_path(.folder))]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What it holds, and what to do.
        holds: String,
    },
    /// The folder holds a simulated fleet in the format of another version of wane.
    #[error("{}: has format {found}, this version of wane writes format {wanted}", wane_units::excerpt_path(.folder))]
    Format {
        /// The folder.
        folder: PathBuf,
        /// Its format.
        found: u32,
        /// The format of this version.
        wanted: u32,
    },
    /// A file cannot be read or written.
    #[error("{}: {why}", wane_units::excerpt_path(.path))]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A drive cannot be built, or its table cannot be written, although its settings were checked.
    #[error("drive {drive}: {why}")]
    Drive {
        /// Its number.
        drive: u32,
        /// What is wrong.
        why: String,
    },
    /// Threads cannot be started.
    #[error("threads cannot be started: {0}")]
    Threads(String),
}

impl TwinError {
    /// A file that could not be written.
    pub(crate) fn unwritten(path: &Path, error: &io::Error) -> Self {
        Self::File { path: path.to_owned(), why: wane_units::why_unwritten(error) }
    }
}
