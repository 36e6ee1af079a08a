//! Comparison of variants: the columns of the terminal table and of the page.

use wiremend_measure::{
    DeadlockReport, Headline, JobSummary, SeedResult, SkippedTime, TimeoutCause, TimeoutCounts,
    VariantSummary,
};

use crate::headline_cell::{BYTES, COUNT, FACTOR, PERCENT, RATE, TIME, Unit};
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

    /// Adds a headline number, with its interval if there are several seeds; `–` if there is none.
    fn headline(&mut self, heading: &'static str, meaning: &'static str, headline: Headline, unit: &Unit) {
        self.number(heading, meaning, |variant| unit.cell(variant, headline));
    }

    /// Adds a headline number unless no variant has it.
    fn headline_if_any(
        &mut self,
        heading: &'static str,
        meaning: &'static str,
        headline: Headline,
        unit: &Unit,
    ) {
        if self.variants.iter().any(|variant| variant.pooled(headline).is_some()) {
            self.headline(heading, meaning, headline, unit);
        }
    }

    fn have_seeds(&self) -> bool {
        self.variants.iter().any(|variant| variant.seeds.len() > 1)
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
    if table.variants.iter().any(|variant| !variant.jobs.is_empty()) {
        jobs(&mut table);
    }
    table.headline_if_any("p50", "median flow completion time", Headline::FctP50, &TIME);
    table.headline_if_any("p99", "99th percentile of the flow completion time", Headline::FctP99, &TIME);
    table.headline_if_any("p99.9", "99.9th percentile of the flow completion time", Headline::FctP999, &TIME);
    table.headline("max", "longest flow completion time", Headline::FctMax, &TIME);
    table.headline_if_any(
        "slowdown p99",
        "completion time relative to the same bytes alone on the path",
        Headline::SlowdownP99,
        &FACTOR,
    );
    if table.have_seeds() {
        table.headline("timeouts", "retransmission timers that fired, per seed", Headline::Timeouts, &COUNT);
        table.text("causes", "causes of timeouts, over all seeds", |variant| causes(&variant.timeouts));
    } else {
        table.text("timeouts", "retransmission timers that fired, by cause", |variant| {
            timeouts(&variant.timeouts)
        });
    }
    if table.any(VariantSummary::lost_frames) {
        let meaning =
            "frames that links corrupted or lost or switches dropped, and packets that switches trimmed";
        table.headline("lost", meaning, Headline::Lost, &COUNT);
    }
    table.headline("resent", "frame bytes that hosts retransmitted", Headline::Resent, &BYTES);
    if table.any(|variant| variant.extra_bytes) {
        let meaning = "frame bytes beyond the first copy of each packet and its ACKs";
        table.headline("extra", meaning, Headline::Extra, &BYTES);
    }
    if table.any(|variant| variant.flow_control.pauses) {
        table.headline("pauses", "PFC pauses that lossless switches sent", Headline::Pauses, &COUNT);
    }
    if table.any(|variant| variant.trims.trimmed + variant.trims.dropped()) {
        trims(&mut table);
    }
    if table.variants.iter().any(|variant| variant.goodput.is_some()) {
        let meaning = "payload bits of finished flows in the measurement window, divided by its length";
        table.headline("goodput", meaning, Headline::Goodput, &RATE);
    }
    table.columns
}

/// The headline numbers of each seed: a row for each variant and seed.
pub(crate) fn seed_columns(variants: &[VariantSummary]) -> Vec<Column> {
    const SHOWN: [(&str, Headline, Unit); 9] = [
        ("job max", Headline::JobMax, TIME),
        ("p50", Headline::FctP50, TIME),
        ("p99", Headline::FctP99, TIME),
        ("p99.9", Headline::FctP999, TIME),
        ("max", Headline::FctMax, TIME),
        ("slowdown p99", Headline::SlowdownP99, FACTOR),
        ("timeouts", Headline::Timeouts, COUNT),
        ("resent", Headline::Resent, BYTES),
        ("goodput", Headline::Goodput, RATE),
    ];
    let rows: Vec<_> =
        variants.iter().flat_map(|variant| variant.seeds.iter().map(move |seed| (variant, seed))).collect();
    let column = |heading, is_number, cells| Column { heading, meaning: "", cells, is_number };
    let mut columns = vec![
        column("variant", false, rows.iter().map(|(variant, _)| variant.name.clone()).collect()),
        column("seed", true, rows.iter().map(|(_, seed)| seed.seed.to_string()).collect()),
    ];
    for (heading, headline, unit) in SHOWN {
        let cell = |(_, seed): &(_, &SeedResult)| {
            seed.values.get(&headline).map_or_else(missing, |value| (unit.alone)(*value))
        };
        let cells: Vec<String> = rows.iter().map(cell).collect();
        if cells.iter().any(|cell| *cell != missing()) {
            columns.push(column(heading, true, cells));
        }
    }
    columns
}

/// Says what the intervals of a table are, or that there are none.
pub fn interval_note(variants: &[VariantSummary]) -> String {
    let seeds = variants.iter().map(|variant| variant.seeds.len()).max().unwrap_or(0);
    if seeds < 2 {
        return "One seed, so no intervals; --seeds N gives the mean over N seeds and its interval."
            .to_owned();
    }
    let is_pooled = |variant: &VariantSummary| {
        Headline::ALL
            .into_iter()
            .any(|headline| variant.pooled(headline).is_some() && !variant.over_seeds.contains_key(&headline))
    };
    let pooled = if variants.iter().any(is_pooled) {
        " A number without interval is over the flows of all seeds, because single seeds have too few."
    } else {
        ""
    };
    format!("Mean over {seeds} seeds ± the longer side of its 95 % interval over seeds.{pooled}")
}

