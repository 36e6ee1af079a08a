//! Variants and `--set`: their effect, their precedence, and the place of errors.

use wiremend_scenario::{App, ImpairmentKind, Override, Recovery, load};

use crate::refusal::assert_messages;

const TEXT: &str = r#"title = "two versions"
[topology]
kind = "fat-tree"
k = 4
[transport]
recovery = "go-back-n"
timeout = 12
[[workload]]
kind = "poisson"
sizes = "websearch"
load = 0.5
flows = 100
[[impair]]
kind = "frames"
links = "switches"
rate = "1e-3"
[[variant]]
name = "clean"
set = { impair = [] }
[[variant]]
name = "slow"
set = { "transport.recovery" = "go-back-0", "topology" = { rate = "10Gbps" }, "workload.0.load" = 0.1 }
"#;

#[test]
fn a_file_without_variants_has_one_called_base() {
    let text = TEXT.split("[[variant]]").next().unwrap();
    let file = load("x", text, &[]).unwrap();
    assert_eq!(file.variants.len(), 1);
    assert_eq!(file.variants[0].name, "base");
    assert_eq!(file.variants[0].scenario, file.scenario);
    assert_eq!(file.text(), text);
}

#[test]
fn a_variant_changes_what_it_sets_and_nothing_else() {
    let file = load("x", TEXT, &[]).unwrap();
    let [clean, slow] = &file.variants[..] else { panic!("two variants") };
    assert!(clean.scenario.impairs.is_empty());
    assert_eq!(clean.scenario.transport, file.scenario.transport);
    assert_eq!(slow.scenario.transport.recovery.value, Recovery::GoBack0);
    assert_eq!(slow.scenario.transport.timeout.get(), 12);
    assert_eq!(slow.scenario.topology.rate.bits_per_s(), 10_000_000_000);
    assert_eq!(slow.scenario.topology.shape, file.scenario.topology.shape, "tables are merged");
    assert_eq!(slow.scenario.impairs, file.scenario.impairs);
    let App::Poisson(poisson) = &slow.scenario.workloads[0].app else { panic!("poisson") };
    assert_eq!(poisson.load.get().to_string(), "0.1");
    assert_eq!(file.scenario.transport.recovery.value, Recovery::GoBackN);
}

#[test]
fn the_command_line_has_the_last_word() {
    let file =
        load("x", TEXT, &sets(&["transport.recovery=go-back-n", "topology.rate=25Gbps", "seed=7"])).unwrap();
    for variant in &file.variants {
        assert_eq!(variant.scenario.transport.recovery.value, Recovery::GoBackN);
        assert_eq!(variant.scenario.topology.rate.bits_per_s(), 25_000_000_000);
        assert_eq!(variant.scenario.seed.get(), 7);
    }
    assert_eq!(file.scenario.topology.rate.bits_per_s(), 25_000_000_000);
}

/// The clean variant has no impairment, so a change of its rate does not apply.
#[test]
fn an_element_that_a_variant_lacks_is_not_set_there() {
    let file = load("x", TEXT, &sets(&["impair.0.rate=1/4"])).unwrap();
    assert!(file.variants[0].scenario.impairs.is_empty());
    let ImpairmentKind::Frames(frames) = &file.variants[1].scenario.impairs[0].kind else { panic!("frames") };
    assert_eq!(frames.rate.get().to_string(), "0.25");
}

#[test]
fn a_table_that_names_its_kind_replaces_the_whole() {
    let file = load("x", TEXT, &sets(&["topology={ kind = \"pair\", delay = \"5us\" }"])).unwrap();
    assert_eq!(file.scenario.topology.host_count(), 2);
    assert_eq!(file.scenario.topology.rate.bits_per_s(), 100_000_000_000);
    let file = load("x", TEXT, &sets(&["impair.0={ kind = \"every\", n = 5, links = \"all\" }"])).unwrap();
    assert!(matches!(file.scenario.impairs[0].kind, ImpairmentKind::Every(_)));
}

#[test]
fn values_of_the_command_line_are_toml_or_plain_text() {
    for (set, ok) in [
        ("title=my run", true),
        ("title=\"my run\"", true),
        ("transport.timeout=0x0e", true),
        ("transport.timeout=\"14\"", false),
        ("transport.ack_coalescing=true", true),
        ("transport.ack_coalescing=yes", false),
        ("impair=[]", true),
        ("transport.window=unlimited", true),
        ("transport.window=64", true),
        ("title=", false),
    ] {
        assert_eq!(load("x", TEXT, &sets(&[set])).is_ok(), ok, "{set}");
    }
}

