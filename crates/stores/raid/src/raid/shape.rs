//! What a parity array of members of some sizes looks like: where its tiles, parities and own areas lie.

use std::collections::BTreeMap;

use wane_blockdev::{BlockDevice as _, Extent, ExtentState, SectorRange, all_extents};
use wane_units::{Lba, Sectors};

use super::commits::Journal;
use super::map::{self, Map, blocks};
use super::meta::Areas;
use super::{Raid, RaidConfig};
use crate::bits::Bits;
use crate::code::{Code as _, Coder, XOR};
use crate::extents::{ExtentTable, Group};
use crate::layout::{LayoutError, Portion, Stretch};
use crate::placement::Site;

/// What requests of one size change besides their data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changed {
    /// Sectors of each parity for a sector of the host. What a request changes in several chunks of a stripe changes a parity once.
    pub parity: f64,
    /// Bytes of the journal's records for a byte of the host, where these stripes hold something.
    pub records: f64,
}

impl RaidConfig {
    /// What requests of `request` sectors change that begin at multiples of `step` sectors.
    ///
    /// # Panics
    /// One of these is zero.
    pub fn changed_by(&self, request: Sectors, step: Sectors) -> Changed {
        let (chunk, parities) = (self.chunk.0, self.code.tolerates());
        let data = (self.width - parities) as u64;
        let (mut host, mut parity, mut records) = (0u64, 0u64, 0usize);
        let mut start = 0;
        loop {
            for block in blocks(SectorRange::new(Lba(start), request), chunk, data) {
                let rows = block.rows.end - block.rows.start;
                let parts = block.chunks.len() + parities;
                host += rows * block.chunks.len() as u64;
                parity += rows;
                records += self.journal.batch_record_bytes(rows as usize * 512, parts);
            }
            start = (start + step.0) % (chunk * data);
            if start == 0 {
                break;
            }
        }
        let each = 1.0 / host as f64;
        Changed { parity: parity as f64 * each, records: records as f64 * each / 512.0 }
    }

    /// Checks that the code has what the journal records.
    pub(super) fn check_journal(&self) -> Result<(), LayoutError> {
        if self.journal == Journal::Ppl && self.code.name() != XOR.name() {
            return Err(LayoutError::PartialParity(self.code.name()));
        }
        Ok(())
    }
}

/// What an array of some members looks like.
pub(super) struct Shape {
    pub(super) coder: Coder,
    pub(super) map: Map,
    pub(super) areas: Areas,
    /// Slots of each member.
    pub(super) slots: Vec<u32>,
}

impl Shape {
    /// An array of members of these sizes.
    pub(super) fn new(config: &RaidConfig, sizes: &[Sectors], unit: Sectors) -> Result<Self, LayoutError> {
        let Some(coder) = Coder::new(config.code, config.width) else {
            return Err(LayoutError::Width(config.code.name(), config.width));
        };
        config.check_journal()?;
        let chunk = config.chunk.0;
        if chunk == 0 || !chunk.is_multiple_of(unit.0) {
            return Err(LayoutError::Chunk(chunk, unit.0));
        }
        let width = config.width as u64;
        // Tiles of whole turns of the parities, so that these go on turning from tile to tile, as md's do.
        let tile = (config.slot.0 / chunk / width * width).max(width);
        let slot = tile * chunk;
        let most: u64 = sizes.iter().map(|size| size.0 / slot).sum();
        // A record of the largest change takes the place of its stripe and a little more.
        let largest = (width * chunk + chunk).next_multiple_of(unit.0) + 8 * unit.0;
        let ring = config.ring.0.max(4 * largest).next_multiple_of(unit.0);
        let areas = Areas::new(unit.0, sizes.len() as u64, most / width * tile + tile, most, ring);
        let offset = areas.sectors().next_multiple_of(chunk);
        let slots: Vec<u32> = sizes.iter().map(|size| (size.0.saturating_sub(offset) / slot) as u32).collect();
        let roomy = slots.iter().filter(|slots| **slots > 0).count();
        if roomy < config.width && config.width <= sizes.len() {
            let least = sizes.iter().map(|size| size.0).min().unwrap_or(0);
            return Err(LayoutError::Room(least, offset + slot));
        }
        let sites: Vec<Site> = slots.iter().map(|slots| Site { slots: u64::from(*slots), speed: 1.0 }).collect();
        let groups = config.placement.groups(&sites, config.width)?;
        let table = ExtentTable::of_groups(&groups, config.width);
        let parity_columns = match &config.parity_shares[..] {
            [] => map::left_symmetric(width),
            shares if shares.len() as u64 == width && shares.iter().any(|share| *share > 0) => map::uneven(shares),
            shares => return Err(LayoutError::Shares(shares.len(), config.width)),
        };
        let data = coder.data() as u64;
        let map = Map { chunk, data, width, tile, offset, parity_columns, table, starts: Vec::new() };
        Ok(Self { coder, map: map.with_starts(), areas, slots })
    }
}

impl Raid {
    /// Sectors of an array on members of these sizes, the largest unit of which has `unit` sectors.
    ///
    /// # Errors
    /// They make none.
    pub fn capacity_of(config: &RaidConfig, sizes: &[Sectors], unit: Sectors) -> Result<Sectors, LayoutError> {
        Shape::new(config, sizes, unit).map(|shape| shape.map.capacity())
    }

