//! Time and energy of coding on drives: a model in virtual time of 002, section 8.3. Every rate and power is an input.
//!
//! A machine reads stripes from its disk, codes them and writes shares, one stripe after the other. Disk and processor serve stripes in order, and a
//! stripe waits for both. [`Coding::put`] adds the links and drives that code together, each its part of every stripe. Coding is Reed-Solomon by a matrix,
//! as in zfec. For each byte of data, encoding makes one product for each of the M - K parity shares, and decoding one for each lost
//! share. Letters are those of the paper: any K of M shares restore the object.
//!
//! [`Coding`] has the paper's values, or assumed ones if the paper prints none; [`INPUTS`] says which. Powers are inputs: no processor's power is
//! modeled.

use crate::FleetError;
use crate::economics::Input;
use crate::error::{positive, within};

/// Megabytes of a stripe: the data that are coded at once.
const STRIPE_MB: f64 = 1.0;

/// Largest amount of data, in megabytes: 100 TB, stripe by stripe.
const MEGABYTES_MAX: f64 = 1e8;

/// Largest number of drives that a server is matched with.
const DRIVES_MAX: u32 = 100_000;

macro_rules! inputs {
    ($($name:ident = $value:expr, $unit:literal, $source:literal, $says:literal;)+) => {
        /// Inputs of the model; [`INPUTS`] has units and sources.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Coding {
            $(#[doc = $says] pub $name: f64,)+
        }

        /// Every input, in the order of the fields.
        pub const INPUTS: [Input; [$(stringify!($name)),+].len()] =
            [$(Input { name: stringify!($name), value: $value, unit: $unit, source: $source }),+];

        impl Default for Coding {
            fn default() -> Self {
                Self { $($name: $value),+ }
            }
        }

        impl Coding {
            /// The values in the order of [`INPUTS`].
            pub const fn values(&self) -> [f64; INPUTS.len()] {
                [$(self.$name),+]
            }

            /// Makes the inputs of values in the order of [`INPUTS`].
            pub const fn from_values(values: [f64; INPUTS.len()]) -> Self {
                let [$($name),+] = values;
                Self { $($name),+ }
            }
        }
    };
}

inputs! {
    core_mb_per_s = 4000.0, "MB/s", "measured: `cargo bench -p wane-actor`, code by a matrix, encoded MB/s times M - K: 3,200 to 4,400 of a core that nothing else uses", "Products that one core of the machine of the bench makes, in MB of data a second.";
    drive_core_ratio = 1.0 / 3.0, "of the bench's core", "assumed: 1 GHz (002, table 8.1) over 3 GHz, with the same work a clock; an ARM core does less", "Rate of a drive's core divided by that of the bench's core.";
    drive_cores = 1.0, "cores", "002, table 8.1, first generation", "Cores of a drive that code.";
    drive_disk_mb_per_s = 150.0, "MB/s", "not printed: a hard disk of 4 TB with 7,200 turns a minute", "What a drive's disk reads or writes, in MB/s.";
    drive_link_mb_per_s = 125.0, "MB/s", "002, table 8.1: 1 Gbit/s", "What a drive's link moves each way, in MB/s.";
    drive_idle_watts = 16.0, "W", "002, section 8.3.2", "What an idle drive draws, in watts.";
    encode_watts_min = 8.4, "W", "002, section 8.3.2: 8.4 to 8.7 W above idle", "What encoding adds at the least, in watts.";
    encode_watts_max = 8.7, "W", "002, section 8.3.2: 8.4 to 8.7 W above idle", "What encoding adds at the most, in watts.";
    decode_watts_min = 8.2, "W", "002, section 8.3.2: 8.2 to 9.2 W above idle", "What decoding adds at the least, in watts.";
    decode_watts_max = 9.2, "W", "002, section 8.3.2: 8.2 to 9.2 W above idle", "What decoding adds at the most, in watts.";
    server_core_ratio = 1.0, "of the bench's core", "assumed: 3 GHz (002, section 8.3.1)", "Rate of a server's core divided by that of the bench's core.";
    server_cores = 1.0, "cores", "zfec runs on one; the server has 8 (002, section 8.3.1)", "Cores of the server that code.";
    server_disk_mb_per_s = 150.0, "MB/s", "not printed: one SATA disk (002, section 8.3.1)", "What the server's disk reads or writes, in MB/s.";
    server_link_mb_per_s = 125.0, "MB/s", "002, section 8.3.1: a Gigabit switch", "What the server's link moves each way, in MB/s.";
    passive_disk_watts = 8.0, "W", "002, section 5.2.3: 8 to 11 W of a hard disk", "What a disk draws that does not code, in watts.";
    server_watts = 150.0, "W", "not printed: assumed of eight Xeon cores with a disk", "What the server draws while it codes, in watts.";
}

