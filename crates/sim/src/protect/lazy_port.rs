//! Lazy ports of link-local retransmission at lossy switches: most of what happens at such a port has
//! no event.
//!
//! Between two looks at a port nothing changes it but its own departures, which follow from the link end, its
//! queues and the wire, and dummies and ACKs that arrive, which affect no other port. So they need no events.
//! Whoever looks at a port first handles what comes before the event being handled, at its time and in the
//! order that events would have had. The last event of a switch in a window handles the rest of the window,
//! before a departing frame can arrive anywhere.

use wiremend_proto::link::Endpoint;
use wiremend_units::{LaneId, SwitchId, Time};
use wiremend_wire::MIN_FRAME_BYTES;

use super::end_context::{EndContext, Shared};
use super::link_end::EndState;
use super::{LinkEnd, LinkProtocol, ProtectedId, ProtectedPort, Protection, retransmission};
use crate::event::EventSource;
use crate::frame::{FrameId, PackedHeader};
use crate::link::Lanes;
use crate::memory::{prefetch, prefetch_address, prefetch_bytes};
use crate::port::QueuedFrame;

/// Returns whether an end may be lazy. In order of time it must not. Timers that are set lazily must not be due in
/// the same window: frames that an end gives up are delivered to other ports. Nearly all timers are longer than
/// a round trip, and a round trip is longer than a window.
pub(super) fn may_be_lazy(lanes: &Lanes, protocol: &LinkProtocol) -> bool {
    let LinkProtocol::Link(end) = protocol else { return false };
    let window = lanes.queue.window();
    let is_long =
        Endpoint::<FrameId>::TIMEOUT_MIN > window && end.config().give_up.is_none_or(|age| age > window);
    lanes.queue.is_by_node() && is_long
}

impl Protection {
    /// Handles what comes before the event being handled at a lazy port.
    #[inline]
    pub(crate) fn catch_up(&mut self, lanes: &mut Lanes, id: ProtectedId) {
        let port = &mut self.ports[id.0 as usize];
        if port.quiet_until <= lanes.queue.now() {
            port.catch_up(lanes, &mut self.shared, id);
        }
    }

    #[inline]
    pub(crate) fn has_lazy_ports(&self) -> bool {
        !self.lazy.is_empty()
    }

    /// Prefetches what the lazy ports of a switch need when its turn is `ahead` turns away. Each step uses what the
    /// one before has brought.
    pub(crate) fn prefetch(&self, lanes: &Lanes, switch: SwitchId, ahead: usize) {
        for id in self.lazy.get(switch.index()).into_iter().flatten() {
            let port = self.port(*id);
            match ahead {
                4 => port.prefetch_state(),
                3 => {
                    port.egress.prefetch();
                    lanes.prefetch_lazy_port(port.lane());
                }
                2 => {
                    port.prefetch_end();
                    port.egress.prefetch_queue();
                    lanes.prefetch_entries(port.lane());
                }
                _ => {
                    port.prefetch_slots();
                    lanes.prefetch_stored(port.lane().reverse());
                }
            }
        }
    }

    /// Handles the rest of a window at all ports of a switch. What is later gets an event.
    pub(crate) fn end_window(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        let Some(ports) = self.lazy.get(switch.index()).filter(|ports| !ports.is_empty()) else { return };
        let window_end = lanes.queue.window_end();
        if now < window_end {
            lanes.queue.arm_by(lanes.sources.switch_timer(switch), window_end);
            return;
        }
        for id in ports {
            let port = &mut self.ports[id.0 as usize];
            port.catch_up(lanes, &mut self.shared, *id);
            port.leave_window(lanes, now);
        }
    }

    /// Sends the next frame if the wire is free, and processes the decisions of the link end. The end of the window
    /// schedules the next look.
    #[inline]
    pub(super) fn send_lazily(&mut self, lanes: &mut Lanes, now: Time, id: ProtectedId, switch: SwitchId) {
        let port = &mut self.ports[id.0 as usize];
        port.step(lanes, &mut self.shared, now, id);
        port.expect_look(lanes, now, switch);
    }

    /// Sends a frame that the switch hands to a lazy port if nothing precedes it. Returns whether it was sent;
    /// otherwise it must be queued.
    #[inline]
    pub(crate) fn send_past_queue(
        &mut self,
        lanes: &mut Lanes,
        now: Time,
        id: ProtectedId,
        frame: QueuedFrame,
        class: u8,
    ) -> bool {
        let port = &mut self.ports[id.0 as usize];
        let Some(switch) = port.lazy else { return false };
        let is_free = lanes.is_free(now, port.lane());
        if !is_free || !port.egress.may_bypass(now, class, frame.len()) {
            return false;
        }
        let is_sent = port.send_new(lanes, &mut self.shared, now, id, (frame, class));
        if is_sent {
            port.expect_look(lanes, now, switch);
        }
        is_sent
    }
}

