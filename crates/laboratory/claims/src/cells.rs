//! DC3: what eMLC, TLC, QLC and eQLC drives do in one benchmark (dissertation 002, section 5.2, tables 5.1 and 5.2).
//!
//! IOPS times latency is 4 in all eight places of the paper's table (3.92 to 4.07), though its text says 64 outstanding: by Little's law the two
//! are one figure, and neither checks the other. That leaves 16 figures. Six of them calibrate five numbers ([`calibrated`]), which the presets
//! hold; the other ten check the result.

use wane_report::published::{Bars, Picture};
use wane_scenario::Scenario;

use super::{Claim, Class, Finding, Matter, Others, Reading, Runs, Verdict, scenario};

/// A row of table 5.2, and the preset that stands for the drive.
struct Drive {
    name: &'static str,
    preset: &'static str,
    /// MB/s, 1 MiB sequential.
    write_rate: f64,
    read_rate: f64,
    /// 4 KiB random.
    write_iops: f64,
    read_iops: f64,
    /// As printed, in microseconds.
    write_latency: f64,
    read_latency: f64,
}

const fn drive(name: &'static str, preset: &'static str, write: [f64; 3], read: [f64; 3]) -> Drive {
    let [write_rate, write_iops, write_latency] = write;
    let [read_rate, read_iops, read_latency] = read;
    Drive { name, preset, write_rate, read_rate, write_iops, read_iops, write_latency, read_latency }
}

const DRIVES: [Drive; 4] = [
    drive("A, eMLC", "sata-emlc-240g", [247.0, 9663.0, 406.1], [210.0, 4468.0, 896.9]),
    drive("B, TLC", "sata-tlc-480g", [250.0, 10_400.0, 378.9], [249.0, 5337.0, 763.4]),
    drive("C, QLC", "sata-qlc-480g", [191.0, 6853.0, 574.7], [241.0, 2441.0, 1631.9]),
    drive("D, eQLC", "sata-eqlc-1.92t", [231.0, 8852.0, 446.3], [192.0, 3338.0, 1195.1]),
];

impl Drive {
    /// Requests outstanding by Little's law, of writes and of reads.
    fn outstanding(&self) -> [f64; 2] {
        [self.write_iops * self.write_latency, self.read_iops * self.read_latency].map(|product| 1e-6 * product)
    }
}

/// Number of drives, from A on, whose sequential writes calibrate the link: their flash writes faster than any of the table's figures.
const LINKED: usize = 2;
const LARGE: f64 = 1_048_576.0;
const SMALL: f64 = 4096.0;
/// Time until the cache acknowledges a write, in seconds: the default of `time.write-cache-latency`.
const CACHED: f64 = 10e-6;
/// Requests of a random run: 400 MB, many times what the caches hold.
const REQUESTS_SMALL: u32 = 100_000;

/// The rate of the link in bytes a second, the same for all drives, and each drive's time of a command in seconds.
///
/// A drive that serves one command at a time takes `command + cache + bytes / rate` for each. Random writes give the time of a command,
/// sequential writes of A and B the rate. Each needs the other; after 20 rounds of the two nothing changes.
fn calibrated() -> (f64, [f64; 4]) {
    let mut rate = 250e6;
    let commands = |rate: f64| DRIVES.each_ref().map(|drive| 1.0 / drive.write_iops - CACHED - SMALL / rate);
    for _ in 0..20 {
        let of = |(drive, command): (&Drive, f64)| LARGE / (LARGE / (1e6 * drive.write_rate) - command);
        debug_assert!(
            commands(rate).iter().all(|command| *command > 0.0),
            "a command takes time at {rate} bytes a second"
        );
        rate = super::mean(DRIVES.iter().zip(commands(rate)).take(LINKED).map(of));
    }
    (rate, commands(rate))
}

/// What a figure of the table measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    SequentialWrite,
    SequentialRead,
    RandomWrite,
    RandomRead,
}

const JOBS: [Job; 4] = [Job::SequentialWrite, Job::SequentialRead, Job::RandomWrite, Job::RandomRead];

impl Job {
    const fn name(self) -> &'static str {
        match self {
            Self::SequentialWrite => "sequential write, MB/s",
            Self::SequentialRead => "sequential read, MB/s",
            Self::RandomWrite => "random write, IOPS",
            Self::RandomRead => "random read, IOPS",
        }
    }

    const fn paper(self, drive: &Drive) -> f64 {
        match self {
            Self::SequentialWrite => drive.write_rate,
            Self::SequentialRead => drive.read_rate,
            Self::RandomWrite => drive.write_iops,
            Self::RandomRead => drive.read_iops,
        }
    }

    const fn is_random(self) -> bool {
        matches!(self, Self::RandomWrite | Self::RandomRead)
    }

    /// Whether the figure of the drive at `place` was used for calibration.
    const fn is_calibrated(self, place: usize) -> bool {
        match self {
            Self::SequentialWrite => place < LINKED,
            Self::RandomWrite => true,
            Self::SequentialRead | Self::RandomRead => false,
        }
    }

    /// Requests outstanding within the drive as the claim reads the table.
    const fn depth(self) -> u32 {
        if self.is_random() { 1 } else { 4 }
    }
}

