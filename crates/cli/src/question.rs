//! Arguments about links, flows and times, as the values that the model reckons with.

use std::collections::BTreeMap;
use std::fs;

use wiremend_claims::verify::{FlowSource, Subject};
use wiremend_fabric::{SizeGroup, SizeTable, WORKLOADS, Workload};
use wiremend_model::{
    Corruption, FlowSize, Mend, Next, Nic, Operation, Path, Rewind, Setting, Sizes, Times, bits, flow,
};
use wiremend_units::Bytes;

use crate::args::explain::{self, Flows, Link, NextChoice, OperationChoice, RewindChoice};
use crate::failure::Failure;

/// What is asked about.
pub(crate) struct Question {
    pub(crate) sizes: Sizes,
    pub(crate) corruption: Corruption,
    /// The loss of a full frame on a corrupting link.
    pub(crate) beta: f64,
    pub(crate) path: Path,
    /// What the sizes of flows are called.
    pub(crate) flows_name: String,
    pub(crate) flows: Vec<FlowSize>,
    pub(crate) times: Times,
    pub(crate) nic: Nic,
    next: Option<Next>,
}

/// How finely sizes of flows are told apart.
#[derive(Clone, Copy)]
pub(crate) struct Grain {
    /// Flows up to so many packets are each on their own.
    pub(crate) exact_packets: u64,
    /// Longer ones stand together up to this factor.
    pub(crate) ratio: f64,
}

impl Grain {
    /// For one answer.
    pub(crate) const FINE: Self = Self { exact_packets: 64, ratio: 1.1 };
    /// For hundreds.
    pub(crate) const COARSE: Self = Self { exact_packets: 2, ratio: 3.0 };
}

impl Question {
    /// Understands the arguments; `rewind` is what a NIC does unless they say.
    pub(crate) fn new(
        link: &Link,
        flows: &Flows,
        times: &explain::Times,
        grain: Grain,
        rewind: Rewind,
    ) -> Result<Self, Failure> {
        let operation = match flows.operation {
            OperationChoice::Write => Operation::Write,
            OperationChoice::Send => Operation::Send,
        };
        let sizes = Sizes::real(flows.mtu, operation);
        let corruption = corruption(link, &sizes)?;
        let path = Path { links: link.links, access_links: link.access_links, omega: link.omega };
        let (flows_name, groups) = groups(flows, grain)?;
        let nic_rewind = times.rewind.map_or(rewind, |choice| match choice {
            RewindChoice::Each => Rewind::Each,
            RewindChoice::Once => Rewind::Once,
            RewindChoice::Unknown => Rewind::Unknown,
        });
        let next = next(times);
        let times = self::times(times, &sizes, &groups)?;
        Ok(Self {
            sizes,
            corruption,
            beta: corruption.loss(f64::from(sizes.full()), 1),
            path,
            flows_name,
            flows: groups,
            times,
            nic: Nic { rewind: nic_rewind, flight_packets: times.flight_packets(&sizes) },
            next,
        })
    }

    /// With these mechanisms, on links that corrupt like this.
    pub(crate) fn setting_with(&self, mend: Mend, corruption: Corruption) -> Setting {
        let next = self.next.unwrap_or_else(|| self.times.next());
        Setting { sizes: self.sizes, corruption, mend, next, nic: self.nic }
    }

    /// With these mechanisms.
    pub(crate) fn setting(&self, mend: Mend) -> Setting {
        self.setting_with(mend, self.corruption)
    }

    /// What a simulation of the same needs.
    pub(crate) fn subject(&self, flows: &Flows) -> Subject {
        let Self { sizes, corruption, path, times, nic, next, .. } = *self;
        let source = match flows {
            Flows { bytes: Some(bytes), .. } => FlowSource::Bytes(*bytes),
            Flows { cdf: Some(path), .. } => FlowSource::File(path.clone()),
            Flows { workload, .. } => FlowSource::Workload(workload.clone()),
        };
        Subject { sizes, corruption, path, flows: self.flows.clone(), times, nic, next, source }
    }

    /// What comes behind a flow, if it does not follow from gaps.
    pub(crate) fn fixed_next(&self) -> Option<Next> {
        self.next
    }
}

