//! Writes what the members of some arrays hold to files, so that others can judge it: Linux md reads them in `make guest-test`.
//!
//!     cargo run -p wane-raid --example member_images -- FOLDER [SEED]
//!
//! FOLDER gets a folder for each array, with a file for each member and `flat`, which is what the host reads of the array. `FOLDER/arrays.json` says how
//! each array lies on its members. Same seed, same bytes.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wane_blockdev::{BlockDevice as _, Completion, Delay, Delays, Living, Ram, Request, SectorRange, drain};
use wane_raid::code::{Code, PQ, XOR};
use wane_raid::{DIRECT, EQUAL, Following, Journal, MD, Raid, RaidConfig, WritePath};
use wane_sim::{Stream, Streams};
use wane_units::{Fate, Lba, Nanos, Sectors};

const SECTOR: usize = 512;
/// Sectors of a member.
const MEMBER: u64 = 16_384;
/// Time in which an array does what it still owes, and rebuilds a member.
const REST: Nanos = Nanos(10_000_000_000);

/// What members hold before they make an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Zeros. Stripes that the array never wrote are then zeros on them, too.
    Zeros,
    /// Anything. It still lies where the array wrote nothing.
    Anything,
}

/// An array that is made.
struct Sample {
    name: &'static str,
    code: &'static dyn Code,
    width: usize,
    chunk: u64,
    path: &'static dyn WritePath,
    before: Before,
    /// Members that are lost while the host writes, and are replaced and rebuilt.
    lost: usize,
    /// Share of the array's stripes that the host writes, in percent, from its start.
    written: u64,
}

fn samples() -> [Sample; 5] {
    let xor = |name, width, chunk, path| Sample {
        name,
        code: &XOR,
        width,
        chunk,
        path,
        before: Before::Zeros,
        lost: 0,
        written: 80,
    };
    let pq = |name, width, chunk, path| Sample { code: &PQ, ..xor(name, width, chunk, path) };
    [
        Sample { before: Before::Anything, lost: 1, written: 100, ..xor("xor-md", 4, 128, &MD) },
        xor("xor-direct", 5, 16, &DIRECT),
        Sample { before: Before::Anything, lost: 2, written: 100, ..pq("pq-md", 6, 32, &MD) },
        Sample { lost: 2, ..pq("pq-direct", 5, 128, &DIRECT) },
        Sample { before: Before::Anything, written: 50, ..xor("xor-half", 4, 32, &MD) },
    ]
}

fn random(stream: &mut Stream, sectors: u64) -> Vec<u8> {
    (0..sectors as usize * SECTOR / 8).flat_map(|_| stream.bits().to_le_bytes()).collect()
}

/// Carries out requests that are submitted together, and returns how they ended.
fn ended(array: &mut dyn Living, requests: Vec<Request>) -> Result<Vec<Completion>, String> {
    let now = array.now();
    for request in requests {
        array.submit(now, request);
    }
    let mut out = Vec::new();
    drain(array, now, &mut out);
    match out.iter().find(|end| !end.status.is_done()) {
        Some(end) => Err(format!("a request to {} ended with {:?}", end.range, end.status)),
        None => Ok(out),
    }
}

/// A device in memory that answers later, the higher its number.
fn device(sample: &Sample, number: usize, stream: &mut Stream) -> Result<Box<dyn Living>, String> {
    let delays = Delays::all(Nanos(5_000 * (1 + number as u64)));
    let mut device: Box<dyn Living> = Box::new(Delay::new(Ram::new(Sectors(MEMBER)), delays));
    if sample.before == Before::Anything {
        let all = SectorRange::new(Lba(0), Sectors(MEMBER));
        ended(&mut *device, vec![Request::write(all, random(stream, MEMBER))])?;
    }
    Ok(device)
}

/// An array, and what it should hold.
struct Made {
    array: Raid,
    flat: Vec<u8>,
    /// Which stripes hold something.
    holds: Vec<bool>,
    /// Sectors of a stripe's data.
    stripe: u64,
    /// Sectors that the host writes, from the array's start.
    used: u64,
}

