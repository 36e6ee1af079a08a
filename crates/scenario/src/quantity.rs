//! Numbers: quantities with a unit, bounded integers, probabilities and limits.

use std::fmt::Display;
use std::str::FromStr;

use schemars::Schema;
use wiremend_units::{Bytes, Rate, Span, Time, parse_probability};

use crate::value::{Refusal, Scalar, Value, as_value};

/// Longest time in a scenario, so that sums of times fit 64 bits: a million seconds.
const TIME_MAX: Span = Span::from_ps(1_000_000_000_000_000_000);

/// Largest size in a scenario: 10¹⁵ bytes, whose bits fit 64 bits.
const BYTES_MAX: Bytes = Bytes::new(1_000_000_000_000_000);

/// Highest rate in a scenario: the shortest frame still takes several picoseconds.
const RATE_MAX: Rate = Rate::from_bits_per_s(100_000_000_000_000);

impl Value for Rate {
    fn expected() -> String {
        "a rate such as \"100Gbps\"".to_owned()
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        bounded(scalar.text()?, &RATE_MAX)
    }

    fn write(&self) -> Scalar {
        let units =
            [("Tbps", 1_000_000_000_000), ("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000)];
        exact(self.bits_per_s(), &units, "bps")
    }
}

impl Value for Span {
    fn expected() -> String {
        "a time such as \"1us\"".to_owned()
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        bounded(scalar.text()?, &TIME_MAX)
    }

    fn write(&self) -> Scalar {
        if *self == Self::ZERO {
            return Scalar::Text("0ns".to_owned());
        }
        let units = [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000)];
        exact(self.as_ps(), &units, "ps")
    }
}

impl Value for Time {
    fn expected() -> String {
        "a time since the start of the run such as \"1ms\"".to_owned()
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        Span::read(scalar).map(|since_start| Self::from_ps(since_start.as_ps()))
    }

    fn write(&self) -> Scalar {
        Span::from_ps(self.as_ps()).write()
    }
}

impl Value for Bytes {
    fn expected() -> String {
        "a size such as \"64KiB\" or \"1MB\"".to_owned()
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        bounded(scalar.text()?, &BYTES_MAX)
    }

    fn write(&self) -> Scalar {
        let units =
            [("GB", 1_000_000_000), ("MiB", 1 << 20), ("MB", 1_000_000), ("KiB", 1 << 10), ("kB", 1_000)];
        exact(self.get(), &units, "B")
    }
}

fn bounded<T>(text: &str, max: &T) -> Result<T, Refusal>
where
    T: FromStr<Err: Display> + PartialOrd + Display,
{
    let value = text.parse::<T>()?;
    if value > *max { Err(format!("`{text}` is too large; at most {max}").into()) } else { Ok(value) }
}

/// Writes the number in the largest unit that leaves no remainder.
fn exact(number: u64, units: &[(&str, u64)], base: &str) -> Scalar {
    let fitting = units.iter().find(|(_, size)| number >= *size && number.is_multiple_of(*size));
    let (name, size) = fitting.copied().unwrap_or((base, 1));
    Scalar::Text(format!("{}{name}", number / size))
}

/// An integer from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Within<T, const MIN: u64, const MAX: u64>(T);

impl<T: Copy + TryFrom<u64> + Into<u64>, const MIN: u64, const MAX: u64> Within<T, MIN, MAX> {
    /// Returns the number if it is in the range.
    pub fn new(number: T) -> Option<Self> {
        (MIN..=MAX).contains(&number.into()).then_some(Self(number))
    }

    /// Returns a number that is in the range.
    ///
    /// # Panics
    /// If it is not.
    pub(crate) fn fixed(number: T) -> Self {
        Self::new(number).expect("a number in its range")
    }

    /// Returns the number.
    pub fn get(self) -> T {
        self.0
    }
}

impl<T: Copy + TryFrom<u64> + Into<u64>, const MIN: u64, const MAX: u64> Value for Within<T, MIN, MAX> {
    fn expected() -> String {
        format!("a whole number from {MIN} to {MAX}")
    }

    fn types() -> &'static [&'static str] {
        &["integer"]
    }

    fn schema() -> Schema {
        schemars::json_schema!({ "title": Self::expected(), "type": "integer", "minimum": MIN, "maximum": MAX })
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let Scalar::Integer(number) = *scalar else { return Err(Refusal::Type) };
        let narrow = u64::try_from(number).ok().and_then(|number| T::try_from(number).ok());
        let within = narrow.and_then(Self::new);
        within.ok_or_else(|| format!("{number} is out of range; expected {}", Self::expected()).into())
    }

    fn write(&self) -> Scalar {
        Scalar::Integer(self.0.into().into())
    }
}

as_value!(Within<T, MIN, MAX>, T: Copy + TryFrom<u64> + Into<u64>, const MIN: u64, const MAX: u64);

/// A probability from 0 to 1, written as a number or as `"1e-4"` or `"1/1024"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// Returns a constant probability.
    pub(crate) const fn fixed(value: f64) -> Self {
        assert!(0.0 <= value && value <= 1.0);
        Self(value)
    }

    /// Returns the number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Value for Probability {
    fn expected() -> String {
        "a probability from 0 to 1 such as 0.001, \"1e-4\" or \"1/256\"".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["number", "string"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        Ok(Self(parse_probability(&number_text(scalar)?)?))
    }

    fn write(&self) -> Scalar {
        Scalar::Float(self.0)
    }
}

