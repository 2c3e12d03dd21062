//! Tests of untimed scenarios, and the texts and values that tests of several files share.

mod any_input;
mod drives;
mod layers;
mod refusals;
mod resolved;

use super::layer::Layer;
use super::schema::sections;
use super::*;

pub(super) const EXAMPLE: &str = r#"
seed = 1
[drive]
preset           = "ftlsim-256g"
logical-capacity = "8 GiB"
spare-factor     = "10 %"            # (physical - logical) / physical
page-size        = "4 KiB"
pages-per-block  = 256
endurance        = 500               # rated P/E cycles, which policies read; or "none"
[ftl]
gc               = { policy = "greedy" }
wear-leveling    = { policy = "pwl", threshold = "50 %" }
capacity         = "fixed"           # or "variant", or { policy = "variant", shrink = "graceful", relocation-bound = "1 GiB" }
[precondition]
sequential-drive-writes = 1
random-drive-writes     = 3
[workload]
pattern   = "hot-cold"               # r of the writes go to h of the footprint
r         = 0.9
h         = 0.1
footprint = "100 %"
[until]
drive-writes = 100
end-of-life  = true                  # whichever comes first
"#;

pub(super) const PHASES: &str = r#"
[drive]
preset = "amber-mlc"
blocks-per-plane = 64
[[phase]]
workload = { mix = [{ share = "70 %", pattern = "zipf", exponent = 1.1 }, { share = 0.3, trace = "a.csv", loop = false }] }
until = { requests = 1_000 }
[[phase]]
workload = { pattern = "hybrid", request-size = "16 KiB", read-share = 0.5 }
until = { drive-writes = 0.5, end-of-life = true }
"#;

fn resolve(text: &str, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
    Scenario::resolve(&Sources { preset: None, file: Some(("test.toml", text)), set: &set })
}

#[test]
fn the_example_resolves_as_written() {
    let scenario = resolve(EXAMPLE, &[]).unwrap();
    let device = &scenario.device;
    assert_eq!((device.logical_units, device.rated_blocks, device.blocks), (2_097_152, 9102, 9109));
    assert_eq!(device.endurance, Some(500));
    assert_eq!(scenario.ftl.wear_leveling.table().get("threshold").and_then(Value::as_str), Some("50 %"));
    assert_eq!(scenario.precondition.random_drive_writes, 3.0);
    let Workload::Pattern(spec) = &scenario.phases[0].workload else { panic!("a pattern") };
    assert!(matches!(spec.pattern, Pattern::HotCold { .. }) && spec.footprint_units == 2_097_152);
    assert_eq!(scenario.phases[0].until, Until { drive_writes: Some(100.0), end_of_life: true, ..Until::default() });
    assert_eq!(scenario.name, "test");
}

/// Values of every kind, good and bad.
pub(super) const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "64",
    "1000",
    "4096",
    "1048576",
    "4294967295",
    "9223372036854775807",
    "-1",
    "0.1",
    "0.5",
    "0.999999999999",
    "1.0",
    "1e300",
    "nan",
    "true",
    "false",
    "'none'",
    "'0 %'",
    "'99.9999 %'",
    "'512 B'",
    "'4 KiB'",
    "'16 KiB'",
    "'16 MiB'",
    "'1 GiB'",
    "'1 TiB'",
    "'16 TiB'",
    "'65536 TiB'",
    "'die'",
    "'superblock'",
    "'separate'",
    "'never'",
    "'zipf'",
    "'hot-cold'",
    "'tiny'",
    "'amber-mlc'",
    "'pwl'",
    "'variant'",
    "'dual-pool'",
    "'mlc-8g'",
    "'fast19-ssd'",
    "'tlc-72l-2018'",
    "'tlc'",
    "'event'",
    "'timeline'",
    "'priority'",
    "'both'",
    "'trace'",
    "'1 ns'",
    "'3.8 ms'",
    "'90 days'",
    "'667 MB/s'",
    "['1 us', '2.5 us']",
    "['1 day', '9 days']",
    "[0, 0.5, 3]",
    "{ queue-depth = 3 }",
    "{ normal = ['1 ms', '1 us'] }",
    "{ arrival = { poisson = '7 us' } }",
    "{ standin = 'rad-be' }",
    "{}",
    "[]",
];

#[test]
fn the_manual_has_every_key() {
    let manual = manual();
    let keys = sections().iter().flat_map(|section| &section.keys);
    keys.for_each(|(key, _)| assert!(manual.contains(&format!("| `{key}` |")), "{key}"));
    for section in sections().iter().filter(|section| !section.name.is_empty()) {
        assert!(manual.contains(&format!("\n## `{}`\n", section.title())), "{}", section.name);
    }
}

/// Scenarios of the book: its TOML blocks that say when a run ends, or would with one more line.
pub(super) fn scenarios_of_the_book() -> Vec<String> {
    let book = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src");
    let mut chapters: Vec<_> = std::fs::read_dir(book).unwrap().map(|entry| entry.unwrap().path()).collect();
    chapters.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    chapters.sort();
    let texts = chapters.iter().map(|path| std::fs::read_to_string(path).unwrap());
    let blocks = |text: String| -> Vec<String> {
        text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
    };
    texts.flat_map(blocks).collect()
}
