//! READ: data that are responses, trimmed, lost and reordered like the data of a WRITE.

use wiremend_proto::dcp::{Config, Data, LossHints, Packet, Parameters, Tracking};
use wiremend_proto::engine::Op;
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::Side::{A, B};
use wiremend_testkit::{Fate, Pair, Random, RandomFaults, RunEnd, SentPacket};
use wiremend_units::{QpNum, Span, Time};

use super::{config, with_base, with_outage};

fn trim(sent: &SentPacket<Packet>) -> Fate<Packet> {
    match sent.packet {
        Packet::Data(data) => Fate::Altered(Packet::Data(data.trimmed())),
        _ => Fate::Arrives,
    }
}

fn read_data(sent: &SentPacket<Packet>) -> Option<Data> {
    match sent.packet {
        Packet::Data(data) if data.is_read_data() => Some(data),
        _ => None,
    }
}

/// Retransmissions and timeouts of the responder's sending half.
fn resent(pair: &mut Pair<Config>) -> (u64, u32) {
    use wiremend_proto::engine::Requester as _;
    let counters = pair.host(B).responder.reads().expect("there were READs").counters();
    (counters.retransmitted_packets, counters.timeouts)
}

#[test]
fn works_complete_in_order_and_with_their_data() {
    for tracking in [Tracking::Counter, Tracking::Sums, Tracking::Bitmap { packets: 256 }] {
        let mut pair = Pair::new(config(Parameters { tracking, unit_packets: 8, ..Parameters::DCP }));
        for len in [0, 1, 256, 257, 20_000] {
            pair.read(A, len);
            pair.write(A, len);
            pair.read(B, len);
            pair.post(A, Op::Send, len, Some(len));
        }
        pair.run_until_delivered();
        assert_eq!(resent(&mut pair), (0, 0));
    }
}

/// D16: any packet of the data, at any position, any number of times.
#[test]
fn trimmed_data_are_resent_without_a_timeout() {
    for nth in 0..10 {
        for times in 1..4 {
            let mut trims = 0;
            let mut pair = Pair::new(config(Parameters::DCP)).fate(Backward, move |sent| {
                let is_trimmed = read_data(sent).is_some_and(|data| data.psn.get() == nth) && trims < times;
                trims += u32::from(is_trimmed);
                if is_trimmed { trim(sent) } else { Fate::Arrives }
            });
            pair.read(A, 2500);
            pair.run_until_delivered();
            assert_eq!((resent(&mut pair), pair.expired().len()), ((u64::from(times), 0), 0));
        }
    }
}

#[test]
fn a_trimmed_request_returns_to_the_requester() {
    let mut pair = Pair::new(config(Parameters::DCP))
        .fate(Forward, |sent| if sent.nth == 1 { trim(sent) } else { Fate::Arrives });
    pair.read(A, 2500);
    pair.run_until_delivered();
    assert_eq!((pair.requester(A).retransmitted_packets, pair.expired().len()), (1, 0));
    assert_eq!(resent(&mut pair), (0, 0));
}

/// The data are those after the WRITE, whatever arrives first.
#[test]
fn a_read_waits_for_the_write_before_it() {
    let mut pair = Pair::new(config(Parameters::DCP))
        .fate(Forward, |sent| if sent.nth == 1 { trim(sent) } else { Fate::Arrives });
    pair.write(A, 256);
    pair.read(A, 256);
    pair.run_until_delivered();
    let first = pair.sent(Backward).iter().position(|sent| read_data(sent).is_some()).unwrap();
    let messages = pair.received(B);
    assert_eq!(messages.iter().map(|message| message.op).collect::<Vec<_>>(), [Op::Write, Op::Read]);
    assert!(first >= 2, "the header of the WRITE and its acknowledgement come before the data");
}

