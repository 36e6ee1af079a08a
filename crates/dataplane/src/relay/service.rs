//! The forwarding process: runs the data path on real ports and answers control requests.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom, SystemRandom};
use tracing::{info, warn};
use wiremend_units::{Rate, Span, Time};
use wiremend_wire::Malformed;

use super::datapath::{DataPath, DataPathConfig};
use super::handover::HandoverCounts;
use super::mtu_watch::MtuWatch;
use super::notices::{NoticeFacts, Notices};
use super::ports::Ports;
use super::status::{self, Class, Recovery, Request, Status};
use super::traffic_owner::TrafficOwner;
use super::{RelayError, RuntimeSettings, Settings, Trust};
use crate::control::{Inbox, PendingRequest, Response, Server};
use crate::event_loop::{Clock, wait_for_frames};
use crate::net::{Interface, tc};
use crate::port::LinuxPort;
use crate::sys::capability::{self, Capability};
use crate::sys::process::SignsOfLife;
use crate::sys::{process, sched, wait};

/// The forwarding process of a relay, ready to run.
pub struct Service {
    settings: Settings,
    rate: Rate,
    clock: Clock,
    datapath: DataPath<LinuxPort>,
    traffic_owner: TrafficOwner,
    inbox: Inbox<Request>,
    wanted: bool,
    /// When to probe an idle peer.
    probe_at: Time,
    signs_of_life: SignsOfLife,
    life_at: Time,
    /// The MTUs of the ports, and why they prevent protection.
    mtu: MtuWatch,
    kernel_dropped: [u64; 2],
    notices: Notices,
    /// Removes the control socket when dropped.
    _server: Server,
}

/// Why the event loop ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitReason {
    /// `stop` returned true.
    Stopped,
    /// The clock has expired: the supervisor starts another process.
    ClockExpired,
    /// The MTU of the LAN has grown: another process needs larger buffers.
    Resized,
}

/// Interval at which an endpoint without an answer sends another hello while protection is wanted.
const RETRY: Span = Span::from_ms(100);
/// Interval of probes to an idle peer.
const PROBE_INTERVAL: Span = Span::from_ms(500);
/// A peer that protects sends a probe at least at its interval. Without any frame for this long it is gone.
const SILENCE_LIMIT: Span = Span::from_ms(3000);
/// Time limit for closing protection in both directions at shutdown.
const SHUTDOWN_LIMIT: Span = Span::from_ms(1000);
/// Interval at which a stopping end asks the peer to end protection.
const LEAVE_INTERVAL: Span = Span::from_ms(2);
/// Time for which a stopping end still answers, because its last answer may be lost.
const LINGER: Span = Span::from_ms(10);
/// Number of busy iterations after which control requests are answered.
const ITERATIONS_MAX: u32 = 256;
/// The longest sleep, which bounds the delay until `stop` is polled.
const SLEEP_MAX: Span = Span::from_ms(200);
/// Interval at which the process tells its supervisor that it does not hang.
const LIFE_INTERVAL: Span = Span::from_ms(100);

