//! READs: implied answers, partial restart, and the bound on how many are in flight.

use wiremend_proto::engine::{Op, Outcome, Responder as _};
use wiremend_proto::rc::{Config, Packet, Recovery, Responder, RethRepr};
use wiremend_testkit::{Cause, Direction, Pair, Side};
use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::Opcode;

use super::config;

/// A READ request as a responder sees it.
fn request(psn: u32, address: u64, remote_key: u32, dma_len: u32) -> Packet {
    let reth = RethRepr { address, remote_key, dma_len };
    Packet::new(Opcode::ReadRequest, QpNum::new(2), Psn::new(psn)).with_reth(reth)
}

fn drain(responder: &mut Responder, config: &Config) -> Vec<u32> {
    std::iter::from_fn(|| responder.poll_transmit(config).map(|packet| packet.psn.get())).collect()
}

/// The requests among the lines of a trace.
fn requests(pair: &Pair<Config>) -> Vec<&str> {
    pair.trace().iter().map(String::as_str).filter(|line| line.starts_with("A ")).collect()
}

/// A gap in the responses is seen at once; what is missing is asked for with address and number moved on.
#[test]
fn a_lost_response_is_asked_for_again_from_there_on() {
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
fn a_restarting_recovery_asks_for_the_whole_range() {
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
        [(Direction::Backward, 10, Cause::TailAck), (Direction::Forward, 1, Cause::TailPacket)]
    {
        let mut pair = Pair::new(config()).drop_nth(direction, [nth]).traced();
        pair.read(Side::A, 2560);
        pair.run_until_delivered();
        assert_eq!(pair.causes(), [cause]);
    }
}

/// The last response is lost; the acknowledgement of the WRITE behind it shows that.
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

/// All acknowledgements of the WRITEs are lost; the response to the READ behind them says the same.
#[test]
fn a_response_acknowledges_all_requests_before_it() {
    let mut pair = Pair::new(config())
        .fate(Direction::Backward, |sighting| sighting.packet.to_string().contains("Ack "));
    pair.write(Side::A, 1000);
    pair.write(Side::A, 1000);
    pair.read(Side::A, 1000);
    pair.run_until_delivered();
    assert_eq!((pair.requester(Side::A).retransmitted_packets, pair.causes()), (0, vec![]));
}

#[test]
fn a_lost_read_request_is_nakked_by_what_follows() {
    let mut pair = Pair::new(config()).drop_nth(Direction::Forward, [1]);
    pair.read(Side::A, 1000);
    pair.write(Side::A, 1000);
    pair.run_until_delivered();
    assert_eq!((pair.requester(Side::A).naks, pair.causes()), (1, vec![]));
}

/// The repeated request is lost, so a timeout comes; the response to the third one is lost as well, which is seen at
/// once, because after a timeout a gap is a new gap.
#[test]
fn a_response_lost_after_a_timeout_is_asked_for_at_once() {
    let mut copies = 0;
    let mut pair =
        Pair::new(config()).drop_nth(Direction::Forward, [2]).fate(Direction::Backward, move |sighting| {
            copies += u32::from(sighting.packet.psn.get() == 5);
            sighting.packet.psn.get() == 5 && copies <= 2
        });
    pair.read(Side::A, 2560);
    pair.run_until_delivered();
    assert_eq!((pair.causes().len(), pair.requester(Side::A).implied_naks), (1, 2));
    assert_eq!(pair.requester(Side::A).packets, 4);
}

/// Memory that the READ did not name is not given away because an old number is on the request.
#[test]
fn only_the_rest_of_a_recent_read_is_executed_again() {
    let config = Config { reads_max: 2, ..config() };
    let mut responder = Responder::new(QpNum::new(1), Psn::new(0));
    let mut ask = |request| responder.on_packet(&config, Time::ZERO, &request);
    assert!(matches!(ask(request(0, 4096, 7, 1000)), Outcome::Accepted { .. }));
    assert_eq!(ask(request(1, 4096, 7, 744)), Outcome::Ignored, "address of another part");
    assert_eq!(ask(request(1, 4352, 8, 744)), Outcome::Ignored, "another key");
    assert_eq!(ask(request(1, 4352, 7, 745)), Outcome::Ignored, "more than there was");
    assert_eq!(ask(request(1, 4352, 7, 744)), Outcome::Duplicate);
    assert_eq!(drain(&mut responder, &config), [1, 2, 3]);
}

/// A READ that is executed again is forgotten while its responses wait, because newer ones came.
#[test]
fn a_forgotten_read_is_not_answered_further() {
    let config = Config { reads_max: 2, ..config() };
    let mut responder = Responder::new(QpNum::new(1), Psn::new(0));
    for psn in [0, 2] {
        responder.on_packet(&config, Time::ZERO, &request(psn, 0, 0, 512));
    }
    assert_eq!(drain(&mut responder, &config), [0, 1, 2, 3]);
    assert_eq!(responder.on_packet(&config, Time::ZERO, &request(0, 0, 0, 512)), Outcome::Duplicate);
    responder.on_packet(&config, Time::ZERO, &request(4, 0, 0, 512));
    assert_eq!(drain(&mut responder, &config), [4, 5]);
    assert_eq!(responder.on_packet(&config, Time::ZERO, &request(0, 0, 0, 512)), Outcome::Ignored);
}

#[test]
fn no_more_reads_than_agreed_are_in_flight() {
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

/// Losses in every place of a row of READs between other operations, one at a time.
#[test]
fn any_single_loss_around_reads_is_repaired() {
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
