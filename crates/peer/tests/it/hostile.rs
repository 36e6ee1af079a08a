//! A peer that sends anything: nothing panics, memory stays as it was, and honest connections go on.

use std::cell::RefCell;
use std::rc::Rc;

use wiremend_peer::{Access, Event, FRAME_BYTES_MAX};
use wiremend_proto::engine::Op;
use wiremend_testkit::Random;
use wiremend_units::{Psn, QpNum, Span};
use wiremend_wire::{
    AethRepr, AtomicAckEthRepr, AtomicEthRepr, BthRepr, Ecn, EthernetRepr, Extension, Icrc, IethRepr,
    ImmDtRepr, IpRepr, Ipv4Repr, Layout, NakCode, Opcode, RethRepr, RoceFrame, Syndrome, TrafficClass,
    Trailer, Vlans,
};

use crate::duo::{A, B, Duo, config, pattern, settings, whole, work};

/// Headers below the transport, as from this end.
fn headers(duo: &Duo, from: usize, class: TrafficClass) -> (EthernetRepr, IpRepr) {
    let path = duo.path(from);
    let (std::net::IpAddr::V4(source), std::net::IpAddr::V4(destination)) = (path.local_ip, path.remote_ip)
    else {
        unreachable!("IPv4 here")
    };
    let ip = Ipv4Repr { source, destination, class, identification: 1, dont_fragment: true, ttl: 64 };
    let (destination, source) = (path.remote_mac, path.local_mac);
    (EthernetRepr { destination, source, vlans: Vlans::Untagged }, IpRepr::V4(ip))
}

/// A frame of A's address to a queue pair of B.
fn frame(duo: &Duo, pair: QpNum, (opcode, psn): (Opcode, u32), extension: Extension, len: usize) -> Vec<u8> {
    let (ethernet, ip) = headers(duo, A, TrafficClass::default());
    let payload = vec![0xEE; len];
    let frame = RoceFrame {
        ethernet,
        ip,
        source_port: 5,
        bth: BthRepr { ack_request: true, ..BthRepr::new(opcode, pair, Psn::new(psn)) },
        extension,
        payload: &payload,
    };
    frame.to_bytes(Trailer::None)
}

/// The answers of B to these frames.
fn answers(duo: Duo, frames: &[Vec<u8>]) -> (Duo, Vec<Syndrome>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&seen);
    let mut duo = duo.lose(move |from, frame| {
        kept.borrow_mut().extend(frame.extension.aeth().filter(|_| from == B).map(|aeth| aeth.syndrome));
        false
    });
    for bytes in frames {
        duo.inject(B, bytes);
    }
    duo.run(Span::from_ms(1));
    let answers = seen.take();
    (duo, answers)
}

/// A message starts with FIRST or ONLY, goes on in its operation, and has full packets up to the last (IBA 9.7.4.1).
#[test]
fn operations_out_of_order_and_wrong_lengths_are_refused_with_the_right_code() {
    use Opcode::{SendFirst, SendLast, SendMiddle, SendOnly, WriteFirst, WriteLast, WriteMiddle};
    let cases: [&[(Opcode, usize)]; 10] = [
        &[(SendMiddle, 256)],
        &[(SendLast, 10)],
        &[(WriteMiddle, 256)],
        &[(WriteLast, 10)],
        &[(SendFirst, 256), (WriteMiddle, 256)],
        &[(SendFirst, 256), (SendOnly, 10)],
        &[(WriteFirst, 256), (SendLast, 10)],
        &[(SendFirst, 200)],
        &[(SendOnly, 257)],
        &[(WriteFirst, 256), (WriteLast, 256)],
    ];
    for case in cases {
        let mut duo = Duo::new([settings(); 2], 1);
        let [_, b] = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
        let region = duo.ends[B].register(1000, Access::ALL);
        duo.ends[B].post_receive(b, 1, whole(region, 1000)).unwrap();
        let (address, remote_key) = duo.ends[B].address_and_key(region);
        let reth = RethRepr { address, remote_key, dma_len: 300 };
        let frames = case.iter().zip(0..).map(|(&(opcode, len), psn)| {
            let extension = if opcode.has_reth() { Extension::Reth(reth) } else { Extension::Bare };
            frame(&duo, b.number(), (opcode, psn), extension, len)
        });
        let frames: Vec<_> = frames.collect();
        let (duo, answers) = answers(duo, &frames);
        assert_eq!(answers.last(), Some(&Syndrome::Nak(NakCode::InvalidRequest)), "{case:?}: {answers:?}");
        let refused = duo.events[B].iter().filter(|event| matches!(event, Event::Refused { .. })).count();
        assert_eq!(refused, 1, "{case:?}");
    }
}

