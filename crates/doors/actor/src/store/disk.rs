//! File access: a file is written whole or not at all, and reading it detects damage.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wane_units::excerpt_path;

use crate::layout::{Code, HEADER_BYTES, RECORD_BYTES, block_range};
use crate::share::{Header, Place, Version};
use crate::{ActorError, RingId};

/// Suffix of a small file's name until it is whole.
pub(super) const PART: &str = ".part";

/// Errors of Unix systems when all processes, or this one, have too many files open: ENFILE and EMFILE.
const TOO_MANY_FILES: [Option<i32>; 2] = [Some(23), Some(24)];

/// Bytes of a file that are read at once.
const READ_BYTES: usize = 1 << 16;

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Syncs a file's folder, so that its names last.
pub(super) fn sync_folder(path: &Path) -> Result<(), ActorError> {
    let folder = folder_of(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| ActorError::file(folder, "synced", &error))
}

/// Makes a folder that its owner alone may enter, whatever the umask says. The folders above it are made as usual.
pub(super) fn make_private(folder: &Path) -> Result<(), ActorError> {
    let make = || {
        fs::create_dir_all(folder_of(folder))?;
        match builder().create(folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
            other => other,
        }
    };
    make().map_err(|error| ActorError::file(folder, "made", &error))
}

#[cfg(unix)]
fn builder() -> fs::DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
fn builder() -> fs::DirBuilder {
    fs::DirBuilder::new()
}

/// Options of a file that its owner alone may read, whatever the umask says, if it is made.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Takes from others what they may do with a folder that was made by the umask, and with all that is in it. What the system refuses stays as it is:
/// on a full or foreign disk a drive still serves what it has.
#[cfg(unix)]
pub(super) fn make_all_private(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let is_open = |path: &Path| fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
    if !is_open(folder) {
        return;
    }
    // Folder by folder, and the topmost last: its mode says that all below was done.
    let (mut folders, mut next) = (vec![folder.to_owned()], 0);
    while let Some(folder) = folders.get(next) {
        for path in entries(folder).unwrap_or_default() {
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_dir() => folders.push(path),
                Ok(found) if found.is_file() && is_open(&path) => {
                    let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o600));
                }
                _ => {}
            }
        }
        next += 1;
    }
    for folder in folders.iter().rev() {
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
}

#[cfg(not(unix))]
pub(super) fn make_all_private(_: &Path) {}

/// Makes the folder of a file that will be written.
pub(super) fn make_folder(path: &Path) -> Result<(), ActorError> {
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    make_private(folder)?;
    sync_folder(folder)
}

/// Writes a small file whole or not at all, in place of what is there. Until it is whole it has a name that nobody can foretell, and after that its
/// owner alone may read it.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), ActorError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let write = || {
        let mut file =
            tempfile::Builder::new().prefix(&format!(".{name}.")).suffix(PART).tempfile_in(folder_of(path))?;
        file.as_file_mut().write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map_err(|error| ActorError::file(path, "written", &error))?;
    sync_folder(path)
}

/// The name of the file that a killed process left a part of, of a file with this name; `None` if it is no such part.
pub(super) fn part_of(name: &str) -> Option<&str> {
    let whole = name.strip_suffix(PART)?;
    // Older versions have no random letters in the name, and no point before it.
    Some(whole.strip_prefix('.').and_then(|rest| rest.rsplit_once('.')).map_or(whole, |(name, _)| name))
}

/// Removes parts of files whose names `is_own` takes.
pub(super) fn remove_parts(folder: &Path, is_own: impl Fn(&str) -> bool) -> Result<(), ActorError> {
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if part_of(&name).is_some_and(&is_own) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Renames a synced file, and syncs its new name.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), ActorError> {
    fs::rename(from, to).map_err(|error| ActorError::file(to, "written", &error))?;
    sync_folder(to)?;
    if folder_of(from) == folder_of(to) { Ok(()) } else { sync_folder(from) }
}

/// Removes a file; it is no error if it is gone already.
pub(super) fn remove(path: &Path) -> Result<(), ActorError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(ActorError::file(path, "removed", &error)),
        Ok(()) => sync_folder(path),
    }
}

/// Turns a read error into what it means for the file: gone, lost with its medium, or unreadable only for now.
pub(super) fn unread(path: &Path, error: &std::io::Error) -> ActorError {
    let (shown, why) = (excerpt_path(path), error.to_string());
    match error.kind() {
        ErrorKind::NotFound => ActorError::Missing(format!("{shown} is not there any more")),
        ErrorKind::UnexpectedEof => ActorError::Rotten(format!("{shown} ends too early")),
        // The process lacks a resource, and the file is not at fault: another try may read it.
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::OutOfMemory | ErrorKind::TimedOut => {
            ActorError::System(format!("{shown} cannot be read: {why}"))
        }
        _ if TOO_MANY_FILES.contains(&error.raw_os_error()) => {
            ActorError::System(format!("{shown} cannot be read: {why}"))
        }
        _ => ActorError::Rotten(format!("{shown} cannot be read: {why}")),
    }
}

