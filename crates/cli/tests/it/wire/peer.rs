//! `wiremend peer` with unmodified programs on the other end: perftest and `ibv_rc_pingpong` on the RoCE of Debian's
//! kernel, in a guest.
//!
//! Emulated guests are slow, so one guest serves all tools of a test. A tool that hangs is killed by the guest after
//! its time limit, and the test fails with its name.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::{TempDir, tempdir};
use wiremend_dataplane::net::{self, Interface, NetError, NetNs, VethEnd};
use wiremend_dataplane::sys::process;
use wiremend_lab::guests::{self, Guest, GuestConfig, Image, Output, TapDevice};
use wiremend_wire::MacAddr;

use super::relay_net::in_own_network;
use super::{alone, skip, until};
use crate::program::{Ended, command, ended, wiremend};

/// On an idle machine the start takes ten seconds.
const START_LIMIT: Duration = Duration::from_mins(10);
/// A hanging tool is judged as failed after this time.
pub(super) const TOOL_LIMIT: Duration = Duration::from_mins(4);
pub(super) const SHORT: Duration = Duration::from_mins(2);
const HOST: &str = "198.18.0.1";
pub(super) const GUEST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// perftest measures the speed of the CPU clock first, which sometimes fails on a busy machine.
pub(super) const CLOCK_ATTEMPTS: u32 = 6;

/// Runs `work` with a guest on a TAP interface, in a namespace of its own. Skips the test if that is not possible.
pub(super) fn with_guest(work: impl FnOnce(&mut Guest, &TempDir) + Send) {
    let _alone = alone();
    let found = guests::find().or_else(|_| guests::fetch().and_then(|()| guests::find()));
    let files = match found {
        Ok(files) => files,
        Err(error) => return skip(&error.to_string()),
    };
    let network = match NetNs::new() {
        Ok(network) => network,
        Err(refused @ NetError::NotPermitted { .. }) => return skip(&refused.to_string()),
        Err(refused) => panic!("{refused}"),
    };
    let inside = || {
        ip("tuntap add tap0 mode tap");
        ip("link set tap0 up");
        ip(&format!("address add {HOST}/24 dev tap0"));
        assert!(Interface::by_name("tap0").is_ok());
        let directory = tempdir().unwrap();
        let image = Image::build(&files, directory.path()).unwrap();
        let config = GuestConfig {
            name: "guest",
            tap: TapDevice::Named("tap0".to_owned()),
            address: GUEST,
            mac: MacAddr::local(2),
            directory: directory.path(),
            stop: Arc::default(),
        };
        let mut guest = Guest::start(&image, config).unwrap();
        guest.wait_ready(START_LIMIT).unwrap();
        work(&mut guest, &directory);
    };
    network.run(inside).unwrap();
}

