//! A relay that reads its options from a file, and again on SIGHUP.

use std::fs;

use wiremend_dataplane::net;

use super::relay_metrics::get;
use super::relay_net::{Chain, Relay, in_own_network, signal};
use super::{eventually, until};

/// What can change while frames flow is applied, the rest is named, and what a hand has changed stays.
#[test]
fn a_relay_reads_its_options_again() {
    in_own_network(|| {
        net::loopback_up().unwrap();
        let chain = Chain::new();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("relay-w1.toml");
        let path = file.to_str().unwrap();
        fs::write(&file, "active = true\nmode = \"ordered\"\nmetrics_listen = 9469\n").unwrap();
        let relays = [chain.start(0, &["--config", path]), chain.start(1, &["--active"])];
        chain.await_protection();
        let process = chain.carrier(0);

        fs::write(
            &file,
            "active = true\nmode = \"non-blocking\"\nclass = [\"pcp=3:off\"]\nqueue = \"64KiB\"\n",
        )
        .unwrap();
        reload(&relays[0]);
        until("the new options apply", || relays[0].log().contains("the configuration is reloaded\n"));
        until("the rest is named", || {
            relays[0].log().contains(" WARN a restart of the relay is needed for queue, metrics_listen\n")
        });
        let status = chain.await_status(0, |_| true);
        assert!(status["mode"] == "non-blocking" && status["pid"] == process, "{status}");
        assert!(relays[0].log().contains("request: set mode=non-blocking class=pcp=3:off\n"));
        assert!(chain.crosses());

        // Protection that was ended by hand stays ended if the file says the same as before.
        chain.ask(0, &["deactivate"]).ok();
        reload(&relays[0]);
        until("nothing is left to do", || relays[0].log().contains("nothing to change in the running relay"));
        assert_eq!(chain.await_status(0, |_| true)["wanted"], false);

        for (text, why) in [
            ("mode = \"orderd\"\n", "--mode: unknown value `orderd`; did you mean `ordered`?"),
            ("mod = \"off\"\n", "unknown option `mod`; did you mean `mode`?"),
            ("active = \"yes\"\n", "active: expected true or false"),
            ("active\n", "relay-w1.toml:1:7: "),
            ("ethertype = \"0800\"\n", "--ethertype 0800 belongs to IPv4"),
        ] {
            fs::write(&file, text).unwrap();
            reload(&relays[0]);
            until(why, || {
                let log = relays[0].log();
                log.lines()
                    .any(|line| line.contains("the previous one stays in effect: ") && line.contains(why))
            });
        }
        assert_eq!(chain.carrier(0), process);
    });
}

/// The supervisor tells whether the relay is alive and ready.
#[test]
fn health_pages_of_a_relay() {
    in_own_network(|| {
        net::loopback_up().unwrap();
        let chain = Chain::new();
        let relay = chain.start(0, &["--metrics-listen", "9469"]);
        let answer = |path: &str| get(&format!("GET {path} HTTP/1.1\r\n\r\n"));
        assert!(answer("/healthz").0.starts_with("HTTP/1.1 200 "));
        assert_eq!(answer("/readyz").1, "ok\n");
        assert!(relay.log().lines().all(|line| line.contains(" INFO ")));
        // A forwarding process that hangs does not answer, until another one takes its place.
        signal("STOP", chain.carrier(0));
        assert!(eventually(|| answer("/readyz").0.starts_with("HTTP/1.1 503 ")));
        assert!(answer("/healthz").0.starts_with("HTTP/1.1 200 "));
        assert!(eventually(|| answer("/readyz").0.starts_with("HTTP/1.1 200 ")));
        assert!(relay.log().contains("the forwarding process hangs"));
    });
}

fn reload(relay: &Relay) {
    signal("HUP", relay.id());
}
