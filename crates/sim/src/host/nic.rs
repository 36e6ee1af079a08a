//! The port of a host: what goes out next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wiremend_proto::cc::{Echo, Feedback, Sent};
use wiremend_proto::dcp::Pulls;
use wiremend_proto::engine::Purpose;
use wiremend_proto::{Packet, rc};
use wiremend_units::{Bytes, HostId, LaneId, Psn, Time};
use wiremend_wire::{Ecn, Opcode};

use super::context::Responding;
use super::raw::RawFrames;
use super::{Context, Host};
use crate::app::Raw;
use crate::frame::{self, Body, Frame, HeaderId, Raw as RawBody, Tags};
use crate::network::Transport;
use crate::port::{Hold, Pauses};

pub(super) struct Nic {
    uplink: LaneId,
    ip_id: u16,
    /// What connections have to send, one for each class; mostly there is one.
    rings: Vec<Ring>,
    /// The ring that was served last.
    turn: usize,
    /// Requesters that wait for their pacing, by when it allows them.
    paced: BinaryHeap<Reverse<(Time, u32)>>,
    /// Pulls that senders are owed, if they wait for any.
    pulls: Option<Box<Pulls<(u32, u32)>>>,
    /// Frames of open-loop loads, if there ever were any.
    raw: Option<Box<RawFrames>>,
    /// Which classes must wait, if one ever had to.
    pauses: Option<Box<Pauses>>,
    /// What the frame that is about to leave brings back to a requester.
    echo: Option<Box<Feedback>>,
}

/// The connections of one class that have something to send.
pub(super) struct Ring {
    class: u8,
    /// Acknowledgements and notifications that are made already.
    pub(super) control: VecDeque<Frame>,
    /// What each of these brings back to a requester; empty where nobody wants that.
    pub(super) echoes: VecDeque<Option<Box<Feedback>>>,
    /// Responders whose acknowledgement is made when it leaves, so that a newer one can replace it.
    pub(super) acks: VecDeque<u32>,
    pub(super) ready: VecDeque<Sender>,
}

impl Ring {
    fn new(class: u8) -> Self {
        Self {
            class,
            control: VecDeque::new(),
            echoes: VecDeque::new(),
            acks: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    #[inline]
    fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.control.is_empty() || !self.acks.is_empty()
    }
}

/// A half of a connection with something to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender(pub(super) u32);

pub(super) enum Half {
    Requester(u32),
    Responder(u32),
}

impl Sender {
    const RESPONDER: u32 = 1 << 31;

    pub(super) const fn requester(slot: u32) -> Self {
        Self(slot)
    }

    pub(super) const fn responder(slot: u32) -> Self {
        Self(slot | Self::RESPONDER)
    }

    #[inline]
    pub(super) const fn half(self) -> Half {
        if self.0 & Self::RESPONDER == 0 {
            Half::Requester(self.0)
        } else {
            Half::Responder(self.0 & !Self::RESPONDER)
        }
    }
}

impl Nic {
    pub(super) fn new(uplink: LaneId) -> Self {
        Self {
            uplink,
            ip_id: 0,
            rings: Vec::new(),
            turn: 0,
            paced: BinaryHeap::new(),
            pulls: None,
            raw: None,
            pauses: None,
            echo: None,
        }
    }

    #[inline]
    fn has_work(&self) -> bool {
        self.connections_have_work() || self.raw.as_ref().is_some_and(|raw| !raw.is_empty())
    }

    #[inline]
    fn connections_have_work(&self) -> bool {
        match self.rings.as_slice() {
            [only] => only.has_work(),
            several => several.iter().any(Ring::has_work),
        }
    }

    /// The ring of a class.
    #[inline]
    pub(super) fn ring(&mut self, class: u8) -> &mut Ring {
        let place = match self.rings.first() {
            Some(first) if first.class == class => 0,
            _ => self.place_of(class),
        };
        &mut self.rings[place]
    }

    #[cold]
    fn place_of(&mut self, class: u8) -> usize {
        self.rings.iter().position(|ring| ring.class == class).unwrap_or_else(|| {
            self.rings.push(Ring::new(class));
            self.rings.len() - 1
        })
    }

    #[inline]
    fn is_paused(&self, class: u8, at: Time) -> bool {
        self.pauses.as_ref().is_some_and(|pauses| pauses.is_paused(class, at))
    }

