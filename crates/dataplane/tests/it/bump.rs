//! Frames of all kinds over two bumps and a lossy link.

use wiremend_units::Span;
use wiremend_wire::link::{Dialect, Signal};

use crate::bumps::{Bumps, frame};

#[test]
fn frames_of_any_kind_cross_a_lossy_link_once_and_in_order() {
    let mut bumps = Bumps::new();
    bumps.activate();
    let frames: Vec<_> = (0..3000).map(|number| frame(number, 14 + number as usize % 1500)).collect();
    let arrived = bumps.carry(&frames, |nth| nth % 101 == 3);
    assert_eq!(arrived.len(), frames.len());
    assert!(arrived == frames, "the same bytes in the same order");
    let counters = bumps.ends[1].0.end().counters();
    assert!(counters.recovered > 20 && counters.lost == 0, "{counters:?}");
    assert_eq!(bumps.ends.each_ref().map(|(bump, ..)| bump.pool_used()), [0, 0], "all memory is free again");
}

#[test]
fn a_dormant_link_carries_frames_as_they_are() {
    let mut bumps = Bumps::new();
    let frames: Vec<_> = (0..100).map(|number| frame(number, 64)).collect();
    let on_link = bumps.watch(&frames);
    assert!(on_link == frames);
}

#[test]
fn tags_that_an_interface_took_out_are_put_back() {
    let mut bumps = Bumps::new();
    bumps.activate();
    let (untagged, tag) = (frame(1, 100), [0x81, 0x00, 0x20, 0x05]);
    bumps.ends[0].1.put_tagged(&untagged, tag);
    bumps.run(Span::from_ms(5), &mut |_| false);
    let tagged = [&untagged[..12], &tag, &untagged[12..]].concat();
    assert_eq!(bumps.ends[1].1.next_sent(), Some(tagged));
}

#[test]
fn nobody_on_the_lan_speaks_for_the_link() {
    let mut bumps = Bumps::new();
    bumps.activate();
    let mut forged = frame(1, 64);
    forged[12..14].copy_from_slice(&Dialect::default().ethertype.to_be_bytes());
    bumps.ends[0].1.put(&forged);
    bumps.run(Span::from_ms(5), &mut |_| false);
    assert_eq!(bumps.ends[1].1.next_sent(), None);
    assert_eq!(bumps.ends[0].0.counts().forged, 1);
}

/// A neighbour's frame is handed on although one before it is missing for good.
#[test]
fn frames_for_the_neighbour_wait_for_nobody() {
    let mut bumps = Bumps::new();
    bumps.activate();
    let mut lldp = frame(2, 64);
    lldp[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0, 0, 0x0E]);
    let first = frame(1, 200);
    bumps.ends[0].1.put(&first);
    bumps.run(Span::ZERO, &mut |sent| sent.len() > 190);
    bumps.ends[0].1.put(&lldp);
    bumps.run(Span::from_us(300), &mut |sent| sent.len() > 190);
    assert_eq!(bumps.ends[1].1.next_sent(), Some(lldp));
    assert_eq!(bumps.ends[1].1.next_sent(), None);
}

#[test]
fn a_lan_without_room_is_waited_for() {
    let mut bumps = Bumps::new();
    bumps.activate();
    bumps.ends[1].1.limit(Some(10));
    let frames: Vec<_> = (0..200).map(|number| frame(number, 300)).collect();
    let before = bumps.carry(&frames, |_| false);
    assert_eq!(before, frames[..10]);
    bumps.ends[1].1.limit(None);
    bumps.run(Span::from_ms(5), &mut |_| false);
    let after: Vec<_> = std::iter::from_fn(|| bumps.ends[1].1.next_sent()).collect();
    assert!(after == frames[10..]);
}

/// What arrives while the LAN is down is thrown away and counted, and not handed on when it is long out of date.
#[test]
fn a_lan_that_is_down_costs_what_arrives_meanwhile() {
    let mut bumps = Bumps::new();
    bumps.activate();
    let frames: Vec<_> = (0..300).map(|number| frame(number, 300)).collect();
    bumps.ends[1].1.set_down(true);
    assert!(bumps.carry(&frames[..200], |_| false).is_empty());
    bumps.ends[1].1.set_down(false);
    assert!(bumps.carry(&frames[200..], |_| false) == frames[200..]);
    let counts = bumps.ends[1].0.counts();
    assert_eq!((counts.lan_refused, counts.lan_out, counts.lan_out_bytes), (200, 100, 100 * 300));
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut bumps = Bumps::new();
    bumps.activate();
    for number in 0..5000 {
        bumps.ends[0].1.put(&frame(number, 1514));
    }
    bumps.run(Span::from_ms(500), &mut |_| false);
    let arrived = std::iter::from_fn(|| bumps.ends[1].1.next_sent()).count() as u64;
    let counts = bumps.ends[0].0.counts();
    assert!(counts.queue_dropped > 0);
    assert_eq!(arrived + counts.queue_dropped, 5000);
}

