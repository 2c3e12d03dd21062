//! Lives that are predicted in part.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use wane_aging::{LogEntry, accuracy};
use wane_lab::build::PolicyOverrides;
use wane_lab::run::{Budget, Run, Step, Watch};
use wane_lab::session::execute;
use wane_results::{EndReason, FastForwarded, RunResult, Window};
use wane_scenario::{Scenario, Sources};

/// A drive of 256 blocks of 32 pages under a hot and a cold part.
const DRIVE: &str = "[drive]\nblocks-per-plane = 256\npages-per-block = 32\nspare-factor = '15 %'\nendurance = 300\n[ftl]\ngc-reserve = 4\n\
                     [precondition]\nrandom-drive-writes = 2\n";

const HOT_COLD: &str = "[workload]\npattern = 'hot-cold'\nr = 0.8\nh = 0.2\n";

fn run_with(text: &str, step: &mut dyn FnMut(&Step)) -> RunResult {
    let scenario = Scenario::resolve(&Sources { file: Some(("forward.toml", text)), ..Sources::default() }).unwrap();
    execute(&scenario, &PolicyOverrides::default(), &mut Watch { step, stop: &Arc::default() }).unwrap()
}

fn run(text: &str) -> RunResult {
    run_with(text, &mut |_| {})
}

fn erases(result: &RunResult) -> Vec<u32> {
    result.blocks.iter().map(|block| block.erase_count).collect()
}

#[test]
fn at_a_factor_of_one_everything_is_simulated() {
    let life = format!("{DRIVE}{HOT_COLD}[until]\ndrive-writes = 6\n");
    let (full, forwarded) = (run(&life), run(&format!("{life}[fast-forward]\nfactor = 1\n")));
    assert_eq!((erases(&full), &full.timeline), (erases(&forwarded), &forwarded.timeline));
    let told = forwarded.summary.fast_forward.as_ref().unwrap();
    assert_eq!((told.drive_writes_simulated, told.drive_writes_predicted, told.factor_reached), (6.0, 0.0, 1.0));
    assert_eq!((told.periods_simulated, told.predictions), (6, 0));
    assert_eq!(full.summary.fast_forward, None);
}

#[test]
fn simulated_and_predicted_stand_apart() {
    let life = format!("{DRIVE}{HOT_COLD}[until]\ndrive-writes = 20\n");
    let mut steps = Vec::new();
    let full = run(&life);
    let forwarded = run_with(&format!("{life}[fast-forward]\nfactor = 2\n"), &mut |step| steps.push(*step));
    let (summary, told) = (&forwarded.summary, forwarded.summary.fast_forward.as_ref().unwrap());
    // 2 and 1, 1 and 1, ...; the last period is simulated.
    assert_eq!((told.periods_simulated, told.predictions), (11, 9));
    assert!((told.drive_writes_simulated - 11.0).abs() < 1e-3 && (told.drive_writes_predicted - 9.0).abs() < 1e-3);
    assert!((told.factor_reached - 20.0 / 11.0).abs() < 1e-3, "{}", told.factor_reached);
    assert_eq!((summary.end.reason, summary.end.at_drive_writes), (EndReason::DriveWrites, 20.0));
    assert!((summary.host.drive_writes - 11.0).abs() < 1e-3, "the host wrote what was simulated");
    assert_eq!(summary.flash.blocks_erased.total, told.blocks_erased_simulated);
    let grown = |result: &RunResult| {
        let wear = &result.summary.wear;
        wear.erase_count.mean - wear.erase_count_mean_at_start
    };
    let predicted = told.blocks_erased_predicted as f64 / 256.0;
    assert!((grown(&forwarded) - predicted - told.blocks_erased_simulated as f64 / 256.0).abs() < 1e-6);
    assert!((grown(&forwarded) / grown(&full) - 1.0).abs() < 0.02, "{} {}", grown(&forwarded), grown(&full));
    assert!(accuracy::id_matched(&erases(&forwarded), &erases(&full)).unwrap() > 0.85);
    let last = forwarded.timeline.last().unwrap();
    assert!((last.drive_writes - 20.0).abs() < 1e-3 && (last.drive_writes_predicted - 9.0).abs() < 1e-3);
    assert!(forwarded.timeline.windows(2).all(|rows| rows[0].drive_writes < rows[1].drive_writes));
    let last = steps.last().unwrap();
    assert!((last.predicted - 9.0).abs() < 1e-3 && (last.drive_writes - 20.0).abs() < 1e-3, "{last:?}");
    // The same scenario and seed, the same bytes.
    let again = run(&format!("{life}[fast-forward]\nfactor = 2\n"));
    assert_eq!((erases(&again), &again.timeline), (erases(&forwarded), &forwarded.timeline));
}

