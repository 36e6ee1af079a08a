//! Distributions of flow sizes, given by points of the cumulative distribution.

use std::collections::BTreeMap;
use std::fmt;

use wiremend_units::Bytes;

use crate::MESSAGE_BYTES_MAX;
use crate::csv_line::{excerpt, fields, is_blank, is_header};
use crate::workloads::Workload;

/// Maximum number of points of a table.
pub const POINTS_MAX: usize = 100_000;

/// A distribution of sizes. Between two points, every integer above the lower and up to the upper size is
/// equally likely. Two points with the same size make a step. If the first point is above 0 %, that share
/// has the size of the first point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeTable {
    /// Segments with positive probability, ascending; the first starts at 0.
    segments: Vec<Segment>,
}

/// A point of the cumulative distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizePoint {
    /// A size.
    pub size: Bytes,
    /// Percentage of flows up to this size.
    pub percent: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Segment {
    /// Probability of all smaller sizes, in units of 1/[`ONE`].
    start: u64,
    /// Probability of the segment.
    width: u64,
    /// Lower end of the sizes, excluded.
    low: u64,
    /// Upper end of the sizes, included; the only size if both ends are equal.
    high: u64,
}

/// Probability 1, as a 63-bit number.
const ONE: u64 = 1 << 63;
/// Resolution of points: a billionth of a percent.
const STEPS_PER_PERCENT: f64 = 1e9;
const STEPS: u64 = 100_000_000_000;

impl SizeTable {
    /// Creates a table from ascending points. Errors contain the row, from 1.
    pub fn from_points(points: &[SizePoint]) -> Result<Self, BadSizeTable> {
        check(points)
            .map_err(|(index, fault)| BadSizeTable { place: TablePosition::Row(index + 1), fault })?;
        let scaled = |point: &SizePoint| {
            let steps = (point.percent * STEPS_PER_PERCENT).round() as u64;
            (u128::from(steps) * u128::from(ONE) / u128::from(STEPS)) as u64
        };
        let (mut start, mut low) = (0, points[0].size.get());
        let mut segments = Vec::new();
        for point in points {
            let (end, high) = (scaled(point), point.size.get());
            if end > start {
                segments.push(Segment { start, width: end - start, low, high });
            }
            (start, low) = (end, high);
        }
        Ok(Self { segments })
    }

    /// Parses lines of `size_bytes,cumulative_percent`, with an optional header line; `#` starts a comment line.
    /// Errors contain the line, from 1.
    pub fn parse_csv(text: &str) -> Result<Self, BadSizeTable> {
        let mut points = Vec::new();
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if is_blank(line) || (points.is_empty() && is_header(line, &COLUMNS)) {
                continue;
            }
            let place = TablePosition::Line(index + 1);
            points.push(parse_point(line).map_err(|fault| BadSizeTable { place, fault })?);
            lines.push(index + 1);
            if points.len() > POINTS_MAX {
                return Err(BadSizeTable { place, fault: SizeFault::TooManyPoints });
            }
        }
        Self::from_points(&points).map_err(|error| match error.place {
            TablePosition::Row(row) => {
                BadSizeTable { place: TablePosition::Line(lines.get(row - 1).copied().unwrap_or(1)), ..error }
            }
            TablePosition::Line(_) => error,
        })
    }

    /// Returns a published table by name; see [`WORKLOADS`](crate::WORKLOADS).
    pub fn named(name: &str) -> Option<&'static Self> {
        Workload::named(name).map(Workload::table)
    }

    /// Maps 64 random bits to a size of at least one byte.
    pub fn draw(&self, bits: u64) -> Bytes {
        let place = bits >> 1;
        let index = self.segments.partition_point(|segment| segment.start <= place) - 1;
        let segment = &self.segments[index];
        let into = u128::from(place - segment.start) + 1;
        let above = (into * u128::from(segment.high - segment.low)).div_ceil(u128::from(segment.width));
        Bytes::new((segment.low + above as u64).max(1))
    }

    /// Returns the smallest and the largest size that can be drawn.
    pub fn range(&self) -> (Bytes, Bytes) {
        (self.draw(0), self.draw(u64::MAX))
    }

    /// Returns the mean drawn size in bytes.
    pub fn mean(&self) -> f64 {
        let mean = |segment: &Segment| {
            if segment.low == segment.high {
                segment.high.max(1) as f64
            } else {
                (segment.low + segment.high + 1) as f64 / 2.0
            }
        };
        self.segments.iter().map(|segment| segment.probability() * mean(segment)).sum()
    }

    /// Returns the distribution as groups of sizes, for sums over it. Sizes up to `exact_packets` packets
    /// are grouped by their number of packets; larger groups span at most a factor of `ratio`. Means are
    /// exact.
    pub fn groups(&self, mtu: Bytes, exact_packets: u64, ratio: f64) -> Vec<SizeGroup> {
        assert!(mtu > Bytes::ZERO && ratio > 1.0, "the MTU is positive and groups grow");
        self.segments.iter().flat_map(|segment| segment.groups(mtu.get(), exact_packets, ratio)).collect()
    }

    /// Returns the same with groups of similar size merged: a table of many points has many small groups.
    pub fn merged_groups(&self, mtu: Bytes, exact_packets: u64, ratio: f64) -> Vec<SizeGroup> {
        let exact = exact_packets as f64;
        let mut sums: BTreeMap<u64, SizeGroup> = BTreeMap::new();
        for group in self.groups(mtu, exact_packets, ratio) {
            let place = if group.packets <= exact {
                group.packets.round()
            } else {
                exact + ((group.packets / exact).ln() / ratio.ln()).ceil()
            };
            let empty = SizeGroup { packets: 0.0, bytes: 0.0, probability: 0.0 };
            let sum = sums.entry(place as u64).or_insert(empty);
            sum.probability += group.probability;
            sum.packets += group.probability * group.packets;
            sum.bytes += group.probability * group.bytes;
        }
        let mean = |sum: SizeGroup| SizeGroup {
            packets: sum.packets / sum.probability,
            bytes: sum.bytes / sum.probability,
            ..sum
        };
        sums.into_values().filter(|sum| sum.probability > 0.0).map(mean).collect()
    }

    /// Returns the mean of 1/S, where S is the number of packets of a flow: the mean share of the last
    /// packet in its flow. This differs from the probability that a packet is the last of its flow, which
    /// is one over the mean of S.
    pub fn mean_inverse_packets(&self, mtu: Bytes) -> f64 {
        assert!(mtu > Bytes::ZERO, "the MTU is positive");
        self.segments
            .iter()
            .map(|segment| segment.probability() * segment.mean_inverse_packets(mtu.get()))
            .sum()
    }
}

