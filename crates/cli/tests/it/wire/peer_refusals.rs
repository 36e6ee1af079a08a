//! `wiremend peer` where it cannot start or its peer does not go on: each problem is one line that names place and
//! remedy, and the exit code is 2.

use std::fs::{self, Permissions};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use tempfile::tempdir;
use wiremend_dataplane::net::{self, NetNs, VethEnd};

use super::peer::{ip, is_listening};
use super::relay_net::in_own_network;
use super::until;
use crate::program::{Ended, command, ended, wiremend};

/// Each problem is one line that names place and remedy, and the exit code is 2.
#[test]
fn what_prevents_a_start_is_said_in_one_line() {
    in_own_network(|| {
        ip("link set lo up");
        ip("link add p0 type veth peer name p1");
        ip("link set p0 up");
        ip("link set p1 up");
        let fails = |arguments: &[&str], parts: &[&str]| {
            let Ended { code, stdout, stderr } = wiremend(&[&["peer"], arguments].concat());
            assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
            assert!(parts.iter().all(|part| stderr.contains(part)), "{arguments:?}: {stderr}");
        };
        fails(&["serve", "--interface", "eth77"], &["`eth77` does not exist"]);
        fails(&["serve", "--interface", "p0"], &["`p0`", "no address", "ip address add"]);
        ip("address add 198.18.1.1/24 dev p0");
        fails(&["write", "198.18.1.1"], &["198.18.1.1:18515", "no server"]);
        fails(&["write", "198.18.1.9", "--interface", "p1"], &["`p1`", "no address"]);
        let taken = UdpSocket::bind(("198.18.1.1", 4791)).unwrap();
        fails(&["serve", "--interface", "p0"], &["UDP port 4791 of 198.18.1.1 is taken", "rdma link"]);
        drop(taken);
        let listener = TcpListener::bind("[::]:18515").unwrap();
        fails(&["serve", "--interface", "p0"], &["cannot listen at [::]:18515", "--port"]);
        fails(&["ping", "198.18.1.1"], &["198.18.1.1 belongs to this machine"]);
        drop(listener);
        ip("link set p0 mtu 300");
        fails(&["serve", "--interface", "p0"], &["`p0` has MTU 300", "ip link set p0 mtu 348"]);
        ip("link set p0 down");
        fails(&["serve", "--interface", "p0"], &["`p0` is down", "ip link set p0 up"]);
        for (arguments, part) in [
            (["write", "198.18.1.1", "--drop", "out dat 1"], "allowed: any, data"),
            (["write", "198.18.1.1", "--mtu", "1000"], "must be 256, 512, 1024, 2048 or 4096"),
            (["write", "198.18.1.1", "--size", "2GiB"], "1 to 1073741824 bytes"),
            (["atomic", "198.18.1.1", "--size", "16B"], "8 bytes"),
            (["write", "198.18.1.1", "--retries", "8"], "must be 0 to 7"),
        ] {
            let Ended { code, stderr, .. } = wiremend(&[&["peer"], &arguments[..]].concat());
            assert!(code == Some(2) && stderr.contains(part), "{arguments:?}: {stderr}");
        }
    });
}

const NOBODY: u32 = 65_534;

#[test]
fn a_missing_permission_is_named() {
    in_own_network(|| {
        ip("link add p0 type veth peer name p1");
        ip("address add 198.18.8.1/24 dev p0");
        ip("link set p0 up");
        ip("link set p1 up");
        // The other user may be unable to enter the folder of the program.
        let directory = tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let copy = directory.path().join("wiremend");
        fs::copy(env!("CARGO_BIN_EXE_wiremend"), &copy).unwrap();
        let mut program = Command::new(copy);
        program.args(["peer", "serve", "--interface", "p0"]).stdin(Stdio::null()).uid(NOBODY).gid(NOBODY);
        let Ended { code, stdout, stderr } = ended(program.output().unwrap());
        assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
        assert!(stderr.contains("packet sockets on `p0` are not permitted"), "{stderr}");
        assert!(stderr.contains("run as root or with CAP_NET_RAW"), "{stderr}");
    });
}

