//! A drain plan as text, JSON and picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};
use wiremend_fabric::tiers::{Scope, Tiers};
use wiremend_fleet::CapacityCount;
use wiremend_fleet::plan::{CorruptionCost, DrainGroup, ScopeCapacity, format_timestamp};
use wiremend_report::pods::{LinkMark, Pod, PodLink, PodSwitch, Pods};
use wiremend_report::shell_quoted;
use wiremend_report::{Document, DocumentPart, human};
use wiremend_units::{LinkId, SwitchId};

use super::plan::{Plan, SCHEMA, capacity_json, duration_text, short, skipped_json};
use crate::args::VERSION;
use crate::terminal;

/// Maximum number of printed lines per label; JSON has all.
const SHOWN_MAX: usize = 12;
/// Maximum number of drawn pods.
const PODS_MAX: usize = 8;

/// Renders a plan.
pub(super) struct PlanReport<'a>(pub(super) &'a Plan<'a>);

impl PlanReport<'_> {
    fn tiers(&self) -> &Tiers {
        &self.0.fabric.tiers
    }

    fn drained(&self, drain: &DrainGroup) -> String {
        let names: Vec<_> = drain.links.iter().map(|link| self.tiers().link_name(*link)).collect();
        names.join(" with ")
    }

    /// Returns the labels with their texts.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let Plan { state, broken, advice, steps, age_s, count, skipped, .. } = self.0;
        let tiers = self.tiers();
        let mut lines = vec![(
            "State",
            format!(
                "of {}, {} old: {}; {} links down, {} draining, {} corrupting",
                format_timestamp(state.time_s),
                duration_text(*age_s),
                self.0.fabric.description(),
                state.down.len(),
                state.draining.len(),
                state.corrupting.len(),
            ),
        )];
        lines.push(("Constraint", self.constraint()));
        push(&mut lines, "Check", skipped.iter().map(ToString::to_string));
        let broken = broken.iter().map(|short| {
            let kept = "no link is drained that it needs";
            format!("{} has {}: {kept}", short.name(tiers), short.numbers(*count))
        });
        push(&mut lines, "Broken", broken);
        let drain =
            advice.drain.iter().map(|drain| format!("{}, loss {:e}", self.drained(drain), drain.loss));
        push(&mut lines, "Drain now", drain);
        if advice.drain.is_empty() {
            lines.push(("Drain now", "nothing".to_owned()));
        }
        let keep = advice.keep.iter().map(|kept| {
            let link = tiers.link_name(kept.corrupting.link);
            format!("{link}, loss {:e}: {}", kept.corrupting.loss, short(tiers, *count, &kept.because))
        });
        push(&mut lines, "Keep", keep);
        let then = steps.iter().filter(|step| !step.drain.is_empty()).map(|step| {
            let back: Vec<_> = step.returned.iter().map(|link| tiers.link_name(*link)).collect();
            let go: Vec<_> = step.drain.iter().map(|drain| self.drained(drain)).collect();
            format!("when {} is back, drain {}", back.join(" with "), go.join(", and "))
        });
        push(&mut lines, "Then", then);
        if advice.gap > 0.0 {
            let gap = format!("the search was cut off: the optimum removes at most {:e} more", advice.gap);
            lines.push(("Gap", gap));
        }
        lines.push(("Waiting", self.waiting()));
        lines
    }

    /// Says what must be kept.
    fn constraint(&self) -> String {
        let Plan { args, state, count, .. } = self.0;
        let share = human::percent(args.constraint);
        let mut text = match count {
            CapacityCount::Paths => {
                format!("every ToR keeps {share} % of its paths to the top tier, whatever their rates")
            }
            CapacityCount::Bandwidth => format!(
                "every ToR keeps {share} % of its bandwidth to the top tier when it sends alone, and every pod when all its ToRs send"
            ),
        };
        if self.0.capacities.iter().any(|capacity| matches!(capacity.scope, Scope::Domain(_))) {
            text.push_str(", and so do all pods together that share switches below the top tier");
        }
        let (known, given) = (self.tiers().constraints(), &state.constraints);
        let tors: BTreeSet<_> = known.tors.keys().chain(given.tors.keys()).collect();
        let pods: BTreeSet<_> = known.pods.keys().chain(given.pods.keys()).collect();
        match tors.len() + pods.len() {
            0 => {}
            1 => text.push_str("; one of them has a share of its own"),
            own => {
                let _ = write!(text, "; {own} of them have shares of their own");
            }
        }
        text
    }

    fn waiting(&self) -> String {
        let Plan { now, after, args, .. } = self.0;
        let cost_text = |cost: &CorruptionCost| {
            format!("{:.3e} ({} frames/h)", cost.penalty, rounded(cost.frames_per_s * 3600.0))
        };
        let mut text = format!(
            "the sum of loss ratios is {} now and {} after the drains, at a utilization of {} %",
            cost_text(now),
            cost_text(after),
            human::percent(args.load)
        );
        if after.penalty > 0.0 {
            let _ = write!(
                text,
                "; protection of the remaining links would reduce it to {:.3e} ({} frames/h) and cost {} of their capacity",
                after.protected_penalty,
                rounded(after.protected_frames_per_s * 3600.0),
                human::rate_bps(after.protected_bps)
            );
        }
        text
    }

    pub(super) fn text(&self) -> String {
        const INDENT: usize = 12;
        let width = terminal::stdout().width.saturating_sub(INDENT);
        let mut text = String::new();
        let mut last = "";
        for (label, line) in self.lines() {
            for (place, part) in wiremend_report::terminal::wrap(&line, width).lines().enumerate() {
                let label = if place == 0 && label != last { label } else { "" };
                let _ = writeln!(text, "{label:<INDENT$}{part}");
            }
            last = label;
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let Plan { state, broken, advice, steps, age_s, args, count, skipped, now, after, .. } = self.0;
        let tiers = self.tiers();
        let link = |link: LinkId| json!({ "link": link.0, "name": tiers.link_name(link) });
        let drains = |drains: &[DrainGroup]| -> Vec<Value> {
            let one = |drain: &DrainGroup| json!({ "links": drain.links.iter().map(|it| link(*it)).collect::<Vec<_>>(), "loss": drain.loss });
            drains.iter().map(one).collect()
        };
        let cost = |cost: &CorruptionCost| {
            json!({
                "penalty": cost.penalty, "frames_per_s": cost.frames_per_s,
                "protected_penalty": cost.protected_penalty,
                "protected_frames_per_s": cost.protected_frames_per_s,
                "protected_bps": cost.protected_bps,
            })
        };
        let keep = advice.keep.iter().map(|kept| {
            let mut value = link(kept.corrupting.link);
            value["loss"] = json!(kept.corrupting.loss);
            value["because"] = capacity_json(tiers, *count, &kept.because);
            value
        });
        let order = steps.iter().map(|step| {
            let returned: Vec<_> = step.returned.iter().map(|it| link(*it)).collect();
            json!({ "returned": returned, "drain": drains(&step.drain) })
        });
        json!({
            "schema": SCHEMA,
            "time": format_timestamp(state.time_s),
            "age_s": age_s,
            "constraint": args.constraint,
            "count": count.to_string(),
            "check": skipped_json(skipped),
            "broken": broken.iter().map(|short| capacity_json(tiers, *count, short)).collect::<Vec<_>>(),
            "drain": drains(&advice.drain),
            "keep": keep.collect::<Vec<_>>(),
            "order": order.collect::<Vec<_>>(),
            "gap": advice.gap,
            "cost": { "now": cost(now), "after": cost(after) },
        })
    }

    pub(super) fn page(&self) -> Document {
        let mut parts: Vec<DocumentPart> = Vec::new();
        for (label, line) in self.lines() {
            let text = format!("{label}: {line}");
            parts.push(if label == "Broken" || label == "Check" {
                DocumentPart::Warning(text)
            } else {
                DocumentPart::Text(text)
            });
        }
        parts.push(DocumentPart::Heading("Affected pods".to_owned()));
        parts.push(DocumentPart::Drawing(self.picture().svg()));
        Document {
            title: "Which links to drain".to_owned(),
            origin: format!("{} · wiremend {VERSION}", self.0.fabric.description()),
            parts,
            command: std::env::args().map(|word| shell_quoted(&word)).collect::<Vec<_>>().join(" "),
        }
    }

    /// Draws the pods with corrupting links, first those with links that must stay.
    pub(super) fn picture(&self) -> Pods {
        let tiers = self.tiers();
        let marks = self.marks();
        let pod_of = |link: &LinkId| tiers.pod(tiers.link(*link).lower);
        let kept =
            marks.iter().filter(|(_, mark)| **mark == LinkMark::Keep).filter_map(|(link, _)| pod_of(link));
        let broken = self.0.broken.iter().filter_map(|short| match short.scope {
            Scope::Tor(tor) | Scope::Domain(tor) => tiers.pod(tor),
            Scope::Pod(pod) => Some(pod),
        });
        let others = marks.keys().filter_map(pod_of);
        let (mut pods, mut seen) = (Vec::new(), BTreeSet::new());
        for pod in kept.chain(broken).chain(others) {
            if seen.insert(pod) {
                pods.push(pod);
            }
        }
        let left_out = pods.len().saturating_sub(PODS_MAX);
        let more = if left_out > 0 { format!(" ({left_out} more are not drawn)") } else { String::new() };
        Pods {
            title: format!("Pods with links that corrupt{more}"),
            description: "Switches of each pod in rows, ToRs below; links that corrupt are marked."
                .to_owned(),
            pods: self.drawn(&pods[..pods.len() - left_out], &marks),
        }
    }

    fn marks(&self) -> BTreeMap<LinkId, LinkMark> {
        let Plan { state, advice, .. } = self.0;
        let keep = advice.keep.iter().map(|kept| (kept.corrupting.link, LinkMark::Keep));
        let drain =
            advice.drain.iter().flat_map(|drain| drain.links.iter().map(|link| (*link, LinkMark::Drain)));
        state.out().map(|link| (link, LinkMark::Out)).chain(keep).chain(drain).collect()
    }

    fn drawn(&self, pods: &[u32], marks: &BTreeMap<LinkId, LinkMark>) -> Vec<Pod> {
        let tiers = self.tiers();
        let mut switches: Vec<Vec<SwitchId>> = vec![Vec::new(); pods.len()];
        for switch in (0..tiers.switch_count()).map(SwitchId) {
            if let Some(place) = pods.iter().position(|pod| tiers.pod(switch) == Some(*pod)) {
                switches[place].push(switch);
            }
        }
        let of_tor = |capacity: &ScopeCapacity| match capacity.scope {
            Scope::Tor(tor) => Some((tor, *capacity)),
            Scope::Pod(_) | Scope::Domain(_) => None,
        };
        let capacities = self.0.capacities.iter().filter_map(of_tor).collect();
        let pods = pods.iter().zip(switches);
        pods.map(|(pod, switches)| self.pod(*pod, &switches, marks, &capacities)).collect()
    }

    fn pod(
        &self,
        pod: u32,
        switches: &[SwitchId],
        marks: &BTreeMap<LinkId, LinkMark>,
        capacities: &BTreeMap<SwitchId, ScopeCapacity>,
    ) -> Pod {
        let tiers = self.tiers();
        let mut rows: Vec<Vec<SwitchId>> = vec![Vec::new(); usize::from(tiers.tier_count())];
        for switch in switches {
            rows[usize::from(tiers.tier(*switch))].push(*switch);
        }
        rows.retain(|row| !row.is_empty());
        let places: BTreeMap<SwitchId, (usize, usize)> = rows
            .iter()
            .enumerate()
            .flat_map(|(row, switches)| {
                switches.iter().enumerate().map(move |(place, switch)| (*switch, (row, place)))
            })
            .collect();
        let mut links = Vec::new();
        for (switch, from) in &places {
            for link in tiers.links_above(*switch) {
                let to = places.get(&tiers.link(*link).upper).copied();
                let mark = marks.get(link).copied().unwrap_or(LinkMark::Plain);
                // Of the many links that leave the pod, only marked ones are drawn.
                if to.is_some() || mark != LinkMark::Plain {
                    links.push(PodLink { from: *from, to, note: tiers.link_name(*link), mark });
                }
            }
        }
        let tiers_drawn = rows
            .iter()
            .map(|row| row.iter().map(|switch| self.switch(*switch, capacities.get(switch))).collect());
        Pod { name: tiers.pod_name(pod).to_owned(), tiers: tiers_drawn.collect(), links }
    }

    fn switch(&self, switch: SwitchId, capacity: Option<&ScopeCapacity>) -> PodSwitch {
        let note =
            capacity.map_or(String::new(), |capacity| format!("has {}", capacity.numbers(self.0.count)));
        let is_short = capacity.is_some_and(|capacity| capacity.amount < capacity.required);
        PodSwitch { name: self.tiers().name(switch).to_owned(), note, is_short }
    }
}

/// Appends the first lines under one label and counts the rest.
fn push(lines: &mut Vec<(&'static str, String)>, label: &'static str, all: impl Iterator<Item = String>) {
    let mut left_out = 0;
    for (place, line) in all.enumerate() {
        if place < SHOWN_MAX {
            lines.push((label, line));
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        lines.push((label, format!("and {left_out} more; --json has them")));
    }
}

/// Renders a number of frames, which may be a fraction.
fn rounded(frames: f64) -> String {
    if frames >= 10.0 { human::count(frames.round() as u64) } else { format!("{frames:.2}") }
}
