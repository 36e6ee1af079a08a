//! Ports under protection: an end of [`proto::link`](wiremend_proto::link) or [`proto::fec`](wiremend_proto::fec) between a switch's queues and its
//! wire.
//!
//! A protected port is a scheduled one whose wire is not its own: whenever it is free, the link's end says who is next
//! on it. What arrives with a header goes to the end of the port it came in by, and from there to the switch. A
//! dormant end adds neither header nor frame.

mod coder;
mod depth;
mod gauge;
mod guard;
mod loopback;
mod memory;
mod missing;
mod prototype;
mod rare;

pub(crate) use coder::Coder;
pub(crate) use gauge::{Gauge, Start};
pub use guard::EndCounters;
pub(crate) use guard::{Guard, Order, Protocol, named};
pub(crate) use loopback::{Loopback, Turn};
pub(crate) use memory::Home;
pub(crate) use prototype::{Prototype, Room};
pub(crate) use rare::Rare;

use wiremend_proto::link::paper::{Judgement, Signal as PrototypeSignal, Verdict};
use wiremend_proto::link::{Disposal, Transmit, Waiting};
use wiremend_units::{Bytes, LaneId, SwitchId, Time};

use crate::frame::{Frame, FrameId, Header, HeaderId, Kind};
use crate::link::Wires;
use crate::port::Egress;
use crate::switch::Lossless;
use loopback::{Side, Step, Turning};
use prototype::Next;

/// The frame that leaves next of those that wait. In a lossless switch its room is free from here on.
fn take_head(egress: &mut Egress, lossless: Option<&mut Lossless>, now: Time, lane: LaneId) -> FrameId {
    let (class, waiting) = egress.pop(now).expect("the head of the queue is there");
    if let Some(lossless) = lossless {
        lossless.let_go(lane, waiting.ingress, class, waiting.len);
    }
    waiting.frame
}

impl Wires {
    /// Puts an end before the wire of `lane`, whose port is a scheduled one.
    pub(crate) fn protect(&mut self, lane: LaneId, guard: Guard) {
        debug_assert!(self.egresses[lane.index()].is_some(), "a protected port is scheduled");
        self.set_guarded(lane);
        if let Some(due) = guard.next_due(Time::ZERO) {
            self.queue.arm_by(self.sources.tx(lane), due);
        }
        self.guards[lane.index()] = Some(Box::new(guard));
    }

    /// Gives a switch a loopback port, through which the buffers of its protected ports turn.
    pub(crate) fn add_loopback(&mut self, switch: SwitchId, turn: Turn) {
        if self.loopbacks.len() <= switch.index() {
            self.loopbacks.resize_with(switch.index() + 1, || None);
        }
        self.loopbacks[switch.index()].get_or_insert_with(|| Box::new(Loopback::new(turn)));
    }

    pub(crate) fn has_loopback(&self, switch: SwitchId) -> bool {
        self.loopbacks.get(switch.index()).is_some_and(Option::is_some)
    }

    pub(crate) fn guard(&self, lane: LaneId) -> Option<&Guard> {
        self.guards[lane.index()].as_deref()
    }

    /// The port has fallen free, or a time has come.
    #[cold]
    pub(crate) fn on_guard_time(&mut self, now: Time, lane: LaneId) {
        let guard = self.guards[lane.index()].as_mut().expect("a protected port");
        guard.on_time(now);
        self.settle(now, lane);
        self.pump(now, lane);
    }

