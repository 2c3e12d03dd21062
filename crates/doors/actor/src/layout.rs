//! How an object is cut into stripes, stripes into N cells and cells into N blocks; and how many bytes its coding moves.
//!
//! A stripe is N cells of the object and the K parity cells made of them. Share i consists of cell i of every stripe, in order. Each
//! cell has N blocks. The drive that keeps share j makes block j of every parity from block j of the N data cells: that is drive j's
//! own byte range. Blocks are multiples of 64 B, the piece that the code works on.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_units::Bytes;

use crate::ActorError;

/// Bytes of a piece. The code works on each piece on its own.
pub const PIECE: u32 = 64;

/// Shares of an object, at most.
pub const SHARES_MAX: u16 = 256;

/// Most bytes of a cell, so that a message stays small.
pub const CELL_MAX: u32 = 8 << 20;

/// Default bytes of a cell.
pub const CELL_DEFAULT: u32 = 1 << 20;

/// An object's bytes, at most.
pub const SIZE_MAX: u64 = 1 << 56;

/// Bytes before a block that say what it is; see [`crate::share`].
pub const RECORD_BYTES: u64 = 16;

/// Bytes before a share's first block.
pub const HEADER_BYTES: u64 = 4096;

/// N shares of data and K of parity: any N of the N + K make the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Told")]
pub struct Code {
    /// N.
    pub data: u16,
    /// K.
    pub parity: u16,
}

/// A code as received, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    data: u16,
    parity: u16,
}

impl TryFrom<Told> for Code {
    type Error = ActorError;

    fn try_from(told: Told) -> Result<Self, ActorError> {
        Self { data: told.data, parity: told.parity }.checked()
    }
}

impl Code {
    /// N + K.
    pub const fn shares(self) -> u16 {
        self.data + self.parity
    }

    /// # Errors
    /// [`ActorError::Invalid`] unless N is 1 or more and N + K at most [`SHARES_MAX`].
    pub fn checked(self) -> Result<Self, ActorError> {
        let Self { data, parity } = self;
        if data == 0 || u32::from(data) + u32::from(parity) > u32::from(SHARES_MAX) {
            let allowed = format!("1 or more and at most {SHARES_MAX} together are allowed");
            return Err(ActorError::Invalid(format!(
                "a code of {data} shares of data and {parity} of parity: {allowed}"
            )));
        }
        Ok(self)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}+{}", self.data, self.parity)
    }
}

impl std::str::FromStr for Code {
    type Err = ActorError;

    /// Reads `4+2`: shares of data, shares of parity.
    fn from_str(text: &str) -> Result<Self, ActorError> {
        let parts = text.split_once('+').and_then(|(data, parity)| Some((data.parse().ok()?, parity.parse().ok()?)));
        let Some((data, parity)) = parts else {
            let found = wane_units::excerpt(text);
            return Err(ActorError::Invalid(format!("\"{found}\" is no code: write data+parity, such as 4+2")));
        };
        Self { data, parity }.checked()
    }
}

/// How an object of some size is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ToldLayout")]
pub struct Layout {
    /// Its code.
    pub code: Code,
    /// Bytes of a cell of every stripe but the last, which may be shorter.
    pub cell: u32,
    /// Bytes of the object.
    pub size: u64,
}

/// A layout as received, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldLayout {
    code: Code,
    cell: u32,
    size: u64,
}

impl TryFrom<ToldLayout> for Layout {
    type Error = ActorError;

    fn try_from(told: ToldLayout) -> Result<Self, ActorError> {
        Self { code: told.code, cell: told.cell, size: told.size }.checked()
    }
}

