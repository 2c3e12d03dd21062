//! Requests from a drive or a client to the drives on its list of members. Requests also bring the lists of both sides into agreement.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use futures_util::future::Either;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::de::DeserializeOwned;

use crate::auth::Secret;
use crate::wire::{
    AUTHORIZATION, BODY_MAX, CHALLENGE, CRC, FROM, MEMBERS, Refusal, content_type, from_json, tag, to_json,
};
use crate::{ActorError, Members, Ring, RingId, clock};

/// Seconds within which a drive must accept a connection.
const CONNECT_SECONDS: u64 = 2;

/// Wait for an answer after which a drive is asked whether it is there at all. The request itself may take longer.
const ASIDE: Duration = Duration::from_secs(1);

/// Time that it then has to say so.
const ALIVE: Duration = Duration::from_secs(3);

/// Seconds within which a live drive must answer with a block, or after it has read and synced a share. Scrubs, repairs and a look at all
/// shares have no limit.
const ANSWER_SECONDS: u64 = 60;
const SEAL_SECONDS: u64 = 600;

/// Seconds for which a silent drive is not asked again, by a command and by other drives, which may miss its return.
const SILENT_SECONDS: u64 = 15;
const SILENT_AMONG_DRIVES_SECONDS: u64 = 5;

/// How often a request is repeated because lists of members differ, or a connection was lost.
const TRIES: usize = 4;

/// See the head of this file.
pub(crate) struct Peers {
    http: Client<HttpConnector, Full<Bytes>>,
    secret: Option<Secret>,
    /// The drive that asks; `None` for a client.
    me: Option<RingId>,
    members: Mutex<Members>,
    /// Addresses whose drives did not answer, each with the time since when, by the system's clock.
    silent: Mutex<BTreeMap<String, u64>>,
    /// The challenge for the next signature that the drive at each address gave out last.
    challenges: Mutex<BTreeMap<String, String>>,
}

/// A drive's answer.
struct Answer {
    status: StatusCode,
    body: Bytes,
}

/// Why there is no answer.
enum Failed {
    /// No connection was made in time: the address, or the way there, swallows all packets.
    Swallowed,
    /// The connection was refused.
    Refused(String),
    /// A connection broke off, or the answer was damaged.
    Broken(String),
}

