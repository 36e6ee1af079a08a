//! Arguments about links, flows and times as input of the model.

use std::fs;

use wiremend_claims::verify::{FlowSource, PredictionSetting};
use wiremend_fabric::{SizeGroup, SizeTable, WORKLOADS, Workload};
use wiremend_model::{
    ConnectionTimes, Corruption, FlowSize, FrameSizes, MendCounts, ModelSetting, NakReaction, NextFlow, Nic,
    Operation, Path, bits,
};
use wiremend_units::Bytes;

use crate::args::explain::{self, Flows, Link, NakReactionChoice, NextChoice, OperationChoice};
use crate::failure::Failure;

/// The input of the model.
pub(crate) struct ModelInput {
    pub(crate) sizes: FrameSizes,
    pub(crate) corruption: Corruption,
    /// Loss ratio of full frames on a corrupting link.
    pub(crate) beta: f64,
    pub(crate) path: Path,
    /// Name of the flow-size distribution.
    pub(crate) flows_name: String,
    pub(crate) flows: Vec<FlowSize>,
    pub(crate) times: ConnectionTimes,
    pub(crate) nic: Nic,
    next: Option<NextFlow>,
}

/// Resolution of the flow-size distribution.
#[derive(Clone, Copy)]
pub(crate) struct Grain {
    /// Up to this number of packets, each size is a group of its own.
    pub(crate) exact_packets: u64,
    /// Longer flows within this factor form one group.
    pub(crate) ratio: f64,
}

impl Grain {
    /// For a single evaluation.
    pub(crate) const FINE: Self = Self { exact_packets: 64, ratio: 1.1 };
    /// For hundreds of evaluations.
    pub(crate) const COARSE: Self = Self { exact_packets: 2, ratio: 3.0 };
}

impl ModelInput {
    /// Converts the arguments; `reaction` is the default reaction of a NIC to copies of a NAK.
    pub(crate) fn new(
        link: &Link,
        flows: &Flows,
        times: &explain::Times,
        grain: Grain,
        reaction: NakReaction,
    ) -> Result<Self, Failure> {
        let operation = match flows.operation {
            OperationChoice::Write => Operation::Write,
            OperationChoice::Send => Operation::Send,
        };
        let sizes = FrameSizes::on_wire(flows.mtu, operation);
        let corruption = corruption(link, &sizes)?;
        let path = Path { links: link.links, access_links: link.access_links, omega: link.omega };
        let (flows_name, groups) = groups(flows, grain)?;
        let nak_reaction = times.nak_reaction.map_or(reaction, |choice| match choice {
            NakReactionChoice::Each => NakReaction::Each,
            NakReactionChoice::Once => NakReaction::Once,
            NakReactionChoice::Unknown => NakReaction::Unknown,
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
            nic: Nic { nak_reaction, flight_packets: times.flight_packets(&sizes) },
            next,
        })
    }

    /// Returns the setting with these mechanisms and this corruption.
    pub(crate) fn setting_with(&self, mend: MendCounts, corruption: Corruption) -> ModelSetting {
        let next = self.next.unwrap_or_else(|| self.times.next());
        ModelSetting { sizes: self.sizes, corruption, mend, next, nic: self.nic }
    }

    /// Returns the setting with these mechanisms.
    pub(crate) fn setting(&self, mend: MendCounts) -> ModelSetting {
        self.setting_with(mend, self.corruption)
    }

    /// Returns the input of a simulation of the same flows.
    pub(crate) fn subject(&self, flows: &Flows) -> PredictionSetting {
        let Self { sizes, corruption, path, times, nic, next, .. } = *self;
        let source = match flows {
            Flows { bytes: Some(bytes), .. } => FlowSource::Bytes(*bytes),
            Flows { cdf: Some(path), .. } => FlowSource::File(path.clone()),
            Flows { workload, .. } => FlowSource::Workload(workload.clone()),
        };
        PredictionSetting { sizes, corruption, path, flows: self.flows.clone(), times, nic, next, source }
    }

    /// Returns the next flow on the queue pair, if it does not follow from gaps.
    pub(crate) fn fixed_next(&self) -> Option<NextFlow> {
        self.next
    }
}

fn corruption(link: &Link, sizes: &FrameSizes) -> Result<Corruption, Failure> {
    match (link.beta, link.alpha, link.drop) {
        (Some(beta), ..) => Ok(Corruption::from_full_frame_loss(beta, sizes.full())),
        (_, Some(alpha), _) if bits::frame_loss(alpha, f64::from(sizes.full())) > 0.5 => {
            let most = bits::bit_error_rate(0.5, f64::from(sizes.full()));
            Err(Failure::Input(format!(
                "--alpha: {alpha:e} loses more than half of all full frames; at most {most:.2e}"
            )))
        }
        (_, Some(alpha), _) => Ok(Corruption::Bits(alpha)),
        (.., Some(chance)) => Ok(Corruption::Frames(chance)),
        _ => Err(Failure::Input(
            "missing loss ratio: give --beta 1e-3 (full frames), --alpha 1e-7 (bits) or --drop 1e-3 (all frames)"
                .to_owned(),
        )),
    }
}

fn groups(flows: &Flows, grain: Grain) -> Result<(String, Vec<FlowSize>), Failure> {
    if let Some(bytes) = flows.bytes {
        let len = u32::try_from(bytes.get()).ok().filter(|&len| len <= 1 << 31);
        let len =
            len.ok_or_else(|| Failure::Input(format!("--bytes: {bytes} is too long; at most 2 GiB")))?;
        return Ok((format!("flows of {bytes}"), vec![FlowSize::fixed(len, flows.mtu)]));
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
    let groups =
        table.merged_groups(Bytes::new(u64::from(flows.mtu)), grain.exact_packets, grain.ratio).into_iter();
    let size = |SizeGroup { packets, bytes, probability }| FlowSize { packets, bytes, probability };
    Ok((name, groups.map(size).collect()))
}

fn workload(name: &str) -> Result<&'static Workload, Failure> {
    Workload::named(name).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
        let what = wiremend_units::unknown_name("workload", name, &names);
        Failure::Input(format!("--workload: {what}; `wiremend list` shows all"))
    })
}

fn times(args: &explain::Times, sizes: &FrameSizes, flows: &[FlowSize]) -> Result<ConnectionTimes, Failure> {
    let positive = |what: &str, seconds: f64| {
        let refused = || Failure::Input(format!("--{what}: expected a time above zero, such as 10us"));
        (seconds > 0.0).then_some(seconds).ok_or_else(refused)
    };
    let mut times = ConnectionTimes {
        rtt: positive("rtt", args.rtt.as_secs_f64())?,
        rto: positive("rto", args.rto.as_secs_f64())?,
        rate: args.rate.bits_per_s() as f64,
        hold: 0.0,
        gap: None,
        busy: 0.0,
    };
    if let Some(gap) = args.gap {
        times.gap = Some(positive("gap", gap.as_secs_f64())?);
    }
    if let Some(load) = args.load {
        times = times.at_load(load, sizes, flows);
    }
    Ok(times)
}

fn next(args: &explain::Times) -> Option<NextFlow> {
    match (args.next, args.gap, args.load) {
        (NextChoice::AtOnce, None, None) => Some(NextFlow::CLOSED_LOOP),
        _ => None,
    }
}
