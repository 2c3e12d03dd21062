use super::*;
use crate::codec;
use crate::layout::{Code, Layout};

const CODE: Code = Code { data: 2, parity: 1 };
const CELL: u32 = 256;

fn version(generation: u64) -> Version {
    Version { generation, upload: 9 }
}

fn plan(name: &str, generation: u64, share: u16) -> Plan {
    Plan { name: name.into(), version: version(generation), share, code: CODE, cell: CELL }
}

/// Writes a share of an object of three stripes, the last of which is short.
fn put(store: &Store, name: &str, generation: u64, share: u16) -> Key {
    let layout = Layout { code: CODE, cell: CELL, size: 2 * 512 + 100 };
    let plan = plan(name, generation, share);
    let key = plan.key();
    store.stage(plan).unwrap();
    for stripe in (0..3).rev() {
        let cell = layout.cell_bytes(stripe);
        store.write(&key, stripe, cell, None, &vec![stripe as u8; cell as usize]).unwrap();
    }
    store.seal(&key, layout.size, "sum", false).unwrap();
    key
}

fn file(folder: &Path, key: &Key) -> PathBuf {
    let name = file_name(key.object, key.version, Some(key.share));
    folder.join("shares").join(&key.object.to_string()[..2]).join(name)
}

#[test]
fn a_share_is_there_after_it_was_sealed_and_after_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive");
    let store = Store::open(&path, None).unwrap();
    let key = put(&store, "a", 1, 2);
    let id = store.id();
    let busy = Store::open(&path, None).err().unwrap().to_string();
    assert!(busy.contains("in use by another process"), "{busy}");
    drop(store);
    let store = Store::open(&path, None).unwrap();
    assert_eq!((store.id(), store.counts()), (id, (1, 0)));
    assert_eq!(store.read_block(&key, 1, 256, 1).unwrap(), vec![1; 128]);
    assert_eq!(store.read_block(&key, 2, 64, 1).unwrap(), vec![2; 64]);
    let header = store.header(&key).unwrap();
    assert_eq!((header.layout.size, header.share, &header.name[..]), (1124, 2, "a"));
    assert_eq!(disk::length(&file(&path, &key)).unwrap(), header.layout.file_bytes());
    drop(store);
    let other = Store::open(&path, Some(RingId::of_object("x"))).err().unwrap().to_string();
    assert!(other.contains("is drive"), "{other}");
}

#[test]
fn what_is_not_whole_is_not_sealed_and_gone_after_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    let key = plan("a", 1, 0).key();
    store.stage(plan("a", 1, 0)).unwrap();
    store.write(&key, 0, CELL, Some(1), &[7; 128]).unwrap();
    assert_eq!(store.read_block(&key, 0, CELL, 1).unwrap(), vec![7; 128]);
    assert!(matches!(store.read_block(&key, 0, CELL, 0), Err(ActorError::Rotten(_))));
    assert!(matches!(store.seal(&key, 512, "sum", false), Err(ActorError::Rotten(_))));
    assert_eq!(store.counts(), (0, 0));
    assert_eq!(store.being_written(), 1);
    drop(store);
    let store = Store::open(folder.path(), None).unwrap();
    assert!(matches!(store.read_block(&key, 0, CELL, 1), Err(ActorError::Missing(_))));
    assert!(disk::entries(&folder.path().join("staging")).unwrap().is_empty());
    store.stage(plan("a", 1, 0)).unwrap();
    store.expire(60).unwrap();
    assert_eq!(store.being_written(), 1);
    store.abort(&key).unwrap();
    assert_eq!(store.being_written(), 0);
}

