//! What a served drive is like at an instant, as plain data that other threads may keep.

use wane_blockdev::BlockDevice;
use wane_ftl::Counters;
use wane_units::{Nanos, SimTime};

use super::{Engine, SECTOR};

/// Whether a drive takes requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    #[default]
    Serving,
    /// It takes no writes any more.
    ReadOnly,
    /// It has no power.
    Off,
    /// Its power is back, and requests wait until it is ready.
    Recovering,
}

impl State {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::ReadOnly => "read-only",
            Self::Off => "off",
            Self::Recovering => "recovering",
        }
    }
}

/// What the firmware knows. Without power it is as before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Firmware {
    pub(crate) unit_bytes: u32,
    /// Firmware blocks, and erases up to which one serves.
    pub(crate) blocks: u32,
    pub(crate) rated_erases: Option<u32>,
    pub(crate) counters: Counters,
    /// `None`: its flash never errs.
    pub(crate) rereads: Option<u64>,
    pub(crate) retired_blocks: u32,
    pub(crate) life_used: Option<f64>,
    pub(crate) drive_writes: f64,
    pub(crate) day: f64,
}

/// See the head of this file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) now: SimTime,
    pub(crate) state: State,
    pub(crate) in_flight: usize,
    pub(crate) stuck: usize,
    pub(crate) refused_for_memory: u64,
    pub(crate) capacity_bytes: u64,
    /// Bytes of memory that its data take.
    pub(crate) kept_bytes: u64,
    /// `None`: it has no journal.
    pub(crate) journal_bytes: Option<u64>,
    pub(crate) firmware: Firmware,
}

impl Engine {
    /// What the drive is like. `before` is what it was like.
    pub(crate) fn facts(&mut self, real: Nanos, before: &Facts) -> Facts {
        let now = self.now(real);
        let (in_flight, stuck) = self.outstanding();
        let drive = self.shelf.drive();
        let state = match () {
            () if drive.is_off() => State::Off,
            // At full speed nobody waits for it.
            () if self.ready > now && self.clock.real(self.ready).is_some() => State::Recovering,
            () if self.is_read_only() => State::ReadOnly,
            () => State::Serving,
        };
        let firmware = if drive.is_off() {
            before.firmware
        } else {
            Firmware {
                unit_bytes: drive.unit_bytes(),
                blocks: drive.layout().blocks(),
                rated_erases: drive.rated_cycles(),
                counters: *drive.counters(),
                rereads: drive.cells().map(|cells| cells.counters().retries),
                retired_blocks: drive.retired_blocks(),
                life_used: drive.life_used(),
                drive_writes: self.shelf.drive_writes(),
                day: drive.day(),
            }
        };
        Facts {
            now,
            state,
            in_flight,
            stuck,
            refused_for_memory: self.refused_for_memory,
            capacity_bytes: drive.capacity().0 * SECTOR,
            kept_bytes: drive.payload_memory(),
            journal_bytes: self.journal.as_ref().map(wane_journal::Journal::bytes),
            firmware,
        }
    }
}
