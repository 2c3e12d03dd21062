//! Checks of a request before a drive works on it: where it comes from and what it is, by its head alone; then its signature; then its body.
//!
//! A drive without a secret listens to processes on its own machine, and a web browser is one: any web page may have it send requests to local
//! addresses. So a drive answers only under an address of its own, not under a name that somebody else may have pointed to it, and takes no request that
//! a page had a browser send.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as _;

use super::connections::Connection;
use super::routes::Refused;
use super::{Node, Reached};
use crate::auth::digest;
use crate::wire::{AUTHORIZATION, CHALLENGE, CRC, FROM, body_max, content_type};
use crate::{ActorError, clock};

/// Time for a part of a body, and for a whole one. Those that ask give up after a minute.
const PART: Duration = Duration::from_secs(10);
const BODY: Duration = Duration::from_secs(60);

/// What browsers say of a request that no page is behind: the user wrote its address.
const FETCHED: HeaderName = HeaderName::from_static("sec-fetch-site");
const BY_THE_USER: &str = "none";

pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Lets a request through, or answers why not. Every answer has the challenge for the next signature.
pub(super) async fn check(State(node): State<Arc<Node>>, request: Request, next: Next) -> Response {
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let mut answer = match checked(&node, request, connection.as_deref()).await {
        Ok(request) => {
            let _working = connection.as_deref().map(Connection::work);
            next.run(request).await
        }
        Err(error) => Refused(error).into_response(),
    };
    if let Some(guard) = &node.guard
        && let Ok(challenge) = HeaderValue::from_str(&guard.challenge())
    {
        answer.headers_mut().insert(CHALLENGE, challenge);
    }
    answer
}

