//! From rounds of retransmission to events with causes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use wiremend_measure::TimeoutCause;
use wiremend_units::Psn;

use crate::analysis::{Analysis, Tally};
use crate::cause::{Context, Pairedness, judge};
use crate::event::{Event, EventKind, Verdict};
use crate::pairing::{Outline, Pairing};
use crate::reaction::Reactions;
use crate::record::{HostIndex, Kind, TapIndex};
use crate::resend::{Resend, Trigger};
use crate::summary::{FlowSummary, Summary, summarize};
use crate::two_taps::{Twin, compare};

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
    let reactions = Reactions::of(analysis);
    let mut judged: Vec<Judged<'_>> = resends
        .iter()
        .map(|resend| {
            let outline = &analysis.pairings.flows[resend.flow as usize];
            let kind = kind_of(resend, outline, &reactions);
            let echoes = echoing.contains(&outline.stream.to);
            let context = context_of(analysis, resend, outline, echoes);
            let verdict = (kind == EventKind::Timeout).then(|| judge(resend, context));
            Judged { resend, outline, kind, verdict, is_twin: false }
        })
        .collect();
    merge_taps(analysis, &mut judged);
    let mut events: Vec<Event> =
        judged.iter().filter(|judged| !judged.is_twin).map(|judged| event(analysis, judged)).collect();
    events.extend(refusals(analysis));
    events.sort_by_key(|event| (event.time_ns, event.frame));
    let (summary, flows) = summarize(analysis, &events, &judged);
    Explanation { version: 1, files: analysis.files.clone(), frames: analysis.tally, summary, flows, events }
}

/// Responders that were seen to acknowledge each duplicate.
fn echoing_hosts(analysis: &Analysis) -> BTreeSet<HostIndex> {
    let closed = analysis.shared.closed.iter();
    let echoes = closed.filter(|resend| resend.is_echoed() && resend.resent >= 2);
    echoes.map(|resend| analysis.pairings.flows[resend.flow as usize].stream.to).collect()
}

fn kind_of(resend: &Resend, outline: &Outline, reactions: &Reactions) -> EventKind {
    match resend.trigger {
        Trigger::Timer => EventKind::Timeout,
        Trigger::Rnr => EventKind::RnrWait,
        Trigger::Nak | Trigger::ImpliedNak if reactions.is_late(resend, outline.stream.from) => {
            EventKind::Timeout
        }
        Trigger::ImpliedNak => EventKind::ImpliedNak,
        Trigger::Nak => EventKind::NakRecovery,
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
    let exhausted = last_ns - resend.ns > 4 * (resend.wait_ns / waits).saturating_mul(waits);
    Context { position: analysis.position, echoes, paired, exhausted }
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
    for taps in flows.into_values() {
        let requests = |events: &[usize]| {
            events.first().map_or(0, |at| analysis.flows[judged[*at].resend.flow as usize].counts.requests)
        };
        let nearest = taps.iter().max_by_key(|(tap, events)| (requests(events), u16::MAX - tap.0));
        let Some((nearest, near)) = nearest.map(|(tap, events)| (*tap, events.clone())) else { continue };
        let mut groups: Vec<Vec<usize>> = near.iter().map(|at| vec![*at]).collect();
        for (_, far) in taps.into_iter().filter(|(tap, _)| *tap != nearest) {
            let mut free: Vec<bool> = vec![true; near.len()];
            for event in far {
                let twin = twin_of(analysis, judged, &near, &free, event);
                match twin {
                    Some(place) => {
                        free[place] = false;
                        groups[place].push(event);
                    }
                    None => groups.push(vec![event]),
                }
            }
        }
        for group in groups {
            join(analysis, judged, &group);
        }
    }
}

/// The event of the near tap that is the same as one of a far tap: it resumes at or before its PSN, and is
/// the nearest in time.
fn twin_of(
    analysis: &Analysis,
    judged: &[Judged<'_>],
    near: &[usize],
    free: &[bool],
    far: usize,
) -> Option<usize> {
    /// Events that are compared.
    const SEARCHED: usize = 64;
    let there = judged[far].resend;
    let there_flow = &analysis.flows[there.flow as usize];
    // Events of one tap are in order of their ends, nearly that of time.
    let from = near.partition_point(|at| judged[*at].resend.ns < there.ns - there.wait_ns.saturating_mul(2));
    let from = if analysis.files.len() > 1 { from.saturating_sub(SEARCHED / 2) } else { from };
    let candidates = near.iter().enumerate().skip(from).take(SEARCHED).filter(|(place, _)| free[*place]);
    let fits = candidates.filter_map(|(place, at)| {
        let here = judged[*at].resend;
        let here_flow = &analysis.flows[here.flow as usize];
        let is_same_start = Psn::new(here_flow.first as u32) == Psn::new(there_flow.first as u32);
        let offset_ns = if is_same_start { there_flow.first_ns - here_flow.first_ns } else { 0 };
        let apart_ns = (there.ns - here.ns - offset_ns).abs();
        let ahead = Psn::new(there.psn as u32).distance(Psn::new(here.psn as u32));
        let is_inside = ahead >= 0 && i64::from(ahead) < here.sent_end() - here.psn;
        (is_inside && apart_ns <= here.wait_ns.max(there.wait_ns) / 2).then_some((apart_ns, place))
    });
    fits.min().map(|(_, place)| place)
}

/// Reports one of the events of a group.
fn join(analysis: &Analysis, judged: &mut [Judged<'_>], group: &[usize]) {
    let twins: Vec<Twin<'_>> = group.iter().map(|at| Twin::new(analysis, &judged[*at])).collect();
    let (best, verdict) = compare(analysis, &twins);
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
        remedy: judged.verdict.as_ref().map(remedy),
        verdict: judged.verdict.clone(),
        marks: resend.marks,
        cnps: resend.cnps,
        pauses: resend.pauses,
    }
}

/// What would have replaced the timer by a round trip.
const fn remedy(verdict: &Verdict) -> &'static str {
    match verdict.cause {
        TimeoutCause::TailPacket => "a dummy behind the tail, a copy of the last packet, or a protected link",
        TimeoutCause::TailAck => {
            "a dummy behind the tail, whose ACK covers the lost one, or a protected link"
        }
        TimeoutCause::Nak => "a copy of the NAK, or a protected link",
        TimeoutCause::Retransmission => "copies of retransmissions, or a protected link",
        TimeoutCause::Other => "depends on the cause; a protected link if a frame was lost",
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
