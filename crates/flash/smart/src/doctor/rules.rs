//! The rules. Each gives at most one finding, and none if the values that it needs were not reported.

use super::counts::{COUNTERS, counted};
use super::history::History;
use super::life::{Between, Life, is_by_erases, spare_forecast};
use super::told::{count, whole};
use super::writes::Writes;
use super::{Finding, Verdict};
use crate::Quantity as Q;
use crate::Reading;
use crate::reading::{Failed, Protocol};
use crate::time::{DAY_SECONDS, parse_iso_day};

const NVME: &str = "NVM Express Base Specification, log page 02h";
const ACS: &str = "ATA Command Set 4, SMART RETURN STATUS and the attributes' thresholds";
const SPARE: &str = "the drive's threshold, as in NVMe's log page 02h; warning from ten points above by wane";
const WEAR: &str = "the rating, as NVMe's Percentage Used has it: 100 is no failure; notice from 80 by wane";
const HEAT: &str = "the drive's own limits; else wane: data sheets allow 70 degrees, of disks 60";

/// Percent of the rated wear from which on a replacement should be planned.
const WEAR_NOTICE: f64 = 80.0;
const WEAR_RATED: f64 = 100.0;

/// Days before the end of the rated life: for a notice, and for a warning that another drive should be there.
const NEAR_DAYS: i64 = 365;
const SOON_DAYS: i64 = 30;

/// Points of spare above the threshold from which on there is no warning.
const SPARE_MARGIN: f64 = 10.0;

/// Degrees that data sheets allow for a drive, and for a disk.
const CELSIUS_MAX: f64 = 70.0;
const CELSIUS_MAX_DISK: f64 = 60.0;

const FAILS: &str = "the drive's own assessment is that it fails";

/// Where vendors set the bit of degraded reliability for the rating.
const RATING: &str = "smartmontools, issue 537: Samsung's PM9A1 sets bit 2 of the critical warning at 100 % used";

/// NVMe's critical warning with only the bit "reliability degraded".
const DEGRADED: u64 = 4;

/// Bits of NVMe's critical warning.
const WARNINGS: [(u8, Verdict, &str); 6] = [
    (0, Verdict::Failing, "spare below its threshold"),
    (1, Verdict::Warning, "temperature beyond its threshold"),
    (2, Verdict::Failing, "reliability degraded"),
    (3, Verdict::Failing, "read-only"),
    (4, Verdict::Warning, "the backup of volatile memory failed"),
    (5, Verdict::Warning, "the persistent memory region is unreliable"),
];

/// Findings of all rules, sorted by verdict.
pub(super) fn findings(history: &History, writes: &Writes, life: &Life) -> Vec<Finding> {
    let single = [
        assessment(history),
        thresholds(history),
        self_test(history),
        wear(history, life),
        end(history, life),
        spare(history),
        spare_end(history, life),
        pending(history),
        dies(history),
        capacitor(history),
        temperature(history),
        amplification(writes),
        own_writes(writes),
        fallen(history),
        contradictions(history),
        unread(history),
        drives(history),
        earlier(history),
    ];
    let counted = COUNTERS.iter().filter_map(|counters| counted(history, counters));
    let mut findings: Vec<Finding> = single.into_iter().flatten().chain(counted).collect();
    // The worst first; equal verdicts in the rules' order.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    findings
}

/// Whether the drive itself says that it fails, or that it is below its own limits.
pub(super) fn is_failing(history: &History) -> bool {
    let said = [assessment(history), thresholds(history), spare(history)];
    said.into_iter().flatten().any(|finding| finding.verdict == Verdict::Failing)
}

pub(super) fn finding(rule: &'static str, verdict: Verdict, reason: String, source: &'static str) -> Option<Finding> {
    Some(Finding { rule, verdict, reason, source })
}

