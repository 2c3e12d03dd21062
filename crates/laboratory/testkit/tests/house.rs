//! The rules for the workspace: dependencies between crates, sizes of files and functions.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Most lines of a source file, without tests.
const FILE_LINES_MAX: usize = 800;

/// A crate that holds more than 1/`CRATE_SHARE` of all Rust lines must be split.
const CRATE_SHARE: usize = 4;

/// Crates that no crate of the product may use, and that may use any crate.
const DEVELOPMENT: [&str; 2] = ["testkit", "validation"];

/// Crates that talk to others on a network: only they may use an async runtime.
const NETWORKED: [&str; 2] = ["actor", "serve"];

/// Most lines of a function.
const FUNCTION_LINES_MAX: usize = 70;

/// Most fields of a struct.
const FIELDS_MAX: usize = 20;

/// Structs that have more, with their fields. Each may only get shorter.
const LONG_STRUCTS: [(&str, usize); 21] = [
    ("ftl/src/engine.rs Ftl", 50),
    ("raid/src/raid/commits.rs Commits", 48),
    ("smart/src/record.rs HealthRecord", 41),
    ("raid/src/raid.rs Raid", 39),
    ("twin/src/life.rs Living", 39),
    ("fs/src/volume.rs Volume", 29),
    ("scenario/src/forecast.rs ForecastSettings", 29),
    ("ssd/src/drive.rs Drive", 28),
    ("ssd/src/depend/mod.rs Graph", 25),
    ("scenario/src/settings.rs DriveSettings", 25),
    ("twin/src/attributes.rs State", 24),
    ("workload/src/lsm/source.rs LsmSource", 24),
    ("serve/src/live.rs Live", 24),
    ("workload/src/trace/reader.rs Reader", 23),
    ("ftl/src/config.rs FtlConfig", 23),
    ("cli/src/commands/drive/show.rs DriveFacts", 23),
    ("blockdev/src/layers/integrity.rs Integrity", 22),
    ("serve/src/engine.rs Engine", 22),
    ("results/src/summary.rs Summary", 21),
    ("scenario/src/workload/lsm.rs LsmSettings", 21),
    ("cli/src/commands/drive/show/array.rs ArrayFacts", 21),
];

/// Most characters of a cell in the table of `ARCHITECTURE.md`. What is longer belongs on the crate's own page.
const CELL_CHARACTERS_MAX: usize = 120;

/// Files that read the real clock, by crate and name. Nothing that is simulated depends on what they read.
const REAL_CLOCK: [&str; 4] = ["actor/src/clock.rs", "fuse/src/convert.rs", "lab/src/progress.rs", "serve/src/real.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// The folders of all crates: `crates/STOREY/NAME`, by name.
fn folders() -> BTreeMap<String, PathBuf> {
    let entries = |path: PathBuf| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let crates = entries(root().join("crates")).flat_map(entries);
    crates.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path)).collect()
}

/// The crates that each crate may use, from the table of `ARCHITECTURE.md`, from the lowest crate up. The page is the rule: there
/// is no second list that could differ.
fn rooms() -> Vec<(String, Vec<String>)> {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut rooms: Vec<(String, Vec<String>)> = Vec::new();
    for line in page.lines() {
        let Some((path, rest)) = line.strip_prefix("| `").and_then(|row| row.split_once("` |")) else { continue };
        let Some((_, name)) = path.split_once('/') else { continue };
        assert!(root().join("crates").join(path).is_dir(), "ARCHITECTURE.md: there is no crates/{path}");
        let column = rest.trim_end_matches(" |").rsplit('|').next().unwrap().trim();
        let above: Vec<String> = rooms.iter().map(|(room, _)| room.clone()).collect();
        let uses = match column {
            "-" => Vec::new(),
            "all above" | "anything" => above,
            names => names.split(", ").map(str::to_owned).collect(),
        };
        for used in &uses {
            assert!(rooms.iter().any(|(room, _)| room == used), "{name} may use {used}, which does not stand above it");
        }
        rooms.push((name.to_owned(), uses));
    }
    rooms
}

/// `start` and everything that it leads to, step by step.
fn closure(start: &[String], step: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = start.to_vec();
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            open.extend(step.get(&name).into_iter().flatten().cloned());
        }
    }
    found
}

/// The dependencies in the manifest of a crate, without those of tests.
fn dependencies(name: &str) -> Vec<String> {
    let path = folders()[name].join("Cargo.toml");
    let manifest: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    table.map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

#[test]
fn arrows_point_down_only() {
    let mut rooms = rooms();
    let named: BTreeSet<String> = rooms.iter().map(|(name, _)| name.clone()).collect();
    let built: BTreeSet<String> = folders().into_keys().collect();
    assert_eq!(named, built, "the table of ARCHITECTURE.md names every crate");
    // Crates that may use anything are for development only, and no other crate may use them.
    rooms.retain(|(name, _)| !DEVELOPMENT.contains(&name.as_str()));
    let allowed: BTreeMap<String, Vec<String>> = rooms.iter().cloned().collect();
    let own = |name: &String| {
        let dependencies = dependencies(name).into_iter();
        dependencies.filter_map(|used| used.strip_prefix("wane-").map(str::to_owned)).collect::<Vec<String>>()
    };
    let used: BTreeMap<String, Vec<String>> = rooms.iter().map(|(name, _)| (name.clone(), own(name))).collect();
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, uses) in &rooms {
        let (may, does) = (closure(uses, &allowed), closure(&used[name], &used));
        for used in &used[name] {
            assert!(may.contains(used), "{name} may not use {used}; ARCHITECTURE.md allows {may:?}");
        }
        // "All above" names no crate in particular.
        if page
            .lines()
            .any(|row| row.starts_with("| `") && row.contains(&format!("/{name}` |")) && row.ends_with("| all above |"))
        {
            continue;
        }
        for allowed in uses {
            assert!(does.contains(allowed), "ARCHITECTURE.md lets {name} use {allowed}, which it does not");
        }
    }
    for (name, _) in &rooms {
        let uses = dependencies(name);
        let networked: &[&str] = if NETWORKED.contains(&name.as_str()) { &[] } else { &["tokio", "axum"] };
        for banned in networked.iter().chain(&["rand", "chrono"]) {
            assert!(!uses.iter().any(|used| used == *banned), "{name} uses {banned}");
        }
    }
}

