//! Classes of frames, from the command line to the wire.

use std::time::Duration;

use wiremend_dataplane::wire::ImpairmentSettings;

use super::account::Account;
use super::line::{Line, Side};
use super::relay_net::{Chain, in_own_network};
use super::{PATIENCE, until};
use crate::program::wiremend;

#[test]
fn classes_are_set_shown_counted_and_changed_while_frames_cross() {
    in_own_network(|| {
        let chain = Chain::new();
        let _relays = [
            chain.start(0, &["--active", "--class", "dscp=26:non-blocking", "--class", "pcp=3:off"]),
            chain.start(1, &["--active"]),
        ];
        chain.await_protection();
        for dscp in [26, 26, 46] {
            chain.hosts[0].send(&marked(dscp)).unwrap();
            assert!(arrives(&chain, &marked(dscp)), "{dscp}");
        }
        let listed = |status: &serde_json::Value| {
            let classes = status["classes"].as_array().unwrap();
            classes
                .iter()
                .map(|class| format!("{}:{}", class["class"], class["protection"]))
                .collect::<Vec<_>>()
        };
        let status = chain.status(0).unwrap();
        assert_eq!(
            listed(&status),
            [r#""dscp=26":"non-blocking""#, r#""pcp=3":"off""#, r#""other":"ordered""#]
        );
        assert_eq!(status["classes"][0]["frames"], 2);
        let view = chain.ask(0, &["status"]).ok();
        assert!(view.contains("protected, by class") && view.contains("dscp=26"), "{view}");
        chain.ask(0, &["set", "--class", "dscp=46:off", "--mode", "non-blocking"]).ok();
        let status = chain.status(0).unwrap();
        assert_eq!(listed(&status), [r#""dscp=46":"off""#, r#""other":"non-blocking""#]);
        let before = status["link_counts"]["protected"].as_u64().unwrap();
        chain.hosts[0].send(&marked(46)).unwrap();
        assert!(arrives(&chain, &marked(46)));
        assert_eq!(chain.status(0).unwrap()["link_counts"]["protected"], before, "it has no number");
        chain.ask(0, &["set", "--class", "none"]).ok();
        assert_eq!(listed(&chain.status(0).unwrap()), [r#""other":"non-blocking""#]);
    });
}

/// One direction, two classes, a lossy wire: all frames of the protected class arrive, and not all of the other.
#[test]
fn only_what_is_protected_survives_a_wire_that_loses() {
    const FRAMES: u64 = 1000;
    in_own_network(|| {
        let line = Line::build("--active --rate 100Mbps --give-up 1s --class dscp=8:off", "");
        line.await_protection();
        let before = Account::new(&line);
        line.impair(ImpairmentSettings { loss: 0.05, ..ImpairmentSettings::default() });
        let [from, to] = Side::BOTH.map(|side| line.host(side));
        let mut arrived = [0; 2];
        let take = |arrived: &mut [u64; 2], wait: Duration| {
            let Some(seen) = to.receive(wait).unwrap() else { return false };
            for (count, dscp) in arrived.iter_mut().zip([8, 46]) {
                *count += u64::from(!seen.outgoing && seen.frame == marked(dscp));
            }
            true
        };
        for _ in 0..FRAMES {
            for dscp in [8, 46] {
                from.send(&marked(dscp)).unwrap();
            }
            while take(&mut arrived, Duration::from_millis(1)) {}
        }
        let since = || Account::new(&line).since(&before);
        until("all that is protected has arrived", || {
            while take(&mut arrived, Duration::from_millis(300)) {}
            since().explains(Side::B, FRAMES - arrived[1])
        });
        let account = since();
        assert!(account.is_masked(Side::B), "{arrived:?}; {account:?}");
        let unprotected_missing = FRAMES - arrived[0];
        assert!(unprotected_missing > 0, "{arrived:?}; {account:?}");
    });
}

#[test]
fn classes_that_mean_nothing_are_refused_with_what_would() {
    for (words, hint) in [
        (&["--class", "voice"][..], "as in pcp=3:non-blocking"),
        (&["--class", "pcp=8:off"], "a number from 0 to 7"),
        (&["--class", "dscp=46:lossless"], "`ordered`, `non-blocking` or `off`"),
        (&["--class", "dscp=0-9:off", "--class", "dscp=9:ordered"], "dscp=9 is in two classes"),
    ] {
        for before in [&["relay", "run", "--lan", "a", "--link", "b"][..], &["relay", "set", "--link", "b"]] {
            let line = wiremend(&[before, words].concat()).refused(2);
            assert!(line.contains(hint), "{line}");
        }
    }
}

fn arrives(chain: &Chain, frame: &[u8]) -> bool {
    while let Some(seen) = chain.hosts[1].receive(PATIENCE).unwrap() {
        if !seen.outgoing && seen.frame == frame {
            return true;
        }
    }
    false
}

/// An IPv4 frame with this DSCP.
fn marked(dscp: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, dscp << 2];
    frame.resize(100, 7);
    frame
}
