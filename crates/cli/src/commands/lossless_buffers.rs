//! The buffers and the traffic of lossless classes, for `wiremend check`.

use std::num::NonZeroU8;

use serde_json::{Value, json};
use wiremend_fabric::deadlock::Alpha;
use wiremend_runner::Input;
use wiremend_scenario::{App, Scenario};
use wiremend_sim::Options;
use wiremend_units::Bytes;

use crate::args::explain::Check as CheckArgs;
use crate::failure::Failure;

/// What decides whether a loop fills buffers, and how soon: from the command line, or from the scenario.
pub(super) struct Buffers {
    /// Highest TTL of packets in lossless classes.
    pub(super) ttl: NonZeroU8,
    /// Share of the free buffer that an ingress queue may take.
    pub(super) alpha: Alpha,
    /// Smallest shared buffer of a switch.
    pub(super) shared: Bytes,
    /// The lossless classes of the scenario.
    lossless: Vec<u8>,
    /// Those of them with traffic.
    used: Vec<u8>,
}

/// Values for a scenario without lossless classes.
const ALPHA: (u64, u64) = (1, 16);
const SHARED: Bytes = Bytes::new(12_000_000);

impl Buffers {
    pub(super) fn new(args: &CheckArgs, input: &Input, scenario: &Scenario) -> Result<Self, Failure> {
        let table = scenario.switch.lossless.as_ref();
        let mut lossless: Vec<u8> =
            table.map_or(Vec::new(), |table| table.classes.iter().map(|class| class.get()).collect());
        lossless.sort_unstable();
        let classes: Vec<(u8, u8)> = scenario
            .workloads
            .iter()
            .map(|workload| {
                let ttl = match &workload.app {
                    App::Cbr(cbr) => cbr.ttl,
                    _ => scenario.transport.ttl,
                };
                (workload.class_in(&scenario.transport), ttl.get())
            })
            .filter(|(class, _)| lossless.is_empty() || lossless.contains(class))
            .collect();
        let highest = classes.iter().map(|(_, ttl)| *ttl).max().unwrap_or(scenario.transport.ttl.get());
        let of_scenario = table.map_or(ALPHA, |table| (u64::from(table.alpha.parts()), 1 << 16));
        let shared = match args.buffer {
            Some(bytes) => Some(bytes),
            None => wiremend_sim::smallest_shared_buffer(scenario, &Options::new(scenario.seed.get()))
                .map_err(|error| input.build_error(&error))?,
        };
        let used = lossless.iter().copied().filter(|class| classes.iter().any(|(used, _)| used == class));
        Ok(Self {
            ttl: args.ttl.or(NonZeroU8::new(highest)).expect("a TTL is at least 1"),
            alpha: args
                .alpha
                .or(Alpha::new(of_scenario.0, of_scenario.1))
                .expect("checked with the scenario"),
            shared: shared.unwrap_or(SHARED),
            used: used.collect(),
            lossless,
        })
    }

    /// Says which classes can deadlock.
    pub(super) fn describe(&self) -> String {
        let listed = |classes: &[u8]| {
            let numbers: Vec<_> = classes.iter().map(u8::to_string).collect();
            numbers.join(", ")
        };
        let values = format!("TTL {}, α = {}, {} shared", self.ttl, self.alpha, self.shared);
        match (self.lossless.as_slice(), self.used.as_slice()) {
            ([], _) => format!(
                "the scenario has no lossless class, so no port pauses another; assumed that all are lossless: {values}"
            ),
            (all, []) => format!(
                "{} lossless, but no workload sends in a lossless class, so nothing can deadlock: {values}",
                listed(all)
            ),
            (all, used) if all == used => format!("{} lossless: {values}", listed(all)),
            (all, used) => {
                format!("{} lossless, with traffic only in {}: {values}", listed(all), listed(used))
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "lossless_classes": self.lossless,
            "classes_with_traffic": self.used,
            "ttl": self.ttl,
            "alpha": self.alpha.to_string(),
            "shared_bytes": self.shared.get(),
        })
    }
}
