//! Writes traces as fio iolog or in the compact format.

use std::io::Write;

use super::compact::Encoder;
use super::{Reader, TraceError};
use crate::{Op, Request};

/// The format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// fio iolog: version 3 if requests have times, otherwise version 2.
    FioIolog,
    /// wane's compact form.
    Compact,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Number of requests, including flushes.
    pub requests: u64,
}

/// The file name of the requests in an iolog.
const DEVICE: &str = "wane";

/// Writes a trace in another format.
///
/// # Errors
/// The trace does not parse, or the output cannot be written.
pub fn convert(reader: Reader, out: &mut dyn Write, target: Target) -> Result<Converted, TraceError> {
    // If there are no times, that is known before the first request.
    let timed = reader.is_timeless().then_some(false);
    write(reader, out, target, timed)
}

/// Writes any requests as a trace.
///
/// # Errors
/// As [`convert`].
pub fn write_requests(
    requests: impl Iterator<Item = Result<Request, TraceError>>,
    out: &mut dyn Write,
    target: Target,
) -> Result<Converted, TraceError> {
    write(requests, out, target, None)
}

/// Writes requests. `known` says whether they have times, if that is known.
fn write(
    requests: impl Iterator<Item = Result<Request, TraceError>>,
    out: &mut dyn Write,
    target: Target,
    known: Option<bool>,
) -> Result<Converted, TraceError> {
    let mut converted = Converted::default();
    let mut out = std::io::BufWriter::new(out);
    let mut encoder = Encoder::new();
    let (mut timed, mut last) = (None, 0);
    if target == Target::Compact {
        encoder.start(&mut out).map_err(TraceError::Unwritable)?;
    }
    // The version is known once a request shows whether there are times. Until then requests at time 0 wait.
    let mut waiting = Vec::new();
    for request in requests {
        let request = request?;
        converted.requests += 1;
        match (target, timed) {
            (Target::Compact, _) => encoder.request(&request, &mut out).map_err(TraceError::Unwritable)?,
            (Target::FioIolog, Some(timed)) => {
                iolog(&request, timed, &mut last, &mut out).map_err(TraceError::Unwritable)?;
            }
            (Target::FioIolog, None) => {
                waiting.push(request);
                if known.is_some() || request.at > 0 || waiting.len() == WAITING_MAX {
                    timed = Some(start_iolog(&mut waiting, known.unwrap_or(true), &mut out)?);
                }
            }
        }
    }
    match target {
        Target::Compact => encoder.finish(&mut out).map_err(TraceError::Unwritable)?,
        Target::FioIolog => {
            let timed = match timed {
                Some(timed) => timed,
                None => start_iolog(&mut waiting, false, &mut out)?,
            };
            let prefix = if timed { "0 " } else { "" };
            assert!(waiting.is_empty(), "a request that waits for a time is written before the file ends");
            writeln!(out, "{prefix}{DEVICE} close").map_err(TraceError::Unwritable)?;
        }
    }
    out.flush().map_err(TraceError::Unwritable)?;
    Ok(converted)
}

/// Most requests that wait for one with a time. With more, version 3 is right either way.
const WAITING_MAX: usize = 4096;

/// Writes the head and the waiting requests. Returns `timed`.
fn start_iolog(waiting: &mut Vec<Request>, timed: bool, out: &mut dyn Write) -> Result<bool, TraceError> {
    let (version, prefix) = if timed { (3, "0 ") } else { (2, "") };
    let head = write!(out, "fio version {version} iolog\n{prefix}{DEVICE} add\n{prefix}{DEVICE} open\n");
    head.map_err(TraceError::Unwritable)?;
    // In version 2 none of them has waited yet.
    for request in waiting.drain(..) {
        iolog(&request, timed, &mut 0, out).map_err(TraceError::Unwritable)?;
    }
    Ok(timed)
}

/// Writes a request. In version 2 waits tell the times of a trace that was taken for one without, in milliseconds since it began, as fio takes them;
/// `last` is the last of them.
fn iolog(request: &Request, timed: bool, last: &mut u64, out: &mut dyn Write) -> std::io::Result<()> {
    let micros = request.at / 1000;
    if timed {
        write!(out, "{micros} ")?;
    } else if micros / 1000 > *last {
        *last = micros / 1000;
        writeln!(out, "{DEVICE} wait {last} 0")?;
    }
    let action = match request.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Trim => "trim",
        Op::Flush => return writeln!(out, "{DEVICE} sync 0 0"),
    };
    writeln!(out, "{DEVICE} {action} {} {}", request.offset, request.length)
}
