//! The protected links of a scenario, end by end.

use std::collections::BTreeMap;

use wiremend_fabric::Graph;
use wiremend_proto::fec;
use wiremend_proto::link::{Config, ConfigError, CopyCount, Endpoint, LossRate, paper};
use wiremend_scenario::{App, Profile, Protect, Sample, Scenario, Scheme, SwitchKind, Within};
use wiremend_units::{Bytes, LaneId, LinkId, Rate, Span, SwitchId, Time};

use super::BuildError;
use super::topology::{lanes, links};
use crate::frame::GAP_BYTES;
use crate::network::Network;
use crate::protect::{Coder, Gauge, Guard, Home, Loopback, Order, Protocol, Prototype, Room, Turn};

/// What the protection of a scenario puts into the network.
#[derive(Default)]
pub(super) struct Protection {
    /// Both ends of every protected link, by the lane that they send over.
    pub(super) ends: BTreeMap<LaneId, End>,
    /// What may come over a lane after all that was sent later, or together with it, at most: what its ends keep.
    pub(super) late: BTreeMap<LaneId, Bytes>,
}

/// One end of a protected link.
pub(super) struct End {
    lane: LaneId,
    protocol: Spoken,
    /// The classes that keep their order, a bit each.
    ordered: u8,
    orders: Vec<Order>,
    /// By which losses the other end starts, from when on, and how long it takes to learn of them.
    gauge: Option<(Time, Sample, Span)>,
}

/// What an end speaks.
enum Spoken {
    Link(Box<Config>),
    Prototype { config: Box<paper::Config>, room: Room, turning: Option<SwitchId> },
    Fec(fec::Config),
}

impl Protection {
    /// Loopback ports, by switch; none if no buffers turn.
    pub(super) fn loopbacks(&self, graph: &Graph) -> Vec<Loopback> {
        let turns = |end: &End| matches!(end.protocol, Spoken::Prototype { turning: Some(_), .. });
        let count = if self.ends.values().any(turns) { graph.switch_count() } else { 0 };
        (0..count).map(|_| Loopback::new(TOFINO)).collect()
    }
}

impl End {
    /// The end itself.
    pub(super) fn guard(&self) -> Guard {
        let protocol = match &self.protocol {
            Spoken::Link(config) => Protocol::Link(Box::new(Endpoint::new((**config).clone()))),
            Spoken::Prototype { config, room, turning } => {
                let home = turning.map_or_else(Home::memory, Home::Loopback);
                Protocol::Prototype(Box::new(Prototype::new(**config, home, *room)))
            }
            Spoken::Fec(config) => Protocol::Fec(Box::new(Coder::new(*config))),
        };
        let gauge = self.gauge.map(|(from, sample, told_after)| Gauge::new(from, sample, told_after));
        Guard::new(protocol, self.lane, self.ordered, self.orders.clone()).measuring(gauge)
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
                let protocol = spoken(protect, net, lane, switch, frame_bytes_max)
                    .map_err(|what| BuildError::at(protect.place, what))?;
                let rate = net.lanes[lane.index()].rate;
                placed.late.insert(lane, late_max(protect, &protocol, rate, frame_bytes_max));
                let orders = if active.contains(&lane) { orders(protect) } else { Vec::new() };
                let gauge = active.contains(&lane.reverse()).then(|| gauge(protect, net, lane)).flatten();
                let end = End { lane, protocol, ordered: ordered(protect), orders, gauge };
                if placed.ends.insert(lane, end).is_some() {
                    let name = net.graph.link_name(link);
                    return Err(fail(format!("the link `{name}` is protected twice; once is enough")));
                }
            }
        }
    }
    Ok(placed)
}

/// What the end speaks by which a switch sends over a lane.
fn spoken(
    protect: &Protect,
    net: &Network,
    lane: LaneId,
    switch: SwitchId,
    frame_bytes_max: Bytes,
) -> Result<Spoken, String> {
    let rate = net.lanes[lane.index()].rate;
    let rtt = round_trip(net, lane, frame_bytes_max);
    match (protect.by, protect.profile()) {
        (Scheme::Fec { data, parities, ordered }, _) => {
            let code = fec::Code::new(data.into(), parities.into());
            code.and_then(|code| coded(protect, code, ordered, rate, frame_bytes_max))
                .map(Spoken::Fec)
                .map_err(|error| error.to_string())
        }
        (_, Profile::Hardened) => hardened(protect, rate, frame_bytes_max, rtt),
        (_, Profile::Paper) => {
            let turning = match protect.switch() {
                SwitchKind::Tofino => Some(switch),
                SwitchKind::Ideal => None,
            };
            prototype(protect, rate, turning, rtt)
        }
    }
}

