//! Checks of frames in transit: loops, and demotion of frames out of lossless classes.

use wiremend_fabric::{Graph, Node};
use wiremend_measure::DeadlockCounts;
use wiremend_scenario::{Demotion, LoopAction, Loops};
use wiremend_units::{LaneId, NodeId, Span, SwitchId, Time, mix};

use crate::frame::{Body, Frame};

/// The transit checks of a partition's switches.
#[derive(Default)]
pub(crate) struct TransitChecks {
    demotion: Option<DemotionRule>,
    loops: Option<LoopDetector>,
    pub(crate) counts: DeadlockCounts,
}

/// Which frames lose their lossless class.
struct DemotionRule {
    ttl_below: u8,
    bounces: Option<u8>,
    class: u8,
    lossless: u8,
    /// Whether a lane leads away from the hosts, towards them, or neither; by lane.
    directions: Vec<LaneDirection>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LaneDirection {
    Up,
    Level,
    Down,
}

/// Detects loops by remembering the frames that switches have forwarded.
struct LoopDetector {
    /// By switch; allocated at the first frame.
    seen: Vec<Vec<SeenFrame>>,
    entries: usize,
    window: Span,
    drops: bool,
    repeats: Alarm,
    expiries: Alarm,
}

#[derive(Clone, Copy)]
struct SeenFrame {
    at: Time,
    tag: u32,
    /// 0: the entry is empty.
    ttl: u8,
}

/// An alarm after `threshold` events within a time, by switch.
struct Alarm {
    threshold: u32,
    counts: Vec<(Time, u32)>,
}

/// Whether a frame passes a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransitVerdict {
    Pass,
    Drop,
}

impl TransitChecks {
    /// Returns `None` if no check is configured.
    pub(crate) fn new(
        graph: &Graph,
        demotion: Option<(&Demotion, u8)>,
        loops: Option<&Loops>,
    ) -> Option<Self> {
        let rule = |(demotion, lossless): (&Demotion, u8)| DemotionRule {
            ttl_below: demotion.ttl_below.map_or(0, wiremend_scenario::Within::get),
            bounces: demotion.bounces.map(wiremend_scenario::Within::get),
            class: demotion.class.get(),
            lossless,
            directions: directions(graph),
        };
        let switches = graph.switch_count() as usize;
        (demotion.is_some() || loops.is_some()).then(|| Self {
            demotion: demotion.map(rule),
            loops: loops.map(|loops| LoopDetector::new(loops, switches)),
            counts: DeadlockCounts::default(),
        })
    }

    /// Checks a frame that has arrived at a switch with hops left.
    pub(crate) fn on_frame(&mut self, now: Time, switch: SwitchId, frame: &Frame) -> TransitVerdict {
        let Some(detector) = &mut self.loops else { return TransitVerdict::Pass };
        if !matches!(frame.body, Body::Packet(_) | Body::Raw(_)) || !detector.is_repeated(now, switch, frame)
        {
            return TransitVerdict::Pass;
        }
        self.counts.returned_frames += 1;
        if detector.repeats.count(now, switch, detector.window) {
            self.counts.return_alarm_ns.get_or_insert(now.as_ns());
        }
        if !detector.drops {
            return TransitVerdict::Pass;
        }
        self.counts.loop_dropped_frames += 1;
        TransitVerdict::Drop
    }

    /// Counts bounces of a frame that came over one lane and leaves over another, and demotes it if it has
    /// too many.
    pub(crate) fn on_forward(&mut self, frame: &mut Frame, came: LaneId, out: LaneId) {
        let Some(rule) = &self.demotion else { return };
        if rule.directions[came.index()] != LaneDirection::Up
            && rule.directions[out.index()] != LaneDirection::Down
        {
            frame.bounces = frame.bounces.saturating_add(1);
        }
        let bounced = rule.bounces.is_some_and(|bounces| frame.bounces > bounces);
        if (frame.ttl < rule.ttl_below || bounced) && rule.lossless >> frame.class() & 1 != 0 {
            frame.set_class(rule.class);
            self.counts.demoted_frames += 1;
        }
    }

    /// Counts a frame whose TTL has expired.
    pub(crate) fn on_expiry(&mut self, now: Time, switch: SwitchId) {
        if let Some(detector) = &mut self.loops
            && detector.expiries.count(now, switch, detector.window)
        {
            self.counts.ttl_alarm_ns.get_or_insert(now.as_ns());
        }
    }
}

