//! The lab with real components: namespaces, relays, a wire, the kernel's TCP and soft-RoCE.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use super::{alone, eventually, skip};
use crate::program::{Ended, command, ended, files};

/// Without protection TCP sees the corruption as loss; with protection the relays recover it.
#[test]
fn tcp_is_protected_from_corruption() {
    let _alone = alone();
    let lab = Lab::new();
    let out = lab.home.path().join("out");
    let asked = ["tcp", "--loss", "1e-2", "--cc", "cubic", "--seconds", "1", "--json", "--out"];
    let Some(ended) = lab.run(&[&asked[..], &[out.to_str().unwrap()]].concat()) else { return };
    let all = ended.json();
    for state in all["goodputs"][0]["states"].as_array().unwrap() {
        let arrived: u64 = numbers(&state["tenths"][0]).iter().sum();
        assert!(arrived > 0, "{all}");
    }
    let again = |state: usize| numbers(&all["goodputs"][0]["states"][state]["retransmitted"])[0];
    assert!(again(1) > 0, "TCP has met no loss where nobody protects: {all}");
    for latency in all["latencies"].as_array().unwrap() {
        assert!(latency["times"]["requests"].as_u64().unwrap() > 0, "{all}");
    }
    is_recovered(&all);
    assert_eq!(files(&out), ["goodput.svg", "tcp.json"]);
    lab.assert_left_nothing();
}

/// A lost tail costs the kernel a timer of at least 200 ms, and so it does in the simulator; an earlier segment costs
/// neither of them the timer.
#[test]
fn short_flows_recover_as_in_the_simulator() {
    let _alone = alone();
    let lab = Lab::new();
    let Some(ended) = lab.run(&["flows", "--flows", "10", "--json"]) else { return };
    let all = ended.json();
    // The kernel's fastest flow is the one that the load of this machine disturbed least. The simulator draws delays of
    // hosts as they were measured beside that load; its median flow does not depend on a rare one.
    let times = |who: &str, place: fn(&[u64]) -> u64| -> Vec<(String, u64)> {
        let kinds = all[who]
            .as_array()
            .unwrap()
            .iter()
            .filter(|flows| flows["kind"]["bytes"].as_u64() < Some(1_000_000));
        let name =
            |flows: &Value| format!("{} {}", flows["kind"]["bytes"], flows["kind"]["lost"].as_str().unwrap());
        kinds.map(|flows| (name(flows), place(&numbers(&flows["ns"])))).collect()
    };
    let kernel = times("kernel", |ns| ns[0]);
    let simulator = times("simulator", |ns| ns[ns.len() / 2]);
    assert_eq!(kernel.len(), 6, "{all}");
    for ((kind, measured), (_, simulated)) in kernel.iter().zip(&simulator) {
        // The path alone takes 8.2 ms.
        assert!(*measured > 8_200_000 && *simulated > 8_200_000, "{kind}: {measured} and {simulated} ns");
        let waits = |ns: &u64| *ns > 200_000_000;
        assert_eq!(waits(measured), waits(simulated), "{kind}: {measured} and {simulated} ns");
    }
    lab.assert_left_nothing();
}

/// A link starts to corrupt; monitors detect it by its counters and protect it; after the repair they stop.
#[test]
fn monitors_protect_a_link_automatically() {
    let _alone = alone();
    let lab = Lab::new();
    let out = lab.home.path().join("out");
    let Some(ended) = lab.run(&["auto", "--json", "--out", out.to_str().unwrap()]) else { return };
    let seen = ended.json();
    let at = |key: &str| seen[key].as_f64().unwrap_or_else(|| panic!("{key}: {seen}"));
    let order = ["corrupts_s", "detected_s", "protected_s", "repaired_s", "unprotected_s"].map(at);
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(files(&out), ["auto.json", "auto.svg"]);
    lab.assert_left_nothing();
}

/// RoCE of an unmodified kernel retries without protection, and almost never with relays; all messages arrive in both cases.
#[test]
fn roce_is_protected_from_retries() {
    let _alone = alone();
    let lab = Lab::new();
    // Downloads the kernel of the guests if it is not in the cache.
    let asked = ["roce", "--rounds", "2", "--messages", "150", "--bulk-messages", "40", "--json", "--fetch"];
    let Some(ended) = lab.run(&asked) else { return };
    let all = ended.json();
    let retries = |state: usize| {
        let values = |key: &str| numbers(&all["states"][state][key]);
        assert_eq!([values("max_ns").len(), values("bulk_retries").len()], [2, 2], "{all}");
        values("retries").iter().chain(&values("bulk_retries")).sum::<u64>()
    };
    let names: Vec<_> = all["states"].as_array().unwrap().iter().map(|state| &state["state"]).collect();
    assert_eq!(names, ["plain", "clean", "corrupting", "protected"]);
    let [plain, clean, corrupting, protected] = [0, 1, 2, 3].map(retries);
    println!("retries: {plain} plain, {clean} clean, {corrupting} corrupting, {protected} protected");
    // A guest that waits for a CPU retries too, equally often in every state.
    assert!(2 * protected < corrupting + clean, "{all}");
    is_recovered(&all);
    lab.assert_left_nothing();
}