    /// A frame with a link header has come over `lane`. What is to be forwarded for it is in `delivered`.
    #[cold]
    pub(crate) fn on_header(&mut self, now: Time, lane: LaneId, id: FrameId) {
        let block = self.headers.detach(self.frames.get(id).header);
        let header = self.undress(id);
        let arrived = self.frames.get(id);
        let (is_own, len) = (arrived.kind == Kind::Link, Bytes::new(u64::from(arrived.len)));
        let back = lane.reverse();
        let guard = self.guards[back.index()].as_mut().expect("both ends of a protected link are guarded");
        if is_own {
            self.frames.remove(id);
            guard.taken += 1;
        }
        match (&mut guard.protocol, header) {
            (Protocol::Link(end), Header::Link(signal)) => {
                end.on_signal(now, &signal, (!is_own).then_some((id, len)));
            }
            (Protocol::Prototype(port), header) => {
                let verdict = port.on_header(now, &header);
                self.obey(now, back, id, &header, verdict);
                self.settle(now, back);
            }
            (Protocol::Fec(coder), Header::Fec(signal)) => {
                coder.on_signal(now, signal, (!is_own).then_some((id, len)), block);
            }
            (Protocol::Link(end), Header::Bare) => end.on_plain(now, id),
            (Protocol::Fec(coder), Header::Bare) => coder.on_bare(id, len),
            (Protocol::Link(_) | Protocol::Fec(_), _) => unreachable!("both ends of a link speak the same"),
        }
        self.pump(now, back);
    }

    /// Puts on the wire what is next, if it is free, and sees to being called again.
    pub(crate) fn pump(&mut self, now: Time, lane: LaneId) {
        // What a lossless switch has to say is not the link's to carry: it goes before all else, as it is.
        if self.ports[lane.index()].busy_until <= now && !self.speak(now, lane) {
            self.send_guarded(now, lane);
        }
        self.dispose(now, lane);
        self.arm_guarded(now, lane);
        if self.lossless.as_mut().is_some_and(|lossless| lossless.take_let_go()) {
            self.announce(now, lane);
        }
    }

    /// Comes back when the wire falls free, a hold is over, or the end of the link wants to act.
    pub(crate) fn arm_guarded(&mut self, now: Time, lane: LaneId) {
        let busy_until = self.ports[lane.index()].busy_until;
        let guard = self.guards[lane.index()].as_ref().expect("a protected port");
        let egress = self.egresses[lane.index()].as_ref().expect("a protected port is scheduled");
        let free = if busy_until > now { Some(busy_until) } else { None };
        let opens = egress.next_start(now).filter(|start| *start > now);
        if let Some(due) = [free, opens, guard.next_due(now)].into_iter().flatten().min() {
            self.queue.arm_by(self.sources.tx(lane), due.max(now));
        }
    }

    fn send_guarded(&mut self, now: Time, lane: LaneId) {
        let sent = match self.guards[lane.index()].as_ref().expect("a protected port").protocol {
            Protocol::Link(_) => self.next_of_link(now, lane),
            Protocol::Prototype(_) => self.next_of_prototype(now, lane),
            Protocol::Fec(_) => self.next_of_coder(now, lane),
        };
        let Some((id, header)) = sent else { return };
        if let Some(header) = header {
            let guard = self.guards[lane.index()].as_mut().expect("a protected port");
            guard.header_bytes += u64::from(header.added_len());
            self.dress(id, header);
            self.enclose(lane, id);
        }
        self.transmit(now, lane, id);
    }

    fn next_of_link(&mut self, now: Time, lane: LaneId) -> Option<(FrameId, Option<Header>)> {
        let guard = self.guards[lane.index()].as_mut().expect("a protected port");
        let egress = self.egresses[lane.index()].as_mut().expect("a protected port is scheduled");
        let has_started = guard.has_started();
        let Protocol::Link(end) = &mut guard.protocol else { unreachable!("asked for a link") };
        let waiting = egress.peek(now).map(|(class, len)| Waiting {
            len: Bytes::new(u64::from(len)),
            ordered: guard.ordered & (1 << class) != 0,
        });
        let mut head = || take_head(egress, self.lossless.as_deref_mut(), now, lane);
        Some(match end.poll_transmit(now, waiting)? {
            Transmit::Plain => (head(), has_started.then_some(Header::Bare)),
            Transmit::Fresh(signal) => {
                let id = head();
                let kept = self.frames.insert(*self.frames.get(id));
                self.kept += 1;
                end.on_sent(now, kept);
                (id, Some(Header::Link(signal)))
            }
            Transmit::Again(signal, kept) => {
                let frame = self.frames.get(kept).sent_again();
                guard.resent.add(u64::from(frame.len));
                (self.frames.insert(frame), Some(Header::Link(signal)))
            }
            Transmit::Own(signal) => {
                let frame = Frame::own();
                guard.own.add(u64::from(frame.len));
                (self.frames.insert(frame), Some(Header::Link(signal)))
            }
        })
    }

