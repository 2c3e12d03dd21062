//! Adds wear that was predicted instead of simulated to the firmware's state (dissertation 000, §3.3.1, "Projection").
//!
//! Erase counts grow, and everything that depends on them follows: free lists and the victim index are reordered, policies are told by
//! `resync`, and the sums of erases behind wear levelers and the life used grow. Map, valid counts and counters of operations stay as
//! they are, since no operation was done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::Array;
use wane_units::{BlockState, SuperblockId};

use crate::engine::{Ftl, Outcome};
use crate::policies::EraseCause;

/// What happens to a free block that a projection brought to its rated erases. A block that holds data leaves service at its next
/// erase, as always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Worn {
    /// It leaves service at once.
    #[default]
    AtOnce,
    /// It is written once more, and leaves service at its next erase, as in the released code.
    AtNextErase,
}

/// Why wear cannot be projected. The drive is as it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionError {
    /// Counts for another number of blocks.
    #[error("{found} erase counts for {blocks} firmware blocks; give one for each")]
    EraseCounts {
        /// Counts given.
        found: usize,
        /// Firmware blocks.
        blocks: usize,
    },
    /// The erase count of a block would fall.
    #[error("{block} has {now} erases and would have {found}; a projection cannot lower erase counts")]
    Backwards {
        /// The block.
        block: SuperblockId,
        /// Its erases.
        now: u32,
        /// Its erases after the projection.
        found: u32,
    },
    /// A share is not between 0 and 1.
    #[error("a share of {0} of the erases by wear leveling; from 0 to 1 is allowed")]
    Share(f64),
    /// The flash is simulated in detail, and its history would contradict the projection.
    #[error(
        "the drive's flash is simulated in detail, as it fails by chance, is scrubbed, or retires by errors or re-reads (drive.faults, ftl.scrub, ftl.retire); a projection knows only erase counts"
    )]
    Detailed,
}

impl Ftl<Array> {
    /// Sets the erases of every firmware block to `erase_counts`, by its id; blocks out of service keep theirs. The share `by_wear_leveling`
    /// of the added erases counts as wear leveling's when policies ask. Free blocks that are then worn out leave service as `worn` says. If
    /// the drive demands capacity for them, answer the demand, then call [`Ftl::reclaim`].
    ///
    /// # Errors
    /// The counts are not of this drive or would lower a count, or the drive records more of its wear than counts. Nothing was done.
    pub fn project_wear(
        &mut self,
        erase_counts: &[u32],
        by_wear_leveling: f64,
        worn: Worn,
    ) -> Result<Outcome, ProjectionError> {
        self.check_projection(erase_counts, by_wear_leveling)?;
        if let Some(death) = self.dead {
            return Ok(Outcome::Dead(death));
        }
        for domain in 0..self.domains.len() {
            let first = self.domains[domain].first.0;
            let mut added = 0;
            for block in (first..first + self.domains[domain].blocks).map(SuperblockId) {
                if self.retired[block.index()] {
                    continue;
                }
                let (now, projected) = (self.erase_count[block.index()], erase_counts[block.index()]);
                added += u64::from(projected - now);
                self.erase_count[block.index()] = projected;
                let members = self.layout.members(block);
                members.for_each(|member| self.media.set_erase_count(member, projected));
            }
            let leveling = (added as f64 * by_wear_leveling).round() as u64;
            self.domains[domain].wear_leveling_erases += leveling;
            self.domains[domain].gc_erases += added - leveling;
            self.erases_initial += added;
        }
        self.resync_policies();
        Ok(match worn {
            Worn::AtOnce if self.persist.is_some() => self.retire_worn_one_by_one(),
            Worn::AtOnce => self.retire_worn_free_blocks(),
            Worn::AtNextErase => Outcome::Done,
        })
    }

    fn check_projection(&self, erase_counts: &[u32], by_wear_leveling: f64) -> Result<(), ProjectionError> {
        let (found, blocks) = (erase_counts.len(), self.erase_count.len());
        if found != blocks {
            return Err(ProjectionError::EraseCounts { found, blocks });
        }
        if !(0.0..=1.0).contains(&by_wear_leveling) {
            return Err(ProjectionError::Share(by_wear_leveling));
        }
        let counts = self.erase_count.iter().zip(erase_counts);
        let back = self
            .layout
            .superblocks()
            .zip(counts)
            .find(|(block, (now, found))| !self.retired[block.index()] && (found < now || **found == u32::MAX));
        match back {
            Some((block, (now, found))) => Err(ProjectionError::Backwards { block, now: *now, found: *found }),
            None => Ok(()),
        }
    }
}

impl<M: wane_nand::Media> Ftl<M> {
    /// Takes free blocks out of service that the retirement policy would retire. If the drive demands capacity, answer the demand, then
    /// call [`Ftl::reclaim`].
    pub(crate) fn retire_worn_free_blocks(&mut self) -> Outcome {
        let mut last = Outcome::Done;
        for domain in 0..self.domains.len() {
            let free: Vec<SuperblockId> = self.domains[domain].free.iter().collect();
            for block in free {
                if self.dead.is_none() && self.worn_out(block, EraseCause::GarbageCollection) {
                    self.domains[domain].free.remove(block, self.erase_count[block.index()]);
                    last = self.retire(domain, block).unwrap_or(last);
                }
            }
        }
        self.dead.map_or(last, Outcome::Dead)
    }

    /// The same on a drive that recovers. After each block it collects, since the reserve of free blocks also holds what the drive needs to
    /// survive a power cut. A pause or a demand ends it; blocks that are left leave service at their next erase.
    fn retire_worn_one_by_one(&mut self) -> Outcome {
        self.begin_call();
        for domain in 0..self.domains.len() {
            let free: Vec<SuperblockId> = self.domains[domain].free.iter().collect();
            for block in free {
                // Collection may have opened it meanwhile.
                let is_free = self.state(block) == BlockState::Free;
                if !is_free || !self.worn_out(block, EraseCause::GarbageCollection) {
                    continue;
                }
                self.domains[domain].free.remove(block, self.erase_count[block.index()]);
                let outcome = self.retired_or_on(domain, block);
                if outcome != Outcome::Done {
                    return outcome;
                }
            }
        }
        Outcome::Done
    }
}
