//! What a relay costs: frames per second of processor time, beside a bare forwarder on the same kind of port and the kernel's own
//! redirect; and how long recovery takes, beside a round trip over the same wire.
//!
//! Everything stands in a network namespace of its own. Frames are sent as fast as they are taken, at most a window ahead; times
//! are those of the thread that carries, with what the kernel does on its behalf.

use std::error::Error;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use wiremend_dataplane::cable::Ailment;
use wiremend_dataplane::drive::{Clock, Poll, idle};
use wiremend_dataplane::net::offload::Offload;
use wiremend_dataplane::net::{self, End, Interface, NetNs, Saved, tc};
use wiremend_dataplane::port::{Impaired, LinuxPort, Port};
use wiremend_dataplane::relay::{Bump, BumpConfig};
use wiremend_dataplane::sys::packet::{Arrival, PacketSocket, Pieces, SEND_MAX, Tap};
use wiremend_dataplane::sys::sched::thread_time;
use wiremend_dataplane::sys::wait::{Waker, precise_timers};
use wiremend_dataplane::sys::xdp::{XdpMode, XdpSocket};
use wiremend_proto::link::Config;
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::MacAddr;
use wiremend_wire::link::Dialect;

type Trouble = Box<dyn Error + Send + Sync>;

#[expect(clippy::disallowed_methods, reason = "a program of its own")]
fn main() -> Result<(), Trouble> {
    let kind = match std::env::args().nth(1).as_deref() {
        None | Some("packet") => Kind::Packet,
        Some("native") => Kind::Xdp(XdpMode::Native),
        Some("generic") => Kind::Xdp(XdpMode::Generic),
        Some(other) => return Err(format!("`{other}` is no kind of port: packet, native or generic").into()),
    };
    NetNs::new()?.run(move || measure_all(kind, 400_000))?
}

/// How frames come in and go out.
#[derive(Clone, Copy)]
enum Kind {
    Packet,
    Xdp(XdpMode),
}

fn measure_all(kind: Kind, frames: u64) -> Result<(), Trouble> {
    for (a, b) in [("gen", "lan-a"), ("link-a", "link-b"), ("lan-b", "sink")] {
        net::new_veth(End::here(a), End::here(b))?;
        for name in [a, b] {
            net::set_mtu(name, if name.starts_with("link") { 1600 } else { 1500 })?;
            Saved::of(name, &Offload::ALL)?.take_over()?;
            net::silence(name)?;
            net::set_up(name, true)?;
        }
        for name in [a, b] {
            Interface::await_running(name, Duration::from_secs(2))?;
            tc::Rule::Drop { on: name.into() }.apply()?;
        }
    }
    println!(
        "{:<34} {:>14} {:>14} {:>20}",
        "frames per second of CPU", "60 B", "1514 B", "recovery p50 / p99"
    );
    let sizes = [60, 1514];
    let bare = each(sizes, |bytes| carry(kind, None, frames, bytes, forwarder))?;
    for (side, name) in SIDES.iter().enumerate() {
        show(&format!("bare forwarder, {name}"), side, &bare, &bare);
    }
    let kernel = each(sizes, |bytes| redirect(frames, bytes))?;
    show("redirect in the kernel", 0, &kernel, &bare);
    for loss in [0.0, 1e-4, 1e-3, 1e-2] {
        let runs = each(sizes, |bytes| {
            carry(kind, None, frames, bytes, |side, lan, link| relay(side, loss, lan, link))
        })?;
        for (side, name) in SIDES.iter().enumerate() {
            show(&format!("relay, {name}, loss {loss}"), side, &runs, &bare);
        }
    }
    recover(kind, frames / 10)
}

/// How long it takes from a gap that is seen to the frame that fills it, beside a round trip between two processes that do nothing else.
fn recover(kind: Kind, frames: u64) -> Result<(), Trouble> {
    const LOSS: f64 = 2e-2;
    let trips = echo(2000)?;
    let run = carry(kind, Some(PER_SECOND), frames, 1514, |side, lan, link| relay(side, LOSS, lan, link))?;
    let [trip_p50, trip_p99] =
        [500, 990].map(|per_mille| trips[trips.len() * per_mille / 1000].as_secs_f64() * 1e6);
    println!("\n{PER_SECOND} frames a second, loss {LOSS}: recovery p50 / p99 {}", run.delays);
    println!("a round trip over the same wire: p50 / p99 {trip_p50:.0} / {trip_p99:.0} µs");
    Ok(())
}