/// Asserts that the relays recovered frames and gave up few of the missing ones.
fn is_recovered(all: &Value) {
    let count = |relay: &str, name: &str| all["statuses"][relay]["link_counts"][name].as_u64().unwrap();
    let [recovered, lost] = ["recovered", "lost"].map(|name| count("relay_a", name) + count("relay_b", name));
    println!("{recovered} recovered, {lost} lost");
    assert!(recovered > 0 && lost * 10 <= recovered, "{all}");
}

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// A shell on host A sees only its own network, reaches host B, and leaves nothing behind.
#[test]
fn a_shell_is_inside() {
    let _alone = alone();
    let lab = Lab::new();
    let script = "ip -4 -o addr show dev eth0; $ON_B ip -4 -o addr show dev eth0; ls $WIREMEND_LAB; exit 7";
    let Some(ended) = lab.run(&["shell", "--loss", "0", "--active", "--", "sh", "-c", script]) else {
        return;
    };
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for text in ["198.18.0.1/15", "198.18.0.2/15", "link-a"] {
        assert!(ended.stdout.contains(text), "{text}: {}{}", ended.stdout, ended.stderr);
    }
    lab.assert_left_nothing();
}

/// `lab down` stops a lab, and removes the remains of one that was killed.
#[test]
fn labs_are_ended_from_outside() {
    let _alone = alone();
    let lab = Lab::new();
    assert_eq!(lab.run(&["down"]).expect("it needs no rights").ok(), "no lab is running\n");
    let sleeping = || {
        let mut command = lab.command(&["shell", "--", "sh", "-c", "echo inside; exec sleep 600"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut byte = [0];
        let inside = std::io::Read::read(child.stdout.as_mut().unwrap(), &mut byte).unwrap() == 1;
        (child, inside)
    };
    let (child, inside) = sleeping();
    if !inside {
        return skip(&ended(child.wait_with_output().unwrap()).stderr);
    }
    let id = child.id();
    assert_eq!(lab.run(&["down"]).unwrap().ok(), format!("stopped the lab of process {id}\n"));
    assert_eq!(ended(child.wait_with_output().unwrap()).code, Some(128 + 15));
    lab.assert_left_nothing();
    let (mut child, inside) = sleeping();
    assert!(inside);
    let id = child.id();
    child.kill().unwrap();
    child.wait().unwrap();
    lab.assert_no_processes();
    let cleared = lab.run(&["down"]).unwrap().ok();
    assert_eq!(cleared, format!("removed the remains of the lab of process {id}\n"));
    lab.assert_left_nothing();
}

/// Bad input is refused before anything is built.
#[test]
fn bad_input_is_refused() {
    let lab = Lab::new();
    let refused =
        |arguments: &[&str], code| lab.run(arguments).expect("it needs no rights").refused_with(code);
    assert!(refused(&["tcp", "--loss", "2"], 2).contains("between 0 and 1"));
    assert!(refused(&["tcp", "--seconds", "0.1"], 2).contains("0.5 to 3600"));
    assert!(refused(&["tcp", "--rate", "1bps"], 2).contains("1Mbps"));
    assert!(refused(&["tcp", "--cc", "no-such-control"], 3).contains("it has "));
}

/// Runs labs in a temporary directory.
struct Lab {
    home: TempDir,
    interfaces: String,
}

impl Lab {
    fn new() -> Self {
        Self { home: tempdir().unwrap(), interfaces: interfaces() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command();
        command.arg("lab").args(arguments).env("TMPDIR", self.home.path());
        command
    }

    /// Returns `None` if this machine lacks a requirement, outside CI.
    fn run(&self, arguments: &[&str]) -> Option<Ended> {
        Self::judged(ended(self.command(arguments).output().unwrap()))
    }

    fn judged(ended: Ended) -> Option<Ended> {
        let lacks = ended.code == Some(3)
            && ["networks of its own", "guests need", "apt-get"]
                .iter()
                .any(|words| ended.stderr.contains(words));
        if lacks {
            skip(&ended.stderr);
            return None;
        }
        Some(ended)
    }

    fn assert_left_nothing(&self) {
        self.assert_no_processes();
        let left: Vec<_> = files(self.home.path()).into_iter().filter(|name| name != "out").collect();
        assert_eq!(left, [""; 0]);
        assert_eq!(interfaces(), self.interfaces);
    }

    /// Returns whether no process refers to the directory on its command line or in its environment.
    fn assert_no_processes(&self) {
        let home = self.home.path().to_str().unwrap();
        let mut left = Vec::new();
        let is_empty = eventually(|| {
            left = processes_with(home);
            left.retain(|id| *id != std::process::id());
            left.is_empty()
        });
        assert!(is_empty, "processes {left:?} are still there");
    }
}

impl Ended {
    /// Asserts that it failed with this code and returns the message.
    fn refused_with(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self.stderr
    }
}

fn processes_with(text: &str) -> Vec<u32> {
    let mentions = |path: &Path| {
        ["cmdline", "environ"].iter().any(|file| {
            fs::read(path.join(file)).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
        })
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            mentions(&entry.path()).then_some(id)
        })
        .collect()
}

/// Returns the interfaces of the network namespace of the tests.
fn interfaces() -> String {
    let names = fs::read_dir("/sys/class/net").unwrap().flatten();
    let mut names: Vec<_> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names.join(" ")
}
