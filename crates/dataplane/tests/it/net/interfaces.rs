//! Facts and changes of interfaces.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::process::Command;
use std::thread::park_timeout;
use std::time::Duration;

use wiremend_dataplane::net::offload::Offload;
use wiremend_dataplane::net::tc::{self, Rule};
use wiremend_dataplane::net::{self, Address, Change, End, Interface, NetNs, Refused, Saved, Watch};
use wiremend_dataplane::sys::capability::{Capability, keep_only};
use wiremend_dataplane::sys::plain::PlainSocket;

use super::own::{SOON, await_incoming, frame, in_own_network, quiet_pair, redirect};

#[test]
fn interfaces_are_made_changed_and_removed() {
    in_own_network(|| {
        net::loopback_up().unwrap();
        assert!(Interface::by_name("lo").unwrap().up);
        assert!(!Interface::by_name("lo").unwrap().is_ethernet());

        net::new_veth(End::here("a"), End::here("b")).unwrap();
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
        assert_eq!(a.speed_mbps(), Some(10_000), "what the veth driver says of itself");

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
            matches!(Interface::by_name("t"), Err(Refused::NoSuchInterface { .. })),
            "it was not persistent"
        );
        net::delete("a").unwrap();
        assert!(matches!(Interface::by_name("b"), Err(Refused::NoSuchInterface { .. })), "both ends go");
    });
}

#[test]
fn counters_count() {
    in_own_network(|| {
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

/// After `silence` the host sends nothing by itself on a link that comes up, or is up already.
#[test]
fn a_silenced_port_sends_nothing() {
    in_own_network(|| {
        net::new_veth(End::here("a0"), End::here("a1")).unwrap();
        net::set_up("a0", true).unwrap();
        net::set_up("a1", true).unwrap();
        let made_up = |name| Interface::by_name(name).unwrap().addresses.len();
        // The kernel makes up an IPv6 address, a moment after there is a carrier.
        for _ in 0..SOON.as_millis() {
            if made_up("a0") == 1 && made_up("a1") == 1 {
                break;
            }
            park_timeout(Duration::from_millis(1));
        }
        assert!(made_up("a0") == 1 && made_up("a1") == 1);
        assert_eq!(Interface::by_name("a0").unwrap().given_addresses().count(), 0);
        net::silence("a0").unwrap();
        net::silence("a1").unwrap();
        assert!(made_up("a0") == 0 && made_up("a1") == 0);

        let quiet = quiet_pair("b0", "b1");
        for socket in &quiet {
            assert_eq!(socket.receive(Duration::from_millis(1500)).unwrap(), None);
        }
    });
}

#[test]
fn a_pair_spans_two_namespaces() {
    in_own_network(|| {
        let (left, right) = (NetNs::new().unwrap(), NetNs::new().unwrap());
        net::new_veth(End::within("eth0", left.as_fd()), End::within("eth0", right.as_fd())).unwrap();
        assert!(matches!(Interface::by_name("eth0"), Err(Refused::NoSuchInterface { .. })));
        let open = || {
            net::silence("eth0").unwrap();
            net::set_up("eth0", true).unwrap();
            PlainSocket::open(Interface::by_name("eth0").unwrap().index).unwrap()
        };
        let (a, b) = (left.run(open).unwrap(), right.run(open).unwrap());
        assert!(left.run(|| Interface::await_running("eth0", SOON).unwrap().running).unwrap());
        a.send(&frame(0x1234, 6)).unwrap();
        assert_eq!(await_incoming(&b).frame, frame(0x1234, 6));
        let child = left.spawn(|| Command::new("cat").arg("/proc/self/net/dev").output().unwrap()).unwrap();
        let listed = String::from_utf8(child.join().unwrap().unwrap().stdout).unwrap();
        assert!(
            listed.contains("eth0") && !listed.contains("a0"),
            "a process started inside is inside: {listed}"
        );
    });
}

#[test]
fn changes_are_heard_in_order() {
    in_own_network(|| {
        let mut watch = Watch::open().unwrap();
        assert_eq!(watch.changes().unwrap(), []);
        let _pair = quiet_pair("a0", "a1");
        let index = Interface::by_name("a0").unwrap().index;
        let mut states = Vec::new();
        let mut until = |wanted| {
            for _ in 0..SOON.as_millis() {
                let told = watch.changes().unwrap();
                states.extend(told.into_iter().filter_map(|change| match change {
                    Change::Now(now) if now.index == index => Some(Some((now.up, now.carrier))),
                    Change::Gone(gone) if gone == index => Some(None),
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
fn refusals_say_what_is_wrong() {
    in_own_network(|| {
        let text = |outcome: Result<(), Refused>| outcome.unwrap_err().to_string();
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
        assert_eq!(Rule::on("lo").unwrap(), None, "what is refused changes nothing");
        drop(net::open_tap("d", true).unwrap());
        assert_eq!(
            text(net::new_veth(End::here("e"), End::here("d"))),
            "an interface `e` or `d` exists already"
        );
        let long = text(net::open_tap("sixteen-bytes-xx", true).map(drop));
        assert_eq!(
            long,
            "cannot make an interface `sixteen-bytes-xx`: a name has 1 to 15 bytes, without `/`"
        );
        let tiny = text(net::set_mtu("d", u32::MAX));
        assert!(tiny.starts_with("cannot set the MTU of `d` to 4294967295: Invalid argument"), "{tiny}");
    });
}

/// Without privileges everything can be asked and nothing changed, and each refusal names the privilege.
#[test]
fn refusals_name_the_missing_privilege() {
    in_own_network(|| {
        let _ports = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        let rule = redirect("a1", "b1");
        rule.apply().unwrap();
        let unprivileged = || {
            keep_only(&[]).unwrap();
            let text = |outcome: Result<(), Refused>| outcome.unwrap_err().to_string();
            assert!(Interface::by_name("a0").unwrap().up);
            assert_eq!(Rule::on("a1").unwrap(), Some(rule));
            let up = text(net::set_up("a0", false));
            assert_eq!(up, "cannot bring `a0` down: not permitted, needs CAP_NET_ADMIN");
            let pair = text(net::new_veth(End::here("c0"), End::here("c1")));
            assert_eq!(pair, "cannot make the pair `c0` and `c1`: not permitted, needs CAP_NET_ADMIN");
            let drop_all = text(Rule::Drop { on: "a1".to_owned() }.apply());
            assert_eq!(drop_all, "cannot remove the filter from `a1`: not permitted, needs CAP_NET_ADMIN");
            let offloads = text(Saved::of("a0", &Offload::ALL).and_then(|saved| saved.take_over()));
            assert_eq!(offloads, "cannot switch offloads of `a0`: not permitted, needs CAP_NET_ADMIN");
            let network = text(NetNs::new().map(drop));
            assert_eq!(network, "cannot make a network namespace: not permitted, needs CAP_SYS_ADMIN");
            assert_eq!(PlainSocket::open(1).unwrap_err().kind(), ErrorKind::PermissionDenied);
        };
        let here = NetNs::current().unwrap();
        here.run(unprivileged).unwrap();
        let with_raw = || {
            keep_only(&[Capability::NetRaw]).unwrap();
            assert!(PlainSocket::open(Interface::by_name("a0").unwrap().index).is_ok());
            assert!(net::set_up("a0", false).is_err());
        };
        here.run(with_raw).unwrap();
    });
}
