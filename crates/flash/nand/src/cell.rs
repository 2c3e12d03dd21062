//! Kinds of cells: bits, page types and how long each takes.
//!
//! The figures are those of table 2.2 of a study of data-center drives (dissertation, source 002), which gives one value or a
//! range for each kind. How page types share them is ours and documented at each method. The drive's own data sheet takes
//! precedence.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::NandConfigError;

/// Kind of cell: the number of bits it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CellKind {
    /// One bit.
    Slc,
    /// Two bits.
    Mlc,
    /// Three bits.
    Tlc,
    /// Four bits.
    Qlc,
}

/// Which bit of its cells a page holds. The pages of a wordline are consecutive: page `i` of a block is bit `i % bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageType {
    /// The first bit, read with one threshold.
    Lower,
    /// The second of three or four.
    Middle,
    /// The last of two or three, the third of four.
    Upper,
    /// The last of four.
    Top,
}

/// A row of the table: nanoseconds and cycles.
struct Row {
    name: &'static str,
    page_types: &'static [PageType],
    read: u64,
    program: (u64, u64),
    erase: u64,
    cycles: RangeInclusive<u32>,
}

const SLC: Row = Row {
    name: "slc",
    page_types: &[PageType::Lower],
    read: 25_000,
    program: (250_000, 250_000),
    erase: 1_750_000,
    cycles: 90_000..=1_000_000,
};
const MLC: Row = Row {
    name: "mlc",
    page_types: &[PageType::Lower, PageType::Upper],
    read: 50_000,
    program: (600_000, 900_000),
    erase: 3_000_000,
    cycles: 8_000..=30_000,
};
const TLC: Row = Row {
    name: "tlc",
    page_types: &[PageType::Lower, PageType::Middle, PageType::Upper],
    read: 75_000,
    program: (900_000, 1_350_000),
    erase: 5_000_000,
    cycles: 3_000..=5_000,
};
const QLC: Row = Row {
    name: "qlc",
    page_types: &[PageType::Lower, PageType::Middle, PageType::Upper, PageType::Top],
    read: 100_000,
    program: (1_500_000, 1_500_000),
    erase: 6_000_000,
    cycles: 500..=1_000,
};

impl CellKind {
    /// Every kind, by bits.
    pub const ALL: [Self; 4] = [Self::Slc, Self::Mlc, Self::Tlc, Self::Qlc];

    const fn row(self) -> &'static Row {
        match self {
            Self::Slc => &SLC,
            Self::Mlc => &MLC,
            Self::Tlc => &TLC,
            Self::Qlc => &QLC,
        }
    }

    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Bits of a cell, which is also the number of pages of a wordline.
    pub const fn bits_per_cell(self) -> u32 {
        self.row().page_types.len() as u32
    }

    /// The page types, in the order of the pages of a wordline.
    pub const fn page_types(self) -> &'static [PageType] {
        self.row().page_types
    }

    /// The type of page `page` of a block.
    #[inline]
    pub const fn page_type(self, page: u32) -> PageType {
        self.row().page_types[(page % self.bits_per_cell()) as usize]
    }

    /// Nanoseconds to sense page `page` of a block.
    ///
    /// Half of the table's value is the same for all pages. The other half is proportional to the number of thresholds that
    /// read a page's bit in a Gray code: 1, 2, 4 and 8 from the lowest page on. The mean over the types is the table's value.
    /// TLC gets 54, 70 and 102 us.
    pub fn read_ns(self, page: u32) -> u64 {
        let (row, bits) = (self.row(), self.bits_per_cell());
        let thresholds = 1u64 << (page % bits);
        let thresholds_all = (1u64 << bits) - 1;
        row.read / 2 + (row.read - row.read / 2) * thresholds * u64::from(bits) / thresholds_all
    }

    /// Nanoseconds to program page `page` of a block. The types are spaced evenly from the lower end of the table's range to the
    /// upper, so their mean is its middle. SLC takes the middle of 200 to 300 us; QLC has one value.
    pub fn program_ns(self, page: u32) -> u64 {
        let (low, high) = self.row().program;
        let steps = (self.bits_per_cell() - 1).max(1);
        low + (high - low) * u64::from(page % self.bits_per_cell()) / u64::from(steps)
    }

    /// Nanoseconds to erase a block; for SLC the middle of 1.5 to 2 ms.
    pub const fn erase_ns(self) -> u64 {
        self.row().erase
    }

    /// P/E cycles that parts of this kind are rated for.
    pub fn rated_cycles(self) -> RangeInclusive<u32> {
        self.row().cycles.clone()
    }
}

