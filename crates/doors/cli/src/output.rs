//! Output that survives a closed pipe, and failures that become one sentence and an exit code.

use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::panic::PanicHookInfo;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Severity};
use wane_scenario::ScenarioError;
use wane_units::{did_you_mean, excerpt, excerpt_path, printable, steers, why_unwritten};
use wane_workload::trace::{Options, Reader};

use crate::progress::RemovedAtExit;
use crate::{DONE, INTERRUPTED, WRONG};

/// Most characters of a file's name in its temporary file's name, whose length the system limits.
const TEMPORARY_CHARS: usize = 40;

/// Why a command stops.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user's input is wrong: one sentence.
    Wrong(String),
    /// A scenario is wrong, and where.
    Scenario(Box<ScenarioError>),
    /// The user stopped the command before it had done anything.
    Interrupted(String),
    /// The reader of the output has gone: nothing is wrong.
    ClosedPipe,
}

impl Failure {
    /// Makes a failure whose sentence is the error's.
    pub(crate) fn wrong(error: impl std::fmt::Display) -> Self {
        Self::Wrong(error.to_string())
    }

    /// Says what is wrong; returns the exit code.
    pub(crate) fn report(&self) -> i32 {
        match self {
            Self::ClosedPipe => return DONE,
            Self::Wrong(_) => tell(&format!("wane: {self}")),
            Self::Interrupted(_) => {
                tell(&format!("wane: {self}"));
                return INTERRUPTED;
            }
            Self::Scenario(error) => report_scenario(error),
        }
        WRONG
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ClosedPipe => write!(f, "the reader of the output has gone"),
            Self::Wrong(sentence) | Self::Interrupted(sentence) => write!(f, "{}", escaped(sentence)),
            Self::Scenario(error) => write!(f, "{}", escaped(&error.to_string())),
        }
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(Box::new(error))
    }
}

/// Escapes the letters of a sentence that would steer a terminal, which come from parts that [`excerpt`] did not quote.
pub fn escaped(sentence: &str) -> String {
    let escape = |letter: char| if steers(letter) { letter.escape_default().to_string() } else { letter.into() };
    sentence.chars().map(escape).collect()
}

/// Makes the failure for an unknown name. It lists each known name once, even if several lists hold it.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> Failure {
    let mut told: Vec<&str> = Vec::new();
    for name in known {
        if !told.contains(name) {
            told.push(name);
        }
    }
    debug_assert!(!told.contains(&name), "{name} is one of the names that are known");
    let hint = did_you_mean(name, &told);
    Failure::wrong(format!("no {what} \"{}\"; there are {}{hint}", excerpt(name), told.join(", ")))
}

/// Shortens the arguments that a usage error quotes, as every message does.
pub(crate) fn shorten(error: &mut clap::Error) {
    let shortened = error.context().filter_map(|(kind, value)| {
        let short = match value {
            ContextValue::String(text) => ContextValue::String(excerpt(text).to_string()),
            ContextValue::Strings(texts) => {
                ContextValue::Strings(texts.iter().map(|text| excerpt(text).to_string()).collect())
            }
            _ => return None,
        };
        (short != *value).then_some((kind, short))
    });
    let shortened: Vec<(ContextKind, ContextValue)> = shortened.collect();
    // The advice quotes the argument again, with styles around it. It suggests giving an option as a value, which no user wants.
    if !shortened.is_empty() || error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    for (kind, short) in shortened {
        error.insert(kind, short);
    }
}

/// Reports a scenario's error. On a terminal, draws the place below the sentence.
fn report_scenario(error: &ScenarioError) {
    tell(&format!("wane: {}", escaped(&error.to_string())));
    let Some(span) = error.span.clone().filter(|_| io::stderr().is_terminal()) else { return };
    let label = LabeledSpan::at(span, error.message.clone());
    let diagnostic = MietteDiagnostic::new(error.key.clone()).with_severity(Severity::Error).with_label(label);
    let source = NamedSource::new(&error.source_name, still(&error.text));
    let report = miette::Report::new(diagnostic).with_source_code(source);
    let theme = if std::env::var_os("NO_COLOR").is_some() {
        GraphicalTheme::unicode_nocolor()
    } else {
        GraphicalTheme::unicode()
    };
    let mut drawn = String::new();
    if GraphicalReportHandler::new_themed(theme).render_report(&mut drawn, report.as_ref()).is_ok() {
        // The drawing's own colors reach the terminal.
        let _ = writeln!(io::stderr().lock(), "{}", drawn.trim_end());
    }
}

