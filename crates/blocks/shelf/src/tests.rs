use std::fs;
use std::path::Path;

use wane_archive::{Archive, ArchiveError, Writer};
use wane_folder::{Failing, Simulated};

use super::*;

/// The state of these tests: a number and a table.
fn write(number: u64) -> impl FnOnce(&mut Writer<Box<dyn Output>>) -> Result<(), ArchiveError> {
    move |writer| {
        let archive = writer as &mut dyn Archive;
        archive.field("number", &mut { number })?;
        archive.fixed("table", &mut [number; 1000])
    }
}

fn read(folder: &mut DriveFolder) -> Result<u64, ShelfError> {
    folder.read(|reader| {
        let archive = reader as &mut dyn Archive;
        let mut number = 0;
        archive.field("number", &mut number)?;
        archive.fixed("table", &mut [0u64; 1000])?;
        Ok(number)
    })
}

fn create(path: &Path, number: u64) -> DriveFolder {
    DriveFolder::create(path, Manifest::new("seed = 1\n".to_owned()), |writer, _| write(number)(writer)).unwrap()
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_drive_is_created_saved_and_opened_again() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut folder = create(&path, 7);
    assert_eq!(read(&mut folder).unwrap(), 7);
    let manifest = Manifest { history: vec!["aged".to_owned()], ..folder.manifest().clone() };
    folder.save(manifest, write(8)).unwrap();
    assert_eq!(names(&path), ["drive.json", "lock", "state.2"]);
    drop(folder);
    let mut again = DriveFolder::open(&path).unwrap();
    assert_eq!(read(&mut again).unwrap(), 8);
    assert_eq!(again.manifest().history, ["aged"]);
    assert_eq!(names(place.path()), ["a.wane"]);
}

#[test]
fn a_save_that_fails_leaves_the_drive_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut folder = create(&path, 7);
    let full = |writer: &mut Writer<Box<dyn Output>>| {
        write(9)(writer)?;
        Err(ArchiveError::Io(io::ErrorKind::StorageFull.into()))
    };
    let error = folder.save(folder.manifest().clone(), full).unwrap_err().to_string();
    let shown = path.display();
    let wanted =
        format!("{shown} cannot be saved: the disk is full; free some space and run again; the drive is as it was");
    assert_eq!(error, wanted);
    assert_eq!(
        (read(&mut folder).unwrap(), names(&path)),
        (7, vec!["drive.json".into(), "lock".into(), "state.1".into()])
    );
    // A process that was killed leaves more, and the next save removes it. To open and read changes nothing.
    fs::write(path.join("state.2"), "half").unwrap();
    fs::write(path.join("state.3.part"), "half").unwrap();
    fs::write(path.join("state.mine"), "another's").unwrap();
    drop(folder);
    let mut again = DriveFolder::open(&path).unwrap();
    let before = ["state.1", "state.2", "state.3.part", "state.mine"].map(str::to_owned);
    assert_eq!((read(&mut again).unwrap(), names(&path)[2..].to_vec()), (7, before.to_vec()));
    again.save(again.manifest().clone(), write(8)).unwrap();
    assert_eq!(names(&path)[2..], ["state.2".to_owned(), "state.mine".to_owned()]);
    drop(again);
    assert_eq!(read(&mut DriveFolder::open(&path).unwrap()).unwrap(), 8);
    let refused =
        DriveFolder::create(&place.path().join("b.wane"), Manifest::new(String::new()), |writer, _| full(writer));
    assert!(refused.is_err());
    assert_eq!(names(place.path()), ["a.wane"]);
}

