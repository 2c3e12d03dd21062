//! The real clock, for deadlines and the ages of challenges. No other file of this crate reads it.

/// Seconds since 1970, by the system's clock.
#[expect(
    clippy::disallowed_methods,
    reason = "a server's clock: uploads expire by it and signatures have a time; no result depends on it"
)]
pub(crate) fn seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Now, to wait no longer than was said, however long single looks take.
#[expect(clippy::disallowed_methods, reason = "a client's and a server's deadlines; no result depends on it")]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}
