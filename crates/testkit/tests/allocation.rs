//! A protected link at line rate, with losses, asks for no memory once it runs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use wiremend_proto::link::Config;
use wiremend_testkit::LinkConveyor;
use wiremend_units::{Bytes, Rate, Span};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(unsafe_code, reason = "the system's allocator, counted")]
// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

#[test]
fn a_link_that_runs_asks_for_no_memory() {
    for (both_ways, loses_one_in) in [(false, u64::MAX), (false, 1000), (true, 100)] {
        let config = Config::for_link(Rate::gbps(100), Bytes::new(1518), Span::from_us(5));
        let mut conveyor = LinkConveyor::new(config, 20, both_ways, loses_one_in);
        conveyor.deliver(20_000);
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        conveyor.deliver(200_000);
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
        assert!(conveyor.counters(0).resent > 0 || loses_one_in == u64::MAX);
    }
}