pub(super) fn ip(arguments: &str) {
    let status = std::process::Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

/// Common arguments of perftest: device, IPv4, message length and number, no check of the CPU frequency.
fn perftest(tool: &str, size: u32, iterations: u32) -> String {
    match tool {
        "ibv_rc_pingpong" => format!("{tool} -d rxe0 -g 1 -s {size} -n {iterations}"),
        _ if tool.contains(" -m ") => format!("{tool} -d rxe0 -F -s {size} -n {iterations}"),
        "ib_atomic_bw" => format!("{tool} -d rxe0 -x 1 -F -n {iterations}"),
        _ => format!("{tool} -d rxe0 -x 1 -m 1024 -F -s {size} -n {iterations}"),
    }
}

/// Returns whether a server of this namespace listens at the port of perftest.
pub(super) fn is_listening() -> bool {
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/thread-self/net/{name}")));
    let is_it = |line: &str| line.contains(":4853 ") && line.contains(" 0A ");
    tables.into_iter().flatten().any(|table| table.lines().any(is_it))
}

pub(super) fn assert_done(output: &Output, what: &str) {
    assert_ne!(output.status, 137, "{what} hung and was killed: {}", output.text);
    assert_eq!(output.status, 0, "{what}: {}", output.text);
}

pub(super) fn clock_failed(text: &str) -> bool {
    text.contains("r^2") || text.contains(" inf") || text.contains(" nan")
}

/// Runs a tool in the guest as the client of `wiremend peer serve`. Returns what the server has printed.
fn guest_calls(guest: &mut Guest, tool: &str, size: u32, iterations: u32, options: &[&str]) -> String {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let (size_text, iterations_text) = (format!("{size}B"), iterations.to_string());
        let mut arguments = vec!["peer", "serve", "--interface", "tap0", "--clients", "1"];
        arguments.extend(["--size", &size_text, "--iterations", &iterations_text]);
        if matches!(tool, "ib_send_lat" | "ib_write_lat") {
            arguments.extend(["--for", tool]);
        }
        arguments.extend(options);
        let mut server = command();
        server.args(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = server.spawn().expect("the program starts");
        until("the server listens or has ended", || is_listening() || server.try_wait().unwrap().is_some());
        let line = perftest(tool, size, iterations);
        let output = guest.run(&format!("{line} {HOST}"), TOOL_LIMIT).unwrap();
        if output.status != 0 {
            let _ = server.kill();
        }
        let served = ended(server.wait_with_output().unwrap());
        if clock_failed(&output.text) && attempt < CLOCK_ATTEMPTS {
            continue;
        }
        assert_done(&output, &format!("{tool} {options:?} (server: {} {})", served.stdout, served.stderr));
        return served.ok();
    }
}

/// Runs a tool in the guest as the server of a client of `wiremend peer`. Returns the numbers of the client.
fn guest_serves(guest: &mut Guest, tool: &str, size: u32, iterations: u32, options: &[&str]) -> Value {
    const LISTENING: &str = ":4853 [0-9A-F]*:0000 0A";
    let line = perftest(tool, size, iterations);
    let started = guest.run(&format!("{line} >/run/server 2>&1 & echo $!"), SHORT).unwrap();
    let listens = format!("until grep -q '{LISTENING}' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done");
    assert_done(&guest.run(&listens, SHORT).unwrap(), &format!("{tool} as a server"));
    let (kind, with) = match tool.split(' ').next().unwrap() {
        "ib_write_bw" => ("write", None),
        "ib_send_bw" => ("send", None),
        "ib_read_bw" => ("read", None),
        "ib_atomic_bw" => ("atomic", None),
        "ib_write_lat" => ("ping", Some("write")),
        "ib_send_lat" => ("ping", Some("send")),
        "ib_read_lat" => ("ping", Some("read")),
        _ => ("ping", Some("pingpong")),
    };
    let (host, size, iterations) = (GUEST.to_string(), format!("{size}B"), iterations.to_string());
    let mut arguments = vec!["peer", kind, &host, "--size", &size, "--iterations", &iterations, "--json"];
    arguments.extend(with.iter().flat_map(|with| ["--with", with]));
    arguments.extend(options);
    let client: Ended = wiremend(&arguments);
    // A server that has had a client ends by itself, but for those whose clock failed.
    let server = guest.run(&format!("kill -KILL {}; cat /run/server", started.text.trim()), SHORT).unwrap();
    assert_eq!(client.code, Some(0), "{tool} {options:?}: {} (server: {})", client.stderr, server.text);
    let numbers = client.json();
    assert_eq!(numbers["messages"].as_u64().unwrap() % iterations.parse::<u64>().unwrap(), 0, "{numbers}");
    numbers
}

/// Frames that a server has sent.
fn frames_out(served: &str) -> u64 {
    let words: Vec<&str> = served.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "out,").expect("the summary has frames");
    words[at - 1].parse().expect("a number")
}

const TOOLS: [(&str, u32, u32); 8] = [
    ("ib_write_bw", 65_536, 20),
    ("ib_send_bw", 65_536, 20),
    ("ib_read_bw", 65_536, 20),
    ("ib_atomic_bw", 8, 40),
    ("ib_write_lat", 8, 40),
    ("ib_send_lat", 64, 40),
    ("ib_read_lat", 64, 40),
    ("ibv_rc_pingpong", 4096, 40),
];

