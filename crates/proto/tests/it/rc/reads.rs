//! READs: implied ACKs and NAKs, partial restart, and the limit of READs in flight.

use wiremend_proto::engine::{Message, Op, RequestOutcome, Requester as _, Responder as _, Work};
use wiremend_proto::rc::{Config, Packet, Qp, Recovery, Responder, RethRepr};
use wiremend_testkit::{Direction, Pair, Side, TimeoutCause};
use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::Opcode;

use super::config;

/// Builds a READ request.
fn request(psn: u32, address: u64, remote_key: u32, dma_len: u32) -> Packet {
    let reth = RethRepr { address, remote_key, dma_len };
    Packet::new(Opcode::ReadRequest, QpNum::new(2), Psn::new(psn)).with_reth(reth)
}

fn drain(responder: &mut Responder, config: &Config) -> Vec<u32> {
    std::iter::from_fn(|| responder.poll_transmit(config).map(|packet| packet.psn.get())).collect()
}

/// Returns the requests in a trace.
fn requests(pair: &Pair<Config>) -> Vec<&str> {
    pair.trace().iter().map(String::as_str).filter(|line| line.starts_with("A ")).collect()
}

/// A gap in the responses is detected at once; the new request starts at the missing response.
#[test]
fn a_lost_response_is_requested_again_from_there_on() {
    let mut pair = Pair::new(config()).starting_at(Psn::new(100)).drop_nth(Direction::Backward, [3]).traced();
    pair.read(Side::A, 2560);
    pair.run_until_delivered();
    assert_eq!(
        requests(&pair),
        ["A ReadRequest psn 100 addr 0x0 len 2560", "A ReadRequest psn 102 addr 0x200 len 2048 copy 1"]
    );
    assert_eq!((pair.requester(Side::A).implied_naks, pair.causes()), (1, vec![]));
    let restarted = pair.trace().iter().position(|line| line == "B ReadResponseFirst psn 102 len 256");
    assert!(restarted.is_some(), "{:?}", pair.trace());
    assert_eq!(pair.received(Side::B).len(), 1, "executed again, counted once");
}

#[test]
fn go_back_0_requests_the_whole_range_again() {
    let config = Config { recovery: Recovery::GoBackZero, ..config() };
    let mut pair = Pair::new(config).drop_nth(Direction::Backward, [3]).traced();
    pair.read(Side::A, 2560);
    pair.run_until_delivered();
    assert_eq!(
        requests(&pair),
        ["A ReadRequest psn 0 addr 0x0 len 2560", "A ReadRequest psn 0 addr 0x0 len 2560 copy 1"]
    );
}

#[test]
fn a_lost_last_response_or_request_takes_a_timeout() {
    for (direction, nth, cause) in
        [(Direction::Backward, 10, TimeoutCause::TailAck), (Direction::Forward, 1, TimeoutCause::TailPacket)]
    {
        let mut pair = Pair::new(config()).drop_nth(direction, [nth]).traced();
        pair.read(Side::A, 2560);
        pair.run_until_delivered();
        assert_eq!(pair.causes(), [cause]);
    }
}

/// The last response is lost; the acknowledgement of the WRITE after it reveals that.
#[test]
fn an_acknowledgement_that_skips_a_read_is_an_implied_nak() {
    let mut pair = Pair::new(config()).drop_nth(Direction::Backward, [4]).traced();
    pair.read(Side::A, 1024);
    pair.write(Side::A, 10);
    pair.run_until_delivered();
    assert_eq!(
        requests(&pair),
        [
            "A ReadRequest psn 0 addr 0x0 len 1024",
            "A WriteOnly psn 4 len 10 ackreq",
            "A ReadRequest psn 3 addr 0x300 len 256 copy 1",
            "A WriteOnly psn 4 len 10 ackreq copy 1",
        ]
    );
    assert_eq!((pair.requester(Side::A).implied_naks, pair.causes()), (1, vec![]));
    assert_eq!(pair.placed(Side::B), 10);
}

