//! The failures of a scenario, link by link.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use wiremend_fabric::Graph;
use wiremend_scenario::{Fail, Placed, Probability, Scenario};
use wiremend_units::{Bytes, LinkId, Span, Time, stream_seed};

use super::buffer::switches;
use super::{BuildError, topology};
use crate::network::{Failures, GrayFlows, Outages, Reaction, purpose};

/// Most failures of a run, over all links, and over all switches if they learn of them one after the other.
const FAILURES_MAX: usize = 4_000_000;

/// Returns the failures of all links; `None` if there are none.
pub(super) fn place(scenario: &Scenario, graph: &Graph, seed: u64) -> Result<Option<Failures>, BuildError> {
    let mut by_link = vec![Vec::new(); graph.links().len()];
    let mut room = FAILURES_MAX;
    for (number, fail) in scenario.fails.iter().enumerate() {
        for (entity, links) in groups(graph, fail)? {
            let seed = stream_seed(seed, purpose::FAILURES, (number as u64) << 32 | entity);
            let end = Time::ZERO + scenario.stop.after;
            let end = fail.stop.map_or(end, |stop| stop.min(end));
            let times = times(fail, end, seed, room).ok_or_else(|| too_many(fail))?;
            // Each switch has a list of changes of its own.
            let lists = if fail.reroute_per_hop > Span::ZERO { graph.switch_count() as usize } else { 1 };
            for link in links {
                room = room.checked_sub(times.len() * lists).ok_or_else(|| too_many(fail))?;
                by_link[link.index()].push(Outages {
                    times: times.clone(),
                    gray: gray(fail.flows, seed),
                    reaction: fail.detect.map(|detect| Reaction {
                        detect,
                        reroute: fail.reroute,
                        per_hop: fail.reroute_per_hop,
                    }),
                    cache: fail.cache.map_or(0, Bytes::get),
                });
            }
        }
    }
    Ok((!scenario.fails.is_empty()).then(|| Failures::new(graph, by_link)))
}

/// Returns the links that fail together, each with the number of its link or switch.
fn groups(graph: &Graph, fail: &Placed<Fail>) -> Result<Vec<(u64, Vec<LinkId>)>, BuildError> {
    if let Some(set) = &fail.links {
        let links = topology::links(graph, &set.value).map_err(|what| BuildError::at(set.place, what))?;
        return Ok(links.into_iter().map(|link| (u64::from(link.0), vec![link])).collect());
    }
    let Some(set) = &fail.switches else { return Ok(Vec::new()) };
    let failing = switches(graph, &set.value).map_err(|what| BuildError::at(set.place, what))?;
    let links = |switch| graph.ports(graph.switch_node(switch)).iter().map(|lane| lane.link()).collect();
    Ok(failing.into_iter().map(|switch| (u64::from(switch.0), links(switch))).collect())
}

fn too_many(fail: &Placed<Fail>) -> BuildError {
    let what = format!(
        "these failures are more than {FAILURES_MAX} before the run can end (stop.after), times the number of \
         switches with `reroute_per_hop`; set `stop`, or a shorter stop.after"
    );
    BuildError::at(fail.place, what)
}

/// Returns the outages that start before `end`; `None` if there are more than `most`.
fn times(fail: &Fail, end: Time, seed: u64, most: usize) -> Option<Vec<(Time, Time)>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut span =
        |mean: Span| if fail.random { Span::from_ps(exponential(mean, &mut random)) } else { mean };
    let mut from = match fail.up {
        Some(up) if fail.random => fail.start.saturating_add(span(up)),
        _ => fail.start,
    };
    let mut times = Vec::new();
    while from < end {
        if times.len() == most {
            return None;
        }
        let until = fail.down.map_or(Time::MAX, |down| from.saturating_add(span(down)));
        times.push((from, until));
        let Some(up) = fail.up else { break };
        from = until.saturating_add(span(up));
    }
    Some(times)
}

/// Draws a time of at least 1 ps, so that outages do not meet.
fn exponential(mean: Span, random: &mut Xoshiro256PlusPlus) -> u64 {
    // The top 53 bits, never zero: a uniform number in (0, 1].
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    ((-libm::log(uniform) * mean.as_ps() as f64) as u64).max(1)
}

fn gray(flows: Probability, seed: u64) -> Option<GrayFlows> {
    let below = (flows.get() * f64::from(u32::MAX)).ceil() as u32;
    (flows != Probability::ONE).then_some(GrayFlows { below, salt: seed })
}
