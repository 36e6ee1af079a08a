//! How often a flow waits for its retransmission timer, by cause (JCST §3.3–§4.3), exactly.
//!
//! # The reckoning
//!
//! Go-back-N has one *effective* attempt to deliver a packet p: the first one that is sent after everything before p
//! has arrived. Earlier ones are dropped by the responder, later ones follow from how this one ends. It fails with
//! the loss x of its frame, and then:
//!
//! | what happens next | chance, given the failure | the requester |
//! |---|---|---|
//! | nothing behind p arrives, so nobody asks | ρ | waits: *tail packet*; then p has a fresh attempt |
//! | the NAK and all its copies are lost | (1 − ρ) ν | waits: *NAK*; so again whenever the timer's repeat is lost |
//! | a NAK comes, all that is sent because of it is lost | (1 − ρ) (1 − ν) w | waits: *twice*; likewise |
//! | p comes | the rest | has lost a round trip |
//!
//! Losses are independent, so each packet adds its own expectation, whatever happens to the others:
//! xρ/(1 − xρ) for the first, x(1 − ρ)ν/((1 − x)(1 − xρ)) for the second, and the third likewise. Dummies are packets
//! too: one that is lost opens a gap that the next flow has to bear.
//!
//! When all data have arrived, the flow ends with the first answer that does: the ACK of the tail, of a dummy, or a
//! NAK for a dummy. If all are lost it waits: *tail ACK*, whether or not dummies are missing as well.
//!
//! # What is assumed
//!
//! - An acknowledgement is asked for on every packet and none is coalesced.
//! - A flow's last packets, dummies included, are sent before an answer can come: within a round trip.
//! - The requester acts on every copy of a NAK. The first makes it send p. The next comes while p is still being sent
//!   and makes it send p once more, so a second NAK that arrives is a retransmission copy for free; see [`Rewind`].
//! - The `ToR` copies the first packet with the PSN that a NAK named, and forgets the PSN with it.
//! - Retries do not run out.

use crate::bits::Corruption;
use crate::flow::FlowSize;
use crate::frame::{GAP_BYTES, Sizes};
use crate::path::{Path, Way, Ways};
use crate::setting::{Nic, Rewind, Setting};

/// What the requester waited for when its timer fired (JCST §3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cause {
    /// Something is missing and nothing behind it could show that.
    TailPacket,
    /// Everything has arrived, its acknowledgement has not.
    TailAck,
    /// The responder asked for what is missing, and the NAK was lost.
    Nak,
    /// The NAK came, and what was sent again was lost again.
    Twice,
}

impl Cause {
    /// All causes, in the order of tables.
    pub const ALL: [Self; 4] = [Self::TailPacket, Self::TailAck, Self::Nak, Self::Twice];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TailPacket => "tail packet",
            Self::TailAck => "tail ACK",
            Self::Nak => "NAK",
            Self::Twice => "twice",
        }
    }

    /// The name in files.
    pub const fn key(self) -> &'static str {
        match self {
            Self::TailPacket => "tail_packet",
            Self::TailAck => "tail_ack",
            Self::Nak => "nak",
            Self::Twice => "twice",
        }
    }
}

/// What a flow meets, on average.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Expected {
    /// Timeouts, by [`Cause`].
    pub timeouts: [f64; 4],
    /// The chance of at least one timeout.
    pub probability: f64,
    /// The chance of at least one timeout of each cause, by [`Cause`].
    pub probabilities: [f64; 4],
    /// Gaps that the responder asks about, without copies; those among dummies included.
    pub naks: f64,
    /// Data packets that the requester sends again because of a NAK, as heads of what is missing.
    pub repeats: f64,
    /// Those that it sends once more because a second copy of the NAK came.
    pub second_repeats: f64,
    /// Dummies that are sent again likewise, both kinds.
    pub dummy_repeats: f64,
    /// Lost tails that only the next flow shows.
    pub rescued_tails: f64,
    /// Lost tails that dummies show.
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

/// The mean over all flows and all combinations of corrupting links.
pub fn expected(setting: &Setting, path: &Path, flows: &[FlowSize]) -> Expected {
    expected_and(setting, path, flows, |_, _| 0.0).0
}

