//! Theory on each drive of an array, by the load that the array gives it.

use wane_scenario::{ArrayLayout, ArraySpec, Pattern, Scenario, Workload};

use super::load::{Load, of_members};
use super::{PredictError, Prediction, of_load, predict};

/// The prediction for a drive that a scenario's host writes, alone or in an array.
#[derive(Clone, Debug)]
pub struct MemberPrediction {
    /// Its place in the array, from 0 on.
    pub place: usize,
    /// Bytes that it is given for each byte that the host writes, parities and journal included.
    pub share: f64,
    /// The prediction; `None` if nothing is written on it.
    pub prediction: Option<Prediction>,
    /// Drive writes of the host until it ends, if blocks retire.
    pub host_drive_writes: Option<f64>,
}

/// The predictions for the drives of a scenario, with what of the array no model has. A drive alone is given what its host writes.
///
/// # Errors
/// As of [`predict`].
pub fn predict_members(scenario: &Scenario) -> Result<(Vec<MemberPrediction>, Vec<String>), PredictError> {
    let Some(array) = &scenario.array else {
        let prediction = predict(scenario)?;
        let host_drive_writes = prediction.drive_writes;
        let alone = MemberPrediction { place: 0, share: 1.0, prediction: Some(prediction), host_drive_writes };
        return Ok((vec![alone], Vec::new()));
    };
    let loads = of_members(scenario, array)?;
    let members = loads.iter().enumerate().map(|(place, load)| of_member(scenario, array, place, load));
    let members = members.collect::<Result<_, _>>()?;
    Ok((members, departures(scenario, array).into_iter().chain(seldom_written(scenario, &loads)).collect()))
}

/// Of each drive of an array: its drive writes for one of the host, and the bytes that it is given for each byte of the host. `None` if its workload has no
/// model.
pub(crate) fn given(scenario: &Scenario) -> Option<Vec<(f64, f64)>> {
    let array = scenario.array.as_ref()?;
    let loads = of_members(scenario, array).ok()?;
    Some(loads.iter().map(|load| (load.drive_writes, load.share)).collect())
}

fn of_member(
    scenario: &Scenario,
    array: &ArraySpec,
    place: usize,
    load: &Load,
) -> Result<MemberPrediction, PredictError> {
    let mut member = array.members[place].clone();
    // Its own ends and its workload are the array's. Times are those of no drive alone.
    (member.phases, member.precondition) = (scenario.phases.clone(), scenario.precondition);
    let is_written = load.share > 0.0;
    let prediction = if is_written { Some(of_load(&member, load)?) } else { None };
    let of_host = |writes: f64| writes / load.drive_writes;
    let host_drive_writes = prediction.as_ref().and_then(|prediction| prediction.drive_writes).map(of_host);
    Ok(MemberPrediction { place, share: load.share, prediction, host_drive_writes })
}

/// Names drives that the run writes less than once, of which the model is not.
fn seldom_written(scenario: &Scenario, loads: &[Load]) -> Option<String> {
    let asked = scenario.phases[0].until.drive_writes?;
    let is_seldom = |load: &&(usize, &Load)| load.1.share > 0.0 && load.1.drive_writes * asked < 1.0;
    let loads: Vec<(usize, &Load)> = loads.iter().enumerate().collect();
    let places: Vec<String> = loads.iter().filter(is_seldom).map(|(place, _)| place.to_string()).collect();
    (!places.is_empty()).then(|| {
        format!(
            "the run writes drive {} less than once, and the model is of the steady state: until then it amplifies less",
            places.join(", ")
        )
    })
}

/// How a pattern lies in an array; nothing of this of other workloads.
#[derive(Default)]
struct Rests {
    /// Whether data were filled in that it does not write.
    rests: bool,
    /// Whether its busiest pages follow each other.
    lies_together: bool,
}

impl Rests {
    fn of(scenario: &Scenario, array: &ArraySpec) -> Self {
        let Workload::Pattern(spec) = &scenario.phases[0].workload else { return Self::default() };
        let before = &scenario.precondition;
        let filled = if before.sequential_drive_writes > 0 { 1.0 } else { before.fill.get() };
        let footprint = f64::from(spec.footprint_units) / f64::from(array.device.logical_units);
        Self {
            rests: filled > footprint + 1e-3,
            lies_together: matches!(
                spec.pattern,
                Pattern::Zipf { scramble: false, .. } | Pattern::ZipfTable { scramble: false, .. }
            ),
        }
    }
}

