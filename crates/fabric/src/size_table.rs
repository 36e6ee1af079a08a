//! Distributions of flow sizes, given as points of their cumulative curve.

use std::fmt;

use wiremend_units::Bytes;

use crate::MESSAGE_BYTES_MAX;
use crate::row::{fields, is_blank, is_header, shown};
use crate::workloads::Workload;

/// The largest number of points of one table.
pub const POINTS_MAX: usize = 100_000;

/// A distribution of sizes. Between two points every whole number of bytes above the lower and up to the upper is
/// equally likely; two points of the same size make a step. What a first point above 0 % leaves below is of that
/// point's size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeTable {
    /// Stretches of positive probability, in rising order; the first starts at 0.
    stretches: Vec<Stretch>,
}

/// A point of the cumulative curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// A size.
    pub size: Bytes,
    /// How many percent of all flows are at most this large.
    pub percent: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stretch {
    /// Probability of all smaller sizes, of [`ONE`].
    start: u64,
    /// Probability of the stretch.
    width: u64,
    /// Sizes above this …
    low: u64,
    /// … and up to this; or exactly this, if both are equal.
    high: u64,
}

/// Certainty: 63 bits, so that it fits itself.
const ONE: u64 = 1 << 63;
/// Points are known to a billionth of a percent.
const STEPS_PER_PERCENT: f64 = 1e9;
const STEPS: u64 = 100_000_000_000;

impl SizeTable {
    /// A table from its points, in rising order. Errors name the row, from 1.
    pub fn from_points(points: &[Point]) -> Result<Self, BadSizeTable> {
        check(points).map_err(|(index, fault)| BadSizeTable { place: Place::Row(index + 1), fault })?;
        let scaled = |point: &Point| {
            let steps = (point.percent * STEPS_PER_PERCENT).round() as u64;
            (u128::from(steps) * u128::from(ONE) / u128::from(STEPS)) as u64
        };
        let (mut start, mut low) = (0, points[0].size.get());
        let mut stretches = Vec::new();
        for point in points {
            let (end, high) = (scaled(point), point.size.get());
            if end > start {
                stretches.push(Stretch { start, width: end - start, low, high });
            }
            (start, low) = (end, high);
        }
        Ok(Self { stretches })
    }

    /// A table from a text of lines `size_bytes,cumulative_percent`, with or without a line that says so; `#` starts
    /// a comment line. Errors name the line, from 1.
    pub fn parse_csv(text: &str) -> Result<Self, BadSizeTable> {
        let mut points = Vec::new();
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if is_blank(line) || (points.is_empty() && is_header(line, &COLUMNS)) {
                continue;
            }
            let place = Place::Line(index + 1);
            points.push(parse_point(line).map_err(|fault| BadSizeTable { place, fault })?);
            lines.push(index + 1);
            if points.len() > POINTS_MAX {
                return Err(BadSizeTable { place, fault: SizeFault::TooManyPoints });
            }
        }
        Self::from_points(&points).map_err(|error| match error.place {
            Place::Row(row) => {
                BadSizeTable { place: Place::Line(lines.get(row - 1).copied().unwrap_or(1)), ..error }
            }
            Place::Line(_) => error,
        })
    }

    /// A published table, by name; see [`WORKLOADS`](crate::WORKLOADS).
    pub fn named(name: &str) -> Option<&'static Self> {
        Workload::named(name).map(Workload::table)
    }

    /// The size that 64 random bits stand for: at least one byte.
    pub fn draw(&self, bits: u64) -> Bytes {
        let place = bits >> 1;
        let index = self.stretches.partition_point(|stretch| stretch.start <= place) - 1;
        let stretch = &self.stretches[index];
        let into = u128::from(place - stretch.start) + 1;
        let above = (into * u128::from(stretch.high - stretch.low)).div_ceil(u128::from(stretch.width));
        Bytes::new((stretch.low + above as u64).max(1))
    }

    /// The smallest and the largest size that can be drawn.
    pub fn range(&self) -> (Bytes, Bytes) {
        (self.draw(0), self.draw(u64::MAX))
    }

    /// The mean size of what is drawn, in bytes.
    pub fn mean(&self) -> f64 {
        let mean = |stretch: &Stretch| {
            if stretch.low == stretch.high {
                stretch.high.max(1) as f64
            } else {
                (stretch.low + stretch.high + 1) as f64 / 2.0
            }
        };
        self.stretches.iter().map(|stretch| stretch.probability() * mean(stretch)).sum()
    }

    /// The distribution as groups of sizes, for sums over it: sizes with the same number of packets up to
    /// `exact_packets`, beyond that groups whose packets differ by a factor of at most `ratio`. Means are exact.
    pub fn groups(&self, mtu: Bytes, exact_packets: u64, ratio: f64) -> Vec<SizeGroup> {
        assert!(mtu > Bytes::ZERO && ratio > 1.0, "a packet carries something, and groups grow");
        self.stretches.iter().flat_map(|stretch| stretch.groups(mtu.get(), exact_packets, ratio)).collect()
    }

    /// The mean of 1/S, where S is the number of packets of a flow: the mean share of a flow that is its last packet.
    /// It is not the chance that a packet is the last of its flow; that is one over the mean of S.
    pub fn mean_inverse_packets(&self, mtu: Bytes) -> f64 {
        assert!(mtu > Bytes::ZERO, "a packet carries something");
        self.stretches
            .iter()
            .map(|stretch| stretch.probability() * stretch.mean_inverse_packets(mtu.get()))
            .sum()
    }
}

