//! Two minutes in the life of a protected link: losses and bursts both ways, relays killed at either end, an interface that goes
//! down and up. Nothing arrives twice or out of order, and what does not arrive is counted.

mod traffic;

use std::time::{Duration, Instant};

use wiremend_dataplane::cable::Ailment;
use wiremend_dataplane::net;

use crate::line::{Line, Side};
use crate::relay_net::in_own_network;
use traffic::{Received, both_ways};

#[test]
fn two_minutes_of_trouble() {
    in_own_network(trouble);
}

/// The same core on ports past the kernel's stack.
#[test]
fn ports_past_the_stack_protect_too() {
    in_own_network(|| past_the_stack("xdp"));
    in_own_network(|| past_the_stack("xdp-generic"));
}

fn past_the_stack(port: &str) {
    let options = format!("--active --copies 4 --rate 200Mbps --switch-offloads --port {port}");
    let line = Line::build(&options, "--rate 200Mbps --queue 1MiB");
    line.await_protection();
    assert_eq!(line.status(Side::A).unwrap().port, "xdp");
    let received = both_ways(|| {
        line.impair(Ailment { loss: 2e-2, ..Ailment::default() });
        wait(3);
    });
    for (side, received) in [Side::B, Side::A].into_iter().zip(&received) {
        orderly(received);
        assert_eq!(received.missing(), lost(&line, side), "{port}: {received:?}");
    }
    assert!(line.status(Side::A).unwrap().link_counts["recovered"] > 50);
}

fn trouble() {
    let line = Line::build("--active --copies 4 --rate 200Mbps", "--rate 200Mbps --queue 1MiB");
    line.await_protection();
    let bytes_before = Side::BOTH.map(|side| line.resident_bytes(side));

    losses_are_masked(&line);
    assert_eq!(line.wire_status().unwrap().kernel_dropped, [0, 0]);
    for side in Side::BOTH {
        assert_eq!(line.status(side).unwrap().kernel_dropped, [0, 0], "{side:?}");
        let (before, now) = (bytes_before[side as usize], line.resident_bytes(side));
        assert!(now < before + before / 2 + (8 << 20), "{side:?}: {before} B, now {now} B");
    }
    for side in Side::BOTH {
        a_killed_relay_costs_a_bounded_outage(&line, side);
    }
    an_interface_goes_down_and_up(&line);
    the_link_is_as_good_as_new(&line);
}

/// Up to 5 % are lost, in bursts too, both ways.
fn losses_are_masked(line: &Line) {
    let ailments = [
        Ailment { loss: 1e-2, ..Ailment::default() },
        Ailment { loss: 5e-2, ..Ailment::default() },
        Ailment { loss: 2e-2, burst_frames: Some(4.0), ..Ailment::default() },
        Ailment { bit_error_rate: 1e-6, ..Ailment::default() },
    ];
    for ailment in ailments {
        let before = Account::of(line);
        let received = both_ways(|| {
            line.impair(ailment);
            wait(17);
        });
        let account = Account::of(line).since(&before);
        for (to, received) in [(Side::B, &received[0]), (Side::A, &received[1])] {
            orderly(received);
            let (lost, missing) = (account.lost[to as usize], received.missing());
            // On a machine with too much to do, recovery is at times too late. Even then few of those that are hit stay lost.
            let masked = lost * 1000 < received.sent || lost * 10 < account.corrupted;
            assert!(masked, "{ailment:?}: {lost} of {} lost; {account:?}", received.sent);
            if account.reopened == 0 {
                assert_eq!(missing, lost, "{ailment:?}: all that is missing is counted; {received:?}");
            } else {
                // A machine with too much to do has let a relay wait for as long as if it were gone. What was under way is of unknown
                // fate, and until the next start frames went unprotected.
                println!("{ailment:?}: {account:?}, {missing} missing");
                assert!(missing <= lost + account.abandoned + account.corrupted, "{account:?}; {received:?}");
            }
        }
    }
    assert!(line.status(Side::A).unwrap().link_counts["recovered"] > 1000);
}

fn a_killed_relay_costs_a_bounded_outage(line: &Line, side: Side) {
    line.impair(Ailment { loss: 1e-3, ..Ailment::default() });
    let abandoned = |side: Side| line.status(side).unwrap().link_counts["abandoned"];
    let survivor = if side == Side::A { Side::B } else { Side::A };
    let before = abandoned(survivor);
    let received = both_ways(|| {
        wait(3);
        line.kill(side);
        wait(7);
        line.await_protection();
        wait(2);
    });
    let epochs = abandoned(survivor) - before;
    for received in &received {
        orderly(received);
        println!(
            "{side:?} killed: silent for {:?}, {} missing, {epochs} unknown",
            received.silence,
            received.missing()
        );
        assert!(received.silence < Duration::from_secs(1), "{received:?}");
        assert!(received.missing() < received.sent / 20, "{received:?}");
    }
}

fn an_interface_goes_down_and_up(line: &Line) {
    let received = both_ways(|| {
        wait(2);
        net::set_up(Side::A.link(), false).unwrap();
        wait(1);
        net::set_up(Side::A.link(), true).unwrap();
        wait(5);
        line.await_protection();
        wait(2);
    });
    for received in &received {
        orderly(received);
        println!("down and up: silent for {:?}, {} missing", received.silence, received.missing());
        assert!(received.silence < Duration::from_secs(3), "{received:?}");
    }
}

fn the_link_is_as_good_as_new(line: &Line) {
    line.impair(Ailment::default());
    let before = Account::of(line);
    let received = both_ways(|| wait(5));
    let account = Account::of(line).since(&before);
    for received in &received {
        orderly(received);
        // Nothing is lost, unless a machine with too much to do has let a relay wait for as long as if it were gone.
        assert!(received.missing() <= account.abandoned, "{account:?}; {received:?}");
        assert!(account.abandoned == 0 || account.reopened > 0, "{account:?}");
    }
}

fn orderly(received: &Received) {
    assert!(received.arrived > 0, "{received:?}");
    assert_eq!((received.disordered, received.damaged), (0, 0), "{received:?}");
}

/// What was counted of frames that did not arrive.
#[derive(Clone, Debug)]
struct Account {
    /// Given up by the relay on each side.
    lost: [u64; 2],
    /// Starts anew, and frames of unknown fate at these, of both.
    reopened: u64,
    abandoned: u64,
    /// By the wire, both ways.
    corrupted: u64,
}

impl Account {
    fn of(line: &Line) -> Self {
        let sum =
            |name: &str| Side::BOTH.iter().map(|side| line.status(*side).unwrap().link_counts[name]).sum();
        let wire = line.wire_status().unwrap();
        Self {
            lost: Side::BOTH.map(|side| lost(line, side)),
            reopened: sum("reopened"),
            abandoned: sum("abandoned"),
            corrupted: wire.forth.crc_errors + wire.back.crc_errors,
        }
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            lost: [0, 1].map(|side: usize| self.lost[side] - before.lost[side]),
            reopened: self.reopened - before.reopened,
            abandoned: self.abandoned - before.abandoned,
            corrupted: self.corrupted - before.corrupted,
        }
    }
}

/// Frames that the relay on this side has given up.
fn lost(line: &Line, side: Side) -> u64 {
    line.status(side).unwrap().link_counts["lost"]
}

fn wait(seconds: u64) {
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(50));
    }
}
