//! The server: the drives that it serves, each in a thread of its own, and the threads that let clients, control and browsers in.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use tokio::sync::oneshot;
use wane_folder::Holder;
use wane_lab::held::Held;
use wane_lab::kept::{Kept, KeptError, check_whole};
use wane_scenario::Scenario;
use wane_shelf::ShelfError;
use wane_units::{Bytes, Nanos, excerpt_path};

use crate::connection::Shared;
use crate::door::Door;
use crate::durability::Durability;
use crate::live::{Live, Setting};
use crate::memory::Memory;
use crate::place::{Note, Place};
use crate::threads::start;
use crate::{ServeError, Speed, control, page};

/// Most drives of a server.
const DRIVES_MAX: usize = 64;

/// Between two looks at whether the server is to end.
const LOOK: Duration = Duration::from_millis(50);

/// A drive to serve.
pub enum What {
    /// One that is kept, at its path.
    Kept(Box<Kept>, PathBuf),
    /// One that is gone afterwards, under this name.
    Scratch(Box<Held>, String),
}

impl What {
    /// The name under which it is served: of a kept drive that of its folder, without an ending.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Kept(_, path) => name_of(path),
            Self::Scratch(_, name) => name.clone(),
        }
    }
}

fn name_of(path: &Path) -> String {
    path.file_stem().map_or_else(|| "drive".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// How drives are served.
#[derive(Clone, Debug)]
pub struct ServeConfig {
    /// How fast their time runs.
    pub speed: Speed,
    /// Time before a deadline in which a drive's thread does not sleep, so as not to miss it.
    pub spin: Nanos,
    /// Bytes that the drives may keep in memory together.
    pub memory: Bytes,
    /// Where the sockets lie; `None`: in a new directory below that of temporary files.
    pub directory: Option<PathBuf>,
    /// Where the server listens besides.
    pub address: Option<SocketAddr>,
    /// Where it shows its page.
    pub page: Option<SocketAddr>,
    /// Where each request of the first drive gets a line; those of drives that come later get none.
    pub log: Option<PathBuf>,
    /// What an acknowledgment survives, of drives that are kept.
    pub durability: Durability,
    /// Drives are not saved, and all that is done to them stays in their journals, so that it can be replayed.
    pub keep_journal: bool,
    /// What a drive lacks to be served well, in sentences.
    pub lacks: fn(&Scenario) -> Vec<String>,
    /// The command that saves a drive beside the server ([`crate::checkpoint()`]); without one the server saves it, while its clients wait.
    pub checkpointer: Option<PathBuf>,
}

/// What was done with a drive.
#[derive(Clone, Debug)]
pub struct Served {
    /// Where it is kept, or its name, for people.
    pub name: String,
    /// Whether it was saved, or is to stay in its journal. If not, that was told.
    pub is_kept: bool,
    /// Requests that were answered.
    pub requests: u64,
    /// Writes that were refused for want of memory.
    pub refused_for_memory: u64,
    /// Why the log is not whole.
    pub log_failed: Option<String>,
}

/// What a server did.
#[derive(Debug, Default)]
pub struct Session {
    /// Drives that were served to their end.
    pub served: Vec<Served>,
    /// Why others were not, or were not saved. Each was told.
    pub failed: Vec<ServeError>,
}

/// How long a drive is waited for whose server was killed, where the system does not tell who has it: what that had begun ends with it, but not at
/// once.
const WAITS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(50);

/// Opens a kept drive that is to be served.
///
/// # Errors
/// It cannot be opened, or is served already.
pub fn open(path: &Path) -> Result<Kept, ServeError> {
    check_whole(path, "served")?;
    let mut left = WAITS;
    loop {
        let error = match Kept::open_late(path) {
            Ok(kept) => return Ok(kept),
            Err(error) => error,
        };
        let KeptError::Shelf(ShelfError::Busy(_, holder)) = &error else { return Err(error.into()) };
        let note = Note::of(path);
        let is_there = note.as_ref().is_some_and(|note| note.is_alive() != Some(false));
        match note {
            Some(note) if is_there && [Holder::Process(note.pid), Holder::Unknown].contains(holder) => {
                return Err(ServeError::Already(excerpt_path(path), note.pid, note.uri));
            }
            Some(_) if *holder == Holder::Unknown && left > 0 => {
                left -= 1;
                std::thread::sleep(PAUSE);
            }
            _ => return Err(error.into()),
        }
    }
}

/// Where a server listens, before it serves anything.
pub struct Doors(Place);

/// Listens where the server is to be found. Clients that come wait until it serves something.
///
/// # Errors
/// Another server listens there, others could come, or the system refuses.
pub fn listen(config: &ServeConfig) -> Result<Doors, ServeError> {
    Ok(Doors(Place::new(config.directory.as_deref(), config.address, config.page)?))
}

/// Serves drives until `stop` is true, or none is left. `began` is told where each is once clients can come, and `tell` what goes wrong, in a
/// sentence each. Kept drives are saved at the end. Clients that name no drive get the first. A drive that fails is served no longer; the others
/// are.
///
/// # Errors
/// A drive cannot be served, or nobody could come.
pub fn serve(
    Doors(mut place): Doors,
    drives: Vec<What>,
    config: &ServeConfig,
    stop: &Arc<AtomicBool>,
    began: impl FnOnce(&[Note]),
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Session, ServeError> {
    let is_only = drives.len() == 1;
    let crew = Arc::new(Crew {
        config: config.clone(),
        server: place.note.clone(),
        memory: Memory::new(config.memory.0),
        shared: Arc::new(Shared::new(Box::new(tell))),
        stop: Arc::clone(stop),
        main: std::thread::current(),
        threads: Mutex::default(),
    });
    let mut names: Vec<String> = drives.iter().map(What::name).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(ServeError::Named(pair[0].clone()));
    }
    let mut ready = Vec::new();
    for (number, what) in drives.into_iter().enumerate() {
        let live = crew.prepare(what, number == 0, is_only)?;
        crew.shared.outlets.add(live.outlet());
        ready.push(live);
    }
    let notes: Vec<Note> = ready.iter().map(Live::note).collect();
    let begun = ready
        .into_iter()
        .try_for_each(|live| crew.start(live, &mut crew.threads()))
        .and_then(|()| Threads::open(&crew, &mut place));
    if begun.is_ok() {
        began(&notes);
    } else {
        stop.store(true, Ordering::Relaxed);
    }
    let ended = crew.wait();
    begun?.end();
    drop(place);
    Ok(ended)
}

/// The drives of a server, and their threads.
pub(crate) struct Crew {
    config: ServeConfig,
    /// Where the server listens.
    server: Note,
    memory: Memory,
    pub(crate) shared: Arc<Shared>,
    /// Ends the server.
    stop: Arc<AtomicBool>,
    /// The thread that waits for the others.
    main: Thread,
    threads: Mutex<Vec<JoinHandle<Result<Served, ServeError>>>>,
}

impl Crew {
    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<Result<Served, ServeError>>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepare(&self, what: What, is_default: bool, is_only: bool) -> Result<Live, ServeError> {
        let (config, server, memory) = (&self.config, &self.server, &self.memory);
        let (shared, stop) = (&self.shared, &self.stop);
        Live::new(what, &Setting { config, server, memory, shared, stop, is_default, is_only })
    }

    /// Serves a drive that clients can find already.
    fn start(&self, live: Live, threads: &mut Vec<JoinHandle<Result<Served, ServeError>>>) -> Result<(), ServeError> {
        let (main, outlet) = (self.main.clone(), live.outlet());
        let thread = start("wane-drive", move || {
            let ended = live.live();
            main.unpark();
            ended
        });
        threads.push(thread.inspect_err(|_| self.shared.outlets.remove(&outlet))?);
        Ok(())
    }

    /// Whether the server is about to end.
    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Checks that no drive is served under the name that this one would have.
    ///
    /// # Errors
    /// One is.
    pub(crate) fn check_name(&self, path: &Path) -> Result<(), ServeError> {
        let name = name_of(path);
        match self.shared.outlets.of(Some(&name)) {
            Ok(other) if other.folder.as_deref() != Some(path) => Err(ServeError::Named(name)),
            _ => Ok(()),
        }
    }

    /// Serves one more kept drive. Returns where, and what it lacks.
    ///
    /// # Errors
    /// It cannot be served.
    pub(crate) fn take_in(&self, path: &Path) -> Result<(Note, Vec<String>), ServeError> {
        if self.shared.outlets.all().len() >= DRIVES_MAX {
            return Err(ServeError::Many(DRIVES_MAX));
        }
        self.check_name(path)?;
        let kept = open(path)?;
        let lacks = (self.config.lacks)(kept.scenario());
        if let Some(dropped) = kept.dropped() {
            (self.shared.tell)(&dropped);
        }
        let live = self.prepare(What::Kept(Box::new(kept), path.to_owned()), false, false)?;
        let note = live.note();
        // While this is locked, the server does not find that it serves nothing any more.
        let mut threads = self.threads();
        if self.is_over() {
            return Err(ServeError::Over);
        }
        if !self.shared.outlets.add(live.outlet()) {
            return Err(ServeError::Named(note.name.unwrap_or_default()));
        }
        self.start(live, &mut threads)?;
        Ok((note, lacks))
    }

    /// Waits until the server is to end, or serves nothing any more, and then until each drive is saved. Returns what was done.
    fn wait(&self) -> Session {
        let mut session = Session::default();
        loop {
            let mut threads = self.threads();
            if threads.is_empty() {
                // Nobody starts one any more.
                self.stop.store(true, Ordering::Relaxed);
                break;
            }
            let over: Vec<_> = threads.extract_if(.., |thread| thread.is_finished()).collect();
            drop(threads);
            if over.is_empty() {
                std::thread::park_timeout(LOOK);
            }
            for thread in over {
                match thread.join() {
                    Ok(Ok(drive)) => session.served.push(drive),
                    Ok(Err(error)) => {
                        (self.shared.tell)(&error.to_string());
                        session.failed.push(error);
                    }
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                self.shared.outlets.stop();
            }
        }
        session
    }
}

/// The threads besides those of drives.
struct Threads {
    /// Those of control and of the page end when these are dropped.
    ends: Vec<oneshot::Sender<()>>,
    is_over: Arc<AtomicBool>,
    joined: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts the threads that let clients, control and browsers in.
    fn open(crew: &Arc<Crew>, place: &mut Place) -> Result<Self, ServeError> {
        let mut threads = Self { ends: Vec::new(), is_over: Arc::default(), joined: Vec::new() };
        let shared = &crew.shared;
        if let Some(listener) = place.control.take() {
            let (crew, end) = (Arc::clone(crew), threads.end_of());
            threads.joined.push(start("wane-control", move || {
                if let Err(error) = control::serve(listener, Arc::clone(&crew), end) {
                    (crew.shared.tell)(&format!("control ends: {error}"));
                }
            })?);
        }
        if let Some((listener, address)) = place.page.take() {
            let (shared, end) = (Arc::clone(shared), threads.end_of());
            threads.joined.push(start("wane-page", move || {
                if let Err(error) = page::serve(listener, page::Site::new(address, Arc::clone(&shared)), end) {
                    (shared.tell)(&format!("the page ends: {error}"));
                }
            })?);
        }
        let refused = |error: std::io::Error| ServeError::System("a socket".to_owned(), error.to_string());
        let unix = place.listener.try_clone().map_err(refused)?;
        let door = Door::new(unix, place.tcp.take(), Arc::clone(shared))?;
        let is_over = Arc::clone(&threads.is_over);
        threads.joined.push(start("wane-door", move || door.stand_open(&is_over))?);
        Ok(threads)
    }

    fn end_of(&mut self) -> oneshot::Receiver<()> {
        let (to_end, end) = oneshot::channel();
        self.ends.push(to_end);
        end
    }

    fn end(self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(self.ends);
        for thread in self.joined {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use wane_lab::overrides::PolicyOverrides;
    use wane_scenario::Sources;

    use super::*;
    use crate::inbox::Mail;

    fn drive(name: &str) -> What {
        let sources = Sources { preset: Some("tiny"), set: &["until.drive-writes=1".to_owned()], ..Sources::default() };
        let scenario = Scenario::resolve(&sources).unwrap();
        What::Scratch(Box::new(Held::new(&scenario, PolicyOverrides::default()).unwrap()), name.to_owned())
    }

    #[test]
    fn a_bug_in_one_drive_ends_that_alone_and_is_told_and_counted() {
        let config = ServeConfig {
            speed: Speed::Max,
            spin: Nanos::ZERO,
            memory: Bytes(1 << 30),
            directory: None,
            address: None,
            page: None,
            log: None,
            durability: Durability::Process,
            keep_journal: false,
            lacks: |_| Vec::new(),
            checkpointer: None,
        };
        let place = Place::new(None, None, None).unwrap();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let listener = Arc::clone(&told);
        let tell = move |sentence: &str| listener.lock().unwrap().push(sentence.to_owned());
        let crew = Crew {
            config,
            server: place.note.clone(),
            memory: Memory::new(1 << 30),
            shared: Arc::new(Shared::new(Box::new(tell))),
            stop: Arc::default(),
            main: std::thread::current(),
            threads: Mutex::default(),
        };
        for name in ["a", "b", "c"] {
            let live = crew.prepare(drive(name), name == "a", false).unwrap();
            assert!(crew.shared.outlets.add(live.outlet()));
            crew.start(live, &mut crew.threads()).unwrap();
        }
        let ask = |name: &str| {
            let (to, from) = oneshot::channel();
            crew.shared.outlets.of(Some(name)).unwrap().inbox.leave(Mail::Look(to));
            from.blocking_recv()
        };
        let ill = crew.shared.outlets.of(Some("b")).unwrap();
        ill.inbox.leave(Mail::Panic);
        let (to, from) = oneshot::channel();
        ill.inbox.leave(Mail::Look(to));
        assert!(from.blocking_recv().is_err(), "who waits for it waits no longer");
        while crew.shared.outlets.of(Some("b")).is_ok() {
            std::thread::yield_now();
        }
        assert!(ask("a").is_ok() && ask("c").is_ok());
        crew.stop.store(true, Ordering::Relaxed);
        let session = crew.wait();
        assert_eq!(session.served.len(), 2);
        assert!(matches!(&session.failed[..], [ServeError::Bug(name, _)] if name == "b"), "{:?}", session.failed);
        assert!(told.lock().unwrap().iter().any(|sentence| sentence.starts_with("b is served no longer")));
    }
}
