//! The state of the firmware, for a drive that is kept in a file: its tables and its policies' states.

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_nand::Media;
use wane_units::{BlockState, SuperblockId};

use crate::engine::Ftl;
use crate::policies::mode::{Mode, Trigger};
use crate::policies::{ProjectedWear, SavedState, StateError};
use crate::stripes::Stripes;

/// The states of a drive's policies.
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
    /// `null` where only the host changes the mode.
    mode_policy: Option<SavedState>,
    mode: Mode,
    trigger: Option<Trigger>,
    has_freed: bool,
    /// `null` where the drive keeps no out-of-band data.
    recovery: Option<SavedState>,
    /// `null` where nothing scrubs.
    scrub: Option<SavedState>,
    /// `null` where no page protects another.
    redundancy: Option<SavedState>,
}

/// The states of one domain's policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DomainStates {
    gc: SavedState,
    wear_leveling: SavedState,
    allocation: SavedState,
}

/// Why the state of policies cannot be saved or restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyStateError {
    /// A policy from outside does not implement `save`.
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

impl<M: Media<Tag = ()>> Ftl<M> {
    /// Writes the firmware's state to a file, or reads it back into new firmware that was built in the same way. `media` does the same for
    /// its medium. The firmware then continues as if it had never stopped.
    ///
    /// # Errors
    /// Those of [`Archive`]; a policy from outside cannot be saved; the file holds the state of another kind of drive.
    pub fn archive(
        &mut self,
        archive: &mut dyn Archive,
        media: impl FnOnce(&mut M, &mut dyn Archive) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let shape = (self.layout.blocks(), self.units_per_block, self.layout.units_per_page(), self.logical_initial);
        archive.same("drive.shape", &shape)?;
        self.archive_policies(archive)?;
        media(&mut self.media, archive)?;
        self.map.archive("map", archive)?;
        self.reverse.archive("reverse-map", archive)?;
        archive.same("domains", &(self.domains.len() as u32))?;
        self.domains.iter_mut().try_for_each(|domain| domain.archive(archive))?;
        self.archive_blocks(archive)?;
        self.archive_host(archive)?;
        archive.optional("stripes", &mut self.stripes, Stripes::archive)?;
        archive.optional("payload", &mut self.payload, |payload, archive| payload.archive(archive))?;
        archive.optional("recovery", &mut self.persist, |persist, archive| persist.archive(archive))?;
        archive.field("recovery.rescued", &mut self.rescued)
    }

    /// Writes the policies' states to a file as one JSON text, which can be read without a program, or reads them back.
    fn archive_policies(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let unsaved = |error: PolicyStateError| ArchiveError::Unsaved(error.to_string());
        let saved = self.save_policies().map_err(unsaved)?;
        let malformed = |error: serde_json::Error| ArchiveError::Unsaved(format!("the policies' state: {error}"));
        let mut text = serde_json::to_string(&saved).map_err(malformed)?;
        archive.field("policies", &mut text)?;
        if archive.is_reading() {
            self.restore_policies(&serde_json::from_str(&text).map_err(malformed)?).map_err(unsaved)?;
        }
        Ok(())
    }

    fn archive_blocks(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.fixed("blocks.erases", &mut self.erase_count)?;
        archive.field("blocks.erases-initial", &mut self.erases_initial)?;
        archive.field("blocks.retired", &mut self.retired)?;
        archive.field("blocks.retired-count", &mut self.retired_blocks)?;
        // A medium that lists no failures has no table for them.
        archive.list("blocks.failures", &mut self.failures)?;
        archive.fixed("blocks.host-reads", &mut self.host_reads)?;
        archive.field("blocks.touched", &mut self.touched)?;
        archive.field("blocks.initial", &mut self.mode.blocks_initial)
    }

    fn archive_host(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("host.exported", &mut self.exported)?;
        archive.field("host.turn", &mut self.turn)?;
        archive.field("host.stream", &mut self.host_stream)?;
        archive.field("host.read-recovery", &mut self.read_recovery)?;
        archive.field("host.lost", &mut self.lost)?;
        archive.grown_by(4, "counters", &mut self.counters)?;
        archive.field("leveling", &mut self.leveling)?;
        archive.field("work", &mut self.work)?;
        archive.field("pressed", &mut self.giving.pressed)?;
        archive.field("dead", &mut self.dead)
    }
}

