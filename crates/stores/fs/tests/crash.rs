//! The power fails at any moment, and fails again while the file system recovers.
//!
//! What is there afterwards must be a state that the calls made: that of the last checkpoint with each file as its last fsync left it, or, if a
//! checkpoint was being made, the state then.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use bed::cuts::{Cuts, Cutting, Image};
use bed::durable::Promises;
use bed::{Bed, Step, Taste, Tree, compare, step};
use wane_fs::{Barrier, DataChecksums, FormatConfig, Moment, MountConfig, Volume, format};
use wane_sim::Streams;

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };

/// The same, with checksums of data.
const CHECKED: FormatConfig = FormatConfig { data_checksums: DataChecksums::Crc32c, ..SMALL };
const TASTE: Taste = Taste { write_max: 9_000, size_max: 60_000, names: 24 };

/// What was explored.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    cuts: u64,
    twice: u64,
    recovered: u64,
    cleaned: u64,
    remapped: u64,
}

/// Mounts what a cut left, and compares it with the states that it may be. Returns whether fsyncs were recovered.
fn look(
    image: &Image,
    wanted: &[Tree],
    packs: &std::ops::Range<u32>,
    streams: &Streams,
    tally: &mut Tally,
) -> Result<(), String> {
    let mut port = Cuts::new(image.clone(), packs.clone(), streams.stream("recovery"));
    port.cutting = Some(Cutting { each_of: 3, some: 2, every: 1, shrinks: false, without: None });
    let mut volume = Volume::mount(port, &MountConfig::new(77)).map_err(|error| error.to_string())?;
    tally.recovered += volume.counted().recovered;
    let findings = volume.check().map_err(|error| error.to_string())?;
    if let Some(first) = findings.first() {
        return Err(first.to_string());
    }
    let mut why = Vec::new();
    let fits = wanted.iter().any(|tree| compare(&mut volume, tree).map_err(|told| why.push(told)).is_ok());
    if !fits {
        return Err(why.join("; or "));
    }
    // A second cut, in the midst of the recovery.
    let left = std::mem::take(&mut volume.port_mut().left);
    let chosen = streams.stream("second").below(left.len().max(1) as u64) as usize;
    if let Some(image) = left.get(chosen) {
        tally.twice += 1;
        let port = Cuts::new(image.clone(), packs.clone(), streams.stream("again"));
        let mut volume = Volume::mount(port, &MountConfig::new(78)).map_err(|error| format!("twice: {error}"))?;
        let findings = volume.check().map_err(|error| format!("twice: {error}"))?;
        if let Some(first) = findings.first() {
            return Err(format!("twice: {first}"));
        }
        if !wanted.iter().any(|tree| compare(&mut volume, tree).is_ok()) {
            return Err("twice: another state".to_owned());
        }
    }
    tally.cuts += 1;
    Ok(())
}

/// Data lie at the end, and there is room before them.
fn fill_the_tail(bed: &mut Bed<Cuts>) {
    for (name, id, bytes) in [(b"one", 1, 1_600_000), (b"two", 2, 700_000)] {
        bed.call(&Step::Make(0, name.to_vec(), wane_fs::FileKind::File));
        bed.call(&Step::Write(id, 0, vec![id as u8; bytes]));
    }
    bed.call(&Step::Unlink(0, b"one".to_vec()));
    bed.call(&Step::Sync);
}

/// A call that is about space.
fn about_space(stream: &mut wane_sim::Stream) -> Step {
    match stream.below(3) {
        0 => Step::Target(stream.below(60), bed::pick(&wane_fs::Way::ALL, stream)),
        _ => Step::Evacuate(1 + stream.below(30)),
    }
}

