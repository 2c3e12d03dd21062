//! The file system's commands, and its mount.
//!
//! What needs root and /dev/fuse is skipped where they are missing, and says so.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use wane_testkit::skipped;
use wane_units::Bytes;

fn wane(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wane")).args(arguments).current_dir(folder).output().unwrap()
}

/// What a command prints, which ends with this exit code.
fn told(arguments: &[&str], folder: &Path, code: i32) -> String {
    let output = wane(arguments, folder);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

fn json(arguments: &[&str], folder: &Path) -> Value {
    serde_json::from_str(&told(arguments, folder, 0)).unwrap()
}

/// A folder with an image of 64 MiB.
fn image() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    told(&["fs", "mkfs", "disk.img", "--size", "64 MiB", "--segment", "512 KiB"], folder.path(), 0);
    folder
}

/// Whether something can be mounted here; if not, the test is skipped.
fn can_mount() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let has_fuse = fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").is_ok();
    if !is_root || !has_fuse {
        skipped("mounts need root and /dev/fuse");
    }
    is_root && has_fuse
}

/// A mount, which ends with the test.
struct Mount {
    process: Child,
    point: PathBuf,
}

impl Mount {
    fn of(folder: &Path, what: &str, options: &[&str]) -> Self {
        let point = folder.join("mnt");
        let _ = fs::create_dir(&point);
        let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
        command.args(["fs", "mount", what, "mnt"]).args(options).current_dir(folder);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if !line.contains("mounted on") {
            let mut told = String::new();
            process.stderr.as_mut().unwrap().read_to_string(&mut told).unwrap();
            panic!("it is not mounted: {line}{told}");
        }
        Self { process, point }
    }

    /// Unmounts it. Returns what the process said, and its exit code.
    fn unmount(mut self) -> (String, i32) {
        let done = Command::new("umount").arg(&self.point).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        self.ended()
    }

    fn ended(&mut self) -> (String, i32) {
        let code = self.process.wait().unwrap().code().unwrap_or(-1);
        let mut told = String::new();
        self.process.stderr.as_mut().unwrap().read_to_string(&mut told).unwrap();
        (told, code)
    }

    fn signal(&self, name: &str) {
        Command::new("kill").args([name, &self.process.id().to_string()]).status().unwrap();
    }

    /// Kills it, as a power cut would. What it served stays mounted until it is removed.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let removed = Command::new("umount").arg("-l").arg(&self.point).status().unwrap();
        assert!(removed.success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = self.process.kill();
            let _ = self.process.wait();
            let _ = Command::new("umount").arg("-l").arg(&self.point).status();
        }
    }
}

fn sound(folder: &Path, what: &str) {
    let text = told(&["fs", "fsck", what], folder, 0);
    assert!(text.contains("sound"), "{text}");
}

