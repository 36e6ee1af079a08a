//! Classes of frames with different protection modes.

use wiremend_dataplane::relay::{Classifier, ProtectionMode};
use wiremend_units::Span;
use wiremend_wire::link::{LinkCodec, LinkHeader};

use crate::datapath_pair::DataPathPair;

const ORDERED: u8 = 46;
const NON_BLOCKING: u8 = 26;
const OFF: u8 = 8;
/// Each class loses one frame. Ordered frames wait, non-blocking ones do not, unprotected ones stay lost.
#[test]
fn each_class_gets_its_protection_mode() {
    let mut pair = DataPathPair::new();
    pair.ends[0].0.set_classes(classifier(&["dscp=26:non-blocking", "dscp=8:off"]));
    pair.activate();
    let frames: Vec<_> = (0..30)
        .map(|number| frame_with_dscp([ORDERED, NON_BLOCKING, OFF][number as usize % 3], number))
        .collect();
    let mut seen = [0; 64];
    let arrived = pair.carry_filtered(&frames, |sent| {
        let Some((dscp, _)) = dscp_on_link(sent) else { return false };
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
    assert_eq!(non_blocking.last(), Some(&10), "the lost one arrives last");
    let place =
        |dscp, number| arrived.iter().position(|frame| *frame == frame_with_dscp(dscp, number)).unwrap();
    assert!(place(OFF, 29) < place(ORDERED, 9), "unprotected frames do not wait");
    let counted: Vec<_> = pair.ends[0]
        .0
        .classes()
        .map(|(class, protection, counts)| (class, protection, counts.frames))
        .collect();
    assert_eq!(
        counted,
        [
            ("dscp=26".to_owned(), ProtectionMode::NonBlocking, 10),
            ("dscp=8".to_owned(), ProtectionMode::Off, 10),
            ("other".to_owned(), ProtectionMode::Ordered, 10)
        ]
    );
}

/// An unprotected frame is neither numbered nor stored, but reveals a loss before it.
#[test]
fn unprotected_frame_reveals_a_lost_tail() {
    let mut pair = DataPathPair::new();
    pair.ends[0].0.set_classes(classifier(&["dscp=8:off"]));
    pair.activate();
    let frames = [frame_with_dscp(ORDERED, 0), frame_with_dscp(OFF, 1)];
    for frame in &frames {
        pair.ends[0].1.put(frame);
    }
    let mut missing = 0;
    pair.run(Span::from_us(100), &mut |sent| {
        missing += u64::from(matches!(header(sent), Some(LinkHeader::Missing(_))));
        let is_first = dscp_on_link(sent) == Some((ORDERED, false));
        is_first || matches!(header(sent), Some(LinkHeader::Dummy { .. }))
    });
    assert!(missing > 0, "no dummy has arrived");
    let arrived: Vec<_> = std::iter::from_fn(|| pair.ends[1].1.next_sent()).collect();
    assert_eq!(arrived, [frames[1].clone(), frames[0].clone()]);
    let counters = pair.ends[0].0.endpoint().counters();
    assert_eq!((counters.protected, pair.ends[0].0.pool_used()), (1, 0));
}
/// Classes change every few frames on a lossy link: no protected frame is lost or overtakes in its class.
#[test]
fn change_of_classes_keeps_the_order_within_a_class() {
    let rules = ["dscp=46:ordered", "dscp=46:off", "dscp=46:ordered", "dscp=46:non-blocking"];
    let mut pair = DataPathPair::new();
    pair.activate();
    let mut arrived = Vec::new();
    let mut nth = 0;
    let mut lost = |sent: &[u8]| {
        let is_ordered =
            matches!(header(sent), Some(LinkHeader::Data { ordered: true, retransmitted: false, .. }));
        nth += u64::from(is_ordered);
        is_ordered && nth % 7 == 0
    };
    for round in 0..60 {
        pair.ends[0].0.set_classes(classifier(&[rules[round as usize % rules.len()]]));
        for number in round * 10..round * 10 + 10 {
            pair.ends[0].1.put(&frame_with_dscp(ORDERED, number));
        }
        // The next change comes while frames wait at the receiver for a lost one.
        pair.run(Span::ZERO, &mut lost);
        arrived.extend(std::iter::from_fn(|| pair.ends[1].1.next_sent()));
    }
    pair.run(Span::from_ms(50), &mut lost);
    arrived.extend(std::iter::from_fn(|| pair.ends[1].1.next_sent()));
    assert_eq!(numbers(&arrived, ORDERED), (0..600).collect::<Vec<_>>());
    assert!(pair.ends[1].0.endpoint().counters().recovered > 20);
    assert_eq!(pair.ends[0].0.classes().next().unwrap().2.frames, 600, "a class that stays keeps its counts");
}

#[test]
fn classes_have_no_effect_without_protection() {
    let mut pair = DataPathPair::new();
    pair.ends[0].0.set_classes(classifier(&["dscp=8:off", "dscp=46:ordered"]));
    let frames: Vec<_> =
        (0..20).map(|number| frame_with_dscp([OFF, ORDERED][number as usize % 2], number)).collect();
    assert!(pair.watch(&frames) == frames);
}

fn classifier(rules: &[&str]) -> Classifier {
    Classifier::new(rules.iter().map(|rule| rule.parse().unwrap()).collect(), ProtectionMode::Ordered)
        .unwrap()
}

fn frame_with_dscp(dscp: u8, number: u32) -> Vec<u8> {
    let mut frame = vec![0; 64];
    frame[..16].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, dscp << 2]);
    frame[34..38].copy_from_slice(&number.to_be_bytes());
    frame
}

fn numbers(frames: &[Vec<u8>], dscp: u8) -> Vec<u32> {
    let of_class = frames.iter().filter(|frame| frame[15] == dscp << 2);
    of_class.map(|frame| u32::from_be_bytes(*frame[34..].first_chunk().unwrap())).collect()
}

fn header(sent: &[u8]) -> Option<LinkHeader> {
    LinkCodec::default().parse(sent).ok().map(|received| received.header)
}

/// The DSCP of a data frame, and whether it is a retransmission.
fn dscp_on_link(sent: &[u8]) -> Option<(u8, bool)> {
    let received = LinkCodec::default().parse(sent).ok().filter(|received| received.header.is_data())?;
    Some((received.carried[3] >> 2, matches!(received.header, LinkHeader::Data { retransmitted: true, .. })))
}
