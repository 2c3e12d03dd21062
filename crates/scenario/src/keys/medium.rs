//! The keys of the flash itself: its chip, its times, its errors and its first state.

use wane_units::Nanos;

use super::{Key, Kind, Section, U32, key};
use crate::ERASES_INITIAL_MAX;

const SECOND: u64 = Nanos::SECOND.0;

/// Whose errors.
pub(super) const CHIP: Key = key(
    "chip",
    Kind::Chip,
    "none",
    "Whose raw bit errors the flash has: a published chip, or a table `[drive.chip]` with the nine parameters and `data`, as `wane rber fit` prints it under `[rber]`. `\"none\"`: no bit is ever wrong.",
);

/// The kind of cell.
pub(super) const CELL: Key = key(
    "cell",
    Kind::Choice(&["none", "slc", "mlc", "tlc", "qlc"]),
    "none",
    "Brings the times of its page types: the middle of each range of Table 2.2 in 002. Times that the same layer gives win; of those from layers below it displaces `read`, `program` and `erase`.",
);

/// How long flash operations take.
pub(super) const TIMING: Section = Section {
    name: "drive.timing",
    doc: "How long flash operations take. A list has one duration for each page type: page i of a block has type i modulo its \
          length.",
    keys: &[
        key("read", Kind::Durations(1, 10 * SECOND), "50 us", "Sensing a page, by page type."),
        key("program", Kind::Durations(1, 10 * SECOND), "500 us", "Programming a page, by page type."),
        key("erase", Kind::Duration(1, 100 * SECOND), "5 ms", "Erasing a block."),
        key(
            "channel-rate",
            Kind::RateOrNone(1_000, 1_000_000_000_000),
            "667 MB/s",
            "How fast a channel moves data; `\"none\"`: transfers take no time.",
        ),
        key("suspend", Kind::Duration(0, SECOND), "20 us", "What suspending a program or an erase costs the die."),
    ],
};

/// How errors are corrected.
pub(super) const ECC: Section = Section {
    name: "drive.ecc",
    doc: "How bit errors are corrected. Means something with a `chip` only; a layer that sets `chip = \"none\"` displaces it.",
    keys: &[
        key(
            "codeword",
            Kind::Bytes(64, 128 << 10),
            "512 B",
            "Data that is corrected together. Divides the mapping unit.",
        ),
        key(
            "strength",
            Kind::CountOrNone(0, 1 << 20),
            "none",
            "Bits that a codeword can have wrong and still be corrected; `\"none\"` corrects all.",
        ),
        key(
            "rereads-max",
            Kind::CountOrNone(0, 1 << 10),
            "none",
            "How often a page is sensed again before it counts as uncorrectable; `\"none\"`: until it can be read.",
        ),
        key("scale", Kind::Above(1.0, 1e6), "2", "By how much each re-read divides the RBER."),
        key(
            "sensing",
            Kind::Choice(&["hard", "soft"]),
            "hard",
            "What re-reads are: hard decisions at shifted thresholds, or 3, 5 and 7 senses for soft decisions, which correct 1.70, 1.86 and 1.91 times the RBER; after these a page is uncorrectable.",
        ),
        key(
            "draws",
            Kind::Choice(&["independent", "sticky", "expected", "table"]),
            "independent",
            "How a re-read's errors come about: drawn anew; thinned from those before; as many as expected; or re-reads by a table of P/E cycles, as the released code of 001 has it.",
        ),
        key(
            "detail",
            Kind::Choice(&["codewords", "pages", "one-codeword"]),
            "codewords",
            "How closely errors are drawn: for every codeword of a read; for the page as a whole, which is two to three times as fast, gives the same re-reads and leaves the histogram of errors empty; or for one codeword that stands for all of its read, as simulators do that draw once a read.",
        ),
    ],
};

/// How blocks and layers differ.
pub(super) const VARIATION: Section = Section {
    name: "drive.variation",
    doc: "How much flash differs from place to place: lognormal factors of the RBER with mean 1, seeded. With a `chip` only.",
    keys: &[
        key("blocks", Kind::Number(0.0, 2.0), "0", "Sigma of the factor between blocks."),
        key("layers", Kind::Number(0.0, 2.0), "0", "Sigma of the factor between layers."),
        key("layer-count", Kind::Count(1, 1 << 16), "72", "Layers that the pages of a block are spread over."),
    ],
};

/// The state at the start of counting.
pub(super) const INITIAL: Section = Section {
    name: "drive.initial",
    doc: "The state of the flash when counting starts, set after preconditioning.",
    keys: &[
        key(
            "erase-count",
            Kind::CountOrNone(0, ERASES_INITIAL_MAX as u64),
            "none",
            "Mean P/E cycles of the blocks, in place of those from preconditioning, which `\"none\"` keeps.",
        ),
        key(
            "erase-count-spread",
            Kind::Ratio,
            "5 %",
            "Standard deviation of `erase-count` over its mean; normal, cut off at 0 and 2000000000.",
        ),
        key(
            "retention",
            Kind::Spans,
            "none",
            "How long ago data was written: a duration, or the two ends of a uniform draw for each block.",
        ),
        key("reads", Kind::Count(0, U32), "0", "Reads of each block since its erase."),
    ],
};

/// What breaks.
pub(super) const FAULTS: Section = Section {
    name: "drive.faults",
    doc: "Which blocks are bad and how often operations fail, seeded.",
    keys: &[
        key("factory-bad", Kind::Ratio, "0 %", "Share of the blocks that are bad from the start."),
        key("program-failure", Kind::Number(0.0, 1.0), "0", "Probability that a program fails."),
        key("erase-failure", Kind::Number(0.0, 1.0), "0", "Probability that an erase fails."),
        key(
            "wordline-loss",
            Kind::Number(0.0, 1.0),
            "0",
            "Probability, at each erase, that the block loses a wordline for ever: its pages read uncorrectable and their programs fail.",
        ),
        key("die-loss", Kind::Number(0.0, 1e6), "0", "Dies lost in a drive write, for each die, at random times."),
        key(
            "lost-die",
            Kind::CountOrNone(0, U32),
            "none",
            "A die that is lost at `lost-die-at`, counted from 0, channel first.",
        ),
        key("lost-die-at", Kind::Number(0.0, 1e9), "0", "When `lost-die` goes, in drive writes since preconditioning."),
    ],
};

/// Keys of the timing that a cell brings.
pub(crate) const CELL_TIMES: [&str; 3] = ["read", "program", "erase"];

/// Tables of `[drive]` that mean something with a chip only.
pub(crate) const CHIP_TABLES: [&str; 2] = ["ecc", "variation"];

/// The table beside a chip's parameters, and its keys.
pub(crate) const CHIP_DATA: (&str, [&str; 3]) = ("data", ["cycles", "days", "reads"]);
