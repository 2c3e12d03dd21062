//! A live drive: the loop of the thread that owns it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use wane_lab::held::Act;
use wane_nbd::{Action, Block, Export, Out, TRANSFER_MAX};
use wane_units::{Bytes, Nanos};

use crate::checkpoint::Checkpointer;
use crate::client::{Asked, Client};
use crate::connection::Shared;
use crate::control::{self, Asks, Desk, Order};
use crate::durability::Durability;
use crate::engine::{Answer, Due, Engine, Failure, SECTOR};
use crate::inbox::{Haste, Mail};
use crate::log::{Log, Row};
use crate::measure::Measures;
use crate::outlets::Outlet;
use crate::page;
use crate::place::{Note, Noted};
use crate::real::{RealTime, wake_exactly};
use crate::server::{ServeConfig, Served, What};
use crate::shelf::Shelf;
use crate::show::Show;
use crate::syncer::Syncer;
use crate::tally::{Done, Kind};
use crate::{ServeError, memory::Memory};

mod saving;

/// Between two looks at the flag that ends it.
const LOOK: Nanos = Nanos(Nanos::SECOND.0 / 20);

/// How long requests under way have at the end.
const END: Nanos = Nanos(5 * Nanos::SECOND.0);

/// See the head of this file.
pub(crate) struct Live {
    engine: Engine,
    name: String,
    note: Note,
    /// The note in the drive's folder.
    noted: Option<Noted>,
    log: Option<Log>,
    real: RealTime,
    spin: Nanos,
    /// Ends the server.
    stop: Arc<AtomicBool>,
    /// How other threads reach it.
    outlet: Arc<Outlet>,
    shared: Arc<Shared>,
    measures: Measures,
    show: Show,
    durability: Durability,
    keeps_journal: bool,
    /// The drive's folder, if it has a journal.
    folder: Option<PathBuf>,
    /// Saves it while it is served.
    saving: Option<Checkpointer>,
    /// Who waits for a save in another process.
    wait_for_save: Vec<oneshot::Sender<control::Answer>>,
    /// Answers that wait until this many records are on the disk.
    unsynced: VecDeque<(u64, Answer)>,
    /// The thread that syncs the journal, once there is one.
    syncer: Option<Syncer>,
    /// Why nobody is answered any more.
    failure: Option<Failure>,
    /// Who wants it to be served no longer, and waits until it is saved.
    withdraws: Vec<oneshot::Sender<control::Answer>>,
    /// Orders that wait until nothing is under way.
    quiet: VecDeque<Order>,
    answers: Vec<Answer>,
    answered: u64,
}

/// Where a drive is served, and what it shares with others.
pub(crate) struct Setting<'a> {
    pub(crate) config: &'a ServeConfig,
    /// Where the server listens.
    pub(crate) server: &'a Note,
    pub(crate) memory: &'a Memory,
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) stop: &'a Arc<AtomicBool>,
    /// Whether it is the drive of clients that name none.
    pub(crate) is_default: bool,
    /// Whether it is the only one as the server begins, so that its address needs no name.
    pub(crate) is_only: bool,
}

