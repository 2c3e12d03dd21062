//! What the page shows of a drive, made on the thread that owns it.

use std::sync::Arc;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use wane_units::Nanos;

use super::cells::{Cells, mapped_units, mean_and_most};
use super::happenings::words;
use super::hub::{Hub, event};
use crate::control::member;
use crate::engine::{Engine, Facts};
use crate::measure::Measured;
use crate::real::RealTime;
use crate::tally::Done;

/// Between two ticks, between two looks at all blocks for their wear, and for the data in them.
const TICK: Nanos = Nanos::SECOND;
const WEAR: Nanos = Nanos(2 * Nanos::SECOND.0);
const MAPPED: Nanos = Nanos(10 * Nanos::SECOND.0);

/// A look at all blocks is followed by a pause so many times as long, so that it takes less than a percent of the time of any drive.
const PAUSES: u64 = 200;

/// Significant digits of a tick's times, and the longest one.
const DIGITS: u8 = 2;
const LONGEST: Nanos = Nanos(3600 * Nanos::SECOND.0);

/// What does not change of a served drive.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) uri: String,
    pub(crate) durability: &'static str,
}

/// Requests of a kind since the last tick.
struct OfKind {
    requests: u64,
    bytes: u64,
    latency: Histogram<u32>,
}

/// What was answered since the last tick.
struct Interval {
    kinds: [OfKind; Measured::ALL.len()],
    lag: Histogram<u32>,
}

impl Interval {
    fn new() -> Self {
        let times = || Histogram::new_with_bounds(1, LONGEST.0, DIGITS).expect("the bounds are fine");
        Self { kinds: Measured::ALL.map(|_| OfKind { requests: 0, bytes: 0, latency: times() }), lag: times() }
    }

    fn note(&mut self, done: &Done) {
        let Some(kind) = done.kind.measured().filter(|_| done.is_fine) else { return };
        let of = &mut self.kinds[kind as usize];
        of.requests += 1;
        of.bytes += if kind == Measured::Flush { 0 } else { u64::from(done.bytes) };
        of.latency.saturating_record(done.latency.0.max(1));
        if let Some(lag) = done.lag {
            self.lag.saturating_record(lag.0.max(1));
        }
    }

    fn clear(&mut self) {
        for of in &mut self.kinds {
            (of.requests, of.bytes) = (0, 0);
            of.latency.reset();
        }
        self.lag.reset();
    }

    /// What was answered, and the lags; without an interval nothing.
    fn told(of: Option<&Self>) -> (Value, Value) {
        let kind = |kind: Measured| {
            let of = of.map(|of| &of.kinds[kind as usize]);
            let (requests, bytes) = of.map_or((0, 0), |of| (of.requests, of.bytes));
            let latency = of.map_or(Value::Null, |of| quantiles(&of.latency, &LATENCY));
            (kind.name().to_owned(), json!({ "requests": requests, "bytes": bytes, "latency_ns": latency }))
        };
        let done = Measured::ALL.map(kind).into_iter().collect();
        (Value::Object(done), of.map_or(Value::Null, |of| quantiles(&of.lag, &LAG)))
    }
}

const LATENCY: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];
const LAG: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

fn quantiles(times: &Histogram<u32>, wanted: &[(&str, f64)]) -> Value {
    if times.is_empty() {
        return Value::Null;
    }
    let at = |(name, share): &(&str, f64)| ((*name).to_owned(), json!(times.value_at_quantile(*share)));
    Value::Object(wanted.iter().map(at).collect())
}

/// See the head of this file.
pub(crate) struct Feed {
    hub: Arc<Hub>,
    about: About,
    real: RealTime,
    /// `None` while nobody watches.
    interval: Option<Box<Interval>>,
    events: Option<broadcast::Receiver<Value>>,
    tick_at: Nanos,
    wear_at: Nanos,
    mapped_at: Nanos,
    /// What was found at the last look at all blocks.
    cells: Cells,
    erases: (f64, u32),
    mapped: Option<u64>,
}

