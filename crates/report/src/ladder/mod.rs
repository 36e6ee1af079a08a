//! Ladder diagrams: nodes side by side, time downward, a slanted arrow for each packet on each link, as in
//! Figs. 2–5 of JCST §3.1.

pub(crate) mod labels;
mod lanes;
mod selection;
mod svg;
mod text;
mod timeline;

use wiremend_measure::FlowTrace;
use wiremend_units::NodeId;

use crate::terminal::Terminal;
use lanes::Lanes;
use selection::Step;

/// Ladder diagram of a flow. Long idle times are cut out and labelled with their length. If there are too
/// many records, uneventful ones are left out and counted.
#[derive(Clone, Debug)]
pub struct Ladder {
    title: String,
    lanes: Lanes,
    steps: Vec<Step>,
}

impl Ladder {
    /// Most records in a readable drawing.
    pub const RECORDS_MAX: usize = 240;

    /// Creates the ladder of a flow from at most `most` of its records; `name` returns the name of a node.
    /// The node of the first record (the requester) is at the left, the others follow by their distance in
    /// hops.
    pub fn new(title: &str, trace: &FlowTrace, name: impl Fn(NodeId) -> String, most: usize) -> Self {
        let mut records = trace.records.clone();
        records.sort_by_key(|record| record.time);
        let lanes = Lanes::new(&records, name);
        Self { title: title.to_owned(), lanes, steps: selection::select(&records, trace.left_out, most) }
    }

    /// The drawing. [`standalone`](crate::plot::standalone) makes it a file.
    pub fn svg(&self) -> String {
        svg::draw(&self.title, &self.lanes, &self.steps)
    }

    /// The ladder as text.
    pub fn text(&self, terminal: Terminal) -> String {
        text::draw(&self.title, &self.lanes, &self.steps, terminal)
    }
}

#[cfg(test)]
mod tests {
    use wiremend_measure::{FlowOutcome, PacketKind, TimeoutCause, TraceDropReason, TraceEvent, TraceRecord};
    use wiremend_units::Time;

    use super::*;
    use crate::markup::tests::assert_balanced;
    use crate::sample_trace::{long, name, packet, pattern, trace};

    const PLAIN: Terminal = Terminal { width: 80, colour: false };

    fn ladder(records: &[TraceRecord]) -> Ladder {
        Ladder::new("A <flow>", &trace(records.to_vec()), name, Ladder::RECORDS_MAX)
    }

    /// JCST Fig. 4: nothing follows the tail packet, so the timer fires.
    #[test]
    fn a_lost_tail_packet_is_shown_with_its_timeout() {
        let wanted = "\
A <flow>
            requester           switch 2            responder
       0 s  ● posts 6.14 kB     │                   │
    100 ns  ├─ WRITE First 0 ──▶│                   │
    190 ns  ├─ WRITE Midd… 1 ──▶│                   │
    280 ns  ├─ WRITE Midd… 2 ──▶│                   │
    370 ns  ├─ WRITE Midd… 3 ──▶│                   │
    460 ns  ├─ WRITE Midd… 4 ──▶│                   │
    550 ns  ├─ WRITE Last 5 ───▶│                   │
    838 ns  │                   ├─ WRITE First 0 ──▶│
    928 ns  │                   ├─ WRITE Midd… 1 ──▶│
   1.02 µs  │                   ├─ WRITE Midd… 2 ──▶│
   1.11 µs  │                   ├─ WRITE Midd… 3 ──▶│
    1.2 µs  │                   ├─ WRITE Midd… 4 ──▶│
   1.29 µs  │                   ├─ WRITE Last 5 ─✗  │
            ┆                   ┆                   ┆  ≈ 67.1 ms
   67.1 ms  ● timer fires at 5: tail packet lost    │
    +40 ns  ├╌ WRITE Last 5 ╌╌╌▶│                   │
   +778 ns  │                   ├╌ WRITE Last 5 ╌╌╌▶│
  +1.51 µs  │                   │◀────────── ACK 5 ─┤
  +2.16 µs  │◀────────── ACK 5 ─┤                   │
  +2.77 µs  ● completes         │                   │
";
        assert_eq!(ladder(&pattern(TimeoutCause::TailPacket)).text(PLAIN), wanted);
    }

    #[test]
    fn drawings_show_lost_packets_and_the_cause_of_the_timeout() {
        for (cause, note, crosses) in [
            (TimeoutCause::Nak, "timer fires at 2: NAK lost", 2),
            (TimeoutCause::Retransmission, "timer fires at 2: retransmission lost", 2),
            (TimeoutCause::TailPacket, "timer fires at 5: tail packet lost", 1),
            (TimeoutCause::TailAck, "timer fires at 5: tail ACK lost", 1),
        ] {
            let svg = ladder(&pattern(cause)).svg();
            assert_balanced(&svg);
            for text in [note, "≈ 67.1 ms", "WRITE Last 5", "A &lt;flow&gt;", "responder", "retransmission"]
            {
                assert!(svg.contains(&format!(">{text}<")), "{text} in {svg}");
            }
            // One more is in the legend.
            assert_eq!(svg.matches("M-6-6L6 6").count(), crosses + 1, "{cause}");
            assert!(ladder(&pattern(cause)).text(PLAIN).contains(note));
        }
    }

    #[test]
    fn a_long_flow_keeps_its_notable_records() {
        let ladder = Ladder::new("long", &trace(long(2_000)), name, 60);
        let text = ladder.text(Terminal { width: 160, colour: false });
        assert!(
            text.lines().count() < 70 && text.contains("records not shown") && text.contains('✗'),
            "{text}"
        );
        let svg = ladder.svg();
        assert_balanced(&svg);
        assert!(svg.contains("records not drawn") && svg.len() < 100_000, "{}", svg.len());
    }

    /// The trace holds the first records and the last one.
    #[test]
    fn records_that_were_not_kept_are_a_cut_before_the_end() {
        let trace = FlowTrace { left_out: 77, ..trace(pattern(TimeoutCause::TailAck)) };
        let ladder = Ladder::new("cut", &trace, name, Ladder::RECORDS_MAX);
        let text = ladder.text(PLAIN);
        let lines: Vec<_> = text.lines().rev().take(2).collect();
        assert!(lines[0].contains("completes") && lines[1].contains("77 records not shown"), "{text}");
        assert!(ladder.svg().contains("77 records not drawn"));
    }

    #[test]
    fn empty_traces_and_single_nodes_are_drawn() {
        assert_balanced(&ladder(&[]).svg());
        assert!(ladder(&[]).text(PLAIN).starts_with("A <flow>"));
        let packet = packet("SEND Only", 9, PacketKind::Dummy, false);
        let records = [
            TraceEvent::Dropped { packet, reason: TraceDropReason::Ttl },
            TraceEvent::Failed { outcome: FlowOutcome::RetryExceeded },
        ];
        let records = records.map(|event| TraceRecord { time: Time::from_ns(4), node: NodeId(0), event });
        let text = ladder(&records).text(PLAIN);
        assert!(text.contains("drops SEND Only 9: TTL expired"), "{text}");
        assert!(text.contains("fails: retries exhausted"), "{text}");
        assert_balanced(&ladder(&records).svg());
    }
}
