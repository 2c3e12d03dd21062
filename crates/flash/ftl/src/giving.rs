//! What the firmware asks its host to give back, and what the host has limited itself to.

use wane_nand::Media;
use wane_units::{Lpn, SuperblockId};

use crate::domain::Domain;
use crate::engine::{Ftl, UNMAPPED};
use crate::policies::EraseCause;

/// Why the drive demands space of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DemandCause {
    /// A block wore out.
    Wear,
    /// A block failed, or its host took it out of service.
    BadBlock,
    /// A block needs more re-reads than its host allows.
    ReadRequirement,
    /// No block has anything to collect.
    #[default]
    Full,
}

/// What the drive remembers of space that it asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Giving {
    /// Whether the capacity policy was already asked for space. Cleared when a reclaimed block gains units.
    pub(crate) pressed: bool,
    /// Most units that the host keeps mapped; `None`: those exported.
    pub(crate) held_max: Option<u32>,
    /// Why it asked last. It is told in the same call, so it is not saved.
    pub(crate) cause: DemandCause,
}

impl<M: Media> Ftl<M> {
    /// Limits how many units the host keeps mapped; `None`: as many as are exported. The host sees to it. Here it only says how much space the
    /// drive may have to give back.
    pub fn set_held_max(&mut self, units: Option<u32>) {
        self.giving.held_max = units;
    }

    /// Units that the host may have in use.
    pub(crate) fn in_use_max(&self) -> u32 {
        self.giving.held_max.map_or(self.exported, |most| most.min(self.exported))
    }

    /// Why the drive demanded space last.
    pub fn demand_cause(&self) -> DemandCause {
        self.giving.cause
    }

    /// Why a block that is erased leaves service.
    pub(crate) fn cause_of_retirement(&self, block: SuperblockId) -> DemandCause {
        let mut members = self.layout.members(block);
        let has_failed = M::DETAILED
            && (self.failures[block.index()] > 0 || members.clone().any(|member| self.media.is_unusable(member)));
        if has_failed || !self.worn_out(block, EraseCause::GarbageCollection) {
            return DemandCause::BadBlock;
        }
        let most = self.read_recovery.filter(|_| M::DETAILED);
        match most.is_some_and(|most| members.any(|member| self.media.health(member).fresh_rereads > most)) {
            true => DemandCause::ReadRequirement,
            false => DemandCause::Wear,
        }
    }

    /// Units that the host can still write before a domain finds no space, even if each of them was unmapped before: a lower bound as long as no
    /// more blocks leave service. Units go to the domains in turns.
    pub fn units_left(&self) -> u64 {
        let reserve = self.gc_reserve as usize + usize::from(self.persist.is_some());
        let of_domain = |domain: &Domain| {
            let valid: u64 = domain.index.closed_blocks().map(|block| u64::from(domain.index.valid(block))).sum();
            let blocks = (domain.free.len() + domain.index.closed_len() as usize).saturating_sub(reserve);
            (blocks as u64 * u64::from(self.units_per_block)).saturating_sub(valid)
        };
        let units = self.domains.iter().map(of_domain).min().unwrap_or(0) * self.domains.len() as u64;
        // A stripe has a page of data at least for a page of parity. A flush after each unit fills a wordline.
        let parity = if self.stripes.is_some() { 2 } else { 1 };
        let padding = match &self.persist {
            Some(persist) if !persist.power_loss_protection => self.layout.units_per_page() * persist.wordline,
            _ => 1,
        };
        units / (parity * u64::from(padding))
    }

    /// Whether a unit holds data, on flash or in buffers that a recovery could not program.
    pub fn holds(&self, logical: Lpn) -> bool {
        let is_buffered = || self.rescued.iter().any(|rescued| rescued.logical == logical);
        self.entry(logical) != UNMAPPED || is_buffered()
    }

    /// Number of exported units that hold data. With stripes this looks at each of them; parity is valid, too.
    pub fn units_held(&self) -> u64 {
        let mapped = match &self.stripes {
            None => self.layout.superblocks().map(|block| u64::from(self.valid(block))).sum(),
            Some(_) => Lpn::all(0..self.exported).filter(|unit| self.entry(*unit) != UNMAPPED).count() as u64,
        };
        let buffered = self.rescued.iter().filter(|rescued| self.entry(rescued.logical) == UNMAPPED);
        mapped + buffered.count() as u64
    }
}