impl Feed {
    pub(crate) fn new(hub: Arc<Hub>, about: About, real: RealTime) -> Self {
        Self {
            hub,
            about,
            real,
            interval: None,
            events: None,
            tick_at: Nanos::ZERO,
            wear_at: Nanos::ZERO,
            mapped_at: Nanos::ZERO,
            cells: Cells::default(),
            erases: (0.0, 0),
            mapped: None,
        }
    }

    /// An answer was sent.
    pub(crate) fn note(&mut self, done: &Done) {
        if let Some(interval) = &mut self.interval {
            interval.note(done);
        }
    }

    /// Tells the viewers, if there are any, what is due. `facts` are what the drive was like at the last look.
    pub(crate) fn look(&mut self, engine: &mut Engine, facts: &mut Facts) {
        if !self.hub.is_watched() {
            (self.interval, self.events) = (None, None);
            return;
        }
        let now = self.real.now();
        if self.interval.is_none() {
            self.interval = Some(Box::new(Interval::new()));
            self.events = Some(engine.watcher.listen());
            self.tick_at = now;
        }
        self.tell_events(now);
        if now < self.tick_at {
            return;
        }
        // One that comes late does not make those after it come fast.
        self.tick_at = Nanos(self.tick_at.0.max(now.0.saturating_sub(TICK.0)) + TICK.0);
        *facts = engine.facts(now, facts);
        self.show(engine, facts, now);
        self.hub.tell(event("tick", &self.tick(facts, now, self.interval.as_deref())));
        if let Some(interval) = &mut self.interval {
            interval.clear();
        }
    }

    /// Keeps what whoever comes sees first, and tells of it what has changed.
    pub(crate) fn show(&mut self, engine: &Engine, facts: &Facts, now: Nanos) {
        let drive = event("drive", &self.drive(engine, facts));
        let before = self.hub.last().drive.replace(drive.clone());
        if before.as_ref() != Some(&drive) {
            self.hub.tell(drive);
        }
        self.look_at_blocks(engine, now);
        self.hub.last().tick = self.tick(facts, now, None);
    }

    fn look_at_blocks(&mut self, engine: &Engine, now: Nanos) {
        if engine.shelf.device().is_off() {
            return;
        }
        let drives = engine.shelf.drives();
        let pause = |real: RealTime, least: Nanos| {
            let end = real.now();
            end.saturating_add(Nanos(least.0.max(end.0.saturating_sub(now.0).saturating_mul(PAUSES))))
        };
        if now >= self.mapped_at {
            self.mapped = if engine.shelf.is_array() {
                // A mirror's units lie on several drives.
                Some((engine.shelf.share_filled() * f64::from(engine.shelf.pages())).round() as u64)
            } else {
                mapped_units(engine.shelf.drive())
            };
            self.mapped_at = pause(self.real, MAPPED);
        }
        if now >= self.wear_at {
            let cells = Cells::of(&drives, engine.shelf.is_array());
            self.erases = mean_and_most(drives.iter().flat_map(|(_, drive)| drive.superblock_erase_counts()));
            if cells != self.cells {
                let wear = event("wear", &cells);
                self.cells = cells;
                self.hub.last().wear = Some(wear.clone());
                self.hub.tell(wear);
            }
            self.wear_at = pause(self.real, WEAR);
        }
    }

    fn tell_events(&mut self, now: Nanos) {
        let Some(events) = &mut self.events else { return };
        loop {
            let happening = match events.try_recv() {
                Ok(happening) => happening,
                Err(broadcast::error::TryRecvError::Lagged(_)) => continue,
                Err(_) => return,
            };
            let at = (happening["at_s"].as_f64().unwrap_or(0.0) * 1e9) as u64;
            let told = json!({ "real_s": seconds(now), "virtual_ns": at, "text": words(&happening) });
            self.hub.tell(event("happening", &told));
        }
    }

