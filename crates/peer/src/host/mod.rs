//! An endpoint on a packet socket.

mod capture;
mod error;
mod faults;
mod interface;

use std::io::IoSlice;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wiremend_dataplane::event_loop::Clock;
use wiremend_dataplane::sys::packet::{CaptureFilter, PacketSocket, SEND_MAX};
use wiremend_dataplane::sys::udp::hold_port;
use wiremend_dataplane::sys::wait::{self, wait};
use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::{MacAddr, ROCE_PORT, TrafficClass};

use self::capture::Capture;
pub use self::error::PeerError;
pub use self::faults::FaultRules;
use self::faults::{Fate, Faults};
pub use self::interface::LocalInterface;
use crate::drops::{Direction, Drops};
use crate::endpoint::{Endpoint, FRAME_BYTES_MAX, Settings};
use crate::path::Path;

/// Settings of a host.
#[derive(Debug, Default)]
pub struct HostSettings {
    /// Settings of the endpoint.
    pub endpoint: Settings,
    /// What happens to frames on purpose.
    pub faults: FaultRules,
    /// File for all frames, pcapng.
    pub capture: Option<PathBuf>,
    /// DSCP and ECN of data packets.
    pub class: TrafficClass,
    /// Set to stop.
    pub stop: Arc<AtomicBool>,
}

/// An endpoint with one address on one interface.
pub struct Host {
    /// The endpoint.
    pub endpoint: Endpoint,
    socket: PacketSocket,
    _held_port: UdpSocket,
    clock: Clock,
    interface: LocalInterface,
    faults: Faults,
    capture: Option<Capture>,
    outbox: Outbox,
    class: TrafficClass,
    stop: Arc<AtomicBool>,
}

/// Frames that are ready to be sent.
struct Outbox {
    bytes: Box<[u8]>,
    lens: [usize; SEND_MAX],
    filled: usize,
    sent: usize,
}

const RING_FRAMES: u32 = 8192;
/// Frames to take before own ones are sent.
const TAKE_MAX: usize = 256;
/// Longest wait, for the sake of the stop flag and of TCP connections.
const WAIT_MAX: Duration = Duration::from_millis(5);
/// Wait if the interface takes no frame.
const FULL_WAIT: Duration = Duration::from_micros(50);

