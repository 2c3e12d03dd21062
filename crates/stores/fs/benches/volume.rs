//! `cargo bench -p wane-fs --bench volume` prints one JSON object a line: operations a second of a file system in memory, each beside the same bytes
//! copied in the same run, so that machines can be compared. Words after `--` run a part: `-- hollow names`.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::time::Instant;

use wane_blockdev::{Blocking, Ram};
use wane_fs::{
    Addr, Barrier, DataChecksums, Direct, Fault, FileKind, FormatConfig, Mode, Moment, MountConfig, NewFile, Port,
    ROOT, Trims, Use, Volume, format,
};
use wane_sim::Streams;
use wane_units::Sectors;

const BLOCK: usize = 4096;

/// A device that is memory; it allocates what is written.
struct Memory {
    blocks: Vec<Option<Box<[u8]>>>,
}

impl Port for Memory {
    fn block_bytes(&self) -> usize {
        BLOCK
    }

    fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    fn read(&mut self, at: Addr, bytes: &mut [u8]) -> Result<(), Fault> {
        match &self.blocks[at as usize] {
            Some(held) => bytes.copy_from_slice(held),
            None => bytes.fill(0),
        }
        Ok(())
    }

    fn write(&mut self, at: Addr, bytes: &[u8], _purpose: Use) -> Result<(), Fault> {
        match &mut self.blocks[at as usize] {
            Some(held) => held.copy_from_slice(bytes),
            empty => *empty = Some(bytes.into()),
        }
        Ok(())
    }

    fn flush(&mut self, _barrier: Barrier) -> Result<(), Fault> {
        Ok(())
    }

    fn trim(&mut self, _at: Addr, _count: u32) -> Result<(), Fault> {
        Ok(())
    }
}

fn volume(bytes: u64, data_checksums: DataChecksums) -> Volume<Memory> {
    let mut blocks = Vec::new();
    blocks.resize_with((bytes / BLOCK as u64) as usize, || None);
    let config = FormatConfig { data_checksums, ..FormatConfig::new([1; 16], [2, 3]) };
    let port = format(Memory { blocks }, &config, Moment::default(), (0, 0)).expect("it fits");
    let config = MountConfig { trims: Trims::Never, ..MountConfig::new(1) };
    Volume::mount(port, &config).expect("it was just made")
}

fn tell(name: &str, count: u64, unit: &str, seconds: f64) {
    let rate = count as f64 / seconds;
    println!("{{\"bench\": \"{name}\", \"{unit}_per_second\": {rate:.0}, \"seconds\": {seconds:.2}}}");
}

const FILE: NewFile = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };

