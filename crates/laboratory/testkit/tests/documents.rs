//! Statements of the documents about the repository: links, included code, paths, commands and the oldest compiler.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pages of the book that are written by hand.
fn pages() -> Vec<PathBuf> {
    let mut folders = vec![root().join("docs/src")];
    let mut pages = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with("generated") {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    assert!(pages.len() > 10, "the pages are found");
    pages
}

/// The book, and the documents at the top of the repository.
fn documents() -> Vec<PathBuf> {
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    pages().into_iter().chain(top).collect()
}

/// The text between `open` and `close`, everywhere in a text.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).filter_map(move |rest| Some(rest.split_once(close)?.0))
}

/// The text in backticks. A fenced block counts as one piece.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn links_lead_somewhere() {
    for document in documents() {
        let text = read(&document);
        for link in between(&text, "](", ")") {
            let elsewhere = link.starts_with("generated/") || link.contains("://") || link.starts_with('#');
            let file = link.split('#').next().unwrap_or_default();
            assert!(
                elsewhere || document.parent().unwrap().join(file).exists(),
                "{}: {link} leads nowhere",
                document.display()
            );
        }
    }
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = read(&root().join("docs/src/SUMMARY.md"));
    for page in pages() {
        let name = page.strip_prefix(root().join("docs/src")).unwrap().to_string_lossy().into_owned();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("]({name})")), "{name} is not in the book");
    }
}

#[test]
fn included_code_is_there() {
    let mut included = 0;
    for page in pages() {
        let text = read(&page);
        for include in between(&text, "{{#include ", "}}") {
            let (file, part) = include.split_once(':').unwrap_or((include, ""));
            let code = read(&page.parent().unwrap().join(file));
            let lines = |mark: &str| code.lines().filter(|line| line.trim() == format!("// {mark}: {part}")).count();
            let by_number = part.chars().all(|letter| letter.is_ascii_digit() || letter == ':');
            let is_there = by_number || (lines("ANCHOR"), lines("ANCHOR_END")) == (1, 1);
            assert!(is_there, "{}: {file} has no part {part}", page.display());
            included += 1;
        }
    }
    assert!(included > 8, "the pages include code");
}

/// Manifests of the workspace by name of the package.
fn packages() -> BTreeMap<String, (PathBuf, toml::Table)> {
    let mut packages = BTreeMap::new();
    let workspace: toml::Table = read(&root().join("Cargo.toml")).parse().unwrap();
    let excluded: Vec<PathBuf> = workspace["workspace"]["exclude"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|name| root().join(name.as_str().unwrap()))
        .collect();
    let entries = |path: PathBuf| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let parents = entries(root().join("crates")).chain([root().join("examples")]);
    for parent in parents {
        for folder in entries(parent) {
            if excluded.contains(&folder) {
                continue;
            }
            let manifest: toml::Table = read(&folder.join("Cargo.toml")).parse().unwrap();
            let name = manifest["package"]["name"].as_str().unwrap().to_owned();
            packages.insert(name, (folder, manifest));
        }
    }
    packages
}

/// Whether a package has a program, example, test or bench of this name.
fn has(folder: &Path, manifest: &toml::Table, kind: &str, name: &str) -> bool {
    let tables =
        manifest.get(kind.trim_start_matches('-')).and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let place = match kind {
        "--bin" => "src/bin",
        "--example" => "examples",
        "--bench" => "benches",
        _ => "tests",
    };
    tables.iter().any(|table| table.get("name").and_then(toml::Value::as_str) == Some(name))
        || folder.join(place).join(format!("{name}.rs")).exists()
        || folder.join(place).join(name).join("main.rs").exists()
}

#[test]
fn commands_that_documents_name_exist() {
    let makefile = read(&root().join("Makefile"));
    let targets: BTreeSet<&str> = makefile.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    let packages = packages();
    let mut commands = 0;
    for document in documents() {
        let (text, name) = (read(&document), document.display());
        let lines = text.lines().map(str::trim);
        for command in quoted(&text).chain(lines).filter(|text| !text.contains('`')) {
            let words: Vec<&str> = command.split_whitespace().collect();
            if let ["make", target] | ["make", target, "#", ..] = words[..] {
                assert!(targets.contains(target), "{name}: make {target} is no target");
                commands += 1;
            }
            let value = |option: &str| Some(*words.get(words.iter().position(|word| *word == option)? + 1)?);
            if words.contains(&"cargo")
                && let Some(package) = value("-p")
            {
                let (folder, manifest) =
                    packages.get(package).unwrap_or_else(|| panic!("{name}: no package {package}"));
                for kind in ["--bin", "--example", "--bench", "--test"] {
                    let known = value(kind).is_none_or(|value| has(folder, manifest, kind, value));
                    assert!(known, "{name}: {command}: {package} has none of this name");
                }
                commands += 1;
            }
        }
    }
    assert!(commands > 20, "the documents name commands");
}

