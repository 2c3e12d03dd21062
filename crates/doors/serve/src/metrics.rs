//! The metrics of served drives, in the text format of Prometheus.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tokio::sync::oneshot;
use wane_units::Nanos;

use crate::connection::Shared;
use crate::engine::{Facts, Member, State};
use crate::inbox::Mail;
use crate::tally::{Buckets, Kind, Tally};

pub(crate) use prometheus_text::CONTENT_TYPE;

/// A drive at an instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) drive: String,
    pub(crate) facts: Facts,
    pub(crate) tally: Tally,
    pub(crate) clients: usize,
    /// Whether its thread does something that takes long, so that all else is as it was before.
    pub(crate) is_busy: bool,
}

/// The metrics of drives and of their server. `violations` of its connections broke the protocol.
pub(crate) fn text(drives: Vec<Snapshot>, violations: u64) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape { drives, violations }));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry).expect("a string takes all that is written into it");
    text
}

/// How long the thread that owns a drive is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The metrics of all drives as they are now; of one whose thread is busy, as they were.
pub(crate) async fn scrape(shared: &Shared) -> String {
    let mut drives = Vec::new();
    for outlet in shared.outlets.all() {
        let (to, from) = oneshot::channel();
        let now = if outlet.doing().is_none() {
            outlet.inbox.leave(Mail::Look(to));
            tokio::time::timeout(PATIENCE, from).await.ok().and_then(Result::ok)
        } else {
            None
        };
        drives.push(now.unwrap_or_else(|| Snapshot { is_busy: true, ..outlet.hub.last().snapshot.clone() }));
    }
    text(drives, shared.violations.load(Ordering::Relaxed))
}

#[derive(Debug)]
struct Scrape {
    drives: Vec<Snapshot>,
    violations: u64,
}

/// The value of a label besides the drive, and a sample. Without a second label it is empty.
type Row<T> = (&'static str, T);

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page { encoder, drives: &self.drives };
        page.requests()?;
        page.wear()?;
        page.members()?;
        page.state()?;
        let help = "Connections to the server that broke the protocol.";
        let mut metric = page.encoder.encode_descriptor("wane_protocol_violations", help, None, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, u64, f64>(&self.violations, None)
    }
}

struct Page<'a, 'e> {
    encoder: DescriptorEncoder<'e>,
    drives: &'a [Snapshot],
}

