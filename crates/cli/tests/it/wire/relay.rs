//! Operation of a relay: errors with a remedy, kills at any moment, permissions.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use wiremend_dataplane::net::{self, Address, Interface, SavedConfig, offload, tc};

use super::relay_net::{Chain, LANS, LINKS, in_own_network, numbered, signal};
use super::{PATIENCE, eventually};
use crate::program::{command, ended};

#[test]
fn unusable_ports_are_refused_with_the_remedy() {
    in_own_network(|| {
        let chain = Chain::new();
        let refused = |words: &[&str], reason: &str| {
            let line = chain.ask(0, &[&["run"], words].concat()).refused(2);
            assert!(line.contains(reason), "{line}");
        };
        refused(&["--lan", "l1", "--link", "l1"], "`l1` cannot be both LAN and link");
        refused(
            &["--lan", "l1", "--link", "eth77"],
            "interface `eth77` does not exist; list interfaces: ip link",
        );
        refused(&["--lan", "lo", "--link", "w1"], "`lo` carries no Ethernet frames");
        refused(&["--lan", "l1", "--link", "w1"], "--disable-offloads disables them");
        let listen = ["--lan", "l1", "--link", "w1", "--metrics-listen", "0.0.0.0:9469"];
        refused(&listen, "to allow that, add --metrics-public");
        let both = ["--lan", "l1", "--link", "w1", "--disable-offloads"];
        net::set_mtu("w1", 1517).unwrap();
        refused(
            &both,
            "`w1` has MTU 1517; frames of the LAN plus a header need 1518: ip link set w1 mtu 1518",
        );
        net::set_mtu("w1", 1518).unwrap();
        let address = Address { ip: "198.18.0.9".parse().unwrap(), prefix: 24 };
        net::add_address("l1", address).unwrap();
        refused(&both, "it has the address 198.18.0.9; free it: ip addr flush dev l1");
        net::delete("l1").unwrap();
        net::new_veth(net::VethEnd::here("h1"), net::VethEnd::here("l1")).unwrap();
        refused(&both, "`l1` is down; bring it up: ip link set l1 up");
        net::set_up("l1", true).unwrap();
        refused(&both, "`l1` has no carrier");
        refused(&[&both[..], &["--copies", "9"]].concat(), "copies");
        assert!(tc::IngressRule::read("w1").unwrap().is_none(), "nothing was changed");
        assert!(!offload::enabled("w1", &offload::Offload::FOR_PACKET_SOCKET).unwrap().is_empty());
    });
}

#[test]
fn unusable_key_files_are_refused_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("link.key");
    let refused = |reason: &str| {
        let mut call = command();
        call.args(["relay", "run", "--lan", "l1", "--link", "w1", "--key-file"]).arg(&path);
        let line = ended(call.output().unwrap()).refused(2);
        assert!(line.contains(&format!("key file {}: ", path.display())) && line.contains(reason), "{line}");
    };
    refused(
        "no such file; create one and copy it to the other end: (umask 077; head -c 32 /dev/urandom | base64 >",
    );
    fs::write(&path, [b'k'; 44]).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    refused("others than its owner may read it (mode 640): chmod 600 ");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, "too short\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n").unwrap();
    refused("9 bytes are too short, at least 32 random ones");
    fs::write(&path, [b'k'; 5000]).unwrap();
    refused("longer than 4096 bytes");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused("not a file");
}

#[test]
fn relays_with_a_key_protect_each_other() {
    in_own_network(|| {
        let chain = Chain::new();
        let path = chain.run_dir(0).with_extension("key");
        fs::write(&path, [b'k'; 44]).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let _relays = [0, 1].map(|end| chain.start(end, &["--active", "--key-file", path.to_str().unwrap()]));
        chain.await_protection();
        assert!(chain.crosses());
        let text = chain.ask(0, &["status"]);
        assert!(text.stdout.contains("other end     has the key"), "{}", text.stdout);
    });
}

