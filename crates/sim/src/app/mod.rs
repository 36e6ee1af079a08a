//! Applications: they run on a host and post messages to its NIC.
//!
//! They have the interface of the protocol cores: time and events are inputs, actions are outputs, and
//! [`Application::next_poll`] returns the next timer. Each behaviour has one file. External programs register
//! theirs with the [`Registry`](crate::Registry).

mod cbr;
mod collective;
mod flow_list;
mod ping_pong;
mod poisson;
mod stream;

pub(crate) use cbr::Cbr;
pub(crate) use collective::{Collective, CollectivePattern, Group};
pub(crate) use flow_list::{FlowList, PlannedFlow};
pub(crate) use ping_pong::{EchoServer, PingPong};
pub(crate) use poisson::{DestinationPicker, Poisson, PoissonConfig, Sizes};
pub(crate) use stream::Stream;

use wiremend_measure::{FlowOutcome, TcpStats};
use wiremend_units::{FlowId, HostId, Time};

use crate::network::TransportProtocol;

/// An application on a host. Methods for events that it does not need have defaults.
pub trait Application: Send {
    /// Returns when it must be polled; [`Time::MAX`] if only events trigger it.
    fn next_poll(&self) -> Time;

    /// Acts at the time of [`Application::next_poll`].
    fn poll(&mut self, now: Time, actions: &mut Vec<Action>);

    /// Returns whether it will start no more flows. An application that only replies starts none.
    fn is_done(&self) -> bool;

    /// Handles the completion of a message that it posted.
    fn on_completion(&mut self, _now: Time, _done: MessageResult, _actions: &mut Vec<Action>) {}

    /// Handles a message received on its port.
    fn on_receive(&mut self, _now: Time, _from: HostId, _actions: &mut Vec<Action>) {}

    /// Returns whether it shares connections with other applications, if hosts share one per pair. Messages
    /// on a shared connection go to the application that opened it. So applications that receive messages
    /// must not share.
    fn shares_connections(&self, _per_pair: bool) -> bool {
        true
    }

    /// Returns the open flow that the application accounts for itself, at the end of the run.
    fn on_run_end(&mut self, _now: Time, _outcome: FlowOutcome) -> Option<FlowResult> {
        None
    }
}

/// The context of a workload that was registered by name.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadContext {
    /// Number of hosts; they are numbered from 0.
    pub hosts: u32,
    /// Start of the workload.
    pub start: Time,
    /// The number of its first flow. Further flows take the following numbers, each used once over all hosts.
    pub first_flow: FlowId,
    /// Seed of its random stream.
    pub seed: u64,
}

/// Applications, each with its host.
pub type Applications = Vec<(HostId, Box<dyn Application>)>;

/// An application on a host. It receives the messages of connections to `port`.
pub(crate) struct PlacedApp {
    pub(crate) port: u16,
    pub(crate) class: u8,
    pub(crate) protocol: TransportProtocol,
    pub(crate) app: Box<dyn Application>,
    /// Whether the application was counted as done.
    pub(crate) done: bool,
}

/// An action of an application.
pub enum Action {
    /// Posts a message.
    Post(Post),
    /// Begins a flow that the application accounts for itself.
    BeginFlow,
    /// Ends such a flow.
    EndFlow(FlowResult),
    /// Sends one frame of an open-loop load.
    Raw(RawFrame),
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// The destination.
    pub dst: HostId,
    /// Its size in bytes.
    pub bytes: u32,
    /// Its flow, if any.
    pub flow: Option<FlowId>,
    /// Whether the flow ends when the message completes. Otherwise the application ends it.
    pub ends_flow: bool,
}

/// Result of a flow, as its application reports it.
#[derive(Clone, Copy, Debug)]
pub struct FlowResult {
    /// The flow.
    pub flow: FlowId,
    /// The destination.
    pub dst: HostId,
    /// Bytes of the flow.
    pub bytes: u32,
    /// Start time.
    pub start: Time,
    /// End time.
    pub end: Time,
    /// The ECMP entropy of its path. A round trip may return over another path; its ideal time then uses some
    /// shortest path, which is the same if parallel paths are alike.
    pub entropy: u16,
    /// Whether the bytes crossed the network in both directions.
    pub round_trip: bool,
    /// Result of its last message.
    pub done: MessageResult,
}

/// Result of a message's work request.
#[derive(Clone, Copy, Debug)]
pub struct MessageResult {
    /// How it ended.
    pub outcome: FlowOutcome,
    /// Number of its connection among those that its host has opened.
    pub connection: Option<u32>,
    /// When the receiver had all of it.
    pub delivered: Option<Time>,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// NAKs that caused a retransmission.
    pub naks: u32,
    /// Retransmitted packets.
    pub retransmitted_packets: u32,
    /// Payload bytes of these.
    pub retransmitted_bytes: u64,
    /// Recovery statistics that only TCP has.
    pub tcp: Option<TcpStats>,
}

/// One frame of an open-loop load.
#[derive(Clone, Copy, Debug)]
pub struct RawFrame {
    /// The destination.
    pub dst: HostId,
    /// Bytes from MAC header to FCS.
    pub len: u16,
    /// Initial TTL.
    pub ttl: u8,
    /// Traffic class, 0 to 7.
    pub class: u8,
    /// Whether switches may trim it.
    pub trimmable: bool,
}

impl MessageResult {
    /// Returns the result of a message without any statistics.
    pub const fn unfinished(outcome: FlowOutcome) -> Self {
        Self {
            outcome,
            connection: None,
            delivered: None,
            timeouts: 0,
            naks: 0,
            retransmitted_packets: 0,
            retransmitted_bytes: 0,
            tcp: None,
        }
    }
}
