//! The flash of a scenario beside its size: errors, times, variation, first state and faults.

use toml::{Table, Value};
use wane_nand::rber::{self, CHIPS, Ranges, RberModel};
use wane_nand::{CellKind, Detail, Sensing};
use wane_units::{Bytes, Rate, Ratio};

use super::error::Refusal;
use super::keys::{CHIP_DATA, CHIP_TABLES};
use super::named;
use super::values::{choice, count, duration, ends, nanos, nanos_list, number, or_none, ratio, size, span, stretch};

/// Most erases that blocks may start with on average. Flash bears a thousandth of it; from there a count that is drawn around it,
/// and all that a run may add, stay far below 2^32, where a block leaves service since its erases cannot be counted any more.
pub const ERASES_INITIAL_MAX: u32 = 1_000_000_000;

/// What the flash is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Medium {
    /// Whose raw bit errors it has; `None`: none.
    pub chip: Option<ChipSpec>,
    /// The kind of its cells.
    pub cell: Option<CellKind>,
    /// How long its operations take.
    pub timing: TimingSpec,
    /// How errors are corrected.
    pub ecc: EccSpec,
    /// How it differs from place to place.
    pub variation: Variation,
    /// Its state when counting starts.
    pub initial: Initial,
    /// What breaks.
    pub faults: FaultSpec,
}

/// A chip's raw bit errors.
#[derive(Clone, Debug, PartialEq)]
pub struct ChipSpec {
    /// The published chip's name; [`ChipSpec::OWN`] for one that the scenario describes.
    pub name: String,
    /// Its RBER.
    pub model: RberModel,
    /// Outside it is extrapolation.
    pub ranges: Ranges,
}

/// How long flash operations take.
#[derive(Clone, Debug, PartialEq)]
pub struct TimingSpec {
    /// Nanoseconds of sensing a page of each page type; page i of a block has type i modulo the length.
    pub read: Vec<u64>,
    /// Nanoseconds of a program, likewise.
    pub program: Vec<u64>,
    /// Nanoseconds of an erase.
    pub erase: u64,
    /// Rate of a channel; `None`: transfers take no time.
    pub channel_bytes_per_second: Option<u64>,
    /// Nanoseconds that a suspension costs.
    pub suspend: u64,
}

/// How errors are corrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EccSpec {
    /// Data that is corrected together.
    pub codeword: Bytes,
    /// Bits correctable in a codeword; `None`: all.
    pub strength: Option<u32>,
    /// Most re-reads; `None`: as many as it takes.
    pub rereads_max: Option<u32>,
    /// Divisor of the RBER at each re-read.
    pub scale: f64,
    /// Whether re-reads are soft decisions.
    pub sensing: Sensing,
    /// How the errors of re-reads come about.
    pub draws: Draws,
    /// How closely errors are drawn.
    pub detail: Detail,
}

/// How the errors of re-reads come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    /// Drawn anew.
    Independent,
    /// Thinned from those before.
    Sticky,
    /// As many as expected.
    Expected,
    /// Re-reads by a table of P/E cycles.
    Table,
}

/// How the flash differs from place to place: sigmas of lognormal factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// Between blocks.
    pub blocks: f64,
    /// Between layers.
    pub layers: f64,
    /// Layers of a block.
    pub layer_count: u32,
}

/// The state when counting starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Initial {
    /// Mean P/E cycles; `None`: as preconditioning left them.
    pub erase_count: Option<u32>,
    /// Standard deviation of the P/E cycles over their mean.
    pub erase_count_spread: Ratio,
    /// Days since data was written, least and most of a uniform draw for each block.
    pub retention_days: Option<(f64, f64)>,
    /// Reads of each block since its erase.
    pub reads: u32,
}

/// What breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultSpec {
    /// Share of the blocks that are bad from the start.
    pub factory_bad: Ratio,
    /// Probability that a program fails.
    pub program_failure: f64,
    /// Probability that an erase fails.
    pub erase_failure: f64,
    /// Probability, at each erase, that the block loses a wordline.
    pub wordline_loss: f64,
    /// Dies lost in a drive write, for each die.
    pub die_loss: f64,
    /// A die that is lost at a given time.
    pub lost_die: Option<u32>,
    /// That time, in drive writes since preconditioning.
    pub lost_die_at: f64,
}

const CELLS: [&str; 5] = ["none", "slc", "mlc", "tlc", "qlc"];
const SENSINGS: [&str; 2] = ["hard", "soft"];
const DETAILS: [&str; 3] = ["codewords", "pages", "one-codeword"];
const DRAWS: [&str; 4] = ["independent", "sticky", "expected", "table"];

impl ChipSpec {
    /// What a chip is called that the scenario describes itself.
    pub const OWN: &str = "own";

    fn value(&self) -> Value {
        if rber::chip(&self.name).is_some() {
            return Value::from(self.name.as_str());
        }
        let parameters = RberModel::NAMES.into_iter().zip(self.model.parameters());
        let mut table: Table = parameters.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
        let (data, inputs) = CHIP_DATA;
        let ranges = [self.ranges.cycles, self.ranges.days, self.ranges.reads];
        let range = |(least, most): (f64, f64)| Value::Array(vec![Value::from(least), Value::from(most)]);
        let ranges = inputs.into_iter().zip(ranges).map(|(name, ends)| (name.to_owned(), range(ends)));
        table.insert(data.to_owned(), Value::Table(ranges.collect()));
        Value::Table(table)
    }

