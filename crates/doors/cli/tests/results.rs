//! Result folders from a user's view: who may write, what is reused, what is shown, and what is left behind.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::Path;
use std::process::{Command as Process, Stdio};

use assert_cmd::Command;

const TINY: &str = "[drive]\npreset = \"tiny\"\n[until]\ndrive-writes = 2\n";

/// Runs the command; returns the exit code, stdout and stderr.
fn run(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_wane")).args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn folder_with(file: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), text).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Starts a command, asks it to end once it is at work, and returns its exit code and what it printed.
fn stopped(arguments: &[&str], folder: &Path, signal: &str) -> (Option<i32>, String) {
    let mut process = Process::new(env!("CARGO_BIN_EXE_wane"));
    process.args(arguments).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process.spawn().unwrap();
    // Open until it has ended: the end of its input would be another reason to end.
    let _input = child.stdin.take();
    // However far it is by then, it ends in the same way.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(Process::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let told = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code(), told)
}

/// What is not whole says so, at every stage: the text, the results, their manifest, their page and the exit code.
#[test]
fn an_array_that_is_stopped_in_its_forecast_is_marked() {
    let text = "[drive]\nlogical-capacity = \"4 MiB\"\nspare-factor = \"15 %\"\npages-per-block = 16\nendurance = 30\n[until]\ndrive-writes = 1\n\
                [time]\ndrive-writes-per-day = 1\n[forecast]\narrays = 10_000_000\n[array]\nlayout = \"mirror\"\n[[array.member]]\ncount = 2\n";
    let folder = folder_with("f.toml", text);
    let (code, told) = stopped(&["run", "f.toml", "--out", "o", "--quiet"], folder.path(), "-INT");
    assert_eq!(code, Some(130), "{told}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join("o").join(name)).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
    let array = &summary["array"];
    assert!(array["interrupted"].is_string() && array["forecast"].is_null(), "{array}");
    assert!(read("manifest.json").contains("\"interrupted\": true"), "{}", read("manifest.json"));
    assert!(read("report.html").contains("Interrupted") && told.contains("Interrupted"), "{told}");
    // The next run of it is whole.
    let whole = ["run", "f.toml", "--out", "o", "--quiet", "--set", "forecast.arrays=100"];
    assert_eq!(run(&whole, folder.path()).0, 0);
    assert!(!read("manifest.json").contains("interrupted") && !read("summary.json").contains("interrupted"));
}

#[test]
fn whatever_is_stopped_ends_with_130() {
    let endless = ["--set", "drive.endurance=none", "--set", "until.drive-writes=1e9"];
    let table: [(&[&str], bool, &str); 3] = [
        (&["tradeoff", "s.toml", "--drive-writes", "1000000"], true, "-INT"),
        (&["run", "s.toml", "--quiet", "--out", "o"], true, "-TERM"),
        // It waits for its file.
        (&["array", "plan", "-"], false, "-INT"),
    ];
    let folder = folder_with("s.toml", TINY);
    for (arguments, runs, signal) in table {
        let asked = if runs { [arguments, &endless].concat() } else { arguments.to_vec() };
        let (code, told) = stopped(&asked, folder.path(), signal);
        assert_eq!(code, Some(130), "{arguments:?}: {told}");
    }
    let manifest = std::fs::read_to_string(folder.path().join("o/manifest.json")).unwrap();
    assert!(manifest.contains("\"interrupted\": true"), "{manifest}");
}

#[test]
fn a_second_process_is_refused_and_a_killed_one_leaves_the_folder_free() {
    let folder = folder_with("s.toml", TINY);
    let endless = ["run", "s.toml", "--set", "drive.endurance=none", "--set", "until.drive-writes=1e9", "--quiet"];
    let mut process = Process::new(env!("CARGO_BIN_EXE_wane"));
    process.args(endless).args(["--out", "o"]).current_dir(folder.path()).stdout(Stdio::null());
    let mut first = process.spawn().unwrap();
    let out = folder.path().join("o");
    let pause = std::time::Duration::from_millis(100);
    for _ in 0..600 {
        if out.join(".lock").exists() {
            break;
        }
        std::thread::sleep(pause);
    }
    // The file exists for a moment before it is locked; a process that comes in between may win.
    std::thread::sleep(2 * pause);
    for place in ["o", "o/inner"] {
        let (code, _, stderr) = run(&["run", "s.toml", "--out", place], folder.path());
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("is in use by another run of wane; wait until it ends, or give another"), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    assert_eq!(names(&out), [".lock"], "the refused left nothing");
    first.kill().unwrap();
    first.wait().unwrap();
    let (code, _, stderr) = run(&["run", "s.toml", "--out", "o"], folder.path());
    assert_eq!(code, 0, "{stderr}");
    assert!(names(&out).iter().all(|name| !name.starts_with('.')), "{:?}", names(&out));
}

#[test]
fn cells_of_another_trace_under_the_same_name_are_not_taken_over() {
    let scenario = "[drive]\npreset = \"tiny\"\n[workload]\ntrace = \"t.iolog\"\n[until]\nrequests = 3000\n";
    let folder = tempfile::tempdir().unwrap();
    for (name, offset) in [("one", 0), ("two", 4096)] {
        let place = folder.path().join(name);
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("s.toml"), scenario).unwrap();
        let trace = format!("fio version 2 iolog\nf add\nf open\nf write {offset} 4096\nf write 8192 4096\nf close\n");
        std::fs::write(place.join("t.iolog"), trace).unwrap();
    }
    let sweep = |scenario: &str| {
        let sweep = ["run", scenario, "--sweep", "ftl.gc-reserve=7,9", "--out", "o", "--force"];
        let (code, csv, stderr) = run(&sweep, folder.path());
        assert_eq!(code, 0, "{stderr}");
        (csv, stderr)
    };
    let there = "wane: 2 of 2 runs were there already\n";
    let (csv, told) = sweep("one/s.toml");
    assert_eq!(told, "");
    assert_eq!(sweep("one/s.toml"), (csv.clone(), there.to_owned()));
    assert_eq!(sweep("two/s.toml").1, "", "the trace is another");
    assert_eq!(sweep("two/s.toml").1, there);
    // Where the trace lies does not matter, only what it holds.
    std::fs::rename(folder.path().join("two"), folder.path().join("three")).unwrap();
    assert_eq!(sweep("three/s.toml").1, there);
    std::fs::copy(folder.path().join("one/t.iolog"), folder.path().join("three/t.iolog")).unwrap();
    assert_eq!(sweep("three/s.toml").1, "");
    assert_eq!(sweep("one/s.toml"), (csv, there.to_owned()));
}

#[test]
fn a_folder_shows_the_last_command_only() {
    let folder = folder_with("s.toml", TINY);
    let ok = |arguments: &[&str]| {
        let (code, stdout, stderr) = run(&[&["run", "s.toml", "--out", "o"], arguments].concat(), folder.path());
        assert_eq!(code, 0, "{stderr}");
        (stdout, stderr)
    };
    let title = || {
        let (code, _, stderr) = run(&["report", "o", "--out", "r.html"], folder.path());
        assert_eq!(code, 0, "{stderr}");
        let page = std::fs::read_to_string(folder.path().join("r.html")).unwrap();
        page.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next()).unwrap().to_owned()
    };
    ok(&[]);
    let single = title();
    ok(&["--sweep", "ftl.gc.policy=random,fifo"]);
    assert!(title().starts_with("Write amplification is least with gc "), "{}", title());
    let refused = |arguments: &[&str], runs: &str| {
        let (code, _, stderr) = run(&[&["run", "s.toml", "--out", "o"], arguments].concat(), folder.path());
        let told =
            format!("wane: 'o' holds {runs}, which would be lost; give another folder, or --force to replace them\n");
        assert_eq!((code, stderr), (2, told), "{arguments:?}");
    };
    refused(&[], "2 runs of a sweep");
    refused(&["--seeds", "3"], "2 runs of a sweep");
    refused(&["--sweep", "ftl.gc.policy=random,greedy"], "a run of a sweep");
    let (_, told) = ok(&["--seeds", "3", "--force"]);
    assert_eq!(told, "wane: removed results of an earlier command from o: 0, 1\n");
    refused(&["--seeds", "2"], "a run of several seeds of one scenario");
    let (_, told) = ok(&["--seeds", "2", "--set", "ftl.gc.policy=random", "--force"]);
    assert_eq!(told, "wane: removed a result of an earlier command from o: seed-3\n");
    assert_eq!(
        names(&folder.path().join("o")),
        ["manifest.json", "report.html", "seed-1", "seed-2", "statistics.json"]
    );
    ok(&["--force"]);
    assert_eq!(title(), single);
}

#[test]
fn a_run_that_is_refused_leaves_nothing() {
    let folder = folder_with("s.toml", TINY);
    std::fs::write(folder.path().join("bad.iolog"), "no trace at all").unwrap();
    let trace = ["run", "s.toml", "--set", "workload={ trace = 'bad.iolog' }", "--out", "a/b"];
    for more in [&[][..], &["--seeds", "2"], &["--sweep", "seed=1,2"]] {
        let (code, _, stderr) = run(&[&trace[..], more].concat(), folder.path());
        assert!(code == 2 && stderr.contains("bad.iolog"), "{stderr}");
        assert_eq!(names(folder.path()), ["bad.iolog", "s.toml"], "{more:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_limit_of_file_sizes_is_a_sentence_and_leaves_what_was_there() {
    let folder = folder_with("s.toml", TINY);
    assert_eq!(run(&["run", "s.toml", "--out", "o"], folder.path()).0, 0);
    let before = std::fs::read(folder.path().join("o/summary.json")).unwrap();
    // Blocks of 512 bytes or of 1024, by the shell: smaller than any report.
    let limited = |command: &str| {
        let script = format!("ulimit -f 20; exec '{}' {command}", env!("CARGO_BIN_EXE_wane"));
        let output = Process::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for out in ["o", "new/folder"] {
        let (code, stderr) = limited(&format!("run s.toml --out {out}"));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("it is larger than files may be here; raise the limit"), "{stderr}");
    }
    // (command, the file as the user named it)
    let table = [
        ("report o --out r.html", "r.html"),
        ("rber --chip tlc-72l-2018 --cycles 0..10000:5 --plot xp.html", "xp.html"),
        ("trace synthesize rad-be t.iolog --to iolog", "t.iolog"),
        ("trace synthesize rad-be --to iolog > /dev/full", "stdout"),
        ("trace convert t.wane t.iolog --to iolog", "t.iolog"),
    ];
    let trace = ["trace", "synthesize", "rad-be", "t.wane", "--requests", "20000"];
    assert_eq!(run(&trace, folder.path()).0, 0);
    for (command, file) in table {
        if file == "stdout" && !Path::new("/dev/full").exists() {
            wane_testkit::skipped("this system has no /dev/full");
            continue;
        }
        let (code, stderr) = limited(command);
        let want =
            if file == "stdout" { "the disk is full; free some space" } else { "it is larger than files may be" };
        assert_eq!(code, Some(2), "{command}: {stderr}");
        assert!(stderr.starts_with(&format!("wane: {file}: cannot be written: {want}")), "{command}: {stderr}");
        assert!(stderr.lines().count() == 1 && !stderr.contains(".partial"), "{command}: {stderr}");
    }
    std::fs::remove_file(folder.path().join("t.wane")).unwrap();
    assert_eq!(names(folder.path()), ["o", "s.toml"]);
    assert_eq!(std::fs::read(folder.path().join("o/summary.json")).unwrap(), before);
    assert!(names(&folder.path().join("o")).iter().all(|name| !name.starts_with('.')));
}

#[test]
fn what_wane_did_not_write_is_kept_without_force() {
    let folder = folder_with("s.toml", TINY);
    let path = |file: &str| folder.path().join(file);
    assert_eq!(run(&["run", "s.toml", "--out", "o", "--quiet"], folder.path()).0, 0);
    let rber = |cycles: u32| 1.48e-3 + 3.9e-10 * f64::from(cycles).powf(2.05);
    let rows: Vec<String> = (1..=20).map(|step| format!("0,{},{:.4e},0\n", 500 * step, rber(500 * step))).collect();
    std::fs::write(path("data.csv"), format!("reads,cycles,rber,days\n{}", rows.concat())).unwrap();
    // (arguments, the file that they write)
    let table: [(&[&str], &str); 6] = [
        (&["report", "o"], "report.html"),
        (&["rber", "--chip", "tlc-72l-2018", "--cycles", "0..5000:500", "--plot", "p.html"], "p.html"),
        (&["rber", "fit", "data.csv", "--out", "mine.toml"], "mine.toml"),
        (&["reproduce", "RE10", "--write", "page.md"], "page.md"),
        (&["trace", "synthesize", "rad-be", "t.wane", "--requests", "200"], "t.wane"),
        (&["trace", "convert", "t.wane", "t.iolog"], "t.iolog"),
    ];
    for (arguments, file) in table {
        std::fs::write(path(file), "mine").unwrap();
        let (code, _, stderr) = run(arguments, folder.path());
        let want =
            format!("wane: {file}: exists, and wane did not write it: give another name, or --force to overwrite it\n");
        assert_eq!((code, stderr), (2, want), "{arguments:?}");
        assert_eq!(std::fs::read(path(file)).unwrap(), b"mine");
        assert_eq!(run(&[arguments, &["--force"]].concat(), folder.path()).0, 0, "{arguments:?}");
        let written = std::fs::read(path(file)).unwrap();
        assert_ne!(written, b"mine");
        assert_eq!(run(arguments, folder.path()).0, 0, "{arguments:?}: its own file is no stranger's");
        assert_eq!(std::fs::read(path(file)).unwrap(), written, "{arguments:?}");
        std::fs::write(path(file), "").unwrap();
        assert_eq!(run(arguments, folder.path()).0, 0, "{arguments:?}: an empty file holds nothing");
    }
}

#[test]
fn the_extension_chooses_the_form_of_a_trace() {
    let folder = folder_with("s.toml", TINY);
    let synthesize = |target: &str, to: &[&str]| {
        let trace = ["trace", "synthesize", "rad-be", target, "--requests", "20"];
        let (code, _, stderr) = run(&[&trace[..], to].concat(), folder.path());
        (code, stderr, std::fs::read(folder.path().join(target)).unwrap_or_default())
    };
    for (target, to, starts) in [
        ("a.iolog", &[][..], "fio version"),
        ("b.wane", &[], "WANETRC1"),
        ("c", &[], "fio version"),
        ("d.bin", &["--to", "compact"], "WANETRC1"),
    ] {
        let (code, stderr, written) = synthesize(target, to);
        assert!(code == 0 && written.starts_with(starts.as_bytes()), "{target}: {stderr}");
    }
    for (target, to, want) in [
        (
            "e.iolog",
            &["--to", "compact"][..],
            "e.iolog: .iolog means --to iolog, found --to compact: change one of them",
        ),
        ("f.csv", &[], "f.csv: .csv is no form of a trace: use .iolog or .wane, or give --to"),
    ] {
        let (code, stderr, written) = synthesize(target, to);
        assert_eq!((code, stderr, written), (2, format!("wane: {want}\n"), Vec::new()));
    }
}

#[test]
fn what_cannot_be_kept_is_refused_before_the_work() {
    let folder = folder_with("s.toml", TINY);
    let axis = |key: &str| format!("{key}={}", (1..=100).map(|value| value.to_string()).collect::<Vec<_>>().join(","));
    let (a, b, c) = (axis("seed"), axis("ftl.gc-reserve"), axis("until.requests"));
    let long = "x".repeat(5000);
    // (arguments, what is told)
    let table: [(&[&str], &str); 9] = [
        (&["reproduce", "--write", &long], "xxx...: cannot be written: File name too long"),
        (&["rber", "--chip", "tlc-72l-2018", "--cycles", &format!("1..999999:0.1{long}")], "xxx..."),
        (&["trace", "info", "s.toml", "--format", &long], "no trace format \"xxx"),
        (&["run", "s.toml", "--sweep", &a, "--sweep", &b, "--sweep", &c], "100 x 100 x 100 = 1000000 cells; 10000 are"),
        (&["run", "s.toml", "--seed", "4611686018427387904", "--seeds", "2"], "4611686018427387904, the largest"),
        (&["run", "s.toml", "--seed", "9223372036854775808"], "expected a whole number from 0 to 4611686018427387904"),
        (
            &["reproduce", "--write", "nowhere/page.md"],
            "nowhere/page.md: cannot be written: No such file or directory (os error 2)\n",
        ),
        (&["run", "s.toml", "--set", "ftl.gc=\u{1b}[31m\n"], "\\u{1b}[31m"),
        (&["run", "s.toml", "--set", &format!("name.{long}={long}")], "xxx..."),
    ];
    for (arguments, want) in table {
        let (code, _, stderr) = run(arguments, folder.path());
        assert!(code == 2 && stderr.contains(want), "{arguments:?}: {code} {stderr}");
        assert!(stderr.lines().count() == 1 && !stderr.contains('\u{1b}') && stderr.len() < 1500, "{stderr}");
    }
    assert_eq!(names(folder.path()), ["s.toml"]);
    let last = ["run", "s.toml", "--seed", "4611686018427387903", "--seeds", "2", "--out", "o", "--quiet"];
    assert_eq!(run(&last, folder.path()).0, 0);
    let again = ["run", "o/seed-4611686018427387904/scenario.toml", "--dry-run"];
    assert_eq!(run(&again, folder.path()).0, 0, "what is written is read back");
}

#[test]
fn latencies_of_cells_that_lived_differently_are_compared_at_the_last_age_that_all_have() {
    let probed = "[drive]\npreset = \"tiny\"\nendurance = 20\n[time]\nscheduler = \"event\"\n[workload]\npattern = \"uniform\"\n\
                  [probe]\nat-drive-writes = [1, 4, 30]\nworkload = { pattern = \"uniform\", read-share = \"50 %\" }\n\
                  until = { requests = 2_000 }\n[until]\ndrive-writes = 40\n";
    let folder = folder_with("s.toml", probed);
    let sweep = ["run", "s.toml", "--sweep", "drive.endurance=20,1000", "--out", "o"];
    let (code, _, stderr) = run(&sweep, folder.path());
    assert_eq!(code, 0, "{stderr}");
    let csv = std::fs::read_to_string(folder.path().join("o/grid.csv")).unwrap();
    let told = "Latencies are compared after 4 drive writes, the last probe that all runs have; ";
    let missing = "\u{201c}endurance = 20\u{201d} ended before 30 drive writes.";
    assert!(stderr.contains(told) && stderr.contains(missing), "{stderr}");
    let column = |name: &str| -> Vec<f64> {
        let at = csv.lines().next().unwrap().split(',').position(|found| found == name).unwrap();
        csv.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    assert!(column("latency_of.from_drive_writes").iter().all(|age| (age - 4.0).abs() < 0.01), "{csv}");
    let summary = |cell: &str| -> serde_json::Value {
        let path = folder.path().join("o").join(cell).join("summary.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let last = summary("1")["latency"]["read"]["mean_ns"].as_f64().unwrap();
    assert_ne!(column("latency.read.mean_ns")[1], last, "the second cell's own last probe is a later one");
    let (code, table, stderr) = run(&["report", "o", "--out", "o/again.html"], folder.path());
    assert_eq!(code, 0, "{stderr}");
    assert!(table.contains(told), "{table}");
}

/// Policies that wear a drive at different paces are compared when it is as worn, not after as many drive writes: that would be new drives.
#[test]
fn cells_that_are_probed_by_wear_are_compared_at_a_wear() {
    let probed = "[drive]\npreset = \"tiny\"\nendurance = 40\n[time]\nscheduler = \"event\"\n[workload]\npattern = \"hot-cold\"\n\
                  [probe]\nat-wear = [0, \"30 %\", \"70 %\"]\nworkload = { pattern = \"uniform\", read-share = \"50 %\" }\n\
                  until = { requests = 1_000 }\n[until]\nend-of-life = true\n";
    let folder = folder_with("s.toml", probed);
    let (code, _, stderr) =
        run(&["run", "s.toml", "--sweep", "ftl.gc.policy=greedy,fifo", "--out", "o"], folder.path());
    assert_eq!(code, 0, "{stderr}");
    let csv = std::fs::read_to_string(folder.path().join("o/grid.csv")).unwrap();
    let column = |name: &str| -> Vec<f64> {
        let at = csv.lines().next().unwrap().split(',').position(|found| found == name).unwrap();
        csv.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    assert!(column("latency_of.life_used").iter().all(|used| (0.7..0.71).contains(used)), "{csv}");
    let written = column("latency_of.from_drive_writes");
    assert!(written[0] > 1.05 * written[1] && written[1] > 1.0, "{csv}");
    let page = std::fs::read_to_string(folder.path().join("o/report.html")).unwrap();
    assert!(page.contains("probe at 70\u{a0}% of the rated wear"), "the table of latencies names the age");
}

#[test]
fn a_sweep_of_seeds_has_a_line_a_cell_and_a_line_a_run() {
    let folder = folder_with("s.toml", TINY);
    let sweep = ["run", "s.toml", "--sweep", "drive.spare-factor=10..20:10 %", "--seeds", "3", "--out", "o", "--quiet"];
    let (code, printed, stderr) = run(&sweep, folder.path());
    assert_eq!(code, 0, "{stderr}");
    let file = |name: &str| std::fs::read_to_string(folder.path().join("o").join(name)).unwrap();
    let (grid, runs) = (file("grid.csv"), file("runs.csv"));
    assert_eq!(printed, grid);
    let first =
        |text: &str| text.lines().map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",")).collect::<Vec<_>>();
    assert_eq!(first(&grid), ["drive.spare-factor,seeds", "0.1,3", "0.2,3"]);
    assert_eq!(first(&runs)[..4], ["drive.spare-factor,seed", "0.1,1", "0.1,2", "0.1,3"]);
    let column = |text: &str, name: &str| -> Vec<f64> {
        let at = text.lines().next().unwrap().split(',').position(|found| found == name).unwrap();
        text.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    let mean = column(&runs, "write_amplification.total")[..3].iter().sum::<f64>() / 3.0;
    assert!((column(&grid, "write_amplification.total")[0] - mean).abs() < 1e-12, "{grid}");
    assert!(column(&grid, "write_amplification.total.low")[0] < mean, "{grid}");
}

#[test]
fn a_sweep_for_people_is_a_table_with_the_best_cell_first() {
    let folder = folder_with("s.toml", TINY);
    let sweep = ["run", "s.toml", "--sweep", "ftl.gc=random,greedy", "--quiet"];
    let table = |more: &[&str]| run(&[&sweep, more].concat(), folder.path());
    let (code, told, stderr) = table(&["--table", "--out", "o"]);
    assert_eq!(code, 0, "{stderr}");
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("gc ") && lines[0].contains("write amplification"), "{told}");
    assert!(lines[1].starts_with("greedy ") && lines[1].contains('*') && lines[2].starts_with("random "), "{told}");
    assert!(told.ends_with("* best\nreport: o/report.html\n"), "{told}");
    let (_, told, _) = table(&["--columns", "wear.erase_count.max,amplification", "--sort", "gc"]);
    assert!(told.starts_with("gc") && told.contains("wear.erase_count.max") && !told.contains("report:"), "{told}");
    // Refused before the work: nothing is claimed.
    for (arguments, want) in [
        (["--columns", "nosuch", "--out", "p"], "--columns: there is no measure \"nosuch\"; there are life, "),
        (["--sort", "nosuch", "--out", "p"], "--sort: \"nosuch\" is neither a swept key (ftl.gc) nor a measure"),
    ] {
        let (code, _, stderr) = table(&arguments);
        assert!(code == 2 && stderr.contains(want) && stderr.lines().count() == 1, "{stderr}");
        assert!(!folder.path().join("p").exists());
    }
}

#[test]
fn pictures_are_written_over_their_own_and_over_nothing_else() {
    let folder = folder_with("s.toml", TINY);
    let at = folder.path();
    assert_eq!(run(&["run", "s.toml", "--out", "o", "--quiet"], at).0, 0);
    let report = |format| run(&["report", "o", "--figures", "f", "--format", format], at);
    for format in ["svg", "pdf", "png"] {
        // The second time over the files of the first.
        for _ in 0..2 {
            let (code, told, stderr) = report(format);
            assert_eq!((code, stderr.as_str()), (0, ""), "{format}");
            assert!(told.starts_with("f: "), "{told}");
        }
        for end in [format!("-85mm.{format}"), format!("-178mm.{format}"), ".csv".to_owned()] {
            assert!(at.join(format!("f/wear{end}")).exists(), "wear{end}: {:?}", names(&at.join("f")));
        }
    }
    for strange in ["f/wear.csv", "f/wear-85mm.pdf"] {
        let before = std::fs::read(at.join(strange)).unwrap();
        std::fs::write(at.join(strange), "somebody's own\n").unwrap();
        std::fs::remove_file(at.join("f/capacity.csv")).unwrap();
        let (code, _, stderr) = report("pdf");
        assert_eq!(code, 2, "{strange}");
        assert!(stderr.contains(strange) && stderr.contains("wane did not write it"), "{stderr}");
        assert!(!at.join("f/capacity.csv").exists(), "nothing is written where one file may not be");
        std::fs::write(at.join(strange), before).unwrap();
        assert_eq!(report("pdf").0, 0);
    }
    // For two runs the same pictures have panels, with other columns: they replace those of one run.
    let second = ["run", "s.toml", "--set", "ftl.gc=fifo", "--out", "p", "--quiet"];
    assert_eq!(run(&second, at).0, 0);
    let (code, _, stderr) = run(&["report", "o", "p", "--figures", "f", "--format", "pdf"], at);
    assert_eq!(code, 0, "{stderr}");
    let (_, _, stderr) = run(&["report", "o", "p", "o"], at);
    assert!(stderr.contains("one result is given twice, of the same scenario and seed, and counts once"), "{stderr}");
    let (code, _, stderr) = run(&["report", "o", "--figures", "./o"], at);
    assert!(code == 2 && stderr.contains("--figures ./o: holds results"), "{stderr}");
    let (code, _, stderr) = run(&["report", "o", "--format", "svg"], at);
    assert!(code == 2 && stderr.contains("--figures"), "{stderr}");
}

/// A sweep of an array over its settings and over seeds: each cell has its drives, the grid the array's figures, and what was there is not run again.
#[test]
fn an_array_is_swept_and_has_seeds_as_a_drive_has() {
    let text = "[drive]\nlogical-capacity = \"2 MiB\"\nspare-factor = \"15 %\"\npages-per-block = 16\nendurance = 30\n\
                initial = { erase-count = 5, erase-count-spread = 0.5 }\n[until]\nend-of-life = true\n\
                [array]\nlayout = \"raid\"\njournal = \"none\"\n[[array.member]]\ncount = 4\n";
    let folder = folder_with("a.toml", text);
    let sweep = ["run", "a.toml", "--sweep", "array.code=xor,pq", "--seeds", "2", "--out", "g", "--quiet"];
    let (code, told, stderr) = run(&sweep, folder.path());
    assert_eq!((code, stderr.as_str()), (0, ""), "{told}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let grid = read("g/grid.csv");
    let head: Vec<&str> = grid.lines().next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|found| *found == name).unwrap();
    let cells: Vec<Vec<f64>> = grid
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|field| field.parse().unwrap_or(f64::NAN)).collect())
        .collect();
    // Two parities stand a death more and take more of each drive.
    let (first, writes) = (column("array.first_death_at"), column("end.at_drive_writes"));
    assert!(cells.len() == 2 && cells.iter().all(|cell| cell[first] > 0.0 && cell[first] <= cell[writes]), "{grid}");
    let capacity = column("capacity.logical_bytes_initial");
    assert!(cells[1][capacity] < cells[0][capacity], "{grid}");
    // Seeds are those of the members, too: they begin with other wear.
    let mean = |name: &str| {
        let drive: serde_json::Value = serde_json::from_str(&read(name)).unwrap();
        drive["wear"]["erase_count_mean_at_start"].as_f64().unwrap()
    };
    let runs: Vec<String> = read("g/manifest.json")
        .lines()
        .filter_map(|line| Some(line.split_once("\"folder\": \"")?.1.trim_end_matches("\",").to_owned()))
        .collect();
    assert_eq!(runs.len(), 4, "{runs:?}");
    let of = |run: &str, drive: u32| mean(&format!("g/{run}/drive-{drive}/summary.json"));
    assert!(of(&runs[0], 0) != of(&runs[1], 0) && of(&runs[0], 0) != of(&runs[0], 1));
    assert_eq!(of(&runs[0], 0), of(&runs[2], 0));
    // A cell that is gone is run again, and no other.
    std::fs::remove_dir_all(folder.path().join("g").join(&runs[1])).unwrap();
    let before = std::fs::metadata(folder.path().join("g").join(&runs[0]).join("summary.json")).unwrap();
    assert_eq!(run(&sweep, folder.path()).0, 0);
    let after = std::fs::metadata(folder.path().join("g").join(&runs[0]).join("summary.json")).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert_eq!(read("g/grid.csv"), grid);
    // Seeds alone.
    let (code, told, _) = run(&["run", "a.toml", "--seeds", "3", "--out", "s", "--quiet"], folder.path());
    assert!(code == 0 && told.contains("array.first_death_at"), "{told}");
    let (code, _, stderr) = run(&["run", "a.toml", "--film", "f.html"], folder.path());
    assert_eq!((code, stderr.lines().count()), (2, 1), "{stderr}");
    assert!(stderr.contains("--film: the scenario is an array; a film shows the blocks of one drive"), "{stderr}");
}
