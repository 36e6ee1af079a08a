//! Speed of `wiremend peer` beside that of a kernel's RoCE: the same two guests, cable and tests.

use std::fs;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use wiremend_dataplane::relay::ProtectionMode;
use wiremend_measure::median;
use wiremend_units::Span;

use crate::chain::{Chain, ChainConfig, HostKind, Side};
use crate::error::Error;
use crate::guests::perftest::{self, PerftestArguments};
use crate::guests::{Guest, GuestFiles, Image};
use crate::lab::Lab;
use crate::roce::{DELAY, QUEUE, RATE, START_LIMIT, start};

/// Settings of a measurement.
#[derive(Clone, Debug)]
pub struct SpeedTrial {
    /// Number of rounds. Each measures both.
    pub rounds: u32,
    /// Messages per latency measurement.
    pub messages: u32,
    /// Messages of 64 KiB per bandwidth measurement.
    pub bulk_messages: u32,
}

/// Result of a measurement.
#[derive(Debug, Serialize)]
pub struct SpeedOutcome {
    /// The kernel's soft-RoCE with perftest.
    pub kernel: Speed,
    /// `wiremend peer` at both ends.
    pub peer: Speed,
    /// Bandwidth of the peer divided by that of the kernel: medians.
    pub bandwidth_ratio: f64,
    /// Half round trip of the peer divided by that of the kernel: medians.
    pub latency_ratio: f64,
}

/// Speed by round.
#[derive(Debug, Default, Serialize)]
pub struct Speed {
    /// WRITEs of 64 KiB.
    pub mib_per_s: Vec<f64>,
    /// Typical half round trip of WRITEs of 8 bytes: the most frequent one of perftest, the median of the peer.
    pub half_round_trip_ns: Vec<f64>,
}

const LIMIT: Duration = Duration::from_mins(5);
const BULK_BYTES: u32 = 65_536;
const MESSAGE_BYTES: u32 = 8;
const TIMEOUT_EXPONENT: u8 = 14;
/// The program in a guest.
const PROGRAM: &str = "wiremend";

impl SpeedTrial {
    /// Starts the guests and measures. Calls `progress` with a step of [`Self::steps`] and its finished share.
    pub fn run(
        &self,
        lab: &Lab,
        files: &GuestFiles,
        progress: &dyn Fn(usize, f64),
    ) -> Result<SpeedOutcome, Error> {
        // The relays stay off, and the link loses nothing.
        let config = ChainConfig {
            rate: Some(RATE),
            delay: DELAY,
            path_delay: Span::ZERO,
            queue: QUEUE,
            seed: 1,
            mode: ProtectionMode::Ordered,
            copies: None,
        };
        let mut chain = Chain::build(lab, &config, HostKind::Guests)?;
        let program = chain.directory().join(PROGRAM);
        fs::copy(&lab.program, &program).map_err(|error| Error::file(&error))?;
        let image = Image::with_program(files, chain.directory(), &program)?;
        let mut guests = [start(&mut chain, &image, Side::A)?, start(&mut chain, &image, Side::B)?];
        for guest in &mut guests {
            guest.wait_ready(START_LIMIT)?;
        }
        progress(0, 1.0);
        let [a, b] = &mut guests;
        let (mut kernel, mut peer) = (Speed::default(), Speed::default());
        for round in 0..self.rounds as usize {
            lab.check_stop()?;
            self.measure_kernel(a, b, &mut kernel)?;
            // The endpoint needs the UDP port, which the module holds.
            for guest in [&mut *a, &mut *b] {
                guest.read("rdma link delete rxe0 && rmmod rdma_rxe", LIMIT)?;
            }
            self.measure_peer(a, b, &mut peer)?;
            for guest in [&mut *a, &mut *b] {
                guest.read(
                    "insmod /modules/*-rdma_rxe.ko && rdma link add rxe0 type rxe netdev eth0",
                    LIMIT,
                )?;
                let gid = "/sys/class/infiniband/rxe0/ports/1/gids/1";
                guest.read(&format!("until grep -q '[1-9a-f]' {gid}; do sleep 0.1; done"), LIMIT)?;
            }
            progress(1 + round, 1.0);
        }
        let bandwidth_ratio = median(&peer.mib_per_s) / median(&kernel.mib_per_s);
        let latency_ratio = median(&peer.half_round_trip_ns) / median(&kernel.half_round_trip_ns);
        Ok(SpeedOutcome { kernel, peer, bandwidth_ratio, latency_ratio })
    }

    /// The steps, as relative durations.
    pub fn steps(&self) -> Vec<f64> {
        [1.0].into_iter().chain((0..self.rounds).map(|_| 1.0)).collect()
    }

    fn measure_kernel(&self, a: &mut Guest, b: &mut Guest, into: &mut Speed) -> Result<(), Error> {
        let with = |bytes, iterations| PerftestArguments {
            bytes,
            iterations,
            timeout_exponent: TIMEOUT_EXPONENT,
            limit: LIMIT,
        };
        let bandwidth = perftest::write_bandwidth(b, a, with(BULK_BYTES, self.bulk_messages))?;
        into.mib_per_s.push(bandwidth.average_mib_per_s);
        let latency = perftest::write_latency(b, a, with(MESSAGE_BYTES, self.messages))?;
        into.half_round_trip_ns.push(latency.typical.as_ns() as f64);
        Ok(())
    }

    fn measure_peer(&self, a: &mut Guest, b: &mut Guest, into: &mut Speed) -> Result<(), Error> {
        let (bulk, messages) = (self.bulk_messages, self.messages);
        let numbers = between(a, b, "", &format!("write {{}} --size {BULK_BYTES}B --iterations {bulk}"))?;
        into.mib_per_s.push(number(&numbers, "mib_per_s")?);
        let server = format!("--for ib_write_lat --size {MESSAGE_BYTES}B --iterations {messages}");
        let client = format!("ping {{}} --with write --size {MESSAGE_BYTES}B --iterations {messages}");
        let numbers = between(a, b, &server, &client)?;
        into.half_round_trip_ns.push(number(&numbers, "median_ns")?);
        Ok(())
    }
}

/// Runs a test between the guests, with the server in `b`. `{}` is its address.
fn between(a: &mut Guest, b: &mut Guest, server: &str, client: &str) -> Result<Value, Error> {
    let serve =
        format!("{PROGRAM} peer serve --interface eth0 --clients 1 {server} >/run/peer 2>&1 & echo $!");
    let process = b.read(&serve, LIMIT)?;
    b.read(perftest::AWAIT_SERVER, LIMIT)?;
    let client = client.replace("{}", &b.address().to_string());
    let text = a.read(&format!("{PROGRAM} peer {client} --json"), LIMIT);
    let log = b.run(&format!("kill -KILL {}; cat /run/peer", process.trim()), LIMIT)?.text;
    let text = text.map_err(|error| Error::Environment(format!("{error}; its server: {}", log.trim())))?;
    serde_json::from_str(&text)
        .map_err(|_| Error::Environment(format!("`{client}` in a guest printed {text}")))
}

fn number(numbers: &Value, name: &str) -> Result<f64, Error> {
    numbers[name]
        .as_f64()
        .ok_or_else(|| Error::Environment(format!("a peer in a guest printed no {name}: {numbers}")))
}
