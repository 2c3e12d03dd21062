//! Tests of result folders: what is replaced, by which command, and what a process leaves when it dies at any moment.

use super::claim::Folder;
use super::disk::faults::{killed_after, refused_after};
use super::*;
use crate::tables::{timeline_columns, to_csv};
use crate::test_runs::{test_run, timed};
use crate::{ArrayDrive, ArrayFigures, BlockAges, DriveState, EndReason, Trigger};

const VERSION: &str = "0.1.0";

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

fn single(path: &Path, run: &RunResult, render: Option<Render<'_>>) {
    Folder::claim(path).unwrap().write(run, render).unwrap();
}

fn page(run: &RunResult) -> String {
    format!("<p>{}", run.summary.run.seed)
}

/// Makes the result of an array of N drives.
fn array(seed: u64, drives: u64) -> RunResult {
    let told = |place: u64| ArrayDrive {
        run: format!("drive-{place}"),
        place: place as u32,
        state: DriveState::Online,
        came_at: 0.0,
        ended_at: None,
        life_used: None,
        erase_count_mean: 1.5,
        bytes_written: 4096,
        latency: None,
        waited_for: None,
    };
    let mut run = RunResult { blocks: Vec::new(), ..test_run(seed) };
    run.drives = (0..drives).map(|place| test_run(10 * seed + place)).collect();
    let drives = (0..drives).map(told).collect();
    run.summary.array = Some(ArrayFigures { layout: "mirror".to_owned(), drives, ..ArrayFigures::default() });
    run
}

/// Members of these seeds, in folders `0`, `1` and so on.
fn members(seeds: &[u64], inputs: &Inputs) -> Vec<Member> {
    let member = |(number, seed): (usize, &u64)| Member {
        folder: number.to_string(),
        scenario: test_run(*seed).summary.scenario.hash,
        inputs: inputs.clone(),
    };
    seeds.iter().enumerate().map(member).collect()
}

/// Runs the missing members of a sweep over these seeds. Returns how many were there, and what was removed.
fn sweep(path: &Path, seeds: &[u64], inputs: &Inputs) -> Result<(usize, Vec<String>), ResultError> {
    let mut folder = Folder::claim(path)?;
    folder.begin(MadeBy::Sweep, members(seeds, inputs))?;
    let mut there = 0;
    for (number, seed) in seeds.iter().enumerate() {
        match folder.found(number, VERSION) {
            Some(run) => {
                assert_eq!(run, test_run(*seed), "what is taken over is what would have been run");
                there += 1;
            }
            None => folder.write_member(number, &test_run(*seed), &page)?,
        }
    }
    let removed = folder.finish(&[(GRID, format!("{seeds:?}").into_bytes()), (REPORT, b"<p>".to_vec())])?;
    Ok((there, removed))
}

fn seeds_of(runs: &[RunResult]) -> Vec<u64> {
    runs.iter().map(|run| run.summary.run.seed).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("deep/run");
    for run in [timed(test_run(1), 3), test_run(2)] {
        single(&path, &run, Some(&page));
        assert_eq!(read_run(&path).unwrap(), run);
        assert_eq!(read_runs(&path).unwrap(), [run]);
    }
    assert_eq!(names(&path), [BLOCKS, MANIFEST, REPORT, SCENARIO, SUMMARY, TIMELINE_CSV, TIMELINE]);
}