/// Scenario of a job on a full drive, which was written once in order and then with `aged` drive writes at random.
fn run(drive: &Drive, job: Job, depth: u32, aged: u32) -> Scenario {
    let (pattern, size, requests) =
        if job.is_random() { ("uniform", "4 KiB", REQUESTS_SMALL) } else { ("sequential", "1 MiB", 2_000) };
    let read_share = if matches!(job, Job::SequentialRead | Job::RandomRead) { 100 } else { 0 };
    let text = format!(
        "[drive]\npreset = '{}'\nblocks-per-plane = 128\npages-per-block = 256\n[time]\nscheduler = 'event'\n[precondition]\nfill = '100 %'\n\
         random-drive-writes = {aged}\n[workload]\npattern = '{pattern}'\nrequest-size = '{size}'\nread-share = '{read_share} %'\n\
         arrival = {{ queue-depth = {depth} }}\n[until]\nrequests = {requests}\n",
        drive.preset
    );
    scenario(&format!("{}: {}, {depth} at a time, aged {aged}", drive.name, job.name()), &text)
}

fn of(runs: &Runs, drive: &Drive, job: Job, depth: u32, aged: u32) -> f64 {
    let throughput = runs.get(&run(drive, job, depth, aged)).summary.throughput.unwrap_or_default();
    let (reads, writes) = (throughput.read, throughput.write);
    match job {
        Job::SequentialWrite => writes.bytes_per_second / 1e6,
        Job::SequentialRead => reads.bytes_per_second / 1e6,
        Job::RandomWrite => writes.iops,
        Job::RandomRead => reads.iops,
    }
}

/// How far the figures that were not used for calibration may be off.
const OFF_MAX: f64 = 0.25;

pub(super) fn claims() -> Vec<Claim> {
    vec![Claim::new(
        Class::Imported,
        [
            "DC3",
            "002 §5.2, Tables 5.1 and 5.2",
            "eMLC, TLC, QLC, eQLC: write MB/s 247, 250, 191, 231, read 210, 249, 241, 192; write IOPS 9,663, 10,400, 6,853, 8,852, read \
             4,468, 5,337, 2,441, 3,338",
            "each of the ten figures that were not used for calibration within 25 %",
        ],
        [
            "four presets, cut to 128 blocks of 256 pages a die, filled in order; 2,000 requests of 1 MiB, four outstanding, and 100,000 of \
             4 KiB, one at a time",
            "kinds of cells and capacities, no models; \"an I/O depth of 64\", while IOPS times latency is 4 in all eight places \
             (3.92 to 4.07): one figure, not two",
            "5 numbers are calibrated on 6 figures: the link's rate on sequential writes of A and B, each drive's time of a command on its \
             random writes; cells have the times of 002's Table 2.2. The drive serves one random request at a time; the other three wait \
             outside",
        ],
        || DRIVES.iter().flat_map(|drive| JOBS.map(|job| run(drive, job, job.depth(), 0))).collect(),
        dc3,
        Others::Run {
            scenarios: || {
                DRIVES
                    .iter()
                    .flat_map(|drive| OTHERS.map(|(_, job, depth, aged)| run(drive, job, depth, aged)))
                    .collect()
            },
            evaluate: dc3_others,
        },
    )]
}

/// Other readings: the name, job, depth and age of each.
const OTHERS: [(&str, Job, u32, u32); 3] = [
    ("random reads, 4 at a time within the drive", Job::RandomRead, 4, 0),
    ("random reads, 64 at a time within the drive", Job::RandomRead, 64, 0),
    ("random writes after a drive write at random, garbage collection at work", Job::RandomWrite, 1, 1),
];

fn percent_off(ours: f64, paper: f64) -> f64 {
    100.0 * (ours / paper - 1.0)
}

fn dc3_others(runs: &Runs) -> Vec<Reading> {
    let reading = |(what, job, depth, aged): (&str, Job, u32, u32)| {
        let off = DRIVES.each_ref().map(|drive| percent_off(of(runs, drive, job, depth, aged), job.paper(drive)));
        let told: Vec<String> =
            DRIVES.iter().zip(off).map(|(drive, off)| format!("{} {off:+.0} %", &drive.name[..1])).collect();
        Reading {
            what: what.to_owned(),
            matter: Matter::Choice,
            ours: told.join(", "),
            verdict: Verdict::of(off.iter().all(|off| off.abs() <= 100.0 * OFF_MAX)),
        }
    };
    OTHERS.map(reading).into()
}

