//! The closed forms against a random simulation of the protocol, at losses high enough for every term to
//! matter.

use crate::oracle::{Losses, run};
use wiremend_model::{
    Cause, CorruptingLinks, CorruptingPath, Corruption, Expected, FlowSize, FrameSizes, MendCounts,
    ModelSetting, NextFlow, Nic, Operation, expected_on_path,
};

/// Packets per run, so that long flows take no longer than short ones.
const PACKETS: u64 = 2_400_000;

/// Bit errors: data, dummies and answers have different losses.
fn bits(beta: f64) -> Corruption {
    Corruption::from_full_frame_loss(beta, 1102)
}

fn ways(forward: (u32, u32), backward: (u32, u32)) -> CorruptingPath {
    let way = |(before, behind)| CorruptingLinks { before, behind };
    CorruptingPath { forward: way(forward), backward: way(backward) }
}

/// All links are after the switches that copy.
fn fabric() -> CorruptingPath {
    ways((0, 1), (0, 1))
}

fn expected_counts(corruption: Corruption, mend: MendCounts, packets: u32, ways: CorruptingPath) -> Expected {
    let sizes = FrameSizes::on_wire(1024, Operation::Send);
    let setting = ModelSetting { sizes, corruption, mend, next: NextFlow::CLOSED_LOOP, nic: Nic::default() };
    expected_on_path(&setting, ways, &FlowSize::fixed(packets * 1024, 1024))
}

fn losses(corruption: Corruption, ways: CorruptingPath) -> Losses {
    let sizes = FrameSizes::on_wire(1024, Operation::Send);
    let losses = |bytes: u32, way: CorruptingLinks| {
        let loss = |links| corruption.loss(f64::from(bytes), links);
        (loss(way.before), loss(way.behind))
    };
    Losses {
        data: losses(sizes.full(), ways.forward),
        dummy: losses(sizes.dummy, ways.forward),
        answer: losses(sizes.answer, ways.backward),
    }
}

/// Counts are within 4.5 standard deviations and 0.2 % of the expectation, for each cause.
fn assert_agrees(corruption: Corruption, mend: MendCounts, packets: u32, ways: CorruptingPath) {
    let exact = expected_counts(corruption, mend, packets, ways);
    let seed = u64::from(packets) << 32 | u64::from(mend.dummies * 100 + mend.nak_copies * 10);
    let flows = PACKETS / u64::from(packets + mend.dummies);
    let counted = run(0x9e37_79b9 ^ seed, flows, u64::from(packets), mend, losses(corruption, ways));
    let judge = |what: &str, expected: f64, count: u64| {
        let allowed = 4.5 * expected.max(1.0).sqrt() + 0.002 * expected;
        assert!(
            (expected - count as f64).abs() < allowed,
            "{what} of {packets} packets with {mend:?}: {expected:.1} expected, {count} counted"
        );
    };
    let flows = counted.flows as f64;
    for cause in Cause::ALL {
        judge(cause.name(), exact.timeouts[cause as usize] * flows, counted.timeouts[cause as usize]);
    }
    judge("flows hit", exact.probability * flows, counted.hit);
    judge("NAKs", exact.naks * flows, counted.naks);
}

#[test]
fn bare_packets() {
    for packets in [1, 2, 5] {
        assert_agrees(bits(1.0 / 16.0), MendCounts::NONE, packets, fabric());
        assert_agrees(Corruption::Frames(0.02), MendCounts::NONE, packets, fabric());
    }
}

#[test]
fn dummies() {
    for dummies in 1..=3 {
        for packets in [1, 4] {
            assert_agrees(bits(1.0 / 8.0), MendCounts::new(dummies, 0, 0), packets, fabric());
            assert_agrees(Corruption::Frames(0.03), MendCounts::new(dummies, 0, 0), packets, fabric());
        }
    }
}

#[test]
fn copies_of_naks_and_retransmissions() {
    for (naks, retransmissions) in [(1, 0), (0, 1), (1, 1), (2, 1)] {
        for packets in [1, 3, 40] {
            assert_agrees(bits(1.0 / 8.0), MendCounts::new(1, naks, retransmissions), packets, fabric());
            assert_agrees(
                Corruption::Frames(0.05),
                MendCounts::new(2, naks, retransmissions),
                packets,
                fabric(),
            );
        }
    }
}

/// A corrupting link between the requester and its switch: retransmission copies are made too late, NAK
/// copies help. At the responder's side it is the reverse.
#[test]
fn copies_help_only_behind_the_switch_that_makes_them() {
    let (mine, theirs) = (ways((1, 0), (0, 1)), ways((0, 1), (1, 0)));
    for ways in [mine, theirs] {
        assert_agrees(bits(1.0 / 8.0), MendCounts::new(1, 1, 1), 1, ways);
    }
    let twice = |ways, mend| {
        expected_counts(bits(1.0 / 64.0), mend, 1, ways).timeouts[Cause::Retransmission as usize]
    };
    let gain = |ways| twice(ways, MendCounts::new(2, 0, 0)) / twice(ways, MendCounts::new(2, 0, 1));
    assert!((gain(mine) - 1.0).abs() < 1e-12, "nothing is gained before the switch");
    assert!(gain(theirs) > 50.0);
    let nak = |ways, mend| expected_counts(bits(1.0 / 64.0), mend, 1, ways).timeouts[Cause::Nak as usize];
    let gain = |ways| nak(ways, MendCounts::new(2, 0, 0)) / nak(ways, MendCounts::new(2, 1, 0));
    assert!((gain(theirs) - 1.0).abs() < 1e-12);
    assert!(gain(mine) > 500.0);
}

#[test]
fn repeated_tails() {
    // Computed by hand: both tails are lost, or each one that arrives loses its ACK.
    let probabilities = |mend| expected_counts(Corruption::Frames(0.01), mend, 1, fabric()).probabilities;
    let (bare, mended) =
        (probabilities(MendCounts::NONE), probabilities(MendCounts { tail_copies: 1, ..MendCounts::NONE }));
    let (packet, ack) = (Cause::TailPacket as usize, Cause::TailAck as usize);
    assert!((bare[packet] - 0.01).abs() < 1e-12 && (bare[ack] - 0.01).abs() < 1e-12);
    assert!((mended[packet] - 1e-4).abs() < 1e-12);
    assert!((mended[ack] - (0.0199_f64.powi(2) - 1e-4) / 0.9999).abs() < 1e-12);
}
