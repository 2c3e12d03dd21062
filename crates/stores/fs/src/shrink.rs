//! Giving space back, while programs run.
//!
//! A target is an intent that lies in the checkpoint. From the moment at which it is set, users have no more room than it leaves; what must move
//! for it moves in steps, which may be small, paused, resumed after a crash, and aimed at another size. Only when nothing is in the way any more
//! is the device told.
//!
//! This file is the mechanism. What is in the way, which section is emptied next and how, and what the device is told, a policy answers: each way of
//! [`Way`] is one, in a file of its own in `shrink/`.

mod relocate;
mod remap;
mod surrender;
mod way;

pub use way::Way;

use std::collections::BTreeSet;

use self::way::{Gives, How, Logs, Next, SpaceView};
use wane_units::Bytes;

use crate::checkpoint::Why;
use crate::clean::MARGIN;
use crate::error::{Answer, FsError};
use crate::le::{Reader, Writer};
use crate::port::{Barrier, Fault, Port};
use crate::remap::INTENDED_MAX;
use crate::volume::Volume;

/// A size that the file system is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Sections of the main area that may hold something, or that are there.
    pub sections: u32,
    /// How it gives back the others.
    pub way: Way,
}

/// Why a target is refused. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It would not hold what there is.
    #[error("what is there does not fit in {}; the least size is {}", Bytes(*asked).exactly(), Bytes(*least).exactly())]
    TooSmall {
        /// What was asked for, in bytes of the device.
        asked: u64,
        /// The least size, in bytes of the device.
        least: u64,
    },
    /// The device or the file system is not so large.
    #[error("cannot have {}; the largest size is {}", Bytes(*asked).exactly(), Bytes(*most).exactly())]
    TooLarge {
        /// What was asked for.
        asked: u64,
        /// The largest size.
        most: u64,
    },
    /// The volume is read-only, or the device failed.
    #[error("{0}")]
    Volume(FsError),
}

/// What giving space back would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The size afterwards, in bytes of the device: whole sections, no more than was asked for.
    pub bytes: u64,
    /// The size now.
    pub bytes_now: u64,
    /// Bytes that move, as far as that can be said: calls that come meanwhile change it.
    pub moved: u64,
    /// Bytes that users can still write afterwards.
    pub room: u64,
    /// The least size by this way.
    pub least: u64,
}

/// How far a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is none, or it is reached.
    Done,
    /// Sections that still have to become free.
    More(u32),
    /// What is left cannot be moved: the device lost what says whose it is.
    Stuck(u32),
}

/// What of the main area may be used, as a checkpoint says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) end: u32,
    pub(crate) cap: u32,
    pub(crate) target: Option<Target>,
    /// Sections into which data are being remapped.
    pub(crate) intended: Vec<u32>,
}

impl Given {
    /// Numbers of 4 bytes: end, cap, target (0: none) and its way, how many sections are intended, the sum of the SIT, and those sections.
    pub(crate) fn put(&self, out: &mut Writer, sum: u32) {
        out.u32(self.end);
        out.u32(self.cap);
        out.u32(self.target.map_or(0, |target| target.sections));
        out.u32(self.target.map_or(0, |target| target.way as u32));
        out.u32(self.intended.len() as u32);
        out.u32(sum);
        self.intended.iter().for_each(|section| out.u32(*section));
    }

    /// The same, and the sum.
    pub(crate) fn get(input: &mut Reader<'_>) -> Option<(Self, u32)> {
        let (end, cap, sections, way) = (input.u32()?, input.u32()?, input.u32()?, input.u32()?);
        let way = Way::of_number(way)?;
        let target = (sections > 0).then_some(Target { sections, way });
        let count = Some(input.u32()?).filter(|count| *count as usize <= INTENDED_MAX)?;
        let sum = input.u32()?;
        let intended = (0..count).map(|_| input.u32()).collect::<Option<_>>()?;
        Some((Self { end, cap, target, intended }, sum))
    }
}

