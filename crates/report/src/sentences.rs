//! Sentences that summarise the results of a run. Each follows from a rule over the numbers of the table.

use std::fmt::Write as _;

use wiremend_measure::{Headline, TimeoutCause, VariantSummary};

use crate::difference::{Difference, NOTABLE};
use crate::human;

/// At most four sentences, the most important first: deadlocks, failed flows, job completion times, flow completion
/// times, timeouts, drops of lossless switches, retransmitted bytes. Losses on failed links follow failed flows.
pub fn sentences(variants: &[VariantSummary]) -> Vec<String> {
    // Completion times of flows that a deadlock did not block say little.
    let lived: Vec<_> = variants.iter().filter(|variant| !is_deadlocked(variant)).collect();
    [
        deadlocks(variants),
        failures(&lived),
        failed_links(&lived),
        jobs(&lived),
        times(&lived),
        timers(&lived),
        overruns(&lived),
        resent(&lived),
    ]
    .into_iter()
    .flatten()
    .take(4)
    .collect()
}

/// The slowest jobs of collectives.
fn jobs(variants: &[&VariantSummary]) -> Option<String> {
    let with: Vec<_> = variants.iter().copied().filter(|variant| !variant.jobs.is_empty()).collect();
    let seeds = average(with.first()?);
    if let [one] = with[..] {
        let slowest = human::time_ns(one.headline(Headline::JobMax)?);
        return Some(format!("The slowest job takes {slowest}{seeds}."));
    }
    let difference = Difference::largest(&with, &[Headline::JobMax, Headline::JobMean])?;
    Some(if difference.is_notable() {
        capitalised(&format!("{}{seeds}.", difference.described()))
    } else {
        format!("No job completion time differs by {NOTABLE}× or more between the variants.")
    })
}

/// The largest difference of flow completion times and slowdowns.
fn times(variants: &[&VariantSummary]) -> Option<String> {
    const COMPARED: [Headline; 5] =
        [Headline::FctP50, Headline::FctP99, Headline::FctP999, Headline::FctMax, Headline::SlowdownP99];
    let timed: Vec<_> = variants.iter().copied().filter(|variant| variant.fct_ns.is_some()).collect();
    let seeds = average(timed.first()?);
    if let [one] = timed[..] {
        return alone(one).map(|sentence| format!("{sentence}{seeds}."));
    }
    // The flows that survive are the fast ones, so a variant that lost some cannot be compared with one that did not.
    let whole: Vec<_> = timed.iter().copied().filter(|variant| variant.finished == variant.flows).collect();
    let (compared, of_whom) = match (whole.len(), timed.len()) {
        (whole_count, all) if whole_count == all => (&timed, ""),
        (0 | 1, _) => (&timed, "Of the flows that finished: "),
        _ => (&whole, "Where all flows finished: "),
    };
    let difference = Difference::largest(compared, &COMPARED)?;
    if !difference.is_notable() {
        // Means over few seeds may differ and say nothing.
        let beyond = match compared[0].seeds.len() {
            0 | 1 => String::new(),
            seeds => format!(" beyond the intervals over {seeds} seeds"),
        };
        return Some(capitalised(&format!(
            "{of_whom}no percentile of flow completion times or slowdowns differs by {NOTABLE}× or more between the \
             variants{beyond}."
        )));
    }
    let mut text = capitalised(&format!("{of_whom}{}{seeds}.", difference.described()));
    if difference.headline != Headline::FctP50
        && let Some(ratio) = difference.ratio_of(Headline::FctP50)
    {
        let is_slowdown = difference.headline == Headline::SlowdownP99;
        let noun = if is_slowdown { "median completion time" } else { "median" };
        let median = match ratio {
            ratio if ratio >= NOTABLE => format!(" The {noun} is {} as long.", human::factor(ratio)),
            ratio if ratio <= 1.0 / NOTABLE => {
                format!(" The {noun} is shorter, by {}.", human::factor(1.0 / ratio))
            }
            _ => format!(" Their {noun}s differ by less than {NOTABLE}×."),
        };
        text.push_str(&median);
    }
    Some(text)
}

