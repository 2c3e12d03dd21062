//! Published claims and their reproductions: one named experiment for each, with the paper's number, ours and a verdict.
//!
//! A number is never tuned to fit. Where one does not come out, the note says what was found instead.

mod active;
mod array;
mod arrays_speed;
mod capacity;
mod cells;
pub mod closed_loop;
mod datacenter;
mod disks;
mod forward;
mod heat;
mod holistic;
mod kept;
mod mean_field;
mod observe;
mod page;
mod pictures;
mod prevention;
mod reliability;
mod runs;
mod traces;
mod twin;
mod unpublished;
mod variant;
mod wear;

use std::collections::BTreeSet;

use wane_scenario::{Scenario, Sources};

pub use kept::Kept;
pub use page::{Difference, details, differences, page, renewed, strangers};
pub use runs::{Each, Options, Packaged, Runs, SEEDS, reproduce};
pub use traces::Traces;

/// How far a claim can be held against a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Arithmetic: must match.
    Arithmetic,
    /// The mechanism alone decides: must come out within the tolerance.
    Mechanism,
    /// Depends on traces that are not in the repository, or on hosts that are not public: sign and order are compared.
    Order,
    /// Was measured on hardware that is not available: numbers are imported, and what follows from them is compared.
    Imported,
}

impl Class {
    /// The class's letter in tables.
    pub const fn letter(self) -> char {
        match self {
            Self::Arithmetic => 'A',
            Self::Mechanism => 'B',
            Self::Order => 'C',
            Self::Imported => 'D',
        }
    }

    /// Whether another seed can change a finding of this class.
    const fn is_drawn(self) -> bool {
        matches!(self, Self::Mechanism | Self::Order)
    }
}

/// What a claim came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the tolerance.
    Agrees,
    /// Outside the tolerance.
    Differs,
    /// Nothing was run: the data that it needs are not here.
    NotRun,
}

impl Verdict {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::NotRun => "not run",
        }
    }

    /// Returns the verdict with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Agrees, Self::Differs, Self::NotRun].into_iter().find(|verdict| verdict.word() == word)
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
    /// What the reader should know; the reason where it differs.
    pub note: String,
    /// The figures behind it as a Markdown table, or empty.
    pub table: String,
}

/// Result of a claim under another reading or at another scale.
#[derive(Clone, Debug)]
pub struct Reading {
    /// How this reading differs from ours.
    pub what: String,
    /// What kind of thing it changes.
    pub matter: Matter,
    /// Our number under it.
    pub ours: String,
    /// Whether that agrees.
    pub verdict: Verdict,
}

/// What a verdict can depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matter {
    /// A choice that the paper does not publish, or publishes twice.
    Choice,
    /// The scale of the runs.
    Scale,
    /// The seed of the random streams.
    Seed,
    /// Whether the requests are a published trace's or its stand-in's.
    Trace,
    /// Whether the drive is as large as the paper's, or stands for it.
    FullSize,
}

impl Matter {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Choice => "choice",
            Self::Scale => "scale",
            Self::Seed => "seed",
            Self::Trace => "trace",
            Self::FullSize => "full size",
        }
    }

    /// Returns the matter with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [Self::Choice, Self::Scale, Self::Seed, Self::Trace, Self::FullSize];
        all.into_iter().find(|matter| matter.word() == word)
    }

    /// Whether its result stands beside the claim's own, and is made only where it is asked for: it takes files that are not here, or hours.
    pub(crate) const fn is_beside(self) -> bool {
        matches!(self, Self::Trace | Self::FullSize)
    }
}

/// What is known of a verdict under [`SEEDS`] seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OverSeeds {
    /// The seeds were not tried, or only because the claim is fragile.
    Untried,
    /// The seeds were tried, and the verdict stays.
    Kept,
    /// The seeds change the verdict or its reasons, so the claim always runs with all of them.
    Changed,
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
    /// What the paper says about how it got its number, and what it leaves open.
    pub published: &'static str,
    /// How it is read here.
    pub reading: &'static str,
    /// What counts as agreement.
    pub tolerance: &'static str,
    /// Whether the Python package measures it; [`reproduce`] then takes the package's result.
    pub needs_package: bool,
    over_seeds: OverSeeds,
    scenarios: fn() -> Vec<Scenario>,
    /// Scenarios that follow from the results of the others, with the claim's own seed.
    later: fn(&Runs) -> Vec<Scenario>,
    evaluate: fn(&Runs) -> Finding,
    others: Others,
    full_size: Option<FullSize>,
}

/// A claim at the size of the paper's drives.
#[derive(Clone, Copy)]
struct FullSize {
    /// How large they are.
    what: &'static str,
    scenarios: fn() -> Vec<Scenario>,
    evaluate: fn(&Runs) -> Finding,
}

