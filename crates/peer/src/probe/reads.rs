//! How the peer reads: a response is lost.

use wiremend_proto::rc::{AethRepr, Packet, Syndrome};
use wiremend_units::Span;
use wiremend_wire::Opcode;

use super::findings::Findings;
use super::pair::ScriptedPair;
use crate::host::PeerError;

/// The response that is lost.
const LOST: u32 = 30;
/// Longest wait for a timer.
const TIMER_MAX: Span = Span::from_ms(20_000);

/// Answers `count` READs of the peer. Of the second one, a response in the middle is lost.
pub(super) fn gap(
    pair: &mut ScriptedPair<'_>,
    findings: &mut Findings,
    count: u32,
    timeout: Span,
) -> Result<(), PeerError> {
    for number in 0..count {
        let request = pair.await_request()?;
        if number != 1 {
            respond(pair, &request.packet, None)?;
            continue;
        }
        respond(pair, &request.packet, Some(LOST))?;
        let answered_at = pair.now();
        let Some(again) = pair.next_request(pair.after(TIMER_MAX))? else {
            return Err(pair.silent("a READ for the missing response"));
        };
        findings.read_gap_waits = Some(again.at.since(answered_at) > timeout / 2);
        respond(pair, &again.packet, None)?;
    }
    Ok(())
}

/// Sends the responses to a READ, without the one with this index.
fn respond(pair: &mut ScriptedPair<'_>, request: &Packet, lost: Option<u32>) -> Result<(), PeerError> {
    let len = request.reth().map_or(0, |reth| reth.dma_len);
    let mtu = u32::from(pair.mtu);
    let count = len.div_ceil(mtu).max(1);
    for index in (0..count).filter(|index| Some(*index) != lost) {
        let opcode = match (index == 0, index + 1 == count) {
            (true, true) => Opcode::ReadResponseOnly,
            (true, false) => Opcode::ReadResponseFirst,
            (false, true) => Opcode::ReadResponseLast,
            (false, false) => Opcode::ReadResponseMiddle,
        };
        let payload = (len - index * mtu).min(mtu) as u16;
        let response = Packet::new(opcode, pair.peer.pair, request.psn.ahead(index)).with_payload(payload);
        let aeth = AethRepr { syndrome: Syndrome::ACK, msn: 0 };
        let has_aeth = opcode != Opcode::ReadResponseMiddle;
        pair.queue(&if has_aeth { response.with_aeth(aeth) } else { response });
    }
    pair.expected = request.psn;
    pair.flush()
}
