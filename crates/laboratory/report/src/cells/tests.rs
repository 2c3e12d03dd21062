//! Tests of the tables of sweeps.

use super::*;
use wane_results::test_runs::{test_run, timed};

/// Runs of two cells whose write amplification is as given, seed by seed.
fn sweep(amplification: [&[f64]; 2]) -> (Vec<RunResult>, Vec<Cell>) {
    let (mut runs, mut cells) = (Vec::new(), Vec::new());
    for (cell, values) in amplification.iter().enumerate() {
        let from = runs.len();
        for (seed, value) in values.iter().enumerate() {
            let mut run = test_run(1);
            run.summary.write_amplification.total = Some(*value);
            run.summary.run.seed = seed as u64;
            let toml = format!("[ftl.gc]\nd = {}", 2 * (cell + 1));
            run.scenario_toml = format!("seed = {seed}\n{toml}");
            runs.push(run);
        }
        cells.push(Cell { values: vec![(2 * (cell + 1)).to_string()], runs: from..runs.len() });
    }
    (runs, cells)
}

fn table(amplification: [&[f64]; 2], columns: &[&str], sort: Option<&str>) -> String {
    let (runs, cells) = sweep(amplification);
    let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    sweep_table(&runs, &["ftl.gc.d".to_owned()], &cells, &Shown { columns: &columns, sort })
}

#[test]
fn a_long_warning_is_cut_between_words_below_a_table() {
    let mut run = wane_results::test_runs::test_run(1);
    run.summary.warnings = vec!["seven letters ".repeat(40)];
    let told = warned(std::slice::from_ref(&run));
    assert!(told.contains("letters seven \u{2026} (each run's") && told.len() < 220, "{told}");
    run.summary.warnings = vec!["short".to_owned()];
    assert!(warned(&[run]).contains(" this: short (each run's"));
}

#[test]
fn the_best_cell_comes_first_and_is_marked() {
    let told = table([&[3.0], &[2.0]], &["amplification", "wear.erase_count.max"], None);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>().join(" "), "d write amplification wear.erase_count.max");
    assert!(lines[1].starts_with("4 ") && lines[1].contains("2.00 *"), "{told}");
    assert!(lines[2].starts_with("2 ") && !lines[2].contains('*'), "{told}");
    let worst_first = table([&[3.0], &[2.0]], &["amplification"], Some("waf:down"));
    assert!(worst_first.lines().nth(1).unwrap().starts_with("2 "), "{worst_first}");
    let by_key_down = table([&[3.0], &[2.0]], &["amplification"], Some("d:down"));
    assert!(by_key_down.lines().nth(1).unwrap().starts_with("4 "), "{by_key_down}");
    let path = |sort: &str| table([&[3.0], &[2.0]], &["amplification"], Some(sort));
    assert_eq!(path("write_amplification.total"), path("write_amplification.total:up"));
    assert_ne!(path("write_amplification.total"), path("write_amplification.total:down"));
    let by_key = table([&[3.0], &[2.0]], &["amplification"], Some("d"));
    assert!(by_key.lines().nth(1).unwrap().starts_with("2 "), "{by_key}");
}

#[test]
fn seeds_that_do_not_tell_a_cell_from_the_best_are_marked() {
    let told = table([&[2.0, 2.4, 2.2], &[2.1, 2.2, 2.2]], &["amplification"], None);
    assert!(told.contains("2.17 +- 0.14 *") && told.contains(" ="), "{told}");
    // Each seed differs by the same, however much the seeds do.
    let told = table([&[2.0, 2.4, 2.2], &[2.01, 2.41, 2.21]], &["amplification"], None);
    assert!(!told.lines().nth(2).unwrap().contains('='), "{told}");
}

/// The figures of a user's report: 56.3 and 56.2 of one seed each are no winner and loser.
#[test]
fn one_seed_names_no_winner_among_near_cells() {
    let told = table([&[56.3], &[56.2]], &["amplification"], None);
    assert!(!told.contains('*') && told.matches("56.").count() == 2 && told.matches(" =").count() >= 2, "{told}");
    assert!(told.contains("= the best, within 1 %: one seed does not tell them apart"), "{told}");
    let told = table([&[56.3], &[55.2]], &["amplification"], None);
    assert!(told.contains("55.2 *") && !told.contains('='), "{told}");
}

#[test]
fn a_column_need_not_be_shown_to_sort_by_it() {
    let told = table([&[3.0], &[2.0]], &["erases"], Some("amplification"));
    assert!(told.lines().nth(1).unwrap().starts_with("4 ") && !told.contains("amplification"), "{told}");
    let told = table([&[3.0], &[2.0]], &["read-mean", "no.such"], None);
    assert_eq!(told.lines().nth(1).unwrap().matches(" -").count(), 2, "{told}");
}

