//! Crash workloads in the manner of ACE (CrashMonkey; Mohan et al., OSDI '18): all short sequences of calls on a few files, each call followed by a
//! point at which something is made durable, then a cut of the power. What was made durable must be there, and nothing that nobody made.
//!
//! `cargo test` takes all workloads of one call and a sample of those of two; `WANE_FS_ACE=all` takes all. A failure tells what repeats it, such as
//! `WANE_FS_ACE=12.3+40.0`: call 12 with point 3, then call 40 with point 0.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use std::fmt;

use bed::cuts::{Cuts, Cutting, Image};
use bed::durable::Durable;
use bed::{Bed, Step, Tree, compare};
use wane_fs::{
    Allocate, DataChecksums, FileKind, FormatConfig, Ino, Moment, MountConfig, ROOT, Rename, SetAttribute, Volume,
    format,
};
use wane_sim::{Stream, Streams};

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };
/// Blocks of an image of 4 MiB.
const BLOCKS: usize = 1024;
/// Workloads of two calls that `cargo test` takes.
const SAMPLE: u64 = 5_000;
/// Where packs of checkpoints lie: two segments behind two.
const PACKS: std::ops::Range<u32> = 32..64;

/// A path from the root, which is "".
type Path = &'static str;

const FILES: [Path; 3] = ["A/foo", "A/bar", "B/foo"];
const DIRS: [Path; 2] = ["A", "B"];

/// A call.
#[derive(Clone, Copy, Debug)]
enum Op {
    Create(Path),
    MakeDir(Path),
    /// Bytes at an offset; `u64::MAX` is the end.
    Write(Path, u64, usize),
    Truncate(Path, u64),
    Allocate(Path, u64, u64, Allocate),
    Link(Path, Path),
    Symlink(Path),
    Unlink(Path),
    RemoveDir(Path),
    Rename(Path, Path, Rename),
    SetAttribute(Path),
    RemoveAttribute(Path),
}

/// What makes something durable: an fsync of a file or directory, or a sync of all.
#[derive(Clone, Copy, Debug)]
enum Point {
    Fsync(Path),
    Sync,
}

const POINTS: [Point; 7] = [
    Point::Sync,
    Point::Fsync("A/foo"),
    Point::Fsync("A/bar"),
    Point::Fsync("B/foo"),
    Point::Fsync("A"),
    Point::Fsync("B"),
    Point::Fsync(""),
];

/// All calls.
fn ops() -> Vec<Op> {
    let mut all: Vec<Op> = vec![Op::Create("A/bar"), Op::Create("B/foo"), Op::MakeDir("A/C"), Op::MakeDir("B/C")];
    for file in FILES {
        all.extend([(u64::MAX, 300), (u64::MAX, 9000), (0, 4096), (2000, 5000)].map(|(at, n)| Op::Write(file, at, n)));
        all.extend([0, 3000, 20_000].map(|size| Op::Truncate(file, size)));
        all.push(Op::Allocate(file, 1000, 8000, Allocate::PunchHole));
        all.push(Op::Allocate(file, 1000, 8000, Allocate::Zero));
        all.push(Op::Allocate(file, 6000, 30_000, Allocate::ZeroKeepSize));
        all.push(Op::Allocate(file, 6000, 30_000, Allocate::Grow));
        all.push(Op::Allocate(file, 6000, 30_000, Allocate::KeepSize));
        all.push(Op::Unlink(file));
        all.extend([Op::SetAttribute(file), Op::RemoveAttribute(file)]);
    }
    all.extend([("A/foo", "A/bar"), ("A/foo", "B/foo"), ("A/bar", "B/foo")].map(|(file, new)| Op::Link(file, new)));
    all.extend([Op::Symlink("A/bar"), Op::Symlink("B/foo")]);
    all.extend(["A/C", "A", "B"].map(Op::RemoveDir));
    all.extend(DIRS.map(Op::SetAttribute));
    all.extend(DIRS.map(Op::RemoveAttribute));
    let pairs = [("A/foo", "A/bar"), ("A/foo", "B/foo"), ("A/bar", "A/foo"), ("B/foo", "A/foo"), ("B/foo", "A/bar")];
    all.extend(pairs.map(|(from, to)| Op::Rename(from, to, Rename::Replace)));
    all.extend(
        [("A", "C"), ("B", "A/C"), ("A/C", "B/C"), ("A/C", "B")].map(|(a, b)| Op::Rename(a, b, Rename::Replace)),
    );
    all.extend([("A/foo", "B/foo"), ("A", "B")].map(|(from, to)| Op::Rename(from, to, Rename::Exchange)));
    all
}