#[test]
fn paths_that_documents_name_exist() {
    let mut paths = 0;
    for document in documents() {
        let text = read(&document);
        for path in quoted(&text).filter(|path| path.starts_with("crates/") || path.starts_with("examples/")) {
            let is_pattern = path.contains(['<', '*']) || path.contains(char::is_whitespace);
            assert!(is_pattern || root().join(path).exists(), "{}: there is no {path}", document.display());
            paths += 1;
        }
    }
    assert!(paths > 10, "the documents name paths");
}

/// Text that is written by hand, and pages that are made and kept: everything but what builds leave behind.
fn texts() -> Vec<PathBuf> {
    let mut folders = vec![root()];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && !matches!(&*name, "target" | "generated" | "book") {
                folders.push(path);
            } else if path.is_file() && [".rs", ".md", ".py", ".toml", ".sh"].iter().any(|kind| name.ends_with(kind)) {
                texts.push(path);
            }
        }
    }
    assert!(texts.len() > 500, "the texts are found");
    texts
}

/// A word that may be a document's name: four capital letters at least.
fn is_name(word: &str) -> bool {
    word.len() >= 4 && word.bytes().all(|letter| letter.is_ascii_uppercase())
}

/// A document that nobody has beside the repository proves nothing: comments and pages cite the papers, standards and programs themselves.
#[test]
fn documents_that_are_cited_are_here() {
    // Abbreviations of the field before a number.
    const NO_DOCUMENT: [&str; 5] = ["CVSS", "HTTP", "ONFI", "RBER", "SATA"];
    let is_section = |word: &str| {
        let word = word.trim_end_matches(|sign: char| !sign.is_ascii_digit());
        let is_number = |part: &str| matches!(part.len(), 1..=2) && part.bytes().all(|sign| sign.is_ascii_digit());
        word.split_once('.').is_some_and(|(chapter, section)| is_number(chapter) && is_number(section))
    };
    let texts = texts();
    let here: BTreeSet<_> = texts.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    for path in &texts {
        let text = read(path);
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("{}:{number}", path.display());
            let mut words = line.split(|sign: char| !sign.is_ascii_alphanumeric() && !"._".contains(sign)).peekable();
            while let Some(word) = words.next() {
                let file = word.trim_end_matches('.');
                let is_file = file.strip_suffix(".md").is_some_and(is_name);
                assert!(!is_file || here.contains(file), "{place}: {file} is not in the repository");
                let cited = is_name(word) && words.peek().is_some_and(|next| is_section(next));
                assert!(!cited || NO_DOCUMENT.contains(&word), "{place}: {word} is not in the repository");
            }
        }
    }
}

#[test]
fn the_oldest_compiler_is_the_same_everywhere() {
    let manifest: toml::Table = read(&root().join("Cargo.toml")).parse().unwrap();
    let oldest = manifest["workspace"]["package"]["rust-version"].as_str().unwrap();
    let clippy: toml::Table = read(&root().join("clippy.toml")).parse().unwrap();
    assert_eq!(clippy["msrv"].as_str(), Some(oldest));
    assert!(read(&root().join("README.md")).contains(&format!("({oldest} or newer)")));
}

#[test]
fn the_readme_counts_claims_as_their_page_does() {
    let page = read(&root().join("docs/claims.md"));
    let table = page.split("\n## ").next().unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().filter(|line| line.starts_with("| ")).map(|line| line.split(" | ").collect()).skip(1).collect();
    let having = |start: &str| rows.iter().filter(|row| row[5].starts_with(start)).count();
    let published = rows.iter().filter(|row| !row[2].contains("this project")).count();
    let told = format!(
        "Of {} claims, {published} of them published, {} come out and {} differ;",
        rows.len(),
        having("agrees"),
        having("differs")
    );
    assert!(read(&root().join("README.md")).contains(&told), "README.md does not say: {told}");
}