#[test]
fn an_older_manifest_is_refused_and_nothing_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut folder = create(&path, 7);
    folder.save(folder.manifest().clone(), write(8)).unwrap();
    let older = fs::read(path.join(MANIFEST)).unwrap();
    let older_state = fs::read(path.join("state.2")).unwrap();
    folder.save(folder.manifest().clone(), write(9)).unwrap();
    drop(folder);
    let newest = fs::read(path.join(MANIFEST)).unwrap();
    // The older state is there too, as after a partial restore.
    fs::write(path.join("state.2"), older_state).unwrap();
    fs::write(path.join(MANIFEST), older).unwrap();
    let before = names(&path);
    let refused = DriveFolder::open(&path).unwrap_err().to_string();
    assert!(refused.contains("drive.json is of save 2, but the drive was saved 3 times"), "{refused}");
    assert_eq!(names(&path), before);
    fs::remove_file(path.join(LOCK)).unwrap();
    assert_eq!(read(&mut DriveFolder::open(&path).unwrap()).unwrap(), 8);
    fs::write(path.join(MANIFEST), newest).unwrap();
    assert_eq!(read(&mut DriveFolder::open(&path).unwrap()).unwrap(), 9);
    // A drive of a build that noted no save opens as before.
    fs::write(path.join(LOCK), "").unwrap();
    assert_eq!(read(&mut DriveFolder::open(&path).unwrap()).unwrap(), 9);
}

#[test]
fn a_fork_shares_its_files_and_goes_its_own_way() {
    let place = tempfile::tempdir().unwrap();
    let (one, two) = (place.path().join("one.wane"), place.path().join("two.wane"));
    let mut parent = create(&one, 7);
    let mut child = parent.fork(&two, |manifest| manifest.history.push("forked".to_owned())).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::metadata(two.join("state.1")).unwrap().nlink(), 2);
    }
    child.save(child.manifest().clone(), write(8)).unwrap();
    parent.save(parent.manifest().clone(), write(9)).unwrap();
    assert_eq!((read(&mut parent).unwrap(), read(&mut child).unwrap()), (9, 8));
    assert_eq!(child.manifest().history, ["forked"]);
    drop(parent);
    fs::remove_dir_all(&one).unwrap();
    assert_eq!(read(&mut child).unwrap(), 8);
    let error = child.fork(&two, |_| {}).unwrap_err().to_string();
    assert_eq!(error, format!("{} is there already; give another name, or remove it", two.display()));
}

#[test]
fn a_drive_is_open_once_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let folder = create(&path, 7);
    let error = DriveFolder::open(&path).unwrap_err().to_string();
    let holder = if cfg!(target_os = "linux") {
        format!("process {}", std::process::id())
    } else {
        "another process".to_owned()
    };
    assert_eq!(error, format!("{} is in use by {holder}; wait until that has ended", path.display()));
    drop(folder);
    DriveFolder::open(&path).unwrap();
}

#[test]
fn every_flipped_bit_of_a_manifest_is_found_or_harmless() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let manifest = create(&path, 7).manifest().clone();
    let bytes = fs::read(path.join(MANIFEST)).unwrap();
    let mut harmless = 0;
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(found) = Manifest::parse(&flipped) {
            assert_eq!(Manifest { checksum: manifest.checksum, ..found }, manifest, "bit {bit}");
            harmless += 1;
        }
    }
    // White space between the fields may differ.
    assert!(harmless < bytes.len(), "{harmless} of {} bits", bytes.len() * 8);
}

#[test]
fn a_flipped_bit_in_any_byte_of_the_state_is_found() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut folder = create(&path, 7);
    let bytes = fs::read(path.join("state.1")).unwrap();
    for byte in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[byte] ^= 1 << (byte % 8);
        fs::write(path.join("state.1"), &flipped).unwrap();
        let refused = folder.fork(&place.path().join("fork.wane"), |_| {}).map(drop);
        assert!(matches!(refused, Err(ShelfError::State { .. })), "byte {byte}");
        let error = read(&mut folder).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}/state.1 cannot be read: ", path.display())), "{error}");
    }
}

