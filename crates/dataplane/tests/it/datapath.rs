//! Frames of all kinds over two data paths and a lossy link.

use wiremend_units::Span;
use wiremend_wire::link::{LinkCodec, LinkHeader};

use crate::datapath_pair::{DataPathPair, frame};

#[test]
fn frames_cross_a_lossy_link_once_and_in_order() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let frames: Vec<_> = (0..3000).map(|number| frame(number, 14 + number as usize % 1500)).collect();
    let arrived = pair.carry(&frames, |nth| nth % 101 == 3);
    assert_eq!(arrived.len(), frames.len());
    assert!(arrived == frames, "the same bytes in the same order");
    let counters = pair.ends[1].0.endpoint().counters();
    assert!(counters.recovered > 20 && counters.lost == 0, "{counters:?}");
    assert_eq!(pair.ends.each_ref().map(|(datapath, ..)| datapath.pool_used()), [0, 0], "all slots are free");
}

#[test]
fn unprotected_link_carries_frames_unchanged() {
    let mut pair = DataPathPair::new();
    let frames: Vec<_> = (0..100).map(|number| frame(number, 64)).collect();
    let on_link = pair.watch(&frames);
    assert!(on_link == frames);
}

#[test]
fn stripped_vlan_tags_are_restored() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let (untagged, tag) = (frame(1, 100), [0x81, 0x00, 0x20, 0x05]);
    pair.ends[0].1.put_tagged(&untagged, tag);
    pair.run(Span::from_ms(5), &mut |_| false);
    let tagged = [&untagged[..12], &tag, &untagged[12..]].concat();
    assert_eq!(pair.ends[1].1.next_sent(), Some(tagged));
}

#[test]
fn link_frames_from_the_lan_are_dropped() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let mut forged = frame(1, 64);
    forged[12..14].copy_from_slice(&LinkCodec::default().ethertype.to_be_bytes());
    pair.ends[0].1.put(&forged);
    pair.run(Span::from_ms(5), &mut |_| false);
    assert_eq!(pair.ends[1].1.next_sent(), None);
    assert_eq!(pair.ends[0].0.counts().forged, 1);
}

#[test]
fn link_local_frames_do_not_wait() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let mut lldp = frame(2, 64);
    lldp[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0, 0, 0x0E]);
    let first = frame(1, 200);
    pair.ends[0].1.put(&first);
    pair.run(Span::ZERO, &mut |sent| sent.len() > 190);
    pair.ends[0].1.put(&lldp);
    pair.run(Span::from_us(300), &mut |sent| sent.len() > 190);
    assert_eq!(pair.ends[1].1.next_sent(), Some(lldp));
    assert_eq!(pair.ends[1].1.next_sent(), None);
}

#[test]
fn frames_wait_for_a_full_lan_port() {
    let mut pair = DataPathPair::new();
    pair.activate();
    pair.ends[1].1.set_capacity(Some(10));
    let frames: Vec<_> = (0..200).map(|number| frame(number, 300)).collect();
    let before = pair.carry(&frames, |_| false);
    assert_eq!(before, frames[..10]);
    pair.ends[1].1.set_capacity(None);
    pair.run(Span::from_ms(5), &mut |_| false);
    let after: Vec<_> = std::iter::from_fn(|| pair.ends[1].1.next_sent()).collect();
    assert!(after == frames[10..]);
}

/// Frames that arrive while the LAN is down are dropped and counted, not delivered late.
#[test]
fn frames_are_dropped_while_the_lan_is_down() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let frames: Vec<_> = (0..300).map(|number| frame(number, 300)).collect();
    pair.ends[1].1.set_down(true);
    assert!(pair.carry(&frames[..200], |_| false).is_empty());
    pair.ends[1].1.set_down(false);
    assert!(pair.carry(&frames[200..], |_| false) == frames[200..]);
    let counts = pair.ends[1].0.counts();
    assert_eq!((counts.lan_refused, counts.lan_out, counts.lan_out_bytes), (200, 100, 100 * 300));
}

#[test]
fn full_queue_drops_and_counts() {
    let mut pair = DataPathPair::new();
    pair.activate();
    for number in 0..5000 {
        pair.ends[0].1.put(&frame(number, 1514));
    }
    pair.run(Span::from_ms(500), &mut |_| false);
    let arrived = std::iter::from_fn(|| pair.ends[1].1.next_sent()).count() as u64;
    let counts = pair.ends[0].0.counts();
    assert!(counts.queue_dropped > 0);
    assert_eq!(arrived + counts.queue_dropped, 5000);
}

/// A process that sleeps longer than the time limit of a missing frame still finds its copy in the ring.
#[test]
fn frame_in_the_ring_is_not_given_up() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let frames: Vec<_> = (0..400).map(|number| frame(number, 100)).collect();
    for frame in &frames {
        pair.ends[0].1.put(frame);
    }
    let mut copies = Vec::new();
    let mut lost = |sent: &[u8]| match LinkCodec::default().parse(sent).map(|received| received.header) {
        Ok(LinkHeader::Data { retransmitted: true, .. }) => {
            copies.push(sent.to_vec());
            true
        }
        Ok(LinkHeader::Data { seq, .. }) => seq == 1,
        _ => false,
    };
    pair.run(Span::from_us(10), &mut lost);
    // The receiver has reported the gap. It sleeps while the other frames and then the copies arrive.
    pair.run_alone(0, Span::from_ms(3), &mut lost);
    assert!(!copies.is_empty());
    for copy in &copies {
        pair.ends[1].2.put(copy);
    }
    pair.run(Span::from_ms(5), &mut |_| false);
    let arrived: Vec<_> = std::iter::from_fn(|| pair.ends[1].1.next_sent()).collect();
    assert_eq!(pair.ends[1].0.endpoint().counters().lost, 0);
    assert!(arrived == frames, "{} of {}", arrived.len(), frames.len());
}

