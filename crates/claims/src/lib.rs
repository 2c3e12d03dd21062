//! Published claims and what comes out here: a named experiment each, with the paper's number, ours and a verdict.
//!
//! A number is never tuned to fit. Where one does not come out, the note says what was found instead.

mod capacity;
mod datacenter;
mod holistic;
mod observe;
mod pictures;
mod reliability;
mod wear;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_lab::session::{self, SessionError};
use wane_results::RunResult;
use wane_scenario::{Scenario, Sources};

/// How far a claim can be held against a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Arithmetic: must match.
    Arithmetic,
    /// The mechanism alone decides: must come out within the tolerance.
    Mechanism,
    /// Depends on traces or hosts that are not public: sign and order are compared.
    Order,
}

impl Class {
    /// Its letter.
    pub const fn letter(self) -> char {
        match self {
            Self::Arithmetic => 'A',
            Self::Mechanism => 'B',
            Self::Order => 'C',
        }
    }
}

/// What a claim came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the tolerance.
    Agrees,
    /// Outside.
    Differs,
}

impl Verdict {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
        }
    }

    const fn of(agrees: bool) -> Self {
        if agrees { Self::Agrees } else { Self::Differs }
    }
}

/// What an experiment found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Our number.
    pub ours: String,
    /// Whether it agrees.
    pub verdict: Verdict,
    /// What one should know; the reason where it differs.
    pub note: String,
    /// The figures behind it as a Markdown table, or nothing.
    pub table: String,
}

/// One published claim.
pub struct Claim {
    /// Its name.
    pub id: &'static str,
    /// How far it can be held against the paper.
    pub class: Class,
    /// Where it is printed.
    pub source: &'static str,
    /// What is run, with its scale.
    pub configuration: &'static str,
    /// The paper's number.
    pub paper: &'static str,
    /// What counts as agreement.
    pub tolerance: &'static str,
    scenarios: fn() -> Vec<Scenario>,
    evaluate: fn(&Runs) -> Finding,
}

impl Claim {
    /// What it runs.
    pub fn scenarios(&self) -> Vec<Scenario> {
        (self.scenarios)()
    }
}

/// Every claim, in order.
pub fn claims() -> Vec<Claim> {
    let claims = wear::claims()
        .into_iter()
        .chain(capacity::claims())
        .chain(reliability::claims())
        .chain(holistic::claims())
        .chain([reliability::model()])
        .chain(datacenter::claims())
        .collect::<Vec<Claim>>();
    debug_assert!(
        claims.iter().enumerate().all(|(place, claim)| claims[..place].iter().all(|other| other.id != claim.id)),
        "two claims have one id: the page's verdict of one would be checked against the other"
    );
    claims
}

/// The runs behind claims, each made once.
#[derive(Debug, Default)]
pub struct Runs(BTreeMap<String, RunResult>);

impl Runs {
    /// Runs what the claims need, in parallel.
    ///
    /// `each` hears of every finished run: how many are done, how many there are, and its name.
    ///
    /// # Errors
    /// A run gave no result, or the user stopped.
    pub fn of(
        claims: &[Claim],
        stop: &Arc<AtomicBool>,
        each: &(dyn Fn(usize, usize, &str) + Sync),
    ) -> Result<Option<Self>, SessionError> {
        let mut wanted = BTreeMap::new();
        for scenario in claims.iter().flat_map(Claim::scenarios) {
            wanted.insert(scenario.hash(), scenario);
        }
        // The largest first, so that no core is left alone with one at the end.
        let mut wanted: Vec<Scenario> = wanted.into_values().collect();
        wanted.sort_by_key(|scenario| std::cmp::Reverse(scenario.device.logical_units));
        let done = std::sync::atomic::AtomicUsize::new(0);
        let outcomes = session::execute_all(&wanted, None, stop, &|number, _, _| {
            let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            each(done, wanted.len(), &wanted[number].name);
        });
        let mut runs = BTreeMap::new();
        for (scenario, outcome) in wanted.iter().zip(outcomes) {
            match outcome {
                Some(Ok(result)) if !session::interrupted(&result) => runs.insert(scenario.hash(), result),
                Some(Err(error)) => return Err(error),
                Some(Ok(_)) | None => return Ok(None),
            };
        }
        Ok(Some(Self(runs)))
    }

