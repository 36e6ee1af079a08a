//! Deterministic models, and stacks of impairments.

use wiremend_impair::{
    EveryNth, Fate, FrameFacts, FrameKind, FrameLoss, Impairment, Impairments, IpId, Match, Model, Rule,
    Script, Window,
};
use wiremend_units::{Psn, Time};

#[test]
fn every_nth_counts_from_one_after_its_offset() {
    let hits = |n, offset| {
        let mut model = EveryNth::new(n, offset).unwrap();
        (1..=12).filter(|_| model.corrupts(&FrameFacts::bare(64))).collect::<Vec<u32>>()
    };
    assert_eq!(hits(4, 0), [4, 8, 12]);
    assert_eq!(hits(4, 3), [7, 11]);
    assert_eq!(hits(1, 0).len(), 12);
    assert_eq!(hits(1, 10), [11, 12]);
    assert!(EveryNth::new(0, 5).is_err());
    assert!(!EveryNth::new(u64::MAX, u64::MAX).unwrap().corrupts(&FrameFacts::bare(64)));
}

#[test]
fn identifications_are_compared_under_the_mask() {
    let mut model = IpId::new(0x00ff, 0x0042).unwrap();
    let mut hits = |id| model.corrupts(&FrameFacts { ip_id: id, ..FrameFacts::bare(64) });
    assert!(hits(Some(0x1242)) && hits(Some(0x0042)));
    assert!(!hits(Some(0x4200)) && !hits(None));
    assert_eq!((0..=u16::MAX).filter(|id| hits(Some(*id))).count(), 256);
    assert!(IpId::new(0x00ff, 0x0100).unwrap_err().to_string().contains("0x0100"));
}

#[test]
fn a_rule_hits_the_second_transmission_of_a_psn() {
    let mut script = Script::new(&[Rule::nth_of_psn(2, Psn::new(7))]).unwrap();
    let sent = [5, 6, 7, 8, 7, 8, 7];
    let fates: Vec<bool> =
        sent.into_iter().map(|psn| script.corrupts(&packet(FrameKind::Data, psn))).collect();
    assert_eq!(fates, [false, false, false, false, true, false, false]);
}

#[test]
fn rules_distinguish_kinds() {
    let mut script = Script::new(&[
        Rule::nth_of_psn(1, Psn::new(3)).of_kind(FrameKind::Nak),
        Rule::nth_of_kind(2, FrameKind::Ack).times(2),
    ])
    .unwrap();
    let mut hit = |kind, psn| script.corrupts(&packet(kind, psn));
    assert!(!hit(FrameKind::Data, 3));
    assert!(!hit(FrameKind::Ack, 1));
    assert!(hit(FrameKind::Ack, 2));
    assert!(hit(FrameKind::Nak, 3));
    assert!(hit(FrameKind::Ack, 3));
    assert!(!hit(FrameKind::Ack, 4));
    assert!(!hit(FrameKind::Nak, 3));
}

/// A frame that matches two rules counts for both.
#[test]
fn every_rule_counts_every_frame() {
    let first = Rule::nth_frame(1);
    let second = Rule::nth_of_psn(2, Psn::new(0));
    for rules in [[first, second], [second, first]] {
        let mut script = Script::new(&rules).unwrap();
        let fates: Vec<bool> = (0..3).map(|_| script.corrupts(&packet(FrameKind::Data, 0))).collect();
        assert_eq!(fates, [true, true, false]);
    }
}

#[test]
fn a_rule_can_match_a_retransmission() {
    let resent = Match { copy: Some(1), ..Match::default() };
    let mut script = Script::new(&[Rule { matching: resent, nth: 1, count: u64::MAX }]).unwrap();
    let mut hit = |copy| script.corrupts(&FrameFacts { copy, ..packet(FrameKind::Data, 9) });
    assert_eq!([0, 1, 2, 1].map(&mut hit), [false, true, false, true]);
}

#[test]
fn rules_without_matches_are_refused_and_unused_rules_are_listed() {
    let good = Rule::nth_frame(1);
    assert!(Script::new(&[good, Rule::nth_frame(0)]).unwrap_err().to_string().contains("rule 2"));
    assert!(Script::new(&[good.times(0)]).is_err());
    let mut script = Script::new(&[good, Rule::nth_frame(3)]).unwrap();
    script.corrupts(&FrameFacts::bare(64));
    assert_eq!(script.unused().collect::<Vec<_>>(), [Rule::nth_frame(3)]);
}

#[test]
fn a_window_is_open_from_its_start_until_just_before_its_stop() {
    let window = Window::new(Time::from_ns(10), Time::from_ns(20)).unwrap();
    let mut lane = Impairments::default();
    lane.push(Impairment::during(window, FrameLoss::new(1.0, 0).unwrap()));
    let mut fate = |ps| lane.fate(Time::from_ps(ps), &FrameFacts::bare(64));
    assert_eq!([0, 9_999, 20_000, u64::MAX].map(&mut fate), [Fate::Pass; 4]);
    assert_eq!([10_000, 19_999].map(&mut fate), [Fate::Corrupt; 2]);
    assert!(Window::new(Time::from_ns(10), Time::from_ns(10)).is_err());
}

/// Frames outside the window are not counted.
#[test]
fn a_closed_window_stops_the_count() {
    let window = Window::new(Time::from_ns(10), Time::MAX).unwrap();
    let mut lane = Impairments::default();
    lane.push(Impairment::during(window, EveryNth::new(2, 0).unwrap()));
    let hits: Vec<u64> =
        (0..20).filter(|ns| lane.fate(Time::from_ns(*ns), &FrameFacts::bare(64)) == Fate::Corrupt).collect();
    assert_eq!(hits, [11, 13, 15, 17, 19]);
}

/// Two impairments on one lane corrupt exactly the frames that each alone would corrupt.
#[test]
fn stacked_impairments_do_not_change_each_other() {
    let models = || -> [Model; 3] {
        [
            FrameLoss::new(0.1, 1).unwrap().into(),
            EveryNth::new(7, 3).unwrap().into(),
            FrameLoss::new(0.3, 2).unwrap().into(),
        ]
    };
    let fates = |models: Vec<Model>| -> Vec<bool> {
        let mut lane = Impairments::default();
        for model in models {
            lane.push(Impairment::always(model));
        }
        (0..1_000).map(|ns| lane.fate(Time::from_ns(ns), &FrameFacts::bare(64)) == Fate::Corrupt).collect()
    };
    let alone = models().map(|model| fates(vec![model]));
    let either: Vec<bool> = (0..1_000).map(|frame| alone.iter().any(|fates| fates[frame])).collect();
    let mut reversed: Vec<_> = models().into();
    reversed.reverse();
    assert_eq!(fates(models().into()), either);
    assert_eq!(fates(reversed), either);
    assert!(fates(Vec::new()).iter().all(|corrupt| !corrupt));
}

fn packet(kind: FrameKind, psn: u32) -> FrameFacts {
    FrameFacts { kind, psn: Some(Psn::new(psn)), ..FrameFacts::bare(1086) }
}
