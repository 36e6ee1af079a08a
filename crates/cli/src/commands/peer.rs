//! `wiremend peer`: an endpoint that speaks with kernels and NICs.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;
use wiremend_peer::Settings;
use wiremend_peer::host::{FaultRules, HostSettings, LocalInterface, PeerError};
use wiremend_peer::perftest::{Keys, PORT, Tool};
use wiremend_peer::session::{
    Client, ConnectionSettings, Outcome, Role, Server, ServerSettings, ServerStatus, SetUp, run_client,
};
use wiremend_proto::cc::dcqcn::Parameters;
use wiremend_proto::engine::Op;
use wiremend_proto::rc::Config;
use wiremend_report::{human, text_table};
use wiremend_scenario::{FirstPsn, NicProfile};
use wiremend_sim::apply_profile;
use wiremend_units::{Bytes, Psn, Span};
use wiremend_wire::{Ecn, TrafficClass};

use super::peer_live::{self, LiveTable};
use super::peer_probe;
use crate::args::peer::{Peer, PeerClient, PeerCommand, PeerCommon, PeerPing, PeerServe, PingWith, ServeFor};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

/// Packets between requests for an acknowledgement, as soft-RoCE nearly has it.
const ACK_EVERY: u32 = 64;
/// Longest message that the command line takes.
const SIZE_MAX: Bytes = Bytes::new(1 << 30);

pub(crate) fn run(args: &Peer) -> Result<Answer, Failure> {
    signals::catch()?;
    let tool = match &args.command {
        PeerCommand::Serve(args) => return serve(args),
        PeerCommand::Ping(args) => return ping(args),
        PeerCommand::Probe(args) => return peer_probe::run(args),
        PeerCommand::Write(_) => Tool::WriteBw,
        PeerCommand::Send(_) => Tool::SendBw,
        PeerCommand::Read(_) => Tool::ReadBw,
        PeerCommand::Atomic(_) => Tool::AtomicBw,
    };
    let Some(args) = args.command.client() else { return Ok(Answer::Yes) };
    let PeerClient { host, size, iterations, depth, pairs, bidirectional, cm, json, .. } = *args;
    if tool == Tool::AtomicBw && bidirectional {
        return Err(Failure::Input("--bidirectional: not for atomic operations".to_owned()));
    }
    let (pairs, managed, both_ways) = (usize::from(pairs), cm, bidirectional);
    measure(&Test { tool, host, size, iterations, depth, pairs, both_ways, managed, json }, &args.common)
}

fn ping(args: &PeerPing) -> Result<Answer, Failure> {
    let tool = match args.with {
        PingWith::Send => Tool::SendLat,
        PingWith::Write => Tool::WriteLat,
        PingWith::Read => Tool::ReadLat,
        PingWith::Pingpong => Tool::Pingpong,
        PingWith::Rping => Tool::Rping,
        PingWith::Ucmatose => Tool::Ucmatose,
    };
    let PeerPing { host, size, iterations, cm, json, .. } = *args;
    // `ucmatose` answers when it has all.
    let depth = if tool == Tool::Ucmatose { iterations.unwrap_or(tool.default_iterations()) } else { 1 };
    let managed = cm || tool.needs_manager();
    if managed && tool == Tool::Pingpong {
        return Err(Failure::Input("--cm: ibv_rc_pingpong does not use the connection manager".to_owned()));
    }
    if tool.needs_manager() && args.common.by_hand {
        return Err(Failure::Input(format!("--by-hand: {} uses the connection manager", tool.name())));
    }
    measure(
        &Test { tool, host, size, iterations, depth, pairs: 1, both_ways: false, managed, json },
        &args.common,
    )
}

/// What a client runs.
struct Test {
    tool: Tool,
    host: IpAddr,
    size: Option<Bytes>,
    iterations: Option<u64>,
    depth: u64,
    pairs: usize,
    both_ways: bool,
    managed: bool,
    json: bool,
}

/// Messages of `rping` and `ucmatose` that this end can have in flight or in its buffers.
const MANAGED_SIZE_MAX: u32 = 65_535;
const UCMATOSE_MAX: u64 = 512;

