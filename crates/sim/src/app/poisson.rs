//! Flows with random arrivals: exponential gaps, sizes from a table, destinations by a pattern.

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use wiremend_fabric::SizeTable;
use wiremend_units::{FlowId, HostId, Span, Time};

use super::{Action, Application, Post};

pub(crate) struct Poisson {
    sizes: Sizes,
    pick: DestinationPicker,
    mean_gap: Span,
    flows_left: u64,
    stop: Time,
    next: Time,
    flow: FlowId,
    /// Step of flow numbers: the numbers of several sources interleave.
    flow_step: u64,
    random: Xoshiro256PlusPlus,
}

/// The distribution of flow sizes.
#[derive(Clone)]
pub(crate) enum Sizes {
    Fixed(u32),
    Table(Arc<SizeTable>),
}

/// The destinations of a source: these hosts with equal probability, except the source itself.
#[derive(Clone)]
pub(crate) struct DestinationPicker {
    hosts: Arc<[HostId]>,
    /// Index of the source among them, if it is one.
    source_index: Option<usize>,
}

/// Settings of a Poisson source.
pub(crate) struct PoissonConfig {
    pub(crate) sizes: Sizes,
    pub(crate) pick: DestinationPicker,
    pub(crate) mean_gap: Span,
    pub(crate) flows: u64,
    pub(crate) start: Time,
    pub(crate) stop: Time,
    pub(crate) first_flow: FlowId,
    pub(crate) flow_step: u64,
    pub(crate) seed: u64,
}

impl Poisson {
    pub(crate) fn new(plan: PoissonConfig) -> Self {
        let mut app = Self {
            sizes: plan.sizes,
            pick: plan.pick,
            mean_gap: plan.mean_gap,
            flows_left: plan.flows,
            stop: plan.stop,
            next: plan.start,
            flow: plan.first_flow,
            flow_step: plan.flow_step,
            random: Xoshiro256PlusPlus::seed_from_u64(plan.seed),
        };
        app.draw_next();
        app
    }

    fn draw_next(&mut self) {
        // The top 53 bits, never zero: a uniform number in (0, 1].
        let uniform = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let gap = Span::from_ps((-libm::log(uniform) * self.mean_gap.as_ps() as f64) as u64);
        let next = self.next.saturating_add(gap);
        self.next = if self.flows_left == 0 || next >= self.stop { Time::MAX } else { next };
    }
}

impl Application for Poisson {
    fn next_poll(&self) -> Time {
        self.next
    }

    fn poll(&mut self, now: Time, actions: &mut Vec<Action>) {
        while self.next <= now {
            let bytes = self.sizes.draw(&mut self.random);
            let dst = self.pick.draw(&mut self.random);
            actions.push(Action::Post(Post { dst, bytes, flow: Some(self.flow), ends_flow: true }));
            self.flow.0 += self.flow_step;
            self.flows_left -= 1;
            self.draw_next();
        }
    }

    fn is_done(&self) -> bool {
        self.next == Time::MAX
    }
}

impl Sizes {
    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u32 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Table(table) => table.draw(random.next_u64()).get() as u32,
        }
    }

    pub(crate) fn mean_bytes(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => f64::from(*bytes),
            Self::Table(table) => table.mean(),
        }
    }
}

impl DestinationPicker {
    /// Returns `None` if there is no destination.
    pub(crate) fn new(source: HostId, hosts: Arc<[HostId]>) -> Option<Self> {
        let source_index = hosts.iter().position(|host| *host == source);
        (hosts.len() > usize::from(source_index.is_some())).then_some(Self { hosts, source_index })
    }

    pub(crate) fn first(&self) -> HostId {
        self.hosts[usize::from(self.source_index == Some(0))]
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> HostId {
        let others = (self.hosts.len() - usize::from(self.source_index.is_some())) as u64;
        let drawn = (((random.next_u64() >> 32) * others) >> 32) as usize;
        self.hosts[drawn + usize::from(self.source_index.is_some_and(|source_index| drawn >= source_index))]
    }
}
