//! The link between two relays, on real interfaces.

use std::fs;
use std::io::IoSlice;
use std::thread;
use std::time::{Duration, Instant};

use wiremend_dataplane::net::Interface;
use wiremend_dataplane::sys::packet::{PacketSocket, Tap};
use wiremend_wire::link::Dialect;

use super::{DELAY_MS, GAP_MS, GIVE_UP_MS, Outcome, Passage, RECEIVER, RTT_MIN_MS, SENDER, steps};
use crate::line::{Line, Side};

/// Sends the frames of all steps over a wire with these faults. What came of it, and what the wire wrote down.
pub(super) fn play(faults: &str) -> (Outcome, String) {
    let directory = tempfile::tempdir().unwrap();
    let (list, record) = (directory.path().join("list"), directory.path().join("record"));
    fs::write(&list, faults).unwrap();
    let line = Line::build(
        &format!("--active --copies 2 --rate 100Mbps --rtt-min {RTT_MIN_MS}ms --give-up {GIVE_UP_MS}ms"),
        &format!("--delay {DELAY_MS}ms --faults {} --record {}", list.display(), record.display()),
    );
    line.await_protection();
    let mut watch = Watch::begin();
    let mut next = [0; 2];
    for counts in steps() {
        let begun = Instant::now();
        for side in Side::BOTH {
            let count = counts[side as usize];
            watch.send(side, next[side as usize]..next[side as usize] + count);
            next[side as usize] += count;
        }
        while begun.elapsed() < Duration::from_millis(GAP_MS) {
            watch.look();
            thread::sleep(Duration::from_millis(1));
        }
    }
    let mut outcome = watch.outcome;
    let status = Side::BOTH.map(|side| line.status(side).unwrap().link_counts);
    for (way, ends) in outcome.ways.iter_mut().zip([[0, 1], [1, 0]]) {
        let [sender, receiver] = ends.map(|end: usize| &status[end]);
        way.counts.extend(SENDER.map(|name| (name, sender[name])));
        way.counts.extend(RECEIVER.map(|name| (name, receiver[name])));
    }
    let wire = line.wire_status().unwrap();
    assert_eq!(wire.kernel_dropped, [0, 0]);
    let recorded = fs::read_to_string(&record).unwrap();
    outcome.met = recorded.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    outcome.met.sort();
    let hit = wire.forth.crc_errors + wire.back.crc_errors;
    assert_eq!(outcome.met.len() as u64, hit, "all that is hit is written down");
    (outcome, recorded)
}

/// Sees what hosts receive, and what relays put on the wire before anything becomes of it.
struct Watch {
    hosts: [PacketSocket; 2],
    wires: [PacketSocket; 2],
    outcome: Outcome,
}

const ETHERTYPE: [u8; 2] = [0x88, 0xB6];

impl Watch {
    fn begin() -> Self {
        Self {
            hosts: Side::BOTH.map(|side| socket(side.host())),
            wires: ["wire-a", "wire-b"].map(socket),
            outcome: Outcome::default(),
        }
    }

    fn send(&mut self, side: Side, numbers: std::ops::Range<u64>) {
        let frames: Vec<_> = numbers.map(frame).collect();
        let pieces: Vec<_> = frames.iter().map(|frame| [&frame[..], &[], &[]].map(IoSlice::new)).collect();
        if !pieces.is_empty() {
            assert_eq!(self.hosts[side as usize].send(&pieces).unwrap(), frames.len());
        }
    }

    fn look(&mut self) {
        for (side, wire) in Side::BOTH.into_iter().zip(&mut self.wires) {
            while let Some(arrival) = wire.take() {
                let received = Dialect::default().parse(wire.bytes(&arrival)).expect("protection has begun");
                Passage::on_signal(&mut self.outcome.ways, side, &received.signal);
                wire.release();
            }
        }
        // What B receives is what came forth.
        for (way, host) in self.outcome.ways.iter_mut().rev().zip(&mut self.hosts) {
            while let Some(arrival) = host.take() {
                let bytes = host.bytes(&arrival);
                if bytes[12..14] == ETHERTYPE {
                    let number = u64::from_be_bytes(bytes[14..22].try_into().unwrap());
                    assert_eq!(bytes, frame(number), "a frame arrives as it was sent");
                    way.delivered.push(number);
                }
                host.release();
            }
        }
    }
}

fn frame(number: u64) -> [u8; 996] {
    let mut frame = [number as u8; 996];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHERTYPE);
    frame[14..22].copy_from_slice(&number.to_be_bytes());
    frame
}

fn socket(name: &str) -> PacketSocket {
    let index = Interface::by_name(name).unwrap().index;
    let socket = PacketSocket::open(index, 1024, 1600).unwrap();
    socket.tap(Tap::All).unwrap();
    socket.bind(index).unwrap();
    socket
}
