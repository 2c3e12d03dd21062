//! Where a server listens, and how it is found.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use wane_folder::Process;
use wane_units::{excerpt, excerpt_path, why_unwritten};

use crate::ServeError;

/// The file in a served drive's folder that says where its server listens.
const NOTE: &str = "live.json";

/// The sockets in a server's directory.
const SOCKET: &str = "nbd.sock";
const CONTROL: &str = "ctl.sock";

/// Most bytes of a socket's path on Linux, without the zero at its end.
const PATH_MAX: usize = 107;

/// Where a server listens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// The drive's name; of a server none.
    #[serde(default)]
    pub name: Option<String>,
    /// The server's process.
    pub pid: u32,
    /// What tells it from a later one with its number.
    #[serde(default)]
    pub began: Option<u64>,
    /// What its number is counted in.
    #[serde(default)]
    pub space: Option<u64>,
    /// What a client of the block device is given.
    pub uri: String,
    /// The socket of the block device.
    pub socket: PathBuf,
    /// The socket of control.
    pub control: PathBuf,
    /// Where it listens besides, if it does.
    pub address: Option<SocketAddr>,
    /// Where its page is, if it shows one.
    pub page: Option<String>,
    /// Whether what it does is lost if it is killed.
    #[serde(default)]
    pub loses: bool,
}

impl Note {
    /// The note of a drive of this server.
    /// `is_default`: clients that name none get it; `is_only`: it is the only one, and its address needs no name.
    pub(crate) fn of_drive(&self, name: &str, (is_default, is_only): (bool, bool), loses: bool) -> Self {
        let escaped_name = escaped(Path::new(name));
        let path = if is_only { "" } else { &escaped_name };
        let uri = match self.address {
            Some(address) if is_only => format!("nbd://{address}"),
            Some(address) => format!("nbd://{address}/{path}"),
            None => format!("nbd+unix:///{path}?socket={}", escaped(&self.socket)),
        };
        let own = |page: &String| if is_default { page.clone() } else { format!("{page}?drive={escaped_name}") };
        Self { name: Some(name.to_owned()), uri, page: self.page.as_ref().map(own), loses, ..self.clone() }
    }

    /// Whether its server is there; `None`: the system does not tell.
    pub fn is_alive(&self) -> Option<bool> {
        Process { number: self.pid, began: self.began, space: self.space }.is_alive()
    }

    /// The note in the folder of a drive that is, or was, served.
    pub fn of(drive: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(drive.join(NOTE)).ok()?).ok()
    }

    /// The socket of control of what is at a path, and the drive that is meant: of a served drive's folder, a server's directory, or the socket
    /// itself, which both mean no certain drive.
    ///
    /// # Errors
    /// A sentence: nothing is served there.
    pub fn control_of(path: &Path) -> Result<(PathBuf, Option<String>), ServeError> {
        let unserved = || ServeError::Unserved(excerpt_path(path));
        if !path.is_dir() {
            let unfound = || ServeError::Unfound(excerpt_path(path));
            return if path.exists() { Ok((path.to_owned(), None)) } else { Err(unfound()) };
        }
        let beside = path.join(CONTROL);
        if beside.exists() {
            return Ok((beside, None));
        }
        let note = Self::of(path).ok_or_else(unserved)?;
        // A later server may be where this one was, and serve other drives.
        if note.is_alive() == Some(false) || UnixStream::connect(&note.control).is_err() {
            return Err(ServeError::Dead(excerpt_path(path), note.pid));
        }
        Ok((note.control, note.name))
    }
}

/// A server's directory and its listeners. What it made is removed at the end.
pub(crate) struct Place {
    pub(crate) note: Note,
    pub(crate) listener: UnixListener,
    pub(crate) control: Option<UnixListener>,
    pub(crate) tcp: Option<TcpListener>,
    /// Where the page is asked for, and its address.
    pub(crate) page: Option<(TcpListener, SocketAddr)>,
    /// Removed with all that is in it.
    _own: Option<TempDir>,
}

