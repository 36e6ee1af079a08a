//! Reading and changing interfaces.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::process::Command;
use std::thread::park_timeout;
use std::time::Duration;

use wiremend_dataplane::net::offload::Offload;
use wiremend_dataplane::net::tc::{self, IngressRule};
use wiremend_dataplane::net::{
    self, Address, Interface, InterfaceChange, InterfaceWatch, NetError, NetNs, SavedConfig, VethEnd,
};
use wiremend_dataplane::sys::capability::{Capability, keep_only};
use wiremend_dataplane::sys::raw::RawSocket;

use super::namespace::{TIME_LIMIT, await_incoming, frame, in_own_namespace, quiet_pair, redirect};

#[test]
fn interfaces_are_created_changed_and_removed() {
    in_own_namespace(|| {
        net::loopback_up().unwrap();
        assert!(Interface::by_name("lo").unwrap().up);
        assert!(!Interface::by_name("lo").unwrap().is_ethernet());

        net::new_veth(VethEnd::here("a"), VethEnd::here("b")).unwrap();
        let a = Interface::by_name("a").unwrap();
        assert_eq!((a.kind.as_deref(), a.up, a.carrier, a.mtu), (Some("veth"), false, false, 1500));
        assert!(a.is_ethernet() && a.master.is_none() && a.index != Interface::by_name("b").unwrap().index);

        let mac = [2, 0, 0, 0, 0, 7];
        net::set_mac("a", mac).unwrap();
        net::set_mtu("a", 9000).unwrap();
        net::set_up("a", true).unwrap();
        assert!(!Interface::by_name("a").unwrap().carrier, "the other end is down");
        net::set_up("b", true).unwrap();
        let a = Interface::by_name("a").unwrap();
        assert_eq!((a.mac, a.mtu, a.up, a.carrier), (Some(mac), 9000, true, true));
        assert_eq!(a.speed_mbps(), Some(10_000), "the speed that the veth driver reports");

        let address = Address { ip: Ipv4Addr::new(198, 18, 0, 1).into(), prefix: 24 };
        net::add_address("a", address).unwrap();
        net::add_neighbour("a", IpAddr::from([198, 18, 0, 2]), [2, 0, 0, 0, 0, 8]).unwrap();
        assert_eq!(Interface::by_name("a").unwrap().given_addresses().collect::<Vec<_>>(), [&address]);

        let tap = net::open_tap("t", false).unwrap();
        assert_eq!(Interface::by_name("t").unwrap().kind.as_deref(), Some("tun"));
        let names: Vec<_> = Interface::all().unwrap().into_iter().map(|interface| interface.name).collect();
        assert_eq!(names.len(), 4, "{names:?}");

        drop(tap);
        assert!(
            matches!(Interface::by_name("t"), Err(NetError::NoSuchInterface { .. })),
            "it was not persistent"
        );
        net::delete("a").unwrap();
        assert!(
            matches!(Interface::by_name("b"), Err(NetError::NoSuchInterface { .. })),
            "both ends are removed"
        );
    });
}

#[test]
fn counters_count_frames() {
    in_own_namespace(|| {
        let [a0, a1] = quiet_pair("a0", "a1");
        let before = (Interface::by_name("a0").unwrap().counters, Interface::by_name("a1").unwrap().counters);
        for _ in 0..10 {
            a0.send(&frame(0x1234, 1)).unwrap();
            await_incoming(&a1);
        }
        let after = (Interface::by_name("a0").unwrap().counters, Interface::by_name("a1").unwrap().counters);
        assert_eq!(after.0.tx_packets - before.0.tx_packets, 10);
        assert_eq!(after.1.rx_packets - before.1.rx_packets, 10);
        assert_eq!(after.1.rx_bytes - before.1.rx_bytes, 600);
        assert_eq!(after.1.rx_dropped - before.1.rx_dropped, 0);
    });
}

#[test]
fn port_without_link_local_addresses_sends_nothing() {
    in_own_namespace(|| {
        net::new_veth(VethEnd::here("a0"), VethEnd::here("a1")).unwrap();
        net::set_up("a0", true).unwrap();
        net::set_up("a1", true).unwrap();
        let address_count = |name| Interface::by_name(name).unwrap().addresses.len();
        // The kernel adds an IPv6 address a moment after the carrier appears.
        for _ in 0..TIME_LIMIT.as_millis() {
            if address_count("a0") == 1 && address_count("a1") == 1 {
                break;
            }
            park_timeout(Duration::from_millis(1));
        }
        assert!(address_count("a0") == 1 && address_count("a1") == 1);
        assert_eq!(Interface::by_name("a0").unwrap().given_addresses().count(), 0);
        net::disable_link_local("a0").unwrap();
        net::disable_link_local("a1").unwrap();
        assert!(address_count("a0") == 0 && address_count("a1") == 0);

        let quiet = quiet_pair("b0", "b1");
        for socket in &quiet {
            assert_eq!(socket.receive(Duration::from_millis(1500)).unwrap(), None);
        }
    });
}

