//! A client whose queue pair the connection manager sets up: perftest with `-R`, `rping` and `ucmatose`.

use wiremend_units::{Span, Time};
use wiremend_wire::{CmAddresses, CmReject, CmReply, CmRequest};

use super::READS_MAX;
use super::client::Client;
use super::control_pair::ControlPair;
use super::exchange::Exchange;
use crate::connection_manager::{CmEvent, ConnectionId};
use crate::endpoint::PairSettings;
use crate::host::{Host, PeerError};
use crate::path::Path;
use crate::perftest::{Keys, Tool};
use crate::queue_pair::Remote;
use crate::region::{Access, Slice};

/// Attempts while nobody serves: perftest listens a moment after it has said so.
const ATTEMPTS: u32 = 100;
const ATTEMPT_INTERVAL: Span = Span::from_ms(100);
/// Longest wait for the other end to disconnect.
const END_MAX: Span = Span::from_ms(10_000);
/// Port of this end in a request. Nothing listens there.
const SOURCE_PORT: u16 = 0xC000;
/// Exponent of the shortest timeout: 4.096 µs.
const TIMEOUT_UNIT_NS: u64 = 4096;

/// An accepted request.
pub(super) struct Accepted {
    pub(super) id: ConnectionId,
    pub(super) reply: CmReply,
    pub(super) path: Path,
}

/// Asks the server for a connection with the queue pair `own`.
pub(super) fn request(client: &Client, host: &mut Host, own: &Keys, mtu: u16) -> Result<Accepted, PeerError> {
    let (server, tool) = (client.server, client.tool);
    let path = host.path_to(server.ip(), own.pair)?;
    let timeout = client.connection.timeout.map_or(0, |timeout| timeout.as_ns() / TIMEOUT_UNIT_NS);
    let request = CmRequest {
        local_id: 0,
        service: CmAddresses::service_of(server.port()),
        transport: 0,
        pair: own.pair,
        psn: own.psn,
        responder_resources: READS_MAX as u8,
        initiator_depth: READS_MAX as u8,
        retries: client.connection.retry_count.min(7),
        rnr_retries: client.connection.rnr_retry,
        timeout: timeout.checked_ilog2().unwrap_or(0).min(31) as u8,
        mtu: (mtu.ilog2() - 7) as u8,
        ports: [path.local_ip, path.remote_ip],
        addresses: Some(CmAddresses {
            source_port: SOURCE_PORT,
            source: path.local_ip,
            destination: path.remote_ip,
        }),
    };
    let mut attempts = 0;
    loop {
        let now = host.now();
        let id = host.endpoint.manager_mut().connect(now, path, request);
        let id = id.expect("one of the first connections of an endpoint");
        match await_event(host, id, Time::MAX)? {
            Some(CmEvent::Replied { id, reply }) => return Ok(Accepted { id, reply, path }),
            Some(CmEvent::Rejected { reason, .. }) => {
                attempts += 1;
                let may_listen_soon = reason == CmReject::INVALID_SERVICE && !tool.needs_manager();
                if !may_listen_soon || attempts == ATTEMPTS {
                    return Err(PeerError::Rejected { peer: server, reason });
                }
            }
            _ => return Err(PeerError::Silent { peer: server, awaited: "its connection manager's reply" }),
        }
        let again_at = host.now().saturating_add(ATTEMPT_INTERVAL);
        while host.now() < again_at {
            host.turn()?;
        }
    }
}

/// Opens the queue pair for the messages of perftest with `-R`.
pub(super) fn exchange(client: &Client, host: &mut Host) -> Result<Exchange, PeerError> {
    let mtu = client.connection.mtu.min(host.interface().path_mtu());
    let number = host.endpoint.next_pair().expect("the first queue pair of an endpoint").number();
    let (psn, ip) = (host.draw_psn(), host.interface().ip);
    let own = Keys { out_reads: 0, pair: number, psn, rkey: 0, address: 0, ip };
    let accepted = request(client, host, &own, mtu)?;
    let settings = PairSettings {
        config: client.connection.config(mtu, 1, false),
        merges_acks: client.connection.merges_acks,
        first_psn: accepted.reply.psn,
        access: Access::NONE,
    };
    let remote = Remote { path: accepted.path, pair: accepted.reply.pair, first_psn: psn };
    let pair = host.endpoint.connect(settings, remote).expect("the first queue pair of an endpoint");
    let memory = ControlPair::memory(host);
    let control = ControlPair::new(host, pair, accepted.id, memory);
    host.endpoint.manager_mut().ready(accepted.id);
    Ok(Exchange::over(control, client.server).with_patience(client.connection.silence_max))
}

