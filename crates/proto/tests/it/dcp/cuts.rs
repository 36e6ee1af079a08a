//! What DCP is about: cut packets come back as headers and are sent again, whatever the order.

use wiremend_proto::dcp::{Config, Fetch, Packet, Parameters};
use wiremend_proto::engine::Op;
use wiremend_proto::rc;
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::{A, B};
use wiremend_testkit::{Fate, Luck, Pair};
use wiremend_units::{Psn, Span, Time};

use super::{based, config, cut, dark, data};

/// D7: any packet, at any place, as often as one likes.
#[test]
fn a_cut_packet_is_sent_again_without_a_timeout_wherever_it_is() {
    for nth in 1..=10 {
        for times in 1..5 {
            let mut cuts = 0;
            let mut pair = Pair::new(config(Parameters::DCP)).fate(Forward, move |of| {
                let is_cut = data(of).psn.get() + 1 == nth && cuts < times;
                cuts += u32::from(is_cut);
                if is_cut { cut(of) } else { Fate::Arrives }
            });
            pair.write(A, 2500);
            pair.run_until_delivered();
            assert_eq!(
                (pair.requester(A).retransmitted_packets, pair.expired().len()),
                (u64::from(times), 0)
            );
            assert_eq!(pair.receiver().seen().cut, u64::from(times));
        }
    }
}

/// The receiver counts a cut copy of what it has, and sends no header back for it. The headers of others count all the same: where
/// the window is one packet, nothing else opens it.
#[test]
fn a_header_that_never_came_closes_no_window() {
    let mut pair = Pair::new(based(config(Parameters::DCP), |base| base.window = 1))
        .fate(Forward, |of| if of.nth % 3 == 0 { cut(of) } else { Fate::Arrives });
    pair.write(A, 256);
    pair.run_until_idle();
    let copy = data(&pair.sent(Forward)[0]).trimmed();
    pair.inject(Forward, Packet::Data(copy));
    pair.write(A, 256 * 20);
    pair.run_until_delivered();
    assert_eq!((pair.expired().len(), pair.sender().seen().returned + 1), (0, pair.receiver().seen().cut));
}

#[test]
fn disorder_alone_repeats_nothing() {
    let luck = Luck { reorder_ppm: 500_000, ..Luck::default() };
    let mut pair = Pair::new(config(Parameters::DCP)).impair(luck, 1);
    for len in [20_000, 0, 5000, 1] {
        pair.write(A, len);
        pair.post(A, Op::Send, len, Some(len));
    }
    pair.run_until_delivered();
    assert_eq!((pair.requester(A).retransmitted_packets, pair.requester(A).naks), (0, 0));
    assert!(pair.receiver().seen().out_of_order > 30, "{:?}", pair.receiver().seen());
}

#[test]
fn what_comes_back_goes_before_what_is_new() {
    let mut pair = Pair::new(based(config(Parameters::DCP), |base| base.window = 8))
        .fate(Forward, |of| if of.nth == 2 { cut(of) } else { Fate::Arrives });
    pair.write(A, 256 * 40);
    pair.run_until_delivered();
    // 2 µs and a little after it was sent, as soon as its header is back.
    let sent = pair.sent(Forward);
    let again = sent.iter().rposition(|of| data(of).psn == Psn::new(1)).expect("it was sent again");
    assert!((8..=10).contains(&again), "{sent:?}");
}

/// Lost acknowledgements say what the next one says as well.
#[test]
fn acknowledgements_may_get_lost() {
    let luck = Luck { loss_ppm: 0, ..Luck::default() };
    let mut pair = Pair::new(based(config(Parameters::DCP), |base| base.ack_every = 7)).impair(luck, 3);
    pair.write(A, 256 * 300);
    pair.run_until_delivered();
    assert!(pair.responder(B).acks < 60, "{}", pair.responder(B).acks);
    assert_eq!(pair.expired().len(), 0);
}

/// The slides: two `PCIe` round trips for each packet are 4 Gb/s; a batch shares them.
#[test]
fn resending_crawls_without_batches() {
    let took = |batch| {
        let fetch = Fetch { round_trip: Span::from_us(1), batch };
        let parameters = Parameters { fetch, ..Parameters::DCP };
        let base = rc::Config { mtu: 1024, window: 400, timeout: None, ..rc::Config::default() };
        // Every packet is cut once.
        let mut pair = Pair::new(Config { base, parameters })
            .fate(Forward, |of| if of.nth <= 400 { cut(of) } else { Fate::Arrives });
        pair.write(A, 1024 * 400);
        pair.run_until_delivered();
        pair.now().since(Time::ZERO).as_ps() as f64 / 1e6
    };
    let (alone, together) = (took(1), took(16));
    // 400 packets at 2 µs each: 4.1 Gb/s.
    assert!((alone - 802.0).abs() < 10.0, "{alone} µs");
    assert!(together < 100.0, "{together} µs");
}

/// A link goes dark for a while; many small messages were on it.
#[test]
fn a_dark_link_costs_timeouts_and_no_message() {
    let at = |us| Time::ZERO + Span::from_us(us);
    let mut pair = dark(Pair::new(config(Parameters::DCP)), at(3), at(300));
    (0..100).for_each(|_| pair.write(A, 300));
    pair.run_until_delivered();
    let expiries = pair.expired().len();
    assert!((1..5).contains(&expiries), "units that were lost together are sent together: {expiries}");
}