impl Live {
    /// Makes a drive ready to be served.
    ///
    /// # Errors
    /// It cannot be.
    pub(crate) fn new(what: What, setting: &Setting<'_>) -> Result<Self, ServeError> {
        let Setting { config, server, memory, shared, stop, is_default, is_only } = setting;
        let name = what.name();
        let (mut shelf, folder) = match what {
            What::Kept(kept, path) => (Shelf::Kept(kept), Some(path)),
            What::Scratch(held, _) => (Shelf::Scratch(held), None),
        };
        shelf.keep_bytes()?;
        let kept = shelf.payload_memory();
        let part = memory.part(kept).map_err(|all| ServeError::Memory(Bytes(all), Bytes(memory.most())))?;
        let log = config.log.as_deref().filter(|_| *is_default).map(Log::create).transpose()?;
        let note =
            server.of_drive(&name, (*is_default, *is_only), folder.is_some() && config.durability == Durability::None);
        let noted = folder.as_deref().map(|folder| Noted::write(folder, &note)).transpose()?;
        if let Some(kept) = shelf.kept().filter(|kept| kept.is_overdue() && !config.keep_journal)
            && let Err(error) = kept.save("saved before it was served, as its journal was long".to_owned())
        {
            (shared.tell)(&format!("{error}; its journal grows on"));
        }
        let journal = if config.durability == Durability::None { None } else { shelf.journal()? };
        if config.keep_journal
            && let Some(kept) = shelf.kept()
        {
            kept.let_journal_stay()?;
        }
        let (real, pool) = (shared.real, shared.pool.clone());
        let mut engine = Engine::new(shelf, config.speed, part, real.now(), pool).with_journal(journal);
        let about = page::About { name: name.clone(), uri: note.uri.clone(), durability: config.durability.name() };
        let mut show = Show::new(about, real);
        let (hub, export) = (show.hub(), export(&engine, &name, *is_default));
        show.keep(&mut engine, 0, None);
        let (mut saving, mut journaled) = (None, None);
        if let Some(folder) = folder.clone().filter(|_| config.durability != Durability::None) {
            saving = (!config.keep_journal).then(|| Checkpointer::new(config.checkpointer.clone(), folder.clone()));
            journaled = Some(folder);
        }
        Ok(Self {
            engine,
            name,
            outlet: Arc::new(Outlet::new(note.uri.clone(), folder, hub, export)),
            note,
            noted,
            log,
            real,
            spin: config.spin,
            stop: Arc::clone(stop),
            shared: Arc::clone(shared),
            measures: Measures::new(),
            show,
            durability: config.durability,
            keeps_journal: config.keep_journal,
            folder: journaled,
            saving,
            wait_for_save: Vec::new(),
            unsynced: VecDeque::new(),
            syncer: None,
            failure: None,
            withdraws: Vec::new(),
            quiet: VecDeque::new(),
            answers: Vec::new(),
            answered: 0,
        })
    }

    /// How other threads reach it.
    pub(crate) fn outlet(&self) -> Arc<Outlet> {
        Arc::clone(&self.outlet)
    }

    /// Where it is served.
    pub(crate) fn note(&self) -> Note {
        self.note.clone()
    }

    /// Serves it until it is to end, and saves it. A bug that it meets ends it alone.
    ///
    /// # Errors
    /// It could not be served to the end, or not be saved.
    pub(crate) fn live(self) -> Result<Served, ServeError> {
        let (name, outlet, shared) = (self.name.clone(), self.outlet(), Arc::clone(&self.shared));
        let left = match (self.engine.has_journal(), self.outlet.folder.is_some()) {
            (true, _) => "what was acknowledged is in its journal, and is there when it is served again",
            (false, true) => "what was done to it since its last save is lost",
            (false, false) => "it was kept nowhere, and is lost",
        };
        // What it leaves behind is not touched any more, but for what others hold of it.
        catch_unwind(AssertUnwindSafe(|| self.live_on())).unwrap_or_else(|_| {
            shared.outlets.remove(&outlet);
            outlet.hub.tell_withdrawn();
            outlet.close();
            Err(ServeError::Bug(name, left))
        })
    }

