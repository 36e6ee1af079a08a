//! Progress on stderr: a bar on a terminal, for runs that take longer than two seconds, and a line each minute in a
//! log.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::Quiet;
use crate::terminal;

/// Time before the bar appears.
const BAR_DELAY: Duration = Duration::from_secs(2);
/// Mean number of steps of the bar per run.
const STEPS: f64 = 1000.0;

/// Time between two lines of a log.
const LINE_EVERY: Duration = Duration::from_mins(1);

/// Progress of consecutive sets of runs.
#[derive(Default)]
pub(crate) struct Progress {
    bar: Mutex<Option<Bar>>,
    is_quiet: bool,
}

/// The lines of a log without a terminal.
#[derive(Default)]
struct LogLines {
    printed: u32,
}

impl LogLines {
    /// Returns the line that is due when a share of all runs is done, if one is.
    fn next(&mut self, passed: Duration, done: f64) -> Option<String> {
        let minutes = (passed.as_secs() / LINE_EVERY.as_secs()) as u32;
        if minutes <= self.printed {
            return None;
        }
        self.printed = minutes;
        let left = passed.as_secs_f64() * (1.0 - done) / done.max(f64::EPSILON);
        let to_go = if done < 0.001 { String::new() } else { format!(", about {} to go", in_minutes(left)) };
        Some(format!("{:.0} % done, {} passed{to_go}", done * 100.0, in_minutes(passed.as_secs_f64())))
    }
}

fn in_minutes(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match minutes {
        0..60 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// The bar of one set of runs.
struct Bar {
    drawn: ProgressBar,
    started: Instant,
    lines: LogLines,
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
        Self { drawn: bar, started: Instant::now(), lines: LogLines::default(), runs }
    }

    fn set(&mut self, run: usize, share: f64) {
        let (done, all) = &mut self.runs[run];
        *done = (share * *all).floor();
        let passed = self.started.elapsed();
        if !stderr().is_terminal() {
            let done: f64 = self.runs.iter().map(|(done, _)| done).sum();
            let all: f64 = self.runs.iter().map(|(_, all)| all).sum();
            if let Some(line) = self.lines.next(passed, done / all.max(1.0)) {
                terminal::print_message(&line);
            }
            return;
        }
        if passed < BAR_DELAY {
            return;
        }
        if self.drawn.is_hidden() {
            self.drawn.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.drawn.set_position(self.runs.iter().map(|(done, _)| done).sum::<f64>() as u64);
    }
}

impl Progress {
    pub(crate) fn new(Quiet { quiet }: Quiet) -> Self {
        Self { is_quiet: quiet, ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Bar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl wiremend_runner::Progress for Progress {
    fn on_start(&self, weights: &[f64]) {
        *self.lock() = (!self.is_quiet).then(|| Bar::new(weights));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_each_minute() {
        let mut lines = LogLines::default();
        let mut line = |seconds, done| lines.next(Duration::from_secs(seconds), done);
        assert_eq!(line(59, 0.1), None);
        assert_eq!(line(61, 0.25).as_deref(), Some("25 % done, 1 min passed, about 3 min to go"));
        assert_eq!(line(100, 0.3), None);
        assert_eq!(line(300, 0.0).as_deref(), Some("0 % done, 5 min passed"));
        assert_eq!(line(330, 0.4), None, "missed minutes are not made up for");
        assert_eq!(line(7200, 0.5).as_deref(), Some("50 % done, 2 h 0 min passed, about 2 h 0 min to go"));
    }
}
