//! Applications: what runs on a host and asks its NIC for work.
//!
//! They have the shape of the protocol cores: time and what happened come in, actions go out, and
//! [`Application::next_poll`] says when to come back. One file per way of behaving. Programs outside register theirs with the
//! [`Registry`](crate::Registry).

mod cbr;
mod collective;
mod list;
mod ping_pong;
mod poisson;
mod stream;

pub(crate) use cbr::Cbr;
pub(crate) use collective::{Collective, Dance, Group};
pub(crate) use list::{List, Planned};
pub(crate) use ping_pong::{Echo, PingPong};
pub(crate) use poisson::{Arrivals, Pick, Poisson, Sizes};
pub(crate) use stream::Stream;

use wiremend_measure::{Outcome, TcpTrouble};
use wiremend_units::{FlowId, HostId, Time};

use crate::network::Protocol;

/// What runs on a host and asks its NIC for work. What it does not need to know it leaves out.
pub trait Application: Send {
    /// When it wants to act by itself; [`Time::MAX`] if only on events.
    fn next_poll(&self) -> Time;

    /// Its time has come.
    fn poll(&mut self, now: Time, actions: &mut Vec<Action>);

    /// It will start no more flows. One that only answers never starts any.
    fn is_done(&self) -> bool;

    /// A message that it posted is done.
    fn on_completion(&mut self, _now: Time, _done: Done, _actions: &mut Vec<Action>) {}

    /// A message has come in on its port.
    fn on_receive(&mut self, _now: Time, _from: HostId, _actions: &mut Vec<Action>) {}

    /// Whether it takes the connection of its pair of hosts, if there is one for all. What comes over such a one goes to whoever
    /// opened it: that is no matter to applications that only send, but to those that answer.
    fn shares_connections(&self, _per_pair: bool) -> bool {
        true
    }

    /// The run ends: a flow that the application keeps the books of and that is still open.
    fn cut_off(&mut self, _now: Time, _outcome: Outcome) -> Option<Ended> {
        None
    }
}

/// Where an application that was registered by name is put.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Hosts of the network, numbered from 0.
    pub hosts: u32,
    /// When the workload begins.
    pub start: Time,
    /// The number of its first flow. Those of the others count on from there, each once on all hosts.
    pub first_flow: FlowId,
    /// Seed of a random stream of its own.
    pub seed: u64,
}

/// Applications, each with its host.
pub type Applications = Vec<(HostId, Box<dyn Application>)>;

/// An application on a host. Messages that come in over a connection opened to `port` are its.
pub(crate) struct Placed {
    pub(crate) port: u16,
    /// The class of its connections.
    pub(crate) class: u8,
    /// What its connections speak.
    pub(crate) protocol: Protocol,
    pub(crate) app: Box<dyn Application>,
    /// It has been taken off the books: it starts nothing more.
    pub(crate) done: bool,
}

/// What an application wants.
pub enum Action {
    /// Move a message.
    Post(Post),
    /// A flow that the application keeps the books of begins.
    Begin,
    /// A flow that the application keeps the books of has ended.
    End(Ended),
    /// Send one frame of an open-loop load.
    Raw(Raw),
}

/// A message to move.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// Where to.
    pub dst: HostId,
    /// Its size.
    pub bytes: u32,
    /// The flow that it belongs to, if any.
    pub flow: Option<FlowId>,
    /// The flow ends when the message completes. Else the application says when.
    pub ends_flow: bool,
}

/// A flow's end, as its application sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Which one.
    pub flow: FlowId,
    /// Where its bytes went.
    pub dst: HostId,
    /// How many.
    pub bytes: u32,
    /// When it began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// What chose its path among equals. A round trip may take another way back than there; its yardstick is
    /// some shortest path, which is the same where parallel paths are alike.
    pub entropy: u16,
    /// The bytes crossed the network there and back.
    pub round_trip: bool,
    /// What it took.
    pub done: Done,
}

/// How a message's work request ended, and what it took.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// How.
    pub outcome: Outcome,
    /// When the receiver had all of it.
    pub delivered: Option<Time>,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// NAKs that were acted on.
    pub naks: u32,
    /// Packets that were sent before.
    pub retransmitted_packets: u32,
    /// Payload bytes in them.
    pub retransmitted_bytes: u64,
    /// What only TCP meets.
    pub tcp: Option<TcpTrouble>,
}

/// One frame of an open-loop load.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    /// Where to.
    pub dst: HostId,
    /// Bytes from MAC header to FCS.
    pub len: u16,
    /// Hops that it may take.
    pub ttl: u8,
    /// Traffic class, 0 to 7.
    pub class: u8,
    /// Switches may cut it to its headers.
    pub trimmable: bool,
}

impl Done {
    /// Nothing happened, and then it was over.
    pub const fn unfinished(outcome: Outcome) -> Self {
        Self {
            outcome,
            delivered: None,
            timeouts: 0,
            naks: 0,
            retransmitted_packets: 0,
            retransmitted_bytes: 0,
            tcp: None,
        }
    }
}
