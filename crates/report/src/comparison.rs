//! Comparison of variants: the columns of the terminal table and of the page.

use wiremend_measure::{
    DeadlockReport, JobSummary, Quantiles, SkippedTime, TimeoutCause, TimeoutCounts, VariantSummary,
};

use crate::human;

/// One column: a heading and a cell for each variant.
pub(crate) struct Column {
    pub(crate) heading: &'static str,
    /// Explanation of the heading, shown as a tooltip.
    pub(crate) meaning: &'static str,
    pub(crate) cells: Vec<String>,
    pub(crate) is_number: bool,
}

/// Builds a table column by column.
struct Columns<'a> {
    variants: &'a [VariantSummary],
    columns: Vec<Column>,
}

impl Columns<'_> {
    fn text(
        &mut self,
        heading: &'static str,
        meaning: &'static str,
        cell: impl Fn(&VariantSummary) -> String,
    ) {
        let cells = self.variants.iter().map(cell).collect();
        self.columns.push(Column { heading, meaning, cells, is_number: false });
    }

    fn number(
        &mut self,
        heading: &'static str,
        meaning: &'static str,
        cell: impl Fn(&VariantSummary) -> String,
    ) {
        self.text(heading, meaning, cell);
        self.columns.last_mut().expect("one was just added").is_number = true;
    }

    fn count(&mut self, heading: &'static str, meaning: &'static str, value: fn(&VariantSummary) -> u64) {
        self.number(heading, meaning, |variant| human::count(value(variant)));
    }

    fn bytes(&mut self, heading: &'static str, meaning: &'static str, value: fn(&VariantSummary) -> u64) {
        self.number(heading, meaning, |variant| human::bytes(value(variant) as f64));
    }

    /// Adds a completion time; `–` if no flow finished.
    fn fct(&mut self, heading: &'static str, meaning: &'static str, pick: impl Fn(&Quantiles) -> f64) {
        self.number(heading, meaning, |variant| {
            variant.fct_ns.as_ref().map_or_else(missing, |fct| human::time_ns(pick(fct)))
        });
    }

    fn any(&self, what: impl Fn(&VariantSummary) -> u64) -> bool {
        self.variants.iter().any(|variant| what(variant) > 0)
    }
}

/// The main columns, starting with the variant's name. Columns without any value are left out.
pub(crate) fn columns(variants: &[VariantSummary]) -> Vec<Column> {
    let mut table = Columns { variants, columns: Vec::new() };
    table.text("variant", "name of the variant", |variant| variant.name.clone());
    table.number("finished", "finished flows of all flows", finished);
    table.fct("p50", "median flow completion time", |fct| fct.p50);
    table.fct("p99", "99th percentile of the flow completion time", |fct| fct.p99);
    table.fct("p99.9", "99.9th percentile of the flow completion time", |fct| fct.p999);
    table.fct("max", "longest flow completion time", |fct| fct.max);
    table.number("slowdown p99", "completion time relative to the same bytes alone on the path", |variant| {
        variant.slowdown.as_ref().map_or_else(missing, |slowdown| human::factor(slowdown.p99))
    });
    table.text("timeouts", "retransmission timers that fired, by cause", |variant| {
        timeouts(&variant.timeouts)
    });
    table.bytes("resent", "frame bytes that hosts retransmitted", |variant| variant.retransmitted_bytes);
    if table.any(|variant| variant.extra_bytes) {
        table.bytes("extra", "frame bytes beyond the first copy of each packet and its ACKs", |variant| {
            variant.extra_bytes
        });
    }
    if table.any(|variant| variant.flow_control.pauses) {
        table
            .count("pauses", "PFC pauses that lossless switches sent", |variant| variant.flow_control.pauses);
    }
    if table.any(|variant| variant.trims.trimmed + variant.trims.dropped()) {
        trims(&mut table);
    }
    if table.variants.iter().any(|variant| !variant.jobs.is_empty()) {
        jobs(&mut table);
    }
    table.number("goodput", "payload bits of finished flows divided by simulated time", |variant| {
        human::rate_bps(variant.goodput_bps as f64)
    });
    table.columns
}

