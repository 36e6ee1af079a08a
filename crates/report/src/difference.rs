//! The largest difference between variants.

use wiremend_measure::{Headline, VariantSummary};

use crate::human;

/// Smallest factor between two variants that is reported.
pub(crate) const NOTABLE: f64 = 1.5;

/// Two variants and the completion time or slowdown in which they differ most.
pub(crate) struct Difference<'a> {
    pub(crate) headline: Headline,
    pub(crate) low: &'a VariantSummary,
    pub(crate) high: &'a VariantSummary,
    ratio: f64,
}

impl<'a> Difference<'a> {
    /// The largest ratio between any two variants in any of these numbers, which all variants must have. Over several
    /// seeds, a ratio of numbers whose intervals overlap counts as 1.
    pub(crate) fn largest(variants: &[&'a VariantSummary], headlines: &[Headline]) -> Option<Self> {
        let of_one = |headline: &Headline| {
            let value = |variant: &VariantSummary| variant.headline(*headline);
            let mut valued = variants.iter().map(|variant| Some((value(variant)?, *variant)));
            let mut all = valued.by_ref().collect::<Option<Vec<_>>>()?;
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            let ((least, low), (most, high)) = (*all.first()?, *all.last()?);
            let ratio = if are_apart(low, high, *headline) && least > 0.0 { most / least } else { 1.0 };
            Some(Self { headline: *headline, low, high, ratio })
        };
        headlines.iter().filter_map(of_one).reduce(|a, b| if b.ratio > a.ratio { b } else { a })
    }

    pub(crate) fn is_notable(&self) -> bool {
        self.ratio >= NOTABLE
    }

    /// The same ratio in another number.
    pub(crate) fn ratio_of(&self, headline: Headline) -> Option<f64> {
        let (low, high) = (self.low.headline(headline)?, self.high.headline(headline)?);
        (low > 0.0).then(|| high / low)
    }

    /// `the slowest flow takes 1 ms with "a" and 2 ms with "b": 2× as long`, capitalised.
    pub(crate) fn described(&self) -> String {
        let subject = match self.headline {
            Headline::FctP50 => "the median flow takes",
            Headline::FctP99 => "the 99th percentile of the flow completion time is",
            Headline::FctP999 => "the 99.9th percentile of the flow completion time is",
            Headline::JobMax => "the slowest job takes",
            Headline::JobMean => "a job takes on average",
            Headline::SlowdownP99 => "the 99th percentile of the slowdown is",
            _ => "the slowest flow takes",
        };
        let is_factor = self.headline == Headline::SlowdownP99;
        let (written, how): (fn(f64) -> String, _) =
            if is_factor { (human::factor, "large") } else { (human::time_ns, "long") };
        let value =
            |variant: &VariantSummary| variant.headline(self.headline).map_or_else(String::new, written);
        format!(
            "{subject} {} with \"{}\" and {} with \"{}\": {} as {how}",
            value(self.low),
            self.low.name,
            value(self.high),
            self.high.name,
            human::factor(self.ratio),
        )
    }
}

/// Whether the intervals of a number do not overlap, or it has none.
fn are_apart(low: &VariantSummary, high: &VariantSummary, headline: Headline) -> bool {
    match (low.over_seeds.get(&headline), high.over_seeds.get(&headline)) {
        (Some(low), Some(high)) => low.high < high.low,
        _ => true,
    }
}
