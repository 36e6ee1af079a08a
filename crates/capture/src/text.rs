//! An explanation as text.

use std::fmt::{self, Write as _};

use crate::event::{Certainty, Event, EventKind, Side, Verdict};
use crate::report::Explanation;
use wiremend_measure::TimeoutCause;

/// Worst queue pairs that the summary names.
const WORST: usize = 3;

/// A time with three digits, in the unit that suits it.
pub(crate) fn span(ns: i64) -> String {
    let value = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} µs", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value / 1e6),
        _ => format!("{:.2} s", value / 1e9),
    }
}

/// The summary: at most ten lines, and one more if causes are compared.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (frames, summary) = (&self.frames, &self.summary);
        writeln!(
            f,
            "{} frames in {}, {} of reliable connections; {} flows, {} with their answers",
            frames.frames,
            span(summary.duration_ns),
            frames.rc,
            summary.flows,
            summary.paired
        )?;
        if summary.flows == 0 {
            writeln!(f, "no requests: whether requesters waited is not known")?;
        } else if summary.stalls == 0 {
            writeln!(f, "no stalls: no requester waited for its timer")?;
        } else {
            let causes: Vec<String> = TimeoutCause::ALL
                .iter()
                .filter_map(|cause| Some((cause, summary.by_cause.get(cause.key())?)))
                .map(|(cause, count)| format!("{count} {cause}"))
                .collect();
            let sure: Vec<String> = ["proof", "strong", "ambiguous"]
                .iter()
                .filter_map(|name| Some(format!("{} {name}", summary.by_certainty.get(name)?)))
                .collect();
            writeln!(
                f,
                "{} stalls ({} timeouts), {} lost; by cause: {}; certainty: {}",
                summary.stalls,
                summary.timeouts,
                span(summary.waited_ns),
                causes.join(", "),
                sure.join(", ")
            )?;
        }
        for flow in self.flows.iter().filter(|flow| flow.stalls > 0).take(WORST) {
            let from = flow.source_qp.map_or("?".to_owned(), |qp| format!("{qp:#x}"));
            write!(
                f,
                "  {} QP {from} → {} QP {:#x}: {} stalls, {}",
                flow.source,
                flow.destination,
                flow.destination_qp,
                flow.stalls,
                span(flow.waited_ns)
            )?;
            if let Some(timer) = &flow.timer {
                write!(f, "; waits {timer}")?;
            }
            writeln!(f)?;
        }
        writeln!(
            f,
            "without a timer: {} NAK recoveries, {} implied NAKs, {} RNR waits; {} refused",
            summary.nak_recoveries, summary.implied_naks, summary.rnr_waits, summary.refused
        )?;
        let [low, high] = summary.loss_ratio;
        writeln!(
            f,
            "losses that this implies: {} of {} packets, ratio {low:.1e} to {high:.1e} (95 %); \
             congestion: {} marks, {} CNPs, {} pauses",
            summary.losses, summary.packets, summary.marks, summary.cnps, frames.pauses
        )?;
        self.helped(f)?;
        self.compared(f)?;
        self.left_out(f)
    }
}

impl Explanation {
    /// Says what would have helped.
    fn helped(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedies = &self.summary.remedies;
        if remedies.is_empty() {
            return Ok(());
        }
        let left = remedies.iter().map(|remedy| format!("{:.2} with {}", remedy.stalls, remedy.name()));
        let left: Vec<String> = left.collect();
        writeln!(f, "stalls that would remain, by the model at this ratio: {}", left.join(", "))
    }

    /// Says how often the causes are those of the simulator.
    fn compared(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(truth) = &self.summary.truth else { return Ok(()) };
        writeln!(
            f,
            "comments of the simulator: {} timers fired; stalls: {} right, {} among the alternatives, {} wrong, \
             {} without a timer; {} timers not shown",
            truth.timers, truth.right, truth.contained, truth.wrong, truth.without_timer, truth.not_shown
        )
    }

