//! Contents of files: reads and writes, sizes, holes.

use crate::data::Pointer;
use crate::error::{Answer, FsError};
use crate::inode::BODY;
use crate::inode::{FLAG_INLINE, FileKind, Ino, Moment, inline_max};
use crate::map::{LOST, Missing, index_max};
use crate::names::SetAttr;
use crate::nat::NOT_WRITTEN;
use crate::pages::Index;
use crate::port::Port;
use crate::room::By;
use crate::volume::Volume;

/// Blocks of one write after which room is made again.
const PAGES_BETWEEN: u64 = 64;

/// Blocks that a call promises or gives up after which room is made again.
const BLOCKS_BETWEEN: u64 = 4096;

/// Where `seek` looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// For data.
    Data,
    /// For a hole.
    Hole,
}

/// What `fallocate` does with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocate {
    /// Makes sure that there is room for it. The file grows if it ends before.
    Grow,
    /// The same, but the file's size stays.
    KeepSize,
    /// Makes a hole of it; the size stays.
    PunchHole,
    /// Makes it read as zeros, with room for it. The file grows if it ends before.
    Zero,
    /// The same, but the file's size stays.
    ZeroKeepSize,
}

impl<P: Port> Volume<P> {
    pub(crate) const fn block_u64(&self) -> u64 {
        self.geometry.block as u64
    }

    /// Most bytes of a file.
    pub fn size_max(&self) -> u64 {
        index_max(&self.geometry) * self.geometry.block as u64
    }

    /// Refuses what is no regular file.
    fn regular(&mut self, ino: Ino) -> Answer<()> {
        match self.inode(ino)?.kind().ok_or(FsError::Io)? {
            FileKind::File => Ok(()),
            FileKind::Directory => Err(FsError::IsDirectory),
            _ => Err(FsError::Invalid),
        }
    }

    /// A block of a file, as it is now. A hole is zeros.
    ///
    /// # Errors
    /// The device lost it, or returned something else.
    pub(crate) fn page(&mut self, ino: Ino, index: Index) -> Answer<&[u8]> {
        if self.pages.get(ino, index).is_none() {
            let pointer = self.lies_at(ino, index)?;
            let mut bytes = vec![0; self.geometry.block].into_boxed_slice();
            match pointer.at {
                0 | NOT_WRITTEN => {}
                LOST => return Err(FsError::Io),
                _ => self.read_data((ino, index), pointer, &mut bytes)?,
            }
            self.pages.put_clean(ino, index, bytes);
        }
        self.pages.get(ino, index).ok_or(FsError::Io)
    }

    /// Reads bytes of a file, as many as there are.
    ///
    /// # Errors
    /// It is no file, or the first bytes are lost.
    pub fn read(&mut self, ino: Ino, offset: u64, length: usize) -> Answer<Vec<u8>> {
        self.regular(ino)?;
        self.read_any(ino, offset, length)
    }

