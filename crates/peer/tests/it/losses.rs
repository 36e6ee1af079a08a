//! Losses that cost a timeout, and the remedies.

use wiremend_peer::{Access, Event, Settings};
use wiremend_proto::engine::{Op, Status};
use wiremend_proto::mend::{Dummies, MendConfig};
use wiremend_proto::rc::Config;
use wiremend_units::Span;
use wiremend_wire::Opcode;

use crate::duo::{A, B, Duo, config, settings, whole, work};

/// Sends one message of four packets and loses the n-th frames with these operations.
fn run(settings: [Settings; 2], config: &Config, op: Op, lost: &'static [(usize, Opcode, usize)]) -> Duo {
    let mut seen = vec![0; lost.len()];
    let mut duo = Duo::new(settings, 1).lose(move |from, frame| {
        let mut is_lost = false;
        for ((end, opcode, nth), seen) in lost.iter().zip(&mut seen) {
            if (*end, *opcode) == (from, frame.bth.opcode) {
                *seen += 1;
                is_lost |= *seen == *nth;
            }
        }
        is_lost
    });
    let [a, b] = duo.connect(config, [Access::ALL; 2], [0, 0]);
    let own = duo.ends[A].register(1000, Access::NONE);
    let region = duo.ends[B].register(1000, Access::ALL);
    let target = duo.ends[B].address_and_key(region);
    duo.ends[B].post_receive(b, 1, whole(region, 1000)).unwrap();
    duo.post(A, a, work(1, op, whole(own, 1000), target));
    assert!(duo.run(Span::from_ms(100)));
    let status = Status::Success;
    assert!(duo.events[A].contains(&Event::Completed { pair: a, id: 1, op, status }), "{:?}", duo.events);
    duo
}

fn timeouts(duo: &Duo) -> usize {
    duo.events[A].iter().filter(|event| matches!(event, Event::Expired { .. })).count()
}

fn dummies(count: u8, write_denied: bool) -> Config {
    let dummies = Dummies { count, write_denied, ..Dummies::default() };
    Config { mend: MendConfig { dummies, ..MendConfig::default() }, ..config() }
}

#[test]
fn each_remedy_avoids_the_timeout_of_its_loss() {
    let plain = [settings(); 2];
    let nak_copies = [Settings { nak_copies: 1, ..settings() }; 2];
    let resend_copies = [Settings { resend_copies: 1, ..settings() }; 2];
    let tail_packet: &[_] = &[(A, Opcode::WriteLast, 1)];
    let tail_ack: &[_] = &[(B, Opcode::Acknowledge, 4)];
    let nak: &[_] = &[(A, Opcode::WriteMiddle, 1), (B, Opcode::Acknowledge, 2)];
    let twice: &[_] = &[(A, Opcode::WriteMiddle, 1), (A, Opcode::WriteMiddle, 3)];
    let response: &[_] = &[(B, Opcode::ReadResponseLast, 1)];
    let cases = [
        (Op::Write, tail_packet, plain, dummies(1, false)),
        (Op::Write, tail_ack, plain, dummies(1, false)),
        (Op::Write, nak, nak_copies, config()),
        (Op::Write, twice, resend_copies, config()),
        (Op::Read, response, plain, dummies(1, false)),
        (Op::Send, &[(A, Opcode::SendLast, 1)], plain, dummies(1, true)),
        (Op::Send, tail_ack, plain, dummies(1, true)),
    ];
    for (op, lost, settings, mended) in cases {
        assert_eq!(timeouts(&run(plain, &config(), op, lost)), 1, "without remedy: {op:?} {lost:?}");
        assert_eq!(timeouts(&run(settings, &mended, op, lost)), 0, "with remedy: {op:?} {lost:?}");
    }
}

#[test]
fn copies_do_not_depend_on_losses_of_other_kinds() {
    let copies = Settings { nak_copies: 2, resend_copies: 3, ..settings() };
    let duo = run([copies; 2], &config(), Op::Write, &[]);
    assert_eq!(
        (duo.count(B, Opcode::Acknowledge), duo.sent.len()),
        (4, 8),
        "nothing is copied without a loss"
    );
    let duo = run([copies; 2], &config(), Op::Write, &[(A, Opcode::WriteMiddle, 1)]);
    let counters = |end: usize| duo.sent.iter().filter(|(from, _)| *from == end).count();
    assert!(counters(A) >= 4 + 3 + 3, "{:?}", duo.sent);
}
