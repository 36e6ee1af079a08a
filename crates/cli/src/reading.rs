//! What the numbers of a run say, in sentences.

use wiremend_measure::{TimeoutCause, VariantSummary};
use wiremend_report::human;

/// Up to three sentences: how long flows take, how many waited for a timer and why, and what was sent again.
pub(crate) fn sentences(variants: &[VariantSummary]) -> Vec<String> {
    [failures(variants), times(variants), timers(variants), resent(variants)]
        .into_iter()
        .flatten()
        .take(3)
        .collect()
}

/// A factor below this is no news.
const NOTABLE: f64 = 1.5;

fn times(variants: &[VariantSummary]) -> Option<String> {
    let by_tail = |variant: &&VariantSummary| variant.fct_ns.as_ref().map_or(0, |fct| fct.p999 as u64);
    let finished = variants.iter().filter(|variant| variant.fct_ns.is_some());
    let worst = finished.clone().max_by_key(by_tail)?;
    let best = finished.min_by_key(by_tail)?;
    let (low, high) = (best.fct_ns.as_ref()?, worst.fct_ns.as_ref()?);
    let [p50, p999, max] = [high.p50, high.p999, high.max].map(human::time_ns);
    if variants.len() == 1 {
        return Some(match worst.finished {
            1 => format!("The flow took {max}."),
            n if n < 1000 => format!("Half of the flows finished within {p50}, the slowest in {max}."),
            _ => format!("Half of the flows finished within {p50}, all but one in a thousand within {p999}."),
        });
    }
    let [tail, median] = [high.p999 / low.p999, high.p50 / low.p50];
    if tail < NOTABLE {
        return Some(format!(
            "One flow in a thousand takes {p999} or more, with little difference between variants."
        ));
    }
    Some(format!(
        "One flow in a thousand takes {} or more with {}, and {p999} or more with {}: {} as long. The median grows {}.",
        human::time_ns(low.p999),
        quoted(best),
        quoted(worst),
        human::factor(tail),
        if median < NOTABLE { "hardly".to_owned() } else { human::factor(median) },
    ))
}

/// Flows that never finish say more than those that do.
fn failures(variants: &[VariantSummary]) -> Option<String> {
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
        return lossy.then(|| "No retransmission timer fired: every loss was noticed by a NAK.".to_owned());
    }
    let cause = TimeoutCause::ALL.into_iter().max_by_key(|cause| worst.timeouts.of(*cause))?;
    let share = worst.flows_with_timeout;
    let with = if variants.len() == 1 { String::new() } else { format!("With {}, ", quoted(worst)) };
    let often = match (worst.timeouts.of(cause), total) {
        (_, 1) => String::new(),
        (of, total) if of == total => "each time ".to_owned(),
        (of, total) => format!("{} times of {} ", human::count(of), human::count(total)),
    };
    Some(format!(
        "{with}{} of {} flows ({} %) waited for a retransmission timer, {often}{}.",
        human::count(share.count),
        human::count(worst.flows),
        human::percent(share.fraction),
        meaning(cause),
    ))
}

fn meaning(cause: TimeoutCause) -> &'static str {
    match cause {
        TimeoutCause::TailPacket => "because nothing came after the lost packet that could show the loss",
        TimeoutCause::TailAck => "because the last acknowledgement was lost",
        TimeoutCause::Nak => "because the NAK was lost, and a responder sends one only once",
        TimeoutCause::Twice => "because the packet was lost again when it was sent again",
        TimeoutCause::Other => "for another reason",
    }
}

fn resent(variants: &[VariantSummary]) -> Option<String> {
    let per_loss = |variant: &VariantSummary| {
        let lost = variant.corrupted_frames + variant.dropped_frames.buffer;
        (lost > 0).then(|| variant.retransmitted_bytes as f64 / lost as f64)
    };
    let mut costs: Vec<_> =
        variants.iter().filter_map(|variant| Some((per_loss(variant)?, quoted(variant)))).collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, by) = costs.first()?;
    let (most, other) = costs.last()?;
    let [least, most] = [*least, *most].map(human::bytes);
    Some(if least == most {
        format!("For each lost frame, {least} were sent again on average.")
    } else {
        format!("For each lost frame, {by} sent {least} again on average, and {other} {most}.")
    })
}

fn quoted(variant: &VariantSummary) -> String {
    format!("\"{}\"", variant.name)
}
