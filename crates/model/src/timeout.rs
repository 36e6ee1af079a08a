//! Exact number of retransmission timeouts of a flow, by cause (JCST §3.3–§4.3).
//!
//! # Derivation
//!
//! Go-back-N has one *effective* attempt to deliver a packet p: the first one after everything before p has
//! arrived. The responder drops earlier attempts, and later ones follow from the outcome of this one. It
//! fails with the loss x of its frame, and then:
//!
//! | next | probability, given the failure | effect on the requester |
//! |---|---|---|
//! | nothing behind p arrives, so there is no NAK | ρ | timeout *tail packet*; then p has a fresh attempt |
//! | the NAK and all its copies are lost | (1 − ρ) ν | timeout *NAK*, again whenever the retransmission after it is lost |
//! | a NAK arrives, all retransmissions are lost | (1 − ρ) (1 − ν) w | timeout *retransmission*, again in the same way |
//! | p arrives | the rest | one round trip lost |
//!
//! Losses are independent, so the expectations of all packets add up: xρ/(1 − xρ) for the first cause, x(1 −
//! ρ)ν/((1 − x)(1 − xρ)) for the second, and accordingly for the third. A lost dummy opens a gap too, which
//! delays the next flow.
//!
//! After all data have arrived, the flow ends with the first of these that arrives: the ACK of the tail, the
//! ACK of a dummy, or a NAK for a dummy. If all are lost, the timer fires: *tail ACK*, whether or not dummies
//! are missing.
//!
//! # Assumptions
//!
//! - Every packet requests an acknowledgement, and none is coalesced.
//! - The last packets of a flow, dummies included, are sent within a round trip, before an answer can arrive.
//! - The requester acts on every copy of a NAK. The first one triggers the retransmission of p. The next one
//!   arrives during that retransmission and triggers another, so a second NAK acts as a retransmission copy;
//!   see [`NakReaction`].
//! - The `ToR` copies the first packet with the PSN of a NAK and then clears the PSN.
//! - Retries do not run out.

use crate::bits::Corruption;
use crate::flow::FlowSize;
use crate::frame::{FrameSizes, GAP_BYTES};
use crate::path::{CorruptingLinks, CorruptingPath, Path};
use crate::setting::{ModelSetting, NakReaction, Nic};

/// Cause of a retransmission timeout (JCST §3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// A packet is missing, and nothing behind it revealed the gap.
    TailPacket,
    /// Everything arrived, but the acknowledgement was lost.
    TailAck,
    /// The responder sent a NAK, which was lost.
    Nak,
    /// The NAK arrived, and the retransmission was lost.
    Retransmission,
}

impl Cause {
    /// All causes, in the order of tables.
    pub const ALL: [Self; 4] = [Self::TailPacket, Self::TailAck, Self::Nak, Self::Retransmission];

    /// Name of the cause in tables and text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TailPacket => "tail packet",
            Self::TailAck => "tail ACK",
            Self::Nak => "NAK",
            Self::Retransmission => "retransmission",
        }
    }

    /// Name of the cause in files.
    pub const fn key(self) -> &'static str {
        match self {
            Self::TailPacket => "tail_packet",
            Self::TailAck => "tail_ack",
            Self::Nak => "nak",
            Self::Retransmission => "retransmission",
        }
    }
}

/// Expectations for one flow.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Expected {
    /// Number of timeouts, by [`Cause`].
    pub timeouts: [f64; 4],
    /// Probability of at least one timeout.
    pub probability: f64,
    /// Probability of at least one timeout of each [`Cause`].
    pub probabilities: [f64; 4],
    /// Gaps for which the responder sends a NAK, including those among dummies; copies not counted.
    pub naks: f64,
    /// Retransmissions of missing data packets that a NAK triggers.
    pub repeats: f64,
    /// Second retransmissions, triggered by a second copy of the NAK.
    pub second_repeats: f64,
    /// Retransmissions of dummies, first and second.
    pub dummy_repeats: f64,
    /// Lost tails that only the next flow reveals.
    pub rescued_tails: f64,
    /// Lost tails that dummies reveal.
    pub shown_tails: f64,
}

impl Expected {
    /// Timeouts of all causes.
    pub fn total(&self) -> f64 {
        self.timeouts.iter().sum()
    }