/// Calls and points by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Workload(Vec<(usize, usize)>);

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(|(op, point)| format!("{op}.{point}")).collect();
        write!(f, "WANE_FS_ACE={}", all.join("+"))?;
        let ops = ops();
        self.0.iter().try_for_each(|(op, point)| write!(f, "\n  {:?}, {:?}", ops[*op], POINTS[*point]))
    }
}

impl std::str::FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<usize>().map_err(|error| format!("{text}: {error}"));
        let pair = |text: &str| {
            let (op, point) = text.split_once('.').ok_or(format!("{text}: CALL.POINT is allowed"))?;
            Ok((number(op)?, number(point)?))
        };
        text.split('+').map(pair).collect::<Result<_, String>>().map(Self)
    }
}

fn parts(path: Path) -> (Path, Vec<u8>) {
    path.rsplit_once('/').map_or(("", path.as_bytes().to_vec()), |(dir, name)| (dir, name.as_bytes().to_vec()))
}

/// The file of a path.
fn find(tree: &Tree, path: Path) -> Option<usize> {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.into_iter().try_fold(0, |at, name| tree.files[&at].entries.get(name.as_bytes()).copied())
}

/// A volume under a workload.
struct Run {
    bed: Bed<Cuts>,
    writes: u8,
}

impl Run {
    /// What a call needs is made before, as ACE does.
    fn need(&mut self, path: Path, kind: FileKind) -> usize {
        if let Some(id) = find(&self.bed.tree, path) {
            return id;
        }
        let (dir, name) = parts(path);
        let dir = self.need(dir, FileKind::Directory);
        self.bed.call(&Step::Make(dir, name, kind));
        find(&self.bed.tree, path).unwrap()
    }

    /// Bytes that no other write has.
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        self.writes += 1;
        (0..count).map(|at| (at / 512) as u8 ^ self.writes << 5 | 1).collect()
    }

    /// Makes a call. Returns false if it is none here: what it is to be made on is of another kind.
    fn call(&mut self, op: Op) -> bool {
        const FILE: FileKind = FileKind::File;
        let above = |run: &mut Self, path| {
            let (dir, name) = parts(path);
            (run.need(dir, FileKind::Directory), name)
        };
        let is_dir = |path: Path| !path.contains("foo") && !path.contains("bar");
        let step = match op {
            Op::Create(path) => above(self, path).pipe(|(dir, name)| Step::Make(dir, name, FILE)),
            Op::MakeDir(path) => above(self, path).pipe(|(dir, name)| Step::Make(dir, name, FileKind::Directory)),
            Op::Symlink(path) => above(self, path).pipe(|(dir, name)| Step::Symlink(dir, name, b"../A/foo".to_vec())),
            Op::Write(path, at, count) => {
                let (id, bytes) = (self.need(path, FILE), self.bytes(count));
                let end = self.bed.tree.files[&id].data.len() as u64;
                Step::Write(id, at.min(end), bytes)
            }
            Op::Truncate(path, size) => Step::Truncate(self.need(path, FILE), size),
            Op::Allocate(path, at, count, how) => Step::Allocate(self.need(path, FILE), at, count, how),
            Op::Link(path, new) => {
                let id = self.need(path, FILE);
                above(self, new).pipe(|(dir, name)| Step::Link(id, dir, name))
            }
            Op::Unlink(path) => {
                self.need(path, FILE);
                above(self, path).pipe(|(dir, name)| Step::Unlink(dir, name))
            }
            Op::RemoveDir(path) => {
                self.need(path, FileKind::Directory);
                above(self, path).pipe(|(dir, name)| Step::RemoveDir(dir, name))
            }
            Op::Rename(from, to, how) => {
                let kind = if is_dir(from) { FileKind::Directory } else { FILE };
                self.need(from, kind);
                if how == Rename::Exchange {
                    self.need(to, kind);
                }
                let ((dir, name), (to, new)) = (above(self, from), above(self, to));
                Step::Rename(dir, name, to, new, how)
            }
            Op::SetAttribute(path) => {
                let id = self.need(path, if is_dir(path) { FileKind::Directory } else { FILE });
                let value = self.bytes(40);
                Step::SetAttribute(id, b"user.ace".to_vec(), value, SetAttribute::Any)
            }
            Op::RemoveAttribute(path) => {
                let id = self.need(path, if is_dir(path) { FileKind::Directory } else { FILE });
                self.bed.call(&Step::SetAttribute(id, b"user.ace".to_vec(), vec![1; 40], SetAttribute::Any));
                Step::RemoveAttribute(id, b"user.ace".to_vec())
            }
        };
        let is_of_data = |id: &usize| self.bed.tree.files[id].kind == Some(FILE);
        let fits = match &step {
            Step::Write(id, ..) | Step::Truncate(id, _) | Step::Allocate(id, ..) => is_of_data(id),
            Step::SetAttribute(id, ..) | Step::RemoveAttribute(id, _) => {
                self.bed.tree.files[id].kind != Some(FileKind::Symlink)
            }
            _ => true,
        };
        if fits {
            self.bed.call(&step);
        }
        fits
    }
}