#[test]
fn what_is_no_drive_is_refused_in_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let refused = || DriveFolder::open(&path).unwrap_err().to_string();
    let shown = path.display();
    assert_eq!(refused(), format!("{shown}: there is no such drive"));
    fs::create_dir(&path).unwrap();
    assert_eq!(refused(), format!("{shown} is not a drive: it has no drive.json"));
    fs::remove_dir(&path).unwrap();
    drop(create(&path, 7));
    let text = fs::read_to_string(path.join("drive.json")).unwrap();
    let change = |from: &str, to: &str| fs::write(path.join("drive.json"), text.replace(from, to)).unwrap();
    change("\"version\": 4", "\"version\": 5, \"new\": 3");
    assert_eq!(
        refused(),
        format!("{shown}/drive.json: it has version 5; this wane reads versions up to 4, so use a later one")
    );
    change("seed = 1", "seed = 2");
    assert_eq!(
        refused(),
        format!("{shown}/drive.json: its checksum does not agree with it: the file is damaged, or was edited")
    );
    change("", "");
    let state = fs::read(path.join("state.1")).unwrap();
    fs::write(path.join("state.1"), &state[..state.len() / 2]).unwrap();
    let mut folder = DriveFolder::open(&path).unwrap();
    let (half, whole) = (state.len() / 2, state.len());
    let error = read(&mut folder).unwrap_err().to_string();
    assert_eq!(error, format!("{shown}/state.1 has {half} B, and was written with {whole} B: it is damaged"));
}

/// A state of eight pieces. Those before `changed` depend on `number`.
fn write_pieces(changed: u64, number: u64) -> impl FnOnce(&mut Writer<Box<dyn Output>>) -> Result<(), ArchiveError> {
    move |writer| {
        let table: Vec<u64> = (0..8 << 15).map(|at| if at >> 15 < changed { at * number } else { at }).collect();
        (writer as &mut dyn Archive).fixed("table", &mut table.clone())
    }
}

#[test]
fn a_drive_that_says_it_was_saved_more_often_than_can_be_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut manifest = create(&path, 7).manifest().clone();
    manifest.stored = Stored { number: u64::MAX, file: format!("state.{}", u64::MAX), ..manifest.stored };
    fs::write(path.join("drive.json"), manifest.text()).unwrap();
    let error = DriveFolder::open(&path).unwrap_err().to_string();
    assert!(
        error.ends_with("it says that the drive was saved 18446744073709551615 times: the file was edited"),
        "{error}"
    );
}

fn first_pieces(folder: &mut DriveFolder) -> Result<Vec<u64>, ShelfError> {
    folder.read(|reader| {
        let mut table = vec![0; 8 << 15];
        (reader as &mut dyn Archive).fixed("table", &mut table)?;
        Ok(table)
    })
}

#[test]
fn forks_and_saves_share_what_did_not_change() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut parent =
        DriveFolder::create(&path, Manifest::new(String::new()), |writer, _| write_pieces(0, 1)(writer)).unwrap();
    let mut child = parent.fork(&place.path().join("b.wane"), |_| {}).unwrap();
    first_pieces(&mut child).unwrap();
    let size = |folder: &DriveFolder, file: &str| fs::metadata(folder.path().join(file)).unwrap().len();
    let whole = size(&parent, "state.1");
    parent.save(parent.manifest().clone(), write_pieces(1, 3)).unwrap();
    child.save(child.manifest().clone(), write_pieces(2, 5)).unwrap();
    assert!(size(&parent, "state.2") < whole / 7 && size(&child, "state.2") < whole / 3);
    assert_eq!(names(child.path()), ["drive.json", "lock", "state.1", "state.2"]);
    let mut grandchild = child.fork(&place.path().join("c.wane"), |_| {}).unwrap();
    for (folder, changed, number) in [(&mut parent, 1, 3), (&mut child, 2, 5), (&mut grandchild, 2, 5)] {
        let found = first_pieces(folder).unwrap();
        assert!((0..).zip(found).all(|(at, word)| word == if at >> 15 < changed { at * number } else { at }));
    }
    // In the end one piece of eight of the first state is needed, and that piece is written again.
    child.save(child.manifest().clone(), write_pieces(7, 7)).unwrap();
    assert_eq!(names(child.path()), ["drive.json", "lock", "state.1", "state.3"]);
    child.save(child.manifest().clone(), write_pieces(7, 9)).unwrap();
    assert_eq!(names(child.path()), ["drive.json", "lock", "state.4"]);
    first_pieces(&mut child).unwrap();
    // Checksum and length of shared files are checked.
    drop(grandchild);
    let shared = place.path().join("c.wane/state.1");
    let mut bytes = fs::read(&shared).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::remove_file(&shared).unwrap();
    fs::write(&shared, &bytes).unwrap();
    let mut damaged = DriveFolder::open(&place.path().join("c.wane")).unwrap();
    let error = first_pieces(&mut damaged).unwrap_err().to_string();
    assert!(error.ends_with("it is damaged in \"table in state.1\""), "{error}");
    assert!(damaged.fork(&place.path().join("d.wane"), |_| {}).is_err());
    fs::write(&shared, &bytes[..middle]).unwrap();
    let error = first_pieces(&mut damaged).unwrap_err().to_string();
    assert!(error.contains("c.wane/state.1 has") && error.ends_with("it is damaged"), "{error}");
    fs::remove_file(&shared).unwrap();
    assert!(first_pieces(&mut damaged).unwrap_err().to_string().contains("c.wane/state.1 cannot be read"));
}

