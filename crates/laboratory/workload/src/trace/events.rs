//! Events of a request in the kernel's block layer. Each request has several, and only those of one kind count.

/// A kind of event that tells of a whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Sent to the device.
    Issue,
    /// Handed to the block layer, before it is split or merged.
    Queue,
    /// Answered by the device.
    Complete,
    /// Taken back from the device, which will be sent it again.
    Requeue,
}

impl Event {
    pub(super) const ALL: [Self; 4] = [Self::Issue, Self::Queue, Self::Complete, Self::Requeue];

    /// The kind of an action of blkparse.
    pub(super) fn of_action(action: &[u8]) -> Option<Self> {
        match action {
            b"D" => Some(Self::Issue),
            b"Q" => Some(Self::Queue),
            b"C" => Some(Self::Complete),
            b"R" => Some(Self::Requeue),
            _ => None,
        }
    }

    /// The name of its tracepoint, without the group `block`.
    pub(super) fn tracepoint(self) -> &'static str {
        match self {
            Self::Issue => "block_rq_issue",
            Self::Queue => "block_bio_queue",
            Self::Complete => "block_rq_complete",
            Self::Requeue => "block_rq_requeue",
        }
    }

    /// The kind of a tracepoint at the start of `text`, with the rest of the text.
    pub(super) fn of_tracepoint(text: &[u8]) -> Option<(Self, &[u8])> {
        Self::ALL.into_iter().find_map(|event| Some((event, text.strip_prefix(event.tracepoint().as_bytes())?)))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue (D)",
            Self::Queue => "queue (Q)",
            Self::Complete => "completion (C)",
            Self::Requeue => "requeue (R)",
        }
    }
}

/// The kinds of events that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    pub(super) event: Event,
    /// The kind that counts of appends to zones. Their completions alone name the sectors that they wrote.
    pub(super) appends: Event,
    /// Whether completions count since writes complete at other sectors than they were issued to.
    pub(super) moves: bool,
}

impl Kinds {
    /// Events of one kind, appends as well.
    pub(super) const fn all(event: Event) -> Self {
        Self { event, appends: event, moves: false }
    }
}

/// A kind counts in place of issues if it moves more than this many times as many bytes in the first bytes of a trace. A stacked
/// device, such as LVM's, queues all requests and issues none, and each that is queued again below it moves as much again.
const QUEUED_MIN: u64 = 4;

/// The events left out are noted if they move more than this many times as many bytes as those that count.
const LEFT_MIN: u64 = 2;

/// Numbers of events of each kind, and the bytes that they move.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Events {
    counts: [u64; Event::ALL.len()],
    bytes: [u64; Event::ALL.len()],
}

impl Events {
    /// Counts an event.
    pub(super) fn add(&mut self, event: Event, bytes: u64) {
        self.counts[event as usize] += 1;
        self.bytes[event as usize] = self.bytes[event as usize].saturating_add(bytes);
    }

    /// The number of events of a kind.
    pub(super) fn count(&self, event: Event) -> u64 {
        self.counts[event as usize]
    }

    /// The kind that counts in a trace whose first events these are: issues, unless there are none or far too few of them.
    pub(super) fn counted(&self) -> Event {
        let issued = self.bytes[Event::Issue as usize];
        let stands_in = |event: &Event| {
            let at = *event as usize;
            self.counts[at] > 0
                && (self.counts[Event::Issue as usize] == 0 || self.bytes[at] > issued.saturating_mul(QUEUED_MIN))
        };
        [Event::Queue, Event::Complete].into_iter().find(stands_in).unwrap_or(Event::Issue)
    }

    /// A sentence that says which kind counts, and what is left out if that is much.
    pub(super) fn told(&self, counted: Event) -> String {
        let (count, bytes) = (self.counts[counted as usize], self.bytes[counted as usize]);
        let is_much = |event: &Event| *event != counted && self.bytes[*event as usize] > bytes.saturating_mul(LEFT_MIN);
        let most = Event::ALL.into_iter().filter(is_much).max_by_key(|event| self.bytes[*event as usize]);
        match most {
            None => format!("counts {} events", counted.name()),
            Some(most) => format!(
                "counts {} events, of which there are {count}; {} {} events move {} bytes instead of {bytes} and are left out",
                counted.name(),
                self.counts[most as usize],
                most.name(),
                self.bytes[most as usize]
            ),
        }
    }
}
