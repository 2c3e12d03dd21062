//! A trace format from outside the tree: lines of `MILLISECONDS get|put KEY`, as a key-value store would log them.
//!
//! Reads such a log from stdin and writes it to stdout in wane's compact form, which every scenario can replay. Run it with
//! `cargo run -p own-trace < log > log.wane`.

use std::io::BufRead;

use wane_workload::trace::{Target, TraceError, write_requests};
use wane_workload::{Op, Request};

// ANCHOR: reader
/// Bytes of a value: each key has a place of its own.
const VALUE_BYTES: u64 = 4096;
/// The expected form of a line, for messages.
const EXPECTED: &str = "MILLISECONDS get|put KEY, whole numbers below 2^40";
/// Larger times and keys are damage: their products must fit 64 bits.
const NUMBER_MAX: u64 = 1 << 40;

/// The request of one line; `None` where it does not parse.
fn request(line: &str) -> Option<Request> {
    let number = |word: &str| word.parse::<u64>().ok().filter(|number| *number < NUMBER_MAX);
    let mut words = line.split_whitespace();
    let at = number(words.next()?)? * 1_000_000;
    let op = match words.next()? {
        "get" => Op::Read,
        "put" => Op::Write,
        _ => return None,
    };
    let offset = number(words.next()?)? * VALUE_BYTES;
    words.next().is_none().then_some(Request { at, op, offset, length: VALUE_BYTES })
}

/// The requests of a log. Errors name the file and the line.
fn requests(name: &str, log: impl BufRead) -> impl Iterator<Item = Result<Request, TraceError>> {
    (1..).zip(log.lines()).map(move |(number, line)| {
        let line = line.map_err(|source| TraceError::Unreadable { name: name.to_owned(), source })?;
        request(&line).ok_or_else(|| TraceError::Line {
            name: name.to_owned(),
            line: number,
            found: line.chars().take(60).collect(),
            expected: EXPECTED,
        })
    })
}
// ANCHOR_END: reader

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let written = write_requests(requests("stdin", std::io::stdin().lock()), &mut std::io::stdout(), Target::Compact)?;
    eprintln!("{} requests", written.requests);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_workload::trace::{Options, Reader};

    // ANCHOR: test
    #[test]
    fn what_was_written_is_read_back() -> Result<(), TraceError> {
        let mut compact = Vec::new();
        write_requests(requests("log", &b"0 put 7\n3 get 7\n"[..]), &mut compact, Target::Compact)?;
        let reader = Reader::from_read("log", Box::new(std::io::Cursor::new(compact)), &Options::default())?;
        let read = reader.collect::<Result<Vec<_>, _>>()?;
        let want = |at, op| Request { at, op, offset: 7 * VALUE_BYTES, length: VALUE_BYTES };
        assert_eq!(read, [want(0, Op::Write), want(3_000_000, Op::Read)]);
        Ok(())
    }

    #[test]
    fn what_does_not_parse_is_told_with_its_line() {
        for line in ["", "1 put", "1 put 7 8", "1 del 7", "-1 put 7", "1 put 1099511627776"] {
            let log = format!("0 put 7\n{line}\n");
            let error = requests("log", log.as_bytes()).find_map(Result::err).map(|error| error.to_string());
            assert_eq!(error, Some(format!("log, line 2: found '{line}', expected {EXPECTED}")));
        }
    }
    // ANCHOR_END: test
}
