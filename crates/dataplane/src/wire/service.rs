//! The process that runs a wire between two real interfaces.

use std::fs;
use std::io::{BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wiremend_impair::{Direction, FaultList};
use wiremend_units::{Rate, Span, Time, stream_seed};
use wiremend_wire::link::LinkCodec;

use super::{FaultInjector, FaultRecorder, ImpairmentSettings, LaneConfig, LaneCounts, Wire};
use crate::control::{self, Inbox, Response, Server};
use crate::event_loop::{Clock, WaitMode, wait_for_frames};
use crate::net::{self, Interface, tc};
use crate::relay::RelayError;
use crate::sys::packet::{CaptureFilter, PacketSocket};
use crate::sys::{sched, wait};

/// Settings of a wire.
#[derive(Clone, Debug)]
pub struct WireSettings {
    /// The two interfaces: end A and end B.
    pub ends: [String; 2],
    /// `None`: no rate limit.
    pub rate: Option<Rate>,
    /// Propagation delay of each direction.
    pub delay: Span,
    /// Queue size of each direction.
    pub queue_bytes_max: u64,
    /// From A to B, and from B to A.
    pub impairments: [ImpairmentSettings; 2],
    /// Frames of a protected link to corrupt in addition.
    pub faults: Option<FaultList>,
    /// File in which to record corrupted frames of a protected link, as a fault list.
    pub record: Option<PathBuf>,
    /// Wire format of the link header.
    pub codec: LinkCodec,
    /// Seed of all random streams.
    pub seed: u64,
    /// Path of the control socket, if any.
    pub socket: Option<PathBuf>,
    /// How the process waits for frames.
    pub poll: WaitMode,
}

/// A control request to a wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WireRequest {
    /// Returns the status.
    Status,
    /// Replaces the impairments; an absent direction is unchanged.
    Impair {
        /// From A to B.
        a_to_b: Option<ImpairmentSettings>,
        /// From B to A.
        b_to_a: Option<ImpairmentSettings>,
    },
}

impl control::Request for WireRequest {
    fn is_change(&self) -> bool {
        *self != Self::Status
    }
}

/// Status of a wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WireStatus {
    /// Counters from A to B.
    pub a_to_b: LaneCounts,
    /// Counters from B to A.
    pub b_to_a: LaneCounts,
    /// Frames dropped because the receive ring was full, at A and at B.
    pub kernel_dropped: [u64; 2],
    /// Impairments from A to B, and from B to A.
    pub impairments: [ImpairmentSettings; 2],
    /// Number of faults of the fault list that have not occurred yet, per direction.
    pub faults_left: [u64; 2],
}

/// A wire, ready to run.
pub struct WireService {
    settings: WireSettings,
    wire: Wire<PacketSocket>,
    clock: Clock,
    inbox: Option<Inbox<WireRequest>>,
    waker: std::sync::Arc<wait::Waker>,
    kernel_dropped: [u64; 2],
    /// Number of random streams created so far.
    streams: u64,
    record: Option<BufWriter<fs::File>>,
    _server: Option<Server>,
}

const RING_FRAMES: u32 = 4096;
const SLOTS: u32 = 16_384;
const ETHERNET_BYTES: u32 = 14 + 4;
/// The longest sleep, which bounds the delay until `stop` is polled.
const SLEEP_MAX: Span = Span::from_ms(200);
const ITERATIONS_MAX: u32 = 256;

impl WireService {
    /// Opens both interfaces and keeps their frames from the host.
    pub fn start(settings: WireSettings) -> Result<Self, RelayError> {
        let [a, b] = &settings.ends;
        if a == b {
            return Err(RelayError::Same(a.clone()));
        }
        let facts = [Interface::by_name(a)?, Interface::by_name(b)?];
        let frame_bytes = facts.iter().map(|interface| interface.mtu).max().unwrap_or(0) + ETHERNET_BYTES;
        let ends = [open(&facts[0], frame_bytes)?, open(&facts[1], frame_bytes)?];
        let mut streams = 0;
        let mut lane = |impairment: &ImpairmentSettings, direction: Direction| {
            streams += 1;
            Ok::<_, RelayError>(LaneConfig {
                rate: settings.rate,
                delay: settings.delay,
                queue_bytes_max: settings.queue_bytes_max,
                impairments: impairment
                    .build(stream_seed(settings.seed, 0, streams))
                    .map_err(|error| RelayError::Settings(error.to_string()))?,
                faults: faults(&settings, direction),
            })
        };
        let lanes = [
            lane(&settings.impairments[0], Direction::Forward)?,
            lane(&settings.impairments[1], Direction::Backward)?,
        ];
        let record = settings.record.as_ref().map(|path| create(path)).transpose()?;
        let (server, inbox) = match &settings.socket {
            Some(path) => {
                let (server, inbox) = listen(path)?;
                (Some(server), Some(inbox))
            }
            None => (None, None),
        };
        let waker = match &inbox {
            Some(inbox) => inbox.waker().clone(),
            None => wait::Waker::new()
                .map(std::sync::Arc::new)
                .map_err(|source| RelayError::Io { what: "create an event descriptor".into(), source })?,
        };
        let mut wire = Wire::new(ends, lanes, SLOTS, frame_bytes);
        for (lane, impairment) in wire.lanes_mut().iter_mut().zip(&settings.impairments) {
            lane.corrupt_segment(impairment.tcp_byte);
        }
        let clock = Clock::start();
        let kernel_dropped = [0; 2];
        Ok(Self { settings, wire, clock, inbox, waker, kernel_dropped, streams, record, _server: server })
    }

