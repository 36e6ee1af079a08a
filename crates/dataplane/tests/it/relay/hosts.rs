//! Hosts that send numbered frames at a steady rate and record what arrives.

use std::collections::BTreeSet;
use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wiremend_dataplane::net::Interface;
use wiremend_dataplane::sys::packet::{CaptureFilter, PacketSocket};

use super::HOSTS;
use crate::net::namespace::TIME_LIMIT;

/// Two hosts that send to each other until they are asked to stop.
pub(crate) struct Hosts {
    stop: Arc<AtomicBool>,
    ends: [JoinHandle<(u32, Vec<u32>)>; 2],
}

const FRAME_BYTES: usize = 100;

impl Hosts {
    /// Starts both hosts, each with this pause between frames.
    pub(crate) fn start(pause: Duration) -> Self {
        let sockets = HOSTS.map(|name| {
            let interface = Interface::await_running(name, TIME_LIMIT).unwrap();
            let socket = PacketSocket::open(interface.index, 1 << 14, FRAME_BYTES as u32).unwrap();
            socket.set_filter(CaptureFilter::All).unwrap();
            socket.bind(interface.index).unwrap();
            socket
        });
        let stop = Arc::new(AtomicBool::new(false));
        let ends = sockets.map(|socket| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || run(socket, pause, &stop))
        });
        Self { stop, ends }
    }

    /// Stops both hosts. Asserts that each has received every frame of the other, once and in order, except
    /// `late` frames that others may have overtaken. Those are asked for when no frame is under way.
    pub(crate) fn assert_all_arrived(self, late: impl FnOnce() -> u64) {
        self.stop.store(true, Ordering::Relaxed);
        let [(sent0, got0), (sent1, got1)] = self.ends.map(|end| end.join().unwrap());
        let late = late();
        for (way, sent, got) in [("0 to 1", sent0, got1), ("1 to 0", sent1, got0)] {
            let arrivals = Arrivals::new(sent, &got);
            println!("{way}: {arrivals:?}");
            let Arrivals { missing, twice, disordered, .. } = arrivals;
            assert!(
                missing == 0 && twice == 0 && disordered as u64 <= late,
                "{way}, {late} late: {arrivals:?}"
            );
            assert!(sent > 100, "{way}: {arrivals:?}");
        }
    }
}

/// What became of the frames that a host has sent.
#[derive(PartialEq, Eq, Debug)]
struct Arrivals {
    sent: u32,
    missing: usize,
    twice: usize,
    /// Frames that arrived directly after a later one.
    disordered: usize,
}

impl Arrivals {
    /// `got`: the numbers in the order of arrival.
    fn new(sent: u32, got: &[u32]) -> Self {
        let unique: BTreeSet<u32> = got.iter().copied().collect();
        Self {
            sent,
            missing: (0..sent).filter(|number| !unique.contains(number)).count(),
            twice: got.len() - unique.len(),
            disordered: got.windows(2).filter(|pair| pair[1] < pair[0]).count(),
        }
    }
}

#[test]
fn lost_repeated_and_overtaken_frames_are_told_apart() {
    let arrivals = |got: &[u32]| {
        let Arrivals { missing, twice, disordered, .. } = Arrivals::new(5, got);
        [missing, twice, disordered]
    };
    assert_eq!(arrivals(&[0, 1, 2, 3, 4]), [0, 0, 0]);
    assert_eq!(arrivals(&[0, 2, 3, 1, 4]), [0, 0, 1], "overtaken, not lost");
    assert_eq!(arrivals(&[0, 2, 3, 4]), [1, 0, 0]);
    assert_eq!(arrivals(&[0, 1, 2, 2, 3, 4]), [0, 1, 0]);
    assert_eq!(arrivals(&[0, 1, 2, 4, 1]), [1, 1, 1]);
}

/// Sends until asked to stop, then waits for late frames. Returns the number sent and the numbers received.
fn run(mut socket: PacketSocket, pause: Duration, stop: &AtomicBool) -> (u32, Vec<u32>) {
    let (mut sent, mut received) = (0, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let frame = numbered(sent);
        let pieces = [IoSlice::new(&frame), IoSlice::new(&[]), IoSlice::new(&[])];
        sent += socket.send(&[pieces]).unwrap() as u32;
        thread::park_timeout(pause);
        receive(&mut socket, &mut received);
    }
    for _ in 0..200 {
        thread::park_timeout(Duration::from_millis(5));
        receive(&mut socket, &mut received);
    }
    assert_eq!(socket.kernel_counts().unwrap().dropped, 0, "the receiving host has lost frames itself");
    (sent, received)
}

fn receive(socket: &mut PacketSocket, received: &mut Vec<u32>) {
    while let Some(rx_frame) = socket.take() {
        let frame = socket.bytes(&rx_frame);
        if frame.len() == FRAME_BYTES && frame[..14] == numbered(0)[..14] {
            received.push(u32::from_be_bytes(*frame[14..].first_chunk().unwrap()));
        }
        socket.release();
    }
}

fn numbered(number: u32) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    frame.extend(number.to_be_bytes());
    frame.resize(FRAME_BYTES, 7);
    frame
}
