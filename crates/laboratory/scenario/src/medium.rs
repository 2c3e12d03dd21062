//! The flash of a scenario apart from its size: errors, times, variation, initial state and faults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use wane_nand::rber::{self, CHIPS, Ranges, RberModel};
use wane_nand::{CellKind, ChecksPerRead, Detail, DisturbCount, Draws, Ecc, Relocations, Sensing, Uncorrectable};
use wane_units::{Bytes, Nanos, Rate, Ratio};

use super::error::Refusal;
use super::retention::RetentionSpec;
use super::schema::{in_field_order, keys_that_need};
use super::settings::DriveSettings;
use super::thermal::ThermalSpec;
use super::values::{ends, number};
use super::written::{CHIP_INPUTS, OrNone, PageTimes, Spans, or_none, page_times, spans_or_none, table_of};

/// Largest mean of the erases that blocks may start with: a thousand times what flash bears. A count that is drawn around it stays far below
/// 2^32 with all that a run adds. At 2^32 a block would leave service, since its erases could not be counted any more.
pub const ERASES_INITIAL_MAX: u32 = 1_000_000_000;

/// What the flash is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Medium {
    /// The chip whose raw bit errors it has; `None`: no bit is ever wrong.
    pub chip: Option<ChipSpec>,
    /// The kind of its cells.
    pub cell: Option<CellKind>,
    /// How long its operations take.
    pub timing: TimingSpec,
    /// How errors are corrected.
    pub ecc: EccSpec,
    /// How it differs from place to place.
    pub variation: Variation,
    /// The temperature that its data age at.
    pub retention: RetentionSpec,
    /// Its state when counting starts.
    pub initial: Initial,
    /// Bad blocks and failures.
    pub faults: FaultSpec,
    /// The heat of the drive.
    pub thermal: ThermalSpec,
}

/// A chip's raw bit errors.
#[derive(Clone, Debug, PartialEq)]
pub struct ChipSpec {
    /// The published chip's name; [`ChipSpec::OWN`] for one that the scenario describes.
    pub name: String,
    /// Its RBER.
    pub model: RberModel,
    /// The ranges of the data behind the model. Outside them the RBER is extrapolated.
    pub ranges: Ranges,
    /// Pages of the blocks with which the fit was used; `None`: of the scenario's.
    pub block_pages: Option<u32>,
}

/// How long flash operations take. A list has one duration for each page type: page i of a block has type i modulo its length.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct TimingSpec {
    /// Sensing a page, by page type.
    #[serde(with = "page_times")]
    #[schemars(with = "PageTimes", extend("x-least" = Nanos(1), "x-most" = Nanos(10 * SECOND)))]
    pub read: Vec<Nanos>,
    /// Programming a page, by page type.
    #[serde(with = "page_times")]
    #[schemars(with = "PageTimes", extend("x-least" = Nanos(1), "x-most" = Nanos(10 * SECOND)))]
    pub program: Vec<Nanos>,
    /// Erasing a block.
    #[schemars(extend("x-least" = Nanos(1), "x-most" = Nanos(100 * SECOND)))]
    pub erase: Nanos,
    /// How fast a channel moves data; `"none"`: transfers take no time.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Rate>", extend("x-least" = Rate(1_000), "x-most" = Rate(1_000_000_000_000)))]
    pub channel_rate: Option<Rate>,
    /// What suspending a program or an erase costs the die.
    #[schemars(extend("x-least" = Nanos(0), "x-most" = Nanos::SECOND))]
    pub suspend: Nanos,
}

