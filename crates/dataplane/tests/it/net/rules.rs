//! tc rules, tested with frames.

use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use wiremend_dataplane::net::tc::{self, FilterCounts, IngressRule};
use wiremend_dataplane::net::{self, Address, NetNs};
use wiremend_dataplane::sys::raw::{CapturedFrame, RawSocket};

use super::namespace::{
    LINK, QUIET_TIME, TIME_LIMIT, await_incoming, frame, frame_with_length, in_own_namespace, quiet_pair,
    redirect, skip,
};

/// Frames cross unchanged, tags included. Untagged link frames do not cross.
#[test]
fn redirect_connects_two_ports() {
    in_own_namespace(|| {
        let ([a0, a1], [b0, _b1]) = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        let rule = redirect("a1", "b1");
        rule.apply().unwrap();
        assert_eq!(IngressRule::read("a1").unwrap(), Some(rule));
        assert_eq!(IngressRule::read("b1").unwrap(), None);

        for (length, ethertype) in [(60, 0x0800), (60, 0x86DD), (1514, 0x0806), (61, 0x88CC)] {
            let sent = frame_with_length(length, ethertype, 3);
            a0.send(&sent).unwrap();
            assert_eq!(
                await_incoming(&b0),
                CapturedFrame { frame: sent.clone(), tag: None, outgoing: false }
            );
            assert_eq!(await_incoming(&a1).frame, sent, "a packet socket receives it too");
        }
        for (inner, tci) in [(0x0800, 0x2005), (LINK, 0x0FFE), (0x8100, 1)] {
            a0.send(&tagged(inner, tci)).unwrap();
            let seen = await_incoming(&b0);
            assert_eq!(seen.tag, Some((0x8100, tci)));
            assert_eq!(seen.frame, frame(inner, 9));
        }
        a0.send(&frame(LINK, 4)).unwrap();
        a0.send(&frame(0x1234, 5)).unwrap();
        assert_eq!(await_incoming(&b0).frame, frame(0x1234, 5), "the link frame does not cross");
        assert_eq!(tc::counts("a1").unwrap(), FilterCounts { redirected: 8, redirect_failed: 0, dropped: 1 });
    });
}

#[test]
fn dropped_frames_reach_packet_sockets_only() {
    in_own_namespace(|| {
        let ([a0, a1], [b0, _b1]) = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        net::add_address("a1", host()).unwrap();
        a0.send(&arp_request()).unwrap();
        await_arp_reply(&a0);

        let rule = IngressRule::Drop { on: "a1".to_owned() };
        rule.apply().unwrap();
        assert_eq!(IngressRule::read("a1").unwrap(), Some(rule));
        drain(&[&a0, &a1, &b0]);
        a0.send(&arp_request()).unwrap();
        assert_eq!(await_incoming(&a1).frame, arp_request());
        assert!(!has_arp_reply(&a0) && b0.receive(QUIET_TIME).unwrap().is_none());

        tc::clear("a1").unwrap();
        assert_eq!(IngressRule::read("a1").unwrap(), None);
        a0.send(&arp_request()).unwrap();
        await_arp_reply(&a0);
    });
}

/// The rule changes many times while ARP requests arrive; none of them reaches the host.
#[test]
fn rule_changes_are_atomic() {
    in_own_namespace(|| {
        let ([a0, _a1], [b0, _b1]) = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        net::add_address("a1", host()).unwrap();
        let (redirect_rule, drop_rule) = (redirect("a1", "b1"), IngressRule::Drop { on: "a1".to_owned() });
        drop_rule.apply().unwrap();
        let request_count = AtomicU64::new(0);
        let await_more_requests = || {
            let enough = request_count.load(Relaxed) + 3;
            while request_count.load(Relaxed) < enough {
                std::thread::yield_now();
            }
        };
        let here = NetNs::current().unwrap();
        let (mut crossed, mut reply_count) = (0, 0);
        std::thread::scope(|scope| {
            let changes = scope.spawn(|| {
                here.run(|| {
                    for _ in 0..200 {
                        redirect_rule.apply().unwrap();
                        await_more_requests();
                        drop_rule.apply().unwrap();
                        await_more_requests();
                    }
                })
            });
            while !changes.is_finished() {
                a0.send(&arp_request()).unwrap();
                request_count.fetch_add(1, Relaxed);
                while let Some(seen) = a0.receive(Duration::ZERO).unwrap() {
                    reply_count += u64::from(is_arp_reply(&seen));
                }
                while b0.receive(Duration::ZERO).unwrap().is_some() {
                    crossed += 1;
                }
            }
            changes.join().unwrap().unwrap();
        });
        assert!(
            reply_count == 0 && !has_arp_reply(&a0),
            "the host has has_arp_reply {reply_count} questions"
        );
        let request_count = request_count.into_inner();
        assert!(
            crossed > 0 && crossed < request_count,
            "{crossed} of {request_count} crossed: both rules held for a while"
        );
    });
}

