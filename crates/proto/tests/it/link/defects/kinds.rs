//! Frames of different kinds: with order or without, of any protocol.

use wiremend_testkit::{Kind, Side};

use super::verdict::{expect, flawless};
use super::{Broken, LEN, PATIENCE, Profile, Terms, Verdict, link};

/// With two copies of what is sent again, a host behind the prototype gets both.
pub(super) fn without_order_a_frame_comes_once<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms { loss_ppm: 1000, ..Terms::default() });
    link.send(Side::A, 20, LEN, false);
    let ending = link.run(|passing| passing.kind() == Kind::Data && passing.frame == Some(7));
    flawless(&link, ending, PATIENCE)
}

/// In the prototype those in order wait for the others to time out, though nothing is lost.
pub(super) fn both_kinds_share_a_link<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms::default());
    for no in 0..40 {
        link.send(Side::A, 1, LEN, no % 2 == 0);
    }
    let ending = link.run(|_| false);
    flawless(&link, ending, PATIENCE)
}

/// The prototype carries no `EtherType`, and takes everything for IPv4.
pub(super) fn every_protocol_survives<P: Profile>() -> Verdict {
    let survives = |ethertype: u16| {
        let frame = [&[7; 12][..], &ethertype.to_be_bytes(), &[9; 50]].concat();
        expect(P::carry(&frame) == frame, Broken::Damaged)
    };
    assert_eq!(survives(0x0800), Ok(()), "IPv4 survives with both");
    // IPv6, ARP, a VLAN tag, LLDP, a length.
    [0x86DD, 0x0806, 0x8100, 0x88CC, 0x0032].into_iter().try_for_each(survives)
}