/// What is done with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Make and write all M shares.
    Encode,
    /// Read K shares and restore the data of lost ones.
    Decode {
        /// Number of lost data shares, at most K and at most M - K.
        lost: u32,
    },
}

/// Time and energy of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Duration in seconds.
    pub seconds: f64,
    /// Seconds of these in which the processor of one machine worked.
    pub processor_seconds: f64,
    /// Energy of all machines, in watt-hours, at the least.
    pub watt_hours_min: f64,
    /// And at the most.
    pub watt_hours_max: f64,
}

/// The drives that do a server's work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matched {
    /// The fewest drives that are not slower than the server.
    pub drives: u32,
    /// What they take, each coding its part of the data.
    pub by_drives: Taken,
    /// What the server takes.
    pub by_server: Taken,
    /// Power of a server, in watts, at which it uses as much energy as the drives, at the drives' least.
    pub break_even_watts_min: f64,
    /// The same at their most.
    pub break_even_watts_max: f64,
}

/// A client's put of an object, coded by the drives that keep it or by a server in front of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Duration in seconds.
    pub seconds: f64,
    /// Energy of all machines, in watt-hours, at the least.
    pub watt_hours_min: f64,
    /// And at the most.
    pub watt_hours_max: f64,
    /// Megabytes that the busiest link moves in one direction.
    pub busiest_link_mb: f64,
}

/// The rates of one machine.
struct Machine {
    products_mb_per_s: f64,
    disk_mb_per_s: f64,
}

impl Coding {
    fn checked(&self) -> Result<(), FleetError> {
        for (input, value) in INPUTS.iter().zip(self.values()) {
            positive(input.name, value)?;
        }
        within("encode_watts_max", self.encode_watts_max, self.encode_watts_min, f64::MAX)?;
        within("decode_watts_max", self.decode_watts_max, self.decode_watts_min, f64::MAX)?;
        Ok(())
    }

    fn drive(&self) -> Machine {
        let products_mb_per_s = self.core_mb_per_s * self.drive_core_ratio * self.drive_cores;
        Machine { products_mb_per_s, disk_mb_per_s: self.drive_disk_mb_per_s }
    }

    fn server(&self) -> Machine {
        let products_mb_per_s = self.core_mb_per_s * self.server_core_ratio * self.server_cores;
        Machine { products_mb_per_s, disk_mb_per_s: self.server_disk_mb_per_s }
    }

    /// Time and energy of `drives` drives that code `megabytes`, each its part, from its disk to its disk.
    ///
    /// # Errors
    ///
    /// [`FleetError::OutOfRange`] for an input that is not above 0, a range whose ends are swapped, no data, no drives, or numbers of shares without a code.
    pub fn on_drives(&self, shares: Shares, work: Work, megabytes: f64, drives: u32) -> Result<Taken, FleetError> {
        self.checked()?;
        if !(1..=DRIVES_MAX).contains(&drives) {
            return Err(FleetError::OutOfRange {
                what: "drives",
                found: drives.into(),
                allowed: format!("1 to {DRIVES_MAX}"),
            });
        }
        let (seconds, processor_seconds) = self.drive().run(shares, work, data(megabytes)? / f64::from(drives))?;
        let (least, most) = match work {
            Work::Encode => (self.encode_watts_min, self.encode_watts_max),
            Work::Decode { .. } => (self.decode_watts_min, self.decode_watts_max),
        };
        let watt_hours = |added: f64| f64::from(drives) * (self.drive_idle_watts + added) * seconds / 3600.0;
        Ok(Taken { seconds, processor_seconds, watt_hours_min: watt_hours(least), watt_hours_max: watt_hours(most) })
    }

    /// Time and energy of the server.
    ///
    /// # Errors
    ///
    /// As of [`Coding::on_drives`].
    pub fn on_server(&self, shares: Shares, work: Work, megabytes: f64) -> Result<Taken, FleetError> {
        self.checked()?;
        let (seconds, processor_seconds) = self.server().run(shares, work, data(megabytes)?)?;
        let watt_hours = self.server_watts * seconds / 3600.0;
        Ok(Taken { seconds, processor_seconds, watt_hours_min: watt_hours, watt_hours_max: watt_hours })
    }

