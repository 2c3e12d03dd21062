//! Runs the documents: every command on a page of the book or in the README, in a folder for each page, and checks every
//! figure that a page claims of a simulation.
//!
//! A page's commands are the lines of its fenced blocks that begin with `wane ` or `$ wane `; after the latter, the rest of the block is what
//! the command prints. A block of TOML becomes the file that the text before it names, such as `first.toml`. Figures in tables and
//! sentences are listed in comments of the page, which no reader sees:
//!
//! ```text
//! <!-- check
//! run wane run first.toml --out out/first
//! prints                                          the next block's lines are what the last command printed
//! out/first/summary.json end.at_drive_writes = 85.7
//! out/b/summary.json latency.read.mean_ns / out/a/summary.json latency.read.mean_ns = 1.5
//! -->
//! ```
//!
//! A figure must stand in the text between its section's heading and its comment, and be the value rounded to its digits. Comments that begin
//! with `<!-- check slowly`, and commands after `<!-- slow -->`, wait for `make docs-check`, which sets `WANE_DOCS=all`.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that a reader has, and the files of the repository that stand for them.
const AT_HAND: [(&str, &str); 4] = [
    ("trace.gz", "traces/pgbench-ext4.iolog.zst"),
    ("pgbench-ext4.iolog.zst", "traces/pgbench-ext4.iolog.zst"),
    ("store.wane", "traces/pgbench-ext4.iolog.zst"),
    ("data.csv", "measurements.csv"),
];

/// Begins of commands. CI runs those of `make` and `cargo`.
const COMMAND: &str = "wane ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

fn markdown_below(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with("generated") {
            markdown_below(&entry, pages);
        } else if entry.extension().is_some_and(|kind| kind == "md") {
            pages.push(entry);
        }
    }
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    markdown_below(&root().join("docs/src"), &mut pages);
    pages.sort();
    assert!(pages.len() > 15, "the pages are found");
    pages
}

/// Steps of a page, in its order.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// A file to write.
    File { name: String, text: String },
    /// A command, whether it waits for `make docs-check`, and the lines that it prints, in order, if the page shows them.
    Run { command: String, slow: bool, prints: Vec<String> },
    /// A figure: where its value is found, its text, and whether it waits.
    Figure { value: String, figure: String, slow: bool },
}

/// The last name of a TOML file in backticks.
fn named_file(text: &str) -> Option<String> {
    let names = text.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".toml") && !name.contains([' ', '/']));
    names.last().map(str::to_owned)
}

/// Reader of a page: its lines, the number of the next, and what has been found.
struct Reading<'a> {
    page: &'a str,
    lines: Vec<&'a str>,
    at: usize,
    steps: Vec<Step>,
    /// Visible text since the last heading.
    section: String,
    /// The paragraph before a block.
    paragraph: String,
    slow: bool,
    /// Whether the next block is what the last command printed.
    expects_output: bool,
}

impl<'a> Reading<'a> {
    fn of(page: &'a str, text: &'a str) -> Vec<Step> {
        let mut reading = Self {
            page,
            lines: text.lines().collect(),
            at: 0,
            steps: Vec::new(),
            section: String::new(),
            paragraph: String::new(),
            slow: false,
            expects_output: false,
        };
        while let Some(line) = reading.next() {
            match line.trim() {
                fence if fence.starts_with("```") => reading.block(fence.trim_start_matches('`')),
                "<!-- slow -->" => reading.slow = true,
                "<!-- check" => reading.check(false),
                "<!-- check slowly" => reading.check(true),
                heading if heading.starts_with('#') => reading.section = heading.to_owned(),
                "" => {}
                _ => {
                    reading.section.push_str(line);
                    reading.section.push('\n');
                    reading.paragraph.push_str(line);
                }
            }
        }
        reading.steps
    }

