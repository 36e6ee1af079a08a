//! Any bytes may come off a link with error correction, and any frame may have to cross it.

use wiremend_wire::fec::{Received, Signal, recognises};
use wiremend_wire::{MacAddr, Trailer};

/// Reads a frame: what was read means the same after it is written again. Then carries the bytes as a frame: they come back.
pub(crate) fn check(bytes: &[u8]) {
    if let Ok(received) = Received::parse(bytes) {
        assert!(recognises(bytes));
        if received.signal.is_data() {
            let carried = [received.addresses, received.carried].concat();
            assert_eq!(carried.len() + received.signal.added_len() as usize, bytes.len());
            crosses(received.signal, &carried);
        } else {
            let mut again = vec![0xAA; Signal::parity_frame_len(received.carried.len(), Trailer::None)];
            received.signal.emit_parity(received.carried, MacAddr::default(), Trailer::None, &mut again);
            let again = Received::parse(&again).expect("an own frame is well formed");
            assert_eq!((again.signal, again.carried), (received.signal, received.carried));
        }
    }
    if bytes.len() >= 14 {
        crosses(Signal::Data { block: 1, index: 2, parities: 1 }, bytes);
    }
}

fn crosses(signal: Signal, frame: &[u8]) {
    let room = signal.added_len() as usize;
    let mut buffer = [&vec![0xAA; room], frame].concat();
    let start = signal.encapsulate(&mut buffer, room).expect("a frame with addresses and a type");
    assert_eq!(start, 0);
    let (received, start) = Signal::decapsulate(&mut buffer, start).expect("an own header is well formed");
    assert_eq!((received, &buffer[start..]), (signal, frame));
}
