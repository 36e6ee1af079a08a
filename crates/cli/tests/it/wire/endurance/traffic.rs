//! Numbered, paced frames in both directions, and their outcome.

use std::collections::BTreeSet;
use std::fmt;
use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wiremend_dataplane::net::Interface;
use wiremend_dataplane::sys::packet::{CaptureFilter, PacketSocket};

use crate::wire::eventually;
use crate::wire::line::Side;

/// Outcome of the frames to one side.
#[derive(Clone, Default)]
pub(super) struct Received {
    sent: u64,
    /// Numbers that arrived.
    numbers: Vec<u64>,
    /// Frames with wrong bytes or tags.
    pub(super) damaged: u64,
    /// Frames that the receiver's own socket dropped.
    dropped: u64,
}

impl Received {
    /// To whom what is received was sent: from A to B first.
    pub(super) const BY_SIDE: [Side; 2] = [Side::B, Side::A];

    pub(super) fn arrived(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// Frames that did not arrive at the receiver's socket.
    pub(super) fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.arrived() + self.dropped)
    }

    /// Duplicate frames.
    pub(super) fn repeated(&self) -> usize {
        let distinct: BTreeSet<_> = self.numbers.iter().collect();
        self.numbers.len() - distinct.len()
    }

    /// Frames that arrived after a later one, or twice.
    pub(super) fn disordered(&self) -> usize {
        self.numbers.windows(2).filter(|pair| pair[1] <= pair[0]).count()
    }

    /// Returns the outcome of the frames from this number on.
    pub(super) fn since(mut self, number: u64) -> Self {
        self.numbers.retain(|arrived| *arrived >= number);
        self.sent -= number;
        self
    }

    fn take(&mut self, frame: &[u8], tag: Option<[u8; 4]>) {
        let Some(number) = frame.get(14..22).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
        else {
            self.damaged += 1;
            return;
        };
        self.numbers.push(number);
        let mut meant = [0; LEN_MAX];
        let meant = write(number, &mut meant);
        let (body, has_tag) = (&frame[12..], tag.is_some() || frame[12..14] == [0x81, 0x00]);
        let intact = if is_tagged(number) { has_tag } else { !has_tag && body == &meant[12..] };
        self.damaged += u64::from(!intact);
    }
}

const LEN_MAX: usize = 1518;
const ETHERTYPE: [u8; 2] = [0x88, 0xB6];
/// Pace of each side. A process that had to wait does not catch up: no buffer holds frames for a second.
const GAP: Duration = Duration::from_micros(500);
const BURST_MAX: usize = 8;

/// Interval of frames with a VLAN tag.
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

/// Both hosts send to each other while this value exists.
pub(super) struct Traffic {
    hosts: [JoinHandle<()>; 2],
    shared: Arc<Shared>,
}

/// By direction: from A to B first.
#[derive(Default)]
struct Shared {
    sent: [AtomicU64; 2],
    received: [Mutex<Received>; 2],
    is_sending: AtomicBool,
    is_over: AtomicBool,
}

impl Traffic {
    pub(super) fn begin() -> Self {
        let shared = Arc::new(Shared { is_sending: AtomicBool::new(true), ..Shared::default() });
        // Each host has one socket for sending and receiving.
        let hosts = Side::BOTH.map(|side| {
            let (socket, shared) = (socket(side.host()), shared.clone());
            thread::spawn(move || host(socket, side as usize, &shared))
        });
        Self { hosts, shared }
    }

    /// Frames that have left, from A and from B.
    pub(super) fn sent(&self) -> [u64; 2] {
        self.shared.sent.each_ref().map(|sent| sent.load(Ordering::Relaxed))
    }

    /// Frames that have arrived at B and at A.
    pub(super) fn arrived(&self) -> [u64; 2] {
        self.shared.received.each_ref().map(|received| received.lock().unwrap().arrived())
    }

    /// Stops and receives until all missing frames are accounted for. Returns the outcome from A to B and from B to A.
    pub(super) fn end(self, is_explained: impl Fn(&[Received; 2]) -> bool) -> [Received; 2] {
        let Self { hosts, shared } = self;
        shared.is_sending.store(false, Ordering::Relaxed);
        let received = || {
            [0, 1].map(|way: usize| {
                let received = shared.received[way].lock().unwrap().clone();
                Received { sent: shared.sent[way].load(Ordering::Relaxed), ..received }
            })
        };
        eventually(|| is_explained(&received()));
        shared.is_over.store(true, Ordering::Relaxed);
        for host in hosts {
            host.join().unwrap();
        }
        received()
    }
}

fn socket(name: &str) -> PacketSocket {
    let index = Interface::by_name(name).unwrap().index;
    let socket = PacketSocket::open(index, 4096, 1600).unwrap();
    socket.set_filter(CaptureFilter::All).unwrap();
    socket.bind(index).unwrap();
    socket
}

fn host(mut socket: PacketSocket, side: usize, shared: &Shared) {
    let (sent, received) = (&shared.sent[side], &shared.received[1 - side]);
    let mut number = 0;
    let mut due = Instant::now();
    while !shared.is_over.load(Ordering::Relaxed) {
        for _ in 0..BURST_MAX {
            if Instant::now() < due || !shared.is_sending.load(Ordering::Relaxed) {
                break;
            }
            due += GAP;
            // An interface that is down accepts no frames.
            if send(&socket, number) {
                number += 1;
                sent.store(number, Ordering::Relaxed);
            }
        }
        due = due.max(Instant::now());
        let mut received = received.lock().unwrap();
        while let Some(arrival) = socket.take() {
            let frame = socket.bytes(&arrival);
            if frame.get(12..14) == Some(&ETHERTYPE) {
                received.take(frame, arrival.tag);
            }
            socket.release();
        }
        received.dropped += socket.kernel_counts().unwrap().dropped;
        drop(received);
        thread::sleep(GAP / 2);
    }
}

fn send(socket: &PacketSocket, number: u64) -> bool {
    let mut buffer = [0; LEN_MAX];
    let frame = write(number, &mut buffer);
    let tag = if is_tagged(number) { &[0x81, 0x00, 0x00, 0x07][..] } else { &[] };
    let pieces = [&frame[..12], tag, &frame[12..]].map(IoSlice::new);
    socket.send(&[pieces]).is_ok_and(|sent| sent == 1)
}

/// Omits the numbers, of which there are thousands.
impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, damaged, dropped, .. } = self;
        if let Some(at) = self.numbers.windows(2).position(|pair| pair[1] <= pair[0]) {
            let around = at.saturating_sub(3)..(at + 5).min(self.numbers.len());
            write!(f, "out of order among {:?}, at arrival {at}; ", &self.numbers[around])?;
        }
        let (arrived, disordered) = (self.arrived(), self.disordered());
        write!(
            f,
            "{arrived} of {sent} arrived, {dropped} dropped there, {disordered} out of order, {damaged} damaged"
        )
    }
}
