//! Figures of the paper: correct ones are reproduced, wrong ones are corrected.

use wiremend_model::phy::{Code, Generation, Optics};
use wiremend_model::{
    Cause, CorruptingLinks, CorruptingPath, Corruption, FlowSize, FrameSizes, MendCounts, ModelSetting,
    NakReaction, NextFlow, Nic, Operation, PaperModel, Path, bits, counters, expected, expected_on_path,
};

fn assert_near(what: &str, value: f64, expected: f64, relative: f64) {
    assert!((value / expected - 1.0).abs() < relative, "{what}: {value:e}, expected {expected:e}");
}

/// J1: with the paper's sizes both ratios round to 0.06; with sizes on the wire they are 0.071 and 0.060.
#[test]
fn j1_small_frames_are_lost_less_often() {
    let beta = bits::frame_loss(1e-8, 1086.0);
    assert_near("β", beta, 8.688e-5, 1e-4);
    assert_near("γ/β", bits::scaled(beta, 1086.0, 62.0) / beta, 0.0571, 1e-3);
    assert_near("δ/β", bits::scaled(beta, 1086.0, 68.0) / beta, 0.0626, 1e-3);
    let real = FrameSizes::on_wire(1024, Operation::Write);
    let ratio = |bytes: u32| bits::scaled(1e-4, f64::from(real.full()), f64::from(bytes)) / 1e-4;
    assert_near("dummy", ratio(real.dummy), 0.0708, 1e-3);
    assert_near("answer", ratio(real.answer), 0.0599, 1e-3);
}

fn paper(beta: f64, links: f64) -> PaperModel {
    PaperModel { beta, links, omega: 1.0, mean_inverse: 0.055 }
}

/// J2–J10 as printed, with 7.3e-6 for the value that §6.3 gives as 7e-5.
#[test]
fn printed_figures_come_out() {
    let two_links = paper(0.01, 2.0);
    assert_near("J2", two_links.packet(), 0.02, 1e-12);
    assert_near("J3", two_links.nak(1), 2.4e-5, 1e-9);
    assert_near("J4", paper(1e-8, 1.0).twice(1), 1e-16, 1e-9);
    assert_near("J5", paper(0.01, 1.0).tail_with_dummies(0), 5.5e-4, 1e-9);
    assert_near("J5 ACK", paper(0.01, 1.0).tail_ack(0), 3.3e-5, 1e-9);
    assert_near("J6", two_links.nak(2), 1.44e-8, 1e-9);
    assert_near("J7", two_links.twice(3), 2e-8, 1e-9);
    assert_near("J8", two_links.tail_with_dummies(1), 6.6e-7, 1e-9);
    let ratio = two_links.tail_with_dummies(3) / two_links.tail_with_copies(3);
    assert_near("J8: 0.06^N, not 0.06^(N+1)", ratio, 0.06_f64.powi(3), 1e-9);
    assert_near("J9", two_links.tail_ack(1), 0.06_f64.powi(2) * 0.055 * 2e-4, 1e-9);
    assert_near("J10", paper(0.01, 1.0).cost_of_nak_copies(2), 6.26e-4, 1e-3);
    assert_near("J13", 2.0 * paper(1.0 / 128.0, 1.0).nak(1), 7.3e-6, 0.01);
}

