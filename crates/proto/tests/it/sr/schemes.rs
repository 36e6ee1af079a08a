//! The behaviour of each scheme under loss and reordering, and its memory.

use wiremend_proto::engine::Op;
use wiremend_proto::sr::{Config, Scheme, StateBytes, TrackingKind};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::{A, B};
use wiremend_testkit::{Pair, RandomFaults, RunEnd, SentPacket};
use wiremend_units::Psn;

use super::config;

fn run(config: &Config, faults: RandomFaults, len: u32) -> Pair<Config> {
    let mut pair = Pair::new(config.clone()).impair(faults, 5);
    pair.post(A, Op::Write, len, None);
    assert_eq!(pair.run_until_idle(), RunEnd::Idle);
    pair.check().expect("everything arrived");
    pair
}

/// IRN mistakes reordering for loss; RACK adapts, and the timer makes no such mistake.
#[test]
fn reordering_costs_irn_most() {
    let faults = RandomFaults { reorder_ppm: 50_000, ..RandomFaults::default() };
    let spurious = |scheme| run(&config(scheme), faults, 1_000_000).responder(B).duplicates;
    let [irn, timeout, rack] = [Scheme::Irn, Scheme::TimeoutOnly, Scheme::RackTlp].map(spurious);
    assert_eq!(timeout, 0);
    assert!(irn > 100 && rack * 5 < irn, "irn {irn}, rack {rack}");
}

/// At 1 % loss, the schemes with early loss detection have fewer timeouts than the timer alone.
#[test]
fn losses_cost_the_timer_most() {
    let faults = RandomFaults { loss_ppm: 10_000, ..RandomFaults::default() };
    let timeouts = |scheme| run(&config(scheme), faults, 1_000_000).requester(A).timeouts;
    let [irn, timeout, rack] = [Scheme::Irn, Scheme::TimeoutOnly, Scheme::RackTlp].map(timeouts);
    assert!(rack <= irn && irn * 4 < timeout, "rack {rack}, irn {irn}, timer {timeout}");
}

/// After an outage of the link, transmission continues where it stopped.
#[test]
fn an_outage_is_survived() {
    for scheme in Scheme::ALL {
        let outage = |sent: &SentPacket<_>| (40..70).contains(&sent.nth);
        let mut pair =
            Pair::new(config(scheme.clone())).starting_at(Psn::new(0xFF_FFF0)).fate(Forward, outage);
        pair.post(A, Op::Send, 40_000, Some(7));
        pair.post(A, Op::Write, 10_000, None);
        assert_eq!(pair.run_until_idle(), RunEnd::Idle, "{scheme}");
        pair.check().expect("everything arrived");
        assert_eq!((pair.completions(A).len(), pair.placed(B)), (2, 50_000), "{scheme}");
        // The outage takes a whole window and the first retransmissions: each round of them costs one expiry.
        assert!(pair.expired().len() <= 3, "{scheme}: {:?}", pair.expired());
    }
}

/// MP-RDMA ends a recovery and starts the next one without a timeout.
#[test]
fn mp_rdma_recovers_more_than_once() {
    let mut config = config(Scheme::MpRdma);
    config.tracked_packets = 8;
    let losses = |sent: &SentPacket<_>| [10, 200, 400].contains(&sent.nth);
    let mut pair = Pair::new(config).fate(Forward, losses);
    pair.post(A, Op::Write, 600 * 256, None);
    assert_eq!(pair.run_until_idle(), RunEnd::Idle);
    assert_eq!((pair.expired().len(), pair.placed(B)), (0, 600 * 256));
    assert!(pair.requester(A).naks >= 3);
}

/// A probe reveals a lost tail.
#[test]
fn rack_probes_for_a_lost_tail() {
    let tail = |sent: &SentPacket<_>| sent.nth == 20;
    let mut pair = Pair::new(config(Scheme::RackTlp)).fate(Forward, tail);
    pair.post(A, Op::Write, 20 * 256, None);
    assert_eq!(pair.run_until_idle(), RunEnd::Idle);
    assert_eq!((pair.sender().probes(), pair.expired().len()), (1, 0));
}

/// Packets that congestion control delays are not in flight: a loss costs one expiry, however late the next
/// packet is sent. Ten timeouts fit into the pause, and seven without progress would end the connection.
#[test]
fn the_timer_stops_while_its_packet_is_delayed() {
    for scheme in Scheme::ALL {
        let config = config(scheme.clone());
        let pause = config.rto_high * 10;
        for lost in [1, 5, 10] {
            let rule = move |sent: &SentPacket<_>| sent.nth == lost;
            let mut pair = Pair::new(config.clone()).fate(Forward, rule).pace(pause);
            pair.post(A, Op::Write, 256 * 10, None);
            assert_eq!(pair.run_until_idle(), RunEnd::Idle, "{scheme}");
            pair.check().expect("everything arrived");
            let (expired, probes) = (pair.expired().len(), pair.sender().probes());
            assert!(expired + probes as usize <= 1, "{scheme}, {lost}: {expired} expiries, {probes} probes");
            assert_eq!(pair.carried(Forward), 11, "{scheme}, {lost}");
        }
    }
}

/// Lookups take more steps with reordering if chunks are visited, but not with a bitmap.
#[test]
fn linked_chunks_take_more_steps_as_reordering_grows() {
    let rate = |tracking, lost: u64| {
        let mut config = config(Scheme::Irn);
        (config.base.window, config.tracked_packets, config.tracking) = (2_000, 2_000, tracking);
        let rule = move |sent: &SentPacket<_>| sent.nth == 1 && lost > 0;
        let mut pair = Pair::new(config).fate(Forward, rule);
        // The gap remains until the retransmission arrives; the window limits the packets after it.
        pair.post(A, Op::Write, 256 * lost.max(10) as u32, None);
        assert_eq!(pair.run_until_idle(), RunEnd::Idle);
        let cost = pair.receiver().tracking_cost();
        assert_eq!(cost.packets, pair.responder(B).accepted);
        cost.packets_per_s(300_000_000)
    };
    assert!(rate(TrackingKind::Bitmap, 1_000) >= 300e6);
    assert!(rate(TrackingKind::LinkedChunks, 0) >= 300e6);
    assert!(rate(TrackingKind::LinkedChunks, 1_000) <= rate(TrackingKind::LinkedChunks, 10));
}

/// Memory of a queue pair at 400 Gb/s and a round trip of 10 µs with packets of 1 KiB: about 500 packets.
#[test]
fn state_bytes_follow_from_the_types() {
    let state_bytes = |scheme: Scheme, tracking| {
        let mut base = config(scheme.clone()).base;
        base.window = 488;
        StateBytes::for_config(&Config { tracking, ..Config::new(scheme, base) })
    };
    let irn = state_bytes(Scheme::Irn, TrackingKind::Bitmap);
    assert_eq!((irn.responder, irn.responder_peak, irn.host), (61, 61, 61));
    let chunks = state_bytes(Scheme::Irn, TrackingKind::LinkedChunks);
    assert!(chunks.responder < 10 && chunks.responder_peak > irn.responder);
    let rack = state_bytes(Scheme::RackTlp, TrackingKind::Bitmap);
    assert!(rack.requester > 16 * 488, "a time for each packet: {rack:?}");
    let mp = state_bytes(Scheme::MpRdma, TrackingKind::Bitmap);
    assert!(mp.requester < irn.requester && mp.responder == 8, "{mp:?}");
}