fn measure(test: &Test, common: &PeerCommon) -> Result<Answer, Failure> {
    let Test { tool, host, depth, pairs, both_ways, managed, json, .. } = *test;
    let size = check_size(test.size.unwrap_or(Bytes::new(u64::from(tool.default_size()))))?;
    let iterations = test.iterations.unwrap_or(tool.default_iterations());
    if tool == Tool::AtomicBw && size != tool.default_size() {
        return Err(Failure::Input(format!("--size: an atomic operation has 8 bytes, not {size}")));
    }
    if tool == Tool::Rping && size > MANAGED_SIZE_MAX {
        return Err(Failure::Input(format!(
            "--size: rping has at most {MANAGED_SIZE_MAX} bytes, not {size}"
        )));
    }
    if tool == Tool::Ucmatose && iterations > UCMATOSE_MAX {
        return Err(Failure::Input(format!(
            "--iterations: at most {UCMATOSE_MAX} with ucmatose, not {iterations}"
        )));
    }
    let client = Client {
        server: SocketAddr::new(host, common.port.unwrap_or(tool.port())),
        tool,
        interface: interface(common, Some(host))?,
        size,
        iterations,
        depth,
        pairs,
        both_ways,
        managed,
        connection: connection(common)?,
        host: host_settings(common)?,
    };
    let mut ask = ask_by_hand;
    let set_up = if common.by_hand { SetUp::ByHand(&mut ask) } else { SetUp::Tcp };
    let all = iterations * pairs as u64;
    let mut table = LiveTable::start();
    let outcome = run_client(client, set_up, &mut |live| {
        table.update(|| format!("{} of {} messages", human::count(live.done), human::count(all)), Some(live));
    });
    table.end();
    let outcome = outcome.map_err(failure)?;
    if json {
        let text = serde_json::to_string_pretty(&Summary::new(&outcome)).expect("plain values");
        terminal::print(&format!("{text}\n"))?;
    } else {
        terminal::print(&rendered(&outcome))?;
    }
    Ok(Answer::Yes)
}

fn serve(args: &PeerServe) -> Result<Answer, Failure> {
    let of_manager = match args.tool {
        Some(ServeFor::Rping) => Some(Tool::Rping),
        Some(ServeFor::Ucmatose) => Some(Tool::Ucmatose),
        _ => None,
    };
    let port = args.common.port.unwrap_or(of_manager.map_or(PORT, Tool::port));
    let listen = SocketAddr::new(args.listen.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), port);
    let settings = ServerSettings {
        listen,
        interface: interface(&args.common, args.listen)?,
        role: match args.tool {
            Some(ServeFor::WriteBw) if args.bidirectional => Role::BothWays(Op::Write),
            Some(ServeFor::SendBw) if args.bidirectional => Role::BothWays(Op::Send),
            Some(ServeFor::ReadBw) if args.bidirectional => Role::BothWays(Op::Read),
            Some(tool) if args.bidirectional => return Err(not_both_ways(tool)),
            None | Some(ServeFor::WriteBw | ServeFor::SendBw | ServeFor::ReadBw) => Role::Receive,
            Some(ServeFor::SendLat) => Role::AnswerSends,
            Some(ServeFor::WriteLat) => Role::AnswerWrites,
            Some(ServeFor::Rping) => Role::Rping,
            Some(ServeFor::Ucmatose) => Role::Ucmatose,
        },
        size: args.size.map(check_size).transpose()?,
        iterations: args.iterations,
        clients_max: args.clients,
        connection: connection(&args.common)?,
        host: host_settings(&args.common)?,
    };
    if let Some(tool) = of_manager.filter(|_| settings.interface.is_none() || args.common.by_hand) {
        return Err(Failure::Input(format!(
            "peer: --for {} needs --interface IF, whose connection manager takes the request",
            tool.name()
        )));
    }
    if args.common.by_hand && settings.interface.is_none() {
        return Err(Failure::Input(
            "peer: --by-hand needs --interface IF, whose address the peer must know".to_owned(),
        ));
    }
    let mut server = Server::start(settings).map_err(failure)?;
    if args.common.by_hand {
        server.connect_by_hand(&mut ask_by_hand).map_err(failure)?;
    }
    let mut table = LiveTable::start();
    let ended = loop {
        if server.is_finished() {
            break Ok(());
        }
        if let Err(error) = server.turn() {
            break Err(error);
        }
        table.update(|| described(&server.status()), server.live().as_ref());
    };
    table.end();
    server.finish().map_err(failure)?;
    let causes = peer_live::causes_line(server.causes());
    terminal::print(&format!("{}\n{causes}", described(&server.status())))?;
    match ended {
        // A server without an end is stopped by a signal.
        Ok(()) | Err(PeerError::Stopped) => {
            Ok(if server.status().failed == 0 { Answer::Yes } else { Answer::No })
        }
        Err(error) => Err(failure(error)),
    }
}

