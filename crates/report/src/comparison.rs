//! Variants side by side: the cells that the terminal and the page both show.

use wiremend_measure::{DeadlockFound, JobSummary, Quantiles, TimeoutCause, TimeoutCounts, VariantSummary};

use crate::human;

/// One column: a heading and a cell for each variant.
pub(crate) struct Column {
    pub(crate) heading: &'static str,
    /// What the heading means, in a sentence.
    pub(crate) meaning: &'static str,
    pub(crate) cells: Vec<String>,
    pub(crate) is_number: bool,
}

/// Columns while they are gathered.
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

    fn count(&mut self, heading: &'static str, meaning: &'static str, of: fn(&VariantSummary) -> u64) {
        self.number(heading, meaning, |variant| human::count(of(variant)));
    }

    fn bytes(&mut self, heading: &'static str, meaning: &'static str, of: fn(&VariantSummary) -> u64) {
        self.number(heading, meaning, |variant| human::bytes(of(variant) as f64));
    }

    /// A completion time; nothing where no flow finished.
    fn fct(&mut self, heading: &'static str, meaning: &'static str, pick: impl Fn(&Quantiles) -> f64) {
        self.number(heading, meaning, |variant| {
            variant.fct_ns.as_ref().map_or_else(missing, |fct| human::time_ns(pick(fct)))
        });
    }

    fn any(&self, what: impl Fn(&VariantSummary) -> u64) -> bool {
        self.variants.iter().any(|variant| what(variant) > 0)
    }
}

/// The columns that matter most, the variant's name first. What no variant has any of is left out.
pub(crate) fn columns(variants: &[VariantSummary]) -> Vec<Column> {
    let mut table = Columns { variants, columns: Vec::new() };
    table.text("variant", "what was compared", |variant| variant.name.clone());
    table.number("finished", "flows that finished, of all", finished);
    table.fct("p50", "median flow completion time", |fct| fct.p50);
    table.fct("p99", "one flow in a hundred takes longer", |fct| fct.p99);
    table.fct("p99.9", "one flow in a thousand takes longer", |fct| fct.p999);
    table.fct("max", "the slowest flow", |fct| fct.max);
    table.number("slowdown p99", "completion time over that of the same bytes alone", |variant| {
        variant.slowdown.as_ref().map_or_else(missing, |slowdown| human::factor(slowdown.p99))
    });
    table
        .text("timeouts", "retransmission timers that fired, and why", |variant| timeouts(&variant.timeouts));
    table.bytes("resent", "frame bytes sent again", |of| of.retransmitted_bytes);
    if table.any(|variant| variant.extra_bytes) {
        table.bytes("extra", "frame bytes beyond the first copy of each packet and its ACKs", |of| {
            of.extra_bytes
        });
    }
    if table.any(|variant| variant.flow_control.pauses) {
        table.count("pauses", "times that a lossless switch told a neighbour to stop", |of| {
            of.flow_control.pauses
        });
    }
    if table.any(|variant| variant.trims.trimmed + variant.trims.dropped()) {
        trims(&mut table);
    }
    if table.variants.iter().any(|variant| !variant.jobs.is_empty()) {
        jobs(&mut table);
    }
    table.number("goodput", "application bits of finished flows over simulated time", |variant| {
        human::rate_bps(variant.goodput_bps as f64)
    });
    table.columns
}

