//! XDP sockets on a veth pair.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use wiremend_dataplane::net::{self, Interface, NetNs, VethEnd};
use wiremend_dataplane::sys::packet::{CaptureFilter, PacketSocket};
use wiremend_dataplane::sys::xdp::{XdpMode, XdpSocket};

const LINK: u16 = 0x88B5;
const TIME_LIMIT: Duration = Duration::from_mins(5);
/// Waiting time for events that must not happen.
const QUIET_TIME: Duration = Duration::from_millis(300);

#[test]
fn native_mode_receives_and_sends() {
    in_namespace(|| receive_and_send(XdpMode::Native));
}

#[test]
fn generic_mode_receives_and_sends() {
    in_namespace(|| receive_and_send(XdpMode::Generic));
}

fn receive_and_send(mode: XdpMode) {
    let (mut near, mut far) = veth_pair(mode);
    near.set_filter(CaptureFilter::Only(LINK)).unwrap();
    send(&far, 0x0800, 1);
    send(&far, LINK, 2);
    assert_eq!(arrived(&mut near, 1, TIME_LIMIT), [2], "others pass to the kernel");

    near.set_filter(CaptureFilter::All).unwrap();
    // In total more than all rings hold; at once no more than the driver's queue, the shortest, holds.
    for _ in 0..50 {
        (0..100).for_each(|number| send(&far, 0x0800, number));
        assert_eq!(arrived(&mut near, 100, TIME_LIMIT), (0..100).collect::<Vec<u8>>());
    }
    for round in 0..10_u8 {
        let frame = frame(0x0800, round);
        let pieces = [IoSlice::new(&frame[..12]), IoSlice::new(&[]), IoSlice::new(&frame[12..])];
        assert_eq!(near.send(&[pieces; 64]).unwrap(), 64);
        assert_eq!(received(&mut far, 64, TIME_LIMIT), [round; 64]);
    }
    near.set_filter(CaptureFilter::Nothing).unwrap();
    send(&far, LINK, 3);
    assert!(arrived(&mut near, 1, QUIET_TIME).is_empty());
    assert_eq!(near.kernel_counts().unwrap().dropped, 0);
}

fn veth_pair(mode: XdpMode) -> (XdpSocket, PacketSocket) {
    net::new_veth(VethEnd::here("near"), VethEnd::here("far")).unwrap();
    for name in ["near", "far"] {
        net::disable_link_local(name).unwrap();
        net::set_up(name, true).unwrap();
    }
    let [near, far] = ["near", "far"].map(|name| {
        Interface::await_running(name, TIME_LIMIT).unwrap();
        Interface::by_name(name).unwrap().index
    });
    let socket = PacketSocket::open(far, 4096, 1518).unwrap();
    socket.set_filter(CaptureFilter::All).unwrap();
    socket.bind(far).unwrap();
    (XdpSocket::open(near, 1, LINK, mode).unwrap(), socket)
}

fn frame(ethertype: u16, number: u8) -> Vec<u8> {
    let mut frame = vec![number; 200];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
    frame
}

fn send(from: &PacketSocket, ethertype: u16, number: u8) {
    let frame = frame(ethertype, number);
    let pieces = [IoSlice::new(&frame), IoSlice::new(&[]), IoSlice::new(&[])];
    assert_eq!(from.send(&[pieces]).unwrap(), 1);
}

/// Numbers of the next `count` received frames, or fewer if the time limit passes.
fn arrived(port: &mut XdpSocket, count: usize, limit: Duration) -> Vec<u8> {
    collect(count, limit, || {
        let number = port.take().map(|rx_frame| port.bytes(&rx_frame)[199]);
        port.release();
        number
    })
}

fn received(port: &mut PacketSocket, count: usize, limit: Duration) -> Vec<u8> {
    collect(count, limit, || {
        let number = port.take().map(|rx_frame| port.bytes(&rx_frame)[199]);
        port.release();
        number
    })
}

#[expect(clippy::disallowed_methods, reason = "frames take real time")]
fn collect(count: usize, limit: Duration, mut next: impl FnMut() -> Option<u8>) -> Vec<u8> {
    let mut numbers = Vec::new();
    let begun = Instant::now();
    while numbers.len() < count && begun.elapsed() < limit {
        match next() {
            Some(number) => numbers.push(number),
            None => std::thread::yield_now(),
        }
    }
    numbers
}

#[expect(clippy::disallowed_methods, reason = "whether this runs where everything must be there")]
fn in_namespace(test: impl FnOnce() + Send) {
    // XDP programs need root; a user namespace is not enough.
    match NetNs::new() {
        Ok(namespace) => namespace.run(test).unwrap(),
        Err(why) if std::env::var_os("CI").is_none() => eprintln!("skipped: {why}"),
        Err(why) => panic!("{why}"),
    }
}
