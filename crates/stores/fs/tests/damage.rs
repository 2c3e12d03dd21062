//! Images whose structures are damaged: a sentence, a read-only look, or what is left; never a panic, never bytes of another file.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use std::collections::BTreeSet;

use bed::cuts::{Cuts, Image};
use bed::{Bed, Taste, step};
use wane_fs::{FileKind, FormatConfig, FsError, Ino, Mode, Moment, MountConfig, ROOT, Volume, format};
use wane_sim::{Stream, Streams};

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };
const TASTE: Taste = Taste { write_max: 20_000, size_max: 150_000, names: 40 };

/// An aged image, what its files hold, and which of its blocks are structures.
fn aged(seed: u64) -> (Image, Bed<Cuts>, BTreeSet<u32>) {
    let streams = Streams::new(seed);
    let mut stream = streams.stream("fs.damage");
    let port = Cuts::new(Image::new(4096, 1500), 0..0, streams.stream("cuts"));
    let port = format(port, &SMALL, Moment::default(), (0, 0)).unwrap();
    let mut bed = Bed::new(Volume::mount(port, &MountConfig::new(1)).unwrap());
    for _ in 0..400 {
        let next = step(&bed.tree, TASTE, &mut stream);
        bed.call(&next);
    }
    bed.volume.sync().unwrap();
    // The checkpoint before the last one has the same files.
    bed.call(&bed::Step::Chmod(0, 0o700));
    bed.volume.sync().unwrap();
    let image = bed.volume.port().durable().clone();
    let structures = bed.volume.port().structures.clone();
    (image, bed, structures)
}

/// Damages a block or a few.
fn damage(image: &mut Image, structures: &[u32], stream: &mut Stream) {
    for _ in 0..=stream.below(3) {
        let at = bed::pick(structures, stream) as usize;
        let other = bed::pick(structures, stream) as usize;
        let mut bytes = image.blocks[at].as_ref().map_or_else(|| vec![0; 4096], |bytes| bytes.to_vec());
        match stream.below(4) {
            0 => bytes.fill(0),
            // A block that was written to the wrong place.
            1 => bytes = image.blocks[other].as_ref().map_or_else(|| vec![0; 4096], |bytes| bytes.to_vec()),
            2 => {
                let half = 2048 * stream.below(2) as usize;
                bytes[half..half + 2048].fill(0xFF);
            }
            _ => {
                let place = stream.below(4096) as usize;
                bytes[place] ^= 1 << stream.below(8);
            }
        }
        image.blocks[at] = Some(bytes.into());
    }
}

/// Reads all that can be reached. Returns what is not as it was: bytes that differ.
fn read_all(volume: &mut Volume<Cuts>, known: &Bed<Cuts>) -> Vec<String> {
    let (mut todo, mut wrong) = (vec![(ROOT, 0_usize)], Vec::new());
    let mut seen = BTreeSet::new();
    while let Some((ino, id)) = todo.pop() {
        if !seen.insert((ino, id)) {
            continue;
        }
        let leaf = &known.tree.files[&id];
        match volume.attr(ino).map(|attr| attr.kind) {
            Ok(FileKind::File) if leaf.kind == Some(FileKind::File) => match volume.read(ino, 0, leaf.data.len()) {
                Ok(data) if leaf.data.starts_with(&data) => {}
                Ok(_) => wrong.push(format!("file {ino} reads other bytes")),
                Err(_) => {}
            },
            Ok(FileKind::Directory) => {
                for (name, id) in &leaf.entries {
                    if let Ok(ino) = volume.lookup(ino, name) {
                        todo.push((ino, *id));
                    }
                }
            }
            _ => {}
        }
    }
    wrong
}

/// Uses a volume as if nothing were wrong. Only panics and hangs are faults.
fn use_it(volume: &mut Volume<Cuts>, known: &Bed<Cuts>) {
    let now = Moment { seconds: 9, nanos: 0 };
    let files: Vec<Ino> = known.inos.values().copied().collect();
    for ino in files {
        let _: Result<usize, FsError> = volume.write(ino, 5_000, &[3; 9_000], now);
        let _: Result<(), FsError> = volume.truncate(ino, 100, now);
        let _: Result<(), FsError> = volume.fsync(ino);
        let _: Result<(), FsError> = volume.unlink(ROOT, b"f1", now);
    }
    let least = volume.least();
    let _refused = volume.set_target(least, wane_fs::Way::Relocate);
    for _ in 0..20 {
        let _progress = volume.evacuate(50);
    }
    let _: Result<(), FsError> = volume.sync();
}

