//! The responder's side of connections.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use wiremend_measure::TimeoutCause;
use wiremend_proto::cc::dcqcn::Notification;
use wiremend_proto::cc::{Echo, Feedback};
use wiremend_proto::engine::{Expiry, Message, Op, Outcome};
use wiremend_proto::{Packet, rc, sr};
use wiremend_units::{HostId, Psn, QpNum, Time, mix};
use wiremend_wire::Ecn;

use super::cause;
use super::engine::ResponderEngine;
use super::nic::Sender;
use super::{Context, Host};
use crate::frame::Frame;
use crate::network::{Delivered, News};

/// A connection that ends here.
pub(super) struct Responding {
    pub(super) responder: ResponderEngine,
    pub(super) peer: HostId,
    pub(super) serial: u32,
    /// The requester's number for the connection.
    requester: QpNum,
    port: u16,
    pub(super) entropy: u16,
    /// The class of what came last: answers have it too.
    pub(super) class: u8,
    /// Segments that a link had to send again, since the last message.
    pub(super) mended: u16,
    notification: Notification,
    /// The number behind the last READ response sent for the first time.
    pub(super) answered: Option<Psn>,
    /// What the next answer brings back to its requester, if that wants anything.
    pub(super) echo: Option<Box<Feedback>>,
    /// It stands in one of the NIC's rings.
    pub(super) queued: bool,
    /// Its requester has not closed it.
    open: bool,
    /// The time of its entry in the host's timers, or never.
    pub(super) timer_at: Time,
}

impl Responding {
    pub(super) fn new(
        peer: HostId,
        requester: QpNum,
        serial: u32,
        port: u16,
        class: u8,
        responder: ResponderEngine,
    ) -> Self {
        Self {
            responder,
            peer,
            serial,
            requester,
            port,
            entropy: 0,
            class,
            mended: 0,
            notification: Notification::default(),
            answered: None,
            echo: None,
            queued: false,
            open: true,
            timer_at: Time::MAX,
        }
    }
}

impl Responding {
    /// A request has brought what the next answer takes back. Of several requests that one answer is for, the newest tells, and all marks count.
    #[cold]
    fn keep_echo(&mut self, mut feedback: Box<Feedback>, is_marked: bool) {
        let was_marked = self.echo.take().is_some_and(|echo| echo.is_marked);
        feedback.on_arrival(is_marked || was_marked);
        self.echo = Some(feedback);
    }
}

/// All of them, found by peer and number. The map is never iterated.
#[derive(Default)]
pub(super) struct Contexts {
    slots: Vec<Responding>,
    free: Vec<u32>,
    by_peer: HashMap<u64, u32, BuildHasherDefault<Mixer>>,
}

impl Contexts {
    pub(super) fn open(&mut self, peer: HostId, qp: QpNum, context: Responding) {
        let slot = if let Some(slot) = self.free.pop() {
            let queued = self.slots[slot as usize].queued;
            self.slots[slot as usize] = Responding { queued, ..context };
            slot
        } else {
            self.slots.push(context);
            self.slots.len() as u32 - 1
        };
        self.by_peer.insert(key(peer, qp), slot);
    }

    /// Says what its tracking has cost.
    pub(super) fn close(&mut self, peer: HostId, qp: QpNum, serial: u32) -> Option<sr::Steps> {
        if let Some(slot) = self.by_peer.get(&key(peer, qp)).copied()
            && self.slots[slot as usize].serial == serial
        {
            self.by_peer.remove(&key(peer, qp));
            self.free.push(slot);
            self.slots[slot as usize].timer_at = Time::MAX;
            self.slots[slot as usize].open = false;
            return self.slots[slot as usize].responder.steps();
        }
        None
    }

    /// What tracking has cost those that are not closed.
    pub(super) fn steps_of_open(&self) -> impl Iterator<Item = sr::Steps> {
        let free: BTreeSet<u32> = self.free.iter().copied().collect();
        let open = self.slots.iter().zip(0..).filter(move |(_, slot)| !free.contains(slot));
        open.filter_map(|(context, _)| context.responder.steps())
    }

    pub(super) fn cause(&self, peer: HostId, qp: QpNum, serial: u32, expiry: &Expiry) -> TimeoutCause {
        match self.by_peer.get(&key(peer, qp)).map(|slot| &self.slots[*slot as usize]) {
            Some(context) if context.serial == serial => {
                let (expected, nak_sent) = context.responder.standing(expiry.path);
                cause::name(expiry, expected, nak_sent)
            }
            _ => TimeoutCause::Other,
        }
    }

