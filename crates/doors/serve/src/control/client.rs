//! Asking a served drive, from another process. Calls block.

use std::path::{Path, PathBuf};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;
use wane_units::excerpt_path;

use crate::ServeError;
use crate::place::{Note, escaped};

/// Why a served drive did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// Nobody listens there.
    #[error("{0}: no server answers there: {1}")]
    Unreached(String, String),
    /// It refuses, and says why.
    #[error("{0}")]
    Refused(String),
    /// The connection broke.
    #[error("the server's answer is not whole: {0}")]
    Broken(String),
}

/// The control of a served drive.
#[derive(Clone, Debug)]
pub struct Control {
    socket: PathBuf,
    /// The drive that is meant; without it that of clients that name none.
    drive: Option<String>,
}

fn broken(error: impl std::fmt::Display) -> ControlError {
    ControlError::Broken(error.to_string())
}

impl Control {
    /// The control of what is at a path: a served drive's folder, a server's directory, or the socket of control itself.
    ///
    /// # Errors
    /// Nothing is served there.
    pub fn of(path: &Path) -> Result<Self, ServeError> {
        let (socket, drive) = Note::control_of(path)?;
        Ok(Self { socket, drive })
    }

    /// Asks for `name`, as of the server's routes: with a body to change something, without one to learn something. Returns the answer.
    ///
    /// # Errors
    /// It is not reached, or refuses.
    pub fn ask(&self, name: &str, body: Option<&Value>) -> Result<Value, ControlError> {
        runtime()?.block_on(async {
            let response = self.send(&self.path(name), body).await?;
            let is_fine = response.status().is_success();
            let text = response.into_body().collect().await.map_err(broken)?.to_bytes();
            let value: Value = serde_json::from_slice(&text).map_err(broken)?;
            if is_fine {
                return Ok(value);
            }
            Err(ControlError::Refused(value["error"].as_str().unwrap_or("it gives no reason").to_owned()))
        })
    }

    /// Asks for the metrics, as text.
    ///
    /// # Errors
    /// It is not reached, or the connection breaks.
    pub fn metrics(&self) -> Result<String, ControlError> {
        runtime()?.block_on(async {
            let body = self.send("/metrics", None).await?.into_body();
            let text = body.collect().await.map_err(broken)?.to_bytes();
            Ok(String::from_utf8_lossy(&text).into_owned())
        })
    }

    /// Hands each event to `each`, as a line of JSON, until that returns false or the server ends.
    ///
    /// # Errors
    /// It is not reached, or the connection breaks.
    pub fn events(&self, each: &mut dyn FnMut(&str) -> bool) -> Result<(), ControlError> {
        runtime()?.block_on(async {
            let mut body = self.send(&self.path("events"), None).await?.into_body();
            let mut text = Vec::new();
            while let Some(frame) = body.frame().await {
                // The server ends while it is listened to.
                let Ok(frame) = frame else { return Ok(()) };
                let Ok(data) = frame.into_data() else { continue };
                text.extend_from_slice(&data);
                while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = text.drain(..=end).collect();
                    if !each(String::from_utf8_lossy(&line).trim_end()) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }

    fn path(&self, name: &str) -> String {
        let drive =
            self.drive.as_ref().map_or_else(String::new, |drive| format!("?drive={}", escaped(Path::new(drive))));
        format!("/v1/{name}{drive}")
    }

    async fn send(&self, path: &str, body: Option<&Value>) -> Result<Response<Incoming>, ControlError> {
        let unreached = |error: std::io::Error| {
            ControlError::Unreached(excerpt_path(&self.socket).to_string(), wane_units::why_unwritten(&error))
        };
        let stream = UnixStream::connect(&self.socket).await.map_err(unreached)?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        tokio::spawn(connection);
        let (method, text) = match body {
            Some(body) => (Method::POST, body.to_string()),
            None => (Method::GET, String::new()),
        };
        let request = Request::builder().method(method).uri(path).header("host", "wane");
        let request = request.body(Full::new(Bytes::from(text))).map_err(broken)?;
        sender.send_request(request).await.map_err(broken)
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, ControlError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)
}