/// Sizes of about the same number of packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizeGroup {
    /// Packets on average.
    pub packets: f64,
    /// Bytes on average.
    pub bytes: f64,
    /// The share of all flows.
    pub probability: f64,
}

impl Stretch {
    fn probability(&self) -> f64 {
        self.width as f64 / ONE as f64
    }

    fn groups(&self, mtu: u64, exact_packets: u64, ratio: f64) -> Vec<SizeGroup> {
        let low = if self.low == self.high { self.high.max(1) - 1 } else { self.low };
        let high = self.high.max(1);
        let mut groups = Vec::new();
        let mut from = low + 1;
        while from <= high {
            let packets = from.div_ceil(mtu);
            let most = if packets < exact_packets {
                packets
            } else {
                ((packets as f64 * ratio) as u64).max(packets)
            };
            let to = most.saturating_mul(mtu).min(high);
            groups.push(SizeGroup {
                packets: mean_packets(from, to, mtu),
                bytes: (from + to) as f64 / 2.0,
                probability: self.probability() * (to - from + 1) as f64 / (high - low) as f64,
            });
            from = to + 1;
        }
        groups
    }

    fn mean_inverse_packets(&self, mtu: u64) -> f64 {
        if self.low == self.high {
            return 1.0 / self.high.max(1).div_ceil(mtu) as f64;
        }
        // Sizes with the same number of packets: a part of the first and of the last packet's, all between.
        let (first, last) = ((self.low + 1).div_ceil(mtu), self.high.div_ceil(mtu));
        let sizes = (self.high - self.low) as f64;
        if first == last {
            return 1.0 / first as f64;
        }
        let in_first = (first * mtu - self.low) as f64 / first as f64;
        let in_last = (self.high - (last - 1) * mtu) as f64 / last as f64;
        (in_first + in_last + mtu as f64 * inverse_sum(first + 1, last - 1)) / sizes
    }
}

/// The mean number of packets of sizes from `from` to `to`, all equally likely.
fn mean_packets(from: u64, to: u64, mtu: u64) -> f64 {
    // Packets of all sizes up to `size`: full groups of `mtu` sizes, and a part of the last.
    let up_to = |size: u64| {
        let (full, rest) = (u128::from(size / mtu), u128::from(size % mtu));
        u128::from(mtu) * full * (full + 1) / 2 + rest * (full + 1)
    };
    (up_to(to) - up_to(from - 1)) as f64 / (to - from + 1) as f64
}

/// 1/from + … + 1/to; 0 if there is nothing between.
fn inverse_sum(from: u64, to: u64) -> f64 {
    // Term by term at first, then by the difference of two harmonic numbers (Euler–Maclaurin, to 1e-14 here).
    const TERMS_MAX: u64 = 1_000;
    let exact_to = to.min(from.saturating_add(TERMS_MAX));
    let exact: f64 = (from..=exact_to).map(|term| 1.0 / term as f64).sum();
    if exact_to >= to {
        return exact;
    }
    let (n, m) = (exact_to as f64, to as f64);
    exact + (m / n).ln() + (1.0 / m - 1.0 / n) / 2.0 - (1.0 / (m * m) - 1.0 / (n * n)) / 12.0
}

const COLUMNS: [&str; 2] = ["size_bytes", "cumulative_percent"];

