//! What is done to a held drive besides calls of its device: one value for each, so that it can be done again from a journal.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use wane_ftl::Fate;
use wane_ftl::policies::Mode;
use wane_ftl::policies::retirement::RetirementThreshold;
use wane_sim::Streams;
use wane_units::{Lpn, Sectors};

use super::{Aged, Held, Injection, KeptError, Reached, Retire, Target, WrittenBytes};

/// See the head of this file. [`Held::act`] does it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Act {
    /// The drive's logical sector becomes N sectors of 512 bytes: [`wane_ssd::Drive::format`].
    Format(u64),
    /// It keeps bytes from now on.
    KeepBytes,
    /// Its flash finishes, and its schedule begins anew: [`wane_ssd::Drive::come_to_rest`].
    ComeToRest,
    /// What it buffers is programmed.
    Flush,
    /// Days pass without writes.
    Days(f64),
    /// It is aged.
    Age(Aging),
    /// The host allows N re-reads of a read; `None`: as many as error correction does.
    ReadRecovery(Option<u32>),
    /// Blocks retire at this number of erases.
    RetireAtErases(u32),
    /// Blocks retire at this RBER.
    RetireAtRber(f64),
    /// Its mode is degraded, or normal.
    Degraded(bool),
    /// Units that cannot be read until they are written.
    Lose(Vec<u32>),
    /// It lies without power for days, at a temperature.
    Wait(f64, Option<f64>),
    /// Blocks leave service.
    Retire(Retire),
    /// Faults in the data of units; the seed draws them.
    Inject(Range<u32>, Injection, u64),
    /// As [`Act::ReadRecovery`], by its host, which answers what the drive then asks.
    Require(Option<u32>),
    /// Its power is cut, with these fates of what was under way, and comes back.
    PowerCut(Vec<Fate>),
    /// A sentence for the history of a kept drive. It ends a command that [`Act::Begin`] began.
    Note(String),
    /// What follows is of another process. If it is a command, all of it up to its note was done, or nothing.
    Begin {
        /// Whether it is.
        command: bool,
    },
    /// Something is done to one drive of an array.
    Of(u32, Box<Act>),
    /// A drive is taken out of an array.
    TakeOut(u32),
    /// It is put back.
    PutBack(u32),
    /// A new drive takes its place.
    Replace(u32),
    /// All copies of an array, or its data and parities, are compared.
    Scrub,
    /// An array makes all that some drive of it lacks.
    CopyAll,
    /// The host requires of each drive again what it did before a power cut.
    ReadRecoveries(Vec<Option<u32>>),
    /// As [`Act::PowerCut`], and drives of an array are taken out before the power comes back.
    PowerCutWithout(Vec<Fate>, Vec<u32>),
}

/// An aging of which only the wear stays: what only it wrote is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aging {
    /// Its target.
    pub target: Target,
    /// The factor by which it is fast-forwarded.
    pub fast_forward: Option<f64>,
    /// Drive writes at which it was stopped, if it was.
    pub stopped_at: Option<f64>,
}

/// What came of an act.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acted {
    /// Why an aging ended.
    pub reached: Option<Reached>,
    /// Units that were trimmed, lost or damaged.
    pub units: u64,
    /// Blocks that left service by order, each with its erases.
    pub retired: Vec<(u32, u32)>,
    /// Whether what was done survives a power cut.
    pub is_durable: bool,
}

impl Act {
    /// Whether it serves the keeping of the whole. It does the same with a drive in focus.
    pub(crate) const fn is_of_the_keeper(&self) -> bool {
        matches!(
            self,
            Self::Format(_) | Self::KeepBytes | Self::ComeToRest | Self::Flush | Self::Note(_) | Self::Begin { .. }
        )
    }

    /// What is done to an array as a whole and never to one of its drives, in a word.
    pub(crate) const fn done_to_the_whole(&self) -> Option<&'static str> {
        match self {
            Self::Days(_) | Self::Age(_) => Some("aged"),
            Self::Wait(..) => Some("left without power"),
            Self::PowerCut(_) | Self::PowerCutWithout(..) => Some("cut off from power"),
            Self::Format(_) | Self::KeepBytes | Self::ComeToRest | Self::Flush | Self::Note(_) | Self::Begin { .. } => {
                Some("kept")
            }
            Self::ReadRecoveries(_) => Some("given power"),
            Self::TakeOut(_) | Self::PutBack(_) | Self::Replace(_) | Self::Scrub | Self::CopyAll | Self::Of(..) => {
                Some("tended")
            }
            Self::ReadRecovery(_)
            | Self::RetireAtErases(_)
            | Self::RetireAtRber(_)
            | Self::Degraded(_)
            | Self::Lose(_)
            | Self::Retire(_)
            | Self::Inject(..)
            | Self::Require(_) => None,
        }
    }

    /// Its bytes in a journal.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("an act is plain data")
    }

    /// Reads it from a journal; `None` if these are the bytes of none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::take_from_bytes(bytes).ok().filter(|(_, rest)| rest.is_empty()).map(|(act, _)| act)
    }
}

