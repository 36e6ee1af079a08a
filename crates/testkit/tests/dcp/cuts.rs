//! What DCP is about: cut packets come back as headers and are sent again, whatever the order.

use wiremend_proto::dcp::{Config, Fetch, Packet, Parameters};
use wiremend_proto::engine::{Op, Responder as _};
use wiremend_proto::rc;
use wiremend_units::{Psn, Span};

use crate::pair::{Fate, Luck, Pair};
use crate::{based, config};

/// D7: any packet, at any place, as often as one likes.
#[test]
fn a_cut_packet_is_sent_again_without_a_timeout_wherever_it_is() {
    for nth in 1..=10 {
        for times in 1..5 {
            let mut cuts = 0;
            let mut pair = Pair::new(config(Parameters::DCP)).rule(move |packet, _| {
                let cut = packet.psn.get() + 1 == nth && cuts < times;
                cuts += u32::from(cut);
                if cut { Fate::Cut } else { Fate::Pass }
            });
            pair.write(2500);
            pair.run_until_idle();
            pair.assert_delivered();
            assert_eq!((pair.counters().retransmitted_packets, pair.expiries), (u64::from(times), 0));
            assert_eq!(pair.seen().cut, u64::from(times));
        }
    }
}

/// The receiver counts a cut copy of what it has, and sends no header back for it. The headers of others count all the same: where
/// the window is one packet, nothing else opens it.
#[test]
fn a_header_that_never_came_closes_no_window() {
    let (tell, told) = std::sync::mpsc::channel();
    let mut pair =
        Pair::new(based(config(Parameters::DCP), |base| base.window = 1)).rule(move |packet, nth| {
            tell.send(*packet).expect("someone listens");
            if nth % 3 == 0 { Fate::Cut } else { Fate::Pass }
        });
    pair.write(256);
    pair.run_until_idle();
    let copy = told.recv().expect("it was sent").trimmed();
    pair.inject(&Packet::Data(copy));
    pair.write(256 * 20);
    pair.run_until_idle();
    pair.assert_delivered();
    assert_eq!((pair.expiries, pair.requester.seen().returned + 1), (0, pair.seen().cut));
}

#[test]
fn disorder_alone_repeats_nothing() {
    let luck = Luck { reorder_ppm: 500_000, ..Luck::default() };
    let mut pair = Pair::new(config(Parameters::DCP)).impair(luck, 1);
    for len in [20_000, 0, 5000, 1] {
        pair.write(len);
        pair.post(Op::Send, len, Some(len));
    }
    pair.run_until_idle();
    pair.assert_delivered();
    assert_eq!((pair.counters().retransmitted_packets, pair.counters().naks), (0, 0));
    assert!(pair.seen().out_of_order > 30, "{:?}", pair.seen());
}

#[test]
fn what_comes_back_goes_before_what_is_new() {
    let mut order = Vec::new();
    let (tell, told) = std::sync::mpsc::channel();
    let mut pair =
        Pair::new(based(config(Parameters::DCP), |base| base.window = 8)).rule(move |packet, nth| {
            tell.send(packet.psn).expect("someone listens");
            if nth == 2 { Fate::Cut } else { Fate::Pass }
        });
    pair.write(256 * 40);
    pair.run_until_idle();
    pair.assert_delivered();
    order.extend(told.iter().take(40));
    // 2 µs and a little after it was sent, as soon as its header is back.
    let again = order.iter().rposition(|psn| *psn == Psn::new(1)).expect("it was sent again");
    assert!((8..=10).contains(&again), "{order:?}");
}

/// Lost acknowledgements say what the next one says as well.
#[test]
fn acknowledgements_may_get_lost() {
    let luck = Luck { loss_ppm: 0, ..Luck::default() };
    let mut pair = Pair::new(based(config(Parameters::DCP), |base| base.ack_every = 7)).impair(luck, 3);
    pair.write(256 * 300);
    pair.run_until_idle();
    pair.assert_delivered();
    assert!(pair.responder.counters().acks < 60, "{}", pair.responder.counters().acks);
    assert_eq!(pair.expiries, 0);
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
            .rule(|_, nth| if nth <= 400 { Fate::Cut } else { Fate::Pass });
        pair.write(1024 * 400);
        pair.run_until_idle();
        pair.assert_delivered();
        pair.now.since(wiremend_units::Time::ZERO).as_ps() as f64 / 1e6
    };
    let (alone, together) = (took(1), took(16));
    // 400 packets at 2 µs each: 4.1 Gb/s.
    assert!((alone - 802.0).abs() < 10.0, "{alone} µs");
    assert!(together < 100.0, "{together} µs");
}

/// A link goes dark for a while; many small messages were on it.
#[test]
fn a_dark_link_costs_timeouts_and_no_message() {
    use wiremend_units::Time;
    let dark = Some((Time::ZERO + Span::from_us(3), Time::ZERO + Span::from_us(300)));
    let mut pair = Pair::new(config(Parameters::DCP)).impair(Luck { dark, ..Luck::default() }, 5);
    (0..100).for_each(|_| pair.write(300));
    pair.run_until_idle();
    pair.assert_delivered();
    assert!(
        pair.expiries >= 1 && pair.expiries < 5,
        "units that were lost together are sent together: {}",
        pair.expiries
    );
}
