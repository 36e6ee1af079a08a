//! The bytes of parities: systematic Reed–Solomon over frames of unequal length.
//!
//! A frame becomes a *shard*: its length in two bytes (big endian), the frame, and zeros up to the longest of the block, so that
//! a restored frame gets its own length back. Frames are sent as they are; only parities have the length of a shard.
//!
//! A single parity is the XOR of all shards, which is the Reed–Solomon code of that size and costs next to nothing to undo. More
//! of them come from `reed-solomon-simd` (GF(2¹⁶), Leopard): it encodes, which every block needs, several times faster than
//! what else there is, and decodes, which only losses need, in a time that hardly depends on the block.
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

/// The length in front of a frame.
const LENGTH_PREFIX: usize = 2;

/// The length of the parities of a block, given that of its longest frame. It is even: symbols have 16 bits.
pub const fn parity_len(longest_frame: usize) -> usize {
    (longest_frame + LENGTH_PREFIX).next_multiple_of(2)
}

/// Makes and uses parities; keeps its tables and buffers from one block to the next.
#[derive(Default)]
pub struct Codec {
    encoder: Option<ReedSolomonEncoder>,
    decoder: Option<ReedSolomonDecoder>,
    shard: Vec<u8>,
}

impl Codec {
    /// The parities of a block of frames.
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

    /// The frames that are missing, with their places, from those that came and the parities that came. Both slices
    /// are as long as the block was sent.
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
            let place = frames.iter().position(Option::is_none).unwrap_or_default();
            return Ok(vec![(place as u8, frame_of(&shard)?)]);
        }
        let decoder = ready_decoder(&mut self.decoder, frames.len(), parities.len(), len)?;
        for (place, frame) in frames.iter().enumerate() {
            if let Some(frame) = frame {
                fill(&mut self.shard, frame, len);
                decoder.add_original_shard(place, &self.shard)?;
            }
        }
        for (place, parity) in parities.iter().enumerate() {
            if let Some(parity) = parity {
                decoder.add_recovery_shard(place, parity)?;
            }
        }
        let made = decoder.decode()?;
        let restored = made.restored_original_iter();
        restored.map(|(place, shard)| Ok((place as u8, frame_of(shard)?))).collect()
    }
}

