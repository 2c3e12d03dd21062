//! Full file systems: what waits for a checkpoint is used, what needs little is taken, and a call that finds no room changes nothing.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use bed::cuts::{Cuts, Image};
use wane_fs::{
    Allocate, Attr, DataChecksums, FileKind, FormatConfig, FsError, Ino, Mode, Moment, MountConfig, NewFile, ROOT,
    Rename, Seek, SetAttribute, Volume, format,
};
use wane_sim::Streams;

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };
/// The same, with checksums of data.
const CHECKED: FormatConfig = FormatConfig { data_checksums: DataChecksums::Crc32c, ..SMALL };
const PACKS: std::ops::Range<u32> = 32..64;
const NOW: Moment = Moment { seconds: 5, nanos: 0 };
const LATER: Moment = Moment { seconds: 6, nanos: 7 };

fn fresh(config: &FormatConfig, blocks: usize) -> Volume<Cuts> {
    let port = Cuts::new(Image::new(config.block_bytes as usize, blocks), 0..0, Streams::new(1).stream("cuts"));
    mounted(format(port, config, Moment::default(), (0, 0)).unwrap().durable())
}

fn mounted(image: &Image) -> Volume<Cuts> {
    let port = Cuts::new(image.clone(), PACKS, Streams::new(9).stream("cuts"));
    Volume::mount(port, &MountConfig::new(9)).unwrap()
}

const fn new(kind: FileKind) -> NewFile {
    NewFile { kind, permissions: 0o644, uid: 0, gid: 0, rdev: 0 }
}

/// Makes a file with a name and removes it.
type Passing = fn(&mut Volume<Cuts>, &[u8]) -> Result<(), FsError>;

fn passing(kind: FileKind) -> Passing {
    match kind {
        FileKind::Directory => |volume, name| {
            volume.make(ROOT, name, &new(FileKind::Directory), NOW)?;
            volume.remove_dir(ROOT, name, NOW)
        },
        FileKind::Symlink => |volume, name| {
            volume.make_symlink(ROOT, name, b"target", &new(FileKind::Symlink), NOW)?;
            volume.unlink(ROOT, name, NOW)
        },
        FileKind::Fifo => |volume, name| {
            volume.make(ROOT, name, &new(FileKind::Fifo), NOW)?;
            volume.unlink(ROOT, name, NOW)
        },
        _ => |volume, name| {
            volume.make(ROOT, name, &new(FileKind::File), NOW)?;
            volume.unlink(ROOT, name, NOW)
        },
    }
}

#[test]
fn files_that_come_and_go_use_up_no_numbers() {
    let written: Passing = |volume, name| {
        let ino = volume.make(ROOT, name, &new(FileKind::File), NOW)?.ino;
        volume.write(ino, 0, &[1; 5_000], NOW)?;
        volume.fsync(ino)?;
        volume.set_attribute(ino, b"user.long", &[2; 900], SetAttribute::Any, NOW)?;
        volume.unlink(ROOT, name, NOW)
    };
    // A file that is written beside another, and renamed over it.
    let saved: Passing = |volume, name| {
        let ino = volume.make(ROOT, name, &new(FileKind::File), NOW)?.ino;
        volume.write(ino, 0, b"contents", NOW)?;
        volume.rename((ROOT, name), (ROOT, b"saved"), Rename::Replace, NOW)
    };
    let kinds = [FileKind::File, FileKind::Directory, FileKind::Symlink, FileKind::Fifo].map(passing);
    for (number, pass) in kinds.into_iter().chain([written, saved]).enumerate() {
        let mut volume = fresh(&SMALL, 900);
        let nodes = volume.space().files;
        for round in 0..3 * nodes {
            let told = volume.space().files_free;
            pass(&mut volume, format!("tmp{}", round % 7).as_bytes()).unwrap_or_else(|error| {
                panic!("kind {number}, round {round} of {nodes}: {error}, {told} told as free")
            });
        }
        assert_eq!(volume.check().unwrap(), []);
    }
}

