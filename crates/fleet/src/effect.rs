//! What protection makes of a link that corrupts: the loss that is left, and the speed.

use std::fmt;

use wiremend_fabric::row::{fields, is_blank, is_header};

/// A table of what is left of loss and of speed.
#[derive(Clone, PartialEq, Debug)]
pub struct Effect {
    name: String,
    rows: Vec<EffectRow>,
    reading: Reading,
    healthy_loss: f64,
}

/// What protection makes of one loss rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EffectRow {
    /// The link's own.
    pub loss: f64,
    /// What is left of it.
    pub left: f64,
    /// What is left of the link's speed, from 0 to 1.
    pub speed: f64,
}

/// Which row holds between two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    /// The one whose loss is nearest by difference.
    Nearest,
    /// Both, by the logarithm of the loss.
    Between,
}

/// The published simulator's: measured at 100G but for the last row, which is assumed there.
const PAPER: [EffectRow; 4] = [
    EffectRow { loss: 1.43e-5, left: 5.97e-10, speed: 0.9876 },
    EffectRow { loss: 9.16e-5, left: 7.56e-9, speed: 0.9874 },
    EffectRow { loss: 1.16e-3, left: 1.29e-9, speed: 0.9088 },
    EffectRow { loss: 1e-2, left: 1e-8, speed: 0.6 },
];

/// Tables that were measured by the simulator of this project; each says how.
const MEASURED: &[(&str, &str)] = &[
    ("25G", include_str!("tables/25g.csv")),
    ("100G", include_str!("tables/100g.csv")),
    ("400G", include_str!("tables/400g.csv")),
    ("LG-100G", include_str!("tables/lg-100g.csv")),
];

impl Effect {
    /// As the published fleet simulator has it: four rows, the nearest by difference, and 1e-18 for each link that is well.
    pub fn paper() -> Self {
        Self {
            name: "paper".to_owned(),
            rows: PAPER.to_vec(),
            reading: Reading::Nearest,
            healthy_loss: 1e-18,
        }
    }

    /// A table by its name: `paper`, a rate at which ours was measured, or `LG-100G`: the prototype, by our simulator.
    pub fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("paper") {
            return Some(Self::paper());
        }
        let found = MEASURED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(known, text)| Self::parse(known, text).expect("shipped tables are whole"))
    }

    /// The names of all tables that come along.
    pub fn names() -> Vec<&'static str> {
        ["paper"].into_iter().chain(MEASURED.iter().map(|(name, _)| *name)).collect()
    }

    /// Reads a table: lines of `loss,left,speed`, losses ascending, speed as a part of the link's. Rows are read between each other.
    pub fn parse(name: &str, text: &str) -> Result<Self, BadTable> {
        let mut rows: Vec<EffectRow> = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if is_blank(line) || is_header(line, &["loss", "left", "speed"]) {
                continue;
            }
            let values: Vec<Option<f64>> = fields(line).map(|field| field.text.parse().ok()).collect();
            let [Some(loss), Some(left), Some(speed)] = values[..] else {
                return Err(BadTable { line: number, what: "three numbers are needed: loss,left,speed" });
            };
            let wrong = if !(loss > 0.0 && loss < 1.0 && left > 0.0 && left < 1.0) {
                Some("a loss lies between 0 and 1, and something of it is left")
            } else if !(speed > 0.0 && speed <= 1.0) {
                Some("a speed is a part of the link's: above 0, at most 1")
            } else if rows.last().is_some_and(|last| last.loss >= loss) {
                Some("losses ascend")
            } else {
                None
            };
            if let Some(what) = wrong {
                return Err(BadTable { line: number, what });
            }
            rows.push(EffectRow { loss, left, speed });
        }
        if rows.is_empty() {
            return Err(BadTable { line: 1, what: "a table has rows of loss,left,speed" });
        }
        Ok(Self { name: name.to_owned(), rows, reading: Reading::Between, healthy_loss: 0.0 })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its rows.
    pub fn rows(&self) -> &[EffectRow] {
        &self.rows
    }

    /// What a link counts that is well.
    pub fn healthy_loss(&self) -> f64 {
        self.healthy_loss
    }

    /// What protection makes of a link of this loss.
    pub fn of(&self, loss: f64) -> EffectRow {
        let nearer = |a: &&EffectRow, b: &&EffectRow| (a.loss - loss).abs().total_cmp(&(b.loss - loss).abs());
        let row = match self.reading {
            Reading::Nearest => *self.rows.iter().min_by(nearer).expect("a table has rows"),
            Reading::Between => self.between(loss),
        };
        EffectRow { loss, ..row }
    }

    fn between(&self, loss: f64) -> EffectRow {
        let above = self.rows.iter().position(|row| row.loss >= loss);
        let (a, b) = match above {
            // One copy less is lost too: what is left falls with the square.
            Some(0) => {
                let first = self.rows[0];
                let part = loss / first.loss;
                return EffectRow { left: first.left * part * part, ..first };
            }
            Some(place) => (self.rows[place - 1], self.rows[place]),
            None => {
                let last = self.rows[self.rows.len() - 1];
                let part = loss / last.loss;
                return EffectRow { left: (last.left * part * part).min(loss), ..last };
            }
        };
        let along = libm::log(loss / a.loss) / libm::log(b.loss / a.loss);
        let left = libm::exp(libm::log(a.left) + along * libm::log(b.left / a.left));
        EffectRow { loss, left, speed: a.speed + along * (b.speed - a.speed) }
    }
}