    fn next(&mut self) -> Option<&'a str> {
        self.at += 1;
        self.lines.get(self.at - 1).copied()
    }

    /// Returns the lines up to the end mark.
    fn until(&mut self, end: &str) -> Vec<&'a str> {
        let from = self.at;
        while let Some(line) = self.next() {
            if line.trim() == end {
                return self.lines[from..self.at - 1].to_vec();
            }
        }
        panic!("{}: what begins before line {} has no {end}", self.page, from);
    }

    fn block(&mut self, language: &str) {
        let lines = self.until("```");
        let text = lines.join("\n") + "\n";
        self.section.push_str(&text);
        let paragraph = std::mem::take(&mut self.paragraph);
        let slow = std::mem::take(&mut self.slow);
        if std::mem::take(&mut self.expects_output) {
            let Some(Step::Run { prints, .. }) = self.steps.last_mut() else {
                panic!("{}: a block is to be what a command prints, but there is no command before", self.page);
            };
            prints.extend(lines.iter().map(|line| (*line).to_owned()));
            return;
        }
        if language == "toml" {
            self.steps.extend(named_file(&paragraph).map(|name| Step::File { name, text }));
            return;
        }
        let mut shows_output = false;
        for line in lines {
            let command = line.strip_prefix("$ ").unwrap_or(line);
            if command.starts_with(COMMAND) {
                shows_output = command != line;
                self.steps.push(Step::Run { command: command.to_owned(), slow, prints: Vec::new() });
            } else if shows_output && let Some(Step::Run { prints, .. }) = self.steps.last_mut() {
                prints.push(line.to_owned());
            }
        }
    }

    fn check(&mut self, slow: bool) {
        for line in self.until("-->") {
            let line = line.trim();
            if let Some(command) = line.strip_prefix("run ") {
                self.steps.push(Step::Run { command: command.to_owned(), slow, prints: Vec::new() });
            } else if line == "prints" {
                self.expects_output = true;
            } else if let Some((value, figure)) = line.rsplit_once(" = ") {
                let number = figure.split_whitespace().next().unwrap();
                let stands = self.section.match_indices(number).any(|(at, _)| {
                    let (before, after) = (&self.section[..at], &self.section[at + number.len()..]);
                    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_digit());
                    !is_part(before.chars().next_back()) && !is_part(after.chars().next())
                });
                assert!(stands, "{}: {number} of the check does not stand in its section", self.page);
                let (value, figure) = (value.trim().to_owned(), figure.to_owned());
                self.steps.push(Step::Figure { value, figure, slow });
            } else {
                panic!("{}: {line:?} is no check", self.page);
            }
        }
    }
}

/// A figure's value in the unit of results, and half of its last digit.
fn figure(text: &str) -> (f64, f64) {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let factor = match unit {
        "" => 1.0,
        "%" => 0.01,
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "TB" => 1e12,
        "MB/s" => 1e6,
        "million" => 1e6,
        other => panic!("{other} is no unit of a figure"),
    };
    let plain = number.replace(',', "");
    let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value: f64 = plain.parse().unwrap_or_else(|_| panic!("{text} is no figure"));
    (value * factor, 0.5 * 0.1f64.powi(i32::try_from(decimals).unwrap()) * factor)
}