as_value!(Probability);

/// A load: payload bytes relative to the capacity of the host's link. Above 0; above 1, queues grow without
/// bound.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Load(f64);

impl Load {
    const MAX: f64 = 2.0;

    /// Returns the fraction.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Value for Load {
    fn expected() -> String {
        format!("a load above 0 and at most {} such as 0.5", Self::MAX)
    }

    fn types() -> &'static [&'static str] {
        &["number", "string"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let text = number_text(scalar)?;
        match text.trim().parse::<f64>() {
            Ok(load) if load > 0.0 && load <= Self::MAX => Ok(Self(load)),
            Ok(_) => Err(format!("a load of {text} is out of range; expected {}", Self::expected()).into()),
            Err(_) => Err(Refusal::Type),
        }
    }

    fn write(&self) -> Scalar {
        Scalar::Float(self.0)
    }
}

as_value!(Load);

/// Factor of a switch's free memory that one port and class may use.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Alpha(f64);

impl Alpha {
    const MIN: f64 = 1.0 / 128.0;
    const MAX: f64 = 8.0;
    const PARTS: f64 = 65_536.0;

    /// Returns the factor in units of 1/65536, rounded.
    pub fn parts(self) -> u32 {
        (self.0 * Self::PARTS).round() as u32
    }
}

impl Default for Alpha {
    fn default() -> Self {
        Self(1.0 / 8.0)
    }
}

impl Value for Alpha {
    fn expected() -> String {
        "a factor from 1/128 to 8, the range that switches offer, such as 0.5 or \"1/8\"".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["number", "string"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let text = number_text(scalar)?;
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| Refusal::Type);
        let factor = match text.split_once('/') {
            Some((above, below)) => number(above)? / number(below)?,
            None => number(&text)?,
        };
        if (Self::MIN..=Self::MAX).contains(&factor) {
            return Ok(Self(factor));
        }
        Err(format!("an alpha of {text} is out of range; expected {}", Self::expected()).into())
    }

    fn write(&self) -> Scalar {
        Scalar::Float(self.0)
    }
}

as_value!(Alpha);

/// Mean length of a burst of losses, in frames: at least 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct BurstLength(f64);

impl BurstLength {
    const MAX: f64 = 1e9;

    /// Returns the number of frames.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Value for BurstLength {
    fn expected() -> String {
        "a number of frames from 1 to 1e9 such as 4.5".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["number", "string"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let text = number_text(scalar)?;
        match text.trim().parse::<f64>() {
            Ok(frames) if (1.0..=Self::MAX).contains(&frames) => Ok(Self(frames)),
            Ok(_) => {
                Err(format!("a burst of {text} frames is out of range; expected {}", Self::expected()).into())
            }
            Err(_) => Err(Refusal::Type),
        }
    }

    fn write(&self) -> Scalar {
        Scalar::Float(self.0)
    }
}

as_value!(BurstLength);

fn number_text(scalar: &Scalar) -> Result<String, Refusal> {
    match scalar {
        Scalar::Integer(number) => Ok(number.to_string()),
        Scalar::Float(number) => Ok(number.to_string()),
        Scalar::Text(text) => Ok(text.clone()),
        Scalar::List(_) => Err(Refusal::Type),
    }
}

/// An upper bound, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Limit<T> {
    /// `"unlimited"`.
    #[default]
    Unlimited,
    /// At most this.
    Max(T),
}

const UNLIMITED: &str = "unlimited";

impl<T: Copy> Limit<T> {
    /// Returns the bound, if there is one.
    pub fn max(self) -> Option<T> {
        match self {
            Self::Unlimited => None,
            Self::Max(max) => Some(max),
        }
    }
}

impl<T: Value> Value for Limit<T> {
    fn expected() -> String {
        format!("\"{UNLIMITED}\" or {}", T::expected())
    }

    fn types() -> &'static [&'static str] {
        if T::types() == ["string"] { &["string"] } else { &["integer", "string"] }
    }

    fn names() -> &'static [&'static str] {
        &[UNLIMITED]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Text(text) if text == UNLIMITED => Ok(Self::Unlimited),
            scalar => T::read(scalar).map(Self::Max),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::Unlimited => Scalar::Text(UNLIMITED.to_owned()),
            Self::Max(max) => max.write(),
        }
    }
}

as_value!(Limit<T>, T: Value);

/// Sending rate of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Pace {
    /// `"line"`: the rate of the host's link.
    #[default]
    Line,
    /// A fixed rate.
    Fixed(Rate),
}

impl Value for Pace {
    fn expected() -> String {
        format!("\"line\" or {}", Rate::expected())
    }

    fn names() -> &'static [&'static str] {
        &["line"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Text(text) if text == "line" => Ok(Self::Line),
            scalar => Rate::read(scalar).map(Self::Fixed),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::Line => Scalar::Text("line".to_owned()),
            Self::Fixed(rate) => rate.write(),
        }
    }
}

as_value!(Pace);
