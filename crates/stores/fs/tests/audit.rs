//! Checkpoints that contradict themselves, with right checksums: each is told, or does no harm. What a cut of the power leaves is never taken for one.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use bed::cuts::{Cuts, Cutting, Image};
use wane_fs::{
    DataChecksums, FileKind, FormatConfig, FormatError, Ino, Mode, Moment, MountConfig, NewFile, Progress, ROOT, Trims,
    Volume, Way, format,
};
use wane_sim::Streams;

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };
const B: usize = 4096;
const ROOM: usize = B - 32;
const NOW: Moment = Moment { seconds: 9, nanos: 1 };
const FOOTER: u32 = u32::MAX;
/// The packs lie behind two segments.
const PACKS: std::ops::Range<u32> = 32..64;
/// Where an unmount notes its checkpoint.
const NOTE: usize = 17;
const NEW: NewFile = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };

fn port(image: &Image) -> Cuts {
    Cuts::new(image.clone(), PACKS, Streams::new(1).stream("cuts"))
}

fn mounted(image: &Image, mode: Mode, nonce: u32) -> Result<Volume<Cuts>, FormatError> {
    Volume::mount(port(image), &MountConfig { mode, trims: Trims::Never, ..MountConfig::new(nonce) })
}

fn pattern(number: u8) -> Vec<u8> {
    (0..usize::from(number) * 1500).map(|at| number.wrapping_add((at / 700) as u8)).collect()
}

fn name(number: u8) -> Vec<u8> {
    format!("file-{number}").into_bytes()
}

/// How the life of an image ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Unmounted,
    /// A file was synchronized after the last checkpoint, and one without a name was in use.
    Killed,
    /// Space is being given back.
    Shrinking,
}