impl Place {
    /// Listens in `directory`, or in a new one that only this user can enter, and at `address` besides, and at `page` for browsers.
    ///
    /// # Errors
    /// Another server listens there, the address is not of this machine alone, or the system refuses.
    pub(crate) fn new(
        directory: Option<&Path>,
        address: Option<SocketAddr>,
        page: Option<SocketAddr>,
    ) -> Result<Self, ServeError> {
        if let Some(address) = [address, page].into_iter().flatten().find(|address| !is_own(address.ip())) {
            return Err(ServeError::Address(address.to_string()));
        }
        let refused = |path: &Path| {
            let path = excerpt_path(path);
            move |error: io::Error| ServeError::System(path, why_unwritten(&error))
        };
        let (own, directory) = match directory {
            Some(directory) => {
                let path = std::path::absolute(directory).map_err(refused(directory))?;
                if path.join(SOCKET).as_os_str().len() > PATH_MAX {
                    return Err(ServeError::System(
                        excerpt_path(directory),
                        format!("the path of a socket in it is longer than {PATH_MAX} bytes; give a shorter --dir"),
                    ));
                }
                enter(directory)?;
                (None, path)
            }
            None => {
                let own = tempfile::Builder::new()
                    .prefix("wane-")
                    .permissions(fs::Permissions::from_mode(0o700))
                    .tempdir()
                    .map_err(refused(&std::env::temp_dir()))?;
                let path = own.path().to_owned();
                (Some(own), path)
            }
        };
        let (socket, control) = (directory.join(SOCKET), directory.join(CONTROL));
        let listener = listen(&socket)?;
        let control_listener = listen(&control)?;
        let tcp = address.map(listen_at).transpose()?;
        let page = page.map(listen_at).transpose()?;
        let (tcp, address) = tcp.unzip();
        let uri = match address {
            Some(address) => format!("nbd://{address}"),
            None => format!("nbd+unix:///?socket={}", escaped(&socket)),
        };
        let Process { number, began, space } = Process::this();
        let note = Note {
            name: None,
            pid: number,
            began,
            space,
            uri,
            socket,
            control,
            address,
            page: page.as_ref().map(|(_, address)| format!("http://{address}/")),
            loses: false,
        };
        Ok(Self { note, listener, control: Some(control_listener), tcp, page, _own: own })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for path in [&self.note.socket, &self.note.control] {
            let _ = fs::remove_file(path);
        }
    }
}

/// A note in a drive's folder, which is removed at the end.
pub(crate) struct Noted(PathBuf);

impl Noted {
    /// Writes it. What a killed server of the drive left behind is removed.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(drive: &Path, note: &Note) -> Result<Self, ServeError> {
        let path = drive.join(NOTE);
        clean_up(&path);
        let text = serde_json::to_vec(note).expect("a note is JSON");
        let refused = |error: io::Error| ServeError::System(excerpt_path(&path), why_unwritten(&error));
        fs::write(&path, text).map_err(refused)?;
        Ok(Self(path))
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Whether an address reaches this machine alone.
fn is_own(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Removes the directory that a killed server of the same drive left behind.
fn clean_up(note: &Path) {
    let left = fs::read(note).ok().and_then(|text| serde_json::from_slice::<Note>(&text).ok());
    let Some(left) = left.filter(|left| UnixStream::connect(&left.control).is_err()) else { return };
    for path in [&left.socket, &left.control] {
        if is_socket(path) {
            let _ = fs::remove_file(path);
        }
    }
    // Only if nothing else is in it.
    if let Some(directory) = left.socket.parent() {
        let _ = fs::remove_dir(directory);
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket())
}

/// Makes a directory that only this user can enter, or checks that one is.
fn enter(directory: &Path) -> Result<(), ServeError> {
    let refused = |error: io::Error| ServeError::System(excerpt_path(directory), why_unwritten(&error));
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(refused(error)),
    }
    let found = fs::metadata(directory).map_err(refused)?;
    let mode = found.permissions().mode() & 0o777;
    let is_private = found.is_dir() && mode & 0o077 == 0 && found.uid() == rustix::process::geteuid().as_raw();
    if is_private { Ok(()) } else { Err(ServeError::Open(excerpt_path(directory), mode)) }
}

/// How often a server is waited for that was killed and listens yet, and with what pause.
const WAITS: u32 = 250;
const PAUSE: Duration = Duration::from_millis(20);

/// Listens at a socket. One that a dead server left behind is taken over.
fn listen(path: &Path) -> Result<UnixListener, ServeError> {
    let refused = |error: io::Error| ServeError::System(excerpt_path(path), why_unwritten(&error));
    match UnixListener::bind(path) {
        Ok(listener) => return Ok(listener),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {}
        Err(error) => return Err(refused(error)),
    }
    if !is_socket(path) {
        return Err(ServeError::NoSocket(excerpt_path(path)));
    }
    for left in (0..=WAITS).rev() {
        let Ok(stream) = UnixStream::connect(path) else { break };
        let pid = rustix::net::sockopt::socket_peercred(&stream).map_or(0, |peer| peer.pid.as_raw_nonzero().get());
        let is_going = u32::try_from(pid).is_ok_and(|pid| Process::of(pid).is_alive() == Some(false));
        if !is_going || left == 0 {
            return Err(ServeError::InUse(excerpt_path(path), pid));
        }
        std::thread::sleep(PAUSE);
    }
    fs::remove_file(path).map_err(refused)?;
    UnixListener::bind(path).map_err(refused)
}

/// Listens at an address. Returns the one that the system chose.
fn listen_at(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let refused = |error: io::Error| ServeError::System(address.to_string(), why_unwritten(&error));
    let listener = TcpListener::bind(address).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => ServeError::PortInUse(address.to_string()),
        _ => refused(error),
    })?;
    let chosen = listener.local_addr().map_err(refused)?;
    Ok((listener, chosen))
}