#[test]
fn a_variant_names_the_overrides_that_hide_its_own_values() {
    let sets = ["transport.recovery=gbn", "topology.rate=1Gbps", "transport.mtu=2048", "workload.0.load=0.2"];
    let sets: Vec<Override> = sets.iter().map(|set| set.parse().unwrap()).collect();
    let file = load("x", TEXT, &sets).unwrap();
    assert!(file.variants[0].replaced.is_empty(), "this variant sets none of the paths");
    assert_eq!(
        file.variants[1].replaced,
        ["transport.recovery=gbn", "topology.rate=1Gbps", "workload.0.load=0.2"]
    );
}

#[test]
fn an_override_is_blamed_for_what_it_breaks() {
    assert_messages(
        "
        transport.timeout=99 | --set transport.timeout=99: 99 is out of range; expected a whole number from 0 to 31
        topology.k=3 | --set topology.k=3: invalid k = 3; expected an even number from 2 to 128
        transport.recovry=go-back-0 | --set transport.recovry=go-back-0: unknown field `recovry`; did you mean `recovery`? allowed: protocol, recovery, operation, mtu, timeout, retry, rnr_retry, resend_delay, window, ack_every, ack_coalescing, qp, rate, profile, selective-repeat, dcp, tcp, acceleration, congestion, dcqcn, swift, class, cnp_class, ttl and 1 more
        transprt.retry=1 | --set transprt.retry=1: unknown field `transprt`; did you mean `transport`? allowed: title, about, seed, topology, switch, transport, mend, engine, stop, workload, impair, fail, pause, route, deadlock, protect, measure, series, variant
        topology.kind=ring | --set topology.kind=ring: unknown kind `ring`; allowed: pair, chain, fat-tree, leaf-spine, cross-dc, graph
        impair.1.rate=0 | --set impair.1.rate=0: `impair` has no element 1; it has 1, from 0
        impair.rate=0 | --set impair.rate=0: `impair` is a list; give the number of an element, from 0
        title.x=0 | --set title.x=0: `title` is a string; it has no fields
        transport..x=0 | --set transport..x=0: `transport..x` is not a path; write one such as `transport.recovery`
        workload.0.dst=h99 | --set workload.0.dst=h99: unknown host `h99`; the hosts are h0 to h15
    ",
        |[set]| load("x", TEXT, &sets(&[set])).unwrap_err().to_string(),
    );
}

#[test]
fn a_set_without_a_value_is_refused() {
    let error = "transport.recovery".parse::<Override>().unwrap_err();
    assert!(error.contains("PATH=VALUE"), "{error}");
    assert!("=5".parse::<Override>().is_err());
    let value = "about=a=b".parse::<Override>().unwrap();
    assert_eq!((value.path.as_str(), value.value.as_str()), ("about", "a=b"));
}

#[test]
fn a_variant_is_blamed_where_it_stands() {
    assert_messages(
        r#"
        { "transport.timeout" = 32 } | x:25:31: variant "bad": 32 is out of range; expected a whole number from 0 to 31
        { "impair.3.rate" = 0 } | x:25:9: variant "bad": `impair` has no element 3; it has 1, from 0
        { "transport.retri" = 0 } | x:25:9: variant "bad": unknown field `retri`; did you mean `retry`? allowed: protocol, recovery, operation, mtu, timeout, retry, rnr_retry, resend_delay, window, ack_every, ack_coalescing, qp, rate, profile, selective-repeat, dcp, tcp, acceleration, congestion, dcqcn, swift, class, cnp_class, ttl and 1 more
    "#,
        |[set]| {
            let text = format!("{TEXT}[[variant]]\nname = \"bad\"\nset = {set}\n");
            load("x", &text, &[]).unwrap_err().to_string()
        },
    );
}

/// Errors that the user of a scenario finds later have the place of the value too.
#[test]
fn values_remember_their_place() {
    let file = load("x.toml", TEXT, &sets(&["workload.0.sizes=websaerch"])).unwrap();
    let links = &file.scenario.impairs[0].links;
    assert_eq!(file.error(links.place, "no such link").to_string(), "x.toml:15:9: no such link");
    let App::Poisson(poisson) = &file.scenario.workloads[0].app else { panic!("poisson") };
    let error = file.error(poisson.sizes.place, "no such table").to_string();
    assert_eq!(error, "--set workload.0.sizes=websaerch: no such table");
}

fn sets(texts: &[&str]) -> Vec<Override> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}
