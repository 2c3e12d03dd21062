//! What a trace says of itself: events that it lacks, requests that failed or were issued again, and lines that nobody understands.

use std::collections::BTreeMap;

use super::Arrival;
use super::events::Event;
use super::text::{Words, whole};

/// What a line that is no event says of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Events were lost here, as many as that if the number is known.
    Lost(Option<u64>),
    /// Events were overwritten before the text was printed, as its header says.
    Overwritten(u64),
    /// A part of blkparse's summary begins, of one processor or of all.
    Section { of_all: bool },
    /// The summary's number of events of a kind.
    Counted(Event, u64),
}

impl Told {
    /// What a line of any of Linux's tools says of lost events.
    pub(super) fn lost(line: &[u8]) -> Option<Self> {
        let word = |word: &[u8]| word.trim_ascii().to_ascii_lowercase();
        let marks = |byte: &u8| byte.is_ascii_whitespace() || b"[]()!,".contains(byte);
        let words: Vec<Vec<u8>> = line.split(marks).filter(|word| !word.is_empty()).map(word).collect();
        let at = words.iter().position(|word| matches!(&word[..], b"lost" | b"dropped"))?;
        let around = [at + 1, at.wrapping_sub(1), at.wrapping_sub(2)];
        let count = around.into_iter().find_map(|place| words.get(place).and_then(|word| whole(word)));
        let is_of_events = || words.iter().any(|word| matches!(&word[..], b"events" | b"event" | b"samples"));
        (count.is_some() || is_of_events()).then_some(Self::Lost(count))
    }

    /// `# entries-in-buffer/entries-written: KEPT/WRITTEN`, as the kernel's text begins.
    pub(super) fn overwritten(line: &[u8]) -> Option<Self> {
        let mut words = Words(line).skip_while(|word| *word != b"entries-in-buffer/entries-written:");
        let numbers = words.nth(1)?;
        let at = numbers.iter().position(|byte| *byte == b'/')?;
        let (kept, written) = (whole(&numbers[..at])?, whole(&numbers[at + 1..])?);
        Some(Self::Overwritten(written.saturating_sub(kept)))
    }

    /// What a line of blkparse's summary says.
    pub(super) fn summed(line: &[u8]) -> Option<Self> {
        let number = |word: &[u8]| -> Option<u64> {
            whole(&word.iter().copied().filter(|byte| !b",(".contains(byte)).collect::<Vec<u8>>())
        };
        if line.starts_with(b"Skips:") {
            let open = line.iter().position(|byte| *byte == b'(')?;
            return Some(Self::Lost(Some(number(Words(&line[open..]).next()?)?)));
        }
        if line.starts_with(b"CPU") || line.starts_with(b"Total (") {
            return Some(Self::Section { of_all: line[0] == b'T' });
        }
        // Of requests of file systems, which the kernel's other events (PC) are not.
        if ![b"Reads ", b"Read D", b"Writes", b"Write "].iter().any(|label| line.starts_with(*label)) {
            return None;
        }
        let (mut words, mut told) = (Words(line), None);
        while let Some(word) = words.next() {
            let event = match word {
                b"Queued:" => Event::Queue,
                b"Dispatches:" => Event::Issue,
                b"Completed:" => Event::Complete,
                _ => continue,
            };
            let before = if let Some(Self::Counted(_, before)) = told { before } else { 0 };
            told = Some(Self::Counted(event, number(words.next()?)?.saturating_add(before)));
        }
        told
    }
}

/// A request, by which it is known when it is issued again: device, operation, offset and length.
type Key = (u64, u8, u64, u64);

fn key(Arrival { device, request, .. }: &Arrival) -> Key {
    (*device, request.op as u8, request.offset, request.length)
}

/// What a trace said of itself so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    lost: u64,
    /// Whether events were lost of which no number is known.
    is_uncounted: bool,
    overwritten: u64,
    /// The summary's numbers of events by kind, of single processors and of all.
    summed: [[u64; Event::ALL.len()]; 2],
    of_all: bool,
    /// Requests that went back to the queue and were not issued again yet.
    requeued: BTreeMap<Key, u64>,
    /// Number of issues that do not count, since the request was issued before.
    pub(super) again: u64,
    /// Number of requests that the device answered by an error.
    pub(super) failed: u64,
    strange: u64,
    /// Number and text of the first line that was not understood.
    first: Option<(u64, String)>,
}

impl Losses {
    /// Takes down what a line says.
    pub(super) fn tell(&mut self, told: Told) {
        let sum = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        match told {
            Told::Lost(Some(count)) => sum(&mut self.lost, count),
            Told::Lost(None) => self.is_uncounted = true,
            Told::Overwritten(count) => sum(&mut self.overwritten, count),
            Told::Section { of_all } => self.of_all = of_all,
            Told::Counted(event, count) => sum(&mut self.summed[usize::from(self.of_all)][event as usize], count),
        }
    }

    /// Takes down that a request went back to the queue, from which it is issued again.
    pub(super) fn requeue(&mut self, arrival: &Arrival) {
        *self.requeued.entry(key(arrival)).or_default() += 1;
    }

    /// Whether the issue of a request is that of one that was issued before and requeued.
    pub(super) fn is_again(&mut self, arrival: &Arrival) -> bool {
        let key = key(arrival);
        let Some(count) = self.requeued.get_mut(&key) else { return false };
        *count -= 1;
        if *count == 0 {
            self.requeued.remove(&key);
        }
        self.again += 1;
        true
    }

    /// Counts a line that was not understood.
    pub(super) fn pass(&mut self, number: u64, text: impl FnOnce() -> String) {
        self.strange += 1;
        self.first.get_or_insert_with(|| (number, text()));
    }

    /// Sentences about all that, in a trace of whose events of kind `counted` as many as `read` were read.
    pub(super) fn describe(&self, counted: Event, read: u64) -> Vec<String> {
        let mut told = Vec::new();
        // The header and the marks in the text tell of the same losses.
        match self.lost.max(self.overwritten) {
            0 if self.is_uncounted => {
                told.push("the trace says itself that events were lost, and not how many: it is not whole".to_owned());
            }
            0 => {}
            lost => {
                let least = if self.is_uncounted { "at least " } else { "" };
                told.push(format!("the trace says itself that {least}{lost} events were lost: it is not whole"));
            }
        }
        let summed = |event: Event| self.summed.iter().map(|counts| counts[event as usize]).max().unwrap_or(0);
        let summed =
            if counted == Event::Issue { summed(Event::Issue).max(summed(Event::Complete)) } else { summed(counted) };
        if summed > read.saturating_add(self.again) {
            told.push(format!(
                "its summary counts {summed} requests, of which {read} were read: the others are missing"
            ));
        }
        if self.again > 0 {
            told.push(format!("{} requests that were requeued and issued again count once", self.again));
        }
        if self.failed > 0 {
            told.push(format!("{} requests failed at the device and are counted", self.failed));
        }
        if let Some((number, text)) = &self.first {
            told.push(format!(
                "{} lines were not understood and passed over, the first is line {number}: '{text}'",
                self.strange
            ));
        }
        told
    }
}
