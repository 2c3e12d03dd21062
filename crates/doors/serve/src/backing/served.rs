//! A drive that `wane serve` serves, as a file system uses it: requests by the network block device protocol, and by the server's control socket what
//! that lacks: capacity, mapped limit, and what the drive wants back.

use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};
use wane_blockdev::{
    AnsweredBy, BlockDevice, Features, Notice, NoticeKind, Resize, Status, Unsupported, WantedCause, pass_on,
};
use wane_image::{Remote, RemoteError};
use wane_units::{Sectors, SimTime};

use super::SECTOR;
use crate::{Control, Note};

/// See the head of this file. It is nobody else's on this machine while it lasts.
pub struct ServedDrive {
    device: Remote,
    /// Without it the drive keeps its size.
    control: Option<Control>,
    limit: Option<Sectors>,
}

impl ServedDrive {
    /// The drive behind a server's socket that it gives to clients that name none.
    ///
    /// # Errors
    /// No such server answers, somebody uses the drive, or no file system fits it.
    pub fn at_socket(socket: &Path) -> Result<Self, RemoteError> {
        let control = socket.parent().and_then(|directory| Control::of(directory).ok());
        Ok(Self::new(Remote::open(socket, "")?, control))
    }

    /// The drive of a folder; `None` if it is not served now.
    ///
    /// # Errors
    /// Within the option: somebody uses the drive, or no file system fits it.
    pub fn of_folder(folder: &Path) -> Option<Result<Self, RemoteError>> {
        // Another server may be where one was that was killed, and serve another drive of this name.
        let note = Note::of(folder).filter(|note| note.is_alive() != Some(false))?;
        UnixStream::connect(&note.socket).ok()?;
        let control = Control::of(folder).ok();
        Some(Remote::open(&note.socket, &note.name.unwrap_or_default()).map(|device| Self::new(device, control)))
    }

    fn new(device: Remote, control: Option<Control>) -> Self {
        let status = control.as_ref().and_then(|control| control.ask("status", None).ok());
        // An array's sizes stay as they are.
        let control = control.filter(|_| status.as_ref().is_some_and(|status| status["members"].is_null()));
        let limit = status.and_then(|status| status["mapped_limit_bytes"].as_u64());
        Self { device, control, limit: limit.map(|bytes| Sectors(bytes / SECTOR)) }
    }

    /// Sets a size of the drive.
    fn set(&self, key: &str, size: Sectors) -> Status {
        let Some(control) = &self.control else { return Status::Unsupported(Unsupported::Kind) };
        match control.ask("set", Some(&json!({ key: format!("{} B", size.0 * SECTOR) }))) {
            Ok(_) => Status::Done,
            Err(_) => Status::OutOfRange,
        }
    }
}

/// What the drive wants back, as its status tells it.
fn wanted(status: &Value) -> Option<NoticeKind> {
    let wanted = &status["wanted"];
    let sectors = |key: &str| wanted[key].as_u64().map(|bytes| Sectors(bytes / SECTOR));
    let (to, writes_left) = (sectors("bytes")?, sectors("writes_left_bytes")?);
    Some(NoticeKind::CapacityWanted { to, cause: WantedCause::Wear, writes_left, by: AnsweredBy::Either })
}

impl BlockDevice for ServedDrive {
    pass_on!(device: capacity submit next_event_at complete);

    fn features(&self) -> Features {
        let is_controlled = self.control.is_some();
        let resize = if is_controlled { Resize::Shrink } else { Resize::Fixed };
        Features { resize, mapped_limit: is_controlled, ..self.device.features() }
    }

    fn set_capacity(&mut self, _at: SimTime, capacity: Sectors) -> Status {
        let status = self.set("capacity", capacity);
        if status.is_done() {
            self.device.shrink_to(capacity);
        }
        status
    }

    fn mapped_limit(&self) -> Sectors {
        self.limit.map_or(self.capacity(), |limit| limit.min(self.capacity()))
    }

    fn set_mapped_limit(&mut self, _at: SimTime, limit: Sectors) -> Status {
        let status = self.set("mapped-limit", limit);
        if status.is_done() {
            self.limit = Some(limit);
        }
        status
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        let status = self.control.as_ref().and_then(|control| control.ask("status", None).ok());
        let kind = status.as_ref().and_then(wanted);
        out.extend(kind.map(|kind| Notice { at: SimTime::ZERO, kind }));
    }
}
