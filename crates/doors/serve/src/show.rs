//! What a served drive shows of itself: counts for metrics, events for the page. It belongs to the thread that owns the drive.

use std::sync::Arc;

use crate::engine::{Engine, Facts};
use crate::metrics::Snapshot;
use crate::page::{About, Feed, Hub};
use crate::real::RealTime;
use crate::tally::{Done, Tally};

/// See the head of this file.
pub(crate) struct Show {
    tally: Tally,
    facts: Facts,
    feed: Feed,
    hub: Arc<Hub>,
    real: RealTime,
    name: String,
}

impl Show {
    pub(crate) fn new(about: About, real: RealTime) -> Self {
        let (hub, name) = (Arc::<Hub>::default(), about.name.clone());
        let feed = Feed::new(Arc::clone(&hub), about, real);
        Self { tally: Tally::default(), facts: Facts::default(), feed, hub, real, name }
    }

    pub(crate) fn hub(&self) -> Arc<Hub> {
        Arc::clone(&self.hub)
    }

    /// An answer was sent.
    pub(crate) fn note(&mut self, done: &Done) {
        self.tally.note(done);
        self.feed.note(done);
    }

    /// Tells the viewers what is due.
    pub(crate) fn look(&mut self, engine: &mut Engine) {
        self.feed.look(engine, &mut self.facts);
    }

    /// How things are.
    pub(crate) fn snapshot(&mut self, engine: &mut Engine, clients: usize) -> Snapshot {
        self.facts = engine.facts(self.real.now(), &self.facts);
        let (drive, facts, tally) = (self.name.clone(), self.facts.clone(), self.tally.clone());
        Snapshot { drive, facts, tally, clients, is_busy: false }
    }

    /// Keeps how things are, for those who ask while the drive's thread does something that takes long.
    pub(crate) fn keep(&mut self, engine: &mut Engine, clients: usize, doing: Option<&'static str>) {
        let snapshot = self.snapshot(engine, clients);
        self.feed.show(engine, &self.facts, self.real.now());
        let mut last = self.hub.last();
        (last.snapshot, last.doing) = (snapshot, doing);
    }

    /// That is over.
    pub(crate) fn go_on(&mut self) {
        self.hub.last().doing = None;
    }
}
