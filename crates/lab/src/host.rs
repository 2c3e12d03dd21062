//! The host beside the drive: what it does with the addresses of a workload, and with a drive that wants capacity back.

mod space;

use wane_archive::{Archive, ArchiveError};
use wane_ftl::EndOfLife;
use wane_ftl::policies::capacity::Demand;
use wane_ssd::Drive;

use crate::run::{Ended, end_cause};
use space::HostSpace;
use wane_results::EndCause;

/// Who uses the drive.
#[derive(Clone)]
pub(crate) enum Host {
    /// A host of a drive that keeps its capacity: addresses are the drive's.
    Direct,
    /// A file system that knows what is in use, and moves and trims it as the drive shrinks.
    Space(Box<HostSpace>),
    /// One that asks a drive for whatever it exports, and gives nothing back: addresses wrap around at the capacity.
    Wrapping,
}

impl Host {
    /// The host that a drive needs. `unit_bytes` are those of a mapping unit.
    pub(crate) fn of(drive: &Drive, unit_bytes: u64) -> Self {
        let capacity = drive.capacity_policy();
        let bound = capacity.relocation_bound().map(|bytes| bytes.0 / unit_bytes);
        if capacity.may_shrink() {
            Self::Space(Box::new(HostSpace::new(drive.logical_initial(), bound, capacity.method())))
        } else {
            Self::Direct
        }
    }

    /// What it knows of the drive's space, to a file or back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let kind = match self {
            Self::Direct => 0u8,
            Self::Space(_) => 1,
            Self::Wrapping => 2,
        };
        archive.same("host", &kind)?;
        match self {
            Self::Space(space) => space.archive(archive),
            Self::Direct | Self::Wrapping => Ok(()),
        }
    }

    fn space(&self) -> Option<&HostSpace> {
        match self {
            Self::Space(space) => Some(space),
            Self::Direct | Self::Wrapping => None,
        }
    }

    /// Capacity in mapping units as the host sees it, where it keeps its own count.
    pub(crate) fn exported(&self) -> Option<u32> {
        self.space().map(HostSpace::exported)
    }

    /// Units trimmed because their space was given up, not because the workload said so.
    pub(crate) fn trimmed(&self) -> u64 {
        self.space().map_or(0, HostSpace::trimmed)
    }

    /// Wraps addresses around where that is this host's way. False where the drive exports nothing, so that nothing can be
    /// asked.
    #[inline]
    pub(crate) fn wrap(&self, drive: &Drive, pages: &mut [u32]) -> bool {
        if let Self::Wrapping = self {
            let exported = drive.exported();
            if exported == 0 {
                return false;
            }
            pages.iter_mut().for_each(|page| *page %= exported);
        }
        true
    }

    /// Turns pages into the units to read and drops those whose space is gone; returns how many were dropped.
    #[inline]
    pub(crate) fn find(&self, pages: &mut Vec<u32>) -> u64 {
        self.space().map_or(0, |space| space.find(pages))
    }

    /// Notes that the workload no longer needs `pages` and turns them into the units to trim.
    pub(crate) fn release(&mut self, pages: &mut Vec<u32>) {
        if let Self::Space(space) = self {
            space.release(pages);
        }
    }

    /// Answers what the drive demands, until the drive is content or dead. Whenever the drive pauses, and between many
    /// relocations, `pause` may look around, and stop the answer.
    pub(crate) fn answer(
        &mut self,
        drive: &mut Drive,
        demand: Demand,
        pause: &mut dyn FnMut(&mut Drive) -> Result<(), Ended>,
    ) -> Result<(), Ended> {
        match self {
            Self::Space(space) => space.answer(drive, demand, pause),
            Self::Direct => unreachable!("a drive that may not shrink demands nothing"),
            // Who only looks gives nothing back: the look is over.
            Self::Wrapping => Err(Ended::Died(EndCause::FootprintDoesNotFit)),
        }
    }

    /// What a drive died of, in the words of a result.
    pub(crate) fn cause(&self, cause: EndOfLife) -> EndCause {
        self.space().map_or(end_cause(cause), |space| space.cause(cause))
    }
}
