//! Collectives of a scenario: groups, applications of their members, and how their flows make jobs.

use std::sync::Arc;

use wiremend_measure::JobPlan;
use wiremend_scenario::{
    Algorithm, AllReduce, AllToAll, App as Kind, Members, Place, Placed, Scenario, Workload,
};
use wiremend_units::{Bytes, FlowId, HostId, Time};

use super::BuildError;
use super::workload::FLOWS_PER_WORKLOAD;
use crate::app::{self, Applications, Dance, Group};

/// A collective of a scenario.
pub(super) struct Collective {
    dance: Dance,
    bytes: u64,
    iterations: u32,
    groups: Vec<Vec<HostId>>,
}

impl Collective {
    /// None if the workload is none.
    fn of(scenario: &Scenario, workload: &Placed<Workload>) -> Result<Option<Self>, BuildError> {
        match &workload.app {
            Kind::Allreduce(kind) => Self::allreduce(scenario, workload.place, kind).map(Some),
            Kind::Alltoall(kind) => Self::alltoall(scenario, workload.place, kind).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn allreduce(scenario: &Scenario, place: Place, kind: &AllReduce) -> Result<Self, BuildError> {
        let dance = match kind.algorithm {
            Algorithm::Ring => Dance::Ring,
            Algorithm::HalvingDoubling => Dance::HalvingDoubling,
        };
        Self::new(scenario, place, dance, kind.bytes, kind.iterations.get(), &kind.members())
    }

    pub(super) fn alltoall(scenario: &Scenario, place: Place, kind: &AllToAll) -> Result<Self, BuildError> {
        Self::new(scenario, place, Dance::AllToAll, kind.bytes, kind.iterations.get(), &kind.members())
    }

    fn new(
        scenario: &Scenario,
        place: Place,
        dance: Dance,
        bytes: Bytes,
        iterations: u32,
        members: &Members<'_>,
    ) -> Result<Self, BuildError> {
        let groups = members.of(&scenario.topology).map_err(|(place, what)| BuildError::at(place, what))?;
        let collective = Self { dance, bytes: bytes.get(), iterations, groups };
        let flows = collective.flows_apart().saturating_mul(collective.iterations.into());
        if flows >= FLOWS_PER_WORKLOAD {
            let what = format!("{flows} messages are more than can be numbered; fewer `iterations`");
            return Err(BuildError::at(place, what));
        }
        Ok(collective)
    }

    /// An application for each member.
    pub(super) fn apps(&self, start: Time, first_flow: FlowId) -> Applications {
        let mut apps = Applications::new();
        for number in 0..self.groups.len() {
            let group = Arc::new(self.group(number, first_flow));
            for (own, host) in group.members.iter().enumerate() {
                let member = app::Collective::new(Arc::clone(&group), own, start);
                apps.push((*host, Box::new(member)));
            }
        }
        apps
    }

    /// How its flows make jobs.
    pub(super) fn jobs(&self, workload: u32, first_flow: FlowId) -> JobPlan {
        let flows = (0..self.groups.len()).map(|number| self.flows_of(number)).collect();
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
            dance: self.dance,
            bytes: self.bytes,
            iterations: self.iterations,
            first_flow: FlowId(first_flow.0 + number as u64 * self.stride()),
            flows_apart: self.flows_apart(),
        }
    }

    /// Flows of a job of a group.
    fn flows_of(&self, number: usize) -> u64 {
        let size = self.groups[number].len() as u64;
        let messages = match self.dance {
            Dance::Ring => 2 * (size - 1),
            Dance::HalvingDoubling => 2 * u64::from(size.ilog2()),
            Dance::AllToAll => size - 1,
        };
        size * messages
    }

    /// Numbers that the job of any group has.
    fn stride(&self) -> u64 {
        (0..self.groups.len()).map(|number| self.flows_of(number)).max().unwrap_or(1)
    }

    /// How far the jobs of a group are apart.
    fn flows_apart(&self) -> u64 {
        self.stride() * self.groups.len() as u64
    }
}

/// The jobs of all collectives.
pub(super) fn jobs(scenario: &Scenario) -> Result<Vec<JobPlan>, BuildError> {
    let mut plans = Vec::new();
    for (number, workload) in scenario.workloads.iter().enumerate() {
        if let Some(collective) = Collective::of(scenario, workload)? {
            plans.push(collective.jobs(number as u32, FlowId(number as u64 * FLOWS_PER_WORKLOAD)));
        }
    }
    Ok(plans)
}