#[test]
fn every_model_and_policy_lives_to_its_end() {
    // (what of the drive, what of the forecast)
    let life = |ftl: &str, forward: &str| {
        format!("{DRIVE}{HOT_COLD}footprint = '60 %'\n[until]\nend-of-life = true\ndrive-writes = 4000\n[fast-forward]\n{forward}\n[ftl]\n{ftl}")
            .replacen("[ftl]\ngc-reserve = 4\n", "", 1)
            + "\ngc-reserve = 4\n"
    };
    let plain = life("", "factor = 1");
    let full = run(&plain).summary.end.at_drive_writes;
    for (ftl, forward, within) in [
        ("", "factor = 2", 0.06),
        ("", "factor = 1.5\nmodel = 'least-squares'\nwindow = 4", 0.06),
        ("", "factor = 3\nmodel = 'theil-sen'", 0.1),
        ("", "factor = 2\nmodel = 'skew-normal'", 0.1),
        ("", "factor = 4\nperiod = 0.5\nmodel = 'ranks'", 0.06),
        // Periods that bring less than an erase each.
        ("", "factor = 2\nperiod = 0.1\nmodel = 'ranks'\nwindow = 100", 0.06),
        ("", "factor = 2\nmodel = 'devs'", 1.0),
        ("", "factor = 2\nmodel = 'cml'", 1.0),
        ("", "factor = 2\nworn = 'at-next-erase'", 0.06),
        ("", "factor = 4\nperiod = 0.5\nmodel = 'ranks'\nadaptive = true", 0.06),
        ("wear-leveling = { policy = 'pwl', threshold = '50 %' }", "factor = 2", 1.0),
        ("wear-leveling = { policy = 'dual-pool', threshold = 5 }\nallocation = 'least-worn'", "factor = 3", 1.0),
        ("capacity = { policy = 'variant', shrink = 'graceful' }", "factor = 2", 10.0),
    ] {
        let result = run(&life(ftl, forward));
        assert_eq!(result.summary.end.reason, EndReason::EndOfLife, "{ftl} {forward}");
        let lived = result.summary.end.at_drive_writes;
        assert!((lived / full - 1.0).abs() < within, "{ftl} {forward}: {lived} and {full}");
    }
}

#[test]
fn a_life_that_ends_within_a_long_prediction_says_how_little_that_tells() {
    for (forward, is_told) in [("factor = 2", false), ("factor = 10", true), ("factor = 1000", true)] {
        let until = "[until]\nend-of-life = true\ndrive-writes = 4000\n";
        let warnings = run(&format!("{DRIVE}{HOT_COLD}{until}[fast-forward]\n{forward}\n")).summary.warnings;
        assert_eq!(
            warnings.iter().any(|warning| warning.contains("died within a prediction")),
            is_told,
            "{warnings:?}"
        );
    }
}

#[test]
fn days_go_on_through_what_is_predicted() {
    let text =
        format!("{DRIVE}{HOT_COLD}[time]\ndrive-writes-per-day = 2\n[until]\ndays = 10\n[fast-forward]\nfactor = 2\n");
    let summary = run(&text).summary;
    assert_eq!((summary.end.reason, summary.end.at_drive_writes), (EndReason::Days, 20.0));
    assert!((summary.life.unwrap().days.unwrap() - 10.0).abs() < 1e-6);
}

/// A life whose workload changes twice.
const PHASES: &str = "[[phase]]\nworkload = { pattern = 'uniform' }\nuntil.drive-writes = 40\n\
                      [[phase]]\nworkload = { pattern = 'sequential' }\nuntil.drive-writes = 40\n\
                      [[phase]]\nworkload = { pattern = 'uniform' }\nuntil.drive-writes = 40\n";

/// The relative error of such a life's mean erase count, and its figures.
fn through_phases(rest: &str) -> (f64, FastForwarded) {
    let drive = DRIVE.replace("endurance = 300", "endurance = 3000");
    let full = run(&format!("{drive}{PHASES}"));
    let result = run(&format!("{drive}[fast-forward]\nmodel = 'ranks'\n{rest}\n{PHASES}"));
    let mean = |result: &RunResult| result.summary.wear.erase_count.mean;
    assert_eq!(result.summary.end.at_drive_writes, 120.0);
    ((mean(&result) / mean(&full) - 1.0).abs(), result.summary.fast_forward.unwrap())
}