    fn drive(&self, engine: &Engine, facts: &Facts) -> Value {
        let (scenario, About { name, uri, durability }) = (engine.shelf.scenario(), &self.about);
        json!({
            "name": name,
            "scenario": if scenario.name.is_empty() { &scenario.preset } else { &scenario.name },
            "capacity_bytes": facts.capacity_bytes,
            "array": scenario.array.as_ref().map(|array| format!("{} of {} SSDs", array.settings.layout.name(), array.members.len())),
            "unit_bytes": facts.firmware.unit_bytes,
            "blocks": facts.firmware.blocks,
            "rated_erases": facts.firmware.rated_erases,
            "speed": engine.speed().to_string(),
            "durability": if facts.journal_bytes.is_some() { durability } else { "none" },
            "uri": uri,
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    /// The data of a tick.
    fn tick(&self, facts: &Facts, now: Nanos, interval: Option<&Interval>) -> Value {
        let (done, lag) = Interval::told(interval);
        let firmware = &facts.firmware;
        let counters = &firmware.counters;
        let mut counted = json!({
            "host_units_written": counters.host_units_written,
            "flash_units_programmed": counters.programmed_total(),
            "gc_units_programmed": counters.programmed_gc,
            "wear_leveling_units_programmed": counters.programmed_wear_leveling,
            "erases": counters.erases_total(),
            "uncorrectable_reads": counters.host_reads_uncorrectable + counters.relocation_reads_uncorrectable,
            "retired_blocks": firmware.retired_blocks,
            "scrubbed_units": counters.programmed_scrub,
        });
        if let Some(rereads) = firmware.rereads {
            counted["rereads"] = json!(rereads);
        }
        let mut tick = json!({
            "real_s": seconds(now),
            "virtual_ns": facts.now.0,
            "done": done,
            "lag_ns": lag,
            "in_flight": facts.in_flight,
            "stuck": facts.stuck,
            "counters": counted,
            "capacity_bytes": facts.capacity_bytes,
            "wear": { "mean": self.erases.0, "max": self.erases.1, "life_used": firmware.life_used },
            "state": facts.state.name(),
            "busy": null,
            "held_ns": 0,
        });
        if !facts.members.is_empty() {
            tick["members"] = facts.members.iter().enumerate().map(member).collect();
        }
        if let Some(units) = self.mapped {
            tick["mapped_bytes"] = json!(units * u64::from(firmware.unit_bytes));
        }
        tick
    }
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use wane_lab::held::Held;
    use wane_lab::overrides::PolicyOverrides;
    use wane_scenario::{Scenario, Sources};

    use super::*;
    use crate::Speed;
    use crate::memory::Memory;
    use crate::pool::Pool;
    use crate::shelf::Shelf;
    use crate::tally::Kind;

    fn engine() -> Engine {
        let set: Vec<String> =
            ["time.scheduler=\"event\"", "until.drive-writes=1", "precondition.random-drive-writes=1"]
                .map(str::to_owned)
                .into();
        let sources = Sources { preset: Some("tiny"), set: &set, ..Sources::default() };
        let mut held = Held::new(&Scenario::resolve(&sources).unwrap(), PolicyOverrides::default()).unwrap();
        // So that something is worn and mapped.
        held.precondition(&mut wane_lab::run::Watch { step: &mut |_| {}, stop: &Arc::default() }).unwrap();
        Engine::new(
            Shelf::Scratch(Box::new(held)),
            Speed::Max,
            Memory::new(1 << 30).part(0).unwrap(),
            Nanos(0),
            Pool::default(),
        )
    }

    /// The events that a viewer has not taken, as name and data.
    fn taken(viewer: &mut super::super::hub::Viewer) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        while let Some(event) = viewer.there() {
            let text = String::from_utf8(event.to_vec()).unwrap();
            let (name, data) = text.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
            events.push((name.to_owned(), serde_json::from_str(data.strip_suffix("\n\n").unwrap()).unwrap()));
        }
        events
    }

    #[test]
    fn a_tick_has_what_was_answered_since_the_last_one() {
        let (hub, mut engine, mut facts) = (Arc::<Hub>::default(), engine(), Facts::default());
        let about = About { name: "old".to_owned(), uri: "nbd://x".to_owned(), durability: "process" };
        let mut feed = Feed::new(Arc::clone(&hub), about, RealTime::begin());
        let done =
            |kind, time, lag| Done { kind, is_fine: true, bytes: 4096, latency: Nanos(time), lag: Some(Nanos(lag)) };
        feed.look(&mut engine, &mut facts);
        assert!(feed.interval.is_none() && hub.last().drive.is_none(), "nothing is computed for nobody");
        facts = engine.facts(Nanos(0), &facts);
        feed.show(&engine, &facts, Nanos(0));
        let (first, mut viewer) = hub.come();
        assert_eq!(first.len(), 2, "who comes is told what it is, and its wear");
        feed.look(&mut engine, &mut facts);
        let events = taken(&mut viewer);
        assert_eq!((events.len(), events[0].0.as_str()), (1, "tick"), "{events:?}");
        assert_eq!((&events[0].1["done"]["write"]["requests"], &events[0].1["lag_ns"]), (&json!(0), &Value::Null));
        for number in 1..=100 {
            feed.note(&done(Kind::Write, number * 1_000, 500));
        }
        feed.note(&Done { is_fine: false, ..done(Kind::Write, 1, 1) });
        feed.note(&done(Kind::Flush, 7, 7));
        feed.note(&done(Kind::BlockStatus, 7, 7));
        engine.watcher.tell(wane_units::SimTime(5), "power-cut", json!({}));
        feed.tick_at = Nanos(0);
        feed.look(&mut engine, &mut facts);
        let events = taken(&mut viewer);
        assert_eq!(events.iter().map(|event| event.0.as_str()).collect::<Vec<_>>(), ["happening", "tick"]);
        assert_eq!((&events[0].1["text"], &events[0].1["virtual_ns"]), (&json!("the power failed"), &json!(5)));
        let tick = &events[1].1;
        let write = &tick["done"]["write"];
        assert_eq!((&write["requests"], &write["bytes"]), (&json!(100), &json!(409_600)));
        for (figure, wanted) in [("p50", 50_000.0), ("p99", 99_000.0), ("max", 100_000.0)] {
            let found = write["latency_ns"][figure].as_f64().unwrap();
            assert!((found / wanted - 1.0).abs() < 0.02, "{figure}: {found}");
        }
        assert_eq!((&tick["done"]["flush"]["requests"], &tick["done"]["flush"]["bytes"]), (&json!(1), &json!(0)));
        assert_eq!((&tick["done"]["read"]["latency_ns"], &tick["busy"]), (&Value::Null, &Value::Null));
        let drive = engine.shelf.drive();
        let mapped = (0..drive.exported()).filter(|unit| drive.lookup(wane_units::Lpn(*unit)).is_some()).count();
        assert_eq!(tick["mapped_bytes"], json!(mapped * drive.unit_bytes() as usize));
        assert_eq!(tick["counters"]["erases"], json!(drive.counters().erases_total()));
        assert!(tick["wear"]["mean"].as_f64().unwrap() > 0.0 && mapped > 0, "{tick}");
        // Nothing is due, and then nothing was answered.
        feed.look(&mut engine, &mut facts);
        assert_eq!(taken(&mut viewer), []);
        feed.tick_at = Nanos(0);
        feed.look(&mut engine, &mut facts);
        assert_eq!(taken(&mut viewer)[0].1["done"]["write"]["requests"], 0);
        // While its thread is busy.
        hub.tell_busy(&json!({ "doing": "age", "done": 0.5, "drive_writes": 3 }), Nanos(Nanos::SECOND.0));
        let busy = taken(&mut viewer).remove(0).1;
        assert_eq!((&busy["busy"], &busy["real_s"]), (&json!({ "doing": "age", "done": 0.5 }), &json!(1.0)));
        drop(viewer);
        feed.look(&mut engine, &mut facts);
        assert!(feed.interval.is_none(), "nobody watches any more");
    }
}
