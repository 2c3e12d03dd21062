//! CS2 and CS3: a file system becomes smaller by 1 GiB while programs use it, by three ways, and is read before and after (001, section 3.1.2, Fig. 6).

use std::fmt::Write as _;
use std::sync::OnceLock;

use wane_blockdev::{Blocking, Living};
use wane_fs::{
    Direct, FileKind, FormatConfig, Moment, MountConfig, NewFile, Planned, Progress, ROOT, Volume, Way, format,
};
use wane_lab::build;
use wane_lab::stack::{Costs, Latencies, PlannedVolume, RandomWriter, SequentialReader, Shrinker, Stack, Until};
use wane_scenario::Scenario;
use wane_sim::{Stream, Streams};
use wane_ssd::Drive;
use wane_units::Nanos;

use super::{Claim, Class, Finding, Others, finding, scenario};
use crate::mean as average;

/// Measurements of each way and age. A test of the texts needs one.
const REPEATS: u64 = if cfg!(test) { 1 } else { 6 };
const BLOCK: u64 = 4096;
const GIB: u64 = 1 << 30;
/// Bytes of a file that ages the file system.
const FILE: u64 = 4 << 20;
/// Bytes of the file that is read.
const READ: u64 = 128 << 20;
/// Bytes of the file whose user must not stall.
const USED: u64 = 16 << 20;
/// Most bytes of a request, as Linux sets it for these drives.
const REQUEST: usize = 512 << 10;
/// Calls of the program without a shrink.
const CALLS_ALONE: u64 = 2_000;
/// Blocks that a step moves about.
const STEP: u64 = 4096;
const NOW: Moment = Moment { seconds: 0, nanos: 0 };

/// How many times as long as a remap the paper's relocation takes.
const PAPER_RATIO: f64 = 4.5 / 0.317;

const CONFIGURATION: &str = "4 GiB of the flash of cvss-128g: 32 of 1,024 pages in a block, an erase 1/32 as long; a file system of blocks of 4 KiB and segments of 2 MiB, \
                             filled with files of 4 MiB, a quarter of it overwritten at random, then files removed until 5 or 50 % of its last GiB are valid; 6 times with \
                             more overwrites in between; meanwhile a program overwrites 4 KiB of a file of 16 MiB at random each 100 us, and makes each 16th \
                             durable; reads are direct, one at a time; requests of at most 512 KiB, 128 at once, no read-ahead";
const PUBLISHED: &str = "F2FS on FEMU; 1 GiB, the mean of 60 measurements, 0.5 GiB of it valid when aged and 0.05 when young; neither the requests, the depth and the \
                         read-ahead nor what is read is stated";
const READING: &str =
    "from the command to the last flush of the last checkpoint; a file that is written after the shrink is read";

pub(super) fn claims() -> Vec<Claim> {
    let none = || Others::None("the paper gives no figure but these");
    vec![
        Claim::new(
            Class::Imported,
            [
                "CS2",
                "001 Fig. 6a",
                "an aged file system gives 1 GiB back in 0.004 s without contiguous addresses, in 4.5 s by relocation and in 0.317 s by remap",
                "the order, and relocation 7.1 to 21.3 times as long as remap",
            ],
            [CONFIGURATION, PUBLISHED, READING],
            Vec::new,
            |_| cs2(),
            none(),
        ),
        Claim::new(
            Class::Imported,
            [
                "CS3",
                "001 Fig. 6b",
                "sequential reads after the shrink without contiguous addresses: -13 % at 16 KiB, -50 % at 4 MiB; the other ways lose nothing",
                "both signs, and the larger loss at 4 MiB",
            ],
            [CONFIGURATION, PUBLISHED, READING],
            Vec::new,
            |_| cs3(),
            none(),
        ),
    ]
}

/// The drive: a thirty-second of the paper's.
fn drive() -> Scenario {
    let text = "[drive]\npreset = 'cvss-128g'\npages-per-block = 32\n[drive.timing]\nerase = '156250 ns'\n[workload]\n\
                pattern = 'uniform'\n[time]\nscheduler = 'timeline'\n[until]\nrequests = 1\n";
    scenario("the drive of CS2 and CS3", text)
}

