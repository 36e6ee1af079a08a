//! The headers that name remote memory, and the answer to an atomic operation (IBA 9.3): fields of whole bytes, one after another.

use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Malformed, view};

/// A header by its fields, each with its form on the wire, its length and its name in a complaint.
macro_rules! header {
    (
        $(#[$doc:meta])*
        $repr:ident, $bytes:literal, $what:literal: $($(#[$field_doc:meta])* $field:ident: $number:ty as $wire:ty,)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $repr {
            $($(#[$field_doc])* pub $field: $number,)+
        }

        const _: () = {
            #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
            #[repr(C)]
            struct View {
                $($field: $wire,)+
            }
            const _: () = assert!(size_of::<View>() == $repr::BYTES);

            impl $repr {
                /// The length of the header.
                pub const BYTES: usize = $bytes;

                /// Reads the header and gives what follows it.
                pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
                    let (view, rest) = view::split::<View>(bytes, $what)?;
                    Ok((Self { $($field: view.$field.get(),)+ }, rest))
                }

                /// Writes the header into `buffer`, which has its length.
                pub fn emit(&self, buffer: &mut [u8]) {
                    view::fill(&View { $($field: self.$field.into(),)+ }, buffer);
                }
            }
        };
    };
}

header! {
    /// Which remote memory a WRITE or READ is about: the RDMA extended transport header.
    RethRepr, 16, "RETH":
    /// Where it starts in the responder's memory.
    address: u64 as U64,
    /// The permission to touch it.
    remote_key: u32 as U32,
    /// Bytes of the whole message, not of this packet.
    dma_len: u32 as U32,
}

header! {
    /// What an atomic operation does to which eight bytes.
    AtomicEthRepr, 28, "AtomicETH":
    /// Where they lie in the responder's memory.
    address: u64 as U64,
    /// The permission to touch them.
    remote_key: u32 as U32,
    /// What is swapped in, or added.
    swap_or_add: u64 as U64,
    /// What must be there for the swap to happen.
    compare: u64 as U64,
}

header! {
    /// What the eight bytes were before the operation.
    AtomicAckEthRepr, 8, "AtomicAckETH":
    /// The former value.
    original: u64 as U64,
}
