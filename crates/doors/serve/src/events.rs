//! What a served drive tells by itself: blocks that retire, capacity that it wants back, its end, its heat.

use serde_json::{Value, json};
use tokio::sync::broadcast;
use wane_blockdev::NoticeKind;
use wane_ftl::EndOfLife;
use wane_lab::held::Held;
use wane_ssd::{Clock, Drive, HeatReading};
use wane_units::SimTime;

/// Events that a listener may be behind before it misses the oldest.
const KEPT: usize = 1024;

/// Sees what changes on a drive, and tells whoever listens.
pub(crate) struct Watcher {
    to: broadcast::Sender<Value>,
    retired: u32,
    throttles: u32,
    is_worn_out: bool,
    notices: Vec<wane_blockdev::Notice>,
    is_scrubbing: bool,
}

impl Watcher {
    pub(crate) fn new(held: &Held) -> Self {
        let (to, _) = broadcast::channel(KEPT);
        let is_worn_out = end(held).is_some();
        Self {
            to,
            retired: held.retired_blocks(),
            throttles: throttles(held),
            is_worn_out,
            notices: Vec::new(),
            is_scrubbing: held.is_scrubbing(),
        }
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Value> {
        self.to.subscribe()
    }

    /// Tells of something that happened at an instant. `facts` is an object.
    pub(crate) fn tell(&self, at: SimTime, event: &str, mut facts: Value) {
        facts["event"] = json!(event);
        facts["at_s"] = json!(at.0 as f64 / 1e9);
        // Without listeners nobody hears it.
        let _ = self.to.send(facts);
    }

    /// Tells what has changed since the last look.
    pub(crate) fn look(&mut self, held: &mut Held) {
        if held.device().is_off() {
            return;
        }
        let at = held.device().now();
        let retired = held.retired_blocks();
        if retired != self.retired {
            // A drive that left an array takes its blocks along.
            if retired > self.retired {
                self.tell(at, "retired", json!({ "blocks": retired - self.retired, "blocks_retired": retired }));
            }
            self.retired = retired;
        }
        let mut notices = std::mem::take(&mut self.notices);
        held.device_mut().notices(&mut notices);
        for notice in notices.drain(..) {
            let (event, facts) = match notice.kind {
                NoticeKind::CapacityWanted { to, cause, writes_left, by } => {
                    let left = writes_left.0 * 512;
                    let facts = json!({
                        "bytes": to.0 * 512, "cause": cause.name(), "writes_left_bytes": left, "by": by.name(),
                    });
                    ("capacity-wanted", facts)
                }
                NoticeKind::MappedLimitChanged(limit) => ("mapped-limit-changed", json!({ "bytes": limit.0 * 512 })),
                NoticeKind::CapacityChanged(sectors) => ("capacity-changed", json!({ "bytes": sectors.0 * 512 })),
                NoticeKind::MemberLost(member) => ("member-lost", json!({ "member": member })),
                NoticeKind::Degraded => ("degraded", json!({})),
                NoticeKind::Rebuilt => ("rebuilt", json!({})),
                _ => continue,
            };
            self.tell(notice.at, event, facts);
        }
        self.notices = notices;
        let was_scrubbing = std::mem::replace(&mut self.is_scrubbing, held.is_scrubbing());
        if let Some(repairs) = held.repairs().filter(|_| was_scrubbing && !self.is_scrubbing) {
            let bytes = |sectors: wane_units::Sectors| sectors.0 * 512;
            // Since the array was made.
            let (repaired, unreadable) = (bytes(repairs.repaired), bytes(repairs.unreadable));
            self.tell(at, "scrubbed", json!({ "repaired_bytes": repaired, "unreadable_bytes": unreadable }));
        }
        let end = end(held);
        if end.is_some() != self.is_worn_out {
            self.is_worn_out = end.is_some();
            match end {
                Some(cause) => self.tell(at, "read-only", json!({ "cause": cause })),
                None => self.tell(at, "writable", json!({})),
            }
        }
        let throttles = throttles(held);
        if throttles > self.throttles {
            let hottest = held.drives().into_iter().filter_map(|(_, drive)| heat(drive));
            let celsius = hottest.map(|heat| heat.celsius).reduce(f64::max);
            self.tell(at, "thermal", json!({ "throttles": throttles, "celsius": celsius }));
        }
        self.throttles = throttles;
    }
}

fn heat(drive: &Drive) -> Option<HeatReading> {
    drive.clock().and_then(Clock::heat)
}

fn throttles(held: &Held) -> u32 {
    held.drives().into_iter().filter_map(|(_, drive)| heat(drive)).map(|heat| heat.throttles).sum()
}

/// Why it takes no more writes, for now at least.
fn end(held: &Held) -> Option<EndOfLife> {
    if held.is_array() { held.device().end_of_life() } else { held.drive().end_of_life() }
}
