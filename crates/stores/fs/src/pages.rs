//! Blocks of files in memory: those that were written and have no place yet, and those that were read lately.

use std::collections::{BTreeMap, VecDeque};

use crate::inode::Ino;

/// A block of a file: which, from 0.
pub(crate) type Index = u32;

/// A block that can be read again.
#[derive(Clone)]
struct Page {
    bytes: Box<[u8]>,
    /// When it became clean. Its entries in the queue with another number do not count.
    since: u64,
}

/// See the head of this file. A block is dirty or clean, never both.
#[derive(Clone)]
pub(crate) struct Pages {
    dirty: BTreeMap<(Ino, Index), Box<[u8]>>,
    clean: BTreeMap<(Ino, Index), Page>,
    /// Clean ones, in the order in which they became so, each with its number. Those that are dirty, gone, or became clean again are passed over.
    queue: VecDeque<(Ino, Index, u64)>,
    /// The number of the next that becomes clean.
    next: u64,
    /// Most clean ones that are kept.
    most: usize,
}

impl Pages {
    pub(crate) fn new(most: usize) -> Self {
        let (dirty, clean, queue) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        // What was just read must stay for its reader.
        Self { dirty, clean, queue, next: 0, most: most.max(16) }
    }

    pub(crate) fn get(&self, ino: Ino, index: Index) -> Option<&[u8]> {
        let key = (ino, index);
        self.dirty.get(&key).or_else(|| self.clean.get(&key).map(|page| &page.bytes)).map(AsRef::as_ref)
    }

    pub(crate) fn is_dirty(&self, ino: Ino, index: Index) -> bool {
        self.dirty.contains_key(&(ino, index))
    }

    /// Keeps what was read.
    pub(crate) fn put_clean(&mut self, ino: Ino, index: Index, bytes: Box<[u8]>) {
        self.clean.insert((ino, index), Page { bytes, since: self.next });
        self.queue.push_back((ino, index, self.next));
        self.next += 1;
        while self.clean.len() > self.most
            && let Some((ino, index, since)) = self.queue.pop_front()
        {
            if self.is_clean_since(ino, index, since) {
                self.clean.remove(&(ino, index));
            }
        }
        // What is written again and again leaves entries that do not count.
        if self.queue.len() > 2 * self.most + 64 {
            let mut queue = std::mem::take(&mut self.queue);
            queue.retain(|(ino, index, since)| self.is_clean_since(*ino, *index, *since));
            self.queue = queue;
        }
    }

    fn is_clean_since(&self, ino: Ino, index: Index, since: u64) -> bool {
        self.clean.get(&(ino, index)).is_some_and(|page| page.since == since)
    }

    /// A block that is about to change. What it holds if it is not there is `if_new`.
    pub(crate) fn change(&mut self, ino: Ino, index: Index, if_new: impl FnOnce() -> Box<[u8]>) -> &mut [u8] {
        let clean = &mut self.clean;
        self.dirty
            .entry((ino, index))
            .or_insert_with(|| clean.remove(&(ino, index)).map_or_else(if_new, |page| page.bytes))
    }

    /// It was written. One without contents is not worth keeping.
    pub(crate) fn written(&mut self, ino: Ino, index: Index) {
        if let Some(bytes) = self.dirty.remove(&(ino, index)).filter(|bytes| !bytes.is_empty()) {
            self.put_clean(ino, index, bytes);
        }
    }

    /// Drops the blocks of a file from an index on.
    pub(crate) fn drop_from(&mut self, ino: Ino, index: Index) {
        let gone = (ino, index)..=(ino, Index::MAX);
        let dirty = self.dirty.range(gone.clone()).map(|(key, _)| *key);
        let gone: Vec<_> = dirty.chain(self.clean.range(gone).map(|(key, _)| *key)).collect();
        gone.into_iter().for_each(|(ino, index)| self.drop(ino, index));
    }

    /// Drops a block.
    pub(crate) fn drop(&mut self, ino: Ino, index: Index) {
        self.dirty.remove(&(ino, index));
        self.clean.remove(&(ino, index));
    }

    /// Blocks that are not written, of a file or of all, in order.
    pub(crate) fn dirty_of(&self, ino: Option<Ino>) -> Vec<(Ino, Index)> {
        match ino {
            Some(ino) => self.dirty.range((ino, 0)..=(ino, Index::MAX)).map(|(key, _)| *key).collect(),
            None => self.dirty.keys().copied().collect(),
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
        assert!(pages.queue.len() < 200 && pages.clean.len() == 1, "{}", pages.queue.len());
    }
}
