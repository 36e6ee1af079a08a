//! SHA-256 (FIPS 180-4): the hash by which texts and files of a run are recognised.

use std::fmt::Write as _;

/// A SHA-256 hash while bytes are added.
#[derive(Clone, Debug)]
pub struct Sha256 {
    state: [u32; 8],
    block: [u8; BLOCK],
    filled: usize,
    bytes: u64,
}

const BLOCK: usize = 64;
/// Offset of the length in the last block.
const LENGTH_AT: usize = BLOCK - 8;

/// Fractional parts of the square roots of the first eight primes.
const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Fractional parts of the cube roots of the first 64 primes.
const ROUNDS: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

impl Default for Sha256 {
    fn default() -> Self {
        Self { state: START, block: [0; BLOCK], filled: 0, bytes: 0 }
    }
}

impl Sha256 {
    /// Returns the hash of a text as 64 hexadecimal digits, as `sha256sum` prints it.
    pub fn of(text: &[u8]) -> String {
        let mut hash = Self::default();
        hash.add(text);
        hash.finish()
    }

    /// Adds bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.block[self.filled..self.filled + now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = rest;
            if self.filled == BLOCK {
                self.compress();
            }
        }
    }

    /// Returns the hash as 64 hexadecimal digits.
    pub fn finish(mut self) -> String {
        let bits = self.bytes.wrapping_mul(8);
        self.block[self.filled..].fill(0);
        self.block[self.filled] = 0x80;
        if self.filled >= LENGTH_AT {
            self.compress();
            self.block.fill(0);
        }
        self.block[LENGTH_AT..].copy_from_slice(&bits.to_be_bytes());
        self.compress();
        self.state.iter().fold(String::new(), |mut text, word| {
            let _ = write!(text, "{word:08x}");
            text
        })
    }

    fn compress(&mut self) {
        self.filled = 0;
        let mut words = [0_u32; 64];
        for (word, bytes) in words.iter_mut().zip(self.block.as_chunks().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        for i in 16..64 {
            let (early, late) = (words[i - 15], words[i - 2]);
            let low = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
            let high = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
            words[i] = words[i - 16].wrapping_add(low).wrapping_add(words[i - 7]).wrapping_add(high);
        }
        let mut s = self.state;
        for (round, word) in ROUNDS.iter().zip(words) {
            let choice = s[4] & s[5] ^ !s[4] & s[6];
            let turned = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
            let first =
                s[7].wrapping_add(turned).wrapping_add(choice).wrapping_add(*round).wrapping_add(word);
            let majority = s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2];
            let turned = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
            s.rotate_right(1);
            s[4] = s[4].wrapping_add(first);
            s[0] = first.wrapping_add(turned).wrapping_add(majority);
        }
        for (sum, word) in self.state.iter_mut().zip(s) {
            *sum = sum.wrapping_add(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published vectors: FIPS 180-4 and NIST's examples.
    #[test]
    fn hashes_match_published_vectors() {
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        for (text, hash) in [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (long, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        ] {
            assert_eq!(Sha256::of(text.as_bytes()), hash, "{text}");
        }
        let million = Sha256::of("a".repeat(1_000_000).as_bytes());
        assert_eq!(million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }

    #[test]
    fn parts_give_the_hash_of_the_whole() {
        let text: Vec<u8> = (0..300_u32).map(|i| (i * 7) as u8).collect();
        for length in [54, 55, 56, 63, 64, 65, 300] {
            for cut in 0..length {
                let mut parts = Sha256::default();
                parts.add(&text[..cut]);
                parts.add(&text[cut..length]);
                assert_eq!(parts.finish(), Sha256::of(&text[..length]), "{cut} of {length}");
            }
        }
    }
}
