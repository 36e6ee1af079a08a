//! A protected link at line rate, with losses, asks for no memory once it runs.

use crate::counting::allocations;
use wiremend_proto::link::Config;
use wiremend_testkit::LinkConveyor;
use wiremend_units::{Bytes, Rate, Span};

#[test]
fn a_link_that_runs_asks_for_no_memory() {
    for (both_ways, loses_one_in) in [(false, u64::MAX), (false, 1000), (true, 100)] {
        let config = Config::for_link(Rate::gbps(100), Bytes::new(1518), Span::from_us(5));
        let mut conveyor = LinkConveyor::new(config, 20, both_ways, loses_one_in);
        conveyor.deliver(20_000);
        let before = allocations();
        conveyor.deliver(200_000);
        assert_eq!(allocations() - before, 0);
        assert!(conveyor.counters(0).resent > 0 || loses_one_in == u64::MAX);
    }
}
