//! The files of a simulated fleet: records and the truth, as Parquet.
//!
//! A file holds consecutive drives, one row group each, so that only one drive at a time is in memory. Its name, a column and its metadata say that
//! it is simulated. The metadata also state how many times smaller the simulated drives are than the real ones.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::Field;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::TwinError;
use crate::attributes::all_numbers;
use crate::fleet::{Fleet, Slot};
use crate::hazards::Cause;
use crate::life::{DAY_HOURS, End, Life};

/// Metadata key that marks a file as simulated; its value says so in words.
pub const SIMULATED: &str = "wane.simulated";

/// Metadata keys of the fleet to which a file belongs, and of its number among the fleet's files.
const FLEET: &str = "wane.fleet";
const FILE: &str = "wane.file";

/// Value of the column `source`.
pub const SOURCE: &str = "simulated";

/// Seconds of an hour and of a day.
const HOUR_SECONDS: i64 = 3600;
const DAY_SECONDS: i64 = 86_400;

/// Values of a column, one for each row.
enum Values {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    /// Whole numbers, or `None` if all are null; and the number of rows.
    Whole(Option<Vec<i64>>, usize),
    /// A number that is not null.
    Double(f64),
    /// The same text in a number of rows.
    Text(String, usize),
    /// A text that may be null.
    Word(Option<String>),
}

/// A named column.
struct Column {
    name: &'static str,
    /// Its field in Parquet's schema, without the name.
    kind: &'static str,
    logical: &'static str,
}

const fn column(name: &'static str, kind: &'static str, logical: &'static str) -> Column {
    Column { name, kind, logical }
}

const RECORDS: [Column; 11] = [
    column("date", "required int32", "(date)"),
    column("time", "required int64", ""),
    column("serial", "required byte_array", "(string)"),
    column("model", "required byte_array", "(string)"),
    column("capacity_bytes", "required int64", ""),
    column("failure", "required boolean", ""),
    column("source", "required byte_array", "(string)"),
    column("firmware", "required byte_array", "(string)"),
    column("batch", "required byte_array", "(string)"),
    column("node", "required byte_array", "(string)"),
    column("rack", "required byte_array", "(string)"),
];

const TRUTH: [Column; 18] = [
    column("serial", "required byte_array", "(string)"),
    column("model", "required byte_array", "(string)"),
    column("source", "required byte_array", "(string)"),
    column("batch", "required byte_array", "(string)"),
    column("firmware", "required byte_array", "(string)"),
    column("node", "required byte_array", "(string)"),
    column("rack", "required byte_array", "(string)"),
    column("workload", "required byte_array", "(string)"),
    column("drive_writes_per_day", "required double", ""),
    column("age_days", "required double", ""),
    column("erases_before", "optional int64", ""),
    column("erases_served", "optional int64", ""),
    column("failed", "required boolean", ""),
    column("cause", "optional byte_array", "(string)"),
    column("time", "optional int64", ""),
    column("signs_since", "optional int64", ""),
    column("failed_with", "optional byte_array", "(string)"),
    column("last_record", "optional int64", ""),
];

fn schema_of(columns: &[Column], attributes: &[u16]) -> String {
    let mut fields: String =
        columns.iter().map(|column| format!("{} {} {};", column.kind, column.name, column.logical)).collect();
    for number in attributes {
        fields += &format!("optional int64 smart_{number}_raw;");
    }
    format!("message wane {{ {fields} }}")
}

/// A file that is being written.
pub(crate) struct Writer {
    file: SerializedFileWriter<File>,
    attributes: Vec<u16>,
}

/// One of the two kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Records,
    Truth,
}

impl Kind {
    /// Path of file `number`, relative to the fleet's folder, without extension.
    pub(crate) fn name(self, number: u32) -> String {
        let folder = if self == Self::Records { "records" } else { "truth" };
        format!("{folder}/simulated-{number:06}")
    }

    /// Path of file `number`, relative to the fleet's folder.
    pub(crate) fn file(self, number: u32) -> String {
        self.name(number) + ".parquet"
    }
}

impl Writer {
    /// Creates a file at `path` for the fleet's drives of file `number`.
    pub(crate) fn create(fleet: &Fleet, kind: Kind, number: u32, path: &Path) -> Result<Self, TwinError> {
        let file = File::create(path).map_err(|error| TwinError::unwritten(path, &error))?;
        let attributes = if kind == Kind::Records { all_numbers() } else { Vec::new() };
        let columns: &[Column] = if kind == Kind::Records { &RECORDS } else { &TRUTH };
        let failed = |error: ParquetError| TwinError::File { path: path.to_owned(), why: error.to_string() };
        let schema = Arc::new(parse_message_type(&schema_of(columns, &attributes)).map_err(failed)?);
        let writer =
            SerializedFileWriter::new(file, schema, Arc::new(properties(fleet, &kind.name(number), &attributes)));
        let writer = writer.map_err(failed)?;
        Ok(Self { file: writer, attributes })
    }