#[test]
fn ports_in_other_use_are_refused() {
    in_own_network(|| {
        let chain = Chain::new();
        let ran = |line: &str| {
            let mut words = line.split(' ');
            let status = Command::new(words.next().unwrap()).args(words).status();
            status.is_ok_and(|status| status.success())
        };
        let run = ["run", "--lan", "l1", "--link", "w1", "--disable-offloads"];
        if !(ran("ip link add name br type bridge") && ran("ip link set l1 master br")) {
            return eprintln!("skipped: no iproute2, or no bridges in this kernel");
        }
        let line = chain.ask(0, &run).refused(2);
        assert!(line.contains("in use by a bridge or bond"), "{line}");
        assert!(line.contains("ip link set l1 nomaster") && ran("ip link set l1 nomaster"), "{line}");
        let filter = "tc filter add dev w1 ingress prio 7 bpf da bytecode";
        let mut words = filter.split(' ');
        let mut tc = Command::new(words.next().unwrap());
        tc.args(words).arg("1,6 0 0 0");
        assert!(ran("tc qdisc add dev w1 clsact") && tc.status().unwrap().success());
        let line = chain.ask(0, &run).refused(2);
        assert!(line.contains("`w1` is in use by 1 tc filter of another program"), "{line}");
        assert!(
            line.contains("tc filter del dev w1 ingress") && ran("tc filter del dev w1 ingress"),
            "{line}"
        );
        let mut relay = chain.start(0, &[]);
        assert_eq!(relay.end(), Some(0));
    });
}

#[test]
fn a_missing_privilege_is_named() {
    in_own_network(|| {
        let chain = Chain::new();
        let line = chain.ask_as(NOBODY, NOBODY, 0, &["run", "--lan", "l1", "--link", "w1"]).refused(3);
        assert!(line.contains("needs CAP_NET_ADMIN and CAP_NET_RAW"), "{line}");
    });
}

#[test]
fn a_relay_waits_for_a_carrier_if_told_to() {
    in_own_network(|| {
        let chain = Chain::new();
        net::set_up("h1", false).unwrap();
        assert!(eventually(|| !Interface::by_name("l1").unwrap().carrier));
        let run = ["run", "--lan", "l1", "--link", "w1", "--disable-offloads"];
        let line = chain.ask(0, &run).refused(2);
        assert!(line.contains("`l1` has no carrier") && line.contains("--wait"), "{line}");
        let mut waiting = chain.call(0, &[&run[..], &["--wait"]].concat()).spawn().unwrap();
        std::thread::park_timeout(Duration::from_millis(300));
        assert!(waiting.try_wait().unwrap().is_none() && chain.status(0).is_none());
        net::set_up("h1", true).unwrap();
        chain.await_status(0, |status| status["carrier"] == serde_json::json!([true, true]));
        signal("TERM", waiting.id().into());
        assert_eq!(waiting.wait().unwrap().code(), Some(0));
    });
}

#[test]
fn an_interface_belongs_to_one_relay() {
    in_own_network(|| {
        let chain = Chain::new();
        let mut relay = chain.start(0, &[]);
        let line = chain.ask(0, &["run", "--lan", "l1", "--link", "w2", "--disable-offloads"]).refused(2);
        let holder = format!("`l1` is in use by another relay (process {})", relay.id());
        assert!(line.contains(&holder), "{line}");
        let line = chain.ask(0, &["restore"]).refused(2);
        assert!(line.contains(&holder), "{line}");
        assert_eq!(relay.end(), Some(0));
    });
}

