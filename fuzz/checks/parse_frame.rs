//! Any bytes may arrive on a wire.

use wiremend_wire::{Icrc, PauseFrame, RoceFrame, Trailer};

/// Parses a frame; a complete frame must be equal after it is written again.
pub(crate) fn check(bytes: &[u8]) {
    if let Ok(pause) = PauseFrame::parse(bytes) {
        let mut again = vec![0; pause.buffer_len(Trailer::Fcs)];
        pause.emit(Trailer::Fcs, &mut again);
        assert_eq!(PauseFrame::parse(&again), Ok(pause));
    }
    let Ok(received) = RoceFrame::parse(bytes) else { return };
    assert!(received.frame.payload.len() <= received.payload_len);
    if received.icrc == Icrc::Unchecked {
        return;
    }
    let again = received.frame.to_bytes(Trailer::Fcs);
    assert_eq!(again.len(), received.original_frame_len() as usize);
    let reread = RoceFrame::parse(&again).expect("an own frame is well formed");
    assert_eq!((reread.frame, reread.icrc), (received.frame, Icrc::Good));
}
