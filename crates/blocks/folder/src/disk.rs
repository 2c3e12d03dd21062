//! The calls of the system on which durability rests.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// A disk, as far as folders that survive need it.
pub trait Disk: Debug + Send + Sync {
    /// Makes an empty file, in place of one of that name.
    ///
    /// # Errors
    /// The system refuses. So do all others.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>>;

    /// Opens a file to be written behind its first `length` bytes. What lies there is cut off.
    ///
    /// # Errors
    /// The file is shorter; or the system refuses.
    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn Output>>;

    /// All bytes of a file.
    ///
    /// # Errors
    /// The system refuses.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Gives a file or folder another name, in place of a file of that name.
    ///
    /// # Errors
    /// The system refuses.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name.
    ///
    /// # Errors
    /// The system refuses, such as across file systems.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name of a file.
    ///
    /// # Errors
    /// The system refuses.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// The names in a folder, in any order.
    ///
    /// # Errors
    /// The system refuses.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Waits until the names in a folder are on the disk, on systems that can.
    fn sync_folder(&self, folder: &Path);
}

/// A file that is written from front to end.
pub trait Output: Write + Debug + Send {
    /// Waits until what was written is on the disk. If it fails, nobody knows what is; it must not be tried again.
    ///
    /// # Errors
    /// The system refuses.
    fn sync(&mut self) -> io::Result<()>;

    /// A call that does what [`Output::sync`] does, for all that was written by now, and that another thread may make.
    ///
    /// # Errors
    /// The system refuses another handle of the file.
    fn sync_later(&self) -> io::Result<Box<dyn FnOnce() -> io::Result<()> + Send>>;

    /// Takes room for `bytes` bytes in all, so that writes up to there do not fail for want of it. The file is then that long, and zeros lie
    /// behind what was written.
    ///
    /// # Errors
    /// There is no room, or the system refuses.
    fn reserve(&mut self, bytes: u64) -> io::Result<()>;

    /// Bytes that were written.
    fn length(&self) -> u64;
}

/// The disks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

#[derive(Debug)]
struct Plain {
    file: File,
    written: u64,
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Output for Plain {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_later(&self) -> io::Result<Box<dyn FnOnce() -> io::Result<()> + Send>> {
        let file = self.file.try_clone()?;
        Ok(Box::new(move || file.sync_data()))
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if bytes <= length {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        match rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            Ok(()) => return Ok(()),
            // Some file systems cannot.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        self.file.set_len(bytes)
    }

    fn length(&self) -> u64 {
        self.written
    }
}

impl Disk for System {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(Plain { file: File::create(path)?, written: 0 }))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn Output>> {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        Ok(Box::new(Plain { file, written: length }))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        // Opening a pipe would block.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is no plain file"));
        }
        fs::read(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn sync_folder(&self, folder: &Path) {
        if cfg!(unix) {
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
    }
}