/// An array lies beside its drives, each of which is a result of its own.
#[test]
fn an_array_is_read_back_with_its_drives() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("array");
    for run in [array(1, 3), array(2, 2)] {
        single(&path, &run, Some(&page));
        assert_eq!(read_runs(&path).unwrap(), std::slice::from_ref(&run));
        for (name, drive) in run.named_drives() {
            assert_eq!(read_run(&path.join(name)).unwrap(), *drive);
            assert_eq!(fs::read_to_string(path.join(name).join(REPORT)).unwrap(), page(drive));
            let stranger = Folder::claim(&path.join(name)).map(drop).unwrap_err().to_string();
            assert!(stranger.contains("belongs to an array in '"), "{stranger}");
        }
    }
    assert_eq!(
        names(&path),
        [BLOCKS, "drive-0", "drive-1", MANIFEST, REPORT, SCENARIO, SUMMARY, TIMELINE_CSV, TIMELINE]
    );
    fs::remove_dir_all(path.join("drive-1")).unwrap();
    assert!(read_run(&path).unwrap_err().to_string().contains("drive-1"), "nothing is left out in silence");
    single(&path, &test_run(3), None);
    assert!(!path.join("drive-0").exists(), "drives go with their array");
    // What the user stopped in its forecast is found by nobody as whole.
    let mut cut = array(4, 2);
    cut.summary.array.as_mut().unwrap().interrupted = Some(crate::Unfinished::Forecast);
    let named = Member { folder: "0".to_owned(), ..members(&[4], &Inputs::Nothing).remove(0) };
    let mut folder = Folder::claim(&place.path().join("grid")).unwrap();
    folder.begin(MadeBy::Sweep, vec![named]).unwrap();
    folder.write_member(0, &cut, &page).unwrap();
    assert!(folder.found(0, VERSION).is_none());
    folder.write_member(0, &array(4, 3), &page).unwrap();
    assert_eq!(folder.found(0, VERSION), Some(array(4, 3)));
    folder.write_member(0, &array(4, 1), &page).unwrap();
    assert!(!place.path().join("grid/0/drive-2").exists());
}

/// Cells of a sweep that are arrays keep their drives when a value more moves them.
#[test]
fn arrays_of_a_sweep_move_with_their_drives() {
    let place = tempfile::tempdir().unwrap();
    let sweep = |seeds: &[u64]| {
        let mut folder = Folder::claim(place.path()).unwrap();
        folder.begin(MadeBy::Sweep, members(seeds, &Inputs::Nothing)).unwrap();
        let mut there = 0;
        for (number, seed) in seeds.iter().enumerate() {
            match folder.found(number, VERSION) {
                Some(run) => {
                    assert_eq!(run, array(*seed, 2));
                    there += 1;
                }
                None => folder.write_member(number, &array(*seed, 2), &page).unwrap(),
            }
        }
        folder.finish(&[]).unwrap();
        there
    };
    assert_eq!(sweep(&[1, 2]), 0);
    assert_eq!(sweep(&[3, 1, 2]), 2);
    let all = [array(3, 2), array(1, 2), array(2, 2)];
    assert_eq!(read_runs(place.path()).unwrap(), all);
    // A full disk is told as one, also in the folder of a drive, and nothing is lost.
    let mut refusals = 0;
    for change in 1..40 {
        let mut folder = Folder::claim(place.path()).unwrap();
        let more = members(&[4, 3, 1, 2], &Inputs::Nothing);
        let (begun, refused) = refused_after(change, io::ErrorKind::StorageFull, || folder.begin(MadeBy::Sweep, more));
        if refused {
            refusals += 1;
            let message = begun.unwrap_err().to_string();
            assert!(message.starts_with("the disk is full: '") && !message.contains(".next-"), "{change}: {message}");
        }
        drop(folder);
        assert_eq!(read_runs(place.path()).unwrap(), all, "{change}");
    }
    assert!(refusals > 20, "{refusals}");
}

