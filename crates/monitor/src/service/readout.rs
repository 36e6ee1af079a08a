//! How a daemon and a planner look to Prometheus: numbers, kept apart from those who make them, and the text that is scraped.
//!
//! Base units, `_total` for what only grows, `_ratio` for shares, and the label `device` as `node_exporter` has it. A planner shows only
//! links that something is advised about: a fabric has too many that are well.

use wiremend_dataplane::metrics::Exposition;

use crate::bus::Doing;
use crate::control::Overview;
use crate::daemon::{Daemon, Tally};
use crate::port::Untold;
use crate::window::Sample;

/// A daemon in numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Readout {
    /// Its ports, in their order.
    pub ports: Vec<PortReadout>,
    /// What it has done.
    pub tally: Tally,
    /// Whether it speaks for its node.
    pub speaks: bool,
    /// Times that the ports were read.
    pub polls: u64,
    /// Time that it took.
    pub poll_seconds: f64,
    /// There is a connection to Redis.
    pub connected: bool,
    /// Times that it was lost.
    pub disconnects: u64,
}

/// A port in numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PortReadout {
    /// Frames that were judged.
    pub total: Sample,
    /// The loss of now.
    pub loss: f64,
    /// Hardly less than this.
    pub loss_low: f64,
    /// It corrupts.
    pub corrupting: bool,
    /// It has no carrier.
    pub down: bool,
    /// Copies with which what is sent is protected, if it is.
    pub copies: u8,
    /// Readings that told nothing.
    pub untold: Untold,
    /// The loss to expect.
    pub expected: Option<f64>,
    /// More than the threshold is to be expected.
    pub foreseen: bool,
    /// Bits that were wrong before they were corrected.
    pub bit_errors: Option<f64>,
}

impl Readout {
    /// Of a daemon; what is about its surroundings is left to the caller.
    pub fn of(daemon: &Daemon) -> Self {
        let port = |at: usize| {
            let (port, foresight) = (daemon.port(at), daemon.foresight(at));
            let estimate = port.estimate();
            PortReadout {
                total: port.total(),
                loss: estimate.loss,
                loss_low: estimate.low,
                corrupting: port.is_corrupting(),
                down: daemon.is_down(at),
                copies: match daemon.doing(at) {
                    Some(Doing::Protects { copies }) => *copies,
                    _ => 0,
                },
                untold: port.untold(),
                expected: foresight.forecast().map(|forecast| forecast.frame_loss),
                foreseen: foresight.is_raised(),
                bit_errors: foresight.bit_error_ratio(),
            }
        };
        let ports = (0..daemon.link_count()).map(port).collect();
        Self { ports, tally: daemon.tally(), speaks: daemon.speaks(), ..Self::default() }
    }

    /// The text that is scraped. `devices` names the ports.
    pub fn page(&self, version: &str, devices: &[String]) -> String {
        let mut page = Exposition::new();
        about(&mut page, version);
        self.whole(&mut page);
        let mut each = |name: &str, help: &str, of: &dyn Fn(&PortReadout) -> Option<f64>| {
            let rows: Vec<(&String, f64)> = devices
                .iter()
                .zip(&self.ports)
                .filter_map(|(device, port)| Some((device, of(port)?)))
                .collect();
            if rows.is_empty() {
                return;
            }
            let name = format!("wiremend_monitor_{name}");
            page.family(&name, help);
            for (device, value) in rows {
                page.row(&name, &[("device", device)], value);
            }
        };
        let flag = |is: bool| Some(f64::from(u8::from(is)));
        each("receive_frames_total", "Frames that arrived and were judged, whole or broken.", &|port| {
            Some(port.total.frames as f64)
        });
        each("receive_broken_frames_total", "Frames that arrived broken.", &|port| {
            Some(port.total.errors as f64)
        });
        each("loss_ratio", "Share of frames that arrive broken, over the newest errors.", &|port| {
            Some(port.loss)
        });
        each("loss_lower_bound_ratio", "What that share is hardly less than.", &|port| Some(port.loss_low));
        each("corrupting", "Whether the link corrupts what arrives here.", &|port| flag(port.corrupting));
        each("carrier", "Whether the port has a carrier.", &|port| flag(!port.down));
        each("protecting", "Whether what is sent here is protected.", &|port| flag(port.copies > 0));
        each("protection_copies", "Copies of what the other end asks for.", &|port| {
            Some(f64::from(port.copies))
        });
        each(
            "expected_loss_ratio",
            "Share of frames that will be lost, as error correction foretells.",
            &|port| port.expected,
        );
        each("expected_corruption", "Whether more will be lost than the threshold allows.", &|port| {
            port.expected.and(flag(port.foreseen))
        });
        each(
            "bit_errors_before_correction_ratio",
            "Share of bits that were wrong before correction.",
            &|port| port.bit_errors,
        );
        self.unjudged(&mut page, devices);
        page.finish()
    }