impl Layout {
    /// # Errors
    /// [`ActorError::Invalid`] if the code is not allowed, the object is too large, or cells are not multiples of 64 B up to 8 MiB.
    pub fn checked(self) -> Result<Self, ActorError> {
        self.code.checked()?;
        check_cell(self.cell)?;
        if self.size > SIZE_MAX {
            return Err(ActorError::Invalid(format!(
                "an object of {}: at most {} are allowed",
                Bytes(self.size),
                Bytes(SIZE_MAX)
            )));
        }
        Ok(self)
    }

    /// Bytes of the object in a full stripe.
    pub const fn stripe_bytes(&self) -> u64 {
        self.cell as u64 * self.code.data as u64
    }

    /// Number of stripes; 0 for an empty object.
    pub const fn stripes(&self) -> u64 {
        self.size.div_ceil(self.stripe_bytes())
    }

    /// Bytes of the object in stripe `stripe`.
    pub fn object_bytes(&self, stripe: u64) -> u64 {
        self.stripe_bytes().min(self.size.saturating_sub(stripe * self.stripe_bytes()))
    }

    /// Bytes of each cell of a stripe.
    pub fn cell_bytes(&self, stripe: u64) -> u32 {
        cell_of(self.object_bytes(stripe), self.code)
    }

    /// Bytes of a share's file.
    pub fn file_bytes(&self) -> u64 {
        match self.stripes() {
            0 => HEADER_BYTES,
            stripes => {
                stripe_offset(self.cell, self.code, stripes - 1) + on_disk(self.cell_bytes(stripes - 1), self.code)
            }
        }
    }

    /// Bytes of one share's cells, with padding.
    pub fn share_bytes(&self) -> u64 {
        match self.stripes() {
            0 => 0,
            stripes => (stripes - 1) * u64::from(self.cell) + u64::from(self.cell_bytes(stripes - 1)),
        }
    }

    /// What a put moves; see [`Traffic`].
    pub fn traffic(&self) -> Traffic {
        let (data, parity) = (u64::from(self.code.data), u64::from(self.code.parity));
        let share = self.share_bytes();
        let coded = if parity == 0 { 0 } else { 1 };
        Traffic { cells: data * share, sources: coded * (data - 1) * share, parities: parity * share }
    }
}

/// Bytes that a put moves between client and drives, by kind. The requests' own text is not counted.
///
/// Each of the N drives needs its byte range of the N - 1 other shares, and sends the same range of the K parities to K drives. In all, N - 1
/// plus K shares move between drives. A central encoder gets N shares and sends N + K, all through one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// From the client to the N drives: N shares.
    pub cells: u64,
    /// Between the N drives: N - 1 shares.
    pub sources: u64,
    /// From the N to the K drives: K shares.
    pub parities: u64,
}

/// # Errors
/// [`ActorError::Invalid`] unless it is a multiple of 64 up to 8 MiB.
pub fn check_cell(cell: u32) -> Result<u32, ActorError> {
    if cell == 0 || cell > CELL_MAX || !cell.is_multiple_of(PIECE) {
        let most = Bytes(u64::from(CELL_MAX));
        return Err(ActorError::Invalid(format!("cells of {cell} B: multiples of {PIECE} B up to {most} are allowed")));
    }
    Ok(cell)
}

/// Bytes of each cell of a stripe that holds `object_bytes` bytes of the object.
pub fn cell_of(object_bytes: u64, code: Code) -> u32 {
    let cell = object_bytes.div_ceil(u64::from(code.data)).next_multiple_of(u64::from(PIECE));
    u32::try_from(cell).expect("a stripe has at most N cells of 8 MiB")
}

/// Byte range of block `block` in a cell of `cell` bytes. If the cell has fewer pieces than blocks, some blocks are empty.
pub fn block_range(cell: u32, code: Code, block: u16) -> Range<u32> {
    let (pieces, blocks) = (u64::from(cell / PIECE), u64::from(code.data));
    let at = |block: u64| (pieces * block / blocks) as u32 * PIECE;
    at(u64::from(block))..at(u64::from(block) + 1)
}

