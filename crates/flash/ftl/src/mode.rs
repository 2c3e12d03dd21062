//! The drive's mode, which policies with wear focusing use.

use wane_nand::Media;

use crate::engine::Ftl;
use crate::persist::Event;
use crate::policies::mode::{Change, Mode, ModePolicy, ModeView, Trigger};

/// The mode and the policy that decides on it.
#[derive(Clone)]
pub(crate) struct ModeState {
    /// `None` if only the host changes the mode.
    pub(crate) policy: Option<Box<dyn ModePolicy>>,
    pub(crate) mode: Mode,
    /// What made the drive degraded; `None` while it is normal.
    pub(crate) trigger: Option<Trigger>,
    pub(crate) has_freed: bool,
    /// Blocks in service when the drive was new.
    pub(crate) blocks_initial: u32,
}

impl ModeState {
    /// The mode of a new drive: normal.
    pub(crate) fn new(policy: Box<dyn ModePolicy>, blocks_initial: u32) -> Self {
        let policy = Some(policy).filter(|policy| policy.acts());
        Self { policy, mode: Mode::Normal, trigger: None, has_freed: false, blocks_initial }
    }
}

impl<M: Media> Ftl<M> {
    /// The drive's mode.
    pub fn mode(&self) -> Mode {
        self.mode.mode
    }

    /// What made the drive degraded; `None` while it is normal.
    pub fn trigger(&self) -> Option<Trigger> {
        self.mode.trigger
    }

    /// Sets the mode, as a host does if its file system could not shrink. The mode holds from the next choice of a block on. If the drive
    /// is already degraded, its trigger does not change.
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

    /// What the mode policy sees. Costs a count of the valid units of every block.
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

    /// Asks the policy whether the mode changes, and changes it.
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
