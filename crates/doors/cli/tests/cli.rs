//! The command from a user's view: what it prints, where, and how it exits.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::time::Duration;

use assert_cmd::Command;

const TINY: &str = "[drive]\npreset = \"tiny\"\n[until]\ndrive-writes = 2\n";

fn wane(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    command.args(arguments);
    command
}

/// Runs the command; returns the exit code, stdout and stderr.
fn run(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    let output = wane(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn folder_with(file: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), text).unwrap();
    folder
}

/// Traces and a folder of results, which are given in place of other files.
fn with_mistaken(folder: &Path) {
    std::fs::write(folder.join("a.trace"), b"0 0 0 8 0\n5 0 8 8 1\n").unwrap();
    std::fs::write(folder.join("a.lis"), b"0 8 0 0\n8 8 0 1\n").unwrap();
    std::fs::create_dir_all(folder.join("many/one")).unwrap();
    std::fs::write(folder.join("many/one/summary.json"), b"{}").unwrap();
}

#[test]
fn what_the_user_gave_wrong_is_one_sentence_and_exit_2() {
    let folder = folder_with("s.toml", TINY);
    std::fs::write(folder.path().join("typo.toml"), "[drive]\npreset = \"tiny\"\nspare-factr = 0.1\n").unwrap();
    std::fs::write(folder.path().join("latin1.toml"), b"name = \"\xe4\"").unwrap();
    with_mistaken(folder.path());
    // (arguments, a part of the sentence)
    const REPLAYED: &str = "workload={ trace = 'a.lis', arrival = 'trace', loop = false }";
    let table: [(&[&str], &str); 27] = [
        (&["run", "absent.toml"], "absent.toml: cannot be read"),
        (
            &["run", "latin1.toml"],
            "latin1.toml: cannot be read: it is no text in UTF-8, expected is a scenario in TOML",
        ),
        (&["run", "a.trace"], "a.trace: is a trace (mqsim), expected is a scenario in TOML, which names it"),
        (&["estimate", "a.trace"], "a.trace: is a trace (mqsim)"),
        (&["run", "s.toml", "--set", "workload.trace=nope.gz"], "workload.trace: "),
        (&["run", "s.toml", "--set", "workload.trace=nope.gz", "--dry-run"], "workload.trace: "),
        (&["run", "s.toml", "--set", REPLAYED, "--set", "time.scheduler=event"], "format lis have no time of arrival"),
        (
            &["run", "s.toml", "--set", REPLAYED, "--set", "time.scheduler=event", "--dry-run"],
            "format lis have no time of arrival",
        ),
        (&["run", "s.toml", "--out", "s.toml"], "it is a file, and results need a folder"),
        (&["report", "many"], "it has no summary.json; folders in it do: many/one"),
        (&["trace", "info", "s.toml"], "workload.format): wane-compact, "),
        (&["doctor", "s.toml"], "allowed are smartctl's JSON or text"),
        (&["run", "typo.toml"], "typo.toml, line 3: drive.spare-factr: unknown key; did you mean \"spare-factor\"?"),
        (&["run", "s.toml", "--set", "drive.endurance=much"], "--set drive.endurance=much: drive.endurance: found"),
        (&["run", "s.toml", "--set", "seed"], "expected KEY=VALUE"),
        (&["run", "s.toml", "--sweep", "seed="], "expected KEY=V1,V2"),
        (&["run", "s.toml", "--sweep", "ftl.gc=greedy,gredy"], "did you mean \"greedy\"?"),
        (&["run", "s.toml", "--sweep", "ftl.gc=greedy,gredy", "--dry-run"], "did you mean \"greedy\"?"),
        (&["run", "--preset", "tiny"], "the run would never end"),
        (
            &["run", "--preset", "tinny", "--set", "until.requests=1"],
            "--preset: found \"tinny\", allowed are ftlsim-256g",
        ),
        (&["run", "s.toml", "--out", "."], "which is no result of wane"),
        (&["run", "s.toml", "--out", "s.toml/x"], "cannot be written"),
        (
            &["run", "s.toml", "--set", "ftl={ redundancy = 'stripes', domain = 'die', gc-reserve = 2 }", "--dry-run"],
            "ftl.redundancy.data-pages: stripes of 15 data pages and one of parity need 16 dies; the drive has 1",
        ),
        (&["run", "s.toml", "--set", "drive.faults.factory-bad=99 %"], "drive.faults.factory-bad: "),
        (
            &[
                "run",
                "s.toml",
                "--set",
                "ftl={ redundancy = 'stripes', domain = 'drive' }",
                "--set",
                "drive.channels=16",
                "--set",
                "drive.blocks-per-plane=64",
            ],
            "ftl.domain: redundancy needs writing to go from die to die",
        ),
        (&["presets", "nope"], "no preset \"nope\""),
        (&["policies", "nope"], "no policy \"nope\""),
    ];
    for (arguments, want) in table {
        let (code, stdout, stderr) = run(arguments, folder.path());
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(want), "{arguments:?}: {stderr}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{arguments:?}: {stderr}");
        assert!(!stderr.contains('\u{1b}'), "colors only on a terminal: {stderr}");
    }
    let (_, _, stderr) = run(&["run", "s.toml", "--threads", "1"], folder.path());
    assert!(stderr.contains("unexpected argument '--threads'") && !stderr.contains("as a value"), "{stderr}");
    for arguments in [&["fly"][..], &["run", "--bogus"], &[], &["run", "s.toml", "--seeds", "0"]] {
        assert_eq!(run(arguments, folder.path()).0, 2, "{arguments:?}");
    }
}

