//! Doing again what a journal has.

use std::path::Path;

use wane_blockdev::{Completion, Entry, Kind, RequestId, SectorRange, drain};
use wane_folder::System;
use wane_journal::{Input, InputError, Journal, JournalError, Place, Record};
use wane_shelf::JournalStart;
use wane_units::{Sectors, SimTime, excerpt_path};

use crate::held::{Act, Held, KeptError};

/// What happens in a replay.
#[derive(Debug)]
pub enum Seen {
    /// A request comes.
    Submitted {
        /// Its number since the drive was made.
        id: RequestId,
        /// When.
        at: SimTime,
        /// What it asks.
        kind: Kind,
        /// Where.
        range: SectorRange,
    },
    /// A request ends.
    Completed(Completion),
    /// Something else is done to the drive.
    Done {
        /// When.
        at: SimTime,
        /// What it was.
        what: String,
    },
}

/// See the head of this file.
pub(super) struct Repeat<'a> {
    held: &'a mut Held,
    /// The logical sector of the drive before its server formatted it.
    sector: Sectors,
    /// What a command did, until its note comes; `None`: records are done as they come.
    command: Option<Vec<(u64, Input)>>,
    /// Sentences for the history.
    pub(super) notes: Vec<String>,
    answers: Vec<Completion>,
    /// The limit of re-reads that the host required before the power went off.
    pub(super) required: Vec<Option<u32>>,
    /// Whether the journal has more than was done.
    pub(super) is_cut_short: bool,
}

/// What of a journal was done again.
#[derive(Clone, Debug, Default)]
pub(super) struct Repeated {
    pub(super) records: u64,
    /// Whole records that were dropped behind a torn one, and the file in which that lies.
    pub(super) dropped: Option<(String, u64)>,
    /// Where the journal ends, and the last records of which it does not say that they were on the disk; `None`: there is none, or it was not done
    /// to its end.
    pub(super) end: Option<(Place, u64)>,
}

/// Why a journal is not done again to its end.
enum Trouble {
    Journal(JournalError),
    Act(Box<KeptError>),
    /// This is the instant up to which it is.
    Enough,
}

impl From<JournalError> for Trouble {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl<'a> Repeat<'a> {
    pub(super) fn of(held: &'a mut Held) -> Self {
        let sector = held.device().features().sector;
        Self {
            held,
            sector,
            command: None,
            notes: Vec::new(),
            answers: Vec::new(),
            required: Vec::new(),
            is_cut_short: false,
        }
    }

    /// Does what the journal at `path` has before a segment, up to an instant. Returns the number of its records.
    pub(super) fn journal(
        &mut self,
        path: &Path,
        start: &JournalStart,
        before: u64,
        until: Option<SimTime>,
        each: &mut dyn FnMut(Seen),
    ) -> Result<Repeated, KeptError> {
        let mut records = 0;
        let (mut dropped, mut end) = (None, None);
        let mut one = |record: &Record<'_>, file: &str| {
            if until.is_some_and(|until| record.at > until.0) {
                return Err(Trouble::Enough);
            }
            records += 1;
            self.record(record, file, each)
        };
        let looked = Journal::look_before(&System, path, &start.lineage(), (start.place, before), &mut one);
        match looked {
            Ok(opened) => {
                end = Some((opened.end, opened.unmarked));
                dropped = Some((wane_journal::name(opened.end.segment), opened.dropped)).filter(|_| opened.dropped > 0);
            }
            Err(Trouble::Enough) => self.is_cut_short = true,
            Err(Trouble::Journal(error)) => return Err(KeptError::Journal(excerpt_path(path), error)),
            Err(Trouble::Act(error)) => return Err(*error),
        }
        // A served drive is formatted for its clients, which is not saved.
        let sector = self.sector;
        self.held.each_drive(|drive| drive.format(sector));
        Ok(Repeated { records, dropped, end })
    }

    fn record(&mut self, record: &Record<'_>, file: &str, each: &mut dyn FnMut(Seen)) -> Result<(), Trouble> {
        let meaningless = |error| JournalError::Meaningless { file: file.to_owned(), number: record.number, error };
        let input = Input::decode(record.bytes).map_err(meaningless)?;
        let act = match &input {
            Input::Command(bytes) => Some(Act::decode(bytes).ok_or_else(|| meaningless(InputError::Command))?),
            Input::Call(_) | Input::Comment(_) => None,
        };
        match act {
            // A command before it that has no note was never answered.
            Some(Act::Begin { command }) => self.command = command.then(Vec::new),
            Some(Act::Note(note)) => {
                for (at, input) in self.command.take().into_iter().flatten() {
                    self.input(at, input, each)?;
                }
                self.input(record.at, input, each)?;
                self.notes.push(note);
            }
            _ => match &mut self.command {
                Some(command) => command.push((record.at, input)),
                None => self.input(record.at, input, each)?,
            },
        }
        Ok(())
    }

    fn input(&mut self, at: u64, input: Input, each: &mut dyn FnMut(Seen)) -> Result<(), Trouble> {
        match input {
            Input::Call(entry) => self.call(entry, each),
            Input::Command(bytes) => {
                let Some(act) = Act::decode(&bytes) else { return Ok(()) };
                // An act is done at the drive's own time.
                self.run_to(self.held.device().now().max(SimTime(at)), each);
                each(Seen::Done { at: self.held.device().now(), what: format!("{act:?}") });
                self.held.act(&act).map_err(|error| Trouble::Act(Box::new(error)))?;
            }
            Input::Comment(_) => {}
        }
        Ok(())
    }

    fn call(&mut self, entry: Entry, each: &mut dyn FnMut(Seen)) {
        if matches!(entry, Entry::PowerOff { .. }) {
            self.required = self.held.required();
        }
        let at = match entry {
            Entry::Submit { at, request } => {
                let (kind, range) = (request.kind, request.range);
                let id = self.held.device_mut().submit(at, request);
                each(Seen::Submitted { id, at, kind, range });
                at
            }
            Entry::PowerOff { .. } => {
                let at = entry.repeat(self.held.device_mut());
                each(Seen::Done { at, what: "PowerOff".to_owned() });
                at
            }
            other => {
                let what = format!("{other:?}");
                let at = other.repeat(self.held.device_mut());
                each(Seen::Done { at, what });
                at
            }
        };
        self.run_to(at, each);
    }

    /// Takes out what has completed by an instant; nobody waits for it any more.
    fn run_to(&mut self, at: SimTime, each: &mut dyn FnMut(Seen)) {
        self.held.device_mut().complete(at, &mut self.answers);
        self.answers.drain(..).for_each(|answer| each(Seen::Completed(answer)));
    }

    /// Lets what is under way complete, up to an instant.
    pub(super) fn run_out(&mut self, until: Option<SimTime>, each: &mut dyn FnMut(Seen)) {
        if self.held.device().is_off() {
            return;
        }
        let now = self.held.device().now();
        match until {
            Some(until) => self.run_to(now.max(until), each),
            None => {
                drain(self.held.device_mut(), now, &mut self.answers);
                self.answers.drain(..).for_each(|answer| each(Seen::Completed(answer)));
            }
        }
    }
}