#[test]
fn veth_pair_spans_two_namespaces() {
    in_own_namespace(|| {
        let (left, right) = (NetNs::new().unwrap(), NetNs::new().unwrap());
        net::new_veth(VethEnd::within("eth0", left.as_fd()), VethEnd::within("eth0", right.as_fd())).unwrap();
        assert!(matches!(Interface::by_name("eth0"), Err(NetError::NoSuchInterface { .. })));
        let open = || {
            net::disable_link_local("eth0").unwrap();
            net::set_up("eth0", true).unwrap();
            RawSocket::open(Interface::by_name("eth0").unwrap().index).unwrap()
        };
        let (a, b) = (left.run(open).unwrap(), right.run(open).unwrap());
        assert!(left.run(|| Interface::await_running("eth0", TIME_LIMIT).unwrap().running).unwrap());
        a.send(&frame(0x1234, 6)).unwrap();
        assert_eq!(await_incoming(&b).frame, frame(0x1234, 6));
        let child = left.spawn(|| Command::new("cat").arg("/proc/self/net/dev").output().unwrap()).unwrap();
        let listed = String::from_utf8(child.join().unwrap().unwrap().stdout).unwrap();
        assert!(listed.contains("eth0") && !listed.contains("a0"), "child processes run inside: {listed}");
    });
}

#[test]
fn changes_are_reported_in_order() {
    in_own_namespace(|| {
        let mut watch = InterfaceWatch::open().unwrap();
        assert_eq!(watch.changes().unwrap(), []);
        let _pair = quiet_pair("a0", "a1");
        let index = Interface::by_name("a0").unwrap().index;
        let mut states = Vec::new();
        let mut until = |wanted| {
            for _ in 0..TIME_LIMIT.as_millis() {
                let changes = watch.changes().unwrap();
                states.extend(changes.into_iter().filter_map(|change| match change {
                    InterfaceChange::Now(now) if now.index == index => Some(Some((now.up, now.carrier))),
                    InterfaceChange::Gone(gone) if gone == index => Some(None),
                    _ => None,
                }));
                if states.last() == Some(&wanted) {
                    break;
                }
                park_timeout(Duration::from_millis(1));
            }
        };
        until(Some((true, true)));
        net::set_up("a1", false).unwrap();
        until(Some((true, false)));
        net::delete("a0").unwrap();
        until(None);
        states.dedup();
        let story = [Some((false, false)), Some((true, false)), Some((true, true)), Some((true, false))];
        assert_eq!(states[..4], story, "{states:?}");
        assert_eq!(states.last(), Some(&None));
    });
}

#[test]
fn errors_name_the_reason() {
    in_own_namespace(|| {
        let text = |outcome: Result<(), NetError>| outcome.unwrap_err().to_string();
        assert_eq!(text(Interface::by_name("none").map(drop)), "interface `none` does not exist");
        assert_eq!(text(Interface::by_name("").map(drop)), "interface `` does not exist");
        assert_eq!(
            text(net::set_up("a-name-that-is-too-long", true)),
            "interface `a-name-that-is-too-long` does not exist"
        );
        assert_eq!(text(net::set_up("none", true)), "interface `none` does not exist");
        assert_eq!(text(net::delete("none")), "interface `none` does not exist");
        assert_eq!(text(tc::clear("none")), "interface `none` does not exist");
        assert_eq!(text(redirect("lo", "none").apply()), "interface `none` does not exist");
        assert_eq!(IngressRule::read("lo").unwrap(), None, "a failed request changes nothing");
        drop(net::open_tap("d", true).unwrap());
        assert_eq!(
            text(net::new_veth(VethEnd::here("e"), VethEnd::here("d"))),
            "an interface `e` or `d` exists already"
        );
        let long = text(net::open_tap("sixteen-bytes-xx", true).map(drop));
        assert_eq!(
            long,
            "cannot create an interface `sixteen-bytes-xx`: a name has 1 to 15 bytes, without `/`"
        );
        let tiny = text(net::set_mtu("d", u32::MAX));
        assert!(tiny.starts_with("cannot set the MTU of `d` to 4294967295: Invalid argument"), "{tiny}");
    });
}

/// Without capabilities all queries work, no change does, and each error names the capability.
#[test]
fn errors_name_the_missing_capability() {
    in_own_namespace(|| {
        let _ports = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        let rule = redirect("a1", "b1");
        rule.apply().unwrap();
        let unprivileged = || {
            keep_only(&[]).unwrap();
            let text = |outcome: Result<(), NetError>| outcome.unwrap_err().to_string();
            assert!(Interface::by_name("a0").unwrap().up);
            assert_eq!(IngressRule::read("a1").unwrap(), Some(rule));
            let up = text(net::set_up("a0", false));
            assert_eq!(up, "cannot bring `a0` down: not permitted, needs CAP_NET_ADMIN");
            let pair = text(net::new_veth(VethEnd::here("c0"), VethEnd::here("c1")));
            assert_eq!(pair, "cannot create the pair `c0` and `c1`: not permitted, needs CAP_NET_ADMIN");
            let drop_all = text(IngressRule::Drop { on: "a1".to_owned() }.apply());
            assert_eq!(drop_all, "cannot remove the filter from `a1`: not permitted, needs CAP_NET_ADMIN");
            let offloads = text(
                SavedConfig::read("a0", &Offload::FOR_PACKET_SOCKET).and_then(|saved| saved.take_over()),
            );
            assert_eq!(offloads, "cannot set offloads of `a0`: not permitted, needs CAP_NET_ADMIN");
            let network = text(NetNs::new().map(drop));
            assert_eq!(network, "cannot create a network namespace: not permitted, needs CAP_SYS_ADMIN");
            assert_eq!(RawSocket::open(1).unwrap_err().kind(), ErrorKind::PermissionDenied);
        };
        let here = NetNs::current().unwrap();
        here.run(unprivileged).unwrap();
        let with_raw = || {
            keep_only(&[Capability::NetRaw]).unwrap();
            assert!(RawSocket::open(Interface::by_name("a0").unwrap().index).is_ok());
            assert!(net::set_up("a0", false).is_err());
        };
        here.run(with_raw).unwrap();
    });
}
