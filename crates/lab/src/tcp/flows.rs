//! Short flows, one after the other, each over a connection of its own. The wire drops one segment of each.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_tcp_congestion;
use serde::Serialize;

use super::connect;
use crate::chain::{Chain, ChainConfig, HostKind};
use crate::error::Error;
use crate::lab::Lab;

/// Flows of one size that lose the same segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct FlowKind {
    /// Bytes of a flow.
    pub bytes: u32,
    /// Which segment is lost, in words.
    pub lost: &'static str,
    /// A byte of that segment; `None` if none is lost.
    pub lost_byte: Option<u32>,
}

/// Completion times of flows of one kind.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowTimes {
    /// The flows.
    pub kind: FlowKind,
    /// Times in nanoseconds, sorted: from the first write until the acknowledgement of the last byte.
    pub ns: Vec<u64>,
}

/// Settings of a measurement of short flows.
#[derive(Clone, Debug)]
pub struct ShortFlows {
    /// The chain; its rate is given.
    pub chain: ChainConfig,
    /// Number of flows of each kind.
    pub flows: u32,
    /// Congestion control.
    pub control: String,
}

/// Payload of a full segment over Ethernet with timestamps.
const MSS: u32 = 1_448;
const ONE_PACKET: u32 = 1_000;
const FEW_PACKETS: u32 = 24_387;
const MANY_PACKETS: u32 = 2_000_000;

/// The flows that are measured: sizes of LinkGuardian's figures (L9, L10 and L11).
pub const FLOW_KINDS: [FlowKind; 10] = [
    kind(ONE_PACKET, "none", None),
    kind(ONE_PACKET, "the only", Some(0)),
    kind(FEW_PACKETS, "none", None),
    kind(FEW_PACKETS, "first", Some(0)),
    kind(FEW_PACKETS, "second last", Some(FEW_PACKETS - MSS)),
    kind(FEW_PACKETS, "last", Some(FEW_PACKETS - 1)),
    kind(MANY_PACKETS, "none", None),
    kind(MANY_PACKETS, "first", Some(0)),
    kind(MANY_PACKETS, "second last", Some(MANY_PACKETS - MSS)),
    kind(MANY_PACKETS, "last", Some(MANY_PACKETS - 1)),
];

/// Pause before each flow, in which both ends become idle. It varies, so that flows start anywhere within a tick.
const PAUSE: Duration = Duration::from_micros(20_300);
const PAUSE_STEP: Duration = Duration::from_micros(610);
const PAUSE_STEPS: u32 = 16;
/// Time limit of a flow.
const FLOW_LIMIT: Duration = Duration::from_mins(1);

const fn kind(bytes: u32, lost: &'static str, lost_byte: Option<u32>) -> FlowKind {
    FlowKind { bytes, lost, lost_byte }
}

impl FlowKind {
    /// Sequence number of the lost segment's first byte, from 0.
    pub fn lost_segment(&self) -> Option<u32> {
        self.lost_byte.map(|byte| byte / MSS * MSS)
    }
}

impl ShortFlows {
    /// Sends all flows. Calls `progress` with each finished kind.
    pub fn run(&self, lab: &Lab, progress: &dyn Fn(usize, f64)) -> Result<Vec<FlowTimes>, Error> {
        let chain = Chain::build(lab, &self.chain, HostKind::Kernel)?;
        let mut all = Vec::new();
        for (step, kind) in FLOW_KINDS.into_iter().enumerate() {
            chain.drop_segment(kind.lost_byte)?;
            let mut ns = Vec::new();
            for number in 0..self.flows {
                lab.check_stop()?;
                lab.pause(PAUSE + PAUSE_STEP * (number % PAUSE_STEPS))?;
                ns.push(self.time(&chain, kind.bytes, number)?);
                progress(step, f64::from(number + 1) / f64::from(self.flows));
            }
            ns.sort_unstable();
            all.push(FlowTimes { kind, ns });
        }
        Ok(all)
    }

    /// Sends a flow and returns its completion time in nanoseconds.
    fn time(&self, chain: &Chain, bytes: u32, number: u32) -> Result<u64, Error> {
        let broken =
            |error: io::Error| Error::Environment(format!("a connection of the lab failed: {error}"));
        let [near, far] = connect(chain)?;
        set_tcp_congestion(&near, &self.control)
            .map_err(|error| Error::Environment(format!("congestion control {}: {error}", self.control)))?;
        for end in [&near, &far] {
            end.set_nodelay(true).and_then(|()| end.set_read_timeout(Some(FLOW_LIMIT))).map_err(broken)?;
        }
        chain.lab().pause(PAUSE + PAUSE_STEP * (number % PAUSE_STEPS))?;
        let taken = std::thread::scope(|scope| {
            let receiver = scope.spawn(|| receive(&far, bytes));
            let taken = send(&near, bytes);
            receiver.join().expect("it does not panic").and(taken)
        });
        Ok(taken.map_err(broken)?.as_nanos() as u64)
    }
}

/// Sends `bytes` and returns the time until the receiver's answer, which it sends with the last acknowledgement.
fn send(mut socket: &TcpStream, bytes: u32) -> io::Result<Duration> {
    let all = vec![0x5A; bytes as usize];
    let start = Instant::now();
    socket.write_all(&all)?;
    socket.read_exact(&mut [0])?;
    Ok(start.elapsed())
}

fn receive(mut socket: &TcpStream, bytes: u32) -> io::Result<()> {
    let mut all = vec![0; bytes as usize];
    socket.read_exact(&mut all)?;
    socket.write_all(&[1])
}