/// Moves the file at a share's place to `folder`, under a name that is free there.
pub(super) fn set_aside(path: &Path, folder: &Path) -> Result<(), ActorError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names = (0..u32::MAX).map(|number| if number == 0 { name.clone() } else { format!("{name}.{number}") });
    let mut free = names.map(|name| folder.join(name)).filter(|place| fs::symlink_metadata(place).is_err());
    let place = free.next().unwrap_or_else(|| folder.join(&name));
    rename(path, &place)
}

pub(super) fn length(path: &Path) -> Result<u64, ActorError> {
    fs::metadata(path).map(|found| found.len()).map_err(|error| unread(path, &error))
}

/// Lists the entries of a folder, in the order of names.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ActorError> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>();
    let mut found = read().map_err(|error| ActorError::unread(folder, &error))?;
    found.sort();
    Ok(found)
}

/// Removes the files of a folder.
pub(super) fn empty(folder: &Path) -> Result<(), ActorError> {
    for path in entries(folder)? {
        remove(&path)?;
    }
    Ok(())
}

/// Reads bytes of a file from `offset` on. An early end counts as damage.
fn read_at(file: &mut (impl Read + Seek), path: &Path, offset: u64, bytes: &mut [u8]) -> Result<(), ActorError> {
    let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(bytes));
    read.map_err(|error| unread(path, &error))
}

/// Reads a block of a share's file, and checks its checksum.
pub(super) fn read_block(path: &Path, offset: u64, place: Place, cell: u32, code: Code) -> Result<Vec<u8>, ActorError> {
    let mut file = File::open(path).map_err(|error| unread(path, &error))?;
    block_of(&mut file, path, offset, place, cell, code)
}

fn block_of(
    file: &mut (impl Read + Seek),
    path: &Path,
    offset: u64,
    place: Place,
    cell: u32,
    code: Code,
) -> Result<Vec<u8>, ActorError> {
    if place.block >= code.data {
        return Err(ActorError::Invalid(format!("block {}: cells have {} blocks", place.block, code.data)));
    }
    let mut bytes = vec![0; RECORD_BYTES as usize + block_range(cell, code, place.block).len()];
    read_at(file, path, offset, &mut bytes)?;
    let (record, block) = bytes.split_at(RECORD_BYTES as usize);
    place.check(record, block).map_err(|error| ActorError::Rotten(format!("{}: {error}", excerpt_path(path))))?;
    Ok(block.to_vec())
}

/// Writes a block with its record at its place in a file.
pub(super) fn write_block(path: &Path, offset: u64, place: Place, block: &[u8]) -> Result<(), ActorError> {
    debug_assert!(offset >= HEADER_BYTES, "blocks lie behind the description");
    let write = || {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(&place.record(block))?;
        file.write_all(block)
    };
    write().map_err(|error| ActorError::file(path, "written", &error))
}

/// Checks the checksum of every block of a share's file; returns SHA-256 of all blocks.
pub(super) fn digest(path: &Path, header: &Header) -> Result<String, ActorError> {
    let opened = File::open(path).map_err(|error| unread(path, &error))?;
    let mut file = BufReader::with_capacity(READ_BYTES, opened);
    let mut hash = Sha256::new();
    let (layout, mut offset) = (header.layout, HEADER_BYTES);
    for stripe in 0..layout.stripes() {
        let cell = layout.cell_bytes(stripe);
        for block in 0..layout.code.data {
            let place = Place { version: header.version, share: header.share, stripe, block };
            let bytes = block_of(&mut file, path, offset, place, cell, layout.code)?;
            offset += RECORD_BYTES + bytes.len() as u64;
            hash.update(&bytes);
        }
    }
    assert_eq!(offset, layout.file_bytes(), "the blocks with their records fill the file to its end");
    if offset != length(path)?.max(HEADER_BYTES) {
        return Err(ActorError::Rotten(format!("{} is longer than what was written", excerpt_path(path))));
    }
    Ok(hex(&hash.finalize()))
}

/// Hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the description of a share's file, and checks the file's length, without reading the blocks.
pub(super) fn described(
    path: &Path,
    object: RingId,
    version: Version,
    share: Option<u16>,
) -> Result<Header, ActorError> {
    let header = read_header(path)?;
    let named = (header.object(), header.version, (!header.deleted).then_some(header.share));
    if named != (object, version, share) {
        return Err(ActorError::Rotten(format!("{}: the file of another share", excerpt_path(path))));
    }
    let (found, written) = (length(path)?, if header.deleted { HEADER_BYTES } else { header.layout.file_bytes() });
    if found != written {
        let what = if found < written { "shorter" } else { "longer" };
        return Err(ActorError::Rotten(format!("{} is {what} than what was written", excerpt_path(path))));
    }
    Ok(header)
}

fn read_header(path: &Path) -> Result<Header, ActorError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEADER_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| unread(path, &error))?;
    Header::parse(&bytes).map_err(|error| ActorError::Rotten(format!("{}: {error}", excerpt_path(path))))
}

/// Checks that a file holds all that was written under its name.
pub(super) fn verify(path: &Path, object: RingId, version: Version, share: Option<u16>) -> Result<(), ActorError> {
    let header = described(path, object, version, share)?;
    let rotten = |what: &str| Err(ActorError::Rotten(format!("{}: {what}", excerpt_path(path))));
    if header.deleted {
        return Ok(());
    }
    if digest(path, &header)? == header.share_sha256 { Ok(()) } else { rotten("not the digest of what was written") }
}