/// Data are written and read, and files synchronized.
fn data(checksums: DataChecksums, with: &str) {
    let (now, page) = (Moment { seconds: 1, nanos: 0 }, [7; BLOCK]);
    let mut stream = Streams::new(1).stream("bench");
    let mut fs = volume(1 << 30, checksums);
    let pages = (600 << 20) / BLOCK as u64;
    let ino = fs.make(ROOT, b"file", &FILE, now).expect("room").ino;
    let begin = Instant::now();
    for index in 0..pages {
        fs.write(ino, index * BLOCK as u64, &page, now).expect("room");
    }
    fs.sync().expect("memory");
    tell(&format!("pages in order{with}"), pages, "pages", begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    let count = 3 * pages;
    for _ in 0..count {
        fs.write(ino, stream.below(pages) * BLOCK as u64, &page, now).expect("room");
    }
    fs.sync().expect("memory");
    tell(&format!("pages at random, with cleaning{with}"), count, "pages", begin.elapsed().as_secs_f64());
    let moved = fs.counted().moved as f64 / count as f64;
    println!("{{\"bench\": \"pages at random, with cleaning{with}\", \"moved_per_page\": {moved:.3}}}");
    let begin = Instant::now();
    for _ in 0..pages {
        let at = stream.below(pages) * BLOCK as u64;
        black_box(fs.read(ino, at, BLOCK).expect("memory"));
    }
    tell(&format!("pages read at random{with}"), pages, "pages", begin.elapsed().as_secs_f64());

    let mut fs = volume(1 << 30, checksums);
    let name = |number: u64| format!("file-{number}").into_bytes();
    let begin = Instant::now();
    for number in 0..2_000 {
        let made = fs.make(ROOT, &name(number), &FILE, now).expect("room");
        fs.write(made.ino, 0, &page, now).expect("room");
        fs.fsync(made.ino).expect("memory");
    }
    tell(&format!("files of a page with an fsync{with}"), 2_000, "operations", begin.elapsed().as_secs_f64());
}

/// Pages without contents, as lives in virtual time write them.
fn hollow() {
    const FILES: u64 = 16;
    const BLOCKS: u64 = 9_600;
    let (now, mut stream) = (Moment { seconds: 1, nanos: 0 }, Streams::new(1).stream("bench"));
    let port = Direct::hollow(Blocking::new(Ram::new(Sectors((1 << 30) / 512))), BLOCK);
    let port = format(port, &FormatConfig::new([1; 16], [2, 3]), now, (0, 0)).expect("it fits");
    let mut fs = Volume::mount(port, &MountConfig::new(1)).expect("it was just made");
    let make = |number: u64| fs.make(ROOT, number.to_string().as_bytes(), &FILE, now).expect("room").ino;
    let files: Vec<_> = (0..FILES).map(make).collect();
    let begin = Instant::now();
    for ino in &files {
        fs.overwrite(*ino, 0..BLOCKS as u32, now).expect("room");
    }
    fs.sync().expect("memory");
    tell("pages without contents in order", FILES * BLOCKS, "pages", begin.elapsed().as_secs_f64());
    let (begin, count) = (Instant::now(), 4 * FILES * BLOCKS);
    for _ in 0..count {
        let (ino, at) = (files[stream.below(FILES) as usize], stream.below(BLOCKS) as u32);
        fs.overwrite(ino, at..at + 1, now).expect("room");
    }
    fs.sync().expect("memory");
    let name = "pages without contents at random, with cleaning";
    tell(name, count, "pages", begin.elapsed().as_secs_f64());
    println!("{{\"bench\": \"{name}\", \"moved_per_page\": {:.3}}}", fs.counted().moved as f64 / count as f64);
}

/// Files are made, looked up and removed.
fn names() {
    let now = Moment { seconds: 1, nanos: 0 };
    let mut stream = Streams::new(1).stream("bench");
    let mut fs = volume(1 << 30, DataChecksums::None);
    let files = 50_000;
    let name = |number: u64| format!("file-{number}").into_bytes();
    let begin = Instant::now();
    for number in 0..files {
        fs.make(ROOT, &name(number), &FILE, now).expect("room");
    }
    tell("files made in one directory", files, "operations", begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    for _ in 0..files {
        let found = fs.lookup(ROOT, &name(stream.below(files))).expect("it is there");
        black_box(fs.attr(found).expect("it is there"));
    }
    tell("files looked up", files, "operations", begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    for number in 0..files {
        fs.unlink(ROOT, &name(number), now).expect("it is there");
    }
    tell("files removed", files, "operations", begin.elapsed().as_secs_f64());
}

fn mounts() {
    let port = volume(100 << 30, DataChecksums::None).unmount().map_err(|(_, error)| error).expect("memory");
    let begin = Instant::now();
    let fs = Volume::mount(port, &MountConfig { mode: Mode::ReadOnly, ..MountConfig::new(2) }).expect("it is whole");
    tell("mounts of 100 GiB", 1, "mounts", begin.elapsed().as_secs_f64());
    black_box(fs.space());
}

fn copies() {
    let page = [7; BLOCK];
    let mut all = vec![0; 256 << 20];
    let begin = Instant::now();
    for _ in 0..4 {
        all.chunks_mut(BLOCK).for_each(|chunk| chunk.copy_from_slice(black_box(&page)));
    }
    tell("copy of pages", 4 * (256 << 20) / BLOCK as u64, "pages", begin.elapsed().as_secs_f64());
}

fn main() {
    // Words after `--` name those to run; without any, all run.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let cases: [(&str, fn()); 6] = [
        ("copies", copies),
        ("data", || data(DataChecksums::None, "")),
        ("checksums", || data(DataChecksums::Crc32c, ", checksums")),
        ("hollow", hollow),
        ("names", names),
        ("mounts", mounts),
    ];
    for (name, case) in cases {
        if words.is_empty() || words.iter().any(|word| word == name) {
            case();
        }
    }
}
