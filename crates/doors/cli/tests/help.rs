//! Help for users: help texts on narrow terminals, man pages, completion in shells, and messages with suggestions.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::Path;
use std::process::Command as Process;

use assert_cmd::Command;
use wane_workload::trace::Format;

/// Columns of the narrowest terminal that help is laid out for.
const NARROW: usize = 60;

fn wane(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    command.args(arguments);
    command
}

/// Every command, as the words after `wane`.
fn commands() -> Vec<Vec<String>> {
    fn collect(command: &clap::Command, words: &[String], all: &mut Vec<Vec<String>>) {
        all.push(words.to_vec());
        for own in command.get_subcommands().filter(|own| own.get_name() != "help") {
            let words: Vec<String> = words.iter().cloned().chain([own.get_name().to_owned()]).collect();
            collect(own, &words, all);
        }
    }
    let mut all = Vec::new();
    collect(&wane_cli::command(), &[], &mut all);
    all
}

fn strings(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// A command's help text after the options.
fn behind_options(words: &[String]) -> String {
    let mut command = wane_cli::command();
    for word in words {
        command = command.find_subcommand(word).unwrap().clone();
    }
    command.get_after_help().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn no_help_breaks_a_command_or_a_sentence_on_a_narrow_terminal() {
    let mut examples = 0;
    for words in commands() {
        let output = wane(&strings(&words)).arg("--help").env("COLUMNS", NARROW.to_string()).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        for line in help.lines() {
            assert!(line.chars().count() <= NARROW, "{words:?}: a line is wider than the terminal: {line}");
        }
        let written = behind_options(&words);
        for line in written.lines().filter(|line| line.starts_with(' ')) {
            assert!(help.lines().any(|printed| printed == line), "{words:?}: is broken on a narrow terminal: {line}");
            examples += 1;
        }
        for (line, next) in written.lines().zip(written.lines().skip(1)) {
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            assert!(!is_prose(line) || !is_prose(next), "{words:?}: a paragraph has a line break inside: {line}");
        }
    }
    assert!(examples > 30, "{examples}");
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let all = commands();
    wane(&["man", "--out", "man1"]).current_dir(&folder).assert().success();
    let mut files: Vec<_> =
        std::fs::read_dir(folder.path().join("man1")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut names: Vec<String> =
        all.iter().map(|words| [&["wane".to_owned()][..], words].concat().join("-") + ".1").collect();
    names.sort();
    let found: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(found, names);
    for words in &all {
        let output = wane(&["man"]).args(words).output().unwrap();
        let page = String::from_utf8(output.stdout).unwrap();
        let file = folder.path().join("man1").join([&["wane".to_owned()][..], words].concat().join("-") + ".1");
        assert_eq!(std::fs::read_to_string(file).unwrap(), page, "{words:?}");
        assert!(page.starts_with(".ie") && page.contains("\n.TH wane") && page.contains("\n.SH SYNOPSIS"), "{page}");
        let has_examples = behind_options(words).contains("Examples:\n");
        assert_eq!(page.contains("\n.SH \"EXAMPLES\"\n.nf\n  "), has_examples, "{words:?}: {page}");
        assert_eq!(page.matches("\n.nf\n").count(), page.matches("\n.fi\n").count(), "{words:?}");
    }
    // Wane's own pages are replaced, other files are not.
    wane(&["man", "--out", "man1"]).current_dir(&folder).assert().success();
    std::fs::write(folder.path().join("man1/wane-run.1"), "mine").unwrap();
    let refused = wane(&["man", "--out", "man1"]).current_dir(&folder).assert().code(2).get_output().clone();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("wane did not write it"), "{refused:?}");
}

/// A script that completes as bash does: words in COMP_WORDS end at `=`, and the last is the one at the cursor.
const ASK: &str = r#"source <(wane completions bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_wane
printf '%s\n' "${COMPREPLY[@]}""#;

#[cfg(unix)]
#[test]
fn bash_is_offered_what_the_command_takes() {
    let bash = Process::new("bash").args(["-c", "exit $((BASH_VERSINFO[0] < 4))"]).status();
    if !bash.is_ok_and(|status| status.success()) {
        eprintln!("skipped: bash 4 or newer is missing");
        return;
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_wane")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.toml"), "").unwrap();
    // (words, all that is offered)
    let table: [(&[&str], &str); 13] = [
        (&["ru"], "run"),
        (&["run", "mi"], "mine.toml"),
        (&["run", "--preset", "ti"], "tiny"),
        (&["run", "--set", "ftl.gc.pol"], "ftl.gc.policy="),
        (&["run", "--set", "ftl.gc.policy", "=", "g"], "greedy"),
        (&["run", "--set", "=", "ftl.gc.policy", "=", "g"], "greedy"),
        (&["run", "--set", "until.end-of-life", "="], "true\nfalse"),
        (&["run", "--set", "until.end-of-life", "=", "true", "--pres"], "--preset"),
        (&["run", "--sweep", "ftl.gc", "=", "greedy,co"], "greedy,cost-benefit"),
        (&["trace", "info", "--format", "fi"], "fio-iolog-2\nfio-iolog-3\nfiu"),
        (&["trace", "synthesize", "rad-be"], "rad-be\nrad-be-traffic"),
        (&["policies", "pw"], "pwl\npwl-band"),
        (&["rber", "--chip", "tlc-72l-2"], "tlc-72l-2018"),
    ];
    for (words, want) in table {
        let mut asked = Process::new("bash");
        asked.args(["-c", ASK, "bash", "wane"]).args(words).env("PATH", &path).current_dir(&folder);
        let output = asked.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), want, "{words:?}: {output:?}");
    }
}