impl<M: Media> Ftl<M> {
    /// Returns the states of the policies.
    ///
    /// # Errors
    /// A policy from outside cannot be saved.
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
        let mode_policy = self.mode.policy.as_ref().map(|policy| named("mode")(policy.save())).transpose()?;
        let recovery = self.persist.as_ref().map(|persist| named("recovery")(persist.policy.save())).transpose()?;
        let scrub = self.scrub.as_ref().map(|policy| named("scrub")(policy.save())).transpose()?;
        let redundancy = self.stripes.as_ref().map(|stripes| named("redundancy")(stripes.policy.save())).transpose()?;
        Ok(PolicyStates {
            blocks: self.layout.blocks(),
            units_per_block: self.units_per_block,
            domains,
            placement: named("placement")(self.placement.save())?,
            capacity: named("capacity")(self.capacity.save())?,
            retire: named("retire")(self.retire.save())?,
            mode_policy,
            mode: self.mode.mode,
            trigger: self.mode.trigger,
            has_freed: self.mode.has_freed,
            recovery,
            scrub,
            redundancy,
        })
    }

    /// Restores the states that the policies had when a drive of the same shape and policies was saved. If this fails, the drive
    /// keeps the policies that it had.
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
        if let Some((policy, saved)) = self.mode.policy.as_mut().zip(saved.mode_policy.as_ref()) {
            policy.restore(saved).map_err(refused("mode"))?;
        }
        (self.mode.mode, self.mode.trigger) = (saved.mode, saved.trigger);
        self.mode.has_freed = saved.has_freed;
        if let Some((persist, saved)) = self.persist.as_mut().zip(saved.recovery.as_ref()) {
            persist.policy.restore(saved).map_err(refused("recovery"))?;
        }
        if let Some((policy, saved)) = self.scrub.as_mut().zip(saved.scrub.as_ref()) {
            policy.restore(saved).map_err(refused("scrub"))?;
        }
        if let Some((stripes, saved)) = self.stripes.as_mut().zip(saved.redundancy.as_ref()) {
            stripes.policy.restore(saved).map_err(refused("redundancy"))?;
        }
        Ok(())
    }

    /// Tells every policy the present erase counts, after the wear of the drive was projected or if its blocks were erased before it
    /// was built. Free and closed blocks that are ordered by wear are sorted again.
    pub fn resync_policies(&mut self) {
        let states: Vec<BlockState> = self.layout.superblocks().map(|block| self.state(block)).collect();
        let wear = ProjectedWear { first: SuperblockId(0), erase_count: &self.erase_count, states: &states };
        for domain in &mut self.domains {
            domain.free.resync(&self.erase_count);
            domain.index.resync(&self.erase_count);
            let of = domain.first.index()..domain.first.index() + domain.blocks as usize;
            let free = wear.states[of.clone()].iter().filter(|state| **state == BlockState::Free).count();
            assert_eq!(free, domain.free.len(), "a block that stands nowhere else is in the free list");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FtlConfig;
    use crate::policies::allocation::ALLOCATION_POLICIES;
    use crate::policies::victim::VICTIM_POLICIES;
    use crate::policies::wear_leveling::WEAR_LEVEL_POLICIES;
    use wane_archive::{Reader, Writer};
    use wane_nand::Array;
    use wane_sim::Streams;
    use wane_units::{BlockId, Bytes, Geometry, Lpn, Ratio};

    /// Wears the blocks without telling the policies, the more the higher their number, and then tells them.
    fn project(ftl: &mut Ftl<Array>) {
        for block in 0..ftl.layout.blocks() {
            let erases = ftl.erase_count[block as usize] + 50 * block;
            ftl.erases_initial += u64::from(50 * block);
            ftl.erase_count[block as usize] = erases;
            ftl.media.set_erase_count(BlockId(block), erases);
        }
        ftl.resync_policies();
    }

    #[test]
    fn a_drive_lives_on_after_its_wear_was_projected() {
        let geometry = Geometry::flat(32, 8, Bytes(4096)).unwrap();
        let base = || FtlConfig { endurance: Some(4000), ..FtlConfig::new(&geometry, Ratio::new(0.3).unwrap()) };
        let mut configs = Vec::new();
        for entry in WEAR_LEVEL_POLICIES {
            let parameters = if entry.name() == "variance" { "threshold = 0.99" } else { "" };
            let wear_leveling = entry.parse(parameters.parse().unwrap()).unwrap();
            configs.push((entry.name(), FtlConfig { wear_leveling, ..base() }));
        }
        for entry in ALLOCATION_POLICIES {
            configs.push((entry.name(), FtlConfig { allocation: entry.parse(toml::Table::new()).unwrap(), ..base() }));
        }
        for entry in VICTIM_POLICIES {
            configs.push((entry.name(), FtlConfig { victim: entry.parse(toml::Table::new()).unwrap(), ..base() }));
        }
        for (name, config) in configs {
            let mut ftl = Ftl::new(Array::new(geometry), config).unwrap();
            ftl.set_leveling(true);
            let mut stream = Streams::new(4).stream("writes");
            for projection in 0..3 {
                for _ in 0..2000 {
                    let unit = Lpn(stream.below(u64::from(ftl.exported())) as u32);
                    assert_eq!(ftl.write(&[unit]), (1, crate::Outcome::Done), "{name}, projection {projection}");
                }
                ftl.check().unwrap();
                project(&mut ftl);
            }
            // A policy that still used the old counts would name blocks in other states than it believes.
            assert_eq!(ftl.counters().policy_refusals, 0, "{name}");
        }
    }

    #[test]
    fn what_is_rarely_set_is_saved_too() {
        let geometry = Geometry::flat(32, 8, Bytes(4096)).unwrap();
        let built = || Ftl::new(Array::new(geometry), FtlConfig::new(&geometry, Ratio::new(0.3).unwrap())).unwrap();
        let mut ftl = built();
        (ftl.work.is_paused, ftl.work.pages_fail, ftl.giving.pressed) = (true, true, true);
        ftl.lost = [3, 7].into();
        ftl.touched = vec![SuperblockId(4), SuperblockId(2)];
        let fruitless = crate::reclaim::Fruitless { victims: 5, lost: 3 };
        (ftl.domains[0].fruitless, ftl.domains[0].leveling_due) = (fruitless, true);
        ftl.read_recovery = Some(2);
        let mut writer = Writer::new(Vec::new()).unwrap();
        ftl.archive(&mut writer, Array::archive).unwrap();
        let bytes = writer.finish().unwrap();
        let mut again = built();
        let mut reader = Reader::new(bytes.as_slice()).unwrap();
        again.archive(&mut reader, Array::archive).unwrap();
        reader.finish().unwrap();
        assert!(again.work.is_paused && again.work.pages_fail && again.giving.pressed);
        assert_eq!((&again.lost, &again.touched), (&ftl.lost, &ftl.touched));
        assert_eq!((again.domains[0].fruitless, again.domains[0].leveling_due), (fruitless, true));
        assert_eq!(again.read_recovery, Some(2));
    }
}
