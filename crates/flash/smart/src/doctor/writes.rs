//! What host and flash wrote, and whether their ratio is a write amplification.

use serde::Serialize;

use super::history::History;
use crate::Quantity as Q;

/// Largest share of the flash's writes that a drive may write by itself for the ratio of flash to host to count as amplification.
const OWN_SHARE_MAX: f64 = 0.1;

pub(super) const TERABYTE: f64 = 1e12;

/// Bytes programmed for each byte that the host wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Amplification {
    /// Over the life, by the last record; `None` if the ratio is no amplification.
    pub life: Option<f64>,
    /// Over the life until the first record.
    pub life_at_first: Option<f64>,
    /// Between the first record and the last; `None` if the host wrote nothing, or the drive wrote much by itself.
    pub window: Option<f64>,
    /// Why one of them is `None`.
    pub why_none: Option<String>,
}

/// Writes of host and flash.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Writes {
    /// Terabytes (10^12) that the host wrote in the drive's life.
    pub host_terabytes: Option<f64>,
    /// Terabytes written to its flash.
    pub flash_terabytes: Option<f64>,
    /// Write amplification.
    pub amplification: Amplification,
    /// Terabytes written to the flash between records between which the host wrote nothing.
    pub own_terabytes: Option<f64>,
    /// Terabytes that the host read in that time.
    pub read_meanwhile_terabytes: Option<f64>,
    /// Bytes of `own_terabytes` for each byte that the host read in that time.
    pub own_per_byte_read: Option<f64>,
    /// Share of `own_terabytes` in everything written to the flash.
    pub own_share: Option<f64>,
}

impl Writes {
    pub(super) fn sum(history: &History) -> Self {
        let last = history.last();
        let (host, flash) = (last.get(Q::HostWritten), last.get(Q::FlashWritten));
        let mut writes = Self {
            host_terabytes: host.map(|bytes| bytes / TERABYTE),
            flash_terabytes: flash.map(|bytes| bytes / TERABYTE),
            ..Self::default()
        };
        let (own, read) = own(history);
        let (Some(host), Some(flash)) = (host, flash) else {
            if host.is_some() {
                writes.amplification.why_none = Some("the drive does not report the writes to its flash".to_owned());
            }
            return writes;
        };
        if history.readings().len() > 1 {
            writes.own_terabytes = Some(own / TERABYTE);
            writes.read_meanwhile_terabytes = read.map(|bytes| bytes / TERABYTE);
            writes.own_per_byte_read = read.filter(|bytes| *bytes > 0.0).map(|bytes| own / bytes);
            writes.own_share = (flash > 0.0).then(|| own / flash);
        }
        writes.amplification = amplification(history, host, flash, own);
        writes
    }

    /// Whether the drive itself made much of the flash's writes between the records, while its host wrote nothing.
    pub(super) fn is_own(&self, history: &History) -> bool {
        let grown = history.rate(Q::FlashWritten).map_or(0.0, |rate| rate.increase / TERABYTE);
        self.own_terabytes.is_some_and(|own| own > OWN_SHARE_MAX * grown)
    }
}

fn amplification(history: &History, host: f64, flash: f64, own: f64) -> Amplification {
    let ratio = |flash: f64, host: f64| (host > 0.0).then(|| flash / host);
    let first = history.first();
    let before = first.get(Q::HostWritten).zip(first.get(Q::FlashWritten));
    let life_at_first = before.and_then(|(host, flash)| ratio(flash, host));
    let mut why_none = None;
    let is_own = own > OWN_SHARE_MAX * flash;
    if host == 0.0 {
        why_none = Some("the host wrote nothing".to_owned());
    } else if is_own {
        why_none = Some(format!(
            "the flash took {:.3} bytes for each of the host's, {:.0} % of them while the host wrote nothing",
            flash / host,
            100.0 * own / flash
        ));
    }
    let life = ratio(flash, host).filter(|_| !is_own);
    // Both from the same records: those that report both.
    let told: Vec<(f64, f64)> = history
        .readings()
        .iter()
        .filter_map(|reading| reading.get(Q::HostWritten).zip(reading.get(Q::FlashWritten)))
        .collect();
    let ends = told.first().zip(told.last()).filter(|_| told.len() > 1);
    let grown = ends.map(|(first, last)| (last.0 - first.0, last.1 - first.1));
    let window = grown.filter(|(host, flash)| *host >= 0.0 && *flash >= 0.0).and_then(|(host, flash)| {
        let stands = flash == 0.0 && host > 0.0;
        let counts = own <= OWN_SHARE_MAX * flash && !stands;
        if stands {
            why_none
                .get_or_insert("between the records the flash's count stands still while the host writes".to_owned());
        } else if host == 0.0 {
            why_none.get_or_insert("between the records the host wrote nothing".to_owned());
        } else if !counts {
            why_none.get_or_insert("between the records the drive wrote much by itself".to_owned());
        }
        ratio(flash, host).filter(|_| counts)
    });
    Amplification { life, life_at_first, window, why_none }
}

/// Bytes written to the flash between records between which the host wrote nothing, and bytes that the host read in that time.
fn own(history: &History) -> (f64, Option<f64>) {
    let (mut own, mut read) = (0.0, None);
    for pair in history.readings().windows(2) {
        let grew = |quantity| Some(pair[1].get(quantity)? - pair[0].get(quantity)?);
        if grew(Q::HostWritten) != Some(0.0) {
            continue;
        }
        own += grew(Q::FlashWritten).unwrap_or(0.0).max(0.0);
        if let Some(bytes) = grew(Q::HostRead) {
            *read.get_or_insert(0.0) += bytes.max(0.0);
        }
    }
    (own, read)
}
