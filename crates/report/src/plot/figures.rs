//! The plots of a report.

use wiremend_measure::{Percentile, SizeBin, TimeoutCause, VariantSummary};

use super::{Axis, Bar, Bars, Curve, Line, Plot, Scale, Unit};

/// Cumulative distribution of the flow completion time of each variant.
pub fn fct_distribution(variants: &[VariantSummary]) -> Plot {
    let curve = |variant: &VariantSummary| Curve {
        name: variant.name.clone(),
        points: variant.fct_cdf.iter().map(|point| (point.value as f64 / 1e3, point.at_most)).collect(),
        line: Line::StepAfter,
    };
    Plot {
        title: "Flow completion time".to_owned(),
        description: "Cumulative distribution of the completion time of each variant.".to_owned(),
        x: Axis::new("completion time", Scale::Log, Unit::TimeNs),
        y: Axis::new("flows", Scale::Linear, Unit::Percent).with_range(0.0, 1.0),
        curves: variants.iter().filter(|variant| variant.fct_ns.is_some()).map(curve).collect(),
    }
}

/// Completion time of the slowest flows: percentiles on an axis on which each further nine has the same
/// width.
pub fn fct_tail(variants: &[VariantSummary]) -> Plot {
    let curve = |variant: &VariantSummary| {
        // The slowest flow is drawn half a flow before 100 %, which this axis cannot show.
        let end = 1.0 - 0.5 / variant.finished.max(1) as f64;
        Curve {
            name: variant.name.clone(),
            points: variant
                .fct_cdf
                .iter()
                .map(|point| (point.at_most.min(end), point.value as f64 / 1e3))
                .collect(),
            line: Line::StepBefore,
        }
    };
    Plot {
        title: "The slowest flows".to_owned(),
        description: "Percentiles of the completion time of each variant, up to the slowest flow.".to_owned(),
        x: Axis::new("percentile of flows, from the fastest to the slowest", Scale::Tail, Unit::Percent),
        y: Axis::new("completion time", Scale::Log, Unit::TimeNs),
        curves: variants.iter().filter(|variant| variant.fct_ns.is_some()).map(curve).collect(),
    }
}

/// Slowdown of flows by their size, for one percentile: `None` if fewer than two bins carry it.
pub fn slowdown_by_size(variants: &[VariantSummary], percentile: Percentile, name: &str) -> Option<Plot> {
    let curve = |variant: &VariantSummary| {
        let point = |bin: &SizeBin| {
            // The geometric middle of the bin; the first one starts at 0.
            let middle = (bin.from_bytes.max(1) as f64 * bin.below_bytes as f64).sqrt();
            Some((middle, bin.slowdown.carried(percentile, bin.flows)?))
        };
        let points = variant.slowdown_by_size.iter().filter_map(point).collect();
        Curve { name: variant.name.clone(), points, line: Line::Marked }
    };
    let curves: Vec<_> = variants.iter().map(curve).filter(|curve| !curve.points.is_empty()).collect();
    // One size is no plot.
    curves.iter().any(|curve| curve.points.len() > 1).then(|| Plot {
        title: format!("Slowdown by size, {name}"),
        description: format!("The {name} of the slowdown in two bins of flow sizes for each decade."),
        x: Axis::new("flow size", Scale::Log, Unit::Bytes),
        y: Axis::new("slowdown", Scale::Log, Unit::Number),
        curves,
    })
}

/// Timeouts of each variant by cause.
pub fn timeout_causes(variants: &[VariantSummary]) -> Bars {
    let counts =
        |variant: &VariantSummary| TimeoutCause::ALL.map(|cause| variant.timeouts.get(cause)).to_vec();
    let part = |cause: TimeoutCause| match cause {
        TimeoutCause::TailPacket => "tail packet lost",
        TimeoutCause::TailAck => "tail ACK lost",
        TimeoutCause::Nak => "NAK lost",
        TimeoutCause::Retransmission => "retransmission lost",
        TimeoutCause::Other => "other",
    };
    Bars {
        title: "Timeouts by cause".to_owned(),
        description: "Number of retransmission timers that fired in each variant, by cause.".to_owned(),
        parts: TimeoutCause::ALL.map(|cause| part(cause).to_owned()).to_vec(),
        bars: variants
            .iter()
            .map(|variant| Bar { name: variant.name.clone(), counts: counts(variant) })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tests::assert_balanced;
    use crate::sample;

    #[test]
    fn figures_of_a_run_are_complete() {
        let variants = sample::summary().variants;
        let tail = fct_tail(&variants).svg();
        for (svg, labels) in [
            (fct_distribution(&variants).svg(), ["10 µs", "100 ms", "100 %"]),
            (tail, ["99.9 %", "10 µs", "go-back-N + 2 dummies"]),
            (timeout_causes(&variants).svg(), ["NAK lost", "120", "retransmission lost"]),
        ] {
            assert_balanced(&svg);
            for label in labels {
                assert!(svg.contains(&format!(">{label}<")), "{label} in {svg}");
            }
        }
    }

    #[test]
    fn a_variant_without_finished_flows_has_no_curve() {
        let mut variants = sample::summary().variants;
        variants[0].fct_ns = None;
        assert_eq!(fct_tail(&variants).curves.len(), 2);
    }
}
