//! All frames of an endpoint in a file.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use wiremend_dataplane::event_loop::Clock;
use wiremend_wire::pcap::{Packet, Writer};

use super::error::PeerError;
use crate::drops::Direction;

pub(super) struct Capture {
    writer: Writer<BufWriter<File>>,
    clock: Clock,
    path: PathBuf,
}

impl Capture {
    pub(super) fn create(path: PathBuf, interface: &str) -> Result<Self, PeerError> {
        let start = || -> io::Result<Writer<BufWriter<File>>> {
            let mut writer = Writer::new(BufWriter::new(File::create(&path)?), "wiremend peer")?;
            writer.add_interface(interface)?;
            Ok(writer)
        };
        match start() {
            Ok(writer) => Ok(Self { writer, clock: Clock::start(), path }),
            Err(source) => Err(PeerError::Io { what: format!("write `{}`", path.display()), source }),
        }
    }

    /// Adds a frame. Dropped ones have a comment.
    pub(super) fn write(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        is_dropped: bool,
    ) -> Result<(), PeerError> {
        let comment = match (direction, is_dropped) {
            (Direction::In, true) => Some("received and dropped"),
            (Direction::Out, true) => Some("dropped instead of sent"),
            _ => None,
        };
        let (time_ns, original_len) = (self.clock.now().as_ns(), bytes.len() as u32);
        let written = self.writer.write(&Packet { interface: 0, time_ns, original_len, bytes, comment });
        written.map_err(|source| self.error(source))
    }

    pub(super) fn finish(&mut self) -> Result<(), PeerError> {
        self.writer.flush().map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> PeerError {
        PeerError::Io { what: format!("write `{}`", self.path.display()), source }
    }
}
