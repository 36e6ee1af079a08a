//! Any file may be called a list of faults.

use wiremend_impair::{FaultList, FrameFacts, Way};

/// What was read means the same when it is written again, and is used up by the frames that it names.
pub(crate) fn check(bytes: &[u8]) {
    let Ok(list) = FaultList::read(bytes) else { return };
    let again: FaultList = list.to_string().parse().expect("an own list is well formed");
    assert_eq!(again, list);
    for way in [Way::Forth, Way::Back] {
        let mut replay = list.replay(way);
        let faults: Vec<_> = list.iter().filter(|fault| fault.way == way).collect();
        assert_eq!(replay.unused(), faults.len());
        // A copy may be counted in billions: only the first ones are met here.
        for fault in faults.into_iter().filter(|fault| fault.copy == 1) {
            let frame = FrameFacts { link: Some(fault.frame), ..FrameFacts::bare(64) };
            assert!(replay.corrupts(&frame), "{fault}");
        }
    }
}
