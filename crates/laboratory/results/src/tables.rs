//! The tables of a result, as Parquet and as CSV.
//!
//! A table is a list of named columns. Parquet and CSV are written from the same list, so that they cannot differ. The
//! files are small (2,048 rows, or one row for each block), so they have one row group and no compression, and are read whole.
//!
//! The Parquet library panics on some damaged files. Such panics are caught here and become the error that the file is damaged.

use std::cell::Cell;
use std::fmt::Write as _;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use serde_json::Value;
use wane_units::Trigger;

use super::grid::quoted;
use super::timeline::windows;
use super::{
    BlockAges, BlockRow, BlockState, Counters, EraseCounts, Errors, Latency, LatencyFigures, Row, Throughput, Window,
    WindowKind,
};

/// Counters that the first results did not have; there they count as 0.
const COUNTERS_LATER: [&str; 8] = [
    "host_pages_remapped",
    "scrub_checks",
    "recoveries",
    "recovery_failures",
    "host_reads_uncorrectable",
    "relocation_reads_uncorrectable",
    "stripes_unprotected",
    "policy_refusals",
];

/// Values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers of 32 bits.
    U32(Vec<u32>),
    /// Whole numbers of 64 bits.
    U64(Vec<u64>),
    /// Numbers, none of them null.
    F64(Vec<f64>),
    /// Numbers that may be null.
    Ratio(Vec<Option<f64>>),
    /// Words of a fixed list.
    Text(Vec<&'static str>),
    /// Texts, such as swept values.
    Own(Vec<String>),
}

/// A named column of a table. All columns of a table have the same number of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name in Parquet and CSV.
    pub name: String,
    /// One value for each row.
    pub values: Values,
}

fn column(name: &str, values: Values) -> Column {
    Column { name: name.to_owned(), values }
}

/// The columns of `timeline.parquet` and `timeline.csv`. `page_bytes`: see [`crate::Host::page_bytes`].
pub fn timeline_columns(rows: &[Row], page_bytes: u64) -> Vec<Column> {
    let mut columns = vec![
        column("drive_writes", Values::F64(rows.iter().map(|row| row.drive_writes).collect())),
        column("phase", Values::U32(rows.iter().map(|row| row.phase).collect())),
    ];
    for (index, name) in Counters::NAMES.iter().enumerate() {
        let value = |row: &Row| row.counters.values().nth(index).unwrap_or(0);
        columns.push(column(name, Values::U64(rows.iter().map(value).collect())));
    }
    let of_interval = windows(rows, page_bytes);
    columns.push(column("write_amplification_gc", Values::Ratio(of_interval.iter().map(|at| at.gc).collect())));
    let wear_leveling = of_interval.iter().map(|at| at.wear_leveling).collect();
    columns.push(column("write_amplification_wear_leveling", Values::Ratio(wear_leveling)));
    columns.push(column("write_amplification_total", Values::Ratio(of_interval.iter().map(|at| at.total).collect())));
    for (index, (name, _)) in EraseCounts::default().named().iter().enumerate() {
        let values = rows.iter().map(|row| row.erase_count.named()[index].1).collect();
        columns.push(column(&format!("erase_count_{name}"), Values::U32(values)));
    }
    columns.push(column("erase_count_mean", Values::F64(rows.iter().map(|row| row.erase_count.mean).collect())));
    columns.push(column("erase_count_sd", Values::F64(rows.iter().map(|row| row.erase_count.sd).collect())));
    columns.push(column("blocks_retired", Values::U32(rows.iter().map(|row| row.blocks_retired).collect())));
    columns.push(column("logical_bytes_exported", Values::U64(rows.iter().map(|row| row.exported_bytes).collect())));
    if rows.iter().any(|row| row.drive_writes_predicted > 0.0) {
        columns.push(column(PREDICTED, Values::F64(rows.iter().map(|row| row.drive_writes_predicted).collect())));
    }
    if rows.iter().any(|row| row.states.is_some()) {
        columns.extend(state_columns(rows));
    }
    columns
}