impl<P: Port> Volume<P> {
    /// Bytes of the device that a file system of N sections has.
    fn bytes_of(&self, sections: u32) -> u64 {
        let blocks = u64::from(self.geometry.main()) + u64::from(sections) * u64::from(self.geometry.section());
        blocks * self.geometry.block as u64
    }

    fn sections_in(&self, bytes: u64) -> u32 {
        let blocks = bytes / self.geometry.block as u64;
        let main = blocks.saturating_sub(u64::from(self.geometry.main()));
        (main / u64::from(self.geometry.section())).min(u64::from(u32::MAX)) as u32
    }

    /// Sections that may hold something now.
    fn sections_now(&self) -> u32 {
        self.segments.cap.min(self.segments.end)
    }

    /// Bytes of the device that it may use now, its own structures included.
    pub fn size(&self) -> u64 {
        self.bytes_of(self.sections_now())
    }

    /// The size to which it can grow, in bytes of the device, if that grows.
    pub fn greatest(&self) -> u64 {
        self.bytes_of(self.geometry.sections)
    }

    /// The target, if there is one: bytes of the device, and the way.
    pub fn target(&self) -> Option<(u64, Way)> {
        self.target.map(|target| (self.bytes_of(target.sections), target.way))
    }

    /// Sections that still have to become free for the target; 0 without one.
    pub fn in_the_way_now(&self) -> u32 {
        self.target.map_or(0, |target| self.in_the_way(target))
    }

    /// The least size to which it can shrink now, in bytes of the device: at it a shrink succeeds, a section below it is refused.
    pub fn least(&self) -> u64 {
        let fewest = 2 * self.geometry.logs_and_cleaning();
        let fits = |sections: &u32| self.user_blocks_of(*sections) >= self.charged;
        let (mut low, mut high) = (fewest, self.geometry.sections);
        while low < high {
            let middle = low + (high - low) / 2;
            (low, high) = if fits(&middle) { (low, middle) } else { (middle + 1, high) };
        }
        self.bytes_of(low)
    }

    /// The sections of a size, or why it cannot be.
    fn check_size(&self, bytes: u64) -> Result<u32, Refusal> {
        let sections = self.sections_in(bytes);
        let least = self.least();
        if self.bytes_of(sections) < least || sections == 0 {
            return Err(Refusal::TooSmall { asked: bytes, least });
        }
        let most = self.geometry.sections;
        if sections > most {
            // A little more than whole sections is no reason.
            let is_little = bytes < self.bytes_of(most + 1);
            return if is_little {
                Ok(most)
            } else {
                Err(Refusal::TooLarge { asked: bytes, most: self.bytes_of(most) })
            };
        }
        Ok(sections)
    }

    /// What it would take to have a size. Nothing changes.
    ///
    /// # Errors
    /// It cannot have it.
    pub fn plan(&self, bytes: u64, way: Way) -> Result<Plan, Refusal> {
        let sections = self.check_size(bytes)?;
        let is_smaller = sections < self.sections_now();
        let moved = if is_smaller { way.policy().moves(&self.view_of(sections, Logs::Anywhere)) } else { 0 };
        let block = self.geometry.block as u64;
        let room = self.user_blocks_of(sections).saturating_sub(self.charged) * block;
        Ok(Plan {
            bytes: self.bytes_of(sections),
            bytes_now: self.size(),
            moved: moved * block,
            room,
            least: self.least(),
        })
    }

