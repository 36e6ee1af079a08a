//! Taking a port over and restoring it.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use wiremend_dataplane::net::offload::{self, Offload};
use wiremend_dataplane::net::{
    self, Address, Interface, NetError, NetNs, PortFlowControl, SavedConfig, VethEnd,
};
use wiremend_dataplane::sys::raw::RawSocket;

use super::namespace::{QUIET_TIME, TIME_LIMIT, in_own_namespace, quiet_pair};

/// A port is restored from the stored settings, as after a kill.
#[test]
fn port_is_restored_to_its_previous_settings() {
    in_own_namespace(|| {
        net::new_veth(VethEnd::here("a0"), VethEnd::here("a1")).unwrap();
        net::set_up("a0", true).unwrap();
        net::set_up("a1", true).unwrap();
        Interface::await_running("a0", TIME_LIMIT).unwrap();
        offload::set("a0", &[("rx-gro", true)]).unwrap();
        let facts = || {
            let interface = Interface::by_name("a0").unwrap();
            (interface.promiscuous, interface.address_generation, interface.addresses)
        };
        let (before, features) = (facts(), offload::enabled("a0", &Offload::FOR_PACKET_SOCKET).unwrap());
        for name in ["rx-gro", "tx-tcp-segmentation", "tx-generic-segmentation", "tx-checksum-ip-generic"] {
            assert!(features.iter().any(|feature| feature.name == name), "{name} is on in {features:?}");
        }
        let stored =
            serde_json::to_string(&SavedConfig::read("a0", &Offload::FOR_PACKET_SOCKET).unwrap()).unwrap();
        assert_eq!(facts(), before, "reading changes nothing");

        serde_json::from_str::<SavedConfig>(&stored).unwrap().take_over().unwrap();
        assert_eq!(offload::enabled("a0", &Offload::FOR_PACKET_SOCKET).unwrap(), []);
        assert_eq!(facts(), (true, Some(1), vec![]));

        let saved: SavedConfig = serde_json::from_str(&stored).unwrap();
        for _ in 0..2 {
            saved.restore().unwrap();
            assert_eq!(facts(), before);
            assert_eq!(offload::enabled("a0", &Offload::FOR_PACKET_SOCKET).unwrap(), features);
        }
        net::delete("a0").unwrap();
        assert_eq!(saved.restore().unwrap_err().to_string(), "interface `a0` does not exist");
    });
}

/// With offloads a packet socket receives TCP frames that are too long for a link and lack checksums; without
/// offloads it receives them as on a wire.
#[test]
fn without_offloads_frames_are_complete() {
    in_own_namespace(|| {
        let (left, right) = (NetNs::new().unwrap(), NetNs::new().unwrap());
        net::new_veth(VethEnd::within("eth0", left.as_fd()), VethEnd::within("eth0", right.as_fd())).unwrap();
        for (namespace, last) in [(&left, 1), (&right, 2)] {
            let address = Address { ip: IpAddr::from([198, 18, 9, last]), prefix: 24 };
            let open = || {
                net::set_up("eth0", true).unwrap();
                net::add_address("eth0", address).unwrap();
            };
            namespace.run(open).unwrap();
        }
        left.run(|| Interface::await_running("eth0", TIME_LIMIT).unwrap()).unwrap();
        let (longest, unfilled) = frames_of_a_transfer(&left, &right);
        assert!(longest > 1514 && unfilled > 0, "{longest} bytes, {unfilled} unfilled");
        for namespace in [&left, &right] {
            namespace
                .run(|| SavedConfig::read("eth0", &Offload::FOR_PACKET_SOCKET).unwrap().take_over().unwrap())
                .unwrap();
        }
        assert_eq!(frames_of_a_transfer(&left, &right), (1514, 0));
    });
}

#[test]
fn flow_control_is_unknown_without_driver_support() {
    in_own_namespace(|| {
        let _pair = quiet_pair("a0", "a1");
        assert_eq!(PortFlowControl::read("a0").unwrap(), PortFlowControl { pause: None, pfc: None });
        assert!(matches!(PortFlowControl::read("none"), Err(NetError::NoSuchInterface { .. })));
    });
}

/// Sends a megabyte over TCP. Returns the longest received frame and the number of wrong checksums.
fn frames_of_a_transfer(from: &NetNs, to: &NetNs) -> (usize, usize) {
    let watch = to.run(|| RawSocket::open(Interface::by_name("eth0").unwrap().index).unwrap()).unwrap();
    let listener = to.run(|| TcpListener::bind("198.18.9.2:5001").unwrap()).unwrap();
    let sending = from
        .spawn(|| TcpStream::connect("198.18.9.2:5001").unwrap().write_all(&vec![7; 1 << 20]).unwrap())
        .unwrap();
    let mut received = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
    sending.join().unwrap().unwrap();
    assert_eq!(received.len(), 1 << 20);
    let (mut longest, mut wrong) = (0, 0);
    while let Some(seen) = watch.receive(QUIET_TIME).unwrap() {
        if seen.frame.get(12..14) == Some(&[0x08, 0x00]) && seen.frame[23] == 6 {
            longest = longest.max(seen.frame.len());
            wrong += usize::from(!tcp_checksum_holds(&seen.frame[14..]));
        }
    }
    (longest, wrong)
}

fn tcp_checksum_holds(packet: &[u8]) -> bool {
    let length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let segment = &packet[20..length];
    let pseudo = [&packet[12..20], &[0, 6], &(segment.len() as u16).to_be_bytes()].concat();
    let mut sum = 0;
    for part in [&pseudo[..], segment] {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or_default());
        }
    }
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    sum == 0xFFFF
}
