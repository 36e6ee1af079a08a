//! The order of measurements.

use std::time::Duration;

use wiremend_report::lab::State;
use wiremend_units::{Bytes, Rate};

use super::outcome::{Goodput, Latency, Outcome, Timeline};
use super::{bulk, request};
use crate::chain::{Chain, Hosts, Knobs, Statuses};
use crate::error::Error;
use crate::lab::Lab;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Frames that the link loses, as a share.
    pub loss: f64,
    /// Without a rate: one that the machine carries easily.
    pub knobs: Knobs,
    /// Each bulk transfer lasts so long.
    pub lasts: Duration,
    /// Rounds through all states.
    pub rounds: u32,
    /// Congestion controls.
    pub controls: Vec<String>,
    /// Leaves out requests and the transfer over time.
    pub only_bulk: bool,
}

/// The rate where nobody asks for one: even a small machine carries twice as much.
const RATE: Rate = Rate::from_bits_per_s(200_000_000);
/// The machine is tried out for so long.
const TRYOUT: Duration = Duration::from_millis(1500);
/// A connection is given time to leave before the next one.
const REST: Duration = Duration::from_millis(30);

impl Trial {
    /// Measures everything. `progress` is told the number of a step, of [`Trial::steps`], and the part of it that is done.
    pub fn run(&self, lab: &Lab, progress: &dyn Fn(usize, f64)) -> Result<Outcome, Error> {
        let mut steps = Steps { progress, done: 0 };
        let capacity_bps = self.capacity(lab, &mut steps)?;
        let half = Rate::from_bits_per_s((capacity_bps / 2.0) as u64);
        let rate = self.knobs.rate.unwrap_or_else(|| RATE.min(half));
        let chain = Chain::build(lab, &Knobs { rate: Some(rate), ..self.knobs.clone() }, Hosts::Kernel)?;
        let mut goodputs: Vec<Goodput> = self.controls.iter().map(|control| Goodput::new(control)).collect();
        let asked = if self.only_bulk { &[][..] } else { &State::ALL };
        let mut latencies: Vec<Latency> = asked.iter().map(|&state| Latency::new(state)).collect();
        let mut statuses = Vec::new();
        for _ in 0..self.rounds {
            for state in State::ALL {
                for goodput in &mut goodputs {
                    chain.enter(state, self.loss)?;
                    let stream = bulk::stream(&chain, &goodput.control, |passed| Ok(passed >= self.lasts))?;
                    goodput.add(state, stream);
                    statuses.push((state, chain.statuses()?));
                    steps.done();
                    lab.pause(REST)?;
                }
                if let Some(latency) = latencies.get_mut(state as usize) {
                    chain.enter(state, self.loss)?;
                    latency.add(&request::times(&chain, self.lasts / 2)?);
                    steps.done();
                    lab.pause(REST)?;
                }
            }
        }
        let timeline = if self.only_bulk { None } else { Some(self.timeline(&chain, &mut steps)?) };
        let last: Option<Statuses> = statuses.pop().map(|(_, statuses)| statuses);
        Ok(Outcome {
            loss: self.loss,
            rate_bps: rate.bits_per_s(),
            capacity_bps,
            delay_ns: self.knobs.delay.as_ns(),
            path_delay_ns: self.knobs.path_delay.as_ns(),
            queue_bytes: self.knobs.queue.get(),
            seed: self.knobs.seed,
            rounds: self.rounds,
            seconds: self.lasts.as_secs_f64(),
            goodputs,
            latencies,
            timeline,
            statuses: last,
        })
    }

    /// How many steps it takes, by their weight.
    pub fn steps(&self) -> Vec<f64> {
        let requests = (!self.only_bulk).then_some(0.5);
        let round = self.controls.iter().map(|_| 1.0).chain(requests);
        let rounds = (0..self.rounds * 3).flat_map(|_| round.clone());
        let tryout = TRYOUT.as_secs_f64() / self.lasts.as_secs_f64();
        [tryout].into_iter().chain(rounds).chain((!self.only_bulk).then_some(Timeline::LASTS)).collect()
    }

    /// What the same chain carries where only the processors limit it.
    fn capacity(&self, lab: &Lab, steps: &mut Steps<'_>) -> Result<f64, Error> {
        let knobs = Knobs { rate: None, queue: self.knobs.queue.max(Bytes::kib(1024)), ..self.knobs.clone() };
        let chain = Chain::build(lab, &knobs, Hosts::Kernel)?;
        chain.enter(State::Clean, 0.0)?;
        let control = self.controls.first().map_or("cubic", String::as_str);
        let stream = bulk::stream(&chain, control, |passed| Ok(passed >= TRYOUT))?;
        steps.done();
        Ok(stream.goodput_bps())
    }

    /// One connection, during which the link begins to corrupt and later is protected (L15).
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
                chain.ask_to_protect(true)?;
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
