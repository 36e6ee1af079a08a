//! What a switch looks for in frames on their way through: that they go round.

use wiremend_fabric::{Graph, Node};
use wiremend_measure::Deadlocks;
use wiremend_scenario::{Demotion, LoopAction, Loops};
use wiremend_units::{LaneId, NodeId, Span, SwitchId, Time, mix};

use crate::frame::{Body, Frame};

/// What the switches of a part look for.
#[derive(Default)]
pub(crate) struct Passage {
    demotion: Option<Rule>,
    loops: Option<Memory>,
    pub(crate) counts: Deadlocks,
}

/// Which frames lose their lossless class.
struct Rule {
    ttl_below: u8,
    bounces: Option<u8>,
    class: u8,
    lossless: u8,
    /// Whether a lane leads away from the hosts, towards them, or neither; by lane.
    slopes: Vec<Slope>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slope {
    Up,
    Level,
    Down,
}

/// Frames that switches have seen.
struct Memory {
    /// By switch; made when the first frame comes.
    seen: Vec<Vec<Seen>>,
    entries: usize,
    window: Span,
    drops: bool,
    repeats: Alarm,
    expiries: Alarm,
}

#[derive(Clone, Copy)]
struct Seen {
    at: Time,
    tag: u32,
    /// 0: nothing was seen here.
    ttl: u8,
}

/// So many within a time, by switch.
struct Alarm {
    many: u32,
    counts: Vec<(Time, u32)>,
}

/// What is to become of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Pass,
    Drop,
}

impl Passage {
    /// None if there is nothing to look for.
    pub(crate) fn new(
        graph: &Graph,
        demotion: Option<(&Demotion, u8)>,
        loops: Option<&Loops>,
    ) -> Option<Self> {
        let rule = |(demotion, lossless): (&Demotion, u8)| Rule {
            ttl_below: demotion.ttl_below.map_or(0, wiremend_scenario::Within::get),
            bounces: demotion.bounces.map(wiremend_scenario::Within::get),
            class: demotion.class.get(),
            lossless,
            slopes: slopes(graph),
        };
        let switches = graph.switch_count() as usize;
        (demotion.is_some() || loops.is_some()).then(|| Self {
            demotion: demotion.map(rule),
            loops: loops.map(|loops| Memory::new(loops, switches)),
            counts: Deadlocks::default(),
        })
    }

    /// A frame has come to a switch and has hops left.
    pub(crate) fn on_frame(&mut self, now: Time, switch: SwitchId, frame: &Frame) -> Verdict {
        let Some(memory) = &mut self.loops else { return Verdict::Pass };
        if !matches!(frame.body, Body::Packet(_) | Body::Raw(_)) || !memory.is_repeated(now, switch, frame) {
            return Verdict::Pass;
        }
        self.counts.repeated_frames += 1;
        if memory.repeats.count(now, switch, memory.window) {
            self.counts.repeat_alarm_ns.get_or_insert(now.as_ns());
        }
        if !memory.drops {
            return Verdict::Pass;
        }
        self.counts.looped_frames += 1;
        Verdict::Drop
    }

    /// A frame leaves a switch: it came over one lane and goes over another.
    pub(crate) fn on_way(&mut self, frame: &mut Frame, came: LaneId, out: LaneId) {
        let Some(rule) = &self.demotion else { return };
        if rule.slopes[came.index()] != Slope::Up && rule.slopes[out.index()] != Slope::Down {
            frame.bounces = frame.bounces.saturating_add(1);
        }
        let bounced = rule.bounces.is_some_and(|bounces| frame.bounces > bounces);
        if (frame.ttl < rule.ttl_below || bounced) && rule.lossless >> frame.class() & 1 != 0 {
            frame.set_class(rule.class);
            self.counts.demoted_frames += 1;
        }
    }