#[test]
fn a_relay_restores_its_changes() {
    in_own_network(|| {
        let chain = Chain::new();
        let before = ports(&chain);
        let mut relay = chain.start(0, &["--release"]);
        assert_ne!(ports(&chain), before);
        assert_eq!(relay.end(), Some(0));
        assert_eq!(ports(&chain), before, "with --release a relay restores its ports");
        assert_eq!(tc::IngressRule::read("l1").unwrap(), None);

        // The interfaces still forward, and another relay starts: the state before the first one is still known.
        let mut first = chain.start(0, &[]);
        assert_eq!(first.end(), Some(0));
        assert!(
            matches!(tc::IngressRule::read("l1").unwrap(), Some(tc::IngressRule::Redirect { to, .. }) if to == "w1")
        );
        assert!(Interface::by_name("l1").unwrap().promiscuous, "the kernel forwards frames for anybody");
        let mut second = chain.start(0, &[]);
        second.kill_with(chain.carrier(0));
        assert!(eventually(|| chain.ask(0, &["restore", "--link", "w1"]).code == Some(0)));
        assert_eq!(ports(&chain), before, "also after all was killed");
        assert_eq!(
            [tc::IngressRule::read("l1").unwrap(), tc::IngressRule::read("w1").unwrap()],
            [None, None]
        );
        let nothing = chain.ask(0, &["restore"]);
        assert!(nothing.stderr.contains("no interface to reset"), "{}", nothing.stderr);
    });
}

/// Traffic continues after the forwarding process is killed, and protection resumes.
#[test]
fn a_relay_that_is_killed_is_replaced() {
    in_own_network(|| {
        let chain = Chain::new();
        let [mut watching, _other] = chain.start_both();
        let other = chain.carrier(1);
        for _ in 0..2 {
            let killed = chain.carrier(0);
            signal("KILL", killed);
            assert!(chain.crosses(), "the kernel forwards, or the next process");
            chain.await_status(0, |status| status["pid"] != killed);
            chain.await_protection();
        }
        assert_eq!(chain.carrier(1), other, "nobody touched the other end");
        assert!(chain.crosses());
        assert!(watching.supervisor.try_wait().unwrap().is_none(), "the process that watches is the same");
    });
}

/// A forwarding process that hangs holds protected directions. The supervisor kills it, and the kernel forwards.
#[test]
fn a_relay_that_hangs_is_replaced() {
    in_own_network(|| {
        let chain = Chain::new();
        let _both = chain.start_both();
        let hanging = chain.carrier(0);
        signal("STOP", hanging);
        assert!(eventually(|| !fs::exists(format!("/proc/{hanging}")).unwrap()), "the supervisor kills it");
        chain.await_status(0, |status| status["pid"] != hanging);
        chain.await_protection();
        assert!(chain.crosses());
    });
}

#[test]
fn a_relay_whose_supervisor_is_killed_ends_in_order() {
    in_own_network(|| {
        let chain = Chain::new();
        let [mut killed, _other] = chain.start_both();
        let carrier = chain.carrier(0);
        killed.kill();
        assert!(eventually(|| !fs::exists(format!("/proc/{carrier}")).unwrap()));
        assert!(chain.crosses(), "the kernel forwards");
        assert!(chain.status(0).is_none());
        let _again = chain.start(0, &["--active"]);
        chain.await_protection();
        assert!(chain.crosses());
    });
}

#[test]
fn a_hook_restores_after_both_processes_are_killed() {
    in_own_network(|| {
        let chain = Chain::new();
        let [mut killed, _other] = chain.start_both();
        let carrier = chain.carrier(0);
        loop {
            for process in [killed.id(), carrier] {
                signal("STOP", process);
            }
            if tc::IngressRule::read("l1").unwrap() == Some(tc::IngressRule::Drop { on: "l1".into() }) {
                break;
            }
            // On a busy machine the relay may just have declared the other end dead.
            for process in [killed.id(), carrier] {
                signal("CONT", process);
            }
            chain.await_protection();
        }
        killed.kill_with(carrier);
        assert!(!chain.sent_once(0, 1), "nobody forwards");
        chain.ask(0, &["restore", "--forward", "--link", "w1"]).ok();
        assert!(chain.crosses());
    });
}

