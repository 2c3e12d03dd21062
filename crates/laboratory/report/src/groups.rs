//! Which runs are seeds of one scenario, what each is called, and in which keys their scenarios differ.

use std::collections::BTreeMap;

use super::along::Along;
use super::series::{assigned_to, style};
use wane_results::{Common, Estimate, RunResult, Summary, seeds_made_no_difference, whole_runs};

/// Runs of one scenario by one version, which differ in their seed only.
#[derive(Clone, Debug)]
pub(super) struct Group<'a> {
    /// A name that no other group has.
    pub(super) label: String,
    /// The runs that count, at least one: only the first if seeds made no difference, since copies of one observation are no sample.
    pub(super) runs: Vec<&'a RunResult>,
    /// All of them.
    pub(super) all: Vec<&'a RunResult>,
    /// Its scenario as dotted keys, without the seed.
    pub(super) keys: Keys,
    /// Place in the list of groups.
    pub(super) index: usize,
    /// What the latencies of all groups have in common.
    pub(super) common: Common,
    /// Number of interrupted runs that are left out, as others came to their end.
    pub(super) left_out: usize,
    /// The axis that the lives of all groups are laid out along.
    pub(super) life: Along,
    /// Classes of its color and dashes.
    pub(super) style: String,
}

/// A scenario as dotted keys and the values as written.
pub(super) type Keys = BTreeMap<String, String>;

impl Group<'_> {
    /// The run that stands for the group where only one can be shown.
    pub(super) fn first(&self) -> &RunResult {
        self.runs[0]
    }

    /// Mean and interval of a figure over the seeds; `None` where no run has it.
    pub(super) fn estimate(&self, figure: impl Fn(&Summary) -> Option<f64>) -> Option<Estimate> {
        let values: Vec<f64> = self.runs.iter().filter_map(|run| figure(&run.summary)).collect();
        Estimate::of(&values)
    }

    /// Mean of a figure of latencies over the seeds, at the age that all runs have.
    pub(super) fn mean_latency(&self, figure: impl Fn(&RunResult) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.runs.iter().filter_map(|run| figure(run)).collect();
        Estimate::of(&values).map(|estimate| estimate.mean)
    }

    /// Mean of a figure over the seeds.
    pub(super) fn mean(&self, figure: impl Fn(&Summary) -> Option<f64>) -> Option<f64> {
        self.estimate(figure).map(|estimate| estimate.mean)
    }

    /// Classes that give the group its color and dashes.
    pub(super) fn class(&self) -> String {
        self.style.clone()
    }

    /// Number of seeds, if all gave the same results; `None` if they did not, or there is one.
    pub(super) fn alike(&self) -> Option<usize> {
        (self.all.len() > self.runs.len()).then_some(self.all.len())
    }

    /// The rated P/E cycles, where the scenario has them.
    pub(super) fn endurance(&self) -> Option<f64> {
        self.keys.get("drive.endurance")?.parse().ok()
    }
}

/// Number of results that repeat an earlier one, of the same scenario, seed and version.
pub fn repeated(runs: &[RunResult]) -> usize {
    runs.len() - gathered(runs).iter().map(|group| group.runs.len()).sum::<usize>()
}

/// Whether two results are of one run. The scenario includes its seed.
pub(super) fn is_repeated(run: &RunResult, other: &RunResult) -> bool {
    run.scenario_toml == other.scenario_toml
        && (run.summary.run.seed, &run.summary.run.version) == (other.summary.run.seed, &other.summary.run.version)
}

/// The groups, in the order of their first runs, each of runs that can be averaged.
pub(super) fn groups(runs: &[RunResult]) -> Vec<Group<'_>> {
    let mut groups = gathered(runs);
    for group in &mut groups {
        let all = group.runs.len();
        group.runs = whole_runs(std::mem::take(&mut group.runs), |run| &run.summary);
        group.left_out = all - group.runs.len();
        group.all = group.runs.clone();
        if seeds_made_no_difference(&group.runs) {
            group.runs.truncate(1);
        }
    }
    name(&mut groups);
    style(&mut groups);
    debug_assert!(groups.iter().all(|group| !group.runs.is_empty()), "a group has a run that stands for it");
    debug_assert!(
        (1..groups.len()).all(|at| groups[..at].iter().all(|group| group.label != groups[at].label)),
        "a label is that of one group"
    );
    groups
}

