//! What a command did to a kept drive, until it is kept.

use wane_blockdev::{Entry, Request};
use wane_journal::Input;
use wane_units::SimTime;

use crate::held::Act;
use crate::progress::Stopwatch;

/// Most bytes that are collected. A command that does more is kept by a save.
const BYTES_MAX: usize = 16 << 20;

/// Room of a record besides its data, at least.
const RECORD_BYTES: usize = 256;

/// See the head of this file.
#[derive(Debug)]
pub(super) struct Recent {
    /// `None`: something was done that is not among them.
    inputs: Option<Vec<(SimTime, Input)>>,
    bytes: usize,
    since: Stopwatch,
}

impl Default for Recent {
    fn default() -> Self {
        Self { inputs: Some(Vec::new()), bytes: 0, since: Stopwatch::start() }
    }
}

impl Recent {
    /// A request that is about to be submitted at an instant.
    pub(super) fn call(&mut self, at: SimTime, request: &Request) {
        let bytes = request.bytes.as_ref().map_or(0, Vec::len);
        self.note(at, bytes, || Input::Call(Entry::Submit { at, request: request.clone() }));
    }

    pub(super) fn act(&mut self, at: SimTime, act: &Act) {
        let act = act.encode();
        self.note(at, act.len(), || Input::Command(act));
    }

    fn note(&mut self, at: SimTime, bytes: usize, input: impl FnOnce() -> Input) {
        self.bytes += bytes + RECORD_BYTES;
        if self.bytes > BYTES_MAX {
            self.lose();
        }
        if let Some(inputs) = &mut self.inputs {
            if inputs.is_empty() {
                inputs.push((at, Input::Command(Act::Begin { command: true }.encode())));
            }
            inputs.push((at, input()));
        }
    }

    /// Something was done that cannot be done again.
    pub(super) fn lose(&mut self) {
        self.inputs = None;
    }

    /// Whether all that was done is here.
    pub(super) const fn is_recorded(&self) -> bool {
        self.inputs.is_some()
    }

    /// Bytes of its records, at most.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes + 2 * RECORD_BYTES
    }

    /// Seconds since the drive was opened or saved.
    pub(super) fn seconds(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }

    /// All of it, in order.
    pub(super) fn inputs(&mut self) -> Vec<(SimTime, Input)> {
        self.inputs.take().unwrap_or_default()
    }
}
