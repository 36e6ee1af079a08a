//! Congestion control whose window is less than a packet keeps packets back for longer than the timers run.

use wiremend_proto::dcp::{Config, Fetch, Hints, Packet, Parameters, Tracking};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Pair, Sighting};
use wiremend_units::Span;

use super::{TIMEOUT, config, cut};

const PAUSE: Span = Span::from_us(2_000);
const HINTS: Hints = Hints { allowance: 8, probe_after: Some(Span::from_us(6)) };
const _: () = assert!(PAUSE.as_ps() >= TIMEOUT.as_ps() * 10);

fn paced(config: Config, fate: impl Fn(&Sighting<Packet>) -> Fate<Packet> + 'static) -> Pair<Config> {
    let mut pair = Pair::new(config).fate(Forward, fate).pace(PAUSE);
    (0..3).for_each(|_| pair.write(A, 256 * 4));
    pair.run_until_delivered();
    pair
}

fn each(hints: Option<Hints>) -> impl Iterator<Item = Config> {
    let trackings = [Tracking::Counter, Tracking::Sums, Tracking::Bitmap { packets: 128 }];
    trackings.into_iter().map(move |tracking| config(Parameters { tracking, hints, ..Parameters::DCP }))
}

/// Between the packets of a message nothing is under way that could be missed.
#[test]
fn what_is_kept_back_is_not_missed() {
    for config in each(None).chain(each(Some(HINTS))) {
        let pair = paced(config, |_| Fate::Arrives);
        let probes = pair.sender().seen().probes;
        assert_eq!((pair.expired().len(), probes, pair.carried(Forward)), (0, 0, 12));
    }
}

/// A packet that was lost is missed once, however late the round that it costs may begin.
#[test]
fn a_loss_costs_one_expiry_however_late_it_is_sent_again() {
    for config in each(None) {
        for lost in [1, 3, 4, 12] {
            let pair =
                paced(config.clone(), move |of| if of.nth == lost { Fate::Lost } else { Fate::Arrives });
            assert_eq!(pair.expired().len(), 1, "{lost}");
        }
    }
}

/// A header that came back, too, waits for its turn, and the entry in host memory before it.
#[test]
fn a_cut_packet_waits_for_its_turn() {
    for mut config in each(None).chain(each(Some(HINTS))) {
        config.parameters.fetch = Fetch { round_trip: Span::from_us(1), batch: 1 };
        let pair = paced(config, |of| if of.nth % 2 == 1 { cut(of) } else { Fate::Arrives });
        let probes = pair.sender().seen().probes;
        assert_eq!(
            (pair.expired().len(), probes, pair.carried(Forward)),
            (0, 0, 12 + pair.receiver().seen().cut)
        );
    }
}