#[test]
fn a_usage_error_quotes_200_characters_at_most() {
    let folder = folder_with("s.toml", TINY);
    let long = "x".repeat(5000);
    let [option, value] = [format!("--{long}"), format!("--seed={long}")];
    // (arguments, a part of what is told)
    let table: [(&[&str], &str); 10] = [
        (&[&long], "unrecognized subcommand 'xxx"),
        (&["run", &option], "unexpected argument '--xxx"),
        (&["run", &value], "invalid value 'xxx"),
        (&["run", "--seed", &long], "invalid value 'xxx"),
        (&["run", "--seeds", &long], "invalid value 'xxx"),
        (&["run", "s.toml", &long], "unexpected argument 'xxx"),
        (&["run", "--quiet", &format!("--quiet={long}")], "unexpected value 'xxx"),
        (&["completions", &long], "possible values: bash"),
        (&["rber", "--json", &long], "the subcommand 'xxx"),
        (&["fly\u{1b}[31m\n"], "unrecognized subcommand 'fly\\u{1b}[31m\\n'"),
    ];
    for (arguments, want) in table {
        let (code, stdout, stderr) = run(arguments, folder.path());
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(want) && stderr.contains("--help"), "want {want}: {stderr}");
        let quoted = stderr.matches('x').count();
        assert!(stderr.len() < 600 && quoted <= 210 && !stderr.contains('\u{1b}'), "{quoted}: {stderr}");
    }
    // A short argument keeps the advice of what it is like.
    for (arguments, like) in [(["run", "--quit"], "--quiet"), (["rum", "x"], "run")] {
        let (_, _, stderr) = run(&arguments, folder.path());
        assert!(stderr.contains("tip: ") && stderr.contains(&format!("'{like}'")), "{stderr}");
    }
}

#[test]
fn a_dry_run_prints_a_scenario_that_runs_as_it_is() {
    let folder = folder_with("s.toml", TINY);
    let (code, resolved, _) = run(&["run", "s.toml", "--dry-run", "--out", "out"], folder.path());
    assert_eq!(code, 0);
    for part in ["# scenario hash: ", "# geometry: 291 flash blocks", "# memory: about ", "# time: about "] {
        assert!(resolved.contains(part), "{part}: {resolved}");
    }
    assert!(!folder.path().join("out").exists(), "a dry run leaves nothing");
    std::fs::write(folder.path().join("resolved.toml"), &resolved).unwrap();
    // Its time is measured anew.
    let untimed = |plan: &str| -> Vec<String> {
        plan.lines().filter(|line| !line.starts_with("# time: ")).map(str::to_owned).collect()
    };
    assert_eq!(untimed(&run(&["run", "resolved.toml", "--dry-run"], folder.path()).1), untimed(&resolved));
    let sweep = ["run", "s.toml", "--dry-run", "--sweep", "until.drive-writes=1,2,3"];
    let (_, plan, _) = run(&sweep, folder.path());
    assert!(plan.contains("# cells of the sweep: 3, about "), "{plan}");
    let missing = ["run", "s.toml", "--dry-run", "--set", "workload={ trace = 'nowhere' }"];
    let (code, _, stderr) = run(&missing, folder.path());
    assert!(code == 2 && stderr.contains("nowhere: cannot be read"), "{code} {stderr}");
    let stdin = wane(&["run", "-", "--dry-run"]).write_stdin(TINY).output().unwrap();
    let tail = |text: &str| untimed(&text[text.find("seed = ").unwrap()..]);
    assert_eq!(tail(&String::from_utf8(stdin.stdout).unwrap()), tail(&resolved));
}

#[test]
fn an_estimate_has_years_with_a_pace_and_warns_before_its_numbers() {
    let folder = folder_with("s.toml", TINY);
    let lives = ["estimate", "s.toml", "--set", "until={ end-of-life = true }", "--set", "drive.endurance=500"];
    let slow = [&lives[..], &["--set", "time.drive-writes-per-day=0.1"]].concat();
    let (code, told, stderr) = run(&slow, folder.path());
    assert!(code == 0 && told.contains("years to end  "), "{stderr}{told}");
    // Below a year it is days.
    let paced = [&lives[..], &["--set", "time.drive-writes-per-day=2"]].concat();
    let (code, told, stderr) = run(&paced, folder.path());
    assert!(code == 0 && told.contains("days to end  "), "{stderr}{told}");
    let place = |name: &str| told.lines().position(|line| line.starts_with(name)).unwrap();
    assert!(place("warning") < place("write amplification"), "{told}");
    assert!(!run(&lives, folder.path()).1.contains("years to end"), "no pace, no years");
    let (_, json, _) = run(&[&paced[..], &["--json"]].concat(), folder.path());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let of = |table: &str, key: &str| json[table][key].as_f64().unwrap();
    assert!((of("life", "years") - of("host", "drive_writes") / 2.0 / 365.0).abs() < 1e-9, "{json}");
}

