//! D3: completion times of collectives.

use super::scheme::{DCP, GO_BACK_N, IRN, IRN_ADAPTIVE, LOSSLESS, MP_RDMA, Memory, Scheme};
use super::source;
use crate::ledger::number::spread;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D3",
    title: "completion times of AllReduce and AllToAll",
    source: source("evaluation, testbed #3"),
    paper: "DCP reduces the completion time of AllReduce by up to 33 % and of AllToAll by up to 42 %, compared with a \
           go-back-N NIC over ECMP",
    method: "Sixteen hosts at two leaves with eight paths between them, like the testbed with two switches and \
             sixteen servers, in four groups over both leaves; a ring or all-to-all of 3 MB per group, from several \
             seeds, because the result depends on hash collisions. Then the network of the paper's simulations, 256 \
             hosts in 16 groups of 30 MB (quick: 32 hosts in 8 groups of 3 MB). Each scheme uses the path selection that suits it, and 1 MB per port: DCP trims where the \
             others drop",
    note: "A ring is as fast as its slowest connection. A hash puts several connections on one link by chance, and \
           with more groups such a collision is more likely. The gain of DCP here comes from packet-level load \
           balancing. Every scheme that tolerates reordering gains as much: IRN over adaptive switches and MP-RDMA \
           too, because groups that send in lockstep over equal links reorder few packets. The schemes differ over \
           unequal paths (D2) and over links that are shared with other traffic (D5)",
    judge,
    ..Claim::FORM
};

const SCHEMES: [Scheme; 6] = [DCP, MP_RDMA, IRN_ADAPTIVE, IRN, GO_BACK_N, LOSSLESS];
/// Kind of workload, name, and the reduction with DCP in the paper.
const COLLECTIVES: [(&str, &str, f64); 2] =
    [("allreduce", "AllReduce", 0.33), ("alltoall", "AllToAll", 0.42)];
const MEAN_REDUCTION_MIN: f64 = 0.2;
/// The largest of a few seeds varies by more than the last digit.
const REDUCTION_TOLERANCE: f64 = 0.1;

fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    1..=effort.choose(3, 10)
}

fn small(scheme: Scheme, kind: &str, seed: u64) -> Run {
    let run = Run::new("claims/collectives").set("workload.0.kind", kind);
    scheme.on(run, Memory::LARGE).seed(seed).seconds(0.2)
}

fn large(effort: Effort, scheme: Scheme, kind: &str) -> Run {
    let [leaves, spines, hosts, groups] = effort.choose([4, 8, 8, 8], [16, 16, 16, 16]);
    let run = Run::new("claims/collectives")
        .set("workload.0.kind", kind)
        .set("topology.leaves", leaves)
        .set("topology.spines", spines)
        .set("topology.hosts_per_leaf", hosts)
        .set("workload.0.groups", groups)
        .set("workload.0.bytes", effort.choose("3MB", "30MB"));
    scheme.on(run, Memory::LARGE).seconds(effort.choose(0.3, 15.0))
}

/// Mean completion time of the jobs; infinite if one does not complete.
fn job_ns(outcome: &Outcome) -> f64 {
    let job = outcome.summary.jobs.first().filter(|job| job.finished == job.jobs);
    job.and_then(|job| job.jct_ns).map_or(f64::INFINITY, |jct| jct.mean)
}

/// Mean, minimum and maximum over all seeds.
fn over_seeds(results: &Results<'_>, scheme: Scheme, kind: &str) -> [f64; 3] {
    spread(seeds(results.effort()).map(|seed| job_ns(results.outcome(&small(scheme, kind, seed)))))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let mut rows = Vec::new();
    for (kind, name, most) in COLLECTIVES {
        let reduced = |seed| {
            1.0 - job_ns(results.outcome(&small(DCP, kind, seed)))
                / job_ns(results.outcome(&small(GO_BACK_N, kind, seed)))
        };
        let mean = 1.0 - over_seeds(results, DCP, kind)[0] / over_seeds(results, GO_BACK_N, kind)[0];
        let most_reduced = seeds(effort).map(reduced).fold(f64::NEG_INFINITY, f64::max);
        for scheme in SCHEMES {
            let large = results.outcome(&large(effort, scheme, kind));
            let open = large.summary.jobs.iter().map(|job| job.jobs - job.finished).sum();
            judgement.none(format!("jobs that do not complete, {name}, {}", scheme.name), open);
            let [mean, least, longest] = over_seeds(results, scheme, kind);
            rows.push(vec![
                format!("{name}, {}", scheme.name),
                human::time_ns(mean),
                format!("{} to {}", human::time_ns(least), human::time_ns(longest)),
                human::time_ns(job_ns(large)),
                human::count(large.summary.retransmitted_packets),
            ]);
        }
        let what = format!("{name}: mean reduction against go-back-N over ECMP");
        judgement.must(what, fraction(mean).at_least(MEAN_REDUCTION_MIN));
        let what = format!("{name}: largest reduction on sixteen hosts");
        judgement.printed(what, fraction(most_reduced).near(most, REDUCTION_TOLERANCE));
    }
    judgement.table(
        "| sixteen hosts, mean over seeds | range over seeds | large network | retransmitted on the large network",
        rows,
    );
    judgement.plot("d3", &figure(results));
}

/// Cumulative distribution of the completion time over seeds.
fn figure(results: &Results<'_>) -> Plot {
    let curve = |(kind, name, _): (&str, &str, f64), scheme: Scheme| {
        let mut times: Vec<f64> =
            seeds(results.effort()).map(|seed| job_ns(results.outcome(&small(scheme, kind, seed)))).collect();
        times.sort_by(f64::total_cmp);
        let share = |place: usize| (place + 1) as f64 / times.len() as f64;
        let points = times.iter().enumerate().map(|(place, &time)| (time, share(place)));
        Curve::marked(format!("{name}, {}", scheme.name), points)
    };
    let curves = COLLECTIVES.into_iter().flat_map(|one| [DCP, GO_BACK_N].map(|scheme| curve(one, scheme)));
    Plot {
        title: "Completion times of collectives on sixteen hosts".to_owned(),
        description: "Share of seeds whose mean completion time is at most the value on the horizontal axis."
            .to_owned(),
        x: Axis::new("mean completion time of the jobs", Scale::Linear, Unit::TimeNs),
        y: Axis::new("seeds", Scale::Linear, Unit::Percent).with_range(0.0, 1.0),
        curves: curves.collect(),
    }
}