fn parse_point(line: &str) -> Result<Point, SizeFault> {
    let values: Vec<&str> = fields(line).map(|field| field.text).collect();
    let [size, percent] = values[..] else { return Err(SizeFault::Fields(values.len())) };
    let bad = |what, text| SizeFault::NotANumber { what, text: shown(text) };
    Ok(Point {
        size: Bytes::new(size.parse().map_err(|_| bad(COLUMNS[0], size))?),
        percent: percent.parse().map_err(|_| bad(COLUMNS[1], percent))?,
    })
}

/// The first fault and the index of its point.
fn check(points: &[Point]) -> Result<(), (usize, SizeFault)> {
    let last = points.len().saturating_sub(1);
    if points.len() < 2 {
        return Err((last, SizeFault::TooFewPoints(points.len())));
    }
    if points.len() > POINTS_MAX {
        return Err((POINTS_MAX, SizeFault::TooManyPoints));
    }
    for (index, point) in points.iter().enumerate() {
        if !(0.0..=100.0).contains(&point.percent) {
            return Err((index, SizeFault::NotAPercentage(point.percent)));
        }
        if point.size.get() > MESSAGE_BYTES_MAX {
            return Err((index, SizeFault::TooLarge(point.size)));
        }
    }
    for (index, pair) in points.windows(2).enumerate() {
        if pair[1].size < pair[0].size {
            return Err((index + 1, SizeFault::SizeFalls { from: pair[0].size, to: pair[1].size }));
        }
        if pair[1].percent < pair[0].percent {
            return Err((index + 1, SizeFault::PercentFalls { from: pair[0].percent, to: pair[1].percent }));
        }
    }
    if points[last].percent < 100.0 {
        Err((last, SizeFault::EndsBelow(points[last].percent)))
    } else {
        Ok(())
    }
}

/// Why points are not a distribution, and where.
#[derive(Clone, PartialEq, Debug)]
pub struct BadSizeTable {
    /// The place.
    pub place: Place,
    /// The reason.
    pub fault: SizeFault,
}

/// A place in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A point, from 1.
    Row(usize),
    /// A line of a text, from 1.
    Line(usize),
}

/// Why points are not a distribution.
#[derive(Clone, PartialEq, Debug)]
pub enum SizeFault {
    /// A line with more or fewer than two values.
    Fields(usize),
    /// A value that is no number of its kind.
    NotANumber {
        /// The column.
        what: &'static str,
        /// As given, shortened.
        text: String,
    },
    /// A curve needs two points.
    TooFewPoints(usize),
    /// More than [`POINTS_MAX`].
    TooManyPoints,
    /// A percentage outside 0 to 100.
    NotAPercentage(f64),
    /// A size beyond [`MESSAGE_BYTES_MAX`].
    TooLarge(Bytes),
    /// A size below the one before.
    SizeFalls {
        /// The one before.
        from: Bytes,
        /// This one.
        to: Bytes,
    },
    /// A percentage below the one before.
    PercentFalls {
        /// The one before.
        from: f64,
        /// This one.
        to: f64,
    },
    /// The last point leaves larger sizes open.
    EndsBelow(f64),
}

impl fmt::Display for BadSizeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Row(row) => write!(f, "row {row}: {}", self.fault),
            Place::Line(line) => write!(f, "line {line}: {}", self.fault),
        }
    }
}

impl fmt::Display for SizeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields(count) => write!(f, "{count} values where two are needed: {}", COLUMNS.join(",")),
            Self::NotANumber { what, text } => write!(f, "{what} `{text}` is not a number"),
            Self::TooFewPoints(count) => write!(f, "a distribution of {count} points: at least 2"),
            Self::TooManyPoints => write!(f, "too many points: at most {POINTS_MAX}"),
            Self::NotAPercentage(percent) => write!(f, "{percent} % does not lie between 0 and 100"),
            Self::TooLarge(size) => {
                write!(f, "{} bytes are too large: at most {MESSAGE_BYTES_MAX}", size.get())
            }
            Self::SizeFalls { from, to } => {
                write!(f, "size {} follows {}: sizes never fall", to.get(), from.get())
            }
            Self::PercentFalls { from, to } => {
                write!(f, "{to} % follows {from} %: a cumulative share never falls")
            }
            Self::EndsBelow(percent) => write!(f, "the last point is at {percent} %: it must be at 100"),
        }
    }
}

impl std::error::Error for BadSizeTable {}
