//! The shared secret: requests are signed with it, and it is never sent.
//!
//! Every answer of a drive that has a secret carries a challenge: a random number that this drive alone gives out, and takes for a minute or two. A
//! signature is `WANE CHALLENGE:NONCE:DIGEST:MAC`. DIGEST is SHA-256 of the body, and MAC is HMAC-SHA-256 of the method, the target, the challenge, the
//! nonce and the digest, a line each. So a drive checks a signature before it takes in the body. The challenge names the receiver: another drive does
//! not take the signature, nor does the same drive after it was started anew, whatever its clock says. Nonces are remembered as long as their
//! challenge, so that a signature counts once. Answers are not signed, and nothing is encrypted: this stops requests from strangers, but no
//! eavesdropper.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::store::hex;
use crate::{ActorError, clock};

/// How long a drive gives out a challenge. It takes it for twice as long.
const CHALLENGE: Duration = Duration::from_secs(60);

/// Least and most bytes of a secret.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=4096;

/// Most nonces that are remembered for a challenge. Then the drive gives out a new one: about 4 MiB for two challenges.
const NONCES_MAX: usize = 1 << 16;

/// A secret that all drives and clients of a cluster share.
#[derive(Clone)]
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    /// Reads it from a file, without surrounding whitespace.
    ///
    /// # Errors
    /// It cannot be read, others may read or change it, or it is too short or too long.
    pub(crate) fn read(path: &Path) -> Result<Self, ActorError> {
        let unread = |error: std::io::Error| ActorError::unread(path, &error);
        let file = std::fs::File::open(path).map_err(unread)?;
        check_private(path, &file)?;
        let (mut text, most) = (Vec::new(), *SECRET_BYTES.end());
        // Whitespace around the secret is no part of it, and may be longer than the secret.
        file.take(16 * most as u64).read_to_end(&mut text).map_err(unread)?;
        let secret = text.trim_ascii().to_vec();
        if !SECRET_BYTES.contains(&secret.len()) {
            let (path, found, least) = (wane_units::excerpt_path(path), secret.len(), SECRET_BYTES.start());
            return Err(ActorError::Invalid(format!("{path}: a secret of {found} B: {least} to {most} B are allowed")));
        }
        Ok(Self(secret))
    }

    fn mac(&self, signed: &Signed, method: &str, target: &str) -> Hmac<Sha256> {
        debug_assert!(SECRET_BYTES.contains(&self.0.len()), "a secret was held to its length when it was read");
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        let Signed { challenge, nonce, digest } = signed;
        mac.update(format!("{method}\n{target}\n{challenge:016x}\n{nonce:016x}\n{digest}").as_bytes());
        mac
    }

    /// Makes the signature to send with a request to the drive that gave out `challenge`.
    ///
    /// # Errors
    /// The challenge is none, or the system gives no random numbers.
    pub(crate) fn sign(&self, challenge: &str, method: &str, target: &str, body: &[u8]) -> Result<String, ActorError> {
        let challenge = u64::from_str_radix(challenge, 16)
            .map_err(|_| ActorError::System(format!("\"{}\" is no challenge", wane_units::excerpt(challenge))))?;
        let signed = Signed { challenge, nonce: random()?, digest: digest(body) };
        let mac = self.mac(&signed, method, target).finalize().into_bytes();
        Ok(format!("WANE {challenge:016x}:{:016x}:{}:{}", signed.nonce, signed.digest, hex(&mac)))
    }
}

/// Checks that only its owner may read or change a secret's file: on the same machine there may be other users.
#[cfg(unix)]
fn check_private(path: &Path, file: &std::fs::File) -> Result<(), ActorError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata().map_err(|error| ActorError::unread(path, &error))?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let path = wane_units::excerpt_path(path);
    Err(ActorError::Invalid(format!(
        "{path}: a secret that others on this machine may read or change (mode {mode:04o}): 0600 is allowed; `chmod 600` sets it"
    )))
}

#[cfg(not(unix))]
fn check_private(_: &Path, _: &std::fs::File) -> Result<(), ActorError> {
    Ok(())
}

/// SHA-256 of a body, in hexadecimal digits.
pub(crate) fn digest(body: &[u8]) -> String {
    hex(&Sha256::digest(body))
}

/// Draws a random number from the system.
pub(crate) fn random() -> Result<u64, ActorError> {
    getrandom::u64().map_err(|error| ActorError::System(format!("the system gives no random numbers: {error}")))
}

