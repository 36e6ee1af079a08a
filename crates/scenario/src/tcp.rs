//! TCP connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, Span};

use crate::congestion::Congestion;
use crate::pattern::Misfit;
use crate::quantity::Within;
use crate::scenario::Scenario;
use crate::transport::Transport;
use crate::value::{self, Place, Shown};
use crate::workload::{App, Workload};

/// What connections speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// `RoCEv2`, as `recovery` and what else stands here says.
    #[default]
    Rdma,
    /// TCP, as [transport.tcp](#transporttcp) says.
    Tcp,
}

/// Parameters of TCP connections, which workloads have by `transport.protocol = "tcp"` or by a `protocol` of their own, so that both kinds share
/// links. Of what stands in `[transport]`, `class`, `ttl` and `qp` hold for them too.
///
/// Losses are found by time and probes (RACK-TLP, RFC 8985), or without `sack` by duplicate acknowledgements (RFC 6582); an
/// acknowledgement tells of three blocks, and of two where there are subflows. Segments take 70 B beside their payload: Ethernet, IPv4, TCP and timestamps. Connections
/// are not closed, and a flow ends when its last byte is acknowledged.
///
/// With `subflows` a connection is one of Multipath TCP (RFC 8684): each subflow has a port of its own, so that switches which hash send it its own
/// way, or by chance that of another. What is new goes to the nearest subflow with room, and what is under way on one whose timer expires goes again over others. Segments take 20 B more
/// (an option with a data sequence number of 8 B), acknowledgements 8 B. `lia` links the windows of subflows; with other algorithms each
/// goes by itself. Slowdown compares with the path of the first subflow. Where hosts have one path to each other, connections have one subflow.
///
/// ```toml
/// [transport]
/// protocol = "tcp"
///
/// [transport.tcp]
/// congestion = "dctcp"
/// rto_min = "5ms"
/// stack_latency = "7us"
///
/// [switch.ecn]
/// kmin = "100kB"
/// kmax = "100kB"
/// pmax = 1.0
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Tcp {
    /// What governs the congestion window.
    pub congestion: TcpCongestion,
    /// Subflows of a connection.
    pub subflows: Within<u8, 1, 8>,
    /// Largest IP packet, in bytes.
    pub mtu: Within<u16, 256, 9_216>,
    /// Payload of a full segment, in bytes: at most `mtu` less the 52 of its headers, or 72 with `subflows`. If left out, that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<Within<u16, 64, 9_164>>,
    /// The least retransmission timeout.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub rto_min: Span,
    /// The timeout before a round trip was measured.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub rto_first: Span,
    /// How many times the timer may expire without progress; the next time, the connection is given up.
    pub retries: Within<u8, 1, 30>,
    /// How long a receiver may keep the acknowledgement of a single segment back; `0ns`: each segment is acknowledged.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub delayed_ack: Span,
    /// Segments that one acknowledgement stands for at most; more than 2 where receivers' NICs gather segments.
    pub ack_every: Within<u32, 1, 64>,
    /// Segments that are acknowledged at once when a connection is young.
    pub quick_acks: Within<u32, 0, 1_000_000>,
    /// Segments that may be sent before the first acknowledgement.
    pub first_window: Within<u32, 1, 1_000>,
    /// Bytes beyond the first missing one that a receiver takes: at least two segments, at most 8388607 bytes.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Bytes>")]
    pub receive_window: Bytes,
    /// Whether receivers tell what they hold beyond a gap.
    pub sack: bool,
    /// How much disorder is tolerated before a segment counts as lost. Needs `sack`: without it three duplicate acknowledgements make a loss.
    pub reordering: TcpReordering,
    /// Whether a lost tail is probed for.
    pub tail_probe: bool,
    /// The tick of the hosts' clock: a probe waits two of them beside two round trips, and `cubic` looks at its curve by it, as Linux does, which has `1ms` or `4ms`.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub tick: Span,
    /// Whether and how marks are echoed. If left out: `dctcp` for `dctcp`, `off` for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<TcpEcn>,
    /// Whether the window is spread over the round trip. `bbr` does so anyway.
    pub pacing: bool,
    /// Bytes that leave at once when a connection is paced, at most: what segmentation offload takes.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Bytes>")]
    pub burst: Bytes,
    /// Whether a flow begins with a handshake. If not, its connection is there already, and has measured the round trip of
    /// the longest path of the empty network.
    pub handshake: bool,
    /// From a frame's arrival until the host's stack has done with it, at both ends.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub stack_latency: Span,
}