/// How full the range is that is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Young,
    Aged,
}

impl Age {
    const ALL: [Self; 2] = [Self::Young, Self::Aged];

    const fn name(self) -> &'static str {
        match self {
            Self::Young => "young",
            Self::Aged => "aged",
        }
    }

    /// Share of the blocks that hold something.
    const fn share(self) -> f64 {
        match self {
            Self::Young => 0.05,
            Self::Aged => 0.5,
        }
    }
}

/// A file system that has lived, on a drive without a clock.
#[derive(Clone)]
struct Lived {
    volume: Volume<Direct<Drive>>,
    /// Files that age it: their names are their numbers.
    files: Vec<(u32, u32)>,
    used: u32,
    stream: Stream,
}

impl Lived {
    /// One that is filled and overwritten, and of which so much is left.
    fn new(age: Age) -> Self {
        let drive =
            build::bare_drive(&drive()).unwrap_or_else(|error| unreachable!("a claim's drive is built: {error}"));
        let now = Living::now(&drive);
        let port = Direct::hollow(Blocking::starting_at(drive, now), BLOCK as usize);
        let config = FormatConfig::new([0; 16], [0, 0]);
        let port =
            format(port, &config, NOW, (0, 0)).unwrap_or_else(|why| unreachable!("the drive is large enough: {why}"));
        let mount = MountConfig::new(1);
        let mut volume = Volume::mount(port, &mount).unwrap_or_else(|why| unreachable!("it was just made: {why}"));
        let used = made(&mut volume, "used", USED);
        let room = volume.space().free * BLOCK * 9 / 10;
        let files = (0..(room / FILE) as u32).map(|name| (name, made(&mut volume, &name.to_string(), FILE))).collect();
        let mut lived = Self { volume, files, used, stream: Streams::new(1).stream("shrink") };
        lived.overwrite(room / BLOCK / 4);
        let blocks = 4 * GIB / BLOCK;
        while lived.used_blocks() as f64 > age.share() * blocks as f64 && lived.files.len() > 1 {
            let place = lived.stream.below(lived.files.len() as u64) as usize;
            let (name, _) = lived.files.swap_remove(place);
            let removed = lived.volume.unlink(ROOT, name.to_string().as_bytes(), NOW);
            removed.unwrap_or_else(|why| unreachable!("it was made: {why}"));
        }
        lived.overwrite(lived.used_blocks() / 20);
        lived
    }

    fn used_blocks(&self) -> u64 {
        let space = self.volume.space();
        space.blocks - space.free
    }

    fn overwrite(&mut self, blocks: u64) {
        for _ in 0..blocks {
            let (_, ino) = self.files[self.stream.below(self.files.len() as u64) as usize];
            let at = self.stream.below(FILE / BLOCK) as u32;
            let wrote = self.volume.overwrite(ino, at..at + 1, NOW);
            wrote.unwrap_or_else(|why| unreachable!("a file keeps its size: {why}"));
        }
        let synced = self.volume.sync();
        synced.unwrap_or_else(|why| unreachable!("the drive works: {why}"));
    }

    /// The same in virtual time.
    fn stack(&self) -> Stack<Drive> {
        let clock = build::clock(&drive());
        let volume: PlannedVolume<Drive> = self.volume.clone().on(|mut port| {
            let started = port.device_mut().device_mut().start_clock(&clock);
            started.unwrap_or_else(|why| unreachable!("the clock was checked with the scenario: {why}"));
            Planned::after(port, REQUEST).unwrap_or_else(|why| unreachable!("all is written: {why:?}"))
        });
        let now = Living::now(volume.port().device());
        Stack::new(volume, Costs::default(), now)
    }
}

fn made<P: wane_fs::Port>(volume: &mut Volume<P>, name: &str, bytes: u64) -> u32 {
    let new = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };
    let made = volume.make(ROOT, name.as_bytes(), &new, NOW).unwrap_or_else(|why| unreachable!("there is room: {why}"));
    let wrote = volume.overwrite(made.ino, 0..(bytes / BLOCK) as u32, NOW);
    wrote.unwrap_or_else(|why| unreachable!("there is room: {why}"));
    made.ino
}

