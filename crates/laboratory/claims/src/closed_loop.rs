//! A closed loop over any block device: workers that each submit a request as soon as their last one is done, in virtual time.

use wane_blockdev::{Kind, Living, Request, SectorRange};
use wane_sim::Stream;
use wane_units::{Lba, Nanos, Sectors, SimTime};

/// Where requests lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other, from the start again at the end; workers share the place.
    Sequential,
    /// Anywhere, aligned to their size, uniform.
    Random,
}

/// What workers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedLoop {
    /// Requests that are outstanding at any time: workers times requests of each.
    pub outstanding: u32,
    /// Sectors of a request.
    pub size: Sectors,
    /// Reads or writes. Writes have no contents.
    pub kind: Kind,
    /// Where they lie, from the start of the device on.
    pub order: Order,
    /// Requests that end before the measurement.
    pub before: u32,
    /// Requests that are measured.
    pub measured: u32,
}

/// What a closed loop reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Bytes that were measured.
    pub bytes: u64,
    /// From the last completion before the measurement to the last of it.
    pub took: Nanos,
    /// Latencies of the measured requests, rising.
    pub latencies: Vec<Nanos>,
}

impl Reached {
    /// GiB a second; 0 if it took no time.
    pub fn gib_per_second(&self) -> f64 {
        if self.took == Nanos::ZERO {
            return 0.0;
        }
        self.bytes as f64 / (1u64 << 30) as f64 / (self.took.0 as f64 * 1e-9)
    }

    /// The latency that a share of the requests, from 0 to 1, does not exceed, by the nearest rank; 0 without requests.
    pub fn quantile(&self, share: f64) -> Nanos {
        let rank = (share * self.latencies.len() as f64).ceil().max(1.0) as usize;
        self.latencies.get(rank.min(self.latencies.len()).wrapping_sub(1)).copied().unwrap_or(Nanos::ZERO)
    }
}

/// Why a closed loop ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The device holds no request of this size.
    Small(Sectors),
    /// A request failed.
    Failed(String),
    /// The device stopped answering.
    Silent,
}

impl ClosedLoop {
    /// Runs it. The device has no request outstanding before and after.
    ///
    /// # Errors
    /// The device is too small, or a request fails.
    pub fn run(&self, device: &mut dyn Living, stream: &mut Stream) -> Result<Reached, Broken> {
        let places = device.capacity().0 / self.size.0.max(1);
        if places == 0 || self.size == Sectors::ZERO {
            return Err(Broken::Small(device.capacity()));
        }
        let all = u64::from(self.before) + u64::from(self.measured);
        let mut submitted = 0;
        let mut submit = |device: &mut dyn Living, at: SimTime| {
            let place = match self.order {
                Order::Sequential => submitted % places,
                Order::Random => stream.below(places),
            };
            submitted += 1;
            let range = SectorRange::new(Lba(place * self.size.0), self.size);
            let request =
                if self.kind == Kind::Read { Request::read(range) } else { Request::write_without_bytes(range) };
            device.submit(at, request);
        };
        let mut now = device.now();
        (0..self.outstanding).for_each(|_| submit(device, now));
        let (mut done, mut open, mut began, mut ended) = (0, self.outstanding, now, now);
        let (mut out, mut latencies) = (Vec::new(), Vec::with_capacity(self.measured as usize));
        // Workers go on until all that is measured is done, so that none of it meets an idle device.
        while open > 0 {
            now = device.next_event_at().ok_or(Broken::Silent)?.max(now);
            device.complete(now, &mut out);
            for completion in out.drain(..) {
                if !completion.status.is_done() {
                    return Err(Broken::Failed(format!("{:?}", completion.status)));
                }
                (done, open) = (done + 1, open - 1);
                if done <= u64::from(self.before) {
                    began = completion.at;
                } else if done <= all {
                    ended = completion.at;
                    latencies.push(completion.latency());
                }
                if done < all {
                    submit(device, now);
                    open += 1;
                }
            }
        }
        latencies.sort_unstable();
        let bytes = u64::from(self.measured) * self.size.0 * Sectors::SIZE.0;
        Ok(Reached { bytes, took: Nanos(ended.0 - began.0), latencies })
    }
}

#[cfg(test)]
mod tests {
    use wane_blockdev::{Fifo, Ram, RamConfig, measured};
    use wane_sim::Streams;

    use super::*;

    fn device() -> Fifo<Ram> {
        let config = RamConfig { keeps_bytes: false, ..RamConfig::new(Sectors(1 << 16)) };
        Fifo::new(Ram::with(config).unwrap(), measured::NVME0)
    }

    #[test]
    fn throughput_is_what_the_drive_or_its_latency_allows() {
        // One request waits for its service and the latency; eight keep the drive busy. 64 KiB are 18,329 ns, and 75 us of latency.
        for (outstanding, nanos) in [(1, 93_329.0), (2, 93_329.0 / 2.0), (8, 18_329.0), (32, 18_329.0)] {
            let work = ClosedLoop {
                outstanding,
                size: Sectors(128),
                kind: Kind::Read,
                order: Order::Sequential,
                before: 100,
                measured: 1000,
            };
            let reached = work.run(&mut device(), &mut Streams::new(1).stream("test")).unwrap();
            let rate = 65_536.0 / (1u64 << 30) as f64 / (nanos * 1e-9);
            assert!((reached.gib_per_second() / rate - 1.0).abs() < 0.002, "{outstanding}: {reached:?}");
            let wait = f64::from(outstanding) * nanos;
            assert!((reached.quantile(0.99).0 as f64 / wait.max(93_329.0) - 1.0).abs() < 0.01, "{outstanding}");
        }
    }

    #[test]
    fn a_device_that_is_too_small_or_gone_is_told() {
        let work = ClosedLoop {
            outstanding: 4,
            size: Sectors(1 << 20),
            kind: Kind::Write,
            order: Order::Random,
            before: 0,
            measured: 10,
        };
        let mut stream = Streams::new(1).stream("test");
        assert_eq!(work.run(&mut device(), &mut stream), Err(Broken::Small(Sectors(1 << 16))));
        let mut gone = device();
        gone.power_off(SimTime(0), &mut || wane_units::Fate::Done);
        let work = ClosedLoop { size: Sectors(128), ..work };
        assert!(matches!(work.run(&mut gone, &mut stream), Err(Broken::Failed(_))));
    }
}