/// Bytes of a cell in a share's file: each block has its record before it.
fn on_disk(cell: u32, code: Code) -> u64 {
    u64::from(cell) + RECORD_BYTES * u64::from(code.data)
}

/// Offset of stripe `stripe`'s cell in a share's file whose full cells have `cell` bytes.
fn stripe_offset(cell: u32, code: Code, stripe: u64) -> u64 {
    HEADER_BYTES + stripe * on_disk(cell, code)
}

/// Offset of a block's record in a share's file. `cell` is the bytes of a cell in full stripes, `cell_here` in this stripe.
pub fn record_offset(cell: u32, cell_here: u32, code: Code, stripe: u64, block: u16) -> u64 {
    let within = RECORD_BYTES * u64::from(block) + u64::from(block_range(cell_here, code, block).start);
    stripe_offset(cell, code, stripe) + within
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn blocks_fill_cells_and_cells_hold_the_object(data in 1u16..20, parity in 0u16..6, pieces in 1u32..200, size in 0u64..300_000) {
            let code = Code { data, parity };
            let layout = Layout { code, cell: pieces * PIECE, size }.checked().unwrap();
            let (mut object, mut share, mut end) = (0, 0, HEADER_BYTES);
            for stripe in 0..layout.stripes() {
                let cell = layout.cell_bytes(stripe);
                prop_assert!(cell <= layout.cell && cell.is_multiple_of(PIECE));
                prop_assert!(u64::from(cell) * u64::from(data) >= layout.object_bytes(stripe));
                let mut at = 0;
                for block in 0..data {
                    let range = block_range(cell, code, block);
                    prop_assert_eq!(range.start, at);
                    prop_assert_eq!(record_offset(layout.cell, cell, code, stripe, block), end);
                    end += RECORD_BYTES + u64::from(range.end - range.start);
                    at = range.end;
                }
                prop_assert_eq!(at, cell);
                object += layout.object_bytes(stripe);
                share += u64::from(cell);
            }
            prop_assert_eq!(object, size);
            prop_assert_eq!(share, layout.share_bytes());
            prop_assert_eq!(end, layout.file_bytes());
        }
    }

    #[test]
    fn what_is_no_code_and_no_cell_is_told() {
        assert_eq!("4+2".parse::<Code>().unwrap(), Code { data: 4, parity: 2 });
        for (text, told) in [
            ("4", "data+parity"),
            ("0+2", "1 or more"),
            ("200+57", "at most 256"),
            ("4+-1", "data+parity"),
            ("65535+9", "at most 256"),
        ] {
            let error = text.parse::<Code>().unwrap_err().to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
        for cell in [0, 63, 100, CELL_MAX + 64] {
            assert!(check_cell(cell).unwrap_err().to_string().contains("multiples of 64 B up to 8 MiB"));
        }
        let huge = Layout { code: Code { data: 1, parity: 0 }, cell: 64, size: u64::MAX };
        assert!(huge.checked().unwrap_err().to_string().contains("at most"));
    }

    #[test]
    fn traffic_is_one_stripe_s_times_the_stripes() {
        let layout = Layout { code: Code { data: 4, parity: 2 }, cell: 1024, size: 10 * 4096 };
        let share = 10 * 1024;
        assert_eq!(layout.traffic(), Traffic { cells: 4 * share, sources: 3 * share, parities: 2 * share });
    }

    #[test]
    fn what_others_tell_of_a_layout_is_checked() {
        let told = |data: u16, cell: u32| format!(r#"{{"code":{{"data":{data},"parity":2}},"cell":{cell},"size":5}}"#);
        assert!(serde_json::from_str::<Layout>(&told(3, 1024)).is_ok());
        for (data, cell, why) in
            [(0, 1024, "a code of 0 shares of data"), (3, 0, "cells of 0 B"), (65_535, 64, "65535")]
        {
            let error = serde_json::from_str::<Layout>(&told(data, cell)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
