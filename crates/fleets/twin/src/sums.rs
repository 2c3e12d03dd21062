//! `SHA256SUMS`, which detects files that were damaged on the disk. `sha256sum -c SHA256SUMS` also reads it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::TwinError;

/// Name of the file.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// Bytes of a file that are in memory at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Hash of each file in hexadecimal digits, by its path relative to the folder.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sums(BTreeMap<String, String>);

impl Sums {
    /// Computes the sums of files in a folder.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn of(folder: &Path, names: &[String]) -> Result<Self, TwinError> {
        let of = |name: &String| -> Result<(String, String), TwinError> {
            let path = folder.join(name);
            let sum = sum_of(&path).map_err(|error| TwinError::File { path, why: error.to_string() })?;
            Ok((name.clone(), sum))
        };
        Ok(Self(names.par_iter().map(of).collect::<Result<_, _>>()?))
    }

    /// Reads a folder's file of sums; empty if there is none.
    pub(crate) fn read(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join(SUMS)).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once("  "));
        Self(pairs.map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect())
    }

    /// Lists the files that are there but have changed.
    pub(crate) fn damaged<'a>(&self, folder: &Path, names: &'a [String]) -> Vec<&'a String> {
        let is_damaged =
            |name: &&String| sum_of(&folder.join(name)).is_ok_and(|found| self.0.get(*name) != Some(&found));
        names.par_iter().filter(is_damaged).collect()
    }

    /// Adds a file with these contents.
    pub(crate) fn add(&mut self, name: String, text: &str) {
        self.0.insert(name, digits_of(Sha256::digest(text)));
    }

    /// Whether a file is listed with the sum of these contents.
    pub(crate) fn has(&self, name: &str, text: &str) -> bool {
        self.0.get(name) == Some(&digits_of(Sha256::digest(text)))
    }

    pub(crate) fn to_text(&self) -> String {
        self.0.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect()
    }
}

fn sum_of(path: &Path) -> io::Result<String> {
    let (mut hash, mut file, mut bytes) = (Sha256::new(), File::open(path)?, vec![0; BUFFER_BYTES]);
    loop {
        match file.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => hash.update(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(digits_of(hash.finalize()))
}

fn digits_of(hash: impl AsRef<[u8]>) -> String {
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
