//! Pacing at a constant rate.

use wiremend_units::{Rate, Time};

use super::{Algorithm, Controller, Pacer, PathProperties, SentPacket};

/// Spaces packets as a link of this rate would. At the port's rate it never delays a packet.
#[derive(Clone, Debug)]
pub struct FixedRate {
    pacer: Pacer,
}

impl FixedRate {
    /// Creates a controller that sends at `rate`, headers and gaps included.
    pub fn new(rate: Rate) -> Self {
        Self { pacer: Pacer::new(rate) }
    }

    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        self.pacer.rate()
    }
}

impl Algorithm for FixedRate {
    fn new_controller(&self, _path: &PathProperties) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Controller for FixedRate {
    #[inline]
    fn on_transmit(&mut self, now: Time, sent: SentPacket) {
        self.pacer.on_transmit(now, sent.wire_bytes);
    }

    #[inline]
    fn eligible(&self) -> Time {
        self.pacer.eligible()
    }

    fn sending_rate(&self) -> Option<Rate> {
        Some(self.rate())
    }
}

#[cfg(test)]
mod tests {
    use wiremend_units::Bytes;

    use super::*;

    #[test]
    fn packets_are_spaced_at_the_rate() {
        let mut control = FixedRate::new(Rate::gbps(100));
        control.on_transmit(Time::from_ns(1000), SentPacket::new(1106));
        assert_eq!(control.eligible(), Time::from_ps(1_088_480));
        control.on_transmit(control.eligible(), SentPacket::new(1106));
        control.on_transmit(control.eligible(), SentPacket::new(84));
        assert_eq!(control.eligible(), Time::from_ps(1_000_000 + 2 * 88_480 + 6_720));
        control.on_transmit(Time::from_ns(9000), SentPacket::new(84));
        assert_eq!(control.eligible(), Time::from_ps(9_006_720), "idle time is not saved up");
    }

    #[test]
    fn at_line_rate_the_port_is_never_delayed() {
        for rate in [Rate::gbps(3), Rate::gbps(100), Rate::from_bits_per_s(99_999_999_977)] {
            let mut control = FixedRate::new(rate);
            let mut port_free = Time::from_ns(5);
            for wire_bytes in (84..2000).step_by(7) {
                assert!(control.eligible() <= port_free);
                control.on_transmit(port_free, SentPacket::new(wire_bytes));
                port_free += rate.serialize(Bytes::new(wire_bytes as u64));
            }
        }
    }
}