#[test]
fn files_come_out_as_they_went_in_without_a_mount() {
    let folder = image();
    let at = folder.path();
    let source = at.join("source");
    fs::create_dir_all(source.join("deep/er")).unwrap();
    let long: Vec<u8> = (0..3_000_000_u32).map(|byte| (byte % 251) as u8).collect();
    fs::write(source.join("long"), &long).unwrap();
    fs::write(source.join("deep/er/short"), "short\n").unwrap();
    fs::set_permissions(source.join("deep/er/short"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("../long", source.join("deep/link")).unwrap();
    assert!(
        told(&["fs", "cp", "source", "disk.img:/"], at, 0)
            .starts_with("copied 3 files with 3000006 bytes in 3 directories")
    );
    told(&["fs", "cp", "disk.img:/source", "back"], at, 0);
    assert_eq!(fs::read(at.join("back/long")).unwrap(), long);
    assert_eq!(fs::read_to_string(at.join("back/deep/er/short")).unwrap(), "short\n");
    assert_eq!(fs::read_link(at.join("back/deep/link")).unwrap().as_os_str().as_bytes(), b"../long");
    for name in ["long", "deep/er/short"] {
        let (before, after) =
            (fs::metadata(source.join(name)).unwrap(), fs::metadata(at.join("back").join(name)).unwrap());
        assert_eq!(
            (before.mode(), before.mtime(), before.mtime_nsec()),
            (after.mode(), after.mtime(), after.mtime_nsec()),
            "{name}"
        );
    }
    // What is there is not overwritten unasked.
    assert!(told(&["fs", "cp", "disk.img:/source/long", "back/long"], at, 2).contains("exists"));
    assert!(told(&["fs", "cp", "source/long", "disk.img:/source/long"], at, 2).contains("exists"));
    told(&["fs", "cp", "--force", "source/deep/er/short", "disk.img:/source/long"], at, 0);
    told(&["fs", "cp", "disk.img:/source/long", "changed"], at, 0);
    assert_eq!(fs::read_to_string(at.join("changed")).unwrap(), "short\n");
    sound(at, "disk.img");
    let df = json(&["fs", "df", "disk.img", "--json"], at);
    assert!(df["used_bytes"].as_u64().unwrap() < 1 << 20 && df["free_bytes"].as_u64().unwrap() > 40 << 20, "{df}");
    let dump = json(&["fs", "dump", "disk.img", "--json"], at);
    let segments = &dump["segments"];
    let all: u64 = ["free", "open", "full", "partly"].iter().map(|state| segments[state].as_u64().unwrap()).sum();
    assert_eq!(all, dump["sections"].as_u64().unwrap());
    assert_eq!((&dump["was_unmounted"], &dump["block_bytes"]), (&Value::Bool(true), &Value::from(4096)));
}

#[test]
fn what_is_wrong_is_said_in_a_sentence_and_nothing_changes() {
    let folder = image();
    let at = folder.path();
    fs::write(at.join("data"), vec![7; 64 << 20]).unwrap();
    fs::write(at.join("small"), vec![0; 1 << 20]).unwrap();
    fs::write(at.join("empty"), "").unwrap();
    let mut f2fs = vec![0; 64 << 20];
    f2fs[0x400..0x404].copy_from_slice(&0xF2F5_2010_u32.to_le_bytes());
    fs::write(at.join("f2fs"), &f2fs).unwrap();
    fs::create_dir(at.join("folder")).unwrap();
    let before = fs::read(at.join("disk.img")).unwrap();
    let mut btrfs = vec![0; 64 << 20];
    btrfs[0x1_0040..0x1_0048].copy_from_slice(b"_BHRfS_M");
    fs::write(at.join("btrfs"), &btrfs).unwrap();
    fs::write(at.join("short"), &before[..40 << 20]).unwrap();
    let table: [(&[&str], &str); 22] = [
        (&["fs", "mkfs", "btrfs"], "holds btrfs; --force"),
        (&["fs", "mount", "btrfs", "folder"], "holds no file system of wane, but btrfs"),
        (&["fs", "mount", "short", "folder"], "has 16384 blocks, and the device only 10240"),
        (&["fs", "mount", "small", "folder"], "holds no file system of wane"),
        (&["fs", "resize", "short", "32 MiB"], "has 16384 blocks, and the device only 10240"),
        (&["fs", "mkfs", "disk.img"], "has a file system of wane already"),
        (&["fs", "mkfs", "data"], "holds data; --force"),
        (&["fs", "mkfs", "f2fs"], "holds F2FS; --force"),
        (&["fs", "mkfs", "new"], "--size makes a new file"),
        (&["fs", "mkfs", "data", "--size", "1 GiB"], "--size is for a new file"),
        (&["fs", "mkfs", "small"], "are needed at least"),
        (&["fs", "mkfs", "new", "--size", "1 MiB"], "are needed at least"),
        (&["fs", "mkfs", "small", "--block-size", "3 KiB"], "is less than the drive's mapping unit"),
        (&["fs", "mkfs", "small", "--block-size", "12 KiB"], "power of 2"),
        (&["fs", "mkfs", "folder"], "is a folder, but no drive"),
        (&["fs", "fsck", "f2fs"], "holds no file system of wane, but F2FS"),
        (&["fs", "fsck", "data"], "holds no file system of wane"),
        (&["fs", "df", "empty"], "holds no file system of wane"),
        (&["fs", "dump", "nowhere"], "cannot be opened"),
        (&["fs", "cp", "data", "small"], "neither path is in a file system"),
        (&["fs", "cp", "disk.img:/none", "out"], "no such file or directory"),
        (&["fs", "mount", "data", "folder"], "holds no file system of wane"),
    ];
    for (arguments, want) in table {
        let text = told(arguments, at, 2);
        assert!(
            text.starts_with("wane: ") && text.contains(want) && text.lines().count() == 1,
            "{arguments:?}: {text}"
        );
    }
    assert!(!at.join("new").exists() && !at.join("out").exists());
    assert_eq!(fs::read(at.join("disk.img")).unwrap(), before);
    assert_eq!(fs::read(at.join("f2fs")).unwrap(), f2fs);
    assert_eq!(fs::read(at.join("btrfs")).unwrap(), btrfs);
    assert_eq!(fs::read(at.join("short")).unwrap(), before[..40 << 20]);
}

#[test]
fn a_longer_file_takes_a_larger_file_system_if_it_was_made_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let make = ["fs", "mkfs", "disk.img", "--size", "32 MiB", "--segment", "256 KiB", "--greatest"];
    assert!(told(&[&make[..], &["16 MiB"]].concat(), at, 2).contains("more than the 16777216 to which it may grow"));
    told(&[&make[..], &["128 MiB"]].concat(), at, 0);
    let long = vec![7; 60 << 20];
    fs::write(at.join("long"), &long).unwrap();
    let small = json(&["fs", "df", "disk.img", "--json"], at)["bytes"].as_u64().unwrap();
    let length = || fs::metadata(at.join("disk.img")).unwrap().len();
    assert!(
        told(&["fs", "resize", "disk.img", "200 MiB"], at, 2).contains("cannot have 200 MiB; the largest size is ")
    );
    assert_eq!(length(), 32 << 20);
    told(&["fs", "resize", "disk.img", "96 MiB"], at, 0);
    assert_eq!(length(), 96 << 20);
    let large = json(&["fs", "df", "disk.img", "--json"], at)["bytes"].as_u64().unwrap();
    assert!(large > small + (60 << 20), "{small} {large}");
    told(&["fs", "cp", "long", "disk.img:/"], at, 0);
    told(&["fs", "cp", "disk.img:/long", "back"], at, 0);
    assert_eq!(fs::read(at.join("back")).unwrap(), long);
    let dump = json(&["fs", "dump", "disk.img", "--json"], at);
    assert!(dump["greatest_bytes"].as_u64().unwrap() > 127 << 20, "{dump}");
    sound(at, "disk.img");
}

#[test]
fn hard_links_stay_hard_links_within_a_copy() {
    let folder = image();
    let at = folder.path();
    fs::create_dir_all(at.join("tree/below")).unwrap();
    fs::write(at.join("tree/one"), "shared").unwrap();
    fs::hard_link(at.join("tree/one"), at.join("tree/below/two")).unwrap();
    fs::hard_link(at.join("tree/one"), at.join("elsewhere")).unwrap();
    fs::write(at.join("tree/own"), "shared").unwrap();
    assert!(told(&["fs", "cp", "tree", "disk.img:/"], at, 0).starts_with("copied 3 files with 12 bytes in 2"));
    sound(at, "disk.img");
    assert!(told(&["fs", "cp", "disk.img:/tree", "out"], at, 0).starts_with("copied 3 files with 12 bytes in 2"));
    let found = |path: &str| fs::metadata(at.join(path)).unwrap();
    assert_eq!(found("out/one").ino(), found("out/below/two").ino());
    assert_eq!((found("out/one").nlink(), found("out/own").nlink()), (2, 1));
    assert_eq!(fs::read_to_string(at.join("out/below/two")).unwrap(), "shared");
    // Over what is there, too.
    told(&["fs", "cp", "tree", "disk.img:/", "--force"], at, 0);
    told(&["fs", "cp", "disk.img:/tree", "again"], at, 0);
    assert_eq!(found("again/one").ino(), found("again/below/two").ino());
    sound(at, "disk.img");
}

/// A byte of a file's data is flipped behind the file system's back.
#[test]
fn data_checksums_make_an_error_of_damage() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let note: Vec<u8> = (0..40_000_u32).flat_map(|word| (word * word).to_le_bytes()).collect();
    fs::write(at.join("note"), &note).unwrap();
    fs::write(at.join("other"), "other").unwrap();
    for (options, checksums, code) in [(&["--data-checksums"][..], "CRC-32C", 1), (&[], "none", 0)] {
        let make = ["fs", "mkfs", "disk.img", "--size", "64 MiB", "--segment", "512 KiB"];
        told(&[&make, options].concat(), at, 0);
        told(&["fs", "cp", "note", "disk.img:/"], at, 0);
        told(&["fs", "cp", "other", "disk.img:/"], at, 0);
        assert!(told(&["fs", "df", "disk.img"], at, 0).contains(checksums));
        assert!(told(&["fs", "dump", "disk.img"], at, 0).contains(checksums));
        assert!(told(&["fs", "fsck", "disk.img", "--data"], at, 0).contains("blocks of data read"));
        let mut bytes = fs::read(at.join("disk.img")).unwrap();
        let place = bytes.windows(64).position(|part| part == &note[9000..9064]).unwrap();
        bytes[place] ^= 1;
        fs::write(at.join("disk.img"), &bytes).unwrap();
        sound(at, "disk.img");
        let text = told(&["fs", "fsck", "disk.img", "--data"], at, code);
        assert_eq!(text.contains("/note: bytes 8192 to 12287 are not what was written"), code == 1, "{text}");
        let text = told(&["fs", "cp", "disk.img:/note", "back", "--force"], at, 2 * code);
        assert_eq!(text.contains("disk.img:/note: the device lost it"), code == 1, "{text}");
        // The rest is copied, and no part of a file lies under its name.
        let text = told(&["fs", "cp", "disk.img:/", "all", "--force"], at, code);
        assert_eq!(text.contains("the copy is not whole: 1 of"), code == 1, "{text}");
        assert_eq!(fs::read(at.join("all/other")).unwrap(), b"other");
        assert_eq!(at.join("all/note").exists(), code == 0);
        fs::remove_dir_all(at.join("all")).unwrap();
        fs::remove_file(at.join("disk.img")).unwrap();
    }
}

#[test]
fn a_damaged_superblock_is_told_and_the_other_one_used() {
    let folder = image();
    let at = folder.path();
    fs::write(at.join("note"), "kept").unwrap();
    told(&["fs", "cp", "note", "disk.img:/"], at, 0);
    let image = fs::OpenOptions::new().write(true).open(at.join("disk.img")).unwrap();
    image.write_all_at(&[0; 4096], 0).unwrap();
    assert!(told(&["fs", "df", "disk.img"], at, 0).contains("the first superblock is damaged"));
    assert!(told(&["fs", "fsck", "disk.img"], at, 1).contains("the first superblock is damaged"));
    told(&["fs", "cp", "disk.img:/note", "back"], at, 0);
    assert_eq!(fs::read_to_string(at.join("back")).unwrap(), "kept");
    image.write_all_at(&[0; 4096], 512 << 10).unwrap();
    assert!(told(&["fs", "df", "disk.img"], at, 2).contains("holds no file system of wane"));
}