    /// Where the data and parities of an array on members of these sizes lie, on average over the turns of its parities, and the sectors of the ring on
    /// each member.
    ///
    /// # Errors
    /// They make none.
    pub fn stretches_of(
        config: &RaidConfig,
        sizes: &[Sectors],
        unit: Sectors,
    ) -> Result<(Vec<Stretch>, Sectors), LayoutError> {
        let Shape { map, areas, .. } = Shape::new(config, sizes, unit)?;
        let turn = map.parity_columns.len() as f64;
        // Parities follow each other from the column of the first one on.
        let is_parity = |first: u64, column: u64| (column + map.width - first) % map.width < map.width - map.data;
        let parity_of = |column: usize| {
            let stripes = map.parity_columns.iter().filter(|first| is_parity(**first, column as u64)).count();
            stripes as f64 / turn
        };
        let mut start = Lba(0);
        let stretch = |group: Group| {
            let count = Sectors(group.tiles * map.tile * map.stripe_sectors());
            let range = SectorRange::new(start, count);
            start = Lba(start.0 + count.0);
            let columns = group.members.iter().enumerate().map(|(column, member)| {
                let (parity, data) = (parity_of(column), map.data as f64);
                Portion { member: usize::from(*member), data: (1.0 - parity) / data, parity: parity / data }
            });
            Stretch { range, on: columns.collect() }
        };
        Ok((map.table.groups().into_iter().map(stretch).collect(), Sectors(areas.ring * areas.unit)))
    }

    /// Stripes that are zeros on all members, as far as these know it without being read. A write of a part of another stripe that holds nothing
    /// writes zeros to the rest of it, or what members held before would become a part of the array.
    pub(super) fn stripes_of_zeros(&self) -> Bits {
        let (offset, slot_sectors, chunk) = (self.map.offset, self.map.slot_sectors(), self.map.chunk);
        let mut zeroed = Bits::new(self.map.stripes());
        zeroed.insert(0..self.map.stripes());
        for (number, member) in self.members.iter().enumerate() {
            let reads_zeros = member.device.features().trim_reads_zeros;
            let is_zero = |extent: &Extent| match extent.state {
                ExtentState::Zeroes => true,
                ExtentState::Hole => reads_zeros,
                ExtentState::Data => false,
            };
            let tiles: BTreeMap<u64, u64> =
                self.map.table.on(number as u16).map(|(tile, _, slot)| (u64::from(slot), tile)).collect();
            let mut extents = Vec::new();
            let all = SectorRange::between(Lba(offset), Lba(member.device.capacity().0.max(offset)));
            all_extents(&*member.device, all, &mut extents);
            for Extent { range, .. } in extents.into_iter().filter(|extent| !is_zero(extent)) {
                let (start, end) = (range.start.0 - offset, range.start.0 + range.count.0 - offset);
                for (slot, tile) in tiles.range(start / slot_sectors..end.div_ceil(slot_sectors)) {
                    let begin = slot * slot_sectors;
                    let rows = start.max(begin) - begin..end.min(begin + slot_sectors) - begin;
                    let first = tile * self.map.tile;
                    zeroed.remove(first + rows.start / chunk..first + rows.end.div_ceil(chunk));
                }
            }
        }
        zeroed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DIRECT, Following, UNEQUAL};

    fn config(code: &'static dyn crate::code::Code, width: usize, parity_shares: Vec<u32>) -> RaidConfig {
        RaidConfig {
            code,
            width,
            chunk: Sectors(16),
            slot: Sectors(160),
            placement: &UNEQUAL,
            parity_shares,
            path: &DIRECT,
            journal: Journal::None,
            ring: Sectors(512),
            write_mostly: Vec::new(),
            read_around: None,
            following: Following::Never,
            rebuild_rate: 1,
            scrub_every: None,
            uuid: 1,
        }
    }

    /// Stretches count what the map says of each stripe.
    #[test]
    fn stretches_are_where_stripes_lie() {
        for (config, sizes) in [
            (config(&XOR, 5, Vec::new()), vec![40_000; 5]),
            (config(&XOR, 5, vec![40, 15, 15, 15, 15]), vec![40_000; 5]),
            (config(&crate::code::PQ, 4, Vec::new()), vec![40_000, 40_000, 80_000, 20_000, 60_000]),
            (config(&crate::code::COPIES_2, 4, Vec::new()), vec![40_000, 40_000, 80_000, 20_000, 60_000]),
        ] {
            let sizes: Vec<Sectors> = sizes.into_iter().map(Sectors).collect();
            let map = Shape::new(&config, &sizes, Sectors(8)).unwrap().map;
            let (stretches, ring) = Raid::stretches_of(&config, &sizes, Sectors(8)).unwrap();
            let end = stretches.iter().fold(0, |end, stretch| {
                assert_eq!(stretch.range.start.0, end, "one after the other");
                end + stretch.range.count.0
            });
            assert!(end == map.capacity().0 && ring >= Sectors(512), "{end} {ring:?}");
            for member in 0..sizes.len() {
                let portions =
                    || stretches.iter().flat_map(|of| of.on.iter().map(move |on| (of.range.count.0 as f64, on)));
                let own = || portions().filter(|(_, on)| on.member == member);
                let told = own().fold((0.0, 0.0), |sum, (of, on)| (sum.0 + of * on.data, sum.1 + of * on.parity));
                let chunks = |from: u64, to: u64| {
                    let on = |stripe| (from..to).filter(|at| map.member(stripe, *at as usize) == member).count() as u64;
                    ((0..map.stripes()).map(on).sum::<u64>() * map.chunk) as f64
                };
                let counted = (chunks(0, map.data), chunks(map.data, map.width));
                // Uneven turns end within a tile.
                let most = 16.0 * 20.0;
                let is_near = |one: f64, other: f64| {
                    (one - other).abs() <= if config.parity_shares.is_empty() { 1e-6 * one } else { most }
                };
                assert!(is_near(counted.0, told.0) && is_near(counted.1, told.1), "{member}: {counted:?} {told:?}");
            }
        }
    }
}