/// Groups runs by all that sets them apart but the seed. A repeated result counts once; otherwise an interval over seeds would be too narrow.
fn gathered(runs: &[RunResult]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let (common, life) = (Common::of(runs.iter()), Along::of_lives(runs));
    for run in runs {
        let keys = keys(&run.scenario_toml);
        let version = &run.summary.run.version;
        let same = |group: &&mut Group<'_>| group.keys == keys && group.first().summary.run.version == *version;
        match groups.iter_mut().find(same) {
            Some(group) if group.runs.iter().any(|other| is_repeated(run, other)) => {}
            Some(group) => group.runs.push(run),
            None => groups.push(Group {
                label: String::new(),
                runs: vec![run],
                all: Vec::new(),
                keys,
                index: groups.len(),
                style: String::new(),
                common,
                life,
                left_out: 0,
            }),
        }
    }
    groups
}

/// Gives every group a name: the scenario's, with the keys that set it apart where several share it.
fn name(groups: &mut [Group<'_>]) {
    let names: Vec<&str> = groups.iter().map(|group| group.first().summary.scenario.name.trim()).collect();
    let names: Vec<String> = names.iter().map(|name| if name.is_empty() { "run" } else { *name }.to_owned()).collect();
    let mut labels = Vec::new();
    for (index, wanted) in names.iter().enumerate() {
        let twins: Vec<&Group<'_>> =
            groups.iter().zip(&names).filter(|(_, other)| *other == wanted).map(|(group, _)| group).collect();
        if twins.len() == 1 {
            labels.push(wanted.clone());
            continue;
        }
        let own = &groups[index];
        let apart = differing(&twins.iter().map(|group| &group.keys).collect::<Vec<_>>());
        let told: Vec<String> = apart.iter().take(2).map(|key| told(key, own.keys.get(key))).collect();
        let told = if told.is_empty() { own.first().summary.run.version.clone() } else { told.join(", ") };
        labels.push(format!("{wanted} ({told})"));
    }
    for index in 0..groups.len() {
        let twin = labels[..index].contains(&labels[index]);
        groups[index].label = if twin { format!("{} #{}", labels[index], index + 1) } else { labels[index].clone() };
    }
}

/// "d = 4" of `ftl.gc.d`.
fn told(key: &str, value: Option<&String>) -> String {
    let short = key.rsplit('.').next().unwrap_or(key);
    // A policy is told by its name alone; what it is a policy for shows in the table of differing settings.
    if short == "policy" {
        return value.cloned().unwrap_or_else(|| "none".to_owned());
    }
    assigned_to(short, value.map_or("none", String::as_str))
}

/// Keys whose values are not the same in all scenarios.
pub(super) fn differing(scenarios: &[&Keys]) -> Vec<String> {
    let mut all: Vec<&String> = scenarios.iter().flat_map(|keys| keys.keys()).collect();
    all.sort();
    all.dedup();
    let differs = |key: &&&String| scenarios.iter().any(|keys| keys.get(**key) != scenarios[0].get(**key));
    all.iter().filter(differs).map(|key| (*key).clone()).collect()
}

/// The dotted keys of a scenario without its seed. Text that is no TOML becomes a single key, so that it still tells
/// scenarios apart.
fn keys(scenario_toml: &str) -> Keys {
    let mut keys = Keys::new();
    match scenario_toml.parse::<toml::Table>() {
        Ok(table) => {
            for (key, value) in table.iter().filter(|(key, _)| *key != "seed") {
                flatten(key, value, &mut keys);
            }
            // A cell of a sweep over seeds has its seed in its name as well.
            if let Some(name) = keys.get_mut("name") {
                let words = name.split(' ').filter(|word| !word.starts_with("seed="));
                *name = words.collect::<Vec<_>>().join(" ");
            }
        }
        Err(_) => {
            keys.insert("scenario".to_owned(), scenario_toml.to_owned());
        }
    }
    keys
}

fn flatten(path: &str, value: &toml::Value, keys: &mut Keys) {
    match value {
        toml::Value::Table(table) => {
            // Parameters of a policy that the user did not write are not part of a comparison.
            let unwritten =
                table.get("defaults").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let is_said = |key: &&str| *key != "defaults" && !unwritten.iter().any(|name| name.as_str() == Some(key));
            for (key, below) in table.iter().filter(|(key, _)| is_said(&key.as_str())) {
                flatten(&format!("{path}.{key}"), below, keys);
            }
        }
        toml::Value::Array(values) if values.iter().any(toml::Value::is_table) => {
            for (index, below) in values.iter().enumerate() {
                flatten(&format!("{path}.{}", index + 1), below, keys);
            }
        }
        toml::Value::String(text) => {
            keys.insert(path.to_owned(), text.clone());
        }
        other => {
            keys.insert(path.to_owned(), other.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_results::test_runs::test_run;

    fn run(name: &str, seed: u64, toml: &str) -> RunResult {
        let mut run = test_run(seed);
        run.summary.scenario.name = name.to_owned();
        run.scenario_toml = format!("seed = {seed}\n{toml}");
        run
    }

    #[test]
    fn runs_that_differ_in_their_seed_only_are_one_group() {
        let runs = [run("a", 1, "[x]\ny = 1"), run("b", 1, "[x]\ny = 2"), run("a", 2, "x = { y = 1 }")];
        let groups = groups(&runs);
        let found: Vec<(&str, usize)> = groups.iter().map(|group| (group.label.as_str(), group.runs.len())).collect();
        assert_eq!(found, [("a", 2), ("b", 1)]);
    }

    #[test]
    fn seeds_that_make_no_difference_are_one_observation() {
        let mut runs = [run("a", 1, "d = 1"), run("a", 2, "d = 1"), run("a", 1, "d = 2"), run("a", 2, "d = 2")];
        let seed = runs[1].summary.run.clone();
        runs[1].summary = wane_results::Summary { run: seed, ..runs[0].summary.clone() };
        runs[1].blocks = runs[0].blocks.clone();
        let groups = groups(&runs);
        let found: Vec<(usize, usize, Option<usize>)> =
            groups.iter().map(|group| (group.runs.len(), group.all.len(), group.alike())).collect();
        assert_eq!(found, [(1, 2, Some(2)), (2, 2, None)]);
        let page = crate::render(&runs[..2]);
        assert!(page.contains("All 2 seeds gave the same results") && !page.contains("95 %"), "{page}");
    }

    #[test]
    fn a_result_that_is_given_twice_counts_once() {
        let runs = [run("a", 1, "d = 1"), run("a", 2, "d = 1"), run("a", 1, "d = 1"), run("a", 1, "d = 2")];
        let sizes: Vec<usize> = groups(&runs).iter().map(|group| group.runs.len()).collect();
        assert_eq!((sizes, repeated(&runs)), (vec![2, 1], 1));
    }

    #[test]
    fn groups_of_one_name_are_told_apart() {
        let left_to_defaults = "[ftl.gc]\npolicy = \"greedy\"\ntie = \"entry\"\ndefaults = [\"tie\"]";
        let table: [([&str; 2], [&str; 2]); 4] = [
            (["d = 1\ne = 3", "d = 2\ne = 3"], ["d = 1", "d = 2"]),
            (["[ftl.gc]\npolicy = \"fifo\"", "[ftl]\ngc.policy = \"greedy\""], ["fifo", "greedy"]),
            (["[ftl.gc]\npolicy = \"fifo\"", left_to_defaults], ["fifo", "greedy"]),
            (["d = 1", "e = \"x\""], ["d = 1", "d = none"]),
        ];
        for (scenarios, expected) in table {
            let runs = scenarios.map(|toml| run("a", 1, toml));
            let labels: Vec<String> = groups(&runs).into_iter().map(|group| group.label).collect();
            assert_eq!(labels, expected);
        }
    }

    #[test]
    fn versions_are_compared_and_not_averaged() {
        let mut runs = [run("a", 1, ""), run("a", 1, "")];
        runs[1].summary.run.version = "0.2.0".to_owned();
        let labels: Vec<String> = groups(&runs).into_iter().map(|group| group.label).collect();
        assert_eq!(labels, ["a (0.1.0)", "a (0.2.0)"]);
    }

    #[test]
    fn a_scenario_that_is_no_toml_is_still_a_scenario() {
        assert_eq!(keys("= broken").len(), 1);
    }
}