#[test]
fn a_share_that_two_write_at_once_is_sealed_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    let key = plan("a", 1, 0).key();
    store.stage(plan("a", 1, 0)).unwrap();
    store.write(&key, 0, CELL, Some(0), &[7; 128]).unwrap();
    // The second does not take away what the first wrote.
    store.stage(plan("a", 1, 0)).unwrap();
    store.write(&key, 0, CELL, Some(1), &[7; 128]).unwrap();
    store.seal(&key, 512, "sum", false).unwrap();
    let late = store.seal(&key, 512, "sum", false).unwrap_err();
    assert!(matches!(late, ActorError::Missing(_)), "{late}");
    store.stage(plan("a", 1, 0)).unwrap();
    assert!(store.scrub(key.object).is_whole(), "who begins anew does not touch what is sealed");
}

#[test]
fn bytes_that_do_not_belong_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    let key = plan("a", 1, 0).key();
    assert!(store.write(&key, 0, CELL, None, &[0; 256]).unwrap_err().to_string().contains("not being written"));
    store.stage(plan("a", 1, 0)).unwrap();
    for (cell, block, bytes) in
        [(CELL, None, 255), (CELL, Some(2), 128), (CELL, Some(0), 64), (512, None, 512), (0, None, 0), (100, None, 100)]
    {
        let refused = store.write(&key, 0, cell, block, &vec![0; bytes]);
        assert!(matches!(refused, Err(ActorError::Invalid(_))), "{cell} {block:?} {bytes}");
    }
    assert!(store.write(&key, u64::MAX, CELL, None, &[0; 256]).is_err());
    assert!(store.stage(plan("a", 1, 3)).unwrap_err().to_string().contains("shares 0 to 2"));
    assert!(store.stage(Plan { cell: 1, ..plan("a", 1, 0) }).is_err());
}

#[test]
fn one_drive_keeps_one_share_of_an_object_unless_shares_move() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    put(&store, "a", 1, 0);
    put(&store, "a", 2, 1);
    let key = plan("a", 2, 2).key();
    store.stage(plan("a", 2, 2)).unwrap();
    let refused = store.seal(&key, 0, "sum", false).unwrap_err().to_string();
    assert!(refused.contains("keeps another share of a"), "{refused}");
    store.seal(&key, 0, "sum", true).unwrap();
    assert_eq!(store.kept(key.object).len(), 3);
    assert_eq!(store.held(key.object).unwrap()[0].version, version(2));
    assert_eq!(store.forget(key.object, |found, _| found < version(2)).unwrap(), 1);
}

/// A way to damage a file.
type Damage = fn(&Path);

#[test]
fn rotten_and_truncated_shares_are_found_and_set_aside() {
    let damages: [Damage; 6] = [
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[4500] ^= 1;
            fs::write(path, bytes).unwrap();
        },
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[40] ^= 1;
            fs::write(path, bytes).unwrap();
        },
        |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
        },
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes.push(0);
            fs::write(path, bytes).unwrap();
        },
        |path| fs::write(path, []).unwrap(),
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), None).unwrap();
        let (key, whole) = (put(&store, "a", 1, 1), put(&store, "b", 1, 0));
        assert_eq!(store.scrub(key.object), Found { whole: 1, ..Found::default() });
        damage(&file(folder.path(), &key));
        // What is seen without reading the blocks is not told to be kept.
        assert_eq!(store.held(key.object).unwrap().len(), usize::from(number == 0), "damage {number}");
        let found = store.scrub(key.object);
        assert_eq!((found.rotten, found.whole), (vec![(version(1), Some(1))], 0), "damage {number}");
        assert_eq!(store.scrub(whole.object), Found { whole: 1, ..Found::default() });
        assert_eq!(store.objects(None, 9), [whole.object]);
        assert_eq!(disk::entries(&folder.path().join("rotten")).unwrap().len(), 1);
    }
}

