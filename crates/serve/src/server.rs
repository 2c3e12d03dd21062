//! The server: its threads, and the loop of the one that owns the drive.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use wane_blockdev::BlockDevice;
use wane_lab::held::{Act, Held};
use wane_lab::kept::Kept;
use wane_nbd::{Action, Block, Export, Out, TRANSFER_MAX};
use wane_units::{Bytes, Nanos};

use crate::checkpoint::Checkpointer;
use crate::client::{Asked, Client, Socket};
use crate::connection::{self, Shared};
use crate::control::{self, Asks, Busy, Desk, Order};
use crate::durability::Durability;
use crate::engine::{Answer, Due, Engine, Failure, SECTOR};
use crate::inbox::{Inbox, Mail};
use crate::log::{Log, Row};
use crate::measure::Measures;
use crate::outlets::{Outlet, Outlets};
use crate::page;
use crate::place::{Note, Place};
use crate::pool::Pool;
use crate::real::{RealTime, wake_exactly};
use crate::shelf::Shelf;
use crate::show::Show;
use crate::syncer::Syncer;
use crate::tally::{Done, Kind};
use crate::{ServeError, Speed};

mod saving;

/// Most clients at a time.
const CLIENTS_MAX: usize = 64;

/// Between two looks at the flag that ends the server.
const LOOK: Nanos = Nanos(Nanos::SECOND.0 / 20);

/// How long requests under way have at the end.
const END: Nanos = Nanos(5 * Nanos::SECOND.0);

/// The drive to serve.
pub enum What {
    /// One that is kept, at its path.
    Kept(Box<Kept>, PathBuf),
    /// One that is gone afterwards, under this name.
    Scratch(Box<Held>, String),
}

/// How a drive is served.
pub struct ServeConfig {
    /// How fast its time runs.
    pub speed: Speed,
    /// Time before a deadline in which the drive's thread does not sleep, so as not to miss it.
    pub spin: Nanos,
    /// Bytes that the drive may keep in memory.
    pub memory: Bytes,
    /// Where its sockets lie; `None`: in a new directory below that of temporary files.
    pub directory: Option<PathBuf>,
    /// Where it listens besides.
    pub address: Option<SocketAddr>,
    /// Where it shows its page.
    pub page: Option<SocketAddr>,
    /// Where each request gets a line.
    pub log: Option<PathBuf>,
    /// What an acknowledgment survives, of a drive that is kept.
    pub durability: Durability,
    /// The drive is not saved, and all that is done to it stays in its journal, so that it can be replayed.
    pub keep_journal: bool,
    /// The command that saves a drive beside the server ([`crate::checkpoint()`]); without one the server saves it, while its clients wait.
    pub checkpointer: Option<PathBuf>,
}

/// What a server did.
#[derive(Clone, Debug)]
pub struct Served {
    /// Requests that were answered.
    pub requests: u64,
    /// Connections that broke the protocol.
    pub violations: u64,
    /// Writes that were refused for want of memory.
    pub refused_for_memory: u64,
    /// Why the log is not whole.
    pub log_failed: Option<String>,
}