impl Made {
    fn new(sample: &Sample, stream: &mut Stream) -> Result<Self, Box<dyn Error>> {
        let devices =
            (0..sample.width).map(|number| device(sample, number, stream)).collect::<Result<Vec<_>, String>>()?;
        let config = RaidConfig {
            code: sample.code,
            width: sample.width,
            chunk: Sectors(sample.chunk),
            slot: Sectors(sample.chunk * sample.width as u64 * 2),
            placement: &EQUAL,
            parity_shares: Vec::new(),
            path: sample.path,
            journal: Journal::Full,
            ring: Sectors(0),
            read_around: None,
            write_mostly: Vec::new(),
            following: Following::Never,
            rebuild_rate: 1_000_000_000,
            scrub_every: None,
            uuid: stream.bits(),
        };
        let array = Raid::new(config, devices)?;
        let stripe = sample.chunk * (sample.width - sample.code.tolerates()) as u64;
        let stripes = array.capacity().0 / stripe;
        let used = stripes * sample.written / 100 * stripe;
        let flat = vec![0; array.capacity().0 as usize * SECTOR];
        Ok(Self { array, flat, holds: vec![false; stripes as usize], stripe, used })
    }

    fn note(&mut self, range: SectorRange, bytes: &[u8], holds: bool) {
        let start = range.start.0 as usize * SECTOR;
        self.flat[start..start + bytes.len()].copy_from_slice(bytes);
        let stripes = range.start.0 / self.stripe..(range.start.0 + range.count.0).div_ceil(self.stripe);
        self.holds[stripes.start as usize..stripes.end as usize].fill(holds);
    }

    fn write(&mut self, start: u64, count: u64, stream: &mut Stream) -> Request {
        let (range, bytes) = (SectorRange::new(Lba(start), Sectors(count)), random(stream, count));
        self.note(range, &bytes, true);
        Request::write(range, bytes)
    }

    /// A full stripe, a part of one, or several; written, or trimmed as a whole.
    fn request(&mut self, stream: &mut Stream) -> Request {
        let stripes = self.used / self.stripe;
        let (first, some) = (stream.below(stripes), 1 + stream.below(3));
        let some = some.min(stripes - first);
        match stream.below(8) {
            0 | 1 => self.write(first * self.stripe, some * self.stripe, stream),
            2 => {
                let range = SectorRange::new(Lba(first * self.stripe), Sectors(some * self.stripe));
                self.note(range, &vec![0; range.len_bytes()], false);
                Request::trim(range)
            }
            _ => {
                let start = stream.below(self.used);
                let most = if stream.below(3) == 0 { 3 * self.stripe } else { 24 };
                let count = 1 + stream.below(most.min(self.used - start));
                self.write(start, count, stream)
            }
        }
    }

    /// Random changes, of which some are under way together.
    fn work(&mut self, rounds: u64, stream: &mut Stream) -> Result<(), String> {
        for _ in 0..rounds {
            let mut requests: Vec<Request> = (0..1 + stream.below(6)).map(|_| self.request(stream)).collect();
            if stream.below(8) == 0 {
                requests.push(Request::flush());
            }
            ended(&mut self.array, requests)?;
        }
        Ok(())
    }

    /// Writes a sector of each used stripe that holds nothing: its parity is then that of what is there.
    fn touch_the_rest(&mut self, stream: &mut Stream) -> Result<(), String> {
        for stripe in 0..self.used / self.stripe {
            if !self.holds[stripe as usize] {
                let start = stripe * self.stripe + stream.below(self.stripe);
                let request = self.write(start, 1, stream);
                ended(&mut self.array, vec![request])?;
            }
        }
        Ok(())
    }

    fn rest(&mut self) -> Result<(), String> {
        ended(&mut self.array, vec![Request::flush()])?;
        let until = self.array.now().saturating_add(REST);
        self.array.complete(until, &mut Vec::new());
        match self.array.sectors_to_rebuild() {
            Sectors(0) => Ok(()),
            left => Err(format!("{} sectors are to be rebuilt after ten seconds", left.0)),
        }
    }

