//! Sentences that summarise the results of a run.

use std::fmt::Write as _;

use wiremend_measure::{Quantiles, TimeoutCause, VariantSummary};

use crate::human;

/// At most three sentences, the most important first: deadlocks, failed flows, completion times, timeouts,
/// drops of lossless switches, retransmitted bytes.
pub fn sentences(variants: &[VariantSummary]) -> Vec<String> {
    // Completion times of flows that a deadlock did not block say little.
    let lived: Vec<_> = variants.iter().filter(|variant| !is_deadlocked(variant)).cloned().collect();
    [deadlocks(variants), failures(&lived), times(&lived), timers(&lived), overruns(&lived), resent(&lived)]
        .into_iter()
        .flatten()
        .take(3)
        .collect()
}

/// Smallest factor between two variants that is reported.
const NOTABLE: f64 = 1.5;

fn times(variants: &[VariantSummary]) -> Option<String> {
    // The 99.9th percentile of a few flows would be the slowest flow.
    let are_many = variants.iter().all(|variant| variant.fct_ns.is_none() || variant.finished >= 1000);
    let tail = |fct: &Quantiles| if are_many { fct.p999 } else { fct.max };
    let by_tail = |variant: &&VariantSummary| variant.fct_ns.as_ref().map_or(0, |fct| tail(fct) as u64);
    let finished = variants.iter().filter(|variant| variant.fct_ns.is_some());
    let worst = finished.clone().max_by_key(by_tail)?;
    let best = finished.min_by_key(by_tail)?;
    let (low, high) = (best.fct_ns.as_ref()?, worst.fct_ns.as_ref()?);
    let [p50, longest] = [high.p50, tail(high)].map(human::time_ns);
    if variants.len() == 1 {
        return Some(match (worst.finished, are_many) {
            (1, _) => format!("The flow took {longest}."),
            (_, false) => format!("Half of the flows finished within {p50}, the slowest in {longest}."),
            (_, true) => {
                format!(
                    "Half of the flows finished within {p50}, all but one in a thousand within {longest}."
                )
            }
        });
    }
    let (who, more) =
        if are_many { ("One flow in a thousand", " or more") } else { ("The slowest flow", "") };
    let [slower, median] = [tail(high) / tail(low), high.p50 / low.p50];
    if slower < NOTABLE {
        return Some(format!("{who} takes {longest}{more}, with little difference between variants."));
    }
    Some(format!(
        "{who} takes {}{more} with {}, and {longest}{more} with {}: {} as long. The median {}.",
        human::time_ns(tail(low)),
        quoted(best),
        quoted(worst),
        human::factor(slower),
        if median < NOTABLE {
            "changes little".to_owned()
        } else {
            format!("grows by {}", human::factor(median))
        },
    ))
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

/// Variants in which no flow finished.
fn failures(variants: &[VariantSummary]) -> Option<String> {
    if !variants.is_empty() && variants.iter().all(|variant| variant.packets_sent == 0) {
        return Some("No packet was sent before the run ended.".to_owned());
    }
    let none: Vec<_> = variants.iter().filter(|variant| variant.flows > 0 && variant.finished == 0).collect();
    match none.as_slice() {
        [] => None,
        [_] if variants.len() == 1 => Some("No flow finished.".to_owned()),
        none => Some(format!(
            "No flow finished with {}.",
            none.iter().map(|variant| quoted(variant)).collect::<Vec<_>>().join(", ")
        )),
    }
}

fn timers(variants: &[VariantSummary]) -> Option<String> {
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
    let meaning = meaning(cause);
    Some(capitalised(&format!(
        "{with}retransmission timers fired {times} and delayed {held_up}, {often}{meaning}."
    )))
}

/// Drops of lossless switches: a PFC frame was corrupted, or the headroom is too small.
fn overruns(variants: &[VariantSummary]) -> Option<String> {
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

fn resent(variants: &[VariantSummary]) -> Option<String> {
    let per_loss = |variant: &VariantSummary| {
        let lost = variant.corrupted_frames + variant.dropped_frames.buffer;
        // Retransmitted by hosts or by a protected link.
        let resent_bytes = variant.retransmitted_bytes + variant.protection.resent.bytes;
        (lost > 0 && variant.flows > 0).then(|| resent_bytes as f64 / lost as f64)
    };
    let mut costs: Vec<_> =
        variants.iter().filter_map(|variant| Some((per_loss(variant)?, quoted(variant)))).collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, by) = costs.first()?;
    let (most, other) = costs.last()?;
    let [least, most] = [*least, *most].map(human::bytes);
    Some(if least == most {
        format!("Each lost frame caused {least} of retransmissions on average.")
    } else {
        format!(
            "Each lost frame caused {least} of retransmissions on average with {by}, and {most} with {other}."
        )
    })
}

fn quoted(variant: &VariantSummary) -> String {
    format!("\"{}\"", variant.name)
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
