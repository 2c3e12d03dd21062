//! What an array writes of itself on its members: superblocks, checkpoints, and a ring of entries.
//!
//! Each member begins with two superblocks, two places for a checkpoint, and the ring. A checkpoint has the extent table and which stripes hold
//! something or are stale; the ring has what changed since, and the new contents of stripes that are being changed. The newest superblock of the
//! highest generation says which checkpoint counts, and from which entry on the ring is to be carried out again.
//!
//! Everything is sealed with a CRC32C, so that what was torn is not taken for whole. Numbers of entries rise by one.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wane_blockdev::{Living, SectorRange};
use wane_units::{Lba, Sectors};

use super::turns::Lap;
use crate::bits::Bits;
use crate::extents::{ExtentTable, Slot};
use crate::layout::LayoutError;
use crate::members::MemberState;

/// The first bytes of what is sealed: what it is, and the version of its format.
pub(super) const SUPERBLOCK: [u8; 8] = *b"waneRS01";
pub(super) const ENTRY: [u8; 8] = *b"waneRE01";
/// Bytes before what is sealed: what it is, the array, length and checksum.
const HEAD: usize = 32;
/// Bytes that a checkpoint has for sectors that are lost.
const LOST_BYTES: u64 = 4096;

/// Where these lie on a member, in sectors from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Areas {
    /// Sectors of a unit.
    pub(super) unit: u64,
    /// Units of a checkpoint.
    pub(super) checkpoint: u64,
    /// Units of the ring.
    pub(super) ring: u64,
}

impl Areas {
    /// Room for an array of N stripes and M slots at most.
    pub(super) fn new(unit: u64, members: u64, stripes: u64, slots: u64, ring: u64) -> Self {
        let bits = (stripes / 64 + 2) * 10;
        let bytes = HEAD as u64 + 256 + (3 + members) * bits + slots * 8 + members * 16 + LOST_BYTES;
        Self { unit, checkpoint: bytes.div_ceil(unit * 512), ring: ring / unit }
    }

    /// Sectors of all of them.
    pub(super) const fn sectors(&self) -> u64 {
        (2 + 2 * self.checkpoint + self.ring) * self.unit
    }

    const fn at(&self, first: u64, units: u64) -> SectorRange {
        SectorRange::new(Lba(first * self.unit), Sectors(units * self.unit))
    }

    pub(super) const fn superblock(&self, copy: u64) -> SectorRange {
        self.at(copy, 1)
    }

    pub(super) const fn checkpoint(&self, place: u64, units: u64) -> SectorRange {
        self.at(2 + place * self.checkpoint, units)
    }

    pub(super) const fn ring(&self, first: u64, units: u64) -> SectorRange {
        self.at(2 + 2 * self.checkpoint + first, units)
    }

    /// Bytes of a unit.
    pub(super) const fn unit_bytes(&self) -> usize {
        self.unit as usize * 512
    }

    /// Units for N bytes that are to be sealed.
    pub(super) const fn units(&self, bytes: u64) -> u64 {
        (bytes + HEAD as u64).div_ceil(self.unit * 512)
    }

    /// What members get between two checkpoints of N bytes, each half a ring.
    pub(super) const fn lap(&self, copies: usize, checkpoint: u64) -> Lap {
        Lap { copies, entries: self.ring / 2, each: self.units(checkpoint) + 2 }
    }
}

/// What a superblock says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Superblock {
    /// The generation rises before the first change without a member.
    pub(super) generation: u64,
    /// The number of the superblock within all of the array.
    pub(super) epoch: u64,
    /// The member on which it lies.
    pub(super) member: u16,
    /// Which members belong to the generation, and in which condition.
    pub(super) states: Vec<MemberState>,
    /// Members that have left the array.
    pub(super) retired: Vec<bool>,
    pub(super) code: String,
    pub(super) width: u16,
    pub(super) chunk: u64,
    /// Stripes of a tile.
    pub(super) tile: u64,
    pub(super) offset: u64,
    pub(super) parity_columns: Vec<u8>,
    pub(super) areas: Areas,
    /// Which of the two checkpoints counts, and its bytes.
    pub(super) checkpoint: (u64, u64),
    /// The first entry that the checkpoint does not know.
    pub(super) first: u64,
    /// How often the array came back. Entries of an earlier life do not count.
    pub(super) life: u64,
}

