//! What an end goes by: how long blocks are, and how long anything waits.

use std::fmt;

use wiremend_units::Span;

/// The most frames of a block, parities included: an index has 8 bits, and one value stays free.
const BLOCK_MAX: u16 = 255;

/// What an end goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    code: Code,
    flush: Span,
    give_up: Span,
    order: Order,
}

impl Config {
    /// Blocks of this shape, closed at the latest `flush` after their first frame. A receiver waits twice as long for what
    /// may still be restored. A flush shorter than a block takes on a busy link makes every block a short one.
    pub fn new(code: Code, flush: Span) -> Result<Self, ConfigError> {
        if flush == Span::ZERO {
            return Err(ConfigError::NoFlush);
        }
        let give_up = Span::from_ps(flush.as_ps().saturating_mul(2));
        Ok(Self { code, flush, give_up, order: Order::Kept })
    }

    /// The same, with frames handed on in this order.
    pub fn with_order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// The same, with a receiver that holds frames for so long at most. The parities that could help may take as long as
    /// the flush and the way across a busy wire.
    pub fn with_give_up(mut self, give_up: Span) -> Result<Self, ConfigError> {
        if give_up <= self.flush {
            return Err(ConfigError::Hasty { flush: self.flush, give_up });
        }
        self.give_up = give_up;
        Ok(self)
    }

    /// The shape of blocks.
    pub fn code(&self) -> Code {
        self.code
    }

    /// How long a block stays open at most.
    pub fn flush(&self) -> Span {
        self.flush
    }

    /// How long a frame waits for an earlier one at most.
    pub fn give_up(&self) -> Span {
        self.give_up
    }

    /// In which order frames are handed on.
    pub fn order(&self) -> Order {
        self.order
    }
}

/// The shape of a block: (k, h).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    data: u8,
    parities: u8,
}

impl Code {
    /// What Wharf uses up to a loss of 10⁻³: 4 % of the link (LG §4.7).
    pub const WHARF_25_1: Self = Self { data: 25, parities: 1 };
    /// What Wharf uses at a loss of 10⁻²: 17 % of the link (LG §4.7).
    pub const WHARF_5_1: Self = Self { data: 5, parities: 1 };

    /// Blocks of `data` frames and `parities` behind them.
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

    /// k: frames in a block that is full.
    pub const fn data(self) -> u8 {
        self.data
    }

    /// h: parities behind every block.
    pub const fn parities(self) -> u8 {
        self.parities
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.data, self.parities)
    }
}

/// In which order frames are handed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// As they were sent.
    Kept,
    /// At once; restored ones when they are.
    AsTheyCome,
}

/// Why a configuration cannot work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// k of 0.
    NoData,
    /// h of 0.
    NoParity,
    /// k + h beyond what an index can tell apart.
    LongBlock {
        /// k.
        data: u16,
        /// h.
        parities: u16,
    },
    /// Blocks that close before their first frame.
    NoFlush,
    /// A receiver that does not wait for the sender's flush.
    Hasty {
        /// The sender's.
        flush: Span,
        /// The receiver's.
        give_up: Span,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoData => f.write_str("a block of no frame protects nothing: k is at least 1"),
            Self::NoParity => f.write_str("a block without parity restores nothing: h is at least 1"),
            Self::LongBlock { data, parities } => write!(
                f,
                "a block of {data} frames and {parities} parities is too long: k + h is at most {BLOCK_MAX}"
            ),
            Self::NoFlush => f.write_str("a flush time-out of 0 closes blocks before they begin"),
            Self::Hasty { flush, give_up } => write!(
                f,
                "a receiver that gives up after {give_up} does not wait for a flush after {flush}: it must be longer"
            ),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_cannot_work_are_refused_with_the_bound() {
        let refused = |data, parities| Code::new(data, parities).unwrap_err().to_string();
        assert!(refused(0, 1).contains("k is at least 1"));
        assert!(refused(5, 0).contains("h is at least 1"));
        assert!(refused(254, 2).contains("254 frames and 2 parities"));
        assert!(refused(u16::MAX, u16::MAX).contains("at most 255"));
        assert_eq!(Code::new(25, 1), Ok(Code::WHARF_25_1));
        assert_eq!(Code::new(254, 1).unwrap().to_string(), "(254,1)");
    }

    #[test]
    fn a_receiver_outwaits_the_sender() {
        assert_eq!(Config::new(Code::WHARF_5_1, Span::ZERO), Err(ConfigError::NoFlush));
        let config = Config::new(Code::WHARF_5_1, Span::from_us(10)).unwrap();
        assert_eq!(config.give_up(), Span::from_us(20));
        let error = config.with_give_up(Span::from_us(10)).unwrap_err().to_string();
        assert!(error.contains("longer"), "{error}");
        assert_eq!(config.with_give_up(Span::from_us(11)).unwrap().give_up(), Span::from_us(11));
    }
}