/// How bit errors are corrected. Has an effect only with a `chip`; a layer that sets `chip = "none"` displaces it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct EccSpec {
    /// Size of the data that is corrected together. It must divide the mapping unit.
    #[schemars(extend("x-least" = Bytes(64), "x-most" = Bytes(128 << 10)))]
    pub codeword: Bytes,
    /// Number of wrong bits of a codeword that can be corrected; `"none"` corrects any number.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<u32>", extend("minimum" = 0, "maximum" = 1 << 20))]
    pub strength: Option<u32>,
    /// Number of times that a page is sensed again before it counts as uncorrectable; `"none"`: until it can be read.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<u32>", extend("minimum" = 0, "maximum" = 1 << 10))]
    pub rereads_max: Option<u32>,
    /// Factor by which each re-read divides the RBER.
    #[schemars(extend("exclusiveMinimum" = 1, "maximum" = 1e6))]
    pub scale: f64,
    /// What re-reads are: hard decisions at shifted thresholds, or 3, 5 and 7 senses for soft decisions, which correct 1.70, 1.86 and
    /// 1.91 times the RBER; after these a page is uncorrectable.
    pub sensing: Sensing,
    /// How a re-read's errors come about: `independent` draws them anew; `sticky` keeps a random part of those before; `expected` has as many
    /// as expected. `table` takes the number of re-reads from a table by P/E cycles, as the released code of 001 does.
    pub draws: Draws,
    /// Which codewords of a read are checked: all that hold data of it (eight for 4 KiB), so that the worst decides how often the page is
    /// sensed; or one for the whole read, as in simulators that draw once a read.
    #[schemars(extend("x-unwritten" = "default"))]
    pub checks_per_read: ChecksPerRead,
    /// What errors are drawn for: each codeword that is checked; or the page as a whole, which is two to three times as fast, gives the same
    /// re-reads and leaves the histogram of errors empty.
    #[schemars(extend("x-moved" = { "one-codeword": "drive.ecc.checks-per-read = \"one-codeword\"" }))]
    pub detail: Detail,
    /// Whether reads of relocations can have errors in an untimed life. That is several times slower, and data that cannot be read are lost. In
    /// timed runs and with stripes they always can.
    #[schemars(extend("x-unwritten" = "default"))]
    pub relocations: Relocations,
    /// What the host of a kept drive gets when it reads a page with more errors than can be corrected: a medium error, or the data with wrong
    /// bits and no error.
    #[schemars(extend("x-unwritten" = "default"))]
    pub uncorrectable: Uncorrectable,
    /// What the chip's fit counts as reads in read disturb. `by-block`: each read of any page of the block, as in the source's simulation, so that a
    /// block that is read once from end to end counts all its pages. `as-fitted`: the same, but of a block of more pages than the source's (256 of
    /// the published chips) a share, so that it counts 256. `by-page`: the mean reads of its pages, so that it counts one. The source does not say
    /// what its chips' reads were; on large blocks they decide how slow an old drive is (see *How far can I trust this?*).
    #[schemars(extend("x-unwritten" = "default"))]
    pub disturb_count: DisturbCount,
}

/// How much the RBER differs from place to place: seeded lognormal factors with mean 1. Has an effect only with a `chip`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct Variation {
    /// Sigma of the factor between blocks.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub blocks: f64,
    /// Sigma of the factor between layers.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub layers: f64,
    /// Number of layers that the pages of a block are spread over.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub layer_count: u32,
}

/// The state of the flash when counting starts, set after preconditioning.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct Initial {
    /// Mean P/E cycles of the blocks. They replace those of preconditioning; `"none"` keeps these.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<u32>", extend("minimum" = 0, "maximum" = ERASES_INITIAL_MAX))]
    pub erase_count: Option<u32>,
    /// Standard deviation of `erase-count` divided by its mean. The distribution is normal, cut off at 0 and 2000000000.
    pub erase_count_spread: Ratio,
    /// How long ago data was written: a duration, or the two ends of a range from which each block's is drawn uniformly.
    #[serde(rename = "retention", with = "spans_or_none")]
    #[schemars(with = "OrNone<Spans>")]
    pub retention_days: Option<(f64, f64)>,
    /// Reads of each block since its erase.
    #[schemars(range(min = 0, max = u32::MAX))]
    pub reads: u32,
}

/// Which blocks are bad and how often operations fail, seeded.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct FaultSpec {
    /// Share of the blocks that are bad from the start.
    pub factory_bad: Ratio,
    /// Probability that a program fails.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub program_failure: f64,
    /// Probability that an erase fails.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub erase_failure: f64,
    /// Probability, at each erase, that the block loses a wordline for ever: its pages read uncorrectable and their programs fail.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub wordline_loss: f64,
    /// Rate at which each die is lost, per drive write, at random times.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub die_loss: f64,
    /// The die that is lost at `lost-die-at`. Dies are counted from 0, channel first.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<u32>", extend("minimum" = 0, "maximum" = u32::MAX))]
    pub lost_die: Option<u32>,
    /// When `lost-die` is lost, in drive writes since preconditioning.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub lost_die_at: f64,
}

