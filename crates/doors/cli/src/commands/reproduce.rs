//! `wane reproduce`: runs the experiments behind published claims, and compares the results.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use wane_claims::{
    Claim, Kept, Options, Packaged, Reproduced, Runs, Traces, claims, details, differences, page, renewed,
    reproduce as run, strangers,
};
use wane_units::{Fnv, excerpt, excerpt_path};

use super::packaged::{Measured, listed, measured};
use crate::args::{CLAIMS_PAGE, ReproduceArguments};
use crate::output::{Failure, Others, check_writable, pretty, print, read_text, tell, unknown, unwritable, write_text};
use crate::progress::{Progress, end_at_once, stop_flag};
use crate::{DIFFERS, DONE, INTERRUPTED};

pub(crate) fn reproduce(arguments: &ReproduceArguments) -> Result<i32, Failure> {
    let (ids, checked) = checked(arguments);
    let mut chosen = choose(&ids)?;
    if arguments.list {
        let line =
            |claim: &Claim| format!("{:<9} {}  {:<14} {}\n", claim.id, claim.class.letter(), claim.source, claim.paper);
        print(&chosen.iter().map(line).collect::<String>())?;
        return Ok(DONE);
    }
    let expected = checked.as_deref().map(read_page).transpose()?;
    if let Some(folder) = &arguments.figures {
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    // Checked now, so that minutes of work do not end with a page that cannot be written.
    let others = Others::of(arguments.force);
    if let Some(path) = &arguments.write {
        check_writable(path, others)?;
        to_write(path, others, &[])?;
    }
    let traces = arguments.traces.as_deref().map(|folder| traces_of(folder, &chosen)).transpose()?;
    let full_size = arguments.full_size;
    if full_size && !chosen.iter().any(Claim::has_full_size) {
        let all = claims();
        let known: Vec<&str> = all.iter().filter(|claim| claim.has_full_size()).map(|claim| claim.id).collect();
        let known = known.join(", ");
        return Err(Failure::wrong(format!(
            "--full-size: none of these claims has runs at full size; these have: {known}"
        )));
    }
    let kept = arguments.runs.as_deref().map(kept_in).transpose()?;
    let is_whole = chosen.len() == claims().len();
    // Before the others, which may take an hour.
    let packaged = match by_package(&mut chosen, &ids, arguments.quiet)? {
        Ok(packaged) => packaged,
        Err(code) => return Ok(code),
    };
    let stop = stop_flag();
    let progress = Mutex::new(Progress::new("reproduce", arguments.quiet));
    let each = |done: usize, all: usize, name: &str| {
        progress.lock().expect("no holder panics").say(done, all, name);
    };
    let options = Options { packaged, every_seed: arguments.every_seed, traces, full_size, kept };
    let reproduced = run(&chosen, options, &stop, &each);
    progress.lock().expect("no holder panics").finish();
    let Some((runs, rows)) = reproduced.map_err(Failure::wrong)? else {
        tell(&ended(arguments.runs.as_deref()));
        return Ok(INTERRUPTED);
    };
    // Claims are written only when all are evaluated; until then there is nothing to keep.
    end_at_once();
    if stop.load(Ordering::Relaxed) {
        return Ok(INTERRUPTED);
    }
    let mut figures = Vec::new();
    if let Some(folder) = &arguments.figures {
        for claim in &chosen {
            let page = figure(&runs, claim, folder, others)?;
            if page.is_none() {
                tell(&format!("wane: {} has no figure, since it has no runs of its own", claim.id));
            }
            figures.push(page);
        }
    }
    if arguments.json {
        print(&json(&rows)?)?;
    } else {
        print(&words(&rows, &figures))?;
    }
    if let Some(path) = &arguments.write {
        write_text(path, others, &to_write(path, others, &rows)?)?;
    }
    let differing = expected.map_or(0, |expected| differing(&rows, &expected, is_whole));
    Ok(if differing > 0 { DIFFERS } else { DONE })
}

/// What becomes of finished runs where a reproduction is ended.
fn ended(runs: Option<&Path>) -> String {
    match runs {
        Some(folder) => {
            format!(
                "wane: ended; finished runs are kept in '{}', and the same command goes on from there",
                excerpt_path(folder)
            )
        }
        None => {
            "wane: ended; with --runs DIR finished runs are kept, and the same command goes on from there".to_owned()
        }
    }
}

/// The traces of a folder; refuses a folder of which none of the claims has a stand-in.
fn traces_of(folder: &Path, chosen: &[Claim]) -> Result<Traces, Failure> {
    let traces = Traces::find(folder).map_err(|why| Failure::wrong(format!("--traces: {why}")))?;
    if chosen.iter().any(|claim| claim.has_trace(&traces)) {
        return Ok(traces);
    }
    let why = format!("--traces: none of these claims has a stand-in for {}", traces.names().join(", "));
    Err(Failure::wrong(why))
}

/// The folder of finished runs. Runs of another build are not used: its figures may be others.
fn kept_in(folder: &Path) -> Result<Kept, Failure> {
    let unknown = |error: std::io::Error| Failure::wrong(format!("--runs: this program cannot read itself: {error}"));
    let build = std::env::current_exe().and_then(std::fs::read).map_err(unknown)?;
    Kept::open(folder, &Fnv::of(&build).hex()).map_err(Failure::wrong)
}

/// Returns the Python package's measurements of the claims that need it, or its exit code.
fn by_package(
    chosen: &mut Vec<Claim>,
    ids: &[String],
    quiet: bool,
) -> Result<Result<BTreeMap<&'static str, Packaged>, i32>, Failure> {
    let wanted: Vec<&Claim> = chosen.iter().filter(|claim| claim.needs_package).collect();
    if !wanted.is_empty() && !quiet {
        tell(&format!("wane: measuring {} with the Python package, some minutes", listed(&wanted)));
    }
    match measured(&wanted) {
        Measured::Found(found) => Ok(Ok(found)),
        Measured::Ended(code) => Ok(Err(code)),
        Measured::Strange(why) => Err(Failure::wrong(why)),
        Measured::Absent(why) => leave_out(chosen, ids, &why).map(|()| Ok(BTreeMap::new())),
    }
}

