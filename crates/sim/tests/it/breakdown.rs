//! Where the time of a flow went.

use wiremend_measure::{Breakdown, FlowRow, TimePart, TraceEvent};
use wiremend_sim::Options;
use wiremend_units::FlowId;

use crate::common::{run_with, scenario};

/// Traces a flow; `choose` returns it from the rows of an untraced run.
pub(crate) fn trace(
    text: &str,
    choose: impl Fn(&[FlowRow]) -> Option<FlowRow>,
) -> Option<(Breakdown, FlowRow)> {
    let options = Options::new(scenario(text).seed.get());
    let row = choose(&run_with(text, &options).1)?;
    let (results, rows) = run_with(text, &Options { trace: Some(FlowId(row.flow)), ..options });
    let row = *rows.iter().find(|other| other.flow == row.flow).expect("the traced flow has a row");
    // Rounds of a ping-pong are posted at both ends, and flows that never started have no packets.
    let ends = results
        .trace
        .records
        .iter()
        .filter(|record| matches!(record.event, TraceEvent::Completed | TraceEvent::Failed { .. }));
    let has_ended = ends.count() > 0;
    has_ended.then(|| Breakdown::new(&results.trace)).flatten().map(|breakdown| (breakdown, row))
}

/// Of the flows that a text has, the slowest.
pub(crate) fn slowest(rows: &[FlowRow]) -> Option<FlowRow> {
    rows.iter().copied().max_by_key(|row| (row.fct(), row.flow))
}

fn parts(text: &str) -> Breakdown {
    let (breakdown, row) = trace(text, slowest).expect("the flow is traced");
    assert_eq!(breakdown.total(), row.fct());
    breakdown
}

/// Returns the longest part.
fn most(breakdown: &Breakdown) -> TimePart {
    breakdown.longest_first()[0].0
}

fn pair(transport: &str, rest: &str) -> String {
    format!(
        "title = 't'\n[topology]\nkind = 'chain'\nswitches = 2\nhosts_per_end = 2\n[transport]\n{transport}\n{rest}"
    )
}

fn flow(bytes: &str) -> String {
    format!(
        "[[workload]]\nkind = 'flows'\npattern = 'point-to-point'\nsrc = 'h0'\ndst = 'h2'\nbytes = '{bytes}'\n"
    )
}

#[test]
fn a_long_flow_alone_is_serialisation() {
    let breakdown = parts(&pair("window = 'unlimited'", &flow("4MiB")));
    assert_eq!(most(&breakdown), TimePart::Serialisation);
    let rest = [TimePart::Timers, TimePart::Window, TimePart::Retransmission, TimePart::Application];
    assert_eq!(rest.map(|part| breakdown.get(part).as_ps()), [0; 4], "{breakdown:?}");
    // The first packet has a longer header than the others.
    assert!(breakdown.get(TimePart::Queueing).as_ps() < 10_000, "{breakdown:?}");
}

#[test]
fn a_window_of_one_packet_waits_for_acknowledgements() {
    let breakdown = parts(&pair("window = 1", &flow("1MB")));
    assert_eq!(most(&breakdown), TimePart::Window);
}

#[test]
fn a_slow_sender_is_paced() {
    let breakdown = parts(&pair("window = 'unlimited'\nrate = '5Gbps'", &flow("1MB")));
    assert_eq!(most(&breakdown), TimePart::Pacing);
}

#[test]
fn two_senders_queue_before_one_link() {
    let load =
        "[[workload]]\nkind = 'flows'\npattern = 'incast'\ndst = 'h2'\nsrc = 'h0..h1'\nbytes = '1MB'\n";
    let breakdown = parts(&pair("window = 'unlimited'", load));
    // Each packet of one sender lets one of the other go first.
    assert!(breakdown.get(TimePart::Queueing) > breakdown.total() * 2 / 5, "{breakdown:?}");
}

#[test]
fn a_paused_port_is_a_pause() {
    let pause =
        "[[pause]]\nlinks = 's0-s1'\ndirection = 'forward'\nclass = 0\nstart = '1us'\nstop = '900us'\n";
    let breakdown = parts(&pair("window = 'unlimited'", &(flow("100kB") + pause)));
    assert_eq!(most(&breakdown), TimePart::Pauses);
    assert!(breakdown.get(TimePart::Pauses).as_ps() > 880_000_000, "{breakdown:?}");
    let at_host = pause.replace("s0-s1", "h0-s0");
    let breakdown = parts(&pair("window = 'unlimited'", &(flow("100kB") + &at_host)));
    assert_eq!(most(&breakdown), TimePart::Pauses);
}

#[test]
fn a_loss_that_a_nak_reports_is_retransmission_and_one_that_none_reports_is_a_timer() {
    let loss = |psn: u32| {
        format!(
            "[[impair]]\nkind = 'script'\nlinks = ['s0-s1']\ndirection = 'forward'\nrules = [{{ packet = 'data', psn = {psn} }}]\n"
        )
    };
    let nak = parts(&pair("window = 'unlimited'\nmtu = 1024", &(flow("20kB") + &loss(3))));
    assert!(nak.get(TimePart::Retransmission).as_ps() > 0, "{nak:?}");
    assert_eq!(nak.get(TimePart::Timers).as_ps(), 0);
    let timer = parts(&pair("window = 'unlimited'\nmtu = 1024", &(flow("20kB") + &loss(19))));
    assert_eq!(most(&timer), TimePart::Timers);
}

/// At a switch, a packet waits from its arrival until it is sent on; at a requester, for the timer if nothing revealed
/// the loss.
#[test]
fn waits_fill_the_time_between_the_hops_of_a_packet() {
    let text = scenario_text("incast");
    let options = Options::new(scenario(text).seed.get());
    let row = slowest(&run_with(text, &options).1).expect("a flow");
    let trace = run_with(text, &Options { trace: Some(FlowId(row.flow)), ..options }).0.trace;
    let waits = Breakdown::waits(&trace);
    let mut arrived = std::collections::BTreeMap::new();
    let mut queued = 0;
    for (number, record) in trace.records.iter().enumerate() {
        let TraceEvent::Sent { packet, to, arrive, .. } = record.event else { continue };
        let key = |node| (node, packet.number, packet.psn.get(), packet.src);
        if let Some(since) = arrived.remove(&key(record.node)) {
            assert_eq!(waits[&number].total(), record.time.since(since), "record {number}");
            queued += u32::from(waits[&number].get(TimePart::Queueing) > wiremend_units::Span::ZERO);
        }
        arrived.insert(key(to), arrive);
    }
    assert!(queued > 100, "only {queued} packets were queued at switches");

    let text = scenario_text("tail-packet");
    let trace = run_with(text, &Options { trace: Some(FlowId(0)), ..Options::new(1) }).0.trace;
    let waits = Breakdown::waits(&trace);
    let again = trace
        .records
        .iter()
        .position(|record| matches!(record.event, TraceEvent::Sent { packet, .. } if packet.retransmission));
    let timers = waits[&again.expect("the tail is sent again")].get(TimePart::Timers);
    assert!(timers > wiremend_units::Span::from_ms(60), "{timers:?}");
}

fn scenario_text(name: &str) -> &'static str {
    wiremend_scenario::builtin::get(name).expect("a scenario of the library")
}
