//! Trimmed packets: their headers are returned, and they are retransmitted, with any reordering.

use wiremend_proto::dcp::{Config, Packet, Parameters, Requester, Responder, RetransFetch};
use wiremend_proto::engine::{Op, Requester as _, Responder as _, Work};
use wiremend_proto::rc;
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::{A, B};
use wiremend_testkit::{Fate, Pair, RandomFaults};
use wiremend_units::{Psn, QpNum, Span, Time};

use super::{config, data, trim, with_base, with_outage};

/// D7: any packet, at any position, any number of times.
#[test]
fn a_trimmed_packet_is_retransmitted_without_a_timeout() {
    for nth in 1..=10 {
        for times in 1..5 {
            let mut trims = 0;
            let mut pair = Pair::new(config(Parameters::DCP)).fate(Forward, move |sent| {
                let is_trimmed = data(sent).psn.get() + 1 == nth && trims < times;
                trims += u32::from(is_trimmed);
                if is_trimmed { trim(sent) } else { Fate::Arrives }
            });
            pair.write(A, 2500);
            pair.run_until_delivered();
            assert_eq!(
                (pair.requester(A).retransmitted_packets, pair.expired().len()),
                (u64::from(times), 0)
            );
            assert_eq!(pair.receiver().dcp_counters().trimmed, u64::from(times));
        }
    }
}

/// The receiver counts a trimmed copy of a packet that it has, but does not return its header. The headers of
/// other packets must still count: with a window of one packet, nothing else opens the window.
#[test]
fn a_header_that_is_not_returned_does_not_close_the_window() {
    let mut pair = Pair::new(with_base(config(Parameters::DCP), |base| base.window = 1))
        .fate(Forward, |sent| if sent.nth % 3 == 0 { trim(sent) } else { Fate::Arrives });
    pair.write(A, 256);
    pair.run_until_idle();
    let copy = data(&pair.sent(Forward)[0]).trimmed();
    pair.inject(Forward, Packet::Data(copy));
    pair.write(A, 256 * 20);
    pair.run_until_delivered();
    assert_eq!(
        (pair.expired().len(), pair.sender().dcp_counters().headers_returned + 1),
        (0, pair.receiver().dcp_counters().trimmed)
    );
}

#[test]
fn reordering_alone_causes_no_retransmission() {
    let faults = RandomFaults { reorder_ppm: 500_000, ..RandomFaults::default() };
    let mut pair = Pair::new(config(Parameters::DCP)).impair(faults, 1);
    for len in [20_000, 0, 5000, 1] {
        pair.write(A, len);
        pair.post(A, Op::Send, len, Some(len));
    }
    pair.run_until_delivered();
    assert_eq!((pair.requester(A).retransmitted_packets, pair.requester(A).naks), (0, 0));
    assert!(pair.receiver().dcp_counters().out_of_order > 30, "{:?}", pair.receiver().dcp_counters());
}

#[test]
fn retransmissions_go_before_new_packets() {
    let mut pair = Pair::new(with_base(config(Parameters::DCP), |base| base.window = 8))
        .fate(Forward, |sent| if sent.nth == 2 { trim(sent) } else { Fate::Arrives });
    pair.write(A, 256 * 40);
    pair.run_until_delivered();
    // Slightly more than 2 µs after its transmission, as soon as its header is returned.
    let sent = pair.sent(Forward);
    let again = sent.iter().rposition(|sent| data(sent).psn == Psn::new(1)).expect("it was retransmitted");
    assert!((8..=10).contains(&again), "{sent:?}");
}

/// Acknowledgements are cumulative.
#[test]
fn acknowledgements_may_get_lost() {
    let faults = RandomFaults { loss_ppm: 0, ..RandomFaults::default() };
    let mut pair = Pair::new(with_base(config(Parameters::DCP), |base| base.ack_every = 7)).impair(faults, 3);
    pair.write(A, 256 * 300);
    pair.run_until_delivered();
    assert!(pair.responder(B).acks < 60, "{}", pair.responder(B).acks);
    assert_eq!(pair.expired().len(), 0);
}

/// The paper's slides: two `PCIe` round trips per packet are 4 Gb/s; a batch shares them.
#[test]
fn retransmission_is_slow_without_batches() {
    let took = |batch| {
        let fetch = RetransFetch { pcie_round_trip: Span::from_us(1), batch, per_header: false };
        let parameters = Parameters { fetch, ..Parameters::DCP };
        let base = rc::Config { mtu: 1024, window: 400, timeout: None, ..rc::Config::default() };
        // Every packet is trimmed once.
        let mut pair = Pair::new(Config { base, parameters })
            .fate(Forward, |sent| if sent.nth <= 400 { trim(sent) } else { Fate::Arrives });
        pair.write(A, 1024 * 400);
        pair.run_until_delivered();
        pair.now().since(Time::ZERO).as_ps() as f64 / 1e6
    };
    let (alone, together) = (took(1), took(16));
    // 400 packets at 2 µs each: 4.1 Gb/s.
    assert!((alone - 802.0).abs() < 10.0, "{alone} µs");
    assert!(together < 100.0, "{together} µs");
}

/// The paper's slides: without a queue, headers set the rate of retransmissions and not congestion control.
#[test]
fn without_a_queue_returned_headers_send_beyond_the_window() {
    let sent = |per_header| {
        let dcp = config(Parameters::DCP);
        let fetch = RetransFetch { per_header, ..dcp.parameters.fetch };
        let config = Config { parameters: Parameters { fetch, ..dcp.parameters }, ..dcp };
        let mut requester = Requester::new(QpNum::new(2), Psn::new(0));
        let mut responder = Responder::new(&config, QpNum::new(1), Psn::new(0));
        let work = Work { id: 1, op: Op::Write, len: 256 * 6, addr: 0, rkey: 0, imm: None };
        requester.post(&config, Time::ZERO, work);
        let mut packets = Vec::new();
        while let Some(transmit) = requester.poll_transmit(&config, Time::ZERO) {
            packets.push(transmit.packet);
        }
        requester.set_window(2);
        for packet in &packets {
            let Packet::Data(data) = packet else { panic!("{packet:?}") };
            responder.on_packet(&config, Time::ZERO, &Packet::Data(data.trimmed()));
            while let Some(header) = responder.poll_transmit(&config) {
                requester.on_packet(&config, Time::ZERO, &header);
            }
        }
        std::iter::from_fn(|| requester.poll_transmit(&config, Time::ZERO)).count()
    };
    assert_eq!((sent(false), sent(true)), (2, 6));
}

/// Many small messages are in flight when the link fails for some time.
#[test]
fn an_outage_costs_timeouts_but_no_message() {
    let at = |us| Time::ZERO + Span::from_us(us);
    let mut pair = with_outage(Pair::new(config(Parameters::DCP)), at(3), at(300));
    (0..100).for_each(|_| pair.write(A, 300));
    pair.run_until_delivered();
    let expiries = pair.expired().len();
    assert!((1..5).contains(&expiries), "units that were lost together are resent together: {expiries}");
}