impl Peers {
    pub(crate) fn new(members: Members, me: Option<RingId>, secret: Option<Secret>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(Duration::from_secs(CONNECT_SECONDS)));
        connector.set_nodelay(true);
        let http = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        Self { http, secret, me, members: Mutex::new(members), silent: Mutex::default(), challenges: Mutex::default() }
    }

    fn locked(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list as it is now.
    pub(crate) fn members(&self) -> Members {
        self.locked().clone()
    }

    pub(crate) fn ring(&self) -> Ring {
        Ring::new(&self.locked())
    }

    /// Merges another list into this one; returns whether that changed it.
    pub(crate) fn learn(&self, other: &Members) -> Result<bool, ActorError> {
        self.locked().merge(other)
    }

    /// Applies a change to the list; returns whether the list differs now.
    pub(crate) fn change(
        &self,
        change: impl FnOnce(&mut Members) -> Result<(), ActorError>,
    ) -> Result<bool, ActorError> {
        let mut members = self.locked();
        let before = members.version();
        change(&mut members)?;
        Ok(members.version() != before)
    }

    /// Takes another cluster's list in place of this one.
    pub(crate) fn adopt(&self, members: Members) {
        *self.locked() = members;
    }

    /// Sends a request to a drive; returns the body of its answer.
    pub(crate) async fn ask(
        &self,
        drive: RingId,
        method: Method,
        target: &str,
        body: impl Into<Bytes>,
    ) -> Result<Bytes, ActorError> {
        let body = body.into();
        for _ in 0..TRIES {
            let members = self.members();
            let Some(member) = members.drives.get(&drive) else {
                return Err(ActorError::Missing(format!("drive {} is none of the list", drive.short())));
            };
            let unreachable = |why: &str| ActorError::Unreachable {
                what: format!("drive {} at {} does not answer: {why}", drive.short(), member.address),
                drives: vec![drive],
            };
            let sent = self.send(&member.address, method.clone(), target, body.clone(), Some(&members)).await;
            let answer = sent.map_err(|why| unreachable(&why))?;
            if answer.status == StatusCode::OK {
                return Ok(answer.body);
            }
            let refusal: Refusal = from_json(&answer.body).unwrap_or_else(|_| Refusal {
                error: format!("status {}", answer.status),
                drives: Vec::new(),
                members: None,
            });
            if answer.status == StatusCode::UNAUTHORIZED {
                return Err(ActorError::Unreachable {
                    what: format!(
                        "drive {} at {} has another secret: {}",
                        drive.short(),
                        member.address,
                        refusal.error
                    ),
                    drives: vec![drive],
                });
            }
            let Some(theirs) = refusal.members else {
                return Err(ActorError::from_status(answer.status.as_u16(), refusal.error, refusal.drives));
            };
            self.agree(&member.address, &theirs).await?;
        }
        Err(ActorError::Stale(format!("drive {} and this side do not come to one list of members", drive.short())))
    }

    /// Brings both sides' lists into agreement.
    async fn agree(&self, address: &str, theirs: &Members) -> Result<(), ActorError> {
        self.learn(theirs)?;
        let ours = self.members();
        if tag(&ours) != tag(theirs) {
            self.at(address, Method::PUT, "/v1/members", to_json(&ours)?).await?;
        }
        Ok(())
    }

    /// Sends a request that needs no list of members to the drive at `address`.
    pub(crate) async fn at(
        &self,
        address: &str,
        method: Method,
        target: &str,
        body: Vec<u8>,
    ) -> Result<Bytes, ActorError> {
        crate::check_address(address)?;
        let sent = self.send(address, method, target, body.into(), None).await;
        let answer = sent.map_err(|why| ActorError::Unreachable {
            what: format!("no drive answers at {address}: {why}"),
            drives: Vec::new(),
        })?;
        if answer.status == StatusCode::OK {
            return Ok(answer.body);
        }
        let refusal: Refusal = from_json(&answer.body)?;
        Err(ActorError::from_status(answer.status.as_u16(), refusal.error, refusal.drives))
    }

    /// Asks a drive in JSON.
    pub(crate) async fn tell<T: DeserializeOwned>(
        &self,
        drive: RingId,
        target: &str,
        request: &impl serde::Serialize,
    ) -> Result<T, ActorError> {
        from_json(&self.ask(drive, Method::POST, target, to_json(request)?).await?)
    }

    /// Sends one request, and repeats it once if a connection that was kept open turns out to be closed, or if it was signed for a challenge that the
    /// drive takes no more.
    async fn send(
        &self,
        address: &str,
        method: Method,
        target: &str,
        body: Bytes,
        members: Option<&Members>,
    ) -> Result<Answer, String> {
        if self.is_silent(address) {
            return Err("it was silent some seconds ago".to_owned());
        }
        let (mut is_broken, mut is_late) = (false, false);
        loop {
            let signed_for = match &self.secret {
                Some(_) => self.challenge(address, target).await?,
                None => None,
            };
            let request = self.request(address, &method, target, &body, members, signed_for.as_deref());
            let request = request.map_err(|error| error.to_string())?;
            match self.patiently(address, target, self.receive(address, request)).await? {
                Ok(answer) if answer.status == StatusCode::UNAUTHORIZED && !is_late => {
                    if self.secret.is_none() || signed_for == self.known_challenge(address) {
                        return Ok(answer);
                    }
                    is_late = true;
                }
                Ok(answer) => return Ok(answer),
                Err(Failed::Broken(_)) if !is_broken => {
                    is_broken = true;
                    // A drive that refuses a body may end the connection before its answer is read.
                    self.locked_challenges().remove(address);
                }
                Err(failed) => return Err(self.in_words(address, failed)),
            }
        }
    }

    /// Says why there is no answer; notes an address that swallows all.
    fn in_words(&self, address: &str, failed: Failed) -> String {
        match failed {
            Failed::Swallowed => {
                self.locked_silent().insert(address.to_owned(), clock::seconds());
                format!("no connection within {CONNECT_SECONDS} s")
            }
            Failed::Refused(why) | Failed::Broken(why) => why,
        }
    }

    fn locked_challenges(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.challenges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_challenge(&self, address: &str) -> Option<String> {
        self.locked_challenges().get(address).cloned()
    }

    /// The challenge to sign for. If none is known, the drive is asked: its refusal of a request that is not signed has one. A drive without a secret
    /// has none.
    async fn challenge(&self, address: &str, target: &str) -> Result<Option<String>, String> {
        if let Some(known) = self.known_challenge(address) {
            return Ok(Some(known));
        }
        let mut last = String::new();
        // Also on a connection that was kept open and turns out to be closed.
        for _ in 0..2 {
            let request = self.unsigned(address).map_err(|error| error.to_string())?;
            match self.patiently(address, target, self.receive(address, request)).await? {
                Ok(_) => return Ok(self.known_challenge(address)),
                Err(failed @ Failed::Broken(_)) => last = self.in_words(address, failed),
                Err(failed) => return Err(self.in_words(address, failed)),
            }
        }
        Err(last)
    }

    /// A request that every drive answers, if only with a refusal.
    fn unsigned(&self, address: &str) -> Result<Request<Full<Bytes>>, ActorError> {
        self.request(address, &Method::GET, "/v1/members", &Bytes::new(), None, None)
    }

    /// Waits for an answer as long as the drive is there. A drive that is not (stopped, hung, or behind a link that swallows all) counts as silent.
    async fn patiently<T>(&self, address: &str, target: &str, answer: impl Future<Output = T>) -> Result<T, String> {
        let mut answer = std::pin::pin!(answer);
        let most = match target {
            "/v1/scrub" | "/v1/repair" | "/v1/join" | "/v1/widest" => None,
            "/v1/seal" => Some(Duration::from_secs(SEAL_SECONDS)),
            _ => Some(Duration::from_secs(ANSWER_SECONDS)),
        };
        let asked = clock::now();
        loop {
            if let Ok(answered) = tokio::time::timeout(ASIDE, answer.as_mut()).await {
                return Ok(answered);
            }
            // Asked while the answer may still come.
            let alive = tokio::time::timeout(ALIVE, self.is_alive(address));
            let alive = match futures_util::future::select(answer.as_mut(), std::pin::pin!(alive)).await {
                Either::Left((answered, _)) => return Ok(answered),
                Either::Right((alive, _)) => alive.unwrap_or(false),
            };
            if !alive {
                self.locked_silent().insert(address.to_owned(), clock::seconds());
                return Err(format!("nothing came for {} s", (ASIDE + ALIVE).as_secs()));
            }
            if let Some(most) = most.filter(|most| asked.elapsed() >= *most) {
                return Err(format!("nothing came for {} s", most.as_secs()));
            }
        }
    }

    /// Whether anything answers at `address`.
    async fn is_alive(&self, address: &str) -> bool {
        match self.unsigned(address) {
            Ok(request) => self.receive(address, request).await.is_ok(),
            Err(_) => false,
        }
    }

    fn locked_silent(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a drive sent a request, so that it no longer counts as silent.
    pub(crate) fn heard(&self, drive: &str) {
        if self.locked_silent().is_empty() {
            return;
        }
        let address = drive.parse().ok().and_then(|id: RingId| self.locked().drives.get(&id).cloned());
        if let Some(member) = address {
            self.locked_silent().remove(&member.address);
        }
    }

    fn is_silent(&self, address: &str) -> bool {
        let seconds = if self.me.is_some() { SILENT_AMONG_DRIVES_SECONDS } else { SILENT_SECONDS };
        let mut silent = self.locked_silent();
        silent.retain(|_, since| clock::seconds().saturating_sub(*since) < seconds);
        silent.contains_key(address)
    }

    fn request(
        &self,
        address: &str,
        method: &Method,
        target: &str,
        body: &Bytes,
        members: Option<&Members>,
        challenge: Option<&str>,
    ) -> Result<Request<Full<Bytes>>, ActorError> {
        let mut request = Request::builder().method(method).uri(format!("http://{address}{target}"));
        request = request.header(CRC, format!("{:08x}", crc32fast::hash(body)));
        if let Some(members) = members {
            request = request.header(MEMBERS, tag(members));
        }
        if let Some(me) = self.me {
            request = request.header(FROM, me.to_string());
        }
        if method != Method::GET {
            request = request.header(CONTENT_TYPE, content_type(target));
        }
        if let (Some(secret), Some(challenge)) = (&self.secret, challenge) {
            request = request.header(AUTHORIZATION, secret.sign(challenge, method.as_str(), target, body)?);
        }
        request.body(Full::new(body.clone())).map_err(|error| ActorError::System(error.to_string()))
    }

    async fn receive(&self, address: &str, request: Request<Full<Bytes>>) -> Result<Answer, Failed> {
        let answer = self.http.request(request).await.map_err(|error| match error.is_connect() {
            true if is_late(&error) => Failed::Swallowed,
            true => Failed::Refused(innermost(&error)),
            false => Failed::Broken(innermost(&error)),
        })?;
        let status = answer.status();
        if let Some(challenge) = answer.headers().get(CHALLENGE).and_then(|challenge| challenge.to_str().ok()) {
            self.locked_challenges().insert(address.to_owned(), challenge.to_owned());
        }
        let sum = answer.headers().get(CRC).and_then(|sum| sum.to_str().ok()).map(str::to_owned);
        let body = Limited::new(answer.into_body(), BODY_MAX).collect().await;
        let body = body.map_err(|error| Failed::Broken(format!("its answer broke off: {error}")))?.to_bytes();
        if sum.is_some_and(|sum| sum != format!("{:08x}", crc32fast::hash(&body))) {
            return Err(Failed::Broken("its answer does not have its checksum".to_owned()));
        }
        Ok(Answer { status, body })
    }
}

/// Whether an error or one of its sources is a timeout.
fn is_late(error: &(dyn std::error::Error + 'static)) -> bool {
    let timed_out = |error: &std::io::Error| error.kind() == std::io::ErrorKind::TimedOut;
    error.downcast_ref().is_some_and(timed_out) || error.source().is_some_and(is_late)
}

/// Returns the innermost source of an HTTP client's error, whose own text says only that a request failed.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes an address that neither accepts nor refuses connections: a listener that never accepts, with a full backlog.
    fn swallowing() -> (String, impl Sized) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            socket.listen(1).unwrap()
        });
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
            waiting.push(stream);
        }
        (address.to_string(), (runtime, listener, waiting))
    }

    #[test]
    fn an_address_that_swallows_all_is_silent_from_then_on() {
        let (address, _kept) = swallowing();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let peers = Peers::new(Members::new(RingId::of("test", &[]), 1).unwrap(), None, None);
        let ask = || runtime.block_on(peers.at(&address, Method::GET, "/v1/members", Vec::new())).unwrap_err();
        let first = ask();
        assert!(
            matches!(&first, ActorError::Unreachable { what, .. } if what.ends_with("no connection within 2 s")),
            "{first}"
        );
        let begun = clock::now();
        assert!(ask().to_string().ends_with(": it was silent some seconds ago"));
        assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    }

    #[test]
    fn who_waits_for_an_address_that_swallows_all_waits_no_longer_than_was_said() {
        let (address, _kept) = swallowing();
        let begun = clock::now();
        let refused = crate::Client::connect_within(&[address], None, Duration::from_secs(4)).err().unwrap();
        assert!(matches!(refused, ActorError::Unreachable { .. }), "{refused}");
        assert!(begun.elapsed() < Duration::from_millis(5500), "{:?}", begun.elapsed());
    }
}
