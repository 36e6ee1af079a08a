//! `wiremend peer probe`: on the soft-RoCE of a kernel it finds the shipped profile, on `wiremend peer` what was
//! configured. Fields are judged; measured times depend on the machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Stdio};

use tempfile::tempdir;
use toml::Table;
use wiremend_dataplane::net::{self, NetNs, VethEnd};

use super::peer::{GUEST, SHORT, ip, with_guest};
use super::relay_net::in_own_network;
use crate::program::{Ended, command, ended, files, wiremend, wiremend_in};

const SHIPPED: &str = include_str!("../../../../../profiles/soft-roce.toml");

/// A profile without what depends on time or on the place.
fn fields(text: &str) -> Table {
    let mut table: Table = text.parse().expect("a profile is TOML");
    table.remove("about");
    for timed in ["tick", "shortest", "percent"] {
        table["timer"].as_table_mut().unwrap().remove(timed);
    }
    table
}

/// Starts a probe. Returns it when it listens, with the commands for the other machine.
fn start_probe(host: &str, directory: &Path) -> (Child, String) {
    let mut probe = command();
    probe.args(["peer", "probe", host, "--wait", "300s", "--out", "nic.toml"]).current_dir(directory);
    let mut probe = probe.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut errors = BufReader::with_capacity(1, probe.stderr.as_mut().unwrap());
    errors.read_line(&mut line).unwrap();
    let commands =
        line.split_once(&format!("run on {host}: ")).map(|(_, commands)| commands.trim().to_owned());
    (probe, commands.unwrap_or_else(|| panic!("{line}")))
}

#[test]
fn a_probe_of_soft_roce_writes_the_shipped_profile() {
    with_guest(|guest, _| {
        let directory = tempdir().unwrap();
        let (probe, commands) = start_probe(&GUEST.to_string(), directory.path());
        let commands = commands.replace("ib_send_lat ", "timeout 300 ib_send_lat -d rxe0 ");
        let commands = commands.replace("ib_read_lat ", "timeout 300 ib_read_lat -d rxe0 ");
        let started = guest.run(&format!("({commands}) >/run/probed 2>&1"), SHORT).unwrap();
        assert_eq!(started.status, 0, "{}", started.text);
        let probe = ended(probe.wait_with_output().unwrap());
        let programs = guest.run("cat /run/probed", SHORT).unwrap();
        assert_eq!(probe.code, Some(0), "{} {}", probe.stderr, programs.text);
        let found = fs::read_to_string(directory.path().join("nic.toml")).unwrap();
        println!("{}\n{found}", probe.stdout);
        assert_eq!(fields(&found), fields(SHIPPED), "{}", probe.stdout);
    });
}

/// A behaviour that differs from the default and from soft-RoCE.
const UNUSUAL: &str = "\
about = \"unusual\"
[timer]
after_last_ack = \"runs-on\"
[requester]
repeated_naks = \"ignored\"
read_gap = \"timer\"
retry_7 = 6
window = 100
ack_every = 10
[responder]
nak = \"each-round\"
acks = \"each\"
";

/// What `wiremend peer` does without a profile: its default window, and requests for acknowledgements.
const USUAL: &str =
    "about = \"usual\"\n[requester]\nwindow = 128\nack_every = 64\n[responder]\nacks = \"merged\"\n";

/// Two namespaces with the addresses 198.18.4.1, here, and 198.18.4.2.
fn with_two_hosts(work: impl FnOnce(&NetNs) + Send) {
    in_own_network(|| {
        let other = NetNs::new().unwrap();
        net::new_veth(VethEnd::here("p0"), VethEnd::within("p1", other.as_fd())).unwrap();
        ip("address add 198.18.4.1/24 dev p0");
        ip("link set p0 up");
        other.run(|| ip("address add 198.18.4.2/24 dev p1")).unwrap();
        other.run(|| ip("link set p1 up")).unwrap();
        work(&other);
    });
}

