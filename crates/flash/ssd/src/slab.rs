//! Records with stable numbers. A freed slot is reused, so that memory follows what is outstanding, not what has passed.

use std::ops::{Index, IndexMut};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_units::prefetch;

/// No record.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(crate) fn insert(&mut self, item: T) -> u32 {
        if let Some(id) = self.free.pop() {
            self.items[id as usize] = item;
            return id;
        }
        self.items.push(item);
        debug_assert!(self.items.len() < NONE as usize, "a number that means none would be given to a record");
        self.items.len() as u32 - 1
    }

    /// A freed slot with what it last held, if there is one.
    pub(crate) fn reuse(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Gives a slot back. Its contents stay until the slot is used again.
    #[inline]
    pub(crate) fn release(&mut self, id: u32) {
        debug_assert!(self.free.len() < self.items.len(), "a slot is given back once");
        self.free.push(id);
    }

    /// Prefetches a record.
    #[inline(always)]
    pub(crate) fn prefetch(&self, id: u32) {
        prefetch(&self.items, id as usize);
    }

    /// Slots in use.
    pub(crate) fn live(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// Slots ever used at once.
    pub(crate) fn slots(&self) -> usize {
        self.items.len()
    }
}

impl<T: Serialize + DeserializeOwned> Slab<T> {
    /// Writes every slot to a file, free ones too, or reads them back: later records then get the same numbers.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive, name: &str) -> Result<(), ArchiveError> {
        archive.field(name, self)?;
        let is_slot = |id: &u32| (*id as usize) < self.items.len();
        if self.free.len() <= self.items.len() && self.free.iter().all(is_slot) {
            return Ok(());
        }
        Err(ArchiveError::Damaged { name: name.to_owned() })
    }
}

/// Records with the same numbers as those of a slab. Only a record that was put may be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Beside<T>(Vec<T>);

impl<T: Clone + Default> Beside<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    #[inline]
    pub(crate) fn put(&mut self, id: u32, item: T) {
        let place = id as usize;
        // The item is named once, so that it is built in place.
        if place >= self.0.len() {
            self.grow(place);
        }
        self.0[place] = item;
    }

    /// Prefetches a record.
    #[inline(always)]
    pub(crate) fn prefetch(&self, id: u32) {
        prefetch(&self.0, id as usize);
    }

    #[cold]
    fn grow(&mut self, place: usize) {
        self.0.resize(place + 1, T::default());
    }
}

impl<T> Index<u32> for Beside<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: u32) -> &T {
        &self.0[id as usize]
    }
}

impl<T> IndexMut<u32> for Beside<T> {
    #[inline(always)]
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.0[id as usize]
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: u32) -> &T {
        &self.items[id as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.items[id as usize]
    }
}