/// The same, and the mean over all flows of what `more` makes of what each of them meets.
pub(crate) fn expected_and(
    setting: &Setting,
    path: &Path,
    flows: &[FlowSize],
    more: impl Fn(&FlowSize, &Expected) -> f64,
) -> (Expected, f64) {
    let (mut mean, mut sum) = (Expected::default(), 0.0);
    for (ways, probability) in path.cases() {
        let reckoning = Reckoning::new(setting, ways);
        for flow in flows {
            let (met, weight) = (reckoning.flow(flow), probability * flow.probability);
            mean.add(&met, weight);
            sum += weight * more(flow, &met);
        }
    }
    (mean, sum)
}

/// A flow on a way whose corrupting links are known.
pub fn on_ways(setting: &Setting, ways: Ways, flow: &FlowSize) -> Expected {
    Reckoning::new(setting, ways).flow(flow)
}

/// The loss of a frame before and behind the switch that makes copies.
#[derive(Clone, Copy)]
struct Leg {
    before: f64,
    behind: f64,
}

impl Leg {
    fn new(corruption: Corruption, bytes: f64, way: Way) -> Self {
        Self { before: corruption.loss(bytes, way.before), behind: corruption.loss(bytes, way.behind) }
    }

    fn loss(self) -> f64 {
        self.before + (1.0 - self.before) * self.behind
    }

    /// A repeat and its copies are all lost, whether or not a second repeat follows. The switch copies the first that
    /// it sees.
    fn repeats_lost(self, copies: u32, again: bool) -> f64 {
        let all = self.behind.powi(copies as i32 + 1);
        let copied = self.before + (1.0 - self.before) * all;
        if again { self.before * copied + (1.0 - self.before) * all * self.loss() } else { copied }
    }
}

/// How the answers to a gap end.
#[derive(Clone, Copy)]
struct NakFate {
    /// No copy comes.
    lost: f64,
    /// Copies come that make an idle NIC repeat twice …
    again_idle: f64,
    /// … and a busy one.
    again_busy: f64,
    /// Whether that may be relied on.
    helps: bool,
}

