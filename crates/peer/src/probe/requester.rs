//! How the peer sends: each step answers one of its messages with losses, copies or silence.

use wiremend_units::{Psn, Span, Time};

use super::findings::{Findings, RetryLimit};
use super::pair::ScriptedPair;
use crate::host::PeerError;

/// Longest wait for a timer.
const TIMER_MAX: Span = Span::from_ms(20_000);
/// Packets that arrive before the first NAK, or a whole window. The first NAK asks for a packet after a quarter of them,
/// the second after three quarters.
const SEEN_BEFORE_NAK: u32 = 40;
/// Expiries after which retries count as endless. A requester with seven ends before.
const ENDLESS: usize = 10;
/// A requester that was to retry and is silent for so long has given up.
const GIVEN_UP: Span = Span::from_ms(3_000);

/// Answers nothing until the timer expires: how many packets come, which ask for an acknowledgement, and when does the
/// first one come again?
pub(super) fn silence(pair: &mut ScriptedPair<'_>, findings: &mut Findings) -> Result<Span, PeerError> {
    let first = pair.await_request()?;
    let base = first.packet.psn;
    let (mut highest, mut asking) = (0, None);
    let until = first.at.saturating_add(TIMER_MAX);
    let mut seen = Some(first);
    while let Some(one) = seen {
        let index = one.packet.psn.distance(base);
        if index <= 0 && one.at > first.at {
            let timeout = one.at.since(first.at);
            findings.ack_every = asking;
            pair.unread(one);
            let total = pair.receive_message()?;
            let in_flight = highest as u32 + 1;
            findings.window = (in_flight < total).then_some(in_flight);
            findings.message_packets = total;
            return Ok(timeout);
        }
        highest = highest.max(index);
        if one.packet.ack_req() && asking.is_none() {
            asking = Some(index as u32 + 1);
        }
        seen = pair.next_request(until)?;
    }
    Err(pair.silent("a retransmission by its timer"))
}

/// Sends NAKs: the first, copies of it, and one for a later packet before any ACK.
pub(super) fn naks(
    pair: &mut ScriptedPair<'_>,
    findings: &mut Findings,
    timeout: Span,
) -> Result<(), PeerError> {
    let base = pair.expected;
    let seen_before = findings.window.map_or(SEEN_BEFORE_NAK, |window| window.clamp(4, SEEN_BEFORE_NAK));
    let (missing, last_seen) = ((seen_before / 4) as i32, seen_before as i32 - 1);
    while pair.await_request()?.packet.psn.distance(base) < last_seen {}
    let gap = base.ahead(missing as u32);
    for _ in 0..3 {
        pair.send_nak(gap)?;
    }
    pair.expected = gap;
    let sent_at = pair.now();
    let half = timeout / 2;
    let Some(resent_at) = find(pair, gap, sent_at.saturating_add(timeout * 2))? else {
        return Err(pair.silent("a retransmission after a NAK"));
    };
    findings.nak_wait = Some(resent_at.since(sent_at));
    findings.obeys_naks = resent_at.since(sent_at) < half;
    findings.copies_sent = 3;
    // The rest of the round, up to the packet behind the second gap.
    let mut rounds = 0;
    let mut goes_on = false;
    let until = pair.after(half);
    while let Some(seen) = pair.next_request(until)? {
        let index = seen.packet.psn.distance(base);
        rounds += u32::from(index == missing);
        goes_on |= index == missing + 1;
        if index == last_seen {
            break;
        }
    }
    findings.rounds_after_copies = rounds;
    findings.resends_all = goes_on;
    if !goes_on {
        // Only the missing packet came again: everything else has arrived.
        pair.expected = base.ahead(seen_before);
        pair.send_ack(base.ahead(last_seen as u32))?;
        return finish(pair);
    }
    let second = base.ahead(seen_before * 3 / 4);
    pair.send_nak(second)?;
    pair.expected = second;
    let sent_at = pair.now();
    let Some(resent_at) = find(pair, second, sent_at.saturating_add(timeout * 2))? else {
        return Err(pair.silent("a retransmission after a second NAK"));
    };
    findings.second_nak_wait = Some(resent_at.since(sent_at));
    findings.ignores_repeated_naks = resent_at.since(sent_at) > half;
    finish(pair)
}

