//! The protected links of a scenario, end by end.

use std::collections::BTreeMap;

use wiremend_fabric::Graph;
use wiremend_proto::fec;
use wiremend_proto::link::{Config, ConfigError, CopyCount, Endpoint, LossRate, prototype};
use wiremend_scenario::{App, LossSample, Profile, Protect, Scenario, Scheme, SwitchKind, Within};
use wiremend_units::{Bytes, LaneId, LinkId, Rate, Span, SwitchId, Time};

use super::BuildError;
use super::topology::{lanes, links};
use crate::frame::GAP_BYTES;
use crate::network::Network;
use crate::protect::{
    Activation, BufferLimits, BufferLocation, FecEnd, LinkEnd, LinkProtocol, Loopback, LoopbackTiming,
    LossMonitor, Prototype,
};

#[derive(Default)]
pub(super) struct Protection {
    /// Both ends of every protected link, by the lane that they send over.
    pub(super) ends: BTreeMap<LaneId, EndConfig>,
    /// By lane: the most bytes that may arrive after a pause, beside the frames in flight, from the buffers
    /// of its ends.
    pub(super) late_bytes: BTreeMap<LaneId, Bytes>,
}

/// Configuration of one end of a protected link.
pub(super) struct EndConfig {
    lane: LaneId,
    protocol: LinkProtocolConfig,
    /// Classes whose frames stay in order, one bit each.
    ordered: u8,
    activations: Vec<Activation>,
    /// The losses that start the other end: from when they count, the sample, and the delay until the start.
    loss_monitor: Option<(Time, LossSample, Span)>,
}

/// Configuration of the protocol of a link end.
enum LinkProtocolConfig {
    Link(Box<Config>),
    Prototype { config: Box<prototype::Config>, limits: BufferLimits, loopback_switch: Option<SwitchId> },
    Fec(fec::Config),
}

impl Protection {
    /// Returns the loopback ports, by switch; empty if no end uses them.
    pub(super) fn loopbacks(&self, graph: &Graph) -> Vec<Loopback> {
        let turns = |end: &EndConfig| {
            matches!(end.protocol, LinkProtocolConfig::Prototype { loopback_switch: Some(_), .. })
        };
        let count = if self.ends.values().any(turns) { graph.switch_count() } else { 0 };
        (0..count).map(|_| Loopback::new(TOFINO)).collect()
    }
}

impl EndConfig {
    pub(super) fn link_end(&self) -> LinkEnd {
        let protocol = match &self.protocol {
            LinkProtocolConfig::Link(config) => LinkProtocol::Link(Endpoint::new((**config).clone())),
            LinkProtocolConfig::Prototype { config, limits, loopback_switch } => {
                let location = loopback_switch.map_or_else(BufferLocation::memory, BufferLocation::Loopback);
                LinkProtocol::Prototype(Box::new(Prototype::new(**config, location, *limits)))
            }
            LinkProtocolConfig::Fec(config) => LinkProtocol::Fec(Box::new(FecEnd::new(*config))),
        };
        let loss_monitor = self
            .loss_monitor
            .map(|(from, sample, notify_delay)| LossMonitor::new(from, sample, notify_delay));
        LinkEnd::new(protocol, self.lane, self.ordered, self.activations.clone())
            .with_loss_monitor(loss_monitor)
    }
}

pub(super) fn place(scenario: &Scenario, net: &Network) -> Result<Protection, BuildError> {
    let mut placed = Protection::default();
    let frame_bytes_max = longest_frame(scenario, net);
    for protect in &scenario.protects {
        let fail = |what: String| BuildError::at(protect.links.place, what);
        let active = lanes(&net.graph, &protect.links, protect.direction)?;
        for link in links(&net.graph, &protect.links.value).map_err(fail)? {
            for lane in [link.forward(), link.backward()] {
                let switch = sending_switch(net, link, lane).map_err(fail)?;
                let protocol = protocol_config(protect, net, lane, switch, frame_bytes_max)
                    .map_err(|what| BuildError::at(protect.place, what))?;
                let rate = net.lanes[lane.index()].rate;
                placed.late_bytes.insert(lane, late_bytes_max(protect, &protocol, rate, frame_bytes_max));
                let activations = if active.contains(&lane) { activations(protect) } else { Vec::new() };
                let loss_monitor =
                    active.contains(&lane.reverse()).then(|| loss_monitor(protect, net, lane)).flatten();
                let end = EndConfig { lane, protocol, ordered: ordered(protect), activations, loss_monitor };
                if placed.ends.insert(lane, end).is_some() {
                    let name = net.graph.link_name(link);
                    return Err(fail(format!("the link `{name}` is protected twice; remove one entry")));
                }
            }
        }
    }
    Ok(placed)
}