    /// A frame's hops are used up.
    pub(crate) fn on_expiry(&mut self, now: Time, switch: SwitchId) {
        if let Some(memory) = &mut self.loops
            && memory.expiries.count(now, switch, memory.window)
        {
            self.counts.expiry_alarm_ns.get_or_insert(now.as_ns());
        }
    }
}

impl Memory {
    fn new(table: &Loops, switches: usize) -> Self {
        let alarm = |many: u32| Alarm { many, counts: vec![(Time::ZERO, 0); switches] };
        Self {
            seen: vec![Vec::new(); switches],
            entries: table.entries.get() as usize,
            window: table.window,
            drops: table.action == LoopAction::Drop,
            repeats: alarm(table.repeats.get()),
            expiries: alarm(table.expiries.get()),
        }
    }

    /// Whether a frame was here before, with more hops left. It takes the place of another.
    fn is_repeated(&mut self, now: Time, switch: SwitchId, frame: &Frame) -> bool {
        let seen = &mut self.seen[switch.index()];
        if seen.is_empty() {
            seen.resize(self.entries, Seen { at: Time::ZERO, tag: 0, ttl: 0 });
        }
        let ends = u64::from(frame.src.0) << 32 | u64::from(frame.dst.0);
        let print = mix(mix(ends) ^ u64::from(frame.ip_id) << 16 ^ u64::from(frame.entropy));
        // Two frames that share a place in one switch must not share it in all, or they would hide each other for ever.
        let print = mix(print ^ u64::from(switch.0) << 32);
        let place = ((print >> 32) * self.entries as u64) >> 32;
        let new = Seen { at: now, tag: print as u32, ttl: frame.ttl };
        let old = std::mem::replace(&mut seen[place as usize], new);
        old.tag == new.tag && old.ttl > new.ttl && now.since(old.at) <= self.window
    }
}

impl Alarm {
    /// One more. Whether there are many since the window began.
    fn count(&mut self, now: Time, switch: SwitchId, window: Span) -> bool {
        let (since, count) = &mut self.counts[switch.index()];
        if now.since(*since) > window {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count >= self.many
    }
}

/// Which way each lane leads: tiers are hops to the nearest host.
fn slopes(graph: &Graph) -> Vec<Slope> {
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
    let slope = |lane: LaneId| {
        let (from, to) = (tiers[graph.lane_from(lane).index()], tiers[graph.lane_to(lane).index()]);
        match to.cmp(&from) {
            std::cmp::Ordering::Greater => Slope::Up,
            std::cmp::Ordering::Equal => Slope::Level,
            std::cmp::Ordering::Less => Slope::Down,
        }
    };
    graph.lanes().map(slope).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_frame_with_fewer_hops_left_was_here_before() {
        let mut memory = Memory::new(&Loops::default(), 1);
        let at = Time::from_ns;
        let frame = Frame { ttl: 60, ip_id: 7, ..Frame::blank() };
        let switch = SwitchId(0);
        assert!(!memory.is_repeated(at(1), switch, &frame));
        assert!(
            !memory.is_repeated(at(2), switch, &frame),
            "the same number of hops: another copy on the same way"
        );
        assert!(memory.is_repeated(at(3), switch, &Frame { ttl: 58, ..frame }));
        assert!(!memory.is_repeated(at(4), switch, &Frame { ttl: 56, ip_id: 8, ..frame }));
        let late = at(3) + Span::from_ms(11);
        assert!(!memory.is_repeated(late, switch, &Frame { ttl: 56, ..frame }), "numbers come round");
    }

    #[test]
    fn an_alarm_needs_many_within_its_window() {
        let mut alarm = Alarm { many: 3, counts: vec![(Time::ZERO, 0)] };
        let (window, switch) = (Span::from_us(1), SwitchId(0));
        let times = [0, 10, 2_000, 2_100, 2_200];
        let alarms = times.map(|ns| alarm.count(Time::from_ns(ns), switch, window));
        assert_eq!(alarms, [false, false, false, false, true]);
    }
}
