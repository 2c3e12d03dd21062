//! Threads of the server.

use std::thread::{Builder, JoinHandle};

use crate::ServeError;

/// Stack of a thread; pages of it that are never touched take no memory.
const STACK_BYTES: usize = 8 << 20;

#[expect(clippy::disallowed_methods, reason = "threads that wait for sockets; no result depends on when they run")]
pub(crate) fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ServeError> {
    let named = Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    named.spawn(work).map_err(|error| ServeError::System("a thread".to_owned(), error.to_string()))
}