/// The columns of drives whose blocks are classified by age.
fn state_columns(rows: &[Row]) -> Vec<Column> {
    let states = || rows.iter().map(|row| row.states.unwrap_or_default());
    let count = |of: fn(BlockAges) -> Option<u32>| Values::Ratio(states().map(|at| of(at).map(f64::from)).collect());
    vec![
        column(YOUNG, count(|at| at.young)),
        column(MIDDLE_AGED, count(|at| at.middle_aged)),
        column(EFFECTIVE, Values::Ratio(states().map(|at| at.effective_over_provisioning).collect())),
        column(DEGRADED, Values::Text(states().map(|at| at.degraded.map_or("", Trigger::name)).collect())),
    ]
}

/// Column of lives that were predicted in part.
const PREDICTED: &str = "drive_writes_predicted";
const YOUNG: &str = "blocks_young";
const MIDDLE_AGED: &str = "blocks_middle_aged";
const EFFECTIVE: &str = "effective_over_provisioning";
/// Column of what made the drive degraded; empty while it is normal.
const DEGRADED: &str = "degraded_by";

/// The columns of `blocks.parquet`.
pub fn block_columns(rows: &[BlockRow]) -> Vec<Column> {
    let number = |name: &str, of: fn(&BlockRow) -> u32| column(name, Values::U32(rows.iter().map(of).collect()));
    vec![
        number("block", |row| row.block),
        number("channel", |row| row.channel),
        number("die", |row| row.die),
        number("plane", |row| row.plane),
        number("erase_count", |row| row.erase_count),
        number("valid_pages", |row| row.valid_units),
        column("state", Values::Text(rows.iter().map(|row| row.state.name()).collect())),
    ]
}

/// The columns of `windows.parquet` and `windows.csv`: the numbers of `latency.json` under their keys, joined by `_`, and null if a window
/// has none. Distributions are only in `latency.json`.
pub fn window_columns<'a>(windows: impl Iterator<Item = &'a Window> + Clone) -> Vec<Column> {
    let trees: Vec<Value> =
        windows.clone().map(|window| serde_json::to_value(window).expect("windows hold only numbers")).collect();
    let everything = Window {
        kind: WindowKind::Run,
        phase: 0,
        at_drive_writes: 0.0,
        at_days: Some(0.0),
        erase_count_mean: 0.0,
        // Only where probes go by wear.
        life_used: windows.clone().find_map(|window| window.life_used),
        seconds: 0.0,
        latency: Latency {
            read: Some(LatencyFigures::default()),
            write: Some(LatencyFigures::default()),
            // Operations only if they occur, since few windows have a key-value store.
            operations: windows.clone().find_map(|window| window.latency.operations),
        },
        throughput: Throughput::default(),
        errors: Some(Errors::default()),
        // Only for drives with heat.
        thermal: windows.clone().find_map(|window| window.thermal),
        read_cdf: Vec::new(),
        write_cdf: Vec::new(),
    };
    let mut paths = Vec::new();
    numbers("", &serde_json::to_value(everything).expect("windows hold only numbers"), &mut paths);
    // Readers look for the time of a window first.
    const FIRST: [&str; 4] = ["at_drive_writes", "at_days", "seconds", "erase_count_mean"];
    paths.sort_by_key(|path| FIRST.iter().position(|first| first == path).unwrap_or(FIRST.len()));
    let kind = |window: &Window| if window.kind == WindowKind::Run { "run" } else { "probe" };
    let mut columns = vec![column("kind", Values::Text(windows.clone().map(kind).collect()))];
    // Only of runs with several.
    if windows.clone().any(|window| window.phase > 0) {
        columns.push(column("phase", Values::U32(windows.map(|window| window.phase).collect())));
    }
    for path in paths {
        let value = |tree: &Value| path.split('.').try_fold(tree, |tree, key| tree.get(key))?.as_f64();
        columns.push(column(&path.replace('.', "_"), Values::Ratio(trees.iter().map(value).collect())));
    }
    columns
}

/// Collects the paths of all numbers of a tree, in its order.
fn numbers(path: &str, tree: &Value, paths: &mut Vec<String>) {
    match tree {
        Value::Number(_) => paths.push(path.to_owned()),
        Value::Object(fields) => {
            for (key, below) in fields {
                numbers(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, below, paths);
            }
        }
        _ => {}
    }
}