/// The blocks of the newest checkpoint of an image, its footer last.
fn newest_checkpoint(image: &fs::File) -> Vec<u64> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut all = Vec::new();
    // The packs follow the superblocks' two segments.
    for at in 256..1024_u64 {
        let mut bytes = [0; 4096];
        image.read_exact_at(&mut bytes, at * 4096).unwrap();
        if bytes[4068] == 2 {
            all.push((word(&bytes, 4088), word(&bytes, 4072), at));
        }
    }
    let newest = all.iter().map(|(version, ..)| *version).max().unwrap();
    all.retain(|(version, ..)| *version == newest);
    all.sort_unstable();
    all.into_iter().map(|(.., at)| at).collect()
}

#[test]
fn a_newest_checkpoint_that_is_damaged_is_told_by_every_command() {
    let folder = image();
    let at = folder.path();
    for name in ["before", "after"] {
        fs::write(at.join(name), name).unwrap();
        told(&["fs", "cp", name, "disk.img:/"], at, 0);
    }
    sound(at, "disk.img");
    let image = fs::OpenOptions::new().read(true).write(true).open(at.join("disk.img")).unwrap();
    let blocks = newest_checkpoint(&image);
    let footer = *blocks.last().unwrap();
    let damage = |block: u64, with: u8| image.write_all_at(&[with; 8], block * 4096 + 50).unwrap();
    // Nothing is missing without the footer, since the unmount noted what it says.
    damage(footer, 9);
    assert!(told(&["fs", "fsck", "disk.img"], at, 1).contains("the footer of the newest checkpoint"));
    told(&["fs", "cp", "disk.img:/after", "back"], at, 0);
    damage(footer, 0);
    sound(at, "disk.img");
    damage(blocks[0], 9);
    let text = told(&["fs", "fsck", "disk.img"], at, 1);
    assert!(text.contains("the newest checkpoint, ") && text.contains("is missing"), "{text}");
    assert!(told(&["fs", "df", "disk.img"], at, 0).contains("is missing; nothing is changed"));
    let text = told(&["fs", "cp", "disk.img:/", "all"], at, 1);
    assert!(text.contains("warning: files may be missing in the copy") && !at.join("all/after").exists(), "{text}");
    for command in [
        ["cp", "back", "disk.img:/new"].as_slice(),
        &["resize", "disk.img", "--minimum"],
        &["plan", "disk.img", "--minimum"],
    ] {
        let text = told(&[&["fs"], command].concat(), at, 2);
        assert!(text.contains("is damaged") && text.contains("nothing is planned or changed"), "{text}");
    }
}

#[test]
fn a_kept_drive_ages_by_what_its_file_system_writes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    told(&["drive", "create", "old.wane", "--preset", "tiny", "--empty"], at, 0);
    told(&["fs", "mkfs", "old.wane", "--segment", "256 KiB"], at, 0);
    assert!(told(&["fs", "mkfs", "old.wane"], at, 2).contains("already"));
    let writes = |at: &Path| json(&["drive", "show", "old.wane", "--json"], at)["drive_writes"].as_f64().unwrap();
    let before = writes(at);
    let long: Vec<u8> = (0..2_000_000_u32).map(|byte| (byte % 241) as u8).collect();
    fs::write(at.join("long"), &long).unwrap();
    told(&["fs", "cp", "long", "old.wane:/"], at, 0);
    assert!(writes(at) > before);
    let looked = writes(at);
    told(&["fs", "cp", "old.wane:/long", "back"], at, 0);
    sound(at, "old.wane");
    assert_eq!(fs::read(at.join("back")).unwrap(), long);
    assert_eq!(writes(at).to_bits(), looked.to_bits());
    if !can_mount() {
        return;
    }
    let mount = Mount::of(at, "old.wane", &[]);
    assert_eq!(fs::read(mount.point.join("long")).unwrap(), long);
    fs::write(mount.point.join("more"), "more").unwrap();
    assert_eq!(mount.unmount(), (String::new(), 0));
    told(&["fs", "cp", "old.wane:/more", "more"], at, 0);
    assert_eq!(fs::read_to_string(at.join("more")).unwrap(), "more");
    assert!(told(&["drive", "show", "old.wane"], at, 0).contains("mounted as a file system"));
}

/// Aging takes nothing of the room that a file system surrendered, or has.
#[test]
fn a_kept_drive_whose_file_system_gave_space_back_is_aged_and_written_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("part"), vec![5; 3 << 20]).unwrap();
    for (name, way) in [("less.wane", "surrender"), ("short.wane", "relocate")] {
        told(&["drive", "create", name, "--preset", "tiny", "--empty", "--for", "serve", "--quiet"], at, 0);
        told(&["fs", "mkfs", name, "--segment", "256 KiB"], at, 0);
        told(&["fs", "cp", "part", &format!("{name}:/before")], at, 0);
        told(&["fs", "resize", name, "20 MiB", "--way", way], at, 0);
        let aged = told(&["drive", "age", name, "--until", "drive-writes=1.5", "--quiet"], at, 0);
        let is_limited = aged.contains("may hold 20 MiB at once (its mapped limit)");
        assert_eq!(is_limited, way == "surrender", "{aged}");
        let capacity = json(&["drive", "show", name, "--json"], at)["capacity"].clone();
        let (most, mapped) = (capacity["bytes_limit"].as_u64().unwrap(), capacity["bytes_mapped"].as_u64().unwrap());
        assert!(most <= 20 << 20 && mapped <= most, "{capacity}");
        assert!(way != "surrender" || mapped < 5 << 20, "what only aging wrote is trimmed: {capacity}");
        sound(at, name);
        for number in 0..3 {
            told(&["fs", "cp", "part", &format!("{name}:/after-{number}")], at, 0);
        }
        told(&["fs", "cp", &format!("{name}:/before"), "back", "--force"], at, 0);
        assert_eq!(fs::read(at.join("back")).unwrap(), vec![5; 3 << 20]);
        sound(at, name);
    }
}

#[test]
fn what_was_synchronized_on_a_kept_drive_survives_a_kill() {
    if !can_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    told(&["drive", "create", "old.wane", "--preset", "tiny", "--empty"], at, 0);
    told(&["fs", "mkfs", "old.wane", "--segment", "256 KiB"], at, 0);
    let written = || json(&["drive", "show", "old.wane", "--json"], at)["bytes_written"].as_u64().unwrap();
    for round in 0..3_u8 {
        let before = written();
        let mount = Mount::of(at, "old.wane", &[]);
        for earlier in 0..round {
            let bytes = fs::read(mount.point.join(format!("file-{earlier}"))).unwrap();
            assert!(bytes == vec![earlier; 300_000], "round {round}: file-{earlier}");
        }
        let mut file = fs::File::create(mount.point.join(format!("file-{round}"))).unwrap();
        file.write_all(&vec![round; 300_000]).unwrap();
        file.sync_all().unwrap();
        fs::write(mount.point.join("not synchronized"), vec![9; 100_000]).unwrap();
        mount.kill();
        sound(at, "old.wane");
        assert!(written() >= before + 300_000, "the drive ages by what was written before the kill");
    }
}