#[test]
fn no_prediction_outlasts_its_phase() {
    for most in [20, 200] {
        let (off, told) = through_phases(&format!("adaptive = true\nfactor-most = {most}"));
        assert!(off < 0.002 && told.predictions >= 6, "{off} {told:?}");
    }
    // By a factor of 4, of each phase two periods are simulated before the first prediction, which is of three as the others are, or what is left.
    let (_, told) = through_phases("factor = 4");
    assert_eq!((told.periods_simulated, told.predictions), (3 * 11, 3 * 10));
}

#[test]
fn an_adaptive_life_simulates_what_a_change_of_phase_sets_going() {
    let (adaptive, told) = through_phases("period = 0.25\nadaptive = true\nfactor-most = 40");
    assert!(told.factor_reached > 4.0, "{told:?}");
    let (fixed, told) = through_phases(&format!("period = 0.25\nfactor = {}", told.factor_reached));
    assert_eq!((told.predictions_taken_back, told.pages_programmed_in_vain), (0, 0));
    assert!(adaptive < 0.02 && fixed > 3.0 * adaptive, "{adaptive} {fixed}");
}

#[test]
fn a_prediction_that_wear_leveling_made_wrong_is_taken_back() {
    let hot = "[workload]\npattern = 'hot-cold'\nr = 0.95\nh = 0.1\n[until]\nend-of-life = true\n";
    // PWL begins when the most worn block has half of its erases, and moves cold data ever more often.
    let drive =
        DRIVE.replace("gc-reserve = 4", "gc-reserve = 4\nwear-leveling = { policy = 'pwl', threshold = '50 %' }");
    let life = format!("seed = 2\n{drive}{hot}");
    let full = run(&life).summary.end.at_drive_writes;
    let forward = "[fast-forward]\nmodel = 'ranks'\nperiod = 0.25\nfactor = 2\nadaptive = true\nfactor-most = 40\n";
    let summary = run(&format!("{life}{forward}")).summary;
    let (told, lived) = (summary.fast_forward.unwrap(), summary.end.at_drive_writes);
    assert!(told.predictions_taken_back >= 2 && told.pages_programmed_in_vain > 0, "{told:?}");
    assert!((lived / full - 1.0).abs() < 0.03, "{lived} {full}");
}

#[test]
fn a_log_alone_tells_what_is_left() {
    let text = format!("{DRIVE}{HOT_COLD}[until]\nend-of-life = true\ndrive-writes = 4000\n");
    let scenario = Scenario::resolve(&Sources { file: Some(("log.toml", &text)), ..Sources::default() }).unwrap();
    let mut run = Run::new(wane_lab::build::plan(&scenario).unwrap());
    let mut log = Vec::new();
    let mut until = |run: &mut Run, percentage: f64| {
        while log.last().is_none_or(|last: &LogEntry| last.percentage_used < percentage) {
            run.advance(Budget::units(2000), &mut Watch { step: &mut |_| {}, stop: &Arc::default() }).unwrap();
            // Nothing of the drive but what its log page shows.
            let record = run.drive().health_record();
            let percentage_used = record.percentage_used.unwrap().floor();
            log.push(LogEntry { at: record.host_bytes_written as f64, percentage_used });
        }
        log.clone()
    };
    let known = until(&mut run, 40.0);
    let forecast = wane_aging::forecast(&known, 1.0).unwrap();
    let now = run.drive().health_record().host_bytes_written as f64;
    // Before 100 % the first blocks leave service.
    let left = until(&mut run, 80.0).last().unwrap().at - now;
    let share = 40.0 / (100.0 - known.last().unwrap().percentage_used);
    let [least, ours, most] =
        [forecast.left_least, forecast.left, forecast.left_most].map(|of_all| share * of_all.unwrap());
    assert!((ours / left - 1.0).abs() < 0.03, "{ours} and {left}");
    assert!(least < left && left < most, "{forecast:?} {left}");
}

/// Three probes of a drive whose flash errs the more the more it is worn.
const PROBED: &str = "[drive]\nchannels = 2\ndies-per-channel = 2\nblocks-per-plane = 96\npages-per-block = 32\nspare-factor = '15 %'\n\
                      endurance = 'none'\nchip = 'tlc-72l-2018'\n[drive.ecc]\nstrength = 16\nrereads-max = 8\n[ftl]\ndomain = 'drive'\ngc-reserve = 4\n\
                      [time]\nscheduler = 'event'\ndrive-writes-per-day = 2\n[workload]\npattern = 'uniform'\n[until]\ndays = 300\n\
                      [probe]\nat-days = [0, 101.3, 300]\nretention = '30 days'\nuntil = { requests = 4000 }\n\
                      workload = { pattern = 'uniform', read-share = '70 %', arrival = { poisson = '1 ms' } }\n";

