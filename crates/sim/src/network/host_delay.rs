//! The distribution of the time until a host's processor reacts.

use wiremend_scenario::{HostDelay as Table, HostDelayQuantiles};
use wiremend_units::Span;

/// Delays at the shares [`HostDelayQuantiles::PARTS`]; uniform between two of them.
#[derive(Clone, Debug)]
pub(crate) struct HostDelay {
    quantiles: [Span; HostDelayQuantiles::COUNT],
}

impl HostDelay {
    pub(crate) fn new(table: &Table) -> Self {
        let hundredth = |percent: u32| Span::from_ps(table.median.as_ps() * u64::from(percent) / 100);
        Self { quantiles: table.quantiles.percent().map(hundredth) }
    }

    /// Returns the delay for a random number.
    pub(crate) fn draw(&self, random: u64) -> Span {
        const WHOLE: u128 = 10_000;
        // The share below, in parts of 10 000, with a fraction of 64 bits.
        let share = u128::from(random) * WHOLE;
        let part = (share >> 64) as u64;
        let upper = HostDelayQuantiles::PARTS.iter().position(|above| part < *above);
        let Some(upper) = upper else { return self.quantiles[HostDelayQuantiles::COUNT - 1] };
        let [from, to] = [upper - 1, upper].map(|index| u128::from(HostDelayQuantiles::PARTS[index]) << 64);
        let [low, high] = [upper - 1, upper].map(|index| self.quantiles[index].as_ps());
        // Both fit 32 bits after the shift, so that products fit.
        let (passed, width) = ((share - from) >> 32, (to - from) >> 32);
        Span::from_ps(low + (u128::from(high - low) * passed / width) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_quantiles() {
        let quantiles = HostDelayQuantiles::default();
        let delay = HostDelay::new(&Table { median: Span::from_us(10), quantiles });
        let draws = 1_000_000;
        let mut drawn: Vec<Span> = (0..draws).map(|number| delay.draw(u64::MAX / draws * number)).collect();
        assert!(drawn.is_sorted());
        drawn.dedup();
        for (parts, percent) in HostDelayQuantiles::PARTS.into_iter().zip(quantiles.percent()) {
            let random = ((u128::from(parts) << 64) / 10_000) as u64 + 1;
            let exact = Span::from_ns(u64::from(*percent) * 100);
            let found = delay.draw(random);
            assert!(found.as_ps().abs_diff(exact.as_ps()) <= 1, "{parts}: {found} instead of {exact}");
        }
        assert_eq!(delay.draw(u64::MAX), delay.quantiles[HostDelayQuantiles::COUNT - 1]);
    }
}
