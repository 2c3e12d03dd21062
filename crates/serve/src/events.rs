//! What a served drive tells by itself: blocks that retire, capacity that it wants back, its end, its heat.

use serde_json::{Value, json};
use tokio::sync::broadcast;
use wane_blockdev::{BlockDevice, NoticeKind};
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
}

impl Watcher {
    pub(crate) fn new(drive: &Drive) -> Self {
        let (to, _) = broadcast::channel(KEPT);
        let is_worn_out = drive.end_of_life().is_some();
        Self { to, retired: drive.retired_blocks(), throttles: throttles(drive), is_worn_out, notices: Vec::new() }
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
    pub(crate) fn look(&mut self, drive: &mut Drive) {
        if drive.is_off() {
            return;
        }
        let at = drive.now();
        let retired = drive.retired_blocks();
        if retired != self.retired {
            let more = retired.saturating_sub(self.retired);
            self.tell(at, "retired", json!({ "blocks": more, "blocks_retired": retired }));
            self.retired = retired;
        }
        let mut notices = std::mem::take(&mut self.notices);
        drive.notices(&mut notices);
        for notice in notices.drain(..) {
            let (event, sectors) = match notice.kind {
                NoticeKind::CapacityWanted(sectors) => ("capacity-wanted", sectors),
                NoticeKind::CapacityChanged(sectors) => ("capacity-changed", sectors),
                _ => continue,
            };
            self.tell(notice.at, event, json!({ "bytes": sectors.0 * 512 }));
        }
        self.notices = notices;
        let end = drive.end_of_life();
        if end.is_some() != self.is_worn_out {
            self.is_worn_out = end.is_some();
            match end {
                Some(cause) => self.tell(at, "read-only", json!({ "cause": cause })),
                None => self.tell(at, "writable", json!({})),
            }
        }
        let throttles = throttles(drive);
        if throttles > self.throttles {
            let celsius = heat(drive).map(|heat| heat.celsius);
            self.tell(at, "thermal", json!({ "throttles": throttles, "celsius": celsius }));
        }
        self.throttles = throttles;
    }
}

fn heat(drive: &Drive) -> Option<HeatReading> {
    drive.clock().and_then(Clock::heat)
}

fn throttles(drive: &Drive) -> u32 {
    heat(drive).map_or(0, |heat| heat.throttles)
}