/// What one measurement found.
#[derive(Clone, Copy)]
struct Measured {
    way: Way,
    age: Age,
    seconds: f64,
    /// Bytes that moved or were remapped.
    moved: f64,
    /// Bytes that the flash programmed, those of the program that goes on included.
    programmed: f64,
    /// Calls of the program meanwhile, and before.
    used: Latencies,
    alone: Latencies,
    /// MB/s of reads of 16 KiB and of 4 MiB, before and after.
    before: [f64; 2],
    after: [f64; 2],
    /// Requests of a read of 4 MiB, before and after.
    requests: [f64; 2],
}

/// All measurements.
fn measured() -> &'static [Measured] {
    static ALL: OnceLock<Vec<Measured>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = Vec::new();
        for age in Age::ALL {
            let mut lived = Lived::new(age);
            for _ in 0..REPEATS {
                all.extend(Way::ALL.map(|way| shrunk(&lived, age, way)));
                lived.overwrite(GIB / BLOCK / 50);
            }
        }
        all
    })
}

fn shrunk(lived: &Lived, age: Age, way: Way) -> Measured {
    let (mut stack, stream) = (lived.stack(), lived.stream.clone());
    let user = || RandomWriter::new(lived.used, (USED / BLOCK) as u32, 16, Nanos(100_000), stream.clone());
    let (before, requests_before) = read(&mut stack, "before");
    let mut alone = user();
    alone.most = CALLS_ALONE;
    stack.run(&mut [&mut alone], Until::AllAreOver);
    let (mut shrinker, mut user) = (Shrinker::new(stack.volume().size() - GIB, way, STEP), user());
    let (counted, programmed) = (stack.volume().counted(), programmed_bytes(&stack));
    stack.run(&mut [&mut shrinker, &mut user], Until::FirstIsOver);
    assert!(shrinker.progress == Some(Progress::Done), "there is room: {:?} {:?}", shrinker.progress, shrinker.refused);
    let after = stack.volume().counted();
    let moved = (after.moved + after.remapped - counted.moved - counted.remapped) * BLOCK;
    let programmed = programmed_bytes(&stack) - programmed;
    let (after, requests_after) = read(&mut stack, "after");
    Measured {
        way,
        age,
        seconds: (shrinker.done_at.0 - shrinker.asked_at.0) as f64 / 1e9,
        moved: moved as f64,
        programmed,
        used: user.calls,
        alone: alone.calls,
        before,
        after,
        requests: [requests_before, requests_after],
    }
}

/// Bytes that the flash has programmed.
fn programmed_bytes(stack: &Stack<Drive>) -> f64 {
    let drive = stack.volume().port().device();
    drive.counters().programmed_total() as f64 * f64::from(drive.unit_bytes())
}

/// Writes a file and reads it: MB/s at 16 KiB and at 4 MiB, and requests of a read of 4 MiB.
fn read(stack: &mut Stack<Drive>, name: &str) -> ([f64; 2], f64) {
    let ino = made(stack.volume_mut(), name, READ);
    let synced = stack.volume_mut().sync();
    synced.unwrap_or_else(|why| unreachable!("the drive works: {why}"));
    // What was written takes its time before it is read.
    let mut first = SequentialReader::new(ino, 1, 1);
    stack.run(&mut [&mut first], Until::AllAreOver);
    // What the drive still programs would be read from its buffers.
    stack.pass(Nanos::SECOND);
    let mut requests = 0.0;
    let rates = [16 << 10, 4 << 20].map(|bytes: u64| {
        let mut reader = SequentialReader::new(ino, (READ / BLOCK) as u32, (bytes / BLOCK) as u32);
        let from = stack.now();
        stack.run(&mut [&mut reader], Until::AllAreOver);
        requests = reader.calls.requests as f64 / reader.calls.calls as f64;
        READ as f64 / 1e6 / ((stack.now().0 - from.0) as f64 / 1e9)
    });
    (rates, requests)
}

