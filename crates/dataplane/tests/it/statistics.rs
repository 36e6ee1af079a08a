//! Statistics of a real driver.

use wiremend_dataplane::net::{self, NetNs, StandardStatistics, StatisticsReader, VethEnd};

#[test]
fn driver_statistics_have_names() {
    in_namespace(read_statistics);
}

/// The kernel accepts the requests. Neither driver has such counters, and that is no error.
#[test]
fn drivers_without_standard_statistics_are_no_error() {
    in_namespace(|| {
        net::new_veth(VethEnd::here("near"), VethEnd::here("far")).unwrap();
        let mut reader = StatisticsReader::open().unwrap().expect("a kernel with ethtool netlink");
        for name in ["lo", "near"] {
            assert_eq!(reader.read(name).unwrap(), StandardStatistics::default(), "{name}");
        }
        for name in ["none", "", "a/b", "a-name-that-is-too-long"] {
            let error = reader.read(name).unwrap_err().to_string();
            assert_eq!(error, format!("interface `{name}` does not exist"));
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "whether this runs where everything must be there")]
fn in_namespace(test: impl FnOnce() + Send) {
    match NetNs::new() {
        Ok(namespace) => namespace.run(test).unwrap(),
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