#[test]
fn every_tool_of_a_kernel_runs_against_the_endpoint_as_client_and_server() {
    with_guest(|guest, _| {
        for (tool, size, iterations) in TOOLS {
            let served = guest_calls(guest, tool, size, iterations, &[]);
            assert!(served.contains("1 clients served") && served.contains(" 0 failed"), "{tool}: {served}");
            let numbers = guest_serves(guest, tool, size, iterations, &[]);
            assert_eq!(numbers["tool"], tool);
            assert!(numbers["packets"].as_u64().unwrap() >= u64::from(iterations), "{numbers}");
        }
        let served = guest_calls(guest, "ib_send_bw -q 4", 4096, 50, &[]);
        assert!(served.contains(" 0 failed; 200 messages received"), "four queue pairs: {served}");
        for (tool, options) in
            [("ib_write_bw", ""), ("ib_send_bw", ""), ("ib_read_bw", ""), ("ib_send_bw", " -b")]
        {
            let line = format!("{tool} -q 3{options}");
            let numbers = guest_serves(
                guest,
                &line,
                4096,
                50,
                &format!("-q 3{options}").split(' ').collect::<Vec<_>>(),
            );
            assert_eq!(
                (&numbers["tool"], numbers["messages"].as_u64()),
                (&tool.into(), Some(150)),
                "{numbers}"
            );
        }
    });
}

#[test]
fn a_kernel_connects_with_every_path_mtu_and_over_ipv6() {
    with_guest(|guest, _| {
        const GIDS: &str = "/sys/class/infiniband/rxe0/ports/1/gids";
        ip("link set tap0 mtu 4500");
        ip("address add fd00:5::1/64 dev tap0 nodad");
        let in_guest = "ip link set eth0 mtu 4500 && ip address add fd00:5::2/64 dev eth0";
        assert_done(&guest.run(in_guest, SHORT).unwrap(), in_guest);
        let find = format!("until grep -l '^fd00:0005' {GIDS}/*; do sleep 0.1; done 2>/dev/null");
        let gid = guest.run(&find, SHORT).unwrap().text;
        let gid = gid.trim().rsplit('/').next().unwrap();
        for mtu in [256, 512, 2048, 4096] {
            for tool in ["ib_send_bw", "ib_read_bw"] {
                let line = format!("{tool} -x 1 -m {mtu}");
                let served = guest_calls(guest, &line, 20_000, 20, &["--mtu", "4096"]);
                assert!(
                    served.contains("1 clients served") && served.contains(" 0 failed"),
                    "{line}: {served}"
                );
                let numbers = guest_serves(guest, &line, 20_000, 20, &["--mtu", "4096"]);
                assert_eq!(numbers["mtu"], mtu, "{numbers}");
            }
        }
        // The set-up of perftest uses IPv4 here, too.
        for tool in ["ib_write_bw", "ib_send_lat", "ib_read_bw"] {
            let line = format!("{tool} -x {gid} -m 1024 --ipv6");
            let role = if tool == "ib_send_lat" { &["--for", tool][..] } else { &[] };
            let options = [&["--listen", "::", "--drop", "in 1/50"], role].concat();
            let served = guest_calls(guest, &line, 10_000, 30, &options);
            assert!(served.contains("1 clients served") && served.contains(" 0 failed"), "{line}: {served}");
        }
    });
}

/// With `-b` both ends send as many messages.
#[test]
fn messages_of_a_kernel_go_both_ways() {
    with_guest(|guest, _| {
        let random: &[&str] = &["--drop", "out 1/64", "--drop", "in 1/64"];
        for tool in ["ib_write_bw", "ib_send_bw", "ib_read_bw"] {
            for loss in [&[], random] {
                let options = [&["--for", tool, "-b"], loss].concat();
                let served = guest_calls(guest, &format!("{tool} -b"), 4096, 50, &options);
                assert!(
                    served.contains("1 clients served") && served.contains(" 0 failed"),
                    "{tool}: {served}"
                );
                let numbers = guest_serves(guest, &format!("{tool} -b"), 4096, 50, &[&["-b"], loss].concat());
                assert_eq!((&numbers["tool"], &numbers["messages"]), (&tool.into(), &50.into()), "{numbers}");
            }
            // Each end has sent its messages, and not only answered.
            let served = guest_calls(guest, &format!("{tool} -b -q 2"), 8192, 40, &["--for", tool, "-b"]);
            let sent = frames_out(&served);
            assert!(
                served.contains(" 0 failed") && sent >= 2 * 40 * if tool == "ib_read_bw" { 1 } else { 8 },
                "{served}"
            );
        }
    });
}

