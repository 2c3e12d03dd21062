//! What a mount finds after a cut of the power.

use super::{Leaf, Tree};

/// The state of the last checkpoint, and files that were synced since.
#[derive(Clone)]
pub(crate) struct Durable {
    pub(crate) base: Tree,
    pub(crate) synced: Vec<(usize, Tree)>,
}

impl Durable {
    pub(crate) const fn of(base: Tree) -> Self {
        Self { base, synced: Vec::new() }
    }

    /// What a mount finds.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = self.base.clone();
        for (id, then) in &self.synced {
            let leaf = &then.files[id];
            if let Some(known) = tree.files.get_mut(id) {
                known.data.clone_from(&leaf.data);
                continue;
            }
            let named = then.files.iter().find_map(|(dir, of)| {
                let name = of.entries.iter().find(|(_, file)| **file == *id)?.0.clone();
                Some((*dir, name))
            });
            let (dir, name) = named.unwrap();
            tree.files.insert(*id, Leaf { links: 1, ..leaf.clone() });
            let before = tree.files.get_mut(&dir).unwrap().entries.insert(name, *id);
            assert_eq!(before, None, "a new file does not take a name that is not gone yet");
        }
        tree
    }
}