    fn whole(&self, page: &mut Exposition) {
        let mut one = |name: &str, help: &str, value: f64| {
            page.one(&format!("wiremend_monitor_{name}"), help, &[], value);
        };
        let flag = |is: bool| f64::from(u8::from(is));
        one("polls_total", "Times that the ports were read.", self.polls as f64);
        one("poll_seconds_total", "Time that reading the ports took.", self.poll_seconds);
        one("redis_connected", "Whether there is a connection to Redis.", flag(self.connected));
        one("redis_disconnects_total", "Times that it was lost.", self.disconnects as f64);
        one("speaks", "Whether this daemon speaks for its node.", flag(self.speaks));
        one("acts_total", "Times that something was done about a link.", self.tally.acts as f64);
        one("failures_total", "Times that it could not be done.", self.tally.failures as f64);
        let senseless = self.tally.senseless as f64;
        one("senseless_words_total", "Words of others that made no sense.", senseless);
    }

    fn unjudged(&self, page: &mut Exposition, devices: &[String]) {
        const NAME: &str = "wiremend_monitor_unjudged_readings_total";
        page.family(NAME, "Readings that told nothing, by reason.");
        for (device, port) in devices.iter().zip(&self.ports) {
            let Untold { down, flapped, reset, unchanged } = port.untold;
            for (reason, count) in
                [("down", down), ("flapped", flapped), ("reset", reset), ("unchanged", unchanged)]
            {
                page.row(NAME, &[("device", device), ("reason", reason)], count);
            }
        }
    }
}

/// A planner in numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PlannerReadout {
    /// It leads.
    pub leads: bool,
    /// It has stopped acting.
    pub halted: bool,
    /// All links.
    pub links: u32,
    /// The state in numbers.
    pub overview: Overview,
    /// Links that may turn bad within the time of the brake.
    pub turned_max: usize,
    /// There is a connection to Redis.
    pub connected: bool,
    /// Times that it was lost.
    pub disconnects: u64,
    /// Times that it advised something new.
    pub decisions: u64,
    /// Links that something is advised about.
    pub advised: Vec<AdvisedReadout>,
}

/// A link that something is advised about.
#[derive(Clone, PartialEq, Debug)]
pub struct AdvisedReadout {
    /// The node of its lower end.
    pub node: String,
    /// The port there.
    pub device: String,
    /// The other end.
    pub peer: String,
    /// What.
    pub action: &'static str,
    /// What it loses in its worse direction.
    pub loss: f64,
}

impl PlannerReadout {
    /// The text that is scraped.
    pub fn page(&self, version: &str) -> String {
        let mut page = Exposition::new();
        about(&mut page, version);
        let mut one = |name: &str, help: &str, value: f64| {
            page.one(&format!("wiremend_planner_{name}"), help, &[], value);
        };
        let flag = |is: bool| f64::from(u8::from(is));
        let Overview { corrupting, down, drain, protect, wait, turned } = self.overview;
        one("leads", "Whether this planner leads.", flag(self.leads));
        one(
            "halted",
            "Whether it has stopped acting, because too much turned bad at once.",
            flag(self.halted),
        );
        one("links", "Links of the fabric.", f64::from(self.links));
        one("corrupting_links", "Links that corrupt.", corrupting as f64);
        one("down_links", "Links without a carrier.", down as f64);
        one("drain_links", "Links that should be out.", drain as f64);
        one("protected_links", "Links that should be protected.", protect as f64);
        one("waiting_links", "Links for which nothing can be done.", wait as f64);
        one("turned_links", "Links that turned bad within five minutes.", turned as f64);
        one("turned_links_limit", "More than so many, and it stops acting.", self.turned_max as f64);
        one("redis_connected", "Whether there is a connection to Redis.", flag(self.connected));
        one("redis_disconnects_total", "Times that it was lost.", self.disconnects as f64);
        one("decisions_total", "Times that something new was advised.", self.decisions as f64);
        self.links(&mut page);
        page.finish()
    }

    fn links(&self, page: &mut Exposition) {
        const LOSS: &str = "wiremend_planner_link_loss_ratio";
        const ADVICE: &str = "wiremend_planner_link_advice";
        if self.advised.is_empty() {
            return;
        }
        page.family(LOSS, "Share of frames that a link loses in its worse direction.");
        for AdvisedReadout { node, device, peer, loss, .. } in &self.advised {
            page.row(LOSS, &[("node", node), ("device", device), ("peer", peer)], loss);
        }
        page.family(ADVICE, "What should be done about a link.");
        for AdvisedReadout { node, device, peer, action, .. } in &self.advised {
            page.row(ADVICE, &[("node", node), ("device", device), ("peer", peer), ("advice", action)], 1);
        }
    }
}

fn about(page: &mut Exposition, version: &str) {
    page.one("wiremend_build_info", "The program that answers.", &[("version", version)], 1);
}
