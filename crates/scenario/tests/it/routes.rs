//! Forwarding entries and remedies for deadlocks, valid and invalid.

use wiremend_scenario::load;

const LOSSY: &str = "title = \"loop\"\n[topology]\nkind = \"chain\"\nswitches = 2\n[[workload]]\nkind = \"stream\"\nmessage = \"1MB\"\n";

fn refusal(more: &str) -> String {
    match load("s.toml", &format!("{LOSSY}{more}"), &[]) {
        Ok(_) => panic!("understood:\n{more}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_entry_ends_after_it_starts() {
    let route = "[[route]]\nswitch = \"s1\"\nto = \"all\"\nnext = \"s0\"\n";
    let file = load("s.toml", &format!("{LOSSY}{route}stop = \"1ms\"\n"), &[]).unwrap();
    let known = &file.scenario.routes[0];
    assert_eq!((known.to.as_str(), known.start.as_ns()), ("all", 0));
    assert_eq!(
        refusal(&format!("{route}start = \"2ms\"\nstop = \"2ms\"\n")),
        "s.toml:8:1: `stop` is not later than `start`; set a later time"
    );
    assert_eq!(
        refusal("[[route]]\nswitch = \"s1\"\nto = \"all\"\n"),
        "s.toml:8:1: missing field `next`; it has no default"
    );
    assert!(refusal("[[route]]\nswitch = \"\"\n").contains("is empty"));
}

#[test]
fn no_frame_starts_without_hops() {
    let cases = [
        "[transport]\nttl = 0\n",
        "[[workload]]\nkind = \"cbr\"\nrate = \"1Gbps\"\nttl = 0\n",
        "[switch.lossless]\nclasses = [3]\n[switch.demotion]\nttl_below = 0\nclass = 0\n",
    ];
    for case in cases {
        let line = refusal(case);
        assert!(line.contains("1 to 255"), "{line}");
    }
}

#[test]
fn remedies_are_for_lossless_switches() {
    let lossless = "[switch.lossless]\nclasses = [3]\n";
    for (more, message) in [
        ("[switch.watchdog]\n", "[switch.watchdog] needs lossless switches; add [switch.lossless]"),
        ("[switch.probes]\n", "[switch.probes] needs lossless switches; add [switch.lossless]"),
        ("[switch.demotion]\nclass = 0\nttl_below = 9\n", "[switch.demotion] needs lossless switches"),
    ] {
        let line = refusal(more);
        assert!(line.contains(message) && line.starts_with("s.toml:8:1: "), "{line}");
        load("s.toml", &format!("{LOSSY}{lossless}{more}"), &[]).unwrap();
    }
    // What a switch remembers of frames is of use without lossless classes too.
    load("s.toml", &format!("{LOSSY}[switch.loops]\n"), &[]).unwrap();
    for (more, message) in [
        ("[switch.demotion]\nclass = 0\n", "no frame would be demoted; set `ttl_below` or `bounces`"),
        ("[switch.demotion]\nclass = 3\nbounces = 1\n", "class 3 is lossless; choose a lossy class"),
        ("[switch.watchdog]\npoll = \"150ms\"\n", "`detection` is below two polls of 150ms"),
        ("[switch.watchdog]\naction = \"ignore\"\n", "ignore"),
        ("[switch.probes]\nafter = \"0ns\"\n", "must be above zero"),
        ("[deadlock]\nevery = \"0ns\"\n", "must be above zero"),
        ("[switch.loops]\nentries = 3\n", "16 to 16777216"),
    ] {
        let line = refusal(&format!("{lossless}{more}"));
        assert!(line.contains(message), "{line}");
    }
}
