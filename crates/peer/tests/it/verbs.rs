//! Every operation over a wire without losses: the right bytes, completions and permissions.

use std::cell::RefCell;
use std::rc::Rc;

use wiremend_peer::{Access, Event, Post, Slice};
use wiremend_proto::engine::{Op, Status};
use wiremend_proto::rc::Config;
use wiremend_units::Span;
use wiremend_wire::{Opcode, Trailer};

use crate::duo::{A, B, Duo, config, pattern, settings, whole, work};

const LIMIT: Span = Span::from_ms(50);

fn statuses(duo: &Duo, end: usize) -> Vec<Status> {
    let status = |event: &Event| match event {
        Event::Completed { status, .. } => Some(*status),
        _ => None,
    };
    duo.events[end].iter().filter_map(status).collect()
}

/// Eight duplicates arrive while the answer to the first one is sent.
#[test]
fn acknowledgements_are_merged_unless_each_is_wanted() {
    for merges_acks in [true, false] {
        let kept = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&kept);
        let mut duo = Duo::new([settings(); 2], 1).lose(move |side, frame| {
            if side == A {
                let mut bytes = vec![0; frame.buffer_len(Trailer::None)];
                frame.emit(Trailer::None, &mut bytes);
                sink.replace(bytes);
            }
            false
        });
        duo.merges_acks = merges_acks;
        let [a, _] = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
        let own = duo.ends[A].register(64, Access::NONE);
        let written = duo.ends[B].register(64, Access::ALL);
        let target = duo.ends[B].address_and_key(written);
        duo.post(A, a, work(1, Op::Write, whole(own, 64), target));
        assert!(duo.run(LIMIT));
        for _ in 0..8 {
            duo.inject(B, &kept.borrow());
        }
        assert!(duo.run(LIMIT));
        let answers = duo.count(B, Opcode::Acknowledge);
        assert!(if merges_acks { (2..9).contains(&answers) } else { answers == 9 }, "{answers}");
    }
}

#[test]
fn bytes_of_every_length_arrive_by_each_operation() {
    for (mtu, tagged) in [(256, false), (1024, true), (4096, true)] {
        let duo = Duo::new([settings(); 2], 1);
        let mut duo = if tagged { duo.over_v6_and_vlan() } else { duo };
        let config = Config { mtu, ..config() };
        let [a, b] = duo.connect(&config, [Access::ALL; 2], [5, 0xFF_FFF0]);
        for (id, len) in [0, 1, 3, 255, 256, 257, 4096, 10_000].into_iter().enumerate() {
            let id = id as u64;
            let own = duo.ends[A].register(u64::from(len), Access::NONE);
            let back = duo.ends[A].register(u64::from(len), Access::NONE);
            let written = duo.ends[B].register(u64::from(len), Access::ALL);
            let received = duo.ends[B].register(u64::from(len), Access::NONE);
            let bytes: Vec<u8> = (0..len as usize).map(|at| pattern(id, at)).collect();
            duo.ends[A].memory_mut(own).copy_from_slice(&bytes);
            let target = duo.ends[B].address_and_key(written);
            duo.ends[B].post_receive(b, id, whole(received, len)).unwrap();
            duo.ends[B].post_receive(b, id, whole(received, len)).unwrap();
            let imm = Some(0xABCD_0000 + id as u32);
            duo.post(A, a, Post { imm, ..work(id, Op::Send, whole(own, len), (0, 0)) });
            duo.post(A, a, Post { imm, ..work(id, Op::Write, whole(own, len), target) });
            duo.post(A, a, work(id, Op::Read, whole(back, len), target));
            assert!(duo.run(LIMIT));
            assert_eq!(duo.ends[B].memory(received), bytes);
            assert_eq!(duo.ends[B].memory(written), bytes);
            assert_eq!(duo.ends[A].memory(back), bytes);
            let received = |op| Event::Received { pair: b, id, op, len, imm, invalidated: None };
            assert_eq!(duo.events[B], [received(Op::Send), received(Op::Write)]);
            assert_eq!(statuses(&duo, A), [Status::Success; 3]);
            duo.events = [Vec::new(), Vec::new()];
        }
    }
}

