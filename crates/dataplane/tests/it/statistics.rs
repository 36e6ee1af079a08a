//! What drivers count, asked of a real one.

use wiremend_dataplane::net::{self, End, NetNs};

#[test]
#[expect(clippy::disallowed_methods, reason = "whether this runs where everything must be there")]
fn a_driver_names_what_it_counts() {
    match NetNs::new() {
        Ok(namespace) => namespace.run(ask).unwrap(),
        Err(why) if std::env::var_os("CI").is_none() => eprintln!("skipped: {why}"),
        Err(why) => panic!("{why}"),
    }
}

fn ask() {
    net::new_veth(End::here("near"), End::here("far")).unwrap();
    let counted = net::statistics("near").unwrap();
    assert!(counted.iter().any(|(name, value)| name == "peer_ifindex" && *value > 0), "{counted:?}");
    assert!(counted.iter().any(|(name, _)| name == "rx_queue_0_drops"), "{counted:?}");
    assert_eq!(net::statistics("lo").unwrap(), [], "no driver, no counters");
    assert!(net::statistics("none").is_err());
}