/// Other readings of a claim.
#[derive(Clone, Copy)]
enum Others {
    /// The scenarios that they run in addition to the claim's own, and their results.
    Run { scenarios: fn() -> Vec<Scenario>, evaluate: fn(&Runs) -> Vec<Reading> },
    /// None was tried, for this reason.
    None(&'static str),
}

impl Others {
    fn scenarios(&self) -> Vec<Scenario> {
        match self {
            Self::Run { scenarios, .. } => scenarios(),
            Self::None(_) => Vec::new(),
        }
    }

    fn evaluate(&self, runs: &Runs) -> Vec<Reading> {
        match self {
            Self::Run { evaluate, .. } => {
                let readings = evaluate(runs);
                assert!(!readings.is_empty(), "a claim whose other readings are run has some");
                readings
            }
            Self::None(_) => Vec::new(),
        }
    }

    /// Why there are no other readings; empty if there are some.
    const fn why_none(&self) -> &'static str {
        match self {
            Self::Run { .. } => "",
            Self::None(why) => why,
        }
    }
}

impl Claim {
    /// Makes a claim whose other seeds are untried. `texts` are its name, source, the paper's number and the tolerance.
    /// `readings` are what is run, what the paper says of it, and how it is read here.
    const fn new(
        class: Class,
        texts: [&'static str; 4],
        readings: [&'static str; 3],
        scenarios: fn() -> Vec<Scenario>,
        evaluate: fn(&Runs) -> Finding,
        others: Others,
    ) -> Self {
        let ([id, source, paper, tolerance], [configuration, published, reading]) = (texts, readings);
        assert!(!id.is_empty() && !source.is_empty() && !paper.is_empty(), "a claim says what is printed where");
        assert!(!tolerance.is_empty(), "a claim says what counts as agreement before anything is run");
        if let Others::None(why) = others {
            assert!(!why.is_empty(), "where no other reading was tried the page says why");
        }
        Self {
            id,
            class,
            source,
            configuration,
            paper,
            published,
            reading,
            tolerance,
            needs_package: false,
            over_seeds: OverSeeds::Untried,
            scenarios,
            later: |_| Vec::new(),
            evaluate,
            others,
            full_size: None,
        }
    }

    /// The same claim, measured by the Python package.
    const fn by_package(mut self) -> Self {
        self.needs_package = true;
        self
    }

    /// Number of findings in the Python package's measurement: one for each seed.
    pub const fn packaged_seeds(&self) -> u64 {
        if self.class.is_drawn() { SEEDS } else { 1 }
    }

    /// Whether it can be run at the size of the paper's drives.
    pub const fn has_full_size(&self) -> bool {
        self.full_size.is_some()
    }

    /// Whether it is run on one of the traces too.
    pub fn has_trace(&self, traces: &Traces) -> bool {
        traces.describe(&(self.scenarios)()).is_some()
    }

    /// Scenarios that the claim runs, with those of its other readings.
    pub fn scenarios(&self) -> Vec<Scenario> {
        let mut scenarios = (self.scenarios)();
        scenarios.extend(self.others.scenarios());
        scenarios
    }
}

/// A claim and its results.
#[derive(Clone)]
pub struct Reproduced<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Result under our reading.
    pub finding: Finding,
    /// Results under other readings.
    pub others: Vec<Reading>,
    /// Results with each seed, the first included; empty if no other seed was run.
    pub seeds: Vec<(u64, Finding)>,
}

impl Finding {
    /// Whether each row of the table has as many cells as its head; otherwise the page would not show a table.
    fn is_tabular(&self) -> bool {
        let cells = |line: &str| line.matches('|').count() - line.matches("\\|").count();
        let width = self.table.lines().next().map_or(0, cells);
        self.table.lines().all(|line| line.is_empty() || !line.starts_with('|') || cells(line) == width)
    }
}

impl Reproduced<'_> {
    /// What the verdict depends on: seeds, scales or choices that were tried and changed it. What stands beside the verdict, as on a trace, is none.
    pub fn fragile(&self) -> Vec<Matter> {
        let others = self.others.iter().filter(|reading| !reading.matter.is_beside());
        let others = others.map(|reading| (reading.matter, reading.verdict));
        let seeds = self.seeds.iter().map(|(_, finding)| (Matter::Seed, finding.verdict));
        let differing = others.chain(seeds).filter(|(_, verdict)| *verdict != self.finding.verdict);
        differing.map(|(matter, _)| matter).collect::<BTreeSet<Matter>>().into_iter().collect()
    }