/// Returns the protocol of the link end of a switch that sends over a lane.
fn protocol_config(
    protect: &Protect,
    net: &Network,
    lane: LaneId,
    switch: SwitchId,
    frame_bytes_max: Bytes,
) -> Result<LinkProtocolConfig, String> {
    let rate = net.lanes[lane.index()].rate;
    let rtt = round_trip(net, lane, frame_bytes_max);
    match (protect.by, protect.profile()) {
        (Scheme::Fec { data, parities, ordered }, _) => {
            let code = fec::Code::new(data.into(), parities.into());
            code.and_then(|code| fec_config(protect, code, ordered, rate, frame_bytes_max))
                .map(LinkProtocolConfig::Fec)
                .map_err(|error| error.to_string())
        }
        (_, Profile::Hardened) => hardened_config(protect, rate, frame_bytes_max, rtt),
        (_, Profile::Prototype) => {
            let loopback_switch = match protect.switch() {
                SwitchKind::Tofino => Some(switch),
                SwitchKind::Ideal => None,
            };
            prototype_config(protect, rate, loopback_switch, rtt)
        }
    }
}

/// Returns the switch that sends over a lane. Both ends of a link must be switches.
fn sending_switch(net: &Network, link: LinkId, lane: LaneId) -> Result<SwitchId, String> {
    net.switch_at(lane.reverse()).filter(|_| net.switch_at(lane).is_some()).ok_or_else(|| {
        let name = net.graph.link_name(link);
        format!("the link `{name}` ends at a host; only links between switches can be protected")
    })
}

/// Returns the scheduled starts and stops. A start by losses is not known before the run.
fn activations(protect: &Protect) -> Vec<Activation> {
    let start = protect.sample().is_none().then_some(Activation { at: protect.start, active: true });
    let stop = protect.stop.map(|at| Activation { at, active: false });
    start.into_iter().chain(stop).collect()
}

/// Returns the loss monitor of the end that sends over `lane`, if its losses start the other end. The start
/// takes at least as long as a frame. Between components that is at least the lookahead, since the link is
/// then one of those cut.
fn loss_monitor(protect: &Protect, net: &Network, lane: LaneId) -> Option<(Time, LossSample, Span)> {
    let notify_delay = net.lanes[lane.index()].delay + protect.start_delay.unwrap_or(Span::ZERO);
    protect.sample().map(|sample| (protect.start, sample, notify_delay))
}

/// Returns the classes whose frames stay in order, one bit each.
fn ordered(protect: &Protect) -> u8 {
    let all = match protect.by {
        Scheme::Linkguardian | Scheme::Fec { ordered: true, .. } => u8::MAX,
        Scheme::LinkguardianNb | Scheme::Fec { ordered: false, .. } => 0,
    };
    protect.unordered.iter().fold(all, |classes, class| classes & !(1 << class.get()))
}

fn loss_rate(share: f64) -> LossRate {
    LossRate::from_parts_per_trillion((share * 1e12).round() as u64)
}

/// Returns the time from a frame's first bit to the arrival of a reply to it.
fn round_trip(net: &Network, lane: LaneId, frame_bytes_max: Bytes) -> Span {
    let one_way = |lane: LaneId| {
        let lane = &net.lanes[lane.index()];
        lane.delay + lane.rate.serialize(frame_bytes_max)
    };
    one_way(lane) + one_way(lane.reverse())
}

