//! Blocks of files in memory: those that were written and have no place yet, and those that were read lately.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::inode::Ino;

/// A block of a file: which, from 0.
pub(crate) type Index = u32;

/// A block in memory.
#[derive(Clone)]
struct Page {
    bytes: Box<[u8]>,
    /// When it last became clean. Its entries in the queue with another number do not count.
    since: u64,
}

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Pages {
    files: BTreeMap<Ino, BTreeMap<Index, Page>>,
    count: usize,
    dirty: BTreeSet<(Ino, Index)>,
    /// Clean ones, in the order in which they became so, each with its number. Those that are dirty, gone, or became clean again are passed over.
    clean: VecDeque<(Ino, Index, u64)>,
    /// The number of the next that becomes clean.
    next: u64,
    /// Most clean ones that are kept.
    most: usize,
}

impl Pages {
    pub(crate) fn new(most: usize) -> Self {
        let (files, dirty, clean) = (BTreeMap::new(), BTreeSet::new(), VecDeque::new());
        // What was just read must stay for its reader.
        Self { files, count: 0, dirty, clean, next: 0, most: most.max(16) }
    }

    pub(crate) fn get(&self, ino: Ino, index: Index) -> Option<&[u8]> {
        self.files.get(&ino)?.get(&index).map(|page| page.bytes.as_ref())
    }

    pub(crate) fn is_dirty(&self, ino: Ino, index: Index) -> bool {
        self.dirty.contains(&(ino, index))
    }

    /// Keeps what was read.
    pub(crate) fn put_clean(&mut self, ino: Ino, index: Index, bytes: Box<[u8]>) {
        if self.files.entry(ino).or_default().insert(index, Page { bytes, since: 0 }).is_none() {
            self.count += 1;
        }
        self.note_clean(ino, index);
    }

    fn note_clean(&mut self, ino: Ino, index: Index) {
        let Some(page) = self.files.get_mut(&ino).and_then(|file| file.get_mut(&index)) else { return };
        page.since = self.next;
        self.clean.push_back((ino, index, self.next));
        self.next += 1;
        while self.count - self.dirty.len() > self.most
            && let Some((ino, index, since)) = self.clean.pop_front()
        {
            if self.is_clean_since(ino, index, since) {
                self.remove(ino, index);
            }
        }
        // What is written again and again leaves entries that do not count.
        if self.clean.len() > 2 * self.most + 64 {
            let mut clean = std::mem::take(&mut self.clean);
            clean.retain(|(ino, index, since)| self.is_clean_since(*ino, *index, *since));
            self.clean = clean;
        }
    }

    fn is_clean_since(&self, ino: Ino, index: Index, since: u64) -> bool {
        let page = self.files.get(&ino).and_then(|file| file.get(&index));
        page.is_some_and(|page| page.since == since) && !self.dirty.contains(&(ino, index))
    }

    fn remove(&mut self, ino: Ino, index: Index) {
        if let Some(file) = self.files.get_mut(&ino)
            && file.remove(&index).is_some()
        {
            self.count -= 1;
            if file.is_empty() {
                self.files.remove(&ino);
            }
        }
    }

    /// A block that is about to change. What it holds if it is not there is `if_new`.
    pub(crate) fn change(&mut self, ino: Ino, index: Index, if_new: impl FnOnce() -> Box<[u8]>) -> &mut [u8] {
        self.dirty.insert((ino, index));
        let count = &mut self.count;
        let page = self.files.entry(ino).or_default().entry(index).or_insert_with(|| {
            *count += 1;
            Page { bytes: if_new(), since: 0 }
        });
        &mut page.bytes
    }

    /// It was written.
    pub(crate) fn written(&mut self, ino: Ino, index: Index) {
        if self.dirty.remove(&(ino, index)) {
            self.note_clean(ino, index);
        }
    }

    /// Drops the blocks of a file from an index on.
    pub(crate) fn drop_from(&mut self, ino: Ino, index: Index) {
        let Some(file) = self.files.get_mut(&ino) else { return };
        let gone = file.split_off(&index);
        self.count -= gone.len();
        for index in gone.keys() {
            self.dirty.remove(&(ino, *index));
        }
        if file.is_empty() {
            self.files.remove(&ino);
        }
    }

    /// Drops a block.
    pub(crate) fn drop(&mut self, ino: Ino, index: Index) {
        self.dirty.remove(&(ino, index));
        self.remove(ino, index);
    }

    /// Blocks that are not written, of a file or of all, in order.
    pub(crate) fn dirty_of(&self, ino: Option<Ino>) -> Vec<(Ino, Index)> {
        match ino {
            Some(ino) => self.dirty.range((ino, 0)..=(ino, Index::MAX)).copied().collect(),
            None => self.dirty.iter().copied().collect(),
        }
    }

    pub(crate) fn dirty_count(&self) -> usize {
        self.dirty.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_just_read_stays_although_it_was_in_memory_before() {
        let mut pages = Pages::new(16);
        let page = || vec![1; 8].into_boxed_slice();
        // It becomes clean, and is dropped: its entry stays in the queue.
        pages.change(1, 0, page);
        pages.written(1, 0);
        pages.drop(1, 0);
        (0..16).for_each(|index| pages.put_clean(2, index, page()));
        pages.put_clean(1, 0, page());
        assert!(pages.get(1, 0).is_some() && pages.get(2, 0).is_none());
    }

    #[test]
    fn a_block_that_is_written_again_and_again_takes_no_more_memory() {
        let mut pages = Pages::new(16);
        for _ in 0..10_000 {
            pages.change(1, 0, || vec![1; 8].into_boxed_slice());
            pages.written(1, 0);
        }
        assert!(pages.clean.len() < 200 && pages.count == 1, "{}", pages.clean.len());
    }
}