const SECOND: u64 = Nanos::SECOND.0;

impl ChipSpec {
    /// Name of a chip that the scenario describes itself.
    pub const OWN: &str = "own";

    fn value(&self) -> Value {
        if rber::chip(&self.name).is_some() {
            return Value::from(self.name.as_str());
        }
        let parameters = RberModel::NAMES.into_iter().zip(self.model.parameters());
        let mut table: Table = parameters.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
        let (data, inputs) = ("data", CHIP_INPUTS);
        let ranges = [self.ranges.cycles, self.ranges.days, self.ranges.reads];
        let range = |(least, most): (f64, f64)| Value::Array(vec![Value::from(least), Value::from(most)]);
        let ranges = inputs.into_iter().zip(ranges).map(|(name, ends)| (name.to_owned(), range(ends)));
        table.insert(data.to_owned(), Value::Table(ranges.collect()));
        Value::Table(table)
    }

    /// Makes a chip from the value of `drive.chip`. Its parts are checked already but may be missing.
    fn of(value: &Value) -> Result<Option<Self>, Refusal> {
        let table = match value {
            Value::Table(table) => table,
            value => {
                let chip = CHIPS.iter().find(|chip| value.as_str() == Some(chip.name));
                return Ok(chip.map(|chip| Self {
                    name: chip.name.to_owned(),
                    model: chip.model,
                    ranges: chip.ranges,
                    block_pages: Some(chip.block_pages),
                }));
            }
        };
        let missing =
            |key: &str| (format!("drive.chip.{key}"), "is missing; `wane rber fit` writes all keys".to_owned());
        let mut parameters = [0.0; RberModel::NAMES.len()];
        for (parameter, name) in parameters.iter_mut().zip(RberModel::NAMES) {
            *parameter = table.get(name).and_then(number).ok_or_else(|| missing(name))?;
        }
        let (data, inputs) = ("data", CHIP_INPUTS);
        let data_table = table.get(data).and_then(Value::as_table).ok_or_else(|| missing(data))?;
        let mut ranges = [(0.0, 0.0); 3];
        for (range, name) in ranges.iter_mut().zip(inputs) {
            *range = data_table.get(name).and_then(ends).ok_or_else(|| missing(&format!("{data}.{name}")))?;
        }
        let [cycles, days, reads] = ranges;
        let model = RberModel::from_parameters(parameters);
        let ranges = Ranges { cycles, days, reads };
        Ok(Some(Self { name: Self::OWN.to_owned(), model, ranges, block_pages: None }))
    }
}

/// The keys of `[drive.timing]` that `cell` fills in.
pub(super) const CELL_TIMES: [&str; 3] = ["read", "program", "erase"];

/// Fills in the times of `cell` that `[drive.timing]` does not write.
pub(super) fn fill_in_cell_times(drive: &mut Table) {
    let Some(cell) = drive.get("cell").and_then(Value::as_str).and_then(|name| name.parse::<CellKind>().ok()) else {
        return;
    };
    let types = 0..cell.bits_per_cell();
    let read = types.clone().map(|page| Nanos(cell.read_ns(page))).collect();
    let program = types.map(|page| Nanos(cell.program_ns(page))).collect();
    let times = TimingSpec { read, program, erase: Nanos(cell.erase_ns()), ..TimingSpec::default() };
    let timing = drive.entry("timing").or_insert_with(|| Value::Table(Table::new()));
    let Value::Table(timing) = timing else { return };
    for (key, value) in table_of(&times).into_iter().filter(|(key, _)| CELL_TIMES.contains(&key.as_str())) {
        timing.entry(key).or_insert(value);
    }
}

impl Default for TimingSpec {
    fn default() -> Self {
        Self {
            read: vec![Nanos(50_000)],
            program: vec![Nanos(500_000)],
            erase: Nanos(5_000_000),
            channel_rate: Some(Rate(667_000_000)),
            suspend: Nanos(20_000),
        }
    }
}