/// Per packet and to first order, the exact results equal the printed formulas with the exact ratios instead
/// of 0.06.
#[test]
fn exact_forms_approach_the_printed_ones() {
    let sizes = FrameSizes::paper(1024);
    let (beta, small, answer) = (1e-5, 62.0 / 1086.0, 68.0 / 1086.0);
    let flows = [FlowSize::fixed(1 << 20, 1024)];
    let path = Path { links: 2, access_links: 0, omega: 1e-3 };
    let once = Nic { nak_reaction: NakReaction::Once, ..Nic::default() };
    let timeouts = |mend| {
        expected(&ModelSetting { nic: once, ..ModelSetting::new(sizes, beta, mend) }, &path, &flows).timeouts
    };
    let packets = 1024.0;
    let lw = 2e-3;
    let bare = timeouts(MendCounts::NONE);
    assert_near("tail", bare[Cause::TailPacket as usize], lw * beta, 0.01);
    assert_near("tail ACK", bare[Cause::TailAck as usize], lw * beta * answer, 0.01);
    assert_near("NAK", bare[Cause::Nak as usize] / packets, lw * lw * beta * beta * answer, 0.01);
    assert_near("twice", bare[Cause::Retransmission as usize] / packets, lw * beta * beta, 0.01);
    let mended = timeouts(MendCounts::new(1, 1, 2));
    assert_near("tail, dummy", mended[Cause::TailPacket as usize], lw * beta * beta * small, 0.03);
    let naks = lw * lw * beta.powi(3) * answer.powi(2);
    assert_near("NAK, copy", mended[Cause::Nak as usize] / packets, naks, 0.03);
    assert_near("twice, copies", mended[Cause::Retransmission as usize] / packets, lw * beta.powi(4), 0.03);
}

/// If all links corrupt, L counts for the packet and for its retransmission: (Lβ)², not Lβ².
#[test]
fn with_every_link_corrupting_the_printed_form_is_too_low() {
    let flows = [FlowSize::fixed(1 << 20, 1024)];
    let setting = ModelSetting::new(FrameSizes::paper(1024), 1e-4, MendCounts::NONE);
    let twice =
        expected(&setting, &Path::between_switches(4, 1.0), &flows).timeouts[Cause::Retransmission as usize];
    assert_near("twice", twice / 1024.0, 16e-8, 0.01);
    assert_near(
        "as paper",
        PaperModel { beta: 1e-4, links: 4.0, omega: 1.0, mean_inverse: 1.0 }.twice(1),
        4e-8,
        1e-9,
    );
}

/// Timeouts of 100 000 ping-pongs at 1/128, two flows each, loss behind the switch that copies.
fn per_100_000(sizes: FrameSizes, mend: MendCounts, reaction: NakReaction) -> [f64; 4] {
    let setting = ModelSetting {
        next: NextFlow::CLOSED_LOOP,
        nic: Nic { nak_reaction: reaction, ..Nic::default() },
        ..ModelSetting::new(sizes, 1.0 / 128.0, mend)
    };
    let path = Path::between_switches(1, 1.0);
    expected(&setting, &path, &[FlowSize::fixed(1024, 1024)]).timeouts.map(|timeouts| timeouts * 200_000.0)
}

/// J12 and J13: the ablation of §6.3 with corrected labels.
#[test]
fn j13_each_mechanism_has_its_share() {
    let (paper, real) = (FrameSizes::paper(1024), FrameSizes::on_wire(1024, Operation::Write));
    let once = |mend, sizes| per_100_000(sizes, mend, NakReaction::Once);
    let tail = Cause::TailPacket as usize;
    assert_near("no dummy", once(MendCounts::new(0, 1, 1), paper)[tail], 1562.0, 0.01);
    // The paper's figure does not include the tail ACK.
    assert_near("no dummy, ACK", once(MendCounts::new(0, 1, 1), real)[Cause::TailAck as usize], 94.8, 0.01);
    assert_near("one dummy", once(MendCounts::new(1, 1, 1), paper)[tail], 0.70, 0.01);
    assert_near("one dummy, real", once(MendCounts::new(1, 1, 1), real)[tail], 0.87, 0.01);
    // 0.1 of these are gaps among dummies whose NAK is lost.
    let nak = Cause::Nak as usize;
    assert_near("no NAK copy", once(MendCounts::new(2, 0, 1), real)[nak], 0.85, 0.01);
    let twice = Cause::Retransmission as usize;
    assert_near("no retransmission copy", once(MendCounts::new(2, 1, 0), real)[twice], 12.3, 0.02);
    assert_near("all of it", once(MendCounts::TESTBED, real).iter().sum(), 0.095, 0.03);
}

