//! What a served drive is like at an instant, as plain data that other threads may keep.

use wane_ftl::Counters;
use wane_lab::held::MemberFacts;
use wane_ssd::Drive;
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

/// A drive of an array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Member {
    pub(crate) state: &'static str,
    /// Bytes of which it has no present copy.
    pub(crate) stale_bytes: u64,
    pub(crate) life_used: Option<f64>,
    /// What it knows itself; `None` without power.
    pub(crate) own: Option<OfMember>,
}

/// What a drive of an array knows of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfMember {
    pub(crate) retired_blocks: u32,
    pub(crate) bytes_written: u64,
    pub(crate) uncorrectable_reads: u64,
    /// Erases of a block: mean and most.
    pub(crate) erases: (f64, u32),
}

impl Member {
    fn of(facts: &MemberFacts, drive: Option<(&Drive, Counters)>) -> Self {
        let own = |(drive, counted): (&Drive, Counters)| {
            let counts = drive.superblock_erase_counts();
            let sum: u64 = counts.iter().map(|erases| u64::from(*erases)).sum();
            OfMember {
                retired_blocks: drive.retired_blocks(),
                bytes_written: counted.host_bytes_written(u64::from(drive.unit_bytes()))
                    + drive.predicted().host_units * u64::from(drive.unit_bytes()),
                uncorrectable_reads: counted.host_reads_uncorrectable,
                erases: (sum as f64 / counts.len().max(1) as f64, counts.iter().copied().max().unwrap_or(0)),
            }
        };
        Self {
            state: facts.state.name(),
            stale_bytes: facts.stale_bytes,
            life_used: facts.life_used,
            own: drive.map(own),
        }
    }
}

/// What the firmware knows; of an array, that of its drives together. Without power it is as before.
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
#[derive(Clone, Debug, Default)]
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
    /// The drives of an array.
    pub(crate) members: Vec<Member>,
}

impl Engine {
    /// What the drive is like. `before` is what it was like.
    pub(crate) fn facts(&mut self, real: Nanos, before: &Facts) -> Facts {
        let now = self.now(real);
        let (in_flight, stuck) = self.outstanding();
        let device = self.shelf.device();
        let is_off = device.is_off();
        let state = match () {
            () if is_off => State::Off,
            // At full speed nobody waits for it.
            () if self.ready > now && self.clock.real(self.ready).is_some() => State::Recovering,
            () if self.is_read_only() => State::ReadOnly,
            () => State::Serving,
        };
        Facts {
            now,
            state,
            in_flight,
            stuck,
            refused_for_memory: self.refused_for_memory,
            capacity_bytes: device.capacity().0 * SECTOR,
            kept_bytes: self.shelf.payload_memory(),
            journal_bytes: self.journal.as_ref().map(wane_journal::Journal::bytes),
            firmware: if is_off { before.firmware } else { self.firmware() },
            members: if is_off { before.members.clone() } else { self.members() },
        }
    }

    fn firmware(&self) -> Firmware {
        let drives: Vec<&Drive> = self.shelf.drives().into_iter().map(|(_, drive)| drive).collect();
        let rated = drives.first().and_then(|drive| drive.rated_cycles());
        let rereads = drives.iter().filter_map(|drive| drive.cells()).map(|cells| cells.counters().retries);
        Firmware {
            unit_bytes: self.shelf.unit_bytes(),
            blocks: drives.iter().map(|drive| drive.layout().blocks()).sum(),
            // Of drives that differ there is none that holds for all.
            rated_erases: rated.filter(|rated| drives.iter().all(|drive| drive.rated_cycles() == Some(*rated))),
            counters: *self.shelf.device().counters(),
            rereads: rereads.reduce(|sum, more| sum + more),
            retired_blocks: self.shelf.retired_blocks(),
            life_used: self.shelf.life_used(),
            drive_writes: self.shelf.drive_writes(),
            day: self.shelf.day(),
        }
    }

    /// The drives of an array.
    pub(crate) fn members(&self) -> Vec<Member> {
        let drives = self.shelf.drives();
        let drive = |place| {
            let drive = drives.iter().find(|(found, _)| *found == place).map(|(_, drive)| *drive);
            drive.zip(self.shelf.counters_of(place))
        };
        self.shelf.members().iter().map(|facts| Member::of(facts, drive(facts.place))).collect()
    }
}
