//! The MTU of a port changes while a relay runs.

use wiremend_dataplane::net;
use wiremend_dataplane::relay::Request;
use wiremend_dataplane::sys::raw::RawSocket;

use super::{HOSTS, LANS, LINKS, Relay, await_protection, in_own_network, new_chain};
use crate::net::namespace::{await_incoming, frame_with_length};

const RAISED: u32 = 4000;

#[test]
fn larger_frames_are_protected_once_the_link_has_room() {
    in_own_network(|| {
        new_chain();
        let relays = [0, 1].map(|end| Relay::start(end, true));
        await_protection(&relays);
        for name in HOSTS.into_iter().chain(LANS) {
            net::set_mtu(name, RAISED).unwrap();
        }
        for relay in &relays {
            let status = relay.await_status("protection is held back", |status| status.held_back.is_some());
            let why = status.held_back.unwrap();
            assert!(why.contains("mtu 4018"), "{why}");
            let refused = relay.try_ask(&Request::Activate).unwrap_err();
            assert!(format!("{refused:?}").contains("mtu 4018"), "{refused:?}");
            relay.await_status("it sends without protection", |status| !status.sending);
        }
        for name in LINKS {
            net::set_mtu(name, RAISED + 18).unwrap();
        }
        for relay in &relays {
            relay.await_status("nothing holds it back", |status| status.held_back.is_none());
        }
        await_protection(&relays);
        let [from, to] =
            HOSTS.map(|name| RawSocket::open(net::Interface::by_name(name).unwrap().index).unwrap());
        let frame = frame_with_length(RAISED as usize + 14, 0x0800, 5);
        from.send(&frame).unwrap();
        assert_eq!(await_incoming(&to).frame, frame);
        assert!(relays[0].ask(&Request::Status).sending);
    });
}
