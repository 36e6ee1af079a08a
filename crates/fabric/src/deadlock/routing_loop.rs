//! Conditions under which a routing loop becomes a deadlock: injection rate and time.

use std::fmt;
use std::num::NonZeroU8;
use std::str::FromStr;

use wiremend_units::{Bytes, Rate, Span};

/// A routing loop: packets circulate until their TTL expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoutingLoop {
    /// Number of switches, and of lanes; at least 1.
    pub switches: u32,
    /// Rate of its slowest lane.
    pub rate: Rate,
}

impl RoutingLoop {
    /// Returns the minimum injection rate in the fluid model of the PFC draft (§3.2): n lanes at rate B
    /// move nB, and each packet takes `ttl` hops, so at most nB/TTL leaves the loop.
    pub fn fluid_rate(&self, ttl: NonZeroU8) -> Rate {
        share(u128::from(self.rate.bits_per_s()) * u128::from(self.switches), ttl.get().into())
    }

    /// Returns the exact minimum injection rate. Each switch decrements the TTL and drops at 0, so a packet
    /// that enters with `ttl` crosses `ttl` lanes, the first of them ⌈TTL/n⌉ times. At rate r that lane
    /// carries r·⌈TTL/n⌉, at most B. More than B/⌈TTL/n⌉ cannot drain. With lanes of several rates, the
    /// slowest may be the first.
    pub fn exact_rate(&self, ttl: NonZeroU8) -> Rate {
        let rounds = u32::from(ttl.get()).div_ceil(self.switches);
        share(self.rate.bits_per_s().into(), rounds.into())
    }

    /// Returns the time until packets at the rate `injected` close the cycle of pauses; `None` if they
    /// drain.
    ///
    /// An ingress queue q is paused above α(m − m′), where m is the shared buffer and m′ its occupied part.
    /// With the loop's queue alone in its switch, m′ = q, so the pause starts at q = α(m − q), that is q =
    /// αm/(1 + α). All n switches must reach it, and the loop's content grows by the injected rate minus
    /// the drained rate:
    ///
    /// T = n · αm/(1 + α) / (r − B/⌈TTL/n⌉)
    ///
    /// The PFC draft (§3.3) names these quantities without a formula. The drained rate is the maximum, with
    /// no lane paused before the last one. Headroom and packets on the wire are ignored. The result is an
    /// estimate, not a bound.
    pub fn time_to_fill(&self, injected: Rate, ttl: NonZeroU8, alpha: Alpha, buffer: Bytes) -> Option<Span> {
        let excess = injected.bits_per_s().checked_sub(self.exact_rate(ttl).bits_per_s())?;
        let trapped_bits = u128::from(alpha.paused_at(buffer).bits()) * u128::from(self.switches);
        let ps = (trapped_bits * 1_000_000_000_000).checked_div(excess.into())?;
        Some(Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)))
    }
}

fn share(bits_per_s: u128, parts: u128) -> Rate {
    Rate::from_bits_per_s(u64::try_from(bits_per_s / parts).unwrap_or(u64::MAX).max(1))
}

/// The share α of the free buffer that one ingress queue may use: a fraction from 1/128 to 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alpha {
    num: u64,
    den: u64,
}

impl Alpha {
    /// Returns `num / den` in lowest terms, if it is in range.
    pub fn new(num: u64, den: u64) -> Option<Self> {
        let divisor = gcd(num, den).max(1);
        let (num, den) = (num / divisor, den / divisor);
        let (wide_num, wide_den) = (u128::from(num), u128::from(den));
        let is_within = den > 0 && wide_num * 128 >= wide_den && wide_num <= wide_den * 8;
        is_within.then_some(Self { num, den })
    }

    /// Returns the length at which a queue alone in a buffer pauses: αm/(1 + α).
    pub fn paused_at(self, buffer: Bytes) -> Bytes {
        let all = u128::from(self.num) + u128::from(self.den);
        Bytes::new((u128::from(buffer.get()) * u128::from(self.num) / all) as u64)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl fmt::Display for Alpha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.den == 1 { write!(f, "{}", self.num) } else { write!(f, "{}/{}", self.num, self.den) }
    }
}

impl FromStr for Alpha {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = match text.split_once('/') {
            Some((num, den)) => num.trim().parse().ok().zip(den.trim().parse().ok()),
            None => decimal(text),
        };
        parsed
            .and_then(|(num, den)| Self::new(num, den))
            .ok_or_else(|| "α is a fraction from 1/128 to 8, such as 1/16 or 0.5".to_owned())
    }
}

/// Parses a decimal: `0.25` is 1/4.
fn decimal(text: &str) -> Option<(u64, u64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || whole.is_empty() || fraction.len() > 9 {
        return None;
    }
    let den = 10_u64.pow(fraction.len() as u32);
    let part: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let num = whole.parse::<u64>().ok()?.checked_mul(den)?.checked_add(part)?;
    let common = common_divisor(num, den);
    Some((num / common, den / common))
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
