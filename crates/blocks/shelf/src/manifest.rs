//! The manifest of a drive's folder, a text that a person can read.

use serde::{Deserialize, Serialize};
use wane_journal::{Lineage, Place};

/// Name of the manifest.
pub const MANIFEST: &str = "drive.json";

/// Version of the folder's format. A folder of a later version is refused.
pub const VERSION: u32 = 4;

/// Most saves of a drive: at one a nanosecond it takes centuries. There is always a next number.
const SAVES_MAX: u64 = u64::MAX - 1;

/// The manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`VERSION`] of the wane that wrote it.
    pub version: u32,
    /// The version of wane that wrote it.
    pub wane: String,
    /// The drive's configuration, and the last workload that aged it: a scenario with every key, in TOML. The position in the
    /// workload is in the state.
    pub scenario: String,
    /// Number of workloads before this one.
    pub workloads: u32,
    /// What was done to the drive, in sentences.
    pub history: Vec<String>,
    /// Hash of the places where it and those it was forked from were made, which sets it apart from other drives of its scenario. Empty: it was
    /// made before drives had one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The valid state file.
    pub stored: Stored,
    /// Earlier state files that hold pieces of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Stored>,
    /// Where the journal begins of what was done to the drive since this save; `None`: nothing was, or nothing is left of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<JournalStart>,
    /// Mapping units that its preconditioning has written, while that is not at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<u64>,
    /// CRC-32 of all this with 0 in its own place, as [`serde_json::to_string`] writes it.
    pub(crate) checksum: u32,
}

/// A state file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// Its name in the folder.
    pub file: String,
    /// Number of the save, counted from 1.
    pub number: u64,
    /// Its length.
    pub bytes: u64,
    /// [`wane_archive::Pieces::digest`] of its contents.
    pub digest: u32,
}

/// A journal, and where a drive goes on in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalStart {
    /// What sets it apart from the journals of other drives.
    pub device: u64,
    /// The last segment of each drive from which it was forked, and what set that one apart; the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<(u64, u64)>,
    /// The first record since the save.
    pub place: Place,
    /// Its owner wants to do it again: only what cannot be in it ends it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stays: bool,
}

impl JournalStart {
    /// That of a lineage, from a place on.
    pub fn new(lineage: Lineage, place: Place) -> Self {
        let Lineage { device, before } = lineage;
        Self { device, before, place, stays: false }
    }

    /// Whose segments it has.
    pub fn lineage(&self) -> Lineage {
        Lineage { device: self.device, before: self.before.clone() }
    }
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is not JSON of this kind.
    #[error("it is not what wane writes: {0}")]
    Malformed(serde_json::Error),
    /// Its version is a later one.
    #[error("it has version {0}; this wane reads versions up to {VERSION}, so use a later one")]
    Later(u64),
    /// It was edited.
    #[error("its checksum does not agree with it: the file is damaged, or was edited")]
    Damaged,
    /// It counts more saves than are possible.
    #[error("it says that the drive was saved {0} times: the file was edited")]
    Number(u64),
    /// It names a file outside its folder.
    #[error("it names the state file \"{0}\", which is not in its folder")]
    Outside(String),
}

impl Manifest {
    /// Makes the manifest of a new drive with this `scenario`.
    pub fn new(scenario: String) -> Self {
        Self {
            version: VERSION,
            wane: env!("CARGO_PKG_VERSION").to_owned(),
            scenario,
            workloads: 0,
            history: Vec::new(),
            label: String::new(),
            stored: Stored::default(),
            shares: Vec::new(),
            journal: None,
            unfinished: None,
            checksum: 0,
        }
    }

    /// Every state file that is needed.
    pub(crate) fn states(&self) -> impl Iterator<Item = &Stored> {
        self.shares.iter().chain([&self.stored])
    }

    fn right_checksum(&self) -> u32 {
        let bare = Self { checksum: 0, ..self.clone() };
        crc32fast::hash(serde_json::to_string(&bare).expect("a manifest is plain data").as_bytes())
    }

    pub(crate) fn text(&self) -> String {
        let whole = Self { checksum: self.right_checksum(), ..self.clone() };
        serde_json::to_string_pretty(&whole).expect("a manifest is plain data") + "\n"
    }

    /// Parses a manifest.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(ManifestError::Malformed)?;
        // First of all, because a later version may have other fields.
        if let Some(version) = value.get("version").and_then(serde_json::Value::as_u64)
            && version > u64::from(VERSION)
        {
            return Err(ManifestError::Later(version));
        }
        let found: Self = serde_json::from_value(value).map_err(ManifestError::Malformed)?;
        if found.checksum != found.right_checksum() {
            return Err(ManifestError::Damaged);
        }
        if let Some(stored) = found.states().find(|stored| stored.number > SAVES_MAX) {
            return Err(ManifestError::Number(stored.number));
        }
        let is_outside = |stored: &&Stored| stored.file != format!("state.{}", stored.number);
        if let Some(stored) = found.states().find(is_outside) {
            return Err(ManifestError::Outside(stored.file.clone()));
        }
        Ok(found)
    }
}
