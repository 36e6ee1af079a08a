//! Trimming switches: thresholds, and the weight with which their control queues lose nothing.
//!
//! N inputs at line rate C meet at one port. Data packets take D bytes on the wire, header-only packets H,
//! and the port serves data and headers 1 : w. Then (N − 1/(1 + w))·C/D packets per second are trimmed, and
//! w/(1 + w)·C/H headers per second can leave. With r = D/H no header is lost if w ≥ (N − 1)/(r − N), which
//! exists only for N < r. Solved for N, a weight suffices for N ≤ (w·r + 1)/(w + 1).

use wiremend_proto::cc::Needs;
use wiremend_proto::{dcp, rc};
use wiremend_scenario::{App, Scenario, Trim, TrimAcks, TrimWeight};
use wiremend_units::{Bytes, HostId, LaneId, Span, SwitchId};
use wiremend_wire::Opcode;

use super::{BuildError, workload};
use crate::frame::GAP_BYTES;
use crate::network::{IdealFlow, LastIdealTime, Network, TransportProtocol};
use crate::port::{Egress, Schedule};
use crate::switch::{AckHandling, TrimRule, Trimming};

/// Trimming of all switch ports.
pub(super) struct TrimPlan {
    rule: TrimRule,
    seed: u64,
    headers_bytes_max: u64,
    /// By lane; entries of hosts' lanes are unused.
    thresholds: Vec<Span>,
    /// Schedulers, by lane.
    schedules: Vec<Schedule>,
    /// Smallest and largest threshold.
    range: (Bytes, Bytes),
}

/// Wire bytes of packets.
#[derive(Clone, Copy)]
struct Sizes {
    data: u64,
    header: u64,
}

/// Returns `None` if switches do not trim.
pub(super) fn plan(
    scenario: &Scenario,
    net: &Network,
    buffer_sizes: &[Option<Bytes>],
    notes: &mut Vec<String>,
) -> Result<Option<TrimPlan>, BuildError> {
    let Some(trim) = &scenario.switch.trim else { return Ok(None) };
    let sizes = sizes(scenario, net, notes);
    let classes = shares(scenario, net.transport.needs);
    let (mut thresholds, mut schedules) = (Vec::new(), Vec::new());
    let mut range = (Bytes::new(u64::MAX), Bytes::ZERO);
    let usual = trim.threshold.map_or_else(|| Err(base_round_trip(net)), Ok);
    for lane in net.graph.lanes() {
        let rate = net.lanes[lane.index()].rate;
        let threshold = usual.unwrap_or_else(|round_trip| rate.bytes_in(round_trip));
        let memory = net.switch_at(lane.reverse()).and_then(|switch| buffer_sizes[switch.index()]);
        if let Some(buffer) = memory.filter(|buffer| *buffer < threshold) {
            let what = format!(
                "the trim threshold of {} is {threshold}{}, which is more than its buffer of {buffer}; give a `threshold` of at \
                 most the buffer",
                net.graph.lane_name(lane),
                if trim.threshold.is_none() { ", one bandwidth-delay product" } else { "" },
            );
            return Err(BuildError::at(trim.place, what));
        }
        range = (range.0.min(threshold), range.1.max(threshold));
        thresholds.push(rate.serialize(threshold));
        let weight = net.switch_at(lane.reverse()).map_or(100, |switch| weight(trim, net, switch, sizes));
        schedules.push(schedule(&classes, trim.class.get(), weight));
    }
    note_fan_in(trim, net, sizes, notes);
    let acks = match trim.acks {
        TrimAcks::Drop => AckHandling::Drop,
        TrimAcks::Keep => AckHandling::Keep,
        TrimAcks::Control => AckHandling::Control,
    };
    let rule = TrimRule {
        class: trim.class.get(),
        acks,
        connections: net.transport.trimmable,
        share_parts: (trim.share.get() * (1_u64 << 32) as f64).round() as u64,
    };
    let seed = net.seed;
    Ok(Some(TrimPlan { rule, seed, headers_bytes_max: trim.headers.get(), thresholds, schedules, range }))
}

impl TrimPlan {
    /// Returns the threshold of all ports, or the smallest and the largest, for readers.
    pub(super) fn threshold(&self) -> String {
        match self.range {
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        }
    }

    pub(super) fn trimming(&self) -> Trimming {
        Trimming::new(self.rule, self.seed, self.thresholds.iter().copied())
    }