/// The results of arrays of earlier versions are read as they are.
#[test]
fn an_array_of_an_earlier_version_is_read() {
    let place = tempfile::tempdir().unwrap();
    let run = array(1, 2);
    let figures = run.summary.array.clone().unwrap();
    let mut former = serde_json::to_value(&figures).unwrap();
    for (key, value) in [
        ("scenario", serde_json::to_value(&run.summary.scenario).unwrap()),
        ("capacity_bytes", 4096.into()),
        ("capacity_bytes_at_end", 1024.into()),
        ("bytes_written", 8192.into()),
        ("end", serde_json::to_value(&run.summary.end).unwrap()),
        ("run", serde_json::json!({ "seed": 7, "wall_seconds": 1.5, "version": "0.0.1" })),
    ] {
        former[key] = value;
    }
    let mut folder = Folder::claim(place.path()).unwrap();
    let member = |name: &str, seed| Member {
        folder: name.to_owned(),
        scenario: test_run(seed).summary.scenario.hash,
        inputs: Inputs::Nothing,
    };
    folder.begin(MadeBy::Array, vec![member("drive-0", 10), member("drive-1", 11)]).unwrap();
    (0..2).for_each(|number| folder.write_member(number, &run.drives[number], &page).unwrap());
    folder.finish(&[(ARRAY, former.to_string().into_bytes()), (SCENARIO, b"seed = 1\n".to_vec())]).unwrap();
    drop(folder);
    let read = read_runs(place.path()).unwrap().remove(0);
    assert_eq!(
        (read.drives, &read.summary.scenario, &read.summary.end),
        (run.drives, &run.summary.scenario, &run.summary.end)
    );
    assert_eq!((read.summary.array, read.summary.host.bytes_written), (Some(figures), 8192));
    assert_eq!(
        (read.summary.capacity.logical_bytes_initial, read.summary.capacity.logical_bytes_exported),
        (4096, 1024)
    );
    assert_eq!((read.summary.run.seed, read.scenario_toml.as_str()), (7, "seed = 1\n"));
}

#[test]
fn a_run_goes_from_process_to_process_as_it_is() {
    assert_eq!(RunResult::of_files(&array(1, 2).to_files().unwrap()).unwrap(), array(1, 2));
    for run in [timed(test_run(1), 3), test_run(2)] {
        let files = run.to_files().unwrap();
        assert_eq!(RunResult::of_files(&files).unwrap(), run);
        for (number, (name, _)) in files.iter().enumerate() {
            let without = [&files[..number], &files[number + 1..]].concat();
            let sentence = RunResult::of_files(&without).map(|_| ()).map_err(|error| error.to_string());
            let is_optional = name == LATENCY;
            assert_eq!(sentence.is_ok(), is_optional, "{name}: {sentence:?}");
        }
    }
}

#[test]
fn a_folder_of_another_command_is_refused_by_what_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("grid");
    let refused = |origin: MadeBy, seeds: &[u64]| {
        let found = Folder::claim(&path).unwrap().refuse_others(origin, &members(seeds, &Inputs::Nothing));
        found.map_err(|error| error.to_string())
    };
    assert_eq!(refused(MadeBy::Sweep, &[1, 2]), Ok(()), "what is new is anybody's");
    sweep(&path, &[1, 2], &Inputs::Nothing).unwrap();
    assert_eq!(refused(MadeBy::Sweep, &[1, 2]), Ok(()));
    for (origin, seeds, told) in [
        (MadeBy::Sweep, [1, 3], "holds results of other scenarios"),
        (MadeBy::Seeds, [1, 2], "holds results of a sweep;"),
    ] {
        let sentence = refused(origin, &seeds).unwrap_err();
        assert!(sentence.contains(told), "{sentence}");
    }
    assert_eq!(seeds_of(&read_runs(&path).unwrap()), [1, 2], "and what it holds stays");
}

#[test]
fn a_value_more_in_a_sweep_moves_those_behind_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("grid");
    sweep(&path, &[1, 2], &Inputs::Nothing).unwrap();
    for (seeds, loss) in [(&[1, 3, 2][..], 0), (&[2, 1], 0), (&[2, 3], 1), (&[3], 2)] {
        let found = Folder::claim(&path).unwrap().refuse_loss(&members(seeds, &Inputs::Nothing));
        let count = match found {
            Err(ResultError::WouldBeLost { count, .. }) => count,
            found => {
                found.unwrap();
                0
            }
        };
        assert_eq!(count, loss, "{seeds:?}");
    }
    assert_eq!(sweep(&path, &[4, 1, 3, 2], &Inputs::Nothing).unwrap().0, 2);
    assert_eq!(seeds_of(&read_runs(&path).unwrap()), [4, 1, 3, 2]);
    assert_eq!(sweep(&path, &[2, 3], &Inputs::Nothing).unwrap(), (2, vec!["2".to_owned(), "3".to_owned()]));
    assert_eq!(seeds_of(&read_runs(&path).unwrap()), [2, 3]);
    let stranger = Folder::claim(&path.join("1")).map(|_| ()).unwrap_err().to_string();
    assert!(stranger.contains("belongs to a sweep in '"), "{stranger}");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for place in [&first, &second] {
        single(place.path(), &test_run(1), None);
    }
    for name in names(first.path()) {
        let bytes = |place: &tempfile::TempDir| fs::read(place.path().join(&name)).unwrap();
        assert_eq!(bytes(&first), bytes(&second), "{name}");
    }
}

