//! The runs behind claims, and the claims' results on them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use wane_lab::session::{self, SessionError};
use wane_results::{ResultError, RunResult};
use wane_scenario::Scenario;

use super::{Claim, Finding, FullSize, Kept, Matter, Others, OverSeeds, Reading, Reproduced, Traces, pictures};

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

/// What a reproduction is asked for besides its claims.
#[derive(Debug, Default)]
pub struct Options {
    /// The Python package's measurements by claim.
    pub packaged: BTreeMap<&'static str, Packaged>,
    /// Whether all claims that a seed can change have [`SEEDS`] seeds, and not only fragile ones.
    pub every_seed: bool,
    /// Traces on which claims with stand-ins are run too.
    pub traces: Option<Traces>,
    /// Whether claims that can be are also run at the size of the paper's drives.
    pub full_size: bool,
    /// Where finished runs are kept.
    pub kept: Option<Kept>,
}

/// The runs behind claims, each made once, looked up with one seed, on stand-ins or on traces.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    results: Arc<BTreeMap<String, RunResult>>,
    packaged: Arc<BTreeMap<&'static str, Packaged>>,
    kept: Option<Arc<Kept>>,
    /// How far the seed is from that of the claims' scenarios.
    shift: u64,
    /// The traces that take the place of stand-ins.
    traces: Option<Arc<Traces>>,
    /// Set where the user stops. What is evaluated then is worth nothing.
    stop: Arc<AtomicBool>,
}

