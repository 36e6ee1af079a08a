//! How the peer answers requests: each step loses or changes packets of one message, then delivers it.

use wiremend_proto::rc::{NakCode, NakRule, Packet, Syndrome};
use wiremend_units::{Psn, Span, Time};

use super::findings::{DummyAnswer, Findings, IcrcAnswer};
use super::pair::{MESSAGE_PACKETS, SILENCE, ScriptedPair, has_ack_for, naks_for};
use crate::host::PeerError;

/// Packets behind a gap.
const BEHIND: u32 = 8;
/// Packets that ask for an acknowledgement each, at once, and how often.
const ASKING: u32 = 64;
const ROUNDS: u32 = 3;

/// Asks for many acknowledgements at once: are they merged?
pub(super) fn acknowledgements(
    pair: &mut ScriptedPair<'_>,
    findings: &mut Findings,
    count: u32,
) -> Result<(), PeerError> {
    let first = pair.next;
    let asking = ASKING.min(count / (ROUNDS + 1));
    let mut is_merged = false;
    for round in 0..ROUNDS {
        let (from, to) = (round * asking, (round + 1) * asking);
        let sent_at = pair.now();
        for index in from..to {
            let packet = pair.send_packet(first, index, count).with_ack_req(true);
            pair.queue(&packet);
        }
        pair.flush()?;
        let Some(answers) = answers_until(pair, first.ahead(to - 1))? else {
            // Lost on the way. The rest of the message is sent until it arrives.
            return pair.deliver(from, count);
        };
        findings.round_trips.push(pair.now().since(sent_at));
        is_merged |= answers < asking;
    }
    findings.acks_each = !is_merged;
    pair.deliver(ROUNDS * asking, count)
}

/// Counts acknowledgements up to the one for this packet; `None` if something was lost.
fn answers_until(pair: &mut ScriptedPair<'_>, last: Psn) -> Result<Option<u32>, PeerError> {
    let until = pair.after(Span::from_ms(5_000));
    let mut count = 0;
    while let Some(seen) = pair.next_answer(until)? {
        match seen.packet.aeth().map(|aeth| aeth.syndrome) {
            Some(Syndrome::Ack { .. }) => count += 1,
            _ => return Ok(None),
        }
        if seen.packet.psn == last {
            return Ok(Some(count));
        }
    }
    Ok(None)
}

/// Repeats packets that have arrived. Afterwards, answers to duplicates show the order of answers.
pub(super) fn duplicates(
    pair: &mut ScriptedPair<'_>,
    findings: &mut Findings,
    count: u32,
) -> Result<(), PeerError> {
    let first = pair.next;
    pair.deliver(0, count)?;
    pair.send_range(first, count - BEHIND, count, count)?;
    let until = pair.after(Span::from_ms(2_000));
    let mut answers = 0;
    while answers < BEHIND
        && let Some(seen) =
            pair.next_answer(if answers == 0 { until } else { pair.after(Span::from_ms(100)) })?
    {
        answers += u32::from(has_ack_for(&[seen.packet], first.ahead(count - 1)));
    }
    findings.duplicate_acks = answers;
    pair.answers_duplicates = answers > 0;
    Ok(())
}

/// Loses the first packet, and loses it again.
pub(super) fn first_packet(
    pair: &mut ScriptedPair<'_>,
    findings: &mut Findings,
    count: u32,
) -> Result<(), PeerError> {
    let first = pair.next;
    let mut naks = [0; 2];
    for round in &mut naks {
        pair.send_range(first, 1, 1 + BEHIND, count)?;
        *round = naks_for(&pair.settle()?, first);
    }
    findings.naks_in_rounds = naks;
    findings.nak = match naks {
        [one, _] if one > 1 => NakRule::EachPacket,
        [_, again] if again > 0 => NakRule::EachRound,
        _ => NakRule::Once,
    };
    pair.deliver(0, count)
}

/// Loses a packet in the middle, and then sends only this one: has the peer kept those behind it?
pub(super) fn middle_packet(
    pair: &mut ScriptedPair<'_>,
    findings: &mut Findings,
    count: u32,
) -> Result<(), PeerError> {
    let (first, lost) = (pair.next, 5);
    pair.send_range(first, 0, lost, count)?;
    pair.send_range(first, lost + 1, lost + 1 + BEHIND, count)?;
    findings.middle_naks = naks_for(&pair.settle()?, first.ahead(lost));
    let missing = pair.send_packet(first, lost, count).with_ack_req(true);
    pair.queue(&missing);
    pair.flush()?;
    let answers =
        answers_for(pair, Span::from_ms(1_000), |packet| packet.psn.distance(first) >= lost as i32)?;
    findings.keeps_out_of_order = answers.iter().any(|packet| packet.psn.distance(first) > lost as i32);
    pair.deliver(lost + 1, count)
}