/// The switch that sends over a lane, if there is a switch at both ends.
fn sending_switch(net: &Network, link: LinkId, lane: LaneId) -> Result<SwitchId, String> {
    net.switch_at(lane.reverse()).filter(|_| net.switch_at(lane).is_some()).ok_or_else(|| {
        let name = net.graph.link_name(link);
        format!("the link `{name}` ends at a host; links between switches can be protected")
    })
}

/// What is known before the run: that of a start by losses is not.
fn orders(protect: &Protect) -> Vec<Order> {
    let start = protect.sample().is_none().then_some(Order { at: protect.start, active: true });
    let stop = protect.stop.map(|at| Order { at, active: false });
    start.into_iter().chain(stop).collect()
}

/// For the end that sends over `lane`, if the other one starts by the losses that this one sees. The other learns of them no sooner than by
/// a frame: between components that is the lookahead at least, since the link is then among those that are cut.
fn gauge(protect: &Protect, net: &Network, lane: LaneId) -> Option<(Time, Sample, Span)> {
    let told_after = net.lanes[lane.index()].delay + protect.delay.unwrap_or(Span::ZERO);
    protect.sample().map(|sample| (protect.start, sample, told_after))
}

/// The classes that keep their order, a bit each.
fn ordered(protect: &Protect) -> u8 {
    let all = match protect.by {
        Scheme::Linkguardian | Scheme::Fec { ordered: true, .. } => u8::MAX,
        Scheme::LinkguardianNb | Scheme::Fec { ordered: false, .. } => 0,
    };
    protect.unordered.iter().fold(all, |classes, class| classes & !(1 << class.get()))
}

fn loss(share: f64) -> LossRate {
    LossRate::parts_per_trillion((share * 1e12).round() as u64)
}

/// From a frame's first bit to the arrival of what is said about it.
fn round_trip(net: &Network, lane: LaneId, frame_bytes_max: Bytes) -> Span {
    let way = |lane: LaneId| {
        let lane = &net.lanes[lane.index()];
        lane.delay + lane.rate.serialize(frame_bytes_max)
    };
    way(lane) + way(lane.reverse())
}

/// What may still come over a lane when its sender has stopped, beyond what is under way: what a receiver holds back, and what was lost
/// and is sent again. A switch that has told its neighbour to stop must have room for that too.
fn late_max(protect: &Protect, protocol: &Spoken, rate: Rate, frame_bytes_max: Bytes) -> Bytes {
    match protocol {
        Spoken::Link(_) | Spoken::Prototype { .. } => protect.tx_buffer() + protect.rx_buffer(),
        Spoken::Fec(config) => {
            let block = u64::from(config.code().data()) * frame_bytes_max.get();
            Bytes::new(block) + rate.bytes_in(config.flush() + config.give_up())
        }
    }
}

/// Buffers by the names that they have in a scenario.
fn refused(error: &ConfigError) -> String {
    match error {
        ConfigError::Room { what, is, least } => too_small(what.trim_end_matches("_bytes_max"), *is, *least),
        other => other.to_string(),
    }
}

/// The least is told in whole kilobytes, rounded up: what is named works as it stands.
fn too_small(side: &str, is: Bytes, least: Bytes) -> String {
    let least = Bytes::new(least.get().next_multiple_of(1_000));
    format!(
        "`{side}_buffer` of {is} is too small for rate and round trip of the link; at least {least} works"
    )
}

fn hardened(protect: &Protect, rate: Rate, frame_bytes_max: Bytes, rtt: Span) -> Result<Spoken, String> {
    let rtt_min = protect.rtt_min.unwrap_or(Span::ZERO);
    let config = Config {
        rate,
        frame_bytes_max,
        target: loss(protect.target()),
        copies: match protect.copies {
            Some(copies) => CopyCount::Fixed(copies.get()),
            None => CopyCount::Measured(loss(protect.loss())),
        },
        dummies: protect.dummies(),
        control_copies: protect.control_copies(),
        tx_bytes_max: protect.tx_buffer(),
        rx_bytes_max: protect.rx_buffer(),
        rtt: None,
        rtt_min,
        rtt_at_first: Span::ZERO,
        rtt_samples: 1,
        give_up: protect.give_up,
        silence_max: None,
        pause_at: protect.pause_at,
        resume_at: protect.resume_at,
        backpressure: protect.backpressure(),
        resend_share_percent: RESEND_SHARE_PERCENT,
    };
    config.check().and_then(|()| config.check_room(rtt.max(rtt_min))).map_err(|error| refused(&error))?;
    Ok(Spoken::Link(Box::new(config)))
}

