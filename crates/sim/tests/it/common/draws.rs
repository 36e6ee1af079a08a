//! Random draws for scenarios.

use wiremend_units::mix;

/// Draws that depend only on a seed.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = mix(self.0);
        self.0 % bound
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// Fills a template: draws one of the choices in each `<one|another>`, from left to right. `'` becomes
    /// `"`.
    pub(crate) fn write(&mut self, template: &str) -> String {
        let mut parts = template.split(['<', '>']);
        let mut text = parts.next().unwrap_or_default().to_owned();
        while let (Some(choices), Some(plain)) = (parts.next(), parts.next()) {
            let choices: Vec<_> = choices.split('|').collect();
            text = text + self.pick(&choices) + plain;
        }
        text.replace('\'', "\"")
    }
}
