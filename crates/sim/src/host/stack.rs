//! Segments of TCP connections: they wait for the host's stack, and their acknowledgements for a timer.

use std::cmp::Reverse;
use std::collections::VecDeque;

use wiremend_proto::Packet;
use wiremend_proto::tcp::Segment;
use wiremend_units::{Span, Time};

use super::nic::Sender;
use super::{Context, Host};
use crate::frame::{Body, Frame};

/// Frames that have arrived and are not handled yet, by when they are. All take the same time, so that they stay in order.
#[derive(Default)]
pub(super) struct Stack {
    frames: VecDeque<(Time, Frame)>,
}

impl Host {
    /// A segment has arrived.
    #[inline(never)]
    pub(super) fn on_segment(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        let latency = cx.net.transport.tcp.as_ref().map_or(Span::ZERO, |tcp| tcp.stack_latency);
        if latency == Span::ZERO {
            self.handle_segment(cx, frame);
            return;
        }
        let due = cx.now + latency;
        self.stack.get_or_insert_default().frames.push_back((due, *frame));
        cx.wires.queue.arm_by(cx.wires.sources.timer(self.id), due);
    }

    /// Segments whose time has come.
    pub(super) fn work_stack(&mut self, cx: &mut Context<'_>) {
        loop {
            let Some(stack) = &mut self.stack else { return };
            match stack.frames.front() {
                Some((due, _)) if *due <= cx.now => {}
                Some((due, _)) => {
                    cx.wires.queue.arm_by(cx.wires.sources.timer(self.id), *due);
                    return;
                }
                None => return,
            }
            let Some((_, frame)) = stack.frames.pop_front() else { return };
            self.handle_segment(cx, &frame);
        }
    }

    fn handle_segment(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        let Body::Packet(packet @ Packet::Tcp(segment)) = &frame.body else {
            unreachable!("frames of TCP connections carry segments");
        };
        if packet.is_response() {
            self.on_other(cx, frame, packet);
            return;
        }
        if frame.is_replica() {
            self.note_mended(frame, segment);
        }
        self.on_other(cx, frame, packet);
        if let Some(slot) = self.contexts.find(frame.src, segment.dest_qp()) {
            self.note_answer(cx, slot);
        }
    }

    /// A segment comes as a link has sent it again, and was missing.
    #[cold]
    fn note_mended(&mut self, frame: &Frame, segment: &Segment) {
        let Some(slot) = self.contexts.find(frame.src, segment.dest_qp()) else { return };
        let context = self.contexts.get_mut(slot);
        if context.serial == frame.serial && !context.responder.has_all_of(segment) {
            context.mended = context.mended.saturating_add(1);
        }
    }

    /// Sees to it that a receiver which keeps an acknowledgement back is looked at in time, or before.
    fn note_answer(&mut self, cx: &mut Context<'_>, slot: u32) {
        let context = self.contexts.get_mut(slot);
        if let Some(due) = context.responder.next_timeout()
            && due < context.timer_at
        {
            context.timer_at = due;
            self.timers.push(Reverse((due, Sender::responder(slot).0)));
            cx.wires.queue.arm_by(cx.wires.sources.timer(self.id), due);
        }
    }

    /// The timer of a receiver is due, or was when it was set.
    pub(super) fn on_answer_due(&mut self, cx: &mut Context<'_>, due: Time, slot: u32) {
        let context = self.contexts.get_mut(slot);
        if context.timer_at != due {
            return;
        }
        context.timer_at = Time::MAX;
        context.responder.on_timeout(cx.now);
        if context.responder.has_output() && !context.queued {
            context.queued = true;
            let class = context.class;
            self.nic.ring(class).acks.push_back(slot);
            self.kick(cx);
        }
        self.note_answer(cx, slot);
    }
}
