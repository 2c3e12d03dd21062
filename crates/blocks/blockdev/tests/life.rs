//! The conformance suite finds devices that break a rule of living devices: one for each rule, and the suite's message for it.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Completion, Living, Passing, PowerError, Ram, RamConfig, Recovered,
    Request, RequestId, SectorRange, Stop, Took, Work, live_on, pass_on,
};
use wane_testkit::conformance::try_life;
use wane_units::{Fate, Lba, Nanos, Sectors, SimTime};

/// Which rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Not,
    BatchForgetsTrims,
    BatchKeepsContents,
    BatchCompletesLater,
    BatchBeyondTheEnd,
    RewriteZeroes,
    CopyForgetsRequests,
    SavesNoRequests,
    SavesNoContents,
    AnswersWithoutPower,
    LosesRequestsWithPower,
    LosesWhatWasFlushed,
    IsSwitchedOnTwice,
    DaysLoseData,
    IdleTakesNoTime,
}

struct Broken {
    device: Ram,
    how: How,
    is_off: bool,
    /// Requests with lower numbers never complete.
    forgotten: u64,
}

fn ram() -> Ram {
    Ram::with(RamConfig { latency: Nanos(3_000), ..RamConfig::new(Sectors(400)) }).unwrap()
}

impl Broken {
    /// Forgets the requests that are outstanding.
    fn forget(&mut self) {
        self.forgotten = self.device.submit(self.device.now(), Request::flush()).0;
    }

    fn all(&self) -> SectorRange {
        SectorRange::new(Lba(0), self.device.capacity())
    }
}

impl BlockDevice for Broken {
    pass_on!(device: features capacity next_event_at set_capacity mapped_limit set_mapped_limit notices extents peek);

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.device.submit(at, request)
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        let first = out.len();
        self.device.complete(until, out);
        let forgotten = self.forgotten;
        if forgotten > 0 {
            out.retain(|completion| completion.id.0 > forgotten);
            return;
        }
        if self.is_off && self.how == How::AnswersWithoutPower {
            out[first..].iter_mut().for_each(|completion| completion.status = wane_blockdev::Status::Done);
        }
    }
}

impl Living for Broken {
    live_on!(device: now go_on work prefetch counters members);

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let all = batch.extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.count);
        match (self.how, batch.work) {
            (How::BatchForgetsTrims, Work::Trim) => Took::new(all, Stop::Done),
            (How::BatchKeepsContents, Work::Write) => self.device.batch(at, &Batch { work: Work::Rewrite, ..*batch }),
            (How::RewriteZeroes, Work::Rewrite) => self.device.batch(at, &Batch { work: Work::Write, ..*batch }),
            (How::BatchCompletesLater, Work::Read) if !batch.extents.is_empty() => {
                self.device.submit(at, Request::read(SectorRange::EMPTY));
                self.device.batch(at, batch)
            }
            (How::BatchBeyondTheEnd, _) => {
                let within: Vec<SectorRange> =
                    batch.extents.iter().map(|extent| extent.intersection(self.all())).collect();
                let took = self.device.batch(at, &Batch { extents: &within, ..*batch });
                if within == batch.extents { took } else { Took { stop: Stop::OutOfRange, ..took } }
            }
            _ => self.device.batch(at, batch),
        }
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        match (self.how, time) {
            (How::DaysLoseData, Passing::Days(days)) if days > 500.0 => {
                let all = self.all();
                self.device.batch(at, &Batch::new(Work::Trim, &[all]));
                self.device.pass(at, time)
            }
            (How::IdleTakesNoTime, Passing::Idle(_)) => self.device.pass(at, Passing::Idle(Nanos::ZERO)),
            _ => self.device.pass(at, time),
        }
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.is_off = true;
        if self.how == How::LosesWhatWasFlushed {
            let all = self.all();
            self.device.batch(at, &Batch::new(Work::Trim, &[all]));
        }
        self.device.power_off(at, fate);
        if self.how == How::LosesRequestsWithPower {
            self.forget();
        }
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        self.is_off = false;
        match self.device.power_on(at) {
            Err(PowerError::IsOn) if self.how == How::IsSwitchedOnTwice => Ok(Recovered { took: Nanos::ZERO }),
            other => other,
        }
    }

    fn another(&self) -> Box<dyn Living> {
        let mut copy = Broken { device: self.device.clone(), ..*self };
        if self.how == How::CopyForgetsRequests {
            copy.forget();
        }
        Box::new(copy)
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.device.archive(archive)?;
        if archive.is_reading() {
            let now = self.device.now();
            match self.how {
                How::SavesNoRequests => self.forget(),
                How::SavesNoContents => {
                    let all = self.all();
                    self.device.batch(now, &Batch::new(Work::Write, &[all]));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[test]
fn every_broken_rule_of_life_is_found() {
    let table = [
        (How::BatchForgetsTrims, "requests leave"),
        (How::BatchKeepsContents, "requests leave"),
        (How::BatchCompletesLater, "leaves something to complete"),
        (How::BatchBeyondTheEnd, "beyond the capacity"),
        (How::RewriteZeroes, "writing contents again changed them"),
        (How::CopyForgetsRequests, "a copy"),
        (How::SavesNoRequests, "the device read back"),
        (How::SavesNoContents, "the device read back"),
        (How::AnswersWithoutPower, "without power"),
        (How::LosesRequestsWithPower, "these end"),
        (How::LosesWhatWasFlushed, "after a power cut sector"),
        (How::IsSwitchedOnTwice, "switched on twice"),
        (How::DaysLoseData, "time changed contents"),
        (How::IdleTakesNoTime, "leads to"),
    ];
    let of = |how| move || -> Box<dyn Living> { Box::new(Broken { device: ram(), how, is_off: false, forgotten: 0 }) };
    assert_eq!(try_life(&of(How::Not), true, 48), Ok(()));
    for (how, message) in table {
        let found = try_life(&of(how), true, 48);
        assert!(found.as_ref().is_err_and(|why| why.contains(message)), "{how:?}: {found:?}");
    }
}