    /// Writes a drive's records.
    pub(crate) fn records(&mut self, fleet: &Fleet, slot: &Slot, life: &Life) -> Result<(), ParquetError> {
        let rows = life.hours.len();
        if rows == 0 {
            return Ok(());
        }
        let start = start_seconds(fleet);
        let times: Vec<i64> = life.hours.iter().map(|hour| start + HOUR_SECONDS * i64::from(*hour)).collect();
        let model = &fleet.models[slot.model as usize];
        let mut failure = vec![false; rows];
        failure[rows - 1] = life.end.is_some();
        // A record at midnight is the last one of the day that ends.
        let days = times.iter().map(|time| (time - 1).div_euclid(DAY_SECONDS) as i32).collect();
        let text = |text: String| Values::Text(text, rows);
        let mut columns = vec![
            Values::Int32(days),
            Values::Int64(times),
            text(fleet.serial(slot.number)),
            text(model.name.clone()),
            Values::Int64(vec![model.settings.capacity.0 as i64; rows]),
            Values::Bool(failure),
            text(SOURCE.to_owned()),
        ];
        columns.extend(place(fleet, slot).map(text));
        for number in &self.attributes {
            let own = life.attributes.binary_search(number).ok();
            columns.push(Values::Whole(own.map(|at| life.values[at].clone()), rows));
        }
        assert_eq!(columns.len(), RECORDS.len() + self.attributes.len(), "a record has all columns of its file");
        write(&mut self.file, columns)
    }

    /// Writes what became of a drive.
    pub(crate) fn truth(&mut self, fleet: &Fleet, slot: &Slot, life: &Life) -> Result<(), ParquetError> {
        let start = start_seconds(fleet);
        let model = &fleet.models[slot.model as usize];
        let text = |text: String| Values::Text(text, 1);
        let maybe = Values::Word;
        let seconds = |day: f64| start + libm::round(day * DAY_SECONDS as f64) as i64;
        let end: Option<End> = life.end;
        let [firmware, batch, node, rack] = place(fleet, slot);
        let whole = |value: Option<i64>| Values::Whole(value.map(|value| vec![value]), 1);
        let columns = vec![
            text(fleet.serial(slot.number)),
            text(model.name.clone()),
            text(SOURCE.to_owned()),
            text(batch),
            text(firmware),
            text(node),
            text(rack),
            text(fleet.settings.workload[slot.work.workload as usize].name.clone()),
            Values::Double(slot.work.dwpd),
            Values::Double(life.age_days),
            whole(Some(life.erases_before.into())),
            whole(Some(life.erases_served.into())),
            Values::Bool(vec![end.is_some()]),
            maybe(end.map(|end| end.cause.name().to_owned())),
            whole(end.map(|end| seconds(end.day))),
            whole(end.and_then(|end| end.warned).map(seconds)),
            maybe(end.and_then(|end| end.with).map(|with| fleet.serial(with))),
            whole(life.hours.last().map(|hour| start + HOUR_SECONDS * i64::from(*hour))),
        ];
        assert_eq!(columns.len(), TRUTH.len(), "the truth has all columns of its file");
        write(&mut self.file, columns)
    }

    /// Ends the file and syncs it to the disk.
    pub(crate) fn close(self, path: &Path) -> Result<(), TwinError> {
        let failed = |error: ParquetError| TwinError::File { path: path.to_owned(), why: error.to_string() };
        let file = self.file.into_inner().map_err(failed)?;
        file.sync_all().map_err(|error| TwinError::unwritten(path, &error))
    }
}

/// Returns firmware, batch, node and rack of a drive, as in the columns.
fn place(fleet: &Fleet, slot: &Slot) -> [String; 4] {
    let model = &fleet.models[slot.model as usize];
    [
        model.settings.firmwares[slot.firmware as usize].clone(),
        format!("{}-{}", model.name, slot.batch + 1),
        fleet.place('n', slot.node),
        fleet.place('r', slot.rack),
    ]
}

/// Begin of the watch, in seconds since 1970.
fn start_seconds(fleet: &Fleet) -> i64 {
    let epoch = jiff::civil::date(1970, 1, 1);
    let days = fleet.start.since(epoch).map_or(0, |span| i64::from(span.get_days()));
    days * DAY_SECONDS
}