#[test]
fn atomic_operations_change_memory_and_return_the_old_value() {
    let mut duo = Duo::new([settings(); 2], 1);
    let [a, _] = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
    let results = duo.ends[A].register(8 * 4, Access::NONE);
    let shared = duo.ends[B].register(16, Access::ALL);
    let (address, key) = duo.ends[B].address_and_key(shared);
    let operations = [
        (Op::FetchAdd, [5, 0]),
        (Op::FetchAdd, [u64::MAX, 0]),
        (Op::CompareSwap, [99, 4]),
        (Op::CompareSwap, [1, 4]),
    ];
    for (id, (op, operands)) in operations.into_iter().enumerate() {
        let local = Slice { region: results, offset: 8 * id as u64, len: 8 };
        duo.post(A, a, Post { operands, ..work(id as u64, op, local, (address + 8, key)) });
    }
    assert!(duo.run(LIMIT));
    let words = |bytes: &[u8]| -> Vec<u64> {
        bytes.chunks(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect()
    };
    assert_eq!(words(duo.ends[A].memory(results)), [0, 5, 4, 99]);
    assert_eq!(words(duo.ends[B].memory(shared)), [0, 99]);
    assert_eq!(statuses(&duo, A), [Status::Success; 4]);
}

/// Permission of the queue pair first, then key and range of the region.
#[test]
fn access_without_permission_or_key_ends_the_connection_with_the_right_code() {
    let read_only = Access { read: true, ..Access::NONE };
    let invalid = Status::RemoteInvalidRequest;
    let denied = Status::RemoteAccess;
    // Operation, length, rights of the queue pair, rights of the region, wrong key, offset, result.
    let cases = [
        (Op::Write, 100, Access::ALL, Access::ALL, 0, 0, Status::Success),
        (Op::Write, 100, read_only, Access::ALL, 0, 0, invalid),
        (Op::Write, 0, read_only, Access::ALL, 0, 0, invalid),
        (Op::Write, 0, Access::ALL, Access::ALL, 1, 1 << 40, Status::Success),
        (Op::Write, 100, Access::ALL, read_only, 0, 0, denied),
        (Op::Write, 1000, Access::ALL, Access::ALL, 1, 0, denied),
        (Op::Write, 100, Access::ALL, Access::ALL, 0, 925, denied),
        (Op::Write, 1000, Access::ALL, Access::ALL, 0, 25, denied),
        (Op::Write, 100, Access::ALL, Access::ALL, 0, u64::MAX - 50, denied),
        (Op::Read, 100, Access::ALL, Access::ALL, 0, 924, Status::Success),
        (Op::Read, 100, Access::NONE, Access::ALL, 0, 0, invalid),
        (Op::Read, 100, Access::ALL, Access::NONE, 0, 0, denied),
        (Op::Read, 101, Access::ALL, Access::ALL, 0, 924, denied),
        (Op::FetchAdd, 8, Access::ALL, Access::ALL, 0, 1016, Status::Success),
        (Op::FetchAdd, 8, Access::ALL, Access::ALL, 0, 1012, invalid),
        (Op::FetchAdd, 8, read_only, Access::ALL, 0, 0, invalid),
        (Op::CompareSwap, 8, Access::ALL, read_only, 0, 0, denied),
        (Op::CompareSwap, 8, Access::ALL, Access::ALL, 0, 1024, denied),
    ];
    for (op, len, pair_rights, region_rights, wrong_key, offset, expected) in cases {
        let mut duo = Duo::new([settings(); 2], 1);
        let [a, _] = duo.connect(&config(), [Access::NONE, pair_rights], [0, 0]);
        let own = duo.ends[A].register(1024, Access::NONE);
        let region = duo.ends[B].register(1024, region_rights);
        let (address, key) = duo.ends[B].address_and_key(region);
        let target = (address.wrapping_add(offset), key + wrong_key);
        duo.post(A, a, work(1, op, whole(own, len), target));
        duo.post(A, a, work(2, Op::Send, whole(own, 1), (0, 0)));
        let what = format!("{op:?} {len} {pair_rights:?} {region_rights:?} {wrong_key} {offset}");
        duo.run(Span::from_us(50));
        let found = statuses(&duo, A);
        assert_eq!(found.first(), Some(&expected), "{what}");
        let refused = duo.events[B].iter().filter(|event| matches!(event, Event::Refused { .. })).count();
        assert_eq!(refused, usize::from(expected != Status::Success), "{what}");
        if expected != Status::Success {
            assert_eq!(found[1..], [Status::Flushed], "{what}");
            assert!(duo.ends[B].memory(region).iter().all(|byte| *byte == 0), "{what}");
        }
    }
}

#[test]
fn a_send_that_exceeds_its_buffer_is_refused() {
    for (len, expected) in [(600, Status::Success), (601, Status::RemoteInvalidRequest)] {
        let mut duo = Duo::new([settings(); 2], 1);
        let [a, b] = duo.connect(&config(), [Access::NONE; 2], [0, 0]);
        let own = duo.ends[A].register(1000, Access::NONE);
        let buffer = duo.ends[B].register(1000, Access::NONE);
        duo.ends[B].post_receive(b, 1, Slice { region: buffer, offset: 400, len: 600 }).unwrap();
        duo.post(A, a, work(1, Op::Send, whole(own, len), (0, 0)));
        assert!(duo.run(LIMIT));
        assert_eq!(statuses(&duo, A), [expected]);
    }
}

#[test]
fn a_send_can_invalidate_a_key_once() {
    let mut duo = Duo::new([settings(); 2], 1);
    let [a, b] = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
    let own = duo.ends[A].register(100, Access::NONE);
    let region = duo.ends[B].register(100, Access::ALL);
    let (address, key) = duo.ends[B].address_and_key(region);
    duo.ends[B].post_receive(b, 7, whole(region, 100)).unwrap();
    duo.ends[B].post_receive(b, 8, whole(region, 100)).unwrap();
    duo.post(A, a, work(1, Op::SendInvalidate, whole(own, 100), (0, key)));
    assert!(duo.run(LIMIT));
    let invalidated = Some(key);
    assert_eq!(
        duo.events[B],
        [Event::Received { pair: b, id: 7, op: Op::Send, len: 100, imm: None, invalidated }]
    );
    duo.post(A, a, work(2, Op::Write, whole(own, 100), (address, key)));
    assert!(duo.run(LIMIT));
    assert_eq!(statuses(&duo, A), [Status::Success, Status::RemoteAccess]);
}

#[test]
fn without_a_receive_buffer_the_sender_waits_and_goes_on() {
    let mut duo = Duo::new([settings(); 2], 1);
    let [a, b] = duo.connect(&config(), [Access::NONE; 2], [0, 0]);
    let own = duo.ends[A].register(1000, Access::NONE);
    let buffer = duo.ends[B].register(1000, Access::NONE);
    for id in 0..3 {
        duo.post(A, a, work(id, Op::Send, whole(own, 1000), (0, 0)));
    }
    assert!(!duo.run(Span::from_ms(3)), "it tries again for ever");
    assert_eq!(statuses(&duo, A), []);
    assert!(duo.ends[B].pair_counters(b).unwrap().responder.rnr_naks >= 2);
    for id in 0..3 {
        duo.ends[B].post_receive(b, id, whole(buffer, 1000)).unwrap();
    }
    assert!(duo.run(LIMIT));
    assert_eq!(statuses(&duo, A), [Status::Success; 3]);
}

#[test]
fn a_thousand_queue_pairs_share_the_wire() {
    let mut duo = Duo::new([settings(); 2], 1);
    let own = duo.ends[A].register(2000, Access::NONE);
    duo.ends[A].memory_mut(own).iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern(3, at));
    let region = duo.ends[B].register(2_000_000, Access::ALL);
    let (address, key) = duo.ends[B].address_and_key(region);
    for number in 0..1000 {
        let [a, _] = duo.connect(&config(), [Access::ALL; 2], [number, 2 * number]);
        duo.post(A, a, work(0, Op::Write, whole(own, 2000), (address + u64::from(number) * 2000, key)));
    }
    assert!(duo.run(LIMIT));
    assert_eq!(statuses(&duo, A), [Status::Success; 1000]);
    let expected = duo.ends[A].memory(own).to_vec();
    assert!(duo.ends[B].memory(region).chunks(2000).all(|part| part == expected));
}