/// What else was counted.
pub(crate) fn more_columns(variants: &[VariantSummary]) -> Vec<Column> {
    let mut table = Columns { variants, columns: Vec::new() };
    table.text("variant", "what was compared", |variant| variant.name.clone());
    table.number("flows with a timeout", "with the 95 % confidence interval", |variant| {
        let share = variant.flows_with_timeout;
        let [fraction, low, high] = [share.fraction, share.low, share.high].map(human::percent);
        format!("{fraction} % ({low}–{high} %)")
    });
    table.fct("mean", "mean flow completion time", |fct| fct.mean);
    table.count("packets", "packets that hosts sent", |of| of.packets_sent);
    table.count("packet-hops", "packets times links crossed", |of| of.packet_hops);
    table.count("corrupted", "frames that links corrupted", |of| of.corrupted_frames);
    table.count("dropped", "intact frames that nodes dropped", |of| of.dropped_frames.total());
    table.count("resent packets", "data packets sent again", |of| of.retransmitted_packets);
    if table.any(|variant| variant.protection.protected) {
        protection(&mut table);
    }
    if table.any(|variant| variant.flow_control.pauses + variant.flow_control.lossy_dropped) {
        flow_control(&mut table);
    }
    if table.any(|variant| variant.congestion.marked) {
        table.count("marked", "frames that switches marked, by ECN", |of| of.congestion.marked);
        table.count("CNPs", "congestion notifications that receivers sent", |of| of.congestion.cnps_sent);
    }
    if table.any(|variant| variant.trims.acks_dropped) {
        table.count("ACKs dropped", "acknowledgements that met a queue above the threshold", |of| {
            of.trims.acks_dropped
        });
    }
    if table.any(|variant| {
        variant.deadlocks.found + variant.deadlocks.dropped_frames() + variant.deadlocks.storms
    }) {
        deadlocks(&mut table);
    }
    table.count("events", "events that the simulator handled", |of| of.events);
    table.number("simulated", "simulated time", |variant| human::time_ns(variant.simulated_ns as f64));
    table.columns
}

/// What protected links did.
fn protection(table: &mut Columns<'_>) {
    table.count("link: missed", "frames that the ends of protected links found missing", |of| {
        of.protection.missed
    });
    table.count("link: lost", "of these, frames that were given up", |of| of.protection.lost);
    table.bytes("link: extra", "bytes of link headers, copies and frames of the links' own", |of| {
        of.protection.bytes()
    });
    table.bytes("link: tx buffer", "most bytes that any sending end kept", |of| {
        of.protection.tx_buffer_bytes_max
    });
    table.bytes("link: rx buffer", "most bytes that waited at any receiving end", |of| {
        of.protection.rx_buffer_bytes_max
    });
}

/// What lossless switches did.
fn flow_control(table: &mut Columns<'_>) {
    table.number(
        "pfc: paused",
        "how long ports had to hold a class, each port and class counted",
        |variant| human::time_ns(variant.flow_control.paused_ns as f64),
    );
    table.count("pfc: hosts", "hosts that were ever paused", |of| of.flow_control.paused_hosts);
    table.count("pfc: frames", "PFC frames that switches sent", |of| of.flow_control.frames);
    table.count("pfc: corrupted", "of these, frames that links corrupted", |of| of.flow_control.corrupted);
    table.count("lossless drops", "frames of lossless classes dropped for want of room", |of| {
        of.flow_control.lossless_dropped
    });
    table.bytes("pfc: buffer", "most bytes that lay in any switch", |of| of.flow_control.buffer_bytes_max);
    table.bytes("pfc: headroom", "most bytes in the headroom of any port and class", |of| {
        of.flow_control.headroom_bytes_max
    });
}

/// What groups of hosts did together.
fn jobs(table: &mut Columns<'_>) {
    table.number("jobs", "jobs of collectives that finished, of all: groups times iterations", |variant| {
        let sum = |of: fn(&JobSummary) -> u64| human::count(variant.jobs.iter().map(of).sum());
        format!("{}/{}", sum(|jobs| jobs.finished), sum(|jobs| jobs.jobs))
    });
    table.number("job mean", "mean job completion time, of each collective", |variant| {
        job_times(variant, |times| times.mean)
    });
    table.number("job max", "the slowest job of each collective", |variant| {
        job_times(variant, |times| times.max)
    });
}

fn job_times(variant: &VariantSummary, pick: fn(&Quantiles) -> f64) -> String {
    let time =
        |jobs: &JobSummary| jobs.jct_ns.as_ref().map_or_else(missing, |times| human::time_ns(pick(times)));
    variant.jobs.iter().map(time).collect::<Vec<_>>().join(", ")
}

