//! Whether a request was made for this page: a browser names in it the host that its user, or a page from elsewhere, asked for.

use std::net::SocketAddr;

use axum::http::{HeaderMap, header};

/// The port that browsers leave out.
const HTTP: u16 = 80;

/// The hosts that name a page.
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    /// Those of the page at an address. A name from elsewhere that leads here too is not among them.
    pub(super) fn of(address: SocketAddr) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string(), format!("localhost:{port}"), format!("[::1]:{port}")];
        if port == HTTP {
            let bare: Vec<String> =
                hosts.iter().filter_map(|host| host.strip_suffix(":80").map(str::to_owned)).collect();
            hosts.extend(bare);
        }
        Self(hosts)
    }

    /// Whether a request names one of them, and nothing else.
    ///
    /// # Errors
    /// A sentence that says what is allowed.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), String> {
        let mut named = headers.get_all(header::HOST).iter();
        let host = named.next().map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned());
        let is_own = host.as_ref().is_some_and(|host| self.0.iter().any(|own| own.eq_ignore_ascii_case(host)));
        if is_own && named.next().is_none() {
            return Ok(());
        }
        let found =
            host.map_or_else(|| "no host".to_owned(), |host| format!("the host {}", wane_units::excerpt(&host)));
        Err(format!("found {found}, and one of {} is allowed", self.0.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn names_from_elsewhere_do_not_reach_the_page() {
        let check = |address: &str, hosts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, HeaderValue::from_static(host));
            }
            Hosts::of(address.parse().unwrap()).check(&headers)
        };
        let at = "127.0.0.1:8080";
        for host in ["127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"] {
            assert_eq!(check(at, &[host]), Ok(()), "{host}");
        }
        for host in ["evil.example:8080", "127.0.0.1:81", "127.0.0.1", "localhost", "127.0.0.1:8080.evil.example", ""] {
            let told = check(at, &[host]).unwrap_err();
            assert!(told.contains("127.0.0.1:8080, localhost:8080, [::1]:8080 is allowed"), "{told}");
        }
        assert!(check(at, &[]).unwrap_err().contains("found no host"));
        assert!(check(at, &["localhost:8080", "evil.example"]).is_err());
        assert_eq!(check("127.0.0.9:80", &["localhost"]), Ok(()));
        assert_eq!(check("[::1]:80", &["[::1]"]), Ok(()));
        assert!(check("127.0.0.9:80", &["127.0.0.1"]).is_err());
    }
}
