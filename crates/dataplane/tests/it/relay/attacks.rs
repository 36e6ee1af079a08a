//! Forged link frames, keys, and state that follows what a relay hears.

use std::thread;
use std::time::Duration;

use wiremend_dataplane::net::{Interface, tc};
use wiremend_dataplane::relay::{LinkKey, Request, Settings};
use wiremend_dataplane::sys::raw::RawSocket;
use wiremend_proto::link::{Ack, Hello, HelloKind, LinkHeader};
use wiremend_wire::link::LinkCodec;
use wiremend_wire::{MacAddr, Trailer};

use super::hosts::Hosts;
use super::{LINKS, Relay, await_ports, await_protection, in_own_network, new_chain, settings};

const EPOCH: u32 = 77;

fn is_dropping(port: &str) -> bool {
    matches!(tc::IngressRule::read(port).unwrap(), Some(tc::IngressRule::Drop { .. }))
}

fn open(rtt_ns: u32) -> LinkHeader {
    LinkHeader::Hello(Hello { kind: HelloKind::Open, epoch: EPOCH, stamp_ns: 0, rtt_ns })
}

fn forge(socket: &RawSocket, header: &LinkHeader) {
    forge_from(MacAddr([2, 9, 9, 9, 9, 9]), socket, header);
}

fn forge_from(source: MacAddr, socket: &RawSocket, header: &LinkHeader) {
    let codec = LinkCodec::default();
    let mut frame = vec![0; codec.control_len(Trailer::None)];
    codec.emit_control(header, source, Trailer::None, &mut frame);
    socket.send(&frame).unwrap();
}

fn start_with_key(end: usize, secret: Option<&str>) -> Relay {
    await_ports(end);
    let key = secret.map(|secret| LinkKey::new(secret.as_bytes()));
    Relay::run(Settings { active: true, key, ..settings(end) })
}

const PAUSE: Duration = Duration::from_micros(450);

#[test]
fn forged_start_is_not_protection() {
    in_own_network(|| {
        new_chain();
        let relay = Relay::start(0, false);
        let link = RawSocket::open(Interface::by_name(LINKS[1]).unwrap().index).unwrap();
        forge(&link, &open(u32::MAX));
        relay.await_status("the impossible start is ignored", |status| status.link_counts["ignored"] > 0);
        assert!(!is_dropping(LINKS[0]), "the kernel forwards");
        // A start that could be true is prepared for, but not reported before a numbered frame.
        forge(&link, &open(500_000));
        while !is_dropping(LINKS[0]) {
            std::thread::yield_now();
        }
        assert!(!relay.ask(&Request::Status).receiving);
        forge(&link, &LinkHeader::Dummy { epoch: (EPOCH & 15) as u8, next: 0, ack: None });
        relay.await_status("frames are numbered", |status| status.receiving);
        // Nothing more is heard.
        relay.await_status("silence ends it", |status| !status.receiving);
        while is_dropping(LINKS[0]) {
            std::thread::yield_now();
        }
    });
}

#[test]
fn state_follows_a_peer_that_is_idle_or_gone() {
    in_own_network(|| {
        new_chain();
        let [relay, peer] = [0, 1].map(|end| Relay::start(end, true));
        // No host sends: only the relays talk.
        relay.await_status("both directions are protected", |status| status.sending && status.receiving);
        peer.stop();
        relay.await_status("no direction is protected", |status| !status.sending && !status.receiving);
    });
}

/// Sends each kind of control frame in turn to the relay at `end`, as if from the other end or from elsewhere.
fn attack(end: usize, spoofs: bool) {
    let peer = Interface::by_name(LINKS[1 - end]).unwrap();
    let socket = RawSocket::open(peer.index).unwrap();
    let source = if spoofs { peer.mac.unwrap() } else { [2, 9, 9, 9, 9, 9] };
    let kinds = [
        HelloKind::Open,
        HelloKind::Accept,
        HelloKind::Close,
        HelloKind::Closed,
        HelloKind::Unknown,
        HelloKind::Leave,
        HelloKind::Challenge,
    ];
    for number in 0..2000_u32 {
        let (epoch, next) = (number as u8 & 15, number * 77 % 1_000_000);
        let header = match number % 10 {
            0 => LinkHeader::Dummy { epoch, next, ack: None },
            1 => LinkHeader::Ack(Ack { epoch, next, pause: true }),
            2 => open(1_000),
            kind => LinkHeader::Hello(Hello {
                kind: kinds[kind as usize - 3],
                epoch: number,
                stamp_ns: 0,
                rtt_ns: 1_000,
            }),
        };
        forge_from(MacAddr(source), &socket, &header);
        thread::park_timeout(Duration::from_micros(300));
    }
}

#[test]
fn forged_control_frames_from_another_address_cost_nothing() {
    in_own_network(|| {
        new_chain();
        let relays = [0, 1].map(|end| Relay::start(end, true));
        await_protection(&relays);
        let hosts = Hosts::start(PAUSE);
        attack(0, false);
        attack(1, false);
        hosts.assert_all_arrived(|| 0);
        for relay in &relays {
            let status = relay.ask(&Request::Status);
            assert!(
                status.sending && status.receiving && status.counts.foreign_address == 2000,
                "{status:?}"
            );
            assert_eq!(status.link_counts["reopened"], 0);
        }
    });
}

#[test]
fn forged_control_frames_cost_nothing_with_a_key() {
    in_own_network(|| {
        new_chain();
        let relays = [0, 1].map(|end| start_with_key(end, Some("a secret of both ends, thirty-two")));
        await_protection(&relays);
        let hosts = Hosts::start(PAUSE);
        attack(0, true);
        attack(1, true);
        hosts.assert_all_arrived(|| 0);
        for relay in &relays {
            let status = relay.ask(&Request::Status);
            assert!(status.sending && status.receiving && status.counts.no_seal == 2000, "{status:?}");
            assert_eq!(status.link_counts["reopened"], 0);
        }
    });
}

#[test]
fn ends_with_a_key_restart_without_loss() {
    in_own_network(|| {
        new_chain();
        let secret = Some("a secret of both ends, thirty-two");
        let mut relays = [0, 1].map(|end| start_with_key(end, secret));
        await_protection(&relays);
        let hosts = Hosts::start(PAUSE);
        let mut late = 0;
        for restart in 0..6 {
            let [first, second] = relays;
            relays = if restart % 2 == 0 {
                late += super::handover::counted(&first.stop());
                [start_with_key(0, secret), second]
            } else {
                late += super::handover::counted(&second.stop());
                [first, start_with_key(1, secret)]
            };
            await_protection(&relays);
        }
        hosts.assert_all_arrived(|| late + relays.iter().map(super::handover::in_status).sum::<u64>());
    });
}

#[test]
fn ends_with_different_keys_say_so_and_protect_nothing() {
    in_own_network(|| {
        new_chain();
        let cases = [
            (
                [Some("one secret, of thirty-two letters"), Some("another one, of thirty-two letters")],
                ["the other end has another key", "the other end has another key"],
            ),
            (
                [Some("one secret, of thirty-two letters"), None],
                ["the other end has no key", "the other end has a key, this end has none"],
            ),
        ];
        for (secrets, told) in cases {
            let relays = [0, 1].map(|end| start_with_key(end, secrets[end]));
            for (relay, words) in relays.iter().zip(told) {
                relay.await_notice(words);
                let status = relay.ask(&Request::Status);
                assert!(!status.sending && !status.receiving && status.key_mismatch.is_some(), "{status:?}");
            }
        }
    });
}
