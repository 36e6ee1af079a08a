//! Interfaces, filters and offloads of a real kernel, in network namespaces that each test makes for itself.
//!
//! As root they run as they are. Without, each test starts itself once more in a user namespace; where there are none it says
//! so and is skipped, or fails if `CI` is set.
#![cfg(target_os = "linux")]

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use wiremend_dataplane::net::tc::{self, Rule};
use wiremend_dataplane::net::{self, Address, End, Interface, NetNs, Refused};
use wiremend_dataplane::sys::namespace::start_in_user;
use wiremend_dataplane::sys::plain::{PlainSocket, Seen};

const LINK: u16 = 0x88B5;
const SOON: Duration = Duration::from_secs(5);
const NOTHING: Duration = Duration::from_millis(50);

#[test]
fn interfaces_are_made_changed_and_removed() {
    in_own_network("interfaces_are_made_changed_and_removed", || {
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
    in_own_network("counters_count", || {
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
    in_own_network("a_silenced_port_sends_nothing", || {
        net::new_veth(End::here("a0"), End::here("a1")).unwrap();
        net::set_up("a0", true).unwrap();
        net::set_up("a1", true).unwrap();
        let made_up = |name| Interface::by_name(name).unwrap().addresses.len();
        assert!(made_up("a0") == 1 && made_up("a1") == 1, "the kernel makes up an IPv6 address");
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

/// Frames cross in the kernel whole, tags included; the link's own type does not cross, unless inside a tag.
#[test]
fn a_redirect_joins_two_ports() {
    in_own_network("a_redirect_joins_two_ports", || {
        let ([a0, a1], [b0, _b1]) = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        let rule = redirect("a1", "b1");
        rule.apply().unwrap();
        assert_eq!(Rule::on("a1").unwrap(), Some(rule));
        assert_eq!(Rule::on("b1").unwrap(), None);

        for (length, ethertype) in [(60, 0x0800), (60, 0x86DD), (1514, 0x0806), (61, 0x88CC)] {
            let sent = frame_of(length, ethertype, 3);
            a0.send(&sent).unwrap();
            assert_eq!(await_incoming(&b0), Seen { frame: sent.clone(), tag: None, outgoing: false });
            assert_eq!(await_incoming(&a1).frame, sent, "a packet socket sees it on the way");
        }
        for (inner, tci) in [(0x0800, 0x2005), (LINK, 0x0FFE), (0x8100, 1)] {
            a0.send(&tagged(inner, tci)).unwrap();
            let seen = await_incoming(&b0);
            assert_eq!(seen.tag, Some((0x8100, tci)));
            assert_eq!(seen.frame, frame(inner, 9));
        }
        a0.send(&frame(LINK, 4)).unwrap();
        a0.send(&frame(0x1234, 5)).unwrap();
        assert_eq!(await_incoming(&b0).frame, frame(0x1234, 5), "the link's own frame does not cross");
    });
}

/// What is dropped reaches packet sockets, and neither the other port nor the host.
#[test]
fn a_drop_keeps_frames_from_the_host_only() {
    in_own_network("a_drop_keeps_frames_from_the_host_only", || {
        let ([a0, a1], [b0, _b1]) = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        net::add_address("a1", host()).unwrap();
        a0.send(&question()).unwrap();
        await_answer(&a0);

        let rule = Rule::Drop { on: "a1".to_owned() };
        rule.apply().unwrap();
        assert_eq!(Rule::on("a1").unwrap(), Some(rule));
        drain(&[&a0, &a1, &b0]);
        a0.send(&question()).unwrap();
        assert_eq!(await_incoming(&a1).frame, question());
        assert!(!answered(&a0) && b0.receive(NOTHING).unwrap().is_none());

        tc::clear("a1").unwrap();
        assert_eq!(Rule::on("a1").unwrap(), None);
        a0.send(&question()).unwrap();
        await_answer(&a0);
    });
}

/// Under a stream of questions to the host the rule changes many times; not one question gets through to be answered.
#[test]
fn rules_change_without_a_gap() {
    in_own_network("rules_change_without_a_gap", || {
        let ([a0, _a1], [b0, _b1]) = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        net::add_address("a1", host()).unwrap();
        let (joined, kept) = (redirect("a1", "b1"), Rule::Drop { on: "a1".to_owned() });
        kept.apply().unwrap();
        let asked = AtomicU64::new(0);
        let some_more = || {
            let enough = asked.load(Relaxed) + 3;
            while asked.load(Relaxed) < enough {
                std::thread::yield_now();
            }
        };
        let here = NetNs::current().unwrap();
        let (mut crossed, mut answers) = (0, 0);
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| {
                here.run(|| {
                    for _ in 0..200 {
                        joined.apply().unwrap();
                        some_more();
                        kept.apply().unwrap();
                        some_more();
                    }
                })
            });
            while !changes.is_finished() {
                a0.send(&question()).unwrap();
                asked.fetch_add(1, Relaxed);
                while let Some(seen) = a0.receive(Duration::ZERO).unwrap() {
                    answers += u64::from(is_answer(&seen));
                }
                while b0.receive(Duration::ZERO).unwrap().is_some() {
                    crossed += 1;
                }
            }
            changes.join().unwrap().unwrap();
        });
        assert!(answers == 0 && !answered(&a0), "the host has answered {answers} questions");
        let asked = asked.into_inner();
        assert!(crossed > 0 && crossed < asked, "{crossed} of {asked} crossed: both rules held for a while");
    });
}

/// What others have put on a port stays; a queue is removed only if it was ours.
#[test]
fn filters_and_queues_of_others_are_left_alone() {
    in_own_network("filters_and_queues_of_others_are_left_alone", || {
        let _ports = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        let rule = redirect("a1", "b1");
        let tc = |arguments: &str| {
            let output =
                Command::new("tc").args(arguments.split(' ').map(|word| word.replace('_', " "))).output();
            output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let Some(none) = tc("qdisc show dev a1") else {
            return skip(
                "filters_and_queues_of_others_are_left_alone",
                "there is no tc(8) to act as another program",
            );
        };
        rule.apply().unwrap();
        assert!(tc("qdisc show dev a1").unwrap().contains("clsact"));
        assert_eq!(tc::others("a1").unwrap(), 0);
        tc::clear("a1").unwrap();
        assert_eq!(tc("qdisc show dev a1").unwrap(), none, "ours goes");

        tc("qdisc add dev a1 clsact").unwrap();
        rule.apply().unwrap();
        tc::clear("a1").unwrap();
        assert!(tc("qdisc show dev a1").unwrap().contains("clsact"), "theirs stays");
        tc("qdisc del dev a1 clsact").unwrap();

        rule.apply().unwrap();
        tc("filter add dev a1 ingress prio 7 protocol all bpf da bytecode 1,6_0_0_4294967295").unwrap();
        assert_eq!(tc::others("a1").unwrap(), 1);
        tc::clear("a1").unwrap();
        assert_eq!(tc::others("a1").unwrap(), 1, "a queue of ours stays while others use it");
        assert_eq!(Rule::on("a1").unwrap(), None);

        tc("filter add dev a1 ingress prio 30573 protocol all bpf da bytecode 1,6_0_0_0").unwrap();
        let refused = rule.apply().unwrap_err().to_string();
        assert!(refused.contains("`bpf` filter of another program has the priority 30573"), "{refused}");
    });
}

/// A redirect whose other port is down or gone drops; it does not fall through to the host.
#[test]
fn a_redirect_to_nowhere_drops() {
    in_own_network("a_redirect_to_nowhere_drops", || {
        let ([a0, _a1], [_b0, _b1]) = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        net::add_address("a1", host()).unwrap();
        redirect("a1", "b1").apply().unwrap();
        net::set_up("b1", false).unwrap();
        a0.send(&question()).unwrap();
        assert!(!answered(&a0));
        net::delete("b1").unwrap();
        a0.send(&question()).unwrap();
        assert!(!answered(&a0));
        assert!(matches!(Rule::on("a1").unwrap(), Some(Rule::Redirect { to, .. }) if to == "(gone)"));
    });
}

#[test]
fn a_pair_spans_two_namespaces() {
    in_own_network("a_pair_spans_two_namespaces", || {
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
fn refusals_say_what_is_wrong() {
    in_own_network("refusals_say_what_is_wrong", || {
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

/// Where the test plays the host of a redirected port: its address, a question to it, and the answer that shows that the
/// question came through to the host's stack.
fn host() -> Address {
    Address { ip: IpAddr::from([198, 18, 7, 1]), prefix: 24 }
}

/// An ARP request for the address of [`host`].
fn question() -> Vec<u8> {
    let mut frame = vec![0xFF; 6];
    frame.extend([2, 0, 0, 0, 0, 9, 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1]);
    frame.extend([2, 0, 0, 0, 0, 9, 198, 18, 7, 2, 0, 0, 0, 0, 0, 0, 198, 18, 7, 1]);
    frame.resize(60, 0);
    frame
}

fn is_answer(seen: &Seen) -> bool {
    !seen.outgoing && seen.frame.get(12..14) == Some(&[0x08, 0x06]) && seen.frame.get(20..22) == Some(&[0, 2])
}

fn answered(socket: &PlainSocket) -> bool {
    std::iter::from_fn(|| socket.receive(NOTHING).unwrap()).any(|seen| is_answer(&seen))
}

fn await_answer(socket: &PlainSocket) {
    while !is_answer(&socket.receive(SOON).unwrap().expect("the host answers")) {}
}

fn redirect(from: &str, to: &str) -> Rule {
    Rule::Redirect { from: from.to_owned(), to: to.to_owned(), except_ethertype: LINK }
}

/// A pair that is up and silent, and a socket on each end.
fn quiet_pair(a: &str, b: &str) -> [PlainSocket; 2] {
    net::new_veth(End::here(a), End::here(b)).unwrap();
    for name in [a, b] {
        net::silence(name).unwrap();
        net::set_up(name, true).unwrap();
    }
    [a, b].map(|name| {
        let interface = Interface::await_running(name, SOON).unwrap();
        assert!(interface.running);
        PlainSocket::open(interface.index).unwrap()
    })
}

fn frame(ethertype: u16, fill: u8) -> Vec<u8> {
    frame_of(60, ethertype, fill)
}

fn frame_of(length: usize, ethertype: u16, fill: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(ethertype.to_be_bytes());
    frame.resize(length, fill);
    frame
}

/// The frame that is `frame(inner, 9)` without its tag.
fn tagged(inner: u16, tci: u16) -> Vec<u8> {
    let mut frame = frame(inner, 9);
    frame.splice(12..12, [0x81, 0, (tci >> 8) as u8, tci as u8]);
    frame
}

fn await_incoming(socket: &PlainSocket) -> Seen {
    loop {
        let seen = socket.receive(SOON).unwrap().expect("a frame arrives");
        if !seen.outgoing {
            return seen;
        }
    }
}

fn drain(sockets: &[&PlainSocket]) {
    for socket in sockets {
        while socket.receive(NOTHING).unwrap().is_some() {}
    }
}

/// Runs `work` in an empty network of its own, with the rights to change it.
fn in_own_network(test: &str, work: impl FnOnce() + Send) {
    match NetNs::new() {
        Ok(network) => network.run(work).unwrap(),
        Err(Refused::NotPermitted { .. }) if !set("WIREMEND_TEST_INSIDE") => {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([test, "--exact", "--nocapture"]).env("WIREMEND_TEST_INSIDE", "1");
            start_in_user(&mut command);
            match command.status() {
                Ok(status) => assert!(status.success(), "failed inside a user namespace"),
                Err(error) => skip(test, &format!("neither root nor user namespaces: {error}")),
            }
        }
        Err(refused) => skip(test, &refused.to_string()),
    }
}

fn skip(test: &str, why: &str) {
    assert!(!set("CI"), "{test} must run where CI is set: {why}");
    eprintln!("skipped {test}: {why}");
}

#[expect(clippy::disallowed_methods, reason = "the environment says where a test runs")]
fn set(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}