fn properties(fleet: &Fleet, name: &str, attributes: &[u16]) -> WriterProperties {
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let hours = if fleet.settings.records == crate::Cadence::Hourly { 1 } else { DAY_HOURS };
    let scales: Vec<String> =
        fleet.models().map(|(name, _, scale)| format!("{name}: 1 byte stands for {scale:.1}")).collect();
    let pairs = vec![
        pair(SIMULATED, "these drives never existed; they are simulated by wane".to_owned()),
        pair(FLEET, fleet.hash().to_owned()),
        pair(FILE, name.to_owned()),
        pair("wane.seed", fleet.settings.seed.to_string()),
        pair("wane.drives", fleet.slots.len().to_string()),
        pair("wane.record_hours", hours.to_string()),
        pair(
            "wane.scale",
            format!(
                "bytes, sectors and pages are those of the drives that these stand for ({}); blocks and erases are the simulated ones",
                scales.join("; ")
            ),
        ),
    ];
    let compression = ZstdLevel::try_new(1).map_or(Compression::UNCOMPRESSED, Compression::ZSTD);
    let mut builder: WriterPropertiesBuilder = WriterProperties::builder()
        .set_created_by(format!("wane {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(pairs))
        .set_compression(compression);
    // Counters grow by little from record to record.
    let numbers = attributes.iter().map(|number| format!("smart_{number}_raw"));
    for name in numbers.chain(["date", "time"].map(str::to_owned)) {
        let path = ColumnPath::from(name);
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

fn write(file: &mut SerializedFileWriter<File>, columns: Vec<Values>) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for values in columns {
        write_column(&mut group, values)?;
    }
    group.close()?;
    Ok(())
}

fn write_column(group: &mut SerializedRowGroupWriter<'_, File>, values: Values) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has a field a column");
    match values {
        Values::Bool(values) => column.typed::<BoolType>().write_batch(&values, None, None)?,
        Values::Int32(values) => column.typed::<Int32Type>().write_batch(&values, None, None)?,
        Values::Int64(values) => column.typed::<Int64Type>().write_batch(&values, None, None)?,
        Values::Whole(values, rows) => {
            let levels = vec![i16::from(values.is_some()); rows];
            column.typed::<Int64Type>().write_batch(&values.unwrap_or_default(), Some(&levels), None)?
        }
        Values::Double(value) => column.typed::<DoubleType>().write_batch(&[value], None, None)?,
        Values::Text(text, rows) => {
            let texts = vec![ByteArray::from(text.as_str()); rows];
            column.typed::<ByteArrayType>().write_batch(&texts, None, None)?
        }
        Values::Word(text) => {
            let texts: Vec<ByteArray> = text.iter().map(|text| ByteArray::from(text.as_str())).collect();
            column.typed::<ByteArrayType>().write_batch(&texts, Some(&[texts.len() as i16]), None)?
        }
    };
    column.close()
}

fn reader_of(path: &Path) -> Result<SerializedFileReader<File>, TwinError> {
    let unread = |why: String| TwinError::File { path: path.to_owned(), why };
    let file = File::open(path).map_err(|error| unread(error.to_string()))?;
    SerializedFileReader::new(file).map_err(|error| unread(error.to_string()))
}

/// Whether the file at `path` is there, whole, and this file of the fleet.
pub(crate) fn is_of(path: &Path, fleet: &Fleet, kind: Kind, number: u32) -> bool {
    let Ok(reader) = reader_of(path) else { return false };
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let says = |key: &str, value: &str| {
        pairs.is_some_and(|pairs| pairs.iter().any(|pair| pair.key == key && pair.value.as_deref() == Some(value)))
    };
    says(FLEET, fleet.hash()) && says(FILE, &kind.name(number))
}

/// Number of rows in a file.
pub(crate) fn rows_of(path: &Path) -> Result<u64, TwinError> {
    Ok(reader_of(path)?.metadata().file_metadata().num_rows() as u64)
}

/// Reads from a file of the truth what each drive died of, if it died.
pub(crate) fn causes_of(path: &Path) -> Result<Vec<Option<Cause>>, TwinError> {
    let unread = |why: String| TwinError::File { path: path.to_owned(), why };
    let reader = reader_of(path)?;
    let rows = reader.get_row_iter(None).map_err(|error| unread(error.to_string()))?;
    rows.map(|row| {
        let row = row.map_err(|error| unread(error.to_string()))?;
        let field = row.get_column_iter().find(|(name, _)| *name == "cause").map(|(_, field)| field);
        match field {
            Some(Field::Str(word)) => Ok(Cause::ALL.into_iter().find(|cause| cause.name() == word)),
            _ => Ok(None),
        }
    })
    .collect()
}
