//! The state of all policies of a drive, as plain data: what a drive that is kept in a file writes beside its tables.

use serde::{Deserialize, Serialize};
use wane_nand::Media;
use wane_units::SuperblockId;

use crate::engine::{BlockState, Ftl};
use crate::policies::{ProjectedWear, SavedState, StateError};

/// What the policies of a drive remember.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyStates {
    /// Firmware blocks of the drive.
    blocks: u32,
    /// Mapping units in a block.
    units_per_block: u32,
    domains: Vec<DomainStates>,
    placement: SavedState,
    capacity: SavedState,
    retire: SavedState,
    /// `null` where nothing scrubs.
    scrub: Option<SavedState>,
    /// `null` where no page protects another.
    redundancy: Option<SavedState>,
}

/// Those of one domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DomainStates {
    gc: SavedState,
    wear_leveling: SavedState,
    allocation: SavedState,
}

/// Policies whose state cannot be saved or taken up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyStateError {
    /// A policy from outside has no way to save what it remembers.
    #[error("the drive cannot be saved: its policy ftl.{family} comes from outside and does not implement `save`")]
    NotSaved {
        /// The family, as a scenario names it.
        family: &'static str,
    },
    /// A policy refuses the state.
    #[error("ftl.{family}: {reason}")]
    Refused {
        /// The family, as a scenario names it.
        family: &'static str,
        /// Why.
        reason: StateError,
    },
    /// The state is that of another drive.
    #[error("the state is of a drive with {found}, and this one has {wanted}")]
    AnotherDrive {
        /// The shape of the drive that was saved.
        found: String,
        /// The shape of this one.
        wanted: String,
    },
}

impl<M: Media> Ftl<M> {
    /// What the policies remember.
    ///
    /// # Errors
    /// One from outside cannot be saved.
    pub fn save_policies(&self) -> Result<PolicyStates, PolicyStateError> {
        let named = |family| move |state: Option<SavedState>| state.ok_or(PolicyStateError::NotSaved { family });
        let mut domains = Vec::with_capacity(self.domains.len());
        for domain in &self.domains {
            domains.push(DomainStates {
                gc: named("gc")(domain.victim.save())?,
                wear_leveling: named("wear-leveling")(domain.leveler.save())?,
                allocation: named("allocation")(domain.allocation.save())?,
            });
        }
        let scrub = self.scrub.as_ref().map(|policy| named("scrub")(policy.save())).transpose()?;
        let redundancy = self.stripes.as_ref().map(|stripes| named("redundancy")(stripes.policy.save())).transpose()?;
        Ok(PolicyStates {
            blocks: self.layout.blocks(),
            units_per_block: self.units_per_block,
            domains,
            placement: named("placement")(self.placement.save())?,
            capacity: named("capacity")(self.capacity.save())?,
            retire: named("retire")(self.retire.save())?,
            scrub,
            redundancy,
        })
    }

    /// Gives the policies back what they remembered when a drive of the same shape and policies was saved. Where this fails, the
    /// drive keeps the policies that it had.
    ///
    /// # Errors
    /// The drive had another shape, or a policy refuses its state.
    pub fn restore_policies(&mut self, saved: &PolicyStates) -> Result<(), PolicyStateError> {
        let shape = |blocks: u32, units: u32, domains: usize, parts: [bool; 2]| {
            let with = |is_there: bool| if is_there { "with" } else { "without" };
            format!(
                "{blocks} blocks of {units} units in {domains} domains, {} a scrubber and {} stripes",
                with(parts[0]),
                with(parts[1])
            )
        };
        let parts = [saved.scrub.is_some(), saved.redundancy.is_some()];
        let found = shape(saved.blocks, saved.units_per_block, saved.domains.len(), parts);
        let parts = [self.scrub.is_some(), self.stripes.is_some()];
        let wanted = shape(self.layout.blocks(), self.units_per_block, self.domains.len(), parts);
        if found != wanted {
            return Err(PolicyStateError::AnotherDrive { found, wanted });
        }
        let before = self.save_policies()?;
        let taken = self.take_up(saved);
        if taken.is_err() {
            self.take_up(&before).expect("policies take up what they just saved");
        }
        taken
    }

    fn take_up(&mut self, saved: &PolicyStates) -> Result<(), PolicyStateError> {
        let refused = |family| move |reason| PolicyStateError::Refused { family, reason };
        for (domain, saved) in self.domains.iter_mut().zip(&saved.domains) {
            domain.victim.restore(&saved.gc).map_err(refused("gc"))?;
            domain.leveler.restore(&saved.wear_leveling).map_err(refused("wear-leveling"))?;
            domain.allocation.restore(&saved.allocation).map_err(refused("allocation"))?;
        }
        self.placement.restore(&saved.placement).map_err(refused("placement"))?;
        self.capacity.restore(&saved.capacity).map_err(refused("capacity"))?;
        self.retire.restore(&saved.retire).map_err(refused("retire"))?;
        if let Some((policy, saved)) = self.scrub.as_mut().zip(saved.scrub.as_ref()) {
            policy.restore(saved).map_err(refused("scrub"))?;
        }
        if let Some((stripes, saved)) = self.stripes.as_mut().zip(saved.redundancy.as_ref()) {
            stripes.policy.restore(saved).map_err(refused("redundancy"))?;
        }
        Ok(())
    }

    /// Tells every policy the erase counts as they stand, after somebody projected the wear of the drive. Free and closed blocks
    /// that are kept by their wear find their places anew.
    pub fn resync_policies(&mut self) {
        let states: Vec<BlockState> = self.layout.superblocks().map(|block| self.state(block)).collect();
        let wear = ProjectedWear { first: SuperblockId(0), erase_count: &self.erase_count, states: &states };
        for domain in &mut self.domains {
            domain.free.resync(&self.erase_count);
            domain.index.resync(&self.erase_count);
            let of = domain.first.index()..domain.first.index() + domain.blocks as usize;
            let own = ProjectedWear {
                first: domain.first,
                erase_count: &wear.erase_count[of.clone()],
                states: &wear.states[of],
            };
            domain.victim.resync(&own);
            domain.leveler.resync(&own);
            domain.allocation.resync(&own);
        }
        self.placement.resync(&wear);
        self.capacity.resync(&wear);
        self.retire.resync(&wear);
        if let Some(policy) = &mut self.scrub {
            policy.resync(&wear);
        }
        if let Some(stripes) = &mut self.stripes {
            stripes.policy.resync(&wear);
        }
    }
}
