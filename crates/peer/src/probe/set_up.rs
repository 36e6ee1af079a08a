//! Connections of a probe, set up with the messages of perftest.

use std::net::{SocketAddr, TcpListener};
use std::thread::park_timeout;
use std::time::Duration;

use wiremend_units::Span;

use super::pair::ScriptedPair;
use crate::host::{Host, PeerError};
use crate::perftest::{
    CACHE_LINE, CYCLE_BUFFER, DONE, KEYS_BYTES, Keys, Tool, VERSION, mtu_message, parse_mtu,
};
use crate::region::Access;
use crate::session::{Exchange, swap_keys};

/// Time between attempts to connect.
const STEP: Duration = Duration::from_millis(100);

/// Connects to a server of perftest, for which it waits, and exchanges keys.
pub(super) fn connect(
    host: &mut Host,
    server: SocketAddr,
    tool: Tool,
    mtu: u16,
    wait: Span,
) -> Result<(ScriptedPair<'_>, Exchange), PeerError> {
    let until = host.now().saturating_add(wait);
    let mut exchange = loop {
        match Exchange::connect(server) {
            Ok(exchange) => break exchange,
            Err(error) if host.now() >= until => return Err(error),
            Err(_) => {
                // Takes what arrives, and heeds a wish to stop.
                host.turn()?;
                park_timeout(STEP);
            }
        }
    };
    exchange.write(&VERSION)?;
    exchange.read::<16>(host, "its version")?;
    for number in [CYCLE_BUFFER, CACHE_LINE] {
        exchange.write(&number.to_be_bytes())?;
        exchange.read::<4>(host, "its buffer size")?;
    }
    let mtu = mtu.min(host.interface().path_mtu());
    exchange.write(&mtu_message(mtu))?;
    let theirs = exchange.read::<2>(host, "its MTU")?;
    let unexpected = PeerError::Unexpected { peer: server, awaited: "an MTU" };
    let mtu = mtu.min(parse_mtu(&theirs).ok_or(unexpected)?);
    let own = keys(host);
    let peer = swap_keys(host, &mut exchange, &own)?;
    for _ in 1..tool.key_rounds() {
        swap_keys(host, &mut exchange, &own)?;
    }
    Ok((ScriptedPair::new(host, own, peer, mtu)?, exchange))
}

/// Ends the exchange as the program does.
pub(super) fn close(pair: &mut ScriptedPair<'_>, exchange: &mut Exchange) -> Result<(), PeerError> {
    swap_keys(pair.host, exchange, &pair.own)?;
    exchange.write(&DONE)
}

/// Takes a client of perftest, for which it waits, and exchanges keys.
pub(super) fn accept<'h>(
    host: &'h mut Host,
    listener: &TcpListener,
    tool: Tool,
    mtu: u16,
    wait: Span,
) -> Result<(ScriptedPair<'h>, Exchange), PeerError> {
    let until = host.now().saturating_add(wait);
    let mut exchange = loop {
        match listener.accept() {
            Ok((stream, peer)) => break Exchange::new(stream, peer)?,
            Err(_) if host.now() < until => host.turn()?,
            Err(_) => {
                let address = listener.local_addr().map_err(PeerError::io("use the listening socket"))?;
                return Err(PeerError::Silent { peer: address, awaited: "a client of perftest" });
            }
        }
    };
    exchange.read::<16>(host, "its version")?;
    exchange.write(&VERSION)?;
    for number in [CYCLE_BUFFER, CACHE_LINE] {
        exchange.read::<4>(host, "its buffer size")?;
        exchange.write(&number.to_be_bytes())?;
    }
    let mtu = mtu.min(host.interface().path_mtu());
    let theirs = exchange.read::<2>(host, "its MTU")?;
    exchange.write(&mtu_message(mtu))?;
    let unexpected = PeerError::Unexpected { peer: exchange.peer, awaited: "an MTU" };
    let mtu = mtu.min(parse_mtu(&theirs).ok_or(unexpected)?);
    let own = keys(host);
    let mut peer = None;
    for _ in 0..tool.key_rounds() {
        peer = Some(answer_keys(host, &mut exchange, &own)?);
    }
    let peer = peer.expect("every tool exchanges keys");
    Ok((ScriptedPair::new(host, own, peer, mtu)?, exchange))
}

/// Ends the exchange with a client.
pub(super) fn close_client(pair: &mut ScriptedPair<'_>, exchange: &mut Exchange) -> Result<(), PeerError> {
    answer_keys(pair.host, exchange, &pair.own)?;
    exchange.read::<5>(pair.host, "its end")?;
    exchange.write(&DONE)
}

fn answer_keys(host: &mut Host, exchange: &mut Exchange, own: &Keys) -> Result<Keys, PeerError> {
    let message = exchange.read::<KEYS_BYTES>(host, "its keys")?;
    exchange.write(&own.to_bytes())?;
    Keys::parse(&message).ok_or(PeerError::Unexpected { peer: exchange.peer, awaited: "keys of perftest" })
}

/// The parameters of the next queue pair. Its memory is never touched: every packet is written by hand.
fn keys(host: &mut Host) -> Keys {
    let region = host.endpoint.register(1 << 20, Access::ALL);
    let (address, rkey) = host.endpoint.address_and_key(region);
    let id = host.endpoint.next_pair().expect("the endpoint has no queue pair");
    Keys { out_reads: 1, pair: id.number(), psn: host.draw_psn(), rkey, address, ip: host.interface().ip }
}
