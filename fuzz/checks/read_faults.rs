//! Any file may be passed as a list of faults.

use wiremend_impair::{Direction, FaultList, FrameFacts};

/// A list is equal after writing, and its faults occur with the named frames.
pub(crate) fn check(bytes: &[u8]) {
    let Ok(list) = FaultList::read(bytes) else { return };
    let again: FaultList = list.to_string().parse().expect("an own list is well formed");
    assert_eq!(again, list);
    for direction in [Direction::Forward, Direction::Backward] {
        let mut replay = list.replay(direction);
        let faults: Vec<_> = list.iter().filter(|fault| fault.direction == direction).collect();
        assert_eq!(replay.unused(), faults.len());
        // Transmission numbers may be large: only the first transmissions are tested.
        for fault in faults.into_iter().filter(|fault| fault.copy == 1) {
            let frame = FrameFacts { link: Some(fault.frame), ..FrameFacts::bare(64) };
            assert!(replay.corrupts(&frame), "{fault}");
        }
    }
}