    /// When something may go, if the port is free from `free_at` on.
    #[inline]
    fn next_start(&self, free_at: Time) -> Option<Time> {
        if let Some(pauses) = &self.pauses {
            return self.next_start_with(pauses, free_at);
        }
        if self.has_work() { Some(free_at) } else { self.next_paced().map(|time| free_at.max(time)) }
    }

    /// A connection that waits for its pacing is looked at when that is over, and may find its class held.
    #[cold]
    fn next_start_with(&self, pauses: &Pauses, free_at: Time) -> Option<Time> {
        let rings = self.rings.iter().filter(|ring| ring.has_work()).map(|ring| ring.class);
        let raw = self.raw.iter().flat_map(|raw| raw.classes());
        let starts = rings.chain(raw).map(|class| pauses.opens(class, free_at));
        let paced = self.next_paced().map(|time| free_at.max(time));
        starts.chain(paced).min().filter(|start| *start < Time::MAX)
    }

    #[inline]
    fn next_paced(&self) -> Option<Time> {
        let paced = self.paced.peek().map(|Reverse((time, _))| *time);
        match &self.pulls {
            None => paced,
            Some(pulls) => Some(pulls.due().min(paced.unwrap_or(Time::MAX))).filter(|time| *time < Time::MAX),
        }
    }
}

impl Host {
    /// There may be something to send: sends it now if the port is free, else when it falls free.
    #[inline]
    pub(super) fn kick(&mut self, cx: &mut Context<'_>) {
        if !self.nic.has_work() {
            return;
        }
        let free_at = cx.wires.ports[self.nic.uplink.index()].busy_until;
        if free_at <= cx.now {
            self.send_next(cx);
        } else {
            let source = cx.wires.sources.tx(self.nic.uplink);
            cx.wires.queue.arm_by(source, free_at);
        }
    }

    /// The port has fallen free, or a paced connection's time has come.
    #[inline]
    pub(crate) fn on_port_free(&mut self, cx: &mut Context<'_>) {
        while let Some(Reverse((time, slot))) = self.nic.paced.peek().copied()
            && time <= cx.now
        {
            self.nic.paced.pop();
            let class = self.connections[slot as usize].class;
            self.nic.ring(class).ready.push_back(Sender::requester(slot));
        }
        if self.nic.pulls.is_some() {
            self.grant_pulls(cx);
        }
        if cx.wires.ports[self.nic.uplink.index()].busy_until <= cx.now {
            self.send_next(cx);
        } else {
            self.arm_port(cx);
        }
    }

    /// The sender of a connection is owed pulls, which leave at the rate at which the port can receive what they bring.
    #[cold]
    pub(super) fn owe_pulls(&mut self, cx: &mut Context<'_>, slot: u32) {
        let context = self.contexts.get_mut(slot);
        let (owed, serial) = (context.responder.take_owed(), context.serial);
        if owed == 0 {
            return;
        }
        let pulls = self.nic.pulls.get_or_insert_default();
        (0..owed).for_each(|_| pulls.push((slot, serial)));
        self.grant_pulls(cx);
        self.arm_port(cx);
    }

    /// Pulls whose time has come join the acknowledgements.
    fn grant_pulls(&mut self, cx: &Context<'_>) {
        let Some(pulls) = &mut self.nic.pulls else { return };
        let full = rc::frame_len(Opcode::WriteOnly, cx.net.transport.config.mtu);
        let line = cx.net.lanes[self.nic.uplink.index()].rate;
        let spacing = line.serialize(Bytes::new(u64::from(full) + frame::GAP_BYTES));
        // Whoever has closed its connection wants nothing more.
        let wanted = |&(slot, serial): &(u32, u32)| self.contexts.is_open(slot, serial);
        let Some((slot, _)) = pulls.pop(cx.now, spacing, wanted) else { return };
        let context = self.contexts.get_mut(slot);
        context.responder.grant_pull();
        let class = context.class;
        if !std::mem::replace(&mut context.queued, true) {
            self.nic.ring(class).acks.push_back(slot);
        }
    }

