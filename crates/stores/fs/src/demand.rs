//! What a device wants back, and how the file system answers it: steps 1 to 6 of Fig. 9 of the capacity-variant storage system (Jiao et al., FAST '24) as one
//! loop. Steps 7 and 8, by which the device learns that it has to go on without, are not here: it finds out when nothing comes.

use wane_blockdev::{Notice, NoticeKind};
use wane_units::Sectors;

use crate::error::Answer;
use crate::port::Port;
use crate::shrink::{Progress, Refusal, Way};
use crate::volume::Volume;

/// What a device wants of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Blocks that the host shall use at most.
    pub blocks: u64,
    /// Blocks that the device still takes, those that move included, before it has no space; 0 if it cannot tell.
    pub writes_left: u64,
}

impl Wanted {
    /// The last demand among notices, in blocks of N sectors.
    pub(crate) fn newest(notices: &[Notice], block: Sectors) -> Option<Self> {
        notices.iter().rev().find_map(|notice| match notice.kind {
            NoticeKind::CapacityWanted { to, writes_left, .. } => {
                Some(Self { blocks: to.0 / block.0, writes_left: writes_left.0 / block.0 })
            }
            _ => None,
        })
    }
}

/// How a device's demand stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attended {
    /// There is none, or it is met.
    Nothing,
    /// Sections still have to become free.
    Moving(u32),
    /// It wants the file system to have fewer bytes than it can have. The device goes on as well as it can.
    Degraded {
        /// Bytes of the device that are wanted.
        wanted: u64,
        /// The least that there can be.
        least: u64,
    },
}

impl<P: Port> Volume<P> {
    /// The way to give space back where nobody says another. On a drive that is *surrender*: it is the fastest, and can be undone (claim CS2). What
    /// has no limit, such as a file, gets shorter by *relocation*.
    pub fn default_way(&self) -> Way {
        if self.port.has_limit() { Way::Surrender } else { Way::Relocate }
    }

    /// Answers the device's demand for space, if there is one: a step gives space back by `way` and moves about `blocks` blocks. Where the device says
    /// how little it still takes, and half of that is less than what moves and a step more, all is done at once: a write that it refuses would be lost.
    ///
    /// What is asked for and cannot be given is remembered, and is given as soon as users have removed enough.
    ///
    /// # Errors
    /// The device failed.
    pub fn attend(&mut self, way: Way, blocks: u64) -> Answer<Attended> {
        let mut is_urgent = false;
        // Somebody else lowered what the device may hold: no more may be written than that, by whatever way.
        let limit = self.port.limit();
        let way = if limit * (self.geometry.block as u64) < self.size() {
            is_urgent = true;
            self.wanted = Some(self.wanted.map_or(limit, |wanted| wanted.min(limit)));
            Way::Surrender
        } else {
            way
        };
        while let Some(wanted) = self.port.wanted() {
            let block = self.geometry.block as u64;
            let cost = self.plan(wanted.blocks * block, way).map_or(0, |plan| plan.moved / block);
            is_urgent |= wanted.writes_left > 0 && wanted.writes_left / 2 < cost + blocks;
            self.wanted = Some(wanted.blocks);
        }
        if let Some(wanted) = self.wanted {
            let bytes = wanted * self.geometry.block as u64;
            let is_less = self.target.is_none_or(|_| self.target().is_some_and(|(target, _)| target > bytes));
            if bytes >= self.size() {
                self.wanted = None;
            } else if is_less {
                match self.set_target(bytes, way) {
                    Ok(()) => self.wanted = None,
                    Err(Refusal::TooSmall { least, .. }) => {
                        // As far as it can.
                        if self.target.is_none() && least < self.size() {
                            self.set_target(least, way).map_err(|_| crate::error::FsError::Io)?;
                        }
                        self.evacuate(blocks)?;
                        return Ok(Attended::Degraded { wanted: bytes, least });
                    }
                    Err(Refusal::Volume(error)) => return Err(error),
                    Err(Refusal::TooLarge { .. }) => self.wanted = None,
                }
            }
        }
        let step = if is_urgent { u64::MAX >> 1 } else { blocks };
        match self.evacuate(step)? {
            Progress::Done => Ok(Attended::Nothing),
            Progress::More(left) | Progress::Stuck(left) => Ok(Attended::Moving(left)),
        }
    }
}