/// A column of texts, such as swept values, to put before others.
pub(super) fn text_column(name: &str, values: Vec<String>) -> Column {
    column(name, Values::Own(values))
}

/// The table as CSV: a header, then a line for each row. Null is empty.
pub(super) fn to_csv(columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let mut text = names.join(",");
    text.push('\n');
    for row in 0..rows_of(columns) {
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            let written = match &column.values {
                Values::U32(values) => write!(text, "{}", values[row]),
                Values::U64(values) => write!(text, "{}", values[row]),
                Values::F64(values) => write!(text, "{}", values[row]),
                Values::Ratio(values) => values[row].map_or(Ok(()), |value| write!(text, "{value}")),
                Values::Text(values) => write!(text, "{}", values[row]),
                Values::Own(values) => write!(text, "{}", quoted(&values[row])),
            };
            written.expect("a String takes any text");
        }
        text.push('\n');
    }
    text
}

/// Number of rows of a table. All columns must have as many values.
fn rows_of(columns: &[Column]) -> usize {
    let rows = columns.first().map_or(0, |column| column.values.len());
    for column in columns {
        assert_eq!(column.values.len(), rows, "column {} has a value in each row", column.name);
    }
    rows
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Ratio(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Own(values) => values.len(),
        }
    }

    fn schema(&self, name: &str) -> String {
        match self {
            Self::U32(_) => format!("required int32 {name} (integer(32,false));"),
            Self::U64(_) => format!("required int64 {name} (integer(64,false));"),
            Self::F64(_) => format!("required double {name};"),
            Self::Ratio(_) => format!("optional double {name};"),
            Self::Text(_) | Self::Own(_) => format!("required byte_array {name} (string);"),
        }
    }
}

