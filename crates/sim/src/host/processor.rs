//! What has arrived at a host, and waits for its processor: segments of TCP for the stack, completions and messages of
//! RDMA for the application.

use std::collections::VecDeque;

use wiremend_proto::engine::Completion;
use wiremend_units::{HostId, Span, Time, stream_seed};

use super::{Context, Host};
use crate::frame::Frame;
use crate::network::purpose;

/// Arrivals with the times at which the processor reacts, in order.
#[derive(Default)]
pub(super) struct Processor {
    arrivals: VecDeque<(Time, Arrival)>,
    /// Number of delays drawn.
    draws: u64,
}

pub(super) enum Arrival {
    Segment(Frame),
    Completion { slot: u32, completion: Completion },
    Message { app: usize, from: HostId },
}

impl Host {
    /// Leaves an arrival to the processor, which reacts after `latency` and a drawn delay, or with an arrival that it
    /// has not reacted to yet.
    #[cold]
    pub(super) fn defer(&mut self, cx: &mut Context<'_>, latency: Span, arrival: Arrival) {
        let processor = self.processor.get_or_insert_default();
        let mut due = cx.now + latency;
        if let Some(delay) = &cx.net.transport.host_delay {
            due = match processor.arrivals.back() {
                Some((pending, _)) if *pending >= due => *pending,
                _ => {
                    processor.draws += 1;
                    let seed = cx.net.seed ^ u64::from(self.id.0) << 32;
                    due + delay.draw(stream_seed(seed, purpose::HOST_DELAY, processor.draws))
                }
            };
        }
        processor.arrivals.push_back((due, arrival));
        cx.lanes.queue.arm_by(cx.lanes.sources.timer(self.id), due);
    }

    /// Handles the arrivals to which the processor reacts now.
    pub(super) fn react(&mut self, cx: &mut Context<'_>) {
        while let Some(processor) = &mut self.processor
            && let Some((due, _)) = processor.arrivals.front()
        {
            if *due > cx.now {
                cx.lanes.queue.arm_by(cx.lanes.sources.timer(self.id), *due);
                return;
            }
            let Some((_, arrival)) = processor.arrivals.pop_front() else { return };
            match arrival {
                Arrival::Segment(frame) => self.handle_segment(cx, &frame),
                Arrival::Completion { slot, completion } => {
                    self.complete(cx, slot, completion);
                    if self.connections[slot as usize].is_open() {
                        self.update_connection(cx, slot);
                    }
                }
                Arrival::Message { app, from } => {
                    self.with_app(cx, app, |app, now, actions| app.on_receive(now, from, actions));
                }
            }
        }
    }
}
