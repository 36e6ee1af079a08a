//! Redirects and drops, shown with frames.

use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use wiremend_dataplane::net::tc::{self, Counts, Rule};
use wiremend_dataplane::net::{self, Address, NetNs};
use wiremend_dataplane::sys::plain::{PlainSocket, Seen};

use super::own::{
    LINK, NOTHING, SOON, await_incoming, frame, frame_of, in_own_network, quiet_pair, redirect, skip,
};

/// Frames cross in the kernel whole, tags included; the link's own type does not cross, unless inside a tag.
#[test]
fn a_redirect_joins_two_ports() {
    in_own_network(|| {
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
        assert_eq!(tc::counts("a1").unwrap(), Counts { redirected: 8, untaken: 0, dropped: 1 });
    });
}

/// What is dropped reaches packet sockets, and neither the other port nor the host.
#[test]
fn a_drop_keeps_frames_from_the_host_only() {
    in_own_network(|| {
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
    in_own_network(|| {
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
    in_own_network(|| {
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
    in_own_network(|| {
        let ([a0, _a1], [_b0, _b1]) = (quiet_pair("a0", "a1"), quiet_pair("b0", "b1"));
        net::add_address("a1", host()).unwrap();
        redirect("a1", "b1").apply().unwrap();
        net::set_up("b1", false).unwrap();
        a0.send(&question()).unwrap();
        assert!(!answered(&a0));
        assert_eq!(tc::counts("a1").unwrap().untaken, 1);
        net::delete("b1").unwrap();
        a0.send(&question()).unwrap();
        assert!(!answered(&a0));
        assert!(matches!(Rule::on("a1").unwrap(), Some(Rule::Redirect { to, .. }) if to == "(gone)"));
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

fn drain(sockets: &[&PlainSocket]) {
    for socket in sockets {
        while socket.receive(NOTHING).unwrap().is_some() {}
    }
}

/// The frame that is `frame(inner, 9)` without its tag.
fn tagged(inner: u16, tci: u16) -> Vec<u8> {
    let mut frame = frame(inner, 9);
    frame.splice(12..12, [0x81, 0, (tci >> 8) as u8, tci as u8]);
    frame
}