async fn checked(node: &Node, request: Request, connection: Option<&Connection>) -> Result<Request, ActorError> {
    let (parts, body) = request.into_parts();
    check_host(&parts, &node.reached)?;
    check_origin(&parts.headers)?;
    check_content_type(&parts)?;
    let Some(length) = body.size_hint().exact() else {
        return Err(ActorError::Invalid("the request does not say how long its body is (Content-Length)".to_owned()));
    };
    let most = body_max(parts.uri.path()).min(node.bodies.bytes());
    if length > most as u64 {
        return Err(ActorError::Invalid(format!("a request with a body of {length} B: at most {most} B are allowed")));
    }
    let digest_signed = match &node.guard {
        None => None,
        Some(guard) => {
            let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
            let signature = header(&parts.headers, AUTHORIZATION);
            Some(guard.check(signature, parts.method.as_str(), target)?)
        }
    };
    let body = read(node, body, length as usize, connection).await?;
    if header(&parts.headers, CRC).is_some_and(|sum| sum != format!("{:08x}", crc32fast::hash(&body))) {
        return Err(ActorError::Invalid("the request's body does not have its checksum".to_owned()));
    }
    if digest_signed.is_some_and(|signed| signed != digest(&body)) {
        return Err(ActorError::Unauthorized("the request's body is not the one that was signed".to_owned()));
    }
    if let Some(drive) = header(&parts.headers, FROM) {
        node.peers().heard(drive);
    }
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Checks that the request was meant for this drive: names that somebody else points to a drive's address (DNS rebinding) are not the drive's.
fn check_host(parts: &Parts, reached: &Reached) -> Result<(), ActorError> {
    let mut hosts: Vec<&[u8]> = parts.headers.get_all(HOST).iter().map(HeaderValue::as_bytes).collect();
    let named = parts.uri.authority().map(Authority::as_str);
    hosts.extend(named.map(str::as_bytes));
    let is_own = |host: &&[u8]| std::str::from_utf8(host).is_ok_and(|host| reached.is_own(host));
    let wrong = match hosts.iter().find(|host| !is_own(host)) {
        Some(host) => format!("\"{}\"", wane_units::excerpt(&String::from_utf8_lossy(host))),
        None if hosts.is_empty() => "none".to_owned(),
        None => return Ok(()),
    };
    Err(ActorError::Invalid(format!(
        "the request's Host is {wrong}: a drive answers under its IP address and as localhost alone"
    )))
}

/// Checks that no web page is behind the request.
fn check_origin(headers: &HeaderMap) -> Result<(), ActorError> {
    let origin = headers.get(ORIGIN);
    let fetched = headers.get(FETCHED).filter(|from| from.as_bytes() != BY_THE_USER.as_bytes());
    let Some(page) = origin.or(fetched) else { return Ok(()) };
    let page = String::from_utf8_lossy(page.as_bytes()).into_owned();
    let page = wane_units::excerpt(&page);
    Err(ActorError::Invalid(format!("the request was sent by a web page (\"{page}\"): a drive answers none")))
}

/// Checks that the body is of the kind that the request takes. Pages may send texts and forms anywhere, but neither JSON nor bytes.
fn check_content_type(parts: &Parts) -> Result<(), ActorError> {
    if parts.method == Method::GET || parts.method == Method::HEAD {
        return Ok(());
    }
    let wanted = content_type(parts.uri.path());
    let mut found = parts.headers.get_all(CONTENT_TYPE).iter();
    let (first, more) = (found.next().and_then(|kind| kind.to_str().ok()).unwrap_or("none"), found.next());
    // Behind a semicolon may be parameters, such as a charset.
    let kind = first.split(';').next().unwrap_or_default().trim();
    if more.is_none() && kind.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    let (method, path, found) = (&parts.method, wane_units::excerpt(parts.uri.path()), wane_units::excerpt(first));
    Err(ActorError::Invalid(format!("the Content-Type of {method} {path} is \"{found}\": {wanted} is allowed")))
}

/// Takes in a body, which counts against the drive's memory from now until it is dropped.
async fn read(
    node: &Node,
    mut body: Body,
    length: usize,
    connection: Option<&Connection>,
) -> Result<Bytes, ActorError> {
    if length == 0 {
        return Ok(Bytes::new());
    }
    let claim = node.bodies.claim(length).await?;
    let (mut bytes, begun) = (BytesMut::with_capacity(length), clock::now());
    while bytes.len() < length {
        let part = tokio::time::timeout(PART, body.frame()).await;
        if part.is_err() || begun.elapsed() >= BODY {
            let (found, most, whole) = (bytes.len(), PART.as_secs(), BODY.as_secs());
            return Err(ActorError::Invalid(format!(
                "{found} B of the request's body of {length} B came, then nothing for {most} s or no end within {whole} s"
            )));
        }
        match part {
            Ok(Some(Ok(frame))) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..])),
            Ok(Some(Err(error))) => return Err(ActorError::Invalid(format!("the request's body: {error}"))),
            _ => break,
        }
        if let Some(connection) = connection {
            connection.heard();
        }
    }
    if bytes.len() != length {
        let found = bytes.len();
        return Err(ActorError::Invalid(format!("the request's body has {found} B, and {length} B were announced")));
    }
    Ok(claim.hold(bytes))
}

impl Reached {
    /// Whether a Host names this drive, on any port: a tunnel may have another one.
    fn is_own(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        if host.contains('@') {
            return false;
        }
        let name = authority.host().trim_start_matches('[').trim_end_matches(']');
        let address = name.parse::<IpAddr>().map(|address| address.to_canonical());
        match address {
            Ok(address) => self.anywhere || address.is_loopback() || self.own.contains(&address),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_answers_under_its_own_addresses_alone() {
        let one = Reached { own: vec!["192.0.2.7".parse().unwrap()], anywhere: false };
        for own in
            ["192.0.2.7:4801", "192.0.2.7", "127.0.0.1:1", "127.9.9.9", "[::1]:80", "localhost:4801", "LOCALHOST"]
        {
            assert!(one.is_own(own), "{own}");
        }
        for other in ["evil.example", "192.0.2.8:4801", "", "x", "127.0.0.1.evil.example", "user@127.0.0.1", "[::2]"] {
            assert!(!one.is_own(other), "{other}");
        }
        let all = Reached { own: Vec::new(), anywhere: true };
        assert!(all.is_own("192.0.2.8:4801") && !all.is_own("evil.example:4801"));
    }
}