#[test]
fn filters_and_qdiscs_of_other_programs_are_unchanged() {
    in_own_namespace(|| {
        let _ports = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        let rule = redirect("a1", "b1");
        let tc = |arguments: &str| {
            let output =
                Command::new("tc").args(arguments.split(' ').map(|word| word.replace('_', " "))).output();
            output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let Some(none) = tc("qdisc show dev a1") else {
            return skip("there is no tc(8) to act as another program");
        };
        rule.apply().unwrap();
        assert!(tc("qdisc show dev a1").unwrap().contains("clsact"));
        assert_eq!(tc::foreign_filter_count("a1").unwrap(), 0);
        tc::clear("a1").unwrap();
        assert_eq!(tc("qdisc show dev a1").unwrap(), none, "our qdisc is removed");

        tc("qdisc add dev a1 clsact").unwrap();
        rule.apply().unwrap();
        tc::clear("a1").unwrap();
        assert!(tc("qdisc show dev a1").unwrap().contains("clsact"), "the other program's qdisc stays");
        tc("qdisc del dev a1 clsact").unwrap();

        rule.apply().unwrap();
        tc("filter add dev a1 ingress prio 7 protocol all bpf da bytecode 1,6_0_0_4294967295").unwrap();
        assert_eq!(tc::foreign_filter_count("a1").unwrap(), 1);
        tc::clear("a1").unwrap();
        assert_eq!(
            tc::foreign_filter_count("a1").unwrap(),
            1,
            "our qdisc stays while another program uses it"
        );
        assert_eq!(IngressRule::read("a1").unwrap(), None);

        tc("filter add dev a1 ingress prio 30573 protocol all bpf da bytecode 1,6_0_0_0").unwrap();
        let refused = rule.apply().unwrap_err().to_string();
        assert!(refused.contains("`bpf` filter of another program has the priority 30573"), "{refused}");
    });
}

#[test]
fn redirect_to_missing_port_drops() {
    in_own_namespace(|| {
        let ([a0, _a1], [_b0, _b1]) = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        net::add_address("a1", host()).unwrap();
        redirect("a1", "b1").apply().unwrap();
        net::set_up("b1", false).unwrap();
        a0.send(&arp_request()).unwrap();
        assert!(!has_arp_reply(&a0));
        assert_eq!(tc::counts("a1").unwrap().redirect_failed, 1);
        net::delete("b1").unwrap();
        a0.send(&arp_request()).unwrap();
        assert!(!has_arp_reply(&a0));
        assert!(
            matches!(IngressRule::read("a1").unwrap(), Some(IngressRule::Redirect { to, .. }) if to == "(gone)")
        );
    });
}

/// Address of the host on a redirected port. An ARP reply shows that a request has reached the host.
fn host() -> Address {
    Address { ip: IpAddr::from([198, 18, 7, 1]), prefix: 24 }
}

/// An ARP request for the address of [`host`].
fn arp_request() -> Vec<u8> {
    let mut frame = vec![0xFF; 6];
    frame.extend([2, 0, 0, 0, 0, 9, 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1]);
    frame.extend([2, 0, 0, 0, 0, 9, 198, 18, 7, 2, 0, 0, 0, 0, 0, 0, 198, 18, 7, 1]);
    frame.resize(60, 0);
    frame
}

fn is_arp_reply(seen: &CapturedFrame) -> bool {
    !seen.outgoing && seen.frame.get(12..14) == Some(&[0x08, 0x06]) && seen.frame.get(20..22) == Some(&[0, 2])
}

fn has_arp_reply(socket: &RawSocket) -> bool {
    std::iter::from_fn(|| socket.receive(QUIET_TIME).unwrap()).any(|seen| is_arp_reply(&seen))
}

fn await_arp_reply(socket: &RawSocket) {
    while !is_arp_reply(&socket.receive(TIME_LIMIT).unwrap().expect("the host reply_count")) {}
}

fn drain(sockets: &[&RawSocket]) {
    for socket in sockets {
        while socket.receive(QUIET_TIME).unwrap().is_some() {}
    }
}

fn tagged(inner: u16, tci: u16) -> Vec<u8> {
    let mut frame = frame(inner, 9);
    frame.splice(12..12, [0x81, 0, (tci >> 8) as u8, tci as u8]);
    frame
}
