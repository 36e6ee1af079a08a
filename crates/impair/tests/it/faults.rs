//! Lists of faults: parsing, writing, recording and replay.

use std::fmt::Write;

use proptest::prelude::*;
use wiremend_impair::{
    Direction, FaultList, FrameFacts, FrameLoss, LinkFacts, LinkFault, LinkKind, Match, Rule, Script,
    TransmissionCounter,
};

fn frame(kind: LinkKind, seq: u32) -> FrameFacts {
    FrameFacts { link: Some(LinkFacts { kind, seq }), ..FrameFacts::bare(64) }
}

#[test]
fn a_list_names_transmissions_by_direction_kind_number_and_copy() {
    let list: FaultList =
        "# a hole\n\nforward data 5 2 # its first copy\nbackward missing 5 1\n".parse().unwrap();
    assert_eq!(list.to_string(), "forward data 5 2\nbackward missing 5 1\n");
    let mut forward = list.replay(Direction::Forward);
    assert_eq!(forward.unused(), 1);
    let sent = [(LinkKind::Data, 5), (LinkKind::Dummy, 5), (LinkKind::Missing, 5), (LinkKind::Data, 6)];
    assert!(sent.iter().all(|(kind, seq)| !forward.corrupts(&frame(*kind, *seq))));
    assert!(!forward.corrupts(&FrameFacts::bare(64)), "a frame without a header has no number");
    assert!(forward.corrupts(&frame(LinkKind::Data, 5)));
    assert!(!forward.corrupts(&frame(LinkKind::Data, 5)));
    assert_eq!(forward.unused(), 0);
}

#[test]
fn invalid_lists_are_refused_with_the_line_number() {
    let refused = |text: &str| text.parse::<FaultList>().unwrap_err().to_string();
    assert_eq!(
        refused("forward data 5 1\nforward data 5"),
        "line 2: `forward data 5` is not a fault; write direction, kind, number, transmission: `forward data 5 1`"
    );
    assert_eq!(refused("\nahead data 5 1"), "line 2: unknown direction `ahead`; allowed: forward, backward");
    assert_eq!(
        refused("backward nak 5 1"),
        "line 1: unknown kind `nak`; allowed: data, dummy, ack, missing, hello"
    );
    assert_eq!(refused("backward ack -5 1"), "line 1: `-5` is not a frame number; valid: 0 to 1048575");
    assert!(refused("backward ack 1048576 1").contains("valid: 0 to 1048575"));
    assert!(refused("backward ack 5 0").contains("1 is the original"));
    assert!(
        refused("backward ack 5 1\nforward ack 5 1\nbackward ack 5 1")
            .contains("line 3: `backward ack 5 1` is already in line 1")
    );
}

#[test]
fn rules_match_frames_of_a_protected_link() {
    let matching = Match { link: Some(LinkKind::Data), seq: Some(5), ..Match::default() };
    let mut script = Script::new(&[Rule { matching, nth: 2, count: 2 }]).unwrap();
    let mut hit = |kind, seq| script.corrupts(&frame(kind, seq));
    assert!(!hit(LinkKind::Data, 5) && !hit(LinkKind::Dummy, 5) && !hit(LinkKind::Data, 6));
    assert!(hit(LinkKind::Data, 5) && hit(LinkKind::Data, 5) && !hit(LinkKind::Data, 5));
    assert!(!script.corrupts(&FrameFacts::bare(64)));
}

fn kinds() -> impl Strategy<Value = LinkKind> {
    prop::sample::select(LinkKind::ALL.to_vec())
}

proptest! {
    /// Random losses of a few numbers, recorded and replayed on the same frames.
    #[test]
    fn recorded_losses_are_replayed(seed: u64, sent in prop::collection::vec((kinds(), 0_u32..8), 1..200)) {
        let mut loss = FrameLoss::new(0.3, seed).unwrap();
        let mut tally = TransmissionCounter::default();
        let mut recorded = String::new();
        let mut hits = Vec::new();
        for (kind, seq) in &sent {
            let facts = frame(*kind, *seq);
            let link = facts.link.unwrap();
            let copy = tally.on_frame(link);
            hits.push(loss.corrupts(&facts));
            if hits[hits.len() - 1] {
                writeln!(recorded, "{}", LinkFault { direction: Direction::Backward, frame: link, copy }).unwrap();
            }
        }
        let list: FaultList = recorded.parse().unwrap();
        prop_assert_eq!(list.to_string(), recorded);
        prop_assert_eq!(list.replay(Direction::Forward).unused(), 0);
        let mut replay = list.replay(Direction::Backward);
        let played: Vec<bool> = sent.iter().map(|(kind, seq)| replay.corrupts(&frame(*kind, *seq))).collect();
        prop_assert_eq!(played, hits);
        prop_assert_eq!(replay.unused(), 0);
    }

    #[test]
    fn any_text_is_a_list_or_refused(text in "(?s).{0,80}") {
        let _ = text.parse::<FaultList>();
    }
}