fn dc3(runs: &Runs) -> Finding {
    let mut table = "| figure | drive | 002 | ours | off | |\n|---|---|---:|---:|---:|---|\n".to_owned();
    let (mut checked, mut within, mut worst) = (0, 0, 0.0_f64);
    for job in JOBS {
        for (place, drive) in DRIVES.iter().enumerate() {
            let (ours, paper) = (of(runs, drive, job, job.depth(), 0), job.paper(drive));
            let off = percent_off(ours, paper);
            let what = if job.is_calibrated(place) { "calibrated" } else { "checked" };
            if !job.is_calibrated(place) {
                checked += 1;
                within += usize::from(off.abs() <= 100.0 * OFF_MAX);
                worst = if off.abs() > worst.abs() { off } else { worst };
            }
            table += &format!("| {} | {} | {paper:.0} | {ours:.0} | {off:+.1} % | {what} |\n", job.name(), drive.name);
        }
    }
    let (rate, commands) = calibrated();
    let joined = |values: [f64; 4]| values.map(|value| format!("{value:.0}")).join(", ");
    let missing = DRIVES.each_ref().map(|drive| {
        let ours = of(runs, drive, Job::RandomRead, Job::RandomRead.depth(), 0);
        1e6 / drive.read_iops - 1e6 / ours
    });
    let outstanding = || DRIVES.iter().flat_map(Drive::outstanding);
    let (least, most) = (outstanding().fold(f64::INFINITY, f64::min), outstanding().fold(0.0, f64::max));
    Finding {
        ours: format!("{within} of {checked} within 25 %, worst {worst:+.0} %"),
        verdict: Verdict::of(within == checked),
        note: format!(
            "latency adds nothing to IOPS: by Little's law {least:.2} to {most:.2} requests are outstanding. Calibrated: a link of {:.0} MB/s, \
             what SATA's 3 Gb/s leaves, though the text says SATA 3.0, which has 6 Gb/s; {} us a command. C writes what four dies program by Table \
             2.2, slower than the link; the number of dies is a guess. Random reads are too fast: command, link and Table 2.2's sensing leave {} \
             us of a read without a cause in the model (maps in flash, re-reads and the host's driver are candidates), most in QLC, and A is \
             faster than B, the reverse of the table. Nothing here makes sequential reads of A and D slower than their writes. With 4 or 64 at a \
             time in the drive the time of a command hides the sensing, and reads are as fast as writes, two to three times the table's:",
            rate / 1e6,
            joined(commands.map(|command| 1e6 * command)),
            joined(missing),
        ),
        table,
    }
}

/// Table 5.2 beside ours.
pub(super) fn pictures(runs: &Runs) -> (&'static str, Vec<Picture>) {
    let picture = |job: Job| {
        let caption = match job {
            Job::SequentialWrite => "1 MiB; A and B were used for calibration, C and D were not.",
            Job::SequentialRead => "1 MiB; none was used for calibration.",
            Job::RandomWrite => "4 KiB, one at a time; all four were used for calibration.",
            Job::RandomRead => "4 KiB, one at a time; none was used for calibration.",
        };
        let group =
            |drive: &Drive| (drive.name.to_owned(), vec![job.paper(drive), of(runs, drive, job, job.depth(), 0)]);
        Picture::Bars(Bars {
            heading: "Table 5.2",
            caption: caption.to_owned(),
            measure: job.name(),
            series: vec!["002".to_owned(), "ours".to_owned()],
            groups: DRIVES.iter().map(group).collect(),
            levels: Vec::new(),
        })
    };
    ("Table 5.2: four kinds of cells", JOBS.map(picture).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iops_and_latency_of_the_table_are_one_figure() {
        for outstanding in DRIVES.iter().flat_map(Drive::outstanding) {
            assert!((3.92..4.08).contains(&outstanding), "{outstanding}");
        }
    }

    #[test]
    fn the_presets_have_what_the_calibration_comes_to() {
        let (rate, commands) = calibrated();
        for (drive, command) in DRIVES.iter().zip(commands) {
            let time = run(drive, Job::RandomRead, 1, 0).time;
            assert_eq!(time.write_cache_latency.0 as f64, 1e9 * CACHED, "{}", drive.name);
            assert!((time.command_time.0 as f64 - 1e9 * command).abs() <= 500.0, "{}: {command}", drive.name);
            let found = time.link_rate.unwrap().0 as f64;
            assert!((found - rate).abs() <= 0.5e6, "{}: {found}, {rate}", drive.name);
        }
    }
}