    fn get(&self, scenario: &Scenario) -> &RunResult {
        self.0.get(&scenario.hash()).expect("a claim names the scenarios that it evaluates")
    }

    /// What a claim came to.
    pub fn evaluate(&self, claim: &Claim) -> Finding {
        (claim.evaluate)(self)
    }

    /// A page with the pictures of a claim's runs, if it has any.
    pub fn figure(&self, claim: &Claim) -> Option<String> {
        if let Some(page) = pictures::of(claim.id, self) {
            return Some(page);
        }
        let results: Vec<RunResult> = claim.scenarios().iter().map(|scenario| self.get(scenario).clone()).collect();
        (!results.is_empty()).then(|| wane_report::render(&results))
    }
}

/// A scenario of an experiment, from its TOML.
fn scenario(name: &str, text: &str) -> Scenario {
    let sources = Sources { preset: None, file: Some((name, text)), set: &[] };
    let mut scenario =
        Scenario::resolve(&sources).unwrap_or_else(|error| unreachable!("an experiment's scenario is valid: {error}"));
    name.clone_into(&mut scenario.name);
    scenario
}

/// A gain as the papers' prose means it: new / base - 1.
fn gain(new: f64, base: f64) -> f64 {
    new / base - 1.0
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    assert!(count > 0.0, "a mean of nothing is no number, and a claim compared with it would differ for no reason");
    sum / count
}

/// The page of claims, in Markdown.
pub fn page(rows: &[(&Claim, Finding)]) -> String {
    let mut text = "# Claims\n\nGenerated by `wane reproduce --write docs/claims.md`. Class A is arithmetic, B must come out of the \
                    mechanism alone, C depends on traces that are not public, so that sign and order count. \"N x\" in the papers' \
                    prose is mostly a gain, new / base - 1. Sources are numbered (the book's page of sources lists all). `wane \
                    reproduce ID --figures DIR` draws a claim's runs.\n\n| id | class | source | paper | ours | verdict |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for (claim, finding) in rows {
        let cells = [claim.id, claim.source, claim.paper, &finding.ours];
        let id = claim.id;
        assert!(
            !cells.iter().any(|cell| cell.contains(['|', '\n'])),
            "{id}: verdicts could not be read back from its row"
        );
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            claim.id,
            claim.class.letter(),
            claim.source,
            claim.paper,
            finding.ours,
            finding.verdict.word()
        );
    }
    for (claim, finding) in rows {
        let _ = write!(text, "\n## {}\n\n- run: {}\n- agreement: {}\n", claim.id, claim.configuration, claim.tolerance);
        if !finding.note.is_empty() {
            let _ = writeln!(text, "- note: {}", finding.note);
        }
        if !finding.table.is_empty() {
            let _ = write!(text, "\n{}", finding.table);
        }
    }
    text
}

/// Where a page of claims and a run part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The claim.
    pub id: &'static str,
    /// What the page says, from the word on that differs, or that it says nothing.
    pub page: String,
    /// What the run says there.
    pub run: String,
    /// Lines that differ beside this one.
    pub more: usize,
}

/// What a page says of these claims that a run does not, one for each claim. Every word counts: the seed fixes all figures.
pub fn differences(text: &str, rows: &[(&Claim, Finding)]) -> Vec<Difference> {
    let made = page(rows);
    let (wanted, found) = (entries(text), entries(&made));
    let of = |(claim, _): &(&Claim, Finding)| {
        let lines = |entries: &BTreeMap<&str, Vec<String>>| entries.get(claim.id).cloned().unwrap_or_default();
        let (wanted, found) = (lines(&wanted), lines(&found));
        let line = |lines: &[String], number: usize| lines.get(number).cloned().unwrap_or_default();
        let pairs = (0..wanted.len().max(found.len())).map(|number| (line(&wanted, number), line(&found, number)));
        let mut differing = pairs.filter(|(wanted, found)| wanted != found);
        let (wanted, found) = differing.next()?;
        let (page, run) = (from_difference(&wanted, &found), from_difference(&found, &wanted));
        Some(Difference { id: claim.id, page, run, more: differing.count() })
    };
    rows.iter().filter_map(of).collect()
}

