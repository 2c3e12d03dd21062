//! What every page must be.

use super::{differences, render};
use crate::results::{MadeUp, RunResult, made_up, test_run};

fn longest(name: &'static str, seed: u64) -> RunResult {
    made_up(MadeUp { name, seed, blocks: 8192, rows: 2048, variant: true, leveled: false })
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

#[test]
fn the_page_needs_nothing_else() {
    let page = render(&[longest("one", 1), longest("two", 2), longest("two", 3)]);
    let rest = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!rest.contains(outside), "{outside}");
    }
}

#[test]
fn the_page_stays_under_a_megabyte() {
    for (scenarios, seeds) in [(1, 1), (6, 1), (24, 1), (1, 12), (3, 8), (100, 1)] {
        let bytes = render(&many(scenarios, seeds)).len();
        assert!(bytes < 1_000_000, "{scenarios} scenarios of {seeds} seeds: {bytes} bytes");
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
    let mut runs = [test_run(1), test_run(1)];
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
fn elements_are_closed_and_ids_are_unique() {
    let page = render(&[longest("one", 1), longest("two", 2)]);
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
    let page = render(&[longest("one", 1), longest("two", 2)]);
    let markup = page.split("</style>").nth(1).unwrap();
    for color in ["fill=", "stroke=", "style=", "rgb("] {
        assert!(!markup.contains(color), "{color}");
    }
}

#[test]
fn seeds_of_one_scenario_are_drawn_as_a_band() {
    assert!(render(&many(1, 4)).contains("area s0 band"));
    assert!(!render(&many(2, 1)).contains("area s0 band"));
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