    fn live_on(mut self) -> Result<Served, ServeError> {
        self.run();
        self.end();
        let cut_off = self.outlet.client_count();
        if !self.withdraws.is_empty() {
            self.outlet.hub.tell_withdrawn();
        }
        self.shared.outlets.remove(&self.outlet);
        self.outlet.close();
        drop(self.noted.take());
        let withdraws = std::mem::take(&mut self.withdraws);
        let (name, is_saved) = (self.name.clone(), self.outlet.folder.is_some() && !self.keeps_journal);
        let (is_withdrawn, is_failed) = (!withdraws.is_empty(), self.failure.is_some());
        let kept = if self.engine.has_journal() { ", and what was done to it is in its journal" } else { "" };
        let shared = Arc::clone(&self.shared);
        let ended = match self.failure.take() {
            Some(failure @ Failure::Damaged(_)) => Err(ServeError::Damaged(self.name, failure)),
            Some(failure) => Err(ServeError::Journal(self.name, failure)),
            None => self.close(),
        };
        for waits in withdraws {
            let told = match &ended {
                Ok(served) => Ok(json!({
                    "withdrawn": name, "saved": is_saved, "requests": served.requests, "clients": cut_off,
                })),
                Err(error) => Err(format!("{error}; {name} is served no longer{kept}")),
            };
            let _ = waits.send(told);
        }
        match ended {
            // Who wanted it to be served no longer was told, and nothing is lost: the server goes on, and does not end with this error.
            Err(error) if is_withdrawn && !is_failed && !kept.is_empty() => {
                (shared.tell)(&format!("{error}; {name} is served no longer{kept}"));
                Ok(Served { name, is_kept: false, requests: 0, refused_for_memory: 0, log_failed: None })
            }
            ended => ended,
        }
    }

    /// Takes requests and answers them, until it is to end.
    fn run(&mut self) {
        wake_exactly();
        let (mut mail, mut haste) = (Vec::new(), Haste::default());
        while !self.outlet.stop.load(Ordering::Relaxed) {
            let now = self.real.now();
            let wait = match self.engine.due() {
                Due::Now => (now, Nanos::ZERO),
                Due::At(due) if due.0 < now.0 + LOOK.0 => (due, self.spin),
                Due::At(_) | Due::Never => (Nanos(now.0 + LOOK.0), Nanos::ZERO),
            };
            self.outlet.inbox.take(&mut mail, self.real, wait, &mut haste);
            let begun = self.real.now();
            for mail in mail.drain(..) {
                match mail {
                    Mail::Asked(asked) => {
                        let real = self.real.now();
                        asked.into_iter().for_each(|asked| self.engine.take(asked, real));
                    }
                    Mail::Order(order) => self.order(order),
                    Mail::Synced => self.sync(),
                    #[cfg(test)]
                    Mail::Panic => panic!("a test wants it"),
                    Mail::Look(to) if to.is_closed() => {}
                    Mail::Look(to) => {
                        let _ = to.send(self.show.snapshot(&mut self.engine, self.outlet.client_count()));
                    }
                }
            }
            self.go_on();
            self.show.look(&mut self.engine);
            if let Some(saving) = &mut self.saving {
                saving.worked(Nanos(self.real.now().0 - begun.0));
            }
        }
    }

    fn order(&mut self, order: Order) {
        let beside = self.saving.as_ref().is_some_and(Checkpointer::has_program);
        match order.asks {
            Asks::Stop => {
                self.outlet.stop.store(true, Ordering::Relaxed);
                self.stop.store(true, Ordering::Relaxed);
                let _ = order.answer.send(Ok(json!({})));
            }
            Asks::Withdraw => {
                self.outlet.stop.store(true, Ordering::Relaxed);
                let at = self.engine.now(self.real.now());
                self.engine.watcher.tell(at, "withdrawn", json!({}));
                self.withdraws.push(order.answer);
            }
            Asks::Checkpoint | Asks::Save if self.keeps_journal => {
                let sentence =
                    "the server keeps its journal (--keep-journal), which a save would end; a fork can be saved";
                let _ = order.answer.send(Err(sentence.to_owned()));
            }
            Asks::Checkpoint if beside && !self.engine.shelf.device().is_off() => {
                self.wait_for_save.push(order.answer);
                self.begin_save();
            }
            _ if order.asks.needs_quiet() => self.quiet.push_back(order),
            _ => self.carry_out(order),
        }
    }

