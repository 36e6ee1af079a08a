//! Frames of different kinds: ordered and unordered, of any protocol.

use wiremend_testkit::{FrameKind, Side};

use super::guarantee::{check_delivery, expect};
use super::{CheckResult, LEN, LinkParams, PATIENCE, Profile, Violation, link};

/// With two copies per retransmission, the prototype delivers both.
pub(super) fn unordered_frames_arrive_once<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams { loss_ppm: 1000, ..LinkParams::default() });
    link.send(Side::A, 20, LEN, false);
    let ending = link.run(|sent| sent.kind() == FrameKind::Data && sent.frame == Some(7));
    check_delivery(&link, ending, PATIENCE)
}

/// In the prototype ordered frames wait for unordered ones to time out, though no frame is lost.
pub(super) fn ordered_and_unordered_frames_share_a_link<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    for no in 0..40 {
        link.send(Side::A, 1, LEN, no % 2 == 0);
    }
    let ending = link.run(|_| false);
    check_delivery(&link, ending, PATIENCE)
}

/// The prototype carries no `EtherType` and restores IPv4.
pub(super) fn frames_of_every_protocol_are_unchanged<P: Profile>() -> CheckResult {
    let survives = |ethertype: u16| {
        let frame = [&[7; 12][..], &ethertype.to_be_bytes(), &[9; 50]].concat();
        expect(P::carry(&frame) == frame, Violation::Damaged)
    };
    assert_eq!(survives(0x0800), Ok(()), "both carry IPv4");
    // IPv6, ARP, a VLAN tag, LLDP, a length.
    [0x86DD, 0x0806, 0x8100, 0x88CC, 0x0032].into_iter().try_for_each(survives)
}
