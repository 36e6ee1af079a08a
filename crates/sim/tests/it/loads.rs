//! Random arrivals load the right link.

use crate::common::run;

/// Returns the time of 2000 flows of 2 kB at half the rate of a link.
const fn span_us(gbps: u64) -> u64 {
    2_000 * 2_000 * 8 / (gbps * 1_000 / 2)
}

#[test]
fn each_source_loads_its_own_link() {
    let all = "pattern = \"permutation\"";
    // Four sources share the flows.
    assert_close(last_start_us("100Gbps", all), span_us(100) / 4);
}

/// Two destinations do not double the load.
#[test]
fn a_source_that_is_named_twice_loads_its_link_once() {
    let twice = "pattern = \"point-to-point\"\nsrc = [\"b\", \"b\"]\ndst = [\"c\", \"d\"]";
    assert_close(last_start_us("100Gbps", twice), span_us(100));
}

#[test]
fn an_incast_loads_the_link_of_its_destination() {
    assert_close(last_start_us("10Gbps", "pattern = \"incast\"\ndst = \"a\""), span_us(10));
}

/// A host without another destination leaves its share to the others.
#[test]
fn every_flow_finds_a_source() {
    let text = scenario("100Gbps", "pattern = \"uniform\"\nsrc = [\"a\", \"b\"]\ndst = \"a\"");
    assert_eq!(run(&text).1.len(), 2_000);
}

fn last_start_us(rate_of_a: &str, pattern: &str) -> u64 {
    let (_, rows) = run(&scenario(rate_of_a, pattern));
    rows.iter().map(|row| row.start_ps).max().unwrap() / 1_000_000
}

/// The sum of 500 or more exponential gaps is within 15 % of its mean, except for one seed in a thousand.
fn assert_close(found: u64, mean: u64) {
    assert!((mean * 85..mean * 115).contains(&(found * 100)), "{found} µs instead of {mean} µs");
}

fn scenario(rate_of_a: &str, pattern: &str) -> String {
    format!(
        "title = \"load\"\n[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\", \"c\", \"d\"]\nswitches = [\"s\"]\n\
         links = [{{ ends = [\"a\", \"s\"], rate = \"{rate_of_a}\" }}, {{ ends = [\"b\", \"s\"] }}, {{ ends = [\"c\", \"s\"] }}, \
         {{ ends = [\"d\", \"s\"] }}]\n\
         [[workload]]\nkind = \"poisson\"\nsizes = \"2kB\"\nload = 0.5\nflows = 2000\n{pattern}\n"
    )
}

/// Messages on a connection go to the application that opened it, so applications that receive need their
/// own.
#[test]
fn ping_pongs_of_one_pair_do_not_mix() {
    let rows = |qp: &str| {
        let (_, rows) = run(&format!(
            "title = \"two\"\n[topology]\nkind = \"pair\"\n[transport]\nqp = \"{qp}\"\n\
             [[workload]]\nkind = \"ping-pong\"\nbytes = \"10kB\"\niterations = 30\n\
             [[workload]]\nkind = \"ping-pong\"\nbytes = \"100kB\"\niterations = 30\n\
             [[workload]]\nkind = \"stream\"\nmessage = \"10kB\"\ndepth = 1\ncount = 30\n"
        ));
        assert!(rows.iter().all(|row| row.outcome.is_finished()), "{qp}");
        rows.len()
    };
    assert_eq!([rows("per-pair"), rows("per-flow")], [90, 90]);
}
