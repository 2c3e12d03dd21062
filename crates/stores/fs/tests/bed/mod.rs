//! A file system and a plain tree in memory that must agree with it, under the same random calls.

#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod cuts;
pub(crate) mod durable;

use std::collections::BTreeMap;

use wane_fs::{
    Allocate, FileKind, FsError, Ino, Moment, NewFile, Port, ROOT, Rename, Seek, SetAttr, SetAttribute, Volume, Way,
};
use wane_sim::Stream;

/// A file of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) kind: Option<FileKind>,
    pub(crate) data: Vec<u8>,
    pub(crate) entries: BTreeMap<Vec<u8>, usize>,
    pub(crate) parent: usize,
    pub(crate) links: u32,
    pub(crate) attributes: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) permissions: u16,
}

impl Leaf {
    fn is_dir(&self) -> bool {
        self.kind == Some(FileKind::Directory)
    }
}

/// The tree. File 0 is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<usize, Leaf>,
    pub(crate) next: usize,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let root = Leaf { kind: Some(FileKind::Directory), links: 2, permissions: 0o755, ..Leaf::default() };
        Self { files: BTreeMap::from([(0, root)]), next: 1 }
    }

    fn of_kind(&self, is_dir: bool) -> Vec<usize> {
        self.files.iter().filter(|(_, leaf)| leaf.is_dir() == is_dir).map(|(id, _)| *id).collect()
    }

    fn is_below(&self, mut id: usize, above: usize) -> bool {
        while id != above {
            if id == 0 {
                return false;
            }
            id = self.files[&id].parent;
        }
        true
    }

    fn unlink(&mut self, id: usize) {
        let leaf = self.files.get_mut(&id).unwrap();
        leaf.links -= 1;
        if leaf.is_dir() || leaf.links == 0 {
            self.files.remove(&id);
        }
    }
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Make(usize, Vec<u8>, FileKind),
    Symlink(usize, Vec<u8>, Vec<u8>),
    Link(usize, usize, Vec<u8>),
    Unlink(usize, Vec<u8>),
    RemoveDir(usize, Vec<u8>),
    Rename(usize, Vec<u8>, usize, Vec<u8>, Rename),
    Write(usize, u64, Vec<u8>),
    Truncate(usize, u64),
    Allocate(usize, u64, u64, Allocate),
    SetAttribute(usize, Vec<u8>, Vec<u8>, SetAttribute),
    RemoveAttribute(usize, Vec<u8>),
    Chmod(usize, u16),
    Fsync(usize),
    Sync,
    /// A size between the least (0) and the greatest (255).
    Target(u64, Way),
    Evacuate(u64),
}

/// What the random calls are like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taste {
    /// Most bytes of a write.
    pub(crate) write_max: u64,
    /// Most bytes of an offset.
    pub(crate) size_max: u64,
    /// Number of different names.
    pub(crate) names: u64,
}

pub(crate) fn pick<T: Clone>(list: &[T], stream: &mut Stream) -> T {
    list[stream.below(list.len() as u64) as usize].clone()
}

fn name(taste: Taste, stream: &mut Stream) -> Vec<u8> {
    let number = stream.below(taste.names);
    // Some names are long.
    if number.is_multiple_of(7) {
        vec![b'a' + (number % 26) as u8; 1 + (number * 13 % 255) as usize]
    } else {
        format!("f{number}").into_bytes()
    }
}

/// Bytes of a write: they tell who wrote them.
fn bytes(length: u64, stream: &mut Stream) -> Vec<u8> {
    let mark = 1 + stream.below(255) as u8;
    (0..length).map(|at| mark.wrapping_add((at / 512) as u8) | 1).collect()
}