#[test]
fn cells_are_sorted_by_the_size_of_a_key() {
    let (runs, mut cells) = sweep([&[3.0], &[2.0]]);
    for (sizes, first) in [(["128 MiB", "1 GiB"], "128 MiB"), (["\"14 %\"", "\"7 %\""], "\"7 %\"")] {
        for (cell, size) in cells.iter_mut().zip(sizes) {
            cell.values = vec![size.to_owned()];
        }
        let shown = Shown { columns: &[], sort: Some("d") };
        let told = sweep_table(&runs, &["ftl.gc.d".to_owned()], &cells, &shown);
        assert!(told.lines().nth(1).unwrap().starts_with(first), "{told}");
    }
}

#[test]
fn cells_are_held_against_each_other_seed_by_seed_though_one_lacks_a_seed() {
    // Seed 1 of the second cell could not be run: by place, its seed 2 would be held against seed 1.
    let (mut runs, mut cells) = sweep([&[2.0, 9.0, 4.0, 6.0], &[2.1, 9.1, 4.1, 6.1]]);
    runs.remove(5);
    cells[1].runs = 4..7;
    let columns = ["amplification".to_owned()];
    let told = sweep_table(&runs, &["ftl.gc.d".to_owned()], &cells, &Shown { columns: &columns, sort: None });
    assert!(!told.contains('='), "each seed differs by a tenth: {told}");
}

#[test]
fn a_sweep_of_seeds_tells_the_figures_of_each() {
    let (runs, _) = sweep([&[2.0, 9.0], &[]]);
    let cells = [0, 1].map(|run| Cell { values: vec![(run + 1).to_string()], runs: run..run + 1 });
    let columns = ["amplification".to_owned(), " gc.victim".to_owned()];
    let told = sweep_table(&runs, &["seed".to_owned()], &cells, &Shown { columns: &columns, sort: None });
    assert!(told.contains("2.00 *") && told.contains("9.00 ") && !told.contains("5.50"), "{told}");
    assert!(told.contains("gc.victim: no run has this figure"), "{told}");
}

#[test]
fn a_cell_that_was_interrupted_is_marked_and_never_the_best() {
    let (mut runs, cells) = sweep([&[3.0], &[2.0]]);
    runs[1].summary.end.reason = EndReason::Interrupted;
    let columns = ["amplification".to_owned()];
    let told = sweep_table(&runs, &["ftl.gc.d".to_owned()], &cells, &Shown { columns: &columns, sort: None });
    assert!(told.contains("2.00 !") && told.contains("3.00 *") && told.contains("! interrupted"), "{told}");
    assert!(told.lines().nth(2).unwrap().contains('!'), "it stands last: {told}");
}

#[test]
fn what_was_predicted_of_lives_is_told_apart() {
    let (mut runs, cells) = sweep([&[3.0], &[2.0]]);
    let told = |runs: &[RunResult]| sweep_table(runs, &["d".to_owned()], &cells, &Shown::default());
    assert!(!told(&runs).contains("predicted"));
    let part = |drive_writes_simulated, drive_writes_predicted| {
        Some(FastForwarded { drive_writes_simulated, drive_writes_predicted, ..FastForwarded::default() })
    };
    runs[0].summary.fast_forward = part(10.5, 9.5);
    let line = "of the 1 of 2 lives that were fast-forwarded 10.50 drive writes were simulated and 9.50 predicted ";
    assert!(told(&runs).contains(line), "{}", told(&runs));
    runs[1].summary.fast_forward = part(12.0, 9.5);
    let line = "of a life 10.50 to 12.00 drive writes were simulated and 9.50 predicted ";
    assert!(told(&runs).contains(line), "{}", told(&runs));
}

#[test]
fn warnings_of_runs_are_told_below_their_table() {
    let (mut runs, cells) = sweep([&[3.0], &[2.0]]);
    let told = |runs: &[RunResult]| sweep_table(runs, &["d".to_owned()], &cells, &Shown::default());
    assert!(!told(&runs).contains("warnings"));
    runs[1].summary.scenario.name = "d=2".to_owned();
    runs[1].summary.warnings = vec!["the end is uncertain".to_owned(), "another".to_owned()];
    let line = "1 of 2 runs has warnings, d=2 this: the end is uncertain (each run's: warnings)\n";
    assert!(told(&runs).ends_with(line), "{}", told(&runs));
}

#[test]
fn figures_of_different_ages_stand_beside_their_ages_and_are_told_not_to_be_compared() {
    let (runs, cells) = sweep([&[3.0], &[2.0]]);
    let of_length = |drive_writes: f64| {
        let mut runs: Vec<RunResult> = runs.iter().cloned().map(|run| timed(run, 3)).collect();
        runs[1].summary.end.at_drive_writes = drive_writes * runs[0].summary.end.at_drive_writes;
        // Neither as many drive writes nor as many requests.
        if drive_writes > 1.0 {
            runs[1].windows.pop();
        }
        for run in &mut runs {
            run.summary.latency_of = run.latency_of();
        }
        runs
    };
    let columns = ["latency.read.p99_ns".to_owned(), "read-mean".to_owned()];
    let told = |runs: &[RunResult]| {
        let shown = Shown { columns: &columns, sort: Some("read-p999") };
        sweep_table(runs, &["ftl.gc.d".to_owned()], &cells, &shown)
    };
    let told_of_one = told(&of_length(1.0));
    assert!(told_of_one.contains("are those over the whole run of"), "{told_of_one}");
    assert!(!told_of_one.contains(END_OF_AGE) && !told_of_one.contains("not compared"), "{told_of_one}");
    let told = told(&of_length(4.0));
    assert!(told.lines().next().unwrap().contains(END_OF_AGE), "{told}");
    assert!(!told.contains("over the whole run") && told.contains("they are not to be compared"), "{told}");
    // Of the measure that is shown and of that which is sorted by.
    assert_eq!(told.matches(": not compared, as the runs are of different ages").count(), 2, "{told}");
}

