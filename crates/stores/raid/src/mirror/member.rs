//! What a mirror knows of its members, and of what may differ between them after a power cut.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_blockdev::{Archive, ArchiveError, RequestId};

use crate::bits::Bits;
use crate::members;

/// A member of a mirror.
pub(super) type Member = members::Member<Known>;

/// What a mirror knows of a member.
#[derive(Clone)]
pub(super) struct Known {
    /// Units of the array of which it does not have the present contents.
    stale: Bits,
    /// The same, as a power cut now would leave it: units that it has again, but did not flush, are still in there.
    stale_if_cut: Bits,
    /// What was stale when each outstanding flush began.
    flushes: VecDeque<(RequestId, Bits)>,
    /// The last request that failed on it.
    failed_in: Option<RequestId>,
    /// Share of its rated wear that was used when that was last asked.
    pub(super) life_used: f64,
}

impl Known {
    pub(super) fn new(units: u64) -> Self {
        Self {
            stale: Bits::new(units),
            stale_if_cut: Bits::new(units),
            flushes: VecDeque::new(),
            failed_in: None,
            life_used: 0.0,
        }
    }

    pub(super) const fn stale(&self) -> &Bits {
        &self.stale
    }

    /// The same as it would be after a power cut.
    pub(super) const fn stale_if_cut(&self) -> &Bits {
        &self.stale_if_cut
    }

    /// Whether a power cut would take nothing from it that the array needs.
    pub(super) const fn is_durable(&self) -> bool {
        self.stale_if_cut.is_empty()
    }

    /// Whether it has, and would have after a power cut, all that it should.
    pub(super) const fn is_whole(&self) -> bool {
        self.stale.is_empty() && self.stale_if_cut.is_empty()
    }

    /// It does not have what these units hold now.
    pub(super) fn spoil(&mut self, units: Range<u64>) {
        for (_, then) in &mut self.flushes {
            then.insert(units.clone());
        }
        self.stale.insert(units.clone());
        self.stale_if_cut.insert(units);
    }

    /// Notes that a change failed on it.
    pub(super) fn fail(&mut self, change: RequestId) {
        self.failed_in = self.failed_in.max(Some(change));
    }

    /// It has what these units hold, since this change was done. A change that failed later may have left others.
    pub(super) fn renew(&mut self, change: RequestId, units: Range<u64>) {
        if Some(change) > self.failed_in {
            self.stale.remove(units);
        }
    }

    pub(super) fn begin_flush(&mut self, id: RequestId) {
        if !self.stale_if_cut.is_empty() {
            self.flushes.push_back((id, self.stale.clone()));
        }
    }

    /// A flush ended. If it was done, what it had again at its start is durable.
    pub(super) fn end_flush(&mut self, id: RequestId, is_done: bool) {
        while let Some((flush, then)) = self.flushes.pop_front() {
            if flush > id {
                self.flushes.push_front((flush, then));
                break;
            }
            if is_done {
                self.stale_if_cut.keep(&then);
            }
        }
    }

    /// What it had not flushed is as before.
    pub(super) fn cut(&mut self) {
        self.flushes.clear();
        self.stale.merge(&self.stale_if_cut);
    }
}

impl Member {
    pub(super) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("mirror.member.state", &mut self.state)?;
        archive.field("mirror.member.is-out", &mut self.is_out)?;
        archive.field("mirror.member.stale", &mut self.known.stale)?;
        archive.field("mirror.member.stale-if-cut", &mut self.known.stale_if_cut)?;
        archive.field("mirror.member.flushes", &mut self.known.flushes)?;
        archive.field("mirror.member.queue", &mut self.queue)?;
        archive.field("mirror.member.failed-in", &mut self.known.failed_in)?;
        archive.field("mirror.member.life-used", &mut self.known.life_used)?;
        self.archive_device(archive, "mirror.member.counted")
    }
}

/// Regions that were changed since the last flush: after a power cut, their copies may differ.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Unsure {
    /// Units of a region, as a power of 2.
    shift: u32,
    units: u64,
    changed: Bits,
    /// What had changed when each outstanding flush began.
    flushes: VecDeque<(RequestId, Bits)>,
}

impl Unsure {
    /// Most regions of an array. Their bits take 8 KiB, which fit into a processor's nearest cache.
    const REGIONS_MAX: u64 = 1 << 16;

    pub(crate) fn new(units: u64) -> Self {
        let shift = units.div_ceil(Self::REGIONS_MAX).next_power_of_two().trailing_zeros();
        Self { shift, units, changed: Bits::new((units >> shift) + 1), flushes: VecDeque::new() }
    }

    #[inline]
    pub(crate) fn change(&mut self, units: &Range<u64>) {
        let (first, last) = (units.start >> self.shift, units.end.saturating_sub(1) >> self.shift);
        if first == last {
            self.changed.insert_one(first);
        } else {
            self.changed.insert(first..last + 1);
        }
    }

    pub(crate) fn begin_flush(&mut self, id: RequestId) {
        let changed = std::mem::replace(&mut self.changed, Bits::new((self.units >> self.shift) + 1));
        self.flushes.push_back((id, changed));
    }

    pub(crate) fn end_flush(&mut self, id: RequestId, is_done: bool) {
        while self.flushes.front().is_some_and(|(flush, _)| *flush <= id) {
            let (_, before) = self.flushes.pop_front().unwrap_or_else(|| unreachable!("looked at above"));
            if !is_done {
                self.changed.merge(&before);
            }
        }
    }

    /// The units that changed, up to the start of a flush if one is given.
    pub(crate) fn ranges(&self, until: Option<RequestId>) -> Vec<Range<u64>> {
        let mut all = Bits::new((self.units >> self.shift) + 1);
        for (flush, before) in &self.flushes {
            if until.is_none_or(|until| *flush <= until) {
                all.merge(before);
            }
        }
        if until.is_none() {
            all.merge(&self.changed);
        }
        let (mut at, mut ranges) = (0, Vec::new());
        while let Some(run) = all.next(at..(self.units >> self.shift) + 1) {
            at = run.end;
            ranges.push(run.start << self.shift..(run.end << self.shift).min(self.units));
        }
        ranges
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.changed = Bits::new((self.units >> self.shift) + 1);
        self.flushes.clear();
    }
}