impl LoopDetector {
    fn new(table: &Loops, switches: usize) -> Self {
        let alarm = |threshold: u32| Alarm { threshold, counts: vec![(Time::ZERO, 0); switches] };
        Self {
            seen: vec![Vec::new(); switches],
            entries: table.entries.get() as usize,
            window: table.window,
            drops: table.action == LoopAction::Drop,
            repeats: alarm(table.repeats.get()),
            expiries: alarm(table.expiries.get()),
        }
    }

    /// Returns whether the switch has forwarded the frame before, with more hops left. Stores the frame in
    /// place of another.
    fn is_repeated(&mut self, now: Time, switch: SwitchId, frame: &Frame) -> bool {
        let seen = &mut self.seen[switch.index()];
        if seen.is_empty() {
            seen.resize(self.entries, SeenFrame { at: Time::ZERO, tag: 0, ttl: 0 });
        }
        let ends = u64::from(frame.src.0) << 32 | u64::from(frame.dst.0);
        let print = mix(mix(ends) ^ u64::from(frame.ip_id) << 16 ^ u64::from(frame.entropy));
        // The hash depends on the switch: two frames that share an entry in all switches would hide each
        // other forever.
        let print = mix(print ^ u64::from(switch.0) << 32);
        let place = ((print >> 32) * self.entries as u64) >> 32;
        let new = SeenFrame { at: now, tag: print as u32, ttl: frame.ttl };
        let old = std::mem::replace(&mut seen[place as usize], new);
        old.tag == new.tag && old.ttl > new.ttl && now.since(old.at) <= self.window
    }
}

impl Alarm {
    /// Counts an event. Returns whether the threshold is reached since the window began.
    fn count(&mut self, now: Time, switch: SwitchId, window: Span) -> bool {
        let (since, count) = &mut self.counts[switch.index()];
        if now.since(*since) > window {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count >= self.threshold
    }
}

/// Returns the direction of each lane. The tier of a node is its distance to the nearest host in hops.
fn directions(graph: &Graph) -> Vec<LaneDirection> {
    let mut tiers = vec![u32::MAX; graph.node_count() as usize];
    let mut level: Vec<NodeId> = graph.hosts().map(|host| graph.host_node(host)).collect();
    for tier in 0.. {
        level.retain(|node| tiers[node.index()] == u32::MAX);
        if level.is_empty() {
            break;
        }
        for node in &level {
            tiers[node.index()] = tier;
        }
        let around = |node: &NodeId| graph.ports(*node).iter().map(|lane| graph.lane_to(*lane));
        level =
            level.iter().flat_map(around).filter(|to| matches!(graph.node(*to), Node::Switch(_))).collect();
        level.sort_unstable();
        level.dedup();
    }
    let direction = |lane: LaneId| {
        let (from, to) = (tiers[graph.lane_from(lane).index()], tiers[graph.lane_to(lane).index()]);
        match to.cmp(&from) {
            std::cmp::Ordering::Greater => LaneDirection::Up,
            std::cmp::Ordering::Equal => LaneDirection::Level,
            std::cmp::Ordering::Less => LaneDirection::Down,
        }
    };
    graph.lanes().map(direction).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_frame_with_a_lower_ttl_is_a_repeat() {
        let mut detector = LoopDetector::new(&Loops::default(), 1);
        let at = Time::from_ns;
        let frame = Frame { ttl: 60, ip_id: 7, ..Frame::blank() };
        let switch = SwitchId(0);
        assert!(!detector.is_repeated(at(1), switch, &frame));
        assert!(!detector.is_repeated(at(2), switch, &frame), "the same TTL: another copy on the same path");
        assert!(detector.is_repeated(at(3), switch, &Frame { ttl: 58, ..frame }));
        assert!(!detector.is_repeated(at(4), switch, &Frame { ttl: 56, ip_id: 8, ..frame }));
        let late = at(3) + Span::from_ms(11);
        assert!(!detector.is_repeated(late, switch, &Frame { ttl: 56, ..frame }), "IP ids wrap around");
    }

    #[test]
    fn an_alarm_needs_its_threshold_within_the_window() {
        let mut alarm = Alarm { threshold: 3, counts: vec![(Time::ZERO, 0)] };
        let (window, switch) = (Span::from_us(1), SwitchId(0));
        let times = [0, 10, 2_000, 2_100, 2_200];
        let alarms = times.map(|ns| alarm.count(Time::from_ns(ns), switch, window));
        assert_eq!(alarms, [false, false, false, false, true]);
    }
}