/// Answers that wait are bounded, whatever is asked again and how often.
#[test]
fn a_flood_of_duplicates_has_bounded_answers() {
    const FLOOD: usize = 5000;
    for (opcode, len) in [(Opcode::SendOnly, 10), (Opcode::ReadRequest, 0)] {
        let mut duo = Duo::new([settings(); 2], 1);
        duo.merges_acks = false;
        let [_, b] = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
        let region = duo.ends[B].register(1000, Access::ALL);
        duo.ends[B].post_receive(b, 1, whole(region, 1000)).unwrap();
        let (address, remote_key) = duo.ends[B].address_and_key(region);
        let reth = RethRepr { address, remote_key, dma_len: 1000 };
        let extension = if opcode.has_reth() { Extension::Reth(reth) } else { Extension::Bare };
        let one = frame(&duo, b.number(), (opcode, 0), extension, len);
        let (duo, answers) = answers(duo, &vec![one; FLOOD]);
        assert!(!answers.is_empty() && answers.len() < 1100, "{opcode:?}: {} answers", answers.len());
        assert_eq!(duo.ends[B].counters().frames, FLOOD as u64);
        assert!(!duo.ends[B].has_output(), "{opcode:?}: all answers have left");
    }
}

/// A frame as the attacker builds it: right addresses, and near-right everything else.
fn forged(random: &mut Random, duo: &Duo, from: usize, pair: QpNum, key: u32) -> Vec<u8> {
    let opcode = random.pick(&Opcode::ALL);
    let number = |random: &mut Random| {
        let wild = random.draw();
        random.pick(&[0, 1, 8, 255, 256, 1 << 36, (1 << 36) + 250, u64::from(u32::MAX), u64::MAX, wild])
    };
    let key = if random.below(2) == 0 { key } else { number(random) as u32 };
    let reth = RethRepr { address: number(random), remote_key: key, dma_len: number(random) as u32 };
    let imm = ImmDtRepr(number(random) as u32);
    let aeth = AethRepr { syndrome: Syndrome::from_byte(random.draw() as u8), msn: random.draw() as u32 };
    let atomic = AtomicEthRepr { address: number(random), remote_key: key, swap_or_add: 1, compare: 0 };
    let deth = wiremend_wire::DethRepr { queue_key: 1, source_qp: QpNum::new(1) };
    let extension = match opcode.layout() {
        Layout::Bare => Extension::Bare,
        Layout::Imm => Extension::Imm(imm),
        Layout::Ieth => Extension::Ieth(IethRepr(key)),
        Layout::Reth => Extension::Reth(reth),
        Layout::RethImm => Extension::RethImm(reth, imm),
        Layout::Aeth => Extension::Aeth(aeth),
        Layout::AethAtomicAck => Extension::AethAtomicAck(aeth, AtomicAckEthRepr { original: 77 }),
        Layout::AtomicEth => Extension::AtomicEth(atomic),
        Layout::Deth => Extension::Deth(deth),
        Layout::DethImm => Extension::DethImm(deth, imm),
        Layout::Cnp => Extension::Cnp,
    };
    let psn = Psn::new(100).ahead(random.below(40) as u32).ahead(0_u32.wrapping_sub(20));
    let wild_pair = QpNum::new(random.draw() as u32);
    let pair = if random.below(10) == 0 { wild_pair } else { pair };
    let payload = vec![0xEE; random.pick(&[0, 1, 8, 255, 256, 257, 1024])];
    let class = TrafficClass { dscp: 0, ecn: if random.below(2) == 0 { Ecn::Ce } else { Ecn::Ect0 } };
    let (ethernet, ip) = headers(duo, from, class);
    let frame = RoceFrame {
        ethernet,
        ip,
        source_port: 5,
        bth: BthRepr { ack_request: random.below(2) == 0, ..BthRepr::new(opcode, pair, psn) },
        extension,
        payload: &payload,
    };
    let mut bytes = frame.to_bytes(Trailer::None);
    match random.below(10) {
        0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
        1 => {
            let bit = random.below(8 * bytes.len() as u64) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        _ => {}
    }
    bytes
}

/// The attacker has a connection of its own and the address of the honest peer, and knows the key of one region.
#[test]
fn forged_frames_change_nothing_but_what_their_key_permits() {
    let mut refused = 0;
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let mut duo = Duo::new([settings(); 2], seed);
        let [a, _] = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
        let [attacker, attacked] = duo.connect(&config(), [Access::ALL; 2], [100, 100]);
        let own = duo.ends[A].register(50_000, Access::NONE);
        duo.ends[A].memory_mut(own).iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern(seed, at));
        let open = duo.ends[B].register(256, Access::ALL);
        let (_, open_key) = duo.ends[B].address_and_key(open);
        let honest = duo.ends[B].register(50_000, Access::ALL);
        let secret = duo.ends[B].register(10_000, Access::ALL);
        let target = duo.ends[B].address_and_key(honest);
        let (_, secret_key) = duo.ends[B].address_and_key(secret);
        assert_ne!(open_key, secret_key);
        duo.ends[B].post_receive(attacked, 1, whole(open, 256)).unwrap();
        duo.post(A, a, work(1, Op::Write, whole(own, 50_000), target));
        let foreign = duo.ends[A].register(256, Access::NONE);
        duo.post(A, attacker, work(2, Op::Read, whole(foreign, 256), (1 << 36, open_key)));
        for _ in 0..400 {
            let to_b = forged(&mut random, &duo, A, attacked.number(), open_key);
            duo.inject(B, &to_b);
            let to_a = forged(&mut random, &duo, B, attacker.number(), open_key);
            duo.inject(A, &to_a);
            duo.run(Span::from_ns(random.below(3000)));
        }
        duo.run(Span::from_ms(50));
        assert_eq!(
            duo.ends[B].memory(honest),
            duo.ends[A].memory(own),
            "seed {seed}: the honest message arrives"
        );
        assert!(duo.ends[B].memory(secret).iter().all(|byte| *byte == 0), "seed {seed}");
        let counters = duo.ends[B].counters();
        assert!(
            counters.malformed > 0 && counters.wrong_icrc > 0 && counters.unknown_pair > 0,
            "{counters:?}"
        );
        refused += duo.events[B].len();
    }
    assert!(refused > 100, "only {refused} events at the attacked end");
}

