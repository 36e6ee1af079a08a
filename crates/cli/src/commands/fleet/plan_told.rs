//! A plan in words, for programs, and as a picture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};
use wiremend_fabric::tiers::Tiers;
use wiremend_fleet::plan::{Cost, Drain, show_timestamp};
use wiremend_report::pods::{Mark, Pod, PodLink, PodSwitch, Pods};
use wiremend_report::quoted;
use wiremend_report::{Document, Part, human};
use wiremend_units::{LinkId, SwitchId};

use super::plan::{Plan, broken_json, short, spoken};
use crate::args::VERSION;
use crate::terminal;

/// What is printed of each kind; JSON has all.
const SHOWN_MAX: usize = 12;
/// Pods that are drawn.
const PODS_MAX: usize = 8;

/// A plan, to be told.
pub(super) struct Told<'a>(pub(super) &'a Plan<'a>);

impl Told<'_> {
    fn tiers(&self) -> &Tiers {
        &self.0.fabric.tiers
    }

    fn drained(&self, drain: &Drain) -> String {
        let names: Vec<_> = drain.links.iter().map(|link| self.tiers().link_name(*link)).collect();
        names.join(" with ")
    }

    /// Labels and what stands beside them.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let Plan { state, broken, advice, steps, age_s, asked, .. } = self.0;
        let tiers = self.tiers();
        let mut lines = vec![(
            "State",
            format!(
                "of {}, {} old: {}; {} links down, {} draining, {} corrupting; every ToR keeps {} % of its ways",
                show_timestamp(state.time_s),
                spoken(*age_s),
                self.0.fabric.told(),
                state.down.len(),
                state.draining.len(),
                state.corrupting.len(),
                human::percent(asked.constraint)
            ),
        )];
        let told = broken.iter().map(|tor| {
            let missing = format!("has {} of {} ways, and needs {}", tor.ways, tor.all, tor.need);
            format!("ToR {} {missing}: nothing that it needs is taken", tiers.name(tor.tor))
        });
        push(&mut lines, "Broken", told);
        let drain =
            advice.drain.iter().map(|drain| format!("{}, loss {:e}", self.drained(drain), drain.loss));
        push(&mut lines, "Drain now", drain);
        if advice.drain.is_empty() {
            lines.push(("Drain now", "nothing".to_owned()));
        }
        let keep = advice.keep.iter().map(|kept| {
            let link = tiers.link_name(kept.corrupting.link);
            format!("{link}, loss {:e}: {}", kept.corrupting.loss, short(tiers, &kept.because))
        });
        push(&mut lines, "Keep", keep);
        let then = steps.iter().filter(|step| !step.drain.is_empty()).map(|step| {
            let back: Vec<_> = step.returned.iter().map(|link| tiers.link_name(*link)).collect();
            let go: Vec<_> = step.drain.iter().map(|drain| self.drained(drain)).collect();
            format!("when {} is back, drain {}", back.join(" with "), go.join(", and "))
        });
        push(&mut lines, "Then", then);
        if advice.gap > 0.0 {
            let gap =
                format!("the search was cut off: a better set would rid of at most {:e} more", advice.gap);
            lines.push(("Gap", gap));
        }
        lines.push(("Waiting", self.waiting()));
        lines
    }

    fn waiting(&self) -> String {
        let Plan { now, after, asked, .. } = self.0;
        let told =
            |cost: &Cost| format!("{:.3e} ({} frames/h)", cost.penalty, rounded(cost.frames_per_s * 3600.0));
        let mut text = format!(
            "the sum of loss rates is {} now and {} once drained, with links used to {} %",
            told(now),
            told(after),
            human::percent(asked.load)
        );
        if after.penalty > 0.0 {
            let _ = write!(
                text,
                "; protecting those that stay would leave {:.3e} ({} frames/h) for {} of their capacity",
                after.protected_penalty,
                rounded(after.protected_frames_per_s * 3600.0),
                human::rate_bps(after.protected_bps)
            );
        }
        text
    }

    pub(super) fn text(&self) -> String {
        const INDENT: usize = 11;
        let width = terminal::stdout().width.saturating_sub(INDENT);
        let mut text = String::new();
        let mut last = "";
        for (label, line) in self.lines() {
            for (place, part) in wiremend_report::terminal::wrapped(&line, width).lines().enumerate() {
                let label = if place == 0 && label != last { label } else { "" };
                let _ = writeln!(text, "{label:<INDENT$}{part}");
            }
            last = label;
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let Plan { state, broken, advice, steps, age_s, asked, now, after, .. } = self.0;
        let tiers = self.tiers();
        let link = |link: LinkId| json!({ "link": link.0, "name": tiers.link_name(link) });
        let drains = |drains: &[Drain]| -> Vec<Value> {
            let one = |drain: &Drain| json!({ "links": drain.links.iter().map(|it| link(*it)).collect::<Vec<_>>(), "loss": drain.loss });
            drains.iter().map(one).collect()
        };
        let cost = |cost: &Cost| {
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
            value["because"] = broken_json(tiers, &kept.because);
            value
        });
        let order = steps.iter().map(|step| {
            let returned: Vec<_> = step.returned.iter().map(|it| link(*it)).collect();
            json!({ "returned": returned, "drain": drains(&step.drain) })
        });
        json!({
            "schema": 1,
            "time": show_timestamp(state.time_s),
            "age_s": age_s,
            "constraint": asked.constraint,
            "broken": broken.iter().map(|tor| broken_json(tiers, tor)).collect::<Vec<_>>(),
            "drain": drains(&advice.drain),
            "keep": keep.collect::<Vec<_>>(),
            "order": order.collect::<Vec<_>>(),
            "gap": advice.gap,
            "cost": { "now": cost(now), "after": cost(after) },
        })
    }

    pub(super) fn page(&self) -> Document {
        let mut parts: Vec<Part> = Vec::new();
        for (label, line) in self.lines() {
            let text = format!("{label}: {line}");
            parts.push(if label == "Broken" { Part::Warning(text) } else { Part::Text(text) });
        }
        parts.push(Part::Heading("The pods concerned".to_owned()));
        parts.push(Part::Drawing(self.picture().svg()));
        Document {
            title: "Which links to drain".to_owned(),
            origin: format!("{} · wiremend {VERSION}", self.0.fabric.told()),
            parts,
            command: std::env::args().map(|word| quoted(&word)).collect::<Vec<_>>().join(" "),
        }
    }

    /// The pods in which something is the matter, those first that have links which must stay.
    pub(super) fn picture(&self) -> Pods {
        let tiers = self.tiers();
        let marks = self.marks();
        let pod_of = |link: &LinkId| tiers.pod(tiers.link(*link).lower);
        let kept = marks.iter().filter(|(_, mark)| **mark == Mark::Keep).filter_map(|(link, _)| pod_of(link));
        let broken = self.0.broken.iter().filter_map(|tor| tiers.pod(tor.tor));
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
            pods: pods.iter().take(PODS_MAX).map(|pod| self.pod(*pod, &marks)).collect(),
        }
    }

    fn marks(&self) -> BTreeMap<LinkId, Mark> {
        let Plan { state, advice, .. } = self.0;
        let keep = advice.keep.iter().map(|kept| (kept.corrupting.link, Mark::Keep));
        let drain = advice.drain.iter().flat_map(|drain| drain.links.iter().map(|link| (*link, Mark::Drain)));
        state.out().map(|link| (link, Mark::Out)).chain(keep).chain(drain).collect()
    }

    fn pod(&self, pod: u32, marks: &BTreeMap<LinkId, Mark>) -> Pod {
        let tiers = self.tiers();
        let mut rows: Vec<Vec<SwitchId>> = vec![Vec::new(); usize::from(tiers.tier_count())];
        for switch in (0..tiers.switch_count()).map(SwitchId).filter(|switch| tiers.pod(*switch) == Some(pod))
        {
            rows[usize::from(tiers.tier(switch))].push(switch);
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
                let mark = marks.get(link).copied().unwrap_or(Mark::Plain);
                // Links out of the pod are many: only what is the matter is drawn.
                if to.is_some() || mark != Mark::Plain {
                    links.push(PodLink { from: *from, to, note: tiers.link_name(*link), mark });
                }
            }
        }
        let tiers_drawn =
            rows.iter().map(|row| row.iter().map(|switch| self.switch(*switch)).collect()).collect();
        Pod { name: tiers.pod_name(pod).to_owned(), tiers: tiers_drawn, links }
    }

    fn switch(&self, switch: SwitchId) -> PodSwitch {
        let standing = self.0.standings.iter().find(|standing| standing.tor == switch);
        let note = standing.map_or(String::new(), |standing| {
            format!("{} of {} ways, needs {}", standing.ways, standing.all, standing.need)
        });
        let is_short = standing.is_some_and(|standing| standing.ways < standing.need);
        PodSwitch { name: self.tiers().name(switch).to_owned(), note, is_short }
    }
}

/// The first of many lines under one label.
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

/// A number of frames, which may be part of one.
fn rounded(frames: f64) -> String {
    if frames >= 10.0 { human::count(frames.round() as u64) } else { format!("{frames:.2}") }
}