/// What follows from a value.
trait Pipe: Sized {
    fn pipe<T>(self, then: impl FnOnce(Self) -> T) -> T {
        then(self)
    }
}

impl<T> Pipe for T {}

/// A file system with A/foo in it, and B.
struct Start {
    image: Image,
    tree: Tree,
    inos: std::collections::BTreeMap<usize, Ino>,
}

impl Start {
    fn new(config: &FormatConfig) -> Self {
        let port = Cuts::new(Image::new(4096, BLOCKS), 0..0, Streams::new(1).stream("cuts"));
        let port = format(port, config, Moment::default(), (0, 0)).unwrap();
        let bed = Bed::new(Volume::mount(port, &MountConfig::new(1)).unwrap());
        let mut run = Run { bed, writes: 0 };
        assert!(run.call(Op::Write("A/foo", 0, 9000)) && run.call(Op::MakeDir("B")));
        let Bed { volume, tree, inos, .. } = run.bed;
        let image = volume.unmount().map_err(|(_, error)| error).unwrap().durable().clone();
        Self { image, tree, inos }
    }
}

#[derive(Debug, Default)]
struct Tally {
    workloads: u64,
    mounts: u64,
    checkpoints: u64,
}

/// Mounts what a cut left, checks it, and compares it with what it may be.
fn look(image: &Image, wanted: &[&Tree], tally: &mut Tally) -> Result<Volume<Cuts>, String> {
    let port = Cuts::new(image.clone(), PACKS, Streams::new(1).stream("cuts"));
    let mut volume = Volume::mount(port, &MountConfig::new(7)).map_err(|error| error.to_string())?;
    tally.mounts += 1;
    let findings = volume.check().map_err(|error| error.to_string())?;
    if let Some(first) = findings.first() {
        return Err(first.to_string());
    }
    let mut why = Vec::new();
    let fits = wanted.iter().any(|tree| compare(&mut volume, tree).map_err(|told| why.push(told)).is_ok());
    if fits { Ok(volume) } else { Err(why.join("; or ")) }
}

/// Whether a file is there under all its names, whatever else is: what an fsync promises.
fn has_file(volume: &mut Volume<Cuts>, tree: &Tree, id: usize) -> Result<(), String> {
    let leaf = &tree.files[&id];
    for (dir, of) in &tree.files {
        for name in of.entries.iter().filter(|(_, file)| **file == id).map(|(name, _)| name) {
            let mut path = vec![name.clone()];
            let mut at = *dir;
            while at != 0 {
                let above = &tree.files[&tree.files[&at].parent];
                path.push(above.entries.iter().find(|(_, file)| **file == at).unwrap().0.clone());
                at = tree.files[&at].parent;
            }
            let lost = |what: &str| format!("{what} of a name of the file that was synchronized");
            let led = path.iter().rev().try_fold(ROOT, |at, name| volume.lookup(at, name));
            let ino = led.map_err(|error| lost(&error.to_string()))?;
            if volume.read(ino, 0, leaf.data.len() + 1).as_ref() != Ok(&leaf.data) {
                return Err(lost("other data"));
            }
            for (name, value) in &leaf.attributes {
                if volume.attribute(ino, name).as_ref() != Ok(value) {
                    return Err(lost("other attributes"));
                }
            }
        }
    }
    Ok(())
}