fn assessment(history: &History) -> Option<Finding> {
    let (last, before) = (history.last(), history.state());
    let is_told = last.is_passed.is_some() || last.get(Q::CriticalWarning).is_some();
    let last = if is_told { last } else { before };
    let warning = last.get(Q::CriticalWarning).map(|bits| bits as u64);
    if let Some(bits) = warning.filter(|bits| *bits > 0) {
        if let Some(reason) = is_rating(before, bits) {
            return finding("assessment", Verdict::Warning, reason, RATING);
        }
        let set = || WARNINGS.iter().filter(|(bit, ..)| bits >> bit & 1 == 1);
        let verdict = set().map(|(_, verdict, _)| *verdict).max().unwrap_or(Verdict::Warning);
        let words: Vec<&str> = set().map(|(.., words)| *words).collect();
        let words = if words.is_empty() { format!("bits that are not known, {bits:#04x}") } else { words.join(", ") };
        let who = if last.is_passed == Some(false) { FAILS } else { "the drive warns" };
        return finding("assessment", verdict, format!("{who}: {words}"), NVME);
    }
    let source = if last.protocol == Some(Protocol::Nvme) { NVME } else { ACS };
    match (last.is_passed, warning) {
        (Some(false), _) => finding("assessment", Verdict::Failing, FAILS.to_owned(), source),
        (Some(true), _) | (None, Some(_)) => {
            let reason = "the drive's own assessment is that it is well".to_owned();
            finding("assessment", Verdict::Good, reason, source)
        }
        (None, None) => {
            finding("assessment", Verdict::Unknown, "no assessment by the drive was reported".to_owned(), source)
        }
    }
}

/// Why a drive that says "reliability degraded" says it for its rating alone: some vendors set the bit at 100 % used. The drive
/// then has no error, and its spare.
fn is_rating(drive: &Reading, bits: u64) -> Option<String> {
    let used = drive.get(Q::PercentageUsed).filter(|used| *used >= WEAR_RATED && bits == DEGRADED)?;
    drive.get(Q::MediaErrors).filter(|errors| *errors == 0.0)?;
    let spare = drive.get(Q::Spare)?;
    (spare > drive.get(Q::SpareThreshold).unwrap_or(0.0) + SPARE_MARGIN).then(|| {
        format!(
            "the drive says \"reliability degraded\" at {} % of its rated wear, with no media error and {} % of its spare: its \
             vendor sets this for the rating; plan to replace it",
            whole(used),
            whole(spare)
        )
    })
}

/// What the values of the last record that contradict each other say.
fn contradictions(history: &History) -> Option<Finding> {
    let said = &history.last().contradictions;
    let first = said.first()?;
    let reason = match said.len() {
        1 => first.clone(),
        many => format!("{first}; and {} more: {}", many - 1, said[1..].join("; ")),
    };
    finding("contradictions", Verdict::Notice, reason, "wane: of two values that cannot both be right, one is wrong")
}

/// Records that cannot be of one drive, of which only the last is judged.
fn drives(history: &History) -> Option<Finding> {
    let reason = format!(
        "the records are of two drives of one serial number, or the drive miscounts: {}; the last record alone is judged, and \
         `--name-by file` takes each file for a drive",
        history.impossible.as_ref()?
    );
    finding("two-drives", Verdict::Notice, reason, "wane: no drive is under power for longer than the time that passes")
}

/// What the last record reports and could not be read, so that its other values do not say that the drive is well.
fn unread(history: &History) -> Option<Finding> {
    let unread = history.last().unread.iter().filter(|quantity| quantity.is_weighty());
    let keys: Vec<&str> = unread.map(|quantity| quantity.key()).collect();
    (!keys.is_empty()).then_some(())?;
    let reason = format!(
        "{} {} reported and could not be read, so that the drive is not known to be well",
        keys.join(", "),
        if keys.len() == 1 { "was" } else { "were" }
    );
    finding("unread", Verdict::Notice, reason, "wane: a value that is not understood is no sign of health")
}