/// Waits until this packet comes, and leaves it unread.
fn find(pair: &mut ScriptedPair<'_>, psn: Psn, until: Time) -> Result<Option<Time>, PeerError> {
    // What arrives in order after the highest so far was on its way.
    while let Some(seen) = pair.next_request(until)? {
        if seen.packet.psn == psn {
            pair.unread(seen);
            return Ok(Some(seen.at));
        }
    }
    Ok(None)
}

fn finish(pair: &mut ScriptedPair<'_>) -> Result<(), PeerError> {
    pair.receive_message().map(drop)
}

/// Acknowledges a message, and answers nothing to the next one, which starts half a timeout later: a timer that has not
/// stopped expires early.
pub(super) fn after_last_ack(
    pair: &mut ScriptedPair<'_>,
    findings: &mut Findings,
    timeout: Span,
    acknowledged_at: Time,
) -> Result<(), PeerError> {
    let first = pair.await_request()?;
    let base = first.packet.psn;
    let until = first.at.saturating_add(TIMER_MAX);
    while let Some(seen) = pair.next_request(until)? {
        if seen.packet.psn == base {
            let waited = seen.at.since(first.at);
            findings.timer_offset = Some((first.at.since(acknowledged_at), waited));
            findings.timer_runs_on = Some(waited < timeout * 3 / 4);
            pair.unread(seen);
            return finish(pair);
        }
    }
    Err(pair.silent("a retransmission by its timer"))
}

/// Acknowledges all but the last packet of a message, and measures the times at which that one comes again.
pub(super) fn periods(pair: &mut ScriptedPair<'_>, expiries: usize) -> Result<Vec<Span>, PeerError> {
    let (times, _) = resends(pair, expiries)?;
    finish(pair)?;
    Ok(times)
}

/// The same until the peer gives up. Returns the periods, and the limit of retries.
pub(super) fn retries(pair: &mut ScriptedPair<'_>) -> Result<(Vec<Span>, RetryLimit), PeerError> {
    let (times, count) = resends(pair, ENDLESS)?;
    if count < ENDLESS {
        return Ok((times, RetryLimit::Number(count as u8)));
    }
    finish(pair)?;
    Ok((times, RetryLimit::None))
}

/// Periods between resends of the last packet, without the first, before which the timer may have run already; and the
/// number of resends. The last packet is unread.
fn resends(pair: &mut ScriptedPair<'_>, expiries: usize) -> Result<(Vec<Span>, usize), PeerError> {
    let (last, mut at) = loop {
        let seen = pair.await_request()?;
        if seen.packet.psn != pair.expected {
            continue;
        }
        if super::pair::is_last(seen.packet.opcode) {
            break (seen.packet.psn, seen.at);
        }
        // A requester that asks rarely would repeat more than the last packet.
        pair.accept(&seen.packet.with_ack_req(true))?;
    };
    let (mut periods, mut count) = (Vec::new(), 0);
    while count < expiries {
        let longest = periods.iter().max().copied().unwrap_or(Span::ZERO);
        let limit = if count == 0 { TIMER_MAX } else { GIVEN_UP.max(longest * 8) };
        let Some(seen) = pair.next_request(pair.after(limit))? else { break };
        if seen.packet.psn != last {
            continue;
        }
        if count > 0 {
            periods.push(seen.at.since(at));
        }
        (at, count) = (seen.at, count + 1);
        if count == expiries {
            pair.unread(seen);
        }
    }
    Ok((periods, count))
}
