//! The shared secret: requests are signed with it, and it is never sent.
//!
//! A signature is `WANE TIME:NONCE:MAC`, where the MAC is HMAC-SHA-256 of the method, the target, the time, the nonce and SHA-256 of the body, a line each. A
//! signature is valid once, within a minute of the receiver's clock. Answers are not signed, and nothing is encrypted: this stops requests from
//! strangers, but no eavesdropper.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::store::hex;
use crate::{ActorError, clock};

/// How far clocks may differ, in seconds.
const SKEW_SECONDS: u64 = 60;

/// Least and most bytes of a secret.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=4096;

/// Most nonces that are remembered. Requests beyond these are refused; a drive serves fewer in two minutes.
const NONCES_MAX: usize = 1 << 20;

/// A secret that all drives and clients of a cluster share.
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    /// Reads it from a file, without surrounding whitespace.
    ///
    /// # Errors
    /// It cannot be read, or is too short or too long.
    pub(crate) fn read(path: &Path) -> Result<Self, ActorError> {
        let text = std::fs::read(path).map_err(|error| ActorError::unread(path, &error))?;
        let secret = text.trim_ascii().to_vec();
        if !SECRET_BYTES.contains(&secret.len()) {
            let (path, found) = (wane_units::excerpt_path(path), secret.len());
            let (least, most) = (SECRET_BYTES.start(), SECRET_BYTES.end());
            return Err(ActorError::Invalid(format!("{path}: a secret of {found} B: {least} to {most} B are allowed")));
        }
        Ok(Self(secret))
    }

    fn mac(&self, method: &str, target: &str, time: u64, nonce: u64, body: &[u8]) -> Hmac<Sha256> {
        debug_assert!(SECRET_BYTES.contains(&self.0.len()), "a secret was held to its length when it was read");
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        let body = hex(&Sha256::digest(body));
        mac.update(format!("{method}\n{target}\n{time}\n{nonce:016x}\n{body}").as_bytes());
        mac
    }

    /// Makes the signature to send with a request.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub(crate) fn sign(&self, method: &str, target: &str, body: &[u8]) -> Result<String, ActorError> {
        let (time, nonce) = (clock::seconds(), random()?);
        let mac = self.mac(method, target, time, nonce, body).finalize().into_bytes();
        Ok(format!("WANE {time}:{nonce:016x}:{}", hex(&mac)))
    }
}

/// Draws a random number from the system.
pub(crate) fn random() -> Result<u64, ActorError> {
    getrandom::u64().map_err(|error| ActorError::System(format!("the system gives no random numbers: {error}")))
}

/// Checks requests' signatures, and remembers which were used.
pub(crate) struct Guard {
    secret: Secret,
    used: Mutex<BTreeSet<(u64, u64)>>,
}

impl Guard {
    pub(crate) fn new(secret: Secret) -> Self {
        Self { secret, used: Mutex::default() }
    }

    /// # Errors
    /// [`ActorError::Unauthorized`] unless the signature is made with the secret, fresh, and of this request.
    pub(crate) fn check(
        &self,
        signature: Option<&str>,
        method: &str,
        target: &str,
        body: &[u8],
    ) -> Result<(), ActorError> {
        let refuse = |why: &str| {
            ActorError::Unauthorized(format!("{why}: this drive answers those who know its secret (--secret-file)"))
        };
        let (time, nonce, mac) = signature.and_then(read).ok_or_else(|| refuse("the request is not signed"))?;
        let now = clock::seconds();
        if now.abs_diff(time) > SKEW_SECONDS {
            return Err(refuse(&format!(
                "the request was signed {} s away from this drive's clock",
                now.abs_diff(time)
            )));
        }
        let verified = self.secret.mac(method, target, time, nonce, body).verify_slice(&mac);
        verified.map_err(|_| refuse("the request is signed with another secret"))?;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        // Signatures that are too old to count are forgotten.
        *used = used.split_off(&(now.saturating_sub(SKEW_SECONDS), 0));
        if used.len() >= NONCES_MAX || !used.insert((time, nonce)) {
            return Err(refuse("the signature was used before"));
        }
        Ok(())
    }
}

fn read(signature: &str) -> Option<(u64, u64, Vec<u8>)> {
    let mut parts = signature.strip_prefix("WANE ")?.split(':');
    let (time, nonce, mac) = (parts.next()?, parts.next()?, parts.next()?);
    if !mac.is_ascii() || mac.len() != 64 {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&mac[at..at + 2], 16).ok();
    let mac: Option<Vec<u8>> = (0..mac.len()).step_by(2).map(byte).collect();
    Some((time.parse().ok()?, u64::from_str_radix(nonce, 16).ok()?, mac?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret(text.as_bytes().to_vec())
    }

    #[test]
    fn a_signature_counts_once_for_its_request_and_its_secret() {
        let guard = Guard::new(secret("one secret of all"));
        let sign = |secret: &Secret| secret.sign("PUT", "/v1/x", b"body").unwrap();
        let told = |signature: Option<&str>, target: &str, body: &[u8]| {
            guard.check(signature, "PUT", target, body).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let good = sign(&secret("one secret of all"));
        assert!(told(None, "/v1/x", b"body").contains("not signed"));
        assert!(told(Some("WANE 1:2"), "/v1/x", b"body").contains("not signed"));
        assert!(told(Some(&good), "/v1/y", b"body").contains("another secret"));
        assert!(told(Some(&good), "/v1/x", b"bodz").contains("another secret"));
        assert!(told(Some(&sign(&secret("another of them."))), "/v1/x", b"body").contains("another secret"));
        assert_eq!(told(Some(&good), "/v1/x", b"body"), "");
        assert!(told(Some(&good), "/v1/x", b"body").contains("used before"));
        let old = good.replacen("WANE ", "WANE 1", 1);
        assert!(told(Some(&old), "/v1/x", b"body").contains("clock"));
    }

    #[test]
    fn short_secrets_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, " short \n").unwrap();
        assert!(Secret::read(&path).err().unwrap().to_string().contains("a secret of 5 B: 16 to 4096 B"));
        std::fs::write(&path, "  sixteen letters.\n").unwrap();
        assert_eq!(Secret::read(&path).unwrap().0, b"sixteen letters.");
    }
}
