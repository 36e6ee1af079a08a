//! Bytes of parities: systematic Reed–Solomon over frames of unequal length.
//!
//! A *shard* is the length of a frame in two bytes (big endian), the frame, and zeros up to the longest of
//! the block, so that a restored frame has its own length. Frames are sent unchanged; only parities have the
//! length of a shard.
//!
//! A single parity is the XOR of all shards, the Reed–Solomon code of that size, which is cheap to decode.
//! More parities come from `reed-solomon-simd` (GF(2¹⁶), Leopard). Every block needs encoding, where it is
//! several times faster than other crates. Only losses need decoding, whose time depends little on the block.
//!
//! ```
//! use wiremend_proto::fec::codec::Codec;
//!
//! let mut codec = Codec::default();
//! let frames: [&[u8]; 3] = [b"a frame", b"another, longer one", b"and a third"];
//! let parities = codec.encode(&frames, 2)?;
//! let restored = codec.decode(&[None, Some(frames[1]), None], &[Some(&parities[0]), Some(&parities[1])])?;
//! assert_eq!(restored, [(0, b"a frame".to_vec()), (2, b"and a third".to_vec())]);
//! # Ok::<(), wiremend_proto::fec::codec::CodecError>(())
//! ```

use std::fmt;

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

/// Bytes of the length before a frame.
const LENGTH_PREFIX: usize = 2;

/// Length of the parities of a block with this longest frame. It is even, because symbols have 16 bits.
pub const fn parity_len(longest_frame: usize) -> usize {
    (longest_frame + LENGTH_PREFIX).next_multiple_of(2)
}

/// Encodes and decodes blocks. Keeps its tables and buffers between blocks.
#[derive(Default)]
pub struct Codec {
    encoder: Option<ReedSolomonEncoder>,
    decoder: Option<ReedSolomonDecoder>,
    shard: Vec<u8>,
}

impl Codec {
    /// Returns the parities of a block.
    pub fn encode(&mut self, frames: &[&[u8]], parities: u8) -> Result<Vec<Vec<u8>>, CodecError> {
        check_counts(frames.len(), usize::from(parities))?;
        let longest = frames.iter().map(|frame| frame.len()).max().unwrap_or_default();
        if longest > usize::from(u16::MAX) {
            return Err(CodecError::LongFrame { len: longest });
        }
        let len = parity_len(longest);
        if parities == 1 {
            let mut parity = vec![0; len];
            for frame in frames {
                add(&mut parity, frame);
            }
            return Ok(vec![parity]);
        }
        let encoder = ready_encoder(&mut self.encoder, frames.len(), usize::from(parities), len)?;
        for frame in frames {
            fill(&mut self.shard, frame, len);
            encoder.add_original_shard(&self.shard)?;
        }
        let made = encoder.encode()?;
        Ok(made.recovery_iter().map(<[u8]>::to_vec).collect())
    }

    /// Returns the missing frames with their index. Both slices have the length of the block as sent; missing
    /// entries are `None`.
    pub fn decode(
        &mut self,
        frames: &[Option<&[u8]>],
        parities: &[Option<&[u8]>],
    ) -> Result<Vec<(u8, Vec<u8>)>, CodecError> {
        check_counts(frames.len(), parities.len())?;
        let missing = frames.iter().filter(|frame| frame.is_none()).count();
        let came = parities.iter().flatten().count();
        if missing == 0 {
            return Ok(Vec::new());
        }
        if missing > came {
            return Err(CodecError::TooFew { missing, parities: came });
        }
        let len = check_lengths(frames, parities)?;
        if let [Some(parity)] = parities {
            let mut shard = parity.to_vec();
            for frame in frames.iter().flatten() {
                add(&mut shard, frame);
            }
            let position = frames.iter().position(Option::is_none).unwrap_or_default();
            return Ok(vec![(position as u8, parse_shard(&shard)?)]);
        }
        let decoder = ready_decoder(&mut self.decoder, frames.len(), parities.len(), len)?;
        for (position, frame) in frames.iter().enumerate() {
            if let Some(frame) = frame {
                fill(&mut self.shard, frame, len);
                decoder.add_original_shard(position, &self.shard)?;
            }
        }
        for (position, parity) in parities.iter().enumerate() {
            if let Some(parity) = parity {
                decoder.add_recovery_shard(position, parity)?;
            }
        }
        let made = decoder.decode()?;
        let restored = made.restored_original_iter();
        restored.map(|(position, shard)| Ok((position as u8, parse_shard(shard)?))).collect()
    }
}

