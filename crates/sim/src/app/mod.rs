//! Applications: what runs on a host and asks its NIC for work.
//!
//! They have the shape of the protocol cores: time and what happened come in, actions go out, and
//! [`App::next_poll`] says when to come back. One file per way of behaving; adding one touches the enum here and
//! [`crate::build`].

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

/// An application.
pub(crate) enum App {
    List(List),
    Poisson(Poisson),
    PingPong(PingPong),
    Echo(Echo),
    Stream(Stream),
    Cbr(Cbr),
    Collective(Collective),
}

/// An application on a host. Messages that come in over a connection opened to `port` are its.
pub(crate) struct Placed {
    pub(crate) port: u16,
    /// The class of its connections.
    pub(crate) class: u8,
    /// What its connections speak.
    pub(crate) protocol: Protocol,
    pub(crate) app: App,
    /// It has been taken off the books: it starts nothing more.
    pub(crate) done: bool,
}

/// What an application wants.
pub(crate) enum Action {
    /// Move a message.
    Post(Post),
    /// A flow that the application keeps the books of begins.
    Begin,
    /// A flow that the application keeps the books of has ended.
    End(Ended),
    /// Send one frame of an open-loop load.
    Raw(Raw),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Post {
    pub(crate) dst: HostId,
    pub(crate) bytes: u32,
    /// The flow that it belongs to, if any.
    pub(crate) flow: Option<FlowId>,
    /// The flow ends when the message completes. Else the application says when.
    pub(crate) ends_flow: bool,
}

/// A flow's end, as its application sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) flow: FlowId,
    pub(crate) dst: HostId,
    pub(crate) bytes: u32,
    pub(crate) start: Time,
    pub(crate) end: Time,
    /// What chose its path among equals. A round trip may take another way back than there; its yardstick is
    /// some shortest path, which is the same where parallel paths are alike.
    pub(crate) entropy: u16,
    /// The bytes crossed the network there and back.
    pub(crate) round_trip: bool,
    pub(crate) done: Done,
}

/// How a message's work request ended, and what it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    pub(crate) delivered: Option<Time>,
    pub(crate) timeouts: u32,
    pub(crate) naks: u32,
    pub(crate) retransmitted_packets: u32,
    pub(crate) retransmitted_bytes: u64,
    pub(crate) tcp: Option<TcpTrouble>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw {
    pub(crate) dst: HostId,
    pub(crate) len: u16,
    pub(crate) ttl: u8,
    pub(crate) class: u8,
    /// Switches may cut it to its headers.
    pub(crate) trimmable: bool,
}

impl Done {
    /// Nothing happened, and then it was over.
    pub(crate) const fn unfinished(outcome: Outcome) -> Self {
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

impl App {
    /// When it wants to act by itself; [`Time::MAX`] if only on events.
    pub(crate) fn next_poll(&self) -> Time {
        match self {
            Self::List(app) => app.next_poll(),
            Self::Poisson(app) => app.next_poll(),
            Self::PingPong(app) => app.next_poll(),
            Self::Stream(app) => app.next_poll(),
            Self::Cbr(app) => app.next_poll(),
            Self::Collective(app) => app.next_poll(),
            Self::Echo(_) => Time::MAX,
        }
    }

    /// Its time has come.
    pub(crate) fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        match self {
            Self::List(app) => app.poll(now, actions),
            Self::Poisson(app) => app.poll(now, actions),
            Self::PingPong(app) => app.poll(now, actions),
            Self::Stream(app) => app.poll(now, actions),
            Self::Cbr(app) => app.poll(now, actions),
            Self::Collective(app) => app.poll(now, actions),
            Self::Echo(_) => {}
        }
    }

    /// A message that it posted is done.
    pub(crate) fn on_completion(&mut self, now: Time, done: Done, actions: &mut Vec<Action>) {
        match self {
            Self::PingPong(app) => app.on_completion(now, done, actions),
            Self::Echo(app) => app.on_completion(actions),
            Self::Stream(app) => app.on_completion(now, done, actions),
            Self::Collective(app) => app.on_completion(done, actions),
            Self::List(_) | Self::Poisson(_) | Self::Cbr(_) => {}
        }
    }

    /// A message has come in on its port.
    pub(crate) fn on_receive(&mut self, now: Time, from: HostId, actions: &mut Vec<Action>) {
        match self {
            Self::PingPong(app) => app.on_receive(now, actions),
            Self::Echo(app) => app.on_receive(from, actions),
            Self::Collective(app) => app.on_receive(from, actions),
            Self::List(_) | Self::Poisson(_) | Self::Stream(_) | Self::Cbr(_) => {}
        }
    }

    /// It will start no more flows. An echo never starts any.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::List(app) => app.is_done(),
            Self::Poisson(app) => app.is_done(),
            Self::PingPong(app) => app.is_done(),
            Self::Stream(app) => app.is_done(),
            Self::Cbr(app) => app.is_done(),
            Self::Collective(app) => app.is_done(),
            Self::Echo(_) => true,
        }
    }

    /// Whether it takes the connection of its pair of hosts, if there is one for all. What comes over such a one goes to whoever
    /// opened it: that is no matter to applications that only send, but to those that answer. Messages of a collective share connections
    /// in any case, so that they come in the order in which they were posted.
    pub(crate) fn shares_connections(&self, per_pair: bool) -> bool {
        match self {
            Self::Collective(_) => false,
            Self::PingPong(_) | Self::Echo(_) => !per_pair,
            _ => true,
        }
    }

    /// The run ends: a flow that the application keeps the books of and that is still open.
    pub(crate) fn cut_off(&mut self, now: Time, outcome: Outcome) -> Option<Ended> {
        match self {
            Self::PingPong(app) => app.cut_off(now, outcome),
            _ => None,
        }
    }
}