#[test]
fn a_dry_run_says_when_the_drive_is_going_to_die_and_which_probes_it_does_not_see() {
    let folder = folder_with("s.toml", TINY);
    let life = |arguments: &[&str]| {
        let all: Vec<&str> = ["run", "s.toml", "--dry-run"].into_iter().chain(arguments.iter().copied()).collect();
        let (code, stdout, stderr) = run(&all, folder.path());
        assert_eq!(code, 0, "{stderr}");
        stdout.lines().find_map(|line| line.strip_prefix("# life: ")).map(str::to_owned)
    };
    let dies = ["--set", "drive.endurance=50", "--set", "until.drive-writes=100"];
    let told = life(&dies).unwrap();
    assert!(told.contains(" drive writes, by wane estimate"), "{told}");
    assert_eq!(life(&["--set", "drive.endurance=50", "--set", "until.drive-writes=1"]), None, "it outlives the run");
    let probed = ["--set", "probe={ at-drive-writes = [0, 1, 90, 95] }", "--set", "time.scheduler=event"];
    let told = life(&[&dies[..], &probed].concat()).unwrap();
    assert!(told.ends_with("; the last 2 probes are not reached"), "{told}");
    // Nothing is moved of what is written in order: 50 erases of the flash, a seventh of which is spare.
    let ordered =
        life(&[&dies[..], &["--set", "workload.pattern=sequential", "--set", "until.drive-writes=1000"]].concat())
            .unwrap();
    let writes: f64 = ordered.strip_prefix("about ").unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(ordered.contains(" drive writes, by wane estimate") && (50.0..60.0).contains(&writes), "{ordered}");
    let paced = life(&[&dies[..], &["--set", "time.drive-writes-per-day=0.1"]].concat()).unwrap();
    assert!(paced.contains(" years, by wane estimate") || paced.contains(" days, by wane estimate"), "{paced}");
}

#[test]
fn a_dry_run_says_what_parity_takes_and_leaves() {
    let folder = folder_with("s.toml", "[drive]\npreset = \"mlc-8g\"\n[until]\ndrive-writes = 1\n");
    // 80 % of the flash with 16 pages for each 15.
    let table = [
        ("none", None),
        (
            "stripes",
            Some(
                "# parity: 1 page for 15 of data takes 6.25 % of what is programmed; full and freshly written, the drive has 14.67 %",
            ),
        ),
        ("selective", Some("# parity: 1 page for 15 of relocated data takes at most 6.25 %")),
    ];
    for (policy, want) in table {
        let set = format!("ftl.redundancy={policy}");
        let (code, plan, stderr) = run(&["run", "s.toml", "--dry-run", "--set", &set], folder.path());
        assert_eq!((code, stderr.as_str()), (0, ""), "{policy}");
        let told = plan.lines().find(|line| line.starts_with("# parity"));
        assert_eq!(told.is_some(), want.is_some(), "{policy}: {plan}");
        assert!(want.is_none_or(|want| told.is_some_and(|told| told.contains(want))), "{policy}: {told:?}");
    }
}

#[test]
fn what_is_predicted_of_a_life_is_told_apart_before_and_after() {
    let forward = "[drive]\npreset = \"tiny\"\n[fast-forward]\nfactor = 2\n[until]\ndrive-writes = 20\n";
    let folder = folder_with("s.toml", forward);
    let plan = |set: &str| {
        let (code, plan, stderr) = run(&["run", "s.toml", "--dry-run", "--set", set], folder.path());
        assert_eq!((code, stderr.as_str()), (0, ""), "{set}");
        plan.lines().find(|line| line.starts_with("# fast-forward: ")).unwrap_or_default().to_owned()
    };
    let line = "# fast-forward: about 55.0 % of the drive writes are simulated, 11.0 of 20.0, the others predicted by two-point";
    assert_eq!(plan("seed=1"), line);
    let line =
        "# fast-forward: between 5.0 % and all of the drive writes are simulated, as the write amplification allows, ";
    assert!(plan("fast-forward.adaptive=true").starts_with(line));
    // Each phase begins with two periods that are simulated.
    let phases = forward.replace("[until]\ndrive-writes = 20\n", &"[[phase]]\nuntil.drive-writes = 10\n".repeat(2));
    std::fs::write(folder.path().join("phases.toml"), phases).unwrap();
    let (_, told, _) = run(&["run", "phases.toml", "--dry-run"], folder.path());
    assert!(told.contains("# fast-forward: about 60.0 % of the drive writes are simulated, 12.0 of 20.0"), "{told}");
    let (_, told, _) = run(&["run", "s.toml", "--seeds", "2", "--quiet"], folder.path());
    for (leaf, mean) in [("simulated", "11"), ("predicted", "9")] {
        let name = format!("fast_forward.drive_writes_{leaf}");
        let line = told.lines().find(|line| line.starts_with(&name)).unwrap_or_else(|| panic!("{name}: {told}"));
        assert_eq!(line.split_whitespace().nth(1), Some(mean), "{line}");
    }
    let (_, told, _) = run(&["run", "s.toml", "--sweep", "ftl.gc=greedy,fifo", "--table", "--quiet"], folder.path());
    assert!(told.contains("of a life 11.00 drive writes were simulated and 9.00 predicted"), "{told}");
}