#[test]
fn percentiles_of_few_requests_are_told() {
    let run = wane_results::test_runs::timed(wane_results::test_runs::test_run(1), 1);
    for (reads, is_told) in [(9_000, false), (900, true)] {
        let mut run = run.clone();
        run.summary.latency.as_mut().unwrap().read.as_mut().unwrap().times.count = reads;
        let cells = [Cell { values: vec!["4".to_owned()], runs: 0..1 }];
        let columns = ["read-p99".to_owned()];
        let told = sweep_table(&[run], &["ftl.gc.d".to_owned()], &cells, &Shown { columns: &columns, sort: None });
        assert_eq!(told.contains("p99 of reads: of so few requests in some runs that chance"), is_told, "{told}");
    }
}

#[test]
fn words_of_the_summary_are_a_column_and_none_is_there_twice() {
    let told = table([&[3.0], &[2.0]], &["amplification", "end.reason", "waf"], None);
    assert!(!told.contains("no run has") && told.lines().nth(1).unwrap().contains("end-of-life"), "{told}");
    assert_eq!(told.matches("write amplification").count(), 1, "{told}");
    let misspelt = table([&[3.0], &[2.0]], &["Wear.Erase_Count.Maxx", "AMPLIFICATION"], None);
    assert!(misspelt.contains("no run has this figure; did you mean \"wear.erase_count.max\"?"), "{misspelt}");
    let (mut runs, cells) = sweep([&[3.0], &[2.0]]);
    runs[1].summary.end.reason = EndReason::DriveWrites;
    for (sort, first) in [("end.reason", "drive-writes"), ("end.reason:DOWN", "end-of-life")] {
        let columns = ["end.reason".to_owned()];
        let shown = Shown { columns: &columns, sort: Some(sort) };
        let told = sweep_table(&runs, &["ftl.gc.d".to_owned()], &cells, &shown);
        assert!(told.lines().nth(1).unwrap().contains(first), "{sort}: {told}");
    }
}

#[test]
fn things_in_a_list_are_columns_by_their_number() {
    let (mut runs, cells) = sweep([&[3.0], &[2.0]]);
    runs[0].summary.warnings = vec!["early".to_owned(), "late".to_owned()];
    let columns = ["warnings.1".to_owned(), "warnings.2".to_owned()];
    let told = sweep_table(&runs, &["ftl.gc.d".to_owned()], &cells, &Shown { columns: &columns, sort: None });
    assert!(told.lines().any(|line| line.contains("late")) && !told.contains("early  "), "{told}");
    assert!(told.contains("warnings.2: no run has this figure"), "{told}");
}

#[test]
fn what_is_sorted_by_and_no_run_has_is_named() {
    let told = table([&[3.0], &[2.0]], &["amplification"], Some("gc.victim"));
    assert!(told.contains("gc.victim: no run has this figure"), "{told}");
}

#[test]
fn a_single_cell_has_its_figures() {
    let (runs, cells) = sweep([&[3.0], &[2.0]]);
    let told = sweep_table(&runs[..1], &["ftl.gc.d".to_owned()], &cells[..1], &Shown::default());
    assert!(told.contains("write amplification") && told.contains("3.00"), "{told}");
    assert!(!told.contains('*'), "one is not the best of several: {told}");
}

#[test]
fn unknown_columns_are_refused_with_those_there_are() {
    let keys = ["ftl.gc.d".to_owned()];
    let columns = ["nosuch".to_owned()];
    let refused = check_table(&keys, &Shown { columns: &columns, sort: None }).unwrap_err();
    assert!(
        refused.contains("no measure \"nosuch\"; there are life, ") && refused.contains("amplification"),
        "{refused}"
    );
    let refused = check_table(&keys, &Shown { columns: &[], sort: Some("x") }).unwrap_err();
    assert!(refused.contains("\"x\" is neither a swept key (ftl.gc.d) nor a measure: life, "), "{refused}");
    let refused = check_table(&keys, &Shown { columns: &[], sort: Some("-amplification") }).unwrap_err();
    assert!(refused.ends_with("; amplification:down puts the largest first"), "{refused}");
    let columns = ["jain".to_owned(), "wear.erase_count.max".to_owned()];
    for sort in ["d", "ftl.gc.d", "life", "wear.jain_index", "d:down", "life:up", "WAF:down"] {
        assert_eq!(check_table(&keys, &Shown { columns: &columns, sort: Some(sort) }), Ok(()));
    }
}