#[test]
fn a_full_table_takes_as_many_files_as_statfs_tells_at_once() {
    let mut volume = fresh(&SMALL, 1_500);
    let mut made = 0;
    while volume.make(ROOT, format!("f{made}").as_bytes(), &new(FileKind::File), NOW).is_ok() {
        made += 1;
    }
    let space = volume.space();
    assert_eq!((space.files_free, space.free > 100), (0, true), "the table is full, and not the device: {made}");
    volume.sync().unwrap();
    for gone in 0..20 {
        volume.unlink(ROOT, format!("f{gone}").as_bytes(), NOW).unwrap();
    }
    assert_eq!(volume.space().files_free, 20);
    for again in 0..20 {
        volume.make(ROOT, format!("g{again}").as_bytes(), &new(FileKind::File), NOW).unwrap();
    }
    assert_eq!(volume.make(ROOT, b"one more", &new(FileKind::File), NOW), Err(FsError::NoSpace));
    assert_eq!(volume.check().unwrap(), []);
}

/// All that can be known of a file: name, attributes, data and where they lie, extended attributes.
type Known = (String, Attr, Vec<(u64, Vec<u8>)>, Vec<(Vec<u8>, Vec<u8>)>);

/// The data of a file, without its holes.
fn data(volume: &mut Volume<Cuts>, ino: Ino) -> Vec<(u64, Vec<u8>)> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Ok(from) = volume.seek(ino, at, Seek::Data) {
        let end = volume.seek(ino, from, Seek::Hole).unwrap();
        all.push((from, volume.read(ino, from, (end - from) as usize).unwrap()));
        at = end;
    }
    all
}