/// The text with a sign of the same length for each letter that would steer a terminal, so that its spans stay true.
fn still(text: &str) -> String {
    let sign = |letter: char| match letter.len_utf8() {
        _ if !steers(letter) || matches!(letter, '\n' | '\t' | '\r') => letter.to_string(),
        3 => char::REPLACEMENT_CHARACTER.to_string(),
        bytes => "?".repeat(bytes),
    };
    text.chars().map(sign).collect()
}

/// Writes a line to stderr. A closed stderr is no reason to fail.
pub(crate) fn tell(line: &str) {
    debug_assert!(!line.is_empty() && !line.ends_with('\n'), "a line is told without its end: {line:?}");
    let _ = writeln!(io::stderr().lock(), "{}", printable(line));
}

/// Prints text to stdout, on which no terminal acts: names and serial numbers come from elsewhere.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let text = printable(text);
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => unwritable(Path::new("stdout"), &error),
    })
}

/// TOML with its literal strings written as basic ones where they hold letters that would steer a terminal, since only basic strings have escapes.
pub(crate) fn still_toml(text: &str) -> String {
    let mut still = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', '#']) {
        let (before, from) = rest.split_at(at);
        still += before;
        let mark = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|mark| from.starts_with(mark));
        let length = match mark {
            None => from.find('\n').unwrap_or(from.len()),
            Some(mark) => mark.len() + end_of_string(&from[mark.len()..], mark),
        };
        let (part, behind) = from.split_at(length.min(from.len()));
        match mark.filter(|mark| mark.starts_with('\'') && printable(part) != part) {
            Some(mark) => {
                let bare = part.trim_start_matches(mark).trim_end_matches(mark);
                let bare = if mark.len() == 3 { bare.strip_prefix('\n').unwrap_or(bare) } else { bare };
                let escaped = bare.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
                still += &format!("\"{}\"", printable(&escaped));
            }
            None => still += part,
        }
        rest = behind;
    }
    still + rest
}

/// Length of a string of TOML behind the mark with which it begins, the mark at its end included.
fn end_of_string(text: &str, mark: &str) -> usize {
    let mut at = 0;
    while let Some(found) = text[at..].find(mark) {
        let end = at + found;
        let escapes = text[..end].chars().rev().take_while(|letter| *letter == '\\').count();
        if mark.starts_with('\'') || escapes % 2 == 0 {
            return end + mark.len();
        }
        at = end + 1;
    }
    text.len()
}

/// Makes the failure for a file that cannot be written, with the name that the user gave.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::wrong(format!("{}: cannot be written: {}", excerpt_path(path), why_unwritten(error)))
}

/// Most bytes of a text that is read whole: a scenario, a preset, a page. Usually it has a few pages.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Message for bytes that are not text.
const NO_TEXT: &str = "it is no text in UTF-8";

/// Reads a file's name and text; `-` is stdin. The name is shortened, as messages quote it.
pub(crate) fn read_text(path: &Path) -> Result<(String, String), Failure> {
    let (name, opened): (String, io::Result<Box<dyn Read>>) = if path == Path::new("-") {
        ("stdin".to_owned(), Ok(Box::new(io::stdin())))
    } else {
        (excerpt_path(path), std::fs::File::open(path).map(|file| Box::new(file) as Box<dyn Read>))
    };
    let unreadable = |error: io::Error| Failure::wrong(format!("{name}: cannot be read: {error}"));
    let mut bytes = Vec::new();
    opened.and_then(|file| file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        let most = wane_units::Bytes(TEXT_BYTES_MAX);
        return Err(Failure::wrong(format!("{name}: has more than {most}, allowed are at most {most} of text")));
    }
    let no_text = |_| unreadable(io::Error::new(io::ErrorKind::InvalidData, NO_TEXT));
    let text = String::from_utf8(bytes).map_err(no_text)?;
    Ok((name, text))
}