    fn send_next(&mut self, cx: &mut Context<'_>) {
        if let Some(mut frame) = self.next_frame(cx) {
            frame.ip_id = self.nic.ip_id;
            self.nic.ip_id = self.nic.ip_id.wrapping_add(1);
            self.counters.tx_frames += 1;
            let len = u64::from(frame.len);
            match frame.purpose() {
                Purpose::New if frame.packet().is_some_and(Packet::is_nak) => {
                    self.counters.extra_bytes += len;
                }
                Purpose::New => {}
                other => self.count_extra(other, len),
            }
            if cx.net.transport.needs.echo == Echo::Nothing {
                cx.wires.send(cx.now, self.nic.uplink, frame);
            } else {
                self.send_with_feedback(cx, frame);
            }
        }
        self.arm_port(cx);
    }

    /// Requests of queue pairs ask for what answers bring back.
    #[inline(never)]
    fn send_with_feedback(&mut self, cx: &mut Context<'_>, frame: Frame) {
        let asks = match frame.packet() {
            Some(Packet::Rc(packet)) => !packet.opcode.is_response() && packet.opcode != Opcode::Cnp,
            Some(Packet::Tcp(_)) | None => false,
            Some(packet) => !packet.is_response(),
        };
        let feedback = self.nic.echo.take().or_else(|| asks.then(|| Box::new(Feedback::new(cx.now))));
        let id = cx.wires.frames.insert(frame);
        if let Some(feedback) = feedback {
            cx.wires.frames.attach(id, feedback);
        }
        cx.wires.transmit(cx.now, self.nic.uplink, id);
    }

    #[cold]
    fn count_extra(&mut self, purpose: Purpose, len: u64) {
        self.counters.extra_bytes += len;
        match purpose {
            Purpose::New => {}
            Purpose::Again => {
                self.counters.retransmitted_packets += 1;
                self.counters.retransmitted_bytes += len;
            }
            Purpose::Dummy => self.counters.added.dummies.add(len),
            Purpose::Repeat => self.counters.added.repeats.add(len),
        }
    }

    /// Comes back when the port is free and there is something to send.
    #[inline]
    fn arm_port(&mut self, cx: &mut Context<'_>) {
        let free_at = cx.wires.ports[self.nic.uplink.index()].busy_until.max(cx.now);
        if let Some(due) = self.nic.next_start(free_at) {
            let source = cx.wires.sources.tx(self.nic.uplink);
            cx.wires.queue.arm_by(source, due);
        }
    }

    /// Holds a class, or lets it go.
    pub(crate) fn pause(&mut self, cx: &mut Context<'_>, class: u8, hold: Hold) {
        self.nic.pauses.get_or_insert_with(|| Box::new(Pauses::new())).pause(class, hold);
        self.arm_port(cx);
    }

    fn next_frame(&mut self, cx: &mut Context<'_>) -> Option<Frame> {
        let rings = self.nic.rings.len();
        let mut place = self.nic.turn;
        for _ in 0..rings {
            // Classes take turns.
            place = if place + 1 >= rings { 0 } else { place + 1 };
            if !self.nic.is_paused(self.nic.rings[place].class, cx.now)
                && let Some(frame) = self.next_of_ring(cx, place)
            {
                self.nic.turn = place;
                return Some(frame);
            }
        }
        let Nic { raw, pauses, .. } = &mut self.nic;
        let is_open = |class| !pauses.as_ref().is_some_and(|pauses| pauses.is_paused(class, cx.now));
        raw.as_mut()?.pop(is_open)
    }

    #[inline]
    fn next_of_ring(&mut self, cx: &mut Context<'_>, place: usize) -> Option<Frame> {
        if let Some(frame) = self.nic.rings[place].control.pop_front() {
            if cx.net.transport.needs.echo != Echo::Nothing {
                self.nic.echo = self.nic.rings[place].echoes.pop_front().flatten();
            }
            return Some(frame);
        }
        let transport = &cx.net.transport;
        while let Some(slot) = self.nic.rings[place].acks.pop_front() {
            let context = self.contexts.get_mut(slot);
            let packet = context.responder.poll_transmit(transport);
            context.queued = context.responder.has_output();
            if context.queued {
                self.nic.rings[place].ready.push_back(Sender::responder(slot));
            }
            if let Some(packet) = packet {
                if transport.needs.echo != Echo::Nothing {
                    self.nic.echo = context.echo.take();
                }
                return Some(answer(self.id, context, packet, transport));
            }
        }
        while let Some(sender) = self.nic.rings[place].ready.pop_front() {
            let frame = match sender.half() {
                Half::Requester(slot) => self.next_request(cx, slot, place),
                Half::Responder(slot) => self.next_response(cx, slot, place),
            };
            if frame.is_some() {
                return frame;
            }
        }
        None
    }

