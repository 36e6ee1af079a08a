//! Hosts on virtual ports, which leave checksums and segments to their device.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use wiremend_dataplane::net::{self, Address, Interface, NetNs, VethEnd};
use wiremend_dataplane::relay::Request;

use super::{LANS, Relay, await_protection, in_own_network, new_link, open};
use crate::net::namespace::TIME_LIMIT;

/// Ends a test that waits in vain.
const PATIENCE: Duration = Duration::from_mins(1);
const BULK_BYTES: usize = 4 << 20;

/// TCP sends segments of up to 64 KB without checksums, UDP datagrams without.
#[test]
fn work_left_to_the_device_is_done() {
    in_own_network(|| {
        let hosts = [NetNs::new().unwrap(), NetNs::new().unwrap()];
        new_link();
        for ((host, lan), last) in hosts.iter().zip(LANS).zip(1..) {
            net::new_veth(VethEnd::here(lan), VethEnd::within("eth0", host.as_fd())).unwrap();
            open(lan);
            let inside = || {
                net::set_up("eth0", true).unwrap();
                net::add_address("eth0", Address { ip: IpAddr::from([198, 18, 9, last]), prefix: 24 })
                    .unwrap();
                Interface::await_running("eth0", TIME_LIMIT).unwrap();
            };
            host.run(inside).unwrap();
        }
        let relays = [0, 1].map(|end| Relay::start(end, true));
        await_protection(&relays);
        udp(&hosts);
        tcp(&hosts);
        let counts = relays[0].ask(&Request::Status).counts;
        assert!(counts.checksums_filled > 0 && counts.segmented > 0, "{counts:?}");
        assert_eq!((counts.unfinished, counts.bad_length), (0, 0));
    });
}

fn udp([from, to]: &[NetNs; 2]) {
    let receiver = to.run(|| UdpSocket::bind("198.18.9.2:5002").unwrap()).unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    let sender = from.run(|| UdpSocket::bind("198.18.9.1:0").unwrap()).unwrap();
    let mut buffer = [0; 2000];
    for len in [0, 1, 17, 1000, 1472] {
        sender.send_to(&vec![9; len], "198.18.9.2:5002").unwrap();
        assert_eq!(receiver.recv(&mut buffer).unwrap(), len);
    }
}

fn tcp([from, to]: &[NetNs; 2]) {
    let listener = to.run(|| TcpListener::bind("198.18.9.2:5001").unwrap()).unwrap();
    let sent: Vec<u8> =
        (0..BULK_BYTES as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let bulk = sent.clone();
    let address = "198.18.9.2:5001".parse().unwrap();
    let sending = from
        .spawn(move || TcpStream::connect_timeout(&address, PATIENCE).unwrap().write_all(&bulk).unwrap())
        .unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    sending.join().unwrap().unwrap();
    assert!(received == sent, "{} of {} bytes arrived", received.len(), sent.len());
}