/// Returns the value of `FILE PATH` in a JSON file of the page's folder, or of `A / B` and `A - B` for two such values, or of `A - 1`.
fn value(folder: &Path, text: &str) -> f64 {
    if let Some((left, right)) = text.rsplit_once(" - ") {
        return value(folder, left) - if right.trim() == "1" { 1.0 } else { value(folder, right) };
    }
    if let Some((left, right)) = text.split_once(" / ") {
        return value(folder, left) / value(folder, right);
    }
    let (file, path) = text.trim().split_once(' ').unwrap_or_else(|| panic!("{text}: expected FILE PATH"));
    let bytes = std::fs::read(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let tree: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let found = path.trim().split('.').try_fold(&tree, |at, key| match key.parse::<usize>() {
        Ok(index) if at.is_array() => at.get(index),
        _ => at.get(key),
    });
    found.and_then(serde_json::Value::as_f64).unwrap_or_else(|| panic!("{file} has no number at {path}"))
}

/// Runs a command in a shell that finds this build of `wane` first; returns what it printed, with its messages at the end.
fn shell(command: &str, folder: &Path) -> (bool, String) {
    let binary = Path::new(env!("CARGO_BIN_EXE_wane")).parent().unwrap().to_owned();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh").args(["-c", command]).env("PATH", path).current_dir(folder).output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

/// Splits lines into words, so that the number of spaces does not matter.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a page; returns what is wrong.
fn follow(page: &Path, all: bool) -> Vec<String> {
    let name = page.strip_prefix(root()).unwrap().display().to_string();
    let text = std::fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, asset) in AT_HAND {
        std::fs::copy(root().join("assets").join(asset), folder.path().join(name)).unwrap();
    }
    let mut wrong = Vec::new();
    for step in Reading::of(&name, &text) {
        match step {
            Step::File { name, text } => std::fs::write(folder.path().join(name), text).unwrap(),
            Step::Run { slow: true, .. } | Step::Figure { slow: true, .. } if !all => {}
            Step::Run { command, prints, .. } => {
                let (done, printed) = shell(&command, folder.path());
                if !done {
                    wrong.push(format!("{name}: {command}\n{printed}"));
                }
                let mut lines = printed.lines().map(words);
                for line in prints.iter().filter(|line| !matches!(line.trim(), "" | "...")) {
                    if !lines.any(|found| found == words(line)) {
                        wrong.push(format!("{name}: {command}\ndoes not print in this place\n{line}\nbut\n{printed}"));
                        break;
                    }
                }
            }
            Step::Figure { value: text, figure: told, .. } => {
                let (expected, slack) = figure(&told);
                let found = value(folder.path(), &text);
                if (found - expected).abs() > slack * 1.000_001 {
                    wrong.push(format!("{name}: {text} = {told}, but it is {found}"));
                }
            }
        }
    }
    wrong
}

#[test]
fn every_command_of_the_documents_runs_and_every_figure_comes_out() {
    let all = std::env::var("WANE_DOCS").is_ok_and(|what| what == "all");
    let pages = pages();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let found = std::panic::catch_unwind(|| follow(page, all));
                    let broken = |_| vec![format!("{}: it cannot be followed, see above", page.display())];
                    wrong.lock().unwrap().extend(found.unwrap_or_else(broken));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_page_is_read_as_its_reader_reads_it() {
    let text = "# A\nAs `a.toml`:\n```toml\nx = 1\n```\n```\nwane run a.toml   # run it\n```\n\
                It lives for 85.7 drive writes.\n<!-- check\no/summary.json end.at_drive_writes = 85.7\n-->\n\
                ```\n$ wane rber\n0.016\n```\n";
    let run = |command: &str, prints: &[&str]| Step::Run {
        command: command.to_owned(),
        slow: false,
        prints: prints.iter().map(|line| (*line).to_owned()).collect(),
    };
    let expected = [
        Step::File { name: "a.toml".to_owned(), text: "x = 1\n".to_owned() },
        run("wane run a.toml   # run it", &[]),
        Step::Figure { value: "o/summary.json end.at_drive_writes".to_owned(), figure: "85.7".to_owned(), slow: false },
        run("wane rber", &["0.016"]),
    ];
    assert_eq!(Reading::of("a", text), expected);
    for (text, value, slack) in [("85.7", 85.7, 0.05), ("163 us", 163_000.0, 500.0), ("1,105,783", 1_105_783.0, 0.5)] {
        assert_eq!(figure(text), (value, slack));
    }
}

#[test]
#[should_panic(expected = "85.7 of the check does not stand in its section")]
fn a_figure_that_no_reader_sees_is_no_figure() {
    Reading::of("a", "# A\nIt lives for 185.7 drive writes.\n<!-- check\no.json end = 85.7\n-->\n");
}
