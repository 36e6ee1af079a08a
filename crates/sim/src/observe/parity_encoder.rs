//! Parities of a captured link with forward error correction, computed from the bytes of the frames before
//! them.

use wiremend_proto::fec::codec::Codec;

#[derive(Default)]
pub(crate) struct ParityEncoder {
    codec: Codec,
    /// The frames of the block so far, without link header and FCS.
    frames: Vec<Vec<u8>>,
    /// Its parities, once the first was sent.
    made: Vec<Vec<u8>>,
}

impl ParityEncoder {
    /// Adds a frame to a block.
    pub(crate) fn take(&mut self, index: u8, frame: &[u8]) {
        if index == 0 {
            self.frames.clear();
            self.made.clear();
        }
        assert_eq!(self.frames.len(), usize::from(index), "all frames of a link are captured, in order");
        self.frames.push(frame.to_vec());
    }

    /// Returns the bytes of parity number `place` of the block.
    pub(crate) fn parity(&mut self, place: u8, parities: u8) -> &[u8] {
        if self.made.is_empty() {
            let frames: Vec<&[u8]> = self.frames.iter().map(Vec::as_slice).collect();
            self.made = self.codec.encode(&frames, parities).expect("a sent block can be encoded");
        }
        &self.made[usize::from(place)]
    }
}
