//! Protection begins and ends, and relays restart, while frames flow.

use std::time::Duration;

use wiremend_dataplane::relay::Request;

use super::hosts::Hosts;
use super::{Relay, await_protection, in_own_network, new_chain};

/// About 2000 frames per second each way.
const PAUSE: Duration = Duration::from_micros(450);

#[test]
fn restarts_lose_and_repeat_nothing() {
    in_own_network(|| {
        new_chain();
        let mut relays = [0, 1].map(|end| Relay::start(end, true));
        await_protection(&relays);
        let hosts = Hosts::start(PAUSE);
        let mut late = 0;
        for restart in 0..restarts() {
            let [first, second] = relays;
            relays = if restart % 2 == 0 {
                late += counted(&first.stop());
                [Relay::start(0, true), second]
            } else {
                late += counted(&second.stop());
                [first, Relay::start(1, true)]
            };
            await_protection(&relays);
        }
        hosts.assert_all_arrived(|| late + relays.iter().map(in_status).sum::<u64>());
    });
}

#[test]
fn switching_on_and_off_loses_and_repeats_nothing() {
    in_own_network(|| {
        new_chain();
        let relays = [0, 1].map(|end| Relay::start(end, false));
        let hosts = Hosts::start(PAUSE);
        for _ in 0..40 {
            for relay in &relays {
                relay.ask(&Request::Activate);
            }
            await_protection(&relays);
            for relay in &relays {
                relay.ask(&Request::Deactivate);
            }
            for relay in &relays {
                relay
                    .await_status("no direction is protected", |status| !status.sending && !status.receiving);
            }
        }
        hosts.assert_all_arrived(|| relays.iter().map(in_status).sum());
    });
}

/// Frames that the kernel may have overtaken, by the last words of a relay. None is lost.
pub(super) fn counted(notices: &[String]) -> u64 {
    let Some(words) =
        notices.iter().find_map(|notice| notice.strip_prefix("when kernel and relay took over"))
    else {
        return 0;
    };
    let numbers: Vec<u64> = words.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers[0], 0, "{words}");
    numbers[1]
}

pub(super) fn in_status(relay: &Relay) -> u64 {
    let status = relay.ask(&Request::Status);
    assert_eq!(status.handover_lost, 0);
    status.handover_late
}

/// Restarts of the test; more with `WIREMEND_TEST_RESTARTS`.
#[expect(clippy::disallowed_methods, reason = "the environment says how long a test runs")]
fn restarts() -> u32 {
    std::env::var("WIREMEND_TEST_RESTARTS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}
