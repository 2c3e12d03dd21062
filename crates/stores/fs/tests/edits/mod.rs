//! Edits of a small image by arbitrary bytes, and all that can be done with what they make. The fuzz target `fs_image` and a seeded test share it.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use wane_fs::{
    Addr, Allocate, Barrier, DataChecksums, Fault, FileKind, FormatConfig, Ino, Mode, Moment, MountConfig, NewFile,
    Port, ROOT, Rename, SetAttribute, Use, Volume, Way, format,
};

const BLOCK: usize = 4096;
const BLOCKS: usize = 640;
/// Bytes of a seal, at the end of a block.
const SEAL: usize = 32;
/// Requests after which a run counts as one that does not end.
const REQUESTS_MAX: u64 = 4_000_000;
const NOW: Moment = Moment { seconds: 3, nanos: 1 };
/// Bytes of an edit: the block (2), the offset (2), four bytes, and whether the block is sealed again.
pub(crate) const EDIT: usize = 9;

/// A device in memory, which counts its requests.
#[derive(Clone)]
struct Memory {
    blocks: Vec<Option<Box<[u8]>>>,
    requests: u64,
}

impl Memory {
    fn count(&mut self) {
        self.requests += 1;
        assert!(self.requests < REQUESTS_MAX, "it does not end");
    }
}

impl Port for Memory {
    fn block_bytes(&self) -> usize {
        BLOCK
    }

    fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    fn read(&mut self, at: Addr, bytes: &mut [u8]) -> Result<(), Fault> {
        self.count();
        match &self.blocks[at as usize] {
            Some(held) => bytes.copy_from_slice(held),
            None => bytes.fill(0),
        }
        Ok(())
    }

    fn write(&mut self, at: Addr, bytes: &[u8], _purpose: Use) -> Result<(), Fault> {
        self.count();
        self.blocks[at as usize] = Some(bytes.into());
        Ok(())
    }

    fn flush(&mut self, _barrier: Barrier) -> Result<(), Fault> {
        self.count();
        Ok(())
    }

    fn trim(&mut self, at: Addr, count: u32) -> Result<(), Fault> {
        self.count();
        self.blocks[at as usize..][..count as usize].fill(None);
        Ok(())
    }
}

const fn new(kind: FileKind) -> NewFile {
    NewFile { kind, permissions: 0o644, uid: 1, gid: 2, rdev: 0 }
}

/// A small file system with something of each kind, whose last fsync lies after its last checkpoint.
fn image(data_checksums: DataChecksums) -> Memory {
    let config = FormatConfig { segment_bytes: 64 << 10, data_checksums, ..FormatConfig::new([7; 16], [1, 2]) };
    let port = Memory { blocks: vec![None; BLOCKS], requests: 0 };
    let port = format(port, &config, Moment::default(), (0, 0)).expect("it fits");
    let mut volume = Volume::mount(port, &MountConfig::new(1)).expect("it was just made");
    let made = fill(&mut volume);
    made.expect("there is room");
    Memory { requests: 0, ..volume.into_port() }
}

fn fill(volume: &mut Volume<Memory>) -> Result<(), wane_fs::FsError> {
    let dir = volume.make(ROOT, b"dir", &new(FileKind::Directory), NOW)?.ino;
    for number in 0..60_u8 {
        let name = format!("entry-{number}-{}", "x".repeat(usize::from(number) * 3));
        let file = volume.make(dir, name.as_bytes(), &new(FileKind::File), NOW)?.ino;
        volume.write(file, 0, &vec![number; 100 * usize::from(number)], NOW)?;
    }
    let file = volume.make(ROOT, b"file", &new(FileKind::File), NOW)?.ino;
    for at in [0, 20_000, 4_000_000, 40_000_000, 9_000_000_000] {
        volume.write(file, at, &[9; 5_000], NOW)?;
    }
    volume.set_attribute(file, b"user.long", &[7; 1_000], SetAttribute::Any, NOW)?;
    volume.link(file, dir, b"link", NOW)?;
    volume.make_symlink(ROOT, b"symlink", &[b'a'; 3_700], &new(FileKind::Symlink), NOW)?;
    volume.make(ROOT, b"pipe", &new(FileKind::Fifo), NOW)?;
    let orphan = volume.make(ROOT, b"orphan", &new(FileKind::File), NOW)?.ino;
    volume.write(orphan, 0, &[3; 30_000], NOW)?;
    volume.hold(orphan);
    volume.unlink(ROOT, b"orphan", NOW)?;
    volume.sync()?;
    let after = volume.make(ROOT, b"after", &new(FileKind::File), NOW)?.ino;
    volume.write(after, 4_000_000, &[4; 9_000], NOW)?;
    volume.fsync(after)
}

static PLAIN: LazyLock<Memory> = LazyLock::new(|| image(DataChecksums::None));
static CHECKED: LazyLock<Memory> = LazyLock::new(|| image(DataChecksums::Crc32c));

fn checksum(bytes: &[u8], at: usize) -> [u8; 4] {
    let mut bytes = bytes.to_vec();
    bytes[BLOCK - SEAL..BLOCK - SEAL + 4].fill(0);
    crc32c::crc32c_append(crc32c::crc32c(&bytes), &(at as u64).to_le_bytes()).to_le_bytes()
}

