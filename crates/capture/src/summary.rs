//! Totals of an explanation.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;
use wiremend_measure::TimeoutCause;
use wiremend_measure::interval::wilson;

use crate::analysis::Analysis;
use crate::event::{Certainty, Event, EventKind};
use crate::pairing::Pairing;
use crate::remedy::{Remedy, remedies};
use crate::report::Judged;
use crate::truth::Truth;

/// Totals over all flows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Summary {
    /// Flows: requests from one host to one queue pair, counted once for all taps.
    pub flows: u64,
    /// Flows whose answers were found.
    pub paired: u64,
    /// Stalls: waits that a timer ended.
    pub stalls: u64,
    /// Expiries of timers.
    pub timeouts: u64,
    /// Stalls by cause; an ambiguous one counts at its likeliest cause.
    pub by_cause: BTreeMap<&'static str, u64>,
    /// Stalls by certainty.
    pub by_certainty: BTreeMap<&'static str, u64>,
    /// Time lost in stalls: the sum of their waits.
    pub waited_ns: i64,
    /// Retransmissions after NAKs.
    pub nak_recoveries: u64,
    /// READs requested again because a later message was answered.
    pub implied_naks: u64,
    /// Waits for a receive buffer.
    pub rnr_waits: u64,
    /// Queue pairs that a NAK put in error.
    pub refused: u64,
    /// Frames that the capture has twice.
    pub doubles: u64,
    /// Packets that a sender sent twice on purpose.
    pub copies: u64,
    /// Packets that overtook others before the tap.
    pub reordered: u64,
    /// Congestion marks.
    pub marks: u64,
    /// Congestion notifications.
    pub cnps: u64,
    /// Losses that the events imply, and the packets among which they were.
    pub losses: u64,
    /// Packets of requests and answers.
    pub packets: u64,
    /// Lower and upper end of the 95 % interval of the loss ratio (Wilson 1927).
    pub loss_ratio: [f64; 2],
    /// Mean number of packets of a message.
    pub message_packets: f64,
    /// What would have helped, by the model at `losses` of `packets`; empty without losses.
    pub remedies: Vec<Remedy>,
    /// Length of the captures.
    pub duration_ns: i64,
    /// How the causes compare with those in comments of the simulator, if asked for.
    pub truth: Option<Truth>,
}

/// Totals of one flow at the tap that saw most of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowSummary {
    /// Address of the requester.
    pub source: IpAddr,
    /// Address of the responder.
    pub destination: IpAddr,
    /// Queue pair of the requester.
    pub source_qp: Option<u32>,
    /// Queue pair of the responder.
    pub destination_qp: u32,
    /// How the answers were found: `none`, `ambiguous`, `psn` or `manager`.
    pub pairing: &'static str,
    /// Exponent of the ACK timeout, if the connection manager told.
    pub timeout_code: Option<u8>,
    /// Retry count, if the connection manager told.
    pub retry_count: Option<u8>,
    /// Requests.
    pub requests: u64,
    /// Answers.
    pub answers: u64,
    /// NAKs for gaps.
    pub naks: u64,
    /// Stalls.
    pub stalls: u64,
    /// Time lost in them.
    pub waited_ns: i64,
    /// Waits of single expiries, shortest first; at most 64.
    pub waits_ns: Vec<i64>,
    /// What the waits fit.
    pub timer: Option<String>,
    /// Shortest time from a request to its answer at the tap.
    pub latency_ns: Option<i64>,
    /// Behaviour of the network adapters that was seen.
    pub behaviour: Vec<&'static str>,
}

/// Most flows in a report: those with most time lost.
const FLOWS_MAX: usize = 1000;
/// Most waits of a flow in a report.
const WAITS_MAX: usize = 64;

