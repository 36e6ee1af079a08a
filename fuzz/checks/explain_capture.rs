//! Any file may be explained.

use wiremend_capture::{Analysis, Certainty, EventKind, TapPosition};

/// Explains a capture at a tap that the first byte chooses; what is reported must hold together.
pub(crate) fn check(bytes: &[u8]) {
    let Some((choice, file)) = bytes.split_first() else { return };
    let position = match choice % 3 {
        0 => TapPosition::Unknown,
        1 => TapPosition::Requester,
        _ => TapPosition::Responder,
    };
    let mut analysis = Analysis::new(position);
    if choice & 0x10 != 0 {
        analysis.watch(u32::from(*choice));
    }
    if choice & 0x0F != 0 {
        analysis.skip_remedies();
    }
    // The same file as a second tap reaches the comparison of taps.
    let files = if choice & 0x20 != 0 { 2 } else { 1 };
    for name in ["near", "far"].into_iter().take(files) {
        // A damaged file is explained up to the damage.
        let _ = analysis.read(name, file, || true);
    }
    let (explanation, _) = analysis.finish_with_steps();
    let frames = explanation.frames.frames;
    for event in &explanation.events {
        assert_eq!(event.verdict.is_some(), event.kind == EventKind::Timeout);
        assert_eq!(event.timeouts > 0, event.kind == EventKind::Timeout);
        assert!((1..=frames).contains(&event.frame));
        let Some(verdict) = &event.verdict else { continue };
        assert_eq!(verdict.certainty == Certainty::Ambiguous, !verdict.alternatives.is_empty());
        assert!(!verdict.alternatives.contains(&verdict.cause));
        assert!(verdict.evidence.iter().all(|shown| (1..=frames).contains(&shown.frame)));
        assert!(verdict.lost_frames.iter().all(|lost| (1..=frames).contains(lost)));
    }
    assert!(explanation.to_string().lines().count() <= 10);
    assert_eq!(explanation.table(true).lines().count(), explanation.events.len());
    assert_eq!(explanation.filter().is_empty(), explanation.events.is_empty());
}