impl Held {
    /// Does it. The drive has power.
    ///
    /// # Errors
    /// The drive is not made for it.
    pub fn act(&mut self, act: &Act) -> Result<Acted, KeptError> {
        let mut acted = Acted::default();
        match act {
            Act::Format(sectors) => self.each_drive(|drive| drive.format(Sectors(*sectors))),
            Act::KeepBytes => self.keep_bytes()?,
            Act::ComeToRest => self.come_to_rest(),
            Act::Flush => acted.is_durable = self.flush()?,
            Act::Days(days) => self.pass_days(*days)?,
            Act::Age(aging) => {
                // It stops where it stopped.
                let stopped_at = aging.stopped_at.map(f64::to_bits);
                let mut each = |aged: &Aged| Some(aged.drive_writes.to_bits()) != stopped_at;
                return self.age_and_trim(aging, &Arc::default(), &mut each);
            }
            Act::ReadRecovery(most) => {
                self.set_drives(|drive| {
                    let outcome = drive.set_read_recovery(*most);
                    drive.settle_alone(outcome);
                });
            }
            Act::RetireAtErases(erases) => return self.retire_at(RetirementThreshold::Erases(*erases)),
            Act::RetireAtRber(rber) => return self.retire_at(RetirementThreshold::Rber(*rber)),
            Act::Degraded(is_degraded) => {
                let mode = if *is_degraded { Mode::Degraded } else { Mode::Normal };
                self.set_drives(|drive| drive.set_mode(mode));
            }
            Act::Lose(units) => {
                acted.units = self.on_one("damaged", |drive| {
                    let lost = units.iter().filter(|unit| drive.inject_uncorrectable(Lpn(**unit)));
                    lost.count() as u64
                })?;
            }
            Act::Wait(days, celsius) => self.wait(*days, *celsius)?,
            Act::Retire(which) => acted.retired = self.retire(which)?,
            Act::Inject(units, injection, seed) => {
                let mut stream = Streams::new(*seed).stream("inject");
                acted.units = u64::from(self.inject(units.clone(), *injection, &mut stream)?);
            }
            Act::Require(most) => acted.units = u64::from(self.set_read_recovery(*most)?),
            Act::PowerCut(fates) => {
                let mut fates = fates.iter().copied();
                self.cut_power(&[], || fates.next().unwrap_or(Fate::Undone))?;
            }
            Act::PowerCutWithout(fates, out) => {
                let mut fates = fates.iter().copied();
                self.cut_power(out, || fates.next().unwrap_or(Fate::Undone))?;
            }
            Act::Of(place, act) => return self.act_on(*place as usize, act),
            Act::TakeOut(place) => self.take_out(*place as usize)?,
            Act::PutBack(place) => self.put_back(*place as usize)?,
            Act::Replace(place) => self.replace(*place as usize)?,
            Act::Scrub => self.scrub()?,
            Act::CopyAll => acted.units = self.copy_all()?,
            Act::ReadRecoveries(required) => self.require_again(required, wane_ssd::Drive::settle_alone),
            Act::Note(_) | Act::Begin { .. } => {}
        }
        Ok(acted)
    }

    /// Does something to one drive of an array.
    fn act_on(&mut self, place: usize, act: &Act) -> Result<Acted, KeptError> {
        if let Some(done) = act.done_to_the_whole() {
            return Err(KeptError::Whole(done));
        }
        let before = self.focus();
        self.set_focus(Some(place))?;
        let acted = self.act(act);
        // It may have lost its power of it.
        self.focus = before;
        acted
    }

    /// Ages it, and trims what only that has written.
    ///
    /// # Errors
    /// As of [`Held::age`] and [`Held::fast_forward`].
    pub fn age_and_trim(
        &mut self,
        aging: &Aging,
        stop: &Arc<AtomicBool>,
        each: &mut dyn FnMut(&Aged) -> bool,
    ) -> Result<Acted, KeptError> {
        let before = self.mapped()?;
        self.fast_forward(aging.fast_forward)?;
        let reached = self.age(aging.target, WrittenBytes::Stay, stop, each);
        // What was learned lasts as long as this, so that a journal leads to the same drive from any save.
        self.fast_forward(None)?;
        let reached = reached?;
        let units = u64::from(self.give_back(&before));
        let is_durable = self.flush()?;
        Ok(Acted { reached: Some(reached), units, is_durable, ..Acted::default() })
    }

    fn retire_at(&mut self, threshold: RetirementThreshold) -> Result<Acted, KeptError> {
        let mut has_none = false;
        self.set_drives(|drive| match drive.set_retirement_threshold(threshold) {
            Some(outcome) => drive.settle_alone(outcome),
            None => has_none = true,
        });
        if has_none { Err(KeptError::NoThreshold) } else { Ok(Acted::default()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_are_read_as_they_were_written() {
        let aging = Aging { target: Target::Wear(0.1 + 0.2), fast_forward: Some(1.0 / 3.0), stopped_at: Some(0.7) };
        let acts = [
            Act::Format(1),
            Act::KeepBytes,
            Act::Age(aging),
            Act::Lose(vec![1, 900]),
            Act::ReadRecovery(None),
            Act::Inject(3..9, Injection::FlippedBits(2), 7),
            Act::PowerCut(vec![Fate::Torn]),
            Act::PowerCutWithout(vec![Fate::Done], vec![2, 0]),
            Act::Begin { command: true },
        ];
        for act in acts {
            assert_eq!(Act::decode(&act.encode()), Some(act.clone()));
            let mut longer = act.encode();
            longer.push(0);
            assert_eq!(Act::decode(&longer), None);
        }
        assert_eq!(Act::decode(&[200]), None);
    }
}