    fn add(&mut self, other: &Self, weight: f64) {
        for cause in 0..4 {
            self.timeouts[cause] += weight * other.timeouts[cause];
            self.probabilities[cause] += weight * other.probabilities[cause];
        }
        self.probability += weight * other.probability;
        self.naks += weight * other.naks;
        self.repeats += weight * other.repeats;
        self.second_repeats += weight * other.second_repeats;
        self.dummy_repeats += weight * other.dummy_repeats;
        self.rescued_tails += weight * other.rescued_tails;
        self.shown_tails += weight * other.shown_tails;
    }
}

/// Mean over all flows and all combinations of corrupting links.
pub fn expected(setting: &ModelSetting, path: &Path, flows: &[FlowSize]) -> Expected {
    expected_and(setting, path, flows, |_, _| 0.0).0
}

/// The same, and the mean over all flows of `more`.
pub(crate) fn expected_and(
    setting: &ModelSetting,
    path: &Path,
    flows: &[FlowSize],
    more: impl Fn(&FlowSize, &Expected) -> f64,
) -> (Expected, f64) {
    let (mut mean, mut sum) = (Expected::default(), 0.0);
    for (ways, probability) in path.cases() {
        let model = PathModel::new(setting, ways);
        for flow in flows {
            let (expected, weight) = (model.flow(flow), probability * flow.probability);
            mean.add(&expected, weight);
            sum += weight * more(flow, &expected);
        }
    }
    (mean, sum)
}

/// Expectations of a flow on a path with known corrupting links.
pub fn expected_on_path(setting: &ModelSetting, ways: CorruptingPath, flow: &FlowSize) -> Expected {
    PathModel::new(setting, ways).flow(flow)
}

/// Loss of a frame before and after the switch that makes copies.
#[derive(Clone, Copy)]
struct FrameLoss {
    before: f64,
    behind: f64,
}

impl FrameLoss {
    fn new(corruption: Corruption, bytes: f64, way: CorruptingLinks) -> Self {
        Self { before: corruption.loss(bytes, way.before), behind: corruption.loss(bytes, way.behind) }
    }

    fn loss(self) -> f64 {
        self.before + (1.0 - self.before) * self.behind
    }

    /// Probability that a retransmission and its copies are all lost, with or without a second
    /// retransmission. The switch copies the first one that reaches it.
    fn repeats_lost(self, copies: u32, again: bool) -> f64 {
        let all = self.behind.powi(copies as i32 + 1);
        let copied = self.before + (1.0 - self.before) * all;
        if again { self.before * copied + (1.0 - self.before) * all * self.loss() } else { copied }
    }
}

/// Probabilities of the outcomes of a NAK.
#[derive(Clone, Copy)]
struct NakOutcome {
    /// No copy arrives.
    lost: f64,
    /// An idle NIC retransmits twice …
    again_idle: f64,
    /// … and a busy NIC does.
    again_busy: f64,
    /// Whether the second retransmission counts as a benefit.
    helps: bool,
}

impl NakOutcome {
    fn new(leg: FrameLoss, copies: u32, nic: Nic, sizes: &FrameSizes) -> Self {
        let reaches = 1.0 - leg.before;
        let lost = leg.before + reaches * leg.behind.powi(copies as i32 + 1);
        let helps = nic.nak_reaction == NakReaction::Each;
        if nic.nak_reaction == NakReaction::Once {
            return Self { lost, again_idle: 0.0, again_busy: 0.0, helps };
        }
        // Distance of two copies, in packets.
        let apart = f64::from(sizes.answer + GAP_BYTES) / f64::from(sizes.middle() + GAP_BYTES);
        let (mut again_idle, mut again_busy) = (0.0, 0.0);
        for first in 0..copies {
            for last in first + 1..=copies {
                let lost_outside = leg.behind.powi((first + copies - last) as i32);
                let chance = reaches * (1.0 - leg.behind).powi(2) * lost_outside;
                again_idle += chance;
                again_busy += chance * (f64::from(last - first) * apart).min(1.0);
            }
        }
        Self { lost, again_idle, again_busy, helps }
    }
}

/// Probabilities on one combination of corrupting links.
struct PathModel<'a> {
    setting: &'a ModelSetting,
    forward: CorruptingLinks,
    dummy: FrameLoss,
    middle: FrameLoss,
    answer_loss: f64,
    nak: NakOutcome,
    /// Probability that no dummy arrives.
    dummies_lost: f64,
    body: Body,
}

