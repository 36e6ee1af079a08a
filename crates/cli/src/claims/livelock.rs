//! V1: with go-back-0, one dropped packet in 256 is enough for a full link and no goodput at all.

use wiremend_report::human;
use wiremend_scenario::{Recovery, Variant};
use wiremend_sim::Results;
use wiremend_units::{LaneId, Span, Time};
use wiremend_wire::WIRE_OVERHEAD_BYTES;

use super::{Claim, Effort, Finding, Verdict, simulate};
use crate::failure::Failure;
use crate::input::Input;

pub(super) const CLAIM: Claim = Claim {
    id: "V1",
    title: "livelock of go-back-0",
    source: "Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.1",
    paper: "Messages of 4 MB are sent as fast as possible by SEND, WRITE or READ, and the switch drops every packet \
            whose IP identification ends in 0xff. With go-back-0 the link is fully utilised and goodput is zero; with \
            go-back-N the livelock is gone",
    method: "Two hosts and a switch at 40 Gb/s, payload of 1024 bytes, drops in both directions, 64 messages posted \
             on one connection. Utilisation is that of the link which the data leave their host by. Reproduced if, for each \
             operation, go-back-0 completes no message at a utilisation of at least 90 %, and go-back-N has a goodput \
             of at least 30 % of the link",
    measure,
};

const UTILISATION_MIN: f64 = 0.9;
const GOODPUT_MIN: f64 = 0.3;

fn measure(effort: Effort) -> Result<Finding, Failure> {
    let sets = match effort {
        Effort::Full => Vec::new(),
        Effort::Quick => vec!["stop.after=30ms".parse().expect("it is an override")],
    };
    let input = Input::own("livelock.toml", include_str!("livelock.toml"), &sets);
    let mut shown = Vec::new();
    let mut misses = Vec::new();
    for variant in &input.file.variants {
        let outcome = Outcome::of(&simulate(&input, variant)?, variant);
        let text = format!(
            "{}: goodput {}, link {} % used",
            variant.name,
            human::rate_bps(outcome.goodput_bps),
            human::percent(outcome.utilisation)
        );
        if !outcome.is_as_claimed(variant.scenario.transport.recovery) {
            misses.push(variant.name.clone());
        }
        shown.push(text);
    }
    let (verdict, why) = if misses.is_empty() {
        let why = "A message of 4 MB has 3907 packets, so that some packet of it is always dropped: starting again from \
                   its first packet never ends, starting again from the lost one does";
        (Verdict::Reproduced, why.to_owned())
    } else {
        (Verdict::NotReproduced, format!("not as claimed: {}", misses.join(", ")))
    };
    Ok(Finding { verdict, measured: shown.join("; "), why })
}

struct Outcome {
    goodput_bps: f64,
    utilisation: f64,
    rate_bps: f64,
}

impl Outcome {
    fn of((results, uplinks): &(Results, Vec<LaneId>), variant: &Variant) -> Self {
        let seconds = results.end.since(Time::ZERO).max(Span::from_ps(1)).as_secs_f64();
        let rate_bps = variant.scenario.topology.rate.bits_per_s() as f64;
        let wire_bytes = |lane: &LaneId| {
            let lane = &results.lanes[lane.index()];
            lane.tx_bytes + lane.tx_frames * u64::from(WIRE_OVERHEAD_BYTES)
        };
        // Data leave by the busier of the two links; the other carries acknowledgements or requests.
        let wire_bytes = uplinks.iter().map(wire_bytes).max().unwrap_or(0);
        Self {
            goodput_bps: results.summary(&variant.name).goodput_bps as f64,
            utilisation: wire_bytes as f64 * 8.0 / seconds / rate_bps,
            rate_bps,
        }
    }

    fn is_as_claimed(&self, recovery: Recovery) -> bool {
        match recovery {
            Recovery::GoBack0 => self.goodput_bps == 0.0 && self.utilisation >= UTILISATION_MIN,
            Recovery::GoBackN => self.goodput_bps >= GOODPUT_MIN * self.rate_bps,
        }
    }
}
