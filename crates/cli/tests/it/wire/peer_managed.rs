//! `wiremend peer` by the connection manager: with `rping`, `ucmatose` and perftest's `-R` on the kernel of a guest, and
//! with itself. A program that hangs is killed by the guest after its time limit, and the test fails with its name.

use std::os::fd::AsFd;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use wiremend_dataplane::net::{self, NetNs, VethEnd};
use wiremend_lab::guests::Guest;

use super::peer::{
    CLOCK_ATTEMPTS, GUEST, SHORT, TOOL_LIMIT, assert_done, clock_failed, ip, is_listening, with_guest,
};
use super::relay_net::in_own_network;
use super::until;
use crate::program::{Ended, command, ended, wiremend};

/// A program that uses the connection manager, its arguments as a server and as a client, and those of the other end.
struct Managed {
    name: &'static str,
    server: &'static str,
    client: &'static str,
    serve: &'static [&'static str],
    connect: &'static [&'static str],
}

const PROGRAMS: [Managed; 8] = [
    Managed {
        name: "rping",
        server: "rping -s -S 3000",
        client: "rping -c -V -C 20 -S 3000 -a 198.18.0.1",
        serve: &[],
        connect: &["ping", "--with", "rping", "--size", "3000B", "--iterations", "20"],
    },
    Managed {
        name: "ucmatose",
        server: "ucmatose",
        client: "ucmatose -s 198.18.0.1",
        serve: &[],
        connect: &["ping", "--with", "ucmatose"],
    },
    Managed {
        name: "ib_write_bw",
        server: "ib_write_bw -R -d rxe0 -F -s 16384 -n 20",
        client: "ib_write_bw -R -d rxe0 -F -s 16384 -n 20 198.18.0.1",
        serve: &[],
        connect: &["write", "--cm", "--size", "16KiB", "--iterations", "20"],
    },
    Managed {
        name: "ib_send_bw",
        server: "ib_send_bw -R -d rxe0 -F -s 4096 -n 20 -q 3",
        client: "ib_send_bw -R -d rxe0 -F -s 4096 -n 20 -q 3 198.18.0.1",
        serve: &[],
        connect: &["send", "--cm", "--size", "4KiB", "--iterations", "20", "-q", "3"],
    },
    Managed {
        name: "ib_write_bw",
        server: "ib_write_bw -R -b -d rxe0 -F -s 4096 -n 20 -q 2",
        client: "ib_write_bw -R -b -d rxe0 -F -s 4096 -n 20 -q 2 198.18.0.1",
        serve: &["--for", "ib_write_bw", "-b", "--size", "4KiB", "--iterations", "20"],
        connect: &["write", "--cm", "-b", "--size", "4KiB", "--iterations", "20", "-q", "2"],
    },
    Managed {
        name: "ib_read_bw",
        server: "ib_read_bw -R -d rxe0 -F -s 16384 -n 20",
        client: "ib_read_bw -R -d rxe0 -F -s 16384 -n 20 198.18.0.1",
        serve: &[],
        connect: &["read", "--cm", "--size", "16KiB", "--iterations", "20"],
    },
    Managed {
        name: "ib_send_lat",
        server: "ib_send_lat -R -d rxe0 -F -s 64 -n 40",
        client: "ib_send_lat -R -d rxe0 -F -s 64 -n 40 198.18.0.1",
        serve: &["--for", "ib_send_lat"],
        connect: &["ping", "--cm", "--with", "send", "--size", "64B", "--iterations", "40"],
    },
    Managed {
        name: "ib_write_lat",
        server: "ib_write_lat -R -d rxe0 -F -s 8 -n 40",
        client: "ib_write_lat -R -d rxe0 -F -s 8 -n 40 198.18.0.1",
        serve: &["--for", "ib_write_lat", "--size", "8B", "--iterations", "40"],
        connect: &["ping", "--cm", "--with", "write", "--size", "8B", "--iterations", "40"],
    },
];

/// Waits between looks whether a program listens.
const STEP: Duration = Duration::from_millis(200);