    /// Says what was not analysed.
    fn left_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (frames, summary) = (&self.frames, &self.summary);
        let counts = [
            (frames.other_services, "packets of other services"),
            (frames.roce_v1, "RoCEv1 frames, not analysed"),
            (frames.encrypted, "encrypted packets, not readable"),
            (frames.other_links, "frames of a link type that is not decoded"),
            (frames.cut, "frames cut within their headers: capture 128 bytes of each"),
            (frames.malformed, "malformed frames"),
            (frames.bad_icrc, "packets with a bad ICRC, which receivers drop"),
            (frames.steps_back, "steps back of a clock"),
            (summary.flows - summary.paired, "flows without answers: capture both directions"),
            (frames.left_out, "packets left out: too many connections"),
            (frames.rounds_left_out, "retransmissions left out: too many"),
            (summary.doubles, "frames twice in the capture"),
            (summary.copies, "copies by the sender"),
            (summary.reordered, "reordered packets"),
        ];
        let named: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if named.is_empty() { Ok(()) } else { writeln!(f, "also: {}", named.join("; ")) }
    }

    /// The table of events; `all` includes those that are not stalls.
    pub fn table(&self, all: bool) -> String {
        self.lines(all).collect()
    }

    /// The lines of the table: together they may take more memory than the explanation.
    pub fn lines(&self, all: bool) -> impl Iterator<Item = String> {
        let first_ns = self.events.iter().map(|event| event.time_ns).min().unwrap_or(0);
        let events = self.events.iter().filter(move |event| all || event.kind == EventKind::Timeout);
        events.map(move |event| format!("{}\n", line(event, first_ns)))
    }

    /// A display filter of Wireshark for the frames that show the causes. Frames of several files cannot be
    /// in one filter: the first file with events counts.
    pub fn filter(&self) -> String {
        let Some(file) = self.events.first().map(|event| &event.file) else { return String::new() };
        let of_file = self.events.iter().filter(|event| event.file == *file);
        let mut frames: Vec<u64> = of_file
            .flat_map(|event| {
                let evidence = event.verdict.iter().flat_map(|verdict| verdict.evidence.iter());
                evidence.map(|evidence| evidence.frame).chain([event.frame])
            })
            .collect();
        frames.sort_unstable();
        frames.dedup();
        let frames: Vec<String> = frames.iter().map(u64::to_string).collect();
        format!("frame.number in {{{}}}", frames.join(", "))
    }
}

fn line(event: &Event, first_ns: i64) -> String {
    let from = event.source_qp.map_or("?".to_owned(), |qp| format!("{qp:#x}"));
    let mut text = format!(
        "{:>10}  frame {}  {} QP {from} → {} QP {:#x}  {}  PSN {}",
        span(event.time_ns - first_ns),
        event.frame,
        event.source,
        event.destination,
        event.destination_qp,
        kind(event.kind),
        event.resume_psn
    );
    if event.kind == EventKind::Refused {
        let _ = write!(text, "  {}", event.operation);
    } else {
        let _ = write!(text, "  waited {}", span(event.wait_ns));
    }
    if event.timeouts > 1 {
        let _ = write!(text, " in {} expiries", event.timeouts);
    }
    if let Some(cost) = event.cost_ns {
        let _ = write!(text, "  cost {}", span(cost));
    }
    if let Some(verdict) = &event.verdict {
        let _ = write!(text, "  {}", cause(verdict));
    }
    if let Some(truth) = event.truth {
        let _ = write!(text, "  recorded: {truth}");
    }
    let congestion = [(event.marks, "marks"), (event.cnps, "CNPs"), (event.pauses, "pauses")];
    for (count, what) in congestion.into_iter().filter(|(count, _)| *count > 0) {
        let _ = write!(text, "  {count} {what}");
    }
    text
}

const fn kind(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Timeout => "timeout",
        EventKind::NakRecovery => "NAK recovery",
        EventKind::ImpliedNak => "implied NAK",
        EventKind::RnrWait => "RNR wait",
        EventKind::Refused => "refused",
    }
}

/// Cause, certainty, side and frames.
fn cause(verdict: &Verdict) -> String {
    let mut text = verdict.cause.name().to_owned();
    if let Some(sub) = verdict.sub_cause {
        let _ = write!(text, " ({sub})");
    }
    text.push_str(match verdict.certainty {
        Certainty::Proof => ", proof",
        Certainty::Strong => ", strong",
        Certainty::Ambiguous => ", ambiguous",
    });
    if !verdict.alternatives.is_empty() {
        let names: Vec<&str> = verdict.alternatives.iter().map(|cause| cause.name()).collect();
        let _ = write!(text, " with {}", names.join(", "));
    }
    text.push_str(match verdict.side {
        Side::Upstream => ", lost upstream of the tap",
        Side::Downstream => ", lost downstream of the tap",
        Side::Between => ", lost between the taps",
        Side::Nowhere => ", nothing lost",
        Side::Unknown => "",
    });
    let frames: Vec<String> =
        verdict.evidence.iter().map(|evidence| format!("{} {}", evidence.frame, evidence.role)).collect();
    let _ = write!(text, "  [{}]", frames.join("; "));
    text
}