/// The groups of all collectives, a row for each: whose, and how long its jobs took.
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

/// What switches that trim did.
fn trims(table: &mut Columns<'_>) {
    table.count("trimmed", "packets that switches cut to their headers", |of| of.trims.trimmed);
    table.count("headers lost", "header-only packets for which a control queue had no room", |of| {
        of.trims.headers_dropped
    });
    table.count("lost in silence", "other packets that were dropped above the threshold", |of| {
        of.trims.others_dropped
    });
}

/// Deadlocks, and what was done about them.
fn deadlocks(table: &mut Columns<'_>) {
    table.number(
        "deadlocks",
        "circles of ports that waited for each other, and how many were resolved",
        |variant| {
            let of = &variant.deadlocks;
            format!("{} ({} resolved)", human::count(of.found), human::count(of.resolved))
        },
    );
    table.number("closed", "when the first circle closed", |variant| {
        variant.deadlocks.closed_ns.map_or_else(missing, |closed| human::time_ns(closed as f64))
    });
    table.number("stood", "how long deadlocks stood", |variant| {
        human::time_ns(variant.deadlocks.stood_ns as f64)
    });
    table.count("given up", "frames that remedies dropped", |of| of.deadlocks.dropped_frames());
    table.number(
        "storms",
        "storms that watchdogs called, and how many of them while no deadlock stood",
        |variant| {
            let of = &variant.deadlocks;
            format!("{} ({} false)", human::count(of.storms), human::count(of.false_storms))
        },
    );
}

/// Why flows failed, a line for each variant in which some did.
pub(crate) fn failures(variants: &[VariantSummary]) -> Vec<String> {
    let line = |variant: &VariantSummary| {
        let reasons: Vec<_> = variant
            .failed
            .iter()
            .map(|(reason, count)| format!("{} {}", human::count(*count), worded(reason)))
            .collect();
        format!("{}: failed: {}", variant.name, reasons.join(", "))
    };
    let lines = |variant: &VariantSummary| {
        let failed = (!variant.failed.is_empty()).then(|| line(variant));
        [variant.deadlock.as_ref().map(|found| deadlock(variant, found)), failed]
    };
    variants.iter().flat_map(lines).flatten().collect()
}

/// What a reader of the numbers should know. A note that all variants share stands once, without their names.
pub fn notes(variants: &[VariantSummary]) -> Vec<String> {
    let mut lines = Vec::new();
    for variant in variants {
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

/// Names a deadlock: when, who waits for whom, and what became of it.
fn deadlock(variant: &VariantSummary, found: &DeadlockFound) -> String {
    const NAMED: usize = 8;
    let first = found.cycle.iter().take(1);
    let more = if found.cycle.len() > NAMED { Some("…".to_owned()) } else { None };
    let circle: Vec<_> = found.cycle.iter().take(NAMED).cloned().chain(more).chain(first.cloned()).collect();
    let behind = match found.waiting {
        0 => String::new(),
        1 => "; 1 more port waits for them".to_owned(),
        many => format!("; {} more ports wait for them", human::count(many)),
    };
    let hosts = match found.waiting_hosts {
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

fn worded(key: &str) -> &str {
    let known = wiremend_measure::Outcome::ALL.into_iter().find(|outcome| outcome.key() == key);
    known.map_or(key, |outcome| outcome.reason())
}

fn finished(variant: &VariantSummary) -> String {
    format!("{}/{}", human::count(variant.finished), human::count(variant.flows))
}

/// `12: 7 tail packet, 3 NAK, 2 twice`; dummies in brackets, as they hold up nothing.
fn timeouts(counts: &TimeoutCounts) -> String {
    let causes = TimeoutCause::ALL.into_iter().filter(|&cause| counts.of(cause) > 0);
    let causes: Vec<_> = causes.map(|cause| format!("{} {cause}", human::count(counts.of(cause)))).collect();
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
