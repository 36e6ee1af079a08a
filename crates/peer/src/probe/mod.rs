//! Finds out how a NIC behaves: plays losses of each kind, duplicates, disorder, errors and silence, and reports the
//! answers.
//!
//! The peer runs programs of perftest. `ib_send_lat` answers each SEND by a SEND, so one connection shows both halves of
//! the NIC: the answers of its responder to this end's messages, and the retransmissions of its requester. Each
//! connection has another timeout code. `ib_read_lat` there has no receive buffers, and its client reads from this end.
//!
//! Where the order of answers decides, no clock does: a duplicate of an old packet is answered after everything before
//! it. Times are compared with a timeout of a second.

mod findings;
mod pair;
mod reads;
mod requester;
mod responder;
mod set_up;
mod timer;

use std::net::{IpAddr, SocketAddr, TcpListener};

use wiremend_units::{Span, Time};

pub use self::findings::{DummyAnswer, Findings, IcrcAnswer, RetryLimit, median};
pub use self::pair::MESSAGE_PACKETS;
use self::pair::ScriptedPair;
pub use self::timer::TimerFormula;
use crate::host::{Host, HostSettings, LocalInterface, PeerError};
use crate::perftest::Tool;

/// Timeout code of the connection that compares times: 1.07 s.
pub const LONG_CODE: u8 = 18;
/// Timeout codes of the connections that measure the timer, the one on which retries are counted last.
pub const TIMER_CODES: [u8; 4] = [14, 12, 10, 8];
/// Messages of each connection, in each direction.
pub const ITERATIONS: u32 = 6;
/// Resends that give the periods of a timer.
const EXPIRIES: usize = 5;

/// What to probe.
#[derive(Debug)]
pub struct Probe {
    /// The peer.
    pub peer: IpAddr,
    /// The interface; `None`: the one to which the route leads.
    pub interface: Option<LocalInterface>,
    /// The connection with timeout code t has the TCP port `port + t`; the peer's `ib_read_lat` listens at `port`, and so
    /// does this end.
    pub port: u16,
    /// Path MTU.
    pub mtu: u16,
    /// Longest wait for the peer's programs to start.
    pub wait: Span,
    /// Whether to use `ib_read_lat` too.
    pub reads: bool,
    /// Settings of the host.
    pub host: HostSettings,
}

/// Bytes of a message.
pub const fn message_bytes(mtu: u16) -> u32 {
    MESSAGE_PACKETS * mtu as u32
}

/// Probes a peer. Calls `progress` before each step.
pub fn run(mut probe: Probe, progress: &mut dyn FnMut(&str)) -> Result<Findings, PeerError> {
    let interface = match &probe.interface {
        Some(interface) => interface.clone(),
        None => LocalInterface::towards(probe.peer)?,
    };
    let listen = SocketAddr::new(interface.ip, probe.port);
    let listener = TcpListener::bind(listen)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|error| PeerError::Listen(listen, error))?;
    let mut host = Host::open(std::mem::take(&mut probe.host), interface)?;
    let mut findings = Findings::default();
    let result = steps(&probe, &mut host, &listener, &mut findings, progress);
    host.finish()?;
    result.map(|()| findings)
}

fn steps(
    probe: &Probe,
    host: &mut Host,
    listener: &TcpListener,
    findings: &mut Findings,
    progress: &mut dyn FnMut(&str),
) -> Result<(), PeerError> {
    let timeout = reactions(probe, host, findings, progress)?;
    for code in TIMER_CODES {
        timer(probe, host, findings, code, progress)?;
    }
    if probe.reads {
        progress("no receive buffer");
        let (mut pair, mut exchange) =
            set_up::connect(host, server(probe, 0), Tool::ReadLat, probe.mtu, probe.wait)?;
        responder::no_buffer(&mut pair, findings)?;
        set_up::close(&mut pair, &mut exchange)?;
        progress("READ: a response is lost");
        let (mut pair, mut exchange) = set_up::accept(host, listener, Tool::ReadLat, probe.mtu, probe.wait)?;
        reads::gap(&mut pair, findings, ITERATIONS, timeout)?;
        set_up::close_client(&mut pair, &mut exchange)?;
    }
    Ok(())
}

