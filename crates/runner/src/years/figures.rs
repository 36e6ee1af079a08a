//! Plots of years: a week like Fig. 15 of the LinkGuardian paper, distributions like its Fig. 16.

use wiremend_fleet::{
    FabricSample, GainInterval, PolicyOutcome, TimeWindow, TraceSpan, TraceTime, distribution,
};
use wiremend_report::plot::{Axis, Curve, Line, Plot, Scale, Unit};

/// Points per curve.
const POINTS: usize = 700;

/// Quantity of a fabric's state that is plotted over time.
#[derive(Clone, Copy)]
pub enum StateQuantity {
    /// Sum of the loss rates of links in use.
    Penalty,
    /// Paths to the top tier of the ToR switch that has the fewest.
    LeastPaths,
    /// Capacity of the pod that has the least.
    LeastCapacity,
    /// Disabled links.
    Disabled,
}

impl StateQuantity {
    fn axis(self) -> Axis {
        match self {
            Self::Penalty => Axis::new("total penalty", Scale::Log, Unit::Number),
            Self::LeastPaths => {
                Axis::new("least paths per ToR", Scale::Linear, Unit::Percent).with_range(0.4, 1.0)
            }
            Self::LeastCapacity => {
                Axis::new("least capacity per pod", Scale::Linear, Unit::Percent).with_range(0.8, 1.0)
            }
            Self::Disabled => Axis::new("links under repair", Scale::Linear, Unit::Number),
        }
    }

    fn value(self, sample: &FabricSample) -> f64 {
        match self {
            Self::Penalty => sample.penalty,
            Self::LeastPaths => sample.least_paths,
            Self::LeastCapacity => sample.least_capacity,
            Self::Disabled => f64::from(sample.disabled),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Penalty => "Total penalty",
            Self::LeastPaths => "Least paths per ToR",
            Self::LeastCapacity => "Least capacity per pod",
            Self::Disabled => "Links under repair",
        }
    }
}

/// A week in the middle of a window.
pub fn middle_week(window: TimeWindow) -> TimeWindow {
    let middle = u64::midpoint(window.begin.as_us(), window.end.as_us()) / TraceSpan::DAY.as_us();
    let end = TraceTime::from_days(middle + 7).min(window.end);
    TimeWindow { begin: TraceTime::from_days(middle).max(window.begin), end }
}

/// Plots a quantity over time, one curve per policy.
pub fn over_time(
    quantity: StateQuantity,
    outcomes: &[PolicyOutcome],
    window: TimeWindow,
    what: &str,
) -> Plot {
    let curve = |outcome: &PolicyOutcome| Curve {
        name: outcome.policy.to_string(),
        points: thinned(&outcome.samples, window, quantity),
        line: Line::Straight,
    };
    Plot {
        title: format!("{}{what}", quantity.title()),
        description: "One curve for each policy, over days of the run.".to_owned(),
        x: Axis::new("day", Scale::Linear, Unit::Number)
            .with_range(window.begin.as_days(), window.end.as_days()),
        y: quantity.axis(),
        curves: outcomes.iter().map(curve).collect(),
    }
}

/// Thins samples to the last one of each short interval, as a step curve.
fn thinned(samples: &[FabricSample], window: TimeWindow, quantity: StateQuantity) -> Vec<(f64, f64)> {
    let length = (window.end.as_us() - window.begin.as_us()).max(1);
    let item = |at: TraceTime| at.as_us().saturating_sub(window.begin.as_us()) * POINTS as u64 / length;
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut last_slot = None;
    let first = samples.partition_point(|sample| sample.at < window.begin).saturating_sub(1);
    for sample in samples[first.min(samples.len())..].iter().take_while(|sample| sample.at < window.end) {
        let point = (sample.at.max(window.begin).as_days(), quantity.value(sample));
        if last_slot == Some(item(sample.at)) {
            points.pop();
        }
        last_slot = Some(item(sample.at));
        points.push(point);
    }
    let ends = points.iter().skip(1).map(|next| next.0).chain([window.end.as_days()]);
    points.iter().zip(ends).flat_map(|((from, value), to)| [(*from, *value), (to, *value)]).collect()
}

/// Quantity whose distribution is plotted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ChangeQuantity {
    /// Factor by which the loss decreases.
    Gain,
    /// Decrease of the least capacity per pod.
    CapacityLost,
}

/// Plots distributions of a quantity, weighted by time and by event.
pub fn distributions(quantity: ChangeQuantity, changes: &[(String, Vec<GainInterval>)]) -> Plot {
    let value = |change: &GainInterval| match quantity {
        ChangeQuantity::Gain => change.gain,
        ChangeQuantity::CapacityLost => change.capacity_lost.max(0.0),
    };
    let curves = changes.iter().flat_map(|(name, changes)| {
        let by_time = distribution(changes.iter().map(|change| (value(change), change.lasts_us)), POINTS);
        let by_event = distribution(changes.iter().map(|change| (value(change), 1)), POINTS);
        [(by_time, "of the time"), (by_event, "of the events")].map(|(points, what)| Curve {
            name: format!("{name}, {what}"),
            points,
            line: Line::StepAfter,
        })
    });
    let curves: Vec<Curve> = curves.collect();
    let (title, x) = match quantity {
        ChangeQuantity::Gain => {
            ("Reduction of loss", Axis::new("gain in total penalty", Scale::Log, Unit::Number))
        }
        ChangeQuantity::CapacityLost => (
            "Capacity cost of protection in the worst pod",
            Axis::new("decrease in least capacity per pod", Scale::Linear, Unit::Percent),
        ),
    };
    Plot {
        title: title.to_owned(),
        description: "Cumulative distributions over a year, weighted by time and by event.".to_owned(),
        x,
        y: Axis::new("fraction", Scale::Linear, Unit::Percent).with_range(0.0, 1.0),
        curves,
    }
}