#[test]
fn long_frames_are_not_truncated() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let (long, after) = (frame(1, 3000), frame(2, 100));
    pair.ends[0].1.put(&long);
    pair.ends[0].1.put(&after);
    pair.run(Span::from_ms(5), &mut |_| false);
    assert_eq!(pair.ends[1].1.next_sent().as_ref(), Some(&after));
    assert_eq!((pair.ends[1].1.next_sent(), pair.ends[0].0.counts().bad_length), (None, 1));
    // From the link they pass, unless they have to wait for the LAN.
    pair.ends[1].2.put(&long);
    pair.run(Span::ZERO, &mut |_| false);
    assert_eq!(pair.ends[1].1.next_sent().as_ref(), Some(&long));
    pair.ends[1].1.set_capacity(Some(0));
    pair.ends[1].2.put(&long);
    pair.ends[1].2.put(&after);
    pair.run(Span::ZERO, &mut |_| false);
    pair.ends[1].1.set_capacity(None);
    pair.run(Span::from_us(50), &mut |_| false);
    assert_eq!(pair.ends[1].1.next_sent(), Some(after));
    assert_eq!(pair.ends[1].0.counts().bad_length, 1);
}

/// A frame that must wait but is too long to store does not delay later frames.
#[test]
fn long_frame_that_must_wait_is_skipped() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let frames: Vec<_> = (0..3).map(|number| frame(number, 100)).collect();
    let mut crossing = Vec::new();
    for frame in &frames {
        pair.ends[0].1.put(frame);
    }
    pair.run_alone(0, Span::ZERO, &mut |sent| {
        crossing.push(sent.to_vec());
        true
    });
    crossing
        .retain(|sent| matches!(LinkCodec::default().parse(sent), Ok(received) if received.header.is_data()));
    crossing[1].resize(3000, 0);
    for at in [1, 2, 0] {
        pair.ends[1].2.put(&crossing[at]);
    }
    pair.run(Span::from_ms(5), &mut |_| false);
    let arrived: Vec<_> = std::iter::from_fn(|| pair.ends[1].1.next_sent()).collect();
    assert_eq!(arrived, [frames[0].clone(), frames[2].clone()]);
    assert_eq!((pair.ends[1].0.counts().bad_length, pair.ends[1].0.pool_used()), (1, 0));
}

#[test]
fn garbage_on_the_link_neither_stalls_nor_panics() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let mut state = 7;
    let mut recorded = Vec::new();
    for round in 0..200_u32 {
        let frames: Vec<_> = (0..10).map(|number| frame(round * 10 + number, 100)).collect();
        for _ in 0..20 {
            let garbage = match random(&mut state) % 3 {
                0 => random_frame(&mut state),
                1 => replayed(&recorded, &mut state),
                _ => truncated(&recorded, &mut state),
            };
            pair.ends[(random(&mut state) % 2) as usize].2.put(&garbage);
        }
        pair.carry_and_record(&frames, &mut recorded);
    }
    // Forged headers may have cost frames, but the link works.
    pair.run(Span::from_ms(500), &mut |_| false);
    while pair.ends[1].1.next_sent().is_some() {}
    let frames: Vec<_> = (0..100).map(|number| frame(number, 100)).collect();
    let arrived = pair.carry(&frames, |_| false);
    assert!(arrived.ends_with(&frames), "{} of {}", arrived.len(), frames.len());
}

fn random(state: &mut u64) -> u64 {
    *state = wiremend_units::mix(*state);
    *state
}

fn random_frame(state: &mut u64) -> Vec<u8> {
    let len = random(state) as usize % 100;
    let mut frame: Vec<u8> = (0..len).map(|_| random(state) as u8).collect();
    if len >= 14 {
        frame[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0, 0, 0x0E]);
        frame[12..14].copy_from_slice(&LinkCodec::default().ethertype.to_be_bytes());
    }
    frame
}

fn replayed(recorded: &[Vec<u8>], state: &mut u64) -> Vec<u8> {
    recorded.get(random(state) as usize % recorded.len().max(1)).cloned().unwrap_or_default()
}

fn truncated(recorded: &[Vec<u8>], state: &mut u64) -> Vec<u8> {
    let mut frame = replayed(recorded, state);
    frame.truncate(random(state) as usize % frame.len().max(1));
    frame
}

/// A host floods link-local addresses with more than the link carries: other frames keep a share.
#[test]
fn link_local_flood_does_not_starve_others() {
    let mut pair = DataPathPair::new();
    pair.activate();
    let mut flood = frame(7, 1000);
    flood[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0, 0, 0x0E]);
    let mut arrived = 0;
    for number in 0..200 {
        for _ in 0..300 {
            pair.ends[0].1.put(&flood);
        }
        pair.ends[0].1.put(&frame(number, 1000));
        pair.run(Span::from_ms(1), &mut |_| false);
        let delivered = std::iter::from_fn(|| pair.ends[1].1.next_sent());
        arrived += delivered.filter(|delivered| delivered[0] == 2).count();
    }
    assert!(arrived >= 190, "{arrived} of 200 frames");
    assert!(pair.ends[0].0.counts().link_local_excess > 10_000);
}