/// What a signature is made of, apart from the request.
struct Signed {
    challenge: u64,
    nonce: u64,
    digest: String,
}

/// A challenge that a drive gave out, and the nonces that came with it.
struct Challenge {
    number: u64,
    since: Instant,
    used: BTreeSet<u64>,
}

impl Challenge {
    fn new(now: Instant) -> Result<Self, ActorError> {
        Ok(Self { number: random()?, since: now, used: BTreeSet::new() })
    }
}

/// Checks requests' signatures, and remembers which were used.
pub(crate) struct Guard {
    secret: Secret,
    /// The one that is given out, and after it the one before, which is still taken.
    challenges: Mutex<Vec<Challenge>>,
}

impl Guard {
    /// # Errors
    /// The system gives no random numbers.
    pub(crate) fn new(secret: Secret) -> Result<Self, ActorError> {
        Ok(Self { secret, challenges: Mutex::new(vec![Challenge::new(clock::now())?]) })
    }

    /// The challenge to give out.
    pub(crate) fn challenge(&self) -> String {
        self.challenge_at(clock::now())
    }

    fn challenge_at(&self, now: Instant) -> String {
        let mut challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
        renew(&mut challenges, now);
        format!("{:016x}", challenges[0].number)
    }

    /// Checks a request by its head. Returns SHA-256 of the body that it must have.
    ///
    /// # Errors
    /// [`ActorError::Unauthorized`] unless the signature is made with the secret, for this drive, of this request, and not used yet.
    pub(crate) fn check(&self, signature: Option<&str>, method: &str, target: &str) -> Result<String, ActorError> {
        self.check_at(clock::now(), signature, method, target)
    }

    fn check_at(
        &self,
        now: Instant,
        signature: Option<&str>,
        method: &str,
        target: &str,
    ) -> Result<String, ActorError> {
        let refuse = |why: &str| {
            ActorError::Unauthorized(format!("{why}: this drive answers those who know its secret (--secret-file)"))
        };
        let (signed, mac) = signature.and_then(read).ok_or_else(|| refuse("the request is not signed"))?;
        let verified = self.secret.mac(&signed, method, target).verify_slice(&mac);
        verified.map_err(|_| refuse("the request is signed with another secret"))?;
        let mut challenges = self.challenges.lock().unwrap_or_else(PoisonError::into_inner);
        renew(&mut challenges, now);
        let own = challenges.iter_mut().find(|challenge| challenge.number == signed.challenge);
        let own = own.ok_or_else(|| refuse("the request is signed for another drive, or was signed minutes ago"))?;
        if own.used.len() >= NONCES_MAX || !own.used.insert(signed.nonce) {
            return Err(refuse("the signature was used before"));
        }
        Ok(signed.digest)
    }
}

/// Replaces a challenge that was given out for long, or used often; forgets those that no longer count.
fn renew(challenges: &mut Vec<Challenge>, now: Instant) {
    let age = |challenge: &Challenge| now.saturating_duration_since(challenge.since);
    let is_due = age(&challenges[0]) >= CHALLENGE || challenges[0].used.len() >= NONCES_MAX;
    // Without random numbers the old one stays: each of its signatures still counts once.
    if is_due && let Ok(next) = Challenge::new(now) {
        challenges.insert(0, next);
        challenges.truncate(2);
        challenges.retain(|challenge| age(challenge) < 2 * CHALLENGE);
    } else if challenges.last().is_some_and(|last| age(last) >= 2 * CHALLENGE) && challenges.len() > 1 {
        challenges.pop();
    }
    assert!(!challenges.is_empty(), "a drive always has a challenge to give out");
}