    /// A client's put of `megabytes` on M drives. Of each stripe, each of the K data drives gets its own cell and its byte range of the
    /// other cells, computes that range of the M - K parities, and sends it on (see the crate `actor`).
    ///
    /// # Errors
    ///
    /// As of [`Coding::on_drives`].
    pub fn put(&self, shares: Shares, megabytes: f64) -> Result<Placed, FleetError> {
        self.checked()?;
        let (needed, parities) = shares.counts()?;
        let (cell, others) = (1.0 / needed, (needed - 1.0) / needed);
        // Without parities the drives exchange nothing.
        let others = if parities > 0.0 { others } else { 0.0 };
        let (inwards, outwards) = (cell * (1.0 + others), cell * (others + parities / needed));
        let link = self.drive_link_mb_per_s;
        let stages = [
            inwards / link,
            parities * cell / self.drive().products_mb_per_s,
            outwards / link,
            cell / self.drive_disk_mb_per_s,
        ];
        let megabytes = data(megabytes)?;
        let seconds = pipeline(&stages, megabytes);
        // Parity drives draw idle power while others code.
        let watt_hours = |added: f64| (self.drive_idle_watts * (needed + parities) + added * needed) * seconds / 3600.0;
        Ok(Placed {
            seconds,
            watt_hours_min: watt_hours(self.encode_watts_min),
            watt_hours_max: watt_hours(self.encode_watts_max),
            busiest_link_mb: megabytes * f64::max(inwards, outwards),
        })
    }

    /// The same put through a server, which codes and sends M shares to M disks that do not code.
    ///
    /// # Errors
    ///
    /// As of [`Coding::on_drives`].
    pub fn put_by_server(&self, shares: Shares, megabytes: f64) -> Result<Placed, FleetError> {
        self.checked()?;
        let (needed, parities) = shares.counts()?;
        let (cell, outwards) = (1.0 / needed, (needed + parities) / needed);
        let link = self.server_link_mb_per_s;
        let stages =
            [1.0 / link, parities / self.server().products_mb_per_s, outwards / link, cell / self.server_disk_mb_per_s];
        let megabytes = data(megabytes)?;
        let seconds = pipeline(&stages, megabytes);
        let watt_hours = (self.server_watts + self.passive_disk_watts * (needed + parities)) * seconds / 3600.0;
        Ok(Placed {
            seconds,
            watt_hours_min: watt_hours,
            watt_hours_max: watt_hours,
            busiest_link_mb: megabytes * outwards,
        })
    }

    /// The paper's rule (8.3): finds the fewest drives that are not slower than the server, and compares their energy.
    ///
    /// # Errors
    ///
    /// As [`Coding::on_drives`]; or no number of drives is as fast.
    pub fn matched(&self, shares: Shares, work: Work, megabytes: f64) -> Result<Matched, FleetError> {
        let by_server = self.on_server(shares, work, megabytes)?;
        // More drives are never slower, so the fewest are found by bisection.
        let is_enough = |drives: u32| Ok(self.on_drives(shares, work, megabytes, drives)?.seconds <= by_server.seconds);
        if !is_enough(DRIVES_MAX)? {
            let allowed = format!("a server that {DRIVES_MAX} drives are as fast as");
            return Err(FleetError::OutOfRange { what: "seconds of the server", found: by_server.seconds, allowed });
        }
        let (mut least, mut enough) = (0, DRIVES_MAX);
        while enough - least > 1 {
            let middle = least + (enough - least) / 2;
            if is_enough(middle)? { enough = middle } else { least = middle }
        }
        let by_drives = self.on_drives(shares, work, megabytes, enough)?;
        assert!(by_drives.seconds <= by_server.seconds, "drives that do a server's work are not slower than it");
        let break_even = |watt_hours: f64| watt_hours * 3600.0 / by_server.seconds;
        Ok(Matched {
            drives: enough,
            by_drives,
            by_server,
            break_even_watts_min: break_even(by_drives.watt_hours_min),
            break_even_watts_max: break_even(by_drives.watt_hours_max),
        })
    }
}

/// Any K of M shares restore the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// K.
    pub needed: u32,
    /// M.
    pub made: u32,
}

impl Shares {
    /// K, and M - K.
    fn counts(self) -> Result<(f64, f64), FleetError> {
        let Self { needed, made } = self;
        within("shares needed (K)", needed.into(), 1.0, made.into())?;
        within("shares made (M)", made.into(), 1.0, 256.0)?;
        Ok((needed.into(), (made - needed).into()))
    }
}

