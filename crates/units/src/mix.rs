//! A fixed hash for tie-breaking, path choice and seeds: the finaliser of `SplitMix64` (Steele, Lea, Flood
//! 2014).

/// Mixes 64 bits so that each output bit depends on each input bit.
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Seed of the random stream of one entity for one purpose. Streams never share draws, so an additional
/// entity does not change the draws of others.
pub const fn stream_seed(seed: u64, purpose: u64, entity: u64) -> u64 {
    mix(mix(mix(seed) ^ purpose) ^ entity)
}