fn read(signature: &str) -> Option<(Signed, Vec<u8>)> {
    let parts: Vec<&str> = signature.strip_prefix("WANE ")?.split(':').collect();
    let [challenge, nonce, digest, mac] = parts[..] else { return None };
    let is_hex = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex(challenge, 16) || !is_hex(nonce, 16) || !is_hex(digest, 64) || !is_hex(mac, 64) {
        return None;
    }
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let byte = |at: usize| u8::from_str_radix(&mac[at..at + 2], 16).ok();
    let bytes: Option<Vec<u8>> = (0..mac.len()).step_by(2).map(byte).collect();
    Some((Signed { challenge: number(challenge)?, nonce: number(nonce)?, digest: digest.to_owned() }, bytes?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret(text.as_bytes().to_vec())
    }

    fn guard() -> Guard {
        Guard::new(secret("one secret of all")).unwrap()
    }

    fn said(checked: Result<String, ActorError>) -> String {
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_signature_counts_once_for_its_request_and_its_secret() {
        let guard = guard();
        let sign = |secret: &Secret| secret.sign(&guard.challenge(), "PUT", "/v1/x", b"body").unwrap();
        let check = |signature: Option<&str>, method: &str, target: &str| said(guard.check(signature, method, target));
        let good = sign(&secret("one secret of all"));
        assert!(check(None, "PUT", "/v1/x").contains("not signed"));
        assert!(check(Some("WANE 1:2"), "PUT", "/v1/x").contains("not signed"));
        assert!(check(Some(&good), "PUT", "/v1/y").contains("another secret"));
        assert!(check(Some(&good), "POST", "/v1/x").contains("another secret"));
        let other_body = good.replace(&digest(b"body"), &digest(b"bodz"));
        assert!(check(Some(&other_body), "PUT", "/v1/x").contains("another secret"));
        assert!(check(Some(&sign(&secret("another of them."))), "PUT", "/v1/x").contains("another secret"));
        assert_eq!(guard.check(Some(&good), "PUT", "/v1/x").unwrap(), digest(b"body"));
        assert!(check(Some(&good), "PUT", "/v1/x").contains("used before"));
    }

    #[test]
    fn a_signature_counts_at_one_drive_and_for_one_start_of_it() {
        let (one, other) = (guard(), guard());
        let signature = one.secret.sign(&one.challenge(), "GET", "/v1/x", b"").unwrap();
        assert!(said(other.check(Some(&signature), "GET", "/v1/x")).contains("signed for another drive"));
        assert_eq!(said(one.check(Some(&signature), "GET", "/v1/x")), "");
        let anew = guard();
        assert!(said(anew.check(Some(&signature), "GET", "/v1/x")).contains("signed for another drive"));
    }

    #[test]
    fn a_challenge_is_given_out_for_a_minute_and_taken_for_two() {
        let (guard, begun) = (guard(), clock::now());
        let first = guard.challenge_at(begun);
        let later = |seconds: u64| begun + Duration::from_secs(seconds);
        let sign = || guard.secret.sign(&first, "GET", "/v1/x", b"").unwrap();
        assert_eq!(guard.challenge_at(later(59)), first);
        let seen = sign();
        assert_eq!(said(guard.check_at(later(59), Some(&seen), "GET", "/v1/x")), "");
        assert_ne!(guard.challenge_at(later(61)), first);
        assert_eq!(said(guard.check_at(later(100), Some(&sign()), "GET", "/v1/x")), "");
        assert!(said(guard.check_at(later(100), Some(&seen), "GET", "/v1/x")).contains("used before"));
        assert!(said(guard.check_at(later(122), Some(&sign()), "GET", "/v1/x")).contains("minutes ago"));
        assert!(said(guard.check_at(later(10_000), Some(&seen), "GET", "/v1/x")).contains("minutes ago"));
    }

    #[test]
    fn a_challenge_that_was_used_often_is_replaced_and_none_is_used_twice() {
        let guard = guard();
        let first = guard.challenge();
        let sign = || guard.secret.sign(&first, "GET", "/v1/x", b"").unwrap();
        let seen = sign();
        guard.check(Some(&seen), "GET", "/v1/x").unwrap();
        guard.challenges.lock().unwrap()[0].used.extend(0..NONCES_MAX as u64);
        assert_ne!(guard.challenge(), first);
        assert!(said(guard.check(Some(&seen), "GET", "/v1/x")).contains("used before"));
    }

    fn write(folder: &Path, text: &str) -> std::path::PathBuf {
        let path = folder.join("secret");
        crate::store::replace(&path, text.as_bytes()).unwrap();
        path
    }

    #[test]
    fn short_secrets_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), " short \n");
        assert!(Secret::read(&path).err().unwrap().to_string().contains("a secret of 5 B: 16 to 4096 B"));
        let path = write(folder.path(), "  sixteen letters.\n");
        assert_eq!(Secret::read(&path).unwrap().0, b"sixteen letters.");
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_that_others_may_read_or_change_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), "sixteen letters and more");
        for (mode, is_taken) in [(0o600, true), (0o400, true), (0o644, false), (0o640, false), (0o602, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = Secret::read(&path).map(drop);
            assert_eq!(read.is_ok(), is_taken, "{mode:o}: {read:?}");
            let told = read.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(is_taken || told.contains(&format!("(mode {mode:04o}): 0600 is allowed")), "{told}");
        }
    }
}