#[test]
fn csv_has_a_line_a_row_and_nothing_for_null() {
    let run = test_run(1);
    let csv = to_csv(&timeline_columns(&run.timeline, run.summary.host.page_bytes));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + run.timeline.len());
    assert!(lines[0].starts_with("drive_writes,phase,host_pages_written,"), "{}", lines[0]);
    assert!(lines[1].starts_with("0,0,0,") && lines[1].contains(",,"), "{}", lines[1]);
    let fields: Vec<usize> = lines.iter().map(|line| line.split(',').count()).collect();
    assert!(fields.iter().all(|count| *count == 48), "{fields:?}");
}

#[test]
fn what_a_timeline_tells_of_block_ages_comes_back() {
    let place = tempfile::tempdir().unwrap();
    let mut run = test_run(1);
    let triggers = [None, Some(Trigger::LowPool), Some(Trigger::Host)];
    for (number, row) in run.timeline.iter_mut().enumerate() {
        let known = number % 3 > 0;
        row.states = Some(BlockAges {
            young: known.then_some(number as u32),
            middle_aged: known.then_some(7),
            effective_over_provisioning: known.then_some(0.25),
            degraded: triggers[number % 3],
        });
    }
    single(place.path(), &run, None);
    assert_eq!(read_run(place.path()).unwrap().timeline, run.timeline);
    let csv = to_csv(&timeline_columns(&run.timeline, run.summary.host.page_bytes));
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .ends_with("blocks_young,blocks_middle_aged,effective_over_provisioning,degraded_by")
    );
    assert!(csv.lines().nth(2).unwrap().ends_with(",1,7,0.25,low-pool"), "{csv}");
}

#[test]
fn a_report_of_the_run_before_does_not_outlive_it() {
    let place = tempfile::tempdir().unwrap();
    single(place.path(), &test_run(1), Some(&page));
    single(place.path(), &test_run(2), None);
    assert!(!place.path().join(REPORT).exists());
}

#[test]
fn only_results_are_written_over() {
    let summary = r#"{"scenario":{"name":"old","hash":"00"},"run":{"version":"0"}}"#;
    let table: [(&str, Option<&str>); 12] = [
        ("summary.json", None),
        ("scenario.toml", Some("scenario.toml")),
        ("report.html", Some("report.html")),
        ("grid.csv", Some("grid.csv")),
        ("cell-1/scenario.toml", Some("cell-1/scenario.toml")),
        (".summary.json.partial", None),
        (".next-1-0/summary.json", None),
        ("cell-1/seed-1/summary.json", None),
        ("0/drive-1-new-2/summary.json", None),
        ("thesis.tex", Some("thesis.tex")),
        ("cell-1/thesis.tex", Some("cell-1/thesis.tex")),
        ("a/b/c/summary.json", Some("a/b/c")),
    ];
    for (file, refused) in table {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, summary).unwrap();
        match (Folder::claim(place.path()), refused) {
            (Ok(_), None) => {}
            (Err(ResultError::NotAResultFolder { found, .. }), Some(expected)) => assert_eq!(found, expected),
            (other, _) => panic!("{file}: {other:?}"),
        }
        assert_eq!(path.exists(), !file.starts_with('.'), "{file}: only what was half written goes");
        assert!(!place.path().join(".lock").exists(), "{file}");
    }
}