    /// Whether the connection is still open that had this slot.
    pub(super) fn is_open(&self, slot: u32, serial: u32) -> bool {
        let context = &self.slots[slot as usize];
        context.open && context.serial == serial
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Responding {
        &mut self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn find(&self, peer: HostId, qp: QpNum) -> Option<u32> {
        self.by_peer.get(&key(peer, qp)).copied()
    }
}

impl Host {
    /// A request: data, or the wish to read some.
    #[inline]
    pub(super) fn on_request(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: &Packet) {
        let Some(slot) = self.contexts.find(frame.src, packet.dest_qp()) else {
            self.counters.late_frames += 1;
            return;
        };
        let context = self.contexts.get_mut(slot);
        if context.serial != frame.serial {
            self.counters.late_frames += 1;
            return;
        }
        let transport = &cx.net.transport;
        let marked = frame.ecn() == Ecn::Congested;
        let outcome = context.responder.on_request(transport, cx.now, packet, marked);
        context.entropy = frame.entropy;
        if transport.needs.echo != Echo::Nothing
            && let Some(feedback) = cx.wires.feedback.take()
        {
            context.keep_echo(feedback, marked);
        }
        if packet.is_trimmed() {
            self.counters.headers_bounced += u64::from(outcome == Outcome::Gap { nak: true });
        } else {
            context.class = frame.class();
        }
        cx.wires.watch.on_request(cx.now, frame, &outcome, context.responder.expected());
        match outcome {
            Outcome::Accepted { completed: Some(message), .. } if !packet.is_dummy() => {
                self.on_message(cx, slot, message);
            }
            Outcome::Duplicate => self.counters.duplicates += 1,
            _ => {}
        }
        if self.contexts.get_mut(slot).responder.has_messages() {
            self.on_messages(cx, slot);
        }
        if transport.trims {
            self.owe_pulls(cx, slot);
        }
        let context = self.contexts.get_mut(slot);
        if context.responder.has_output() {
            let ring = self.nic.ring(context.class);
            if !transport.coalesce && !context.responder.is_reading() {
                let answer = context.responder.poll_transmit(transport).expect("it has output");
                let answer = super::nic::answer(self.id, context, answer, transport);
                ring.control.push_back(answer);
                if transport.needs.echo != Echo::Nothing {
                    ring.echoes.push_back(context.echo.take());
                }
            }
            if context.responder.has_output() && !context.queued {
                context.queued = true;
                if context.responder.is_reading() {
                    ring.ready.push_back(Sender::responder(slot));
                } else {
                    ring.acks.push_back(slot);
                }
            }
            self.kick(cx);
        }
        if marked && !matches!(packet, Packet::Tcp(_)) {
            self.on_mark(cx, slot);
        }
    }

    /// A request has filled the gap before messages.
    #[inline(never)]
    fn on_messages(&mut self, cx: &mut Context<'_>, slot: u32) {
        while let Some(message) = self.contexts.get_mut(slot).responder.poll_message() {
            self.on_message(cx, slot, message);
        }
    }

    /// A marked packet has come: its sender may have to be told.
    #[cold]
    fn on_mark(&mut self, cx: &mut Context<'_>, slot: u32) {
        let transport = &cx.net.transport;
        let Some(interval) = transport.needs.cnp_interval else { return };
        let context = self.contexts.get_mut(slot);
        if !context.notification.on_mark(cx.now, interval) {
            return;
        }
        let packet = Packet::Rc(rc::Packet::cnp(context.requester));
        let answer = super::nic::answer(self.id, context, (packet, 0), transport);
        let class = transport.cnp_class.unwrap_or(answer.class());
        self.counters.cnps_sent += 1;
        let ring = self.nic.ring(class);
        ring.control.push_back(answer.with_class(class));
        if transport.needs.echo != Echo::Nothing {
            ring.echoes.push_back(None);
        }
        self.kick(cx);
    }

    #[inline(never)]
    fn on_message(&mut self, cx: &mut Context<'_>, slot: u32, message: Message) {
        let context = self.contexts.get_mut(slot);
        let (peer, port) = (context.peer, context.port);
        let (requester, serial) = (context.requester, context.serial);
        let mended = std::mem::take(&mut context.mended);
        if message.op == Op::Read {
            return;
        }
        self.counters.delivered_bytes += u64::from(message.len);
        self.counters.delivered_messages += 1;
        let delivered = Delivered { requester, serial, message: message.msn, mended, at: cx.now };
        self.send_notice(cx, peer, News::Delivered(delivered));
        if let Some(index) = self.apps.iter().position(|placed| placed.port == port) {
            self.with_app(cx, index, |app, now, actions| app.on_receive(now, peer, actions));
        }
    }
}

#[inline]
fn key(peer: HostId, qp: QpNum) -> u64 {
    u64::from(peer.0) << 32 | u64::from(qp.get())
}

/// A fixed hash for keys that nobody hostile chooses.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("keys are single words");
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = mix(word);
    }
}
