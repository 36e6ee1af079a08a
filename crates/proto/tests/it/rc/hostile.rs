//! Forged packets: nothing panics, and impossible packets are ignored.

use wiremend_proto::engine::{Op, Requester as _, Responder as _, Work};
use wiremend_proto::rc::{AethRepr, Config, Packet, Qp, Recovery, RethRepr, Syndrome};
use wiremend_testkit::{Direction, Pair, Random, RunEnd, Side};
use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::Opcode;

use super::config;

fn forged(random: &mut Random, near: Psn) -> Packet {
    let opcode = loop {
        let byte = if random.below(30) == 0 { 0x81 } else { random.below(0x28) as u8 };
        if let Ok(opcode) = Opcode::try_from(byte) {
            break opcode;
        }
    };
    let psn = match random.below(4) {
        0 => Psn::new(random.draw() as u32),
        1 => near.ahead(random.pick(&[Psn::HALF, Psn::HALF - 1, u32::MAX])),
        _ => near.ahead(random.below(40) as u32).ahead(0_u32.wrapping_sub(20)),
    };
    let len = random.pick(&[0, 1, 255, 256, 257, u16::MAX]);
    let packet = Packet::new(opcode, QpNum::new(random.draw() as u32), psn).with_payload(len);
    let packet = packet.with_ack_req(random.below(2) == 0).with_imm(random.draw() as u32);
    if packet.target().is_some() {
        let dma_len = random.pick(&[0, 1, 256, 257, 1 << 20, 1 << 31, u32::MAX]);
        let (address, remote_key) = (random.pick(&[0, 256, u64::MAX]), random.below(3) as u32);
        packet.with_reth(RethRepr { address, remote_key, dma_len })
    } else {
        let syndrome = Syndrome::from_byte(random.draw() as u8);
        packet.with_aeth(AethRepr { syndrome, msn: random.draw() as u32 })
    }
}

/// Forged packets only, for both halves of a queue pair, with posted work and passing time.
#[test]
fn random_packets_never_panic() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let config = Config {
            recovery: random.pick(&Recovery::ALL),
            window: random.pick(&[1, 5, Config::WINDOW_MAX]),
            reads_max: random.pick(&[1, 2, 16]),
            rnr_retry: random.pick(&[0, 7]),
            ..config()
        };
        let first = Psn::new(random.pick(&[0, 0xFF_FFFC, 0x7F_FFFF]));
        let mut qp = Qp::new(QpNum::new(1), first, first);
        let mut now = Time::ZERO;
        for id in 0..600 {
            now += Span::from_us(random.below(30));
            let near = if random.below(2) == 0 { qp.requester.oldest() } else { qp.responder.expected() };
            qp.on_packet(&config, now, &forged(&mut random, near));
            if random.below(3) == 0 {
                let op = random.pick(&[
                    Op::Send,
                    Op::Write,
                    Op::Read,
                    Op::SendInvalidate,
                    Op::FetchAdd,
                    Op::CompareSwap,
                ]);
                let any_len = random.pick(&[0, 1, 256, 1000, 1 << 31]);
                let len = if op.is_atomic() { Op::ATOMIC_LEN } else { any_len };
                qp.requester.post(
                    &config,
                    Time::ZERO,
                    Work { id, op, len, addr: u64::MAX - 5, rkey: 0, imm: None },
                );
            }
            for _ in 0..random.below(20) {
                let ready = qp.requester.ready(&config, now);
                assert_eq!(qp.requester.poll_transmit(&config, now).is_some(), ready);
                let waiting = qp.responder.has_output();
                assert_eq!(qp.responder.poll_transmit(&config).is_some(), waiting);
            }
            qp.requester.on_timeout(&config, now);
            while random.below(4) != 0 && qp.requester.poll_completion().is_some() {}
        }
    }
}

/// Responses without a request, requests outside the sequence, and unknown syndromes change nothing.
#[test]
fn forged_packets_do_not_disturb_a_transfer() {
    let mut pair = Pair::new(config()).starting_at(Psn::new(1000));
    pair.write(Side::A, 256 * 40);
    pair.read(Side::A, 256 * 40);
    let mut random = Random::new(5);
    let mut injected = 0;
    while pair.run_for(Span::from_ns(150)) == RunEnd::LimitReached {
        let packet = forged(&mut random, Psn::new(0x50_0000));
        let far = packet.psn.distance(Psn::new(1000)).unsigned_abs() > 10_000;
        if far && packet.opcode.is_response() {
            pair.inject(Direction::Backward, packet);
            injected += 1;
        }
        // A NAK of reliable datagrams, and a reserved syndrome.
        for byte in [0x64, 0x80] {
            let aeth = AethRepr { syndrome: Syndrome::from_byte(byte), msn: 0 };
            pair.inject(Direction::Backward, Packet::acknowledge(QpNum::new(1), Psn::new(1020), aeth));
        }
        let short = Packet::new(Opcode::ReadResponseMiddle, QpNum::new(1), Psn::new(1060)).with_payload(7);
        pair.inject(Direction::Backward, short);
        let early = Packet::new(Opcode::SendOnly, QpNum::new(2), Psn::new(999));
        pair.inject(Direction::Forward, early);
    }
    pair.assert_delivered();
    assert!(injected > 5);
    assert_eq!(pair.causes(), []);
    assert_eq!(pair.placed(Side::B), 256 * 40);
}