/// One loss of each kind is recovered by both ends.
#[test]
fn tools_of_a_kernel_finish_when_frames_are_lost() {
    with_guest(|guest, directory| {
        let random: &[&str] = &["--drop", "out 1/64", "--drop", "in 1/64"];
        for (tool, size, iterations) in TOOLS {
            let served = guest_calls(guest, tool, size, iterations, random);
            assert!(served.contains("1 clients served"), "{tool}: {served}");
            let numbers = guest_serves(guest, tool, size, iterations, random);
            assert_eq!(numbers["tool"], tool);
        }
        let pcap = directory.path().join("run.pcapng");
        let options = ["--drop", "out data 1280", "--pcap", pcap.to_str().unwrap()];
        let numbers = guest_serves(guest, "ib_write_bw", 65_536, 20, &options);
        assert_eq!(numbers["dropped"], 1, "{numbers}");
        let causes: Vec<_> =
            numbers["stalls"].as_array().unwrap().iter().map(|stall| &stall["cause"]).collect();
        assert!(causes.iter().any(|cause| **cause == "tail packet"), "{numbers}");
        let decoded = wiremend(&["capture", "decode", pcap.to_str().unwrap()]).ok();
        assert!(decoded.contains("dropped instead of sent"), "the capture shows the loss");
    });
}

/// On a real kernel one dummy replaces the wait for the timer, or a copy where the kernel's queue pair denies WRITEs.
#[test]
fn remedies_avoid_the_timeouts_of_a_kernel() {
    with_guest(|guest, _| {
        let stalls = |numbers: &Value, cause: &str| {
            let all = numbers["stalls"].as_array().unwrap();
            all.iter().filter(|stall| stall["cause"] == cause).count()
        };
        // The timer is far longer than anything else, so that only a loss makes it expire.
        let timeout = ["--timeout", "2s"];
        let last_packet = ["--drop", "out data 1280"];
        let cases: [(&str, [&str; 2], &str); 4] = [
            ("ib_write_bw", last_packet, "tail packet"),
            ("ib_send_bw", last_packet, "tail packet"),
            ("ib_read_bw", ["--drop", "in read-response 1280"], "tail ACK"),
            ("ibv_rc_pingpong", ["--drop", "out data 60"], "tail packet"),
        ];
        for (tool, loss, cause) in cases {
            let size = if tool == "ibv_rc_pingpong" { 4096 } else { 65_536 };
            for (dummies, expected) in [("0", 1), ("1", 0)] {
                let options = [&timeout[..], &loss, &["--dummies", dummies]].concat();
                let numbers = guest_serves(guest, tool, size, 20, &options);
                assert_eq!(numbers["dropped"], 1, "{tool} {options:?}: {numbers}");
                assert_eq!(stalls(&numbers, cause), expected, "{tool} {options:?}: {numbers}");
            }
        }
    });
}

