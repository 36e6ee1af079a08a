//! A running protected link with losses does not allocate memory.

use crate::counting_allocator::allocations;
use wiremend_proto::link::Config;
use wiremend_testkit::LineRateLink;
use wiremend_units::{Bytes, Rate, Span};

#[test]
fn running_link_does_not_allocate() {
    for (both_ways, loses_one_in) in [(false, u64::MAX), (false, 1000), (true, 100)] {
        let config = Config::for_link(Rate::gbps(100), Bytes::new(1518), Span::from_us(5));
        let mut link = LineRateLink::new(config, 20, both_ways, loses_one_in);
        link.deliver(20_000);
        let before = allocations();
        link.deliver(200_000);
        assert_eq!(allocations() - before, 0);
        assert!(link.counters(0).resent > 0 || loses_one_in == u64::MAX);
    }
}
