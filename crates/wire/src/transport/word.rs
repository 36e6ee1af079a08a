//! The two extension headers of one word (IBA 9.3): immediate data and the key to invalidate.

use zerocopy::byteorder::big_endian::U32;

use crate::{Malformed, view};

macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(pub u32);
        const _: () = assert!(size_of::<U32>() == $name::BYTES);

        impl $name {
            /// The length of the header.
            pub const BYTES: usize = 4;

            /// Parses the header; returns it and the remaining bytes.
            pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
                let (word, rest) = view::split::<U32>(bytes, $what)?;
                Ok((Self(word.get()), rest))
            }

            /// Writes the header into `buffer` of its length.
            pub fn emit(&self, buffer: &mut [u8]) {
                view::fill(&U32::new(self.0), buffer);
            }
        }
    };
}

word!(
    /// Immediate data, which the responder's application receives with the completion.
    ImmDtRepr,
    "ImmDt"
);
word!(
    /// Remote key to invalidate.
    IethRepr,
    "IETH"
);
