//! What the numbers of a run say, in sentences.

use wiremend_measure::{TimeoutCause, VariantSummary};
use wiremend_report::human;

/// Up to three sentences: how long flows take, how many waited for a timer and why, and what was sent again.
pub(crate) fn sentences(variants: &[VariantSummary]) -> Vec<String> {
    [times(variants), timers(variants), resent(variants)].into_iter().flatten().collect()
}

fn times(variants: &[VariantSummary]) -> Option<String> {
    let by_tail = |variant: &&VariantSummary| variant.fct_ns.as_ref().map_or(0, |fct| fct.p999 as u64);
    let finished = variants.iter().filter(|variant| variant.fct_ns.is_some());
    let worst = finished.clone().max_by_key(by_tail)?;
    let best = finished.min_by_key(by_tail)?;
    let (low, high) = (best.fct_ns.as_ref()?, worst.fct_ns.as_ref()?);
    let [p50, p999] = [high.p50, high.p999].map(human::time_ns);
    if best.name == worst.name {
        return Some(match worst.finished {
            1 => format!("The flow took {p50}."),
            n if n < 1000 => {
                format!("Half of the flows finished within {p50}, the slowest in {}.", human::time_ns(high.max))
            }
            _ => format!("Half of the flows finished within {p50}, all but one in a thousand within {p999}."),
        });
    }
    let tail = human::factor(high.p999 / low.p999);
    Some(format!(
        "From {} to {}, the median flow goes from {} to {p50}, but one flow in a thousand from {} to {p999} or more: \
         {tail}.",
        quoted(best),
        quoted(worst),
        human::time_ns(low.p50),
        human::time_ns(low.p999),
    ))
}

fn timers(variants: &[VariantSummary]) -> Option<String> {
    let worst = variants.iter().max_by_key(|variant| variant.timeouts.total())?;
    let total = worst.timeouts.total();
    if total == 0 {
        let lossy = variants.iter().any(|variant| variant.corrupted_frames > 0);
        return lossy.then(|| "No retransmission timer fired: every loss was noticed by a NAK.".to_owned());
    }
    let cause = TimeoutCause::ALL.into_iter().max_by_key(|cause| worst.timeouts.of(*cause))?;
    let of = worst.timeouts.of(cause);
    let share = worst.flows_with_timeout;
    Some(format!(
        "With {}, {} of {} flows ({} %) waited for a retransmission timer; {} {}.",
        quoted(worst),
        human::count(share.count),
        human::count(worst.flows),
        human::percent(share.fraction),
        if of == total { "each time".to_owned() } else { format!("{} times of {}", human::count(of), human::count(total)) },
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
    let mut costs: Vec<_> = variants.iter().filter_map(|variant| Some((per_loss(variant)?, quoted(variant)))).collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, by) = costs.first()?;
    let (most, other) = costs.last()?;
    let least_bytes = human::bytes(*least);
    if costs.len() == 1 || least == most {
        return Some(format!("Each lost frame made {by} send {least_bytes} again on average."));
    }
    let ratio = if *least > 0.0 { format!(", {} as much", human::factor(most / least)) } else { String::new() };
    Some(format!(
        "Each lost frame made {by} send {least_bytes} again on average, and {other} {}{ratio}.",
        human::bytes(*most),
    ))
}

fn quoted(variant: &VariantSummary) -> String {
    format!("\"{}\"", variant.name)
}
