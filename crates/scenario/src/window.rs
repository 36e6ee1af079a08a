//! How many packets of a connection may be unacknowledged.

use crate::quantity::Within;
use crate::value::{Refusal, Scalar, Value, as_value};

/// Number of packets that may be unacknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Window {
    /// `"bdp"`: one bandwidth-delay product.
    #[default]
    Bdp,
    /// `"paper"`: as in the paper of the recovery scheme.
    Paper,
    /// `"unlimited"`.
    Unlimited,
    /// This number.
    Packets(WindowPackets),
}

/// A window in packets.
pub type WindowPackets = Within<u32, 1, 8_388_607>;

const NAMES: &[&str] = &["bdp", "paper", "unlimited"];

impl Value for Window {
    fn expected() -> String {
        format!("\"bdp\", \"paper\", \"unlimited\" or {}", WindowPackets::expected())
    }

    fn types() -> &'static [&'static str] {
        &["integer", "string"]
    }

    fn names() -> &'static [&'static str] {
        NAMES
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Text(text) => match text.as_str() {
                "bdp" => Ok(Self::Bdp),
                "paper" => Ok(Self::Paper),
                "unlimited" => Ok(Self::Unlimited),
                _ => Err(Refusal::Type),
            },
            scalar => WindowPackets::read(scalar).map(Self::Packets),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::Bdp => Scalar::Text(NAMES[0].to_owned()),
            Self::Paper => Scalar::Text(NAMES[1].to_owned()),
            Self::Unlimited => Scalar::Text(NAMES[2].to_owned()),
            Self::Packets(packets) => packets.write(),
        }
    }
}

as_value!(Window);
