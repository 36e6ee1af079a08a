//! Which requests are answered: those for this host, from this site, and acts of operators.

use std::net::SocketAddr;

use wiremend_dataplane::http::{Peer, Request, Response};

use crate::operator::{Operators, user_name};

/// Checks requests.
pub(crate) struct Guard {
    /// Values of `Host` that name this site.
    hosts: Vec<String>,
    operators: Operators,
}

impl Guard {
    /// A guard of a site that listens on `address` and that a proxy may call by the names `hosts`.
    pub(crate) fn new(address: Option<SocketAddr>, hosts: &[String], operators: Operators) -> Self {
        let mut all: Vec<String> = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        if let Some(address) = address {
            let port = address.port();
            all.push(address.to_string());
            all.extend(["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}")));
        }
        Self { hosts: all, operators }
    }

    /// Refuses requests that a page of another site, or a name that was bound to this address, has caused.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Response> {
        let host = request.field("host").unwrap_or_default().to_ascii_lowercase();
        if !self.is_own(&host, request.peer) {
            let why = "unknown Host; add it with --host";
            return Err(Response::text("421 Misdirected Request", why));
        }
        let origin = request.field("origin").map(str::to_ascii_lowercase);
        let is_own = |origin: &String| {
            origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) == Some(host.as_str())
        };
        let is_foreign = origin.as_ref().is_some_and(|origin| !is_own(origin));
        let site = request.field("sec-fetch-site");
        // A link from another site may open the page, and nothing else.
        let is_cross = matches!(site, Some("cross-site" | "same-site")) && request.path != "/";
        if is_foreign || is_cross {
            return Err(Response::text("403 Forbidden", "the request comes from another site"));
        }
        Ok(())
    }

    /// Returns the operator who acts.
    pub(crate) fn operator(&self, request: &Request) -> Result<String, Response> {
        if let Some(field) = request.field("authorization") {
            let token = field.strip_prefix("Bearer ").unwrap_or_default();
            let name = self.operators.name_of(token).map(str::to_owned);
            return name.ok_or_else(|| Response::text("403 Forbidden", "unknown token"));
        }
        match request.peer {
            Peer::Unix { uid } => Ok(user_name(uid)),
            Peer::Tcp(_) if self.operators.is_empty() => {
                let why = "this page only shows; start it with --token-file or use its socket to act";
                Err(Response::text("403 Forbidden", why))
            }
            Peer::Tcp(_) => {
                let refused = Response::text("401 Unauthorized", "acting needs the token of an operator");
                Err(refused.with("WWW-Authenticate", "Bearer"))
            }
        }
    }

    /// Whether an act with a token is possible.
    pub(crate) fn has_tokens(&self) -> bool {
        !self.operators.is_empty()
    }

    fn is_own(&self, host: &str, peer: Peer) -> bool {
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let name = name.map_or(host, |(name, _)| name);
        // The near end of a forwarded socket has any port.
        let is_forwarded = matches!(peer, Peer::Unix { .. });
        let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&name);
        is_forwarded && is_local || self.hosts.iter().any(|own| own == host)
    }
}
