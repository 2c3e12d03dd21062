//! A file system lives several lives: each ends with a cut of the power, and the next goes on from what it left.
//!
//! What one life left behind must not be taken for what a later one wrote.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use std::collections::BTreeMap;

use bed::cuts::{Cuts, Cutting, Image};
use bed::durable::Promises;
use bed::{Bed, Step, Taste, Tree, compare, step};
use wane_fs::{DataChecksums, FileKind, FormatConfig, Ino, Moment, MountConfig, ROOT, Trims, Volume, format};
use wane_sim::Streams;

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };
/// The same, with checksums of data.
const CHECKED: FormatConfig = FormatConfig { data_checksums: DataChecksums::Crc32c, ..SMALL };
const BOTH: [&FormatConfig; 2] = [&SMALL, &CHECKED];
const PACKS: std::ops::Range<u32> = 32..64;
const CUTTING: Cutting = Cutting { each_of: 6, some: 8, every: 1, shrinks: false, without: None };

fn fresh(config: &FormatConfig, blocks: usize) -> Image {
    let port = Cuts::new(Image::new(4096, blocks), 0..0, Streams::new(1).stream("cuts"));
    format(port, config, Moment::default(), (0, 0)).unwrap().durable().clone()
}

/// Mounts an image as the tree that it is.
fn mounted(image: &Image, tree: &Tree, nonce: u32) -> Bed<Cuts> {
    let port = Cuts::new(image.clone(), PACKS, Streams::new(nonce.into()).stream("cuts"));
    let config = MountConfig { trims: Trims::Never, ..MountConfig::new(nonce) };
    let mut bed = Bed::new(Volume::mount(port, &config).unwrap());
    bed.tree = tree.clone();
    bed.inos = inos(&mut bed.volume, tree);
    bed
}

/// The inodes of the files of a tree.
fn inos(volume: &mut Volume<Cuts>, tree: &Tree) -> BTreeMap<usize, Ino> {
    let (mut all, mut todo) = (BTreeMap::from([(0, ROOT)]), vec![0]);
    while let Some(dir) = todo.pop() {
        for (name, id) in &tree.files[&dir].entries {
            if !all.contains_key(id) {
                all.insert(*id, volume.lookup(all[&dir], name).unwrap());
                todo.push(*id);
            }
        }
    }
    all
}

/// Mounts what is left, and finds which of the trees it is.
fn found(image: &Image, wanted: &[Tree], nonce: u32) -> Result<(Bed<Cuts>, usize), String> {
    let mut bed = mounted(image, &Tree::new(), nonce);
    let findings = bed.volume.check().map_err(|error| error.to_string())?;
    if let Some(first) = findings.first() {
        return Err(first.to_string());
    }
    let mut why = Vec::new();
    let place = wanted.iter().position(|tree| compare(&mut bed.volume, tree).map_err(|told| why.push(told)).is_ok());
    let place = place.ok_or_else(|| why.join("; or "))?;
    bed.tree = wanted[place].clone();
    bed.inos = inos(&mut bed.volume, &wanted[place]);
    Ok((bed, place))
}

fn lives(seed: u64, config: &FormatConfig, many: u64) -> Result<u64, String> {
    let mut stream = Streams::new(seed).stream("fs.lives");
    // Files have direct nodes, and little in them.
    let taste = Taste { write_max: 9_000, size_max: 4_000_000, names: 8 };
    let (mut image, mut wanted, mut recovered) = (fresh(config, 2048), vec![Tree::new()], 0);
    for life in 0..many {
        let told = |why: String| format!("{seed}, life {life}: {why}");
        let (mut bed, _) = found(&image, &wanted, life as u32 + 1).map_err(told)?;
        recovered += bed.volume.counted().recovered;
        let mut promises = Promises::new(bed.tree.clone());
        bed.volume.port_mut().left.clear();
        bed.volume.port_mut().cutting = Some(CUTTING);
        // Some end before anything was changed, and some by an unmount.
        for _ in 0..stream.below(12) {
            let all: Vec<usize> = bed.tree.files.keys().copied().collect();
            let is_regular = |id: &usize| bed.tree.files[id].kind == Some(FileKind::File);
            let regular: Vec<usize> = all.iter().copied().filter(is_regular).collect();
            let next = match stream.below(8) {
                0..3 if !regular.is_empty() => Step::Fsync(bed::pick(&regular, &mut stream)),
                3..5 if !regular.is_empty() => {
                    let at = if stream.below(2) == 0 { 0 } else { 3_600_000 } + stream.below(20_000);
                    Step::Write(bed::pick(&regular, &mut stream), at, vec![life as u8 | 1; 9_000])
                }
                5 => Step::Fsync(bed::pick(&all, &mut stream)),
                _ => step(&bed.tree, taste, &mut stream),
            };
            let (before, checkpoints) = (bed.tree.clone(), bed.volume.counted().checkpoints);
            bed.volume.port_mut().left.clear();
            bed.call(&next);
            wanted = promises.after(&next, &before, &bed.tree, bed.volume.counted().checkpoints > checkpoints);
        }
        let left = std::mem::take(&mut bed.volume.port_mut().left);
        if stream.below(3) == 0 {
            let tree = bed.tree.clone();
            image = bed.volume.unmount().map_err(|(_, error)| error.to_string())?.durable().clone();
            wanted = vec![tree];
        } else if left.is_empty() {
            image = bed.volume.port().durable().clone();
            wanted = promises.trees();
        } else {
            image = bed::pick(&left, &mut stream);
        }
    }
    Ok(recovered)
}