#[test]
fn a_drive_that_does_not_fit_in_memory_is_refused() {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = available.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    // The largest drive that can be addressed takes about 55 GB.
    if kib.is_none_or(|kib| kib > 50_000_000) {
        wane_testkit::skipped("this system has memory for any drive, or does not tell");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let huge = [
        "drive.page-size=16 MiB",
        "drive.pages-per-block=4096",
        "drive.logical-capacity=50000 TiB",
        "ftl.capacity=variant",
        "until.requests=1",
    ];
    let mut arguments = vec!["run"];
    huge.iter().for_each(|set| arguments.extend(["--set", set]));
    let (code, _, stderr) = run(&arguments, folder.path());
    assert!(code == 2 && stderr.contains("of memory, but"), "{code} {stderr}");
    // What would be needed is what a dry run is asked for.
    let (code, told, stderr) = run(&[&arguments[..], &["--dry-run"]].concat(), folder.path());
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(
        told.contains("# memory: about ") && told.contains("# warning: a run is refused: the run needs about"),
        "{told}"
    );
}

#[test]
fn a_run_prints_its_summary_and_leaves_its_results() {
    let folder = folder_with("s.toml", TINY);
    let (code, json, stderr) = run(&["run", "s.toml", "--json", "--out", "out"], folder.path());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let summary: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(summary["end"]["reason"], "drive-writes");
    assert_eq!(summary["host"]["drive_writes"], 2.0);
    assert_eq!(std::fs::read_to_string(folder.path().join("out/summary.json")).unwrap(), json);
    for file in ["scenario.toml", "timeline.parquet", "timeline.csv", "blocks.parquet", "report.html"] {
        assert!(folder.path().join("out").join(file).is_file(), "{file}");
    }
    let (code, again, _) = run(&["run", "out/scenario.toml", "--json"], folder.path());
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(
        (code, &again["flash"], &again["scenario"]["hash"]),
        (0, &summary["flash"], &summary["scenario"]["hash"])
    );
    let (_, words, _) = run(&["run", "s.toml", "--seed", "7"], folder.path());
    assert!(words.contains("drive-writes after 2.00 drive writes"), "{words}");
}

const TIMED: &str = "[drive]\npreset = \"tiny\"\nchip = \"tlc-72l-2018\"\nendurance = \"none\"\n[drive.ecc]\nstrength = 75\n\
                     [drive.initial]\nerase-count = 5000\n[time]\nscheduler = \"event\"\n[workload]\npattern = \"uniform\"\n\
                     read-share = \"50 %\"\narrival = { queue-depth = 4 }\n[until]\ndrive-writes = 2\n";
const PROBE: &str = "[probe]\nat-drive-writes = [0, 1]\nuntil = { requests = 500 }\n\
                     workload = { pattern = \"uniform\", read-share = \"50 %\", arrival = { poisson = \"0.5 ms\" } }\n";

#[test]
fn a_timed_run_tells_what_requests_took() {
    let folder = folder_with("t.toml", TIMED);
    std::fs::write(folder.path().join("p.toml"), format!("{TIMED}{PROBE}")).unwrap();
    let latency = [", p99.9 ", " IOPS, ", "time of a read       ", "errors               ", "re-reads"];
    // (scenario, parts of the summary, parts of the dry run)
    let table: [(&str, &[&str], &[&str]); 2] = [
        (
            "t.toml",
            &["reads, whole run     mean ", "  last "],
            &["# clock: events: first come, first served", "# flash: read ", "# requests: 4 at a time"],
        ),
        (
            "p.toml",
            &[
                "probes               2; these are figures of the last, after 1.00 drive writes",
                "reads                mean ",
            ],
            &[
                "# probes: after 0, 1 drive writes, 500 requests each",
                "# requests of probes: one every 500 us on average",
            ],
        ),
    ];
    // (arrival, what the dry run says of it)
    let arrivals = [
        ("['100 us', '10 us']", "one every 100 us on average (normal, sd 10 us)"),
        (
            "['100 us', '200 us']",
            "one every 139.559 us on average (normal, mean 100 us, sd 200 us, gaps below 0 count as 0)",
        ),
    ];
    for (normal, told) in arrivals {
        let arrival = format!("workload.arrival={{ normal = {normal} }}");
        let (_, plan, stderr) = run(&["run", "t.toml", "--dry-run", "--set", &arrival], folder.path());
        assert!(plan.contains(told), "{plan}{stderr}");
    }
    for (scenario, told, planned) in table {
        let (code, words, stderr) = run(&["run", scenario, "--out", "out"], folder.path());
        let other = "wane: replaced an earlier run of another scenario, t, in out\n";
        assert!(code == 0 && (stderr.is_empty() || stderr == other), "{scenario}: {stderr}");
        for part in latency.iter().chain(told) {
            assert!(words.contains(part), "{scenario}, {part}: {words}");
        }
        let (_, plan, _) = run(&["run", scenario, "--dry-run"], folder.path());
        for part in planned {
            assert!(plan.contains(part), "{scenario}, {part}: {plan}");
        }
        let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
        assert!(page.contains("Where the time of a read goes") && page.len() < 1_000_000, "{scenario}");
    }
    let (_, csv, _) = run(&["run", "t.toml", "--sweep", "time.scheduler=event,none"], folder.path());
    let cell = |line: &str, column: &str| {
        let at = csv.lines().next().unwrap().split(',').position(|name| name == column).unwrap();
        line.split(',').nth(at).unwrap().to_owned()
    };
    let lines: Vec<&str> = csv.lines().skip(1).collect();
    for column in ["latency.read.p999_ns", "latency.write.mean_ns", "throughput.read.iops"] {
        assert!(cell(lines[0], column).parse::<f64>().unwrap() > 0.0, "{column}");
        assert_eq!(cell(lines[1], column), "", "{column}");
    }
    let (_, words, _) = run(&["run", "s.toml", "--seeds", "2"], folder_with("s.toml", TIMED).path());
    assert!(words.contains("latency.read.p99_ns ") && words.contains("errors.retries "), "{words}");
    let (_, words, _) = run(&["run", "s.toml"], folder_with("s.toml", TINY).path());
    let (_, plan, _) = run(&["run", "s.toml", "--dry-run"], folder_with("s.toml", TINY).path());
    assert!(!words.contains("reads") && !words.contains("errors") && !plan.contains("# clock"), "{words}{plan}");
}

#[test]
fn a_sweep_is_a_grid_that_is_run_once() {
    let folder = folder_with("s.toml", "[drive]\npreset = \"tiny\"\n");
    let sweep = ["run", "s.toml", "--sweep", "until.drive-writes=1,2", "--sweep", "ftl.gc=greedy,fifo", "--out", "out"];
    let (code, csv, stderr) = run(&sweep, folder.path());
    assert_eq!(code, 0, "{stderr}");
    let cells: Vec<&str> = csv.lines().map(|line| line.split(",host").next().unwrap()).collect();
    assert_eq!(cells[0], "until.drive-writes,ftl.gc");
    let starts: Vec<String> =
        csv.lines().skip(1).map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(starts, ["1,greedy", "1,fifo", "2,greedy", "2,fifo"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("out/grid.csv")).unwrap(), csv);
    let (code, again, stderr) = run(&sweep, folder.path());
    assert_eq!((code, again), (0, csv));
    assert_eq!(stderr, "wane: 4 of 4 runs were there already\n");
}

/// A name that sets a terminal's title, and one that a spreadsheet computes.
#[test]
fn names_reach_neither_a_terminal_nor_a_spreadsheet() {
    let text =
        format!("name = \"a\\u001b]0;owned\\u0007\\u202e\"\n{}", TINY.replace("drive-writes = 2", "requests = 10"));
    let folder = folder_with("s.toml", &text);
    let steers = |text: &str| text.chars().any(|letter| wane_units::steers(letter) && letter != '\n');
    for arguments in [&["run", "s.toml", "--json"][..], &["run", "s.toml"], &["run", "s.toml", "--dry-run"]] {
        let (code, stdout, stderr) = run(arguments, folder.path());
        assert_eq!(code, 0, "{stderr}");
        assert!(!steers(&stdout) && stdout.contains("owned\\u0007"), "{arguments:?}: {stdout:?}");
        if arguments.contains(&"--json") {
            let summary: serde_json::Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(summary["scenario"]["name"], "a\u{1b}]0;owned\u{7}\u{202e}", "it reads as it was written");
        }
    }
    // The error of a file is drawn on a terminal alone; its sentence never steers.
    std::fs::write(folder.path().join("bad.toml"), "name = 'a'\nnam\u{202e} = 1\n").unwrap();
    let (code, _, stderr) = run(&["run", "bad.toml"], folder.path());
    assert!(code == 2 && !steers(&stderr), "{stderr:?}");
    let sweep = ["run", "s.toml", "--sweep", "name==1+1,b", "--csv"];
    let (code, stdout, stderr) = run(&sweep, folder.path());
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.lines().nth(1).is_some_and(|line| line.starts_with("'=1+1,")), "{stdout}");
}