/// What no header shows is found by the timer of the responder's half.
#[test]
fn lost_data_are_resent_after_a_timeout_of_the_responder() {
    let mut pair = Pair::new(config(Parameters::DCP))
        .fate(Backward, |sent| if sent.nth == 3 { Fate::Lost } else { Fate::Arrives });
    pair.read(A, 2500);
    pair.run_until_delivered();
    let (again, timeouts) = resent(&mut pair);
    assert_eq!((again, timeouts, pair.expired().len()), (10, 1, 0), "a round repeats the whole READ");
}

/// Hints work in this direction too.
#[test]
fn a_report_of_missing_data_saves_the_timeout() {
    let hints = Some(LossHints { reorder_allowance: 2, probe_after: Some(Span::from_us(20)) });
    for tracking in [Tracking::Sums, Tracking::Bitmap { packets: 256 }] {
        let mut pair = Pair::new(config(Parameters { tracking, hints, ..Parameters::DCP }))
            .fate(Backward, |sent| if sent.nth == 3 { Fate::Lost } else { Fate::Arrives });
        pair.read(A, 256 * 20);
        pair.run_until_delivered();
        assert_eq!(resent(&mut pair), (1, 0), "{tracking:?}");
    }
}

#[test]
fn a_requester_gives_up_when_data_stop() {
    let pair = Pair::new(with_base(config(Parameters::DCP), |base| base.retry_count = 1));
    let mut pair = with_outage(pair, Time::from_ns(3_000), Time::MAX);
    pair.read(A, 256 * 100);
    pair.write(A, 100);
    assert_eq!(pair.run_until_idle(), RunEnd::Idle);
    assert!(pair.expired().iter().any(|record| record.side == A && record.expiry.fatal));
    let statuses: Vec<_> = pair.completions(A).iter().map(|done| done.status.code()).collect();
    assert_eq!(statuses, [12, 5], "the READ fails and the WRITE is flushed");
}

/// More READs than may be open wait at the requester.
#[test]
fn open_reads_are_bounded() {
    let mut pair = Pair::new(with_base(config(Parameters::DCP), |base| base.reads_max = 2));
    (0..40).for_each(|_| pair.read(A, 600));
    pair.run_for(Span::from_us(1));
    let requests = pair.sent(Forward).iter().filter(|sent| matches!(sent.packet, Packet::Data(_))).count();
    assert_eq!(requests, 2);
    pair.run_until_delivered();
}

#[test]
fn forged_data_change_nothing() {
    let mut pair = Pair::new(config(Parameters::DCP));
    pair.read(A, 2500);
    pair.run_until_delivered();
    let first = pair.sent(Backward).iter().find_map(read_data).unwrap();
    for packet in [first, first.trimmed(), first.bounced(QpNum::new(9)), first.with_payload(1)] {
        pair.inject(Backward, Packet::Data(packet));
        pair.inject(Forward, Packet::Data(packet));
    }
    pair.read(A, 2500);
    pair.run_until_delivered();
}

/// Everything at once, in both directions.
#[test]
fn faults_in_any_order_lose_no_byte() {
    let hints = Some(LossHints { reorder_allowance: 16, probe_after: Some(Span::from_us(20)) });
    for seed in 0..60 {
        let tracking = if seed % 2 == 0 { Tracking::Sums } else { Tracking::Bitmap { packets: 256 } };
        let dcp = Parameters { tracking, hints, unit_packets: 32, ..Parameters::DCP };
        let faults = RandomFaults { loss_ppm: 2_000, duplicate_ppm: 2_000, reorder_ppm: 100_000 };
        let mut pair = Pair::new(with_base(config(dcp), |base| base.retry_count = 7)).impair(faults, seed);
        for direction in [Forward, Backward] {
            let mut random = Random::new(seed + 1000 * direction as u64);
            pair = pair.fate(
                direction,
                move |sent| if random.chance_ppm(50_000) { trim(sent) } else { Fate::Arrives },
            );
        }
        for len in [3_000, 0, 12_345, 256] {
            pair.read(A, len);
            pair.write(A, len);
            pair.read(B, len);
            pair.send(B, len);
        }
        pair.run_until_delivered();
    }
}
