//! Any file may be passed as recorded counters, or as a daemon's configuration.

use std::collections::BTreeMap;

use wiremend_monitor::planner::PlannerConfig;
use wiremend_monitor::{
    CounterGrowth, DaemonConfig, LossForecaster, MaxFrameRate, PortMonitor, RecordedSnapshot, Thresholds,
    explain,
};

/// Reads the bytes as each, and runs the detector on recorded counters.
pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let refusals = [DaemonConfig::parse(&text).err(), PlannerConfig::parse(&text).err()];
    for refusal in refusals.into_iter().flatten() {
        assert_eq!(refusal.to_string().lines().count(), 1, "{refusal:?}");
    }
    let Ok(records) = RecordedSnapshot::read_all(bytes) else { return };
    let mut again = Vec::new();
    for record in &records {
        record.write(&mut again).expect("memory takes everything");
    }
    assert_eq!(RecordedSnapshot::read_all(again.as_slice()).expect("own records are well formed"), records);
    judge(&records);
    let read: Vec<_> = records.iter().map(|record| (record.at(), record.snapshot())).collect();
    let grown = CounterGrowth::over(read.iter().map(|(at, snapshot)| (*at, snapshot)));
    explain(&grown, &grown, &Thresholds::default());
}

fn judge(records: &[RecordedSnapshot]) {
    let thresholds = Thresholds::default();
    let mut ports = BTreeMap::new();
    for record in records {
        let (port, forecaster) = ports.entry((&record.node, &record.port)).or_insert_with(|| {
            let pace = record.megabits_per_s.map_or(MaxFrameRate::ANY_SPEED, MaxFrameRate::for_speed);
            (PortMonitor::new(thresholds, pace), LossForecaster::new(thresholds.loss))
        });
        let Some(reading) = record.snapshot().reading(record.at()) else { continue };
        forecaster.on_reading(reading.fec);
        port.on_reading(reading);
        let (total, estimate) = (port.total(), port.estimate());
        assert!(total.errors <= total.frames, "{total:?}");
        assert!(estimate.low <= estimate.loss && estimate.loss <= estimate.high, "{estimate:?}");
    }
}