impl Service {
    /// Opens the ports, drops capabilities, leaves traffic to the kernel and listens for control requests.
    ///
    /// The supervisor must hold the [`InterfaceLease`](super::InterfaceLease).
    pub fn start(mut settings: Settings) -> Result<Self, RelayError> {
        if let Some(runtime_settings) = RuntimeSettings::load(&settings) {
            runtime_settings.apply(&mut settings).map_err(|error| RelayError::Settings(error.to_string()))?;
        }
        settings.check()?;
        if let Some(cpu) = settings.cpu {
            sched::pin(cpu).map_err(RelayError::io(format!("run on processor {cpu}")))?;
        }
        let ports = Ports::open(&settings)?;
        let mtu = MtuWatch::open(&settings, ports.lan_mtu)?;
        let link = settings.link_config(ports.rate, ports.frame_bytes_max);
        link.check().map_err(|error| RelayError::Settings(error.to_string()))?;
        let config = DataPathConfig {
            slots: settings.slots(&link),
            link,
            codec: settings.codec,
            source: ports.source,
            trust: trust(&settings)?,
            classes: settings.classes.clone(),
            queue_bytes_max: settings.queue.get(),
            device_frames: settings.device_frames,
        };
        let traffic_owner = TrafficOwner::new(&settings.lan, &settings.link, settings.codec.ethertype)?;
        let filtered = traffic_owner.filter_sockets(&ports.lan, &ports.link);
        filtered.map_err(RelayError::io("set the filter of a packet socket"))?;
        for (port, name) in [(&ports.lan, &settings.lan), (&ports.link, &settings.link)] {
            let index = Interface::by_name(name)?.index;
            port.begin(index).map_err(RelayError::io("bind a packet socket"))?;
        }
        // Changes of tc rules still need CAP_NET_ADMIN. Threads that start later inherit the reduced set.
        capability::keep_only(&[Capability::NetAdmin])
            .and_then(|()| process::no_new_privileges())
            .map_err(RelayError::io("drop capabilities"))?;
        let path = settings.socket();
        let (server, inbox) = Server::listen(&path, settings.user)
            .map_err(RelayError::io(format!("open the control socket {}", path.display())))?;
        let mut datapath = DataPath::new(ports.lan, ports.link, config);
        datapath.endpoint_mut().set_host_confirms_close();
        let memory_max = memory_max(&datapath);
        info!(
            link = settings.link,
            memory_max,
            "frames take at most {} MiB of memory, rings included",
            memory_max.div_ceil(1 << 20)
        );
        Ok(Self {
            rate: ports.rate,
            clock: Clock::start(),
            datapath,
            traffic_owner,
            inbox,
            wanted: false,
            probe_at: Time::ZERO,
            signs_of_life: SignsOfLife::inherited(),
            life_at: Time::ZERO,
            mtu,
            kernel_dropped: [0; 2],
            notices: Notices::default(),
            _server: server,
            settings,
        })
    }

    /// Forwards frames until `stop` returns true. Then it hands traffic back to the kernel.
    pub fn run(mut self, stop: impl Fn() -> bool) -> Result<ExitReason, RelayError> {
        wait::set_precise_timers();
        sched::request_short_slices();
        if self.settings.active {
            self.set_wanted(true);
        }
        let mut retry_at = Time::ZERO;
        let mut iterations = 0;
        while !stop() && !self.clock.is_expired() && !self.mtu.needs_resize() {
            let now = self.clock.now();
            let more = self.run_once(now)?;
            if retry_at <= now {
                retry_at = now + RETRY;
                self.run_periodic(now)?;
            }
            iterations += 1;
            if more && iterations < ITERATIONS_MAX {
                continue;
            }
            iterations = 0;
            self.answer_all();
            if !more {
                self.wait(retry_at)?;
            }
        }
        let ended = if self.clock.is_expired() {
            ExitReason::ClockExpired
        } else if self.mtu.needs_resize() {
            ExitReason::Resized
        } else {
            ExitReason::Stopped
        };
        self.shutdown()?;
        let HandoverCounts { lost, late } = self.traffic_owner.counts();
        if lost + late > 0 {
            warn!(
                link = self.settings.link,
                lost,
                late,
                "when kernel and relay took over from each other, {lost} frames were lost and {late} may have been \
                 overtaken"
            );
        }
        Ok(ended)
    }

    /// Periodic work, ten times a second: retries hellos, restores rules, reads kernel counters, logs changes.
    fn run_periodic(&mut self, now: Time) -> Result<(), RelayError> {
        self.follow_mtu(now);
        self.traffic_owner.follow_rules()?;
        if self.wanted && self.mtu.held_back().is_none() {
            self.datapath.endpoint_mut().on_traffic(now);
        }
        if self.probe_at <= now {
            self.probe_at = now + PROBE_INTERVAL;
            self.datapath.endpoint_mut().probe(now);
        }
        if self.datapath.heard_at() + SILENCE_LIMIT <= now {
            self.datapath.endpoint_mut().end_receiving(now);
        }
        self.count_kernel_drops();
        let facts = NoticeFacts {
            lan: &self.settings.lan,
            link: &self.settings.link,
            sending: self.datapath.endpoint().is_active(),
            receiving: self.datapath.is_receiving(),
            counts: &self.datapath.counts(),
            last_malformed: self.datapath.last_malformed(),
            ethertypes: (self.settings.codec.ethertype, self.datapath.peer_ethertype()),
            key_mismatch: self.datapath.key_mismatch(),
            kernel_dropped: self.kernel_dropped,
        };
        self.notices.report(&facts);
        Ok(())
    }

    fn count_kernel_drops(&mut self) {
        for (dropped, socket) in
            self.kernel_dropped.iter_mut().zip([self.datapath.lan(), self.datapath.link()])
        {
            *dropped += socket.kernel_counts().map_or(0, |counts| counts.dropped);
        }
    }

