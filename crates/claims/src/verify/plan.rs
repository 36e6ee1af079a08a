//! Chooses corruption rates at which timeouts can be counted, and numbers of flows.

use wiremend_model::{Cause, Corruption, FlowSize, Target, flow, recovery};

use super::testbed::{Arrivals, Testbed};
use super::{Prediction, RUNS};
use crate::ledger::number::shown;

/// Flows with the same sizes and corruption.
pub(super) struct Trial {
    /// Name of its variant.
    pub(super) name: String,
    /// Loss of a full frame on a corrupting link.
    pub(super) beta: f64,
    pub(super) corruption: Corruption,
    /// Whether this is the original corruption rate.
    pub(super) is_original: bool,
    /// Size of all flows, if they are shortened.
    pub(super) shortened: Option<u32>,
    pub(super) sizes: Vec<FlowSize>,
    pub(super) flows_per_run: u64,
    /// Timeouts of a flow by the model, indexed by [`Cause`].
    pub(super) timeouts: [f64; 4],
    /// Loss of a full frame on the path.
    pub(super) path_loss: f64,
}

/// Timeouts of the most important cause to aim for, at least.
const COUNT_MIN: f64 = 60.0;
/// More timeouts than this add no precision.
const COUNT_MAX: f64 = 600.0;
/// Largest loss of the path. Above it a simulation spends its time on retransmissions.
const PATH_LOSS_MAX: f64 = 0.3;
/// Rates whose ratio is below this factor give no new information.
const RATE_RATIO_MIN: f64 = 1.2;
/// Longer flows are shortened at raised corruption, because they would mostly retransmit.
const PACKETS_MAX: f64 = 32.0;
/// Packets of shortened flows, plus half a packet. Short flows lose their tail often, longer ones a packet
/// twice.
const SHORTENED_PACKETS: [u32; 2] = [2, 16];
/// Fraction of the work for flows at the original corruption.
const ORIGINAL_SHARE: f64 = 1.0 / 3.0;
/// Largest mean number of simultaneous timeouts of a queue pair. The model assumes one at a time.
const AT_ONCE_MAX: f64 = 0.02;
/// Computing time on one core of a flow, and of each of its packets on each link.
const FLOW_S: f64 = 4e-6;
const HOP_S: f64 = 1.2e-7;
const CORES: f64 = 2.0;

/// Chooses the trials for a computing time. The first one is at the original corruption.
pub(super) fn plan(testbed: &Testbed<'_>, prediction: &Prediction<'_>, seconds: f64) -> Vec<Trial> {
    let planner = Planner { testbed, prediction };
    let work = seconds * CORES;
    let original = planner.sizes(None);
    let corruption = prediction.subject.corruption;
    let countable = planner.all(&original, corruption).iter().sum::<f64>();
    let is_direct = matches!(prediction.target, Target::Fct { .. })
        || countable * planner.affordable(&original, corruption, work) >= COUNT_MIN;
    let part = if is_direct { work } else { work * ORIGINAL_SHARE };
    let mut trials = vec![planner.trial(None, prediction.subject.beta(), part)];
    if !is_direct {
        let shortened_sizes = planner.shortened_sizes();
        let each = work * (1.0 - ORIGINAL_SHARE) / (2 * shortened_sizes.len()) as f64;
        for shortened in shortened_sizes {
            trials.extend(planner.raised(shortened, each));
        }
    }
    trials
}

struct Planner<'a> {
    testbed: &'a Testbed<'a>,
    prediction: &'a Prediction<'a>,
}