#[test]
fn several_seeds_give_means_and_reports_are_for_everyone() {
    let folder = folder_with("s.toml", TINY);
    let (code, words, _) = run(&["run", "s.toml", "--seeds", "3", "--out", "out"], folder.path());
    assert!(code == 0 && words.starts_with("3 seeds: mean and 95 % interval"), "{words}");
    // One seed has figures, but no interval.
    let (code, one, _) = run(&["run", "s.toml", "--seeds", "1", "--seed", "9"], folder.path());
    let rows = |words: &str| words.lines().skip(1).map(|line| line[..50].to_owned()).collect::<Vec<_>>();
    assert!(code == 0 && one.starts_with("1 seed: its figures") && !one.contains(".."), "{one}");
    assert!(rows(&one).len() > 5 && rows(&one) == rows(&words), "{one}{words}");
    // (arguments, the line on seeds of a dry run)
    let table: [(&[&str], &str); 4] = [
        (&["--seeds", "1"], "# seeds: 1, seed 1, about "),
        (&["--seeds", "3", "--seed", "9"], "# seeds: 3, from 9 to 11; this is the first, about "),
        (
            &["--seeds", "2", "--sweep", "until.drive-writes=1,2,3"],
            "# seeds: 2, from 1 to 2; this is the first\n# cells of the sweep: 6, ",
        ),
        (&[], "# time: "),
    ];
    for (more, told) in table {
        let (code, plan, _) = run(&[&["run", "s.toml", "--dry-run"][..], more].concat(), folder.path());
        assert!(code == 0 && plan.contains(told), "{more:?}: {plan}");
        assert_eq!(plan.contains("# seeds: "), !more.is_empty(), "{more:?}: {plan}");
    }
    let (code, _, stderr) = run(&["report", "out", "--out", "r.html"], folder.path());
    assert_eq!(code, 0, "{stderr}");
    let (page, own) = (folder.path().join("r.html"), folder.path().join("s.toml"));
    assert!(std::fs::metadata(&page).unwrap().len() < 1_000_000);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&page), mode(&own), "a report is as readable as any file");
        assert_eq!(run(&["report", "out", "--out", "/dev/null"], folder.path()).0, 0);
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file(), "what is no plain file stays what it is");
    }
    let (code, _, stderr) = run(&["report", "absent"], folder.path());
    assert!(code == 2 && stderr.contains("absent"), "{stderr}");
}