/// The columns under "More numbers".
pub(crate) fn more_columns(variants: &[VariantSummary]) -> Vec<Column> {
    let mut table = Columns { variants, columns: Vec::new() };
    table.text("variant", "name of the variant", |variant| variant.name.clone());
    table.number(
        "flows with a timeout",
        "flows with at least one timeout, and the 95 % confidence interval",
        |variant| {
            let share = variant.flows_with_timeout;
            let [fraction, low, high] = [share.fraction, share.low, share.high].map(human::percent);
            format!("{fraction} % ({low}–{high} %)")
        },
    );
    table.fct("mean", "mean flow completion time", |fct| fct.mean);
    table.count("packets", "packets sent by hosts", |variant| variant.packets_sent);
    table.count("packet-hops", "packets times the links they crossed", |variant| variant.packet_hops);
    table.count("corrupted", "frames that links corrupted", |variant| variant.corrupted_frames);
    table.count("dropped", "intact frames dropped by hosts and switches", |variant| {
        variant.dropped_frames.total()
    });
    table.count("resent packets", "data packets that hosts retransmitted", |variant| {
        variant.retransmitted_packets
    });
    if table.any(|variant| variant.protection.protected) {
        protection_columns(&mut table);
    }
    if table.any(|variant| variant.flow_control.pauses + variant.flow_control.lossy_dropped) {
        flow_control(&mut table);
    }
    if table.any(|variant| variant.congestion.marked) {
        table.count("marked", "frames that switches marked with ECN CE", |variant| variant.congestion.marked);
        table.count("CNPs", "congestion notification packets sent by receivers", |variant| {
            variant.congestion.cnps_sent
        });
    }
    if table.any(|variant| variant.trims.acks_dropped) {
        table.count(
            "ACKs dropped",
            "acknowledgements dropped because the queue was above the trimming threshold",
            |variant| variant.trims.acks_dropped,
        );
    }
    if table.any(|variant| {
        variant.deadlocks.found + variant.deadlocks.dropped_frames() + variant.deadlocks.storms
    }) {
        deadlocks(&mut table);
    }
    table.count("events", "events that the simulator handled", |variant| variant.events);
    table.number("simulated", "simulated time", |variant| human::time_ns(variant.simulated_ns as f64));
    table.columns
}

/// Adds the counters of protected links.
fn protection_columns(table: &mut Columns<'_>) {
    table.count("link: missed", "frames that receivers of protected links detected as missing", |variant| {
        variant.protection.missed
    });
    table.count("link: lost", "missing frames that were never recovered", |variant| variant.protection.lost);
    table.bytes("link: extra", "bytes of link headers, retransmissions and control frames", |variant| {
        variant.protection.bytes()
    });
    table.bytes("link: tx buffer", "largest retransmission buffer of any sender, in bytes", |variant| {
        variant.protection.tx_buffer_bytes_max
    });
    table.bytes("link: rx buffer", "largest reordering buffer of any receiver, in bytes", |variant| {
        variant.protection.rx_buffer_bytes_max
    });
}

/// Adds the counters of lossless switches.
fn flow_control(table: &mut Columns<'_>) {
    table.number("pfc: paused", "time that classes were paused, summed over ports and classes", |variant| {
        human::time_ns(variant.flow_control.paused_ns as f64)
    });
    table.count("pfc: hosts", "hosts that were paused at least once", |variant| {
        variant.flow_control.paused_hosts
    });
    table.count("pfc: frames", "PFC frames sent by switches", |variant| variant.flow_control.frames);
    table
        .count("pfc: corrupted", "PFC frames that links corrupted", |variant| variant.flow_control.corrupted);
    table.count(
        "lossless drops",
        "frames of lossless classes dropped because the buffer was full",
        |variant| variant.flow_control.lossless_dropped,
    );
    table.bytes("pfc: buffer", "largest buffer use of any switch, in bytes", |variant| {
        variant.flow_control.buffer_bytes_max
    });
    table.bytes("pfc: headroom", "largest headroom use of any port and class, in bytes", |variant| {
        variant.flow_control.headroom_bytes_max
    });
}

