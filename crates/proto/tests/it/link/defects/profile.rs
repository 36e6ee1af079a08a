//! The two profiles, so that a story can be told of either.

use wiremend_proto::link::paper::Config as Registers;
use wiremend_proto::link::{Config, CopyCount, Endpoint, LossRate, Signal};
use wiremend_testkit::{Ending, FrameNo, LinkEnd, Linked, Order, PrototypeConfig, PrototypeEnd, Side};
use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::link::{Dialect, prototype};

use super::LEN;

/// A link with ends of one profile.
pub(super) type Link<P> = Linked<<P as Profile>::End>;

/// Whose protocol.
pub(super) trait Profile {
    /// What stands at both ends.
    type End: LinkEnd;

    /// What such an end goes by.
    fn config(terms: &Terms) -> <Self::End as LinkEnd>::Config;

    /// What comes out at the other end of a frame of any protocol.
    fn carry(frame: &[u8]) -> Vec<u8>;
}

/// The published prototype.
pub(super) struct Paper;

/// What fixes it. Numbers have as many bits as the prototype's, so that both wrap in the same story.
pub(super) struct Hardened;

/// What both ends of a story's link are made for.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// The loss that was known when protection was installed.
    pub(super) loss_ppm: u64,
    /// Room for copies that are kept.
    pub(super) tx_bytes: u64,
    /// Room for frames that are held.
    pub(super) rx_bytes: u64,
}

/// Of the wire, in one direction: with it, recovery takes about as long as that of the prototype (LG Fig. 19).
pub(super) const DELAY: Span = Span::from_us(2);
const RATE: Rate = Rate::gbps(100);
/// As published for 100G.
const PAUSE_BYTES: Bytes = Bytes::new(40_000);
const RESUME_BYTES: Bytes = Bytes::new(36_800);

impl Default for Terms {
    fn default() -> Self {
        Self { loss_ppm: 100, tx_bytes: 400_000, rx_bytes: 140_000 }
    }
}

impl Profile for Paper {
    type End = PrototypeEnd;

    /// Two copies from 1e-3 on, as in the experiments.
    fn config(terms: &Terms) -> PrototypeConfig {
        let copies = if terms.loss_ppm >= 1000 { 2 } else { 1 };
        PrototypeConfig {
            registers: Registers::GBPS_100.with_copies(copies),
            tx_bytes_max: Bytes::new(terms.tx_bytes),
            rx_bytes_max: Bytes::new(terms.rx_bytes),
        }
    }

    fn carry(frame: &[u8]) -> Vec<u8> {
        let number = prototype::Number::default();
        let data = prototype::Signal::Data { number, again: false, blocking: true, ack: None };
        let wire = data.encapsulate(frame).expect("it is an Ethernet frame");
        prototype::Signal::decapsulate(&wire).expect("nothing was corrupted").1
    }
}

impl Profile for Hardened {
    type End = Endpoint<FrameNo, 16>;

    fn config(terms: &Terms) -> Config {
        Config {
            copies: CopyCount::Measured(LossRate::parts_per_trillion(terms.loss_ppm * 1_000_000)),
            tx_bytes_max: Bytes::new(terms.tx_bytes),
            rx_bytes_max: Bytes::new(terms.rx_bytes),
            pause_at: Some(PAUSE_BYTES),
            resume_at: Some(RESUME_BYTES),
            ..Config::for_link(RATE, Bytes::new(LEN.into()), DELAY * 2)
        }
    }

    fn carry(frame: &[u8]) -> Vec<u8> {
        let data = Signal::Data { epoch: 1, seq: 0, ordered: true, again: false, ack: None };
        let room = data.added_len() as usize;
        let mut buffer = [&vec![0; room], frame].concat();
        let dialect = Dialect::default();
        let start = dialect.encapsulate(&data, &mut buffer, room).expect("it is an Ethernet frame");
        let (_, start) = dialect.decapsulate(&mut buffer, start).expect("nothing was corrupted");
        buffer.split_off(start)
    }
}

/// A link that is protected from A to B.
pub(super) fn link<P: Profile>(terms: &Terms) -> Link<P> {
    link_over::<P>(DELAY, terms)
}

/// The same over another wire than it was made for.
pub(super) fn link_over<P: Profile>(delay: Span, terms: &Terms) -> Link<P> {
    let mut link = Link::<P>::new(P::config(terms), delay);
    link.order(Side::A, Order::Activate);
    assert_eq!(link.run(|_| false), Ending::Idle);
    link
}
