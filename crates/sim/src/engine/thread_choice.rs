//! Whether all threads simulate, or the first one alone.
//!
//! Threads meet twice per window. That takes microseconds, or milliseconds if other programs use the processors,
//! and a window of a small network takes less. Which way is faster is measured: the slower one is tried again
//! after a while, the more rarely the more often it lost, and as soon as the present way takes longer than the other
//! one took. This is the only clock of the engine, and it changes no result.

use std::time::Instant;

pub(crate) struct ThreadChoice {
    /// Events of a block, at least. The choice is reconsidered after a block.
    block_events: u64,
    is_alone: bool,
    is_trial: bool,
    /// Blocks since the last trial, and until the next one.
    blocks: u32,
    interval: u32,
    /// Nanoseconds per event of the last block: together, alone.
    costs: [f64; 2],
    started: Instant,
    /// Windows of a block besides the first, at least. The first block of a run may be a single window.
    windows_min: u32,
    windows: u32,
    events: u64,
}

/// Windows of a block besides the first, at least.
const BLOCK_WINDOWS_MIN: u32 = 2;
/// Blocks between two trials, at least.
const INTERVAL_MIN: u32 = 3;
/// Blocks between a trial that all threads have won and the next trial: one thread alone was measured just before. A
/// trial that one thread has won may mean that another program used the processor, so the next one is soon.
const INTERVAL_TOGETHER: u32 = 32;
/// A trial ends early after this multiple of the other way's time.
const HOPELESS: f64 = 2.0;
/// Blocks between trials that lose again and again.
const INTERVAL_MAX: u32 = 1024;

impl ThreadChoice {
    /// Returns the choice to begin alone.
    pub(crate) fn new(block_events: u64) -> Self {
        Self {
            block_events,
            is_alone: true,
            is_trial: false,
            blocks: 0,
            interval: 0,
            costs: [f64::INFINITY; 2],
            started: now(),
            windows_min: 0,
            windows: 0,
            events: 0,
        }
    }

    /// Returns whether the first thread simulates the next window alone.
    pub(crate) const fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Handles a window with so many events.
    pub(crate) fn on_window(&mut self, events: u64) {
        self.windows += 1;
        self.events += events;
        if self.is_trial && self.is_hopeless() {
            self.end_block();
        } else if self.windows == 1 && self.is_trial {
            // In the first window of a trial another thread has to fetch what it needs from this one's cache.
            (self.started, self.events) = (now(), 0);
        } else if self.events >= self.block_events && self.windows > self.windows_min {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        let now = now();
        self.on_block(now.duration_since(self.started).as_nanos() as f64 / self.events.max(1) as f64);
        (self.started, self.windows_min, self.windows, self.events) = (now, BLOCK_WINDOWS_MIN, 0, 0);
    }

    /// Returns whether a trial has already taken much longer than a whole block of the other way.
    fn is_hopeless(&self) -> bool {
        let elapsed = now().duration_since(self.started).as_nanos() as f64;
        let block = self.block_events.max(self.events * u64::from(BLOCK_WINDOWS_MIN));
        elapsed > self.costs[usize::from(!self.is_alone)] * block as f64 * HOPELESS
    }

    fn on_block(&mut self, cost: f64) {
        let other_cost = self.costs[usize::from(!self.is_alone)];
        self.costs[usize::from(self.is_alone)] = cost;
        if self.is_trial {
            self.interval = match (cost < other_cost, self.is_alone) {
                (true, true) => INTERVAL_MIN,
                (true, false) => INTERVAL_TOGETHER,
                (false, _) => (self.interval * 2).clamp(INTERVAL_MIN, INTERVAL_MAX),
            };
            self.is_alone ^= cost >= other_cost;
            (self.is_trial, self.blocks) = (false, 0);
            return;
        }
        self.blocks += 1;
        let is_slower = self.blocks >= INTERVAL_MIN && cost > other_cost;
        if is_slower || self.blocks > self.interval {
            (self.is_trial, self.is_alone) = (true, !self.is_alone);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "which threads simulate changes no result")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of the blocks the first thread simulated alone.
    fn alone(blocks: u32, cost_together: f64, cost_alone: f64) -> u32 {
        run(&mut ThreadChoice::new(1), blocks, [cost_together, cost_alone])
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried_rarely() {
        let tried = 10_000 - alone(10_000, 900.0, 40.0);
        assert!((5..20).contains(&tried), "together {tried} times");
        let tried = alone(10_000, 25.0, 40.0);
        assert!((5..20).contains(&tried), "alone {tried} times");
    }

    /// Handles so many blocks. Returns how many of them the first thread simulated alone.
    fn run(choice: &mut ThreadChoice, blocks: u32, [together, alone]: [f64; 2]) -> u32 {
        let mut count = 0;
        for _ in 0..blocks {
            count += u32::from(choice.is_alone);
            choice.on_block(if choice.is_alone { alone } else { together });
        }
        count
    }

    #[test]
    fn a_trial_that_was_disturbed_is_soon_repeated() {
        let mut choice = ThreadChoice::new(1);
        run(&mut choice, 1, [25.0, 40.0]);
        assert!(choice.is_trial && !choice.is_alone);
        run(&mut choice, 1, [90.0, 40.0]);
        let alone = run(&mut choice, 50, [25.0, 40.0]);
        assert!(alone < 10, "alone in {alone} of 50 blocks");
    }

    #[test]
    fn a_way_that_becomes_slow_is_left_at_once() {
        let mut choice = ThreadChoice::new(1);
        run(&mut choice, 10, [25.0, 40.0]);
        assert!(!choice.is_alone && choice.interval == INTERVAL_TOGETHER);
        let together = 10 - run(&mut choice, 10, [90.0, 40.0]);
        assert!(together <= 3, "together in {together} of 10 blocks");
    }
}