/// Reads a scenario file's name and text. The error for a file that is not TOML but a trace says so.
pub(crate) fn read_scenario(path: &Path) -> Result<(String, String), Failure> {
    let read = read_text(path);
    let is_toml = |text: &str| text.parse::<toml::Table>().is_ok();
    if path == Path::new("-") || !path.is_file() || read.as_ref().is_ok_and(|(_, text)| is_toml(text)) {
        return read;
    }
    let name = excerpt_path(path);
    match Reader::open(path, &Options::default()) {
        Ok(trace) => Err(Failure::wrong(format!(
            "{name}: is a trace ({}), expected is a scenario in TOML, which names it by [workload] trace = \"{name}\"",
            trace.format()
        ))),
        Err(_) => read.map_err(|failure| match failure {
            Failure::Wrong(told) if told.ends_with(NO_TEXT) => {
                Failure::wrong(format!("{told}, expected is a scenario in TOML"))
            }
            other => other,
        }),
    }
}

/// Marks of wane's files. Each file has one of them among its first or last bytes: reports, the page of claims, fitted models,
/// fio iologs, compact traces, man pages, pictures, and verdicts of drives. A log page's bytes have no room for one.
const MARKS: [&str; 8] = [
    "<meta name=\"generator\" content=\"wane\">",
    "Generated by `wane reproduce",
    "# RBER = epsilon + alpha c^k",
    "wane add\n",
    "WANETRC1",
    ".TH wane",
    "drawn by wane",
    DOCTOR_MARK,
];

/// The mark of verdicts that `wane doctor --watch` keeps.
pub(crate) const DOCTOR_MARK: &str = "kept by wane doctor";

/// First and last bytes of a file in which a mark is searched.
const HEAD_BYTES: u64 = 1024;
const TAIL_BYTES: i64 = 64;

/// Whether a file that wane did not write may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    Kept,
    /// Kept, because bare bytes have no mark that says whether wane wrote them.
    KeptUnseen,
    Overwritten,
}

impl Others {
    /// Returns what `--force` means for a marked file.
    pub(crate) const fn of(force: bool) -> Self {
        if force { Self::Overwritten } else { Self::Kept }
    }

    /// Returns what `--force` means for a file of bare bytes.
    pub(crate) const fn of_bytes(force: bool) -> Self {
        if force { Self::Overwritten } else { Self::KeptUnseen }
    }
}

/// Refuses to overwrite a file that wane did not write, unless it is empty.
fn check_ours(path: &Path, others: Others) -> Result<(), Failure> {
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
    if others == Others::Overwritten || !is_file {
        return Ok(());
    }
    if others == Others::KeptUnseen {
        let path = excerpt_path(path);
        return Err(Failure::wrong(format!("{path}: exists: give another name, or --force to overwrite it")));
    }
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|mut file| {
        (&mut file).take(HEAD_BYTES).read_to_end(&mut head)?;
        file.seek(SeekFrom::End(-TAIL_BYTES)).map_or(Ok(0), |_| file.read_to_end(&mut head))
    });
    let is_ours =
        read.is_ok() && MARKS.iter().any(|mark| head.windows(mark.len()).any(|bytes| bytes == mark.as_bytes()));
    if is_ours {
        return Ok(());
    }
    Err(Failure::wrong(format!(
        "{}: exists, and wane did not write it: give another name, or --force to overwrite it",
        excerpt_path(path)
    )))
}

/// Refuses a file that [`write_file`] could not write, before the work whose results it would hold.
pub(crate) fn check_writable(path: &Path, others: Others) -> Result<(), Failure> {
    check_ours(path, others)?;
    let wrong = |error: io::Error| unwritable(path, &error);
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(wrong(io::Error::from(io::ErrorKind::IsADirectory))),
        Ok(found) if found.is_file() => {
            std::fs::OpenOptions::new().write(true).open(path).map_err(wrong)?;
            temporary(path).map(|(_removed, file)| drop(file)).map_err(wrong)
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            temporary(path).map(|(_removed, file)| drop(file)).map_err(wrong)
        }
        // Such as a name that is too long, since the temporary file's name would not be.
        Err(error) => Err(wrong(error)),
    }
}

