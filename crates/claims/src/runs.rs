//! The runs behind claims, and the claims' results on them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use wane_lab::session::{self, SessionError};
use wane_results::RunResult;
use wane_scenario::Scenario;

use super::{Claim, Finding, OverSeeds, Reading, Reproduced, pictures};

/// Number of seeds that a fragile claim is run with: that of its scenarios and those that follow.
pub const SEEDS: u64 = 5;

/// Is called for every finished run, with the number that are done, the number known to be needed, and the run's name.
pub type Each<'a> = &'a (dyn Fn(usize, usize, &str) + Sync);

/// The Python package's measurement of a claim.
#[derive(Clone, Debug)]
pub struct Packaged {
    /// By seed, the claim's own first: [`Claim::packaged_seeds`] of them.
    pub findings: Vec<Finding>,
    /// Under other readings.
    pub others: Vec<Reading>,
}

/// The runs behind claims, each made once, looked up with one seed.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    results: Arc<BTreeMap<String, RunResult>>,
    packaged: Arc<BTreeMap<&'static str, Packaged>>,
    /// How far the seed is from that of the claims' scenarios.
    shift: u64,
}

/// Runs the claims in parallel and returns their results, or `None` if the user stopped.
///
/// Fragile claims have [`SEEDS`] seeds; with `every_seed`, all claims that a seed can change have them. `packaged` has the Python package's
/// measurements by claim.
///
/// # Errors
/// A run gave no result.
///
/// # Panics
/// One of the claims needs the package, and `packaged` has nothing of it, or not all of its seeds.
pub fn reproduce<'a>(
    claims: &'a [Claim],
    packaged: BTreeMap<&'static str, Packaged>,
    every_seed: bool,
    stop: &Arc<AtomicBool>,
    each: Each<'_>,
) -> Result<Option<(Runs, Vec<Reproduced<'a>>)>, SessionError> {
    let asks_seeds = |claim: &Claim| claim.class.is_drawn() && (every_seed || claim.over_seeds == OverSeeds::Changed);
    let mut runs = Runs { packaged: Arc::new(packaged), ..Runs::default() };
    let firsts = claims.iter().flat_map(Claim::scenarios);
    let others = claims.iter().filter(|claim| asks_seeds(claim)).flat_map(other_seeds);
    if !runs.add(firsts.chain(others), stop, each)? {
        return Ok(None);
    }
    let mut rows: Vec<Reproduced<'a>> = claims.iter().map(|claim| runs.reproduced(claim)).collect();
    let late = rows.iter().filter(|row| wants_seeds(row)).flat_map(|row| other_seeds(row.claim));
    if !runs.add(late, stop, each)? {
        return Ok(None);
    }
    for row in &mut rows {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if asks_seeds(row.claim) || wants_seeds(row) {
            row.seeds = runs.by_seed(row);
        }
    }
    Ok(Some((runs, rows)))
}

/// Whether a verdict is fragile, so that other seeds are run.
fn wants_seeds(row: &Reproduced<'_>) -> bool {
    row.claim.class.is_drawn() && !row.fragile().is_empty()
}

/// Scenarios that a claim runs with the seeds that follow the first.
fn other_seeds(claim: &Claim) -> Vec<Scenario> {
    let scenarios = (claim.scenarios)();
    debug_assert!(scenarios.windows(2).all(|pair| pair[0].seed == pair[1].seed), "{}: its runs share a seed", claim.id);
    (1..SEEDS).flat_map(|shift| scenarios.iter().map(move |scenario| shifted(scenario, shift))).collect()
}

fn shifted(scenario: &Scenario, shift: u64) -> Scenario {
    Scenario { seed: scenario.seed + shift, ..scenario.clone() }
}