/// All acknowledgements of the WRITEs are lost; the response to the READ after them implies them.
#[test]
fn a_response_acknowledges_all_requests_before_it() {
    let mut pair =
        Pair::new(config()).fate(Direction::Backward, |sent| sent.packet.to_string().contains("Ack "));
    pair.write(Side::A, 1000);
    pair.write(Side::A, 1000);
    pair.read(Side::A, 1000);
    pair.run_until_delivered();
    assert_eq!((pair.requester(Side::A).retransmitted_packets, pair.causes()), (0, vec![]));
}

#[test]
fn a_lost_read_request_causes_a_nak_for_the_next_packet() {
    let mut pair = Pair::new(config()).drop_nth(Direction::Forward, [1]);
    pair.read(Side::A, 1000);
    pair.write(Side::A, 1000);
    pair.run_until_delivered();
    assert_eq!((pair.requester(Side::A).naks, pair.causes()), (1, vec![]));
}

/// The second request is lost, so a timeout follows. The response to the third one is lost as well and
/// detected at once, because after a timeout a gap counts as new.
#[test]
fn a_response_lost_after_a_timeout_is_requested_at_once() {
    let mut copies = 0;
    let mut pair =
        Pair::new(config()).drop_nth(Direction::Forward, [2]).fate(Direction::Backward, move |sent| {
            copies += u32::from(sent.packet.psn.get() == 5);
            sent.packet.psn.get() == 5 && copies <= 2
        });
    pair.read(Side::A, 2560);
    pair.run_until_delivered();
    assert_eq!((pair.causes().len(), pair.requester(Side::A).implied_naks), (1, 2));
    assert_eq!(pair.requester(Side::A).packets, 4);
}

/// A request with an old number must not read other memory than the original READ.
#[test]
fn only_the_rest_of_a_recent_read_is_executed_again() {
    let config = Config { reads_max: 2, ..config() };
    let mut responder = Responder::new(QpNum::new(1), Psn::new(0));
    let mut ask = |request| responder.on_packet(&config, Time::ZERO, &request);
    assert!(matches!(ask(request(0, 4096, 7, 1000)), RequestOutcome::Accepted { .. }));
    assert_eq!(ask(request(1, 4096, 7, 744)), RequestOutcome::Ignored, "address of another part");
    assert_eq!(ask(request(1, 4352, 8, 744)), RequestOutcome::Ignored, "another key");
    assert_eq!(ask(request(1, 4352, 7, 745)), RequestOutcome::Ignored, "more than there was");
    assert_eq!(ask(request(1, 4352, 7, 744)), RequestOutcome::Duplicate);
    assert_eq!(drain(&mut responder, &config), [1, 2, 3]);
}

/// A READ that is executed again is discarded with its waiting responses when newer READs arrive.
#[test]
fn responses_of_a_discarded_read_are_not_sent() {
    let config = Config { reads_max: 2, ..config() };
    let mut responder = Responder::new(QpNum::new(1), Psn::new(0));
    for psn in [0, 2] {
        responder.on_packet(&config, Time::ZERO, &request(psn, 0, 0, 512));
    }
    assert_eq!(drain(&mut responder, &config), [0, 1, 2, 3]);
    assert_eq!(responder.on_packet(&config, Time::ZERO, &request(0, 0, 0, 512)), RequestOutcome::Duplicate);
    responder.on_packet(&config, Time::ZERO, &request(4, 0, 0, 512));
    assert_eq!(drain(&mut responder, &config), [4, 5]);
    assert_eq!(responder.on_packet(&config, Time::ZERO, &request(0, 0, 0, 512)), RequestOutcome::Ignored);
}

/// Sends every packet from one end to the other until both are silent. Executes additions on `value`.
fn exchange(config: &Config, [a, b]: [&mut Qp; 2], value: &mut u64, lost: &mut Vec<Opcode>) -> Vec<u64> {
    let mut originals = Vec::new();
    loop {
        let Some(transmit) = a.requester.poll_transmit(config, Time::ZERO) else { return originals };
        let opcode = transmit.packet.opcode;
        if let Some(at) = lost.iter().position(|lost| *lost == opcode) {
            lost.remove(at);
            continue;
        }
        let outcome = b.responder.on_packet(config, Time::ZERO, &transmit.packet);
        if matches!(
            outcome,
            RequestOutcome::Accepted { completed: Some(Message { op: Op::FetchAdd, .. }), .. }
        ) {
            b.responder.set_original(*value);
            *value += 1;
        }
        while let Some(answer) = b.responder.poll_transmit(config) {
            if let Some(at) = lost.iter().position(|lost| *lost == answer.opcode) {
                lost.remove(at);
                continue;
            }
            let placement = a.requester.on_packet(config, Time::ZERO, &answer);
            originals.extend(placement.and(answer.original()));
        }
    }
}