/// Why something is no table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadTable {
    /// The line, from 1.
    pub line: u64,
    /// The reason.
    pub what: &'static str,
}

impl fmt::Display for BadTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

impl std::error::Error for BadTable {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cut points follow from differences, not from ratios: halfway between two rows.
    #[test]
    fn the_papers_table_takes_the_nearest_row_by_difference() {
        let paper = Effect::paper();
        for (loss, left, speed) in [
            (1e-8, 5.97e-10, 0.9876),
            (5.29e-5, 5.97e-10, 0.9876),
            (5.30e-5, 7.56e-9, 0.9874),
            (6.25e-4, 7.56e-9, 0.9874),
            (6.26e-4, 1.29e-9, 0.9088),
            (5.57e-3, 1.29e-9, 0.9088),
            (5.59e-3, 1e-8, 0.6),
            (0.5, 1e-8, 0.6),
        ] {
            let row = paper.of(loss);
            assert_eq!((row.left, row.speed), (left, speed), "{loss}");
        }
    }

    #[test]
    fn measured_tables_are_read_between_their_rows() {
        let table = Effect::parse("x", "loss,left,speed\n1e-4,1e-8,0.99\n1e-2,1e-6,0.89\n").unwrap();
        let row = table.of(1e-3);
        assert!((row.left / 1e-7 - 1.0).abs() < 1e-9 && (row.speed - 0.94).abs() < 1e-12, "{row:?}");
        assert!((table.of(1e-5).left / 1e-10 - 1.0).abs() < 1e-9);
        assert!(table.of(0.9).left <= 0.9);
        for name in Effect::names() {
            let table = Effect::named(name).unwrap();
            for loss in [1e-8, 3e-6, 2e-4, 9e-3] {
                let row = table.of(loss);
                assert!(row.left < loss && row.speed > 0.5 && row.speed <= 1.0, "{name} {loss} {row:?}");
            }
        }
    }

    #[test]
    fn what_is_no_table_is_refused_by_line() {
        for (text, line) in
            [("", 1), ("1,2\n", 1), ("1e-3,1e-9,0.9\n1e-4,1e-9,0.9\n", 2), ("1e-3,1e-9,1.5", 1)]
        {
            assert_eq!(Effect::parse("x", text).unwrap_err().line, line, "{text}");
        }
    }
}
