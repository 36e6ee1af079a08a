//! Collectives of a scenario: groups, the applications of their members, and the jobs of their flows.

use std::sync::Arc;

use wiremend_measure::{FlowRow, JobPlan};
use wiremend_scenario::{
    Algorithm, AllReduce, AllToAll, App as Kind, Members, Place, Placed, Scenario, Workload,
};
use wiremend_units::{Bytes, FlowId, HostId, Time};

use super::BuildError;
use crate::app::{self, Applications, CollectivePattern, Group};

pub(super) struct Collective {
    pattern: CollectivePattern,
    bytes: u64,
    iterations: u32,
    groups: Vec<Vec<HostId>>,
}

impl Collective {
    /// Returns `None` if the workload is not a collective.
    fn from_workload(scenario: &Scenario, workload: &Placed<Workload>) -> Result<Option<Self>, BuildError> {
        match &workload.app {
            Kind::Allreduce(kind) => Self::allreduce(scenario, workload.place, kind).map(Some),
            Kind::Alltoall(kind) => Self::alltoall(scenario, workload.place, kind).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn allreduce(scenario: &Scenario, place: Place, kind: &AllReduce) -> Result<Self, BuildError> {
        let pattern = match kind.algorithm {
            Algorithm::Ring => CollectivePattern::Ring,
            Algorithm::HalvingDoubling => CollectivePattern::HalvingDoubling,
        };
        Self::new(scenario, place, pattern, kind.bytes, kind.iterations.get(), &kind.members())
    }

    pub(super) fn alltoall(scenario: &Scenario, place: Place, kind: &AllToAll) -> Result<Self, BuildError> {
        Self::new(
            scenario,
            place,
            CollectivePattern::AllToAll,
            kind.bytes,
            kind.iterations.get(),
            &kind.members(),
        )
    }

    fn new(
        scenario: &Scenario,
        place: Place,
        pattern: CollectivePattern,
        bytes: Bytes,
        iterations: u32,
        members: &Members<'_>,
    ) -> Result<Self, BuildError> {
        let groups =
            members.resolve(&scenario.topology).map_err(|(place, what)| BuildError::at(place, what))?;
        let collective = Self { pattern, bytes: bytes.get(), iterations, groups };
        let flows = collective.flows_per_round().saturating_mul(collective.iterations.into());
        if flows >= FlowRow::PER_WORKLOAD {
            let what = format!("{flows} messages exceed the range of flow numbers; reduce `iterations`");
            return Err(BuildError::at(place, what));
        }
        Ok(collective)
    }

    pub(super) fn apps(&self, start: Time, first_flow: FlowId) -> Applications {
        let mut apps = Applications::new();
        for number in 0..self.groups.len() {
            let group = Arc::new(self.group(number, first_flow));
            for (rank, host) in group.members.iter().enumerate() {
                let member = app::Collective::new(Arc::clone(&group), rank, start);
                apps.push((*host, Box::new(member)));
            }
        }
        apps
    }

    /// Returns the range of its flow numbers.
    pub(super) fn flow_numbers(&self) -> u64 {
        self.flows_per_round() * u64::from(self.iterations)
    }

    /// Returns how its flows form jobs.
    pub(super) fn jobs(&self, workload: u32, first_flow: FlowId) -> JobPlan {
        let flows = (0..self.groups.len()).map(|number| self.flows_per_job(number)).collect();
        JobPlan {
            workload,
            first_flow: first_flow.0,
            stride: self.stride(),
            flows,
            iterations: self.iterations,
        }
    }

    fn group(&self, number: usize, first_flow: FlowId) -> Group {
        Group {
            members: self.groups[number].clone(),
            pattern: self.pattern,
            bytes: self.bytes,
            iterations: self.iterations,
            first_flow: FlowId(first_flow.0 + number as u64 * self.stride()),
            flows_per_round: self.flows_per_round(),
        }
    }

    fn flows_per_job(&self, number: usize) -> u64 {
        let size = self.groups[number].len() as u64;
        let messages = match self.pattern {
            CollectivePattern::Ring => 2 * (size - 1),
            CollectivePattern::HalvingDoubling => 2 * u64::from(size.ilog2()),
            CollectivePattern::AllToAll => size - 1,
        };
        size * messages
    }

    fn stride(&self) -> u64 {
        (0..self.groups.len()).map(|number| self.flows_per_job(number)).max().unwrap_or(1)
    }

    /// Returns the distance of flow numbers between successive jobs of a group.
    fn flows_per_round(&self) -> u64 {
        self.stride() * self.groups.len() as u64
    }
}

pub(super) fn jobs(scenario: &Scenario) -> Result<Vec<JobPlan>, BuildError> {
    let mut plans = Vec::new();
    for (number, workload) in scenario.workloads.iter().enumerate() {
        if let Some(collective) = Collective::from_workload(scenario, workload)? {
            plans.push(collective.jobs(number as u32, FlowId(number as u64 * FlowRow::PER_WORKLOAD)));
        }
    }
    Ok(plans)
}
