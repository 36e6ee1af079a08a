//! From rounds of retransmission to events with causes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use wiremend_units::Psn;

use crate::analysis::{Analysis, Tally};
use crate::cause::{Context, Pairedness, judge};
use crate::event::{Event, EventKind, Verdict};
use crate::flow::Flow;
use crate::pairing::{Outline, Pairing};
use crate::reaction::Reactions;
use crate::record::{HostIndex, Kind, TapIndex};
use crate::remedy::best_for;
use crate::resend::{Resend, Trigger};
use crate::summary::{FlowSummary, Summary, summarize};
use crate::two_taps::{Elsewhere, Twin, compare};

/// What a capture tells.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    /// Version of this format; it changes if fields change their meaning.
    pub version: u32,
    /// The captures.
    pub files: Vec<String>,
    /// Counts of frames.
    pub frames: Tally,
    /// Totals.
    pub summary: Summary,
    /// Connections with requests, those with most time lost first.
    pub flows: Vec<FlowSummary>,
    /// Events in order of time.
    pub events: Vec<Event>,
}

/// A round with its flow and its judgement.
pub(crate) struct Judged<'a> {
    pub(crate) resend: &'a Resend,
    pub(crate) outline: &'a Outline,
    pub(crate) kind: EventKind,
    pub(crate) verdict: Option<Verdict>,
    /// Whether nothing else happened that could be a cause as well.
    pub(crate) is_plain: bool,
    /// Another tap has reported the same event.
    pub(crate) is_twin: bool,
}

impl Judged<'_> {
    /// The PSN at which the requester resumed: before the first packet of the round if the tap missed that.
    pub(crate) fn resume(&self) -> i64 {
        let before = &self.resend.before;
        let named = before.nak.filter(|nak| nak.psn < self.resend.psn && nak.una_before <= nak.psn);
        named.map_or(self.resend.psn, |nak| nak.psn)
    }
}

pub(crate) fn conclude(analysis: &Analysis) -> Explanation {
    let resends = &analysis.shared.closed;
    let echoing = echoing_hosts(analysis);
    let selective = selective_hosts(analysis);
    let reactions = Reactions::of(analysis);
    let mut judged: Vec<Judged<'_>> = resends
        .iter()
        .map(|resend| {
            let outline = &analysis.pairings.flows[resend.flow as usize];
            let echoes = echoing.contains(&outline.stream.to);
            let is_selective = selective.contains(&outline.stream.from);
            let kind = kind_of(resend, outline, is_selective, &reactions);
            let context = Context { is_selective, ..context_of(analysis, resend, outline, echoes) };
            let verdict = (kind == EventKind::Timeout).then(|| judge(resend, context));
            let is_unusual = is_selective || context.may_be_new;
            let is_plain = resend.is_plain() && !is_unusual && outline.pairing.is_certain();
            Judged { resend, outline, kind, verdict, is_plain, is_twin: false }
        })
        .collect();
    merge_taps(analysis, &mut judged);
    let mut events: Vec<Event> =
        judged.iter().filter(|judged| !judged.is_twin).map(|judged| event(analysis, judged)).collect();
    events.extend(refusals(analysis));
    events.sort_by_key(|event| (event.time_ns, event.frame));
    let (mut summary, flows) = summarize(analysis, &events, &judged);
    if let Some(truths) = &analysis.truths {
        let stalls = events.iter_mut().filter(|event| event.kind == EventKind::Timeout);
        summary.truth = Some(truths.compare(stalls.filter_map(|event| {
            let file = analysis.files.iter().position(|name| *name == event.file)?;
            let host = |address| analysis.hosts.find(address);
            let place = (file as u32, host(event.source)?, host(event.destination)?, event.destination_qp);
            Some((place, event))
        })));
    }
    for event in &mut events {
        let cause = event.verdict.as_ref().map(|verdict| verdict.cause.key());
        event.remedy = cause.and_then(|cause| best_for(&summary.remedies, cause));
    }
    Explanation { version: 1, files: analysis.files.clone(), frames: analysis.tally, summary, flows, events }
}

