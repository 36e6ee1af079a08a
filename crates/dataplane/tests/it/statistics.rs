//! Statistics of a real driver.

use wiremend_dataplane::net::{self, NetNs, VethEnd};

#[test]
#[expect(clippy::disallowed_methods, reason = "whether this runs where everything must be there")]
fn driver_statistics_have_names() {
    match NetNs::new() {
        Ok(namespace) => namespace.run(read_statistics).unwrap(),
        Err(why) if std::env::var_os("CI").is_none() => eprintln!("skipped: {why}"),
        Err(why) => panic!("{why}"),
    }
}

fn read_statistics() {
    net::new_veth(VethEnd::here("near"), VethEnd::here("far")).unwrap();
    let counters = net::statistics("near").unwrap();
    assert!(counters.iter().any(|(name, value)| name == "peer_ifindex" && *value > 0), "{counters:?}");
    assert!(counters.iter().any(|(name, _)| name == "rx_queue_0_drops"), "{counters:?}");
    assert_eq!(net::statistics("lo").unwrap(), [], "no driver, no counters");
    assert!(net::statistics("none").is_err());
}