    fn run_once(&mut self, now: Time) -> Result<bool, RelayError> {
        if self.life_at <= now {
            self.life_at = now + LIFE_INTERVAL;
            self.signs_of_life.give();
        }
        let result = self.datapath.run_once(now);
        let more =
            result.map_err(|source| RelayError::Io { what: "receive or send frames".into(), source })?;
        let sockets = [self.datapath.lan(), self.datapath.link()];
        let unsettled =
            self.traffic_owner.update(self.datapath.endpoint(), self.datapath.is_drained(), sockets)?;
        let closed = self.traffic_owner.is_link_returned() && self.datapath.endpoint_mut().confirm_closed();
        Ok(more || unsettled || closed)
    }

    fn wait(&mut self, retry_at: Time) -> Result<(), RelayError> {
        let is_idle = !self.wanted && self.datapath.endpoint().is_plain();
        let latest = self.clock.now() + SLEEP_MAX;
        self.wait_until(if is_idle { latest } else { latest.min(retry_at) })
    }

    fn wait_until(&mut self, latest: Time) -> Result<(), RelayError> {
        let now = self.clock.now();
        let due = self.datapath.next_due(now).map_or(latest, |due| due.min(latest));
        let ports: [&dyn std::os::fd::AsFd; 2] = [self.datapath.lan(), self.datapath.link()];
        let ready = wait_for_frames(self.settings.poll, &self.clock, ports, self.inbox.waker(), Some(due))
            .map_err(|source| RelayError::Io { what: "wait for frames".into(), source })?;
        for (ready, socket) in ready.into_iter().zip([self.datapath.lan(), self.datapath.link()]) {
            if ready.error {
                // The interface went down. The socket receives again when it comes up.
                let _ = socket.take_error();
            }
        }
        Ok(())
    }

    /// Closes protection with the peer and gives both directions back to the kernel.
    fn shutdown(&mut self) -> Result<(), RelayError> {
        let start = self.clock.now();
        let mut until = start + SHUTDOWN_LIMIT;
        let (mut leave_at, mut is_over) = (start, false);
        self.set_wanted(false);
        loop {
            let now = self.clock.now();
            if leave_at <= now {
                leave_at = now + LEAVE_INTERVAL;
                self.datapath.endpoint_mut().leave();
            }
            let more = self.run_once(now)?;
            let end = self.datapath.endpoint();
            let settled = end.is_plain() && !end.is_receiving() && self.traffic_owner.is_all_returned();
            if !is_over && settled && self.datapath.is_empty() && !more {
                is_over = true;
                until = until.min(now + LINGER);
            }
            if now >= until {
                break;
            }
            if !more {
                self.wait_until(leave_at)?;
            }
        }
        Ok(self.traffic_owner.give_all_to_kernel()?)
    }

    /// Follows changes of the MTU of either port.
    fn follow_mtu(&mut self, now: Time) {
        if !self.mtu.update(&self.settings) {
            return;
        }
        let end = self.datapath.endpoint_mut();
        match self.mtu.held_back() {
            Some(why) => {
                warn!(link = self.settings.link, "{why}");
                end.deactivate(now);
            }
            None if self.wanted => end.activate(now, new_epoch()),
            None => {}
        }
    }

    fn set_wanted(&mut self, wanted: bool) {
        let now = self.clock.now();
        self.wanted = wanted;
        if wanted {
            self.datapath.endpoint_mut().activate(now, new_epoch());
        } else {
            self.datapath.endpoint_mut().deactivate(now);
        }
    }

    fn answer_all(&mut self) {
        while let Some(pending) = self.inbox.take() {
            self.answer(pending);
        }
    }

    fn answer(&mut self, pending: PendingRequest<Request>) {
        if let Err(why) = self.apply(&pending.request) {
            return pending.answer(&Response::<()>::Refused(why));
        }
        let status = self.status();
        pending.answer(&Response::Done(status));
    }