/// Error of encoding or decoding.
#[derive(Clone, PartialEq, Debug)]
pub enum CodecError {
    /// No frame, no parity, or more than a block holds.
    Counts {
        /// Number of frames.
        frames: usize,
        /// Number of parities.
        parities: usize,
    },
    /// A frame is longer than its two length bytes allow.
    LongFrame {
        /// Length in bytes.
        len: usize,
    },
    /// More frames are missing than parities arrived.
    TooFew {
        /// Missing frames.
        missing: usize,
        /// Parities that arrived.
        parities: usize,
    },
    /// Frames and parities are of different blocks: lengths do not match, or a restored shard is invalid.
    Mismatch,
    /// Error of the coder. All its conditions are checked before.
    Coder(reed_solomon_simd::Error),
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counts { frames, parities } => write!(
                f,
                "{frames} frames and {parities} parities are not a block: at least one of each, at most 255 in total"
            ),
            Self::LongFrame { len } => write!(f, "a frame of {len} bytes is longer than 65535"),
            Self::TooFew { missing, parities } => {
                write!(f, "{missing} frames are missing, but only {parities} parities arrived")
            }
            Self::Mismatch => f.write_str("frames and parities are of different blocks"),
            Self::Coder(error) => write!(f, "the Reed-Solomon coder failed: {error}"),
        }
    }
}

impl std::error::Error for CodecError {}

impl From<reed_solomon_simd::Error> for CodecError {
    fn from(error: reed_solomon_simd::Error) -> Self {
        Self::Coder(error)
    }
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec").finish_non_exhaustive()
    }
}

fn check_counts(frames: usize, parities: usize) -> Result<(), CodecError> {
    let is_block = frames > 0 && parities > 0 && frames.saturating_add(parities) <= 255;
    if is_block { Ok(()) } else { Err(CodecError::Counts { frames, parities }) }
}

/// Returns the common length of all parities, which every frame must fit.
fn check_lengths(frames: &[Option<&[u8]>], parities: &[Option<&[u8]>]) -> Result<usize, CodecError> {
    let len = parities.iter().flatten().map(|parity| parity.len()).max().unwrap_or_default();
    let are_equal = parities.iter().flatten().all(|parity| parity.len() == len);
    let fits = frames.iter().flatten().all(|frame| parity_len(frame.len()) <= len);
    if are_equal && fits && len >= LENGTH_PREFIX && len.is_multiple_of(2) {
        Ok(len)
    } else {
        Err(CodecError::Mismatch)
    }
}

fn ready_encoder(
    slot: &mut Option<ReedSolomonEncoder>,
    frames: usize,
    parities: usize,
    len: usize,
) -> Result<&mut ReedSolomonEncoder, CodecError> {
    match slot {
        Some(encoder) => {
            encoder.reset(frames, parities, len)?;
            Ok(encoder)
        }
        None => Ok(slot.insert(ReedSolomonEncoder::new(frames, parities, len)?)),
    }
}

fn ready_decoder(
    slot: &mut Option<ReedSolomonDecoder>,
    frames: usize,
    parities: usize,
    len: usize,
) -> Result<&mut ReedSolomonDecoder, CodecError> {
    match slot {
        Some(decoder) => {
            decoder.reset(frames, parities, len)?;
            Ok(decoder)
        }
        None => Ok(slot.insert(ReedSolomonDecoder::new(frames, parities, len)?)),
    }
}

/// Writes the shard of a frame.
fn fill(shard: &mut Vec<u8>, frame: &[u8], len: usize) {
    shard.clear();
    shard.extend_from_slice(&(frame.len() as u16).to_be_bytes());
    shard.extend_from_slice(frame);
    shard.resize(len, 0);
}

/// XORs the shard of a frame into another.
fn add(shard: &mut [u8], frame: &[u8]) {
    let (length, bytes) = shard.split_at_mut(LENGTH_PREFIX);
    for (to, from) in length.iter_mut().zip((frame.len() as u16).to_be_bytes()) {
        *to ^= from;
    }
    for (to, from) in bytes.iter_mut().zip(frame) {
        *to ^= from;
    }
}

