//! Cost of a relay: frames per second of CPU time, compared with a bare forwarder on the same type of port
//! and the kernel's redirect; and recovery times, compared with a round trip over the same wire.
//!
//! The benchmark runs in its own network namespace. The generator keeps at most a window of frames in flight.
//! CPU times are those of the forwarding thread, in user and kernel mode.

mod device;
mod recovery;
mod traffic;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

use wiremend_dataplane::net::offload::Offload;
use wiremend_dataplane::net::{self, Interface, NetNs, SavedConfig, VethEnd, tc};
use wiremend_dataplane::sys::sched::thread_time;
use wiremend_dataplane::sys::xdp::XdpMode;

use device::{forwarder, relay};
use recovery::Delays;
use traffic::{carry, generate};

type BoxError = Box<dyn Error + Send + Sync>;

#[expect(clippy::disallowed_methods, reason = "a program of its own")]
fn main() -> Result<(), BoxError> {
    // Cargo adds `--bench`.
    let arguments: Vec<_> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let kind = match arguments.first().map(String::as_str) {
        None | Some("packet") => Kind::Packet,
        Some("native") => Kind::Xdp(XdpMode::Native),
        Some("generic") => Kind::Xdp(XdpMode::Generic),
        Some(other) => {
            return Err(format!("unknown port type `{other}`: use packet, native or generic").into());
        }
    };
    let only_recovery = match arguments.get(1).map(String::as_str) {
        None => false,
        Some("recovery") => true,
        Some(other) => return Err(format!("unknown part `{other}`: use recovery, or nothing for all").into()),
    };
    NetNs::new()?.run(move || {
        build()?;
        if !only_recovery {
            measure_speed(kind, 400_000)?;
        }
        recovery::measure(kind)
    })?
}

#[derive(Clone, Copy)]
enum Kind {
    Packet,
    Xdp(XdpMode),
}

fn build() -> Result<(), BoxError> {
    for (a, b) in [("gen", "lan-a"), ("link-a", "link-b"), ("lan-b", "sink")] {
        net::new_veth(VethEnd::here(a), VethEnd::here(b))?;
        for name in [a, b] {
            net::set_mtu(name, if name.starts_with("link") { 1600 } else { 1500 })?;
            SavedConfig::read(name, &Offload::FOR_PACKET_SOCKET)?.take_over()?;
            net::disable_link_local(name)?;
            net::set_up(name, true)?;
        }
        for name in [a, b] {
            Interface::await_running(name, Duration::from_secs(2))?;
            tc::IngressRule::Drop { on: name.into() }.apply()?;
        }
    }
    Ok(())
}

fn measure_speed(kind: Kind, frames: u64) -> Result<(), BoxError> {
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
    Ok(())
}

const SIDES: [&str; 2] = ["sending", "receiving"];

struct Run {
    rates: [f64; 2],
    delays: Delays,
}

fn each(sizes: [usize; 2], run: impl Fn(usize) -> Result<Run, BoxError>) -> Result<[Run; 2], BoxError> {
    Ok([run(sizes[0])?, run(sizes[1])?])
}

fn show(name: &str, side: usize, runs: &[Run; 2], bare: &[Run; 2]) {
    let [small, large] = [0, 1].map(|size| {
        let (rate, bare) = (runs[size].rates[side], bare[size].rates[side]);
        format!("{:.2} M {:>3.0} %", rate / 1e6, rate / bare * 100.0)
    });
    let delays = if side == 1 { runs[1].delays.to_string() } else { String::new() };
    println!("{name:<34} {small:>14} {large:>14} {delays:>20}");
}

/// CPU time of a redirect: time to send redirected frames minus time to send dropped frames.
fn redirect(frames: u64, bytes: usize) -> Result<Run, BoxError> {
    let dropped = blast(frames, bytes)?;
    let from = "lan-a".to_owned();
    tc::IngressRule::Redirect { from: from.clone(), to: "lan-b".into(), except_ethertype: 0x88b5 }.apply()?;
    let redirected = blast(frames, bytes)?;
    tc::IngressRule::Drop { on: from }.apply()?;
    let rate = frames as f64 / (redirected - dropped).max(1e-9);
    Ok(Run { rates: [rate; 2], delays: Delays::default() })
}

fn blast(frames: u64, bytes: usize) -> Result<f64, BoxError> {
    let ahead = Arc::new(AtomicU64::new(u64::MAX / 2));
    thread::spawn(move || {
        let begin = thread_time();
        generate(None, frames, bytes, &ahead)?;
        Ok(thread_time().saturating_sub(begin).as_secs_f64())
    })
    .join()
    .map_err(|_| "the generator panicked")?
}
