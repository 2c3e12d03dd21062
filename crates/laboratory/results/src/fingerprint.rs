//! Hashes of the contents of traces. They tell whether an earlier run that was kept read the same traces as a new one would.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use wane_units::Fnv;

use super::Inputs;

/// Bytes read at once.
const PIECE: usize = 1 << 20;

/// Hashes of traces. Each trace is read once unless it changes.
#[derive(Debug, Default)]
pub struct Fingerprints {
    known: BTreeMap<PathBuf, (Stamp, u64)>,
}

/// Length and time of change of a file, which nearly always change with its content.
type Stamp = (u64, Option<SystemTime>);

impl Fingerprints {
    /// The contents of these traces, in order. They are unknown if one of them is not a plain file (stdin or a pipe) or cannot be
    /// read, or once `stop` is set.
    pub fn inputs(&mut self, traces: &[&Path], stop: &AtomicBool) -> Inputs {
        if traces.is_empty() {
            return Inputs::Nothing;
        }
        let mut hash = Fnv::EMPTY;
        for trace in traces {
            let Ok(Some((length, content))) = self.of(trace, stop) else { return Inputs::Unknown };
            hash.add(&length.to_le_bytes());
            hash.add(&content.to_le_bytes());
        }
        Inputs::Hash(hash.hex())
    }

    /// Length and hash of a file.
    fn of(&mut self, path: &Path, stop: &AtomicBool) -> io::Result<Option<(u64, u64)>> {
        let found = std::fs::metadata(path)?;
        if !found.is_file() {
            return Ok(None);
        }
        let stamp = stamp(&found);
        if let Some((known, hash)) = self.known.get(path)
            && *known == stamp
        {
            return Ok(Some((stamp.0, *hash)));
        }
        let mut file = File::open(path)?;
        let (mut hash, mut piece) = (Fnv::EMPTY, vec![0; PIECE]);
        loop {
            match file.read(&mut piece)? {
                _ if stop.load(Ordering::Relaxed) => return Ok(None),
                0 => break,
                count => hash.add(&piece[..count]),
            }
        }
        self.known.insert(path.to_owned(), (stamp, hash.get()));
        Ok(Some((stamp.0, hash.get())))
    }
}

fn stamp(found: &Metadata) -> Stamp {
    (found.len(), found.modified().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_decide_and_not_names() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (one, twin, other) = (file("one", "abc"), file("twin", "abc"), file("other", "abd"));
        let go = AtomicBool::new(false);
        let of = |traces: &[&Path]| Fingerprints::default().inputs(traces, &go);
        assert_eq!(of(&[&one]), of(&[&twin]));
        assert_ne!(of(&[&one]), of(&[&other]));
        assert_ne!(of(&[&one, &other]), of(&[&other, &one]));
        assert_eq!(of(&[]), Inputs::Nothing);
        for unknown in [Path::new("-"), place.path(), &place.path().join("absent")] {
            assert_eq!(of(&[&one, unknown]), Inputs::Unknown, "{}", unknown.display());
        }
        assert_eq!(Fingerprints::default().inputs(&[&one], &AtomicBool::new(true)), Inputs::Unknown);
    }

    #[test]
    fn a_trace_that_changes_is_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t");
        let mut fingerprints = Fingerprints::default();
        let mut of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            fingerprints.inputs(&[&path], &AtomicBool::new(false))
        };
        assert_ne!(of("one"), of("three"));
    }
}
