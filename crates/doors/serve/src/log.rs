//! The server's log: a line for each request, in the order in which they were answered.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use wane_units::{Nanos, SimTime};

use crate::ServeError;

/// The names of its columns.
const HEAD: &str = "request,client,kind,offset,bytes,submitted_ns,modelled_ns,lag_ns,status";

/// A request that was answered.
pub(crate) struct Row<'a> {
    pub(crate) request: u64,
    pub(crate) client: u64,
    pub(crate) kind: &'a str,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) submitted: SimTime,
    pub(crate) modelled: SimTime,
    /// `None` at full speed.
    pub(crate) lag: Option<Nanos>,
    pub(crate) status: &'a str,
}

/// The log of a server that keeps one.
pub(crate) struct Log {
    file: BufWriter<File>,
    /// Why it ends here.
    failed: Option<std::io::Error>,
}

impl Log {
    /// Begins a log.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn create(path: &Path) -> Result<Self, ServeError> {
        let unwritten =
            |error: std::io::Error| ServeError::Log(wane_units::excerpt_path(path), wane_units::why_unwritten(&error));
        let mut file = BufWriter::with_capacity(1 << 16, File::create(path).map_err(unwritten)?);
        writeln!(file, "{HEAD}").map_err(unwritten)?;
        Ok(Self { file, failed: None })
    }

    /// Adds a line. A log that cannot be written ends; the drive goes on.
    pub(crate) fn note(&mut self, row: &Row<'_>) {
        if self.failed.is_some() {
            return;
        }
        let Row { request, client, kind, offset, bytes, submitted, modelled, lag, status } = row;
        let lag = lag.map_or(String::new(), |lag| lag.0.to_string());
        let (submitted, modelled) = (submitted.0, modelled.0);
        let line =
            writeln!(self.file, "{request},{client},{kind},{offset},{bytes},{submitted},{modelled},{lag},{status}");
        self.failed = line.err();
    }

    /// Writes what is still in memory, so that it can be read meanwhile.
    pub(crate) fn flush(&mut self) {
        if self.failed.is_none() && !self.file.buffer().is_empty() {
            self.failed = self.file.flush().err();
        }
    }

    /// Writes what is still in memory. Returns why the log is not whole.
    pub(crate) fn end(&mut self) -> Option<String> {
        let error = self.failed.take().or_else(|| self.file.flush().err())?;
        Some(wane_units::why_unwritten(&error))
    }
}
