use std::fs;
use std::path::Path;

use wane_archive::{Archive, ArchiveError, Writer};

use super::*;

/// The state of these tests: a number and a table.
fn write(number: u64) -> impl FnOnce(&mut Writer<File>) -> Result<(), ArchiveError> {
    move |writer| {
        let archive = writer as &mut dyn Archive;
        archive.field("number", &mut { number })?;
        archive.fixed("table", &mut [number; 1000])
    }
}

fn read(folder: &DriveFolder) -> Result<u64, ShelfError> {
    folder.read(|reader| {
        let archive = reader as &mut dyn Archive;
        let mut number = 0;
        archive.field("number", &mut number)?;
        archive.fixed("table", &mut [0u64; 1000])?;
        Ok(number)
    })
}

fn create(path: &Path, number: u64) -> DriveFolder {
    DriveFolder::create(path, Manifest::new("seed = 1\n".to_owned()), write(number)).unwrap()
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
    assert_eq!(read(&folder).unwrap(), 7);
    let manifest = Manifest { history: vec!["aged".to_owned()], ..folder.manifest().clone() };
    folder.save(manifest, write(8)).unwrap();
    assert_eq!(names(&path), ["drive.json", "lock", "state.2"]);
    drop(folder);
    let again = DriveFolder::open(&path).unwrap();
    assert_eq!((read(&again).unwrap(), &again.manifest().history[..]), (8, &["aged".to_owned()][..]));
    assert_eq!(names(place.path()), ["a.wane"]);
}

#[test]
fn a_save_that_fails_leaves_the_drive_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let mut folder = create(&path, 7);
    let full = |writer: &mut Writer<File>| {
        write(9)(writer)?;
        Err(ArchiveError::Io(io::ErrorKind::StorageFull.into()))
    };
    let error = folder.save(folder.manifest().clone(), full).unwrap_err().to_string();
    let shown = path.display();
    let wanted =
        format!("{shown} cannot be saved: the disk is full; free some space and run again; the drive is as it was");
    assert_eq!(error, wanted);
    assert_eq!((read(&folder).unwrap(), names(&path)), (7, vec!["drive.json".into(), "lock".into(), "state.1".into()]));
    // A process that was killed leaves more, and the next one removes it.
    fs::write(path.join("state.2"), "half").unwrap();
    fs::write(path.join("state.3.part"), "half").unwrap();
    fs::write(path.join("state.mine"), "another's").unwrap();
    drop(folder);
    let again = DriveFolder::open(&path).unwrap();
    assert_eq!(
        (read(&again).unwrap(), names(&path)[2..].to_vec()),
        (7, vec!["state.1".to_owned(), "state.mine".to_owned()])
    );
    let refused = DriveFolder::create(&place.path().join("b.wane"), Manifest::new(String::new()), full);
    assert!(refused.is_err());
    assert_eq!(names(place.path()), ["a.wane"]);
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
    assert_eq!((read(&parent).unwrap(), read(&child).unwrap()), (9, 8));
    assert_eq!(child.manifest().history, ["forked"]);
    drop(parent);
    fs::remove_dir_all(&one).unwrap();
    assert_eq!(read(&child).unwrap(), 8);
    let error = child.fork(&two, |_| {}).unwrap_err().to_string();
    assert_eq!(error, format!("{} is there already; give another name, or remove it", two.display()));
}

#[test]
fn a_drive_is_open_once_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let folder = create(&path, 7);
    let error = DriveFolder::open(&path).unwrap_err().to_string();
    assert_eq!(error, format!("{} is in use by another process; wait until that has ended", path.display()));
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
    // White space between the fields may be another one.
    assert!(harmless < bytes.len(), "{harmless} of {} bits", bytes.len() * 8);
}

#[test]
fn a_flipped_bit_in_any_byte_of_the_state_is_found() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    let folder = create(&path, 7);
    let bytes = fs::read(path.join("state.1")).unwrap();
    for byte in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[byte] ^= 1 << (byte % 8);
        fs::write(path.join("state.1"), &flipped).unwrap();
        let refused = folder.fork(&place.path().join("fork.wane"), |_| {}).map(drop);
        assert!(matches!(refused, Err(ShelfError::State { .. })), "byte {byte}");
        let error = read(&folder).unwrap_err().to_string();
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
    change("\"version\": 1", "\"version\": 2, \"new\": 3");
    assert_eq!(
        refused(),
        format!("{shown}/drive.json: it is of version 2; this wane reads versions up to 1, so use a later one")
    );
    change("seed = 1", "seed = 2");
    assert_eq!(
        refused(),
        format!("{shown}/drive.json: its checksum does not agree with it: the file is damaged, or was edited")
    );
    change("", "");
    let state = fs::read(path.join("state.1")).unwrap();
    fs::write(path.join("state.1"), &state[..state.len() / 2]).unwrap();
    let folder = DriveFolder::open(&path).unwrap();
    let (half, whole) = (state.len() / 2, state.len());
    let error = read(&folder).unwrap_err().to_string();
    assert_eq!(error, format!("{shown}/state.1 has {half} B, and was written with {whole} B: it is damaged"));
}
