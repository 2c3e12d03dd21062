//! The rules of the house, read off the workspace: arrows between crates, sizes of files and functions.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What each crate may use; what those may use is allowed too. `testkit` is for tests only.
const ARROWS: [(&str, &[&str]); 11] = [
    ("units", &[]),
    ("sim", &["units"]),
    ("nand", &["units", "sim"]),
    ("ftl", &["nand"]),
    ("blockdev", &["units", "sim"]),
    ("ssd", &["ftl"]),
    ("workload", &["units", "sim"]),
    ("theory", &["units"]),
    ("lab", &["ssd", "workload", "theory"]),
    ("cli", &["lab"]),
    ("testkit", &["lab", "blockdev"]),
];

/// Lines that a source file may have, tests apart.
const FILE_LINES_MAX: usize = 800;

/// Lines that a function may have.
const FUNCTION_LINES_MAX: usize = 70;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn allowed(name: &str, out: &mut Vec<String>) {
    let uses = ARROWS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("crate {name} has no rule")).1;
    for used in uses {
        out.push(format!("wane-{used}"));
        allowed(used, out);
    }
}

#[test]
fn arrows_point_down_only() {
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let manifest: toml::Table = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
        let mut may = Vec::new();
        allowed(&name, &mut may);
        let uses = manifest.get("dependencies").and_then(toml::Value::as_table).cloned().unwrap_or_default();
        for used in uses.keys().filter(|used| used.starts_with("wane-")) {
            assert!(may.contains(used), "{name} may not use {used}; it may use {may:?}");
        }
        for banned in ["tokio", "axum", "rand", "chrono"] {
            assert!(!uses.contains_key(banned), "{name} uses {banned}");
        }
    }
}

/// Rust sources outside `tests` and `benches`, with their lines up to the unit tests.
fn sources() -> BTreeMap<PathBuf, Vec<String>> {
    let mut sources = BTreeMap::new();
    let mut folders = vec![root().join("crates"), root().join("examples")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !matches!(name.as_str(), "tests" | "benches" | "target") {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = std::fs::read_to_string(&path).unwrap();
                let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").map(str::to_owned).collect();
                sources.insert(path, lines);
            }
        }
    }
    assert!(sources.len() > 60, "the sources are found");
    sources
}

#[test]
fn files_and_functions_stay_small() {
    for (path, lines) in sources() {
        assert!(lines.len() <= FILE_LINES_MAX, "{} has {} lines", path.display(), lines.len());
        let mut start: Option<(usize, String)> = None;
        for (number, line) in lines.iter().enumerate() {
            let indent = &line[..line.len() - line.trim_start().len()];
            let opens = line.contains("fn ") && line.ends_with('{') && !line.trim_start().starts_with("//");
            if opens && start.is_none() {
                start = Some((number, indent.to_owned()));
            }
            if let Some((from, outer)) = &start
                && *line == format!("{outer}}}")
            {
                let length = number - from + 1;
                // The signature and the closing brace come on top of clippy's count.
                assert!(length <= FUNCTION_LINES_MAX + 8, "{}:{} has {length} lines", path.display(), from + 1);
                start = None;
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for (path, lines) in sources() {
        let first = lines.first().map(String::as_str).unwrap_or_default();
        assert!(first.starts_with("//!"), "{} opens with what it is for", path.display());
    }
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    for document in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs/src/SUMMARY.md"] {
        let path = root().join(document);
        let text = std::fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let made = link.starts_with("generated/") || link.contains("://") || link.starts_with('#');
            assert!(made || path.parent().unwrap().join(link).exists(), "{document}: {link} leads nowhere");
        }
    }
}
