//! Connections by datagrams to queue pair 1: with losses, duplicates and disorder, and with a hostile peer.

use wiremend_peer::{
    CONNECTIONS_MAX, CmCounters, CmEvent, ConnectionId, FRAME_BYTES_MAX, HALF_OPEN_MAX, Settings,
};
use wiremend_testkit::Random;
use wiremend_units::{Psn, QpNum, Span};
use wiremend_wire::{
    BthRepr, CmAddresses, CmIds, CmMessage, CmReject, CmReply, CmRequest, DethRepr, EthernetRepr, Extension,
    IpRepr, Ipv4Repr, Mad, Opcode, RoceFrame, Trailer, Vlans,
};

use crate::duo::{A, B, Duo, Faults, settings};

const SERVICE: u16 = 7174;

fn request(duo: &Duo, pair: u32) -> CmRequest {
    let path = duo.path(A);
    let (source, destination) = (path.local_ip, path.remote_ip);
    CmRequest {
        local_id: 0,
        service: CmAddresses::service_of(SERVICE),
        transport: 0,
        pair: QpNum::new(pair),
        psn: Psn::new(5),
        responder_resources: 1,
        initiator_depth: 1,
        retries: 7,
        rnr_retries: 7,
        timeout: 14,
        mtu: 3,
        ports: [source, destination],
        addresses: Some(CmAddresses { source_port: 1, source, destination }),
    }
}

fn reply() -> CmReply {
    CmReply {
        ids: CmIds { local: 0, remote: 0 },
        pair: QpNum::new(0x2222),
        psn: Psn::new(9),
        responder_resources: 1,
        initiator_depth: 1,
        rnr_retries: 7,
    }
}

/// Two managers, the second of which listens.
fn pair(settings: [Settings; 2], seed: u64) -> Duo {
    let mut duo = Duo::new(settings, seed);
    let at = duo.path(B).local_ip;
    duo.ends[B].manager_mut().listen(at);
    duo
}

/// Runs for a while, answers what comes, and returns the names of all events.
fn run(duo: &mut Duo, limit: Span, accepts: bool) -> [Vec<(String, ConnectionId)>; 2] {
    let mut seen = [Vec::new(), Vec::new()];
    let end = duo.now.saturating_add(limit);
    loop {
        let slice = duo.now.saturating_add(Span::from_ms(50)).min(end);
        let is_quiet = duo.run(slice.since(duo.now));
        let mut is_done = true;
        for side in [A, B] {
            while let Some(event) = duo.ends[side].manager_mut().poll_event() {
                is_done = false;
                let name = format!("{event:?}").split(' ').next().unwrap_or_default().to_owned();
                seen[side].push((name, event.id()));
                let now = duo.now;
                let manager = duo.ends[side].manager_mut();
                match event {
                    CmEvent::Requested { id, .. } if accepts => manager.accept(now, id, reply()),
                    CmEvent::Requested { id, .. } => manager.reject(id, CmReject::CONSUMER),
                    CmEvent::Replied { id, reply } => {
                        assert_eq!((reply.pair, reply.psn), (QpNum::new(0x2222), Psn::new(9)));
                        manager.ready(id);
                    }
                    _ => {}
                }
            }
        }
        if is_done && (is_quiet || duo.now >= end) {
            return seen;
        }
        // The clock stands still while nothing is under way.
        duo.now = duo.now.max(slice);
    }
}

fn names(seen: &[(String, ConnectionId)]) -> Vec<&str> {
    seen.iter().map(|(name, _)| name.as_str()).collect()
}

/// Each message is lost in turn, none included: the connection exists once at each end, and ends at both.
#[test]
fn a_connection_is_set_up_and_ended_although_any_one_message_is_lost() {
    for lost in 0..6 {
        let mut number = 0;
        let mut duo = pair([settings(); 2], 1).lose(move |_, _| {
            number += 1;
            number == lost
        });
        let (now, path, request) = (duo.now, duo.path(A), request(&duo, 0x1111));
        let id = duo.ends[A].manager_mut().connect(now, path, request).unwrap();
        let seen = run(&mut duo, Span::from_ms(5_000), true);
        assert_eq!(names(&seen[A]), ["Replied"], "message {lost}");
        assert_eq!(names(&seen[B]), ["Requested", "Ready"], "message {lost}");
        let now = duo.now;
        duo.ends[A].manager_mut().disconnect(now, id);
        assert!(duo.ends[A].manager().is_ending());
        let seen = run(&mut duo, Span::from_ms(5_000), true);
        assert_eq!((names(&seen[A]), names(&seen[B])), (vec!["Ended"], vec!["Ended"]), "message {lost}");
        assert_eq!([A, B].map(|side| duo.ends[side].manager().connections()), [0, 0]);
        let counters = [A, B].map(|side| duo.ends[side].manager().counters());
        assert_eq!(counters.iter().map(|one| one.repeated).sum::<u64>() > 0, lost > 0, "{counters:?}");
    }
}