/// Contributions of data packets far from the tail, with an idle and with a busy port when the NAK arrives.
#[derive(Clone, Copy)]
struct Body {
    idle: Contribution,
    busy: Contribution,
    /// The first packet of a message is longer.
    first_idle: Contribution,
    first_busy: Contribution,
    /// All dummies of a flow.
    dummies: Contribution,
}

/// A packet that is missing.
struct MissingPacket {
    leg: FrameLoss,
    /// Probability that its effective attempt fails.
    loss: f64,
    /// Probability that nothing behind it arrives before the timer fires.
    unseen: f64,
    /// Probability that a second copy of its NAK triggers another retransmission.
    again: f64,
}

/// Contribution of a missing packet to [`Expected`]: timeouts by cause (no tail ACK), and the rest.
#[derive(Clone, Copy, Default)]
struct Contribution {
    timeouts: [f64; 4],
    /// Logarithms of the probabilities that each cause does not occur, and that none does.
    ln_none_of: [f64; 4],
    ln_none: f64,
    naks: f64,
    repeats: f64,
    second_repeats: f64,
}

impl<'a> PathModel<'a> {
    fn new(setting: &'a ModelSetting, ways: CorruptingPath) -> Self {
        let ModelSetting { sizes, corruption, mend, nic, .. } = *setting;
        let dummy = FrameLoss::new(corruption, f64::from(sizes.dummy), ways.forward);
        let answer = FrameLoss::new(corruption, f64::from(sizes.answer), ways.backward);
        let middle = FrameLoss::new(corruption, f64::from(sizes.middle()), ways.forward);
        let first = FrameLoss::new(corruption, f64::from(sizes.full()), ways.forward);
        let nak = NakOutcome::new(answer, mend.nak_copies, nic, &sizes);
        let copies = mend.retransmission_copies;
        let seen = |leg: FrameLoss, again| {
            Contribution::new(&MissingPacket { leg, loss: leg.loss(), unseen: 0.0, again }, &nak, copies)
        };
        let mut dummies = Contribution::default();
        for behind in 0..mend.dummies {
            dummies.add(&seen(dummy, again_for_dummy(setting, &nak, dummy, behind)));
        }
        Self {
            setting,
            forward: ways.forward,
            dummy,
            middle,
            answer_loss: answer.loss(),
            dummies_lost: dummy.loss().powi(mend.dummies as i32),
            body: Body {
                idle: seen(middle, nak.again_idle),
                busy: seen(middle, nak.again_busy),
                first_idle: seen(first, nak.again_idle),
                first_busy: seen(first, nak.again_busy),
                dummies,
            },
            nak,
        }
    }

    fn flow(&self, flow: &FlowSize) -> Expected {
        let ModelSetting { sizes, corruption, mend, next, nic, .. } = *self.setting;
        let payload = flow.tail_bytes(sizes.mtu);
        let is_only = flow.packets < 1.5;
        let tail_bytes = if is_only { sizes.first(payload) } else { sizes.last(payload) };
        let tail = FrameLoss::new(corruption, tail_bytes, self.forward);
        let tail_loss = tail.loss().powi(mend.tail_copies as i32 + 1);
        let open = 1.0 - next.rescues;
        let mut sum = FlowSum::default();
        let (unseen, again) = (self.dummies_lost * open, self.nak.again_idle);
        sum.add(&self.share(&MissingPacket { leg: tail, loss: tail_loss, unseen, again }), 1.0);
        sum.expected.shown_tails = tail_loss * (1.0 - self.dummies_lost);
        sum.expected.rescued_tails = tail_loss * self.dummies_lost * next.rescues;
        self.add_body(&mut sum, flow, tail_loss * unseen, nic.flight_packets);
        self.add_dummies(&mut sum, tail_loss * self.middle.loss().powf(flow.packets - 1.0));
        self.add_answers(&mut sum, tail, open);
        sum.finish()
    }

