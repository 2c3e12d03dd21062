//! Printing that survives a closed pipe, and failures that become one sentence and an exit code.

use std::io::{self, IsTerminal, Read, Write};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Severity};
use wane_lab::scenario::ScenarioError;

use crate::{DONE, INTERRUPTED, WRONG};

/// Why a command stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user's input is wrong: one sentence.
    Wrong(String),
    /// A scenario is wrong, and where.
    Scenario(Box<ScenarioError>),
    /// Whoever reads the output has gone: nothing is wrong.
    ClosedPipe,
}

impl Failure {
    /// A sentence made of an error.
    pub(crate) fn wrong(error: impl std::fmt::Display) -> Self {
        Self::Wrong(error.to_string())
    }

    /// Says what is wrong; returns the exit code.
    pub(crate) fn report(&self) -> i32 {
        match self {
            Self::ClosedPipe => return DONE,
            Self::Wrong(sentence) => tell(&format!("wane: {sentence}")),
            Self::Scenario(error) => report_scenario(error),
        }
        WRONG
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(Box::new(error))
    }
}

/// On a terminal the place is drawn under its sentence.
fn report_scenario(error: &ScenarioError) {
    tell(&format!("wane: {error}"));
    let Some(span) = error.span.clone().filter(|_| io::stderr().is_terminal()) else { return };
    let label = LabeledSpan::at(span, error.message.clone());
    let diagnostic = MietteDiagnostic::new(error.key.clone()).with_severity(Severity::Error).with_label(label);
    let report =
        miette::Report::new(diagnostic).with_source_code(NamedSource::new(&error.source_name, error.text.clone()));
    let theme = if std::env::var_os("NO_COLOR").is_some() {
        GraphicalTheme::unicode_nocolor()
    } else {
        GraphicalTheme::unicode()
    };
    let mut drawn = String::new();
    if GraphicalReportHandler::new_themed(theme).render_report(&mut drawn, report.as_ref()).is_ok() {
        tell(drawn.trim_end());
    }
}

/// Says a line on stderr. Where nobody listens nothing is said: that is no reason to fail.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Prints text to stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::wrong(format!("stdout: {error}")),
    })
}

/// Most bytes of a text that is read whole: a scenario, a preset, a page. They have a few pages.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// The text of a file; `-` is stdin. Its name is for messages.
pub(crate) fn read_text(path: &Path) -> Result<(String, String), Failure> {
    let (name, opened): (String, io::Result<Box<dyn Read>>) = if path == Path::new("-") {
        ("stdin".to_owned(), Ok(Box::new(io::stdin())))
    } else {
        (path.display().to_string(), std::fs::File::open(path).map(|file| Box::new(file) as Box<dyn Read>))
    };
    let unreadable = |error: io::Error| Failure::wrong(format!("{name}: cannot be read: {error}"));
    let mut bytes = Vec::new();
    opened.and_then(|file| file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        let most = wane_units::Bytes(TEXT_BYTES_MAX);
        return Err(Failure::wrong(format!("{name}: has more than {most}, allowed are at most {most} of text")));
    }
    let no_text = |_| unreadable(io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"));
    let text = String::from_utf8(bytes).map_err(no_text)?;
    Ok((name, text))
}

/// The temporary file of the present [`write_file`].
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Forgets the temporary file when it is finished or gone.
struct Unfinished;

impl Drop for Unfinished {
    fn drop(&mut self) {
        *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Ends the process as interrupted, from any thread, and leaves no half-written file.
pub(crate) fn exit_interrupted() -> ! {
    // Held to the end, so that no file is begun meanwhile.
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*unfinished {
        let _ = std::fs::remove_file(path);
    }
    std::process::exit(INTERRUPTED)
}

/// Writes a file whole or not at all. What is no plain file, such as a pipe, is written as it is.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let wrong = |error: io::Error| Failure::wrong(format!("{}: cannot be written: {error}", path.display()));
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return write(&mut std::fs::OpenOptions::new().write(true).open(path).map_err(wrong)?);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // A temporary file is its owner's alone; a result is for whoever the umask allows.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let (mut file, _unfinished) = {
        let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let file = builder.tempfile_in(folder).map_err(wrong)?;
        *unfinished = Some(file.path().to_owned());
        (file, Unfinished)
    };
    write(&mut file)?;
    file.as_file().sync_data().map_err(wrong)?;
    file.persist(path).map_err(|error| wrong(error.error))?;
    Ok(())
}

/// Writes text as [`write_file`] does.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    write_file(path, |file| {
        let written = file.write_all(text.as_bytes());
        written.map_err(|error| Failure::wrong(format!("{}: cannot be written: {error}", path.display())))
    })
}

/// What a panic said.
pub(crate) fn panic_text(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// JSON for people, with a newline behind it.
pub(crate) fn pretty(value: &impl serde::Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(value).map_err(Failure::wrong)? + "\n")
}

/// Adds a line of a summary for people.
pub(crate) fn line(text: &mut String, name: &str, value: &str) {
    *text += &format!("{name:<16} {value}\n");
}