fn thresholds(history: &History) -> Option<Finding> {
    let attributes = &history.state().attributes;
    let named = |failed, prefailure: Option<bool>| {
        let found = attributes.iter().filter(|attribute| {
            attribute.failed() == Some(failed) && prefailure.is_none_or(|wanted| attribute.is_prefailure == wanted)
        });
        found.map(|attribute| format!("{} ({})", attribute.id, attribute.name)).collect::<Vec<_>>().join(", ")
    };
    let (now, aged, past) =
        (named(Failed::Now, Some(true)), named(Failed::Now, Some(false)), named(Failed::Past, None));
    if !now.is_empty() {
        return finding("thresholds", Verdict::Failing, format!("at its threshold of failure: attribute {now}"), ACS);
    }
    if !aged.is_empty() {
        return finding(
            "thresholds",
            Verdict::Warning,
            format!("at its threshold, of age or not said of what: attribute {aged}"),
            ACS,
        );
    }
    if !past.is_empty() {
        let reason = format!("once at its threshold, but no longer: attribute {past}");
        return finding("thresholds", Verdict::Notice, reason, ACS);
    }
    let all = format!("none of {} attributes is at its threshold", attributes.len());
    (!attributes.is_empty()).then_some(())?;
    finding("thresholds", Verdict::Good, all, ACS)
}

fn self_test(history: &History) -> Option<Finding> {
    let reason = format!("the drive's last test of itself failed: {}", history.last().failed_test.as_ref()?);
    finding(
        "self-test",
        Verdict::Warning,
        reason,
        "ATA Command Set 4, SMART self-test; NVM Express, device self-test log",
    )
}

fn wear(history: &History, life: &Life) -> Option<Finding> {
    let (last, used) = (history.state(), life.wear_percent?);
    let of = match last.get(Q::EraseCountRated).filter(|_| is_by_erases(last)) {
        Some(rated) => format!("{} % of {} rated cycles are used", used.round(), count(rated)),
        None => format!("{} % of the rated wear is used", whole(used)),
    };
    let from = last.known.get(&Q::PercentageUsed).map_or("", |known| &known.from);
    let (verdict, reason) = if used >= WEAR_RATED {
        (Verdict::Warning, format!("{of}: past its rating, which is no failure, but beyond what is warranted"))
    } else if used >= WEAR_NOTICE {
        (Verdict::Notice, of)
    } else {
        (Verdict::Good, of)
    };
    finding("wear", verdict, format!("{reason} ({from})"), WEAR)
}

const END: &str = "wane: linear growth of the wear; notice from a year before, warning from 30 days before";

/// The verdict on the end of the rated wear, in days. The growth by one step of the counter, which may come at any time, bounds
/// no end.
fn nearness(expected: Option<i64>, earliest: Option<i64>, is_bounded: bool) -> Verdict {
    if !is_bounded {
        Verdict::Good
    } else if expected.is_some_and(|days| days < SOON_DAYS) {
        Verdict::Warning
    } else if earliest.is_some_and(|days| days < NEAR_DAYS) {
        Verdict::Notice
    } else {
        Verdict::Good
    }
}

/// The end in hours under power, if no day is known; `None` while it is far. A new drive's first percent bounds nothing.
fn end_in_hours(life: &Life) -> Option<Finding> {
    let left = life.power_on_hours_left.as_ref()?;
    let (earliest, expected, latest) = (left.earliest?, left.expected?, left.latest?);
    let days = |hours: f64| Some((hours / 24.0) as i64);
    let verdict = nearness(days(expected), days(earliest), true);
    let (expected, earliest, latest) = (count(expected), count(earliest), count(latest));
    let reason = format!("the rated wear is used in {expected} hours under power, between {earliest} and {latest}");
    (verdict > Verdict::Good).then_some(())?;
    finding("end-of-life", verdict, reason, END)
}

fn end(history: &History, life: &Life) -> Option<Finding> {
    let Some(end) = life.end.as_ref() else { return end_in_hours(life) };
    let earliest = end.earliest.as_deref().unwrap_or("more than a hundred years from now");
    let expected = end.expected.as_deref();
    let reason = match (expected, end.latest.as_deref()) {
        (Some(expected), Some(latest)) => {
            format!("the rated wear is used on {expected}, between {earliest} and {latest}")
        }
        (Some(expected), None) => format!("the rated wear is used on {expected}, not before {earliest}"),
        (None, _) => format!("the rated wear is not used before {earliest}; it grew too little to say more"),
    };
    let now = history.last().unix_seconds.map(|seconds| seconds / DAY_SECONDS);
    let days_to = |day: Option<&str>| Some(day.and_then(parse_iso_day)? - now?);
    let verdict = nearness(days_to(expected), days_to(end.earliest.as_deref()), end.latest.is_some());
    finding("end-of-life", verdict, reason, END)
}