#[test]
fn many_connections_survive_loss_duplicates_and_disorder() {
    for seed in 0..20 {
        let faults = Faults { loss: 200_000, duplicate: 200_000, reorder: 300_000, corrupt: 0 };
        let mut duo = pair([settings(), Settings { seed: 99, ..settings() }], seed).faults(faults);
        let (now, path) = (duo.now, duo.path(A));
        let ids: Vec<_> = (0..40)
            .map(|number| {
                let request = request(&duo, 0x1000 + number);
                duo.ends[A].manager_mut().connect(now, path, request).unwrap()
            })
            .collect();
        let mut seen = run(&mut duo, Span::from_ms(60_000), true);
        let of = |seen: &[(String, ConnectionId)], name: &str| {
            seen.iter().filter(|(seen, _)| seen == name).count()
        };
        assert_eq!([of(&seen[A], "Replied"), of(&seen[B], "Requested"), of(&seen[B], "Ready")], [40; 3]);
        for id in ids {
            let now = duo.now;
            duo.ends[A].manager_mut().disconnect(now, id);
        }
        seen = run(&mut duo, Span::from_ms(60_000), true);
        assert_eq!(of(&seen[A], "Ended"), 40, "seed {seed}");
        assert_eq!(duo.ends[A].manager().connections(), 0);
    }
}

#[test]
fn refusals_and_silence_end_an_attempt() {
    let mut duo = pair([settings(); 2], 1);
    let (now, path, asked) = (duo.now, duo.path(A), request(&duo, 0x1111));
    duo.ends[A].manager_mut().connect(now, path, asked);
    let seen = run(&mut duo, Span::from_ms(1_000), false);
    assert_eq!(names(&seen[A]), ["Rejected"]);
    // Nobody listens.
    let mut duo = Duo::new([settings(); 2], 1);
    let (now, back) = (duo.now, duo.path(B));
    duo.ends[B].manager_mut().connect(now, back, asked);
    duo.ends[A].manager_mut().connect(now, path, asked);
    let seen = run(&mut duo, Span::from_ms(1_000), true);
    assert_eq!((names(&seen[A]), names(&seen[B])), (vec!["Rejected"], vec!["Rejected"]));
    // Nobody is there.
    let mut duo = pair([settings(); 2], 1).lose(|_, _| true);
    let now = duo.now;
    duo.ends[A].manager_mut().connect(now, path, asked);
    let seen = run(&mut duo, Span::from_ms(60_000), true);
    assert_eq!(names(&seen[A]), ["Unreachable"]);
    assert_eq!(duo.ends[A].manager().connections(), 0);
}

/// A datagram from an address to the end B.
fn datagram(duo: &Duo, last: u8, payload: &[u8]) -> Vec<u8> {
    let path = duo.path(A);
    let std::net::IpAddr::V4(destination) = path.remote_ip else { unreachable!("IPv4 here") };
    let frame = RoceFrame {
        ethernet: EthernetRepr {
            destination: path.remote_mac,
            source: path.local_mac,
            vlans: Vlans::Untagged,
        },
        ip: IpRepr::V4(Ipv4Repr {
            source: [198, 18, 0, last].into(),
            destination,
            class: path.class,
            identification: 1,
            dont_fragment: true,
            ttl: 64,
        }),
        source_port: 0xC000,
        bth: BthRepr::new(Opcode::UdSendOnly, QpNum::new(1), Psn::new(1)),
        extension: Extension::Deth(DethRepr { queue_key: Mad::QUEUE_KEY, source_qp: QpNum::new(1) }),
        payload,
    };
    frame.to_bytes(Trailer::None)
}