/// Ends the connections: each program has its way. The server of perftest ends that of the data, and of `ucmatose`
/// its only one.
pub(super) fn end(
    client: &Client,
    host: &mut Host,
    data: &[ConnectionId],
    exchange: Option<&mut Exchange>,
) -> Result<(), PeerError> {
    let deadline = host.now().saturating_add(END_MAX);
    let mut open: Vec<ConnectionId> = data.to_vec();
    while client.tool != Tool::Rping && !open.is_empty() {
        let Some(event) = await_any(host, &open, deadline)? else { break };
        open.retain(|id| *id != event.id());
    }
    for id in open {
        disconnect(host, id)?;
    }
    if let Some(control) = exchange.and_then(Exchange::control) {
        disconnect(host, control.id)?;
    }
    flush(host)
}

fn disconnect(host: &mut Host, id: ConnectionId) -> Result<(), PeerError> {
    let now = host.now();
    if host.endpoint.manager_mut().disconnect(now, id) {
        await_event(host, id, Time::MAX)?;
    }
    Ok(())
}

/// Sends what waits.
fn flush(host: &mut Host) -> Result<(), PeerError> {
    while host.endpoint.manager().has_output() {
        host.turn()?;
    }
    host.turn()
}

/// Waits for an event of a connection. Messages are repeated a bounded number of times, so one comes.
fn await_event(host: &mut Host, id: ConnectionId, deadline: Time) -> Result<Option<CmEvent>, PeerError> {
    await_any(host, &[id], deadline)
}

fn await_any(host: &mut Host, ids: &[ConnectionId], deadline: Time) -> Result<Option<CmEvent>, PeerError> {
    loop {
        while let Some(event) = host.endpoint.manager_mut().poll_event() {
            if ids.contains(&event.id()) {
                return Ok(Some(event));
            }
        }
        if host.now() > deadline {
            return Ok(None);
        }
        host.turn()?;
        while host.endpoint.poll_event().is_some() {}
    }
}

/// The text that ping number `number` of `rping` carries: letters, and NUL at the end.
pub(super) fn fill(memory: &mut [u8], number: u64) {
    const FIRST: u8 = b'A';
    const LETTERS: u64 = 58;
    for (byte, at) in memory.iter_mut().zip(number..) {
        *byte = FIRST + (at % LETTERS) as u8;
    }
    if let Some(last) = memory.last_mut() {
        *last = 0;
    }
}

/// Memory of a client of `rping`, in three parts: messages, source, target.
pub(super) struct Parts {
    pub(super) messages: [Slice; 2],
    pub(super) source: Slice,
    pub(super) target: Slice,
}

impl Parts {
    /// Number of parts.
    pub(super) const COUNT: u64 = 3;

    /// Parts of a region whose parts have `part` bytes. Received messages are at the start.
    pub(super) fn new(inbound: Slice, part: u32, size: u32) -> Self {
        let message = super::rping::Advertisement::BYTES as u32;
        let at = |offset: u64, len: u32| Slice { offset, len, ..inbound };
        let middle = u64::from(part / 2);
        Self {
            messages: [at(middle, message), at(middle + u64::from(message), message)],
            source: at(u64::from(part), size),
            target: at(2 * u64::from(part), size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_carry_different_texts_that_end_with_nul() {
        let (mut first, mut second) = ([0; 100], [0; 100]);
        fill(&mut first, 0);
        fill(&mut second, 1);
        assert!(first != second && first[99] == 0 && second[99] == 0);
        assert!(first[..99].iter().all(u8::is_ascii_graphic));
    }
}