/// What an array knows of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) table: Vec<(u16, u32)>,
    pub(super) written: Vec<u64>,
    pub(super) stale: Vec<Vec<u64>>,
    /// Tiles in which parities may not fit.
    pub(super) dirty: Vec<u64>,
    pub(super) slots: Vec<u32>,
    /// Slots that members are to have, if tiles are being moved for that.
    pub(super) target: Vec<u32>,
    /// Sectors that the host uses.
    pub(super) capacity: u64,
    pub(super) lost: Vec<(u64, u64)>,
}

impl Checkpoint {
    /// The extent table.
    pub(super) fn table(&self, width: usize) -> ExtentTable {
        let mut table = ExtentTable::of_groups(&[], width);
        let slots: Vec<Slot> = self.table.iter().map(|(member, slot)| Slot { member: *member, slot: *slot }).collect();
        slots.chunks_exact(width).for_each(|tile| table.push(tile));
        table
    }

    /// Lost sectors in the room that there is: where they are too many, those between them are given up, too.
    pub(super) fn lost_of(ranges: impl Iterator<Item = SectorRange>) -> Vec<(u64, u64)> {
        const MOST: usize = LOST_BYTES as usize / 20;
        let mut lost: Vec<(u64, u64)> = ranges.map(|range| (range.start.0, range.count.0)).collect();
        while lost.len() > MOST {
            let gap = |pair: &[(u64, u64)]| pair[1].0 - (pair[0].0 + pair[0].1);
            let Some(least) = (0..lost.len() - 1).min_by_key(|place| gap(&lost[*place..*place + 2])) else { break };
            let next = lost.remove(least + 1);
            lost[least].1 = next.0 + next.1 - lost[least].0;
        }
        lost
    }
}

/// A set of stripes as it is written.
pub(super) fn runs(bits: &Bits, all: u64) -> Vec<(u64, u64)> {
    let (mut at, mut runs) = (0, Vec::new());
    while let Some(run) = bits.next(at..all) {
        at = run.end;
        runs.push((run.start, run.end));
    }
    runs
}

/// What happened to an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Record {
    /// Rows of a stripe get new contents.
    Change {
        stripe: u64,
        rows: (u64, u64),
        /// Data chunks that are among them: first, and one after the last.
        chunks: (u16, u16),
        /// By position.
        parts: Vec<(u16, Vec<u8>)>,
        /// Members that do not get what is theirs.
        missing: Vec<u16>,
        /// Sectors of the array of which parity says nothing.
        lost: Vec<(u64, u64)>,
    },
    /// Stripes hold something that did not, and all of that is on the members.
    Written {
        stripes: Vec<(u64, u64)>,
        /// Which of them members do not have.
        missing: Vec<(u16, Vec<(u64, u64)>)>,
    },
    /// A stripe holds nothing any more.
    Unwritten(u64),
    /// Parities of this tile may not fit after a power cut.
    Dirty(u64),
    /// A column of a tile lies in another slot.
    Placed { tile: u64, column: u16, member: u16, slot: u32 },
    /// Only the first tiles belong to the array.
    Tiles(u64),
    /// The host uses the first N sectors.
    Capacity(u64),
    /// Rows of a chunk get new contents, and the parity the sum of these and `partial`.
    PartialParity { stripe: u64, rows: (u64, u64), chunk: u16, partial: Vec<u8> },
}