/// Frames a second where nothing is to be waited for but the link.
const PER_SECOND: u64 = 5000;

/// Round trips over the link between two processes that sleep, ascending.
fn echo(count: usize) -> Result<Vec<Duration>, Trouble> {
    let (mut near, mut far) = (socket("link-b")?, socket("link-a")?);
    let stop = AtomicBool::new(false);
    let frame = [0; 60];
    let trip = |port: &mut PacketSocket, clock: &Clock, waker: &Waker| -> Result<bool, Trouble> {
        if port.take().is_some() {
            port.release();
            return Ok(true);
        }
        idle(Poll::Sleep, clock, [port, port], waker, Some(clock.now() + Span::from_ms(5)))?;
        Ok(false)
    };
    thread::scope(|scope| {
        let mirror = scope.spawn(|| -> Result<(), Trouble> {
            precise_timers();
            let (clock, waker) = (Clock::start(), Waker::new()?);
            while !stop.load(Ordering::Relaxed) {
                if trip(&mut far, &clock, &waker)? {
                    far.send(&[[IoSlice::new(&frame), IoSlice::new(&[]), IoSlice::new(&[])]])?;
                }
            }
            Ok(())
        });
        precise_timers();
        let (clock, waker) = (Clock::start(), Waker::new()?);
        let mut trips = Vec::with_capacity(count);
        while trips.len() < count {
            let begun = clock.now();
            near.send(&[[IoSlice::new(&frame), IoSlice::new(&[]), IoSlice::new(&[])]])?;
            while !trip(&mut near, &clock, &waker)? {}
            trips.push(Duration::from_nanos(clock.now().since(begun).as_ns()));
            idle(Poll::Sleep, &clock, [&near, &near], &waker, Some(clock.now() + Span::from_us(200)))?;
        }
        stop.store(true, Ordering::Relaxed);
        mirror.join().map_err(|_| "the echo ended badly")??;
        trips.sort_unstable();
        Ok(trips)
    })
}

const SIDES: [&str; 2] = ["sending", "receiving"];

/// What one run came to: frames per second of CPU on both sides, and how long recovery took.
struct Run {
    rates: [f64; 2],
    delays: String,
}

fn each(sizes: [usize; 2], run: impl Fn(usize) -> Result<Run, Trouble>) -> Result<[Run; 2], Trouble> {
    Ok([run(sizes[0])?, run(sizes[1])?])
}

fn show(name: &str, side: usize, runs: &[Run; 2], bare: &[Run; 2]) {
    let [small, large] = [0, 1].map(|size| {
        let (rate, bare) = (runs[size].rates[side], bare[size].rates[side]);
        format!("{:.2} M {:>3.0} %", rate / 1e6, rate / bare * 100.0)
    });
    let delays = if side == 1 { &*runs[1].delays } else { "" };
    println!("{name:<34} {small:>14} {large:>14} {delays:>20}");
}

/// A packet socket that sees everything on an interface.
fn socket(name: &str) -> Result<PacketSocket, Trouble> {
    let index = Interface::by_name(name)?.index;
    let socket = PacketSocket::open(index, 4096, 1632)?;
    socket.tap(Tap::All)?;
    socket.bind(index)?;
    Ok(socket)
}

/// A port of this kind that sees everything on an interface.
fn port(kind: Kind, name: &str) -> Result<LinuxPort, Trouble> {
    let Kind::Xdp(mode) = kind else { return Ok(LinuxPort::Packet(socket(name)?)) };
    let opened = XdpSocket::open(Interface::by_name(name)?.index, 1, Dialect::default().ethertype, mode)?;
    opened.tap(Tap::All)?;
    Ok(LinuxPort::Xdp(Box::new(opened)))
}

/// What stands at one end of the link.
trait Carrier {
    /// As [`Bump::turn`].
    fn turn(&mut self, now: Time) -> io::Result<bool>;
    fn next_due(&self, now: Time) -> Option<Time>;
    fn is_ready(&self) -> bool;
    /// Frames that went to the LAN.
    fn carried(&self) -> u64;
    fn ports(&self) -> [&dyn AsFd; 2];
    fn delays(&self) -> String;
}

/// Takes frames from each port and sends them by the other, from the ring in which they came.
struct Forwarder {
    ports: [LinuxPort; 2],
    carried: u64,
}

