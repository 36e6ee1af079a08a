//! Frames past the kernel's stack, on a virtual cable.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use wiremend_dataplane::net::{self, End, Interface, NetNs};
use wiremend_dataplane::sys::packet::{PacketSocket, Tap};
use wiremend_dataplane::sys::xdp::{XdpMode, XdpSocket};

const LINK: u16 = 0x88B5;
/// Longer than anything takes that does happen.
const PATIENCE: Duration = Duration::from_mins(5);
/// Longer than anything takes that should not happen.
const NOTHING: Duration = Duration::from_millis(300);

#[test]
fn frames_come_and_go_in_the_driver() {
    in_namespace(|| come_and_go(XdpMode::Native));
}

#[test]
fn frames_come_and_go_above_the_driver() {
    in_namespace(|| come_and_go(XdpMode::Generic));
}

fn come_and_go(mode: XdpMode) {
    let (mut near, mut far) = cable(mode);
    near.tap(Tap::Only(LINK)).unwrap();
    send(&far, 0x0800, 1);
    send(&far, LINK, 2);
    assert_eq!(arrived(&mut near, 1, PATIENCE), [2], "others are the kernel's");

    near.tap(Tap::All).unwrap();
    // More than all rings hold, and no more at once than the driver's queue does, which is the shortest.
    for _ in 0..50 {
        (0..100).for_each(|number| send(&far, 0x0800, number));
        assert_eq!(arrived(&mut near, 100, PATIENCE), (0..100).collect::<Vec<u8>>());
    }
    for round in 0..10_u8 {
        let frame = frame(0x0800, round);
        let pieces = [IoSlice::new(&frame[..12]), IoSlice::new(&[]), IoSlice::new(&frame[12..])];
        assert_eq!(near.send(&[pieces; 64]).unwrap(), 64);
        assert_eq!(heard(&mut far, 64, PATIENCE), [round; 64]);
    }
    near.tap(Tap::Nothing).unwrap();
    send(&far, LINK, 3);
    assert!(arrived(&mut near, 1, NOTHING).is_empty());
    assert_eq!(near.kernel_counts().unwrap().dropped, 0);
}

/// A socket past the stack at one end, a packet socket at the other.
fn cable(mode: XdpMode) -> (XdpSocket, PacketSocket) {
    net::new_veth(End::here("near"), End::here("far")).unwrap();
    for name in ["near", "far"] {
        net::silence(name).unwrap();
        net::set_up(name, true).unwrap();
    }
    let [near, far] = ["near", "far"].map(|name| {
        Interface::await_running(name, PATIENCE).unwrap();
        Interface::by_name(name).unwrap().index
    });
    let socket = PacketSocket::open(far, 4096, 1518).unwrap();
    socket.tap(Tap::All).unwrap();
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

/// The numbers of frames that arrive, at most `count`, while they are waited for.
fn arrived(port: &mut XdpSocket, count: usize, patience: Duration) -> Vec<u8> {
    collect(count, patience, || {
        let number = port.take().map(|arrival| port.bytes(&arrival)[199]);
        port.release();
        number
    })
}

fn heard(port: &mut PacketSocket, count: usize, patience: Duration) -> Vec<u8> {
    collect(count, patience, || {
        let number = port.take().map(|arrival| port.bytes(&arrival)[199]);
        port.release();
        number
    })
}

#[expect(clippy::disallowed_methods, reason = "frames take real time")]
fn collect(count: usize, patience: Duration, mut next: impl FnMut() -> Option<u8>) -> Vec<u8> {
    let mut numbers = Vec::new();
    let begun = Instant::now();
    while numbers.len() < count && begun.elapsed() < patience {
        match next() {
            Some(number) => numbers.push(number),
            None => std::thread::yield_now(),
        }
    }
    numbers
}

#[expect(clippy::disallowed_methods, reason = "whether this runs where everything must be there")]
fn in_namespace(test: impl FnOnce() + Send) {
    // Programs at interfaces are for root alone: a user namespace does not do.
    match NetNs::new() {
        Ok(namespace) => namespace.run(test).unwrap(),
        Err(why) if std::env::var_os("CI").is_none() => eprintln!("skipped: {why}"),
        Err(why) => panic!("{why}"),
    }
}