    fn next_of_prototype(&mut self, now: Time, lane: LaneId) -> Option<(FrameId, Option<Header>)> {
        let guard = self.guards[lane.index()].as_mut().expect("a protected port");
        let egress = self.egresses[lane.index()].as_mut().expect("a protected port is scheduled");
        let Protocol::Prototype(port) = &mut guard.protocol else { unreachable!("asked for a prototype") };
        let has_head = egress.peek(now).is_some();
        let mut head = || take_head(egress, self.lossless.as_deref_mut(), now, lane);
        Some(match port.next(now, has_head)? {
            Next::Head(header) => (head(), header),
            Next::Fresh(signal) => {
                let id = head();
                self.mirror(now, lane, id, &signal);
                (id, Some(Header::Prototype(signal)))
            }
            Next::Copy(header, id) => {
                // It has been a copy that is kept until now.
                self.kept -= 1;
                let frame = self.frames.get_mut(id);
                *frame = frame.sent_again();
                guard.resent.add(u64::from(frame.len));
                (id, Some(header))
            }
            Next::Own(header) => {
                let frame = Frame::own();
                guard.own.add(u64::from(frame.len));
                (self.frames.insert(frame), Some(header))
            }
        })
    }

    /// A copy of a frame that leaves goes to the loopback port, or stays in memory.
    fn mirror(&mut self, now: Time, lane: LaneId, id: FrameId, signal: &PrototypeSignal) {
        let PrototypeSignal::Data { number, .. } = *signal else {
            unreachable!("a fresh frame has a number")
        };
        let frame = *self.frames.get(id);
        let copy = self.frames.insert(frame);
        self.kept += 1;
        let turning = Turning { lane, side: Side::Tx, number, frame: copy, len: frame.len };
        if let Home::Loopback(switch) = self.prototype(lane).home {
            self.loopback(switch).mirror(now, turning);
            self.arm_loopback(now, switch);
        } else {
            self.keep(now, turning);
        }
    }

    /// Does with a frame what the prototype's receiver has decided.
    fn obey(&mut self, now: Time, lane: LaneId, id: FrameId, header: &Header, verdict: Option<Verdict>) {
        match verdict {
            None => {}
            Some(Verdict::Forward) => self.hand_on(lane, id),
            Some(Verdict::Drop) => self.take_away(lane, id),
            Some(Verdict::Hold) => {
                let Header::Prototype(PrototypeSignal::Data { number, .. }) = *header else {
                    unreachable!("what is held has a number")
                };
                let len = self.frames.get(id).len;
                self.keep(now, Turning { lane, side: Side::Rx, number, frame: id, len });
            }
        }
    }

    fn hand_on(&mut self, lane: LaneId, id: FrameId) {
        self.guards[lane.index()].as_mut().expect("a protected port").handed_on += 1;
        self.delivered.push((lane.reverse(), id));
    }

    fn take_away(&mut self, lane: LaneId, id: FrameId) {
        self.frames.remove(id);
        self.guards[lane.index()].as_mut().expect("a protected port").taken += 1;
    }

    /// A frame joins the queue of the loopback port, or stays in memory, if there is room.
    fn keep(&mut self, now: Time, turning: Turning) {
        let port = self.prototype(turning.lane);
        if port.admit(&turning) {
            match &mut port.home {
                Home::Loopback(switch) => {
                    let switch = *switch;
                    self.loopback(switch).enqueue(turning);
                    self.arm_loopback(now, switch);
                }
                Home::Memory(memory) => memory.insert(turning),
            }
        } else if turning.side == Side::Tx {
            self.release(turning.frame);
        } else {
            self.take_away(turning.lane, turning.frame);
        }
    }

