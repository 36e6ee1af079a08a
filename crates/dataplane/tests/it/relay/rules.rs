//! Other programs change the tc rules of a relay, and a relay fails after it has worked.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use wiremend_dataplane::net::tc::{self, IngressRule};
use wiremend_dataplane::relay::{RESTART, Request, Supervisor, SupervisorSignals};

use super::hosts::Hosts;
use super::{LANS, LINKS, Relay, await_ports, await_protection, in_own_network, new_chain, settings};

/// `tc qdisc del dev … clsact`, as some programs do when they start or end.
#[test]
fn removed_rules_are_restored() {
    in_own_network(|| {
        new_chain();
        let relays = [0, 1].map(|end| Relay::start(end, false));
        for active in [false, true] {
            for name in [LANS[0], LINKS[1]] {
                tc::clear(name).unwrap();
                let (number, wanted) = if name == LANS[0] { (0, LINKS[0]) } else { (1, LANS[1]) };
                relays[number].await_status("the rule is there again", |_| {
                    match IngressRule::read(name).unwrap() {
                        Some(IngressRule::Redirect { to, .. }) => !active && to == wanted,
                        Some(IngressRule::Drop { .. }) => active,
                        None => false,
                    }
                });
                relays[number]
                    .await_notice(&format!("has changed the tc rules of `{name}`; they are restored"));
            }
            let hosts = Hosts::start(Duration::from_micros(450));
            std::thread::park_timeout(Duration::from_secs(1));
            hosts.assert_all_arrived(|| 0);
            if !active {
                for relay in &relays {
                    relay.ask(&Request::Activate);
                }
                await_protection(&relays);
            }
        }
        // The rules are needed at once.
        tc::clear(LANS[0]).unwrap();
        relays[0].ask(&Request::Deactivate);
        relays[0].await_status("the kernel forwards", |status| {
            !status.sending && matches!(IngressRule::read(LANS[0]), Ok(Some(IngressRule::Redirect { .. })))
        });
    });
}

/// Another process takes the place of one that has worked, whatever it says. If none can start, the kernel forwards.
#[test]
fn a_relay_that_fails_after_it_has_worked_is_replaced() {
    in_own_network(|| {
        new_chain();
        await_ports(0);
        for first_code in [3, RESTART] {
            assert_eq!(run_two(first_code), (Some(3), 2));
            assert!(matches!(IngressRule::read(LANS[0]), Ok(Some(IngressRule::Redirect { .. }))));
            for name in [LANS[0], LINKS[0]] {
                tc::clear(name).unwrap();
            }
        }
    });
}

/// Supervises a process that works and ends with `first_code`, then one that cannot start. Returns the last exit
/// code, and how many were started.
fn run_two(first_code: i32) -> (Option<i32>, u32) {
    let settings = settings(0);
    let (socket, seen_twice) = (settings.socket(), settings.run_dir.join("seen-twice"));
    // Called at each turn of the supervisor.
    let turns = AtomicU32::new(0);
    let stop = || {
        if socket.exists() && turns.fetch_add(1, Ordering::Relaxed) == 1 {
            fs::write(&seen_twice, "").unwrap();
        }
        false
    };
    let signals = SupervisorSignals { stop: &stop, reload: &|| None };
    let supervisor = Supervisor::start(&settings, &signals).unwrap();
    let starts = AtomicU32::new(0);
    let command = || {
        // The first has a control socket until the supervisor has seen it.
        let works =
            format!("touch \"$0\"; until [ -e \"$1\" ]; do sleep 0.02; done; rm \"$0\"; exit {first_code}");
        let script = if starts.fetch_add(1, Ordering::Relaxed) == 0 { works } else { "exit 3".to_owned() };
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).args([&socket, &seen_twice]);
        command
    };
    let status = supervisor.run(command).unwrap();
    fs::remove_dir_all(&settings.run_dir).unwrap();
    (status.code(), starts.into_inner())
}