impl Host {
    /// Opens the interface. It receives from now on.
    pub fn open(settings: HostSettings, interface: LocalInterface) -> Result<Self, PeerError> {
        let name = interface.name.clone();
        let opened = PacketSocket::open(interface.index, RING_FRAMES, interface.frame_bytes());
        let socket = opened.map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => PeerError::NotPermitted(name.clone()),
            _ => PeerError::Io { what: format!("open a packet socket on `{name}`"), source: error },
        })?;
        let held = hold_port(interface.ip, ROCE_PORT).map_err(|error| match error.kind() {
            std::io::ErrorKind::AddrInUse => PeerError::PortTaken(interface.ip),
            _ => PeerError::Io {
                what: format!("hold UDP port {ROCE_PORT} of {}", interface.ip),
                source: error,
            },
        })?;
        let usable = socket.set_filter(CaptureFilter::UdpPort(ROCE_PORT));
        usable
            .and_then(|()| socket.bind(interface.index))
            .map_err(PeerError::io(format!("receive from `{name}`")))?;
        wait::set_precise_timers();
        Ok(Self {
            endpoint: Endpoint::new(settings.endpoint),
            socket,
            _held_port: held,
            clock: Clock::start(),
            faults: Faults::new(settings.faults),
            capture: settings.capture.map(|path| Capture::create(path, &name)).transpose()?,
            interface,
            outbox: Outbox::new(),
            class: settings.class,
            stop: settings.stop,
        })
    }

    /// The interface.
    pub fn interface(&self) -> &LocalInterface {
        &self.interface
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Frames that were dropped on purpose, which explains timeouts.
    pub fn drops(&self) -> &Drops {
        &self.faults.drops
    }

    /// Finds the way to a peer, for the queue pair with this number.
    pub fn path_to(&self, remote: IpAddr, pair: QpNum) -> Result<Path, PeerError> {
        self.check_version(remote)?;
        Ok(self.path(remote, self.interface.resolve(remote, &self.stop)?, pair))
    }

    /// As [`Self::path_to`], without waiting: `None` if the kernel looks for the peer's MAC address. It does so from
    /// now on.
    pub fn known_path_to(&self, remote: IpAddr, pair: QpNum) -> Result<Option<Path>, PeerError> {
        self.check_version(remote)?;
        Ok(self.interface.known(remote)?.map(|mac| self.path(remote, mac, pair)))
    }

    fn check_version(&self, remote: IpAddr) -> Result<(), PeerError> {
        if remote.is_ipv4() == self.interface.ip.is_ipv4() {
            return Ok(());
        }
        Err(PeerError::NoNeighbour { ip: remote, name: self.interface.name.clone() })
    }

    fn path(&self, remote_ip: IpAddr, mac: [u8; 6], pair: QpNum) -> Path {
        Path {
            local_mac: MacAddr(self.interface.mac),
            remote_mac: MacAddr(mac),
            local_ip: self.interface.ip,
            remote_ip,
            vlan: None,
            class: self.class,
            source_port: Path::source_port_of(pair),
        }
    }

    /// DSCP and ECN of data packets.
    pub fn class(&self) -> TrafficClass {
        self.class
    }

    /// A PSN that differs from run to run.
    pub fn draw_psn(&self) -> Psn {
        Psn::new(wiremend_units::mix(self.clock.now().as_ps() ^ u64::from(std::process::id())) as u32)
    }

    /// Receives and sends what there is, and waits if there was nothing. The caller polls events afterwards.
    pub fn turn(&mut self) -> Result<(), PeerError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(PeerError::Stopped);
        }
        let taken = self.receive()?;
        self.endpoint.on_timeout(self.clock.now());
        let sent = self.send()?;
        if taken + sent > 0 {
            return Ok(());
        }
        self.wait()
    }

    /// Writes the capture to its file.
    pub fn finish(&mut self) -> Result<(), PeerError> {
        self.capture.as_mut().map_or(Ok(()), Capture::finish)
    }

    /// Frames that the kernel dropped because they were not taken in time.
    pub fn kernel_drops(&self) -> u64 {
        self.socket.kernel_counts().map_or(0, |counts| counts.dropped)
    }

    fn receive(&mut self) -> Result<usize, PeerError> {
        self.receive_each(Endpoint::on_frame)
    }

    fn receive_each(
        &mut self,
        mut take: impl FnMut(&mut Endpoint, Time, &[u8], Option<u16>),
    ) -> Result<usize, PeerError> {
        let mut taken = 0;
        let now = self.clock.now();
        while taken < TAKE_MAX
            && let Some(rx_frame) = self.socket.take()
        {
            taken += 1;
            let bytes = self.socket.bytes(&rx_frame);
            let tag = rx_frame.tag.map(|[_, _, a, b]| u16::from_be_bytes([a, b]) & 0xFFF);
            let fate = self.faults.draw(now, Direction::In, bytes);
            if let Some(capture) = &mut self.capture {
                capture.write(Direction::In, bytes, fate == Fate::Dropped)?;
            }
            match fate {
                Fate::Dropped => {}
                Fate::Delayed => self.faults.keep(Direction::In, bytes, tag),
                Fate::Passes | Fate::Doubled => {
                    take(&mut self.endpoint, now, bytes, tag);
                    if fate == Fate::Doubled {
                        take(&mut self.endpoint, now, bytes, tag);
                    }
                    if let Some((late, tag)) = self.faults.take_late(Direction::In) {
                        take(&mut self.endpoint, now, &late, tag);
                    }
                }
            }
        }
        if taken == 0
            && let Some((late, tag)) = self.faults.take_late(Direction::In)
        {
            take(&mut self.endpoint, now, &late, tag);
        }
        self.socket.release();
        Ok(taken)
    }

    /// Receives frames past the endpoint, for a program that answers by itself. Waits if there are none, at most until
    /// `until`.
    pub(crate) fn receive_frames(
        &mut self,
        until: Time,
        mut take: impl FnMut(Time, &[u8]),
    ) -> Result<(), PeerError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(PeerError::Stopped);
        }
        if self.receive_each(|_, now, bytes, _| take(now, bytes))? > 0 {
            return Ok(());
        }
        let left = Duration::from_nanos(until.as_ns().saturating_sub(self.now().as_ns()));
        wait([(self.socket.as_fd(), false)], Some(left.min(WAIT_MAX)))
            .map_err(PeerError::io("wait for frames"))?;
        Ok(())
    }

    /// Sends frames past the endpoint.
    pub(crate) fn send_frames(&mut self, frames: &[Vec<u8>]) -> Result<(), PeerError> {
        for bytes in frames {
            if let Some(capture) = &mut self.capture {
                capture.write(Direction::Out, bytes, false)?;
            }
        }
        let name = &self.interface.name;
        let mut left = frames;
        while !left.is_empty() {
            let empty = || IoSlice::new(&[]);
            let mut batch = [[empty(), empty(), empty()]; SEND_MAX];
            let count = left.len().min(SEND_MAX);
            for (frame, bytes) in batch.iter_mut().zip(left) {
                frame[0] = IoSlice::new(bytes);
            }
            let sent = self.socket.send(&batch[..count]);
            let sent = sent.map_err(PeerError::io(format!("send on `{name}`")))?;
            left = &left[sent..];
            if sent == 0 {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(PeerError::Stopped);
                }
                wait([(self.socket.as_fd(), false)], Some(FULL_WAIT))
                    .map_err(PeerError::io("wait to send"))?;
            }
        }
        Ok(())
    }

    /// Sends at most one batch. Returns the number of frames that left.
    fn send(&mut self) -> Result<usize, PeerError> {
        if self.outbox.is_empty() {
            self.fill()?;
        }
        if self.outbox.is_empty() {
            return Ok(0);
        }
        let empty = || IoSlice::new(&[]);
        let mut frames = [[empty(), empty(), empty()]; SEND_MAX];
        let count = self.outbox.filled - self.outbox.sent;
        for (frame, at) in frames.iter_mut().zip(self.outbox.sent..self.outbox.filled) {
            frame[0] = IoSlice::new(self.outbox.frame(at));
        }
        let sent = self.socket.send(&frames[..count]);
        let name = &self.interface.name;
        let sent = sent.map_err(PeerError::io(format!("send on `{name}`")))?;
        self.outbox.sent += sent;
        Ok(sent)
    }

    /// Builds frames until the outbox is full.
    fn fill(&mut self) -> Result<(), PeerError> {
        let now = self.clock.now();
        self.outbox.clear();
        while self.outbox.filled < SEND_MAX {
            let room = self.outbox.room();
            let Some(len) = self.endpoint.poll_transmit(now, room) else { break };
            let fate = self.faults.draw(now, Direction::Out, &room[..len]);
            if fate == Fate::Delayed {
                self.faults.keep(Direction::Out, &room[..len], None);
                continue;
            }
            if let Some(capture) = &mut self.capture {
                capture.write(Direction::Out, &room[..len], fate == Fate::Dropped)?;
            }
            if fate == Fate::Dropped {
                continue;
            }
            self.outbox.push(len);
            if fate == Fate::Doubled && self.outbox.filled < SEND_MAX {
                let first = self.outbox.frame(self.outbox.filled - 1).to_vec();
                self.push_copy(&first)?;
            }
            self.send_late()?;
        }
        if self.outbox.is_empty() { self.send_late() } else { Ok(()) }
    }

    /// Sends the frame that has waited for the next one.
    fn send_late(&mut self) -> Result<(), PeerError> {
        if self.outbox.filled < SEND_MAX
            && let Some((late, _)) = self.faults.take_late(Direction::Out)
        {
            return self.push_copy(&late);
        }
        Ok(())
    }

    fn push_copy(&mut self, bytes: &[u8]) -> Result<(), PeerError> {
        self.outbox.room()[..bytes.len()].copy_from_slice(bytes);
        self.outbox.push(bytes.len());
        self.capture.as_mut().map_or(Ok(()), |capture| capture.write(Direction::Out, bytes, false))
    }

    fn wait(&mut self) -> Result<(), PeerError> {
        let now = self.clock.now();
        let due = self.endpoint.next_timeout();
        let left = due.map_or(WAIT_MAX, |due| Duration::from_nanos(due.as_ns().saturating_sub(now.as_ns())));
        let limit = if self.outbox.is_empty() { left.min(WAIT_MAX) } else { FULL_WAIT };
        wait([(self.socket.as_fd(), false)], Some(limit)).map_err(PeerError::io("wait for frames"))?;
        Ok(())
    }
}

impl Outbox {
    fn new() -> Self {
        Self { bytes: vec![0; SEND_MAX * FRAME_BYTES_MAX].into(), lens: [0; SEND_MAX], filled: 0, sent: 0 }
    }

    fn is_empty(&self) -> bool {
        self.sent == self.filled
    }

    fn clear(&mut self) {
        (self.filled, self.sent) = (0, 0);
    }

    /// The place of the next frame.
    fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled * FRAME_BYTES_MAX..][..FRAME_BYTES_MAX]
    }

    fn push(&mut self, len: usize) {
        self.lens[self.filled] = len;
        self.filled += 1;
    }

    fn frame(&self, at: usize) -> &[u8] {
        &self.bytes[at * FRAME_BYTES_MAX..][..self.lens[at]]
    }
}