impl NakFate {
    fn new(leg: Leg, copies: u32, nic: Nic, sizes: &Sizes) -> Self {
        let reaches = 1.0 - leg.before;
        let lost = leg.before + reaches * leg.behind.powi(copies as i32 + 1);
        let helps = nic.rewind == Rewind::Each;
        if nic.rewind == Rewind::Once {
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

/// The chances on one combination of corrupting links.
struct Reckoning<'a> {
    setting: &'a Setting,
    forward: Way,
    dummy: Leg,
    middle: Leg,
    answer_loss: f64,
    nak: NakFate,
    /// No dummy arrives.
    dummies_lost: f64,
    body: Body,
}

/// Shares of data packets with enough behind them, while the port is idle when the NAK comes, and while it is not.
#[derive(Clone, Copy)]
struct Body {
    idle: Share,
    busy: Share,
    /// The first packet of a message is longer.
    first_idle: Share,
    first_busy: Share,
    /// All dummies of a flow.
    dummies: Share,
}

/// A packet that is missing.
struct Head {
    leg: Leg,
    /// The chance that its effective attempt fails.
    loss: f64,
    /// Nothing behind it arrives before the timer fires.
    unseen: f64,
    /// The chance that a second copy of its NAK makes the requester repeat it once more.
    again: f64,
}

/// What a missing packet adds: timeouts by cause (tail ACK has none), and what else [`Expected`] counts.
#[derive(Clone, Copy, Default)]
struct Share {
    timeouts: [f64; 4],
    /// The chance that each cause does not occur, and that none does.
    ln_none_of: [f64; 4],
    ln_none: f64,
    naks: f64,
    repeats: f64,
    second_repeats: f64,
}

impl<'a> Reckoning<'a> {
    fn new(setting: &'a Setting, ways: Ways) -> Self {
        let Setting { sizes, corruption, mend, nic, .. } = *setting;
        let dummy = Leg::new(corruption, f64::from(sizes.dummy), ways.forward);
        let answer = Leg::new(corruption, f64::from(sizes.answer), ways.backward);
        let middle = Leg::new(corruption, f64::from(sizes.middle()), ways.forward);
        let first = Leg::new(corruption, f64::from(sizes.full()), ways.forward);
        let nak = NakFate::new(answer, mend.nak_copies, nic, &sizes);
        let copies = mend.retransmission_copies;
        let seen =
            |leg: Leg, again| Share::new(&Head { leg, loss: leg.loss(), unseen: 0.0, again }, &nak, copies);
        let mut dummies = Share::default();
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
        let Setting { sizes, corruption, mend, next, nic, .. } = *self.setting;
        let payload = flow.tail_bytes(sizes.mtu);
        let is_only = flow.packets < 1.5;
        let tail_bytes = if is_only { sizes.first(payload) } else { sizes.last(payload) };
        let tail = Leg::new(corruption, tail_bytes, self.forward);
        let tail_loss = tail.loss().powi(mend.tail_repeat as i32 + 1);
        let open = 1.0 - next.rescues;
        let mut sum = Sum::default();
        let (unseen, again) = (self.dummies_lost * open, self.nak.again_idle);
        sum.add(&self.share(&Head { leg: tail, loss: tail_loss, unseen, again }), 1.0);
        sum.expected.shown_tails = tail_loss * (1.0 - self.dummies_lost);
        sum.expected.rescued_tails = tail_loss * self.dummies_lost * next.rescues;
        self.add_body(&mut sum, flow, tail_loss * unseen, nic.flight_packets);
        self.add_dummies(&mut sum, tail_loss * self.middle.loss().powf(flow.packets - 1.0));
        self.add_answers(&mut sum, tail, open);
        sum.finish()
    }

    /// All data packets before the tail.
    fn add_body(&self, sum: &mut Sum, flow: &FlowSize, tail_unseen: f64, flight_packets: f64) {
        // With a few packets behind it a gap is never overlooked, to any precision that matters.
        const NEAR: u32 = 6;
        let body = flow.packets - 1.0;
        if body <= 0.0 {
            return;
        }
        let (loss, again) = (self.middle.loss(), self.nak.again_idle);
        let mut unseen = tail_unseen;
        let mut near = 0;
        while near < NEAR && f64::from(near) + 1.0 <= body && unseen > NEVER {
            sum.add(&self.share(&Head { leg: self.middle, loss, unseen, again }), 1.0);
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

    /// Gaps among dummies, which the next flow bears.
    fn add_dummies(&self, sum: &mut Sum, next_data_lost: f64) {
        let Setting { mend, next, .. } = self.setting;
        // If no flow follows, nobody asks for the last ones.
        let loss = self.dummy.loss();
        let last: f64 = (1..=mend.dummies).map(|lost| loss.powi(lost as i32)).sum();
        let unasked = (1.0 - next.follows) * last;
        sum.expected.naks -= unasked;
        sum.expected.dummy_repeats -= unasked * (1.0 - self.nak.lost);
        // Shown by later dummies, or by the next flow; hardly ever by neither.
        let next_lost = next_data_lost * self.dummies_lost;
        if next_lost < NEVER {
            sum.add_dummies(&self.body.dummies, next.follows);
            return;
        }
        for behind in 0..mend.dummies {
            let unseen = loss.powi(behind as i32) * next_lost;
            let again = again_for_dummy(self.setting, &self.nak, self.dummy, behind);
            let share = self.share(&Head { leg: self.dummy, loss, unseen, again });
            sum.add_dummies(&share, next.follows);
        }
    }

    /// All data have arrived: does the requester learn of it?
    fn add_answers(&self, sum: &mut Sum, tail: Leg, open: f64) {
        let Setting { mend, next, .. } = self.setting;
        let (lost, dummy) = (self.answer_loss, self.dummy.loss());
        // A copy of the tail that is lost, or whose ACK is; given that one of them arrived.
        let mute = tail.loss() + (1.0 - tail.loss()) * lost;
        let copies = mend.tail_repeat as i32 + 1;
        let tail_lost = tail.loss().powi(copies);
        // For a single one that is the loss of its ACK; the difference would lose digits.
        let silence = match copies {
            1 => lost,
            _ if tail_lost < 1.0 => (mute.powi(copies) - tail_lost) / (1.0 - tail_lost),
            _ => 0.0,
        };
        // Dummies that arrive in a row, and whose ACKs are lost.
        let heard_of_none = (1.0 - dummy) * lost;
        let all = silence * heard_of_none.powi(mend.dummies as i32);
        let (mut unseen, mut asked) = (0.0, 0.0);
        for arrived in 0..mend.dummies {
            let rest = dummy.powi((mend.dummies - arrived - 1) as i32);
            let gap = silence * heard_of_none.powi(arrived as i32) * dummy;
            unseen += gap * rest;
            asked += gap * (1.0 - rest) * self.nak.lost;
        }
        // The timer's repeat can go unheard too, if again nothing else comes; a tail that is sent again is repeated again.
        let again = open * mute.powi(copies) * (dummy + (1.0 - dummy) * lost).powi(mend.dummies as i32);
        let factor = if again < 1.0 { open / (1.0 - again) } else { 0.0 };
        let mut share = [0.0; 4];
        share[Cause::TailAck as usize] = all + unseen + asked;
        // Such a gap was counted with the dummies, for the next flow.
        share[Cause::Nak as usize] = -asked * next.follows;
        sum.add_timeouts(
            share.map(|chance| chance * factor),
            ln_none(share.map(|chance| chance * open)),
            1.0,
        );
    }

    fn share(&self, head: &Head) -> Share {
        Share::new(head, &self.nak, self.setting.mend.retransmission_copies)
    }
}

impl Share {
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

    fn new(head: &Head, nak: &NakFate, copies: u32) -> Self {
        let &Head { leg, loss, unseen, again } = head;
        let once = 1.0 - nak.lost - again;
        let twice = once * leg.repeats_lost(copies, false) + again * leg.repeats_lost(copies, nak.helps);
        let seen = loss * (1.0 - unseen);
        // A fresh attempt follows a timeout of nobody having asked.
        let fresh = 1.0 / (1.0 - loss * unseen);
        // Once asked, each loss of the timer's repeat is one more timeout.
        let stuck = 1.0 / (1.0 - leg.loss());
        let mut chances = [0.0; 4];
        chances[Cause::TailPacket as usize] = loss * unseen;
        chances[Cause::Nak as usize] = seen * nak.lost;
        chances[Cause::Twice as usize] = seen * twice;
        let mut timeouts = chances.map(|chance| chance * fresh);
        timeouts[Cause::Nak as usize] *= stuck;
        timeouts[Cause::Twice as usize] *= stuck;
        let naks = seen * fresh;
        let (ln_none_of, ln_none) = ln_none(chances);
        let repeats = naks * (1.0 - nak.lost);
        Self { timeouts, ln_none_of, ln_none, naks, repeats, second_repeats: naks * again }
    }
}

/// The chance of a second repeat of a dummy with so many behind it. If those show its loss, the NAK meets the next flow
/// as it is being sent, where there is one; only if the next flow itself shows it, the port has fallen idle again.
fn again_for_dummy(setting: &Setting, nak: &NakFate, dummy: Leg, behind: u32) -> f64 {
    let follows = setting.next.follows;
    nak.again_idle * (1.0 - follows + follows * dummy.loss().powi(behind as i32))
}

/// Shares, put together.
#[derive(Default)]
struct Sum {
    expected: Expected,
    /// Logarithms of the chances of no timeout at all, and of none of each cause.
    ln_none: f64,
    ln_none_of: [f64; 4],
}

impl Sum {
    fn add(&mut self, share: &Share, weight: f64) {
        self.add_timeouts(share.timeouts, (share.ln_none_of, share.ln_none), weight);
        self.expected.naks += weight * share.naks;
        self.expected.repeats += weight * share.repeats;
        self.expected.second_repeats += weight * share.second_repeats;
    }

    /// Dummies are asked for even if nobody waits for them.
    fn add_dummies(&mut self, share: &Share, follows: f64) {
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

/// Logarithms of the chances that each of these does not happen, and that none does; at most one can.
fn ln_none(chances: [f64; 4]) -> ([f64; 4], f64) {
    (chances.map(ln_not), ln_not(chances.iter().sum()))
}

/// ln(1 − chance); of a tiny one, which is the usual case, at once.
fn ln_not(chance: f64) -> f64 {
    if chance.abs() < TINY { -chance } else { (-chance).ln_1p() }
}

/// The chance that anything happens, from the logarithm of the chance that nothing does.
fn any_of(ln_none: f64) -> f64 {
    if ln_none.abs() < TINY { -ln_none } else { -ln_none.exp_m1() }
}

/// Where x and ln(1 + x) differ by less than anybody can tell.
const TINY: f64 = 1e-10;
/// Chances below this one change nothing that is counted beside them.
const NEVER: f64 = 1e-24;
