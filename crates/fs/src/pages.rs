//! Blocks of files in memory: those that were written and have no place yet, and those that were read lately.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::inode::Ino;

/// A block of a file: which, from 0.
pub(crate) type Index = u32;

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Pages {
    files: BTreeMap<Ino, BTreeMap<Index, Box<[u8]>>>,
    count: usize,
    dirty: BTreeSet<(Ino, Index)>,
    /// Clean ones, in the order in which they came. Those that became dirty or are gone are passed over.
    clean: VecDeque<(Ino, Index)>,
    /// Most clean ones that are kept.
    most: usize,
}

impl Pages {
    pub(crate) fn new(most: usize) -> Self {
        let (files, dirty, clean) = (BTreeMap::new(), BTreeSet::new(), VecDeque::new());
        // What was just read must stay for its reader.
        Self { files, count: 0, dirty, clean, most: most.max(16) }
    }

    pub(crate) fn get(&self, ino: Ino, index: Index) -> Option<&[u8]> {
        self.files.get(&ino)?.get(&index).map(AsRef::as_ref)
    }

    pub(crate) fn is_dirty(&self, ino: Ino, index: Index) -> bool {
        self.dirty.contains(&(ino, index))
    }

    /// Keeps what was read.
    pub(crate) fn put_clean(&mut self, ino: Ino, index: Index, bytes: Box<[u8]>) {
        if self.files.entry(ino).or_default().insert(index, bytes).is_none() {
            self.count += 1;
        }
        self.note_clean(ino, index);
    }

    fn note_clean(&mut self, ino: Ino, index: Index) {
        self.clean.push_back((ino, index));
        while self.count - self.dirty.len() > self.most
            && let Some((ino, index)) = self.clean.pop_front()
        {
            if !self.dirty.contains(&(ino, index)) {
                self.remove(ino, index);
            }
        }
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
        self.files.entry(ino).or_default().entry(index).or_insert_with(|| {
            *count += 1;
            if_new()
        })
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