/// The peer accepts the connection of TCP and says nothing; or it ends its set-up, and no frame of it arrives.
#[test]
fn a_silent_peer_ends_the_client() {
    in_own_network(|| {
        let other = NetNs::new().unwrap();
        net::new_veth(VethEnd::here("p0"), VethEnd::within("p1", other.as_fd())).unwrap();
        ip("address add 198.18.9.1/24 dev p0");
        ip("link set p0 up");
        other.run(|| ip("address add 198.18.9.2/24 dev p1")).unwrap();
        other.run(|| ip("link set p1 up")).unwrap();
        let fails = |arguments: &[&str], parts: &[&str]| {
            let arguments = [&["peer", arguments[0], "198.18.9.2"], &arguments[1..]].concat();
            let Ended { code, stdout, stderr } = wiremend(&arguments);
            assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
            assert!(parts.iter().all(|part| stderr.contains(part)), "{arguments:?}: {stderr}");
        };
        // The kernel accepts.
        let listener = other.run(|| TcpListener::bind("198.18.9.2:18515").unwrap()).unwrap();
        let silent = ["198.18.9.2:18515 is silent", "same at both ends"];
        fails(&["write", "--silence", "300ms"], &[silent[0], "its version did not come", silent[1]]);
        drop(listener);
        let cases: [(&[&str], &[&str], &[&str]); 3] = [
            (
                &[],
                &["write", "--retries", "2", "--timeout", "5ms"],
                &["retries exceeded", "the peer is silent"],
            ),
            (&[], &["read", "--retries", "2", "--timeout", "5ms"], &["retries exceeded", "UDP port 4791"]),
            // It writes first, so the client has nothing to repeat.
            (&["--for", "ib_write_lat"], &["ping", "--with", "write", "--silence", "300ms"], &silent),
        ];
        for (server_options, client_options, parts) in cases {
            let mut server = command();
            server.args(["peer", "serve", "--interface", "p1", "--drop", "out any 1 1000000000"]);
            server.args(server_options).stdout(Stdio::null()).stderr(Stdio::null());
            let mut server = other.run(|| server.spawn().unwrap()).unwrap();
            other.run(|| until("it listens", is_listening)).unwrap();
            fails(client_options, parts);
            server.kill().unwrap();
            server.wait().unwrap();
        }
    });
}

/// The impairments of a scenario drop the same frames here, and what they cannot do is said.
#[test]
fn impairments_of_a_scenario_apply_to_frames_of_the_peer() {
    const RULES: &str = "title = \"three losses of one connection\"\n[topology]\nkind = \"pair\"\n\
        [transport]\nfirst_psn = 100\nqp = \"per-pair\"\n[[workload]]\nkind = \"stream\"\nsrc = \"h0\"\ndst = \"h1\"\n\
        message = \"64KiB\"\ncount = 60\n[[impair]]\nkind = \"script\"\nlinks = \"h0-tor\"\n\
        direction = \"forward\"\nrules = [{ psn = 103 }, { psn = 163, packet = \"data\", nth = 1, count = 2 }]\n";
    in_own_network(|| {
        let other = NetNs::new().unwrap();
        net::new_veth(VethEnd::here("p0"), VethEnd::within("p1", other.as_fd())).unwrap();
        ip("address add 198.18.9.1/24 dev p0");
        ip("link set p0 up");
        other.run(|| ip("address add 198.18.9.2/24 dev p1")).unwrap();
        other.run(|| ip("link set p1 up")).unwrap();
        let directory = tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let rules = file("rules.toml", RULES);
        let simulated = wiremend(&["run", &rules, "--quiet", "--json"]).json();
        assert_eq!(simulated["variants"][0]["corrupted_frames"], 3, "{simulated}");
        let mut server = command();
        server.args(["peer", "serve", "--interface", "p1", "--clients", "1"]);
        server.stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = other.run(|| server.spawn().unwrap()).unwrap();
        other.run(|| until("it listens", is_listening)).unwrap();
        let options = ["--iterations", "60", "--size", "64KiB", "--faults", &rules, "--json"];
        let numbers = wiremend(&[&["peer", "write", "198.18.9.2"], &options[..]].concat()).json();
        assert_eq!((&numbers["dropped"], &numbers["messages"]), (&3.into(), &60.into()), "{numbers}");
        server.wait().unwrap();
        let listed = RULES.replace("rules = [", "faults = \"x\"\nrules = [");
        let tilted = RULES.split("kind = \"script\"").next().unwrap().to_owned()
            + "kind = \"tilted\"\nrate = 0.1\nlinks = \"all\"\n";
        let clean = RULES.split("[[impair]]").next().unwrap();
        for (name, text, parts) in [
            ("listed.toml", listed.as_str(), ["listed.toml", "no link header"]),
            ("tilted.toml", &tilted, ["tilted.toml", "for simulated links only"]),
            ("clean.toml", clean, ["clean.toml", "has no [[impair]] table"]),
            ("wrong.toml", "title = 3", ["wrong.toml", "1"]),
        ] {
            let Ended { code, stdout, stderr } =
                wiremend(&["peer", "write", "198.18.9.2", "--faults", &file(name, text)]);
            assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
            assert!(parts.iter().all(|part| stderr.contains(part)), "{name}: {stderr}");
        }
    });
}
