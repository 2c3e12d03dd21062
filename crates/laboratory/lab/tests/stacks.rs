//! A file system on an array of drives with volatile caches: the power fails at any moment, and a drive with it.
//!
//! What was synchronized is there, and each block holds what was written to it last before that, or later.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use wane_blockdev::{BlockDevice, Blocking, Completion, Delay, Delays, Living, Request, RequestId, pass_on};
use wane_fs::{Direct, FileKind, FormatConfig, Moment, MountConfig, NewFile, ROOT, Volume, format};
use wane_raid::code::{Code, PQ, XOR};
use wane_raid::{DIRECT, Following, Journal, Mirror, MirrorConfig, Raid, RaidConfig, UNEQUAL, as_redundant};
use wane_sim::{Stream, Streams};
use wane_testkit::Volatile;
use wane_units::{Fate, Nanos, Sectors, SimTime};

const BLOCK: usize = 4096;
const FILES: usize = 6;
/// Blocks of a file.
const BLOCKS: usize = 12;
const STEPS: u32 = 100;
/// The power fails at one of N requests of the file system.
const EACH_OF: u64 = 3;
const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };

/// An array of which copies are taken while it serves a file system.
struct Moments {
    device: Box<dyn Living>,
    stream: Stream,
    /// Copies, and the instants at which their power fails.
    left: Vec<(Box<dyn Living>, SimTime)>,
    is_taking: bool,
}

impl Moments {
    fn new(device: Box<dyn Living>, stream: Stream) -> Self {
        Self { device, stream, left: Vec::new(), is_taking: false }
    }
}

impl BlockDevice for Moments {
    pass_on!(device: features capacity next_event_at complete set_capacity mapped_limit set_mapped_limit notices extents);

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        let id = self.device.submit(at, request);
        if self.is_taking && self.stream.below(EACH_OF) == 0 {
            let cut = SimTime(at.0.max(self.device.now().0) + self.stream.below(60_000));
            self.left.push((self.device.another(), cut));
        }
        id
    }
}

/// An array of four or five drives.
fn array(code: Option<&'static dyn Code>, journal: Journal) -> Box<dyn Living> {
    let member = |number: u64| -> Box<dyn Living> {
        let slow = Delay::new(Volatile::memory(Sectors(6144)).into_inner(), Delays::all(Nanos(3_000 * (number + 1))));
        Box::new(Volatile::new(slow))
    };
    let Some(code) = code else {
        return Box::new(Mirror::new(MirrorConfig::default(), vec![member(0), member(1)]).unwrap());
    };
    let width = if code.tolerates() == 1 { 5 } else { 4 };
    let config = RaidConfig {
        code,
        width,
        chunk: Sectors(16),
        slot: Sectors(160),
        placement: &UNEQUAL,
        parity_shares: Vec::new(),
        path: &DIRECT,
        journal,
        ring: Sectors(512),
        write_mostly: Vec::new(),
        read_around: None,
        following: Following::Never,
        rebuild_rate: 100_000_000,
        scrub_every: None,
        uuid: 1,
    };
    Box::new(Raid::new(config, (0..width as u64).map(member).collect()).unwrap())
}

/// By file and block: the number of the write of which it is.
type Versions = [[u32; BLOCKS]; FILES];

fn mounted<D: BlockDevice>(device: D, now: SimTime) -> Result<Volume<Direct<D>>, String> {
    let port = Direct::new(Blocking::starting_at(device, now), BLOCK);
    Volume::mount(port, &MountConfig::new(9)).map_err(|why| why.to_string())
}

