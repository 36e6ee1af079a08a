//! The cost of corruption in closed form, for `wiremend.model`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use wiremend_fabric::{SizeGroup, WORKLOADS, Workload};
use wiremend_model::tune::{self as tuner, Candidate, TuneProblem};
use wiremend_model::{
    Cause, ConnectionTimes, Corruption, FlowSize, FrameSizes, MendCounts, ModelSetting, NakReaction,
    NextFlow, Nic, Operation, Path, Target, cost, expected, penalty,
};
use wiremend_units::{Bytes, Rate, Span, unknown_name};

use crate::errors::InputError;

/// The link, the flows and the times.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Question {
    beta: Option<f64>,
    alpha: Option<f64>,
    drop: Option<f64>,
    links: u32,
    access_links: u32,
    omega: f64,
    workload: String,
    size: Option<String>,
    /// Sizes in bytes and their shares.
    sizes: Option<Vec<(u32, f64)>>,
    mtu: u32,
    operation: String,
    rto: String,
    rtt: String,
    rate: String,
    is_next_at_once: bool,
    gap: Option<String>,
    load: Option<f64>,
    hold: String,
    nak_reaction: String,
}

/// Highest loss ratio of a link: the formulas assume that most frames arrive.
const LOSS_MAX: f64 = 0.5;
/// Largest flow of a single size.
const FLOW_BYTES_MAX: u32 = 1 << 31;

/// Resolution of a distribution of sizes, as on the command line: for a single evaluation, and for hundreds.
const FINE: (u64, f64) = (64, 1.1);
const COARSE: (u64, f64) = (2, 3.0);

/// The input of the model.
struct Input {
    sizes: FrameSizes,
    corruption: Corruption,
    path: Path,
    flows: Vec<FlowSize>,
    times: ConnectionTimes,
    nic: Nic,
    next: Option<NextFlow>,
}

impl Input {
    fn setting(&self, mend: MendCounts) -> ModelSetting {
        let Self { sizes, corruption, nic, .. } = *self;
        let next = self.next.unwrap_or_else(|| self.times.next());
        ModelSetting { sizes, corruption, mend, next, nic }
    }
}

/// An error of an argument.
fn wrong(argument: &str, why: impl std::fmt::Display) -> PyErr {
    InputError::new_err(format!("{argument}: {why}"))
}

fn seconds(argument: &str, text: &str) -> PyResult<f64> {
    text.parse::<Span>().map(Span::as_secs_f64).map_err(|error| wrong(argument, error))
}

fn positive_seconds(argument: &str, text: &str) -> PyResult<f64> {
    match seconds(argument, text)? {
        time if time > 0.0 => Ok(time),
        _ => Err(wrong(argument, "expected a time above zero, such as \"10us\"")),
    }
}

/// One of several names.
fn choice<T: Copy>(argument: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let names: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
    found.ok_or_else(|| wrong(argument, unknown_name("value", name, &names)))
}

impl Question {
    fn input(&self, grain: (u64, f64)) -> PyResult<Input> {
        if ![256, 512, 1024, 2048, 4096].contains(&self.mtu) {
            return Err(wrong("mtu", format!("{}: expected 256, 512, 1024, 2048 or 4096", self.mtu)));
        }
        let operations = [("write", Operation::Write), ("send", Operation::Send)];
        let sizes = FrameSizes::on_wire(self.mtu, choice("operation", &self.operation, &operations)?);
        let flows = self.flows(grain)?;
        let times = self.times(&sizes, &flows)?;
        let reactions =
            [("each", NakReaction::Each), ("once", NakReaction::Once), ("unknown", NakReaction::Unknown)];
        let nak_reaction = choice("nak_reaction", &self.nak_reaction, &reactions)?;
        Ok(Input {
            corruption: self.corruption(&sizes)?,
            path: self.path()?,
            nic: Nic { nak_reaction, flight_packets: times.flight_packets(&sizes) },
            next: (self.is_next_at_once && times.gap.is_none()).then_some(NextFlow::CLOSED_LOOP),
            sizes,
            flows,
            times,
        })
    }

