//! ECN marking and congestion control, from a scenario.

use std::sync::Arc;

use wiremend_proto::cc::{Algorithm, FixedRate, dcqcn, swift};
use wiremend_scenario::{Congestion, Dcqcn, Ecn, Limit, Pace, Placed, Probability, Transport, Within};

use super::BuildError;
use super::longest_path::LongestPath;
use crate::network::Network;
use crate::registry::Registry;
use crate::switch::RedCurve;

/// Returns the congestion control of all connections, if there is one.
pub(super) fn algorithm(
    transport: &Placed<Transport>,
    registry: &Registry,
) -> Result<Option<Arc<dyn Algorithm>>, BuildError> {
    let overrides = transport.dcqcn.as_ref();
    Ok(Some(match (&transport.congestion.value, transport.rate) {
        (Congestion::None, Pace::Line) => return Ok(None),
        (Congestion::None, Pace::Fixed(rate)) => Arc::new(FixedRate::new(rate)),
        (Congestion::DcqcnPaper, _) => Arc::new(dcqcn_parameters(dcqcn::Parameters::PAPER, overrides)),
        (Congestion::HpccLineage, _) => {
            Arc::new(dcqcn_parameters(dcqcn::Parameters::HPCC_SIMULATOR, overrides))
        }
        (Congestion::Swift, _) => Arc::new(swift_parameters(transport)?),
        (Congestion::Registered(registered), _) => {
            registry.make_congestion(registered).map_err(BuildError::setting(transport.congestion.place))?
        }
    }))
}

/// Returns the marking curve of all ports.
pub(super) fn curve(ecn: &Ecn) -> RedCurve {
    let pmax_parts = (ecn.pmax.get() * (1_u64 << 32) as f64).round() as u64;
    RedCurve { kmin_bytes: ecn.kmin.get(), kmax_bytes: ecn.kmax.get(), pmax_parts: pmax_parts.max(1) }
}

fn dcqcn_parameters(set: dcqcn::Parameters, overrides: Option<&Placed<Dcqcn>>) -> dcqcn::Parameters {
    let Some(table) = overrides else { return set };
    dcqcn::Parameters {
        cnp_interval: table.cnp_interval.unwrap_or(set.cnp_interval),
        gain: table.gain.and_then(|gain| dcqcn::Gain::from_parts(parts(gain))).unwrap_or(set.gain),
        alpha_timer: table.alpha_timer.unwrap_or(set.alpha_timer),
        decrease_interval: table.decrease_interval.unwrap_or(set.decrease_interval),
        nak_decreases: table.nak_decreases.unwrap_or(set.nak_decreases),
        clamp_target: table.clamp_target.unwrap_or(set.clamp_target),
        increase_timer: table.increase_timer.unwrap_or(set.increase_timer),
        byte_counter: table.byte_counter.map_or(set.byte_counter, Limit::max),
        fast_recovery: table.fast_recovery.map_or(set.fast_recovery, Within::get),
        additive_increase: table.additive_increase.unwrap_or(set.additive_increase),
        hyper_increase: table.hyper_increase.unwrap_or(set.hyper_increase),
        min_rate: table.min_rate.unwrap_or(set.min_rate),
    }
}

/// Returns a remark if the target delay of Swift is below the base round trip.
pub(super) fn note_unreachable_target(transport: &Placed<Transport>, net: &Network) -> Option<String> {
    let Congestion::Swift = transport.congestion.value else { return None };
    let wanted = transport.swift.as_ref().map(|swift| swift.value).unwrap_or_default();
    let LongestPath { round_trip, switches, .. } = LongestPath::find(net);
    let target = wanted.base_target + wanted.hop_target * switches;
    (target < round_trip).then(|| {
        format!("the target delay of Swift ({target}) is below the longest base round trip ({round_trip}), so flows on that path get almost no rate; raise transport.swift.base_target")
    })
}

fn swift_parameters(transport: &Placed<Transport>) -> Result<swift::Parameters, BuildError> {
    let place = transport.swift.as_ref().map_or(transport.place, |swift| swift.place);
    let swift = transport.swift.as_ref().map(|swift| swift.value).unwrap_or_default();
    let share = |value: Probability| {
        swift::Fraction::from_parts(parts(value))
            .ok_or_else(|| BuildError::at(place, format!("{} is a share above 1; at most 1", value.get())))
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
fn parts(value: Probability) -> u32 {
    (value.get() * 65_536.0).round() as u32
}
