//! The drive's mode: what a policy that focuses wear goes by.

use wane_nand::Media;

use crate::engine::Ftl;
use crate::persist::Event;
use crate::policies::mode::{Change, Mode, ModePolicy, ModeView, Trigger};

/// The mode and who decides on it.
#[derive(Clone)]
pub(crate) struct ModeState {
    /// `None` where only the host changes it.
    pub(crate) policy: Option<Box<dyn ModePolicy>>,
    pub(crate) mode: Mode,
    /// What made it degraded; `None` while it is normal.
    pub(crate) trigger: Option<Trigger>,
    pub(crate) has_freed: bool,
    /// Blocks in service when the drive was new.
    pub(crate) blocks_initial: u32,
}

impl ModeState {
    /// A drive that is normal.
    pub(crate) fn new(policy: Box<dyn ModePolicy>, blocks_initial: u32) -> Self {
        let policy = Some(policy).filter(|policy| policy.acts());
        Self { policy, mode: Mode::Normal, trigger: None, has_freed: false, blocks_initial }
    }
}

impl<M: Media> Ftl<M> {
    /// How policies that focus wear treat its blocks.
    pub fn mode(&self) -> Mode {
        self.mode.mode
    }

    /// What made the drive degraded; `None` while it is normal.
    pub fn trigger(&self) -> Option<Trigger> {
        self.mode.trigger
    }

    /// Sets the mode, as a host does whose file system could not shrink. It holds from the next choice of a block on. What made a drive
    /// degraded that is so already stays on record.
    pub fn set_mode(&mut self, mode: Mode) {
        if self.mode.mode != mode {
            self.event(Event::Nvram);
            self.mode.mode = mode;
            self.mode.trigger = (mode == Mode::Degraded).then_some(Trigger::Host);
        }
    }

    /// Whether the drive may change its mode by itself.
    pub fn judges_mode(&self) -> bool {
        self.mode.policy.is_some()
    }

    /// What decides on the mode. It counts the valid units of every block.
    pub fn mode_view(&self) -> ModeView {
        let units = u64::from(self.units_per_block);
        let in_service = self.layout.blocks() - self.retired_blocks;
        let half = self.units_per_block.div_ceil(2);
        let half_invalid = |domain: &crate::domain::Domain| domain.index.lowest().is_some_and(|valid| valid < half);
        ModeView {
            mode: self.mode.mode,
            physical_initial: u64::from(self.mode.blocks_initial) * units,
            physical: u64::from(in_service) * units,
            logical_initial: u64::from(self.logical_initial),
            valid: self.domains.iter().map(|domain| domain.index.valid_total()).sum(),
            free: self.free_blocks_min(),
            has_half_invalid: self.domains.iter().any(half_invalid),
            has_freed: self.mode.has_freed,
        }
    }

    /// Asks the policy whether the mode changes.
    #[inline]
    pub(crate) fn judge_mode(&mut self) {
        if self.mode.policy.is_some() {
            self.ask_for_mode();
        }
    }

    #[cold]
    fn ask_for_mode(&mut self) {
        let view = self.mode_view();
        debug_assert!(view.valid <= view.physical, "the blocks in service hold the data");
        let Some(policy) = &mut self.mode.policy else { return };
        let change = policy.judge(&view);
        if change.is_some() {
            self.event(Event::Nvram);
        }
        self.mode.has_freed = false;
        match change {
            Some(Change::Degrade(trigger)) if self.mode.mode == Mode::Normal => {
                (self.mode.mode, self.mode.trigger) = (Mode::Degraded, Some(trigger));
            }
            Some(Change::Recover) => (self.mode.mode, self.mode.trigger) = (Mode::Normal, None),
            Some(Change::Degrade(_)) | None => {}
        }
    }
}
