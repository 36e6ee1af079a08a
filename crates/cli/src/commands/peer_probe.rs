//! `wiremend peer probe`: what a NIC does, as a report and as a profile.

use wiremend_peer::Settings;
use wiremend_peer::host::{FaultRules, HostSettings, LocalInterface};
use wiremend_peer::probe::{
    self, DummyAnswer, Findings, ITERATIONS, IcrcAnswer, LONG_CODE, Probe, RetryLimit, TIMER_CODES,
    TimerFormula, median, message_bytes,
};
use wiremend_proto::rc::NakRule;
use wiremend_report::{human, text_table, write_atomic};
use wiremend_scenario::{
    Acks, AfterLastAck, AfterNak, DummyReaction, Duplicates, Limit, NakSent, NicProfile, NicRequester,
    NicResponder, NicTimer, NoBuffer, OutOfOrder, ReadGap, RepeatedNaks, Retries, Within, WrongIcrc,
};
use wiremend_units::Span;
use wiremend_wire::{Ecn, TrafficClass};

use super::peer::failure;
use crate::args::peer::PeerProbe;
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// DSCP of data packets, as the other commands have it.
const DSCP: u8 = 26;

pub(crate) fn run(args: &PeerProbe) -> Result<Answer, Failure> {
    let interface = match &args.interface {
        Some(name) => LocalInterface::by_name(name, Some(args.host)),
        None => LocalInterface::towards(args.host),
    };
    let interface = interface.map_err(failure)?;
    let commands = commands(args, &interface);
    let probe = Probe {
        peer: args.host,
        interface: Some(interface),
        port: args.port,
        mtu: args.mtu,
        wait: args.wait,
        reads: !args.no_reads,
        host: HostSettings {
            endpoint: Settings { nak_copies: 0, resend_copies: 0, dcqcn: None, seed: std::process::id() },
            faults: FaultRules::default(),
            capture: args.pcap.clone(),
            class: TrafficClass { dscp: DSCP, ecn: Ecn::NotEct },
            stop: signals::stop(),
        },
    };
    let mut commands = Some(commands);
    let mut progress = |step: &str| {
        // When the first step begins, this end listens.
        commands.take().iter().for_each(|line| terminal::print_message(line));
        terminal::print_message(step);
    };
    let findings = probe::run(probe, &mut progress).map_err(failure)?;
    let profile = profile(args, &findings);
    let text = profile.to_toml();
    terminal::print(&report(&findings, &profile))?;
    match &args.out {
        Some(path) => write_atomic(path, &text).map_err(|error| Failure::file(&error))?,
        None => terminal::print(&format!("\n{text}"))?,
    }
    Ok(Answer::Yes)
}

/// What to run on the other machine.
fn commands(args: &PeerProbe, interface: &LocalInterface) -> String {
    let codes =
        [&[LONG_CODE][..], &TIMER_CODES].concat().iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
    let (mtu, size, port) = (args.mtu, message_bytes(args.mtu), args.port);
    let options = format!("-x 1 -F -m {mtu} -s {size} -n {ITERATIONS}");
    let reads = if args.no_reads {
        String::new()
    } else {
        let reads = format!("ib_read_lat {options} -u {LONG_CODE} -p {port}");
        format!("; {reads} & {reads} {} &", interface.ip)
    };
    format!(
        "run on {}: for t in {codes}; do ib_send_lat {options} -u $t -p $(({port} + t)) & done{reads}",
        args.host
    )
}

fn profile(args: &PeerProbe, findings: &Findings) -> NicProfile {
    let usual_timer = NicTimer::default();
    let usual = NicRequester::default();
    let formula = formula(findings);
    let about = format!("NIC at {}, measured with `wiremend peer probe`, MTU {}", args.host, findings.mtu);
    NicProfile {
        about: wiremend_scenario::Line::new(&about).expect("a line"),
        timer: NicTimer {
            tick: formula.map_or(usual_timer.tick, |formula| formula.tick),
            shortest: formula.map_or(usual_timer.shortest, |formula| formula.shortest),
            percent: formula.and_then(|formula| Within::new(formula.percent)).unwrap_or(usual_timer.percent),
            after_last_ack: if findings.timer_runs_on == Some(true) {
                AfterLastAck::RunsOn
            } else {
                AfterLastAck::Stops
            },
        },
        requester: NicRequester {
            after_nak: if findings.resends_all { AfterNak::All } else { AfterNak::One },
            repeated_naks: if findings.ignores_repeated_naks {
                RepeatedNaks::Ignored
            } else {
                RepeatedNaks::Obeyed
            },
            read_gap: if findings.read_gap_waits == Some(true) { ReadGap::Timer } else { ReadGap::AtOnce },
            retry_7: match findings.retries {
                Some(RetryLimit::None) => Retries::ForEver,
                Some(RetryLimit::Number(number)) => {
                    Within::new(number).map_or(usual.retry_7, Retries::Number)
                }
                None => usual.retry_7,
            },
            window: findings.window.and_then(Within::new).map_or(Limit::Unlimited, Limit::Max),
            ack_every: findings.ack_every.and_then(Within::new).unwrap_or(usual.ack_every),
        },
        responder: responder(findings),
    }
}