#[test]
fn lives_that_end_with_a_cut_follow_each_other() {
    let seeds: u64 = std::env::var("WANE_FS_SEEDS").ok().and_then(|given| given.parse().ok()).unwrap_or(3);
    let mut recovered = 0;
    for (seed, config) in (0..seeds).flat_map(|seed| BOTH.map(|config| (seed, config))) {
        recovered += lives(seed, config, 40).unwrap_or_else(|why| panic!("{why}"));
    }
    assert!(recovered > 5 * seeds, "{recovered}");
}

fn file(bed: &mut Bed<Cuts>, name: &str) -> usize {
    bed.call(&Step::Make(0, name.as_bytes().to_vec(), FileKind::File));
    bed.tree.next - 1
}

/// An fsync that did not end left its last node and not the one before. The next life's fsync writes in the place of the first: what follows there
/// in the log is of a life before.
#[test]
fn a_chain_of_an_earlier_life_is_not_followed() {
    for config in BOTH {
        let mut bed = mounted(&fresh(config, 2048), &Tree::new(), 1);
        let (one, two) = (file(&mut bed, "one"), file(&mut bed, "two"));
        bed.call(&Step::Write(one, 0, vec![1; 9000]));
        bed.call(&Step::Write(one, 4_000_000, vec![1; 9000]));
        bed.call(&Step::Write(two, 0, vec![2; 9000]));
        let tree = bed.tree.clone();
        let clean = bed.volume.unmount().map_err(|(_, error)| error).unwrap().durable().clone();
        let mut bed = mounted(&clean, &tree, 2);
        bed.volume.port_mut().cutting = Some(CUTTING);
        bed.call(&Step::Write(one, 0, vec![3; 9000]));
        bed.call(&Step::Write(one, 4_000_000, vec![3; 9000]));
        bed.call(&Step::Fsync(one));
        let (left, after) = (std::mem::take(&mut bed.volume.port_mut().left), bed.tree.clone());
        let mut seen = [0, 0];
        for image in left {
            let (mut bed, place) = found(&image, &[tree.clone(), after.clone()], 3).unwrap();
            seen[place] += 1;
            bed.call(&Step::Write(two, 0, vec![4; 5000]));
            bed.call(&Step::Fsync(two));
            let (image, wanted) = (bed.volume.port().durable().clone(), bed.tree.clone());
            found(&image, &[wanted], 4).unwrap_or_else(|why| panic!("{why}"));
        }
        assert!(seen[0] > 2 && seen[1] > 0, "{seen:?}");
    }
}

/// Pieces of a file are old or new after a cut, and never what another file left in a block, whichever of the writes of an fsync survive.
#[test]
fn an_fsync_in_part_shows_no_bytes_of_other_files() {
    for (config, seed) in BOTH.into_iter().flat_map(|config| (0..20).map(move |seed| (config, seed))) {
        let mut stream = Streams::new(seed).stream("fs.foreign");
        let mut bed = mounted(&fresh(config, 1024), &Tree::new(), 1);
        let (mine, other) = (file(&mut bed, "mine"), file(&mut bed, "other"));
        let blocks = 1 + stream.below(6);
        bed.call(&Step::Write(mine, 0, vec![0x11; blocks as usize * 4096]));
        // The other file was everywhere, and nothing is trimmed.
        let most = bed.volume.space().free.saturating_sub(40) as usize * 4096;
        bed.call(&Step::Write(other, 0, vec![0xEE; most]));
        bed.call(&Step::Sync);
        bed.call(&Step::Unlink(0, b"other".to_vec()));
        bed.call(&Step::Sync);
        let again = file(&mut bed, "again");
        bed.call(&Step::Sync);
        bed.volume.port_mut().left.clear();
        bed.volume.port_mut().cutting = Some(Cutting { each_of: 9, some: 60, ..CUTTING });
        for (id, mark) in [(mine, 0x22), (again, 0x33)] {
            for _ in 0..1 + stream.below(5) {
                let at = stream.below(blocks) * 4096;
                bed.call(&Step::Write(id, at, vec![mark; 1 + stream.below(5000) as usize]));
            }
            bed.call(&Step::Fsync(id));
        }
        let left = std::mem::take(&mut bed.volume.port_mut().left);
        assert!(left.len() > 4, "{}", left.len());
        for image in left {
            let mut volume = mounted(&image, &Tree::new(), 2).volume;
            assert_eq!(volume.check().unwrap(), []);
            for (name, marks) in [(b"mine".as_slice(), [0x11, 0x22]), (b"again", [0, 0x33])] {
                let ino = volume.lookup(ROOT, name).unwrap();
                let size = volume.attr(ino).unwrap().size as usize;
                let bytes = volume.read(ino, 0, size).unwrap();
                assert!(bytes.len() == size && bytes.iter().all(|byte| marks.contains(byte)), "{seed}");
            }
        }
    }
}