fn corruption(link: &Link, sizes: &Sizes) -> Result<Corruption, Failure> {
    match (link.beta, link.alpha, link.drop) {
        (Some(beta), ..) => Ok(Corruption::of_full_frame(beta, sizes.full())),
        (_, Some(alpha), _) if bits::frame_loss(alpha, f64::from(sizes.full())) > 0.5 => {
            let most = bits::bit_error_rate(0.5, f64::from(sizes.full()));
            Err(Failure::Input(format!(
                "--alpha: {alpha:e} loses more than half of all full frames; at most {most:.2e}"
            )))
        }
        (_, Some(alpha), _) => Ok(Corruption::Bits(alpha)),
        (.., Some(chance)) => Ok(Corruption::Frames(chance)),
        _ => Err(Failure::Input(
            "how often do links corrupt? give --beta 1e-3 (full frames), --alpha 1e-7 (bits) or --drop 1e-3 (all frames)"
                .to_owned(),
        )),
    }
}

fn groups(flows: &Flows, grain: Grain) -> Result<(String, Vec<FlowSize>), Failure> {
    if let Some(bytes) = flows.bytes {
        let len = u32::try_from(bytes.get()).ok().filter(|&len| len <= 1 << 31);
        let len =
            len.ok_or_else(|| Failure::Input(format!("--bytes: {bytes} is too much; at most 2 GiB")))?;
        return Ok((format!("flows of {bytes}"), vec![FlowSize::only(len, flows.mtu)]));
    }
    let own;
    let (name, table) = match &flows.cdf {
        Some(path) => {
            let name = path.display().to_string();
            let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(&name, &error))?;
            own = SizeTable::parse_csv(&text).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
            (name, &own)
        }
        None => (flows.workload.clone(), workload(&flows.workload)?.table()),
    };
    let groups = table.groups(Bytes::new(u64::from(flows.mtu)), grain.exact_packets, grain.ratio);
    Ok((name, merged(&groups, grain)))
}

fn workload(name: &str) -> Result<&'static Workload, Failure> {
    Workload::named(name).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
        let what = wiremend_units::or_nearest("workload", name, &names);
        Failure::Input(format!("--workload: {what}; `wiremend list` names all"))
    })
}

/// Groups of the same packets, or nearly, put together: a table of many points has many small ones.
fn merged(groups: &[SizeGroup], grain: Grain) -> Vec<FlowSize> {
    let mut sums: BTreeMap<u64, FlowSize> = BTreeMap::new();
    for group in groups {
        let exact = grain.exact_packets as f64;
        let place = if group.packets <= exact {
            group.packets.round()
        } else {
            exact + ((group.packets / exact).ln() / grain.ratio.ln()).ceil()
        };
        let sum = sums.entry(place as u64).or_insert(FlowSize { packets: 0.0, bytes: 0.0, probability: 0.0 });
        sum.probability += group.probability;
        sum.packets += group.probability * group.packets;
        sum.bytes += group.probability * group.bytes;
    }
    let mean = |sum: FlowSize| FlowSize {
        packets: sum.packets / sum.probability,
        bytes: sum.bytes / sum.probability,
        ..sum
    };
    sums.into_values().filter(|sum| sum.probability > 0.0).map(mean).collect()
}

fn times(asked: &explain::Times, sizes: &Sizes, flows: &[FlowSize]) -> Result<Times, Failure> {
    let positive = |what: &str, seconds: f64| {
        let refused = || Failure::Input(format!("--{what}: a time above zero is needed, such as 10us"));
        (seconds > 0.0).then_some(seconds).ok_or_else(refused)
    };
    let mut times = Times {
        rtt: positive("rtt", asked.rtt.as_secs_f64())?,
        rto: positive("rto", asked.rto.as_secs_f64())?,
        rate: asked.rate.bits_per_s() as f64,
        hold: 0.0,
        gap: None,
        busy: 0.0,
    };
    if let Some(gap) = asked.gap {
        times.gap = Some(positive("gap", gap.as_secs_f64())?);
    }
    if let Some(load) = asked.load {
        // Random arrivals at one sender: a flow leaves the queue empty with 1 − U, and the next one comes after the mean
        // time between two of them.
        let alone: f64 =
            flows.iter().map(|flow| flow.probability * (times.alone(sizes, flow) - times.rtt)).sum();
        let payload = 8.0 * flow::mean_bytes(flows) / times.rate;
        times.gap = Some(payload / load);
        times.busy = (load * alone / payload).min(1.0);
    }
    Ok(times)
}

fn next(asked: &explain::Times) -> Option<Next> {
    match (asked.next, asked.gap, asked.load) {
        (NextChoice::AtOnce, None, None) => Some(Next::CLOSED_LOOP),
        _ => None,
    }
}
