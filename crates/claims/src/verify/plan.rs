//! At which corruption timeouts can be counted, and in how many flows.

use wiremend_model::{Cause, Corruption, FlowSize, Target, flow, recovery};

use super::bench::{Arrivals, Bench};
use super::{Promise, RUNS};
use crate::ledger::number::shown;

/// Flows that are simulated alike.
pub(super) struct Trial {
    /// The name of its variant.
    pub(super) name: String,
    /// The loss of a full frame on a corrupting link.
    pub(super) beta: f64,
    pub(super) corruption: Corruption,
    /// Whether this is the corruption that was asked about.
    pub(super) is_asked: bool,
    /// The size of all flows, where they are not as asked.
    pub(super) cut: Option<u32>,
    pub(super) sizes: Vec<FlowSize>,
    pub(super) flows_per_run: u64,
    /// Timeouts of a flow by the model, by [`Cause`].
    pub(super) timeouts: [f64; 4],
    /// Loss of a full frame on the whole way.
    pub(super) path_loss: f64,
}

/// So many timeouts of the cause that matters most are wanted …
const COUNT_MIN: f64 = 60.0;
/// … and more than so many show no more.
const COUNT_MAX: f64 = 600.0;
/// On the whole way no more than this is lost: beyond, a simulation spends its time going back.
const PATH_LOSS_MAX: f64 = 0.3;
/// Rates that are nearer than this factor show the same.
const FURTHER: f64 = 1.2;
/// Flows of more packets than this are cut at raised corruption, for the same reason.
const PACKETS_MAX: f64 = 32.0;
/// Packets of flows that are cut: so many and a half. With few a tail is soon lost, with more a packet is soon lost twice.
const CUT: [u32; 2] = [2, 16];
/// The part of the work that goes into flows as they were asked about.
const ASKED_PART: f64 = 1.0 / 3.0;
/// Timeouts that go on at the same time on one queue pair, at most: the model has them one by one.
const AT_ONCE_MAX: f64 = 0.02;
/// Seconds on one core that a flow takes, and each of its packets over each link.
const FLOW_S: f64 = 4e-6;
const HOP_S: f64 = 1.2e-7;
const CORES: f64 = 2.0;

/// What to simulate in so many seconds: the asked flows at the asked corruption first.
pub(super) fn plan(bench: &Bench<'_>, promise: &Promise<'_>, seconds: f64) -> Vec<Trial> {
    let planner = Planner { bench, promise };
    let work = seconds * CORES;
    let asked = planner.sizes(None);
    let corruption = promise.subject.corruption;
    let countable = planner.all(&asked, corruption).iter().sum::<f64>();
    let is_direct = matches!(promise.target, Target::Fct { .. })
        || countable * planner.affordable(&asked, corruption, work) >= COUNT_MIN;
    let part = if is_direct { work } else { work * ASKED_PART };
    let mut trials = vec![planner.trial(None, promise.subject.beta(), part)];
    if !is_direct {
        let cuts = planner.cuts();
        let each = work * (1.0 - ASKED_PART) / (2 * cuts.len()) as f64;
        for cut in cuts {
            trials.extend(planner.raised(cut, each));
        }
    }
    trials
}

struct Planner<'a> {
    bench: &'a Bench<'a>,
    promise: &'a Promise<'a>,
}