/// An image of several lives, with 60 files, and each block of its tables in both copies.
fn image(end: End, config: &FormatConfig) -> Image {
    let mut image = format(port(&Image::new(B, 6000)), config, NOW, (0, 0)).unwrap().durable().clone();
    for round in 0..4_u8 {
        let mut volume = mounted(&image, Mode::ReadWrite, 1 + u32::from(round)).unwrap();
        // More segments and nodes change than journals take.
        let large = volume.make(ROOT, b"large", &NEW, NOW).unwrap().ino;
        volume.write(large, 0, &vec![round; 9 << 20], NOW).unwrap();
        for number in (1..=60).filter(|number| number % 4 == round) {
            let ino = volume.make(ROOT, &name(number), &NEW, NOW).unwrap().ino;
            volume.write(ino, 0, &pattern(number), NOW).unwrap();
        }
        for number in 0..130_u32 {
            let scratch = format!("scratch-{number}");
            let ino = volume.make(ROOT, scratch.as_bytes(), &NEW, NOW).unwrap().ino;
            volume.write(ino, 0, &[round; 100], NOW).unwrap();
        }
        volume.sync().unwrap();
        volume.unlink(ROOT, b"large", NOW).unwrap();
        for number in 0..130_u32 {
            volume.unlink(ROOT, format!("scratch-{number}").as_bytes(), NOW).unwrap();
        }
        image = volume.unmount().map_err(|(_, error)| error).unwrap().durable().clone();
    }
    let mut volume = mounted(&image, Mode::ReadWrite, 9).unwrap();
    match end {
        End::Unmounted => return volume.unmount().map_err(|(_, error)| error).unwrap().durable().clone(),
        End::Killed => {
            let gone = volume.make(ROOT, b"gone", &NEW, NOW).unwrap().ino;
            volume.write(gone, 0, &[4; 30_000], NOW).unwrap();
            volume.hold(gone);
            volume.unlink(ROOT, b"gone", NOW).unwrap();
            volume.sync().unwrap();
            let ino = volume.make(ROOT, b"synchronized", &NEW, NOW).unwrap().ino;
            volume.write(ino, 0, &pattern(33), NOW).unwrap();
            volume.fsync(ino).unwrap();
        }
        End::Shrinking => {
            let least = volume.least();
            volume.set_target(least + (1 << 20), Way::Remap).unwrap();
            assert!(matches!(volume.evacuate(10).unwrap(), Progress::More(_)));
        }
    }
    volume.into_port().durable().clone()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, number: u64, width: usize) {
    bytes[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
}

fn number_at(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut raw = [0; 8];
    raw[..width].copy_from_slice(&bytes[at..at + width]);
    u64::from_le_bytes(raw)
}

fn seal(bytes: &mut [u8], at: usize) {
    put(bytes, ROOM, 0, 4);
    let crc = crc32c::crc32c_append(crc32c::crc32c(bytes), &(at as u64).to_le_bytes());
    put(bytes, ROOM, crc.into(), 4);
}

/// The blocks of each pack with its version: those of its stream in order, and its footer.
fn packs(image: &Image) -> Vec<(u64, Vec<usize>, usize)> {
    let of = |first: usize| {
        let block = |at: usize| image.blocks[at].clone().unwrap();
        let (blocks, version) = (u32_at(&block(first), ROOM + 12) as usize, number_at(&block(first), ROOM + 24, 8));
        assert_eq!(u32_at(&block(first + blocks), ROOM + 8), FOOTER);
        (version, (first..first + blocks).collect(), first + blocks)
    };
    let mut all = vec![of(32), of(48)];
    all.sort();
    all
}

fn newest(image: &Image) -> (u64, Vec<usize>, usize) {
    packs(image).pop().unwrap()
}

/// The stream of the newest checkpoint.
fn stream(image: &Image) -> Vec<u8> {
    let (_, blocks, footer) = newest(image);
    let mut stream: Vec<u8> =
        blocks.iter().flat_map(|at| image.blocks[*at].as_ref().unwrap()[..ROOM].to_vec()).collect();
    stream.truncate(u32_at(image.blocks[footer].as_ref().unwrap(), 4) as usize);
    stream
}

/// Gives the newest checkpoint another stream, with all checksums.
fn forged(image: &Image, stream: &[u8]) -> Image {
    let (mut image, (_, blocks, footer)) = (image.clone(), newest(image));
    for (at, part) in blocks.iter().zip(stream.chunks(ROOM)) {
        let mut bytes = image.blocks[*at].as_ref().unwrap().to_vec();
        bytes[..part.len()].copy_from_slice(part);
        seal(&mut bytes, *at);
        image.blocks[*at] = Some(bytes.into());
    }
    let mut bytes = image.blocks[footer].as_ref().unwrap().to_vec();
    put(&mut bytes, 0, crc32c::crc32c(stream).into(), 4);
    seal(&mut bytes, footer);
    image.blocks[footer] = Some(bytes.into());
    // Its checksum would tell of any change.
    image.blocks[NOTE] = None;
    image
}

/// What a check says; nothing of what is sound.
fn findings(image: &Image) -> Vec<String> {
    match mounted(image, Mode::ReadOnly, 50) {
        Ok(mut volume) => volume.check().unwrap().iter().map(ToString::to_string).collect(),
        Err(error) => {
            assert!(error.is_damage(), "{error}");
            vec![error.to_string()]
        }
    }
}

/// Files that are not as they were put there.
fn changed(volume: &mut Volume<Cuts>, end: End) -> Vec<String> {
    let mut wanted: Vec<(Vec<u8>, Vec<u8>)> = (1..=60).map(|number| (name(number), pattern(number))).collect();
    if end == End::Killed {
        wanted.push((b"synchronized".to_vec(), pattern(33)));
    }
    let read = |volume: &mut Volume<Cuts>, name: &[u8]| {
        let ino = volume.lookup(ROOT, name)?;
        volume.read(ino, 0, 100_000)
    };
    wanted.retain(|(name, held)| read(volume, name).is_ok_and(|read| read == *held));
    let kept: Vec<Vec<u8>> = wanted.into_iter().map(|(name, _)| name).collect();
    let all = (1..=60).map(name).chain((end == End::Killed).then(|| b"synchronized".to_vec()));
    all.filter(|name| !kept.contains(name)).map(|name| String::from_utf8_lossy(&name).into_owned()).collect()
}

/// Mounts it, writes all over what is free, and returns what that cost. A mount that refuses costs nothing.
fn cost(image: &Image, end: End) -> Vec<String> {
    let Ok(mut volume) = mounted(image, Mode::ReadWrite, 60) else { return Vec::new() };
    if volume.mode() == Mode::ReadOnly {
        return Vec::new();
    }
    let write = |volume: &mut Volume<Cuts>| {
        for round in 0..3_u8 {
            let ino: Ino = volume.make(ROOT, &[b'n', round + b'0'], &NEW, NOW)?.ino;
            for at in 0..12_u64 {
                volume.write(ino, at * 60_000, &[0xE0 | round; 60_000], NOW)?;
                volume.fsync(ino)?;
            }
            volume.unlink(ROOT, &[b'n', round + b'0'], NOW)?;
            volume.sync()?;
        }
        let least = volume.least();
        let _refused = volume.set_target(least + (1 << 19), Way::Relocate);
        let mut steps = 0;
        while let Progress::More(_) = volume.evacuate(4096)? {
            steps += 1;
            assert!(steps < 50, "it does not end");
        }
        Ok::<(), wane_fs::FsError>(())
    };
    let _full = write(&mut volume);
    let mut lost = changed(&mut volume, end);
    let left = match volume.unmount() {
        Ok(port) | Err((port, _)) => port,
    };
    match Volume::mount(left, &MountConfig { mode: Mode::ReadOnly, ..MountConfig::new(61) }) {
        Ok(mut volume) => lost.extend(changed(&mut volume, end)),
        Err(error) => lost.push(error.to_string()),
    }
    lost
}

/// Where numbers of a stream begin, and how wide they are: all of the header, the logs and the bits of live copies; what follows by 2 bytes.
fn numbers(stream: &[u8]) -> Vec<(usize, usize)> {
    let mut all = vec![(0, 8), (8, 8), (16, 8)];
    all.extend((24..116).step_by(4).map(|at| (at, 4)));
    all.extend((116..130).map(|at| (at, 1)));
    all.extend((116..stream.len() - 4).step_by(26).map(|at| (at, 2)));
    all
}

/// Each number of a checkpoint becomes another one: the check finds it, or a mount that writes costs no file.
#[test]
fn a_number_of_a_checkpoint_that_is_wrong_is_found_or_does_no_harm() {
    let checked = FormatConfig { data_checksums: DataChecksums::Crc32c, ..SMALL };
    for (end, config) in [(End::Unmounted, &SMALL), (End::Killed, &checked), (End::Shrinking, &SMALL)] {
        let whole = image(end, config);
        assert_eq!(findings(&whole), Vec::<String>::new(), "{end:?}");
        assert_eq!(cost(&whole, end), Vec::<String>::new(), "{end:?}");
        let before = stream(&whole);
        let (mut found, mut harmless) = (0, Vec::new());
        for (at, width) in numbers(&before) {
            let old = number_at(&before, at, width);
            let most = u64::MAX >> (64 - 8 * width);
            for new in [0, 1, old.wrapping_sub(1) & most, old.wrapping_add(1) & most, 30, most, most - 1] {
                if new == old {
                    continue;
                }
                let mut stream = before.clone();
                put(&mut stream, at, new, width);
                let forged = forged(&whole, &stream);
                let told = findings(&forged);
                let lost = cost(&forged, end);
                assert_eq!(lost, Vec::<String>::new(), "{end:?}: {new} instead of {old} at {at}: {told:?}");
                if told.is_empty() {
                    harmless.push((at, old, new));
                } else {
                    found += 1;
                }
            }
        }
        assert!(found > 150, "{end:?}: {found} found, {harmless:?}");
    }
}

/// What a part of the newest checkpoint is found to be, if its block is damaged.
fn damaged(image: &Image, at: usize) -> Image {
    let mut image = image.clone();
    let mut bytes = image.blocks[at].as_ref().unwrap().to_vec();
    bytes[100] ^= 1;
    image.blocks[at] = Some(bytes.into());
    image
}

/// What a check says where the newest checkpoint is gone.
fn missing_of(version: u64) -> String {
    let before = version - 1;
    format!("the newest checkpoint, {version}, is damaged; what is newer than checkpoint {before} is missing")
}

#[test]
fn a_newest_checkpoint_that_is_damaged_is_told_whichever_block_it_is() {
    let whole = image(End::Unmounted, &SMALL);
    let (version, blocks, footer) = newest(&whole);
    let mut volume = mounted(&damaged(&whole, blocks[0]), Mode::ReadWrite, 70).unwrap();
    assert_eq!(volume.mode(), Mode::ReadOnly);
    let missing = missing_of(version);
    assert_eq!(volume.check().unwrap()[0].to_string(), missing);
    // Without anything of it the note still knows of it.
    let mut gone = whole.clone();
    blocks.iter().for_each(|at| gone.blocks[*at] = None);
    gone.blocks[footer] = None;
    assert_eq!(findings(&gone)[0], missing);
    // The note stands for a footer: nothing is missing, and what follows is written as ever.
    let mut volume = mounted(&damaged(&whole, footer), Mode::ReadWrite, 71).unwrap();
    let told = format!("the footer of the newest checkpoint, {version}, is damaged");
    assert_eq!(volume.notes().collect::<Vec<_>>(), [told.clone() + "; what was noted at the unmount is used"]);
    assert_eq!(volume.check().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>(), [told]);
    assert_eq!(volume.mode(), Mode::ReadWrite);
    assert_eq!(changed(&mut volume, End::Unmounted), Vec::<String>::new());
    let port = volume.unmount().map_err(|(_, error)| error).unwrap();
    assert_eq!(findings(port.durable()), Vec::<String>::new());
    // A note that is damaged says nothing.
    assert_eq!(findings(&damaged(&whole, NOTE)), Vec::<String>::new());
    // One of another file system at this place neither.
    let mut other = whole.clone();
    let mut bytes = other.blocks[NOTE].as_ref().unwrap().to_vec();
    put(&mut bytes, 8, 8, 1);
    put(&mut bytes, ROOM + 24, 900, 8);
    seal(&mut bytes, NOTE);
    other.blocks[NOTE] = Some(bytes.into());
    assert_eq!(findings(&other), Vec::<String>::new());
}

/// An image that was killed after files were synchronized, one after the other, with the blocks of their nodes.
fn synchronized(count: u8) -> (Image, Vec<usize>) {
    let mut volume = mounted(&image(End::Killed, &SMALL), Mode::ReadWrite, 75).unwrap();
    volume.make(ROOT, b"first", &NEW, NOW).unwrap();
    volume.sync().unwrap();
    let mut nodes = Vec::new();
    for number in 0..count {
        let before = volume.port().durable().clone();
        let ino = volume.make(ROOT, &[b'f', number + b'0'], &NEW, NOW).unwrap().ino;
        volume.write(ino, 0, &pattern(3), NOW).unwrap();
        volume.fsync(ino).unwrap();
        let now = volume.port().durable();
        let is_node = |at: &usize| now.blocks[*at].as_ref().is_some_and(|block| u32_at(block, ROOM + 8) == ino);
        let changed = (0..now.blocks.len()).filter(|at| now.blocks[*at] != before.blocks[*at]);
        nodes.extend(changed.filter(is_node));
    }
    assert_eq!(nodes.len(), usize::from(count), "each wrote one node");
    (volume.into_port().durable().clone(), nodes)
}

/// After a kill no note stands for a footer. What was written after the checkpoint was durable tells of it.
#[test]
fn a_footer_that_is_damaged_after_a_kill_is_told_by_what_followed() {
    let (whole, nodes) = synchronized(1);
    assert_eq!(findings(&whole), Vec::<String>::new());
    let (version, _, footer) = newest(&whole);
    assert_eq!(findings(&damaged(&whole, footer)), [missing_of(version)]);
    assert_eq!(mounted(&damaged(&whole, footer), Mode::ReadWrite, 76).unwrap().mode(), Mode::ReadOnly);
    // With nothing behind it, it could as well be one that the kill tore.
    assert_eq!(findings(&damaged(&damaged(&whole, footer), nodes[0])), Vec::<String>::new());
    // The first checkpoint of a mount: no number of the mount before leads to what followed it.
    let mut volume = mounted(&whole, Mode::ReadWrite, 79).unwrap();
    let ino = volume.make(ROOT, b"later", &NEW, NOW).unwrap().ino;
    volume.fsync(ino).unwrap();
    let later = volume.into_port().durable().clone();
    let (version, _, footer) = newest(&later);
    assert_eq!(findings(&damaged(&later, footer)), [missing_of(version)]);
    // Nothing is left of it, and the nodes' log goes on from the one before.
    let mut volume = mounted(&whole, Mode::ReadWrite, 77).unwrap();
    for number in 0..3_u8 {
        let ino = volume.make(ROOT, &[b'g', number + b'0'], &NEW, NOW).unwrap().ino;
        volume.sync().unwrap();
        volume.write(ino, 0, &pattern(2), NOW).unwrap();
        volume.fsync(ino).unwrap();
    }
    let mut gone = volume.into_port().durable().clone();
    let (version, last, footer) = newest(&gone);
    last.iter().chain([&footer]).for_each(|at| gone.blocks[*at] = None);
    assert_eq!(findings(&gone)[0], missing_of(version));
}

/// Each fsync ends with a flush: what lies behind the next one was durable.
#[test]
fn a_synchronized_file_whose_node_is_damaged_is_told_where_others_followed() {
    let (whole, nodes) = synchronized(4);
    let version = newest(&whole).0;
    for (at, is_known) in nodes.iter().zip([true, true, false, false]) {
        let told = format!(
            "a file that was synchronized after checkpoint {version} has its node at block {at}, which is damaged; what was synchronized from it on \
             is missing"
        );
        let wanted = if is_known { vec![told] } else { Vec::new() };
        assert_eq!(findings(&damaged(&whole, *at)), wanted, "{at}");
    }
    assert_eq!(mounted(&damaged(&whole, nodes[0]), Mode::ReadWrite, 78).unwrap().mode(), Mode::ReadOnly);
}

/// Where the one before is no use either, the sentence says what is wrong with the newest.
#[test]
fn a_checkpoint_that_cannot_be_is_told_without_another() {
    let whole = image(End::Unmounted, &SMALL);
    let mut stream = stream(&whole);
    put(&mut stream, 68, 40_000, 4);
    let mut forged = forged(&whole, &stream);
    packs(&whole)[0].1.iter().for_each(|at| forged.blocks[*at] = None);
    let told = findings(&forged);
    let wanted = "the checkpoint contradicts itself: the log of hot nodes is in segment 40000, and there are ";
    assert!(told.len() == 1 && told[0].starts_with(wanted), "{told:?}");
}

/// The power fails at each moment of an unmount, and of the first checkpoint after it: whatever is left is sound, and has all files.
#[test]
fn a_checkpoint_that_a_cut_tore_is_no_finding() {
    let mut looked = 0;
    for end in [End::Unmounted, End::Killed] {
        let whole = image(end, &SMALL);
        let mut volume = mounted(&whole, Mode::ReadWrite, 80).unwrap();
        volume.port_mut().cutting = Some(Cutting { each_of: 8, some: 30, every: 1, shrinks: false, without: None });
        for number in 0..30_u8 {
            let ino = volume.make(ROOT, format!("new-{number}").as_bytes(), &NEW, NOW).unwrap().ino;
            volume.write(ino, 0, &[number; 20_000], NOW).unwrap();
        }
        volume.sync().unwrap();
        let port = volume.unmount().map_err(|(_, error)| error).unwrap();
        for left in port.left.iter().chain([port.durable()]) {
            assert_eq!(findings(left), Vec::<String>::new(), "{end:?}");
            let mut volume = mounted(left, Mode::ReadWrite, 81).unwrap();
            assert_eq!((volume.mode(), changed(&mut volume, end)), (Mode::ReadWrite, vec![]), "{end:?}");
            looked += 1;
        }
    }
    assert!(looked > 150, "{looked}");
}

#[test]
fn a_summary_that_is_wrong_is_found() {
    let whole = image(End::Unmounted, &SMALL);
    let areas = mounted(&whole, Mode::ReadOnly, 90).unwrap().layout().areas;
    let area = areas.iter().find(|area| area.name == "summaries").unwrap();
    let sealed = (area.first..area.first + area.blocks).map(|at| at as usize).filter(|at| whole.blocks[*at].is_some());
    let (mut of_damaged, mut of_wrong) = (0, 0);
    for at in sealed {
        let told = findings(&damaged(&whole, at));
        of_damaged += told.len();
        assert!(told.iter().all(|told| told.contains("is damaged: its blocks cannot be moved")), "{told:?}");
        let mut wrong = whole.clone();
        let mut bytes = wrong.blocks[at].as_ref().unwrap().to_vec();
        (0..16).for_each(|place| put(&mut bytes, 6 * place, 77, 4));
        seal(&mut bytes, at);
        wrong.blocks[at] = Some(bytes.into());
        let told = findings(&wrong);
        of_wrong += told.len();
        assert!(told.iter().all(|told| told.contains("says place")), "{told:?}");
    }
    assert!(of_damaged > 10 && of_damaged == of_wrong, "{of_damaged} {of_wrong}");
}

/// The sentences name the field, what was found and what is right.
#[test]
fn findings_say_which_number_it_is() {
    let whole = image(End::Shrinking, &SMALL);
    let before = stream(&whole);
    let old = |at: usize| number_at(&before, at, 4);
    let target = old(52);
    let end = old(44);
    let cases: [(&[(usize, u64)], String); 8] = [
        (&[(12, 5)], "nodes written after it are to be of checkpoint 5, and it is".to_owned()),
        (&[(16, 1)], "1 blocks are charged, and".to_owned()),
        (&[(28, 3)], format!("3 nodes are counted, and {} are there", old(28))),
        (&[(32, 0)], "the search for a free node goes on at 0; from 1 to".to_owned()),
        (&[(44, end + 1)], format!("is damaged: it has {} sections, and its tables are for {end}", end + 1)),
        (&[(44, target), (48, target)], format!("it has {target} sections, and section")),
        (&[(52, 7)], format!("it is to have 7 sections; from 28 to {end} are allowed")),
        (&[(76, old(68))], "the logs of hot nodes and of warm nodes are both in section".to_owned()),
    ];
    for (edits, wanted) in cases {
        let mut stream = before.clone();
        edits.iter().for_each(|(at, new)| put(&mut stream, *at, *new, 4));
        let forged = forged(&whole, &stream);
        let told = findings(&forged);
        assert!(told.iter().any(|told| told.contains(&wanted)), "{edits:?}: {told:?}");
        // Wrong counts of nodes cost nothing.
        let mode = if matches!(edits[0].0, 28 | 32) { Mode::ReadWrite } else { Mode::ReadOnly };
        assert_eq!(mounted(&forged, Mode::ReadWrite, 95).unwrap().mode(), mode, "{edits:?}");
    }
    // Logs that go on inside blocks in use.
    let whole = image(End::Unmounted, &SMALL);
    let before = stream(&whole);
    let places = (0..6).map(|log| 72 + 8 * log).filter(|at| number_at(&before, *at, 4) > 0);
    let told: Vec<Vec<String>> = places
        .map(|at| {
            let mut stream = before.clone();
            put(&mut stream, at, 0, 4);
            findings(&forged(&whole, &stream))
        })
        .collect();
    assert!(told.iter().all(|told| told.iter().any(|told| told.contains("and it has owners of others"))), "{told:?}");
    let inside = |told: &Vec<String>| told.iter().any(|told| told.contains("goes on at block 0 of segment"));
    assert!(told.iter().filter(|told| inside(told)).count() >= 2, "{told:?}");
}