/// Adds the job completion times of collectives.
fn jobs(table: &mut Columns<'_>) {
    table.number("jobs", "finished jobs of all jobs of collectives (groups times iterations)", |variant| {
        let sum = |value: fn(&JobSummary) -> u64| human::count(variant.jobs.iter().map(value).sum());
        format!("{}/{}", sum(|jobs| jobs.finished), sum(|jobs| jobs.jobs))
    });
    table.number("job mean", "mean job completion time of each collective", |variant| {
        job_times(variant, |times| times.mean)
    });
    table.number("job max", "longest job completion time of each collective", |variant| {
        job_times(variant, |times| times.max)
    });
}

fn job_times(variant: &VariantSummary, pick: fn(&Quantiles) -> f64) -> String {
    let time =
        |jobs: &JobSummary| jobs.jct_ns.as_ref().map_or_else(missing, |times| human::time_ns(pick(times)));
    variant.jobs.iter().map(time).collect::<Vec<_>>().join(", ")
}

/// One row per group of each collective: its name, and the completion times of its jobs.
pub(crate) fn groups(variants: &[VariantSummary]) -> Vec<[String; 2]> {
    let mut rows = Vec::new();
    for variant in variants {
        for jobs in &variant.jobs {
            for group in &jobs.groups {
                let times = group.mean_ns.zip(group.max_ns).map_or_else(missing, |(mean, max)| {
                    format!("mean {}, max {}", human::time_ns(mean), human::time_ns(max))
                });
                let whose = format!("{}: workload {}, group {}", variant.name, jobs.workload, group.group);
                rows.push([whose, format!("{} finished, {times}", human::count(group.finished))]);
            }
        }
    }
    rows
}

/// Adds the counters of trimming switches.
fn trims(table: &mut Columns<'_>) {
    table.count("trimmed", "packets that switches trimmed to their headers", |variant| variant.trims.trimmed);
    table.count(
        "headers dropped",
        "header-only packets dropped because the control queue was full",
        |variant| variant.trims.headers_dropped,
    );
    table.count("others dropped", "packets dropped above the threshold that cannot be trimmed", |variant| {
        variant.trims.others_dropped
    });
}

/// Adds the counters of deadlocks and their remedies.
fn deadlocks(table: &mut Columns<'_>) {
    table.number(
        "deadlocks",
        "cycles of ports that waited for each other, and how many were resolved",
        |variant| {
            let counts = &variant.deadlocks;
            format!("{} ({} resolved)", human::count(counts.found), human::count(counts.resolved))
        },
    );
    table.number("closed", "when the first cycle closed", |variant| {
        variant.deadlocks.closed_ns.map_or_else(missing, |closed| human::time_ns(closed as f64))
    });
    table.number("deadlock time", "total duration of deadlocks", |variant| {
        human::time_ns(variant.deadlocks.duration_ns as f64)
    });
    table.count("remedy drops", "frames that deadlock and loop remedies dropped", |variant| {
        variant.deadlocks.dropped_frames()
    });
    table.number(
        "storms",
        "PFC storms that watchdogs detected, and how many of them without a deadlock",
        |variant| {
            let counts = &variant.deadlocks;
            format!("{} ({} false)", human::count(counts.storms), human::count(counts.false_storms))
        },
    );
}

/// Reasons of failed flows, one line for each variant with failures.
pub(crate) fn failures(variants: &[VariantSummary]) -> Vec<String> {
    let line = |variant: &VariantSummary| {
        let reasons: Vec<_> = variant
            .failed
            .iter()
            .map(|(reason, count)| format!("{} {}", human::count(*count), outcome_text(reason)))
            .collect();
        format!("{}: failed: {}", variant.name, reasons.join(", "))
    };
    let lines = |variant: &VariantSummary| {
        let failed = (!variant.failed.is_empty()).then(|| line(variant));
        [variant.first_deadlock.as_ref().map(|found| deadlock(variant, found)), failed]
    };
    variants.iter().flat_map(lines).flatten().collect()
}