    /// Adds all data packets before the tail.
    fn add_body(&self, sum: &mut FlowSum, flow: &FlowSize, tail_unseen: f64, flight_packets: f64) {
        // With a few packets behind it a gap is always revealed, within the precision of the result.
        const NEAR: u32 = 6;
        let body = flow.packets - 1.0;
        if body <= 0.0 {
            return;
        }
        let (loss, again) = (self.middle.loss(), self.nak.again_idle);
        let mut unseen = tail_unseen;
        let mut near = 0;
        while near < NEAR && f64::from(near) + 1.0 <= body && unseen > NEVER {
            sum.add(&self.share(&MissingPacket { leg: self.middle, loss, unseen, again }), 1.0);
            unseen *= loss;
            near += 1;
        }
        let rest = body - f64::from(near);
        let idle = (flight_packets - 1.0 - f64::from(near)).clamp(0.0, rest);
        sum.add(&self.body.idle, idle);
        sum.add(&self.body.busy, rest - idle);
        let is_idle = body < flight_packets;
        let Body { idle, busy, first_idle, first_busy, .. } = &self.body;
        sum.add(if is_idle { first_idle } else { first_busy }, 1.0);
        sum.add(if is_idle { idle } else { busy }, -1.0);
    }

    /// Adds gaps among dummies, which delay the next flow.
    fn add_dummies(&self, sum: &mut FlowSum, next_data_lost: f64) {
        let ModelSetting { mend, next, .. } = self.setting;
        // Without a next flow, the last dummies are not requested.
        let loss = self.dummy.loss();
        let last: f64 = (1..=mend.dummies).map(|lost| loss.powi(lost as i32)).sum();
        let unasked = (1.0 - next.follows) * last;
        sum.expected.naks -= unasked;
        sum.expected.dummy_repeats -= unasked * (1.0 - self.nak.lost);
        // Later dummies or the next flow reveal the gap, except with negligible probability.
        let next_lost = next_data_lost * self.dummies_lost;
        if next_lost < NEVER {
            sum.add_dummies(&self.body.dummies, next.follows);
            return;
        }
        for behind in 0..mend.dummies {
            let unseen = loss.powi(behind as i32) * next_lost;
            let again = again_for_dummy(self.setting, &self.nak, self.dummy, behind);
            let share = self.share(&MissingPacket { leg: self.dummy, loss, unseen, again });
            sum.add_dummies(&share, next.follows);
        }
    }

    /// Adds the timeouts after all data have arrived.
    fn add_answers(&self, sum: &mut FlowSum, tail: FrameLoss, open: f64) {
        let ModelSetting { mend, next, .. } = self.setting;
        let (lost, dummy) = (self.answer_loss, self.dummy.loss());
        // A copy of the tail is lost, or its ACK is; given that one copy arrived.
        let mute = tail.loss() + (1.0 - tail.loss()) * lost;
        let copies = mend.tail_copies as i32 + 1;
        let tail_lost = tail.loss().powi(copies);
        // For a single copy that is the loss of its ACK; the difference would lose precision.
        let silence = match copies {
            1 => lost,
            _ if tail_lost < 1.0 => (mute.powi(copies) - tail_lost) / (1.0 - tail_lost),
            _ => 0.0,
        };
        // Consecutive dummies arrive, and their ACKs are lost.
        let heard_of_none = (1.0 - dummy) * lost;
        let all = silence * heard_of_none.powi(mend.dummies as i32);
        let (mut unseen, mut asked) = (0.0, 0.0);
        for arrived in 0..mend.dummies {
            let rest = dummy.powi((mend.dummies - arrived - 1) as i32);
            let gap = silence * heard_of_none.powi(arrived as i32) * dummy;
            unseen += gap * rest;
            asked += gap * (1.0 - rest) * self.nak.lost;
        }
        // The retransmission after the timeout can fail in the same way; a tail that is sent again is
        // repeated again.
        let again = open * mute.powi(copies) * (dummy + (1.0 - dummy) * lost).powi(mend.dummies as i32);
        let factor = if again < 1.0 { open / (1.0 - again) } else { 0.0 };
        let mut share = [0.0; 4];
        share[Cause::TailAck as usize] = all + unseen + asked;
        // This gap was counted with the dummies of the next flow.
        share[Cause::Nak as usize] = -asked * next.follows;
        sum.add_timeouts(
            share.map(|chance| chance * factor),
            ln_none(share.map(|chance| chance * open)),
            1.0,
        );
    }

    fn share(&self, head: &MissingPacket) -> Contribution {
        Contribution::new(head, &self.nak, self.setting.mend.retransmission_copies)
    }
}