/// Returns the bytes that may still arrive over a lane after its sender was paused, beside the frames in
/// flight: frames in the receive buffer, and retransmissions. A switch that pauses its neighbour needs room
/// for them.
fn late_bytes_max(
    protect: &Protect,
    protocol: &LinkProtocolConfig,
    rate: Rate,
    frame_bytes_max: Bytes,
) -> Bytes {
    match protocol {
        LinkProtocolConfig::Link(_) | LinkProtocolConfig::Prototype { .. } => {
            protect.tx_buffer() + protect.rx_buffer()
        }
        LinkProtocolConfig::Fec(config) => {
            let block = u64::from(config.code().data()) * frame_bytes_max.get();
            Bytes::new(block) + rate.bytes_in(config.flush() + config.give_up())
        }
    }
}

/// Converts an error of the core to the key names of scenarios.
fn config_error(error: &ConfigError) -> String {
    match error {
        ConfigError::BufferTooSmall { setting, value, min } => {
            buffer_too_small(setting.trim_end_matches("_bytes_max"), *value, *min)
        }
        other => other.to_string(),
    }
}

/// The minimum is rounded up to whole kilobytes, so that the suggested value works.
fn buffer_too_small(side: &str, is: Bytes, least: Bytes) -> String {
    let least = Bytes::new(least.get().next_multiple_of(1_000));
    format!("`{side}_buffer` of {is} is too small for rate and round trip of the link; at least {least}")
}

fn hardened_config(
    protect: &Protect,
    rate: Rate,
    frame_bytes_max: Bytes,
    rtt: Span,
) -> Result<LinkProtocolConfig, String> {
    let rtt_min = protect.rtt_min.unwrap_or(Span::ZERO);
    let config = Config {
        rate,
        frame_bytes_max,
        target: loss_rate(protect.target()),
        copies: match protect.copies {
            Some(copies) => CopyCount::Fixed(copies.get()),
            None => CopyCount::Measured(loss_rate(protect.loss())),
        },
        dummies: protect.dummies(),
        control_copies: protect.control_copies(),
        tx_bytes_max: protect.tx_buffer(),
        rx_bytes_max: protect.rx_buffer(),
        rtt: None,
        rtt_min,
        rtt_initial: Span::ZERO,
        rtt_samples: 1,
        give_up: protect.give_up,
        silence_max: None,
        pause_at: protect.pause_at,
        resume_at: protect.resume_at,
        backpressure: protect.backpressure(),
        resend_share_percent: RESEND_SHARE_PERCENT,
        unconfirmed_jump_max: None,
    };
    config
        .check()
        .and_then(|()| config.check_buffers(rtt.max(rtt_min)))
        .map_err(|error| config_error(&error))?;
    Ok(LinkProtocolConfig::Link(Box::new(config)))
}

/// Returns the configuration of error correction. An incomplete block is flushed one frame time after it
/// could have been full. Its parities follow immediately, each at most one frame after the one before. The
/// receiver waits for them at least that long, and as long as a block may stay open.
fn fec_config(
    protect: &Protect,
    code: fec::Code,
    ordered: bool,
    rate: Rate,
    frame_bytes_max: Bytes,
) -> Result<fec::Config, fec::ConfigError> {
    let longest = Bytes::new(frame_bytes_max.get() + ADDED_BYTES_MAX + GAP_BYTES);
    let frames = |count: u64| Span::from_ps(rate.serialize(longest).as_ps() * count);
    let flush = protect.flush.unwrap_or_else(|| frames(u64::from(code.data()) + 1));
    let order = if ordered { fec::DeliveryOrder::InOrder } else { fec::DeliveryOrder::OnArrival };
    let config = fec::Config::new(code, flush)?.with_order(order);
    let parities = flush.as_ps().saturating_add(frames(u64::from(code.parities()) + 2).as_ps());
    let give_up = protect.give_up.unwrap_or_else(|| config.give_up().max(Span::from_ps(parities)));
    config.with_give_up(give_up)
}