/// Notes of the variants. A note that all variants share appears once, without their names.
pub fn notes(variants: &[VariantSummary]) -> Vec<String> {
    let mut lines = Vec::new();
    for variant in variants {
        if let Some(line) = skipped(variant) {
            lines.push(if variants.len() == 1 { line } else { format!("{}: {line}", variant.name) });
        }
        for note in &variant.notes {
            let is_shared = variants.iter().all(|other| other.notes.contains(note));
            let line = if is_shared { note.clone() } else { format!("{}: {note}", variant.name) };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Describes the simulated time that was skipped.
fn skipped(variant: &VariantSummary) -> Option<String> {
    let SkippedTime { jumps, skipped_ps } = variant.skipped;
    let percent = skipped_ps / 10 / variant.simulated_ns.max(1);
    let plural = if jumps == 1 { "" } else { "s" };
    (jumps > 0).then(|| format!("fast-forwarded {percent} % of the simulated time in {jumps} jump{plural}"))
}

/// Describes a deadlock: when, which ports wait for each other, and how it ended.
fn deadlock(variant: &VariantSummary, found: &DeadlockReport) -> String {
    const NAMES_MAX: usize = 8;
    let first = found.cycle.iter().take(1);
    let more = if found.cycle.len() > NAMES_MAX { Some("…".to_owned()) } else { None };
    let circle: Vec<_> =
        found.cycle.iter().take(NAMES_MAX).cloned().chain(more).chain(first.cloned()).collect();
    let behind = match found.blocked_ports {
        0 => String::new(),
        1 => "; 1 more port is blocked".to_owned(),
        many => format!("; {} more ports are blocked", human::count(many)),
    };
    let hosts = match found.blocked_hosts {
        0 => String::new(),
        hosts => format!(", {} of hosts", human::count(hosts)),
    };
    let deadlocks = &variant.deadlocks;
    let end = match (found.ended_run, deadlocks.found, deadlocks.found - deadlocks.resolved) {
        (true, ..) => "; the run ends here".to_owned(),
        (false, 1, 0) => "; resolved".to_owned(),
        (false, 1, _) => "; it lasts until the end".to_owned(),
        (false, all, open) => {
            format!("; first of {}, {} last until the end", human::count(all), human::count(open))
        }
    };
    format!(
        "{}: deadlock closed at {}: {} wait for each other (class {}){behind}{hosts}{end}",
        variant.name,
        human::time_ns(found.closed_ns as f64),
        circle.join(" → "),
        found.class
    )
}

fn outcome_text(key: &str) -> &str {
    let known = wiremend_measure::FlowOutcome::ALL.into_iter().find(|outcome| outcome.key() == key);
    known.map_or(key, |outcome| outcome.reason())
}

fn finished(variant: &VariantSummary) -> String {
    format!("{}/{}", human::count(variant.finished), human::count(variant.flows))
}

/// `12: 7 tail packet, 3 NAK, 2 retx`. Expiries with only dummies outstanding follow in brackets.
fn timeouts(counts: &TimeoutCounts) -> String {
    let causes = TimeoutCause::ALL.into_iter().filter(|&cause| counts.get(cause) > 0);
    // Short, so that a table of four causes fits 80 columns.
    let name =
        |cause: TimeoutCause| if cause == TimeoutCause::Retransmission { "retx" } else { cause.name() };
    let causes: Vec<_> =
        causes.map(|cause| format!("{} {}", human::count(counts.get(cause)), name(cause))).collect();
    let dummies = if counts.dummy() > 0 {
        format!(" (+{} dummy)", human::count(counts.dummy()))
    } else {
        String::new()
    };
    match causes.as_slice() {
        [] => format!("none{dummies}"),
        [only] => format!("{only}{dummies}"),
        several => format!("{}: {}{dummies}", human::count(counts.total()), several.join(", ")),
    }
}

fn missing() -> String {
    "–".to_owned()
}