/// The columns under "More numbers".
pub(crate) fn more_columns(variants: &[VariantSummary]) -> Vec<Column> {
    let mut table = Columns { variants, columns: Vec::new() };
    table.text("variant", "name of the variant", |variant| variant.name.clone());
    let meaning = "flows with at least one timeout";
    table.headline("flows with a timeout", meaning, Headline::FlowsWithTimeout, &PERCENT);
    table.headline("mean", "mean flow completion time", Headline::FctMean, &TIME);
    table.headline("mean slowdown", "mean slowdown of flows", Headline::SlowdownMean, &FACTOR);
    table.number("measured", "measurement window of the goodput", |variant| {
        variant.goodput.map_or_else(missing, |goodput| {
            format!("{} to {}", human::time_ns(goodput.from_ns), human::time_ns(goodput.until_ns))
        })
    });
    table.number(
        "whole-run goodput",
        "payload bits of finished flows divided by the whole simulated time",
        |variant| human::rate_bps(variant.whole_run_goodput_bps as f64),
    );
    table.count("packets", "packets sent by hosts", |variant| variant.packets_sent);
    table.count("packet-hops", "packets times the links they crossed", |variant| variant.packet_hops);
    table.count("corrupted", "frames that links corrupted", |variant| variant.corrupted_frames);
    table.count("dropped", "intact frames dropped by hosts and switches", |variant| {
        variant.dropped_frames.total()
    });
    table.count("resent packets", "data packets that hosts retransmitted", |variant| {
        variant.retransmitted_packets
    });
    if table.any(|variant| variant.failures.failures) {
        failed_links(&mut table);
    }
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

/// Adds the counters of failed links.
fn failed_links(table: &mut Columns<'_>) {
    table.number("failures", "how often links failed, and how many links", |variant| {
        let failures = &variant.failures;
        format!("{} ({} links)", human::count(failures.failures), human::count(failures.links))
    });
    table.count("lost on failed links", "frames that failed links lost", |variant| {
        variant.failures.lost_frames
    });
    table.count("hit by failures", "connections that lost frames on failed links", |variant| {
        variant.failures.connections
    });
    table.count("no path", "frames dropped because a switch had no path to their destination", |variant| {
        variant.dropped_frames.no_route
    });
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
    table.headline("job mean", "mean job completion time", Headline::JobMean, &TIME);
    table.headline("job max", "longest job completion time", Headline::JobMax, &TIME);
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
    table.headline("trimmed", "packets that switches trimmed to their headers", Headline::Trimmed, &COUNT);
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

/// Notes of the variants: first terms in which they differ. A note that all variants share appears once, without
/// their names.
pub fn notes(variants: &[VariantSummary]) -> Vec<String> {
    let mut lines = unequal_terms(variants);
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

/// Each term in which variants differ: a comparison of them compares this too.
fn unequal_terms(variants: &[VariantSummary]) -> Vec<String> {
    let Some(first) = variants.first() else { return Vec::new() };
    let unequal = |(number, (term, _)): (usize, (&'static str, &str))| {
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        for variant in variants {
            let value = variant.terms.named()[number].1;
            match groups.iter_mut().find(|(known, _)| *known == value) {
                Some((_, names)) => names.push(format!("\"{}\"", variant.name)),
                None => groups.push((value, vec![format!("\"{}\"", variant.name)])),
            }
        }
        let described = groups.iter().map(|(value, names)| format!("{value} with {}", names.join(", ")));
        (groups.len() > 1)
            .then(|| format!("the variants differ in {term}: {}", described.collect::<Vec<_>>().join("; ")))
    };
    first.terms.named().into_iter().enumerate().filter_map(unequal).collect()
}

/// Describes the simulated time that was skipped.
fn skipped(variant: &VariantSummary) -> Option<String> {
    let SkippedTime { jumps, skipped_ps } = variant.skipped;
    let percent = skipped_ps / 10 / variant.simulated_ns.max(1);
    let plural = if jumps == 1 { "" } else { "s" };
    (jumps > 0).then(|| format!("fast-forwarded {percent} % of the simulated time in {jumps} jump{plural}"))
}

/// Describes a deadlock: when, which ports wait for each other, and how it ended.
/// The first deadlock of a variant in one line.
pub fn deadlock(variant: &VariantSummary, found: &DeadlockReport) -> String {
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

pub(crate) fn outcome_text(key: &str) -> &str {
    let known = wiremend_measure::FlowOutcome::ALL.into_iter().find(|outcome| outcome.key() == key);
    known.map_or(key, |outcome| outcome.reason())
}

fn finished(variant: &VariantSummary) -> String {
    format!("{}/{}", human::count(variant.finished), human::count(variant.flows))
}

/// `12: 7 tail packet, 3 NAK, 2 retx`. Expiries with only dummies outstanding follow in brackets.
fn timeouts(counts: &TimeoutCounts) -> String {
    let several = TimeoutCause::ALL.into_iter().filter(|cause| counts.get(*cause) > 0).count() > 1;
    let total = if several { format!("{}: ", human::count(counts.total())) } else { String::new() };
    format!("{total}{}", causes(counts))
}

/// `7 tail packet, 3 NAK, 2 retx`.
fn causes(counts: &TimeoutCounts) -> String {
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
    if causes.is_empty() { format!("none{dummies}") } else { format!("{}{dummies}", causes.join(", ")) }
}

pub(crate) fn missing() -> String {
    "–".to_owned()
}