/// The completion times of a single variant.
fn alone(variant: &VariantSummary) -> Option<String> {
    let time = |headline| variant.headline(headline).map(human::time_ns);
    let slowest = time(Headline::FctMax)?;
    if variant.finished == 1 {
        return Some(format!("The flow that finished took {slowest}"));
    }
    let parts = [
        time(Headline::FctP50).map(|time| format!("half of the flows finished within {time}")),
        time(Headline::FctP99).map(|time| format!("99 % within {time}")),
        time(Headline::FctP999).map(|time| format!("99.9 % within {time}")),
        Some(format!("the slowest in {slowest}")),
    ];
    Some(capitalised(&parts.into_iter().flatten().collect::<Vec<_>>().join(", ")))
}

fn average(variant: &VariantSummary) -> String {
    match variant.seeds.len() {
        0 | 1 => String::new(),
        seeds => format!(", on average over {seeds} seeds"),
    }
}

/// Failed flows: how many, how they ended, and what the network did to their frames.
fn failures(variants: &[&VariantSummary]) -> Option<String> {
    if !variants.is_empty() && variants.iter().all(|variant| variant.packets_sent == 0) {
        return Some("No packet was sent before the run ended.".to_owned());
    }
    let failed = |variant: &VariantSummary| variant.flows - variant.finished;
    let share = |variant: &&&VariantSummary| {
        u128::from(failed(variant)) * u128::from(u64::MAX) / u128::from(variant.flows.max(1))
    };
    let worst = variants.iter().rev().filter(|variant| failed(variant) > 0).max_by_key(share)?;
    let how_many = match (failed(worst), worst.flows) {
        (1, 1) => "the flow".to_owned(),
        (count, all) if count == all => format!("all {} flows", human::count(all)),
        (count, all) => format!("{} of {} flows", human::count(count), human::count(all)),
    };
    let ends: Vec<_> = worst.failed.iter().map(|(reason, count)| ended(reason, *count)).collect();
    let with = if variants.len() == 1 { String::new() } else { format!("with {}, ", quoted(worst)) };
    let mut text = capitalised(&format!("{with}{how_many} failed: {}", ends.join(", ")));
    let losses = losses(worst);
    if !losses.is_empty() {
        let _ = write!(text, "; {}", losses.join(", "));
    } else if worst.failed.contains_key("retry_exceeded") {
        text.push_str("; no frame was lost: the timers expired before the acknowledgements arrived");
    }
    let others: Vec<_> = variants
        .iter()
        .filter(|variant| failed(variant) > 0 && variant.name != worst.name)
        .map(|variant| quoted(variant))
        .collect();
    if !others.is_empty() {
        let _ = write!(text, ". Flows also failed with {}", others.join(", "));
    }
    Some(text + ".")
}

fn ended(reason: &str, count: u64) -> String {
    let [their, were] = if count == 1 { ["its", "was"] } else { ["their", "were"] };
    let count = human::count(count);
    match reason {
        "retry_exceeded" => format!("{count} exhausted {their} retries"),
        "time_limit" => format!("{count} {were} unfinished when the run ended"),
        "stalled" => format!("{count} {were} stalled without a pending event"),
        "deadlock" => format!("{count} {were} unfinished when a deadlock ended the run"),
        other => format!("{count} {}", crate::comparison::outcome_text(other)),
    }
}

/// What failed links cost: in the variant that lost most frames there.
fn failed_links(variants: &[&VariantSummary]) -> Option<String> {
    let worst = variants.iter().rev().max_by_key(|variant| variant.failures.lost_frames)?;
    let failures = &worst.failures;
    if failures.lost_frames == 0 {
        return None;
    }
    let counted = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{} {what}s", human::count(count)),
    };
    let with = if variants.len() == 1 { String::new() } else { format!("with {}, ", quoted(worst)) };
    let mut text = format!("{with}failed links lost {}", counted(failures.lost_frames, "frame"));
    if failures.connections > 0 {
        let _ = write!(text, " and hit {}", counted(failures.connections, "connection"));
    }
    if worst.dropped_frames.no_route > 0 {
        let dropped = counted(worst.dropped_frames.no_route, "frame");
        let _ = write!(text, "; switches without a path dropped {dropped}");
    }
    Some(capitalised(&(text + ".")))
}

