//! Frames with numbers in them, paced, both ways at once; and what became of them.

use std::io::IoSlice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use wiremend_dataplane::net::Interface;
use wiremend_dataplane::sys::packet::{PacketSocket, Tap};

use crate::line::Side;

/// What became of the frames that one side was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    pub(super) sent: u64,
    pub(super) arrived: u64,
    /// Frames that came after a later one, or twice.
    pub(super) disordered: u64,
    /// Frames whose bytes or tags are not those that were sent.
    pub(super) damaged: u64,
    /// The longest time without a frame.
    pub(super) silence: Duration,
    last: Option<u64>,
}

impl Received {
    pub(super) fn missing(&self) -> u64 {
        self.sent - self.arrived
    }

    fn take(&mut self, frame: &[u8], tag: Option<[u8; 4]>) {
        let Some(number) = frame.get(14..22).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
        else {
            self.damaged += 1;
            return;
        };
        self.arrived += 1;
        self.disordered += u64::from(self.last.is_some_and(|last| number <= last));
        self.last = Some(number);
        let mut meant = [0; LEN_MAX];
        let meant = write(number, &mut meant);
        let (body, has_tag) = (&frame[12..], tag.is_some() || frame[12..14] == [0x81, 0x00]);
        let intact = if is_tagged(number) { has_tag } else { !has_tag && body == &meant[12..] };
        self.damaged += u64::from(!intact);
    }
}

const LEN_MAX: usize = 1518;
const ETHERTYPE: [u8; 2] = [0x88, 0xB6];
const PER_SECOND: u64 = 4000;

/// Every so often a frame with a VLAN tag.
fn is_tagged(number: u64) -> bool {
    number % 17 == 5
}

/// Lengths from the shortest to the longest.
fn len(number: u64) -> usize {
    60 + (wiremend_units::mix(number) % 1455) as usize
}

fn write(number: u64, buffer: &mut [u8; LEN_MAX]) -> &[u8] {
    let frame = &mut buffer[..len(number)];
    frame.fill(number as u8);
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHERTYPE);
    frame[14..22].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Sends both ways until `during` ends, and waits for what is still under way. What arrived from A at B, and from B at A.
pub(super) fn both_ways(during: impl FnOnce()) -> [Received; 2] {
    let sockets = Side::BOTH.map(|side| socket(side.host()));
    let (stop, settled) = (AtomicBool::new(false), AtomicBool::new(false));
    let sent = [Mutex::new(0), Mutex::new(0)];
    let [socket_a, socket_b] = sockets;
    thread::scope(|scope| {
        let (stop, settled, sent) = (&stop, &settled, &sent);
        // Each host has one socket: it sends to the other and takes what arrives.
        let hosts = [(socket_a, 0), (socket_b, 1)]
            .map(|(socket, side)| scope.spawn(move || host(socket, stop, settled, &sent[side])));
        during();
        stop.store(true, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(500));
        settled.store(true, Ordering::Relaxed);
        let [at_a, at_b] = hosts.map(|host| host.join().unwrap());
        let sent = [0, 1].map(|side: usize| *sent[side].lock().unwrap());
        [Received { sent: sent[0], ..at_b }, Received { sent: sent[1], ..at_a }]
    })
}

fn socket(name: &str) -> PacketSocket {
    let index = Interface::by_name(name).unwrap().index;
    let socket = PacketSocket::open(index, 4096, 1600).unwrap();
    socket.tap(Tap::All).unwrap();
    socket.bind(index).unwrap();
    socket
}

fn host(mut socket: PacketSocket, stop: &AtomicBool, settled: &AtomicBool, sent: &Mutex<u64>) -> Received {
    let mut received = Received::default();
    let begun = Instant::now();
    let mut last = Instant::now();
    let mut number = 0;
    let mut buffer = [0; LEN_MAX];
    while !settled.load(Ordering::Relaxed) {
        while !stop.load(Ordering::Relaxed) && number < due(begun.elapsed()) {
            let frame = write(number, &mut buffer);
            let tag = if is_tagged(number) { &[0x81, 0x00, 0x00, 0x07][..] } else { &[] };
            let pieces = [&frame[..12], tag, &frame[12..]].map(IoSlice::new);
            if socket.send(&[pieces]).unwrap() == 1 {
                number += 1;
            }
        }
        let mut any = false;
        while let Some(arrival) = socket.take() {
            let frame = socket.bytes(&arrival);
            let ours = frame.get(12..14) == Some(&ETHERTYPE) || frame.get(16..18) == Some(&ETHERTYPE);
            if ours && frame.get(12..14) == Some(&ETHERTYPE) {
                received.take(frame, arrival.tag);
                any = true;
            }
            socket.release();
        }
        if any {
            if received.arrived > 1 && !stop.load(Ordering::Relaxed) {
                received.silence = received.silence.max(last.elapsed());
            }
            last = Instant::now();
        }
        thread::sleep(Duration::from_micros(200));
    }
    *sent.lock().unwrap() = number;
    received
}

/// How many frames have left by then.
fn due(elapsed: Duration) -> u64 {
    elapsed.as_micros() as u64 * PER_SECOND / 1_000_000
}