/// Runs the claims in parallel and returns their results, or `None` if the user stopped.
///
/// # Errors
/// A run gave no result, or could not be kept.
///
/// # Panics
/// One of the claims needs the package, and the options have nothing of it, or not all of its seeds.
pub fn reproduce<'a>(
    claims: &'a [Claim],
    options: Options,
    stop: &Arc<AtomicBool>,
    each: Each<'_>,
) -> Result<Option<(Runs, Vec<Reproduced<'a>>)>, SessionError> {
    let Options { packaged, every_seed, traces, full_size, kept } = options;
    let asks_seeds = |claim: &Claim| claim.class.is_drawn() && (every_seed || claim.over_seeds == OverSeeds::Changed);
    let (packaged, kept) = (Arc::new(packaged), kept.map(Arc::new));
    let mut runs = Runs { packaged, kept, stop: Arc::clone(stop), ..Runs::default() };
    let on_traces = |runs: &Runs| Runs { traces: traces.clone().map(Arc::new), ..runs.clone() };
    let has_trace = |claim: &Claim| traces.as_ref().is_some_and(|traces| claim.has_trace(traces));
    let of_seeds: Vec<&Claim> = claims.iter().filter(|claim| asks_seeds(claim)).collect();
    let of_traces: Vec<&Claim> = claims.iter().filter(|claim| has_trace(claim)).collect();
    let firsts = claims.iter().flat_map(Claim::scenarios);
    let others = of_seeds.iter().flat_map(|claim| other_seeds(claim));
    let of_full_size = |claim: &Claim| claim.full_size.filter(|_| full_size);
    let full = claims.iter().filter_map(of_full_size).flat_map(|full| (full.scenarios)());
    let traced = on_traces(&runs);
    let swapped = of_traces.iter().flat_map(|claim| (claim.scenarios)()).map(|scenario| traced.shown(&scenario));
    if !runs.add(firsts.chain(others).chain(swapped).chain(full), stop, each)? {
        return Ok(None);
    }
    let mut later: Vec<Scenario> = claims.iter().flat_map(|claim| runs.later(claim)).collect();
    later.extend(of_seeds.iter().flat_map(|claim| runs.later_of_seeds(claim)));
    let traced = on_traces(&runs);
    later.extend(of_traces.iter().flat_map(|claim| traced.later(claim)));
    drop(traced);
    if !runs.add(later.into_iter(), stop, each)? {
        return Ok(None);
    }
    let mut rows: Vec<Reproduced<'a>> = Vec::new();
    for claim in claims {
        rows.push(runs.reproduced(claim)?);
        if runs.is_stopped() {
            return Ok(None);
        }
    }
    let late: Vec<&Claim> = rows.iter().filter(|row| wants_seeds(row)).map(|row| row.claim).collect();
    if !runs.add(late.iter().flat_map(|claim| other_seeds(claim)), stop, each)? {
        return Ok(None);
    }
    let later: Vec<Scenario> = late.iter().flat_map(|claim| runs.later_of_seeds(claim)).collect();
    if !runs.add(later.into_iter(), stop, each)? {
        return Ok(None);
    }
    for row in &mut rows {
        if asks_seeds(row.claim) || wants_seeds(row) {
            row.seeds = runs.by_seed(row)?;
        }
        if let Some(what) = traces.as_ref().and_then(|traces| traces.describe(&(row.claim.scenarios)())) {
            let Finding { ours, verdict, .. } = (row.claim.evaluate)(&on_traces(&runs));
            row.others.push(Reading { what, matter: Matter::Trace, ours, verdict });
        }
        if let Some(full) = of_full_size(row.claim) {
            let Finding { ours, verdict, .. } = runs.evaluated_at_full_size(row.claim, full)?;
            row.others.push(Reading { what: full.what.to_owned(), matter: Matter::FullSize, ours, verdict });
        }
        if runs.is_stopped() {
            return Ok(None);
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
    let is_apart = |one: &Scenario, other: &Scenario| one.seed == other.seed || one.seed.abs_diff(other.seed) >= SEEDS;
    debug_assert!(
        scenarios.iter().all(|one| scenarios.first().is_none_or(|first| is_apart(one, first))),
        "{}: its runs have one seed, or so different ones that none is another's when both are shifted",
        claim.id
    );
    (1..SEEDS).flat_map(|shift| scenarios.iter().map(move |scenario| shifted(scenario, shift))).collect()
}

fn shifted(scenario: &Scenario, shift: u64) -> Scenario {
    scenario.with_seed(scenario.seed + shift)
}

impl Runs {
    /// Runs the scenarios that have no result yet, neither here nor kept. Returns false if the user stopped.
    fn add(
        &mut self,
        scenarios: impl Iterator<Item = Scenario>,
        stop: &Arc<AtomicBool>,
        each: Each<'_>,
    ) -> Result<bool, SessionError> {
        let kept = self.kept.clone();
        let results = Arc::make_mut(&mut self.results);
        let wanted: BTreeMap<String, Scenario> = scenarios.map(|scenario| (scenario.hash(), scenario)).collect();
        let mut wanted: Vec<Scenario> =
            wanted.into_iter().filter(|(hash, _)| !results.contains_key(hash)).map(|(_, scenario)| scenario).collect();
        if let Some(kept) = &kept {
            let found =
                |scenario: &Scenario| kept.find(scenario).map(|run| results.insert(scenario.hash(), run)).is_none();
            wanted.retain(found);
        }
        // The largest first, so that no long run is left alone at the end.
        wanted.sort_by_key(|scenario| std::cmp::Reverse(scenario.device.logical_units));
        let (done, all) = (AtomicUsize::new(results.len()), results.len() + wanted.len());
        let unkept: Mutex<Option<ResultError>> = Mutex::new(None);
        let finished = |number: usize, outcome: &session::Outcome, _: bool| {
            let whole = outcome.as_ref().ok().filter(|result| !session::interrupted(result));
            if let Some((kept, result)) = kept.as_ref().zip(whole)
                && let Err(error) = kept.keep(&wanted[number], result)
            {
                *unkept.lock().expect("no holder panics") = Some(error);
                stop.store(true, Ordering::Relaxed);
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            each(done, all, &wanted[number].name);
        };
        let outcomes = session::execute_all(&wanted, None, stop, &finished, &|_, _| {});
        assert_eq!(outcomes.len(), wanted.len(), "each scenario has an outcome, or none where the user stopped");
        if let Some(error) = unkept.into_inner().expect("no holder panics") {
            return Err(error.into());
        }
        for (scenario, outcome) in wanted.iter().zip(outcomes) {
            match outcome {
                Some(Ok(result)) if !session::interrupted(&result) => results.insert(scenario.hash(), result),
                Some(Err(error)) => return Err(error),
                Some(Ok(_)) | None => return Ok(false),
            };
        }
        Ok(true)
    }

    /// The scenario that is looked at for a claim's: with the seed of these runs, and on a trace in place of its stand-in.
    fn shown(&self, scenario: &Scenario) -> Scenario {
        let seeded = self.seeded(scenario);
        self.traces.as_ref().and_then(|traces| traces.swapped(&seeded)).unwrap_or(seeded)
    }

    /// What a claim runs besides, by its results so far.
    fn later(&self, claim: &Claim) -> Vec<Scenario> {
        (claim.later)(self).iter().map(|scenario| self.shown(scenario)).collect()
    }

    /// The same with the seeds that follow the first.
    fn later_of_seeds(&self, claim: &Claim) -> Vec<Scenario> {
        (1..SEEDS).flat_map(|shift| Self { shift, ..self.clone() }.later(claim)).collect()
    }

    /// Returns a scenario with the seed of these runs, for runs that a claim makes itself.
    pub(super) fn seeded(&self, scenario: &Scenario) -> Scenario {
        shifted(scenario, self.shift)
    }

    /// The seed of what a claim draws itself.
    pub(super) const fn seed(&self) -> u64 {
        1 + self.shift
    }

    /// Whether the seed is that of the claims' scenarios. Runs for tables and other readings have no other seed, and are on no traces.
    pub(super) const fn is_first_seed(&self) -> bool {
        self.shift == 0 && self.traces.is_none()
    }

    pub(super) fn get(&self, scenario: &Scenario) -> &RunResult {
        self.results.get(&self.shown(scenario).hash()).expect("a claim names the scenarios that it evaluates")
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

    fn reproduced<'a>(&self, claim: &'a Claim) -> Result<Reproduced<'a>, ResultError> {
        let (finding, others) = self.evaluated(claim, Others::evaluate)?;
        assert!(!finding.ours.is_empty(), "{}: a claim comes to something, or says that it was not run", claim.id);
        debug_assert!(finding.is_tabular(), "{}: rows of its table are not as wide as its head", claim.id);
        Ok(Reproduced { claim, finding, others, seeds: Vec::new() })
    }

    /// Evaluates a claim. A claim without scenarios may simulate by itself for minutes, so its result is kept as runs are.
    fn evaluated(
        &self,
        claim: &Claim,
        others: fn(&Others, &Self) -> Vec<Reading>,
    ) -> Result<(Finding, Vec<Reading>), ResultError> {
        let kept = self.kept.as_ref().filter(|_| claim.scenarios().is_empty() && !claim.needs_package);
        if let Some(found) = kept.and_then(|kept| kept.find_claim(claim.id, self.shift)) {
            return Ok(found);
        }
        let (finding, others) = ((claim.evaluate)(self), others(&claim.others, self));
        if let Some(kept) = kept.filter(|_| !self.is_stopped()) {
            kept.keep_claim(claim.id, self.shift, &finding, &others)?;
        }
        Ok((finding, others))
    }

    /// Evaluates a claim at the size of the paper's drives. It is kept as runs are, since evaluating may take hours.
    fn evaluated_at_full_size(&self, claim: &Claim, full: FullSize) -> Result<Finding, ResultError> {
        let id = format!("{} at {}", claim.id, full.what);
        if let Some((found, _)) = self.kept.as_ref().and_then(|kept| kept.find_claim(&id, self.shift)) {
            return Ok(found);
        }
        let finding = (full.evaluate)(self);
        if let Some(kept) = self.kept.as_ref().filter(|_| !self.is_stopped()) {
            kept.keep_claim(&id, self.shift, &finding, &[])?;
        }
        Ok(finding)
    }

    /// The flag that ends runs that a claim makes itself.
    pub(super) const fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Results of a claim with each seed.
    fn by_seed(&self, row: &Reproduced<'_>) -> Result<Vec<(u64, Finding)>, ResultError> {
        debug_assert!(row.claim.class.is_drawn(), "seeds change nothing of what is no draw");
        let seed = (row.claim.scenarios)().first().map_or(1, |scenario| scenario.seed);
        let with = |shift: u64| {
            if shift == 0 {
                return Ok(row.finding.clone());
            }
            Self { shift, ..self.clone() }.evaluated(row.claim, |_, _| Vec::new()).map(|(finding, _)| finding)
        };
        (0..SEEDS).map(|shift| with(shift).map(|finding| (seed + shift, finding))).collect()
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
            let row = runs.reproduced(claim).unwrap();
            assert!(!row.finding.ours.is_empty(), "{}", claim.id);
            assert_eq!(runs.figure(claim).is_some(), !claim.scenarios().is_empty(), "{}", claim.id);
            let with_another_seed = (claim.scenarios)().into_iter().map(|scenario| shifted(&scenario, 1));
            (claim.evaluate)(&stood_in(with_another_seed, &result, 1));
        }
    }

    #[test]
    fn what_follows_from_results_follows_with_every_seed() {
        let result = short_run();
        let claims = claims();
        let following = claims.iter().filter(|claim| claim.id == "FF2");
        for (claim, shift) in following.flat_map(|claim| [(claim, 0), (claim, 1)]) {
            let first = if shift == 0 { claim.scenarios() } else { (claim.scenarios)() };
            let first: Vec<Scenario> = first.iter().map(|scenario| shifted(scenario, shift)).collect();
            let later = stood_in(first.clone(), &result, shift).later(claim);
            assert!(!later.is_empty(), "{}", claim.id);
            (claim.evaluate)(&stood_in(first.into_iter().chain(later), &result, shift));
        }
    }

    #[test]
    fn the_page_has_the_texts_of_the_variant_drives_claims() {
        let (page, result) = (include_str!("../../../../docs/claims.md"), short_run());
        for claim in claims().iter().filter(|claim| claim.id.starts_with("CS")) {
            let row = stood_in(claim.scenarios(), &result, 0).reproduced(claim).unwrap();
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
        let options = Options { packaged: given, ..Options::default() };
        let (_, rows) = reproduce(&claims, options, &Arc::default(), &|_, _, _| {}).unwrap().unwrap();
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
    /// A claim on two short lives, the second of which is as long as half of the first.
    fn make_claim_of_two_lives() -> Claim {
        fn life(drive_writes: f64) -> Scenario {
            let text =
                format!("drive.preset = 'tiny'\nworkload.pattern = 'uniform'\nuntil.drive-writes = {drive_writes}");
            scenario(&format!("{drive_writes} drive writes"), &text)
        }
        fn half(runs: &Runs) -> Scenario {
            life(runs.get(&life(2.0)).summary.end.at_drive_writes / 2.0)
        }
        let evaluate = |runs: &Runs| Finding {
            ours: format!("{:.1}", runs.get(&half(runs)).summary.end.at_drive_writes),
            verdict: Verdict::Agrees,
            note: String::new(),
            table: String::new(),
        };
        let claim = Claim::new(
            crate::Class::Arithmetic,
            ["X1", "here", "half", "half"],
            ["two lives"; 3],
            || vec![life(2.0), life(4.0)],
            evaluate,
            crate::Others::None("arithmetic"),
        );
        Claim { later: |runs| vec![half(runs)], ..claim }
    }

    #[test]
    fn a_reproduction_that_was_ended_goes_on_where_it_was() {
        let folder = std::env::temp_dir().join(format!("wane-kept-{}", std::process::id()));
        let claims = [make_claim_of_two_lives()];
        // Ends after N finished runs. Returns what was run, and the result.
        let run = |build: &str, most: usize| {
            let (stop, ran) = (Arc::new(AtomicBool::new(false)), Mutex::new(Vec::new()));
            let each = |_: usize, _: usize, name: &str| {
                let mut ran = ran.lock().unwrap();
                ran.push(name.to_owned());
                stop.fetch_or(ran.len() >= most, Ordering::Relaxed);
            };
            let options = Options { kept: Some(Kept::open(&folder, build).unwrap()), ..Options::default() };
            let found = reproduce(&claims, options, &stop, &each).unwrap();
            let ours = found.map(|(_, rows)| rows[0].finding.ours.clone());
            (ran.into_inner().unwrap(), ours)
        };
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names.dedup();
            names
        };
        let all = ["1 drive writes", "2 drive writes", "4 drive writes"].map(str::to_owned).to_vec();
        let (first, none) = run("one", 1);
        assert_eq!(none, None);
        let (rest, found) = run("one", usize::MAX);
        assert_eq!(found.as_deref(), Some("1.0"));
        assert!(!rest.contains(&first[0]), "what had finished is not run again: {first:?} {rest:?}");
        assert_eq!(sorted([first, rest].concat()), all);
        assert_eq!(run("one", usize::MAX), (Vec::new(), found.clone()), "all are kept");
        let (ran, ours) = run("another", usize::MAX);
        assert_eq!((sorted(ran), ours), (all, found), "of another build none is used");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
