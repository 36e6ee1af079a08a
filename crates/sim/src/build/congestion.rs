//! What a scenario says of marks and of congestion control, as the cores take it.

use std::sync::Arc;

use wiremend_proto::cc::{Algorithm, FixedRate, dcqcn, swift};
use wiremend_scenario::{Congestion, Dcqcn, Ecn, Limit, Pace, Placed, Probability, Transport, Within};

use super::BuildError;
use super::longest::Longest;
use crate::network::Network;
use crate::registry::Registry;
use crate::switch::Curve;

/// The algorithm of all connections, if they have one.
pub(super) fn algorithm(
    transport: &Placed<Transport>,
    registry: &Registry,
) -> Result<Option<Arc<dyn Algorithm>>, BuildError> {
    let overrides = transport.dcqcn.as_ref();
    Ok(Some(match (&transport.congestion.value, transport.rate) {
        (Congestion::None, Pace::Line) => return Ok(None),
        (Congestion::None, Pace::Fixed(rate)) => Arc::new(FixedRate::new(rate)),
        (Congestion::DcqcnPaper, _) => Arc::new(with(dcqcn::Parameters::PAPER, overrides)),
        (Congestion::HpccLineage, _) => Arc::new(with(dcqcn::Parameters::HPCC_LINEAGE, overrides)),
        (Congestion::Swift, _) => Arc::new(delays(transport)?),
        (Congestion::Registered(registered), _) => {
            registry.make_congestion(registered).map_err(BuildError::setting(transport.congestion.place))?
        }
    }))
}

/// The curve of all ports.
pub(super) fn curve(ecn: &Ecn) -> Curve {
    let pmax_parts = (ecn.pmax.get() * (1_u64 << 32) as f64).round() as u64;
    Curve { kmin_bytes: ecn.kmin.get(), kmax_bytes: ecn.kmax.get(), pmax_parts: pmax_parts.max(1) }
}

/// A named set, but for what the scenario says itself.
fn with(set: dcqcn::Parameters, overrides: Option<&Placed<Dcqcn>>) -> dcqcn::Parameters {
    let Some(of) = overrides else { return set };
    dcqcn::Parameters {
        cnp_interval: of.cnp_interval.unwrap_or(set.cnp_interval),
        gain: of.gain.and_then(|gain| dcqcn::Gain::from_parts(parts(gain))).unwrap_or(set.gain),
        alpha_timer: of.alpha_timer.unwrap_or(set.alpha_timer),
        decrease_interval: of.decrease_interval.unwrap_or(set.decrease_interval),
        clamp_target: of.clamp_target.unwrap_or(set.clamp_target),
        increase_timer: of.increase_timer.unwrap_or(set.increase_timer),
        byte_counter: of.byte_counter.map_or(set.byte_counter, Limit::max),
        fast_recovery: of.fast_recovery.map_or(set.fast_recovery, Within::get),
        additive_increase: of.additive_increase.unwrap_or(set.additive_increase),
        hyper_increase: of.hyper_increase.unwrap_or(set.hyper_increase),
        min_rate: of.min_rate.unwrap_or(set.min_rate),
    }
}

/// What a user should know of a delay that is wanted and cannot be had.
pub(super) fn unreachable(transport: &Placed<Transport>, net: &Network) -> Option<String> {
    let Congestion::Swift = transport.congestion.value else { return None };
    let wanted = transport.swift.as_ref().map(|swift| swift.value).unwrap_or_default();
    let Longest { round_trip, switches, .. } = Longest::of(net);
    let target = wanted.base_target + wanted.hop_target * switches;
    (target < round_trip).then(|| {
        format!("Swift wants a delay of {target} on ways whose empty round trip is {round_trip}, and will hardly send anything there; raise transport.swift.base_target")
    })
}

fn delays(transport: &Placed<Transport>) -> Result<swift::Parameters, BuildError> {
    let place = transport.swift.as_ref().map_or(transport.place, |swift| swift.place);
    let swift = transport.swift.as_ref().map(|swift| swift.value).unwrap_or_default();
    let share = |of: Probability| {
        swift::Share::from_parts(parts(of))
            .ok_or_else(|| BuildError::at(place, format!("{} is more than the whole; at most 1", of.get())))
    };
    Ok(swift::Parameters {
        base_target: swift.base_target,
        hop_target: swift.hop_target,
        scaling_range: swift.scaling_range,
        additive_increase: swift.additive_increase.get(),
        beta: share(swift.beta)?,
        decrease_max: share(swift.decrease_max)?,
    })
}

/// In parts of 65 536, rounded.
fn parts(of: Probability) -> u32 {
    (of.get() * 65_536.0).round() as u32
}
