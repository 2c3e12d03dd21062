//! What every page must be.

use super::boxes::{self, Font};
use super::chart::Size;
use super::flow;
use super::page::all_pictures;
use super::picture::Arrangement;
use super::{differences, render};
use wane_results::test_runs::{MadeUp, made_up, test_run, timed};
use wane_results::{BlockAges, EndReason, RunResult, Thermal, Trigger, WindowKind};

fn longest(name: &'static str, seed: u64) -> RunResult {
    made_up(MadeUp { name, seed, blocks: 8192, rows: 2048, variant: true, leveled: false })
}

/// A run whose pictures are like those of a large one, and sooner drawn.
fn small(name: &'static str, seed: u64) -> RunResult {
    made_up(MadeUp { name, seed, blocks: 512, rows: 160, variant: true, leveled: true })
}

/// Runs of `count` scenarios with `seeds` each, with as many rows as there can be.
fn many(count: u64, seeds: u64) -> Vec<RunResult> {
    let of_seed: Vec<RunResult> = (1..=seeds).map(|seed| longest("a grid", seed)).collect();
    let of_scenario = |scenario: u64| {
        of_seed.iter().cloned().map(move |mut run| {
            run.scenario_toml.push_str(&format!("d = {scenario}\n"));
            run
        })
    };
    (0..count).flat_map(of_scenario).collect()
}

/// Three groups: a run, a run without errors, and two seeds.
fn several_timed(windows: usize) -> Vec<RunResult> {
    let mut plain = timed(longest("plain", 4), windows);
    plain.error_histogram = None;
    plain.windows.iter_mut().for_each(|window| window.errors = None);
    plain.summary.errors = None;
    let mut runs = vec![timed(longest("one", 1), windows), plain];
    runs.extend([2, 3].map(|seed| timed(longest("two", seed), windows)));
    for (index, run) in runs.iter_mut().enumerate() {
        run.scenario_toml.push_str(&format!("d = {}\n", index.min(2)));
    }
    runs
}

