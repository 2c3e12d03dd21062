//! What a mount finds after a cut of the power.

use wane_fs::FileKind;

use super::{Leaf, Step, Tree};

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
            tree.next = tree.next.max(id + 1);
            let before = tree.files.get_mut(&dir).unwrap().entries.insert(name, *id);
            assert_eq!(before, None, "a new file does not take a name that is not gone yet");
        }
        tree
    }
}

/// States of which one is durable.
pub(crate) struct Promises(Vec<Durable>);

impl Promises {
    pub(crate) fn new(tree: Tree) -> Self {
        Self(vec![Durable::of(tree)])
    }

    pub(crate) fn trees(&self) -> Vec<Tree> {
        self.0.iter().map(Durable::tree).collect()
    }

    /// A call was made. Returns the states that a cut in the midst of it may leave.
    pub(crate) fn after(&mut self, call: &Step, before: &Tree, now: &Tree, has_checkpoint: bool) -> Vec<Tree> {
        let mut wanted = self.trees();
        wanted.extend([before.clone(), now.clone()]);
        let parts = if has_checkpoint { in_part(before, call) } else { Vec::new() };
        wanted.extend(parts.iter().cloned());
        if let Step::Fsync(id) = call
            && !has_checkpoint
            && now.files[id].kind == Some(FileKind::File)
        {
            self.0.iter_mut().for_each(|durable| durable.synced.push((*id, now.clone())));
            wanted.extend(self.trees());
        }
        if has_checkpoint {
            self.0 = match call {
                Step::Fsync(_) | Step::Sync | Step::Target(..) | Step::Evacuate(_) => vec![Durable::of(now.clone())],
                Step::Write(..) => parts.into_iter().chain([before.clone(), now.clone()]).map(Durable::of).collect(),
                _ => vec![Durable::of(before.clone())],
            };
        }
        wanted
    }
}

/// The states between the calls of a write for which room was made in the midst: up to a block, it is there.
fn in_part(before: &Tree, step: &Step) -> Vec<Tree> {
    let Step::Write(file, offset, bytes) = step else { return Vec::new() };
    let first = (4096 - offset % 4096) as usize;
    let ends = (first..bytes.len()).step_by(4096);
    ends.map(|end| {
        let mut tree = before.clone();
        super::put(&mut tree.files.get_mut(file).unwrap().data, *offset as usize, &bytes[..end]);
        tree
    })
    .collect()
}
