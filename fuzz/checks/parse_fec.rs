//! Any bytes may arrive on a link with error correction, and any frame may be carried.

use wiremend_wire::fec::{FecFrame, FecHeader, recognises};
use wiremend_wire::{MacAddr, Trailer};

/// Parses a frame and writes it again. Then carries the bytes as a frame.
pub(crate) fn check(bytes: &[u8]) {
    if let Ok(received) = FecFrame::parse(bytes) {
        assert!(recognises(bytes));
        if received.header.is_data() {
            let carried = [received.addresses, received.carried].concat();
            assert_eq!(carried.len() + received.header.added_len() as usize, bytes.len());
            crosses(received.header, &carried);
        } else {
            let mut again = vec![0xAA; FecHeader::parity_frame_len(received.carried.len(), Trailer::None)];
            received.header.emit_parity(received.carried, MacAddr::default(), Trailer::None, &mut again);
            let again = FecFrame::parse(&again).expect("an own frame is well formed");
            assert_eq!((again.header, again.carried), (received.header, received.carried));
        }
    }
    if bytes.len() >= 14 {
        crosses(FecHeader::Data { block: 1, index: 2, parities: 1 }, bytes);
    }
}

fn crosses(signal: FecHeader, frame: &[u8]) {
    let room = signal.added_len() as usize;
    let mut buffer = [&vec![0xAA; room], frame].concat();
    let start = signal.encapsulate(&mut buffer, room).expect("a frame with addresses and a type");
    assert_eq!(start, 0);
    let (received, start) = FecHeader::decapsulate(&mut buffer, start).expect("an own header is well formed");
    assert_eq!((received, &buffer[start..]), (signal, frame));
}
