//! A judgement as text, as Prometheus metrics, and as commands for Ceph.

use std::fmt::Write as _;

use super::{Judgement, Verdict};
use crate::quantity::Kind;
use crate::time::{DAY_SECONDS, iso_day, parse_iso_day};

/// Columns of verdicts and of rules.
const VERDICT_COLUMNS: usize = 8;
const NAME_COLUMNS: usize = 20;

/// Terabytes below which gigabytes are told.
const SMALL_TERABYTES: f64 = 0.1;

/// Days within which Ceph's own predictor expects a drive that it calls bad to fail (`diskprediction_local`).
const CEPH_BAD_DAYS: i64 = 14;

/// A count with commas between thousands.
pub(super) fn count(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Rounded down, as pages report percentages; below 10 with one digit if it is not whole.
pub(super) fn whole(value: f64) -> String {
    if value.fract() == 0.0 || value >= 10.0 { format!("{}", value.floor()) } else { format!("{value:.1}") }
}

pub(super) fn one_digit(value: f64) -> String {
    format!("{value:.1}")
}

/// Text from a file without control characters, which a terminal might obey.
fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

impl Judgement {
    /// The judgement for people.
    pub fn text(&self) -> String {
        let drive = &self.drive;
        let name = |name: &Option<String>, none: &str| name.as_deref().map_or_else(|| none.to_owned(), clean);
        let mut text = name(&drive.model, "a drive without a name");
        text += &format!(
            ", serial {}, firmware {}\n",
            name(&drive.serial, "not reported"),
            name(&drive.firmware, "not reported")
        );
        if drive.is_simulated {
            text += "simulated by wane\n";
        }
        text += &format!("{}\n\n", self.records_in_words());
        for finding in &self.findings {
            let verdict = finding.verdict.name();
            let _ = writeln!(
                text,
                "{verdict:<VERDICT_COLUMNS$} {:<NAME_COLUMNS$} {}",
                finding.rule,
                clean(&finding.reason)
            );
            let _ = writeln!(text, "{:<VERDICT_COLUMNS$} {:<NAME_COLUMNS$}   by {}", "", "", finding.source);
        }
        text += if self.findings.is_empty() { "no rule has the values that it needs\n\n" } else { "\n" };
        let mut line = |name: &str, value: Option<String>| {
            let _ = writeln!(text, "{name:<NAME_COLUMNS$} {}", value.as_deref().unwrap_or("not reported"));
        };
        line("written by host", self.writes.host_terabytes.map(|terabytes| format!("{terabytes:.3} TB")));
        line("written to flash", self.writes.flash_terabytes.map(|terabytes| format!("{terabytes:.3} TB")));
        line("end of rated life", Some(self.end_in_words()));
        if let Some(left) = &self.life.host_terabytes_left {
            // A simulated drive is small.
            let (factor, unit) = if left.expected < Some(SMALL_TERABYTES) { (1e3, "GB") } else { (1.0, "TB") };
            let told = |bytes: Option<f64>| {
                bytes.map_or_else(|| "not bounded".to_owned(), |bytes| format!("{:.3}", factor * bytes))
            };
            let (least, expected, most) = (told(left.earliest), told(left.expected), told(left.latest));
            line("host writes left", Some(format!("{expected} {unit} (least {least}, most {most}) until then")));
        }
        for unknown in &self.not_understood {
            line("not understood", Some(clean(unknown)));
        }
        line("verdict", Some(self.verdict.name().to_owned()));
        text
    }

    fn records_in_words(&self) -> String {
        let records = &self.records;
        let on = |day: &Option<String>| day.as_deref().map_or_else(|| "no day reported".to_owned(), str::to_owned);
        match (records.count, records.days) {
            (1, _) => format!("one record, of {}", on(&records.last)),
            (many, Some(days)) => {
                format!("{many} records, {} to {} ({} days)", on(&records.first), on(&records.last), one_digit(days))
            }
            (many, None) => format!("{many} records, with no known time between them"),
        }
    }

    fn end_in_words(&self) -> String {
        if let Some(end) = &self.life.end {
            let day = |day: &Option<String>, none: &str| day.clone().unwrap_or_else(|| none.to_owned());
            let (earliest, latest) = (day(&end.earliest, "in a hundred years"), day(&end.latest, "not bounded"));
            let expected = day(&end.expected, "not expected at a day");
            return format!("{expected} (earliest {earliest}, latest {latest}): {}", self.life.basis);
        }
        if let Some(hours) = &self.life.power_on_hours_left {
            let told = |hours: Option<f64>, none: &str| hours.map_or_else(|| none.to_owned(), count);
            let (earliest, latest) = (told(hours.earliest, "more than 876,000"), told(hours.latest, "not bounded"));
            let basis = &self.life.basis;
            return match hours.expected {
                Some(expected) => {
                    let expected = count(expected);
                    format!("in {expected} hours under power (earliest {earliest}, latest {latest}): {basis}")
                }
                None => format!("in {earliest} hours under power at the earliest: {basis}"),
            };
        }
        format!("none: {}", self.life.basis)
    }

    /// The judgement in Prometheus's text format.
    pub fn prometheus(&self) -> String {
        let name = |name: &Option<String>| {
            let name = name.as_deref().map(clean).unwrap_or_default();
            // The format knows no other escapes than those of backslashes, quotes and line ends.
            let name = wane_units::printable(&name);
            name.replace('\\', "\\\\").replace('"', "\\\"")
        };
        let labels = format!("model=\"{}\",serial=\"{}\"", name(&self.drive.model), name(&self.drive.serial));
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, rows: Vec<(String, f64)>| {
            if rows.is_empty() {
                return;
            }
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (more, value) in rows {
                let _ = writeln!(text, "{name}{{{labels}{more}}} {value}");
            }
        };
        const LEVELS: &str = "0 unknown, 1 good, 2 notice, 3 warning, 4 failing";
        metric("wane_doctor_verdict", "gauge", LEVELS, vec![(String::new(), level(self.verdict))]);
        let rules = self.findings.iter().map(|finding| (format!(",rule=\"{}\"", finding.rule), level(finding.verdict)));
        metric("wane_doctor_rule_verdict", "gauge", LEVELS, rules.collect());
        let amplification = &self.writes.amplification;
        let ratios = [("life", amplification.life), ("window", amplification.window)];
        let ratios = ratios.into_iter().filter_map(|(over, ratio)| Some((format!(",over=\"{over}\""), ratio?)));
        metric(
            "wane_drive_write_amplification",
            "gauge",
            "Bytes programmed for each that the host wrote.",
            ratios.collect(),
        );
        let end = self.life.end.as_ref();
        let days = [
            ("earliest", end.and_then(|end| end.earliest.as_deref())),
            ("expected", end.and_then(|end| end.expected.as_deref())),
            ("latest", end.and_then(|end| end.latest.as_deref())),
        ];
        let days = days.into_iter().filter_map(|(bound, day)| {
            Some((format!(",bound=\"{bound}\""), (parse_iso_day(day?)? * DAY_SECONDS) as f64))
        });
        metric("wane_drive_end_of_life_timestamp_seconds", "gauge", "When the rated wear is used.", days.collect());
        for (quantity, known) in &self.known {
            let (kind, end) = match quantity.kind() {
                Kind::Counter if !quantity.key().ends_with("_total") => ("counter", "_total"),
                Kind::Counter => ("counter", ""),
                Kind::Gauge => ("gauge", ""),
            };
            let name = format!("wane_drive_{}{end}", quantity.key());
            metric(&name, kind, "As the drive reported it.", vec![(String::new(), known.value)]);
        }
        text
    }

    /// One line: `ceph device set-life-expectancy DEVICE FROM [TO]`, or a comment with the reason for having none. The device has
    /// the name that Ceph gives it, from model and serial number.
    pub fn ceph(&self) -> String {
        // The names come from a file, and the line is meant for a shell.
        let part = |name: &Option<String>| {
            let name = name.as_deref()?.split_whitespace().collect::<Vec<_>>().join("_");
            let safe = |letter: char| letter.is_ascii_alphanumeric() || "_-.:".contains(letter);
            Some(name.chars().map(|letter| if safe(letter) { letter } else { '_' }).collect::<String>())
        };
        let (Some(model), Some(serial)) = (part(&self.drive.model), part(&self.drive.serial)) else {
            return "# no device: model or serial number is not reported\n".to_owned();
        };
        let device = format!("{model}_{serial}");
        let today = self.records.last.as_deref();
        if let (Verdict::Failing, Some(today)) = (self.verdict, today) {
            let end = parse_iso_day(today).map_or_else(String::new, |day| iso_day((day + CEPH_BAD_DAYS) * DAY_SECONDS));
            return format!("ceph device set-life-expectancy {device} {today} {end}\n");
        }
        match self.life.end.as_ref().map(|end| (end.earliest.as_deref(), end.latest.as_deref())) {
            Some((Some(from), Some(to))) => format!("ceph device set-life-expectancy {device} {from} {to}\n"),
            Some((Some(from), None)) => {
                format!("# {device}: not before {from}; the wear grew too little between the records to say more\n")
            }
            Some((None, _)) => format!("# {device}: more than a hundred years\n"),
            None => format!("# {device}: {}\n", self.life.basis),
        }
    }
}

/// A verdict as a number.
fn level(verdict: Verdict) -> f64 {
    f64::from(verdict as u8)
}
