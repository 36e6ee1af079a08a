//! Whether all threads simulate, or the first one alone.
//!
//! Threads meet twice per window. That takes microseconds, or milliseconds if other programs use the processors,
//! and a window of a small network takes less. Which way is faster is measured: the slower one is tried again
//! after a while, the more rarely the more often it lost. This is the only clock of the engine, and it changes no
//! result.

use std::time::Instant;

pub(crate) struct ThreadChoice {
    /// Events of a block, at least. The choice is reconsidered after a block.
    block_events: u64,
    is_alone: bool,
    is_trial: bool,
    /// Blocks until the next trial.
    blocks_left: u32,
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
/// Blocks between a trial that has won and the next trial.
const INTERVAL_MIN: u32 = 4;
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
            blocks_left: 0,
            interval: INTERVAL_MIN,
            costs: [f64::INFINITY; 2],
            started: now(),
            windows_min: 0,
            windows: 0,
            events: 0,
        }
    }

    /// Handles a window with so many events. Returns whether the first thread simulates the next one alone.
    pub(crate) fn on_window(&mut self, events: u64) -> bool {
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
        self.is_alone
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
        self.costs[usize::from(self.is_alone)] = cost;
        if self.is_trial {
            let has_won = cost < self.costs[usize::from(!self.is_alone)];
            self.interval = if has_won { INTERVAL_MIN } else { (self.interval * 2).min(INTERVAL_MAX) };
            self.is_alone ^= !has_won;
            (self.is_trial, self.blocks_left) = (false, self.interval);
        } else if self.blocks_left == 0 {
            (self.is_trial, self.is_alone) = (true, !self.is_alone);
        } else {
            self.blocks_left -= 1;
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
        let mut choice = ThreadChoice::new(1);
        let mut alone = 0;
        for _ in 0..blocks {
            alone += u32::from(choice.is_alone);
            choice.on_block(if choice.is_alone { cost_alone } else { cost_together });
        }
        alone
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried_rarely() {
        let tried = 10_000 - alone(10_000, 900.0, 40.0);
        assert!((5..20).contains(&tried), "together {tried} times");
        let tried = alone(10_000, 25.0, 40.0);
        assert!((5..20).contains(&tried), "alone {tried} times");
    }
}