/// Explores a run. Returns what does not hold, with the seed and the step.
fn explore(
    seed: u64,
    config: &FormatConfig,
    (blocks, taste): (usize, Taste),
    steps: u64,
    cutting: Cutting,
) -> Result<Tally, String> {
    let streams = Streams::new(seed);
    let mut stream = streams.stream("fs.crash");
    let mut tally = Tally::default();
    let fresh = Cuts::new(Image::new(4096, blocks), 0..0, streams.stream("cuts"));
    let port = format(fresh, config, Moment::default(), (0, 0)).unwrap();
    // The packs lie behind two segments.
    let packs = 32..32 + 2 * 16;
    let mut port = Cuts::new(port.durable().clone(), packs.clone(), streams.stream("cuts"));
    port.guards = cutting.without.is_none();
    let mut bed = Bed::new(Volume::mount(port, &MountConfig::new(1)).unwrap());
    if cutting.shrinks {
        fill_the_tail(&mut bed);
    }
    bed.volume.port_mut().cutting = Some(cutting);
    let mut promises = Promises::new(bed.tree.clone());
    let mut told: Vec<String> = Vec::new();
    for number in 0..steps {
        let mut next = step(&bed.tree, taste, &mut stream);
        if stream.below(4) == 0 {
            let all: Vec<usize> = bed.tree.files.keys().copied().collect();
            next = Step::Fsync(bed::pick(&all, &mut stream));
        }
        if cutting.shrinks && stream.below(4) == 0 {
            next = about_space(&mut stream);
        }
        told.push(format!("{number} {}", format!("{next:?}").chars().take(100).collect::<String>()));
        let last = || told.iter().rev().take(10).rev().cloned().collect::<Vec<_>>().join("\n");
        let (before, checkpoints) = (bed.tree.clone(), bed.volume.counted().checkpoints);
        bed.call(&next);
        let has_checkpoint = bed.volume.counted().checkpoints > checkpoints;
        let left = std::mem::take(&mut bed.volume.port_mut().left);
        let wanted = promises.after(&next, &before, &bed.tree, has_checkpoint);
        if stream.below(cutting.every) > 0 {
            continue;
        }
        for (which, image) in left.iter().enumerate() {
            let looked = look(image, &wanted, &packs, &streams, &mut tally);
            looked.map_err(|why| format!("{seed}/{number}/{which}: {why}\n{}", last()))?;
        }
        // What is durable now is no less than what was promised.
        let now = bed.volume.port().durable().clone();
        let mut promised = promises.trees();
        if has_checkpoint {
            promised.push(bed.tree.clone());
        }
        look(&now, &promised, &packs, &streams, &mut tally)
            .map_err(|why| format!("{seed}/{number}/after: {why}\n{}", last()))?;
    }
    tally.cleaned = bed.volume.counted().cleaned;
    tally.remapped = bed.volume.counted().remapped;
    Ok(tally)
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.twice += other.twice;
        self.recovered += other.recovered;
        self.cleaned += other.cleaned;
        self.remapped += other.remapped;
    }
}

/// Number of seeds: `few`, or as many as `WANE_FS_SEEDS` says.
fn seeds(few: u64) -> u64 {
    std::env::var("WANE_FS_SEEDS").ok().and_then(|given| given.parse().ok()).unwrap_or(few)
}

/// Without checksums of data and with them.
const BOTH: [&FormatConfig; 2] = [&SMALL, &CHECKED];

const ALL: Cutting = Cutting { each_of: 6, some: 12, every: 1, shrinks: false, without: None };

#[test]
fn what_was_synced_is_there_after_any_cut() {
    let mut all = Tally::default();
    for (seed, config) in (0..seeds(8)).flat_map(|seed| BOTH.map(|config| (seed, config))) {
        all += explore(seed, config, (2048, TASTE), 150, ALL).unwrap_or_else(|why| panic!("{why}"));
    }
    assert!(all.cuts > 4_000 && all.twice > 1_000 && all.recovered > 1_000, "{all:?}");
}

/// A device that is full all the time: sections are cleaned, and taken again.
#[test]
fn what_was_synced_is_there_where_sections_are_cleaned() {
    let mut all = Tally::default();
    let taste = Taste { write_max: 60_000, size_max: 600_000, names: 200 };
    for (seed, config) in (0..seeds(2)).flat_map(|seed| BOTH.map(|config| (seed, config))) {
        let few = Cutting { each_of: 2, some: 2, every: 6, shrinks: false, without: None };
        all += explore(seed, config, (700, taste), 400, few).unwrap_or_else(|why| panic!("{why}"));
    }
    assert!(all.cleaned > 5 && all.cuts > 400, "{all:?}");
}

/// Space is given back meanwhile. Nothing is written beyond what the device was told, and no more holds something.
#[test]
fn what_was_synced_is_there_while_the_device_shrinks() {
    let mut all = Tally::default();
    let taste = Taste { write_max: 60_000, size_max: 500_000, names: 150 };
    for (seed, config) in (100..100 + seeds(3)).flat_map(|seed| BOTH.map(|config| (seed, config))) {
        let shrinking = Cutting { shrinks: true, every: 2, ..ALL };
        all += explore(seed, config, (1500, taste), 150, shrinking).unwrap_or_else(|why| panic!("{why}"));
    }
    assert!(all.cleaned > 15 && all.cuts > 1_000 && all.remapped > 50, "{all:?}");
}

/// Each flush has its use: a file system that leaves one out is found out.
#[test]
fn each_flush_is_missed() {
    let all = [Barrier::Data, Barrier::Nodes, Barrier::Pack, Barrier::Footer].map(|barrier| (barrier, &SMALL));
    // With checksums there is none between data and nodes.
    let checked = [Barrier::Nodes, Barrier::Pack, Barrier::Footer].map(|barrier| (barrier, &CHECKED));
    for (barrier, config) in all.into_iter().chain(checked) {
        let cutting = Cutting { without: Some(barrier), ..ALL };
        let found = (0..10).any(|seed| {
            std::panic::catch_unwind(|| explore(seed, config, (2048, TASTE), 150, cutting))
                .map_or(true, |ended| ended.is_err())
        });
        assert!(found, "{barrier:?} may be left out with {:?}", config.data_checksums);
    }
}
