//! Endurance of a protected link: losses and bursts in both directions, killed relays, an interface that goes down and up. Nothing
//! arrives twice, protected frames arrive in order, and counters account for missing frames.

mod traffic;

use std::thread;
use std::time::Duration;

use wiremend_dataplane::net;
use wiremend_dataplane::wire::ImpairmentSettings;

use super::account::Account;
use super::line::{Line, Side};
use super::relay_net::in_own_network;
use super::until;
use traffic::{Received, Traffic};

/// A relay waits for a frame much longer than a process waits for a CPU, so it declares the other end dead only if it
/// is.
const RELAY: &str = "--active --copies 4 --rate 100Mbps --give-up 1s";
const WIRE: &str = "--rate 100Mbps --queue 1MiB";
/// Number of dropped frames per direction before the next impairment.
const HITS: u64 = 100;

#[test]
fn a_protected_link_survives_faults() {
    in_own_network(trouble);
}

/// The same with `AF_XDP` ports.
#[test]
fn ports_past_the_stack_protect_too() {
    for port in ["xdp", "xdp-generic"] {
        in_own_network(|| {
            let line = Line::build(&format!("{RELAY} --disable-offloads --port {port}"), WIRE);
            line.await_protection();
            assert_eq!(line.status(Side::A).unwrap().port, "xdp");
            losses_are_masked(&line, ImpairmentSettings { loss: 2e-2, ..ImpairmentSettings::default() });
        });
    }
}

fn trouble() {
    let line = Line::build(RELAY, WIRE);
    line.await_protection();
    let bytes_before = Side::BOTH.map(|side| line.resident_bytes(side));
    for impairment in [
        ImpairmentSettings { loss: 1e-2, ..ImpairmentSettings::default() },
        ImpairmentSettings { loss: 5e-2, ..ImpairmentSettings::default() },
        ImpairmentSettings { loss: 2e-2, burst_frames: Some(4.0), ..ImpairmentSettings::default() },
        ImpairmentSettings { bit_error_rate: 1e-6, ..ImpairmentSettings::default() },
    ] {
        losses_are_masked(&line, impairment);
    }
    for side in Side::BOTH {
        let (before, now) = (bytes_before[side as usize], line.resident_bytes(side));
        assert!(now < before + before / 2 + (8 << 20), "{side:?}: {before} B, now {now} B");
    }
    line.impair(ImpairmentSettings { loss: 1e-3, ..ImpairmentSettings::default() });
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

/// Traffic in both directions until enough frames are dropped: few stay lost, and no more are missing.
fn losses_are_masked(line: &Line, impairment: ImpairmentSettings) {
    let before = Account::new(line);
    let since = || Account::new(line).since(&before);
    let traffic = Traffic::begin();
    line.impair(impairment);
    until("enough is hit", || since().corrupted.iter().all(|hits| *hits >= HITS));
    line.impair(ImpairmentSettings::default());
    let received = traffic.end(|received| are_explained(&since(), received));
    let account = since();
    for (to, received) in Received::BY_SIDE.into_iter().zip(&received) {
        orderly(received, account.kept_order(to, &before));
        assert!(account.explains(to, received.missing()), "{impairment:?}: {account:?}; {received:?}");
        assert!(account.lost[to as usize] <= received.missing(), "{impairment:?}: {account:?}; {received:?}");
        assert!(account.is_masked(to), "{impairment:?}: {account:?}; {received:?}");
    }
    assert!(account.recovered.iter().all(|recovered| *recovered > 0), "{impairment:?}: {account:?}");
}

/// Something interrupts the link during traffic. Nothing arrives twice. Once it is protected again, frames arrive in order, and none
/// is missing without a counter; until then frames that the kernel forwards may overtake those of the relay.
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
    line.impair(ImpairmentSettings::default());
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