fn not_both_ways(tool: ServeFor) -> Failure {
    let named = tool.to_possible_value();
    let name = named.as_ref().map_or("another program", |value| value.get_name());
    Failure::Input(format!(
        "peer: --bidirectional: not for {name}; it needs --for ib_write_bw, ib_send_bw or ib_read_bw"
    ))
}

/// Prints own parameters and reads the peer's.
fn ask_by_hand(own: &Keys) -> Result<Keys, PeerError> {
    let bad = |why: String| PeerError::Io {
        what: "read the peer's parameters from stdin".to_owned(),
        source: io::Error::other(why),
    };
    terminal::print_message(&own.to_string());
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(|error| bad(error.to_string()))?;
    line.trim_start().trim_start_matches("wiremend:").parse().map_err(bad)
}

fn described(status: &ServerStatus) -> String {
    let ServerStatus { served, clients, received, failed, frames_in, frames_out, dropped, ignored } = *status;
    let ignored = match ignored {
        0 => String::new(),
        ignored => format!(", {ignored} management datagrams ignored"),
    };
    format!(
        "{served} clients served, {clients} connected, {failed} failed; {received} messages received; {frames_in} frames \
         in, {frames_out} out, {dropped} dropped on purpose{ignored}"
    )
}

fn interface(common: &PeerCommon, like: Option<IpAddr>) -> Result<Option<LocalInterface>, Failure> {
    common.interface.as_deref().map(|name| LocalInterface::by_name(name, like).map_err(failure)).transpose()
}

fn connection(common: &PeerCommon) -> Result<ConnectionSettings, Failure> {
    let mut config = Config {
        timeout: Some(common.timeout).filter(|timeout| *timeout > Span::ZERO),
        retry_count: common.retries,
        window: common.window,
        ack_every: ACK_EVERY,
        ..Config::default()
    };
    let mut merges_acks = true;
    if let Some(name) = &common.profile {
        let profile = profile(name)?;
        let applied = apply_profile(&profile, &mut config);
        merges_acks = applied.map_err(|why| Failure::Input(format!("--profile {name}: {why}")))?;
    }
    Ok(ConnectionSettings {
        mtu: common.mtu,
        timeout: config.timeout,
        retry_count: config.retry_count,
        rnr_retry: 7,
        silence_max: common.silence,
        window: config.window,
        dummies: common.dummies,
        tail_copies: common.tail_copies,
        ack_every: config.ack_every,
        merges_acks,
        profile: config.profile,
    })
}

/// Reads a profile of the program or of a file.
fn profile(name: &str) -> Result<NicProfile, Failure> {
    let shipped = NicProfile::shipped(name).map_err(|why| Failure::Input(format!("--profile: {why}")))?;
    let text = match shipped {
        Some(text) => text.to_owned(),
        None => fs::read_to_string(name).map_err(|error| Failure::unreadable(name, &error))?,
    };
    NicProfile::read(name, &text).map_err(|error| Failure::Input(error.to_string()))
}

fn host_settings(common: &PeerCommon) -> Result<HostSettings, Failure> {
    let mut faults = FaultRules {
        drops: common.drop.clone(),
        doubles: common.double.clone(),
        delays: common.delay.clone(),
        seed: common.seed,
        ..FaultRules::default()
    };
    if let Some(path) = &common.faults {
        add_impairments(&mut faults, path)?;
    }
    Ok(HostSettings {
        endpoint: Settings {
            nak_copies: common.nak_copies,
            resend_copies: common.resend_copies,
            dcqcn: common.dcqcn.map(|line| (Parameters::PAPER, line)),
            seed: std::process::id(),
        },
        faults,
        capture: common.pcap.clone(),
        class: TrafficClass {
            dscp: common.dscp,
            ecn: if common.dcqcn.is_some() { Ecn::Ect0 } else { Ecn::NotEct },
        },
        stop: signals::stop(),
    })
}

/// Adds the impairments of a scenario.
fn add_impairments(rules: &mut FaultRules, path: &Path) -> Result<(), Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(&name, &error))?;
    let invalid = |error: wiremend_scenario::Error| Failure::Input(format!("--faults: {error}"));
    let file = wiremend_scenario::load(&name, &text, &[]).map_err(invalid)?;
    let made = wiremend_sim::impairments(&file.scenario);
    rules.impairments = made.map_err(|error| invalid(file.error(error.place, error.what)))?;
    if let FirstPsn::Number(number) = file.scenario.transport.first_psn {
        rules.first_psn = Psn::new(number.get());
    }
    if file.scenario.impairs.is_empty() {
        return Err(Failure::Input(format!("--faults: {name} has no [[impair]] table")));
    }
    Ok(())
}