#[test]
fn a_file_that_only_bears_the_name_of_a_result_stays() {
    for text in ["hi", "{}", "{\"scenario\":{},\"run\":{}}"] {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("summary.json"), text).unwrap();
        assert!(Folder::claim(place.path()).is_err(), "{text}");
        assert_eq!(fs::read_to_string(place.path().join("summary.json")).unwrap(), text);
    }
}

#[test]
fn a_manifest_of_another_program_is_refused() {
    for text in ["", "{}", "{\"name\":\"app\"}", "{\"format\":\"wane-results-9\",\"command\":\"run\",\"files\":{}}"] {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(MANIFEST), text).unwrap();
        let message = Folder::claim(place.path()).unwrap_err().to_string();
        assert!(message.contains("manifest.json' cannot be read"), "{message}");
        assert_eq!(names(place.path()), [MANIFEST], "nothing else is left");
    }
    let place = tempfile::tempdir().unwrap();
    single(place.path(), &test_run(1), None);
    let text = fs::read_to_string(place.path().join(MANIFEST)).unwrap();
    for staged in ["../..", "/", ".next-1/../..", "thesis"] {
        let text = text.replacen('{', &format!("{{\"staged\":\"{staged}\","), 1);
        fs::write(place.path().join(MANIFEST), text).unwrap();
        let message = Folder::claim(place.path()).unwrap_err().to_string();
        assert!(message.contains("which is no name"), "{message}");
    }
}

#[test]
fn a_place_that_is_no_folder_is_refused_with_a_sentence() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let message = Folder::claim(&file.join("out")).unwrap_err().to_string();
    assert!(message.contains("file/out") && message.contains("give a folder"), "{message}");
}

#[test]
fn a_folder_given_up_leaves_the_disk_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    drop(Folder::claim(&place.path().join("a/b")).unwrap());
    assert_eq!(names(place.path()), [""; 0]);
    let mut begun = Folder::claim(&place.path().join("a/b")).unwrap();
    begun.begin(MadeBy::Sweep, members(&[1, 2], &Inputs::Nothing)).unwrap();
    begun.stage(TRACE_COPY, b"x").unwrap();
    begun.traces().remove();
    assert_eq!(names(place.path()), [""; 0], "as a signal's handler does");
    drop(begun);
    let path = place.path().join("kept");
    sweep(&path, &[1, 2], &Inputs::Nothing).unwrap();
    let before = names(&path);
    let mut other = Folder::claim(&path).unwrap();
    other.begin(MadeBy::Sweep, members(&[7], &Inputs::Nothing)).unwrap();
    other.write_member(0, &test_run(7), &page).unwrap();
    assert_eq!(seeds_of(&read_runs(&path).unwrap()), [1, 2], "the old count until the new are whole");
    drop(other);
    assert_eq!((names(&path), seeds_of(&read_runs(&path).unwrap())), (before, vec![1, 2]));
}

#[test]
fn a_folder_has_one_writer_and_so_have_its_members() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("o");
    let in_use = |path: &Path| matches!(Folder::claim(path), Err(ResultError::InUse { .. }));
    let first = Folder::claim(&path).unwrap();
    assert!(in_use(&path) && in_use(&path.join("0")));
    drop(first);
    let inner = Folder::claim(&path.join("0")).unwrap();
    assert!(in_use(&path) && !in_use(&place.path().join("p")));
    drop(inner);
    assert!(!in_use(&path) && !path.exists());
}

