//! Comments of a capture: the causes of timeouts, on the requests that were sent after them.

use std::collections::VecDeque;
use std::io::{self, Write};

use wiremend_measure::TimeoutCause;
use wiremend_units::{HostId, QpNum, Span, Time};
use wiremend_wire::pcap::{Packet, Writer};

use super::FoundCause;

/// A frame as it is written, but for its bytes.
pub(super) struct WrittenFrame {
    pub(super) interface: u32,
    pub(super) time: Time,
    pub(super) corrupted: bool,
    /// Causes of the timeouts before it.
    pub(super) causes: Vec<TimeoutCause>,
}

impl WrittenFrame {
    pub(super) fn write<W: Write>(&self, bytes: &[u8], writer: &mut Writer<W>) -> io::Result<()> {
        let corrupted = self.corrupted.then(|| "corrupted on this link; shown as sent".to_owned());
        let causes = self.causes.iter().map(|cause| cause.comment());
        let comments: Vec<String> = corrupted.into_iter().chain(causes).collect();
        let comment = comments.join("\n");
        writer.write(&Packet {
            interface: self.interface,
            time_ns: self.time.as_ns(),
            original_len: bytes.len() as u32,
            bytes,
            comment: (!comments.is_empty()).then_some(comment.as_str()),
        })
    }
}

/// A frame whose comment may not be complete.
struct Held {
    frame: WrittenFrame,
    bytes: Vec<u8>,
    /// Requester and destination queue pair of a request.
    request: Option<(HostId, QpNum)>,
}

/// Frames that wait for causes, and causes that wait for frames.
pub(super) struct Truth {
    delay: Span,
    held: VecDeque<Held>,
    /// Causes without a request so far, in the order in which they were found.
    waiting: Vec<FoundCause>,
}

/// Most causes that wait for a request: later ones are not named.
const WAITING_MAX: usize = 4096;

impl Truth {
    pub(super) fn new(delay: Span) -> Self {
        Self { delay, held: VecDeque::new(), waiting: Vec::new() }
    }

    pub(super) fn on_cause(&mut self, found: &FoundCause) {
        // The timer of dummies delays no work request, and after the last retry nothing is sent.
        if found.expiry.dummy || found.expiry.fatal {
            return;
        }
        match self.held.iter_mut().find(|held| held.follows(found)) {
            Some(held) => held.frame.causes.push(found.cause),
            None if self.waiting.len() < WAITING_MAX => self.waiting.push(*found),
            None => {}
        }
    }

    pub(super) fn hold(&mut self, frame: WrittenFrame, bytes: Vec<u8>, request: Option<(HostId, QpNum)>) {
        let mut held = Held { frame, bytes, request };
        if request.is_some() {
            let after = self.waiting.iter().filter(|found| held.follows(found));
            let causes: Vec<TimeoutCause> = after.map(|found| found.cause).collect();
            held.frame.causes = causes;
            self.waiting.retain(|found| !held.follows(found));
        }
        self.held.push_back(held);
    }

    /// Writes the frames whose comments are complete at this time; all at the end.
    pub(super) fn release<W: Write>(&mut self, now: Option<Time>, writer: &mut Writer<W>) -> io::Result<()> {
        let is_complete = |held: &mut Held| now.is_none_or(|now| now.since(held.frame.time) > self.delay);
        while let Some(held) = self.held.pop_front_if(is_complete) {
            held.frame.write(&held.bytes, writer)?;
        }
        Ok(())
    }
}

impl Held {
    /// Whether it is a request of a queue pair after its timer fired.
    fn follows(&self, found: &FoundCause) -> bool {
        self.request == Some((found.requester, found.qp)) && self.frame.time >= found.time
    }
}
