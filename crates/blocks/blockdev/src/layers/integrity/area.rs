//! Where an integrity layer keeps what it knows: at the start of its device, a bitmap of regions, then the checksums of each region.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_units::{Lba, Sectors};

use crate::SectorRange;

/// Sectors of a block, which has one checksum.
pub(super) const BLOCK: Sectors = Sectors(8);
/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 4096;
/// Blocks of a region: as many as have their checksums in one block. They are 4 MiB.
pub(super) const REGION: u64 = BLOCK_BYTES as u64 / 4;
/// Regions that have their bits in one block.
const BITS: u64 = BLOCK_BYTES as u64 * 8;

/// See the head of this file. All numbers follow from the capacity of the device when it was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Area {
    /// Blocks of the bitmap.
    bitmap: u64,
    /// Regions of the device.
    pub(super) regions: u64,
    /// Where the host's sectors begin.
    pub(super) start: Sectors,
}

impl Area {
    /// That of a device of this capacity and atomic unit.
    pub(super) fn of(capacity: Sectors, unit: Sectors) -> Self {
        // The area has no checksums itself: this is at most a region more than are needed.
        let regions = (capacity.0 / BLOCK.0).div_ceil(REGION);
        let bitmap = regions.div_ceil(BITS);
        let start = Sectors(((bitmap + regions) * BLOCK.0).next_multiple_of(unit.0.max(1)));
        Self { bitmap, regions, start }
    }

    /// The sectors that are left to the host of a device of this capacity.
    pub(super) const fn left(&self, capacity: Sectors) -> Sectors {
        let left = capacity.0.saturating_sub(self.start.0);
        Sectors(left - left % BLOCK.0)
    }

    /// Where the host's sectors lie on the device.
    pub(super) const fn below(&self, host: SectorRange) -> SectorRange {
        SectorRange::new(Lba(host.start.0.saturating_add(self.start.0)), host.count)
    }

    /// Which of the host's sectors lie here on the device.
    pub(super) fn above(&self, device: SectorRange) -> SectorRange {
        let end = device.start.0.saturating_add(device.count.0);
        let (from, to) = (device.start.0.max(self.start.0), end.max(self.start.0));
        SectorRange::between(Lba(from - self.start.0), Lba(to - self.start.0))
    }

    /// The block of the bitmap that has the bit of a region.
    pub(super) const fn bitmap_of(region: u64) -> u64 {
        region / BITS
    }

    /// The regions whose bits are in a block of the bitmap.
    pub(super) fn regions_of(&self, block: u64) -> Range<u64> {
        block * BITS..((block + 1) * BITS).min(self.regions)
    }

    /// Where a block of the bitmap is.
    pub(super) const fn bitmap(block: u64) -> SectorRange {
        SectorRange::new(Lba(block * BLOCK.0), BLOCK)
    }

    /// Blocks of the bitmap.
    pub(super) const fn bitmap_blocks(&self) -> u64 {
        self.bitmap
    }

    /// Where the checksums of a region are.
    pub(super) const fn sums(&self, region: u64) -> SectorRange {
        SectorRange::new(Lba((self.bitmap + region) * BLOCK.0), BLOCK)
    }

    /// Where the checksums of all regions are.
    pub(super) const fn all_sums(&self) -> SectorRange {
        SectorRange::new(Lba(self.bitmap * BLOCK.0), Sectors(self.regions * BLOCK.0))
    }

    /// The region whose checksums a sector of the device holds.
    pub(super) const fn region_at(&self, device: Lba) -> u64 {
        device.0 / BLOCK.0 - self.bitmap
    }
}

/// The blocks of sectors of the host.
pub(super) const fn blocks(host: SectorRange) -> Range<u64> {
    if host.is_empty() {
        return 0..0;
    }
    host.start.0 / BLOCK.0..(host.start.0 + host.count.0).div_ceil(BLOCK.0)
}

/// The regions of sectors of the host.
pub(super) const fn regions(host: SectorRange) -> Range<u64> {
    let blocks = blocks(host);
    blocks.start / REGION..blocks.end.div_ceil(REGION)
}

/// The host's sectors of a block.
pub(super) const fn block_at(block: u64) -> SectorRange {
    SectorRange::new(Lba(block * BLOCK.0), BLOCK)
}

/// The host's sectors of a region.
pub(super) const fn region_at(region: u64) -> SectorRange {
    SectorRange::new(Lba(region * REGION * BLOCK.0), Sectors(REGION * BLOCK.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_take_a_thousandth() {
        for (capacity, unit) in [(Sectors(400), Sectors(8)), (Sectors(1 << 24), Sectors(32)), (Sectors(1 << 33), BLOCK)]
        {
            let area = Area::of(capacity, unit);
            let left = area.left(capacity);
            assert!(area.start.0.is_multiple_of(unit.0) && left < capacity, "{area:?}");
            assert!(regions(SectorRange::new(Lba(0), left)).end <= area.regions, "each block has a checksum: {area:?}");
            assert!(area.start.0 <= capacity.0 / 1000 + 64, "{area:?}");
            assert_eq!(area.above(area.below(SectorRange::new(Lba(7), BLOCK))), SectorRange::new(Lba(7), BLOCK));
        }
        assert!(Area::of(Sectors(16), BLOCK).above(SectorRange::new(Lba(0), BLOCK)).is_empty());
    }
}
