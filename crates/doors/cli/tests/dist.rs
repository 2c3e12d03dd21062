//! What `make dist` packs for a release: the command, its man pages and its completions.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}

/// Packs a binary into a folder; returns the archive, or the sentence by which the script refused.
fn pack(binary: &Path, out: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new(root().join("tools/dist"));
    let output = command.arg("--pack").arg(binary).env("DIST", out).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8(output.stderr).unwrap());
    }
    Ok(std::fs::read_dir(out).unwrap().next().unwrap().unwrap().path())
}

/// A program of one line that is the command under test, whose own binary is large to pack.
fn stand_in(folder: &Path) -> PathBuf {
    let path = folder.join("wane");
    std::fs::write(&path, format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_wane"))).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn an_archive_has_all_that_an_installation_needs_and_is_the_same_each_time() {
    if !root().join(".git").exists() {
        return wane_testkit::skipped("a git checkout, whose commit dates the files");
    }
    let folder = tempfile::tempdir().unwrap();
    let binary = stand_in(folder.path());
    let archives = ["a", "b"].map(|out| pack(&binary, &folder.path().join(out)).unwrap());
    assert_eq!(std::fs::read(&archives[0]).unwrap(), std::fs::read(&archives[1]).unwrap());

    let name = archives[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(concat!("wane-", env!("CARGO_PKG_VERSION"), "-")), "{name}");
    let unpacked = folder.path().join("unpacked");
    std::fs::create_dir(&unpacked).unwrap();
    let done = Command::new("tar").arg("xf").arg(&archives[0]).arg("-C").arg(&unpacked).status().unwrap();
    assert!(done.success());
    let top = unpacked.join(name.strip_suffix(".tar.gz").unwrap());
    for (file, part) in [
        ("share/man/man1/wane.1", ".TH wane 1"),
        ("share/man/man1/wane-drive-create.1", ".TH"),
        ("share/bash-completion/completions/wane", "complete "),
        ("share/zsh/site-functions/_wane", "#compdef wane"),
        ("share/fish/vendor_completions.d/wane.fish", "complete "),
        ("share/doc/wane/LICENSE-MIT", "MIT License"),
        ("share/doc/wane/README.md", "# wane"),
    ] {
        let text = std::fs::read_to_string(top.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(part), "{file} lacks {part:?}:\n{text}");
    }
    let ran = Command::new(top.join("bin/wane")).arg("--version").output().unwrap();
    assert!(String::from_utf8(ran.stdout).unwrap().contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_cannot_be_packed_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let refused = pack(&folder.path().join("nothing"), folder.path()).unwrap_err();
    assert!(
        refused.starts_with("dist: --pack needs the path of a wane binary, found ") && refused.lines().count() == 1
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