/// The index of a large state saves looking through it. A save has one of its own, a fork has its parent's, and without one, or with a damaged one, or
/// that of another state, all is as before.
#[test]
fn the_index_of_a_state_only_saves_reading() {
    let write = |number: u64| {
        move |writer: &mut Writer<Box<dyn Output>>| {
            let mut table: Vec<u64> =
                (0..80 << 15).map(|at| if at >> 15 < 3 { at * number } else { at >> 15 }).collect();
            (writer as &mut dyn Archive).fixed("table", &mut table)
        }
    };
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut drive = DriveFolder::create(&path, Manifest::new(String::new()), |writer, _| write(1)(writer)).unwrap();
    assert_eq!(names(&path), ["drive.json", "lock", "pieces.1", "state.1"]);
    drive.fork(&place.path().join("b.wane"), |_| {}).unwrap();
    assert_eq!(names(&place.path().join("b.wane")), ["drive.json", "lock", "pieces.1", "state.1"]);
    drive.read_late(|reader| reader.pieces_later("table", 80 << 18)).unwrap().unwrap();
    drive.save(drive.manifest().clone(), write(7)).unwrap();
    assert_eq!(names(&path), ["drive.json", "lock", "pieces.2", "state.1", "state.2"]);
    let index = fs::read(path.join("pieces.2")).unwrap();
    let mut damaged = index.clone();
    damaged[100] ^= 1;
    for held in
        [Some(index), Some(damaged), Some(Vec::new()), fs::read(place.path().join("b.wane/pieces.1")).ok(), None]
    {
        match held {
            Some(bytes) => fs::write(path.join("pieces.2"), bytes).unwrap(),
            None => fs::remove_file(path.join("pieces.2")).unwrap(),
        }
        let unread = drive.read_late(|reader| reader.pieces_later("table", 80 << 18)).unwrap().unwrap();
        let mut piece = vec![0; 1 << 18];
        unread[2].read(&mut piece).unwrap();
        assert_eq!(piece[8..16], ((2_u64 << 15) * 7 + 7).to_le_bytes());
    }
}

/// A state with tables of several pieces, some words of which change from save to save.
#[derive(Clone, Debug, PartialEq)]
struct Tables(Vec<u32>, Vec<u32>);

impl Tables {
    /// Sixty-four pieces, of which most repeat a word, so that the state has an index.
    fn new() -> Self {
        let mut first = vec![u32::MAX; 64 << 16];
        first[..3 << 16].iter_mut().zip(1u32..).for_each(|(word, at)| *word = at.wrapping_mul(2_654_435_761));
        Self(first, (0..70_000).collect())
    }

    fn change(&mut self, each: usize, by: u32) {
        let changed = self.0[..3 << 16].iter_mut().chain(&mut self.1).skip(by as usize).step_by(each);
        changed.for_each(|word| *word = word.wrapping_add(by));
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.fixed("first", &mut self.0)?;
        archive.fixed("second", &mut self.1)
    }

    fn save(&mut self, folder: &mut DriveFolder) -> Result<(), ShelfError> {
        folder.save(folder.manifest().clone(), |writer| self.archive(writer))
    }

    fn read(folder: &mut DriveFolder) -> Self {
        let mut found = Self(vec![0; 64 << 16], vec![0; 70_000]);
        folder.read(|reader| found.archive(reader)).unwrap();
        found
    }
}

/// A folder with the same files, which go on without each other.
fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in names(from) {
        if name == LOCK || fs::hard_link(from.join(&name), to.join(&name)).is_err() {
            fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
    }
}