impl Planner<'_> {
    fn sizes(&self, cut: Option<u32>) -> Vec<FlowSize> {
        let subject = self.promise.subject;
        cut.map_or_else(|| subject.flows.clone(), |bytes| vec![FlowSize::only(bytes, subject.sizes.mtu)])
    }

    /// What flows are cut to, where that is needed.
    fn cuts(&self) -> Vec<Option<u32>> {
        let subject = self.promise.subject;
        if flow::mean_packets(&subject.flows) <= PACKETS_MAX {
            return vec![None];
        }
        CUT.map(|packets| Some(packets * subject.sizes.mtu + subject.sizes.mtu / 2)).to_vec()
    }

    /// Trials at two raised rates: the lowest at which enough can be counted, and twice that.
    fn raised(&self, cut: Option<u32>, work: f64) -> Vec<Trial> {
        let sizes = self.sizes(cut);
        let subject = self.promise.subject;
        let links = f64::from(subject.path.links + subject.path.access_links);
        let most = (-(-PATH_LOSS_MAX).ln_1p() / links).min(PATH_LOSS_MAX).max(subject.beta());
        let suffices = |beta: f64| {
            let corruption = self.corruption(beta);
            self.expected(&sizes, corruption) * self.affordable(&sizes, corruption, work) >= COUNT_MIN
        };
        let (mut low, mut high) = (subject.beta(), self.bounded(&sizes, most));
        let top = high;
        for _ in 0..30 {
            let middle = (low * high).sqrt();
            if suffices(middle) { high = middle } else { low = middle }
        }
        let twice = (2.0 * high).min(top);
        // No higher than the asked rate is no trial of its own, unless its flows are.
        let rates =
            [(high, cut.is_some() || high > FURTHER * subject.beta()), (twice, twice > FURTHER * high)];
        rates.into_iter().filter(|rate| rate.1).map(|(beta, _)| self.trial(cut, beta, work)).collect()
    }

    /// The highest rate up to `most` at which timeouts of one queue pair do not meet.
    fn bounded(&self, sizes: &[FlowSize], most: f64) -> f64 {
        let Arrivals::Random { gap } = self.bench.arrivals else { return most };
        let times = self.bench.times(sizes);
        let meet = 1.0 + times.rto / gap / (1.0 - times.busy);
        let mut beta = most;
        while beta > self.promise.subject.beta()
            && self.all(sizes, self.corruption(beta)).iter().sum::<f64>() * meet > AT_ONCE_MAX
        {
            beta = (beta * 0.9).max(self.promise.subject.beta());
        }
        beta
    }

    fn trial(&self, cut: Option<u32>, beta: f64, work: f64) -> Trial {
        let subject = self.promise.subject;
        let sizes = self.sizes(cut);
        let corruption = self.corruption(beta);
        let mut flows = self.affordable(&sizes, corruption, work);
        if matches!(self.promise.target, Target::Timeout(_)) {
            flows = flows.min(COUNT_MAX / self.expected(&sizes, corruption));
        }
        let what = cut.map_or_else(|| self.bench.sizes_name(), |bytes| format!("{bytes} B"));
        Trial {
            name: format!("β = {}, {what}", shown(beta)),
            beta,
            corruption,
            is_asked: cut.is_none() && beta <= subject.beta(),
            cut,
            flows_per_run: (flows / RUNS as f64).ceil().max(1.0) as u64,
            timeouts: self.all(&sizes, corruption),
            path_loss: self.path_loss(corruption),
            sizes,
        }
    }

    fn corruption(&self, beta: f64) -> Corruption {
        let subject = self.promise.subject;
        match subject.corruption {
            as_asked if beta <= subject.beta() => as_asked,
            Corruption::Bits(_) => Corruption::of_full_frame(beta, subject.sizes.full()),
            Corruption::Frames(_) => Corruption::Frames(beta),
        }
    }

    fn path_loss(&self, corruption: Corruption) -> f64 {
        let subject = self.promise.subject;
        let links = subject.path.links + subject.path.access_links;
        corruption.loss(f64::from(subject.sizes.full()), links)
    }

    /// Timeouts of a flow, by cause.
    fn all(&self, sizes: &[FlowSize], corruption: Corruption) -> [f64; 4] {
        self.bench.expected(self.promise.choice.mend, corruption, sizes).timeouts
    }

    /// Timeouts of a flow that are to be counted: of the cause that most of them have at the asked corruption. If that
    /// is one of tails, longer flows show the others.
    fn expected(&self, sizes: &[FlowSize], corruption: Corruption) -> f64 {
        let all = self.all(sizes, corruption);
        let main = self.promise.choice.main_cause();
        let is_of_tails = matches!(main, Cause::TailPacket | Cause::TailAck);
        let is_long = flow::mean_packets(sizes) > f64::from(CUT[1]);
        let wanted = if is_of_tails && is_long {
            all[Cause::Nak as usize] + all[Cause::Twice as usize]
        } else {
            all[main as usize]
        };
        wanted.max(f64::MIN_POSITIVE)
    }

    /// Flows that so many seconds of one core are enough for.
    fn affordable(&self, sizes: &[FlowSize], corruption: Corruption, work: f64) -> f64 {
        let packets = flow::mean_packets(sizes);
        let flight = self.promise.subject.nic.flight_packets.min(packets);
        let sent = packets / recovery::go_back_n(self.path_loss(corruption), flight);
        let added = f64::from(self.promise.choice.mend.dummies);
        work / (FLOW_S + 2.0 * self.bench.hops() * (sent + added) * HOP_S)
    }
}