/// Why parities cannot be made or used.
#[derive(Clone, PartialEq, Debug)]
pub enum CodecError {
    /// No frame, no parity, or more than a block holds.
    Counts {
        /// Of frames.
        frames: usize,
        /// Of parities.
        parities: usize,
    },
    /// A frame is longer than its length can say.
    LongFrame {
        /// In bytes.
        len: usize,
    },
    /// More frames are missing than parities came.
    TooFew {
        /// Frames.
        missing: usize,
        /// Parities.
        parities: usize,
    },
    /// Frames and parities are not of one block: a parity is shorter than a frame or than another parity, or what was restored is
    /// no frame.
    Mismatch,
    /// The coder refuses; all that could make it do so is checked before.
    Coder(reed_solomon_simd::Error),
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counts { frames, parities } => write!(
                f,
                "{frames} frames and {parities} parities are no block: at least one of each and 255 at most together"
            ),
            Self::LongFrame { len } => write!(f, "a frame of {len} bytes is longer than 65535"),
            Self::TooFew { missing, parities } => {
                write!(f, "{missing} frames are missing and only {parities} parities came")
            }
            Self::Mismatch => f.write_str("frames and parities are not of one block"),
            Self::Coder(error) => write!(f, "the coder refuses: {error}"),
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

/// The length that all parities have and all frames fit in.
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

/// Makes the shard of a frame.
fn fill(shard: &mut Vec<u8>, frame: &[u8], len: usize) {
    shard.clear();
    shard.extend_from_slice(&(frame.len() as u16).to_be_bytes());
    shard.extend_from_slice(frame);
    shard.resize(len, 0);
}

/// Adds the shard of a frame to another; the zeros behind it add nothing.
fn add(shard: &mut [u8], frame: &[u8]) {
    let (length, bytes) = shard.split_at_mut(LENGTH_PREFIX);
    for (to, from) in length.iter_mut().zip((frame.len() as u16).to_be_bytes()) {
        *to ^= from;
    }
    for (to, from) in bytes.iter_mut().zip(frame) {
        *to ^= from;
    }
}

/// The frame in a shard.
fn frame_of(shard: &[u8]) -> Result<Vec<u8>, CodecError> {
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

    /// What comes of `all` when only the places in `came` do.
    fn some(all: &[Vec<u8>], came: impl Fn(usize) -> bool) -> Vec<Option<&[u8]>> {
        all.iter().enumerate().map(|(place, bytes)| came(place).then_some(bytes.as_slice())).collect()
    }

    /// Every pattern of losses that a block of (5,2) survives, and every one that it does not.
    #[test]
    fn any_five_of_seven_restore_all() {
        let frames: Vec<Vec<u8>> = (0..5_u8).map(|i| vec![i + 1; 60 + usize::from(i) * 7]).collect();
        let mut codec = Codec::default();
        let parities = codec.encode(&refs(&frames), 2).unwrap();
        for pattern in 0_u32..128 {
            let came = |place: usize| pattern >> place & 1 == 1;
            let result = codec.decode(&some(&frames, came), &some(&parities, |place| came(place + 5)));
            let missing: Vec<usize> = (0..5).filter(|place| !came(*place)).collect();
            if missing.is_empty() || pattern.count_ones() >= 5 {
                let wanted: Vec<_> =
                    missing.iter().map(|place| (*place as u8, frames[*place].clone())).collect();
                assert_eq!(result.unwrap(), wanted, "{pattern:07b}");
            } else {
                assert!(matches!(result, Err(CodecError::TooFew { .. })), "{pattern:07b}");
            }
        }
    }

    /// The bytes of parities are part of what goes over a wire: both ends must agree on them for ever.
    #[test]
    fn parities_do_not_change() {
        let frames: [&[u8]; 3] = [&[1, 2, 3, 4], &[5, 6], &[7, 8, 9]];
        let mut codec = Codec::default();
        assert_eq!(codec.encode(&frames, 1).unwrap(), [[0, 4 ^ 2 ^ 3, 1 ^ 5 ^ 7, 2 ^ 6 ^ 8, 3 ^ 9, 4]]);
        let two = codec.encode(&frames, 2).unwrap();
        assert_eq!(two, [[224, 36, 59, 6, 8, 15], [224, 33, 56, 10, 2, 11]]);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let mut codec = Codec::default();
        let long = vec![0; 65_536];
        assert_eq!(codec.encode(&[&long], 1), Err(CodecError::LongFrame { len: 65_536 }));
        assert!(codec.encode(&[], 1).unwrap_err().to_string().contains("at least one"));
        assert!(codec.encode(&[&b"x"[..]; 254], 2).is_err());
        assert!(codec.encode(&[b"x"], 0).is_err());
        // A parity that is too short, of odd length, empty, or not as long as its neighbour.
        for parity in [&[0; 4][..], &[0; 7], &[]] {
            assert_eq!(codec.decode(&[Some(b"frame"), None], &[Some(parity)]), Err(CodecError::Mismatch));
        }
        let mixed = codec.decode(&[None, None], &[Some(&[0; 8]), Some(&[0; 10])]);
        assert_eq!(mixed, Err(CodecError::Mismatch));
        // A parity of other frames: its length does not fit, or there is something behind the frame.
        assert_eq!(codec.decode(&[None], &[Some(&[0xFF; 8])]), Err(CodecError::Mismatch));
        assert_eq!(codec.decode(&[None], &[Some(&[0, 1, 7, 7])]), Err(CodecError::Mismatch));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        /// Any k of k + h restore what is missing, whatever the lengths.
        #[test]
        fn any_k_restore_all(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..30),
            parities in 1_u8..6,
            order in any::<prop::sample::Index>(),
            seed: u64,
        ) {
            let mut codec = Codec::default();
            let made = codec.encode(&refs(&frames), parities).unwrap();
            let longest = frames.iter().map(Vec::len).max().unwrap();
            prop_assert!(made.iter().all(|parity| parity.len() == parity_len(longest)));
            // Lose exactly as many as there are parities, at places that follow from the seed.
            let total = frames.len() + made.len();
            let lost = order.index(usize::from(parities) + 1);
            let mut places: Vec<usize> = (0..total).collect();
            places.sort_by_key(|place| wiremend_units::mix(seed ^ *place as u64));
            let came = |place: usize| !places[..lost].contains(&place);
            let restored =
                codec.decode(&some(&frames, came), &some(&made, |place| came(place + frames.len()))).unwrap();
            let wanted: Vec<_> = (0..frames.len())
                .filter(|place| !came(*place))
                .map(|place| (place as u8, frames[place].clone()))
                .collect();
            prop_assert_eq!(restored, wanted);
        }

        /// Bytes from a wire never panic.
        #[test]
        fn rubbish_is_refused_or_restored(
            frames in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..20)), 0..6),
            parities in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..24)), 0..4),
        ) {
            let frames: Vec<_> = frames.iter().map(Option::as_deref).collect();
            let parities: Vec<_> = parities.iter().map(Option::as_deref).collect();
            let _ = Codec::default().decode(&frames, &parities);
        }
    }
}