/// What a mount tells of its space.
fn space(folder: &Path) -> Value {
    json(&["fs", "df", "mnt", "--json"], folder)
}

/// Files of a MiB each, of which each byte says the number.
fn filled(point: &Path, numbers: std::ops::Range<u8>) {
    for number in numbers {
        fs::write(point.join(format!("file-{number}")), vec![number; 1 << 20]).unwrap();
    }
}

fn holds(point: &Path, numbers: impl Iterator<Item = u8>) {
    for number in numbers {
        assert!(fs::read(point.join(format!("file-{number}"))).unwrap() == vec![number; 1 << 20], "file-{number}");
    }
}

#[test]
fn a_mount_gets_smaller_while_a_program_writes() {
    if !can_mount() {
        return;
    }
    let folder = image();
    let at = folder.path();
    let mount = Mount::of(at, "disk.img", &[]);
    filled(&mount.point, 0..40);
    for number in (0..40).filter(|number| number % 2 == 0) {
        fs::remove_file(mount.point.join(format!("file-{number}"))).unwrap();
    }
    let mut log = fs::File::create(mount.point.join("log")).unwrap();
    log.write_all(b"before").unwrap();
    // What cannot be is said before anything moves.
    let before = space(at);
    let least = before["least_bytes"].as_u64().unwrap();
    for size in [least - (1 << 20), 1 << 20] {
        let text = told(&["fs", "resize", "mnt", &format!("{size} B")], at, 2);
        assert!(
            text.contains(&format!("the least size is {}", Bytes(least).exactly())) && text.lines().count() == 1,
            "{text}"
        );
    }
    assert!(told(&["fs", "resize", "mnt", "1 GiB"], at, 2).contains("while it is mounted"));
    assert!(told(&["fs", "resize", "mnt"], at, 2).contains("required"));
    assert_eq!((&space(at)["size_bytes"], &space(at)["target"]), (&before["size_bytes"], &Value::Null));
    let planned = json(&["fs", "plan", "mnt", "44 MiB", "--json"], at);
    let resized = json(&["fs", "resize", "mnt", "44 MiB", "--json"], at);
    assert_eq!((&resized["bytes"], &resized["least_bytes"]), (&planned["bytes"], &planned["least_bytes"]));
    assert!(resized["moved_bytes"].as_u64().unwrap() > 0, "{resized}");
    let after = space(at);
    assert_eq!((&after["size_bytes"], &after["target"]), (&planned["bytes"], &Value::Null));
    assert_eq!(fs::metadata(at.join("disk.img")).unwrap().len(), planned["bytes"].as_u64().unwrap());
    assert!(after["bytes"].as_u64() < before["bytes"].as_u64());
    log.write_all(b" and after").unwrap();
    holds(&mount.point, (0..40).filter(|number| number % 2 == 1));
    assert_eq!(fs::read(mount.point.join("log")).unwrap(), b"before and after");
    drop(log);
    assert_eq!(mount.unmount(), (String::new(), 0));
    sound(at, "disk.img");
}

#[test]
fn a_target_is_paused_changed_cancelled_and_goes_on_after_a_kill() {
    if !can_mount() {
        return;
    }
    let folder = image();
    let at = folder.path();
    let mount = Mount::of(at, "disk.img", &[]);
    filled(&mount.point, 0..44);
    for number in (0..44).filter(|number| number % 4 != 3) {
        fs::remove_file(mount.point.join(format!("file-{number}"))).unwrap();
    }
    fs::File::open(&mount.point).unwrap().sync_all().unwrap();
    told(&["fs", "resize", "mnt", "--pause"], at, 0);
    let size = space(at)["size_bytes"].clone();
    let planned = json(&["fs", "resize", "mnt", "40 MiB", "--background", "--json"], at);
    let paused = space(at);
    assert_eq!((&paused["target"]["bytes"], &paused["evacuation"]["state"]), (&planned["bytes"], &"paused".into()));
    // Users have no more room than it leaves, from now on.
    assert_eq!((&paused["size_bytes"], paused["free_bytes"].as_u64() <= planned["room_bytes"].as_u64()), (&size, true));
    assert!(told(&["fs", "df", "mnt"], at, 0).contains("paused"));
    told(&["fs", "resize", "mnt", "--cancel"], at, 0);
    assert_eq!((&space(at)["target"], &space(at)["size_bytes"]), (&Value::Null, &size));
    // Another target replaces the first, and outlives the process. Its pause does not.
    told(&["fs", "resize", "mnt", "40 MiB", "--background"], at, 0);
    let planned = json(&["fs", "resize", "mnt", "48 MiB", "--background", "--json"], at);
    assert_eq!(space(at)["target"]["bytes"], planned["bytes"]);
    mount.kill();
    assert_eq!(json(&["fs", "df", "disk.img", "--json"], at)["target"]["bytes"], planned["bytes"]);
    let mount = Mount::of(at, "disk.img", &[]);
    // It waits for the mount, which goes on by itself.
    let resized = json(&["fs", "resize", "mnt", "48 MiB", "--json"], at);
    assert_eq!(resized["bytes"], planned["bytes"]);
    assert_eq!(fs::metadata(at.join("disk.img")).unwrap().len(), planned["bytes"].as_u64().unwrap());
    holds(&mount.point, (0..44).filter(|number| number % 4 == 3));
    assert_eq!(mount.unmount(), (String::new(), 0));
    sound(at, "disk.img");
    // What is for a mount is refused elsewhere, and a read-only mount stays as it is.
    for option in ["--pause", "--resume"] {
        assert!(told(&["fs", "resize", "disk.img", option], at, 2).contains("is for a mount"), "{option}");
    }
    assert!(told(&["fs", "resize", "disk.img", "--cancel"], at, 0).contains("had no target"));
    let mount = Mount::of(at, "disk.img", &["--read-only"]);
    assert!(told(&["fs", "resize", "mnt", "40 MiB"], at, 2).contains("read-only"));
    assert_eq!(mount.unmount(), (String::new(), 0));
}

#[test]
fn a_kept_drive_gets_its_space_back_from_a_mount() {
    if !can_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    told(&["drive", "create", "old.wane", "--preset", "tiny", "--empty"], at, 0);
    told(&["fs", "mkfs", "old.wane", "--segment", "256 KiB"], at, 0);
    let capacity = || json(&["drive", "show", "old.wane", "--json"], at)["capacity"].clone();
    let before = capacity();
    let mount = Mount::of(at, "old.wane", &[]);
    filled(&mount.point, 0..4);
    let limited = json(&["fs", "resize", "mnt", "40 MiB", "--way", "surrender", "--json"], at);
    // Another mount of it knows that, although this one is killed.
    mount.kill();
    assert_eq!(capacity()["bytes_limit"], limited["bytes"]);
    assert_eq!(capacity()["bytes_exported"], before["bytes_exported"]);
    let mount = Mount::of(at, "old.wane", &[]);
    assert_eq!(space(at)["size_bytes"], limited["bytes"]);
    // It rises again.
    told(&["fs", "resize", "mnt", "48 MiB", "--way", "surrender"], at, 0);
    holds(&mount.point, 0..4);
    assert_eq!(mount.unmount(), (String::new(), 0));
    assert!(capacity()["bytes_limit"].as_u64() > limited["bytes"].as_u64());
    assert!(told(&["drive", "show", "old.wane"], at, 0).contains("may hold data at once"));
    sound(at, "old.wane");
}