    /// Lets an array live: writes, with members that are lost and rebuilt meanwhile.
    fn live(&mut self, sample: &Sample, stream: &mut Stream) -> Result<(), Box<dyn Error>> {
        self.work(150, stream)?;
        for member in 0..sample.lost {
            let now = self.array.now();
            self.array.take_out(now, member * 2, &mut || Fate::Undone);
        }
        self.work(50, stream)?;
        for member in 0..sample.lost {
            let new = device(sample, member, stream)?;
            let now = self.array.now();
            drop(self.array.replace(now, member * 2, new)?);
        }
        self.work(50, stream)?;
        self.rest()?;
        if sample.before == Before::Anything {
            self.touch_the_rest(stream)?;
        }
        self.work(if sample.before == Before::Zeros { 50 } else { 0 }, stream)?;
        self.rest()?;
        let all = SectorRange::new(Lba(0), self.array.capacity());
        let read = ended(&mut self.array, vec![Request::read(all)])?.pop().and_then(|end| end.bytes);
        if read.as_ref() != Some(&self.flat) {
            return Err("the array does not read as it was written".into());
        }
        Ok(())
    }

    /// Writes the files of an array, and returns its line in `arrays.json`.
    fn save(&self, sample: &Sample, folder: &Path) -> Result<String, Box<dyn Error>> {
        let folder = folder.join(sample.name);
        fs::create_dir(&folder)?;
        fs::write(folder.join("flat"), &self.flat)?;
        let mut images = Vec::new();
        self.array.members(&mut |device| {
            let all = SectorRange::new(Lba(0), device.capacity());
            let mut bytes = vec![0; all.len_bytes()];
            images.push(device.peek(all, &mut bytes).filter(Vec::is_empty).map(|_| bytes));
        });
        for (number, image) in images.into_iter().enumerate() {
            let bytes = image.ok_or("a member in memory does not show what it holds")?;
            fs::write(folder.join(format!("member-{number}")), bytes)?;
        }
        let (name, members, chunk) = (sample.name, sample.width, sample.chunk);
        let level = if sample.code.tolerates() == 1 { 5 } else { 6 };
        let offset = self.array.data_offset().0;
        let size = u64::from(self.array.slots().min().unwrap_or(0)) * self.array.slot_sectors().0;
        // Of what the array never wrote it says that it is zeros. Members that held something else say what that was.
        let held = if sample.before == Before::Zeros { self.array.capacity().0 } else { self.used };
        Ok(format!(
            "  {{\"name\": \"{name}\", \"level\": {level}, \"layout\": \"left-symmetric\", \"members\": {members}, \"chunk\": {chunk}, \
             \"data_offset\": {offset}, \"size\": {size}, \"capacity\": {}, \"held\": {held}}}",
            self.array.capacity().0
        ))
    }
}

/// What the arguments ask for.
fn arguments(words: &[String]) -> Result<(PathBuf, u64), String> {
    let (folder, seed) = match words {
        [folder] => (folder, 1),
        [folder, seed] => {
            let number = seed.parse();
            (
                folder,
                number.map_err(|_| format!("SEED is {seed}, and a whole number from 0 to {} is allowed", u64::MAX))?,
            )
        }
        _ => return Err(format!("{} arguments; FOLDER, or FOLDER and SEED, are allowed", words.len())),
    };
    let path = PathBuf::from(folder);
    if !path.exists() {
        return Ok((path, seed));
    }
    let entries = fs::read_dir(&path).map_err(|error| format!("FOLDER {folder} cannot be read: {error}"))?;
    match entries.count() {
        0 => Ok((path, seed)),
        count => Err(format!("FOLDER {folder} holds {count} files; a new or an empty folder is allowed")),
    }
}

fn make(folder: &Path, seed: u64) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut lines = Vec::new();
    for sample in samples() {
        let mut stream = Streams::new(seed).stream(sample.name);
        let mut made = Made::new(&sample, &mut stream)?;
        made.live(&sample, &mut stream).map_err(|error| format!("{}: {error}", sample.name))?;
        lines.push(made.save(&sample, folder)?);
    }
    // It comes last: where it is, all of the others are there.
    fs::write(folder.join("arrays.json"), format!("[\n{}\n]\n", lines.join(",\n")))?;
    println!("{} arrays in {}", lines.len(), folder.display());
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (folder, seed) = match arguments(&words) {
        Ok(found) => found,
        Err(what) => {
            eprintln!("member_images: {what}");
            return ExitCode::from(2);
        }
    };
    match make(&folder, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("member_images: {error}");
            ExitCode::FAILURE
        }
    }
}