impl Page<'_, '_> {
    /// All samples of a name: `rows` gives those of a drive, which differ by the label `by`.
    fn family<L: AsRef<str>, T>(
        &mut self,
        (name, kind, help): (&str, MetricType, &str),
        by: &str,
        rows: impl Fn(&Snapshot) -> Vec<(L, T)>,
        encode: impl Fn(&mut MetricEncoder<'_>, T) -> fmt::Result,
    ) -> fmt::Result {
        let rows: Vec<(&str, (L, T))> =
            self.drives.iter().flat_map(|one| rows(one).into_iter().map(|row| (one.drive.as_str(), row))).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let mut metric = self.encoder.encode_descriptor(name, help, None, kind)?;
        for (drive, (label, sample)) in rows {
            let mut labels = vec![("drive", drive)];
            labels.extend(Some((by, label.as_ref())).filter(|(by, _)| !by.is_empty()));
            encode(&mut metric.encode_family(&labels)?, sample)?;
        }
        Ok(())
    }

    /// Counts that only grow. `name` is without `_total`.
    fn counts(&mut self, name: &str, help: &str, by: &str, rows: impl Fn(&Snapshot) -> Vec<Row<u64>>) -> fmt::Result {
        self.family((name, MetricType::Counter, help), by, rows, |metric, count| {
            metric.encode_counter::<NoLabelSet, u64, f64>(&count, None)
        })
    }

    fn count(&mut self, name: &str, help: &str, of: impl Fn(&Snapshot) -> u64) -> fmt::Result {
        self.counts(name, help, "", |one| vec![("", of(one))])
    }

    /// A figure that rises and falls; `None` if a drive has none.
    fn gauge(&mut self, name: &str, help: &str, of: impl Fn(&Snapshot) -> Option<f64>) -> fmt::Result {
        let rows = |one: &Snapshot| -> Vec<Row<f64>> { of(one).map(|value| ("", value)).into_iter().collect() };
        self.family((name, MetricType::Gauge, help), "", rows, |metric, value| metric.encode_gauge(&value))
    }

    fn histogram(
        &mut self,
        name: &str,
        help: &str,
        by: &str,
        rows: impl Fn(&Snapshot) -> Vec<Row<Buckets>>,
    ) -> fmt::Result {
        self.family((name, MetricType::Histogram, help), by, rows, |metric, times| {
            let buckets: Vec<(f64, u64)> =
                times.iter().map(|(bound, count)| (bound.map_or(f64::INFINITY, seconds), count)).collect();
            metric.encode_histogram::<NoLabelSet>(seconds(times.sum()), times.count(), &buckets, None)
        })
    }

    fn requests(&mut self) -> fmt::Result {
        let by_kind = |of: fn(&crate::tally::OfKind) -> u64, kinds: fn(Kind) -> bool| {
            move |one: &Snapshot| -> Vec<Row<u64>> {
                let kinds = one.tally.iter().filter(move |(kind, _)| kinds(*kind));
                kinds.map(|(kind, requests)| (kind.name(), of(requests))).collect()
            }
        };
        let has_bytes = |kind| matches!(kind, Kind::Read | Kind::Write | Kind::Trim | Kind::WriteZeroes);
        self.counts("wane_requests", "Requests that were answered.", "kind", by_kind(|of| of.requests, |_| true))?;
        self.counts(
            "wane_request_errors",
            "Requests that were answered with an error.",
            "kind",
            by_kind(|of| of.errors, |_| true),
        )?;
        self.counts(
            "wane_request_bytes",
            "Bytes of the requests that were answered without an error.",
            "kind",
            by_kind(|of| of.bytes, has_bytes),
        )?;
        let latencies = |one: &Snapshot| -> Vec<Row<Buckets>> {
            let measured = one.tally.iter().filter(|(kind, _)| kind.measured().is_some());
            measured.map(|(kind, of)| (kind.name(), of.latency.clone())).collect()
        };
        self.histogram(
            "wane_request_latency_seconds",
            "Latency by the drive's model, in the drive's time.",
            "kind",
            latencies,
        )?;
        self.histogram("wane_lag_seconds", "By how much later than the model says answers were sent.", "", |one| {
            vec![("", one.tally.lag.clone())]
        })?;
        self.gauge("wane_requests_in_flight", "Requests that are not answered yet.", |one| {
            Some(one.facts.in_flight as f64)
        })?;
        self.gauge("wane_requests_stuck", "Requests that a fault keeps from being answered.", |one| {
            Some(one.facts.stuck as f64)
        })?;
        self.count("wane_writes_refused_for_memory", "Writes that found no memory for their bytes.", |one| {
            one.facts.refused_for_memory
        })?;
        self.gauge("wane_clients", "Connected clients.", |one| Some(one.clients as f64))
    }

    fn wear(&mut self) -> fmt::Result {
        let counters = |one: &Snapshot| one.facts.firmware.counters;
        self.gauge("wane_unit_bytes", "Bytes of a mapping unit, in which host and flash are counted.", |one| {
            Some(f64::from(one.facts.firmware.unit_bytes))
        })?;
        self.count(
            "wane_host_units_written",
            "Units that hosts wrote since the drive was new, without predicted ones.",
            |one| counters(one).host_units_written,
        )?;
        let programmed = |one: &Snapshot| -> Vec<Row<u64>> {
            let counters = counters(one);
            vec![
                ("host", counters.programmed_host),
                ("garbage-collection", counters.programmed_gc),
                ("wear-leveling", counters.programmed_wear_leveling),
                ("scrubbing", counters.programmed_scrub),
                ("file-system", counters.programmed_file_system),
                ("parity", counters.programmed_parity),
                ("metadata", counters.programmed_metadata),
                ("padding", counters.programmed_padding),
            ]
        };
        let help = "Units that were programmed into flash since the drive was new, without predicted ones.";
        self.counts("wane_flash_units_programmed", help, "purpose", programmed)?;
        let erased = |one: &Snapshot| -> Vec<Row<u64>> {
            let counters = counters(one);
            vec![
                ("garbage-collection", counters.erases_gc),
                ("wear-leveling", counters.erases_wear_leveling),
                ("scrubbing", counters.erases_scrub),
                ("metadata", counters.erases_metadata),
            ]
        };
        self.counts(
            "wane_flash_erases",
            "Flash blocks that were erased since the drive was new, without predicted erases.",
            "purpose",
            erased,
        )?;
        let help = "Senses of flash pages beyond the first since the drive was new.";
        self.counts("wane_flash_rereads", help, "", |one| {
            one.facts.firmware.rereads.map(|count| ("", count)).into_iter().collect()
        })?;
        let unread = |one: &Snapshot| -> Vec<Row<u64>> {
            let counters = counters(one);
            vec![("host", counters.host_reads_uncorrectable), ("relocation", counters.relocation_reads_uncorrectable)]
        };
        let help = "Reads of pages that error correction could not correct since the drive was new.";
        self.counts("wane_uncorrectable_reads", help, "purpose", unread)?;
        self.gauge("wane_retired_blocks", "Firmware blocks out of service.", |one| {
            Some(f64::from(one.facts.firmware.retired_blocks))
        })?;
        let help = "Share of the rated erases that is used.";
        self.gauge("wane_life_used_ratio", help, |one| one.facts.firmware.life_used)?;
        self.gauge("wane_drive_writes", "How often its capacity was written.", |one| {
            Some(one.facts.firmware.drive_writes)
        })?;
        self.gauge("wane_age_days", "The drive's day.", |one| Some(one.facts.firmware.day))
    }

    /// What is known of the drives of an array, by their numbers.
    fn members(&mut self) -> fmt::Result {
        self.of_members(
            "wane_member_online",
            "Whether a drive of an array takes part: 1, or 0 if it only reads or is gone.",
            |of| Some(f64::from(u8::from(of.state == "online"))),
        )?;
        self.of_members(
            "wane_member_life_used_ratio",
            "Share of the rated erases that a drive of an array has used.",
            |of| of.life_used,
        )?;
        self.of_members(
            "wane_member_retired_blocks",
            "Firmware blocks of a drive of an array out of service.",
            |of| of.own.map(|own| f64::from(own.retired_blocks)),
        )?;
        self.of_members("wane_member_stale_bytes", "Bytes of which a drive of an array has no present copy.", |of| {
            Some(of.stale_bytes as f64)
        })?;
        self.of_members("wane_member_erases_mean", "Mean erases of the blocks of a drive of an array.", |of| {
            of.own.map(|own| own.erases.0)
        })
    }

    /// A figure of each drive of an array.
    fn of_members(&mut self, name: &str, help: &str, of: impl Fn(&Member) -> Option<f64>) -> fmt::Result {
        let rows = |one: &Snapshot| -> Vec<(String, f64)> {
            let members = one.facts.members.iter().enumerate();
            members.filter_map(|(number, member)| Some((number.to_string(), of(member)?))).collect()
        };
        self.family((name, MetricType::Gauge, help), "member", rows, |metric, value| metric.encode_gauge(&value))
    }

    fn state(&mut self) -> fmt::Result {
        let is = |is_so: bool| Some(f64::from(u8::from(is_so)));
        self.gauge("wane_capacity_bytes", "Bytes that the drive exports.", |one| {
            Some(one.facts.capacity_bytes as f64)
        })?;
        self.gauge("wane_kept_bytes", "Bytes of memory that the drive's data take.", |one| {
            Some(one.facts.kept_bytes as f64)
        })?;
        self.gauge("wane_journal_bytes", "Bytes of the drive's journal.", |one| {
            one.facts.journal_bytes.map(|bytes| bytes as f64)
        })?;
        self.gauge(
            "wane_drive_time_seconds",
            "The drive's own clock, which goes on from one server to the next; aging at full speed takes none of it.",
            |one| Some(one.facts.now.0 as f64 / 1e9),
        )?;
        self.gauge("wane_power_on", "Whether the drive has power.", |one| is(one.facts.state != State::Off))?;
        let help = "Whether the drive takes no writes any more.";
        self.gauge("wane_read_only", help, |one| is(one.facts.state == State::ReadOnly))?;
        let help = "Whether the drive does something that takes long; all else is as it was before.";
        self.gauge("wane_busy", help, |one| is(one.is_busy))
    }
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::tally::Done;

    /// The value of each sample by its name and labels. Checks that each has a type and help, and that buckets add up.
    fn parsed(text: &str) -> BTreeMap<String, f64> {
        let (mut types, mut samples) = (BTreeMap::new(), BTreeMap::new());
        let mut helped = String::new();
        let mut bucket: Option<(String, f64)> = None;
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, sentence) = help.split_once(' ').unwrap();
                assert!(sentence.ends_with('.'), "{line}");
                helped = name.to_owned();
                continue;
            }
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert_eq!(name, helped, "help comes first");
                assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} comes once");
                continue;
            }
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let value: f64 = value.parse().unwrap();
            let name = sample.split('{').next().unwrap();
            let family = match types.get(helped.as_str()).map(String::as_str) {
                Some("histogram") => {
                    name.strip_suffix("_bucket").or(name.strip_suffix("_sum")).or(name.strip_suffix("_count"))
                }
                Some("counter") => Some(name).filter(|name| name.ends_with("_total")),
                _ => Some(name),
            };
            assert_eq!(family, Some(helped.as_str()), "{line}");
            if name.ends_with("_bucket") {
                let (labels, bound) = sample.split_once("le=\"").unwrap();
                let before = bucket.take().filter(|(of, _)| of == labels).map_or(0.0, |(_, before)| before);
                assert!(value >= before, "{line}");
                bucket = Some((labels.to_owned(), value));
                assert!(bound.trim_end_matches("\"}").parse::<f64>().is_ok(), "{line}");
            } else if name.ends_with("_count") {
                assert_eq!(bucket.take().map(|(_, all)| all), Some(value), "the last bucket has all: {line}");
                assert!(
                    text.lines()
                        .any(|line| line.contains(name.trim_end_matches("_count")) && line.contains("le=\"+Inf\""))
                );
            }
            assert!(samples.insert(sample.to_owned(), value).is_none(), "{line} comes once");
        }
        samples
    }

    #[test]
    fn every_sample_has_help_and_type_and_histograms_add_up() {
        let mut one = Snapshot { drive: "old \"1\"\n".to_owned(), is_busy: true, ..Snapshot::default() };
        for (time, lag) in [(900, None), (30_000, Some(Nanos(7_000))), (20_000_000_000, None)] {
            one.tally.note(&Done { kind: Kind::Write, is_fine: true, bytes: 4096, latency: Nanos(time), lag });
        }
        one.facts.firmware.counters.programmed_gc = 5;
        one.facts.firmware.rereads = Some(6);
        let other = Snapshot { drive: "b".to_owned(), ..Snapshot::default() };
        let samples = parsed(&text(vec![one, other], 7));
        for (sample, wanted) in [
            ("wane_requests_total{drive=\"old \\\"1\\\"\\n\",kind=\"write\"}", 3.0),
            ("wane_request_bytes_total{drive=\"old \\\"1\\\"\\n\",kind=\"write\"}", 12288.0),
            ("wane_request_latency_seconds_bucket{drive=\"old \\\"1\\\"\\n\",kind=\"write\",le=\"5e-05\"}", 2.0),
            ("wane_request_latency_seconds_bucket{drive=\"old \\\"1\\\"\\n\",kind=\"write\",le=\"10\"}", 2.0),
            ("wane_request_latency_seconds_bucket{drive=\"old \\\"1\\\"\\n\",kind=\"write\",le=\"+Inf\"}", 3.0),
            ("wane_lag_seconds_count{drive=\"old \\\"1\\\"\\n\"}", 1.0),
            ("wane_flash_units_programmed_total{drive=\"old \\\"1\\\"\\n\",purpose=\"garbage-collection\"}", 5.0),
            ("wane_flash_rereads_total{drive=\"old \\\"1\\\"\\n\"}", 6.0),
            ("wane_busy{drive=\"old \\\"1\\\"\\n\"}", 1.0),
            ("wane_busy{drive=\"b\"}", 0.0),
            ("wane_protocol_violations_total", 7.0),
            ("wane_power_on{drive=\"b\"}", 1.0),
        ] {
            assert_eq!(samples.get(sample), Some(&wanted), "{sample}: {samples:#?}");
        }
        // What a drive has not is left out.
        assert!(!samples.contains_key("wane_flash_rereads_total{drive=\"b\"}"));
        assert!(!samples.keys().any(|name| name.starts_with("wane_journal_bytes")));
    }
}
