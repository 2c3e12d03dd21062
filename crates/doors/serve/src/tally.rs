//! What was answered since the server began: counts and times that only grow, for metrics.

use wane_nbd::Action;
use wane_units::Nanos;

use crate::measure::Measured;

/// Kinds of requests, as clients make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Flush,
    Trim,
    WriteZeroes,
    Cache,
    BlockStatus,
    Unknown,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Read,
        Self::Write,
        Self::Flush,
        Self::Trim,
        Self::WriteZeroes,
        Self::Cache,
        Self::BlockStatus,
        Self::Unknown,
    ];

    pub(crate) const fn of(action: Action) -> Self {
        match action {
            Action::Read { .. } => Self::Read,
            Action::Write => Self::Write,
            Action::Flush => Self::Flush,
            Action::Trim => Self::Trim,
            Action::WriteZeroes { .. } => Self::WriteZeroes,
            Action::Cache => Self::Cache,
            Action::BlockStatus { .. } => Self::BlockStatus,
            Action::Disconnect | Action::Unknown => Self::Unknown,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => Measured::Read.name(),
            Self::Write => Measured::Write.name(),
            Self::Flush => Measured::Flush.name(),
            Self::Trim => Measured::Trim.name(),
            Self::WriteZeroes => "write-zeroes",
            Self::Cache => "cache",
            Self::BlockStatus => "block-status",
            Self::Unknown => "unknown",
        }
    }

    /// As what it is measured, if it is.
    pub(crate) const fn measured(self) -> Option<Measured> {
        match self {
            Self::Read => Some(Measured::Read),
            Self::Write => Some(Measured::Write),
            Self::Flush => Some(Measured::Flush),
            Self::Trim => Some(Measured::Trim),
            Self::WriteZeroes | Self::Cache | Self::BlockStatus | Self::Unknown => None,
        }
    }
}

/// Upper bounds of the buckets of times, from 1 us to 10 s.
const BOUNDS: [Nanos; 22] = {
    let (mut bounds, mut place, mut decade) = ([Nanos::ZERO; 22], 0, 1_000);
    while place < bounds.len() {
        bounds[place] = Nanos([1, 2, 5][place % 3] * decade);
        place += 1;
        if place % 3 == 0 {
            decade *= 10;
        }
    }
    bounds
};

/// Times, counted in buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Buckets {
    /// Those up to each bound and above the one before; the last are above all bounds.
    counts: [u64; BOUNDS.len() + 1],
    sum: Nanos,
}

impl Buckets {
    fn note(&mut self, time: Nanos) {
        self.counts[BOUNDS.partition_point(|bound| *bound < time)] += 1;
        self.sum = self.sum.saturating_add(time);
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(crate) const fn sum(&self) -> Nanos {
        self.sum
    }

    /// The bound of each bucket and what is in it alone; `None` is the one without a bound.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Option<Nanos>, u64)> {
        BOUNDS.into_iter().map(Some).chain([None]).zip(self.counts)
    }
}

/// Requests of a kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfKind {
    pub(crate) requests: u64,
    /// Of these, those that ended with an error.
    pub(crate) errors: u64,
    /// Of those without an error.
    pub(crate) bytes: u64,
    /// From arrival to completion by the model, of those without an error.
    pub(crate) latency: Buckets,
}

/// See the head of this file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    kinds: [OfKind; Kind::ALL.len()],
    /// By how much answers were later. Empty at full speed.
    pub(crate) lag: Buckets,
}

/// An answer that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) kind: Kind,
    pub(crate) is_fine: bool,
    pub(crate) bytes: u32,
    pub(crate) latency: Nanos,
    /// `None` at full speed.
    pub(crate) lag: Option<Nanos>,
}

impl Tally {
    pub(crate) fn note(&mut self, done: &Done) {
        let of = &mut self.kinds[done.kind as usize];
        of.requests += 1;
        if !done.is_fine {
            of.errors += 1;
            return;
        }
        if !matches!(done.kind, Kind::Flush) {
            of.bytes += u64::from(done.bytes);
        }
        of.latency.note(done.latency);
        if let Some(lag) = done.lag {
            self.lag.note(lag);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Kind, &OfKind)> {
        Kind::ALL.into_iter().zip(&self.kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_first_bucket_that_bounds_it() {
        assert_eq!((BOUNDS[0], BOUNDS[21]), (Nanos(1_000), Nanos(10 * Nanos::SECOND.0)));
        assert!(BOUNDS.is_sorted());
        let mut buckets = Buckets::default();
        for (time, place) in [(0, 0), (1_000, 0), (1_001, 1), (2_000, 1), (10_000_000_000, 21), (10_000_000_001, 22)] {
            let before = buckets.counts[place];
            buckets.note(Nanos(time));
            assert_eq!(buckets.counts[place], before + 1, "{time}");
        }
        assert_eq!((buckets.count(), buckets.sum()), (6, Nanos(20_000_004_002)));
        assert_eq!(buckets.iter().last(), Some((None, 1)));
    }

    #[test]
    fn what_failed_counts_as_a_request_and_has_neither_bytes_nor_time() {
        let mut tally = Tally::default();
        let done = Done { kind: Kind::Write, is_fine: true, bytes: 4096, latency: Nanos(50_000), lag: Some(Nanos(9)) };
        tally.note(&done);
        tally.note(&Done { is_fine: false, ..done });
        tally.note(&Done { kind: Kind::Flush, ..done });
        let (write, flush) = (&tally.kinds[Kind::Write as usize], &tally.kinds[Kind::Flush as usize]);
        assert_eq!((write.requests, write.errors, write.bytes, write.latency.count()), (2, 1, 4096, 1));
        assert_eq!((flush.requests, flush.bytes, tally.lag.count()), (1, 0, 2));
        assert!(Kind::ALL.iter().enumerate().all(|(place, kind)| *kind as usize == place));
    }
}