/// What the network did to frames, where it did anything.
fn losses(variant: &VariantSummary) -> Vec<String> {
    let dropped = &variant.dropped_frames;
    let each = [
        (variant.corrupted_frames, "links corrupted", "frames"),
        (dropped.buffer, "full queues dropped", "frames"),
        (dropped.ttl, "expired TTLs cost", "frames"),
        (variant.failures.lost_frames, "failed links lost", "frames"),
        (dropped.no_route, "switches without a path dropped", "frames"),
        (dropped.remedy, "remedies against deadlocks and loops dropped", "frames"),
        (variant.trims.trimmed, "switches trimmed", "packets"),
    ];
    let text = |(count, did, what): (u64, &str, &str)| {
        let what = if count == 1 {
            what.replacen("frames", "frame", 1).replacen("packets", "packet", 1)
        } else {
            what.to_owned()
        };
        (count > 0).then(|| format!("{did} {} {what}", human::count(count)))
    };
    each.into_iter().filter_map(text).collect()
}

/// Bytes retransmitted for each frame that did not arrive whole.
fn resent(variants: &[&VariantSummary]) -> Option<String> {
    // Retransmitted by hosts or by a protected link.
    let bytes = |variant: &VariantSummary| variant.retransmitted_bytes + variant.protection.resent.bytes;
    let without_loss = variants.iter().filter(|variant| variant.lost_frames() == 0 && bytes(variant) > 0);
    if let Some(spurious) = without_loss.max_by_key(|variant| bytes(variant)) {
        let resent = human::bytes(bytes(spurious) as f64);
        let with = if variants.len() == 1 { String::new() } else { format!("with {}, ", quoted(spurious)) };
        return Some(capitalised(&format!("{with}{resent} were sent again although no frame was lost.")));
    }
    let lossy: Vec<_> =
        variants.iter().filter(|variant| variant.lost_frames() > 0 && variant.flows > 0).collect();
    let per_loss = |variant: &VariantSummary| bytes(variant) as f64 / variant.lost_frames() as f64;
    let mut costs: Vec<_> = lossy.iter().map(|variant| (per_loss(variant), quoted(variant))).collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((least, by), (most, other)) = (costs.first()?, costs.last()?);
    let ways = [
        (lossy.iter().any(|variant| variant.corrupted_frames > 0), "corrupted"),
        (lossy.iter().any(|variant| variant.dropped_frames.lost() > 0), "dropped"),
        (lossy.iter().any(|variant| variant.failures.lost_frames > 0), "lost"),
        (lossy.iter().any(|variant| variant.trims.trimmed > 0), "trimmed"),
    ];
    let ways: Vec<_> = ways.into_iter().filter(|(happened, _)| *happened).map(|(_, way)| way).collect();
    let (what, [least, most]) = (ways.join(" or "), [*least, *most].map(human::bytes));
    Some(if costs.len() == 1 || least == most {
        format!("For each {what} frame, {least} were sent again on average.")
    } else {
        format!(
            "For each {what} frame, {least} were sent again on average with {by}, and {most} with {other}."
        )
    })
}

fn is_deadlocked(variant: &VariantSummary) -> bool {
    variant.deadlocks.found > variant.deadlocks.resolved
}