/// A block is closed a frame's time after it could have been full, if it is not. Its parities follow at once, each no later than a
/// frame after the one before; a receiver waits for them as long again as the block may stay open, and at least so long.
fn coded(
    protect: &Protect,
    code: fec::Code,
    ordered: bool,
    rate: Rate,
    frame_bytes_max: Bytes,
) -> Result<fec::Config, fec::ConfigError> {
    let longest = Bytes::new(frame_bytes_max.get() + ADDED_BYTES_MAX + GAP_BYTES);
    let frames = |count: u64| Span::from_ps(rate.serialize(longest).as_ps() * count);
    let flush = protect.flush.unwrap_or_else(|| frames(u64::from(code.data()) + 1));
    let order = if ordered { fec::Order::Kept } else { fec::Order::AsTheyCome };
    let config = fec::Config::new(code, flush)?.with_order(order);
    let parities = flush.as_ps().saturating_add(frames(u64::from(code.parities()) + 2).as_ps());
    let give_up = protect.give_up.unwrap_or_else(|| config.give_up().max(Span::from_ps(parities)));
    config.with_give_up(give_up)
}

/// What was published for links of that rate, or for the fastest if the scenario says all that depends on it.
fn published(protect: &Protect, rate: Rate) -> Result<paper::Config, String> {
    let unpublished = || {
        if protect.switch() == SwitchKind::Tofino {
            return Err(format!("the prototype was built for 10, 25 and 100 Gb/s, not for {rate}"));
        }
        let given = [
            ("give_up", protect.give_up.is_some()),
            ("pause_at", protect.pause_at.is_some()),
            ("resume_at", protect.resume_at.is_some()),
        ];
        match given.iter().find(|(_, is_given)| !is_given) {
            Some((field, _)) => Err(format!(
                "nothing was published about the prototype at {rate}; give `{field}`, or a rate of 10, 25 or 100 Gb/s"
            )),
            None => Ok(paper::Config { rate, ..paper::Config::GBPS_100 }),
        }
    };
    paper::Config::at(rate).map_or_else(unpublished, Ok)
}

fn prototype(protect: &Protect, rate: Rate, turning: Option<SwitchId>, rtt: Span) -> Result<Spoken, String> {
    let published = published(protect, rate)?;
    let cells = |bytes: Bytes| u32::try_from(bytes.get().div_ceil(paper::CELL_BYTES)).unwrap_or(u32::MAX);
    let copies = protect.copies.map_or_else(
        || {
            loss(protect.loss())
                .copies_for(loss(protect.target()), CopyCount::MAX)
                .unwrap_or(CopyCount::MAX)
                .max(1)
        },
        Within::get,
    );
    let mut config = paper::Config { dummies_max: protect.dummies(), copies, ..published };
    config.ordered = protect.by == Scheme::Linkguardian;
    config.pause_cells = protect.pause_at.map_or(config.pause_cells, cells);
    config.resume_cells = protect.resume_at.map_or(config.resume_cells, cells);
    if let Some(give_up) = protect.give_up {
        let ticks = give_up.as_ps().div_ceil(paper::TICK.as_ps());
        config.timeout_ticks =
            u16::try_from(ticks).map_err(|_| "`give_up` is longer than 6.5 ms".to_owned())?;
    }
    config.check().map_err(|error| error.to_string())?;
    if protect.backpressure() {
        let paused = Bytes::new(u64::from(config.pause_cells) * paper::CELL_BYTES);
        let least = paused + rate.bytes_in(rtt + paper::TICK);
        if protect.rx_buffer() < least {
            return Err(too_small("rx", protect.rx_buffer(), least));
        }
    } else {
        config.pause_cells = u32::MAX;
    }
    let room = Room { tx_bytes: protect.tx_buffer().get(), rx_bytes: protect.rx_buffer().get() };
    Ok(Spoken::Prototype { config: Box::new(config), room, turning })
}

/// The switch of the experiments (LG appendix B.1). A pass takes as long as the way of a frame from one switch to the other: half
/// of the time from a resume to the first frame, 1.6 µs at 100G, less a tick and a frame. A copy is first judged 5.4 µs after its frame
/// has left: that is the longest retransmission, 5.5 µs at 100G, less its way and its two copies, and gives 5.9 µs at 25G, where 6 µs
/// were measured.
const TOFINO: Turn =
    Turn { rate: Rate::gbps(100), latency: Span::from_ns(690), mirror: Span::from_ns(4_560) };

/// The longest frame that any host sends, without a link header.
fn longest_frame(scenario: &Scenario, net: &Network) -> Bytes {
    let raw = scenario.workloads.iter().filter_map(|workload| match &workload.app {
        App::Cbr(cbr) => Some(u64::from(cbr.frame.get())),
        _ => None,
    });
    let packet = u64::from(net.transport.config.mtu) + PACKET_HEADERS_BYTES;
    let segment = u64::from(net.transport.stream_frame_max());
    Bytes::new(raw.fold(packet.max(segment), u64::max))
}

/// By how much a frame with a link header is longer than the frame, and a parity longer than the longest frame of its block, at most.
pub(super) const ADDED_BYTES_MAX: u64 = 25;
/// What a packet's headers and checks take at most.
const PACKET_HEADERS_BYTES: u64 = 82;
/// What is sent again may take this share of what is sent.
const RESEND_SHARE_PERCENT: u8 = 25;
