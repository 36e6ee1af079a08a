//! Reads capture files into an analysis.

use std::io::Read;

use wiremend_wire::pcap::{CaptureError, CaptureFault, MAX_INTERFACES, Reader};

use crate::analysis::{Analysis, Captured};
use crate::compression::decompressed;

/// Why a capture could not be read to its end.
#[derive(Debug)]
pub struct ReadError {
    /// Frames that were read before.
    pub frames: u64,
    /// The error.
    pub error: CaptureError,
}

impl Analysis {
    /// Reads a capture, compressed or not, to its end. `proceed` is asked now and then; `false` ends the
    /// reading early. After an error, the analysis has the frames before it.
    pub fn read(
        &mut self,
        name: &str,
        source: impl Read,
        mut proceed: impl FnMut() -> bool,
    ) -> Result<u64, ReadError> {
        /// Frames between two questions.
        const ASK_EVERY: u64 = 4096;
        let file = self.add_file(name);
        let mut frames = 0;
        let failed = |frames, error| ReadError { frames, error };
        let source = decompressed(source)
            .map_err(|error| failed(0, CaptureError { offset: 0, fault: CaptureFault::Io(error) }))?;
        let mut reader = Reader::new(source).map_err(|error| failed(0, error))?;
        loop {
            let next = reader.next_in_section().map_err(|error| failed(frames, error))?;
            let Some((section, packet, interface)) = next else { return Ok(frames) };
            frames += 1;
            self.add(&Captured {
                file,
                frame: frames,
                time_ns: packet.time_ns,
                interface: section.wrapping_mul(MAX_INTERFACES as u32).wrapping_add(packet.interface),
                interface_name: &interface.name,
                link_type: interface.link_type,
                bytes: packet.bytes,
                comment: packet.comment,
            });
            if frames % ASK_EVERY == 0 && !proceed() {
                return Ok(frames);
            }
        }
    }
}