#[test]
fn settings_survive_the_forwarding_process() {
    in_own_network(|| {
        let chain = Chain::new();
        let _relays = [chain.start(0, &[]), chain.start(1, &[])];
        chain.ask(0, &["activate"]).ok();
        chain.ask(0, &["set", "--mode", "non-blocking", "--copies", "3"]).ok();
        let carrier = chain.carrier(0);
        signal("KILL", carrier);
        let status = chain.await_status(0, |status| status["pid"] != carrier && status["sending"] == true);
        assert_eq!((&status["mode"], &status["copies"]), (&"non-blocking".into(), &3.into()));
        chain.ask(0, &["deactivate"]).ok();
        chain.await_status(0, |status| status["sending"] == false);
        let line = chain.ask(0, &["set"]).refused(2);
        assert!(line.contains("nothing to set"), "{line}");
    });
}

#[test]
fn a_carrier_that_is_lost_on_one_side_is_lost_on_the_other() {
    in_own_network(|| {
        let chain = Chain::new();
        let relays = chain.start_both();
        let has_carrier = |name: &str| Interface::by_name(name).unwrap().carrier;
        // A host is switched off, two relays away from the other.
        net::set_up("h1", false).unwrap();
        assert!(eventually(|| !has_carrier("h2")), "{}{}", relays[0].log(), relays[1].log());
        net::set_up("h1", true).unwrap();
        assert!(eventually(|| has_carrier("h2") && has_carrier("h1")));
        chain.await_protection();
        assert!(chain.crosses(), "it heals by itself");
        // The link is cut between the relays.
        net::set_up("w2", false).unwrap();
        assert!(eventually(|| !has_carrier("h1")), "{}", relays[0].log());
        net::set_up("w2", true).unwrap();
        assert!(eventually(|| has_carrier("h1")));
        chain.await_protection();
        assert!(chain.crosses());
        assert!(
            relays[0].log().contains("`w1` has lost its carrier: `l1` is taken down"),
            "{}",
            relays[0].log()
        );
    });
}

#[test]
fn a_relay_whose_interface_is_gone_says_so_and_ends() {
    in_own_network(|| {
        let chain = Chain::new();
        let before = SavedConfig::read("w1", &offload::Offload::FOR_PACKET_SOCKET).unwrap();
        let mut relay = chain.start(0, &["--active"]);
        net::delete("h1").unwrap();
        assert!(eventually(|| relay.supervisor.try_wait().unwrap().is_some()));
        assert_eq!(relay.supervisor.wait().unwrap().code(), Some(2));
        assert!(relay.log().contains("interface `l1` does not exist"), "{}", relay.log());
        assert_eq!(
            SavedConfig::read("w1", &offload::Offload::FOR_PACKET_SOCKET).unwrap(),
            before,
            "the other one is as it was"
        );
    });
}

/// A frame with the link's `EtherType` after a VLAN tag is ordinary traffic: the kernel forwards it, and the relay does not.
#[test]
fn tagged_frames_cross_a_dormant_relay_once() {
    in_own_network(|| {
        let chain = Chain::new();
        let _relays = [chain.start(0, &[]), chain.start(1, &[])];
        let mut tagged = numbered(7);
        tagged.splice(12..14, [0x81, 0x00, 0x00, 0x05, 0x88, 0xB5]);
        chain.hosts[0].send(&tagged).unwrap();
        assert!(chain.crosses(), "what comes later is here");
        let behind = numbered(u32::MAX);
        chain.hosts[0].send(&tagged).unwrap();
        chain.hosts[0].send(&behind).unwrap();
        let (mut copies, mut wait) = (0, PATIENCE);
        while let Some(seen) = chain.hosts[1].receive(wait).unwrap() {
            copies += u32::from(!seen.outgoing && seen.tag == Some((0x8100, 5)));
            if !seen.outgoing && seen.frame == behind {
                // A second copy would have arrived by then.
                wait = Duration::from_millis(300);
            }
        }
        assert_eq!(copies, 1);
        for end in 0..2 {
            assert_eq!(chain.await_status(end, |_| true)["counts"]["forged"], 0);
        }
    });
}

