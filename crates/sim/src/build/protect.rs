//! The protected links of a scenario, end by end.

use std::collections::BTreeMap;

use wiremend_proto::link::{Config, CopyCount, Endpoint, LossRate};
use wiremend_scenario::{App, Protect, Scenario, Scheme};
use wiremend_units::{Bytes, LaneId, Rate};

use super::BuildError;
use super::topology::{lanes, links};
use crate::network::Network;
use crate::protect::{Guard, Order};

/// Both ends of every protected link, by the lane that they send over.
pub(super) fn place(scenario: &Scenario, net: &Network) -> Result<BTreeMap<LaneId, Guard>, BuildError> {
    let mut guards = BTreeMap::new();
    let frame_bytes_max = longest_frame(scenario, net);
    for protect in &scenario.protects {
        let fail = |what: String| BuildError::at(protect.links.place, what);
        let active = lanes(&net.graph, &protect.links, protect.direction)?;
        for link in links(&net.graph, &protect.links.value).map_err(fail)? {
            let name = || net.graph.link_name(link);
            if [link.forward(), link.backward()].iter().any(|lane| net.switch_at(*lane).is_none()) {
                let what =
                    format!("the link `{}` ends at a host; links between switches can be protected", name());
                return Err(fail(what));
            }
            for lane in [link.forward(), link.backward()] {
                let config = config(protect, net.lanes[lane.index()].rate, frame_bytes_max);
                config.check().map_err(|error| BuildError::at(protect.place, error.to_string()))?;
                let orders = if active.contains(&lane) { orders(protect) } else { Vec::new() };
                let guard = Guard::new(Endpoint::new(config), ordered(protect), orders);
                if guards.insert(lane, guard).is_some() {
                    return Err(fail(format!("the link `{}` is protected twice; once is enough", name())));
                }
            }
        }
    }
    Ok(guards)
}

fn orders(protect: &Protect) -> Vec<Order> {
    let stop = protect.stop.map(|at| Order { at, active: false });
    [Order { at: protect.start, active: true }].into_iter().chain(stop).collect()
}

/// The classes that keep their order, a bit each.
fn ordered(protect: &Protect) -> u8 {
    let all = match protect.by {
        Scheme::Linkguardian => u8::MAX,
        Scheme::LinkguardianNb => 0,
    };
    protect.unordered.iter().fold(all, |classes, class| classes & !(1 << class.get()))
}

fn config(protect: &Protect, rate: Rate, frame_bytes_max: Bytes) -> Config {
    let loss = |share: f64| LossRate::parts_per_trillion((share * 1e12).round() as u64);
    Config {
        rate,
        frame_bytes_max,
        target: loss(protect.target.get()),
        copies: match protect.copies {
            Some(copies) => CopyCount::Fixed(copies.get()),
            None => CopyCount::Measured(loss(protect.loss.get())),
        },
        dummies: protect.dummies.get(),
        control_copies: protect.control_copies.get(),
        tx_bytes_max: protect.tx_buffer,
        rx_bytes_max: protect.rx_buffer,
        rtt: None,
        give_up: protect.give_up,
        pause_at: protect.pause_at,
        resume_at: protect.resume_at,
        backpressure: protect.backpressure,
        resend_share_percent: RESEND_SHARE_PERCENT,
    }
}

/// The longest frame that any host sends, without a link header.
fn longest_frame(scenario: &Scenario, net: &Network) -> Bytes {
    let raw = scenario.workloads.iter().filter_map(|workload| match &workload.app {
        App::Cbr(cbr) => Some(u64::from(cbr.frame.get())),
        _ => None,
    });
    let packet = u64::from(net.transport.config.mtu) + PACKET_HEADERS_BYTES;
    Bytes::new(raw.chain([packet]).max().unwrap_or(packet))
}

/// What a packet's headers and checks take at most.
const PACKET_HEADERS_BYTES: u64 = 82;
/// What is sent again may take this share of what is sent.
const RESEND_SHARE_PERCENT: u8 = 25;