/// Writes `columns` to `sink` as Parquet, with `metadata` in the footer.
pub(super) fn write_parquet<W: Write + Send>(
    sink: W,
    columns: &[Column],
    metadata: &[(&str, &str)],
) -> Result<(), ParquetError> {
    rows_of(columns);
    let fields: String = columns.iter().map(|column| column.values.schema(&column.name)).collect();
    let schema = Arc::new(parse_message_type(&format!("message wane {{ {fields} }}"))?);
    let pairs = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
    let properties = WriterProperties::builder()
        .set_created_by(format!("wane {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(pairs))
        .set_encoding(Encoding::PLAIN)
        .build();
    let mut file = SerializedFileWriter::new(sink, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in columns {
        write_column(&mut group, &column.values)?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &Values,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has a field a column");
    match values {
        Values::U32(values) => {
            let signed: Vec<i32> = values.iter().map(|value| value.cast_signed()).collect();
            column.typed::<Int32Type>().write_batch(&signed, None, None)?;
        }
        Values::U64(values) => {
            let signed: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
            column.typed::<Int64Type>().write_batch(&signed, None, None)?;
        }
        Values::F64(values) => {
            column.typed::<DoubleType>().write_batch(values, None, None)?;
        }
        Values::Ratio(values) => {
            let present: Vec<f64> = values.iter().copied().flatten().collect();
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            column.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
        }
        Values::Text(values) => {
            let texts: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(*text)).collect();
            column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
        }
        Values::Own(values) => {
            let texts: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(text.as_str())).collect();
            column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
        }
    }
    column.close()
}

thread_local! {
    static READS_PARQUET: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is reading a Parquet file, so that a panic is caught and becomes an error. A panic hook should then print
/// nothing.
pub fn panic_is_caught() -> bool {
    READS_PARQUET.get()
}

/// Returns what `read` returns, or the error that the file is damaged if it panics.
fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    READS_PARQUET.set(true);
    // State that a panic leaves half done is not used again, since the caller drops the table.
    let read = catch_unwind(AssertUnwindSafe(read));
    READS_PARQUET.set(false);
    read.unwrap_or_else(|_| Err("it is damaged: its structure contradicts itself".to_owned()))
}

/// A Parquet file of this module, opened for reading.
pub(super) struct Table {
    file: SerializedFileReader<Bytes>,
}

impl Table {
    /// Opens the table in these bytes of a file.
    pub(super) fn of(file: Vec<u8>) -> Result<Self, String> {
        let bytes = file.len() as u64;
        let file = Bytes::from(file);
        let table = guarded(|| Ok(Self { file: SerializedFileReader::new(file).map_err(|error| error.to_string())? }))?;
        // Each row has a number of its own and so takes at least a byte. A damaged count could request any amount of memory.
        let rows = table.rows() as u64;
        if rows > bytes {
            return Err(format!("it is damaged: it claims {rows} rows in {bytes} bytes"));
        }
        Ok(table)
    }

    fn rows(&self) -> usize {
        usize::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    fn complete<T>(&self, name: &str, values: Vec<T>) -> Result<Vec<T>, String> {
        let (found, rows) = (values.len(), self.rows());
        if found == rows { Ok(values) } else { Err(format!("its column '{name}' has {found} values in {rows} rows")) }
    }

    fn columns(&self) -> impl Iterator<Item = &str> {
        self.file.metadata().file_metadata().schema_descr().columns().iter().map(|column| column.name())
    }

    fn reader(&self, group: usize, name: &str) -> Result<ColumnReader, String> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        let index = schema.columns().iter().position(|column| column.name() == name);
        let index = index.ok_or_else(|| format!("it has no column '{name}'"))?;
        let group = self.file.get_row_group(group).map_err(|error| error.to_string())?;
        group.get_column_reader(index).map_err(|error| error.to_string())
    }

    fn u64s(&self, name: &str) -> Result<Vec<u64>, String> {
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        for group in 0..self.file.num_row_groups() {
            let read = match self.reader(group, name)? {
                ColumnReader::Int32ColumnReader(mut reader) => {
                    reader.read_records(self.rows(), None, None, &mut narrow).map(drop)
                }
                ColumnReader::Int64ColumnReader(mut reader) => {
                    reader.read_records(self.rows(), None, None, &mut wide).map(drop)
                }
                _ => return Err(format!("its column '{name}' holds no integers")),
            };
            read.map_err(|error| error.to_string())?;
        }
        let narrow = narrow.into_iter().map(|value: i32| u64::from(value.cast_unsigned()));
        self.complete(name, narrow.chain(wide.into_iter().map(i64::cast_unsigned)).collect())
    }

    fn u32s(&self, name: &str) -> Result<Vec<u32>, String> {
        let narrow =
            |value| u32::try_from(value).map_err(|_| format!("its column '{name}' holds {value}, past 32 bits"));
        self.u64s(name)?.into_iter().map(narrow).collect()
    }

    fn f64s(&self, name: &str) -> Result<Vec<f64>, String> {
        let mut values = Vec::new();
        for group in 0..self.file.num_row_groups() {
            let ColumnReader::DoubleColumnReader(mut reader) = self.reader(group, name)? else {
                return Err(format!("its column '{name}' holds no numbers"));
            };
            reader.read_records(self.rows(), None, None, &mut values).map_err(|error| error.to_string())?;
        }
        self.complete(name, values)
    }

    fn texts(&self, name: &str) -> Result<Vec<ByteArray>, String> {
        let mut values = Vec::new();
        for group in 0..self.file.num_row_groups() {
            let ColumnReader::ByteArrayColumnReader(mut reader) = self.reader(group, name)? else {
                return Err(format!("its column '{name}' holds no text"));
            };
            reader.read_records(self.rows(), None, None, &mut values).map_err(|error| error.to_string())?;
        }
        self.complete(name, values)
    }

    /// Reads the rows of `timeline.parquet`. The ratios of its intervals follow from the counters and are not read.
    pub(super) fn timeline(&self) -> Result<Vec<Row>, String> {
        guarded(|| self.read_timeline())
    }

    fn read_timeline(&self) -> Result<Vec<Row>, String> {
        let (drive_writes, phase) = (self.f64s("drive_writes")?, self.u32s("phase")?);
        let counter = |name: &&str| {
            let is_there = self.columns().any(|column| column == *name);
            if is_there || !COUNTERS_LATER.contains(name) { self.u64s(name) } else { Ok(vec![0; drive_writes.len()]) }
        };
        let counters: Vec<Vec<u64>> = Counters::NAMES.iter().map(counter).collect::<Result<_, _>>()?;
        let erases = EraseCounts::default().named().map(|(name, _)| self.u32s(&format!("erase_count_{name}")));
        let erases: Vec<Vec<u32>> = erases.into_iter().collect::<Result<_, _>>()?;
        let (mean, sd) = (self.f64s("erase_count_mean")?, self.f64s("erase_count_sd")?);
        let (retired, exported) = (self.u32s("blocks_retired")?, self.u64s("logical_bytes_exported")?);
        let states = self.states()?;
        let is_predicted = self.columns().any(|column| column == PREDICTED);
        let predicted = if is_predicted { self.f64s(PREDICTED)? } else { vec![0.0; drive_writes.len()] };
        let row = |at: usize| Row {
            drive_writes: drive_writes[at],
            drive_writes_predicted: predicted[at],
            phase: phase[at],
            counters: Counters::from_values(counters.iter().map(|column| column[at])),
            erase_count: EraseCounts::from_values(std::array::from_fn(|index| erases[index][at]), mean[at], sd[at]),
            blocks_retired: retired[at],
            exported_bytes: exported[at],
            states: states.get(at).copied(),
        };
        let rows: Vec<Row> = (0..drive_writes.len()).map(row).collect();
        check_order(&rows)?;
        Ok(rows)
    }

    /// The ages of the blocks in each row; empty if the table does not have them.
    fn states(&self) -> Result<Vec<BlockAges>, String> {
        if !self.columns().any(|column| column == DEGRADED) {
            return Ok(Vec::new());
        }
        let (young, middle_aged) = (self.counts(YOUNG)?, self.counts(MIDDLE_AGED)?);
        let (effective, degraded) = (self.ratios(EFFECTIVE)?, self.texts(DEGRADED)?);
        let states = |at: usize| {
            let name = degraded[at].as_utf8().unwrap_or("(not UTF-8)");
            let trigger = Trigger::from_name(name);
            if trigger.is_none() && !name.is_empty() {
                return Err(format!("its column '{DEGRADED}' holds '{name}'"));
            }
            let effective_over_provisioning = effective[at];
            Ok(BlockAges {
                young: young[at],
                middle_aged: middle_aged[at],
                effective_over_provisioning,
                degraded: trigger,
            })
        };
        (0..degraded.len()).map(states).collect()
    }

    /// A column of whole numbers that may be null.
    fn counts(&self, name: &str) -> Result<Vec<Option<u32>>, String> {
        let whole = |value: f64| {
            let is_count = value >= 0.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0;
            if is_count {
                Ok(value as u32)
            } else {
                Err(format!("its column '{name}' holds {value}, which is no count"))
            }
        };
        self.ratios(name)?.into_iter().map(|value| value.map(whole).transpose()).collect()
    }

    /// A column of numbers that may be null.
    fn ratios(&self, name: &str) -> Result<Vec<Option<f64>>, String> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        for group in 0..self.file.num_row_groups() {
            let ColumnReader::DoubleColumnReader(mut reader) = self.reader(group, name)? else {
                return Err(format!("its column '{name}' holds no numbers"));
            };
            reader
                .read_records(self.rows(), Some(&mut levels), None, &mut values)
                .map_err(|error| error.to_string())?;
        }
        let mut values = values.into_iter();
        let found = levels.into_iter().map(|level| if level == 0 { None } else { values.next() }).collect();
        self.complete(name, found)
    }

    /// Reads the rows of `blocks.parquet`.
    pub(super) fn blocks(&self) -> Result<Vec<BlockRow>, String> {
        guarded(|| self.read_blocks())
    }

    fn read_blocks(&self) -> Result<Vec<BlockRow>, String> {
        let names = ["block", "channel", "die", "plane", "erase_count", "valid_pages"];
        let columns: Vec<Vec<u32>> = names.into_iter().map(|name| self.u32s(name)).collect::<Result<_, _>>()?;
        let states = self.texts("state")?;
        let row = |(at, state): (usize, &ByteArray)| {
            let name = state.as_utf8().unwrap_or("(not UTF-8)");
            Ok(BlockRow {
                block: columns[0][at],
                channel: columns[1][at],
                die: columns[2][at],
                plane: columns[3][at],
                erase_count: columns[4][at],
                valid_units: columns[5][at],
                state: BlockState::from_name(name).ok_or_else(|| format!("its column 'state' holds '{name}'"))?,
            })
        };
        states.iter().enumerate().map(row).collect()
    }
}

/// Refuses rows that are out of order: time and counters must not fall.
fn check_order(rows: &[Row]) -> Result<(), String> {
    let writes = rows.iter().map(|row| row.drive_writes);
    check_rises("drive_writes", writes)?;
    for (number, pair) in rows.windows(2).enumerate() {
        let columns = pair[0].counters.named().zip(pair[1].counters.values());
        if let Some(((name, before), now)) = columns.into_iter().find(|((_, before), now)| now < before) {
            return Err(out_of_order(name, number + 1, &before, &now));
        }
    }
    Ok(())
}

/// Refuses values of a column that are no numbers, or that fall from one row to the next. Rows are counted from 0.
pub(super) fn check_rises(name: &str, values: impl Iterator<Item = f64>) -> Result<(), String> {
    let mut last = 0.0;
    for (row, value) in values.enumerate() {
        if value.is_nan() || value < last {
            return Err(out_of_order(name, row, &last, &value));
        }
        last = value;
    }
    Ok(())
}

fn out_of_order(name: &str, row: usize, before: &dyn std::fmt::Display, now: &dyn std::fmt::Display) -> String {
    format!("its row {row}, counted from 0, is out of order: {name} is {now} after {before}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::test_run;

    #[test]
    fn rows_out_of_order_are_refused_with_their_number() {
        let rows = test_run(1).timeline;
        let read = |rows: &[Row]| {
            let mut bytes = Vec::new();
            write_parquet(&mut bytes, &timeline_columns(rows, 4096), &[]).unwrap();
            Table::of(bytes).unwrap().timeline()
        };
        assert_eq!(read(&rows).unwrap(), rows);
        let mut swapped = rows.clone();
        (swapped[3].drive_writes, swapped[4].drive_writes) = (rows[4].drive_writes, rows[3].drive_writes);
        let sentence = read(&swapped).unwrap_err();
        assert!(sentence.starts_with("its row 4, counted from 0, is out of order: drive_writes is "), "{sentence}");
        let mut fallen = rows.clone();
        fallen[2].counters.programmed_gc = 0;
        fallen[1].counters.programmed_gc = 7;
        // The writer never writes these.
        let sentence = check_order(&fallen).unwrap_err();
        assert!(
            sentence.ends_with("row 2, counted from 0, is out of order: pages_programmed_gc is 0 after 7"),
            "{sentence}"
        );
        let mut no_number = rows;
        no_number[5].drive_writes = f64::NAN;
        assert!(read(&no_number).unwrap_err().contains("row 5"));
    }

    fn blocks() -> Vec<BlockRow> {
        let row = |block: u32| BlockRow {
            block,
            channel: block % 2,
            die: block % 4,
            plane: 0,
            erase_count: 17 * block,
            valid_units: block % 5,
            state: BlockState::Closed,
        };
        (0..20).map(row).collect()
    }

    #[test]
    fn a_file_with_any_byte_changed_gives_rows_or_a_sentence() {
        let mut bytes = Vec::new();
        write_parquet(&mut bytes, &block_columns(&blocks()), &[("scenario", "x")]).unwrap();
        assert_eq!(Table::of(bytes.clone()).unwrap().blocks().unwrap(), blocks());
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic_is_caught() {
                before(panic);
            }
        }));
        let mut refused = 0;
        for at in 0..bytes.len() {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                if let Err(sentence) = Table::of(damaged).and_then(|table| table.blocks()) {
                    assert!(!sentence.is_empty(), "byte {at}, flipped by {flip}");
                    refused += 1;
                }
            }
        }
        assert!(refused > bytes.len() / 4, "{refused} refused of {} bytes", bytes.len());
        assert!(!panic_is_caught());
    }
}