fn check_size(size: Bytes) -> Result<u32, Failure> {
    if size == Bytes::new(0) || size > SIZE_MAX {
        return Err(Failure::Input(format!(
            "--size: a message has 1 to {} bytes, not {}",
            SIZE_MAX.get(),
            size.get()
        )));
    }
    Ok(size.get() as u32)
}

pub(super) fn failure(error: PeerError) -> Failure {
    match error {
        PeerError::Stopped => Failure::Interrupted(signals::caught().unwrap_or(0)),
        other => Failure::Input(format!("peer: {other}")),
    }
}

/// The numbers of a test.
#[derive(Debug, Serialize)]
struct Summary {
    tool: &'static str,
    size: u32,
    messages: u64,
    mtu: u16,
    elapsed_ns: u64,
    mib_per_s: f64,
    /// Half round trips, as in perftest, or times from post to completion.
    half_round_trip: bool,
    min_ns: u64,
    median_ns: u64,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
    max_ns: u64,
    packets: u64,
    retransmitted: u64,
    naks_received: u32,
    dummies: u64,
    copies: u64,
    /// Of all queue pairs.
    frames_in: u64,
    frames_out: u64,
    dropped: u64,
    kernel_drops: u64,
    stalls: Vec<StallRow>,
    stalls_not_listed: u64,
}

/// One expiry of the timer.
#[derive(Debug, Serialize)]
struct StallRow {
    at_ns: u64,
    waited_ns: u64,
    psn: u32,
    cause: String,
}

/// Messages that a percentile needs: ten beyond it.
const BEYOND: f64 = 10.0;

impl Summary {
    fn new(outcome: &Outcome) -> Self {
        let latency = &outcome.latency;
        let quantile = |q: f64| {
            let is_carried = latency.count() as f64 * (1.0 - q) >= BEYOND;
            latency.quantile(q).filter(|_| is_carried)
        };
        let requester = &outcome.requester;
        Self {
            tool: outcome.tool.name(),
            size: outcome.size,
            messages: outcome.messages,
            mtu: outcome.mtu,
            elapsed_ns: outcome.elapsed.as_ns(),
            mib_per_s: outcome.bytes_per_s() / f64::from(1 << 20),
            half_round_trip: outcome.is_half,
            min_ns: latency.min().unwrap_or(0),
            median_ns: latency.quantile(0.5).unwrap_or(0),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: latency.max().unwrap_or(0),
            packets: requester.packets,
            retransmitted: requester.retransmitted_packets,
            naks_received: requester.naks,
            dummies: requester.dummies,
            copies: outcome.copies + requester.repeats,
            frames_in: outcome.frames[0],
            frames_out: outcome.frames[1],
            dropped: outcome.dropped,
            kernel_drops: outcome.kernel_drops,
            stalls: outcome
                .stalls
                .iter()
                .map(|stall| StallRow {
                    at_ns: stall.at.as_ns(),
                    waited_ns: stall.waited.as_ns(),
                    psn: stall.psn,
                    cause: stall.cause.to_string(),
                })
                .collect(),
            stalls_not_listed: outcome.stalls_not_listed,
        }
    }
}

fn rendered(outcome: &Outcome) -> String {
    let summary = Summary::new(outcome);
    let time = |ns: u64| human::time_ns(ns as f64);
    let optional = |ns: Option<u64>| ns.map_or("-".to_owned(), time);
    let headings =
        ["messages", "MiB/s", "min", "median", "p99", "p99.9", "max", "packets", "again", "timeouts"];
    let row = vec![
        human::count(summary.messages),
        format!("{:.1}", summary.mib_per_s),
        time(summary.min_ns),
        time(summary.median_ns),
        optional(summary.p99_ns),
        optional(summary.p999_ns),
        time(summary.max_ns),
        human::count(summary.packets),
        human::count(summary.retransmitted),
        human::count(summary.stalls.len() as u64 + summary.stalls_not_listed),
    ];
    let kind = if summary.half_round_trip { "half of a round trip" } else { "from post to completion" };
    let mut text = format!(
        "{} with messages of {} bytes, MTU {}. Times: {kind}.\n\n{}",
        summary.tool,
        summary.size,
        summary.mtu,
        text_table(&headings, &[row], terminal::stdout()),
    );
    if summary.kernel_drops > 0 {
        let _ = writeln!(
            text,
            "This machine's kernel dropped {} frames, because it was busy.",
            summary.kernel_drops
        );
    }
    for (cause, count) in &outcome.causes {
        let longest = time(outcome.longest(*cause).as_ns());
        let _ =
            writeln!(text, "Timeouts by cause: {cause}: {count}, after at most {longest} without progress.");
    }
    text
}