#[test]
fn a_sweep_goes_on_where_it_was_and_takes_over_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let (none, one, two) = (Inputs::Nothing, Inputs::Hash("1".into()), Inputs::Hash("2".into()));
    let there = |seeds: &[u64], inputs: &Inputs| sweep(place.path(), seeds, inputs).unwrap();
    assert_eq!(there(&[1, 2], &none), (0, vec![]));
    assert_eq!(there(&[1, 2], &none), (2, vec![]));
    assert_eq!(there(&[1, 2, 3], &none), (2, vec![]));
    assert_eq!(there(&[1, 2, 3], &one).0, 0, "other traces");
    assert_eq!(there(&[1, 2, 3], &one).0, 3);
    assert_eq!(there(&[1, 2, 3], &two).0, 0, "again others");
    assert_eq!(there(&[1], &Inputs::Unknown), (0, vec!["1".to_owned(), "2".to_owned()]));
    assert_eq!(there(&[1], &Inputs::Unknown).0, 0, "nobody knows");
    assert_eq!(names(place.path()), ["0", GRID, MANIFEST, REPORT]);
    for (seed, version, interrupted, found) in
        [(5, VERSION, false, true), (5, "0.0.0", false, false), (6, VERSION, false, false), (5, VERSION, true, false)]
    {
        let mut folder = Folder::claim(&place.path().join("p")).unwrap();
        folder.begin(MadeBy::Seeds, members(&[seed], &none)).unwrap();
        let mut run = test_run(5);
        if interrupted {
            run.summary.end.reason = EndReason::Interrupted;
        }
        folder.write_member(0, &run, &page).unwrap();
        assert_eq!(folder.found(0, version).is_some(), found, "{seed} {version} {interrupted}");
    }
}

#[test]
fn a_folder_shows_the_last_command_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path();
    single(path, &test_run(9), Some(&page));
    sweep(path, &[1, 2, 3, 4], &Inputs::Nothing).unwrap();
    assert_eq!(seeds_of(&read_runs(path).unwrap()), [1, 2, 3, 4]);
    assert!(!path.join(SUMMARY).exists(), "the single run is gone");
    assert_eq!(sweep(path, &[5, 6], &Inputs::Nothing).unwrap(), (0, vec!["2".to_owned(), "3".to_owned()]));
    assert_eq!(seeds_of(&read_runs(path).unwrap()), [5, 6]);
    let removed = Folder::claim(path).unwrap().write(&test_run(9), None).unwrap();
    assert_eq!(removed, ["0", "1"]);
    assert_eq!(seeds_of(&read_runs(path).unwrap()), [9]);
    assert!(!path.join(GRID).exists() && !path.join("0").exists());
}

#[test]
fn an_interrupted_sweep_shows_what_came_and_not_what_lay_in_its_way() {
    let place = tempfile::tempdir().unwrap();
    sweep(place.path(), &[1, 2, 3], &Inputs::Nothing).unwrap();
    let mut folder = Folder::claim(place.path()).unwrap();
    folder.begin(MadeBy::Sweep, members(&[4, 2, 6], &Inputs::Nothing)).unwrap();
    folder.write_member(0, &test_run(4), &page).unwrap();
    assert_eq!(folder.finish(&[(GRID, b"g".to_vec())]).unwrap(), ["2"]);
    drop(folder);
    assert_eq!(seeds_of(&read_runs(place.path()).unwrap()), [4, 2]);
    assert_eq!(sweep(place.path(), &[4, 2, 6], &Inputs::Nothing).unwrap(), (2, vec![]));
}

#[test]
fn a_member_that_another_command_wrote_is_told() {
    let place = tempfile::tempdir().unwrap();
    sweep(place.path(), &[1, 2], &Inputs::Nothing).unwrap();
    // Done by hand, since wane refuses it.
    let other = tempfile::tempdir().unwrap();
    single(&other.path().join("1"), &test_run(3), None);
    fs::remove_dir_all(place.path().join("1")).unwrap();
    fs::rename(other.path().join("1"), place.path().join("1")).unwrap();
    let message = read_runs(place.path()).unwrap_err().to_string();
    assert!(message.contains("/1' holds another run than the one that"), "{message}");
    assert_eq!(sweep(place.path(), &[1, 2], &Inputs::Nothing).unwrap().0, 1);
    assert_eq!(seeds_of(&read_runs(place.path()).unwrap()), [1, 2]);
}