#[test]
fn probes_of_a_life_that_is_predicted_in_part_find_it_worn_as_it_would_be() {
    let full = run(PROBED);
    for forward in ["factor = 12", "factor = 12\nmodel = 'ranks'\nadaptive = true\nfactor-most = 40"] {
        let found = run(&format!("{PROBED}[fast-forward]\n{forward}\n"));
        let told = found.summary.fast_forward.as_ref().unwrap();
        assert!(told.factor_reached > 8.0, "{forward}: {}", told.factor_reached);
        assert_eq!((found.windows.len(), full.windows.len()), (3, 3), "{forward}");
        for (one, other) in found.windows.iter().zip(&full.windows) {
            assert!((one.at_days.unwrap() - other.at_days.unwrap()).abs() < 1e-3, "{forward}: {:?}", one.at_days);
            assert!((one.at_drive_writes - other.at_drive_writes).abs() < 2e-3, "{forward}: {}", one.at_drive_writes);
            let (erases, wanted) = (one.erase_count_mean, other.erase_count_mean);
            assert!((erases - wanted).abs() <= 0.03 * wanted, "{forward}: {erases} erases, {wanted} in full");
            let rereads = |window: &Window| window.errors.unwrap().host_retry_rate().unwrap();
            let (rereads, wanted) = (rereads(one), rereads(other));
            assert!((rereads - wanted).abs() <= 0.1 * wanted, "{forward}: {rereads} re-reads a page, {wanted} in full");
        }
        // The new drive is the same, to the last bit.
        assert_eq!(found.windows[0], full.windows[0], "{forward}");
        let last = found.windows[2].errors.unwrap().host_retry_rate();
        assert!(last > found.windows[1].errors.unwrap().host_retry_rate() && last > Some(0.2), "{last:?}");
        assert!(found.summary.warnings.iter().any(|said| said.contains("written 30 days before it")));
    }
}

/// A life to its end, with windows by wear and just before it.
const WORN: &str = "[time]\nscheduler = 'event'\n[probe]\nat-wear = ['30 %', 0.6]\nat-end-of-life = true\nuntil = { requests = 500 }\n\
                    workload = { pattern = 'uniform', arrival = { queue-depth = 4 } }\n[until]\nend-of-life = true\n";

#[test]
fn probes_by_wear_and_before_the_end_find_the_drive_at_these_ages() {
    let life = format!("{DRIVE}{HOT_COLD}{WORN}");
    let full = run(&life);
    let plain = run(&format!("{DRIVE}{HOT_COLD}[until]\nend-of-life = true\n"));
    assert_eq!((&full.timeline, &full.summary.end), (&plain.timeline, &plain.summary.end), "a probe changes nothing");
    // Predictions come in steps of up to twelve periods, which wear stops.
    let forwarded = run(&format!("{life}[fast-forward]\nfactor = 12\n"));
    for (result, within) in [(&full, 0.002), (&forwarded, 0.02)] {
        let [first, second, last] = &result.windows[..] else { panic!("{} windows", result.windows.len()) };
        for (window, share) in [(first, 0.3), (second, 0.6)] {
            let used = window.erase_count_mean / 300.0;
            assert!((window.life_used.unwrap() - used).abs() < 1e-9, "{:?}", window.life_used);
            assert!(used > share * (1.0 - 1e-9) && used < share * (1.0 + within), "{used} of the wear, for {share}");
        }
        let end = &result.summary.end;
        assert_eq!(end.reason, EndReason::EndOfLife);
        assert!(second.at_drive_writes <= last.at_drive_writes && last.at_drive_writes < end.at_drive_writes);
        assert!(last.latency.write.unwrap().times.count > 200, "it takes writes: {:?}", last.latency);
    }
    let (last, end) = (full.windows[2].at_drive_writes, full.summary.end.at_drive_writes);
    assert!(last > 0.98 * end, "{last} of {end} drive writes");
}

#[test]
fn a_run_that_ends_before_such_a_probe_says_so() {
    let life = format!("{DRIVE}{HOT_COLD}{WORN}drive-writes = 1\n");
    let warnings = run(&life).summary.warnings;
    let said = "the run ended before 2 of 2 probes were due, the next at 30 % of the rated wear; probe.at-end-of-life: the run ended before the drive died";
    assert!(warnings.iter().any(|found| found == said), "{warnings:?}");
}