    /// A chip from its value, whose parts are checked but may be missing.
    fn of(value: &Value) -> Result<Option<Self>, Refusal> {
        let table = match value {
            Value::Table(table) => table,
            value => {
                let chip = CHIPS.iter().find(|chip| value.as_str() == Some(chip.name));
                return Ok(chip.map(|chip| Self {
                    name: chip.name.to_owned(),
                    model: chip.model,
                    ranges: chip.ranges,
                }));
            }
        };
        let missing =
            |key: &str| (format!("drive.chip.{key}"), "is missing; `wane rber fit` writes all keys".to_owned());
        let mut parameters = [0.0; RberModel::NAMES.len()];
        for (parameter, name) in parameters.iter_mut().zip(RberModel::NAMES) {
            *parameter = table.get(name).and_then(number).ok_or_else(|| missing(name))?;
        }
        let (data, inputs) = CHIP_DATA;
        let data_table = table.get(data).and_then(Value::as_table).ok_or_else(|| missing(data))?;
        let mut ranges = [(0.0, 0.0); 3];
        for (range, name) in ranges.iter_mut().zip(inputs) {
            *range = data_table.get(name).and_then(ends).ok_or_else(|| missing(&format!("{data}.{name}")))?;
        }
        let [cycles, days, reads] = ranges;
        let model = RberModel::from_parameters(parameters);
        Ok(Some(Self { name: Self::OWN.to_owned(), model, ranges: Ranges { cycles, days, reads } }))
    }
}

/// Nanoseconds of reads and programs by page type, and of an erase.
fn times(cell: CellKind) -> (Vec<u64>, Vec<u64>, u64) {
    let types = 0..cell.bits_per_cell();
    let read = types.clone().map(|page| cell.read_ns(page)).collect();
    (read, types.map(|page| cell.program_ns(page)).collect(), cell.erase_ns())
}

impl Default for TimingSpec {
    fn default() -> Self {
        Self {
            read: vec![50_000],
            program: vec![500_000],
            erase: 5_000_000,
            channel_bytes_per_second: Some(667_000_000),
            suspend: 20_000,
        }
    }
}

impl TimingSpec {
    fn of(table: &Table, cell: Option<CellKind>) -> Self {
        let mut timing = Self::default();
        if let Some(cell) = cell {
            (timing.read, timing.program, timing.erase) = times(cell);
        }
        let get = |key: &str| table.get(key);
        timing.read = get("read").and_then(nanos_list).unwrap_or(timing.read);
        timing.program = get("program").and_then(nanos_list).unwrap_or(timing.program);
        timing.erase = get("erase").and_then(nanos).unwrap_or(timing.erase);
        timing.suspend = get("suspend").and_then(nanos).unwrap_or(timing.suspend);
        if let Some(rate) = get("channel-rate").and_then(Value::as_str) {
            timing.channel_bytes_per_second = rate.parse::<Rate>().ok().map(|rate| rate.0);
        }
        timing
    }

    fn table(&self) -> Table {
        let list = |times: &[u64]| match times {
            [one] => duration(*one),
            times => Value::Array(times.iter().map(|time| duration(*time)).collect()),
        };
        named([
            ("read", list(&self.read)),
            ("program", list(&self.program)),
            ("erase", duration(self.erase)),
            ("channel-rate", or_none(self.channel_bytes_per_second, |rate| Value::from(Rate(rate).to_string()))),
            ("suspend", duration(self.suspend)),
        ])
    }
}

impl Default for EccSpec {
    fn default() -> Self {
        Self {
            codeword: Bytes(512),
            strength: None,
            rereads_max: None,
            scale: 2.0,
            sensing: Sensing::Hard,
            draws: Draws::Independent,
            detail: Detail::Codewords,
        }
    }
}

impl EccSpec {
    fn of(table: &Table) -> Self {
        use Draws::{Expected, Independent, Sticky, Table};
        let default = Self::default();
        Self {
            codeword: table
                .get("codeword")
                .and_then(Value::as_str)
                .and_then(|text| text.parse().ok())
                .unwrap_or(default.codeword),
            strength: count(table, "strength"),
            rereads_max: count(table, "rereads-max"),
            scale: table.get("scale").and_then(number).unwrap_or(default.scale),
            sensing: [Sensing::Hard, Sensing::Soft][choice(table, "sensing", &SENSINGS)],
            draws: [Independent, Sticky, Expected, Table][choice(table, "draws", &DRAWS)],
            detail: [Detail::Codewords, Detail::Pages, Detail::OneCodeword][choice(table, "detail", &DETAILS)],
        }
    }

