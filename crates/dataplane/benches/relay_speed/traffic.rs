//! Ports and traffic between the two LANs.

use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};

use wiremend_dataplane::event_loop::{Clock, WaitMode, wait_for_frames};
use wiremend_dataplane::net::Interface;
use wiremend_dataplane::port::LinuxPort;
use wiremend_dataplane::sys::packet::{CaptureFilter, PacketSocket, SEND_MAX};
use wiremend_dataplane::sys::sched::{request_short_slices, thread_time};
use wiremend_dataplane::sys::wait::{Waker, set_precise_timers};
use wiremend_dataplane::sys::xdp::XdpSocket;
use wiremend_units::Span;
use wiremend_wire::link::LinkCodec;

use crate::device::Device;
use crate::recovery::Delays;
use crate::{BoxError, Kind, Run};

pub(crate) fn socket(name: &str) -> Result<PacketSocket, BoxError> {
    let index = Interface::by_name(name)?.index;
    let socket = PacketSocket::open(index, 4096, 1632)?;
    socket.set_filter(CaptureFilter::All)?;
    socket.bind(index)?;
    Ok(socket)
}

pub(crate) fn port(kind: Kind, name: &str) -> Result<LinuxPort, BoxError> {
    let Kind::Xdp(mode) = kind else { return Ok(LinuxPort::Packet(socket(name)?)) };
    let opened = XdpSocket::open(Interface::by_name(name)?.index, 1, LinkCodec::default().ethertype, mode)?;
    opened.set_filter(CaptureFilter::All)?;
    Ok(LinuxPort::Xdp(Box::new(opened)))
}

/// Sends frames from one LAN to the other through two devices, at `per_second` or as fast as possible, and
/// measures the CPU time of both.
pub(crate) fn carry<C: Device>(
    kind: Kind,
    per_second: Option<u64>,
    frames: u64,
    bytes: usize,
    make: impl Fn(usize, LinuxPort, LinuxPort) -> Result<C, BoxError> + Sync,
) -> Result<Run, BoxError> {
    let (carried, ready, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let drive = |side: usize, lan: &str, link: &str| -> Result<(f64, Delays), BoxError> {
        set_precise_timers();
        request_short_slices();
        let mut device = make(side, port(kind, lan)?, port(kind, link)?)?;
        let (clock, waker) = (Clock::start(), Waker::new()?);
        let (mut counted, mut began) = (0, None);
        while !stop.load(Ordering::Relaxed) {
            let more = device.run_once(clock.now())?;
            if began.is_none() && device.is_ready() {
                began = Some(thread_time());
                ready.fetch_add(1, Ordering::Release);
            }
            if side == 1 {
                carried.fetch_add(device.carried() - counted, Ordering::Relaxed);
                counted = device.carried();
            }
            if !more {
                let due = clock.now() + Span::from_ms(50);
                let due = device.next_due(clock.now()).map_or(due, |next| next.min(due));
                wait_for_frames(WaitMode::Sleep, &clock, device.ports(), &waker, Some(due))?;
            }
        }
        let taken = thread_time().saturating_sub(began.ok_or("protection did not start")?);
        Ok((frames as f64 / taken.as_secs_f64(), device.delays()))
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
        let [sending, receiving] = workers.map(|worker| worker.join().map_err(|_| "a device panicked"));
        let ((sending, _), (receiving, delays)) = (sending??, receiving??);
        generated?;
        Ok(Run { rates: [sending, receiving], delays })
    })
}

/// Sends frames with at most a window in flight, as counted by `carried`, and waits for the last one.
pub(crate) fn generate(
    per_second: Option<u64>,
    frames: u64,
    bytes: usize,
    carried: &AtomicU64,
) -> Result<(), BoxError> {
    const WINDOW: u64 = 512;
    /// Time without progress after which the run fails.
    const STALL_LIMIT: Span = Span::from_ms(10_000);
    let port = socket("gen")?;
    port.set_filter(CaptureFilter::Nothing)?;
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
        } else if clock.now() > moved + STALL_LIMIT {
            return Err(format!("only {done} of {sent} frames were carried").into());
        } else if per_second.is_some() {
            wait_for_frames(
                WaitMode::Sleep,
                &clock,
                [&port, &port],
                &waker,
                Some(clock.now() + Span::from_us(100)),
            )?;
        } else {
            thread::yield_now();
        }
    }
}