fn known(volume: &mut Volume<Cuts>) -> Vec<Known> {
    let (mut all, mut todo) = (Vec::new(), vec![(ROOT, String::new())]);
    while let Some((ino, path)) = todo.pop() {
        let attr = volume.attr(ino).unwrap();
        let data = match attr.kind {
            FileKind::File => data(volume, ino),
            FileKind::Symlink => vec![(0, volume.read_link(ino).unwrap())],
            FileKind::Directory => {
                let entries = volume.read_dir(ino, 0, usize::MAX).unwrap();
                let below = entries.iter().filter(|entry| !matches!(entry.name.as_slice(), b"." | b".."));
                todo.extend(below.map(|entry| (entry.ino, format!("{path}/{}", String::from_utf8_lossy(&entry.name)))));
                Vec::new()
            }
            _ => Vec::new(),
        };
        let names = volume.attribute_names(ino).unwrap();
        let attributes = names.into_iter().map(|name| (name.clone(), volume.attribute(ino, &name).unwrap())).collect();
        all.push((path, attr, data, attributes));
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

/// A call on the files of [`crowd`].
type Act = fn(&mut Volume<Cuts>, fn(&mut Volume<Cuts>, &str) -> Ino) -> Result<(), FsError>;

fn at(volume: &mut Volume<Cuts>, path: &str) -> Ino {
    path.split('/').fold(ROOT, |dir, name| volume.lookup(dir, name.as_bytes()).unwrap())
}

fn long(number: usize) -> Vec<u8> {
    format!("{number:03}{}", "n".repeat(250)).into_bytes()
}

/// Files in all states in which a call may need room for something.
fn crowd(volume: &mut Volume<Cuts>) {
    let mut file = |name: &[u8], parts: &[(u64, usize)]| {
        let ino = volume.make(ROOT, name, &new(FileKind::File), NOW).unwrap().ino;
        for (at, bytes) in parts {
            assert_eq!(volume.write(ino, *at, &vec![7; *bytes], NOW), Ok(*bytes));
        }
        ino
    };
    file(b"empty", &[]);
    file(b"tiny", &[(0, 100)]);
    file(b"small", &[(0, 3_000)]);
    file(b"mid", &[(0, 30_000)]);
    // Pointers in the inode, and nodes of each level.
    file(b"sparse", &[(9_000, 5_000), (5_000_000, 5_000), (12_000_000, 9_000), (5_000_000_000, 100)]);
    let promised = file(b"promised", &[(100, 50)]);
    let attributed = file(b"attributed", &[(0, 9_000)]);
    volume.allocate(promised, 8_192, 40_000, Allocate::KeepSize, NOW).unwrap();
    volume.set_attribute(attributed, b"security.capability", &[1; 20], SetAttribute::Any, NOW).unwrap();
    for (dir, names) in [(b"dir".as_slice(), 12), (b"other", 1), (b"none", 0)] {
        let dir = volume.make(ROOT, dir, &new(FileKind::Directory), NOW).unwrap().ino;
        for number in 0..names {
            volume.make(dir, &long(number), &new(FileKind::File), NOW).unwrap();
        }
    }
}

/// Calls that may find no room at one of several steps.
const ACTS: &[(&str, Act)] = &[
    ("write that stays in the inode", |volume, at| {
        let ino = at(volume, "tiny");
        volume.write(ino, 50, &[9; 200], LATER).map(drop)
    }),
    ("write that leaves the inode", |volume, at| {
        let ino = at(volume, "small");
        volume.write(ino, 2_900, &[9; 9_000], LATER).map(drop)
    }),
    ("write far beyond the inode", |volume, at| {
        let ino = at(volume, "small");
        volume.write(ino, 20_000_000, &[9; 9_000], LATER).map(drop)
    }),
    ("write below a node that is missing", |volume, at| {
        let ino = at(volume, "mid");
        volume.write(ino, 4_000_000_000, &[9; 100], LATER).map(drop)
    }),
    ("truncate out of the inode", |volume, at| {
        let ino = at(volume, "small");
        volume.truncate(ino, 4_000_000_000, LATER)
    }),
    ("truncate in a block", |volume, at| {
        let ino = at(volume, "mid");
        volume.truncate(ino, 10_001, LATER)
    }),
    ("truncate to more", |volume, at| {
        let ino = at(volume, "sparse");
        volume.truncate(ino, 6_000_000_001, LATER)
    }),
    ("allocate out of the inode", |volume, at| {
        let ino = at(volume, "small");
        volume.allocate(ino, 1_000, 30_000, Allocate::Grow, LATER)
    }),
    ("allocate around what is there", |volume, at| {
        let ino = at(volume, "sparse");
        volume.allocate(ino, 4_990_000, 60_000, Allocate::KeepSize, LATER)
    }),
    ("allocate across nodes", |volume, at| {
        let ino = at(volume, "mid");
        volume.allocate(ino, 3_500_000, 150_000, Allocate::Grow, LATER)
    }),
    ("punch in the inode", |volume, at| {
        let ino = at(volume, "small");
        volume.allocate(ino, 10, 9_000, Allocate::PunchHole, LATER)
    }),
    ("punch", |volume, at| {
        let ino = at(volume, "sparse");
        volume.allocate(ino, 10_000, 5_000_500, Allocate::PunchHole, LATER)
    }),
    ("zero out of the inode", |volume, at| {
        let ino = at(volume, "small");
        volume.allocate(ino, 2_000, 30_000, Allocate::Zero, LATER)
    }),
    ("zero out of the inode and keep the size", |volume, at| {
        let ino = at(volume, "tiny");
        volume.allocate(ino, 50, 70_000, Allocate::ZeroKeepSize, LATER)
    }),
    ("zero from the middle of a block on", |volume, at| {
        let ino = at(volume, "mid");
        volume.allocate(ino, 5_000, 60_000, Allocate::Zero, LATER)
    }),
    ("zero around what is there", |volume, at| {
        let ino = at(volume, "sparse");
        volume.allocate(ino, 4_990_000, 60_000, Allocate::ZeroKeepSize, LATER)
    }),
    ("a long attribute", |volume, at| {
        let ino = at(volume, "attributed");
        volume.set_attribute(ino, b"user.long", &[3; 1_000], SetAttribute::Any, LATER)
    }),
    ("an attribute is removed", |volume, at| {
        let ino = at(volume, "attributed");
        volume.remove_attribute(ino, b"security.capability", LATER)
    }),
    ("make", |volume, _| volume.make(ROOT, b"made", &new(FileKind::File), LATER).map(drop)),
    ("make a directory", |volume, _| volume.make(ROOT, b"made", &new(FileKind::Directory), LATER).map(drop)),
    ("make in a full block", |volume, at| {
        let dir = at(volume, "dir");
        volume.make(dir, &long(99), &new(FileKind::Fifo), LATER).map(drop)
    }),
    ("symlink", |volume, _| volume.make_symlink(ROOT, b"made", b"short", &new(FileKind::Symlink), LATER).map(drop)),
    ("long symlink in a full block", |volume, at| {
        let dir = at(volume, "dir");
        volume.make_symlink(dir, &long(99), &[b'l'; 4_000], &new(FileKind::Symlink), LATER).map(drop)
    }),
    ("link", |volume, at| {
        let ino = at(volume, "mid");
        volume.link(ino, ROOT, b"made", LATER).map(drop)
    }),
    ("link in a full block", |volume, at| {
        let (ino, dir) = (at(volume, "mid"), at(volume, "dir"));
        volume.link(ino, dir, &long(99), LATER).map(drop)
    }),
    ("unlink", |volume, _| volume.unlink(ROOT, b"sparse", LATER)),
    ("owner", |volume, at| {
        let ino = at(volume, "attributed");
        let set = wane_fs::SetAttr { uid: Some(9), permissions: Some(0o700), ..wane_fs::SetAttr::default() };
        volume.set_attr(ino, &set, LATER).map(drop)
    }),
];

/// Renames, which a full volume takes from what it holds back for them.
const RENAMES: &[(&str, Act)] = &[
    ("rename", |volume, _| volume.rename((ROOT, b"mid"), (ROOT, b"renamed"), Rename::Replace, LATER)),
    ("rename over another", |volume, _| volume.rename((ROOT, b"tiny"), (ROOT, b"sparse"), Rename::Replace, LATER)),
    ("rename into a full block", |volume, at| {
        let dir = at(volume, "dir");
        volume.rename((dir, &long(3)), (dir, &long(99)), Rename::NoReplace, LATER)
    }),
    ("rename into a directory without blocks", |volume, at| {
        let (dir, none) = (at(volume, "dir"), at(volume, "none"));
        volume.rename((dir, &long(3)), (none, &long(99)), Rename::Replace, LATER)
    }),
    ("rename of a directory", |volume, at| {
        let dir = at(volume, "dir");
        volume.rename((ROOT, b"other"), (dir, &long(99)), Rename::Replace, LATER)
    }),
    ("exchange", |volume, at| {
        let (dir, other) = (at(volume, "dir"), at(volume, "other"));
        volume.rename((dir, &long(3)), (other, &long(0)), Rename::Exchange, LATER)
    }),
];

/// Leaves `free` blocks to users.
fn leave(volume: &mut Volume<Cuts>, free: u64) {
    let ballast = volume.make(ROOT, b"ballast", &new(FileKind::File), NOW).unwrap().ino;
    let block = u64::from(volume.space().block_bytes);
    let mut end = 0;
    // Its own nodes count, too.
    while volume.space().free > free {
        let part = (volume.space().free - free).div_ceil(2) * block;
        volume.allocate(ballast, end, part, Allocate::KeepSize, NOW).unwrap();
        end += part;
    }
    assert_eq!(volume.space().free, free);
}

/// Makes a call on copies of an image. Returns whether it found room; if not, nothing may have changed.
fn tried(image: &Image, (name, act): &(&str, Act), told: &str) -> bool {
    let mut volume = mounted(image);
    let before = (known(&mut volume), volume.space());
    let answer = act(&mut volume, at);
    let has_room = match answer {
        Ok(()) => true,
        Err(FsError::NoSpace) => {
            assert!(before.0 == known(&mut volume), "{name} with {told}: changed something");
            assert_eq!(before.1, volume.space(), "{name} with {told}: took room");
            false
        }
        Err(error) => panic!("{name} with {told}: {error}"),
    };
    assert_eq!(volume.check().unwrap(), [], "{name} with {told}");
    let after = known(&mut volume);
    volume.sync().unwrap();
    assert_eq!((volume.check().unwrap(), volume.mode()), (vec![], Mode::ReadWrite), "{name} with {told}");
    assert!(after == known(&mut mounted(volume.port().durable())), "{name} with {told}: is another after a mount");
    has_room
}

/// Images of a crowd, each with the number of blocks for which it leaves room.
fn crowded(config: &FormatConfig) -> Vec<(u64, Image)> {
    let mut volume = fresh(config, 800);
    crowd(&mut volume);
    volume.sync().unwrap();
    let image = volume.port().durable().clone();
    let at_level = |free| {
        let mut volume = mounted(&image);
        leave(&mut volume, free);
        volume.sync().unwrap();
        (free, volume.port().durable().clone())
    };
    (0..14).chain([20, 36, 37, 38, 39, 44]).map(at_level).collect()
}

/// At how many levels there is not enough: at the higher ones there is.
fn need(found: impl Iterator<Item = bool>, name: &str) -> usize {
    let found: Vec<bool> = found.collect();
    let first = found.iter().position(|found| *found).unwrap_or(found.len());
    assert!(first < found.len() && found[first..].iter().all(|found| *found), "{name}: {found:?}");
    first
}

#[test]
fn a_call_that_finds_no_blocks_changes_nothing() {
    for config in [&SMALL, &CHECKED] {
        let levels = crowded(config);
        let mut refused = 0;
        for act in ACTS {
            refused += need(levels.iter().map(|(free, image)| tried(image, act, &format!("{free} blocks"))), act.0);
        }
        assert!(refused > 100, "{refused}");
        for (free, image) in &levels {
            for act in RENAMES {
                assert!(tried(image, act, &format!("{free} blocks")), "{} with {free} blocks", act.0);
            }
        }
    }
}

#[test]
fn a_call_that_finds_no_numbers_changes_nothing() {
    let mut volume = fresh(&SMALL, 1_500);
    crowd(&mut volume);
    let mut made = 0;
    while volume.space().files_free > 8 {
        volume.make(ROOT, format!("f{made}").as_bytes(), &new(FileKind::File), NOW).unwrap();
        made += 1;
    }
    volume.sync().unwrap();
    let image = volume.port().durable().clone();
    let at_level = |left: u64| {
        let mut volume = mounted(&image);
        for number in left..volume.space().files_free {
            volume.make(ROOT, format!("g{number}").as_bytes(), &new(FileKind::File), NOW).unwrap();
        }
        volume.sync().unwrap();
        volume.port().durable().clone()
    };
    let levels: Vec<Image> = (0..=8).map(at_level).collect();
    let mut refused = 0;
    for act in ACTS {
        let found = (0..).zip(&levels).map(|(left, image)| tried(image, act, &format!("{left} numbers")));
        refused += need(found, act.0);
    }
    assert!(refused > 8, "{refused}");
    for (left, image) in (0..).zip(&levels) {
        for act in RENAMES {
            assert!(tried(image, act, &format!("{left} numbers")), "{} with {left} numbers", act.0);
        }
    }
}

/// A call that does all or nothing, and a whiteout, which needs an inode of its own.
#[test]
fn whole_writes_and_whiteouts_are_all_or_nothing() {
    let acts: [(&str, Act); 6] = [
        ("a whole write that leaves the inode", |volume, at| {
            let ino = at(volume, "small");
            volume.write_whole(ino, 2_900, &[9; 30_000], LATER)
        }),
        ("a whole write below missing nodes", |volume, at| {
            let ino = at(volume, "sparse");
            volume.write_whole(ino, 4_990_000, &[9; 30_000], LATER)
        }),
        ("a whole write over what is there", |volume, at| {
            let ino = at(volume, "mid");
            volume.write_whole(ino, 100, &[9; 29_000], LATER)
        }),
        ("size and owner", |volume, at| {
            let ino = at(volume, "small");
            let set =
                wane_fs::SetAttr { size: Some(9_000), uid: Some(9), permissions: Some(0o600), ..Default::default() };
            volume.set_attr(ino, &set, LATER).map(drop)
        }),
        ("whiteout", |volume, _| {
            volume.rename((ROOT, b"mid"), (ROOT, b"tiny"), Rename::Whiteout { uid: 1, gid: 2 }, LATER)
        }),
        ("whiteout into a full block", |volume, at| {
            let dir = at(volume, "dir");
            volume.rename((ROOT, b"mid"), (dir, &long(99)), Rename::Whiteout { uid: 1, gid: 2 }, LATER)
        }),
    ];
    let levels = crowded(&SMALL);
    let refused: usize = acts
        .iter()
        .map(|act| need(levels.iter().map(|(free, image)| tried(image, act, &format!("{free} blocks"))), act.0))
        .sum();
    assert!(refused > 15, "{refused}");
    let mut volume = mounted(&levels[19].1);
    acts[4].1(&mut volume, at).unwrap();
    let out = at(&mut volume, "mid");
    let attr = volume.attr(out).unwrap();
    assert_eq!((attr.kind, attr.rdev, attr.uid, attr.gid, attr.links), (FileKind::CharDevice, 0, 1, 2, 1));
    let there = at(&mut volume, "tiny");
    assert_eq!(data(&mut volume, there), [(0, vec![7; 30_000])]);
    // What nobody can write whole is as it was, and goes on to be written in part.
    let mut volume = mounted(&levels[3].1);
    let ino = at(&mut volume, "mid");
    assert_eq!(volume.write_whole(ino, 30_000, &[9; 60_000], LATER), Err(FsError::NoSpace));
    assert_eq!(volume.attr(ino).unwrap().size, 30_000);
    assert_eq!(volume.write(ino, 30_000, &[9; 60_000], LATER), Ok(2_768 + 3 * 4_096));
}