#[test]
fn users_without_permission_cannot_change_settings() {
    in_own_network(|| {
        let chain = Chain::new();
        let _relay = chain.start(0, &["--user", "12345"]);
        let called =
            |uid, gid, words: &[&str]| chain.ask_as(uid, gid, 0, &[words, &["--link", "w1"]].concat());
        let line = called(NOBODY, NOBODY, &["status"]).refused(3);
        assert!(line.contains("only root and the group of that socket may access it"), "{line}");
        // A member of the group may read the status only.
        assert!(called(NOBODY, 0, &["status"]).ok().contains("dormant: the kernel forwards"));
        for change in [&["activate"][..], &["deactivate"], &["set", "--copies", "1"]] {
            let line = called(NOBODY, 0, change).refused(2);
            assert!(line.contains("user 65534 may read the status but not change settings"), "{line}");
        }
        assert_eq!(called(NOBODY, 0, &["restore"]).code, Some(3));
        called(12345, 0, &["activate"]).ok();
        chain.await_status(0, |status| status["wanted"] == true);
    });
}

/// `CAP_NET_ADMIN`, to change rules; the supervisor alone has the rest.
#[test]
fn the_process_that_carries_frames_has_given_up_its_privileges() {
    in_own_network(|| {
        let chain = Chain::new();
        let _relay = chain.start(0, &[]);
        let carrier = chain.carrier(0);
        for thread in fs::read_dir(format!("/proc/{carrier}/task")).unwrap() {
            let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
            let field = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim();
            assert_eq!(field("CapEff:"), "0000000000001000");
            assert_eq!(field("CapPrm:"), "0000000000001000");
            assert_eq!(field("NoNewPrivs:"), "1");
        }
    });
}

#[test]
fn invalid_frames_are_reported_once_and_shown() {
    in_own_network(|| {
        let chain = Chain::new();
        let relay = chain.start(0, &[]);
        let own = Interface::by_name("w1").unwrap().mac.unwrap();
        let other_end =
            wiremend_dataplane::sys::raw::RawSocket::open(Interface::by_name("w2").unwrap().index);
        let link_frame = |source: [u8; 6], word: u32| {
            let mut frame = vec![0x01, 0x80, 0xC2, 0, 0, 0x0E];
            frame.extend(source);
            frame.extend(0x88B5_u16.to_be_bytes());
            frame.extend(word.to_be_bytes());
            frame.resize(60, 0);
            frame
        };
        let other_end = other_end.unwrap();
        for _ in 0..3 {
            other_end.send(&link_frame([2, 0, 0, 0, 0, 9], 3 << 30)).unwrap();
            // A bare ACK of version 1.
            other_end.send(&link_frame(own, 1 << 30 | 2 << 27 | 1 << 26)).unwrap();
            chain.hosts[0].send(&link_frame([2, 0, 0, 0, 0, 9], 1 << 30)).unwrap();
        }
        chain.await_status(0, |status| {
            let counts = &status["counts"];
            status["peer_version"] == 3
                && [&counts["malformed"], &counts["echoed"], &counts["forged"]]
                    .iter()
                    .all(|count| **count == 3)
        });
        let shown = chain.ask(0, &["status"]).ok();
        for message in
            ["uses version 3", "check whether another relay's link is on this LAN", "receives its own frames"]
        {
            assert!(shown.contains(message), "{shown}");
            assert!(eventually(|| relay.log().matches(message).count() == 1), "{message}: {}", relay.log());
        }
    });
}

#[test]
fn a_missing_relay_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let mut call = command();
    call.args(["relay", "status", "--run-dir"]).arg(directory.path());
    let line = ended(call.output().unwrap()).refused(3);
    assert!(line.contains("no relay is running"), "{line}");
}

const NOBODY: u32 = 65534;

/// Settings of both interfaces that a relay changes.
fn ports(_chain: &Chain) -> [SavedConfig; 2] {
    [LANS[0], LINKS[0]].map(|name| SavedConfig::read(name, &offload::Offload::FOR_PACKET_SOCKET).unwrap())
}
