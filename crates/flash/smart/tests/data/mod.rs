//! Data of real drives, if `WANE_TEST_DATA` names a folder with them.

#![allow(clippy::unwrap_used, dead_code, reason = "not every test uses all of it")]

use std::io::Read as _;
use std::path::Path;

/// A file of the folder. Without the folder it reports that the test is skipped.
pub(crate) fn file(name: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("WANE_TEST_DATA") else {
        wane_testkit::skipped("WANE_TEST_DATA, a folder with smartctl's output of real drives, is not set");
        return None;
    };
    Some(std::fs::read(Path::new(&folder).join(name)).unwrap())
}

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    bytes
}

/// A drive's endurance log.
pub(crate) fn log(name: &str) -> Option<Vec<u8>> {
    file(&format!("endurance/ssd_{name}_smartctl.txt.gz")).map(|packed| unpacked(&packed))
}

/// The files of the collection of smartctl's JSON, by name.
pub(crate) fn collection() -> Option<Vec<(String, Vec<u8>)>> {
    file("smart/smartctl_json_A.tar.gz").map(|packed| files(&unpacked(&packed)))
}

/// The files of a tar archive whose names end in `.json`.
fn files(tar: &[u8]) -> Vec<(String, Vec<u8>)> {
    const BLOCK: usize = 512;
    let (mut found, mut at) = (Vec::new(), 0);
    while at + BLOCK <= tar.len() && tar[at] != 0 {
        let header = &tar[at..at + BLOCK];
        let text = |range: std::ops::Range<usize>| {
            String::from_utf8_lossy(&header[range]).trim_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&text(124..136), 8).unwrap();
        if text(0..100).ends_with(".json") {
            found.push((text(0..100), tar[at + BLOCK..at + BLOCK + size].to_vec()));
        }
        at += BLOCK + size.div_ceil(BLOCK) * BLOCK;
    }
    found
}
