//! The host of a drive: how it uses the addresses of a workload, and how it answers a drive that takes capacity back.

mod space;

use wane_archive::{Archive, ArchiveError};
use wane_ftl::EndOfLife;
use wane_ftl::policies::capacity::Demand;
use wane_ssd::Drive;

use crate::run::{Ended, end_cause};
use space::HostSpace;
use wane_results::EndCause;

/// The user of the drive.
#[derive(Clone)]
pub(crate) enum Host {
    /// The host of a drive that keeps its capacity. Addresses are the drive's.
    Direct,
    /// A file system that knows which pages are in use, and moves and trims data as the drive shrinks.
    Space(Box<HostSpace>),
    /// A host that uses whatever the drive exports and gives nothing back. Addresses wrap around at the capacity.
    Wrapping,
}

impl Host {
    /// Makes the host that a drive needs. `unit_bytes` are the bytes of a mapping unit.
    pub(crate) fn of(drive: &Drive, unit_bytes: u64) -> Self {
        let capacity = drive.capacity_policy();
        let bound = capacity.relocation_bound().map(|bytes| bytes.0 / unit_bytes);
        if capacity.may_shrink() {
            Self::Space(Box::new(HostSpace::new(drive.logical_initial(), bound, capacity.method())))
        } else {
            Self::Direct
        }
    }

    /// Archives what it knows of the drive's space: writes it to a file or reads it back.
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

    /// Capacity in mapping units by the host's own count, if it has one.
    pub(crate) fn exported(&self) -> Option<u32> {
        self.space().map(HostSpace::exported)
    }

    /// Units trimmed because their space was given up, not by the workload.
    pub(crate) fn trimmed(&self) -> u64 {
        self.space().map_or(0, HostSpace::trimmed)
    }

    /// Wraps addresses around if this host does so. Returns false if the drive exports nothing, so that no request is
    /// possible.
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

    /// Answers the drive's demands until it has none or is dead. Whenever the drive pauses, and between many
    /// relocations, `pause` is called and may stop it.
    pub(crate) fn answer(
        &mut self,
        drive: &mut Drive,
        demand: Demand,
        pause: &mut dyn FnMut(&mut Drive) -> Result<(), Ended>,
    ) -> Result<(), Ended> {
        match self {
            Self::Space(space) => space.answer(drive, demand, pause),
            Self::Direct => unreachable!("a drive that may not shrink demands nothing"),
            // A look gives nothing back, so it is over.
            Self::Wrapping => Err(Ended::Died(EndCause::FootprintDoesNotFit)),
        }
    }

    /// Why a drive died, as results name it.
    pub(crate) fn cause(&self, cause: EndOfLife) -> EndCause {
        self.space().map_or(end_cause(cause), |space| space.cause(cause))
    }
}