impl Planner<'_> {
    fn sizes(&self, shortened: Option<u32>) -> Vec<FlowSize> {
        let subject = self.prediction.subject;
        shortened
            .map_or_else(|| subject.flows.clone(), |bytes| vec![FlowSize::fixed(bytes, subject.sizes.mtu)])
    }

    /// Sizes of shortened flows, if flows have to be shortened.
    fn shortened_sizes(&self) -> Vec<Option<u32>> {
        let subject = self.prediction.subject;
        if flow::mean_packets(&subject.flows) <= PACKETS_MAX {
            return vec![None];
        }
        SHORTENED_PACKETS.map(|packets| Some(packets * subject.sizes.mtu + subject.sizes.mtu / 2)).to_vec()
    }

    /// Trials at two raised rates: the lowest with enough timeouts, and twice that.
    fn raised(&self, shortened: Option<u32>, work: f64) -> Vec<Trial> {
        let sizes = self.sizes(shortened);
        let subject = self.prediction.subject;
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
        // A rate that is not raised makes no trial of its own, unless the flows are shortened.
        let rates = [
            (high, shortened.is_some() || high > RATE_RATIO_MIN * subject.beta()),
            (twice, twice > RATE_RATIO_MIN * high),
        ];
        rates.into_iter().filter(|rate| rate.1).map(|(beta, _)| self.trial(shortened, beta, work)).collect()
    }

    /// The highest rate up to `most` at which timeouts of a queue pair do not overlap.
    fn bounded(&self, sizes: &[FlowSize], most: f64) -> f64 {
        let Arrivals::Random { gap } = self.testbed.arrivals else { return most };
        let times = self.testbed.times(sizes);
        let meet = 1.0 + times.rto / gap / (1.0 - times.busy);
        let mut beta = most;
        while beta > self.prediction.subject.beta()
            && self.all(sizes, self.corruption(beta)).iter().sum::<f64>() * meet > AT_ONCE_MAX
        {
            beta = (beta * 0.9).max(self.prediction.subject.beta());
        }
        beta
    }

    fn trial(&self, shortened: Option<u32>, beta: f64, work: f64) -> Trial {
        let subject = self.prediction.subject;
        let sizes = self.sizes(shortened);
        let corruption = self.corruption(beta);
        let mut flows = self.affordable(&sizes, corruption, work);
        if matches!(self.prediction.target, Target::Timeout(_)) {
            flows = flows.min(COUNT_MAX / self.expected(&sizes, corruption));
        }
        let what = shortened.map_or_else(|| self.testbed.sizes_name(), |bytes| format!("{bytes} B"));
        Trial {
            name: format!("β = {}, {what}", shown(beta)),
            beta,
            corruption,
            is_original: shortened.is_none() && beta <= subject.beta(),
            shortened,
            flows_per_run: (flows / RUNS as f64).ceil().max(1.0) as u64,
            timeouts: self.all(&sizes, corruption),
            path_loss: self.path_loss(corruption),
            sizes,
        }
    }

    fn corruption(&self, beta: f64) -> Corruption {
        let subject = self.prediction.subject;
        match subject.corruption {
            original if beta <= subject.beta() => original,
            Corruption::Bits(_) => Corruption::from_full_frame_loss(beta, subject.sizes.full()),
            Corruption::Frames(_) => Corruption::Frames(beta),
        }
    }

    fn path_loss(&self, corruption: Corruption) -> f64 {
        let subject = self.prediction.subject;
        let links = subject.path.links + subject.path.access_links;
        corruption.loss(f64::from(subject.sizes.full()), links)
    }

    /// Timeouts of a flow, by cause.
    fn all(&self, sizes: &[FlowSize], corruption: Corruption) -> [f64; 4] {
        self.testbed.expected(self.prediction.choice.mend, corruption, sizes).timeouts
    }

    /// Timeouts per flow of the most frequent cause at the original corruption. If that is a lost tail,
    /// longer flows cover the other causes.
    fn expected(&self, sizes: &[FlowSize], corruption: Corruption) -> f64 {
        let all = self.all(sizes, corruption);
        let main = self.prediction.choice.main_cause();
        let is_of_tails = matches!(main, Cause::TailPacket | Cause::TailAck);
        let is_long = flow::mean_packets(sizes) > f64::from(SHORTENED_PACKETS[1]);
        let wanted = if is_of_tails && is_long {
            all[Cause::Nak as usize] + all[Cause::Retransmission as usize]
        } else {
            all[main as usize]
        };
        wanted.max(f64::MIN_POSITIVE)
    }

    /// Number of flows for `work` seconds on one core.
    fn affordable(&self, sizes: &[FlowSize], corruption: Corruption, work: f64) -> f64 {
        let packets = flow::mean_packets(sizes);
        let flight = self.prediction.subject.nic.flight_packets.min(packets);
        let sent = packets / recovery::go_back_n(self.path_loss(corruption), flight);
        let added = f64::from(self.prediction.choice.mend.dummies);
        work / (FLOW_S + 2.0 * self.testbed.hops() * (sent + added) * HOP_S)
    }
}