/// A random call.
pub(crate) fn step(tree: &Tree, taste: Taste, stream: &mut Stream) -> Step {
    let dirs = tree.of_kind(true);
    let files: Vec<usize> = tree.of_kind(false);
    let regular: Vec<usize> = files.iter().copied().filter(|id| tree.files[id].kind == Some(FileKind::File)).collect();
    let dir = pick(&dirs, stream);
    let known = |dir: usize, stream: &mut Stream| -> Vec<u8> {
        let names: Vec<Vec<u8>> = tree.files[&dir].entries.keys().cloned().collect();
        if names.is_empty() || stream.below(8) == 0 { name(taste, stream) } else { pick(&names, stream) }
    };
    let offset = |stream: &mut Stream| {
        if stream.below(3) == 0 { stream.below(taste.size_max) } else { stream.below(1 + taste.size_max / 16) }
    };
    match stream.below(100) {
        0..14 => Step::Make(dir, name(taste, stream), FileKind::File),
        14..20 => Step::Make(dir, name(taste, stream), FileKind::Directory),
        20..22 => Step::Make(dir, name(taste, stream), FileKind::Fifo),
        22..24 => {
            let most = if stream.below(4) == 0 { 4095 } else { 60 };
            let length = 1 + stream.below(most);
            let target = bytes(length, stream);
            Step::Symlink(dir, name(taste, stream), target)
        }
        24..28 if !files.is_empty() => Step::Link(pick(&files, stream), dir, name(taste, stream)),
        28..38 => Step::Unlink(dir, known(dir, stream)),
        38..41 => Step::RemoveDir(dir, known(dir, stream)),
        41..50 => {
            let to = pick(&dirs, stream);
            let how = pick(&[Rename::Replace, Rename::Replace, Rename::NoReplace, Rename::Exchange], stream);
            let new = if stream.below(2) == 0 { known(to, stream) } else { name(taste, stream) };
            Step::Rename(dir, known(dir, stream), to, new, how)
        }
        50..74 if !regular.is_empty() => {
            let most = if stream.below(3) == 0 { taste.write_max } else { 600 };
            let length = 1 + stream.below(most);
            Step::Write(pick(&regular, stream), offset(stream), bytes(length, stream))
        }
        74..79 if !regular.is_empty() => Step::Truncate(pick(&regular, stream), offset(stream)),
        79..84 if !regular.is_empty() => {
            let how = [Allocate::Grow, Allocate::KeepSize, Allocate::PunchHole, Allocate::Zero, Allocate::ZeroKeepSize];
            let how = pick(&how, stream);
            Step::Allocate(pick(&regular, stream), offset(stream), 1 + stream.below(taste.write_max), how)
        }
        84..88 => {
            let how = pick(&[SetAttribute::Any, SetAttribute::Create, SetAttribute::Replace], stream);
            let most = if stream.below(4) == 0 { 900 } else { 30 };
            let length = stream.below(most);
            let value = bytes(length, stream);
            let all: Vec<usize> = tree.files.keys().copied().collect();
            Step::SetAttribute(pick(&all, stream), format!("user.{}", stream.below(6)).into_bytes(), value, how)
        }
        88..90 => {
            let all: Vec<usize> = tree.files.keys().copied().collect();
            Step::RemoveAttribute(pick(&all, stream), format!("user.{}", stream.below(6)).into_bytes())
        }
        90..92 => {
            let all: Vec<usize> = tree.files.keys().copied().collect();
            Step::Chmod(pick(&all, stream), stream.below(0o10000) as u16)
        }
        92..98 => {
            let all: Vec<usize> = tree.files.keys().copied().collect();
            Step::Fsync(pick(&all, stream))
        }
        _ => Step::Sync,
    }
}

/// A volume, and the tree that it must be.
pub(crate) struct Bed<P> {
    pub(crate) volume: Volume<P>,
    pub(crate) tree: Tree,
    pub(crate) inos: BTreeMap<usize, Ino>,
    pub(crate) now: Moment,
    pub(crate) full: u64,
}

impl<P: Port> Bed<P> {
    pub(crate) fn new(volume: Volume<P>) -> Self {
        let inos = BTreeMap::from([(0, ROOT)]);
        Self { volume, tree: Tree::new(), inos, now: Moment { seconds: 1, nanos: 0 }, full: 0 }
    }

    fn new_file(kind: FileKind) -> NewFile {
        NewFile { kind, permissions: 0o644, uid: 7, gid: 8, rdev: 0 }
    }

    /// Makes a call on both. A call that finds no room changes neither.
    pub(crate) fn call(&mut self, step: &Step) {
        self.now.seconds += 1;
        if let Step::Write(file, offset, bytes) = step {
            return self.write(*file, *offset, bytes);
        }
        let before = self.tree.clone();
        let (told, wanted) = (self.on_volume(step), self.on_tree(step));
        if told == Err(FsError::NoSpace) {
            self.full += 1;
            self.tree = before;
            return;
        }
        assert_eq!(told.map(drop), wanted, "{}", format!("{step:?}").chars().take(200).collect::<String>());
        if let (Ok(Some(ino)), Step::Make(..) | Step::Symlink(..)) = (told, step) {
            self.inos.insert(self.tree.next - 1, ino);
        }
        let tree = &self.tree;
        self.inos.retain(|id, _| tree.files.contains_key(id));
    }