/// Bytes of IPv4, TCP and its timestamps.
const HEADER_BYTES: u16 = 52;
/// Bytes of the option of Multipath TCP.
const SIGNAL_BYTES: u16 = 20;
/// The largest receive window.
const WINDOW_MAX: Bytes = Bytes::new((1 << 23) - 1);

impl Default for Tcp {
    fn default() -> Self {
        Self {
            congestion: TcpCongestion::Cubic,
            subflows: Within::fixed(1),
            mtu: Within::fixed(1_500),
            mss: None,
            rto_min: Span::from_ms(200),
            rto_first: Span::from_ms(1_000),
            retries: Within::fixed(15),
            delayed_ack: Span::from_ms(40),
            ack_every: Within::fixed(2),
            quick_acks: Within::fixed(16),
            first_window: Within::fixed(10),
            receive_window: Bytes::kib(6 * 1_024),
            sack: true,
            reordering: TcpReordering::Adaptive,
            tail_probe: true,
            tick: Span::ZERO,
            ecn: None,
            pacing: false,
            burst: Bytes::kib(64),
            handshake: false,
            stack_latency: Span::ZERO,
        }
    }
}

impl Tcp {
    /// Payload of a full segment of a connection with one subflow.
    pub fn mss(&self) -> u16 {
        self.mss_of(1)
    }

    /// Payload of a full segment of a connection with so many subflows.
    pub fn mss_of(&self, subflows: u8) -> u16 {
        self.mss.map_or(self.mtu.get() - header_bytes(subflows), Within::get)
    }

    /// How marks are echoed.
    pub fn ecn(&self) -> TcpEcn {
        let usual = if self.congestion == TcpCongestion::Dctcp { TcpEcn::Dctcp } else { TcpEcn::Off };
        self.ecn.unwrap_or(usual)
    }
}

const fn header_bytes(subflows: u8) -> u16 {
    HEADER_BYTES + if subflows > 1 { SIGNAL_BYTES } else { 0 }
}

/// What governs the window of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpCongestion {
    /// A cubic curve of the time since the last loss (RFC 9438), with `HyStart++` (RFC 9406).
    #[default]
    Cubic,
    /// A reduction in proportion to the share of marked bytes (RFC 8257); needs [switch.ecn](#switchecn).
    Dctcp,
    /// A model of the path's rate and round trip (BBR, version 1).
    Bbr,
    /// Half after a loss, a segment more in each round trip (RFC 5681).
    Reno,
    /// The same with an increase that subflows share (RFC 6356); needs `subflows`.
    Lia,
}

/// What makes a loss of a segment that others have overtaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpReordering {
    /// Time: a quarter of the least round trip, or nothing while no disorder was ever seen and three segments have overtaken; more after each
    /// round trip in which a segment came twice (RFC 8985).
    #[default]
    Adaptive,
    /// The same, but never more than a quarter.
    Fixed,
    /// As `adaptive`, but from the first gap on, however many segments have overtaken; Linux with a `tcp_recovery` of 5.
    Time,
    /// Three segments that have overtaken (RFC 6675).
    Segments,
}

/// What becomes of marks of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TcpEcn {
    /// Segments cannot be marked.
    Off,
    /// A mark is echoed until the sender has answered (RFC 3168).
    Classic,
    /// The echo tells which bytes were marked (RFC 8257).
    Dctcp,
}

impl Transport {
    /// The parameters of its TCP connections.
    pub fn tcp(&self) -> Tcp {
        self.tcp.as_ref().map(|table| table.value).unwrap_or_default()
    }
}

impl Workload {
    /// What its connections speak.
    pub fn protocol_in(&self, transport: &Transport) -> Protocol {
        self.protocol.unwrap_or(transport.protocol)
    }
}

impl Workload {
    /// Subflows of its connections: 1 if they do not speak TCP.
    pub fn subflows_in(&self, transport: &Transport) -> u8 {
        match self.protocol_in(transport) {
            Protocol::Rdma => 1,
            Protocol::Tcp => self.subflows.as_ref().map_or(transport.tcp().subflows, |own| own.value).get(),
        }
    }
}

impl Scenario {
    /// The most subflows that a connection has.
    pub fn subflows_max(&self) -> u8 {
        let workloads = self.workloads.iter().filter(|workload| !matches!(workload.app, App::Cbr(_)));
        workloads.map(|workload| workload.subflows_in(&self.transport)).max().unwrap_or(1)
    }

