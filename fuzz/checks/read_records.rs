//! Any file may be called a record of counters, or a daemon's configuration.

use std::collections::BTreeMap;

use wiremend_monitor::control::ControlConfig;
use wiremend_monitor::{Config, Foresight, Growth, Pace, Port, Record, Thresholds, explain};

/// Reads the bytes as each; what was recorded is judged, with ports as fast as they say they are.
pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let refusals = [Config::parse(&text).err(), ControlConfig::parse(&text).err()];
    for refusal in refusals.into_iter().flatten() {
        assert_eq!(refusal.to_string().lines().count(), 1, "{refusal:?}");
    }
    let Ok(records) = Record::read_all(bytes) else { return };
    let mut again = Vec::new();
    for record in &records {
        record.write(&mut again).expect("memory takes everything");
    }
    assert_eq!(Record::read_all(again.as_slice()).expect("own records are well formed"), records);
    judge(&records);
    let read: Vec<_> = records.iter().map(|record| (record.at(), record.snapshot())).collect();
    let grown = Growth::over(read.iter().map(|(at, snapshot)| (*at, snapshot)));
    explain(&grown, &grown, &Thresholds::default());
}

fn judge(records: &[Record]) {
    let thresholds = Thresholds::default();
    let mut ports = BTreeMap::new();
    for record in records {
        let (port, foresight) = ports.entry((&record.node, &record.port)).or_insert_with(|| {
            let pace = record.megabits_per_s.map_or(Pace::ANY, Pace::of_megabits);
            (Port::new(thresholds, pace), Foresight::new(thresholds.loss))
        });
        let Some(reading) = record.snapshot().reading(record.at()) else { continue };
        foresight.on_reading(reading.fec);
        port.on_reading(reading);
        let (total, estimate) = (port.total(), port.estimate());
        assert!(total.errors <= total.frames, "{total:?}");
        assert!(estimate.low <= estimate.loss && estimate.loss <= estimate.high, "{estimate:?}");
    }
}
