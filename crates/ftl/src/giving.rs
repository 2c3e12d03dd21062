//! What the firmware asks its host to give back, and what the host has limited itself to.

use crate::engine::{Ftl, UNMAPPED};
use wane_nand::Media;
use wane_units::Lpn;

/// What the drive remembers of space that it asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Giving {
    /// Whether the capacity policy was already asked for space. Cleared when a reclaimed block gains units.
    pub(crate) pressed: bool,
    /// Most units that the host keeps mapped; `None`: those exported.
    pub(crate) held_max: Option<u32>,
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

    /// Whether a unit holds data, on flash or in buffers that a recovery could not program.
    pub fn holds(&self, logical: Lpn) -> bool {
        let is_buffered = || self.rescued.iter().any(|rescued| rescued.logical == logical);
        self.map[logical.index()] != UNMAPPED || is_buffered()
    }

    /// Number of exported units that hold data. This looks at each of them.
    pub fn units_held(&self) -> u64 {
        let mapped = self.map[..self.exported as usize].iter().filter(|unit| **unit != UNMAPPED).count();
        let buffered = self.rescued.iter().filter(|rescued| self.map[rescued.logical.index()] == UNMAPPED);
        (mapped + buffered.count()) as u64
    }
}
