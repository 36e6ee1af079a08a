//! No packet allocates memory.

use wiremend_peer::{Access, Endpoint, FRAME_BYTES_MAX, PairId, RegionId};
use wiremend_proto::engine::Op;
use wiremend_units::{Span, Time};

use crate::counting_allocator::allocations;
use crate::duo::{A, B, Duo, config, settings, whole, work};

const LEN: u32 = 8000;

/// Sends one message of each operation, and every answer. Returns the number of frames.
fn exchange(ends: &mut [Endpoint; 2], pairs: [PairId; 2], regions: [RegionId; 2], now: Time) -> u64 {
    let target = ends[B].address_and_key(regions[B]);
    for op in [Op::Write, Op::Send, Op::Read] {
        ends[A].post(now, pairs[A], work(1, op, whole(regions[A], LEN), target)).unwrap();
    }
    ends[B].post_receive(pairs[B], 1, whole(regions[B], LEN)).unwrap();
    let mut buffer = [0; FRAME_BYTES_MAX];
    let mut frames = 0;
    loop {
        let before = frames;
        for from in [A, B] {
            while let Some(len) = ends[from].poll_transmit(now, &mut buffer) {
                frames += 1;
                ends[1 - from].on_frame(now, &buffer[..len], None);
            }
            while ends[from].poll_event().is_some() {}
        }
        if frames == before {
            return frames;
        }
    }
}

#[test]
fn frames_and_messages_need_no_allocation() {
    let mut duo = Duo::new([settings(); 2], 1);
    let pairs = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
    let regions = [A, B].map(|end| duo.ends[end].register(u64::from(LEN), Access::ALL));
    let mut now = Time::ZERO;
    // Queues reach their size.
    for _ in 0..20 {
        now = now.saturating_add(Span::from_us(300));
        exchange(&mut duo.ends, pairs, regions, now);
        duo.ends.iter_mut().for_each(|end| end.on_timeout(now));
    }
    let (before, mut frames) = (allocations(), 0);
    for _ in 0..100 {
        now = now.saturating_add(Span::from_us(300));
        frames += exchange(&mut duo.ends, pairs, regions, now);
        duo.ends.iter_mut().for_each(|end| end.on_timeout(now));
    }
    assert_eq!(allocations(), before);
    assert!(frames > 100 * 3 * u64::from(LEN / 256), "{frames}");
}