/// Each end prints its parameters and reads those of the other.
#[test]
fn two_endpoints_connect_by_hand() {
    in_own_network(|| {
        let other = NetNs::new().unwrap();
        net::new_veth(VethEnd::here("p0"), VethEnd::within("p1", other.as_fd())).unwrap();
        ip("address add 198.18.3.1/24 dev p0");
        ip("link set p0 up");
        other.run(|| ip("address add 198.18.3.2/24 dev p1")).unwrap();
        other.run(|| ip("link set p1 up")).unwrap();
        let start = |arguments: &[&str]| {
            let mut process = command();
            process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            process.spawn().unwrap()
        };
        let mut server = other
            .run(|| start(&["peer", "serve", "--by-hand", "--interface", "p1", "--port", "20000"]))
            .unwrap();
        let mut client = start(&["peer", "write", "198.18.3.2", "--by-hand", "--iterations", "50", "--json"]);
        let mut lines = [&mut server, &mut client].map(|process| {
            let mut line = String::new();
            BufReader::new(process.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
            line
        });
        lines.reverse();
        for (process, line) in [&mut server, &mut client].into_iter().zip(lines) {
            assert!(line.starts_with("wiremend: qpn=0x"), "{line}");
            process.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        }
        let client = ended(client.wait_with_output().unwrap());
        assert_eq!(client.json()["messages"], 50);
        process::terminate(server.id()).unwrap();
        let served = ended(server.wait_with_output().unwrap()).ok();
        assert!(served.contains("1 connected, 0 failed"), "{served}");
    });
}

/// Both ends here: every kind of session, also over IPv6 and with a larger MTU, with losses on the way.
#[test]
fn two_endpoints_run_every_test_over_a_veth_pair() {
    in_own_network(|| {
        let other = NetNs::new().unwrap();
        net::new_veth(VethEnd::here("p0"), VethEnd::within("p1", other.as_fd())).unwrap();
        let at = |inside: bool, arguments: &str| {
            if inside { other.run(|| ip(arguments)).unwrap() } else { ip(arguments) }
        };
        for (inside, name, last) in [(false, "p0", 1), (true, "p1", 2)] {
            at(inside, &format!("address add 198.18.2.{last}/24 dev {name}"));
            at(inside, &format!("address add fd00:2::{last}/64 dev {name} nodad"));
            at(inside, &format!("link set {name} mtu 9000 up"));
        }
        for (kind, role, extra) in [
            ("write", None, &[][..]),
            ("write -q 30", None, &["--drop", "out 1/200"]),
            ("write -q 1000 --size 256B", None, &[]),
            ("send", None, &["--mtu", "4096"]),
            ("send -q 5", None, &["--drop", "in 1/100"]),
            ("read", None, &["--drop", "in 1/200"]),
            ("atomic", None, &["--drop", "out 1/50"]),
            ("ping --with send", Some("ib_send_lat"), &[]),
            ("ping --with write", Some("ib_write_lat"), &[]),
            ("ping --with read", None, &[]),
            ("ping --with pingpong", None, &["--drop", "in 1/50"]),
        ] {
            for host in ["198.18.2.2", "fd00:2::2"] {
                let mut server = command();
                server.args(["peer", "serve", "--interface", "p1", "--clients", "1", "--iterations", "60"]);
                server.args(role.iter().flat_map(|role| ["--for", role, "--size", "64B"]));
                if host.contains(':') {
                    server.args(["--listen", host]);
                }
                server.stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut server = other.run(|| server.spawn().unwrap()).unwrap();
                other
                    .run(|| until("it listens", || is_listening() || server.try_wait().unwrap().is_some()))
                    .unwrap();
                let words: Vec<&str> = kind.split(' ').collect();
                let (action, with) = words.split_first().unwrap();
                let mut arguments =
                    vec!["peer", action, host, "--iterations", "60", "--json", "--timeout", "10ms"];
                arguments.extend(with);
                arguments.extend(extra);
                if role.is_some() {
                    arguments.extend(["--size", "64B"]);
                }
                let client = wiremend(&arguments);
                let served = ended(server.wait_with_output().unwrap());
                assert_eq!(client.code, Some(0), "{arguments:?}: {} {}", client.stderr, served.stderr);
                let pairs: u64 = kind
                    .split_once("-q ")
                    .map_or(1, |(_, rest)| rest.split(' ').next().unwrap().parse().unwrap());
                assert_eq!(client.json()["messages"], 60 * pairs);
                let served = served.ok();
                assert!(
                    served.contains("1 clients served") && served.contains(" 0 failed"),
                    "{arguments:?}: {served}"
                );
            }
        }
    });
}