impl Contribution {
    fn add(&mut self, other: &Self) {
        for cause in 0..4 {
            self.timeouts[cause] += other.timeouts[cause];
            self.ln_none_of[cause] += other.ln_none_of[cause];
        }
        self.ln_none += other.ln_none;
        self.naks += other.naks;
        self.repeats += other.repeats;
        self.second_repeats += other.second_repeats;
    }

    fn new(head: &MissingPacket, nak: &NakOutcome, copies: u32) -> Self {
        let &MissingPacket { leg, loss, unseen, again } = head;
        let once = 1.0 - nak.lost - again;
        let twice = once * leg.repeats_lost(copies, false) + again * leg.repeats_lost(copies, nak.helps);
        let seen = loss * (1.0 - unseen);
        // A fresh attempt follows a timeout without NAK.
        let fresh = 1.0 / (1.0 - loss * unseen);
        // After a NAK, each loss of the retransmission after a timeout is one more timeout.
        let stuck = 1.0 / (1.0 - leg.loss());
        let mut chances = [0.0; 4];
        chances[Cause::TailPacket as usize] = loss * unseen;
        chances[Cause::Nak as usize] = seen * nak.lost;
        chances[Cause::Retransmission as usize] = seen * twice;
        let mut timeouts = chances.map(|chance| chance * fresh);
        timeouts[Cause::Nak as usize] *= stuck;
        timeouts[Cause::Retransmission as usize] *= stuck;
        let naks = seen * fresh;
        let (ln_none_of, ln_none) = ln_none(chances);
        let repeats = naks * (1.0 - nak.lost);
        Self { timeouts, ln_none_of, ln_none, naks, repeats, second_repeats: naks * again }
    }
}

/// Probability of a second retransmission of a dummy with `behind` dummies after it. If these reveal its
/// loss, the NAK arrives while the next flow is sent, if there is one. If only the next flow reveals it, the
/// port is idle again.
fn again_for_dummy(setting: &ModelSetting, nak: &NakOutcome, dummy: FrameLoss, behind: u32) -> f64 {
    let follows = setting.next.follows;
    nak.again_idle * (1.0 - follows + follows * dummy.loss().powi(behind as i32))
}

/// Sum of contributions.
#[derive(Default)]
struct FlowSum {
    expected: Expected,
    /// Logarithms of the probabilities of no timeout, and of none of each cause.
    ln_none: f64,
    ln_none_of: [f64; 4],
}

impl FlowSum {
    fn add(&mut self, share: &Contribution, weight: f64) {
        self.add_timeouts(share.timeouts, (share.ln_none_of, share.ln_none), weight);
        self.expected.naks += weight * share.naks;
        self.expected.repeats += weight * share.repeats;
        self.expected.second_repeats += weight * share.second_repeats;
    }

    /// Adds dummies. NAKs for them count even if no flow waits for them.
    fn add_dummies(&mut self, share: &Contribution, follows: f64) {
        self.add_timeouts(share.timeouts, (share.ln_none_of, share.ln_none), follows);
        self.expected.naks += share.naks;
        self.expected.dummy_repeats += share.repeats + share.second_repeats;
    }

    fn add_timeouts(&mut self, timeouts: [f64; 4], (ln_none_of, ln_none): ([f64; 4], f64), weight: f64) {
        for cause in 0..4 {
            self.expected.timeouts[cause] += weight * timeouts[cause];
            self.ln_none_of[cause] += weight * ln_none_of[cause];
        }
        self.ln_none += weight * ln_none;
    }

    fn finish(self) -> Expected {
        Expected {
            probability: any_of(self.ln_none),
            probabilities: self.ln_none_of.map(any_of),
            ..self.expected
        }
    }
}

/// Logarithms of the probabilities that each event does not occur, and that none does. The events exclude
/// each other.
fn ln_none(chances: [f64; 4]) -> ([f64; 4], f64) {
    (chances.map(ln_not), ln_not(chances.iter().sum()))
}

/// ln(1 − chance), fast for tiny values.
fn ln_not(chance: f64) -> f64 {
    if chance.abs() < TINY { -chance } else { (-chance).ln_1p() }
}

/// Probability of any event, from the logarithm of the probability of none.
fn any_of(ln_none: f64) -> f64 {
    if ln_none.abs() < TINY { -ln_none } else { -ln_none.exp_m1() }
}

/// Below this, x and ln(1 + x) are equal in double precision.
const TINY: f64 = 1e-10;
/// Probabilities below this are negligible.
const NEVER: f64 = 1e-24;