/// Exchanges two packets.
pub(super) fn reordering(
    pair: &mut ScriptedPair<'_>,
    findings: &mut Findings,
    count: u32,
) -> Result<(), PeerError> {
    let first = pair.next;
    for index in [0, 2, 1, 3] {
        let packet = pair.send_packet(first, index, count);
        pair.queue(&packet);
    }
    pair.flush()?;
    let answers = pair.settle()?;
    findings.reordering_naks = naks_for(&answers, first.ahead(1)) + naks_for(&answers, first.ahead(2));
    pair.deliver(0, count)
}

/// Sends the first packet of a message with a wrong ICRC.
pub(super) fn wrong_icrc(pair: &mut ScriptedPair<'_>, findings: &mut Findings) -> Result<(), PeerError> {
    let first = pair.next;
    let packet = pair.send_packet(first, 0, 2).with_ack_req(true);
    pair.queue_corrupted(&packet);
    pair.flush()?;
    let answers = pair.settle()?;
    findings.wrong_icrc = if has_ack_for(&answers, first) {
        IcrcAnswer::Accepted
    } else if naks_for(&answers, first) > 0 {
        IcrcAnswer::Nak
    } else {
        IcrcAnswer::Dropped
    };
    Ok(())
}

/// Loses the last packet, and sends an empty WRITE behind it; then the packet, and the empty WRITE again.
pub(super) fn tail_and_dummy(
    pair: &mut ScriptedPair<'_>,
    findings: &mut Findings,
    count: u32,
) -> Result<(), PeerError> {
    let first = pair.next;
    let behind = first.ahead(count);
    pair.send_range(first, 0, count - 1, count)?;
    // Nothing shows that the last packet is missing, so there is no answer for it.
    findings.tail_naks = naks_for(&pair.settle()?, first.ahead(count - 1));
    let dummy = pair.dummy(behind);
    pair.queue(&dummy);
    pair.flush()?;
    findings.dummy_naks = naks_for(&pair.settle()?, first.ahead(count - 1));
    pair.deliver(count - 1, count)?;
    let mut answer = DummyAnswer::Dropped;
    for _ in 0..3 {
        pair.queue(&dummy);
        pair.flush()?;
        let answers = answers_for(pair, Span::from_ms(1_000), |packet| packet.psn == behind)?;
        if has_ack_for(&answers, behind) {
            answer = DummyAnswer::Accepted;
            pair.next = behind.ahead(1);
            break;
        }
        if answers.iter().any(is_refusal) {
            answer = DummyAnswer::Refused;
            break;
        }
    }
    findings.dummies = answer;
    Ok(())
}

/// Sends the first packets of a SEND to a queue pair without receive buffers.
pub(super) fn no_buffer(pair: &mut ScriptedPair<'_>, findings: &mut Findings) -> Result<(), PeerError> {
    let first = pair.next;
    pair.send_range(first, 0, 3, MESSAGE_PACKETS)?;
    let is_rnr = |packet: &Packet| {
        matches!(packet.aeth().map(|aeth| aeth.syndrome), Some(Syndrome::Rnr { .. })) && packet.psn == first
    };
    if answers_for(pair, Span::from_ms(2_000), is_rnr)?.iter().any(is_rnr) {
        let answers = answers_for(pair, SILENCE, |packet| naks_for(&[*packet], first) > 0)?;
        findings.nak_after_rnr = Some(naks_for(&answers, first) > 0);
    }
    Ok(())
}

fn is_refusal(packet: &Packet) -> bool {
    let refusals = [NakCode::InvalidRequest, NakCode::RemoteAccess, NakCode::RemoteOperational];
    packet.aeth().is_some_and(|aeth| refusals.iter().any(|why| aeth.syndrome == Syndrome::Nak(*why)))
}

/// Answers until one is as wanted, or until the time is over.
fn answers_for(
    pair: &mut ScriptedPair<'_>,
    limit: Span,
    is_wanted: impl Fn(&Packet) -> bool,
) -> Result<Vec<Packet>, PeerError> {
    let until: Time = pair.after(limit);
    let mut answers = Vec::new();
    while let Some(seen) = pair.next_answer(until)? {
        answers.push(seen.packet);
        if is_wanted(&seen.packet) {
            break;
        }
    }
    Ok(answers)
}