/// A disk in memory with the files of a folder.
fn simulated(folder: &Path) -> Simulated {
    let disk = Simulated::default();
    for name in names(folder) {
        let written = replace(&disk, folder, &name, |mut output| {
            output.write_all(&fs::read(folder.join(&name)).unwrap())?;
            Ok::<_, io::Error>(output)
        });
        written.unwrap();
    }
    disk
}

/// Puts what such a disk has of a folder into a new one.
fn put_down(disk: &Simulated, folder: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in disk.names(folder).unwrap() {
        fs::write(to.join(&name), disk.read(&folder.join(&name)).unwrap()).unwrap();
    }
}

/// Whichever call of a save fails, by an error, a full disk or a kill, and if the machine stops then: the drive is what it was or what was saved, it can
/// be saved again, and nothing is left over. So it is where changes are listed, where pieces are written whole again, and for the first change.
#[test]
fn a_save_of_changes_is_whole_or_nothing_whatever_fails() {
    let place = tempfile::tempdir().unwrap();
    // Saves before the one that fails, and that one: each changes one word of N.
    let saves: [(&[usize], usize); 3] = [(&[], 50), (&[50, 50], 50), (&[50], 2)];
    for (number, (before, last)) in saves.into_iter().enumerate() {
        let path = place.path().join(format!("{number}.wane"));
        let mut tables = Tables::new();
        let mut folder =
            DriveFolder::create(&path, Manifest::new("seed = 1\n".to_owned()), |writer, _| tables.archive(writer))
                .unwrap();
        for (by, each) in before.iter().enumerate() {
            tables.change(*each, by as u32 + 1);
            tables.save(&mut folder).unwrap();
        }
        assert!(names(&path).iter().any(|name| name.starts_with(PIECES)), "{:?}", names(&path));
        drop(folder);
        let (old, mut new) = (tables.clone(), tables);
        new.change(last, 77);
        for failing in 0.. {
            let mut is_over = true;
            let error = if failing % 2 == 0 { Failing::Io } else { Failing::NoSpace };
            for how in [error, Failing::Killed(100)] {
                let case = format!("{number}: call {failing} fails by {how:?}");
                let (from, to) = (place.path().join("from.wane"), place.path().join("to.wane"));
                copied(&path, &from);
                let disk = simulated(&from);
                let mut folder = DriveFolder::open(&from).unwrap();
                assert!(Tables::read(&mut folder) == old);
                folder.disk = Arc::new(disk.clone());
                let calls = disk.calls();
                disk.fail(failing, how);
                let saved = new.clone().save(&mut folder).is_ok();
                is_over &= saved && disk.calls() <= calls + failing;
                drop(folder);
                let after = if failing % 2 == 0 { disk.clone() } else { disk.crashed(failing) };
                put_down(&after, &from, &to);
                let mut folder = DriveFolder::open(&to).unwrap();
                let found = Tables::read(&mut folder);
                assert!(found == new || (found == old && !saved), "{case}: neither is there");
                folder
                    .read_late(|reader| {
                        let words = [64 << 16, 70_000];
                        for (name, count) in ["first", "second"].into_iter().zip(words) {
                            assert!(reader.pieces_later(name, 4 * count)?.is_some(), "{case}");
                        }
                        Ok(())
                    })
                    .unwrap();
                let mut next = found;
                next.change(60, 5);
                next.save(&mut folder).unwrap();
                drop(folder);
                let mut folder = DriveFolder::open(&to).unwrap();
                assert!(Tables::read(&mut folder) == next, "{case}: the next save");
                let wanted: Vec<String> = folder.manifest.states().map(|stored| stored.file.clone()).collect();
                let left: Vec<String> = names(&to).into_iter().filter(|name| name.starts_with("state.")).collect();
                assert_eq!(left, wanted, "{case}");
                assert!(!names(&to).iter().any(|name| name.ends_with(UNFINISHED)), "{case}: {:?}", names(&to));
                drop(folder);
                [&from, &to].into_iter().for_each(|path| fs::remove_dir_all(path).unwrap());
            }
            if is_over {
                assert!(failing > 12, "each call was made to fail");
                break;
            }
        }
    }
}
