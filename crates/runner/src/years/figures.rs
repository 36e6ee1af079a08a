//! Years as pictures: a week like Fig. 15 of LinkGuardian's paper, distributions like its Fig. 16.

use wiremend_fleet::{Change, Moment, Outcome, Sample, Window, distribution};
use wiremend_report::plot::{Axis, Curve, Line, Plot, Scale, Unit};

/// Points of a curve: as many as can be told apart.
const POINTS: usize = 700;

/// What of a state is drawn over time.
#[derive(Clone, Copy)]
pub enum Over {
    /// The sum of loss rates over links in use.
    Penalty,
    /// Ways to the top, of the ToR that has the fewest.
    LeastPaths,
    /// Capacity, of the pod that has the least.
    LeastCapacity,
    /// Links that were taken out.
    Disabled,
}

impl Over {
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

    fn of(self, sample: &Sample) -> f64 {
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
pub fn week_of(window: Window) -> Window {
    let middle = u64::midpoint(window.begin.as_us(), window.end.as_us()) / Moment::DAY.as_us();
    let end = Moment::from_days(middle + 7).min(window.end);
    Window { begin: Moment::from_days(middle).max(window.begin), end }
}

/// How something went over time, for each policy.
pub fn over_time(over: Over, outcomes: &[Outcome], window: Window, what: &str) -> Plot {
    let curve = |outcome: &Outcome| Curve {
        name: outcome.policy.to_string(),
        points: thinned(&outcome.samples, window, over),
        line: Line::Straight,
    };
    Plot {
        title: format!("{}{what}", over.title()),
        description: "One curve for each policy, over days of the run.".to_owned(),
        x: Axis::new("day", Scale::Linear, Unit::Number)
            .with_range(window.begin.as_days(), window.end.as_days()),
        y: over.axis(),
        curves: outcomes.iter().map(curve).collect(),
    }
}

/// The last state of each of many short times, as a line that goes along and then up.
fn thinned(samples: &[Sample], window: Window, over: Over) -> Vec<(f64, f64)> {
    let length = (window.end.as_us() - window.begin.as_us()).max(1);
    let slot = |at: Moment| at.as_us().saturating_sub(window.begin.as_us()) * POINTS as u64 / length;
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut last_slot = None;
    let first = samples.partition_point(|sample| sample.at < window.begin).saturating_sub(1);
    for sample in samples[first.min(samples.len())..].iter().take_while(|sample| sample.at < window.end) {
        let point = (sample.at.max(window.begin).as_days(), over.of(sample));
        if last_slot == Some(slot(sample.at)) {
            points.pop();
        }
        last_slot = Some(slot(sample.at));
        points.push(point);
    }
    let ends = points.iter().skip(1).map(|next| next.0).chain([window.end.as_days()]);
    points.iter().zip(ends).flat_map(|((from, value), to)| [(*from, *value), (to, *value)]).collect()
}

/// What is distributed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Distributed {
    /// How many times less loss there is.
    Gain,
    /// How much less capacity the worst pod has.
    CapacityLost,
}

/// How often a gain, or a loss of capacity, is at most so much: over time, and over events.
pub fn distributions(of: Distributed, changes: &[(String, Vec<Change>)]) -> Plot {
    let value = |change: &Change| match of {
        Distributed::Gain => change.gain,
        Distributed::CapacityLost => change.capacity_lost.max(0.0),
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
    let (title, x) = match of {
        Distributed::Gain => {
            ("How many times less loss", Axis::new("gain in total penalty", Scale::Log, Unit::Number))
        }
        Distributed::CapacityLost => (
            "What protection takes of the worst pod's capacity",
            Axis::new("decrease in least capacity per pod", Scale::Linear, Unit::Percent),
        ),
    };
    Plot {
        title: title.to_owned(),
        description: "Cumulative distributions over a year, weighed by time and by event.".to_owned(),
        x,
        y: Axis::new("part", Scale::Linear, Unit::Percent).with_range(0.0, 1.0),
        curves,
    }
}