#[test]
fn damaged_structures_are_told_and_never_show_other_bytes() {
    let images: u64 = std::env::var("WANE_FS_IMAGES").ok().and_then(|given| given.parse().ok()).unwrap_or(400);
    let (mut refused, mut found, mut fine) = (0, 0, 0);
    for seed in 0..4 {
        let (image, known, structures) = aged(seed);
        let structures: Vec<u32> = structures.into_iter().collect();
        let mut stream = Streams::new(seed).stream("fs.damaged");
        for number in 0..images / 4 {
            let mut damaged = image.clone();
            damage(&mut damaged, &structures, &mut stream);
            let port = || Cuts::new(damaged.clone(), 0..0, Streams::new(seed).stream("cuts"));
            let config = MountConfig { mode: Mode::ReadOnly, ..MountConfig::new(5) };
            let Ok(mut volume) = Volume::mount(port(), &config) else {
                refused += 1;
                continue;
            };
            let findings = volume.check().unwrap();
            let wrong = read_all(&mut volume, &known);
            assert_eq!(wrong, Vec::<String>::new(), "image {seed}/{number}");
            if findings.is_empty() {
                fine += 1;
            } else {
                found += 1;
            }
            if let Ok(mut volume) = Volume::mount(port(), &MountConfig::new(6)) {
                use_it(&mut volume, &known);
            }
        }
    }
    assert!(refused > 0 && found > images / 10 && fine > 0, "{refused} {found} {fine}");
}

/// Changes numbers in a structure, and seals it again.
fn forge(image: &mut Image, structures: &[u32], stream: &mut Stream) {
    for _ in 0..=stream.below(4) {
        let at = bed::pick(structures, stream);
        let Some(held) = &image.blocks[at as usize] else { continue };
        let mut bytes = held.to_vec();
        let odd = [
            0,
            1,
            2,
            0xFF,
            0xFFFF,
            u32::MAX,
            u32::MAX - 1,
            at,
            stream.below(2000) as u32,
            stream.below(1 << 32) as u32,
        ];
        for _ in 0..=stream.below(3) {
            // Most numbers stand at the beginning of a block, or in its seal.
            let place = match stream.below(3) {
                0 => stream.below(128) as usize * 4,
                1 => 4096 - 32 + stream.below(8) as usize * 4,
                _ => stream.below(1024) as usize * 4,
            };
            bytes[place..place + 4].copy_from_slice(&bed::pick(&odd, stream).to_le_bytes());
        }
        let from = 4096 - 32;
        bytes[from..from + 4].fill(0);
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes), &u64::from(at).to_le_bytes());
        bytes[from..from + 4].copy_from_slice(&crc.to_le_bytes());
        image.blocks[at as usize] = Some(bytes.into());
    }
}

/// What somebody made on purpose is refused, told, or used: it never makes the program panic, or go round for ever.
#[test]
fn forged_structures_do_no_harm_to_the_program() {
    let images: u64 = std::env::var("WANE_FS_IMAGES").ok().and_then(|given| given.parse().ok()).unwrap_or(400);
    for seed in 0..4 {
        let (image, known, structures) = aged(seed);
        let structures: Vec<u32> = structures.into_iter().collect();
        let mut stream = Streams::new(seed).stream("fs.forged");
        for number in 0..images / 4 {
            let mut forged = image.clone();
            forge(&mut forged, &structures, &mut stream);
            let port = || Cuts::new(forged.clone(), 0..0, Streams::new(seed).stream("cuts"));
            let config = MountConfig { mode: Mode::ReadOnly, ..MountConfig::new(5) };
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                if let Ok(mut volume) = Volume::mount(port(), &config) {
                    let _findings = volume.check();
                    read_all(&mut volume, &known);
                }
                if let Ok(mut volume) = Volume::mount(port(), &MountConfig::new(6)) {
                    use_it(&mut volume, &known);
                }
            }));
            assert!(ended.is_ok(), "image {seed}/{number}");
        }
    }
}
