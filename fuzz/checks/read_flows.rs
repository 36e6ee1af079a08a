//! Any file may be passed as a list of flows, or a table of sizes.

use std::fmt::Write as _;

use wiremend_fabric::{SizeTable, flow_list};
use wiremend_units::Bytes;

const HOSTS: u32 = 16;

/// Reads the bytes as both; a valid list is equal after writing, and a valid table is a distribution.
pub(crate) fn check(bytes: &[u8]) {
    if let Ok(flows) = flow_list::parse(bytes, HOSTS) {
        let mut again = String::new();
        for flow in &flows {
            assert!(flow.src != flow.dst && flow.src.0 < HOSTS && flow.dst.0 < HOSTS, "{flow:?}");
            let start = flow.start.as_ns();
            writeln!(again, "{},{},{},{start}", flow.src.0, flow.dst.0, flow.bytes.get())
                .expect("memory takes everything");
        }
        assert_eq!(flow_list::parse(again.as_bytes(), HOSTS).expect("an own list is well formed"), flows);
    }
    if let Ok(table) = SizeTable::parse_csv(&String::from_utf8_lossy(bytes)) {
        is_a_distribution(&table);
    }
}

fn is_a_distribution(table: &SizeTable) {
    let (least, most) = table.range();
    let mut last = least;
    for bits in (0..=64).map(|step: u64| step.saturating_mul(u64::MAX / 64)) {
        let size = table.draw(bits);
        assert!(last <= size && size <= most, "{size} after {last}, at most {most}");
        last = size;
    }
    let (mean, mtu) = (table.mean(), Bytes::new(1024));
    assert!(mean >= least.get() as f64 * 0.999 && mean <= most.get() as f64 * 1.001, "a mean of {mean}");
    let inverse = table.mean_inverse_packets(mtu);
    assert!(inverse > 0.0 && inverse <= 1.0 + 1e-9, "{inverse} of a flow is its last packet");
    let share: f64 = table.groups(mtu, 64, 1.1).iter().map(|group| group.probability).sum();
    assert!((share - 1.0).abs() < 1e-6, "groups of {share}");
}
