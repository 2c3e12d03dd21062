//! Which processors the events of a blktrace come from. The kernel writes a file for each.

use std::collections::BTreeSet;

/// The processors of the events so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Processors {
    seen: BTreeSet<u32>,
    last: Option<(u32, u64)>,
    /// How often the processor changed, and how often its first event was older than the event before.
    changes: usize,
    backward: usize,
}

impl Processors {
    /// Counts an event.
    pub(super) fn add(&mut self, processor: u32, at: u64) {
        if let Some((last, before)) = self.last
            && last != processor
        {
            self.changes += 1;
            self.backward += usize::from(at < before);
        }
        if self.last.is_none_or(|(last, _)| last != processor) {
            self.seen.insert(processor);
        }
        self.last = Some((processor, at));
    }

    /// A sentence about files that are not merged; `None` if these are.
    pub(super) fn told(&self) -> Option<String> {
        let count = self.seen.len();
        match self.seen.first() {
            Some(processor) if count == 1 => Some(format!(
                "all events are of processor {processor}; blktrace writes a file for each, and `blkparse -i NAME -d FILE` merges those of all"
            )),
            // Events of merged files alternate.
            Some(_) if self.changes + 1 == count && self.backward > 0 => Some(format!(
                "events of {count} processors, one after the other, so that most times are lost; `blkparse -i NAME -d FILE` merges their files"
            )),
            _ => None,
        }
    }
}
