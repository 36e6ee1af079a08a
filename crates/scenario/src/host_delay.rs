//! Time until the processor of a host reacts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::pattern::CheckError;
use crate::transport::Transport;
use crate::value::{self, Refusal, Scalar, SchemaOf, Value, as_value};

/// Time until the processor of a host reacts, drawn for each reaction. Without this table hosts react at once.
///
/// A segment of TCP waits until the stack processes it. With RDMA the NIC acknowledges and retransmits at once, and the
/// application waits: for the completion of its message, which ends the flow, and for messages that it receives. What
/// arrives while a reaction is pending is processed with it.
///
/// `median` is the only free value: the shape was measured on a kernel. `wiremend lab flows --host-delay-out FILE`
/// measures both on this machine, and writes this table.
///
/// ```toml
/// [transport.host-delay]
/// median = "5us"
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostDelay {
    /// Median, at most `1s`.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub median: Span,
    /// Shape: quantiles at 0, 10, 25, 50, 75, 90, 95, 99, 99.9 and 99.99 %, in per cent of the median. Between them the
    /// distribution is uniform; no delay is longer than the last. The default was measured with TCP over loopback:
    /// Linux 6.18, a virtual machine with two cores.
    #[serde(default)]
    #[schemars(extend("x-advanced" = true))]
    pub quantiles: HostDelayQuantiles,
}

/// Quantiles in per cent of the median, at [`HostDelayQuantiles::PARTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostDelayQuantiles([u32; Self::COUNT]);

impl HostDelayQuantiles {
    /// Number of quantiles.
    pub const COUNT: usize = 10;
    /// The shares of delays below each quantile, in parts of ten thousand.
    pub const PARTS: [u64; Self::COUNT] = [0, 1_000, 2_500, 5_000, 7_500, 9_000, 9_500, 9_900, 9_990, 9_999];
    /// The default.
    pub const MEASURED: Self = Self([18, 27, 89, 100, 104, 115, 121, 157, 210, 2_799]);
    const PERCENT_MAX: u32 = 100_000;

    /// Returns the quantiles in per cent of the median.
    pub fn percent(&self) -> &[u32; Self::COUNT] {
        &self.0
    }

    /// Returns the shape of sorted delays in any unit, and their median; `None` without delays, and if the median is 0.
    pub fn of_sorted(delays: &[u64]) -> Option<(Self, u64)> {
        let at = |parts: u64| {
            let place = (delays.len() as u64 * parts).div_ceil(10_000).saturating_sub(1);
            delays.get(place as usize).copied()
        };
        let median = at(5_000).filter(|median| *median > 0)?;
        let percent =
            |parts| Some(((at(parts)? * 100 + median / 2) / median).min(Self::PERCENT_MAX.into()) as u32);
        let mut quantiles = [0; Self::COUNT];
        for (quantile, parts) in quantiles.iter_mut().zip(Self::PARTS) {
            *quantile = percent(parts)?;
        }
        Some((Self(quantiles), median))
    }
}

impl Default for HostDelayQuantiles {
    fn default() -> Self {
        Self::MEASURED
    }
}

impl Value for HostDelayQuantiles {
    fn expected() -> String {
        format!(
            "{} ascending whole numbers up to {}, of which the fourth is 100",
            Self::COUNT,
            Self::PERCENT_MAX
        )
    }

    fn types() -> &'static [&'static str] {
        &["array"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let Scalar::List(list) = scalar else { return Err(Refusal::Type) };
        let number = |scalar: &Scalar| match scalar {
            Scalar::Integer(number) => {
                u32::try_from(*number).ok().filter(|percent| *percent <= Self::PERCENT_MAX)
            }
            _ => None,
        };
        let numbers: Option<Vec<u32>> = list.iter().map(number).collect();
        let quantiles = numbers.and_then(|numbers| <[u32; Self::COUNT]>::try_from(numbers).ok());
        match quantiles {
            Some(quantiles) if quantiles.is_sorted() && quantiles[3] == 100 => Ok(Self(quantiles)),
            _ => Err(format!("these are no quantiles of a delay; expected {}", Self::expected()).into()),
        }
    }

    fn write(&self) -> Scalar {
        Scalar::List(self.0.iter().map(|percent| Scalar::Integer((*percent).into())).collect())
    }
}

as_value!(HostDelayQuantiles);

/// Checks that the median is within its bounds.
pub(crate) fn check(transport: &Transport) -> Result<(), CheckError> {
    const MEDIAN_MAX: Span = Span::from_ms(1_000);
    match &transport.host_delay {
        Some(table) if table.median > MEDIAN_MAX => {
            Err((table.place, format!("a `median` of {} is too long; at most {MEDIAN_MAX}", table.median)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_measured_delays_is_relative_to_their_median() {
        let delays: Vec<u64> = (1..=10_000).map(|number| number * 20).collect();
        let (quantiles, median) = HostDelayQuantiles::of_sorted(&delays).unwrap();
        assert_eq!(median, 100_000);
        assert_eq!(quantiles.percent(), &[0, 20, 50, 100, 150, 180, 190, 198, 200, 200]);
        assert_eq!(HostDelayQuantiles::of_sorted(&[]), None);
        assert_eq!(HostDelayQuantiles::of_sorted(&[0, 0, 0]), None);
    }
}