    /// The verdict with its qualification for a table's cell, such as "agrees, fragile (seed)", and those on traces and at full size beside it.
    pub fn standing(&self) -> String {
        let beside: Vec<&Reading> = self.others.iter().filter(|reading| reading.matter.is_beside()).collect();
        let Some(first) = beside.first() else { return self.qualified() };
        let here = if first.matter == Matter::Trace { "stand-in" } else { "scaled" };
        let told = beside.iter().map(|reading| format!(", {} ({})", reading.verdict.word(), reading.matter.word()));
        format!("{} ({here}){}", self.qualified(), told.collect::<String>())
    }

    fn qualified(&self) -> String {
        let word = self.finding.verdict.word();
        let fragile = self.fragile();
        if self.finding.verdict == Verdict::NotRun {
            word.to_owned()
        } else if self.claim.class == Class::Arithmetic {
            format!("{word}, arithmetic")
        } else if self.claim.class == Class::Imported {
            format!("{word}, imported")
        } else if fragile.is_empty() {
            word.to_owned()
        } else {
            let matters: Vec<&str> = fragile.into_iter().map(Matter::word).collect();
            format!("{word}, fragile ({})", matters.join(", "))
        }
    }
}

/// Claims that were run with `--every-seed` once and had the same verdict with all five seeds.
const KEPT_BY_SEEDS: [&str; 21] = [
    "CV4", "CV5", "CV6", "CV8", "CV-scale", "DC4", "RE3", "RE4", "RE5", "RE8", "RE-scale", "WL1", "WL2", "WL3", "WL5",
    "WL6", "WL9", "WL10", "PR4", "PR14", "PR16",
];

/// Every claim, in order.
pub fn claims() -> Vec<Claim> {
    let mut claims = wear::claims()
        .into_iter()
        .chain(capacity::claims())
        .chain(reliability::claims())
        .chain(prevention::claims())
        .chain(holistic::claims())
        .chain([prevention::model()])
        .chain(cells::claims())
        .chain(datacenter::claims())
        .chain(heat::claims())
        .chain(disks::claims())
        .chain(active::claims())
        .chain(twin::claims())
        .chain(variant::claims())
        .chain(mean_field::claims())
        .chain(forward::claims())
        .chain(array::claims())
        .chain(arrays_speed::claims())
        .collect::<Vec<Claim>>();
    debug_assert!(
        KEPT_BY_SEEDS.iter().all(|id| claims.iter().any(|claim| claim.id == *id && claim.class.is_drawn())),
        "seeds were tried on claims that are drawn"
    );
    for claim in &mut claims {
        if KEPT_BY_SEEDS.contains(&claim.id) {
            claim.over_seeds = OverSeeds::Kept;
        }
    }
    debug_assert!(
        claims.iter().enumerate().all(|(place, claim)| claims[..place].iter().all(|other| other.id != claim.id)),
        "two claims have one id: the page's verdict of one would be checked against the other"
    );
    claims
}

