//! The two protocols under test.

use wiremend_proto::link::prototype::Config as Registers;
use wiremend_proto::link::{Config, CopyCount, Endpoint, LinkHeader, LossRate};
use wiremend_testkit::{
    EndpointPair, FrameNo, LinkCommand, LinkEnd, PrototypeConfig, PrototypeEnd, RunEnd, Side,
};
use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::link::{LinkCodec, prototype};

use super::LEN;

/// A link with ends of one profile.
pub(super) type Link<P> = EndpointPair<<P as Profile>::End>;

/// A protocol under test.
pub(super) trait Profile {
    type End: LinkEnd;

    fn config(params: &LinkParams) -> <Self::End as LinkEnd>::Config;

    /// Carries a frame of any protocol and returns it as it leaves the other end.
    fn carry(frame: &[u8]) -> Vec<u8>;
}

pub(super) struct Prototype;

/// This project's protocol, with sequence numbers as wide as the prototype's, so that both wrap in the same
/// test.
pub(super) struct Hardened;

#[derive(Clone, Copy)]
pub(super) struct LinkParams {
    /// Loss known when protection was installed.
    pub(super) loss_ppm: u64,
    pub(super) tx_bytes: u64,
    pub(super) rx_bytes: u64,
}

/// One-way delay: with it recovery takes about as long as in the prototype (LG Fig. 19).
pub(super) const DELAY: Span = Span::from_us(2);
const RATE: Rate = Rate::gbps(100);
/// As published for 100G.
const PAUSE_BYTES: Bytes = Bytes::new(40_000);
const RESUME_BYTES: Bytes = Bytes::new(36_800);

impl Default for LinkParams {
    fn default() -> Self {
        Self { loss_ppm: 100, tx_bytes: 400_000, rx_bytes: 140_000 }
    }
}

impl Profile for Prototype {
    type End = PrototypeEnd;

    /// Two copies from a loss of 1e-3 on, as in the experiments.
    fn config(params: &LinkParams) -> PrototypeConfig {
        let copies = if params.loss_ppm >= 1000 { 2 } else { 1 };
        PrototypeConfig {
            registers: Registers::GBPS_100.with_copies(copies),
            tx_bytes_max: Bytes::new(params.tx_bytes),
            rx_bytes_max: Bytes::new(params.rx_bytes),
        }
    }

    fn carry(frame: &[u8]) -> Vec<u8> {
        let number = prototype::EraSeq::default();
        let data =
            prototype::PrototypeHeader::Data { number, retransmitted: false, blocking: true, ack: None };
        let wire = data.encapsulate(frame).expect("an Ethernet frame");
        prototype::PrototypeHeader::decapsulate(&wire).expect("a valid frame").1
    }
}

impl Profile for Hardened {
    type End = Endpoint<FrameNo, 16>;

    fn config(params: &LinkParams) -> Config {
        Config {
            copies: CopyCount::Measured(LossRate::from_parts_per_trillion(params.loss_ppm * 1_000_000)),
            tx_bytes_max: Bytes::new(params.tx_bytes),
            rx_bytes_max: Bytes::new(params.rx_bytes),
            pause_at: Some(PAUSE_BYTES),
            resume_at: Some(RESUME_BYTES),
            ..Config::for_link(RATE, Bytes::new(LEN.into()), DELAY * 2)
        }
    }

    fn carry(frame: &[u8]) -> Vec<u8> {
        let data = LinkHeader::Data { epoch: 1, seq: 0, ordered: true, retransmitted: false, ack: None };
        let room = data.added_len() as usize;
        let mut buffer = [&vec![0; room], frame].concat();
        let dialect = LinkCodec::default();
        let start = dialect.encapsulate(&data, &mut buffer, room).expect("an Ethernet frame");
        let (_, start) = dialect.decapsulate(&mut buffer, start).expect("a valid frame");
        buffer.split_off(start)
    }
}

/// A link that is protected from A to B.
pub(super) fn link<P: Profile>(params: &LinkParams) -> Link<P> {
    link_over::<P>(DELAY, params)
}

/// The same with another delay.
pub(super) fn link_over<P: Profile>(delay: Span, params: &LinkParams) -> Link<P> {
    let mut link = Link::<P>::new(P::config(params), delay);
    link.apply(Side::A, LinkCommand::Activate);
    assert_eq!(link.run(|_| false), RunEnd::Idle);
    link
}
