//! The headers with remote addresses, and the atomic response (IBA 9.3).

use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Malformed, view};

/// Defines a header by its fields, each with its type on the wire.
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

                /// Parses the header; returns it and the remaining bytes.
                pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
                    let (view, rest) = view::split::<View>(bytes, $what)?;
                    Ok((Self { $($field: view.$field.get(),)+ }, rest))
                }

                /// Writes the header into `buffer` of its length.
                pub fn emit(&self, buffer: &mut [u8]) {
                    view::fill(&View { $($field: self.$field.into(),)+ }, buffer);
                }
            }
        };
    };
}

header! {
    /// RDMA extended transport header of a WRITE or READ.
    RethRepr, 16, "RETH":
    /// Address in the responder's memory.
    address: u64 as U64,
    /// Remote key.
    remote_key: u32 as U32,
    /// Bytes of the whole message.
    dma_len: u32 as U32,
}

header! {
    /// Atomic extended transport header.
    AtomicEthRepr, 28, "AtomicETH":
    /// Address in the responder's memory.
    address: u64 as U64,
    /// Remote key.
    remote_key: u32 as U32,
    /// Value to swap in, or to add.
    swap_or_add: u64 as U64,
    /// Value to compare with.
    compare: u64 as U64,
}

header! {
    /// Atomic acknowledge extended transport header.
    AtomicAckEthRepr, 8, "AtomicAckETH":
    /// Value before the operation.
    original: u64 as U64,
}
