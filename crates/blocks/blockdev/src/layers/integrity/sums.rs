//! Checksums of blocks, in memory and as they are written.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::area::{BLOCK_BYTES, REGION};

/// Of a block that was never written, or was trimmed.
pub(super) const EMPTY: u32 = 0;
/// Of a block of which it is not known what it holds: whatever is read from it is right.
pub(super) const UNKNOWN: u32 = 1;

/// The checksum of a block: its CRC-32C, as iSCSI and ext4 have it (RFC 3720, B.4). The two values that say something else are moved, so that one
/// flip in 2^31 more stays unseen.
pub(super) fn of(block: &[u8]) -> u32 {
    match crc32c::crc32c(block) {
        crc @ (EMPTY | UNKNOWN) => crc + 2,
        crc => crc,
    }
}

/// Whether a block may hold these bytes. `trim_reads_zeros`: what was trimmed reads as zeros.
pub(super) fn fits(sum: u32, block: &[u8], trim_reads_zeros: bool) -> bool {
    match sum {
        UNKNOWN => true,
        EMPTY => !trim_reads_zeros || block == &[0; BLOCK_BYTES][..block.len()],
        sum => of(block) == sum,
    }
}

/// By region, as far as a region has any.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Sums {
    regions: BTreeMap<u64, Vec<u32>>,
}

impl Sums {
    pub(super) fn get(&self, block: u64) -> u32 {
        self.regions.get(&(block / REGION)).map_or(EMPTY, |sums| sums[(block % REGION) as usize])
    }

    pub(super) fn set(&mut self, block: u64, sum: u32) {
        let sums = self.regions.entry(block / REGION).or_insert_with(|| vec![EMPTY; REGION as usize]);
        sums[(block % REGION) as usize] = sum;
    }

    pub(super) fn fill(&mut self, blocks: Range<u64>, sum: u32) {
        let mut at = blocks.start;
        while at < blocks.end {
            let (region, end) = (at / REGION, blocks.end.min((at / REGION + 1) * REGION));
            let is_whole = end - at == REGION;
            if is_whole && sum == EMPTY {
                self.regions.remove(&region);
            } else if sum != EMPTY || self.regions.contains_key(&region) {
                (at..end).for_each(|block| self.set(block, sum));
            }
            at = end;
        }
    }

    /// Forgets all from a block on.
    pub(super) fn cut(&mut self, block: u64) {
        let rest = self.regions.split_off(&block.div_ceil(REGION));
        drop(rest);
        self.fill(block..block.next_multiple_of(REGION), EMPTY);
    }

    pub(super) fn clear(&mut self) {
        self.regions.clear();
    }

    /// The checksums of a region as they are written: a little-endian word each.
    pub(super) fn bytes(&self, region: u64) -> Vec<u8> {
        match self.regions.get(&region) {
            Some(sums) => sums.iter().flat_map(|sum| sum.to_le_bytes()).collect(),
            None => vec![0; BLOCK_BYTES],
        }
    }

    /// Takes over what was written.
    pub(super) fn load(&mut self, region: u64, bytes: &[u8]) {
        let word = |word: &[u8]| word.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        let sums: Vec<u32> = bytes.chunks(4).map(word).collect();
        debug_assert_eq!(sums.len() as u64, REGION, "a region's checksums fill a block");
        self.regions.insert(region, sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut sums = Sums::default();
        sums.set(3, 0x0102_0304);
        sums.fill(1000..3100, UNKNOWN);
        sums.fill(1024..2048, EMPTY);
        let mut read = Sums::default();
        (0..4).for_each(|region| read.load(region, &sums.bytes(region)));
        let found = [3, 4, 999, 1000, 1023, 1024, 2047, 2048, 3099, 3100].map(|block| read.get(block));
        assert_eq!(found, [0x0102_0304, 0, 0, 1, 1, 0, 0, 1, 1, 0]);
        sums.cut(1001);
        assert_eq!([3, 1000, 1001, 2048, 3099].map(|block| sums.get(block)), [0x0102_0304, 1, 0, 0, 0]);
    }

    #[test]
    fn a_block_fits_its_checksum_only() {
        let (mut block, zeros) = ([7; BLOCK_BYTES], [0; BLOCK_BYTES]);
        let sum = of(&block);
        assert!(fits(sum, &block, true) && !fits(sum, &zeros, true) && fits(UNKNOWN, &block, true));
        assert!(fits(EMPTY, &zeros, true) && !fits(EMPTY, &block, true) && fits(EMPTY, &block, false));
        block[4095] ^= 1;
        assert!(!fits(sum, &block, true));
        // RFC 3720, B.4: 32 bytes of zeros.
        assert_eq!(of(&[0; 32]), 0x8a91_36aa);
    }
}