fn spare(history: &History) -> Option<Finding> {
    let last = history.state();
    let spare = last.get(Q::Spare)?;
    let threshold = last.get(Q::SpareThreshold);
    let limit = threshold.unwrap_or(0.0);
    let reason = match threshold {
        Some(threshold) => format!("{} % of the spare is left, the threshold is {} %", whole(spare), whole(threshold)),
        None => format!("{} % of the spare is left", whole(spare)),
    };
    let verdict = match spare {
        spare if spare < limit => Verdict::Failing,
        spare if spare < 100.0 && spare <= limit + SPARE_MARGIN => Verdict::Warning,
        _ => Verdict::Good,
    };
    finding("spare", verdict, reason, SPARE)
}

const SPARE_END: &str =
    "wane: linear fall of the spare; notice from a year before its threshold, warning from 30 days before";

/// When the spare will be at its threshold. One point of it, which may go at any time, bounds no end.
fn spare_end(history: &History, life: &Life) -> Option<Finding> {
    let left = spare_forecast(history)?;
    let expected = left.left?;
    let reason = match &life.spare_end {
        Some(Between { earliest: Some(earliest), expected: Some(expected), latest: Some(latest) }) => {
            format!("the spare falls, and will be at its threshold on {expected}, between {earliest} and {latest}")
        }
        Some(Between { earliest: Some(earliest), expected: Some(expected), .. }) => {
            format!("the spare falls, and will be at its threshold on {expected}, not before {earliest}")
        }
        Some(_) => return None,
        None => {
            format!("the spare falls, and will be at its threshold in {} hours under power", count(24.0 * expected))
        }
    };
    let days = |left: Option<f64>| left.map(|left| left as i64);
    let verdict = nearness(days(left.left), days(left.left_least), left.left_most.is_some());
    (life.spare_end.is_some() || verdict > Verdict::Good).then_some(())?;
    finding("spare-end", verdict, reason, SPARE_END)
}

fn pending(history: &History) -> Option<Finding> {
    let last = history.state();
    let (pending, offline) = (last.get(Q::Pending), last.get(Q::OfflineUncorrectable));
    let most = pending.into_iter().chain(offline).reduce(f64::max)?;
    if most == 0.0 {
        return finding("pending", Verdict::Good, "no sector waits because it cannot be read".to_owned(), ACS);
    }
    let reason = format!("{} sectors cannot be read now and wait to be rewritten", count(most));
    finding("pending", Verdict::Warning, reason, ACS)
}

fn dies(history: &History) -> Option<Finding> {
    let lost = history.state().get(Q::DiesOffline)?;
    let (verdict, reason) = if lost > 0.0 {
        (Verdict::Warning, format!("lost dies: {}", count(lost)))
    } else {
        (Verdict::Good, "no die is lost".to_owned())
    };
    finding("dies", verdict, reason, "OCP Datacenter NVMe SSD Specification 2.7, section 4.8.6, media dies offline")
}

fn capacitor(history: &History) -> Option<Finding> {
    let health = history.state().get(Q::CapacitorHealth)?;
    let reason = format!("the capacitors hold {} % of the energy that a power cut needs", whole(health));
    let verdict = if health < 100.0 { Verdict::Warning } else { Verdict::Good };
    finding("capacitor", verdict, reason, "OCP Datacenter NVMe SSD Specification 2.7, section 4.8.6, capacitor health")
}

fn temperature(history: &History) -> Option<Finding> {
    let last = history.last();
    let celsius = last.get(Q::Temperature)?;
    let own = last.get(Q::TemperatureWarning).or(last.get(Q::TemperatureCritical)).filter(|limit| *limit > 0.0);
    let by_kind = if last.is_rotating == Some(true) { CELSIUS_MAX_DISK } else { CELSIUS_MAX };
    let limit = own.unwrap_or(by_kind);
    let hot = history.rate(Q::MinutesCritical).filter(|rate| rate.increase > 0.0);
    let warm = history.rate(Q::MinutesWarning).filter(|rate| rate.increase > 0.0);
    let now = format!("{} degrees Celsius, the limit is {}", whole(celsius), whole(limit));
    let (verdict, reason) = match (celsius >= limit, hot, warm) {
        (true, ..) => (Verdict::Warning, now),
        (_, Some(hot), _) => (Verdict::Warning, format!("{now}; {} minutes in danger since", count(hot.increase))),
        (_, _, Some(warm)) => (Verdict::Notice, format!("{now}; {} minutes too warm since", count(warm.increase))),
        _ => (Verdict::Good, now),
    };
    finding("temperature", verdict, reason, HEAT)
}