/// Variants with a deadlock, how remedies ended it, and variants without one.
fn deadlocks(variants: &[VariantSummary]) -> Option<String> {
    let first = variants.iter().find_map(|variant| Some((variant, variant.first_deadlock.as_ref()?)))?;
    let (variant, found) = first;
    let with = if variants.len() == 1 { String::new() } else { format!("With {}, ", quoted(variant)) };
    let mut text = capitalised(&format!(
        "{with}{} ports wait for each other in a cycle from {} on",
        found.cycle.len(),
        human::time_ns(found.closed_ns as f64)
    ));
    if found.blocked_hosts > 0 {
        let _ = write!(text, ", which blocks {} hosts", human::count(found.blocked_hosts));
    }
    let resolved = variants.iter().filter(|variant| variant.deadlocks.resolved > 0);
    let describe = |variant: &VariantSummary| {
        let counts = &variant.deadlocks;
        let frames = human::count(counts.dropped_frames());
        let each = human::time_ns(counts.duration_ns as f64 / counts.found.max(1) as f64);
        let times = if counts.found == 1 {
            String::new()
        } else {
            format!("{} times, each ", human::count(counts.found))
        };
        format!("{} ended it {times}after {each} and dropped {frames} packets", quoted(variant))
    };
    let resolved: Vec<_> = resolved.map(describe).collect();
    if !resolved.is_empty() {
        let _ = write!(text, "; {}", resolved.join(", "));
    }
    // A deadlock that ended before the detector ran is known by its storms or probes.
    let is_free = |variant: &VariantSummary| {
        let counts = &variant.deadlocks;
        counts.found + counts.storms + counts.probe_detections == 0
    };
    let never: Vec<_> = variants.iter().filter(|variant| is_free(variant)).map(quoted).collect();
    if !never.is_empty() {
        let _ = write!(text, "; no deadlock with {}", never.join(", "));
    }
    Some(text + ".")
}

/// Timers that fired, and their most frequent cause.
fn timers(variants: &[&VariantSummary]) -> Option<String> {
    let worst = variants.iter().max_by_key(|variant| variant.timeouts.total())?;
    let total = worst.timeouts.total();
    if total == 0 {
        let lossy = variants.iter().any(|variant| variant.corrupted_frames > 0);
        return lossy.then(|| "No retransmission timer fired.".to_owned());
    }
    let cause = TimeoutCause::ALL.into_iter().max_by_key(|cause| worst.timeouts.get(*cause))?;
    let with = if variants.len() == 1 { String::new() } else { format!("With {}, ", quoted(worst)) };
    let share = worst.flows_with_timeout;
    let held_up = match (share.count, worst.flows) {
        (1, 1) => "the flow".to_owned(),
        (count, flows) => {
            let [count, flows] = [count, flows].map(human::count);
            format!("{count} of {flows} flows ({} %)", human::percent(share.fraction))
        }
    };
    let most = worst.timeouts.get(cause);
    let often = if most == total { String::new() } else { format!("{} times ", human::count(most)) };
    let times = if total == 1 { "once".to_owned() } else { format!("{} times", human::count(total)) };
    let seeds = match worst.seeds.len() {
        0 | 1 => String::new(),
        seeds => format!(" in {seeds} seeds"),
    };
    let meaning = meaning(cause);
    Some(capitalised(&format!(
        "{with}retransmission timers fired {times}{seeds} and delayed {held_up}, {often}{meaning}."
    )))
}

/// Drops of lossless switches: a PFC frame was corrupted, or the headroom is too small.
fn overruns(variants: &[&VariantSummary]) -> Option<String> {
    let worst = variants.iter().max_by_key(|variant| variant.flow_control.lossless_dropped)?;
    let counts = &worst.flow_control;
    if counts.lossless_dropped == 0 {
        return None;
    }
    let with = if variants.len() == 1 { String::new() } else { format!("With {}, ", quoted(worst)) };
    let dropped = human::count(counts.lossless_dropped);
    let why = if counts.corrupted == 0 {
        "more bytes arrived after the pause than the headroom holds".to_owned()
    } else {
        let [corrupted, frames] = [counts.corrupted, counts.frames].map(human::count);
        format!(
            "{corrupted} of {frames} PFC frames were corrupted, and a sender that misses a pause continues"
        )
    };
    Some(capitalised(&format!("{with}lossless switches dropped {dropped} frames: {why}.")))
}

fn meaning(cause: TimeoutCause) -> &'static str {
    match cause {
        TimeoutCause::TailPacket => "because no packet followed the lost one to reveal the gap",
        TimeoutCause::TailAck => "because the last acknowledgement was lost",
        TimeoutCause::Nak => "because the NAK was lost, which a responder sends only once",
        TimeoutCause::Retransmission => "because the retransmission was lost as well",
        TimeoutCause::Other => "for another reason",
    }
}

fn quoted(variant: &VariantSummary) -> String {
    format!("\"{}\"", variant.name)
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
#[path = "sentences_tests.rs"]
mod tests;