    /// A short write is written on, as programs do. The tree takes what was written.
    fn write(&mut self, file: usize, offset: u64, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            match self.volume.write(self.inos[&file], offset + done as u64, &bytes[done..], self.now) {
                Ok(count) => done += count,
                Err(FsError::NoSpace) => {
                    self.full += 1;
                    break;
                }
                Err(error) => panic!("write of {} bytes at {offset} to {file}: {error}", bytes.len()),
            }
        }
        if done > 0 {
            put(&mut self.tree.files.get_mut(&file).unwrap().data, offset as usize, &bytes[..done]);
        }
    }

    fn on_volume(&mut self, step: &Step) -> Result<Option<Ino>, FsError> {
        let (volume, inos, now) = (&mut self.volume, &self.inos, self.now);
        match step {
            Step::Make(dir, name, kind) => {
                volume.make(inos[dir], name, &Self::new_file(*kind), now).map(|attr| Some(attr.ino))
            }
            Step::Symlink(dir, name, target) => volume
                .make_symlink(inos[dir], name, target, &Self::new_file(FileKind::Symlink), now)
                .map(|attr| Some(attr.ino)),
            Step::Link(file, dir, name) => volume.link(inos[file], inos[dir], name, now).map(|_| None),
            Step::Unlink(dir, name) => volume.unlink(inos[dir], name, now).map(|()| None),
            Step::RemoveDir(dir, name) => volume.remove_dir(inos[dir], name, now).map(|()| None),
            Step::Rename(from, name, to, new, how) => {
                volume.rename((inos[from], name), (inos[to], new), *how, now).map(|()| None)
            }
            Step::Write(file, offset, bytes) => {
                unreachable!("written by {file} {offset} {}", bytes.len())
            }
            Step::Truncate(file, size) => volume.truncate(inos[file], *size, now).map(|()| None),
            Step::Allocate(file, offset, length, how) => {
                volume.allocate(inos[file], *offset, *length, *how, now).map(|()| None)
            }
            Step::SetAttribute(file, name, value, how) => {
                volume.set_attribute(inos[file], name, value, *how, now).map(|()| None)
            }
            Step::RemoveAttribute(file, name) => volume.remove_attribute(inos[file], name, now).map(|()| None),
            Step::Chmod(file, permissions) => {
                let set = SetAttr { permissions: Some(*permissions), ..SetAttr::default() };
                volume.set_attr(inos[file], &set, now).map(|_| None)
            }
            Step::Fsync(file) => volume.fsync(inos[file]).map(|()| None),
            Step::Sync => volume.sync().map(|()| None),
            Step::Target(share, way) => {
                let (least, most) = (volume.least(), volume.size());
                // One that is too large for a device that gave addresses back is refused.
                let asked = least + most.saturating_sub(least) * share / 200;
                let _refused = volume.set_target(asked, *way);
                Ok(None)
            }
            Step::Evacuate(blocks) => volume.evacuate(*blocks).map(|_| None),
        }
    }

    fn on_tree(&mut self, step: &Step) -> Result<(), FsError> {
        let tree = &mut self.tree;
        match step {
            Step::Make(dir, name, kind) => make(tree, *dir, name, *kind, Vec::new(), 0o644),
            Step::Symlink(dir, name, target) => make(tree, *dir, name, FileKind::Symlink, target.clone(), 0o644),
            Step::Link(file, dir, name) => {
                if tree.files[dir].entries.contains_key(name) {
                    return Err(FsError::Exists);
                }
                tree.files.get_mut(dir).unwrap().entries.insert(name.clone(), *file);
                tree.files.get_mut(file).unwrap().links += 1;
                Ok(())
            }
            Step::Unlink(dir, name) => {
                let id = *tree.files[dir].entries.get(name).ok_or(FsError::NotFound)?;
                if tree.files[&id].is_dir() {
                    return Err(FsError::IsDirectory);
                }
                tree.files.get_mut(dir).unwrap().entries.remove(name);
                tree.unlink(id);
                Ok(())
            }
            Step::RemoveDir(dir, name) => {
                let id = *tree.files[dir].entries.get(name).ok_or(FsError::NotFound)?;
                if !tree.files[&id].is_dir() {
                    return Err(FsError::NotDirectory);
                }
                if !tree.files[&id].entries.is_empty() {
                    return Err(FsError::NotEmpty);
                }
                let parent = tree.files.get_mut(dir).unwrap();
                parent.entries.remove(name);
                parent.links -= 1;
                tree.unlink(id);
                Ok(())
            }
            Step::Rename(from, name, to, new, how) => rename(tree, (*from, name), (*to, new), *how),
            Step::Write(file, offset, bytes) => {
                put(&mut tree.files.get_mut(file).unwrap().data, *offset as usize, bytes);
                Ok(())
            }
            Step::Truncate(file, size) => {
                tree.files.get_mut(file).unwrap().data.resize(*size as usize, 0);
                Ok(())
            }
            Step::Allocate(file, offset, length, how) => {
                let data = &mut tree.files.get_mut(file).unwrap().data;
                let end = (*offset + *length) as usize;
                if matches!(how, Allocate::Grow | Allocate::Zero) && data.len() < end {
                    data.resize(end, 0);
                }
                if matches!(how, Allocate::PunchHole | Allocate::Zero | Allocate::ZeroKeepSize) {
                    let size = data.len();
                    data[(*offset as usize).min(size)..end.min(size)].fill(0);
                }
                Ok(())
            }
            other => self.attributes_on_tree(other),
        }
    }

    fn attributes_on_tree(&mut self, step: &Step) -> Result<(), FsError> {
        let tree = &mut self.tree;
        match step {
            Step::SetAttribute(file, name, value, how) => {
                let attributes = &mut tree.files.get_mut(file).unwrap().attributes;
                match (how, attributes.contains_key(name)) {
                    (SetAttribute::Create, true) => return Err(FsError::Exists),
                    (SetAttribute::Replace, false) => return Err(FsError::NoAttribute),
                    _ => {}
                }
                attributes.insert(name.clone(), value.clone());
                Ok(())
            }
            Step::RemoveAttribute(file, name) => {
                let attributes = &mut tree.files.get_mut(file).unwrap().attributes;
                attributes.remove(name).map(drop).ok_or(FsError::NoAttribute)
            }
            Step::Chmod(file, permissions) => {
                tree.files.get_mut(file).unwrap().permissions = *permissions;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Checks that the volume is as the tree, and sound.
    pub(crate) fn compare(&mut self) {
        let findings = self.volume.check().unwrap();
        assert!(findings.is_empty(), "{findings:#?}");
        compare(&mut self.volume, &self.tree).unwrap();
    }
}

pub(crate) fn put(data: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if data.len() < offset + bytes.len() {
        data.resize(offset + bytes.len(), 0);
    }
    data[offset..offset + bytes.len()].copy_from_slice(bytes);
}

fn make(
    tree: &mut Tree,
    dir: usize,
    name: &[u8],
    kind: FileKind,
    data: Vec<u8>,
    permissions: u16,
) -> Result<(), FsError> {
    if tree.files[&dir].entries.contains_key(name) {
        return Err(FsError::Exists);
    }
    let links = if kind == FileKind::Directory { 2 } else { 1 };
    let leaf = Leaf { kind: Some(kind), data, parent: dir, links, permissions, ..Leaf::default() };
    let id = tree.next;
    tree.next += 1;
    tree.files.insert(id, leaf);
    let parent = tree.files.get_mut(&dir).unwrap();
    parent.entries.insert(name.to_vec(), id);
    parent.links += u32::from(kind == FileKind::Directory);
    Ok(())
}

fn rename(
    tree: &mut Tree,
    (from, name): (usize, &[u8]),
    (to, new): (usize, &[u8]),
    how: Rename,
) -> Result<(), FsError> {
    let id = *tree.files[&from].entries.get(name).ok_or(FsError::NotFound)?;
    let target = tree.files[&to].entries.get(new).copied();
    let is_dir = tree.files[&id].is_dir();
    if is_dir && from != to && tree.is_below(to, id) {
        return Err(FsError::Invalid);
    }
    match (how, target) {
        (Rename::NoReplace, Some(_)) => return Err(FsError::Exists),
        (Rename::Exchange, None) => return Err(FsError::NotFound),
        _ => {}
    }
    if how == Rename::Exchange {
        let other = target.unwrap();
        if tree.files[&other].is_dir() && from != to && tree.is_below(from, other) {
            return Err(FsError::Invalid);
        }
        if id == other {
            return Ok(());
        }
        let other_is_dir = tree.files[&other].is_dir();
        tree.files.get_mut(&from).unwrap().entries.insert(name.to_vec(), other);
        tree.files.get_mut(&to).unwrap().entries.insert(new.to_vec(), id);
        for (dir, leaves, comes) in [(from, is_dir, other_is_dir), (to, other_is_dir, is_dir)] {
            let leaf = tree.files.get_mut(&dir).unwrap();
            leaf.links = leaf.links + u32::from(comes) - u32::from(leaves);
        }
        if is_dir {
            tree.files.get_mut(&id).unwrap().parent = to;
        }
        if other_is_dir {
            tree.files.get_mut(&other).unwrap().parent = from;
        }
        return Ok(());
    }
    if let Some(other) = target {
        if other == id {
            return Ok(());
        }
        match (is_dir, tree.files[&other].is_dir()) {
            (true, false) => return Err(FsError::NotDirectory),
            (false, true) => return Err(FsError::IsDirectory),
            (true, true) if !tree.files[&other].entries.is_empty() => return Err(FsError::NotEmpty),
            _ => {}
        }
    }
    tree.files.get_mut(&from).unwrap().entries.remove(name);
    tree.files.get_mut(&to).unwrap().entries.insert(new.to_vec(), id);
    if is_dir {
        tree.files.get_mut(&from).unwrap().links -= 1;
        tree.files.get_mut(&to).unwrap().links += 1;
        tree.files.get_mut(&id).unwrap().parent = to;
    }
    if let Some(other) = target {
        if tree.files[&other].is_dir() {
            tree.files.get_mut(&to).unwrap().links -= 1;
        }
        tree.unlink(other);
    }
    Ok(())
}

/// Whether a volume is as a tree.
pub(crate) fn compare<P: Port>(volume: &mut Volume<P>, tree: &Tree) -> Result<(), String> {
    let mut todo = vec![(ROOT, 0_usize, "/".to_owned())];
    while let Some((ino, id, path)) = todo.pop() {
        let leaf = &tree.files[&id];
        let same = |what: &str, is: bool| if is { Ok(()) } else { Err(format!("{path} (inode {ino}): {what} differ")) };
        let attr = volume.attr(ino).map_err(|error| format!("{path}: {error}"))?;
        same("kinds", Some(attr.kind) == leaf.kind)?;
        if attr.links != leaf.links {
            return Err(format!("{path}: {} names, {} wanted", attr.links, leaf.links));
        }
        same("permissions", attr.permissions == leaf.permissions)?;
        for (name, value) in &leaf.attributes {
            same("attributes", volume.attribute(ino, name).as_ref() == Ok(value))?;
        }
        same(
            "numbers of attributes",
            volume.attribute_names(ino).map(|names| names.len()) == Ok(leaf.attributes.len()),
        )?;
        match attr.kind {
            FileKind::File => {
                if attr.size != leaf.data.len() as u64 {
                    return Err(format!("{path}: {} bytes, {} wanted", attr.size, leaf.data.len()));
                }
                let data = volume.read(ino, 0, leaf.data.len()).map_err(|error| format!("{path}: {error}"))?;
                if data != leaf.data {
                    let at = data.iter().zip(&leaf.data).position(|(one, other)| one != other).unwrap_or(data.len());
                    return Err(format!(
                        "{path}: byte {at} of {} is {:?}, not {:?}",
                        leaf.data.len(),
                        data.get(at),
                        leaf.data.get(at)
                    ));
                }
                let mut at = 0;
                while let Ok(hole) = volume.seek(ino, at, Seek::Hole) {
                    let end = volume.seek(ino, hole, Seek::Data).unwrap_or(attr.size);
                    same("holes", leaf.data[hole as usize..end as usize].iter().all(|byte| *byte == 0))?;
                    at = end.max(at + 1);
                }
            }
            FileKind::Symlink => same("targets", volume.read_link(ino).as_ref() == Ok(&leaf.data))?,
            FileKind::Directory => {
                let (mut all, mut cookie) = (Vec::new(), 0);
                loop {
                    let part = volume.read_dir(ino, cookie, 3).map_err(|error| format!("{path}: {error}"))?;
                    let Some(last) = part.last() else { break };
                    cookie = last.cookie;
                    all.extend(part);
                }
                let mut names: Vec<Vec<u8>> = all.iter().map(|entry| entry.name.clone()).collect();
                same("`.` and `..`", names.starts_with(&[b".".to_vec(), b"..".to_vec()]))?;
                names.drain(..2);
                names.sort();
                let wanted: Vec<Vec<u8>> = leaf.entries.keys().cloned().collect();
                if names != wanted {
                    let show = |names: &[Vec<u8>]| {
                        names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>()
                    };
                    return Err(format!("{path}: {:?}, wanted {:?}", show(&names), show(&wanted)));
                }
                for (name, id) in &leaf.entries {
                    let ino = volume.lookup(ino, name).map_err(|error| format!("{path}: {error}"))?;
                    todo.push((ino, *id, format!("{path}{}/", String::from_utf8_lossy(name))));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