pub(crate) fn summarize(
    analysis: &Analysis,
    events: &[Event],
    judged: &[Judged<'_>],
) -> (Summary, Vec<FlowSummary>) {
    let mut summary = Summary::default();
    for event in events {
        add(&mut summary, event);
    }
    let flows = flow_summaries(analysis, events, judged);
    summary.flows = flows.len() as u64;
    summary.paired = flows.iter().filter(|flow| flow.pairing != "none").count() as u64;
    for flow in &analysis.flows {
        summary.doubles += flow.counts.doubles;
        summary.copies += flow.counts.copies;
        summary.reordered += flow.counts.reordered;
        summary.marks += flow.counts.marks;
        summary.cnps += flow.counts.cnps;
    }
    summary.packets = flows.iter().map(|flow| flow.requests + flow.answers).sum();
    summary.losses = summary.losses.min(summary.packets);
    let ratio = wilson(summary.losses, summary.packets, 0.95);
    summary.loss_ratio = [ratio.low, ratio.high];
    let messages: u64 = analysis.flows.iter().map(|flow| flow.counts.messages).sum();
    let psns: i64 = analysis.flows.iter().map(|flow| flow.next - flow.first).sum();
    summary.message_packets = psns as f64 / messages.max(1) as f64;
    if !analysis.skips_remedies {
        summary.remedies = remedies(&summary, analysis.flows.iter().find_map(|flow| flow.mtu));
    }
    summary.duration_ns = analysis.span_ns.map_or(0, |(first, last)| last - first);
    let mut flows = flows;
    flows.sort_by_key(|flow| (-flow.waited_ns, flow.source, flow.destination, flow.destination_qp));
    flows.truncate(FLOWS_MAX);
    (summary, flows)
}

fn add(summary: &mut Summary, event: &Event) {
    match event.kind {
        EventKind::Timeout => {
            summary.stalls += 1;
            summary.timeouts += u64::from(event.timeouts);
            summary.waited_ns = summary.waited_ns.saturating_add(event.wait_ns);
            if let Some(verdict) = &event.verdict {
                *summary.by_cause.entry(verdict.cause.key()).or_default() += 1;
                let certainty = match verdict.certainty {
                    Certainty::Proof => "proof",
                    Certainty::Strong => "strong",
                    Certainty::Ambiguous => "ambiguous",
                };
                *summary.by_certainty.entry(certainty).or_default() += 1;
                summary.losses += match verdict.cause {
                    // The gap and the NAK. A gap whose retransmission was lost counts as a NAK recovery too.
                    TimeoutCause::Nak => 2,
                    TimeoutCause::TailPacket | TimeoutCause::TailAck | TimeoutCause::Retransmission => 1,
                    TimeoutCause::Other => 0,
                };
            }
        }
        EventKind::NakRecovery => {
            summary.nak_recoveries += 1;
            summary.losses += 1;
        }
        EventKind::ImpliedNak => {
            summary.implied_naks += 1;
            summary.losses += 1;
        }
        EventKind::RnrWait => summary.rnr_waits += 1,
        EventKind::Refused => summary.refused += 1,
    }
}

/// One summary for each flow, from the tap that saw most packets of it.
fn flow_summaries(analysis: &Analysis, events: &[Event], judged: &[Judged<'_>]) -> Vec<FlowSummary> {
    let mut flows: BTreeMap<(IpAddr, IpAddr, u32, u32), FlowSummary> = BTreeMap::new();
    let mut generations: BTreeMap<_, u32> = BTreeMap::new();
    let mut rounds: BTreeMap<u32, Vec<&Judged<'_>>> = BTreeMap::new();
    for one in judged {
        rounds.entry(one.resend.flow).or_default().push(one);
    }
    for (index, outline) in analysis.pairings.flows.iter().enumerate() {
        let flow = &analysis.flows[index];
        let generation = generations.entry(outline.stream).or_default();
        let (source, destination) =
            (analysis.hosts.address(outline.stream.from), analysis.hosts.address(outline.stream.to));
        let key = (source, destination, outline.stream.qpn, *generation);
        *generation += 1;
        let setup = analysis.pairings.setup(&outline.stream);
        let summary = FlowSummary {
            source,
            destination,
            source_qp: analysis.pairings.answered_by(index as u32),
            destination_qp: outline.stream.qpn,
            pairing: pairing_name(outline.pairing),
            timeout_code: setup.map(|setup| setup.timeout),
            retry_count: setup.map(|setup| setup.retries),
            requests: flow.counts.requests,
            answers: flow.counts.answers,
            naks: flow.counts.naks,
            stalls: 0,
            waited_ns: 0,
            waits_ns: Vec::new(),
            timer: None,
            latency_ns: flow.latency().least_ns,
            behaviour: behaviour(rounds.get(&(index as u32)).map_or(&[], Vec::as_slice), flow),
        };
        let seen = flows.entry(key).or_insert_with(|| summary.clone());
        if seen.requests + seen.answers < summary.requests + summary.answers {
            *seen = summary;
        }
    }
    for event in events.iter().filter(|event| event.kind == EventKind::Timeout) {
        let first = (event.source, event.destination, event.destination_qp, 0);
        let last = (event.source, event.destination, event.destination_qp, u32::MAX);
        let mut matching = flows.range_mut(first..=last).map(|(_, flow)| flow);
        let Some(flow) = matching.find(|flow| flow.source_qp == event.source_qp) else { continue };
        flow.stalls += 1;
        flow.waited_ns = flow.waited_ns.saturating_add(event.wait_ns);
        if flow.waits_ns.len() < WAITS_MAX {
            flow.waits_ns.push(event.wait_ns / i64::from(event.timeouts.max(1)));
        }
    }
    for flow in flows.values_mut() {
        flow.waits_ns.sort_unstable();
        flow.timer = timer(&flow.waits_ns);
    }
    flows.into_values().collect()
}

const fn pairing_name(pairing: Pairing) -> &'static str {
    match pairing {
        Pairing::None => "none",
        Pairing::Ambiguous => "ambiguous",
        Pairing::ByPsn => "psn",
        Pairing::ByManager => "manager",
    }
}

/// What the rounds of a flow tell about the network adapters.
fn behaviour(rounds: &[&Judged<'_>], flow: &crate::flow::Flow) -> Vec<&'static str> {
    let mine = || rounds.iter();
    let mut seen = Vec::new();
    if mine().any(|judged| judged.resend.selective) {
        seen.push("selective repeat");
    } else if mine().any(|judged| judged.resend.resent > 1) {
        seen.push("go-back-N");
    }
    if mine().any(|judged| judged.resend.echo.times >= 2) {
        seen.push("an ACK for each duplicate");
    }
    // At least one in ten requests for an ACK has none of its own.
    if flow.counts.ack_requests > 16 && flow.counts.acks * 10 < flow.counts.ack_requests * 9 {
        seen.push("coalesced ACKs");
    }
    let ignored = |verdict: &crate::event::Verdict| {
        verdict.certainty != Certainty::Ambiguous
            && verdict.sub_cause == Some("a NAK arrived and was ignored")
    };
    if mine().any(|judged| judged.verdict.as_ref().is_some_and(ignored)) {
        seen.push("ignores NAKs until the ACK of a round");
    }
    seen
}

/// Names the settings that the waits fit. A wait may be shorter than the timer, which runs on when everything
/// is acknowledged, so the upper half counts.
fn timer(waits_ns: &[i64]) -> Option<String> {
    let median = *waits_ns.get(waits_ns.len() / 2)?;
    let longest = *waits_ns.last()?;
    let ms = |ns: i64| ns as f64 / 1e6;
    let codes = (1..=31_u32).filter(|code| {
        let nominal = 4096_i64 << code;
        // The specification allows up to four times the nominal value (IBA 9.7.6.1.3).
        (nominal..=4 * nominal + nominal / 4).contains(&longest)
    });
    let codes: Vec<String> = codes.map(|code| code.to_string()).collect();
    let fits = if codes.is_empty() { String::new() } else { format!("; fits codes {}", codes.join(", ")) };
    let jiffies = (4096_i64..=4096 << 31).contains(&longest).then_some(longest / 4_000_000);
    let jiffies = match jiffies {
        Some(count @ 2..) => format!("; {count} jiffies at 250 Hz"),
        _ => String::new(),
    };
    Some(format!(
        "{:.3} to {:.3} ms, median {:.3} ms of {}{fits}{jiffies}",
        ms(waits_ns[0]),
        ms(longest),
        ms(median),
        waits_ns.len()
    ))
}