#[test]
fn folders_of_earlier_versions_open_where_they_hold_one_run() {
    let place = tempfile::tempdir().unwrap();
    single(place.path(), &test_run(1), None);
    fs::remove_file(place.path().join(MANIFEST)).unwrap();
    assert_eq!(read_runs(place.path()).unwrap(), [test_run(1)]);
    fs::write(place.path().join(GRID), "x").unwrap();
    let message = read_runs(place.path()).unwrap_err().to_string();
    assert!(message.contains("no manifest.json that says which belong together"), "{message}");
    single(place.path(), &test_run(2), None);
    assert_eq!(read_runs(place.path()).unwrap(), [test_run(2)]);
}

#[test]
fn what_is_no_result_is_refused_with_the_file_at_fault() {
    let message = |place: &Path, name: &str| {
        let message = read_run(place).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
    };
    message(tempfile::tempdir().unwrap().path(), "no finished result");
    for (name, content) in [(TIMELINE, "PAR1"), (BLOCKS, ""), (SUMMARY, "{}"), (SUMMARY, "{\"host\":1}")] {
        for kept in [true, false] {
            let place = tempfile::tempdir().unwrap();
            single(place.path(), &test_run(1), None);
            fs::write(place.path().join(name), content).unwrap();
            if kept {
                message(place.path(), "was changed after the run had written it");
            } else {
                fs::remove_file(place.path().join(MANIFEST)).unwrap();
            }
            message(place.path(), name);
        }
    }
    let place = tempfile::tempdir().unwrap();
    single(place.path(), &test_run(1), None);
    fs::copy(place.path().join(BLOCKS), place.path().join(TIMELINE)).unwrap();
    fs::remove_file(place.path().join(MANIFEST)).unwrap();
    message(place.path(), "no column 'drive_writes'");
}

#[test]
fn a_full_disk_and_a_limit_are_named_and_change_nothing() {
    let sentences = [
        (io::ErrorKind::StorageFull, "the disk is full: '"),
        (io::ErrorKind::FileTooLarge, "it is larger than files may be here"),
    ];
    for (kind, sentence) in sentences {
        // Both errors come from writing, which the first changes after creating the staging folder do.
        for change in 1..9 {
            let place = tempfile::tempdir().unwrap();
            single(place.path(), &test_run(1), None);
            let before = names(place.path());
            let mut folder = Folder::claim(place.path()).unwrap();
            let (written, refused) = refused_after(change, kind, || folder.write(&test_run(2), Some(&page)));
            assert!(refused);
            let message = written.unwrap_err().to_string();
            assert!(message.contains(sentence) && !message.contains(".next-"), "{change}: {message}");
            drop(folder);
            assert_eq!(read_run(place.path()).unwrap(), test_run(1), "{change}");
            assert_eq!(names(place.path()), before, "{change}");
        }
    }
}

/// Does `work` in a copy of what `prepare` leaves, killed after the first change, the second, and so on to the last.
/// `check` looks at what a reader finds: after each kill, after the next claim was also killed at any of its changes while it
/// finished the move, and after a claim that was not killed.
fn killed_at_every_change(prepare: &dyn Fn(&Path), work: &dyn Fn(&Path), check: &dyn Fn(&str, &Path)) {
    for change in 0.. {
        let mut claims = 0;
        loop {
            let place = tempfile::tempdir().unwrap();
            prepare(place.path());
            let ((), killed) = killed_after(change, || work(place.path()));
            check(&format!("killed after {change} changes"), place.path());
            let moving = Manifest::read(place.path()).unwrap().is_some_and(|manifest| manifest.staged.is_some());
            let (claimed, again) = killed_after(claims, || Folder::claim(place.path()).map(drop));
            assert!(again || claimed.is_ok(), "{change} {claims} {claimed:?}");
            check(&format!("killed after {change} changes, then {claims} of a claim"), place.path());
            drop(Folder::claim(place.path()).unwrap());
            check(&format!("killed after {change} changes, then claimed"), place.path());
            let hidden: Vec<String> = names(place.path()).into_iter().filter(|name| name.starts_with('.')).collect();
            assert_eq!(hidden, [""; 0], "{change} {claims}");
            if !killed {
                return;
            }
            if !again || !moving {
                break;
            }
            claims += 1;
        }
    }
}

