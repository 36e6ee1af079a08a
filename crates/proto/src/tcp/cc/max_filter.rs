//! Windowed maximum in three values (Kathleen Nichols' filter, as in Linux).

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter {
    /// Round and value of the best, the best after it, and the best after that.
    best: [(u64, u64); 3],
}

impl MaxFilter {
    pub(super) fn get(&self) -> u64 {
        self.best[0].1
    }

    pub(super) fn update(&mut self, window: u64, round: u64, value: u64) {
        let new = (round, value);
        if value >= self.best[0].1 || round - self.best[2].0 > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let age = round - self.best[0].0;
        if age > window {
            self.best = [self.best[1], self.best[2], new];
            if round - self.best[0].0 > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].0 == self.best[1].0 && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maximum_expires_with_its_window() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 100);
        (1..=10).for_each(|round| filter.update(10, round, 50 + round % 3));
        assert_eq!(filter.get(), 100);
        filter.update(10, 11, 50);
        assert!((50..=52).contains(&filter.get()), "got {}", filter.get());
        filter.update(10, 12, 200);
        assert_eq!(filter.get(), 200);
    }
}