    /// Returns the queues of a port.
    pub(super) fn egress(&self, lane: LaneId, buffer_bytes_max: Option<u64>) -> Egress {
        let egress = Egress::scheduled(self.schedules[lane.index()].clone(), buffer_bytes_max);
        egress.with_separate_class(self.rule.class, self.headers_bytes_max)
    }
}

/// Returns the wire bytes. The smallest full packet that may be trimmed counts.
fn sizes(scenario: &Scenario, net: &Network, notes: &mut Vec<String>) -> Sizes {
    let loads = scenario.workloads.iter().filter_map(|workload| match &workload.app {
        App::Cbr(cbr) if cbr.trimmable => Some(cbr.frame.get()),
        _ => None,
    });
    let full = rc::frame_len(Opcode::WriteMiddle, net.transport.config.mtu);
    let least = loads.chain(net.transport.trimmable.then_some(full)).min();
    if least.is_none() {
        notes.push(
            "no packet can be trimmed: the transport does not use header-only packets, so switches drop packets above the \
             threshold of [switch.trim]"
                .to_owned(),
        );
    }
    let on_wire = |len: u16| u64::from(len) + GAP_BYTES;
    Sizes { data: on_wire(least.unwrap_or(full)), header: on_wire(dcp::TRIMMED_BYTES) }
}

/// Returns the weighted classes except the control class, with weights in hundredths.
fn shares(scenario: &Scenario, needs: Needs) -> Vec<(u8, u32)> {
    let mut shares: Vec<_> = scenario.switch.weights().map(|(class, weight)| (class, weight * 100)).collect();
    let cnps = scenario.transport.cnp_class.map(wiremend_scenario::Within::get);
    for class in workload::classes(scenario, needs) {
        let is_named = scenario.switch.classes.iter().any(|entry| entry.number.get() == class);
        // CNPs in a class of their own stay strict.
        if !is_named && cnps != Some(class) {
            shares.push((class, 100));
        }
    }
    shares
}

fn schedule(shares: &[(u8, u32)], control: u8, weight: u32) -> Schedule {
    const MOST: u64 = 10_000_000;
    let sum: u64 = shares.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let own = (sum * u64::from(weight) / 100).clamp(1, MOST) as u32;
    let all: Vec<_> = shares.iter().copied().chain([(control, own)]).collect();
    Schedule::weighted(&all)
}

/// Returns the number of inputs that can meet at a port of a switch.
fn fan_in(trim: &Trim, net: &Network, switch: SwitchId) -> u64 {
    let ports = net.graph.ports(net.graph.switch_node(switch)).len() as u64;
    let others = ports.saturating_sub(1);
    trim.fan_in.map_or(others, |fan_in| others.min(fan_in.get().into()))
}

/// Returns the weight of the control class in hundredths.
fn weight(trim: &Trim, net: &Network, switch: SwitchId, sizes: Sizes) -> u32 {
    let inputs = fan_in(trim, net, switch);
    match trim.weight.value {
        TrimWeight::Fixed(weight) => weight,
        TrimWeight::FanIn => sizes.lossless_weight(inputs),
        TrimWeight::Ratio => 100 * (inputs * sizes.header).div_ceil(sizes.data).max(1) as u32,
    }
}

impl Sizes {
    /// Returns the smallest weight, in hundredths, with which no header-only packet of `inputs` inputs is
    /// lost. If there is none, returns the weight for the largest useful number of inputs.
    fn lossless_weight(self, inputs: u64) -> u32 {
        const LEAST: u64 = 10;
        let most = (self.data / self.header).saturating_sub(1).max(1);
        let inputs = if inputs * self.header < self.data { inputs } else { most };
        let spare = self.data.saturating_sub(inputs * self.header).max(1);
        let weight = (100 * inputs.saturating_sub(1) * self.header).div_ceil(spare);
        weight.clamp(LEAST, TrimWeight::MAX.into()) as u32
    }

    /// Returns the most inputs for which a weight, in hundredths, loses nothing.
    fn inputs_max(self, weight: u32) -> u64 {
        let weight = u64::from(weight);
        (weight * self.data + 100 * self.header) / ((weight + 100) * self.header)
    }
}

