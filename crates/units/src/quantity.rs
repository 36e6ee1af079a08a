//! Exact parsing of numbers with units, without floating point, and short formatting.

/// Name of a unit and its size in base units.
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) size: u64,
}

/// A kind of quantity: its name, an example, its units.
pub(crate) struct Quantity {
    pub(crate) what: &'static str,
    pub(crate) example: &'static str,
    pub(crate) units: &'static [Unit],
}

/// Error of an invalid quantity, with a valid example.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadQuantity(String);

impl std::fmt::Display for BadQuantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadQuantity {}

impl Quantity {
    /// Parses a decimal number with a unit into base units. The result must be a whole number.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, BadQuantity> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
        let (number, unit) = (&text[..digits], text[digits..].trim());
        let Some(unit) = self.units.iter().find(|known| known.name == unit) else {
            let why = if unit.is_empty() { "the unit is missing" } else { "the unit is unknown" };
            return Err(self.refuse(text, why));
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let whole = decimal(whole).ok_or_else(|| self.refuse(text, "the number is not decimal"))?;
        let too_large = || self.refuse(text, "it is too large");
        let mut base = whole.checked_mul(unit.size).ok_or_else(too_large)?;
        if !fraction.is_empty() {
            let places = fraction.chars().filter(char::is_ascii_digit).count() as u32;
            let scale = 10_u64.checked_pow(places);
            let part = decimal(fraction)
                .zip(scale)
                .map(|(part, scale)| (part as u128 * unit.size as u128, scale as u128));
            let (part, scale) = part.ok_or_else(|| self.refuse(text, "the fraction is too long"))?;
            if part % scale != 0 {
                return Err(self.refuse(text, "it is finer than the smallest unit"));
            }
            base = base.checked_add((part / scale) as u64).ok_or_else(too_large)?;
        }
        Ok(base)
    }

    pub(crate) fn refuse(&self, text: &str, why: &str) -> BadQuantity {
        let mut names: Vec<_> = self.units.iter().map(|unit| unit.name).collect();
        names.dedup();
        let (what, example) = (self.what, self.example);
        BadQuantity(format!("`{text}` is not {what}: {why} (write `{example}`; units: {})", names.join(", ")))
    }
}

fn decimal(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    if digits.is_empty() { None } else { digits.parse().ok() }
}

/// Parses a probability between 0 and 1: `1e-3`, `0.001`, `1/256`.
pub fn parse_probability(text: &str) -> Result<f64, BadQuantity> {
    let text = text.trim();
    let refuse = |why: &str| {
        BadQuantity(format!("`{text}` is not a probability: {why} (write `1e-3`, `0.001` or `1/1000`)"))
    };
    let number = |part: &str| part.trim().parse::<f64>().map_err(|_| refuse("it is not a number"));
    let value = match text.split_once('/') {
        Some((above, below)) => number(above)? / number(below)?,
        None => number(text)?,
    };
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(refuse("it must lie between 0 and 1")) }
}

/// `value / size` with at most four significant digits and no trailing zeros.
pub(crate) fn short(value: u64, size: u64) -> String {
    let whole = value / size;
    let decimals = match whole {
        0..10 => 3,
        10..100 => 2,
        100..1000 => 1,
        _ => 0,
    };
    let text = format!("{:.decimals$}", value as f64 / size as f64);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_outside_the_unit_interval_are_refused() {
        for text in ["-0.1", "1.5", "NaN", "1/0", "x", "", "2/1"] {
            assert!(parse_probability(text).is_err(), "{text}");
        }
        assert_eq!(parse_probability("1/256"), Ok(0.003_906_25));
        assert_eq!(parse_probability("1e-4"), Ok(1e-4));
    }
}