/// What an array does that no model has.
fn departures(scenario: &Scenario, array: &ArraySpec) -> Vec<String> {
    let settings = &array.settings;
    let has_ring = array.ring(0.0).is_some();
    let has_parities = settings.layout == ArrayLayout::Raid && !settings.code.starts_with("copies");
    let trims = match &scenario.phases[0].workload {
        Workload::Pattern(spec) => spec.trim_share.get() > 0.0,
        _ => false,
    };
    let is_timed = scenario.time.is_timed() && scenario.probe.is_none();
    let unlike = array.members.windows(2).any(|two| two[0].device.logical_units != two[1].device.logical_units);
    let is_part = match &scenario.phases[0].workload {
        Workload::Pattern(_) => false,
        _ => settings.layout == ArrayLayout::Linear || unlike,
    };
    let Rests { rests, lies_together } = Rests::of(scenario, array);
    let all = [
        (
            settings.layout.is_redundant() && scenario.phases[0].until.end_of_life,
            "what is told of each drive holds until the first one ends: then the others may be given more, and an array without a journal keeps one",
        ),
        (
            lies_together && settings.layout != ArrayLayout::Linear && settings.layout != ArrayLayout::Mirror,
            "the busiest pages lie together (workload.scramble), within a chunk of one drive, and the model gives each drive its share: that drive gets more",
        ),
        (
            has_parities && rests,
            "data at rest lie among the pages of parities that were written again and again as the array was filled, and not in blocks of their own: drives \
             amplify more, up to three and a half times as much where little is written again",
        ),
        (
            has_parities && !matches!(scenario.phases[0].workload, Workload::Pattern(_)),
            "each page is taken to change its parities by itself: a request of several pages changes a parity once for what it has of a stripe, so that \
             drives are given less",
        ),
        (
            settings.replace_at.is_some() || settings.spares > 0,
            "no drive is replaced in the model (array.replace-at, array.spares): what is told of each drive is its own first life",
        ),
        (settings.checksums, "blocks of checksums (array.checksums) are not in the model: drives are given more"),
        (
            trims && has_parities,
            "trims of stripes with parities are not in the model: they are written there as zeros, or free whole stripes",
        ),
        (
            has_ring,
            "the journal's records come in runs, which leave blocks of few pages to themselves and make the drive amplify less: by up to 15 % with blocks of \
             32 pages, and 5 % with 512",
        ),
        (has_ring && !is_timed, "checkpoints of a small ring are left out, up to a tenth of what drives are given"),
        (
            has_ring && is_timed,
            "heads of the journal's records are left out: a change that waits alone has one of its own, and writes up to a third more",
        ),
        (scenario.time.is_timed(), "reads are not predicted: there is a model of a drive alone"),
        (
            is_part,
            "the workload is taken to write the first pages of the array, each as often as any other: which drive has the busy ones is not in the model",
        ),
    ];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, text)| text.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::build::PolicyOverrides;
    use crate::run::Watch;
    use crate::session;
    use wane_results::RunResult;
    use wane_scenario::Sources;

    const DRIVE: &str = "[drive]\nlogical-capacity = '64 MiB'\nspare-factor = '10 %'\npages-per-block = 32\n";

    fn scenario(text: &str) -> Scenario {
        Scenario::resolve(&Sources { file: Some(("test", text)), ..Sources::default() }).unwrap()
    }

    fn run(scenario: &Scenario) -> RunResult {
        let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
        session::execute(scenario, &PolicyOverrides::default(), &mut watch).unwrap()
    }

    /// What members are given, and how much they amplify it, against runs. The second number: by how much the amplification may be off.
    #[test]
    fn members_are_given_and_amplify_what_theory_says() {
        const UPPER: f64 = f64::INFINITY;
        let hot = "pattern = 'hot-cold'\nr = 0.8\nh = 0.2";
        let raid = |journal: &str, more: &str| {
            format!(
                "[array]\nlayout = 'raid'\nchunk = '16 KiB'\njournal = '{journal}'\n{more}\n[[array.member]]\ncount = 5\n"
            )
        };
        let of = |layout: &str, members: &str| format!("[array]\nlayout = '{layout}'\n{members}\n");
        let unlike = "[[array.member]]\n[[array.member]]\ndrive.logical-capacity = '32 MiB'\n[[array.member]]";
        for (array, workload, given, amplified) in [
            (of("mirror", "[[array.member]]\ncount = 2"), "pattern = 'uniform'", 0.001, 0.015),
            (of("mirror", unlike), hot, 0.01, 0.02),
            (of("stripe", "[[array.member]]\ncount = 3"), hot, 0.02, 0.02),
            (of("linear", unlike), hot, 0.01, 0.02),
            (of("linear", unlike), "pattern = 'uniform'\nfootprint = '60 %'", 0.01, 0.02),
            (raid("none", ""), "pattern = 'uniform'", 0.01, 0.015),
            (raid("none", ""), hot, 0.01, 0.04),
            (raid("none", ""), "pattern = 'zipf'\nexponent = 0.9", 0.06, 0.07),
            (raid("none", "code = 'pq'"), "pattern = 'uniform'", 0.01, 0.015),
            // Requests that have parts of stripes, whole ones, and ends of two.
            // Pages that are written together die together, which no model has, and is told: amplification is an upper bound.
            (raid("none", ""), "pattern = 'uniform'\nrequest-size = '24 KiB'", 0.01, UPPER),
            (raid("none", ""), "pattern = 'uniform'\nrequest-size = '64 KiB'", 0.01, UPPER),
            (raid("none", "code = 'pq'"), "pattern = 'uniform'\nrequest-size = '16 KiB'", 0.01, UPPER),
            (raid("full", ""), "pattern = 'uniform'\nrequest-size = '64 KiB'", 0.07, UPPER),
            (raid("none", "code = 'copies-2'\nwidth = 4"), "pattern = 'uniform'", 0.01, 0.02),
            (raid("none", "parity-shares = [40, 15, 15, 15, 15]"), "pattern = 'uniform'", 0.02, 0.02),
            (
                of("stripe", "[[array.member]]\ncount = 3"),
                "pattern = 'sequential'\nrequest-size = '256 KiB'",
                0.02,
                0.01,
            ),
            (raid("ppl", ""), "pattern = 'uniform'", 0.07, 0.16),
            (raid("full", ""), "pattern = 'uniform'", 0.07, 0.16),
        ] {
            let scenario = scenario(&format!("{DRIVE}{array}[workload]\n{workload}\n[until]\ndrive-writes = 6\n"));
            let (members, told) = predict_members(&scenario).unwrap();
            let ran = run(&scenario);
            let drives = &ran.summary.array.as_ref().unwrap().drives;
            let host = ran.summary.host.drive_writes * ran.summary.capacity.logical_bytes_initial as f64;
            for (member, (drive, of)) in members.iter().zip(drives.iter().zip(&ran.drives)) {
                let share = drive.bytes_written as f64 / host;
                let Some(found) = &member.prediction else {
                    assert_eq!(drive.bytes_written, 0, "{array} {workload}: nothing is written on {}", member.place);
                    continue;
                };
                let want = of.summary.write_amplification.last_drive_write.gc.unwrap();
                println!(
                    "{array:?} {workload:?} {}: given {:.4} for {share:.4}, {} {:.3} for {want:.3}",
                    member.place,
                    member.share,
                    found.model.name(),
                    found.write_amplification
                );
                assert!((member.share / share - 1.0).abs() < given, "{array} {workload} {}", member.place);
                let factor = found.write_amplification / want;
                assert!(
                    if amplified == UPPER { factor > 1.0 } else { (factor - 1.0).abs() < amplified },
                    "{array} {workload} {}",
                    member.place
                );
            }
            assert_eq!(
                told.iter().any(|told| told.contains("the journal's records come in runs")),
                array.contains("ppl") || array.contains("full")
            );
        }
    }

    #[test]
    fn drives_of_an_array_end_when_theory_says() {
        for array in [
            "[array]\nlayout = 'mirror'\n[[array.member]]\n[[array.member]]\ndrive.initial.erase-count = 60\n",
            "[array]\nlayout = 'raid'\njournal = 'none'\nchunk = '16 KiB'\n[[array.member]]\ncount = 3\n[[array.member]]\ndrive.initial.erase-count = 60\n",
        ] {
            let text = format!(
                "{DRIVE}endurance = 200\n[ftl]\nretire = 'at-endurance'\n{array}[workload]\npattern = 'uniform'\n[until]\nend-of-life = true\n"
            );
            let scenario = scenario(&text);
            let (members, _) = predict_members(&scenario).unwrap();
            let ran = run(&scenario);
            let ended: Vec<Option<f64>> =
                ran.summary.array.unwrap().drives.iter().map(|drive| drive.ended_at).collect();
            let found: Vec<f64> = members.iter().map(|member| member.host_drive_writes.unwrap()).collect();
            println!("{found:.2?} for {ended:.2?}");
            let last = found.len() - 1;
            // What comes after a death is another load where parities are written without it.
            assert!((found[last] / ended[last].unwrap() - 1.0).abs() < 0.08, "{array}: {found:?} {ended:?}");
            let alive = array.contains("mirror");
            assert!(!alive || (found[0] / ended[0].unwrap() - 1.0).abs() < 0.05, "{array}: {found:?} {ended:?}");
        }
    }

    #[test]
    fn what_no_model_has_is_told() {
        let of = |more: &str| {
            let text = format!("{DRIVE}{more}[until]\ndrive-writes = 1\n");
            predict_members(&scenario(&text)).map(|(members, told)| (members.len(), told.join("; ")))
        };
        let raid = "[array]\nlayout = 'raid'\n[[array.member]]\ncount = 4\n";
        let more = raid.replace("'raid'\n", "'raid'\nchecksums = true\nspares = 1\n");
        let (count, told) = of(&more).unwrap();
        assert!(count == 4 && told.contains("checksums") && told.contains("no drive is replaced"), "{told}");
        let (_, told) = of(&format!("{raid}[workload]\ntrim-share = '10 %'\n")).unwrap();
        assert!(told.contains("trims of stripes"), "{told}");
        assert_eq!(of("").unwrap(), (1, String::new()));
        let refused = of("[file-system]\n").unwrap_err().to_string();
        assert!(refused.starts_with("[file-system]: there is no model of what a file system writes"), "{refused}");
    }
}