    /// Sets the size that it is to have, in bytes of the device; rounded down to whole sections. Larger than now, it has it at once. Smaller, its
    /// users have no more room from now on, and [`Volume::evacuate`] does the rest.
    ///
    /// # Errors
    /// It cannot have it. Nothing changed.
    pub fn set_target(&mut self, bytes: u64, way: Way) -> Result<(), Refusal> {
        self.writable().map_err(Refusal::Volume)?;
        let sections = self.check_size(bytes)?;
        let failed = Refusal::Volume;
        if sections >= self.sections_now() {
            self.grow(sections).map_err(|fault| match fault {
                Fault::Unsupported => {
                    let device = self.port.blocks() * self.geometry.block as u64;
                    Refusal::TooLarge { asked: bytes, most: self.bytes_of(self.sections_in(device)).max(self.size()) }
                }
                fault => failed(fault.into()),
            })?;
            self.target = None;
        } else {
            self.target = Some(Target { sections, way });
        }
        self.segments.ceiling = u32::MAX;
        self.segments.bound = match self.target {
            Some(Target { sections, way }) if way.policy().gives() == Gives::Tail => sections,
            _ => self.segments.end,
        };
        self.has_changed = true;
        self.checkpoint(Why::Sync).map_err(failed)
    }

    /// Takes the target back. What was not given back yet stays.
    ///
    /// # Errors
    /// The device failed.
    pub fn cancel_target(&mut self) -> Answer<()> {
        self.writable()?;
        if self.target.take().is_some() {
            (self.segments.bound, self.segments.ceiling) = (self.segments.end, u32::MAX);
            self.has_changed = true;
            self.checkpoint(Why::Sync)?;
        }
        Ok(())
    }

    /// Takes space back that was given up.
    fn grow(&mut self, sections: u32) -> Result<(), Fault> {
        let blocks = self.bytes_of(sections) / self.geometry.block as u64;
        if self.port.blocks() < blocks {
            self.port.set_blocks(blocks)?;
        }
        if self.port.limit() < blocks {
            self.port.set_limit(blocks)?;
        }
        if sections > self.segments.end {
            self.segments.set_end(sections);
        }
        self.segments.cap = sections.max(self.segments.cap);
        Ok(())
    }

    /// What a checkpoint says of the space, and the device of how much of it may hold something.
    pub(crate) fn take_given(&mut self, given: &Given) {
        self.segments.set_end(given.end);
        let limit = self.port.limit() * self.geometry.block as u64;
        self.segments.cap = given.cap.min(self.sections_in(limit));
        self.target = given.target;
        if let Some(Target { sections, way }) = given.target
            && way.policy().gives() == Gives::Tail
        {
            self.segments.bound = sections;
        }
    }

    /// Makes a step towards the target, which moves about `blocks` blocks. When nothing is in the way any more, the device is told.
    ///
    /// # Errors
    /// The device failed.
    pub fn evacuate(&mut self, blocks: u64) -> Answer<Progress> {
        let Some(target) = self.target else { return Ok(Progress::Done) };
        self.writable()?;
        let until = self.counted.moved + self.counted.remapped + blocks;
        let mut rounds = 4 * self.segments.end + 64;
        loop {
            if self.is_reached(target) {
                self.hand_over(target)?;
                return Ok(Progress::Done);
            }
            if self.counted.moved + self.counted.remapped >= until {
                return Ok(Progress::More(self.in_the_way(target)));
            }
            self.hold_down(target)?;
            let left = until.saturating_sub(self.counted.moved + self.counted.remapped);
            // The ceiling is for users: what moves goes wherever there is room.
            let ceiling = std::mem::replace(&mut self.segments.ceiling, u32::MAX);
            let has_moved = self.step(target, left);
            self.segments.ceiling = ceiling;
            rounds -= 1;
            if !has_moved? || rounds == 0 {
                return Ok(Progress::Stuck(self.in_the_way(target)));
            }
        }
    }

    /// Moves about `blocks` blocks, which a checkpoint ends. Returns whether anything got nearer to being free.
    fn step(&mut self, target: Target, blocks: u64) -> Answer<bool> {
        let moved = |volume: &Self| volume.counted.moved + volume.counted.remapped;
        let (before, mut cleaned, mut seen) = (moved(self), 0, BTreeSet::new());
        // A section of nodes is empty once they are written, and would come again.
        while let Some((section, how)) = self.next_section(target)?.filter(|(section, _)| seen.insert(*section)) {
            let left = blocks.saturating_sub(moved(self) - before);
            // A remap makes checkpoints of its own, so nothing was cleaned before it.
            if how == How::Remap && cleaned == 0 && self.remap_from(target.sections, left)? > 0 {
                return Ok(true);
            }
            self.clean(section)?;
            cleaned += u32::from(!self.segments.is_stuck(section));
            // What it leaves is free after the checkpoint, and no sooner.
            if self.is_tight() || moved(self) - before >= blocks {
                break;
            }
        }
        let has_changed = self.has_changed;
        self.checkpoint(Why::Sync)?;
        Ok(cleaned > 0 || has_changed)
    }