/// Resolves an experiment's scenario from its TOML.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_claim_is_named_once_and_its_scenarios_resolve() {
        let claims = claims();
        let ids: std::collections::BTreeSet<&str> = claims.iter().map(|claim| claim.id).collect();
        assert_eq!(ids.len(), claims.len());
        let wanted = (1..=10).map(|n| format!("WL{n}")).chain((1..=11).map(|n| format!("CV{n}")));
        let wanted = wanted.chain((1..=10).map(|n| format!("RE{n}"))).chain((1..=11).map(|n| format!("DC{n}")));
        let variant = [2, 3, 4, 5, 6, 7, 8, 13, 14, 17, 18, 20].map(|n| format!("CS{n}"));
        let wanted = wanted.chain(variant).chain((1..=8).map(|n| format!("MF{n}")));
        let wanted = wanted.chain((1..=8).map(|n| format!("FF{n}")));
        let wanted = wanted.chain([1, 2, 3, 4, 5, 6, 7, 8, 14, 15, 16, 17, 18].map(|n| format!("PR{n}")));
        wanted.for_each(|id| assert!(ids.contains(id.as_str()), "{id}"));
        assert!(claims.iter().map(|claim| claim.scenarios().len()).sum::<usize>() > 100);
    }

    fn finding(ours: &str, verdict: Verdict, table: &str) -> Finding {
        Finding { ours: ours.into(), verdict, note: "why: 3 of 7".into(), table: table.into() }
    }

    #[test]
    fn a_verdict_that_a_reading_or_a_seed_changes_is_fragile() {
        let claims = claims();
        let find = |id| claims.iter().find(|claim| claim.id == id).unwrap();
        let other = |matter, verdict| Reading { what: "else".into(), matter, ours: "2".into(), verdict };
        let seeds =
            |verdicts: &[Verdict]| (1..).zip(verdicts.iter().map(|verdict| finding("1", *verdict, ""))).collect();
        let row = |id, others, seeds| Reproduced {
            claim: find(id),
            finding: finding("1", Verdict::Agrees, ""),
            others,
            seeds,
        };
        let (agrees, differs) = (Verdict::Agrees, Verdict::Differs);
        let table = [
            (row("WL1", Vec::new(), Vec::new()), "agrees"),
            (row("WL1", vec![other(Matter::Scale, agrees)], seeds(&[agrees; 5])), "agrees"),
            (
                row("WL1", vec![other(Matter::Scale, differs), other(Matter::Choice, agrees)], Vec::new()),
                "agrees, fragile (scale)",
            ),
            (
                row(
                    "WL1",
                    vec![other(Matter::Scale, differs), other(Matter::Choice, differs)],
                    seeds(&[agrees, differs]),
                ),
                "agrees, fragile (choice, scale, seed)",
            ),
            (row("RE10", Vec::new(), Vec::new()), "agrees, arithmetic"),
            (row("CV1", vec![other(Matter::Trace, differs)], Vec::new()), "agrees (stand-in), differs (trace)"),
            (row("WL1", vec![other(Matter::FullSize, differs)], Vec::new()), "agrees (scaled), differs (full size)"),
        ];
        for (row, standing) in table {
            assert_eq!(row.standing(), standing);
            let page = page(&[row]);
            assert_eq!(page.contains("| seed | ours | verdict |"), standing.contains("seed"), "{page}");
        }
    }

    #[test]
    fn what_was_found_at_full_size_and_on_traces_stays_on_a_page_that_is_renewed_without_them() {
        let claims = claims();
        let claim = claims.iter().find(|claim| claim.id == "WL7").unwrap();
        let row = |others| Reproduced { claim, finding: finding("1", Verdict::Agrees, ""), others, seeds: Vec::new() };
        let other = |matter, ours: &str| Reading {
            what: "256 GiB".into(),
            matter,
            ours: ours.into(),
            verdict: Verdict::Differs,
        };
        let scale = || other(Matter::Scale, "2, and 3");
        let written = page(&[row(vec![scale(), other(Matter::FullSize, "4, and 5"), other(Matter::Trace, "6")])]);
        assert!(written.contains("(scaled), differs (full size), differs (trace) |"), "{written}");
        // Without them, and with one of them found anew.
        let again = renewed(&written, &[row(vec![scale()])]).unwrap();
        assert_eq!(again, written);
        assert_eq!(differences(&written, &[row(vec![scale()])]), []);
        let anew = renewed(&written, &[row(vec![scale(), other(Matter::FullSize, "7")])]).unwrap();
        assert!(anew.contains("| 256 GiB | full size | 7 | differs |") && !anew.contains("4, and 5"), "{anew}");
        assert!(anew.contains("| 256 GiB | trace | 6 | differs |"), "{anew}");
        // Other readings are the run's alone.
        assert!(!renewed(&written, &[row(Vec::new())]).unwrap().contains("2, and 3"));
    }

    #[test]
    fn a_section_tells_what_was_not_tried() {
        let claims = claims();
        let find = |id| claims.iter().find(|claim| claim.id == id).unwrap();
        let row = |claim, count| Reproduced {
            claim,
            finding: finding("1", Verdict::Agrees, ""),
            others: Vec::new(),
            seeds: (1..=count).map(|seed| (seed, finding("1", Verdict::Agrees, ""))).collect(),
        };
        let (first, five) = ("- seeds: only the first was tried", "- seeds: five were tried");
        let tried = Claim { over_seeds: OverSeeds::Kept, ..*find("WL1") };
        let untried = Claim { over_seeds: OverSeeds::Untried, ..*find("WL1") };
        // With every seed asked for, a page is the same as without.
        for seeds in [0, SEEDS] {
            assert!(page(&[row(&tried, seeds)]).contains(five));
            assert!(page(&[row(&untried, seeds)]).contains(first));
        }
        let always = page(&[row(find("RE7"), SEEDS)]);
        assert!(always.contains("| 5 | 1 | agrees |") && !always.contains("- seeds:"), "{always}");
        assert!(!page(&[row(find("RE10"), 0)]).contains("- seeds:"), "arithmetic has none");
        for claim in &claims {
            let says_why = page(&[row(claim, 0)]).contains("- other readings: ");
            assert_eq!(says_why, matches!(claim.others, Others::None(_)), "{}", claim.id);
        }
    }

    #[test]
    fn a_page_is_held_to_every_figure() {
        let claims = claims();
        let row = |claim, ours: &str, verdict, table: &str| Reproduced {
            claim,
            finding: finding(ours, verdict, table),
            others: Vec::new(),
            seeds: Vec::new(),
        };
        let rows = |ours: &str, table: &str| {
            let table = format!("| a | b |\n|---|---|\n{table}");
            [row(&claims[0], ours, Verdict::Agrees, &table), row(&claims[1], "1", Verdict::Differs, "")]
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