#[test]
fn a_message_of_a_gigabyte_arrives_in_spite_of_a_loss() {
    const LEN: u32 = 1 << 30;
    /// Distance of the bytes that are compared, one in each packet.
    const STEP: usize = 4093;
    let mut packets = 0;
    let mut duo = Duo::new([settings(); 2], 1).lose(move |side, _| {
        packets += usize::from(side == A);
        packets == 200_000
    });
    let config = Config { mtu: 4096, window: 128, ..config() };
    let [a, _] = duo.connect(&config, [Access::ALL; 2], [0xFF_FF00, 0]);
    let own = duo.ends[A].register(u64::from(LEN), Access::NONE);
    let region = duo.ends[B].register(u64::from(LEN), Access::ALL);
    for at in (0..LEN as usize).step_by(STEP) {
        duo.ends[A].memory_mut(own)[at] = pattern(1, at);
    }
    let target = duo.ends[B].address_and_key(region);
    duo.post(A, a, work(1, Op::Write, whole(own, LEN), target));
    assert!(duo.run(Span::from_ms(100_000)));
    assert_eq!(statuses(&duo, A), [Status::Success]);
    let written = duo.ends[B].memory(region);
    assert!((0..LEN as usize).step_by(STEP).all(|at| written[at] == pattern(1, at)));
}
