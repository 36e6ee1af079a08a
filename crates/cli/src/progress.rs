//! A progress bar on stderr: only on a terminal, and only for runs that take longer than two seconds.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time before the bar appears.
const BAR_DELAY: Duration = Duration::from_secs(2);
/// Mean number of steps of the bar per run.
const STEPS: f64 = 1000.0;

/// A bar for consecutive sets of runs.
#[derive(Default)]
pub(crate) struct Progress(Mutex<Option<Bar>>);

/// The bar of one set of runs.
struct Bar {
    drawn: ProgressBar,
    started: Instant,
    /// Per run: completed steps and all steps.
    runs: Vec<(f64, f64)>,
}

impl Bar {
    fn new(weights: &[f64]) -> Self {
        let whole: f64 = weights.iter().sum();
        let steps = |weight: &f64| (0.0, (weight / whole * weights.len() as f64 * STEPS).round());
        let runs: Vec<_> = weights.iter().map(steps).collect();
        let all: f64 = runs.iter().map(|(_, all)| all).sum();
        let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::hidden());
        let style =
            ProgressStyle::with_template("{bar:40} {percent:>3} %  {elapsed} passed, about {eta} to go");
        bar.set_style(style.expect("the template is right").progress_chars("█▓░"));
        Self { drawn: bar, started: Instant::now(), runs }
    }

    fn set(&mut self, run: usize, share: f64) {
        let (done, all) = &mut self.runs[run];
        *done = (share * *all).floor();
        if !stderr().is_terminal() || self.started.elapsed() < BAR_DELAY {
            return;
        }
        if self.drawn.is_hidden() {
            self.drawn.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.drawn.set_position(self.runs.iter().map(|(done, _)| done).sum::<f64>() as u64);
    }
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Option<Bar>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl wiremend_runner::Progress for Progress {
    fn on_start(&self, weights: &[f64]) {
        *self.lock() = Some(Bar::new(weights));
    }

    fn on_progress(&self, run: usize, share: f64) {
        if let Some(bar) = &mut *self.lock() {
            bar.set(run, share);
        }
    }

    fn on_end(&self) {
        if let Some(bar) = self.lock().take() {
            bar.drawn.finish_and_clear();
        }
    }
}

/// Runs `work` in steps of these weights and shows its progress.
pub(crate) fn shown<T>(weights: &[f64], work: impl FnOnce(&dyn Fn(usize, f64)) -> T) -> T {
    let progress = Progress::default();
    let bar: &dyn wiremend_runner::Progress = &progress;
    bar.on_start(weights);
    let done = work(&|step, share| bar.on_progress(step, share));
    bar.on_end();
    done
}