#[test]
fn a_file_that_is_gone_is_told_and_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    let (key, whole) = (put(&store, "a", 1, 1), put(&store, "b", 1, 0));
    assert_eq!((store.held(key.object).unwrap().len(), store.widest().unwrap()), (1, 3));
    fs::remove_file(file(folder.path(), &key)).unwrap();
    assert!(store.held(key.object).unwrap().is_empty(), "what is not there is not told");
    let found = store.scrub(key.object);
    assert_eq!((found.gone, found.rotten.len(), found.whole), (vec![(version(1), Some(1))], 0, 0));
    assert_eq!(store.objects(None, 9), [whole.object]);
    assert_eq!(store.widest().unwrap(), 3);
    put(&store, "a", 1, 1);
    assert!(store.scrub(key.object).is_whole() && store.kept(key.object).len() == 1);
    // What lies in a share's place is moved away when the share is made anew, and the second one of a name keeps its own.
    for number in 1..=2 {
        fs::remove_file(file(folder.path(), &key)).unwrap();
        fs::create_dir(file(folder.path(), &key)).unwrap();
        put(&store, "a", 1, 1);
        assert!(store.scrub(key.object).is_whole());
        assert_eq!(disk::entries(&folder.path().join("rotten")).unwrap().len(), number);
    }
}

#[test]
fn what_a_kill_leaves_beside_a_note_goes_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    let key = put(&store, "a", 1, 1);
    let note = file(folder.path(), &key).with_file_name(file_name(key.object, version(2), None) + ".part");
    let other = note.with_file_name("letter.part");
    fs::write(&note, "half").unwrap();
    fs::write(&other, "half").unwrap();
    drop(store);
    assert_eq!(Store::open(folder.path(), None).unwrap().counts(), (1, 0));
    assert!(!note.exists() && other.exists());
}

#[test]
fn a_drive_keeps_to_its_list_and_its_secret() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    assert!(store.members().unwrap().is_none());
    put(&store, "a", 1, 1);
    let gone = store.members().unwrap_err().to_string();
    assert!(gone.contains("members.json is gone, and the drive keeps 1 share; with --join"), "{gone}");
    for text in ["", "{\"cluster\": \"01"] {
        fs::write(folder.path().join("members.json"), text).unwrap();
        let cut = store.members().unwrap_err().to_string();
        assert!(cut.contains("members.json: no list of members") && cut.contains("with --join"), "{cut}");
    }
    store.check_open().unwrap();
    store.note_secret().unwrap();
    drop(store);
    let store = Store::open(folder.path(), None).unwrap();
    let refused = store.check_open().unwrap_err().to_string();
    assert!(refused.contains("drive.json says that its cluster has a secret: --secret-file"), "{refused}");
    store.note_secret().unwrap();
}

#[test]
fn deleted_objects_and_debts_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    let key = put(&store, "a", 1, 0);
    let header = store.header(&key).unwrap();
    store.bury(&Header { version: version(2), deleted: true, ..(*header).clone() }).unwrap();
    assert_eq!((store.widest().unwrap(), &store.kept_in_words()[..]), (3, "1 share and 1 note of a deletion"));
    store.owe("a").unwrap();
    store.owe("b").unwrap();
    drop(store);
    let store = Store::open(folder.path(), None).unwrap();
    assert_eq!(store.counts(), (1, 1));
    assert!(store.held(key.object).unwrap()[0].deleted);
    assert!(store.scrub(key.object).is_whole());
    assert_eq!(store.owed(), ["a", "b"]);
    // A note needs no drives to be handed on to, and is not told as shares.
    store.forget(key.object, |found, _| found < version(2)).unwrap();
    assert_eq!((store.counts(), store.widest().unwrap()), ((0, 1), 0));
    let gone = store.members().unwrap_err().to_string();
    assert!(gone.contains("members.json is gone, and the drive keeps 1 note of a deletion; with --join"), "{gone}");
    store.paid("a").unwrap();
    store.paid("never").unwrap();
    assert_eq!(store.owed(), ["b"]);
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("letter"), "mine").unwrap();
    let refused = Store::open(folder.path(), None).err().unwrap().to_string();
    assert!(refused.contains("is no drive's folder"), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn blocks_of_a_store_are_what_the_code_makes() {
    // The store writes what the codec makes in one call or block by block.
    let cell: Vec<Vec<u8>> = (0..2).map(|share| (0..CELL).map(|at| (at * 3 + share) as u8).collect()).collect();
    let sources = |range: std::ops::Range<usize>| -> Vec<u8> {
        codec::make(CODE, &[(0, &cell[0][range.clone()]), (1, &cell[1][range])], &[2]).unwrap().remove(0)
    };
    assert_eq!([sources(0..128), sources(128..256)].concat(), sources(0..256));
}

#[cfg(unix)]
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    use std::os::unix::fs::PermissionsExt;
    let mut found = BTreeMap::new();
    let mut next = vec![folder.to_owned()];
    while let Some(path) = next.pop() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        if path.is_dir() {
            next.extend(disk::entries(&path).unwrap());
        }
        found.insert(path.display().to_string(), mode);
    }
    found
}