/// A group of sizes with about the same number of packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizeGroup {
    /// Mean number of packets.
    pub packets: f64,
    /// Mean size in bytes.
    pub bytes: f64,
    /// Share of all flows.
    pub probability: f64,
}

impl Segment {
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
        // Sizes with the same number of packets: part of the first and last number, all between.
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

/// Returns the mean number of packets of sizes from `from` to `to`, all equally likely.
fn mean_packets(from: u64, to: u64, mtu: u64) -> f64 {
    // Packets of all sizes up to `size`: full groups of `mtu` sizes, and part of the last group.
    let up_to = |size: u64| {
        let (full, rest) = (u128::from(size / mtu), u128::from(size % mtu));
        u128::from(mtu) * full * (full + 1) / 2 + rest * (full + 1)
    };
    (up_to(to) - up_to(from - 1)) as f64 / (to - from + 1) as f64
}

/// Returns 1/from + … + 1/to; 0 for an empty range.
fn inverse_sum(from: u64, to: u64) -> f64 {
    // First terms one by one, then the difference of two harmonic numbers (Euler–Maclaurin, error 1e-14).
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

fn parse_point(line: &str) -> Result<SizePoint, SizeFault> {
    let values: Vec<&str> = fields(line).map(|field| field.text).collect();
    let [size, percent] = values[..] else { return Err(SizeFault::Fields(values.len())) };
    let bad = |what, text| SizeFault::NotANumber { what, text: excerpt(text) };
    Ok(SizePoint {
        size: Bytes::new(size.parse().map_err(|_| bad(COLUMNS[0], size))?),
        percent: percent.parse().map_err(|_| bad(COLUMNS[1], percent))?,
    })
}

/// Returns the first fault and the index of its point.
fn check(points: &[SizePoint]) -> Result<(), (usize, SizeFault)> {
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

/// Why points are not a distribution.
#[derive(Clone, PartialEq, Debug)]
pub struct BadSizeTable {
    /// Position of the fault.
    pub place: TablePosition,
    /// Reason.
    pub fault: SizeFault,
}

/// A position in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TablePosition {
    /// A point, from 1.
    Row(usize),
    /// A line of a text, from 1.
    Line(usize),
}

/// Why points are not a distribution.
#[derive(Clone, PartialEq, Debug)]
pub enum SizeFault {
    /// A line without exactly two values.
    Fields(usize),
    /// A value that is not a number.
    NotANumber {
        /// The column.
        what: &'static str,
        /// The value, shortened.
        text: String,
    },
    /// Fewer than two points.
    TooFewPoints(usize),
    /// More than [`POINTS_MAX`] points.
    TooManyPoints,
    /// A percentage outside 0 to 100.
    NotAPercentage(f64),
    /// A size above [`MESSAGE_BYTES_MAX`].
    TooLarge(Bytes),
    /// A size below the previous one.
    SizeFalls {
        /// Previous size.
        from: Bytes,
        /// This size.
        to: Bytes,
    },
    /// A percentage below the previous one.
    PercentFalls {
        /// Previous percentage.
        from: f64,
        /// This percentage.
        to: f64,
    },
    /// The last point is below 100 %.
    EndsBelow(f64),
}

impl fmt::Display for BadSizeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            TablePosition::Row(row) => write!(f, "row {row}: {}", self.fault),
            TablePosition::Line(line) => write!(f, "line {line}: {}", self.fault),
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