    /// One round: what is due is answered, and orders that wait for quiet are carried out when it is there.
    fn go_on(&mut self) {
        let mut answers = std::mem::take(&mut self.answers);
        self.engine.go_on(self.real.now(), &mut answers);
        self.send(&mut answers);
        self.answers = answers;
        self.look_after_save();
        let saves_itself = self.saves_itself();
        let is_held = !self.quiet.is_empty() || saves_itself || self.waits_for_save();
        self.engine.hold(is_held);
        if let Some(log) = self.log.as_mut().filter(|_| self.engine.due() == Due::Never) {
            log.flush();
        }
        if self.engine.is_idle()
            && let Some(order) = self.quiet.pop_front()
        {
            self.carry_out(order);
            self.engine.hold(!self.quiet.is_empty());
        }
        if self.engine.is_idle() && self.saves_itself() {
            let saved = self.engine.save("served, and saved as its journal was long".to_owned());
            if let Some(saving) = &mut self.saving {
                saving.begun_anew();
                if saved.is_ok() { saving.saved() } else { saving.failed() }
            }
            if let Err(error) = saved {
                (self.shared.tell)(&format!("{error}; its journal grows on"));
            }
            self.engine.follow_drive(self.real.now());
            self.engine.hold(!self.quiet.is_empty());
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        // Others go on: theirs may be another disk, and if not, they fail as well.
        self.outlet.stop.store(true, Ordering::Relaxed);
    }

    /// Makes what was done survive what it is to survive. Returns whether anybody may hear of it.
    fn commit(&mut self, asks_for_disk: bool) -> bool {
        let on_disk = asks_for_disk && self.durability == Durability::Host;
        if self.failure.is_none()
            && let Err(failure) = self.engine.commit(on_disk)
        {
            self.fail(failure);
        }
        self.failure.is_none()
    }

    fn carry_out(&mut self, order: Order) {
        let Order { asks, answer } = order;
        if answer.is_closed() && asks.needs_quiet() {
            // It waited, and who asked has left.
            return;
        }
        if asks.needs_quiet() {
            self.stop_save();
        }
        let doing = asks.doing();
        if doing.is_some() {
            self.keep_shown(doing);
        }
        let (busy, is_stopped) = (&self.outlet.busy, Arc::clone(&self.outlet.stop));
        let mut desk = Desk {
            facts: self.facts(),
            engine: &mut self.engine,
            measures: &mut self.measures,
            real: self.real.now(),
            folder: self.folder.as_deref(),
            stop: &is_stopped,
            meanwhile: &mut |doing| {
                busy.tell(doing);
                !answer.is_closed() && !busy.is_cancelled()
            },
        };
        let told = control::carry_out(asks, &mut desk);
        busy.end();
        self.show.go_on();
        if self.commit(true) {
            let _ = answer.send(told);
            self.sync();
        }
        let is_default = self.outlet.export().is_default;
        self.outlet.tell(export(&self.engine, &self.name, is_default));
    }

    /// Sends answers, those of a client together, and notes what they took.
    fn send(&mut self, answers: &mut Vec<Answer>) {
        if answers.is_empty() {
            return;
        }
        if !self.commit(false) {
            return answers.clear();
        }
        if self.durability == Durability::Host {
            let records = self.engine.records();
            let asks_for_disk =
                |answer: &mut Answer| answer.asked.frame.fua || answer.asked.frame.action == Action::Flush;
            self.unsynced.extend(answers.extract_if(.., asks_for_disk).map(|answer| (records, answer)));
            self.sync();
        }
        self.reply(answers);
    }

    /// Sends the answers for which the disk has what they need, and has what others need synced by another thread.
    fn sync(&mut self) {
        if self.unsynced.is_empty() || self.failure.is_some() {
            return;
        }
        let synced = match self.engine.synced() {
            Ok(synced) => synced,
            Err(failure) => return self.fail(failure),
        };
        let ready = self.unsynced.iter().take_while(|(records, _)| *records <= synced).count();
        let mut answers: Vec<Answer> = self.unsynced.drain(..ready).map(|(_, answer)| answer).collect();
        self.reply(&mut answers);
        if self.unsynced.is_empty() {
            return;
        }
        let syncing = match self.engine.sync_later() {
            Ok(Some(syncing)) => syncing,
            Ok(None) => return,
            Err(failure) => return self.fail(failure),
        };
        if self.syncer.is_none() {
            self.syncer = Syncer::new(Arc::clone(&self.outlet.inbox)).ok();
        }
        match &self.syncer {
            Some(syncer) => syncer.make(syncing),
            // Without a thread for it, the drive waits.
            None => {
                syncing.run();
                self.outlet.inbox.leave(Mail::Synced);
            }
        }
    }

    /// Sends answers that nothing holds back.
    fn reply(&mut self, answers: &mut Vec<Answer>) {
        let mut rows = Vec::with_capacity(answers.len());
        let mut left = answers.drain(..).peekable();
        while let Some(first) = left.next() {
            let client = Arc::clone(&first.asked.client);
            let (mut out, mut weight) = (Out::default(), 0);
            let mut next = Some(first);
            while let Some(answer) = next {
                weight += Client::weight(&answer.asked.frame);
                rows.push(Sent::of(&answer));
                answer.reply.write(answer.asked.frame.cookie, client.is_structured(), &mut out);
                next = left.next_if(|next| Arc::ptr_eq(&next.asked.client, &client));
            }
            client.answer(&mut out, weight);
        }
        drop(left);
        let told = self.real.now();
        self.answered += rows.len() as u64;
        for row in rows {
            let lag = self.engine.real(row.modelled).map(|due| Nanos(told.0.saturating_sub(due.0)));
            let (kind, latency) = (row.kind, row.modelled.saturating_since(row.submitted));
            // What failed took no time of the flash, or not all.
            if let Some(measured) = kind.measured().filter(|_| row.is_fine) {
                self.measures.note(measured, latency, lag);
            }
            self.show.note(&Done { kind, is_fine: row.is_fine, bytes: row.bytes, latency, lag });
            if let Some(log) = &mut self.log {
                log.note(&row.line(lag));
            }
        }
    }

    /// Keeps what is shown while this thread does something that takes long.
    fn keep_shown(&mut self, doing: Option<&'static str>) {
        self.show.keep(&mut self.engine, self.outlet.client_count(), doing);
    }

    /// Facts of its server, to which those of the drive are added.
    fn facts(&self) -> Value {
        let Note { pid, uri, page, .. } = &self.note;
        json!({
            "drive": self.name, "pid": pid, "uri": uri, "page": page, "clients": self.outlet.client_count(),
            "answered": self.answered, "protocol_violations": self.shared.violations.load(Ordering::Relaxed),
        })
    }

    /// Answers what is under way, and lets the clients go.
    fn end(&mut self) {
        let until = self.real.now().saturating_add(END);
        let (mut mail, mut haste) = (Vec::new(), Haste::default());
        self.engine.hold(false);
        while self.failure.is_none() && !self.engine.is_idle() && self.real.now() < until {
            let due = match self.engine.due() {
                Due::Now => self.real.now(),
                Due::At(due) => due.min(until),
                Due::Never => break,
            };
            self.outlet.inbox.take(&mut mail, self.real, (due, Nanos::ZERO), &mut haste);
            // Who asks now is not answered.
            mail.clear();
            let mut answers = std::mem::take(&mut self.answers);
            self.engine.go_on(self.real.now(), &mut answers);
            self.send(&mut answers);
            self.answers = answers;
        }
        self.engine.hold(false);
        if !self.unsynced.is_empty() && self.commit(true) {
            self.sync();
        }
        self.stop_save();
    }

    /// Saves the drive at the end. What its clients wrote is nowhere else, so it is tried for a while.
    fn save(&mut self) -> Result<(), ServeError> {
        let done = self.engine.done_live.iter().map(|done| format!("; {done}")).collect::<String>();
        let note = format!("served {} requests{done}", self.answered);
        if self.keeps_journal {
            self.engine.act(&Act::Flush)?;
            self.engine.act(&Act::Note(note))?;
            self.engine.commit(true).map_err(|failure| ServeError::Journal(self.name.clone(), failure))?;
            self.engine.note_end();
            return Ok(());
        }
        let journal = self.engine.end_journal();
        let shelf = &mut self.engine.shelf;
        shelf.flush()?;
        for attempt in 0..SAVES {
            let Err(error) = shelf.save(note.clone()) else { return Ok(()) };
            if journal.is_some() {
                // All is in the journal.
                return Err(error);
            }
            if attempt == 0 {
                (self.shared.tell)(&format!(
                    "{error}; that is tried again for {SAVES} s, and then what its clients wrote is lost"
                ));
            }
            std::thread::sleep(SAVE_PAUSE);
        }
        shelf.save(note)
    }

    /// Saves the drive, and says what was done.
    fn close(mut self) -> Result<Served, ServeError> {
        let real = self.real.now();
        self.engine.rest_until(real);
        if self.engine.shelf.device().is_off() {
            let at = self.engine.now(real);
            self.engine.give_power(at).map_err(|error| ServeError::System(self.name.clone(), error.to_string()))?;
        }
        let served = Served {
            name: self.outlet.folder.as_deref().map_or_else(|| self.name.clone(), wane_units::excerpt_path),
            is_kept: true,
            requests: self.answered,
            refused_for_memory: self.engine.refused_for_memory,
            log_failed: self.log.as_mut().and_then(Log::end),
        };
        let lacking = self.engine.shelf.bytes_lacking();
        if lacking > 0 {
            (self.shared.tell)(&format!(
                "{}: drives of it lack {} of copies, which nothing copies on the shelf; `wane drive put-back` of a drive does",
                served.name,
                Bytes(lacking)
            ));
        }
        self.save()?;
        Ok(served)
    }
}

/// How often a drive that cannot be saved at the end is tried again, and with what pause.
const SAVES: u32 = 60;
const SAVE_PAUSE: Duration = Duration::from_secs(1);

/// What clients are told.
fn export(engine: &Engine, name: &str, is_default: bool) -> Export {
    let drive = engine.shelf.device();
    let scenario = engine.shelf.scenario();
    let kind = match scenario.array.as_ref().map(|array| (array.settings.layout.name(), array.members.len())) {
        Some((layout, count)) => format!("{layout} of {count} drives"),
        None if scenario.preset.is_empty() => "drive".to_owned(),
        None => scenario.preset.clone(),
    };
    let preferred = u32::try_from(drive.features().atomic_unit.0 * SECTOR).unwrap_or(1 << 16).next_power_of_two();
    Export {
        name: name.to_owned(),
        is_default,
        description: format!("wane: a simulated {kind}"),
        size: drive.capacity().0 * SECTOR,
        is_read_only: engine.is_read_only(),
        block: Block {
            least: (drive.features().sector.0 * SECTOR) as u32,
            preferred: preferred.clamp(4096, TRANSFER_MAX),
            most: TRANSFER_MAX,
        },
    }
}

/// What is noted of an answer after it was sent.
struct Sent {
    request: u64,
    client: u64,
    kind: Kind,
    is_fine: bool,
    offset: u64,
    bytes: u32,
    submitted: wane_units::SimTime,
    modelled: wane_units::SimTime,
    status: &'static str,
}

impl Sent {
    fn of(answer: &Answer) -> Self {
        let Asked { client, frame, .. } = &answer.asked;
        let errno = answer.reply.errno();
        Self {
            request: answer.number,
            client: client.number,
            kind: Kind::of(frame.action),
            is_fine: errno.is_none(),
            offset: frame.offset,
            bytes: frame.length,
            submitted: answer.submitted,
            modelled: answer.modelled,
            status: errno.map_or("ok", wane_nbd::Errno::name),
        }
    }

    const fn line(&self, lag: Option<Nanos>) -> Row<'_> {
        Row {
            request: self.request,
            client: self.client,
            kind: self.kind.name(),
            offset: self.offset,
            bytes: self.bytes,
            submitted: self.submitted,
            modelled: self.modelled,
            lag,
            status: self.status,
        }
    }
}
