//! Drives that are served in threads of this process, each in its own folder.

#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;
use wane_actor::{ActorError, Client, Code, PutOptions, RingId, ServerConfig, Status};

/// Longest wait of tests for what drives do on their own.
pub const WAIT: Duration = Duration::from_secs(60);

/// A drive that is served.
pub struct Served {
    pub id: RingId,
    pub address: String,
    /// Answers of listed drives that have another secret.
    pub strangers: Vec<String>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), ActorError>>,
}

impl Served {
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap();
    }
}

/// Settings of a drive in `folder`.
pub fn config(folder: &Path) -> ServerConfig {
    ServerConfig {
        folder: folder.to_owned(),
        listen: "127.0.0.1:0".into(),
        announce: None,
        id: None,
        join: None,
        points: 64,
        secret: None,
        upkeep_seconds: 1,
        medium: None,
        limits: wane_actor::Limits::default(),
    }
}

/// Serves a drive; returns it once it answers, or why it does not.
pub fn serve(config: ServerConfig) -> Result<Served, ActorError> {
    let stop = Arc::new(AtomicBool::new(false));
    let (ready, is_ready) = mpsc::channel();
    let flag = Arc::clone(&stop);
    #[expect(clippy::disallowed_methods, reason = "a server waits for its clients, which are the test's")]
    let thread = std::thread::spawn(move || {
        wane_actor::serve(config, &flag, |status: &Status, strangers: &[String]| {
            ready.send((status.id, status.address.clone(), strangers.to_vec())).unwrap();
        })
    });
    match is_ready.recv() {
        Ok((id, address, strangers)) => Ok(Served { id, address, strangers, stop, thread }),
        Err(_) => Err(thread.join().unwrap().unwrap_err()),
    }
}

/// A cluster of drives in folders below one folder.
pub struct Drives {
    pub root: TempDir,
    pub served: Vec<Option<Served>>,
    pub secret: Option<PathBuf>,
}

impl Drives {
    pub fn new(count: usize) -> Self {
        Self::with(count, None)
    }

    pub fn with(count: usize, secret: Option<&str>) -> Self {
        let root = tempfile::tempdir().unwrap();
        let secret = secret.map(|text| {
            let path = root.path().join("secret");
            write_secret(&path, text);
            path
        });
        let mut drives = Self { root, served: Vec::new(), secret };
        for number in 0..count {
            drives.served.push(None);
            drives.start(number);
        }
        drives
    }

    pub fn folder(&self, number: usize) -> PathBuf {
        self.root.path().join(format!("drive-{number}"))
    }

    /// Serves a drive, which joins the other served drives.
    pub fn start(&mut self, number: usize) {
        let folder = self.folder(number);
        let is_new = !folder.exists();
        let other = self.served.iter().flatten().next().map(|served| served.address.clone());
        let config = ServerConfig {
            // Ids of the tests' own, so that placement is the same each time.
            id: is_new.then(|| RingId::of("test", &[&number.to_le_bytes()])),
            join: other,
            secret: self.secret.clone(),
            ..config(&folder)
        };
        self.served[number] = Some(serve(config).unwrap());
    }

    pub fn stop(&mut self, number: usize) {
        self.served[number].take().unwrap().stop();
    }

    pub fn drive(&self, number: usize) -> &Served {
        self.served[number].as_ref().unwrap()
    }

    /// The number of the drive with this id.
    pub fn number(&self, id: RingId) -> usize {
        (0..self.served.len()).find(|number| RingId::of("test", &[&number.to_le_bytes()]) == id).unwrap()
    }

    pub fn client(&self) -> Client {
        let addresses: Vec<String> = self.served.iter().flatten().map(|served| served.address.clone()).collect();
        Client::connect(&addresses, self.secret.as_deref()).unwrap()
    }

    pub fn status(&self, number: usize) -> Status {
        let id = self.drive(number).id;
        let statuses = self.client().statuses();
        statuses.into_iter().find(|(drive, _)| *drive == id).unwrap().1.unwrap()
    }

    /// Files of shares of a drive.
    pub fn shares(&self, number: usize) -> Vec<PathBuf> {
        let below = |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> = below(self.folder(number).join("shares")).flat_map(below).collect();
        found.sort();
        found
    }
}

impl Drop for Drives {
    fn drop(&mut self) {
        for served in self.served.drain(..).flatten() {
            served.stop.store(true, Ordering::Relaxed);
            let _ = served.thread.join();
        }
    }
}

/// Writes a secret's file, which its owner alone may read.
pub fn write_secret(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    #[cfg(unix)]
    set_mode(path, 0o600);
}

#[cfg(unix)]
pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Sends one request over its own connection, as any client could. `head` has more lines of the head, each with its end.
pub fn raw(address: &str, what: &str, head: &str, body: &str) -> String {
    let kind = if head.to_lowercase().contains("content-type:") { "" } else { "content-type: application/json\r\n" };
    let host = if head.to_lowercase().contains("host:") { "" } else { "host: localhost\r\n" };
    let length = format!("content-length: {}\r\n", body.len());
    sent(address, &format!("{what} HTTP/1.1\r\n{host}{kind}{head}{length}connection: close\r\n\r\n{body}"))
}

/// Sends text over its own connection; returns the answer.
pub fn sent(address: &str, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    answer(&mut stream)
}

/// Reads an answer up to the end of its body or of the connection.
pub fn answer(stream: &mut TcpStream) -> String {
    let (mut text, mut part) = (Vec::new(), [0; 1 << 12]);
    loop {
        let all = String::from_utf8_lossy(&text).into_owned();
        let body = all.split_once("\r\n\r\n").map(|(head, body)| (length(head), body.len()));
        if body.is_some_and(|(wanted, found)| found >= wanted) {
            return all;
        }
        match stream.read(&mut part).unwrap() {
            0 => return all,
            count => text.extend_from_slice(&part[..count]),
        }
    }
}

fn length(head: &str) -> usize {
    let line = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:").map(str::to_owned));
    line.map_or(0, |length| length.trim().parse().unwrap())
}

/// Bytes without a pattern, the same each time.
pub fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..count).map(step).collect()
}

pub fn options(code: &str, cell: u32) -> PutOptions {
    PutOptions { code: code.parse::<Code>().unwrap(), cell, quorum: None }
}

pub fn put(client: &Client, name: &str, content: &[u8], options: PutOptions) -> Result<wane_actor::Put, ActorError> {
    client.put(name, &mut &content[..], options)
}

pub fn get(client: &Client, name: &str) -> Result<Vec<u8>, ActorError> {
    let mut read = Vec::new();
    client.get(name, &mut read).map(|_| read)
}

/// Waits until `is_so`.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..WAIT.as_millis() / 50 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what}: not within {WAIT:?}");
}