    pub(crate) fn read_any(&mut self, ino: Ino, offset: u64, length: usize) -> Answer<Vec<u8>> {
        let inode = self.inode(ino)?;
        let size = inode.size();
        let length = (length as u64).min(size.saturating_sub(offset)) as usize;
        if inode.has(FLAG_INLINE) {
            let data = &inode.0[BODY..BODY + inode.inline_size()];
            let from = (offset.min(size) as usize).min(data.len());
            return Ok(data[from..data.len().min(from.saturating_add(length))].to_vec());
        }
        let (block, mut out) = (self.block_u64(), Vec::with_capacity(length.min(1 << 20)));
        while out.len() < length {
            let at = offset + out.len() as u64;
            let (index, within) = ((at / block) as Index, (at % block) as usize);
            let take = (block as usize - within).min(length - out.len());
            match self.page(ino, index) {
                Ok(page) => out.extend_from_slice(&page[within..within + take]),
                // What came before is told.
                Err(_) if !out.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(out)
    }

    /// Writes bytes to a file. Returns how many it took: fewer than all if room ends among them.
    ///
    /// # Errors
    /// There is no room, the file would grow too large, or it is no file. Then nothing changed.
    pub fn write(&mut self, ino: Ino, offset: u64, bytes: &[u8], now: Moment) -> Answer<usize> {
        if !self.check_write(ino, offset, bytes.len() as u64)? {
            return Ok(0);
        }
        self.balance()?;
        let written = self.write_any(ino, offset, bytes)?;
        self.note_written(ino, offset + written as u64, now)?;
        Ok(written)
    }

    /// Writes all bytes to a file, or none: for who can make nothing of a short write.
    ///
    /// # Errors
    /// As of [`Volume::write`]. Nothing changed, unless the device failed among them.
    pub fn write_whole(&mut self, ino: Ino, offset: u64, bytes: &[u8], now: Moment) -> Answer<()> {
        if !self.check_write(ino, offset, bytes.len() as u64)? {
            return Ok(());
        }
        self.balance()?;
        let (block, end) = (self.block_u64(), offset + bytes.len() as u64);
        let is_inline = self.inode(ino)?.has(FLAG_INLINE);
        if !is_inline || end > inline_max(self.geometry.block) as u64 {
            let need = self.need_of(ino, offset / block..end.div_ceil(block))?;
            self.ask_room(need, By::Other)?;
        }
        // Of blocks that are written in part, the rest must be known.
        for edge in [offset, end].into_iter().filter(|edge| !is_inline && !edge.is_multiple_of(block)) {
            self.page(ino, (edge / block) as Index)?;
        }
        let written = self.write_any(ino, offset, bytes)?;
        self.note_written(ino, offset + written as u64, now)?;
        if written == bytes.len() { Ok(()) } else { Err(FsError::Io) }
    }

    /// Refuses a write that cannot be. Returns whether there is something to write.
    fn check_write(&mut self, ino: Ino, offset: u64, length: u64) -> Answer<bool> {
        self.writable()?;
        self.regular(ino)?;
        offset.checked_add(length).filter(|end| *end <= self.size_max()).ok_or(FsError::TooLarge)?;
        Ok(length > 0)
    }

    /// The data of a file changed, and end no sooner than there.
    fn note_written(&mut self, ino: Ino, end: u64, now: Moment) -> Answer<()> {
        let size = self.inode(ino)?.size().max(end);
        self.allocated(ino, size, now)
    }

    /// Writes bytes, and leaves size and times as they are.
    pub(crate) fn write_any(&mut self, ino: Ino, offset: u64, bytes: &[u8]) -> Answer<usize> {
        let block = self.block_u64();
        let inode = self.inode(ino)?;
        if inode.has(FLAG_INLINE) {
            let end = offset + bytes.len() as u64;
            if end <= inline_max(self.geometry.block) as u64 {
                let (node, from) = (self.node_mut(ino)?, BODY + offset as usize);
                node.bytes[from..from + bytes.len()].copy_from_slice(bytes);
                return Ok(bytes.len());
            }
            let first = offset / block;
            let need = self.need_of(ino, first..first + 1)?;
            self.ask_room(need, By::Other)?;
            self.leave_inode(ino)?;
        }
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let (index, within) = ((at / block) as Index, (at % block) as usize);
            let take = (block as usize - within).min(bytes.len() - done);
            let has_time = done == 0 || !u64::from(index).is_multiple_of(PAGES_BETWEEN) || self.balance().is_ok();
            if !has_time {
                break;
            }
            match self.write_page(ino, index, within, &bytes[done..done + take]) {
                Ok(()) => done += take,
                Err(_) if done > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Writes whole blocks whose contents nobody will ask for, on a port without contents ([`crate::Direct::hollow`]). Returns how many it took.
    ///
    /// # Errors
    /// As [`Volume::write`].
    pub fn overwrite(&mut self, ino: Ino, blocks: std::ops::Range<u32>, now: Moment) -> Answer<u32> {
        self.writable()?;
        self.regular(ino)?;
        if self.inode(ino)?.has(FLAG_INLINE) {
            let need = self.need_of(ino, blocks.start.into()..u64::from(blocks.start) + 1)?;
            self.ask_room(need, By::Other)?;
            self.leave_inode(ino)?;
        }
        let mut done = 0;
        for index in blocks.clone() {
            let ready = if u64::from(done).is_multiple_of(PAGES_BETWEEN) { self.balance() } else { Ok(()) };
            match ready.and_then(|()| self.promise(ino, index)) {
                Ok(()) => drop(self.pages.change(ino, index, Box::default)),
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
            self.has_changed = true;
            done += 1;
        }
        let end = u64::from(blocks.start + done) * self.block_u64();
        let size = self.inode(ino)?.size().max(end);
        let mut inode = self.inode_mut(ino)?;
        inode.set_size(size);
        inode.set_modified(now);
        inode.set_changed(now);
        Ok(done)
    }

    /// Reads blocks whose contents nobody asks for. Returns those that are lost.
    ///
    /// # Errors
    /// The device lost a structure that says where they lie.
    pub fn read_blocks(&mut self, ino: Ino, blocks: std::ops::Range<u32>) -> Answer<Vec<u32>> {
        let (mut lost, mut bytes) = (Vec::new(), vec![0; self.geometry.block]);
        for index in blocks {
            let pointer = self.lies_at(ino, index)?;
            let is_lost = match pointer.at {
                0 | NOT_WRITTEN => false,
                LOST => true,
                at => self.port.read_data(at, &mut bytes).is_err(),
            };
            if is_lost {
                lost.push(index);
            }
        }
        Ok(lost)
    }

    fn write_page(&mut self, ino: Ino, index: Index, within: usize, bytes: &[u8]) -> Answer<()> {
        let size = self.geometry.block;
        let is_whole = bytes.len() == size;
        let before =
            if is_whole || self.pages.get(ino, index).is_some() { None } else { Some(self.page(ino, index)?.into()) };
        self.promise(ino, index)?;
        let page = self.pages.change(ino, index, || before.unwrap_or_else(|| vec![0; size].into_boxed_slice()));
        page[within..within + bytes.len()].copy_from_slice(bytes);
        self.has_changed = true;
        Ok(())
    }

    /// Moves the data of a file out of its inode, where there is room for that.
    fn leave_inode(&mut self, ino: Ino) -> Answer<()> {
        let inode = self.inode(ino)?;
        let (size, end) = (inode.inline_size(), inode.0.len() - crate::seal::SEAL);
        let data = inode.0[BODY..BODY + size].to_vec();
        let node = self.node_mut(ino)?;
        node.bytes[BODY..end].fill(0);
        crate::inode::InodeMut(&mut node.bytes).set_flag(FLAG_INLINE, false);
        if data.is_empty() { Ok(()) } else { self.write_page(ino, 0, 0, &data) }
    }

    /// Changes the size of a file.
    ///
    /// # Errors
    /// It would be too large, there is no room for what leaves its inode, or it is no file. Then nothing changed.
    pub fn truncate(&mut self, ino: Ino, size: u64, now: Moment) -> Answer<()> {
        let set = SetAttr { size: Some(size), ..SetAttr::default() };
        self.set_attr(ino, &set, now).map(drop)
    }

    /// Refuses a size that a file cannot have.
    pub(crate) fn check_size_of(&mut self, ino: Ino, size: u64) -> Answer<()> {
        self.regular(ino)?;
        if size > self.size_max() { Err(FsError::TooLarge) } else { Ok(()) }
    }

    pub(crate) fn set_size_of(&mut self, ino: Ino, size: u64) -> Answer<()> {
        let (block, before) = (self.block_u64(), self.inode(ino)?.size());
        if self.inode(ino)?.has(FLAG_INLINE) {
            if size > inline_max(self.geometry.block) as u64 {
                let need = self.need_of(ino, 0..0)?;
                self.ask_room(need, By::Other)?;
                self.leave_inode(ino)?;
            } else if size < before {
                let end = inline_max(self.geometry.block);
                self.node_mut(ino)?.bytes[BODY + size as usize..BODY + end].fill(0);
            }
        } else if size < before {
            self.cut_off(ino, size.div_ceil(block))?;
            self.zero_within(ino, size, size.next_multiple_of(block))?;
        }
        self.inode_mut(ino)?.set_size(size);
        Ok(())
    }

    /// Zeros bytes of one block, unless it is a hole.
    fn zero_within(&mut self, ino: Ino, from: u64, to: u64) -> Answer<()> {
        let block = self.block_u64();
        let index = (from / block) as Index;
        if from == to || self.lies_at(ino, index)?.at == 0 {
            return Ok(());
        }
        let zeros = vec![0; (to - from) as usize];
        match self.write_page(ino, index, (from % block) as usize, &zeros) {
            // What was lost stays lost.
            Err(FsError::Io) => Ok(()),
            done => done,
        }
    }

    /// Makes room for a range, makes a hole of it, or zeros.
    ///
    /// # Errors
    /// There is no room for all of it (then nothing changed), it is too large, empty, or no file.
    pub fn allocate(&mut self, ino: Ino, offset: u64, length: u64, how: Allocate, now: Moment) -> Answer<()> {
        self.writable()?;
        self.regular(ino)?;
        let end = offset.checked_add(length).filter(|end| *end <= self.size_max()).ok_or(FsError::TooLarge)?;
        if length == 0 {
            return Err(FsError::Invalid);
        }
        self.balance()?;
        let (size, block) = (self.inode(ino)?.size(), self.block_u64());
        let keeps_size = matches!(how, Allocate::KeepSize | Allocate::PunchHole | Allocate::ZeroKeepSize);
        if self.inode(ino)?.has(FLAG_INLINE) {
            let fits = end.max(size) <= inline_max(self.geometry.block) as u64;
            if fits || how == Allocate::PunchHole {
                let most = inline_max(self.geometry.block) as u64;
                let (from, to) = (offset.min(size).min(most), end.min(size).min(most));
                if !matches!(how, Allocate::Grow | Allocate::KeepSize) {
                    self.node_mut(ino)?.bytes[BODY + from as usize..BODY + to as usize].fill(0);
                }
                return self.allocated(ino, if keeps_size { size } else { size.max(end) }, now);
            }
        }
        let (first, last) = (offset / block, end.div_ceil(block));
        if how != Allocate::PunchHole {
            let need = self.need_of(ino, first..last)?;
            self.ask_room(need, By::Other)?;
            if self.inode(ino)?.has(FLAG_INLINE) {
                self.leave_inode(ino)?;
            }
        }
        if !matches!(how, Allocate::Grow | Allocate::KeepSize) {
            self.make_hole(ino, offset, end)?;
        }
        if how != Allocate::PunchHole {
            self.fill_holes(ino, first..last)?;
        }
        self.allocated(ino, if keeps_size { size } else { size.max(end) }, now)
    }

    /// Gives all blocks of a range a place that have none, where there is room for them. What was lost stays lost.
    fn fill_holes(&mut self, ino: Ino, range: std::ops::Range<u64>) -> Answer<()> {
        let (mut at, mut done) = (range.start, 0);
        while at < range.end {
            let next = self.next_mapped(ino, at)?.map_or(range.end, |next| next.min(range.end));
            for index in at..next {
                self.give_place(ino, index as Index)?;
                done += 1;
                self.keep_up(done)?;
            }
            at = next + 1;
        }
        Ok(())
    }

    /// Writes what waits, now and then in a call that changes many blocks. All that the call needs was asked for, so that only a device that lost what
    /// says whose its blocks are leaves no room to write.
    fn keep_up(&mut self, done: u64) -> Answer<()> {
        if !done.is_multiple_of(BLOCKS_BETWEEN) {
            return Ok(());
        }
        self.balance().map_err(|error| if error == FsError::NoSpace { FsError::Io } else { error })
    }

    fn allocated(&mut self, ino: Ino, size: u64, now: Moment) -> Answer<()> {
        let mut inode = self.inode_mut(ino)?;
        inode.set_size(size);
        inode.set_modified(now);
        inode.set_changed(now);
        Ok(())
    }

    /// Zeros a range: whole blocks become holes.
    fn make_hole(&mut self, ino: Ino, offset: u64, end: u64) -> Answer<()> {
        let block = self.block_u64();
        let (first, last) = (offset.div_ceil(block), end / block);
        if first > last {
            return self.zero_within(ino, offset, end);
        }
        self.zero_within(ino, offset, first * block)?;
        self.zero_within(ino, last * block, end)?;
        let (mut at, mut done) = (first, 0);
        while let Some(next) = self.next_mapped(ino, at)?.filter(|next| *next < last) {
            self.punch(ino, next as Index)?;
            at = next + 1;
            done += 1;
            self.keep_up(done)?;
        }
        Ok(())
    }

    /// The next data or hole from an offset on.
    ///
    /// # Errors
    /// The offset is not below the size, or there are no data from it on.
    pub fn seek(&mut self, ino: Ino, offset: u64, what: Seek) -> Answer<u64> {
        let (size, block) = (self.attr(ino)?.size, self.block_u64());
        if offset >= size {
            return Err(FsError::NothingThere);
        }
        if self.inode(ino)?.has(FLAG_INLINE) {
            return Ok(if what == Seek::Data { offset } else { size });
        }
        let mut at = offset / block;
        match what {
            Seek::Data => {
                let next = self.next_mapped(ino, at)?.ok_or(FsError::NothingThere)?;
                let found = offset.max(next * block);
                if found < size { Ok(found) } else { Err(FsError::NothingThere) }
            }
            Seek::Hole => {
                while at * block < size && self.next_mapped(ino, at)? == Some(at) {
                    at += 1;
                }
                Ok(offset.max(at * block).min(size))
            }
        }
    }

    /// Writes the blocks of a file that have no place yet, as a direct write does. What says where they lie stays in memory until the next checkpoint.
    ///
    /// # Errors
    /// As [`Volume::write`].
    pub fn write_through(&mut self, ino: Ino) -> Answer<()> {
        self.write_back(Some(ino))
    }

    /// Writes the blocks of a file, or of all, that have no place yet.
    pub(crate) fn write_back(&mut self, ino: Option<Ino>) -> Answer<()> {
        for (ino, index) in self.pages.dirty_of(ino) {
            self.write_out(ino, index)?;
        }
        Ok(())
    }

    /// Writes a block of a file to its log.
    pub(crate) fn write_out(&mut self, ino: Ino, index: Index) -> Answer<()> {
        use crate::port::Use;
        use crate::seal::{BlockKind, Seal};
        use crate::segments::{Log, Owner};
        let slot = self.slot(ino, index, Missing::Leave)?.ok_or(FsError::Io)?;
        let before = self.pointer(slot)?;
        let inode = self.inode(ino)?;
        let is_directory = inode.kind() == Some(FileKind::Directory);
        let log = match () {
            () if is_directory => Log::HotData,
            () if inode.has(crate::inode::FLAG_COLD) => Log::ColdData,
            () => Log::WarmData,
        };
        let owner = Owner { nid: slot.nid, slot: slot.slot as u16 };
        let version = self.seal_version;
        let taken = self.segments.take(&self.geometry, &mut self.port, log, owner, version);
        let at = taken.map_err(|fault| self.fail(fault))?;
        if is_directory {
            let seal = Seal { first: index, ino, ..Seal::new(BlockKind::Directory, ino, version) };
            let size = self.geometry.block;
            seal.close(self.pages.change(ino, index, || vec![0; size].into_boxed_slice()), at);
        }
        let Some(page) = self.pages.get(ino, index) else { return Err(FsError::Io) };
        let crc = if is_directory { 0 } else { self.checksum_of(page, ino, index) };
        let purpose = if is_directory { Use::Meta } else { Use::Data };
        let wrote = self.port.write(at, page, purpose);
        wrote.map_err(|fault| self.fail(fault))?;
        if before.is_block() {
            self.segments.note_unused(&self.geometry, before.at);
        }
        self.set_pointer(slot, Pointer { at, crc })?;
        self.pages.written(ino, index);
        self.counted.data += 1;
        Ok(())
    }
}