impl ProtectedPort {
    /// Returns the lane that the port sends over.
    #[inline]
    fn lane(&self) -> LaneId {
        self.link_end.lane()
    }

    #[inline]
    fn prefetch_state(&self) {
        prefetch(&self.quiet_until);
        prefetch_bytes(&self.link_end.state, 0..size_of::<EndState>());
    }

    #[inline]
    fn prefetch_end(&self) {
        if let LinkProtocol::Link(end) = &self.link_end.protocol {
            for bytes in Endpoint::<FrameId>::HOT_BYTES {
                prefetch_bytes(end, bytes);
            }
        }
    }

    #[inline]
    fn prefetch_slots(&self) {
        if let LinkProtocol::Link(end) = &self.link_end.protocol {
            end.next_addresses().for_each(prefetch_address);
        }
    }

    /// Sends a frame as a new one, if nothing precedes it.
    #[inline]
    fn send_new(
        &mut self,
        lanes: &mut Lanes,
        shared: &mut Shared,
        now: Time,
        port: ProtectedId,
        (frame, class): (QueuedFrame, u8),
    ) -> bool {
        let Self { egress, link_end: LinkEnd { protocol, state }, .. } = self;
        let LinkProtocol::Link(end) = protocol else { return false };
        let Some(header) = end.poll_new(now, state.queue_head(class, frame.len())) else { return false };
        egress.bypass(now, frame, class);
        let mut cx = EndContext { now, port, lanes, egress, state, shared, head: None };
        retransmission::send_new(end, &mut cx, frame, header);
        self.dispose(lanes, shared, port);
        self.await_wire(lanes, now);
        true
    }

    /// Makes the next departure due, and schedules a look at the end of the window.
    #[inline]
    fn expect_look(&mut self, lanes: &mut Lanes, now: Time, switch: SwitchId) {
        if self.is_waiting {
            self.quiet_until = self.quiet_until.min(lanes.busy_until(self.lane()));
        }
        if self.egress.may_be_paused() {
            self.arm(lanes, now, Time::MAX);
        }
        lanes.queue.arm_by(lanes.sources.switch_timer(switch), lanes.queue.window_end());
    }

    fn catch_up(&mut self, lanes: &mut Lanes, shared: &mut Shared, id: ProtectedId) {
        let (lane, now) = (self.lane(), lanes.queue.now());
        let delivered = shared.delivered.len();
        // The end of a pause that a step meets; others have events.
        let mut resumed = Time::MAX;
        let mut arrived = 0;
        let next = loop {
            match self.exchange_controls(lanes, now, &mut arrived) {
                ExchangeEnd::Later(next) => break next,
                ExchangeEnd::Draw(at, header) => {
                    lanes.transmit_control(at, lane, header);
                    self.await_wire(lanes, at);
                }
                ExchangeEnd::Step(at) => self.step(lanes, shared, at, id),
                ExchangeEnd::Unusual => match self.handle_next(lanes, shared, id, resumed, &mut arrived) {
                    NextStep::Later(next) => break next,
                    NextStep::Done(at) => resumed = self.resumes(at),
                },
            }
        };
        self.dispose(lanes, shared, id);
        // Frames that are sent to the port from now on arrive after the window.
        self.quiet_until = next.min(lanes.queue.window_end());
        lanes.count_controls(lane.reverse(), arrived);
        debug_assert!(shared.delivered.len() == delivered, "a lazy port delivers nothing");
        debug_assert!(
            {
                let due = self.link_end.next_due(now);
                due > lanes.queue.window_end() || due >= self.armed
            },
            "timers of a window have events"
        );
    }

    /// Handles arrivals and departures of control frames before `now` while nothing else can leave.
    fn exchange_controls(&mut self, lanes: &mut Lanes, now: Time, arrived: &mut u64) -> ExchangeEnd {
        let LinkEnd { protocol, state } = &mut self.link_end;
        let LinkProtocol::Link(end) = protocol else { return ExchangeEnd::Unusual };
        if self.egress.is_occupied() || end.is_urgent() {
            return ExchangeEnd::Unusual;
        }
        let Some(mut exchange) = lanes.control_exchange(state.lane) else { return ExchangeEnd::Unusual };
        loop {
            let arrival = exchange.next_arrival();
            let leaves = if self.is_waiting { exchange.busy_until() } else { Time::MAX };
            let arrives = arrival.map_or(Time::MAX, |(at, _)| at);
            let at = leaves.min(arrives);
            if at > now {
                return ExchangeEnd::Later(at);
            }
            if at == now || arrives == leaves {
                return ExchangeEnd::Unusual;
            }
            if arrives < leaves
                && let Some((_, header)) = arrival
            {
                exchange.remove_arrival();
                *arrived += 1;
                state.costs.discarded += 1;
                end.on_control(at, header.as_control());
                if end.is_urgent() {
                    return ExchangeEnd::Step(at);
                }
            }
            if exchange.busy_until() <= at {
                if let Some(header) = end.poll_control() {
                    state.costs.own.add(u64::from(MIN_FRAME_BYTES));
                    let header = PackedHeader::control(header);
                    if !exchange.send(at, header) {
                        return ExchangeEnd::Draw(at, header);
                    }
                } else if end.has_pending() {
                    return ExchangeEnd::Step(at);
                }
            }
            self.is_waiting = exchange.busy_until() > at && end.has_pending();
        }
    }

