//! Ports, and frames that cross from one LAN to the other.

use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};

use wiremend_dataplane::drive::{Clock, Poll, idle};
use wiremend_dataplane::net::Interface;
use wiremend_dataplane::port::LinuxPort;
use wiremend_dataplane::sys::packet::{PacketSocket, SEND_MAX, Tap};
use wiremend_dataplane::sys::sched::{short_turns, thread_time};
use wiremend_dataplane::sys::wait::{Waker, precise_timers};
use wiremend_dataplane::sys::xdp::XdpSocket;
use wiremend_units::Span;
use wiremend_wire::link::Dialect;

use crate::carrier::Carrier;
use crate::recovery::Delays;
use crate::{Kind, Run, Trouble};

/// A packet socket that sees everything on an interface.
pub(crate) fn socket(name: &str) -> Result<PacketSocket, Trouble> {
    let index = Interface::by_name(name)?.index;
    let socket = PacketSocket::open(index, 4096, 1632)?;
    socket.tap(Tap::All)?;
    socket.bind(index)?;
    Ok(socket)
}

/// A port of this kind that sees everything on an interface.
pub(crate) fn port(kind: Kind, name: &str) -> Result<LinuxPort, Trouble> {
    let Kind::Xdp(mode) = kind else { return Ok(LinuxPort::Packet(socket(name)?)) };
    let opened = XdpSocket::open(Interface::by_name(name)?.index, 1, Dialect::default().ethertype, mode)?;
    opened.tap(Tap::All)?;
    Ok(LinuxPort::Xdp(Box::new(opened)))
}

/// Sends frames from one LAN to the other over two of a kind, at so many a second or as fast as they are taken, and measures what both
/// have computed.
pub(crate) fn carry<C: Carrier>(
    kind: Kind,
    per_second: Option<u64>,
    frames: u64,
    bytes: usize,
    make: impl Fn(usize, LinuxPort, LinuxPort) -> Result<C, Trouble> + Sync,
) -> Result<Run, Trouble> {
    let (carried, ready, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let drive = |side: usize, lan: &str, link: &str| -> Result<(f64, Delays), Trouble> {
        precise_timers();
        short_turns();
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

/// Sends frames, at most a window ahead of those that were carried, and waits for the last. Where nothing counts what was carried, it waits
/// for nothing.
pub(crate) fn generate(
    per_second: Option<u64>,
    frames: u64,
    bytes: usize,
    carried: &AtomicU64,
) -> Result<(), Trouble> {
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