/// Runs a program in the guest as the client of `wiremend peer serve`.
fn guest_calls(guest: &mut Guest, program: &Managed, options: &[&str]) {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut server = command();
        server.args(["peer", "serve", "--interface", "tap0", "--clients", "1"]);
        server.args(program.serve).args(options).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = server.spawn().expect("the program starts");
        until("the server listens or has ended", || is_listening() || server.try_wait().unwrap().is_some());
        let output = guest.run(program.client, TOOL_LIMIT).unwrap();
        if output.status != 0 {
            let _ = server.kill();
        }
        let served = ended(server.wait_with_output().unwrap());
        if clock_failed(&output.text) && attempt < CLOCK_ATTEMPTS {
            continue;
        }
        let name = program.name;
        assert_done(&output, &format!("{name} {options:?} (server: {} {})", served.stdout, served.stderr));
        let served = served.ok();
        assert!(served.contains("1 clients served") && served.contains(" 0 failed"), "{name}: {served}");
        return;
    }
}

/// Runs a program in the guest as the server of a client of `wiremend peer`.
fn guest_serves(guest: &mut Guest, program: &Managed, options: &[&str]) {
    let name = program.name;
    let started = guest.run(&format!("{} >/run/server 2>&1 & echo $!", program.server), SHORT).unwrap();
    let process = started.text.trim();
    let (host, mut arguments) = (GUEST.to_string(), vec!["peer"]);
    arguments.extend(program.connect);
    arguments.extend([&host, "--json"]);
    arguments.extend(options);
    let client = loop {
        let client: Ended = wiremend(&arguments);
        // The program does not listen yet, or has ended.
        let is_early = client.code == Some(2) && client.stderr.contains("refuses with reason 8");
        if !is_early || guest.run(&format!("kill -0 {process}"), SHORT).unwrap().status != 0 {
            break client;
        }
        sleep(STEP);
    };
    let server = guest.run(&format!("kill -KILL {process}; cat /run/server"), SHORT).unwrap();
    assert_eq!(client.code, Some(0), "{name} {options:?}: {} (server: {})", client.stderr, server.text);
    let numbers = client.json();
    assert_eq!(numbers["tool"], name, "{numbers}");
    assert!(numbers["messages"].as_u64().unwrap() >= 10, "{numbers}");
}

/// Without losses; with a loss of the first messages of connection managers in each direction, and random ones.
#[test]
fn programs_of_a_kernel_connect_by_the_connection_manager() {
    with_guest(|guest, _| {
        let lossy: &[&str] =
            &["--drop", "out other 1", "--drop", "in other 1", "--drop", "out 1/64", "--drop", "in 1/64"];
        for options in [&[], lossy] {
            for program in &PROGRAMS {
                guest_calls(guest, program, options);
                guest_serves(guest, program, options);
            }
        }
    });
}

/// Both ends here, also over IPv6, with losses.
#[test]
fn two_endpoints_connect_by_the_connection_manager() {
    in_own_network(|| {
        let other = NetNs::new().unwrap();
        net::new_veth(VethEnd::here("p0"), VethEnd::within("p1", other.as_fd())).unwrap();
        let at = |inside: bool, arguments: &str| {
            if inside { other.run(|| ip(arguments)).unwrap() } else { ip(arguments) }
        };
        for (inside, name, last) in [(false, "p0", 1), (true, "p1", 2)] {
            at(inside, &format!("address add 198.18.5.{last}/24 dev {name}"));
            at(inside, &format!("address add fd00:5::{last}/64 dev {name} nodad"));
            at(inside, &format!("link set {name} up"));
        }
        for program in &PROGRAMS {
            for host in ["198.18.5.2", "fd00:5::2"] {
                let mut server = command();
                server.args(["peer", "serve", "--interface", "p1", "--listen", host, "--clients", "1"]);
                server.args(program.serve).stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut server = other.run(|| server.spawn().unwrap()).unwrap();
                other
                    .run(|| until("it listens", || is_listening() || server.try_wait().unwrap().is_some()))
                    .unwrap();
                let mut arguments = vec!["peer"];
                arguments.extend(program.connect);
                arguments.extend([host, "--json", "--timeout", "10ms", "--drop", "in 1/50"]);
                arguments.extend(["--drop", "out other 1"]);
                let client = wiremend(&arguments);
                let served = ended(server.wait_with_output().unwrap());
                assert_eq!(client.code, Some(0), "{arguments:?}: {} {}", client.stderr, served.stderr);
                assert_eq!(client.json()["tool"], program.name);
                let served = served.ok();
                assert!(
                    served.contains("1 clients served") && served.contains(" 0 failed"),
                    "{arguments:?}: {served}"
                );
            }
        }
    });
}