/// Requests beyond the bound are refused and bind no memory; those that are never completed expire.
#[test]
fn a_flood_of_requests_is_bounded_and_passes() {
    let mut duo = pair([settings(); 2], 1);
    let asked = request(&duo, 0x1111);
    for number in 0..5_000_u32 {
        let message = CmMessage::Request(CmRequest { local_id: number, ..asked });
        let bytes = datagram(&duo, 9, &message.to_bytes(u64::from(number)));
        let now = duo.now;
        duo.ends[B].on_frame(now, &bytes, None);
        while let Some(CmEvent::Requested { id, .. }) = duo.ends[B].manager_mut().poll_event() {
            duo.ends[B].manager_mut().accept(now, id, reply());
        }
    }
    let manager = duo.ends[B].manager();
    assert_eq!(manager.connections(), HALF_OPEN_MAX);
    let counters = manager.counters();
    assert_eq!(counters.too_many, 5_000 - HALF_OPEN_MAX as u64);
    assert!(counters.not_sent > 0, "the queue of answers is bounded: {counters:?}");
    let mut buffer = [0; FRAME_BYTES_MAX];
    let now = duo.now;
    let mut sent = 0;
    while duo.ends[B].poll_transmit(now, &mut buffer).is_some() {
        sent += 1;
    }
    assert!((HALF_OPEN_MAX..=2 * HALF_OPEN_MAX).contains(&sent), "{sent}");
    let seen = run(&mut duo, Span::from_ms(60_000), true);
    assert_eq!(names(&seen[B]), vec!["Unreachable"; HALF_OPEN_MAX]);
    assert_eq!(duo.ends[B].manager().connections(), 0);
    const { assert!(HALF_OPEN_MAX < CONNECTIONS_MAX) };
}

/// Whoever does not have the address of the peer, both identifiers and the queue pair ends no connection.
#[test]
fn forged_and_damaged_datagrams_end_no_connection_and_are_counted() {
    let mut duo = pair([settings(); 2], 1);
    let (now, path, asked) = (duo.now, duo.path(A), request(&duo, 0x1111));
    let id = duo.ends[A].manager_mut().connect(now, path, asked).unwrap();
    run(&mut duo, Span::from_ms(5_000), true);
    let mut random = Random::new(3);
    let mut seen = Vec::new();
    for number in 0..20_000_u64 {
        let ids = CmIds { local: random.below(4) as u32, remote: random.draw() as u32 };
        let mut payload = match random.below(6) {
            0 => CmMessage::Disconnect(ids, QpNum::new(0x2222)),
            1 => CmMessage::Reject(ids, CmReject { message: 2, reason: CmReject::TIMEOUT }),
            2 => CmMessage::Ready(ids),
            3 => CmMessage::Wait(ids, random.draw() as u8 & 31),
            4 => CmMessage::Reply(CmReply { ids, ..reply() }),
            _ => CmMessage::Disconnected(ids),
        }
        .to_bytes(number)
        .to_vec();
        for _ in 0..random.below(3) {
            let at = random.below(payload.len() as u64) as usize;
            payload[at] = random.draw() as u8;
        }
        if random.below(4) == 0 {
            payload.truncate(4 * random.below(64) as usize);
        }
        let last = random.pick(&[1, 1, 9]);
        let bytes = datagram(&duo, last, &payload);
        let now = duo.now;
        duo.ends[B].on_frame(now, &bytes, None);
        seen.extend(std::iter::from_fn(|| duo.ends[B].manager_mut().poll_event()));
    }
    let is_request = |event: &CmEvent| matches!(event, CmEvent::Requested { .. });
    assert!(seen.iter().all(is_request), "{seen:?}");
    let CmCounters { received, malformed, unexpected, .. } = duo.ends[B].manager().counters();
    assert!(received >= 20_000 && malformed > 1000 && unexpected > 1000, "{malformed} {unexpected}");
    let now = duo.now;
    duo.ends[A].manager_mut().disconnect(now, id);
    let ended = run(&mut duo, Span::from_ms(5_000), true);
    assert_eq!((names(&ended[A]), names(&ended[B])), (vec!["Ended"], vec!["Ended"]));
}

/// A peer that restarts uses an identifier again, with another queue pair: the old connection ends.
#[test]
fn a_request_of_a_restarted_peer_ends_its_old_connection() {
    let mut duo = pair([settings(); 2], 1);
    for pair in [0x1111, 0x1112] {
        let asked = CmMessage::Request(CmRequest { local_id: 7, ..request(&duo, pair) });
        let bytes = datagram(&duo, 1, &asked.to_bytes(1));
        duo.inject(B, &bytes);
        // The same request again changes nothing.
        duo.inject(B, &bytes);
        duo.run(Span::from_ms(10));
        let mut seen = Vec::new();
        while let Some(event) = duo.ends[B].manager_mut().poll_event() {
            seen.push(matches!(event, CmEvent::Ended { .. }));
            if let CmEvent::Requested { id, .. } = event {
                let now = duo.now;
                duo.ends[B].manager_mut().accept(now, id, reply());
            }
        }
        assert_eq!(seen, if pair == 0x1111 { vec![false] } else { vec![true, false] });
    }
    assert_eq!(duo.ends[B].manager().connections(), 1);
}
