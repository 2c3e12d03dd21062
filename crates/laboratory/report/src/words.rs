//! The answer in words: how long a drive lived, why it ended, what writing cost and how even its wear is.

use super::groups::Group;
use super::numbers::{count, counted, lifetime, percent, short, traffic};
use super::timed;
use wane_results::{CalendarOrigin, DAYS_PER_YEAR, EndCause, EndReason, Estimate, FastForwarded, Summary, is_same};

/// The answer in one line.
pub(super) fn headline(groups: &[Group<'_>]) -> String {
    // The life of a drive that died comes first, however fast it was.
    let died = groups.iter().any(|group| reason(group) == Some(EndReason::EndOfLife));
    if let Some(told) = timed::headline(groups).filter(|_| !died) {
        return as_of_arrays(groups, told);
    }
    let told = match groups {
        [] => "Nothing was run".to_owned(),
        [group] => alone(group),
        _ => longest(groups),
    };
    as_of_arrays(groups, told)
}

/// What is said of a drive, and what of an array.
const OF_ARRAYS: [(&str, &str); 7] = [
    ("until as many blocks had retired as it had to spare", "until too few of its drives took writes"),
    ("as many blocks had retired as it had to spare", "too few of its drives took writes"),
    ("for padding and the file system", "for copies, parities and padding"),
    ("The drive", "The array"),
    ("the drive", "the array"),
    ("drives lived", "arrays lived"),
    ("drive write", "array write"),
];

/// A sentence on drives, as one on arrays if all runs are of arrays.
pub(super) fn as_of_arrays(groups: &[Group<'_>], told: String) -> String {
    if groups.is_empty() || !groups.iter().all(|group| group.first().summary.array.is_some()) {
        return told;
    }
    OF_ARRAYS.iter().fold(told, |told, (of_drive, of_array)| told.replace(of_drive, of_array))
}

fn alone(group: &Group<'_>) -> String {
    let life = counted(group.mean(life).unwrap_or(0.0));
    match reason(group) {
        Some(EndReason::EndOfLife) => {
            let lived = match years(group) {
                Some(years) => format!("The drive lived for {years}: {life} drive writes"),
                None => format!("The drive lived for {life} drive writes"),
            };
            match shared_cause(group) {
                Some(cause) => format!("{lived}, until {}", cause_in_words(cause)),
                None => lived,
            }
        }
        Some(EndReason::Interrupted) => format!("Interrupted after {life} drive writes"),
        _ => format!("After {life} drive writes the run was over"),
    }
}

/// Why all drives of a group died, if they died of one cause.
fn shared_cause(group: &Group<'_>) -> Option<EndCause> {
    let cause = group.first().summary.end.cause?;
    group.runs.iter().all(|run| run.summary.end.cause == Some(cause)).then_some(cause)
}

/// Compares lives where every drive lived to its end; otherwise only counts the runs.
fn longest(groups: &[Group<'_>]) -> String {
    let mut lives: Vec<(f64, &str)> =
        groups.iter().filter_map(|group| Some((group.mean(life)?, group.label.as_str()))).collect();
    let complete = groups.iter().all(|group| reason(group) == Some(EndReason::EndOfLife));
    lives.sort_by(|left, right| right.0.total_cmp(&left.0));
    let (best, worst) = (lives[0], lives[lives.len() - 1]);
    if !complete || worst.0 <= 0.0 {
        return format!("{} runs side by side", groups.len());
    }
    let ratio = best.0 / worst.0;
    if ratio < 1.01 {
        return format!("{} drives lived equally long: {} drive writes", groups.len(), counted(best.0));
    }
    format!("\u{201c}{}\u{201d} lived {} times as long as \u{201c}{}\u{201d}", best.1, short(ratio), worst.1)
}

/// Everything about one group, a paragraph each.
pub(super) fn paragraphs(group: &Group<'_>) -> Vec<String> {
    let headline = headline(std::slice::from_ref(group));
    let told = timed::in_words(group, &headline);
    let written = group.runs.iter().any(|run| run.summary.flash.pages_programmed.total > 0);
    if told.is_some() && !written {
        return told.into_iter().chain(["Nothing was written: the drive is as it was.".to_owned()]).collect();
    }
    [
        told,
        Some(life_in_words(group)),
        worn_out_in_part(&group.first().summary),
        group.first().summary.fast_forward.as_ref().map(forward_sentence),
        amplification_in_words(group),
        Some(wear_in_words(group)),
        capacity_in_words(group),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Share of the most worn block's erases: half of a dead drive's blocks hardly wore if they have at most this share.
const HARDLY_WORN: f64 = 0.25;

/// Says that a drive died of few of its blocks, and what its years then leave out. `None` if most of its blocks wore, or it lives.
pub fn worn_out_in_part(summary: &Summary) -> Option<String> {
    let erases = &summary.wear.erase_count;
    let is_over = summary.end.reason == EndReason::EndOfLife;
    if !is_over || f64::from(erases.p50) > HARDLY_WORN * f64::from(erases.max) {
        return None;
    }
    let leveled = match summary.flash.blocks_erased.wear_leveling {
        0 => "nothing leveled their wear (ftl.wear-leveling)",
        _ => "wear leveling did not even that out",
    };
    let years = summary.life.as_ref().and_then(|life| Some((life.years?, life.warranty_years)));
    let beyond = years.filter(|(years, warranty)| years > &(2.0 * warranty)).map_or_else(String::new, |(years, _)| {
        format!(
            " {} are those of wear alone: retention and other failures are not in them.",
            lifetime(DAYS_PER_YEAR * years)
        )
    });
    Some(format!(
        "It died of few of its blocks: half of them were erased at most {} times, the most worn {} times, and {leveled}.{beyond}",
        counted(f64::from(erases.p50)),
        counted(f64::from(erases.max)),
    ))
}

/// What the host wrote, averaged over lives, and how much of that was simulated if it was not all: "102 TB, 6.88 TB of it
/// simulated".
pub fn written_in_words<'a>(summaries: impl Iterator<Item = &'a Summary>) -> String {
    let (lived, simulated): (Vec<f64>, Vec<f64>) =
        summaries.map(|summary| (summary.bytes_lived(), summary.host.bytes_written as f64)).unzip();
    let [lived, simulated] = [lived, simulated].map(|of| traffic(Estimate::of(&of).map_or(0.0, |of| of.mean)));
    if lived == simulated { lived } else { format!("{lived}, {simulated} of it simulated") }
}

/// The same of a group.
pub(super) fn written(group: &Group<'_>) -> String {
    written_in_words(group.runs.iter().map(|run| &run.summary))
}

/// What of a life was simulated and what was predicted, in a line.
pub fn forward_in_words(forward: &FastForwarded) -> String {
    let FastForwarded { drive_writes_simulated, drive_writes_predicted, factor_reached, model, .. } = forward;
    let erases = counted(forward.blocks_erased_predicted as f64);
    let back = match forward.predictions_taken_back {
        0 => String::new(),
        1 => ", 1 prediction taken back".to_owned(),
        back => format!(", {back} predictions taken back"),
    };
    format!(
        "{drive_writes_simulated:.2} drive writes simulated, {drive_writes_predicted:.2} predicted by {model} with {erases} erases: {} times as \
         fast{back}",
        short(*factor_reached)
    )
}

fn forward_sentence(forward: &FastForwarded) -> String {
    format!(
        "Part of this life was predicted instead of simulated: {}. Erase counts, capacity and the length of the life cover both parts; \
         everything else covers what was simulated.",
        forward_in_words(forward)
    )
}

pub(super) fn life_in_words(group: &Group<'_>) -> String {
    let life = with_interval(group.estimate(life));
    let wrote = format!("The host wrote {life} drive writes ({})", written(group));
    let cause = group.first().summary.end.cause.map(|cause| format!("{} ({})", cause_in_words(cause), cause.name()));
    let told = match (reason(group), cause) {
        (Some(EndReason::EndOfLife), Some(cause)) => {
            format!("{wrote} until the drive reached its end of life: {cause}.")
        }
        (Some(EndReason::EndOfLife), None) => format!("{wrote} until the drive reached its end of life."),
        (Some(EndReason::Interrupted), _) => {
            format!("{wrote} before the run was interrupted; these are the results so far.")
        }
        (Some(EndReason::DriveWrites), _) => format!("{wrote}, as many as asked for; the drive was still alive."),
        (Some(EndReason::Days), _) => format!("{wrote} in the days asked for; the drive was still alive."),
        (Some(EndReason::Requests), _) => format!("{wrote} in the requests asked for; the drive was still alive."),
        (Some(EndReason::TraceEnd), _) => format!("{wrote} until the trace ran out; the drive was still alive."),
        (Some(EndReason::ClockEnd), _) => {
            format!("{wrote} until the simulated clock came to its end, after 584 years; the drive was still alive.")
        }
        (Some(EndReason::Replaced), _) => format!("{wrote} until another drive took its place."),
        (Some(EndReason::ArrayEnd), _) => {
            format!("{wrote} until its array came to its end; the drive was still alive.")
        }
        (None, _) => format!("{wrote} on average; the seeds ended differently ({}).", ends(group)),
    };
    let told = match calendar_in_words(group) {
        Some(calendar) => format!("{told} {calendar}"),
        None => told,
    };
    match group.runs.len() {
        1 => match group.alike() {
            Some(seeds) => {
                format!("{told} All {seeds} seeds gave the same results: what they draw makes no difference here.")
            }
            None => told,
        },
        seeds => format!("{told} These are means of {seeds} seeds with 95 % intervals."),
    }
}

/// The time of a life: "3.10 years" or "40 days"; `None` without a calendar.
pub(super) fn years(group: &Group<'_>) -> Option<String> {
    group.mean(|summary| summary.life.as_ref()?.days).map(lifetime)
}

/// A life in the words of data sheets; `None` without a calendar.
fn calendar_in_words(group: &Group<'_>) -> Option<String> {
    let life = group.first().summary.life.as_ref()?;
    let rate = short(life.drive_writes_per_day?);
    let pace = match life.calendar? {
        CalendarOrigin::Scenario => format!("At {rate} drive writes a day"),
        CalendarOrigin::Trace => format!("At the trace\u{2019}s own pace, {rate} drive writes a day,"),
        CalendarOrigin::Clock => format!("By its clock, at {rate} drive writes a day,"),
    };
    let rated = group.mean(|summary| summary.life.as_ref()?.dwpd).map(|dwpd| {
        let written = group.mean(|summary| Some(summary.life.as_ref()?.terabytes_written)).unwrap_or(0.0);
        format!(": {} TBW, or {} DWPD over a warranty of {} years", short(written), short(dwpd), life.warranty_years)
    });
    Some(format!("{pace} that took {}{}.", years(group)?, rated.unwrap_or_default()))
}

fn amplification_in_words(group: &Group<'_>) -> Option<String> {
    let total = group.estimate(|summary| summary.write_amplification.total)?;
    let gc = group.mean(|summary| summary.write_amplification.gc).unwrap_or(1.0) - 1.0;
    let leveling = group.mean(|summary| summary.write_amplification.wear_leveling).unwrap_or(0.0);
    let share = |of: fn(&Summary) -> u64| {
        group.mean(|summary| Some(of(summary) as f64 / summary.host.pages_written.max(1) as f64)).unwrap_or(0.0)
    };
    let scrub = share(|summary| summary.flash.pages_programmed.scrub);
    let parity = share(|summary| summary.flash.pages_programmed.parity);
    let rest = total.mean - 1.0 - gc - leveling - scrub - parity;
    let mut causes = vec![format!("{} of them for garbage collection", short(gc.max(0.0)))];
    if leveling > 0.0 {
        causes.push(format!("{} for wear leveling", short(leveling)));
    }
    for (pages, cause) in [(scrub, "scrubbing"), (parity, "parity")] {
        if pages > 0.0 {
            causes.push(format!("{} for {cause}", short(pages)));
        }
    }
    if rest > 5e-4 {
        causes.push(format!("{} for padding and the file system", short(rest)));
    }
    // Of a run of less, the last drive write is the whole run.
    let is_longer = |summary: &Summary| summary.host.drive_writes > 1.0;
    let last = |summary: &Summary| summary.write_amplification.last_drive_write.total.filter(|_| is_longer(summary));
    let last = group.mean(last);
    let last = last.map_or(String::new(), |last| format!(" In the last drive write it was {}.", short(last)));
    Some(format!(
        "Each page that the host wrote cost {} flash {}, {}.{last}",
        with_interval(Some(total)),
        if is_same(total.mean, 1.0) { "page" } else { "pages" },
        listed(&causes)
    ))
}

fn wear_in_words(group: &Group<'_>) -> String {
    let of = |figure: fn(&Summary) -> f64| group.mean(|summary| Some(figure(summary))).unwrap_or(0.0);
    let (mean, sd) = (of(|summary| summary.wear.erase_count.mean), of(|summary| summary.wear.erase_count.sd));
    let variation = if mean > 0.0 { sd / mean } else { 0.0 };
    let evenness = match variation {
        low if low < 0.03 => "very even",
        low if low < 0.1 => "even",
        low if low < 0.25 => "somewhat uneven",
        low if low < 0.5 => "uneven",
        _ => "very uneven",
    };
    if mean == 0.0 {
        return "No block was erased.".to_owned();
    }
    let least = of(|summary| f64::from(summary.wear.erase_count.min));
    let (most, jain) = (of(|summary| f64::from(summary.wear.erase_count.max)), of(|summary| summary.wear.jain_index));
    let rated = group.endurance().map_or(String::new(), |rated| format!(" of {} rated", counted(rated)));
    format!(
        "Wear is {evenness}: blocks were erased {} times on average, the least worn {} and the most worn {} times{rated}; \
         they deviate by {} from the mean, and Jain\u{2019}s index is {}.",
        counted(mean),
        counted(least),
        counted(most),
        percent(variation),
        jain_in_digits(jain),
    )
}

fn capacity_in_words(group: &Group<'_>) -> Option<String> {
    let share = group.mean(|summary| {
        let capacity = &summary.capacity;
        Some(capacity.logical_bytes_exported as f64 / capacity.logical_bytes_initial.max(1) as f64)
    })?;
    let retired = group.mean(|summary| Some(summary.wear.blocks_retired as f64))?;
    let blocks = group.first().block_count();
    let of = if blocks > 0 { format!(" of {}", count(blocks as u64)) } else { String::new() };
    let retired = format!("{}{of} blocks had retired", counted(retired));
    Some(if share >= 1.0 {
        format!("It exported its full capacity to the end, when {retired}.")
    } else {
        format!("At the end it still exported {} of its first capacity, and {retired}.", percent(share))
    })
}

/// Jain's index, which says most near 1, with enough digits to distinguish it from 1.
pub(super) fn jain_in_digits(jain: f64) -> String {
    let told = |decimals| super::numbers::grouped(jain, decimals);
    let digits = (3..6).find(|digits| jain >= 1.0 || !told(*digits).starts_with('1'));
    told(digits.unwrap_or(6))
}

/// Why a group ended, in a few words.
pub(super) fn ends(group: &Group<'_>) -> String {
    let mut told: Vec<String> = group
        .runs
        .iter()
        .map(|run| match (run.summary.end.reason, run.summary.end.cause) {
            (EndReason::EndOfLife, Some(cause)) => cause.name().to_owned(),
            (reason, _) => reason.name().to_owned(),
        })
        .collect();
    told.sort();
    told.dedup();
    told.join(", ")
}

const fn cause_in_words(cause: EndCause) -> &'static str {
    match cause {
        EndCause::SpareExhausted => "as many blocks had retired as it had to spare",
        EndCause::NoFreeBlock => "no free block was left to write to",
        EndCause::NoVictim => "garbage collection found no block that it could reclaim",
        EndCause::FootprintDoesNotFit => "the data in use no longer fit what it could export",
        EndCause::RelocationBound => "the file system had relocated as much as it was allowed to",
    }
}

/// The reason that all seeds share.
fn reason(group: &Group<'_>) -> Option<EndReason> {
    let first = group.first().summary.end.reason;
    group.runs.iter().all(|run| run.summary.end.reason == first).then_some(first)
}

pub(super) const fn life(summary: &Summary) -> Option<f64> {
    Some(summary.end.at_drive_writes)
}

/// A mean, with its interval where there is one.
pub(super) fn with_interval(estimate: Option<Estimate>) -> String {
    match estimate {
        None => short(f64::NAN),
        Some(estimate) if estimate.half_width.is_finite() && estimate.half_width > 0.0 => {
            format!("{} \u{b1} {}", short(estimate.mean), short(estimate.half_width))
        }
        Some(estimate) => counted(estimate.mean),
    }
}

/// "a, b and c".
fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::along::Along;
    use crate::groups::groups;
    use wane_results::test_runs::{MadeUp, made_up};
    use wane_results::{Calendar, Life, RunResult};

    fn run(name: &'static str, variant: bool, seed: u64) -> RunResult {
        made_up(MadeUp { name, seed, blocks: 64, rows: 40, variant, leveled: false })
    }

    #[test]
    fn sentences_on_arrays_name_the_array() {
        let mut run = run("fixed", false, 1);
        let array = wane_results::ArrayFigures { layout: "raid".to_owned(), ..wane_results::ArrayFigures::default() };
        run.summary.array = Some(array);
        let runs = [run];
        let told = headline(&groups(&runs));
        assert_eq!(told, "The array lived for 39 array writes, until too few of its drives took writes");
    }

    #[test]
    fn a_drive_that_died_of_few_blocks_is_told_so() {
        let mut summary = run("fixed", false, 1).summary;
        let at = |p50, max, years: Option<f64>, summary: &mut Summary| {
            (summary.wear.erase_count.p50, summary.wear.erase_count.max) = (p50, max);
            summary.flash.blocks_erased.wear_leveling = 0;
            summary.life = years.map(|years| Life { years: Some(years), warranty_years: 5.0, ..Life::default() });
            worn_out_in_part(summary)
        };
        assert_eq!(at(2000, 3000, Some(150.0), &mut summary), None, "most of it wore");
        let told = at(0, 3000, None, &mut summary).unwrap();
        assert!(
            told.ends_with(
                "at most 0 times, the most worn 3,000 times, and nothing leveled their wear (ftl.wear-leveling)."
            ),
            "{told}"
        );
        let told = at(0, 3000, Some(150.0), &mut summary).unwrap();
        assert!(told.contains("150 years are those of wear alone"), "{told}");
        summary.end.reason = EndReason::DriveWrites;
        assert_eq!(at(0, 3000, Some(150.0), &mut summary), None, "it lives");
    }

    #[test]
    fn the_headline_answers_the_question() {
        let mut stopped = run("fixed", false, 1);
        stopped.summary.end.reason = EndReason::Interrupted;
        let mut longer = run("longer", true, 1);
        longer.summary.end.at_drive_writes = 2.0 * run("fixed", false, 1).summary.end.at_drive_writes;
        let table = [
            (vec![], "Nothing was run"),
            (
                vec![run("fixed", false, 1)],
                "The drive lived for 39 drive writes, until as many blocks had retired as it had to spare",
            ),
            (vec![stopped.clone()], "Interrupted after 39 drive writes"),
            (
                vec![run("fixed", false, 1), longer],
                "\u{201c}longer\u{201d} lived 2.00 times as long as \u{201c}fixed\u{201d}",
            ),
            (vec![run("fixed", false, 1), run("other", true, 1)], "2 drives lived equally long: 39 drive writes"),
            (vec![stopped, run("other", true, 1)], "2 runs side by side"),
        ];
        for (runs, expected) in table {
            assert_eq!(headline(&groups(&runs)), expected);
        }
    }

    #[test]
    fn a_life_with_a_calendar_is_told_in_years() {
        let mut dated = run("fixed", false, 1);
        let (written, capacity) = (dated.summary.host.drive_writes, dated.summary.capacity.logical_bytes_initial);
        let calendar = Calendar { drive_writes_per_day: 0.025, origin: CalendarOrigin::Trace };
        dated.summary.life = Some(Life::of(written, capacity, Some(calendar), true));
        let runs = [dated.clone()];
        assert_eq!(
            headline(&groups(&runs)),
            "The drive lived for 4.27 years: 39 drive writes, until as many blocks had retired as it had to spare"
        );
        let told = paragraphs(&groups(&runs)[0]).join(" ");
        for part in [
            "At the trace\u{2019}s own pace, 0.025 drive writes a day, that took 4.27 years",
            "TBW",
            "DWPD over a warranty of 5 years",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(crate::render(&runs).contains(">years<"), "no axis in years");
        // A life is laid out along the calendar where all have one.
        assert_eq!(groups(&runs)[0].life, Along::Years);
        let both = [dated, run("other", true, 1)];
        assert!(groups(&both).iter().all(|group| group.life == Along::DriveWrites));
    }

    #[test]
    fn the_data_of_a_life_are_those_of_all_of_it_and_of_the_drive_that_it_stands_for() {
        let mut part = run("fixed", false, 1);
        let capacity = part.summary.capacity.logical_bytes_initial;
        let simulated = traffic(part.summary.host.bytes_written as f64);
        let whole = run("fixed", false, 1);
        assert_eq!(written_in_words([&whole.summary].into_iter()), simulated);
        part.summary.fast_forward = Some(FastForwarded::default());
        part.summary.end.at_drive_writes = 400.0;
        part.summary.life = Some(Life::of(400.0, 10 * capacity, None, true));
        let lived = traffic(4000.0 * capacity as f64);
        let expected = format!("{lived}, {simulated} of it simulated");
        assert_eq!(written_in_words([&part.summary].into_iter()), expected);
        let page = crate::render(&[part.clone()]);
        // In the sentence and under the number; nowhere what was simulated alone.
        assert_eq!(page.matches(&expected).count(), 2);
        assert_eq!(page.matches(&simulated).count(), page.matches(&format!(", {simulated} of it simulated")).count());
        let table = crate::render(&[part, run("other", true, 1)]);
        assert!(table.contains(&format!("<td data-name=\"data written\">{expected}</td>")), "no row of it");
    }

    #[test]
    fn pages_of_scrubbing_and_parity_are_told_as_such() {
        let mut scrubbed = run("fixed", false, 1);
        let pages = &mut scrubbed.summary.flash.pages_programmed;
        (pages.scrub, pages.parity) = (scrubbed.summary.host.pages_written, scrubbed.summary.host.pages_written / 2);
        let total = scrubbed.summary.write_amplification.total.unwrap();
        scrubbed.summary.write_amplification.total = Some(total + 1.5);
        let runs = [scrubbed];
        let told = amplification_in_words(&groups(&runs)[0]).unwrap();
        assert!(told.contains("1 for scrubbing") || told.contains("1.00 for scrubbing"), "{told}");
        assert!(told.contains("0.50 for parity") && !told.contains("padding"), "{told}");
    }

    #[test]
    fn an_index_below_one_is_never_told_as_one() {
        for (jain, expected) in [(1.0, "1.000"), (0.9123, "0.912"), (0.9996, "0.9996"), (0.99997, "0.99997")] {
            assert_eq!(jain_in_digits(jain), expected);
        }
    }

    #[test]
    fn the_end_is_told_with_its_cause() {
        let runs = [run("fixed", false, 1)];
        let told = paragraphs(&groups(&runs)[0]).join(" ");
        for part in
            ["39 drive writes", "as many blocks had retired as it had to spare", "for garbage collection", "Wear is"]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
        let seeds = [run("fixed", false, 1), run("fixed", false, 2)];
        let told = paragraphs(&groups(&seeds)[0]).join(" ");
        assert!(told.contains("means of 2 seeds") && told.contains('\u{b1}'), "{told}");
    }
}