/// The mean of a figure over the measurements of a way and an age.
fn of(age: Age, way: Way, figure: impl Fn(&Measured) -> f64) -> f64 {
    let all = measured().iter().filter(|measured| measured.age == age && measured.way == way);
    average(all.map(figure))
}

fn cs2() -> Finding {
    let mut table = "| file system | way | seconds | moved or remapped, GiB | programmed, GiB | longest call of the program, ms | longest without a shrink, ms \
                     | mean call, us | mean without, us |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for age in Age::ALL {
        for way in Way::ALL {
            let gib = |figure: fn(&Measured) -> f64| of(age, way, figure) / GIB as f64;
            let _ = writeln!(
                table,
                "| {} | {} | {:.4} | {:.3} | {:.3} | {:.2} | {:.2} | {:.1} | {:.1} |",
                age.name(),
                way.name(),
                of(age, way, |measured| measured.seconds),
                gib(|measured| measured.moved),
                gib(|measured| measured.programmed),
                of(age, way, |measured| measured.used.longest.0 as f64 / 1e6),
                of(age, way, |measured| measured.alone.longest.0 as f64 / 1e6),
                of(age, way, |measured| measured.used.mean() / 1e3),
                of(age, way, |measured| measured.alone.mean() / 1e3),
            );
        }
    }
    let seconds = Way::ALL.map(|way| of(Age::Aged, way, |measured| measured.seconds));
    let [surrender, relocate, remap] = seconds;
    let ratio = relocate / remap;
    let agrees = surrender < remap && remap < relocate && (0.5..=1.5).contains(&(ratio / PAPER_RATIO));
    let ours = format!(
        "{surrender:.4} s by whole free sections, which is not the paper's way; {relocate:.3} s and {remap:.3} s; relocation {ratio:.1} times as \
             long as remap"
    );
    finding(ours, agrees, CS2_NOTE.to_owned(), table)
}

fn cs3() -> Finding {
    let mut table = "| file system | way | 16 KiB before, MB/s | after | change | 4 MiB before, MB/s | after | change | requests of 4 MiB before | after |\n\
                     |---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let change = |age: Age, way: Way, size: usize| {
        of(age, way, |measured| measured.after[size]) / of(age, way, |measured| measured.before[size]) - 1.0
    };
    for age in Age::ALL {
        for way in Way::ALL {
            let _ = write!(table, "| {} | {} |", age.name(), way.name());
            for size in [0, 1] {
                let (before, after) =
                    (of(age, way, |measured| measured.before[size]), of(age, way, |measured| measured.after[size]));
                let _ = write!(table, " {before:.1} | {after:.1} | {:+.1} % |", 100.0 * change(age, way, size));
            }
            let requests = [0, 1].map(|when| of(age, way, |measured| measured.requests[when]));
            let _ = writeln!(table, " {:.1} | {:.1} |", requests[0], requests[1]);
        }
    }
    let [small, large] = [0, 1].map(|size| change(Age::Aged, Way::Surrender, size));
    let agrees = small < -0.01 && large < small;
    let ours = format!(
        "{:+.1} % at 16 KiB, {:+.1} % at 4 MiB, after whole sections were given back, which is not the paper's way",
        100.0 * small,
        100.0 * large
    );
    finding(ours, agrees, CS3_NOTE.to_owned(), table)
}

const CS2_NOTE: &str = "remap before relocation as in the paper, and both faster. Relocation moves 0.55 GiB at the flash's rate here, and 119 MB/s there. Without contiguous \
                        addresses free sections of 2 MiB are given back: a young file system has them, and takes 2 ms; an aged one has too few, since most of \
                        its sections hold something, and first cleans a third of a GiB. The paper marks free blocks of any size as taken, which needs no \
                        cleaning and leaves fragments (CS3)";
const CS3_NOTE: &str = "nothing changes by any way: what is given back are whole sections of 2 MiB, so that a file lies in runs of 512 blocks as before, and a request has \
                        128 at most. The paper's loss needs smaller runs and commands that cost time, which this drive does not charge for";
