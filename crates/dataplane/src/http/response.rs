//! A response.

use std::fmt::Write as _;
use std::sync::Arc;

/// A response with its body.
#[derive(Clone, Debug)]
pub struct Response {
    status: &'static str,
    content_type: &'static str,
    fields: Vec<(&'static str, String)>,
    body: Arc<[u8]>,
}

impl Response {
    /// A response with a status such as `200 OK`.
    pub fn new(status: &'static str, content_type: &'static str, body: impl Into<Arc<[u8]>>) -> Self {
        Self { status, content_type, fields: Vec::new(), body: body.into() }
    }

    /// A line of plain text.
    pub fn text(status: &'static str, line: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", format!("{line}\n").into_bytes())
    }

    /// Adds a header field.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Returns whether it has this header field.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| *field == name)
    }

    pub(super) fn head(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {}\r\nContent-Length: {}\r\n", self.status, self.body.len());
        self.emit_fields(&mut head);
        head.into_bytes()
    }

    /// The head of a stream, which has no length.
    pub(super) fn stream_head(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {}\r\n", self.status);
        self.emit_fields(&mut head);
        head.into_bytes()
    }

    pub(super) fn body(&self) -> &Arc<[u8]> {
        &self.body
    }

    fn emit_fields(&self, head: &mut String) {
        let _ = write!(head, "Content-Type: {}\r\nConnection: close\r\n", self.content_type);
        for (name, value) in &self.fields {
            assert!(!value.contains(['\r', '\n']), "a header field has one line");
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
    }
}