/// Serves a drive until `stop` is true. `began` is told once clients can come, and `tell` what goes wrong, in a sentence each. A kept drive is
/// saved at the end.
///
/// # Errors
/// The drive cannot be served, or not be saved.
pub fn serve(
    what: What,
    config: &ServeConfig,
    stop: &Arc<AtomicBool>,
    began: impl FnOnce(&Note),
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Served, ServeError> {
    let (mut shelf, name, folder) = match what {
        What::Kept(kept, path) => {
            let name = path.file_stem().map_or_else(|| "drive".to_owned(), |name| name.to_string_lossy().into_owned());
            (Shelf::Kept(kept), name, Some(path))
        }
        What::Scratch(held, name) => (Shelf::Scratch(held), name, None),
    };
    shelf.keep_bytes()?;
    let kept = Bytes(shelf.drive().payload_memory());
    if kept > config.memory {
        return Err(ServeError::Memory(kept, config.memory));
    }
    let log = config.log.as_deref().map(Log::create).transpose()?;
    let noted = folder.as_deref().map(|folder| (folder, config.durability == Durability::None));
    let mut place = Place::new(config.directory.as_deref(), config.address, config.page, noted)?;
    let journal = if config.durability == Durability::None { None } else { shelf.journal()? };
    if config.keep_journal
        && let Some(kept) = shelf.kept()
    {
        kept.let_journal_stay()?;
    }
    let real = RealTime::begin();
    let engine = Engine::new(shelf, config.speed, config.memory.0, real.now(), Pool::default()).with_journal(journal);
    let about = page::About { name, uri: place.note.uri.clone(), durability: config.durability.name() };
    let mut server = Server::new(engine, about, place.note.clone(), log, real, config.spin, Arc::clone(stop));
    (server.durability, server.keeps_journal) = (config.durability, config.keep_journal);
    if let Some(folder) = folder.filter(|_| config.durability != Durability::None) {
        server.saving = (!config.keep_journal).then(|| Checkpointer::new(config.checkpointer.clone(), folder.clone()));
        server.folder = Some(folder);
    }
    let threads = server.open_doors(&mut place, tell)?;
    began(&place.note);
    server.run();
    server.end();
    threads.end();
    drop(place);
    match server.failure.take() {
        Some(failure @ Failure::Damaged(_)) => Err(ServeError::Damaged(server.name, failure)),
        Some(failure) => Err(ServeError::Journal(server.name, failure)),
        None => server.close(),
    }
}

/// See the head of this file.
struct Server {
    engine: Engine,
    name: String,
    note: Note,
    log: Option<Log>,
    real: RealTime,
    spin: Nanos,
    stop: Arc<AtomicBool>,
    inbox: Arc<Inbox>,
    shared: Option<Arc<Shared>>,
    /// What is told to new clients.
    export: Arc<Mutex<Export>>,
    clients: Arc<Mutex<Vec<Arc<Client>>>>,
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
    busy: Arc<Busy>,
    /// Orders that wait until nothing is under way.
    quiet: VecDeque<Order>,
    answers: Vec<Answer>,
    answered: u64,
}

/// The threads besides that of the drive.
struct Threads {
    /// Those of control and of the page end when these are dropped.
    ends: Vec<oneshot::Sender<()>>,
    is_over: Arc<AtomicBool>,
    joined: Vec<std::thread::JoinHandle<()>>,
}

impl Threads {
    fn end(self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(self.ends);
        for thread in self.joined {
            let _ = thread.join();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "threads that wait for sockets; no result depends on when they run")]
pub(crate) fn start(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, ServeError> {
    let named = std::thread::Builder::new().name(name.to_owned());
    named.spawn(work).map_err(|error| ServeError::System("a thread".to_owned(), error.to_string()))
}

impl Server {
    fn new(
        engine: Engine,
        about: page::About,
        note: Note,
        log: Option<Log>,
        real: RealTime,
        spin: Nanos,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let export = Arc::new(Mutex::new(export(&engine, &about.name)));
        Self {
            engine,
            name: about.name.clone(),
            note,
            log,
            real,
            spin,
            stop,
            inbox: Arc::default(),
            shared: None,
            export,
            clients: Arc::default(),
            measures: Measures::new(),
            show: Show::new(about, real),
            durability: Durability::None,
            keeps_journal: false,
            folder: None,
            saving: None,
            wait_for_save: Vec::new(),
            unsynced: VecDeque::new(),
            syncer: None,
            failure: None,
            busy: Arc::default(),
            quiet: VecDeque::new(),
            answers: Vec::new(),
            answered: 0,
        }
    }

    /// Starts the threads that let clients and control in.
    fn open_doors(
        &mut self,
        place: &mut Place,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Threads, ServeError> {
        let export = Arc::clone(&self.export);
        let shared = Arc::new(Shared {
            inbox: Arc::clone(&self.inbox),
            real: self.real,
            pool: self.engine.pool(),
            export: Box::new(move || export.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            violations: AtomicU64::new(0),
            tell: Box::new(tell),
        });
        self.shared = Some(Arc::clone(&shared));
        self.keep_shown(None);
        let outlets = Outlets::default();
        let (inbox, busy) = (Arc::clone(&self.inbox), Arc::clone(&self.busy));
        outlets.add(Outlet { name: self.name.clone(), inbox, busy, hub: self.show.hub() });
        let is_over = Arc::new(AtomicBool::new(false));
        let (mut ends, mut joined) = (Vec::new(), Vec::new());
        let refused = |error: std::io::Error| ServeError::System("a socket".to_owned(), error.to_string());
        if let Some(listener) = place.control.take() {
            let (told, outlets) = (Arc::clone(&shared), outlets.clone());
            let (to_end, end) = oneshot::channel();
            ends.push(to_end);
            joined.push(start("wane-control", move || {
                if let Err(error) = control::serve(listener, outlets, end) {
                    (told.tell)(&format!("control ends: {error}"));
                }
            })?);
        }
        if let Some((listener, address)) = place.page.take() {
            let (told, site) = (Arc::clone(&shared), page::Site::new(address, outlets, self.real));
            let (to_end, end) = oneshot::channel();
            ends.push(to_end);
            joined.push(start("wane-page", move || {
                if let Err(error) = page::serve(listener, site, end) {
                    (told.tell)(&format!("the page ends: {error}"));
                }
            })?);
        }
        let unix = place.listener.try_clone().map_err(refused)?;
        unix.set_nonblocking(true).map_err(refused)?;
        let tcp = place.tcp.take();
        tcp.as_ref().map(|tcp| tcp.set_nonblocking(true)).transpose().map_err(refused)?;
        let (clients, over) = (Arc::clone(&self.clients), Arc::clone(&is_over));
        joined.push(start("wane-door", move || {
            let mut door = Door { unix, tcp, clients, shared, numbered: 0 };
            while !over.load(Ordering::SeqCst) {
                door.look();
            }
        })?);
        Ok(Threads { ends, is_over, joined })
    }

    /// Takes requests and answers them, until it is to end.
    fn run(&mut self) {
        wake_exactly();
        let mut mail = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let now = self.real.now();
            let (until, spin) = match self.engine.due() {
                Due::Now => (now, Nanos::ZERO),
                Due::At(due) if due.0 < now.0 + LOOK.0 => (due, self.spin),
                Due::At(_) | Due::Never => (Nanos(now.0 + LOOK.0), Nanos::ZERO),
            };
            self.inbox.take(&mut mail, self.real, until, spin);
            let begun = self.real.now();
            for mail in mail.drain(..) {
                match mail {
                    Mail::Asked(asked) => {
                        let real = self.real.now();
                        asked.into_iter().for_each(|asked| self.engine.take(asked, real));
                    }
                    Mail::Order(order) => self.order(order),
                    Mail::Synced => self.sync(),
                    Mail::Look(to) if to.is_closed() => {}
                    Mail::Look(to) => {
                        let (clients, violations) = (self.client_count(), self.violations());
                        let _ = to.send(self.show.snapshot(&mut self.engine, clients, violations));
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
            Asks::Checkpoint | Asks::Save if self.keeps_journal => {
                let sentence =
                    "the server keeps its journal (--keep-journal), which a save would end; a fork can be saved";
                let _ = order.answer.send(Err(sentence.to_owned()));
            }
            Asks::Checkpoint if beside && !self.engine.shelf.drive().is_off() => {
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
                self.tell(&format!("{error}; its journal grows on"));
            }
            self.engine.follow_drive(self.real.now());
            self.engine.hold(!self.quiet.is_empty());
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        self.stop.store(true, Ordering::Relaxed);
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
        let busy = &self.busy;
        let mut desk = Desk {
            facts: facts(&self.name, &self.note, self.answered, self.violations(), self.client_count()),
            engine: &mut self.engine,
            measures: &mut self.measures,
            real: self.real.now(),
            folder: self.folder.as_deref(),
            stop: &self.stop,
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
        *self.export.lock().unwrap_or_else(PoisonError::into_inner) = export(&self.engine, &self.name);
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
            self.syncer = Syncer::new(Arc::clone(&self.inbox)).ok();
        }
        match &self.syncer {
            Some(syncer) => syncer.make(syncing),
            // Without a thread for it, the drive waits.
            None => {
                syncing.run();
                self.inbox.leave(Mail::Synced);
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
        let (clients, violations) = (self.client_count(), self.violations());
        self.show.keep(&mut self.engine, clients, violations, doing);
    }

    fn violations(&self) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.violations.load(Ordering::Relaxed))
    }

    fn client_count(&self) -> usize {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|client| !client.is_gone());
        clients.len()
    }

    /// Answers what is under way, and lets the clients go.
    fn end(&mut self) {
        let until = self.real.now().saturating_add(END);
        let mut mail = Vec::new();
        self.engine.hold(false);
        while self.failure.is_none() && !self.engine.is_idle() && self.real.now() < until {
            let due = match self.engine.due() {
                Due::Now => self.real.now(),
                Due::At(due) => due.min(until),
                Due::Never => break,
            };
            self.inbox.take(&mut mail, self.real, due, Nanos::ZERO);
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
        for client in self.clients.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            client.leave();
            client.socket.end();
        }
    }

    /// Saves the drive at the end. What its clients wrote is nowhere else, so it is tried for a while.
    fn save(&mut self) -> Result<(), ServeError> {
        let done = self.engine.done_live.iter().map(|done| format!("; {done}")).collect::<String>();
        let note = format!("served {} requests{done}", self.answered);
        if self.keeps_journal {
            self.engine.act(&Act::Flush)?;
            self.engine.act(&Act::Note(note))?;
            return self.engine.commit(true).map_err(|failure| ServeError::Journal(self.name.clone(), failure));
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
            if attempt == 0
                && let Some(shared) = &self.shared
            {
                (shared.tell)(&format!(
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
        if self.engine.shelf.drive().is_off() {
            let at = self.engine.now(real);
            self.engine.give_power(at).map_err(|error| ServeError::System(self.name.clone(), error.to_string()))?;
        }
        let served = Served {
            requests: self.answered,
            violations: self.violations(),
            refused_for_memory: self.engine.refused_for_memory,
            log_failed: self.log.as_mut().and_then(Log::end),
        };
        self.save()?;
        Ok(served)
    }
}

/// How often a drive that cannot be saved at the end is tried again, and with what pause.
const SAVES: u32 = 60;
const SAVE_PAUSE: Duration = Duration::from_secs(1);

/// What clients are told.
fn export(engine: &Engine, name: &str) -> Export {
    let drive = engine.shelf.drive();
    let scenario = engine.shelf.scenario();
    let preferred = u32::try_from(drive.features().atomic_unit.0 * SECTOR).unwrap_or(1 << 16).next_power_of_two();
    Export {
        name: name.to_owned(),
        description: format!(
            "wane: a simulated {}",
            if scenario.preset.is_empty() { "drive" } else { &scenario.preset }
        ),
        size: drive.capacity().0 * SECTOR,
        is_read_only: engine.is_read_only(),
        block: Block {
            least: (drive.features().sector.0 * SECTOR) as u32,
            preferred: preferred.clamp(4096, TRANSFER_MAX),
            most: TRANSFER_MAX,
        },
    }
}

fn facts(name: &str, note: &Note, answered: u64, violations: u64, clients: usize) -> Value {
    json!({
        "drive": name, "pid": note.pid, "uri": note.uri, "page": note.page, "clients": clients, "answered": answered,
        "protocol_violations": violations,
    })
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

/// Lets clients in.
struct Door {
    unix: std::os::unix::net::UnixListener,
    tcp: Option<std::net::TcpListener>,
    clients: Arc<Mutex<Vec<Arc<Client>>>>,
    shared: Arc<Shared>,
    numbered: u64,
}

impl Door {
    /// Waits a little for clients, and lets in who comes.
    fn look(&mut self) {
        let mut doors = vec![PollFd::new(&self.unix, PollFlags::IN)];
        doors.extend(self.tcp.as_ref().map(|tcp| PollFd::new(tcp, PollFlags::IN)));
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.0 as _ };
        if poll(&mut doors, Some(&wait)).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).retain(|client| !client.is_gone());
        while let Ok((stream, _)) = self.unix.accept() {
            self.admit(Socket::Unix(stream));
        }
        while let Some(Ok((stream, _))) = self.tcp.as_ref().map(std::net::TcpListener::accept) {
            self.admit(Socket::Tcp(stream));
        }
    }

    fn admit(&mut self, socket: Socket) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|client| !client.is_gone());
        if clients.len() >= CLIENTS_MAX {
            (self.shared.tell)(&format!("a client is turned away: {CLIENTS_MAX} are served at a time"));
            return socket.end();
        }
        self.numbered += 1;
        let Ok(client) = socket.prepare().and_then(|()| Client::new(self.numbered, socket, self.shared.pool.clone()))
        else {
            return;
        };
        let client = Arc::new(client);
        let (served, shared) = (Arc::clone(&client), Arc::clone(&self.shared));
        if start("wane-client", move || connection::serve(&served, &shared)).is_ok() {
            clients.push(client);
        }
    }
}
