//! `manifest.json`: which files and runs in a folder belong together.
//!
//! A folder belongs to one command. Its manifest names the files of that command with their hashes and, if it ran
//! several scenarios, the folders of their results. Only named files are read. While results are replaced, the
//! manifest also says where the new ones are: at the moment when it is written they replace the old ones.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use wane_units::Fnv;

use super::ResultError;

/// The file's name.
pub(super) const MANIFEST: &str = "manifest.json";

/// Prefix of the names of folders with new results.
pub(super) const STAGING: &str = ".next-";

/// The value of the first key, which tells our file from another program's file of this name.
const FORMAT: &str = "wane-results-1";

/// The command that a folder belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MadeBy {
    /// One run.
    Run,
    /// One scenario with several seeds.
    Seeds,
    /// A grid of scenarios.
    Sweep,
    /// The demo's three runs.
    Demo,
    /// An array, whose drives each have results.
    Array,
}

impl MadeBy {
    /// The results of the command, in words.
    pub(super) const fn in_words(self) -> &'static str {
        match self {
            Self::Run => "a single run",
            Self::Seeds => "several seeds of one scenario",
            Self::Sweep => "a sweep",
            Self::Demo => "the demo",
            Self::Array => "an array",
        }
    }
}

/// The contents of the traces that a run reads.
///
/// The hash of a scenario covers only the names of its traces. Scenario and contents together decide the results.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inputs {
    /// The run reads no traces.
    #[default]
    Nothing,
    /// The hash of their contents, as 16 hexadecimal digits.
    Hash(String),
    /// They cannot be read twice, or changed during the run.
    Unknown,
}

/// One of several runs: the folder of its results, and what decides them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The folder's name.
    pub folder: String,
    /// Hash of its scenario.
    pub scenario: String,
    /// The contents of its traces.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub inputs: Inputs,
}

fn is_nothing(inputs: &Inputs) -> bool {
    *inputs == Inputs::Nothing
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: String,
    pub(super) command: MadeBy,
    /// Hashes of the files in the folder itself, by name.
    pub(super) files: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub(super) inputs: Inputs,
    /// Whether the user stopped the command before its results were whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) interrupted: bool,
    /// The members, in the order in which reports show them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) members: Vec<Member>,
    /// The folder from which new files and members are being moved to their places. Its content counts already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) staged: Option<String>,
    /// Members of the previous command, which are deleted once the new ones are in their places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) superseded: Vec<String>,
}

impl Manifest {
    pub(super) fn new(command: MadeBy, inputs: Inputs, members: Vec<Member>) -> Self {
        let format = FORMAT.to_owned();
        Self {
            format,
            command,
            files: BTreeMap::new(),
            inputs,
            interrupted: false,
            members,
            staged: None,
            superseded: Vec::new(),
        }
    }

    /// The same of results that are whole, or not.
    pub(super) fn marked(self, interrupted: bool) -> Self {
        Self { interrupted, ..self }
    }

    /// Adds a file of the folder with its hash.
    pub(super) fn add_file(&mut self, name: &str, bytes: &[u8]) {
        self.files.insert(name.to_owned(), Fnv::of(bytes).hex());
    }

    /// The manifest in a folder, if it has one.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, ResultError> {
        let path = folder.join(MANIFEST);
        let unreadable = |reason: String| ResultError::Unreadable { path: path.clone(), reason };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(unreadable(error.to_string())),
        };
        let manifest: Self = serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if manifest.format != FORMAT {
            let found = wane_units::excerpt(&manifest.format);
            return Err(unreadable(format!("its format is '{found}'; this version of wane reads '{FORMAT}'")));
        }
        let folders = manifest.members.iter().map(|member| &member.folder).chain(&manifest.superseded);
        match folders.chain(manifest.files.keys()).find(|name| !is_name(name) || name.starts_with('.')) {
            Some(name) => Err(unreadable(format!("it names '{}', which is no name", wane_units::excerpt(name)))),
            None => match &manifest.staged {
                Some(name) if !is_name(name) || !name.starts_with(STAGING) => {
                    Err(unreadable(format!("it names '{}', which is no name", wane_units::excerpt(name))))
                }
                _ => Ok(Some(manifest)),
            },
        }
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut text = serde_json::to_string_pretty(self).expect("texts and lists are JSON");
        text.push('\n');
        text.into_bytes()
    }

    /// The present path of a file or member.
    pub(super) fn place(&self, folder: &Path, name: &str) -> PathBuf {
        let staged = self.staged.as_ref().map(|staging| folder.join(staging).join(name));
        staged.filter(|path| path.exists()).unwrap_or_else(|| folder.join(name))
    }
}

/// Whether the text is a plain name within a folder, without a path.
fn is_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == text)
}
