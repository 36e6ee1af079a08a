//! Effect of protection on a corrupting link: residual loss and speed.

use std::fmt;

use wiremend_fabric::csv_line::{fields, is_blank, is_header};

/// A table of residual loss and speed by loss rate.
#[derive(Clone, PartialEq, Debug)]
pub struct ProtectionEffect {
    name: String,
    rows: Vec<ProtectionEffectRow>,
    lookup: Lookup,
    healthy_loss: f64,
}

/// Effect of protection at one loss rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProtectionEffectRow {
    /// Loss rate without protection.
    pub loss: f64,
    /// Loss rate with protection.
    pub residual_loss: f64,
    /// Share of the link's speed with protection, from 0 to 1.
    pub speed: f64,
}

/// How rows are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lookup {
    /// The row with the smallest difference in loss.
    Nearest,
    /// Interpolation over the logarithm of the loss.
    Interpolated,
}

/// Table of the published simulator, measured at 100G; the last row was assumed there.
const PAPER: [ProtectionEffectRow; 4] = [
    ProtectionEffectRow { loss: 1.43e-5, residual_loss: 5.97e-10, speed: 0.9876 },
    ProtectionEffectRow { loss: 9.16e-5, residual_loss: 7.56e-9, speed: 0.9874 },
    ProtectionEffectRow { loss: 1.16e-3, residual_loss: 1.29e-9, speed: 0.9088 },
    ProtectionEffectRow { loss: 1e-2, residual_loss: 1e-8, speed: 0.6 },
];

/// Tables measured with the simulator of this project; each file contains its command.
const MEASURED: &[(&str, &str)] = &[
    ("25G", include_str!("tables/25g.csv")),
    ("100G", include_str!("tables/100g.csv")),
    ("400G", include_str!("tables/400g.csv")),
    ("LG-100G", include_str!("tables/lg-100g.csv")),
];

impl ProtectionEffect {
    /// Returns the table of the published simulator: four rows, and 1e-18 for each healthy link.
    pub fn paper() -> Self {
        Self { name: "paper".to_owned(), rows: PAPER.to_vec(), lookup: Lookup::Nearest, healthy_loss: 1e-18 }
    }

    /// Returns a built-in table: `paper`, a measured rate, or `LG-100G` for the simulated prototype.
    pub fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("paper") {
            return Some(Self::paper());
        }
        let found = MEASURED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(known, text)| Self::parse(known, text).expect("built-in tables are valid"))
    }

    /// Returns the names of all built-in tables.
    pub fn names() -> Vec<&'static str> {
        ["paper"].into_iter().chain(MEASURED.iter().map(|(name, _)| *name)).collect()
    }

    /// Parses rows of `loss,residual_loss,speed` with ascending losses; speed is a share of the link's
    /// rate. Values between rows are interpolated.
    pub fn parse(name: &str, text: &str) -> Result<Self, BadEffectTable> {
        let mut rows: Vec<ProtectionEffectRow> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if is_blank(line) || is_header(line, &["loss", "residual_loss", "speed"]) {
                continue;
            }
            let values: Vec<Option<f64>> = fields(line).map(|field| field.text.parse().ok()).collect();
            let [Some(loss), Some(residual_loss), Some(speed)] = values[..] else {
                return Err(BadEffectTable {
                    line: number,
                    what: "three numbers are required: loss,residual_loss,speed",
                });
            };
            let wrong = if !(loss > 0.0 && loss < 1.0 && residual_loss > 0.0 && residual_loss < 1.0) {
                Some("loss and residual_loss must be between 0 and 1, both excluded")
            } else if !(speed > 0.0 && speed <= 1.0) {
                Some("speed must be a share of the rate: above 0, at most 1")
            } else if rows.last().is_some_and(|last| last.loss >= loss) {
                Some("losses must be ascending")
            } else {
                None
            };
            if let Some(what) = wrong {
                return Err(BadEffectTable { line: number, what });
            }
            rows.push(ProtectionEffectRow { loss, residual_loss, speed });
        }
        if rows.is_empty() {
            return Err(BadEffectTable { line: 1, what: "rows of loss,residual_loss,speed are required" });
        }
        Ok(Self { name: name.to_owned(), rows, lookup: Lookup::Interpolated, healthy_loss: 0.0 })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[ProtectionEffectRow] {
        &self.rows
    }

    /// Returns the loss rate of a healthy link.
    pub fn healthy_loss(&self) -> f64 {
        self.healthy_loss
    }

    /// Returns the effect of protection on a link with this loss.
    pub fn at_loss(&self, loss: f64) -> ProtectionEffectRow {
        let nearer = |a: &&ProtectionEffectRow, b: &&ProtectionEffectRow| {
            (a.loss - loss).abs().total_cmp(&(b.loss - loss).abs())
        };
        let row = match self.lookup {
            Lookup::Nearest => *self.rows.iter().min_by(nearer).expect("a table has at least one row"),
            Lookup::Interpolated => self.interpolated(loss),
        };
        ProtectionEffectRow { loss, ..row }
    }

    fn interpolated(&self, loss: f64) -> ProtectionEffectRow {
        let above = self.rows.iter().position(|row| row.loss >= loss);
        let (a, b) = match above {
            // Outside the table it scales with the square of the loss: frame and copy are both lost.
            Some(0) => {
                let first = self.rows[0];
                let part = loss / first.loss;
                return ProtectionEffectRow { residual_loss: first.residual_loss * part * part, ..first };
            }
            Some(place) => (self.rows[place - 1], self.rows[place]),
            None => {
                let last = self.rows[self.rows.len() - 1];
                let part = loss / last.loss;
                return ProtectionEffectRow {
                    residual_loss: (last.residual_loss * part * part).min(loss),
                    ..last
                };
            }
        };
        let along = libm::log(loss / a.loss) / libm::log(b.loss / a.loss);
        let residual_loss =
            libm::exp(libm::log(a.residual_loss) + along * libm::log(b.residual_loss / a.residual_loss));
        ProtectionEffectRow { loss, residual_loss, speed: a.speed + along * (b.speed - a.speed) }
    }
}

