//! HPCC (Li et al., SIGCOMM 2019) as a congestion control outside of wiremend.
//!
//!     cargo run --release -p wiremend-examples --example hpcc
//!
//! Switches add their queue length, sent bytes and time to packets (in-band telemetry). The sender keeps the
//! bytes in flight on the busiest link at η = 95 % of its bandwidth-delay product (§3.2, Algorithm 1).
//! Measured from 1 ms on, with 16 hosts sending to one at 100 Gb/s:
//!
//! | congestion control | link used | queue, median | queue, 95 % |
//! |---|---|---|---|
//! | HPCC | 94.6 % | 1.9 kB | 4.5 kB |
//! | Swift | 100.0 % | 284.6 kB | 297.0 kB |
//! | none | 100.0 % | 81 254 kB | 93 792 kB |
//!
//! This matches the paper: queues near zero in an incast (§5.2), and a link utilisation of η.

use std::io;

use wiremend_measure::{FlowRow, Metric, SeriesRow};
use wiremend_proto::cc::{
    Ack, AckFeedback, Algorithm, Controller, Feedback, HopTelemetry, Needs, Pacer, PathProperties, SentPacket,
};
use wiremend_report::{FlowLanes, RunId};
use wiremend_runner::{Registry, Request, RowSink, Runner};
use wiremend_units::{BadSetting, Rate, Settings, Span, Time};

/// The parameters of §4.
#[derive(Clone, Copy, Debug)]
struct Hpcc {
    /// Target utilisation of a link.
    eta: f64,
    /// Rounds of additive increase before the window follows the measurement in any case.
    stages_max: u64,
    /// Most flows per link, which determines the additive increase.
    flows: u64,
    /// T; by default the longest round trip of the empty network.
    round_trip: Option<Span>,
}

impl Hpcc {
    fn from_settings(settings: &mut Settings) -> Result<Self, BadSetting> {
        Ok(Self {
            eta: settings.take_within("eta", 0.5..=1.0, 0.95)?,
            stages_max: settings.take_within("stages", 0..=100, 5)?,
            flows: settings.take_within("flows", 1..=1_000_000, 100)?,
            round_trip: settings.take("round_trip")?,
        })
    }
}

impl Algorithm for Hpcc {
    fn new_controller(&self, path: &PathProperties) -> Box<dyn Controller> {
        let round_trip = self.round_trip.unwrap_or(path.round_trip);
        let window = path.line_rate.bits_per_s() as f64 / 8.0 * round_trip.as_secs_f64();
        Box::new(Sender {
            parameters: *self,
            round_trip_s: round_trip.as_secs_f64(),
            packet_bytes: f64::from(path.packet_bytes),
            window_max: window,
            increase: window * (1.0 - self.eta) / self.flows as f64,
            window,
            reference: window,
            in_flight: self.eta,
            stage: 0,
            update_after: 0,
            sent: 0,
            hops: Vec::new(),
            pacer: Pacer::new(path.line_rate),
        })
    }

    fn needs(&self) -> Needs {
        Needs { acks: true, path: true, ack_feedback: AckFeedback::Telemetry, ..Needs::default() }
    }
}

/// One queue pair. Windows are in bytes on the wire.
#[derive(Debug)]
struct Sender {
    parameters: Hpcc,
    round_trip_s: f64,
    packet_bytes: f64,
    window_max: f64,
    /// `W_AI`.
    increase: f64,
    /// W.
    window: f64,
    /// `W^c`: the window at the last update, the reference of all acknowledgements of a round.
    reference: f64,
    /// U: bytes in flight on the busiest link relative to its bandwidth-delay product.
    in_flight: f64,
    /// incStage.
    stage: u64,
    /// The reference changes with the first acknowledgement after this packet.
    update_after: u64,
    /// Packets sent.
    sent: u64,
    /// L: telemetry of the last acknowledgement.
    hops: Vec<HopTelemetry>,
    pacer: Pacer,
}

