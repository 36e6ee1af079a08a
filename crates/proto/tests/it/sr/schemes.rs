//! What each scheme makes of losses and of disorder, and what it keeps in memory.

use wiremend_proto::engine::Op;
use wiremend_proto::sr::{Config, Scheme, StateBytes, TrackingKind};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::{A, B};
use wiremend_testkit::{Ending, Luck, Pair, Sighting};
use wiremend_units::Psn;

use super::config;

fn run(config: &Config, luck: Luck, len: u32) -> Pair<Config> {
    let mut pair = Pair::new(config.clone()).impair(luck, 5);
    pair.post(A, Op::Write, len, None);
    assert_eq!(pair.run_until_idle(), Ending::Idle);
    pair.check().expect("everything is there");
    pair
}

/// IRN takes disorder for loss; RACK learns better, and the timer never errs.
#[test]
fn disorder_costs_irn_most() {
    let luck = Luck { reorder_ppm: 50_000, ..Luck::default() };
    let spurious = |scheme| run(&config(scheme), luck, 1_000_000).responder(B).duplicates;
    let [irn, timeout, rack] = [Scheme::Irn, Scheme::TimeoutOnly, Scheme::RackTlp].map(spurious);
    assert_eq!(timeout, 0);
    assert!(irn > 100 && rack * 5 < irn, "irn {irn}, rack {rack}");
}

/// At one loss in a hundred, each scheme that notices losses early waits for fewer timeouts than the one that does not.
#[test]
fn losses_cost_the_timer_most() {
    let luck = Luck { loss_ppm: 10_000, ..Luck::default() };
    let timeouts = |scheme| run(&config(scheme), luck, 1_000_000).requester(A).timeouts;
    let [irn, timeout, rack] = [Scheme::Irn, Scheme::TimeoutOnly, Scheme::RackTlp].map(timeouts);
    assert!(rack <= irn && irn * 4 < timeout, "rack {rack}, irn {irn}, timer {timeout}");
}

/// A link that loses everything for a while: go on where it stopped.
#[test]
fn a_cut_is_survived() {
    for scheme in Scheme::ALL {
        let cut = |sighting: &Sighting<_>| (40..70).contains(&sighting.nth);
        let mut pair = Pair::new(config(scheme.clone())).starting_at(Psn::new(0xFF_FFF0)).fate(Forward, cut);
        pair.post(A, Op::Send, 40_000, Some(7));
        pair.post(A, Op::Write, 10_000, None);
        assert_eq!(pair.run_until_idle(), Ending::Idle, "{scheme}");
        pair.check().expect("everything is there");
        assert_eq!((pair.completions(A).len(), pair.placed(B)), (2, 50_000), "{scheme}");
        // The cut takes a whole window, and what is sent again at first: each round of it costs one expiry, no more.
        assert!(pair.expired().len() <= 3, "{scheme}: {:?}", pair.expired());
    }
}

/// A recovery of MP-RDMA ends, and the next one begins, without a timeout.
#[test]
fn mp_rdma_recovers_more_than_once() {
    let mut config = config(Scheme::MpRdma);
    config.tracked = 8;
    let losses = |sighting: &Sighting<_>| [10, 200, 400].contains(&sighting.nth);
    let mut pair = Pair::new(config).fate(Forward, losses);
    pair.post(A, Op::Write, 600 * 256, None);
    assert_eq!(pair.run_until_idle(), Ending::Idle);
    assert_eq!((pair.expired().len(), pair.placed(B)), (0, 600 * 256));
    assert!(pair.requester(A).naks >= 3);
}

/// A probe finds a lost tail, again and again.
#[test]
fn rack_probes_for_a_lost_tail() {
    let tail = |sighting: &Sighting<_>| sighting.nth == 20;
    let mut pair = Pair::new(config(Scheme::RackTlp)).fate(Forward, tail);
    pair.post(A, Op::Write, 20 * 256, None);
    assert_eq!(pair.run_until_idle(), Ending::Idle);
    assert_eq!((pair.sender().probes(), pair.expired().len()), (1, 0));
}

/// What congestion control keeps back is not under way: a loss costs one expiry, however late the next packet may go. Ten
/// timeouts fit into the pause here, and seven in vain would end the connection.
#[test]
fn a_timer_stands_still_while_its_packet_is_kept_back() {
    for scheme in Scheme::ALL {
        let config = config(scheme.clone());
        let pause = config.rto_high * 10;
        for lost in [1, 5, 10] {
            let rule = move |sighting: &Sighting<_>| sighting.nth == lost;
            let mut pair = Pair::new(config.clone()).fate(Forward, rule).pace(pause);
            pair.post(A, Op::Write, 256 * 10, None);
            assert_eq!(pair.run_until_idle(), Ending::Idle, "{scheme}");
            pair.check().expect("everything is there");
            let (expired, probes) = (pair.expired().len(), pair.sender().probes());
            assert!(expired + probes as usize <= 1, "{scheme}, {lost}: {expired} expiries, {probes} probes");
            assert_eq!(pair.carried(Forward), 11, "{scheme}, {lost}");
        }
    }
}

/// Steps grow with disorder where chunks are walked, and not where a bit is looked up.
#[test]
fn linked_chunks_cost_steps_as_disorder_grows() {
    let rate = |tracking, lost: u64| {
        let mut config = config(Scheme::Irn);
        (config.base.window, config.tracked, config.tracking) = (2_000, 2_000, tracking);
        let rule = move |sighting: &Sighting<_>| sighting.nth == 1 && lost > 0;
        let mut pair = Pair::new(config).fate(Forward, rule);
        // The gap stays until the answer to the NAK comes; the window decides how many packets lie behind it.
        pair.post(A, Op::Write, 256 * lost.max(10) as u32, None);
        assert_eq!(pair.run_until_idle(), Ending::Idle);
        let steps = pair.receiver().steps();
        assert_eq!(steps.packets, pair.responder(B).accepted);
        steps.rate(300_000_000)
    };
    assert!(rate(TrackingKind::Bitmap, 1_000) >= 300e6);
    assert!(rate(TrackingKind::LinkedChunks, 0) >= 300e6);
    assert!(rate(TrackingKind::LinkedChunks, 1_000) <= rate(TrackingKind::LinkedChunks, 10));
}

/// What a queue pair takes at 400 Gb/s and a round trip of 10 µs, with packets of 1 KiB: about 500 packets.
#[test]
fn state_is_counted_from_the_code() {
    let of = |scheme: Scheme, tracking| {
        let mut base = config(scheme.clone()).base;
        base.window = 488;
        StateBytes::of(&Config { tracking, ..Config::new(scheme, base) })
    };
    let irn = of(Scheme::Irn, TrackingKind::Bitmap);
    assert_eq!((irn.responder, irn.responder_peak, irn.host), (61, 61, 61));
    let chunks = of(Scheme::Irn, TrackingKind::LinkedChunks);
    assert!(chunks.responder < 10 && chunks.responder_peak > irn.responder);
    let rack = of(Scheme::RackTlp, TrackingKind::Bitmap);
    assert!(rack.requester > 16 * 488, "a time for each packet: {rack:?}");
    let mp = of(Scheme::MpRdma, TrackingKind::Bitmap);
    assert!(mp.requester < irn.requester && mp.responder == 8, "{mp:?}");
}