/// Connections with the same number, at all taps together, that are compared.
const GENERATIONS_COMPARED: usize = 16;

/// Responders that were seen to acknowledge each duplicate.
fn echoing_hosts(analysis: &Analysis) -> BTreeSet<HostIndex> {
    let closed = analysis.shared.closed.iter();
    let echoes = closed.filter(|resend| resend.is_echoed() && resend.resent >= 2);
    echoes.map(|resend| analysis.pairings.flows[resend.flow as usize].stream.to).collect()
}

/// Requesters that were seen to repeat single packets though more was outstanding.
fn selective_hosts(analysis: &Analysis) -> BTreeSet<HostIndex> {
    let selective = analysis.shared.closed.iter().filter(|resend| resend.selective);
    selective.map(|resend| analysis.pairings.flows[resend.flow as usize].stream.from).collect()
}

fn kind_of(resend: &Resend, outline: &Outline, is_selective: bool, reactions: &Reactions) -> EventKind {
    let is_read = resend.before.read.is_some();
    match resend.trigger {
        // Requesters that repeat single packets, and those of READs, learn of losses from other answers than NAKs.
        Trigger::Timer if is_selective && resend.follows_answer() => EventKind::NakRecovery,
        Trigger::Timer if is_read && resend.follows_answer() => EventKind::ImpliedNak,
        // Perhaps there was a NAK that was not told from those of other queue pairs.
        Trigger::Timer if outline.pairing == Pairing::None && reactions.is_short(resend, outline) => {
            EventKind::NakRecovery
        }
        Trigger::Timer => EventKind::Timeout,
        Trigger::Rnr => EventKind::RnrWait,
        Trigger::Nak | Trigger::ImpliedNak if reactions.is_late(resend, outline, is_selective) => {
            EventKind::Timeout
        }
        Trigger::ImpliedNak => EventKind::ImpliedNak,
        Trigger::Answer if is_read => EventKind::ImpliedNak,
        Trigger::Answer | Trigger::Nak => EventKind::NakRecovery,
    }
}

fn context_of(analysis: &Analysis, resend: &Resend, outline: &Outline, echoes: bool) -> Context {
    let paired = match outline.pairing {
        Pairing::None => Pairedness::None,
        Pairing::Ambiguous => Pairedness::Ambiguous,
        Pairing::ByPsn | Pairing::ByManager => Pairedness::Certain,
    };
    let last_ns = analysis.span_ns.map_or(0, |(_, last)| last);
    let waits = i64::from(resend.timeouts.max(1));
    let exhausted = last_ns - resend.ns > (resend.wait_ns / waits).saturating_mul(waits).saturating_mul(4);
    // Queue pairs are used again, perhaps from the same PSN. Connection managers tell when.
    let answered = resend.before.read.is_some_and(|read| read.response.is_some());
    let is_done = answered || resend.before.una >= resend.end;
    let may_be_new = resend.psn == outline.first && is_done && outline.pairing != Pairing::ByManager;
    Context { position: analysis.position, echoes, is_selective: false, paired, exhausted, may_be_new }
}