/// Has `write` write a file whole or not at all, and returns its result. A target that is no plain file, such as a pipe,
/// is written directly.
pub(crate) fn write_file<T>(
    path: &Path,
    others: Others,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let wrong = |error: io::Error| unwritable(path, &error);
    check_ours(path, others)?;
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return write(&mut std::fs::OpenOptions::new().write(true).open(path).map_err(wrong)?);
    }
    let (_removed, mut file) = temporary(path).map_err(wrong)?;
    // Without the wrapper, whose errors name the temporary file.
    let written = write(file.as_file_mut())?;
    file.as_file().sync_data().map_err(wrong)?;
    file.persist(path).map_err(|error| wrong(error.error))?;
    Ok(written)
}

/// Makes a temporary file beside `path`, `.NAME.XXXXXX.partial`, and the guard that removes it if a signal ends the process.
/// If they are bound in this order, the file is dropped first.
fn temporary(path: &Path) -> io::Result<(RemovedAtExit, tempfile::NamedTempFile)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{}.", name.chars().take(TEMPORARY_CHARS).collect::<String>());
    builder.prefix(&prefix).suffix(".partial");
    // The system's error. The builder's error would name the temporary file.
    let mut said = None;
    let made = RemovedAtExit::make(|| {
        // Not with a temporary file's mode, which only its owner can read: the umask decides who reads a result.
        builder.make_in(folder, |path| {
            let opened = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(path);
            opened.inspect_err(|error| said = error.raw_os_error())
        })
    });
    made.map_err(|error| said.map_or(error, io::Error::from_raw_os_error))
}

/// Writes text as [`write_file`] does.
pub(crate) fn write_text(path: &Path, others: Others, text: &str) -> Result<(), Failure> {
    write_file(path, others, |file| file.write_all(text.as_bytes()).map_err(|error| unwritable(path, &error)))
}

/// Returns a panic's message and place.
pub fn panic_in_words(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let what = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned());
    let place = panic.location().map_or_else(String::new, |place| format!(" at {}:{}", place.file(), place.line()));
    format!("internal error{place}: {what}")
}

/// Makes indented JSON with a newline at the end.
pub(crate) fn pretty(value: &impl serde::Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(value).map_err(Failure::wrong)? + "\n")
}

/// Prints indented JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    print(&pretty(value)?)
}

/// Lines of a table, each cell as wide as the widest of its column.
pub(crate) fn columns(lines: &[Vec<String>]) -> String {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// Adds a line of a summary for people.
pub(crate) fn line(text: &mut String, name: &str, value: &str) {
    debug_assert!(!name.contains('\n'), "a line of a summary is one: {name}");
    // A name may have several lines.
    *text += &format!("{name:<20} {}\n", value.replace('\n', "\\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_on_a_terminal_reads_as_it_was() {
        let names = ["plain", "a\"b\u{202e}", "c\\d\u{85}", "two\n\"lines\"\u{2066}", "it's\u{202e}", "\u{202e}#\"'"];
        for name in names {
            let table = toml::Table::from_iter([
                ("name".to_owned(), toml::Value::from(name)),
                ("other".to_owned(), toml::Value::from("C:\\x \"y\"")),
            ]);
            let text = format!("{table}# it's \"a\" comment\nlast = 1\n");
            let shown = printable(&still_toml(&text)).into_owned();
            assert!(!shown.chars().any(|letter| steers(letter) && letter != '\n'), "{shown}");
            let read: toml::Table = shown.parse().unwrap_or_else(|error| panic!("{error}: {shown}"));
            assert_eq!((read["name"].as_str(), read["last"].as_integer()), (Some(name), Some(1)), "{shown}");
            assert_eq!(read["other"], table["other"]);
        }
    }
}
