//! How a client ends: the last messages of its program, and answers to a peer that may not have everything.

use super::LINGER;
use super::client::{Client, swap_keys};
use super::exchange::Exchange;
use super::outcome::Outcome;
use crate::host::{Host, PeerError};
use crate::perftest::{DONE, Keys, Tool};

/// Ends the exchange as the program does.
pub(super) fn close(
    client: &Client,
    outcome: &Outcome,
    host: &mut Host,
    exchange: &mut Exchange,
    own: &Keys,
) -> Result<(), PeerError> {
    if !client.tool.says_done() {
        return Ok(());
    }
    if !client.both_ways {
        swap_keys(host, exchange, own)?;
    }
    if client.tool.has_reports() || client.both_ways {
        for report in outcome.reports() {
            exchange.write(&report)?;
            exchange.read::<8>(host, "its results")?;
        }
        swap_keys(host, exchange, own)?;
    }
    // With `-R`, both ends disconnect.
    if exchange.control().is_some() { Ok(()) } else { exchange.write(&DONE) }
}

/// Answers a peer that does not tell when it has everything, until it closes its connection or falls silent.
pub(super) fn linger(
    outcome: &Outcome,
    host: &mut Host,
    mut exchange: Option<&mut Exchange>,
) -> Result<(), PeerError> {
    if outcome.tool.says_done() && exchange.is_some() {
        return Ok(());
    }
    let mut frames = host.endpoint.counters().frames;
    let mut heard_at = host.now();
    while host.now().since(heard_at) < LINGER {
        host.turn()?;
        if outcome.tool != Tool::Pingpong && exchange.as_deref_mut().is_some_and(Exchange::is_closed) {
            return Ok(());
        }
        let now = host.endpoint.counters().frames;
        if now > frames {
            (frames, heard_at) = (now, host.now());
        }
    }
    Ok(())
}