/// Each operation is executed once, and each old value comes back once, however often requests are repeated.
#[test]
fn atomic_operations_are_executed_once_and_their_results_are_repeated() {
    let config = Config { timeout: Some(Span::from_us(10)), reads_max: 4, ..config() };
    let work = |id| Work { id, op: Op::FetchAdd, len: 8, addr: 64, rkey: 5, imm: None };
    for lost in [vec![], vec![Opcode::FetchAdd], vec![Opcode::AtomicAcknowledge; 3]] {
        let mut a = Qp::new(QpNum::new(2), Psn::new(0xFF_FFFF), Psn::new(7));
        let mut b = Qp::new(QpNum::new(1), Psn::new(7), Psn::new(0xFF_FFFF));
        (0..6).for_each(|id| a.requester.post(&config, Time::ZERO, work(id)));
        let (mut value, mut lost, mut originals, mut now) = (40, lost, Vec::new(), Time::ZERO);
        for _ in 0..8 {
            originals.extend(exchange(&config, [&mut a, &mut b], &mut value, &mut lost));
            now += Span::from_us(20);
            a.requester.on_timeout(&config, now);
        }
        assert_eq!((originals, value), ((40..46).collect(), 46));
        let done: Vec<_> = std::iter::from_fn(|| a.requester.poll_completion()).map(|done| done.id).collect();
        assert_eq!(done, [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn a_send_with_invalidate_names_the_key_in_its_last_packet() {
    let config = config();
    let mut a = Qp::new(QpNum::new(2), Psn::new(0), Psn::new(0));
    let mut b = Qp::new(QpNum::new(1), Psn::new(0), Psn::new(0));
    for len in [0, 100, 600] {
        let work = Work { id: 1, op: Op::SendInvalidate, len, addr: 0, rkey: 0xABCD, imm: None };
        a.requester.post(&config, Time::ZERO, work);
        let mut keys = Vec::new();
        while let Some(transmit) = a.requester.poll_transmit(&config, Time::ZERO) {
            let outcome = b.responder.on_packet(&config, Time::ZERO, &transmit.packet);
            let RequestOutcome::Accepted { completed, .. } = outcome else { panic!("{outcome:?}") };
            keys.extend(completed.map(|message| (message.op, message.len, message.invalidate)));
        }
        assert_eq!(keys, [(Op::Send, len, Some(0xABCD))]);
    }
}

#[test]
fn reads_in_flight_are_limited() {
    let mut pair = Pair::new(Config { reads_max: 2, ..config() }).traced();
    for _ in 0..5 {
        pair.read(Side::A, 512);
    }
    pair.send(Side::A, 3);
    pair.run_until_delivered();
    let mut unanswered = 0;
    for line in pair.trace() {
        unanswered += i32::from(line.contains("ReadRequest")) - i32::from(line.contains("ReadResponseLast"));
        assert!(unanswered <= 2, "{:?}", pair.trace());
    }
    assert!(pair.trace()[0].contains("psn 0") && pair.trace()[1].contains("psn 2"));
}

/// A single loss at every position of a sequence of READs and other operations.
#[test]
fn any_single_loss_around_reads_is_recovered() {
    for recovery in Recovery::ALL {
        for direction in [Direction::Forward, Direction::Backward] {
            for nth in 1..=24 {
                let config = Config { recovery, reads_max: 3, ..config() };
                let mut pair = Pair::new(config).starting_at(Psn::new(0xFF_FFF8)).drop_nth(direction, [nth]);
                for op in [Op::Read, Op::Write, Op::Read, Op::Read, Op::Send, Op::Read, Op::Read] {
                    pair.post(Side::A, op, 700, None);
                }
                pair.run_until_delivered();
                assert!(pair.causes().len() <= 1, "{recovery:?} {direction:?} {nth}: {:?}", pair.causes());
            }
        }
    }
}