/// Changes bytes of one of the blocks that hold something. What was sealed is sealed again, unless the edit says otherwise.
fn edit(image: &mut Memory, edit: &[u8]) {
    let held: Vec<usize> = (0..BLOCKS).filter(|at| image.blocks[*at].is_some()).collect();
    let at = held[usize::from(u16::from_le_bytes([edit[0], edit[1]])) % held.len()];
    let Some(bytes) = &mut image.blocks[at] else { return };
    let seal = BLOCK - SEAL;
    let was_sealed = bytes[seal..seal + 4] == checksum(bytes, at);
    let place = usize::from(u16::from_le_bytes([edit[2], edit[3]])) % (BLOCK - 3);
    bytes[place..place + 4].copy_from_slice(&edit[4..8]);
    if was_sealed && edit[8] & 1 == 0 {
        let crc = checksum(bytes, at);
        bytes[seal..seal + 4].copy_from_slice(&crc);
    }
}

/// Does what the bytes say to a small image, and uses what comes of it. Answers are anything; only a panic or a run without an end is a fault.
pub(crate) fn run(input: &[u8]) {
    let Some((first, edits)) = input.split_first() else { return };
    let mut edited = if first & 1 == 0 { PLAIN.clone() } else { CHECKED.clone() };
    edits.chunks_exact(EDIT).take(16).for_each(|bytes| edit(&mut edited, bytes));
    let read_only = MountConfig { mode: Mode::ReadOnly, ..MountConfig::new(5) };
    if let Ok(mut volume) = Volume::mount(edited.clone(), &read_only) {
        let _findings = (volume.check(), volume.scrub());
        read_all(&mut volume);
    }
    let mount = MountConfig { cache_blocks: usize::from(first >> 4) * 8, ..MountConfig::new(6) };
    if let Ok(mut volume) = Volume::mount(edited, &mount) {
        let files = read_all(&mut volume);
        change_all(&mut volume, &files, usize::from(*first));
        let _findings = volume.check();
        if let Ok(port) = volume.unmount()
            && let Ok(mut volume) = Volume::mount(port, &MountConfig::new(7))
        {
            let _findings = volume.check();
        }
    }
}

/// Reads all that can be reached, and returns it.
fn read_all(volume: &mut Volume<Memory>) -> Vec<Ino> {
    let (mut seen, mut todo) = (BTreeSet::from([ROOT]), vec![ROOT]);
    while let Some(ino) = todo.pop() {
        let (mut after, mut parts) = (0, 0);
        while let Ok(entries) = volume.read_dir(ino, after, 50) {
            // A directory may say that it is huge, and each part must lead on.
            let Some(last) = entries.last().filter(|last| last.cookie > after && parts < 100) else { break };
            (after, parts) = (last.cookie, parts + 1);
            for entry in entries {
                let _found = volume.lookup(ino, &entry.name);
                if seen.insert(entry.ino) {
                    todo.push(entry.ino);
                }
            }
        }
        let size = volume.attr(ino).map_or(0, |attr| attr.size);
        for at in [0, size / 2, size.saturating_sub(5_000)] {
            let _bytes = volume.read(ino, at, 20_000);
        }
        let _data = volume.seek(ino, size / 3, wane_fs::Seek::Data);
        let _target = volume.read_link(ino);
        for name in volume.attribute_names(ino).unwrap_or_default() {
            let _value = volume.attribute(ino, &name);
        }
    }
    seen.into_iter().collect()
}

/// Changes what was found, and gives space back.
fn change_all(volume: &mut Volume<Memory>, files: &[Ino], choice: usize) {
    for (number, ino) in files.iter().copied().enumerate() {
        match (number + choice) % 9 {
            0 => drop(volume.write(ino, 3_000, &[5; 10_000], NOW)),
            1 => drop(volume.truncate(ino, 700, NOW)),
            2 => drop(volume.allocate(ino, 0, 30_000, Allocate::PunchHole, NOW)),
            3 => drop(volume.fsync(ino)),
            4 => drop(volume.link(ino, ROOT, b"another", NOW)),
            5 => drop(volume.set_attribute(ino, b"user.a", &[1; 300], SetAttribute::Any, NOW)),
            6 => drop(volume.make(ino, b"below", &new(FileKind::File), NOW)),
            7 => drop(volume.rename((ROOT, b"file"), (ino, b"renamed"), Rename::Replace, NOW)),
            _ => drop(volume.sync()),
        }
    }
    let least = volume.least();
    let _refused = volume.set_target(least, Way::ALL[choice % 3]);
    for _ in 0..10 {
        let _progress = volume.evacuate(50);
    }
    for name in [b"file".as_slice(), b"after", b"symlink", b"another"] {
        let _gone = volume.unlink(ROOT, name, NOW);
    }
}

/// Files that each kind of image has without edits. They are sound.
#[cfg(test)]
pub(crate) fn files_of_images() -> [usize; 2] {
    [&PLAIN, &CHECKED].map(|image| {
        let mut volume = Volume::mount((*image).clone(), &MountConfig::new(5)).expect("it is whole");
        assert_eq!(volume.counted().recovered, 1);
        assert!(
            volume.check().expect("it has a root").is_empty() && volume.scrub().expect("the same").findings.is_empty()
        );
        read_all(&mut volume).len()
    })
}