/// Lets the power of a copy fail, perhaps with one of its drives for good, and looks at what is there then.
fn look(
    mut device: Box<dyn Living>,
    cut: SimTime,
    loses: bool,
    (synced, written): (&Versions, &Versions),
    stream: &mut Stream,
) -> Result<(), String> {
    let mut ended: Vec<Completion> = Vec::new();
    device.complete(cut, &mut ended);
    let mut fate = || if stream.below(2) == 0 { Fate::Done } else { Fate::Undone };
    device.power_off(cut, &mut fate);
    if loses {
        let mut members = 0;
        device.members(&mut |_| members += 1);
        let member = stream.below(members) as usize;
        as_redundant(device.as_mut()).unwrap().take_out(cut, member, &mut || Fate::Undone);
    }
    device.power_on(cut).map_err(|why| format!("no power: {why}"))?;
    let now = device.now();
    let mut volume = mounted(device, now)?;
    if let Some(found) = volume.check().map_err(|why| why.to_string())?.first() {
        return Err(found.to_string());
    }
    for file in 0..FILES {
        let ino = volume.lookup(ROOT, format!("{file}").as_bytes()).map_err(|why| format!("file {file}: {why}"))?;
        let bytes = volume.read(ino, 0, BLOCKS * BLOCK).map_err(|why| format!("file {file}: {why}"))?;
        for (block, bytes) in bytes.chunks(BLOCK).enumerate() {
            let version = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let (least, most) = (synced[file][block], written[file][block]);
            let is_whole = bytes.chunks(4).all(|word| word == version.to_le_bytes());
            if !is_whole || version < least || version > most {
                return Err(format!(
                    "file {file}, block {block}: {version}, and {least} to {most} are right; {is_whole}"
                ));
            }
        }
    }
    Ok(())
}

/// Explores a run. Returns how often the power failed.
fn explore(seed: u64, code: Option<&'static dyn Code>, journal: Journal) -> Result<u64, String> {
    let streams = Streams::new(seed);
    let (mut stream, mut fates) = (streams.stream("stacks.steps"), streams.stream("stacks.fates"));
    let device = Moments::new(array(code, journal), streams.stream("stacks.moments"));
    let port = Direct::new(Blocking::starting_at(device, SimTime::ZERO), BLOCK);
    let port = format(port, &SMALL, Moment::default(), (0, 0)).unwrap();
    let mut volume = Volume::mount(port, &MountConfig::new(1)).unwrap();
    let new = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };
    let make = |file| volume.make(ROOT, format!("{file}").as_bytes(), &new, Moment::default()).unwrap().ino;
    let files: Vec<u32> = (0..FILES).map(make).collect();
    let (mut written, mut cuts): (Versions, u64) = ([[0; BLOCKS]; FILES], 0);
    for ino in &files {
        volume.write_whole(*ino, 0, &vec![0; BLOCKS * BLOCK], Moment::default()).unwrap();
    }
    volume.sync().unwrap();
    let mut synced = written;
    volume.port_mut().device_mut().device_mut().is_taking = true;
    for step in 1..=STEPS {
        let (file, before) = (stream.below(FILES as u64) as usize, synced);
        let told = match stream.below(8) {
            0 => {
                volume.sync().unwrap();
                synced = written;
                "sync".to_owned()
            }
            1 | 2 => {
                volume.fsync(files[file]).unwrap();
                synced[file] = written[file];
                format!("fsync {file}")
            }
            _ => {
                let from = stream.below(BLOCKS as u64) as usize;
                let count = 1 + stream.below((BLOCKS - from) as u64) as usize;
                let bytes: Vec<u8> = step.to_le_bytes().repeat(count * BLOCK / 4);
                volume.write_whole(files[file], (from * BLOCK) as u64, &bytes, Moment::default()).unwrap();
                written[file][from..from + count].fill(step);
                format!("write {file}, {count} blocks from {from}")
            }
        };
        for (number, (device, cut)) in
            std::mem::take(&mut volume.port_mut().device_mut().device_mut().left).into_iter().enumerate()
        {
            let loses = journal != Journal::None && fates.below(3) == 0;
            look(device, cut, loses, (&before, &written), &mut fates)
                .map_err(|why| format!("{seed}/{step}/{number}, {told}, a drive is lost: {loses}: {why}"))?;
            cuts += 1;
        }
    }
    Ok(cuts)
}

#[test]
fn what_was_synchronized_survives_a_cut_and_the_loss_of_a_drive() {
    let mut cuts = 0;
    for seed in 0..3 {
        let stacks: [(Option<&'static dyn Code>, Journal); 5] = [
            (Some(&XOR), Journal::Full),
            (Some(&XOR), Journal::Ppl),
            (Some(&XOR), Journal::None),
            (Some(&PQ), Journal::Full),
            (None, Journal::None),
        ];
        for (code, journal) in stacks {
            cuts += explore(seed, code, journal).unwrap_or_else(|why| panic!("{journal:?}: {why}"));
        }
    }
    assert!(cuts > 600, "{cuts} cuts");
}