#[test]
fn cells_of_the_architecture_are_short() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        for cell in row.split('|').map(str::trim) {
            let length = cell.chars().count();
            assert!(
                length <= CELL_CHARACTERS_MAX,
                "ARCHITECTURE.md: {length} characters, at most {CELL_CHARACTERS_MAX}: {cell}"
            );
        }
    }
}

#[test]
fn four_files_read_the_real_clock() {
    let reads = |line: &String| line.contains("Instant::now()") || line.contains("SystemTime::now()");
    let readers = sources().into_iter().filter(|(_, lines)| lines.iter().any(reads));
    // Without `crates` and the storey.
    let mut found: Vec<PathBuf> =
        readers.map(|(path, _)| path.strip_prefix(root()).unwrap().iter().skip(2).collect()).collect();
    found.sort();
    assert_eq!(found, REAL_CLOCK.map(PathBuf::from), "files that read the real clock");
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for file in REAL_CLOCK {
        let name = file.trim_end_matches(".rs").replace("/src/", "::");
        assert!(page.contains(&format!("`{name}`")), "ARCHITECTURE.md names {name}");
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
                // The signature and the closing brace are not in clippy's count.
                assert!(length <= FUNCTION_LINES_MAX + 8, "{}:{} has {length} lines", path.display(), from + 1);
                start = None;
            }
        }
    }
}

/// The structs of a source, each with the number of its fields.
fn structs(lines: &[String]) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut inside: Option<String> = None;
    for line in lines {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        let plain =
            text.strip_prefix("pub ").or_else(|| Some(text.strip_prefix("pub(")?.split_once(") ")?.1)).unwrap_or(text);
        match (&inside, plain.strip_prefix("struct ")) {
            (None, Some(rest)) if text.ends_with('{') => {
                let name = rest.split(|end: char| !end.is_alphanumeric() && end != '_').next().unwrap();
                found.push((name.to_owned(), 0));
                inside = Some(indent.to_owned());
            }
            (Some(outer), _) if line == &format!("{outer}}}") => inside = None,
            (Some(outer), _) if indent.len() == outer.len() + 4 => {
                let name = plain.split_once(": ").map(|(name, _)| name);
                let is_field = name.is_some_and(|name| name.chars().all(|part| part.is_alphanumeric() || part == '_'));
                found.last_mut().unwrap().1 += usize::from(is_field);
            }
            _ => {}
        }
    }
    found
}

/// A struct of many fields is several things in one.
#[test]
fn structs_stay_small_and_long_ones_get_no_longer() {
    let crates = root().join("crates");
    let mut long = BTreeMap::new();
    for (path, lines) in sources() {
        // The storey says nothing: crates/STOREY/NAME/src/...
        let Ok(place) = path.strip_prefix(&crates) else { continue };
        let place = place.components().skip(1).collect::<PathBuf>().display().to_string();
        for (name, fields) in structs(&lines) {
            if fields > FIELDS_MAX {
                long.insert(format!("{place} {name}"), fields);
            }
        }
    }
    let known: BTreeMap<String, usize> =
        LONG_STRUCTS.iter().map(|(name, fields)| ((*name).to_owned(), *fields)).collect();
    for (name, fields) in &long {
        let most = known.get(name).copied().unwrap_or(FIELDS_MAX);
        assert!(*fields <= most, "{name} has {fields} fields, allowed are {most}");
    }
    for (name, fields) in &known {
        let now = long.get(name).copied().unwrap_or(0);
        assert_eq!(now, *fields, "{name} has {now} fields of {fields}: say so in the list, so that it stays");
    }
}

#[test]
fn no_crate_holds_more_than_a_quarter_of_the_lines() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (name, folder) in folders() {
        let mut open = vec![folder];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    *lines.entry(name.clone()).or_default() += std::fs::read_to_string(&path).unwrap().lines().count();
                }
            }
        }
    }
    let all: usize = lines.values().sum();
    for (name, held) in lines {
        assert!(held * CRATE_SHARE <= all, "{name} holds {held} of {all} lines, more than one in {CRATE_SHARE}");
    }
}

/// The crate's page: the lines before the first one that is not a doc comment.
#[test]
fn every_crate_says_what_it_is_for() {
    for (name, folder) in folders() {
        let text = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap();
        let page = text.lines().take_while(|line| line.starts_with("//!")).count();
        assert!(page >= 3, "src/lib.rs of {name} says in {page} lines what it is for, at least 3 are needed");
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
    let mut documents: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    let chapters = std::fs::read_dir(root().join("docs/src")).unwrap().map(|entry| entry.unwrap().path());
    documents.extend(chapters.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    assert!(documents.len() > 15, "the chapters of the book are looked at");
    for path in documents {
        let text = std::fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let made = file.starts_with("generated/") || link.contains("://") || file.is_empty();
            assert!(made || path.parent().unwrap().join(file).exists(), "{}: {link} leads nowhere", path.display());
        }
    }
}
