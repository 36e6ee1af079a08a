//! Segments of TCP, and timers of delayed acknowledgements.

use std::cmp::Reverse;

use wiremend_proto::Packet;
use wiremend_proto::tcp::Segment;
use wiremend_units::{Span, Time};

use super::nic::SenderId;
use super::processor::Arrival;
use super::{Context, Host};
use crate::frame::{Body, Frame};

impl Host {
    /// Handles an arriving segment.
    #[inline(never)]
    pub(super) fn on_segment(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        let latency = cx.net.transport.tcp.as_ref().map_or(Span::ZERO, |tcp| tcp.stack_latency);
        if latency == Span::ZERO && cx.net.transport.host_delay.is_none() {
            self.handle_segment(cx, frame);
            return;
        }
        self.defer(cx, latency, Arrival::Segment(*frame));
    }

    pub(super) fn handle_segment(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        let Body::Packet(packet @ Packet::Tcp(segment)) = &frame.body else {
            unreachable!("frames of TCP connections carry segments");
        };
        if packet.is_response() {
            self.on_other_packet(cx, frame, packet);
            return;
        }
        if frame.is_replica() {
            self.count_link_retransmission(frame, segment);
        }
        self.on_other_packet(cx, frame, packet);
        if let Some(slot) = self.responders.find(frame.src, segment.dest_qp()) {
            self.arm_ack_timer(cx, slot);
        }
    }

    /// Counts a segment that a link has retransmitted, if it was missing.
    #[cold]
    fn count_link_retransmission(&mut self, frame: &Frame, segment: &Segment) {
        let Some(slot) = self.responders.find(frame.src, segment.dest_qp()) else { return };
        let connection = self.responders.get_mut(slot);
        if connection.serial == frame.serial && !connection.responder.has_received(segment) {
            connection.link_retransmits = connection.link_retransmits.saturating_add(1);
        }
    }

    /// Schedules the timer of a responder: of a delayed acknowledgement, or of the data of a READ.
    pub(super) fn arm_ack_timer(&mut self, cx: &mut Context<'_>, slot: u32) {
        let connection = self.responders.get_mut(slot);
        if let Some(due) = connection.responder.next_timeout()
            && due < connection.timer_at
        {
            connection.timer_at = due;
            self.timers.push(Reverse((due, SenderId::responder(slot).0)));
            cx.lanes.queue.arm_by(cx.lanes.sources.timer(self.id), due);
        }
    }

    /// Handles the timer of a responder. It may be stale.
    pub(super) fn on_ack_timer(&mut self, cx: &mut Context<'_>, due: Time, slot: u32) {
        let connection = self.responders.get_mut(slot);
        if connection.timer_at != due {
            return;
        }
        connection.timer_at = Time::MAX;
        connection.responder.on_timeout(cx.now);
        if connection.responder.has_output() && !connection.queued {
            connection.queued = true;
            let (class, has_data) = (connection.class, connection.responder.has_read_responses());
            let ring = self.nic.ring(class);
            if has_data {
                ring.ready.push_back(SenderId::responder(slot));
            } else {
                ring.acks.push_back(slot);
            }
            self.try_send(cx);
        }
        self.arm_ack_timer(cx, slot);
    }
}
