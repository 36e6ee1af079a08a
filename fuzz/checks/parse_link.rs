//! Any bytes may arrive on a protected link, and any frame may be carried.

use wiremend_wire::link::{LinkCodec, LinkHeader};
use wiremend_wire::{MacAddr, Trailer};

/// Parses a frame and writes it again. Then carries the bytes as a frame.
pub(crate) fn check(bytes: &[u8]) {
    let link = LinkCodec::default();
    if let Ok(received) = link.parse(bytes) {
        assert!(link.recognises(bytes));
        if received.header.is_data() {
            let carried = [received.addresses, received.carried].concat();
            assert_eq!(carried.len() + received.header.added_len() as usize, bytes.len());
            crosses(link, &received.header, &carried);
        } else {
            let mut again = vec![0xAA; link.control_len(Trailer::None)];
            link.emit_control(&received.header, MacAddr::default(), Trailer::None, &mut again);
            assert_eq!(link.parse(&again).map(|again| again.header), Ok(received.header));
        }
    }
    if bytes.len() >= 14 {
        crosses(
            link,
            &LinkHeader::Data { epoch: 1, seq: 2, ordered: true, retransmitted: false, ack: None },
            bytes,
        );
        crosses(link, &LinkHeader::Unprotected { epoch: 1, next: 2, ack: None }, bytes);
    }
}

fn crosses(link: LinkCodec, signal: &LinkHeader, frame: &[u8]) {
    let room = signal.added_len() as usize;
    let mut buffer = [&vec![0xAA; room], frame].concat();
    let start = link.encapsulate(signal, &mut buffer, room).expect("a frame with addresses and a type");
    assert_eq!(start, 0);
    let (received, start) = link.decapsulate(&mut buffer, start).expect("an own header is well formed");
    assert_eq!((received, &buffer[start..]), (*signal, frame));
}
