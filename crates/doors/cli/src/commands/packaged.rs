//! Published claims that the Python package measures: asks it for them, and reads its answer.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::Value;
use wane_claims::{Claim, Finding, Matter, Packaged, Reading, Verdict};

use super::package::{Answer, ask};

/// Outcome of asking the package for claims.
pub(super) enum Measured {
    /// What it measured.
    Found(BTreeMap<&'static str, Packaged>),
    /// The package is missing; a sentence says so.
    Absent(String),
    /// It ended with this exit code, after it said why.
    Ended(i32),
    /// Its answer cannot be read, because it is of another version.
    Strange(String),
}

/// Asks the package for these claims, if there are any.
pub(super) fn measured(claims: &[&Claim]) -> Measured {
    if claims.is_empty() {
        return Measured::Found(BTreeMap::new());
    }
    let mut words = vec![OsString::from("claims")];
    words.extend(claims.iter().map(|claim| OsString::from(claim.id)));
    let who = format!("{} {}", listed(claims), if claims.len() == 1 { "needs" } else { "need" });
    match ask(&who, &words) {
        Answer::Absent(why) => Measured::Absent(why),
        Answer::Ended(code) => Measured::Ended(code),
        Answer::Told(text) => {
            let told: Value = serde_json::from_str(&text).unwrap_or_default();
            let read = |claim: &&Claim| packaged(&told[claim.id], claim).map(|found| (claim.id, found)).ok_or(claim.id);
            match claims.iter().map(read).collect() {
                Ok(found) => Measured::Found(found),
                Err(id) => Measured::Strange(format!(
                    "the Python package wane gives no readable measurement of {id}: it is not of this command's version"
                )),
            }
        }
    }
}

/// Names of claims for a sentence.
pub(super) fn listed(claims: &[&Claim]) -> String {
    claims.iter().map(|claim| claim.id).collect::<Vec<&str>>().join(" and ")
}

fn packaged(told: &Value, claim: &Claim) -> Option<Packaged> {
    let findings: Option<Vec<Finding>> = told["seeds"].as_array()?.iter().map(finding).collect();
    let others: Option<Vec<Reading>> = told["others"].as_array()?.iter().map(reading).collect();
    let found = Packaged { findings: findings?, others: others? };
    (u64::try_from(found.findings.len()) == Ok(claim.packaged_seeds())).then_some(found)
}

fn finding(told: &Value) -> Option<Finding> {
    let [ours, note] = ["ours", "note"].map(|key| cell(&told[key]));
    let table = told["table"].as_str()?.to_owned();
    Some(Finding { ours: ours?, verdict: Verdict::of_word(told["verdict"].as_str()?)?, note: note?, table })
}

fn reading(told: &Value) -> Option<Reading> {
    Some(Reading {
        what: cell(&told["what"])?,
        matter: Matter::of_word(told["changes"].as_str()?)?,
        ours: cell(&told["ours"])?,
        verdict: Verdict::of_word(told["verdict"].as_str()?)?,
    })
}

/// Reads a text that fits a table's cell.
fn cell(told: &Value) -> Option<String> {
    let text = told.as_str()?;
    (!text.contains(['|', '\n'])).then(|| text.to_owned())
}
