//! Forged link frames, and state that follows what a relay hears.

use wiremend_dataplane::net::{Interface, tc};
use wiremend_dataplane::relay::Request;
use wiremend_dataplane::sys::raw::RawSocket;
use wiremend_proto::link::{Hello, HelloKind, LinkHeader};
use wiremend_wire::link::LinkCodec;
use wiremend_wire::{MacAddr, Trailer};

use super::{LINKS, Relay, in_own_network, new_chain};

const EPOCH: u32 = 77;

fn is_dropping(port: &str) -> bool {
    matches!(tc::IngressRule::read(port).unwrap(), Some(tc::IngressRule::Drop { .. }))
}

fn open(rtt_ns: u32) -> LinkHeader {
    LinkHeader::Hello(Hello { kind: HelloKind::Open, epoch: EPOCH, stamp_ns: 0, rtt_ns })
}

fn forge(socket: &RawSocket, header: &LinkHeader) {
    let codec = LinkCodec::default();
    let mut frame = vec![0; codec.control_len(Trailer::None)];
    codec.emit_control(header, MacAddr([2, 9, 9, 9, 9, 9]), Trailer::None, &mut frame);
    socket.send(&frame).unwrap();
}

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