/// Runs a workload. Returns false if it is none: a call or point is about what is not there.
fn run(start: &Start, workload: &Workload, subsets: Subsets, tally: &mut Tally) -> Result<bool, String> {
    let ops = ops();
    let port = Cuts::new(start.image.clone(), PACKS, Streams::new(1).stream("cuts"));
    let mut bed = Bed::new(Volume::mount(port, &MountConfig::new(2)).map_err(|error| error.to_string())?);
    (bed.tree, bed.inos) = (start.tree.clone(), start.inos.clone());
    let mut run = Run { bed, writes: 1 };
    let mut durable = Durable::of(start.tree.clone());
    for (place, (op, point)) in workload.0.iter().enumerate() {
        if !run.call(ops[*op]) {
            return Ok(false);
        }
        let synced = match POINTS[*point] {
            Point::Sync => None,
            Point::Fsync(path) => match find(&run.bed.tree, path) {
                Some(id) => Some(id),
                None => return Ok(false),
            },
        };
        let is_last = place + 1 == workload.0.len();
        let before = run.bed.volume.counted().checkpoints;
        if is_last && subsets == Subsets::Some {
            let cutting = Cutting { each_of: 3, some: 3, every: 1, shrinks: false, without: None };
            run.bed.volume.port_mut().cutting = Some(cutting);
        }
        run.bed.call(&synced.map_or(Step::Sync, Step::Fsync));
        let earlier = durable.tree();
        let is_file = synced.filter(|id| run.bed.tree.files[id].kind == Some(FileKind::File));
        match is_file.filter(|_| run.bed.volume.counted().checkpoints == before) {
            Some(id) => durable.synced.push((id, run.bed.tree.clone())),
            // All that was done is durable.
            None => {
                durable = Durable::of(run.bed.tree.clone());
                tally.checkpoints += 1;
            }
        }
        let now = durable.tree();
        for image in std::mem::take(&mut run.bed.volume.port_mut().left) {
            look(&image, &[&earlier, &now], tally).map_err(|why| format!("midway: {why}"))?;
        }
        if is_last {
            let mut volume = look(run.bed.volume.port().durable(), &[&now], tally)?;
            is_file.map_or(Ok(()), |id| has_file(&mut volume, &run.bed.tree, id))?;
        }
    }
    tally.workloads += 1;
    Ok(true)
}

/// Whether parts of the writes are lost too as the last point is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subsets {
    None,
    Some,
}

/// File systems without checksums of data, and with them.
fn starts() -> [Start; 2] {
    let checked = FormatConfig { data_checksums: DataChecksums::Crc32c, ..SMALL };
    [Start::new(&SMALL), Start::new(&checked)]
}

fn check(start: &Start, workload: &Workload, subsets: Subsets, tally: &mut Tally) -> bool {
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(start, workload, subsets, tally)));
    match ran {
        Ok(Ok(is_one)) => is_one,
        Ok(Err(why)) => panic!("{workload}\n{why}"),
        Err(_) => panic!("{workload}\npanicked"),
    }
}

fn any_of_two(stream: &mut Stream) -> Workload {
    let (ops, points) = (ops().len() as u64, POINTS.len() as u64);
    Workload((0..2).map(|_| (stream.below(ops) as usize, stream.below(points) as usize)).collect())
}

#[test]
fn what_was_made_durable_by_short_workloads_is_there_after_a_cut() {
    let (starts, mut tally) = (starts(), Tally::default());
    let asked = std::env::var("WANE_FS_ACE").unwrap_or_default();
    if !asked.is_empty() && asked != "all" {
        let workload: Workload = asked.parse().unwrap();
        starts.iter().for_each(|start| assert!(check(start, &workload, Subsets::Some, &mut tally), "{workload}"));
        return;
    }
    let (ops, points) = (ops().len(), POINTS.len());
    let singles: Vec<(usize, usize)> = (0..ops).flat_map(|op| (0..points).map(move |point| (op, point))).collect();
    for single in &singles {
        for start in &starts {
            check(start, &Workload(vec![*single]), Subsets::Some, &mut tally);
        }
    }
    if asked == "all" {
        for (number, first) in singles.iter().enumerate() {
            for (other, second) in singles.iter().enumerate() {
                let start = &starts[(number + other) % 2];
                check(start, &Workload(vec![*first, *second]), Subsets::None, &mut tally);
            }
        }
    } else {
        let mut stream = Streams::new(1).stream("fs.ace");
        for number in 0..SAMPLE {
            while !check(&starts[number as usize % 2], &any_of_two(&mut stream), Subsets::None, &mut tally) {}
        }
    }
    println!("{tally:?}");
    assert!(tally.workloads > 5_500 && tally.mounts > 8_000 && tally.checkpoints > 2_000, "{tally:?}");
}