/// Leaves out the claims that need the missing package; fails if one of them was asked for by its whole name.
fn leave_out(chosen: &mut Vec<Claim>, ids: &[String], why: &str) -> Result<(), Failure> {
    let is_named = |claim: &Claim| ids.iter().any(|id| id.eq_ignore_ascii_case(claim.id));
    if chosen.iter().any(|claim| claim.needs_package && is_named(claim)) {
        return Err(Failure::wrong(why));
    }
    tell(&format!("wane: left out: {why}"));
    chosen.retain(|claim| !claim.needs_package);
    Ok(())
}

/// Returns the claims asked for, and the page to check against. If the word after `--check` is a claim, it is not taken for a page.
fn checked(arguments: &ReproduceArguments) -> (Vec<String>, Option<PathBuf>) {
    let mut ids = arguments.ids.clone();
    let claim = |page: &&Path| page.to_str().is_some_and(|id| claims().iter().any(|claim| matches(claim.id, id)));
    match arguments.check.as_deref() {
        Some(page) if claim(&page) => {
            ids.push(page.to_string_lossy().into_owned());
            (ids, Some(PathBuf::from(CLAIMS_PAGE)))
        }
        page => (ids, page.map(Path::to_owned)),
    }
}

/// Returns the page to write: an existing page with these claims renewed. With `--force` nothing of it is kept.
fn to_write(path: &Path, others: Others, rows: &[Reproduced<'_>]) -> Result<String, Failure> {
    let is_empty = std::fs::metadata(path).is_ok_and(|found| found.len() == 0);
    if others == Others::Overwritten || is_empty || !path.is_file() {
        return Ok(page(rows));
    }
    let (name, text) = read_text(path)?;
    let refused =
        |why| Failure::wrong(format!("{name}: {why}: give another name, or --force to write these claims alone"));
    renewed(&text, rows).map_err(refused)
}

/// Returns the claims that the ids name; all claims without ids.
fn choose(ids: &[String]) -> Result<Vec<Claim>, Failure> {
    let all = claims();
    let known: Vec<&str> = all.iter().map(|claim| claim.id).collect();
    for id in ids {
        if !all.iter().any(|claim| matches(claim.id, id)) {
            return Err(unknown("claim", id, &known));
        }
    }
    let chosen: Vec<Claim> =
        all.into_iter().filter(|claim| ids.is_empty() || ids.iter().any(|id| matches(claim.id, id))).collect();
    assert!(!chosen.is_empty(), "each name that was given is a claim's");
    Ok(chosen)
}

/// Whether `asked` is the claim's whole name, or the letters before its number.
fn matches(claim: &str, asked: &str) -> bool {
    let asked = asked.to_uppercase();
    let claim = claim.to_uppercase();
    claim == asked || claim.split(|letter: char| !letter.is_ascii_alphabetic()).next() == Some(asked.as_str())
}

fn read_page(path: &Path) -> Result<String, Failure> {
    read_text(path).map(|(_, text)| text)
}

fn figure(runs: &Runs, claim: &Claim, folder: &Path, others: Others) -> Result<Option<String>, Failure> {
    let Some(page) = runs.figure(claim) else { return Ok(None) };
    let path = folder.join(format!("{}.html", claim.id));
    write_text(&path, others, &page)?;
    Ok(Some(path.display().to_string()))
}

fn words(rows: &[Reproduced<'_>], figures: &[Option<String>]) -> String {
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let Claim { id, class, source, paper, .. } = row.claim;
        let _ = writeln!(text, "{id} ({}, {source}): {}", class.letter(), row.standing());
        let _ = writeln!(text, "  {:<9}  {paper}", "paper");
        let _ = writeln!(text, "  {:<9}  {}", "ours", row.finding.ours);
        for (title, line) in details(row) {
            let _ = writeln!(text, "  {title:<9}  {line}");
        }
        for other in &row.others {
            let (what, verdict) = (&other.what, other.verdict.word());
            let _ = writeln!(text, "  {:<9}  {what} ({}): {}, {verdict}", "other", other.matter.word(), other.ours);
        }
        for (seed, finding) in &row.seeds {
            let _ = writeln!(text, "  {:<9}  {}, {}", format!("seed {seed}"), finding.ours, finding.verdict.word());
        }
        if let Some(Some(path)) = figures.get(number) {
            let _ = writeln!(text, "  {:<9}  {path}", "figure");
        }
    }
    text
}

fn json(rows: &[Reproduced<'_>]) -> Result<String, Failure> {
    let row = |row: &Reproduced<'_>| {
        let (claim, finding) = (row.claim, &row.finding);
        let fragile: Vec<&str> = row.fragile().into_iter().map(wane_claims::Matter::word).collect();
        let other = |other: &wane_claims::Reading| {
            serde_json::json!({
                "what": other.what,
                "changes": other.matter.word(),
                "ours": other.ours,
                "verdict": other.verdict.word(),
            })
        };
        let seed = |(seed, finding): &(u64, wane_claims::Finding)| serde_json::json!({ "seed": seed, "ours": finding.ours, "verdict": finding.verdict.word() });
        serde_json::json!({
            "id": claim.id,
            "class": claim.class.letter().to_string(),
            "source": claim.source,
            "configuration": claim.configuration,
            "paper": claim.paper,
            "published": claim.published,
            "reading": claim.reading,
            "ours": finding.ours,
            "tolerance": claim.tolerance,
            "verdict": finding.verdict.word(),
            "fragile": fragile,
            "note": finding.note,
            "others": row.others.iter().map(other).collect::<Vec<_>>(),
            "seeds": row.seeds.iter().map(seed).collect::<Vec<_>>(),
        })
    };
    let list: Vec<serde_json::Value> = rows.iter().map(row).collect();
    pretty(&list)
}

/// Reports where claims differ from the page; returns how many do. If all claims were run, other claims on the page count as differing.
fn differing(rows: &[Reproduced<'_>], expected: &str, is_whole: bool) -> usize {
    let differences = differences(expected, rows);
    debug_assert!(differences.len() <= rows.len(), "a claim differs once");
    for difference in &differences {
        let (page, run) = (excerpt(&difference.page), excerpt(&difference.run));
        let more = match difference.more {
            0 => String::new(),
            1 => "; one more line differs".to_owned(),
            more => format!("; {more} more lines differ"),
        };
        tell(&format!("wane: {}: the page says \"{page}\", this run \"{run}\"{more}", difference.id));
    }
    let strangers = if is_whole { strangers(expected) } else { Vec::new() };
    for id in &strangers {
        tell(&format!("wane: the page holds {}, which is no claim of this program", excerpt(id)));
    }
    differences.len() + strangers.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_an_absent_package_are_left_out_unless_they_were_named() {
        let left = |ids: &[&str]| {
            let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
            let mut chosen = choose(&ids).ok().unwrap();
            leave_out(&mut chosen, &ids, "why").is_ok().then(|| chosen.iter().map(|claim| claim.id).collect::<Vec<_>>())
        };
        let all = left(&[]).unwrap();
        assert_eq!(all.len(), claims().len() - 2);
        assert!(all.contains(&"DC9") && !all.contains(&"DC7") && !all.contains(&"DC8"));
        assert!(left(&["DC"]).unwrap().contains(&"DC6"));
        assert_eq!(left(&["RE10"]), Some(vec!["RE10"]));
        assert_eq!(left(&["RE10", "dc7"]), None);
    }

    #[test]
    fn a_whole_run_counts_what_the_page_holds_and_the_program_does_not() {
        let page = "| id | verdict |\n|---|---|\n| WL99 | B | x | y | z | agrees |\n\n## WL99\n\n- run: it\n";
        assert_eq!([true, false].map(|is_whole| differing(&[], page, is_whole)), [1, 0]);
    }
}
