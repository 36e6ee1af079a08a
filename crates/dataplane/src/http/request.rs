//! A request and its parser.

use std::net::SocketAddr;

/// The client of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// A TCP client.
    Tcp(SocketAddr),
    /// A process of this user at a Unix socket.
    Unix {
        /// User id at the time of the connection.
        uid: u32,
    },
}

/// A request with all of its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Method.
    pub method: String,
    /// Path, as sent. Escapes are not decoded.
    pub path: String,
    query: String,
    fields: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// The client.
    pub peer: Peer,
}

/// Maximum length of the request line and the header fields.
pub(super) const HEAD_BYTES_MAX: usize = 16 << 10;
/// Maximum length of a body.
pub(super) const BODY_BYTES_MAX: usize = 16 << 10;
const FIELDS_MAX: usize = 100;

/// Why a request is not served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
}

const fn refusal(status: &'static str, reason: &'static str) -> Refusal {
    Refusal { status, reason }
}

const BAD: &str = "400 Bad Request";

impl Request {
    /// Parses what was received so far; `None` if more is needed.
    pub(super) fn parse(bytes: &[u8], peer: Peer) -> Result<Option<Self>, Refusal> {
        let end = bytes.windows(4).take(HEAD_BYTES_MAX).position(|four| four == b"\r\n\r\n");
        let Some(end) = end else {
            if bytes.len() >= HEAD_BYTES_MAX {
                return Err(refusal(
                    "431 Request Header Fields Too Large",
                    "the head of the request is too long",
                ));
            }
            return Ok(None);
        };
        let head = std::str::from_utf8(&bytes[..end]);
        let head = head.map_err(|_| refusal(BAD, "the head of the request is no text"))?;
        let mut request = Self::parse_head(head, peer)?;
        let length = request.body_length()?;
        let body = &bytes[end + 4..];
        if body.len() < length {
            return Ok(None);
        }
        request.body = body[..length].to_vec();
        Ok(Some(request))
    }

    fn parse_head(head: &str, peer: Peer) -> Result<Self, Refusal> {
        let mut lines = head.split("\r\n");
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, protocol] = words[..] else {
            return Err(refusal(BAD, "the request line has not three words"));
        };
        if !protocol.starts_with("HTTP/1.") || !target.starts_with('/') {
            return Err(refusal(BAD, "not an HTTP/1 request for a path"));
        }
        let mut fields = Vec::new();
        for line in lines {
            let field = line.split_once(':').filter(|(name, _)| {
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
            });
            // Blanks before the colon and folded lines have been used to smuggle requests (RFC 9112 §5.1).
            let (name, value) = field.ok_or(refusal(BAD, "a header field is malformed"))?;
            fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if fields.len() > FIELDS_MAX {
            return Err(refusal("431 Request Header Fields Too Large", "too many header fields"));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
        let request = Self { method, path, query, fields, body: Vec::new(), peer };
        for once in ["host", "content-length", "origin", "authorization"] {
            if request.fields.iter().filter(|(name, _)| name == once).count() > 1 {
                return Err(refusal(BAD, "a header field is given twice"));
            }
        }
        Ok(request)
    }

    fn body_length(&self) -> Result<usize, Refusal> {
        if self.field("transfer-encoding").is_some() {
            return Err(refusal("501 Not Implemented", "send the body with a Content-Length"));
        }
        let Some(length) = self.field("content-length") else { return Ok(0) };
        let length: usize = length.parse().map_err(|_| refusal(BAD, "Content-Length is no number"))?;
        if length > BODY_BYTES_MAX {
            return Err(refusal("413 Content Too Large", "the body is too long"));
        }
        Ok(length)
    }

    /// A header field, by its name in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// A decoded parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).and_then(|(_, value)| decoded(value))
    }

    /// All decoded parameters of this name; malformed ones are left out.
    pub fn parameters(&self, name: &str) -> Vec<String> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).filter_map(|(_, value)| decoded(value)).collect()
    }
}

/// Decodes percent escapes and `+`; `None` if they are malformed.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                (digit(rest.next()?)? << 4 | digit(rest.next()?)?) as u8
            }
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer = Peer::Unix { uid: 7 };

    fn parsed(text: &str) -> Result<Option<Request>, Refusal> {
        Request::parse(text.as_bytes(), PEER)
    }

    #[test]
    fn a_request_is_complete_with_its_body() {
        let text = "POST /api?port=a%3Ab+c&x=1 HTTP/1.1\r\nHost: h\r\nContent-LENGTH: 3\r\n\r\nabcd";
        for end in 0..text.len() - 1 {
            assert_eq!(parsed(&text[..end]), Ok(None), "{end}");
        }
        let request = parsed(text).unwrap().unwrap();
        assert_eq!((&*request.method, &*request.path, &request.body[..]), ("POST", "/api", &b"abc"[..]));
        assert_eq!(request.parameter("port").as_deref(), Some("a:b c"));
        assert_eq!((request.parameters("x"), request.parameters("y")), (vec!["1".to_owned()], Vec::new()));
        assert_eq!((request.field("host"), request.field("origin")), (Some("h"), None));
    }

    #[test]
    fn hostile_requests_are_refused() {
        for (text, status) in [
            ("GET http://other/ HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/2\r\n\r\n", "400"),
            ("GET  / HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n", "413"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "501"),
        ] {
            let refused = parsed(text).unwrap_err();
            assert!(refused.status.starts_with(status), "{text:?}: {refused:?}");
        }
        let giant = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        assert!(parsed(&giant).unwrap_err().status.starts_with("431"));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS_MAX + 1));
        assert!(parsed(&many).unwrap_err().status.starts_with("431"));
        assert!(Request::parse(b"GET /\xff HTTP/1.1\r\n\r\n", PEER).is_err());
    }

    #[test]
    fn escapes_of_parameters_are_decoded_or_refused() {
        assert_eq!(decoded("a%2Fb").as_deref(), Some("a/b"));
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }
}