#[test]
fn every_shell_gets_a_script_that_asks_the_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = wane(&["completions", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("WANE_COMPLETE"), "{shell}: {script}");
    }
    wane(&["--version"]).env("WANE_COMPLETE", "tcsh").assert().code(2);
    wane(&["--version"])
        .env("COMPLETE", "bash")
        .assert()
        .success()
        .stdout(format!("wane {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn who_errs_in_a_name_or_names_nothing_is_told_what_there_is() {
    // (arguments, parts of the one sentence)
    let table: [(&[&str], &[&str]); 8] = [
        (&["run"], &["needs a scenario", "wane run scenario.toml", "wane run --preset tiny"]),
        (&["policies", "gredy"], &["no policy \"gredy\"", "did you mean \"greedy\"?"]),
        (&["presets", "tinny"], &["no preset \"tinny\"", "did you mean \"tiny\"?"]),
        (&["reproduce", "WL11"], &["no claim \"WL11\"", "did you mean \"WL1\"?"]),
        (&["reproduce", "RE10", "--full-size"], &["--full-size: none of these claims", "WL1, WL2, ", ", WL10"]),
        (
            &["trace", "info", "x", "--format", "blkpars"],
            &["no trace format \"blkpars\"", "did you mean \"blkparse\"?"],
        ),
        (&["trace", "synthesize", "rad-b"], &["no stand-in \"rad-b\"", "did you mean \"rad-be\"?"]),
        (&["man", "runn"], &["no command \"runn\"", "did you mean \"run\"?"]),
    ];
    for (arguments, parts) in table {
        let output = wane(arguments).output().unwrap();
        let sentence = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && sentence.lines().count() == 1, "{arguments:?}: {sentence}");
        for part in parts {
            assert!(sentence.contains(part), "{arguments:?}: {sentence}");
        }
    }
    let sentence = String::from_utf8(wane(&["policies", "gredy"]).output().unwrap().stderr).unwrap();
    assert_eq!(sentence.matches("fifo").count(), 1, "a name of two families is told once: {sentence}");
}

#[test]
fn help_and_book_list_every_format_of_traces() {
    let help = String::from_utf8(wane(&["trace", "info", "--help"]).output().unwrap().stdout).unwrap();
    let list = String::from_utf8(wane(&["trace", "formats"]).output().unwrap().stdout).unwrap();
    let book = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/read-your-own-traces.md"),
    );
    let book = book.unwrap();
    for format in Format::ALL {
        let (name, summary) = (format.name(), format.summary());
        assert!(help.contains(name), "{name}: {help}");
        assert!(list.lines().any(|line| line.starts_with(name) && line.ends_with(summary)), "{name}: {list}");
        let row = format!("| `{name}` | {} |", summary.replace('|', "\\|"));
        assert!(book.contains(&row), "read-your-own-traces.md lacks the row {row}");
    }
}
