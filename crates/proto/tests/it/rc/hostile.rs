//! Packets that nobody sent: nothing panics, and what cannot be meant is ignored.

use wiremend_proto::engine::{Op, Requester as _, Responder as _, Work};
use wiremend_proto::rc::{AethRepr, Config, Packet, Qp, Recovery, RethRepr, Syndrome};
use wiremend_testkit::{Dice, Direction, Ending, Pair, Side};
use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::Opcode;

use super::config;

fn forged(dice: &mut Dice, near: Psn) -> Packet {
    let opcode = loop {
        let byte = if dice.below(30) == 0 { 0x81 } else { dice.below(0x28) as u8 };
        if let Ok(opcode) = Opcode::try_from(byte) {
            break opcode;
        }
    };
    let psn = match dice.below(4) {
        0 => Psn::new(dice.throw() as u32),
        1 => near.ahead(dice.pick(&[Psn::HALF, Psn::HALF - 1, u32::MAX])),
        _ => near.ahead(dice.below(40) as u32).ahead(0_u32.wrapping_sub(20)),
    };
    let len = dice.pick(&[0, 1, 255, 256, 257, u16::MAX]);
    let packet = Packet::new(opcode, QpNum::new(dice.throw() as u32), psn).with_payload(len);
    let packet = packet.with_ack_req(dice.below(2) == 0).with_imm(dice.throw() as u32);
    if opcode.has_reth() {
        let dma_len = dice.pick(&[0, 1, 256, 257, 1 << 20, 1 << 31, u32::MAX]);
        let (address, remote_key) = (dice.pick(&[0, 256, u64::MAX]), dice.below(3) as u32);
        packet.with_reth(RethRepr { address, remote_key, dma_len })
    } else {
        let syndrome = Syndrome::from_byte(dice.throw() as u8);
        packet.with_aeth(AethRepr { syndrome, msn: dice.throw() as u32 })
    }
}

/// Both cores of one end, driven by nothing but forged packets, with works posted and time passing.
#[test]
fn random_packets_never_panic() {
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let config = Config {
            recovery: dice.pick(&Recovery::ALL),
            window: dice.pick(&[1, 5, Config::WINDOW_MAX]),
            reads_max: dice.pick(&[1, 2, 16]),
            rnr_retry: dice.pick(&[0, 7]),
            ..config()
        };
        let first = Psn::new(dice.pick(&[0, 0xFF_FFFC, 0x7F_FFFF]));
        let mut qp = Qp::new(QpNum::new(1), first, first);
        let mut now = Time::ZERO;
        for id in 0..600 {
            now += Span::from_us(dice.below(30));
            let near = if dice.below(2) == 0 { qp.requester.oldest() } else { qp.responder.expected() };
            qp.on_packet(&config, now, &forged(&mut dice, near));
            if dice.below(3) == 0 {
                let op = dice.pick(&[Op::Send, Op::Write, Op::Read]);
                let len = dice.pick(&[0, 1, 256, 1000, 1 << 31]);
                qp.requester.post(
                    &config,
                    Time::ZERO,
                    Work { id, op, len, addr: u64::MAX - 5, rkey: 0, imm: None },
                );
            }
            for _ in 0..dice.below(20) {
                let ready = qp.requester.ready(&config, now);
                assert_eq!(qp.requester.poll_transmit(&config, now).is_some(), ready);
                let waiting = qp.responder.has_output();
                assert_eq!(qp.responder.poll_transmit(&config).is_some(), waiting);
            }
            qp.requester.on_timeout(&config, now);
            while dice.below(4) != 0 && qp.requester.poll_completion().is_some() {}
        }
    }
}

/// Answers to what was never asked, requests from outside of the sequence, and unknown syndromes change nothing.
#[test]
fn nonsense_does_not_disturb_a_healthy_transfer() {
    let mut pair = Pair::new(config()).starting_at(Psn::new(1000));
    pair.write(Side::A, 256 * 40);
    pair.read(Side::A, 256 * 40);
    let mut dice = Dice::new(5);
    let mut nonsense = 0;
    while pair.run_for(Span::from_ns(150)) == Ending::Bounded {
        let packet = forged(&mut dice, Psn::new(0x50_0000));
        let far = packet.psn.distance(Psn::new(1000)).unsigned_abs() > 10_000;
        if far && packet.opcode.is_response() {
            pair.inject(Direction::Backward, packet);
            nonsense += 1;
        }
        // A refusal of reliable datagrams, and a byte without a meaning.
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
    assert!(nonsense > 5);
    assert_eq!(pair.causes(), []);
    assert_eq!(pair.placed(Side::B), 256 * 40);
}
