//! Congestion control with a window below one packet delays packets for longer than the timeouts.

use wiremend_proto::dcp::{Config, LossHints, Packet, Parameters, RetransFetch, Tracking};
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_testkit::{Fate, Pair, SentPacket};
use wiremend_units::Span;

use super::{TIMEOUT, config, trim};

const PAUSE: Span = Span::from_us(2_000);
const HINTS: LossHints = LossHints { reorder_allowance: 8, probe_after: Some(Span::from_us(6)) };
const _: () = assert!(PAUSE.as_ps() >= TIMEOUT.as_ps() * 10);

fn paced(config: Config, fate: impl Fn(&SentPacket<Packet>) -> Fate<Packet> + 'static) -> Pair<Config> {
    let mut pair = Pair::new(config).fate(Forward, fate).pace(PAUSE);
    (0..3).for_each(|_| pair.write(A, 256 * 4));
    pair.run_until_delivered();
    pair
}

fn each(hints: Option<LossHints>) -> impl Iterator<Item = Config> {
    let trackings = [Tracking::Counter, Tracking::Sums, Tracking::Bitmap { packets: 128 }];
    trackings.into_iter().map(move |tracking| config(Parameters { tracking, hints, ..Parameters::DCP }))
}

/// Between the packets of a message, nothing is in flight that could be lost.
#[test]
fn delayed_packets_do_not_count_as_lost() {
    for config in each(None).chain(each(Some(HINTS))) {
        let pair = paced(config, |_| Fate::Arrives);
        let probes = pair.sender().dcp_counters().probes;
        assert_eq!((pair.expired().len(), probes, pair.carried(Forward)), (0, 0, 12));
    }
}

/// A lost packet causes one expiry, however late its new round begins.
#[test]
fn a_loss_costs_one_expiry_however_late_the_retransmission() {
    for config in each(None) {
        for lost in [1, 3, 4, 12] {
            let pair =
                paced(config.clone(), move |sent| if sent.nth == lost { Fate::Lost } else { Fate::Arrives });
            assert_eq!(pair.expired().len(), 1, "{lost}");
        }
    }
}

/// A returned header waits for congestion control, and for the fetch of its entry from host memory.
#[test]
fn a_trimmed_packet_waits_for_congestion_control() {
    for mut config in each(None).chain(each(Some(HINTS))) {
        config.parameters.fetch =
            RetransFetch { pcie_round_trip: Span::from_us(1), batch: 1, per_header: false };
        let pair = paced(config, |sent| if sent.nth % 2 == 1 { trim(sent) } else { Fate::Arrives });
        let probes = pair.sender().dcp_counters().probes;
        assert_eq!(
            (pair.expired().len(), probes, pair.carried(Forward)),
            (0, 0, 12 + pair.receiver().dcp_counters().trimmed)
        );
    }
}