#[test]
fn a_run_reads_columns_of_numbers_as_their_info_does() {
    let lines: String = (0..60).map(|n| format!("{n}000 0 {} 8 {}\n", n * 776 % 4096, u32::from(n % 10 > 0))).collect();
    let folder = folder_with("n.txt", &lines);
    let (code, told, _) = run(&["trace", "info", "n.txt"], folder.path());
    assert!(
        code == 0 && told.contains("54 reads, 6 writes") && told.contains("1 is a read (--assume 1=write"),
        "{told}"
    );
    for (assume, key, writes) in [("1=read", "read", 6), ("1=write", "write", 54)] {
        let (_, told, _) = run(&["trace", "info", "n.txt", "--json", "--assume", assume], folder.path());
        let info: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(info["writes"], writes, "{info}");
        let scenario = format!(
            "drive.preset = \"tiny\"\nworkload = {{ trace = \"n.txt\", loop = false, assume-one = \"{key}\" }}\nuntil.end-of-life = true\n"
        );
        std::fs::write(folder.path().join("s.toml"), scenario).unwrap();
        let (_, told, stderr) = run(&["run", "s.toml", "--json"], folder.path());
        let summary: serde_json::Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{stderr}"));
        assert_eq!(summary["host"]["pages_written"], writes, "{summary}");
        assert!(summary["warnings"].to_string().contains(&format!("1 is a {key}, as was assumed")), "{summary}");
    }
    for wrong in ["1=trim", "read", "1=read,1=write", "read,4KiB,5", "0=read", ""] {
        let (code, _, stderr) = run(&["trace", "info", "n.txt", "--assume", wrong], folder.path());
        assert!(code == 2 && stderr.contains("or what a 1 stands for, such as 1=write"), "{wrong}: {stderr}");
    }
}

#[test]
fn a_stand_in_becomes_a_trace_that_is_measured_converted_and_run() {
    let scenario =
        "[drive]\npreset = \"tiny\"\n[workload]\ntrace = \"b.trace\"\nloop = false\n[until]\nend-of-life = true\n";
    let folder = folder_with("s.toml", scenario);
    let ok = |arguments: &[&str]| {
        let (code, stdout, stderr) = run(arguments, folder.path());
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
        stdout
    };
    ok(&["trace", "synthesize", "rad-be", "a.iolog", "--capacity", "64 MiB", "--requests", "500"]);
    ok(&["trace", "convert", "a.iolog", "b.trace", "--to", "compact"]);
    let mut figures = Vec::new();
    for file in ["a.iolog", "b.trace"] {
        let info: serde_json::Value = serde_json::from_str(&ok(&["trace", "info", file, "--json"])).unwrap();
        assert_eq!((&info["requests"], &info["writes"]), (&500.into(), &500.into()), "{info}");
        figures.push(info);
    }
    assert_eq!(figures[0]["footprint_bytes"], figures[1]["footprint_bytes"]);
    assert_eq!(figures[0]["bytes_written"], figures[1]["bytes_written"]);
    ok(&["trace", "synthesize", "rad-be-traffic", "c.iolog", "--requests", "500"]);
    let info: serde_json::Value = serde_json::from_str(&ok(&["trace", "info", "c.iolog", "--json"])).unwrap();
    let reads = info["reads"].as_u64().unwrap();
    assert!((280..370).contains(&reads), "65 % of the requests read: {info}");
    let elsewhere = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    let (code, json, stderr) = run(&["run", path.to_str().unwrap(), "--json"], elsewhere.path());
    assert!(code == 0 && json.contains("\"reason\": \"trace-end\""), "{json}{stderr}");
    std::fs::write(folder.path().join("b.trace"), "no trace at all").unwrap();
    let (code, _, stderr) = run(&["run", "s.toml"], folder.path());
    assert!(code == 2 && stderr.contains("b.trace"), "{code} {stderr}");
}

#[test]
fn help_teaches_and_lists_have_everything() {
    let folder = tempfile::tempdir().unwrap();
    // (arguments, a part of what is printed)
    let table: [(&[&str], &str); 18] = [
        (&["rber", "--list"], "tlc-72l-cvss"),
        (&["rber", "fit", "--help"], "Bayesian"),
        (&["--help"], "Exit codes:\n  0    done"),
        (&["--version"], "wane 0."),
        (&["run", "--help"], "--sweep ftl.gc.d=1,2,4,8"),
        (&["presets"], "ftlsim-256g"),
        (&["presets", "tiny"], "[drive]"),
        (&["policies"], "dual-pool"),
        (&["policies", "pwl"], "wear-leveling = { policy = \"pwl\""),
        (&["policies", "--pages"], "## `cost-benefit` of `ftl.gc`: "),
        (&["policies", "fifo"], "## `fifo` of `ftl.gc`: "),
        (&["policies", "fifo"], "```\n\n## `fifo` of `ftl.allocation`: "),
        (&["manual"], "| `spare-factor` |"),
        (&["manual", "--schema"], "https://json-schema.org/draft/2020-12/schema"),
        (&["manual", "--help"], "#:schema"),
        (&["man"], ".TH wane 1"),
        (&["completions", "bash"], "-F _wane wane"),
        (&["completions", "zsh"], "#compdef wane"),
    ];
    for (arguments, want) in table {
        let (code, stdout, stderr) = run(arguments, folder.path());
        assert!(code == 0 && stdout.contains(want), "{arguments:?}: {stdout}{stderr}");
    }
}

#[test]
fn every_policy_page_ends_with_a_scenario_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (_, pages, _) = run(&["policies", "--pages"], folder.path());
    let scenarios: Vec<&str> = pages.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(scenarios.len() >= 14, "{}", scenarios.len());
    for scenario in scenarios {
        std::fs::write(folder.path().join("p.toml"), scenario).unwrap();
        let (code, _, stderr) = run(&["run", "p.toml", "--dry-run"], folder.path());
        assert_eq!(code, 0, "{scenario}: {stderr}");
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    for arguments in [&["manual"][..], &["policies", "--pages"], &["presets"], &["completions", "bash"], &["man"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut process = Process::new(env!("CARGO_BIN_EXE_wane"));
        let output = process.args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{arguments:?}");
    }
}

/// The second signal ends the process at once, so exactly one is sent, as soon as the run has shown that it is up.
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_marked_results_and_exits_with_130() {
    if !Path::new("/proc/self/status").exists() {
        wane_testkit::skipped("this system has no /proc to see whether the handler is there");
        return;
    }
    let folder =
        folder_with("s.toml", "[drive]\npreset = \"tiny\"\nendurance = \"none\"\n[until]\ndrive-writes = 1e9\n");
    let mut process = Process::new(env!("CARGO_BIN_EXE_wane"));
    let arguments = ["run", "s.toml", "--quiet", "--json", "--out", "out"];
    let child = process.args(arguments).current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_its_handler(&child);
    assert_eq!(interrupt(child), Some(130));
    assert_interrupted(folder.path());
}

/// Waits until a process catches SIGINT.
fn wait_for_its_handler(child: &Child) {
    let caught = |status: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
        u64::from_str_radix(line.trim(), 16).unwrap_or(0) & 0b10 != 0
    };
    let status = format!("/proc/{}/status", child.id());
    while !caught(&std::fs::read_to_string(&status).unwrap()) {
        std::thread::yield_now();
    }
}