/// Joins the events that several taps have seen, and judges them by what both saw.
fn merge_taps(analysis: &Analysis, judged: &mut [Judged<'_>]) {
    if analysis.taps.count() < 2 {
        return;
    }
    // By direction and queue pair: events by tap.
    let mut flows: BTreeMap<_, BTreeMap<TapIndex, Vec<usize>>> = BTreeMap::new();
    for (at, event) in judged.iter().enumerate() {
        let stream = event.outline.stream;
        let taps = flows.entry((stream.from, stream.to, stream.qpn)).or_default();
        taps.entry(stream.tap).or_default().push(at);
    }
    let offsets = clock_offsets(analysis);
    let elsewhere = Elsewhere::new(analysis);
    for taps in flows.into_values() {
        let requests = |events: &[usize]| {
            events.first().map_or(0, |at| analysis.flows[judged[*at].resend.flow as usize].counts.requests)
        };
        let nearest = taps.iter().max_by_key(|(tap, events)| (requests(events), u16::MAX - tap.0));
        let Some((nearest, near)) = nearest.map(|(tap, events)| (*tap, events.clone())) else { continue };
        let mut groups: Vec<Vec<usize>> = near.iter().map(|at| vec![*at]).collect();
        for (tap, far) in taps.into_iter().filter(|(tap, _)| *tap != nearest) {
            let offset_ns = offsets.get(&(nearest, tap)).copied().unwrap_or(0);
            for event in far {
                match twin_of(analysis, judged, &near, event, offset_ns) {
                    Some(place) => groups[place].push(event),
                    None => groups.push(vec![event]),
                }
            }
        }
        for group in groups {
            join(analysis, &elsewhere, judged, &group);
        }
    }
}

/// How much later frames pass the second tap than the first, by their clocks: the median over the first requests of
/// flows that both have seen.
fn clock_offsets(analysis: &Analysis) -> BTreeMap<(TapIndex, TapIndex), i64> {
    let mut flows: BTreeMap<_, Vec<(TapIndex, &Flow)>> = BTreeMap::new();
    for (outline, flow) in analysis.pairings.flows.iter().zip(&analysis.flows) {
        let stream = outline.stream;
        flows.entry((stream.from, stream.to, stream.qpn)).or_default().push((stream.tap, flow));
    }
    let mut offsets: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for taps in flows.into_values() {
        for (at, (near, here)) in taps.iter().enumerate().take(GENERATIONS_COMPARED) {
            for (far, there) in
                taps.iter().skip(at + 1).take(GENERATIONS_COMPARED).filter(|(far, _)| far != near)
            {
                for first in &here.firsts {
                    let Some(twin) = there.firsts.iter().find(|twin| twin.is_twin(first)) else { continue };
                    offsets.entry((*near, *far)).or_default().push(twin.ns - first.ns);
                    offsets.entry((*far, *near)).or_default().push(first.ns - twin.ns);
                }
            }
        }
    }
    let median = |mut all: Vec<i64>| {
        all.sort_unstable();
        all[all.len() / 2]
    };
    offsets.into_iter().map(|(taps, all)| (taps, median(all))).collect()
}

/// The event of the near tap that is the same as one of a far tap: it resumes at or before its PSN, and one of its
/// expiries is the nearest in time.
fn twin_of(
    analysis: &Analysis,
    judged: &[Judged<'_>],
    near: &[usize],
    far: usize,
    offset_ns: i64,
) -> Option<usize> {
    /// Events that are compared.
    const SEARCHED: usize = 256;
    let there = judged[far].resend;
    // Events of one tap are in order of their ends, nearly that of time.
    let from = near.partition_point(|at| {
        let wait_ns = there.wait_ns.saturating_mul(2);
        judged[*at].resend.last_ns < there.ns.saturating_sub(offset_ns).saturating_sub(wait_ns)
    });
    let from = if analysis.files.len() > 1 { from.saturating_sub(SEARCHED / 2) } else { from };
    let candidates = near.iter().enumerate().skip(from).take(SEARCHED);
    let fits = candidates.filter_map(|(place, at)| {
        let here = judged[*at].resend;
        // Without a common clock, the times of first packets tell the offset.
        let there_ns = there.ns.saturating_sub(offset_ns);
        let apart_ns = here.ns.saturating_sub(there_ns).max(there_ns.saturating_sub(here.last_ns)).max(0);
        let ahead = Psn::new(there.psn as u32).distance(Psn::new(here.psn as u32));
        let is_inside = ahead >= 0 && i64::from(ahead) < here.sent_end() - here.psn;
        let under_way_ns = here.before.latency.mean_ns().unwrap_or(0);
        let is_near = apart_ns <= (here.wait_ns.max(there.wait_ns) / 2).max(under_way_ns);
        (is_inside && is_near).then_some((apart_ns, place))
    });
    fits.min().map(|(_, place)| place)
}

/// Reports one of the events of a group.
fn join(analysis: &Analysis, elsewhere: &Elsewhere, judged: &mut [Judged<'_>], group: &[usize]) {
    let twins: Vec<Twin<'_>> = group.iter().map(|at| Twin::new(analysis, &judged[*at])).collect();
    let (best, verdict) = compare(analysis, elsewhere, &twins);
    let best = group[best];
    if judged[best].kind == EventKind::Timeout && verdict.is_some() {
        judged[best].verdict = verdict;
    }
    for at in group {
        judged[*at].is_twin = *at != best;
    }
}

fn event(analysis: &Analysis, judged: &Judged<'_>) -> Event {
    let Judged { resend, outline, .. } = judged;
    let stream = outline.stream;
    let psn = |psn: i64| (psn & 0x00FF_FFFF) as u32;
    let file = analysis.files.get(analysis.taps.file(stream.tap) as usize);
    Event {
        kind: judged.kind,
        file: file.cloned().unwrap_or_default(),
        interface: analysis.taps.name(stream.tap).to_owned(),
        source: analysis.hosts.address(stream.from),
        destination: analysis.hosts.address(stream.to),
        source_qp: analysis.pairings.answered_by(resend.flow),
        destination_qp: stream.qpn,
        operation: resend.op.name(),
        frame: resend.frame,
        time_ns: resend.ns,
        psn: psn(resend.psn),
        resume_psn: psn(judged.resume()),
        end_psn: psn(resend.end),
        timeouts: if judged.kind == EventKind::Timeout { resend.timeouts.max(1) } else { 0 },
        wait_ns: resend.wait_ns,
        cost_ns: resend.covered.map(|(ns, _)| (ns - resend.before.first_sent_ns).max(0)),
        remedy: None,
        truth: None,
        verdict: judged.verdict.clone(),
        marks: resend.marks,
        cnps: resend.cnps,
        pauses: resend.pauses,
    }
}

/// NAKs after which a queue pair is in error.
fn refusals(analysis: &Analysis) -> Vec<Event> {
    let refused = analysis.flows.iter().filter_map(|flow| Some((flow, flow.refused?)));
    refused
        .map(|(flow, (frame, time_ns, kind))| {
            let stream = analysis.pairings.flows[flow.index as usize].stream;
            let file = analysis.files.get(analysis.taps.file(stream.tap) as usize);
            let psn = (flow.una & 0x00FF_FFFF) as u32;
            Event {
                kind: EventKind::Refused,
                file: file.cloned().unwrap_or_default(),
                interface: analysis.taps.name(stream.tap).to_owned(),
                source: analysis.hosts.address(stream.from),
                destination: analysis.hosts.address(stream.to),
                source_qp: analysis.pairings.answered_by(flow.index),
                destination_qp: stream.qpn,
                operation: refusal(kind),
                frame,
                time_ns,
                psn,
                resume_psn: psn,
                end_psn: (flow.next & 0x00FF_FFFF) as u32,
                timeouts: 0,
                wait_ns: 0,
                cost_ns: None,
                verdict: None,
                marks: 0,
                cnps: 0,
                pauses: 0,
                remedy: None,
                truth: None,
            }
        })
        .collect()
}

const fn refusal(kind: Kind) -> &'static str {
    use wiremend_wire::NakCode::{
        InvalidRdRequest, InvalidRequest, PsnSequence, RemoteAccess, RemoteOperational,
    };
    match kind {
        Kind::FatalNak(InvalidRequest) => "NAK invalid request",
        Kind::FatalNak(RemoteAccess) => "NAK remote access error",
        Kind::FatalNak(RemoteOperational) => "NAK remote operational error",
        Kind::FatalNak(InvalidRdRequest | PsnSequence) => "NAK",
        _ => "",
    }
}
