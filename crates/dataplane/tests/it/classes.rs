//! Classes of frames: some wait for what is lost, some do not, some are not protected.

use wiremend_dataplane::relay::{Care, Classes};
use wiremend_units::Span;
use wiremend_wire::link::{Dialect, Signal};

use crate::bumps::Bumps;

const ORDERED: u8 = 46;
const NON_BLOCKING: u8 = 26;
const OFF: u8 = 8;

/// One lost frame of each class: the ordered ones wait for theirs, the others do not, and what is off stays lost.
#[test]
fn each_class_is_carried_as_it_is_meant() {
    let mut bumps = Bumps::new();
    bumps.ends[0].0.set_classes(classes(&["dscp=26:non-blocking", "dscp=8:off"]));
    bumps.activate();
    let frames: Vec<_> =
        (0..30).map(|number| marked([ORDERED, NON_BLOCKING, OFF][number as usize % 3], number)).collect();
    let mut seen = [0; 64];
    let arrived = bumps.carry_judged(&frames, |sent| {
        let Some((dscp, _)) = mark_on_link(sent) else { return false };
        seen[usize::from(dscp)] += 1;
        seen[usize::from(dscp)] == 4
    });
    let [ordered, non_blocking, off] = [ORDERED, NON_BLOCKING, OFF].map(|dscp| numbers(&arrived, dscp));
    assert_eq!(ordered, (0..30).step_by(3).collect::<Vec<_>>(), "all, in order");
    assert_eq!(
        off,
        (2..30).step_by(3).filter(|number| *number != 11).collect::<Vec<_>>(),
        "all but the lost one"
    );
    let mut sorted = non_blocking.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..30).step_by(3).collect::<Vec<_>>(), "all");
    assert_eq!(non_blocking.last(), Some(&10), "the lost one comes when it comes");
    let place = |dscp, number| arrived.iter().position(|frame| *frame == marked(dscp, number)).unwrap();
    assert!(place(OFF, 29) < place(ORDERED, 9), "what is not protected does not wait");
    let counted: Vec<_> =
        bumps.ends[0].0.classes().map(|(class, care, counts)| (class, care, counts.frames)).collect();
    assert_eq!(
        counted,
        [
            ("dscp=26".to_owned(), Care::NonBlocking, 10),
            ("dscp=8".to_owned(), Care::Off, 10),
            ("other".to_owned(), Care::Ordered, 10)
        ]
    );
}

/// What is not protected is neither numbered nor kept, but shows that something before it is missing.
#[test]
fn a_frame_without_protection_shows_a_lost_tail() {
    let mut bumps = Bumps::new();
    bumps.ends[0].0.set_classes(classes(&["dscp=8:off"]));
    bumps.activate();
    let frames = [marked(ORDERED, 0), marked(OFF, 1)];
    for frame in &frames {
        bumps.ends[0].1.put(frame);
    }
    let mut missing = 0;
    bumps.run(Span::from_us(100), &mut |sent| {
        missing += u64::from(matches!(signal(sent), Some(Signal::Missing(_))));
        let is_first = mark_on_link(sent) == Some((ORDERED, false));
        is_first || matches!(signal(sent), Some(Signal::Dummy { .. }))
    });
    assert!(missing > 0, "no dummy has arrived");
    let arrived: Vec<_> = std::iter::from_fn(|| bumps.ends[1].1.next_sent()).collect();
    assert_eq!(arrived, [frames[1].clone(), frames[0].clone()]);
    let counters = bumps.ends[0].0.end().counters();
    assert_eq!((counters.protected, bumps.ends[0].0.pool_used()), (1, 0));
}

/// Classes change every few frames, in every way, while the link loses: no frame that is protected is lost, and none overtakes another of its class.
#[test]
fn a_change_reorders_nothing_within_a_class() {
    let ways = ["dscp=46:ordered", "dscp=46:off", "dscp=46:ordered", "dscp=46:non-blocking"];
    let mut bumps = Bumps::new();
    bumps.activate();
    let mut arrived = Vec::new();
    let mut nth = 0;
    let mut lost = |sent: &[u8]| {
        let is_waited_for = matches!(signal(sent), Some(Signal::Data { ordered: true, again: false, .. }));
        nth += u64::from(is_waited_for);
        is_waited_for && nth % 7 == 0
    };
    for round in 0..60 {
        bumps.ends[0].0.set_classes(classes(&[ways[round as usize % ways.len()]]));
        for number in round * 10..round * 10 + 10 {
            bumps.ends[0].1.put(&marked(ORDERED, number));
        }
        // The next change comes while frames wait at the other end for one that was lost.
        bumps.run(Span::ZERO, &mut lost);
        arrived.extend(std::iter::from_fn(|| bumps.ends[1].1.next_sent()));
    }
    bumps.run(Span::from_ms(50), &mut lost);
    arrived.extend(std::iter::from_fn(|| bumps.ends[1].1.next_sent()));
    assert_eq!(numbers(&arrived, ORDERED), (0..600).collect::<Vec<_>>());
    assert!(bumps.ends[1].0.end().counters().recovered > 20);
    assert_eq!(
        bumps.ends[0].0.classes().next().unwrap().2.frames,
        600,
        "a class that stays keeps its counts"
    );
}

/// While nothing is protected, classes change nothing: frames cross as they are.
#[test]
fn classes_of_a_dormant_link_cost_nothing() {
    let mut bumps = Bumps::new();
    bumps.ends[0].0.set_classes(classes(&["dscp=8:off", "dscp=46:ordered"]));
    let frames: Vec<_> = (0..20).map(|number| marked([OFF, ORDERED][number as usize % 2], number)).collect();
    assert!(bumps.watch(&frames) == frames);
}

fn classes(rules: &[&str]) -> Classes {
    Classes::new(rules.iter().map(|rule| rule.parse().unwrap()).collect(), Care::Ordered).unwrap()
}

/// An IPv4 frame with this DSCP and a number in it.
fn marked(dscp: u8, number: u32) -> Vec<u8> {
    let mut frame = vec![0; 64];
    frame[..16].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, dscp << 2]);
    frame[34..38].copy_from_slice(&number.to_be_bytes());
    frame
}

fn numbers(frames: &[Vec<u8>], dscp: u8) -> Vec<u32> {
    let of_class = frames.iter().filter(|frame| frame[15] == dscp << 2);
    of_class.map(|frame| u32::from_be_bytes(*frame[34..].first_chunk().unwrap())).collect()
}

fn signal(sent: &[u8]) -> Option<Signal> {
    Dialect::default().parse(sent).ok().map(|received| received.signal)
}

/// The DSCP of a frame behind a header, and whether it was sent before.
fn mark_on_link(sent: &[u8]) -> Option<(u8, bool)> {
    let received = Dialect::default().parse(sent).ok().filter(|received| received.signal.is_data())?;
    Some((received.carried[3] >> 2, matches!(received.signal, Signal::Data { again: true, .. })))
}