    #[inline]
    fn next_request(&mut self, cx: &mut Context<'_>, slot: u32, place: usize) -> Option<Frame> {
        let transport = &cx.net.transport;
        let connection = &mut self.connections[slot as usize];
        if let Some(control) = &connection.control {
            let eligible = control.eligible();
            if eligible > cx.now {
                self.nic.paced.push(Reverse((eligible, slot)));
                return None;
            }
        }
        let Some(transmit) = connection.requester.poll_transmit(transport, cx.now) else {
            connection.queued = false;
            return None;
        };
        let len = transmit.packet.frame_len();
        if let Some(control) = &mut connection.control {
            control.on_transmit(
                cx.now,
                Sent {
                    wire_bytes: u32::from(len) + frame::GAP_BYTES as u32,
                    number: connection.requester.next_number() - 1,
                    again: transmit.purpose != Purpose::New,
                },
            );
        }
        let frame = Frame {
            body: Body::Packet(transmit.packet),
            src: self.id,
            dst: connection.dst,
            serial: connection.serial,
            len,
            ip_id: 0,
            entropy: connection.entropy ^ transmit.path,
            ingress: 0,
            tags: Tags::new(connection.class, connection.requester.ecn(transport), transmit.purpose),
            ttl: transport.ttl,
            copy: transmit.copy,
            bounces: 0,
            header: HeaderId::NONE,
        };
        if connection.requester.ready(transport, cx.now) {
            self.nic.rings[place].ready.push_back(Sender::requester(slot));
        } else {
            connection.queued = false;
        }
        self.note_timer(cx, slot);
        Some(frame)
    }

    fn next_response(&mut self, cx: &mut Context<'_>, slot: u32, place: usize) -> Option<Frame> {
        let transport = &cx.net.transport;
        let context = self.contexts.get_mut(slot);
        let packet = context.responder.poll_transmit(transport);
        self.nic.echo = context.echo.take();
        let frame = packet.map(|packet| answer(self.id, context, packet, transport));
        if context.responder.has_output() {
            self.nic.rings[place].ready.push_back(Sender::responder(slot));
        } else {
            context.queued = false;
        }
        frame
    }

    /// One frame of an open-loop load.
    pub(super) fn send_raw(&mut self, cx: &mut Context<'_>, raw: Raw) {
        let frame = Frame {
            body: Body::Raw(if raw.trimmable { RawBody::Trimmable } else { RawBody::Whole }),
            src: self.id,
            dst: raw.dst,
            serial: 0,
            len: raw.len,
            ip_id: 0,
            entropy: 0xC000 | raw.dst.0 as u16 & 0x3FFF,
            ingress: 0,
            tags: Tags::new(raw.class, Ecn::Capable0, Purpose::New),
            ttl: raw.ttl,
            copy: 0,
            bounces: 0,
            header: HeaderId::NONE,
        };
        if self.nic.raw.get_or_insert_default().push(frame) {
            self.kick(cx);
        } else {
            self.counters.raw_refused += 1;
        }
    }
}

/// The frame that carries a responder's packet back, over the path that differs so from that of the frame which came last.
#[inline]
pub(super) fn answer(
    from: HostId,
    context: &mut Responding,
    (packet, path): (Packet, u16),
    transport: &Transport,
) -> Frame {
    let (copy, ecn) = match &packet {
        Packet::Rc(packet) if packet.opcode.is_read_response() => {
            (copy_of_response(context, packet.psn), Ecn::Capable0)
        }
        _ => (0, Ecn::NotCapable),
    };
    Frame {
        body: Body::Packet(packet),
        src: from,
        dst: context.peer,
        serial: context.serial,
        len: packet.frame_len(),
        ip_id: 0,
        entropy: context.entropy ^ path,
        ingress: 0,
        tags: Tags::new(context.class, ecn, if copy > 0 { Purpose::Again } else { Purpose::New }),
        ttl: transport.ttl,
        copy,
        bounces: 0,
        header: HeaderId::NONE,
    }
}

/// Whether a READ response goes out again: a responder keeps no count of copies.
fn copy_of_response(context: &mut Responding, psn: Psn) -> u8 {
    if context.answered.is_some_and(|answered| psn.distance(answered) < 0) {
        return 1;
    }
    context.answered = Some(psn.ahead(1));
    0
}