/// A path, or a name, as a part of a URI.
pub(crate) fn escaped(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let bytes = path.as_os_str().as_bytes().iter();
    bytes.map(|byte| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The address of `--port` and `--page`: a port of this machine, or an address of it.
///
/// # Errors
/// A sentence that says what is allowed.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let address = match text.trim().parse::<u16>() {
        Ok(port) => SocketAddr::from(([127, 0, 0, 1], port)),
        Err(_) => text.trim().parse().map_err(|_| {
            format!(
                "found {}, and a port such as 10809, or an address such as 127.0.0.1:10809, is allowed",
                excerpt(text)
            )
        })?,
    };
    if is_own(address.ip()) { Ok(address) } else { Err(ServeError::Address(address.to_string()).to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_of_a_dead_server_is_taken_over_and_that_of_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(SOCKET);
        let live = listen(&path).unwrap();
        let told = listen(&path).unwrap_err().to_string();
        assert!(told.contains(&format!("process {}", std::process::id())), "{told}");
        drop(live);
        listen(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        assert!(listen(&path).unwrap_err().to_string().contains("is no socket"));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn only_this_machine_is_served() {
        for (text, want) in [("10809", "127.0.0.1:10809"), ("[::1]:0", "[::1]:0"), ("127.0.0.9:1", "127.0.0.9:1")] {
            assert_eq!(address(text).unwrap().to_string(), want);
        }
        for (text, wanted) in [
            ("0.0.0.0:1", "serves this machine alone"),
            ("[::]:1", "alone"),
            ("70000", "a port such as"),
            ("x", "found x"),
        ] {
            let told = address(text).unwrap_err();
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn others_cannot_enter_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("new");
        let place = Place::new(Some(&directory), None, None).unwrap();
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(place.note.uri.starts_with("nbd+unix:///?socket=/"));
        drop(place);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "what it made is removed");
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        let told = Place::new(Some(&directory), None, None).map(drop).unwrap_err().to_string();
        assert!(told.contains("mode 755"), "{told}");
        assert_eq!(escaped(Path::new("/a b/ä")), "/a%20b/%C3%A4");
    }

    #[test]
    fn a_served_drive_is_found_by_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(None, None, None).unwrap();
        let note = place.note.of_drive("a b", (false, false), false);
        let noted = Noted::write(folder.path(), &note).unwrap();
        assert!(note.uri.starts_with("nbd+unix:///a%20b?socket=/"), "{}", note.uri);
        assert_eq!(place.note.of_drive("a b", (true, true), false).uri, place.note.uri);
        let own = place.note.socket.parent().unwrap();
        assert_eq!(fs::metadata(own).unwrap().permissions().mode() & 0o777, 0o700);
        let control = place.note.control.clone();
        assert_eq!(Note::control_of(folder.path()).unwrap(), (control.clone(), Some("a b".to_owned())));
        assert_eq!(Note::control_of(place.note.socket.parent().unwrap()).unwrap(), (control, None));
        // Another server may be where a killed one was, and its number may be that of another process.
        let later = Note { began: note.began.map(|began| began + 1), ..note.clone() };
        fs::write(folder.path().join(NOTE), serde_json::to_vec(&later).unwrap()).unwrap();
        if note.began.is_some() {
            assert!(Note::control_of(folder.path()).unwrap_err().to_string().contains("is not served any more"));
        }
        fs::write(folder.path().join(NOTE), serde_json::to_vec(&note).unwrap()).unwrap();
        // What a killed server leaves.
        let text = fs::read(folder.path().join(NOTE)).unwrap();
        let pid = place.note.pid;
        drop((noted, place));
        assert!(Note::control_of(folder.path()).unwrap_err().to_string().contains("is not served"));
        fs::write(folder.path().join(NOTE), text).unwrap();
        let told = Note::control_of(folder.path()).unwrap_err().to_string();
        assert!(told.contains(&format!("process {pid}")), "{told}");
    }
}
