//! Any bytes may come off a protected link, and any frame may have to cross it.

use wiremend_wire::link::{Dialect, Signal};
use wiremend_wire::{MacAddr, Trailer};

/// Reads a frame: what was read means the same after it is written again. Then carries the bytes as a frame: they come back.
pub(crate) fn check(bytes: &[u8]) {
    let link = Dialect::default();
    if let Ok(received) = link.parse(bytes) {
        assert!(link.recognises(bytes));
        if received.signal.is_data() {
            let carried = [received.addresses, received.carried].concat();
            assert_eq!(carried.len() + received.signal.added_len() as usize, bytes.len());
            crosses(link, &received.signal, &carried);
        } else {
            let mut again = vec![0xAA; link.own_len(Trailer::None)];
            link.emit_own(&received.signal, MacAddr::default(), Trailer::None, &mut again);
            assert_eq!(link.parse(&again).map(|again| again.signal), Ok(received.signal));
        }
    }
    if bytes.len() >= 14 {
        crosses(link, &Signal::Data { epoch: 1, seq: 2, ordered: true, again: false, ack: None }, bytes);
        crosses(link, &Signal::Loose { epoch: 1, next: 2, ack: None }, bytes);
    }
}

fn crosses(link: Dialect, signal: &Signal, frame: &[u8]) {
    let room = signal.added_len() as usize;
    let mut buffer = [&vec![0xAA; room], frame].concat();
    let start = link.encapsulate(signal, &mut buffer, room).expect("a frame with addresses and a type");
    assert_eq!(start, 0);
    let (received, start) = link.decapsulate(&mut buffer, start).expect("an own header is well formed");
    assert_eq!((received, &buffer[start..]), (*signal, frame));
}