#[cfg(unix)]
fn check_private(folder: &Path) {
    for (path, mode) in modes(folder) {
        assert_eq!(mode, if Path::new(&path).is_dir() { 0o700 } else { 0o600 }, "{path}: {mode:o}");
    }
}

#[cfg(unix)]
#[test]
fn nobody_else_reads_a_drive_s_folder() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("drive");
    let filled = || {
        let store = Store::open(&folder, None).unwrap();
        put(&store, "a", 1, 0);
        store.stage(plan("b", 1, 1)).unwrap();
        store.owe("a").unwrap();
        store.keep_members(&Members::new(RingId::of("test", &[]), 1).unwrap()).unwrap();
        store.bury(&Header { deleted: true, ..(*store.held(RingId::of_object("a")).unwrap()[0]).clone() }).unwrap();
        store
    };
    let store = filled();
    check_private(&folder);
    assert!(modes(&folder).len() >= 13, "{:?}", modes(&folder));
    drop(store);
    // A folder as older versions made it.
    for path in modes(&folder).into_keys() {
        let mode = if Path::new(&path).is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let store = Store::open(&folder, None).unwrap();
    check_private(&folder);
    assert_eq!(store.counts(), (1, 1));
    assert!(store.scrub(RingId::of_object("a")).is_whole());
}

#[test]
fn parts_of_files_that_a_killed_process_left_are_removed_and_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    let shares = file(folder.path(), &put(&store, "a", 1, 0));
    store.owe("a").unwrap();
    drop(store);
    let owed = RingId::of_object("a");
    let share = shares.file_name().unwrap().to_string_lossy().into_owned();
    let left = [
        folder.path().join(".members.json.Xa3f.part"),
        folder.path().join("members.json.part"),
        folder.path().join(format!("owed/.{owed}.Xa3f.part")),
        shares.with_file_name(format!(".{share}.Xa3f.part")),
        shares.with_file_name(format!("{share}.part")),
    ];
    let kept = [folder.path().join(".letter.Xa3f.part"), shares.with_file_name("letter.part")];
    for path in left.iter().chain(&kept) {
        fs::write(path, "a").unwrap();
    }
    let store = Store::open(folder.path(), None).unwrap();
    assert!(left.iter().all(|path| !path.exists()) && kept.iter().all(|path| path.exists()));
    assert_eq!((store.owed(), store.counts()), (vec!["a".to_owned()], (1, 0)));
}

#[cfg(unix)]
#[test]
fn a_list_that_is_kept_already_is_not_written_again() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), None).unwrap();
    let mut members = Members::new(RingId::of("test", &[]), 1).unwrap();
    let file = || fs::metadata(folder.path().join("members.json")).unwrap().ino();
    store.keep_members(&members).unwrap();
    // Another file beside it, so that its number is not used again.
    let (first, _other) = (file(), fs::write(folder.path().join("other"), "").unwrap());
    store.keep_members(&members).unwrap();
    assert_eq!(file(), first);
    members.set(RingId::of("a", &[]), crate::Standing::In, "127.0.0.1:1").unwrap();
    store.keep_members(&members).unwrap();
    assert_eq!(store.members().unwrap(), Some(members));
    assert_ne!(file(), first);
}