fn responder(findings: &Findings) -> NicResponder {
    NicResponder {
        out_of_order: if findings.keeps_out_of_order { OutOfOrder::Kept } else { OutOfOrder::Dropped },
        nak: match findings.nak {
            NakRule::Once => NakSent::Once,
            NakRule::EachRound => NakSent::EachRound,
            NakRule::EachPacket => NakSent::EachPacket,
        },
        acks: if findings.acks_each { Acks::Each } else { Acks::Merged },
        duplicates: if findings.duplicate_acks > 0 { Duplicates::Acknowledged } else { Duplicates::Dropped },
        no_buffer: if findings.nak_after_rnr == Some(true) { NoBuffer::RnrAndNak } else { NoBuffer::Rnr },
        dummies: match findings.dummies {
            DummyAnswer::Accepted => DummyReaction::Accepted,
            DummyAnswer::Refused => DummyReaction::Refused,
            DummyAnswer::Dropped => DummyReaction::Dropped,
        },
        wrong_icrc: match findings.wrong_icrc {
            IcrcAnswer::Dropped => WrongIcrc::Dropped,
            IcrcAnswer::Nak => WrongIcrc::Nak,
            IcrcAnswer::Accepted => WrongIcrc::Accepted,
        },
    }
}

fn formula(findings: &Findings) -> Option<TimerFormula> {
    let codes = findings.timers.iter().map(|(code, _)| *code);
    let periods: Vec<_> = codes.filter_map(|code| Some((code, findings.period(code)?))).collect();
    TimerFormula::fit(&periods)
}

/// What was played, what the NIC did, and what the profile says.
fn report(findings: &Findings, profile: &NicProfile) -> String {
    let time = |span: Span| human::time_ns(span.as_ns() as f64);
    let wait = |span: Option<Span>| span.map_or("-".to_owned(), time);
    let said = |value: &dyn Said| value.said();
    let mut rows = Vec::new();
    let mut row = |what: &str, seen: String, field: String| rows.push(vec![what.to_owned(), seen, field]);
    let Findings { naks_in_rounds: [first, again], .. } = *findings;
    let (requester, responder) = (&profile.requester, &profile.responder);
    row("first packet lost, twice", format!("{first} NAK, then {again}"), said(&responder.nak));
    row("middle packet lost", format!("{} NAK", findings.middle_naks), said(&responder.out_of_order));
    row("two packets exchanged", format!("{} NAKs", findings.reordering_naks), said(&responder.out_of_order));
    let tail = format!("{} NAK, {} after a dummy", findings.tail_naks, findings.dummy_naks);
    row("last packet lost", tail, said(&responder.dummies));
    row("eight duplicates", format!("{} ACKs", findings.duplicate_acks), said(&responder.duplicates));
    let round_trip = wait(median(&findings.round_trips));
    row("64 packets that ask for an ACK", format!("in {round_trip}"), said(&responder.acks));
    row("wrong ICRC", String::new(), said(&responder.wrong_icrc));
    let no_buffer = if findings.nak_after_rnr.is_some() { "" } else { "not measured" };
    row("no receive buffer", no_buffer.to_owned(), said(&responder.no_buffer));
    let window = findings.window.map_or("whole message".to_owned(), |window| format!("{window} packets"));
    row("no ACK", format!("{window} in flight"), said(&requester.window));
    let asks = findings.ack_every.map_or("never".to_owned(), |number| format!("packet {number}"));
    row("first request for an ACK", asks, requester.ack_every.get().to_string());
    let copies = format!("{} rounds in {}", findings.rounds_after_copies, wait(findings.nak_wait));
    row("NAK and two copies", copies, said(&requester.after_nak));
    row("second NAK before an ACK", wait(findings.second_nak_wait), said(&requester.repeated_naks));
    let gap = if findings.read_gap_waits.is_some() { "" } else { "not measured" };
    row("READ response lost", gap.to_owned(), said(&requester.read_gap));
    let offset = findings.timer_offset.map_or("not measured".to_owned(), |(idle, waited)| {
        format!("{} after {} of silence", time(waited), time(idle))
    });
    row("timer after the last ACK", offset, said(&profile.timer.after_last_ack));
    for (code, periods) in &findings.timers {
        let seen = format!("{} (median of {})", wait(median(periods)), periods.len());
        let expected = formula(findings).map(|formula| formula.period(*code));
        row(&format!("timer with code {code}"), seen, wait(expected));
    }
    row("retries if asked for 7", String::new(), said(&requester.retry_7));
    text_table(&["played", "seen", "profile"], &rows, terminal::stdout())
}

/// A value as the profile spells it.
trait Said {
    fn said(&self) -> String;
}

impl<T: serde::Serialize> Said for T {
    fn said(&self) -> String {
        wiremend_scenario::spelled(self)
    }
}
