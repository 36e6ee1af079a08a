//! Samples of single flows over time.

use std::collections::BTreeSet;

use wiremend_measure::{FlowRow, FlowSample};
use wiremend_units::{FlowId, HostId, Time};

/// The flows of a partition that are sampled.
#[derive(Clone, Default)]
pub(crate) struct FlowWatch {
    wanted: WantedFlows,
    open: Vec<WatchedFlow>,
    /// Samples since the last collection.
    pub(crate) samples: Vec<FlowSample>,
}

#[derive(Clone)]
pub(crate) enum WantedFlows {
    /// The first flows of each workload.
    First(u64),
    Listed(BTreeSet<u64>),
}

impl Default for WantedFlows {
    fn default() -> Self {
        Self::Listed(BTreeSet::new())
    }
}

/// An open flow.
#[derive(Clone, Copy)]
pub(crate) struct WatchedFlow {
    pub(crate) host: HostId,
    /// Slot of its connection.
    pub(crate) slot: u32,
    /// Number of its message on the connection.
    message: u64,
    flow: FlowId,
    /// Payload bytes that are not sent.
    unsent: u64,
    last: Time,
    counts: SentBytes,
}

/// Payload bytes that a connection has sent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SentBytes {
    pub(crate) new: u64,
    pub(crate) again: u64,
}

/// What a connection sends and may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SendingState {
    pub(crate) sent: SentBytes,
    pub(crate) rate_bps: Option<u64>,
    pub(crate) window_bytes: Option<u64>,
}

/// A posted message of a flow.
#[derive(Clone, Copy)]
pub(crate) struct PostedFlow {
    pub(crate) host: HostId,
    pub(crate) slot: u32,
    pub(crate) message: u64,
    pub(crate) flow: FlowId,
    pub(crate) bytes: u32,
}

impl FlowWatch {
    pub(crate) fn new(wanted: WantedFlows) -> Self {
        Self { wanted, ..Self::default() }
    }

    pub(crate) fn on_post(&mut self, now: Time, posted: PostedFlow, sent: SentBytes) {
        let PostedFlow { host, slot, message, flow, bytes } = posted;
        let is_wanted = match &self.wanted {
            WantedFlows::First(count) => flow.0 % FlowRow::PER_WORKLOAD < *count,
            WantedFlows::Listed(flows) => flows.contains(&flow.0),
        };
        if is_wanted {
            let unsent = u64::from(bytes);
            self.open.push(WatchedFlow { host, slot, message, flow, unsent, last: now, counts: sent });
        }
    }

    /// Takes the last sample of a flow whose message is complete or has failed.
    pub(crate) fn on_completion(
        &mut self,
        now: Time,
        (host, slot, message): (HostId, u32, u64),
        state: impl FnOnce() -> SendingState,
    ) {
        let is_it = |open: &WatchedFlow| open.host == host && open.slot == slot && open.message == message;
        if let Some(place) = self.open.iter().position(is_it) {
            let mut flow = self.open.remove(place);
            self.samples.extend(flow.sample(now, state()));
        }
    }

    /// Takes a sample of every open flow.
    pub(crate) fn sample(&mut self, now: Time, state: impl Fn(&WatchedFlow) -> SendingState) {
        for flow in &mut self.open {
            let state = state(flow);
            self.samples.extend(flow.sample(now, state));
        }
    }
}

impl WatchedFlow {
    /// Returns a sample, unless no time has passed since the last one.
    fn sample(&mut self, now: Time, state: SendingState) -> Option<FlowSample> {
        let SendingState { sent, rate_bps, window_bytes } = state;
        let span = now.since(self.last);
        if span.as_ps() == 0 {
            return None;
        }
        // Full packets are counted, and the last one may be shorter.
        let new = sent.new.saturating_sub(self.counts.new).min(self.unsent);
        let again = sent.again.saturating_sub(self.counts.again);
        self.unsent -= new;
        (self.last, self.counts) = (now, sent);
        Some(FlowSample {
            time_ps: now.as_ps(),
            flow: self.flow.0,
            span_ps: span.as_ps(),
            sent_bytes: new,
            retransmitted_bytes: again,
            rate_bps,
            window_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(flow: u64, message: u64) -> PostedFlow {
        PostedFlow { host: HostId(1), slot: 3, message, flow: FlowId(flow), bytes: 2_500 }
    }

    fn state(new: u64) -> SendingState {
        SendingState { sent: SentBytes { new, again: 0 }, rate_bps: None, window_bytes: None }
    }

    #[test]
    fn only_wanted_flows_are_watched() {
        let mut first = FlowWatch::new(WantedFlows::First(2));
        let mut listed = FlowWatch::new(WantedFlows::Listed([7].into()));
        for flow in [0, 1, 2, 7, FlowRow::PER_WORKLOAD, FlowRow::PER_WORKLOAD + 2] {
            first.on_post(Time::ZERO, posted(flow, flow), SentBytes::default());
            listed.on_post(Time::ZERO, posted(flow, flow), SentBytes::default());
        }
        let flows = |watch: &FlowWatch| watch.open.iter().map(|open| open.flow.0).collect::<Vec<_>>();
        assert_eq!(flows(&first), [0, 1, FlowRow::PER_WORKLOAD]);
        assert_eq!(flows(&listed), [7]);
    }

    #[test]
    fn samples_add_up_to_the_flow() {
        let mut watch = FlowWatch::new(WantedFlows::First(1));
        watch.on_post(Time::from_ns(10), posted(0, 4), SentBytes { new: 5_000, again: 9 });
        watch.sample(Time::from_ns(20), |_| state(6_000));
        watch.sample(Time::from_ns(20), |_| state(6_000));
        watch.on_completion(Time::from_ns(25), (HostId(1), 3, 5), || unreachable!("another message"));
        watch.on_completion(Time::from_ns(30), (HostId(1), 3, 4), || state(8_000));
        let found: Vec<_> =
            watch.samples.iter().map(|one| (one.time_ps, one.span_ps, one.sent_bytes)).collect();
        assert_eq!(found, [(20_000, 10_000, 1_000), (30_000, 10_000, 1_500)]);
        assert!(watch.open.is_empty());
    }
}