/// Records that are durable together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) number: u64,
    /// That of the superblocks. Otherwise an entry that was never whole on all members could follow one that was written later with the number before.
    pub(super) life: u64,
    pub(super) records: Vec<Record>,
}

/// Checks that no device is a member of an array already.
///
/// # Errors
/// One is: which one, and the number of its array.
pub(super) fn check_free<'a>(devices: impl Iterator<Item = &'a dyn Living>, unit: u64) -> Result<(), LayoutError> {
    for (number, device) in devices.enumerate() {
        if let Some(array) = array_of(device, unit) {
            return Err(LayoutError::Belongs(number, array));
        }
    }
    Ok(())
}

/// The array to which a device belongs. One that cannot show what it holds is taken as it is.
pub(super) fn array_of(device: &dyn Living, unit: u64) -> Option<u64> {
    let mut bytes = vec![0; unit as usize * 512];
    device.peek(SectorRange::new(Lba(0), Sectors(unit)), &mut bytes)?;
    open::<Superblock>(SUPERBLOCK, &bytes).map(|(array, _)| array)
}

/// Seals a value, in whole units.
pub(super) fn seal(what: [u8; 8], array: u64, value: &impl Serialize, unit: usize) -> Vec<u8> {
    let mut bytes = vec![0; HEAD];
    bytes = postcard::to_extend(value, bytes).unwrap_or_default();
    let (length, crc) =
        ((bytes.len() - HEAD.min(bytes.len())) as u64, crc32c::crc32c(bytes.get(HEAD..).unwrap_or(&[])));
    bytes.resize(bytes.len().max(HEAD).next_multiple_of(unit), 0);
    bytes[..8].copy_from_slice(&what);
    bytes[8..16].copy_from_slice(&array.to_le_bytes());
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    bytes[24..28].copy_from_slice(&crc.to_le_bytes());
    // The head is checked, too: a length that rotted would be read as one.
    let head = crc32c::crc32c(&bytes[..28]);
    bytes[28..32].copy_from_slice(&head.to_le_bytes());
    bytes
}

/// Opens what was sealed. Returns the array and the value; `None` if it is something else, or torn.
pub(super) fn open<T: DeserializeOwned>(what: [u8; 8], bytes: &[u8]) -> Option<(u64, T)> {
    let word = |at: usize| bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let half = |at: usize| bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    if bytes.get(..8)? != what || half(28)? != crc32c::crc32c(&bytes[..28]) {
        return None;
    }
    let length = usize::try_from(word(16)?).ok()?;
    let payload = bytes.get(HEAD..HEAD.checked_add(length)?)?;
    if crc32c::crc32c(payload) != half(24)? {
        return None;
    }
    Some((word(8)?, postcard::from_bytes(payload).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_and_what_rotted_does_not() {
        let entry = Entry { number: 7, life: 2, records: vec![Record::Unwritten(3), Record::Dirty(1)] };
        let bytes = seal(ENTRY, 5, &entry, 512);
        assert_eq!(bytes.len(), 512);
        assert_eq!(open::<Entry>(ENTRY, &bytes), Some((5, entry)));
        assert_eq!(open::<Entry>(SUPERBLOCK, &bytes), None);
        for byte in 0..HEAD + 6 {
            let mut rotten = bytes.clone();
            rotten[byte] ^= 1;
            assert_eq!(open::<Entry>(ENTRY, &rotten), None, "byte {byte}");
        }
        assert_eq!(open::<Entry>(ENTRY, &bytes[..20]), None);
    }

    #[test]
    fn too_many_lost_sectors_are_joined() {
        let ranges = (0..1000).map(|number| SectorRange::new(Lba(number * 10 + number % 7), Sectors(1)));
        let lost = Checkpoint::lost_of(ranges.clone());
        assert!(lost.len() <= 204, "{}", lost.len());
        assert!(
            ranges
                .into_iter()
                .all(|range| lost.iter().any(|(start, count)| (*start..start + count).contains(&range.start.0)))
        );
    }
}
