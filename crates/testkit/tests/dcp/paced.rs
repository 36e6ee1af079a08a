//! Congestion control whose window is less than a packet keeps packets back for longer than the timers run.

use wiremend_proto::dcp::{Config, Fetch, Hints, Parameters, Tracking};
use wiremend_units::Span;

use crate::pair::{Fate, Pair};
use crate::{TIMEOUT, config};

const PAUSE: Span = Span::from_us(2_000);
const HINTS: Hints = Hints { allowance: 8, probe_after: Some(Span::from_us(6)) };
const _: () = assert!(PAUSE.as_ps() >= TIMEOUT.as_ps() * 10);

fn paced(config: Config, fate: impl Fn(u64) -> Fate + 'static) -> Pair {
    let mut pair = Pair::new(config).rule(move |_, nth| fate(nth)).pace(PAUSE);
    (0..3).for_each(|_| pair.write(256 * 4));
    pair.run_until_idle();
    pair.assert_delivered();
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
        let pair = paced(config, |_| Fate::Pass);
        let probes = pair.requester.seen().probes;
        assert_eq!((pair.expiries, probes, pair.sent), (0, 0, 12));
    }
}

/// A packet that was lost is missed once, however late the round that it costs may begin.
#[test]
fn a_loss_costs_one_expiry_however_late_it_is_sent_again() {
    for config in each(None) {
        for lost in [1, 3, 4, 12] {
            let pair = paced(config.clone(), move |nth| if nth == lost { Fate::Vanish } else { Fate::Pass });
            assert_eq!(pair.expiries, 1, "{lost}");
        }
    }
}

/// A header that came back, too, waits for its turn, and the entry in host memory before it.
#[test]
fn a_cut_packet_waits_for_its_turn() {
    for mut config in each(None).chain(each(Some(HINTS))) {
        config.parameters.fetch = Fetch { round_trip: Span::from_us(1), batch: 1 };
        let pair = paced(config, |nth| if nth % 2 == 1 { Fate::Cut } else { Fate::Pass });
        let probes = pair.requester.seen().probes;
        assert_eq!((pair.expiries, probes, pair.sent), (0, 0, 12 + pair.seen().cut));
    }
}