    fn corruption(&self, sizes: &FrameSizes) -> PyResult<Corruption> {
        let (what, value, corruption) = match (self.beta, self.alpha, self.drop) {
            (Some(beta), None, None) => {
                let loss = if is_loss(beta) { beta } else { 0.0 };
                ("beta", beta, Corruption::from_full_frame_loss(loss, sizes.full()))
            }
            (None, Some(alpha), None) => ("alpha", alpha, Corruption::Bits(alpha)),
            (None, None, Some(chance)) => ("drop", chance, Corruption::Frames(chance)),
            _ => {
                let why = "give one of beta=1e-3 (full frames), alpha=1e-7 (bits) and drop=1e-3 (all frames)";
                return Err(wrong("loss ratio", why));
            }
        };
        if is_loss(value) && is_loss(corruption.loss(f64::from(sizes.full()), 1)) {
            return Ok(corruption);
        }
        let why = format!(
            "{value:e} is out of range; a full frame is lost with a probability above 0, at most {LOSS_MAX}"
        );
        Err(wrong(what, why))
    }

    fn path(&self) -> PyResult<Path> {
        if self.links > Path::LINKS_MAX {
            return Err(wrong("links", format!("{} are too many; at most {}", self.links, Path::LINKS_MAX)));
        }
        if self.access_links > 1 {
            return Err(wrong("access_links", format!("{} are too many; at most 1", self.access_links)));
        }
        if !(0.0..=1.0).contains(&self.omega) {
            return Err(wrong("omega", format!("{} is not a probability", self.omega)));
        }
        Ok(Path { links: self.links, access_links: self.access_links, omega: self.omega })
    }

    fn flows(&self, (exact_packets, ratio): (u64, f64)) -> PyResult<Vec<FlowSize>> {
        if let Some(sizes) = &self.sizes {
            return self.listed(sizes);
        }
        if let Some(size) = &self.size {
            let bytes: Bytes = size.parse().map_err(|error| wrong("size", error))?;
            let bytes = u32::try_from(bytes.get()).ok().filter(|bytes| *bytes <= FLOW_BYTES_MAX);
            let bytes = bytes.ok_or_else(|| wrong("size", format!("{size} is too long; at most 2 GiB")))?;
            return Ok(vec![FlowSize::fixed(bytes, self.mtu)]);
        }
        let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
        let workload = Workload::named(&self.workload)
            .ok_or_else(|| wrong("workload", unknown_name("workload", &self.workload, &names)))?;
        let mtu = Bytes::new(u64::from(self.mtu));
        let groups = workload.table().merged_groups(mtu, exact_packets, ratio).into_iter();
        let size = |SizeGroup { packets, bytes, probability }| FlowSize { packets, bytes, probability };
        Ok(groups.map(size).collect())
    }

    /// Sizes with their shares, which need not add up to 1.
    fn listed(&self, sizes: &[(u32, f64)]) -> PyResult<Vec<FlowSize>> {
        let all: f64 = sizes.iter().map(|(_, share)| share).sum();
        for (row, (bytes, share)) in sizes.iter().enumerate() {
            if *bytes > FLOW_BYTES_MAX || !share.is_finite() || *share < 0.0 {
                let why = format!(
                    "row {row}: {bytes} B with share {share}; expected at most 2 GiB and a share from 0"
                );
                return Err(wrong("sizes", why));
            }
        }
        if all > 0.0 {
            let fixed = |(bytes, share): &(u32, f64)| FlowSize {
                probability: share / all,
                ..FlowSize::fixed(*bytes, self.mtu)
            };
            return Ok(sizes.iter().map(fixed).collect());
        }
        Err(wrong("sizes", "no flow has a share above 0"))
    }