fn server(probe: &Probe, code: u8) -> SocketAddr {
    SocketAddr::new(probe.peer, probe.port.saturating_add(u16::from(code)))
}

/// A step of the first connection: a message here, and one of the peer.
type Step = (
    &'static str,
    fn(&mut ScriptedPair<'_>, &mut Findings, u32) -> Result<(), PeerError>,
    fn(&mut ScriptedPair<'_>, &mut Findings, Span) -> Result<(), PeerError>,
);

/// Plays everything that does not depend on the timeout. Returns the timeout of the peer.
fn reactions(
    probe: &Probe,
    host: &mut Host,
    findings: &mut Findings,
    progress: &mut dyn FnMut(&str),
) -> Result<Span, PeerError> {
    progress("waiting for the peer's programs");
    let (mut pair, mut exchange) =
        set_up::connect(host, server(probe, LONG_CODE), Tool::SendLat, probe.mtu, probe.wait)?;
    findings.mtu = pair.mtu;
    let count = MESSAGE_PACKETS;
    progress("duplicates; silence until the timer expires");
    responder::duplicates(&mut pair, findings, count)?;
    let timeout = requester::silence(&mut pair, findings)?;
    let plain: fn(&mut ScriptedPair<'_>, &mut Findings, Span) -> Result<(), PeerError> =
        |pair, _, _| pair.receive_message().map(drop);
    let steps: [Step; 4] = [
        (
            "many acknowledgements; NAKs, copies of a NAK, a second gap",
            responder::acknowledgements,
            requester::naks,
        ),
        ("the first packet is lost, and lost again", responder::first_packet, plain),
        ("two packets change places; a wrong ICRC", two_faults, plain),
        ("a packet in the middle is lost", responder::middle_packet, plain),
    ];
    for (name, ours, theirs) in steps {
        progress(name);
        ours(&mut pair, findings, count)?;
        theirs(&mut pair, findings, timeout)?;
    }
    let acknowledged_at: Time = pair.now();
    progress("the last packet is lost; dummies; does the timer run on?");
    pair.pause(timeout / 2)?;
    responder::tail_and_dummy(&mut pair, findings, count)?;
    if findings.dummies == DummyAnswer::Refused {
        // The peer's queue pair is in error.
        return Ok(timeout);
    }
    requester::after_last_ack(&mut pair, findings, timeout, acknowledged_at)?;
    set_up::close(&mut pair, &mut exchange)?;
    Ok(timeout)
}

/// Both faults are repaired before the message is delivered.
fn two_faults(pair: &mut ScriptedPair<'_>, findings: &mut Findings, count: u32) -> Result<(), PeerError> {
    responder::wrong_icrc(pair, findings)?;
    responder::reordering(pair, findings, count)
}

/// Measures the timer with this code.
fn timer(
    probe: &Probe,
    host: &mut Host,
    findings: &mut Findings,
    code: u8,
    progress: &mut dyn FnMut(&str),
) -> Result<(), PeerError> {
    progress(&format!("the timer with code {code}"));
    let server = server(probe, code);
    let (mut pair, mut exchange) = set_up::connect(host, server, Tool::SendLat, probe.mtu, probe.wait)?;
    let is_last = TIMER_CODES.last() == Some(&code);
    let mut all = Vec::new();
    for number in 0..ITERATIONS {
        pair.deliver(0, MESSAGE_PACKETS)?;
        match number {
            1 => all.extend(requester::periods(&mut pair, EXPIRIES)?),
            _ if is_last && number + 1 == ITERATIONS => {
                progress(&format!("retries with code {code}"));
                let (periods, limit) = requester::retries(&mut pair)?;
                all.extend(periods);
                findings.retries = Some(limit);
            }
            _ => drop(pair.receive_message()?),
        }
    }
    findings.timers.push((code, all));
    if is_last && findings.retries != Some(RetryLimit::None) {
        // The peer's queue pair is in error.
        return Ok(());
    }
    set_up::close(&mut pair, &mut exchange)
}