impl Default for EccSpec {
    fn default() -> Self {
        let ecc = Ecc::default();
        Self {
            codeword: Bytes(u64::from(ecc.codeword_bytes)),
            // Any number of errors is corrected unless the scenario limits it.
            strength: None,
            rereads_max: ecc.rereads_max,
            scale: ecc.scale,
            sensing: ecc.sensing,
            draws: ecc.draws,
            checks_per_read: ChecksPerRead::default(),
            detail: Detail::default(),
            relocations: Relocations::Trusted,
            uncorrectable: Uncorrectable::default(),
            disturb_count: DisturbCount::default(),
        }
    }
}

impl Default for Variation {
    fn default() -> Self {
        Self { blocks: 0.0, layers: 0.0, layer_count: 72 }
    }
}

impl Default for Initial {
    fn default() -> Self {
        let erase_count_spread = Ratio::new(0.05).expect("5 % is a ratio");
        Self { erase_count: None, erase_count_spread, retention_days: None, reads: 0 }
    }
}

/// Tables of `[drive]` that have an effect only with a chip.
pub(super) fn chip_tables() -> Vec<&'static str> {
    keys_that_need("drive", "chip")
}

impl Medium {
    /// Makes the medium that `[drive]` describes.
    ///
    /// # Errors
    /// A chip's table is incomplete.
    pub(super) fn of(drive: &DriveSettings) -> Result<Self, Refusal> {
        Ok(Self {
            chip: drive.chip.as_ref().map(ChipSpec::of).transpose()?.flatten(),
            cell: drive.cell,
            timing: drive.timing.clone(),
            ecc: drive.ecc,
            variation: drive.variation,
            retention: drive.retention,
            initial: drive.initial,
            faults: drive.faults,
            thermal: drive.thermal,
        })
    }

    /// Refuses keys that contradict each other; `set` holds the scenario's own keys, without those of its preset.
    pub(super) fn check(&self, set: &Table, unit: Bytes) -> Result<(), Refusal> {
        if self.chip.is_none()
            && let Some(table) = chip_tables()
                .into_iter()
                .find(|name| set.get(*name).and_then(Value::as_table).is_some_and(|table| !table.is_empty()))
        {
            let message = "means nothing without raw bit errors; name a chip in drive.chip";
            return Err((format!("drive.{table}"), message.to_owned()));
        }
        if self.chip.is_some() && !unit.0.is_multiple_of(self.ecc.codeword.0) {
            let message = format!("found {}, which does not divide the mapping unit, {unit}", self.ecc.codeword);
            return Err(("drive.ecc.codeword".to_owned(), message));
        }
        if self.ecc.detail == Detail::Pages && self.ecc.draws != Draws::Independent {
            let message =
                "found \"pages\", which draws re-reads independently; drive.ecc.draws must be \"independent\"";
            return Err(("drive.ecc.detail".to_owned(), message.to_owned()));
        }
        if let Some(cell) = self.cell {
            for (key, times) in [("read", &self.timing.read), ("program", &self.timing.program)] {
                if times.len() > 1 && times.len() != cell.bits_per_cell() as usize {
                    let (found, name, types) = (times.len(), cell.name(), cell.bits_per_cell() as usize);
                    let message =
                        format!("found {found} durations; 1 or {types} are allowed, as {name} has {types} page types");
                    return Err((format!("drive.timing.{key}"), message));
                }
            }
        }
        Ok(())
    }

    /// The keys of `[drive]` about the flash, with their values.
    pub(super) fn entries(&self) -> [(&'static str, Value); 9] {
        [
            ("chip", self.chip.as_ref().map_or(Value::from("none"), ChipSpec::value)),
            ("cell", Value::from(self.cell.map_or("none", CellKind::name))),
            ("timing", Value::Table(table_of(&self.timing))),
            ("ecc", Value::Table(table_of(&self.ecc))),
            ("variation", Value::Table(table_of(&self.variation))),
            ("retention", Value::Table(table_of(&self.retention))),
            ("initial", Value::Table(table_of(&self.initial))),
            ("faults", Value::Table(table_of(&self.faults))),
            ("thermal", Value::Table(table_of(&self.thermal))),
        ]
    }
}