    /// Whether a workload has connections that speak so.
    pub fn speaks(&self, protocol: Protocol) -> bool {
        let connects = |workload: &Workload| !matches!(workload.app, App::Cbr(_));
        let mut workloads = self.workloads.iter().filter(|workload| connects(workload));
        workloads.any(|workload| workload.protocol_in(&self.transport) == protocol)
    }
}

/// Whether the parameters fit each other and the rest.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Misfit> {
    let transport = &scenario.transport;
    let place = transport.tcp.as_ref().map_or(Place(None), |table| table.place);
    let misfit = |why: String| Err((place, why));
    check_subflows(scenario)?;
    if !scenario.speaks(Protocol::Tcp) {
        return if transport.tcp.is_some() {
            misfit("parameters of TCP, which no workload speaks; set transport.protocol = \"tcp\", or `protocol` of a workload".into())
        } else {
            Ok(())
        };
    }
    let tcp = transport.tcp();
    if transport.congestion.value != Congestion::None && !scenario.speaks(Protocol::Rdma) {
        let why = "`transport.congestion` is that of queue pairs, and all workloads speak TCP; use `transport.tcp.congestion`";
        return Err((transport.congestion.place, why.to_owned()));
    }
    let headers = header_bytes(scenario.subflows_max());
    let most = tcp.mtu.get() - headers;
    if let Some(mss) = tcp.mss.map(Within::get).filter(|mss| *mss > most) {
        return misfit(format!(
            "an `mss` of {mss} does not fit the `mtu` of {} with its headers of {headers}; at most {most}",
            tcp.mtu.get()
        ));
    }
    if tcp.rto_min > scenario.stop.after {
        return misfit(format!(
            "a `rto_min` of {} is above the {} after which the run stops, so that a timeout never ends; give less, or more to `stop.after`",
            tcp.rto_min, scenario.stop.after
        ));
    }
    check_values(&tcp).or_else(misfit)?;
    if !tcp.sack && tcp.reordering != TcpReordering::Adaptive {
        return misfit("`reordering` is about what receivers tell beyond a gap, which they do not; leave it out, or set sack = true".into());
    }
    if tcp.congestion == TcpCongestion::Dctcp && scenario.switch.ecn.is_none() {
        return misfit("DCTCP acts on marks, and no switch makes any; add [switch.ecn]".into());
    }
    if tcp.congestion == TcpCongestion::Dctcp && tcp.ecn() != TcpEcn::Dctcp {
        return misfit("DCTCP wants to know which bytes were marked; leave out `ecn`".into());
    }
    if tcp.congestion == TcpCongestion::Lia && scenario.subflows_max() == 1 {
        return misfit(
            "LIA links the windows of subflows, and connections have one; give `subflows`, or use \"reno\""
                .into(),
        );
    }
    Ok(())
}

/// Only TCP has subflows.
fn check_subflows(scenario: &Scenario) -> Result<(), Misfit> {
    for workload in &scenario.workloads {
        if let Some(subflows) = &workload.subflows
            && (workload.protocol_in(&scenario.transport) == Protocol::Rdma
                || matches!(workload.app, App::Cbr(_)))
        {
            let why = "`subflows` are those of TCP connections, which this workload has none of; set `protocol = \"tcp\"`, or leave them out";
            return Err((subflows.place, why.to_owned()));
        }
    }
    Ok(())
}

fn check_values(tcp: &Tcp) -> Result<(), String> {
    const RTO_MAX: Span = Span::from_ms(120_000);
    const DELAY_MAX: Span = Span::from_ms(500);
    const LATENCY_MAX: Span = Span::from_ms(1_000);
    let window_min = Bytes::new(2 * u64::from(tcp.mss()));
    if tcp.receive_window < window_min || tcp.receive_window > WINDOW_MAX {
        return Err(format!(
            "a `receive_window` of {} is out of range; {window_min} to {}B",
            tcp.receive_window,
            WINDOW_MAX.get()
        ));
    }
    if tcp.burst < Bytes::new(u64::from(tcp.mss())) || tcp.burst > Bytes::kib(1_024) {
        return Err(format!("a `burst` of {} is out of range; a segment to 1MiB", tcp.burst));
    }
    for (name, span, most) in [
        ("rto_min", tcp.rto_min, RTO_MAX),
        ("rto_first", tcp.rto_first, RTO_MAX),
        ("delayed_ack", tcp.delayed_ack, DELAY_MAX),
        ("tick", tcp.tick, DELAY_MAX),
        ("stack_latency", tcp.stack_latency, LATENCY_MAX),
    ] {
        if span > most {
            return Err(format!("a `{name}` of {span} is too long; at most {most}"));
        }
    }
    Ok(())
}