/// A requester that acts on each copy of a NAK retransmits the packet for each. So a NAK copy acts as a
/// retransmission copy: without the latter there are 0.17 timeouts, not 12.2.
#[test]
fn j13_a_nak_copy_is_a_retransmission_copy_too() {
    let real = FrameSizes::on_wire(1024, Operation::Write);
    let twice = |mend| per_100_000(real, mend, NakReaction::Each)[Cause::Retransmission as usize];
    assert_near("NAK copy", twice(MendCounts::new(2, 1, 0)), 0.169, 0.01);
    assert_near("no NAK copy", twice(MendCounts::new(2, 0, 0)), 12.3, 0.02);
}

/// J11: one corrupting link at a host. In each direction of the ping-pong one kind of copy is made too late.
#[test]
fn j11_a_corrupting_host_link_leaves_half_of_the_copies_useless() {
    let setting = ModelSetting {
        next: NextFlow::CLOSED_LOOP,
        nic: Nic { nak_reaction: NakReaction::Once, ..Nic::default() },
        ..ModelSetting::new(FrameSizes::on_wire(1024, Operation::Write), 1.0 / 128.0, MendCounts::TESTBED)
    };
    let (near, far) = (CorruptingLinks { before: 1, behind: 0 }, CorruptingLinks { before: 0, behind: 1 });
    let flow = FlowSize::fixed(1024, 1024);
    let request = expected_on_path(&setting, CorruptingPath { forward: near, backward: far }, &flow).timeouts;
    let reply = expected_on_path(&setting, CorruptingPath { forward: far, backward: near }, &flow).timeouts;
    assert_near("request: twice", request[Cause::Retransmission as usize], 1.0 / 128.0 / 128.0, 0.03);
    assert_near("reply: NAK", reply[Cause::Nak as usize], 4.7e-4 / 128.0, 0.2);
    assert!(reply[Cause::Retransmission as usize] < 1e-6 && request[Cause::Nak as usize] < 1e-8);
}

/// L21: faster and denser generations fail at lower attenuation, and FEC makes the transition steeper.
#[test]
fn l21_generations_break_in_the_order_of_the_figure() {
    let optics = Optics::default();
    let breaks = |generation: &Generation, loss| optics.attenuation_for(generation, loss, 1518.0);
    let order = [Generation::G50_FEC, Generation::G25, Generation::G25_FEC, Generation::G10];
    let at: Vec<f64> = order.iter().map(|generation| breaks(generation, 1e-5)).collect();
    assert!(at.is_sorted(), "{at:?}");
    let width = |generation: &Generation| breaks(generation, 0.1) - breaks(generation, 1e-8);
    assert!(width(&Generation::G25_FEC) < width(&Generation::G25) / 2.0);
    assert!(width(&Generation::G50_FEC) < width(&Generation::G25_FEC));
    let healthy = bits::frame_loss(1e-12, 1518.0);
    assert_near("a bit error rate of 1e-12 is a loss of 1e-8", healthy, 1.2e-8, 0.02);
}

/// At the error rates that the standards accept, about one codeword in 10¹⁰ to 10¹² is lost.
#[test]
fn codes_correct_what_they_are_for() {
    let rs528 = Code::RS528.codeword_loss(5e-5);
    assert!((1e-11..1e-9).contains(&rs528), "{rs528:e}");
    let rs544 = Code::RS544.codeword_loss(2.4e-4);
    assert!((1e-14..1e-11).contains(&rs544), "{rs544:e}");
    assert!((Code::RS544.codeword_loss(0.1) - 1.0).abs() < 1e-9);
    assert!(Code::RS544.codeword_loss(0.0).abs() < 1e-300);
    // SONiC's factors for frames of 64 B and their gap: 1.125, 2.125, 4.125.
    for (interleaved, factor) in [(1, 1.125), (2, 2.125), (4, 4.125)] {
        assert_near("factor", Code::codewords_touched(80.0, interleaved), factor, 1e-12);
    }
}