/// Returns the frame in a shard.
fn parse_shard(shard: &[u8]) -> Result<Vec<u8>, CodecError> {
    let (length, bytes) = shard.split_first_chunk().ok_or(CodecError::Mismatch)?;
    let len = usize::from(u16::from_be_bytes(*length));
    let (frame, padding) = bytes.split_at_checked(len).ok_or(CodecError::Mismatch)?;
    if padding.iter().all(|byte| *byte == 0) { Ok(frame.to_vec()) } else { Err(CodecError::Mismatch) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refs(frames: &[Vec<u8>]) -> Vec<&[u8]> {
        frames.iter().map(Vec::as_slice).collect()
    }

    /// Replaces all entries of `all` that did not arrive by `None`.
    fn some(all: &[Vec<u8>], came: impl Fn(usize) -> bool) -> Vec<Option<&[u8]>> {
        all.iter().enumerate().map(|(position, bytes)| came(position).then_some(bytes.as_slice())).collect()
    }

    /// All loss patterns of a (5,2) block.
    #[test]
    fn any_five_of_seven_restore_the_block() {
        let frames: Vec<Vec<u8>> = (0..5_u8).map(|i| vec![i + 1; 60 + usize::from(i) * 7]).collect();
        let mut codec = Codec::default();
        let parities = codec.encode(&refs(&frames), 2).unwrap();
        for pattern in 0_u32..128 {
            let came = |position: usize| pattern >> position & 1 == 1;
            let result = codec.decode(&some(&frames, came), &some(&parities, |position| came(position + 5)));
            let missing: Vec<usize> = (0..5).filter(|position| !came(*position)).collect();
            if missing.is_empty() || pattern.count_ones() >= 5 {
                let wanted: Vec<_> =
                    missing.iter().map(|position| (*position as u8, frames[*position].clone())).collect();
                assert_eq!(result.unwrap(), wanted, "{pattern:07b}");
            } else {
                assert!(matches!(result, Err(CodecError::TooFew { .. })), "{pattern:07b}");
            }
        }
    }

    /// Parities are part of the wire format, so both ends must always agree on them.
    #[test]
    fn parity_bytes_are_stable() {
        let frames: [&[u8]; 3] = [&[1, 2, 3, 4], &[5, 6], &[7, 8, 9]];
        let mut codec = Codec::default();
        assert_eq!(codec.encode(&frames, 1).unwrap(), [[0, 4 ^ 2 ^ 3, 1 ^ 5 ^ 7, 2 ^ 6 ^ 8, 3 ^ 9, 4]]);
        let two = codec.encode(&frames, 2).unwrap();
        assert_eq!(two, [[224, 36, 59, 6, 8, 15], [224, 33, 56, 10, 2, 11]]);
    }

    #[test]
    fn mismatched_blocks_are_refused() {
        let mut codec = Codec::default();
        let long = vec![0; 65_536];
        assert_eq!(codec.encode(&[&long], 1), Err(CodecError::LongFrame { len: 65_536 }));
        assert!(codec.encode(&[], 1).unwrap_err().to_string().contains("at least one"));
        assert!(codec.encode(&[&b"x"[..]; 254], 2).is_err());
        assert!(codec.encode(&[b"x"], 0).is_err());
        // A parity that is too short, of odd length, empty, or shorter than another.
        for parity in [&[0; 4][..], &[0; 7], &[]] {
            assert_eq!(codec.decode(&[Some(b"frame"), None], &[Some(parity)]), Err(CodecError::Mismatch));
        }
        let mixed = codec.decode(&[None, None], &[Some(&[0; 8]), Some(&[0; 10])]);
        assert_eq!(mixed, Err(CodecError::Mismatch));
        // A parity of other frames: its length does not match, or bytes follow the frame.
        assert_eq!(codec.decode(&[None], &[Some(&[0xFF; 8])]), Err(CodecError::Mismatch));
        assert_eq!(codec.decode(&[None], &[Some(&[0, 1, 7, 7])]), Err(CodecError::Mismatch));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Any k of k + h shards restore the block, whatever the lengths.
        #[test]
        fn any_k_restore_the_block(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..30),
            parities in 1_u8..6,
            order in any::<prop::sample::Index>(),
            seed: u64,
        ) {
            let mut codec = Codec::default();
            let made = codec.encode(&refs(&frames), parities).unwrap();
            let longest = frames.iter().map(Vec::len).max().unwrap();
            prop_assert!(made.iter().all(|parity| parity.len() == parity_len(longest)));
            // Lose up to as many shards as there are parities, chosen by the seed.
            let total = frames.len() + made.len();
            let lost = order.index(usize::from(parities) + 1);
            let mut places: Vec<usize> = (0..total).collect();
            places.sort_by_key(|position| wiremend_units::mix(seed ^ *position as u64));
            let came = |position: usize| !places[..lost].contains(&position);
            let restored =
                codec.decode(&some(&frames, came), &some(&made, |position| came(position + frames.len()))).unwrap();
            let wanted: Vec<_> = (0..frames.len())
                .filter(|position| !came(*position))
                .map(|position| (position as u8, frames[position].clone()))
                .collect();
            prop_assert_eq!(restored, wanted);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(
            frames in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..20)), 0..6),
            parities in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..24)), 0..4),
        ) {
            let frames: Vec<_> = frames.iter().map(Option::as_deref).collect();
            let parities: Vec<_> = parities.iter().map(Option::as_deref).collect();
            let _ = Codec::default().decode(&frames, &parities);
        }
    }
}
