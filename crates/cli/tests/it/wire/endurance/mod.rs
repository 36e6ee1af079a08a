//! The life of a protected link: losses and bursts both ways, relays killed at either end, an interface that goes down and up. Nothing
//! arrives twice, what is protected comes in order, and what does not arrive is accounted for.

mod traffic;

use std::thread;
use std::time::Duration;

use wiremend_dataplane::cable::Ailment;
use wiremend_dataplane::net;

use super::account::Account;
use super::line::{Line, Side};
use super::relay_net::in_own_network;
use super::until;
use traffic::{Received, Traffic};

/// A relay waits for a frame for far longer than any process waits for the processor, and so takes the other one for gone only if it
/// is.
const RELAY: &str = "--active --copies 4 --rate 100Mbps --give-up 1s";
const WIRE: &str = "--rate 100Mbps --queue 1MiB";
/// Frames that are hit in each direction before an ailment has shown what it does.
const HITS: u64 = 100;

#[test]
fn a_life_of_trouble() {
    in_own_network(trouble);
}

/// The same core on ports past the kernel's stack.
#[test]
fn ports_past_the_stack_protect_too() {
    for port in ["xdp", "xdp-generic"] {
        in_own_network(|| {
            let line = Line::build(&format!("{RELAY} --switch-offloads --port {port}"), WIRE);
            line.await_protection();
            assert_eq!(line.status(Side::A).unwrap().port, "xdp");
            losses_are_masked(&line, Ailment { loss: 2e-2, ..Ailment::default() });
        });
    }
}

fn trouble() {
    let line = Line::build(RELAY, WIRE);
    line.await_protection();
    let bytes_before = Side::BOTH.map(|side| line.resident_bytes(side));
    for ailment in [
        Ailment { loss: 1e-2, ..Ailment::default() },
        Ailment { loss: 5e-2, ..Ailment::default() },
        Ailment { loss: 2e-2, burst_frames: Some(4.0), ..Ailment::default() },
        Ailment { bit_error_rate: 1e-6, ..Ailment::default() },
    ] {
        losses_are_masked(&line, ailment);
    }
    for side in Side::BOTH {
        let (before, now) = (bytes_before[side as usize], line.resident_bytes(side));
        assert!(now < before + before / 2 + (8 << 20), "{side:?}: {before} B, now {now} B");
    }
    line.impair(Ailment { loss: 1e-3, ..Ailment::default() });
    for side in Side::BOTH {
        let killed = line.status(side).unwrap().pid;
        protection_comes_back(&line, || line.kill(side));
        assert_ne!(line.status(side).unwrap().pid, killed, "another process carries frames");
    }
    protection_comes_back(&line, || {
        net::set_up(Side::A.link(), false).unwrap();
        wait(1);
        net::set_up(Side::A.link(), true).unwrap();
    });
    the_link_is_as_good_as_new(&line);
}

/// Both ways at once, until enough is hit: few stay lost, and no more than that are missing.
fn losses_are_masked(line: &Line, ailment: Ailment) {
    let before = Account::new(line);
    let since = || Account::new(line).since(&before);
    let traffic = Traffic::begin();
    line.impair(ailment);
    until("enough is hit", || since().corrupted.iter().all(|hits| *hits >= HITS));
    line.impair(Ailment::default());
    let received = traffic.end(|received| are_explained(&since(), received));
    let account = since();
    for (to, received) in Received::BY_SIDE.into_iter().zip(&received) {
        orderly(received, account.kept_order(to, &before));
        assert!(account.explains(to, received.missing()), "{ailment:?}: {account:?}; {received:?}");
        assert!(account.lost[to as usize] <= received.missing(), "{ailment:?}: {account:?}; {received:?}");
        assert!(account.is_masked(to), "{ailment:?}: {account:?}; {received:?}");
    }
    assert!(account.recovered.iter().all(|recovered| *recovered > 0), "{ailment:?}: {account:?}");
}

/// Something interrupts the link while frames cross it. Nothing comes twice. From when it is protected again, frames come in order, and none
/// is missing that is not accounted for; until then what the kernel forwards may overtake what a relay has just taken.
fn protection_comes_back(line: &Line, interrupt: impl FnOnce()) {
    let traffic = Traffic::begin();
    until("frames cross", || traffic.arrived().iter().all(|arrived| *arrived > 1000));
    interrupt();
    line.await_protection();
    let (before, sent) = (Account::new(line), traffic.sent());
    let since = || Account::new(line).since(&before);
    until("frames cross again", || traffic.sent().iter().zip(sent).all(|(now, then)| *now > then + 1000));
    let later = |received: &[Received; 2]| [0, 1].map(|way: usize| received[way].clone().since(sent[way]));
    let received = traffic.end(|received| are_explained(&since(), &later(received)));
    for received in &received {
        assert_eq!((received.repeated(), received.damaged), (0, 0), "{received:?}");
    }
    let account = since();
    for (to, received) in Received::BY_SIDE.into_iter().zip(&later(&received)) {
        orderly(received, account.kept_order(to, &before));
        assert!(account.explains(to, received.missing()), "{account:?}; {received:?}");
    }
}

fn the_link_is_as_good_as_new(line: &Line) {
    line.impair(Ailment::default());
    let before = Account::new(line);
    let since = || Account::new(line).since(&before);
    let traffic = Traffic::begin();
    until("frames cross", || traffic.arrived().iter().all(|arrived| *arrived > 1000));
    let received = traffic.end(|received| are_explained(&since(), received));
    let account = since();
    for (to, received) in Received::BY_SIDE.into_iter().zip(&received) {
        orderly(received, account.kept_order(to, &before));
        assert!(account.explains(to, received.missing()), "{account:?}; {received:?}");
    }
}

fn are_explained(account: &Account, received: &[Received; 2]) -> bool {
    Received::BY_SIDE.into_iter().zip(received).all(|(to, received)| account.explains(to, received.missing()))
}

fn orderly(received: &Received, in_order: bool) {
    assert!(received.arrived() > 0, "{received:?}");
    assert_eq!((received.repeated(), received.damaged), (0, 0), "{received:?}");
    assert!(!in_order || received.disordered() == 0, "{received:?}");
}

fn wait(seconds: u64) {
    thread::sleep(Duration::from_secs(seconds));
}