/// Adds a remark if more inputs can meet than the control queue can carry without loss.
fn note_fan_in(trim: &Trim, net: &Network, sizes: Sizes, notes: &mut Vec<String>) {
    let excess = |switch: &SwitchId| {
        let most = sizes.inputs_max(weight(trim, net, *switch, sizes));
        fan_in(trim, net, *switch).saturating_sub(most)
    };
    let switches = || net.graph.switches().filter(|switch| excess(switch) > 0);
    let Some(worst) = switches().max_by_key(|switch| (excess(switch), std::cmp::Reverse(*switch))) else {
        return;
    };
    let (inputs, weight) = (fan_in(trim, net, worst), weight(trim, net, worst, sizes));
    let ratio = sizes.data as f64 / sizes.header as f64;
    let name = net.graph.name(net.graph.switch_node(worst));
    let remedy = if inputs as f64 >= ratio {
        format!(
            "above {} inputs no weight is enough; a larger `mtu` helps",
            (ratio.ceil() as u64).saturating_sub(1)
        )
    } else {
        format!("a weight of {:.2} is enough", f64::from(sizes.lossless_weight(inputs)) / 100.0)
    };
    notes.push(format!(
        "header-only packets may be lost: {inputs} inputs can meet at a port of `{name}`. With a weight of {:.2} and packets {ratio:.1} \
         times as long as their headers, its control queue is safe for {} inputs; {remedy}",
        f64::from(weight) / 100.0,
        sizes.inputs_max(weight),
    ));
}

/// Returns the longest time of a full packet and its acknowledgement between two hosts in an empty network.
fn base_round_trip(net: &Network) -> Span {
    const PAIRS_MAX: usize = 1 << 16;
    let mut ends: Vec<HostId> = Vec::new();
    let mut hosts: Vec<HostId> = net.graph.hosts().collect();
    hosts.sort_by_key(|host| (net.graph.tor(*host), *host));
    // Two hosts represent all hosts of their switch.
    for of_switch in hosts.chunk_by(|a, b| net.graph.tor(*a) == net.graph.tor(*b)) {
        ends.extend(of_switch.iter().take(2));
    }
    let sources = ends.iter().step_by(1 + ends.len() * ends.len() / PAIRS_MAX);
    let pairs =
        sources.flat_map(|src| ends.iter().map(move |dst| (*src, *dst))).filter(|(src, dst)| src != dst);
    let (mut ideal, bytes) = (LastIdealTime::default(), u32::from(net.transport.config.mtu));
    let round_trip = |(src, dst)| {
        let protocol = TransportProtocol::Rdma;
        ideal.of(net, IdealFlow { protocol, src, dst, entropy: 0, bytes, round_trip: false })
    };
    pairs.map(round_trip).max().unwrap_or(Span::from_us(1)).max(Span::from_ps(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An MTU of 1024 bytes.
    const SHORT: Sizes = Sizes { data: 1106, header: 84 };
    /// An MTU of 4096 bytes.
    const LONG: Sizes = Sizes { data: 4178, header: 84 };

    #[test]
    fn lossless_weight_is_the_smallest_sufficient_one() {
        for sizes in [SHORT, LONG] {
            for inputs in 2..sizes.data.div_ceil(sizes.header) {
                let weight = sizes.lossless_weight(inputs);
                assert!(sizes.inputs_max(weight) >= inputs, "{inputs} inputs, weight {weight}");
                let less = weight - 1;
                assert!(weight == 10 || sizes.inputs_max(less) < inputs, "{inputs} inputs, weight {less}");
            }
        }
        assert_eq!([2, 8, 12].map(|inputs| SHORT.lossless_weight(inputs)), [10, 136, 943]);
        assert_eq!([8, 32, 48].map(|inputs| LONG.lossless_weight(inputs)), [17, 175, 2_705]);
    }

    #[test]
    fn beyond_the_size_ratio_no_weight_suffices() {
        assert_eq!(SHORT.inputs_max(TrimWeight::MAX), 13);
        assert_eq!(SHORT.lossless_weight(14), SHORT.lossless_weight(1000), "the weight of 12 inputs");
        assert_eq!(SHORT.lossless_weight(14), SHORT.lossless_weight(12));
    }

    #[test]
    fn packets_as_short_as_headers_cause_no_division_by_zero() {
        let sizes = Sizes { data: 84, header: 84 };
        assert_eq!((sizes.lossless_weight(1), sizes.lossless_weight(9)), (10, 10));
        assert_eq!(sizes.inputs_max(10), 1);
    }

    #[test]
    fn a_threshold_converts_to_time_and_back() {
        let rate = wiremend_units::Rate::gbps(100);
        let bytes = Bytes::new(100_000);
        assert_eq!(rate.bytes_in(rate.serialize(bytes)), bytes);
    }
}