/// The timeouts of the servers are long, so that a busy machine does not exhaust retries. They are not judged.
#[test]
fn a_probe_of_an_endpoint_writes_what_was_configured() {
    with_two_hosts(|other| {
        for (given, expected) in [(None, USUAL), (Some(UNUSUAL), UNUSUAL)] {
            let directory = tempdir().unwrap();
            let profile = directory.path().join("given.toml");
            fs::write(&profile, given.unwrap_or_default()).unwrap();
            let option = given.map_or(String::new(), |_| format!("--profile {}", profile.display()));
            let program = env!("CARGO_BIN_EXE_wiremend");
            let serve = "peer serve --clients 1 --size 192KiB --interface p1";
            let script = format!(
                "set -e; for t in 18 14 12 10 8; do long=200ms; test $t != 18 || long=1073741824ns; \
                 {program} {serve} --for ib_send_lat --timeout $long --port $((18515 + t)) {option} || test $t = 8; done; \
                 {program} {serve}; \
                 {program} peer ping 198.18.4.1 --with read --size 192KiB --iterations 6 --timeout 1073741824ns {option}"
            );
            let (probe, _) = start_probe("198.18.4.2", directory.path());
            let start = || {
                let mut shell = std::process::Command::new("sh");
                shell
                    .args(["-c", &script])
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped());
                shell.spawn().unwrap()
            };
            let servers = other.run(start).unwrap();
            let probe = ended(probe.wait_with_output().unwrap());
            assert_eq!(probe.code, Some(0), "{}", probe.stderr);
            let servers = ended(servers.wait_with_output().unwrap());
            assert_eq!(servers.code, Some(0), "{} {}", servers.stdout, servers.stderr);
            let found = fs::read_to_string(directory.path().join("nic.toml")).unwrap();
            let wanted = with_defaults(expected);
            assert_eq!(fields(&found), fields(&wanted), "{}", probe.stdout);
            assert!(
                probe.stdout.contains("not measured"),
                "the server has receive buffers: {}",
                probe.stdout
            );
        }
    });
}

/// A profile with all its fields.
fn with_defaults(text: &str) -> String {
    wiremend_scenario::NicProfile::read("expected", text).unwrap().to_toml()
}

/// Each problem is one line behind the steps, the exit code is 2, and no profile is written.
#[test]
fn a_probe_without_a_peer_says_so() {
    with_two_hosts(|other| {
        let directory = tempdir().unwrap();
        let refused = |arguments: &[&str], part: &str| {
            let arguments = [&["peer", "probe"], arguments, &["--wait", "1s", "--out", "nic.toml"]].concat();
            let Ended { code, stdout, stderr } = wiremend_in(directory.path(), &arguments);
            assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
            assert!(stderr.lines().last().is_some_and(|line| line.contains(part)), "{part}: {stderr}");
            assert_eq!(files(directory.path()), Vec::<String>::new());
        };
        refused(&["198.18.4.2"], "no server at 198.18.4.2:18533");
        refused(&["198.18.4.1"], "198.18.4.1 belongs to this machine");
        refused(&["198.18.4.2", "--interface", "p7"], "`p7` does not exist");
        let listener = other.run(|| TcpListener::bind("198.18.4.2:18533").unwrap()).unwrap();
        let close = std::thread::spawn(move || drop(listener.accept()));
        refused(&["198.18.4.2"], "198.18.4.2:18533 closed the connection before its version");
        close.join().unwrap();
        for (option, value, part) in [("--mtu", "1000", "must be 256"), ("--port", "65001", "65000")] {
            let Ended { code, stderr, .. } = wiremend(&["peer", "probe", "198.18.4.2", option, value]);
            assert!(code == Some(2) && stderr.contains(part), "{stderr}");
        }
        let Ended { code, stderr, .. } =
            wiremend(&["peer", "serve", "--interface", "p0", "--profile", "soft"]);
        assert!(code == Some(2) && stderr.contains("soft-roce"), "{stderr}");
    });
}

/// A peer that falls silent after some frames, as one that dies: one line, and no profile.
#[test]
fn a_peer_that_dies_in_the_middle_of_a_probe_leaves_no_profile() {
    with_two_hosts(|other| {
        let directory = tempdir().unwrap();
        let mut server = command();
        server.args(["peer", "serve", "--for", "ib_send_lat", "--size", "192KiB", "--interface", "p1"]);
        server.args(["--port", "18533", "--timeout", "1073741824ns", "--drop", "out any 30 1000000000"]);
        let mut server =
            other.run(|| server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()).unwrap();
        let arguments = ["peer", "probe", "198.18.4.2", "--wait", "10s", "--out", "nic.toml"];
        let Ended { code, stdout, stderr } = wiremend_in(directory.path(), &arguments);
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        let last = stderr.lines().last().unwrap_or_default();
        assert!(last.contains("198.18.4.2") && last.contains("is silent"), "{stderr}");
        assert_eq!(files(directory.path()), Vec::<String>::new());
    });
}