impl fmt::Display for CellKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CellKind {
    type Err = NandConfigError;

    fn from_str(text: &str) -> Result<Self, NandConfigError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| NandConfigError::new("cell", &format!("'{text}'"), "write slc, mlc, tlc or qlc"))
    }
}

impl PageType {
    /// Name of the page type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Middle => "middle",
            Self::Upper => "upper",
            Self::Top => "top",
        }
    }
}

impl fmt::Display for PageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_over_page_types_is_the_middle_of_the_table() {
        let table = [
            (CellKind::Slc, 25_000, 250_000, 1_750_000, 90_000..=1_000_000),
            (CellKind::Mlc, 50_000, 750_000, 3_000_000, 8_000..=30_000),
            (CellKind::Tlc, 75_000, 1_125_000, 5_000_000, 3_000..=5_000),
            (CellKind::Qlc, 100_000, 1_500_000, 6_000_000, 500..=1_000),
        ];
        for (kind, read, program, erase, cycles) in table {
            let bits = u64::from(kind.bits_per_cell());
            let pages = 0..kind.bits_per_cell();
            let reads: u64 = pages.clone().map(|page| kind.read_ns(page)).sum();
            // Each type is rounded down to a nanosecond.
            assert!((read * bits - reads) <= bits, "{kind}: {reads}");
            assert_eq!(pages.map(|page| kind.program_ns(page)).sum::<u64>(), program * bits, "{kind}");
            assert_eq!((kind.erase_ns(), kind.rated_cycles()), (erase, cycles), "{kind}");
        }
    }

    #[test]
    fn later_page_types_never_take_less() {
        for kind in CellKind::ALL {
            for page in 1..kind.bits_per_cell() {
                assert!(kind.read_ns(page) > kind.read_ns(page - 1), "{kind} {page}");
                assert!(kind.program_ns(page) >= kind.program_ns(page - 1), "{kind} {page}");
            }
        }
        assert_eq!([0, 1, 2].map(|page| CellKind::Tlc.read_ns(page) / 1000), [53, 69, 101]);
        assert_eq!([0, 1, 2].map(|page| CellKind::Tlc.program_ns(page)), [900_000, 1_125_000, 1_350_000]);
    }

    #[test]
    fn page_types_repeat_wordline_by_wordline() {
        use PageType::{Lower, Middle, Top, Upper};
        let first_five = |kind: CellKind| [0, 1, 2, 3, 4].map(|page| kind.page_type(page));
        assert_eq!(first_five(CellKind::Slc), [Lower; 5]);
        assert_eq!(first_five(CellKind::Mlc), [Lower, Upper, Lower, Upper, Lower]);
        assert_eq!(first_five(CellKind::Tlc), [Lower, Middle, Upper, Lower, Middle]);
        assert_eq!(first_five(CellKind::Qlc), [Lower, Middle, Upper, Top, Lower]);
        assert_eq!(CellKind::Tlc.read_ns(4), CellKind::Tlc.read_ns(1));
    }

    #[test]
    fn names_are_read_as_written() {
        for kind in CellKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("TLC".parse(), Ok(CellKind::Tlc));
        let error = "plc".parse::<CellKind>().unwrap_err().to_string();
        assert_eq!(error, "cell is 'plc'; write slc, mlc, tlc or qlc");
    }
}