/// Sends one SIGINT; returns the exit code, or kills a process that is still alive after a time that suffices on slow machines.
fn interrupt(mut child: Child) -> Option<i32> {
    Process::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    for _ in 0..200 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

fn assert_interrupted(folder: &Path) {
    let summary = std::fs::read_to_string(folder.join("out/summary.json")).unwrap();
    assert!(summary.contains("\"reason\": \"interrupted\""), "{summary}");
}

#[test]
fn a_run_that_waits_for_its_trace_is_interrupted_as_any_other() {
    let folder = folder_with("s.toml", TINY);
    let piped = Process::new("mkfifo").arg("pipe").current_dir(folder.path()).status();
    if !Path::new("/proc/self/status").exists() || !piped.is_ok_and(|status| status.success()) {
        wane_testkit::skipped("this system has no /proc to see whether the handler is there, or no mkfifo");
        return;
    }
    for trace in ["-", "pipe"] {
        for looped in [false, true] {
            let set = format!("workload={{ trace = '{trace}', loop = {looped} }}");
            let mut process = Process::new(env!("CARGO_BIN_EXE_wane"));
            process.args(["run", "s.toml", "--quiet", "--out", "out", "--set", &set]).current_dir(folder.path());
            let mut child = process.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            // Held open, so that the trace does not end.
            let stdin = child.stdin.take();
            wait_for_its_handler(&child);
            // The run now opens its trace, or is about to.
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(interrupt(child), Some(130), "{set}");
            assert_interrupted(folder.path());
            drop(stdin);
        }
        let set = format!("workload.trace={trace}");
        assert_eq!(
            run(&["run", "s.toml", "--dry-run", "--set", &set], folder.path()).0,
            0,
            "{set}: nobody is waited for"
        );
    }
}

#[test]
fn a_claim_that_differs_from_the_page_is_told_by_the_exit_code() {
    let folder = folder_with("s.toml", TINY);
    std::fs::create_dir(folder.path().join("docs")).unwrap();
    let (code, _, stderr) = run(&["reproduce", "RE10", "--write", "docs/claims.md"], folder.path());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let page = std::fs::read_to_string(folder.path().join("docs/claims.md")).unwrap();
    for arguments in [&["reproduce", "RE10", "--check"][..], &["reproduce", "--check", "RE10"]] {
        assert_eq!(run(arguments, folder.path()).0, 0, "{arguments:?}");
    }
    std::fs::write(folder.path().join("other.md"), page.replace("| agrees, arithmetic |", "| differs |")).unwrap();
    let (code, _, stderr) = run(&["reproduce", "RE10", "--check", "other.md"], folder.path());
    assert_eq!(
        (code, stderr.as_str()),
        (1, "wane: RE10: the page says \"differs |\", this run \"agrees, arithmetic |\"\n")
    );
    std::fs::write(folder.path().join("stale.md"), page.replace("0.602 after", "0.603 after")).unwrap();
    let (code, _, stderr) = run(&["reproduce", "RE10", "--check", "stale.md"], folder.path());
    assert!(code == 1 && stderr.starts_with("wane: RE10: the page says \"0.603 after"), "{stderr}");
    let (code, _, stderr) = run(&["reproduce", "RE10", "--check", "nowhere.md"], folder.path());
    assert!(code == 2 && stderr.starts_with("wane: nowhere.md: cannot be read"), "{stderr}");
}

#[test]
fn traces_that_no_claim_can_take_are_refused_before_anything_runs() {
    let folder = folder_with("s.toml", TINY);
    std::fs::write(folder.path().join("notes.txt"), "").unwrap();
    let of = |ids: &[&str], traces: &str| {
        let (code, _, stderr) = run(&[&["reproduce", "--quiet"], ids, &["--traces", traces]].concat(), folder.path());
        assert!(code == 2 && stderr.lines().count() == 1, "{stderr}");
        stderr
    };
    assert!(of(&["CV7"], "nowhere").contains("--traces: 'nowhere' cannot be read"));
    assert!(
        of(&["CV7"], ".")
            .contains("holds no file that is named as a stand-in, such as dap-ds.csv.gz; the names are ycsb-a")
    );
    std::fs::write(folder.path().join("dtrs.csv"), "").unwrap();
    assert!(of(&["RE10", "CV4"], ".").contains("--traces: none of these claims has a stand-in for dtrs"));
    std::fs::write(folder.path().join("DTRS.trace.gz"), "").unwrap();
    assert!(of(&["CV7"], ".").contains("are both named as dtrs; one file is allowed"));
}

#[test]
fn a_page_of_claims_is_renewed_in_parts() {
    let folder = folder_with("s.toml", TINY);
    let read = || std::fs::read_to_string(folder.path().join("page.md")).unwrap();
    let write = |page: &str| std::fs::write(folder.path().join("page.md"), page).unwrap();
    let renew = |more: &[&str]| run(&[&["reproduce", "RE10", "--write", "page.md"][..], more].concat(), folder.path());
    assert_eq!(renew(&[]).0, 0);
    let alone = read();
    assert!(alone.contains("Claims: 1. Of these 1 agree, 0 of them fragile; 0 differ, 0 of them fragile."), "{alone}");
    let (head, section) = alone.split_once("\n## RE10").unwrap();
    let (head, row) = head.split_at(head.rfind("\n| RE10").unwrap() + 1);
    let head = head.replace(
        "Claims: 1. Of these 1 agree, 0 of them fragile; 0 differ, 0 of them fragile.",
        "Claims: 3. Of these 1 agree, 0 of them fragile; 2 differ, 1 of them fragile.",
    );
    let whole = format!(
        "{head}| WL9 | B | x | y | 1 of 2 | differs, fragile (seed) |\n{row}| DC4 | B | x | y | z | differs |\n\n## WL9\n\n- run: it\n\n\
         | a |\n|---|\n| 1 |\n\n## RE10{section}\n## DC4\n\n- note: that\n"
    );
    // The counts of the header, the row and the section of RE10 are old; the other claims stay as they are.
    let stale = whole.replace("0.602 after", "0.603 after").replace("| 6.3291e-2 |", "| 6.3292e-2 |");
    write(&stale.replace("Claims: 3. Of these 1", "Claims: 3. Of these 2"));
    assert_eq!(renew(&[]), (0, renew(&[]).1, String::new()));
    assert_eq!(read(), whole);
    let lost = "give another name, or --force to write these claims alone\n";
    for (page, why) in [
        (whole.replace("WL9", "WL99"), "holds WL99, which is no claim of this program"),
        (whole.replace("## WL9\n", ""), "lacks the section of WL9"),
        (whole.replace("| WL9 |", "| WL10 |"), "lacks the section of WL10"),
        (whole.replace("| DC4 |", "DC4 |"), "lacks the row of DC4"),
    ] {
        write(&page);
        let (code, _, stderr) = renew(&[]);
        assert_eq!((code, stderr), (2, format!("wane: page.md: {why}: {lost}")));
        assert_eq!(read(), page, "a refused page stays");
    }
    assert_eq!(renew(&["--force"]).0, 0);
    assert_eq!(read(), alone);
}

#[test]
fn traces_that_cannot_end_or_be_read_twice_are_refused() {
    let reads = "fio version 2 iolog\nf add\nf open\nf read 0 4096\nf read 8192 4096\nf close\n";
    let folder = folder_with("reads.iolog", reads);
    let trace = ["run", "--preset", "tiny", "--set", "workload.trace=reads.iolog", "--set"];
    let (code, _, stderr) = run(&[&trace[..], &["until.drive-writes=1"]].concat(), folder.path());
    let want = "wane: the run would never end, because the traces of workload hold no write; give until.requests, or \
                loop = false\n";
    assert_eq!((code, stderr.as_str()), (2, want));
    assert_eq!(run(&[&trace[..], &["until.requests=10"]].concat(), folder.path()).0, 0);
    let stdin =
        ["run", "--preset", "tiny", "--set", "workload.trace=-", "--set", "until.drive-writes=1", "--seeds", "2"];
    let (code, _, stderr) = run(&stdin, folder.path());
    assert!(code == 2 && stderr.contains("stdin, which can be read only once"), "{stderr}");
    let twice = ["run", "--preset", "tiny", "--sweep", "seed=1,2", "--sweep", "seed=3,4"];
    let (code, _, stderr) = run(&twice, folder.path());
    assert!(code == 2 && stderr.starts_with("wane: --sweep seed: the key is swept twice"), "{stderr}");
}

#[test]
fn a_result_with_a_trace_is_repeated_from_its_scenario() {
    let folder = folder_with(
        "writes.iolog",
        "fio version 2 iolog\nf add\nf open\nf write 0 8192\nf sync 0 0\nf write nonsense\n",
    );
    let set =
        ["run", "--preset", "tiny", "--set", "workload.trace=writes.iolog", "--set", "workload.skip-bad-lines=true"];
    let more = ["--set", "until.drive-writes=0.01", "--out", "out/first", "--json"];
    let (code, first, stderr) = run(&[&set[..], &more].concat(), folder.path());
    assert_eq!(code, 0, "{stderr}");
    let (code, again, stderr) = run(&["run", "out/first/scenario.toml", "--json"], folder.path());
    assert_eq!(code, 0, "{stderr}");
    let [first, again]: [serde_json::Value; 2] = [first, again].map(|text| serde_json::from_str(&text).unwrap());
    assert_eq!(first["flash"], again["flash"]);
    assert!(first["warnings"][0].as_str().unwrap().contains("1 lines that do not parse were skipped"), "{first}");
}

/// A run whose drive dies ends with 0, since that is a normal result; the help says so.
#[test]
fn a_run_whose_drive_dies_ends_with_0_as_the_help_says() {
    let folder = folder_with("s.toml", TINY);
    let dies = ["run", "s.toml", "--set", "drive.endurance=2", "--set", "until.drive-writes=100", "--quiet"];
    let (code, stdout, stderr) = run(&dies, folder.path());
    assert!(stdout.contains("end-of-life") && code == 0, "{code}: {stdout}{stderr}");
    let (_, help, _) = run(&["--help"], folder.path());
    assert!(help.contains("a run whose drive dies ends with 0"), "{help}");
}