#[test]
fn random_bytes_are_dropped_and_counted() {
    let mut duo = Duo::new([settings(); 2], 1);
    duo.connect(&config(), [Access::ALL; 2], [0, 0]);
    let mut random = Random::new(5);
    for _ in 0..5000 {
        let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.draw() as u8).collect();
        duo.inject(B, &bytes);
    }
    assert!(duo.run(Span::from_ms(1)));
    assert_eq!(duo.ends[B].counters().malformed, 5000);
    assert!(duo.sent.is_empty());
}

/// An endpoint with the addresses of its predecessor drops what was meant for that one.
#[test]
fn a_restarted_endpoint_does_not_answer_old_connections() {
    let mut duo = Duo::new([settings(); 2], 1);
    let [a, b] = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
    let own = duo.ends[A].register(100, Access::NONE);
    let before = duo.ends[B].remove(b);
    assert!(before.is_some() && duo.ends[B].remove(b).is_none());
    assert_ne!(duo.ends[B].next_pair(), Some(b));
    duo.connect(&config(), [Access::ALL; 2], [0, 0]);
    duo.post(A, a, work(1, Op::Send, whole(own, 100), (0, 0)));
    assert!(duo.run(Span::from_ms(50)));
    assert_eq!(duo.sent.iter().filter(|(from, _)| *from == B).count(), 0);
    assert_eq!(duo.ends[B].counters().unknown_pair, 8, "once, and seven retries");
}

#[test]
fn frames_with_a_wrong_icrc_or_foreign_address_are_counted() {
    let mut duo = Duo::new([settings(); 2], 1);
    let [a, _] = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
    let own = duo.ends[A].register(100, Access::NONE);
    duo.post(A, a, work(1, Op::Send, whole(own, 100), (0, 0)));
    let mut buffer = [0; FRAME_BYTES_MAX];
    let len = duo.ends[A].poll_transmit(duo.now, &mut buffer).unwrap();
    let frame = RoceFrame::parse(&buffer[..len]).unwrap();
    assert_eq!(frame.icrc, Icrc::Good);
    let IpRepr::V4(ip) = frame.frame.ip else { unreachable!() };
    let elsewhere = IpRepr::V4(Ipv4Repr { source: [198, 18, 0, 9].into(), ..ip });
    let foreign = RoceFrame { ip: elsewhere, ..frame.frame }.to_bytes(Trailer::None);
    duo.inject(B, &foreign);
    let mut wrong = buffer[..len].to_vec();
    wrong[len - 10] ^= 1;
    duo.inject(B, &wrong);
    duo.run(Span::from_us(1));
    let counters = duo.ends[B].counters();
    assert_eq!((counters.wrong_address, counters.wrong_icrc), (1, 1));
}