    fn apply(&mut self, request: &Request) -> Result<(), String> {
        let mut runtime_settings =
            RuntimeSettings { active: self.wanted, ..RuntimeSettings::from_settings(&self.settings) };
        match request {
            Request::Status => return Ok(()),
            Request::Activate => {
                if let Some(why) = self.mtu.held_back() {
                    return Err(why.to_owned());
                }
                runtime_settings.active = true;
            }
            Request::Deactivate => runtime_settings.active = false,
            Request::Set { mode, classes, copies, target } => {
                runtime_settings.mode = mode.unwrap_or(runtime_settings.mode);
                runtime_settings.classes = classes.clone().unwrap_or(runtime_settings.classes);
                runtime_settings.copies =
                    copies.map_or(runtime_settings.copies, |copies| (copies > 0).then_some(copies));
                runtime_settings.target_ppt = match *target {
                    Some(target) if target > 0.0 && target < 1.0 => (target * 1e12).ceil() as u64,
                    Some(target) => {
                        return Err(format!("the target loss must be between 0 and 1, not {target}"));
                    }
                    None => runtime_settings.target_ppt,
                };
            }
        }
        let mut settings = self.settings.clone();
        runtime_settings.apply(&mut settings).map_err(|error| error.to_string())?;
        self.datapath
            .endpoint_mut()
            .set_target(settings.target, settings.copies)
            .map_err(|error| error.to_string())?;
        self.datapath.set_classes(settings.classes.clone());
        self.settings = settings;
        if runtime_settings.active != self.wanted {
            self.set_wanted(runtime_settings.active);
        }
        info!(link = self.settings.link, "request: {request}");
        runtime_settings
            .store(&self.settings)
            .map_err(|error| format!("applied, but a restarted process will not use it: {error}"))
    }

    fn status(&mut self) -> Status {
        self.count_kernel_drops();
        let names = [&self.settings.lan, &self.settings.link];
        let by_kernel = names.map(|name| tc::counts(name).unwrap_or_default());
        let last_malformed = self.datapath.last_malformed();
        let end = self.datapath.endpoint();
        Status {
            version: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            lan: self.settings.lan.clone(),
            link: self.settings.link.clone(),
            port: self.datapath.link().name().into(),
            uptime_s: self.clock.now().as_ns() as f64 / 1e9,
            wanted: self.wanted,
            sending: end.is_active(),
            receiving: self.datapath.is_receiving(),
            protection_level: status::level_name(end).into(),
            mode: self.settings.classes.other(),
            classes: self
                .datapath
                .classes()
                .map(|(class, protection, counts)| Class { class, protection, counts })
                .collect(),
            rate_bits_per_s: self.rate.bits_per_s(),
            rtt_ns: end.rtt().map(Span::as_ns),
            loss: end.loss().map(|loss| loss.as_parts_per_trillion() as f64 / 1e12),
            copies: end.copies(),
            counts: self.datapath.counts(),
            link_counts: status::link_counts(end),
            tx_buffer_bytes: end.counters().tx_bytes,
            rx_buffer_bytes: end.counters().rx_bytes,
            pool_used: self.datapath.pool_used() as u64,
            memory_max: memory_max(&self.datapath) as u64,
            kernel_dropped: self.kernel_dropped,
            kernel_forwarded: by_kernel.map(|counts| counts.redirected),
            kernel_redirect_failed: by_kernel.map(|counts| counts.redirect_failed),
            handover_lost: self.traffic_owner.counts().lost,
            handover_late: self.traffic_owner.counts().late,
            held_back: self.mtu.held_back().map(str::to_owned),
            peer_ethertype: self.datapath.peer_ethertype(),
            peer_address: self.datapath.peer_address().map(|address| address.to_string()),
            keyed: self.settings.key.is_some(),
            key_mismatch: self.datapath.key_mismatch(),
            carrier: names.map(|name| Interface::by_name(name).is_ok_and(|port| port.up && port.carrier)),
            peer_version: match last_malformed {
                Some(Malformed::LinkVersion(version)) => Some(version),
                _ => None,
            },
            malformed_because: last_malformed.map(|why| why.to_string()),
            recovery: Recovery::from_delays(end.delays()),
        }
    }
}

/// Memory for frames in bytes, in the pool and in the rings of both ports.
fn memory_max(datapath: &DataPath<LinuxPort>) -> usize {
    datapath.memory_max() + datapath.lan().ring_bytes() + datapath.link().ring_bytes()
}

fn trust(settings: &Settings) -> Result<Trust, RelayError> {
    let Some(key) = settings.key.clone() else { return Ok(Trust::PeerAddress) };
    let mut start = [0; 8];
    SystemRandom::new()
        .fill(&mut start)
        .map_err(|_| RelayError::io("draw a random number")(io::ErrorKind::Other.into()))?;
    Ok(Trust::Key { key, start: u64::from_ne_bytes(start) })
}

/// Returns an epoch that no earlier start has used: the wall clock in milliseconds.
#[expect(clippy::disallowed_methods, reason = "the epoch must differ from those of earlier processes")]
fn new_epoch() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_millis() as u32)
}