impl Runs {
    /// Runs the scenarios that have no result yet. Returns false if the user stopped.
    fn add(
        &mut self,
        scenarios: impl Iterator<Item = Scenario>,
        stop: &Arc<AtomicBool>,
        each: Each<'_>,
    ) -> Result<bool, SessionError> {
        let results = Arc::make_mut(&mut self.results);
        let wanted: BTreeMap<String, Scenario> = scenarios.map(|scenario| (scenario.hash(), scenario)).collect();
        let mut wanted: Vec<Scenario> =
            wanted.into_iter().filter(|(hash, _)| !results.contains_key(hash)).map(|(_, scenario)| scenario).collect();
        // The largest first, so that no long run is left alone at the end.
        wanted.sort_by_key(|scenario| std::cmp::Reverse(scenario.device.logical_units));
        let (done, all) = (AtomicUsize::new(results.len()), results.len() + wanted.len());
        let finished = |number: usize, _: &session::Outcome, _: bool| {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            each(done, all, &wanted[number].name);
        };
        let outcomes = session::execute_all(&wanted, None, stop, &finished, &|_, _| {});
        assert_eq!(outcomes.len(), wanted.len(), "each scenario has an outcome, or none where the user stopped");
        for (scenario, outcome) in wanted.iter().zip(outcomes) {
            match outcome {
                Some(Ok(result)) if !session::interrupted(&result) => results.insert(scenario.hash(), result),
                Some(Err(error)) => return Err(error),
                Some(Ok(_)) | None => return Ok(false),
            };
        }
        Ok(true)
    }

    /// Returns a scenario with the seed of these runs, for runs that a claim makes itself.
    pub(super) fn seeded(&self, scenario: &Scenario) -> Scenario {
        shifted(scenario, self.shift)
    }

    /// The seed of what a claim draws itself.
    pub(super) const fn seed(&self) -> u64 {
        1 + self.shift
    }

    /// Whether the seed is that of the claims' scenarios. Runs for tables and other readings have no other seed.
    pub(super) const fn is_first_seed(&self) -> bool {
        self.shift == 0
    }

    pub(super) fn get(&self, scenario: &Scenario) -> &RunResult {
        self.results.get(&self.seeded(scenario).hash()).expect("a claim names the scenarios that it evaluates")
    }

    /// The package's finding for a claim with the seed of these runs.
    pub(super) fn packaged(&self, id: &str) -> Finding {
        let found = self.packaged.get(id).and_then(|found| found.findings.get(usize::try_from(self.shift).ok()?));
        found.expect("the caller of `reproduce` passes the package's measurement with all its seeds").clone()
    }

    /// The package's results for a claim under other readings.
    pub(super) fn packaged_others(&self, id: &str) -> Vec<Reading> {
        self.packaged.get(id).map(|found| found.others.clone()).unwrap_or_default()
    }

