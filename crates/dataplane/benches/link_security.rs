//! CPU time of a protected frame without and with a key, and of each control frame that a relay refuses. In
//! memory, so that system calls do not hide the difference.

use std::error::Error;

use wiremend_dataplane::memory_port::MemoryPort;
use wiremend_dataplane::relay::{Classifier, Counts, DataPath, DataPathConfig, LinkKey, Trust};
use wiremend_dataplane::sys::sched::thread_time;
use wiremend_proto::link::{Config, Hello, HelloKind, LinkHeader};
use wiremend_units::{Bytes, Rate, Span, Time};
use wiremend_wire::link::LinkCodec;
use wiremend_wire::{MacAddr, Trailer};

const ROUNDS: usize = 7;
const BATCHES: u64 = 4000;
const BATCH: u64 = 32;
const FRAME_BYTES: usize = 200;

type Refusal = fn(&Counts) -> u64;

const REFUSALS: [Refusal; 3] =
    [|counts| counts.foreign_address, |counts| counts.no_seal, |counts| counts.wrong_seal];

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<44} {:>12}", "CPU time, median of rounds", "ns");
    for (name, secrets) in
        [("protected frame, both ends, no key", [None; 2]), ("the same with a key", [Some(7); 2])]
    {
        println!("{name:<44} {:>12.0}", median(|| carried(secrets))?);
    }
    let refusals = [
        ("refused hello: another address", None, None, REFUSALS[0]),
        ("refused hello: no seal", Some(7), None, REFUSALS[1]),
        ("refused hello: wrong seal", Some(7), Some(8), REFUSALS[2]),
    ];
    for (name, own, other, refused) in refusals {
        println!("{name:<44} {:>12.0}", median(|| hello(own, other, refused))?);
    }
    Ok(())
}

fn median(mut measure: impl FnMut() -> Result<f64, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut all = (0..ROUNDS).map(|_| measure()).collect::<Result<Vec<_>, _>>()?;
    all.sort_by(f64::total_cmp);
    Ok(all[ROUNDS / 2])
}

struct End {
    datapath: DataPath<MemoryPort>,
    lan: MemoryPort,
    link: MemoryPort,
}

impl End {
    fn new(number: u8, secret: Option<u8>) -> Self {
        let (lan, link) = (MemoryPort::default(), MemoryPort::default());
        let trust = secret.map_or(Trust::PeerAddress, |secret| Trust::Key {
            key: LinkKey::new(&[secret; 32]),
            start: u64::from(number) << 60,
        });
        let config = DataPathConfig {
            link: Config {
                unconfirmed_jump_max: Some(32),
                ..Config::for_link(Rate::gbps(100), Bytes::new(1526), Span::from_ms(20))
            },
            codec: LinkCodec::default(),
            source: MacAddr([2, 0, 0, 0, 0, number]),
            trust,
            classes: Classifier::default(),
            queue_bytes_max: 1 << 20,
            slots: 4096,
            device_frames: 4096,
        };
        Self { datapath: DataPath::new(lan.clone(), link.clone(), config), lan, link }
    }

    fn run(&mut self, now: Time) -> Result<(), Box<dyn Error>> {
        while self.datapath.run_once(now)? {}
        Ok(())
    }
}

/// Passes the frames of both link ports on until `until`.
fn exchange(ends: &mut [End; 2], now: &mut Time, until: Time) -> Result<(), Box<dyn Error>> {
    while *now < until {
        for from in 0..2 {
            ends[from].run(*now)?;
            while let Some(frame) = ends[from].link.next_sent() {
                ends[1 - from].link.put(&frame);
            }
        }
        *now += Span::from_us(10);
    }
    Ok(())
}

fn protected(secrets: [Option<u8>; 2]) -> Result<([End; 2], Time), Box<dyn Error>> {
    let mut ends = [End::new(1, secrets[0]), End::new(2, secrets[1])];
    for (end, epoch) in ends.iter_mut().zip(1..) {
        end.datapath.endpoint_mut().activate(Time::ZERO, epoch);
    }
    let mut now = Time::ZERO;
    exchange(&mut ends, &mut now, Time::ZERO + Span::from_ms(20))?;
    Ok((ends, now))
}

/// Nanoseconds per frame at both ends.
fn carried(secrets: [Option<u8>; 2]) -> Result<f64, Box<dyn Error>> {
    let (mut ends, mut now) = protected(secrets)?;
    let frame = [&[2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 1, 0x08, 0x00][..], &[7; FRAME_BYTES - 14]].concat();
    let begin = thread_time();
    let mut arrived = 0;
    for _ in 0..BATCHES {
        (0..BATCH).for_each(|_| ends[0].lan.put(&frame));
        let until = now + Span::from_us(20);
        exchange(&mut ends, &mut now, until)?;
        arrived += std::iter::from_fn(|| ends[1].lan.next_sent()).count() as u64;
    }
    let took = thread_time().saturating_sub(begin);
    if arrived < BATCHES * BATCH * 99 / 100 {
        return Err(format!("only {arrived} frames arrived").into());
    }
    Ok(took.as_nanos() as f64 / arrived as f64)
}

/// Nanoseconds per forged hello at an end with the secret `own`, or none, from one with the secret `other`.
fn hello(own: Option<u8>, other: Option<u8>, refused: Refusal) -> Result<f64, Box<dyn Error>> {
    let (mut ends, now) = protected([own; 2])?;
    let forged = if other.is_some() {
        let mut end = End::new(2, other);
        end.datapath.endpoint_mut().activate(Time::ZERO, 9);
        end.run(Time::ZERO)?;
        end.link.next_sent().ok_or("no hello")?
    } else {
        let codec = LinkCodec::default();
        let mut frame = vec![0; codec.control_len(Trailer::None)];
        let open = Hello { kind: HelloKind::Open, epoch: 9, stamp_ns: 0, rtt_ns: 1000 };
        codec.emit_control(&LinkHeader::Hello(open), MacAddr([2, 9, 9, 9, 9, 9]), Trailer::None, &mut frame);
        frame
    };
    let begin = thread_time();
    for _ in 0..BATCHES {
        (0..BATCH).for_each(|_| ends[0].link.put(&forged));
        ends[0].run(now)?;
    }
    let took = thread_time().saturating_sub(begin);
    let count = refused(&ends[0].datapath.counts());
    if count != BATCHES * BATCH {
        return Err(format!("{count} of {} hellos were refused for this reason", BATCHES * BATCH).into());
    }
    Ok(took.as_nanos() as f64 / count as f64)
}
