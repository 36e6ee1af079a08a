//! A cable on real interfaces.

use std::fs;
use std::io::{BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wiremend_impair::{FaultList, Way};
use wiremend_units::{Rate, Span, Time, stream_seed};
use wiremend_wire::link::Dialect;

use super::{Ailment, Cable, Faults, LaneConfig, LaneCounts, Record};
use crate::control::{self, Answer, Inbox, Server};
use crate::drive::{Clock, Poll, idle};
use crate::net::{self, Interface, tc};
use crate::relay::Unusable;
use crate::sys::packet::{PacketSocket, Tap};
use crate::sys::{sched, wait};

/// What a cable is told at its start.
#[derive(Clone, Debug)]
pub struct CableSettings {
    /// The interfaces that it joins.
    pub ends: [String; 2],
    /// None: as fast as the machine.
    pub rate: Option<Rate>,
    /// Of each direction.
    pub delay: Span,
    /// Room before each direction.
    pub queue_bytes_max: u64,
    /// From the first end to the second, and back.
    pub ailments: [Ailment; 2],
    /// Frames of a protected link that are hit besides.
    pub faults: Option<FaultList>,
    /// Where frames of a protected link that are hit are written down, as such a list.
    pub record: Option<PathBuf>,
    /// By which the headers of a protected link are known.
    pub dialect: Dialect,
    /// Of all random streams.
    pub seed: u64,
    /// Where its socket is; none: it does not listen.
    pub socket: Option<PathBuf>,
    /// How to wait for frames.
    pub poll: Poll,
}

/// What can be asked of a cable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CableRequest {
    /// How it stands.
    Status,
    /// From here on it suffers from this: from the first end to the second, and back.
    Impair {
        /// Unchanged if there is none.
        forth: Option<Ailment>,
        /// See `forth`.
        back: Option<Ailment>,
    },
}

impl control::Request for CableRequest {
    fn changes(&self) -> bool {
        *self != Self::Status
    }
}

/// How a cable stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CableStatus {
    /// From the first end to the second.
    pub forth: LaneCounts,
    /// And back.
    pub back: LaneCounts,
    /// Frames that the kernel had no room for, at both ends.
    pub kernel_dropped: [u64; 2],
    /// What it suffers from.
    pub ailments: [Ailment; 2],
    /// Faults of its list that have not been met.
    pub faults_left: [u64; 2],
}

/// A cable that is ready to run.
pub struct CableService {
    settings: CableSettings,
    cable: Cable<PacketSocket>,
    clock: Clock,
    inbox: Option<Inbox<CableRequest>>,
    waker: std::sync::Arc<wait::Waker>,
    kernel_dropped: [u64; 2],
    /// Streams of random numbers that were begun.
    streams: u64,
    record: Option<BufWriter<fs::File>>,
    _server: Option<Server>,
}

const RING_PLACES: u32 = 4096;
const SLOTS: u32 = 16_384;
const ETHERNET_BYTES: u32 = 14 + 4;
/// The longest sleep: whoever wants it to stop is heard by then.
const SLEEP_MAX: Span = Span::from_ms(200);
const TURNS: u32 = 256;

