//! Strategies for random headers and frames.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use wiremend_units::{Psn, QpNum};
use wiremend_wire::*;

/// A frame with its own payload.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) ethernet: EthernetRepr,
    pub(crate) ip: IpRepr,
    pub(crate) source_port: u16,
    pub(crate) bth: BthRepr,
    pub(crate) extension: Extension,
    pub(crate) payload: Vec<u8>,
}

impl Parts {
    pub(crate) fn frame(&self) -> RoceFrame<'_> {
        RoceFrame {
            ethernet: self.ethernet,
            ip: self.ip,
            source_port: self.source_port,
            bth: self.bth,
            extension: self.extension,
            payload: &self.payload,
        }
    }
}

prop_compose! {
    pub(crate) fn parts()(
        ethernet in ethernet(),
        ip in prop_oneof![ipv4().prop_map(IpRepr::V4), ipv6().prop_map(IpRepr::V6)],
        source_port: u16,
        (bth, extension) in bth().prop_flat_map(|bth| (Just(bth), extension(bth.opcode))),
        payload in prop::collection::vec(any::<u8>(), 0..300),
    ) -> Parts {
        Parts { ethernet, ip, source_port, bth, extension, payload }
    }
}

pub(crate) fn mac() -> impl Strategy<Value = MacAddr> {
    any::<[u8; 6]>().prop_map(MacAddr)
}

pub(crate) fn ethernet() -> impl Strategy<Value = EthernetRepr> {
    let vlans = prop_oneof![
        Just(Vlans::Untagged),
        vlan_tag().prop_map(Vlans::Single),
        (vlan_tag(), vlan_tag()).prop_map(|(outer, inner)| Vlans::Double(outer, inner)),
    ];
    (mac(), mac(), vlans).prop_map(|(destination, source, vlans)| EthernetRepr { destination, source, vlans })
}

prop_compose! {
    fn vlan_tag()(
        tpid in prop_oneof![Just(Tpid::Customer), Just(Tpid::Service)],
        priority in 0..8_u8,
        drop_eligible: bool,
        id in 0..4096_u16,
    ) -> VlanTag {
        VlanTag { tpid, priority, drop_eligible, id }
    }
}

prop_compose! {
    fn class()(
        dscp in 0..64_u8,
        ecn in prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]),
    ) -> TrafficClass {
        TrafficClass { dscp, ecn }
    }
}

prop_compose! {
    pub(crate) fn ipv4()(
        source: Ipv4Addr,
        destination: Ipv4Addr,
        class in class(),
        identification: u16,
        dont_fragment: bool,
        ttl: u8,
    ) -> Ipv4Repr {
        Ipv4Repr { source, destination, class, identification, dont_fragment, ttl }
    }
}

prop_compose! {
    pub(crate) fn ipv6()(
        source: Ipv6Addr,
        destination: Ipv6Addr,
        class in class(),
        flow_label in 0..1_u32 << 20,
        hop_limit: u8,
    ) -> Ipv6Repr {
        Ipv6Repr { source, destination, class, flow_label, hop_limit }
    }
}

prop_compose! {
    pub(crate) fn bth()(
        opcode in prop::sample::select(Opcode::ALL.to_vec()),
        flags: [bool; 5],
        partition_key: u16,
        dest_qp: u32,
        psn: u32,
    ) -> BthRepr {
        let [solicited, migrated, fecn, becn, ack_request] = flags;
        let (dest_qp, psn) = (QpNum::new(dest_qp), Psn::new(psn));
        BthRepr { opcode, solicited, migrated, partition_key, fecn, becn, dest_qp, ack_request, psn }
    }
}

/// The extension headers of an operation.
pub(crate) fn extension(opcode: Opcode) -> impl Strategy<Value = Extension> {
    let (imm, word) = (any::<u32>().prop_map(ImmDtRepr), any::<u32>());
    let reth = any::<(u64, u32, u32)>();
    let reth = reth.prop_map(|(address, remote_key, dma_len)| RethRepr { address, remote_key, dma_len });
    let aeth = (any::<u8>().prop_map(Syndrome::from_byte), 0..1_u32 << 24);
    let aeth = aeth.prop_map(|(syndrome, msn)| AethRepr { syndrome, msn });
    let deth = any::<(u32, u32)>();
    let deth = deth.prop_map(|(queue_key, qp)| DethRepr { queue_key, source_qp: QpNum::new(qp) });
    match opcode.layout() {
        Layout::Bare => Just(Extension::Bare).boxed(),
        Layout::Imm => imm.prop_map(Extension::Imm).boxed(),
        Layout::Ieth => word.prop_map(|key| Extension::Ieth(IethRepr(key))).boxed(),
        Layout::Reth => reth.prop_map(Extension::Reth).boxed(),
        Layout::RethImm => (reth, imm).prop_map(|(reth, imm)| Extension::RethImm(reth, imm)).boxed(),
        Layout::Aeth => aeth.prop_map(Extension::Aeth).boxed(),
        Layout::AethAtomicAck => {
            let original = any::<u64>().prop_map(|original| AtomicAckEthRepr { original });
            (aeth, original).prop_map(|(aeth, ack)| Extension::AethAtomicAck(aeth, ack)).boxed()
        }
        Layout::AtomicEth => any::<(u64, u32, u64, u64)>()
            .prop_map(|(address, remote_key, swap_or_add, compare)| {
                Extension::AtomicEth(AtomicEthRepr { address, remote_key, swap_or_add, compare })
            })
            .boxed(),
        Layout::Deth => deth.prop_map(Extension::Deth).boxed(),
        Layout::DethImm => (deth, imm).prop_map(|(deth, imm)| Extension::DethImm(deth, imm)).boxed(),
        Layout::Cnp => Just(Extension::Cnp).boxed(),
    }
}

pub(crate) fn pause() -> impl Strategy<Value = PauseFrame> {
    let quanta = || any::<u16>().prop_map(Quanta);
    let pause = prop_oneof![
        quanta().prop_map(Pause::Link),
        prop::array::uniform8(prop::option::of(quanta())).prop_map(Pause::Classes),
    ];
    (mac(), pause).prop_map(|(source, pause)| PauseFrame { source, pause })
}