/// A process that slept for longer than a frame is waited for finds the copy in the ring, behind many others, and gives up nothing.
#[test]
fn what_lies_in_the_ring_is_not_given_up() {
    let mut bumps = Bumps::new();
    bumps.activate();
    let frames: Vec<_> = (0..400).map(|number| frame(number, 100)).collect();
    for frame in &frames {
        bumps.ends[0].1.put(frame);
    }
    let mut copies = Vec::new();
    let mut lost = |sent: &[u8]| match Dialect::default().parse(sent).map(|received| received.signal) {
        Ok(Signal::Data { again: true, .. }) => {
            copies.push(sent.to_vec());
            true
        }
        Ok(Signal::Data { seq, .. }) => seq == 1,
        _ => false,
    };
    bumps.run(Span::from_us(10), &mut lost);
    // The other end has told of the gap, and sleeps while all others arrive, and then the copies.
    bumps.run_alone(0, Span::from_ms(3), &mut lost);
    assert!(!copies.is_empty());
    for copy in &copies {
        bumps.ends[1].2.put(copy);
    }
    bumps.run(Span::from_ms(5), &mut |_| false);
    let arrived: Vec<_> = std::iter::from_fn(|| bumps.ends[1].1.next_sent()).collect();
    assert_eq!(bumps.ends[1].0.end().counters().lost, 0);
    assert!(arrived == frames, "{} of {}", arrived.len(), frames.len());
}

/// A port may hand out frames that are longer than the memory for one: none of them is carried as a part of itself.
#[test]
fn frames_that_are_too_long_are_not_cut() {
    let mut bumps = Bumps::new();
    bumps.activate();
    let (long, after) = (frame(1, 3000), frame(2, 100));
    bumps.ends[0].1.put(&long);
    bumps.ends[0].1.put(&after);
    bumps.run(Span::from_ms(5), &mut |_| false);
    assert_eq!(bumps.ends[1].1.next_sent().as_ref(), Some(&after));
    assert_eq!((bumps.ends[1].1.next_sent(), bumps.ends[0].0.counts().misshapen), (None, 1));
    // From the link they pass, unless they would have to wait for the LAN.
    bumps.ends[1].2.put(&long);
    bumps.run(Span::ZERO, &mut |_| false);
    assert_eq!(bumps.ends[1].1.next_sent().as_ref(), Some(&long));
    bumps.ends[1].1.limit(Some(0));
    bumps.ends[1].2.put(&long);
    bumps.ends[1].2.put(&after);
    bumps.run(Span::ZERO, &mut |_| false);
    bumps.ends[1].1.limit(None);
    bumps.run(Span::from_us(50), &mut |_| false);
    assert_eq!(bumps.ends[1].1.next_sent(), Some(after));
    assert_eq!(bumps.ends[1].0.counts().misshapen, 1);
}

/// One that waits for another and is too long to be kept does not hold up those behind it.
#[test]
fn a_frame_too_long_to_wait_is_not_waited_for() {
    let mut bumps = Bumps::new();
    bumps.activate();
    let frames: Vec<_> = (0..3).map(|number| frame(number, 100)).collect();
    let mut crossing = Vec::new();
    for frame in &frames {
        bumps.ends[0].1.put(frame);
    }
    bumps.run_alone(0, Span::ZERO, &mut |sent| {
        crossing.push(sent.to_vec());
        true
    });
    crossing
        .retain(|sent| matches!(Dialect::default().parse(sent), Ok(received) if received.signal.is_data()));
    crossing[1].resize(3000, 0);
    for at in [1, 2, 0] {
        bumps.ends[1].2.put(&crossing[at]);
    }
    bumps.run(Span::from_ms(5), &mut |_| false);
    let arrived: Vec<_> = std::iter::from_fn(|| bumps.ends[1].1.next_sent()).collect();
    assert_eq!(arrived, [frames[0].clone(), frames[2].clone()]);
    assert_eq!((bumps.ends[1].0.counts().misshapen, bumps.ends[1].0.pool_used()), (1, 0));
}

/// Random, truncated and replayed frames on the side of the link change nothing for those that are meant.
#[test]
fn garbage_on_the_link_neither_stalls_nor_panics() {
    let mut bumps = Bumps::new();
    bumps.activate();
    let mut state = 7;
    let mut heard = Vec::new();
    for round in 0..200_u32 {
        let frames: Vec<_> = (0..10).map(|number| frame(round * 10 + number, 100)).collect();
        for _ in 0..20 {
            let garbage = match random(&mut state) % 3 {
                0 => random_frame(&mut state),
                1 => replayed(&heard, &mut state),
                _ => truncated(&heard, &mut state),
            };
            bumps.ends[(random(&mut state) % 2) as usize].2.put(&garbage);
        }
        bumps.carry_and_hear(&frames, &mut heard);
    }
    // Forged signals may have cost frames, but the link still works.
    bumps.run(Span::from_ms(500), &mut |_| false);
    while bumps.ends[1].1.next_sent().is_some() {}
    let frames: Vec<_> = (0..100).map(|number| frame(number, 100)).collect();
    let arrived = bumps.carry(&frames, |_| false);
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
        frame[12..14].copy_from_slice(&Dialect::default().ethertype.to_be_bytes());
    }
    frame
}

fn replayed(heard: &[Vec<u8>], state: &mut u64) -> Vec<u8> {
    heard.get(random(state) as usize % heard.len().max(1)).cloned().unwrap_or_default()
}

fn truncated(heard: &[Vec<u8>], state: &mut u64) -> Vec<u8> {
    let mut frame = replayed(heard, state);
    frame.truncate(random(state) as usize % frame.len().max(1));
    frame
}