impl Sender {
    /// `MeasureInflight`: compares the telemetry of the last packet and of this one.
    fn measure(&mut self, hops: &[HopTelemetry]) {
        let (mut busiest, mut interval_s) = (0.0, 0.0);
        for (now, last) in hops.iter().zip(&self.hops) {
            let elapsed_s = now.departed_at.since(last.departed_at).as_secs_f64();
            if elapsed_s <= 0.0 {
                continue;
            }
            let line = now.rate.bits_per_s() as f64 / 8.0;
            let rate = (now.sent_bytes.get() - last.sent_bytes.get()) as f64 / elapsed_s;
            let queue = now.queue_bytes.min(last.queue_bytes).get() as f64;
            let share = queue / (line * self.round_trip_s) + rate / line;
            if share > busiest {
                (busiest, interval_s) = (share, elapsed_s);
            }
        }
        let weight = interval_s.min(self.round_trip_s) / self.round_trip_s;
        self.in_flight = (1.0 - weight) * self.in_flight + weight * busiest;
    }

    /// `ComputeWind`.
    fn follow(&mut self, update: bool) {
        let Hpcc { eta, stages_max, .. } = self.parameters;
        let corrects = self.in_flight >= eta || self.stage >= stages_max;
        let base = if corrects { self.reference / (self.in_flight / eta) } else { self.reference };
        self.window = (base + self.increase).min(self.window_max);
        if update {
            self.stage = if corrects { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }

    fn on_telemetry(&mut self, acknowledged: u64, feedback: &Feedback) {
        let hops = feedback.hops();
        if self.hops.len() == hops.len() {
            self.measure(hops);
            let update = acknowledged > self.update_after;
            self.follow(update);
            if update {
                self.update_after = self.sent;
            }
            let rate = (self.window * 8.0 / self.round_trip_s).max(1e6) as u64;
            self.pacer.set_rate(Rate::from_bits_per_s(rate));
        }
        self.hops.clear();
        self.hops.extend_from_slice(hops);
    }
}

impl Controller for Sender {
    fn on_transmit(&mut self, now: Time, sent: SentPacket) {
        self.sent = self.sent.max(sent.number + 1);
        self.pacer.on_transmit(now, sent.wire_bytes);
    }

    fn eligible(&self) -> Time {
        self.pacer.eligible()
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        if let Some(feedback) = ack.feedback {
            self.on_telemetry(ack.acknowledged, feedback);
        }
    }

    fn window(&self) -> u32 {
        (self.window / self.packet_bytes).ceil().max(1.0) as u32
    }
}

const INCAST: &str = include_str!("incast.toml");

/// Queue and throughput of the bottleneck link after the first burst.
#[derive(Default)]
struct Bottleneck {
    by_variant: Vec<(String, Vec<u64>, u64)>,
}

const SETTLED: Time = Time::from_ns(1_000_000);

impl RowSink for Bottleneck {
    fn on_flow(&mut self, _: RunId<'_>, _: &FlowRow, _: Option<&FlowLanes<'_>>) -> io::Result<()> {
        Ok(())
    }

    fn on_sample(&mut self, run_id: RunId<'_>, lane: &str, row: &SeriesRow) -> io::Result<()> {
        if lane != "leaf0>h0" || row.time_ps <= SETTLED.as_ps() {
            return Ok(());
        }
        if self.by_variant.last().is_none_or(|(name, ..)| name != run_id.variant) {
            self.by_variant.push((run_id.variant.to_owned(), Vec::new(), 0));
        }
        if let Some((_, queues, bytes)) = self.by_variant.last_mut() {
            match row.metric {
                Metric::QueueBytes => queues.push(row.value),
                Metric::TxBytes => *bytes += row.value,
                _ => {}
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::default();
    registry.congestion("hpcc", Hpcc::from_settings);
    let runner = Runner::new().registry(&registry);
    let input = runner.load_text("incast.toml", INCAST, &[])?;
    let mut seen = Bottleneck::default();
    runner.run_with(&Request::new(&input), &mut seen)?;
    for (name, mut queues, bytes) in seen.by_variant {
        queues.sort_unstable();
        let queue = |percent: usize| queues[(queues.len() - 1) * percent / 100] as f64 / 1e3;
        // Samples are a microsecond apart; preamble and gap add 20 B to each full frame of 1086 B.
        let used = bytes as f64 * 1_106.0 / 1_086.0 * 8.0 / (queues.len() as f64 * 1e-6) / 100e9 * 100.0;
        println!("{name:6} {used:5.1} % used; queue {:.1} kB, 95 % {:.1} kB", queue(50), queue(95));
        if name == "hpcc" && ((used - 95.0).abs() > 3.0 || queue(95) > 20.0) {
            return Err("HPCC misses its target, or queues build up".into());
        }
    }
    Ok(())
}
