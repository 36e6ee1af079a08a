//! Lists of faults: what is read is what is written, and what is played is what was recorded.

use std::fmt::Write;

use proptest::prelude::*;
use wiremend_impair::{
    FaultList, FrameFacts, FrameLoss, LinkFacts, LinkFault, LinkKind, Match, Rule, Script, Tally, Way,
};

fn frame(kind: LinkKind, seq: u32) -> FrameFacts {
    FrameFacts { link: Some(LinkFacts { kind, seq }), ..FrameFacts::bare(64) }
}

#[test]
fn a_list_names_transmissions_by_direction_kind_number_and_copy() {
    let list: FaultList = "# a hole\n\nforth data 5 2 # its first copy\nback missing 5 1\n".parse().unwrap();
    assert_eq!(list.to_string(), "forth data 5 2\nback missing 5 1\n");
    let mut forth = list.replay(Way::Forth);
    assert_eq!(forth.unused(), 1);
    let sent = [(LinkKind::Data, 5), (LinkKind::Dummy, 5), (LinkKind::Missing, 5), (LinkKind::Data, 6)];
    assert!(sent.iter().all(|(kind, seq)| !forth.corrupts(&frame(*kind, *seq))));
    assert!(!forth.corrupts(&FrameFacts::bare(64)), "a frame without a header has no number");
    assert!(forth.corrupts(&frame(LinkKind::Data, 5)));
    assert!(!forth.corrupts(&frame(LinkKind::Data, 5)));
    assert_eq!(forth.unused(), 0);
}

#[test]
fn what_is_no_list_is_refused_with_its_line() {
    let refused = |text: &str| text.parse::<FaultList>().unwrap_err().to_string();
    assert_eq!(
        refused("forth data 5 1\nforth data 5"),
        "line 2: `forth data 5` is no fault; say direction, kind, number, copy: `forth data 5 1`"
    );
    assert_eq!(refused("\nforward data 5 1"), "line 2: unknown direction `forward`; allowed: forth, back");
    assert_eq!(
        refused("back nak 5 1"),
        "line 1: unknown kind `nak`; allowed: data, dummy, ack, missing, hello"
    );
    assert_eq!(refused("back ack -5 1"), "line 1: `-5` is no number of a frame; from 0 to 1048575");
    assert!(refused("back ack 1048576 1").contains("from 0 to 1048575"));
    assert!(refused("back ack 5 0").contains("1 is the first transmission"));
    assert!(
        refused("back ack 5 1\nforth ack 5 1\nback ack 5 1")
            .contains("line 3: `back ack 5 1` is already in line 1")
    );
}

#[test]
fn rules_name_frames_of_a_link_too() {
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
    /// Random losses of a few numbers, recorded and played to the same frames.
    #[test]
    fn what_was_recorded_is_hit_again(seed: u64, sent in prop::collection::vec((kinds(), 0_u32..8), 1..200)) {
        let mut luck = FrameLoss::new(0.3, seed).unwrap();
        let mut tally = Tally::default();
        let mut recorded = String::new();
        let mut hits = Vec::new();
        for (kind, seq) in &sent {
            let facts = frame(*kind, *seq);
            let link = facts.link.unwrap();
            let copy = tally.on_frame(link);
            hits.push(luck.corrupts(&facts));
            if hits[hits.len() - 1] {
                writeln!(recorded, "{}", LinkFault { way: Way::Back, frame: link, copy }).unwrap();
            }
        }
        let list: FaultList = recorded.parse().unwrap();
        prop_assert_eq!(list.to_string(), recorded);
        prop_assert_eq!(list.replay(Way::Forth).unused(), 0);
        let mut replay = list.replay(Way::Back);
        let played: Vec<bool> = sent.iter().map(|(kind, seq)| replay.corrupts(&frame(*kind, *seq))).collect();
        prop_assert_eq!(played, hits);
        prop_assert_eq!(replay.unused(), 0);
    }

    #[test]
    fn any_text_is_a_list_or_refused(text in "(?s).{0,80}") {
        let _ = text.parse::<FaultList>();
    }
}