/// A histogram of independent errors predicts its own loss by both methods.
#[test]
fn counters_predict_the_loss_to_come() {
    let (code, rate, total) = (Code::RS544, 2e-4, 1e12);
    let symbol = 1.0 - (1.0_f64 - rate).powi(10);
    let mut term = (1.0 - symbol).powi(544);
    let mut bins = Vec::new();
    for wrong in 0..=15 {
        // Counters contain whole codewords.
        bins.push((term * total).round());
        term *= f64::from(544 - wrong) / f64::from(wrong + 1) * symbol / (1.0 - symbol);
    }
    let histogram = counters::Histogram { corrected: &bins, uncorrectable: 0.0 };
    let truth = code.codeword_loss(rate);
    assert_near("independent", histogram.independent_codeword_loss(code), truth, 0.05);
    let line = histogram.extrapolated_codeword_loss(code).expect("there are bins");
    assert!((truth.log10() - line.log10()).abs() < 2.5, "{line:e} for {truth:e}");
    let one_bin = counters::Histogram { corrected: &[10.0, 1.0], uncorrectable: 0.0 };
    assert_eq!(one_bin.extrapolated_codeword_loss(code), None);
}

/// A switch that drops at random drops ACKs as often as data, so the tail ACK is as likely as the tail
/// packet.
#[test]
fn frames_that_are_dropped_alike_lose_their_acks_as_often() {
    let setting = ModelSetting {
        corruption: Corruption::Frames(1.0 / 128.0),
        ..ModelSetting::new(FrameSizes::on_wire(1024, Operation::Write), 0.1, MendCounts::NONE)
    };
    let bare = expected(&setting, &Path::between_switches(1, 1.0), &[FlowSize::fixed(1024, 1024)]).timeouts;
    let p = 1.0 / 128.0;
    assert_near("tail", bare[Cause::TailPacket as usize], p / (1.0 - p), 1e-9);
    assert_near("ACK", bare[Cause::TailAck as usize], p / (1.0 - p).powi(2), 1e-9);
}

/// The last dummy is not requested if nothing follows; with a next flow it is.
#[test]
fn the_last_dummy_is_not_requested() {
    let lost = 0.1;
    let naks = |next: NextFlow| {
        let mut setting =
            ModelSetting::new(FrameSizes::on_wire(1024, Operation::Write), lost, MendCounts::new(1, 0, 0));
        (setting.corruption, setting.next) = (Corruption::Frames(lost), next);
        expected(&setting, &Path::between_switches(1, 1.0), &[FlowSize::fixed(1024, 1024)]).naks
    };
    // A lost tail that the dummy reveals.
    let shown = lost * (1.0 - lost) / (1.0 - lost * lost);
    assert_near("apart", naks(NextFlow::NEVER), shown, 0.02);
    assert_near("followed", naks(NextFlow::CLOSED_LOOP), shown + lost, 0.02);
}

/// A next flow can end a second wait as well as the first.
#[test]
fn a_second_wait_can_be_cut_short_too() {
    let (lost, rescues) = (0.2, 0.6);
    let mut setting = ModelSetting::new(FrameSizes::on_wire(1024, Operation::Write), lost, MendCounts::NONE);
    setting.corruption = Corruption::Frames(lost);
    setting.next = NextFlow { rescues, follows: rescues };
    let met = expected(&setting, &Path::between_switches(1, 1.0), &[FlowSize::fixed(1024, 1024)]);
    let (open, mute) = (1.0 - rescues, lost + (1.0 - lost) * lost);
    let waits = lost * open / (1.0 - open * mute);
    assert_near("tail ACK", met.timeouts[Cause::TailAck as usize], waits, 1e-9);
}