/// Why a table is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadEffectTable {
    /// Line number, from 1.
    pub line: u64,
    /// Reason.
    pub what: &'static str,
}

impl fmt::Display for BadEffectTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

impl std::error::Error for BadEffectTable {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row changes halfway between two losses, by difference and not by ratio.
    #[test]
    fn the_papers_table_takes_the_nearest_row_by_difference() {
        let paper = ProtectionEffect::paper();
        for (loss, residual_loss, speed) in [
            (1e-8, 5.97e-10, 0.9876),
            (5.29e-5, 5.97e-10, 0.9876),
            (5.30e-5, 7.56e-9, 0.9874),
            (6.25e-4, 7.56e-9, 0.9874),
            (6.26e-4, 1.29e-9, 0.9088),
            (5.57e-3, 1.29e-9, 0.9088),
            (5.59e-3, 1e-8, 0.6),
            (0.5, 1e-8, 0.6),
        ] {
            let row = paper.at_loss(loss);
            assert_eq!((row.residual_loss, row.speed), (residual_loss, speed), "{loss}");
        }
    }

    #[test]
    fn measured_tables_are_interpolated() {
        let table =
            ProtectionEffect::parse("x", "loss,residual_loss,speed\n1e-4,1e-8,0.99\n1e-2,1e-6,0.89\n")
                .unwrap();
        let row = table.at_loss(1e-3);
        assert!((row.residual_loss / 1e-7 - 1.0).abs() < 1e-9 && (row.speed - 0.94).abs() < 1e-12, "{row:?}");
        assert!((table.at_loss(1e-5).residual_loss / 1e-10 - 1.0).abs() < 1e-9);
        assert!(table.at_loss(0.9).residual_loss <= 0.9);
        for name in ProtectionEffect::names() {
            let table = ProtectionEffect::named(name).unwrap();
            for loss in [1e-8, 3e-6, 2e-4, 9e-3] {
                let row = table.at_loss(loss);
                assert!(
                    row.residual_loss < loss && row.speed > 0.5 && row.speed <= 1.0,
                    "{name} {loss} {row:?}"
                );
            }
        }
    }

    #[test]
    fn invalid_tables_are_rejected_with_a_line() {
        for (text, line) in
            [("", 1), ("1,2\n", 1), ("1e-3,1e-9,0.9\n1e-4,1e-9,0.9\n", 2), ("1e-3,1e-9,1.5", 1)]
        {
            assert_eq!(ProtectionEffect::parse("x", text).unwrap_err().line, line, "{text}");
        }
    }
}
