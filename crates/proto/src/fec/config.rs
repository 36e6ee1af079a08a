//! Configuration of an end: block size and timeouts.

use std::fmt;

use wiremend_units::Span;

/// Maximum frames and parities of a block: indices have 8 bits, and one value is unused.
const BLOCK_MAX: u16 = 255;

/// Configuration of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    code: Code,
    flush: Span,
    give_up: Span,
    order: DeliveryOrder,
}

impl Config {
    /// Blocks of this code, closed at the latest `flush` after their first frame. The receiver waits twice as
    /// long. A flush shorter than the transmission time of a block makes every block a short one.
    pub fn new(code: Code, flush: Span) -> Result<Self, ConfigError> {
        if flush == Span::ZERO {
            return Err(ConfigError::ZeroFlush);
        }
        let give_up = Span::from_ps(flush.as_ps().saturating_mul(2));
        Ok(Self { code, flush, give_up, order: DeliveryOrder::InOrder })
    }

    /// Sets the order of delivery.
    pub fn with_order(mut self, order: DeliveryOrder) -> Self {
        self.order = order;
        self
    }

    /// Sets how long the receiver holds frames. Parities may take as long as the flush plus the delay of a
    /// busy wire.
    pub fn with_give_up(mut self, give_up: Span) -> Result<Self, ConfigError> {
        if give_up <= self.flush {
            return Err(ConfigError::GiveUpTooShort { flush: self.flush, give_up });
        }
        self.give_up = give_up;
        Ok(self)
    }

    /// Code of a block.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Maximum time that a block stays open.
    pub fn flush(&self) -> Span {
        self.flush
    }

    /// Maximum time that a frame waits for an earlier one.
    pub fn give_up(&self) -> Span {
        self.give_up
    }

    /// Order of delivery.
    pub fn order(&self) -> DeliveryOrder {
        self.order
    }
}

/// Code of a block: (k, h).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    data: u8,
    parities: u8,
}

impl Code {
    /// Wharf's code up to a loss rate of 10⁻³: 4 % of the link (LG §4.7).
    pub const WHARF_25_1: Self = Self { data: 25, parities: 1 };
    /// Wharf's code at a loss rate of 10⁻²: 17 % of the link (LG §4.7).
    pub const WHARF_5_1: Self = Self { data: 5, parities: 1 };

    /// Blocks of `data` frames followed by `parities` parities.
    pub fn new(data: u16, parities: u16) -> Result<Self, ConfigError> {
        if data == 0 {
            return Err(ConfigError::NoData);
        }
        if parities == 0 {
            return Err(ConfigError::NoParity);
        }
        if data.saturating_add(parities) > BLOCK_MAX {
            return Err(ConfigError::LongBlock { data, parities });
        }
        Ok(Self { data: data as u8, parities: parities as u8 })
    }

    /// k: frames of a full block.
    pub const fn data(self) -> u8 {
        self.data
    }

    /// h: parities of every block.
    pub const fn parities(self) -> u8 {
        self.parities
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.data, self.parities)
    }
}

/// Order in which frames are delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryOrder {
    /// In the order sent.
    InOrder,
    /// On arrival; restored frames when they are restored.
    OnArrival,
}

/// Error of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// k is 0.
    NoData,
    /// h is 0.
    NoParity,
    /// k + h exceeds the index range.
    LongBlock {
        /// k.
        data: u16,
        /// h.
        parities: u16,
    },
    /// The flush timeout is 0.
    ZeroFlush,
    /// The receiver gives up before the sender flushes.
    GiveUpTooShort {
        /// Flush timeout of the sender.
        flush: Span,
        /// Timeout of the receiver.
        give_up: Span,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoData => f.write_str("a block has 0 frames: k is at least 1"),
            Self::NoParity => f.write_str("a block has 0 parities: h is at least 1"),
            Self::LongBlock { data, parities } => write!(
                f,
                "a block of {data} frames and {parities} parities is too long: k + h is at most {BLOCK_MAX}"
            ),
            Self::ZeroFlush => f.write_str("a flush time-out of 0 closes blocks before their first frame"),
            Self::GiveUpTooShort { flush, give_up } => write!(
                f,
                "a receiver time-out of {give_up} must be longer than the flush time-out of {flush}"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_codes_are_refused_with_the_bound() {
        let refused = |data, parities| Code::new(data, parities).unwrap_err().to_string();
        assert!(refused(0, 1).contains("k is at least 1"));
        assert!(refused(5, 0).contains("h is at least 1"));
        assert!(refused(254, 2).contains("254 frames and 2 parities"));
        assert!(refused(u16::MAX, u16::MAX).contains("at most 255"));
        assert_eq!(Code::new(25, 1), Ok(Code::WHARF_25_1));
        assert_eq!(Code::new(254, 1).unwrap().to_string(), "(254,1)");
    }

    #[test]
    fn receiver_waits_longer_than_the_flush() {
        assert_eq!(Config::new(Code::WHARF_5_1, Span::ZERO), Err(ConfigError::ZeroFlush));
        let config = Config::new(Code::WHARF_5_1, Span::from_us(10)).unwrap();
        assert_eq!(config.give_up(), Span::from_us(20));
        let error = config.with_give_up(Span::from_us(10)).unwrap_err().to_string();
        assert!(error.contains("longer"), "{error}");
        assert_eq!(config.with_give_up(Span::from_us(11)).unwrap().give_up(), Span::from_us(11));
    }
}
