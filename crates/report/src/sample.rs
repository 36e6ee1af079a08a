//! Made-up results for tests and for the gallery: a run with corruption, plain and protected.

use wiremend_measure::{
    Collector, Counters, DropCounts, EffectiveScenario, FlowOutcome, FlowRow, Goodput, Origin, Summary,
    TimeoutCause, TimeoutCounts, VariantSummary,
};
use wiremend_units::mix;

/// Three variants of 20 000 flows: timeouts of 67 ms, timeouts of 1 ms, and few timeouts.
pub(crate) fn summary() -> Summary {
    Summary {
        schema: Summary::SCHEMA,
        scenario: "tour".to_owned(),
        seed: 1,
        seeds: 1,
        version: "0.1.0".to_owned(),
        variants: vec![
            variant("go-back-N, timeout 67 ms", 67_108_864_000, 120),
            variant("go-back-N, timeout 1 ms", 1_048_576_000, 120),
            variant("go-back-N + 2 dummies", 67_108_864_000, 3),
        ],
        origin: Origin {
            command: "wiremend run 'tour'".to_owned(),
            overrides: vec!["transport.retry=3".to_owned()],
            threads: 2,
            machine: "a machine".to_owned(),
            scenario: "[topology]\nkind = \"fat-tree\"\n".to_owned(),
            variants: vec![EffectiveScenario {
                variant: "go-back-N, timeout 67 ms".to_owned(),
                seed: 1,
                sha256: "cafe".to_owned(),
                scenario: "k = 4\n".to_owned(),
            }],
            files: Vec::new(),
        },
    }
}

/// A variant in which `per_20k` of 20 000 flows wait for a timer.
pub(crate) fn variant(name: &str, timeout_ps: u64, per_20k: u64) -> VariantSummary {
    let mut collector = Collector::new();
    for flow in 0..20_000 {
        collector.add(&row(flow, timeout_ps, flow % 20_000 < per_20k));
    }
    let mut timeouts = TimeoutCounts::default();
    for i in 0..per_20k {
        timeouts.add(TimeoutCause::ALL[(mix(i) % 9).saturating_sub(5) as usize]);
    }
    let counters = Counters {
        timeouts,
        packets_sent: 2_812_345,
        packet_hops: 11_249_380,
        events: 14_000_000,
        extra_bytes: if per_20k < 10 { 2_480_000 } else { 0 },
        retransmitted_packets: 9_412,
        retransmitted_bytes: 10_409_672,
        corrupted_frames: 2_214,
        dropped_frames: DropCounts { no_connection: 3, ..DropCounts::default() },
        simulated_ps: 80_000_000_000,
        ..Counters::default()
    };
    let goodput = Some(Goodput { bps: 90e9, from_ns: 8e6, until_ns: 72e6 });
    VariantSummary { goodput, ..collector.summary(name, &counters) }
}

/// One flow; it waits for a timer if `late`.
pub(crate) fn row(flow: u64, timeout_ps: u64, late: bool) -> FlowRow {
    let luck = mix(flow) % 10_000;
    let bytes = 1_000 + luck * luck / 100;
    let ideal_ps = 4_000_000 + bytes * 80;
    let fct_ps =
        ideal_ps + ideal_ps * (mix(flow + 1_000_000) % 1_000) / 800 + if late { timeout_ps } else { 0 };
    FlowRow {
        flow,
        src: (flow % 16) as u32,
        dst: ((flow + 5) % 16) as u32,
        class: 0,
        connection: Some((flow / 16) as u32 + 1),
        entropy: Some(0xC000 | luck as u16),
        bytes,
        start_ps: flow * 4_000_000,
        end_ps: flow * 4_000_000 + fct_ps,
        delivered_ps: Some(flow * 4_000_000 + fct_ps - 1_000_000),
        ideal_ps,
        outcome: FlowOutcome::Finished,
        timeouts: u32::from(late),
        naks: u32::from(luck < 30),
        retransmitted_packets: u32::from(luck < 30) * 7,
        retransmitted_bytes: u64::from(luck < 30) * 7 * 1024,
        failed_frames: None,
        tcp: None,
    }
}