    /// Handles the next arrival of a control frame or departure of any frame, unless it comes after the event being
    /// handled.
    fn handle_next(
        &mut self,
        lanes: &mut Lanes,
        shared: &mut Shared,
        id: ProtectedId,
        resumed: Time,
        arrived: &mut u64,
    ) -> NextStep {
        let (lane, now) = (self.lane(), lanes.queue.now());
        let (leaving, arriving) = (lanes.sources.port_free(lane), EventSource(lane.reverse().0));
        let control = lanes.next_control(lane.reverse());
        let free_at = if self.is_waiting { lanes.busy_until(lane) } else { Time::MAX };
        let (leaves, arrives) = (free_at.min(resumed), control.map_or(Time::MAX, |(at, _)| at));
        let is_arrival = arrives < leaves
            || arrives == leaves && lanes.queue.is_before((arrives, arriving), (leaves, leaving));
        let (at, source) = if is_arrival { (arrives, arriving) } else { (leaves, leaving) };
        // At the end of a window a control frame may have an event.
        let is_current = || is_arrival && lanes.queue.is_current(source);
        if at > now || at == now && !is_current() && !lanes.queue.is_before_current(source, at) {
            return NextStep::Later(at);
        }
        if is_arrival && let Some((_, header)) = control {
            lanes.remove_control(lane.reverse());
            *arrived += 1;
            self.link_end.on_control(at, header);
        }
        self.step(lanes, shared, at, id);
        NextStep::Done(at)
    }

    /// Gives what happens after a window an event.
    fn leave_window(&mut self, lanes: &mut Lanes, now: Time) {
        let lane = self.lane();
        if std::mem::take(&mut self.is_waiting) {
            lanes.queue.arm_by(lanes.sources.port_free(lane), lanes.busy_until(lane));
        }
        self.arm(lanes, now, Time::MAX);
        match lanes.next_control(lane.reverse()) {
            // It arrives at this instant and comes after this event.
            Some((at, _)) if at == now => lanes.queue.arm_by(EventSource(lane.reverse().0), at),
            Some((at, _)) => {
                lanes.queue.arm_by(lanes.sources.switch_timer_of(lanes.receiver(lane.reverse()).0), at);
            }
            None => {}
        }
    }

    /// Sends the next frame if the wire is free, and processes the decisions of the link end.
    fn step(&mut self, lanes: &mut Lanes, shared: &mut Shared, now: Time, port: ProtectedId) {
        let Self { egress, link_end: LinkEnd { protocol, state }, .. } = self;
        let LinkProtocol::Link(end) = protocol else { return };
        if lanes.is_free(now, state.lane) && (egress.is_occupied() || end.has_pending()) {
            if !egress.is_occupied()
                && !end.is_urgent()
                && let Some(header) = end.poll_control()
            {
                retransmission::send_control(lanes, state, now, PackedHeader::control(header));
            } else {
                let mut cx = EndContext { now, port, lanes, egress, state, shared, head: None };
                retransmission::send(end, &mut cx);
            }
        }
        self.dispose(lanes, shared, port);
        self.await_wire(lanes, now);
    }

    /// Processes the decisions of the link end.
    #[inline]
    fn dispose(&mut self, lanes: &mut Lanes, shared: &mut Shared, port: ProtectedId) {
        let Self { egress, link_end: LinkEnd { protocol, state }, .. } = self;
        let LinkProtocol::Link(end) = protocol else { return };
        if end.has_disposals() {
            let now = lanes.queue.now();
            retransmission::dispose(
                end,
                &mut EndContext { now, port, lanes, egress, state, shared, head: None },
            );
        }
    }

    /// Notes whether something leaves when the wire becomes free.
    #[inline]
    fn await_wire(&mut self, lanes: &Lanes, now: Time) {
        let LinkProtocol::Link(end) = &self.link_end.protocol else { return };
        let is_pending = self.egress.is_occupied() || end.has_pending();
        self.is_waiting = is_pending && !lanes.is_free(now, self.lane());
    }
}

/// Why an exchange of control frames ends.
enum ExchangeEnd {
    /// Nothing happens before this time, which is after the event being handled.
    Later(Time),
    /// The impairments of the lane decide the fate of a control frame that leaves at this time.
    Draw(Time, PackedHeader),
    /// Something else may leave at this time.
    Step(Time),
    /// Something else may leave, or events tie.
    Unusual,
}

/// What a port has done.
enum NextStep {
    /// Nothing: the next step is at this time, after the event being handled.
    Later(Time),
    /// A step at this time.
    Done(Time),
}