/// Refuses no data, or more than [`MEGABYTES_MAX`].
fn data(megabytes: f64) -> Result<f64, FleetError> {
    within("megabytes", positive("megabytes", megabytes)?, 0.0, MEGABYTES_MAX)
}

/// Seconds until all stripes have passed all stages. A stage takes one stripe after the other; `stages` has its seconds per megabyte.
fn pipeline(stages: &[f64], megabytes: f64) -> f64 {
    assert!(!stages.is_empty(), "data go through a stage");
    let mut free = vec![0.0; stages.len()];
    let mut left = megabytes;
    while left > 0.0 {
        let stripe = f64::min(left, STRIPE_MB);
        left -= stripe;
        let mut ready = 0.0;
        for (stage, seconds) in stages.iter().enumerate() {
            ready = f64::max(ready, free[stage]) + stripe * seconds;
            free[stage] = ready;
        }
    }
    free.last().copied().unwrap_or(0.0)
}

impl Machine {
    /// Seconds until all data are coded and on the disk, and how long the processor worked.
    fn run(&self, shares: Shares, work: Work, megabytes: f64) -> Result<(f64, f64), FleetError> {
        let Shares { needed, made } = shares;
        shares.counts()?;
        // (what is read, products, what is written) for each MB of data
        let (read, products, written) = match work {
            Work::Encode => (1.0, f64::from(made - needed), f64::from(made) / f64::from(needed)),
            Work::Decode { lost } => {
                within("lost shares", lost.into(), 0.0, needed.min(made - needed).into())?;
                (1.0, f64::from(lost), 1.0)
            }
        };
        let (mut disk, mut processor, mut worked) = (0.0, 0.0, 0.0);
        let (mut left, mut coded) = (megabytes, Vec::new());
        // The disk reads ahead of the processor: it writes a coded stripe after it has read the next one.
        while left > 0.0 || !coded.is_empty() {
            if left > 0.0 {
                let stripe = f64::min(left, STRIPE_MB);
                left -= stripe;
                disk += stripe * read / self.disk_mb_per_s;
                let takes = stripe * products / self.products_mb_per_s;
                processor = f64::max(processor, disk) + takes;
                worked += takes;
                coded.insert(0, (processor, stripe));
            }
            if (left <= 0.0 || coded.len() > 1)
                && let Some((ready, stripe)) = coded.pop()
            {
                disk = f64::max(disk, ready) + stripe * written / self.disk_mb_per_s;
            }
        }
        Ok((f64::max(disk, processor), worked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODE: Work = Work::Encode;
    const ONE: Work = Work::Decode { lost: 1 };

    fn shares(needed: u32, made: u32) -> Shares {
        Shares { needed, made }
    }

    #[test]
    fn a_task_takes_what_its_slowest_part_takes() {
        // Of a fast disk the processor decides, of a fast processor the disk.
        let processor = Coding { drive_disk_mb_per_s: 1e9, ..Coding::default() };
        let taken = processor.on_drives(shares(6, 8), ENCODE, 1000.0, 1).unwrap();
        let want = 1000.0 * 2.0 / (4000.0 / 3.0);
        assert!(
            (taken.seconds / want - 1.0).abs() < 1e-3 && (taken.processor_seconds / want - 1.0).abs() < 1e-9,
            "{taken:?}"
        );
        let disk = Coding { core_mb_per_s: 1e12, ..Coding::default() };
        let taken = disk.on_drives(shares(3, 16), ENCODE, 1000.0, 1).unwrap();
        assert!((taken.seconds - 1000.0 * (1.0 + 16.0 / 3.0) / 150.0).abs() < 0.1, "{taken:?}");
        // Power times time, of each drive.
        assert!((taken.watt_hours_min - 24.4 * taken.seconds / 3600.0).abs() < 1e-9);
        assert!((taken.watt_hours_max - 24.7 * taken.seconds / 3600.0).abs() < 1e-9);
        let four = disk.on_drives(shares(3, 16), ENCODE, 1000.0, 4).unwrap();
        assert!(
            (four.seconds * 4.0 / taken.seconds - 1.0).abs() < 0.01
                && (four.watt_hours_min / taken.watt_hours_min - 1.0).abs() < 0.01
        );
    }

    #[test]
    fn encoding_grows_with_m_and_falls_with_k_as_in_figure_8_4() {
        for coding in [Coding::default(), Coding { drive_disk_mb_per_s: 1e9, ..Coding::default() }] {
            let seconds = |needed, made| coding.on_drives(shares(needed, made), ENCODE, 500.0, 1).unwrap().seconds;
            assert!(seconds(3, 16) > seconds(8, 16) && seconds(8, 16) > seconds(12, 16));
            assert!(seconds(3, 8) > seconds(6, 8) && seconds(3, 16) > seconds(3, 8));
            let decode = |needed, made| coding.on_drives(shares(needed, made), ONE, 500.0, 1).unwrap().seconds;
            assert!(decode(3, 16) < seconds(3, 16) && (decode(3, 16) - decode(3, 8)).abs() < 1e-9);
        }
    }

    #[test]
    fn the_match_is_the_fewest_drives_that_are_not_slower() {
        for ratio in [1.0, 1.0 / 3.0, 1.0 / 30.0] {
            let coding = Coding { drive_core_ratio: ratio, ..Coding::default() };
            for work in [ENCODE, ONE] {
                let matched = coding.matched(shares(6, 8), work, 300.0).unwrap();
                assert!(matched.by_drives.seconds <= matched.by_server.seconds);
                if matched.drives > 1 {
                    let fewer = coding.on_drives(shares(6, 8), work, 300.0, matched.drives - 1).unwrap();
                    assert!(fewer.seconds > matched.by_server.seconds, "{matched:?}");
                }
                // At the break-even a server uses what the drives use.
                let even = Coding { server_watts: matched.break_even_watts_min, ..coding };
                let used = even.on_server(shares(6, 8), work, 300.0).unwrap().watt_hours_min;
                assert!((used / matched.by_drives.watt_hours_min - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_put_on_drives_spreads_what_a_server_sends_through_one_link() {
        let paper = Coding::default();
        let (drives, server) =
            (paper.put(shares(4, 6), 1000.0).unwrap(), paper.put_by_server(shares(4, 6), 1000.0).unwrap());
        // A drive gets its quarter, and a quarter of three others; a server sends one and a half times the object.
        assert!(
            (drives.busiest_link_mb - 1000.0 * 0.25 * 1.75).abs() < 1e-9
                && (server.busiest_link_mb - 1500.0).abs() < 1e-9
        );
        assert!(
            (server.seconds - 1500.0 / 125.0).abs() < 0.1 && (drives.seconds - 437.5 / 125.0).abs() < 0.1,
            "{drives:?} {server:?}"
        );
        assert!((drives.watt_hours_min - (16.0 * 6.0 + 8.4 * 4.0) * drives.seconds / 3600.0).abs() < 1e-9);
        // Without parities nothing is exchanged.
        assert!((paper.put(shares(4, 4), 1000.0).unwrap().busiest_link_mb - 250.0).abs() < 1e-9);
        let slow = Coding { drive_core_ratio: 1e-3, ..paper };
        let want = 1000.0 * 2.0 / 4.0 / 4.0;
        assert!((slow.put(shares(4, 6), 1000.0).unwrap().seconds / want - 1.0).abs() < 0.01, "the processor decides");
    }

    #[test]
    fn what_has_no_answer_is_told() {
        let told = |coding: Coding, shares, work, megabytes, drives| {
            coding.on_drives(shares, work, megabytes, drives).unwrap_err().to_string()
        };
        let paper = Coding::default();
        assert!(told(Coding { drive_cores: 0.0, ..paper }, shares(3, 8), ENCODE, 1.0, 1).contains("drive_cores"));
        assert!(
            told(Coding { encode_watts_max: 1.0, ..paper }, shares(3, 8), ENCODE, 1.0, 1).contains("encode_watts_max")
        );
        assert!(told(paper, shares(9, 8), ENCODE, 1.0, 1).contains("shares needed"));
        assert!(told(paper, shares(3, 300), ENCODE, 1.0, 1).contains("shares made"));
        assert!(told(paper, shares(6, 8), Work::Decode { lost: 3 }, 1.0, 1).contains("lost shares"));
        assert!(told(paper, shares(6, 8), ENCODE, f64::NAN, 1).contains("megabytes"));
        assert!(told(paper, shares(6, 8), ENCODE, 1.0, 0).contains("drives"));
        assert_eq!(told(paper, shares(6, 8), ENCODE, 1e9, 1), "megabytes: found 1000000000, allowed is 0 to 100000000");
        assert!(paper.put(shares(6, 8), f64::MAX).is_err() && paper.put_by_server(shares(6, 8), 1e9).is_err());
    }
}