#[test]
fn the_page_needs_nothing_else() {
    for runs in [vec![longest("one", 1), longest("two", 2), longest("two", 3)], several_timed(64)] {
        let page = render(&runs);
        let rest = page.replace("http://www.w3.org/2000/svg", "");
        for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<link", "fetch(", "import("] {
            assert!(!rest.contains(outside), "{outside}");
        }
    }
}

#[test]
fn a_figure_of_a_run_has_one_value_and_parts_of_a_run_are_named() {
    let cells = |page: &str| -> Vec<Vec<String>> {
        let rows = page.split("<tr>").skip(1).filter_map(|rest| rest.split("</tr>").next());
        let cells = |row: &str| -> Vec<String> {
            let cells = row.split("</t").filter_map(|cell| cell.rsplit('>').next());
            cells.map(str::to_owned).filter(|cell| !cell.is_empty()).collect()
        };
        rows.map(cells).collect()
    };
    // Windows unlike each other, and unlike the run.
    let mut runs = vec![timed(longest("one", 1), 8), timed(longest("two", 2), 8)];
    for (run, index) in runs.iter_mut().zip(0..) {
        run.scenario_toml.push_str(&format!("d = {index}\n"));
        for (window, number) in run.windows.iter_mut().zip(1..) {
            window.latency.read.as_mut().into_iter().for_each(|read| read.times.p999_ns = 1_000_000 * number);
        }
        run.summary
            .latency
            .as_mut()
            .and_then(|of| of.read.as_mut())
            .into_iter()
            .for_each(|of| of.times.p999_ns = 7_770_000);
    }
    let of_several = cells(&render(&runs));
    let rows: Vec<&Vec<String>> =
        of_several.iter().filter(|row| row.first().is_some_and(|name| name == "one, reads")).collect();
    assert!(rows.len() > 1 && rows.iter().all(|row| row.contains(&"7.77\u{a0}ms".to_owned())), "{rows:?}");
    assert!(of_several.iter().any(|row| row[0] == "latency, whole run"), "{of_several:?}");
    let of_one = render(&runs[..1]);
    for part in ["whole run", "first 12\u{a0}% of the run", "last 12\u{a0}% of the run"] {
        assert!(of_one.contains(part), "{part}");
    }
    assert!(cells(&of_one).iter().any(|row| row[0] == "whole run" && row.contains(&"7.77\u{a0}ms".to_owned())));
}

#[test]
fn a_warning_of_all_runs_stands_once() {
    let runs: Vec<RunResult> = (0..4)
        .map(|index| {
            let mut run = longest(["one", "two", "three", "four"][index], index as u64);
            run.scenario_toml.push_str(&format!("d = {index}\n"));
            run.summary.warnings =
                vec![format!("a drive of 3.84 TB was run as one of {} GB", 100 + index), "slow".to_owned()];
            if index == 2 {
                run.summary.warnings.push("odd".to_owned());
            }
            run
        })
        .collect();
    let page = render(&runs);
    assert_eq!(page.matches("was run as one of").count(), 1);
    for told in ["all runs, here with the numbers of one: a drive of 3.84", "<li>all runs: slow", "<li>three: odd"] {
        assert!(page.contains(told), "{told}");
    }
}

#[test]
fn an_axis_of_latencies_ends_before_a_lone_outlier_and_says_so() {
    let of = |slowest: u64| {
        let mut run = timed(longest("one", 1), 1);
        let window = &mut run.windows[0];
        // Writes are slower: their axis is their own.
        window.write_cdf = vec![(100_000_000, 0.5), (300_000_000, 1.0)];
        window.latency.read.as_mut().into_iter().for_each(|read| read.times.count = 20_000);
        window.read_cdf = vec![(80_000, 0.5), (900_000, 0.99), (5_000_000, 0.9999), (slowest, 1.0)];
        let figures = crate::page::all_pictures(&[run]);
        let figure =
            figures.into_iter().find(|figure| figure.heading == "Distribution of latencies").expect("it is drawn");
        let rows = figure.drawings[0].rows();
        let crate::picture::Drawing::Chart(chart) = &figure.drawings[0] else { panic!("a distribution is a chart") };
        assert!(chart.x.max < 2e7, "the axis of reads ends where reads do: {}", chart.x.max);
        (figure.caption, rows.iter().flatten().any(|cell| cell == &slowest.to_string()), figure.table)
    };
    let (caption, drawn, table) = of(200_000_000);
    assert!(!drawn && caption.contains("at most 3 reads of any curve took longer; the slowest took 200"), "{caption}");
    assert!(table.rows.iter().any(|row| row[0].starts_with("100")), "the table has the slowest");
    let (caption, drawn, _) = of(9_000_000);
    assert!(drawn && !caption.contains("axis ends"), "{caption}");
}

#[test]
fn curves_of_single_seeds_are_rows_of_their_own() {
    let runs: Vec<RunResult> = (1..=3)
        .map(|seed| {
            let mut run = longest("one", seed);
            run.scenario_toml = format!("seed = {seed}\n");
            run.summary.run.seed = seed;
            run
        })
        .collect();
    let figures = crate::page::all_pictures(&runs);
    let drawn: Vec<_> = figures.iter().flat_map(|figure| &figure.drawings).collect();
    let rows = drawn.iter().find(|drawing| drawing.id() == "amplification").expect("it is drawn").rows();
    let mut names: Vec<&str> = rows[1..].iter().map(|row| row[0].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    for name in ["total", "total, low", "total, high", "total, run 1", "total, run 3"] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
}

#[test]
fn runs_whose_last_window_has_no_reads_show_those_of_one_that_has() {
    let mut runs = vec![timed(longest("one", 1), 8), timed(longest("two", 2), 8)];
    for (index, run) in runs.iter_mut().enumerate() {
        run.scenario_toml.push_str(&format!("d = {index}\n"));
        run.windows[6].latency.read = None;
        run.windows[7].latency.read = None;
    }
    let page = render(&runs);
    assert!(page.contains("read-cdf"), "no distribution of reads");
    assert!(page.contains("one, reads") && page.contains("two, reads"), "no percentiles of reads");
}

#[test]
fn a_page_of_several_runs_says_which_were_interrupted() {
    let mut runs = vec![longest("one", 1), longest("two", 2), longest("two", 3)];
    assert!(!render(&runs).contains("interrupted"));
    runs[2].summary.end.reason = EndReason::Interrupted;
    assert!(render(&runs).contains(": 1 of 3 seeds were interrupted and are left out"));
}

#[test]
fn blocks_are_told_by_their_age_where_a_timeline_does() {
    let aged = |name, seed, degraded_at: Option<usize>| {
        let mut run = longest(name, seed);
        let rows = run.timeline.len();
        for (number, row) in run.timeline.iter_mut().enumerate() {
            let degraded = degraded_at.filter(|at| number >= *at).map(|_| Trigger::OverProvisioning);
            let (young, middle_aged) = (Some((rows - number) as u32), Some(number as u32));
            row.states = Some(BlockAges { young, middle_aged, effective_over_provisioning: Some(0.07), degraded });
        }
        run
    };
    const HEADING: &str = "Young, middle-aged and retired blocks";
    assert!(!render(&[longest("one", 1)]).contains(HEADING));
    let page = render(&[aged("one", 1, None)]);
    assert!(page.contains(HEADING) && page.contains("never degraded") && page.contains("over-provisioning was 7.0"));
    let mut other = longest("two", 1);
    other.scenario_toml.push_str("d = 2\n");
    let page = render(&[aged("one", 1, Some(3)), other]);
    assert!(
        page.contains(HEADING) && page.contains("middle-aged blocks, share of all") && page.contains("\u{2013} (two)")
    );
    let page = render(&[aged("one", 1, Some(3))]);
    assert!(page.contains("fallen below that of the new drive"), "{}", page.contains("degraded"));
}

#[test]
fn a_drive_with_heat_of_its_own_shows_it_over_the_windows() {
    let thermal = |at: usize| Thermal {
        celsius_end: 45.5 + at as f64,
        celsius_mean: 45.0 + at as f64,
        watts_mean: 2.5,
        throttled_share: 0.125 * at as f64,
    };
    let warm = |name| {
        let mut run = timed(longest(name, 1), 5);
        run.windows.iter_mut().enumerate().for_each(|(at, window)| window.thermal = Some(thermal(at)));
        run.summary.thermal = Some(thermal(2));
        run
    };
    let page = render(&[warm("one")]);
    assert!(page.contains("<h2>Temperature</h2>") && page.contains("time of a window throttled, %"));
    // The last window, and the whole run.
    for row in [["49.0", "49.5", "2.50", "50"], ["47.0", "47.5", "2.50", "25"]] {
        let cells = [" \u{b0}C", " \u{b0}C", " W", "\u{a0}%"].iter().zip(row);
        let cells: String = cells.map(|(unit, value)| format!(">{value}{unit}</td>")).collect();
        assert!(page.replace("<td", "").contains(&cells), "{cells}");
    }
    assert!(render(&[warm("one"), timed(longest("cold", 2), 5)]).contains("<h2>Temperature</h2>"));
    assert!(!render(&[timed(longest("cold", 2), 5)]).contains("<h2>Temperature</h2>"));
}

#[test]
fn a_timed_run_shows_its_latencies_and_errors() {
    const ALL: [&str; 6] = [
        "Read latency over the life",
        "Write latency over the life",
        "Distribution of latencies",
        "Where the time of a read goes",
        "Re-reads and lost pages",
        "Raw bit errors",
    ];
    const ONE: [&str; 4] =
        ["Latency by percentile", "Distribution of latencies", "Where the time of a read goes", "Raw bit errors"];
    let probes = |mut run: RunResult| {
        run.windows.iter_mut().for_each(|window| window.kind = WindowKind::Probe);
        run
    };
    let run = |windows| timed(longest("one", 1), windows);
    let table: [(&str, Vec<RunResult>, &[&str]); 6] = [
        ("windows", vec![run(64)], &ALL),
        ("probes", vec![probes(run(9))], &ALL),
        ("one window", vec![run(1)], &ONE),
        ("several runs", several_timed(40), &ALL),
        ("several runs of one window", several_timed(1), &ONE),
        ("beside an untimed run", vec![run(3), longest("untimed", 2)], &ALL),
    ];
    for (name, mut runs, headings) in table {
        // A drive that died would be told by its life first.
        runs.iter_mut().for_each(|run| run.summary.end.reason = wane_results::EndReason::Requests);
        // Runs whose lines lie on each other would have no picture.
        for (index, run) in runs.iter_mut().enumerate() {
            run.error_histogram.iter_mut().for_each(|counts| counts[1] += 9_000_000 * index as u64);
            for window in &mut run.windows {
                for figures in [&mut window.latency.read, &mut window.latency.write].into_iter().flatten() {
                    figures.times.p99_ns *= 1 + index as u64;
                }
            }
        }
        let page = render(&runs);
        let found: Vec<&str> = page.split("<h2>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
        // Several runs are compared before and between.
        let wanted: Vec<&str> = headings.iter().copied().chain(["Wear over the life"]).collect();
        let told: Vec<&str> = found.into_iter().filter(|heading| wanted.contains(heading)).collect();
        assert_eq!(told, wanted, "{name}");
        assert!(page.contains("corrects 75"), "{name}");
        assert!(!page.contains("NaN") && !page.contains("inf"), "{name}");
    }
}

#[test]
fn a_read_is_told_in_words() {
    let mut run = timed(test_run(1), 3);
    run.summary.end.reason = wane_results::EndReason::Requests;
    run.summary.end.at_drive_writes = 39.0;
    let page = render(&[run]);
    for told in [
        "<h1>A read took",
        "on average over the whole run of 39 drive writes; 1 in 1,000 took longer than",
        "Half of the reads took at most",
        "the largest share, 50\u{a0}%, of the time beyond it went to waiting behind the host",
        "and one page was lost",
        "A write took",
    ] {
        assert!(page.contains(told), "{told}");
    }
}

#[test]
fn windows_without_writes_lie_along_time() {
    let mut run = timed(test_run(1), 5);
    run.windows.iter_mut().for_each(|window| window.at_drive_writes = 0.0);
    let page = render(&[run]);
    assert!(page.contains("simulated time (s)"));
    assert!(!render(&[timed(test_run(1), 5)]).contains("simulated time"));
}

#[test]
fn an_untimed_run_shows_no_time() {
    let page = render(&[longest("one", 1)]);
    let body = page.split("</style>").nth(1).unwrap();
    for word in ["latency", "Raw bit errors", "a second", "re-read"] {
        assert!(!body.contains(word), "{word}");
    }
}

#[test]
fn the_page_stays_under_a_megabyte() {
    for (scenarios, seeds) in [(1, 1), (6, 1), (24, 1), (1, 12), (3, 8), (100, 1)] {
        let bytes = render(&many(scenarios, seeds)).len();
        assert!(bytes < 1_000_000, "{scenarios} scenarios of {seeds} seeds: {bytes} bytes");
        let windows: Vec<RunResult> = many(scenarios, seeds).into_iter().map(|run| timed(run, 64)).collect();
        let bytes = render(&windows).len();
        assert!(bytes < 1_000_000, "{scenarios} timed scenarios of {seeds} seeds: {bytes} bytes");
    }
}

#[test]
fn pictures_get_coarser_where_the_rest_of_the_page_is_large() {
    let mut runs = many(12, 1);
    for run in &mut runs {
        run.scenario_toml.push_str(&"# a long comment\n".repeat(3000));
    }
    let bytes = render(&runs).len();
    assert!((600_000..1_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn text_of_the_user_is_text() {
    let mut runs = [timed(test_run(1), 3), timed(test_run(1), 3)];
    for (index, run) in runs.iter_mut().enumerate() {
        run.summary.scenario.name = format!("<b>&\"'</b>{index}");
        run.summary.scenario.hash = "<hash>".to_owned();
        run.summary.run.version = "<version>".to_owned();
        run.summary.warnings = vec!["<warning>".to_owned()];
        run.scenario_toml = format!("\"<key>\" = \"</pre><toml>{index}\"");
    }
    for page in [render(&runs[..1]), render(&runs)] {
        for raw in ["<b>", "<hash>", "<version>", "<warning>", "<key>", "<toml>"] {
            assert!(!page.contains(raw), "{raw}");
        }
        for told in
            ["&lt;b&gt;&amp;", "&lt;hash&gt;", "&lt;version&gt;", "&lt;warning&gt;", "&lt;key&gt;", "&lt;/pre&gt;"]
        {
            assert!(page.contains(told), "{told}");
        }
    }
}

#[test]
fn what_never_changes_is_a_sentence_on_the_page_and_a_picture_in_the_files() {
    let still = |name, seed| {
        let mut run = small(name, seed);
        let whole = run.summary.capacity.logical_bytes_initial;
        run.timeline.iter_mut().for_each(|row| (row.exported_bytes, row.blocks_retired) = (whole, 0));
        run.scenario_toml.push_str(&format!("d = {seed}\n"));
        run
    };
    let runs = [still("one", 1), still("two", 2)];
    for (runs, told) in [
        (&runs[..1], "looks the same throughout: exported = 100\u{a0}%; blocks retired = 0\u{a0}%."),
        (&runs[..], "looks the same in both runs: share of the first capacity = 100\u{a0}%."),
    ] {
        let page = render(runs);
        assert!(page.contains("<h2>Capacity over the life</h2>") && page.contains(told), "{told}");
        assert!(!page.contains("data-chart=\"capacity\""), "{told}");
        assert!(
            all_pictures(runs).iter().flat_map(|figure| &figure.drawings).any(|drawing| drawing.id() == "capacity")
        );
    }
    assert!(render(&runs[..1]).contains("data-chart=\"wear\""), "a main picture of a run");
    assert!(render(&[small("one", 1)]).contains("data-chart=\"capacity\""));
}

#[test]
fn elements_are_closed_and_ids_are_unique() {
    for runs in [vec![longest("one", 1), longest("two", 2)], several_timed(64), several_timed(1)] {
        closed_and_unique(&render(&runs));
    }
}

fn closed_and_unique(page: &str) {
    for element in ["svg", "g", "text", "table", "tr", "td", "th", "details", "section", "figure", "div", "p", "dl"] {
        let opened = page.matches(&format!("<{element}>")).count() + page.matches(&format!("<{element} ")).count();
        assert_eq!(opened, page.matches(&format!("</{element}>")).count(), "{element}");
    }
    let mut ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

#[test]
fn every_picture_is_described_and_has_its_numbers() {
    let page = render(&[longest("one", 1)]);
    let count = |text: &str| page.matches(text).count();
    assert_eq!(count("<figure>"), 5);
    assert_eq!(count("<summary>Numbers</summary>"), 5);
    assert_eq!(count("<svg"), count("<desc "));
    assert_eq!(count("<svg"), count("role=\"img\""));
}

#[test]
fn colors_are_variables_only() {
    for runs in [vec![longest("one", 1), longest("two", 2)], several_timed(64), several_timed(1)] {
        let page = render(&runs);
        let markup = page.split("</style>").nth(1).unwrap();
        for color in ["fill=", "stroke=", "style=", "rgb("] {
            assert!(!markup.contains(color), "{color}");
        }
    }
}

#[test]
fn seeds_of_one_scenario_are_drawn_as_a_band() {
    assert!(render(&many(1, 4)).contains("area s0 band"));
    assert!(!render(&many(2, 1)).contains("area s0 band"));
}

/// Runs as a sweep leaves them, with values that differ.
fn swept(keys: &[(&str, &[&str])], of: impl Fn(RunResult) -> RunResult) -> Vec<RunResult> {
    let cells = keys.iter().fold(vec![String::new()], |cells, (key, values)| {
        cells.iter().flat_map(|cell| values.iter().map(move |value| format!("{cell} {key}={value}"))).collect()
    });
    let cell = |(index, name): (usize, &String)| {
        let mut run = of(small("cell", 1 + index as u64));
        run.summary.scenario.name = name.trim().to_owned();
        run.scenario_toml.push_str(&format!("cell = {index}\n"));
        run.summary.end.at_drive_writes *= 1.0 + 0.37 * (index % 7) as f64;
        run.summary.write_amplification.total = Some(1.0 + 20.0 / (1.0 + index as f64));
        run
    };
    cells.iter().enumerate().map(cell).collect()
}

/// Every kind of page, by name.
fn pages() -> Vec<(&'static str, Vec<RunResult>)> {
    let d = ("ftl.gc.d", &["1", "2", "4", "8", "16", "64"][..]);
    let gc = ("ftl.gc.policy", &["greedy", "cost-benefit", "windowed-greedy", "d-choices"][..]);
    let spare = ("drive.spare-factor", &["0.07", "0.1", "0.125", "0.15", "0.2", "0.28"][..]);
    let traces: &[&str] =
        &["a-rather-long-name-of-a-trace.iolog.zst", "another-long-name-of-a-trace.iolog.zst", "short.gz"];
    let plain = |run| run;
    let with_windows = |run| timed(run, 40);
    let mut living = small("living", 1);
    living.summary.end.reason = wane_results::EndReason::DriveWrites;
    let twice = |runs: Vec<RunResult>| {
        let again = runs.clone().into_iter().map(|mut run| {
            run.summary.end.at_drive_writes *= 1.01;
            run
        });
        runs.iter().cloned().chain(again).collect::<Vec<_>>()
    };
    vec![
        ("a run", vec![longest("one", 1)]),
        ("a small run", vec![test_run(1)]),
        ("a drive that lives", vec![living]),
        ("seeds", many(1, 2)),
        (
            "two runs",
            vec![
                longest("one", 1),
                made_up(MadeUp { name: "two", seed: 2, blocks: 64, rows: 40, variant: false, leveled: true }),
            ],
        ),
        ("a timed run", vec![timed(small("one", 1), 64)]),
        ("a window", vec![timed(small("one", 1), 1)]),
        ("timed runs", several_timed(40)),
        ("timed runs of a window", several_timed(1)),
        ("nine runs", swept(&[("x.y", &["1", "2", "3", "4", "5", "6", "7", "8", "9"])], plain)),
        ("a sweep", swept(&[d], plain)),
        ("a sweep with seeds", twice(swept(&[d], plain))),
        ("a sweep of names", swept(&[gc], plain)),
        ("a sweep of long names", swept(&[("workload.trace", traces)], with_windows)),
        ("a sweep of two keys", swept(&[spare, gc], plain)),
        ("a timed sweep of two keys", swept(&[spare, gc], with_windows)),
        ("a sweep of two numbers", swept(&[spare, d], plain)),
        ("a sweep of three keys", swept(&[("a.x", &["1", "2"]), spare, gc], plain)),
        (
            "a timed sweep of three keys",
            swept(&[("drive.ecc.strength", &["40", "72"]), ("a.d", &["1", "2", "4"]), gc], with_windows),
        ),
        (
            "a sweep of four keys",
            swept(
                &[
                    ("drive.ecc.strength", &["40", "72"]),
                    ("drive.over-provisioning", &["0.07", "0.28"]),
                    ("workload.trace", &traces[..2]),
                    ("ftl.gc", &["{policy=\"d-choices\",d=2}", "{policy=\"d-choices\",d=8}"]),
                ],
                plain,
            ),
        ),
    ]
}

#[test]
fn no_text_is_clipped_or_lies_over_other_text() {
    // The pictures of a page 420, 701, 900 and 1,400 pixels wide, less its margins, and of files.
    let whole: [(Size, &[f64]); 2] = [(Size::Narrow, &[388.0]), (Size::Wide, &[669.0, 868.0, 880.0])];
    let half: [(Size, &[f64]); 1] = [(Size::Half, &[388.0, 324.5, 424.0, 430.0])];
    let paper: [(Size, &[f64]); 2] = [(Size::Column, &[321.3]), (Size::Across, &[672.8])];
    let mut faults = Vec::new();
    for (name, runs) in pages() {
        for figure in all_pictures(&runs) {
            let screen: &[(Size, &[f64])] = match figure.arrangement {
                Arrangement::Whole => &whole,
                Arrangement::Pair => &half,
            };
            for drawing in &figure.drawings {
                let on_paper = if drawing.is_wide() { &paper[1..] } else { &paper[..] };
                let on_screen = screen.iter().map(|size| (size, Font::DejaVu));
                for ((size, shown), font) in on_screen.chain(on_paper.iter().map(|size| (size, Font::Noto))) {
                    let found = boxes::faults(&drawing.draw(*size), shown, font);
                    let told = |fault: &String| format!("{name}, {}, {size:?}, {font:?}: {fault}", drawing.id());
                    faults.extend(found.iter().map(told));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn captions_and_tables_fit_the_page() {
    for (name, runs) in pages() {
        let page = render(&runs);
        for pixels in [420.0, 701.0, 900.0, 1400.0] {
            assert_eq!(flow::faults(&page, pixels), Vec::<String>::new(), "{name} at {pixels} pixels");
        }
    }
}

/// A browser that can print a page after its scripts ran.
fn browser() -> Option<std::path::PathBuf> {
    const NAMES: [&str; 6] =
        ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell"];
    if let Some(named) = std::env::var_os("WANE_BROWSER") {
        return Some(named.into());
    }
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let places = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// What a browser finds wrong with a page of this width in pixels; `None` where it does not print the page within a minute.
fn found_by(browser: &std::path::Path, page: &str, pixels: u32) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let check = include_str!("browser.js");
    let listening = "<head><script>window.faults = []; onerror = (text) => faults.push(text);</script>";
    let watched =
        page.replacen("<head>", listening, 1).replacen("</body>", &format!("<script>{check}</script></body>"), 1);
    std::fs::write(place("page.html"), watched).unwrap();
    let mut run = std::process::Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("--window-size={pixels},1000"))
        .arg(format!("--user-data-dir={}", place("profile").display()))
        .arg(format!("file://{}", place("page.html").display()))
        .stdout(std::fs::File::create(place("dom.html")).unwrap())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // A browser that hangs must not hang the tests.
    let ended = (0..1200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        run.try_wait().unwrap().is_some()
    });
    if !ended {
        run.kill().unwrap();
        run.wait().unwrap();
        return None;
    }
    let dom = std::fs::read_to_string(place("dom.html")).unwrap();
    dom.split("<pre id=\"found\">").nth(1)?.split("</pre>").next().map(str::to_owned)
}

#[test]
fn a_browser_finds_no_fault_in_either_theme() {
    const WANTED: [&str; 4] = ["a timed run", "timed runs", "nine runs", "a timed sweep of two keys"];
    let Some(browser) = browser() else {
        return wane_testkit::skipped(
            "no browser (chromium, google-chrome or what WANE_BROWSER names) lays out the pages",
        );
    };
    let mut faults = Vec::new();
    for (name, runs) in pages().into_iter().filter(|(name, _)| WANTED.contains(name)) {
        let page = render(&runs);
        let dark = page.replace("@media (prefers-color-scheme: dark)", "@media all");
        // Only colors differ in the dark, and what they make the script do.
        for (theme, page, pixels) in
            [("light", &page, 420), ("light", &page, 900), ("light", &page, 1400), ("dark", &dark, 900)]
        {
            let Some(found) = found_by(&browser, page, pixels) else {
                return wane_testkit::skipped(
                    "the browser prints no page within a minute (chromium --headless --dump-dom)",
                );
            };
            faults.extend(found.lines().map(|fault| format!("{name}, {theme}, {pixels}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn results_without_a_life_still_make_a_page() {
    let mut empty = test_run(1);
    empty.timeline.clear();
    empty.blocks.clear();
    empty.summary.write_amplification = Default::default();
    empty.summary.host = Default::default();
    empty.scenario_toml.clear();
    let mut still = test_run(2);
    still.timeline.truncate(1);
    for runs in [vec![], vec![empty.clone()], vec![still.clone()], vec![empty, still, test_run(3)]] {
        let page = render(&runs);
        assert!(page.ends_with("</html>\n"));
        assert!(!page.contains("NaN") && !page.contains("inf "), "{page}");
        differences(&runs);
    }
}
