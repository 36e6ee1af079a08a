//! The parities of a captured link with error correction, made of the bytes of the frames before them.

use wiremend_proto::fec::codec::Codec;

/// One direction of such a link.
#[derive(Default)]
pub(crate) struct Parities {
    codec: Codec,
    /// The frames of the block so far, without link header and FCS.
    frames: Vec<Vec<u8>>,
    /// Its parities, once the first has left.
    made: Vec<Vec<u8>>,
}

impl Parities {
    /// A frame of a block leaves.
    pub(crate) fn take(&mut self, index: u8, frame: &[u8]) {
        if index == 0 {
            self.frames.clear();
            self.made.clear();
        }
        assert_eq!(self.frames.len(), usize::from(index), "all frames of a link are captured, in order");
        self.frames.push(frame.to_vec());
    }

    /// The bytes of a parity of that block, by its place among the parities.
    pub(crate) fn parity(&mut self, place: u8, parities: u8) -> &[u8] {
        if self.made.is_empty() {
            let frames: Vec<&[u8]> = self.frames.iter().map(Vec::as_slice).collect();
            self.made = self.codec.encode(&frames, parities).expect("a block that was sent can be coded");
        }
        &self.made[usize::from(place)]
    }
}