    fn reproduced<'a>(&self, claim: &'a Claim) -> Reproduced<'a> {
        let finding = (claim.evaluate)(self);
        assert!(!finding.ours.is_empty(), "{}: a claim comes to something, or says that it was not run", claim.id);
        debug_assert!(finding.is_tabular(), "{}: rows of its table are not as wide as its head", claim.id);
        Reproduced { claim, finding, others: claim.others.evaluate(self), seeds: Vec::new() }
    }

    /// Results of a claim with each seed.
    fn by_seed(&self, row: &Reproduced<'_>) -> Vec<(u64, Finding)> {
        debug_assert!(row.claim.class.is_drawn(), "seeds change nothing of what is no draw");
        let seed = (row.claim.scenarios)().first().map_or(1, |scenario| scenario.seed);
        let with = |shift: u64| {
            if shift == 0 {
                return row.finding.clone();
            }
            (row.claim.evaluate)(&Self { shift, ..self.clone() })
        };
        (0..SEEDS).map(|shift| (seed + shift, with(shift))).collect()
    }

    /// A page with the pictures of a claim's runs, if it has any.
    pub fn figure(&self, claim: &Claim) -> Option<String> {
        if let Some(page) = pictures::of(claim.id, self) {
            return Some(page);
        }
        let results: Vec<RunResult> = (claim.scenarios)().iter().map(|scenario| self.get(scenario).clone()).collect();
        (!results.is_empty()).then(|| wane_report::render(&results))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Matter, Reading, Verdict, claims, scenario};
    use wane_lab::build::PolicyOverrides;
    use wane_lab::run::Watch;
    use wane_results::{LatencyDistribution, OperationFigures, OperationLatency};

    /// A short run with two probes, half of whose requests read.
    fn short_run() -> RunResult {
        let text = "drive = { preset = 'tiny' }\nworkload = { pattern = 'uniform', read-share = 0.5 }\nuntil.drive-writes = 1\n\
                    time.scheduler = 'timeline'\nprobe = { at-drive-writes = [0, 0.5], until = { requests = 100 } }";
        let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
        let mut run = session::execute(&scenario("short", text), &PolicyOverrides::default(), &mut watch).unwrap();
        // As if its reads were lookups of a key-value store.
        let figures = OperationFigures {
            times: LatencyDistribution { count: 1, p99_ns: 1, ..LatencyDistribution::default() },
            per_second: 1.0,
        };
        let operations = OperationLatency { all: figures, read: Some(figures), ..OperationLatency::default() };
        run.windows.iter_mut().for_each(|window| window.latency.operations = Some(operations));
        run
    }

    /// One short run in the place of every scenario.
    fn stood_in(scenarios: impl IntoIterator<Item = Scenario>, result: &RunResult, shift: u64) -> Runs {
        let results = scenarios.into_iter().map(|scenario| (scenario.hash(), result.clone())).collect();
        Runs { results: Arc::new(results), shift, ..Runs::default() }
    }

    #[test]
    fn claims_of_lives_run_what_they_look_at() {
        let result = short_run();
        for claim in claims().iter().filter(|claim| claim.id.starts_with("CV") || claim.id.starts_with("CS")) {
            let runs = stood_in(claim.scenarios(), &result, 0);
            let row = runs.reproduced(claim);
            assert!(!row.finding.ours.is_empty(), "{}", claim.id);
            assert_eq!(runs.figure(claim).is_some(), !claim.scenarios().is_empty(), "{}", claim.id);
            let with_another_seed = (claim.scenarios)().into_iter().map(|scenario| shifted(&scenario, 1));
            (claim.evaluate)(&stood_in(with_another_seed, &result, 1));
        }
    }

    #[test]
    fn the_page_has_the_texts_of_the_variant_drives_claims() {
        let (page, result) = (include_str!("../../../docs/claims.md"), short_run());
        for claim in claims().iter().filter(|claim| claim.id.starts_with("CS")) {
            let row = stood_in(claim.scenarios(), &result, 0).reproduced(claim);
            // Whether seeds were tried follows from the verdicts, which a short run does not have.
            for (title, text) in crate::details(&row).into_iter().filter(|(title, _)| *title != "seeds") {
                assert!(page.contains(&format!("\n- {title}: {text}\n")), "{}: {title}: {text}", claim.id);
            }
        }
    }

    #[test]
    fn what_the_package_measured_comes_back_with_its_seeds_and_readings() {
        let claims: Vec<Claim> = claims().into_iter().filter(|claim| claim.id.starts_with("DC8")).collect();
        let finding = |number: u64| Finding {
            ours: format!("{number} hours"),
            verdict: Verdict::Differs,
            note: String::new(),
            table: String::new(),
        };
        let line =
            Reading { what: "a line".into(), matter: Matter::Choice, ours: "5".into(), verdict: Verdict::Agrees };
        let packaged = Packaged { findings: (1..=SEEDS).map(finding).collect(), others: vec![line] };
        let given = BTreeMap::from([("DC8", packaged)]);
        let (_, rows) = reproduce(&claims, given, false, &Arc::default(), &|_, _, _| {}).unwrap().unwrap();
        assert_eq!(rows[0].standing(), "differs, fragile (choice)");
        let seeds: Vec<(u64, &str)> = rows[0].seeds.iter().map(|(seed, found)| (*seed, found.ours.as_str())).collect();
        assert_eq!(seeds, [(1, "1 hours"), (2, "2 hours"), (3, "3 hours"), (4, "4 hours"), (5, "5 hours")]);
    }

    #[test]
    fn fragile_claims_want_seeds() {
        let claims = claims();
        let finding = Finding { ours: "1".into(), verdict: Verdict::Agrees, note: String::new(), table: String::new() };
        let row = |id: &str, verdict| Reproduced {
            claim: claims.iter().find(|claim| claim.id == id).unwrap(),
            finding: finding.clone(),
            others: vec![Reading { what: "else".into(), matter: Matter::Choice, ours: "2".into(), verdict }],
            seeds: Vec::new(),
        };
        for (id, verdict, want) in [
            ("WL1", Verdict::Differs, true),
            ("WL1", Verdict::Agrees, false),
            ("CV1", Verdict::Differs, true),
            ("RE10", Verdict::Differs, false),
        ] {
            assert_eq!(wants_seeds(&row(id, verdict)), want, "{id} {verdict:?}");
        }
    }
}
