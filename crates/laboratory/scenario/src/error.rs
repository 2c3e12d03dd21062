//! Errors of a scenario: one sentence that says what is wrong, and its place.

use std::fmt;
use std::ops::Range;

use wane_units::excerpt;

/// A key, either a full path or relative to a table, and what is wrong with it.
pub(super) type Refusal = (String, String);

/// A scenario that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, the preset or `--set`.
    pub source_name: String,
    /// The key, such as `ftl.gc.d`; empty if the text is not TOML.
    pub key: String,
    /// What was found and what is allowed.
    pub message: String,
    /// The place in `text`, in bytes.
    pub span: Option<Range<usize>>,
    /// The source's text.
    pub text: String,
}

impl ScenarioError {
    /// An error that has no place in a text.
    pub(super) fn elsewhere(source_name: &str, message: String) -> Self {
        Self { source_name: source_name.to_owned(), key: String::new(), message, span: None, text: String::new() }
    }

    /// Line of `text`, from 1.
    pub fn line(&self) -> Option<usize> {
        let before = |span: &Range<usize>| self.text.bytes().take(span.start).filter(|byte| *byte == b'\n').count();
        self.span.as_ref().map(|span| before(span) + 1)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", excerpt(&self.source_name))?;
        if let Some(line) = self.line() {
            write!(f, ", line {line}")?;
        }
        if self.key.is_empty() {
            write!(f, ": {}", self.message)
        } else {
            write!(f, ": {}: {}", excerpt(&self.key), self.message)
        }
    }
}

impl std::error::Error for ScenarioError {}