/// Returns the published settings for links of that rate; for another rate those of the fastest, if the
/// scenario sets all values that depend on it.
fn published_config(protect: &Protect, rate: Rate) -> Result<prototype::Config, String> {
    let for_other_rate = || {
        if protect.switch() == SwitchKind::Tofino {
            return Err(format!("the prototype exists for 10, 25 and 100 Gb/s, not for {rate}"));
        }
        let given = [
            ("give_up", protect.give_up.is_some()),
            ("pause_at", protect.pause_at.is_some()),
            ("resume_at", protect.resume_at.is_some()),
        ];
        match given.iter().find(|(_, is_given)| !is_given) {
            Some((field, _)) => Err(format!(
                "the prototype has no published settings for {rate}; give `{field}`, or a rate of 10, 25 or 100 Gb/s"
            )),
            None => Ok(prototype::Config { rate, ..prototype::Config::GBPS_100 }),
        }
    };
    prototype::Config::for_rate(rate).map_or_else(for_other_rate, Ok)
}

fn prototype_config(
    protect: &Protect,
    rate: Rate,
    loopback_switch: Option<SwitchId>,
    rtt: Span,
) -> Result<LinkProtocolConfig, String> {
    let published = published_config(protect, rate)?;
    let cells = |bytes: Bytes| u32::try_from(bytes.get().div_ceil(prototype::CELL_BYTES)).unwrap_or(u32::MAX);
    let copies = protect.copies.map_or_else(
        || {
            loss_rate(protect.loss())
                .copies_for(loss_rate(protect.target()), CopyCount::MAX)
                .unwrap_or(CopyCount::MAX)
                .max(1)
        },
        Within::get,
    );
    let mut config = prototype::Config { dummies_max: protect.dummies(), copies, ..published };
    config.ordered = protect.by == Scheme::Linkguardian;
    config.ack_queue = protect.ack_queue.unwrap_or(true);
    config.pause_cells = protect.pause_at.map_or(config.pause_cells, cells);
    config.resume_cells = protect.resume_at.map_or(config.resume_cells, cells);
    if let Some(give_up) = protect.give_up {
        let ticks = give_up.as_ps().div_ceil(prototype::TICK.as_ps());
        config.timeout_ticks = u16::try_from(ticks)
            .map_err(|_| "`give_up` is longer than 6.5 ms, the range of the prototype's timer".to_owned())?;
    }
    config.check().map_err(|error| error.to_string())?;
    if protect.backpressure() {
        let paused = Bytes::new(u64::from(config.pause_cells) * prototype::CELL_BYTES);
        let least = paused + rate.bytes_in(rtt + prototype::TICK);
        if protect.rx_buffer() < least {
            return Err(buffer_too_small("rx", protect.rx_buffer(), least));
        }
    } else {
        config.pause_cells = u32::MAX;
    }
    let limits = BufferLimits { tx_bytes: protect.tx_buffer().get(), rx_bytes: protect.rx_buffer().get() };
    Ok(LinkProtocolConfig::Prototype { config: Box::new(config), limits, loopback_switch })
}

/// The switch of the experiments, from measurements of single steps (LG appendix B.1). A turn of the loop goes through
/// the same pipeline as a frame from one switch to the other: half of the time from a resume to the first frame, at
/// most 1.6 µs at 100G, less a tick and a frame. Retransmissions take at most 5.5 µs at 100G and 6 µs at 25G, longer
/// than path and turns together. The rest is between the check of a copy and its queue, one value for both rates: at
/// 100G it makes them half a microsecond too long, at 25G one too short.
const TOFINO: LoopbackTiming =
    LoopbackTiming { rate: Rate::gbps(100), turn: Span::from_ns(690), resend: Span::from_ns(2_200) };

/// Returns the longest frame that any host sends, without a link header.
fn longest_frame(scenario: &Scenario, net: &Network) -> Bytes {
    let raw = scenario.workloads.iter().filter_map(|workload| match &workload.app {
        App::Cbr(cbr) => Some(u64::from(cbr.frame.get())),
        _ => None,
    });
    let packet = u64::from(net.transport.config.mtu) + PACKET_HEADERS_BYTES;
    let segment = u64::from(net.transport.stream_frame_max());
    Bytes::new(raw.fold(packet.max(segment), u64::max))
}

/// Maximum bytes that a link header adds to a frame, and that a parity is longer than the longest frame of
/// its block.
pub(super) const ADDED_BYTES_MAX: u64 = 25;
/// Maximum bytes of a packet's headers and checksums.
const PACKET_HEADERS_BYTES: u64 = 82;
/// Maximum share of retransmissions in the sent bytes.
const RESEND_SHARE_PERCENT: u8 = 25;