impl CableService {
    /// Opens both interfaces and keeps the host off them.
    pub fn start(settings: CableSettings) -> Result<Self, Unusable> {
        let [a, b] = &settings.ends;
        if a == b {
            return Err(Unusable::Same(a.clone()));
        }
        let facts = [Interface::by_name(a)?, Interface::by_name(b)?];
        let frame_bytes = facts.iter().map(|interface| interface.mtu).max().unwrap_or(0) + ETHERNET_BYTES;
        let ends = [open(&facts[0], frame_bytes)?, open(&facts[1], frame_bytes)?];
        let mut streams = 0;
        let mut lane = |ailment: &Ailment, way: Way| {
            streams += 1;
            Ok::<_, Unusable>(LaneConfig {
                rate: settings.rate,
                delay: settings.delay,
                queue_bytes_max: settings.queue_bytes_max,
                impairments: ailment
                    .impairments(stream_seed(settings.seed, 0, streams))
                    .map_err(|error| Unusable::Settings(error.to_string()))?,
                faults: faults(&settings, way),
            })
        };
        let lanes = [lane(&settings.ailments[0], Way::Forth)?, lane(&settings.ailments[1], Way::Back)?];
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
                .map_err(|source| Unusable::Io { what: "an event".into(), source })?,
        };
        let cable = Cable::new(ends, lanes, SLOTS, frame_bytes);
        let clock = Clock::start();
        let kernel_dropped = [0; 2];
        Ok(Self { settings, cable, clock, inbox, waker, kernel_dropped, streams, record, _server: server })
    }

    /// Carries frames until `stop` says so. How it stood at the end.
    pub fn run(mut self, stop: impl Fn() -> bool) -> Result<CableStatus, Unusable> {
        wait::precise_timers();
        sched::short_turns();
        let mut turns = 0;
        while !stop() {
            let now = self.clock.now();
            let more = self.cable.turn(now);
            turns += 1;
            if more && turns < TURNS {
                continue;
            }
            turns = 0;
            self.write_record()?;
            self.answer_all();
            if !more {
                self.pause(now)?;
            }
        }
        self.write_record()?;
        for end in &self.settings.ends {
            tc::clear(end)?;
        }
        Ok(self.status())
    }

    /// Writes down what was hit since the last time.
    fn write_record(&mut self) -> Result<(), Unusable> {
        let Some(file) = &mut self.record else { return Ok(()) };
        let records =
            self.cable.lanes_mut().iter_mut().filter_map(|lane| lane.faults.as_mut()?.record.as_mut());
        let mut hit = records.flat_map(Record::take).peekable();
        if hit.peek().is_none() {
            return Ok(());
        }
        hit.try_for_each(|fault| writeln!(file, "{fault}"))
            .and_then(|()| file.flush())
            .map_err(|source| Unusable::Io { what: "the record of faults".into(), source })
    }

    fn pause(&mut self, now: Time) -> Result<(), Unusable> {
        let latest = now + SLEEP_MAX;
        let due = self.cable.next_due(now).map_or(latest, |due| due.min(latest));
        let [a, b] = self.cable.ends();
        let ready = idle(self.settings.poll, &self.clock, [a, b], &self.waker, Some(due))
            .map_err(|source| Unusable::Io { what: "waiting".into(), source })?;
        for (ready, end) in ready.into_iter().zip(self.cable.ends()) {
            if ready.error {
                // The interface went down; it is seen again when it comes up.
                let _ = end.take_error();
            }
        }
        Ok(())
    }

    fn answer_all(&mut self) {
        while let Some(pending) = self.inbox.as_ref().and_then(Inbox::take) {
            if let CableRequest::Impair { forth, back } = pending.request
                && let Err(why) = self.impair([forth, back])
            {
                pending.answer(&Answer::<()>::Refused(why));
                continue;
            }
            let status = self.status();
            pending.answer(&Answer::Done(status));
        }
    }

    fn impair(&mut self, ailments: [Option<Ailment>; 2]) -> Result<(), String> {
        for (direction, ailment) in ailments.into_iter().enumerate() {
            let Some(ailment) = ailment else { continue };
            self.streams += 1;
            let made = ailment.impairments(stream_seed(self.settings.seed, 0, self.streams));
            self.cable.lanes_mut()[direction].impair(made.map_err(|error| error.to_string())?);
            self.settings.ailments[direction] = ailment;
        }
        Ok(())
    }

    fn status(&mut self) -> CableStatus {
        for (dropped, end) in self.kernel_dropped.iter_mut().zip(self.cable.ends()) {
            *dropped += end.kernel_counts().map_or(0, |counts| counts.dropped);
        }
        let [forth, back] = self.cable.lanes().each_ref().map(|lane| lane.counts);
        let faults_left = self
            .cable
            .lanes()
            .each_ref()
            .map(|lane| lane.faults.as_ref().map_or(0, |faults| faults.replay.unused() as u64));
        let (kernel_dropped, ailments) = (self.kernel_dropped, self.settings.ailments);
        CableStatus { forth, back, kernel_dropped, ailments, faults_left }
    }
}

/// What a direction needs for its lists of faults, if there are any.
fn faults(settings: &CableSettings, way: Way) -> Option<Faults> {
    (settings.faults.is_some() || settings.record.is_some()).then(|| Faults {
        dialect: settings.dialect,
        way,
        replay: settings.faults.as_ref().map(|list| list.replay(way)).unwrap_or_default(),
        record: settings.record.as_ref().map(|_| Record::default()),
    })
}

fn create(path: &Path) -> Result<BufWriter<fs::File>, Unusable> {
    let io = |source| Unusable::Io { what: format!("the record {}", path.display()), source };
    let mut file = BufWriter::new(fs::File::create(path).map_err(io)?);
    writeln!(file, "# direction, kind, number, copy").and_then(|()| file.flush()).map_err(io)?;
    Ok(file)
}

fn open(interface: &Interface, frame_bytes: u32) -> Result<PacketSocket, Unusable> {
    let name = &interface.name;
    let io = |source| Unusable::Io { what: format!("a packet socket on `{name}`"), source };
    net::silence(name)?;
    tc::Rule::Drop { on: name.clone() }.apply()?;
    let socket = PacketSocket::open(interface.index, RING_PLACES, frame_bytes).map_err(io)?;
    socket.tap(Tap::All).map_err(io)?;
    socket.bind(interface.index).map_err(io)?;
    Ok(socket)
}

fn listen(path: &Path) -> Result<(Server, Inbox<CableRequest>), Unusable> {
    let io = |source| Unusable::Io { what: format!("the socket {}", path.display()), source };
    if let Some(directory) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o750).create(directory).map_err(io)?;
    }
    Server::listen(path, None).map_err(io)
}