#[expect(clippy::unnecessary_wraps, reason = "it is one of a kind")]
fn forwarder(_side: usize, lan: LinuxPort, link: LinuxPort) -> Result<Forwarder, Trouble> {
    Ok(Forwarder { ports: [lan, link], carried: 0 })
}

impl Carrier for Forwarder {
    fn turn(&mut self, _now: Time) -> io::Result<bool> {
        let mut most = 0;
        for from in 0..2 {
            let [lan, link] = &mut self.ports;
            let (from_port, to_port) = if from == 0 { (lan, link) } else { (link, lan) };
            let mut arrivals: [Option<Arrival>; SEND_MAX] = [None; SEND_MAX];
            let mut count = 0;
            while count < SEND_MAX
                && let Some(arrival) = from_port.take()
            {
                arrivals[count] = Some(arrival);
                count += 1;
            }
            let mut batch: [Pieces<'_>; SEND_MAX] = [[IoSlice::new(&[]); 3]; SEND_MAX];
            for (pieces, arrival) in batch.iter_mut().zip(arrivals.iter().flatten()) {
                pieces[0] = IoSlice::new(from_port.bytes(arrival));
            }
            let mut sent = 0;
            while sent < count {
                sent += to_port.send(&batch[sent..count])?;
            }
            from_port.release();
            self.carried += if from == 1 { count as u64 } else { 0 };
            most = most.max(count);
        }
        Ok(most == SEND_MAX)
    }

    fn next_due(&self, _now: Time) -> Option<Time> {
        None
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn carried(&self) -> u64 {
        self.carried
    }

    fn ports(&self) -> [&dyn AsFd; 2] {
        [&self.ports[0], &self.ports[1]]
    }

    fn delays(&self) -> String {
        String::new()
    }
}

type Relay = Bump<Impaired<LinuxPort>>;

fn relay(side: usize, loss: f64, lan: LinuxPort, link: LinuxPort) -> Result<Relay, Trouble> {
    let ailment = Ailment { loss, ..Ailment::default() };
    let link = Impaired::new(link, ailment.impairments(side as u64)?);
    let mut bump = Bump::new(Impaired::new(lan, Ailment::default().impairments(0)?), link, config(side));
    bump.end_mut().activate(Time::ZERO, 1 + side as u32);
    Ok(bump)
}

impl Carrier for Relay {
    fn turn(&mut self, now: Time) -> io::Result<bool> {
        // The other end may have been slower to start than hellos are repeated.
        self.end_mut().on_traffic(now);
        Self::turn(self, now)
    }

    fn next_due(&self, now: Time) -> Option<Time> {
        Self::next_due(self, now)
    }

    fn is_ready(&self) -> bool {
        self.end().is_active() && self.end().is_receiving()
    }

    fn carried(&self) -> u64 {
        self.counts().lan_out
    }

    fn ports(&self) -> [&dyn AsFd; 2] {
        [self.lan().port(), self.link().port()]
    }

    fn delays(&self) -> String {
        let delays = self.end().delays();
        let us = |per_mille| delays.per_mille(per_mille).map_or(0.0, |delay| delay.as_ns() as f64 / 1e3);
        if delays.count() == 0 { String::new() } else { format!("{:.0} / {:.0} µs", us(500), us(990)) }
    }
}

/// Sends frames from one LAN to the other over two of a kind, at so many a second or as fast as they are taken, and measures what both
/// have computed.
fn carry<C: Carrier>(
    kind: Kind,
    per_second: Option<u64>,
    frames: u64,
    bytes: usize,
    make: impl Fn(usize, LinuxPort, LinuxPort) -> Result<C, Trouble> + Sync,
) -> Result<Run, Trouble> {
    let (carried, ready, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let drive = |side: usize, lan: &str, link: &str| -> Result<(f64, String), Trouble> {
        precise_timers();
        let mut carrier = make(side, port(kind, lan)?, port(kind, link)?)?;
        let (clock, waker) = (Clock::start(), Waker::new()?);
        let (mut told, mut began) = (0, None);
        while !stop.load(Ordering::Relaxed) {
            let more = carrier.turn(clock.now())?;
            if began.is_none() && carrier.is_ready() {
                began = Some(thread_time());
                ready.fetch_add(1, Ordering::Release);
            }
            if side == 1 {
                carried.fetch_add(carrier.carried() - told, Ordering::Relaxed);
                told = carrier.carried();
            }
            if !more {
                let due = clock.now() + Span::from_ms(50);
                let due = carrier.next_due(clock.now()).map_or(due, |next| next.min(due));
                idle(Poll::Sleep, &clock, carrier.ports(), &waker, Some(due))?;
            }
        }
        let taken = thread_time().saturating_sub(began.ok_or("a link did not start")?);
        Ok((frames as f64 / taken.as_secs_f64(), carrier.delays()))
    };
    thread::scope(|scope| {
        let drive = &drive;
        let workers = [(0, "lan-a", "link-a"), (1, "lan-b", "link-b")]
            .map(|(side, lan, link)| scope.spawn(move || drive(side, lan, link)));
        while ready.load(Ordering::Acquire) < 2 && !workers.iter().any(ScopedJoinHandle::is_finished) {
            thread::yield_now();
        }
        let generated = generate(per_second, frames, bytes, &carried);
        stop.store(true, Ordering::Relaxed);
        let [sending, receiving] = workers.map(|worker| worker.join().map_err(|_| "a carrier ended badly"));
        let ((sending, _), (receiving, delays)) = (sending??, receiving??);
        generated?;
        Ok(Run { rates: [sending, receiving], delays })
    })
}

/// What a frame costs that the kernel redirects, less what one costs that it drops: both on the account of who sends it.
fn redirect(frames: u64, bytes: usize) -> Result<Run, Trouble> {
    let dropped = blast(frames, bytes)?;
    let from = "lan-a".to_owned();
    tc::Rule::Redirect { from: from.clone(), to: "lan-b".into(), except_ethertype: 0x88b5 }.apply()?;
    let redirected = blast(frames, bytes)?;
    tc::Rule::Drop { on: from }.apply()?;
    let rate = frames as f64 / (redirected - dropped).max(1e-9);
    Ok(Run { rates: [rate; 2], delays: String::new() })
}

fn blast(frames: u64, bytes: usize) -> Result<f64, Trouble> {
    let ahead = Arc::new(AtomicU64::new(u64::MAX / 2));
    thread::spawn(move || {
        let begin = thread_time();
        generate(None, frames, bytes, &ahead)?;
        Ok(thread_time().saturating_sub(begin).as_secs_f64())
    })
    .join()
    .map_err(|_| "the generator ended badly")?
}

fn config(side: usize) -> BumpConfig {
    let link = Config::for_link(Rate::gbps(10), Bytes::new(1522), Span::from_ms(20));
    let link =
        Config { rtt_min: Span::from_us(500), give_up: Some(Span::from_ms(20)), rtt_samples: 5, ..link };
    BumpConfig {
        link,
        dialect: Dialect::default(),
        source: MacAddr([2, 0, 0, 0, 1, side as u8]),
        ordered: true,
        queue_bytes_max: 4 << 20,
        slots: 32_768,
        handed_frames: 64,
    }
}

/// Sends frames, at most a window ahead of those that were carried, and waits for the last. Where nothing counts what was carried, it waits
/// for nothing.
fn generate(per_second: Option<u64>, frames: u64, bytes: usize, carried: &AtomicU64) -> Result<(), Trouble> {
    const WINDOW: u64 = 512;
    /// Nothing was carried for so long: something is wrong.
    const PATIENCE: Span = Span::from_ms(10_000);
    let port = socket("gen")?;
    port.tap(Tap::Nothing)?;
    let (clock, waker) = (Clock::start(), Waker::new()?);
    let mut frame = vec![0; bytes];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00]);
    let (mut sent, mut moved) = (0, clock.now());
    loop {
        let done = carried.load(Ordering::Relaxed);
        let due = per_second.map_or(frames, |rate| clock.now().as_ns() * rate / 1_000_000_000);
        let count = (WINDOW + done).min(due).min(frames).saturating_sub(sent).min(SEND_MAX as u64) as usize;
        if count > 0 {
            let batch = [[IoSlice::new(&frame), IoSlice::new(&[]), IoSlice::new(&[])]; SEND_MAX];
            sent += port.send(&batch[..count])? as u64;
            moved = clock.now();
        } else if done >= frames {
            return Ok(());
        } else if clock.now() > moved + PATIENCE {
            return Err(format!("only {done} of {sent} frames were carried").into());
        } else if per_second.is_some() {
            idle(Poll::Sleep, &clock, [&port, &port], &waker, Some(clock.now() + Span::from_us(100)))?;
        } else {
            thread::yield_now();
        }
    }
}