    fn release(&mut self, id: FrameId) {
        self.frames.remove(id);
        self.kept -= 1;
    }

    /// Whatever is due at the loopback port of a switch.
    #[cold]
    pub(crate) fn on_loopback(&mut self, now: Time, switch: SwitchId) {
        while let Some(step) = self.loopback(switch).step(now) {
            match step {
                Step::Mirrored(turning) => self.keep(now, turning),
                Step::Dequeued(turning) => {
                    self.prototype(turning.lane).on_dequeue(now, &turning);
                    if turning.side == Side::Rx {
                        self.pump(now, turning.lane);
                    }
                }
                Step::Judged(turning) => self.judge(now, turning),
            }
        }
        self.arm_loopback(now, switch);
    }

    fn judge(&mut self, now: Time, turning: Turning) {
        let port = self.prototype(turning.lane);
        if turning.side == Side::Rx {
            match port.judge(now, &turning) {
                Verdict::Forward => self.hand_on(turning.lane, turning.frame),
                Verdict::Hold => self.keep(now, turning),
                Verdict::Drop => self.take_away(turning.lane, turning.frame),
            }
            return;
        }
        match port.judge_copy(&turning) {
            Judgement::Again => self.keep(now, turning),
            Judgement::Drop => self.release(turning.frame),
            Judgement::Resend { copies } => {
                self.resend(turning, copies);
                self.pump(now, turning.lane);
            }
        }
    }

    /// So many copies of a frame leave before all else.
    fn resend(&mut self, turning: Turning, copies: u8) {
        for _ in 1..copies {
            let copy = self.frames.insert(*self.frames.get(turning.frame));
            self.kept += 1;
            self.prototype(turning.lane).resend(&turning, copy);
        }
        self.prototype(turning.lane).resend(&turning, turning.frame);
    }

    fn prototype(&mut self, lane: LaneId) -> &mut Prototype {
        match &mut self.guards[lane.index()].as_mut().expect("a protected port").protocol {
            Protocol::Prototype(port) => port,
            Protocol::Link(_) | Protocol::Fec(_) => {
                unreachable!("only the prototype has buffers that turn")
            }
        }
    }

    fn loopback(&mut self, switch: SwitchId) -> &mut Loopback {
        self.loopbacks[switch.index()].as_mut().expect("a switch of the prototype has a loopback port")
    }

    fn arm_loopback(&mut self, now: Time, switch: SwitchId) {
        if let Some(due) = self.loopback(switch).next_due() {
            self.queue.arm_by(self.sources.inside(switch), due.max(now));
        }
    }

    /// Does with handles what the end of a link has decided.
    fn dispose(&mut self, now: Time, lane: LaneId) {
        let guard = self.guards[lane.index()].as_mut().expect("a protected port");
        let end = match &mut guard.protocol {
            Protocol::Link(end) => end,
            Protocol::Fec(_) => return self.dispose_coded(now, lane),
            Protocol::Prototype(_) => return,
        };
        while let Some(disposal) = end.poll() {
            match disposal {
                Disposal::Deliver(id) => {
                    guard.handed_on += 1;
                    self.delivered.push((lane.reverse(), id));
                }
                Disposal::Discard(id) => {
                    self.frames.remove(id);
                    guard.taken += 1;
                }
                Disposal::Release(id) => {
                    self.frames.remove(id);
                    self.kept -= 1;
                }
            }
        }
    }

    fn dress(&mut self, id: FrameId, header: Header) {
        let frame = self.frames.get_mut(id);
        frame.len += header.added_len() as u16;
        frame.header = self.headers.insert(header);
    }

    fn undress(&mut self, id: FrameId) -> Header {
        let frame = self.frames.get_mut(id);
        let header = self.headers.remove(std::mem::replace(&mut frame.header, HeaderId::NONE));
        frame.len -= header.added_len() as u16;
        header
    }
}