    fn table(&self) -> Table {
        let count = |count| Value::from(i64::from(count));
        named([
            ("codeword", size(self.codeword.0)),
            ("strength", or_none(self.strength, count)),
            ("rereads-max", or_none(self.rereads_max, count)),
            ("scale", Value::from(self.scale)),
            ("sensing", Value::from(SENSINGS[self.sensing as usize])),
            ("draws", Value::from(DRAWS[self.draws as usize])),
            ("detail", Value::from(DETAILS[self.detail as usize])),
        ])
    }
}

impl Default for Variation {
    fn default() -> Self {
        Self { blocks: 0.0, layers: 0.0, layer_count: 72 }
    }
}

impl Variation {
    fn of(table: &Table) -> Self {
        let sigma = |key: &str| table.get(key).and_then(number).unwrap_or(0.0);
        let layer_count = count(table, "layer-count").unwrap_or(Self::default().layer_count);
        Self { blocks: sigma("blocks"), layers: sigma("layers"), layer_count }
    }

    fn table(&self) -> Table {
        named([
            ("blocks", Value::from(self.blocks)),
            ("layers", Value::from(self.layers)),
            ("layer-count", Value::from(i64::from(self.layer_count))),
        ])
    }
}

impl Default for Initial {
    fn default() -> Self {
        let erase_count_spread = Ratio::new(0.05).expect("5 % is a ratio");
        Self { erase_count: None, erase_count_spread, retention_days: None, reads: 0 }
    }
}

impl Initial {
    fn of(table: &Table) -> Self {
        let retention_days = match table.get("retention") {
            Some(Value::Array(ends)) => ends.first().and_then(span).zip(ends.last().and_then(span)),
            one => one.and_then(span).map(|days| (days, days)),
        };
        let spread = table.get("erase-count-spread").and_then(ratio);
        Self {
            erase_count: count(table, "erase-count"),
            erase_count_spread: spread.unwrap_or(Self::default().erase_count_spread),
            retention_days,
            reads: count(table, "reads").unwrap_or(0),
        }
    }

    fn table(&self) -> Table {
        let retention = |(least, most): (f64, f64)| {
            if least == most { stretch(least) } else { Value::Array(vec![stretch(least), stretch(most)]) }
        };
        named([
            ("erase-count", or_none(self.erase_count, |count| Value::from(i64::from(count)))),
            ("erase-count-spread", Value::from(self.erase_count_spread.get())),
            ("retention", or_none(self.retention_days, retention)),
            ("reads", Value::from(i64::from(self.reads))),
        ])
    }
}

impl FaultSpec {
    fn of(table: &Table) -> Self {
        let probability = |key: &str| table.get(key).and_then(number).unwrap_or(0.0);
        Self {
            factory_bad: table.get("factory-bad").and_then(ratio).unwrap_or(Ratio::ZERO),
            program_failure: probability("program-failure"),
            erase_failure: probability("erase-failure"),
            wordline_loss: probability("wordline-loss"),
            die_loss: probability("die-loss"),
            lost_die: count(table, "lost-die"),
            lost_die_at: probability("lost-die-at"),
        }
    }

    fn table(&self) -> Table {
        named([
            ("factory-bad", Value::from(self.factory_bad.get())),
            ("program-failure", Value::from(self.program_failure)),
            ("erase-failure", Value::from(self.erase_failure)),
            ("wordline-loss", Value::from(self.wordline_loss)),
            ("die-loss", Value::from(self.die_loss)),
            ("lost-die", or_none(self.lost_die, |die| Value::from(i64::from(die)))),
            ("lost-die-at", Value::from(self.lost_die_at)),
        ])
    }
}

impl Medium {
    /// Reads `[drive]`, whose values are checked one by one.
    ///
    /// # Errors
    /// A chip's table is not whole.
    pub(super) fn of(drive: &Table) -> Result<Self, Refusal> {
        let empty = Table::new();
        let part = |name: &str| drive.get(name).and_then(Value::as_table).unwrap_or(&empty);
        let chip = drive.get("chip").map(ChipSpec::of).transpose()?.flatten();
        let cell = choice(drive, "cell", &CELLS).checked_sub(1).map(|bits| CellKind::ALL[bits]);
        Ok(Self {
            chip,
            cell,
            timing: TimingSpec::of(part("timing"), cell),
            ecc: EccSpec::of(part("ecc")),
            variation: Variation::of(part("variation")),
            initial: Initial::of(part("initial")),
            faults: FaultSpec::of(part("faults")),
        })
    }

    /// Refuses keys that contradict each other; `set` has those of the scenario without its preset.
    pub(super) fn check(&self, set: &Table, unit: Bytes) -> Result<(), Refusal> {
        if self.chip.is_none()
            && let Some(table) = CHIP_TABLES
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

    /// The values of `[drive]`, each by its key.
    pub(super) fn entries(&self) -> [(&'static str, Value); 7] {
        [
            ("chip", or_none(self.chip.as_ref(), ChipSpec::value)),
            ("cell", Value::from(self.cell.map_or("none", CellKind::name))),
            ("timing", Value::Table(self.timing.table())),
            ("ecc", Value::Table(self.ecc.table())),
            ("variation", Value::Table(self.variation.table())),
            ("initial", Value::Table(self.initial.table())),
            ("faults", Value::Table(self.faults.table())),
        ]
    }
}
