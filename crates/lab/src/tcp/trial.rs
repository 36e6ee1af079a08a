//! Runs the measurements.

use std::time::Duration;

use wiremend_report::lab::LinkState;
use wiremend_units::{Bytes, Rate};

use super::outcome::{Goodput, Latency, Outcome, Timeline};
use super::{bulk, request};
use crate::chain::{Chain, ChainConfig, ChainStatus, HostKind};
use crate::error::Error;
use crate::lab::Lab;

/// Settings of a measurement.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Loss rate of the link.
    pub loss: f64,
    /// Configuration of the chain. Without a rate the trial chooses one that the machine can carry.
    pub chain: ChainConfig,
    /// Duration of a bulk transfer.
    pub lasts: Duration,
    /// Number of rounds through all states.
    pub rounds: u32,
    /// Congestion controls to measure.
    pub controls: Vec<String>,
    /// Whether to skip the requests and the transfer through all states.
    pub only_bulk: bool,
}

/// Default rate; even a small machine carries twice as much.
const RATE: Rate = Rate::from_bits_per_s(200_000_000);
const CAPACITY_TIME: Duration = Duration::from_millis(1500);
/// Pause between two connections.
const PAUSE: Duration = Duration::from_millis(30);

impl Trial {
    /// Runs all measurements. Calls `progress` with a step of [`Trial::steps`] and its finished share.
    pub fn run(&self, lab: &Lab, progress: &dyn Fn(usize, f64)) -> Result<Outcome, Error> {
        let mut steps = Steps { progress, done: 0 };
        let capacity_bps = self.capacity(lab, &mut steps)?;
        let half = Rate::from_bits_per_s((capacity_bps / 2.0) as u64);
        let rate = self.chain.rate.unwrap_or_else(|| RATE.min(half));
        let chain =
            Chain::build(lab, &ChainConfig { rate: Some(rate), ..self.chain.clone() }, HostKind::Kernel)?;
        let mut goodputs: Vec<Goodput> = self.controls.iter().map(|control| Goodput::new(control)).collect();
        let states = if self.only_bulk { &[][..] } else { &LinkState::ALL };
        let mut latencies: Vec<Latency> = states.iter().map(|&state| Latency::new(state)).collect();
        let mut statuses = Vec::new();
        for _ in 0..self.rounds {
            for state in LinkState::ALL {
                for goodput in &mut goodputs {
                    chain.enter(state, self.loss)?;
                    let stream = bulk::stream(&chain, &goodput.control, |passed| Ok(passed >= self.lasts))?;
                    goodput.add(state, stream);
                    statuses.push((state, chain.statuses()?));
                    steps.done();
                    lab.pause(PAUSE)?;
                }
                if let Some(latency) = latencies.get_mut(state as usize) {
                    chain.enter(state, self.loss)?;
                    latency.add(&request::times(&chain, self.lasts / 2)?);
                    steps.done();
                    lab.pause(PAUSE)?;
                }
            }
        }
        let timeline = if self.only_bulk { None } else { Some(self.timeline(&chain, &mut steps)?) };
        let last: Option<ChainStatus> = statuses.pop().map(|(_, statuses)| statuses);
        Ok(Outcome {
            loss: self.loss,
            rate_bps: rate.bits_per_s(),
            capacity_bps,
            delay_ns: self.chain.delay.as_ns(),
            path_delay_ns: self.chain.path_delay.as_ns(),
            queue_bytes: self.chain.queue.get(),
            seed: self.chain.seed,
            rounds: self.rounds,
            seconds: self.lasts.as_secs_f64(),
            goodputs,
            latencies,
            timeline,
            statuses: last,
        })
    }

    /// The steps, as relative durations.
    pub fn steps(&self) -> Vec<f64> {
        let requests = (!self.only_bulk).then_some(0.5);
        let round = self.controls.iter().map(|_| 1.0).chain(requests);
        let rounds = (0..self.rounds * 3).flat_map(|_| round.clone());
        let capacity = CAPACITY_TIME.as_secs_f64() / self.lasts.as_secs_f64();
        [capacity].into_iter().chain(rounds).chain((!self.only_bulk).then_some(Timeline::LASTS)).collect()
    }

    /// Goodput of the chain without a rate limit.
    fn capacity(&self, lab: &Lab, steps: &mut Steps<'_>) -> Result<f64, Error> {
        let config =
            ChainConfig { rate: None, queue: self.chain.queue.max(Bytes::kib(1024)), ..self.chain.clone() };
        let chain = Chain::build(lab, &config, HostKind::Kernel)?;
        chain.enter(LinkState::Clean, 0.0)?;
        let control = self.controls.first().map_or("cubic", String::as_str);
        let stream = bulk::stream(&chain, control, |passed| Ok(passed >= CAPACITY_TIME))?;
        steps.done();
        Ok(stream.goodput_bps())
    }

    /// Runs one transfer during which the link starts to corrupt and is then protected (L15).
    fn timeline(&self, chain: &Chain, steps: &mut Steps<'_>) -> Result<Timeline, Error> {
        let control = self.controls.first().map_or("cubic", String::as_str);
        let at = |share: f64| self.lasts.mul_f64(share);
        chain.set_loss(0.0)?;
        chain.protect(false)?;
        let (mut corrupts, mut protects) = (None, None);
        let stream = bulk::stream(chain, control, |passed| {
            if corrupts.is_none() && passed >= at(Timeline::CORRUPTS) {
                chain.set_loss(self.loss)?;
                corrupts = Some(passed);
            }
            if protects.is_none() && passed >= at(Timeline::PROTECTS) {
                chain.request_protection(true)?;
                protects = Some(passed);
            }
            Ok(passed >= at(Timeline::LASTS))
        })?;
        steps.done();
        Ok(Timeline {
            control: control.to_owned(),
            corrupts_s: corrupts.unwrap_or_default().as_secs_f64(),
            protects_s: protects.unwrap_or_default().as_secs_f64(),
            stream,
        })
    }
}

struct Steps<'a> {
    progress: &'a dyn Fn(usize, f64),
    done: usize,
}

impl Steps<'_> {
    fn done(&mut self) {
        (self.progress)(self.done, 1.0);
        self.done += 1;
    }
}
