//! Other spellings of names.

use wiremend_scenario::load;

const BASE: &str = r#"
title = "one flow"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
[[workload]]
kind = "poisson"
sizes = "websearch"
load = 0.1
flows = 10
pattern = "uniform"
[[workload]]
kind = "ping-pong"
bytes = "1kB"
iterations = 1
[[impair]]
kind = "bit-errors"
links = "switches"
rate = "1e-9"
[[protect]]
links = "switches"
by = "linkguardian"
profile = "prototype"
switch = "ideal"
"#;

/// Case, `-` and `_` do not matter, and names from papers are accepted, wherever a scenario enumerates names.
#[test]
fn other_spellings_mean_the_same() {
    let plain = load("s.toml", BASE, &[]).unwrap();
    for (name, others) in [
        ("\"leaf-spine\"", "LeafSpine leaf_spine leafspine spine-leaf"),
        ("\"poisson\"", "Poisson POISSON"),
        ("\"ping-pong\"", "pingpong ping_pong PingPong"),
        ("\"uniform\"", "Uniform"),
        ("\"bit-errors\"", "BitErrors bit_errors biterrors"),
        ("\"switches\"", "Switches SWITCHES"),
        ("\"linkguardian\"", "LinkGuardian LINKGUARDIAN link-guardian link_guardian LG"),
        ("\"prototype\"", "Prototype paper Paper"),
        ("\"ideal\"", "Ideal"),
    ] {
        for other in others.split(' ') {
            let file = load("s.toml", &BASE.replace(name, &format!("\"{other}\"")), &[]);
            assert_eq!(file.map(|file| file.scenario), Ok(plain.scenario.clone()), "{other}");
        }
    }
}

#[test]
fn other_spellings_hold_for_overrides_and_variants() {
    for (set, other) in [
        ("transport.recovery=go-back-n", "GBN gbn go_back_n GoBackN"),
        ("transport.recovery=selective-repeat", "irn IRN SelectiveRepeat selective_repeat"),
        ("transport.recovery=rack-tlp", "RACK rack_tlp"),
        ("transport.recovery=mp-rdma", "MPRDMA MP-RDMA"),
        ("transport.congestion=dcqcn-paper", "DCQCN dcqcn"),
        ("transport.congestion=swift", "Swift"),
        ("transport.protocol=rdma", "RDMA RoCE rocev2"),
        ("transport.tcp.congestion=cubic", "CUBIC Cubic"),
        ("transport.tcp.congestion=reno", "NewReno"),
        ("transport.window=unlimited", "Unlimited"),
        ("transport.operation=send", "SEND Send"),
        ("switch.balance=flowlet", "LetFlow Flowlet"),
        ("mend.preset=all-optimized", "AllOptimized all_optimized"),
        ("protect.0.by=linkguardian-nb", "LinkGuardianNB linkguardian_nb LG-NB"),
        ("workload.0.pattern=point-to-point", "p2p PointToPoint"),
    ] {
        let (path, name) = set.split_once('=').unwrap();
        let scenario = |value: &str| {
            let marks = "[switch.ecn]\nkmin = \"20kB\"\nkmax = \"200kB\"\npmax = 0.1\n";
            let tcp = if path.contains("tcp") { "[transport]\nprotocol = \"tcp\"\n" } else { "" };
            let variant = format!("[[variant]]\nname = \"v\"\nset = {{ \"{path}\" = \"{value}\" }}\n");
            let set = format!("{path}={value}").parse().unwrap();
            let overridden = load("s.toml", &format!("{BASE}{marks}{tcp}"), &[set]).unwrap().scenario;
            let varied = load("s.toml", &format!("{BASE}{marks}{tcp}{variant}"), &[]).unwrap();
            assert_eq!(varied.variants[0].scenario.transport, overridden.transport, "{path}={value}");
            overridden
        };
        let plain = scenario(name);
        for other in other.split(' ') {
            assert_eq!(scenario(other), plain, "{path}={other}");
        }
    }
    let text = BASE.replace("profile = \"prototype\"\nswitch = \"ideal\"\n", "");
    for (name, other) in [("fec(25,1)", "FEC(25,1)"), ("fec-nb(4,2)", "FEC_NB(4,2)")] {
        let [plain, other] =
            [name, other].map(|by| load("s.toml", &text.replace("linkguardian", by), &[]).unwrap().scenario);
        assert_eq!(plain, other);
    }
}

#[test]
fn a_name_that_nothing_spells_is_answered_with_the_nearest() {
    for (set, why) in [
        (
            "transport.recovery=go-bak-n",
            "unknown value `go-bak-n`; did you mean `go-back-n`? allowed: go-back-n, ",
        ),
        ("topology.kind=leafspin", "unknown kind `leafspin`; did you mean `leaf-spine`? allowed: pair, "),
        (
            "transport.operation=wriet",
            "unknown value `wriet`; did you mean `write`? allowed: write, send, read",
        ),
        ("protect.0.by=arq", "unknown protection `arq`; expected \"linkguardian\", "),
    ] {
        let error = load("s.toml", BASE, &[set.parse().unwrap()]).unwrap_err().to_string();
        assert_eq!(
            error.strip_prefix(&format!("--set {set}: ")).map(|rest| rest.starts_with(why)),
            Some(true),
            "{error}"
        );
    }
}