#[test]
fn a_mount_gives_a_drive_that_wears_what_it_wants() {
    if !can_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let shrinks = "ftl.capacity={ policy = \"variant\", shrink = \"graceful\" }";
    let create = ["drive", "create", "old.wane", "--preset", "tiny", "--empty", "--set", "drive.endurance=6", "--set"];
    told(&[&create[..], &[shrinks]].concat(), at, 0);
    told(&["fs", "mkfs", "old.wane", "--segment", "256 KiB"], at, 0);
    let mount = Mount::of(at, "old.wane", &[]);
    filled(&mount.point, 0..4);
    let size = || space(at)["size_bytes"].as_u64().unwrap();
    let before = size();
    let mut rounds = 0;
    while size() == before {
        filled(&mount.point, 10..30);
        fs::File::open(&mount.point).unwrap().sync_all().unwrap();
        rounds += 1;
        assert!(rounds < 100, "the drive wants nothing back");
    }
    holds(&mount.point, 0..4);
    let free = space(at)["free_bytes"].as_u64().unwrap();
    assert!(free > 1 << 20, "{free} B are left for users");
    let (text, code) = mount.unmount();
    assert_eq!((text.as_str(), code), ("", 0));
    sound(at, "old.wane");
}

/// A server, which ends with the test.
struct Server(Child);