#[test]
fn a_run_replaces_another_whole_or_not_at_all_whenever_it_is_killed() {
    replaced_at_every_change(&timed(test_run(1), 3), &test_run(2));
    replaced_at_every_change(&array(1, 2), &array(2, 1));
    replaced_at_every_change(&array(1, 1), &test_run(2));
}

fn replaced_at_every_change(old: &RunResult, new: &RunResult) {
    let last = std::cell::Cell::new(0);
    killed_at_every_change(
        &|place| {
            last.set(1);
            single(place, old, Some(&page));
        },
        &|place| {
            let _ = Folder::claim(place).and_then(|mut folder| folder.write(new, None));
        },
        &|when, place| {
            let found = read_run(place).unwrap_or_else(|error| panic!("{when}: {error}"));
            assert!(found == *old || found == *new, "{when}: a mixture");
            assert!(found.summary.run.seed >= last.get(), "{when}: the old came back");
            last.set(found.summary.run.seed);
            assert!(place.join(SUMMARY).exists(), "{when}: where users look");
        },
    );
    assert_eq!(last.get(), 2, "the last try is not killed");
}

#[test]
fn a_sweep_replaces_another_command_whole_or_not_at_all_whenever_it_is_killed() {
    type Before<'a> = (&'a dyn Fn(&Path), &'a [u64]);
    let before: [Before<'_>; 2] = [
        (&|place| drop(sweep(place, &[1, 2, 3], &Inputs::Nothing).unwrap()), &[1, 2, 3]),
        (&|place| single(place, &test_run(1), Some(&page)), &[1]),
    ];
    for (prepare, old) in before {
        killed_at_every_change(prepare, &|place| drop(sweep(place, &[4, 2], &Inputs::Nothing)), &|when, place| {
            let found = read_runs(place).unwrap_or_else(|error| panic!("{when}: {error}"));
            let seeds = seeds_of(&found);
            assert!(seeds == old || seeds == [4, 2], "{when}: {seeds:?}");
            assert!(found.iter().all(|run| *run == test_run(run.summary.run.seed)), "{when}: a mixture");
        });
    }
}

#[test]
fn a_first_sweep_that_is_killed_shows_what_was_whole_and_goes_on() {
    let most = std::cell::Cell::new(0);
    killed_at_every_change(&|_| {}, &|place| drop(sweep(place, &[1, 2], &Inputs::Nothing)), &|when, place| {
        match read_runs(place) {
            Ok(found) => {
                assert!([&[1][..], &[1, 2]].contains(&&seeds_of(&found)[..]), "{when}");
                most.set(found.len());
            }
            Err(ResultError::Unfinished { .. }) => {}
            Err(error) => panic!("{when}: {error}"),
        }
    });
    assert_eq!(most.get(), 2);
}

#[test]
fn finished_members_of_a_killed_sweep_need_not_run_again() {
    let place = tempfile::tempdir().unwrap();
    sweep(place.path(), &[1, 2], &Inputs::Nothing).unwrap();
    let mut folder = Folder::claim(place.path()).unwrap();
    folder.begin(MadeBy::Sweep, members(&[3, 4], &Inputs::Nothing)).unwrap();
    folder.write_member(1, &test_run(4), &page).unwrap();
    killed_after(0, || drop(folder));
    assert_eq!(seeds_of(&read_runs(place.path()).unwrap()), [1, 2]);
    assert_eq!(sweep(place.path(), &[3, 4], &Inputs::Nothing).unwrap().0, 1);
    assert_eq!(seeds_of(&read_runs(place.path()).unwrap()), [3, 4]);
    assert_eq!(names(place.path()), ["0", "1", GRID, MANIFEST, REPORT]);
}
