//! Counters from a directory with the structure of `/sys`.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use wiremend_monitor::{Counter, Counters, PortSnapshot, SysfsCounters};
use wiremend_units::Time;

#[test]
fn a_port_and_its_rdma_device_are_read_together() {
    let tree = tree();
    let mut sysfs = SysfsCounters::new(tree.path());
    assert_eq!(sysfs.interfaces().unwrap(), ["eth0"]);
    let port = sysfs.read("eth0", Counters::default()).unwrap();
    assert!(port.up);
    assert_eq!((port.carrier_changes, port.megabits_per_s), (Some(3), Some(100_000)));
    let get = |counter| port.counters.get(counter);
    assert_eq!(get(Counter::RxGood), Some(1_000));
    assert_eq!(get(Counter::RxCrc), Some(7));
    assert_eq!(get(Counter::OutOfSequence), Some(5));
    assert_eq!(get(Counter::RxIcrc), None);
}

#[test]
fn driver_counters_override_kernel_counters() {
    let tree = tree();
    let driver = [(Counter::RxCrc, 19)].into_iter().collect();
    let port = SysfsCounters::new(tree.path()).read("eth0", driver).unwrap();
    assert_eq!(port.counters.get(Counter::RxCrc), Some(19));
    assert_eq!(port.counters.get(Counter::RxGood), Some(1_000));
}

/// Some devices have text instead of a number.
#[test]
fn an_unreadable_counter_is_reported_once_and_omitted() {
    let tree = tree();
    write(tree.path(), "class/net/eth0/statistics/rx_crc_errors", "N/A (no PMA)");
    let mut sysfs = SysfsCounters::new(tree.path());
    for round in 0..3 {
        let port = sysfs.read("eth0", Counters::default()).unwrap();
        assert_eq!(port.counters.get(Counter::RxCrc), None);
        let unreported = sysfs.take_unreported();
        assert_eq!(unreported.len(), usize::from(round == 0));
        assert!(unreported.iter().all(|missing| missing.reason.contains("no PMA")));
    }
}

#[test]
fn read_frames_reads_only_the_necessary_files() {
    let tree = tree();
    let mut sysfs = SysfsCounters::new(tree.path());
    let all = sysfs.read("eth0", Counters::default()).unwrap();
    let few = sysfs.read_frames("eth0", Counters::default()).unwrap();
    let counted = |port: &PortSnapshot| port.reading(Time::ZERO).map(|reading| reading.counted);
    assert_eq!(counted(&few), counted(&all));
    assert_eq!((few.up, few.carrier_changes), (all.up, all.carrier_changes));
    assert_eq!(few.counters.get(Counter::OutOfSequence), None);
    let driver = [(Counter::RxGood, 5), (Counter::RxCrc, 4)].into_iter().collect();
    fs::remove_dir_all(tree.path().join("class/net/eth0/statistics")).unwrap();
    assert_eq!(sysfs.read_frames("eth0", driver).unwrap().counters.get(Counter::RxCrc), Some(4));
    assert!(sysfs.read_frames("eth0", Counters::default()).unwrap().reading(Time::ZERO).is_none());
    assert!(sysfs.read_frames("eth9", Counters::default()).is_err());
}

#[test]
fn a_port_that_is_down_has_no_speed() {
    let tree = tree();
    write(tree.path(), "class/net/eth0/carrier", "0");
    write(tree.path(), "class/net/eth0/speed", "-1");
    let port = SysfsCounters::new(tree.path()).read("eth0", Counters::default()).unwrap();
    assert!(!port.up);
    assert_eq!(port.megabits_per_s, None);
}

#[test]
fn names_cannot_leave_the_tree() {
    let tree = tree();
    let mut sysfs = SysfsCounters::new(tree.path());
    for name in ["", ".", "..", "../../class", "eth9"] {
        assert!(sysfs.read(name, Counters::default()).is_err(), "{name}");
    }
}

fn tree() -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("class/net/eth0/carrier", "1"),
        ("class/net/eth0/carrier_changes", "3"),
        ("class/net/eth0/speed", "100000"),
        ("class/net/eth0/statistics/rx_packets", "1000"),
        ("class/net/eth0/statistics/rx_crc_errors", "7"),
        ("class/net/eth0/statistics/collisions", "0"),
        ("class/net/eth0/device/infiniband/rocep1s0/ports/1/hw_counters/out_of_sequence", "5"),
        ("class/net/eth0/device/infiniband/rocep1s0/ports/1/hw_counters/lifespan", "10"),
        ("class/net/lo/carrier", "1"),
    ] {
        write(tree.path(), file, text);
    }
    tree
}

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}