/// A client that is killed disconnects from nothing: the server ends it after its silence.
#[test]
fn a_client_whose_machine_dies_ends_as_failed() {
    in_own_network(|| {
        let other = NetNs::new().unwrap();
        net::new_veth(VethEnd::here("p0"), VethEnd::within("p1", other.as_fd())).unwrap();
        ip("address add 198.18.7.1/24 dev p0");
        ip("link set p0 up");
        other.run(|| ip("address add 198.18.7.2/24 dev p1")).unwrap();
        other.run(|| ip("link set p1 up")).unwrap();
        for (kind, options) in [("ping", ["--with", "rping"]), ("write", ["--cm", "--size=64KiB"])] {
            let mut server = command();
            server.args(["peer", "serve", "--interface", "p1", "--clients", "1", "--silence", "500ms"]);
            server.stdout(Stdio::piped()).stderr(Stdio::piped());
            let server = other.run(|| server.spawn().unwrap()).unwrap();
            other.run(|| until("it listens", is_listening)).unwrap();
            let pcap = tempfile::NamedTempFile::new().unwrap();
            let mut client = command();
            client.args(["peer", kind, "198.18.7.2", "--iterations", "100000000", "--pcap"]).arg(pcap.path());
            client.args(options).stdout(Stdio::null()).stderr(Stdio::null());
            let mut client = client.spawn().unwrap();
            // Data passes: the connection is set up.
            until("frames pass", || pcap.path().metadata().unwrap().len() > 1_000_000);
            client.kill().unwrap();
            client.wait().unwrap();
            let served = ended(server.wait_with_output().unwrap());
            assert_eq!(served.code, Some(1), "{kind}: {} {}", served.stdout, served.stderr);
            assert!(served.stdout.contains("1 clients served, 0 connected, 1 failed"), "{}", served.stdout);
        }
    });
}

/// Each problem is one line that names place and remedy, and the exit code is 2.
#[test]
fn refusals_of_a_connection_manager_name_the_remedy() {
    in_own_network(|| {
        let other = NetNs::new().unwrap();
        net::new_veth(VethEnd::here("p0"), VethEnd::within("p1", other.as_fd())).unwrap();
        ip("address add 198.18.6.1/24 dev p0");
        ip("link set p0 up");
        other.run(|| ip("address add 198.18.6.2/24 dev p1")).unwrap();
        other.run(|| ip("link set p1 up")).unwrap();
        let mut server = command();
        server.args(["peer", "serve", "--interface", "p1", "--mtu", "512"]);
        server.stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = other.run(|| server.spawn().unwrap()).unwrap();
        other.run(|| until("it listens", is_listening)).unwrap();
        for (arguments, parts) in [
            (&["ping", "198.18.6.2", "--with", "rping", "--port", "9"][..], ["198.18.6.2:9", "rping -s"]),
            (&["ping", "198.18.6.2", "--with", "rping"], ["reason 26", "--mtu"]),
            (&["serve", "--for", "rping"], ["--for rping needs --interface", "connection manager"]),
            (&["ping", "198.18.6.2", "--with", "pingpong", "--cm"], ["--cm", "ibv_rc_pingpong"]),
            (&["ping", "198.18.6.2", "--with", "rping", "--by-hand"], ["--by-hand", "rping"]),
            (&["ping", "198.18.6.2", "--with", "rping", "--size", "64KiB"], ["at most 65535", "65536"]),
            (&["ping", "198.18.6.2", "--with", "ucmatose", "-n", "513"], ["at most 512", "513"]),
        ] {
            let Ended { code, stdout, stderr } = wiremend(&[&["peer"], arguments].concat());
            assert_eq!((code, stdout.as_str(), stderr.lines().count()), (Some(2), "", 1), "{stderr}");
            assert!(parts.iter().all(|part| stderr.contains(part)), "{arguments:?}: {stderr}");
        }
        server.kill().unwrap();
        server.wait().unwrap();
    });
}
