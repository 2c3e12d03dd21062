//! Measurements of a chip's errors, from CSV.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use csv::{ReaderBuilder, StringRecord, Trim};
use wane_nand::rber::Ranges;

use super::RberError;

/// Smallest number of rows that can be fitted.
pub const ROWS_MIN: usize = 12;
/// Largest cycles, days or reads. Larger numbers cannot be about flash.
pub const INPUT_MAX: f64 = 1e15;
/// Largest number of rows that are read.
pub const ROWS_MAX: usize = 1_000_000;

/// Largest row in bytes. Longer ones are not measurements, and would fill the memory.
const ROW_BYTES_MAX: usize = 16 << 20;

const COLUMNS: [&str; 4] = ["cycles", "days", "reads", "rber"];

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Line of the file, from 1.
    pub line: u64,
    /// P/E cycles.
    pub cycles: f64,
    /// Days since programming.
    pub days: f64,
    /// Reads of the block since its erase.
    pub reads: f64,
    /// Raw bit error rate, above 0 and at most 1.
    pub rber: f64,
}

/// Measurements that can be fitted: at least [`ROWS_MIN`], not all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    name: String,
    samples: Vec<Sample>,
}

impl Data {
    /// Checks measurements. Messages begin with `name`.
    pub fn new(name: &str, samples: Vec<Sample>) -> Result<Self, RberError> {
        let wrong = |message: String| Err(RberError(format!("{name}: {message}")));
        if samples.len() < ROWS_MIN {
            let rows = if samples.len() == 1 { "row" } else { "rows" };
            return wrong(format!("found {} {rows} of measurements, a fit needs at least {ROWS_MIN}", samples.len()));
        }
        let data = Self { name: name.to_owned(), samples };
        let ranges = data.ranges();
        if [ranges.cycles, ranges.days, ranges.reads].iter().all(|(least, most)| least == most) {
            return wrong("all rows have the same cycles, days and reads; at least one of them must vary".to_owned());
        }
        let (least, most) = data.span(|sample| sample.rber);
        if least == most {
            return wrong(format!("rber is {least} in every row; there is no curve to fit"));
        }
        Ok(data)
    }

    /// Reads CSV whose header has the columns `cycles`, `days`, `reads` and `rber` in any order. Other columns are
    /// skipped; lines that begin with `#` are comments.
    pub fn read(name: &str, input: impl Read) -> Result<Self, RberError> {
        let since_row = Rc::new(Cell::new(0));
        let mut reader = ReaderBuilder::new()
            .trim(Trim::All)
            .comment(Some(b'#'))
            .from_reader(PlainLines { input, since_row: Rc::clone(&since_row) });
        let broken = |error: csv::Error| RberError(format!("{name}{}", told(&error)));
        let header = reader.headers().map_err(broken)?.clone();
        let places = places(name, &header)?;
        let mut samples = Vec::new();
        for record in reader.records() {
            let record = record.map_err(broken)?;
            since_row.set(0);
            let line = record.position().map_or(0, csv::Position::line);
            let mut numbers = [0.0; 4];
            for ((number, column), place) in numbers.iter_mut().zip(COLUMNS).zip(places) {
                *number = value(column, record.get(place).unwrap_or_default())
                    .map_err(|message| RberError(format!("{name}, line {line}: {column}: {message}")))?;
            }
            let [cycles, days, reads, rber] = numbers;
            samples.push(Sample { line, cycles, days, reads, rber });
            if samples.len() > ROWS_MAX {
                return Err(RberError(format!("{name}, line {line}: more than {ROWS_MAX} rows; thin the data out")));
            }
        }
        Self::new(name, samples)
    }

    /// The name of its source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The measurements.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// The ranges that they span.
    pub fn ranges(&self) -> Ranges {
        Ranges {
            cycles: self.span(|sample| sample.cycles),
            days: self.span(|sample| sample.days),
            reads: self.span(|sample| sample.reads),
        }
    }

    fn span(&self, of: fn(&Sample) -> f64) -> (f64, f64) {
        let values = self.samples.iter().map(of);
        let span =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        assert!(span.0 <= span.1, "measurements are there, and are numbers");
        span
    }
}

/// A reader that leaves out carriage returns, which would make line numbers wrong, and fails at a row that is too long.
struct PlainLines<R> {
    input: R,
    /// Bytes read since the last row was complete.
    since_row: Rc<Cell<usize>>,
}

impl<R: Read> Read for PlainLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.since_row.get() > ROW_BYTES_MAX {
            return Err(io::Error::other(format!("found a row of more than {} MiB", ROW_BYTES_MAX >> 20)));
        }
        loop {
            let count = self.input.read(buffer)?;
            self.since_row.set(self.since_row.get() + count);
            let mut kept = 0;
            for index in 0..count {
                buffer[kept] = buffer[index];
                kept += usize::from(buffer[index] != b'\r');
            }
            if kept > 0 || count == 0 {
                return Ok(kept);
            }
        }
    }
}

/// Finds the indexes of the four columns.
fn places(name: &str, header: &StringRecord) -> Result<[usize; 4], RberError> {
    let found: Vec<String> = header.iter().map(str::to_lowercase).collect();
    let wrong = |message: String| RberError(format!("{name}, line 1: {message}"));
    if found.iter().all(String::is_empty) {
        return Err(RberError(format!("{name}: is empty; expected a header with {}", COLUMNS.join(", "))));
    }
    let mut places = [0; 4];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let mut at = found.iter().enumerate().filter(|(_, text)| *text == column).map(|(index, _)| index);
        *place = at.next().ok_or_else(|| {
            let listed = cut(&found.join(", "));
            wrong(format!("no column \"{column}\"; found {listed}; a header with {} is needed", COLUMNS.join(", ")))
        })?;
        if at.next().is_some() {
            return Err(wrong(format!("the column \"{column}\" stands there twice")));
        }
    }
    Ok(places)
}

fn value(column: &str, text: &str) -> Result<f64, String> {
    let is_rber = column == "rber";
    let allowed = if is_rber { "a number above 0, at most 1" } else { "a number from 0 to 1e15" };
    let number: f64 = text.parse().map_err(|_| format!("found \"{}\", allowed is {allowed}", cut(text)))?;
    if is_rber && number == 0.0 {
        return Err(format!("found {text}, allowed is {allowed}; pool more bits until one of them is wrong"));
    }
    let fits = if is_rber { number > 0.0 && number <= 1.0 } else { (0.0..=INPUT_MAX).contains(&number) };
    if fits { Ok(number) } else { Err(format!("found {text}, allowed is {allowed}")) }
}

/// An error of the CSV reader, as the end of a sentence that begins with the file.
fn told(error: &csv::Error) -> String {
    let line = error.position().map_or_else(String::new, |position| format!(", line {}", position.line()));
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{line}: found {len} columns, the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => format!("{line}: found bytes that are no text, expected UTF-8"),
        csv::ErrorKind::Io(error) => format!(": cannot be read: {error}"),
        _ => format!("{line}: this is no CSV: {error}"),
    }
}

/// Shortens text from a file for a sentence.
fn cut(text: &str) -> String {
    let mut short: String = text.chars().filter(|character| !character.is_control()).take(60).collect();
    if short.len() < text.len() {
        short.push('\u{2026}');
    }
    short
}
