//! Congestion marks, notifications, and the rate that follows them.

use wiremend_peer::{Access, FRAME_BYTES_MAX, Settings};
use wiremend_proto::cc::dcqcn::Parameters;
use wiremend_proto::engine::Op;
use wiremend_units::{Rate, Span, Time};
use wiremend_wire::{Ecn, IpRepr, Ipv4Repr, Opcode, RoceFrame, TrafficClass, Trailer};

use crate::duo::{A, B, Duo, config, settings, whole, work};

const LEN: u32 = 100_000;

/// Sends one long WRITE for a millisecond. Returns the data packets and the notifications on the wire.
fn run(marks: bool) -> (u32, u32) {
    let dcqcn = Some((Parameters::PAPER, Rate::gbps(1)));
    let mut duo = Duo::new([Settings { dcqcn, ..settings() }; 2], 1);
    let [a, _] = duo.connect(&config(), [Access::ALL; 2], [0, 0]);
    let own = duo.ends[A].register(u64::from(LEN), Access::NONE);
    let region = duo.ends[B].register(u64::from(LEN), Access::ALL);
    let target = duo.ends[B].address_and_key(region);
    duo.post(A, a, work(1, Op::Write, whole(own, LEN), target));
    let (mut packets, mut notifications) = (0, 0);
    let mut buffer = [0; FRAME_BYTES_MAX];
    for us in 0..1000 {
        let now = Time::ZERO.saturating_add(Span::from_us(us));
        duo.ends.iter_mut().for_each(|end| end.on_timeout(now));
        while let Some(len) = duo.ends[A].poll_transmit(now, &mut buffer) {
            packets += 1;
            let frame = RoceFrame::parse(&buffer[..len]).unwrap().frame;
            let IpRepr::V4(ip) = frame.ip else { unreachable!() };
            let ecn = if marks { Ecn::Ce } else { Ecn::Ect0 };
            let ip = IpRepr::V4(Ipv4Repr { class: TrafficClass { ecn, ..ip.class }, ..ip });
            let frame = RoceFrame { ip, ..frame }.to_bytes(Trailer::None);
            duo.ends[B].on_frame(now, &frame, None);
        }
        while let Some(len) = duo.ends[B].poll_transmit(now, &mut buffer) {
            let answer = RoceFrame::parse(&buffer[..len]).unwrap().frame;
            notifications += u32::from(answer.bth.opcode == Opcode::Cnp);
            assert_eq!(answer.ip.class().ecn, Ecn::NotEct, "answers are not marked");
            duo.ends[A].on_frame(now, &buffer[..len], None);
        }
    }
    (packets, notifications)
}

#[test]
fn marked_packets_cause_notifications_which_lower_the_rate() {
    let (packets, notifications) = run(false);
    // 391 packets of 318 bytes and their overhead take 1.06 ms at 1 Gb/s.
    assert!((300..=391).contains(&packets) && notifications == 0, "{packets} {notifications}");
    let (slow, notifications) = run(true);
    assert!(slow < packets / 2, "{slow} of {packets} packets in spite of {notifications} notifications");
    // At most one per 50 us.
    assert!((2..=21).contains(&notifications), "{notifications}");
}