    /// Forwards frames until `stop` returns true. Returns the final status.
    pub fn run(mut self, stop: impl Fn() -> bool) -> Result<WireStatus, RelayError> {
        wait::set_precise_timers();
        sched::request_short_slices();
        let mut iterations = 0;
        while !stop() {
            let now = self.clock.now();
            let more = self.wire.run_once(now);
            iterations += 1;
            if more && iterations < ITERATIONS_MAX {
                continue;
            }
            iterations = 0;
            self.write_record()?;
            self.answer_requests();
            if !more {
                self.wait(now)?;
            }
        }
        self.write_record()?;
        for end in &self.settings.ends {
            tc::clear(end)?;
        }
        Ok(self.status())
    }

    /// Writes the frames corrupted since the last call to the record file.
    fn write_record(&mut self) -> Result<(), RelayError> {
        let Some(file) = &mut self.record else { return Ok(()) };
        let records =
            self.wire.lanes_mut().iter_mut().filter_map(|lane| lane.faults.as_mut()?.record.as_mut());
        let mut corrupted = records.flat_map(FaultRecorder::take).peekable();
        if corrupted.peek().is_none() {
            return Ok(());
        }
        corrupted
            .try_for_each(|fault| writeln!(file, "{fault}"))
            .and_then(|()| file.flush())
            .map_err(|source| RelayError::Io { what: "write the fault record".into(), source })
    }

    fn wait(&mut self, now: Time) -> Result<(), RelayError> {
        let latest = now + SLEEP_MAX;
        let due = self.wire.next_due(now).map_or(latest, |due| due.min(latest));
        let [a, b] = self.wire.ends();
        let ready = wait_for_frames(self.settings.poll, &self.clock, [a, b], &self.waker, Some(due))
            .map_err(|source| RelayError::Io { what: "wait for frames".into(), source })?;
        for (ready, end) in ready.into_iter().zip(self.wire.ends()) {
            if ready.error {
                // The interface went down. The socket receives again when it comes up.
                let _ = end.take_error();
            }
        }
        Ok(())
    }

    fn answer_requests(&mut self) {
        while let Some(pending) = self.inbox.as_ref().and_then(Inbox::take) {
            if let WireRequest::Impair { a_to_b, b_to_a } = pending.request
                && let Err(why) = self.impair([a_to_b, b_to_a])
            {
                pending.answer(&Response::<()>::Refused(why));
                continue;
            }
            let status = self.status();
            pending.answer(&Response::Done(status));
        }
    }

    fn impair(&mut self, impairments: [Option<ImpairmentSettings>; 2]) -> Result<(), String> {
        for (direction, impairment) in impairments.into_iter().enumerate() {
            let Some(impairment) = impairment else { continue };
            self.streams += 1;
            let made = impairment.build(stream_seed(self.settings.seed, 0, self.streams));
            let lane = &mut self.wire.lanes_mut()[direction];
            lane.impair(made.map_err(|error| error.to_string())?);
            lane.corrupt_segment(impairment.tcp_byte);
            self.settings.impairments[direction] = impairment;
        }
        Ok(())
    }

    fn status(&mut self) -> WireStatus {
        for (dropped, end) in self.kernel_dropped.iter_mut().zip(self.wire.ends()) {
            *dropped += end.kernel_counts().map_or(0, |counts| counts.dropped);
        }
        let [a_to_b, b_to_a] = self.wire.lanes().each_ref().map(|lane| lane.counts);
        let faults_left = self
            .wire
            .lanes()
            .each_ref()
            .map(|lane| lane.faults.as_ref().map_or(0, |faults| faults.replay.unused() as u64));
        let (kernel_dropped, impairments) = (self.kernel_dropped, self.settings.impairments);
        WireStatus { a_to_b, b_to_a, kernel_dropped, impairments, faults_left }
    }
}

fn faults(settings: &WireSettings, direction: Direction) -> Option<FaultInjector> {
    (settings.faults.is_some() || settings.record.is_some()).then(|| FaultInjector {
        codec: settings.codec,
        direction,
        replay: settings.faults.as_ref().map(|list| list.replay(direction)).unwrap_or_default(),
        record: settings.record.as_ref().map(|_| FaultRecorder::default()),
    })
}

fn create(path: &Path) -> Result<BufWriter<fs::File>, RelayError> {
    let io = |source| RelayError::Io { what: format!("create the fault record {}", path.display()), source };
    let mut file = BufWriter::new(fs::File::create(path).map_err(io)?);
    writeln!(file, "# direction, kind, number, copy").and_then(|()| file.flush()).map_err(io)?;
    Ok(file)
}

fn open(interface: &Interface, frame_bytes: u32) -> Result<PacketSocket, RelayError> {
    let name = &interface.name;
    let io = |source| RelayError::Io { what: format!("open a packet socket on `{name}`"), source };
    net::disable_link_local(name)?;
    tc::IngressRule::Drop { on: name.clone() }.apply()?;
    let socket = PacketSocket::open(interface.index, RING_FRAMES, frame_bytes).map_err(io)?;
    socket.set_filter(CaptureFilter::All).map_err(io)?;
    socket.bind(interface.index).map_err(io)?;
    Ok(socket)
}

fn listen(path: &Path) -> Result<(Server, Inbox<WireRequest>), RelayError> {
    let io = |source| RelayError::Io { what: format!("open the control socket {}", path.display()), source };
    if let Some(directory) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o750).create(directory).map_err(io)?;
    }
    Server::listen(path, None).map_err(io)
}
