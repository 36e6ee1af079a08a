//! Job completion times of collectives.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{FlowRow, Histogram, Quantiles};

/// Flow numbers of one collective: consecutive within a job, then the jobs of all groups of an iteration,
/// then the next iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobPlan {
    /// Index of the workload in the scenario.
    pub workload: u32,
    /// First flow of the first job.
    pub first_flow: u64,
    /// Distance between the first flows of two consecutive jobs.
    pub stride: u64,
    /// Flows per job, by group.
    pub flows: Vec<u64>,
    /// Iterations of each group.
    pub iterations: u32,
}

/// Results of a collective: one workload of one variant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct JobSummary {
    /// Index of the workload in the scenario.
    pub workload: u32,
    /// Number of jobs: groups times iterations, over all seeds.
    pub jobs: u64,
    /// Jobs whose flows all finished.
    pub finished: u64,
    /// Time from the first post to the last completion of a finished job, in nanoseconds; `null` if there is
    /// none.
    pub jct_ns: Option<Quantiles>,
    /// Results by group.
    pub groups: Vec<GroupSummary>,
}

/// Results of one group of a collective.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupSummary {
    /// Index of the group, from 0.
    pub group: u32,
    /// Finished jobs.
    pub finished: u64,
    /// Mean completion time in nanoseconds; `null` if none finished.
    pub mean_ns: Option<f64>,
    /// Longest completion time.
    pub max_ns: Option<f64>,
}

/// Aggregates flow rows into jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    plans: Vec<JobPlan>,
    /// Number of merged runs; each has all jobs of all plans.
    runs: u64,
    /// Jobs with outstanding flows, by plan, iteration and group.
    open: BTreeMap<(usize, u32, u32), Open>,
    /// Completion times in ps by plan and group.
    done: Vec<Vec<Vec<u64>>>,
}

/// A job of which some flows have ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    start_ps: u64,
    end_ps: u64,
    left: u64,
    is_whole: bool,
}

impl Jobs {
    pub(crate) fn new(plans: Vec<JobPlan>) -> Self {
        let done = plans.iter().map(|plan| vec![Vec::new(); plan.flows.len()]).collect();
        Self { plans, runs: 1, open: BTreeMap::new(), done }
    }

    /// Adds a row. It may belong to no job.
    #[inline]
    pub(crate) fn add(&mut self, row: &FlowRow) {
        if !self.plans.is_empty() {
            self.add_to_job(row);
        }
    }

    fn add_to_job(&mut self, row: &FlowRow) {
        let Some((number, iteration, group)) = self.job_of(row.flow) else { return };
        let fresh = Open {
            start_ps: u64::MAX,
            end_ps: 0,
            left: self.plans[number].flows[group as usize],
            is_whole: true,
        };
        let open = self.open.entry((number, iteration, group)).or_insert(fresh);
        open.start_ps = open.start_ps.min(row.start_ps);
        open.end_ps = open.end_ps.max(row.end_ps);
        open.is_whole &= row.outcome.is_finished();
        open.left -= 1;
        if open.left == 0 {
            if open.is_whole {
                self.done[number][group as usize].push(open.end_ps - open.start_ps);
            }
            self.open.remove(&(number, iteration, group));
        }
    }

    fn job_of(&self, flow: u64) -> Option<(usize, u32, u32)> {
        self.plans.iter().enumerate().find_map(|(number, plan)| {
            let job = flow.checked_sub(plan.first_flow)? / plan.stride;
            let groups = plan.flows.len() as u64;
            let iteration = u32::try_from(job / groups).ok().filter(|at| *at < plan.iterations)?;
            Some((number, iteration, (job % groups) as u32))
        })
    }

    /// Adds the jobs of other runs of the same scenario.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.plans.is_empty() {
            self.clone_from(other);
            return;
        }
        self.runs += other.runs;
        for (mine, theirs) in self.done.iter_mut().flatten().zip(other.done.iter().flatten()) {
            mine.extend(theirs);
        }
    }

    pub(crate) fn summary(&self) -> Vec<JobSummary> {
        self.plans.iter().zip(&self.done).map(|(plan, done)| self.summary_of(plan, done)).collect()
    }

    fn summary_of(&self, plan: &JobPlan, done: &[Vec<u64>]) -> JobSummary {
        let mut all = Histogram::default();
        let mut groups = Vec::new();
        for (group, times) in done.iter().enumerate() {
            for ps in times {
                all.record(*ps);
            }
            let (count, sum) = (times.len() as u64, times.iter().map(|ps| u128::from(*ps)).sum::<u128>());
            groups.push(GroupSummary {
                group: group as u32,
                finished: count,
                mean_ns: (count > 0).then(|| sum as f64 / count as f64 / 1e3),
                max_ns: times.iter().max().map(|ps| *ps as f64 / 1e3),
            });
        }
        JobSummary {
            workload: plan.workload,
            jobs: self.runs * u64::from(plan.iterations) * plan.flows.len() as u64,
            finished: groups.iter().map(|group| group.finished).sum(),
            jct_ns: Quantiles::from_histogram(&all, 1e3),
            groups,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowOutcome;
    use crate::flow::tests::row;

    /// Two groups of two and three flows, two iterations.
    fn jobs() -> Jobs {
        Jobs::new(vec![JobPlan { workload: 1, first_flow: 100, stride: 3, flows: vec![2, 3], iterations: 2 }])
    }

    #[test]
    fn a_job_lasts_from_its_first_post_to_its_last_completion() {
        let mut jobs = jobs();
        for (flow, start_ps, end_ps) in
            [(100, 5_000, 9_000), (101, 2_000, 8_000), (103, 0, 1_000), (104, 0, 2_000)]
        {
            jobs.add(&FlowRow { start_ps, end_ps, ..row(flow, 0) });
        }
        // Flows of other workloads, and numbers outside all jobs.
        for flow in [0, 99, 112, u64::MAX] {
            jobs.add(&row(flow, 77));
        }
        let [summary] = &jobs.summary()[..] else { panic!("one workload") };
        assert_eq!(
            (summary.workload, summary.jobs, summary.finished),
            (1, 4, 1),
            "the second group waits for a flow"
        );
        assert_eq!(summary.groups[0].max_ns, Some(7.0));
        assert_eq!((summary.groups[1].finished, summary.groups[1].mean_ns), (0, None));
        jobs.add(&FlowRow { start_ps: 1_000, end_ps: 31_000, ..row(105, 0) });
        assert_eq!(jobs.summary()[0].groups[1].mean_ns, Some(31.0));
    }

    #[test]
    fn a_job_with_a_failed_flow_has_no_completion_time() {
        let mut jobs = jobs();
        jobs.add(&row(100, 5));
        jobs.add(&FlowRow { outcome: FlowOutcome::TimeLimit, ..row(101, 5) });
        assert_eq!((jobs.summary()[0].finished, jobs.summary()[0].jct_ns), (0, None));
    }

    #[test]
    fn seeds_are_added() {
        let mut all = Jobs::default();
        for seed in 1..=3_u64 {
            let mut one = jobs();
            for flow in [106, 107] {
                one.add(&row(flow, seed * 1_000));
            }
            all.merge(&one);
        }
        let summary = &all.summary()[0];
        assert_eq!((summary.jobs, summary.finished), (12, 3));
        assert_eq!((summary.groups[0].mean_ns, summary.groups[0].max_ns), (Some(2.0), Some(3.0)));
    }
}