/// What a page says of each claim: its row, then the lines of its section.
fn entries(page: &str) -> BTreeMap<&str, Vec<String>> {
    let mut entries: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut section = None;
    for line in page.lines().filter(|line| !line.is_empty()) {
        if let Some(id) = line.strip_prefix("## ") {
            section = Some(id);
            continue;
        }
        let row = || line.strip_prefix("| ").and_then(|rest| rest.split(" |").next());
        if let Some(id) = section.or_else(row).filter(|id| *id != "id") {
            entries.entry(id).or_default().push(line.to_owned());
        }
    }
    entries
}

/// A line from the word on in which it differs from another.
fn from_difference(line: &str, other: &str) -> String {
    if line.is_empty() {
        return "nothing".to_owned();
    }
    let same = line.char_indices().zip(other.chars()).find(|((_, one), other)| one != other);
    let at = same.map_or(line.len().min(other.len()), |((at, _), _)| at);
    let word = line[..at].rfind(' ').map_or(0, |space| space + 1);
    let rest = &line[word..];
    if rest.is_empty() { "nothing more".to_owned() } else { rest.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_is_named_once_and_its_scenarios_resolve() {
        let claims = claims();
        let ids: std::collections::BTreeSet<&str> = claims.iter().map(|claim| claim.id).collect();
        assert_eq!(ids.len(), claims.len());
        let wanted = (1..=10).map(|n| format!("WL{n}")).chain((1..=11).map(|n| format!("CV{n}")));
        let wanted = wanted.chain((1..=10).map(|n| format!("RE{n}"))).chain(["DC4".to_owned()]);
        wanted.for_each(|id| assert!(ids.contains(id.as_str()), "{id}"));
        assert!(claims.iter().map(|claim| claim.scenarios().len()).sum::<usize>() > 100);
    }

    #[test]
    fn a_page_is_held_to_every_figure() {
        let claims = claims();
        let finding = |ours: &str, verdict, table: &str| Finding {
            ours: ours.into(),
            verdict,
            note: "why: 3 of 7".into(),
            table: table.into(),
        };
        let rows = |ours: &str, table: &str| {
            let table = format!("| a | b |\n|---|---|\n{table}");
            [(&claims[0], finding(ours, Verdict::Agrees, &table)), (&claims[1], finding("1", Verdict::Differs, ""))]
        };
        let written = page(&rows("5.42 of 6", "| 1 | 2 |\n"));
        assert_eq!(differences(&written, &rows("5.42 of 6", "| 1 | 2 |\n")), []);
        let told = |page: &str, run: &str, more| Difference { id: "WL1", page: page.into(), run: run.into(), more };
        // (ours, last row of the table, what is told)
        for (ours, table, want) in [
            ("5.43 of 6", "| 1 | 2 |\n", told("5.42 of 6 | agrees |", "5.43 of 6 | agrees |", 0)),
            ("5.42 of 6", "| 1 | 3 |\n", told("2 |", "3 |", 0)),
            ("5.42 of 6", "", told("| 1 | 2 |", "nothing", 0)),
            ("5.4 of 6", "| 1 | 2 |\n| 4 | 5 |\n", told("5.42 of 6 | agrees |", "5.4 of 6 | agrees |", 1)),
        ] {
            assert_eq!(differences(&written, &rows(ours, table)), [want]);
        }
        let unknown = differences("# Claims\n", &rows("5.42 of 6", ""));
        assert_eq!(unknown.len(), 2);
        assert_eq!(unknown[0].page, "nothing");
    }
}