fn amplification(writes: &Writes) -> Option<Finding> {
    const SOURCE: &str =
        "wane: bytes programmed for each that the host wrote; below 1 the counters disagree, or the drive compresses";
    let amplification = &writes.amplification;
    let three = |value: f64| format!("{value:.3}");
    let Some(life) = amplification.life else {
        // A missing value is not zero.
        writes.flash_terabytes.and(writes.host_terabytes)?;
        let why = amplification.why_none.as_deref().unwrap_or("the host wrote nothing");
        return finding("write-amplification", Verdict::Notice, format!("none: {why}"), SOURCE);
    };
    let mut reason = format!("{} over the life", three(life));
    if let Some(before) = amplification.life_at_first.filter(|before| three(*before) != three(life)) {
        reason = format!("{} to {} over the life", three(before), three(life));
    }
    match (amplification.window, amplification.why_none.as_deref()) {
        (Some(window), _) => reason += &format!(", {} between the records", three(window)),
        (None, Some(why)) => reason += &format!("; none between the records: {why}"),
        (None, None) => {}
    }
    let verdict = if life < 1.0 { Verdict::Notice } else { Verdict::Good };
    finding("write-amplification", verdict, reason, SOURCE)
}

fn own_writes(writes: &Writes) -> Option<Finding> {
    let own = writes.own_terabytes.filter(|own| *own > 0.0)?;
    let (share, read) = (100.0 * writes.own_share?, writes.read_meanwhile_terabytes.unwrap_or(0.0));
    let mut reason =
        format!("while the host wrote nothing the flash took {own:.3} TB, {share:.1} % of all it ever took");
    if read > own {
        let per_read = 100.0 * own / read;
        reason += &format!(
            "; the host read {read:.1} TB meanwhile: read disturb, whose data the drive rewrites ({per_read:.2} % of what is read)"
        );
    } else {
        reason += "; the drive refreshes or moves its data";
    }
    let source = "wane; relocation by reads as in Liu et al., ASPLOS 2021";
    finding("own-writes", Verdict::Notice, reason, source)
}

fn fallen(history: &History) -> Option<Finding> {
    let fallen = history.fallen();
    let (quantity, from, to) = fallen.first()?;
    let more = match fallen.len() {
        1 => String::new(),
        2 => ", and one other".to_owned(),
        many => format!(", and {} others", many - 1),
    };
    let reason = format!(
        "{} falls from {} to {} between two records{more}: it was reset, or the order is wrong",
        quantity.key(),
        count(*from),
        count(*to)
    );
    finding("counters", Verdict::Notice, reason, "wane: counts of a life never fall")
}

/// Quantities that a drive reported once and no longer reports: it is judged by the old values.
fn earlier(history: &History) -> Option<Finding> {
    // An old warning does not count beside an assessment in the last record.
    let has_assessment = history.last().is_passed.is_some();
    let lacking = || history.earlier().filter(|(quantity, _)| !has_assessment || *quantity != Q::CriticalWarning);
    let weighty = [Q::PercentageUsed, Q::Spare, Q::CriticalWarning];
    let (quantity, day) = lacking().find(|(quantity, _)| weighty.contains(quantity))?;
    let others = lacking().count() - 1;
    let (more, judged) = match others {
        0 => (String::new(), "it is judged by its last report"),
        _ => (format!(" and {others} more"), "they are judged by their last report"),
    };
    let day = day.map_or_else(String::new, |day| format!(", on {day}"));
    let reason = format!("the last record does not report {}{more}: {judged}{day}", quantity.key());
    finding("told-less", Verdict::Notice, reason, "wane: a drive that reported a value once reports it always")
}