    fn times(&self, sizes: &FrameSizes, flows: &[FlowSize]) -> PyResult<ConnectionTimes> {
        let rate: Rate = self.rate.parse().map_err(|error| wrong("rate", error))?;
        let times = ConnectionTimes {
            rtt: positive_seconds("rtt", &self.rtt)?,
            rto: positive_seconds("rto", &self.rto)?,
            rate: rate.bits_per_s() as f64,
            hold: seconds("hold", &self.hold)?,
            gap: self.gap.as_deref().map(|gap| positive_seconds("gap", gap)).transpose()?,
            busy: 0.0,
        };
        match (self.load, times.gap) {
            (None, _) => Ok(times),
            (Some(_), Some(_)) => Err(wrong("load", "gap follows from it; give one of both")),
            (Some(load), None) if load > 0.0 && load < 1.0 => Ok(times.at_load(load, sizes, flows)),
            (Some(load), None) => Err(wrong("load", format!("{load}: expected a load above 0 and below 1"))),
        }
    }
}

fn is_loss(value: f64) -> bool {
    value > 0.0 && value <= LOSS_MAX
}

/// What a flow meets with these dummies, copies of NAKs, of retransmissions and of tails.
#[pyfunction]
pub(crate) fn evaluate(
    py: Python<'_>,
    question: Question,
    mend: (u32, u32, u32, u32),
) -> PyResult<Bound<'_, PyDict>> {
    let input = question.input(FINE)?;
    let (dummies, nak_copies, retransmission_copies, tail_copies) = mend;
    let mend = MendCounts { dummies, nak_copies, retransmission_copies, tail_copies };
    if [dummies, nak_copies, retransmission_copies, tail_copies].iter().any(|n| *n > MendCounts::EACH_MAX) {
        return Err(wrong("dummies and copies", format!("at most {} of each", MendCounts::EACH_MAX)));
    }
    let setting = input.setting(mend);
    let Input { path, flows, times, .. } = &input;
    let met = expected(&setting, path, flows);
    let cost = cost::cost_from(&setting, path, flows, times.idle_share(), &met);
    let lost = penalty::penalty(&met, times);
    let found = PyDict::new(py);
    let timeouts = PyDict::new(py);
    for cause in Cause::ALL {
        timeouts.set_item(cause.key(), met.timeouts[cause as usize])?;
    }
    found.set_item("timeouts", timeouts)?;
    found.set_item("timeouts_all", met.total())?;
    found.set_item("timeout_probability", met.probability)?;
    found.set_item("naks", met.naks)?;
    found.set_item("time_lost_s", lost.total())?;
    found.set_item("bytes", cost.share())?;
    found.set_item("bytes_backward", cost.backward_share())?;
    found.set_item("work_requests", cost.work_requests)?;
    Ok(found)
}

/// The cheapest dummies and copies for a target: the highest timeout probability, or a quantile and its limit.
#[pyfunction]
pub(crate) fn tune(
    py: Python<'_>,
    question: Question,
    timeout: Option<f64>,
    quantile: Option<(f64, String)>,
) -> PyResult<Bound<'_, PyDict>> {
    let target = match (timeout, quantile) {
        (Some(chance), None) if chance > 0.0 && chance < 1.0 => Target::Timeout(chance),
        (None, Some((quantile, limit))) => {
            Target::Fct { quantile, limit: positive_seconds("target", &limit)? }
        }
        _ => {
            let why =
                "give one of target_timeout=1e-6 (above 0, below 1), target_p999=\"1ms\" and target_p9999";
            return Err(wrong("target", why));
        }
    };
    let input = question.input(COARSE)?;
    let tuned = py.detach(|| {
        tuner::tune(&TuneProblem {
            setting: input.setting(MendCounts::NONE),
            path: input.path,
            flows: &input.flows,
            times: input.times,
            next: input.next,
            holds: &[0.0],
            target,
        })
    });
    let found = candidate(py, &tuned.best)?;
    found.set_item("reached", tuned.chosen.is_some())?;
    Ok(found)
}

fn candidate<'py>(py: Python<'py>, best: &Candidate) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("dummies", best.mend.dummies)?;
    found.set_item("nak_copies", best.mend.nak_copies)?;
    found.set_item("retransmission_copies", best.mend.retransmission_copies)?;
    found.set_item("tail_copies", best.mend.tail_copies)?;
    found.set_item("timeout_probability", best.timeout)?;
    found.set_item("missed", best.missed)?;
    found.set_item("bytes", best.cost)?;
    found.set_item("work_requests", best.work_requests)?;
    Ok(found)
}