impl Server {
    fn of(folder: &Path, options: &[&str]) -> Self {
        fs::create_dir(folder.join("live")).unwrap();
        fs::set_permissions(folder.join("live"), fs::Permissions::from_mode(0o700)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
        let process = command.args(["serve", "--speed", "max", "--dir", "live"]).args(options).current_dir(folder);
        let server = Self(process.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let mut looks = 0;
        while !folder.join("live/nbd.sock").exists() || !wane(&["ctl", "live", "status"], folder).status.success() {
            looks += 1;
            assert!(looks < 2000, "the server does not begin");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        server
    }

    fn end(mut self, folder: &Path) {
        told(&["ctl", "live", "stop"], folder, 0);
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_served_drive_has_a_file_system_by_its_socket_and_by_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    told(&["drive", "create", "old.wane", "--preset", "tiny", "--empty"], at, 0);
    let server = Server::of(at, &["old.wane"]);
    told(&["fs", "mkfs", "live/nbd.sock", "--segment", "256 KiB"], at, 0);
    assert!(told(&["fs", "mkfs", "old.wane"], at, 2).contains("has a file system of wane already"));
    let long: Vec<u8> = (0..3_000_000_u32).map(|byte| (byte % 239) as u8).collect();
    fs::write(at.join("long"), &long).unwrap();
    told(&["fs", "cp", "long", "old.wane:/"], at, 0);
    told(&["fs", "cp", "live/nbd.sock:/long", "back"], at, 0);
    assert_eq!(fs::read(at.join("back")).unwrap(), long);
    // What the protocol lacks goes by the control socket.
    let resized = json(&["fs", "resize", "old.wane", "40 MiB", "--way", "surrender", "--json"], at);
    assert_eq!(json(&["ctl", "live", "status"], at)["mapped_limit_bytes"], resized["bytes"]);
    let resized = json(&["fs", "resize", "live/nbd.sock", "32 MiB", "--way", "relocate", "--json"], at);
    assert_eq!(json(&["ctl", "live", "status"], at)["capacity_bytes"], resized["bytes"]);
    sound(at, "live/nbd.sock");
    if can_mount() {
        let mount = Mount::of(at, "old.wane", &[]);
        assert_eq!(fs::read(mount.point.join("long")).unwrap(), long);
        assert!(told(&["fs", "df", "live/nbd.sock"], at, 2).contains("is in use"));
        let mut file = fs::File::create(mount.point.join("more")).unwrap();
        // The first fsync of a mount is a checkpoint; only the second leaves something to recover.
        for part in [b"mo", b"re"] {
            file.write_all(part).unwrap();
            file.sync_all().unwrap();
        }
        drop(file);
        mount.kill();
        let mount = Mount::of(at, "live/nbd.sock", &[]);
        assert_eq!(fs::read(mount.point.join("more")).unwrap(), b"more");
        let (text, code) = mount.unmount();
        assert!(text.contains("recovered 1 file") && code == 0, "{text}");
    }
    server.end(at);
    // Its server has ended: it is a kept drive, with all of that.
    told(&["fs", "cp", "old.wane:/long", "again"], at, 0);
    assert_eq!(fs::read(at.join("again")).unwrap(), long);
    // A socket of something else.
    drop(std::os::unix::net::UnixListener::bind(at.join("deaf.sock")).unwrap());
    assert!(told(&["fs", "df", "deaf.sock"], at, 2).contains("cannot be used"));
}

/// Makes some of everything.
fn populate(point: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    fs::create_dir_all(point.join("dir/sub")).unwrap();
    for number in 0..300_usize {
        let name = format!("dir/file-{number}");
        let bytes: Vec<u8> = (0..number * 37).map(|byte| (byte % 253) as u8).collect();
        fs::write(point.join(&name), &bytes).unwrap();
        files.push((name, bytes));
    }
    fs::hard_link(point.join("dir/file-7"), point.join("linked")).unwrap();
    files.push(("linked".to_owned(), files[7].1.clone()));
    symlink("dir/file-9", point.join("soft")).unwrap();
    files.push(("soft".to_owned(), files[9].1.clone()));
    fs::rename(point.join("dir/file-11"), point.join("dir/sub/renamed")).unwrap();
    let moved = files.remove(11).1;
    files.push(("dir/sub/renamed".to_owned(), moved));
    fs::remove_file(point.join("dir/file-13")).unwrap();
    files.retain(|(name, _)| name != "dir/file-13");
    files
}

fn compare(point: &Path, files: &[(String, Vec<u8>)]) {
    for (name, bytes) in files {
        assert!(fs::read(point.join(name)).unwrap() == *bytes, "{name}");
    }
    assert_eq!(fs::read_dir(point.join("dir")).unwrap().count(), 299);
    assert!(!point.join("dir/file-13").exists());
    assert_eq!(fs::metadata(point.join("linked")).unwrap().nlink(), 2);
}

#[test]
fn a_mount_does_what_programs_expect_of_a_disk() {
    if !can_mount() {
        return;
    }
    let folder = image();
    let at = folder.path();
    let mount = Mount::of(at, "disk.img", &[]);
    let point = mount.point.clone();
    let files = populate(&point);
    // Holes.
    let mut sparse = fs::File::options().read(true).write(true).create_new(true).open(point.join("sparse")).unwrap();
    sparse.seek(SeekFrom::Start(8 << 20)).unwrap();
    sparse.write_all(b"end").unwrap();
    assert_eq!(sparse.metadata().unwrap().len(), (8 << 20) + 3);
    assert!(sparse.metadata().unwrap().blocks() < 100);
    // A file without a name lives as long as it is open.
    let mut open = fs::File::options().read(true).write(true).create_new(true).open(point.join("gone")).unwrap();
    fs::remove_file(point.join("gone")).unwrap();
    open.write_all(&[3; 100_000]).unwrap();
    open.seek(SeekFrom::Start(0)).unwrap();
    let mut back = Vec::new();
    open.read_to_end(&mut back).unwrap();
    assert_eq!(back, [3; 100_000]);
    // Attributes.
    let set = Command::new("setfattr").args(["-n", "user.color", "-v", "blue"]).arg(point.join("linked")).status();
    let has_attributes = set.is_ok_and(|done| done.success());
    // It is in use.
    assert!(told(&["fs", "fsck", "disk.img"], at, 2).contains("is in use"));
    assert!(told(&["fs", "mkfs", "disk.img", "--force"], at, 2).contains("is in use"));
    told(&["fs", "mkfs", "other.img", "--size", "128 MiB"], at, 0);
    assert!(told(&["fs", "mount", "other.img", "mnt"], at, 2).contains("mounted on it already"));
    for command in ["mkfs", "fsck", "dump"] {
        assert!(told(&["fs", command, "mnt"], at, 2).contains("takes what that lies on"), "{command}");
    }
    drop((sparse, open));
    compare(&point, &files);
    assert_eq!(mount.unmount(), (String::new(), 0));
    sound(at, "disk.img");
    let dump = json(&["fs", "dump", "disk.img", "--json"], at);
    assert_eq!(dump["orphans"], Value::Array(Vec::new()));
    let mount = Mount::of(at, "disk.img", &["--read-only"]);
    compare(&point, &files);
    assert_eq!(fs::read(point.join("sparse")).unwrap().len(), (8 << 20) + 3);
    let refused = fs::write(point.join("new"), "new").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    if has_attributes {
        let got =
            Command::new("getfattr").args(["--only-values", "-n", "user.color"]).arg(point.join("linked")).output();
        assert_eq!(got.unwrap().stdout, b"blue");
    }
    assert_eq!(mount.unmount(), (String::new(), 0));
}

#[test]
fn a_signal_unmounts_and_a_second_one_cuts_off_who_uses_it() {
    if !can_mount() {
        return;
    }
    let folder = image();
    let at = folder.path();
    let mut mount = Mount::of(at, "disk.img", &[]);
    mount.signal("-INT");
    assert_eq!(mount.ended(), (String::new(), 130));
    let mut mount = Mount::of(at, "disk.img", &[]);
    let mut open = fs::File::create(mount.point.join("open")).unwrap();
    open.write_all(b"kept").unwrap();
    mount.signal("-TERM");
    let mut line = String::new();
    BufReader::new(mount.process.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("is in use and stays mounted"), "{line}");
    assert_eq!(fs::read_to_string(mount.point.join("open")).unwrap(), "kept");
    mount.signal("-TERM");
    assert_eq!(mount.ended().1, 130);
    drop(open);
    sound(at, "disk.img");
    told(&["fs", "cp", "disk.img:/open", "back"], at, 0);
    assert_eq!(fs::read_to_string(at.join("back")).unwrap(), "kept");
}

#[test]
fn a_mount_that_is_killed_keeps_what_was_synchronized() {
    if !can_mount() {
        return;
    }
    let folder = image();
    let at = folder.path();
    let mut kept = 0;
    for round in 0..4_usize {
        let mount = Mount::of(at, "disk.img", &[]);
        for number in 0..kept {
            assert_eq!(
                fs::read(mount.point.join(format!("file-{number}"))).unwrap(),
                vec![number as u8; 20_000],
                "{round}"
            );
        }
        for number in kept..kept + 20 {
            let mut file = fs::File::create(mount.point.join(format!("file-{number}"))).unwrap();
            file.write_all(&vec![number as u8; 20_000]).unwrap();
            file.sync_all().unwrap();
            fs::write(mount.point.join(format!("lost-{round}-{number}")), vec![1; number * 100]).unwrap();
        }
        kept += 20;
        mount.kill();
        let checked = json(&["fs", "fsck", "disk.img", "--json"], at);
        assert_eq!(
            (&checked["sound"], &checked["was_unmounted"]),
            (&Value::Bool(true), &Value::Bool(false)),
            "{checked}"
        );
    }
    let mount = Mount::of(at, "disk.img", &[]);
    for number in 0..kept {
        assert_eq!(fs::read(mount.point.join(format!("file-{number}"))).unwrap(), vec![number as u8; 20_000]);
    }
    assert_eq!(mount.unmount().1, 0);
    sound(at, "disk.img");
}

#[test]
fn a_device_that_fails_makes_a_mount_read_only_and_is_told_once() {
    if !can_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Fewer bytes than the image claims.
    let small = at.join("small");
    fs::create_dir(&small).unwrap();
    let made = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(&small).status().unwrap();
    assert!(made.success());
    told(&["fs", "mkfs", "small/disk.img", "--size", "64 MiB", "--segment", "512 KiB"], at, 0);
    let mount = Mount::of(at, "small/disk.img", &[]);
    fs::write(mount.point.join("kept"), "kept").unwrap();
    fs::File::open(mount.point.join("kept")).unwrap().sync_all().unwrap();
    let mut large = fs::File::create(mount.point.join("large")).unwrap();
    let failed = (0..32).try_for_each(|_| large.write_all(&[7; 1 << 20]).and_then(|()| large.sync_all()));
    assert!(failed.is_err());
    drop(large);
    let refused = fs::write(mount.point.join("new"), "new").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    assert_eq!(fs::read_to_string(mount.point.join("kept")).unwrap(), "kept");
    let (text, code) = mount.unmount();
    assert!(text.contains("the device failed") && text.lines().count() == 1 && code == 1, "{code}: {text}");
    sound(at, "small/disk.img");
    told(&["fs", "cp", "small/disk.img:/kept", "back"], at, 0);
    assert_eq!(fs::read_to_string(at.join("back")).unwrap(), "kept");
    assert!(Command::new("umount").arg(&small).status().unwrap().success());
}

/// A file system in a file gets smaller, and the file with it; what is in it stays.
#[test]
fn a_file_system_is_made_as_small_as_it_can_be() {
    let folder = image();
    let path = folder.path();
    fs::write(path.join("data"), vec![7; 6 << 20]).unwrap();
    told(&["fs", "cp", "data", "disk.img:/one"], path, 0);
    told(&["fs", "cp", "data", "disk.img:/two"], path, 0);
    let plan = json(&["fs", "plan", "disk.img", "--minimum", "--json"], path);
    let least = plan["least_bytes"].as_u64().unwrap();
    assert_eq!((plan["bytes_now"].as_u64().unwrap() > least, plan["bytes"].as_u64()), (true, Some(least)));
    let refused = told(&["fs", "plan", "disk.img", &format!("{} B", least - 1)], path, 2);
    assert!(refused.starts_with("wane: disk.img: what is there does not fit in"), "{refused}");
    assert_eq!(told(&["fs", "resize", "disk.img", "1 MiB"], path, 2).lines().count(), 1);
    told(&["fs", "resize", "disk.img", "--minimum"], path, 0);
    assert_eq!(fs::metadata(path.join("disk.img")).unwrap().len(), least);
    assert!(told(&["fs", "fsck", "disk.img"], path, 0).contains("sound"));
    told(&["fs", "cp", "disk.img:/two", "back"], path, 0);
    assert_eq!(fs::read(path.join("back")).unwrap(), vec![7; 6 << 20]);
    // What the drive was told of its capacity is no request: its file system surrenders, and discards.
    told(&["drive", "create", "d.wane", "--preset", "tiny", "--empty"], path, 0);
    told(&["fs", "mkfs", "d.wane", "--segment", "128 KiB"], path, 0);
    told(&["fs", "resize", "d.wane", "--minimum", "--way", "surrender"], path, 0);
    assert!(told(&["fs", "fsck", "d.wane"], path, 0).contains("sound"));
}

/// A plan on a kept drive says what that drive would go through, and changes nothing.
#[test]
fn a_plan_on_a_drive_tells_its_time_and_wear() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let create = ["drive", "create", "d.wane", "--preset", "tiny", "--empty", "--set", "time.scheduler=\"event\""];
    told(&create, path, 0);
    told(&["fs", "mkfs", "d.wane", "--segment", "64 KiB"], path, 0);
    fs::write(path.join("data"), vec![7; 1 << 20]).unwrap();
    // What lies at the end is in the way.
    for name in ["one", "two"] {
        told(&["fs", "cp", "data", &format!("d.wane:/{name}")], path, 0);
    }
    let before = told(&["drive", "show", "d.wane", "--json"], path, 0);
    let plan = |way: &str| json(&["fs", "plan", "d.wane", "--minimum", "--way", way, "--json"], path);
    let (relocate, remap) = (plan("relocate"), plan("remap"));
    let of = |plan: &Value, key: &str| plan["on_the_drive"][key].as_f64().unwrap();
    assert!(of(&relocate, "seconds") > 0.0 && of(&relocate, "programmed_bytes") > 0.0, "{relocate}");
    assert!(of(&remap, "programmed_bytes") <= of(&relocate, "programmed_bytes"), "{remap} {relocate}");
    assert_eq!(told(&["drive", "show", "d.wane", "--json"], path, 0), before);
    let text = told(&["fs", "plan", "d.wane", "--minimum"], path, 0);
    assert!(text.contains("s of the drive's time") && text.contains("programmed"), "{text}");
}

/// A mount of 24 MiB, in which little is much.
fn small(folder: &Path) -> Mount {
    told(&["fs", "mkfs", "small.img", "--size", "24 MiB", "--segment", "128 KiB"], folder, 0);
    Mount::of(folder, "small.img", &[])
}

fn no_space(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOSPC.raw_os_error())
}

/// Fills a mount to its last block. Returns the file that did.
fn fill(point: &Path) -> fs::File {
    let mut file =
        fs::File::options().read(true).write(true).create(true).truncate(false).open(point.join("fill")).unwrap();
    file.seek(SeekFrom::End(0)).unwrap();
    for part in [64 << 10, 4096] {
        while let Ok(count) = file.write(&vec![7; part]) {
            assert!(count > 0);
        }
    }
    file
}

#[test]
fn temporary_files_use_up_nothing_of_a_mount() {
    if !can_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mount = small(folder.path());
    let nodes = rustix::fs::statvfs(&mount.point).unwrap().f_files;
    assert!(nodes < 3_000, "{nodes}");
    for number in 0..2 * nodes {
        let path = mount.point.join(format!("tmp{}", number % 7));
        fs::write(&path, b"").unwrap_or_else(|error| panic!("{number}: {error}"));
        fs::rename(&path, mount.point.join("saved")).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
    assert_eq!(mount.unmount(), (String::new(), 0));
    sound(folder.path(), "small.img");
}

#[test]
fn a_full_mount_refuses_whole_calls_and_takes_renames() {
    if !can_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mount = small(folder.path());
    let at = |name: &str| mount.point.join(name);
    let inside: Vec<u8> = (0..3000_u32).map(|byte| (byte % 251) as u8 + 1).collect();
    for name in ["log", "zeroed", "direct", "mapped"] {
        fs::write(at(name), &inside).unwrap();
    }
    let filled = fill(&mount.point);
    filled.set_len(filled.metadata().unwrap().len() - 40_960).unwrap();
    filled.sync_all().unwrap();
    drop(filled);
    assert_eq!(rustix::fs::statvfs(&mount.point).unwrap().f_bavail, 10);
    // A direct write that does not fit, of a new file and of one that grows.
    let piece = vec![5_u8; 1 << 20];
    for name in ["direct", "new"] {
        let options = rustix::fs::OFlags::DIRECT | rustix::fs::OFlags::CREATE | rustix::fs::OFlags::RDWR;
        let file: fs::File =
            rustix::fs::open(at(name), options, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap().into();
        // Memory for direct requests begins at a page.
        let aligned = piece.as_ptr().align_offset(4096);
        let error = file.write_at(&piece[aligned..aligned + (64 << 10)], 0).unwrap_err();
        assert!(no_space(&error), "{name}: {error}");
    }
    assert_eq!((fs::metadata(at("direct")).unwrap().len(), fs::metadata(at("new")).unwrap().len()), (3000, 0));
    // Zeros for which there is no room.
    let file = fs::File::options().read(true).write(true).open(at("zeroed")).unwrap();
    let refused = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::ZERO_RANGE, 100, 300_000).unwrap_err();
    assert_eq!(refused, rustix::io::Errno::NOSPC);
    drop(file);
    // Buffered, as much as fits is taken.
    let mut buffered = fs::File::create(at("buffered")).unwrap();
    let error = buffered.write_all(&vec![6; 64 << 10]).unwrap_err();
    assert!(no_space(&error), "{error}");
    let taken = buffered.metadata().unwrap().len();
    drop(buffered);
    assert!((28_672..40_960).contains(&taken), "{taken}");
    drop(fill(&mount.point));
    assert_eq!(rustix::fs::statvfs(&mount.point).unwrap().f_bavail, 0);
    assert!(no_space(&fs::write(at("more"), b"x").unwrap_err()));
    for number in 0..20 {
        let from = if number == 0 { "log".to_owned() } else { format!("log.{}", number - 1) };
        fs::rename(at(&from), at(&format!("log.{number}"))).unwrap();
    }
    fs::rename(at("log.19"), at("buffered")).unwrap();
    assert_eq!(mount.unmount(), (String::new(), 0));
    sound(folder.path(), "small.img");
    let mount = Mount::of(folder.path(), "small.img", &["--read-only"]);
    for name in ["buffered", "zeroed", "direct"] {
        assert!(fs::read(mount.point.join(name)).unwrap() == inside, "{name}");
    }
    assert_eq!(mount.unmount(), (String::new(), 0));
}

/// What overlay file systems need of an upper directory.
#[test]
fn a_mount_is_the_upper_directory_of_an_overlay() {
    if !can_mount() {
        return;
    }
    let folder = image();
    let mount = Mount::of(folder.path(), "disk.img", &[]);
    let at = |name: &str| mount.point.join(name);
    for dir in ["lower/dir", "upper", "work", "merged"] {
        fs::create_dir_all(at(dir)).unwrap();
    }
    for name in ["lower/file", "lower/dir/file"] {
        fs::write(at(name), "low").unwrap();
    }
    let places = format!(
        "lowerdir={},upperdir={},workdir={}",
        at("lower").display(),
        at("upper").display(),
        at("work").display()
    );
    let done =
        Command::new("mount").args(["-t", "overlay", "overlay", "-o", &places]).arg(at("merged")).output().unwrap();
    if !done.status.success() && fs::read_to_string("/proc/filesystems").is_ok_and(|all| !all.contains("overlay")) {
        skipped("this system has no overlay file system");
        return;
    }
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fs::remove_file(at("merged/file")).unwrap();
    fs::rename(at("merged/dir/file"), at("merged/moved")).unwrap();
    fs::write(at("merged/moved"), "up").unwrap();
    let names = |dir: &str| {
        let mut names: Vec<String> =
            fs::read_dir(at(dir)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!((names("merged"), names("merged/dir")), (vec!["dir".to_owned(), "moved".to_owned()], vec![]));
    assert!(Command::new("umount").arg(at("merged")).status().unwrap().success());
    let whiteout = fs::symlink_metadata(at("upper/file")).unwrap();
    assert_eq!((whiteout.mode() & 0o170_000, whiteout.rdev()), (0o020_000, 0));
    assert_eq!(fs::read_to_string(at("upper/moved")).unwrap(), "up");
    assert_eq!(mount.unmount(), (String::new(), 0));
    sound(folder.path(), "disk.img");
}

/// A handle of a file, and what it opens, by the calls of the system that Rust's library lacks.
const HANDLES: &str = "
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Handle(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_uint), ('type', ctypes.c_int), ('data', ctypes.c_ubyte * 128)]
what, point, where = sys.argv[1:]
if what == 'note':
    handle, mount = Handle(128, 0), ctypes.c_int()
    if libc.name_to_handle_at(-100, where.encode(), ctypes.byref(handle), ctypes.byref(mount), 0):
        sys.exit(os.strerror(ctypes.get_errno()))
    print(bytes(handle).hex())
else:
    root = os.open(point, os.O_RDONLY)
    opened = libc.open_by_handle_at(root, ctypes.byref(Handle.from_buffer_copy(bytes.fromhex(where))), os.O_RDONLY)
    if opened < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    print(','.join(sorted(os.listdir(opened))) if what == 'list' else os.read(opened, 99).decode())
";

/// The kernel knows no file of a new mount: a handle leads to one by its number and generation alone.
#[test]
fn handles_of_files_last() {
    if !can_mount() {
        return;
    }
    if Command::new("python3").arg("--version").output().is_err() {
        skipped("handles need python3");
        return;
    }
    let folder = image();
    let at = folder.path();
    let asked = |what: &str, path: &str| {
        let done = Command::new("python3").args(["-c", HANDLES, what, "mnt", path]).current_dir(at).output().unwrap();
        let text = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        if done.status.success() { Ok(text) } else { Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()) }
    };
    let mount = Mount::of(at, "disk.img", &[]);
    fs::create_dir_all(mount.point.join("a/b")).unwrap();
    for name in ["a/b/kept", "a/b/gone"] {
        fs::write(mount.point.join(name), name).unwrap();
    }
    symlink("nowhere", mount.point.join("a/b/link")).unwrap();
    let handles = ["mnt/a/b/kept", "mnt/a/b/gone", "mnt/a/b"].map(|path| asked("note", path).unwrap());
    assert_eq!(mount.unmount(), (String::new(), 0));
    for options in [&["--read-only"][..], &[]] {
        let mount = Mount::of(at, "disk.img", options);
        assert_eq!(asked("read", &handles[0]), Ok("a/b/kept".to_owned()));
        assert_eq!(asked("list", &handles[2]), Ok("gone,kept,link".to_owned()));
        assert_eq!(mount.unmount(), (String::new(), 0));
    }
    let mount = Mount::of(at, "disk.img", &[]);
    fs::remove_file(mount.point.join("a/b/gone")).unwrap();
    assert_eq!(mount.unmount(), (String::new(), 0));
    let mount = Mount::of(at, "disk.img", &[]);
    // Its number may be another file's by now.
    for number in 0..20 {
        fs::write(mount.point.join(format!("a/b/{number}")), "other").unwrap();
    }
    assert_eq!(asked("read", &handles[1]), Err("Stale file handle".to_owned()));
    assert_eq!(asked("read", &handles[0]), Ok("a/b/kept".to_owned()));
    assert_eq!(mount.unmount(), (String::new(), 0));
}

/// Times of files in seconds and nanoseconds, which count up from the second.
fn modified(path: &Path) -> (i64, i64) {
    let found = fs::symlink_metadata(path).unwrap();
    (found.mtime(), found.mtime_nsec())
}

fn set_times(path: &Path, (seconds, nanos): (i64, i64)) {
    let time = rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanos };
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// The last one is too late for disks that count 34 bits.
const TIMES: [(i64, i64); 7] = [
    (-14_245_441, 750_000_000),
    (-1, 999_999_999),
    (-1, 0),
    (-157_766_400, 0),
    (0, 1),
    (1_700_000_000, 123_456_789),
    (15_032_385_535, 999_999_999),
];

#[test]
fn times_before_1970_go_in_and_out_as_they_are() {
    let folder = image();
    let at = folder.path();
    fs::create_dir(at.join("src")).unwrap();
    for (number, time) in TIMES.into_iter().enumerate() {
        fs::write(at.join(format!("src/{number}")), "x").unwrap();
        set_times(&at.join(format!("src/{number}")), time);
    }
    symlink("nowhere", at.join("src/link")).unwrap();
    set_times(&at.join("src/link"), TIMES[0]);
    told(&["fs", "cp", "src", "disk.img:/"], at, 0);
    told(&["fs", "cp", "disk.img:/src", "back"], at, 0);
    for number in 0..TIMES.len() {
        assert_eq!(
            modified(&at.join(format!("back/{number}"))),
            modified(&at.join(format!("src/{number}"))),
            "{number}"
        );
    }
    assert_eq!(modified(&at.join("back/link")), TIMES[0]);
    if !can_mount() {
        return;
    }
    let mount = Mount::of(at, "disk.img", &["--no-atime"]);
    for number in 0..TIMES.len() {
        assert_eq!(modified(&mount.point.join(format!("src/{number}"))), modified(&at.join(format!("src/{number}"))));
    }
    for time in TIMES {
        fs::write(mount.point.join("set"), "x").unwrap();
        set_times(&mount.point.join("set"), time);
        assert_eq!(modified(&mount.point.join("set")), time);
    }
    assert_eq!(mount.unmount(), (String::new(), 0));
}

/// A new file holds nothing, and of old ones holes are not read: neither takes time by size.
#[test]
fn holes_are_not_read_and_stay_holes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    told(&["fs", "mkfs", "new.img", "--size", "64 GiB"], at, 0);
    fs::File::create(at.join("old.img")).unwrap().set_len(64 << 30).unwrap();
    told(&["fs", "mkfs", "old.img"], at, 0);
    let used = |name: &str| fs::metadata(at.join(name)).unwrap().blocks() * 512;
    assert!(used("new.img") < 1 << 30, "{}", used("new.img"));
    // What lies far behind is found.
    let held = fs::File::create(at.join("held.img")).unwrap();
    held.set_len(64 << 30).unwrap();
    held.write_all_at(b"data", 50 << 30).unwrap();
    assert!(told(&["fs", "mkfs", "held.img"], at, 2).contains("holds data"));
    // A sparse file goes in and out as one.
    let sparse = fs::File::create(at.join("sparse")).unwrap();
    sparse.write_all_at(b"first", 0).unwrap();
    sparse.write_all_at(b"second", 40 << 30).unwrap();
    sparse.set_len(100 << 30).unwrap();
    told(&["fs", "cp", "sparse", "new.img:/"], at, 0);
    told(&["fs", "cp", "new.img:/sparse", "back"], at, 0);
    let back = fs::File::open(at.join("back")).unwrap();
    assert_eq!(back.metadata().unwrap().len(), 100 << 30);
    assert!(used("back") < 1 << 20, "{}", used("back"));
    for (offset, want) in [(0, b"first\0".as_slice()), (40 << 30, b"second"), (90 << 30, &[0; 6])] {
        let mut bytes = [0; 6];
        back.read_exact_at(&mut bytes, offset).unwrap();
        assert_eq!(bytes, want);
    }
    // What cannot tell where it has holes is read to its end.
    told(&["fs", "cp", "/proc/version", "new.img:/"], at, 0);
    told(&["fs", "cp", "new.img:/version", "version"], at, 0);
    assert_eq!(fs::read(at.join("version")).unwrap(), fs::read("/proc/version").unwrap());
}