    /// Keeps what was gained: from now on users' calls clean for what they write, instead of taking sections that a step before made free. Otherwise a
    /// writer that is as fast as the steps would keep the target out of reach for ever.
    fn hold_down(&mut self, target: Target) -> Answer<()> {
        let ceiling = (self.segments.taken_sections() + self.needed()).max(target.sections);
        self.segments.ceiling = self.segments.ceiling.min(ceiling);
        match self.balance() {
            // It was too low for what is in memory.
            Err(FsError::NoSpace) => {
                self.segments.ceiling = u32::MAX;
                Ok(())
            }
            other => other,
        }
    }

    /// What a way sees of the space.
    fn view_of(&self, sections: u32, logs: Logs) -> SpaceView<'_> {
        SpaceView { segments: &self.segments, sections, needed: self.needed(), logs }
    }

    /// Sections that have to become free.
    fn in_the_way(&self, target: Target) -> u32 {
        target.way.policy().in_the_way(&self.view_of(target.sections, Logs::Anywhere))
    }

    /// Free sections that must be left.
    pub(crate) fn needed(&self) -> u32 {
        self.sections_to_write() + MARGIN
    }

    fn is_reached(&self, target: Target) -> bool {
        self.in_the_way(target) == 0 && self.segments.free_below(target.sections) >= self.needed()
    }

    /// The section that is emptied next, and how, as the way says. An answer that cannot be is none.
    fn next_section(&mut self, target: Target) -> Answer<Option<(u32, How)>> {
        let policy = target.way.policy();
        let mut next = policy.next(&self.view_of(target.sections, Logs::Anywhere));
        if next == Next::MoveLogs {
            let version = self.seal_version;
            let left = self.segments.leave(&self.geometry, &mut self.port, target.sections, version);
            left.map_err(|fault| self.fail(fault))?;
            self.has_changed = true;
            next = policy.next(&self.view_of(target.sections, Logs::Below));
        }
        let Next::Empty(section, how) = next else { return Ok(None) };
        let can_be = self.view_of(target.sections, Logs::Below).can_be_emptied(section);
        Ok(can_be.then_some((section, how)))
    }

    /// Nothing is in the way: the device is told, after the checkpoint in which all of it is free, and trimmed.
    fn hand_over(&mut self, target: Target) -> Answer<()> {
        (self.segments.cap, self.segments.ceiling) = (target.sections, u32::MAX);
        let gives = target.way.policy().gives();
        if gives == Gives::Tail {
            self.segments.set_end(target.sections);
        }
        self.target = None;
        self.has_changed = true;
        self.checkpoint(Why::Sync)?;
        if gives == Gives::Sections {
            // A limit counts all that the device holds, also what was never discarded.
            let discarded = self.discard_all_else();
            discarded.map_err(|fault| self.fail(fault))?;
        }
        // A discard that is not durable could come back above the limit.
        let flushed = self.port.flush(Barrier::Footer);
        flushed.map_err(|fault| self.fail(fault))?;
        let blocks = self.bytes_of(target.sections) / self.geometry.block as u64;
        let told = match gives {
            Gives::Sections => self.port.set_limit(blocks),
            Gives::Tail => self.port.set_blocks(blocks),
        };
        match told {
            // A device that keeps its size has been trimmed, which is all that it can use.
            Ok(()) | Err(Fault::Unsupported) => Ok(()),
            Err(fault) => Err(self.fail(fault)),
        }
    }
}
